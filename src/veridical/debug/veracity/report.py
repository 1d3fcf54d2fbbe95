"""From what came of every cause to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from veridical.attribute.recipe import name_of, recipe_of
from veridical.debug.adversary.records import labels_of
from veridical.debug.ranking import auroc, placements, rate
from veridical.debug.veracity.findings import findings
from veridical.debug.veracity.orders import NORM
from veridical.debug.veracity.questions import Test, named, tests_of
from veridical.debug.veracity.trials import Examination, Outcome
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.compare import compare, fewest, interval
from veridical.evaluate.records import Comparison, Curve, Example, Report, Score
from veridical.evaluate.report import reason_of
from veridical.masks import child_of, generator
from veridical.records import VERSION, Floats, Seed

COMPARE, AGAIN = 40, 41  # what seeds are for
DRAWS = 2000  # of instances, for the interval of a ratio
SHOWN, METHODS_SHOWN = 6, 4  # examples, and methods that explain each
NAMED = 5  # parts that an example names
FAILED = "no cause of this kind was found"
ADVICE = "Give more instances, or kinds that change more: a larger eps or k, a lower confidence, as they have them"


def examined(plan: Examination, found: Sequence[Outcome]) -> Report:
    """The report of all outcomes; NotApplicable where no cause was found at all."""
    by_cause = {name: [each for each in found if each.cause == name] for name in plan.causes}
    done = {name: some for name, some in by_cause.items() if any(each.case is not None for each in some)}
    if not done:
        raise NotApplicable(
            f"no wrong decision could be caused: {'; '.join([*_alike(plan), *_failures(by_cause)])}. {ADVICE}"
        )
    if not any(each.explained for each in found):
        raise InputError(f"no method explains these instances: {_mute(plan, found)}")
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
            mean, *ends = rate(values) if test.least == 0 else interval(values)
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
        low, high = np.percentile(ratios, [2.5, 97.5]) if len(a) > 1 else (np.nan, np.nan)
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
        kind, _, k = test.name.partition("@")
        if kind == "ratio":
            most = np.nansum(self.values(f"flip@{k}", NORM))
            return self._counted(f"flip@{k}", row) if most else f"the {k} largest changes flip no decision"
        if test.name.endswith(" AUROC"):
            return self._no_area(test.name.removesuffix(" AUROC"), row)
        return self._counted(test.name, row)

    def _counted(self, test: str, row: str) -> str:
        why: Counter[str] = Counter()
        for each in self.some:
            if (test, row) not in each.values:
                why[each.reasons.get((test, row), "not looked at") if each.case else FAILED] += 1
        return reason_of(why, len(self.plan.aim))

    def _no_area(self, signal: str, row: str) -> str:
        if row not in self.plan.methods:
            return "only methods say something of themselves"
        known = self.values("hit@1", row)
        known = known[np.isfinite(known)]
        if not known.size or not np.isfinite(self.values(signal, row)).any():
            return self._counted(signal if known.size else "hit@1", row)
        if known.all() or not known.any():
            what = "right" if known.all() else "wrong"
            return f"all {known.size} explanations are {what}: there is nothing to tell apart"
        return f"only {known.size} explanations are known to be right or wrong"


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
        labels = labels_of(plan.aim.model, plan.aim.outputs.shape[1])
        label, wrong = (_plain(labels[at]) for at in (each.made.label, each.made.wanted))
        shown = list(each.explained)[:METHODS_SHOWN]
        yield Example(
            name, each.row, label, wrong, float(before), float(after),
            tuple(case.representation.names[j] for j in chosen[:NAMED]), tuple(shown),
            tuple(each.explained[m] for m in shown), getattr(case.clean(), "view", None), each.made.sounds,
        )  # fmt: skip


def _plain(label: Any) -> int | str:
    return label if isinstance(label, int) else str(label)


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
    notes = [f"{each}." for each in _failures(by_cause)]
    n, needed = len(plan.aim), fewest(len(pairs_of(plan)))
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
        said = f"{name}: a cause was found in {len(found)} of {len(some)} instances"
        if found:
            sure = float(np.median([each.made.confidence for each in found]))
            said += f", with {sure:.3g} for the wrong label (median)"
        notes.append(said + (f"; why one failed: {why}" if why else ""))
    return notes


def _alike(plan: Examination) -> list[str]:
    """That all instances are decided alike, if they are, and from which outputs."""
    aim, n = plan.aim, len(plan.aim)
    if len(set(aim.labels.tolist())) > 1 or n == 1:
        return []
    labels = labels_of(aim.model, aim.outputs.shape[1])
    own = aim.outputs[:, -1 if len(labels) == 2 else aim.labels[0]]
    rule = "" if aim.decision.threshold is None else f", by the threshold {aim.decision.threshold:g}"
    said = f"all {n} instances are decided as {labels[aim.labels[0]]}{rule}"
    return [f"{said}, from outputs of {own.min():.3g} to {own.max():.3g}"]


def _mute(plan: Examination, found: Sequence[Outcome]) -> str:
    """Why methods say nothing, where none of them does."""
    said = [
        f"{name}: {each.reasons['mean flip', name]}"
        for name in plan.methods
        for each in found
        if ("mean flip", name) in each.reasons
    ]
    return "; ".join(dict.fromkeys(said))
