"""Trials of explanations against known causes: cases, orders of features, tests, and their outcomes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from veridical.errors import InputError, VeridicalError
from veridical.groundtruth.causes import Aim, Cause, CauseKind, Decision, first_row, measure_change, mix_change
from veridical.metrics.belief import estimate_chance, local_effects, query_panel
from veridical.metrics.evaluations import CachedMethod, describe_cause, explain_by_each
from veridical.metrics.faithfulness import mask_first
from veridical.metrics.reports import Metric
from veridical.models.outputs import Model
from veridical.models.targets import Target, resolve
from veridical.protocols import Method, Refillable, Representation, Representer, Seed
from veridical.records import Bools, Explanation, Floats, Ints
from veridical.representations.fills import LowRank
from veridical.representations.images import Superpixels
from veridical.representations.regions import numbers_of
from veridical.representations.series import Windows
from veridical.seeds import child_of, generator

MASKS_PER_BATCH = 1024  # inputs that are made at once


@dataclass(frozen=True, eq=False)
class Case:
    """An instance, its changed copy and the features of that; every answer of the model is kept."""

    cause: Cause
    represent: Representer  # that cuts both copies alike
    representation: Representation  # of the changed copy
    model: Model
    decision: Decision
    seed: Seed
    sizes: Floats  # (d,) how large the change is in each part
    guilty: Bools | None  # (d,) the parts that were changed on purpose, where that is known
    answers: dict[bytes, Floats] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])

    @classmethod
    def of(cls, cause: Cause, represent: Representer, asked: tuple[Model, Decision], seed: Seed) -> Case:
        """The features of a cause; InputError if they do not fit it."""
        model, decision = asked
        pinned = _fix_segmentation(represent, cause.x)
        representation = pinned(cause.changed)
        sizes, guilty = measure_change(representation, cause), cause.parts
        if guilty is not None and len(guilty) != len(sizes):
            raise InputError(
                f"the changed copy is cut into {len(sizes)} features, the instance into {len(guilty)}"
            )
        made = cls(cause, pinned, representation, model, decision, seed, sizes, guilty)
        none, every = made.flips(np.repeat([[False], [True]], made.d, axis=1))
        if none or not every:  # else masks between mean nothing
            what = (
                "without any change the label is the wrong one" if none else "with all features changed it is not"
            )
            raise InputError(f"the change does not lie in the features: {what}")
        return made

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.sizes)

    @property
    def target(self) -> Any:
        """What to explain: the output of the label that the change brought about."""
        return self.decision.target(self.cause.wanted, len(self.outputs_of(np.ones((1, self.d), bool))[0]))

    @property
    def reader(self) -> Target:
        """The same target, ready to read outputs."""
        return resolve(self.target, self.model, self.outputs_of(np.ones((1, self.d), bool)))

    def child(self, *key: int) -> np.random.SeedSequence:
        """A seed for one purpose."""
        return child_of(self.seed, *key)

    def outputs_of(self, masks: Bools) -> Floats:
        """Outputs (n, k) with the change only in the features of each mask."""
        self.query(masks)
        return np.array([self.answers[key] for key in self._keys(masks)])

    def flips(self, masks: Bools) -> Bools:
        """Whether the label is the wrong one with the change only in the features of each mask (n, d)."""
        return np.asarray(self.decision(self.outputs_of(masks)) == self.cause.wanted)

    def support(self, masks: Bools) -> Floats:
        """The output for the wrong label, (n,)."""
        return self.reader.read(self.outputs_of(masks))

    def query(self, masks: Bools) -> None:
        """Query the model in one batch with all masks that are not known yet.

        An unchanged feature is the same with and without the change, so masks need not differ there.
        """
        known = dict(zip(self._keys(masks), masks, strict=True))
        new = {key: mask for key, mask in known.items() if key not in self.answers}
        rows = np.array(list(new.values()), dtype=bool).reshape(-1, self.d)
        outputs = [
            self.model(mix_change(self.representation, self.cause, rows[start : start + MASKS_PER_BATCH]), start)
            for start in range(0, len(rows), MASKS_PER_BATCH)
        ]
        self.calls[0] += len(rows)
        if outputs:
            self.answers.update(zip(new, np.concatenate(outputs), strict=True))

    def confine(self, parts: Bools) -> Case:
        """The same cause with its change in these features alone, each of which is then guilty."""
        changed = mix_change(self.representation, self.cause, parts[None])
        cause = replace(self.cause, changed=first_row(changed), parts=parts)
        return Case.of(cause, self.represent, (self.model, self.decision), self.child(int(parts.sum())))

    def effects(self, explanation: Explanation) -> Floats:
        """What each feature adds for the wrong label, according to an explanation, (d,)."""
        return local_effects(self.representation, explanation, self.seed)

    def clean(self) -> Representation:
        """The instance before the change, cut into the same features."""
        return self.represent(self.cause.x)

    def _keys(self, masks: Bools) -> Iterator[bytes]:
        return (row.tobytes() for row in masks & (self.sizes > 0))


def _fix_segmentation(represent: Any, x: Any) -> Any:
    """A representer that cuts other instances as it cuts this one."""
    if isinstance(represent, Superpixels) and callable(represent.segment):
        return replace(represent, segment=represent(x).places.labels)
    if isinstance(represent, Windows) and callable(represent.cut):
        labels = np.moveaxis(represent(x).places.labels, represent.time_axis if np.ndim(x) > 1 else 0, 0)
        window = labels.reshape(len(labels), -1)[:, 0]
        return replace(represent, cut=np.flatnonzero(np.diff(window, prepend=-1)).tolist())
    return represent


NORM, GREEDY = "norm", "greedy"  # rows that know the change
RANDOM, CONTRAST, RESIDUAL = "random", "contrast", "residual"  # rows that ask no model
REFERENCES, MODEL_FREE = (NORM, GREEDY), (RANDOM, CONTRAST, RESIDUAL)
WORD_PATTERN = re.compile(r"\w+")
MAX_GREEDY_STEPS = 12  # parts that the greedy oracle looks for one by one; the others by what each does alone
TIES, RANDOM_ORDER = 0, 1  # what seeds are for


@dataclass(frozen=True, eq=False)
class TypicalInstance:
    """What is typical of the instances, as far as it shows without a model."""

    row: Any = None  # of a table: of each column the value in the middle
    counts: Mapping[str, int] | None = None  # of texts: how many of them have a word

    @classmethod
    def of(cls, X: Any) -> TypicalInstance:
        """Learn from instances of any kind; arrays need nothing, since each has a mean of its own."""
        if isinstance(X, pd.DataFrame):
            return cls(row=_typical_row(X))
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
            return cls(row=pd.DataFrame(X.astype(np.float64)).quantile(interpolation="lower").to_numpy(X.dtype))
        several = getattr(X, "ndim", 1) > 1 or hasattr(X, "tocsr")
        texts = [] if several else [x for x in X if isinstance(x, str)]
        return (
            cls(counts=Counter(word for x in texts for word in set(WORD_PATTERN.findall(x.lower()))))
            if texts
            else cls()
        )


def rank_parts(weights: Floats, seed: Seed) -> Ints:
    """Features by signed weight, the largest first; ties in random order."""
    return np.lexsort((generator(seed, TIES).random(len(weights)), -weights))


def greedy_order(case: Case) -> Ints:
    """The features whose change helps the wrong label most, each given those before it."""
    order, left = list[int](), list(range(case.d))
    alone = case.support(np.eye(case.d, dtype=bool))
    while left and len(order) < MAX_GREEDY_STEPS:
        masks = np.zeros((len(left), case.d), bool)
        masks[:, order] = True
        masks[np.arange(len(left)), left] = True
        gains = case.support(masks)
        at = int(np.lexsort((-case.sizes[left], -gains))[0])
        order.append(left.pop(at))
    rest = np.array(left, dtype=np.int64)
    return np.append(order, rest[np.lexsort((-case.sizes[rest], -alone[rest]))]).astype(np.int64)


def model_free_orders(case: Case, typical: TypicalInstance) -> dict[str, Ints | str]:
    """Orders that do not query the model, or why there is none."""
    found: dict[str, Floats | str] = {
        RANDOM: generator(case.seed, RANDOM_ORDER).random(case.d),
        CONTRAST: _contrast_with_typical(case, typical),
        RESIDUAL: _low_rank_residual(case),
    }
    return {name: each if isinstance(each, str) else rank_parts(each, case.seed) for name, each in found.items()}


def _contrast_with_typical(case: Case, typical: TypicalInstance) -> Floats | str:
    """How far each feature is from typical: loud or bright, an unusual value, a rare word."""
    x = case.cause.changed
    if isinstance(x, str):
        names = [str(name).lower().partition("[")[0] for name in case.representation.names]
        return np.array([-float((typical.counts or {}).get(name, 0)) for name in names])
    row = typical.row
    if row is None or np.shape(row) != np.shape(x):  # of recordings, the model takes what a front end makes
        if hasattr(x, "tocsr"):
            return np.abs(np.asarray(x.toarray()[0], dtype=np.float64))[case.representation.row.indices]  # type: ignore[attr-defined]
        values = numbers_of(x, "an instance")
        row = np.full(values.shape, values.mean()).astype(values.dtype)
    return measure_change(case.representation, replace(case.cause, x=row))


def _low_rank_residual(case: Case) -> Floats | str:
    """How much of each feature a low-rank copy of the instance leaves over."""
    if not isinstance(case.representation, Refillable):
        return "there is no low-rank copy of a text or a table row"
    copy = case.representation.refilled(LowRank()).keeping(np.zeros((1, case.d), bool), case.seed)
    return measure_change(case.representation, replace(case.cause, x=copy[0:1][0]))


def _typical_row(X: pd.DataFrame) -> pd.Series:
    """The median of each column, one of its own values, or else its most frequent value."""
    found = {}
    for name, column in X.items():
        numeric = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        found[name] = column.quantile(interpolation="lower") if numeric else column.mode(dropna=False).iloc[0]
    return pd.Series(found, dtype=object)


HEAVIEST = {1: "heaviest part", 3: "3 heaviest parts", 5: "5 heaviest parts"}  # that are looked at
N_CONTROLS = 10  # instances of a kind of cause that are explained again, for controls
SIGNALS = {  # what an explanation says about itself
    "believability": "the probability that vd.believe gives",
    "fidelity": "held-out fidelity",
    "sureness": "the explanation's probability that its heaviest features are the right ones",
    "margin": "how far the heaviest feature is above the next",
}


@dataclass(frozen=True)
class VeracityTest:
    """A number for an order of features on an instance, or for a row over all instances."""

    name: str
    sentence: str
    better: str = "higher"
    tells: bool = False  # about what tells a right explanation from a wrong one, not whether it is right
    compared: bool = True  # whether rows are compared by it
    least: float = 0.0
    most: float = 1.0

    def metric(self, cause: str) -> Metric:
        """The test on one kind of cause."""
        family = f"{cause}: can one tell" if self.tells else cause
        name = name_test(self.name, cause)
        return Metric(name, _refuse_trial, self.better, family, self.sentence, self.least, self.most)


def name_test(test: str, cause: str) -> str:
    """The name of a test on a kind of cause."""
    return f"{test} ({cause})"


def _refuse_trial(trial: Any, rng: Any) -> float:
    """In the place of a metric's function: there is no trial without a cause."""
    raise InputError("this is a test on known causes: call vd.veracity")


