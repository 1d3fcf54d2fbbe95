"""Many instances of a network in one stream: while its device works on some, the answers to others are fitted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.ask import Heard, Model, checked
from veridical.attribute.launches import fetched, numbers_of_one
from veridical.attribute.lime import Lime, Steps
from veridical.attribute.network import Network
from veridical.attribute.question import Question
from veridical.attribute.stacked import Stack, can_stack
from veridical.attribute.switches import Switched
from veridical.attribute.targets import resolve
from veridical.errors import ModelError, VeridicalError, require
from veridical.masks import child_of
from veridical.records import Explanation, Fit, Floats, Method, Representation, Sample, Seed, Stream

TOGETHER = 2**26  # numbers of input of several instances that the network is asked about at once, about
MOST = 32  # instances that it is asked about at once, so that there are always some to work on meanwhile
STACKED = 8  # fits that are made where the outputs are, at least: few are quicker one by one
AHEAD = 3  # batches that the device is given before the answers to the first are read

Found: TypeAlias = Explanation | VeridicalError  # an error is of that instance alone


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of every instance."""

    method: Lime
    model: Model
    network: Network
    target: Any
    seed: Seed


@dataclass(frozen=True, eq=False)
class Asked:
    """Samples of one instance, whose answers are wanted next."""

    number: int
    question: Question
    steps: Steps | None  # None where the samples are all there are
    start: int
    sample: Sample
    made: Switched | None  # the inputs, where the network makes them itself

    def __len__(self) -> int:
        return len(self.sample.designs)


@dataclass(frozen=True, eq=False)
class Together(Switched):
    """Masked inputs of several instances of one shape, one after another."""

    parts: tuple[Switched, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.parts[0].shape[1:])

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def made(self, rows: slice, last: bool) -> Any:
        start, stop, _ = rows.indices(len(self))
        made, at = [], 0
        for part in self.parts:
            if at < stop and start < at + len(part):
                made.append(part.made(slice(max(start - at, 0), stop - at), last))
            at += len(part)
        return made[0] if len(made) == 1 else require("torch", extra="torch").cat(made)


@dataclass(frozen=True, eq=False)
class Flight:
    """What the device was given, and where its answers will be."""

    asked: Sequence[Asked]
    outputs: Any  # (rows of all, k), on their way
    stacks: Sequence[tuple[list[int], Stack, Any]]  # which of those asked are fitted, how, and the numbers
    landed: Any  # an event; None where nothing is waited for


@dataclass(frozen=True, eq=False)
class Lane:
    """The device of a network, and the queue of work that it is given beside all else that goes on there."""

    task: Task
    device: Any
    queue: Any  # a CUDA stream; None on a device that answers at once

    @classmethod
    def of(cls, task: Task) -> Lane:
        """The lane of the device that the network is on."""
        device = task.network.device
        queue = require("torch", extra="torch").cuda.Stream(device) if device.type == "cuda" else None
        return cls(task, device, queue)

    def _working(self) -> Any:
        """Where the network works: after all that was made so far, beside all that is made from here on."""
        if self.queue is None:
            return nullcontext()
        torch = require("torch", extra="torch")
        self.queue.wait_stream(torch.cuda.current_stream(self.device))
        return torch.cuda.stream(self.queue)

    def launch(self, asked: Sequence[Asked]) -> Flight:
        """Ask about all inputs at once, without waiting for the answers."""
        torch = require("torch", extra="torch")
        answers = [self._ask(batch) for batch in self._batches(asked)]
        with torch.no_grad(), self._working():
            outputs = answers[0] if len(answers) == 1 else torch.cat(answers)
            fitted = [
                (which, stack, fetched(stack.solve(y))) for which, stack, y in _stacks(self.task, asked, outputs)
            ]
            back = fetched(outputs)
            return Flight(asked, back, fitted, None if self.queue is None else self.queue.record_event())

    def _batches(self, asked: Sequence[Asked]) -> Iterable[Any]:
        """The network's own inputs."""
        made = tuple(each.made for each in asked if each.made is not None)
        if made:
            return made if len(made) == 1 else (Together(made[0].switch, None, parts=made),)
        (one,) = asked
        inputs = one.question.representation.realize(one.sample)
        return map(self.task.network.tensor, inputs.batches() if isinstance(inputs, Stream) else (inputs,))

    def _ask(self, batch: Any) -> Any:
        with self._working():
            if self.queue is not None and not isinstance(batch, Switched):
                batch.record_stream(self.queue)  # it may be forgotten before it is read
            return self.task.network.launch(batch)


def _stacks(task: Task, asked: Sequence[Asked], outputs: Any) -> Iterator[tuple[list[int], Stack, Any]]:
    """Which of those asked have a plain fit, by shape, if many do, and the outputs (b, n) that are explained."""
    few = len(asked) < STACKED or outputs.device.type == "mps"  # which has no doubles
    if few or not task.method.plain or callable(task.target):
        return
    alike: dict[Any, list[int]] = {}
    for i, each in enumerate(asked):
        if each.steps is not None and each.start == 0 and can_stack(each.sample):
            alike.setdefault(Stack.key(each.sample), []).append(i)
    ends = np.cumsum([len(each) for each in asked])
    for which in alike.values():
        if len(which) < STACKED:
            continue
        some = [outputs[ends[i] - len(asked[i]) : ends[i]] for i in which]
        yield which, Stack([asked[i].sample for i in which]), _explained(task, some)[:, 1:]


def _explained(task: Task, some: list[Any]) -> Any:
    """The output that is explained (b, n), of outputs (n, k) each; row 0 is the instance."""
    both = require("torch", extra="torch").stack(some)
    n, k = both.shape[1:]
    if task.target is None and k > 1:
        return both.gather(2, both[:, :1].argmax(dim=2, keepdim=True).expand(-1, n, 1))[..., 0]
    return resolve(task.target, task.model, np.zeros((1, k))).read(both.flatten(0, 1)).reshape(-1, n)


