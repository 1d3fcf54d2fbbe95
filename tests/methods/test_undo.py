"""Parts put back to what the rest suggests: near fills, the method, and the question that each method answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.contracts import check
from veridical.methods.undo import FillWeights, combine_effects, mix_weights, small_changes
from veridical.protocols import Refillable
from veridical.records import QUESTIONS

RNG = np.random.default_rng(0)
LOUD = RNG.normal(size=(40, 60))
PICTURE = RNG.integers(0, 256, (12, 15, 3), dtype=np.uint8)
ODD = RNG.integers(0, 4, (12, 15))  # regions of no shape at all
WAVE = np.sin(np.arange(600) / 9) + 0.1 * RNG.normal(size=600)
TREND = RNG.normal(size=(60, 2)).cumsum(axis=0)
TEXT = "a good film and a bad print"
ALONE = ~np.eye(20, dtype=bool)
METHODS = {"change": small_changes(), "content": vd.methods.Undo(), "either": vd.methods.Either()}  # by question


def tile(i: int) -> tuple[slice, slice]:
    """Where the tile i of a spectrogram of 40 bands and 60 frames is."""
    return slice(10 * (i % 4), 10 * (i % 4) + 10), slice(12 * (i // 4), 12 * (i // 4) + 12)


# Fills -----------------------------------------------------------------------------------------------------


def slow_line(values: Any, labels: Any, at: int) -> float | None:
    """A straight line through the run of one label, one value at a time."""
    before = after = at
    while before >= 0 and labels[before] == labels[at]:
        before -= 1
    while after < len(labels) and labels[after] == labels[at]:
        after += 1
    sides = [values[i] for i in (before, after) if 0 <= i < len(labels)]
    if len(sides) < 2:
        return sides[0] if sides else None
    return sides[0] + (sides[1] - sides[0]) * (at - before) / (after - before)


@pytest.mark.parametrize("shape", [(9,), (7, 8), (1, 6), (4, 3, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_interpolation_is_the_mean_of_lines_along_each_axis(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, labels = rng.normal(size=(*shape, 2)), rng.integers(0, 2, shape)
    found = vd.fills.Interpolate()(values, labels)
    for place in np.ndindex(*shape):
        for channel in range(2):
            lines = []
            for axis, at in enumerate(place):
                along = tuple(slice(None) if i == axis else j for i, j in enumerate(place))
                lines.append(slow_line(values[..., channel][along], labels[along], at))
            known = [line for line in lines if line is not None]
            wanted = np.mean(known) if known else values[..., channel].mean()
            assert found[(*place, channel)] == pytest.approx(wanted, abs=1e-12)


def test_interpolation_continues_a_plane() -> None:
    x = np.add.outer(np.arange(12.0), 3 * np.arange(15.0))
    labels = np.zeros((12, 15), int)
    labels[4:8, 5:10] = 1
    made = vd.fills.Interpolate()(x[..., None], labels)[..., 0]
    np.testing.assert_allclose(made[labels == 1], x[labels == 1], atol=1e-12)


def test_a_low_rank_copy_keeps_the_strongest_patterns() -> None:
    strong = 5 * np.outer(np.sin(np.arange(40)), np.cos(np.arange(60))) + 2
    noisy = strong + 0.1 * RNG.normal(size=(40, 60))
    labels = np.zeros((40, 60), int)
    np.testing.assert_allclose(vd.fills.LowRank(2)(strong[..., None], labels)[..., 0], strong, atol=1e-9)
    assert np.abs(vd.fills.LowRank(1)(noisy[..., None], labels)[..., 0] - strong).mean() < 0.03
    kept = np.linalg.matrix_rank(vd.fills.LowRank()(noisy[..., None], labels)[..., 0] - noisy.mean())
    assert 8 <= kept <= 12
    np.testing.assert_allclose(vd.fills.LowRank(99)(noisy[..., None], labels)[..., 0], noisy)


def test_each_channel_and_frame_has_patterns_of_its_own() -> None:
    video = RNG.normal(size=(3, 8, 9, 2))
    made = vd.fills.LowRank(2)(video, np.zeros((3, 8, 9), int))
    for frame in range(3):
        for channel in range(2):
            alone = vd.fills.LowRank(2)(video[frame, ..., channel, None], np.zeros((8, 9), int))
            np.testing.assert_allclose(made[frame, ..., channel], alone[..., 0])


def test_a_series_is_smoothed_by_the_patterns_of_its_windows() -> None:
    t = np.arange(400)
    clean = np.stack([np.sin(t / 5), 3 + np.cos(t / 11)], axis=1)
    noisy = clean + 0.3 * RNG.normal(size=clean.shape)
    made = vd.fills.LowRank(3)(noisy, np.zeros(400, int))
    assert np.std(made - clean) < 0.5 * np.std(noisy - clean)
    np.testing.assert_allclose(vd.fills.LowRank(64)(noisy, np.zeros(400, int)), noisy, atol=1e-9)
    for n in (1, 2, 3):
        assert vd.fills.LowRank()(noisy[:n], np.zeros(n, int)).shape == (n, 2)


@pytest.mark.parametrize("rank", [0, -1, 2.5, "8", True])
def test_a_rank_is_a_whole_number(rank: Any) -> None:
    check(lambda: vd.fills.LowRank(rank), vd.errors.InputError, "rank of LowRank")


# Parts with another fill -----------------------------------------------------------------------------------

FILLED: dict[str, tuple[Any, Any]] = {
    "regions": (lambda fill: vd.Superpixels(segment=ODD, fill=fill), PICTURE),
    "channels first": (lambda fill: vd.Grid(2, 3, fill=fill), np.moveaxis(PICTURE / 255, -1, 0)),
    "volume": (lambda fill: vd.Grid(2, 2, fill=fill, axes="ZHW"), RNG.normal(size=(4, 6, 6)).astype(np.float32)),
    "spectrogram": (lambda fill: vd.Tiles(fill=fill), LOUD),
    "time first": (lambda fill: vd.Tiles(fill=fill, time_axis=-2), LOUD.T),
    "front end": (lambda fill: vd.Tiles(5, 4, fill=fill, front=lambda wave: wave.reshape(20, 30)), WAVE),
    "slices": (lambda fill: vd.Slices(6, fill=fill), (1000 * WAVE).astype(np.int16)),
    "stereo": (lambda fill: vd.Slices(6, fill=fill), np.stack([WAVE, WAVE**2])),
    "series": (lambda fill: vd.Windows(6, fill=fill), TREND[:, 0]),
    "channels": (lambda fill: vd.Windows(6, fill=fill), TREND),
    "channels by time": (lambda fill: vd.Windows(6, fill=fill, time_axis=1), TREND.T),
}


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize(
    "fill", [vd.fills.Interpolate(), vd.fills.LowRank(), vd.fills.Blur(2.0), vd.fills.WholeMean()], ids=repr
)
def test_parts_with_another_fill_are_those_of_a_representer_with_it(name: str, fill: Any) -> None:
    represent, x = FILLED[name]
    before = represent(vd.fills.Constant(7))(x)
    assert isinstance(before, Refillable)
    again, wanted = before.refilled(fill), represent(fill)(x)
    masks = RNG.random((12, len(before.names))) < 0.5
    for one, other in ((again, wanted), (again.refilled(vd.fills.Constant(7)), before)):
        np.testing.assert_array_equal(*(np.asarray(parts.compose(masks)) for parts in (one, other)))
    assert (again.names, again.view) == (before.names, before.view)


@pytest.mark.parametrize("name", [name for name in FILLED if name != "front end"])
def test_parts_of_another_instance_stand_in(name: str) -> None:
    """Where no part is kept it is the other instance, bit for bit; where all are, it is this one."""
    represent, x = FILLED[name]
    other = x[::-1].copy()
    parts = represent(vd.fills.Constant(0))(x).refilled(other)
    d = len(parts.names)
    np.testing.assert_array_equal(parts.compose(np.zeros((1, d), bool))[0], other)
    np.testing.assert_array_equal(parts.compose(np.ones((1, d), bool))[0], x)
    check(lambda: parts.refilled(other[:-1]), vd.errors.InputError, "shape")


def test_tensors_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    parts = vd.Grid(2, 3)(torch.tensor(PICTURE)).refilled(vd.fills.Interpolate())
    wanted = vd.Grid(2, 3, fill=vd.fills.Interpolate())(PICTURE)
    masks = RNG.random((5, 6)) < 0.5
    np.testing.assert_array_equal(parts.compose(masks).numpy(), wanted.compose(masks))


@pytest.mark.parametrize(
    ("represent", "x"),
    [
        (vd.Words(), TEXT),
        (vd.Rows(TREND), TREND[0]),
        (vd.Windows(4, cut=vd.Bands()), TREND[:, 0]),
        (vd.Tiles(2, 2, rate=100), WAVE),
    ],
    ids=["text", "row", "bands", "filtered"],
)
def test_what_is_not_filled_cannot_be_filled_otherwise(represent: Any, x: Any) -> None:
    assert not isinstance(represent(x), Refillable)


# The method ------------------------------------------------------------------------------------------------


def linear(u: Any) -> Any:
    return lambda X: 1 + (X * u).sum(axis=(1, 2))


@pytest.mark.parametrize("fill", [vd.fills.Interpolate(), vd.fills.LowRank(6), vd.fills.Blur(2.0)], ids=repr)
def test_a_linear_model_loses_what_the_fill_leaves(fill: Any) -> None:
    """Tile s has the weight Σ u (x - fill), exactly, after one call a part."""
    u = RNG.normal(size=LOUD.shape)
    why = vd.explain(linear(u), vd.Tiles(), LOUD, method=vd.methods.Undo((fill,)))
    parts = vd.Tiles()(LOUD)
    gains = u * (LOUD - fill(LOUD[..., None], parts.paint(np.arange(20.0)).astype(int))[..., 0])
    np.testing.assert_allclose(why.weights, parts.gather(gains), atol=1e-9)
    np.testing.assert_array_equal(why.intervals, np.stack([why.weights] * 2, axis=1))
    assert why.n_calls == 21
    assert why.verdict.label == "unchecked"
    assert not why.notes
    assert why.prediction == why.local_prediction == pytest.approx(why.intercept + why.weights.sum())


def flat_near(x: Any) -> Any:
    """Sure of itself as long as tile 9 is about as it is, and moved by the fine detail of tile 6."""
    mean, fine = x[tile(9)].mean(), LOUD[tile(6)] - vd.fills.Blur(1.0)(LOUD[..., None], ODD)[..., 0][tile(6)]

    def model(X: Any) -> Any:
        steady = np.abs(X[(slice(None), *tile(9))].mean(axis=(1, 2)) - mean) < 1.0
        return steady + 0.02 * np.tanh((X[(slice(None), *tile(6))] * fine).sum(axis=(1, 2)) / 10)

    return model


def test_e6_a_near_fill_finds_what_a_mean_cannot() -> None:
    """The model is constant around the values of one tile, and another at their mean."""
    x = LOUD.copy()
    x[tile(9)] += 3
    model, names = flat_near(x), vd.Tiles()(x).names
    assert vd.explain(model, vd.Tiles(), x, method=vd.Lime(n_samples=256)).top(1)[0][0] == names[9]
    near = vd.explain(model, vd.Tiles(), x, method=small_changes())
    assert near.top(1)[0][0] == names[6]
    assert dict(zip(names, near.weights, strict=True))[names[9]] == 0


SMOOTH = np.add.outer(np.sin(np.arange(40) / 9), np.cos(np.arange(60) / 13)) + 0.3 * RNG.normal(size=(40, 60))
RIDGE, FINE = np.zeros_like(SMOOTH), np.zeros_like(SMOOTH)
RIDGE[tile(13)] = 2.0
FINE[tile(2)] = 0.2 * RNG.choice([-1.0, 1.0], (10, 12))


def both_causes(X: Any) -> Any:
    return (X * RIDGE).sum(axis=(1, 2)) / 50 + (X * FINE).sum(axis=(1, 2))


@pytest.mark.parametrize(
    ("added", "guilty", "fills", "said"),
    [
        (RIDGE, 13, ("Interpolate", "Blur"), "the content of parts was"),
        (FINE, 2, ("LowRank", "Blur"), "small changes were"),
    ],
    ids=["content", "change"],
)
def test_the_copy_without_detail_says_which_kind_of_cause_it_was(
    added: Any, guilty: int, fills: tuple[str, ...], said: str
) -> None:
    """A ridge is undone by what is around it and stays without detail; noise is undone by any near copy."""
    why = vd.explain(both_causes, vd.Tiles(), SMOOTH + added, method=vd.methods.Either())
    name = why.names[guilty]
    assert why.top(1)[0][0] == name
    kind, spoke = why.notes
    assert said in kind
    assert any(f"{fill} for {name}" in spoke for fill in fills)
    asked = {"content": 82, "change": 82 + 401}
    assert why.n_calls == asked["content" if guilty == 13 else "change"]


def test_between_the_two_both_are_mixed() -> None:
    """What lies in the middle between no fall and enough of one counts half and half, each by its own spread."""
    one, other = (FillWeights(RNG.normal(size=6) * size, np.full(6, 0.1)) for size in (1.0, 50.0))
    np.testing.assert_allclose(mix_weights(one, other, 0.0).weights, one.weights)
    np.testing.assert_allclose(mix_weights(one, other, 1.0).weights, other.weights)
    half = mix_weights(one, other, 0.5)
    spreads = [each.weights.std() for each in (one, other)]
    wanted = sum(each.weights / spread for each, spread in zip((one, other), spreads, strict=True)) / 2
    np.testing.assert_allclose(half.weights, wanted * np.mean(spreads))
    near = vd.explain(both_causes, vd.Tiles(), SMOOTH + RIDGE + FINE, method=vd.methods.Either(enough=1e6))
    assert "both kinds" in near.notes[0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"content": vd.Lime()}, ("content", "vd.methods.Undo()")),
        ({"change": vd.methods.Undo}, ("change", "vd.methods.Undo()")),
        ({"enough": 0}, ("enough", "positive")),
    ],
)
def test_bad_settings_of_either(settings: Any, words: tuple[str, ...]) -> None:
    check(lambda: vd.methods.Either(**settings), vd.errors.InputError, *words)


def test_effects_are_brought_to_the_spread_of_the_first_fill() -> None:
    effects = RNG.normal(size=(2, 7)) * [[1.0], [40.0]]
    weights, spoke = combine_effects(effects)
    brought = effects / effects.std(axis=1, keepdims=True) * effects[0].std()
    np.testing.assert_allclose(weights, brought.max(axis=0))
    np.testing.assert_array_equal(spoke, brought.argmax(axis=0))
    np.testing.assert_allclose(weights[spoke == 0], effects[0][spoke == 0])
    np.testing.assert_allclose(combine_effects(effects * [[3.0], [0.1]])[0], 3 * weights)


def test_a_fill_that_changes_next_to_nothing_does_not_speak() -> None:
    known = np.array([0.0, 1.0, 3.0, 0.0, -1.0])
    for little in (0.0, 1e-9):
        weights, spoke = combine_effects(np.stack([little * RNG.normal(size=5), known]))
        np.testing.assert_allclose(weights, known)
        assert (spoke == 1).all()
    np.testing.assert_array_equal(combine_effects(np.zeros((2, 5)))[0], 0)


def test_steps_weigh_the_effects() -> None:
    """A part whose undoing counts twice as much, but which hardly moves the output, comes second."""
    method = vd.methods.Undo((vd.fills.Constant(0),), vd.Sensitivity())

    def model(X: Any) -> Any:
        a, b = (X[(slice(None), *tile(i))].mean(axis=(1, 2)) for i in (0, 1))
        return 2.0 * (a > 0.5) + np.tanh(b)

    x = LOUD.copy()
    x[tile(0)] += 3
    x[tile(1)] += 1
    why, names = vd.explain(model, vd.Tiles(), x, method=method), vd.Tiles()(x).names
    assert why.top(5)[0][0] == names[1]
    assert (
        vd.explain(model, vd.Tiles(), x, method=vd.methods.Undo((vd.fills.Constant(0),))).top(1)[0][0] == names[0]
    )
    at = names.index(names[1])
    assert why.intervals[at, 0] < why.weights[at] < why.intervals[at, 1]


def test_intervals_hold_what_more_steps_would_find() -> None:
    """The truth is falls times norms of slopes; 20 seeds of 20 parts miss it in 8 % at most."""
    u = RNG.normal(size=LOUD.shape)
    fill, parts, missed = vd.fills.LowRank(), vd.Tiles()(LOUD), 0
    sizes = np.sqrt(parts.gather(u**2))
    falls = vd.explain(linear(u), vd.Tiles(), LOUD, method=vd.methods.Undo((fill,))).weights
    truth = falls * sizes / np.sqrt(np.mean(sizes**2))
    for seed in range(20):
        why = vd.explain(linear(u), vd.Tiles(), LOUD, method=vd.methods.Undo((fill,), vd.Sensitivity()), rng=seed)
        missed += int(((truth < why.intervals[:, 0]) | (truth > why.intervals[:, 1])).sum())
        assert (np.sign(why.intervals) == np.sign(why.weights)[:, None]).all()
    assert missed <= 0.08 * 400


def test_intervals_of_mixtures_hold_what_more_steps_would_find() -> None:
    """20 seeds of 20 parts miss what 600 draws find in 8 % at most."""
    u = RNG.normal(size=(12, 20))
    x = 2.0 * RNG.normal(size=u.shape) + u
    missed, few, many = (
        0,
        *(vd.methods.Undo((vd.fills.LowRank(), vd.fills.Blur(1.0)), vd.Sensitivity(n_draws=n)) for n in (10, 600)),
    )
    truth = vd.explain(linear(u), vd.Tiles(), x, method=vd.methods.Either(change=many, enough=5.0))
    assert "both kinds" in truth.notes[0]
    for seed in range(20):
        why = vd.explain(linear(u), vd.Tiles(), x, method=vd.methods.Either(change=few, enough=5.0), rng=seed)
        missed += int(((truth.weights < why.intervals[:, 0]) | (truth.weights > why.intervals[:, 1])).sum())
    assert missed <= 0.08 * 400


def test_gradients_may_take_the_place_of_steps() -> None:
    """Falls times the sum of the gradient's size in each part, next to the root mean square over parts."""
    torch = pytest.importorskip("torch")
    u = RNG.normal(size=LOUD.shape)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2400, 1, bias=False)).double()
    with torch.no_grad():
        module[1].weight.copy_(torch.tensor(u.reshape(1, -1)))
    fill, parts = vd.fills.LowRank(), vd.Tiles()(LOUD)
    why = vd.explain(module, vd.Tiles(), LOUD, method=vd.methods.Undo((fill,), vd.gradients.Gradient()))
    falls = parts.gather(u * (LOUD - fill(LOUD[..., None], np.zeros(LOUD.shape, int))[..., 0]))
    slopes = parts.gather(np.abs(u))
    np.testing.assert_allclose(why.weights, falls * slopes / np.sqrt(np.mean(slopes**2)), atol=1e-9)
    assert why.n_calls == 21 + vd.explain(module, vd.Tiles(), LOUD, method=vd.gradients.Gradient()).n_calls


