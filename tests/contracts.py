"""What every Representation and every method promises, as functions that raise AssertionError.

Anyone who writes a representation or a method of their own can run these on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

import veridical as vd
from veridical.records import Explanation, Kernel, Method, Representation, Sample

SEED = np.random.SeedSequence(7)
N = 256

# Representations -------------------------------------------------------------------------------------------


def restores_the_instance(representation: Representation, instance: Any) -> None:
    """The first sample is the instance, bit for bit, and the law did not draw it."""
    for sample in _with_instance(representation):
        inputs = representation.realize(sample)
        assert sample.weights[0] == 0
        if isinstance(inputs, pd.DataFrame):
            first, wanted = inputs.iloc[:1].reset_index(drop=True), instance.reset_index(drop=True)
            pd.testing.assert_frame_equal(first, wanted)
        else:
            first, wanted = (a.toarray() if issparse(a) else np.asarray(a) for a in (inputs[:1], instance))
            assert first.dtype == wanted.dtype
            np.testing.assert_array_equal(first, wanted)


def every_part_matters(representation: Representation) -> None:
    """Each part can be read off the inputs: some column tells its designs apart, and no part stands still."""
    sample = representation.draw(representation.kernel, SEED, 0, N)
    columns = _columns(representation.realize(sample))
    for j, name in enumerate(representation.names):
        design = sample.designs[:, j]
        assert len(np.unique(design)) > 1, f"{name!r} never changes"
        assert any(_tells(column, design) for column in columns), f"{name!r} leaves no trace in the inputs"


def names_are_unique(representation: Representation) -> None:
    names = representation.names
    assert names == tuple(part.name for part in representation.parts)
    assert all(isinstance(name, str) and name for name in names)
    assert len(set(names)) == len(names)


def leaves_arguments_alone(build: Callable[[], Representation], *arguments: Any) -> None:
    """Neither the background nor the instance is changed by representing, drawing and realizing."""
    before = copy.deepcopy(arguments)
    representation = build()
    representation.realize(representation.draw(representation.kernel, SEED, 0, N))
    for was, is_now in zip(before, arguments, strict=True):
        if isinstance(was, pd.DataFrame):
            pd.testing.assert_frame_equal(is_now, was)
        elif issparse(was):
            for field in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(is_now, field), getattr(was, field))
        else:
            np.testing.assert_array_equal(is_now, was)


def is_pure_in_the_seed(representation: Representation) -> None:
    """The same seed gives the same samples and inputs, whatever was drawn before; another seed, others."""
    kernel = representation.kernel
    once = representation.draw(kernel, SEED, 0, N)
    inputs = _columns(representation.realize(once))
    other = representation.draw(kernel, np.random.SeedSequence(8), 0, N)
    again = representation.draw(kernel, SEED, 0, N)
    _same(once, again)
    for a, b in zip(inputs, _columns(representation.realize(again)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(once.designs, other.designs)


def grows_without_repeating(representation: Representation) -> None:
    """A second piece goes on where the first ended; of a net, the pieces are the whole."""
    kernel = representation.kernel
    first, second = (representation.draw(kernel, SEED, *at) for at in ((0, N), (N, 2 * N)))
    assert len(first.designs) == N + 1, "from 0 on, the instance comes first"
    assert len(second.designs) == N, "the instance comes once"
    assert not np.array_equal(first.designs[1:], second.designs), "the second piece repeats the first"
    _same(second, representation.draw(kernel, SEED, N, 2 * N))
    if first.design.net:
        whole = representation.draw(kernel, SEED, 0, 2 * N)
        np.testing.assert_array_equal(whole.designs, np.concatenate([first.designs, second.designs]))
        np.testing.assert_array_equal(whole.weights, np.concatenate([first.weights, second.weights]))


def numbers_are_sound(representation: Representation) -> None:
    """Designs are finite, weights positive, and there is one input a sample."""
    d = len(representation.names)
    for sample in _with_instance(representation):
        assert sample.designs.ndim == 2
        assert sample.designs.shape[1] == d
        assert np.isfinite(sample.designs).all()
        assert np.isfinite(sample.weights).all()
        assert (sample.weights[1:] >= 0).all() if sample.design.exact else (sample.weights[1:] > 0).all()
        assert sample.weights.sum() > 0
        assert sample.design.shares.shape == (d,)
        assert representation.realize(sample).shape[0] == len(sample.designs) == len(sample.weights)


# Methods ---------------------------------------------------------------------------------------------------


class Spy:
    """A predict function that keeps what it is asked."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict = predict
        self.batches: list[Any] = []

    def __call__(self, X: Any) -> Any:
        self.batches.append(X.copy())
        return self.predict(X)

    @property
    def n_rows(self) -> int:
        return sum(batch.shape[0] for batch in self.batches)


