"""Every example of every command runs as it is typed, and the page of the commands is what they are."""

from __future__ import annotations

import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from veridical import cli, demo
from veridical.cli.application import COMMANDS, EXAMPLES
from veridical.cli.samples import write_samples

TOOLS = Path(__file__).parents[2] / "docs" / "tools"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files that examples are about."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write_samples(".")
    yield tmp_path
    for name in ("model", "audits"):
        sys.modules.pop(name, None)


def test_the_examples_run_as_they_are_typed(here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    demos: list[str] = []
    monkeypatch.setattr(demo, "demo", demos.append)
    for name in ("audits", "model"):  # another test may have imported modules of these names
        monkeypatch.delitem(sys.modules, name, raising=False)
    for line in dict.fromkeys(line for lines in EXAMPLES.values() for line in lines):
        program, *arguments = shlex.split(line)
        assert program == "veridical"
        assert cli.main(arguments) == 0, f"{line}\n{capsys.readouterr().err}"
        for out in (arguments[i + 1] for i, word in enumerate(arguments) if word == "--out"):
            assert Path(out).stat().st_size, line
    assert demos == ["report.html"]
    assert isinstance(vd.load("many.parquet"), vd.Explanations)


def test_the_module_is_the_demo_or_the_command(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    demos: list[str] = []
    monkeypatch.setattr(demo, "demo", lambda: demos.append("shown"))
    monkeypatch.setattr(sys, "argv", ["veridical"])
    place = str(
        Path(vd.__file__).with_name("__main__.py")
    )  # as a file: pytest's loader of plugins runs no modules
    runpy.run_path(place, run_name="__main__")
    assert demos == ["shown"]
    monkeypatch.setattr(sys, "argv", ["veridical", "version"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(place, run_name="__main__")
    assert capsys.readouterr().out == f"veridical {vd.__version__}\n"


def test_every_command_has_examples_of_its_own() -> None:
    assert list(COMMANDS) == list(EXAMPLES)
    for name, lines in EXAMPLES.items():
        assert any(line.startswith(f"veridical {name}") for line in lines)


def test_the_page_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(TOOLS)
    commands = __import__("commands")
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), "run docs/tools/commands.py"
