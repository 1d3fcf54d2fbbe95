"""Reports of known causes made by hand: the plain case, hostile texts, and no number at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

import veridical as vd
from tests.builders import explanations as made
from tests.builders import report_cases as cases
from tests.builders.audit_cases import mapped

D = 6


def curve(cause: str, method: str, level: float, n: int = 10) -> vd.metrics.Curve:
    """Flips that come the sooner the higher the level."""
    rate = np.clip(np.arange(D + 1) / D * (0.5 + level), 0, 1)
    rate[-1] = 1.0
    flips = (np.linspace(0.01, 0.99, n)[:, None] < rate).astype(float)
    return vd.metrics.Curve(
        cause, method, flips, flips.mean(axis=0), flips.mean(axis=0) - 0.1, flips.mean(axis=0) + 0.1
    )


def caused(
    methods: Sequence[str] = ("Lime", "Undo"), kinds: Sequence[str] = ("Pgd", "Swaps")
) -> vd.metrics.Report:
    """Two kinds of causes, two methods, two rows that know and two that do not."""
    known, nulls = ("norm", "greedy"), ("random", "contrast")
    metrics = [cases.metric(f"{test} ({kind})", family=kind) for kind in kinds for test in ("hit@1", "flip@3")]
    told = [cases.metric(f"fidelity AUROC ({kind})", family=f"{kind}: can one tell") for kind in kinds]
    rows = (*methods, *known, *nulls)
    levels = dict(zip(rows, np.linspace(0.9, 0.1, len(rows)), strict=True))
    rng = np.random.default_rng(0)
    scores = [
        cases.score(m.name, row, (rng.random(10) < levels[row]).astype(float), row in nulls)
        for m in metrics
        for row in rows
    ]
    scores += [
        cases.score(m.name, row, [0.5 + 0.1 * (i % 3) for i in range(10)] if row in methods else [np.nan] * 10)
        for m in told
        for row in rows
    ]
    sounds = (np.arange(800, dtype=np.int16), -np.arange(800, dtype=np.int16), 8000.0)
    why = mapped()
    examples = (
        vd.metrics.Example(kinds[0], 3, "cat", "dog", 0.02, 0.97, ("nw", "se"), tuple(methods),
                           (why,) * len(methods), why.view, None),
        vd.metrics.Example(kinds[-1], 4, 0, 1, 0.1, 0.8, (), tuple(methods[:1]), (made.mushroom(),), None, sounds),
    )  # fmt: skip
    return vd.metrics.Report(
        "2 methods on 2 kinds of causes", (*metrics, *told), tuple(methods), nulls, tuple(scores), (), 10, 99,
        {"veridical": "0.1.0"}, ("A note.",), known,
        tuple(curve(kind, row, levels[row]) for kind in kinds for row in rows),
        tuple(f"{name}: the heaviest part is guilty in 9 % of {kinds[0]}." for name in methods), examples,
    )  # fmt: skip


def strange() -> vd.metrics.Report:
    """Every text that a stranger may choose is an attack or a nuisance."""
    unique = [f"{name[:500]}{i}" for i, name in enumerate(made.HOSTILE)]
    found = caused(unique[:2], unique[2:4])
    return replace(
        found,
        findings=tuple(unique),
        examples=tuple(replace(e, label=unique[0], parts=tuple(unique)) for e in found.examples),
    )


def bare() -> vd.metrics.Report:
    """Curves without any number, and no example."""
    found = caused()
    gone = tuple(replace(c, flips=c.flips * np.nan, rate=c.rate * np.nan) for c in found.curves)
    return replace(found, curves=gone, examples=())
