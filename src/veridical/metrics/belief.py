"""Belief: how probable it is that the feature with the largest weight brought the output about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from veridical.errors import InputError
from veridical.methods.occlusion import Removal
from veridical.methods.results import is_flat
from veridical.methods.sensitivity import Sensitivity
from veridical.methods.undo import Either, query_fills
from veridical.metrics.faithfulness import find_slopes
from veridical.metrics.scenes import own_input
from veridical.metrics.weights import spread_blocks
from veridical.models.outputs import Model
from veridical.models.targets import Target, resolve, target_of_recipe
from veridical.protocols import Movable, Refillable, Representation, Seed
from veridical.records import Bools, Explanation, Floats, Measured, Verdict
from veridical.representations.fills import Blur, Interpolate, LowRank, WholeMean
from veridical.seeds import child_of, generator

FILLS = {  # what stands in for a part, in words
    "the mean of the whole": WholeMean(),
    "what is around it": Interpolate(),
    "a blurred copy of it": Blur(1.0),
    "a copy of it without fine detail": LowRank(),
}
N_DRAWS = 8  # of what is there without a part, where it is drawn
N_SETS = 128  # random sets of parts that are left out together
STEP_METHOD = Sensitivity(n_draws=2)
SETS, TOGETHER, STEPPED = range(3)  # what seeds are for


@dataclass(frozen=True, eq=False)
class Panel:
    """How much the output drops without each feature, by several removal strategies, and all of them combined."""

    strategies: tuple[str, ...]  # in words; those by which no part changes anything are left out
    drops: Floats  # (strategies, d)
    combined: Floats  # (d,) the weights of Either
    uses_fills: bool  # whether something near the instance can stand in for a part
    n_calls: int

    def leaders(self) -> list[int]:
        """By each strategy the feature without which the output drops most."""
        return [int(j) for j in self.drops.argmax(axis=1)]


def query_panel(model: Model, representation: Representation, target: Target, seed: Seed) -> Panel:
    """Query the model about each feature by every removal strategy that the instance allows."""
    (both,) = Either()(model, representation, [target.read], child_of(seed, TOGETHER))
    if isinstance(representation, Refillable):
        outputs = target.read(query_fills(model, representation, tuple(FILLS.values()), seed))
        falls = dict(zip(FILLS, (outputs[0] - outputs[1:]).reshape(len(FILLS), -1), strict=True))
        return _build_panel(falls, both, float(outputs[0]), len(outputs), filled=True)
    return _panel_by_leaving_out(model, representation, target, seed, both)


def _build_panel(drops: dict[str, Floats], both: Explanation, own: float, n_calls: int, *, filled: bool) -> Panel:
    """Keep the strategies by which any feature changes the output; the others cannot separate features."""
    moving = {name: drop for name, drop in drops.items() if not is_flat(own - np.append(drop, 0.0))}
    found = np.array(list(moving.values())).reshape(len(moving), len(both.weights))
    return Panel(tuple(moving), found, both.weights, filled, both.n_calls + n_calls)


def _panel_by_leaving_out(
    model: Model, representation: Representation, target: Target, seed: Seed, both: Explanation
) -> Panel:
    """Strategies without replacements: leave one out, leave one in, leave out with others, move a little."""
    removal = Removal.of(model, representation, seed, "believe")
    d, alone = removal.d, np.eye(removal.d, dtype=bool)
    some = generator(seed, SETS).random((N_SETS, d)) < 0.5
    masks = np.vstack([~alone, alone, np.zeros((1, d), bool), some])
    outputs = target.read(removal.start(masks, N_DRAWS))
    own, means = outputs[0], outputs[1:].reshape(-1, len(masks)).mean(axis=0)
    gone, only, none, among = np.split(means, [d, 2 * d, 2 * d + 1])
    found = {
        "leaving it out": own - gone,
        "leaving out all others": only - none,
        "leaving it out with others": _mean_difference(some, among),
    }
    n_calls = len(outputs)
    if isinstance(representation, Movable):
        (step,) = STEP_METHOD(model, representation, [target.read], child_of(seed, STEPPED))
        found["moving it a little"] = np.nan_to_num(step.weights)
        n_calls += step.n_calls
    return _build_panel(found, both, float(own), n_calls, filled=False)


def _mean_difference(kept: Bools, outputs: Floats) -> Floats:
    """Mean output with each feature minus without it (d,), over random sets (n, d)."""
    with_it, without = kept.sum(axis=0), (~kept).sum(axis=0)
    return np.asarray(outputs @ kept / np.maximum(with_it, 1) - outputs @ ~kept / np.maximum(without, 1))


MIN_PROBABILITY = 0.9  # the probability from which on an explanation is to be believed
MAX_OUTPUT_DIFFERENCE = 1e-3  # by how much, of its size, an output may differ when it is asked for again
CHECK = "believe"
PANEL, OWN = range(2)  # what seeds are for
ERRORS_PER_HALF_INTERVAL = 1.959964  # standard errors in half of a 95 % interval
SIGNS = {  # what is looked at, of the heaviest part
    "ways that agree": "the share of the ways by which the output loses most without it",
    "lead by the ways": "how far it is above the next part, over the range of all, in the mean over the ways",
    "lead by all together": "the same, of vd.methods.Either(), which weighs the ways",
    "stands out by all together": "how far it is above the median part there, as a share of the most that can be",
    "rank by all together": "the share of the other parts that it is above there",
    "lead": "how far it is above the next part, of the explanation itself",
    "settled": "the probability that it is above the next part, by the intervals of the explanation",
    "fidelity": "of the explanation, on samples that it was not fitted to; the usual one where there is none",
}


@dataclass(frozen=True)
class Calibration:
    """A logistic regression on the signs; ``experiments/believe.py --fit`` fits and prints it."""

    intercept: float
    slopes: Mapping[str, float]
    usual_fidelity: float  # of explanations that have one
    fitted_on: str

    def __call__(self, signs: Mapping[str, float]) -> float:
        """The probability for these signs."""
        return float(expit(self.intercept + sum(slope * signs[name] for name, slope in self.slopes.items())))


FILLED = Calibration(
    intercept=-2.97,
    slopes={
        "ways that agree": 0.464,
        "lead by the ways": 2.47,
        "lead by all together": 1.22,
        "stands out by all together": 2.65,
        "rank by all together": 1.25,
        "lead": 0.626,
        "settled": 0.0,
        "fidelity": 0.448,
    },
    usual_fidelity=0.55,
    fitted_on="wrong decisions of networks for sounds and pictures",
)
LEFT_OUT = Calibration(
    intercept=-2.23,
    slopes={
        "ways that agree": 0.0,
        "lead by the ways": 0.884,
        "lead by all together": 1.11,
        "stands out by all together": 1.14,
        "rank by all together": 1.62,
        "lead": 1.86,
        "settled": 0.0,
        "fidelity": 2.73,
    },
    usual_fidelity=0.77,
    fitted_on="wrong decisions of models of texts and tables, of which it tells less than of networks",
)


@dataclass(frozen=True, eq=False)
class Signs:
    """Evidence for and against the heaviest feature of an explanation."""

    part: int
    values: Mapping[str, float]  # by the names of SIGNS
    panel: Panel


def judge_belief(
    model: Model, representation: Representation, explanation: Explanation, *, target: Any, seed: Seed
) -> Verdict:
    """Judge one explanation of an instance."""
    explanation = spread_blocks(explanation, representation.parts)
    effects, asked = _check_match(model, representation, explanation, target, seed)
    found = query_panel(model, representation, asked, child_of(seed, PANEL))
    if not found.strategies:
        return _judge_nothing(explanation, "no feature changes the output, whichever way it is removed")
    if not explanation.tested.any():
        return _judge_nothing(explanation, "no feature was tested, because the replacements are what was there")
    if not np.nanmax(effects) > 0:
        return _judge_nothing(explanation, "no feature speaks for the output that is explained")
    return _judge_signs(explanation, read_signs(explanation, effects, found))


def estimate_chance(explanation: Explanation, representation: Representation, found: Panel, seed: Seed) -> float:
    """The probability alone, beside a panel that several explanations of an instance share."""
    effects = local_effects(representation, explanation, seed)
    known = np.nan_to_num(effects)  # what was not tested cannot be the heaviest
    return (
        estimate_probability(read_signs(explanation, effects, found))
        if found.strategies and known.max() > 0
        else 0.0
    )


def read_signs(explanation: Explanation, effects: Floats, found: Panel) -> Signs:
    """The signs of an explanation whose features add ``effects`` (d,) to the output."""
    part = int(np.nanargmax(effects))
    values = (
        float(np.mean([leader == part for leader in found.leaders()])),
        float(np.mean([_compare_with_others(drops, part)[0] for drops in found.drops])),
        *_compare_with_others(found.combined, part),
        _compare_with_others(effects, part)[0],
        _settled(explanation, part),
        float(np.clip(explanation.fidelity, 0.0, 1.0)),
    )
    return Signs(part, dict(zip(SIGNS, values, strict=True)), found)


def estimate_probability(signs: Signs) -> float:
    """The probability that the heaviest feature is the right one."""
    scale = FILLED if signs.panel.uses_fills else LEFT_OUT
    known = {name: value for name, value in signs.values.items() if not np.isnan(value)}
    return scale({**dict.fromkeys(SIGNS, scale.usual_fidelity), **known})


def _drop_untested(effects: Floats, part: int) -> tuple[Floats, int]:
    """The effects of tested features, and the position of one of them; -1 if it was not tested."""
    known = ~np.isnan(effects)
    return effects[known], int(known[:part].sum()) if known[part] else -1


def _compare_with_others(effects: Floats, part: int) -> tuple[float, float, float]:
    """How far a feature is above the next one and above the median, and the share of others that it is above.

    The first is relative to the range of all, the second to the most that is possible; zeros if it was not tested.
    """
    effects, part = _drop_untested(effects, part)
    if part < 0 or len(effects) == 1:
        return 0.0, 0.0, float(part == 0)
    own, others = effects[part], np.delete(effects, part)
    spread, most = float(np.ptp(effects)), float(effects.std()) * np.sqrt(len(others))
    lead = float(own - others.max()) / spread if spread > 0 else 0.0
    above_median = float(own - np.median(effects)) / most if most > 0 else 0.0
    return lead, above_median, float(np.mean(others < own))


def _settled(explanation: Explanation, part: int) -> float:
    """The probability that a feature's weight is above the next, by the intervals; 1 if they have no width."""
    tested = explanation.tested
    weights, part = _drop_untested(explanation.weights, part)
    errors = np.ptp(explanation.intervals[tested], axis=1) / 2 / ERRORS_PER_HALF_INTERVAL
    if len(weights) < 2:
        return 1.0
    order = np.argsort(-weights, kind="stable")
    next_one = int(order[1] if order[0] == part else order[0])
    gap, error = weights[part] - weights[next_one], float(np.hypot(errors[part], errors[next_one]))
    if error == 0:
        return 1.0 if gap > 0 else 0.5
    return float(ndtr(gap / error)) if np.isfinite(error) else 0.5


