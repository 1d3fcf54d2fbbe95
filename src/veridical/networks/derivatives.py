"""Derivatives of a network's outputs by its inputs, or by the vectors of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np

from veridical.errors import InputError, ModelError, VeridicalError, describe_error, require
from veridical.models.outputs import check_outputs
from veridical.models.torch_modules import MAX_NUMBERS_ON_GPU, Network, gradients_on, split_batches

MAX_NUMBERS_PER_BATCH = 2**19  # numbers of input that are differentiated at once, about: what fits the cache

# Makes values (m,) of outputs (m, k), by which input each row belongs to (m,):
OutputReader = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False)
class OutputGradients:
    """The gradient of one output of a network at points that stand in for its inputs.

    Points are inputs of the module, or the vectors of their tokens where it has an embedding. They and all results
    are tensors on the module's device, in its precision, or in float32 where that is less.
    """

    network: Network
    inputs: Any  # (n, …) the module's own
    read: OutputReader
    references: Any = None  # (m, …) points that the method compares with
    counted: list[int] = field(default_factory=list)  # rows that the module was run on, batch by batch

    @property
    def n_rows(self) -> int:
        """Rows that the module was run on so far."""
        return sum(self.counted)

    @property
    def rows(self) -> Any:
        """The numbers of all inputs (n,)."""
        return require("torch", extra="torch").arange(len(self.inputs), device=self.inputs.device)

    def to_points(self, inputs: Any) -> Any:
        """The points that inputs are: themselves, or the vectors of their tokens."""
        torch = require("torch", extra="torch")
        if self.network.embedding is None:
            if not inputs.is_floating_point():
                raise InputError(
                    f"the module's inputs are {inputs.dtype}, by which nothing can be differentiated: name the "
                    "submodule that makes vectors of them, as in vd.Network(module, embedding='emb')"
                )
            return _single(torch, inputs)
        with torch.no_grad():
            vectors = self.network.embedder()(inputs)
        if vectors.shape[:-1] != inputs.shape:
            raise InputError(
                f"embedding={self.network.embedding!r} gave a tensor of shape {tuple(vectors.shape)} for inputs "
                f"of shape {tuple(inputs.shape)}; it must give one vector per token"
            )
        return _single(torch, vectors)

    def values(self, points: Any, rows: Any) -> Any:
        """The output (r, m) at points (r, m, …), of the inputs ``rows`` (r,)."""
        return self._each(points, rows, False)[0]

    def __call__(self, points: Any, rows: Any) -> Any:
        """The derivative of the output at points (r, m, …), of the inputs ``rows`` (r,); shaped as they are."""
        return self._each(points, rows, True)[1]

    def with_values(self, points: Any, rows: Any) -> tuple[Any, Any]:
        """The output (r, m), and its derivative, by one pass."""
        return self._each(points, rows, True)

    def _each(self, points: Any, rows: Any, wanted: bool) -> tuple[Any, Any]:
        """Piece by piece, as many points at once as are quick."""
        (r, m), flat = points.shape[:2], points.flatten(0, 1)
        owner = rows.repeat_interleave(m)
        values, gradients = flat.new_empty(len(flat)), flat.new_empty(flat.shape if wanted else (0,))
        for piece in split_batches(flat, MAX_NUMBERS_ON_GPU if flat.is_cuda else MAX_NUMBERS_PER_BATCH):
            values[piece], slope = self._at(flat[piece], owner[piece], wanted)
            if wanted:
                gradients[piece] = slope
        return values.reshape(r, m), gradients.reshape(points.shape) if wanted else gradients

    def _at(self, points: Any, own: Any, wanted: bool) -> tuple[Any, Any]:
        """The output at points (m, …), and if wanted its derivative."""
        torch = require("torch", extra="torch")
        self.counted.append(len(own))
        with gradients_on(self.network.module):
            at = self.network.to_device(points).clone().requires_grad_(wanted)  # normal even in inference mode
            with torch.set_grad_enabled(wanted):
                value = self._value(at, own)
            return value.detach(), _slope(torch, value, at) if wanted else None

    def _value(self, at: Any, own: Any) -> Any:
        """The output at points, checked."""
        if self.network.embedding is None:
            outputs = self.network.ask(at)
        else:
            with replace_output(self.network.embedder(), at):
                outputs = self.network.ask(self.inputs[own])
        check_outputs(outputs, len(own))
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
def replace_output(module: Any, output: Any) -> Iterator[None]:
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


def target_reader(network: Network, inputs: Any, targets: Any) -> OutputReader:
    """Reads the output that is explained: an index per input, or one for all; by default the predicted class."""
    torch = require("torch", extra="torch")
    if callable(targets):
        return function_reader(targets)
    n = len(inputs)
    if targets is None:
        with torch.no_grad():
            some = split_batches(inputs, MAX_NUMBERS_ON_GPU if inputs.is_cuda else MAX_NUMBERS_PER_BATCH)
            index = torch.cat([network.ask(inputs[piece]).argmax(dim=1) for piece in some])
    else:
        given = np.asarray(targets.cpu() if isinstance(targets, torch.Tensor) else targets)
        if given.dtype.kind not in "iu":
            raise InputError(f"targets are whole numbers, one for all inputs or one each, not {targets!r}")
        each = np.full(n, given) if given.ndim == 0 else given
        index = torch.tensor(each, dtype=torch.long, device=inputs.device)

    ends = (int(index.min()), int(index.max())) if index.shape == (n,) else (-1, -1)

    def read(outputs: Any, own: Any) -> Any:
        k = outputs.shape[1]
        if ends[0] < 0 or ends[1] >= k:
            raise InputError(
                f"targets are outputs to explain, from 0 to {k - 1}, one for all inputs or one per input ({n})"
            )
        return outputs.gather(1, index[own][:, None])[:, 0]

    return read


def function_reader(target: Callable[[Any], Any]) -> OutputReader:
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
                f"{describe_error(cause)}; methods that need gradients call it on tensors, so it must be "
                "made of torch operations"
            ) from cause
        if not fits:
            raise InputError("the target function must give a tensor with one number per row of outputs")
        return values

    return read


def _single(torch: Any, tensor: Any) -> Any:
    """In single precision at least, in which means of many draws are still good."""
    return tensor.detach().to(torch.promote_types(tensor.dtype, torch.float32))
