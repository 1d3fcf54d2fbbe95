"""Records to files, and back: one versioned schema for JSON and Parquet.

What was saved is what is loaded: floats bit for bit, and names that repeat are one object.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from veridical.debug.audit import Audit
from veridical.errors import InputError, harmless, require
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Report
from veridical.files import path_of, replacing
from veridical.packing.audits import pack_audit, unpack_audit
from veridical.packing.columns import arrow_array, arrow_schema, as_unicode, columns, explanations_of
from veridical.packing.differences import pack_difference, unpack_difference
from veridical.packing.explanations import Pool, pack_explanation, pack_failures, pack_verdict
from veridical.packing.groups import pack_grouping, pack_membership, unpack_grouping, unpack_membership
from veridical.packing.limits import FACTOR, ROW, VALUE, allowed, bounded, counting, spend
from veridical.packing.picks import pack_pick, unpack_pick
from veridical.packing.reports import pack_report, unpack_report
from veridical.packing.values import STRICT, parse
from veridical.pages import Page
from veridical.records import VERSION, Explanation, Explanations, Failure, Verdict
from veridical.summarize.records import Grouping, Membership, Pick

if TYPE_CHECKING:
    from veridical.scale.stores.store import Store

Framed: TypeAlias = Verdict | Report | Audit | Difference | Pick | Grouping | Membership
Loaded: TypeAlias = Explanation | Explanations | Framed
Saved: TypeAlias = Loaded | Page
Reader: TypeAlias = Callable[[Any], Loaded]
Writers: TypeAlias = dict[str, Callable[[Any, BinaryIO], None]]

SCHEMA = 6  # raised when an older version would read less; docs/schema.md says what came when
FORMULAS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # what the formula of a spreadsheet may begin with
PARQUET = b"PAR1"  # how such a file begins
ROWS = 4096  # explanations a Parquet row group
NEEDED = {".parquet": ("pyarrow", "parquet"), **dict.fromkeys((".png", ".svg", ".pdf"), ("matplotlib", "plot"))}
KINDS: dict[type, str] = {
    Explanation: "explanation",
    Explanations: "explanations",
    Verdict: "verdict",
    Pick: "pick",
    Grouping: "grouping",
    Membership: "membership",
    Report: "report",
    Audit: "audit",
    Page: "page",
    Difference: "difference",
}
PACKERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Explanation: pack_explanation,
    Verdict: pack_verdict,
    Pick: pack_pick,
    Grouping: pack_grouping,
    Membership: pack_membership,
    Report: pack_report,
    Audit: pack_audit,
    Difference: pack_difference,
}
UNPACKERS: dict[str, Reader] = {
    "verdict": lambda body: Pool().verdict(body),
    "pick": unpack_pick,
    "grouping": unpack_grouping,
    "membership": unpack_membership,
    "report": unpack_report,
    "audit": unpack_audit,
    "difference": unpack_difference,
}


def save(record: Saved, path: str | Path) -> None:
    """Write a record; the suffix says how. The file appears whole or not at all."""
    target, write = path_of(path, "save"), writer_of(type(record), path)
    with replacing(target) as stream:
        write(record, stream)


def writer_of(kind: type, path: str | Path) -> Callable[[Any, BinaryIO], None]:
    """How a record of this type is written there, if it can be."""
    target, writers = path_of(path, "save"), _writers(kind)
    write = writers.get(target.suffix.lower())
    if write is None:
        known = ", ".join(writers)
        raise InputError(f"cannot save {KINDS[kind]} as {target.name!r}: the name must end in {known}")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {target.name!r}: there is no folder {str(target.parent)!r}; create it")
    if target.suffix.lower() in NEEDED:
        module, extra = NEEDED[target.suffix.lower()]
        require(module, extra=extra)
    return write


def _writers(kind: type) -> Writers:
    """How records of a type are written, by suffix."""
    figures: Writers = {f".{form}": partial(_write_figure, form) for form in ("png", "svg", "pdf")}
    if kind is Page:
        return {".html": _write_page, **figures}
    plain = kind in (Explanation, Explanations)
    found: Writers = {".json": write_json, ".parquet": _write_parquet if plain else _write_frame}
    found |= {".csv": _write_lines, ".html": _write_page}
    return found | figures | ({".xml": _write_tests} if kind is Audit else {})


def load(path: str | Path) -> Loaded | Store:
    """Read back what ``save`` wrote as .json or .parquet; a folder is opened as the store that it is."""
    source = path_of(path, "load")
    if source.is_dir():
        from veridical.scale.stores.store import Store

        return Store(source)
    read = READERS.get(source.suffix.lower())
    if read is None:
        there = "" if source.exists() else "there is no such store, and of a file "
        raise InputError(f"cannot load {source.name!r}: {there}the name must end in {', '.join(READERS)}")
    try:
        with source.open("rb") as stream:
            _check_start(stream, source)
            with bounded(source.stat().st_size):
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


def _write_page(record: Saved, stream: BinaryIO) -> None:
    from veridical.render.html import page

    whole = record if isinstance(record, Page) else Page(KINDS[type(record)].capitalize(), [("", record)])
    stream.write(page(whole).encode())


def _write_tests(record: Audit, stream: BinaryIO) -> None:
    from veridical.render.junit import junit

    stream.write(junit(record))


def _write_figure(form: str, record: Saved, stream: BinaryIO) -> None:
    from veridical.render.figures import write

    write(record, form, stream)


def _write_lines(record: Loaded, stream: BinaryIO) -> None:
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
    pa, kind = require("pyarrow", extra="parquet"), type(record)
    with as_unicode():
        frame = record.to_frame()
        try:
            table = pa.Table.from_pandas(frame, preserve_index=False)
        except (pa.ArrowException, OverflowError):  # targets of several kinds, which the record beside it has
            mixed = frame.columns[[kind.kind == "O" for kind in frame.dtypes]]
            table = pa.Table.from_pandas(frame.astype(dict.fromkeys(mixed, str)), preserve_index=False)
        with counting() as unfolded:
            whole = STRICT.encode(PACKERS[kind](record))
        head = {**_head(record), KINDS[kind]: whole, "checksum": _checksum(whole)}
        known = {**(table.schema.metadata or {}), **{key: str(value) for key, value in head.items()}}
        table = table.replace_schema_metadata(known)
        _write_tables([table], table.schema, stream, unfolded)


def _head(record: Saved) -> dict[str, Any]:
    return {"veridical": KINDS[type(record)], "schema": SCHEMA, "version": VERSION}


def _kind(head: Any, name: str) -> str:
    """The kind of record that a file says it holds, if this version can read it."""
    kind = head.get("veridical") if isinstance(head, dict) else None
    if kind not in UNPACKERS and kind not in ("explanation", "explanations"):
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


def _record(kind: str, items: Sequence[Explanation], failures: tuple[Failure, ...]) -> Explanation | Explanations:
    if kind == "explanations":
        return Explanations(tuple(items), failures)
    (only,) = items
    return only


def write_json(record: Loaded, stream: BinaryIO) -> None:
    """One line an item, so that a difference between two files can be read; a checksum of the lines at the end."""
    items, total, written = record.items if isinstance(record, Explanations) else (record,), 0, 0
    stream.write(json.dumps(_head(record))[:-1].encode() + b', "items": [')
    with counting() as unfolded:
        for i, item in enumerate(items):
            line = STRICT.encode(PACKERS[type(item)](item)).encode()
            total, written = zlib.crc32(line, total), written + len(line)
            stream.write((b",\n" if i else b"\n") + line)
    if unfolded[0] > allowed(written):  # else it could not be read again
        stream.write(b" " * (unfolded[0] // FACTOR - written))
    stream.write(b"\n]")
    if isinstance(record, Explanations) and record.failures:
        failed = STRICT.encode(pack_failures(record.failures)).encode()
        total = zlib.crc32(failed, total)
        stream.write(b', "failed": ' + failed)
    stream.write(f', "checksum": "{total:08x}"}}\n'.encode())


def _read_json(stream: BinaryIO, name: str) -> Loaded:
    with reading(name):
        document = parse(stream.read().decode("utf-8-sig"))
        kind, pool, items = _kind(document, name), Pool(), document["items"]
        told = [*items, *([document["failed"]] if "failed" in document else [])]
        _check_sum("".join(map(STRICT.encode, told)) if "checksum" in document else "", document, name)
        if kind in UNPACKERS:
            (body,) = items
            return UNPACKERS[kind](body)
        return _record(kind, [pool.explanation(body) for body in items], pool.failures(document.get("failed", ())))


def _checksum(content: str) -> str:
    return f"{zlib.crc32(content.encode()):08x}"


def _check_sum(content: str, head: Mapping[str, Any], name: str) -> None:
    """Refuse content that is not what was saved; files of older schemas have no checksum."""
    if head.get("checksum", "") not in ("", _checksum(content)):
        raise InputError(
            f"{name!r} is damaged, or was changed after it was saved: its checksum is that of another content. "
            "Save it again; to read what it holds all the same, take the checksum out"
        )


def _write_parquet(record: Explanation | Explanations, stream: BinaryIO) -> None:
    """One row an explanation, with lists for its parts."""
    pa = require("pyarrow", extra="parquet")
    items = record.items if isinstance(record, Explanations) else (record,)
    head = _head(record)
    if isinstance(record, Explanations) and record.failures:
        head["failed"] = STRICT.encode(pack_failures(record.failures))
        head["checksum"] = _checksum(head["failed"])
    schema = arrow_schema(pa).with_metadata({key: str(value) for key, value in head.items()})
    with counting() as unfolded:
        _write_tables(_tables(items, schema), schema, stream, unfolded, compression="zstd")


def _tables(items: Sequence[Explanation], schema: Any) -> Iterator[Any]:
    """Explanations as tables of Arrow, one for each row group."""
    pa = require("pyarrow", extra="parquet")
    for start in range(0, len(items), ROWS):
        made = columns(items[start : start + ROWS])
        arrays = [arrow_array(made[field.name], field.type, pa) for field in schema]
        yield pa.Table.from_arrays(arrays, schema=schema)


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
    stream.write(end[-size:])


def _read_parquet(stream: BinaryIO, name: str) -> Loaded:
    parquet = require("pyarrow.parquet", extra="parquet")
    with reading(name):
        file = parquet.ParquetFile(stream, page_checksum_verification=True)
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
        texts = [
            leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"
        ]  # each that repeats is held once
        file = parquet.ParquetFile(stream, page_checksum_verification=True, read_dictionary=texts)
        kind, pool, made = _kind(_parquet_head(file), name), Pool(), list[Explanation]()
        spend(_unfolded(file.metadata))
        written = {key.decode(): value.decode() for key, value in file.schema_arrow.metadata.items()}
        if kind in UNPACKERS:
            _check_sum(written[kind], written, name)
            return UNPACKERS[kind](parse(written[kind]))
        for group in range(file.num_row_groups):
            made += explanations_of(_explained(file.read_row_group(group)), pool)
        failed = written.get("failed", "[]")
        _check_sum(failed, written, name)
        return _record(kind, made, pool.failures(parse(failed)))


def _unfolded(metadata: Any) -> int:
    """Bytes that the rows and columns of a Parquet file take, at least."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    texts = sum(chunk.total_uncompressed_size for chunk in chunks)
    return int(metadata.num_rows * ROW + sum(chunk.num_values for chunk in chunks) * VALUE + texts)


def _explained(table: Any) -> Any:
    """A table of Arrow without rows that failed, of which only a part of a store has some."""
    return table.filter(table.column("error").is_null()) if "error" in table.schema.names else table


def _parquet_head(file: Any) -> dict[str, str]:
    written = file.schema_arrow.metadata or {}
    return {key: written.get(key.encode(), b"").decode() for key in ("veridical", "schema", "version")}


def columns_of(path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
    """Some columns of a Parquet file of many explanations, at most ``n_rows`` rows of a row group at a time.

    A column that files of an older schema do not have is left out; a name that ends in * is of all that begin so.
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


READERS = {".json": _read_json, ".parquet": _read_parquet}
