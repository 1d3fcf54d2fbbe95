"""What a caller wants examined, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from veridical.attribute import METHODS
from veridical.attribute.ask import Model, n_rows
from veridical.attribute.network import Network
from veridical.debug.adversary import CAUSES
from veridical.debug.adversary.records import FEW, Aim, Decision, Kind, aimed, labels_of
from veridical.debug.adversary.swaps import EditedColumns
from veridical.debug.records import rows_at
from veridical.debug.veracity.orders import NULLS, REFERENCES, RESIDUAL, Typical
from veridical.debug.veracity.trials import Examination
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.report import named
from veridical.records import Bools, Method, Refillable, Representer, Seed

EXAMPLE = "vd.NoisyParts()"
TEXTS, TABLES = ("swapped_words",), ("edited_columns",)
ARRAYS = ("noisy_parts", "drawn_shape", "swapped_parts")
TURNED = 0.5  # forests are seldom surer of what one column turns, or three
USUAL = {"edited_columns": (EditedColumns(confidence=TURNED), EditedColumns(k=3, confidence=TURNED))}


def examination(
    asked: tuple[Model, Representer, Any],
    methods: Mapping[str, Method],
    causes: Any,
    *,
    y: Any = None,
    decision: Decision | None = None,
    wanted: Any = None,
    seed: Seed,
) -> Examination:
    """All that is to be examined; instances that the model decides wrongly by itself are left out."""
    model, represent, X = asked
    aim = aimed(model, represent, X, decision=decision, wanted=wanted)
    right = _right(aim, y)
    if not right.any():
        raise NotApplicable("the model decides every instance wrongly by itself: there is no decision to change")
    if not right.all():
        rows = np.flatnonzero(right)
        own = (
            wanted if wanted is None or isinstance(wanted, str) or np.ndim(wanted) == 0 else rows_at(wanted, rows)
        )
        aim = aimed(model, represent, rows_at(X, rows), decision=decision, wanted=own)
    first = represent.each(aim.X).batch(0, 1)[0]
    kinds = causes_of(causes, model, first)
    taken = [name for name in methods if name in (*REFERENCES, *NULLS)]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of a row of its own: give the method another")
    nulls = NULLS if isinstance(first, Refillable) else tuple(name for name in NULLS if name != RESIDUAL)
    return Examination(aim, methods, kinds, REFERENCES, nulls, seed, Typical.of(X), int((~right).sum()))


def causes_of(causes: Any, model: Model, representation: Any) -> dict[str, Kind]:
    """Kinds of causes by name; by default those that fit the instances and the model."""
    if causes is None:
        names = defaults(model, representation)
        causes = [kind for name in names for kind in USUAL.get(name, (CAUSES[name](),))]
    found = named(causes, "cause", EXAMPLE)
    for kind in found.values():
        if isinstance(kind, tuple(METHODS.values())):
            raise InputError(
                f"causes wants kinds of cause, such as {EXAMPLE}; vd.{type(kind).__name__} is a method"
            )
        if isinstance(kind, type) or not callable(kind):
            raise InputError(f"causes wants settings, such as {EXAMPLE}, not {kind!r}")
    return found


def defaults(model: Model, representation: Any) -> Sequence[str]:
    """Names in CAUSES that fit: words are swapped, columns edited; arrays are attacked and edited."""
    view = getattr(representation, "view", None)
    if view is None and hasattr(representation, "row"):
        return TABLES
    if view is not None and view.kind == "fields":
        raise NotApplicable(
            "records of several fields have no kind of cause that changes them: give the model, the representer "
            "and the instances of one field"
        )
    if view is not None and view.kind == "text":
        return TEXTS
    return ("pgd" if isinstance(model.predict, Network) else "square", *ARRAYS)


def _right(aim: Aim, y: Any) -> Bools:
    """Where the model decides as it should; everywhere if nobody knows."""
    n = len(aim)
    if y is None:
        return np.ones(n, bool)
    if n_rows(y) != n:
        raise InputError(f"y wants one right answer an instance: X has {n} of them, y {n_rows(y)}")
    names = [_key(name) for name in labels_of(aim.model, aim.outputs.shape[1])]
    known = {name: at for at, name in enumerate(names)}
    own = aim.model.classes is not None and not aim.model.found  # the caller's names stand as the outputs do
    if own and not any(name.lstrip("-").isdigit() for name in names):
        known |= {str(at): at for at in range(len(names))}
    answers = np.asarray(y).tolist()
    labels = [known.get(_key(each)) for each in answers]
    if None in labels:
        has = f"{', '.join(names[:FEW])}{', …' * (len(names) > FEW)}"
        raise InputError(
            f"y has {answers[labels.index(None)]!r}, which is no label of the model: it has {has}; name them "
            "by classes=[…] as y does, or leave y out"
        )
    return np.asarray(np.array(labels) == aim.labels)


def _key(label: Any) -> str:
    """A label as words, the same for 1, 1.0, True and a NumPy number."""
    whole = isinstance(label, (float, np.floating)) and float(label).is_integer()
    return str(int(label) if whole or isinstance(label, (bool, np.bool_)) else label)
