"""From many to few: picks and groups."""

from __future__ import annotations

from veridical import api, picks
from veridical.cli.explain import many
from veridical.cli.given import check_heard, given_by, track_of
from veridical.cli.names import settings_of, with_samples
from veridical.cli.show import check_outs, put
from veridical.errors import InputError
from veridical.summarize import GROUPINGS
from veridical.summarize.records import Grouping, Pick
from veridical_command import asked


def pick(given: asked.Pick) -> int:
    """Pick a few explanations, saved ones or of a model and its data."""
    check_outs(given, Pick)
    first, *data = given.source
    if not data:
        check_heard(given, "target budget k rng", "saved explanations, of which some are picked")
    source = many(given, given_by(given, first, data)) if data else first
    target = None if data else given.target  # one for all that were made for it
    put(picks.pick(source, given.budget, target=target, k=given.k, rng=given.rng), given)
    return 0


def group(given: asked.Group) -> int:
    """Explain the whole model by a few groups."""
    check_outs(given, Grouping)
    method = with_samples(settings_of(given.method or "mixture", GROUPINGS, "grouping method"), given.samples)
    about = given_by(given, given.model, given.data)
    found = api.group(
        about.predict,
        about.represent,
        about.X,
        k=numbers_of(given.k),
        n_features=given.features,
        target=about.target,
        method=method,
        classes=about.classes,
        rng=given.rng,
        track=track_of(given, "calls"),
    )
    put(found, given)
    return 0


def numbers_of(text: str) -> list[int]:
    """4, or 2:8, which is 2 to 8."""
    ends = text.split(":")
    if len(ends) > 2 or not all(end.isdecimal() and int(end) for end in ends):
        raise InputError(f"--k wants a number of groups, such as 4, or the least and the most, 2:8, not {text!r}")
    return list(range(int(ends[0]), int(ends[-1]) + 1))
