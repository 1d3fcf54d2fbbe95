"""Subjects of checks: a model with its data and what is known about both, and the cases that are drawn from them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from veridical.errors import InputError, ModelError, NotApplicable, safe_str
from veridical.methods.many import Plan, can_share, explain_all
from veridical.metrics.weights import count_invalid, has_weight, spread_blocks
from veridical.models.adapters import Explainable, model_of, predict_of
from veridical.models.outputs import VALUE, Model, n_rows, rows_at
from veridical.models.validation import check_request, seed_of
from veridical.protocols import Instances, MapMethod, Method, Predict, Representer, Seed, Shareable
from veridical.records import TOGETHER, Explanation, Floats, Ints, Output, Record, Verdict
from veridical.seeds import child_of, generator

MIN_INSTANCES = 10  # instances that a check can say anything of
MAX_CHEAP_INSTANCES = 50  # instances that a check explains, where each costs little
MAX_SAMPLED_INSTANCES = 20  # where each has samples of its own
MAX_COSTLY_INSTANCES = 12  # and where each of those is a picture, a text or the like

Rng: TypeAlias = int | np.random.Generator
Train: TypeAlias = Callable[[Any, Any, int], Predict]  # instances, answers and a seed to a new predict function


@dataclass(frozen=True, slots=True, eq=False)
class Subject(Record):
    """A model and its data, as checks take them.

    Parameters
    ----------
    model : estimator, torch module or callable
        The model: whatever ``vd.explain`` takes.
    representer : representer
        Turns instances into features that can be changed, such as ``vd.Rows(X_train)``.
    X : array, DataFrame or list
        Instances, at least 10.
    y : array, optional
        True answers, one per instance of ``X``.
    train : callable, optional
        ``train(X, y, seed)`` returns the predict function of a newly trained model. By default, if ``model`` is
        a method of a scikit-learn estimator, a clone of the estimator is trained.
    training : tuple of (X, y), optional
        The instances and answers that the model was trained on.
    region : names, masks, callable or Concept, optional
        What the model may wrongly rely on: names of columns or words, one mask per instance, a function from a
        Representation to the share of each feature, or a ``vd.concepts.Concept``.
    shifted : array, DataFrame or list, optional
        Instances of another kind than ``X``, for the check ``shift``.
    target : int, str or callable, optional
        The output to explain; by default the predicted class of each instance.
    classes : sequence, optional
        Names of the model's outputs.

    Examples
    --------
    >>> import veridical as vd
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> subject = vd.Subject(LogisticRegression(max_iter=500).fit(X, y), vd.Rows(X), X, y)
    >>> subject.checked_model(X[:5]).shape
    (5, 3)
    """

    model: Explainable
    representer: Representer
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
        several = "a check takes one target for all instances; call it once for each"
        check_request(self.model, self.representer, target=self.target, classes=self.classes, single=several)
        n = len(self.representer.each(self.X))
        if n < MIN_INSTANCES:
            raise InputError(
                f"a check needs at least {MIN_INSTANCES} instances to say anything; X has {n}: give more"
            )
        if self.y is not None and n_rows(self.y) != n:
            raise InputError(f"y needs one answer per instance: X has {n} instances, y {n_rows(self.y)}")
        if self.train is not None and not callable(self.train):
            raise InputError(
                "train must be a function of (X, y, seed) that returns the predict function of a new model, "
                f"not {self.train!r}"
            )
        if self.training is not None:
            if not isinstance(self.training, (tuple, list)) or len(self.training) != 2:
                raise InputError(
                    f"training needs a pair of instances and answers, not {type(self.training).__name__}"
                )
            n, n_answers = (n_rows(each) for each in self.training)
            if n != n_answers:
                raise InputError(
                    f"training needs one answer per instance: there are {n} instances and {n_answers} answers"
                )
        if self.train is None:
            object.__setattr__(self, "train", make_trainer(self.model))

    @property
    def checked_model(self) -> Model:
        """The model, with checked outputs."""
        return model_of(self.model, self.classes)

    def select(self, rows: Ints) -> Subject:
        """Return the same subject with some of its instances.

        Parameters
        ----------
        rows : array of int
            Positions in ``X``.

        Returns
        -------
        Subject
        """
        n, region = len(self.representer.each(self.X)), self.region
        several = isinstance(region, (list, np.ndarray)) and len(region) == n
        if several and all(np.ndim(each) or callable(each) for each in region):
            region = rows_at(region, rows)
        y = None if self.y is None else rows_at(self.y, rows)
        return replace(self, X=rows_at(self.X, rows), y=y, region=region)

    def training_data(self) -> tuple[Any, Any]:
        """Return instances and true answers that a new model can be trained on.

        Returns
        -------
        X, y
            ``training`` where it was given, else ``X`` and ``y``.

        Raises
        ------
        NotApplicable
            If there are no answers, or all are the same.
        """
        X, y = (self.X, self.y) if self.training is None else self.training
        if y is None:
            raise NotApplicable(
                "a new model cannot be trained without true answers: give training=(X_train, y_train), or y"
            )
        if np.ndim(y) == 1 and len(pd.unique(np.asarray(y))) < 2:
            raise NotApplicable("all answers are the same, from which a new model learns nothing: give others too")
        return X, y

    def train_model(self, X: Any, y: Any, seed: int) -> Model:
        """Train a new model on these instances.

        Parameters
        ----------
        X : array, DataFrame or list
            Instances to train on.
        y : array
            Their answers.
        seed : int
            Seed of the training.

        Returns
        -------
        Model
            The new model, with checked outputs.

        Raises
        ------
        NotApplicable
            If nothing says how a model is trained.
        ModelError
            If the training fails, or returns no predict function.
        """
        if self.train is None:
            raise NotApplicable(
                "this check trains a new model: give train=…, a function of (X, y, seed) that returns the "
                "predict function of a new model"
            )
        try:
            made = self.train(X, y, seed)
        except Exception as cause:
            raise ModelError(
                f"train(X, y, seed) failed with {type(cause).__name__} on {n_rows(X)} instances: {safe_str(cause)}"
            ) from cause
        try:
            found, own = model_of(made, self.classes), self.checked_model
        except InputError as cause:
            raise ModelError(
                f"train must return the predict function of a new model, such as fresh.predict_proba: {cause}"
            ) from cause
        return found if found.classes is not None else own.with_predict(found.predict)


Check: TypeAlias = Callable[[Method, Subject, Rng], Verdict]


def make_trainer(predict: Any) -> Train | None:
    """How to train a clone of the scikit-learn estimator that predict is a method of; None for other models."""
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


MAX_CHEAP_POINTS = 10  # points of an input that a gradient is taken at, up to which a map costs little
# What seeds are for: the explanations, those of another seed, which instances
FIRST_TIME, SECOND_TIME, INSTANCE_ORDER = range(3)


@dataclass(frozen=True, eq=False)
class Cases:
    """Instances with a target each, which stays the same whatever model is asked."""

    method: Method
    subject: Subject
    rows: Ints  # (n,) of the subject's X, in order
    outputs: Floats  # (n, k) of the subject's model
    targets: tuple[Any, ...]  # (n,)
    seed: Seed

    @property
    def X(self) -> Any:  # noqa: N802 - as users write it
        """The instances."""
        return rows_at(self.subject.X, self.rows)

    @property
    def inputs(self) -> Any:
        """The instances as the model takes them."""
        return self.subject.representer.each(self.X).inputs(0, len(self.rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """That not all instances were looked at, where it is so."""
        n, every = len(self.rows), len(self.subject.representer.each(self.subject.X))
        return (f"{n} of {every} instances, drawn at random, were explained.",) if n < every else ()

    def explain(self, key: int = FIRST_TIME, model: Model | None = None, X: Any = None) -> tuple[Explanation, ...]:
        """An explanation an instance, or of others in their place; another key draws other samples.

        Instances with the same target share their samples where the method can: a check costs little more than
        one explanation of each.
        """
        model, X = model or self.subject.checked_model, self.X if X is None else X
        found: list[Explanation | None] = [None] * len(self.rows)
        for number, target in enumerate(dict.fromkeys(self.targets)):
            at = [i for i, own in enumerate(self.targets) if own == target]
            instances = self.subject.representer.each(rows_at(X, at))
            seed = child_of(self.seed, key, number)
            made = explain_all(self.method, model, instances, target, seed, Plan())
            for i, each in zip(at, by_features(made, instances), strict=True):
                found[i] = check_explanation(each)
        return tuple(each for each in found if each is not None)


def check_explanation(explanation: Explanation) -> Explanation:
    """An explanation with a finite weight for each part."""
    bad = count_invalid(explanation)
    if bad or explanation.weights.shape != (len(explanation.parts),):
        what = (
            f"{bad} weights that are NaN or infinite" if bad else f"weights of shape {explanation.weights.shape}"
        )
        raise InputError(
            f"the method gave {what} for {len(explanation.parts)} features; it must give one number per feature"
        )
    return explanation


def check_not_empty(explanations: Sequence[Explanation], so: str = "so they show nothing") -> None:
    """Refuse explanations of a model that answers the same to everything: they can show nothing."""
    if np.mean([not has_weight(each) for each in explanations]) > 0.5:
        raise NotApplicable(f"most explanations are empty: the model answers the same whatever is changed, {so}")


def draw_cases(method: Method, subject: Subject, rng: Rng, most: int | None = None) -> Cases:
    """At most so many instances, drawn at random; each has the class that is predicted for it as target."""
    seed, instances = seed_of(rng), subject.representer.each(subject.X)
    rows = draw_order(len(instances), seed)[: most or count_affordable(method, instances)]
    return build_cases(method, subject, rows, seed)


def draw_order(n: int, seed: Seed) -> Ints:
    """All instances in the random order in which they are taken."""
    return generator(seed, INSTANCE_ORDER).permutation(n)


def build_cases(method: Method, subject: Subject, rows: Ints, seed: Seed) -> Cases:
    """These instances, in order, each with the given target, or else the class that is predicted for it."""
    rows = np.sort(rows)
    outputs = subject.checked_model(subject.representer.each(rows_at(subject.X, rows)).inputs(0, len(rows)))
    targets: tuple[Any, ...] = (subject.target,) * len(rows)
    if subject.target is None and outputs.shape[1] == 1:
        targets = (VALUE,) * len(rows)
    elif subject.target is None:
        targets = tuple(Output(i) for i in np.argmax(outputs, axis=1))
    return Cases(method, subject, rows, outputs, targets, seed)


def explain_rows(method: Method, subject: Subject, rows: Ints, seed: Seed) -> tuple[Explanation, ...]:
    """Explanations of these instances, to be shown."""
    instances = subject.representer.each(rows_at(subject.X, rows))
    found = explain_all(method, subject.checked_model, instances, subject.target, seed, Plan())
    return tuple(check_explanation(each) for each in by_features(found, instances))


def by_features(made: Iterable[Explanation], instances: Instances) -> Iterator[Explanation]:
    """Explanations by the features of their instances: blocks of columns are taken apart."""
    for i, each in enumerate(made):
        blocks = any(part.relation == TOGETHER for part in each.parts)
        yield spread_blocks(each, instances.batch(i, i + 1)[0].parts) if blocks else each


def count_affordable(method: Method, instances: Instances) -> int:
    """How many instances a check explains: it depends on what an explanation costs."""
    if isinstance(method, MapMethod):
        return MAX_CHEAP_INSTANCES if method.n_points <= MAX_CHEAP_POINTS else MAX_SAMPLED_INSTANCES
    first = instances.batch(0, 1)[0]
    if can_share(method, first):
        return MAX_CHEAP_INSTANCES
    return MAX_SAMPLED_INSTANCES if isinstance(first, Shareable) else MAX_COSTLY_INSTANCES
