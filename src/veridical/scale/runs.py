"""A run: chunks handed to an engine, failures tried again, and every one accounted for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model
from veridical.attribute.lime import Lime
from veridical.attribute.many import CHUNK, Listing, Track
from veridical.attribute.neighborhood import Answers
from veridical.attribute.single import one_thread
from veridical.attribute.stream import Found
from veridical.attribute.targets import resolve
from veridical.errors import InputError, VeridicalError
from veridical.records import (
    Explanation,
    Explanations,
    Failure,
    Instances,
    Representation,
    Representer,
    Shareable,
)
from veridical.represent.row_names import name_at, split_names
from veridical.scale.engines.pools import Engine
from veridical.scale.sources.files import Parquet, fitting, paths_of, source_of_files
from veridical.scale.sources.lines import Lines
from veridical.scale.sources.memory import InMemory, Source
from veridical.scale.stores.folder import begin, begun, finish, is_complete
from veridical.scale.stores.heads import (
    FIRST,
    Head,
    answers_of,
    content_of,
    names_told_by,
    seen_by,
    settings_of,
    told_by,
)
from veridical.scale.stores.parts import Piece
from veridical.scale.stores.store import Store
from veridical.scale.work import (
    Chunk,
    Done,
    Failed,
    Job,
    Open,
    apart,
    bare,
    numbered,
    representable,
    representable_here,
    taken,
)

TRIES = 3  # of a chunk, before the run goes on without it
SUSPECTS = 8  # failed chunks that are kept before they are tried again
HOPELESS = 3  # chunks given up one after the other, after which nothing more is tried


@dataclass(frozen=True, eq=False)
class Run:
    """What is to be done, and by whom."""

    engine: Engine
    job: Job
    source: Source
    track: Track
    size: int  # instances a chunk


def source_of(engine: Engine, X: Any, job: Job) -> Source:
    """Where the instances come from: files, a table of the engine's own, or memory."""
    paths = paths_of(X)
    files = X if isinstance(X, (Parquet, Lines)) else None if paths is None else source_of_files(paths)
    if files is not None:
        return fitting(files, job.represent, job.keep)
    return engine.source(X) or InMemory.of(X, job.represent)


