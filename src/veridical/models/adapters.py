"""Whatever can be explained (functions, estimators, boosters, networks, text pipelines), as one Model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import isroutine
from types import MethodType
from typing import Any, Protocol, TypeAlias

import numpy as np

from veridical.errors import InputError, ModelError, describe_error, safe_repr, safe_str
from veridical.models.outputs import Model, n_rows
from veridical.models.targets import as_plain, check_classes, list_classes
from veridical.models.torch_modules import Network, is_module
from veridical.protocols import Predict
from veridical.records import Floats


@dataclass(frozen=True)
class Factory:
    """A model that every worker process loads for itself, for models that cannot be pickled.

    Parameters
    ----------
    make : function
        Called without arguments, once in each process; returns the model, or its ``predict_proba``. This function
        is sent to the workers in place of the model, so it must be picklable.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def load_model():
    ...     return lambda X: X[:, 0] > 20
    >>> rows = vd.Rows(np.arange(80.0).reshape(40, 2))
    >>> vd.explain(vd.Factory(load_model), rows, [70.0, 1.0]).top(1)[0][0]
    'x0 = 70'
    """

    make: Callable[[], Predict]

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise InputError(
                f"a factory wants a function without arguments that returns predict, not {self.make!r}"
            )


METHODS = ("predict_proba", "decision_function", "predict")  # of an estimator, the most informative first
TAKE_LARGEST = (  # where estimators predict the class of the largest output, so that they need not be asked
    "sklearn.linear_model.",
    "sklearn.ensemble.",
    "sklearn.tree.",
    "sklearn.naive_bayes",
    "sklearn.neighbors.",
    "sklearn.neural_network.",
    "sklearn.discriminant_analysis",
    "xgboost.",
    "lightgbm.",
)
PAIRS = (
    "The outputs are scores of pairs of classes (decision_function_shape is 'ovo'), so that the target is the "
    "position of a pair, and no class."
)
TEXT_TASKS = ("text-classification", "sentiment-analysis")


class Predictor(Protocol):
    """An estimator or booster: anything with ``predict``."""

    def predict(self, X: Any, /) -> Any: ...


Explainable: TypeAlias = Predict | Predictor | Factory  # what every function that takes a model takes


def model_of(given: Any, classes: Sequence[Any] | None = None) -> Model:
    """Make one Model, whose answers are checked, of whatever can be explained.

    Parameters
    ----------
    given
        A function of a batch of inputs; an estimator or pipeline, by its ``predict_proba``, else its
        ``decision_function``, else its ``predict``; a booster of XGBoost, LightGBM or CatBoost; a Keras or torch
        network; a text-classification pipeline of Hugging Face; or a ``Factory`` that makes one of them. Foreign
        models are recognised by their attributes, so that no package is imported for it.
    classes
        The class of each output, where the model does not say so itself or other names are wanted.

    Returns
    -------
    Model
        The predict function with its classes.

    Raises
    ------
    InputError
        If it is none of these, or ``classes`` are no list of names.
    """
    named = None if classes is None else check_classes(classes)
    predict = predict_of(given)
    try:
        own = _classes_of(predict)
    except ModelError:
        if named is None:
            raise
        own = None
    if named is not None and own is not None:
        _check_order(named, own)
    if named is not None and len(named) == 2 and _gives_probability(predict):
        return Model(BothClasses(predict), named)
    name, owner = getattr(predict, "__name__", ""), getattr(predict, "__self__", None)
    if own is None:
        coarse = (name == "predict" or isinstance(predict, XgboostBooster)) and _is_coarse(predict)
        pairs = name == "decision_function" and _scores_pairs(owner)
        return Model(predict, named, coarse=coarse, notes=(PAIRS,) if pairs else ())
    known = own if named is None else named
    decides = name in METHODS[:2] and hasattr(owner, "predict") and not _takes_largest(predict, own)
    return Model(
        predict,
        known,
        found=named is None,
        labels=name == "predict",
        scores=name == "decision_function" and len(own) == len(known) == 2,
        decide=ClassPredictor(owner, own) if decides else None,
    )


def _check_order(named: tuple[Any, ...], own: tuple[Any, ...]) -> None:
    """Refuse the estimator's own classes in another order than its outputs have."""
    said, had = ([safe_str(each) for each in some] for some in (named, own))
    if said != had and sorted(said) == sorted(had):
        raise InputError(
            f"classes has the model's own classes in another order than its outputs, which is "
            f"{list_classes(own)}: give them in that order, or leave classes out"
        )


