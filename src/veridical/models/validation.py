"""Arguments of public functions, checked once: requests, seeds, row names, what a method returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from veridical.errors import InputError, ModelError
from veridical.models.adapters import model_of
from veridical.models.outputs import Model
from veridical.models.targets import check_single, is_several
from veridical.protocols import Representation, Unfamiliar
from veridical.records import Explanation
from veridical.representations.fields import Fields
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import as_pandas


@dataclass(frozen=True, eq=False)
class Request:
    """What a public function is asked, checked: of which model, how its inputs are seen, which outputs, and a seed."""

    model: Model
    representer: Any
    targets: tuple[Any, ...]
    several: bool  # they came as a list
    seed: np.random.SeedSequence


def check_request(
    model: Any,
    representer: Any,
    *,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: Any = 0,
    single: str | None = None,
) -> Request:
    """Check what every public function takes; ``single`` is what is said of several targets, where one is wanted."""
    own = model_of(model, classes)
    if isinstance(representer, type) and hasattr(representer, "each"):
        raise InputError(f"representer wants settings: call the class, as in vd.{representer.__name__}(…)")
    if not callable(representer) or not hasattr(representer, "each") or isinstance(representer, type):
        raise InputError(
            f"representer must say what the parts are, such as vd.Rows(X_train), not {type(representer).__name__}"
        )
    if single is not None:
        check_single(target, own.classes, single)
    several = isinstance(target, (list, tuple)) and is_several(target, own.classes)
    targets = tuple(target) if several else (target,)
    if not targets:
        raise InputError("the list of targets is empty: name at least one, or leave target out")
    return Request(own, representer, targets, several, seed_of(rng))


def name_unseen(error: ModelError, representation: Representation) -> ModelError:
    """An error of the model, with the categories of the instance that the background never has."""
    if not isinstance(representation, Unfamiliar) or not representation.unseen:
        return error
    named = ModelError(
        f"{error}; the background never has {', '.join(representation.unseen)}, which the model may not know"
    )
    named.__cause__ = error.__cause__  # the model's own: among many, errors that cause errors of ours are left out
    return named


def seed_of(rng: Any) -> np.random.SeedSequence:
    """A seed, or a Generator to draw one from."""
    if isinstance(rng, np.random.Generator):
        words = rng.integers(0, 2**32, 4, dtype=np.uint64)
        return np.random.SeedSequence(int(sum(int(w) << (32 * i) for i, w in enumerate(words))))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, (bool, np.bool_)) and rng >= 0:
        return np.random.SeedSequence(int(rng))
    raise InputError(f"rng must be a whole number from 0 on, or a numpy Generator, not {rng!r}")


def check_explanations(found: Any, n: int = 1) -> tuple[Explanation, ...]:
    """What a method returned, which may be the caller's own: a tuple with one explanation per target."""
    if not isinstance(found, (tuple, list)):
        came = f"{type(found).__name__}"
    elif len(found) != n:
        came = f"{len(found)} of them"
    else:
        wrong = [type(each).__name__ for each in found if not isinstance(each, Explanation)]
        if not wrong:
            return tuple(found)
        came = f"{wrong[0]} in it"
    raise InputError(
        f"a method must return a tuple of explanations, one per target (here {n}); it returned {came}"
    )


def explanations_of(what: str, many: Any) -> tuple[Explanation, ...]:
    """Any collection of explanations."""
    found = check_list(what, many)
    wrong = [type(each).__name__ for each in found if not isinstance(each, Explanation)]
    if wrong:
        raise InputError(
            f"{what} must be a list of explanations, as explain_many gives; there is a {wrong[0]} in it"
        )
    return found


def check_list(what: str, items: Any) -> tuple[Any, ...]:
    """A list of something, whatever its kind; a text is none."""
    if not isinstance(items, Iterable) or isinstance(items, (str, bytes)):
        raise InputError(f"{what} must be a list, not {items!r}")
    return tuple(items)


class OneThread:
    """Limit linear algebra to one thread while any thread of this process is inside.

    Some libraries count threads for the whole process, others for each thread that calls them: so the limit is set
    at each entry, and only the last to leave lifts it.
    """

    def __init__(self) -> None:
        self.lock, self.n_inside = Lock(), 0
        self.limits: Any = None

    def __enter__(self) -> None:
        with self.lock:
            limits = threadpool_limits(1, "blas")
            self.limits = self.limits if self.n_inside else limits
            self.n_inside += 1

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            self.n_inside -= 1
            if not self.n_inside:
                self.limits.restore_original_limits()


one_thread = OneThread()


def get_row_name(represent: Any, x: Any) -> Any:
    """The name of one row: that of a Series, or the label of a DataFrame of one row; None where there is none."""
    if not isinstance(represent, (Rows, Fields)):
        return None  # a series or a table of numbers is an instance with axes of its own
    x = as_pandas(x)
    if isinstance(x, pd.Series):
        return _plain_name(x.name)
    if isinstance(x, pd.DataFrame) and len(x) == 1:
        names = get_index_names(x.index)
        return None if names is None else names[0]
    return None


def get_row_names(X: Any) -> list[Any] | None:
    """The names of many rows; None where they have none but their numbers."""
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return get_index_names(X.index)
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, pd.Series) and x.name is not None for x in X):
        return [_plain_name(x.name) for x in X]
    return None


def get_index_names(index: pd.Index) -> list[Any] | None:
    """The labels of an index; None where they are just the numbers 0, 1, 2, … that every frame begins with."""
    if isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1:
        return None
    return [_plain_name(label) for label in index.tolist()]


def split_names(represent: Any, X: Any) -> tuple[Any, list[Any] | None]:
    """Instances and their names; a mapping of names to instances is taken apart.

    A mapping of columns is refused: it would be read the wrong way round.
    """
    X = as_pandas(X)
    if isinstance(X, Set):
        raise InputError(
            f"X must be many instances in an order: pass a DataFrame or a list, not a {type(X).__name__}"
        )
    if not isinstance(X, Mapping):
        return X, get_row_names(X)
    if isinstance(represent, (Rows, Fields)) and not all(isinstance(x, Mapping) for x in X.values()):
        raise InputError(
            "X is a mapping whose values are no records: pass a DataFrame, or a mapping of names to records, each "
            "a mapping of columns to values"
        )
    return list(X.values()), [_plain_name(name) for name in X]


def _plain_name(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def name_at(names: Sequence[Any] | None, number: int) -> Any:
    """The name of a row, or its number where rows have none."""
    return number if names is None else names[number]
