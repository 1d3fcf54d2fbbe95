"""Veracity: does an explanation name what was changed to make the model decide wrongly? Check and report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from veridical.checks.similarity import ANOTHER, CONSTANT, NOISE, SHUFFLED
from veridical.checks.subjects import MAX_SAMPLED_INSTANCES, Rng, Subject, check_explanation, draw_order
from veridical.errors import InputError, NotApplicable, public_name
from veridical.groundtruth import CAUSES
from veridical.groundtruth.causes import (
    MAX_LISTED_LABELS,
    Aim,
    CauseKind,
    Decision,
    choose_aim,
    list_labels,
)
from veridical.groundtruth.edits import EditedColumns
from veridical.groundtruth.trials import (
    FIRST_TIME,
    MODEL_FREE,
    NORM,
    RANDOM,
    REFERENCES,
    RESIDUAL,
    Case,
    CauseOutcome,
    TypicalInstance,
    VeracityPlan,
    VeracityTest,
    list_tests,
    model_free_orders,
    name_test,
    rank_parts,
)
from veridical.methods.registry import METHODS
from veridical.methods.results import describe, name_of
from veridical.metrics.evaluations import join_reasons, name_methods
from veridical.metrics.faithfulness import mask_first
from veridical.metrics.reports import Comparison, Curve, Example, Report, Score, join_words
from veridical.metrics.significance import auroc, compare_rows, interval, mean_rate, min_instances, placements
from veridical.models.outputs import Model, n_rows, rows_at
from veridical.models.torch_modules import Network
from veridical.models.validation import check_explanations, seed_of
from veridical.protocols import Method, Refillable, Representer, Seed, Viewable, purpose_of
from veridical.records import UNCLEAR, VERSION, Bools, Explanation, Floats, Ints, Measured, Verdict, View
from veridical.seeds import child_of, generator

KIND_EXAMPLE = "vd.edits.NoisyParts()"
TEXTS, TABLES = ("swapped_words",), ("edited_columns",)
ARRAYS = ("noisy_parts", "drawn_shape", "swapped_parts")
EDIT_CONFIDENCE = 0.5  # forests are seldom surer of what one column turns, or three
DEFAULT_EDITS = {
    "edited_columns": (EditedColumns(confidence=EDIT_CONFIDENCE), EditedColumns(k=3, confidence=EDIT_CONFIDENCE))
}


def plan_veracity(
    asked: tuple[Model, Representer, Any],
    methods: Mapping[str, Method],
    causes: Any,
    *,
    y: Any = None,
    decision: Decision | None = None,
    wanted: Any = None,
    seed: Seed,
) -> VeracityPlan:
    """Plan a veracity report; instances that the model decides wrongly by itself are left out."""
    model, represent, X = asked
    aim = choose_aim(model, represent, X, decision=decision, wanted=wanted)
    right = _decided_correctly(aim, y)
    if not right.any():
        raise NotApplicable("the model decides every instance wrongly by itself: there is no decision to change")
    if not right.all():
        rows = np.flatnonzero(right)
        own = (
            wanted if wanted is None or isinstance(wanted, str) or np.ndim(wanted) == 0 else rows_at(wanted, rows)
        )
        aim = choose_aim(model, represent, rows_at(X, rows), decision=decision, wanted=own)
    first = represent.each(aim.X).batch(0, 1)[0]
    kinds = choose_causes(causes, model, first)
    taken = [name for name in methods if name in (*REFERENCES, *MODEL_FREE)]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of another row: rename the method")
    nulls = MODEL_FREE if isinstance(first, Refillable) else tuple(name for name in MODEL_FREE if name != RESIDUAL)
    return VeracityPlan(aim, methods, kinds, REFERENCES, nulls, seed, TypicalInstance.of(X), int((~right).sum()))


def choose_causes(causes: Any, model: Model, representation: Any) -> dict[str, CauseKind]:
    """Kinds of cause by name; by default those that fit the instances and the model."""
    if causes is None:
        names = default_causes(model, representation)
        causes = [kind for name in names for kind in DEFAULT_EDITS.get(name, (CAUSES[name](),))]
    found = name_methods(causes, "cause", KIND_EXAMPLE)
    return {name: check_kind(kind) for name, kind in found.items()}


def check_kind(kind: Any, name: str = "causes") -> CauseKind:
    """Refuse anything but settings of a kind of cause."""
    if isinstance(kind, tuple(METHODS.values())):
        raise InputError(
            f"{name} must be kinds of cause, such as {KIND_EXAMPLE}; {public_name(type(kind))} is a method"
        )
    if isinstance(kind, type) or not callable(kind):
        raise InputError(f"{name} must be settings, such as {KIND_EXAMPLE}, not {kind!r}")
    found: CauseKind = kind
    return found


def default_causes(model: Model, representation: Any) -> Sequence[str]:
    """Names of kinds that fit: words are swapped, columns edited; arrays are attacked and edited."""
    view = _view_of(representation)
    if view is None and hasattr(representation, "row"):
        return TABLES
    if view is not None and view.kind == "fields":
        raise NotApplicable(
            "records of several fields have no kind of cause that changes them: give the model, the representer "
            "and the instances of one field"
        )
    if view is not None and view.kind == "text":
        return TEXTS
    return ("pgd" if isinstance(model.predict, Network) else "square", *ARRAYS)


def _decided_correctly(aim: Aim, y: Any) -> Bools:
    """Where the model decides correctly; everywhere if there are no answers."""
    n = len(aim)
    if y is None:
        return np.ones(n, bool)
    if n_rows(y) != n:
        raise InputError(f"y needs one answer per instance: X has {n} instances, y {n_rows(y)}")
    names = [_label_key(name) for name in list_labels(aim.model, aim.outputs.shape[1])]
    known = {name: at for at, name in enumerate(names)}
    own = aim.model.classes is not None and not aim.model.found  # the caller's names stand as the outputs do
    if own and not any(name.lstrip("-").isdigit() for name in names):
        known |= {str(at): at for at in range(len(names))}
    answers = np.asarray(y).tolist()
    labels = [known.get(_label_key(each)) for each in answers]
    if None in labels:
        has = f"{', '.join(names[:MAX_LISTED_LABELS])}{', …' * (len(names) > MAX_LISTED_LABELS)}"
        raise InputError(
            f"y has {answers[labels.index(None)]!r}, which is no label of the model: it has {has}; name them "
            "by classes=[…] as y does, or leave y out"
        )
    return np.asarray(np.array(labels) == aim.labels)


def _label_key(label: Any) -> str:
    """A label as text, the same for 1, 1.0, True and a NumPy number."""
    whole = isinstance(label, (float, np.floating)) and float(label).is_integer()
    return str(int(label) if whole or isinstance(label, (bool, np.bool_)) else label)


MIN_CASES = 5  # decisions or explanations of a kind, below which nothing is said of them
MIN_USEFUL_AUROC = 0.8  # AUROC from which on a signal tells right from wrong
MIN_CLEAN_CORRELATION = 0.9  # rank correlation from which on an explanation ignores the change


def _write_finding(report: Report, method: str, causes: Sequence[str]) -> str:
    """One sentence about a method."""
    said = [say(report, method, causes) for say in (_say_hits, _say_flips, _say_signals, _say_ignored)]
    known = [each for each in said if each]
    return f"{method}: {'; '.join(known) or _explain_silence(report, method, causes)}."


def _explain_silence(report: Report, method: str, causes: Sequence[str]) -> str:
    """Why nothing is said about a method."""
    scores = [report.score(name_test("mean flip", cause), method) for cause in causes]
    if not any(each.n for each in scores):
        return f"nothing could be measured: {scores[0].reason}"
    most = max(each.n for each in scores)
    return f"too few causes were found to say more, at most {most} of a kind; {MIN_CASES} are needed"


def _read_mean(report: Report, test: str, cause: str, row: str) -> float:
    """The mean of a test, nan if the report has none."""
    name = name_test(test, cause)
    found = [s.mean for s in report.scores if s.metric == name and s.method == row]
    return float(found[0]) if found else float("nan")


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _say_hits(report: Report, method: str, causes: Sequence[str]) -> str:
    """How often the heaviest feature is the guilty one, by kind of cause."""
    hits = {cause: report.score(name_test("hit@1", cause), method) for cause in causes}
    known = {cause: hit.mean for cause, hit in hits.items() if hit.n >= MIN_CASES}
    if not known:
        return ""
    chance = float(np.nanmean([_read_mean(report, "hit@1", cause, RANDOM) for cause in known]))
    each = join_words([f"{_percent(hit)} of {cause}" for cause, hit in known.items()])
    return f"the heaviest feature is guilty in {each} (random features: {_percent(chance)})"


def _say_flips(report: Report, method: str, causes: Sequence[str]) -> str:
    """How much the heaviest features flip beside the largest changes, where a change may be anywhere."""
    anywhere = [c for c in causes if any(m.name == name_test("overlap@3", c) for m in report.metrics)]
    enough = [c for c in anywhere if np.nansum(report.score(name_test("flip@3", c), NORM).values) >= MIN_CASES]
    ratios = {c: _read_mean(report, "ratio@3", c, method) for c in enough}
    others = [
        c for c in anywhere if c not in enough and report.score(name_test("mean flip", c), method).n >= MIN_CASES
    ]
    means = {c: (_read_mean(report, "mean flip", c, row) for row in (method, NORM)) for c in others}
    three = [f"{_percent(ratio)} for {c}" for c, ratio in ratios.items() if np.isfinite(ratio)]
    every = [
        f"{_percent(own)} for {c} (the largest changes: {_percent(norm)})"
        for c, (own, norm) in means.items()
        if np.isfinite(own)
    ]
    said = []
    if three:
        said.append(
            "of the decisions that the three largest changes flip, its three heaviest features flip "
            f"{join_words(three)}"
        )
    if every:
        said.append(f"over all numbers of features, its heaviest flip {join_words(every)}")
    return "; ".join(said)


def _say_signals(report: Report, method: str, causes: Sequence[str]) -> str:
    """Whether fidelity and believability separate right from wrong explanations."""
    said = []
    for signal in ("fidelity", "believability"):
        hits = {cause: report.score(name_test("hit@1", cause), method).values for cause in causes}
        both = [c for c, each in hits.items() if min((each == 1).sum(), (each == 0).sum()) >= MIN_CASES]
        areas = [_read_mean(report, f"{signal} AUROC", cause, method) for cause in both]
        known = [each for each in areas if np.isfinite(each)]
        if known:
            mean = float(np.mean(known))
            verb = "tells" if mean >= MIN_USEFUL_AUROC else "does not tell"
            said.append(f"its {signal} {verb} right from wrong (AUROC {mean:.2f})")
    return "; ".join(said)


def _say_ignored(report: Report, method: str, causes: Sequence[str]) -> str:
    scores = [report.score(name_test("clean control", cause), method) for cause in causes]
    known = [each.mean for each in scores if each.n >= MIN_CASES]
    if known and float(np.mean(known)) >= MIN_CLEAN_CORRELATION:
        return f"it hardly changes without the change (rank correlation {float(np.mean(known)):.2f})"
    return ""


COMPARISON_SEED, BOOTSTRAP_SEED = 40, 41  # what seeds are for
N_BOOTSTRAP = 2000  # of instances, for the interval of a ratio
MAX_EXAMPLES, MAX_METHODS_PER_EXAMPLE = 6, 4  # examples, and methods that explain each
MAX_NAMED_PARTS = 5  # parts that an example names
NO_CAUSE = "no cause of this kind was found"
ADVICE = "Give more instances, or kinds that change more: a larger eps or k, a lower confidence, as they have them"


def build_veracity_report(plan: VeracityPlan, found: Sequence[CauseOutcome]) -> Report:
    """Build the report of all outcomes; NotApplicable if no cause was found."""
    by_cause = {name: [each for each in found if each.cause == name] for name in plan.causes}
    done = {name: some for name, some in by_cause.items() if any(each.case is not None for each in some)}
    if not done:
        reasons = "; ".join([*_note_same_decision(plan), *_count_causes(by_cause)])
        raise NotApplicable(f"no wrong decision could be caused: {reasons}. {ADVICE}")
    if not any(each.explained for each in found):
        raise InputError(f"no method explains these instances: {_join_failures(plan, found)}")
    scores, comparisons, metrics = list[Score](), list[Comparison](), []
    for number, (name, some) in enumerate(done.items()):
        tests = list_tests(any(each.case is not None and each.case.guilty is not None for each in some))
        table = CauseTable(plan, name, some)
        for test in tests:
            metrics.append(test.metric(name))
            scores += [table.score(test, row) for row in plan.rows]
            if test.compared:
                values = {s.method: s.values for s in scores if s.metric == name_test(test.name, name)}
                comparisons += compare_rows(
                    name_test(test.name, name),
                    values,
                    list_row_pairs(plan),
                    child_of(plan.seed, COMPARISON_SEED, number),
                )
    report = Report(
        title=_write_title(plan),
        metrics=tuple(metrics),
        methods=tuple(plan.methods),
        nulls=plan.nulls,
        scores=tuple(scores),
        comparisons=tuple(comparisons),
        n_instances=len(plan.aim),
        n_calls=sum(each.n_calls for each in found),
        recipe=_veracity_recipe(plan),
        notes=_write_notes(plan, by_cause),
        references=plan.references,
        curves=tuple(curve for name, some in done.items() for curve in build_curves(plan, name, some)),
        examples=tuple(_build_examples(plan, done)),
    )
    return replace(report, findings=tuple(_write_finding(report, method, tuple(done)) for method in plan.methods))


def list_row_pairs(plan: VeracityPlan) -> list[tuple[str, str]]:
    """All pairs of methods, and each method with every reference and null baseline."""
    rows = [(name, row) for name in plan.methods for row in (*plan.references, *plan.nulls)]
    return [*combinations(plan.methods, 2), *rows]


class CauseTable:
    """The numbers of one kind of cause."""

    def __init__(self, plan: VeracityPlan, cause: str, some: Sequence[CauseOutcome]) -> None:
        self.plan, self.cause, self.some = plan, cause, some

    def values(self, test: str, row: str) -> Floats:
        """One number per instance, nan where there is none."""
        found = np.full(len(self.plan.aim), np.nan)
        for each in self.some:
            found[each.row] = each.values.get((test, row), np.nan)
        return found

    def score(self, test: VeracityTest, row: str) -> Score:
        """A test of a row over all instances."""
        kind, _, rest = test.name.partition("@")
        if kind == "ratio":
            values, mean, low, high = self._ratio(int(rest), row)
        elif test.name.endswith(" AUROC"):
            values, mean, low, high = self._area(test.name.removesuffix(" AUROC"), row)
        else:
            values = self.values(test.name, row)
            mean, *ends = mean_rate(values) if test.least == 0 else interval(values)
            low, high = (float(end) for end in np.clip(ends, test.least, test.most))
        known = int(np.isfinite(values).sum())
        reason = self._reason(test, row) if known < len(values) else ""
        null = row in self.plan.nulls
        return Score(name_test(test.name, self.cause), row, values, mean, low, high, known, null, reason)

    def _ratio(self, k: int, row: str) -> tuple[Floats, float, float, float]:
        """Flips of a row over those of the order by size of the change, with a paired bootstrap interval."""
        own, norm = self.values(f"flip@{k}", row), self.values(f"flip@{k}", NORM)
        both = np.isfinite(own) & np.isfinite(norm)
        if not norm[both].any():
            return np.full(len(own), np.nan), np.nan, np.nan, np.nan
        a, b = own[both], norm[both]
        drawn = generator(self.plan.seed, BOOTSTRAP_SEED, k).integers(0, len(a), (N_BOOTSTRAP, len(a)))
        below = b[drawn].mean(axis=1)
        ratios = a[drawn].mean(axis=1)[below > 0] / below[below > 0]
        low, high = np.percentile(ratios, [2.5, 97.5]) if len(a) > 1 else (np.nan, np.nan)
        return own / b.mean(), float(a.mean() / b.mean()), float(low), float(high)

    def _area(self, signal: str, row: str) -> tuple[Floats, float, float, float]:
        """The chance that a signal is higher where the heaviest feature is guilty."""
        told, right = self.values(signal, row), self.values("hit@1", row)
        both = np.isfinite(told) & np.isfinite(right)
        values = np.full(len(told), np.nan)
        if not 0 < right[both].sum() < both.sum():
            return values, np.nan, np.nan, np.nan
        values[both] = placements(told[both], right[both] > 0)
        return values, *auroc(told[both], right[both] > 0)

    def _reason(self, test: VeracityTest, row: str) -> str:
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
                why[each.reasons.get((test, row), "not looked at") if each.case else NO_CAUSE] += 1
        return join_reasons(why, len(self.plan.aim))

    def _no_area(self, signal: str, row: str) -> str:
        if row not in self.plan.methods:
            return "only methods say something about themselves"
        known = self.values("hit@1", row)
        known = known[np.isfinite(known)]
        if not known.size or not np.isfinite(self.values(signal, row)).any():
            return self._counted(signal if known.size else "hit@1", row)
        if known.all() or not known.any():
            what = "right" if known.all() else "wrong"
            return f"all {known.size} explanations are {what}: there is nothing to tell apart"
        return f"only {known.size} explanations are known to be right or wrong"


def build_curves(plan: VeracityPlan, cause: str, some: Sequence[CauseOutcome]) -> Iterator[Curve]:
    """How often the first k features of each row flip the decision; all features always do."""
    most = max(each.case.d for each in some if each.case is not None)
    for r, row in enumerate(plan.rows):
        flips = np.full((len(plan.aim), most + 1), np.nan)
        for each in some:
            if each.flips is not None:
                own = each.flips[r]
                flips[each.row] = np.append(own, np.full(most + 1 - len(own), own[-1]))
        mean, low, high = np.array([mean_rate(column) for column in flips.T]).T
        yield Curve(cause, row, flips, mean, low, high)


def _build_examples(plan: VeracityPlan, done: Mapping[str, Sequence[CauseOutcome]]) -> Iterator[Example]:
    """The first cause of each kind, with some methods' explanations."""
    for name, some in list(done.items())[:MAX_EXAMPLES]:
        each = next(one for one in some if one.case is not None)
        case = each.case
        assert case is not None
        ends = np.zeros((2, case.d), bool)
        ends[1] = True
        before, after = case.decision.support(case.outputs_of(ends), np.full(2, each.made.wanted))
        order = np.argsort(-case.sizes, kind="stable")
        chosen = order[case.guilty[order]] if case.guilty is not None else order
        labels = list_labels(plan.aim.model, plan.aim.outputs.shape[1])
        label, wrong = (_plain_label(labels[at]) for at in (each.made.label, each.made.wanted))
        shown = list(each.explained)[:MAX_METHODS_PER_EXAMPLE]
        yield Example(
            name, each.row, label, wrong, float(before), float(after),
            tuple(case.representation.names[j] for j in chosen[:MAX_NAMED_PARTS]), tuple(shown),
            tuple(each.explained[m] for m in shown), _view_of(case.clean()), each.made.sounds,
        )  # fmt: skip


