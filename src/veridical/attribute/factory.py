"""Models that every process makes for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from veridical.errors import InputError
from veridical.records import Predict


@dataclass(frozen=True)
class Factory:
    """A model that every process makes for itself: ``make()`` gives ``predict``, and is called once in each.

    It is for models that cannot be sent to other processes: ``vd.Factory(load_model)`` sends the function
    ``load_model`` instead, which reads the model from a file, say, and returns its ``predict_proba``.
    """

    make: Callable[[], Predict]

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise InputError(
                f"a factory wants a function without arguments that returns predict, not {self.make!r}"
            )
