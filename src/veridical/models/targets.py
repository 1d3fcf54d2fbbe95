"""Targets: which output is explained, named by its class, its position or a function of the outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, ModelError, VeridicalError, safe_repr, safe_str
from veridical.models.outputs import VALUE, Model
from veridical.records import Floats, Output

KINDS = "a class, a position among the outputs or a function of them"
MAX_CLASSES_SHOWN = 12  # in a message
SHARES = 1e-3  # by how much the sum of outputs may differ from 1, if they are shares of classes
HINT = "give one of them, a function of the outputs, or a position among the outputs, such as vd.records.Output(0)"


@dataclass(frozen=True, eq=False)
class Target:
    """The output that is explained."""

    key: Any  # what a recipe keeps: "value", {"output": position}, also with "negated", or {"function": name}
    read: Callable[[Floats], Floats]  # outputs (n, k) to values (n,)
    label: Any  # what a reader sees: the class itself, an Output, "value" or the name of a function


@dataclass(frozen=True)
class Predicted:
    """The class of a position, which the model itself predicts for an instance."""

    position: int


def predict_classes(model: Model, inputs: Any) -> list[Predicted | None]:
    """The classes that a model itself predicts for inputs; None where its outputs tell."""
    assert model.decide is not None
    return [None if position is None else Predicted(position) for position in model.decide(inputs)]


def resolve(target: Any, model: Model, outputs: Floats) -> Target:
    """The output that the caller asked for; by default that of the class predicted for the instance."""
    k = outputs.shape[1]
    classes, known, second = model.names_of(k), model.classes or (), model.scores and k == 1
    if callable(target) and not isinstance(target, type):
        name = str(getattr(target, "__name__", "target"))
        return Target({"function": name}, _function_reader(target), name)
    if isinstance(target, Predicted) and (second or k == len(known)):
        index = target.position
    elif target is None or isinstance(target, Predicted):
        index = int(outputs[0, 0] >= 0) if second else int(np.argmax(outputs[0]))
    elif isinstance(target, Output):
        index = check_position(target, k) + second
    elif classes is None:
        index = _position(as_plain(target), k, model.labels)
    elif k == 1 and _is_value(target) and find_class(target, known) is None:
        index = int(second)
    else:
        index = choose_class(target, known)
    if second and not index:
        return Target({"output": 0, "negated": True}, lambda outputs: -outputs[:, 0], known[0])
    if classes is None and k == 1:
        return Target(VALUE, lambda outputs: outputs[:, 0], VALUE)
    index -= second  # the only output is of the second class
    label = Output(index) if classes is None else classes[index]
    return Target({"output": index}, lambda outputs: outputs[:, index], label)


def sides_of(
    target: Target, model: Model, outputs: Floats, local: float
) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """The class that a local model decides for, and that of the model, each with its output; None if there is no class.

    ``outputs`` (k,) are the model's own for the instance, and ``local`` is what the local model says of the target.
    Where outputs are shares, the other classes have what it leaves in the model's proportions.
    """
    k, key = len(outputs), target.key
    if not isinstance(key, Mapping) or "output" not in key:
        return None
    classes, i = model.names_of(k), key["output"]
    if k == 1:
        if not model.scores:
            return None
        known, score = model.classes or (), -local if "negated" in key else local
        own = float(outputs[0])
        return (safe_str(known[int(score >= 0)]), score), (safe_str(known[int(own >= 0)]), own)
    shares = bool(outputs.min() >= 0) and abs(float(outputs.sum()) - 1) < SHARES
    rivals = outputs.copy()
    rivals[i] = -np.inf
    j = int(rivals.argmax())
    own, rival = float(outputs[i]), float(outputs[j])
    if own == rival or (classes is None and not shares):
        return None
    left = rival
    if shares:
        left = rival * (1 - local) / (1 - own) if own < 1 else (1 - local) / (k - 1)
    names = [safe_str(classes[at]) if classes else str(Output(at)) for at in (i, j)]
    here, there = local < left, own < rival
    return (names[here], (local, left)[here]), (names[there], (own, rival)[there])


def target_of_recipe(recipe: Mapping[str, Any], model: Model) -> Any:
    """The target that a recipe keeps, for ``resolve``; in older recipes a whole number is a position."""
    key = recipe["target"]
    if isinstance(key, Mapping) and "function" in key:
        raise InputError(
            f"the target was the function {safe_repr(key['function'])}, which a recipe cannot hold: call explain "
            "with it"
        )
    if isinstance(key, Mapping) and key.get("negated") is True and model.scores:
        return (model.classes or ())[0]
    if isinstance(key, Mapping) and set(key) != {"output"}:
        raise InputError(f"the recipe's target, {safe_repr(key)}, is none of this model's outputs")
    position = key["output"] if isinstance(key, Mapping) else key
    return Output(position) if isinstance(position, int) and not isinstance(position, bool) else position


def is_several(target: Any, classes: Sequence[Any] | None) -> bool:
    """Whether a target is several of them: any list, and a tuple that is no class itself."""
    if isinstance(target, tuple):
        return find_class(target, classes or ()) is None
    return isinstance(target, list)


def check_single(target: Any, classes: Sequence[Any] | None, said: str) -> None:
    """Refuse several targets, with what is said of that, and what can be none."""
    if is_several(target, classes):
        raise InputError(said)
    try:
        hash(as_plain(target))
    except Exception as cause:
        raise InputError(f"a target is {KINDS}, not {safe_repr(target)}") from cause


def choose_class(target: Any, classes: Sequence[Any]) -> int:
    """The position of the class that a target names, or an error that names the classes."""
    found = find_class(target, classes)
    if found is None:
        raise InputError(f"no class is {safe_repr(target)}; the classes are {list_classes(classes)}: {HINT}")
    return found


def find_class(target: Any, classes: Sequence[Any]) -> int | None:
    """The position of a class: the same value of the same type, else an equal number, else the only one that is
    written so; True is never taken for 1. None where there is no such class."""
    wanted = as_plain(target)
    for rule in (_is_same, _is_equal, _is_written):
        found = [i for i, each in enumerate(classes) if rule(wanted, as_plain(each))]
        if len(found) > 1:
            like = " or ".join(f"vd.records.Output({i})" for i in found[:MAX_CLASSES_SHOWN])
            raise InputError(
                f"{len(found)} classes may be meant by {safe_repr(target)}; the classes are "
                f"{list_classes(classes)}: give the class itself or its position, {like}"
            )
        if found:
            return found[0]
    return None


def list_classes(classes: Sequence[Any]) -> str:
    """The first classes, as a caller would write them."""
    some = ", ".join(safe_repr(each) for each in classes[:MAX_CLASSES_SHOWN])
    return some + ", …" * (len(classes) > MAX_CLASSES_SHOWN)


def check_classes(classes: Any) -> tuple[Any, ...]:
    """The caller's classes in the order of the outputs, as plain Python values."""
    if isinstance(classes, (str, bytes, set, frozenset, Mapping)) or not hasattr(classes, "__iter__"):
        kind = "a set, which has no order" if isinstance(classes, (set, frozenset)) else safe_repr(classes)
        raise InputError(f"classes wants a list with the class of each output, in their order, not {kind}")
    if getattr(classes, "ndim", 1) != 1:
        raise InputError(f"classes wants one class per output, not an array of shape {classes.shape}")
    try:
        found = tuple(as_plain(each) for each in classes)
        hash(found)
    except VeridicalError:
        raise
    except Exception as cause:
        raise InputError(
            f"classes wants names or other values, one per output, that can be told apart: {safe_str(cause)}"
        ) from cause
    if not found:
        raise InputError("classes is empty: name the class of each output, or leave classes out")
    return found


