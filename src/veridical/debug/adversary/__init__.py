"""Causes of wrong decisions that are known, because they were made on purpose."""

from veridical.debug.adversary.contents import DrawnShape, NoisyParts, SwappedParts
from veridical.debug.adversary.gradient import CarliniWagner, Pgd
from veridical.debug.adversary.records import Kind
from veridical.debug.adversary.search import Spsa, Square

CAUSES: dict[str, type[Kind]] = {
    "carlini_wagner": CarliniWagner,
    "drawn_shape": DrawnShape,
    "noisy_parts": NoisyParts,
    "pgd": Pgd,
    "spsa": Spsa,
    "square": Square,
    "swapped_parts": SwappedParts,
}
