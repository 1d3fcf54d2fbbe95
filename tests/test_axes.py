"""An instance whose axes are not as expected: the message says which axis was taken for what, and what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd

RNG = np.random.default_rng(0)
SERIES, SOUND, PICTURE = RNG.normal(size=500), RNG.normal(size=4000), RNG.random((24, 30, 3))
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "series (1, T)": (
        vd.Windows(),
        SERIES[None],
        r"shape \(1, 500\) was read as 1 step of 500 channels; if axis 1 is time, say time_axis=1",
    ),
    "series (c, T)": (vd.Windows(), np.stack([SERIES] * 3), r"read as 3 steps of 500 channels; if axis 1 is time"),
    "series (T, 1), time second": (
        vd.Windows(time_axis=1),
        SERIES[:, None],
        r"shape \(500, 1\) was read as 1 step of 500 channels; if axis 0 is time, say time_axis=0",
    ),
    "series, a batch of one": (
        vd.Windows(),
        SERIES[None, :, None],
        r"first axis looks like a batch of one; pass .* x\[0\]",
    ),
    "series, a batch": (
        vd.Windows(),
        np.zeros((4, 50, 2)),
        r"may be a batch; pass one instance, x\[0\], or call explain_many",
    ),
    "series too short": (
        vd.Windows(),
        SERIES[:4],
        r"a series of 4 steps cannot be cut into 10 windows: .* 4 steps of one",
    ),
    "bands (1, T)": (vd.Windows(4, cut=vd.Bands()), SERIES[None], r"1 step of 500 channels; if axis 1 is time"),
    "slices, channels last": (
        vd.Slices(),
        np.stack([SOUND] * 2, axis=1),
        r"shape \(4000, 2\) was read as 4000 channels of 2 samples each, for channels come first: .* pass x\.T",
    ),
    "few slices, channels last": (vd.Slices(2), np.stack([SOUND] * 2, axis=1), r"pass x\.T"),
    "slices, a batch of one": (vd.Slices(), SOUND[None, None], r"first axis looks like a batch of one"),
    "stems (1, T)": (
        vd.Stems(lambda s: {"a": s, "b": s}),
        SOUND[None],
        r"this has \(1, 4000\): pass x\[0\], its only channel",
    ),
    "stems (T, 1)": (vd.Stems(lambda s: {"a": s, "b": s}), SOUND[:, None], r"pass x\[:, 0\], its only channel"),
    "stems, two channels": (vd.Stems(lambda s: {"a": s}), np.stack([SOUND] * 2), "mix its channels down first"),
    "tiles (1, T)": (
        vd.Tiles(rate=8000.0),
        SOUND[None],
        r"shape \(1, 4000\) was read as a spectrogram of 1 bands and 4000 frames.*pass x\[0\]",
    ),
    "tiles, time first": (vd.Tiles(5, 4), RNG.random((400, 3)), r"400 bands and 3 frames.*say time_axis=…"),
    "tiles, a batch of one": (vd.Tiles(), RNG.random((1, 1, 40, 60)), r"first axis looks like a batch of one"),
    "picture, a batch of one": (
        vd.Grid(2, 2),
        PICTURE[None],
        r"first axis looks like a batch of one: pass .* x\[0\]",
    ),
    "picture, channels between": (
        vd.Grid(8, 8),
        PICTURE.transpose(0, 2, 1)[:, :, :5],
        r"shape \(24, 3, 5\) was read as 24 × 3 × 5 pixels without channels",
    ),
    "picture, channels taken for pixels": (
        vd.Grid(8, 8),
        RNG.random((3, 24, 4)),
        r"read as 3 × 24 pixels, with 4 channels in axis 2; say axes=",
    ),
    "labels": (
        vd.Superpixels(segment=np.zeros((3, 24), int)),
        PICTURE,
        r"24 × 30 pixels, with 3 channels in axis 2",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_message_says_which_axis_was_taken_for_what(case: str) -> None:
    representer, x, says = REFUSED[case]
    with pytest.raises(vd.InputError, match=f"(?s){says}"):
        representer(x)


def test_a_series_of_more_channels_than_steps_is_noted() -> None:
    assert vd.Windows(2)(np.stack([SERIES] * 12)).notes == (
        "shape (12, 500) was read as 12 steps of 500 channels; if axis 1 is time, say time_axis=1",
    )
    assert vd.Windows(2, time_axis=1)(np.stack([SERIES] * 12)).notes == ()
    assert vd.Windows(2)(np.stack([SERIES] * 12, axis=1)).notes == ()


def test_one_channel_is_taken_where_it_can_be() -> None:
    assert len(vd.Windows(time_axis=1)(SERIES[None]).parts) == 10
    assert len(vd.Windows()(SERIES[:, None]).parts) == 10
    assert len(vd.Slices()(SOUND[None]).parts) == 10
    assert len(vd.Grid(2, 2)(PICTURE[None, :, :, 0]).parts) == 4
