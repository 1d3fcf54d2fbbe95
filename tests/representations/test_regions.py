"""Pictures, sounds and series cut into regions: against slow references, over shapes, types and fills."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd

RNG = np.random.default_rng(0)


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
    together = vd.Windows(2, fill=vd.fills.Constant((5.0, -5.0)), together=True)(x)
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


# Against slow references, over shapes, types and fills -----------------------------------------------------

TYPES = [np.uint8, np.int16, np.int64, np.float16, np.float32, np.float64, np.bool_, ">f4"]
FILLS: dict[str, Any] = {
    "part": vd.fills.PartMean(),
    "whole": vd.fills.WholeMean(),
    "least": vd.fills.Least(),
    "constant": vd.fills.Constant(3.0),
    "blur": vd.fills.Blur(1.5),
    "noise": vd.fills.Noise(),
}


def slow_fill(name: str, values: Any, labels: Any) -> Any:
    """What a fill means, one part and one channel at a time; values (..., c)."""
    found = np.empty(values.shape)
    for c in range(values.shape[-1]):
        plane = values[..., c].astype(float)
        for j in np.unique(labels):
            inside = labels == j
            found[..., c][inside] = {
                "part": lambda plane=plane, inside=inside: plane[inside].mean(),
                "whole": plane.mean,
                "least": plane.min,
                "constant": lambda: 3.0,
            }[name]()
    return found


def in_type(values: Any, dtype: Any) -> Any:
    """Rounded where numbers are whole, cut off at their ends."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return values >= 0.5
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.clip(np.round(values), ends.min, ends.max).astype(dtype)
    return values.astype(dtype)


@st.composite
def pictures(draw: Any) -> tuple[Any, str | None, Any]:
    """A picture of any layout and type, its axes if they must be told, and labels of its places."""
    places = tuple(draw(st.lists(st.integers(1, 7), min_size=2, max_size=3).filter(lambda s: np.prod(s) > 3)))
    channels = draw(st.sampled_from([None, "first", "last", "middle"]))
    c = draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape, axes = list(places), ["S"] * len(places)
    if channels is not None:
        at = {"first": 0, "last": len(places), "middle": 1}[channels]
        shape.insert(at, c)
        axes.insert(at, "C")
    dtype = draw(st.sampled_from(TYPES))
    x = (rng.normal(size=shape) * 60 + 100).clip(0, 255).astype(dtype)
    if dtype == np.bool_:
        x = rng.random(shape) < 0.5
    labels = rng.integers(0, draw(st.integers(2, 6)), places)
    labels.flat[:2] = (0, 1)
    if draw(st.booleans()):
        x = np.asfortranarray(x)
    return x, "".join(axes), labels * draw(st.sampled_from([1, 7])) - draw(st.sampled_from([0, 3]))


@given(pictures(), st.sampled_from(sorted(FILLS)), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_pictures_of_any_layout_and_type(case: Any, fill: str, seed: int) -> None:
    x, axes, labels = case
    before = x.copy()
    parts = vd.Superpixels(segment=labels, fill=FILLS[fill], axes=axes)(x)
    found = np.unique(labels)
    assert len(parts.names) == len(found)
    masks = np.random.default_rng(seed).random((4, len(found))) < 0.5
    masks[0] = True
    masks[1] = False
    made = composed(parts, masks)
    assert made.dtype == x.dtype
    assert made.shape == (4, *x.shape)
    assert made[0].tobytes() == np.ascontiguousarray(x).tobytes()
    channel = axes.index("C") if "C" in axes else None
    values = x[..., None] if channel is None else np.moveaxis(x, channel, -1)
    other = made[1]  # everything is taken away
    if fill in ("part", "whole", "least", "constant"):
        wanted = in_type(slow_fill(fill, values, labels), x.dtype)
        wanted = wanted[..., 0] if channel is None else np.moveaxis(wanted, -1, channel)
        # a mean on the border between two numbers may be rounded to either
        step = 1 if x.dtype.kind in "iub" else 2 * np.finfo(x.dtype).eps * 256
        np.testing.assert_allclose(other.astype(float), wanted.astype(float), atol=step)
    where = labels if channel is None else np.expand_dims(labels, channel)
    for mask, one in zip(masks, made, strict=True):
        kept = np.isin(where, found[mask])
        assert one.tobytes() == np.where(kept, x, other).astype(x.dtype).tobytes()
    np.testing.assert_array_equal(x, before)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 20), st.integers(1, 20), st.integers(0, 4))
