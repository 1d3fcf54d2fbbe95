"""What every Representation and every method promises, as functions that raise AssertionError.

Anyone who writes a representation or a method of their own can run these on it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse

import veridical as vd
from veridical.protocols import Kernel, Method, Movable, Placed, Refillable, Removable, Representation, Stream
from veridical.records import Explanation, Sample, View
from veridical.representations.regions import SumComposer
from veridical.sampling.masks import all_masks

SEED = np.random.SeedSequence(7)
N = 256

# Representations -------------------------------------------------------------------------------------------


def restores_the_instance(representation: Representation, instance: Any) -> None:
    """The first sample is the instance, bit for bit, and the law did not draw it."""
    for sample in _with_instance(representation):
        inputs = representation.realize(sample)
        assert sample.weights[0] == 0
        assert_same(_rows(inputs, 0, 1), instance)


def every_part_matters(representation: Representation) -> None:
    """Each part can be read off the inputs, and no part stands still.

    Some column tells the part's designs apart; or, where parts lie over each other, no two masks of all of them
    give the same input.
    """
    kernel = representation.kernel
    sample = representation.draw(kernel, SEED, 0, N)
    inputs = representation.realize(sample)
    every = representation.enumerate(kernel, 4096) if isinstance(inputs, Stream) else None
    if every is not None:
        keys = {_key(one) for one in _listed(representation.realize(every))}
        assert len(keys) == 2 ** len(representation.names), "two masks give the same input"
        return
    columns = _columns(inputs, representation)
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
    _listed(representation.realize(representation.draw(representation.kernel, SEED, 0, N)))
    for was, is_now in zip(before, arguments, strict=True):
        assert_same(is_now, was)


def is_pure_in_the_seed(representation: Representation) -> None:
    """The same seed gives the same samples and inputs, whatever was drawn before; another seed, others."""
    kernel = representation.kernel
    once = representation.draw(kernel, SEED, 0, N)
    inputs = _listed(representation.realize(once))
    other = representation.draw(kernel, np.random.SeedSequence(8), 0, N)
    again = representation.draw(kernel, SEED, 0, N)
    _same(once, again)
    assert_same(inputs, _listed(representation.realize(again)))
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
        inputs = representation.realize(sample)
        may_be_zero = sample.design.exact or isinstance(inputs, Stream)  # a full mask that the law never draws
        assert (sample.weights[1:] >= 0).all() if may_be_zero else (sample.weights[1:] > 0).all()
        assert sample.weights.sum() > 0
        assert sample.design.shares.shape == (d,)
        assert _n_rows(inputs) == len(sample.designs) == len(sample.weights)


def batches_are_the_slices(representation: Representation) -> None:
    """However many inputs are made at once, in memory that is used again or not, they are the same inputs.

    Sums of parts may be rounded otherwise when more of them are made at once; nothing else may.
    """
    inputs = representation.realize(representation.draw(representation.kernel, SEED, 0, 64))
    if not isinstance(inputs, Stream):
        return
    whole = _each(inputs[0 : len(inputs)])
    assert len(whole) == len(inputs) == 65
    check = _assert_close if isinstance(getattr(representation, "compose", None), SumComposer) else assert_same
    check([one for a in range(0, 65, 7) for one in _each(inputs[a : a + 7])], whole)
    for size in (1, 10_000, 2**25):
        with (
            patch("veridical.representations.masking.MAX_BYTES_PER_BATCH", size),
            patch("veridical.representations.fields.MAX_BYTES_PER_BATCH", size),
        ):
            check(_listed(inputs), whole)


def keeping_all_restores_the_instance(representation: Removable, instance: Any) -> None:
    """The full mask gives the instance, bit for bit, wherever it stands among others."""
    masks = np.random.default_rng(0).random((9, len(representation.names))) < 0.5
    masks[[0, 4, 8]] = True
    inputs = _listed_rows(representation.keeping(masks, SEED))
    for i in (0, 4, 8):
        assert_same(inputs[i], instance)


def kept_parts_are_the_instances_own(representation: Removable) -> None:
    """What a mask keeps is as in the instance, what it takes away is not.

    All inputs that keep a part agree with the instance in some column, in which those without it do not all agree;
    or, where parts may lie over each other, no two masks give the same input.
    """
    d = len(representation.names)
    masks = np.random.default_rng(1).random((N, d)) < 0.5
    masks[0] = True
    inputs = representation.keeping(masks, SEED)
    assert _n_rows(inputs) == N
    if representation.steady and d <= 12:
        keys = {_key(one) for one in _listed_rows(representation.keeping(all_masks(d) != 0, SEED))}
        assert len(keys) == 2**d, "two masks give the same input"
        return
    columns = _columns(inputs, representation)
    for j, name in enumerate(representation.names):
        kept, gone = masks[:, j], ~masks[:, j]
        own = [c for c in columns if len(np.unique(c[kept])) == 1 and (c[gone] != c[0]).any()]
        assert own, f"{name!r} is not the instance's own where it is kept, or is never taken away"


def keeping_is_pure_in_the_seed(representation: Removable) -> None:
    """The same seed gives the same inputs, whatever was asked before; steady ones do not depend on it."""
    masks = np.random.default_rng(2).random((64, len(representation.names))) < 0.5
    before = masks.copy()
    once = _listed(representation.keeping(masks, SEED))
    other = _listed(representation.keeping(masks, np.random.SeedSequence(8)))
    assert_same(_listed(representation.keeping(masks, SEED)), once)
    np.testing.assert_array_equal(masks, before)
    same = [_key(one) for one in other] == [_key(one) for one in once]
    assert same == representation.steady


def one_draw_a_mask(representation: Removable) -> None:
    """Unless it is steady, the same mask twice is two draws; more masks do not change those before them."""
    masks = np.zeros((8, len(representation.names)), bool)
    inputs = _listed_rows(representation.keeping(masks, SEED))
    assert_same(_listed_rows(representation.keeping(masks[:5], SEED)), inputs[:5])
    assert (len({_key(one) for one in inputs}) == 1) == representation.steady


def draws_follow_no_order(representation: Removable) -> None:
    """Masks come in an order, such as in pairs; what is drawn for every second one must not be of one kind.

    Half of the draws of even rows lie above the median of all, within 4 standard errors.
    """
    masks = np.zeros((N, len(representation.names)), bool)
    for seed in range(4):
        for column in _columns(representation.keeping(masks, np.random.SeedSequence(seed)), representation):
            middle = np.median(column)
            above, below = (column > middle).mean(), (column < middle).mean()
            for period in (2, 4, 8):
                some = column[::period]
                error = 4 * np.sqrt(0.25 / len(some))
                assert abs((some > middle).mean() - above) <= error
                assert abs((some < middle).mean() - below) <= error


def parts_lie_where_they_are_painted(representation: Placed) -> None:
    """Each place is of one part at most, each part has a place, and a map is summed over its places.

    Taking a part away changes an array nowhere else. Parts that lie over each other are refused.
    """
    d = len(representation.names)
    if isinstance(getattr(representation, "compose", None), SumComposer):
        check(lambda: representation.paint(np.ones(d)), vd.errors.InputError, "over each other")
        return
    own = np.stack([representation.paint(row) for row in np.eye(d)])
    assert np.isin(own, (0, 1)).all()
    assert (own.sum(axis=0) <= 1).all(), "a place of two parts"
    assert own.reshape(d, -1).any(axis=1).all(), "a part without a place"
    weights, noise = np.arange(1.0, d + 1), np.random.default_rng(3).normal(size=own.shape[1:])
    np.testing.assert_array_equal(representation.paint(weights), np.tensordot(weights, own, axes=1))
    np.testing.assert_allclose(representation.gather(noise), (own * noise).reshape(d, -1).sum(axis=1), atol=1e-12)
    if isinstance(representation, Removable) and representation.steady:
        kept = representation.keeping(np.vstack([np.ones(d), 1 - np.eye(d)]) != 0, SEED)
        channel = getattr(getattr(getattr(representation, "compose", None), "places", None), "channel", None)
        _changes_where_painted(kept[0 : d + 1] if isinstance(kept, Stream) else kept, own, channel)


def _changes_where_painted(inputs: Any, own: Any, channel: int | None) -> None:
    """Of inputs, the first is the instance and the others lack a part each; texts are not looked at."""
    plain = inputs.double() if hasattr(inputs, "detach") else inputs  # NumPy does not know every type of torch
    table = plain.toarray() if issparse(plain) else np.asarray(plain)
    for j, one in enumerate(table[1:] if table.dtype.kind in "biuf" else []):
        changed = (one != table[0]) if channel is None else (one != table[0]).any(axis=channel)
        assert not (changed & (own[j] == 0)).any(), f"taking part {j} away changes what is not its own"


def another_fill_leaves_the_parts(representation: Refillable, instance: Any) -> None:
    """Whatever stands in for them, the parts are the same; and if it is the instance itself, nothing changes."""
    other, itself = representation.refilled(vd.fills.Noise(3)), representation.refilled(instance[0])
    none = np.zeros((1, len(representation.names)), bool)
    for again in (other, itself):
        assert again.names == representation.names
        keeping_all_restores_the_instance(again, instance)
    parts_lie_where_they_are_painted(other)
    assert_same(_listed_rows(itself.keeping(none, SEED))[0], instance)


def moves_are_of_the_parts_that_are_not_kept(representation: Movable, instance: Any) -> None:
    """A step moves every part, alone and whichever way it can go, and nothing that is kept."""
    d = len(representation.names)
    step = representation.step(0.5, SEED)
    assert step.both.shape == (d,)
    assert step.says
    alone = ~np.eye(d, dtype=bool)
    for way, some in ((step.ahead, np.arange(d)), (step.back, np.flatnonzero(step.both))):
        moved = _listed_rows(way(np.vstack([np.ones((1, d), bool), alone[some]])))
        assert_same(moved[0], instance)
        keys = [_key(one) for one in moved]
        assert len(set(keys)) == len(keys), "a part that does not move, or two that move alike"


def moves_are_pure_in_the_seed(representation: Movable) -> None:
    """The same seed moves alike, and so does any other unless something is drawn."""
    nothing = np.zeros((1, len(representation.names)), bool)

    def moved(seed: int) -> Any:
        return _key(_listed_rows(representation.step(0.5, np.random.SeedSequence(seed)).ahead(nothing))[0])

    drawn = representation.step(0.5, SEED).drawn
    assert moved(0) == moved(0)
    assert drawn or len({moved(seed) for seed in range(4)}) == 1


def view_shows_every_part(representation: Representation) -> None:
    """A view labels the parts 0 to d - 1, each of them, and nothing else."""
    view = getattr(representation, "view", None)
    if view is not None:
        _check_view(view, len(representation.names))


def _check_view(view: View, d: int) -> None:
    data = view.data
    if view.kind == "fields":
        first = 0
        for start, n, own in data["fields"].values():
            assert start == first
            first += n
            if isinstance(own, View):
                _check_view(own, n)
        assert first == d
        return
    if view.kind == "sound" or (view.kind == "series" and "labels" not in data):
        bounds = data.get("bounds")
        assert bounds is None or bounds.shape == (d, 4)
        assert "stems" not in data or len(data["stems"]) == d
        return
    shown = data["spans"][:, 2] if view.kind == "text" else data["labels"]
    np.testing.assert_array_equal(np.unique(shown), np.arange(d))


# Methods ---------------------------------------------------------------------------------------------------


class Spy:
    """A predict function that keeps what it is asked."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict = predict
        self.batches: list[Any] = []

    def __call__(self, X: Any) -> Any:
        self.batches.append(copy.deepcopy(X))
        return self.predict(X)

    @property
    def n_rows(self) -> int:
        return sum(_n_rows(batch) for batch in self.batches)


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
        why.verdict.label,
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
    batches_are_the_slices(representation)
    view_shows_every_part(representation)
    if isinstance(representation, Placed):
        parts_lie_where_they_are_painted(representation)
    if isinstance(representation, Removable):
        check_removable(representation, instance)
    if isinstance(representation, Refillable):
        another_fill_leaves_the_parts(representation, instance)
    if isinstance(representation, Movable):
        moves_are_of_the_parts_that_are_not_kept(representation, instance)
        moves_are_pure_in_the_seed(representation)


