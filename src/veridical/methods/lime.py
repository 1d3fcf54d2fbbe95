"""LIME (Ribeiro et al. 2016): a sparse or full linear model, or a tree, fitted near one instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole, safe_repr, teach_settings
from veridical.evidence.verdicts import TopK
from veridical.methods.engine import explain_one
from veridical.methods.results import Question, name_of
from veridical.models.outputs import Model
from veridical.protocols import Kernel, Mixable, Representation, ScalableKernel, Seed, Selector, Surrogate
from veridical.records import Explanation, Fit, Floats
from veridical.sampling.kernels import Gaussian
from veridical.surrogates.additive import Additive
from veridical.surrogates.linear import Linear
from veridical.surrogates.selection import as_package, highest_weights, lasso_path

ADDITIVE_CALLS, LINEAR_CALLS = 2048, 8192  # at most, unless ``max_calls`` says otherwise
CALLS_PER_PART = 3  # that an additive local model may need at least
LEAST_SQUARES = (Linear(), Linear(trees=True))  # without a ridge, and with an intercept of its own


def plain_mean(outputs: Floats, weights: Floats) -> float:
    """The intercept of the paper's experiments: the mean output, without weights."""
    return float(outputs.mean())


def nothing(outputs: Floats, weights: Floats) -> float:
    """The paper's formula has no intercept."""
    return 0.0


