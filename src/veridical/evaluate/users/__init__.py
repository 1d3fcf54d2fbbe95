"""Simulated users: what explanations let someone do who knows something that the model does not."""

from veridical.evaluate.users.choose import Choice, Chooser, Crosses, Reading, choose, contains, flips
from veridical.evaluate.users.trust import Doubts, Finds, Subtracts, Trust, doubts

__all__ = [
    "Choice",
    "Chooser",
    "Crosses",
    "Doubts",
    "Finds",
    "Reading",
    "Subtracts",
    "Trust",
    "choose",
    "contains",
    "doubts",
    "flips",
]
