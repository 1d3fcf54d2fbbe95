"""Causes by other content in a few parts, tried at random until the model decides otherwise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np

from veridical.attribute.ask import Model, n_rows
from veridical.debug.adversary.descent import SLACK, enough
from veridical.debug.adversary.records import Aim, Cause, Found
from veridical.debug.asked import joined
from veridical.debug.records import rows_at
from veridical.errors import check_probability, check_whole
from veridical.masks import generator
from veridical.records import Bools, Floats, Ints, Record, Representation, Representer, Seed

AT_ONCE = 25  # edits that are tried together
MEMORY = 2**24  # numbers of inputs that are made for all searches that run side by side, about
PRUNED = 4  # of those of a batch that flip the decision, how many are looked at more closely

Answer = TypeVar("Answer")
Asking: TypeAlias = Generator[Any, Floats, Answer]  # asks about inputs, is sent their outputs, and has an answer


class Canvas(Protocol):
    """An instance whose parts can be given other content."""

    @property
    def n_parts(self) -> int: ...

    def mix(self, others: Any, masks: Bools) -> Any:
        """One input a mask (n, d), as the model takes them: its parts are those of the other copy of that row."""
        ...

    def named(self, changed: Any, mask: Bools, represent: Representer) -> Bools | None:
        """The edited parts as those of the changed copy; None if it cannot be cut as the instance is."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Edited(Record):
    """Edits of one instance, and what the model says of them."""

    others: Any  # (n) copies whose content is taken
    masks: Bools  # (n, d) in these parts
    flips: Bools  # (n,) whether the model decides as wanted
    support: Floats  # (n,) what it says for that


