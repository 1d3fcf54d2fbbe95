"""What a problem is: an instance, a model, how it is represented, and what its weights should be.

A family of problems is a module with ``names`` and ``load``; every measurement takes any of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import veridical as vd
from laws import Floats
from limits import Limits

Predict = Callable[[Any], Floats]

FAMILIES = ("tables", "text", "images", "networks")
MODULES = {"tables": "tabular", "text": "text", "images": "images", "networks": "networks"}


class Package(Protocol):
    """The package that we are compared with, on one problem."""

    name: str  # "lime" or "captum"
    default: int  # samples that it draws unless told

    def weights(self, row: int, n_samples: int, seed: int) -> Floats:
        """The weight of every part: no selection, all features."""
        ...

    def timed(self, n_samples: int, n_features: int) -> Callable[[int, Predict], None]:
        """A function that explains row i of a model, with everything prepared that can be."""
        ...


class Problem(Protocol):
    """What is explained. The first of the held-out rows is the instance."""

    name: str
    predict: Predict

    @property
    def instance(self) -> Any: ...

    def row(self, i: int) -> Any: ...

    def target(self, i: int) -> int:
        """The class that is explained: the one predicted for row i."""
        ...

    def represent(self) -> Any: ...

    def order(self, i: int, why: vd.Explanation) -> list[int]:
        """Where the limit's parts of row i are among the explanation's."""
        ...

    def limits(self, n_rows: int, samples: int) -> Limits: ...

    def fingerprint(self, n_rows: int) -> bytes:
        """Changes whenever the data or the model do."""
        ...

    def package(self) -> Package: ...


class MaskProblem(Problem, Protocol):
    """A problem whose samples keep some parts and lose the others."""

    def n_parts(self, i: int) -> int: ...

    def law(self, d: int) -> Floats:
        """Probability (d + 1,) that so many parts are kept, the kernel included."""
        ...

    def inputs(self, i: int, kept: Floats) -> Any:
        """What the model is asked for these masks, made the plain way."""
        ...


def names(family: str, data: Path | None, quick: bool = False) -> list[str]:
    """The problems of a family; says which are left out without --data."""
    found: list[str] = import_module(MODULES[family]).names(data, quick)
    return found


def load(family: str, name: str, data: Path | None = None) -> Any:
    """A problem by its name, its model fitted."""
    return import_module(MODULES[family]).load(name, data)


def result(benchmark: str, family: str) -> str:
    """The name under which the results of a family are kept; tables came first."""
    return benchmark if family == "tables" else f"{benchmark}-{family}"


def choose_families(parser: argparse.ArgumentParser, families: Sequence[str] = FAMILIES) -> None:
    parser.add_argument(
        "--on", nargs="+", choices=families, default=list(families), help="kinds of problems; all by default"
    )