def test_of_a_network_a_function_of_its_outputs_may_be_the_target() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2400, 2)).double()
    method = vd.methods.Either(change=vd.methods.Undo((vd.fills.LowRank(),), vd.gradients.Gradient()), enough=1e-9)
    why = vd.explain(module, vd.Tiles(), LOUD, method=method, target=lambda outputs: outputs[:, 0] - outputs[:, 1])
    slopes, parts = module[1].weight.detach().numpy(), vd.Tiles()(LOUD)
    u = (slopes[0] - slopes[1]).reshape(40, 60)
    falls = parts.gather(u * (LOUD - vd.fills.LowRank()(LOUD[..., None], np.zeros(LOUD.shape, int))[..., 0]))
    sizes = parts.gather(np.abs(u))
    np.testing.assert_allclose(why.weights, falls * sizes / np.sqrt(np.mean(sizes**2)), atol=1e-9)


def half_and_half(X: Any) -> Any:
    """As sure of one half as of the other."""
    return np.minimum(X[:, :, :10].mean(axis=(1, 2)), 1) + np.minimum(X[:, :, 20:].mean(axis=(1, 2)), 1)


def test_parts_that_count_alike_are_told_too() -> None:
    """There is no spread that effects could be brought to, nor would that of rounding do."""
    x, halves = np.full((30, 30), 0.0), np.repeat([0, 1, 2], 10) * np.ones((30, 1), int)
    x[:, :10] = x[:, 20:] = 1.0
    why = vd.explain(half_and_half, vd.Superpixels(segment=halves), x, method=vd.methods.Either())
    np.testing.assert_allclose(why.weights, [1, 0, 1])
    weights, spoke = combine_effects(np.array([[1.0, 1.0], [0.1, np.nextafter(0.1, 1)]]))
    np.testing.assert_allclose(weights, 1)
    assert not spoke.any()


