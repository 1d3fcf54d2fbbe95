"""Records to files, and back: one versioned schema for JSON and Parquet.

What was saved is what is loaded: floats bit for bit, and names that repeat are one object.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from veridical.debug.audit import Audit
from veridical.errors import InputError, harmless, require
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Report
from veridical.packing.audits import pack_audit, unpack_audit
from veridical.packing.differences import pack_difference, unpack_difference
from veridical.packing.explanations import (
    ARRAYS,
    NUMBERS,
    TEXTS,
    Pool,
    facts,
    pack_explanation,
    pack_findings,
    pack_verdict,
)
from veridical.packing.picks import pack_pick, unpack_pick
from veridical.packing.reports import pack_report, unpack_report
from veridical.packing.values import STRICT, encode, pack_view
from veridical.pages import Page
from veridical.records import VERSION, Explanation, Explanations, Verdict
from veridical.summarize.records import Grouping, Pick

Framed: TypeAlias = Verdict | Report | Audit | Difference
Loaded: TypeAlias = Explanation | Explanations | Pick | Framed
Saved: TypeAlias = Loaded | Grouping | Page
Reader: TypeAlias = Callable[[Any], Loaded]
Writers: TypeAlias = dict[str, Callable[[Any, BinaryIO], None]]

SCHEMA = 4  # 2: views, 3: maps, checks, 4: purposes, causes; raised when an older version would read less
FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # what the formula of a spreadsheet may begin with
ROWS = 4096  # explanations a Parquet row group
UNSEEN = ("view", "map", "findings")  # columns that an older file may not have, each JSON or nothing
KINDS: dict[type, str] = {
    Explanation: "explanation",
    Explanations: "explanations",
    Verdict: "verdict",
    Pick: "pick",
    Grouping: "grouping",
    Report: "report",
    Audit: "audit",
    Page: "page",
    Difference: "difference",
}
PACKERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Explanation: pack_explanation,
    Verdict: pack_verdict,
    Pick: pack_pick,
    Report: pack_report,
    Audit: pack_audit,
    Difference: pack_difference,
}


def save(record: Saved, path: str | Path) -> None:
    """Write a record; the suffix says how. The file appears whole or not at all."""
    target, write = Path(path), writer_of(type(record), path)
    with _replacing(target) as stream:
        write(record, stream)


def writer_of(kind: type, path: str | Path) -> Callable[[Any, BinaryIO], None]:
    """How a record of this type is written there, if it can be."""
    target, writers = Path(path), _writers(kind)
    write = writers.get(target.suffix.lower())
    if write is None:
        hint = "; to use it again, pickle it" if kind is Grouping else ""
        known = ", ".join(writers)
        raise InputError(f"cannot save {KINDS[kind]} as {target.name!r}: the name must end in {known}{hint}")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target.name!r}: there is no folder {str(target.parent)!r}; create it")
    return write


def _writers(kind: type) -> Writers:
    """How records of a type are written, by suffix."""
    figures: Writers = {f".{form}": partial(_write_figure, form) for form in ("png", "svg", "pdf")}
    many: Writers = {".json": write_json, ".parquet": _write_parquet, ".html": _write_page}
    framed = many | {".parquet": _write_frame, ".csv": _write_lines} | figures
    kinds: dict[type, Writers] = {
        Verdict: framed,
        Audit: framed | {".xml": _write_tests},
        Explanations: many,
        Explanation: many | figures,
        Pick: {".json": write_json, ".html": _write_page},
        Grouping: {".html": _write_page},
        Page: {".html": _write_page},
        Report: framed,
        Difference: framed,
    }
    return kinds[kind]


def load(path: str | Path) -> Loaded:
    """Read back what ``save`` wrote as .json or .parquet."""
    source, readers = Path(path), {".json": _read_json, ".parquet": _read_parquet}
    read = readers.get(source.suffix.lower())
    if read is None:
        raise InputError(f"cannot load {source.name!r}: the name must end in {', '.join(readers)}")
    with source.open("rb") as stream:
        return read(stream, source.name)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` once it is complete."""
    final = Path(os.path.realpath(path))  # a link stays a link
    temporary = final.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as stream:
            yield stream
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)


def _write_page(record: Saved, stream: BinaryIO) -> None:
    from veridical.render.html import page

    whole = record if isinstance(record, Page) else Page(KINDS[type(record)].capitalize(), [("", record)])
    stream.write(page(whole).encode())


def _write_tests(record: Audit, stream: BinaryIO) -> None:
    from veridical.render.junit import junit

    stream.write(junit(record))


def _write_figure(form: str, record: Explanation | Framed, stream: BinaryIO) -> None:
    pyplot = require("matplotlib.pyplot", extra="plot")
    figure: Any = record.plot().figure
    try:
        figure.savefig(stream, format=form, dpi=200)
    finally:
        pyplot.close(figure)


