"""Record what shap and captum give for the same games, for tests/methods/test_parity.py.

Run it where shap 0.51 and captum 0.9 are installed: ``benchmarks/run parity_shapley``. The test itself
needs neither of them: it compares our explanations with the recorded numbers.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

import captum
import numpy as np
import torch
from captum.attr import FeatureAblation, KernelShap
from sklearn.datasets import load_wine

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.builders.parity_model import ROW, levels, score

sys.path.remove(str(Path(__file__).parent))  # numba looks for the package that coverage.py here has the name of
import shap

SEEDS = 40
SAMPLES = 400


def moments(runs: Any) -> dict[str, list[float]]:
    """Mean over seeds and its standard error."""
    table = np.array(runs)
    return {"mean": table.mean(axis=0).tolist(), "error": (table.std(axis=0, ddof=1) / len(table) ** 0.5).tolist()}


def of_shap(function: Any, background: Any, x: Any, samples: int) -> Any:
    explainer = shap.KernelExplainer(function, background)
    found = explainer.shap_values(x, nsamples=samples, l1_reg=0, silent=True)
    return np.append(np.ravel(found), explainer.expected_value)


def of_captum(seed: int) -> Any:
    X = torch.as_tensor(load_wine().data)
    torch.manual_seed(seed)
    np.random.seed(seed)
    method = KernelShap(lambda rows: torch.as_tensor(score(rows.numpy())))
    return method.attribute(X[ROW : ROW + 1], X.mean(dim=0, keepdim=True), n_samples=SAMPLES).numpy().ravel()


def recorded() -> dict[str, Any]:
    X = load_wine().data
    base = X.mean(axis=0, keepdims=True)
    ablation = FeatureAblation(lambda rows: torch.as_tensor(score(rows.numpy())))
    grid = np.array(list(product([0.0, 1.0, 2.0], repeat=4)))
    return {
        "about": "shap's KernelExplainer with all masks: Shapley values and the base value; captum's KernelShap, "
        "mean over seeds, and FeatureAblation. baseline: the mean row in place of what is taken away; levels: a "
        "background of all combinations of four columns",
        "versions": {"shap": shap.__version__, "captum": captum.__version__},
        "baseline": {
            "shap": of_shap(score, base, X[ROW], 2**13).tolist(),
            "captum": moments([of_captum(seed) for seed in range(SEEDS)]),
            "ablation": ablation.attribute(torch.as_tensor(X[ROW : ROW + 1]), torch.as_tensor(base)).tolist()[0],
            "samples": SAMPLES,
        },
        "levels": {"shap": of_shap(levels, grid, np.array([2.0, 0.0, 1.0, 2.0]), 64).tolist()},
    }


if __name__ == "__main__":
    path = Path(__file__).parents[1] / "tests" / "methods" / "parity_shapley.json"
    path.write_text(json.dumps(recorded(), indent=1) + "\n")
    print(f"wrote {path}")
