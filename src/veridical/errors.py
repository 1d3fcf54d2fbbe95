"""What can go wrong, and the one door to optional packages."""

from __future__ import annotations

import importlib
import math
import unicodedata
from numbers import Integral, Real
from types import ModuleType
from typing import Any

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
