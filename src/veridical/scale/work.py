"""One chunk of instances explained: the same bits whoever does it, and however many are in it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import pandas as pd

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model, heard, n_rows
from veridical.attribute.factory import Factory
from veridical.attribute.many import CHUNK, Work, first_found
from veridical.attribute.models import Explainable, model_of
from veridical.attribute.neighborhood import Answers
from veridical.attribute.single import one_thread
from veridical.attribute.targets import Predicted, predicted
from veridical.errors import InputError, ModelError, VeridicalError, describe_error
from veridical.records import (
    Explanation,
    Floats,
    Instances,
    Method,
    Representation,
    Representer,
    Seed,
)
from veridical.represent.fields import Fields
from veridical.represent.own_values import Place, plain_values
from veridical.represent.rows import Rows, TableRows, find_places
from veridical.scale.stores.folder import Folder
from veridical.scale.stores.parts import Piece, Receipt

T = TypeVar("T")
Pieces: TypeAlias = Mapping[tuple[int, int], tuple[Any, Floats]]  # of a shared sample, with the model's answers


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some instances, by number: a whole number of blocks, but for the last."""

    number: int
    start: int
    stop: int
    load: Callable[[], Any]  # gives the instances start..stop of X, in whatever process it is called
    names: Sequence[Any] | None = None  # of these instances, where they have names


@dataclass(frozen=True, eq=False)
class Done:
    """The receipt of a chunk."""

    number: int
    start: int
    stop: int
    n_failed: int
    n_calls: int  # inputs that the model was asked about for it
    piece: Piece | None = None  # None where it is written
    receipt: Receipt | None = None  # of the part file


@dataclass(frozen=True, eq=False)
class Failed:
    """A chunk that did not come to an end: its worker died, or raised what is not an instance's own fault."""

    chunk: Chunk
    cause: BaseException


@dataclass(frozen=True, eq=False)
class Open:
    """What a process makes of a job once: its model, and what is shared by all instances."""

    model: Model
    sums: Sums | None


@dataclass(frozen=True, eq=False)
class Job:
    """All that is needed to explain any chunk; it travels once to a worker."""

    predict: Explainable
    represent: Representer
    method: Method
    target: Any
    seed: Seed
    classes: tuple[Any, ...] | None = None
    sample: Pieces | None = None  # where instances share one
    common: Any = None  # what drew it
    keep: tuple[str, ...] = ()
    folder: Folder | None = None  # where what comes out is written
    memory: list[Open] = field(default_factory=list)  # of this process
    lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        travels = (self.predict, self.represent, self.method, self.target, self.seed, self.classes)
        return Job, (*travels, self.sample, self.common, self.keep, self.folder)

    def open(self) -> Open:
        """The model and what is shared, made once a process."""
        with self.lock:
            if not self.memory:
                made = self.predict.make() if isinstance(self.predict, Factory) else self.predict
                model, sums = model_of(made, self.classes), None  # a factory that raises is tried again
                if self.sample is not None:
                    sums = Sums(Answers(model, self.common, self.seed, pieces=dict(self.sample)))
                self.memory.append(Open(model, sums))
        return self.memory[0]


def pickled(what: Any) -> bytes:
    """Anything as it travels to other processes; functions of a script or notebook travel, too."""
    from joblib.externals.loky.cloudpickle_wrapper import dumps

    return bytes(dumps(what))


def packed(job: Job) -> bytes:
    """A job as it travels to other processes."""
    try:
        return pickled(job)
    except Exception as cause:
        for name in ("predict", "represent", "method", "target", "folder"):
            try:
                pickled(getattr(job, name))
            except Exception as reason:
                raise InputError(_no_travel(name, reason)) from reason
        raise InputError(f"the work cannot be sent to other processes: {cause}") from cause


def _no_travel(name: str, reason: Exception) -> str:
    why = f"cannot be sent to other processes ({describe_error(reason)})"
    if name == "predict":
        do = "pass vd.Factory(load_model) instead, where load_model() makes the model and returns predict"
        return f"the model {why}: {do}"
    return f"{name} {why}: make it of what can be pickled, or use vd.engines.Threads()"


_here: dict[str, Job] = {}
_lock = Lock()


def recalled(run: str, load: Callable[[], bytes]) -> Job:
    """The job of a run, unpickled once a process, however many of its chunks are done there.

    No two runs have one name: what a factory makes may not be the same again.
    """
    with _lock:
        if run not in _here:
            _here.clear()
            _here[run] = pickle.loads(load())
        return _here[run]