def _view_of(representation: Any) -> View | None:
    return representation.view if isinstance(representation, Viewable) else None


def _plain_label(label: Any) -> int | str:
    return label if isinstance(label, int) else str(label)


def _write_title(plan: VeracityPlan) -> str:
    m, n, c = len(plan.methods), len(plan.aim), len(plan.causes)
    kind = type(plan.aim.represent).__name__
    return (
        f"{m} method{'s' * (m > 1)} on {c} kind{'s' * (c > 1)} of known causes in {n} instance{'s' * (n > 1)} "
        f"({kind})"
    )


def _veracity_recipe(plan: VeracityPlan) -> dict[str, Any]:
    seed: Seed = plan.seed
    return {
        "veridical": VERSION,
        "methods": {name: describe(method) for name, method in plan.methods.items()},
        "causes": {name: describe(kind) for name, kind in plan.causes.items()},
        "threshold": plan.aim.decision.threshold,
        "represent": name_of(type(plan.aim.represent)),
        "rng": {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)},
    }


def _write_notes(plan: VeracityPlan, by_cause: Mapping[str, Sequence[CauseOutcome]]) -> tuple[str, ...]:
    notes = [f"{each}." for each in _count_causes(by_cause)]
    n, needed = len(plan.aim), min_instances(len(list_row_pairs(plan)))
    if n < needed:
        notes.append(f"{n} instances are too few to separate rows: at least {needed} are needed.")
    if plan.left_out:
        some = "1 instance" if plan.left_out == 1 else f"{plan.left_out} instances"
        notes.append(f"Left out: {some} that the model decides wrongly by itself.")
    return tuple(notes)


