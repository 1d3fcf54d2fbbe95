"""How probable it is that the heaviest part of an explanation is what brought the output about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from veridical.attribute.ask import Model
from veridical.attribute.targets import Target, resolve, target_of_recipe
from veridical.errors import InputError
from veridical.evaluate.scene import own_input
from veridical.evaluate.taken import slopes_of
from veridical.evaluate.ways import Panel, panel
from veridical.masks import child_of
from veridical.records import Explanation, Floats, Measured, Representation, Seed, Verdict

ENOUGH = 0.9  # the probability from which on an explanation is to be believed
ALIKE = 1e-3  # by how much, of its size, an output may differ when it is asked for again
CHECK = "believe"
PANEL, OWN = range(2)  # what seeds are for
SURE = 1.959964  # standard errors in half of a 95 % interval
SIGNS = {  # what is looked at, of the heaviest part
    "ways that agree": "the share of the ways by which the output loses most without it",
    "lead by the ways": "how far it is above the next part, over the range of all, in the mean over the ways",
    "lead by all together": "the same, of vd.Either(), which weighs the ways",
    "stands out by all together": "how far it is above the median part there, as a share of the most that can be",
    "rank by all together": "the share of the other parts that it is above there",
    "lead": "how far it is above the next part, of the explanation itself",
    "settled": "the probability that it is above the next part, by the intervals of the explanation",
    "fidelity": "of the explanation, on samples that it was not fitted to; the usual one where there is none",
}


@dataclass(frozen=True)
class Calibration:
    """A logistic regression on the signs: made by ``experiments/believe.py --fit``, which prints it."""

    intercept: float
    slopes: Mapping[str, float]
    usual_fidelity: float  # of explanations that have one
    fitted_on: str

    def __call__(self, signs: Mapping[str, float]) -> float:
        """The probability, of the signs."""
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
    """What speaks for the heaviest part of an explanation, and against it."""

    part: int
    values: Mapping[str, float]  # by the names of SIGNS
    panel: Panel


def believed(
    model: Model, representation: Representation, explanation: Explanation, *, target: Any, seed: Seed
) -> Verdict:
    """The verdict on one explanation of an instance, of which the representation is given."""
    effects, asked = _checked(model, representation, explanation, target, seed)
    found = panel(model, representation, asked, child_of(seed, PANEL))
    if not found.ways:
        return _nothing(explanation, "no part changes the output, whichever way it is taken away")
    if not explanation.tested.any():
        return _nothing(explanation, "no part was tested, because what replaces the parts is what was there")
    if not np.nanmax(effects) > 0:
        return _nothing(explanation, "no part speaks for the output that is explained")
    return _verdict(explanation, signs_of(explanation, effects, found))


def chance(explanation: Explanation, representation: Representation, found: Panel, seed: Seed) -> float:
    """The probability alone, beside a panel that several explanations of an instance share."""
    effects = effects_of(representation, explanation, seed)
    known = np.nan_to_num(effects)  # what was not tested cannot be the heaviest
    return probability(signs_of(explanation, effects, found)) if found.ways and known.max() > 0 else 0.0


def signs_of(explanation: Explanation, effects: Floats, found: Panel) -> Signs:
    """The signs of an explanation whose parts add ``effects`` (d,) to the output, beside a panel of ways."""
    part = int(np.nanargmax(effects))
    together = found.together
    values = (
        float(np.mean([leader == part for leader in found.leaders()])),
        float(np.mean([_lead(fall, part) for fall in found.falls])),
        _lead(together, part),
        _stands_out(together, part),
        _rank(together, part),
        _lead(effects, part),
        _settled(explanation, part),
        float(np.clip(explanation.fidelity, 0.0, 1.0)),
    )
    return Signs(part, dict(zip(SIGNS, values, strict=True)), found)


def probability(signs: Signs) -> float:
    """That the heaviest part is the right one."""
    scale = FILLED if signs.panel.filled else LEFT_OUT
    known = {name: value for name, value in signs.values.items() if not np.isnan(value)}
    return scale({**dict.fromkeys(SIGNS, scale.usual_fidelity), **known})


def _rank(effects: Floats, part: int) -> float:
    """The share of other parts that a part is above; 0 where it was not tested, 1 where it is the only one."""
    effects, part = _tested(effects, part)
    if part < 0:
        return 0.0
    return float(np.mean(np.delete(effects, part) < effects[part])) if len(effects) > 1 else 1.0


def _tested(effects: Floats, part: int) -> tuple[Floats, int]:
    """The effects of parts that were tested, and where one of them is there; -1 if it is none of them."""
    known = ~np.isnan(effects)
    return effects[known], int(known[:part].sum()) if known[part] else -1


def _lead(effects: Floats, part: int) -> float:
    """How far a part is above the highest other one, over the range of all; 0 where all are the same."""
    effects, part = _tested(effects, part)
    if part < 0:
        return 0.0
    others = np.delete(effects, part)
    spread = float(np.ptp(effects))
    return float(effects[part] - others.max()) / spread if len(others) and spread > 0 else 0.0


def _stands_out(effects: Floats, part: int) -> float:
    """How far a part is above the median, over what it is where all others are the same."""
    effects, part = _tested(effects, part)
    if part < 0:
        return 0.0
    most = float(effects.std()) * np.sqrt(max(len(effects) - 1, 1))
    return float(effects[part] - np.median(effects)) / most if most > 0 else 0.0


def _settled(explanation: Explanation, part: int) -> float:
    """The probability that a part's weight is above the next, by the intervals; 1 where they have no width."""
    tested = explanation.tested
    weights, part = _tested(explanation.weights, part)
    errors = np.ptp(explanation.intervals[tested], axis=1) / 2 / SURE
    if len(weights) < 2:
        return 1.0
    order = np.argsort(-weights, kind="stable")
    next_one = int(order[1] if order[0] == part else order[0])
    gap, error = weights[part] - weights[next_one], float(np.hypot(errors[part], errors[next_one]))
    if error == 0:
        return 1.0 if gap > 0 else 0.5
    return float(ndtr(gap / error)) if np.isfinite(error) else 0.5


