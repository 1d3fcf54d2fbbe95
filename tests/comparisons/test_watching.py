"""Watching: what changed between two sets of explanations is found, and what did not is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import veridical as vd
from veridical.comparisons import watching
from veridical.comparisons.watching import IMPORTANCE, LEAD, VERDICT_LABEL, Drift, watch
from veridical.records import Explanation, Explanations, Failure

NAMES = ["age", "debt", "height", "income"]
PAIRS = 80


@cache
def made_up(seed: int, n: int = 60, slopes: Any = (2.0, 1.0, 0.5, 0.0), noise: float = 0.0) -> Explanations:
    """Explanations of a sum, whose weights carry noise that all rows share, and intervals that say so."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(slopes)))
    weights = X * np.array(slopes) + noise * rng.normal(size=len(slopes))
    ends = weights[..., None] + 1.96 * noise * np.array([-1.0, 1.0])
    found = vd.attributions(
        NAMES[: len(slopes)],
        weights,
        intercept=0.0,
        values=X,
        rows=[f"{seed}-{i}" for i in range(n)],
        intervals=ends,
    )
    assert isinstance(found, Explanations)
    return found


def renamed(many: Explanations) -> Explanations:
    """The same rows under names that two nights share."""
    return Explanations(tuple(replace(e, row=f"row {i}") for i, e in enumerate(many)))


def alarms(noise: float = 0.2) -> int:
    """How often two nights without a change are told apart."""
    return sum(
        not watch(made_up(2 * i, noise=noise), made_up(2 * i + 1, noise=noise), tolerance=0.0).verdict.passed
        for i in range(PAIRS)
    )


def test_nights_without_a_change_are_told_apart_in_1_of_20_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert alarms() <= PAIRS * 0.05 + 2 * np.sqrt(PAIRS * 0.05 * 0.95)
    monkeypatch.setattr(watching, "adjust_holm", lambda p: p)  # a saboteur: each number by itself
    assert alarms(0.0) > PAIRS * 0.15


def test_noise_that_rows_share_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "WIDTH", 1e9)  # a saboteur: weights without noise
    assert alarms() > PAIRS * 0.2


@pytest.mark.parametrize("paired", [False, True])
def test_a_column_that_counts_no_more_is_found(paired: bool) -> None:
    old, new = made_up(0), made_up(0 if paired else 1, slopes=(0.0, 1.0, 0.5, 2.0))
    if paired:
        old, new = renamed(old), renamed(new)
    found = watch(old, new, names=("old", "new"))
    assert (found.verdict.label, found.verdict.passed, found.n_pairs) == ("different", False, 60 * paired)
    assert {name for kind, name, _ in found.top(99) if kind == IMPORTANCE} == {"age", "income"}
    assert {name for kind, name, _ in found.top(99) if kind == LEAD} == {"age", "income"}
    assert "income counts more" in found.verdict.sentence or "age counts less" in found.verdict.sentence
    assert len(found.verdict.sentence.split()) <= 25


def test_rows_are_paired_by_name_in_any_order() -> None:
    old, new = renamed(made_up(0)), renamed(made_up(0, slopes=(2.0, 1.0, 0.6, 0.0)))
    found, mixed = watch(old, new), watch(old, new[::-1])
    assert found.n_pairs == mixed.n_pairs == 60
    np.testing.assert_allclose(found.values, mixed.values)
    np.testing.assert_allclose(found.p, mixed.p)
    assert found.changed.any()
    apart = watch(old, Explanations(tuple(replace(e, row=f"other {e.row}") for e in new)))
    assert apart.n_pairs == 0
    assert not apart.changed.any()  # so little shows among rows that differ more


def test_numbers_are_no_names_of_the_same_rows() -> None:
    old, new = (Explanations(tuple(replace(e, row=None) for e in made_up(seed))) for seed in (0, 1))
    assert watch(old, new).n_pairs == 0
    assert watch(old, Explanations(old.items)).n_pairs == 60


def test_what_is_below_the_tolerance_is_no_change() -> None:
    old, new = renamed(made_up(0)), renamed(made_up(0, slopes=(2.0, 1.0, 0.51, 0.0)))
    assert not watch(old, new, tolerance=0.0).verdict.passed
    assert watch(old, new).verdict.passed


def test_shares_of_labels_and_of_failures() -> None:
    old = made_up(0, 200)
    rough = replace(old[0].verdict, label="none")
    new = Explanations(tuple(replace(e, verdict=rough) if i % 3 else e for i, e in enumerate(made_up(1, 200))))
    found = watch(old, new)
    at = found.names.index("none")
    assert found.kinds[at] == VERDICT_LABEL
    np.testing.assert_allclose(found.values[at], [0, 133 / 200])
    assert found.changed[at]
    failures = tuple(_failure(i) for i in range(60))
    lost = watch(old, Explanations(made_up(2, 140).items, failures))
    assert lost.n_failed == (0, 60)
    assert lost.changed[lost.names.index("failed")]


def _failure(i: int) -> Failure:
    return Failure(f"failed {i}", i, "no answer")


