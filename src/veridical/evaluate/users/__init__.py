"""Simulated users: what explanations let someone do who knows something that the model does not."""

from veridical.evaluate.users.choose import Choice, Chooser, Crosses, Reading, choose, contains, flips
from veridical.evaluate.users.retrain import (
    Cleaning,
    RandomColumns,
    RandomShown,
    Round,
    Rule,
    Seen,
    Study,
    clean,
    curve,
)
from veridical.evaluate.users.trust import Doubts, Finds, Subtracts, Trust, doubts

__all__ = [
    "Choice",
    "Chooser",
    "Cleaning",
    "Crosses",
    "Doubts",
    "Finds",
    "RandomColumns",
    "RandomShown",
    "Reading",
    "Round",
    "Rule",
    "Seen",
    "Study",
    "Subtracts",
    "Trust",
    "choose",
    "clean",
    "contains",
    "curve",
    "doubts",
    "flips",
]
