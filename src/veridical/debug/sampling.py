"""How far from real instances did the explanation ask the model?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def sampling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """How far from real instances did the explanation ask the model?"""
    raise NotApplicable("the check sampling is not there yet")
