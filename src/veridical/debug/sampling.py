"""How far from real instances did the explanation ask the model?

A method that changes inputs learns what the model says of what it made. Where that is nothing like the data, the
model was never trained for it, and its answers there may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from veridical.attribute.given import seed_of
from veridical.debug.asked import PICKED, asked
from veridical.debug.cases import examples
from veridical.debug.points import points
from veridical.debug.ranking import auroc
from veridical.debug.records import Rng, Subject, rows_at
from veridical.debug.similarity import ANOTHER, CONSTANT, NOISE, SHUFFLED
from veridical.errors import NotApplicable
from veridical.masks import child_of, generator
from veridical.records import Floats, Ints, Measured, Method, Verdict

LIMIT = 0.5  # share of the inputs that may be unlike real ones
RANGE = (2.5, 97.5)  # percentiles of distances that real instances have among each other
SAME = 1e-6  # of the largest distance, below which a point is the same
REAL = 2000  # instances that are looked at, at most
LEAST = 100  # of them, however large they are
CELLS = 2**24  # numbers of all of them, about, that are held at once
FEWEST = 40  # instances, below which it is not known how far apart they are
EXPLAINED = 20
DRAWS = 400  # for the interval
SPLIT, ASKED, DRAWN, EVIDENCE, AGAIN = range(5)  # what seeds are for


@dataclass(frozen=True, eq=False)
class Real:
    """Real instances as points, and how far from them other real ones are."""

    neighbors: NearestNeighbors
    known: Floats  # (m,) distances of real instances to the nearest of the others
    low: float
    high: float

    @classmethod
    def of(cls, reference: Floats) -> Real:
        neighbors = NearestNeighbors(n_neighbors=1).fit(reference)
        known = neighbors.kneighbors()[0][:, 0]  # none is its own neighbor
        return cls(neighbors, known, *(float(end) for end in np.percentile(known, RANGE)))

    def distances(self, rows: Floats) -> Floats:
        """How far the nearest real instance is, (n,)."""
        found: Floats = self.neighbors.kneighbors(rows)[0][:, 0]
        return found

    def outside(self, rows: Floats) -> Floats:
        """1 where a point is farther from real instances than those are from each other, or nearer, (n,).

        A point that is a real instance is like one.
        """
        return self._outside(self.distances(rows), self.low, self.high)

    def _outside(self, found: Floats, low: float, high: float) -> Floats:
        same = SAME * (float(self.known.max()) or 1.0)
        return np.asarray((found > high) | ((found < low) & (found > same)), dtype=np.float64)

    def share(self, rows: Floats, owner: Ints, rng: np.random.Generator) -> tuple[float, float, float]:
        """The share of points outside, a mean over their owners, with its interval.

        Few real instances tell little of how far apart they are, so these are drawn again, as the owners are.
        """
        found, sizes = self.distances(rows), np.bincount(owner)

        def shares(low: float, high: float) -> Floats:
            return np.bincount(owner, self._outside(found, low, high)) / sizes

        drawn = []
        for _ in range(DRAWS):
            low, high = np.percentile(rng.choice(self.known, len(self.known)), RANGE)
            drawn.append(float(rng.choice(shares(low, high), len(sizes)).mean()))
        least, most = np.percentile(drawn, RANGE)
        return float(shares(self.low, self.high).mean()), float(least), float(most)

    def farther(self, rows: Floats) -> tuple[float, float, float]:
        """Chance that a point is farther from real instances than a real one is, with its interval."""
        found = self.distances(rows)
        return auroc(np.concatenate([found, self.known]), np.arange(len(found) + len(self.known)) < len(found))


def sampling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Measure how many of the inputs that a method asks about lie where real instances lie."""
    seed = seed_of(rng)
    instances = subject.represent.each(subject.X)
    most = int(np.clip(CELLS // max(np.size(instances.inputs(0, 1)[0:1]), 1), LEAST, REAL))
    rows = generator(seed, SPLIT).permutation(len(instances))[:most]
    if len(rows) < FEWEST:
        raise NotApplicable(
            f"this check wants at least {FEWEST} real instances, X has {len(rows)}: give more of them"
        )
    most = len(rows) * 3 // 4
    chosen = rows[most:][:EXPLAINED]
    heard = asked(method, subject, chosen, child_of(seed, ASKED), max(min(PICKED, most // EXPLAINED), 4))
    real, made = scaled(subject.X, *points(_inputs(subject, rows), heard.inputs))
    space = Real.of(real[:most])
    known = _nulls(real, real[most:], seed)
    nulls = {name: float(space.outside(each).mean()) for name, each in known.items()}
    share = space.share(made, heard.owner, generator(seed, AGAIN))
    line = Measured("inputs unlike real ones, share", *share, len(chosen), nulls)
    far = {name: space.farther(each)[0] for name, each in known.items()}
    area = Measured("farther than real ones, AUROC", *space.farther(made), len(made), far)
    note = f"{len(made)} inputs asked about {len(chosen)} instances were compared with {len(rows)} real instances."
    shares = np.bincount(heard.owner, space.outside(made)) / np.bincount(heard.owner)
    worst = chosen[np.argsort(-shares, kind="stable")[:1]]
    return replace(
        _verdict(line, area, (note,)), evidence=examples(method, subject, worst, child_of(seed, EVIDENCE))
    )


def scaled(X: Any, real: Floats, made: Floats) -> tuple[Floats, Floats]:
    """Columns of tables in standard deviations of the real ones; others as they are."""
    if not (hasattr(X, "iloc") or (isinstance(X, np.ndarray) and X.ndim == 2)):
        return real, made
    spread = real.std(axis=0)
    center, unit = real.mean(axis=0), np.where(spread > 0, spread, 1.0)
    return (real - center) / unit, (made - center) / unit


def _nulls(real: Floats, left: Floats, seed: Any) -> dict[str, Floats]:
    """Points that are unlike any instance in a known way, and real instances that were left out."""
    rng = generator(seed, DRAWN)
    return {
        CONSTANT: real.mean(axis=0, keepdims=True),
        NOISE: real.mean(axis=0) + real.std(axis=0) * rng.standard_normal(real.shape),
        SHUFFLED: rng.permuted(real, axis=0),
        ANOTHER: left,
    }


def _inputs(subject: Subject, rows: Ints) -> Any:
    return subject.represent.each(rows_at(subject.X, rows)).inputs(0, len(rows))


def _verdict(line: Measured, area: Measured, notes: tuple[str, ...]) -> Verdict:
    passed = not line.low > LIMIT
    share, real = f"{100 * line.value:.0f} %", f"{100 * line.nulls[ANOTHER]:.0f} %"
    where = f"lie where hardly any real instance lies (of real ones that were left out, {real} do)"
    if not passed:
        words = (
            f"Explanations rest on inputs that are unlike any real instance: {share} of them {where}, so they "
            "may say more of how the model answers to nonsense than of how it answers to data."
        )
    elif line.value > LIMIT:
        words = (
            f"It is not clear on what inputs explanations rest: {share} of them {where}, but that may be "
            "chance: give more instances."
        )
    else:
        words = f"Explanations rest mostly on inputs that could be real: {share} of them {where}."
    return Verdict(
        passed, line.value, LIMIT, words, interval=(line.low, line.high), nulls=line.nulls, measures=(line, area),
        notes=notes,
    )  # fmt: skip
