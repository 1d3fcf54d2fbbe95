"""Recognized structure: models that are a sum of trees, or a function of a sum over single columns.

A model is recognized by the class names of what it is made of. Preprocessing is not taken apart but asked: every
value of every column goes through ``transform``, which shows which features a column decides and what they become.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.models.adapters import BothClasses, CatboostClassifier, XgboostBooster
from veridical.models.trees import (
    EXPONENTIAL,
    IDENTITY_LINK,
    LEAF,
    SIGMOID,
    SOFTMAX,
    Forest,
    UnreadableError,
    read_trees,
)
from veridical.records import Floats

MAX_DEPTH = 8  # of models inside models


@dataclass(frozen=True, eq=False)
class Effects:
    """A sum of one function per feature."""

    of: Callable[[Floats], Floats]  # features (n, f) to effects (n, f, k)
    base: Floats  # (k,)

    def output(self, position: int, sign: float = 1.0) -> Effects:
        """The sum of one output alone."""
        at = slice(position, position + 1)
        return Effects(lambda features: sign * self.of(features)[:, :, at], sign * self.base[at])


@dataclass(frozen=True, eq=False)
class Summand:
    """A term of a model's outputs: a link of a sum of trees, or of effects of single features."""

    features: Callable[[Any], Floats]  # a table as the model takes it to features (n, f)
    inside: Forest | Effects
    link: str
    share: float = 1.0  # by which it counts

    def place(self, position: int, n_outputs: int) -> tuple[int, float]:
        """Which of the sums an output is of, and its sign: two classes by a sigmoid have one sum."""
        if self.link == SOFTMAX:
            raise UnreadableError("one of several classes by softmax")
        if self.link == SIGMOID and n_outputs == 2:
            return 0, 1.0 if position else -1.0
        return position, 1.0


def structure_of(predict: Any) -> tuple[Summand, ...]:
    """The structure of whatever answers for a model.

    Parameters
    ----------
    predict : callable
        A method of an estimator or booster, or the library's own adapter of one.

    Returns
    -------
    tuple of Summand
        The terms of which the outputs are the sum.

    Raises
    ------
    UnreadableError
        If it is not recognized.
    """
    if isinstance(predict, BothClasses):
        return structure_of(predict.predict)
    if isinstance(predict, XgboostBooster):
        return _read(predict.model, "predict")
    if isinstance(predict, CatboostClassifier):
        raise UnreadableError("a plain CatBoost model with classes")
    owner, name = getattr(predict, "__self__", None), getattr(predict, "__name__", "")
    if owner is None or isinstance(owner, type):
        raise UnreadableError("a function")
    return _read(owner, name)


def _read(model: Any, method: str, depth: int = 0) -> tuple[Summand, ...]:
    """The terms of what a method of a fitted model answers."""
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    if depth > MAX_DEPTH:
        raise UnreadableError("models inside models")
    if package == "sklearn":
        if name in ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"):
            return _read(model.best_estimator_, method, depth + 1)
        if name == "Pipeline":
            return _read_pipeline(model, method, depth)
        if name in ("VotingClassifier", "VotingRegressor"):
            return _read_voting(model, method, depth)
        if name in ("BaggingClassifier", "BaggingRegressor"):
            return _read_bagging(model, method, depth)
        if name in LINEAR_REGRESSORS | LINEAR_CLASSIFIERS or name in NAIVE_BAYES:
            return (_read_effects(model, name, method),)
    found = read_trees(model)
    link = found.link
    if method == "predict" and hasattr(model, "classes_"):
        raise UnreadableError("classes, not numbers")
    if method == "decision_function":
        link = IDENTITY_LINK
    elif method not in ("predict_proba", "predict"):
        raise UnreadableError(f"the method {method}")
    missing = np.nan if found.unstored_missing else 0.0
    features = partial(matrix_of, unstored=missing, transform=found.features)
    return (Summand(features, found.forest, link),)