def _check_match(
    model: Model, representation: Representation, explanation: Explanation, target: Any, seed: Seed
) -> tuple[Floats, Target]:
    """The effect of each feature (d,) and the target, if the explanation is of this model and instance."""
    columns = [part.column for part in representation.parts]
    if [part.column for part in explanation.parts] != columns:
        raise InputError(
            f"the explanation has {len(explanation.parts)} features, and this instance is cut into {len(columns)} "
            "others: give the instance and the representer that it was made with"
        )
    outputs = model(own_input(representation, seed))
    asked = resolve(_recorded_target(explanation, model) if target is None else target, model, outputs)
    own = float(asked.read(outputs)[0])
    if abs(own - explanation.prediction) > MAX_OUTPUT_DIFFERENCE * max(
        abs(own), abs(explanation.prediction), MAX_OUTPUT_DIFFERENCE
    ):
        raise InputError(
            f"the explanation is of an output of {explanation.prediction:.4g}, and the model's output for this "
            f"instance is {own:.4g}: give the model, the instance and the target that it was made with"
        )
    return local_effects(representation, explanation, seed), asked


def _recorded_target(explanation: Explanation, model: Model) -> Any:
    """The target of an explanation, read from its recipe unless it was a function."""
    known = explanation.recipe.get("target")
    if isinstance(known, Mapping) and "function" in known:
        raise InputError(
            f"the target was the function {known['function']!r}, which an explanation cannot hold: give target=…"
        )
    return explanation.target if known is None else target_of_recipe(explanation.recipe, model)