KNOWN_PART_TESTS = (  # of causes whose parts are known
    VeracityTest("hit@1", "How often the heaviest feature is a guilty one."),
    VeracityTest("overlap", "The share of the guilty features among as many heaviest ones."),
    VeracityTest(
        "top 3", "How often all guilty features are among the three heaviest, or the three are all guilty."
    ),
)
ANYWHERE_TESTS = (  # of causes that may be anywhere: the change is kept in the parts that have most of it
    VeracityTest(
        "hit@1",
        "The change is confined to the one feature that has most of it, where that is enough: how often the "
        "heaviest feature is that one.",
    ),
    *(
        VeracityTest(
            f"overlap@{k}",
            f"The change is confined to the {k} features that have most of it, where that is enough: the share of "
            f"them among the {k} heaviest.",
        )
        for k in (3, 5)
    ),
)
COMMON_TESTS = (
    *(
        VeracityTest(
            f"flip@{k}", f"How often the change in the {parts} alone makes the decision the wrong one."
        )
        for k, parts in HEAVIEST.items()
    ),
    VeracityTest("mean flip", "The mean of flip@k over all k, from 1 to the number of features."),
    *(
        VeracityTest(
            f"ratio@{k}",
            f"flip@{k} over that of the order by size of the true change; the interval is a paired bootstrap.",
            compared=False,
            most=np.inf,
        )
        for k in (3, 5)
    ),
    *(
        VeracityTest(
            f"necessity@{k}", f"How often undoing the change in the {parts} reverses the wrong decision."
        )
        for k, parts in HEAVIEST.items()
    ),
    VeracityTest(
        "positive set", "How often the features with positive weight are enough for the wrong decision."
    ),
    VeracityTest(
        "as many by norm", "The same for as many features, those that were changed most.", compared=False
    ),
    *(
        VeracityTest(
            f"{name} AUROC",
            f"The chance that {told} is higher where the heaviest feature is the guilty one than where it is not; "
            "0.5 means no information.",
            tells=True,
            compared=False,
        )
        for name, told in SIGNALS.items()
    ),
    VeracityTest("fidelity", "Held-out fidelity of the explanations.", tells=True, compared=False, least=-np.inf),
    VeracityTest(
        "clean control",
        "Rank correlation with the explanation of the instance before the change: 1 if it ignores the change.",
        "lower", tells=True, compared=False, least=-1.0,
    ),
    VeracityTest(
        "seed control",
        "Rank correlation of two explanations of the same instance that differ by their seed.",
        tells=True, compared=False, least=-1.0,
    ),
)  # fmt: skip


