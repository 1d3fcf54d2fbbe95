"""How wide a text is, and which of its characters can be drawn: what figures are set by."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from veridical.errors import require

POINTS = 72  # an inch
HINTED = 1.04  # times the width of a line: what fitting its letters to pixels may take, on a coarse screen
SHRUNK = 1.1  # the same of small letters, as on axes that are part of a figure
MISSING = "□"  # stands for a character that no font at hand has
EAST = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Noto Sans JP",
    "Noto Sans SC",
    "Noto Sans KR",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "IPAGothic",
    "NanumGothic",
    "PingFang SC",
    "Hiragino Sans",
    "Hiragino Sans GB",
    "Apple SD Gothic Neo",
    "Arial Unicode MS",
    "Microsoft YaHei",
    "Yu Gothic",
    "MS Gothic",
    "Malgun Gothic",
    "SimHei",
)  # fmt: skip - any of these has Chinese, Japanese or Korean characters
SIGNS = ("DejaVu Sans", "Noto Sans Symbols", "Noto Sans Symbols2", "Noto Emoji", "Symbola", "Segoe UI Symbol")


@dataclass(frozen=True, slots=True)
class Face:
    """The fonts of a figure: those of the style, and for characters they lack whichever are installed."""

    families: tuple[str, ...]
    substitute: str = MISSING  # for what no font has; nothing: such characters stay, for whoever shows the file
    room: float = HINTED  # times the width of a line

    def drawable(self, text: str) -> str:
        """The text, with a substitute for what cannot be drawn."""
        return self._with(self.substitute, text) if self.substitute else text

    def _with(self, substitute: str, text: str) -> str:
        if text.isascii():
            return text
        known = {c: c.isascii() or _holder(self.families, c) is not None for c in dict.fromkeys(text)}
        return "".join(c if known[c] else substitute for c in text)

    def family(self, text: str) -> tuple[str, ...]:
        """The families that a text needs, in the order in which they are asked."""
        found = (_holder(self.families, c) for c in dict.fromkeys(text) if not c.isascii())
        return tuple(dict.fromkeys([*self.families, *filter(None, found)]))

    def width(self, text: str, size: float, bold: bool = False) -> float:
        """Inches that a line of text takes, of a size in points."""
        known = self._with(MISSING, text)
        return self.room * _width(known, self.family(known), bold) * size / POINTS

    def cut(self, text: str, size: float, room: float) -> str:
        """The text, or as much of it as fits into so many inches, and an ellipsis."""
        if self._fits(text, size, room):
            return text
        low, high = 0, min(len(text), _most(size, room))
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.width(text[:middle].rstrip() + "…", size) <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return text[:low].rstrip() + "…"

    def _fits(self, text: str, size: float, room: float) -> bool:
        return len(text) <= _most(size, room) and self.width(text, size) <= room

    def wrap(self, text: str, size: float, room: float, bold: bool = False) -> list[str]:
        """The text in lines of at most so many inches; words that are longer are broken, percentages are not."""
        lines, line = list[str](), ""
        for word in " ".join(text.split()).replace(" %", "\u00a0%").split(" "):
            joined = f"{line} {word}" if line else word
            if self.width(joined, size, bold) <= room:
                line = joined
                continue
            lines += [line] if line else []
            *whole, line = self._broken(word, size, room)
            lines += whole
        return [*lines, line] if line or not lines else lines

    def _broken(self, word: str, size: float, room: float) -> list[str]:
        """A word, in pieces if it is longer than a line."""
        pieces = list[str]()
        while word and not self._fits(word, size, room):
            fits = max(len(self.cut(word, size, room)) - 1, 1)
            pieces.append(word[:fits])
            word = word[fits:]
        return [*pieces, word]


def _most(size: float, room: float) -> int:
    """Letters that a line can hold at most, each a tenth as wide as it is high."""
    return int(10 * room * POINTS / size) + 1


def face_of(families: Any, substitute: str = MISSING) -> Face:
    """The fonts of a style."""
    return Face((families,) if isinstance(families, str) else tuple(families), substitute)


def rightward(text: str) -> bool:
    """Whether a text runs from left to right: by its first letter that says so."""
    kinds = (unicodedata.bidirectional(c) for c in text[:1000])
    return next((kind == "L" for kind in kinds if kind in {"L", "R", "AL"}), True)


@lru_cache(4096)
def _holder(families: tuple[str, ...], character: str) -> str | None:
    """The first family that has a character: one of the style, else one that is made for its script."""
    if _has(families, character) or unicodedata.category(character) in {"Cf", "Mn"}:
        return families[0]
    script: str = unicodedata.name(character, "").partition(" ")[0].title()
    wanted = EAST if script in {"Cjk", "Hiragana", "Katakana", "Hangul", "Fullwidth", "Ideographic"} else SIGNS
    found = (f for f in (f"Noto Sans {script}", *wanted) if f in _installed() and _has((f,), character))
    return next(found, None)


def _has(families: tuple[str, ...], character: str) -> bool:
    font = require("matplotlib.font_manager", extra="plot").get_font(_path(families, False))
    return bool(font.get_char_index(ord(character)))


@lru_cache(1)
def _installed() -> frozenset[str]:
    manager = require("matplotlib.font_manager", extra="plot").fontManager
    return frozenset(entry.name for entry in manager.ttflist)


@lru_cache(64)
def _path(families: tuple[str, ...], bold: bool) -> str:
    manager = require("matplotlib.font_manager", extra="plot")
    properties = manager.FontProperties(family=list(families), weight="bold" if bold else "normal")
    return str(manager.findfont(properties))


@lru_cache(8192)
def _width(text: str, families: tuple[str, ...], bold: bool) -> float:
    """Points that a line takes where letters are one point high."""
    manager = require("matplotlib.font_manager", extra="plot")
    setter = require("matplotlib.textpath", extra="plot").TextToPath()
    size, weight = 100.0, "bold" if bold else "normal"
    properties = manager.FontProperties(family=list(families), weight=weight, size=size)
    return float(setter.get_text_width_height_descent(text, properties, False)[0]) / size
