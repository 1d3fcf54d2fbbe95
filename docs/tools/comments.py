"""What the reference reads in the code where docstrings lack it: fields with the comments behind them, examples."""

from __future__ import annotations

import re
from typing import Any

import griffe

COMMENT = re.compile(r"  # (?!noqa|type:)(.+)$")
EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)
UNDER_HEADING = re.compile(r"^Examples\n-+$", re.MULTILINE)
TABLED = re.compile(r"^(?:Parameters|Attributes)\n-+$", re.MULTILINE)


def fields(record: griffe.Class) -> list[str]:
    """One line of a table a field: how it is written, and the comment behind it."""
    lines = []
    for name, field in record.members.items():
        if not isinstance(field, griffe.Attribute) or name.startswith("_") or field.annotation is None:
            continue
        if "property" in field.labels:
            continue
        found = COMMENT.search(field.source.splitlines()[0]) if field.source else None
        value = "" if field.value is None or str(field.value).startswith("field(") else f" = {field.value}"
        told = found[1].replace("|", "\\|") if found else ""
        lines.append(f"| `{name}: {field.annotation}{value}` | {told} |")
    return lines if any(not line.endswith("|  |") for line in lines) else []


class Comments(griffe.Extension):
    """The docstring of a class gets a table of its fields, unless it has one."""

    def on_instance(self, *, obj: griffe.Object, **more: Any) -> None:
        """Examples without a heading are code, too."""
        if obj.docstring is not None and not UNDER_HEADING.search(obj.docstring.value):
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )

    def on_class_members(self, *, cls: griffe.Class, **more: Any) -> None:
        lines = fields(cls)
        if lines and cls.docstring is not None and not TABLED.search(cls.docstring.value):
            table = "\n".join(["| field | what it is |", "| --- | --- |", *lines])
            cls.docstring.value = f"{cls.docstring.value}\n\n{table}\n"
