"""Do explanations change when the model is broken? Twins with random layers, permuted labels or exchanged columns.

What may stay alike is what the model's own answers keep, so those are measured beside the explanations.

Adebayo et al. 2018 and 2020: an explanation that is the same for a model that knows nothing does not explain the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from veridical.checks.preparations import ExchangedColumns, numeric_columns, read_columns
from veridical.checks.similarity import LIKENESS_LEFT, Reference, Similarity
from veridical.checks.subjects import (
    MAX_CHEAP_INSTANCES,
    MAX_SAMPLED_INSTANCES,
    SECOND_TIME,
    Cases,
    Rng,
    Subject,
    check_not_empty,
    count_affordable,
    draw_cases,
)
from veridical.errors import InputError, ModelError, NotApplicable, describe_error, require
from veridical.metrics.weights import correlation
from veridical.models.outputs import Model, n_rows, rows_at
from veridical.models.torch_modules import Network
from veridical.protocols import Method, Seed
from veridical.records import UNCLEAR, Explanation, Floats, Ints, Measured, Verdict
from veridical.seeds import child_of, generator

MIN_TWIN_ROWS = 30  # rows that an untrained twin has seen, or three a class
MAX_TWIN_ROWS = 1000  # rows that a twin is trained on, at most: it is to know nothing
MIN_NUMERIC_COLUMNS = 3  # columns of numbers that a table must have to exchange them
PERMUTED_LABELS, PERMUTED_COLUMNS, UNTRAINED_TWIN = "permuted labels", "permuted columns", "untrained twin"
TWIN_SEEDS = {PERMUTED_LABELS: 0, UNTRAINED_TWIN: 1, PERMUTED_COLUMNS: 2}  # what a seed is for


def make_twins(subject: Subject, seed: Seed, n: int) -> Iterator[Twin]:
    """n twins of each kind that can be made of this subject."""
    numeric, trainable = numeric_columns(subject.X), False
    with suppress(NotApplicable):
        trainable = subject.train is not None and bool(subject.training_data())
    if not trainable and len(numeric) < MIN_NUMERIC_COLUMNS:
        raise NotApplicable(
            "there is no broken twin to compare with: give train=… and training=(X, y), or y where predict is a "
            "method of a scikit-learn estimator; or a torch network, or a table with columns of numbers"
        )
    kinds: dict[str, Callable[[np.random.Generator], Model]] = {}
    if trainable:
        kinds[PERMUTED_LABELS] = partial(_train_mislabeled, subject)
        kinds[UNTRAINED_TWIN] = partial(_train_on_few, subject)
    if len(numeric) >= MIN_NUMERIC_COLUMNS:
        kinds[PERMUTED_COLUMNS] = partial(_exchange_columns, subject, numeric)
    for i in range(n):
        for name, make in kinds.items():
            yield Twin(name, partial(make, generator(seed, TWIN_SEEDS[name], i)))


def permute_labels(y: Any, order: Ints | Sequence[int]) -> Any:
    """Answers in another order, at the same index."""
    found = rows_at(y, order)
    return found.set_axis(y.index) if hasattr(found, "set_axis") and len(found) == len(y) else found


def _train_mislabeled(subject: Subject, rng: np.random.Generator, most: int = MAX_TWIN_ROWS) -> Model:
    """Trained on so many rows with each other's answers."""
    X, y = subject.training_data()
    rows = _draw_training_rows(y, rng, most)
    own = rows_at(y, rows)
    return subject.train_model(
        rows_at(X, rows), permute_labels(own, rng.permutation(len(rows))), int(rng.integers(2**31))
    )


def _train_on_few(subject: Subject, rng: np.random.Generator) -> Model:
    """Trained on few rows; on more where it needs them, such as to validate itself on every class."""
    y = subject.training_data()[1]
    few = max(MIN_TWIN_ROWS, 3 * len(_one_row_per_class(y)))
    while few < min(n_rows(y), MAX_TWIN_ROWS):
        try:
            return _train_mislabeled(subject, rng, few)
        except ModelError:
            few *= 4
    return _train_mislabeled(subject, rng)


