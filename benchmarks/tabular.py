"""Tables: a background, a row, a model, and whether the parts are bins or numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import veridical as vd
from laws import Floats
from limits import Limits, table_limits
from package import TablePackage
from problems import Predict

SHIPPED = ("breast_cancer", "wine", "diabetes", "digits")  # come with scikit-learn
FILES = ("adult", "german_credit")  # come from --data DIR
MODELS = ("rf", "gb", "svm", "mlp")
KINDS = ("discretized", "continuous")
MIXED_ROWS = 4000  # training rows of adult, so that a model fits in seconds


@dataclass(frozen=True, eq=False)
class TableProblem:
    """What is explained. The first of the held-out rows is the instance."""

    name: str
    background: Any  # array or DataFrame
    rows: Any  # held-out rows
    predict: Predict
    discretized: bool
    regression: bool

    @property
    def instance(self) -> Any:
        return self.row(0)

    def row(self, i: int) -> Any:
        return self.rows.iloc[[i]] if isinstance(self.rows, pd.DataFrame) else self.rows[i]

    def target(self, i: int) -> int:
        """The class that is explained: the one predicted for row i."""
        return 0 if self.regression else int(np.argmax(self.predict(self.rows[i : i + 1])[0]))

    def represent(self) -> vd.Rows:
        return vd.Rows(
            self.background, discretize=vd.bins.Quartiles() if self.discretized else vd.bins.Continuous()
        )

    def order(self, i: int, why: vd.Explanation) -> list[int]:
        return list(range(len(why.parts)))

    def limits(self, n_rows: int, samples: int) -> Limits:
        return table_limits(self, n_rows, samples)

    def fingerprint(self, n_rows: int) -> bytes:
        return self.predict(self.background[:200]).tobytes() + self.codes.encode(self.rows[:n_rows]).tobytes()

    def package(self) -> TablePackage:
        return TablePackage(self)

    @property
    def codes(self) -> Codes:
        return Codes.of(self.background, self.discretized)


@dataclass(frozen=True, eq=False)
class Codes:
    """A table as plain numbers and back, for the lime package, which takes nothing else.

    Categories become codes. Two-valued columns are categories where the parts are bins. A column whose
    lowest bin holds a single value is moved to start at zero: lime hands the model that bin's z-score, zero,
    instead of its value, and there the two agree.
    """

    labels: pd.Index | None  # columns of a DataFrame
    levels: dict[int, pd.Index]  # categories by column
    shift: Floats  # (d,)

    @classmethod
    def of(cls, background: Any, discretized: bool) -> Codes:
        table = pd.DataFrame(background)
        levels, shift = {}, np.zeros(table.shape[1])
        for j in range(table.shape[1]):
            column = table.iloc[:, j]
            number = pd.api.types.is_numeric_dtype(column)
            if not number or (discretized and column.nunique(dropna=False) == 2):
                levels[j] = pd.Index(column.drop_duplicates().sort_values())
            elif discretized and column.min() == column.quantile(0.25):
                shift[j] = column.min()
        return cls(table.columns if isinstance(background, pd.DataFrame) else None, levels, shift)

    @property
    def categorical(self) -> list[int]:
        return list(self.levels)

    @property
    def trivial(self) -> bool:
        return self.labels is None and not self.levels and not self.shift.any()

    def encode(self, table: Any) -> Floats:
        if self.trivial:
            return np.asarray(table, float)
        columns = pd.DataFrame(table)
        coded = [
            self.levels[j].get_indexer(columns.iloc[:, j]) if j in self.levels else columns.iloc[:, j] - shift
            for j, shift in enumerate(self.shift)
        ]
        return np.stack([np.asarray(c, float) for c in coded], axis=1)

    def decode(self, numbers: Floats) -> Any:
        if self.trivial:
            return numbers
        columns = [
            self.levels[j].take(numbers[:, j].astype(int)) if j in self.levels else numbers[:, j] + shift
            for j, shift in enumerate(self.shift)
        ]
        if self.labels is None:
            return np.stack(columns, axis=1).astype(float)
        return pd.DataFrame(dict(zip(self.labels, columns, strict=True)))


def names(data: Path | None, quick: bool = False) -> list[str]:
    """The problems as 'dataset-model-kind'; without --data the two mixed tables are missing."""
    if quick:
        chosen = ["breast_cancer-rf", "wine-mlp", "diabetes-gb"] + ["german_credit-rf"] * bool(data)
    else:
        chosen = [f"{name}-{model}" for name in SHIPPED for model in MODELS]
        chosen += [f"{name}-{model}" for name in FILES if data for model in MODELS if model != "svm"]
    if data is None:
        print(f"No --data DIR: {' and '.join(FILES)} are left out.\n")
    return [f"{name}-{kind}" for name in chosen for kind in KINDS]


def load(name: str, data: Path | None = None) -> TableProblem:
    """A problem by its name, its model fitted."""
    dataset, model, kind = name.split("-")
    background, rows, predict, regression = _fitted(dataset, model, data)
    return TableProblem(name, background, rows, predict, kind == "discretized", regression)


@cache
def _fitted(dataset: str, model: str, data: Path | None) -> tuple[Any, Any, Predict, bool]:
    X, y = _mixed(dataset, data) if dataset in FILES else _shipped(dataset)
    regression = dataset == "diabetes"
    train, rows, labels, _ = train_test_split(X, y, random_state=0, test_size=0.3)
    fitted = _model(model, regression, isinstance(X, pd.DataFrame)).fit(train, labels)
    if isinstance(rows, pd.DataFrame):
        rows = rows.reset_index(drop=True)
    predict: Predict = (lambda x: fitted.predict(x)[:, None]) if regression else fitted.predict_proba
    return train, rows, predict, regression


def _shipped(dataset: str) -> tuple[Floats, Any]:
    X, y = getattr(datasets, f"load_{dataset}")(return_X_y=True)
    if dataset == "digits":  # blank pixels: no part here, but lime would count them in its kernel width
        train, _ = train_test_split(X, random_state=0, test_size=0.3)
        X = X[:, np.ptp(train, axis=0) > 0]
    return X, y


def _mixed(dataset: str, data: Path | None) -> tuple[pd.DataFrame, Any]:
    """Numbers as floats, which lime's law needs; text, missing values included, as it is."""
    if data is None:
        raise SystemExit(f"{dataset} needs --data DIR, a folder with tabular/{dataset}.csv")
    table = pd.read_csv(data / "tabular" / f"{dataset}.csv")
    if dataset == "adult":
        table = table[table["split"] == "train"].drop(columns="split")
        table = table.sample(MIXED_ROWS * 10 // 7, random_state=0)
    y = table.pop("income" if dataset == "adult" else "credit_risk").to_numpy()
    numbers = table.select_dtypes("number").columns
    return table.astype(dict.fromkeys(numbers, float)), y


def _model(model: str, regression: bool, mixed: bool) -> Any:
    made: dict[str, Callable[[], Any]] = {
        "rf": lambda: (RandomForestRegressor if regression else RandomForestClassifier)(100, random_state=0),
        "gb": lambda: (GradientBoostingRegressor if regression else GradientBoostingClassifier)(random_state=0),
        "svm": lambda: SVR(C=100) if regression else CalibratedClassifierCV(SVC(), ensemble=False),
        "mlp": lambda: (MLPRegressor if regression else MLPClassifier)(
            hidden_layer_sizes=(50,), max_iter=2000, tol=1.0 if regression else 1e-4, random_state=0
        ),
    }
    if mixed:
        hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        prepare: Any = make_column_transformer(
            (hot, lambda table: table.select_dtypes(exclude="number").columns), remainder=StandardScaler()
        )
        return make_pipeline(prepare, made[model]())
    return make_pipeline(StandardScaler(), made[model]()) if model in ("svm", "mlp") else made[model]()
