"""Links of pages to files outside docs/, which hold wherever the pages are read, turned to pages of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]+)?\)")
FROM_ROOT = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]+)?\)")
PLACES = {  # of files in the repository, and of what is made of them in the site
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/targets.md": "targets.md",
    "examples/README.md": "examples.md",
    "experiments/README.md": "experiments/index.md",
    "experiments/targets.md": "experiments/targets.md",
    "src/veridical/api.py": "reference/first.md",
    "src/veridical/methods": "reference/methods.md",
}


def anchor(title: str) -> str:
    """Where a heading is, as code hosts call it."""
    return "#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def turned(markdown: str, page: str, cut: Mapping[str, str]) -> str:
    """A page with its links turned; ``cut`` has the pages of the experiments by their places in the site."""
    folder = posixpath.dirname(page)
    headings = {anchor(body.partition("\n")[0].lstrip("# ")): place for place, body in cut.items()}

    def turn(found: re.Match[str]) -> str:
        file = posixpath.normpath(posixpath.join("docs", folder, found[1]))
        place, at = PLACES.get(file), found[2] or ""
        if file.startswith("benchmarks/results/"):
            place = file.removeprefix("benchmarks/")
        if place == "experiments/index.md" and at:
            place, at = headings[at], ""
        return f"]({posixpath.relpath(place, folder or '.')}{at})" if place else found[0]

    return LINK.sub(turn, markdown)


def turned_from_root(markdown: str) -> str:
    """A page at the root of the repository that becomes one at the root of the site."""

    def turn(found: re.Match[str]) -> str:
        place = PLACES.get(found[1], found[1].removeprefix("docs/"))
        return f"]({place}{found[2] or ''})"

    return FROM_ROOT.sub(turn, markdown)
