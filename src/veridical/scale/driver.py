"""A run: chunks handed to an engine and each explained alone, failures tried again, and every one accounted for.

A chunk comes to the same bits whoever explains it, and however many are in it.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
import pandas as pd

from veridical.errors import InputError, ModelError, VeridicalError, describe_error
from veridical.methods.engine import SharedSample
from veridical.methods.many import CHUNK, ProgressCallback, RowListing, RowWork, ask_ahead, first_found
from veridical.methods.results import describe
from veridical.models.adapters import Explainable, Factory, model_of
from veridical.models.outputs import Model, n_rows, rows_at, rows_of, with_progress
from veridical.models.targets import Predicted, as_plain, predict_classes, resolve
from veridical.models.validation import name_at, one_thread, split_names
from veridical.networks.streaming import Found
from veridical.protocols import Instances, Method, Representation, Representer, Seed
from veridical.records import Explanation, Explanations, Failure, Floats
from veridical.representations.fields import Fields
from veridical.representations.masking import MaskedInputs
from veridical.representations.tables.rows import Rows, TableRows
from veridical.representations.tables.schema import Place, plain_values
from veridical.scale.stores.instances import content_of, digest_rows
from veridical.scale.stores.store import Store
from veridical.scale.stores.writer import ExplainedChunk, Folder, Head, Receipt, begin, finish, has_store
from veridical.storage.codec import encode, pack, pack_target

if TYPE_CHECKING:
    from veridical.scale.engines.local import Engine
    from veridical.scale.sources import InstanceSource

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
class ChunkDone:
    """The receipt of a chunk."""

    number: int
    start: int
    stop: int
    n_failed: int
    n_calls: int  # inputs that the model was asked about for it
    piece: ExplainedChunk | None = None  # None where it is written
    receipt: Receipt | None = None  # of the part file


@dataclass(frozen=True, eq=False)
class ChunkFailed:
    """A chunk that did not come to an end: its worker died, or raised what is not an instance's own fault."""

    chunk: Chunk
    cause: BaseException


@dataclass(frozen=True, eq=False)
class OpenJob:
    """What a process makes of a job once: its model, and what is shared by all instances."""

    model: Model
    sample: SharedSample | None


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
    memory: list[OpenJob] = field(default_factory=list)  # of this process
    lock: Any = field(default_factory=Lock)

    def __reduce__(self) -> tuple[Any, ...]:
        travels = (self.predict, self.represent, self.method, self.target, self.seed, self.classes)
        return Job, (*travels, self.sample, self.common, self.keep, self.folder)

    def open(self) -> OpenJob:
        """The model and what is shared, made once per process."""
        with self.lock:
            if not self.memory:
                made = self.predict.make() if isinstance(self.predict, Factory) else self.predict
                model, sample = model_of(made, self.classes), None  # a factory that raises is tried again
                if self.sample is not None:
                    sample = SharedSample(model, self.common, self.seed, pieces=dict(self.sample))
                self.memory.append(OpenJob(model, sample))
        return self.memory[0]


def dump_pickle(what: Any) -> bytes:
    """Anything as it travels to other processes; functions of a script or notebook travel, too."""
    from joblib.externals.loky.cloudpickle_wrapper import dumps

    return bytes(dumps(what))


def pack_job(job: Job) -> bytes:
    """A job as it travels to other processes."""
    try:
        return dump_pickle(job)
    except Exception as cause:
        for name in ("predict", "represent", "method", "target", "folder"):
            try:
                dump_pickle(getattr(job, name))
            except Exception as reason:
                why = f"cannot be sent to other processes ({describe_error(reason)})"
                do = f"{name} {why}: make it of what can be pickled, or use vd.engines.Threads()"
                if name == "predict":
                    factory = (
                        "vd.Factory(load_model) instead, where load_model() makes the model and returns predict"
                    )
                    do = f"the model {why}: pass {factory}"
                raise InputError(do) from reason
        raise InputError(f"the work cannot be sent to other processes: {cause}") from cause


_here: dict[str, Job] = {}
_lock = Lock()


