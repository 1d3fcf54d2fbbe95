"""What every test of pages and files asks: the same bits, and markup that is ours alone."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import fields
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd

from veridical.metrics.reports import Metric
from veridical.records import Part, Record, View


def flat(text: str) -> str:
    return " ".join(text.split())


def exact(value: Any) -> Any:
    """A value that is equal only where type, dtype and bits are; a metric's function aside."""
    if isinstance(value, (Record, Part, View, Metric)):
        return type(value), [exact(getattr(value, f.name)) for f in fields(value) if f.name != "measure"]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, [exact(v) for v in value.ravel().tolist()]
    if hasattr(value, "indptr"):
        return value.shape, [exact(getattr(value, key)) for key in ("data", "indices", "indptr")]
    if isinstance(value, (tuple, list)):
        return type(value), [exact(v) for v in value]
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        return type(value), repr(value), value.unit
    if hasattr(value, "items"):
        return [(k, exact(v)) for k, v in value.items()]
    return type(value), value.hex() if isinstance(value, float) else repr(value)


def assert_ours(markup: str, page: Any, tags: set[str]) -> None:
    """Known elements alone, nothing that runs or is fetched, no odd characters, no Python words."""
    assert set(page.tags) <= tags
    names = [name for _, known in page.found for name in known]
    assert not [name for name in names if name.startswith("on") or name in {"src", "href"}]
    assert not re.search(r"url\(|@import|https?:|javascript:", markup)
    assert not [c for c in set(markup) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert not re.search(r"\b(None|nan|inf)\b", page.text)
    assert len(markup) < 600_000


class Reader(HTMLParser):
    """What a browser would see, and every table as rows of texts; unbalanced markup is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.found.append((tag, {name: (value or "").replace("\u00a0", " ") for name, value in attrs}))
        if tag not in {"meta", "col"}:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ")
        if "style" not in self.open:
            self.texts.append(data)
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str, kind: str = "") -> list[dict[str, str]]:
        return [known for name, known in self.found if name == tag and kind in known.get("class", "")]