def test_importance_is_that_of_the_record() -> None:
    old, new = made_up(0), made_up(1)
    found, known = watch(old, new), old.importance()
    own = {
        name: v
        for kind, name, v in zip(found.kinds, found.names, found.values[:, 0], strict=True)
        if kind == IMPORTANCE
    }
    assert own == pytest.approx(dict(zip(known.columns[:3], known.importance[:3], strict=True)))


def test_a_feature_that_was_not_tested_is_left_out() -> None:
    old = made_up(0)
    gone = Explanations(
        tuple(replace(e, weights=np.where([True, False, False, False], np.nan, e.weights)) for e in old)
    )
    found = watch(old, Explanations((*gone[:30].items, *old[30:].items)))
    at = list(zip(found.kinds, found.names, strict=True)).index((IMPORTANCE, "age"))
    np.testing.assert_allclose(found.values[at, 1], np.mean([abs(e.weights[0]) for e in old[30:]]))


BAD: dict[str, tuple[Callable[[Explanations], Any], str]] = {
    "columns": (
        lambda m: _with(m, parts=vd.attributions(["q", "r", "s", "t"], [1, 2, 3, 4]).parts),
        "share no column",
    ),
    "targets": (lambda m: _with(m, target="no"), "give both the same target"),
    "methods": (lambda m: _with(m, recipe={"method": {"name": "Occlusion"}}), "do not mean the same"),
    "scale": (lambda m: _with(m, scale="log-odds"), "on one scale"),
    "probabilities": (lambda m: _with(m, prediction=0.5), "a probability"),
    "few": (lambda m: m[:5], "at least 20"),
    "empty": (lambda m: Explanations(()), "at least 20"),
    "failed": (lambda m: Explanations((), tuple(_failure(i) for i in range(9))), "9 rows failed"),
    "several methods": (
        lambda m: Explanations((*m[:30].items, *_with(m[30:], recipe={"method": {"name": "Undo"}}).items)),
        "several ways",
    ),
    "one": (lambda m: m[0], "wants many explanations"),
    "a path": (lambda m: "store", "vd.load"),
    "views": (
        lambda m: _with(m, view=vd.records.View("text", {"text": "a", "spans": np.zeros((0, 3), int)})),
        "row",
    ),
}


def _with(many: Explanations, **fields: Any) -> Explanations:
    return Explanations(tuple(replace(e, **fields) for e in many))


@pytest.mark.parametrize("case", list(BAD))
def test_what_cannot_be_compared_is_refused(case: str) -> None:
    change, said = BAD[case]
    with pytest.raises(vd.VeridicalError, match=said):
        watch(made_up(0), change(made_up(1)))


def test_bad_arguments_are_refused() -> None:
    for wrong, said in (
        ({"names": ("a",)}, "two different texts"),
        ({"names": ("a", "a")}, "two different texts"),
        ({"tolerance": 1.5}, "a share"),
        ({"tolerance": "x"}, "number"),
    ):
        with pytest.raises(vd.VeridicalError, match=said):
            watch(made_up(0), made_up(1), **wrong)


def test_a_drift_is_shown_saved_and_read_back(tmp_path: Path) -> None:
    found = watch(made_up(0), made_up(1, slopes=(0.0, 1.0, 0.5, 2.0)), names=("Monday", "Tuesday"))
    text = str(found)
    assert "≠ different" in text
    assert "importance by column, Monday and Tuesday" in text
    assert "is the heaviest column of" in text
    for suffix in ("html", "csv", "parquet", "json"):
        found.save(tmp_path / f"drift.{suffix}")
    again = vd.load(tmp_path / "drift.json")
    assert isinstance(again, Drift)
    assert again.top() == found.top()
    assert again.to_frame().equals(found.to_frame())
    found.save(tmp_path / "drift.xml")
    suite = ElementTree.parse(tmp_path / "drift.xml").getroot()[0]
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert suite.get("tests") == str(len(found.names))
    assert failed == [name for name, changed in zip(found.names, found.changed, strict=True) if changed]


def test_weights_without_predictions_or_intervals_are_watched() -> None:
    bare = vd.attributions(["age", "debt"], np.random.default_rng(0).normal(size=(60, 2)))
    found = watch(bare, made_up(1, slopes=(1.0, 1.0)))
    assert found.verdict.passed
    assert any("was not measured" in note for note in found.notes)
    assert not watch(made_up(0), made_up(1)).notes


def test_a_store_and_a_file_are_watched_alike(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    quick, rows = vd.Lime(n_samples=128, surrogate=vd.surrogates.Linear()), vd.Rows(X, names=NAMES[:3])

    def night(part: Any, folder: str, rng: int) -> Any:
        return vd.explain_many(lambda X: X[:, 0], rows, part, method=quick, store=tmp_path / folder, rng=rng)

    old, new = night(X[:30], "old", 0), night(X[30:], "new", 1)
    found = watch(old, new)
    new[:].save(tmp_path / "new.parquet")
    again = watch(old[:], vd.load(tmp_path / "new.parquet"))
    np.testing.assert_array_equal(found.values, again.values)
    np.testing.assert_array_equal(found.p, again.p)
    assert isinstance(old[0], Explanation)
