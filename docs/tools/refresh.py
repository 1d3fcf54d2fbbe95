"""Write anew what the code of the pages prints, the pictures that it draws, and tables: refresh.py [page.md …]."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import matplotlib

from blocks import DOCS, pages, run
from filling import filled

INK = "svg {color: #1f2328} text {fill: currentColor} @media (prefers-color-scheme: dark) {svg {color: #e6edf3}}"


def draw(record: Any, path: Path) -> None:
    """Save a record, or a figure of matplotlib, whose black is white on a dark ground."""
    path.parent.mkdir(exist_ok=True)
    if not hasattr(record, "savefig"):
        record.save(path)
        return
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "veridical"}):
        record.savefig(path, transparent=True, metadata={"Date": None})
    drawn = re.sub(r"(fill|stroke): #000000", r"\1: currentColor", path.read_text(encoding="utf-8"))
    path.write_text(drawn.replace("<defs>", f"<style>{INK}</style>\n <defs>", 1), encoding="utf-8")


def refresh(page: Path) -> None:
    """Run a page, draw its pictures, and put what its blocks print, and its tables, where they stand."""
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
    page.write_text(filled(text), encoding="utf-8")


def main(named: list[str]) -> None:
    os.environ["COLUMNS"] = "80"
    chosen = [Path(name).resolve() for name in named] or pages()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what the pages save goes here
        for page in chosen:
            refresh(page)
            print(page.relative_to(DOCS), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
