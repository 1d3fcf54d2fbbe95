"""Comparisons: differences between two explanations or two models, and what changed from one night to the next."""

from veridical.comparisons.differences import Difference
from veridical.comparisons.watching import Drift, watch

__all__ = ["Difference", "Drift", "watch"]
