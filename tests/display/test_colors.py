"""Colors in a terminal repeat what the plain text says, and nothing foreign steers them."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import explanations as made
from tests.builders.gallery import NAMES, everything
from veridical.display.terminal import DOWN, UP, render_text

console = pytest.importorskip("rich.console")
CODE = re.compile(r"\x1b\[([\d;]*)m")


def printed(record: Any, width: int = 80, terminal: bool = True) -> str:
    """What rich writes to a terminal, or to something else."""
    stream = io.StringIO()
    system = {"color_system": "truecolor"} if terminal else {}
    console.Console(file=stream, width=width, force_terminal=terminal, **system).print(record)
    return stream.getvalue()


def rgb(color: str) -> str:
    return "38;2;" + ";".join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))


@pytest.mark.parametrize("name", NAMES)
def test_without_colors_it_is_the_plain_text(name: str) -> None:
    record = everything()[name]
    plain = render_text(record, 80)
    text = printed(record)
    assert "\x1b[" in text
    assert CODE.sub("", text) == plain + "\n"
    assert printed(record, terminal=False) == plain + "\n"  # a pipe or a file


@pytest.mark.parametrize("width", [60, 100])
def test_the_width_is_that_of_the_terminal(width: int) -> None:
    for record in everything().values():
        lines = CODE.sub("", printed(record, width)).splitlines()
        assert max(map(len, lines)) <= max(width, 80)
    assert CODE.sub("", printed(made.mushroom(), width)) == render_text(made.mushroom(), width) + "\n"
    assert max(map(len, printed(made.mushroom(), 500, False).splitlines())) <= 120


def test_signs_and_verdicts_have_their_colors() -> None:
    lines = printed(made.mushroom()).splitlines()
    positive = next(line for line in lines if "odor" in line and "│" in line)
    negative = next(line for line in lines if "stalk-height" in line and "│" in line)
    assert rgb(UP) in positive
    assert rgb(DOWN) not in positive
    assert rgb(DOWN) in negative
    assert rgb(UP) not in negative
    assert "\x1b[1;32m✓ reliable." in printed(made.mushroom())
    assert "\x1b[1;31m✗ unreliable." in printed(made.unmeasured())
    assert "\x1b[1;31m✗ failed" in printed(everything()["audit"])
    text = printed(everything()["words"])
    assert f"\x1b[1;{rgb(UP)}m++wonderful++\x1b[0m" in text
    assert f"\x1b[1;{rgb(DOWN)}m--dull--\x1b[0m" in text


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert set(CODE.findall(printed(made.mushroom()))) <= {"0", "1", "2"}  # bold and dim remain


MARKUP = ("[bold]x[/bold]", "[link=https://example.com]here[/link]", ":smile:", "[/]", "[red", "\\[on red]")


def test_markup_in_foreign_text_is_text() -> None:
    e = replace(made.hostile(MARKUP), notes=MARKUP)
    text = printed(e)
    assert "\x1b]8" not in text  # a link
    plain = CODE.sub("", text)
    assert plain == str(e) + "\n"
    for name in MARKUP:
        assert name in plain


def test_escape_sequences_in_foreign_text_do_not_get_out() -> None:
    allowed = {"0", "1", "2", *(f"{bold}{rgb(c)}" for c in (UP, DOWN) for bold in ("", "1;"))}
    allowed |= {f"1;{color}" for color in (31, 32, 33)}
    text = printed(made.hostile())
    assert set(CODE.findall(text)) <= allowed
    rest = CODE.sub("", text)
    assert not [c for c in rest if ord(c) < 32 and c != "\n"]
