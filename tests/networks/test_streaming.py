"""Many instances of a network in one stream: what comes out is what each gives alone, in order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from tests.builders.networks import seeded
from veridical.errors import InputError, ModelError
from veridical.methods import many
from veridical.models import torch_modules
from veridical.models.adapters import model_of
from veridical.models.validation import seed_of
from veridical.networks import streaming
from veridical.networks.streaming import Stack, StreamTask, can_stack, streamed, task_of
from veridical.records import Explanation, Neighborhood, Output
from veridical.representations.masking import InstanceList
from veridical.sampling.kernels import MASK_KERNEL
from veridical.sampling.masks import coins, removals
from veridical.surrogates.linear import Linear

torch = pytest.importorskip("torch")
nn = torch.nn
torch.set_num_threads(1)

RNG = np.random.default_rng(0)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
PICTURES = RNG.random((5, 3, 8, 8))
PLAIN = linear_lime(n_samples=128)
METHODS: dict[str, Any] = {
    "plain": PLAIN,
    "default": vd.Lime(),
    "adaptive": vd.Lime(until=vd.TopK(probability=0.999, tolerance=0.0), max_calls=1200),
    "sparse": vd.Lime(n_samples=128, n_features=3),
    "ridge": vd.Lime(n_samples=128, surrogate=vd.surrogates.Linear(ridge=0.1)),
    "tree": vd.Lime(n_samples=128, surrogate=vd.surrogates.Tree()),
}


@pytest.fixture(autouse=True)
def stacked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Few fits are stacked here, too; how many, at a time."""
    found, solve = list[int](), Stack.solve
    monkeypatch.setattr(streaming, "MIN_STACKED_FITS", 2)
    monkeypatch.setattr(Stack, "solve", lambda stack, y: (found.append(len(y)), solve(stack, y))[1])
    return found


