"""Two explanations side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veridical import differences
from veridical.cli.explain import check_row, explained
from veridical.cli.given import given_by
from veridical.cli.names import words
from veridical.cli.show import check_outs, put
from veridical.errors import InputError
from veridical.evaluate.differences import Difference
from veridical_command import asked


def compare(given: asked.Compare) -> int:
    """Hold two explanations side by side: saved ones, or those of two models."""
    check_row(given)
    check_outs(given, Difference)
    found = differences.compare(*_two(given), names=_names(given))
    put(found, given)
    return int(given.fail and not found.verdict.passed)


def _two(given: asked.Compare) -> Any:
    """The two, or where they are saved; those of models are drawn with seeds of their own."""
    models = (given.first, given.second)
    if not given.data:
        return models
    return tuple(
        explained(replace(given, rng=given.rng + i), given_by(given, model, given.data))
        for i, model in enumerate(models)
    )


def _names(given: asked.Compare) -> list[str]:
    """What the two are called: as asked, or as they were named in the command."""
    names = words(given.names) or [given.first, given.second]
    if len(names) != 2:
        raise InputError(f"--names wants two names, such as before,after, not {given.names!r}")
    return names
