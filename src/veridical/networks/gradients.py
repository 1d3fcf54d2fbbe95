"""Gradient-based methods: plain and averaged gradients, paths from a baseline, guided backpropagation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_number, check_positive, check_whole, require
from veridical.methods.results import ROUNDING
from veridical.models.outputs import n_rows
from veridical.models.torch_modules import check_hookable
from veridical.networks.derivatives import OutputGradients
from veridical.networks.maps import GradientMethod, MapBatch
from veridical.protocols import Removable, Seed
from veridical.records import Floats, Ints
from veridical.representations.masking import check_flag
from veridical.seeds import child_of, generator

QUADRATURES = ("midpoint", "trapezoid", "gauss")
REMOVED = "removed"  # the baseline that is the instance without its parts


@dataclass(frozen=True)
class Gradient(GradientMethod):
    """Shows which values of the input change the output most if each is changed a little.

    The gradient of the output by the network's input, in the units of that input, after ``prepare``. Where the
    network is sure (a saturated output), gradients vanish and nothing is found.

    Parameters
    ----------
    absolute : bool, default True
        Take the size of each gradient, and not its sign.
    """

    absolute: bool = True

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        check_flag("absolute", self.absolute)

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One gradient per input."""
        found = gradients(x[:, None], rows)[:, 0]
        return MapBatch(found.abs() if self.absolute else found)