def chunk_size(batch_size: int | None) -> int:
    """Instances a chunk: a whole number of blocks; four by default, so that no worker waits long."""
    return -(-(4 * CHUNK if batch_size is None else batch_size) // CHUNK) * CHUNK


def explain_here(run: Run, model: Model) -> Explanations:
    """Explain all instances, and hold what comes out in memory."""
    run, _ = with_sample(run, model)
    pieces: dict[int, Piece] = {}

    def hold(done: Done) -> None:
        assert done.piece is not None
        pieces[done.start] = done.piece

    _follow(run, run.source.chunks(run.size), hold, run.source.n_rows)
    ordered = [pieces[start] for start in sorted(pieces)]
    failures = [
        Failure(name_at(piece.names, number - piece.start) if piece.names is not None else number, number, error)
        for piece in ordered
        for number, error in piece.errors.items()
    ]
    return Explanations(
        tuple(why for piece in ordered for why in piece.explanations if why is not None), tuple(failures)
    )


def explain_in_memory(
    represent: Representer, X: Any, explain: Callable[[Instances, Listing], Iterator[Found]], track: Track
) -> Explanations:
    """Explain instances that are all here, and go on past those that fail; if all do, raise the first error."""
    X, names = split_names(represent, X)
    if not hasattr(X, "__len__") and not hasattr(X, "shape") and hasattr(X, "__iter__"):
        X = list(X)
    instances, wrong = representable_here(represent, X)
    errors: dict[int, VeridicalError] = {i: error for i, error in enumerate(wrong) if error is not None}
    numbers = [i for i in range(len(wrong)) if i not in errors] if errors else range(len(wrong))
    work, items = explain(instances, Listing(numbers, names)), list[Explanation]()
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
    ready = None if begun(path) else with_sample(run, model)  # what is wrong shows before there is a folder
    head = _head(run, model)
    folder, there = begin(path, head)
    if is_complete(folder, there) and run.source.n_rows is not None:
        return Store(folder.path)
    run, n_calls = ready or with_sample(run, model)
    whole = replace(run, job=replace(run.job, folder=folder), size=folder.chunk_rows)
    n_rows, left = 0, run.source.n_rows
    if left is not None:
        left -= sum(receipt.stop - receipt.start for receipt in there.values())

    def missing() -> Iterator[Chunk]:
        nonlocal n_rows
        for chunk in whole.source.chunks(whole.size):
            n_rows = chunk.stop
            if chunk.number not in there:
                yield chunk

    _follow(whole, missing(), lambda done: None, left)
    finish(folder, n_rows, n_calls + (0 if head.answers is None else len(head.answers)))
    return Store(folder.path)


def _head(run: Run, model: Model) -> Head:
    """What a store is of."""
    job = run.job
    first, _ = apart(run.source.head(FIRST), job)
    good = taken(first, [i for i, _ in represented(job.represent, first)])
    answers = answers_of(model, job.represent, good)
    if answers is not None and callable(job.target):  # two functions may have one name, and only that is recorded
        answers = np.column_stack([answers, resolve(job.target, model, answers).read(answers)])
    return Head(
        settings_of(job.method, job.target, job.classes, job.seed),
        seen_by(job.represent, good),
        {"first": content_of(first), **told_by(run.source), **names_told_by(run.source)},
        answers,
        job.keep,
        run.size,
        run.source.n_rows,
    )


def _follow(run: Run, chunks: Iterator[Chunk], note: Callable[[Done], None], n_rows: int | None) -> None:
    """Work through the chunks; progress is counted in rows."""

    def rows() -> Iterator[None]:
        for done in finished(run.engine, run.job, chunks):
            note(done)
            yield from repeat(None, done.stop - done.start)

    with one_thread:
        deque(run.track(rows(), total=n_rows), maxlen=0)


def with_sample(run: Run, model: Model) -> tuple[Run, int]:
    """A run with the sample that all instances share, where they can, and how often the model was asked for it.

    The whole ladder of samples is asked about here, so that no worker ever asks again. What this process knows
    now, it need not make again to do some of the work.
    """
    first, job = first_of(run.job, run.source), run.job
    if not isinstance(job.method, Lime) or not isinstance(first, Shareable):
        return replace(run, job=replace(job, memory=[Open(model, None)])), 0
    answers = Answers(model, first.common, job.seed)
    pieces = job.method.ladder(first)
    with one_thread:
        for piece in pieces:
            answers(*piece)
    known = [Open(model, Sums(answers))]
    return replace(run, job=replace(job, common=first.common, sample=answers.pieces, memory=known)), pieces[-1][1]


def first_of(job: Job, source: Source) -> Representation:
    """The first instance that can be represented, among those of the first block."""
    errors: list[InputError] = []
    found = represented(job.represent, apart(source.head(CHUNK), job)[0], errors.append)
    for _, representation in found:
        return representation
    raise numbered(0, errors[0]) if errors else InputError("there are no rows to explain")


def represented(
    represent: Representer, X: Any, tell: Callable[[InputError], None] = lambda error: None
) -> Iterator[tuple[int, Representation]]:
    """The instances that can be represented, one after the other, with their places."""
    instances, errors = representable(represent, X)
    for error in filter(None, errors):
        tell(error)
    batch = instances.batch(0, len(instances))
    for at, i in enumerate([i for i, error in enumerate(errors) if error is None]):
        try:
            yield i, batch[at]
        except InputError as error:
            tell(bare(error))


def finished(engine: Engine, job: Job, chunks: Iterator[Chunk]) -> Iterator[Done]:
    """Every chunk explained, in any order, each once.

    A chunk that fails is tried again alone, three times in all; an error of veridical's own is raised at once, for
    it says what to do. Chunks that fail each time are told in the end, when all others are done.
    """
    lost, in_a_row = list[Failed](), 0
    for first in chunks:
        suspects: list[Failed] = []
        for result in accounted(engine, job, _few(first, chunks, suspects)):
            if isinstance(result, Done):
                yield result
                in_a_row = 0
            else:
                suspects.append(result)
        for failed in suspects:
            again = _again(engine, job, failed)
            if isinstance(again, Done):
                yield again
            else:
                lost.append(again)
            in_a_row = 0 if isinstance(again, Done) else in_a_row + 1
        if in_a_row >= HOPELESS or (lost and job.folder is None):  # without a store, the rest is of no use
            break
    if lost:
        raise VeridicalError(_told(lost, job)) from lost[0].cause


def _few(first: Chunk, chunks: Iterator[Chunk], suspects: Sequence[Failed]) -> Iterator[Chunk]:
    """Chunks, until too many have failed."""
    yield first
    while len(suspects) < SUSPECTS and (chunk := next(chunks, None)) is not None:
        yield chunk


def _again(engine: Engine, job: Job, failed: Failed) -> Done | Failed:
    """A chunk that failed, tried again alone: who dies of it takes no other along."""
    result: Done | Failed = failed
    for _ in range(TRIES - 1):
        (result,) = accounted(engine, job, iter([failed.chunk]))
        if isinstance(result, Done):
            break
    return result


def accounted(engine: Engine, job: Job, chunks: Iterator[Chunk]) -> Iterator[Done | Failed]:
    """What an engine makes of chunks, each of which must come back once."""
    out: dict[int, Chunk] = {}

    def handed() -> Iterator[Chunk]:
        for chunk in chunks:
            out[chunk.number] = chunk
            yield chunk

    for result in engine.run(job, handed()):
        number = result.number if isinstance(result, Done) else result.chunk.number
        if number not in out:
            raise VeridicalError(f"{engine} gave chunk {number} back twice, or never had it: it loses count")
        had = out.pop(number)
        if isinstance(result, Done) and (result.start, result.stop) != (had.start, had.stop):
            raise VeridicalError(f"{engine} gave other rows back for chunk {number}: it mixes chunks up")
        if isinstance(result, Failed) and isinstance(result.cause, VeridicalError):
            raise result.cause
        yield result
    if out:
        raise VeridicalError(f"{engine} did not give chunk {min(out)} back: it loses work")


def _told(lost: Sequence[Failed], job: Job) -> str:
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
