"""Keywords of other libraries: where what they mean belongs here."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from veridical.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

SEED = "the seed is the argument rng of vd.explain and others, as in rng=0"
SAMPLES = "the method has the number of samples, as in method=vd.Lime(n_samples=1000)"
FEATURES = (
    "the method has the number of parts to keep, as in method=vd.Lime(n_features=5), and why.top(5) shows five"
)
BELONGS = {  # keywords of lime, shap and scikit-learn
    "random_state": SEED,
    "random_seed": SEED,
    "seed": SEED,
    "n_samples": SAMPLES,
    "num_samples": SAMPLES,
    "nsamples": SAMPLES,
    "n_features": FEATURES,
    "num_features": FEATURES,
    "kernel_width": "the method has the width of the kernel, as in method=vd.Lime(width=0.5)",
    "top_labels": "several targets are given as a list, as in target=[0, 1]",
    "labels": "what is explained is the argument target, and classes are named by classes=[…]",
    "class_names": "classes are named by classes=[…]",
    "feature_names": "the representer has the names of columns, as in vd.Rows(X, names=[…])",
}


def teach_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, which says of a keyword that it does not know where that belongs."""
    known = set(signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name in kwargs:
            if name not in known:
                raise InputError(_unknown(name, checked.__name__, known))
        return function(*args, **kwargs)

    return checked


def teach_settings(settings: type[T]) -> type[T]:
    """The same class of settings, which says of a keyword that it does not know where that belongs."""
    made = teach_keywords(settings.__init__)
    made.__name__ = settings.__name__
    settings.__init__ = made  # type: ignore[method-assign]
    return settings


def _unknown(name: str, where: str, known: set[str]) -> str:
    usual = {"num_samples": "n_samples", "nsamples": "n_samples", "num_features": "n_features"}
    usual |= {"kernel_width": "width", "feature_names": "names"}
    close = [usual[name]] if usual.get(name) in known else get_close_matches(name, known - {"self"}, n=1)
    said = f"here it is {close[0]}" if usual.get(name) in known else BELONGS.get(name)
    if said is None:
        said = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known - {'self'}))}"
    return f"{where} has no argument {name!r}: {said}"
