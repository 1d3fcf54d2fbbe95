"""What is done to instances of the stand-ins, and who explains it: kinds of causes and methods, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import veridical as vd
from veridical.groundtruth import CAUSES
from veridical.groundtruth.attacks import Spectrum, Waveform
from veridical.methods.registry import METHODS
from veridical.methods.undo import small_changes

ALPHA = 1e4  # weight of the loss of Carlini and Wagner: the change need not be short, but within eps
STEPS = 300  # of Carlini and Wagner at most
LIME, KERNEL_SHAP = "LIME, mean fill", "KernelSHAP"


@dataclass(frozen=True)
class Sizes:
    """How large changes of a stand-in are, in units of its input, and how many samples LIME gets."""

    eps: float  # anywhere, by gradients
    eps_asked: float  # anywhere, by asking alone
    eps_part: float  # in one part
    n_samples: int = 8192
    sure: float = 0.995  # that a small change anywhere must make the wrong label: less does nothing in few parts
    changed: float = 0.7  # and a change in few parts; of a thousand classes, less is much


SIZES = {
    "digits": Sizes(0.5, 1.0, 1.5, sure=0.998),
    "voice": Sizes(0.5, 1.0, 1.5, 2048, sure=0.98),
    "tagger": Sizes(0.15, 0.3, 0.5, 1024, sure=0.99),
    "pictures": Sizes(0.05, 0.08, 0.2, sure=0.98),
    "photos": Sizes(0.012, 0.03, 0.06, 1024, sure=0.9, changed=0.15),
}

SMALL = ("CarliniWagner", "Pgd", "Pgd in one part", "Spsa", "Square", "Square in one part")
CONTENT = ("noise in one part", "noise in three", "a shape in one part", "a shape in three", "one part swapped",
           "three parts swapped")  # fmt: skip
DOMAINS = ("CarliniWagner, waveform", "CarliniWagner, magnitudes")  # of recordings alone
SWAPPED = ("one part swapped", "three parts swapped")
CONFINED = ("Pgd in one part", "Square in one part", *CONTENT)  # to parts that are known
KINDS = (*SMALL, *CONTENT, *DOMAINS)


def kind(name: str, sizes: Sizes) -> Any:
    """The settings of a kind of cause."""
    everywhere = {"eps": sizes.eps, "confidence": sizes.sure}
    by_asking = {"eps": sizes.eps_asked, "confidence": sizes.sure}
    in_one = {"eps": sizes.eps_part, "confidence": sizes.changed, "parts": 1}
    one, three = ({"k": k, "confidence": sizes.changed} for k in (1, 3))
    cause, more = {
        "CarliniWagner": ("carlini_wagner", {"n_steps": STEPS, "alpha": ALPHA} | everywhere),
        "CarliniWagner, waveform": ("carlini_wagner", {"domain": Waveform(), "confidence": sizes.sure}),
        "CarliniWagner, magnitudes": ("carlini_wagner", {"domain": Spectrum(), "confidence": sizes.sure}),
        "Pgd": ("pgd", everywhere),
        "Pgd in one part": ("pgd", in_one),
        "Spsa": ("spsa", by_asking),
        "Square": ("square", by_asking),
        "Square in one part": ("square", in_one),
        "noise in one part": ("noisy_parts", one),
        "noise in three": ("noisy_parts", three),
        "a shape in one part": ("drawn_shape", one),
        "a shape in three": ("drawn_shape", three),
        "one part swapped": ("swapped_parts", one),
        "three parts swapped": ("swapped_parts", three),
    }[name]
    return CAUSES[cause](**more)


def methods(sizes: Sizes) -> dict[str, Any]:
    """Every explainer, by the name that tables have."""
    own = {
        "ours, change": small_changes(),
        "ours, content": vd.methods.Undo(),
        "ours, either": vd.methods.Either(),
    }
    return {
        LIME: vd.Lime(n_samples=sizes.n_samples, surrogate=vd.surrogates.Linear()),
        KERNEL_SHAP: vd.KernelShap(),
        "Occlusion, mean fill": vd.Occlusion(),
        **own,
        "Sensitivity": vd.Sensitivity(),
        "Counterfactual": METHODS["counterfactual"](),
        "Gradient": vd.gradients.Gradient(),
        "IntegratedGradients": vd.gradients.IntegratedGradients(),
        "SmoothGrad": vd.gradients.SmoothGrad(),
    }
