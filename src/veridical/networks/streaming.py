"""Many instances of a network in one stream: while its device works on some, the outputs for others are fitted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from veridical.errors import ModelError, VeridicalError, require
from veridical.methods.engine import PrivateSamples, enumerate_samples, ladder, settle
from veridical.methods.results import Question
from veridical.models.outputs import Model, check_outputs
from veridical.models.switching import Switched
from veridical.models.targets import resolve
from veridical.models.torch_modules import Network, count_numbers, fetch_numbers
from veridical.protocols import Representation, Seed, Stream
from veridical.records import Explanation, Fits, Floats, Neighborhood, Sample
from veridical.seeds import child_of
from veridical.surrogates.least_squares import Problem, Solved, total_of
from veridical.surrogates.linear import fits_of, measured

if TYPE_CHECKING:
    from veridical.methods.lime import Lime


def can_stack(sample: Sample) -> bool:
    """Whether the surrogate of masks is a plain fit of all parts: nothing is learned, and nothing left out."""
    design, d = sample.design, sample.designs.shape[1]
    if design.exact or design.net or design.sizes is None or len(design.sizes) != d + 1:
        return False
    near, none = Neighborhood.of(("",) * d, sample), np.empty(0)
    problem = Problem(near.columns, none, none, none, none, none, design, intercept=True)
    return not problem.learns and bool(measured(near)[0].all())


@dataclass(frozen=True, eq=False)
class Stack:
    """Samples of one shape and law, whose outputs are fitted together: one Fit each, to nine digits as alone."""

    samples: Sequence[Sample]

    @classmethod
    def key(cls, sample: Sample) -> tuple[Any, ...]:
        """Samples of the same key can be stacked."""
        sizes = sample.design.sizes
        return (sample.designs.shape, sample.design.cluster, None if sizes is None else sizes.tobytes())

    def solve(self, outputs: Any) -> Any:
        """All numbers of the fits to outputs (b, n), the instances left out, as one tensor (b, …) of doubles."""
        Z = send_to_device(np.stack([s.designs[1:].T != 0 for s in self.samples]), outputs.device).double()
        w = send_to_device(np.stack([s.weights[1:] for s in self.samples]), outputs.device)
        problem = Problem.of(Z, outputs.double(), w, self.samples[0].design)
        return problem.solve(*total_of(problem.grams())).packed()

    def fits(self, numbers: Floats) -> list[Fits | None]:
        """The fits of what ``solve`` found; None where the samples could not tell."""
        return list(map(_fits, self.samples, numbers))


def _fits(sample: Sample, numbers: Floats) -> Fits | None:
    if not np.isfinite(numbers).all():
        return None
    near = Neighborhood.of(("",) * sample.designs.shape[1], sample)
    live, size = measured(near)
    return fits_of(near, Solved.unpacked(numbers[None], live.shape[1]), live, live, size)


def send_to_device(array: Any, device: Any) -> Any:
    """An array on a device, without waiting for it to arrive."""
    tensor = require("torch", extra="torch").from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


MAX_NUMBERS_PER_PACK = 2**26  # numbers of input of several instances that the network gets at once, about
MAX_INSTANCES_PER_PACK = 32  # instances that it gets at once, so that there are always some to work on meanwhile
MIN_STACKED_FITS = 8  # fits that are made where the outputs are, at least: few are quicker one by one
MAX_BATCHES_AHEAD = 3  # batches that the device is given before the answers to the first are read

Found: TypeAlias = Explanation | VeridicalError  # an error is of that instance alone


@dataclass(frozen=True, eq=False)
class StreamTask:
    """What is asked of every instance."""

    method: Lime
    model: Model
    network: Network
    target: Any
    seed: Seed


@dataclass(frozen=True, eq=False)
class PendingSamples:
    """Samples of one instance, whose answers are wanted next."""

    number: int
    question: Question
    source: PrivateSamples  # those that were answered before
    pieces: Sequence[tuple[int, int]]  # of samples, that may be asked about after these; none are the last
    start: int
    sample: Sample
    made: Switched | None  # the inputs, where the network makes them itself
    whole: bool = False  # they are all there are

    def __len__(self) -> int:
        return len(self.sample.designs)


@dataclass(frozen=True, eq=False)
class StackedInputs(Switched):
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
class LaunchedPack:
    """What the device was given, and where its answers will be."""

    asked: Sequence[PendingSamples]
    outputs: Any  # (rows of all, k), on their way
    stacks: Sequence[tuple[list[int], Stack, Any]]  # which of those asked are fitted, how, and the numbers
    done: Any  # an event; None where nothing is waited for


@dataclass(frozen=True, eq=False)
class DeviceQueue:
    """The device of a network, and the queue of work that it is given beside all else that goes on there."""

    task: StreamTask
    device: Any
    queue: Any  # a CUDA stream; None on a device that answers at once

    @classmethod
    def of(cls, task: StreamTask) -> DeviceQueue:
        """The queue of the device that the network is on."""
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

    def launch(self, asked: Sequence[PendingSamples]) -> LaunchedPack:
        """Ask about all inputs at once, without waiting for the answers."""
        torch = require("torch", extra="torch")
        answers = [self._ask(batch) for batch in self._batches(asked)]
        with torch.no_grad(), self._working():
            outputs = answers[0] if len(answers) == 1 else torch.cat(answers)
            fitted = [
                (which, stack, fetch_numbers(stack.solve(y)))
                for which, stack, y in _group_stacks(self.task, asked, outputs)
            ]
            back = fetch_numbers(outputs)
            return LaunchedPack(asked, back, fitted, None if self.queue is None else self.queue.record_event())

    def _batches(self, asked: Sequence[PendingSamples]) -> Iterable[Any]:
        """The network's own inputs."""
        made = tuple(each.made for each in asked if each.made is not None)
        if made:
            return made if len(made) == 1 else (StackedInputs(made[0].switch, None, parts=made),)
        (one,) = asked
        inputs = one.question.representation.realize(one.sample)
        return map(self.task.network.tensor, inputs.batches() if isinstance(inputs, Stream) else (inputs,))

    def _ask(self, batch: Any) -> Any:
        with self._working():
            if self.queue is not None and not isinstance(batch, Switched):
                batch.record_stream(self.queue)  # it may be forgotten before it is read
            return self.task.network.launch(batch)


