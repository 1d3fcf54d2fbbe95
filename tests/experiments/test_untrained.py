"""Untrained networks made anew from the top: which maps notice is a property of the backward rule alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
if EXPERIMENTS not in sys.path:
    sys.path.insert(0, EXPERIMENTS)

import untrained  # noqa: E402 - it stands beside the package
from sections.untrained import FIRST, near, tables  # noqa: E402

torch.set_num_threads(1)


@pytest.mark.parametrize("name", untrained.METHODS)
def test_the_table_of_untrained_networks(name: str) -> None:
    found = np.array([untrained.cascade(untrained.METHODS[name], seed, pictures=2) for seed in range(6)])
    np.testing.assert_allclose(found[:, 0], 1.0)
    assert [method for method in FIRST if near(found[:, 1:], method).all()] == [name]


def test_a_method_that_does_not_fit_is_said() -> None:
    cells = [
        {"method": method, "seed": seed, "pictures": 1, "steps": [[0.5, 0.5 + 0.01 * seed]] * 5}
        for method in FIRST
        for seed in range(3)
    ]
    assert tables(cells).count("**no**") == len(FIRST)
