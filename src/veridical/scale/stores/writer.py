"""The writer of a store: first its manifest, then files of chunks that appear whole or not at all; and what reads both.

A run that was stopped goes on where it was, for what is there is whole. Two runs at once do no harm: the content
of a chunk depends on its rows alone, so whichever writes it last leaves what was there.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, require, tame
from veridical.records import VERSION, Explanation, Floats
from veridical.representations.tables.schema import Place, plain_values, read_values
from veridical.scale.stores.instances import KEPT, column_in, digest_of, instances_in, pack_instances
from veridical.storage.atomic_files import path_of, replacing_entry
from veridical.storage.codec import Pool, encode, pack, parse, unpack
from veridical.storage.schema import (
    ROWS,
    SCHEMA,
    arrow_schema,
    arrow_table,
    as_unicode,
    explanations_of,
    schema_error,
)

FLOATS = ("float", "double")
DIGEST = re.compile(r"[0-9a-f]{64}")
LARGEST = 2**53  # rows and calls that are counted
SURROGATES = "a name or text is not valid Unicode (it has a lone surrogate), which a store cannot hold: clean it"
PLACES = "own"  # in the metadata: the columns of the instances that the own values of parts are in
ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object in memory, which is another in every run


@dataclass(frozen=True)
class Head:
    """What a store is of: only a run that asks the same goes on with it."""

    recipe: Mapping[str, Any]  # method, target, classes and rng, as plain data
    represent: str  # what the representer does to the first rows, as a digest
    data: Mapping[str, str]  # digests of the rows, by kind: those that both runs know are compared
    answers: Floats | None  # (m, k) of the model to the first rows that it can answer; None if to none
    keep: tuple[str, ...]  # columns beside the model's
    chunk_rows: int  # rows per chunk
    n_rows: int | None = None  # None where that shows only at the end


@dataclass(frozen=True, eq=False)
class ExplainedChunk:
    """What the instances of a chunk came to."""

    number: int  # of the chunk
    start: int
    stop: int
    explanations: Sequence[Explanation | None]  # one per instance; None where it failed
    errors: Mapping[int, str]  # why, by number of the instance
    instances: Any  # as the representer takes them
    kept: pd.DataFrame | None  # columns that are not the model's
    n_calls: int  # inputs that the model was asked about
    names: Sequence[Any] | None = None  # of the instances, where they have names
    places: Sequence[Place] | None = None  # columns of the instances that the own values of parts are in


@dataclass(frozen=True)
class Receipt:
    """The file of a chunk in a few numbers."""

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
    """What a chunk says of itself, if it can be true."""
    found = Receipt(**body)
    counted = [each.name for each in fields(Receipt) if each.type == "int"]
    if not all(is_count(getattr(found, name)) for name in counted):
        raise ValueError("a count is not a whole number from 0 on")
    if not found.start < found.stop:
        raise ValueError("it holds no rows")
    if max(found.n_failed, found.n_passed, found.n_fidelity) > found.stop - found.start:
        raise ValueError("it counts more rows than it has")
    if type(found.fidelity) not in (int, float) or not math.isfinite(found.fidelity):
        raise ValueError("its fidelity is no number")
    if not isinstance(found.store, str):
        raise ValueError("its store has no name")
    if not isinstance(found.digest, str) or not DIGEST.fullmatch(found.digest):
        raise ValueError("its digest is not valid")
    return found


def is_count(value: Any) -> bool:
    """Whether a value is a whole number that a run may have counted to."""
    return type(value) is int and 0 <= value <= LARGEST


def pack_chunk(piece: ExplainedChunk, store: str) -> tuple[bytes, Receipt]:
    """The file of a chunk, and its receipt; the same content is the same bytes.

    The file has nothing where there is no explanation, and beside them all else that is known of the rows. It
    raises UnicodeEncodeError where texts are not valid Unicode.
    """
    pa, pq = require("pyarrow", extra="parquet"), require("pyarrow.parquet", extra="parquet")
    schema, items = arrow_schema(pa), [e for e in piece.explanations if e is not None]
    others, labels = pack_instances(piece.instances, piece.kept)
    derived = piece.places is not None and not all(name.startswith(KEPT) for name in others)
    if derived:  # the row's own values are those of the instance
        labels[PLACES] = json.dumps(piece.places)
    there = np.array([e is not None for e in piece.explanations], dtype=bool)
    if not items:
        table = pa.table({f.name: pa.nulls(len(there), f.type) for f in schema})
    else:
        table = arrow_table(items, schema, own=not derived)
        table = table if there.all() else table.take(pa.array(np.cumsum(there) - 1, mask=~there))
    rows, told = range(piece.start, piece.stop), {i: ADDRESS.sub("", tame(e)) for i, e in piece.errors.items()}
    names = [None] * len(there) if piece.names is None else [encode(name) for name in piece.names]
    named = pa.array(names, pa.string())
    table = table.set_column(table.schema.get_field_index("row_name"), "row_name", named)
    beside = {
        "row": pa.array(rows, pa.int64()),
        "error": pa.array([told.get(i) for i in rows], pa.string()),
        **others,
    }
    for name, column in beside.items():
        table = table.append_column(name, column)
    fidelities = [e.fidelity for e in items if np.isfinite(e.fidelity)]
    receipt = Receipt(
        piece.number,
        piece.start,
        piece.stop,
        store,
        n_failed=len(piece.explanations) - len(items),
        n_calls=int(piece.n_calls),
        n_passed=sum(e.verdict.passed for e in items),
        fidelity=max(-sys.float_info.max, min(float(sum(fidelities)), sys.float_info.max)),
        n_fidelity=len(fidelities),
        digest=f"{digest_of(table):064x}",
    )
    head = {"veridical": "explanations", "schema": str(SCHEMA), "version": VERSION, **labels}
    schema = table.schema.with_metadata({**head, "part": json.dumps(asdict(receipt))})
    stream, leaves = io.BytesIO(), {True: list[str](), False: list[str]()}
    for field in schema:
        path, kind = field.name, field.type
        while pa.types.is_list(kind):
            path, kind = f"{path}.list.element", kind.value_type
        leaves[str(kind) in FLOATS].append(path)  # floats hardly repeat
    known = {"use_dictionary": leaves[False], "use_byte_stream_split": leaves[True]}
    with pq.ParquetWriter(stream, schema, compression="zstd", write_page_checksum=True, **known) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=ROWS)
    return stream.getvalue(), receipt


def _fail_surrogates(piece: ExplainedChunk) -> ExplainedChunk:
    """A piece whose explanations with texts that are not valid Unicode have failed."""
    schema = arrow_schema(require("pyarrow", extra="parquet"))
    errors, kept = dict(piece.errors), list(piece.explanations)
    for i, e in enumerate(piece.explanations):
        if e is not None:
            try:
                arrow_table([e], schema)
            except (InputError, UnicodeEncodeError):
                kept[i], errors[piece.start + i] = None, SURROGATES
    if piece.start == 0 and not any(kept):
        raise InputError(SURROGATES)
    return replace(piece, explanations=kept, errors=errors)


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
            f"a chunk of the store does not say which columns its values are in ({cause!r:.200}): delete it, and "
            "call explain_many again to write it anew"
        ) from cause


def row_names_in(table: Any, named_by: str | None = None, numbers: Sequence[int] | None = None) -> list[Any]:
    """The name of each row of a table of Arrow, or its number."""
    kept: Any = table.column("row").to_pylist() if numbers is None else numbers
    if named_by is not None and named_by in table.schema.names:
        kept = plain_values(column_in(table, named_by).array)
    own = table.column("row_name").to_pylist()
    return [other if text is None else unpack(parse(text)) for text, other in zip(own, kept, strict=True)]


@contextmanager
def open_chunk(path: Path) -> Iterator[Any]:
    """The file of a chunk, as a ParquetFile; whatever it makes a decoder raise, the user hears what to do."""
    parquet = require("pyarrow.parquet", extra="parquet")
    try:
        if not path.is_file():  # a pipe would never end
            raise FileNotFoundError("there is no such file")
        with path.open("rb") as stream:
            yield parquet.ParquetFile(stream, page_checksum_verification=True)
    except InputError:
        raise
    except Exception as cause:
        raise damage_error(path, f"{cause!r:.300}") from cause


def damage_error(path: Path, why: str) -> InputError:
    """What to do about a file of a chunk that is not what was written."""
    return InputError(
        f"{path.name!r} of the store {str(path.parent)!r} is missing or damaged ({why}): delete it if it is "
        "there, and call explain_many again to write it anew"
    )


def read_explanations(table: Any, pool: Pool, named_by: str | None = None) -> Iterator[Explanation | str]:
    """The explanation of each row of a table of Arrow, or why there is none.

    ``named_by`` is the column that names rows which have no names of their own.
    """
    errors = table.column("error").to_pylist()
    good = table.filter(table.column("error").is_null())
    names = row_names_in(good, named_by)
    made = explanations_of(good, pool, own_values_in(good), names)
    for error in errors:
        yield next(made) if error is None else error


# The folder.
MANIFEST = "manifest.json"
WRITTEN = json.JSONEncoder(indent=1, allow_nan=False)


def read_manifest(path: Path) -> dict[str, Any]:
    """What the manifest says, if this version can read it."""
    try:
        written = (path / MANIFEST).read_bytes()
    except OSError as cause:
        raise InputError(f"{str(path)!r} is no store of explanations: it has no {MANIFEST}") from cause
    try:
        known = parse(written.decode())
        if known["veridical"] != "store" or not is_count(known["schema"]):
            raise ValueError("it is not the manifest of a store")
    except Exception as cause:  # whatever bytes make a decoder raise
        raise manifest_error(path, f"{cause!r:.200}") from cause
    if known["schema"] != SCHEMA:
        raise schema_error(known["schema"], known.get("version"), f"the store {str(path)!r}")
    for key, fits in FIELDS.items():
        valid = False
        with suppress(Exception):  # whatever a value that is none makes a decoder raise
            valid = fits(known[key])
        if not valid:
            raise manifest_error(path, f"its {key} is missing or not valid")
    return dict(known)


FIELDS: dict[str, Callable[[Any], bool]] = {  # of a manifest: whether a value can be that of one; or it raises
    **dict.fromkeys(("identity", "version", "represent"), lambda value: isinstance(value, str)),
    "recipe": lambda value: isinstance(value, dict),
    "data": lambda value: isinstance(value, dict) and all(isinstance(each, str) for each in value.values()),
    "keep": lambda value: isinstance(value, list) and all(isinstance(hash(unpack(each)), int) for each in value),
    "parts": lambda value: isinstance(value, list),
    "chunk_rows": lambda value: is_count(value) and value > 0,
    "n_shared_calls": is_count,
    "complete": lambda value: type(value) is bool,
    "n_rows": lambda value: value is None or is_count(value),
    "answers": lambda value: value is None or np.array(unpack(value), dtype=np.float64).ndim == 2,
}


def manifest_error(path: Path, why: str) -> InputError:
    return InputError(
        f"{MANIFEST} in {str(path)!r} is damaged, or was not written by veridical ({why}): give another folder"
    )


PART, PARTS = "part-{:06d}.parquet", re.compile(r"part-(\d{6,})\.parquet")  # the file of a chunk
STALE = 3600  # seconds after which nobody is writing a temporary file any more
CLOSE = 1e-5  # of the largest answer: how far answers of the same model may differ, on another machine


@dataclass(frozen=True)
class Folder:
    """Where the files of chunks go; small, for it travels to every worker."""

    path: Path
    identity: str  # of what the store is of
    chunk_rows: int
    complete: bool = False  # whether all rows were there when it was opened

    def put(self, piece: ExplainedChunk) -> Receipt:
        """Write the file of a chunk, whole or not at all."""
        try:
            payload, receipt = pack_chunk(piece, self.identity)
        except (InputError, UnicodeEncodeError):  # a lone surrogate somewhere
            with as_unicode():
                payload, receipt = pack_chunk(_fail_surrogates(piece), self.identity)
        try:
            with replacing_entry(self.path / PART.format(piece.number)) as stream:
                stream.write(payload)
        except InputError as cause:
            if not self.receipts([piece.number]):  # else another run has finished the store, and cleaned up
                raise InputError(f"{cause}; what is there stays, and the same call goes on with it") from cause
        return receipt

    def receipts(self, numbers: Iterable[int] | None = None) -> dict[int, Receipt]:
        """Of all chunks, or of these, that are there and whole, by number; none of another store, or broken."""
        found = dict[int, Receipt]()
        if numbers is None:
            numbers = sorted(int(m[1]) for p in self.path.iterdir() if (m := PARTS.fullmatch(p.name)))
        for number in numbers:
            with suppress(InputError, OSError), open_chunk(self.path / PART.format(number)) as file:
                receipt = receipt_from(parse(file.schema_arrow.metadata[b"part"].decode()))
                start, n_rows = number * self.chunk_rows, file.metadata.num_rows
                fits = receipt.start == start < receipt.stop == start + n_rows <= start + self.chunk_rows
                if fits and (receipt.number, receipt.store) == (number, self.identity):
                    found[number] = receipt
        return found


def has_store(path: str | Path) -> bool:
    """Whether there is a store in a folder; refuses what can be none."""
    require("pyarrow.parquet", extra="parquet")
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError(f"store wants the path of a folder, not {path!r}")
    where = path_of(path, "store")
    if where.exists() and not where.is_dir():
        raise InputError(f"the store {str(where)!r} is to be a folder, but a file has that name: give another")
    if not where.parent.is_dir():
        raise InputError(
            f"there is no folder {str(where.parent)!r} to make the store {where.name!r} in: create it"
        )
    others = [p.name for p in where.iterdir() if not p.name.startswith(".veridical-")] if where.exists() else []
    there = (where / MANIFEST).exists()
    if others and not there:
        raise InputError(
            f"{str(where)!r} holds other files ({others[0]!r:.60}) and no store: give a new or empty folder"
        )
    return there


def begin(path: str | Path, head: Head) -> tuple[Folder, dict[int, Receipt]]:
    """A new store, or one that goes on, and the chunks that are there already.

    A store that goes on keeps the size of chunks that it began with: ``Folder.chunk_rows``.
    """
    where = Path(path)
    asked = {
        "schema": SCHEMA,
        "version": VERSION,
        "recipe": pack(head.recipe),
        "represent": head.represent,
        "data": dict(head.data),
        "keep": pack(list(head.keep)),
        "chunk_rows": head.chunk_rows,
    }
    identity = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]
    answers = None if head.answers is None else pack(np.asarray(head.answers, dtype=np.float64).tolist())
    asked = {"veridical": "store", "identity": identity, **asked, "answers": answers, "n_rows": head.n_rows}
    if not has_store(where):
        try:
            where.mkdir(exist_ok=True)
        except OSError as cause:
            raise InputError(f"the store {str(where)!r} cannot be made: {cause.strerror or cause}") from cause
        begun = {**asked, "complete": False, "n_shared_calls": 0, "parts": []}
        temporary = where / f".veridical-{uuid.uuid4().hex}.tmp"
        try:
            with replacing_entry(temporary) as stream:
                stream.write(f"{WRITTEN.encode(begun)}\n".encode())
            try:
                os.link(temporary, where / MANIFEST)  # fails if it is there, and appears whole
            except FileExistsError:  # another run was quicker
                pass
            except OSError:  # a file system without links
                os.replace(temporary, where / MANIFEST)
        finally:
            temporary.unlink(missing_ok=True)
    known = read_manifest(where)
    folder = Folder(where.resolve(), str(known["identity"]), int(known["chunk_rows"]))
    there = folder.receipts()
    if any(known[key] != value for key, value in asked.items()):
        _check_same(known, asked, where, begun=bool(there))
    _clean(where, older=STALE)
    n_done = sum(receipt.stop - receipt.start for receipt in there.values())
    return replace(folder, complete=bool(known["complete"]) and n_done == known["n_rows"]), there


def finish(folder: Folder, n_rows: int, n_calls: int) -> None:
    """Write down that all rows are there; ``n_calls`` are those that all rows share."""
    receipts = folder.receipts()
    wanted = range(-(-n_rows // folder.chunk_rows))
    missing = [number for number in wanted if number not in receipts]
    if missing or sum(r.stop - r.start for r in receipts.values()) != n_rows:
        raise InputError(
            f"the store {str(folder.path)!r} does not hold {n_rows} rows: "
            f"chunks {missing[:5] or list(receipts)[-1:]} are missing or hold other rows; run again to go on"
        )
    known = {**read_manifest(folder.path), "complete": True, "n_rows": n_rows, "n_shared_calls": n_calls}
    if known["identity"] != folder.identity:
        raise InputError(
            f"the store {str(folder.path)!r} became one of something else meanwhile: give another folder"
        )
    known["parts"] = [{k: v for k, v in asdict(r).items() if k != "store"} for r in receipts.values()]
    try:
        with replacing_entry(folder.path / MANIFEST) as stream:
            stream.write(f"{WRITTEN.encode(known)}\n".encode())
    except InputError:
        if not read_manifest(folder.path)["complete"]:  # else another run was quicker, and cleaned up
            raise
    _clean(folder.path, older=0)


def _check_same(known: Mapping[str, Any], asked: Mapping[str, Any], path: Path, *, begun: bool) -> None:
    """Refuse to go on with a store of something else, and say what."""
    names = {"method": "the method", "target": "target", "classes": "classes", "rng": "the seed (rng)"}
    pairs = [(name, known["recipe"].get(key), asked["recipe"].get(key)) for key, name in names.items()]
    names = {"keep": "keep", "schema": "the schema", "version": "the version of veridical"}
    pairs += [(name, known[key], asked[key]) for key, name in names.items()]
    differ = [line for pair in pairs for line in _compare_settings(*pair)] + _compare_contents(known, asked)
    if differ:
        what = f"the store {str(path)!r} holds explanations of something else: {'; '.join(differ)}"
        do = "Give another folder, or ask for the same again to go on with this one"
        empty = "It was begun, and no row is in it yet: delete it, if no other run is at work there"
        raise InputError(f"{what}. {do if begun else empty}")


def _compare_settings(name: str, was: Any, now: Any) -> list[str]:
    """What differs of a setting, or of the settings in it."""
    if was == now:
        return []
    if isinstance(was, Mapping) and isinstance(now, Mapping) and was.get("name") == now.get("name"):
        inside = [_compare_settings(f"{key} of {name}", was.get(key), now.get(key)) for key in {**was, **now}]
        return [line for lines in inside for line in lines]
    return [f"{name} was {_abbreviate(was)}, and is {_abbreviate(now)}"]


def _compare_contents(known: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What differs of rows, representer and model."""
    found = []
    old, new = known["data"], asked["data"]
    differ = {key for key in old.keys() & new.keys() if old[key] != new[key]}
    if differ - {"names"}:
        found.append("the rows (X) are others than they were")
    elif differ:
        found.append("the rows (X) have other names (index labels) than they had")
    if None not in (known["n_rows"], asked["n_rows"]) and known["n_rows"] != asked["n_rows"]:
        found.append(f"X had {known['n_rows']:,} rows, and has {asked['n_rows']:,}")
    if not found and known["represent"] != asked["represent"]:
        found.append("the representer makes other parts of the first rows (another background, or other settings)")
    if not found and None not in (known["answers"], asked["answers"]):
        was, now = (np.array(unpack(each["answers"]), dtype=np.float64) for each in (known, asked))
        apart = np.inf if was.shape != now.shape else float(np.abs(was - now).max(initial=0.0))
        if was.shape != now.shape:
            found.append(f"the model gave answers of shape {was.shape} to the first rows, and gives {now.shape}")
        elif apart > CLOSE * float(np.abs(was).max(initial=0.0)):  # which another machine may round otherwise
            answers = f"the model's answers to the first {len(was)} rows differ by up to {apart:.3g}"
            found.append(f"{answers}: it is another model, or target function")
    return found


def _abbreviate(value: Any) -> str:
    if isinstance(value, Mapping) and "name" in value:
        return str(value["name"])
    text = repr(value) if value is None or isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _clean(path: Path, older: float) -> None:
    """Remove temporary files that a run which was killed left."""
    for left in path.glob(".veridical-*.tmp"):
        try:
            if time.time() - left.stat().st_mtime >= older:
                left.unlink()
        except OSError:  # another run was quicker
            continue