def test_where_small_steps_do_nothing_the_content_is_asked_about() -> None:
    """The copy without detail is decided otherwise, and so is the one without the ridge; no slope says so."""

    def model(X: Any) -> Any:
        score = both_causes(X) - both_causes((SMOOTH + RIDGE)[None])
        return np.where(np.abs(score) < 0.02, 1.0, 0.0)

    why = vd.explain(model, vd.Tiles(), SMOOTH + RIDGE, method=vd.methods.Either())
    assert why.weights[13] > 0
    assert (
        "falls by 1, but small changes of single parts explain nothing of it: the content of parts was"
        in why.notes[0]
    )


def test_two_fills_of_a_kind_are_told_apart() -> None:
    method = vd.methods.Undo((vd.fills.Blur(1.0), vd.fills.Blur(5.0), vd.fills.Interpolate()))
    (said,) = vd.explain(linear(LOUD), vd.Tiles(), LOUD, method=method).notes
    assert "Blur(sigma=1.0) for" in said or "Blur(sigma=5.0) for" in said
    assert "Interpolate()" not in said


def test_a_constant_model_is_no_evidence() -> None:
    for purpose in METHODS:
        why = vd.explain(lambda X: np.full(len(X), 0.7), vd.Tiles(), LOUD, method=METHODS[purpose])
        assert not why.weights.any()
        assert why.verdict.label == "none"


