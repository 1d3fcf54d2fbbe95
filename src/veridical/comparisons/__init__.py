"""Comparisons: differences between two explanations, or between two models."""

from veridical.comparisons.differences import Difference

__all__ = ["Difference"]