def check_removable(representation: Removable, instance: Any) -> None:
    """All promises of a Representation whose parts can be taken away."""
    keeping_all_restores_the_instance(representation, instance)
    kept_parts_are_the_instances_own(representation)
    keeping_is_pure_in_the_seed(representation)
    one_draw_a_mask(representation)
    if not representation.steady:
        draws_follow_no_order(representation)


def check_method(
    method: Method, predict: Callable[[Any], Any], represent: Any, x: Any, instance: Any = None
) -> None:
    """All promises of a method; ``instance`` is the one-row input for x, if that is not x itself."""
    instance = x if instance is None else instance

    def explain(model: Callable[[Any], Any]) -> Explanation:
        return vd.explain(model, represent, x, method=method)

    why = explain(predict)
    weights_align_with_names(why)
    intervals_contain_weights(why)
    counts_its_calls(explain, predict)
    reports_the_prediction(why, predict, instance)
    gives_the_same_bits_twice(lambda: explain(predict))


def check_gradient_method(method: Any, network: Any, represent: Any, x: Any) -> None:
    """All promises of a method that needs gradients, of an instance ``x`` whose network is in evaluation mode."""
    import torch

    asked: list[int] = []
    module = network.module
    before = state_of(module)
    vd.explain(network, represent, x, method=method)  # it may learn something of the network, once
    handle = module.register_forward_hook(lambda _module, inputs, _output: asked.append(len(inputs[0])))
    try:
        why = vd.explain(network, represent, x, method=method)
    finally:
        handle.remove()
    assert state_of(module) == before, "the network was changed"
    weights_align_with_names(why)
    intervals_contain_weights(why)
    assert why.n_calls == sum(asked)
    instance = represent(x).keeping(np.ones((1, len(why.names)), bool), SEED)
    inputs = network.tensor(instance[0:1] if isinstance(instance, Stream) else instance)
    with torch.no_grad():
        outputs = module(inputs).reshape(1, -1)
    assert why.prediction == float(outputs[0, why.target if isinstance(why.target, int) else 0])
    assert why.local_prediction == pytest.approx(why.intercept + why.weights.sum(), abs=1e-9)
    np.testing.assert_allclose(why.weights, represent(x).gather(why.map), atol=1e-12)
    gives_the_same_bits_twice(lambda: vd.explain(network, represent, x, method=method))
    fails_and_leaves_no_trace(method, network, represent, x)


