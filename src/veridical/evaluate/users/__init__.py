"""Simulated users: what explanations let someone do who knows something that the model does not."""

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

__all__ = [
    "Cleaning",
    "RandomColumns",
    "RandomShown",
    "Round",
    "Rule",
    "Seen",
    "Study",
    "clean",
    "curve",
]
