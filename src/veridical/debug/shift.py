"""Do explanations show that an instance is of another kind than the model was made for?

Adebayo et al. 2020 found that they look much as usual. A reader who cannot tell learns nothing from them, so the
simple things that one could look at are tried, beside the model's own confidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from veridical.attribute.ask import n_rows
from veridical.attribute.given import seed_of
from veridical.debug.asked import joined
from veridical.debug.cases import Cases, cases, check_not_empty, most_of
from veridical.debug.points import points
from veridical.debug.ranking import auroc
from veridical.debug.records import FEWEST, Rng, Subject, rows_at
from veridical.debug.sampling import Real, scaled
from veridical.debug.similarity import ANOTHER, NULLS, Change
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.weights import by_column
from veridical.masks import generator
from veridical.records import Bools, Explanation, Floats, Measured, Method, Seed, Verdict

N_PERMUTED = 999  # times that it is drawn who is of which kind
LEVEL = 95  # percent of those that the explanations must beat
SHOWN = 3  # explanations of each kind that are evidence
USUAL, OTHER, DRAWN = 4, 5, 6  # what seeds are for
UNUSUAL, DISTANCE = "unlike usual explanations", "distance from other instances"
AREA = ", AUROC"
ONE_WAY = (
    UNUSUAL,
    DISTANCE,
)  # what is nearer to the usual than the usual is no other kind: it may be the same rows


def total(explanation: Explanation) -> float:
    """All weight, in size."""
    return float(np.nansum(np.abs(explanation.weights)))


def focus(explanation: Explanation) -> float:
    """How few parts have the weight: the share of the heaviest."""
    size = np.nan_to_num(np.abs(explanation.weights))
    return float(size.max() / size.sum()) if size.any() else 0.0


def balance(explanation: Explanation) -> float:
    """Which way the weights point, taken together: from -1 to 1."""
    size = total(explanation)
    return float(np.nansum(explanation.weights)) / size if size else 0.0


def fidelity(explanation: Explanation) -> float:
    """How well the explanation agrees with the model, where it says so."""
    return float(explanation.fidelity)


def certainty(explanation: Explanation) -> float:
    """How sure the explanation is of its heaviest parts."""
    return float(explanation.top_probability)


SCORES: Mapping[str, Callable[[Explanation], float]] = {
    "total weight": total,
    "weight of the heaviest part": focus,
    "direction of the weights": balance,
    "fidelity": fidelity,
    "certainty of the heaviest parts": certainty,
}


@dataclass(frozen=True, eq=False)
class Kinds:
    """Explanations of usual instances and of shifted ones, and some more of the usual for comparison."""

    usual: Sequence[Explanation]
    shifted: Sequence[Explanation]
    known: Sequence[Explanation]

    @property
    def scores(self) -> dict[str, Floats]:
        """Each score of the usual, then of the shifted: those that have a number for all."""
        both = [*self.usual, *self.shifted]
        found = {name: np.array([score(each) for each in both]) for name, score in SCORES.items()}
        found[UNUSUAL] = self._unusual()
        return {name: values for name, values in found.items() if np.isfinite(values).all()}

    def _unusual(self) -> Floats:
        """The distance of each from the nearest explanation of other usual instances, columns in spreads."""
        every = by_column([*self.known, *self.usual, *self.shifted])
        known, both = np.split(every, [len(self.known)])
        spread = known.std(axis=0)
        unit = np.where(spread > 0, spread, float(spread.max()) or 1.0)
        return Real.of(known / unit).distances(both / unit)

    def changed(self, change: Change, rng: np.random.Generator) -> Kinds:
        """The same with other weights, of which nothing else is known."""

        def other(many: Sequence[Explanation]) -> list[Explanation]:
            return [
                replace(e, weights=change(e.weights, rng), fidelity=np.nan, top_probability=np.nan) for e in many
            ]

        return Kinds(other(self.usual), other(self.shifted), other(self.known))


def shift(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Ask whether explanations of shifted instances can be told from those of usual ones."""
    n = 0 if subject.shifted is None else len(subject.represent.each(subject.shifted))
    if n < FEWEST:
        raise NotApplicable(
            f"instances of another kind are wanted, at least {FEWEST} of them: there are {n}; give shifted=…"
        )
    seed = seed_of(rng)
    most = most_of(method, subject.represent.each(subject.X))
    usual = _drawn(subject.X, len(subject.represent.each(subject.X)), 2 * most, generator(seed, USUAL))
    other = _drawn(subject.shifted, n, most, generator(seed, OTHER))
    # Both kinds at once: explanations that share samples share their errors, and kinds must not differ by those.
    both = cases(method, replace(subject, X=_together(usual, other), y=None), rng, n_rows(usual) + n_rows(other))
    cuts = [n_rows(usual) // 2, n_rows(usual)]
    explained = both.explained()
    check_not_empty(explained)
    kinds = Kinds(explained[cuts[0] : cuts[1]], explained[cuts[1] :], explained[: cuts[0]])
    beside = {
        "the model's own confidence": confidence(both.outputs, cuts[1])[cuts[0] :],
        DISTANCE: distance(both, cuts[0]),
    }
    note = f"{cuts[1]} instances and {n_rows(other)} of another kind, drawn at random, were explained."
    return Told(kinds, beside, seed, (note,)).verdict()


def confidence(outputs: Floats, n_usual: int) -> Floats:
    """How far the highest output is above the next; of one output, how far it is from the usual."""
    if outputs.shape[1] == 1:
        return np.asarray(np.abs(outputs[:, 0] - np.median(outputs[:n_usual, 0])))
    ordered = np.sort(outputs, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def distance(both: Cases, n_known: int) -> Floats:
    """How far instances are from the nearest of the first ones; nan where that has no meaning."""
    inputs = both.inputs
    try:
        known, others = points(rows_at(inputs, range(n_known)), rows_at(inputs, range(n_known, len(both.rows))))
    except NotApplicable:
        return np.full(len(both.rows) - n_known, np.nan)
    known, others = scaled(both.subject.X, known, others)
    return Real.of(known).distances(others)


def _together(usual: Any, other: Any) -> Any:
    try:
        return joined([usual, other])
    except (TypeError, ValueError) as cause:
        raise InputError(f"shifted must be of the same kind as X, and cannot be put beside it: {cause}") from cause


def _drawn(X: Any, n: int, most: int, rng: np.random.Generator) -> Any:
    """Some instances at random, in random order."""
    return rows_at(X, rng.permutation(n)[:most])


@dataclass(frozen=True, eq=False)
class Told:
    """How well the two kinds are told apart."""

    kinds: Kinds
    beside: Mapping[str, Floats]  # other things to tell them by
    seed: Seed
    notes: tuple[str, ...]

    @property
    def is_shifted(self) -> Bools:
        """(n,) False for the usual, then True."""
        return np.arange(len(self.kinds.usual) + len(self.kinds.shifted)) >= len(self.kinds.usual)

    def verdict(self) -> Verdict:
        """The explanations pass if what tells the kinds apart best does so better than chance."""
        lines = [self._line(name, values) for name, values in self.kinds.scores.items()]
        chance = self._chance()
        limit = float(np.percentile(chance, LEVEL))
        line = max(lines, key=_told)
        passed = _told(line) > limit
        others = [self._line(name, values) for name, values in self.beside.items() if np.isfinite(values).all()]
        clear = [each for each in others if _told(each) > 0.5 and not each.low <= 0.5 <= each.high]
        if not passed and not clear:
            raise NotApplicable(
                "the shifted instances can be told from X neither by the explanations nor by the model's "
                "confidence or their distance from other instances: give others, or more of them"
            )
        nulls = {**self._nulls(), ANOTHER: float(chance.mean())}
        return Verdict(
            passed, _told(line), limit, _sentence(passed, line, limit, others),
            interval=(line.low, line.high) if line.value >= 0.5 else (1 - line.high, 1 - line.low), nulls=nulls,
            measures=(*sorted(lines, key=_told, reverse=True), *others),
            evidence=(*self.kinds.usual[:SHOWN], *self.kinds.shifted[:SHOWN]), notes=self.notes,
        )  # fmt: skip

    def _line(self, name: str, values: Floats) -> Measured:
        return Measured(f"{name}{AREA}", *auroc(values, self.is_shifted), len(values))

    def _chance(self) -> Floats:
        """The best that the scores reach when it is drawn which instance is of which kind."""
        ranks = np.stack([rankdata(values) for values in self.kinds.scores.values()], axis=1)
        n = int(self.is_shifted.sum())
        drawn = generator(self.seed, DRAWN, 1).permuted(np.tile(self.is_shifted, (N_PERMUTED, 1)), axis=1)
        areas = (drawn @ ranks - n * (n + 1) / 2) / (n * (len(self.is_shifted) - n))
        every = [right(name, each) for name, each in zip(self.kinds.scores, areas.T, strict=True)]
        return np.asarray(np.max(every, axis=0))

    def _nulls(self) -> dict[str, float]:
        """The best that explanations reach which know nothing."""
        found = {}
        for number, (name, change) in enumerate(NULLS.items()):
            rng = generator(self.seed, DRAWN, 2, number)
            scores = self.kinds.changed(change, rng).scores
            found[name] = max(_told(self._line(score, values)) for score, values in scores.items())
        return found


def right(name: str, areas: Floats) -> Floats:
    """How often a score is right, once it is known which way it goes: 0.5 or more."""
    away = areas - 0.5
    return 0.5 + (np.maximum(away, 0.0) if name in ONE_WAY else np.abs(away))


def _told(line: Measured) -> float:
    return float(right(line.name.removesuffix(AREA), np.array(line.value)))


def _sentence(passed: bool, line: Measured, limit: float, others: Sequence[Measured]) -> str:
    name, value = line.name.removesuffix(AREA), _told(line)
    also = "; ".join(f"{each.name.removesuffix(AREA)} gets {_told(each):.2f}" for each in others)
    words = (
        "Explanations show that instances are of another kind"
        if passed
        else "Explanations of instances of another kind look as usual"
    )
    return (
        f"{words}: the best thing to tell them by ({name}) is right {value:.2f} of the time, where guessing is "
        f"0.50 and chance reaches {limit:.2f}" + (f" ({also})." if also else ".")
    )