def local_effects(representation: Representation, explanation: Explanation, seed: Seed) -> Floats:
    """What each feature adds to the output here (d,); a slope counts by how far its number is from the mean."""
    numbers = find_slopes(explanation.parts)
    if not numbers.any():
        return explanation.weights
    own = representation.draw(representation.kernel, child_of(seed, OWN), 0, 1).designs[0]
    return np.asarray(explanation.weights * np.where(numbers, own, 1.0))


def _judge_signs(explanation: Explanation, signs: Signs) -> Verdict:
    chance = estimate_probability(signs)
    found = signs.panel
    rivals = [found.strategies[i] for i, leader in enumerate(found.leaders()) if leader != signs.part]
    n, name = len(found.strategies), explanation.names[signs.part]
    agree = f"{n - len(rivals)} of {n} ways of removing features agree that {name} counts most"
    said = "is probably" if chance >= MIN_PROBABILITY else "may be" if chance >= 0.5 else "is probably not"
    return Verdict(
        passed=chance >= MIN_PROBABILITY,
        observed=chance,
        expected=MIN_PROBABILITY,
        sentence=f"{name} {said} the feature that did it ({_percent(chance)}): {agree}.",
        check=CHECK,
        method=_method_name(explanation),
        measures=tuple(Measured(sign, value) for sign, value in signs.values.items()),
        notes=_write_notes(signs, rivals, explanation),
    )