def _one_row_per_class(y: Any) -> Ints:
    """A row of each class; none if the answers are measurements."""
    values = np.asarray(y)
    if values.ndim != 1:
        return np.zeros(0, dtype=np.int64)
    found, first = np.unique(values, return_index=True)
    return np.asarray(first if len(found) <= max(len(values) // 3, 2) else first[:0], dtype=np.int64)


def _draw_training_rows(y: Any, rng: np.random.Generator, most: int) -> Ints:
    """Rows at random, every class among them: a twin answers with the same classes."""
    order = rng.permutation(n_rows(y))
    must = order[_one_row_per_class(rows_at(y, order))]
    rest = order[~np.isin(order, must)]
    return np.asarray(rng.permutation(np.concatenate([must, rest])[: max(most, len(must))]), dtype=np.int64)


def _exchange_columns(subject: Subject, columns: Ints, rng: np.random.Generator) -> Model:
    """The model, shown each column of numbers in the place, and on the scale, of another."""
    order = rng.permutation(columns)
    sources, model = np.roll(order, 1), subject.checked_model
    values = read_columns(subject.X, columns)
    here, there = np.searchsorted(columns, order), np.searchsorted(columns, sources)
    means, sds = values.mean(axis=0), values.std(axis=0)
    way = ExchangedColumns(order, sources, means[there], sds[there], sds[here], means[here])
    return model.with_predict(lambda inputs: model(way(inputs)))


TOLERANCE = 0.5  # of the way from null pairs to repeats that explanations may stay when something is broken
MAX_ANSWER_CORRELATION = 0.9  # correlation of answers above which a model answers as before
MIN_PARTS = 3  # parts that have an order worth the name
MIN_TWINS = 5  # of each kind, from which on no more are made where they suffice
NULL_PAIRS, TWIN_EXPLANATIONS = 4, 10  # what seeds are for: null pairs, and explanations of twins
N_EVIDENCE = 3  # instances whose explanations are evidence
UNSTABLE = (
    "Explanations of the same model, made again with another seed, are hardly more alike than random ones: they are "
    "too unstable to show whether a model is broken."
)
MEASURED = "similarity to the healthy model's explanations, as a share of its normal level"


@dataclass(frozen=True, eq=False)
class Twin:
    """A broken model, with what was done to it."""

    name: str
    make: Callable[[], Model]
    decides: bool = True  # or is only looked at


@dataclass(frozen=True)
class VerdictWording:
    """How a verdict begins: of explanations that change, of those that hardly do, and where it is not known."""

    changed: str
    same: str
    unsure: str


@dataclass(frozen=True, eq=False)
class TwinComparison:
    """What is left of the explanations under all broken models of one kind."""

    name: str
    main: str  # the measure that ours rests on
    alike: tuple[dict[str, Similarity], ...]  # one a model
    answers: Floats  # (models,) correlation of the models' own answers with those of the whole model
    chosen: bool  # to decide, where the model is broken indeed
    kept: float  # share of instances whose predicted class is the same; nan if there are no classes
    spread: tuple[float, float] | None = None  # variance between models, and its degrees of freedom, of all kinds

    @property
    def ours(self) -> Floats:
        """(models, n): 0 as like as null pairs, 1 as like as repeats."""
        return np.stack([each[self.main].shares for each in self.alike])

    @property
    def decides(self) -> bool:
        """Whether the explanations have anything to notice: a model that answers as before is not broken."""
        return self.chosen and float(self.answers.mean()) <= MAX_ANSWER_CORRELATION

    @property
    def limit(self) -> float:
        """The most that may stay: half, and more if the model itself still gives much the same answers."""
        stayed = float(np.clip(self.answers.mean(), 0, 1))
        return TOLERANCE + (1 - TOLERANCE) * stayed

    def build_lines(self) -> list[Measured]:
        """Lines of the table, ours first."""
        main, n = self.alike[0][self.main], self.ours.size
        reach = main.repeated - main.null
        nulls = {key: (value - main.null) / reach for key, value in main.nulls.items() if np.isfinite(value)}
        lines = [Measured(f"{self.name}: {LIKENESS_LEFT}", *crossed_interval(self.ours, self.spread), n, nulls)]
        for name, first in self.alike[0].items():
            values = np.stack([each[name].values for each in self.alike])
            lines.append(Measured(f"{self.name}: {name}", *crossed_interval(values), n, first.nulls))
        answers = float(self.answers.mean())
        lines.append(Measured(f"{self.name}: answers, correlation", answers, n=len(self.answers)))
        if np.isfinite(self.kept):
            lines.append(Measured(f"{self.name}: same class predicted", self.kept, n=n))
        return lines


def compare_with_twins(some: Cases, made: Iterable[Twin], words: VerdictWording) -> Verdict:
    """Hold explanations against those of broken twins: none may be much like them."""
    own, again = some.explain(), some.explain(SECOND_TIME)
    if np.median([len(each.weights) for each in own]) < MIN_PARTS:
        raise NotApplicable(
            f"explanations have fewer than {MIN_PARTS} features, too few to compare their order: give "
            "instances, or a representer, with more features"
        )
    check_not_empty(
        own,
        "so nothing can be broken, or the replacement of a feature is the feature itself, as one pixel's mean is: "
        "give another fill=…",
    )
    reference = Reference.of(own, again, child_of(some.seed, NULL_PAIRS))
    main = reference.compare(again)[reference.main]
    if not main.clear:
        line = main.to_measured()
        return Verdict(
            False, line.value, main.null, UNSTABLE, interval=(line.low, line.high), nulls=line.nulls,
            measures=(line,), evidence=own[:N_EVIDENCE], notes=some.notes, measured="similarity of repeats",
            better="higher", advice="Draw more samples, such as vd.Lime(n_samples=4000).",
        )  # fmt: skip
    found, shown, notes = compare_each_twin(some, reference, made)
    lines = [each.build_lines() for each in found]
    firsts = [line[0] for line in lines]
    limits = np.array([each.limit if each.decides else np.inf for each in found])
    surely = np.array([line.low for line in firsts]) > limits
    perhaps = np.array([line.high for line in firsts]) > limits
    outcome = "failed" if surely.any() else UNCLEAR if perhaps.any() else "passed"
    over = np.array([line.value for line in firsts]) - limits
    worst = int(np.argmax(np.where(surely, 10, 0) + np.where(perhaps, 1, 0) + np.clip(over, -0.9, 0.9)))
    line, limit, name = firsts[worst], float(limits[worst]), found[worst].name
    begin = {"failed": words.same, "passed": words.changed, UNCLEAR: words.unsure}[outcome]
    chance = f" (95 % interval {100 * line.low:.0f} % to {100 * line.high:.0f} %)" if outcome == UNCLEAR else ""
    what = f"layers re-initialized from the last {name}" if name.startswith("down to ") else name
    sentence = (
        f"{begin}: similarity to the healthy model's explanations fell to {100 * max(line.value, 0):.0f} % of its "
        f"normal level{chance} ({what}; limit {100 * limit:.0f} %)."
    )
    return Verdict(
        outcome == "passed", line.value, limit, sentence, interval=(line.low, line.high), nulls=line.nulls,
        measures=tuple(m for each in lines for m in each), evidence=(*own[:N_EVIDENCE], *shown),
        notes=(*some.notes, *notes), label=outcome, measured=MEASURED, better="lower",
    )  # fmt: skip


def compare_each_twin(
    some: Cases, reference: Reference, made: Iterable[Twin]
) -> tuple[list[TwinComparison], tuple[Explanation, ...], tuple[str, ...]]:
    """What is left under each kind of twin, some explanations of the last one, and what could not be done."""
    kinds: dict[str, list[tuple[Twin, dict[str, Similarity], Floats]]] = {}
    shown, notes = tuple[Explanation, ...](), dict[str, None]()  # each note once, in order
    for number, twin in enumerate(made):
        known = kinds.get(twin.name, [])
        if len(known) >= MIN_TWINS and _is_clear(_collect(some, reference, twin.name, known)):
            continue
        try:
            model = twin.make()
            outputs = model(some.inputs)
            explained = some.explain(TWIN_EXPLANATIONS + number, model)
        except ModelError as cause:
            notes[f"{twin.name}: not measured, since the model fails then ({cause})."] = None
            continue
        kinds.setdefault(twin.name, []).append((twin, reference.compare(explained), outputs))
        shown = explained[:N_EVIDENCE] if twin.decides else shown
    if not kinds:
        raise ModelError(f"no broken model could be made. {' '.join(notes)}")
    found = [_collect(some, reference, name, twins) for name, twins in kinds.items()]
    found = [replace(each, spread=_pool_spreads(found)) for each in found]
    if not any(each.decides for each in found):
        same = [
            f"{each.name}: the answers go up and down as before (correlation {each.answers.mean():.2f})."
            for each in found
        ]
        raise NotApplicable(
            "nothing that was tried breaks the model, so explanations have nothing to notice. "
            f"{' '.join([*notes, *same])}"
        )
    return found, shown, tuple(notes)


def _collect(
    some: Cases, reference: Reference, name: str, twins: Sequence[tuple[Twin, dict[str, Similarity], Floats]]
) -> TwinComparison:
    """What is left under all twins of a kind."""
    _, alike, answers = zip(*twins, strict=True)
    same = np.array([_correlate_answers(some.outputs, other) for other in answers])
    kept = float("nan")
    if some.outputs.shape[1] > 1:
        kept = float(np.mean([(some.outputs.argmax(axis=1) == each.argmax(axis=1)).mean() for each in answers]))
    return TwinComparison(name, reference.main, alike, same, twins[-1][0].decides, kept)


def _is_clear(own: TwinComparison) -> bool:
    """Whether more twins of a kind would hardly change what is said of them."""
    if not own.decides:
        return True
    _, low, high = crossed_interval(own.ours)
    return not low <= own.limit <= high


def crossed_interval(values: Floats, spread: tuple[float, float] | None = None) -> tuple[float, float, float]:
    """Mean of (models, n) values with its 95 % interval, models and instances both drawn at random.

    How much models differ may be known of more of them: ``spread`` is that variance, and its degrees of freedom.
    """
    square = 0.0
    for axis in (0, 1):
        means = np.nanmean(values, axis=axis)
        if axis == 1 and spread is not None:
            square += float(stdtrit(spread[1], 0.975) ** 2 * spread[0] / len(means))
        elif len(means) > 1:
            square += float(stdtrit(len(means) - 1, 0.975) ** 2 * means.var(ddof=1) / len(means))
    mean, half = float(np.nanmean(values)), float(np.sqrt(square))
    return mean, mean - half, mean + half


def _pool_spreads(found: Sequence[TwinComparison]) -> tuple[float, float] | None:
    """The variance between models of a kind, over all kinds that are drawn at random."""
    means = [np.nanmean(each.ours, axis=1) for each in found if len(each.alike) > 1]
    degrees = float(sum(len(each) - 1 for each in means))
    if not degrees:
        return None
    return float(sum(((each - each.mean()) ** 2).sum() for each in means)) / degrees, degrees


def _correlate_answers(one: Floats, other: Floats) -> float:
    if one.shape != other.shape:
        return 0.0
    return correlation((one - one.mean(axis=0)).ravel(), (other - other.mean(axis=0)).ravel())


@dataclass(frozen=True)
class Depths:
    """How many of the layers are looked at."""

    down: int = 5  # steps from the last layer alone to all of them
    alone: int = 3  # layers that are re-initialized by themselves


def make_layer_twins(subject: Subject, depths: Depths, seed: Seed, n: int) -> Iterator[Twin]:
    """n times: the network with its last layer re-initialized, then more and more, then single layers."""
    model = subject.checked_model
    network: Network = model.predict  # type: ignore[assignment]
    names = list_layers(network, subject.representer.each(subject.X).inputs(0, 1))
    if not names:
        raise NotApplicable("the network has no layer with parameters of its own: nothing can be re-initialized")
    last = len(names) - 1
    for i in range(n):
        base = int(generator(seed, i).integers(2**31))
        for at in _space_evenly(last, depths.down):
            made = reinitialize_layers(network, names[: at + 1], base)
            yield Twin(f"down to {names[at]}", partial(model.with_predict, made))
        for at in _space_evenly(last, depths.alone)[1:]:  # the last layer alone is the first step down
            made = reinitialize_layers(network, [names[at]], base)
            yield Twin(f"only {names[at]}", partial(model.with_predict, made), decides=False)


def list_layers(network: Network, batch: Any) -> tuple[str, ...]:
    """Names of the submodules with parameters of their own, the last to answer first."""
    module = copy_module(network.module)
    layers = [name for name, part in module.named_modules() if any(True for _ in part.parameters(recurse=False))]
    called: dict[str, int] = {}

    def note(name: str, _part: Any, _inputs: Any) -> None:
        called.setdefault(name, len(called))

    for name, part in module.named_modules():
        part.register_forward_pre_hook(partial(note, name))
    with require("torch", extra="torch").no_grad():
        twin = replace(network, module=module)
        twin.ask(twin.tensor(batch))
    order = {name: (_first_call(name, called), at) for at, name in enumerate(layers)}
    return tuple(sorted(layers, key=order.__getitem__, reverse=True))


def reinitialize_layers(network: Network, names: Sequence[str], seed: int) -> Network:
    """The network with these layers as they were before any training; the same seed, the same layer."""
    torch = require("torch", extra="torch")
    module = copy_module(network.module)
    parts = dict(module.named_modules())
    every = {name: at for at, name in enumerate(parts)}
    devices = sorted({values.device.index or 0 for values in module.parameters() if values.is_cuda})
    with torch.random.fork_rng(devices), torch.no_grad():
        for name in names:
            torch.manual_seed((seed + every[name]) % 2**63)
            _reset(torch, parts[name])
    return replace(network, module=module)


def copy_module(module: Any) -> Any:
    """A copy that shares nothing, so that the caller's module stays as it is."""
    try:
        return deepcopy(module)
    except Exception as cause:
        raise InputError(
            f"the network cannot be copied ({describe_error(cause)}), which it must be, since a check "
            "re-initializes a copy"
        ) from cause


def _reset(torch: Any, layer: Any) -> None:
    """By the layer's own initializer, running statistics too; where it has none, its numbers are shuffled."""
    own = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
    if callable(own):
        own()
        return
    for values in layer.parameters(recurse=False):
        values.copy_(
            values.flatten()[torch.randperm(values.numel(), device="cpu").to(values.device)].view_as(values)
        )


def _first_call(name: str, called: dict[str, int]) -> int:
    """When a submodule was first called; one that its parent uses without a call, when that was."""
    while name and name not in called:
        name = name.rpartition(".")[0]
    return called.get(name, 0)


def _space_evenly(last: int, n: int) -> list[int]:
    """At most n whole numbers from 0 to last, both included."""
    return sorted({int(at) for at in np.rint(np.linspace(0, last, n))}) if n else []


N_TWINS = 15  # of each kind, at most
N_NETWORK_TWINS, N_COSTLY_TWINS = 3, 2  # broken networks, and where explanations of them cost much
TWIN_SEED = 3  # what the seed is for
RANDOMIZE_WORDING = VerdictWording(
    "Explanations change when the model is broken",
    "Explanations hardly notice that the model is broken, so they are not about what it learned",
    "It is not clear whether explanations change enough when the model is broken",
)


def randomize(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Compare explanations with those of broken twins of the model: none may be much like them."""
    some = draw_cases(method, subject, rng)
    seed, most = child_of(some.seed, TWIN_SEED), count_affordable(method, subject.representer.each(subject.X))
    if not isinstance(subject.checked_model.predict, Network):
        twins = make_twins(subject, seed, N_TWINS)
    elif most == MAX_CHEAP_INSTANCES:
        twins = make_layer_twins(subject, Depths(), seed, N_NETWORK_TWINS)
    else:
        depths = Depths(3 if most == MAX_SAMPLED_INSTANCES else 2, 0)
        twins = make_layer_twins(subject, depths, seed, N_COSTLY_TWINS)
    return compare_with_twins(some, twins, RANDOMIZE_WORDING)
