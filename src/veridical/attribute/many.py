"""Many instances: one shared sample where the law allows, a private one where it would be too thin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, TypeAlias, cast

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model, stacked
from veridical.attribute.given import answered
from veridical.attribute.lime import Lime
from veridical.attribute.neighborhood import Answers, shared
from veridical.attribute.question import Question
from veridical.attribute.rows_at_once import AtOnce
from veridical.attribute.stream import Found, streamed, task_of
from veridical.errors import ModelError
from veridical.masks import Gaussian, child_of
from veridical.records import Explanation, Floats, Instances, Method, Representation, Seed, Shareable

THIN = 0.3  # below this effective share of a shared sample, an instance gets samples of its own
CHUNK = 1024  # instances the model is asked about at once, whatever the batch size

Track: TypeAlias = Callable[..., Iterable[Any]]
Flow: TypeAlias = Callable[[Sequence[Representation], Sequence[int]], Iterator[Found]]


@dataclass(frozen=True)
class Plan:
    """How many instances are worked on: none of this changes what comes out."""

    batch_size: int = 1000
    n_jobs: int = 1


@dataclass(frozen=True, eq=False)
class Own:
    """The model's answers to the instances themselves, asked in fixed chunks."""

    model: Model
    instances: Instances
    chunks: dict[int, Floats | ModelError] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, i: int) -> Floats:
        chunk, at = divmod(i, CHUNK)
        with self.lock:
            if chunk not in self.chunks:
                stop = min((chunk + 1) * CHUNK, len(self.instances))
                try:
                    self.chunks[chunk] = self.model(self.instances.inputs(chunk * CHUNK, stop), chunk * CHUNK)
                except ModelError as error:
                    self.chunks[chunk] = error
        found = self.chunks[chunk]
        if isinstance(found, ModelError):
            raise found
        row: Floats = found[at]
        return row

    def forget(self, before: int) -> None:
        """Drop chunks that lie wholly before an instance."""
        for chunk in [c for c in self.chunks if (c + 1) * CHUNK <= before]:
            del self.chunks[chunk]


@dataclass(frozen=True, eq=False)
class Work:
    """One way to explain any of many instances: what comes out depends on the instance and its number alone."""

    method: Method
    model: Model
    target: Any
    seed: Seed
    own: Callable[[int], Floats]  # the model's answer to the instance of a number
    sums: Sums | None  # of a shared sample, where instances can share one

    @property
    def stream(self) -> Flow | None:
        """How a network on a device explains instances in one stream, where it can; an error stands for itself."""
        task = task_of(self.method, self.model, self.target, self.seed) if self.sums is None else None
        return None if task is None else partial(streamed, task)

    def at_once(self, batch: Sequence[Representation], numbers: Sequence[int]) -> dict[int, Found]:
        """The explanations, by number, of those instances of a batch that can be explained together."""
        if (stream := self.stream) is not None:
            return dict(zip(numbers, stream(batch, numbers), strict=True))
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
        work = AtOnce(self.method, self.model, self.target, self.seed, self.sums)
        found = zip(able, work(rows, stacked([each[None] for each in own])), strict=True)
        return {number: why for number, why in found if why is not None}

    def __call__(self, representation: Representation, number: int) -> Explanation:
        """Explain from the shared sample, or from one of the instance's own if that would be too thin."""
        if self.sums is not None:
            assert isinstance(self.method, Lime)
            kernel, row = self.method.kernel_for(representation), cast(Shareable, representation)
            if row.efficiency(kernel) >= THIN:
                source = shared(self.sums.answers, row, kernel, self.own(number))
                return self.method.explain(
                    source, Question(self.model, row, (self.target,), self.seed, self.sums)
                )[0]
        child = child_of(self.seed, number)
        try:
            return answered(self.method(self.model, representation, (self.target,), child))[0]
        except ModelError as cause:
            raise ModelError(f"number {number} of the list: {cause}") from cause


def explain_all(
    method: Method, model: Model, instances: Instances, target: Any, seed: Seed, plan: Plan
) -> Iterator[Explanation]:
    """Explain instances in order, a batch at a time."""
    own, first = Own(model, instances), instances.batch(0, 1)[0]
    can_share = isinstance(method, Lime) and isinstance(first, Shareable)
    sums = Sums(Answers(model, cast(Shareable, first).common, seed)) if can_share else None
    work = Work(method, model, target, seed, own, sums)
    if (stream := work.stream) is not None:
        for start in range(0, len(instances), CHUNK):
            stop = min(start + CHUNK, len(instances))
            yield from map(_sound, stream(instances.batch(start, stop), range(start, stop)))
        return
    for start in range(0, len(instances), plan.batch_size):
        stop = min(start + plan.batch_size, len(instances))
        batch = instances.batch(start, stop)
        found = work.at_once(batch, range(start, stop))

        def explained(i: int, batch: Any = batch, start: int = start, found: Any = found) -> Explanation:
            return _sound(found.pop(i)) if i in found else work(batch[i - start], i)

        if plan.n_jobs == 1:
            yield from map(explained, range(start, stop))
        else:
            with ThreadPoolExecutor(None if plan.n_jobs == -1 else plan.n_jobs) as pool:
                yield from pool.map(explained, range(start, stop))
        own.forget(stop)


def _sound(found: Found) -> Explanation:
    if isinstance(found, Explanation):
        return found
    raise found
