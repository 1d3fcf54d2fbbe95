"""Records that mix tables, text, pictures, sounds and series: one surrogate over the parts of every field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.masks import Gaussian, child_of, generator
from veridical.records import (
    Bools,
    Design,
    Floats,
    Kernel,
    Movable,
    Part,
    Removable,
    Replacement,
    Representation,
    Sample,
    Seed,
    Step,
    View,
    replacement_of,
)
from veridical.represent.foreign import as_pandas
from veridical.represent.masked import AT_ONCE, Composed, Listed, Masked, NoParts, unique, with_data
from veridical.represent.rows import Rows


@dataclass(frozen=True)
class PerField:
    """A proximity for each field: a record is as near as the product of them says."""

    kernels: tuple[Kernel, ...]

    def __call__(self, distances: Floats) -> Floats:
        raise InputError("every field has distances of its own: ask the field's kernel")

    def scaled(self, width: float) -> PerField:
        """All of them wider or narrower."""
        return PerField(tuple(k.scaled(width) if isinstance(k, Gaussian) else k for k in self.kernels))


class Fields:
    """The fields of a record, each with a representer of its own.

    A record is a mapping, and the model is asked about lists of them; or a row of a DataFrame, and it is asked
    about DataFrames. A field of ``Rows`` holds a value, a mapping of columns to values, or has its columns among
    the record's own. Fields that are not named here stay as they are. Fields vary independently, each by its own
    law.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        if not isinstance(fields, Mapping) or not fields:
            raise InputError(
                "Fields wants a mapping of field names to representers, such as {'review': vd.Words()}"
            )
        for name, represent in fields.items():
            if not callable(represent) or not hasattr(represent, "each") or isinstance(represent, type):
                raise InputError(f"the field {name!r} wants a representer such as vd.Words(), not {represent!r}")
            if isinstance(represent, Fields):
                raise InputError(f"the field {name!r} is made of fields itself: name those here instead")
        self.fields = dict(fields)

    def __call__(self, x: Any) -> Representation:
        x = as_pandas(x)
        record = _as_mapping(x)
        found = [Field.of(name, represent, record) for name, represent in self.fields.items()]
        some = [f for f in found if f.representation is not None]
        taken = [column for f in some for column in (f.columns or (f.name,))]
        twice = sorted({str(column) for column in taken if taken.count(column) > 1})
        if twice:
            raise InputError(
                f"two fields change the same column: {', '.join(twice)}; each may be in one field only"
            )
        if sum(len(f.names) for f in some) < 2:
            raise InputError(
                "the record has fewer than two parts to compare: give it longer fields, or more of them"
            )
        empty = tuple(f"the field {f.name!r} has nothing to take away" for f in found if f.representation is None)
        return Mixed(x, record, tuple(some), empty)

    def each(self, X: Any) -> Listed:
        """Many records."""
        X = as_pandas(X)
        rows = [X.iloc[[i]] for i in range(len(X))] if isinstance(X, pd.DataFrame) else X
        return Listed.of(self, rows, "records")

    def __repr__(self) -> str:
        return f"Fields({self.fields!r})"


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a record, as parts."""

    name: str
    representation: Representation | None  # None if there is nothing to take away
    columns: tuple[Any, ...] | None = None  # of the record, that a table field takes; None if it is one value
    nested: Any = None  # the value itself, if it holds the columns of a table
    shown: str = ""

    @classmethod
    def of(cls, name: str, represent: Any, record: Mapping[Any, Any]) -> Field:
        try:
            if isinstance(represent, Rows):
                return cls._table(name, represent, record)
            if name not in record:
                raise InputError(_missing(name, record))
            value = record[name]
            parts_of = getattr(represent, "parts_of", None)
            return cls(name, represent(value) if parts_of is None else parts_of(value, least=1))
        except NoParts:
            return cls(name, None)
        except InputError as cause:
            raise InputError(f"the field {name!r}: {cause}") from cause

    @classmethod
    def _table(cls, name: str, rows: Rows, record: Mapping[Any, Any]) -> Field:
        columns = tuple(rows.names)
        if name in record:
            value = record[name]
            nested = isinstance(value, (Mapping, pd.Series)) or len(columns) > 1 or np.ndim(value) > 0
            row = value if nested else {columns[0]: value}
            return cls(name, rows(row), None, value if nested else None, str(value))
        if not all(column in record for column in columns):
            raise InputError(_missing(name, record, columns))
        own = {column: record[column] for column in columns}
        return cls(name, rows(own), columns, None, ", ".join(f"{c} = {v}" for c, v in own.items()))

    @property
    def names(self) -> tuple[str, ...]:
        return () if self.representation is None else self.representation.names

    def parts(self) -> list[Part]:
        """The parts, named after the field where they do not name a column themselves."""
        of_table = not isinstance(self.representation, Masked)
        own = () if self.representation is None else self.representation.parts
        return [
            replace(part, name=part.name if of_table else f"{self.name}: {part.name}", column=self.name)
            for part in own
        ]

    def write(self, columns: dict[Any, Any], inputs: Any) -> None:
        """Put inputs of this field among the columns of a batch of records."""
        if isinstance(self.representation, Masked):
            columns[self.name] = list(inputs)
        elif self.columns is not None:
            for j, column in enumerate(self.columns):
                columns[column] = _column(inputs, j)
        elif self.nested is not None:
            rows = zip(*(_column(inputs, j) for j in range(inputs.shape[1])), strict=True)
            names = list(inputs.columns) if hasattr(inputs, "columns") else list(range(inputs.shape[1]))
            columns[self.name] = [_like(self.nested, names, row) for row in rows]
        else:
            columns[self.name] = _column(inputs, 0)


@dataclass(frozen=True, eq=False)
class Mixed:
    """A record as the parts of its fields."""

    x: Any
    record: Mapping[Any, Any]
    fields: tuple[Field, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        parts = [part for field in self.fields for part in field.parts()]
        names = unique([part.name for part in parts])
        return tuple(replace(part, name=name) for part, name in zip(parts, names, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The record's own value for each part of a table field, None for parts of others; empty without any."""
        own = [(len(field.names), getattr(field.representation, "own_values", ())) for field in self.fields]
        return tuple(v for n, values in own for v in values or (None,) * n) if any(v for _, v in own) else ()

    @property
    def kernel(self) -> PerField:
        return PerField(tuple(r.kernel for r in self._representations))

    @property
    def replacement(self) -> Replacement:
        """Which parts of each field are as they were where they are taken away."""
        every = [replacement_of(own) for own in self._representations]
        pairs = zip(self.fields, every, strict=True)
        notes = [f"the field {field.name!r}: {note}" for field, own in pairs for note in own.notes]
        return Replacement(np.concatenate([own.unchanged for own in every]), tuple(notes))

    @property
    def _representations(self) -> list[Representation]:
        return [f.representation for f in self.fields if f.representation is not None]

    @property
    def view(self) -> View:
        shown: dict[str, Any] = {}
        first = 0
        for field in self.fields:
            own = with_data(getattr(field.representation, "view", None))
            shown[field.name] = (first, len(field.names), field.shown if own is None else own)
            first += len(field.names)
        return View("fields", {"fields": shown})

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Every field by its own law, put side by side in an order of its own, so that they are independent."""
        kernels = kernel.kernels if isinstance(kernel, PerField) else (kernel,) * len(self.fields)
        samples, orders, cluster = list[Sample](), [], 1
        for i, (own, near) in enumerate(zip(self._representations, kernels, strict=True)):
            child = child_of(seed, 4, i)
            samples.append(own.draw(near, child, start, stop))
            cluster = max(cluster, samples[-1].design.cluster)
            orders.append(_order(stop - start, samples[-1].design.cluster, generator(child, 5, start), start == 0))
        designs = np.hstack([s.designs[order] for s, order in zip(samples, orders, strict=True)])
        weights = np.ones(len(designs))
        for s, order in zip(samples, orders, strict=True):
            weights *= s.weights[order] / s.weights[int(start == 0) :].mean()
        shares = np.concatenate([s.design.shares for s in samples])
        return Sample(designs, weights, tuple(zip(samples, orders, strict=True)), Design(shares, cluster=cluster))

    @property
    def fewest(self) -> int:
        """Samples below which parts could not be told apart."""
        return 3 * len(self.names)

    def enumerate(self, kernel: Kernel, limit: int) -> None:
        return None

    def realize(self, sample: Sample) -> Records:
        """Records of the kind that the instance is."""
        made = []
        for own, (drawn, order) in zip(self._representations, sample.values, strict=True):
            inputs = own.realize(drawn)
            if isinstance(inputs, Composed):
                made.append(Composed(inputs.compose, inputs.designs[order]))
            else:
                made.append(inputs.iloc[order] if hasattr(inputs, "iloc") else inputs[order])
        return Records(self, tuple(made), len(sample.designs))

    @property
    def steady(self) -> bool:
        """Whether every field is."""
        return all(getattr(own, "steady", False) for own in self._representations)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """Every field moved as it can be."""
        steps = list[Step]()
        for i, field in enumerate(self.fields):
            if not isinstance(field.representation, Movable):
                raise InputError(
                    f"the parts of the field {field.name!r} cannot be moved a little: its representation has no "
                    "step, which Movable asks for"
                )
            steps.append(field.representation.step(size, child_of(seed, 4, i), n_blocks))
        says = "; ".join(f"{field.name}: {step.says}" for field, step in zip(self.fields, steps, strict=True))
        ahead, back = ([getattr(step, way) for step in steps] for way in ("ahead", "back"))
        both = np.concatenate([step.both for step in steps])
        still = np.concatenate(
            [np.zeros(len(step.both), bool) if step.still is None else step.still for step in steps]
        )
        drawn = any(s.drawn for s in steps)
        return Step(partial(self._moved, ahead), partial(self._moved, back), both, drawn, says, still)

    def _moved(self, ways: Sequence[Callable[[Bools], Any]], masks: Bools) -> Records:
        """Records whose fields keep their own parts of each mask; the others are moved."""
        ends = np.cumsum([len(field.names) for field in self.fields])[:-1]
        own = np.split(masks, ends, axis=1)
        return Records(self, tuple(way(some) for way, some in zip(ways, own, strict=True)), len(masks))

    def keeping(self, masks: Bools, seed: Seed) -> Records:
        """Records whose fields keep their own parts of each mask, drawn apart from each other."""
        made, first = [], 0
        for i, field in enumerate(self.fields):
            own, n = field.representation, len(field.names)
            if not isinstance(own, Removable):
                raise InputError(
                    f"the parts of the field {field.name!r} cannot be taken away: its representation has no "
                    "steady and keeping, which Removable asks for"
                )
            child = child_of(seed, 4, i)
            made.append(own.keeping(masks[:, first : first + n], child))
            first += n
        return Records(self, tuple(made), len(masks))


@dataclass(frozen=True, eq=False)
class Records:
    """Batches of records, made when they are asked for."""

    mixed: Mixed
    made: tuple[Any, ...]  # a field's inputs
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.n)
        columns: dict[Any, Any] = {}
        for field, inputs in zip(self.mixed.fields, self.made, strict=True):
            field.write(columns, inputs.iloc[rows] if hasattr(inputs, "iloc") else inputs[rows])
        return _batch(self.mixed, columns, stop - start)

    def batches(self) -> Iterator[Any]:
        size = sum(inputs.compose.size for inputs in self.made if isinstance(inputs, Composed))
        step = max(AT_ONCE // max(size, 1024), 1)
        for start in range(0, self.n, step):
            yield self[start : start + step]


def _like(value: Any, names: Sequence[Any], row: tuple[Any, ...]) -> Any:
    """The columns of a table field as a value of the kind that the instance has."""
    if isinstance(value, pd.Series):
        return pd.Series(row, index=value.index, name=value.name)
    if isinstance(value, Mapping):
        found = dict(zip(names, row, strict=True))
        return {key: found[key] for key in value}
    return np.array(row, dtype=value.dtype).reshape(value.shape) if hasattr(value, "dtype") else type(value)(row)


def _batch(mixed: Mixed, columns: Mapping[Any, Any], n: int) -> Any:
    """Columns as records of the kind that the instance is."""
    if isinstance(mixed.x, pd.DataFrame):
        frame = mixed.x.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
        for name, values in columns.items():
            frame[name] = _typed(values, mixed.x[name].dtype)
        return frame
    if isinstance(mixed.x, pd.Series):
        rest = {name: [value] * n for name, value in mixed.record.items() if name not in columns}
        return pd.DataFrame({name: columns.get(name, rest.get(name)) for name in mixed.record})
    return [
        {**mixed.record, **dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)
    ]


def _typed(values: Any, dtype: Any) -> Any:
    """A column of the instance's own type, with the categories that the samples have beside its own."""
    made = pd.Series(values, dtype=object)
    if isinstance(dtype, pd.CategoricalDtype):
        new = [value for value in made.dropna().unique() if value not in dtype.categories]
        dtype = pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered)
    try:
        return made.astype(dtype)
    except (TypeError, ValueError):  # a value between whole numbers, say
        return made.infer_objects()


