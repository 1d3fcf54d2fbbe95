"""What a method asks the model about: the inputs themselves, whatever the method and the modality."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse, vstack

from veridical.attribute.ask import Model, n_rows
from veridical.debug.records import Subject, rows_at
from veridical.errors import NotApplicable, require
from veridical.masks import child_of, generator
from veridical.records import Ints, Method, Record, Seed
from veridical.represent.regions import is_tensor

LISTENED = 64  # inputs that a method is let ask about an instance
PICKED = 20  # of them that are kept, at random


class Enough(BaseException):
    """Enough was heard: the method is left where it is."""


@dataclass(frozen=True, eq=False)
class Listener:
    """A predict function that keeps what it is asked, and leaves once that is enough."""

    model: Model
    heard: list[Any] = field(default_factory=list)

    def __call__(self, inputs: Any) -> Any:
        batch = _own(inputs)  # before the model sees it: the memory may be used again, and models may write to it
        self.heard.append(batch)
        if sum(n_rows(each) for each in self.heard) > LISTENED:
            raise Enough
        return self.model(inputs)


@dataclass(frozen=True, slots=True, eq=False)
class Asked(Record):
    """Inputs that a method asked about, and the instance that each was for."""

    inputs: Any
    owner: Ints  # (n,) positions among the instances


def asked(method: Method, subject: Subject, rows: Ints, seed: Seed, picked: int = PICKED) -> Asked:
    """Some of the inputs that a method asks about these instances; the instances themselves may be among them."""
    if hasattr(method, "maps"):
        raise NotApplicable(
            f"vd.{type(method).__name__} reads gradients and asks about no changed inputs: this check is "
            "for methods that do, such as vd.Lime() or vd.KernelShap()"
        )
    instances, model = subject.represent.each(rows_at(subject.X, rows)), subject.model
    batches, owner = [], []
    for number, representation in enumerate(instances.batch(0, len(rows))):
        listener = Listener(model)
        try:
            heard = model.with_predict(listener)
            method(heard, representation, (subject.target,), child_of(seed, number))
        except Enough:
            pass
        batch = joined(listener.heard)
        kept = generator(seed, number).permutation(n_rows(batch))[:picked]
        batches.append(rows_at(batch, np.sort(kept)))
        owner += [number] * len(kept)
    return Asked(joined(batches), np.array(owner, dtype=np.int64))


def joined(batches: list[Any]) -> Any:
    """Batches of inputs of one kind as one."""
    if not batches:
        raise NotApplicable("the method asked the model about nothing, so there is nothing to look at")
    first = batches[0]
    if isinstance(first, (pd.DataFrame, pd.Series)):
        return pd.concat(batches, ignore_index=True)
    if issparse(first):
        return vstack(batches).tocsr()
    if is_tensor(first):
        return require("torch", extra="torch").cat(batches)
    if isinstance(first, np.ndarray):
        return np.concatenate(batches)
    return [each for batch in batches for each in batch]


def _own(inputs: Any) -> Any:
    """A batch whose memory is nobody else's."""
    if is_tensor(inputs):
        return inputs.detach().clone()
    return list(inputs) if isinstance(inputs, (list, tuple)) else inputs.copy()
