"""Attribution methods for torch networks: gradients, paths, relevance, patterns and their maps; and streaming."""

from veridical.networks.gradients import (
    DeconvNet,
    ExpectedGradients,
    Gradient,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    SmoothGrad,
    SmoothGradSquared,
    VarGrad,
)
from veridical.networks.lrp import LrpEpsilon, LrpPresetAFlat
from veridical.networks.maps import Maps
from veridical.networks.patterns import PatternAttribution, PatternNet

__all__ = [
    "DeconvNet",
    "ExpectedGradients",
    "Gradient",
    "GuidedBackprop",
    "InputXGradient",
    "IntegratedGradients",
    "LrpEpsilon",
    "LrpPresetAFlat",
    "Maps",
    "PatternAttribution",
    "PatternNet",
    "SmoothGrad",
    "SmoothGradSquared",
    "VarGrad",
]
