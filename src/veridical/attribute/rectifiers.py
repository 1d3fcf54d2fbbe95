"""Guided backpropagation and deconvolution: gradients that pass rectifiers by another rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.ready import check_seen
from veridical.attribute.slopes import Slopes
from veridical.errors import InputError, require
from veridical.records import Seed


@dataclass(frozen=True)
class GuidedBackprop(ByGradient):
    """The gradient with all that is negative cut off at each ReLU on the way back (Springenberg et al. 2015).

    Its maps look sharp, but hardly depend on the network's upper layers: they show edges of the input rather than
    what the network looks for.
    """

    hardly_depends: ClassVar[bool] = True
    purpose: ClassVar[str] = "change"

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One map an input."""
        return _drawn(self, slopes, x, rows)


@dataclass(frozen=True)
class DeconvNet(ByGradient):
    """The gradient with ReLU on the way back in place of the gates of the way there (Zeiler and Fergus 2014)."""

    hardly_depends: ClassVar[bool] = True
    purpose: ClassVar[str] = "change"

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One map an input."""
        return _drawn(self, slopes, x, rows)


def _drawn(method: ByGradient, slopes: Slopes, x: Any, rows: Any) -> Drawn:
    check_seen(slopes.network.module, type(method).__name__)
    with rectified(isinstance(method, GuidedBackprop)) as met:
        found = slopes(x[:, None], rows)[:, 0]
    if not met:
        raise InputError(
            "the network has no ReLU, and guided backpropagation and deconvolution are rules for ReLU: use "
            "vd.Gradient() or vd.IntegratedGradients()"
        )
    return Drawn(found)


@contextmanager
def rectified(guided: bool) -> Iterator[list[str]]:
    """Networks that run meanwhile have another backward rule at each ReLU, module or function; which ones is told.

    Nothing is set on the modules themselves.
    """
    torch: Any = require("torch", extra="torch")
    bounds, met, rule = _bounds(torch), list[str](), _rule(torch)

    class Rectified(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            known = bounds.get(func)
            limits = None if known is None else known(*args, **(kwargs or {}))
            if limits is None:
                return func(*args, **(kwargs or {}))
            x, low, high, inplace = limits
            met.append(getattr(func, "__name__", "relu"))
            y = rule.apply(x, low, high, guided)
            return x.copy_(y) if inplace else y

    with Rectified():
        yield met


def _rule(torch: Any) -> Any:
    class Rule(torch.autograd.Function):  # type: ignore[misc]
        """x between two limits; backwards, what is positive, and with guidance only where x is inside."""

        @staticmethod
        def forward(ctx: Any, x: Any, low: float, high: float, guided: bool) -> Any:
            ctx.save_for_backward(*([(x > low) & (x < high)] if guided else []))
            return x.clamp(low, high)

        @staticmethod
        def backward(ctx: Any, *slopes: Any) -> Any:
            passed = slopes[0].clamp(min=0)
            return passed * ctx.saved_tensors[0] if ctx.saved_tensors else passed, None, None, None

    return Rule


Limits = tuple[Any, float, float, bool]  # x, from, to, in place


def _bounds(torch: Any) -> dict[Any, Callable[..., Limits | None]]:
    """The functions that are rectifiers, and how their arguments say where they cut."""

    def relu(input: Any, inplace: bool = False) -> Limits:
        return input, 0.0, math.inf, inplace

    def relu_(input: Any) -> Limits:
        return input, 0.0, math.inf, True

    def relu6(input: Any, inplace: bool = False) -> Limits:
        return input, 0.0, 6.0, inplace

    def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Limits | None:
        return (input, 0.0, float(max_val), inplace) if min_val == 0 else None

    def clamp(input: Any, min: Any = None, max: Any = None) -> Limits | None:
        plain = isinstance(min, (int, float)) and min == 0 and not hasattr(max, "shape")
        return (input, 0.0, math.inf if max is None else float(max), False) if plain else None

    def clamp_(input: Any, min: Any = None, max: Any = None) -> Limits | None:
        limits = clamp(input, min, max)
        return None if limits is None else (*limits[:3], True)

    def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Limits | None:
        return relu(input, inplace) if threshold == value == 0 else None

    functional, tensor = torch.nn.functional, torch.Tensor
    return {
        **dict.fromkeys((functional.relu, torch.relu, tensor.relu), relu),
        **dict.fromkeys((torch.relu_, tensor.relu_), relu_),
        functional.relu6: relu6,
        functional.hardtanh: hardtanh,
        functional.threshold: threshold,
        **dict.fromkeys(
            (torch.clamp, tensor.clamp, torch.clip, tensor.clip, torch.clamp_min, tensor.clamp_min), clamp
        ),
        **dict.fromkeys(
            (torch.clamp_, tensor.clamp_, torch.clip_, tensor.clip_, torch.clamp_min_, tensor.clamp_min_), clamp_
        ),
    }
