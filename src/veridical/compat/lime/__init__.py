"""The interface of the lime package (0.2.0.1) on veridical's engine, written from what lime does.

All of lime's submodules are here under their own names: ``veridical.compat.lime.lime_tabular`` and the others. Code
runs unchanged; explanations also have ``exp.veridical``, our own with intervals and a verdict.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy

__version__ = "0.2.0.1"  # of lime's interface

_EXPLANATIONS, _EXPLAINERS = "veridical.compat.lime.explanations", "veridical.compat.lime.explainers"
_LOCAL_MODELS = "veridical.compat.lime.local_models"
_DISCRETIZERS = (
    "BaseDiscretizer",
    "DecileDiscretizer",
    "EntropyDiscretizer",
    "QuartileDiscretizer",
    "StatsDiscretizer",
)

# lime's submodules: what each has, and the module of ours that defines it.
SUBMODULES: dict[str, dict[str, tuple[str, ...]]] = {
    "exceptions": {_EXPLANATIONS: ("LimeError",)},
    "explanation": {_EXPLANATIONS: ("DomainMapper", "Explanation", "LimeError", "id_generator")},
    "discretize": {_LOCAL_MODELS: _DISCRETIZERS},
    "lime_base": {_LOCAL_MODELS: ("LimeBase",)},
    "lime_tabular": {
        _EXPLAINERS: ("LimeTabularExplainer", "RecurrentTabularExplainer"),
        _EXPLANATIONS: ("TableDomainMapper",),
        _LOCAL_MODELS: _DISCRETIZERS,
    },
    "lime_text": {
        _EXPLAINERS: ("LimeTextExplainer",),
        _EXPLANATIONS: ("IndexedCharacters", "IndexedString", "TextDomainMapper"),
    },
    "lime_image": {
        _EXPLAINERS: ("LimeImageExplainer",),
        _EXPLANATIONS: ("ImageExplanation",),
        _LOCAL_MODELS: ("SegmentationAlgorithm",),
    },
    "submodular_pick": {_EXPLAINERS: ("SubmodularPick",)},
    "utils": {},
    "utils.generic_utils": {_LOCAL_MODELS: ("has_arg",)},
    "wrappers": {},
    "wrappers.scikit_image": {_LOCAL_MODELS: ("BaseWrapper", "SegmentationAlgorithm", "has_arg")},
}


def _build(name: str) -> Any:
    """One of lime's submodules, with references to the others where lime has them."""
    full = f"{__name__}.{name}"
    module = ModuleType(full, f"What lime has in lime.{name}.")
    module.__spec__ = ModuleSpec(full, None, is_package=not SUBMODULES[name])
    module.__package__ = full if not SUBMODULES[name] else full.rpartition(".")[0]
    if not SUBMODULES[name]:
        module.__path__ = []
    for home, names in SUBMODULES[name].items():
        vars(module).update({each: getattr(import_module(home), each) for each in names})
    sys.modules[full] = module
    parent, _, own = full.rpartition(".")
    setattr(sys.modules[parent], own, module)
    return module


for _name in SUBMODULES:
    _build(_name).np = numpy  # which functions of lime's that dill saved look for
for _name in ("lime_tabular", "lime_text", "lime_image"):  # where lime reaches them, too
    for _used in ("explanation", "lime_base"):
        setattr(sys.modules[f"{__name__}.{_name}"], _used, sys.modules[f"{__name__}.{_used}"])
