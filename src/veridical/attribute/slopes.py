"""Derivatives of a network's outputs by its inputs, or by the vectors of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np

from veridical.attribute.ask import checked
from veridical.attribute.network import ON_GPU, Network, gradients_on, pieces
from veridical.errors import InputError, ModelError, VeridicalError, require
from veridical.records import Floats, Ints

AT_ONCE = 2**19  # numbers of input that are differentiated at once, about: what fits the cache is quickest

Read = Callable[[Any, Any], Any]  # outputs (m, k), and which input each row belongs to (m,), to values (m,)


@dataclass(frozen=True, eq=False)
class Slopes:
    """One output of a network, as a function of points that stand in for its inputs.

    Points are inputs of the module, or the vectors of their tokens where it has an embedding.
    """

    network: Network
    inputs: Any  # (n, …) the module's own
    read: Read
    references: Floats | None = None  # (m, …) points that the method compares with
    counted: list[int] = field(default_factory=list)  # rows that the module was asked about, piece by piece

    @property
    def n_rows(self) -> int:
        """Rows the module was asked about so far."""
        return sum(self.counted)

    def of(self, inputs: Any) -> Floats:
        """The points that inputs are."""
        torch = require("torch", extra="torch")
        if self.network.embedding is None:
            if not inputs.is_floating_point():
                raise InputError(
                    f"the module's inputs are {inputs.dtype}, by which nothing can be differentiated: name the "
                    "submodule that makes vectors of them, as in vd.Network(module, embedding='emb')"
                )
            return _floats(inputs)
        with torch.no_grad():
            vectors = self.network.embedder()(inputs)
        if vectors.shape[:-1] != inputs.shape:
            raise InputError(
                f"embedding={self.network.embedding!r} gave a tensor of shape {tuple(vectors.shape)} for inputs "
                f"of shape {tuple(inputs.shape)}; it must give one vector a token"
            )
        return _floats(vectors)

    def values(self, points: Floats, rows: Ints) -> Floats:
        """The output (r, m) at points (r, m, …), of the inputs ``rows`` (r,)."""
        return self._each(points, rows, False)[0]

    def __call__(self, points: Floats, rows: Ints) -> Floats:
        """The derivative of the output at points (r, m, …), of the inputs ``rows`` (r,); shaped as they are."""
        return self._each(points, rows, True)[1]

    def with_values(self, points: Floats, rows: Ints) -> tuple[Floats, Floats]:
        """The output (r, m), and its derivative, by one pass."""
        return self._each(points, rows, True)

    def _each(self, points: Floats, rows: Ints, wanted: bool) -> tuple[Floats, Floats]:
        torch = require("torch", extra="torch")
        (r, m), flat = points.shape[:2], points.reshape(-1, *points.shape[2:])
        owner = np.repeat(rows, m)
        values, slopes = np.empty(len(flat)), np.empty(flat.shape if wanted else (0,))
        for piece in pieces(flat, ON_GPU if self.inputs.is_cuda else AT_ONCE):
            own = torch.as_tensor(owner[piece], device=self.inputs.device)
            self.counted.append(len(own))
            with gradients_on(self.network.module):
                at = self._tensor(torch, flat[piece]).requires_grad_(wanted)
                with torch.set_grad_enabled(wanted):
                    value = self._value(at, own)
                values[piece] = _floats(value)
                if wanted:
                    slopes[piece] = _floats(_slope(torch, value, at))
        shape = points.shape if wanted else (0,)
        return values.reshape(r, m), slopes.reshape(shape)

    def _tensor(self, torch: Any, points: Floats) -> Any:
        return self.network.moved(torch.tensor(points))

    def _value(self, at: Any, own: Any) -> Any:
        """The output at points, checked."""
        if self.network.embedding is None:
            outputs = self.network.ask(at)
        else:
            with instead(self.network.embedder(), at):
                outputs = self.network.ask(self.inputs[own])
        checked(outputs, len(own))
        return self.read(outputs, own)


def _slope(torch: Any, value: Any, at: Any) -> Any:
    if not value.requires_grad:
        raise ModelError(
            "the network's output does not depend on its input by anything that can be differentiated: it must be "
            "made of torch operations, without detach(), argmax or NumPy in between"
        )
    (slope,) = torch.autograd.grad(value.sum(), at, allow_unused=True)
    slope = torch.zeros_like(at) if slope is None else slope
    if not torch.isfinite(slope).all():
        raise ModelError("the network's gradient is NaN or infinite here; it must be finite at the instance")
    return slope


@contextmanager
def instead(module: Any, output: Any) -> Iterator[None]:
    """A submodule that answers this for now, once, to whoever asks from this thread."""
    calls, here = list[int](), get_ident()

    def hook(_module: Any, _inputs: Any, own: Any) -> Any:
        if get_ident() != here:
            return None
        calls.append(1)
        if len(calls) > 1:
            raise InputError("the embedding is used more than once, so that no one vector stands for a token")
        return output.to(own.dtype if own.is_floating_point() else output.dtype, copy=True)

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
    if not calls:
        raise InputError("the network does not call the submodule that embedding names")


def reader(network: Network, inputs: Any, targets: Any) -> Read:
    """How to read the output that is explained: by an index an input, or one for all; by default the class."""
    torch = require("torch", extra="torch")
    if callable(targets):
        return by_function(targets)
    n = len(inputs)
    if targets is None:
        with torch.no_grad():
            index = torch.cat([network.ask(inputs[piece]).argmax(dim=1) for piece in pieces(inputs, AT_ONCE)])
    else:
        given = np.asarray(targets.cpu() if isinstance(targets, torch.Tensor) else targets)
        if given.dtype.kind not in "iu":
            raise InputError(f"targets are whole numbers, one for all inputs or one each, not {targets!r}")
        each = np.full(n, given) if given.ndim == 0 else given
        index = torch.tensor(each, dtype=torch.long, device=inputs.device)

    def read(outputs: Any, own: Any) -> Any:
        k = outputs.shape[1]
        if index.shape != (n,) or int(index.min()) < 0 or int(index.max()) >= k:
            raise InputError(
                f"targets are outputs to explain, from 0 to {k - 1}, one for all or one an input ({n})"
            )
        return outputs.gather(1, index[own][:, None])[:, 0]

    return read


def by_function(target: Callable[[Any], Any]) -> Read:
    """A function of output tensors (m, k)."""

    def read(outputs: Any, own: Any) -> Any:
        try:
            values = target(outputs)
            fits = tuple(values.shape) == (len(outputs),) and hasattr(values, "detach")
        except VeridicalError:
            raise
        except Exception as cause:
            raise InputError(
                f"the target function failed on a tensor of outputs of shape {tuple(outputs.shape)} with "
                f"{type(cause).__name__}: {cause}; methods that need gradients call it on tensors, so it must be "
                "made of torch operations"
            ) from cause
        if not fits:
            raise InputError("the target function must give a tensor with one number a row of outputs")
        return values

    return read


def _floats(tensor: Any) -> Floats:
    numbers: Floats = tensor.detach().cpu().double().numpy()
    return numbers
