"""Plain least squares for many neighborhoods of one shape at once, on the device that holds their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.least_squares import CONFUSED, Problem, Solved
from veridical.attribute.linear import measured, solution
from veridical.attribute.moments import MaskLaw
from veridical.errors import require
from veridical.records import Fit, Floats, Sample

N_NUMBERS = 3  # beside vectors and matrices: the mean, what is left out, and the squares of all


def can_stack(sample: Sample) -> bool:
    """Whether the surrogate of masks is a plain fit of all parts: nothing is learned, and nothing left out."""
    design, d = sample.design, sample.designs.shape[1]
    if design.exact or design.net or design.sizes is None or len(design.sizes) != d + 1:
        return False
    none = np.empty(0)
    if Problem(sample.designs[1:], none, none, none, design, intercept=True).learns:
        return False
    return bool(measured(sample).all())


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
        torch = require("torch", extra="torch")
        design = self.samples[0].design
        Z = sent(np.stack([s.designs[1:] != 0 for s in self.samples]), outputs.device).double()
        w = sent(np.stack([s.weights[1:] for s in self.samples]), outputs.device)
        y, total = outputs.double(), w.sum(dim=1, keepdim=True)
        mean = (w * y).sum(dim=1, keepdim=True) / total
        center = (w[:, None] @ Z) / total[:, None]  # (b, 1, d)
        root = w.sqrt()
        A, t = root[..., None] * (Z - center), root * (y - mean)
        gram, moment = A.mT @ A, (A.mT @ t[..., None])
        own = gram.diagonal(dim1=1, dim2=2)
        inverse = torch.linalg.inv_ex(gram + torch.diag_embed(1e-10 * own)).inverse
        weights = inverse @ moment  # (b, d, 1)
        rest = t - (A @ weights)[..., 0]
        assert design.sizes is not None
        pulls = sent(1 + MaskLaw.of(design.sizes).leverage(), outputs.device)
        room = 1 - (w / total * pulls[Z.sum(dim=2).long()]).clamp(max=0.99)
        scores = clustered(A * (rest / room)[..., None], design.cluster)
        covariance = inverse @ (scores.mT @ scores) @ inverse.mT
        known = inverse.diagonal(dim1=1, dim2=2) * own < CONFUSED
        sums = torch.cat([mean, ((rest / room) ** 2).sum(1, keepdim=True), (w * (y - mean) ** 2).sum(1, True)], 1)
        vectors = [sums, weights[..., 0], center[:, 0], known.double()]
        return torch.cat([*vectors, covariance.flatten(1)], dim=1)

    def fits(self, numbers: Floats) -> list[Fit | None]:
        """The fits of what ``solve`` found; None where the samples could not tell."""
        return list(map(_fit, self.samples, numbers))


def _fit(sample: Sample, numbers: Floats) -> Fit | None:
    if not np.isfinite(numbers).all():
        return None
    d = sample.designs.shape[1]
    (mean, left_out, total), rest = numbers[:N_NUMBERS], numbers[N_NUMBERS:]
    weights, center, known = rest[: 3 * d].reshape(3, d)
    found = Solved(weights, rest[3 * d :].reshape(d, d), float(left_out), known > 0)
    fidelity = 1 - found.left_out / float(total) if total > 0 else float("nan")
    intercept = float(mean) - float(center @ weights)
    return solution(sample, np.ones(d, bool), np.arange(d), found, intercept, fidelity)


def clustered(scores: Any, size: int) -> Any:
    """Sums (b, n / size, d) of this many consecutive rows of (b, n, d); the last may be of fewer."""
    if size == 1:
        return scores
    short = -scores.shape[1] % size
    if short:
        scores = require("torch.nn.functional", extra="torch").pad(scores, (0, 0, 0, short))
    return scores.unflatten(1, (-1, size)).sum(dim=2)


def sent(array: Any, device: Any) -> Any:
    """An array on a device, without waiting for it to arrive."""
    tensor = require("torch", extra="torch").from_numpy(np.ascontiguousarray(array))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)
