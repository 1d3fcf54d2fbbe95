"""The command line: what can be typed, what it says, and how it ends."""

from __future__ import annotations

from typing import Any

import veridical as vd
from veridical import cli


def test_help_and_version(capsys: Any) -> None:
    assert cli.main([]) == 2
    assert "audit" in capsys.readouterr().out
    assert cli.main(["--help"]) == 0
    assert "Exit codes: 0" in capsys.readouterr().out
    for asked in (["--version"], ["version"]):
        assert cli.main(asked) == 0
        assert capsys.readouterr().out == f"veridical {vd.__version__}\n"
