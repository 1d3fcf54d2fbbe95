"""Does the explanation change when the model is broken?

Adebayo et al. 2018 and 2020: an explanation that is the same for a model that knows nothing does not explain the
model.
"""

from __future__ import annotations

from collections.abc import Iterator

from veridical.attribute.network import Network
from veridical.debug.broken import Twin, Words, compared
from veridical.debug.cascade import Depths, layer_twins
from veridical.debug.cases import Cases, cases, most_of
from veridical.debug.records import DEAR, MOST, Rng, Subject
from veridical.debug.twins import twins
from veridical.masks import child_of
from veridical.records import Method, Verdict

N_TWINS = 5  # of each kind
OF_NETWORKS, FEWER = 3, 2  # broken networks, and where explanations of them cost much
TWINS = 3  # what the seed is for
WORDS = Words(
    "Explanations change when the model is broken",
    "Explanations hardly notice that the model is broken, so they are not about what it learned",
    "It is not clear whether explanations change enough when the model is broken",
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
    most = most_of(some.method, subject.represent.each(subject.X))
    depths = Depths() if most == MOST else Depths(3, 0) if most == DEAR else Depths(2, 0)
    return layer_twins(subject, depths, seed, OF_NETWORKS if most == MOST else FEWER)