def test_targets_share_their_calls() -> None:
    u = RNG.normal(size=LOUD.shape)

    def both(X: Any) -> Any:
        score = linear(u)(X) / 100
        return np.stack([-score, score], axis=1)

    one, other = vd.explain(both, vd.Tiles(), LOUD, method=vd.methods.Undo((vd.fills.LowRank(),)), target=[0, 1])
    np.testing.assert_allclose(one.weights, -other.weights, atol=1e-12)
    for purpose in METHODS:
        _, other = vd.explain(both, vd.Tiles(), LOUD, method=METHODS[purpose], target=[0, 1])
        alone = vd.explain(both, vd.Tiles(), LOUD, method=METHODS[purpose], target=1)
        np.testing.assert_array_equal(alone.weights, other.weights)


@pytest.mark.parametrize("fills", [(), [vd.fills.Interpolate()], vd.fills.Interpolate(), None])
def test_fills_are_a_tuple(fills: Any) -> None:
    check(lambda: vd.methods.Undo(fills), vd.errors.InputError, "fills", "tuple", "vd.fills.Interpolate()")


def test_bad_fills_are_told() -> None:
    check(
        lambda: vd.explain(linear(LOUD), vd.Tiles(), LOUD, method=vd.methods.Undo(("mean",))),
        vd.errors.InputError,
        "fill",
    )
    check(lambda: vd.methods.Undo(n_draws=1), vd.errors.InputError, "n_draws", "2")
    for bad in (vd.Sensitivity, "steps", 0.1):
        check(
            lambda bad=bad: vd.methods.Undo(sensitivity=bad),
            vd.errors.InputError,
            "sensitivity",
            "vd.Sensitivity()",
        )


