"""Tables of how much better or worse than a peer, over the cases of each benchmark, from benchmarks/results."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
SECTIONS = {  # of the page of benchmarks, by the first word of a file's name
    "calls": "Model calls",
    "clock": "Time to the same error",
    "overhead": "Overhead",
    "batch": "Many rows",
    "compositing": "Pictures alone",
    "pick": "Few of many",
    "shapley": "Shapley values",
    "maps": "Maps",
    "pages": "Pages",
}


@dataclass(frozen=True)
class Line:
    """One thing that was measured against a peer: a number of times better for each case."""

    what: str
    file: str  # in benchmarks/results, without .json
    times: str  # the column with the number, or two columns whose quotient it is: "theirs / ours"
    kinds: tuple[str, ...] = ()  # words that a case must have

    def numbers(self, rows: list[Mapping[str, Any]]) -> list[float]:
        """One number a case of these kinds, where the peer could be asked."""
        above, _, below = self.times.partition(" / ")
        some = [row for row in rows if all(kind in " ".join(map(str, row.values())) for kind in self.kinds)]
        return [row[above] / (row[below] if below else 1.0) for row in some if row[above] is not None]

    def shown(self) -> str:
        """A line of the table."""
        path = RESULTS / f"{self.file}.json"
        found = self.numbers(json.loads(path.read_text(encoding="utf-8"))["rows"])
        cells = " | ".join(short(number) for number in (median(found), min(found), max(found)))
        section = SECTIONS[self.file.partition("-")[0]]
        place = re.sub(r"[^a-z0-9]+", "-", section.lower())
        source = f"[{section}](../benchmarks/README.md#{place}), [{path.name}](../benchmarks/results/{path.name})"
        return f"| {self.what} | {cells} | {len(found)} | {source} |\n"


def short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


BINS, NUMBERS = ("discretized", "default"), ("continuous", "default")
PEERS = {
    "lime": (
        Line("calls for the error of lime's 5,000: tables in bins", "calls", "ratio", BINS[:1]),
        Line("the same, tables of numbers", "calls", "ratio", NUMBERS[:1]),
        Line("the same, texts", "calls-text", "ratio"),
        Line("the same, pictures", "calls-images", "ratio"),
        Line("time to the same error, texts", "clock-text", "faster"),
        Line("the same, pictures", "clock-images", "faster"),
        Line("time of as many samples, tables", "overhead", "lime_10 / ours"),
        Line("the same, texts", "overhead-text", "lime_10 / ours"),
        Line("time of 1,000 rows in bins, 10 features", "batch", "faster_10", BINS),
        Line("error of these", "batch", "lime_error / error", BINS),
        Line("time of 1,000 rows of numbers, 10 features", "batch", "faster_10", NUMBERS),
        Line("error of these", "batch", "lime_error / error", NUMBERS),
        Line("time of making pictures with parts taken away", "compositing", "faster"),
        Line("time of a pick from 1,000 explanations", "pick", "faster"),
        Line("bytes of the page of one table row", "pages", "lime_kb / page_kb"),
    ),
    "shap": (
        Line("error of Shapley values at 64 calls", "shapley", "shap_64 / ours_64"),
        Line("the same, at 256 calls", "shapley", "shap_256 / ours_256"),
        Line("the same, at the most calls", "shapley", "ratio"),
    ),
    "captum": (
        Line("calls for the error of captum's Lime", "calls-networks", "ratio"),
        Line("time to the same error", "clock-networks", "faster"),
        Line("time of maps by gradients, on a CPU", "maps", "faster"),
        Line("the same, on a GPU", "maps-cuda", "faster"),
    ),
}


def table(peer: str) -> str:
    """How many times better than a peer, over all cases: under 1 is worse."""
    head = "| measured | median | least | most | cases | where |\n| --- | ---: | ---: | ---: | ---: | --- |\n"
    return head + "".join(line.shown() for line in PEERS[peer])
