"""Explanations that are judged by their fidelity: ours, and those of the lime and shap packages, as local models.

Each explains a case by a seed and gives its local model as a function of samples, the weight of every column or
part, the calls, and the seconds that it took beyond the model's own. A package that is not installed, or that cannot
take a table, gives nothing.
"""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import veridical as vd
from cases import Case, Drawn, MaskCase, TableCase
from laws import Floats

CALLS = 2048
REFERENCES = 16  # background rows by which shap replaces columns; so many calls for each of its masks


@dataclass(frozen=True, eq=False)
class Local:
    """A local model, and what it took."""

    values: Callable[[Drawn], Floats]
    weights: Mapping[str, float]  # by column, word or region
    calls: int
    seconds: float  # beyond the model's own
    fidelity: float = float("nan")  # what it says of itself


class Timed:
    """A function of a batch that knows how many inputs it was called with, and how long it took."""

    def __init__(self, function: Callable[[Any], Floats]) -> None:
        self.function, self.calls, self.seconds = function, 0, 0.0

    def __call__(self, inputs: Any) -> Floats:
        start = perf_counter()
        outputs = self.function(inputs)
        self.calls += len(inputs)
        self.seconds += perf_counter() - start
        return outputs


def by_lime(**settings: Any) -> Callable[[Case, int], Local]:
    """``vd.Lime``; the model is a function, of which nothing is known inside."""

    def explain(case: Case, seed: int) -> Local:
        timed, method = Timed(case.predict), vd.Lime(max_calls=CALLS, **settings)
        start = perf_counter()
        why = vd.explain(timed, case.represent, case.instance, method=method, rng=seed)
        seconds = perf_counter() - start - timed.seconds
        if isinstance(case, TableCase):
            return Local(lambda s: local_values(why, s.inputs), summed(why), timed.calls, seconds, why.fidelity)
        at = [case.names.index(name) for name in why.names] if isinstance(case.instance, str) else slice(None)
        weights = dict(zip(np.array(case.names)[at], np.nan_to_num(why.weights), strict=True))
        return Local(lambda s: local_values(why, None, s.kept[:, at]), weights, timed.calls, seconds, why.fidelity)

    return explain


def local_values(why: vd.Explanation, inputs: Any, masks: npt.NDArray[np.bool_] | None = None) -> Floats:
    """What the local model of an explanation says of inputs, or of masks where parts are kept or taken away.

    Of a linear one of a table it is a weighted sum of the columns in the instance's own bins.
    """
    if masks is not None or why.curves:
        return vd.surrogates.local_values(why, inputs if masks is None else masks)
    values: Floats = why.intercept + own_bins(why, inputs) @ np.nan_to_num(why.weights)
    return values


