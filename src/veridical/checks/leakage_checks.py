"""Does the model use a shortcut that nobody named? Columns, words, places of texts and windows of pictures.

Candidates are what changes most answers when it is replaced, and what explanations weigh most. That a model leans
on one feature is no fault: what tells a leak from a strong feature is that within a class nothing else foretells it,
or that it repeats as nothing natural does. What is left is a question to whoever made the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from veridical.checks.answers import name_class
from veridical.checks.leaking_columns import MIN_ROWS, MIN_USED, search_columns
from veridical.checks.leaking_windows import search_windows
from veridical.checks.leaking_words import search_words
from veridical.checks.subjects import Cases, Rng, Subject, build_cases, count_affordable, explain_rows
from veridical.checks.suspects import Material, Suspect, collect
from veridical.errors import NotApplicable, VeridicalError
from veridical.metrics.weights import has_weight
from veridical.models.validation import seed_of
from veridical.protocols import Method, Seed, Viewable
from veridical.records import Explanation, Measured, Verdict
from veridical.representations.regions import is_tensor
from veridical.seeds import child_of

MAX_ASKED = 400  # rows that the model is asked about again and again
MAX_NAMED = 3  # suspects that the sentence names
MAX_SHOWN_COLUMNS = 5  # columns that all rows share that a note names
N_EVIDENCE = 3
SEARCH, EVIDENCE = range(2)  # what seeds are for
QUESTIONS = {
    "column": "Was it known when the prediction is to be made?",
    "word": "Does it come from what the texts say, or from where they were collected?",
    "place": "What stands there, and will it stand there in texts to come?",
    "window": "Who put it there, and will it be in pictures to come?",
    "tile": "What is there, and is it part of what the pictures show?",
}
USED = {  # what is measured of each kind
    "column": "share of answers that change when it is redrawn",
    "word": "share of answers that change without it",
    "place": "share of answers that change without it",
    "window": "share of answers that change with it, or without",
    "tile": "share of other pictures that it turns into its class",
}


def leakage(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model use a shortcut that nobody named: a column, word, place or window that gives the answer away?"""
    seed = seed_of(rng)
    kind = _kind_of(subject)
    material = collect(subject, child_of(seed, SEARCH), MAX_ASKED)
    explained = _explain(method, subject, seed)
    weights = _sum_weights(explained)
    if kind == "table":
        found = search_columns(material, weights, child_of(seed, SEARCH))
    elif not material.has_labels or not material.right.n_classes:
        raise NotApplicable(
            "shortcuts in texts and pictures are looked for among classes: give y, or training=(X_train, y_train)"
        )
    elif kind == "text":
        found = search_words(material, weights, child_of(seed, SEARCH))
    else:
        found = search_windows(material, child_of(seed, SEARCH))
    return _judge(method, material, (kind, found), explained, seed)


def _kind_of(subject: Subject) -> str:
    """What the instances are, as far as it decides what is looked for."""
    instances = subject.representer.each(subject.X)
    inputs, first = instances.inputs(0, 1), instances.batch(0, 1)[0]
    view = first.view if isinstance(first, Viewable) else None
    if isinstance(inputs, list) and isinstance(inputs[0], str):
        return "text"
    if view is None and (
        isinstance(inputs, pd.DataFrame) or (isinstance(inputs, np.ndarray) and inputs.ndim == 2)
    ):
        return "table"
    array = is_tensor(inputs) or (isinstance(inputs, np.ndarray) and inputs.dtype.kind in "biuf")
    if view is not None and view.kind == "picture" and array and inputs.ndim in (3, 4):
        return "picture"
    raise NotApplicable(
        "shortcuts that nobody named are looked for in tables, texts and pictures of one size; name what is suspect by "
        "region=…"
    )


def _explain(method: Method, subject: Subject, seed: Seed) -> tuple[Explanation, ...]:
    """Explanations of some instances: what they weigh most is looked at, too."""
    instances = subject.representer.each(subject.X)
    try:
        rows = np.arange(min(count_affordable(method, instances), len(instances)))
        cases: Cases = build_cases(method, subject, rows, child_of(seed, EVIDENCE))
        return cases.explain()
    except VeridicalError:  # an instance that cannot be explained is no reason not to search
        return ()


def _sum_weights(explained: tuple[Explanation, ...]) -> dict[str, float]:
    """Sizes of weights by column or word, in the mean over explanations."""
    found: dict[str, float] = {}
    for each in explained:
        if has_weight(each):
            total = float(np.nansum(np.abs(each.weights)))
            for part, weight in zip(each.parts, np.nan_to_num(np.abs(each.weights)), strict=True):
                found[part.column or part.name] = found.get(part.column or part.name, 0.0) + float(weight) / total
    return {name: value / len(explained) for name, value in found.items()}


def _judge(
    method: Method,
    material: Material,
    searched: tuple[str, list[Suspect]],
    explained: tuple[Explanation, ...],
    seed: Seed,
) -> Verdict:
    kind, found = searched
    order = sorted(found, key=lambda each: (each.label != "failed", -each.used))
    outcome = order[0].label if order else "passed"
    noun = {"table": "column", "text": "word or place", "picture": "window or tile"}[kind]
    notes = [*_note_shared(material, kind), *_note_rows(material)]
    if not order:
        sentence = (
            f"None found: no {noun} of {len(material.rows)} instances both gives the answer away by itself and is used. "
            "That is no proof that there is none."
        )
    else:
        sentence = " ".join(_tell(material, each) for each in order[:MAX_NAMED] if each.label == outcome)
    worst = order[0] if order else None
    rows = () if material.from_training else tuple(dict.fromkeys(row for each in order for row in each.rows))
    evidence = explained[:N_EVIDENCE]
    if rows:
        try:
            evidence = explain_rows(
                method, material.subject, np.array(rows[:N_EVIDENCE]), child_of(seed, EVIDENCE, 1)
            )
        except VeridicalError:
            evidence = explained[:N_EVIDENCE]
    used = 0.0 if worst is None else worst.used
    n = len(material.rows)
    half = 1.96 * float(np.sqrt(used * (1 - used) / n)) if 0 <= used <= 1 else 0.0
    limit, lines = MIN_USED if kind == "table" else 0.0, [line for each in order for line in _lines(each)]
    return Verdict(
        outcome == "passed", used, limit, sentence, label=outcome,
        interval=(max(used - half, 0.0), min(used + half, 1.0)),
        measures=tuple(lines) or (Measured("suspects", 0.0, n=n),), rows=rows, evidence=evidence, notes=tuple(notes),
        measured=USED[worst.kind] if worst else "suspects", better="lower",
        advice=QUESTIONS[worst.kind] if worst else "",
    )  # fmt: skip