def weights_align_with_names(why: Explanation) -> None:
    assert len(why.names) == len(why.parts) == len(why.weights) == len(why.intervals)
    assert why.intervals.shape == (len(why.names), 2)
    assert np.isfinite(why.weights).all()
    by_name = dict(zip(why.names, why.weights, strict=True))
    top = why.top(len(why.names))
    assert all(by_name[name] == weight for name, weight in top)
    assert [abs(w) for _, w in top] == sorted((abs(w) for w in why.weights if w != 0), reverse=True)


def intervals_contain_weights(why: Explanation) -> None:
    assert not np.isnan(why.intervals).any()
    assert (why.intervals[:, 0] <= why.weights).all()
    assert (why.weights <= why.intervals[:, 1]).all()


def counts_its_calls(
    explain: Callable[[Callable[[Any], Any]], Explanation], predict: Callable[[Any], Any]
) -> None:
    spy = Spy(predict)
    assert explain(spy).n_calls == spy.n_rows


def reports_the_prediction(why: Explanation, predict: Callable[[Any], Any], instance: Any) -> None:
    """The prediction is the model's own answer to the instance, to the last bit."""
    assert isinstance(why.target, int)
    assert why.prediction == np.asarray(predict(instance)).reshape(1, -1)[0, why.target]


def gives_the_same_bits_twice(explain: Callable[[], Explanation]) -> None:
    a, b = explain(), explain()
    assert bits(a) == bits(b)


def bits(why: Explanation) -> tuple[Any, ...]:
    """All numbers of an explanation, to be compared to the last bit."""
    numbers = (why.intercept, why.prediction, why.local_prediction, why.fidelity, why.effective_size)
    return (
        why.names,
        why.weights.tobytes(),
        why.intervals.tobytes(),
        np.array([*numbers, why.top_probability]).tobytes(),
        why.n_calls,
        why.unsettled,
        str(why.verdict),
    )


def check_representation(build: Callable[[], Representation], instance: Any, *arguments: Any) -> None:
    """All promises of a Representation; ``instance`` is the one-row input that it stands for."""
    representation = build()
    restores_the_instance(representation, instance)
    every_part_matters(representation)
    names_are_unique(representation)
    leaves_arguments_alone(build, instance, *arguments)
    is_pure_in_the_seed(representation)
    grows_without_repeating(representation)
    numbers_are_sound(representation)


def check_method(method: Method, predict: Callable[[Any], Any], represent: Any, instance: Any) -> None:
    """All promises of a method."""

    def explain(model: Callable[[Any], Any]) -> Explanation:
        return vd.explain(model, represent, instance, method=method)

    why = explain(predict)
    weights_align_with_names(why)
    intervals_contain_weights(why)
    counts_its_calls(explain, predict)
    reports_the_prediction(why, predict, instance)
    gives_the_same_bits_twice(lambda: explain(predict))


# -----------------------------------------------------------------------------------------------------------


def _with_instance(representation: Representation) -> list[Sample]:
    kernel: Kernel = representation.kernel
    every = representation.enumerate(kernel, 4096)
    return [representation.draw(kernel, SEED, 0, N), *([] if every is None else [every])]


def _same(a: Sample, b: Sample) -> None:
    np.testing.assert_array_equal(a.designs, b.designs)
    np.testing.assert_array_equal(a.weights, b.weights)


def _columns(inputs: Any) -> Sequence[Any]:
    """One array of numbers a column, whatever the inputs are; equal numbers stand for equal values."""
    if issparse(inputs):
        inputs = inputs.toarray()
    if isinstance(inputs, pd.DataFrame):
        return [_numbers(inputs.iloc[:, j]) for j in range(inputs.shape[1])]
    return [_numbers(pd.Series(column)) for column in np.asarray(inputs).T]


def _numbers(column: pd.Series[Any]) -> Any:
    if pd.api.types.is_float_dtype(column.dtype) and not column.isna().any():
        return column.to_numpy(dtype=float)
    return pd.factorize(column, sort=True, use_na_sentinel=False)[0]


def _tells(column: Any, design: Any) -> bool:
    """Does the column determine the design? For a mask, what is kept is one range; a number keeps its order."""
    if np.isin(design, (0, 1)).all():
        kept, gone = column[design == 1], column[design == 0]
        return not ((kept.min() <= gone) & (gone <= kept.max())).any()
    order = np.argsort(design, kind="stable")
    return len(np.unique(column)) > 1 and bool((np.diff(column[order]) >= 0).all())
