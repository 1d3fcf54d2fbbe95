"""Influence of training rows on the model's answers to them: leave-one-out, Newton steps, and TracIn.

Koh and Liang 2017 take one step of the gradient, by the Hessian of all rows. Here the step is Newton's, by the
Hessian of the others: exact for least squares, and closer to training again for logistic regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeClassifier, RidgeClassifierCV
from sklearn.pipeline import Pipeline

from veridical.errors import InputError, NotApplicable, require
from veridical.models.torch_modules import Network, split_batches
from veridical.records import Floats, Ints

MAX_UNKNOWNS = 4000  # unknowns of a Hessian, at most
JITTER = 1e-9  # of the largest, what is added to directions that nothing holds
# Of all gradients' sizes, what may be left of their sum at the rows a model was trained on
MAX_GRADIENT_SHARE = 0.05
MIN_LEVERAGE_LEFT = 1e-9  # what is left of a row that fixes its own answer
RIDGE_MODELS = (RidgeClassifier, RidgeClassifierCV)
LOGISTIC_MODELS = (LogisticRegression, LogisticRegressionCV)


def leave_one_out_residuals(X: Floats, y: Floats, ridge: float, intercept: bool = True) -> Floats:
    """Residuals (n, k) of least squares at each row, of the model that is trained without it; exact."""
    residuals, left = _fit_least_squares(X, y.reshape(len(X), -1), ridge, intercept)
    return residuals / left


def ridge_influence(X: Floats, y: Floats, ridge: float, intercept: bool = True) -> Floats:
    """Self-influence (n,) under squared error: what half of it grows by at a row that is left out."""
    residuals, left = _fit_least_squares(X, y.reshape(len(X), -1), ridge, intercept)
    return np.asarray((residuals**2 * (left**-2 - 1)).sum(axis=1) / 2)


def _fit_least_squares(X: Floats, y: Floats, ridge: float, intercept: bool) -> tuple[Floats, Floats]:
    """Residuals (n, k), and what of its own answer each row leaves to the others (n, 1)."""
    if intercept:
        X, y = X - X.mean(axis=0), y - y.mean(axis=0)
    X = _rotate(X)
    gram = X.T @ X
    gram[np.diag_indices_from(gram)] += ridge + JITTER * float(np.trace(gram)) * (ridge == 0)
    solved = cho_solve(cho_factor(gram), X.T)
    leverage = np.einsum("ij,ji->i", X, solved) + intercept / len(X)
    return y - X @ (solved @ y), np.maximum(1 - leverage, MIN_LEVERAGE_LEFT)[:, None]


def logistic_influence(
    X: Floats, labels: Ints, margins: Floats, *, ridge: float, intercept: bool = True
) -> Floats:
    """Self-influence (n,) under log loss: what it grows by at a row that is left out, by one step of Newton.

    ``margins`` (n, k) are the trained model's logits: one for two classes, else one a class. ``ridge`` is the
    weight of half the squared coefficients beside the sum of losses.
    """
    X, k = _rotate(X), margins.shape[1]
    Z = np.column_stack([X, np.ones(len(X))]) if intercept else X
    logits = np.column_stack([np.zeros(len(X)), margins]) if k == 1 else margins
    p = softmax(logits, axis=1)[:, -k:]  # (n, k) of the classes that have margins
    given = np.eye(logits.shape[1])[labels][:, -k:]
    curve = np.einsum("ia,ab->iab", p, np.eye(k)) - np.einsum("ia,ib->iab", p, p)  # (n, k, k)
    hessian = np.einsum("iab,ip,iq->apbq", curve, Z, Z, optimize=True).reshape(k * Z.shape[1], -1)
    held = np.tile(np.r_[np.full(X.shape[1], ridge), np.zeros(Z.shape[1] - X.shape[1])], k)
    hessian[np.diag_indices_from(hessian)] += held + JITTER * max(float(np.trace(hessian)), 1e-300)
    inverse = cho_solve(cho_factor(hessian), np.eye(len(hessian))).reshape(k, Z.shape[1], k, Z.shape[1])
    reach = np.einsum("ip,apbq,iq->iab", Z, inverse, Z, optimize=True)  # (n, k, k) of a row's logits on themselves
    slope = (p - given)[:, :, None]
    step = np.linalg.solve(np.eye(k) - reach @ curve, reach @ slope)[:, :, 0]
    moved = np.array(logits)
    moved[:, -k:] += step
    return _log_loss(moved, labels) - _log_loss(logits, labels)


def self_influence(predict: Any, X: Any, labels: Ints) -> Floats:
    """Self-influence of the rows (n,) that a linear or logistic model of scikit-learn was trained on.

    ``predict`` is a method of the estimator, or of a pipeline that ends in one; ``labels`` are positions in its
    classes.
    """
    estimator = getattr(predict, "__self__", None)
    if isinstance(estimator, Pipeline):
        X, estimator = estimator[:-1].transform(X), estimator[-1]
    if not isinstance(estimator, (*RIDGE_MODELS, *LOGISTIC_MODELS)):
        raise NotApplicable(
            "self-influence in closed form is known of scikit-learn's LogisticRegression and RidgeClassifier, "
            f"alone or at the end of a pipeline, not of {type(estimator).__name__}"
        )
    if getattr(estimator, "class_weight", None) is not None:
        raise NotApplicable("self-influence in closed form is not known where classes are weighted")
    features = _to_features(X)
    if isinstance(estimator, LOGISTIC_MODELS):
        return _logistic_self_influence(estimator, features, X, labels)
    targets = 2 * np.eye(len(estimator.classes_))[labels] - 1
    ridge = float(getattr(estimator, "alpha_", getattr(estimator, "alpha", 1.0)))
    return ridge_influence(features, targets[:, -1:] if targets.shape[1] == 2 else targets, ridge)


def _logistic_self_influence(estimator: Any, features: Floats, X: Any, labels: Ints) -> Floats:
    """Of a fitted LogisticRegression, if it is one with a squared penalty, and these are its rows."""
    mixed = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", None))
    l1 = getattr(estimator, "penalty", "l2") in ("l1", "elasticnet") and np.any(np.asarray(mixed or 1.0) != 0)
    if l1 or (mixed is not None and np.ndim(mixed) == 0 and float(mixed) > 0):
        raise NotApplicable("self-influence in closed form is not known of a model with an l1 penalty")
    C = float(np.atleast_1d(getattr(estimator, "C_", getattr(estimator, "C", 1.0)))[0])
    margins = np.asarray(estimator.decision_function(X), float).reshape(len(labels), -1)
    k = margins.shape[1]
    if features.shape[1] * k > MAX_UNKNOWNS:
        raise NotApplicable(
            f"self-influence solves for {features.shape[1] * k} unknowns at once; the most is {MAX_UNKNOWNS}"
        )
    logits = np.column_stack([np.zeros(len(margins)), margins]) if k == 1 else margins
    slopes = (softmax(logits, axis=1) - np.eye(logits.shape[1])[labels])[:, -k:]
    if np.abs(slopes.sum(axis=0)).max() > MAX_GRADIENT_SHARE * np.abs(slopes).sum() + 1.0:
        raise NotApplicable(
            "the model is not at its best on these rows, so it was trained on others, or not to the end: give "
            "training=(X, y), the rows it was trained on"
        )
    return logistic_influence(features, labels, margins, ridge=1 / C, intercept=estimator.fit_intercept)


def _to_features(X: Any) -> Floats:
    """Rows of numbers; where there are more columns than rows, turned so that there are as many."""
    if hasattr(X, "tocsr"):
        return _factor_products(np.asarray((X @ X.T).toarray(), float)) if X.shape[1] > X.shape[0] else X.toarray()
    return np.asarray(X, float)


def _rotate(X: Floats) -> Floats:
    """The same rows in at most as many directions as there are rows; no squared penalty knows the difference."""
    return _factor_products(X @ X.T) if X.shape[1] > X.shape[0] else X


def _factor_products(products: Floats) -> Floats:
    """Rows (n, r) with these inner products (n, n)."""
    if len(products) > MAX_UNKNOWNS:
        raise NotApplicable(
            f"self-influence looks at {MAX_UNKNOWNS} rows at most where columns are more than those"
        )
    values, vectors = eigh(products)
    keep = values > JITTER * values.max(initial=0.0)
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep]))


def _log_loss(logits: Floats, labels: Ints) -> Floats:
    return np.asarray(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels])


def tracin(networks: Sequence[Network], X: object, labels: Ints, rates: Sequence[float] | None = None) -> Floats:
    """Self-influence (n,) of training rows: squared gradients of their log loss, summed over checkpoints.

    ``networks`` are the network at one or more times of its training, ``rates`` the learning rates then. Only the
    gradient by the last linear layer counts, as in the paper's own experiments with large networks; the module's
    outputs are taken as logits, one for two classes, or one a class.
    """
    if rates is not None and len(rates) != len(networks):
        raise InputError(f"rates needs one learning rate per checkpoint: {len(networks)}, not {len(rates)}")
    found = np.zeros(len(labels))
    for network, rate in zip(networks, [1.0] * len(networks) if rates is None else rates, strict=True):
        given, logits = record_layer(network, X, find_last_linear(network))
        if logits.shape[1] == 1:
            slopes = expit(logits) - labels[:, None]
        else:
            slopes = softmax(logits, axis=1) - np.eye(logits.shape[1])[labels]
        found += rate * (slopes**2).sum(axis=1) * ((given**2).sum(axis=1) + 1)
    return found


def find_last_linear(network: Network) -> str:
    """The name of the linear layer that gives the network's outputs."""
    torch = require("torch", extra="torch")
    parts = [(name, part) for name, part in network.module.named_modules() if not any(part.children())]
    if not parts or not isinstance(parts[-1][1], torch.nn.Linear) or not parts[-1][0]:
        last = type(parts[-1][1]).__name__ if parts else "nothing"
        raise NotApplicable(f"TracIn needs a network that ends in a Linear layer, which gives logits, not {last}")
    return str(parts[-1][0])


