"""Groups, memberships and picks made by hand: the plain case, and everything that can be awkward about one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from tests.builders import explanations as made
from veridical.records import Output, Part, Verdict
from veridical.summaries.groupings.groups import Grouping, Membership, Region
from veridical.summaries.picks import Pick


def cars() -> Grouping:
    """Three groups, the largest of them in the middle."""
    parts = (
        Part("weight", "weight", "per sd"),
        Part("model-year", "model-year", "per sd"),
        Part("origin = usa", "origin", "=", "usa"),
        Part("cylinders", "cylinders", "per sd"),
    )
    weights = np.array([[-2.4, 1.4, 0.0, -0.3], [-6.0, 3.7, 0.0, 0.0], [0.0, 0.9, -1.3, 0.0]])
    half = np.where(weights != 0, 0.5, 0.0)
    return Grouping(
        parts=parts,
        weights=weights,
        intercepts=np.array([20.2, -3.5, 21.3]),
        intervals=np.stack([weights - half, weights + half], axis=2),
        sizes=np.array([30, 125, 45]),
        regions=(
            Region("weight high (3060 to 4499) and origin = usa (98 %)", ("weight", "origin = usa")),
            Region("weight low (1891 to 2809)", ("weight",)),
            Region("everything else", ()),
        ),
        fidelity=0.913,
        fidelities=np.array([0.981, 0.874, -0.25]),
        error=1.176,
        ceiling=0.9743,
        target="mpg",
        n_calls=9710,
        verdict=Verdict(True, 0.913, 0.8, "3 explanations account for 91 % of what the model does."),
        space=None,
        gate=None,
        recipe={"k": 3},
        notes=("3 groups are the fewest that are as good as any.",),
    )


def emptied() -> Grouping:
    """A group without an instance, and one whose fidelity is not known."""
    g = cars()
    return replace(g, sizes=np.array([30, 0, 45]), fidelities=np.array([0.5, np.nan, np.nan]))


def lone() -> Grouping:
    """One group of one instance that knows nothing."""
    g = cars()
    nan = float("nan")
    return replace(
        g,
        weights=np.zeros((1, 4)),
        intervals=np.zeros((1, 4, 2)),
        intercepts=np.array([0.5]),
        sizes=np.array([1]),
        regions=(Region("everything else", ()),),
        fidelity=nan,
        fidelities=np.array([nan]),
        error=nan,
        ceiling=nan,
        verdict=Verdict(False, 0.0, 0.8, "No evidence: the model says the same of all these instances."),
        notes=(),
    )


def wide(k: int = 40, d: int = 300) -> Grouping:
    """More groups and features than anyone reads."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(k, d))
    return replace(
        cars(),
        parts=tuple(Part(f"feature {j}", f"feature {j}", "per sd") for j in range(d)),
        weights=weights,
        intervals=np.stack([weights - 0.1, weights + 0.1], axis=2),
        intercepts=rng.normal(size=k),
        sizes=np.arange(1, k + 1),
        regions=tuple(Region(f"region {g}", ()) for g in range(k)),
        fidelities=rng.uniform(size=k),
        notes=tuple(f"note {i}" for i in range(20)),
    )


def stranger(names: Sequence[str] = made.HOSTILE) -> Grouping:
    """Every text that a stranger may choose is an attack or a nuisance."""
    d = len(names)
    weights = np.linspace(1.0, -0.9, d)[None].repeat(2, axis=0)
    return replace(
        cars(),
        parts=tuple(Part(name, name, "word", name) for name in names),
        weights=weights,
        intervals=np.stack([weights - 0.1, weights + np.inf], axis=2),
        intercepts=np.array([0.1, -0.2]),
        sizes=np.array([7, 3]),
        regions=tuple(Region(" and ".join(order), tuple(order)) for order in (names, names[::-1])),
        fidelities=np.array([0.5, 0.6]),
        target=names[0],
        verdict=Verdict(False, 1.0, 0.5, names[1] + names[0]),
        notes=tuple(names),
    )