def _write_lines(record: Framed, stream: BinaryIO) -> None:
    """The frame, for people with a spreadsheet; what is to be read back exactly is saved otherwise."""
    frame = record.to_frame()
    for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        frame[name] = [_cell(value) if isinstance(value, str) else value for value in frame[name]]
    stream.write(frame.to_csv(index=False).encode())


def _cell(text: str) -> str:
    """A text on one line that no spreadsheet takes for a formula: an apostrophe says that it is a text."""
    safe = text if text.isprintable() else "".join(map(harmless, text))
    return f"'{safe}" if safe.startswith(FORMULAS) else safe


def _write_frame(record: Framed, stream: BinaryIO) -> None:
    """The frame, to be read by anything; the whole record beside it, for ``load``."""
    pa, pq = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
    kind = type(record)
    with _unicode():
        table = pa.Table.from_pandas(record.to_frame(), preserve_index=False)
        head = {**_head(record), KINDS[kind]: STRICT.encode(PACKERS[kind](record))}
        known = {**(table.schema.metadata or {}), **{key: str(value) for key, value in head.items()}}
        pq.write_table(table.replace_schema_metadata(known), stream)


def _head(record: Saved) -> dict[str, Any]:
    return {"veridical": KINDS[type(record)], "schema": SCHEMA, "version": VERSION}