@settings(max_examples=100, deadline=None)
def test_grids_are_even_and_named_by_row_and_column(rows: int, cols: int, h: int, w: int, c: int) -> None:
    shape = (h, w) if c == 0 else (h, w, c)
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    if rows > h or cols > w:
        with pytest.raises(vd.errors.InputError):
            vd.Grid(rows, cols, axes="HWC"[: len(shape)])(x)
        return
    parts = vd.Grid(rows, cols, fill=vd.fills.Constant(-1), axes="HWC"[: len(shape)])(x)
    alone = composed(parts, np.eye(rows * cols, dtype=bool))
    sizes = [np.unique(np.nonzero(one != -1)[axis]).size for one in alone for axis in (0, 1)]
    assert max(sizes[0::2]) - min(sizes[0::2]) <= 1
    assert max(sizes[1::2]) - min(sizes[1::2]) <= 1
    for r in range(rows):
        for c_ in range(cols):
            assert parts.names[r * cols + c_] == f"row {r + 1}, column {c_ + 1}"
    np.testing.assert_array_equal(alone.max(axis=0), x)
    first = np.argwhere(alone[-1] != -1)
    assert first[-1][0] == h - 1
    assert first[-1][1] == w - 1


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 24), st.integers(1, 12), st.booleans(), st.data())
@settings(max_examples=100, deadline=None)
def test_tiles_are_numbered_by_time_then_band(
    times: int, bands: int, frames: int, rows: int, turned: bool, data: Any
) -> None:
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.int16]))
    x = np.arange(rows * frames).reshape(rows, frames).astype(dtype)
    given_x = x.T if turned else x
    represent = vd.Tiles(times, bands, fill=vd.fills.Constant(-1), time_axis=-2 if turned else -1)
    if frames < times or rows < bands or frames * rows < 2:  # one number says nothing
        with pytest.raises(vd.errors.InputError):
            represent(given_x)
        return
    parts = represent(given_x)
    time, band = np.arange(frames) * times // frames, np.arange(rows) * bands // rows
    i = data.draw(st.integers(0, times * bands - 1))
    inside = np.outer(band == i % bands, time == i // bands)
    made = composed(parts, np.arange(times * bands)[None] == i)[0]
    np.testing.assert_array_equal(made.T if turned else made, np.where(inside, x, -1))
    assert made.dtype == dtype


@given(st.integers(1, 8), st.integers(1, 30), st.integers(0, 3), st.booleans(), st.booleans(), st.data())
@settings(max_examples=100, deadline=None)
def test_windows_of_any_shape(n: int, t: int, c: int, together: bool, turned: bool, data: Any) -> None:
    x = (
        np.random.default_rng(t)
        .normal(size=(t,) if c == 0 else (t, c))
        .astype(data.draw(st.sampled_from(TYPES[3:6])))
    )
    given_x = x.T if turned and c else x
    represent = vd.Windows(n, fill=vd.fills.Constant(9), together=together, time_axis=1 if turned and c else 0)
    d = n * (1 if together else max(c, 1))
    if n > t:
        with pytest.raises(vd.errors.InputError):
            represent(given_x)
        return
    parts = represent(given_x)
    assert len(parts.names) == d
    table = x.reshape(t, -1)
    window = np.arange(t) * n // t
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=d, max_size=d)))
    kept = np.stack([mask[window + (0 if together else k * n)] for k in range(table.shape[1])], axis=1)
    wanted = np.where(kept, table, np.array(9, x.dtype)).reshape(x.shape)
    made = composed(parts, mask[None])[0]
    np.testing.assert_array_equal(made.T if turned and c else made, wanted)
    assert np.bincount(window).max() - np.bincount(window).min() <= 1


@given(st.lists(st.integers(1, 39), unique=True, min_size=1, max_size=8).map(sorted))
@settings(max_examples=50, deadline=None)
def test_windows_that_start_where_one_says(starts: list[int]) -> None:
    x = np.random.default_rng(0).normal(size=40)
    parts = vd.Windows(cut=starts, fill=vd.fills.Constant(9))(x)
    edges = [0, *starts, 40]
    assert parts.names == tuple(f"t {a}-{b - 1}" for a, b in pairwise(edges))
    for j, made in enumerate(composed(parts, ~np.eye(len(starts) + 1, dtype=bool))):
        wanted = x.copy()
        wanted[edges[j] : edges[j + 1]] = 9
        np.testing.assert_array_equal(made, wanted)


def test_change_points_are_where_the_level_changes() -> None:
    x = np.repeat([0.0, 5.0, -3.0, 1.0], [13, 7, 22, 8]) + 0.01 * RNG.normal(size=50)
    assert vd.Windows(4, cut=vd.bins.ChangePoints())(x).names == ("t 0-12", "t 13-19", "t 20-41", "t 42-49")
    two = np.stack([x, RNG.normal(size=50) * 0.01], axis=1)
    assert len(vd.Windows(4, cut=vd.bins.ChangePoints(), together=True)(two).names) == 4


