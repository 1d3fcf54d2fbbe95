"""Groups that were saved assign instances as before, bit for bit; what a file cannot hold is said."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import GenericAlias
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders import explanations as made
from tests.builders import group_cases as cases
from tests.builders.pages import exact
from veridical.records import Explanation, Floats, Ints, Part, Record, Verdict
from veridical.representations.spaces import space_of
from veridical.storage.codec import (
    KNOWN,
    STRICT,
    Pool,
    codec_of,
    pack_object,
    pack_record,
    unpack_object,
    unpack_record,
)
from veridical.summaries.groupings.gates import Centers, Nearest, Overlap, Size, Softmax, Sphere, TreeGate
from veridical.summaries.groupings.groups import Grouping

pytest.importorskip("pyarrow")

FORMATS = (".json", ".parquet")
RNG = np.random.default_rng(0)


def mixed(n: int = 60) -> pd.DataFrame:
    """Every type of column that a table of ours may have, with gaps."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 400, n), "D")
    columns: dict[Any, Any] = {
        "float": RNG.normal(size=n),
        "single": RNG.normal(size=n).astype(np.float32),
        "gaps": np.where(RNG.random(n) < 0.2, np.nan, RNG.normal(size=n)),
        "whole": RNG.integers(0, 50, n),
        "pair": RNG.integers(0, 2, n).astype(bool),
        "text": RNG.choice(["a", "=b", "<c>", "\u202ed"], n),
        "kind": pd.Categorical(RNG.choice(["x", "y", "z"], n), categories=["z", "y", "x", "w"], ordered=True),
        "cut": pd.cut(RNG.normal(size=n), [-9, -1, 0, 1, 9]),
        "Int": pd.array(np.where(RNG.random(n) < 0.2, None, RNG.integers(0, 9, n)), dtype="Int64"),
        "string": pd.array(RNG.choice(["p", "q"], n), dtype="string"),
        "object": pd.Series(RNG.choice(np.array([1, "1", 2.5], dtype=object), n), dtype=object),
        "day": days,
        "zone": days.tz_localize("Europe/Berlin"),
        "length": pd.to_timedelta(RNG.integers(0, 99, n), "h"),
        7: RNG.normal(size=n),
    }
    return pd.DataFrame(columns)


TABLE = mixed()
TEXTS = [f"{'good' if i % 2 else 'bad'} film {i % 7}" for i in range(40)]
COUNTS = csr_matrix(np.where(RNG.random((40, 9)) < 0.3, RNG.integers(1, 5, (40, 9)), 0) + np.eye(1, 9))


def gates(d: int, k: int, rows: Any) -> list[Any]:
    """One of every kind."""
    slopes, groups = RNG.normal(size=(k, d)), RNG.integers(0, k, rows.shape[0])
    leaves = TreeGate(np.array([d - 1, -1, -1]), np.zeros(3), np.array([[1, 2], [0, 0], [1, 1]]), k)
    return [
        Softmax(slopes, RNG.normal(size=k)),
        Softmax(slopes, RNG.normal(size=k), 1.5),
        Sphere(slopes, 3.0),
        Centers(slopes, True),
        Overlap(slopes),
        Size(slopes),
        Nearest(rows, groups, k),
        leaves,
    ]


def grouping(represent: Any, X: Any, which: int = 0) -> tuple[Grouping, Any]:
    """Groups of instances that nothing was learned from, which is quick."""
    space = space_of(represent, X)
    rows, d = space.rows(space.read(X)), len(space.parts)
    weights = RNG.normal(size=(3, d))
    return replace(
        cases.cars(),
        parts=space.parts,
        weights=weights,
        intervals=np.stack([weights - 1, weights + 1], axis=2),
        space=space,
        gate=gates(d, 3, rows)[which],
    ), X


def saved(record: Any, folder: Path, suffix: str) -> Any:
    record.save(folder / f"file{suffix}")
    return vd.load(folder / f"file{suffix}")


