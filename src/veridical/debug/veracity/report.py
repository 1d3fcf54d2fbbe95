"""From what came of every cause to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from veridical.attribute.recipe import name_of, recipe_of
from veridical.debug.ranking import auroc, placements, rate
from veridical.debug.veracity.findings import findings
from veridical.debug.veracity.orders import NORM
from veridical.debug.veracity.questions import Test, named, tests_of
from veridical.debug.veracity.trials import Examination, Outcome
from veridical.errors import NotApplicable
from veridical.evaluate.compare import compare, fewest
from veridical.evaluate.records import Comparison, Curve, Example, Report, Score
from veridical.evaluate.report import reason_of
from veridical.masks import child_of, generator
from veridical.records import VERSION, Floats, Seed

COMPARE, AGAIN = 40, 41  # what seeds are for
DRAWS = 2000  # of instances, for the interval of a ratio
SHOWN, METHODS_SHOWN = 6, 4  # examples, and methods that explain each
NAMED = 5  # parts that an example names
FAILED = "no cause of this kind was found"


def examined(plan: Examination, found: Sequence[Outcome]) -> Report:
    """The report of all outcomes; NotApplicable where no cause was found at all."""
    by_cause = {name: [each for each in found if each.cause == name] for name in plan.causes}
    done = {name: some for name, some in by_cause.items() if any(each.case is not None for each in some)}
    if not done:
        raise NotApplicable(f"no wrong decision could be caused: {'; '.join(_failures(by_cause))}")
    scores, comparisons, metrics = list[Score](), list[Comparison](), []
    for number, (name, some) in enumerate(done.items()):
        tests = tests_of(any(each.case is not None and each.case.guilty is not None for each in some))
        table = Table(plan, name, some)
        for test in tests:
            metrics.append(test.metric(name))
            scores += [table.score(test, row) for row in plan.rows]
            if test.compared:
                values = {s.method: s.values for s in scores if s.metric == named(test.name, name)}
                comparisons += compare(
                    named(test.name, name), values, pairs_of(plan), child_of(plan.seed, COMPARE, number)
                )
    report = Report(
        title=_title(plan),
        metrics=tuple(metrics),
        methods=tuple(plan.methods),
        nulls=plan.nulls,
        scores=tuple(scores),
        comparisons=tuple(comparisons),
        n_instances=len(plan.aim),
        n_calls=sum(each.n_calls for each in found),
        recipe=_recipe(plan),
        notes=_notes(plan, by_cause),
        references=plan.references,
        curves=tuple(curve for name, some in done.items() for curve in curves(plan, name, some)),
        examples=tuple(_examples(plan, done)),
    )
    return findings(report, tuple(done))


def pairs_of(plan: Examination) -> list[tuple[str, str]]:
    """All pairs of methods, and each method with every row that knows more or less than it may."""
    rows = [(name, row) for name in plan.methods for row in (*plan.references, *plan.nulls)]
    return [*combinations(plan.methods, 2), *rows]


class Table:
    """The numbers of one kind of cause."""

    def __init__(self, plan: Examination, cause: str, some: Sequence[Outcome]) -> None:
        self.plan, self.cause, self.some = plan, cause, some

    def values(self, test: str, row: str) -> Floats:
        """One number an instance, nan where there is none."""
        found = np.full(len(self.plan.aim), np.nan)
        for each in self.some:
            found[each.row] = each.values.get((test, row), np.nan)
        return found

    def score(self, test: Test, row: str) -> Score:
        """A test of a row over all instances."""
        kind, _, rest = test.name.partition("@")
        if kind == "ratio":
            values, mean, low, high = self._ratio(int(rest), row)
        elif test.name.endswith(" AUROC"):
            values, mean, low, high = self._area(test.name.removesuffix(" AUROC"), row)
        else:
            values = self.values(test.name, row)
            mean, *ends = rate(values)
            low, high = (float(end) for end in np.clip(ends, test.least, test.most))
        known = int(np.isfinite(values).sum())
        reason = self._reason(test, row) if known < len(values) else ""
        null = row in self.plan.nulls
        return Score(named(test.name, self.cause), row, values, mean, low, high, known, null, reason)

    def _ratio(self, k: int, row: str) -> tuple[Floats, float, float, float]:
        """Flips of a row over those of the order by size of the change, with a paired bootstrap interval."""
        own, norm = self.values(f"flip@{k}", row), self.values(f"flip@{k}", NORM)
        both = np.isfinite(own) & np.isfinite(norm)
        if not norm[both].any():
            return np.full(len(own), np.nan), np.nan, np.nan, np.nan
        a, b = own[both], norm[both]
        drawn = generator(self.plan.seed, AGAIN, k).integers(0, len(a), (DRAWS, len(a)))
        below = b[drawn].mean(axis=1)
        ratios = a[drawn].mean(axis=1)[below > 0] / below[below > 0]
        low, high = np.percentile(ratios, [2.5, 97.5])
        return own / b.mean(), float(a.mean() / b.mean()), float(low), float(high)

    def _area(self, signal: str, row: str) -> tuple[Floats, float, float, float]:
        """The chance that a signal is higher where the heaviest part is guilty."""
        told, right = self.values(signal, row), self.values("hit@1", row)
        both = np.isfinite(told) & np.isfinite(right)
        values = np.full(len(told), np.nan)
        if not 0 < right[both].sum() < both.sum():
            return values, np.nan, np.nan, np.nan
        values[both] = placements(told[both], right[both] > 0)
        return values, *auroc(told[both], right[both] > 0)

    def _reason(self, test: Test, row: str) -> str:
        """Why there are no numbers, or not for all instances."""
        if test.name.endswith(" AUROC") or test.name.startswith("ratio"):
            return self._no_area(test.name, row)
        why: Counter[str] = Counter()
        for each in self.some:
            if (test.name, row) not in each.values:
                why[each.reasons.get((test.name, row), "not looked at") if each.case else FAILED] += 1
        return reason_of(why, len(self.plan.aim))

    def _no_area(self, test: str, row: str) -> str:
        base = "hit@1" if test.endswith(" AUROC") else f"flip@{test.partition('@')[2]}"
        known = self.values(base, row)
        known = known[np.isfinite(known)]
        if row not in self.plan.methods and base == "hit@1":
            return "only methods say something of themselves"
        if base != "hit@1":
            return "on instances with a cause" if known.size else FAILED
        if not known.size or known.all() or not known.any():
            n = len(known)
            what = "right" if n and known.all() else "wrong"
            return f"all {n} explanations are {what}: there is nothing to tell apart" if n else FAILED
        return f"on {len(known)} explanations that are right or wrong"


def curves(plan: Examination, cause: str, some: Sequence[Outcome]) -> Iterator[Curve]:
    """How often the first k parts of each row flip the decision; all parts of an instance always do."""
    most = max(each.case.d for each in some if each.case is not None)
    for r, row in enumerate(plan.rows):
        flips = np.full((len(plan.aim), most + 1), np.nan)
        for each in some:
            if each.flips is not None:
                own = each.flips[r]
                flips[each.row] = np.append(own, np.full(most + 1 - len(own), own[-1]))
        mean, low, high = np.array([rate(column) for column in flips.T]).T
        yield Curve(cause, row, flips, mean, low, high)


def _examples(plan: Examination, done: Mapping[str, Sequence[Outcome]]) -> Iterator[Example]:
    """The first cause of each kind, with what some methods say of it."""
    for name, some in list(done.items())[:SHOWN]:
        each = next(one for one in some if one.case is not None)
        case = each.case
        assert case is not None
        ends = np.zeros((2, case.d), bool)
        ends[1] = True
        before, after = case.decision.support(case.outputs_of(ends), np.full(2, each.made.wanted))
        order = np.argsort(-case.sizes, kind="stable")
        chosen = order[case.guilty[order]] if case.guilty is not None else order
        labels = plan.aim.model.names_of(plan.aim.outputs.shape[1])
        label, wanted = (_label(labels, at) for at in (each.made.label, each.made.wanted))
        shown = list(each.explained)[:METHODS_SHOWN]
        yield Example(
            name, each.row, label, wanted, float(before), float(after),
            tuple(case.representation.names[j] for j in chosen[:NAMED]), tuple(shown),
            tuple(each.explained[m] for m in shown), getattr(case.clean(), "view", None), each.made.sounds,
        )  # fmt: skip


def _label(names: Sequence[Any] | None, at: int) -> int | str:
    return str(names[at]) if names is not None and at < len(names) else at


def _title(plan: Examination) -> str:
    m, n, c = len(plan.methods), len(plan.aim), len(plan.causes)
    kind = type(plan.aim.represent).__name__
    return (
        f"{m} method{'s' * (m > 1)} on {c} kind{'s' * (c > 1)} of known causes in {n} instance{'s' * (n > 1)} "
        f"({kind})"
    )


def _recipe(plan: Examination) -> dict[str, Any]:
    seed: Seed = plan.seed
    return {
        "veridical": VERSION,
        "methods": {name: recipe_of(method) for name, method in plan.methods.items()},
        "causes": {name: recipe_of(kind) for name, kind in plan.causes.items()},
        "threshold": plan.aim.decision.threshold,
        "represent": name_of(type(plan.aim.represent)),
        "rng": {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)},
    }


def _notes(plan: Examination, by_cause: Mapping[str, Sequence[Outcome]]) -> tuple[str, ...]:
    notes, n, needed = _failures(by_cause), len(plan.aim), fewest(len(pairs_of(plan)))
    if n < needed:
        notes.append(f"{n} instances are too few to tell rows apart: at least {needed} are needed.")
    if plan.left_out:
        some = "1 instance" if plan.left_out == 1 else f"{plan.left_out} instances"
        notes.append(f"Left out: {some} that the model decides wrongly by itself.")
    return tuple(notes)


def _failures(by_cause: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """How many causes of each kind were found, and why the others were not."""
    notes = []
    for name, some in by_cause.items():
        found = [each for each in some if each.case is not None]
        why = next((each.failed for each in some if each.failed), "")
        said = f"{name}: {len(found)} of {len(some)} causes were found"
        if found:
            sure = float(np.median([each.made.confidence for each in found]))
            said += f", with {sure:.3g} for the wrong label (median)"
        notes.append(said + (f"; one that was not: {why}." if why else "."))
    return notes
