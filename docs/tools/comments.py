"""What the reference reads in the code: fields with the comments behind them, and examples in docstrings."""

from __future__ import annotations

import re
from typing import Any

import griffe

COMMENT = re.compile(r"  # (?!noqa|type:)(.+)$")
EXAMPLE = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)


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
    """The docstring of a class gets a table of its fields; examples in docstrings are code."""

    def on_instance(self, *, obj: griffe.Object, **more: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )

    def on_class_members(self, *, cls: griffe.Class, **more: Any) -> None:
        lines = fields(cls)
        if lines and cls.docstring is not None:
            table = "\n".join(["| field | what it is |", "| --- | --- |", *lines])
            cls.docstring.value = f"{cls.docstring.value}\n\n{table}\n"
