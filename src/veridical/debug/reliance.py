"""Does the model rely on what it must not?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def reliance(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model rely on what it must not?"""
    raise NotApplicable("the check reliance is not there yet")
