"""Regions in words: what the instances of a group have in common that the gate looks at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from veridical.records import Floats, Ints
from veridical.represent.space import Space
from veridical.summarize.near import Matrix, dense
from veridical.summarize.records import Region
from veridical.summarize.task import Gate

MOST = 5  # features that tell a region
APART, FAR = 0.25, 1.25  # standard deviations from the mean that are worth a word, and that are a lot
NARROW = 0.7  # of the spread: members that vary less have something in common
SAMPLE = 50  # instances of a group that are asked for their reasons


def describe(space: Space, rows: Matrix, group: Any, gate: Gate, sizes: Ints, most: int) -> tuple[Region, ...]:
    """One region a group, told by at most so many features."""
    if sizes.max() == sizes.sum():
        return tuple(Region("all instances" if size else "no instance", ()) for size in sizes)
    members = [np.flatnonzero(group == g) for g in range(len(sizes))]
    return tuple(_region(space, rows, own, gate, g, min(most, MOST)) for g, own in enumerate(members))


def _region(space: Space, rows: Matrix, members: Any, gate: Gate, g: int, most: int) -> Region:
    if not len(members):
        return Region("no instance", ())
    some = members[:: max(len(members) // SAMPLE, 1)][:SAMPLE]
    telling = np.mean([gate.reasons(rows[[i]], g) for i in some], axis=0)
    order = [int(j) for j in np.argsort(-telling, kind="stable")[:most] if telling[j] > 0]
    words = []
    for j in order:
        word = _words(space.parts[j], _column(rows, j, members), _column(rows, j), partial(space.shown, j))
        words += [word] if word else []
    return Region(" and ".join(words) or "everything else", tuple(space.parts[j].name for j in order))


def _column(rows: Matrix, j: int, members: Any = slice(None)) -> Floats:
    return dense(rows[members][:, [j]]).ravel()


def _words(part: Any, own: Floats, everyone: Floats, shown: Callable[[float], str]) -> str:
    """What the members have in common in one feature; nothing if they are like everyone else."""
    if part.relation != "per sd":
        share, usual = float(np.mean(own != 0)), float(np.mean(everyone != 0))  # a word may come twice
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
    low, high = (shown(float(np.quantile(own, q, method="nearest"))) for q in (0.1, 0.9))
    return f"{part.name} {word} ({low} to {high})"