def _count_causes(by_cause: Mapping[str, Sequence[CauseOutcome]]) -> list[str]:
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


def _note_same_decision(plan: VeracityPlan) -> list[str]:
    """A note if all instances are decided alike, with the outputs."""
    aim, n = plan.aim, len(plan.aim)
    if len(set(aim.labels.tolist())) > 1 or n == 1:
        return []
    labels = list_labels(aim.model, aim.outputs.shape[1])
    own = aim.outputs[:, -1 if len(labels) == 2 else aim.labels[0]]
    rule = "" if aim.decision.threshold is None else f", by the threshold {aim.decision.threshold:g}"
    said = f"all {n} instances are decided as {labels[aim.labels[0]]}{rule}"
    return [f"{said}, from outputs of {own.min():.3g} to {own.max():.3g}"]


def _join_failures(plan: VeracityPlan, found: Sequence[CauseOutcome]) -> str:
    """Why no method explains anything."""
    said = [
        f"{name}: {each.reasons['mean flip', name]}"
        for name in plan.methods
        for each in found
        if ("mean flip", name) in each.reasons
    ]
    return "; ".join(dict.fromkeys(said))


MIN_CAUSES = 8  # causes, below which nothing can be said
CANDIDATES_PER_CAUSE = 3  # instances that a cause is looked for in, for each that is explained
ROWS_PER_CAUSE = 8  # rows of a table, for the same
CHECK_EPS = 0.5  # of a small change: standard deviations of the instances
CHECK_CONFIDENCE = 0.9  # and the wrong label's output
N_SPREAD = 50  # instances whose standard deviation it is
MAX_EVIDENCE = 3  # explanations that are evidence
MAX_WORST_ROWS = 10  # rows of the data that are named
MAKE, CASE, SHUFFLE = range(3)  # what seeds are for
HIGHER_LINE = "how much higher the changed feature ranks for the wrong label than for the right one"
FIRST_LINE, FLIP_LINE = "changed feature named first", "decisions flipped by the heaviest features, mean over k"