@dataclass(frozen=True)
class InputXGradient(GradientMethod):
    """Shows what each value of the input adds to the output, as if the network were linear.

    Each value times the gradient there. On a linear network without biases that is exactly what the value adds.
    A value of zero gets no weight, whatever the network makes of it.

    Parameters
    ----------
    absolute : bool, default False
        Take the size of the gradient, and not its sign.
    """

    absolute: bool = False

    def __post_init__(self) -> None:
        check_flag("absolute", self.absolute)

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One gradient per input."""
        found = gradients(x[:, None], rows)[:, 0]
        return MapBatch(x * (found.abs() if self.absolute else found))


@dataclass(frozen=True)
class SmoothGrad(GradientMethod):
    """Shows which values of the input change the output, on average around the instance.

    The mean gradient at noisy copies of the input (Smilkov et al. 2017). Confidence intervals are those of that
    mean.

    Parameters
    ----------
    n_draws : int, default 25
        Noisy copies of the input.
    noise : float, default 0.15
        Standard deviation of the normal noise, as a share of the range of all values of the input; so ``prepare``
        should scale columns alike.
    """

    n_draws: int = 25
    noise: float = 0.15

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)
        check_positive("noise", self.noise)

    @property
    def n_points(self) -> int:
        """One per draw."""
        return self.n_draws

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """The gradients at noisy copies, combined."""
        points = _normal_noise(x, self.n_draws, seeds)
        ranges = x.flatten(1).amax(dim=1) - x.flatten(1).amin(dim=1)
        points *= self.noise * ranges.view(-1, *[1] * x.dim())
        points += x[:, None]
        return self.combine(gradients(points, rows))

    def combine(self, gradients: Any) -> MapBatch:
        """The maps of gradients (r, m, …) at noisy copies."""
        return MapBatch(gradients.mean(dim=1), gradients)


@dataclass(frozen=True)
class SmoothGradSquared(SmoothGrad):
    """Shows how strongly each value of the input changes the output around the instance, up or down.

    The mean of the squared gradients at noisy copies of the input, as in ROAR (Hooker et al. 2019), or the square
    of SmoothGrad. Weights are never negative.

    Parameters
    ----------
    n_draws : int, default 25
        Noisy copies of the input.
    noise : float, default 0.15
        Standard deviation of the noise, as a share of the range of the input.
    square : {"before", "after"}, default "before"
        Whether gradients are squared before the mean over draws is taken, or after.
    """

    square: str = "before"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.square not in ("before", "after"):
            raise InputError(f'square is "before" or "after" the mean over draws, not {self.square!r}')

    def combine(self, gradients: Any) -> MapBatch:
        """The mean of squares, or the square of the mean with what each draw adds to it, to first order."""
        if self.square == "before":
            return super().combine(gradients.square_())
        mean = gradients.mean(dim=1)
        return MapBatch(mean**2, gradients.mul_(2 * mean[:, None]).sub_(mean[:, None] ** 2))


@dataclass(frozen=True)
class VarGrad(SmoothGrad):
    """Shows for which values of the input the gradient varies most around the instance.

    The variance of the gradient over noisy copies of the input (Adebayo et al. 2018). Weights are never negative.

    Parameters
    ----------
    n_draws : int, default 25
        Noisy copies of the input.
    noise : float, default 0.15
        Standard deviation of the noise, as a share of the range of the input.
    """

    def combine(self, gradients: Any) -> MapBatch:
        """The variance, and what each draw adds to it, to first order; none where draws differ by rounding."""
        varies = ~_equal_draws(gradients)[:, None]
        squares = gradients.sub_(gradients.mean(dim=1, keepdim=True)).square_()
        return super().combine(squares.mul_(varies))


def _normal_noise(x: Any, n_draws: int, seeds: Sequence[Seed]) -> Any:
    """Normal numbers (r, n_draws, …) like x (r, …), drawn on its device, of each input by its own seed."""
    torch, noise = require("torch", extra="torch"), x.new_empty(len(x), n_draws, *x.shape[1:])
    for own, seed in zip(noise, seeds, strict=True):
        state = int(child_of(seed, 0).generate_state(1, np.uint64)[0])
        own.normal_(generator=torch.Generator(x.device).manual_seed(state))
    return noise


def _equal_draws(gradients: Any) -> Any:
    """Where gradients (r, m, …) are the same for all m, but for rounding in the precision they seem to have."""
    single = bool((gradients == gradients.float()).all())
    unit = float(np.finfo(np.float32 if single else np.float64).eps)
    low, high = gradients.amin(dim=1), gradients.amax(dim=1)
    return high - low <= ROUNDING * unit * low.abs().maximum(high.abs())


@dataclass(frozen=True)
class IntegratedGradients(GradientMethod):
    """Shows what each value of the input adds to the output, compared with a baseline.

    The mean gradient on the straight line from a baseline to the input, times their difference (Sundararajan et
    al. 2017). The weights sum to the output's difference from that of the baseline, up to the error of
    ``n_steps``; the notes give the residual.

    Parameters
    ----------
    baseline : float, instance or "removed", default 0.0
        What the input is compared with: one number for all values, in the units of the network's input; an
        instance like the one that is explained; or the instance with all its parts taken away.
    n_steps : int, default 50
        Gradients on the line.
    rule : {"midpoint", "trapezoid", "gauss"}, default "midpoint"
        Where the steps are: in the middle of equal pieces, equally spaced with both ends, or at the nodes of
        Gauss-Legendre quadrature.
    """

    baseline: Any = 0.0
    n_steps: int = 50
    rule: str = "midpoint"

    def __post_init__(self) -> None:
        check_whole("n_steps", self.n_steps, 2)
        if self.rule not in QUADRATURES:
            raise InputError(f"rule is one of {', '.join(map(repr, QUADRATURES))}, not {self.rule!r}")
        if self.baseline is None:
            raise InputError('baseline wants a number, an instance or "removed", not None')
        if isinstance(self.baseline, Real):
            check_number("baseline", self.baseline)

    @property
    def n_points(self) -> int:
        """One per step."""
        return self.n_steps

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """The baseline, unless it is a number."""
        if isinstance(self.baseline, Real):
            return None
        if self.baseline != REMOVED if isinstance(self.baseline, str) else True:
            return _batch_of_one(self.baseline)
        if representation is None:
            raise InputError('maps knows no parts to be "removed": give a number or an instance as baseline')
        if not representation.steady:
            raise InputError(
                "what is there without the parts of this instance is drawn anew each time, so there is no one "
                'baseline "removed": use vd.gradients.ExpectedGradients(), which is the mean over such draws'
            )
        return representation.keeping(np.zeros((1, len(representation.names)), bool), seed)[0:1]

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """The weighted sum of gradients on the line."""
        known = gradients.references
        base = (x.new_full((), self.baseline) if known is None else _check_shapes(known, x)).expand_as(x)
        shares, weights = (_per_point(each, x) for each in _quadrature(self.n_steps, self.rule))
        found = gradients(base[:, None].lerp(x[:, None], shares), rows)
        mean = found.mul_(weights).sum(dim=1)
        reference = gradients.values(base[:, None], rows)[:, 0]
        return MapBatch((x - base) * mean, reference=reference, differs=x != base)


@dataclass(frozen=True)
class ExpectedGradients(GradientMethod):
    """Shows what each value of the input adds to the output, compared with typical instances.

    Integrated gradients averaged over baselines, with one point on the way from each (Erion et al. 2021). The
    weights sum to the output's difference from the mean output of the baselines, up to the error of the draws.

    Parameters
    ----------
    background : batch of instances, optional
        Baselines, such as some of the training data; all are drawn equally often. By default the instance with
        all its parts taken away, which in tables is drawn from the representer's background.
    n_draws : int, default 200
        Points at which a gradient is taken.
    """

    background: Any = None
    n_draws: int = 200

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)
        if self.background is not None and (isinstance(self.background, str) or not n_rows(self.background)):
            raise InputError("background wants a batch of instances, such as some of the training data")

    @property
    def n_points(self) -> int:
        """One per draw."""
        return self.n_draws

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """The background, or the instance without its parts."""
        if self.background is not None:
            n = n_rows(self.background)
            if n <= self.n_draws:
                return self.background
            rows = generator(seed, 1).choice(n, self.n_draws, replace=False)
            if isinstance(self.background, (list, tuple)):
                return [self.background[i] for i in rows]
            return self.background.iloc[rows] if hasattr(self.background, "iloc") else self.background[rows]
        if representation is None:
            raise InputError("maps knows no parts to take away: give vd.gradients.ExpectedGradients(background=…)")
        masks = np.zeros((1 if representation.steady else self.n_draws, len(representation.names)), bool)
        return representation.keeping(masks, child_of(seed, 1))[: len(masks)]

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One gradient per draw, somewhere on the way from its baseline."""
        known = _check_shapes(gradients.references, x)
        chosen, shares = zip(*(self._draw_paths(len(known), seed) for seed in seeds), strict=True)
        base = known[np.stack(chosen)]
        found = gradients(base.lerp(x[:, None], _per_point(np.stack(shares), x)), rows)
        draws = found.mul_(x[:, None] - base)
        differs = (x[:, None] != base).any(dim=1)
        return MapBatch(draws.mean(dim=1), draws, gradients.values(base, rows).mean(dim=1), differs=differs)

    def _draw_paths(self, n: int, seed: Seed) -> tuple[Ints, Floats]:
        """For each draw, which of n baselines its path comes from, and where on it the gradient is taken."""
        rng, rounds = generator(seed, 0), -(-self.n_draws // n)
        chosen = np.concatenate([rng.permutation(n) for _ in range(rounds)])[: self.n_draws]
        return chosen, rng.random(self.n_draws)


def _per_point(numbers: Floats, x: Any) -> Any:
    """Numbers (…, m), one per point, to be multiplied with points (…, m, …) of inputs x (r, …)."""
    return x.new_tensor(numbers).view(*numbers.shape, *[1] * (x.dim() - 1))


def _quadrature(n: int, rule: str) -> tuple[Floats, Floats]:
    """Where on the line from 0 to 1 gradients are taken, and what they weigh."""
    if rule == "midpoint":
        return (np.arange(n) + 0.5) / n, np.full(n, 1 / n)
    if rule == "trapezoid":
        weights = np.full(n, 1 / (n - 1))
        weights[[0, -1]] /= 2
        return np.linspace(0, 1, n), weights
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


def _batch_of_one(instance: Any) -> Any:
    if isinstance(instance, str):
        return [instance]
    if hasattr(instance, "iloc"):
        return instance.to_frame().T if instance.ndim == 1 else instance
    if hasattr(instance, "toarray"):
        return instance.reshape(1, -1)
    return instance[None] if hasattr(instance, "shape") else np.asarray(instance)[None]


def _check_shapes(references: Any, x: Any) -> Any:
    """Points to compare with, if they are like the instance's."""
    wanted, shape = tuple(x.shape[1:]), tuple(references.shape[1:])
    if shape != wanted:
        raise InputError(
            f"the baseline becomes an input of shape {shape}, but the instance one of {wanted}: give an instance "
            "of the same shape"
        )
    return references


@dataclass(frozen=True)
class DeconvNet(GradientMethod):
    """Shows which values of the input could have excited the network's units (deconvolution).

    The gradient with a ReLU on the way back in place of the gates of the way forth (Zeiler and Fergus 2014). Its
    maps hardly depend on the network's upper layers, so the verdict never calls them reliable.
    """

    hardly_depends: ClassVar[bool] = True
    purpose: ClassVar[str] = "change"
    guided: ClassVar[bool] = False  # whether the gates of the way forth hold, too

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One map per input."""
        check_hookable(gradients.network.module, type(self).__name__)
        with replace_rectifiers(self.guided) as met:
            found = gradients(x[:, None], rows)[:, 0]
        if not met:
            raise InputError(
                "the network has no ReLU, and guided backpropagation and deconvolution are rules for ReLU: use "
                "vd.gradients.Gradient() or vd.gradients.IntegratedGradients()"
            )
        return MapBatch(found)


@dataclass(frozen=True)
class GuidedBackprop(DeconvNet):
    """Shows which values of the input excite units that raise the output (guided backpropagation).

    The gradient with everything negative cut off at each ReLU on the way back (Springenberg et al. 2015). Its maps
    look sharp, but hardly depend on the network's upper layers: they show edges of the input rather than what the
    network looks for, so the verdict never calls them reliable.
    """

    guided: ClassVar[bool] = True


@contextmanager
def replace_rectifiers(guided: bool) -> Iterator[list[str]]:
    """Give every ReLU that runs meanwhile, module or function, another backward rule; yields those that were met.

    Nothing is set on the modules themselves.
    """
    torch: Any = require("torch", extra="torch")
    limits_of, met, rule = _rectifiers(torch), list[str](), _backward_rule(torch)

    class Rectified(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            known = limits_of.get(func)
            limits = None if known is None else known(*args, **(kwargs or {}))
            if limits is None:
                return func(*args, **(kwargs or {}))
            x, low, high, inplace = limits
            met.append(getattr(func, "__name__", "relu"))
            y = rule.apply(x, low, high, guided)
            return x.copy_(y) if inplace else y

    with Rectified():
        yield met


def _backward_rule(torch: Any) -> Any:
    class GatedRectifier(torch.autograd.Function):  # type: ignore[misc]
        """x between two limits; backwards, what is positive, and with guidance only where x is inside."""

        @staticmethod
        def forward(ctx: Any, x: Any, low: float, high: float, guided: bool) -> Any:
            ctx.save_for_backward(*([(x > low) & (x < high)] if guided else []))
            return x.clamp(low, high)

        @staticmethod
        def backward(ctx: Any, *slopes: Any) -> Any:
            passed = slopes[0].clamp(min=0)
            return passed * ctx.saved_tensors[0] if ctx.saved_tensors else passed, None, None, None

    return GatedRectifier


Limits = tuple[Any, float, float, bool]  # x, from, to, in place


def _rectifiers(torch: Any) -> dict[Any, Callable[..., Limits | None]]:
    """The functions that are rectifiers, and how their arguments say where they cut."""

    def relu(input: Any, inplace: bool = False) -> Limits:
        return input, 0.0, math.inf, inplace

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
    found: dict[Any, Callable[..., Limits | None]] = {
        functional.relu: relu,
        functional.relu6: relu6,
        functional.hardtanh: hardtanh,
        functional.threshold: threshold,
    }
    for home in (torch, tensor):
        found |= {home.relu: relu, home.relu_: partial(relu, inplace=True)}
        found |= dict.fromkeys((home.clamp, home.clip, home.clamp_min), clamp)
        found |= dict.fromkeys((home.clamp_, home.clip_, home.clamp_min_), clamp_)
    return found
