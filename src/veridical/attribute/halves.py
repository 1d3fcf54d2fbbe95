"""Copies of modules that answer quicker: in half precision, with normalizations folded into convolutions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from veridical.errors import InputError, require

PRECISIONS = ("float16", "bfloat16")


def converted(module: Any, precision: str) -> Any:
    """A copy of a module in half precision, normalizations folded where its steps can be traced."""
    if precision not in PRECISIONS:
        raise InputError(f"precision is {' or '.join(map(repr, PRECISIONS))}, not {precision!r}")
    torch = require("torch", extra="torch")
    try:
        copy = deepcopy(module)
        return folded(copy).to(getattr(torch, precision))
    except Exception as cause:
        raise InputError(
            f"the module cannot be copied for precision={precision!r} ({type(cause).__name__}: {cause}): convert "
            "it yourself, as in module.bfloat16(), and leave precision out"
        ) from cause


def folded(module: Any) -> Any:
    """The same answers without batch normalizations that follow a convolution: its weights do their work.

    A module whose steps depend on its inputs cannot be traced, and stays as it is.
    """
    torch, fx = require("torch", extra="torch"), require("torch.fx", extra="torch")
    parts = list(module.modules())
    norms = any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in parts)
    if not norms or any(part.training for part in parts):
        return module
    try:
        traced = fx.symbolic_trace(module)
    except Exception:
        return module
    fusion = require("torch.nn.utils.fusion", extra="torch")
    for node in list(traced.graph.nodes):
        before = node.args[0] if node.op == "call_module" and len(node.args) == 1 else None
        if isinstance(before, fx.Node) and before.op == "call_module" and _can_fold(traced, before, node):
            owner, _, name = before.target.rpartition(".")
            fused = fusion.fuse_conv_bn_eval(*(traced.get_submodule(each.target) for each in (before, node)))
            setattr(traced.get_submodule(owner), name, fused)
            node.replace_all_uses_with(before)
            traced.graph.erase_node(node)
    traced.delete_all_unused_submodules()
    traced.recompile()
    return traced.eval()


def _can_fold(traced: Any, before: Any, node: Any) -> bool:
    """Whether a step is a normalization of what a convolution gives to it alone, both as torch has them."""
    nn = require("torch.nn", extra="torch")
    first, second = (traced.get_submodule(each.target) for each in (before, node))
    plain = type(first) in (nn.Conv1d, nn.Conv2d, nn.Conv3d) and type(second) in (
        nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d,
    )  # fmt: skip
    if not plain or second.running_mean is None or len(before.users) > 1:
        return False
    hooks = [h for part in (first, second) for h in (part._forward_hooks, part._forward_pre_hooks)]
    once = all(sum(n.target == each.target for n in traced.graph.nodes) == 1 for each in (before, node))
    return once and not any(hooks) and not before.kwargs and not node.kwargs
