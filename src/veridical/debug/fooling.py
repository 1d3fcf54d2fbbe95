"""Does the model behave differently on perturbed inputs than on real ones?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def fooling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model behave differently on perturbed inputs than on real ones?"""
    raise NotApplicable("the check fooling is not there yet")
