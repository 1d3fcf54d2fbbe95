"""Networks make masked inputs where they are: the inputs that NumPy makes, as many at once as memory allows."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.models import torch_modules
from veridical.models.outputs import Model
from veridical.models.switching import switch_seen
from veridical.models.torch_modules import LAUNCH_PLANS, LaunchPlan, Network
from veridical.representations import images

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)  # (h, w, c)
IMAGE = RNG.random((3, 24, 32))  # (c, h, w)
GRID = vd.Grid(4, 4)
METHOD = vd.Lime(n_samples=512)


def small(device: str = "cpu") -> Any:
    """A network of pictures (3, h, w), five outputs."""
    torch.manual_seed(0)
    layers = torch.nn.Conv2d(3, 4, 3, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2)
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(16, 5)).eval().to(device)


def channels_first(batch: Any) -> Any:
    """As pictures of bytes usually become inputs."""
    return (torch.as_tensor(batch).permute(0, 3, 1, 2).float() / 255 - 0.4) / 0.2


PREPARED: dict[str, Callable[[Any], Any]] = {
    "scaled, channels first": channels_first,
    "cut out and mirrored": lambda batch: channels_first(batch)[:, :, 4:20, 3:29].flip(-1),
    "enlarged by whole pixels": lambda batch: channels_first(batch).repeat_interleave(2, dim=2),
    "in gray": lambda batch: channels_first(batch).mean(dim=1, keepdim=True).expand(-1, 3, -1, -1),
}
MIXED: dict[str, Callable[[Any], Any]] = {
    "blurred": lambda batch: torch.nn.functional.avg_pool2d(channels_first(batch), 3, stride=1),
    "centered by itself": lambda batch: (own := channels_first(batch)) - own.mean(dim=(1, 2, 3), keepdim=True),
    "centered by the batch": lambda batch: (own := channels_first(batch)) - own.mean(dim=0),
    "dark pictures brightened": lambda batch: _brightened(channels_first(batch)),
}


def _brightened(made: Any) -> Any:
    """Numbers that depend on all parts, and of some masks alone."""
    light = made.mean(dim=(1, 2, 3), keepdim=True)
    return made.where(light >= light.median(), made + 1)


def masked(represent: Any, x: Any, n: int = 64) -> tuple[Any, Any]:
    """The inputs of masks, to be made, and the masks."""
    parts = represent(x)
    sample = parts.draw(parts.kernel, np.random.SeedSequence(0), 0, n)
    return parts.realize(sample), sample.designs != 0


INSTANCES: dict[str, tuple[Any, Any]] = {
    "array": (GRID, IMAGE),
    "tensor": (GRID, torch.as_tensor(IMAGE)),
    "tensor in half precision": (GRID, torch.as_tensor(IMAGE).half()),
    "bytes": (vd.Grid(3, 5, axes="CHW"), BYTES.transpose(2, 0, 1)),
    "bits": (vd.Grid(3, 5, fill=vd.fills.Constant(0)), IMAGE > 0.5),
    "regions": (vd.Superpixels(segment=np.add.outer(np.arange(24) // 9, 3 * (np.arange(32) // 12))), IMAGE),
    "without channels": (vd.Grid(3, 5), IMAGE[0]),
    "sound": (vd.Slices(7), RNG.normal(size=90)),
    "spectrogram": (vd.Tiles(3, 2), RNG.normal(size=(8, 12))),
    "series": (vd.Windows(5), RNG.normal(size=(40, 2))),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", INSTANCES)
def test_the_same_inputs_to_the_last_bit(name: str, device: str) -> None:
    represent, x = INSTANCES[name]
    network = vd.Network(small(device))
    inputs, masks = masked(represent, x)
    own = network.switched(inputs)
    assert own is not None
    made = own[0 : len(masks)]
    assert made.shape == own.shape
    assert made.device.type == device
    torch.testing.assert_close(made, network.tensor(inputs.compose(masks)), rtol=0, atol=0)
    torch.testing.assert_close(own[3:7], made[3:7], rtol=0, atol=0)


@pytest.mark.parametrize("name", PREPARED)
def test_what_prepare_does_number_by_number_is_found(name: str) -> None:
    network = vd.Network(small(), prepare=PREPARED[name])
    inputs, masks = masked(GRID, BYTES)
    own = network.switched(inputs)
    assert own is not None
    torch.testing.assert_close(own[0 : len(masks)], network.tensor(inputs.compose(masks)), rtol=0, atol=0)


@pytest.mark.parametrize("name", MIXED)
def test_what_prepare_mixes_is_left_to_it(name: str) -> None:
    inputs, _ = masked(GRID, BYTES)
    assert vd.Network(small(), prepare=MIXED[name]).switched(inputs) is None


@pytest.mark.parametrize("d", [2, 3, 16, 17, 33])
def test_any_number_of_parts(d: int) -> None:
    labels = RNG.integers(0, d, (4, 50))
    labels[:, :d] = np.arange(d)
    own, fill = RNG.random((4, 50)), RNG.random((4, 50))
    fill[0] = own[0]  # what parts cannot change

    def make(masks: Any) -> Any:
        return torch.as_tensor(np.where(masks[:, labels], own, fill))

    masks = RNG.random((99, d)) < 0.5
    switch = switch_seen(make, d)
    assert switch is not None
    torch.testing.assert_close(switch(torch.as_tensor(masks)), make(masks), rtol=0, atol=0)


def test_missing_numbers_are_left_to_prepare() -> None:
    assert switch_seen(lambda masks: torch.as_tensor(np.where(masks, np.nan, 1.0)), 4) is None


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*PREPARED, *MIXED])
def test_explanations_are_those_of_the_network_as_a_function(name: str, device: str) -> None:
    """A function is given every input made by NumPy."""
    network = vd.Network(small(device), prepare={**PREPARED, **MIXED}[name], answers="softmax")
    if name == "centered by the batch":
        return  # whatever it answers depends on the batch
    for method in (METHOD, vd.KernelShap(n_samples=200), vd.Occlusion()):
        why = vd.explain(network, GRID, BYTES, method=method)
        plain = vd.explain(lambda batch: network(batch), GRID, BYTES, method=method)
        np.testing.assert_allclose(why.weights, plain.weights, atol=1e-7)
        assert why.n_calls == plain.n_calls


def test_all_methods_and_evaluations_hear_of_every_input() -> None:
    heard: list[int] = []

    def track(work: Any, total: int) -> Any:
        for done, item in enumerate(work):
            heard.append(done)
            yield item

    why = vd.explain(small(), GRID, IMAGE, method=METHOD, progress=track)
    assert max(heard) == why.n_calls


def test_few_masks_are_not_worth_a_look() -> None:
    inputs, _ = masked(GRID, BYTES, n=32)
    assert vd.Network(small(), prepare=channels_first).switched(inputs) is None
    assert vd.Network(small()).switched(masked(GRID, IMAGE, n=32)[0]) is not None


def test_texts_are_left_to_their_maker() -> None:
    parts = vd.Words()("some words that stand here")
    inputs = parts.realize(parts.draw(parts.kernel, np.random.SeedSequence(0), 0, 64))
    assert vd.Network(small()).switched(inputs) is None


class Tight(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch may be absent
    """A network on a device whose memory is short."""

    def __init__(self, most: int, *, wraps: Any) -> None:
        super().__init__()
        self.most, self.wraps, self.asked = most, wraps, list[int]()

    def forward(self, inputs: Any) -> Any:
        self.asked.append(len(inputs))
        if len(inputs) > self.most:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return self.wraps(inputs)


def test_as_many_at_once_as_memory_allows() -> None:
    tight = Tight(7, wraps=small()).eval()
    network, x = vd.Network(tight), IMAGE[:, :8, :8]
    why = vd.explain(network, GRID, x, method=METHOD)
    assert tight.asked[:8] == [341, 171, 86, 43, 22, 11, 6, 6]
    assert sum(n for n in tight.asked if n <= 7) == why.n_calls
    plain = vd.explain(small(), GRID, x, method=METHOD)
    np.testing.assert_allclose(why.weights, plain.weights, atol=1e-6 * np.abs(plain.weights).max())
    tight.asked.clear()
    vd.explain(network, GRID, x, method=METHOD)
    assert max(tight.asked) == 6  # what fits is known by now


@pytest.mark.parametrize("given", ["masks", "a batch"])
def test_memory_too_short_for_one_input_says_so(given: str) -> None:
    network = vd.Network(Tight(0, wraps=small()).eval())
    inputs = masked(GRID, IMAGE)[0] if given == "masks" else IMAGE[None]
    with pytest.raises(
        vd.errors.ModelError, match=r"raised OutOfMemoryError on a tensor of shape \(1, 3, 24, 32\)"
    ):
        Model(network)(inputs)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_is_a_copy(precision: str, device: str) -> None:
    module = small(device)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    network = vd.Network(module, precision=precision)
    seen = set[Any]()
    assert network.quick is not None
    network.quick.module[0].register_forward_pre_hook(lambda _, inputs: seen.add(inputs[0].dtype))
    why = vd.explain(network, GRID, IMAGE, method=METHOD)
    plain = vd.explain(module, GRID, IMAGE, method=METHOD)
    assert seen == {getattr(torch, precision)}
    assert network.module is module
    for name, value in module.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    error = np.linalg.norm(why.weights - plain.weights) / np.linalg.norm(plain.weights)
    assert 0 < error < 0.05


def test_gradients_keep_the_precision_of_the_module() -> None:
    module = small()
    for method in (vd.gradients.Gradient(), vd.gradients.IntegratedGradients()):
        why = vd.explain(vd.Network(module, precision="bfloat16"), GRID, IMAGE, method=method)
        np.testing.assert_array_equal(why.weights, vd.explain(module, GRID, IMAGE, method=method).weights)


def test_a_network_in_half_precision_travels_without_its_copy() -> None:
    module = small()
    network = vd.Network(module, precision="bfloat16", answers="softmax")
    sent = pickle.dumps(network)
    assert len(sent) == pytest.approx(len(pickle.dumps(vd.Network(module))), rel=0.1)
    np.testing.assert_array_equal(pickle.loads(sent)(IMAGE[None]), network(IMAGE[None]))


def lies_last(tensor: Any) -> bool:
    """In memory with the channels last."""
    return bool(tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous())


@pytest.mark.parametrize("prepare", [None, lambda batch: torch.as_tensor(batch).float() / 2])
def test_the_same_inputs_with_channels_last(prepare: Any) -> None:
    inputs, masks = masked(GRID, IMAGE)
    own, rows = vd.Network(small(), prepare=prepare).switched(inputs), slice(0, len(masks))
    assert own is not None
    a, b = (own.made(rows, last) for last in (False, True))
    assert (lies_last(a), lies_last(b)) == (False, True)
    torch.testing.assert_close(a, b, rtol=0, atol=0)


class Views(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch may be absent
    """A network that wants its channels first in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.layers, self.seen = small(), list[bool]()

    def forward(self, inputs: Any) -> Any:
        self.seen.append(lies_last(inputs))
        made = self.layers[:3](inputs)
        return self.layers[4](made.view(len(made), -1))


