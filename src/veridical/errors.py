"""Errors and warnings, the check of optional packages, and hints for keywords of other libraries."""

from __future__ import annotations

import importlib
import math
import sys
import unicodedata
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from numbers import Integral, Real
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "InputError",
    "MissingPackage",
    "MixedTargetsWarning",
    "ModelError",
    "NoSumWarning",
    "NotApplicable",
    "RowsFailedWarning",
    "VeridicalError",
]

JOINERS = frozenset("\u200c\u200d")  # invisible, but Persian and emoji cannot do without
LONGEST = 4000  # characters of a message
INSTALLED_AS = {"PIL": "pillow", "skimage": "scikit-image", "distributed": "'dask[distributed]'"}  # by import name


class VeridicalError(Exception):
    """Anything veridical raises on purpose; the message says what to do.

    Foreign names in it can neither steer a terminal nor flood it.
    """

    def __str__(self) -> str:
        return tame(super().__str__())


class InputError(VeridicalError, ValueError):
    """An argument cannot be used: what was wanted, what came, what to do."""


class NotApplicable(InputError):  # noqa: N818 - reads as what it is
    """A check has nothing to look at here: the message says why, and what to give."""


class ModelError(VeridicalError, ValueError):
    """The model raised, or gave an answer that cannot be explained."""


class UnequalAnswers(ModelError):  # noqa: N818 - reads as what it is
    """The model gave another number of outputs than before, which is no fault of a row."""


class RowsFailedWarning(UserWarning):
    """Some of many rows could not be explained: ``failed`` says which, and why."""


class NoSumWarning(UserWarning):
    """Weights were handed to something that adds them up, and they are no shares of the prediction."""


class MixedTargetsWarning(UserWarning):
    """Explanations of different targets were put into one record that has a single target."""


class MissingPackage(VeridicalError, ImportError):  # noqa: N818 - reads as what it is
    """An optional package is needed here and is not installed."""


def check_whole(name: str, value: Any, least: int = 1) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
        raise InputError(f"{name} must be a positive number, not {value!r}")


def check_number(name: str, value: Any) -> None:
    """Refuse what is not a number, or is missing."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(float(value)):
        raise InputError(f"{name} must be a number, not {value!r}")


def check_probability(name: str, value: Any) -> None:
    """Refuse what is not a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise InputError(f"{name} must be a number from 0 to 1, not {value!r}")


def safe_str(value: Any) -> str:
    """What ``str`` says of a foreign object, which may be an error that cannot be printed."""
    try:
        return str(value)
    except Exception:
        return f"it cannot be printed ({type(value).__name__})"


def describe_error(cause: BaseException) -> str:
    """The kind of a foreign error and what it says, even if it cannot be printed."""
    return f"{type(cause).__name__}: {safe_str(cause)}"


def safe_repr(value: Any, longest: int = 200) -> str:
    """What ``repr`` says of a foreign object, and no more than can be read."""
    try:
        shown = repr(value)
    except Exception:
        return f"it cannot be printed ({type(value).__name__})"
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say what to install, in a checkout too."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"this needs {package}, which is not installed: {install_words(package, extra)}"
        ) from cause


def install_words(package: str, extra: str) -> str:
    """How to install a package, or the extra that has it, from an index or in a checkout."""
    name = INSTALLED_AS.get(package, package)
    return f"pip install {name} (or the extra that has it: 'veridical[{extra}]', in a checkout '.[{extra}]')"


def public_name(kind: type) -> str:
    """How users write a class of ours: ``vd.Lime``, ``vd.methods.Undo``."""
    root, name = sys.modules["veridical"], kind.__name__
    if name in root._MODULES:
        return f"vd.{name}"
    for namespace, module in root._NAMESPACES.items():
        if getattr(sys.modules.get(module), name, None) is kind:
            return f"vd.{namespace}.{name}"
    return name


def tame(text: str, longest: int = LONGEST) -> str:
    """A message that neither steers a terminal nor floods it, whatever names are in it."""
    head = text if len(text) <= longest else f"{text[:longest]}…"
    return head if head.isprintable() else "".join(c if c == "\n" else harmless(c) for c in head)


def harmless(c: str) -> str:
    """A character that can neither steer nor hide nor break XML: a space or a replacement for those that can."""
    if c in "\t\n\r\v\f\x85\u2028\u2029":
        return " "
    hidden = unicodedata.category(c) in {"Cc", "Cf", "Cs"} and c not in JOINERS
    return "\ufffd" if hidden or ord(c) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(c) <= 0xFDEF else c


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
    usual |= {"kernel_width": "width", "feature_names": "names", "categorical_features": "categorical"}
    close = [usual[name]] if usual.get(name) in known else get_close_matches(name, known - {"self"}, n=1)
    said = f"here it is {close[0]}" if usual.get(name) in known else BELONGS.get(name)
    if said is None:
        said = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known - {'self'}))}"
    return f"{where} has no argument {name!r}: {said}"