def own_bins(why: vd.Explanation, table: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Which columns of each row are in the bin or category of each part, read off its relation and value."""

    def holds(part: vd.records.Part) -> Any:
        column, value = table[part.column], part.value
        match part.relation:
            case "≤":
                return column <= value
            case ">":
                return column > value
            case "in":
                return (value[0] < column) & (column <= value[1])
            case "is missing":
                return column.isna()
            case "=" if value is None:  # a column of one value
                return column == column
            case "=":
                return column == value
        raise ValueError(f"no bin: {part}")

    return np.stack([np.asarray(holds(part), bool) for part in why.parts], axis=1)


def summed(why: vd.Explanation) -> dict[str, float]:
    """Weights by column."""
    found: dict[str, float] = {}
    for part, weight in zip(why.parts, np.nan_to_num(why.weights), strict=True):
        found[part.column] = found.get(part.column, 0.0) + float(weight)
    return found


def by_package(n_samples: int) -> Callable[[Case, int], Local | None]:
    """The lime package: all features, its own kernel."""

    def explain(case: Case, seed: int) -> Local | None:
        if find_spec("lime") is None:
            return None
        if isinstance(case, TableCase):
            return None if table_has_holes(case) else table_package(case, seed, n_samples)
        return text_package(case, seed, n_samples) if isinstance(case.instance, str) else image_package(
            case, seed, n_samples
        )  # fmt: skip

    return explain


def table_has_holes(case: TableCase) -> bool:
    """Missing numbers, which lime does not take."""
    return bool(np.isnan(case.numbers).any())


def table_package(case: TableCase, seed: int, n_samples: int) -> Local:
    from lime.lime_tabular import LimeTabularExplainer

    from tabular import Codes

    codes = Codes.of(case.background, discretized=True)
    timed = Timed(lambda numbers: case.predict(codes.decode(numbers)))
    explainer = LimeTabularExplainer(
        codes.encode(case.background), mode="regression" if case.regression else "classification",
        categorical_features=codes.categorical, feature_selection="none", random_state=seed,
    )  # fmt: skip
    x, d = codes.encode(case.instance)[0], len(case.names)
    ask = (lambda numbers: timed(numbers)[:, 0]) if case.regression else timed
    start = perf_counter()
    found = explainer.explain_instance(x, ask, labels=(case.target,), num_features=d, num_samples=n_samples)
    seconds = perf_counter() - start - timed.seconds
    label = 1 if case.regression else case.target
    by_column = dict(found.local_exp[label])
    weights = np.array([by_column[j] for j in range(d)])
    own = explainer.discretizer.discretize(x)

    def values(drawn: Drawn) -> Floats:
        alike: Any = explainer.discretizer.discretize(codes.encode(drawn.inputs)) == own
        return found.intercept[label] + alike @ weights

    return Local(values, dict(zip(case.names, weights, strict=True)), timed.calls, seconds, float(found.score))


def text_package(case: MaskCase, seed: int, n_samples: int) -> Local:
    from lime.lime_text import LimeTextExplainer

    timed, target, d = Timed(case.predict), case.target, len(case.names)
    explainer = LimeTextExplainer(feature_selection="none", random_state=seed)
    start = perf_counter()
    found = explainer.explain_instance(
        case.instance, timed, labels=(target,), num_features=d, num_samples=n_samples
    )
    seconds = perf_counter() - start - timed.seconds
    by_word = dict(found.as_list(label=target))
    weights = np.array([by_word[word] for word in case.names])
    return of_masks(case, found.intercept[target], weights, timed.calls, seconds)


def image_package(case: MaskCase, seed: int, n_samples: int) -> Local:
    from lime.lime_image import LimeImageExplainer

    from cases import regions

    timed, target, d = (
        Timed(lambda images: case.predict(np.asarray(images, np.float32))),
        case.target,
        len(case.names),
    )
    explainer = LimeImageExplainer(feature_selection="none", random_state=seed)
    start = perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
        found = explainer.explain_instance(
            case.instance, timed, labels=(target,), top_labels=None, hide_color=0, batch_size=128,
            num_features=d, num_samples=n_samples, random_seed=seed,
            segmentation_fn=lambda image: regions(len(case.instance)),
        )  # fmt: skip
    seconds = perf_counter() - start - timed.seconds
    by_region = dict(found.local_exp[target])
    weights = np.array([by_region[j] for j in range(d)])
    return of_masks(case, found.intercept[target], weights, timed.calls, seconds)


def by_kernel_shap(case: Case, seed: int) -> Local | None:
    """shap's KernelExplainer with as many calls in all; its values are the gains of kept columns or parts.

    A table's rows are given by the numbers of the rows that their values are from, so that all types pass.
    """
    if find_spec("shap") is None:
        return None
    rng, d = np.random.default_rng(seed), len(case.names)
    if isinstance(case, TableCase):
        game: Callable[[Any], Floats] = lambda index: case.answer(case.inputs(index.astype(int)))  # noqa: E731
        last = len(case.stacked) - 1
        references = np.repeat(rng.choice(last, min(REFERENCES, last), replace=False)[:, None], d, axis=1)
        x = np.full(d, last)
    else:
        game = lambda kept: case.answer(case.realize(kept > 0))  # noqa: E731
        references, x = np.zeros((1, d), int), np.ones(d, int)
    timed = Timed(game)
    start = perf_counter()
    np.random.seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = shap_package().KernelExplainer(timed, references)
        found = explainer.shap_values(x, nsamples=CALLS // len(references), l1_reg=0, silent=True)
    seconds = perf_counter() - start - timed.seconds
    return of_masks(case, float(explainer.expected_value), np.ravel(found), timed.calls, seconds)


def shap_package() -> Any:
    """The module; while it is imported, numba looks for the package that coverage.py here has the name of."""
    here = str(__file__).rsplit("/", 1)[0]
    before = list(sys.path)
    sys.path[:] = [path for path in before if path != here]
    try:
        import shap
    finally:
        sys.path[:] = before
    return shap


def of_masks(case: Case, intercept: float, weights: Floats, calls: int, seconds: float) -> Local:
    """A weighted sum of what is kept."""
    named = dict(zip(case.names, weights, strict=True))
    return Local(lambda drawn: intercept + drawn.kept @ weights, named, calls, seconds)


CONTENDERS: dict[str, Callable[[Any, int], Local | None]] = {
    "default": by_lime(),
    "linear": by_lime(surrogate=vd.surrogates.Linear()),
    "lime_5000": by_package(5000),
    "lime_2048": by_package(CALLS),
    "shap": by_kernel_shap,
}
