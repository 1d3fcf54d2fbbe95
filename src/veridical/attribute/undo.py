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
from veridical.records import Explanation, Fit, Floats, Ints, Method, Refillable, Representation, Seed
from veridical.represent.fill import Fill, Interpolate
from veridical.represent.low_rank import LowRank

MANY, NORMAL = 1e6, 1.96  # degrees of freedom, and half of a 95 % interval with so many
NAMED = 5  # parts of which it is said which fill spoke
TAKEN_AWAY = "nothing says what would be there instead of these parts, so they were taken away: words left out, columns drawn from the background"  # noqa: E501 - a sentence


@dataclass(frozen=True)
class Undo:
    """A part's weight is how much the output falls when that part alone is put back to what the rest suggests.

    Each of the ``fills`` says what the rest suggests: ``Interpolate()`` takes out what a part holds, ``LowRank()``
    only what was changed a little in it. With several, the effects of each are brought to one scale, that of the
    first: how far a part stands out from the median part, in spreads over the parts. The fill by which it stands
    out most speaks for a part, and notes name it. With ``sensitivity``, such as ``Sensitivity()``, effects count
    by how far small random steps in the part move the output, as a share of the part where they do most.

    Weights are in the units of the output. One call a part and fill is exact, so intervals have no width but for
    that of the steps. Where
    parts are not filled, as in texts and tables, they are taken away, and ``n_draws`` is as for ``Occlusion``.
    """

    fills: tuple[Fill, ...] = (Interpolate(), LowRank())
    sensitivity: Method | None = None
    n_draws: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.fills, tuple) or not self.fills:
            raise InputError(f"fills wants a tuple of fills, such as (vd.Interpolate(),), not {self.fills!r}")
        check_whole("n_draws", self.n_draws, 2)

    @property
    def purpose(self) -> str:
        """That of the fills, if they have the same."""
        purposes = {getattr(fill, "purpose", "content") for fill in self.fills}
        return purposes.pop() if len(purposes) == 1 else "either"

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same answers."""
        if isinstance(representation, Refillable):
            return self._undone(model, representation, targets, seed)
        return self._taken_away(model, representation, targets, seed)

    def _undone(
        self, model: Model, representation: Refillable, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Each part put back by each fill."""
        d, n_fills = len(representation.names), len(self.fills)
        alone = ~np.eye(d, dtype=bool)
        masks, found = np.vstack([np.ones((1, d), bool), alone]), list[Floats]()
        for fill in self.fills:
            removal = Removal.of(model, representation.refilled(fill), seed, "Undo")
            found.append(removal(alone if found else masks, d * len(found) + bool(found)))
        small = None if self.sensitivity is None else self.sensitivity(model, representation, targets, seed)
        also = iter(small or ())
        n_calls = 1 + d * n_fills

        def answer(asked: Outputs) -> Answer:
            falls = asked.y[0] - asked.y[1:].reshape(n_fills, d)
            weights, spoke = combined(falls)
            fit = fit_of(weights[None], float(asked.y[0]))
            notes = _spoken(representation.names, weights, [_name(self.fills[i]) for i in spoke], n_fills)
            if small is None:
                return judged(fit, asked, n_calls, notes)
            step = next(also)
            return judged(_weighted(fit, step), asked, n_calls + step.n_calls, notes)

        question = Question(model, representation, targets, seed, removes=True)
        return question.conclude(self, stacked(found), answer)

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


def combined(falls: Floats) -> tuple[Floats, Ints]:
    """Weights (d,) from the falls by each fill (f, d), on the scale of the first, and which fill spoke (d,)."""
    middle, spread = np.median(falls, axis=1, keepdims=True), falls.std(axis=1, keepdims=True)
    stands_out = (falls - middle) / np.where(spread > 0, spread, 1.0)
    stands_out[spread[:, 0] == 0] = -np.inf if spread.any() else 0.0
    spoke = stands_out.argmax(axis=0)
    first = int(np.argmax(spread[:, 0] > 0))
    if len(falls) == 1:
        return falls[0], spoke
    return middle[first, 0] + spread[first, 0] * stands_out.max(axis=0), spoke


def _weighted(fit: Fit, step: Explanation) -> Fit:
    """A fit whose weights count by how far small steps move the output, as a share of the largest."""
    largest = float(step.weights.max()) or 1.0
    weights, half = fit.weights * step.weights / largest, (step.intervals[:, 1] - step.weights) / largest
    return replace(
        fit,
        weights=weights,
        intercept=fit.local_prediction - float(weights.sum()),
        covariance=np.diag((fit.weights * half / NORMAL) ** 2),
        degrees=MANY,
    )


def _spoken(names: Sequence[str], weights: Floats, fills: Sequence[str], n_fills: int) -> tuple[str, ...]:
    """Which fill spoke for the heaviest parts."""
    if n_fills == 1:
        return ()
    top = [int(j) for j in np.argsort(-weights, kind="stable")[:NAMED] if weights[j] > 0]
    said = [f"{fills[j]} for {names[j]}" for j in top]
    return (f"which fill spoke: {'; '.join(said)}",) if said else ()


def _name(fill: Any) -> str:
    return type(fill).__name__ if not hasattr(fill, "__name__") else str(fill.__name__)
