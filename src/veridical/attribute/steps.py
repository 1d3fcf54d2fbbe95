"""What torch functions do to relevance, by their names, and what they are given."""

from __future__ import annotations

from typing import Any

from veridical.errors import require

DENSE = {"linear", "matmul", "mm"}
CONVOLUTIONS = {"conv1d", "conv2d", "conv3d"}
ARGUMENTS = ("input", "weight", "bias")

# By name without underscores, as functions, methods and operators of torch are called.
# Steps that change nothing but the order or the type of numbers, copy them, or leave some out:
SHAPES = {
    "bfloat16", "channel_shuffle", "chunk", "clone", "contiguous", "double", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "expand", "flatten", "flip", "float", "gather", "get", "getitem", "half", "index_select",
    "moveaxis", "movedim", "narrow", "pad", "permute", "pixel_shuffle", "pixel_unshuffle", "repeat", "reshape",
    "roll", "select", "split", "squeeze", "swapaxes", "t", "tensor_split", "tile", "to", "transpose", "type",
    "unbind", "unflatten", "unfold", "unsqueeze", "view",
}  # fmt: skip
# Steps that are linear, or a choice among their inputs, so that the gradient of messages is their rule:
LINEAR = SHAPES | {
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "add", "alpha_dropout", "amax", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "cat", "concat", "feature_alpha_dropout", "iadd", "interpolate", "isub",
    "leaky_relu", "masked_fill", "max", "max_pool1d", "max_pool2d", "max_pool3d", "mean", "neg", "prelu", "radd",
    "relu", "rsub", "stack", "sub", "sum", "upsample",
}  # fmt: skip
PRODUCTS = {"div", "idiv", "imul", "itruediv", "mul", "rmul", "true_divide", "truediv"}  # linear in one factor
AFFINE = {"add", "batch_norm", "div", "mul", "radd", "rmul", "rsub", "sub", "true_divide", "truediv"}
ACTIVATIONS = {
    "celu", "clamp", "clamp_max", "clamp_min", "clip", "elu", "gelu", "hardswish", "hardtanh", "mish", "relu6",
    "rrelu", "selu", "silu", "softsign", "tanh", "threshold",
}  # fmt: skip
GATES = {"hardtanh", "relu", "relu6"}
ENDS = {"log_softmax", "sigmoid", "softmax"}


def is_inplace(function: Any, options: dict[str, Any]) -> bool:
    """Whether the function changes what it is given."""
    name = function.__name__
    return bool(options.get("inplace")) or (name.endswith("_") and not name.endswith("__"))


def is_known(name: str, args: Any, options: Any) -> bool:
    """Whether the gradient of messages is the rule of this function."""
    if name in PRODUCTS:
        return len(moving((args, options))) == 1 and (args[0].requires_grad or "mul" in name)
    return name in LINEAR | ACTIVATIONS


def tensors(given: Any) -> list[Any]:
    """All tensors of arguments or results, however they are put together."""
    torch = require("torch", extra="torch")
    if isinstance(given, torch.Tensor):
        return [given]
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, (list, tuple)):
        return []
    return [tensor for each in given for tensor in tensors(each)]


def moving(given: Any) -> list[Any]:
    """The tensors that depend on the leaf."""
    return [each for each in tensors(given) if each.requires_grad]
