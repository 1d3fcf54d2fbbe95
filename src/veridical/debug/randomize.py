"""Does the explanation change when the model is broken?

Adebayo et al. 2018 and 2020: an explanation that is the same for a model that knows nothing does not explain the
model.
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.attribute.network import Network
from veridical.debug.broken import Twin, Words, compared
from veridical.debug.cascade import Depths, layer_twins
from veridical.debug.cases import Cases, cases, is_cheap
from veridical.debug.records import Rng, Subject
from veridical.debug.twins import twins
from veridical.masks import child_of
from veridical.records import Method, Verdict

N_TWINS = 3  # of each kind
TWINS = 3  # what the seed is for
WORDS = Words(
    "Explanations change when the model is broken",
    "Explanations hardly notice that the model is broken, so they are not about what it learned",
)


def randomize(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Compare explanations with those of broken twins of the model: none may be much like them."""
    some = cases(method, subject, rng)
    return compared(some, _twins(some), WORDS)


def _twins(some: Cases) -> Iterator[Twin]:
    """Broken twins: of a network, layer by layer; of any other model, by what it is trained on or shown."""
    subject, seed = some.subject, child_of(some.seed, TWINS)
    if not isinstance(subject.model.predict, Network):
        return twins(subject, seed, N_TWINS)
    cheap = is_cheap(some.method, subject.represent.each(subject.X))
    return layer_twins(subject, Depths() if cheap else Depths(2, 0), seed, N_TWINS if cheap else 2)
