"""What commands read: a model, data, and how both are to be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.models.outputs import n_rows, rows_at
from veridical.protocols import Predict
from veridical.records import Record

TABLE, TEXT, PICTURE, SOUND, SERIES = KINDS = ("table", "text", "picture", "sound", "series")
ARRAY = "array"  # numbers of a file that does not say what they are
TABLES = "tables"  # several files of one table each


@dataclass(frozen=True, slots=True, eq=False)
class LoadOptions(Record):
    """How a model is read.

    ``trust`` says that the file is from someone whose programs may run here: a pickle is a program. ``output`` is
    the name of the output to explain, where a graph has several. ``pixels`` is what a network was trained on:
    "0..1", "0..255", or "imagenet" (from 0 to 1, less the mean of ImageNet's colors, by their spread).
    """

    trust: bool = False
    output: str | None = None
    pixels: str = "0..1"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel(Record):
    """A model as commands ask it, and what is known of the inputs that it takes."""

    predict: Predict
    classes: tuple[Any, ...] | None = None  # the names of its outputs
    kind: str | None = None  # of the instances that it takes
    columns: tuple[str, ...] | None = None  # of the table that it takes, in order
    exact: bool = True  # they must be called just so; else what is no letter or digit may be another
    width: int | None = None  # how many columns there are, where their names are not known
    arrays: bool = False  # it takes rows as arrays, not as tables with names
    shape: tuple[int | None, ...] | None = None  # of one instance, where it is no table row; None: any length
    pixels: str | None = None  # the scale that the bytes of pictures are brought to
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ReadOptions(Record):
    """How data are read.

    ``label`` is the column of right answers ("folder": the folders that files are in), ``index`` the column that
    names rows, ``columns`` those to keep, ``text`` the one that holds texts, ``dates`` those that hold dates.
    With ``lines``, each line of a text file is a text. ``encoding`` and ``separator`` are those of text files,
    where they cannot be told from their content.
    """

    label: str | None = None
    index: str | None = None
    columns: tuple[str, ...] | None = None
    text: str | None = None
    dates: tuple[str, ...] = ()
    lines: bool = False
    encoding: str | None = None
    separator: str | None = None


@dataclass(frozen=True, eq=False)
class LazyFiles(Sequence[Any]):
    """Pictures or sounds in files, each read when it is asked for: a folder may hold more than the memory does."""

    paths: tuple[Path, ...]
    read: Callable[[Path], Any]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: Any) -> Any:
        return replace(self, paths=self.paths[i]) if isinstance(i, slice) else self.read(self.paths[i])

    def map(self, change: Callable[[Any], Any]) -> LazyFiles:
        """The same, each changed after it was read."""
        return LazyFiles(self.paths, lambda path: change(self.read(path)))


@dataclass(frozen=True, slots=True, eq=False)
class Data(Record):
    """Instances, each with a name, and what they are."""

    items: Any  # a DataFrame, an array, a list of texts or arrays, or files
    names: tuple[str, ...]  # of the instances: of files, from an index, or numbers of rows
    kind: str
    labels: Any = None  # right answers, one an instance
    columns: tuple[str, ...] | None = None  # of a table
    text: str | None = None  # the column that holds texts, if one was named
    rate: float | None = None  # samples a second, of sounds
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return n_rows(self.items)

    @property
    def instances(self) -> Any:
        """All of them, as ``vd.explain_many`` takes them; files are read now."""
        return stack_equal(list(self.items)) if isinstance(self.items, LazyFiles) else self.items

    def instance(self, i: int) -> Any:
        """One of them, as ``vd.explain`` takes it."""
        if not -len(self) <= i < len(self):
            raise InputError(f"there is no row {i}: the data have {len(self)}, numbered from 0")
        i %= len(self)
        return self.items.iloc[[i]] if hasattr(self.items, "iloc") else self.items[i]

    def take(self, rows: Sequence[int]) -> Data:
        """These of them, in this order."""
        wrong = [i for i in rows if not 0 <= i < len(self)]
        if wrong:
            raise InputError(f"there is no row {wrong[0]}: the data have {len(self)}, numbered from 0")

        labels = None if self.labels is None else rows_at(self.labels, rows)
        names, items = tuple(self.names[i] for i in rows), self.items
        files = isinstance(items, LazyFiles)
        some = replace(items, paths=tuple(items.paths[i] for i in rows)) if files else rows_at(items, rows)
        return replace(self, items=some, names=names, labels=labels)

    def find_row(self, name: str) -> int:
        """The number of the instance of this name."""
        found = [i for i, own in enumerate(self.names) if own == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(
                f"{len(found)} rows are called {name!r}, numbers {', '.join(map(str, found[:8]))}: choose one by "
                f"its number, as in --rows {found[0]}:{found[0] + 1}"
            )
        raise InputError(f"no row is called {name!r}{suggest(name, self.names)}")


def stack_equal(arrays: list[Any]) -> Any:
    """One array, where all are of one shape."""
    return np.stack(arrays) if len({a.shape for a in arrays}) == 1 else arrays


def suggest(name: str, known: Sequence[str]) -> str:
    """The names that are most like one that is not known, for a message."""
    alike = get_close_matches(name, known, n=3, cutoff=0.5)
    if alike:
        return f"; did you mean {' or '.join(map(repr, alike))}?"
    few = ", ".join(map(repr, known[:8])) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    return f"; there are {few}" if few else ""
