"""Do explanations show that an instance is of another kind?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def shift(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Do explanations show that an instance is of another kind?"""
    raise NotApplicable("the check shift is not there yet")
