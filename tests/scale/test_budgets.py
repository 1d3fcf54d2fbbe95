"""How many functions and files a run into a store enters: what a reader of it must follow."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime

pytest.importorskip("pyarrow")

ROOT = str(Path(vd.__file__).parent)
ROOMS = ("scale", "storage")
MOST = {"": (237, 34), "own": (53, 9)}  # functions and files, of the whole library and of ROOMS; they only fall


def entered(call: Callable[[], Any]) -> set[tuple[str, str, int]]:
    """File, name and line of every function of veridical that is entered, lambdas and comprehensions aside."""
    found = set[tuple[str, str, int]]()

    def hear(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            found.add((code.co_filename[len(ROOT) + 1 :], code.co_name, code.co_firstlineno))

    sys.setprofile(hear)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_a_run_into_a_store_enters_few_functions(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 4))
    rows = vd.Rows(X)

    def run(name: str) -> Any:
        return vd.explain_many(
            lambda X: X[:, 0] - X[:, 1] * X[:, 2], rows, X, store=tmp_path / name, method=linear_lime()
        )

    run("first")  # what is learned once is known then
    found = entered(lambda: run("second"))
    own = {each for each in found if each[0].startswith(ROOMS)}
    for which, each in (("", found), ("own", own)):
        functions, files = MOST[which]
        names = sorted(f"{path}:{name}" for path, name, _ in each)
        assert len(each) <= functions, f"{len(each)} functions, and {functions} are the budget: {names}"
        assert len({path for path, *_ in each}) <= files, f"more than {files} files: {names}"
