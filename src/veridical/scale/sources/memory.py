"""What a source of instances is, and instances that are all in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

import pandas as pd
from scipy.sparse import issparse

from veridical.attribute.ask import n_rows
from veridical.errors import InputError
from veridical.represent.regions import is_tensor
from veridical.represent.row_names import split_names
from veridical.scale.work import Chunk, taken

OWNERS = {"dask": "Dask(client)", "ray": "Ray()", "pyspark": "Spark(session)"}  # by package of their tables


class Source(Protocol):
    """Instances with numbers 0…n−1."""

    @property
    def n_rows(self) -> int | None:
        """How many there are, if it is known before all have been seen."""
        ...

    def head(self, n: int) -> Any:
        """The first n of them, or all if there are fewer."""
        ...

    def chunks(self, size: int) -> Iterator[Chunk]:
        """All of them in order, ``size`` at a time; chunks are made when they are asked for."""
        ...


@dataclass(frozen=True, eq=False)
class Given:
    """Instances that travel with their chunk."""

    X: Any

    def __call__(self) -> Any:
        return self.X


@dataclass(frozen=True, eq=False)
class InMemory:
    """Instances that are all here: a table, an array, a sparse matrix or a list."""

    X: Any
    names: Sequence[Any] | None = None  # of the instances, where they have names

    @classmethod
    def of(cls, X: Any, represent: Any = None) -> InMemory:
        """Any collection of instances."""
        refuse_foreign(X)
        X, names = split_names(represent, X)
        if issparse(X):
            X = cast(Any, X).tocsr()
        if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
            what = repr(X) if isinstance(X, str) else type(X).__name__
            raise InputError(f"X must be many instances, or paths of .parquet, .csv or .tsv files, not {what:.60}")
        if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
            X = list(X)
        if not n_rows(X):
            raise InputError("there are no rows to explain: X is empty")
        return cls(X, names)

    @property
    def n_rows(self) -> int:
        return n_rows(self.X)

    def head(self, n: int) -> Any:
        return taken(self.X, slice(0, n))

    def chunks(self, size: int) -> Iterator[Chunk]:
        for number, start in enumerate(range(0, self.n_rows, size)):
            stop = min(start + size, self.n_rows)
            own = taken(self.X, slice(start, stop))
            given = Given(own.clone() if is_tensor(own) else own)  # else all of it travels
            yield Chunk(number, start, stop, given, None if self.names is None else self.names[start:stop])


def refuse_foreign(X: Any) -> None:
    """Refuse a table of an engine that is not the one at work."""
    package = type(X).__module__.partition(".")[0]
    if package in OWNERS:
        raise InputError(f"X is a {type(X).__name__} of {package}: pass engine=vd.engines.{OWNERS[package]}")


def check_columns(path: Path, columns: Sequence[str], first: Path, wanted: Sequence[str]) -> None:
    if list(columns) != list(wanted):
        odd = sorted(set(columns) ^ set(wanted)) or list(columns)
        raise InputError(f"{path} has other columns than {first}, or in another order: {', '.join(odd[:5])}")


def counted(frames: Iterator[pd.DataFrame]) -> Iterator[Chunk]:
    """Chunks of rows that are read here."""
    start = 0
    for number, frame in enumerate(frames):
        yield Chunk(number, start, start + len(frame), Given(frame))
        start += len(frame)