def predict_of(given: Any) -> Any:
    """The function of a batch that answers for a model."""
    if isroutine(given):
        return given
    if isinstance(given, Factory):
        try:
            made = given.make()
        except Exception as cause:
            raise ModelError(
                f"the factory raised {describe_error(cause)}; it is called without arguments, and must return the "
                "model"
            ) from cause
        return predict_of(made)
    if isinstance(given, type):
        raise InputError(f"{given.__name__} is a class: make a model of it, fit it, and pass that")
    if is_module(given):
        return Network(given)
    if _is_text_pipeline(given):
        return TextPipeline(given)
    if callable(getattr(given, "predict_on_batch", None)) and callable(getattr(given, "predict", None)):
        return KerasModel(given)
    if callable(given):
        return given
    if callable(getattr(given, "inplace_predict", None)) and callable(getattr(given, "predict", None)):
        return XgboostBooster(given)
    for name in METHODS:
        method = getattr(given, name, None)
        if callable(method):
            if name != "predict" or _classes_of(method) is None:
                return method
            return CatboostClassifier(given) if _of_package(given, "catboost") else Votes(given)
    kind = type(given).__name__
    raise InputError(
        f"a model is a function of a batch of inputs, an estimator with predict_proba or predict, a booster or a "
        f"network, not {kind}" + ("" if hasattr(given, "fit") else f" ({safe_repr(given, 60)})")
    )


@dataclass(frozen=True, eq=False)
class Adapter:
    """A model that is asked in another way than by a function of a batch."""

    model: Any


class KerasModel(Adapter):
    """A Keras model, without its progress bar."""

    def __call__(self, inputs: Any) -> Any:
        numbers = inputs.to_numpy() if hasattr(inputs, "iloc") else inputs
        return self.model.predict(numbers, verbose=0)


class XgboostBooster(Adapter):
    """A Booster of XGBoost, which takes matrices of its own kind."""

    def __call__(self, inputs: Any) -> Any:
        home: Any = sys.modules[type(self.model).__module__.partition(".")[0]]
        names = getattr(self.model, "feature_names", None)
        named = {} if hasattr(inputs, "iloc") or names is None else {"feature_names": names}
        return self.model.predict(home.DMatrix(inputs, enable_categorical=True, **named))

    @property
    def objective(self) -> str:
        """What it was trained for, such as "binary:logistic"; nothing where it does not say."""
        with suppress(Exception):
            return str(json.loads(self.model.save_config())["learner"]["objective"]["name"])
        return ""


@dataclass(frozen=True, eq=False)
class BothClasses:
    """Both probabilities of a model whose only output is the probability of the second of two classes."""

    predict: Any

    def __call__(self, inputs: Any) -> Floats:
        p = np.asarray(self.predict(inputs), dtype=np.float64).reshape(-1)
        return np.stack([1 - p, p], axis=1)


@dataclass(frozen=True, eq=False)
class ClassPredictor:
    """The classes that an estimator predicts, as their positions; None where it fails or has another one."""

    model: Any
    classes: tuple[Any, ...]

    def __call__(self, inputs: Any) -> list[int | None]:
        n = n_rows(inputs)
        try:
            said = np.asarray(self.model.predict(inputs)).reshape(n)
        except Exception:  # the outputs decide
            return [None] * n
        places = {each: i for i, each in enumerate(self.classes)}
        return [places.get(as_plain(each)) for each in said]


def identify(predict: Any) -> tuple[tuple[Any, ...], Any]:
    """What a model is asked by, and the object itself, which is the same whenever the same model is given."""
    if isinstance(predict, MethodType):
        return (predict.__func__,), predict.__self__
    if isinstance(predict, Adapter):
        kinds, inner = identify(predict.model)
        return (type(predict), *kinds), inner
    if isinstance(predict, BothClasses):
        kinds, inner = identify(predict.predict)
        return (BothClasses, *kinds), inner
    return (), predict


class Classifier(Adapter):
    """A classifier whose predict alone is asked."""

    @property
    def classes_(self) -> Any:
        """As of an estimator."""
        return self.model.classes_


class CatboostClassifier(Classifier):
    """A plain CatBoost classifier, whose predict gives raw scores unless probabilities are requested."""

    def __call__(self, inputs: Any) -> Any:
        return self.model.predict(inputs, prediction_type="Probability")


class Votes(Classifier):
    """A classifier that has nothing but predict: one output per class, 1 for the class that it predicts."""

    def __call__(self, inputs: Any) -> Floats:
        classes = np.asarray(self.model.classes_)
        found: Floats = (np.asarray(self.model.predict(inputs)).reshape(-1, 1) == classes).astype(np.float64)
        return found


class TextPipeline(Adapter):
    """A text-classification pipeline of Hugging Face, as probabilities of its labels in their own order."""

    @property
    def classes_(self) -> tuple[str, ...]:
        """The labels, as the model's configuration has them."""
        labels = self.model.model.config.id2label
        return tuple(str(labels[key]) for key in sorted(labels, key=int))

    def __call__(self, texts: Any) -> Floats:
        position = {label: i for i, label in enumerate(self.classes_)}
        answers = self.model([str(text) for text in texts], top_k=None)
        found = np.full((len(answers), len(position)), np.nan)
        for row, answer in zip(found, answers, strict=True):
            for each in [answer] if isinstance(answer, Mapping) else answer:
                if each["label"] not in position:
                    raise ModelError(
                        f"the pipeline answered with the label {each['label']!r}, which its configuration does "
                        f"not name: it has {', '.join(position)}"
                    )
                row[position[each["label"]]] = each["score"]
        return found