def _tell(material: Material, each: Suspect) -> str:
    """A suspect in words: what it is, its numbers, and what to ask."""
    tellers = {
        "column": _tell_column,
        "word": _tell_word,
        "place": _tell_place,
        "window": _tell_window,
        "tile": _tell_tile,
    }
    return f"{tellers[each.kind](material, each)} {QUESTIONS[each.kind]}"


def _tell_column(material: Material, each: Suspect) -> str:
    fell = (
        ""
        if np.isnan(each.right)
        else f" and right answers fall from {each.right:.0%} to {each.right_without:.0%}"
    )
    said = f"The model leans on “{each.name}”: redrawn, {each.used:.0%} of its answers change{fell}"
    if each.reason == "leans":
        return f"{said}. It is not unrelated to the other columns, as causes often are: that is no sign of a leak."
    alone = f"by itself it tells {each.column_alone:.0%}, all others together {each.rest:.0%}"
    if each.reason == "as good as the answer":
        return f"{said}; {alone}: it is as good as the answer."
    few = (
        f" With {len(material.labels):,} labeled rows (of {MIN_ROWS:,}) that may be chance."
        if each.reason == "few rows"
        else ""
    )
    return (
        f"{said}; {alone}. Within a class nothing else foretells it (r = {each.own:.2f}): columns that were written after "
        f"the outcome look like this, and so does a cause that is unrelated to the others.{few}"
    )


def _tell_word(material: Material, each: Suspect) -> str:
    own = name_class(material.right.classes, each.of_class)
    return (
        f"The model uses the word “{each.name}”, which is in {each.often[0]:.0%} of the texts of {own} and in "
        f"{each.often[1]:.1%} of all others; the other words do not foretell it (AUROC {each.own:.2f}), as those of a "
        "topic do."
    )


def _tell_place(material: Material, each: Suspect) -> str:
    return (
        f"The model leans on {each.name}: with it alone {each.right_alone:.0%} of its answers are right, with all else "
        f"{each.right_without:.0%}, and {each.right:.0%} as they are."
    )


def _tell_window(material: Material, each: Suspect) -> str:
    own = name_class(material.right.classes, each.of_class)
    return (
        f"{each.name.capitalize()} is exactly the same in {each.often[0]:.0%} of the pictures of {own} and in "
        f"{each.often[1]:.0%} of all others, and the model uses it: up to {each.used:.0%} of its answers change with it."
    )


def _tell_tile(material: Material, each: Suspect) -> str:
    own = name_class(material.right.classes, each.of_class)
    return (
        f"{each.name.capitalize()} of pictures of {own} turns {each.used:.0%} of other pictures into that class, whatever "
        "else they show."
    )


def _lines(each: Suspect) -> list[Measured]:
    """The numbers of a suspect."""
    what = f"“{each.name}”" if each.kind in ("column", "word") else each.name
    known = {
        USED[each.kind]: each.used,
        "right answers as they are": each.right,
        "right answers without it": each.right_without,
        "right answers with it alone": each.right_alone,
        "right answers of a quick model of it alone": each.column_alone,
        "right answers of a quick model of all else": each.rest,
        "how well the rest foretells it within a class": each.own,
        "share of its class that has it": each.often[0],
        "share of others that have it": each.often[1],
        "share of the explanations' weight": each.share if each.kind == "word" else np.nan,
    }
    return [Measured(f"{what}: {name}", float(value)) for name, value in known.items() if np.isfinite(value)]


def _note_shared(material: Material, kind: str) -> list[str]:
    """What all rows share cannot be tested by redrawing it."""
    if kind == "picture":
        return []
    if kind == "text":
        return []
    table: Any = material.pool_inputs
    columns = [table.iloc[:, j] if hasattr(table, "iloc") else table[:, j] for j in range(table.shape[1])]
    names = (
        [str(c) for c in table.columns] if hasattr(table, "columns") else [f"x{j}" for j in range(table.shape[1])]
    )
    same = [
        f"“{name}”" for name, column in zip(names, columns, strict=True) if len(pd.unique(np.asarray(column))) < 2
    ]
    if not same:
        return []
    some = ", ".join(same[:MAX_SHOWN_COLUMNS]) + (
        f" and {len(same) - MAX_SHOWN_COLUMNS} more" if len(same) > MAX_SHOWN_COLUMNS else ""
    )
    return [
        f"All rows have the same in {some}: whether the model uses it cannot be tested on them; give rows that differ "
        "there, such as training=(X_train, y_train)."
    ]


def _note_rows(material: Material) -> list[str]:
    notes = [
        f"{len(material.rows):,} instances were asked about, and {len(material.labels):,} labeled ones looked at."
    ]
    if not material.has_labels:
        notes.append("Without right answers it is only known what the model leans on: give y, or training=(X, y).")
    return notes