def _order(n: int, cluster: int, rng: np.random.Generator, with_instance: bool) -> Any:
    """A random order of n samples, what was drawn together kept together, in any order; the instance stays first.

    What is left of a group stays last, or it would cut others.
    """
    groups = rng.permutation(n // cluster)[:, None]
    order = (groups * cluster + rng.permuted(np.tile(np.arange(cluster), (len(groups), 1)), axis=1)).ravel()
    order = np.append(order, np.arange(len(order), n))
    return np.append(0, order + 1) if with_instance else order


def _column(inputs: Any, j: int) -> list[Any]:
    values: list[Any] = (inputs.iloc[:, j] if hasattr(inputs, "iloc") else inputs[:, j]).tolist()
    return values


def _as_mapping(x: Any) -> Mapping[Any, Any]:
    if isinstance(x, pd.DataFrame):
        if len(x) != 1:
            raise InputError(f"wanted one record to explain, got {len(x)}: use explain_many, or pick one row")
        return {column: x[column].iloc[0] for column in x.columns}
    if isinstance(x, pd.Series):
        return dict(zip(x.index, x.to_list(), strict=True))
    if isinstance(x, Mapping):
        return x
    raise InputError(f"wanted a record, such as a dict or a row of a DataFrame, got {type(x).__name__}")


def _missing(name: str, record: Mapping[Any, Any], columns: Sequence[str] = ()) -> str:
    had = ", ".join(str(key) for key in list(record)[:12])
    also = f", nor all of its columns {', '.join(columns)}" if columns else ""
    return f"the record has no field {name!r}{also}; it has {had or 'none'}"
