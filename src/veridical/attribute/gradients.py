"""Gradients of a network's output by its input, at the instance and around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.slopes import Slopes
from veridical.records import Floats, Ints, Seed


@dataclass(frozen=True)
class Gradient(ByGradient):
    """How much the output changes with each value of the network's input; in size alone unless told otherwise."""

    absolute: bool = True

    def drawn(self, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
        """One gradient an input."""
        slope = slopes(x[:, None], rows)[:, 0]
        return Drawn(np.abs(slope) if self.absolute else slope)