def member(grouping: Grouping | None = None, values: Sequence[float] = (-0.8, 1.5, 1.0, 0.0)) -> Membership:
    """An instance of group 1; its features cycle through the values."""
    g = cars() if grouping is None else grouping
    group = min(1, g.k - 1)
    own = np.resize(np.array(values, dtype=np.float64), len(g.parts))
    probabilities = np.full(g.k, 0.07 / max(g.k - 1, 1))
    probabilities[group] = 1 - 0.07 * (g.k > 1)
    return Membership(
        group,
        probabilities,
        g.parts,
        own,
        np.resize(np.array([2.5, -0.7, 0.4, 0.0]), len(g.parts)),
        g.weights[group],
        float(g.intercepts[group]),
        float(own @ g.weights[group] + g.intercepts[group]),
        g.regions[group],
    )


def pick() -> Pick:
    """The toy of the paper's Figure 5, with a sign: rows 1 and 4 of five, part a in neither."""
    weights = csr_matrix(np.array([[0, 1.0, -0.5, 0, 0], [0, 0, 0, 0.25, -1.0]]))
    importance = np.array([1.0, 2.0, np.sqrt(2), 1.0, 1.0])
    return Pick(
        chosen=np.array([1, 4]),
        coverage=np.array([2 + np.sqrt(2), 4 + np.sqrt(2)]),
        importance=importance,
        total=float(importance.sum()),
        names=tuple("abcde"),
        parts=tuple(Part(name, name, "=", 0.1) for name in "abcde"),
        targets=(Output(1),) * 5,
        weights=weights,
        chosen_targets=(Output(1), Output(1)),
        n=5,
        random=np.array([[2.5, 0.7], [4.0, 0.6]]),
    )


def pick_of_two() -> Pick:
    """Two models, the same rows."""
    p = pick()
    other = replace(p, coverage=p.coverage / 2, weights=-p.weights, notes=("of the second",))
    return replace(p, second=other)


def pick_of_targets() -> Pick:
    p = pick()
    names = tuple(f"{name} → {target}" for name, target in zip(p.names, "yynnn", strict=True))
    return replace(p, names=names, targets=tuple("yynnn"), chosen_targets=("y", "n"), notes=("two targets",))


def pick_of_none() -> Pick:
    """Nothing was picked."""
    p = pick()
    return replace(p, chosen=p.chosen[:0], coverage=p.coverage[:0], weights=p.weights[:0], chosen_targets=(),
                   random=p.random[:0])  # fmt: skip


def pick_of_nothing() -> Pick:
    """Rows were picked, but no part has any weight."""
    p = pick()
    zero = np.zeros(5)
    return replace(
        p, importance=zero, total=0.0, coverage=np.zeros(2), weights=p.weights * 0, random=np.zeros((2, 2))
    )


def pick_of_many(b: int = 60, n_parts: int = 400) -> Pick:
    """More rows and parts than anyone reads."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(b, n_parts)) * (rng.random((b, n_parts)) < 0.1)
    importance = np.sqrt(np.abs(weights).sum(axis=0))
    covered = np.array([importance[(weights[: t + 1] != 0).any(axis=0)].sum() for t in range(b)])
    return replace(
        pick(),
        chosen=np.arange(b) * 1000,
        coverage=covered,
        importance=importance,
        total=float(importance.sum()),
        names=tuple(f"part {j}" for j in range(n_parts)),
        parts=tuple(Part(f"part {j}", f"part {j}", "=", j) for j in range(n_parts)),
        targets=(1,) * n_parts,
        weights=csr_matrix(weights),
        chosen_targets=(1,) * b,
        n=100_000,
        random=np.stack([covered * 0.8, covered * 0.05], axis=1),
    )


def pick_of_strangers(names: Sequence[str] = made.HOSTILE) -> Pick:
    d = len(names)
    return replace(
        pick(),
        importance=np.linspace(2, 1, d),
        total=float(np.linspace(2, 1, d).sum()),
        names=tuple(names),
        parts=tuple(Part(name, name, name, name) for name in names),
        targets=tuple(names),
        weights=csr_matrix(np.linspace(-1, 1, 2 * d).reshape(2, d)),
        chosen_targets=(names[0], names[-1]),
        notes=tuple(names),
    )
