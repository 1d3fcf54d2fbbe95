"""Ways of taking a part away that fail differently: what the output loses by each, part by part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.either import Either
from veridical.attribute.question import is_flat
from veridical.attribute.removal import Removal
from veridical.attribute.sensitivity import Sensitivity
from veridical.attribute.targets import Target
from veridical.attribute.undo import undone
from veridical.masks import child_of, generator
from veridical.records import Bools, Explanation, Floats, Movable, Refillable, Representation, Seed
from veridical.represent.fill import Blur, Interpolate, WholeMean
from veridical.represent.low_rank import LowRank

FILLS = {  # what stands in for a part, in words
    "the mean of the whole": WholeMean(),
    "what is around it": Interpolate(),
    "a blurred copy of it": Blur(1.0),
    "a copy of it without fine detail": LowRank(),
}
DRAWS = 8  # of what is there without a part, where it is drawn
SOME = 128  # random sets of parts that are left out together
STEPS = Sensitivity(n_draws=2)
SETS, TOGETHER, STEPPED = range(3)  # what seeds are for


@dataclass(frozen=True, eq=False)
class Panel:
    """What the output loses without each part, by several ways, and by all that is known together."""

    ways: tuple[str, ...]  # in words; those by which no part changes anything are left out
    falls: Floats  # (ways, d)
    together: Floats  # (d,) the weights of Either
    filled: bool  # whether something near the instance can stand in for a part
    n_calls: int

    def leaders(self) -> list[int]:
        """The part without which the output loses most, by each way."""
        return [int(j) for j in self.falls.argmax(axis=1)]


def panel(model: Model, representation: Representation, target: Target, seed: Seed) -> Panel:
    """Ask about each part by every way that the instance allows."""
    (both,) = Either()(model, representation, [target.read], child_of(seed, TOGETHER))
    if isinstance(representation, Refillable):
        outputs = target.read(undone(model, representation, tuple(FILLS.values()), seed))
        falls = dict(zip(FILLS, (outputs[0] - outputs[1:]).reshape(len(FILLS), -1), strict=True))
        return _panel(falls, both, float(outputs[0]), len(outputs), filled=True)
    return _left_out(model, representation, target, seed, both)


def _panel(falls: dict[str, Floats], both: Explanation, own: float, n_calls: int, *, filled: bool) -> Panel:
    """The ways by which any part changes the output: the others cannot tell parts apart."""
    moving = {way: fall for way, fall in falls.items() if not is_flat(own - np.append(fall, 0.0))}
    found = np.array(list(moving.values())).reshape(len(moving), len(both.weights))
    return Panel(tuple(moving), found, both.weights, filled, both.n_calls + n_calls)


def _left_out(
    model: Model, representation: Representation, target: Target, seed: Seed, both: Explanation
) -> Panel:
    """Where nothing near stands in for a part: left out, left alone, left out with others, moved a little."""
    removal = Removal.of(model, representation, seed, "believe")
    d, alone = removal.d, np.eye(removal.d, dtype=bool)
    some = generator(seed, SETS).random((SOME, d)) < 0.5
    masks = np.vstack([~alone, alone, np.zeros((1, d), bool), some])
    outputs = target.read(removal.start(masks, DRAWS))
    own, means = outputs[0], outputs[1:].reshape(-1, len(masks)).mean(axis=0)
    gone, only, none, among = np.split(means, [d, 2 * d, 2 * d + 1])
    found = {
        "leaving it out": own - gone,
        "leaving out all others": only - none,
        "leaving it out with others": _difference(some, among),
    }
    n_calls = len(outputs)
    if isinstance(representation, Movable):
        (step,) = STEPS(model, representation, [target.read], child_of(seed, STEPPED))
        found["moving it a little"] = np.nan_to_num(step.weights)
        n_calls += step.n_calls
    return _panel(found, both, float(own), n_calls, filled=False)


def _difference(kept: Bools, outputs: Floats) -> Floats:
    """The mean output with each part, less that without it, (d,), over sets (n, d) that keep it or not."""
    with_it, without = kept.sum(axis=0), (~kept).sum(axis=0)
    return np.asarray(outputs @ kept / np.maximum(with_it, 1) - outputs @ ~kept / np.maximum(without, 1))
