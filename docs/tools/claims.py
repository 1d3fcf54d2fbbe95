"""Tables of docs/results.md: what the library does well and badly, each with a number, an interval and its source.

Targets of experiments are quoted as their list has them; of benchmarks, the median over all cases has a 95 % interval
by order statistics, which assumes nothing about how the cases are distributed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from peers import RESULTS, Line, short

TARGETS = Path(__file__).parents[2] / "experiments" / "targets.md"
INTERVALS = ("coverage", "coverage-text", "coverage-images", "coverage-networks")


@dataclass(frozen=True)
class Claim:
    """One line: what is claimed, the number with its interval, and where it was measured."""

    said: str
    number: str
    title: str  # of a section of experiments/README.md or benchmarks/README.md
    folder: str = "experiments"

    def shown(self) -> str:
        place = re.sub(r"[^\w\- ]", "", self.title.lower()).replace(" ", "-")
        name = self.title.partition(":")[0]
        return f"| {self.said} | {self.number} | [{name}](../{self.folder}/README.md#{place}) |\n"


@cache
def targets() -> dict[tuple[str, str], str]:
    """What was found for every target of the experiments."""
    lines = re.findall(r"^\| (.+) \|$", TARGETS.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines[1:]]
    return {(cell[0], cell[1]): cell[3] for cell in cells}


def rows(name: str) -> list[dict[str, Any]]:
    """All cases of a benchmark."""
    found: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return found


def middle(numbers: list[float]) -> str:
    """The median, and its 95 % interval by order statistics: all of the numbers where they are few."""
    ordered, n = sorted(numbers), len(numbers)
    rank = max(int(binom.ppf(0.025, n, 0.5)) - 1, 0)
    low, high = ordered[rank], ordered[n - 1 - rank]
    return f"{short(float(np.median(ordered)))} [{short(low)}, {short(high)}] ({n} cases)"


def times(line: Line, *more: Line) -> str:
    """How many times better than a peer, over the cases of one or several benchmarks."""
    return middle([number for each in (line, *more) for number in each.numbers(rows(each.file))])


def held() -> str:
    """How many weights lie within their intervals: the mean over all problems, the lowest and the highest."""
    shares = [row["share_1024"] for name in INTERVALS for row in rows(name)]
    return (
        f"{np.mean(shares):.1%} on average, from {min(shares):.1%} to {max(shares):.1%} ({len(shares)} problems)"
    )


def share(right: int, n: int) -> str:
    """A share with its exact 95 % interval (Clopper and Pearson)."""
    low = beta.ppf(0.025, right, n - right + 1) if right else 0.0
    high = beta.ppf(0.975, right + 1, n - right) if right < n else 1.0
    return f"{right} of {n}: {right / n:.1%} [{low:.1%}, {high:.1%}]"


def judged(kind: str) -> str:
    """How well believability tells right explanations of one kind of model from wrong ones, and fidelity alone."""
    text = (TARGETS.parent / "README.md").read_text(encoding="utf-8")
    start = text.index(f"**{kind}**: by fits")
    cells = [cell.strip() for cell in re.findall(r"^\| all .*$", text[start:], re.MULTILINE)[0].split("|")]
    return f"{cells[4]} ({int(cells[2]):,} explanations); fidelity alone {cells[5]}"


def against(found: str) -> str:
    """A difference with the name of the other behind it."""
    other, _, difference = found.partition(", ")
    return f"{difference} (against {other})"


def strengths() -> list[Claim]:
    """What it does well."""
    found = targets()
    small, region = "small changes, predict only: ours, either, hit@1", "known causes"
    rater = "the same, less that of raters who see shuffled explanations"
    grouped, nearest = "20 newsgroups: error against the closest", "groups"
    return [
        Claim(
            "A 95 % confidence interval contains the weight that endless samples would give (1,024 samples)",
            held(), "Intervals and the stopping rule", "benchmarks",
        ),
        Claim(
            "Texts: times fewer model calls than lime's 5,000 for the same error of the weights",
            times(Line("", "calls-text", "ratio")), "Model calls", "benchmarks",
        ),
        Claim(
            "Shapley values: times less error than shap's `KernelExplainer` at 256 calls each",
            times(Line("", "shapley", "shap_256 / ours_256")), "Shapley values", "benchmarks",
        ),
        Claim(
            "One region was changed a little until the network erred: `vd.methods.Either()` ranks this region first",
            found[region, small].replace(")", " cases)"), "Known causes: does an explanation show what made the decision wrong?",
        ),
        Claim(
            "Networks for sounds and pictures: `vd.believe` tells right explanations from wrong ones (AUROC; 0.5 is chance)",
            judged("networks for sounds and pictures"), "Believability",
        ),
        Claim(
            "Simulated raters trust a sound model more often than one that goes by the snow; the gain over shuffled explanations",
            found["animal or snow", rater], "Husky: is it the animal, or the snow?",
        ),
        Claim(
            "Where nothing leaks, `vd.checks.clean` calls the removal of features an improvement, which would be a false alarm",
            share(int(found["rounds", "no leak: rounds called better"]), 200), "Rounds",
        ),
        Claim(
            "Groups of texts (20 newsgroups): error of their explanations, less that of the best other method",
            against(found[nearest, grouped]), "Groups: what is measured",
        ),
    ]  # fmt: skip


def weaknesses() -> list[Claim]:
    """What it does badly."""
    found = targets()
    place = "LIME's share on the background, of the attribution of pixels, less that of the best gradient method"
    pitch = "a voice in music: and of its pitch, at -6 dB"
    return [
        Claim(
            "Texts and tables: `vd.believe` is no better than fidelity alone (AUROC; 0.9 was wanted), and too sure of itself",
            judged("texts and tables"), "Believability",
        ),
        Claim(
            "A network goes by the background: LIME's share of attribution there, less that of the best gradient method",
            against(found["shortcut", place]), "Spurious: would the explanation show that the model goes by the background?",
        ),
        Claim(
            "A quiet voice in music: how often (%) the heaviest tile has the pitch of the voice (90 was wanted)",
            found["voice in music", pitch], "A voice in music",
        ),
        Claim(
            "Quick models of tables: time of an explanation, in times of the model's own answers (1.25 was wanted)",
            times(Line("", "overhead", "ours")), "Overhead", "benchmarks",
        ),
        Claim(
            "Gradient maps on a GPU: speed, in times of captum's (below 1 is slower)",
            times(Line("", "maps-cuda", "faster")), "Maps", "benchmarks",
        ),
    ]  # fmt: skip


def table(name: str) -> str:
    """One of the two tables."""
    claims = {"strengths": strengths, "weaknesses": weaknesses}[name]()
    return "| what | found | measured in |\n| --- | --- | --- |\n" + "".join(each.shown() for each in claims)