def list_tests(known: bool) -> tuple[VeracityTest, ...]:
    """All tests of a kind of cause, whose guilty features are known or not."""
    return (*(KNOWN_PART_TESTS if known else ANYWHERE_TESTS), *COMMON_TESTS)


MAKE, CASE, FIRST_TIME, SECOND_TIME, PANEL = range(5)  # what seeds are for
NO_SIGN = "only explanations have a sign"
NO_EXPLANATION = "only methods explain"
NOT_ENOUGH = "the change in the features that have most of it is not enough"
CONTROLS_ONLY = f"measured on the first {N_CONTROLS} instances"


@dataclass(frozen=True, eq=False)
class VeracityPlan:
    """The aim, methods, kinds of cause and rows of a veracity report."""

    aim: Aim
    methods: Mapping[str, Method]
    causes: Mapping[str, CauseKind]
    references: tuple[str, ...]
    nulls: tuple[str, ...]
    seed: Seed
    typical: TypicalInstance
    left_out: int = 0  # instances that the model decides wrongly by itself
    controls: int = N_CONTROLS  # instances of a kind that are explained again

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all rows."""
        return (*self.methods, *self.references, *self.nulls)

    def __len__(self) -> int:
        return len(self.aim) * len(self.causes)


@dataclass(frozen=True, eq=False)
class CauseOutcome:
    """The outcome of one instance and one kind of cause."""

    cause: str
    row: int
    made: Cause
    n_calls: int
    failed: str = ""  # why there is nothing to ask
    case: Case | None = None
    explained: Mapping[str, Explanation] = field(default_factory=dict)
    flips: Floats | None = None  # (rows, d + 1); nan where a row has no order
    values: Mapping[tuple[str, str], float] = field(default_factory=dict)  # (test, row) to a number
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)  # or to why there is none


def examine_causes(plan: VeracityPlan) -> Iterator[CauseOutcome]:
    """One outcome per instance and kind of cause, in order."""
    for number, (name, kind) in enumerate(plan.causes.items()):
        done = 0
        for row, cause in enumerate(kind(plan.aim, child_of(plan.seed, MAKE, number))):
            found = _examine_cause(plan, (name, row), cause, done < plan.controls)
            done += found.case is not None
            yield found


def _examine_cause(plan: VeracityPlan, at: tuple[str, int], cause: Cause, controls: bool) -> CauseOutcome:
    """Run all tests on one cause, if it is one."""
    name, row = at
    if not cause.success:
        return CauseOutcome(name, row, cause, cause.n_calls, cause.reason)
    seed = child_of(plan.seed, CASE, list(plan.causes).index(name), row)
    try:
        case = Case.of(cause, plan.aim.represent, (plan.aim.model, plan.aim.decision), seed)
    except VeridicalError as wrong:
        return CauseOutcome(name, row, cause, cause.n_calls, describe_cause(wrong))
    sheet = CaseResults(plan, case)
    sheet.sufficiency()
    sheet.necessity()
    if case.guilty is None:
        sheet.confine_change()
    else:
        sheet.locate_guilty(case.guilty)
    if controls:
        sheet.controls()
    n_calls = cause.n_calls + sheet.calls[0] + case.calls[0]
    return CauseOutcome(
        name, row, cause, n_calls, "", case, sheet.explained, sheet.flips, sheet.values, sheet.reasons
    )


class CaseResults:
    """Explanations and orders of all rows on one case, and the numbers of every test."""

    def __init__(self, plan: VeracityPlan, case: Case) -> None:
        self.plan, self.case = plan, case
        self.values: dict[tuple[str, str], float] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        self.calls = [0]
        self.explained, self.orders = self.rank_rows(case)
        self.flips = self.curves()

    def rank_rows(self, case: Case) -> tuple[dict[str, Explanation], dict[str, Ints | str]]:
        """The explanations of a case, and the order of features of every row, or why it has none."""
        made, failed = self.explain(case, case.representation, FIRST_TIME)
        orders: dict[str, Ints | str] = {
            name: rank_parts(case.effects(made[name]), case.seed) if name in made else describe_cause(failed[name])
            for name in self.plan.methods
        }
        known = {NORM: rank_parts(case.sizes, case.seed), GREEDY: greedy_order(case)}
        every = {**orders, **known, **model_free_orders(case, self.plan.typical)}
        return made, {row: every[row] for row in self.plan.rows}

    def explain(
        self, case: Case, representation: Any, key: int
    ) -> tuple[dict[str, Explanation], dict[str, Exception]]:
        """Each method's explanation of the wrong label, or the error that it raised."""
        kept = {name: CachedMethod(method, case.model, case.target) for name, method in self.plan.methods.items()}
        found = explain_by_each(kept, representation, case.child(key))
        self.calls[0] += sum(each.calls[0] for each in kept.values())
        return found

    def note(self, test: str, row: str, value: float, reason: str = "") -> None:
        """Record a number, or why there is none."""
        if np.isfinite(value):
            self.values[test, row] = float(value)
        else:
            self.reasons[test, row] = reason

    def curves(self) -> Floats:
        """Whether the first k features of each row flip the decision, (rows, d + 1), k from 0 on."""
        d, known = self.case.d, {row: order for row, order in self.orders.items() if not isinstance(order, str)}
        masks = {row: mask_first(order) for row, order in known.items()}
        self.case.query(np.vstack(list(masks.values())))
        found = {row: self.case.flips(each).astype(np.float64) for row, each in masks.items()}
        return np.array([found.get(row, np.full(d + 1, np.nan)) for row in self.plan.rows])

    def sufficiency(self) -> None:
        """Flip@k and its mean over k; the positive set, and as many features by size of the change."""
        d, norm = self.case.d, self.orders[NORM]
        for row, flips in zip(self.plan.rows, self.flips, strict=True):
            order = self.orders[row]
            reason = order if isinstance(order, str) else ""
            for k in HEAVIEST:
                self.note(f"flip@{k}", row, flips[min(k, d)], reason)
            self.note("mean flip", row, flips[1:].mean(), reason)
            sets = [np.nan, np.nan]
            if row in self.explained:
                positive = self.case.effects(self.explained[row]) > 0
                masks = np.stack([positive, np.isin(np.arange(d), norm[: positive.sum()])])
                sets = self.case.flips(masks).astype(np.float64).tolist()
            self.note("positive set", row, sets[0], reason or NO_SIGN)
            self.note("as many by norm", row, sets[1], reason or NO_SIGN)

    def necessity(self) -> None:
        """Whether undoing the first k features restores the decision."""
        for row, order in self.orders.items():
            if isinstance(order, str):
                back, reason = np.full(self.case.d + 1, np.nan), order
            else:
                back, reason = 1.0 - self.case.flips(~mask_first(order)), ""
            for k in HEAVIEST:
                self.note(f"necessity@{k}", row, back[min(k, self.case.d)], reason)

    def locate_guilty(self, guilty: Bools) -> None:
        """Where the guilty features stand in each order."""
        m = int(guilty.sum())
        for row, order in self.orders.items():
            hits = np.full(self.case.d, np.nan) if isinstance(order, str) else guilty[order].astype(np.float64)
            reason = order if isinstance(order, str) else ""
            self.note("hit@1", row, hits[0], reason)
            self.note("overlap", row, hits[:m].mean(), reason)
            self.note("top 3", row, float(hits[:3].sum() >= min(m, 3)) if not reason else np.nan, reason)
        self.signals(self.case, self.explained)

    def confine_change(self) -> None:
        """Confine the change to the k features that have most of it, where that flips: are they the first k?"""
        norm = np.asarray(self.orders[NORM], dtype=np.int64)
        for k in HEAVIEST:
            test = "hit@1" if k == 1 else f"overlap@{k}"
            parts = np.isin(np.arange(self.case.d), norm[:k])
            if k >= self.case.d or not self.case.flips(parts[None])[0]:
                for row in self.plan.rows:
                    self.reasons[test, row] = NOT_ENOUGH
                continue
            case = self.case.confine(parts)
            explained, orders = self.rank_rows(case)
            self.calls[0] += case.calls[0]
            for row, order in orders.items():
                if isinstance(order, str):
                    self.reasons[test, row] = order
                else:
                    self.note(test, row, parts[order][:k].mean())
            if k == 1:
                self.signals(case, explained)

    def signals(self, case: Case, explained: Mapping[str, Explanation]) -> None:
        """What an explanation says about itself, and its believability, where it can be right or wrong."""
        found = None
        if explained:  # the panel of removal strategies is queried once for all methods
            with suppress(VeridicalError):
                found = query_panel(case.model, case.representation, case.reader, case.child(PANEL))
                self.calls[0] += found.n_calls
        for row in self.plan.rows:
            told = read_signals(explained[row]) if row in explained else {}
            if told and found is not None:
                told["believability"] = estimate_chance(
                    explained[row], case.representation, found, case.child(PANEL)
                )
            for name in SIGNALS:
                self.note(name, row, told.get(name, np.nan), "it says no such thing" if told else NO_EXPLANATION)

    def controls(self) -> None:
        """Explanations of the instance before the change, and with another seed, beside the first ones."""
        others = {
            "clean control": (self.case.clean(), FIRST_TIME),
            "seed control": (self.case.representation, SECOND_TIME),
        }
        for test, (representation, key) in others.items():
            made, _ = self.explain(self.case, representation, key)
            for row in self.plan.rows:
                alike = (
                    correlate_weights(self.explained[row], made[row])
                    if row in self.explained and row in made
                    else None
                )
                self.note(test, row, np.nan if alike is None else alike, NO_EXPLANATION)


def read_signals(explanation: Explanation) -> dict[str, float]:
    """What an explanation says about its own quality."""
    known = explanation.weights[explanation.tested]
    first, *others = np.sort(known)[::-1] if len(known) else [np.nan]
    spread = float(known.std()) if len(known) else 0.0
    spread = spread or 1.0
    return {
        "fidelity": float(explanation.fidelity),
        "sureness": float(explanation.top_probability),
        "margin": float(first - others[0]) / spread if others else np.nan,
    }


def correlate_weights(one: Explanation, other: Explanation) -> float:
    """Rank correlation of the weights of two explanations; nan if features differ or one is empty."""
    if one.weights.shape != other.weights.shape:
        return float("nan")
    both = one.tested & other.tested
    a, b = one.weights[both], other.weights[both]
    if both.sum() < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(spearmanr(a, b).statistic)
