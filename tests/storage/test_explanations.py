"""What is saved is what is loaded, and a file that cannot be read is refused in plain words."""

from __future__ import annotations

import json
import os
import pickle
import sys
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.builders import explanations as made
from tests.builders.effort import calls
from tests.builders.pages import exact
from veridical.display.saving import save, writer_of
from veridical.errors import InputError, MissingPackage
from veridical.records import Explanation, Explanations, Output, Part, Verdict
from veridical.scale.stores.store import load
from veridical.storage.frames import frame, verdict_frame
from veridical.storage.schema import ROWS, SCHEMA

pytest.importorskip("pyarrow")

FORMATS = (".json", ".parquet")
CASES = (made.mushroom, made.unmeasured, made.constant, made.empty, made.extreme, made.hostile)


def there_and_back(record: Any, folder: Path, suffix: str) -> Any:
    save(record, folder / f"file{suffix}")
    return load(folder / f"file{suffix}")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_round_trip(case: Any, suffix: str, tmp_path: Path) -> None:
    e = case()
    again = there_and_back(e, tmp_path, suffix)
    assert exact(again) == exact(e)
    assert not again.weights.flags.writeable
    assert not again.intervals.flags.writeable
    assert isinstance(again.recipe, MappingProxyType)
    assert exact(pickle.loads(pickle.dumps(again))) == exact(e)


def test_the_comparison_itself_can_fail() -> None:
    e = made.extreme()
    assert exact(e) == exact(made.extreme())
    for changed in (
        replace(e, weights=np.nextafter(e.weights, 1)),
        replace(e, intercept=1.0),
        replace(e, parts=(Part("same", "c", "=", 0.0), *e.parts[1:])),
        replace(e, parts=(*e.parts[:6], e.parts[7], e.parts[6], *e.parts[8:])),  # 1.0 and 1
        replace(e, target=e.target + " " if isinstance(e.target, str) else 0),
        replace(e, recipe={}),
    ):
        assert exact(changed) != exact(e)


@pytest.mark.parametrize("suffix", FORMATS)
def test_round_trip_of_many(suffix: str, tmp_path: Path) -> None:
    several = Explanations(tuple(case() for case in CASES) + made.many(10).items)
    again = there_and_back(several, tmp_path, suffix)
    assert isinstance(again, Explanations)
    assert exact(again.items) == exact(several.items)
    nothing = there_and_back(Explanations(()), tmp_path, suffix)
    assert isinstance(nothing, Explanations)
    assert len(nothing) == 0
    alone = there_and_back(several[:1], tmp_path, suffix)
    assert isinstance(alone, Explanations)


@pytest.mark.parametrize("suffix", FORMATS)
def test_equal_names_and_parts_become_one_object(suffix: str, tmp_path: Path) -> None:
    again = there_and_back(made.many(20), tmp_path, suffix)
    assert all(e.parts[0] is again[0].parts[0] for e in again)
    assert again[1].recipe is again[2].recipe
    assert again[1].notes[0] is again[2].notes[0]
    assert again[1].unsettled[0][1] is again[1].parts[1].name


def test_row_groups_join_in_order(tmp_path: Path) -> None:
    e = made.mushroom()
    items = tuple(replace(e, n_calls=i, parts=e.parts[: i % 8], weights=e.weights[: i % 8],
                          intervals=e.intervals[: i % 8]) for i in range(ROWS + 5))  # fmt: skip
    again = there_and_back(Explanations(items), tmp_path, ".parquet")
    assert [a.n_calls for a in again] == list(range(ROWS + 5))
    assert exact(again.items[-20:]) == exact(items[-20:])


texts = st.text(max_size=12)
floats = st.floats(allow_nan=True, allow_infinity=True)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), floats, texts)
moments = st.datetimes(min_value=pd.Timestamp("1800-01-01"), max_value=pd.Timestamp("2200-01-01"))
odd = st.sampled_from(
    [
        *(pd.NaT, pd.NA, pd.Timestamp("2020-03-29 03:30", tz="Europe/Berlin").as_unit("s"), date(1, 1, 1)),
        *(
            pd.Timedelta(-1, "ns"),
            pd.Timedelta(7, "D").as_unit("s"),
            pd.Period("2020Q1"),
            pd.Period("1800-01", "M"),
        ),
        *(pd.Interval(-0.0, 1.5, "both"), pd.Interval(pd.Timestamp("1999"), pd.Timestamp("2000"), "left")),
        *(
            Decimal("1.10"),
            Decimal("NaN"),
            10**400,
            -(2**63) - 1,
            "\ud800",
            {"value": "date", "of": 1},
            {"of": -0.0},
        ),
    ]
)
values = st.one_of(scalars, st.tuples(floats, floats), moments.map(pd.Timestamp), odd)
trees = st.recursive(
    scalars | st.tuples(floats, floats),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(texts | st.sampled_from(["float", "tuple", "timestamp", "mapping"]), inner, max_size=3)
    ),
    max_leaves=6,
)
verdicts = st.builds(Verdict, st.booleans(), floats, floats, texts)


