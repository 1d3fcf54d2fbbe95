"""What a check looks at: a model with its data, and what is known of both."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from veridical.attribute.ask import Model, n_rows
from veridical.attribute.given import checked_representer
from veridical.attribute.models import Explainable, model_of, predict_of
from veridical.attribute.targets import check_single
from veridical.errors import InputError, ModelError, NotApplicable, safe_str
from veridical.records import Ints, Method, Predict, Record, Representer, Verdict

FEWEST = 10  # instances that a check can say anything of
MOST = 50  # instances that a check explains, where each costs little
DEAR = 20  # where each has samples of its own
DEAREST = 12  # and where each of those is a picture, a text or the like

Rng: TypeAlias = int | np.random.Generator
Train: TypeAlias = Callable[[Any, Any, int], Predict]  # instances, answers and a seed to a new predict function


@dataclass(frozen=True, slots=True, eq=False)
class Subject(Record):
    """A model and its data, as checks take them.

    ``train`` gives the predict function of a model that is trained anew; where ``predict`` is a method of a
    scikit-learn estimator, a clone of that is. ``training`` are the instances and answers that it was trained on;
    ``region`` is what it may wrongly rely on: names of columns or words, one mask an instance, or a
    ``vd.Concept``. ``shifted`` are instances of another kind than ``X``.
    """

    predict: Explainable
    represent: Representer
    X: Any  # instances
    y: Any = None  # and their right answers
    train: Train | None = None
    training: tuple[Any, Any] | None = None
    region: Any = None
    shifted: Any = None
    target: Any = None
    classes: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        Record.__post_init__(self)
        model = model_of(self.predict, self.classes)
        n = len(checked_representer(self.represent).each(self.X))
        if n < FEWEST:
            raise InputError(f"a check needs at least {FEWEST} instances to say anything; X has {n}: give more")
        if self.y is not None and n_rows(self.y) != n:
            raise InputError(f"y wants one right answer an instance: X has {n} of them, y {n_rows(self.y)}")
        if self.train is not None and not callable(self.train):
            raise InputError(
                "train wants a function of (X, y, seed) that gives the predict function of a new model, "
                f"not {self.train!r}"
            )
        several = "a check explains one target per instance; call it once for each target"
        check_single(self.target, model.classes, several)
        if self.training is not None:
            _check_pair(self.training)
        if self.train is None:
            object.__setattr__(self, "train", trainer_of(self.predict))

    @property
    def model(self) -> Model:
        """The predict function, its answers checked."""
        return model_of(self.predict, self.classes)

    def trained_on(self) -> tuple[Any, Any]:
        """Instances and right answers that a new model can be trained on; X and y if there are no others."""
        X, y = (self.X, self.y) if self.training is None else self.training
        if y is None:
            raise NotApplicable(
                "a new model cannot be trained without right answers: give training=(X_train, y_train), or y"
            )
        if np.ndim(y) == 1 and len(pd.unique(np.asarray(y))) < 2:
            raise NotApplicable("all right answers are the same, which teach a new model nothing: give others too")
        return X, y

    def trained(self, X: Any, y: Any, seed: int) -> Model:
        """A model trained anew on these instances."""
        if self.train is None:
            raise NotApplicable(
                "a new model has to be trained for this: give train=…, a function of (X, y, seed) that gives the "
                "predict function of a new model"
            )
        try:
            made = self.train(X, y, seed)
        except Exception as cause:
            raise ModelError(
                f"train(X, y, seed) failed with {type(cause).__name__} on {n_rows(X)} instances: {safe_str(cause)}"
            ) from cause
        try:
            found, own = model_of(made, self.classes), self.model
        except InputError as cause:
            raise ModelError(
                f"train must give the predict function of a new model, such as fresh.predict_proba: {cause}"
            ) from cause
        return found if found.classes is not None else own.with_predict(found.predict)


Check: TypeAlias = Callable[[Method, Subject, Rng], Verdict]


def trainer_of(predict: Any) -> Train | None:
    """How to train a clone of the scikit-learn estimator that predict is a method of, if it is one."""
    given = predict_of(predict) if isinstance(predict, BaseEstimator) else predict
    estimator, name = getattr(given, "__self__", None), getattr(given, "__name__", "")
    if not isinstance(estimator, BaseEstimator) or not hasattr(estimator, "fit"):
        return None

    def train(X: Any, y: Any, seed: int) -> Predict:
        fresh = clone(estimator)
        seeds = {key: seed for key in fresh.get_params() if key.split("__")[-1] == "random_state"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # what was broken on purpose need not converge
            found: Predict = getattr(fresh.set_params(**seeds).fit(X, y), name)
        return found

    return train


def rows_at(X: Any, rows: Ints | Sequence[int]) -> Any:
    """Some instances of any collection, or some of their answers."""
    at = np.asarray(rows, dtype=np.int64)
    if hasattr(X, "iloc"):
        return X.iloc[at]
    return X[at] if hasattr(X, "shape") else [X[i] for i in at.tolist()]


def _check_pair(training: Any) -> None:
    if not isinstance(training, (tuple, list)) or len(training) != 2:
        raise InputError(f"training wants a pair of instances and answers, not {type(training).__name__}")
    sizes = [n_rows(each) for each in training]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"training wants one answer an instance: there are {sizes[0]} instances and {sizes[1]} answers"
        )
