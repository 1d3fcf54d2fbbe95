"""Undo: what the model loses when one part is put back to what the rest of the instance suggests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.occlusion import fit_of
from veridical.attribute.question import Answer, Outputs, Question, judged
from veridical.attribute.removal import Removal
from veridical.errors import InputError, check_whole
from veridical.records import (
    Explanation,
    Fit,
    Floats,
    Ints,
    Method,
    Refillable,
    Replacement,
    Representation,
    Seed,
    replacement_of,
)
from veridical.represent.fill import Blur, Fill, Interpolate

MANY, NORMAL = 1e6, 1.96  # degrees of freedom, and half of a 95 % interval with so many
LITTLE = 1e-3  # of the spread of the effects of another fill: a fill with less does not speak
ROUNDING = 1e-12  # of the largest effect: a spread of less is none
NAMED = 5  # parts of which it is said which fill spoke
TAKEN_AWAY = (
    "parts such as these cannot be put back to what is around them: they were taken away, as for vd.Occlusion"
)


@dataclass(frozen=True)
class Undo:
    """A part's weight is how much the output falls when that part alone is put back to what the rest suggests.

    Each of the ``fills`` says what the rest suggests: ``Interpolate()`` takes out what a part holds, ``Blur(1.0)``
    its detail, ``LowRank()`` only what was changed a little in it. With several, the effects of each are brought
    to the spread over the parts that those of the first have; the fill that speaks most for the target counts, and
    notes name it. With ``sensitivity``, such as ``Sensitivity()``, effects are multiplied by how far small random
    steps in the part move the output, next to the root mean square over all parts; of a network, a gradient method
    can say that.

    Weights are in the units of the output. One call a part and fill is exact, so intervals have no width but for
    that of the steps. Where parts are not filled, as in texts and tables, they are taken away, ``n_draws`` times
    as in ``Occlusion``; with ``sensitivity``, small steps alone are asked about there.
    """

    fills: tuple[Fill, ...] = (Interpolate(), Blur(1.0))
    sensitivity: Method | None = None
    n_draws: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.fills, tuple) or not self.fills:
            raise InputError(f"fills wants a tuple of fills, such as (vd.Interpolate(),), not {self.fills!r}")
        if self.sensitivity is not None and (isinstance(self.sensitivity, type) or not callable(self.sensitivity)):
            raise InputError(f"sensitivity wants a method such as vd.Sensitivity(), not {self.sensitivity!r}")
        check_whole("n_draws", self.n_draws, 2)

    @property
    def purpose(self) -> str:
        """Small steps ask about small changes; else it is what the fills have in common."""
        purposes = {getattr(fill, "purpose", "content") for fill in self.fills}
        return "change" if self.sensitivity is not None else purposes.pop() if len(purposes) == 1 else "either"

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same answers."""
        if not (isinstance(representation, Refillable) and representation.steady):
            return self._taken_away(model, representation, targets, seed)
        outputs = undone(model, representation, self.fills, seed)
        steps = None if self.sensitivity is None else iter(self.sensitivity(model, representation, targets, seed))

        def answer(asked: Outputs) -> Answer:
            falls = (asked.y[0] - asked.y[1:]).reshape(len(self.fills), -1)
            step = None if steps is None else next(steps)
            found = weighed(falls, self.fills, step)
            n_calls = len(outputs) + (0 if step is None else step.n_calls)
            judgment = judged(found.fit(float(asked.y[0])), asked, n_calls, found.notes(representation.names))
            return replace(judgment, replacement=put_back(representation, self.fills))

        return Question(model, representation, targets, seed, removes=True).conclude(self, outputs, answer)

    def _taken_away(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Each part taken away, where nothing stands in for it; or small steps alone, if those were asked for."""
        if self.sensitivity is not None:
            return self.sensitivity(model, representation, targets, seed)
        removal = Removal.of(model, representation, seed, "Undo")
        outputs = removal.start(~np.eye(removal.d, dtype=bool), self.n_draws)
        n_calls = 1 + removal.d * removal.draws(self.n_draws)

        def answer(asked: Outputs) -> Answer:
            falls = asked.y[0] - asked.y[1:].reshape(-1, removal.d)
            return judged(fit_of(falls, float(asked.y[0])), asked, n_calls, (TAKEN_AWAY,))

        question = Question(model, representation, targets, seed, removes=True, purpose="content")
        return question.conclude(self, outputs, answer)


def put_back(representation: Refillable, fills: Sequence[Fill]) -> Replacement:
    """What several fills stand in for: a part is left as it is if all of them leave it so."""
    unchanged = np.ones(len(representation.names), bool)
    for fill in fills:
        unchanged &= replacement_of(representation.refilled(fill)).unchanged
    n = int(unchanged.sum())
    what = "1 part was" if n == 1 else f"{n} parts were"
    note = f"{what} not tested: each of the fills ({', '.join(_names(fills))}) puts back what was there"
    return Replacement(unchanged, (note,) if n else ())


def undone(model: Model, representation: Refillable, fills: Sequence[Fill], seed: Seed) -> Floats:
    """Answers to the instance and to each part alone put back by each fill, (1 + fills · d, k)."""
    alone, found = ~np.eye(len(representation.names), dtype=bool), list[Floats]()
    for fill in fills:
        removal = Removal.of(model, representation.refilled(fill), seed, "Undo")
        masks = alone if found else np.vstack([np.ones_like(alone[:1]), alone])
        found.append(removal(masks, sum(map(len, found))))
    return stacked(found)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Weights of parts, and which of several fills spoke for each."""

    weights: Floats  # (d,)
    errors: Floats  # (d,) standard errors
    spoke: tuple[str, ...] = ()  # (d,) names of fills; none if there is but one
    relative: bool = True  # errors say how large weights are, and never turn a sign

    def fit(self, own: float) -> Fit:
        """As a surrogate that has the instance's own output."""
        exact = fit_of(self.weights[None], own)
        return replace(exact, covariance=np.diag(self.errors**2), degrees=MANY, relative=self.relative)

    @property
    def widest(self) -> Floats:
        """Standard errors of intervals that reach as far to both sides as these do to the longer one."""
        sizes = np.abs(self.weights)
        return sizes * np.expm1(NORMAL * self.errors / np.where(sizes > 0, sizes, np.inf)) / NORMAL

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Which fill spoke for the heaviest parts."""
        top = [int(j) for j in np.argsort(-self.weights, kind="stable")[:NAMED] if self.weights[j] > 0]
        said = [f"{self.spoke[j]} for {names[j]}" for j in top] if self.spoke else []
        return (f"which fill spoke: {'; '.join(said)}",) if said else ()


def weighed(falls: Floats, fills: Sequence[Fill], step: Explanation | None = None) -> Weighed:
    """Weights from the falls by each fill (f, d), times what small steps give a part, if they were taken."""
    sizes, errors = (1.0, 0.0) if step is None else _sizes(step)
    weights, spoke = combined(falls * sizes)
    names = _names(fills)
    return Weighed(weights, np.abs(weights) * errors, tuple(names[i] for i in spoke) if len(fills) > 1 else ())


def _sizes(step: Explanation) -> tuple[Floats, Floats]:
    """How far steps in each part move the output, next to all parts (d,), and the errors of their logarithms (d,).

    The largest of them would not do to compare with: it is the one that chance made largest.
    """
    weights = np.nan_to_num(step.weights)  # a part that the steps could not move says nothing
    sizes = np.abs(weights)
    shares = sizes / (float(sizes.max()) or 1.0)
    more = (np.nan_to_num(step.intervals[:, 1], nan=0.0, posinf=np.inf) - weights) / np.where(
        sizes > 0, sizes, np.inf
    )
    return shares / (float(np.sqrt(np.mean(shares**2))) or 1.0), np.log1p(more) / NORMAL


def combined(effects: Floats) -> tuple[Floats, Ints]:
    """Weights (d,) from effects by each fill (f, d), and which fill spoke (d,).

    All are brought to the spread of the first fill that does anything next to the others.
    """
    spread = effects.std(axis=1)
    moves = spread > max(LITTLE * float(spread.max()), ROUNDING * float(np.abs(effects).max()))
    if not moves.any():
        return effects[0], np.zeros(effects.shape[1], np.int64)
    scales = spread[moves.argmax()] / np.where(moves, spread, 1.0)
    brought = np.where(moves[:, None], effects * scales[:, None], -np.inf)
    return brought.max(axis=0), brought.argmax(axis=0)


def _names(fills: Sequence[Any]) -> list[str]:
    """What to call fills: with their settings, if there are two of a kind."""
    names = [str(getattr(fill, "__name__", type(fill).__name__)) for fill in fills]
    return [repr(fill) if names.count(name) > 1 else name for fill, name in zip(fills, names, strict=True)]
