"""The registry of methods by name, and of everything that a recipe may name."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from veridical.errors import InputError, public_name
from veridical.evidence.verdicts import TopK
from veridical.methods.baselines import Greedy, Parzen, RandomParts
from veridical.methods.contrast import Contrast
from veridical.methods.counterfactual import Counterfactual
from veridical.methods.lime import Lime, nothing, plain_mean
from veridical.methods.occlusion import Occlusion
from veridical.methods.sensitivity import Sensitivity
from veridical.methods.shapley import KernelShap
from veridical.methods.undo import Either, Undo
from veridical.networks import gradients, lrp, patterns
from veridical.representations import fills
from veridical.sampling.kernels import Gaussian
from veridical.surrogates.additive import Additive
from veridical.surrogates.linear import Linear
from veridical.surrogates.selection import as_package, forward_selection, highest_weights, lasso_path
from veridical.surrogates.tree import Tree

METHODS: dict[str, Any] = {
    "contrast": Contrast,
    "counterfactual": Counterfactual,
    "deconv_net": gradients.DeconvNet,
    "either": Either,
    "expected_gradients": gradients.ExpectedGradients,
    "gradient": gradients.Gradient,
    "greedy": Greedy,
    "guided_backprop": gradients.GuidedBackprop,
    "input_x_gradient": gradients.InputXGradient,
    "integrated_gradients": gradients.IntegratedGradients,
    "kernel_shap": KernelShap,
    "lime": Lime,
    "lrp_epsilon": lrp.LrpEpsilon,
    "lrp_preset_a_flat": lrp.LrpPresetAFlat,
    "occlusion": Occlusion,
    "parzen": Parzen,
    "pattern_attribution": patterns.PatternAttribution,
    "pattern_net": patterns.PatternNet,
    "random_parts": RandomParts,
    "sensitivity": Sensitivity,
    "smooth_grad": gradients.SmoothGrad,
    "smooth_grad_squared": gradients.SmoothGradSquared,
    "undo": Undo,
    "var_grad": gradients.VarGrad,
}

# What a recipe may name: methods, their settings, and functions among those.
SETTINGS: dict[str, Any] = {
    known.__name__: known
    for known in (
        *METHODS.values(),
        *(TopK, Gaussian, Additive, Linear, Tree),
        *(fills.Blur, fills.Constant, fills.Fallback, fills.Inpaint, fills.Interpolate, fills.Least),
        *(fills.LowRank, fills.Noise, fills.PartMean, fills.WholeMean),
        *(highest_weights, lasso_path, forward_selection, as_package, plain_mean, nothing),
    )
}


ALIASES = {  # other names of methods
    "shap": "kernelshap",
    "shapley": "kernelshap",
    "ig": "integratedgradients",
    "lrp": "lrpepsilon",
    "saliency": "gradient",
}


def choose_settings(
    method: Any, default: Any, example: str, others: tuple[type, ...], known: Mapping[str, Any]
) -> Any:
    """A method of the right kind, which may be named; ``others`` are kinds for another purpose."""
    if method is None:
        return default
    if isinstance(method, str):
        return find_settings(method, known)
    if isinstance(method, type):
        raise InputError(f"method wants settings, such as {method.__name__}(), not the class itself")
    if isinstance(method, (Additive, Linear, Tree)):
        name = type(method).__name__
        raise InputError(f"a surrogate belongs to Lime: method=vd.Lime(surrogate=vd.surrogates.{name}())")
    if isinstance(method, others):
        raise InputError(
            f"method wants settings such as {example}; {public_name(type(method))} is for another purpose"
        )
    if not callable(method):
        raise InputError(f"method wants settings such as {example}, not {method!r}")
    return method


def find_settings(name: str, known: Mapping[str, Any]) -> Any:
    """The method of a name, in any spelling of it, with its default settings."""
    own = {_normalize(each): each for each in known} | {_normalize(v.__name__): k for k, v in known.items()}
    key = own.get(_normalize(name))
    if key is None:
        like = ALIASES.get(_normalize(name)) or next(
            iter(get_close_matches(_normalize(name), own, n=1, cutoff=0.5)), ""
        )
        hint = f"did you mean {own[like]!r}, which is {public_name(known[own[like]])}()?" if like in own else ""
        raise InputError(f"no method is called {name!r}; {hint or 'there are ' + ', '.join(known)}")
    try:
        return known[key]()
    except TypeError as cause:
        raise InputError(
            f"{key!r} needs settings: give {public_name(known[key])}(…) instead of its name"
        ) from cause


def resolve_names(methods: Any) -> Any:
    """Methods as they were given, but for those that were named."""
    if isinstance(methods, str):
        return find_settings(methods, METHODS)
    if isinstance(methods, Mapping):
        return {name: resolve_names(method) for name, method in methods.items()}
    return [resolve_names(each) for each in methods] if isinstance(methods, (list, tuple)) else methods


def _normalize(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")
