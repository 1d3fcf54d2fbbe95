"""What can be asked of the parts of an instance, and the method that answers it best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veridical.attribute.either import Either, small_changes
from veridical.attribute.undo import Undo
from veridical.errors import InputError
from veridical.records import Method


@dataclass(frozen=True)
class Purpose:
    """A question about parts, and settings of the method that answers it best in tests with a known truth."""

    question: str  # as in "asked: …"
    method: Method


PURPOSES: dict[str, Purpose] = {
    "change": Purpose("where a small change would act", small_changes()),
    "content": Purpose("what the content of each part contributes", Undo()),
    "either": Purpose("which part did it, by its content or by a small change in it", Either()),
}


def question_of(purpose: str) -> str:
    """What was asked, in words; a purpose of the caller's own says it itself."""
    return PURPOSES[purpose].question if purpose in PURPOSES else purpose


def method_for(purpose: Any) -> Method:
    """The method for a purpose, or an error that lists them."""
    if not isinstance(purpose, str) or purpose not in PURPOSES:
        known = ", ".join(f'"{name}" ({each.question})' for name, each in PURPOSES.items())
        raise InputError(f"purpose is one of {known}, not {purpose!r}")
    return PURPOSES[purpose].method
