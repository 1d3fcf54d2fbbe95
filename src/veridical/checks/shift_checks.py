"""Do explanations show that inputs are of another kind than the model was made for, or were prepared wrongly?

Adebayo et al. 2020 found that they look much as usual. A reader who cannot tell learns nothing from them, so the
simple things that one could look at are tried, beside the model's own confidence.

The model is given what a careless pipeline would give it: numbers on another scale, columns or channels in another
order, texts in another case. Where its answers change, its explanations should.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

from veridical.checks.preparations import (
    MAX_UNIT_VALUE,
    WRONG_SCALE,
    ExchangedColumns,
    Rescaled,
    ReversedChannels,
    numeric_columns,
    read_columns,
)
from veridical.checks.query_checks import embed_batches, measure_distances, scale_columns
from veridical.checks.randomization import Twin, VerdictWording, compare_with_twins
from veridical.checks.similarity import ANOTHER, NULLS, NullChange
from veridical.checks.subjects import (
    MIN_INSTANCES,
    Cases,
    Rng,
    Subject,
    check_not_empty,
    count_affordable,
    draw_cases,
)
from veridical.errors import InputError, NotApplicable
from veridical.metrics.significance import auroc
from veridical.metrics.weights import sum_by_column
from veridical.models.outputs import join_batches, n_rows, rows_at
from veridical.models.torch_modules import Network
from veridical.models.validation import seed_of
from veridical.protocols import Method, Predict, Seed, Viewable
from veridical.records import Bools, Explanation, Floats, Measured, Verdict
from veridical.representations.images import channel_axis
from veridical.representations.regions import is_tensor
from veridical.seeds import generator

N_PERMUTED = 999  # times that it is drawn who is of which kind
CHANCE_PERCENTILE = 95  # percent of those that the explanations must beat
N_EVIDENCE = 3  # explanations of each kind that are evidence
USUAL_SEED, SHIFTED_SEED, NULL_SEED = 4, 5, 6  # what seeds are for
UNUSUAL, DISTANCE = "unlike usual explanations", "distance from other instances"
AUROC_SUFFIX = ", AUROC"
ONE_SIDED_SCORES = (
    UNUSUAL,
    DISTANCE,
)  # what is nearer to the usual than the usual is no other kind: it may be the same rows


def share_of_heaviest(explanation: Explanation) -> float:
    """How few parts have the weight: the share of the heaviest."""
    size = np.nan_to_num(np.abs(explanation.weights))
    return float(size.max() / size.sum()) if size.any() else 0.0


def weight_direction(explanation: Explanation) -> float:
    """Which way the weights point, taken together: from -1 to 1."""
    size = float(np.nansum(np.abs(explanation.weights)))
    return float(np.nansum(explanation.weights)) / size if size else 0.0


SCORES: Mapping[str, Callable[[Explanation], float]] = {
    "total weight": lambda explanation: float(np.nansum(np.abs(explanation.weights))),
    "weight of the heaviest part": share_of_heaviest,
    "direction of the weights": weight_direction,
    "fidelity": lambda explanation: float(explanation.fidelity),
    "certainty of the heaviest parts": lambda explanation: float(explanation.top_probability),
}


@dataclass(frozen=True, eq=False)
class ShiftedExplanations:
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
        every = sum_by_column([*self.known, *self.usual, *self.shifted])
        known, both = np.split(every, [len(self.known)])
        spread = known.std(axis=0)
        unit = np.where(spread > 0, spread, float(spread.max()) or 1.0)
        return measure_distances(known / unit, both / unit)

    def replace_weights(self, change: NullChange, rng: np.random.Generator) -> ShiftedExplanations:
        """The same with other weights, of which nothing else is known."""

        def other(many: Sequence[Explanation]) -> list[Explanation]:
            return [
                replace(e, weights=change(e.weights, rng), fidelity=np.nan, top_probability=np.nan) for e in many
            ]

        return ShiftedExplanations(other(self.usual), other(self.shifted), other(self.known))


def shift(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Ask whether explanations of shifted instances can be told from those of usual ones."""
    n = 0 if subject.shifted is None else len(subject.representer.each(subject.shifted))
    if n < MIN_INSTANCES:
        raise NotApplicable(
            f"this check needs at least {MIN_INSTANCES} instances of another kind; there are {n}: give shifted=…"
        )
    seed = seed_of(rng)
    most = count_affordable(method, subject.representer.each(subject.X))
    usual = _draw_rows(subject.X, len(subject.representer.each(subject.X)), 2 * most, generator(seed, USUAL_SEED))
    other = _draw_rows(subject.shifted, n, most, generator(seed, SHIFTED_SEED))
    # Both kinds at once: explanations that share samples share their errors, and kinds must not differ by those.
    both = draw_cases(
        method, replace(subject, X=_join_kinds(usual, other), y=None), rng, n_rows(usual) + n_rows(other)
    )
    cuts = [n_rows(usual) // 2, n_rows(usual)]
    explained = both.explain()
    check_not_empty(explained)
    kinds = ShiftedExplanations(explained[cuts[0] : cuts[1]], explained[cuts[1] :], explained[: cuts[0]])
    beside = {
        "the model's own confidence": measure_confidence(both.outputs, cuts[1])[cuts[0] :],
        DISTANCE: measure_distance(both, cuts[0]),
    }
    note = f"{cuts[1]} instances and {n_rows(other)} of another kind, drawn at random, were explained."
    return ShiftDetection(kinds, beside, seed, (note,)).verdict()


def measure_confidence(outputs: Floats, n_usual: int) -> Floats:
    """How far the highest output is above the next; of one output, how far it is from the usual."""
    if outputs.shape[1] == 1:
        return np.asarray(np.abs(outputs[:, 0] - np.median(outputs[:n_usual, 0])))
    ordered = np.sort(outputs, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def measure_distance(both: Cases, n_known: int) -> Floats:
    """How far instances are from the nearest of the first ones; nan where that has no meaning."""
    inputs = both.inputs
    try:
        known, others = embed_batches(
            rows_at(inputs, range(n_known)), rows_at(inputs, range(n_known, len(both.rows)))
        )
    except NotApplicable:
        return np.full(len(both.rows) - n_known, np.nan)
    return measure_distances(*scale_columns(both.subject.X, known, others))


def _join_kinds(usual: Any, other: Any) -> Any:
    try:
        return join_batches([usual, other])
    except (TypeError, ValueError) as cause:
        raise InputError(f"shifted must be of the same kind as X, and cannot be put beside it: {cause}") from cause


def _draw_rows(X: Any, n: int, most: int, rng: np.random.Generator) -> Any:
    """Some instances at random, in random order."""
    return rows_at(X, rng.permutation(n)[:most])


@dataclass(frozen=True, eq=False)
class ShiftDetection:
    """How well the two kinds are told apart."""

    kinds: ShiftedExplanations
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
        limit = float(np.percentile(chance, CHANCE_PERCENTILE))
        line = max(lines, key=_folded_auroc)
        passed = _folded_auroc(line) > limit
        others = [self._line(name, values) for name, values in self.beside.items() if np.isfinite(values).all()]
        clear = [each for each in others if _folded_auroc(each) > 0.5 and not each.low <= 0.5 <= each.high]
        if not passed and not clear:
            raise NotApplicable(
                "neither the explanations nor the model's confidence nor their distance from other instances "
                "separates the shifted instances from X: give others, or more"
            )
        nulls = {**self._nulls(), ANOTHER: float(chance.mean())}
        return Verdict(
            passed, _folded_auroc(line), limit, _write_sentence(passed, line, limit, others),
            interval=(line.low, line.high) if line.value >= 0.5 else (1 - line.high, 1 - line.low), nulls=nulls,
            measures=(*sorted(lines, key=_folded_auroc, reverse=True), *others),
            evidence=(*self.kinds.usual[:N_EVIDENCE], *self.kinds.shifted[:N_EVIDENCE]), notes=self.notes,
        )  # fmt: skip

    def _line(self, name: str, values: Floats) -> Measured:
        return Measured(f"{name}{AUROC_SUFFIX}", *auroc(values, self.is_shifted), len(values))

    def _chance(self) -> Floats:
        """The best that the scores reach when it is drawn which instance is of which kind."""
        ranks = np.stack([rankdata(values) for values in self.kinds.scores.values()], axis=1)
        n = int(self.is_shifted.sum())
        drawn = generator(self.seed, NULL_SEED, 1).permuted(np.tile(self.is_shifted, (N_PERMUTED, 1)), axis=1)
        areas = (drawn @ ranks - n * (n + 1) / 2) / (n * (len(self.is_shifted) - n))
        every = [fold_auroc(name, each) for name, each in zip(self.kinds.scores, areas.T, strict=True)]
        return np.asarray(np.max(every, axis=0))

    def _nulls(self) -> dict[str, float]:
        """The best that explanations reach which know nothing."""
        found = {}
        for number, (name, change) in enumerate(NULLS.items()):
            rng = generator(self.seed, NULL_SEED, 2, number)
            scores = self.kinds.replace_weights(change, rng).scores
            found[name] = max(_folded_auroc(self._line(score, values)) for score, values in scores.items())
        return found


def fold_auroc(name: str, areas: Floats) -> Floats:
    """How often a score is right, once it is known which way it goes: 0.5 or more."""
    away = areas - 0.5
    return 0.5 + (np.maximum(away, 0.0) if name in ONE_SIDED_SCORES else np.abs(away))


def _folded_auroc(line: Measured) -> float:
    return float(fold_auroc(line.name.removesuffix(AUROC_SUFFIX), np.array(line.value)))


def _write_sentence(passed: bool, line: Measured, limit: float, others: Sequence[Measured]) -> str:
    name, value = line.name.removesuffix(AUROC_SUFFIX), _folded_auroc(line)
    also = "; ".join(f"{each.name.removesuffix(AUROC_SUFFIX)} gets {_folded_auroc(each):.2f}" for each in others)
    words = (
        "Explanations show that instances are of another kind"
        if passed
        else "Explanations of instances of another kind look as usual"
    )
    return (
        f"{words}: what separates them best ({name}) has an AUROC of {value:.2f}, where guessing has 0.50 and "
        f"chance reaches {limit:.2f}" + (f" ({also})." if also else ".")
    )


STANDARD_TOLERANCE = 0.1  # of mean 0 and spread 1, up to which columns are standardized
MISMATCH_WORDING = VerdictWording(
    "Explanations change when inputs are prepared wrongly",
    "Explanations hardly notice that inputs are prepared wrongly, though the model's answers do",
    "It is not clear whether explanations change enough when inputs are prepared wrongly",
)


def mismatch(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Compare explanations with those of the model behind a careless pipeline."""
    ways = dict(list_mistakes(subject))
    if not ways:
        raise NotApplicable(
            "no mistake in preparing these instances is known: give a table with columns of numbers, texts, "
            "pictures, sounds or series"
        )
    model = subject.checked_model
    made = (
        Twin(name, partial(model.with_predict, prepend_step(model.predict, way))) for name, way in ways.items()
    )
    return compare_with_twins(draw_cases(method, subject, rng), made, MISMATCH_WORDING)


def prepend_step(predict: Predict, way: Callable[[Any], Any]) -> Predict:
    """The model, given inputs that were changed in some way before."""
    if isinstance(predict, Network):
        return replace(predict, prepare=lambda batch: predict.tensor(way(batch)))
    return lambda batch: predict(way(batch))


def list_mistakes(subject: Subject) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """What can go wrong with instances like these: a name, and what it makes of a batch."""
    instances, X = subject.representer.each(subject.X), subject.X
    columns = numeric_columns(X)
    if len(columns):
        values = read_columns(X, columns)
        means, sds = values.mean(axis=0), values.std(axis=0)
        if max(np.abs(means).max(), np.abs(sds - 1).max()) < STANDARD_TOLERANCE:  # again would change nothing
            means, sds = means * 0, sds / WRONG_SCALE
        yield "scaling", ExchangedColumns(columns, columns, means, sds)
        if len(columns) > 1:
            yield "column order", ExchangedColumns(columns, np.roll(columns, 1), 0 * means, 0 * sds + 1)
        return
    if hasattr(X, "columns") or hasattr(X, "tocsr"):
        return
    first = next(iter(instances.inputs(0, 1)))
    if isinstance(first, str):
        capitals = np.mean([text.isupper() for text in instances.inputs(0, len(instances))])
        change = str.lower if capitals > 0.5 else str.upper
        yield "case", lambda texts: [change(text) for text in texts]
    elif is_tensor(first) or (isinstance(first, np.ndarray) and first.dtype.kind in "biuf"):
        yield from _list_array_mistakes(first, instances.batch(0, 1)[0])


def _list_array_mistakes(first: Any, representation: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    view = representation.view if isinstance(representation, Viewable) else None
    if view is None or view.kind != "picture":
        yield "scaling", Rescaled(WRONG_SCALE)
        return
    yield "scaling", Rescaled(1 / 255 if float(first.max()) > MAX_UNIT_VALUE else 255.0)
    axis = channel_axis(tuple(first.shape), None)
    if axis is not None and first.shape[axis] == 3:
        yield "channel order", ReversedChannels(axis)
