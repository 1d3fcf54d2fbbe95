"""The folder of a store: a manifest that says what it is of, and part files that appear whole or not at all.

A run that was stopped goes on where it was, for what is there is whole. Two runs at once do no harm: the content
of a part depends on its rows alone, so whichever writes it last leaves what was there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError, require
from veridical.files import path_of, replacing_entry
from veridical.packing.values import pack, unpack
from veridical.records import VERSION
from veridical.scale.stores.digests import MODULUS
from veridical.scale.stores.heads import Head
from veridical.scale.stores.manifests import MANIFEST, read_manifest, receipts_in
from veridical.scale.stores.parts import Piece, Receipt, opened, packed, receipt_of
from veridical.serialize import SCHEMA

PART = re.compile(r"part-(\d{6,})\.parquet")
STALE = 3600  # seconds after which nobody is writing a temporary file any more
CLOSE = 1e-5  # of the largest answer: how far answers of the same model may differ, on another machine


@dataclass(frozen=True)
class Folder:
    """Where part files go; small, for it travels to every worker."""

    path: Path
    identity: str  # of what the store is of
    chunk_rows: int

    def put(self, piece: Piece) -> Receipt:
        """Write a part file, whole or not at all."""
        payload, receipt = packed(piece, self.identity)
        try:
            with replacing_entry(part_path(self.path, piece.number)) as stream:
                stream.write(payload)
        except InputError as cause:
            if self.receipt(piece.number) is None:  # else another run has finished the store, and cleaned up
                raise InputError(f"{cause}; what is there stays, and the same call goes on with it") from cause
        return receipt

    def receipt(self, number: int) -> Receipt | None:
        """Of a part that is there and whole; one of another store, or one that cannot be read, is none."""
        try:
            with opened(part_path(self.path, number)) as file:
                found = receipt_of(file)
        except (InputError, OSError):
            return None
        start = number * self.chunk_rows
        whole = found.number == number and found.start == start < found.stop <= start + self.chunk_rows
        return found if whole and found.store == self.identity else None

    def receipts(self) -> dict[int, Receipt]:
        """Of all parts that are there and whole, by number."""
        numbers = sorted(int(m[1]) for p in self.path.iterdir() if (m := PART.fullmatch(p.name)))
        found = ((number, self.receipt(number)) for number in numbers)
        return {number: receipt for number, receipt in found if receipt is not None}


def part_path(path: Path, number: int) -> Path:
    """Where a part of a store is."""
    return path / f"part-{number:06d}.parquet"


def begun(path: str | Path) -> bool:
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
    """A new store, or one that goes on, and the parts that are there already.

    A store that goes on keeps the rows a part that it began with: ``Folder.chunk_rows``.
    """
    where = Path(path)
    if not begun(where):
        try:
            where.mkdir(exist_ok=True)
        except OSError as cause:
            raise InputError(f"the store {str(where)!r} cannot be made: {cause.strerror or cause}") from cause
        _create(where, _written(head))
    known = read_manifest(where)
    folder = Folder(where.resolve(), str(known["identity"]), int(known["chunk_rows"]))
    there = folder.receipts()
    _check_same(known, _written(head), where, begun=bool(there))
    _clean(where, older=STALE)
    return folder, there


def finish(folder: Folder, n_rows: int, n_calls: int) -> None:
    """Write down that all rows are there; ``n_calls`` are those that all rows share."""
    receipts = folder.receipts()
    wanted = range(-(-n_rows // folder.chunk_rows))
    missing = [number for number in wanted if number not in receipts]
    if missing or sum(r.stop - r.start for r in receipts.values()) != n_rows:
        raise InputError(
            f"the store {str(folder.path)!r} does not hold {n_rows} rows: "
            f"parts {missing[:5] or list(receipts)[-1:]} are missing or hold other rows; run again to go on"
        )
    known = {**read_manifest(folder.path), "complete": True, "n_rows": n_rows, "n_shared_calls": n_calls}
    if known["identity"] != folder.identity:
        raise InputError(
            f"the store {str(folder.path)!r} became one of something else meanwhile: give another folder"
        )
    known["parts"] = [{k: v for k, v in asdict(r).items() if k != "store"} for r in receipts.values()]
    try:
        with replacing_entry(folder.path / MANIFEST) as stream:
            stream.write(_bytes(known))
    except InputError:
        if not read_manifest(folder.path)["complete"]:  # else another run was quicker, and cleaned up
            raise
    _clean(folder.path, older=0)


def is_complete(folder: Folder, receipts: Mapping[int, Receipt]) -> bool:
    """Whether all rows were there once, and still are."""
    known = read_manifest(folder.path)
    return bool(known["complete"]) and sum(r.stop - r.start for r in receipts.values()) == known["n_rows"]


def known_receipts(path: Path, manifest: Mapping[str, Any]) -> tuple[Receipt, ...]:
    """Of all parts that are there: as the manifest of a complete store has them, else as they say themselves."""
    if manifest["complete"]:
        return receipts_in(path, manifest)
    folder = Folder(path, str(manifest["identity"]), int(manifest["chunk_rows"]))
    return tuple(folder.receipts().values())


def fingerprint(digests: list[str]) -> str:
    """The content of all parts as one number, in hexadecimal."""
    return f"{sum(int(each, 16) for each in digests) % MODULUS:064x}"


def _written(head: Head) -> dict[str, Any]:
    """A manifest at the beginning."""
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
    more: dict[str, Any] = {
        "answers": answers,
        "n_rows": head.n_rows,
        "complete": False,
        "n_shared_calls": 0,
        "parts": [],
    }
    return {"veridical": "store", "identity": identity, **asked, **more}


def _check_same(known: Mapping[str, Any], asked: Mapping[str, Any], path: Path, *, begun: bool) -> None:
    """Refuse to go on with a store of something else, and say what."""
    differ = [*_settings(known, asked), *_contents(known, asked)]
    if differ:
        what = f"the store {str(path)!r} holds explanations of something else: {'; '.join(differ)}"
        do = "Give another folder, or ask for the same again to go on with this one"
        empty = "It was begun, and no row is in it yet: delete it, if no other run is at work there"
        raise InputError(f"{what}. {do if begun else empty}")


def _settings(known: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What was asked for otherwise."""
    names = {"method": "the method", "target": "target", "classes": "classes", "rng": "the seed (rng)"}
    found = [_told(names[key], known["recipe"].get(key), asked["recipe"].get(key)) for key in names]
    names = {"keep": "keep", "schema": "the schema", "version": "the version of veridical"}
    found += [_told(names[key], known[key], asked[key]) for key in names]
    return [line for lines in found for line in lines]