def _percent(chance: float) -> str:
    """A probability in words, no surer than it can be."""
    return "over 99 %" if chance > 0.99 else "under 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def _write_notes(signs: Signs, rivals: list[str], explanation: Explanation) -> tuple[str, ...]:
    """Which strategies name another feature, and what the probability is about."""
    scale = FILLED if signs.panel.uses_fills else LEFT_OUT
    named: dict[int, list[str]] = {}
    for way, leader in zip(signs.panel.strategies, signs.panel.leaders(), strict=True):
        if way in rivals:
            named.setdefault(leader, []).append(way)
    others = tuple(f"by {' and by '.join(names)} it is {explanation.names[j]}" for j, names in named.items())
    of = (
        "the probability is that a feature is to blame where one or few features are; it was fitted where that "
        f"is known: {scale.fitted_on}"
    )
    return (*others, of)


def _judge_nothing(explanation: Explanation, reason: str) -> Verdict:
    """The verdict if no feature can have brought the output about."""
    return Verdict(
        passed=False,
        observed=0.0,
        expected=MIN_PROBABILITY,
        sentence=f"There is nothing to believe: {reason}.",
        check=CHECK,
        method=_method_name(explanation),
    )


def _method_name(explanation: Explanation) -> str:
    """The method that made the explanation, if its recipe says so."""
    made = explanation.recipe.get("method")
    return str(made.get("name", "")) if isinstance(made, Mapping) else ""
