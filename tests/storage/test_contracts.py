"""A file or manifest with any field damaged gives a VeridicalError, or a record that can be looked at and saved.

The mutations are those of ``builders/mutations.py``: at least 2,000 of them are looked at here, in an order that a
seed fixes. RecursionError, MemoryError and OverflowError are as raw as any other.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import audit_cases, group_cases, report_cases, veracity_cases, view_cases
from tests.builders import explanations as made
from tests.builders.mutations import DEEP, mutated
from veridical.scale.stores import store as stored
from veridical.scale.stores import writer
from veridical.scale.stores.writer import Receipt

pq = pytest.importorskip("pyarrow.parquet")

SEED, SHOWN = 0, 16  # and of those that are loaded, one in so many is looked at in every way
FILES: dict[str, tuple[Callable[[], Any], int]] = {  # records, and how many mutations of each
    "explanation": (made.mushroom, 220),
    "explanations": (lambda: vd.Explanations((made.mushroom(), made.unmeasured())), 120),
    "text": (view_cases.text, 100),
    "picture": (lambda: view_cases.picture(1, 8, 8, 3), 100),
    "series": (lambda: view_cases.series(8, 2), 100),
    "sound": (view_cases.sound, 60),
    "spectrogram": (view_cases.spectrogram, 60),
    "fields": (view_cases.fields, 120),
    "map": (lambda: audit_cases.mapped((6, 8, 3)), 100),
    "verdict": (audit_cases.verdict, 120),
    "audit": (audit_cases.broken, 120),
    "report": (lambda: report_cases.report([report_cases.metric("insertion")], {"Lime": 0.8}, n=5), 120),
    "causes": (veracity_cases.caused, 60),
    "pick": (group_cases.pick_of_two, 160),
    "grouping": (group_cases.cars, 160),
    "membership": (group_cases.member, 120),
    "drift": (made.drift, 120),
    "difference": (lambda: vd.compare(made.mushroom(), made.unmeasured()), 120),
    "flips": (made.turned, 120),
}
IN_MANIFESTS, IN_RECEIPTS, IN_METADATA = 500, 80, 120
TOTAL = sum(n for _, n in FILES.values()) + IN_MANIFESTS + IN_RECEIPTS + IN_METADATA


def test_there_are_enough_of_them() -> None:
    assert TOTAL >= 2000


def loaded(path: Path) -> Any:
    """What a file holds, or nothing where it is refused in words."""
    try:
        return vd.load(path)
    except vd.VeridicalError:
        return None


def look(record: Any, folder: Path) -> None:
    """A record in every way that it can be looked at."""
    assert repr(record) is not None
    assert str(record) is not None
    assert record._repr_html_()
    assert record.to_frame() is not None
    if isinstance(record, vd.Explanation):
        assert record.top() is not None
    for suffix in (".json", ".csv", ".parquet"):
        with suppress(vd.VeridicalError):  # such as of a lone surrogate in Parquet
            record.save(folder / f"again{suffix}")


@pytest.mark.parametrize("kind", list(FILES))
def test_a_damaged_file(kind: str, tmp_path: Path) -> None:
    make, most = FILES[kind]
    path = tmp_path / "r.json"
    make().save(path)
    document = json.loads(path.read_text())
    del document["checksum"]
    n_loaded = 0
    for where, text in islice(mutated(document, SEED), most):
        path.write_text(text)
        try:
            record = loaded(path)
            n_loaded += record is not None
            if record is not None and n_loaded % SHOWN == 1:
                look(record, tmp_path)
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}\n{text[:2000]}") from error


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    X = np.random.default_rng(0).normal(size=(4, 2))
    path = tmp_path_factory.mktemp("store") / "s"
    method = vd.Lime(n_samples=16)
    return vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, method=method, store=path)


def use(folder: Path, show: bool) -> None:
    """A store in the ways that read its manifest, if it can be opened."""
    with suppress(vd.VeridicalError):
        opened: Any = vd.load(folder)
        assert repr(opened)
        assert len(opened.fingerprint) == 64
        if show:
            assert opened._repr_html_()
            assert len(opened[:]) <= 4
            opened.to_frame()
            opened.check()


@pytest.mark.parametrize("complete", [True, False])
def test_a_damaged_manifest(complete: bool, store: Any, tmp_path: Path) -> None:
    shutil.copytree(store.path, tmp_path / "s")
    path = tmp_path / "s" / "manifest.json"
    document = json.loads(path.read_text()) | {"complete": complete}
    for i, (where, text) in enumerate(islice(mutated(document, SEED), IN_MANIFESTS // 2)):
        path.write_text(text)
        try:
            use(tmp_path / "s", i % SHOWN == 0)
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}\n{text[:2000]}") from error


@pytest.mark.parametrize(("name", "careless"), [("FIELDS", {}), ("receipt_from", lambda body: Receipt(**body))])
def test_a_saboteur_that_reads_without_suspicion_is_found(
    name: str, careless: Any, store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R3: what a manifest, or a part's entry in it, holds is found out only when it is used."""
    for module in (writer, stored):
        monkeypatch.setattr(module, name, careless, raising=module is writer)
    with pytest.raises(AssertionError):
        test_a_damaged_manifest(True, store, tmp_path)


