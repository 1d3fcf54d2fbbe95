"""Undo and Either: what each part adds to what the rest suggests, by its content or by a small change in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_positive, check_whole
from veridical.methods.occlusion import Removal, explain_removals, fit_falls
from veridical.methods.results import Question, judged
from veridical.methods.sensitivity import Sensitivity
from veridical.models.outputs import Model, stack_outputs
from veridical.protocols import Method, Refillable, Representation, Seed, purpose_of, replacement_of
from veridical.records import Explanation, Fit, Floats, Ints, Replacement
from veridical.representations.fills import Blur, Fill, Interpolate, LowRank

EXACT_DEGREES, Z_95 = 1e6, 1.96  # degrees of freedom, and half of a 95 % interval with so many
MIN_SPREAD_SHARE = 1e-3  # of the spread of the effects of another fill: a fill with less does not speak
ROUNDING = 1e-12  # of the largest effect: a spread of less is none
MAX_NAMED_PARTS = 5  # parts of which it is said which fill spoke
REMOVED_NOTE = (
    "parts such as these cannot be put back to what is around them: they were taken away, as for vd.Occlusion"
)


@dataclass(frozen=True)
class Undo:
    """Tell what each feature contributes that the rest of the instance does not suggest.

    A weight is how much the output falls when the feature alone is put back to what the rest suggests.

    With several fills, the effects of each are brought to the spread over the features that those of the first have; the
    fill that speaks most for the target counts, and notes name it. Weights are in the units of the output. One call per
    feature and fill is exact, so intervals have no width but for that of the steps. Where features are not filled, as in
    texts and tables, they are removed as in ``Occlusion``; with ``sensitivity``, small steps alone are asked about there.

    Parameters
    ----------
    fills : tuple of fills
        What the rest suggests: ``Interpolate()`` takes out what a feature holds, ``Blur(1.0)`` its detail, ``LowRank()``
        only what was changed a little in it.
    sensitivity : method, optional
        Such as ``Sensitivity()``: effects are multiplied by how far small random steps in the feature move the output,
        next to the root mean square over all features; of a network, a gradient method can say that.
    n_draws : int
        Draws of the background, where features are removed.
    """

    fills: tuple[Fill, ...] = (Interpolate(), Blur(1.0))
    sensitivity: Method | None = None
    n_draws: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.fills, tuple) or not self.fills:
            raise InputError(
                f"fills wants a tuple of fills, such as (vd.fills.Interpolate(),), not {self.fills!r}"
            )
        if self.sensitivity is not None and (isinstance(self.sensitivity, type) or not callable(self.sensitivity)):
            raise InputError(f"sensitivity wants a method such as vd.Sensitivity(), not {self.sensitivity!r}")
        check_whole("n_draws", self.n_draws, 2)

    @property
    def purpose(self) -> str:
        """Small steps ask about small changes; else it is what the fills have in common."""
        purposes = {purpose_of(fill) for fill in self.fills}
        return "change" if self.sensitivity is not None else purposes.pop() if len(purposes) == 1 else "either"

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target, all from the same answers."""
        if not (isinstance(representation, Refillable) and representation.steady):
            return self._remove_parts(model, representation, targets, seed)
        outputs = query_fills(model, representation, self.fills, seed)
        steps = None if self.sensitivity is None else iter(self.sensitivity(model, representation, targets, seed))
        question, whys = Question(model, representation, targets, seed, removes=True), list[Explanation]()
        for seen in question.read(outputs):
            falls = (seen.y[0] - seen.y[1:]).reshape(len(self.fills), -1)
            step = None if steps is None else next(steps)
            found = weigh_fills(falls, self.fills, step)
            n_calls = len(outputs) + (0 if step is None else step.n_calls)
            made = judged(found.fit(float(seen.y[0])), seen, n_calls, found.notes(representation.names))
            whys.append(
                question.record(self, seen, replace(made, replacement=put_back(representation, self.fills)))
            )
        return tuple(whys)

    def _remove_parts(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Each part taken away, where nothing stands in for it; or small steps alone, if those were asked for."""
        if self.sensitivity is not None:
            return self.sensitivity(model, representation, targets, seed)
        question = Question(model, representation, targets, seed, removes=True, purpose="content")
        return explain_removals(self, question, self.n_draws, (REMOVED_NOTE,))


def put_back(representation: Refillable, fills: Sequence[Fill]) -> Replacement:
    """What several fills stand in for: a part is left as it is if all of them leave it so."""
    unchanged = np.ones(len(representation.names), bool)
    for fill in fills:
        unchanged &= replacement_of(representation.refilled(fill)).unchanged
    n = int(unchanged.sum())
    what = "1 part was" if n == 1 else f"{n} parts were"
    note = f"{what} not tested: each of the fills ({', '.join(_names(fills))}) puts back what was there"
    return Replacement(unchanged, (note,) if n else ())


def query_fills(model: Model, representation: Refillable, fills: Sequence[Fill], seed: Seed) -> Floats:
    """Answers to the instance and to each part alone put back by each fill, (1 + fills · d, k)."""
    alone, found = ~np.eye(len(representation.names), dtype=bool), list[Floats]()
    for fill in fills:
        removal = Removal.of(model, representation.refilled(fill), seed, "Undo")
        masks = alone if found else np.vstack([np.ones_like(alone[:1]), alone])
        found.append(removal(masks, sum(map(len, found))))
    return stack_outputs(found)


@dataclass(frozen=True, eq=False)
class FillWeights:
    """Weights of parts, and which of several fills spoke for each."""

    weights: Floats  # (d,)
    errors: Floats  # (d,) standard errors
    spoke: tuple[str, ...] = ()  # (d,) names of fills; none if there is but one
    relative: bool = True  # errors say how large weights are, and never turn a sign

    def fit(self, own: float) -> Fit:
        """As a surrogate that has the instance's own output."""
        exact = fit_falls(self.weights[None], own)
        return replace(exact, covariance=np.diag(self.errors**2), degrees=EXACT_DEGREES, relative=self.relative)

    @property
    def widest(self) -> Floats:
        """Standard errors of intervals that reach as far to both sides as these do to the longer one."""
        sizes = np.abs(self.weights)
        return sizes * np.expm1(Z_95 * self.errors / np.where(sizes > 0, sizes, np.inf)) / Z_95

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Which fill spoke for the heaviest parts."""
        top = [int(j) for j in np.argsort(-self.weights, kind="stable")[:MAX_NAMED_PARTS] if self.weights[j] > 0]
        said = [f"{self.spoke[j]} for {names[j]}" for j in top] if self.spoke else []
        return (f"which fill spoke: {'; '.join(said)}",) if said else ()


def weigh_fills(falls: Floats, fills: Sequence[Fill], step: Explanation | None = None) -> FillWeights:
    """Weights from the falls by each fill (f, d), times what small steps give a part, if they were taken."""
    sizes, errors = (1.0, 0.0) if step is None else _sizes(step)
    weights, spoke = combine_effects(falls * sizes)
    names = _names(fills)
    return FillWeights(weights, np.abs(weights) * errors, tuple(names[i] for i in spoke) if len(fills) > 1 else ())


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
    return shares / (float(np.sqrt(np.mean(shares**2))) or 1.0), np.log1p(more) / Z_95


def combine_effects(effects: Floats) -> tuple[Floats, Ints]:
    """Weights (d,) from effects by each fill (f, d), and which fill spoke (d,).

    All are brought to the spread of the first fill that does anything next to the others.
    """
    spread = effects.std(axis=1)
    moves = spread > max(MIN_SPREAD_SHARE * float(spread.max()), ROUNDING * float(np.abs(effects).max()))
    if not moves.any():
        return effects[0], np.zeros(effects.shape[1], np.int64)
    scales = spread[moves.argmax()] / np.where(moves, spread, 1.0)
    brought = np.where(moves[:, None], effects * scales[:, None], -np.inf)
    return brought.max(axis=0), brought.argmax(axis=0)


def _names(fills: Sequence[Any]) -> list[str]:
    """What to call fills: with their settings, if there are two of a kind."""
    names = [str(getattr(fill, "__name__", type(fill).__name__)) for fill in fills]
    return [repr(fill) if names.count(name) > 1 else name for fill, name in zip(fills, names, strict=True)]


def small_changes() -> Undo:
    """Parts without fine detail, times how far small steps in them move the output."""
    return Undo((LowRank(), Blur(1.0)), Sensitivity())


@dataclass(frozen=True)
class Either:
    """Tell which feature did it, whether by its content or by a small change in it.

    If the output is as high for a copy of the instance without its fine detail, no small change did it, and the weights are
    those of ``content``. If it falls by ``enough`` of the largest of them, the weights are those of ``change``, unless these
    are all zero. Between these they are a mixture, each brought to the same spread. Notes say how far the output fell, and
    which fill spoke for the heaviest features.

    Parameters
    ----------
    content : Undo
        Asks what the content of each feature contributes.
    change : Undo
        Asks where a small change acts.
    near : fill
        Makes the copy without fine detail.
    enough : float
        Fall of the output, as a share of the largest weight of ``content``, from which on ``change`` alone counts.
    """

    content: Undo = field(default_factory=Undo)
    change: Undo = field(default_factory=small_changes)
    near: Fill = field(default_factory=LowRank)
    enough: float = 0.2

    purpose: ClassVar[str] = "either"

    def __post_init__(self) -> None:
        for name in ("content", "change"):
            if not isinstance(getattr(self, name), Undo):
                raise InputError(f"{name} wants settings such as vd.methods.Undo(), not {getattr(self, name)!r}")
        check_positive("enough", self.enough)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target; small steps are taken where they matter."""
        if not (isinstance(representation, Refillable) and representation.steady):
            return self.content(model, representation, targets, seed)
        outputs, d = self._outputs(model, representation, seed), len(representation.names)
        n = len(self.content.fills) * d
        question, whys = Question(model, representation, targets, seed, removes=True), list[Explanation]()
        for target, seen in zip(targets, question.read(outputs), strict=True):
            falls, n_calls, step = seen.y[0] - seen.y[1:], len(outputs), None
            detail, content = float(falls[-1]), weigh_fills(falls[:n].reshape(-1, d), self.content.fills)
            share = self._share(detail, float(content.weights.max()))
            if share > 0 and self.change.sensitivity is not None:
                (step,) = self.change.sensitivity(model, representation, [target], seed)
                n_calls += step.n_calls
            change = weigh_fills(falls[n:-1].reshape(-1, d), self.change.fills, step)
            share = share if change.weights.any() else 0.0
            found = mix_weights(content, change, share)
            notes = (_words(detail * seen.unit, share), *found.notes(representation.names))
            fills = (*self.content.fills[: None if share < 1 else 0], *self.change.fills[: None if share else 0])
            made = judged(found.fit(float(seen.y[0])), seen, n_calls, notes)
            whys.append(question.record(self, seen, replace(made, replacement=put_back(representation, fills))))
        return tuple(whys)

    def _share(self, detail: float, largest: float) -> float:
        """How much ``change`` counts, where the output falls this far without fine detail."""
        if detail <= 0:
            return 0.0
        return 1.0 if detail >= self.enough * largest else detail / (self.enough * largest)

    def _outputs(self, model: Model, representation: Refillable, seed: Seed) -> Floats:
        """Answers to the instance, to parts put back by the fills of both, and to the copy without fine detail."""
        alone = query_fills(model, representation, (*self.content.fills, *self.change.fills), seed)
        removal = Removal.of(model, representation.refilled(self.near), seed, "Either")
        return stack_outputs([alone, removal(np.zeros((1, len(representation.names)), bool), len(alone))])


def mix_weights(content: FillWeights, change: FillWeights, share: float) -> FillWeights:
    """Weights of both, brought to one spread between theirs."""
    if share in (0.0, 1.0):
        return change if share else content
    own, other = float(content.weights.std()), float(change.weights.std())
    spread = (1 - share) * own + share * other
    one, two = (part * spread / (size or 1.0) for part, size in ((1 - share, own), (share, other)))
    return FillWeights(
        one * content.weights + two * change.weights,
        two * change.widest,
        change.spoke if share > 0.5 else content.spoke,
        relative=False,
    )


def _words(detail: float, share: float) -> str:
    """What the copy without fine detail says."""
    fell = f"falls by {detail:.3g}" if detail > 0 else "does not fall"
    if detail > 0 and share == 0:
        fell += ", but small changes of single parts explain nothing of it"
    what = {0.0: "the content of parts was", 1.0: "small changes were"}.get(share, "both kinds of cause were")
    return f"without the fine detail of all parts the output {fell}: {what} asked about"
