"""Part files of a store: the explanations of some rows as Parquet, with what they are of beside them."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import InputError, require, tame
from veridical.packing.columns import arrow_array, arrow_schema, as_unicode, columns, explanations_of
from veridical.packing.explanations import Pool
from veridical.packing.values import encode, parse, unpack
from veridical.records import VERSION, Explanation
from veridical.represent.own_values import Place, plain_values, read_values
from veridical.scale.stores.beside import beside, column_in, instances_in, is_beside
from veridical.scale.stores.digests import digest_of
from veridical.serialize import ROWS, SCHEMA

FLOATS = ("float", "double")
DIGEST = re.compile(r"[0-9a-f]{64}")
LARGEST = 2**53  # rows and calls that are counted
SURROGATES = "a name or text is not valid Unicode (it has a lone surrogate), which a store cannot hold: clean it"
PLACES = "own"  # in the metadata: the columns of the instances that the own values of parts are in
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
Found: TypeAlias = Explanation | str  # the explanation of a row, or why there is none


@dataclass(frozen=True, eq=False)
class Piece:
    """What the instances of a chunk came to."""

    number: int  # of the chunk
    start: int
    stop: int
    explanations: Sequence[Explanation | None]  # one an instance; None where it failed
    errors: Mapping[int, str]  # why, by number of the instance
    instances: Any  # as the representer takes them
    kept: pd.DataFrame | None  # columns that are not the model's
    n_calls: int  # inputs that the model was asked about
    names: Sequence[Any] | None = None  # of the instances, where they have names
    places: Sequence[Place] | None = None  # columns of the instances that the own values of parts are in


@dataclass(frozen=True)
class Receipt:
    """A part file in a few numbers."""

    number: int
    start: int
    stop: int
    store: str
    n_failed: int
    n_calls: int
    n_passed: int  # explanations whose verdict is that they can be believed
    fidelity: float  # sum over explanations that have one
    n_fidelity: int  # how many these are
    digest: str  # of the content: sums of them, modulo 2^256, are that of all rows


def receipt_from(body: Any) -> Receipt:
    """What a part says of itself, if it can be true."""
    found = Receipt(**body)
    counted = [each.name for each in fields(Receipt) if each.type == "int"]
    if not all(is_count(getattr(found, name)) for name in counted):
        raise ValueError("a count is not a whole number from 0 on")
    if not found.start < found.stop:
        raise ValueError("it holds no rows")
    if max(found.n_failed, found.n_passed, found.n_fidelity) > found.stop - found.start:
        raise ValueError("it counts more rows than it has")
    if not _is_number(found.fidelity) or not isinstance(found.store, str):
        raise ValueError("its fidelity is no number, or its store has no name")
    if not isinstance(found.digest, str) or not DIGEST.fullmatch(found.digest):
        raise ValueError("its digest is not valid")
    return found


def is_count(value: Any) -> bool:
    """Whether a value is a whole number that a run may have counted to."""
    return type(value) is int and 0 <= value <= LARGEST


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def packed(piece: Piece, store: str) -> tuple[bytes, Receipt]:
    """A part file of a store, and its receipt; the same content is the same bytes."""
    pa, pq = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
    try:
        table, labels = _table(piece, pa)
    except InputError:  # a lone surrogate somewhere
        piece = _of_valid_texts(piece, pa)
        table, labels = _table(piece, pa)
    receipt = _receipt(piece, store, digest_of(table))
    head = {"veridical": "explanations", "schema": str(SCHEMA), "version": VERSION, **labels}
    schema = table.schema.with_metadata({**head, "part": json.dumps(asdict(receipt))})
    stream, leaves = io.BytesIO(), _leaves(schema, pa)
    with pq.ParquetWriter(
        stream,
        schema,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=[path for path, kind in leaves.items() if kind not in FLOATS],
        use_byte_stream_split=[path for path, kind in leaves.items() if kind in FLOATS],  # they hardly repeat
    ) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=ROWS)
    return stream.getvalue(), receipt


def _table(piece: Piece, pa: Any) -> tuple[Any, dict[str, str]]:
    """The explanations, with nothing where there is none, and all that stands beside them; and metadata."""
    schema, items = arrow_schema(pa), [e for e in piece.explanations if e is not None]
    with as_unicode():
        others, labels = beside(piece.instances, piece.kept)
    derived = piece.places is not None and any(map(is_beside, others))
    if derived:  # the row's own values are those of the instance
        labels[PLACES] = json.dumps(piece.places)
    if items:
        made = columns(items, own=not derived)
        table = pa.Table.from_arrays([arrow_array(made[f.name], f.type, pa) for f in schema], schema=schema)
    there = np.array([e is not None for e in piece.explanations], dtype=bool)
    if not items:
        table = pa.table({f.name: pa.nulls(len(there), f.type) for f in schema})
    elif not there.all():
        table = table.take(pa.array(np.cumsum(there) - 1, mask=~there))
    rows = range(piece.start, piece.stop)
    with as_unicode():
        errors = pa.array([_why(piece.errors[i]) if i in piece.errors else None for i in rows], pa.string())
        names = [None] * len(there) if piece.names is None else [encode(name) for name in piece.names]
    named = pa.array(names, pa.string())
    table = table.set_column(table.schema.get_field_index("row_name"), "row_name", named)
    for name, column in {"row": pa.array(rows, pa.int64()), "error": errors, **others}.items():
        table = table.append_column(name, column)
    return table, labels


def _of_valid_texts(piece: Piece, pa: Any) -> Piece:
    """A piece whose explanations with texts that are not valid Unicode have failed."""
    schema, errors, kept = arrow_schema(pa), dict(piece.errors), list(piece.explanations)
    for i, e in enumerate(piece.explanations):
        if e is not None:
            made = columns([e])
            try:
                for field in schema:
                    arrow_array(made[field.name], field.type, pa)
            except InputError:
                kept[i], errors[piece.start + i] = None, SURROGATES
    if piece.start == 0 and not any(kept):
        raise InputError(SURROGATES)
    return replace(piece, explanations=kept, errors=errors)


def _why(error: str) -> str:
    """Why a row failed, the same in every run: where objects lie in memory is not."""
    return ADDRESS.sub("", tame(error))


def _receipt(piece: Piece, store: str, digest: int) -> Receipt:
    items = [e for e in piece.explanations if e is not None]
    fidelities = [e.fidelity for e in items if np.isfinite(e.fidelity)]
    return Receipt(
        piece.number,
        piece.start,
        piece.stop,
        store,
        n_failed=len(piece.explanations) - len(items),
        n_calls=int(piece.n_calls),
        n_passed=sum(e.verdict.passed for e in items),
        fidelity=max(-sys.float_info.max, min(float(sum(fidelities)), sys.float_info.max)),
        n_fidelity=len(fidelities),
        digest=f"{digest:064x}",
    )


def _leaves(schema: Any, pa: Any) -> dict[str, str]:
    """Paths of the columns as Parquet has them, and the types of their values."""
    found = {}
    for field in schema:
        path, kind = field.name, field.type
        while pa.types.is_list(kind):
            path, kind = f"{path}.list.element", kind.value_type
        found[path] = str(kind)
    return found


def own_values_in(table: Any) -> list[tuple[Any, ...]] | None:
    """The own values of rows that are read off the instances; None where they are stored beside them."""
    written = (table.schema.metadata or {}).get(PLACES.encode())
    if written is None or not table.num_rows:
        return None
    try:
        places = [(tuple(map(int, columns)), tuple(map(str, names))) for columns, names in parse(written.decode())]
        return read_values(instances_in(table), places)
    except Exception as cause:  # whatever a damaged part makes a decoder raise
        raise InputError(
            f"a part of the store does not say which columns its values are in ({cause!r:.200}): delete it, and "
            "call explain_many again to write it anew"
        ) from cause


def row_names_in(table: Any, named_by: str | None = None, numbers: Sequence[int] | None = None) -> list[Any]:
    """The name of each row of a table of Arrow, or its number."""
    numbers = table.column("row").to_pylist() if numbers is None else numbers
    known = set(table.schema.names)
    kept = (
        plain_values(column_in(table, named_by).array) if named_by is not None and named_by in known else numbers
    )
    own = table.column("row_name").to_pylist() if "row_name" in known else [None] * len(numbers)
    return [other if text is None else unpack(parse(text)) for text, other in zip(own, kept, strict=True)]


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A part file, as a ParquetFile; whatever it makes a decoder raise, the user hears what to do."""
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError("there is no such file")
        with path.open("rb") as stream:
            yield parquet.ParquetFile(stream, page_checksum_verification=True)
    except InputError:
        raise
    except Exception as cause:
        raise damaged(path, f"{cause!r:.300}") from cause


def damaged(path: Path, why: str) -> InputError:
    """What to do about a part file that is not what was written."""
    return InputError(
        f"{path.name!r} of the store {str(path.parent)!r} is missing or damaged ({why}): delete it if it is "
        "there, and call explain_many again to write it anew"
    )


def receipt_of(file: Any) -> Receipt:
    """What a part file says of itself, of an open ParquetFile."""
    written = (file.schema_arrow.metadata or {}).get(b"part")
    if written is None:
        raise InputError("this is no part of a store")
    found = receipt_from(parse(written.decode()))
    if file.metadata.num_rows != found.stop - found.start:
        raise ValueError(f"{file.metadata.num_rows} rows where {found.stop - found.start} were written")
    return found


def found_in(table: Any, pool: Pool, named_by: str | None = None) -> Iterator[Found]:
    """The explanation of each row of a table of Arrow, or why there is none.

    ``named_by`` is the column that names rows which have no names of their own.
    """
    errors = table.column("error").to_pylist()
    good = table.filter(table.column("error").is_null())
    names = row_names_in(good, named_by)
    made = explanations_of(good, pool, own_values_in(good), names)
    for error in errors:
        yield next(made) if error is None else error
