"""Seconds that an audit takes: of scikit-learn models on 10,000 × 30, and of a small convolutional network.

Everything is given that a check may want: right answers, the training data, a way to train anew, a suspected
column or corner, and instances of another kind. ``asked`` are inputs that the model was asked about; what models
that checks train anew were asked is not counted. Columns after it are the seconds of each check.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from tables import Target, arguments, at_most, finish
from veridical.errors import require

ROWS, COLUMNS = 10_000, 30
TABLE_SECONDS, NETWORK_SECONDS = 120, 300
MODELS: Mapping[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "random forest, 100 trees": lambda: RandomForestClassifier(100, random_state=0, min_samples_leaf=5),
    "gradient boosting": lambda: HistGradientBoostingClassifier(random_state=0),
}
EPOCHS, BATCH = 12, 64


def table(name: str, n: int) -> vd.Subject:
    """A model of a table of which a third of the columns matters."""
    X, y = make_classification(n, COLUMNS, n_informative=10, random_state=0)
    train, test, labels, answers = train_test_split(X, y, random_state=0, test_size=0.2)
    model = MODELS[name]().fit(train, labels)
    return vd.Subject(
        model.predict_proba, vd.Rows(train), test, y=answers, training=(train, labels), region=["x0"],
        shifted=test + 3 * test.std(axis=0),
    )  # fmt: skip


def fitted(X: Any, y: Any, seed: int) -> Any:
    """A small network, trained on pictures (n, 16, 16)."""
    torch = require("torch", extra="torch")
    torch.manual_seed(seed)
    conv, relu, pool = torch.nn.Conv2d, torch.nn.ReLU, torch.nn.MaxPool2d
    layers = (conv(1, 16, 3, padding=1), relu(), pool(2), conv(16, 32, 3, padding=1), relu(), pool(2))
    dense = (torch.nn.Flatten(), torch.nn.Linear(32 * 4 * 4, 64), relu(), torch.nn.Linear(64, 10))
    module = torch.nn.Sequential(*layers, *dense)
    inputs, answers = prepared(X), torch.as_tensor(np.asarray(y), dtype=torch.long)
    optimizer = torch.optim.Adam(module.parameters(), 2e-3)
    for _ in range(EPOCHS):
        for piece in torch.randperm(len(inputs)).split(BATCH):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs[piece]), answers[piece]).backward()
            optimizer.step()
    return vd.Network(module.eval(), prepare=prepared, answers="softmax")


def prepared(pictures: Any) -> Any:
    torch = require("torch", extra="torch")
    return torch.as_tensor(np.asarray(pictures), dtype=torch.float32)[:, None]


def network() -> vd.Subject:
    """A network that reads digits of 16 × 16 pixels."""
    X, y = load_digits(return_X_y=True)
    pictures = np.kron(X.reshape(-1, 8, 8) / 16, np.ones((2, 2)))
    train, test, labels, answers = train_test_split(pictures, y, random_state=0, test_size=0.3)
    corner = np.zeros((16, 16), bool)
    corner[:4, :4] = True
    return vd.Subject(
        fitted(train, labels, 0), vd.Grid(4, 4, fill=vd.fills.Constant(0.0)), test, y=answers, train=fitted,
        training=(train, labels), region=[corner] * len(test), shifted=1 - test,
    )  # fmt: skip


def measure(name: str, subject: vd.Subject) -> dict[str, Any]:
    found = vd.audit(subject)
    spent = dict.fromkeys(dict.fromkeys(r.check for r in found.results), 0.0)
    for result in found.results:
        spent[result.check] += result.seconds
    return {
        "model": name,
        "methods": len({r.method for r in found.results}),
        **found.counts,
        "seconds": found.seconds,
        "asked": found.n_calls,
        **spent,
    }


def judge(rows: list[dict[str, Any]]) -> list[Target]:
    tables = [row for row in rows if row["model"] in MODELS]
    networks = [row for row in rows if row["model"] not in MODELS]
    worst = max(tables, key=lambda row: row["seconds"])
    targets = [at_most(f"table: seconds, the slowest ({worst['model']})", TABLE_SECONDS, worst["seconds"])]
    return targets + [at_most(f"{row['model']}: seconds", NETWORK_SECONDS, row["seconds"]) for row in networks]


def main(settings: argparse.Namespace) -> None:
    names = list(MODELS)[: 1 if settings.quick else None]
    rows = [measure(name, table(name, 1000 if settings.quick else ROWS)) for name in names]
    rows += [measure("small network", network())] if not settings.quick else []
    finish("audit", settings, rows, judge(rows))


if __name__ == "__main__":
    main(arguments(__doc__).parse_args())