def fails_and_leaves_no_trace(method: Any, network: Any, represent: Any, x: Any) -> None:
    """An exception on the way, here of the target, leaves the network as it was."""
    before, calls = state_of(network.module), [0]

    def target(outputs: Any) -> Any:
        calls[0] += 1
        if calls[0] > 1:  # the first reads the prediction
            raise KeyError("on purpose")
        return outputs[:, 0]

    with pytest.raises(vd.VeridicalError, match="on purpose"):
        vd.explain(network, represent, x, method=method, target=target)
    assert state_of(network.module) == before, "the network was changed"


def state_of(module: Any) -> list[Any]:
    """All that a method may not change: weights, gradients, flags and hooks, to the last bit."""
    found: list[Any] = []
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        grad = None if value.grad is None else value.grad.cpu().numpy().tobytes()
        found.append((name, value.detach().cpu().numpy().tobytes(), value.requires_grad, grad, value._version))
    for name, part in module.named_modules():
        hooks = [len(v) for k, v in vars(part).items() if k.endswith("_hooks") and v is not None]
        found.append((name, part.training, hooks, sorted(vars(part)), "forward" in vars(part)))
    return found


# -----------------------------------------------------------------------------------------------------------


def _with_instance(representation: Representation) -> list[Sample]:
    kernel: Kernel = representation.kernel
    every = representation.enumerate(kernel, 4096)
    return [representation.draw(kernel, SEED, 0, N), *([] if every is None else [every])]