def explained(job: Job, chunk: Chunk) -> Done:
    """Explain a chunk.

    What comes out depends on each instance and its number alone: the model is asked about blocks of fixed size,
    and linear algebra runs in one thread, for sums in another order have other last bits.
    """
    calls: list[int] = []
    found: list[Explanation | VeridicalError] = []
    places: list[Place] | None = None
    with one_thread:
        X, kept = apart(chunk.load(), job)
        own = chunk.names
        if own is None and kept is not None:  # the first column that is kept names the rows
            own = plain_values(kept.iloc[:, 0].array)
        names = None if own is None else dict(enumerate(own, chunk.start))
        for start in range(0, chunk.stop - chunk.start, CHUNK):
            some = taken(X, slice(start, start + CHUNK))
            made, at = _block(job, some, chunk.start + start, names, calls.append)
            found, places = found + made, places or at
    errors = {chunk.start + i: e for i, e in enumerate(found) if isinstance(e, VeridicalError)}
    if errors and chunk.start == 0 and _all_failed(found[:CHUNK]):
        first = next(iter(errors))
        raise numbered(first if names is None else names[first], errors[first])
    whys = tuple(e if isinstance(e, Explanation) else None for e in found)
    told = {number: str(error) for number, error in errors.items()}
    piece = Piece(chunk.number, chunk.start, chunk.stop, whys, told, X, kept, sum(calls), chunk.names, places)
    done = Done(chunk.number, chunk.start, chunk.stop, len(errors), piece.n_calls)
    if job.folder is None:  # the instances need not travel back
        return replace(done, piece=replace(piece, instances=None, kept=None, names=own))
    return replace(done, receipt=job.folder.put(piece))


def _all_failed(found: Sequence[Explanation | VeridicalError]) -> bool:
    """Nothing at all could be explained, so it is the settings that are wrong."""
    return all(isinstance(each, VeridicalError) for each in found)


def _block(
    job: Job, X: Any, start: int, names: Mapping[int, Any] | None, hear: Callable[[int], None]
) -> tuple[list[Explanation | VeridicalError], list[Place] | None]:
    """One block of instances: each explained, or why it could not be; and where values of parts are."""
    instances, errors = representable(job.represent, X)
    opened, numbers = job.open(), [start + i for i, error in enumerate(errors) if error is None]
    model = heard(opened.model, hear)
    own = OneByOne(model, instances, numbers)
    work = Work(job.method, model, job.target, job.seed, own, opened.sums, names)
    batch = instances.batch(0, len(numbers))
    found = dict[int, Explanation | VeridicalError]()
    with suppress(InputError, ModelError):  # which is said where an instance is explained alone
        found |= work.at_once(batch, numbers)
    for i, number in enumerate(numbers):
        found[number] = found[number] if number in found else work.found(batch, i, number)
    made = [bare(found[start + i]) if error is None else error for i, error in enumerate(errors)]
    return made, find_places_in(instances, X)


@dataclass(frozen=True, eq=False)
class OneByOne:
    """The model's answers to the instances of a block, asked together; if it fails on them, one by one."""

    model: Model
    instances: Instances
    numbers: Sequence[int]
    answers: dict[int, Floats | ModelError] = field(default_factory=dict)
    decided: dict[int, Predicted | None] = field(default_factory=dict)

    def predicted(self, number: int) -> Predicted | None:
        """The class that the model itself predicts for an instance."""
        if not self.decided:
            inputs = self.instances.inputs(0, len(self.numbers))
            self.decided.update(zip(self.numbers, predicted(self.model, inputs), strict=True))
        return self.decided[number]

    def __call__(self, number: int) -> Floats:
        answer = self.answer(number)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def answer(self, number: int) -> Floats | ModelError:
        """The answer to an instance, or why there is none."""
        if not self.answers:
            self.answers.update(zip(self.numbers, self._ask(), strict=True))
        return self.answers[number]

    def _ask(self) -> Iterable[Floats | ModelError]:
        try:
            return self.model(self.instances.inputs(0, len(self.numbers)), self.numbers[0])
        except ModelError:
            return [self._alone(i) for i in range(len(self.numbers))]

    def _alone(self, i: int) -> Floats | ModelError:
        try:
            row: Floats = self.model(self.instances.inputs(i, i + 1), self.numbers[i])[0]
            return row
        except ModelError as error:
            return error


