"""An audit as JUnit XML, which every build server reads."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from veridical.debug.audit import Audit, Result
from veridical.render.audits import headline, said_of
from veridical.render.verdicts import body
from veridical.render.words import plain

LONGEST = 1000  # characters of a text
KINDS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit(a: Audit) -> bytes:
    """One test case a check and method; what failed says so, and why."""
    counts = a.counts
    facts = {
        "name": plain(headline(a), LONGEST),
        "tests": len(a.results),
        "failures": counts["failed"],
        "errors": counts["error"],
        "skipped": counts["skipped"],
        "time": _time(a.seconds),
    }
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {key: str(value) for key, value in facts.items()})
    for result in a.results:
        _case(suite, result)
    ElementTree.indent(root)
    written: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _case(suite: ElementTree.Element, r: Result) -> None:
    names = {
        "classname": f"veridical.{plain(r.check, LONGEST)}",
        "name": plain(r.method, LONGEST) or plain(r.check, LONGEST),
    }
    case = ElementTree.SubElement(suite, "testcase", {**names, "time": _time(r.seconds)})
    if r.outcome in KINDS:
        found = ElementTree.SubElement(case, KINDS[r.outcome], {"message": plain(said_of(r), LONGEST)})
    else:
        found = ElementTree.SubElement(case, "system-out")
    lines = [said_of(r), *(body(r.verdict, 100) if r.verdict is not None else [])]
    found.text = "\n".join(plain(line, LONGEST) for line in lines)


def _time(seconds: float) -> str:
    return f"{seconds:.3f}" if math.isfinite(seconds) else "0"