def _checked(
    model: Model, representation: Representation, explanation: Explanation, target: Any, seed: Seed
) -> tuple[Floats, Target]:
    """What each part adds here (d,), and the target, if the explanation is of this model and instance."""
    columns = [part.column for part in representation.parts]
    if [part.column for part in explanation.parts] != columns:
        raise InputError(
            f"the explanation has {len(explanation.parts)} parts, and this instance is cut into {len(columns)} "
            "others: give the instance and the representer that it was made with"
        )
    outputs = model(own_input(representation, seed))
    asked = resolve(_target(explanation, model) if target is None else target, model, outputs)
    own = float(asked.read(outputs)[0])
    if abs(own - explanation.prediction) > ALIKE * max(abs(own), abs(explanation.prediction), ALIKE):
        raise InputError(
            f"the explanation is of an output of {explanation.prediction:.4g}, and the model says {own:.4g} of "
            "this instance: give the model, the instance and the target that it was made with"
        )
    return effects_of(representation, explanation, seed), asked


def _target(explanation: Explanation, model: Model) -> Any:
    """The target of an explanation, which its recipe has unless it was a function."""
    known = explanation.recipe.get("target")
    if isinstance(known, Mapping) and "function" in known:
        raise InputError(
            f"the target was the function {known['function']!r}, which an explanation cannot hold: give target=…"
        )
    return explanation.target if known is None else target_of_recipe(explanation.recipe, model)


def effects_of(representation: Representation, explanation: Explanation, seed: Seed) -> Floats:
    """What each part adds to the output here, as the explanation says; a slope counts by how far its number is."""
    numbers = slopes_of(explanation.parts)
    if not numbers.any():
        return explanation.weights
    own = representation.draw(representation.kernel, child_of(seed, OWN), 0, 1).designs[0]
    return np.asarray(explanation.weights * np.where(numbers, own, 1.0))


def _verdict(explanation: Explanation, signs: Signs) -> Verdict:
    chance = probability(signs)
    found = signs.panel
    rivals = [found.ways[i] for i, leader in enumerate(found.leaders()) if leader != signs.part]
    n, name = len(found.ways), explanation.names[signs.part]
    agree = f"{n - len(rivals)} of {n} ways of taking parts away agree that {name} counts most"
    said = "is probably" if chance >= ENOUGH else "may be" if chance >= 0.5 else "is probably not"
    return Verdict(
        passed=chance >= ENOUGH,
        observed=chance,
        expected=ENOUGH,
        sentence=f"{name} {said} the part that did it ({_percent(chance)}): {agree}.",
        check=CHECK,
        method=_method(explanation),
        measures=tuple(Measured(sign, value) for sign, value in signs.values.items()),
        notes=_notes(signs, rivals, explanation),
    )


def _percent(chance: float) -> str:
    """No more sure than it can be."""
    return "over 99 %" if chance > 0.99 else "under 1 %" if chance < 0.01 else f"{100 * chance:.0f} %"


def _notes(signs: Signs, rivals: list[str], explanation: Explanation) -> tuple[str, ...]:
    """Which ways name another part, and what the probability is of."""
    scale = FILLED if signs.panel.filled else LEFT_OUT
    named: dict[int, list[str]] = {}
    for way, leader in zip(signs.panel.ways, signs.panel.leaders(), strict=True):
        if way in rivals:
            named.setdefault(leader, []).append(way)
    others = tuple(f"by {' and by '.join(ways)} it is {explanation.names[j]}" for j, ways in named.items())
    of = (
        "the probability is that of a part being to blame where one or few parts are; it was fitted where that is "
        f"known: {scale.fitted_on}"
    )
    return (*others, of)


def _nothing(explanation: Explanation, reason: str) -> Verdict:
    """The verdict where no part can have done it."""
    return Verdict(
        passed=False,
        observed=0.0,
        expected=ENOUGH,
        sentence=f"There is nothing to believe: {reason}.",
        check=CHECK,
        method=_method(explanation),
    )


def _method(explanation: Explanation) -> str:
    """What made the explanation, where its recipe says it."""
    made = explanation.recipe.get("method")
    return str(made.get("name", "")) if isinstance(made, Mapping) else ""
