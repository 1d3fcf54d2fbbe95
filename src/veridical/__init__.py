"""Explain any model's predictions, and say with evidence how far each explanation can be trusted."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical import checks as checks
    from veridical import comparisons as comparisons
    from veridical import compat as compat
    from veridical import errors as errors
    from veridical import groundtruth as groundtruth
    from veridical import methods as methods
    from veridical import metrics as metrics
    from veridical import networks as gradients  # noqa: F401
    from veridical import pages as pages
    from veridical import records as records
    from veridical import surrogates as surrogates
    from veridical import toys as toys
    from veridical.api import attributions as attributions
    from veridical.api import audit as audit
    from veridical.api import believe as believe
    from veridical.api import causes as causes
    from veridical.api import compare as compare
    from veridical.api import debug as debug
    from veridical.api import evaluate as evaluate
    from veridical.api import explain as explain
    from veridical.api import explain_many as explain_many
    from veridical.api import flips as flips
    from veridical.api import group as group
    from veridical.api import rerun as rerun
    from veridical.api import veracity as veracity
    from veridical.checks import concepts as concepts
    from veridical.checks import shortcuts as shortcuts
    from veridical.checks.concepts import tcav as tcav
    from veridical.checks.subjects import Subject as Subject
    from veridical.errors import VeridicalError as VeridicalError
    from veridical.evidence.verdicts import TopK as TopK
    from veridical.groundtruth import attacks as attacks
    from veridical.groundtruth import edits as edits
    from veridical.methods import baselines as baselines
    from veridical.methods.contrast import Contrast as Contrast
    from veridical.methods.lime import Lime as Lime
    from veridical.methods.occlusion import Occlusion as Occlusion
    from veridical.methods.sensitivity import Sensitivity as Sensitivity
    from veridical.methods.shapley import KernelShap as KernelShap
    from veridical.models.adapters import Factory as Factory
    from veridical.models.torch_modules import Network as Network
    from veridical.records import VERSION as __version__  # noqa: F401
    from veridical.records import Explanation as Explanation
    from veridical.records import Explanations as Explanations
    from veridical.records import Page as Page
    from veridical.records import Verdict as Verdict
    from veridical.representations import bins as bins
    from veridical.representations import fills as fills
    from veridical.representations import segmentation as segments  # noqa: F401
    from veridical.representations import sounds as sounds
    from veridical.representations.fields import Fields as Fields
    from veridical.representations.images import Grid as Grid
    from veridical.representations.images import Superpixels as Superpixels
    from veridical.representations.series import Bands as Bands
    from veridical.representations.series import Windows as Windows
    from veridical.representations.sounds import Slices as Slices
    from veridical.representations.sounds import Stems as Stems
    from veridical.representations.sounds import Tiles as Tiles
    from veridical.representations.tables.rows import Rows as Rows
    from veridical.representations.tokens import Tokens as Tokens
    from veridical.representations.words import Sentences as Sentences
    from veridical.representations.words import Words as Words
    from veridical.sampling import kernels as kernels
    from veridical.scale import engines as engines
    from veridical.scale import picks as picks
    from veridical.scale.picks import pick as pick
    from veridical.scale.stores.store import Store as Store
    from veridical.scale.stores.store import load as load
    from veridical.summaries import groupings as groupings
    from veridical.surrogates import selection as selectors  # noqa: F401

# Where public names are found when they are first used: functions and classes, then the namespaces of all others.
_HOMES = {
    "veridical.api": (
        "attributions",
        "audit",
        "believe",
        "causes",
        "compare",
        "debug",
        "evaluate",
        "explain",
        "explain_many",
        "flips",
        "group",
        "rerun",
        "veracity",
    ),
    "veridical.checks.concepts": ("tcav",),
    "veridical.checks.subjects": ("Subject",),
    "veridical.errors": ("VeridicalError",),
    "veridical.evidence.verdicts": ("TopK",),
    "veridical.methods.contrast": ("Contrast",),
    "veridical.methods.lime": ("Lime",),
    "veridical.methods.occlusion": ("Occlusion",),
    "veridical.methods.sensitivity": ("Sensitivity",),
    "veridical.methods.shapley": ("KernelShap",),
    "veridical.models.adapters": ("Factory",),
    "veridical.models.torch_modules": ("Network",),
    "veridical.records": ("Explanation", "Explanations", "Page", "Verdict"),
    "veridical.representations.fields": ("Fields",),
    "veridical.representations.images": ("Grid", "Superpixels"),
    "veridical.representations.series": ("Bands", "Windows"),
    "veridical.representations.sounds": ("Slices", "Stems", "Tiles"),
    "veridical.representations.tables.rows": ("Rows",),
    "veridical.representations.tokens": ("Tokens",),
    "veridical.representations.words": ("Sentences", "Words"),
    "veridical.scale.picks": ("pick",),
    "veridical.scale.stores.store": ("Store", "load"),
}
_NAMESPACES = {
    "attacks": "veridical.groundtruth.attacks",
    "baselines": "veridical.methods.baselines",
    "bins": "veridical.representations.bins",
    "checks": "veridical.checks",
    "comparisons": "veridical.comparisons",
    "compat": "veridical.compat",
    "concepts": "veridical.checks.concepts",
    "edits": "veridical.groundtruth.edits",
    "engines": "veridical.scale.engines",
    "errors": "veridical.errors",
    "fills": "veridical.representations.fills",
    "gradients": "veridical.networks",
    "groundtruth": "veridical.groundtruth",
    "groupings": "veridical.summaries.groupings",
    "kernels": "veridical.sampling.kernels",
    "methods": "veridical.methods",
    "metrics": "veridical.metrics",
    "pages": "veridical.pages",
    "picks": "veridical.scale.picks",
    "records": "veridical.records",
    "segments": "veridical.representations.segmentation",
    "selectors": "veridical.surrogates.selection",
    "shortcuts": "veridical.checks.shortcuts",
    "sounds": "veridical.representations.sounds",
    "surrogates": "veridical.surrogates",
    "toys": "veridical.toys",
}

_MODULES = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted([*_MODULES, *_NAMESPACES, "__version__"])

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _NAMESPACES:
            value = import_module(_NAMESPACES[name])
        elif name in _MODULES:
            value = getattr(import_module(_MODULES[name]), name)
        elif name == "__version__":
            value = import_module("veridical.records").VERSION
        else:
            raise AttributeError(f"module 'veridical' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return __all__