def _same(a: Sample, b: Sample) -> None:
    np.testing.assert_array_equal(a.designs, b.designs)
    np.testing.assert_array_equal(a.weights, b.weights)


def assert_same(a: Any, b: Any) -> None:
    """Equal to the last bit, in type and in shape, whatever they are."""
    if isinstance(b, pd.DataFrame):
        a, b = a.reset_index(drop=True), b.reset_index(drop=True)
        plain = [column for column in b if not _holds_arrays(b[column])]
        assert list(a.columns) == list(b.columns)
        pd.testing.assert_frame_equal(a[plain], b[plain])
        for column in [column for column in b if column not in plain]:
            assert_same(a[column].tolist(), b[column].tolist())
    elif issparse(b):
        for field in ("data", "indices", "indptr"):
            assert_same(getattr(a, field), getattr(b, field))
    elif hasattr(b, "detach"):
        assert (type(a), a.dtype, a.device) == (type(b), b.dtype, b.device)
        assert a.equal(b)
    elif isinstance(b, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype == object:
            assert_same(a.tolist(), b.tolist())
        else:
            assert a.tobytes() == b.tobytes()
    elif isinstance(b, Mapping):
        assert list(a) == list(b)
        for key in b:
            assert_same(a[key], b[key])
    elif isinstance(b, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    else:
        assert type(a) is type(b)
        assert a == b or (a != a and b != b)


def _assert_close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.concatenate(a), np.concatenate(b), rtol=0, atol=1e-12 * float(np.abs(b).max()))


def _holds_arrays(column: Any) -> bool:
    return column.dtype == object and any(hasattr(value, "shape") for value in column)


def _n_rows(inputs: Any) -> int:
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def _rows(inputs: Any, start: int, stop: int) -> Any:
    return inputs.iloc[start:stop] if hasattr(inputs, "iloc") else inputs[start:stop]


def _listed(inputs: Any) -> list[Any]:
    """The inputs of a stream one by one, each copied before its memory is used again; a table is one thing."""
    if isinstance(inputs, Stream):
        return [one for batch in inputs.batches() for one in _each(batch)]
    return [copy.deepcopy(inputs)]


def _listed_rows(inputs: Any) -> list[Any]:
    """The inputs one by one, of a table too."""
    return _listed(inputs) if isinstance(inputs, Stream) else _each(inputs)


def _each(batch: Any) -> list[Any]:
    return [copy.deepcopy(_rows(batch, i, i + 1)) for i in range(_n_rows(batch))]


def _key(one: Any) -> Any:
    """Something that is equal for equal inputs of one kind."""
    if isinstance(one, pd.DataFrame):  # whole, and without its index
        return repr([tuple(map(repr, row)) for row in one.itertuples(index=False)])
    if issparse(one):
        one = one.toarray()
    return one.tobytes() if isinstance(one, np.ndarray) else repr(one)


def _columns(inputs: Any, representation: Representation) -> Sequence[Any]:
    """One array of numbers a column, whatever the inputs are; equal numbers stand for equal values."""
    if isinstance(inputs, Stream):
        inputs = inputs[0 : len(inputs)]
    if issparse(inputs):
        inputs = inputs.toarray()
    if isinstance(inputs, pd.DataFrame):
        return [c for name in inputs for c in _columns_of(inputs[name].tolist(), representation)]
    if isinstance(inputs, list) and isinstance(inputs[0], Mapping):
        return [c for key in inputs[0] for c in _columns_of([one[key] for one in inputs], representation)]
    return _columns_of(inputs, representation)


def _columns_of(values: Any, representation: Representation) -> Sequence[Any]:
    """The columns of one field: a text has one a part, how often it is there."""
    if isinstance(values[0], str) and any(part.relation in ("word", "sentence") for part in representation.parts):
        pieces = [part.value for part in representation.parts if isinstance(part.value, str)]
        return [
            *(np.array([text.count(piece) for text in values]) for piece in pieces),
            _numbers(pd.Series(values)),
        ]
    if isinstance(values, list) and isinstance(values[0], Mapping):
        return [c for key in values[0] for c in _columns_of([one[key] for one in values], representation)]
    if isinstance(values, list) and not hasattr(values[0], "shape"):
        return [_numbers(pd.Series(values))] if isinstance(values[0], Hashable) else []
    table = np.asarray(values)
    return [_numbers(pd.Series(column)) for column in table.reshape(len(table), -1).T]


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


# Errors ------------------------------------------------------------------------------------------------------


def check(call: Callable[[], Any], error: type[Exception], *words: str) -> str:
    """The call raises this error, and its message has all of the words."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, vd.VeridicalError)
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"
    return message