def known(g: Any) -> Any:
    """All of a grouping but what assigns, which is compared by what it says."""
    return exact(replace(g, space=None, gate=None))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("represent", "X"),
    [
        (vd.Rows(TABLE), TABLE),
        (vd.Rows(TABLE, discretize=vd.bins.Continuous(), immutable=["kind"]), TABLE),
        (vd.Rows(TABLE[["float", "gaps"]].to_numpy(), names=["a", "b"]), TABLE[["float", "gaps"]].to_numpy()),
        (vd.Rows(pd.get_dummies(TABLE["text"]), onehot={"t": [0, 1, 2, 3]}), pd.get_dummies(TABLE["text"])),
        (vd.Rows(COUNTS), COUNTS),
        (vd.Words(), TEXTS),
        (vd.Words(split=re.compile(r"\s+", re.IGNORECASE), mask="UNK", positions=True), TEXTS),
    ],
    ids=["table", "numbers", "array", "onehot", "sparse", "words", "pattern"],
)
def test_groups_assign_as_before(represent: Any, X: Any, suffix: str, tmp_path: Path) -> None:
    if isinstance(X, pd.DataFrame) and "gaps" in X and isinstance(represent.discretize, vd.bins.Continuous):
        X = X.dropna().head(30)
    g, X = grouping(represent, X)
    again = saved(g, tmp_path, suffix)
    assert known(again) == known(g)
    assert exact(again.assign(X)) == exact(g.assign(X))
    assert exact(again.predict(X)) == exact(g.predict(X))
    assert repr(again) == repr(g)
    one = X[:1] if hasattr(X, "columns") or hasattr(X, "tocsr") else X[0]
    assert exact(saved(again.explain(one), tmp_path, suffix)) == exact(g.explain(one))


@pytest.mark.parametrize("which", range(8))
@pytest.mark.parametrize(
    ("represent", "X"), [(vd.Rows(TABLE), TABLE), (vd.Words(), TEXTS)], ids=["table", "words"]
)
def test_every_gate_is_kept(represent: Any, X: Any, which: int, tmp_path: Path) -> None:
    g, X = grouping(represent, X, which)
    again = saved(g, tmp_path, ".json")
    assert exact(again.assign(X)) == exact(g.assign(X))
    assert type(again.gate) is type(g.gate)


def test_groups_that_were_learned_are_kept(tmp_path: Path) -> None:
    X = pd.DataFrame({"a": RNG.normal(size=200), "b": RNG.normal(size=200), "kind": RNG.choice(["x", "y"], 200)})
    method = vd.groupings.Mixture(n_starts=1, rounds=4, copies=1, n_neighbors=1)
    g = vd.group(lambda X: np.where(X["a"] > 0, 2 * X["b"], X["a"]), vd.Rows(X), X, k=2, method=method)
    again = saved(g, tmp_path, ".parquet")
    assert known(again) == known(g)
    assert exact(again.assign(X)) == exact(g.assign(X))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "case",
    [cases.cars, cases.emptied, cases.lone, cases.stranger, cases.member, cases.pick, cases.pick_of_two,
     cases.pick_of_targets, cases.pick_of_none, cases.pick_of_nothing, cases.pick_of_strangers],
)  # fmt: skip
def test_every_case_is_saved(case: Any, suffix: str, tmp_path: Path) -> None:
    assert exact(saved(case(), tmp_path, suffix)) == exact(case())


@pytest.mark.parametrize("case", [cases.cars, cases.member, cases.pick])
def test_tables_for_anyone(case: Any, tmp_path: Path) -> None:
    case().save(tmp_path / "t.csv")
    case().save(tmp_path / "t.parquet")
    frame, written = case().to_frame(), pd.read_csv(tmp_path / "t.csv")
    assert list(written.columns) == list(frame.columns)
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == len(written) == len(frame) > 0


class Mine:
    """A gate that is not ours."""

    def __call__(self, rows: Any) -> Any:
        return np.eye(3)[np.zeros(rows.shape[0], int)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: replace(g, gate=Mine()), "told by Mine, which a file cannot hold.*pickle"),
        (lambda g: replace(g, space=replace(g.space, represent=vd.Words(split=str.split))), "told by str.split"),
    ],
)
def test_what_a_file_cannot_hold_is_said(change: Any, words: str, tmp_path: Path) -> None:
    g = change(grouping(vd.Words(), TEXTS)[0])
    for suffix in FORMATS:
        with pytest.raises(vd.errors.InputError, match=words):
            g.save(tmp_path / f"g{suffix}")
    assert not list(tmp_path.iterdir())
    g.save(tmp_path / "g.html")