def _kind(head: Any, name: str) -> str:
    """The kind of record that a file says it holds, if this version can read it."""
    kind = head.get("veridical") if isinstance(head, dict) else None
    if kind not in KINDS.values():
        raise InputError(f"{name!r} was not written by veridical: load reads only what save wrote")
    schema = int(head["schema"])
    if schema > SCHEMA:
        raise InputError(
            f"{name!r} has schema {schema}, written by veridical {head.get('version')}; "
            f"this version reads up to schema {SCHEMA}: upgrade veridical"
        )
    return str(kind)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever a broken file makes a decoder raise, the user hears that the file is broken."""
    try:
        yield
    except InputError:
        raise
    except Exception as cause:
        raise InputError(f"{name!r} is damaged or incomplete ({cause!r:.300}): save it again") from cause


def _record(kind: str, items: Sequence[Explanation]) -> Explanation | Explanations:
    if kind == "explanations":
        return Explanations(tuple(items))
    (only,) = items
    return only


def write_json(record: Loaded, stream: BinaryIO) -> None:
    """One line an item, so that a difference between two files can be read."""
    items = record.items if isinstance(record, Explanations) else (record,)
    stream.write(json.dumps(_head(record))[:-1].encode() + b', "items": [')
    for i, item in enumerate(items):
        line = STRICT.encode(PACKERS[type(item)](item))
        stream.write((",\n" if i else "\n").encode() + line.encode())
    stream.write(b"\n]}\n")


def _read_json(stream: BinaryIO, name: str) -> Loaded:
    with reading(name):
        document = json.loads(stream.read().decode())
        kind, pool = _kind(document, name), Pool()
        alone = {"pick": unpack_pick, **_framed(pool)}
        if kind in alone:
            (body,) = document["items"]
            return alone[kind](body)
        return _record(kind, [pool.explanation(body) for body in document["items"]])


def _framed(pool: Pool) -> dict[str, Reader]:
    """Readers of records that a Parquet file holds whole, beside their frame."""
    return {
        "verdict": pool.verdict,
        "report": unpack_report,
        "audit": unpack_audit,
        "difference": unpack_difference,
    }


def _write_parquet(record: Explanation | Explanations, stream: BinaryIO) -> None:
    """One row an explanation, with lists for its parts."""
    pa, pq = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
    items = record.items if isinstance(record, Explanations) else (record,)
    schema = _schema(pa).with_metadata({key: str(value) for key, value in _head(record).items()})
    options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
    with pq.ParquetWriter(stream, schema, **options) as writer:
        for start in range(0, len(items), ROWS):
            columns = _columns(items[start : start + ROWS])
            arrays = [_array(columns[field.name], field.type, pa) for field in schema]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def _schema(pa: Any) -> Any:
    text, number, whole, texts = pa.string(), pa.float64(), pa.int64(), pa.list_(pa.string())
    types = {"target": text, "target_is_index": pa.bool_(), **dict.fromkeys(NUMBERS, number)}
    types |= {"n_calls": whole, "top_k": whole, "passed": pa.bool_(), "observed": number}
    types |= {"expected": number, "sentence": text, "unsettled": pa.list_(texts), "notes": texts}
    types |= {
        "path": texts,
        "purpose": text,
        "recipe": text,
        **dict.fromkeys([*UNSEEN], text),
        **dict.fromkeys([*TEXTS, "values"], texts),
    }
    return pa.schema(list((types | dict.fromkeys(ARRAYS, pa.list_(number))).items()))


def _columns(items: Sequence[Explanation]) -> dict[str, Any]:
    """Each a list of entries, or (offsets, flat entries) where an entry is a list over parts."""
    offsets = np.cumsum([0, *(len(e.parts) for e in items)], dtype=np.int32)
    parts = list(chain.from_iterable(e.parts for e in items))
    intervals = np.concatenate([e.intervals for e in items])
    rows = [facts(e) for e in items]
    return {
        **{key: [row[key] for row in rows] for key in rows[0]},
        "target": [str(row["target"]) for row in rows],
        "target_is_index": [isinstance(row["target"], int) for row in rows],
        "recipe": [encode(e.recipe) for e in items],
        "view": [_text(pack_view(e.view)) for e in items],
        "map": [_text(pack_view(e.map)) for e in items],
        "findings": [_text(pack_findings(e.verdict)) for e in items],
        **{key: (offsets, [getattr(p, name) for p in parts]) for key, name in TEXTS.items()},
        "values": (offsets, [encode(p.value) for p in parts]),
        "weights": (offsets, np.concatenate([e.weights for e in items])),
        "low": (offsets, intervals[:, 0]),
        "high": (offsets, intervals[:, 1]),
    }


def _text(packed: Any) -> str | None:
    return None if packed is None else STRICT.encode(packed)


def _array(column: Any, kind: Any, pa: Any) -> Any:
    with _unicode():
        if isinstance(column, tuple):
            return pa.ListArray.from_arrays(pa.array(column[0]), pa.array(column[1], kind.value_type))
        return pa.array(column, kind)


@contextmanager
def _unicode() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as cause:
        raise InputError("a text here is not valid Unicode: save as .json instead") from cause


def _read_parquet(stream: BinaryIO, name: str) -> Loaded:
    parquet = require("pyarrow.parquet", extra="parquet")
    with reading(name):
        file = parquet.ParquetFile(stream, page_checksum_verification=True)
        kind, pool, made = _kind(_parquet_head(file), name), Pool(), list[Explanation]()
        framed = _framed(pool)
        if kind in framed:
            return framed[kind](json.loads(file.schema_arrow.metadata[kind.encode()]))
        for group in range(file.num_row_groups):
            made += _from_table(file.read_row_group(group), pool)
        return _record(kind, made)


def _parquet_head(file: Any) -> dict[str, str]:
    written = file.schema_arrow.metadata or {}
    return {key: written.get(key.encode(), b"").decode() for key in ("veridical", "schema", "version")}


def columns_of(path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Some columns of a Parquet file of many explanations, at most ``n_rows`` rows of a row group at a time.

    A column that files of an older schema do not have is left out.
    """
    parquet = require("pyarrow.parquet", extra="parquet")
    with path.open("rb") as stream, reading(path.name):
        file = parquet.ParquetFile(stream, page_checksum_verification=True, buffer_size=2**20)
        kind = _kind(_parquet_head(file), path.name)
        if kind != "explanations":
            raise InputError(f"{path.name!r} holds one {kind}, and many explanations were wanted")
        known = [name for name in names if name in file.schema_arrow.names]
        for group in range(file.num_row_groups):
            yield from file.iter_batches(n_rows, row_groups=[group], columns=known)


def _from_table(table: Any, pool: Pool) -> Iterator[Explanation]:
    lists = {key: table.column(key).combine_chunks() for key in (*TEXTS, "values", *ARRAYS)}
    offsets = lists["names"].offsets.to_numpy()
    if any(not np.array_equal(column.offsets.to_numpy(), offsets) for column in lists.values()):
        raise ValueError("the lists of a row differ in length")
    encoded = [lists[key].flatten().dictionary_encode() for key in (*TEXTS, "values")]
    texts = [np.array(e.dictionary.to_pylist(), dtype=object)[e.indices.to_numpy()] for e in encoded]
    parts = list(map(pool.part, *(column.tolist() for column in texts)))
    weights, low, high = (lists[key].flatten().to_numpy() for key in ARRAYS)
    intervals = np.stack([low, high], axis=1)
    rows = table.drop_columns([*lists]).to_pylist()
    for row, (start, stop) in zip(rows, pairwise(offsets.tolist()), strict=True):
        row["target"] = int(row["target"]) if row["target_is_index"] else row["target"]
        row |= {key: json.loads(row.get(key) or "null") for key in UNSEEN}
        row["parts"] = tuple(parts[start:stop])
        row["weights"], row["intervals"] = weights[start:stop], intervals[start:stop]
        yield pool.assembled(row)