def recall_job(run: str, load: Callable[[], bytes]) -> Job:
    """The job of a run, unpickled once per process, however many of its chunks are done there.

    No two runs have one name: what a factory makes may not be the same again.
    """
    with _lock:
        if run not in _here:
            _here.clear()
            _here[run] = pickle.loads(load())
        return _here[run]


def explain_chunk(job: Job, chunk: Chunk) -> ChunkDone:
    """Explain a chunk.

    What comes out depends on each instance and its number alone: the model is asked about blocks of fixed size,
    and linear algebra runs in one thread, for sums in another order have other last bits.
    """
    calls, found, places = list[int](), list[Explanation | VeridicalError](), None
    with one_thread:
        X, kept = apart(chunk.load(), job)
        own = chunk.names
        if own is None and kept is not None:  # the first column that is kept names the rows
            own = plain_values(kept.iloc[:, 0].array)
        names = None if own is None else dict(enumerate(own, chunk.start))
        for start in range(chunk.start, chunk.stop, CHUNK):
            some = rows_of(X, slice(start - chunk.start, start - chunk.start + CHUNK))
            instances, errors = representable(job.represent, some)
            opened, numbers = job.open(), [start + i for i, error in enumerate(errors) if error is None]
            model, batch = with_progress(opened.model, calls.append), instances.batch(0, len(numbers))
            outputs = BlockOutputs(model, instances, numbers)
            work = RowWork(job.method, model, job.target, job.seed, outputs, opened.sample, names)
            made = dict[int, Explanation | VeridicalError]()
            with suppress(InputError, ModelError):  # which is said where an instance is explained alone
                made |= work.together(batch, numbers)
            for i, number in enumerate(numbers):
                each = made[number] if number in made else work.found(batch, i, number)
                made[number] = each if isinstance(each, Explanation) else bare(each)
            found += [made[start + i] if error is None else error for i, error in enumerate(errors)]
            places = places or find_places_in(instances, some)
    failed = {chunk.start + i: e for i, e in enumerate(found) if isinstance(e, VeridicalError)}
    if failed and chunk.start == 0 and all(i in failed for i in range(len(found[:CHUNK]))):
        first = next(iter(failed))  # nothing at all could be explained, so it is the settings that are wrong
        raise name_error(first if names is None else names[first], failed[first])
    whys = tuple(e if isinstance(e, Explanation) else None for e in found)
    told = {number: str(error) for number, error in failed.items()}
    if places is not None and any(e is not None and len(e.parts) != len(places) for e in whys):
        places = None  # blocks of columns, whose own values are stored beside them
    piece = ExplainedChunk(
        chunk.number, chunk.start, chunk.stop, whys, told, X, kept, sum(calls), chunk.names, places
    )
    done = ChunkDone(chunk.number, chunk.start, chunk.stop, len(failed), piece.n_calls)
    if job.folder is None:  # the instances need not travel back
        return replace(done, piece=replace(piece, instances=None, kept=None, names=own))
    return replace(done, receipt=job.folder.put(piece))


@dataclass(frozen=True, eq=False)
class BlockOutputs:
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
            self.decided.update(zip(self.numbers, predict_classes(self.model, inputs), strict=True))
        return self.decided[number]

    def __call__(self, number: int) -> Floats:
        if not self.answers:
            try:
                found = self.model(self.instances.inputs(0, len(self.numbers)), self.numbers[0])
                self.answers.update(zip(self.numbers, found, strict=True))
            except ModelError:
                self._ask_one_by_one()
        answer = self.answers[number]
        if isinstance(answer, ModelError):
            raise answer
        return answer

    def _ask_one_by_one(self) -> None:
        for i, number in enumerate(self.numbers):
            try:
                self.answers[number] = self.model(self.instances.inputs(i, i + 1), number)[0]
            except ModelError as error:
                self.answers[number] = error


class NoInstances:
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
    return represent.each(rows_at(X, good)) if good else NoInstances(), errors


def _search(represent: Representer, X: Any, span: tuple[int, int], errors: list[InputError | None]) -> None:
    """Find the instances that are wrong, by halves."""
    start, stop = span
    try:
        represent.each(rows_of(X, slice(start, stop)))
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