def _group_stacks(
    task: StreamTask, asked: Sequence[PendingSamples], outputs: Any
) -> Iterator[tuple[list[int], Stack, Any]]:
    """Which of those asked have a plain fit, by shape, if many do, and the outputs (b, n) that are explained."""
    few = len(asked) < MIN_STACKED_FITS or outputs.device.type == "mps"  # which has no doubles
    if few or not task.method.plain or callable(task.target):
        return
    alike: dict[Any, list[int]] = {}
    for i, each in enumerate(asked):
        if not each.whole and each.start == 0 and can_stack(each.sample):
            alike.setdefault(Stack.key(each.sample), []).append(i)
    ends = np.cumsum([len(each) for each in asked])
    for which in alike.values():
        if len(which) < MIN_STACKED_FITS:
            continue
        some = [outputs[ends[i] - len(asked[i]) : ends[i]] for i in which]
        yield which, Stack([asked[i].sample for i in which]), _select_output(task, some)[:, 1:]


def _select_output(task: StreamTask, some: list[Any]) -> Any:
    """The output that is explained (b, n), of outputs (n, k) each; row 0 is the instance."""
    both = require("torch", extra="torch").stack(some)
    n, k = both.shape[1:]
    if task.target is None and k > 1:
        return both.gather(2, both[:, :1].argmax(dim=2, keepdim=True).expand(-1, n, 1))[..., 0]
    return resolve(task.target, task.model, np.zeros((1, k))).read(both.flatten(0, 1)).reshape(-1, n)


def _read_outputs(pack: LaunchedPack) -> Iterator[tuple[PendingSamples, Floats, Fits | None]]:
    """Those asked with their answers, and their fit where there is one, once they are there."""
    if pack.done is not None:
        pack.done.synchronize()
    fits = dict[int, Fits | None]()
    for which, stack, numbers in pack.stacks:
        fits.update(zip(which, stack.fits(numbers.numpy()), strict=True))
    outputs, at = pack.outputs.numpy(), 0
    for i, each in enumerate(pack.asked):
        yield each, outputs[at : at + len(each)], fits.get(i)
        at += len(each)