@st.composite
def explanations(draw: st.DrawFn) -> Explanation:
    d = draw(st.integers(0, 4))
    numbers = st.lists(floats, min_size=d, max_size=d)
    some = st.lists(texts, max_size=3).map(tuple)
    columns = [np.array(draw(numbers), dtype=float) for _ in range(3)]
    return Explanation(
        parts=tuple(draw(st.builds(Part, texts, texts, texts, values)) for _ in range(d)),
        weights=columns[0],
        intervals=np.stack(columns[1:], axis=1),
        **{f: draw(floats) for f in ("intercept", "prediction", "local_prediction", "fidelity")},
        **{f: draw(floats) for f in ("effective_size", "top_probability")},
        n_calls=draw(st.integers(0, 2**62)),
        target=draw(st.integers(-5, 2**40) | texts),
        top_k=draw(st.integers(0, 100)),
        unsettled=draw(st.lists(some, max_size=2).map(tuple)),
        verdict=draw(verdicts),
        recipe=draw(st.dictionaries(texts | st.just("mapping"), trees, max_size=3)),
        notes=draw(some),
        path=draw(some),
        purpose=draw(texts),
    )


calm = settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("suffix", FORMATS)
@calm
@given(items=st.lists(explanations(), max_size=3))
def test_any_round_trip(items: list[Explanation], suffix: str, tmp_path: Path) -> None:
    again = there_and_back(Explanations(tuple(items)), tmp_path, suffix)
    assert exact(again.items) == exact(tuple(items))


@calm
@given(verdict=verdicts)
def test_any_verdict(verdict: Verdict, tmp_path: Path) -> None:
    assert exact(there_and_back(verdict, tmp_path, ".json")) == exact(verdict)


def test_json_is_strict_and_says_what_it_is(tmp_path: Path) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for case in CASES:
        save(case(), tmp_path / "e.json")
        document = json.loads((tmp_path / "e.json").read_text(), parse_constant=refuse)
        assert (document["veridical"], document["schema"]) == ("explanation", SCHEMA)
        assert isinstance(document["version"], str)
    save(made.mushroom(), tmp_path / "e.json")
    item = json.loads((tmp_path / "e.json").read_text())["items"][0]
    assert item["names"][0] == "odor = foul"
    assert item["weights"][0] == 0.261


def test_lone_surrogates_survive_json_and_are_refused_by_parquet(tmp_path: Path) -> None:
    e = made.hostile(("\ud800", "b"))
    assert exact(there_and_back(e, tmp_path, ".json")) == exact(e)
    with pytest.raises(InputError, match=r"save as \.json"):
        save(e, tmp_path / "e.parquet")


def test_suffixes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.json, \.parquet, \.csv, \.html, \.png"):
        save(made.mushroom(), tmp_path / "e.doc")
    with pytest.raises(InputError, match=r"explanations as 'e.xml': .*\.html"):
        save(made.many(3), tmp_path / "e.xml")
    with pytest.raises(InputError, match=r"verdict as 'v.xml': .*\.json, \.parquet"):
        save(made.mushroom().verdict, tmp_path / "v.xml")
    with pytest.raises(InputError, match=r"\.json, \.parquet"):
        load(tmp_path / "e.html")
    with pytest.raises(InputError, match="no folder"):
        save(made.mushroom(), tmp_path / "missing" / "e.json")
    with pytest.raises(InputError, match="there is no such file in"):
        load(tmp_path / "missing.json")
    save(made.mushroom(), str(tmp_path / "UPPER.JSON"))
    assert exact(load(tmp_path / "UPPER.JSON")) == exact(made.mushroom())
    assert sorted(os.listdir(tmp_path)) == ["UPPER.JSON"]