@dataclass(frozen=True)
class Edit(ABC):
    """Other content in k parts of an instance; ``others`` says which.

    At most ``n_tries`` edits are tried, of parts that are drawn at random, until the wanted label has
    ``confidence``. Of several parts, those that can be undone without losing the decision are: what is left is a
    smallest cause, of two parts or more, none of which can be missed.
    """

    purpose: ClassVar[str] = "content"

    k: int = 1
    confidence: float = 0.7
    n_tries: int = 200

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_whole("n_tries", self.n_tries)
        check_probability("confidence", self.confidence)

    @abstractmethod
    def canvas(self, x: Any, own: Representation) -> Canvas:
        """An instance ready to be edited: as the model takes it, a batch of one, and as its parts."""

    @abstractmethod
    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> Any:
        """Copies of an instance (AT_ONCE) with other content everywhere; ``strength`` rises from 0 to 1."""

    def known(self, aim: Aim, canvases: Sequence[Any]) -> Any:
        """What is looked up once for all instances, and is there in every scene."""
        return None

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """One cause an instance, in order; those for which none was found say why."""
        every = aim.represent.each(aim.X).batch(0, len(aim))
        canvases = [self.canvas(x, own) for x, own in zip(aim.inputs, every, strict=True)]
        known = self.known(aim, canvases)
        scenes = [Scene(aim, i, canvas, known) for i, canvas in enumerate(canvases)]
        step = max(MEMORY // (AT_ONCE * max(int(np.prod(np.shape(x))) for x in aim.inputs)), 1)
        found = list[Found]()
        for first in range(0, len(aim), step):
            some = scenes[first : first + step]
            found += together(aim.model, [self._found(scene, generator(seed, scene.i)) for scene in some])
        return aim.causes(found, type(self).__name__, self.confidence)

    def _found(self, scene: Scene, rng: np.random.Generator) -> Asking[Found]:
        n_parts = scene.canvas.n_parts
        if scene.aim.labels[scene.i] == scene.wanted:
            return scene.untouched
        if self.k > n_parts:
            return replace(scene.untouched, reason=f"it has {n_parts} parts, and k={self.k} are to be edited")
        try:
            return (yield from Search(self, scene).run(rng))
        except NothingToTake as cause:
            return replace(scene.untouched, reason=str(cause))


class NothingToTake(Exception):  # noqa: N818 - never leaves this package
    """There is no other content for an instance; the message says why."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One instance of an aim, ready to be edited."""

    aim: Aim
    i: int
    canvas: Any  # a Canvas
    known: Any  # what the edit looked up for all instances

    @property
    def x(self) -> Any:
        """The instance as the model takes it, a batch of one."""
        return self.aim.inputs[self.i]

    @property
    def untouched(self) -> Found:
        """The instance itself, of which no part was changed."""
        return Found(self.x, 0, np.zeros(self.canvas.n_parts, bool))

    @property
    def wanted(self) -> int:
        """The label that it is to get; where any other will do, the likeliest."""
        return int(self.aim.wanted[self.i])

    @property
    def sought(self) -> str:
        """The same in words."""
        return "anything else" if self.aim.anything else str(self.wanted)

    @property
    def decided(self) -> Ints:
        """The instances that the model gives a label that this one may get."""
        labels = self.aim.labels
        return np.flatnonzero(labels != labels[self.i] if self.aim.anything else labels == self.wanted)

    def said(self, others: Any, masks: Bools) -> Asking[Edited]:
        """What the model says of edits."""
        outputs, decision = (yield self.canvas.mix(others, masks)), self.aim.decision
        labels = decision(outputs)
        sought = self.aim.sought(np.full(len(masks), self.i), labels)
        return Edited(others, masks, labels == sought, decision.support(outputs, sought))


@dataclass(frozen=True, eq=False)
class Search:
    """The search for a cause in one instance."""

    edit: Edit
    scene: Scene

    def run(self, rng: np.random.Generator) -> Asking[Found]:
        """The first edit that will do; else the one that the model says most for, of those that will not."""
        nearest, most = None, -np.inf
        n, n_parts = min(self.edit.n_tries, AT_ONCE), self.scene.canvas.n_parts
        rounds = self.edit.n_tries // n
        for number in range(rounds):
            others = rows_at(self.edit.others(self.scene, number / max(rounds - 1, 1), rng), range(n))
            masks = drawn_masks(n_parts, self.edit.k, n, rng)
            edited = yield from self.scene.said(others, masks)
            good = edited.flips & (edited.support >= enough(self.edit.confidence))
            made = yield from self._best(edited, np.flatnonzero(good)[:PRUNED])
            if made is not None:
                return made
            unsure = ~edited.flips | (edited.support < self.edit.confidence - SLACK)
            top = int(np.argmax(np.where(unsure, edited.support, -np.inf)))
            if unsure[top] and edited.support[top] > most:
                most, nearest = edited.support[top], (rows_at(others, [top]), masks[top])
        made = None if nearest is None else self._made(*nearest)
        reason = f"{rounds * n} edits of {self.edit.k} of {n_parts} parts were tried"
        return replace(made or self.scene.untouched, reason=reason)

    def _best(self, edited: Edited, rows: Ints) -> Asking[Found | None]:
        """Of edits that flip the decision, the one that needs most of its parts, if there are two at least."""
        others, masks = rows_at(edited.others, rows), edited.masks[rows]
        if self.edit.k > 1 and len(rows):
            masks = yield from self._pruned(others, masks)
        sizes = masks.sum(axis=1)
        for row in np.argsort(-sizes, kind="stable"):
            made = self._made(rows_at(others, [row]), masks[row]) if sizes[row] >= min(self.edit.k, 2) else None
            if made is not None:
                return made
        return None

    def _pruned(self, others: Any, masks: Bools) -> Asking[Bools]:
        """The parts that each decision needs; none where it becomes unsure without those that it does not.

        One part after the other is undone, each time the one that leaves most, as long as the decision stays.
        """
        masks, going = masks.copy(), np.arange(len(masks))
        while len(going):
            at, part = np.nonzero(masks[going])
            fewer = masks[going[at]]
            fewer[np.arange(len(part)), part] = False
            edited = yield from self.scene.said(rows_at(others, going[at]), fewer)
            left = []
            for own, row in enumerate(going):
                still = np.flatnonzero(edited.flips & (at == own))
                if not len(still):
                    continue  # it needs all that it has
                best = still[np.argmax(edited.support[still])]
                sure = edited.support[best] >= enough(self.edit.confidence)
                masks[row] = fewer[best] & sure
                left += [row] * bool(masks[row].sum() > 1)
            going = np.array(left, dtype=np.int64)
        return masks

    def _made(self, other: Any, mask: Bools) -> Found | None:
        """The edit as what was found; None if its changed copy is not cut as the instance is."""
        changed = self.scene.canvas.mix(other, mask[None])
        parts = self.scene.canvas.named(changed, mask, self.scene.aim.represent)
        return None if parts is None else Found(changed, 0, parts)


def together(model: Model, searches: Sequence[Asking[Found]]) -> list[Found]:
    """Searches side by side: what all of them ask next, the model is asked at once."""
    found: dict[int, Found] = {}
    asked: dict[int, Any] = {}
    n_calls = np.zeros(len(searches), np.int64)

    def go_on(i: int, outputs: Any) -> None:
        try:
            asked[i] = searches[i].send(outputs)
            n_calls[i] += n_rows(asked[i])
        except StopIteration as end:
            found[i] = replace(end.value, n_calls=int(n_calls[i]))

    for i in range(len(searches)):
        go_on(i, None)
    while asked:
        batches, asked = asked, {}
        shapes = {i: np.shape(batch)[1:] if hasattr(batch, "shape") else () for i, batch in batches.items()}
        for shape in dict.fromkeys(shapes.values()):
            alike = [i for i in batches if shapes[i] == shape]
            outputs = model(joined([batches[i] for i in alike]))
            ends = np.cumsum([n_rows(batches[i]) for i in alike])
            for i, own in zip(alike, np.split(outputs, ends[:-1]), strict=True):
                go_on(i, own)
    return [found[i] for i in range(len(searches))]


def drawn_masks(d: int, k: int, n: int, rng: np.random.Generator) -> Bools:
    """Masks (n, d) of k parts each, drawn at random; single parts come equally often."""
    if k == 1:
        order = np.concatenate([rng.permutation(d) for _ in range(-(-n // d))])[:n]
        return np.asarray(np.eye(d, dtype=bool)[order])
    return np.asarray(np.argsort(rng.random((n, d)), axis=1) < k)
