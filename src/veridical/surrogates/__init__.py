"""Local models (surrogates): additive, linear or a tree, how parts are selected, and the least squares behind."""

from veridical.surrogates.additive import Additive, local_values
from veridical.surrogates.linear import Linear
from veridical.surrogates.tree import Tree

__all__ = ["Additive", "Linear", "Tree", "local_values"]