def name_error(row: Any, error: VeridicalError) -> VeridicalError:
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
                return represent.each(rows_of(X, slice(i, i + 1)))
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
        if needed := [
            name for name in job.keep if isinstance(job.represent, Rows) and name in job.represent.names
        ]:
            raise InputError(f"keep names {needed[0]!r}, which the model needs: leave it out, and X has it anyway")
        X, kept = X.drop(columns=list(job.keep)), X[list(job.keep)]
    alone = isinstance(X, pd.DataFrame) and X.shape[1] == 1 and not isinstance(job.represent, (Rows, Fields))
    return X.iloc[:, 0].to_list() if alone else X, kept


def find_places_in(instances: Instances, X: Any) -> list[Place] | None:
    """The columns of a table X that the own value of each part is in; None where X is no table."""
    if not isinstance(instances, TableRows):
        return None
    places, schema = instances.background.value_places, instances.background.schema
    if isinstance(X, np.ndarray):
        return places if X.ndim == 2 else None
    if not isinstance(X, pd.DataFrame):
        return None
    labels = list(schema.names if schema.labels is None else schema.labels)
    if not all(label in X.columns for label in labels):
        return None  # matched in some other way: the values are stored beside
    at = X.columns.get_indexer_for(pd.Index(labels)).tolist()
    return [(tuple(at[j] for j in columns), names) for columns, names in places]


# The loop of a run.
BLOCKS = 4  # of instances a chunk, by default: no worker waits long
FIRST = 16  # rows that model and representer are told by
DRAWN = 8  # samples of each of them
TRIES = 3  # of a chunk, before the run goes on without it
SUSPECTS = 8  # failed chunks that are kept before they are tried again
HOPELESS = 3  # chunks given up one after the other, after which nothing more is tried


@dataclass(frozen=True, eq=False)
class Run:
    """What is to be done, and by whom."""

    engine: Engine
    job: Job
    source: InstanceSource
    track: ProgressCallback
    size: int  # instances per chunk


def explain_here(run: Run, model: Model) -> Explanations:
    """Explain all instances, and hold what comes out in memory."""
    run, _ = with_sample(run, model, represent_head(run, FIRST, most=1))
    done = run_chunks(run.engine, run.job, run.source.chunks(run.size))
    rows = chain.from_iterable(
        repeat(each, each.stop - each.start) for each in done
    )  # progress is counted in them
    with one_thread:
        found = {each.number: each.piece for each in run.track(rows, total=run.source.n_rows)}
    known = [piece for _, piece in sorted(found.items()) if piece is not None]
    failures = [
        Failure(name_at(piece.names, number - piece.start) if piece.names is not None else number, number, error)
        for piece in known
        for number, error in piece.errors.items()
    ]
    return Explanations(
        tuple(why for piece in known for why in piece.explanations if why is not None), tuple(failures)
    )


def explain_in_memory(
    represent: Representer,
    X: Any,
    explain: Callable[[Instances, RowListing], Iterator[Found]],
    track: ProgressCallback,
) -> Explanations:
    """Explain instances that are all here, and go on past those that fail; if all do, raise the first error."""
    X, names = split_names(represent, X)
    if not hasattr(X, "__len__") and not hasattr(X, "shape") and hasattr(X, "__iter__"):
        X = list(X)
    instances, wrong = representable_here(represent, X)
    errors: dict[int, VeridicalError] = {i: error for i, error in enumerate(wrong) if error is not None}
    numbers = [i for i in range(len(wrong)) if i not in errors] if errors else range(len(wrong))
    work, items = explain(instances, RowListing(numbers, names)), list[Explanation]()
    with one_thread:
        for number, found in zip(numbers, track(work, total=len(instances)), strict=True):
            if isinstance(found, Explanation):
                items.append(found)
            else:
                errors[number] = found
    if not items:
        raise errors[min(errors)]
    failures = [Failure(name_at(names, i), i, str(bare(errors[i]))) for i in sorted(errors)]
    return Explanations(tuple(items), tuple(failures))


