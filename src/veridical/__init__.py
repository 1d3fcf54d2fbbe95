"""Explain any model's predictions, and say with evidence how far each explanation can be believed."""

from veridical.api import explain, explain_many, group, rerun
from veridical.attribute.chance import RandomParts
from veridical.attribute.choose import forward_selection, highest_weights, lasso_path
from veridical.attribute.counterfactual import Counterfactual
from veridical.attribute.either import Either
from veridical.attribute.evidence import TopK
from veridical.attribute.factory import Factory
from veridical.attribute.gradients import Gradient, InputXGradient, SmoothGrad, SmoothGradSquared, VarGrad
from veridical.attribute.greedy import Greedy
from veridical.attribute.lime import Lime
from veridical.attribute.linear import Linear
from veridical.attribute.maps import Maps
from veridical.attribute.network import Network
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
from veridical.belief import believe
from veridical.debug.adversary.contents import DrawnShape, NoisyParts, SwappedParts
from veridical.debug.adversary.domains import Spectrum, Waveform
from veridical.debug.adversary.gradient import CarliniWagner, Pgd
from veridical.debug.adversary.records import Cause
from veridical.debug.adversary.search import Spsa, Square
from veridical.debug.adversary.swaps import EditedColumns, SwappedWords
from veridical.debug.audit import Audit, Result
from veridical.debug.concepts import Concept, tcav
from veridical.debug.plant import Background, Column, Patch, Tone, Word
from veridical.debug.records import Subject
from veridical.debug.spurious import Spurious
from veridical.differences import compare
from veridical.errors import InputError, MissingPackage, ModelError, NotApplicable, VeridicalError
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Comparison, Curve, Example, Metric, Report, Score, Trial
from veridical.known import causes
from veridical.masks import Gaussian
from veridical.pages import Page
from veridical.picks import pick, pick_at_random, pick_for_two
from veridical.records import VERSION as __version__
from veridical.records import Explanation, Explanations, Measured, Neighborhood, Part, Verdict
from veridical.reports import audit, debug, evaluate, veracity
from veridical.represent.discretize import Continuous, Deciles, Edges, Entropy, Quantiles, Quartiles
from veridical.represent.fields import Fields
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
from veridical.represent.mel import Mel
from veridical.represent.pictures import Grid, Superpixels
from veridical.represent.rows import Rows
from veridical.represent.segment import Felzenszwalb, Quickshift, Slic
from veridical.represent.series import Bands, ChangePoints, Windows
from veridical.represent.sounds import Slices, Stems, Tiles
from veridical.represent.tokens import Tokens
from veridical.represent.words import Sentences, Words
from veridical.scale import engines
from veridical.scale.stores.store import Store
from veridical.serialize import load
from veridical.summarize.baselines import ClusterThenExplain, ExplainThenCluster, GlobalLinear, ModelTree, PickLime
from veridical.summarize.concepts import Concepts
from veridical.summarize.gime import Gime
from veridical.summarize.local import Around
from veridical.summarize.mame import Mame
from veridical.summarize.maple import Maple
from veridical.summarize.mixture import Mixture
from veridical.summarize.records import Grouping, Membership, Pick, Region

__all__ = [
    "Around",
    "Audit",
    "Background",
    "Bands",
    "Blur",
    "CarliniWagner",
    "Cause",
    "ChangePoints",
    "ClusterThenExplain",
    "Column",
    "Comparison",
    "Concept",
    "Concepts",
    "Constant",
    "Continuous",
    "Counterfactual",
    "Curve",
    "Deciles",
    "DeconvNet",
    "Difference",
    "DrawnShape",
    "Edges",
    "EditedColumns",
    "Either",
    "Entropy",
    "Example",
    "ExpectedGradients",
    "ExplainThenCluster",
    "Explanation",
    "Explanations",
    "Factory",
    "Fallback",
    "Felzenszwalb",
    "Fields",
    "Gaussian",
    "Gime",
    "GlobalLinear",
    "Gradient",
    "Greedy",
    "Grid",
    "Grouping",
    "GuidedBackprop",
    "Inpaint",
    "InputError",
    "InputXGradient",
    "IntegratedGradients",
    "Interpolate",
    "KernelShap",
    "Least",
    "Lime",
    "Linear",
    "LowRank",
    "LrpEpsilon",
    "LrpPresetAFlat",
    "Mame",
    "Maple",
    "Maps",
    "Measured",
    "Mel",
    "Membership",
    "Metric",
    "MissingPackage",
    "Mixture",
    "ModelError",
    "ModelTree",
    "Neighborhood",
    "Network",
    "Noise",
    "NoisyParts",
    "NotApplicable",
    "Occlusion",
    "Page",
    "Part",
    "PartMean",
    "Parzen",
    "Patch",
    "PatternAttribution",
    "PatternNet",
    "Pgd",
    "Pick",
    "PickLime",
    "Quantiles",
    "Quartiles",
    "Quickshift",
    "RandomParts",
    "Region",
    "Report",
    "Result",
    "Rows",
    "Score",
    "Sensitivity",
    "Sentences",
    "Slic",
    "Slices",
    "SmoothGrad",
    "SmoothGradSquared",
    "Spectrum",
    "Spsa",
    "Spurious",
    "Square",
    "Stems",
    "Store",
    "Subject",
    "Superpixels",
    "SwappedParts",
    "SwappedWords",
    "Tiles",
    "Tokens",
    "Tone",
    "TopK",
    "Tree",
    "Trial",
    "Undo",
    "VarGrad",
    "Verdict",
    "VeridicalError",
    "Waveform",
    "WholeMean",
    "Windows",
    "Word",
    "Words",
    "__version__",
    "audit",
    "believe",
    "causes",
    "compare",
    "debug",
    "engines",
    "evaluate",
    "explain",
    "explain_many",
    "forward_selection",
    "group",
    "highest_weights",
    "lasso_path",
    "load",
    "pick",
    "pick_at_random",
    "pick_for_two",
    "rerun",
    "tcav",
    "veracity",
]
