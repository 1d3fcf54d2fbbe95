"""Many instances explained: from one shared sample where the law allows it, else from a private one each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from veridical.errors import InputError, ModelError, UnequalAnswers, VeridicalError
from veridical.methods.engine import SharedSample, SharedSamples, explain_rows, ladder
from veridical.methods.lime import Lime
from veridical.methods.results import Question
from veridical.models.outputs import Model, stack_outputs
from veridical.models.targets import Predicted, predict_classes
from veridical.models.validation import check_explanations, name_unseen
from veridical.networks.streaming import Found, StreamTask, streamed, task_of
from veridical.protocols import Instances, Method, Representation, Seed, Shareable
from veridical.records import Explanation, Floats
from veridical.seeds import child_of

THIN = 0.3  # below this effective share of a shared sample, an instance gets samples of its own
TRIED = 8  # rows all over a list that are tried before the list, and not a row, is what is wrong
CHUNK = 1024  # instances the model is asked about at once, whatever the batch size

T = TypeVar("T")
ProgressCallback: TypeAlias = Callable[..., Iterable[Any]]


@dataclass(frozen=True)
class Plan:
    """How many instances are worked on: none of this changes what comes out."""

    batch_size: int = 1000
    n_jobs: int = 1


@dataclass(frozen=True, eq=False)
class RowListing:
    """Which rows of a list instances are, where some are left out, and what all of the list are called."""

    numbers: Sequence[int]
    names: Sequence[Any] | None = None  # of the whole list; None where they have none but their numbers


class Answering(Protocol):
    """The model's answers to instances by number, and the classes that it predicts."""

    def __call__(self, number: int) -> Floats: ...

    def predicted(self, number: int) -> Predicted | None: ...


@dataclass(frozen=True, eq=False)
class Own:
    """The model's answers to the instances themselves, asked in fixed chunks; by halves where it fails on one."""

    model: Model
    instances: Instances
    numbers: Sequence[int]  # of the instances, in order
    chunks: dict[int, list[Floats | ModelError]] = field(default_factory=dict)
    broken: list[ModelError] = field(default_factory=list)  # an error, where the model fails on all that are tried
    lock: Lock = field(default_factory=Lock)
    decided: dict[int, list[Predicted | None]] = field(default_factory=dict)  # by chunk

    def predicted(self, number: int) -> Predicted | None:
        """The class that the model itself predicts for an instance."""
        chunk, at = self._place(number)
        with self.lock:
            if chunk not in self.decided:
                inputs = self.instances.inputs(chunk * CHUNK, min((chunk + 1) * CHUNK, len(self.instances)))
                self.decided[chunk] = predict_classes(self.model, inputs)
            return self.decided[chunk][at]

    def _place(self, number: int) -> tuple[int, int]:
        place = number if isinstance(self.numbers, range) else bisect_left(self.numbers, number)
        return divmod(place, CHUNK)

    def __call__(self, number: int) -> Floats:
        chunk, at = self._place(number)
        with self.lock:
            if self.broken:
                raise self.broken[0].with_traceback(None)  # it would grow with every row
            if chunk not in self.chunks:
                stop = min((chunk + 1) * CHUNK, len(self.instances))
                self.chunks[chunk] = self._ask(chunk * CHUNK, stop, first=chunk == 0)
        found = self.chunks[chunk][at]
        if isinstance(found, ModelError):
            raise found
        return found

    def _ask(self, start: int, stop: int, first: bool = False) -> list[Floats | ModelError]:
        try:
            return list(self.model(self.instances.inputs(start, stop), self.numbers[start]))
        except ModelError as error:
            if stop - start == 1:
                return [error]
        if first:
            self._check_some()
        middle = (start + stop) // 2
        return self._ask(start, middle) + self._ask(middle, stop)

    def _check_some(self) -> None:
        """Give up where the model fails on rows all over the list."""
        try:
            first_found(lambda i: self._ask(i, i + 1)[0], len(self.instances))
        except ModelError as error:
            self.broken.append(error)
            raise

    def forget(self, before: int) -> None:
        """Drop chunks that lie wholly before an instance."""
        for chunk in [c for c in {*self.chunks, *self.decided} if (c + 1) * CHUNK <= before]:
            self.chunks.pop(chunk, None)
            self.decided.pop(chunk, None)


