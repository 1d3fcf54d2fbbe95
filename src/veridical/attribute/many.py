"""Many instances: one shared sample where the law allows, a private one where it would be too thin."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model, stacked
from veridical.attribute.given import answered, name_unseen
from veridical.attribute.lime import Lime
from veridical.attribute.neighborhood import Answers, shared
from veridical.attribute.question import Question
from veridical.attribute.rows_at_once import AtOnce
from veridical.attribute.stream import Found, streamed, task_of
from veridical.attribute.targets import Predicted, predicted
from veridical.errors import InputError, ModelError, UnequalAnswers, VeridicalError
from veridical.masks import Gaussian, child_of
from veridical.records import Explanation, Floats, Instances, Method, Representation, Seed, Shareable

THIN = 0.3  # below this effective share of a shared sample, an instance gets samples of its own
TRIED = 8  # rows all over a list that are tried before the list, and not a row, is what is wrong
CHUNK = 1024  # instances the model is asked about at once, whatever the batch size

T = TypeVar("T")
Track: TypeAlias = Callable[..., Iterable[Any]]
Flow: TypeAlias = Callable[[Sequence[Representation], Sequence[int]], Iterator[Found]]


@dataclass(frozen=True)
class Plan:
    """How many instances are worked on: none of this changes what comes out."""

    batch_size: int = 1000
    n_jobs: int = 1


@dataclass(frozen=True, eq=False)
class Listing:
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
                self.decided[chunk] = predicted(self.model, inputs)
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


@dataclass(frozen=True, eq=False)
class Work:
    """One way to explain any of many instances: what comes out depends on the instance and its number alone."""

    method: Method
    model: Model
    target: Any
    seed: Seed
    own: Answering  # the model's answer to the instance of a number
    sums: Sums | None  # of a shared sample, where instances can share one
    names: Sequence[Any] | Mapping[int, Any] | None = None  # by number, which is the name where there is none

    def name(self, number: int) -> Any:
        return number if self.names is None else self.names[number]

    def wanted(self, number: int) -> Any:
        """The target of the instance of a number."""
        return self.target if self.target is not None or self.model.decide is None else self.own.predicted(number)

    @property
    def stream(self) -> Flow | None:
        """How a network on a device explains instances in one stream, where it can; an error stands for itself."""
        task = task_of(self.method, self.model, self.target, self.seed) if self.sums is None else None
        return None if task is None else partial(streamed, task)

    def at_once(self, batch: Sequence[Representation], numbers: Sequence[int]) -> dict[int, Found]:
        """The explanations, by number, of those instances of a batch that can be explained together."""
        if (stream := self.stream) is not None:
            streaming = zip(numbers, stream(batch, numbers), strict=True)
            return {
                number: replace(found, row=self.name(number)) if isinstance(found, Explanation) else found
                for number, found in streaming
            }
        if self.sums is None or not batch or not isinstance(self.method, Lime) or not self.method.plain:
            return {}
        kernel, rows, able, own = self.method.kernel_for(batch[0]), list[Shareable](), list[int](), list[Floats]()
        for representation, number in zip(batch, numbers, strict=True) if isinstance(kernel, Gaussian) else ():
            row = cast(Shareable, representation)
            with suppress(ModelError):  # which is said where the instance is explained alone
                if row.efficiency(kernel) >= THIN:
                    own.append(self.own(number))
                    rows.append(row)
                    able.append(number)
        if not able:
            return {}
        work = AtOnce(self.method, self.model, self.seed, self.sums)
        names = [self.name(number) for number in able]
        wanted = [self.wanted(number) for number in able]
        found = zip(able, work(rows, stacked([each[None] for each in own]), names, wanted), strict=True)
        return {number: why for number, why in found if why is not None}

    def found(self, batch: Sequence[Representation], i: int, number: int) -> Found:
        """The explanation of one of a batch, or its error."""
        try:
            return self(batch[i], number)
        except (InputError, ModelError) as error:
            return error

    def __call__(self, representation: Representation, number: int) -> Explanation:
        """Explain from the shared sample, or from one of the instance's own if that would be too thin."""
        if self.sums is not None:
            assert isinstance(self.method, Lime)
            kernel, row = self.method.kernel_for(representation), cast(Shareable, representation)
            if row.efficiency(kernel) >= THIN:
                source = shared(self.sums.answers, row, kernel, self.own(number))
                asked = Question(
                    self.model, row, (self.wanted(number),), self.seed, self.sums, row=self.name(number)
                )
                return self.method.explain(source, asked)[0]
        child = child_of(self.seed, number)
        try:
            with name_unseen(representation):
                found = answered(self.method(self.model, representation, (self.wanted(number),), child))[0]
            return replace(found, row=self.name(number))
        except ModelError as cause:
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
    rows: Listing | None = None,
) -> Iterator[Found]:
    """Explain instances in order, a batch at a time; one that fails gives its error instead.

    Where all that are tried fail, the error of the first is raised.
    """
    rows = Listing(range(len(instances))) if rows is None else rows
    numbers, n = rows.numbers, len(instances)
    own, first = Own(model, instances, numbers), _first(instances)
    can_share = isinstance(method, Lime) and isinstance(first, Shareable)
    sums = Sums(Answers(model, cast(Shareable, first).common, seed)) if can_share else None
    work = Work(method, model, target, seed, own, sums, rows.names)
    if (stream := work.stream) is not None:
        yield from _streamed(work, stream, instances, numbers)
        return

    def alone(i: int) -> Found:
        return work.found(instances.batch(i, i + 1), 0, numbers[i])

    ready = dict[int, Found]()  # by place
    for start in range(0, n, plan.batch_size):
        stop = min(start + plan.batch_size, n)
        batch, found = instances.batch(start, stop), dict[int, Found]()
        with suppress(InputError, ModelError):  # which is said where an instance is explained alone
            found |= work.at_once(batch, numbers[start:stop])

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


def _streamed(work: Work, stream: Flow, instances: Instances, numbers: Sequence[int]) -> Iterator[Found]:
    """Explanations out of one stream; where all of the first chunk fail, the first error is raised."""
    for start in range(0, len(instances), CHUNK):
        some = numbers[start : start + CHUNK]
        errors = list[VeridicalError]()
        for number, found in zip(some, stream(instances.batch(start, start + len(some)), some), strict=True):
            if not isinstance(found, Explanation):
                errors.append(found)
            yield found if not isinstance(found, Explanation) else replace(found, row=work.name(number))
        if start == 0 and len(errors) == len(some):
            raise errors[0]
