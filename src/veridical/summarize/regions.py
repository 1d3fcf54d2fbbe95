"""Regions in words: what the instances of a group have in common that the gate looks at."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.records import Floats, Region
from veridical.represent.space import Space
from veridical.summarize.near import Matrix, dense
from veridical.summarize.task import Gate

MOST = 5  # features that tell a region
APART, FAR = 0.25, 1.25  # standard deviations from the mean that are worth a word, and that are a lot
NARROW = 0.7  # of the spread: members that vary less have something in common
SAMPLE = 200  # instances of a group that are asked for their reasons


def describe(space: Space, rows: Matrix, group: Any, gate: Gate, k: int) -> tuple[Region, ...]:
    """One region a group."""
    center, step = space.scale
    return tuple(_region(space, rows, np.flatnonzero(group == g), gate, g, (center, step)) for g in range(k))


def _region(space: Space, rows: Matrix, members: Any, gate: Gate, g: int, scale: tuple[Floats, Floats]) -> Region:
    if not len(members):
        return Region("no instance", ())
    some = members[:: max(len(members) // SAMPLE, 1)][:SAMPLE]
    telling = np.mean([gate.reasons(rows[[i]], g) for i in some], axis=0)
    order = [int(j) for j in np.argsort(-telling, kind="stable")[:MOST] if telling[j] > 0]
    words = []
    for j in order:
        own = _column(rows, j, members)
        word = _words(space.parts[j], own, _column(rows, j), (scale[0][j], scale[1][j]))
        words += [word] if word else []
    return Region(" and ".join(words) or "everything else", tuple(space.parts[j].name for j in order))


def _column(rows: Matrix, j: int, members: Any = slice(None)) -> Floats:
    return dense(rows[members][:, [j]]).ravel()


def _words(part: Any, own: Floats, everyone: Floats, scale: tuple[float, float]) -> str:
    """What the members have in common in one feature; nothing if they are like everyone else."""
    if part.relation != "per sd":
        share, usual = float((own != 0).mean()), float((everyone != 0).mean())
        name = f"“{part.name}”" if part.relation == "word" else part.name
        if abs(share - usual) <= APART * max(usual * (1 - usual), share * (1 - share)) ** 0.5:
            return ""
        if share > usual:
            return f"{name} ({100 * share:.0f} %)" if share < 0.995 else name
        return f"rarely {name} ({100 * share:.0f} %)" if share > 0.005 else f"not {name}"
    spread = max(float(everyone.std()), 1e-12)
    level = float(own.mean() - everyone.mean()) / spread
    if abs(level) < APART and float(own.std()) > NARROW * spread:
        return ""
    word = "medium" if abs(level) < APART else "high" if level > 0 else "low"
    word = f"very {word}" if abs(level) > FAR else word
    low, high = (float(np.quantile(own, q)) * scale[1] + scale[0] for q in (0.1, 0.9))
    return f"{part.name} {word} ({low:.4g} to {high:.4g})"