class Watched(nn.Module):  # type: ignore[misc]
    """A network of pictures that notes how many it is asked about at once."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.AdaptiveAvgPool2d(3), nn.Flatten())
        self.head = nn.Linear(36, 4)
        self.seen = list[int]()

    def forward(self, x: Any) -> Any:
        self.seen.append(len(x))
        return (20 * self.head(self.body(10 * x - 5))).softmax(1)


def network(device: str = "cpu", **settings: Any) -> Any:
    """In double precision, so that the order of a sum is all that differs."""
    return vd.Network(seeded(Watched).double().to(device), **settings)


def task(net: Any, method: Any = PLAIN, target: Any = None) -> StreamTask:
    return StreamTask(method, model_of(net), net.quick or net, target, seed_of(0))


def flow(work: StreamTask, represent: Any, X: Any) -> list[Any]:
    """All instances in one stream, whatever the device."""
    return list(streamed(work, represent.each(X).batch(0, len(X)), range(len(X))))


def alone(work: StreamTask, represent: Any, X: Any) -> list[Any]:
    """Each by itself, from the seed that its number gives it."""
    one = many.RowWork(work.method, work.model, work.target, work.seed, lambda i: np.empty(0), None)
    return [one(represent(x), i) for i, x in enumerate(X)]


def check_same(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for ours, other in zip(found, wanted, strict=True):
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
    work = task(network(device), METHODS[name])
    found = flow(work, vd.Grid(4, 4), PICTURES)
    check_same(found, alone(work, vd.Grid(4, 4), PICTURES))
    if name == "adaptive":  # some are settled earlier than others
        assert len({why.n_calls for why in found}) > 1


@pytest.mark.parametrize("device", DEVICES)
def test_few_parts_are_all_asked_about(device: str) -> None:
    work = task(network(device), vd.Lime())
    found = flow(work, vd.Grid(2, 3), PICTURES)
    assert {why.n_calls for why in found} == {65}
    check_same(found, alone(work, vd.Grid(2, 3), PICTURES))


@pytest.mark.parametrize("target", [Output(0), Output(3), "c", lambda outputs: outputs[:, 1] - outputs[:, 0]])
def test_every_kind_of_target(target: Any) -> None:
    net = network()
    model = model_of(net, ["a", "b", "c", "d"])
    work = StreamTask(PLAIN, model, net, target, seed_of(0))
    check_same(flow(work, vd.Grid(4, 4), PICTURES), alone(work, vd.Grid(4, 4), PICTURES))


def channels_first(batch: Any) -> Any:
    return torch.as_tensor(np.asarray(batch)).permute(0, 3, 1, 2) / 255


def darkened(batch: Any) -> Any:  # one pixel depends on all others
    made = channels_first(batch)
    return made - made.mean(dim=(1, 2, 3), keepdim=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("prepare", [channels_first, darkened])
def test_prepared_inputs(prepare: Any, device: str) -> None:
    bytes_of = RNG.integers(0, 256, (4, 8, 8, 3), dtype=np.uint8)
    work = task(network(device, prepare=prepare))
    check_same(flow(work, vd.Grid(3, 4), bytes_of), alone(work, vd.Grid(3, 4), bytes_of))


@pytest.mark.parametrize("device", DEVICES)
def test_tensors_and_pictures_of_other_sizes(device: str) -> None:
    work, represent = task(network(device)), vd.Grid(3, 4)
    tensors = torch.as_tensor(PICTURES).to(device)
    check_same(flow(work, represent, tensors), alone(work, represent, PICTURES))
    mixed = [RNG.random((3, 8 + i % 2, 8)) for i in range(5)]
    check_same(flow(work, represent, mixed), alone(work, represent, mixed))


def bag(texts: list[str]) -> Any:
    return torch.tensor([[float(text.count(word)) for word in ("good", "bad", "cast")] for text in texts])


def test_texts() -> None:
    texts = ["a good cast and a bad end", "so bad, so bad, and no cast at all", "good good good, if dull at last"]
    net = vd.Network(seeded(lambda: nn.Linear(3, 2)), prepare=bag, answers="softmax")
    check_same(flow(task(net), vd.Words(), texts), alone(task(net), vd.Words(), texts))


def test_small_pictures_are_asked_about_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_modules, "MAX_NUMBERS_ON_CPU", 2**24)
    net = network()
    flow(task(net), vd.Grid(4, 4), PICTURES)
    assert net.module.seen == [5 * 129]
    monkeypatch.setattr(streaming, "MAX_NUMBERS_PER_PACK", 2 * 129 * 3 * 8 * 8)
    net.module.seen.clear()
    flow(task(net), vd.Grid(4, 4), PICTURES)
    assert net.module.seen == [2 * 129, 2 * 129, 129]


def test_many_plain_fits_are_made_at_once(stacked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    flow(task(network()), vd.Grid(4, 4), PICTURES)
    assert stacked == [5]
    stacked.clear()
    for name in ("sparse", "ridge", "tree"):
        flow(task(network(), METHODS[name]), vd.Grid(4, 4), PICTURES)
    monkeypatch.setattr(streaming, "MIN_STACKED_FITS", 6)
    flow(task(network()), vd.Grid(4, 4), PICTURES)
    assert stacked == []


def test_those_that_are_not_settled_go_on_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_modules, "MAX_NUMBERS_ON_CPU", 2**24)
    net = network()
    found = flow(task(net, METHODS["adaptive"]), vd.Grid(4, 4), PICTURES)
    calls = np.array([why.n_calls for why in found])
    rounds = [(0, 513), (513, 1025), (1025, 1200)]
    assert net.module.seen == [n * (stop - start) for start, stop in rounds if (n := int((calls >= stop).sum()))]
    assert len(net.module.seen) > 1


def test_the_device_has_work_while_answers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_NUMBERS_PER_PACK", 1)
    told, launch, landed = list[str](), streaming.DeviceQueue.launch, streaming._read_outputs
    monkeypatch.setattr(
        streaming.DeviceQueue, "launch", lambda queue, asked: (told.append("asked"), launch(queue, asked))[1]
    )
    monkeypatch.setattr(streaming, "_read_outputs", lambda pack: (told.append("read"), landed(pack))[1])
    flow(task(network()), vd.Grid(4, 4), PICTURES)
    assert told == ["asked"] * streaming.MAX_BATCHES_AHEAD + ["read", "asked"] * 2 + ["read"] * 3


def test_instances_are_represented_when_their_turn_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MAX_INSTANCES_PER_PACK", 2)
    made, grid, pictures = list[int](), vd.Grid(4, 4), np.concatenate([PICTURES] * 4)

    def represent(x: Any) -> Any:
        made.append(len(made))
        return grid(x)

    batch = InstanceList.of(represent, pictures, "pictures").batch(0, 20)
    for i, _ in enumerate(streamed(task(network()), batch, range(20))):
        assert len(made) <= i // 2 * 2 + 2 * streaming.MAX_BATCHES_AHEAD + 1
    assert len(made) == 20


class Fragile(Watched):
    """Answers NaN to pictures that start with a bright point, and refuses those that start with a dark one."""

    def forward(self, x: Any) -> Any:
        if (x[:, 0, 0, 0] < -1).any():
            raise ValueError("too dark")
        return super().forward(x).where(x[:, :1, 0, 0] < 2, torch.nan)


def test_what_fails_for_one_leaves_the_others_alone() -> None:
    pictures = [*PICTURES, np.full((3, 8), 0.5), np.full((3, 8, 8), np.inf)]
    pictures[1], pictures[3] = pictures[1].copy(), pictures[3].copy()
    pictures[1][:, 0, 0], pictures[3][:, 0, 0] = 9.0, -9.0
    net = vd.Network(seeded(Fragile).double())
    represent = vd.Grid(4, 4, fill=vd.fills.Constant(0))
    found = flow(task(net), represent, pictures)
    check_same([found[i] for i in (0, 2, 4)], [alone(task(net), represent, PICTURES)[i] for i in (0, 2, 4)])
    assert isinstance(found[1], ModelError)
    assert str(found[1]).startswith("number 1 of the list: predict returned NaN or infinity for")
    assert isinstance(found[3], ModelError)
    assert "number 3 of the list: the module raised ValueError" in str(found[3])
    assert isinstance(found[6], InputError)
    assert "number 6 of the list" in str(found[6])


class Narrow(Watched):
    """Has memory for no more than a hundred pictures."""

    def forward(self, x: Any) -> Any:
        if len(x) > 100:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return super().forward(x)


def test_short_memory_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_modules, "MAX_NUMBERS_ON_CPU", 2**24)
    work = task(vd.Network(seeded(Narrow).double()))
    check_same(flow(work, vd.Grid(4, 4), PICTURES), alone(task(network()), vd.Grid(4, 4), PICTURES))
    assert max(work.network.module.seen) > 50


def test_a_network_on_several_devices_is_not_streamed() -> None:
    far, near = torch.nn.Linear(2, 2, device="meta"), torch.nn.Linear(2, 2)
    for layers, streams in (([far, far], True), ([far, near], False), ([near, near], False)):
        model = model_of(vd.Network(torch.nn.Sequential(*layers)))
        assert (task_of(PLAIN, model, None, seed_of(0)) is not None) == streams


def test_explain_many_streams_where_a_device_can(monkeypatch: pytest.MonkeyPatch) -> None:
    net, represent = network(), vd.Grid(4, 4)
    plain = vd.explain_many(net, represent, PICTURES, method=PLAIN)
    assert task_of(PLAIN, model_of(net), None, seed_of(0)) is None  # it is on the CPU
    monkeypatch.setattr(
        many, "task_of", lambda method, model, target, seed: StreamTask(method, model, net, target, seed)
    )
    calls, net.module.seen[:] = list[int](), []

    def track(work: Any, total: int) -> Any:
        for why in work:
            calls.append(total)
            yield why

    monkeypatch.setattr(torch_modules, "MAX_NUMBERS_ON_CPU", 2**24)
    for settings in ({}, {"batch_size": 2}, {"n_jobs": 2}):
        net.module.seen.clear()
        check_same(
            list(vd.explain_many(net, represent, PICTURES, method=PLAIN, progress=track, **settings)), list(plain)
        )
        assert net.module.seen == [5 * 129]
    assert calls == [5] * 15
    bad = [*PICTURES[:2], np.full((3, 8, 8), np.nan)]
    with pytest.warns(vd.errors.RowsFailedWarning, match="row 2: .*NaN"):
        vd.explain_many(net, represent, bad, method=PLAIN)


def test_into_a_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    net, represent = vd.Network(seeded(Fragile).double()), vd.Grid(4, 4, fill=vd.fills.Constant(0))
    pictures = PICTURES.copy()
    pictures[1][:, 0, 0] = 9.0
    alone = vd.explain_many(net, represent, pictures, method=PLAIN, store=tmp_path / "alone")
    monkeypatch.setattr(
        many, "task_of", lambda method, model, target, seed: StreamTask(method, model, net, target, seed)
    )
    launches = list[int]()
    launch = streaming.DeviceQueue.launch
    monkeypatch.setattr(
        streaming.DeviceQueue, "launch", lambda lane, asked: (launches.append(len(asked)), launch(lane, asked))[1]
    )
    found = vd.explain_many(net, represent, pictures, method=PLAIN, store=tmp_path / "streamed")
    assert launches == [5]
    assert list(found.failed["row"]) == [1]
    assert list(found.failed["error"]) == list(alone.failed["error"])
    assert found.manifest["n_calls"] == alone.manifest["n_calls"]
    rows = [0, 2, 3, 4]
    check_same([found[i] for i in rows], [alone[i] for i in rows])
    with pytest.raises(InputError, match="the representer makes other parts"):
        vd.explain_many(net, vd.Grid(4, 4), pictures, method=PLAIN, store=tmp_path / "streamed")


def test_only_lime_of_networks_streams() -> None:
    model = model_of(vd.Network(seeded(Watched).to("meta")))
    assert task_of(PLAIN, model, None, seed_of(0)) is not None
    work = many.RowWork(PLAIN, model, None, seed_of(0), lambda i: np.empty(0), None)
    assert work.stream is not None
    assert replace(work, method=vd.Occlusion()).stream is None
    assert task_of(PLAIN, model_of(lambda X: X), None, seed_of(0)) is None


def test_a_copy_of_another_precision_answers() -> None:
    net = vd.Network(seeded(Watched), precision="bfloat16")
    found = flow(task(net), vd.Grid(4, 4), PICTURES)
    net.module.seen.clear()
    check_same(found, alone(task(net), vd.Grid(4, 4), PICTURES))
    assert not net.module.seen


LAWS = [
    (coins(16), 512),
    (coins(16), 256),
    (coins(12), 301),
    (coins(24), 128),
    (removals(20), 128),
    (removals(9), 101),
]


@pytest.mark.parametrize(("law", "n"), LAWS)
def test_stacked_fits_are_those_of_each_alone(law: Any, n: int) -> None:
    samples = [law.draw(MASK_KERNEL, seed_of(i), 0, n) for i in range(4)]
    y = np.stack([np.tanh(s.designs @ RNG.normal(size=law.d)) for s in samples])
    assert all(map(can_stack, samples))
    stack = Stack(samples)
    fits = stack.fits(stack.solve(torch.as_tensor(y[:, 1:])).numpy())
    names = tuple(map(str, range(law.d)))
    for sample, outputs, found in zip(samples, y, fits, strict=True):
        fit = found[0]
        wanted = Linear()(Neighborhood.of(names, sample), outputs[1:])[0]
        for name in ("weights", "covariance", "intercept", "local_prediction", "fidelity", "degrees"):
            ours, other = getattr(fit, name), getattr(wanted, name)
            np.testing.assert_allclose(ours, other, rtol=1e-9, atol=1e-12, err_msg=name)
        assert (fit.measured == wanted.measured).all()
        assert (fit.chosen == wanted.chosen).all()


def test_what_is_learned_from_samples_is_not_stacked() -> None:
    assert not can_stack(coins(24).draw(MASK_KERNEL, seed_of(0), 0, 512))  # control variates
    assert not can_stack(coins(8).enumerate(MASK_KERNEL, 256))  # all there are
    assert not can_stack(coins(16).draw(MASK_KERNEL, seed_of(0), 0, 16))  # too few


def test_samples_that_cannot_tell_have_no_stacked_fit() -> None:
    sample = coins(16).draw(MASK_KERNEL, seed_of(0), 0, 256)
    stack = Stack([sample, sample])
    y = np.random.default_rng(0).random((2, 256))
    y[1, 3] = np.nan
    first, second = stack.fits(stack.solve(torch.as_tensor(y)).numpy())
    assert first is not None
    assert second is None
