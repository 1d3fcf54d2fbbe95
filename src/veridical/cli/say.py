"""What commands say beside what they found: notes, errors, what was written."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable

from veridical.errors import LONGEST, tame
from veridical_command import asked

LONG = 100_000  # characters of a trace


def say(text: str, longest: int = LONGEST) -> None:
    """Lines on stderr, which foreign names in them cannot steer."""
    print(tame(text, longest), file=sys.stderr)


def tell(shown: asked.Shown, notes: Iterable[str]) -> None:
    """What a reader should know, unless it is to be quiet."""
    if not shown.quiet:
        for note in dict.fromkeys(notes):
            say(f"note: {note}")


def trace(cause: BaseException) -> None:
    """Where something was raised."""
    say("".join(traceback.format_exception(cause)).rstrip(), LONG)