@pytest.mark.parametrize(("change", "why"), [(DEEP, "deep"), ("", "Expecting"), ("{}", "veridical"), ("\x00", "")])
def test_a_manifest_of_something_else(change: str, why: str, store: Any, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "manifest.json").write_text(change)
    with pytest.raises(vd.VeridicalError, match=f"(?s)damaged.*{why}"):
        vd.load(tmp_path / "s")


def rewritten(path: Path, key: str, value: str) -> None:
    """A Parquet file with other metadata."""
    table = pq.read_table(path)
    known = {**table.schema.metadata, key.encode(): value.encode("utf-8", "surrogatepass")}
    pq.write_table(table.replace_schema_metadata(known), path)


def test_a_damaged_receipt(store: Any, tmp_path: Path) -> None:
    """Parts of a store that is not complete speak for themselves."""
    shutil.copytree(store.path, tmp_path / "s")
    manifest, part = tmp_path / "s" / "manifest.json", tmp_path / "s" / "part-000000.parquet"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"complete": False}))
    document = json.loads(pq.read_schema(part).metadata[b"part"])
    for i, (where, text) in enumerate(islice(mutated(document, SEED), IN_RECEIPTS)):
        rewritten(part, "part", text)
        try:
            use(tmp_path / "s", i % SHOWN == 0)
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}\n{text[:2000]}") from error


def test_damaged_metadata_of_parquet(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    group_cases.pick_of_two().save(path)
    known = {key.decode(): value.decode() for key, value in pq.read_schema(path).metadata.items()}
    document = {key: known[key] for key in ("veridical", "schema", "version", "checksum")}
    document |= {"pick": json.loads(known["pick"]), "checksum": ""}
    rest = {key: value for key, value in pq.read_schema(path).metadata.items() if key.decode() not in document}
    table = pq.read_table(path)
    for i, (where, text) in enumerate(islice(mutated(document, SEED), IN_METADATA)):
        try:
            changed = json.loads(text)
            told = {k: v if isinstance(v, str) else json.dumps(v) for k, v in changed.items()}
            encoded = {key.encode(): value.encode("utf-8", "surrogatepass") for key, value in told.items()}
        except (RecursionError, ValueError, AttributeError):  # the whole cannot be read: the text is the record
            encoded = {**{k.encode(): v.encode() for k, v in known.items()}, b"pick": text[: 10**5].encode()}
        pq.write_table(table.replace_schema_metadata({**rest, **encoded}), path)
        try:
            record = loaded(path)
            if record is not None and i % SHOWN == 0:
                look(record, tmp_path)
        except Exception as error:
            raise AssertionError(f"{where}: {error!r}\n{text[:2000]}") from error


def test_a_store_of_billions_of_rows_that_are_not_there(store: Any, tmp_path: Path) -> None:
    shutil.copytree(store.path, tmp_path / "s")
    path = tmp_path / "s" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"complete": False, "n_rows": 2**53}))
    opened: Any = vd.load(tmp_path / "s")
    assert [len(opened[s]) for s in (slice(None), slice(None, None, 2), slice(None, None, -1), slice(9, 99))] == [
        *(4, 2, 4, 0)
    ]
    assert [e.prediction for e in opened[::-1]] == [e.prediction for e in opened[:]][::-1]
    assert len(opened[3::-2]) == 2