def matrix_of(inputs: Any, unstored: float = 0.0, transform: Callable[[Any], Any] | None = None) -> Floats:
    """Inputs of a model as numbers (n, f), of which missing is nan; ``unstored`` is what a sparse matrix leaves out."""
    if transform is not None:
        inputs = transform(inputs)
    if issparse(inputs):
        entries = inputs.tocoo()
        found = np.full(inputs.shape, unstored)
        found[entries.row, entries.col] = entries.data
        return found
    if isinstance(inputs, pd.DataFrame):
        for place, dtype in enumerate(inputs.dtypes):
            if isinstance(dtype, pd.CategoricalDtype):
                codes = inputs.iloc[:, place].cat.codes
                inputs = inputs.copy(deep=False)
                inputs.isetitem(place, codes.where(codes >= 0).astype(float))
        return np.asarray(inputs.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(inputs, np.float64)


def _before(features: Callable[[Any], Any], summand: Summand) -> Summand:
    """A term of a model whose inputs are those of another, transformed."""
    return replace(summand, features=lambda inputs: summand.features(features(inputs)))


def _read_pipeline(model: Any, method: str, depth: int) -> tuple[Summand, ...]:
    steps = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]

    def transform(inputs: Any) -> Any:
        for step in steps:
            inputs = step.transform(inputs)
        return inputs

    if any(hasattr(step, "fit_resample") and not hasattr(step, "transform") for step in steps):
        raise UnreadableError("a step without transform")
    return tuple(_before(transform, each) for each in _read(model.steps[-1][1], method, depth + 1))


def _read_voting(model: Any, method: str, depth: int) -> tuple[Summand, ...]:
    if method != ("predict_proba" if hasattr(model, "classes_") else "predict"):
        raise UnreadableError("votes")
    weights = model.weights
    if weights is not None:
        pairs = zip(model.estimators, weights, strict=True)
        weights = [weight for (_, each), weight in pairs if not isinstance(each, str)]
    shares = np.ones(len(model.estimators_)) if weights is None else np.asarray(weights, np.float64)
    return tuple(
        replace(each, share=each.share * share)
        for member, share in zip(model.estimators_, shares / shares.sum(), strict=True)
        for each in _read(member, method, depth + 1)
    )


def _read_bagging(model: Any, method: str, depth: int) -> tuple[Summand, ...]:
    """Members that each see some of the columns, as one forest where they are trees."""
    if method != ("predict_proba" if hasattr(model, "classes_") else "predict"):
        raise UnreadableError(f"{method} of a bag")
    found, forests, n = list[Summand](), list[Forest](), len(model.estimators_)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        if hasattr(model, "classes_") and len(member.classes_) != len(model.classes_):
            raise UnreadableError("a member that knows fewer classes")
        for each in _read(member, method, depth + 1):
            if isinstance(each.inside, Forest) and each.link == IDENTITY_LINK and type(member).__name__ in TREES:
                own = np.append(columns, LEAF)[each.inside.feature]
                forests.append(replace(each.inside, feature=np.where(each.inside.feature < 0, LEAF, own)))
            else:
                take = partial(_take_columns, columns)
                found.append(_before(take, replace(each, share=each.share / n)))
    if forests:
        found.append(Summand(matrix_of, _merged(forests).scaled(1 / n), IDENTITY_LINK))
    return tuple(found)


TREES = {f"{kind}Tree{end}" for kind in ("Decision", "Extra") for end in ("Classifier", "Regressor")}


def _take_columns(columns: Any, inputs: Any) -> Any:
    return inputs.iloc[:, columns] if hasattr(inputs, "iloc") else inputs[:, columns]


def _merged(forests: Sequence[Forest]) -> Forest:
    """Several forests of numbers as one, their sum."""
    shift = np.append(0, np.cumsum([len(each.feature) for each in forests]))
    first, rest = forests[0], range(len(forests))
    children = [np.where(forests[i].children >= 0, forests[i].children + shift[i], LEAF) for i in rest]
    if any(len(each.left_sets) for each in forests):
        raise UnreadableError("a bag of trees with categories")
    return replace(
        first,
        roots=np.concatenate([forests[i].roots + shift[i] for i in rest]),
        children=np.concatenate(children),
        feature=np.concatenate([each.feature for each in forests]),
        cut=np.concatenate([each.cut for each in forests]),
        missing_left=np.concatenate([each.missing_left for each in forests]),
        category=np.concatenate([each.category for each in forests]),
        values=np.concatenate([each.values for each in forests]),
        covers=np.concatenate([each.covers for each in forests]),
        base=np.sum([each.base for each in forests], axis=0),
    )