# Questions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("purpose", METHODS)
def test_the_explanation_says_which_question_was_answered(purpose: str, tmp_path: Path) -> None:
    model = linear(LOUD)
    why = vd.explain(model, vd.Tiles(), LOUD, method=METHODS[purpose])
    assert why.purpose == purpose
    assert why.n_calls <= 600
    words = QUESTIONS[purpose]
    assert (f"asked: {words}" in " ".join(str(why).split())) is (purpose != "content"), "which goes without saying"
    assert words in why._repr_html_()
    assert vd.explain_many(model, vd.Tiles(), [LOUD], method=METHODS[purpose])[0].purpose == purpose
    again = vd.rerun(model, vd.Tiles(), LOUD, why.recipe)
    np.testing.assert_array_equal(again.weights, why.weights)
    for suffix in ("json", "parquet"):
        why.save(tmp_path / f"why.{suffix}")
        assert vd.load(tmp_path / f"why.{suffix}").purpose == purpose


def test_recipes_hold_fills_with_their_settings(tmp_path: Path) -> None:
    picture = RNG.random((8, 8, 3))
    method = vd.methods.Undo((vd.fills.Constant((0.1, 0.2, 0.3)), vd.fills.Blur(2.0), vd.fills.LowRank(3)))
    model, parts = lambda X: (X**2).sum(axis=(1, 2, 3)), vd.Grid(2, 2)
    why = vd.explain(model, parts, picture, method=method)
    why.save(tmp_path / "why.json")
    again = vd.rerun(model, parts, picture, vd.load(tmp_path / "why.json").recipe)
    np.testing.assert_array_equal(again.weights, why.weights)
    own = vd.explain(model, parts, picture, method=vd.methods.Undo((picture[::-1],)))
    check(lambda: vd.rerun(model, parts, picture, own.recipe), vd.errors.InputError, "ndarray", "[8, 8, 3]")


