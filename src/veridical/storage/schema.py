"""Records to files, and back: one versioned schema for JSON and Parquet.

What was saved is what is loaded: floats bit for bit, and names that repeat are one object.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, reduce
from io import SEEK_END, BytesIO
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, get_args

import numpy as np

from veridical.checks.audits import Audit
from veridical.comparisons.differences import Difference
from veridical.comparisons.watching import Drift
from veridical.errors import InputError, harmless, require, safe_str
from veridical.methods.flips import Flips
from veridical.metrics.reports import Report
from veridical.records import VERSION, Explanation, Explanations, Failure, Output, Page, Part, Verdict
from veridical.storage.atomic_files import path_of
from veridical.storage.codec import (
    ARRAYS,
    FACTOR,
    FACTS,
    JUDGMENT,
    ROW,
    STRICT,
    TEXTS,
    VALUE,
    Pool,
    allowed,
    assemble,
    counting,
    encode,
    hints_of,
    pack,
    pack_findings,
    pack_local,
    pack_record,
    pack_view,
    parse,
    spend,
    unpack_record,
    unpack_target,
)
from veridical.summaries.groupings.groups import Grouping, Membership
from veridical.summaries.importances import Importance
from veridical.summaries.picks import Pick

Loaded: TypeAlias = (
    Explanation
    | Explanations
    | Verdict
    | Report
    | Audit
    | Difference
    | Drift
    | Pick
    | Grouping
    | Membership
    | Importance
    | Flips
)
Saved: TypeAlias = Loaded | Page

SCHEMA = 7  # raised when what is written changes: files of other schemas are refused
FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # what the formula of a spreadsheet may begin with
PARQUET = b"PAR1"  # how such a file begins
FOOTED = b"footer crc32 "  # before a checksum, which stands before the footer
ROWS = 4096  # explanations a Parquet row group
KINDS: dict[type, str] = {  # every record that people look at
    Explanation: "explanation",
    Explanations: "explanations",
    Verdict: "verdict",
    Pick: "pick",
    Grouping: "grouping",
    Membership: "membership",
    Importance: "importance",
    Report: "report",
    Audit: "audit",
    Page: "page",
    Difference: "difference",
    Flips: "flips",
    Drift: "drift",
}
RECORDS = {name: kind for kind, name in KINDS.items() if kind is not Page}  # that a file may hold


def load_file(path: str | Path) -> Loaded:
    """Read a record from a file that ``save`` wrote as .json or .parquet."""
    source = path_of(path, "load")
    read = READERS.get(source.suffix.lower())
    if read is None:
        there = "" if source.exists() else "there is no such store, and of a file "
        raise InputError(f"cannot load {source.name!r}: {there}the name must end in {', '.join(READERS)}")
    try:
        with source.open("rb") as stream:
            _check_start(stream, source)
            with counting(allowed(source.stat().st_size)):
                return read(stream, source.name)
    except OSError as cause:
        folder = str(source.parent)
        words = (
            f"it cannot be read ({cause.strerror})" if source.exists() else f"there is no such file in {folder!r}"
        )
        raise InputError(f"cannot load {source.name!r}: {words}") from cause


def _check_start(stream: BinaryIO, source: Path) -> None:
    """Refuse a file that is empty, or of the other format."""
    start = stream.read(len(PARQUET))
    stream.seek(0)
    if not start:
        raise InputError(f"{source.name!r} is empty: save it again")
    is_parquet = source.suffix.lower() == ".parquet"
    if (start == PARQUET) != is_parquet and (start == PARQUET or start.lstrip().startswith(b"{")):
        held, suffix = ("JSON", ".json") if is_parquet else ("Parquet", ".parquet")
        raise InputError(f"{source.name!r} holds {held}: give it a name that ends in {suffix}")


def write_csv(record: Loaded, stream: BinaryIO) -> None:
    """The frame, for people with a spreadsheet; what is to be read back exactly is saved otherwise."""
    frame = record.to_frame()
    for name in frame.columns[[kind.kind == "O" for kind in frame.dtypes]]:
        frame[name] = [_cell(value) if isinstance(value, str) else value for value in frame[name]]
    stream.write(frame.to_csv(index=False).encode())


def _cell(text: str) -> str:
    """A text on one line that no spreadsheet takes for a formula: an apostrophe says that it is a text."""
    safe = text if text.isprintable() else "".join(map(harmless, text))
    return f"'{safe}" if safe.startswith(FORMULAS) else safe


# The head and the checksum, which both formats have.


def _head(record: Saved) -> dict[str, Any]:
    return {"veridical": KINDS[type(record)], "schema": SCHEMA, "version": VERSION}


def _kind(head: Any, name: str) -> str:
    """The kind of record that a file says it holds, if this version can read it."""
    kind = head.get("veridical") if isinstance(head, dict) else None
    if kind not in RECORDS:
        raise InputError(f"{name!r} was not written by veridical: load reads only what save wrote")
    if int(head["schema"]) != SCHEMA:
        raise schema_error(int(head["schema"]), head.get("version"), repr(name))
    return str(kind)


def schema_error(schema: int, version: Any, what: str) -> InputError:
    """What to do about a file or store that was written by another schema."""
    do = "upgrade veridical" if schema > SCHEMA else "make it again"
    return InputError(
        f"{what} has schema {schema}, written by veridical {version}; this version reads schema {SCHEMA}: {do}"
    )


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Whatever a broken file makes a decoder raise, the user hears that the file is broken."""
    try:
        yield
    except InputError:
        raise
    except Exception as cause:
        raise InputError(f"{name!r} is damaged or incomplete ({cause!r:.300}): save it again") from cause


