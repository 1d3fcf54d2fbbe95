"""Records of several fields (tables, text, pictures, sounds, series), with one local model over all parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.protocols import (
    Kernel,
    Movable,
    Removable,
    Representation,
    Seed,
    Valued,
    Viewable,
    replacement_of,
)
from veridical.records import Bools, Design, Floats, Part, Replacement, Sample, Step, View
from veridical.representations.masking import (
    MAX_BYTES_PER_BATCH,
    InstanceList,
    Masked,
    MaskedInputs,
    NoParts,
    make_unique,
)
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import as_pandas
from veridical.sampling.kernels import Gaussian
from veridical.seeds import child_of, generator


@dataclass(frozen=True)
class PerField:
    """One kernel per field: the proximity of a record is the product of those of its fields."""

    kernels: tuple[Kernel, ...]

    def __call__(self, distances: Floats) -> Floats:
        raise InputError("every field has distances of its own: ask the field's kernel")

    def scaled(self, width: float) -> PerField:
        """All of them wider or narrower."""
        return PerField(tuple(k.scaled(width) if isinstance(k, Gaussian) else k for k in self.kernels))


class Fields:
    """The fields of a record, each with a representer of its own.

    A record is a mapping, and the model receives lists of them; or a row of a DataFrame, and the model receives
    DataFrames. Fields that are not named here stay as they are. Fields vary independently.

    Parameters
    ----------
    fields : mapping of str to representer
        The representer of each field. A field of ``Rows`` holds a value or a mapping of columns to values, or has
        its columns among the record's own.

    Examples
    --------
    >>> import veridical as vd
    >>> review = vd.Fields({"title": vd.Words(), "text": vd.Sentences()})
    >>> review({"title": "Broken again", "text": "It broke. I sent it back.", "id": 7}).names
    ('title: Broken', 'title: again', 'text: 1: It broke.', 'text: 2: I sent it back.')
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
        """Represent one record by the parts of its fields."""
        x = as_pandas(x)
        record = _as_mapping(x)
        found = {name: Field.of(name, represent, record) for name, represent in self.fields.items()}
        some = [field for field in found.values() if field is not None]
        taken = [column for f in some for column in (f.columns or (f.name,))]
        twice = sorted({str(column) for column in taken if taken.count(column) > 1})
        if twice:
            raise InputError(
                f"two fields change the same column: {', '.join(twice)}; each may be in one field only"
            )
        if not some:
            raise NoParts(
                "no field of the record has anything to take away: give it longer fields, or more of them"
            )
        empty = tuple(
            f"the field {name!r} has nothing to take away" for name, field in found.items() if field is None
        )
        return MixedRecord(x, record, tuple(some), empty)

    def each(self, X: Any) -> InstanceList:
        """Represent many records, each when its turn comes."""
        X = as_pandas(X)
        rows = [X.iloc[[i]] for i in range(len(X))] if isinstance(X, pd.DataFrame) else X
        return InstanceList.of(self, rows, "records")

    def __repr__(self) -> str:
        return f"Fields({self.fields!r})"


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a record, as parts."""

    name: str
    representation: Representation
    columns: tuple[Any, ...] | None = None  # of the record, that a table field takes; None if it is one value
    nested: Any = None  # the value itself, if it holds the columns of a table
    shown: str = ""

    @classmethod
    def of(cls, name: str, represent: Any, record: Mapping[Any, Any]) -> Field | None:
        """The field of a record; None if there is nothing to take away."""
        try:
            if isinstance(represent, Rows):
                return cls._table(name, represent, record)
            if name not in record:
                raise InputError(_missing(name, record))
            value = record[name]
            return cls(name, represent(value))
        except NoParts:
            return None
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
        return self.representation.names

    def parts(self) -> list[Part]:
        """The parts, named after the field where they do not name a column themselves."""
        of_table = not isinstance(self.representation, Masked)
        return [
            replace(part, name=part.name if of_table else f"{self.name}: {part.name}", column=self.name)
            for part in self.representation.parts
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
            columns[self.name] = [_make_like(self.nested, names, row) for row in rows]
        else:
            columns[self.name] = _column(inputs, 0)


@dataclass(frozen=True, eq=False)
class MixedRecord:
    """A record as the parts of its fields."""

    x: Any
    record: Mapping[Any, Any]
    fields: tuple[Field, ...]
    notes: tuple[str, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        parts = [part for field in self.fields for part in field.parts()]
        names = make_unique([part.name for part in parts])
        return tuple(replace(part, name=name) for part, name in zip(parts, names, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The record's own value for each part of a table field, None for parts of others; empty without any."""
        own = [
            (len(field.names), each.own_values if isinstance(each := field.representation, Valued) else ())
            for field in self.fields
        ]
        return tuple(v for n, values in own for v in values or (None,) * n) if any(v for _, v in own) else ()

    @property
    def kernel(self) -> PerField:
        return PerField(tuple(field.representation.kernel for field in self.fields))

    @property
    def replacement(self) -> Replacement:
        """Which parts of each field are as they were where they are taken away."""
        every = [replacement_of(field.representation) for field in self.fields]
        pairs = zip(self.fields, every, strict=True)
        notes = [f"the field {field.name!r}: {note}" for field, own in pairs for note in own.notes]
        return Replacement(np.concatenate([own.unchanged for own in every]), tuple(notes))

    @property
    def view(self) -> View:
        shown: dict[str, Any] = {}
        first = 0
        for field in self.fields:
            each = field.representation
            own = each.view if isinstance(each, Viewable) else None
            shown[field.name] = (first, len(field.names), field.shown if own is None else own)
            first += len(field.names)
        return View("fields", {"fields": shown})

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Every field by its own law, put side by side in an order of its own, so that they are independent."""
        kernels = kernel.kernels if isinstance(kernel, PerField) else (kernel,) * len(self.fields)
        samples, orders, cluster = list[Sample](), [], 1
        for i, (field, near) in enumerate(zip(self.fields, kernels, strict=True)):
            child = child_of(seed, 4, i)
            samples.append(field.representation.draw(near, child, start, stop))
            own = samples[-1].design.cluster
            cluster = max(cluster, own)
            orders.append(_shuffle_clusters(stop - start, own, generator(child, 5, start), start == 0))
        designs = np.hstack([s.designs[order] for s, order in zip(samples, orders, strict=True)])
        weights = np.ones(len(designs))
        for s, order in zip(samples, orders, strict=True):
            weights *= s.weights[order] / s.weights[int(start == 0) :].mean()
        shares = np.concatenate([s.design.shares for s in samples])
        return Sample(designs, weights, tuple(zip(samples, orders, strict=True)), Design(shares, cluster=cluster))

    @property
    def whole_sample(self) -> int:
        return 0

    @property
    def smallest_sample(self) -> int:
        """Samples below which parts could not be told apart."""
        return 3 * len(self.names)

    def enumerate(self, kernel: Kernel, limit: int) -> None:
        return None

    def realize(self, sample: Sample) -> RecordInputs:
        """Records of the kind that the instance is."""
        made = []
        for field, (drawn, order) in zip(self.fields, sample.values, strict=True):
            inputs = field.representation.realize(drawn)
            masked = isinstance(inputs, MaskedInputs)
            made.append(replace(inputs, designs=inputs.designs[order]) if masked else _take(inputs, order))
        return RecordInputs(self, tuple(made), len(sample.designs))

    @property
    def steady(self) -> bool:
        """Whether every field is."""
        return all(isinstance(own := f.representation, Removable) and own.steady for f in self.fields)

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
        ahead, back = (
            partial(self._move_all, [getattr(step, way) for step in steps]) for way in ("ahead", "back")
        )
        both = np.concatenate([step.both for step in steps])
        still = [np.zeros(len(step.both), bool) if step.still is None else step.still for step in steps]
        return Step(ahead, back, both, any(step.drawn for step in steps), says, np.concatenate(still))

    def _move_all(self, ways: Sequence[Callable[[Bools], Any]], masks: Bools) -> RecordInputs:
        """Records whose fields keep their own parts of each mask; the others are moved."""
        made = tuple(way(some) for way, some in zip(ways, self._split(masks), strict=True))
        return RecordInputs(self, made, len(masks))

    def _split(self, masks: Bools) -> list[Bools]:
        """The masks of each field's own parts."""
        return np.split(masks, np.cumsum([len(field.names) for field in self.fields])[:-1], axis=1)

    def keeping(self, masks: Bools, seed: Seed) -> RecordInputs:
        """Records whose fields keep their own parts of each mask, drawn apart from each other."""
        made = []
        for i, (field, some) in enumerate(zip(self.fields, self._split(masks), strict=True)):
            own = field.representation
            if not isinstance(own, Removable):
                raise InputError(
                    f"the parts of the field {field.name!r} cannot be taken away: its representation has no "
                    "steady and keeping, which Removable asks for"
                )
            made.append(own.keeping(some, child_of(seed, 4, i)))
        return RecordInputs(self, tuple(made), len(masks))