@pytest.mark.parametrize(
    ("suffix", "magic"), [("html", b"<!DOCTYPE"), ("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_pictures(suffix: str, magic: bytes, tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    open_before = pyplot.get_fignums()
    made.mushroom().save(tmp_path / f"e.{suffix}")
    assert (tmp_path / f"e.{suffix}").read_bytes().startswith(magic)
    assert pyplot.get_fignums() == open_before


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_failed_save_leaves_the_old_file_and_no_other(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e{suffix}"
    save(made.mushroom(), path)
    broken = replace(made.mushroom(), n_calls="not a number")
    with pytest.raises(ValueError, match="not a number"):
        save(broken, path)
    assert exact(load(path)) == exact(made.mushroom())
    assert os.listdir(tmp_path) == [path.name]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "e.json")
    save(made.mushroom(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert exact(load(tmp_path / "real" / "e.json")) == exact(made.mushroom())


@pytest.mark.parametrize("suffix", FORMATS)
def test_damage_is_noticed(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e{suffix}"
    save(made.many(20), path)
    whole = path.read_bytes()
    for cut in (0, 1, 10, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:cut])
        with pytest.raises(InputError, match="damaged or incomplete" if cut else "is empty: save it again"):
            load(path)


def test_flipped_bits_in_parquet_never_pass_as_something_else(tmp_path: Path) -> None:
    path = tmp_path / "e.parquet"
    several = made.many(20)
    save(several, path)
    whole, truth = path.read_bytes(), exact(several.items)
    refused = 0
    for at in range(4, len(whole) // 2, 41):  # the pages; the footer has no checksum
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            assert exact(load(path).items) == truth
        except InputError:
            refused += 1
    assert refused > 20


def unsigned(path: Path) -> dict[str, Any]:
    """A document without its checksum, so that what is wrong with it is found otherwise."""
    document: dict[str, Any] = json.loads(path.read_text())
    document.pop("checksum")
    return document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"veridical": "table"}, "not written by veridical"),
        ({"schema": 99, "version": "9.9"}, r"schema 99, written by veridical 9\.9.*upgrade"),
        ({"schema": "x"}, "damaged"),
        ({"items": []}, "damaged"),
        ({"items": None}, "damaged"),
        ({"items": [{}]}, "damaged"),
    ],
)
def test_json_heads(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    save(made.mushroom(), tmp_path / "e.json")
    document = unsigned(tmp_path / "e.json")
    (tmp_path / "e.json").write_text(json.dumps({**document, **change}))
    with pytest.raises(InputError, match=words):
        load(tmp_path / "e.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [("weights", [1.0]), ("names", ["a"]), ("names", [None] * 7), ("low", ["x"] * 7), ("top_k", None),
     ("notes", 3), ("recipe", [1]), ("sentence", None), ("intercept", None), ("values", [{"float": []}] * 7)],
)  # fmt: skip
def test_json_items_are_checked(field: str, value: Any, tmp_path: Path) -> None:
    save(made.mushroom(), tmp_path / "e.json")
    document = unsigned(tmp_path / "e.json")
    assert field in document["items"][0]
    document["items"][0][field] = value
    (tmp_path / "e.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "e.json")


def test_foreign_files(tmp_path: Path) -> None:
    for text in ("[]", "3", "{}", '{"schema": 1}', '"veridical"'):
        (tmp_path / "f.json").write_text(text)
        with pytest.raises(InputError, match="not written by veridical"):
            load(tmp_path / "f.json")
    (tmp_path / "f.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "f.json")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="not written by veridical"):
        load(tmp_path / "f.parquet")


def test_newer_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.storage.schema.SCHEMA", SCHEMA + 1)
    save(made.mushroom(), tmp_path / "e.parquet")
    monkeypatch.setattr("veridical.storage.schema.SCHEMA", SCHEMA)
    with pytest.raises(InputError, match=rf"schema {SCHEMA + 1}.*upgrade"):
        load(tmp_path / "e.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackage, match=r"veridical\[parquet\]"):
        save(made.mushroom(), tmp_path / "e.parquet")
    assert not os.listdir(tmp_path)


def test_frame() -> None:
    several = Explanations((made.mushroom(), made.empty(), made.unmeasured()))
    table = several.to_frame()
    assert list(table.columns) == [
        "row", "number", "target", "part", "column", "relation", "value", "weight", "low", "high",
        "clear", "label", "prediction", "local_prediction", "fidelity", "n_calls",
    ]  # fmt: skip
    assert len(table) == 14
    assert table["row"].tolist() == [0] * 7 + [2] * 7
    assert table["target"].tolist() == ["poisonous"] * 7 + [Output(1)] * 7
    line = table.iloc[8]
    assert (line["part"], line["column"], line["relation"]) == ("gill-size = narrow", "gill-size", "=")
    assert (line["weight"], line["low"], line["high"]) == (0.104, -np.inf, np.inf)
    assert (line["clear"], line["label"], table["clear"].sum()) == (False, "unreliable", 9)
    assert (line["prediction"], line["local_prediction"], line["fidelity"]) == (0.93, 0.908, 0.12)
    assert table["n_calls"].tolist() == [2001] * 14
    assert replace(made.unmeasured(), target=1).to_frame()["target"].dtype == np.int64


def test_frame_of_nothing_has_its_columns() -> None:
    assert list(frame([]).columns) == list(frame([made.mushroom()]).columns)
    assert len(frame([])) == len(frame([made.empty()])) == 0


def test_the_work_of_a_frame_grows_no_faster_than_the_records() -> None:
    items = made.many(10).items * 20
    assert len(frame(items)) == 1400
    assert calls(lambda: frame(items * 8)) < min(8 * calls(lambda: frame(items)), 60 * 8 * len(items))


def test_verdict_frame() -> None:
    (line,) = verdict_frame(Verdict(False, 0.25, 0.5, "no")).to_dict("records")
    known = {"label": "failed", "passed": False, "observed": 0.25, "expected": 0.5, "sentence": "no"}
    assert {key: line[key] for key in known} == known


@pytest.mark.parametrize(("name", "package"), [("why.parquet", "pyarrow"), ("why.png", "matplotlib")])
def test_what_a_format_needs_is_missed_before_the_work(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writer_of(Explanation, tmp_path / name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=r"veridical\["):
        writer_of(Explanation, tmp_path / name)