def _checksum(content: str) -> str:
    return f"{zlib.crc32(content.encode()):08x}"


def _check_sum(content: str, head: Mapping[str, Any], name: str) -> None:
    """Refuse content that is not what was saved; without a checksum, nothing is checked."""
    if head.get("checksum", "") not in ("", _checksum(content)):
        raise InputError(
            f"{name!r} is damaged, or was changed after it was saved: its checksum is that of another content. "
            "Save it again; to read what it holds all the same, take the checksum out"
        )


def _items(record: Loaded) -> tuple[Sequence[Any], str]:
    """What a file has a line or row for, and the rows that could not be explained as JSON, or ""."""
    if not isinstance(record, Explanations):
        return (record,), ""
    failed = [pack_record(failure) for failure in record.failures]
    return record.items, STRICT.encode(failed) if failed else ""


def _record(kind: str, items: Sequence[Any], failed: Sequence[Any], pool: Pool) -> Loaded:
    """The record of a file: its items, or its only item."""
    if kind == "explanations":
        return Explanations(tuple(items), tuple(unpack_record(Failure, each, pool) for each in failed))
    (only,) = items
    found: Loaded = only
    return found


def write_json(record: Loaded, stream: BinaryIO) -> None:
    """One line per item, so that a difference between two files can be read, and a checksum of the lines."""
    (items, failed), total, written = _items(record), 0, 0
    stream.write(json.dumps(_head(record))[:-1].encode() + b', "items": [')
    with counting() as unfolded:
        for i, item in enumerate(items):
            line = STRICT.encode(pack_record(item)).encode()
            total, written = zlib.crc32(line, total), written + len(line)
            stream.write((b",\n" if i else b"\n") + line)
    if unfolded[0] > allowed(written):  # else it could not be read again
        stream.write(b" " * (unfolded[0] // FACTOR - written))
    stream.write(b"\n]")
    if failed:
        total = zlib.crc32(failed.encode(), total)
        stream.write(b', "failed": ' + failed.encode())
    stream.write(f', "checksum": "{total:08x}"}}\n'.encode())


def _read_json(stream: BinaryIO, name: str) -> Loaded:
    with reading(name):
        document = parse(stream.read().decode("utf-8-sig"))
        kind, pool, items = _kind(document, name), Pool(), document["items"]
        told = [*items, *([document["failed"]] if "failed" in document else [])]
        _check_sum("".join(map(STRICT.encode, told)) if "checksum" in document else "", document, name)
        each = Explanation if kind == "explanations" else RECORDS[kind]
        return _record(kind, [unpack_record(each, item, pool) for item in items], document.get("failed", ()), pool)


def write_frame(record: Any, stream: BinaryIO) -> None:
    """The frame, to be read by anything; the whole record beside it, for ``load``."""
    pa, kind = require("pyarrow", extra="parquet"), KINDS[type(record)]
    with as_unicode():
        frame = record.to_frame()
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, OverflowError):  # targets of several kinds, which the record beside it has
            mixed = frame.columns[[kind.kind == "O" for kind in frame.dtypes]]
            table = pa.Table.from_pandas(frame.astype(dict.fromkeys(mixed, str)), preserve_index=False)
        with counting() as unfolded:
            whole = STRICT.encode(pack_record(record))
        head = {**_head(record), kind: whole, "checksum": _checksum(whole)}
        known = {**(table.schema.metadata or {}), **{key: str(value) for key, value in head.items()}}
        table = table.replace_schema_metadata(known)
        _write_tables([table], table.schema, stream, unfolded)


def write_parquet(record: Explanation | Explanations, stream: BinaryIO) -> None:
    """One row per explanation, with lists for its parts."""
    pa, (items, failed) = require("pyarrow", extra="parquet"), _items(record)
    head = _head(record) | ({"failed": failed, "checksum": _checksum(failed)} if failed else {})
    schema = arrow_schema(pa).with_metadata({key: str(value) for key, value in head.items()})
    tables = (arrow_table(items[start : start + ROWS], schema) for start in range(0, len(items), ROWS))
    with counting() as unfolded, as_unicode():
        _write_tables(tables, schema, stream, unfolded, compression="zstd")


class _Footed:
    """A file to which all but the end is written at once: where its footer begins is known when it is complete."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.end, self.written, self.closed = stream, BytesIO(), 0, False
        self.at_end = False

    def write(self, content: Any) -> int:
        self.written += len(content)
        (self.end if self.at_end else self.stream).write(content)
        return len(content)

    def flush(self) -> None:
        self.stream.flush()


def _write_tables(
    tables: Iterable[Any], schema: Any, stream: BinaryIO, unfolded: Sequence[int], compression: str = "snappy"
) -> None:
    """A Parquet file with a row group for each table; where it could not be read again, it is made longer.

    ``unfolded``: bytes that reading will take beside those that the file's metadata tell.
    """
    pq = require("pyarrow.parquet", extra="parquet")
    footed, known = _Footed(stream), list[Any]()
    with pq.ParquetWriter(
        footed, schema, metadata_collector=known, write_page_checksum=True, compression=compression
    ) as writer:
        for table in tables:
            writer.write_table(table)
        footed.at_end = True
    end = footed.end.getvalue()
    size = 8 + int.from_bytes(end[-8:-4], "little")  # of the footer, which says itself how long it is
    taken = unfolded[0] + sum(map(_unfolded, known))
    stream.write(end[:-size])
    if taken > allowed(footed.written):
        stream.write(b" " * (taken // FACTOR + 1 - footed.written))
    stream.write(FOOTED + b"%08x" % zlib.crc32(end[-size:]))
    stream.write(end[-size:])


def _check_footer(stream: BinaryIO) -> None:
    """Refuse a footer that is not what was written: of some damages pyarrow ends the whole process.

    Nothing is checked where another program wrote the file.
    """
    length = stream.seek(0, SEEK_END)
    stream.seek(max(length - 8, 0))
    size, told = 8 + int.from_bytes(stream.read(4), "little"), len(FOOTED) + 8
    if size + told <= length:
        stream.seek(length - size - told)
        sum_before, footer = stream.read(told), stream.read()
        if sum_before.startswith(FOOTED) and sum_before[len(FOOTED) :] != b"%08x" % zlib.crc32(footer):
            raise ValueError("the checksum of its footer is that of another")
    stream.seek(0)


def _read_parquet(stream: BinaryIO, name: str) -> Loaded:
    parquet = require("pyarrow.parquet", extra="parquet")
    with reading(name):
        _check_footer(stream)
        file = parquet.ParquetFile(stream, page_checksum_verification=True)
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]  # what repeats is held once
        file = parquet.ParquetFile(stream, page_checksum_verification=True, read_dictionary=texts)
        kind, pool = _kind(_parquet_head(file), name), Pool()
        spend(_unfolded(file.metadata))
        written = {key.decode(): value.decode() for key, value in file.schema_arrow.metadata.items()}
        whole = written.get("failed", "[]") if kind in ("explanation", "explanations") else written[kind]
        _check_sum(whole, written, name)
        if kind not in ("explanation", "explanations"):
            return _record(kind, [unpack_record(RECORDS[kind], parse(whole), pool)], (), pool)
        items = list[Explanation]()
        for table in map(file.read_row_group, range(file.num_row_groups)):
            if "error" in table.schema.names:  # of a chunk of a store: without the rows that failed
                table = table.filter(table.column("error").is_null())
            items += explanations_of(table, pool)
        return _record(kind, items, parse(whole), pool)


def _unfolded(metadata: Any) -> int:
    """Bytes that the rows and columns of a Parquet file take, at least."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    texts = sum(chunk.total_uncompressed_size for chunk in chunks)
    return int(metadata.num_rows * ROW + sum(chunk.num_values for chunk in chunks) * VALUE + texts)


def _parquet_head(file: Any) -> dict[str, str]:
    written = file.schema_arrow.metadata or {}
    return {key: written.get(key.encode(), b"").decode() for key in ("veridical", "schema", "version")}


READERS = {".json": _read_json, ".parquet": _read_parquet}


def columns_of(path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Some columns of a Parquet file of many explanations, at most ``n_rows`` rows of a row group at a time.

    A column that the file does not have is left out; a name that ends in * is of all that begin so.
    """
    parquet = require("pyarrow.parquet", extra="parquet")
    with path.open("rb") as stream, reading(path.name):
        file = parquet.ParquetFile(stream, page_checksum_verification=True, buffer_size=2**20)
        kind = _kind(_parquet_head(file), path.name)
        if kind != "explanations":
            raise InputError(f"{path.name!r} holds one {kind}, and many explanations were wanted")
        begins = tuple(name[:-1] for name in names if name.endswith("*"))
        held = file.schema_arrow.names
        known = [name for name in held if name in names or (begins and name.startswith(begins))]
        for group in range(file.num_row_groups):
            yield from file.iter_batches(n_rows, row_groups=[group], columns=known)


# Explanations as tables of Arrow: one row each, with lists for its parts.
TARGET = ("target", "target_is_index", "target_class")
FLAT = FACTS[1:]  # one value per explanation
UNSEEN = ("view", "map", "findings", "row_name", "local_model")  # columns that are JSON, or nothing
OWN = ("own", "own_texts")  # the row's own values: floats, and JSON where a value is none


@cache
def arrow_schema(pa: Any) -> Any:
    """Names and types of the columns."""
    text, hints = pa.string(), {**hints_of(Verdict), **hints_of(Explanation)}
    types = {"target": text, "target_is_index": pa.bool_(), "target_class": text}
    known = {str: text, float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    for key in FLAT:  # a value, or lists of values in each other
        hint, depth = hints[key], 0
        while hint not in known:
            hint, depth = get_args(hint)[0], depth + 1
        types[key] = reduce(lambda kind, _: pa.list_(kind), range(depth), known[hint])
    types |= dict.fromkeys(["recipe", *UNSEEN], text) | dict.fromkeys([*TEXTS, "values"], pa.list_(text))
    types |= {**dict.fromkeys([*ARRAYS, "own"], pa.list_(pa.float64())), "own_texts": pa.list_(text)}
    return pa.schema(list(types.items()))


def arrow_table(items: Sequence[Explanation], schema: Any, own: bool = True) -> Any:
    """Explanations as a table with the columns of ``arrow_schema``.

    Without ``own``, the rows' own values are left out. A column is a list of entries, or (offsets, flat entries)
    where an entry is a list over parts. It raises UnicodeEncodeError where a text is not valid Unicode.
    """
    pa, offsets = (
        require("pyarrow", extra="parquet"),
        np.cumsum([0, *(len(e.parts) for e in items)], dtype=np.int32),
    )
    codes, parts = distinct([p for e in items for p in e.parts])
    intervals = np.concatenate([e.on_outputs[1] for e in items])
    classes, recipes, last = dict[Any, str | None](), list[str](), dict[Any, tuple[Any, str]]()
    for e in items:
        key = type(e.target), e.target
        if key not in classes:
            classes[key] = None if isinstance(e.target, (str, Output)) else encode(e.target)
        if key not in last or last[key][0] != e.recipe:  # else that of the row before, as of a shared sample
            last[key] = e.recipe, encode(e.recipe)
        recipes.append(last[key][1])
    rows = [e.values if own else () for e in items]
    flat, ends = list(chain.from_iterable(rows)), np.cumsum([0, *map(len, rows)], dtype=np.int32)
    told: list[list[str | None]] = [  # as JSON, in rows that have others than floats
        [] if set(map(type, row)) <= {float} else [None if type(v) is float else encode(v) for v in row]
        for row in rows
    ]
    packed = {
        "view": [None if e.view is None else pack_view(e.view) for e in items],
        "map": [None if e.map is None else pack_view(e.map) for e in items],
        "findings": [pack_findings(e.verdict) for e in items],
        "row_name": [pack(e.row) for e in items],
        "local_model": [pack_local(e) or None for e in items],
    }
    parsed = {key: [None if each is None else STRICT.encode(each) for each in packed[key]] for key in packed}
    spend(sum(len(text) for text in chain.from_iterable(parsed.values()) if text is not None))
    columns: dict[str, Any] = {
        **parsed,
        **{key: [getattr(e.verdict if key in JUDGMENT else e, key) for e in items] for key in FLAT},
        "target": [str(int(e.target)) if isinstance(e.target, Output) else safe_str(e.target) for e in items],
        "target_is_index": [isinstance(e.target, Output) for e in items],
        "target_class": [classes[type(e.target), e.target] for e in items],
        "recipe": recipes,
        "weights": (offsets, np.concatenate([e.on_outputs[0] for e in items])),
        "low": (offsets, intervals[:, 0]),
        "high": (offsets, intervals[:, 1]),
        "own": (ends, [value if type(value) is float else None for value in flat]),
        "own_texts": (np.cumsum([0, *map(len, told)], dtype=np.int32), list(chain.from_iterable(told))),
    }
    texts = {key: [getattr(p, name) for p in parts] for key, name in TEXTS.items()}
    texts["values"] = [encode(p.value) for p in parts]
    arrays = []
    for field in schema:
        if field.name in texts:  # each that repeats is written once
            inner = pa.array(texts[field.name], field.type.value_type).take(pa.array(codes))
            arrays.append(pa.ListArray.from_arrays(pa.array(offsets), inner))
        elif isinstance(columns[field.name], tuple):
            starts, inner = columns[field.name]
            arrays.append(pa.ListArray.from_arrays(pa.array(starts), pa.array(inner, field.type.value_type)))
        else:
            arrays.append(pa.array(columns[field.name], field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _packed_target(shown: str, is_index: bool, packed: str | None) -> Any:
    """The target of one row, as JSON has it."""
    return {"output": int(shown)} if is_index else shown if packed is None else {"class": parse(packed)}


def unpack_targets(table: Any) -> list[Any]:
    """The targets of a table of Arrow."""
    known: dict[Any, Any] = {}
    cells = list(zip(*(table.column(key).to_pylist() for key in TARGET), strict=True))
    for cell in cells:
        if cell not in known:
            known[cell] = unpack_target(_packed_target(*cell), Pool())
    return [known[cell] for cell in cells]


def distinct(parts: Sequence[Part]) -> tuple[Any, list[Part]]:
    """The number of each part, and the parts that have one; explanations of a table share theirs."""
    which = np.fromiter(map(id, parts), np.int64, len(parts))  # all of them are alive, so no number comes twice
    _, first, codes = np.unique(which, return_index=True, return_inverse=True)
    return codes, [parts[i] for i in first]


def _to_list(column: Any) -> list[Any]:
    """The values of a column of Arrow; of one with a dictionary, what repeats is one object."""
    found: list[Any] = []
    for chunk in column.chunks:
        if not hasattr(chunk, "dictionary"):
            found += chunk.to_pylist()
            continue
        words = chunk.dictionary.to_pylist()
        found += [None if i is None else words[i] for i in chunk.indices.to_pylist()]
    return found


@contextmanager
def as_unicode() -> Iterator[None]:
    """Texts as UTF-8, which lone surrogates cannot be."""
    try:
        yield
    except UnicodeEncodeError as cause:
        raise InputError("a text here is not valid Unicode: save as .json instead") from cause


def explanations_of(
    table: Any, pool: Pool, own: Sequence[Sequence[Any]] | None = None, names: Sequence[Any] | None = None
) -> Iterator[Explanation]:
    """The inverse of ``arrow_table``.

    ``own`` are the rows' own values and ``names`` their names, where the table is not what tells them.
    """
    lists = {key: table.column(key).combine_chunks() for key in (*TEXTS, "values", *ARRAYS)}
    offsets = lists["names"].offsets.to_numpy()
    if any(not np.array_equal(column.offsets.to_numpy(), offsets) for column in lists.values()):
        raise ValueError("the lists of a row differ in length")
    encoded = [lists[key].flatten().dictionary_encode() for key in (*TEXTS, "values")]
    texts = [np.array(e.dictionary.to_pylist(), dtype=object)[e.indices.to_numpy()] for e in encoded]
    parts = list(map(pool.part, *(column.tolist() for column in texts)))
    weights, low, high = (lists[key].flatten().to_numpy() for key in ARRAYS)
    intervals = np.stack([low, high], axis=1)
    own = own_of(table) if own is None else own
    numbers = table.column("row").to_pylist() if "row" in table.schema.names else [None] * table.num_rows
    flat = (*TARGET, *FLAT, "recipe", *UNSEEN)
    rows = zip(*(_to_list(table.column(name)) for name in flat), strict=True)
    for i, (cells, (start, stop)) in enumerate(zip(rows, pairwise(offsets.tolist()), strict=True)):
        row = dict(zip(flat, cells, strict=True))
        spend(sum(len(row[key] or "") for key in UNSEEN))
        row |= {key: parse(row[key] or "null") for key in UNSEEN}
        row["local_model"] = row["local_model"] or {}
        row["target"] = _packed_target(*(row[key] for key in TARGET))
        row["row"] = names[i] if names is not None else numbers[i] if row["row_name"] is None else row["row_name"]
        arrays = weights[start:stop], intervals[start:stop]
        yield assemble({**row, "own": own[i]}, tuple(parts[start:stop]), *arrays, pool.recipe(row["recipe"]), pool)


def own_of(table: Any) -> list[Sequence[Any]]:
    """The rows' own values, packed, of a table of Arrow."""
    found: list[Sequence[Any]] = []
    for numbers, texts in zip(*(table.column(name).to_pylist() for name in OWN), strict=True):
        pairs = zip(numbers or (), texts, strict=True) if texts else ()
        found.append([n if text is None else parse(text) for n, text in pairs] if texts else numbers or ())
    return found
