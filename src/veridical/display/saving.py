"""Saving: which files a record can be written as, and the one way to write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from xml.etree import ElementTree

from veridical.checks.audits import Audit
from veridical.comparisons.watching import Drift
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

Case: TypeAlias = tuple[str, str, str, str, str, Sequence[str], str]
"""Class, name, kind ("" where it passed), a word before what is said, that itself, more lines, seconds."""


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
    writers |= {".xml": JUNIT[kind]} if kind in JUNIT else {}
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
    cases = list[Case]()
    for r in a.results:
        said = said_of(r)
        lines = write_lines(grounds(r.verdict, TERMINAL), WIDE) if r.verdict is not None else []
        word, name = "Not clear: " if r.outcome == "unclear" else "", f"veridical.{r.part}.{r.check}"
        cases.append((name, r.method or r.check, kinds.get(r.outcome, ""), word, said, lines, _time(r.seconds)))
    _write_cases(title_of(a), _time(a.seconds), cases, stream)


def write_drift_junit(d: Drift, stream: BinaryIO) -> None:
    """What was watched, for servers that run tests: one case per number; what changed is a failure."""
    cases = list[Case]()
    for j, (kind, name) in enumerate(zip(d.kinds, d.names, strict=True)):
        (before, after), (low, high) = d.values[j].tolist(), d.intervals[j].tolist()
        said = f"{kind} of {name}: {before:.4g} → {after:.4g}, change {low:+.3g} to {high:+.3g} (95 %)"
        cases.append((f"veridical.watch.{kind}", name, "failure" if d.changed[j] else "", "", said, [], "0"))
    _write_cases(f"{d.titles[0]} and {d.titles[1]}: {d.verdict.sentence}", "0", cases, stream)


def _write_cases(title: str, seconds: str, cases: Sequence[Case], stream: BinaryIO) -> None:
    """A suite of JUnit."""
    told = [kind for _, _, kind, *_ in cases]
    counts = {"failures": told.count("failure"), "errors": told.count("error"), "skipped": told.count("skipped")}
    facts = {"name": plain(title, LONGEST), "tests": len(cases), **counts, "time": seconds}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {key: str(value) for key, value in facts.items()})
    for owner, name, kind, word, said, lines, time in cases:
        said = plain(said, LONGEST)
        names = {"classname": plain(owner, LONGEST), "name": plain(name, LONGEST), "time": time}
        case = ElementTree.SubElement(suite, "testcase", names)
        found = ElementTree.SubElement(case, kind or "system-out", {"message": word + said} if kind else {})
        found.text = "\n".join([said, *(plain(line, LONGEST) for line in lines)])
    ElementTree.indent(root)
    stream.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _time(seconds: float) -> str:
    return f"{seconds:.3f}" if math.isfinite(seconds) else "0"


JUNIT: dict[type, Callable[[Any, BinaryIO], None]] = {Audit: write_junit, Drift: write_drift_junit}