def _landed(flight: Flight) -> Iterator[tuple[Asked, Floats, Fit | None]]:
    """Those asked with their answers, and their fit where there is one, once they are there."""
    if flight.landed is not None:
        flight.landed.synchronize()
    fits = dict[int, Fit | None]()
    for which, stack, numbers in flight.stacks:
        fits.update(zip(which, stack.fits(numbers.numpy()), strict=True))
    outputs, at = flight.outputs.numpy(), 0
    for i, each in enumerate(flight.asked):
        yield each, outputs[at : at + len(each)], fits.get(i)
        at += len(each)


@dataclass(frozen=True, eq=False)
class Course:
    """Instances on their way: which samples wait for the device, and what was found."""

    task: Task
    lane: Lane
    batch: Sequence[Representation]  # made when they are asked for
    numbers: Sequence[int]  # of these, in all that is explained
    coming: Iterator[int]  # places in the batch
    waiting: deque[Asked] = field(default_factory=deque)
    found: dict[int, Found] = field(default_factory=dict)

    def launched(self, pack: list[Asked]) -> list[Flight]:
        """Give samples to the device; no flight where it refuses them."""
        try:
            return [self.lane.launch(pack)]
        except VeridicalError as error:
            if len(pack) > 1:  # it may be of one of them alone
                return [flight for each in pack for flight in self.launched([each])]
            with self._failing(pack[0].number):
                raise error
            return []

    def next(self) -> list[Asked]:
        """Samples to ask about at once, those of several instances where they are small; none at the end."""
        pack, size = list[Asked](), 0
        while self.waiting or self._draw():
            made = self.waiting[0].made
            size += 0 if made is None else len(made) * numbers_of_one(made)
            if pack and (size > TOGETHER or len(pack) == MOST or not _alike(pack[0].made, made)):
                break
            pack.append(self.waiting.popleft())
        return pack

    def _draw(self) -> bool:
        """Let the next instance wait for the device; False where there is none."""
        for at in self.coming:
            with self._failing(self.numbers[at]):
                self._start(self.numbers[at], self.batch[at])
                return True
        return False

    def _start(self, number: int, representation: Representation) -> None:
        """The first samples of an instance."""
        method, task = self.task.method, self.task
        question = Question(task.model, representation, (task.target,), child_of(task.seed, number))
        kernel = method.kernel_for(representation)
        every = method.every(representation, kernel)
        if every is None:
            self._wait(number, question, method.steps(question))
        else:
            self.waiting.append(Asked(number, question, None, 0, every, self._made(representation, every)))

    def _wait(self, number: int, question: Question, steps: Steps, wanted: tuple[int, int] | None = None) -> None:
        """Samples that an instance asks for next."""
        start, stop = next(steps) if wanted is None else wanted
        representation = question.representation
        sample = representation.draw(self.task.method.kernel_for(representation), question.seed, start, stop)
        made = self._made(representation, sample)
        self.waiting.append(Asked(number, question, steps, start, sample, made))

    def _made(self, representation: Representation, sample: Sample) -> Switched | None:
        return self.task.network.switched(representation.realize(sample))

    def land(self, flight: Flight) -> None:
        """Read what the device answered: each instance is explained, or asks for more."""
        for asked, outputs, fit in _landed(flight):
            with self._failing(asked.number):
                answers = checked(outputs, len(asked), asked.start and asked.start + 1)
                if isinstance(self.task.model, Heard):
                    self.task.model.hear(len(asked))
                self._hear(asked, answers, fit)

    def _hear(self, asked: Asked, outputs: Floats, fit: Fit | None) -> None:
        if asked.steps is None:
            (self.found[asked.number],) = self.task.method.explain_every(asked.sample, outputs, asked.question)
            return
        try:
            wanted = asked.steps.send((asked.sample, outputs, fit))
        except StopIteration as end:
            (self.found[asked.number],) = end.value
        else:
            self._wait(asked.number, asked.question, asked.steps, wanted)

    @contextmanager
    def _failing(self, number: int) -> Iterator[None]:
        """What goes wrong for one instance is found for it, and the others go on."""
        try:
            yield
        except ModelError as cause:
            self.found[number] = error = ModelError(f"number {number} of the list: {cause}")
            error.__cause__ = cause
        except VeridicalError as error:
            self.found[number] = error


def _alike(one: Switched | None, other: Switched | None) -> bool:
    """Inputs that can be asked about together."""
    if one is None or other is None:
        return False
    first, second = one.switch, other.switch
    return (first.shape, first.own.dtype) == (second.shape, second.own.dtype)


def streamed(task: Task, batch: Sequence[Representation], numbers: Sequence[int]) -> Iterator[Found]:
    """Explanations of instances in order, each as if it were explained alone, but for rounding.

    An instance that cannot be explained gives its error instead.
    """
    course, flying = Course(task, Lane.of(task), batch, numbers, iter(range(len(numbers)))), deque[Flight]()
    for number in numbers:
        while number not in course.found:
            if len(flying) < AHEAD and (pack := course.next()):
                flying += course.launched(pack)
            else:
                course.land(flying.popleft())
        yield course.found.pop(number)


def task_of(method: Method, model: Model, target: Any, seed: Seed) -> Task | None:
    """What a stream is asked of every instance; None unless a network on one device of its own can answer it."""
    network = model.predict
    if not isinstance(method, Lime) or not isinstance(network, Network):
        return None
    devices = {each.device for each in network.module.parameters()}
    if len(devices) != 1 or network.device.type == "cpu":
        return None
    return Task(method, model, network.quick or network, target, seed)