def explain_into(path: str | Path, run: Run, model: Model) -> Store:
    """Explain the instances that a store does not have yet."""
    is_new, first = not has_store(path), represent_head(run, FIRST)
    sampled = with_sample(run, model, first) if is_new else None  # what is wrong shows before there is a folder
    head = describe_run(run, model, first)
    folder, there = begin(path, head)
    n_rows = run.source.n_rows
    if folder.complete and n_rows is not None:
        return Store(folder.path)
    run, n_calls = sampled or with_sample(run, model, first)
    left = None if n_rows is None else n_rows - sum(receipt.stop - receipt.start for receipt in there.values())
    missing = (chunk for chunk in run.source.chunks(folder.chunk_rows) if chunk.number not in there)
    done = run_chunks(run.engine, replace(run.job, folder=folder), missing)
    rows = chain.from_iterable(
        repeat(each, each.stop - each.start) for each in done
    )  # progress is counted in them
    stops = [receipt.stop for receipt in there.values()]
    with one_thread:
        stops += {each.stop for each in run.track(rows, total=left)}
    n_rows = max(stops) if n_rows is None else n_rows
    finish(folder, n_rows, n_calls + (0 if head.answers is None else len(head.answers)))
    return Store(folder.path)


@dataclass(frozen=True, eq=False)
class FirstRows:
    """The first rows of a source, represented once: what a store is told by, and what a sample is drawn for."""

    X: Any  # all of them, as the representer takes them
    good: Any  # those that can be represented
    instances: Instances  # of the good ones
    rows: Sequence[Representation]  # of the good ones, or of some where no more are wanted
    errors: Sequence[InputError]  # why the others cannot


def represent_head(run: Run, n: int, most: int | None = None) -> FirstRows:
    """The first n rows, of which ``most`` are to be represented; None for all."""
    X, _ = apart(run.source.head(n), run.job)
    instances, wrong = representable(run.job.represent, X)
    places = [i for i, error in enumerate(wrong) if error is None]
    batch, rows, good = instances.batch(0, len(places)), list[Representation](), list[int]()
    errors = [error for error in wrong if error is not None]
    for at, place in enumerate(places):
        if len(rows) == most:
            break
        try:
            rows.append(batch[at])
            good.append(place)
        except InputError as error:
            errors.append(bare(error))
    if most is None and len(good) < len(places):
        instances = run.job.represent.each(rows_at(X, good)) if good else NoInstances()
    return FirstRows(X, X if len(good) == len(wrong) else rows_at(X, good), instances, rows, errors)


def describe_run(run: Run, model: Model, first: FirstRows) -> Head:
    """What a store is of: what is asked for, as plain data, and what rows, representer and model are told by.

    The model's answers leave out the rows that it fails on; this asks about them once more.
    """
    job, n, found = run.job, len(first.instances), list[Floats]()
    for spans in ([(0, n)], [(i, i + 1) for i in range(n)]) if n else ():
        for span in spans if not found else ():
            with suppress(VeridicalError):
                found.append(model(first.instances.inputs(*span)))
    answers = np.concatenate(found) if found else None
    if answers is not None and callable(job.target):  # two functions may have one name, and only that is recorded
        answers = np.column_stack([answers, resolve(job.target, model, answers).read(answers)])
    by_name = job.target is None or callable(job.target)
    settings = {
        "method": describe(job.method),
        "target": describe(job.target) if by_name else pack_target(as_plain(job.target)),
        "classes": None if job.classes is None else [pack(each) for each in job.classes],
        "rng": {"entropy": job.seed.entropy, "spawn_key": list(job.seed.spawn_key)},
    }
    told = hashlib.sha256(type(job.represent).__name__.encode())
    for row in first.rows:  # by its parts, and some samples
        try:
            parts = encode([[p.name, p.column, p.relation, encode(p.value)] for p in row.parts])
            sample = row.draw(row.kernel, np.random.SeedSequence(0), 0, DRAWN)
            made = row.realize(sample)
            inputs = made[0 : len(made)] if isinstance(made, MaskedInputs) else made
            told.update((parts + content_of([sample.designs, sample.weights]) + content_of(inputs)).encode())
        except VeridicalError:  # this one cannot be represented, and others can
            told.update(b"none")
    data = {"first": content_of(first.X), **digest_rows(run.source)}
    return Head(
        settings, told.hexdigest() if first.rows else "", data, answers, job.keep, run.size, run.source.n_rows
    )


