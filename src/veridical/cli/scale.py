"""Explanations of many rows: worked on by an engine, kept in a folder as they are made."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from veridical import api
from veridical.attribute.factory import Factory
from veridical.cli.engines import engine_of
from veridical.cli.given import Given, given_by, matched, question_of, reading_of, track_of
from veridical.cli.names import words
from veridical.cli.say import say, tell
from veridical.cli.show import check_outs, painted, put
from veridical.errors import InputError
from veridical.read.large import Large, large_of, sampled
from veridical.read.records import TEXT
from veridical.records import Explanations
from veridical.render.progress import clock, speed
from veridical.represent.rows import Rows
from veridical.scale.stores.manifests import MANIFEST
from veridical.scale.stores.store import Store
from veridical_command import asked


def is_at_scale(given: asked.Explain) -> bool:
    """Whether an engine or a store is asked for, which no other option goes without."""
    if given.store is not None or given.engine is not None or given.workers is not None:
        return True
    if given.address is not None:
        raise InputError("--address is that of a cluster: say whose by --engine dask, ray or spark")
    if given.keep is not None:
        raise InputError("--keep is for columns that are stored beside explanations: say where by --store FOLDER")
    return False


def explain_at_scale(given: asked.Explain) -> int:
    """Explain all rows by an engine, into a folder where one is named."""
    check_many(given)
    about, X = in_files(given) or in_memory(given)
    if given.store is None:
        found: Explanations = explained(given, about, X)
        put(found, given)
        return int(given.fail and not all(each.verdict.passed for each in found))
    before, start = rows_there(given), time.monotonic()
    try:
        stored: Store = explained(given, about, X)
    except KeyboardInterrupt:
        say(f"what was done is in {given.store}: the same command goes on from there")
        raise
    report(given, stored, len(stored) - before, time.monotonic() - start)
    return code_of(given, stored)


def check_many(given: asked.Explain) -> None:
    """Refuse what is for one row, and files beside a store."""
    if given.row is not None:
        raise InputError("--row explains one row, and engines and stores are for many: leave one of them out")
    if given.store is None:
        check_outs(given, Explanations)
        if given.keep is not None:
            raise InputError("--keep is for columns that are stored beside explanations: say where by --store")
    elif given.out or given.json:
        raise InputError(
            "explanations go into the store as they are made: leave --out and --json out, and when it is done say "
            f"veridical show {given.store} --out FILE"
        )


def in_files(given: asked.Explain) -> tuple[Given, Any] | None:
    """The rows of tables that are read a little at a time, told by some of them; None for other data."""
    reading, keep = reading_of(given), kept(given)
    large = None if given.rows is not None else large_of(given.data, reading)
    if large is None:
        return None
    sample = sampled(large, reading, keep)
    about = matched(given, given.model, sample)
    if about.data.kind == TEXT:
        column = next(c for c in sample.instances if sample.instances[c].tolist() == about.data.items)
        large = replace(large, columns=(column, *keep))
    elif not isinstance(about.represent, Rows):
        return None
    tell(given, about.notes)
    return about, large


def in_memory(given: asked.Explain) -> tuple[Given, Any]:
    """Data that are read whole."""
    if given.keep is not None:
        raise InputError("--keep is for columns of Parquet and CSV files, of which all rows are explained")
    about = given_by(given, given.model, given.data)
    return about, about.X


def kept(given: asked.Explain) -> tuple[str, ...]:
    """The columns that are stored beside explanations; what rows are called is one."""
    names = [given.id] if given.id is not None and given.store is not None else []
    return tuple(dict.fromkeys([*names, *(words(given.keep) or ())]))


def rows_there(given: asked.Explain) -> int:
    """How many rows an earlier run has left; it is said."""
    folder = Path(given.store or "")
    if not (folder / MANIFEST).exists():
        return 0
    there = len(Store(folder))
    if there:
        tell(given, [f"{there:,} rows are in {given.store} already"])
    return there


def explained(given: asked.Explain, about: Given, X: Any) -> Any:
    """Explanations, or the folder that they are in."""
    question = question_of(given, about)
    place: dict[str, Any] = {"store": given.store, "keep": kept(given) if isinstance(X, Large) else ()}
    predict: Any = Factory(about.making)
    with engine_of(given) as engine:
        track = track_of(given, "rows")
        return api.explain_many(predict, about.represent, X, **question, **place, engine=engine, track=track)


def report(given: asked.Explain, found: Store, n: int, seconds: float) -> None:
    """What is in the folder, and how fast it came there."""
    if given.quiet:
        return
    print(painted(found), end="")
    say(f"{n:,} rows in {clock(seconds)}, {speed(n / seconds)} rows/s" if n else "all rows were there already")
    say(f"written: {given.store}")


def code_of(given: asked.Explain, found: Store) -> int:
    """How it went: rows without an explanation that can be believed count where it is asked for."""
    return int(given.fail and sum(receipt.n_passed for receipt in found.receipts) < len(found))
