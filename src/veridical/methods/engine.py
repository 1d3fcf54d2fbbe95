"""One way through LIME: samples → outputs → local models → evidence and verdict → records, of one row or many.

A *source* has the samples of some rows and the model's outputs for them: private to one row (drawn, enumerated,
or answered by a stream), or shared by many. ``explain_rows`` lets it grow until the top parts of each row are
settled, and ``settle`` is all that happens between outputs and records. One row is a batch of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from veridical.errors import InputError
from veridical.evidence.verdicts import no_evidence, too_few, top_probabilities, weigh
from veridical.methods.exact import explain_exactly
from veridical.methods.results import Answer, Outputs, Question, are_labels, flat_fit, is_flat, is_usual
from veridical.models.outputs import Model, check_outputs, stack_outputs
from veridical.models.targets import Target, resolve
from veridical.protocols import Balanced, Common, Kernel, Representation, Seed, Shareable, Source, Transparent
from veridical.records import Explanation, Fits, Floats, Ints, Neighborhood, Sample
from veridical.representations.tables.axes import RowColumns
from veridical.surrogates.known_terms import CROWDED, EffectSum
from veridical.surrogates.linear import Linear, effective_size

if TYPE_CHECKING:
    from veridical.methods.lime import Lime

CHECKED = 33  # samples, the instance among them, on which a shortcut must agree with the model
STEADY = 0.9  # from this efficiency on, one instance too is explained from samples that any could share
ROOM = 2**17  # numbers of an array that is worked on: it should stay in the cache
LARGEST = 2**20  # numbers of the covariances of rows that are worked on together

Make: TypeAlias = Callable[[Floats], Any]  # the inputs of designs (n, d)
Ask: TypeAlias = Callable[[Floats, Make, int], Floats]  # designs, and how many samples came before, to outputs


def explain_one(method: Lime, question: Question) -> tuple[Explanation, ...]:
    """Explain one instance: one explanation per target, all from the same samples."""
    model, representation, seed = question.model, question.representation, question.seed
    kernel = method.kernel_for(representation)
    free = method.n_samples is None and method.n_features is None
    if free and isinstance(representation, RowColumns):
        exact = explain_exactly(method, question)
        if isinstance(exact, tuple):
            return exact
        question = exact
    every = enumerate_samples(method, representation, kernel)
    if every is not None:
        source = PrivateSamples(representation, kernel, seed)
        source.add(every, model(representation.realize(every)))
        return settle(method, [question], source, [0], last=True)[0]
    free = free and method.plain
    if free and isinstance(representation, Shareable) and representation.efficiency(kernel) >= STEADY:
        sample = SharedSample(model, representation.common, seed, representation)
        return explain_rows(method, [question], SharedSamples(sample, [representation], kernel))[0]
    ask = ask_by(model, representation)
    return explain_rows(method, [question], PrivateSamples(representation, kernel, seed, ask))[0]


def explain_rows(method: Lime, questions: Sequence[Question], source: Source) -> list[tuple[Explanation, ...]]:
    """Explain the rows of a source, which grows until the top of each is settled."""
    found: dict[int, tuple[Explanation, ...]] = {}
    pieces = ladder(method, questions[0].representation)
    for start, stop in pieces:
        source.grow(start, stop)
        left = [i for i in range(len(questions)) if i not in found]
        found |= settle(method, questions, source, left, last=stop == pieces[-1][1])
        if len(found) == len(questions):
            break
    return [found[i] for i in range(len(questions))]


def enumerate_samples(method: Lime, representation: Representation, kernel: Kernel) -> Sample | None:
    """All samples that there are, weighted as if so many were drawn, where they are few."""
    whole = representation.whole_sample if isinstance(representation, Balanced) else 0
    most = method.budget(len(representation.parts))
    affordable = min(most // 8, whole or most)
    every = representation.enumerate(kernel, method.n_samples or affordable)
    if every is None:
        return None
    return replace(every, weights=every.weights * (method.n_samples or len(every.weights)))


def ladder(method: Lime, representation: Representation) -> list[tuple[int, int]]:
    """The pieces, from one sample to another, that are drawn at most: each as many as all before it."""
    balanced = representation if isinstance(representation, Balanced) else None
    d = len(representation.parts)
    least = max(d + 2, balanced.smallest_sample if balanced else 0)
    n, last = sizes(method.n_samples, method.budget(d), d, least)
    if method.n_samples is None and balanced:  # a sample that balances itself is better drawn whole
        n = min(max(n, balanced.whole_sample), last)
    pieces = [(0, n)]
    while n < last:
        pieces.append((n, min(2 * n, last)))
        n = pieces[-1][1]
    return pieces


def sizes(n_samples: int | None, max_calls: int, d: int, least: int) -> tuple[int, int]:
    """The first and the last number of samples for d parts, of which at least ``least`` are needed."""
    if n_samples is not None:
        if n_samples < least:
            raise InputError(
                f"n_samples is {n_samples}, but {d} parts need at least {least}: "
                "ask for more samples, or leave n_samples out"
            )
        return n_samples, n_samples
    last = max_calls - 1
    if last < least:
        raise InputError(
            f"max_calls is {max_calls}, but {d} parts need at least {least + 1}: give a larger budget, "
            "or larger parts"
        )
    first = max(128, 1 << (8 * d - 1).bit_length())
    return min(first, last), last


def settle(
    method: Lime,
    questions: Sequence[Question],
    source: Source,
    which: Sequence[int],
    last: bool,
    fits: Fits | None = None,
) -> dict[int, tuple[Explanation, ...]]:
    """Explanations of those rows whose top is settled by all targets, or of all if there are no more samples.

    ``fits`` are those of the outputs as they are, where a device has found them already.
    """
    found: dict[int, list[Explanation]] = {i: [] for i in which}
    for place in range(len(questions[which[0]].targets)):
        alike: dict[str, tuple[Target, list[int]]] = {}  # rows of which the same output is explained
        for i in found:
            target = resolve(questions[i].targets[place], questions[i].model, source.own[i : i + 1])
            alike.setdefault(repr(target.key), (target, []))[1].append(i)
        for target, rows in alike.values():
            recipe: Mapping[str, Any] | None = None
            for batch in batches_of(source, target, np.array(rows)):
                for i, seen, answer in answers(method, source, batch, fit_rows(method, source, batch, fits), last):
                    recipe = recipe or MappingProxyType(questions[i].recipe(method, target))  # the same for all
                    seen = replace(seen, labels=are_labels(batch.outputs, seen.prediction, questions[i].model))
                    found[i].append(questions[i].record(method, seen, answer, recipe))
        found = {i: whys for i, whys in found.items() if len(whys) > place}
    return {i: tuple(whys) for i, whys in found.items()}


@dataclass(frozen=True, eq=False)
class TargetRows:
    """Rows that are fitted together: the same output of all is explained, in one unit."""

    target: Target
    rows: Ints  # (r,) of the source
    outputs: Floats  # (n,) of their samples
    predictions: Floats  # (r,) of the rows themselves
    unit: float  # outputs are divided by
    y: Floats  # (n,) outputs in this unit
    flat: bool  # they are all the same


def batches_of(source: Source, target: Target, rows: Ints) -> list[TargetRows]:
    """Rows of one target, as many at a time as memory holds; those whose squares would be no numbers alone."""
    y, own = target.read(source.outputs), target.read(source.own[rows])
    largest = np.maximum(np.abs(y).max(), np.abs(own))
    usual, most = is_usual(largest), max(LARGEST // len(source.rows[rows[0]].parts) ** 2, 1)
    ordinary, flat = np.flatnonzero(usual), is_flat(y)
    some = [ordinary[a : a + most] for a in range(0, len(ordinary), most)]
    found = [TargetRows(target, rows[at], y, own[at], 1.0, y, flat) for at in some]
    for j in np.flatnonzero(~usual).tolist():
        scaled = y / largest[j]
        found.append(TargetRows(target, rows[[j]], y, own[[j]], float(largest[j]), scaled, is_flat(scaled)))
    return found


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Local models of the rows of a batch."""

    fits: Fits
    sure: Floats  # (r,) probability that the top of all parts is right
    size: Floats  # (r,) samples of equal weight that theirs are worth
    exact: bool  # the samples are all there are


