"""What we estimate is what the lime package estimates: its own mean over many seeds, as recorded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import veridical as vd
from parity_model import ROW, score

RECORDED = json.loads((Path(__file__).parent / "parity.json").read_text())


@pytest.mark.parametrize("kind", ["discretized", "continuous"])
def test_weights_are_the_mean_of_the_lime_package(kind: str) -> None:
    X = load_wine().data
    n = 2**16
    rows = vd.Rows(X, discretize=vd.Quartiles() if kind == "discretized" else vd.Continuous())
    surrogate = vd.Linear(ridge=n / RECORDED["samples"])  # the package's ridge of 1 is against 5,000 samples
    why = vd.explain(score, rows, X[ROW], method=vd.Lime(n_samples=n, max_calls=n + 1, surrogate=surrogate))
    mean, error = np.array(RECORDED[kind]["mean"]), np.array(RECORDED[kind]["error"])
    ours = np.append(why.weights, why.intercept)
    # 14 numbers, each within 4 standard errors of the recorded mean (chance of a false alarm 1 in 1,000)
    np.testing.assert_array_less(np.abs(ours - mean), 4 * error + 1e-4)
    assert np.abs(mean[:-1]).max() > 50 * error.max()  # the comparison has teeth


def test_the_package_preset_keeps_the_parts_that_lime_keeps() -> None:
    X = load_wine().data
    why = vd.explain(score, vd.Rows(X), X[ROW], method=vd.Lime.package(n_features=3))
    mean = np.array(RECORDED["discretized"]["mean"][:-1])
    assert set(np.flatnonzero(why.weights)) == set(np.argsort(-np.abs(mean))[:3])
