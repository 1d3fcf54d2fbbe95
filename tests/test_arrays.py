"""Pictures, sounds and series cut into regions: against slow references, over shapes, types and fills."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd

RNG = np.random.default_rng(0)
SEED = np.random.SeedSequence(5)


def composed(representation: Any, masks: Any) -> Any:
    """The inputs of masks."""
    return representation.compose(np.asarray(masks, dtype=bool))


@pytest.mark.parametrize(
    ("represent", "x"),
    [
        (vd.Grid(2, 2), RNG.random((6, 6, 3))),
        (vd.Slices(3), RNG.normal(size=30)),
        (vd.Tiles(2, 2), RNG.normal(size=(6, 8))),
        (vd.Windows(3), RNG.normal(size=30)),
    ],
    ids=["grid", "slices", "tiles", "windows"],
)
def test_nested_lists_are_as_good_as_arrays(represent: Any, x: Any) -> None:
    masks = RNG.random((5, len(represent(x).names))) < 0.5
    np.testing.assert_array_equal(composed(represent(x.tolist()), masks), composed(represent(x), masks))


def test_an_image_of_pillow_is_as_good_as_its_array() -> None:
    image = pytest.importorskip("PIL.Image")
    x = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)
    masks = RNG.random((5, 4)) < 0.5
    made = composed(vd.Grid(2, 2)(image.fromarray(x)), masks)
    assert made.dtype == np.uint8
    np.testing.assert_array_equal(made, composed(vd.Grid(2, 2)(x), masks))


def test_a_fill_that_is_another_picture_is_read_as_the_picture_is() -> None:
    """Axes that are spelled out hold for the other picture, too."""
    x, other = RNG.random((2, 4, 6, 5))
    labels = np.arange(120).reshape(4, 6, 5) // 40
    volume = vd.Superpixels(segment=labels, fill=other, axes="ZHW")(x)
    np.testing.assert_array_equal(composed(volume, [[1, 0, 1]])[0], np.where(labels == 1, other, x))


def test_a_constant_a_channel_fills_a_series() -> None:
    x = RNG.normal(size=(20, 2))
    together = vd.Windows(2, fill=vd.Constant((5.0, -5.0)), together=True)(x)
    np.testing.assert_array_equal(composed(together, [[0, 1]])[0], np.vstack([np.full((10, 2), [5, -5]), x[10:]]))


def test_a_function_that_segments_sees_the_whole_picture() -> None:
    """scikit-image's own see a large picture coarsely, but a caller may know the labels already."""
    x = RNG.random((300, 400, 3))
    known = np.add.outer(np.arange(300) // 150, 2 * (np.arange(400) // 200))
    seen: list[Any] = []
    parts = vd.Superpixels(segment=lambda picture: seen.append(picture.shape) or known)(x)
    assert seen == [(300, 400, 3)]
    assert len(parts.names) == 4


def test_channels_that_cancel_each_other_are_a_recording_like_any_other() -> None:
    wave = np.sin(np.arange(400.0))
    parts = vd.Slices(4, rate=8000)(np.stack([wave, -wave]))
    np.testing.assert_array_equal(composed(parts, [[1, 1, 1, 1]])[0], [wave, -wave])
    assert not parts.view.data["samples"].any()


def test_tiles_of_a_very_short_recording_have_names_of_their_own() -> None:
    names = vd.Tiles(5, 4, rate=22050)(RNG.normal(size=200)).names
    assert len(set(names)) == 20
