"""One known cause, cut into parts: what the model decides if only some of them are changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.targets import Target, resolve
from veridical.debug.adversary.mix import mixed, norms
from veridical.debug.adversary.records import Cause, Decision, alone
from veridical.errors import InputError
from veridical.evaluate.believe import effects_of
from veridical.masks import child_of
from veridical.records import Bools, Explanation, Floats, Representation, Representer, Seed

AT_ONCE = 1024  # inputs that are made at once


@dataclass(frozen=True, eq=False)
class Case:
    """An instance, its changed copy and the parts of that; every answer of the model is kept."""

    cause: Cause
    represent: Representer  # that cuts both copies alike
    representation: Representation  # of the changed copy
    model: Model
    decision: Decision
    seed: Seed
    sizes: Floats  # (d,) how large the change is in each part
    guilty: Bools | None  # (d,) the parts that were changed on purpose, where that is known
    found: dict[bytes, Floats] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])

    @classmethod
    def of(cls, cause: Cause, represent: Representer, asked: tuple[Model, Decision], seed: Seed) -> Case:
        """The parts of a cause; InputError where they do not fit it."""
        model, decision = asked
        pinned = _pinned(represent, cause.x)
        representation = pinned(cause.changed)
        sizes, guilty = norms(representation, cause), cause.parts
        if guilty is not None and len(guilty) != len(sizes):
            raise InputError(f"the changed copy is cut into {len(sizes)} parts, the instance into {len(guilty)}")
        made = cls(cause, pinned, representation, model, decision, seed, sizes, guilty)
        made._check_ends()
        return made

    @property
    def d(self) -> int:
        """How many parts there are."""
        return len(self.sizes)

    @property
    def target(self) -> Any:
        """What to explain: the output of the label that the change brought about."""
        return self.decision.target(self.cause.wanted, len(self.outputs_of(np.ones((1, self.d), bool))[0]))

    @property
    def explained(self) -> Target:
        """The same, ready to read outputs."""
        return resolve(self.target, self.model, self.outputs_of(np.ones((1, self.d), bool)))

    def child(self, *key: int) -> np.random.SeedSequence:
        """A seed of its own for a purpose."""
        return child_of(self.seed, *key)

    def outputs_of(self, masks: Bools) -> Floats:
        """Outputs (n, k) of the model if the change is only in the parts of each mask."""
        self.ask(masks)
        return np.array([self.found[key] for key in self._keys(masks)])

    def flips(self, masks: Bools) -> Bools:
        """Whether the label is the wrong one if the change is only in the parts of each mask (n, d)."""
        return np.asarray(self.decision(self.outputs_of(masks)) == self.cause.wanted)

    def support(self, masks: Bools) -> Floats:
        """What the output says for the wrong label, (n,)."""
        return self.explained.read(self.outputs_of(masks))

    def ask(self, masks: Bools) -> None:
        """Ask the model, at once, about all masks that it was not asked about.

        A part that was not changed is the same with and without the change, so no mask need say which.
        """
        known = dict(zip(self._keys(masks), masks, strict=True))
        new = {key: mask for key, mask in known.items() if key not in self.found}
        rows = np.array(list(new.values()), dtype=bool).reshape(-1, self.d)
        outputs = [
            self.model(mixed(self.representation, self.cause, rows[start : start + AT_ONCE]), start)
            for start in range(0, len(rows), AT_ONCE)
        ]
        self.calls[0] += len(rows)
        if outputs:
            self.found.update(zip(new, np.concatenate(outputs), strict=True))

    def only(self, parts: Bools) -> Case:
        """The same cause with its change in these parts alone, of which each is then guilty."""
        changed = mixed(self.representation, self.cause, parts[None])
        cause = replace(self.cause, changed=alone(changed), parts=parts)
        return Case.of(cause, self.represent, (self.model, self.decision), self.child(int(parts.sum())))

    def effects(self, explanation: Explanation) -> Floats:
        """What each part adds for the wrong label, as an explanation says, (d,)."""
        return effects_of(self.representation, explanation, self.seed)

    def clean(self) -> Representation:
        """The instance before the change, cut into the same parts."""
        return self.represent(self.cause.x)

    def _keys(self, masks: Bools) -> Iterator[bytes]:
        return (row.tobytes() for row in masks & (self.sizes > 0))

    def _check_ends(self) -> None:
        """No change flips nothing, all of it flips: what is between could mean nothing else."""
        ends = np.zeros((2, self.d), bool)
        ends[1] = True
        none, every = self.flips(ends)
        if none or not every:
            what = "without any change the label is the wrong one" if none else "with all parts changed it is not"
            raise InputError(f"the change does not lie in the parts: {what}")


def _pinned(represent: Any, x: Any) -> Any:
    """A representer that cuts other instances as it cuts this one, where its cut depends on what it sees."""
    if callable(getattr(represent, "segment", None)):
        return replace(represent, segment=represent(x).places.labels)
    if callable(getattr(represent, "cut", None)):
        labels = np.moveaxis(represent(x).places.labels, represent.time_axis if np.ndim(x) > 1 else 0, 0)
        window = labels.reshape(len(labels), -1)[:, 0]
        return replace(represent, cut=np.flatnonzero(np.diff(window, prepend=-1)).tolist())
    return represent
