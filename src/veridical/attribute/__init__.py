"""How much each part counts."""

from typing import Any

from veridical.attribute.chance import RandomParts
from veridical.attribute.choose import as_package, forward_selection, highest_weights, lasso_path
from veridical.attribute.counterfactual import Counterfactual
from veridical.attribute.either import Either
from veridical.attribute.evidence import TopK
from veridical.attribute.gradients import Gradient, InputXGradient, SmoothGrad, SmoothGradSquared, VarGrad
from veridical.attribute.greedy import Greedy
from veridical.attribute.lime import Lime, nothing, plain_mean
from veridical.attribute.linear import Linear
from veridical.attribute.occlusion import Occlusion
from veridical.attribute.parzen import Parzen
from veridical.attribute.paths import ExpectedGradients, IntegratedGradients
from veridical.attribute.patterns import PatternAttribution, PatternNet
from veridical.attribute.rectifiers import DeconvNet, GuidedBackprop
from veridical.attribute.relevance import LrpEpsilon, LrpPresetAFlat
from veridical.attribute.sensitivity import Sensitivity
from veridical.attribute.shapley import KernelShap
from veridical.attribute.tree import Tree
from veridical.attribute.undo import Undo
from veridical.masks import Gaussian
from veridical.represent.fill import (
    Blur,
    Constant,
    Fallback,
    Inpaint,
    Interpolate,
    Least,
    Noise,
    PartMean,
    WholeMean,
)
from veridical.represent.low_rank import LowRank

METHODS: dict[str, Any] = {
    "counterfactual": Counterfactual,
    "deconv_net": DeconvNet,
    "either": Either,
    "expected_gradients": ExpectedGradients,
    "gradient": Gradient,
    "greedy": Greedy,
    "guided_backprop": GuidedBackprop,
    "input_x_gradient": InputXGradient,
    "integrated_gradients": IntegratedGradients,
    "kernel_shap": KernelShap,
    "lime": Lime,
    "lrp_epsilon": LrpEpsilon,
    "lrp_preset_a_flat": LrpPresetAFlat,
    "occlusion": Occlusion,
    "parzen": Parzen,
    "pattern_attribution": PatternAttribution,
    "pattern_net": PatternNet,
    "random_parts": RandomParts,
    "sensitivity": Sensitivity,
    "smooth_grad": SmoothGrad,
    "smooth_grad_squared": SmoothGradSquared,
    "undo": Undo,
    "var_grad": VarGrad,
}

# What a recipe may name: methods, their settings, and functions among those.
SETTINGS: dict[str, Any] = {
    known.__name__: known
    for known in (
        *METHODS.values(),
        *(TopK, Gaussian, Linear, Tree),
        *(Blur, Constant, Fallback, Inpaint, Interpolate, Least, LowRank, Noise, PartMean, WholeMean),
        *(highest_weights, lasso_path, forward_selection, as_package, plain_mean, nothing),
    )
}
