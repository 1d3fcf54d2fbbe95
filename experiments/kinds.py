"""What is done to instances of the stand-ins, and who explains it: kinds of causes and methods, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import veridical as vd
from veridical.attribute.purposes import PURPOSES

SURE = 0.95  # what a small change must make the wrong label, at least
CHANGED = 0.7  # what other content must
STEPS = 40  # of attacks by gradients
TRIES = 600  # of attacks that only call predict
PAPER = 1000  # steps of Carlini and Wagner, as in the paper
LIME, KERNEL_SHAP = "LIME, mean fill", "KernelSHAP"


@dataclass(frozen=True)
class Sizes:
    """How large changes of a stand-in are, in units of its input, and how many samples LIME gets."""

    eps: float  # anywhere
    eps_part: float  # in one part
    n_samples: int = 8192


SIZES = {
    "digits": Sizes(0.5, 1.0),
    "voice": Sizes(0.5, 1.0),
    "tagger": Sizes(0.15, 0.5, 2048),
    "pictures": Sizes(0.03, 0.15),
    "photos": Sizes(0.012, 0.06, 1024),
}

SMALL = ("CarliniWagner", "Pgd", "Pgd in one part", "Spsa", "Square", "Square in one part")
CONTENT = ("noise in one part", "noise in three", "a shape in one part", "a shape in three", "one part swapped",
           "three parts swapped")  # fmt: skip
DOMAINS = ("CarliniWagner, waveform", "CarliniWagner, magnitudes")  # of recordings alone
KINDS = (*SMALL, *CONTENT, *DOMAINS)


def kind(name: str, sizes: Sizes) -> Any:
    """The settings of a kind of cause."""
    made = {
        "CarliniWagner": lambda: vd.CarliniWagner(eps=sizes.eps, n_steps=STEPS, confidence=SURE),
        "Pgd": lambda: vd.Pgd(eps=sizes.eps, n_steps=STEPS, confidence=SURE),
        "Pgd in one part": lambda: vd.Pgd(eps=sizes.eps_part, n_steps=STEPS, confidence=SURE, parts=1),
        "Spsa": lambda: vd.Spsa(eps=sizes.eps, n_steps=TRIES, confidence=SURE),
        "Square": lambda: vd.Square(eps=sizes.eps, n_steps=TRIES, confidence=SURE),
        "Square in one part": lambda: vd.Square(eps=sizes.eps_part, n_steps=TRIES, confidence=SURE, parts=1),
        "noise in one part": lambda: vd.NoisyParts(1, CHANGED),
        "noise in three": lambda: vd.NoisyParts(3, CHANGED),
        "a shape in one part": lambda: vd.DrawnShape(1, CHANGED),
        "a shape in three": lambda: vd.DrawnShape(3, CHANGED),
        "one part swapped": lambda: vd.SwappedParts(1, CHANGED),
        "three parts swapped": lambda: vd.SwappedParts(3, CHANGED),
    }
    return made[name]()


def methods(sizes: Sizes) -> dict[str, Any]:
    """Every explainer, by the name that tables have."""
    own = {f"ours, {name}": each.method for name, each in PURPOSES.items()}
    return {
        LIME: vd.Lime(n_samples=sizes.n_samples),
        KERNEL_SHAP: vd.KernelShap(),
        "Occlusion, mean fill": vd.Occlusion(),
        **own,
        "Sensitivity": vd.Sensitivity(),
        "Counterfactual": vd.Counterfactual(),
        "Gradient": vd.Gradient(),
        "IntegratedGradients": vd.IntegratedGradients(),
        "SmoothGrad": vd.SmoothGrad(),
    }