MAX_VALUES_PER_PASS = 2**21  # numbers of input that the network is asked about at once, about


def record_layer(network: Network, X: Any, layer: str) -> tuple[Floats, Floats]:
    """What a layer is given and what it makes of it, for instances: (n, p) and (n, q)."""
    torch = require("torch", extra="torch")
    inputs, found = network.tensor(X), list[tuple[Floats, Floats]]()

    def keep(given: Any, made: Any) -> Any:
        found.append((flatten_rows(given), flatten_rows(made)))
        return made

    with torch.no_grad(), watch_layer(network, layer, keep) as calls:
        for piece in split_batches(inputs, MAX_VALUES_PER_PASS):
            network.ask(inputs[piece])
            check_used_once(calls, layer)
    return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])


@contextmanager
def watch_layer(network: Network, layer: str, change: Callable[[Any, Any], Any]) -> Iterator[list[int]]:
    """A layer that gives what ``change`` makes of its input and output; the list has one item a call."""
    known = dict(network.module.named_modules())
    if layer not in known or not layer:
        names = [name for name, part in known.items() if name and not any(part.children())]
        raise InputError(f"the network has no layer {layer!r}; it has {', '.join(names)}")
    calls: list[int] = []

    def hook(_module: Any, given: Any, made: Any) -> Any:
        calls.append(1)
        if not hasattr(made, "detach"):
            raise InputError(f"the layer {layer!r} gives {type(made).__name__}, not one tensor: name another")
        return change(given[0] if given else None, made)

    handle = known[layer].register_forward_hook(hook)
    try:
        yield calls
    finally:
        handle.remove()


def check_used_once(calls: list[int], layer: str) -> None:
    """Refuse a layer that is used not at all, or more than once a pass; and begin to count anew."""
    n = len(calls)
    calls.clear()
    if n != 1:
        raise InputError(f"the network uses the layer {layer!r} {n} times per pass; name one that it uses once")


def flatten_rows(tensor: Any) -> Floats:
    """A row an instance."""
    if not hasattr(tensor, "detach"):
        return np.empty((0, 0))
    numbers: Floats = tensor.detach().cpu().double().numpy()
    return numbers.reshape(len(numbers), -1)
