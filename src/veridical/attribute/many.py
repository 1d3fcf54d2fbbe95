"""Many instances: one shared sample where the law allows, a private one where it would be too thin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias, cast

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model
from veridical.attribute.given import answered
from veridical.attribute.lime import Lime
from veridical.attribute.neighborhood import Answers, shared
from veridical.attribute.question import Question
from veridical.attribute.stream import Found, streamed, task_of
from veridical.errors import ModelError
from veridical.masks import child_of
from veridical.records import Explanation, Floats, Instances, Method, Representation, Seed, Shareable
from veridical.represent.masked import Masked

THIN = 0.3  # below this effective share of a shared sample, an instance gets samples of its own
CHUNK = 1024  # instances the model is asked about at once, whatever the batch size

Track: TypeAlias = Callable[..., Iterable[Any]]


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
    chunks: dict[int, Floats] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, i: int) -> Floats:
        chunk, at = divmod(i, CHUNK)
        with self.lock:
            if chunk not in self.chunks:
                stop = min((chunk + 1) * CHUNK, len(self.instances))
                self.chunks[chunk] = self.model(self.instances.inputs(chunk * CHUNK, stop), chunk * CHUNK)
        row: Floats = self.chunks[chunk][at]
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
    task = task_of(method, model, target, seed)
    if task is not None and isinstance(first, Masked):
        for start in range(0, len(instances), CHUNK):
            stop = min(start + CHUNK, len(instances))
            yield from map(_sound, streamed(task, instances.batch(start, stop), range(start, stop)))
        return
    can_share = isinstance(method, Lime) and isinstance(first, Shareable)
    sums = Sums(Answers(model, cast(Shareable, first).common, seed)) if can_share else None
    work = Work(method, model, target, seed, own, sums)
    for start in range(0, len(instances), plan.batch_size):
        stop = min(start + plan.batch_size, len(instances))
        batch = instances.batch(start, stop)
        if plan.n_jobs == 1:
            yield from map(work, batch, range(start, stop))
        else:
            with ThreadPoolExecutor(None if plan.n_jobs == -1 else plan.n_jobs) as pool:
                yield from pool.map(
                    lambda i, batch=batch, start=start: work(batch[i - start], i), range(start, stop)
                )
        own.forget(stop)


def _sound(found: Found) -> Explanation:
    if isinstance(found, Explanation):
        return found
    raise found