def as_plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; dates and durations become those of pandas."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, tuple):
        return tuple(as_plain(each) for each in value)
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return float(value) if isinstance(value, np.longdouble) else value.item()


def check_position(position: int, k: int) -> int:
    """A position among k outputs."""
    if not 0 <= position < k:
        has = "one output, 0" if k == 1 else f"outputs 0 to {k - 1}"
        raise InputError(f"there is no output {int(position)}; the model has {has}")
    return int(position)


def _position(target: Any, k: int, labels: bool) -> int:
    """The position that a target means where no classes are known, or the only output is one."""
    if k == 1 and (_is_value(target) or (type(target) is int and target == 0)):
        return 0
    if k == 1 and labels:
        raise InputError(
            f"predict gives classes themselves, not a number for each of them, so that {safe_repr(target)} is no "
            "output: pass the model itself or its predict_proba"
        )
    if isinstance(target, str):
        raise InputError(
            f"the target {safe_repr(target)} is a name, but the model's classes are not known: pass the position "
            "of the output, or classes=[…]"
        )
    if isinstance(target, bool) or not isinstance(target, int):
        raise InputError(f"a target is {KINDS}, not {safe_repr(target)}; for several targets give a list")
    return check_position(target, k)


def _is_value(target: Any) -> bool:
    return isinstance(target, str) and target == VALUE


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return type(a) is type(b) and _are_equal(a, b)


def _is_equal(a: Any, b: Any) -> bool:
    """Equal, though of another type, as 2 and 2.0 are; True and False are like nothing but themselves."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    if isinstance(a, Output):
        return False  # a position is no class of the same number
    return isinstance(a, bool) == isinstance(b, bool) and _are_equal(a, b)


def _are_equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)
    except Exception:
        return False


def _is_written(a: Any, b: Any) -> bool:
    """Whether a text is how a class is written."""
    if not isinstance(a, str) or isinstance(b, str):
        return False
    forms = {safe_str(b)}
    if isinstance(b, float):
        forms.add(f"{b:.15g}")
    if isinstance(b, datetime) and b is not pd.NaT and b == datetime(b.year, b.month, b.day, tzinfo=b.tzinfo):
        forms.add(date(b.year, b.month, b.day).isoformat())
    return a in forms


def _function_reader(target: Callable[[Floats], Any]) -> Callable[[Floats], Floats]:
    def read(outputs: Floats) -> Floats:
        try:
            values = np.asarray(target(outputs), dtype=np.float64)
        except VeridicalError:
            raise
        except Exception as cause:
            raise InputError(
                f"the target function failed on outputs of shape {outputs.shape} with {type(cause).__name__}: "
                f"{safe_str(cause)}; it must give one number per row"
            ) from cause
        if values.shape != (len(outputs),):
            raise InputError(
                f"the target function must give one number per row of outputs: {len(outputs)} rows, "
                f"answer of shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ModelError(
                "the target function gives NaN or infinity near the instance; a logit, say, needs its "
                "probabilities clipped away from 0 and 1"
            )
        return values

    return read