@dataclass(frozen=True, eq=False)
class StreamState:
    """Instances on their way: which samples wait for the device, and what was found."""

    task: StreamTask
    queue: DeviceQueue
    batch: Sequence[Representation]  # made when they are asked for
    numbers: Sequence[int]  # of these, in all that is explained
    coming: Iterator[int]  # places in the batch
    waiting: deque[PendingSamples] = field(default_factory=deque)
    found: dict[int, Found] = field(default_factory=dict)

    def launch_pack(self, pack: list[PendingSamples]) -> list[LaunchedPack]:
        """Give samples to the device; none is launched where it refuses them."""
        try:
            return [self.queue.launch(pack)]
        except VeridicalError as error:
            if len(pack) > 1:  # it may be of one of them alone
                return [launched for each in pack for launched in self.launch_pack([each])]
            with self._failing(pack[0].number):
                raise error
            return []

    def next(self) -> list[PendingSamples]:
        """Samples to ask about at once, those of several instances where they are small; none at the end."""
        pack, size = list[PendingSamples](), 0
        while self.waiting or self._draw():
            made = self.waiting[0].made
            size += 0 if made is None else len(made) * count_numbers(made)
            if pack and (
                size > MAX_NUMBERS_PER_PACK
                or len(pack) == MAX_INSTANCES_PER_PACK
                or not _alike(pack[0].made, made)
            ):
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
        representation = method.see(representation)
        question = Question(task.model, representation, (task.target,), child_of(task.seed, number))
        source = PrivateSamples(representation, method.kernel_for(representation), question.seed)
        every = enumerate_samples(method, representation, source.kernel)
        if every is None:
            self._wait(number, question, source, ladder(method, representation))
        else:
            made = self._made(representation, every)
            self.waiting.append(PendingSamples(number, question, source, (), 0, every, made, whole=True))

    def _wait(
        self, number: int, question: Question, source: PrivateSamples, pieces: Sequence[tuple[int, int]]
    ) -> None:
        """The next samples of an instance wait for the device."""
        (start, stop), *later = pieces
        sample = source.representation.draw(source.kernel, source.seed, start, stop)
        made = self._made(source.representation, sample)
        self.waiting.append(PendingSamples(number, question, source, later, start, sample, made))

    def _made(self, representation: Representation, sample: Sample) -> Switched | None:
        return self.task.network.switched(representation.realize(sample))

    def read(self, pack: LaunchedPack) -> None:
        """Read what the device answered: each instance is explained, or asks for more."""
        for asked, outputs, fits in _read_outputs(pack):
            with self._failing(asked.number):
                answers = check_outputs(outputs, len(asked), asked.start and asked.start + 1)
                if self.task.model.hear is not None:
                    self.task.model.hear(len(asked))
                asked.source.add(asked.sample, answers)
                last = not asked.pieces
                whys = settle(self.task.method, [asked.question], asked.source, [0], last, fits)
                if whys:
                    (self.found[asked.number],) = whys[0]
                else:
                    self._wait(asked.number, asked.question, asked.source, asked.pieces)

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


def streamed(task: StreamTask, batch: Sequence[Representation], numbers: Sequence[int]) -> Iterator[Found]:
    """Explanations of instances in order, each as if it were explained alone, but for rounding.

    An instance that cannot be explained gives its error instead.
    """
    state, launched = (
        StreamState(task, DeviceQueue.of(task), batch, numbers, iter(range(len(numbers)))),
        deque[LaunchedPack](),
    )
    for number in numbers:
        while number not in state.found:
            if len(launched) < MAX_BATCHES_AHEAD and (pack := state.next()):
                launched += state.launch_pack(pack)
            else:
                state.read(launched.popleft())
        yield state.found.pop(number)


def task_of(method: Lime, model: Model, target: Any, seed: Seed) -> StreamTask | None:
    """What a stream is asked of every instance; None unless a network on one device of its own can answer it."""
    network = model.predict
    if not isinstance(network, Network):
        return None
    devices = {each.device for each in network.module.parameters()}
    if len(devices) != 1 or network.device.type == "cpu":
        return None
    return StreamTask(method, model, network.quick or network, target, seed)
