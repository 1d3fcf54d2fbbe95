"""Recognized models of tables, explained in closed form: no sampling error, and hardly any calls of the model.

A recognized output is asked about at some rows all the same: those that reach as many leaves as possible, when it is
read, and samples near each row that is explained. Where its structure answers otherwise, the row is sampled, and the
explanation says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import numpy as np
from scipy.special import expit, softmax

from veridical.evidence.verdicts import no_evidence, top_probability, weigh
from veridical.methods.results import Answer, Question
from veridical.models.adapters import identify
from veridical.models.levels import Levels, checked
from veridical.models.outputs import Model
from veridical.models.structures import Effects, Summand, structure_of
from veridical.models.targets import Target, resolve
from veridical.models.trees import EXPONENTIAL, IDENTITY_LINK, SIGMOID, SOFTMAX, Forest, UnreadableError
from veridical.records import (
    IDENTITY,
    LOG_ODDS,
    Bools,
    Explanation,
    FeatureCurve,
    FeaturePair,
    Fit,
    Floats,
    Ints,
    Shape,
)
from veridical.representations.tables.axes import RowColumns, shown_values, table_of_codes
from veridical.representations.tables.backgrounds import TableBackground
from veridical.surrogates.additive import END, Additive
from veridical.surrogates.closed_forms import (
    BoxTerm,
    Contributions,
    EffectTerm,
    KeptLaw,
    KeptTerm,
    Moments,
    OwnFits,
    RowShape,
    Tables,
    WaveTerm,
    row_shape,
    total_of_terms,
)

if TYPE_CHECKING:
    from veridical.methods.lime import Lime

EXACT = (
    "Exact: the weights follow from the structure of the model as it was read, without sampling; its answers "
    "near the row confirm it."
)
MISREAD = (
    "The structure of the model was read, but the model answers otherwise: the weights are sampled, as those of any "
    "other model."
)

MAX_LEAVES = 20_000  # of a sum of trees, above which one row is sooner sampled
REACHED = 16  # rows that reach many leaves, about which the model is asked when it is read
NEAR = 32  # samples near a row that is explained, about which it is asked
CANDIDATES = 256  # from which either are chosen
JUDGED = 512  # samples near a row on which fidelity is measured; the model is not asked about them
REMEMBERED = 4  # models that are read once for a background, and not for each row
PROBES = 16  # draws of the background by which pairs of columns are ranked
PAIRED, PAIRS = 8, 8  # columns among which pairs are ranked, and pairs of them that a row may have
GAIN = 0.01  # of what is known of the variance, that a pair adds at least
GRID = 64  # values of a column, at most, between which pairs of a sigmoid are taken for flat where fidelity is measured
CLOSE, CLOSE_SINGLE = 1e-9, 2e-5  # differences of answers, relative to their size, that are rounding
SURE = 1e6  # degrees of freedom where nothing is estimated


@dataclass(frozen=True, eq=False)
class KnownOutput:
    """One output of a recognized model, against a background."""

    terms: tuple[tuple[float, KeptTerm], ...]
    levels: tuple[Levels, ...]  # of each term
    law: KeptLaw
    pairs: tuple[tuple[int, int], ...]  # that a row may have
    wide: float  # variance of the effects of single columns among values that are not the row's own
    joint: Floats  # (c,) the same of the pairs
    scale: str  # on which the terms add up: that of the output, or log-odds of it

    @classmethod
    def of(
        cls, terms: Sequence[tuple[float, KeptTerm]], levels: Sequence[Levels], law: KeptLaw, scale: str
    ) -> KnownOutput:
        """Find the pairs of columns that matter most over the background."""
        rng, first = np.random.default_rng(0), levels[0]
        codes = np.stack([rng.choice(len(s), PROBES, p=s / s.sum()) for s in first.shares], axis=1)
        plain = cls(tuple(terms), tuple(levels), law, (), 0.0, np.zeros(0), scale)
        inputs = [each.assembled(codes, np.tile(each.usual, (PROBES, 1))) for each in levels]
        least, rest = KeptLaw(law.shares.min(keepdims=True), np.ones(2)), 1 - law.shares
        apart, both = (float(law.weights[:-1] @ rest**power) for power in (1, 2))
        alone = np.square(plain.moments(inputs, least).gain[0]).mean(axis=1)
        top = np.sort(np.argsort(-alone, kind="stable")[:PAIRED]).tolist()
        every = [(i, j) for place, i in enumerate(top) for j in top[place + 1 :]]
        strength = np.square(replace(plain, pairs=tuple(every)).moments(inputs, least).both[0]).mean(axis=1)
        best = [at for at in np.argsort(-strength, kind="stable")[:PAIRS].tolist() if strength[at] > 0]
        return replace(
            plain,
            pairs=tuple(every[at] for at in best),
            wide=apart * float(alone.sum()),
            joint=both * strength[best],
        )

    def moments(self, inputs: Sequence[Floats], law: KeptLaw | None = None) -> Moments:
        """At rows, by the features (r, f) of each term."""
        shares = (law or self.law).shares
        found = [
            term.moments(own, shares, self.pairs).times(factor)
            for (factor, term), own in zip(self.terms, inputs, strict=True)
        ]
        return total_of_terms(found)

    def answers(self, inputs: Sequence[Floats]) -> Floats:
        """At inputs, by the features (n, f) of each term: (n,)."""
        each = zip(self.terms, inputs, strict=True)
        return np.asarray(sum(factor * term.answers(own) for (factor, term), own in each))

    def tables(self, inputs: Sequence[Floats], shown: Sequence[Ints], pairs: Any) -> list[Tables]:
        """At one row, under each share, for values by code."""
        terms = list(zip(self.terms, inputs, strict=True))
        return [
            total_of_terms([t.tables(own, share, shown, pairs).times(f) for (f, t), own in terms])
            for share in self.law.shares.tolist()
        ]


@dataclass(frozen=True, eq=False)
class KnownPart:
    """A term of all outputs of a recognized model, against a background."""

    summand: Summand
    levels: Levels
    boxes: BoxTerm | None  # of a sum of trees

    @classmethod
    def of(cls, summand: Summand, levels: Levels) -> KnownPart:
        """Compile what is the same for every output."""
        inside = summand.inside
        return cls(summand, levels, BoxTerm.of(inside, levels) if isinstance(inside, Forest) else None)

    def output(self, position: int, n_outputs: int, scale: str) -> tuple[float, KeptTerm]:
        """The term of one output, and its factor; on log-odds, of a sigmoid."""
        at, sign = self.summand.place(position, n_outputs)
        if self.boxes is not None:
            return self.summand.share, self.boxes.output(at, sign)
        assert isinstance(self.summand.inside, Effects)
        effects = self.summand.inside.output(at, sign)
        if self.summand.link == IDENTITY_LINK or scale == LOG_ODDS:
            return self.summand.share, EffectTerm(effects, self.levels)
        return self.summand.share, WaveTerm.of(effects, self.levels, self.summand.link)

    def answers(self, inputs: Floats, n_outputs: int) -> Floats:
        """What it adds to all outputs for inputs (n, f), (n, k)."""
        inside = self.summand.inside
        if self.boxes is not None:
            sums = self.boxes.forest.answers(inputs)
        else:
            assert isinstance(inside, Effects)
            sums = inside.of(inputs).sum(axis=1) + inside.base
        return self.summand.share * linked(sums, self.summand.link, n_outputs)


def linked(sums: Floats, link: str, n_outputs: int) -> Floats:
    """Outputs of sums (n, k)."""
    if link == SOFTMAX:
        return np.asarray(softmax(sums, axis=1))
    if link == EXPONENTIAL:
        return np.exp(sums)
    if link == SIGMOID and n_outputs == 2:
        return np.concatenate([expit(-sums), expit(sums)], axis=1)
    return np.asarray(expit(sums)) if link == SIGMOID else sums


def scale_of(summands: Sequence[Summand], link: str) -> str | None:
    """The scale on which outputs have closed forms, for a link that is asked for; None where they have none."""
    for each in summands:
        if each.link != IDENTITY_LINK and (isinstance(each.inside, Forest) or each.link == SOFTMAX):
            return None
    by_odds = len(summands) == 1 and summands[0].link == SIGMOID
    if link == LOG_ODDS and not by_odds:
        return None
    return LOG_ODDS if by_odds and link != IDENTITY else IDENTITY


@dataclass(frozen=True, eq=False)
class KnownModel:
    """A recognized model, against a background: read once, and remembered."""

    parts: tuple[KnownPart, ...]
    background: TableBackground
    confirmed: bool  # by the rows about which the model was asked when it was read
    n_asked: int  # these
    outputs: dict[Any, KnownOutput] = field(default_factory=dict)  # by target, scale and law
    grids: dict[KnownOutput, ValueGrid] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    @classmethod
    def read(cls, model: Model, background: TableBackground) -> KnownModel:
        """Read a model, and ask it about rows that reach many leaves; raises if it is not understood."""
        summands = structure_of(model.predict)
        leaves = sum(each.inside.n_leaves for each in summands if isinstance(each.inside, Forest))
        if leaves > MAX_LEAVES:
            raise UnreadableError("more leaves than pay")
        if scale_of(summands, "auto") is None:
            raise UnreadableError("no closed form")
        levels = dict[int, Levels]()
        for each in summands:
            if id(each.features) not in levels:
                levels[id(each.features)] = Levels.of(background, each.features)
        found = cls(tuple(KnownPart.of(each, levels[id(each.features)]) for each in summands), background, True, 0)
        codes = found.telling_rows()
        table = table_of_codes(background, background.usual, codes)
        inputs = found.inputs(table)
        return replace(found, confirmed=found.agrees(model(table), inputs), n_asked=len(codes))

    def inputs(self, table: Any) -> list[Floats]:
        """The features of rows, as each part sees them."""
        known = dict[int, Floats]()
        for part in self.parts:
            if id(part.levels) not in known:
                known[id(part.levels)] = checked(part.levels.features(table), len(table))
        return [known[id(part.levels)] for part in self.parts]

    def near(self, seen: RowColumns, codes: Ints, kept: Bools) -> tuple[Ints, Bools]:
        """Those of some samples near a row, by code, that reach many leaves; and which values are the row's own."""
        inputs = [
            part.levels.assembled(codes, np.tile(own, (len(codes), 1)))
            for part, own in zip(self.parts, self.inputs(seen.row.row), strict=True)
        ]
        at = self.telling(inputs, NEAR)
        return codes[at], kept[at]

    def telling_rows(self) -> Ints:
        """Codes (n, d) of draws of the background that reach as many leaves as possible."""
        rng, shares = np.random.default_rng(0), self.parts[0].levels.shares
        codes = np.stack([rng.choice(len(s), CANDIDATES, p=s / s.sum()) for s in shares], axis=1)
        own = [part.levels.assembled(codes, np.tile(part.levels.usual, (CANDIDATES, 1))) for part in self.parts]
        return codes[self.telling(own, REACHED)]

    def telling(self, inputs: Sequence[Floats], n: int) -> Ints:
        """Which n of some rows, by their features, reach most leaves, those that are reached often first."""
        reached, first = list[Ints](), 0
        for part, own in zip(self.parts, inputs, strict=True):
            if part.boxes is not None:
                reached.append(first + part.boxes.forest.leaves_of(own))
                first += len(part.boxes.forest.feature)
        if not reached:
            return np.arange(n)
        leaves, chosen = np.concatenate(reached, axis=1), list[int]()
        left = np.bincount(leaves.ravel(), minlength=first).astype(np.float32)
        for _ in range(n):
            chosen.append(int(left[leaves].sum(axis=1).argmax()))
            left[leaves[chosen[-1]]] = 0.0
        return np.array(chosen)

    def agrees(self, outputs: Floats, inputs: Sequence[Floats]) -> bool:
        """Whether it answers what the model does, (n, k), but for rounding."""
        k = outputs.shape[1]
        try:
            own = np.sum([part.answers(each, k) for part, each in zip(self.parts, inputs, strict=True)], axis=0)
        except ValueError:
            return False
        return own.shape == outputs.shape and bool((np.abs(own - outputs) <= rounding(outputs)).all())

    def scale(self, link: str) -> str | None:
        """The scale of its closed forms, for a link that is asked for."""
        return scale_of([part.summand for part in self.parts], link)

    def output(self, target: Target, n_outputs: int, law: KeptLaw, scale: str) -> KnownOutput | None:
        """One output in closed form, if it has one."""
        key = target.key if isinstance(target.key, Mapping) else {"output": 0}
        if "output" not in key:
            return None
        at, sign = key["output"], -1.0 if key.get("negated") else 1.0
        place = (at, sign, n_outputs, scale, tuple(law.shares.tolist()))
        with self.lock, suppress(UnreadableError):
            if place not in self.outputs:
                terms = [part.output(at, n_outputs, scale) for part in self.parts]
                signed = [(sign * factor, term) for factor, term in terms]
                self.outputs[place] = KnownOutput.of(signed, [part.levels for part in self.parts], law, scale)
            return self.outputs[place]
        return None

    def grid(self, output: KnownOutput) -> ValueGrid:
        """The values for which curves of an output are worked out."""
        with self.lock:
            if output not in self.grids:
                self.grids[output] = ValueGrid.of(output, self.background)
            return self.grids[output]


