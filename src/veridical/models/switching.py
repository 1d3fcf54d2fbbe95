"""Masked inputs made where a network is: two inputs, and which part decides between them at each number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import require
from veridical.records import Bools
from veridical.representations.masking import MAX_BYTES_PER_BATCH
from veridical.representations.regions import TensorComposer

TRIED = 2  # masks on which a switch must give what prepare gives
ON_GPU = 8192  # inputs that a GPU is asked about before its answers are looked at
ENOUGH = 4  # times as many masks as are looked at must be asked about before a switch pays


@dataclass(frozen=True, eq=False)
class Switch:
    """Makes a network's inputs from masks, on its device, in its type and layout."""

    own: Any  # (…) the input that keeps all parts
    fill: Any  # (…) the one that keeps none
    labels: Any  # (…), or what broadcasts to it: the part of each number
    last: bool = False  # these are in the order of the memory, channels last, and inputs have them first

    def __call__(self, masks: Any) -> Any:
        """One input a mask, from a tensor (n, d) on the device."""
        flat = self.labels.reshape(-1)
        if masks.is_cuda:
            kept = masks.index_select(1, flat)
        else:  # where single rows are quicker
            kept = require("torch", extra="torch").stack([mask.index_select(0, flat) for mask in masks])
        made = self.own.where(kept.reshape(len(masks), *self.labels.shape), self.fill)
        return made.movedim(-1, 1) if self.last else made

    def channels_last(self) -> Switch:
        """The same inputs, in memory with the channels last: of pictures (c, h, w) alone."""
        if self.last or self.own.dim() != 3:
            return self
        own, fill, labels = (t.movedim(0, -1).contiguous() for t in (self.own, self.fill, self.labels))
        return Switch(own, fill, labels, last=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        *places, channels = self.own.shape
        return (channels, *places) if self.last else tuple(self.own.shape)


@dataclass(frozen=True, eq=False)
class Switched:
    """Masked inputs of a network, made a few at a time when they are asked for."""

    switch: Switch
    masks: Any  # (n, d), on the device
    meanwhile: Callable[[], Any] | None = None  # what can be done while the device works on these

    @classmethod
    def of(cls, switch: Switch, masks: Bools, meanwhile: Callable[[], Any] | None = None) -> Switched:
        """Masks of the caller's, brought to the device."""
        torch = require("torch", extra="torch")
        return cls(switch, torch.as_tensor(masks, device=switch.own.device), meanwhile)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self), *self.switch.shape)

    @property
    def is_cuda(self) -> bool:
        return bool(self.switch.own.is_cuda)

    def is_floating_point(self) -> bool:
        return bool(self.switch.own.is_floating_point())

    def __len__(self) -> int:
        return int(self.masks.shape[0])

    def __getitem__(self, rows: slice) -> Any:
        return self.made(rows, last=False)

    def made(self, rows: slice, last: bool) -> Any:
        """Some of the inputs, in memory with the channels last or not."""
        return (self.switch.channels_last() if last else self.switch)(self.masks[rows])

    def batches(self) -> Iterator[Switched]:
        """The same, as many at a time as are worth a look at how far it is."""
        own = self.switch.own
        step = ON_GPU if self.is_cuda else max(MAX_BYTES_PER_BATCH // (own.numel() * own.element_size()), 1)
        for start in range(0, len(self), step):
            yield Switched(self.switch, self.masks[start : start + step], self.meanwhile)


def switch_between(own: Any, fill: Any, compose: Any) -> Switch:
    """The switch of a network that takes numbers where they stand in the instance."""
    torch, places = require("torch", extra="torch"), compose.places
    if isinstance(compose, TensorComposer) and compose.labels.device == own.device:
        return Switch(own, fill, compose.labels.clamp(min=0))
    labels = torch.as_tensor(np.maximum(places.labels, 0).astype(np.int32), device=own.device)
    return Switch(own, fill, labels if places.channel is None else labels.unsqueeze(places.channel))


def switch_seen(make: Callable[[Bools], Any], d: int) -> Switch | None:
    """The switch that gives what ``make`` does of masks (n, d), if there is one.

    Every number of an input must be that of all parts or that of none, as one part says. Half of the parts are
    kept at a time, by each digit of their numbers, so that a few masks tell which part it is; others then tell
    whether it is so, and one alone that an input does not depend on those beside it.
    """
    torch = require("torch", extra="torch")
    digits = (np.arange(d) >> np.arange(max(d - 1, 1).bit_length())[:, None] & 1).astype(bool)
    tried = np.random.default_rng(0).random((TRIED, d)) < 0.5
    made = make(np.vstack([np.ones((1, d), bool), np.zeros((1, d), bool), digits, tried]))
    own, fill, coded = made[0], made[1], made[2 : 2 + len(digits)]
    kept = (coded == own) & (own != fill)
    place = (2 ** torch.arange(len(digits), device=made.device)).reshape(-1, *[1] * own.dim())
    labels = (kept * place).sum(dim=0).clamp(max=d - 1).int()
    switch = Switch(own, fill, labels)
    found = switch(torch.as_tensor(np.vstack([digits, tried]), device=made.device))
    alone = make(np.ones((1, d), bool))[0]
    return switch if torch.equal(found, made[2:]) and torch.equal(alone, own) else None


def n_looked_at(d: int) -> int:
    """Masks that are looked at to find a switch for d parts."""
    return 3 + max(d - 1, 1).bit_length() + TRIED