@teach_settings
@dataclass(frozen=True)
class Lime:
    """Which features does the answer depend on near this instance? LIME: a simple local model, fitted nearby.

    By default the local model is a sum of one function per feature and of a few pairs, which adds up to what the model
    answers. It samples until the top features are settled, and fits all of them, so that the intervals are valid.

    Parameters
    ----------
    n_samples : int, optional
        Fixes the number of samples; by default it is found by ``until``.
    until : TopK
        When the top features count as settled.
    max_calls : int, optional
        Rows that the model is asked about at most; by default 8,192 for a linear model or a tree, and 2,048 for an
        additive one, or three per feature where there are more than 680.
    kernel : callable, optional
        A function of distances that replaces the representation's own kernel, such as ``vd.kernels.Gaussian(0.5)``.
        An additive local model is then fitted to LIME's own samples, as a linear one is.
    width : float
        Widens or narrows the representation's own kernel, with the same effect on an additive local model.
    n_features : int, optional
        Keeps so few features, and sets the others to zero.
    select : callable
        How those are chosen, such as ``vd.selectors.lasso_path``.
    surrogate : Surrogate
        The local model: ``vd.surrogates.Additive()``, ``Linear()``, as in LIME's papers, or ``Tree()``.
    kept : tuple of float
        Shares of a row's columns that samples keep, where the local model is additive and no kernel is given.
    """

    n_samples: int | None = None
    until: TopK = field(default_factory=TopK)
    max_calls: int | None = None
    kernel: Kernel | None = None
    width: float = 1.0
    n_features: int | None = None
    select: Selector = highest_weights
    surrogate: Surrogate = field(default_factory=Additive)
    kept: tuple[float, ...] = (0.25, 0.85)

    def __post_init__(self) -> None:
        check_shares(self.kept)
        for name in ("n_samples", "max_calls", "n_features"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        check_positive("width", self.width)
        if not isinstance(self.until, TopK):
            raise InputError(f"until wants TopK(…), not {self.until!r}")
        wanted = {
            "kernel": "a function of distances, such as Gaussian(0.5)",
            "select": "a selector, such as lasso_path",
        }
        wanted["surrogate"] = "settings, such as Linear() or Tree()"
        if self.n_features is None and self.select is not highest_weights:
            raise InputError("select needs n_features: how many parts to keep")
        if self.kernel is not None and self.width != 1:
            raise InputError(
                "width is for the representation's own kernel: give the kernel itself the width you want"
            )
        for name, what in wanted.items():
            value = getattr(self, name)
            if (value is not None or name != "kernel") and (not callable(value) or isinstance(value, type)):
                raise InputError(f"{name} wants {what}, not {value!r}")

    @classmethod
    def paper(cls, n_features: int = 10) -> Lime:
        """As in the paper's Algorithm 1: kernel exp(-D²/σ²), K-LASSO, least squares, no intercept."""
        return cls(
            n_samples=5000,
            width=2**-0.5,
            n_features=n_features,
            select=lasso_path,
            surrogate=Linear(offset=nothing),
        )

    @classmethod
    def experiments(cls, n_features: int = 10) -> Lime:
        """As in the code of the paper's experiments: outputs centered by their plain mean, 15,000 samples."""
        return replace(cls.paper(n_features), n_samples=15000, surrogate=Linear(offset=plain_mean))

    @classmethod
    def package(cls, n_features: int = 10) -> Lime:
        """What the lime package estimates, its bugs excepted: its kernel, selection and ridge of 1."""
        return cls(n_samples=5000, n_features=n_features, select=as_package, surrogate=Linear(ridge=1.0))

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target, all from the same samples."""
        return explain_one(self, Question(model, self.see(representation), targets, seed))

    @property
    def most_calls(self) -> int:
        """Inputs that it asks about at most."""
        return self.n_samples or self.budget(0)

    def budget(self, d: int) -> int:
        """Inputs that it asks about at most for d parts."""
        if self.max_calls is not None:
            return self.max_calls
        return max(ADDITIVE_CALLS, CALLS_PER_PART * (d + 2)) if self.additive else LINEAR_CALLS

    @property
    def additive(self) -> bool:
        """The local model adds up functions of the parts' values."""
        return isinstance(self.surrogate, Additive)

    def see(self, representation: Representation) -> Representation:
        """The representation whose samples these settings are fitted to."""
        own_law = self.kernel is None and self.width == 1
        if own_law and self.additive and isinstance(representation, Mixable):
            return representation.by_shares(self.kept)
        return representation

    def kernel_for(self, representation: Representation) -> Kernel:
        """The kernel of these settings, made to measure for the representation."""
        if self.kernel is not None:
            return self.kernel if isinstance(self.kernel, Gaussian) else check_kernel(self.kernel)
        own = representation.kernel
        if not isinstance(own, ScalableKernel):
            return check_kernel(own)
        return own if self.width == 1 else own.scaled(self.width)

    @property
    def plain(self) -> bool:
        """All parts are fitted by least squares."""
        return self.n_features is None and self.surrogate in LEAST_SQUARES

    def notes(self, fit: Fit) -> tuple[str, ...]:
        """What a reader should know of a fit by these settings."""
        notes = list[str]()
        if fit.shape is not None:
            notes.extend(fit.shape.notes)
        if self.n_features is not None and not fit.path:
            notes.append(
                f"{int(fit.chosen.sum())} of {len(fit.weights)} parts were chosen by {name_of(self.select)}; "
                "the others are set to zero, and the intervals do not count the choice"
            )
        missed = int((~fit.measured).sum())
        if missed:
            what = "1 part hardly ever changes" if missed == 1 else f"{missed} parts hardly ever change"
            notes.append(f"{what} in the samples, and has no weight")
        return tuple(notes)


def check_shares(kept: Any) -> None:
    """Refuse shares that are no two or three different numbers between 0 and 1."""
    fine = isinstance(kept, tuple) and 1 <= len(kept) <= 8
    fine = fine and all(isinstance(s, (float, np.floating)) and 0 < s < 1 for s in kept)
    if not fine or len(set(kept)) < len(kept):
        raise InputError(
            f"kept wants a tuple of different shares between 0 and 1, such as (0.25, 0.85), not {safe_repr(kept)}"
        )


def check_kernel(kernel: Kernel) -> Kernel:
    """A kernel of the caller's own, whose answers are checked."""

    def proximity(distances: Floats) -> Floats:
        near = np.asarray(kernel(distances), dtype=np.float64)
        if near.shape != distances.shape:
            raise InputError(f"the kernel gave shape {near.shape} for distances of shape {distances.shape}")
        if not np.isfinite(near).all() or (near < 0).any():
            raise InputError("the kernel gave negative, infinite or missing proximities; wanted numbers from 0 on")
        if not near.any():
            raise InputError("the kernel is zero for all samples: give a wider one")
        return near

    return proximity
