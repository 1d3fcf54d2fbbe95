"""Record what the lime package gives on average, for tests/methods/test_parity.py.

Run it where lime 0.2.0.1 is installed: ``benchmarks/run parity``. The test itself needs neither lime nor a
network: it compares our explanation with the recorded means.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_wine

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.builders.parity_model import ROW, score

SEEDS = 60
SAMPLES = 5000


def mean_weights(discretize: bool) -> dict[str, list[float]]:
    """Mean over seeds of the weight of each column, and its standard error."""
    X = load_wine().data
    runs = []
    for seed in range(SEEDS):
        explainer = LimeTabularExplainer(X, discretize_continuous=discretize, random_state=seed)
        found = explainer.explain_instance(
            X[ROW],
            lambda rows: np.stack([1 - score(rows), score(rows)], axis=1),
            labels=(1,),
            num_features=X.shape[1],
            num_samples=SAMPLES,
        )
        weights = dict(found.as_map()[1])
        runs.append([weights.get(j, 0.0) for j in range(X.shape[1])] + [found.intercept[1]])
    table = np.array(runs)
    return {"mean": table.mean(axis=0).tolist(), "error": (table.std(axis=0, ddof=1) / SEEDS**0.5).tolist()}


if __name__ == "__main__":
    recorded = {
        "about": "lime 0.2.0.1: mean weight of each column and the intercept, ridge 1 and all features",
        "seeds": SEEDS,
        "samples": SAMPLES,
        "discretized": mean_weights(True),
        "continuous": mean_weights(False),
    }
    path = Path(__file__).parents[1] / "tests" / "methods" / "parity.json"
    path.write_text(json.dumps(recorded, indent=1) + "\n")
    print(f"wrote {path}")
