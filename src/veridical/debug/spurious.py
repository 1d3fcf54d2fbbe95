"""Does the explanation show a shortcut that was planted?"""

from __future__ import annotations

from veridical.debug.records import Rng, Subject
from veridical.errors import NotApplicable
from veridical.records import Method, Verdict


def spurious(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the explanation show a shortcut that was planted?"""
    raise NotApplicable("the check spurious is not there yet")