def test_a_figure_says_what_was_asked() -> None:
    pytest.importorskip("matplotlib").use("agg")
    ax = vd.explain(linear(LOUD), vd.Tiles(), LOUD, method=small_changes()).plot(kind="card")
    said = " ".join(" ".join(words.get_text() for words in ax.texts).split())
    assert "asked: where a small change would act" in said


def test_methods_say_what_they_ask() -> None:
    for method in (vd.Lime(), vd.KernelShap(), vd.Occlusion(), vd.methods.Undo()):
        assert vd.explain(linear(LOUD), vd.Tiles(), LOUD, method=method).purpose == "content"
    asked = {
        "change": (
            vd.gradients.Gradient(),
            vd.gradients.SmoothGrad(),
            vd.gradients.VarGrad(),
            vd.Sensitivity(),
            vd.methods.Undo((vd.fills.LowRank(),)),
        )
    }
    asked["either"] = (vd.methods.Either(), vd.methods.Undo((vd.fills.Interpolate(), vd.fills.LowRank())))
    for purpose, methods in asked.items():
        assert {method.purpose for method in methods} == {purpose}


def good(texts: Any) -> Any:
    return np.array([text.count("good") for text in texts], dtype=float)


def test_texts_have_their_words_taken_away() -> None:
    for purpose in ("content", "either"):
        why = vd.explain(good, vd.Words(), TEXT, method=METHODS[purpose])
        assert why.top(2) == [("good", 1.0)]
        assert why.purpose == "content"
        assert any("taken away" in note for note in why.notes)
    assert vd.explain(good, vd.Words(), TEXT, method=small_changes()).purpose == "change"


def test_rows_have_their_columns_drawn() -> None:
    X = RNG.normal(size=(200, 20))

    def model(rows: Any) -> Any:
        return 2 * rows[:, 3] + rows[:, 4] ** 2

    for purpose in METHODS:
        why = vd.explain(model, vd.Rows(X), X[0], method=METHODS[purpose])
        assert why.purpose == ("change" if purpose == "change" else "content")
        assert why.n_calls <= 600
        assert {why.parts[j].column for j in np.flatnonzero(why.weights)} == {"x3", "x4"}
        assert (np.ptp(why.intervals, axis=1) > 0).sum() <= 2
