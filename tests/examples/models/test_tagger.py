"""The music tagger of the examples, with narrow layers and weights made here: what it hears has gradients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd

torch = pytest.importorskip("torch")
librosa = pytest.importorskip("librosa")

EXAMPLES = str(Path(__file__).parents[3] / "examples")
sys.path.insert(0, EXAMPLES)  # for these imports alone
try:
    from models import ears, tagger
finally:
    sys.path.remove(EXAMPLES)

assert ears  # the tagger hears by it
SAMPLES = (0.1 * np.random.default_rng(0).normal(size=48_000)).astype(np.float32)
KERNELS = [(7, 86, 1, 3), (7, 38, 1, 3), (128, 1, 1, 2), (64, 1, 1, 2), (32, 1, 1, 2), (7, 12, 1, 4), (7, 4, 1, 4)]
DENSE = [(48, 5), (5, 50)]


def weights() -> dict[str, Any]:
    """By the names of the checkpoint."""
    rng = torch.Generator().manual_seed(0)
    made: dict[str, Any] = {}

    def put(layer: str, i: int, **shapes: Any) -> None:
        for name, shape in shapes.items():
            value = torch.randn(shape, generator=rng) / np.prod(shape[:-1]) ** 0.5
            made[f"{layer}_{i}/{name}" if i else f"{layer}/{name}"] = value.abs() + 1 if "var" in name else value

    kernels = [*KERNELS, KERNELS[-1]]
    for i, shape in enumerate(kernels):
        put("conv2d", i, kernel=shape, bias=shape[-1:])
    for i, shape in enumerate(DENSE):
        put("dense", i, kernel=shape, bias=shape[-1:])
    for i, n in enumerate([1, *(shape[-1] for shape in kernels), 48, 5]):
        put("batch_normalization", i, moving_mean=(n,), moving_variance=(n,), gamma=(n,), beta=(n,))
    return made


@pytest.fixture(scope="module")
def narrow() -> Any:
    return tagger.Tagger(weights())


def test_what_it_hears_is_the_log_mel_of_librosa() -> None:
    power = librosa.feature.melspectrogram(y=SAMPLES, sr=tagger.RATE, n_fft=512, hop_length=256, n_mels=96)
    np.testing.assert_allclose(tagger.LogMel()(SAMPLES), np.log10(1e4 * power + 1)[:, :187], atol=1e-4)
    np.testing.assert_allclose(tagger.LogMel.hertz, librosa.mel_frequencies(97, fmin=0, fmax=8000), atol=1e-6)
    with pytest.raises(ValueError, match=r"needs 3\.0 seconds"):
        tagger.LogMel()(SAMPLES[:-512])


def test_a_recording_has_the_slopes_that_small_steps_show() -> None:
    narrow, front = tagger.Tagger({k: v.double() for k, v in weights().items()}), tagger.LogMel()
    samples = torch.from_numpy(SAMPLES).double()[None].requires_grad_()
    narrow(front.tensor(samples))[0, 3].backward()
    assert samples.grad is not None
    way = samples.grad / samples.grad.norm()
    with torch.no_grad():
        up, down = (narrow(front.tensor(samples + h * way))[0, 3] for h in (1e-6, -1e-6))
    np.testing.assert_allclose((up - down) / 2e-6, samples.grad.norm(), rtol=1e-2)


def test_it_answers_as_a_network_and_moves_with_its_weights(narrow: Any) -> None:
    x = tagger.LogMel()(SAMPLES)
    network = tagger.asking(narrow)
    found = network(x[None])
    assert found.shape == (1, len(tagger.TAGS))
    np.testing.assert_allclose(found, torch.sigmoid(narrow(torch.from_numpy(x)[None])), rtol=1e-5)
    assert set(narrow.weights) == set(weights())
    assert narrow.to(torch.float64)(torch.from_numpy(x).double()[None]).dtype == torch.float64
    narrow.to(torch.float32)
    why = vd.explain(
        network, vd.Tiles(times=2, bands=2, front=tagger.LogMel()), SAMPLES, target="vocal", classes=tagger.TAGS,
        method=vd.gradients.IntegratedGradients(n_steps=2),
    )  # fmt: skip
    assert why.target == "vocal"
    assert why.parts[0].name.endswith("Hz")