def test_interpolation_is_a_straight_line() -> None:
    x = np.array([1.0, 2.0, 9.0, -9.0, 9.0, 5.0, 7.0])
    parts = vd.Windows(cut=[2, 5], fill=vd.fills.Interpolate())(x)
    np.testing.assert_allclose(composed(parts, [[1, 0, 1]])[0], [1, 2, 2.75, 3.5, 4.25, 5, 7])
    np.testing.assert_allclose(composed(parts, [[0, 1, 1]])[0], [9, 9, 9, -9, 9, 5, 7])
    np.testing.assert_allclose(composed(parts, [[1, 1, 0]])[0], [1, 2, 9, -9, 9, 9, 9])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_bands_are_those_of_a_fourier_transform(dtype: Any) -> None:
    x = (1000 * RNG.normal(size=64)).astype(dtype)
    parts = vd.Windows(4, cut=vd.Bands())(x)
    spectrum = np.fft.rfft(x.astype(float))
    edges = np.linspace(1, 33, 5).round().astype(int)
    for j, made in enumerate(composed(parts, ~np.eye(4, dtype=bool))):
        rest = spectrum.copy()
        rest[edges[j] : edges[j + 1]] = 0
        wanted = np.fft.irfft(rest, 64)
        np.testing.assert_allclose(made, np.rint(wanted) if dtype == np.int16 else wanted, rtol=1e-5, atol=1e-3)
        assert made.dtype == dtype
    np.testing.assert_allclose(composed(parts, [[0] * 4])[0], x.astype(float).mean(), atol=0.51)


def test_tiles_that_are_filtered_out_sum_up_to_the_recording() -> None:
    x = RNG.normal(size=3000)
    parts = vd.Tiles(3, 4, rate=8000)(x)
    np.testing.assert_allclose(composed(parts, [[0] * 12])[0], 0, atol=1e-10)
    alone = composed(parts, np.eye(12, dtype=bool))
    np.testing.assert_allclose(alone.sum(axis=0), x, atol=1e-10)


def test_a_tone_lies_in_its_tile() -> None:
    """1 kHz in the second half of a second."""
    t = np.arange(8000) / 8000
    x = np.where(t > 0.5, np.sin(2 * np.pi * 1000 * t), 0.001 * np.sin(2 * np.pi * 150 * t))
    represent = vd.Tiles(2, 4, rate=8000)
    parts = represent(x)
    energy = (composed(parts, np.eye(8, dtype=bool)) ** 2).sum(axis=1)
    name = parts.names[int(energy.argmax())]
    low, high = (float(v) for v in name.split(", ")[1].removesuffix(" Hz").split("-"))
    assert name.startswith("0.50-1.00 s")
    assert low <= 1000 <= high
    assert energy.max() > 0.9 * energy.sum()
    np.testing.assert_allclose(
        represent.hear(x, [name]), composed(parts, np.eye(8, dtype=bool))[energy.argmax()], atol=1e-9
    )


def test_slices_and_stems_can_be_heard_alone() -> None:
    x = RNG.normal(size=1000)
    slices = vd.Slices(4)
    np.testing.assert_array_equal(slices.hear(x, [1]), np.where(np.arange(1000) // 250 == 1, x, 0))
    np.testing.assert_array_equal(slices.hear(x, "250-500 samples"), slices.hear(x, 1))
    stems = vd.Stems(separate=lambda s: {"up": np.maximum(s, 0), "down": np.minimum(s, 0)})
    np.testing.assert_allclose(stems.hear(x, ["up"]), np.maximum(x, 0), atol=1e-6)
    with pytest.raises(vd.errors.InputError, match="no part 'drums'"):
        stems.hear(x, ["drums"])


@pytest.mark.parametrize("fill", [vd.fills.Inpaint(), vd.fills.Inpaint(detail=8)])
def test_inpainting_continues_what_is_around(fill: Any) -> None:
    pytest.importorskip("skimage")
    x = np.add.outer(np.linspace(0, 1, 24), np.linspace(0, 2, 20))
    labels = np.zeros((24, 20), int)
    labels[8:14, 6:12] = 1
    made = composed(vd.Superpixels(segment=labels, fill=fill)(x), [[1, 0]])[0]
    assert np.abs(made - x).max() < 0.35
    np.testing.assert_array_equal(made[labels == 0], x[labels == 0])


@pytest.mark.parametrize(
    "segment",
    [vd.segments.Slic(), vd.segments.Quickshift(kernel_size=2, max_dist=4), vd.segments.Felzenszwalb(min_size=4)],
)
@pytest.mark.parametrize("shape", [(24, 30), (24, 30, 3), (24, 30, 4), (24, 30, 2), (24, 30, 6), (3, 24, 30)])
def test_segmentations_give_at_most_n_regions(segment: Any, shape: tuple[int, ...]) -> None:
    pytest.importorskip("skimage")
    x = np.kron(RNG.random((4, 5)), np.ones((6, 6)))
    x = x if len(shape) == 2 else np.broadcast_to(x[..., None], (24, 30, 3 if shape[0] == 3 else shape[-1]))
    x = np.moveaxis(x, -1, 0) if shape[0] == 3 else x
    axes = "HW" if len(shape) == 2 else "CHW" if shape[0] == 3 else "HWC"
    parts = vd.Superpixels(n=6, segment=segment, axes=axes)(np.array(x))
    assert 2 <= len(parts.names) <= 6
    assert len(set(parts.names)) == len(parts.names)


def test_slic_cuts_volumes_and_video() -> None:
    pytest.importorskip("skimage")
    for shape in ((9, 10, 12), (9, 10, 12, 3)):
        parts = vd.Superpixels(n=8)(RNG.random(shape))
        assert 2 <= len(parts.names) <= 8
        assert composed(parts, np.ones((1, len(parts.names)), bool)).shape == (1, *shape)
