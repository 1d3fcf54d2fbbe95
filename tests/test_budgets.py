"""How much code one explanation runs through: a reader has to follow it, so it may fall and not rise."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import explanations as made

SOURCE = str(Path(vd.__file__).parent)
X = np.random.default_rng(0).normal(size=(300, 6))
PICTURE = np.random.default_rng(0).random((32, 32, 3))
TEXT = "a good film with a bad end and some fine actors in it, all in all"


def entered(run: Callable[[], Any]) -> set[tuple[str, int]]:
    """The functions of the library, by file and line, that are entered when this runs for the second time."""
    run()
    found: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE) and not code.co_name.startswith("<"):
            found.add((code.co_filename, code.co_firstlineno))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def sigmoid(rows: Any) -> Any:
    return 1 / (1 + np.exp(-(rows[:, 0] + 2 * rows[:, 1] * rows[:, -1])))


def tone(texts: list[str]) -> list[float]:
    return [("good" in text) - 0.5 * ("bad" in text) for text in texts]


def brightness(pictures: Any) -> Any:
    return np.square(pictures).mean(axis=(1, 2, 3)) ** 2  # which a mean color in place of a region changes


ROWS, WORDS, GRID = vd.Rows(X), vd.Words(), vd.Grid(4, 4)
LINEAR, ADDITIVE = (vd.Lime(surrogate=made()) for made in (vd.surrogates.Linear, vd.surrogates.Additive))
CASES: dict[str, tuple[Callable[[], Any], int, int]] = {  # with the most functions, and files
    "row": (lambda: vd.explain(sigmoid, ROWS, X[3], method=LINEAR), 107, 21),  # 80 in 14 are the aim
    "row by curves": (lambda: vd.explain(sigmoid, ROWS, X[3], method=ADDITIVE), 157, 23),
    "text": (lambda: vd.explain(tone, WORDS, TEXT, method=LINEAR), 118, 21),  # 90 in 16 are the aim
    "text by curves": (lambda: vd.explain(tone, WORDS, TEXT, method=ADDITIVE), 132, 21),
    "picture": (lambda: vd.explain(brightness, GRID, PICTURE, method=LINEAR), 142, 23),
    "picture by curves": (lambda: vd.explain(brightness, GRID, PICTURE, method=ADDITIVE), 159, 23),
    "audit": (lambda: vd.audit(sigmoid, ROWS, X[:60], checks=["sampling"]), 239, 35),  # 140 in 24 are the aim
}


SAVED = {  # explanations of a row with all that one may have, of a text and of a picture; the most functions, and files
    "row": (made.unmeasured(), 82, 12),
    "text": (vd.explain(tone, WORDS, TEXT), 107, 14),
    "picture": (vd.explain(brightness, GRID, PICTURE), 134, 16),
}


@pytest.mark.parametrize("case", SAVED)
def test_a_page_runs_through_few_functions(case: str, tmp_path: Path) -> None:
    e, most_functions, most_files = SAVED[case]
    found = entered(lambda: e.save(tmp_path / "x.html"))
    assert 0 < len(found) <= most_functions
    assert len({file for file, _ in found}) <= most_files


@pytest.mark.parametrize("case", CASES)
def test_an_explanation_runs_through_few_functions(case: str) -> None:
    run, most_functions, most_files = CASES[case]
    found = entered(run)
    assert 0 < len(found) <= most_functions
    assert len({file for file, _ in found}) <= most_files


def test_a_detour_is_counted() -> None:
    rows = vd.Rows(X)
    direct = entered(lambda: rows(X[0]))
    assert len(entered(lambda: (rows(X[0]), vd.TopK()))) > len(direct)