def with_sample(run: Run, model: Model, first: FirstRows) -> tuple[Run, int]:
    """A run with the sample that all instances share, where they can, and how often the model was asked for it.

    The whole ladder of samples is asked about here, so that no worker ever asks again. What this process knows
    now, it need not make again to do some of the work.
    """
    if not first.rows:
        first = represent_head(run, CHUNK, most=1)
    if not first.rows:
        raise name_error(0, first.errors[0]) if first.errors else InputError("there are no rows to explain")
    with one_thread:
        sample = ask_ahead(run.job.method, model, first.rows[0], run.job.seed)
    job = replace(run.job, memory=[OpenJob(model, sample)])
    if sample is None:
        return replace(run, job=job), 0
    return replace(run, job=replace(job, common=sample.common, sample=sample.pieces)), sample.n


def run_chunks(engine: Engine, job: Job, chunks: Iterator[Chunk]) -> Iterator[ChunkDone]:
    """Every chunk explained, in any order, each once: the loop of a run.

    Chunks are handed out until too many have failed, and taken back. One that failed is tried again alone, three
    times in all; an error of veridical's own is raised at once, for it says what to do. Chunks that fail each time
    are told in the end, when all others are done.
    """
    lost, in_a_row = list[ChunkFailed](), 0
    for first in chunks:
        failed = list[ChunkFailed]()
        for done in hand_over(engine, job, chain([first], chunks), failed):
            yield done
            in_a_row = 0
        for last in failed:
            again = list[ChunkFailed]()
            for _ in range(TRIES - 1):
                alone = [*hand_over(engine, job, iter([last.chunk]), again)]  # who dies of it takes no other along
                yield from alone
                if alone:
                    break
            in_a_row = 0 if alone else in_a_row + 1
            lost += [] if alone else again[-1:]
        if in_a_row >= HOPELESS or (lost and job.folder is None):  # without a store, the rest is of no use
            break
    if lost:
        raise VeridicalError(_describe_failures(lost, job)) from lost[0].cause


def hand_over(engine: Engine, job: Job, chunks: Iterator[Chunk], failed: list[ChunkFailed]) -> Iterator[ChunkDone]:
    """Chunks explained by an engine, each of which must come back once, until too many have ``failed``."""
    limit, out = len(failed) + SUSPECTS, dict[int, Chunk]()

    def draw() -> Iterator[Chunk]:
        while len(failed) < limit and (chunk := next(chunks, None)) is not None:
            out[chunk.number] = chunk
            yield chunk

    for result in engine.run(job, draw()):
        number = result.number if isinstance(result, ChunkDone) else result.chunk.number
        if number not in out:
            raise VeridicalError(f"{engine} gave chunk {number} back twice, or never had it: it loses count")
        had = out.pop(number)
        if isinstance(result, ChunkFailed):
            if isinstance(result.cause, VeridicalError):
                raise result.cause
            failed.append(result)
        elif (result.start, result.stop) != (had.start, had.stop):
            raise VeridicalError(f"{engine} gave other rows back for chunk {number}: it mixes chunks up")
        else:
            yield result
    if out:
        raise VeridicalError(f"{engine} did not give chunk {min(out)} back: it loses work")


def _describe_failures(lost: Sequence[ChunkFailed], job: Job) -> str:
    """Which chunks were given up, and why."""
    last = lost[-1]
    where = ", ".join(f"{f.chunk.number} (rows {f.chunk.start} to {f.chunk.stop - 1})" for f in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    rest = (
        "without a store, the others are lost, too: pass store=, a folder"
        if job.folder is None
        else "the others are in the store: the same call again tries only what is missing"
    )
    what, each = ("chunk", "") if len(lost) == 1 else ("chunks", " each")
    why = f"{type(last.cause).__name__}: {str(last.cause).strip()}".partition("\n")[0].removesuffix(".")
    return f"{what} {where}{more} failed {TRIES} times{each}, the last time with {why}; {rest}"