@pytest.mark.parametrize("given", ["masks", "batches"])
def test_a_network_that_cannot_have_channels_last_is_asked_otherwise(given: str) -> None:
    """As on a GPU, where they are tried first."""
    module = Views().eval()
    LAUNCH_PLANS[module] = LaunchPlan(2**24, last=True)
    network = vd.Network(module)
    with torch.no_grad(), pytest.raises(RuntimeError, match="view size is not compatible"):
        module(torch.zeros(2, 3, 24, 32).to(memory_format=torch.channels_last))
    module.seen.clear()
    asked = masked(GRID, IMAGE)[0] if given == "masks" else IMAGE[None].repeat(65, axis=0)
    answers = Model(network)(asked)
    assert module.seen == ([True, False] if given == "masks" else [False])  # batches keep their layout on a CPU
    np.testing.assert_allclose(answers, Model(vd.Network(small()))(asked), atol=1e-6)
    assert given != "masks" or LAUNCH_PLANS[module] == LaunchPlan(2**24, last=False)


def test_an_error_of_the_network_is_its_own() -> None:
    module = small()
    LAUNCH_PLANS[module] = LaunchPlan(2**24, last=True)
    with pytest.raises(vd.errors.ModelError, match="the module raised RuntimeError on a tensor of shape"):
        vd.explain(module, GRID, IMAGE[:2])


