"""Many instances of a network in one stream: what comes out is what each gives alone, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import veridical as vd
from networks import seeded
from veridical.attribute import many, stream
from veridical.attribute.given import checked_model, seed_of
from veridical.attribute.linear import Linear
from veridical.attribute.stacked import Stack, can_stack
from veridical.attribute.stream import Task, streamed, task_of
from veridical.errors import InputError, ModelError
from veridical.masks import coins, removals
from veridical.records import Explanation, Neighborhood
from veridical.represent.masked import NEAR

torch = pytest.importorskip("torch")
nn = torch.nn
torch.set_num_threads(1)

RNG = np.random.default_rng(0)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
PICTURES = RNG.random((7, 3, 8, 8))
STRICT = vd.TopK(probability=0.999, tolerance=0.0)
METHODS: dict[str, Any] = {
    "plain": vd.Lime(n_samples=128),
    "adaptive": vd.Lime(until=STRICT, max_calls=2000),
    "sparse": vd.Lime(n_samples=128, n_features=3),
    "ridge": vd.Lime(n_samples=200, surrogate=vd.Linear(ridge=0.1)),
    "tree": vd.Lime(n_samples=128, surrogate=vd.Tree()),
}


def network(device: str = "cpu", **settings: Any) -> Any:
    """A small network of pictures, in double precision, so that the order of a sum is all that differs."""
    module = seeded(
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(36, 4), nn.Softmax(1)
        )
    )
    return vd.Network(module.double().to(device), **settings)


def flow(net: Any, represent: Any, X: Any, method: Any = METHODS["plain"], target: Any = None) -> list[Any]:
    """All instances in one stream, whatever the device."""
    task = Task(method, checked_model(net), net.quick or net, target, seed_of(0))
    return list(streamed(task, represent.each(X).batch(0, len(X)), range(len(X))))


def check_same(found: list[Any], alone: Any) -> None:
    assert len(found) == len(alone)
    for ours, other in zip(found, alone, strict=True):
        assert isinstance(ours, Explanation)
        np.testing.assert_allclose(ours.weights, other.weights, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(ours.intervals, other.intervals, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose([ours.prediction, ours.fidelity], [other.prediction, other.fidelity], rtol=1e-6)
        assert ours.recipe == other.recipe
        assert (ours.names, ours.target, ours.n_calls) == (other.names, other.target, other.n_calls)
        assert ours.verdict.sentence == other.verdict.sentence


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", METHODS)
def test_as_one_by_one(name: str, device: str) -> None:
    net, represent, method = network(device), vd.Grid(4, 4), METHODS[name]
    alone = [
        vd.explain(net, represent, x, method=method, rng=0) for x in PICTURES[:1]
    ]  # the first has a seed of its own
    assert alone[0].target in range(4)
    check_same(flow(net, represent, PICTURES, method), _alone(net, represent, PICTURES, method))


def _alone(net: Any, represent: Any, X: Any, method: Any, target: Any = None) -> list[Any]:
    """Each by itself, from the seed that its number gives it."""
    work = many.Work(method, checked_model(net), target, seed_of(0), lambda i: np.empty(0), None)
    return [work(represent(x), i) for i, x in enumerate(X)]


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_lists_and_sizes(device: str) -> None:
    net, represent = network(device), vd.Grid(3, 4)
    check_same(
        flow(net, represent, torch.as_tensor(PICTURES).to(device)),
        _alone(net, represent, PICTURES, METHODS["plain"]),
    )
    mixed = [RNG.random((3, 8 + i % 2, 8)) for i in range(5)]
    check_same(flow(net, represent, mixed), _alone(net, represent, mixed, METHODS["plain"]))
