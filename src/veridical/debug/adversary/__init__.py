"""Causes of wrong decisions that are known, because they were made on purpose."""

from veridical.debug.adversary.contents import DrawnShape, NoisyParts, SwappedParts
from veridical.debug.adversary.gradient import CarliniWagner, Pgd
from veridical.debug.adversary.records import Kind
from veridical.debug.adversary.search import Spsa, Square
from veridical.debug.adversary.swaps import EditedColumns, SwappedWords

CAUSES: dict[str, type[Kind]] = {
    "carlini_wagner": CarliniWagner,
    "drawn_shape": DrawnShape,
    "edited_columns": EditedColumns,
    "noisy_parts": NoisyParts,
    "pgd": Pgd,
    "spsa": Spsa,
    "square": Square,
    "swapped_parts": SwappedParts,
    "swapped_words": SwappedWords,
}
