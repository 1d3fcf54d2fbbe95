"""Make causes, explain what they changed, and ask of every order of parts whether it names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from veridical.debug.adversary.records import Aim, Cause, Kind
from veridical.debug.veracity.case import Case
from veridical.debug.veracity.orders import NORM, Typical, ranked, references, unasked
from veridical.debug.veracity.questions import CONTROLS, FLIPS, SIGNALS
from veridical.errors import VeridicalError
from veridical.evaluate.believe import chance
from veridical.evaluate.trials import Kept, explanations, words
from veridical.evaluate.ways import Panel, panel
from veridical.masks import child_of
from veridical.records import Bools, Explanation, Floats, Ints, Method, Seed

MAKE, CASE, OWN, AGAIN, PANEL = range(5)  # what seeds are for
NO_SIGN = "only explanations have a sign"
NO_EXPLANATION = "only methods explain"
NOT_ENOUGH = "the change in the parts that have most of it is not enough"
SOME = f"measured on the first {CONTROLS} instances"


@dataclass(frozen=True, eq=False)
class Examination:
    """What is examined."""

    aim: Aim
    methods: Mapping[str, Method]
    causes: Mapping[str, Kind]
    references: tuple[str, ...]
    nulls: tuple[str, ...]
    seed: Seed
    typical: Typical
    left_out: int = 0  # instances that the model decides wrongly by itself
    controls: int = CONTROLS  # instances of a kind that are explained again

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all rows."""
        return (*self.methods, *self.references, *self.nulls)

    def __len__(self) -> int:
        return len(self.aim) * len(self.causes)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one instance and one kind of cause."""

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


def outcomes(plan: Examination) -> Iterator[Outcome]:
    """One an instance and kind of cause, in order."""
    for number, (name, kind) in enumerate(plan.causes.items()):
        done = 0
        for row, cause in enumerate(kind(plan.aim, child_of(plan.seed, MAKE, number))):
            found = _outcome(plan, (name, row), cause, done < plan.controls)
            done += found.case is not None
            yield found


def _outcome(plan: Examination, at: tuple[str, int], cause: Cause, controls: bool) -> Outcome:
    """All tests on one cause, if it is one."""
    name, row = at
    if not cause.success:
        return Outcome(name, row, cause, cause.n_calls, cause.reason)
    seed = child_of(plan.seed, CASE, list(plan.causes).index(name), row)
    try:
        case = Case.of(cause, plan.aim.represent, (plan.aim.model, plan.aim.decision), seed)
    except VeridicalError as wrong:
        return Outcome(name, row, cause, cause.n_calls, words(wrong))
    sheet = Sheet(plan, case)
    sheet.sufficiency()
    sheet.necessity()
    if case.guilty is None:
        sheet.anywhere()
    else:
        sheet.known(case.guilty)
    if controls:
        sheet.controls()
    n_calls = cause.n_calls + sheet.calls[0] + case.calls[0]
    return Outcome(name, row, cause, n_calls, "", case, sheet.explained, sheet.flips, sheet.values, sheet.reasons)


class Sheet:
    """What is found out about one case: explanations and orders of all rows, and the numbers of every test."""

    def __init__(self, plan: Examination, case: Case) -> None:
        self.plan, self.case = plan, case
        self.values: dict[tuple[str, str], float] = {}
        self.reasons: dict[tuple[str, str], str] = {}
        self.calls = [0]
        self.explained, self.orders = self.ordered(case)
        self.flips = self.curves()

    def ordered(self, case: Case) -> tuple[dict[str, Explanation], dict[str, Ints | str]]:
        """The explanations of a case, and the order of parts of every row, or why it has none."""
        made, failed = self.explain(case, case.representation, OWN)
        orders: dict[str, Ints | str] = {
            name: ranked(case.effects(made[name]), case.seed) if name in made else words(failed[name])
            for name in self.plan.methods
        }
        every = {**orders, **references(case), **unasked(case, self.plan.typical)}
        return made, {row: every[row] for row in self.plan.rows}

    def explain(
        self, case: Case, representation: Any, key: int
    ) -> tuple[dict[str, Explanation], dict[str, Exception]]:
        """What each method says for the wrong label, or why it says nothing."""
        kept = {name: Kept(method, case.model, case.target) for name, method in self.plan.methods.items()}
        found = explanations(kept, representation, case.child(key))
        self.calls[0] += sum(each.calls[0] for each in kept.values())
        return found

    def note(self, test: str, row: str, value: float, reason: str = "") -> None:
        """A number, or why there is none."""
        if np.isfinite(value):
            self.values[test, row] = float(value)
        else:
            self.reasons[test, row] = reason

    def curves(self) -> Floats:
        """Whether the first k parts of each row flip the decision, (rows, d + 1), k from 0 on."""
        d, known = self.case.d, {row: order for row, order in self.orders.items() if not isinstance(order, str)}
        masks = {row: firsts(order) for row, order in known.items()}
        self.case.ask(np.vstack(list(masks.values())))
        found = {row: self.case.flips(each).astype(np.float64) for row, each in masks.items()}
        return np.array([found.get(row, np.full(d + 1, np.nan)) for row in self.plan.rows])

    def sufficiency(self) -> None:
        """Flip@k and the mean over k; the positive set, and as many parts by size of the change."""
        d, norm = self.case.d, self.orders[NORM]
        for row, flips in zip(self.plan.rows, self.flips, strict=True):
            order = self.orders[row]
            reason = order if isinstance(order, str) else ""
            for k in FLIPS:
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
        """Whether undoing the first k parts takes the wrong decision back."""
        for row, order in self.orders.items():
            if isinstance(order, str):
                back, reason = np.full(self.case.d + 1, np.nan), order
            else:
                back, reason = 1.0 - self.case.flips(~firsts(order)), ""
            for k in FLIPS:
                self.note(f"necessity@{k}", row, back[min(k, self.case.d)], reason)

    def known(self, guilty: Bools) -> None:
        """Where the guilty parts stand in each order."""
        m = int(guilty.sum())
        for row, order in self.orders.items():
            hits = np.full(self.case.d, np.nan) if isinstance(order, str) else guilty[order].astype(np.float64)
            reason = order if isinstance(order, str) else ""
            self.note("hit@1", row, hits[0], reason)
            self.note("overlap", row, hits[:m].mean(), reason)
            self.note("top 3", row, float(hits[:3].sum() >= min(m, 3)) if not reason else np.nan, reason)
        self.signals(self.case, self.explained)

    def anywhere(self) -> None:
        """The change kept in the k parts that have most of it, where that flips: are they the first k?"""
        norm = np.asarray(self.orders[NORM], dtype=np.int64)
        for k in FLIPS:
            test = "hit@1" if k == 1 else f"overlap@{k}"
            parts = np.isin(np.arange(self.case.d), norm[:k])
            if k >= self.case.d or not self.case.flips(parts[None])[0]:
                for row in self.plan.rows:
                    self.reasons[test, row] = NOT_ENOUGH
                continue
            case = self.case.only(parts)
            explained, orders = self.ordered(case)
            self.calls[0] += case.calls[0]
            for row, order in orders.items():
                if isinstance(order, str):
                    self.reasons[test, row] = order
                else:
                    self.note(test, row, parts[order][:k].mean())
            if k == 1:
                self.signals(case, explained)

    def signals(self, case: Case, explained: Mapping[str, Explanation]) -> None:
        """What an explanation says of itself, and how far it is to be believed, where it can be right or wrong."""
        found = self._panel(case) if explained else None
        for row in self.plan.rows:
            told = signals_of(explained[row]) if row in explained else {}
            if told and found is not None:
                told["believability"] = chance(explained[row], case.representation, found, case.child(PANEL))
            for name in SIGNALS:
                self.note(name, row, told.get(name, np.nan), "it says no such thing" if told else NO_EXPLANATION)

    def _panel(self, case: Case) -> Panel | None:
        """What several ways of taking parts away say of a case, asked once for all methods."""
        try:
            found = panel(case.model, case.representation, case.explained, case.child(PANEL))
        except VeridicalError:
            return None
        self.calls[0] += found.n_calls
        return found

    def controls(self) -> None:
        """Explanations of the instance before the change, and of another seed, beside the first ones."""
        others = {"clean control": (self.case.clean(), OWN), "seed control": (self.case.representation, AGAIN)}
        for test, (representation, key) in others.items():
            made, _ = self.explain(self.case, representation, key)
            for row in self.plan.rows:
                alike = (
                    correlation(self.explained[row], made[row]) if row in self.explained and row in made else None
                )
                self.note(test, row, np.nan if alike is None else alike, NO_EXPLANATION)


def firsts(order: Ints) -> Bools:
    """The first k parts of an order, for k from 0 to all of them, (d + 1, d)."""
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return np.asarray(places[None] < np.arange(len(order) + 1)[:, None])


def signals_of(explanation: Explanation) -> dict[str, float]:
    """What an explanation says of its own quality."""
    known = explanation.weights[explanation.tested]
    first, *others = np.sort(known)[::-1] if len(known) else [np.nan]
    spread = float(known.std()) if len(known) else 0.0
    spread = spread or 1.0
    return {
        "fidelity": float(explanation.fidelity),
        "sureness": float(explanation.top_probability),
        "margin": float(first - others[0]) / spread if others else np.nan,
    }


def correlation(one: Explanation, other: Explanation) -> float:
    """Rank correlation of the weights of two explanations; nan where they have other parts, or are empty."""
    if one.weights.shape != other.weights.shape:
        return float("nan")
    both = one.tested & other.tested
    a, b = one.weights[both], other.weights[both]
    if both.sum() < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(spearmanr(a, b).statistic)
