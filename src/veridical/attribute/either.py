"""Either: which part did it, where it is not known whether by its content or by a small change in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.question import Answer, Outputs, Question, judged
from veridical.attribute.removal import Removal
from veridical.attribute.sensitivity import Sensitivity
from veridical.attribute.undo import Undo, Weighed, put_back, undone, weighed
from veridical.errors import InputError, check_positive
from veridical.records import Explanation, Floats, Refillable, Representation, Seed
from veridical.represent.fill import Blur, Fill
from veridical.represent.low_rank import LowRank


def small_changes() -> Undo:
    """Parts without fine detail, times how far small steps in them move the output."""
    return Undo((LowRank(), Blur(1.0)), Sensitivity())


@dataclass(frozen=True)
class Either:
    """Which part did it: the weights of ``content``, those of ``change``, or both.

    ``near`` makes a copy of the whole instance without its fine detail. If the output is as high there, no small
    change did it, and the weights are those of ``content``. If it falls by ``enough`` of the largest of them, the
    weights are those of ``change``, unless these are all zero. Between these they are a mixture, each brought to
    the same spread over the parts. Notes say how far the output fell, and which fill spoke for the heaviest parts.
    """

    content: Undo = field(default_factory=Undo)
    change: Undo = field(default_factory=small_changes)
    near: Fill = field(default_factory=LowRank)
    enough: float = 0.2

    purpose: ClassVar[str] = "either"

    def __post_init__(self) -> None:
        for name in ("content", "change"):
            if not isinstance(getattr(self, name), Undo):
                raise InputError(f"{name} wants settings such as vd.Undo(), not {getattr(self, name)!r}")
        check_positive("enough", self.enough)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target; small steps are taken where they matter."""
        if not (isinstance(representation, Refillable) and representation.steady):
            return self.content(model, representation, targets, seed)
        outputs, d = self._outputs(model, representation, seed), len(representation.names)
        n, wanted = len(self.content.fills) * d, iter(targets)

        def answer(asked: Outputs) -> Answer:
            falls, n_calls = asked.y[0] - asked.y[1:], len(outputs)
            detail, content = float(falls[-1]), weighed(falls[:n].reshape(-1, d), self.content.fills)
            share = self._share(detail, float(content.weights.max()))
            target, step = next(wanted), None
            if share > 0 and self.change.sensitivity is not None:
                (step,) = self.change.sensitivity(model, representation, [target], seed)
                n_calls += step.n_calls
            change = weighed(falls[n:-1].reshape(-1, d), self.change.fills, step)
            share = share if change.weights.any() else 0.0
            found = mixed(content, change, share)
            notes = (_words(detail * asked.unit, share), *found.notes(representation.names))
            fills = (*self.content.fills[: None if share < 1 else 0], *self.change.fills[: None if share else 0])
            made = judged(found.fit(float(asked.y[0])), asked, n_calls, notes)
            return replace(made, replacement=put_back(representation, fills))

        return Question(model, representation, targets, seed, removes=True).conclude(self, outputs, answer)

    def _share(self, detail: float, largest: float) -> float:
        """How much ``change`` counts, where the output falls this far without fine detail."""
        if detail <= 0:
            return 0.0
        return 1.0 if detail >= self.enough * largest else detail / (self.enough * largest)

    def _outputs(self, model: Model, representation: Refillable, seed: Seed) -> Floats:
        """Answers to the instance, to parts put back by the fills of both, and to the copy without fine detail."""
        alone = undone(model, representation, (*self.content.fills, *self.change.fills), seed)
        removal = Removal.of(model, representation.refilled(self.near), seed, "Either")
        return stacked([alone, removal(np.zeros((1, len(representation.names)), bool), len(alone))])


def mixed(content: Weighed, change: Weighed, share: float) -> Weighed:
    """Weights of both, brought to one spread between theirs."""
    if share in (0.0, 1.0):
        return change if share else content
    own, other = float(content.weights.std()), float(change.weights.std())
    spread = (1 - share) * own + share * other
    one, two = (part * spread / (size or 1.0) for part, size in ((1 - share, own), (share, other)))
    return Weighed(
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
