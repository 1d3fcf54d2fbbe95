"""Torch tensors: they stay tensors of their type on their device, and explain as their arrays do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.contracts import assert_same, check_representation
from tests.builders.networks import GRADIENTS, LEARNED, convolutional, gradient_method

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

RNG = np.random.default_rng(0)
IMAGE = RNG.random((3, 12, 16))  # (c, h, w)
LABELS = np.add.outer(np.arange(12) // 4, 3 * (np.arange(16) // 6))
U = RNG.normal(size=(3, 12, 16))
METHOD = vd.Lime(n_samples=128)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def weigh(X: Any) -> Any:
    """A saturating model of tensors or arrays."""
    if isinstance(X, torch.Tensor):
        return torch.tanh((X.double() * torch.as_tensor(U, device=X.device)).sum(dim=(1, 2, 3)) / 10)
    return np.tanh((X.astype(float) * U).sum(axis=(1, 2, 3)) / 10)


REPRESENTERS: dict[str, Any] = {
    "labels": vd.Superpixels(segment=LABELS),
    "labels as a tensor": vd.Superpixels(segment=torch.as_tensor(LABELS)),
    "another": vd.Superpixels(segment=LABELS, fill=RNG.random((3, 12, 16))),
    "another tensor": vd.Superpixels(segment=LABELS, fill=torch.as_tensor(RNG.random((3, 12, 16)))),
    "grid": vd.Grid(3, 4, fill=vd.fills.Blur(2.0)),
    "grid, black": vd.Grid(3, 4, fill=vd.fills.Constant(0)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", REPRESENTERS)
def test_the_same_weights_as_numpy(name: str, device: str) -> None:
    represent = REPRESENTERS[name]
    seen: list[Any] = []

    def model(X: Any) -> Any:
        seen.append((X.dtype, X.device.type, X.shape[1:], X.requires_grad))
        return weigh(X)

    x = torch.as_tensor(IMAGE, device=device)
    why = vd.explain(model, represent, x, method=METHOD)
    plain = vd.explain(weigh, represent, IMAGE, method=METHOD)
    assert set(seen) == {(torch.float64, device, (3, 12, 16), False)}
    assert why.names == plain.names
    np.testing.assert_allclose(why.weights, plain.weights, atol=1e-9)
    assert why.n_calls == plain.n_calls


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.int64, torch.bool]
)
def test_every_type_keeps_its_promises(dtype: Any) -> None:
    x = (torch.as_tensor(IMAGE) * 200).to(dtype) if dtype != torch.bool else torch.as_tensor(IMAGE) > 0.5
    before = x.clone()
    represent = vd.Grid(2, 2, fill=vd.fills.Constant(7) if dtype != torch.bool else vd.fills.Constant(0))
    parts = represent(x)
    made = parts.compose(np.array([[1, 1, 1, 1], [1, 0, 1, 1]], bool))
    assert made.dtype == dtype
    assert_same(made[0], x)
    wanted = before.clone()
    wanted[:, :6, 8:] = 7 if dtype != torch.bool else False
    assert_same(made[1], wanted)
    made.zero_()
    assert_same(x, before)
    if dtype not in (torch.bool,):
        check_representation(lambda: represent(x), x[None], x)


@pytest.mark.parametrize("shape", [(8, 10), (8, 10, 3), (3, 8, 10), (1, 8, 10), (5, 8, 10, 3)])
def test_layouts(shape: tuple[int, ...]) -> None:
    x = torch.as_tensor(RNG.random(shape))
    masks = RNG.random((6, 4)) < 0.5
    for fill in (vd.fills.PartMean(), vd.fills.WholeMean(), vd.fills.Noise()):
        represent = vd.Grid(2, 2, fill=fill)
        np.testing.assert_array_equal(represent(x).compose(masks).numpy(), represent(x.numpy()).compose(masks))


def test_a_tensor_that_wants_gradients_gets_none() -> None:
    x = torch.as_tensor(IMAGE).requires_grad_()
    layer = torch.nn.Linear(3 * 12 * 16, 2, dtype=torch.float64)
    why = vd.explain(lambda X: layer(X.flatten(1)), vd.Grid(3, 4), x, target=0, method=METHOD)
    assert x.grad is None
    assert x.requires_grad
    wanted = layer.weight[0].detach().numpy().reshape(3, 12, 16) * (
        IMAGE - vd.Grid(3, 4)(IMAGE).compose(np.zeros((1, 12), bool))[0]
    )
    blocks = wanted.reshape(3, 3, 4, 4, 4).sum(axis=(0, 2, 4)).ravel()
    np.testing.assert_allclose(why.weights, blocks, atol=1e-9)


def test_tensors_that_are_not_contiguous() -> None:
    x = torch.as_tensor(RNG.random((12, 16, 3))).permute(2, 0, 1)[:, ::2]
    parts = vd.Grid(2, 2)(x)
    assert_same(parts.compose(np.ones((1, 4), bool))[0], x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_answers_of_every_type(dtype: Any) -> None:
    """A network in half precision answers in it."""
    x = torch.as_tensor(IMAGE)
    why = vd.explain(lambda X: weigh(X).to(dtype), vd.Grid(2, 2), x, method=METHOD)
    plain = vd.explain(weigh, vd.Grid(2, 2), x, method=METHOD)
    np.testing.assert_allclose(why.weights, plain.weights, atol=0.02)


def test_a_model_that_changes_tensors_in_place() -> None:
    x = torch.as_tensor(IMAGE)
    before = x.clone()

    def careless(X: Any) -> Any:
        answer = weigh(X)
        X.zero_()
        return answer

    why = vd.explain(careless, vd.Grid(3, 4), x, method=METHOD)
    np.testing.assert_array_equal(why.weights, vd.explain(weigh, vd.Grid(3, 4), x, method=METHOD).weights)
    assert_same(x, before)


@pytest.mark.parametrize("many", ["list", "stack"])
def test_many_tensors(many: str) -> None:
    arrays = [IMAGE, IMAGE**2, 1 - IMAGE]
    X = [torch.as_tensor(a) for a in arrays]
    found = vd.explain_many(weigh, vd.Grid(3, 4), X if many == "list" else torch.stack(X), method=METHOD)
    plain = vd.explain_many(weigh, vd.Grid(3, 4), arrays, method=METHOD)
    for a, b in zip(found, plain, strict=True):
        np.testing.assert_allclose(a.weights, b.weights, atol=1e-9)


@pytest.mark.parametrize(
    ("represent", "x"),
    [
        (vd.Slices(5), RNG.normal(size=100)),
        (vd.Slices(5), RNG.normal(size=(2, 100))),
        (vd.Tiles(3, 2), RNG.normal(size=(8, 12))),
        (vd.Windows(5), RNG.normal(size=40)),
        (vd.Windows(5, fill=vd.fills.Interpolate()), RNG.normal(size=(40, 2))),
    ],
    ids=["slices", "stereo", "tiles", "windows", "channels"],
)
def test_sounds_and_series(represent: Any, x: Any) -> None:
    parts, plain = represent(torch.as_tensor(x)), represent(x)
    masks = RNG.random((6, len(parts.names))) < 0.5
    made = parts.compose(masks)
    assert isinstance(made, torch.Tensor)
    np.testing.assert_array_equal(made.numpy(), plain.compose(masks))


@pytest.mark.parametrize(
    ("represent", "x"),
    [
        (vd.Tiles(2, 2, rate=8000), RNG.normal(size=400)),
        (vd.Stems(separate=lambda s: {"up": np.maximum(s, 0), "down": np.minimum(s, 0)}), RNG.normal(size=400)),
        (vd.Windows(4, cut=vd.Bands()), RNG.normal(size=64)),
    ],
    ids=["filtered", "stems", "bands"],
)
def test_sums_of_sounds_stay_tensors(represent: Any, x: Any) -> None:
    tensor = torch.as_tensor(x, dtype=torch.float32)
    parts = represent(tensor)
    d = len(parts.names)
    made = parts.compose(~np.eye(d, dtype=bool))
    assert isinstance(made, torch.Tensor)
    assert made.dtype == torch.float32
    assert_same(parts.compose(np.ones((1, d), bool))[0], tensor)
    np.testing.assert_allclose(made.numpy(), represent(x).compose(~np.eye(d, dtype=bool)), atol=1e-5)


def test_pictures_in_records_stay_tensors() -> None:
    x = {"text": "a b c", "photo": torch.as_tensor(IMAGE)}

    def model(X: Any) -> Any:
        assert all(isinstance(one["photo"], torch.Tensor) for one in X)
        return torch.stack([one["photo"].mean() + len(one["text"]) for one in X])

    why = vd.explain(model, vd.Fields({"text": vd.Words(), "photo": vd.Grid(2, 2)}), x, method=METHOD)
    assert len(why.names) == 7


def test_nan_in_a_tensor() -> None:
    with pytest.raises(vd.errors.InputError, match="NaN"):
        vd.Grid(2, 2)(torch.full((3, 8, 8), float("nan")))
    with pytest.raises(vd.errors.InputError, match="real numbers"):
        vd.Grid(2, 2)(torch.ones((3, 8, 8), dtype=torch.complex64))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", [*GRADIENTS, *LEARNED])
def test_maps_do_not_depend_on_the_device(name: str, device: str) -> None:
    """Inputs may come from anywhere: they go to where the network is."""
    data = RNG.random((20, 3, 12, 12))
    method = (
        vd.gradients.ExpectedGradients(data, 20) if name == "expected_gradients" else gradient_method(name, data)
    )
    wanted = method.maps(vd.Network(convolutional()), data[:4], None, 0).values
    network = vd.Network(convolutional().to(device))
    for inputs in (data[:4], torch.as_tensor(data[:4]), torch.as_tensor(data[:4], device=device)):
        found = method.maps(network, inputs, None, 0).values
        np.testing.assert_allclose(found, wanted, atol=1e-2 * np.abs(wanted).max())
    why = vd.explain(network, vd.Grid(2, 2), torch.as_tensor(data[0], device=device), method=method)
    np.testing.assert_allclose(why.map.sum(axis=0).sum(), why.weights.sum(), rtol=1e-9)