def fit_rows(method: Lime, source: Source, batch: TargetRows, fits: Fits | None = None) -> FittedRows:
    """The surrogates of a batch, as many rows at a time as fit into the cache."""
    d, y = len(source.rows[batch.rows[0]].parts), batch.y
    select = None if method.n_features is None else method.select
    linear = isinstance(method.surrogate, Linear) and method.surrogate.offset is None
    once = linear or method.additive  # one fit says which parts are the top, and what they weigh
    if method.n_features is not None:  # of few parts the fit of all says whether others belong to the top
        once = linear and method.n_samples is not None and method.n_features >= 2 * method.until.k
    known = source.known(batch.target) if once and linear and not batch.flat else None
    length = max(ROOM // (len(y) * (d if known is None else 1)), 1)
    full, chosen, size, exact = list[Fits](), list[Fits](), list[Floats](), False
    for a in range(0, len(batch.rows), length):
        rows = batch.rows[a : a + length]
        near = source.near(rows)
        near = replace(near, predictions=batch.predictions[a : a + length] / batch.unit, unit=batch.unit)
        exact = near.design.exact
        size.append(effective_size(near.weights))
        if batch.flat:
            full.append(Fits.of([flat_fit(d, float(y[0]), exact)] * len(rows)))
        elif fits is not None and batch.unit == 1:
            full.append(fits)
        elif once:
            term = None if known is None else known([source.rows[i] for i in rows], batch.unit)
            full.append(method.surrogate(near, y, select, method.n_features, term))
        else:
            full.append(Linear()(near, y))
        if not once:
            chosen.append(full[-1] if batch.flat else method.surrogate(near, y, select, method.n_features))
    every, sizes = Fits.joined(full), np.concatenate(size)
    if batch.flat:
        return FittedRows(every, np.zeros(len(every)), sizes, exact)
    sure = top_probabilities(every.weights, every.covariance, every.measured & every.chosen, method.until)
    return FittedRows(every if once else Fits.joined(chosen), sure, sizes, exact)


def answers(
    method: Lime, source: Source, batch: TargetRows, found: FittedRows, last: bool
) -> Iterator[tuple[int, Outputs, Answer]]:
    """What is found of those rows that are settled, or of all if there are no more samples."""
    rule, n_calls, unit = method.until, len(batch.y) + 1, batch.unit
    for j, i in enumerate(batch.rows.tolist()):
        prediction, sure, size = float(batch.predictions[j]), float(found.sure[j]), float(found.size[j])
        own = prediction / unit
        still = batch.flat and is_flat(np.append(own, batch.y))
        if not last and not still and (sure < rule.probability or found.fits.open[j]):
            continue
        fit = found.fits[j]
        evidence, verdict = weigh(fit, rule, sure), None
        if batch.flat:
            sampled = float(own if still else batch.y[0]) * unit  # rounding is no answer of its own
            verdict = no_evidence(own * unit, sampled, n_calls)
        elif not found.exact and size < len(fit.weights) + 2:
            verdict = too_few(size, n_calls)
        answer = Answer(fit, evidence, rule.k, n_calls, size, method.notes(fit), rule=rule, verdict=verdict)
        yield i, Outputs(batch.target, batch.y, unit, prediction, source.own[i]), answer


@dataclass(eq=False)
class PrivateSamples:
    """Samples of one row alone, which grow; the row itself is asked about together with the first."""

    representation: Representation
    kernel: Kernel
    seed: Seed
    ask: Ask | None = None  # None where whoever has the answers adds them
    sample: Sample | None = None  # all so far; row 0 is the instance
    answers: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (1 + n, k)

    def __post_init__(self) -> None:
        self.rows = (self.representation,)
        self.own = self.outputs = self.answers  # of the row, (1, k), and of the samples, (n, k)

    def grow(self, start: int, stop: int) -> None:
        """Draw samples start..stop, and ask the model about them."""
        assert self.ask is not None
        own, first = self.representation, start and start + 1
        sample = own.draw(self.kernel, self.seed, start, stop)
        self.add(sample, self.ask(sample.designs, lambda some: own.realize(replace(sample, designs=some)), first))

    def add(self, sample: Sample, outputs: Floats) -> None:
        """Samples with their outputs, after those that are there."""
        if self.sample is not None:
            designs = np.concatenate([self.sample.designs, sample.designs])
            weights = np.concatenate([self.sample.weights, sample.weights])
            codes = None if self.sample.codes is None else np.concatenate([self.sample.codes, sample.codes])
            outputs = stack_outputs([self.answers, outputs])
            sample = Sample(designs, weights, None, sample.design, codes)
        self.sample, self.answers = sample, outputs
        self.own, self.outputs = outputs[:1], outputs[1:]

    def near(self, rows: Ints) -> Neighborhood:
        """The samples as the solver sees them."""
        assert self.sample is not None
        return Neighborhood.of(self.representation.names, self.sample)

    def known(self, target: Target) -> None:
        """Nothing is known of samples that were drawn for one row."""


@dataclass(frozen=True, eq=False)
class SharedSample:
    """One sample for many rows: drawn and asked about once, when it is first needed, and remembered."""

    model: Model
    common: Common
    seed: Seed
    instance: Shareable | None = None  # asked about together with the first samples
    pieces: dict[tuple[int, int], tuple[Any, Floats]] = field(default_factory=dict)
    own: list[Floats] = field(default_factory=list)  # the answer to the instance, once it was asked
    sums: dict[tuple[int, str], EffectSum | None] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def grow(self, start: int, stop: int) -> tuple[Any, Floats]:
        """Samples start..stop and their outputs: drawn and asked about, if nobody has."""
        with self.lock:
            if (start, stop) not in self.pieces:
                values = self.common.draw(self.seed, start, stop)
                inputs = self.common.realize(values)
                if self.instance is not None and start == 0:
                    outputs = self.model(self.instance.below(inputs))
                    self.own.append(outputs[:1])
                    self.pieces[start, stop] = (values, outputs[1:])
                else:
                    before = start + (self.instance is not None)
                    self.pieces[start, stop] = (values, self.model(inputs, first=before))
            return self.pieces[start, stop]

    @property
    def n(self) -> int:
        """Samples so far."""
        return max(stop for _, stop in self.pieces)

    def effects(self, n: int, target: Target) -> EffectSum | None:
        """The sum of effects nearest to a target over the first n samples; None if there is none worth having."""
        key = (n, repr(target.key))
        with self.lock:
            if key not in self.sums:
                some = [self.pieces[piece] for piece in sorted(self.pieces) if piece[1] <= n]
                enough = 0 < CROWDED * self.common.n_states <= n  # for fewer would be fitted to noise
                states = [self.common.indicators(values) for values, _ in some] if enough else []
                y = target.read(np.concatenate([outputs for _, outputs in some]))
                self.sums[key] = EffectSum.fit(np.concatenate(states), y) if enough else None
        return self.sums[key]


@dataclass(eq=False)
class SharedSamples:
    """The sample that rows share, as they see it."""

    sample: SharedSample
    rows: Sequence[Shareable]
    kernel: Kernel
    own: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (r, k) of the rows, if they were asked apart
    outputs: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (n, k)
    values: list[Any] = field(default_factory=list)  # of the samples, a piece after the other
    seen: dict[bytes, tuple[Neighborhood, int]] = field(default_factory=dict)  # of the last rows, by pieces

    def grow(self, start: int, stop: int) -> None:
        """Let the sample have samples start..stop."""
        values, outputs = self.sample.grow(start, stop)
        if not len(self.own):
            (self.own,) = self.sample.own
        self.values.append(values)
        before = [self.outputs] if start else []
        self.outputs = stack_outputs([self.own[:1], *before, outputs])[1:]

    def near(self, rows: Ints) -> Neighborhood:
        """The samples as some rows see them."""
        key, n_pieces = rows.tobytes(), len(self.values)
        near, n_seen = self.seen.get(key, (None, 0))
        if near is None or n_seen < n_pieces:
            some = [self.rows[i] for i in rows]
            more: Neighborhood = self.sample.common.together(some, self.values[n_seen:], self.kernel)
            near = more if near is None else near.grown(more)
            self.seen = {key: (near, n_pieces)}
        return near

    def known(self, target: Target) -> Callable[[Sequence[Any], float], Any] | None:
        """What is known of a target before the fit, at rows and for outputs in a unit."""
        effects = self.sample.effects(len(self.outputs), target)
        return None if effects is None else effects.at


def ask_by(model: Model, representation: Representation) -> Ask:
    """How to ask about designs: by inputs, or by a shortcut that the representation knows for this model.

    The shortcut's answers to the first designs are compared with the model's own, which are kept; unless they
    agree, it is not used.
    """
    shortcut = representation.shortcut(model.predict) if isinstance(representation, Transparent) else None
    if shortcut is None:
        return lambda designs, make, first: model(make(designs), first=first)

    def ask(designs: Floats, make: Make, first: int) -> Floats:
        nonlocal shortcut
        if shortcut is not None and first == 0:
            own = model(make(designs[:CHECKED]))
            quick = _try(shortcut, designs)
            same = quick is not None and quick.shape == (len(designs), own.shape[1])
            if quick is not None and same and np.allclose(own, quick[: len(own)], rtol=1e-6, atol=1e-9):
                quick[: len(own)] = own
                return quick
            shortcut, rest = None, designs[CHECKED:]
            return np.concatenate([own, model(make(rest), first=len(own))]) if len(rest) else own
        quick = None if shortcut is None else _try(shortcut, designs)
        return model(make(designs), first=first) if quick is None else quick

    return ask


def _try(shortcut: Callable[[Floats], Any], designs: Floats) -> Floats | None:
    """The answers of a shortcut, or nothing if it fails: the model itself is asked then, and may say why."""
    try:
        return np.array(check_outputs(shortcut(designs), len(designs)))
    except Exception:
        return None
