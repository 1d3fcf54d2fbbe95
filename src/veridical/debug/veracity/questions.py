"""What is asked of an order of parts where the cause is known: the four tests, and what else tells them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.records import Metric

FLIPS = (1, 3, 5)  # how many parts are looked at
RATIOS = (3, 5)
CONTROLS = 10  # instances of a kind of cause that are explained again, for controls
SIGNALS = ("believability", "fidelity", "sureness", "margin")


@dataclass(frozen=True)
class Test:
    """A number that an order of parts gets on an instance, or that a row gets over all of them."""

    name: str
    sentence: str
    better: str = "higher"
    tells: bool = False  # about what tells a right explanation from a wrong one, not whether it is right
    compared: bool = True  # whether rows are compared by it
    least: float = 0.0
    most: float = 1.0

    def metric(self, cause: str) -> Metric:
        """The test on one kind of cause."""
        return Metric(
            named(self.name, cause), _measured_elsewhere, self.better, family(cause, self.tells), self.sentence,
            self.least, self.most,
        )  # fmt: skip


def named(test: str, cause: str) -> str:
    """What a test on a kind of cause is called."""
    return f"{test} ({cause})"


def family(cause: str, tells: bool) -> str:
    """The table that it stands in."""
    return f"{cause}: can one tell" if tells else cause


def _measured_elsewhere(trial: Any, rng: Any) -> float:
    """In the place of a metric's function: there is no trial without a cause."""
    raise InputError("this is a test on known causes: call vd.veracity")


def _heaviest(k: int) -> str:
    return "heaviest part" if k == 1 else f"{k} heaviest parts"


def _flips() -> list[Test]:
    found = [
        Test(
            f"flip@{k}",
            f"How often the change in the {_heaviest(k)} alone makes the decision the wrong one.",
        )
        for k in FLIPS
    ]
    mean = Test("mean flip", "The mean of flip@k over all k, from 1 to the number of parts.")
    ratios = [
        Test(
            f"ratio@{k}",
            f"flip@{k} over that of the order by size of the true change; the interval is a paired bootstrap.",
            compared=False,
            most=np.inf,
        )
        for k in RATIOS
    ]
    return [*found, mean, *ratios]


def _sets() -> list[Test]:
    return [
        Test("positive set", "How often the parts with positive weight are enough for the wrong decision."),
        Test("as many by norm", "The same for as many parts, those that were changed most.", compared=False),
    ]


def _necessity() -> list[Test]:
    return [
        Test(
            f"necessity@{k}",
            f"How often undoing the change in the {_heaviest(k)} takes the wrong decision back.",
        )
        for k in FLIPS
    ]


def _signals() -> list[Test]:
    told = {
        "believability": "what vd.believe says of the explanation",
        "fidelity": "held-out fidelity",
        "sureness": "the probability that the heaviest parts are the right ones, as the explanation has it,",
        "margin": "how far the heaviest part is above the next",
    }
    areas = [
        Test(
            f"{name} AUROC",
            f"The chance that {told[name]} is higher where the heaviest part is the guilty one than where it is "
            "not; 0.5 tells nothing.",
            tells=True,
            compared=False,
        )
        for name in SIGNALS
    ]
    own = Test("fidelity", "Held-out fidelity of the explanations.", tells=True, compared=False, least=-np.inf)
    return [*areas, own]


def _controls() -> list[Test]:
    return [
        Test(
            "clean control",
            "Rank correlation with the explanation of the instance before the change: 1 if it ignores the change.",
            "lower", tells=True, compared=False, least=-1.0,
        ),
        Test(
            "seed control",
            "Rank correlation of two explanations of the same instance that differ by their seed.",
            tells=True, compared=False, least=-1.0,
        ),
    ]  # fmt: skip


KNOWN = (  # of causes whose parts are known
    Test("hit@1", "How often the heaviest part is a guilty one."),
    Test("overlap", "The share of the guilty parts among as many heaviest ones."),
    Test("top 3", "How often all guilty parts are among the three heaviest, or the three are all guilty."),
)
ANYWHERE = (  # of causes that may be anywhere: the change is kept in the parts that have most of it
    Test(
        "hit@1",
        "The change is kept in the one part that has most of it, where that is enough: how often the heaviest "
        "part is that one.",
    ),
    *(
        Test(
            f"overlap@{k}",
            f"The change is kept in the {k} parts that have most of it, where that is enough: the share of them "
            f"among the {k} heaviest.",
        )
        for k in FLIPS[1:]
    ),
)


def tests_of(known: bool) -> tuple[Test, ...]:
    """All tests of a kind of cause, whose parts are known or not."""
    found = KNOWN if known else ANYWHERE
    return (*found, *_flips(), *_necessity(), *_sets(), *_signals(), *_controls())
