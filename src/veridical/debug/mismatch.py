"""Do explanations show that instances were prepared wrongly?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def mismatch(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Do explanations show that instances were prepared wrongly?"""
    raise NotApplicable("the check mismatch is not there yet")
