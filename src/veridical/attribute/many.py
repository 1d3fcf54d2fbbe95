"""Many instances: one shared sample where the law allows, a private one where it would be too thin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias, cast

import numpy as np

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model
from veridical.attribute.lime import Lime, Question
from veridical.attribute.neighborhood import Answers, shared
from veridical.records import Explanation, Floats, Instances, Method, Representation, Seed, Shareable

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


def explain_all(
    method: Method, model: Model, instances: Instances, target: Any, seed: Seed, plan: Plan
) -> Iterator[Explanation]:
    """Explain instances in order, a batch at a time; each result depends on its own instance and number alone."""
    own = Own(model, instances)
    sums: Sums | None = None
    for start in range(0, len(instances), plan.batch_size):
        batch = instances.batch(start, min(start + plan.batch_size, len(instances)))
        if start == 0 and isinstance(method, Lime) and isinstance(batch[0], Shareable):
            sums = Sums(Answers(model, batch[0].common, seed))

        def one(
            offset: int,
            start: int = start,
            batch: list[Representation] = batch,
            sums: Sums | None = sums,
        ) -> Explanation:
            number = start + offset
            return explain_one(method, model, batch[offset], target, seed, number, sums, own)

        if plan.n_jobs == 1:
            yield from map(one, range(len(batch)))
        else:
            with ThreadPoolExecutor(None if plan.n_jobs == -1 else plan.n_jobs) as pool:
                yield from pool.map(one, range(len(batch)))
        own.forget(start + len(batch))


def explain_one(
    method: Method,
    model: Model,
    representation: Representation,
    target: Any,
    seed: Seed,
    number: int,
    sums: Sums | None,
    own: Own,
) -> Explanation:
    """Explain instance ``number`` from the shared sample, or from a sample of its own if that is too thin."""
    if sums is not None:
        assert isinstance(method, Lime)
        kernel, row = method.kernel_for(representation), cast(Shareable, representation)
        if row.efficiency(kernel) >= THIN:
            source = shared(sums.answers, row, kernel, own(number))
            return method.explain(source, Question(model, row, (target,), seed, sums))[0]
    child = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, number))
    return method(model, representation, (target,), child)[0]