def test_a_file_makes_nothing_that_is_not_listed(tmp_path: Path) -> None:
    g, _ = grouping(vd.Words(), TEXTS)
    g.save(tmp_path / "g.json")
    text = (tmp_path / "g.json").read_text()
    changed = re.sub(r', "checksum": "\w+"', "", text.replace('"name": "Softmax"', '"name": "Popen"'))
    (tmp_path / "g.json").write_text(changed)
    with pytest.raises(vd.errors.InputError, match="damaged"):
        vd.load(tmp_path / "g.json")
    assert not {"Popen", "eval", "Pattern"} & KNOWN.keys()


@pytest.mark.parametrize(
    "change", [{"sizes": [1]}, {"weights": [[1.0]]}, {"parts": []}, {"gate": {"of": {}}, "k": 1}]
)
def test_groups_are_checked(change: dict[str, Any], tmp_path: Path) -> None:
    cases.cars().save(tmp_path / "g.json")
    document = json.loads((tmp_path / "g.json").read_text())
    document.pop("checksum")
    document["items"][0] |= change
    if "k" in change:
        document["items"][0].pop("intercepts")
    (tmp_path / "g.json").write_text(json.dumps(document))
    with pytest.raises(vd.errors.InputError, match="damaged"):
        vd.load(tmp_path / "g.json")


@pytest.mark.parametrize(
    "value",
    [np.array([], dtype=object), pd.Index([], dtype=object), np.array([["a", None]], dtype=object), pd.NaT,
     pd.Index([1, "a", None], dtype=object), np.dtype("M8[s]"), pd.PeriodDtype("M"), ("a", 1, -0.0), {1: ("b",)}],
    ids=repr,
)  # fmt: skip
def test_objects_come_back(value: Any) -> None:
    packed = json.loads(json.dumps(pack_object(value), allow_nan=False))
    again = unpack_object(packed)
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@dataclass(frozen=True, slots=True, eq=False)
class Trip(Record):
    """A record that storage has never heard of, with a field of every kind."""

    name: str
    legs: tuple[tuple[str, ...], ...]
    ends: tuple[float, float]
    lengths: Floats
    counts: Ints
    shares: Mapping[str, float]
    settings: Mapping[str, Any]
    label: int | str
    why: Explanation | None
    parts: tuple[Part, ...]
    verdict: Verdict
    value: Any = None
    measure: Callable[[Any], float] = len


TRIP = Trip(
    "ab",
    (("a", "b"), ()),
    (-math.inf, 1.5),
    np.array([[1.0, math.nan], [0.1 + 0.2, -0.0]]),
    np.array([2**62, -1]),
    {"x": math.inf},
    {"when": pd.Timestamp("2020-01-01", tz="Europe/Berlin"), "third": Fraction(1, 3)},
    7,
    made.mushroom(),
    (Part("a > 1", "a", ">", 1.0),),
    made.mushroom().verdict,
    (b"x", 10**30),
)


def test_a_new_kind_of_record_needs_nothing_of_its_own() -> None:
    again = unpack_record(Trip, json.loads(STRICT.encode(pack_record(TRIP))), Pool())
    assert exact(replace(again, measure=len)) == exact(TRIP)
    with pytest.raises(vd.errors.InputError, match="cannot measure"):
        again.measure(3)


@pytest.mark.parametrize("name", ["legs", "ends", "counts", "settings", "why", "parts", "verdict"])
def test_what_a_field_cannot_be_is_refused(name: str) -> None:
    packed = pack_record(TRIP)
    with pytest.raises((TypeError, ValueError, KeyError, AttributeError)):
        unpack_record(Trip, {**packed, name: "x"}, Pool())
    del packed[name]
    with pytest.raises(KeyError):
        unpack_record(Trip, packed, Pool())


def test_a_field_that_no_file_can_hold_is_named() -> None:
    with pytest.raises(TypeError, match="cannot hold fields of the type"):
        codec_of(set[int])


def test_arrays_are_told_by_either_alias() -> None:
    """``NDArray[float64]`` is an array's own alias, or, from NumPy 2.5 on, one of a type alias."""
    newer = GenericAlias(type("NDArray", (), {}), (np.float64,))
    assert codec_of(newer) is codec_of(npt.NDArray[np.float64])
