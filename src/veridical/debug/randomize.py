"""Does the explanation change when the model is broken?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def randomize(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the explanation change when the model is broken?"""
    raise NotApplicable("the check randomize is not there yet")
