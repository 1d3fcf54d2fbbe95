"""The error of Shapley values at equal calls: veridical's KernelShap against shap's KernelExplainer.

A game is a model of scikit-learn's data and one row of it; what is taken away is replaced by the mean row, so
both libraries see the same game, and all masks say what is true. The error is the mean squared one of all values
over seeds, relative to the mean square of the values. shap selects no features (l1_reg=0), since then it estimates
the same. ``ratio`` is shap's error against ours at the most calls, ``cover`` the share of our 95 % intervals that
hold the truth, ``needed`` the calls at which our error is below shap's at the most.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import veridical as vd
from laws import Floats, every_mask
from limits import shapley_values
from tables import Target, arguments, at_least, finish
from veridical import toys

sys.path.pop(0)  # numba looks for the package that coverage.py here has the name of
import shap

SIZES = (64, 128, 256, 512, 1024)


def games(quick: bool) -> dict[str, tuple[Callable[[Any], Floats], Any, Any]]:
    """Models, and a row each with the mean row."""
    cancer, wine, diabetes = load_breast_cancer(), load_wine(), load_diabetes()
    some = cancer.data[:, :14]
    models: dict[str, tuple[Any, Any, Any, int]] = {
        "wine-rf": (RandomForestClassifier(100, random_state=0), wine.data, wine.target, 70),
        "wine-mlp": (_network(), wine.data, wine.target, 70),
        "breast_cancer-rf": (RandomForestClassifier(50, random_state=0), some, cancer.target, 0),
        "breast_cancer-mlp": (_network(), some, cancer.target, 3),
        "breast_cancer-svm": (
            make_pipeline(StandardScaler(), SVC(random_state=0)),
            some,
            cancer.target,
            19,
        ),
        "diabetes-gb": (GradientBoostingRegressor(max_depth=4, random_state=0), diabetes.data, diabetes.target, 5),
    }
    found = {}
    for name, (model, X, y, row) in list(models.items())[: 2 if quick else None]:
        model.fit(X, y)
        if hasattr(model, "predict_proba"):
            k = int(model.predict_proba(X[row : row + 1]).argmax())
            predict = _column(model.predict_proba, k)
        else:
            predict = getattr(model, "decision_function", None) or model.predict
        found[name] = (predict, X[row], X.mean(axis=0))
    return found


def _network() -> Any:
    return make_pipeline(StandardScaler(), MLPClassifier((20,), max_iter=2000, random_state=0))


def _column(predict: Callable[[Any], Any], k: int) -> Callable[[Any], Floats]:
    return lambda X: np.asarray(predict(X))[:, k]


def measure(name: str, predict: Callable[[Any], Floats], x: Any, base: Any, seeds: int) -> dict[str, Any]:
    """One line of the table."""
    d = len(x)

    def game(masks: Any) -> Floats:
        return predict(np.where(np.asarray(masks) != 0, x, base))

    truth = shapley_values(d, game(every_mask(d)))
    size = float(np.mean(truth**2))
    line: dict[str, Any] = {"problem": name, "parts": d}
    ours, theirs, inside = [], [], []
    for n in [n for n in SIZES if n < 2**d]:
        errors, others, covers = [], [], []
        for seed in range(seeds):
            why = vd.explain(game, toys.Game(), d, method=vd.KernelShap(n_samples=n - 1), rng=seed)
            errors.append(np.mean((why.weights - truth) ** 2) / size)
            low, high = why.intervals.T
            covers.append(np.mean((low - 1e-12 <= truth) & (truth <= high + 1e-12)))
            np.random.seed(seed)
            explainer = shap.KernelExplainer(predict, base[None])
            values = explainer.shap_values(x, nsamples=n - 2, l1_reg=0, silent=True)
            others.append(np.mean((np.ravel(values) - truth) ** 2) / size)
        ours.append(float(np.mean(errors)))
        theirs.append(float(np.mean(others)))
        inside.append(float(np.mean(covers)))
        line |= {f"shap_{n}": theirs[-1], f"ours_{n}": ours[-1]}
    below = [n for n, error in zip(SIZES, ours, strict=False) if error <= theirs[-1]]
    line |= {
        "ratio": theirs[-1] / ours[-1],
        "cover": float(np.mean(inside)),
        "needed": below[0] if below else None,
    }
    line["curve"] = [round(a / b, 3) for a, b in zip(theirs, ours, strict=True)]
    return line


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    ratios = np.concatenate([row["curve"] for row in rows])
    last = np.array([row["ratio"] for row in rows])
    return [
        at_least("shap's error against ours at equal calls, all sizes, median", 2.0, float(np.median(ratios))),
        at_least("shap's error against ours at equal calls, all sizes, least", 1.0, float(ratios.min())),
        at_least("shap's error against ours at the most calls, median", 3.0, float(np.median(last))),
        at_least("95 % intervals that hold the truth, mean", 0.94, float(np.mean([row["cover"] for row in rows]))),
    ]


def main() -> None:
    settings: argparse.Namespace = arguments(__doc__).parse_args()
    seeds = 4 if settings.quick else 30
    rows = [measure(name, *game, seeds) for name, game in games(settings.quick).items()]
    finish("shapley", settings, rows, targets(rows))


if __name__ == "__main__":
    main()
