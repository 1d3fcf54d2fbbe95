"""Explanation methods: LIME, Shapley values, occlusion, sensitivity and others, and what they share."""

from veridical.methods.contrast import Contrast
from veridical.methods.counterfactual import Counterfactual
from veridical.methods.lime import Lime
from veridical.methods.occlusion import Occlusion
from veridical.methods.sensitivity import Sensitivity
from veridical.methods.shapley import KernelShap
from veridical.methods.undo import Either, Undo

__all__ = ["Contrast", "Counterfactual", "Either", "KernelShap", "Lime", "Occlusion", "Sensitivity", "Undo"]