LINEAR_REGRESSORS = {
    "ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "HuberRegressor", "Lars", "LarsCV", "Lasso",
    "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "LinearRegression", "LinearSVR",
    "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "PassiveAggressiveRegressor", "PoissonRegressor",
    "QuantileRegressor", "RANSACRegressor", "Ridge", "RidgeCV", "SGDRegressor", "TheilSenRegressor",
    "GammaRegressor",
}  # fmt: skip
LINEAR_CLASSIFIERS = {
    "LinearDiscriminantAnalysis", "LinearSVC", "LogisticRegression", "LogisticRegressionCV",
    "PassiveAggressiveClassifier", "Perceptron", "RidgeClassifier", "RidgeClassifierCV", "SGDClassifier",
}  # fmt: skip
WITH_LOG_LINK = {"PoissonRegressor", "GammaRegressor"}
BY_SIGMOID = {"LinearDiscriminantAnalysis", "LogisticRegression", "LogisticRegressionCV"}


def _read_effects(model: Any, name: str, method: str) -> Summand:
    """Linear models and naive Bayes, on the scale of a method's answers."""
    if name in NAIVE_BAYES:
        if method not in ("predict_proba", "predict_joint_log_proba"):
            raise UnreadableError(f"the method {method}")
        effects, link = NAIVE_BAYES[name](model), SOFTMAX
    else:
        inner = model.estimator_ if name == "RANSACRegressor" else model
        slopes = np.atleast_2d(np.asarray(inner.coef_, np.float64))
        base = np.broadcast_to(np.asarray(inner.intercept_, np.float64), len(slopes)).copy()
        effects = Effects(partial(_by_slopes, slopes), base)
        link = EXPONENTIAL if name in WITH_LOG_LINK else IDENTITY_LINK
        if method == "predict" and name in LINEAR_CLASSIFIERS:
            raise UnreadableError("classes, not numbers")
        if method == "predict_proba":
            by_sigmoid = name in BY_SIGMOID or (name == "SGDClassifier" and model.loss in ("log_loss", "log"))
            if not by_sigmoid or len(slopes) > 1:  # ratios of several sigmoids, or softmax
                raise UnreadableError("probabilities of several classes")
            link = SIGMOID
    if link == SOFTMAX and len(effects.base) == 2:
        effects, link = _difference(effects), SIGMOID
    return Summand(matrix_of, effects, link)


def _by_slopes(slopes: Floats, features: Floats) -> Floats:
    return np.asarray(features[:, :, None] * slopes.T)


def _difference(effects: Effects) -> Effects:
    """How much more the second of two outputs is."""
    return Effects(lambda X: np.diff(effects.of(X), axis=2), np.diff(effects.base))


def _gaussian(model: Any) -> Effects:
    base = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * model.var_).sum(axis=1)
    return Effects(lambda X: -0.5 * np.square(X[:, :, None] - model.theta_.T) / model.var_.T, base)


def _bernoulli(model: Any) -> Effects:
    there, gone = model.feature_log_prob_, np.log1p(-np.exp(model.feature_log_prob_))
    cut = model.binarize

    def effects(X: Floats) -> Floats:
        own = X if cut is None else (cut < X).astype(np.float64)
        return np.asarray(own[:, :, None] * (there - gone).T)

    return Effects(effects, np.asarray(model.class_log_prior_ + gone.sum(axis=1)))


def _multinomial(model: Any) -> Effects:
    return Effects(partial(_by_slopes, model.feature_log_prob_), np.asarray(model.class_log_prior_))


def _categorical(model: Any) -> Effects:
    def effects(X: Floats) -> Floats:
        codes = X.astype(np.intp)
        return np.stack([table[:, codes[:, k]].T for k, table in enumerate(model.feature_log_prob_)], axis=1)

    return Effects(effects, np.asarray(model.class_log_prior_))


NAIVE_BAYES: dict[str, Callable[[Any], Effects]] = {
    "BernoulliNB": _bernoulli,
    "CategoricalNB": _categorical,
    "GaussianNB": _gaussian,
    "MultinomialNB": _multinomial,
}
