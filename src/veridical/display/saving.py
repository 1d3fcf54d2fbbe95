"""Saving: which files a record can be written as, and the one way to write them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

from veridical.checks.audits import Audit
from veridical.display.assessments import grounds, said_of, title_of
from veridical.display.figures import write
from veridical.display.html import page
from veridical.display.terminal import TERMINAL, write_lines
from veridical.display.words import plain
from veridical.errors import InputError, require
from veridical.records import Explanation, Explanations, Page
from veridical.storage.atomic_files import path_of, replacing
from veridical.storage.schema import KINDS, Saved, write_csv, write_frame, write_json, write_parquet

NEEDED = {".parquet": ("pyarrow", "parquet"), **dict.fromkeys((".png", ".svg", ".pdf"), ("matplotlib", "plot"))}
LONGEST, WIDE = 1000, 100  # characters of a text of JUnit, and of a line
FAILURES = {
    "failed": "failure",
    "error": "error",
    "unclear": "skipped",
    "skipped": "skipped",
}  # as JUnit calls them


def save(record: Saved, path: str | Path) -> None:
    """Write a record; the suffix says how. The file appears whole or not at all."""
    target, write = path_of(path, "save"), writer_of(type(record), path)
    with replacing(target) as stream:
        write(record, stream)


def writer_of(kind: type, path: str | Path) -> Callable[[Any, BinaryIO], None]:
    """How a record of this type is written there, if it can be."""
    writers: dict[str, Callable[[Any, BinaryIO], None]] = {}
    if kind is not Page:
        frame = write_parquet if kind in (Explanation, Explanations) else write_frame
        writers = {".json": write_json, ".parquet": frame, ".csv": write_csv}
    writers |= {".html": _write_page, **{f".{form}": partial(write, form) for form in ("png", "svg", "pdf")}}
    writers |= {".xml": write_junit} if kind is Audit else {}
    target = path_of(path, "save")
    suffix = target.suffix.lower()
    if suffix not in writers:
        known = ", ".join(writers)
        raise InputError(f"cannot save {KINDS[kind]} as {target.name!r}: the name must end in {known}")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target.name!r}: there is no folder {str(target.parent)!r}; create it")
    if suffix in NEEDED:
        module, extra = NEEDED[suffix]
        require(module, extra=extra)
    return writers[suffix]


def _write_page(record: Saved, stream: BinaryIO) -> None:
    whole = record if isinstance(record, Page) else Page("", [("", record)])
    stream.write(page(whole).encode())


def write_junit(a: Audit, stream: BinaryIO) -> None:
    """An audit for servers that run tests: one case per check and method; what failed says so, and why."""
    kinds = {**FAILURES, **({"unclear": "failure"} if a.strict else {})}
    told = [kinds.get(r.outcome, "") for r in a.results]
    counts = {"failures": told.count("failure"), "errors": told.count("error"), "skipped": told.count("skipped")}
    facts = {"name": plain(title_of(a), LONGEST), "tests": len(a.results), **counts, "time": _time(a.seconds)}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {key: str(value) for key, value in facts.items()})
    for r, kind in zip(a.results, told, strict=True):
        check, method, said = (plain(text, LONGEST) for text in (r.check, r.method, said_of(r)))
        names = {"classname": f"veridical.{r.part}.{check}", "name": method or check, "time": _time(r.seconds)}
        case = ElementTree.SubElement(suite, "testcase", names)
        word = "Not clear: " if r.outcome == "unclear" else ""
        found = ElementTree.SubElement(case, kind or "system-out", {"message": word + said} if kind else {})
        lines = write_lines(grounds(r.verdict, TERMINAL), WIDE) if r.verdict is not None else []
        found.text = "\n".join([said, *(plain(line, LONGEST) for line in lines)])
    ElementTree.indent(root)
    stream.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _time(seconds: float) -> str:
    return f"{seconds:.3f}" if math.isfinite(seconds) else "0"