class Nothing:
    """No instances at all."""

    def __len__(self) -> int:
        return 0

    def batch(self, start: int, stop: int) -> Sequence[Representation]:
        return ()

    def inputs(self, start: int, stop: int) -> Any:
        return ()


def representable(represent: Representer, X: Any) -> tuple[Instances, list[InputError | None]]:
    """The instances that can be represented, and why the others cannot."""
    n = n_rows(X)
    errors: list[InputError | None] = [None] * n
    try:
        return represent.each(X), errors
    except InputError:
        _search(represent, X, (0, n), errors)
    good = [i for i, error in enumerate(errors) if error is None]
    return represent.each(taken(X, good)) if good else Nothing(), errors


def _search(represent: Representer, X: Any, span: tuple[int, int], errors: list[InputError | None]) -> None:
    """Find the instances that are wrong, by halves."""
    start, stop = span
    try:
        represent.each(taken(X, slice(start, stop)))
    except InputError as error:
        if stop - start == 1:
            errors[start] = bare(error)
            return
        middle = (start + stop) // 2
        _search(represent, X, (start, middle), errors)
        _search(represent, X, (middle, stop), errors)


def bare(found: T) -> T:
    """An error without the number that an instance has in a list of few."""
    while isinstance(found, VeridicalError) and isinstance(found.__cause__, type(found)):
        found = cast(T, found.__cause__)
    return found


def numbered(row: Any, error: VeridicalError) -> VeridicalError:
    """An error with the name, or the number, of the instance that it is about."""
    return type(error)(f"row {row}: {error}")


def representable_here(represent: Representer, X: Any) -> tuple[Instances, list[InputError | None]]:
    """The instances that can be represented, and why the others cannot; what is wrong as a whole is raised."""
    try:
        instances = represent.each(X)
        return instances, [None] * len(instances)
    except InputError as error:
        shape = getattr(X, "shape", None)
        n = n_rows(X) if shape or (shape is None and hasattr(X, "__len__")) else 0
        if n < 2 or isinstance(X, (str, bytes)):
            raise

        def alone(i: int) -> Instances | InputError:
            try:
                return represent.each(taken(X, slice(i, i + 1)))
            except InputError as own:
                return own

        try:
            first_found(alone, n)
        except InputError:
            raise error from None
    return representable(represent, X)


def apart(X: Any, job: Job) -> tuple[Any, pd.DataFrame | None]:
    """The instances, and the columns that are kept beside them.

    Where instances are no table rows, the one column that is left holds them.
    """
    kept = None
    if job.keep:
        if not isinstance(X, pd.DataFrame):
            raise InputError(f"keep names columns of a table, but X is {type(X).__name__}: leave keep out")
        missing = [name for name in job.keep if name not in X.columns]
        if missing:
            raise InputError(f"keep names {missing[0]!r}, which is no column of X")
        if needed := [name for name in job.keep if name in getattr(job.represent, "names", ())]:
            raise InputError(f"keep names {needed[0]!r}, which the model needs: leave it out, and X has it anyway")
        X, kept = X.drop(columns=list(job.keep)), X[list(job.keep)]
    alone = isinstance(X, pd.DataFrame) and X.shape[1] == 1 and not isinstance(job.represent, (Rows, Fields))
    return X.iloc[:, 0].to_list() if alone else X, kept


def find_places_in(instances: Instances, X: Any) -> list[Place] | None:
    """The columns of a table X that the own value of each part is in; None where X is no table."""
    if not isinstance(instances, TableRows):
        return None
    places, schema = find_places(instances.background), instances.background.schema
    if isinstance(X, np.ndarray):
        return places if X.ndim == 2 else None
    if not isinstance(X, pd.DataFrame):
        return None
    labels = list(schema.names if schema.labels is None else schema.labels)
    if not all(label in X.columns for label in labels):
        return None  # matched in some other way: the values are stored beside
    at = X.columns.get_indexer_for(pd.Index(labels)).tolist()
    return [(tuple(at[j] for j in columns), names) for columns, names in places]


def taken(X: Any, which: slice | list[int]) -> Any:
    """Some of many instances, in the form that all of them have."""
    if hasattr(X, "iloc"):
        return X.iloc[which]
    if isinstance(which, list) and isinstance(X, (list, tuple)):
        return [X[i] for i in which]
    return X[which]
