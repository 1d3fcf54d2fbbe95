"""What the pages of docs/ give to type: their code, what it prints, and the pictures that it draws.

The Python blocks of a page share one namespace; one with a title is written to a file of that name, too. Of a
block of ``sh``, the lines that begin with ``veridical`` are run. A block of text right below either is what it
prints, and a picture right below ``<!-- draw NAME -->`` is what the record of that name saves.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parents[1]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?[^\n]*\n(?P<text>.*?)^(?P=indent)```$"
    r"|^ *<!-- draw (?P<record>.+?) -->\n+ *!\[[^\]]*\]\((?P<path>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """A block of code or text of a page, or a picture."""

    kind: str  # "python", "text", "sh", … or "picture"
    text: str  # of a picture, the expression that gives the record
    start: int  # where the text is in the page; of a picture, its whole line
    stop: int
    indent: str = ""
    path: str = ""  # of a picture, from the page
    printed: bool = False  # it is what the code right above it prints
    title: str = ""  # of a block that is a file


def pages() -> list[Path]:
    """All pages that are kept in docs/."""
    return sorted(DOCS.rglob("*.md"))


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page, in order."""
    before: Block | None = None
    for found in FENCE.finditer(text):
        if found["record"]:
            block = Block("picture", found["record"], found.start(), found.end(), path=found["path"])
        else:
            gap = text[before.stop : found.start()] if before else "-"
            after = before is not None and before.kind in {"python", "sh"} and not gap.replace("```", "").strip()
            block = Block(
                found["kind"],
                textwrap.dedent(found["text"]),
                found.start("text"),
                found.end("text"),
                found["indent"],
                "",
                after and found["kind"] == "text",
                found["title"] or "",
            )
        yield block
        before = block


@dataclass(frozen=True)
class Ran:
    """A block that was run: what it printed, or the record that a picture is drawn of."""

    block: Block
    printed: str = ""
    record: Any = None
    codes: tuple[int, ...] = ()  # how its commands went


def commanded(text: str) -> tuple[str, tuple[int, ...]]:
    """What the commands of a block print, and their exit codes."""
    from veridical.cli import main

    out = io.StringIO()
    lines = [shlex.split(line, comments=True)[1:] for line in text.splitlines() if line.startswith("veridical ")]
    with contextlib.redirect_stdout(out):
        codes = tuple(main(line) for line in lines)
    return out.getvalue(), codes


def run(page: Path) -> Iterator[Ran]:
    """Run the Python blocks of a page, one after the other, in the folder that is current."""
    text = page.read_text(encoding="utf-8")
    module = ModuleType(f"docs.{page.stem}")  # dataclasses look for theirs
    names, printed = vars(module), ""
    sys.modules[module.__name__] = module
    for block in blocks(text):
        if block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
        if block.kind == "python":
            lines = "\n" * text.count("\n", 0, block.start)  # so that an error tells the line of the page
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(lines + block.text, str(page), "exec"), names)
            printed = out.getvalue()
            yield Ran(block, printed)
        elif block.kind == "sh":
            printed, codes = commanded(block.text)
            yield Ran(block, printed, codes=codes)
        elif block.kind == "picture":
            yield Ran(block, record=eval(block.text, names))
        elif block.printed:
            yield Ran(block, printed)
