"""Which training rows have a wrong label?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def labels(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Which training rows have a wrong label?"""
    raise NotApplicable("the check labels is not there yet")
