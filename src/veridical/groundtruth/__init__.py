"""Ground truth: causes of wrong decisions that are known, because they were made on purpose."""

from veridical.groundtruth.attacks import CarliniWagner, Pgd, Spsa, Square
from veridical.groundtruth.causes import Cause, CauseKind
from veridical.groundtruth.edits import DrawnShape, EditedColumns, NoisyParts, SwappedParts, SwappedWords

__all__ = ["CAUSES", "Cause"]

CAUSES: dict[str, type[CauseKind]] = {
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