def first_found(find: Callable[[int], T | VeridicalError], n: int) -> dict[int, T | VeridicalError]:
    """What is found at a few places all over n of them, up to the first that is no error.

    Where all are errors, it is no fault of a row, and the first error is raised.
    """
    found = dict[int, T | VeridicalError]()
    for i in np.unique(np.linspace(0, n - 1, TRIED).astype(int)).tolist():
        found[i] = find(i)
        if not isinstance(found[i], VeridicalError):
            return found
    raise cast(VeridicalError, found[0])


def ask_ahead(method: Method, model: Model, first: Representation, seed: Seed) -> SharedSample | None:
    """The sample that rows like the first share, asked about to the end; None where rows share none."""
    sample = sample_for(method, model, first, seed)
    if sample is not None:
        assert isinstance(method, Lime)
        for piece in ladder(method, first):
            sample.grow(*piece)
    return sample


def sample_for(method: Method, model: Model, first: Representation | None, seed: Seed) -> SharedSample | None:
    """The sample that rows like the first share, before it is asked about; None where rows share none."""
    return SharedSample(model, cast(Shareable, first).common, seed) if can_share(method, first) else None


def can_share(method: Method, first: Representation | None) -> bool:
    """Whether a method explains rows like the first from one sample for all, so that each costs little."""
    return isinstance(method, Lime) and first is not None and isinstance(method.see(first), Shareable)


@dataclass(frozen=True, eq=False)
class RowWork:
    """One way to explain any of many instances: what comes out depends on the instance and its number alone."""

    method: Method
    model: Model
    target: Any
    seed: Seed
    own: Answering  # the model's answer to the instance of a number
    sample: SharedSample | None  # where instances can share one
    names: Sequence[Any] | Mapping[int, Any] | None = None  # by number, which is the name where there is none

    def name(self, number: int) -> Any:
        return number if self.names is None else self.names[number]

    def wanted(self, number: int) -> Any:
        """The target of the instance of a number."""
        return self.target if self.target is not None or self.model.decide is None else self.own.predicted(number)

    @property
    def stream(self) -> StreamTask | None:
        """How a network on a device explains instances in one stream, where it can."""
        if self.sample is not None or not isinstance(self.method, Lime):
            return None
        return task_of(self.method, self.model, self.target, self.seed)

    def streamed(
        self, task: StreamTask, batch: Sequence[Representation], numbers: Sequence[int]
    ) -> Iterator[Found]:
        """Explanations out of one stream, in order; an error stands for itself."""
        for number, found in zip(numbers, streamed(task, batch, numbers), strict=True):
            yield replace(found, row=self.name(number)) if isinstance(found, Explanation) else found

    def shares(self, representation: Representation) -> bool:
        """Whether an instance is explained from the sample that others share, which is not too thin near it."""
        if self.sample is None or not isinstance(self.method, Lime) or not isinstance(representation, Shareable):
            return False
        return representation.efficiency(self.method.kernel_for(representation)) >= THIN

    def together(self, batch: Sequence[Representation], numbers: Sequence[int]) -> dict[int, Found]:
        """The explanations, by number, of those of a batch that share a stream, or a sample."""
        if (task := self.stream) is not None:
            return dict(zip(numbers, self.streamed(task, batch, numbers), strict=True))
        if self.sample is None or not batch:
            return {}
        assert isinstance(self.method, Lime)
        rows, able, own = list[Shareable](), list[int](), list[Floats]()
        for representation, number in zip(batch, numbers, strict=True):
            if self.shares(representation):
                with suppress(ModelError):  # which is said where the instance is explained alone
                    own.append(self.own(number)[None])
                    rows.append(cast(Shareable, representation))
                    able.append(number)
        if not able:
            return {}
        asked = [
            Question(self.model, row, (self.wanted(number),), self.seed, shared=True, row=self.name(number))
            for row, number in zip(rows, able, strict=True)
        ]
        source = SharedSamples(self.sample, rows, self.method.kernel_for(rows[0]), stack_outputs(own))
        made = explain_rows(self.method, asked, source)
        return {number: why for number, (why,) in zip(able, made, strict=True)}

    def found(self, batch: Sequence[Representation], i: int, number: int) -> Found:
        """The explanation of one of a batch, or its error, which may be that it cannot be represented."""
        try:
            return self(batch[i], number)
        except (InputError, ModelError) as error:
            return error

    def __call__(self, representation: Representation, number: int) -> Explanation:
        """Explain from the shared sample, or from one of the instance's own if that would be too thin."""
        if self.shares(representation):
            self.own(number)  # may fail, and says why
            return cast(Explanation, self.together([representation], [number])[number])
        child = child_of(self.seed, number)
        try:
            found = self.method(self.model, representation, (self.wanted(number),), child)
            return replace(check_explanations(found)[0], row=self.name(number))
        except ModelError as error:
            cause = name_unseen(error, representation)
            raise type(cause)(f"number {number} of the list: {cause}") from cause