@dataclass(frozen=True, eq=False)
class ExplainedCause:
    """One cause, with a method's explanations of the wrong label and of the right one."""

    row: int  # of the subject's X
    case: Case
    wrong: Explanation
    right: Explanation

    @property
    def effects(self) -> tuple[Floats, Floats]:
        """What each feature adds for the wrong label, and for the right one."""
        return self.case.effects(self.wrong), self.case.effects(self.right)

    @property
    def order(self) -> Ints:
        """Features as the explanation of the wrong label ranks them."""
        return rank_parts(self.effects[0], self.case.seed)

    def first(self, order: Ints) -> float:
        """1 if the first feature is guilty."""
        assert self.case.guilty is not None
        return float(self.case.guilty[order[0]])

    def flips(self, order: Ints) -> float:
        """The share of all k at which the first k features flip the decision."""
        return float(self.case.flips(mask_first(order))[1:].mean())

    def higher(self, wrong: Floats, right: Floats) -> float:
        """How much higher the guilty features stand by some weights than by others: −1 (last) to 1 (first).

        Where they stand is the chance that a guilty feature has more weight than another one, ties half.
        """
        assert self.case.guilty is not None
        return auroc(wrong, self.case.guilty)[0] - auroc(right, self.case.guilty)[0]


def veracity(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the explanation name what was changed to make the model decide wrongly?

    One feature of each instance gets other content (another instance's, another word, another row's value) until
    the model decides otherwise. Observed is how much higher this feature stands in the explanation of the wrong
    label than in that of the right one: 0 for anything that does not query the model. The check passed if it is
    clearly more. Methods that ask where a small change acts are tested with small changes that may be anywhere:
    the features of largest weight must flip more decisions than orders that do not query the model.
    """
    seed = seed_of(rng)
    some, notes = _explain_causes(method, subject, seed)
    rivals = _order_without_model(some, TypicalInstance.of(subject.X))
    if some[0].case.guilty is None:
        return _judge_small_changes(some, rivals, notes, generator(seed, SHUFFLE))
    values = np.array([each.higher(*each.effects) for each in some])
    mean, low, high = clip_interval(values)
    first = np.array([each.first(each.order) for each in some])
    got = {row: _mean_over(some, orders, ExplainedCause.first) for row, orders in rivals.items()}
    blind = _draw_blind_weights(some, generator(seed, SHUFFLE))
    nulls = {
        row: float(np.mean([each.higher(*own) for each, own in zip(some, weights, strict=True)]))
        for row, weights in blind.items()
    }
    lines = (
        Measured(HIGHER_LINE, mean, low, high, len(some), nulls),
        Measured(FIRST_LINE, *mean_rate(first), len(some), got),
    )
    outcome, worst = judge_above(low, high, 0.0), np.argsort(values, kind="stable")
    return Verdict(
        outcome == "passed", mean, 0.0, _write_edit_sentence(outcome, mean, lines[1]), label=outcome,
        measured=HIGHER_LINE, better="higher", interval=(low, high), nulls=nulls,
        measures=lines, evidence=tuple(some[i].wrong for i in worst[:MAX_EVIDENCE]),
        rows=tuple(some[i].row for i in worst[:MAX_WORST_ROWS] if values[i] <= 0), notes=notes,
    )  # fmt: skip


def _judge_small_changes(
    some: Sequence[ExplainedCause],
    rivals: Mapping[str, Sequence[Ints]],
    notes: tuple[str, ...],
    rng: np.random.Generator,
) -> Verdict:
    """Judge a method that asks where a small change acts."""
    values = np.array([each.flips(each.order) for each in some])
    others = {row: np.array([n.flips(o) for n, o in zip(some, each, strict=True)]) for row, each in rivals.items()}
    got = {row: float(each.mean()) for row, each in others.items()}
    ahead = [interval(values - each) for each in others.values()]
    found = [judge_above(low, high, 0.0) for _, low, high in ahead]
    outcome = next((each for each in ("failed", UNCLEAR) if each in found), "passed")
    mean, low, high = clip_interval(values)
    nulls = {
        row: _mean_over(
            some, [rank_parts(own[0], each.case.seed) for each, own in zip(some, weights, strict=True)],
            ExplainedCause.flips,
        )
        for row, weights in _draw_blind_weights(some, rng).items()
    }  # fmt: skip
    lines = (Measured(FLIP_LINE, mean, low, high, len(some), nulls), *(
        Measured(f"{row} order, no model", *clip_interval(each), len(some)) for row, each in others.items()
    ))  # fmt: skip
    return Verdict(
        outcome == "passed", mean, max(got.values()), _write_attack_sentence(outcome, mean, got), label=outcome,
        measured=FLIP_LINE, better="higher", interval=(low, high), nulls=nulls, measures=lines,
        evidence=tuple(some[i].wrong for i in np.argsort(values, kind="stable")[:MAX_EVIDENCE]), notes=notes,
    )  # fmt: skip


def judge_above(low: float, high: float, limit: float) -> str:
    """The outcome of a check whose number is to be above a limit, by its interval."""
    return "passed" if low > limit else UNCLEAR if high > limit else "failed"


def _mean_over(
    some: Sequence[ExplainedCause], orders: Sequence[Ints], measure: Callable[[ExplainedCause, Ints], float]
) -> float:
    """The mean of a measure of one order per cause."""
    return float(np.mean([measure(each, order) for each, order in zip(some, orders, strict=True)]))


def clip_interval(values: Floats) -> tuple[float, float, float]:
    """The mean of numbers from −1 to 1, and its interval within this range."""
    mean, low, high = (float(each) for each in np.clip(interval(values), -1, 1))
    return mean, low, high


def _explain_causes(method: Method, subject: Subject, seed: Seed) -> tuple[list[ExplainedCause], tuple[str, ...]]:
    """Causes that were found in some instances, and the explanations of what came of them."""
    instances = subject.representer.each(subject.X)
    first = instances.batch(0, 1)[0]
    candidates = ROWS_PER_CAUSE if default_causes(subject.checked_model, first) == TABLES else CANDIDATES_PER_CAUSE
    rows = np.sort(draw_order(len(instances), seed)[: candidates * MAX_SAMPLED_INSTANCES])
    try:
        aim = choose_aim(subject.checked_model, subject.representer, rows_at(subject.X, rows))
    except InputError as wrong:
        raise NotApplicable(f"the model's decisions are not known: {wrong}") from wrong
    kind = _choose_kind(method, subject, first)
    try:
        causes = kind(aim, child_of(seed, MAKE))
    except InputError as unfit:
        raise NotApplicable(f"no feature of these instances can be changed alone: {unfit}") from unfit
    found, why = list[ExplainedCause](), ""
    for i, cause in enumerate(causes):
        if not cause.success or len(found) == MAX_SAMPLED_INSTANCES:
            why = why or cause.reason
            continue
        try:
            model = subject.checked_model
            case = Case.of(cause, subject.representer, (model, aim.decision), child_of(seed, CASE, i))
            if case.d < 2:
                raise InputError("an instance has only one feature, so there is nothing to compare it with")
        except InputError as unfit:
            why = why or str(unfit)
            continue
        targets = [case.target, aim.decision.target(cause.label, aim.outputs.shape[1])]
        made = check_explanations(
            method(subject.checked_model, case.representation, targets, case.child(FIRST_TIME)), 2
        )
        found.append(ExplainedCause(int(rows[i]), case, *map(check_explanation, made)))
    if len(found) < MIN_CAUSES:
        more = "give more instances" if len(rows) == len(instances) else "this model's decisions are hard to turn"
        raise NotApplicable(
            f"a wrong decision could be caused in {len(found)} of {len(rows)} instances, and {MIN_CAUSES} are "
            f"needed: {more} ({why or 'that is all there are'})"
        )
    said = f"{len(found)} causes of the kind {type(kind).__name__} were explained, of {len(rows)} instances."
    return found, (said,)


def _choose_kind(method: Method, subject: Subject, representation: Any) -> Any:
    """The kind of cause that fits a method: other content, or a small change if it asks for that."""
    names = default_causes(subject.checked_model, representation)
    kind: Any = CAUSES[names[0]]
    if names not in (TEXTS, TABLES):
        if purpose_of(method) == "change":
            spread = float(np.std(np.asarray(subject.representer.each(subject.X).inputs(0, N_SPREAD))))
            return kind(eps=CHECK_EPS * (spread or 1.0), confidence=CHECK_CONFIDENCE)
        kind = CAUSES["swapped_parts"]
    return kind(confidence=EDIT_CONFIDENCE)  # accepted as soon as it turns the decision


def _order_without_model(some: Sequence[ExplainedCause], typical: TypicalInstance) -> dict[str, list[Ints]]:
    """Orders that do not query the model, one per case."""
    found: dict[str, list[Ints]] = {}
    for each in some:
        for row, order in model_free_orders(each.case, typical).items():
            if not isinstance(order, str):
                found.setdefault(row, []).append(order)
    return {row: orders for row, orders in found.items() if len(orders) == len(some)}


def _draw_blind_weights(
    some: Sequence[ExplainedCause], rng: np.random.Generator
) -> dict[str, list[tuple[Floats, Floats]]]:
    """Weights for both labels that know nothing of the case: constant, random, shuffled, another case's."""
    found: dict[str, list[tuple[Floats, Floats]]] = {CONSTANT: [], NOISE: [], SHUFFLED: [], ANOTHER: []}
    for i, each in enumerate(some):
        own, d, other = each.effects, each.case.d, some[i - 1]
        found[CONSTANT].append((np.zeros(d), np.zeros(d)))
        found[NOISE].append((rng.random(d), rng.random(d)))
        found[SHUFFLED].append((rng.permutation(own[0]), rng.permutation(own[1])))
        found[ANOTHER].append(other.effects if other.case.d == d else found[SHUFFLED][-1])
    return found


def _write_edit_sentence(outcome: str, mean: float, first: Measured) -> str:
    named = f"it is the first feature in {100 * first.value:.0f} % of the cases ({_list_model_free(first.nulls)})"
    far = f"by {100 * mean:.0f} % of the other features"
    if outcome == "passed":
        return (
            "The explanation names what made the model decide wrongly: the changed feature ranks higher for the "
            f"wrong label than for the right one, {far}; {named}."
        )
    if outcome == UNCLEAR:
        return (
            "It is not clear whether the explanation names what made the model decide wrongly: the changed feature "
            f"ranks higher for the wrong label than for the right one {far}, which may be chance; {named}."
        )
    return (
        "The explanation does not name what made the model decide wrongly: the changed feature ranks no higher for "
        f"the wrong label than for the right one ({far}); {named}."
    )


def _write_attack_sentence(outcome: str, mean: float, got: Mapping[str, float]) -> str:
    verb = {
        "passed": "shows where a small change acts",
        UNCLEAR: "may show where a small change acts, or not: that is not clear",
    }.get(outcome, "does not show where a small change acts")
    return (
        f"The explanation {verb}: its heaviest features flip the decision at {100 * mean:.0f} % of all numbers of "
        f"features ({_list_model_free(got)})."
    )


def _list_model_free(got: Mapping[str, float]) -> str:
    return (
        "orders that do not query the model: "
        f"{', '.join(f'{row} {100 * value:.0f} %' for row, value in got.items())}"
    )