def _told(name: str, was: Any, now: Any) -> list[str]:
    """What differs of a setting, or of the settings in it."""
    if was == now:
        return []
    if isinstance(was, Mapping) and isinstance(now, Mapping) and was.get("name") == now.get("name"):
        inside = [_told(f"{key} of {name}", was.get(key), now.get(key)) for key in {**was, **now}]
        return [line for lines in inside for line in lines]
    return [f"{name} was {_short(was)}, and is {_short(now)}"]


def _contents(known: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
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
        found += _answers(known["answers"], asked["answers"])
    return found


def _answers(old: Any, new: Any) -> list[str]:
    """Whether the model answers the first rows as it did, up to what another machine may round otherwise."""
    was, now = (np.array(unpack(each), dtype=np.float64) for each in (old, new))
    if was.shape != now.shape:
        return [f"the model gave answers of shape {was.shape} to the first rows, and gives {now.shape}"]
    apart = float(np.abs(was - now).max(initial=0.0))
    if apart <= CLOSE * float(np.abs(was).max(initial=0.0)):
        return []
    differ = f"the model's answers to the first {len(was)} rows differ by up to {apart:.3g}"
    return [f"{differ}: it is another model, or target function"]


def _short(value: Any) -> str:
    if isinstance(value, Mapping) and "name" in value:
        return str(value["name"])
    text = repr(value) if value is None or isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _create(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write the manifest unless another run was quicker."""
    temporary = path / f".veridical-{uuid.uuid4().hex}.tmp"
    try:
        with replacing_entry(temporary) as stream:
            stream.write(_bytes(manifest))
        try:
            os.link(temporary, path / MANIFEST)  # fails if it is there, and appears whole
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.replace(temporary, path / MANIFEST)
    finally:
        temporary.unlink(missing_ok=True)


def _bytes(manifest: Mapping[str, Any]) -> bytes:
    return (json.dumps(manifest, indent=1, allow_nan=False) + "\n").encode()


def _clean(path: Path, older: float) -> None:
    """Remove temporary files that a run which was killed left."""
    for left in path.glob(".veridical-*.tmp"):
        try:
            if time.time() - left.stat().st_mtime >= older:
                left.unlink()
        except OSError:  # another run was quicker
            continue