def explain_all(
    method: Method, model: Model, instances: Instances, target: Any, seed: Seed, plan: Plan
) -> Iterator[Explanation]:
    """Explain instances in order; the error of one that fails is raised."""
    for found in explain_each(method, model, instances, target, seed, plan):
        if not isinstance(found, Explanation):
            raise found
        yield found


def explain_each(
    method: Method,
    model: Model,
    instances: Instances,
    target: Any,
    seed: Seed,
    plan: Plan,
    rows: RowListing | None = None,
) -> Iterator[Found]:
    """Explain instances in order, a batch at a time; one that fails gives its error instead.

    Where all that are tried fail, the error of the first is raised.
    """
    rows = RowListing(range(len(instances))) if rows is None else rows
    numbers, n = rows.numbers, len(instances)
    own = Own(model, instances, numbers)
    work = RowWork(
        method, model, target, seed, own, sample_for(method, model, _first(instances), seed), rows.names
    )
    if (task := work.stream) is not None:
        yield from _streamed(work, task, instances, numbers)
        return

    def alone(i: int) -> Found:
        return work.found(instances.batch(i, i + 1), 0, numbers[i])

    ready = dict[int, Found]()  # by place
    for start in range(0, n, plan.batch_size):
        stop = min(start + plan.batch_size, n)
        batch, found = instances.batch(start, stop), dict[int, Found]()
        with suppress(InputError, ModelError):  # which is said where an instance is explained alone
            found |= work.together(batch, numbers[start:stop])

        def explained(i: int, batch: Any = batch, start: int = start, found: Any = found) -> Found:
            number = numbers[i]
            if number in found:
                return cast(Found, found.pop(number))
            return ready.pop(i) if i in ready else work.found(batch, i - start, number)

        def told(made: Iterable[Found], start: int = start) -> Iterator[Found]:
            for i, each in enumerate(made, start):
                if isinstance(each, UnequalAnswers):
                    raise each
                if i == 0 and not isinstance(each, Explanation):
                    ready.update(first_found(lambda i, first=each: alone(i) if i else first, n))  # type: ignore[misc]
                yield each

        if plan.n_jobs == 1:
            yield from told(map(explained, range(start, stop)))
        else:
            with ThreadPoolExecutor(None if plan.n_jobs == -1 else plan.n_jobs) as pool:
                yield from told(pool.map(explained, range(start, stop)))
        own.forget(stop)


def _first(instances: Instances) -> Representation | None:
    """The first instance that can be represented, of those that are tried."""
    for i in range(min(TRIED, len(instances))):
        with suppress(InputError):
            return instances.batch(i, i + 1)[0]
    return None


def _streamed(work: RowWork, task: StreamTask, instances: Instances, numbers: Sequence[int]) -> Iterator[Found]:
    """Explanations out of one stream; where all of the first chunk fail, the first error is raised."""
    for start in range(0, len(instances), CHUNK):
        some = numbers[start : start + CHUNK]
        errors = list[VeridicalError]()
        for found in work.streamed(task, instances.batch(start, start + len(some)), some):
            if not isinstance(found, Explanation):
                errors.append(found)
            yield found
        if start == 0 and len(errors) == len(some):
            raise errors[0]
