"""Write anew what the code of the pages prints, and the pictures that it draws: refresh.py [page.md …]."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from blocks import DOCS, pages, run


def draw(record: Any, path: Path) -> None:
    """Save a record, or a figure of matplotlib."""
    path.parent.mkdir(exist_ok=True)
    if hasattr(record, "savefig"):
        record.savefig(path, transparent=True, metadata={"Date": None})
    else:
        record.save(path)


def refresh(page: Path) -> None:
    """Run a page, draw its pictures, and put what its blocks print into the blocks below them."""
    text = page.read_text(encoding="utf-8")
    later: list[tuple[int, int, str]] = []
    for ran in run(page):
        if ran.block.kind == "picture":
            draw(ran.record, (page.parent / ran.block.path).resolve())
        elif ran.block.printed:
            lines = "\n".join(line.rstrip() for line in ran.printed.strip("\n").splitlines())
            later.append((ran.block.start, ran.block.stop, textwrap.indent(lines + "\n", ran.block.indent)))
    for start, stop, lines in reversed(later):
        text = text[:start] + lines + text[stop:]
    page.write_text(text, encoding="utf-8")


def main(named: list[str]) -> None:
    chosen = [Path(name).resolve() for name in named] or pages()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what the pages save goes here
        for page in chosen:
            refresh(page)
            print(page.relative_to(DOCS), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
