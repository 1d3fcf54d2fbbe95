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