class Single:
    """What cannot be copied."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("there is only one")


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        ("half", "precision is 'float16' or 'bfloat16', not 'half'"),
        (16, "precision is 'float16' or 'bfloat16', not 16"),
        ("bfloat16", "cannot be copied for precision='bfloat16' .RuntimeError: there is only one.: convert it"),
    ],
)
def test_bad_precision(precision: Any, message: str) -> None:
    module = small()
    module.single = Single()
    with pytest.raises(vd.errors.InputError, match=message):
        Network(module, precision=precision)


@pytest.mark.parametrize(
    ("grid", "first"), [((3, 3), 257), ((4, 4), 257), ((4, 5), 257), ((4, 8), 257), ((6, 6), 513)]
)
def test_a_device_starts_with_hundreds_of_masks_in_one_pass(grid: tuple[int, int], first: int) -> None:
    """The instance, and a code that balances the parts: nothing is gained by fewer."""
    module = Tight(10_000, wraps=small()).eval()
    LAUNCH_PLANS[module] = LaunchPlan(2**27, last=False)  # as on a GPU
    vd.explain(module, vd.Grid(*grid), IMAGE, method=linear_lime())
    assert module.asked[0] == first


@pytest.mark.parametrize("shape", [(3, 24, 32), (24, 32, 3), (24, 32), (5, 24, 32, 3)])
@pytest.mark.parametrize(
    "fill", [vd.fills.PartMean(), vd.fills.Constant(0.3), vd.fills.Constant((0.1, 0.2, 0.3)), vd.fills.Blur()]
)
def test_fills_on_a_device(shape: tuple[int, ...], fill: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, grid, masks = torch.as_tensor(RNG.random(shape)), vd.Grid(3, 4, fill=fill), RNG.random((6, 12)) < 0.5
    monkeypatch.setattr(images, "on_gpu", lambda x: False)
    if fill == vd.fills.Constant((0.1, 0.2, 0.3)) and shape == (24, 32):
        with pytest.raises(vd.errors.InputError, match=r"Constant has shape \(3,\), but there are 1 channels"):
            grid(x)
        monkeypatch.setattr(images, "on_gpu", lambda x: True)
        with pytest.raises(vd.errors.InputError, match=r"Constant has shape \(3,\), but there are 1 channels"):
            grid(x)
        return
    plain = grid(x).compose(masks)
    monkeypatch.setattr(images, "on_gpu", lambda x: True)
    torch.testing.assert_close(grid(x).compose(masks), plain, rtol=0, atol=1e-14)
    torch.testing.assert_close(grid(x.half()).compose(masks), plain.half(), rtol=0, atol=1e-3)


def test_what_is_shown_is_made_while_the_device_works(monkeypatch: pytest.MonkeyPatch) -> None:
    happened = list[str]()

    def noted(what: str, function: Any) -> Any:
        return lambda *given: (happened.append(what), function(*given))[1]

    monkeypatch.setattr(Network, "launch", noted("launch", Network.launch))
    monkeypatch.setattr(images.Picture, "small_copy", noted("view", images.Picture.small_copy))
    monkeypatch.setattr(torch_modules, "as_numbers", noted("answers", torch_modules.as_numbers))
    why = vd.explain(small(), GRID, IMAGE, method=METHOD)
    assert happened == ["launch", "view", "answers"]
    assert why.view is not None
    assert isinstance(dict(why.view.data)["pixels"], np.ndarray)
    happened.clear()
    plain = vd.explain(weighed, GRID, IMAGE, method=METHOD)
    assert happened == ["view"]
    assert plain.view is not None
    assert type(plain.view.data) is type(why.view.data) is MappingProxyType


def weighed(batch: Any) -> Any:
    return batch.sum(axis=(1, 2, 3))
