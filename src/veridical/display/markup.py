"""How markup is made: ``tag`` and ``text`` escape whatever they are given.

A type of its own tells markup from text, so that a type checker refuses text that was not escaped.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from typing import NewType

from veridical.display.words import plain
from veridical.errors import harmless

Markup = NewType("Markup", str)

SPACES = frozenset("\t\n\u00ad\u200b\u2060\ufeff")  # harmless in a text, and part of how it is set
MEANT = re.compile(r"[&<>\"']| %")  # what markup gives a meaning, and what is kept together
VOID = frozenset({"image", "path", "rect", "use"})
OPEN = frozenset({"col"})  # without an end
OURS = frozenset({"d", "href", "src", "style"})  # attributes that only we fill, and that may be long
NONE = Markup("")
SPACE = Markup(" ")  # between elements, so that what is copied, read aloud or without style is not one word


def escape(text: object, limit: int = 100) -> Markup:
    """Foreign text on one line, cut to ``limit``, made fit for markup."""
    safe = plain(text, limit)
    if MEANT.search(safe):
        safe = html.escape(safe, quote=True).replace(" %", "\u00a0%")
    return Markup(safe)


def whole(text: str) -> Markup:
    """Foreign text made fit for markup, with its line breaks and never cut."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    safe = lines if lines.isprintable() else "".join(c if c in SPACES else harmless(c) for c in lines)
    return Markup(html.escape(safe, quote=True))


def tag(name: str, attributes: Mapping[str, object], *inner: Markup) -> Markup:
    """An element; the values of its attributes are escaped, None leaves one out; its content is markup already."""
    written = ""
    for key, value in attributes.items():
        if value is not None:
            written += f' {key}="{escape(value, 10_000_000 if key in OURS else 1000)}"'
    if name in OPEN:
        return Markup(f"<{name}{written}>")
    return Markup(
        f"<{name}{written}/>" if name in VOID and not inner else f"<{name}{written}>{''.join(inner)}</{name}>"
    )


def join(*parts: Markup) -> Markup:
    return Markup("".join(parts))


def spaced(*parts: Markup) -> list[Markup]:
    """Elements with a space after each."""
    return [join(part, SPACE) for part in parts]


def data_uri(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def minus(text: str) -> str:
    """Numbers with a true minus sign."""
    return text.replace("-", "−")