@dataclass(frozen=True, eq=False)
class RecordInputs:
    """Batches of records, made a few at a time."""

    mixed: MixedRecord
    made: tuple[Any, ...]  # a field's inputs
    n: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: slice) -> Any:
        start, stop, _ = rows.indices(self.n)
        columns: dict[Any, Any] = {}
        for field, inputs in zip(self.mixed.fields, self.made, strict=True):
            field.write(columns, _take(inputs, rows))
        x, record, n = self.mixed.x, self.mixed.record, stop - start
        if isinstance(x, pd.DataFrame):
            frame = x.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
            for name, values in columns.items():
                frame[name] = _cast_like(values, x[name].dtype)
            return frame
        if isinstance(x, pd.Series):
            return pd.DataFrame({name: columns.get(name, [value] * n) for name, value in record.items()})
        return [{**record, **dict(zip(columns, row, strict=True))} for row in zip(*columns.values(), strict=True)]

    def batches(self) -> Iterator[Any]:
        composers = [inputs.compose for inputs in self.made if isinstance(inputs, MaskedInputs)]
        step = max(MAX_BYTES_PER_BATCH // max(sum(composer.size for composer in composers), 1024), 1)
        step = min([step, *(composer.batch_size for composer in composers if composer.batch_size)])
        for start in range(0, self.n, step):
            yield self[start : start + step]


def _make_like(value: Any, names: Sequence[Any], row: tuple[Any, ...]) -> Any:
    """The columns of a table field as a value of the kind that the instance has."""
    if isinstance(value, pd.Series):
        return pd.Series(row, index=value.index, name=value.name)
    if isinstance(value, Mapping):
        found = dict(zip(names, row, strict=True))
        return {key: found[key] for key in value}
    return np.array(row, dtype=value.dtype).reshape(value.shape) if hasattr(value, "dtype") else type(value)(row)


def _cast_like(values: Any, dtype: Any) -> Any:
    """A column of the instance's own type, with the categories that the samples have beside its own."""
    made = pd.Series(values, dtype=object)
    if isinstance(dtype, pd.CategoricalDtype):
        new = [value for value in made.dropna().unique() if value not in dtype.categories]
        dtype = pd.CategoricalDtype([*dtype.categories, *new], dtype.ordered)
    try:
        return made.astype(dtype)
    except (TypeError, ValueError):  # a value between whole numbers, say
        return made.infer_objects()


def _shuffle_clusters(n: int, cluster: int, rng: np.random.Generator, with_instance: bool) -> Any:
    """A random order of n samples, what was drawn together kept together, in any order; the instance stays first.

    What is left of a group stays last, or it would cut others.
    """
    groups = rng.permutation(n // cluster)[:, None]
    order = (groups * cluster + rng.permuted(np.tile(np.arange(cluster), (len(groups), 1)), axis=1)).ravel()
    order = np.append(order, np.arange(len(order), n))
    return np.append(0, order + 1) if with_instance else order


def _take(inputs: Any, rows: Any) -> Any:
    """Some rows of a batch."""
    return inputs.iloc[rows] if hasattr(inputs, "iloc") else inputs[rows]


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
