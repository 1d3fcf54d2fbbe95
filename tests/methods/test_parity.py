"""What we estimate is what lime, shap and captum estimate: their own numbers, or means over seeds, as recorded."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

import veridical as vd
from tests.builders.parity_model import ROW, levels, score
from veridical import toys

PEERS = json.loads((Path(__file__).parent / "parity_shapley.json").read_text())
RECORDED = json.loads((Path(__file__).parent / "parity.json").read_text())


@pytest.mark.parametrize("kind", ["discretized", "continuous"])
def test_weights_are_the_mean_of_the_lime_package(kind: str) -> None:
    X = load_wine().data
    n = 2**16
    rows = vd.Rows(X, discretize=vd.bins.Quartiles() if kind == "discretized" else vd.bins.Continuous())
    surrogate = vd.surrogates.Linear(
        ridge=n / RECORDED["samples"]
    )  # the package's ridge of 1 is against 5,000 samples
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


def against_the_mean(masks: Any) -> Any:
    """The wine model, with the mean row in place of what is taken away."""
    X = load_wine().data
    return score(np.where(np.asarray(masks) != 0, X[ROW], X.mean(axis=0)))


def test_all_masks_give_the_values_of_shap() -> None:
    why = vd.explain(against_the_mean, toys.Game(), 13, method=vd.KernelShap(n_samples=2**13))
    assert why.n_calls == 2**13
    *values, base = PEERS["baseline"]["shap"]
    np.testing.assert_allclose(why.weights, values, atol=1e-10)
    assert why.intercept == pytest.approx(base, abs=1e-12)


def test_samples_agree_with_shap_and_with_the_mean_of_captum() -> None:
    why = vd.explain(
        against_the_mean, toys.Game(), 13, method=vd.KernelShap(n_samples=PEERS["baseline"]["samples"])
    )
    truth, of_captum = np.array(PEERS["baseline"]["shap"][:-1]), PEERS["baseline"]["captum"]
    low, high = why.intervals.T
    assert ((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean() >= 0.8
    # 13 numbers, each within 4 standard errors of captum's mean over seeds
    mean, error = np.array(of_captum["mean"]), np.array(of_captum["error"])
    np.testing.assert_array_less(np.abs(why.weights - mean), 4 * error + (high - low) / 2 + 1e-4)
    assert np.abs(mean).max() > 50 * error.max()


def test_one_part_less_is_the_ablation_of_captum() -> None:
    why = vd.explain(against_the_mean, toys.Game(), 13, method=vd.Occlusion())
    np.testing.assert_allclose(why.weights, PEERS["baseline"]["ablation"], atol=1e-12)


def test_rows_give_the_values_of_shap_where_columns_are_independent() -> None:
    grid = np.array(list(product([0.0, 1.0, 2.0], repeat=4)))
    rows = vd.Rows(grid, categorical=[0, 1, 2, 3])
    why = vd.explain(levels, rows, [2.0, 0.0, 1.0, 2.0], method=vd.KernelShap(n_samples=2**15))
    *values, _ = PEERS["levels"]["shap"]
    error = np.diff(why.intervals, axis=1)[:, 0] / (2 * 1.96)
    np.testing.assert_array_less(np.abs(why.weights - values), 4 * error)
    assert np.abs(values).max() > 20 * error.max()
