"""How a module is asked: how many inputs at once, and how they lie in memory.

Neither changes an answer by more than rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from veridical.errors import require

AT_ONCE = 2**16  # numbers of input that the module is asked about at once, about: layers of more leave the cache
ON_GPU = 2**24
AT_MOST = 2**27  # the same, where nothing is kept for a way back and memory allows
SHARE = 64  # times as much memory as inputs take must be free before they are tried all at once
VECTOR = 2**10  # numbers that a token's id becomes, about


@dataclass(frozen=True)
class Way:
    """One way to ask a module."""

    numbers: int  # of input, at once
    last: bool  # pictures lie in memory with their channels last, which a GPU is quicker at

    @classmethod
    def first(cls, like: Any) -> Way:
        """The way to try first; ``like`` is of the module's type and device."""
        if not like.is_cuda:
            return cls(AT_ONCE, last=False)
        torch = require("torch", extra="torch")
        free, _ = torch.cuda.mem_get_info(like.device)
        kept = torch.cuda.memory_reserved(like.device) - torch.cuda.memory_allocated(like.device)
        return cls(min((free + kept) // (SHARE * like.element_size()), AT_MOST), last=True)

    def easier(self, error: Exception, n: int, each: int) -> Way | None:
        """The way to try after an error with n inputs of so many numbers each; None if there is none."""
        short = require("torch", extra="torch").cuda.OutOfMemoryError
        if isinstance(error.__cause__ or error, short):
            return replace(self, numbers=(n + 1) // 2 * each) if n > 1 else None
        return replace(self, last=False) if self.last else None  # a view of numbers that do not lie in a row, say


KNOWN: WeakKeyDictionary[Any, Way] = WeakKeyDictionary()  # of modules, on a GPU or asked in an easier way


def launched(answer: Callable[[slice, bool], Any], inputs: Any, way: Way) -> tuple[Any, Way]:
    """The answers to all inputs, on their device, which may still be working on them, and the way that worked.

    ``answer`` gives those to some of them, with channels last or not.
    """
    torch, found, at, n = require("torch", extra="torch"), list[Any](), 0, len(inputs)
    each = numbers_of_one(inputs)
    while at < n:
        stop = min(at + max(way.numbers // each, 1), n)
        done = _tried(answer, slice(at, stop), way, each)
        if isinstance(done, Way):
            way = done
            torch.cuda.empty_cache()
        else:
            found.append(done)
            at = stop
    return found[0] if len(found) == 1 else torch.cat(found), way


def numbers_of_one(inputs: Any) -> int:
    """Numbers that one of many inputs is; a token's id becomes many on a GPU."""
    vectors = inputs.is_cuda and not inputs.is_floating_point()
    return max(int(np.prod(inputs.shape[1:])), 1) * (VECTOR if vectors else 1)


def _tried(answer: Callable[[slice, bool], Any], rows: slice, way: Way, each: int) -> Any:
    """The answers to some rows, or an easier way to ask: by then, what the error held is given back."""
    try:
        return answer(rows, way.last)
    except Exception as error:
        easier = way.easier(error, rows.stop - rows.start, each)
        if easier is None:
            raise
    return easier


def copied(inputs: Any, last: bool) -> Any:
    """A copy of inputs, on a GPU with channels last or in a row."""
    torch = require("torch", extra="torch")
    if not inputs.is_cuda:
        return inputs.clone()
    turned = last and inputs.dim() == 4
    return inputs.clone(memory_format=torch.channels_last if turned else torch.contiguous_format)


def fetched(numbers: Any) -> Any:
    """Numbers on their way to where NumPy can read them, as doubles, which some devices do not have."""
    torch, own = require("torch", extra="torch"), numbers.detach()
    if not own.is_cuda:
        return own.cpu().to(torch.float64, copy=True)
    return torch.empty(own.shape, dtype=torch.float64, pin_memory=True).copy_(own.double(), non_blocking=True)


def pieces(inputs: Any, at_once: int) -> list[slice]:
    """Cuts of a batch, of about so many numbers each."""
    each = max(int(np.prod(inputs.shape[1:])), 1)
    step = max(at_once // each, 1)
    return [slice(start, start + step) for start in range(0, len(inputs), step)]