def rounding(outputs: Floats) -> float:
    """How far outputs may be off by rounding, in the precision that they seem to have."""
    single = bool((outputs == outputs.astype(np.float32)).all() and (outputs != np.rint(outputs)).any())
    return (CLOSE_SINGLE if single else CLOSE) * float(np.abs(outputs).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Additive local models of r rows of one output, as arrays."""

    output: KnownOutput
    inputs: list[Floats]  # features (r, f) of each term
    codes: Ints  # (r, d) of the rows' own values
    found: Moments
    fits: OwnFits
    which: Bools  # (c, r) pairs that rows have
    models: Contributions

    @classmethod
    def of(cls, output: KnownOutput, inputs: list[Floats], codes: Ints, most: int) -> KnownRows:
        """Of rows by their features and codes, with so many pairs each at most."""
        shares = [np.append(each, 0.0) for each in output.levels[0].shares]  # a value that was never seen has none
        chance = np.stack([s[np.minimum(own, len(s) - 1)] for s, own in zip(shares, codes.T, strict=True)])
        found = output.moments(inputs)
        fits = OwnFits.of(found, output.law, chance, output.pairs)
        which = choose_pairs(output, found, fits, most)
        return cls(output, inputs, codes, found, fits, which, fits.contributions(which))

    def __len__(self) -> int:
        return len(self.codes)

    def row(self, i: int) -> KnownRows:
        """One of them alone."""
        own = slice(i, i + 1)
        return replace(
            self,
            inputs=[each[own] for each in self.inputs],
            codes=self.codes[own],
            found=self.found.rows(own),
            fits=self.fits.rows(own),
            which=self.which[:, own],
            models=self.models.rows(own),
        )


def choose_pairs(output: KnownOutput, found: Moments, fits: OwnFits, most: int) -> Bools:
    """The pairs (c, r) that add most to what is known of the variance near each row, each some percent at least."""
    gains = fits.gains + output.joint[:, None]
    if not len(gains) or not most:
        return np.zeros(gains.shape, bool)
    known = fits.explained(found) + output.wide + output.joint.sum()
    least = np.sort(gains, axis=0)[-min(most, len(gains))]
    return np.asarray((gains >= least) & (gains >= GAIN * known) & (fits.gains > 0))


@dataclass(frozen=True, eq=False)
class ValueGrid:
    """The values of each column for which curves and pairs of a row are worked out."""

    codes: tuple[Ints, ...]  # (w,) of each part
    place: tuple[Ints, ...]  # (m,) for each value, the one on the grid that stands for it
    shown: tuple[Ints, ...]  # codes of the values that a curve has
    values: tuple[tuple[Any, ...], ...]  # these themselves
    numeric: tuple[bool, ...]

    @classmethod
    def of(cls, output: KnownOutput, background: TableBackground) -> ValueGrid:
        """The cells between cuts of trees; of other terms, some values; and all that are shown."""
        codes, place = list[Ints](), list[Ints]()
        shown, values, numeric = zip(*shown_values(background), strict=True)
        for j in range(len(shown)):
            m = len(output.levels[0].shares[j])
            key = np.zeros(m, np.int64)
            for _, term in output.terms:
                own = term.cells[j] if isinstance(term, BoxTerm) else np.arange(m)
                if isinstance(term, WaveTerm):  # whose pairs would be large
                    own = own * min(GRID, m) // m
                _, key = np.unique(key * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
            _, first, at = np.unique(key, return_index=True, return_inverse=True)
            codes.append(np.append(first, shown[j]))
            own_place = at.ravel().copy()
            own_place[shown[j]] = len(first) + np.arange(len(shown[j]))
            place.append(own_place)
        return cls(tuple(codes), tuple(place), shown, values, numeric)


@dataclass(frozen=True, eq=False)
class KnownShape:
    """The curves and pairs of one row, on a grid."""

    rows: KnownRows  # one alone
    grid: ValueGrid
    chosen: list[int]
    shape: RowShape

    @classmethod
    def of(cls, rows: KnownRows, grid: ValueGrid) -> KnownShape:
        """Of one row alone."""
        chosen = np.flatnonzero(rows.which[:, 0]).tolist()
        tables = rows.output.tables(rows.inputs, grid.codes, [rows.output.pairs[at] for at in chosen])
        return cls(rows, grid, chosen, row_shape(rows.fits, rows.found, tables, chosen))

    def answers(self, codes: Ints) -> Floats:
        """What the local model says of values by code (n, d)."""
        models, own = self.rows.models, codes == self.rows.codes[0]
        said = np.full(len(codes), models.intercepts[0])
        at = [
            place[np.minimum(code, len(place) - 1)] for place, code in zip(self.grid.place, codes.T, strict=True)
        ]
        for j, curve in enumerate(self.shape.curves):
            said += np.where(own[:, j], models.weights[0, j], curve[at[j]])
        for pair, effects in zip(self.chosen, self.shape.pairs, strict=True):
            i, j = self.rows.output.pairs[pair]
            said += effects[np.where(own[:, i], -1, at[i]), np.where(own[:, j], -1, at[j])]
        return said

    def record(self) -> Shape:
        """As an explanation has it: intervals have no width."""
        grid, models, curves = self.grid, self.rows.models, list[FeatureCurve]()
        ends = [len(codes) - len(shown) for codes, shown in zip(grid.codes, grid.shown, strict=True)]
        own = [shown == code for shown, code in zip(grid.shown, self.rows.codes[0], strict=True)]
        for j, curve in enumerate(self.shape.curves):
            effects = np.where(own[j], models.weights[0, j], curve[ends[j] :])
            curves.append(
                FeatureCurve(j, grid.values[j], effects, np.stack([effects] * 2, axis=1), grid.numeric[j])
            )
        pairs = list[FeaturePair]()
        for at, effects in zip(self.chosen, self.shape.pairs, strict=True):
            (i, j), weight = self.rows.output.pairs[at], float(models.pairs[0, at])
            table = effects[ends[i] :, ends[j] :].copy()
            table[:-1][own[i]] = table[-1]
            table[:, :-1][:, own[j]] = table[:, -1:]
            pairs.append(FeaturePair((i, j), weight, (weight, weight), table))
        return Shape(self.rows.output.scale, tuple(curves), tuple(pairs))


@dataclass(frozen=True, eq=False)
class RememberedModel:
    """A model, by a reference that does not keep it alive, and what was read of it; None if nothing was."""

    kinds: tuple[Any, ...]
    model: Any
    known: KnownModel | None


_REMEMBERED: WeakKeyDictionary[TableBackground, tuple[RememberedModel, ...]] = WeakKeyDictionary()
_LOCK = Lock()


def known_model(model: Model, background: TableBackground, again: bool = False) -> KnownModel | None:
    """A model as it was read for a background, now or before; None where it is not recognized."""
    kinds, given = identify(model.predict)
    with _LOCK:
        before = _REMEMBERED.get(background, ())
    known = next((each for each in before if each.kinds == kinds and each.model() is given), None)
    if known is not None and not again:
        return known.known
    found: KnownModel | None = None
    with suppress(Exception):  # whatever a model of another version has or lacks: it is sampled
        found = KnownModel.read(model, background)
    with suppress(TypeError), _LOCK:  # objects to which there are no references are read each time
        others = (
            each for each in _REMEMBERED.get(background, ()) if each.model() is not given or each.kinds != kinds
        )
        _REMEMBERED[background] = (RememberedModel(kinds, ref(given), found), *others)[:REMEMBERED]
    return found


def explain_exactly(method: Lime, question: Question) -> tuple[Explanation, ...] | Question:
    """The explanations of one row of a recognized model; the question, where it has to be sampled, with the reason."""
    seen, surrogate = question.representation, method.surrogate
    if not isinstance(surrogate, Additive) or not isinstance(seen, RowColumns):
        return question
    if seen.row.background is not seen.row.common:  # a category that was never seen has a law of its own
        return question
    known = known_model(question.model, seen.background)
    if known is None or known.scale(surrogate.link) is None:
        return question
    drawn, which = seen.drawn(question.seed, 0, JUDGED)
    try:
        codes, kept = known.near(seen, drawn[:CANDIDATES], which[:CANDIDATES])
    except Exception:  # whatever a transform does to values that it never saw
        return question
    outputs = np.empty((0, 0))
    for again in (False, True):
        if again:  # it may have been fitted again since it was read
            known = known_model(question.model, seen.background, again=True)
        scale = None if known is None else known.scale(surrogate.link)
        if known is None or scale is None:
            return question
        table = seen.row.below(seen.mixed(codes, kept))  # made anew, for the model may have changed it
        try:
            inputs = known.inputs(table)
        except Exception:  # whatever a transform does to values that it never saw
            return question
        if not again:
            outputs = question.model(table)
        if known.confirmed and known.agrees(outputs, inputs):
            break
    else:
        return replace(question, notes=(*question.notes, MISREAD))
    law, found, own = KeptLaw.of(seen.shares, END), list[Explanation](), [each[:1] for each in inputs]
    for wanted in question.targets:
        target = resolve(wanted, question.model, outputs[:1])
        output = known.output(target, outputs.shape[1], law, scale)
        if output is None:
            return question
        rows = KnownRows.of(output, own, seen.own[0][None], surrogate.pairs)
        answer = known_answer(method, drawn, rows, known.grid(output), len(outputs) + known.n_asked)
        read = replace(question, targets=(wanted,)).read(outputs)
        found.append(question.record(method, next(read), answer))
    return tuple(found)


def known_answer(method: Lime, codes: Ints, rows: KnownRows, grid: ValueGrid, n_calls: int) -> Answer:
    """The local model of one row, with its fidelity on samples, by code, about which the model is not asked."""
    shape, models = KnownShape.of(rows, grid), rows.models
    inputs = [
        levels.assembled(codes, np.tile(own, (len(codes), 1)))
        for levels, own in zip(rows.output.levels, rows.inputs, strict=True)
    ]
    y, said, local = rows.output.answers(inputs), shape.answers(codes), float(models.local[0])
    if rows.output.scale == LOG_ODDS:
        y, said, local = expit(y), expit(said), float(expit(local))
    total, d = float(np.square(y - y.mean()).sum()), codes.shape[1]
    weights, every = models.weights[0].copy(), np.ones(d, bool)
    weights[np.abs(weights) < 1e-9 * np.abs(weights).max(initial=0.0)] = 0.0  # what rounding leaves of nothing
    fit = Fit(
        weights=weights,
        intercept=float(models.intercepts[0]),
        covariance=np.zeros((d, d)),
        local_prediction=local,
        fidelity=1 - float(np.square(y - said).sum()) / total if total > 0 else float("nan"),
        measured=every,
        chosen=every,
        degrees=SURE,
        shape=shape.record(),
    )
    rule = method.until
    evidence, verdict = weigh(fit, rule, top_probability(fit, rule)), None
    if not weights.any():
        own = float(rows.found.own[0])
        verdict = no_evidence(own, own, n_calls)
    return Answer(fit, evidence, rule.k, n_calls, float(JUDGED), (EXACT,), rule=rule, verdict=verdict)
