"""The detector of the examples: its architecture is the paper's, and a song in one pass is as window by window."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import veridical as vd

torch = pytest.importorskip("torch")

EXAMPLES = str(Path(__file__).parents[3] / "examples")
sys.path.insert(0, EXAMPLES)  # for these imports alone
try:
    from models import detector as detectors
finally:
    sys.path.remove(EXAMPLES)

EXCERPTS = np.random.default_rng(0).normal(-4, 2, (3, 80, 115)).astype(np.float32)


@pytest.fixture(scope="module")
def small() -> detectors.Detector:
    """A narrow one, which has seen what is usual in each band."""
    made = detectors.built(width=2)
    made.train()
    with torch.no_grad():
        for _ in range(5):
            made(torch.from_numpy(EXCERPTS))
    return made.eval()


def test_an_excerpt_has_one_answer_and_layers_have_the_sizes_of_the_paper() -> None:
    made = detectors.built()
    shapes = []
    x = torch.zeros(1, 1, 115, 80)
    for layer in made.layers:
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    assert list(dict.fromkeys(shapes)) == [
        (64, 113, 78),
        (32, 111, 76),
        (32, 109, 25),
        (128, 103, 23),
        (64, 97, 21),
        (64, 91, 7),
        (256, 1, 1),
        (64, 1, 1),
        (1, 1, 1),
    ]
    assert made(torch.from_numpy(EXCERPTS)).shape == (3, 1)
    learned = sum(p.numel() for p in made.parameters())
    assert learned == 64 * 9 + 32 * 576 + 128 * 288 + 64 * 1152 + 256 * 64 * 77 + 64 * 256 + 65 + 2 * (
        64 + 32 + 128 + 64 + 256 + 64
    )


def test_a_song_in_one_pass_is_as_window_by_window(small: detectors.Detector) -> None:
    song = torch.from_numpy(np.concatenate(list(EXCERPTS[:2]), axis=1))
    with torch.no_grad():
        whole = small(song[None])[0]
        windows = song.unfold(1, 115, 1).permute(1, 0, 2)  # (windows, 80, 115)
        each = small(windows)[:, 0]
    assert len(whole) == 2 * 115 - 114
    assert whole.std() > 0
    np.testing.assert_allclose(whole, each, atol=1e-5)


def test_the_first_layer_does_not_hear_how_loud_all_is() -> None:
    first = detectors.built(width=4).layers[0]
    x = torch.randn(1, 1, 20, 20, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(first(x), first(x + 7), atol=1e-4, rtol=0)
        assert first(2 * x).sub(first(x)).abs().max() > 0.1


def test_it_is_explained_with_and_without_gradients(small: detectors.Detector) -> None:
    network = detectors.asking(small)
    for method in (vd.Occlusion(), vd.gradients.IntegratedGradients(n_steps=4)):
        why = vd.explain(network, vd.Tiles(front=detectors.MEL), EXCERPTS[0], method=method)
        assert len(why.parts) == 20
        assert why.parts[0].name.endswith("Hz")
