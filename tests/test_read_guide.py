"""What the guide to one's own model and data gives to type."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from veridical.cli import main
from veridical.read.files import FAMILIES
from veridical.read.models import READERS
from veridical.read.parts import PARTS

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "own.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_commands_run_as_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "own.md", "exec"), names)
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("veridical")]
    assert len(lines) == 3
    for line in lines:
        assert main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
        assert "calls" in capsys.readouterr().out
    assert "calls" in Path("why.html").read_text(encoding="utf-8")


def test_all_that_can_be_read_is_named() -> None:
    named = {
        *(suffix for suffixes in FAMILIES.values() for suffix in suffixes),
        *READERS,
        *(name for names in PARTS.values() for name in names),
    }
    assert [name for name in sorted(named) if f"`{name}`" not in GUIDE] == []