def _is_text_pipeline(given: Any) -> bool:
    """Whether it is a Hugging Face pipeline; those for other tasks are refused."""
    labels = getattr(getattr(getattr(given, "model", None), "config", None), "id2label", None)
    if not callable(given) or not hasattr(given, "task") or not hasattr(given, "tokenizer"):
        return False
    if given.task not in TEXT_TASKS or not isinstance(labels, Mapping):
        raise InputError(
            f"a pipeline for {given.task} cannot be explained by itself, one for text-classification can: pass a "
            "function that gives one number, or one row of numbers, per input"
        )
    return True


def _classes_of(predict: Any) -> tuple[Any, ...] | None:
    """The classes that the outputs of an estimator's method are of, as far as it says so."""
    owner = predict if isinstance(predict, Adapter) else getattr(predict, "__self__", None)
    if owner is None or isinstance(owner, type):
        return None
    if getattr(predict, "__name__", "") == "decision_function" and _scores_pairs(owner):
        return None
    try:
        known: Any = getattr(owner, "classes_", None)
        if isinstance(known, (str, bytes, Mapping, set, frozenset)) or not hasattr(known, "__iter__"):
            return None
        found = [as_plain(each) for each in known]
        hash(tuple(found))
    except Exception as cause:
        if any(kind.__name__ in ("NotFittedError", "TypeError") for kind in type(cause).__mro__):
            return None  # of several outputs, each has its own; what is not fitted says so when it is asked
        raise ModelError(
            f"the model's classes_ raised {describe_error(cause)}; pass classes=[…], the class of each output"
        ) from cause
    plain = bool(found) and not any(hasattr(each, "__iter__") and hasattr(each, "shape") for each in found)
    return tuple(found) if plain and getattr(known, "ndim", 1) == 1 else None


def _last_step(owner: Any) -> Any:
    """The estimator at the end of a pipeline or inside a search."""
    for _ in range(8):
        inside = getattr(owner, "best_estimator_", None)
        steps = getattr(owner, "steps", None)
        if inside is None and isinstance(steps, list) and steps and isinstance(steps[-1], tuple):
            inside = steps[-1][-1]
        if inside is None:
            return owner
        owner = inside
    return owner


def _scores_pairs(owner: Any) -> bool:
    """Whether the outputs of a decision function are of pairs of classes; of two there is but one pair."""
    last = _last_step(owner)
    if getattr(last, "decision_function_shape", None) != "ovo":
        return False
    return len(getattr(last, "classes_", ())) > 2


def _takes_largest(predict: Any, own: tuple[Any, ...]) -> bool:
    """Whether an estimator is known to predict the class of its largest output, or by the sign of the only one."""
    last = _last_step(predict.__self__)
    home = type(last).__module__
    if home.startswith("sklearn.svm."):  # whose probabilities are of another fit, and whose votes may tie
        return predict.__name__ == "decision_function" and (len(own) == 2 or "Linear" in type(last).__name__)
    return home.startswith(TAKE_LARGEST) and not hasattr(last, "final_estimator_")


def _is_coarse(predict: Any) -> bool:
    """Whether whole numbers of a function are labels: of an estimator that is no regressor, or of a softmax."""
    if isinstance(predict, XgboostBooster):
        return predict.objective == "multi:softmax"
    owner = getattr(predict, "__self__", None)
    if not hasattr(owner, "fit") or isinstance(owner, type):
        return False
    last = _last_step(owner)
    kind = getattr(last, "_estimator_type", None)
    with suppress(Exception):
        kind = kind or last.__sklearn_tags__().estimator_type
    return kind != "regressor"


def _gives_probability(predict: Any) -> bool:
    """Whether the only output of a function is known to be the probability of the second of two classes."""
    if isinstance(predict, XgboostBooster):
        return predict.objective == "binary:logistic"
    if isinstance(predict, KerasModel):
        layers = getattr(predict.model, "layers", None) or [None]
        shape, last = getattr(predict.model, "output_shape", None), getattr(layers[-1], "activation", None)
        return getattr(last, "__name__", "") == "sigmoid" and (shape is None or tuple(shape)[1:] == (1,))
    owner = getattr(predict, "__self__", None)
    if getattr(predict, "__name__", "") == "predict" and owner is not None and hasattr(owner, "dump_model"):
        with suppress(Exception):
            return _of_package(owner, "lightgbm") and str(owner.dump_model(1)["objective"]).startswith("binary")
    return False


def _of_package(given: Any, name: str) -> bool:
    return type(given).__module__.partition(".")[0] == name
