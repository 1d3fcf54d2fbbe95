"""Explanations made by hand: the plain case, and everything that can be awkward about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from veridical.comparisons.watching import Drift, watch
from veridical.methods.flips import Flip, Flips
from veridical.records import Explanation, Explanations, Output, Part, Verdict

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=x>',
    "</style><style>*{display:none}",
    "' onmouseover='alert(1)",
    "\u202egnp.exe\u2066 \u200f",
    "\x1b[31mred\x07\r\n\x00",
    "&amp; &lt;",
    "$\\nonsense{1}$",
    "名前" * 40,
    "a" * 1_000_000,
)


def mushroom() -> Explanation:
    """A believable explanation with a plain story."""
    parts = (
        Part("odor = foul", "odor", "=", "foul"),
        Part("gill-size = narrow", "gill-size", "=", "narrow"),
        Part("30 < stalk-height ≤ 50.5", "stalk-height", "in", (30.0, 50.5)),
        Part("spore-print = white", "spore-print", "=", "white"),
        Part("bruises = yes", "bruises", "=", True),
        Part("rings > 1", "rings", ">", 1),
        Part("cap-width is missing", "cap-width", "is missing", None),
    )
    weights = np.array([0.261, 0.104, -0.083, 0.052, -0.021, 0.0063, 0.0])
    spread = np.array([0.021, 0.018, 0.02, 0.019, 0.018, 0.02, 0.017])
    return Explanation(
        parts=parts,
        weights=weights,
        intervals=np.stack([weights - spread, weights + spread], axis=1),
        intercept=0.41,
        prediction=0.93,
        local_prediction=0.908,
        fidelity=0.873,
        effective_size=812.4,
        n_calls=2001,
        target="poisonous",
        top_k=5,
        top_probability=0.962,
        unsettled=(("30 < stalk-height ≤ 50.5", "gill-size = narrow"),),
        verdict=Verdict(
            True, 0.962, 0.8, "odor = foul speaks most for poisonous, stalk-height against.", label="reliable"
        ),
        recipe={"method": "Lime", "n_samples": 2000, "seed": 7, "kernel": {"width": 0.75}},
        notes=("The column 'veil-type' is constant and was left out.",),
    )


def unmeasured() -> Explanation:
    """Some intervals are infinite, the fit is bad, and there is a tree path."""
    e = mushroom()
    intervals = e.intervals.copy()
    intervals[[1, 6]] = [-np.inf, np.inf]
    sentence = "Only 12 % of what the model does nearby is explained: the weights are not its reasons."
    return replace(
        e,
        intervals=intervals,
        fidelity=0.12,
        top_probability=0.31,
        target=Output(1),
        verdict=Verdict(False, 0.31, 0.8, sentence, label="unreliable", advice="Try `method=vd.Contrast()`."),
        path=("odor = foul", "gill-size = narrow", "stalk-height ≤ 50.5"),
    )


def constant() -> Explanation:
    """A model that always says the same: no weight at all, and nothing that could be measured."""
    e = mushroom()
    return replace(
        e,
        weights=np.zeros(7),
        intervals=np.zeros((7, 2)),
        prediction=0.5,
        local_prediction=0.5,
        fidelity=float("nan"),
        top_probability=float("nan"),
        unsettled=(),
        verdict=Verdict(
            False, 0.0, 0.0, "The model says 0.5 to every sample: there is nothing to explain.", label="none"
        ),
    )


def empty() -> Explanation:
    """Not a single part."""
    return replace(constant(), parts=(), weights=np.empty(0), intervals=np.empty((0, 2)))


def hostile(names: Sequence[str] = HOSTILE) -> Explanation:
    """Every text that a stranger may choose is an attack or a nuisance."""
    d = len(names)
    weights = np.linspace(1.0, -0.9, d)
    return replace(
        mushroom(),
        parts=tuple(Part(name, name, name, name) for name in names),
        weights=weights,
        intervals=np.stack([weights - 0.1, weights + 0.1], axis=1),
        target=names[0],
        unsettled=(tuple(names), tuple(names[:2])),
        verdict=Verdict(True, 1.0, 0.5, names[1] + names[0], label="reliable"),
        recipe={name: name for name in names},
        notes=tuple(names),
        path=tuple(names),
    )


def extreme() -> Explanation:
    """Numbers and values that are easily lost on the way to a file and back."""
    values = (
        0.1,
        -0.0,
        float("inf"),
        float("nan"),
        "nan",
        "inf",
        1,
        1.0,
        True,
        None,
        "",
        (float("-inf"), 3.5),
    )
    moments = (
        pd.Timestamp("2020-02-29T12:34:56.789012345"),
        pd.Timestamp("2021-07-01", tz="Europe/Berlin").as_unit("ms"),
    )
    parts = tuple(Part("same", "c", "=", value) for value in (*values, *moments, pd.NaT))
    weights = np.array([np.pi, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7976931348623157e308, *range(8)], float)
    return replace(
        mushroom(),
        parts=parts,
        weights=weights,
        intervals=np.stack([-weights, weights * 0.1], axis=1),
        intercept=float("-inf"),
        fidelity=float("nan"),
        recipe={"float": 1, "limits": (0.5, float("inf")), "deep": {"tuple": [1, (2,), {"mapping": None}]}},
    )


def many(n: int = 50) -> Explanations:
    """A list with two targets and weights that differ from row to row."""
    rng = np.random.default_rng(0)
    items = []
    for i in range(n):
        e = unmeasured() if i % 5 == 0 else mushroom()
        scale = rng.uniform(0.5, 1.5, (7, 1))
        items.append(replace(e, weights=e.weights * scale[:, 0], intervals=e.intervals * scale))
    return Explanations(tuple(items))


def turned() -> Flips:
    """Changes of columns of several types."""
    items = (
        Flip({"odor": "almond"}, {"odor": "foul"}, "edible", 0.07, 0.61, 0.4),
        Flip(
            {"rings": None, "seen": pd.Timestamp("2026-03-01")},
            {"rings": 1, "seen": float("nan")},
            "edible",
            0.07,
            0.5,
            1.2,
        ),
    )
    verdict = Verdict(True, 2.0, 1.0, 'Changing odor turns "poisonous" into "edible".', label="reliable")
    notes = ("The model failed on 3 changes, which were skipped: predict raised ValueError",)
    return Flips(items, "poisonous", 0.93, "", "share", "columns", 61, verdict, notes, "row 7")


def drift() -> Drift:
    """Two nights, of which the second leans on another column."""
    return watch(many(30), Explanations(tuple(replace(e, weights=e.weights[::-1].copy()) for e in many(24))))
