"""Verdicts and audits made by hand: the plain case, and everything that can be awkward about one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.builders import explanations as made
from veridical.checks.audits import Audit, Result
from veridical.records import Explanation, Measured, Part, Verdict, View

NULLS = {"constant": 0.0, "noise": 0.012, "shuffled": 0.034, "another": 0.21}
EXTREME = (math.pi, -0.0, 5e-324, 1.7976931348623157e308, -1e300, math.inf, -math.inf, math.nan, 1e-9, 12345.678)


def mapped(shape: tuple[int, ...] = (48, 64, 3), axis: int = -1) -> Explanation:
    """A picture of four quarters whose map is a ridge: positive on the left, negative on the right."""
    h, w = shape[:2] if axis in (-1, 2) else shape[-2:]
    rows, cols = np.mgrid[:h, :w]
    labels = (2 * (rows >= h // 2) + (cols >= w // 2)).astype(np.int64)
    ridge = np.exp(-(((rows - h / 2) / h * 4) ** 2)) * np.sin(cols / w * 2 * np.pi)
    pixels = np.stack([rows / h * 255, cols / w * 255, 255 - rows / h * 255], axis=-1).astype(np.uint8)
    weights = np.array([ridge[labels == j].sum() for j in range(4)])
    places = np.repeat(np.expand_dims(ridge / 3, axis), 3, axis=axis) if len(shape) == 3 else ridge
    return replace(
        made.mushroom(),
        parts=tuple(Part(name, name, "region", j) for j, name in enumerate(("nw", "ne", "sw", "se"))),
        weights=weights,
        intervals=np.stack([weights, weights], axis=1),
        unsettled=(),
        target="cat",
        view=View("picture", {"pixels": pixels[None], "labels": labels[None], "titles": ("",)}),
        map=places,
    )


def verdict(passed: bool = False) -> Verdict:
    """Guided backpropagation after the weights of a network were made random."""
    layers = ("logits", "dense", "conv 5", "conv 4", "conv 3", "conv 2", "conv 1")
    level = 0.05 if passed else 0.93
    measures = [
        Measured(
            f"{kind}, down to {name}", level - i / 60, level - i / 60 - 0.04, level - i / 60 + 0.03, 50, NULLS
        )
        for kind in ("Spearman, signed", "SSIM")
        for i, name in enumerate(layers)
    ]
    sentence = (
        "The explanations change as much as they should when the network forgets what it learned."
        if passed
        else "The explanations stay nearly the same when the network forgets what it learned: they do not depend "
        "on what it learned, and cannot show what is wrong with it."
    )
    notes = ("50 of 190 instances, drawn at random, were explained.",)
    evidence = (mapped(), replace(made.mushroom(), target="dog"))
    return Verdict(
        passed, level, 0.31, sentence, "randomize", "GuidedBackprop", (level - 0.04, level + 0.03), NULLS,
        tuple(measures), evidence, (17, 3, 188), notes,
    )  # fmt: skip


def bare() -> Verdict:
    """That of an explanation: nothing but what every verdict has."""
    return made.mushroom().verdict


def strange_verdict(names: Sequence[str] = made.HOSTILE) -> Verdict:
    """Every text that a stranger may choose is an attack or a nuisance."""
    nulls = {name[:2000]: i / 10 for i, name in enumerate(names)}
    measures = tuple(Measured(name, 0.5, 0.4, 0.6, 12, nulls) for name in names)
    evidence = (made.hostile(names),)
    return Verdict(
        False, 0.5, 0.1, names[0] + names[-1], names[1], names[-1], (0.4, 0.6), nulls, measures, evidence,
        (1,), tuple(names),
    )  # fmt: skip


def extreme_verdict() -> Verdict:
    """Numbers that are easily lost on the way to a file and back, or too long to print."""
    turned = EXTREME[1:] + EXTREME[:1]
    nulls = {f"null {i}": number for i, number in enumerate(EXTREME)}
    measures = tuple(
        Measured(f"measure {i}", number, -abs(number), turned[i], 10**i, nulls) for i, number in enumerate(EXTREME)
    )
    return Verdict(True, -math.inf, math.nan, "", "extreme", "", (-1e300, math.inf), nulls, measures)


def wide_verdict() -> Verdict:
    """More lines, null rows, notes, rows and explanations than can be shown."""
    nulls = {f"kind of nothing {i}": i / 20 for i in range(12)}
    measures = tuple(Measured(f"measure number {i:03d}", i / 100, i / 120, i / 90, i, nulls) for i in range(99))
    return Verdict(
        True, 0.5, 0.4, "Wide.", "wide", "Lime", (0.1, 0.9), nulls, measures, made.many(20).items,
        tuple(range(100)), tuple(f"Note {i}." for i in range(30)),
    )  # fmt: skip


def plain() -> Audit:
    """Two methods: some checks passed, one failed for one of them, some were skipped."""
    lime = replace(verdict(True), method="Lime", evidence=())
    results = (
        Result("randomize", "Lime", lime, "", 2.3),
        Result("randomize", "GuidedBackprop", verdict(), "", 4.6),
        Result("sampling", "Lime", replace(lime, check="sampling", observed=0.93, passed=False), "", 0.4),
        Result("sampling", "GuidedBackprop", None, "GuidedBackprop asks the model about no samples", 0.0),
        Result("shift", "Lime", None, "needs shifted=…: instances of another kind than X", 0.0),
        Result("shift", "GuidedBackprop", None, "needs shifted=…: instances of another kind than X", 0.0),
        Result("reliance", "Lime", replace(lime, check="reliance"), "", 12.3),
        Result("reliance", "GuidedBackprop", replace(lime, check="reliance", method="GuidedBackprop"), "", 74.1),
    )
    recipe = {"veridical": "0.1.0", "methods": {"Lime": {"n_samples": 512}}, "checks": ["randomize"], "rng": 0}
    return Audit(
        "Network on 190 instances (Superpixels)", results, 123_456, 93.7, recipe, ("A note to the reader.",)
    )


def good() -> Audit:
    """One method, nothing wrong."""
    kept = tuple(r for r in plain().results if r.outcome == "passed" and r.method == "Lime")
    return replace(plain(), results=kept)


def doubtful() -> Audit:
    """Nothing wrong, but one thing that is not clear."""
    unsure = Verdict(
        False, 0.61, 0.55, "The model answers 61 % of 60 instances right, which may be chance.", "accuracy", "",
        (0.48, 0.72), {"constant": 0.55}, (Measured("a constant guess", 0.55, n=60),), (made.mushroom(),),
        label="unclear", measured="share of right answers", better="higher",
    )  # fmt: skip
    return replace(good(), results=(Result("accuracy", "", unsure, "", 0.5), *good().results))


def broken() -> Audit:
    """Something went wrong in a check, and the others went on."""
    error = "ModelError: predict returned 3 rows for 1000 inputs; it must return one row per input"
    return replace(good(), results=(*good().results, Result("labels", "Lime", None, error, 1.0, broken=True)))


def unchecked() -> Audit:
    """No check applies."""
    return replace(plain(), results=tuple(r for r in plain().results if r.outcome == "skipped"))


def empty() -> Audit:
    """Not a single check."""
    return Audit("", ())


def strangers(names: Sequence[str] = made.HOSTILE) -> Audit:
    """Every text that a stranger may choose is an attack or a nuisance."""
    results = [Result(name, names[0], strange_verdict(names), "", 1.0) for name in names[:3]]
    results += [Result(name, name, None, name, math.nan, broken=i % 2 == 0) for i, name in enumerate(names)]
    return Audit(names[0], tuple(results), 1, math.inf, {name: name for name in names}, tuple(names))


def extreme() -> Audit:
    """Numbers that are easily lost, and more than can be shown."""
    results = tuple(Result(f"check {i}", "", extreme_verdict(), "", EXTREME[i]) for i in range(10))
    return Audit("Extreme", (*results, Result("wide", "Lime", wide_verdict())), 10**12, 1e308)
