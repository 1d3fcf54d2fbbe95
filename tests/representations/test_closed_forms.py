"""Right answers that are known in closed form, through real texts, pictures, sounds and series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from tests.methods.test_closed_forms import CARD, LAWS, assert_within_intervals, explain_game, limit
from veridical.sampling.masks import log_choose

RNG = np.random.default_rng(0)

# T1: the weight of a segment is the sum of u (x - b) over it -------------------------------------------------

PICTURE = RNG.random((12, 16, 3))
LABELS = np.add.outer(np.arange(12) // 4, 3 * (np.arange(16) // 6))
WAVE = np.sin(np.arange(1200) / 7.0) + 0.3 * RNG.normal(size=1200)
TREND = RNG.normal(size=(60, 2)).cumsum(axis=0)

LINEAR: dict[str, tuple[Any, Any]] = {
    "picture, part mean": (vd.Superpixels(segment=LABELS), PICTURE),
    "picture, blurred": (vd.Superpixels(segment=LABELS, fill=vd.fills.Blur(2.0)), PICTURE),
    "picture, another": (vd.Superpixels(segment=LABELS, fill=RNG.random((12, 16, 3))), PICTURE),
    "picture, whole numbers": (vd.Grid(3, 3), (255 * PICTURE).astype(np.uint8)),
    "picture, channels first": (vd.Grid(3, 3, fill=vd.fills.Noise()), np.moveaxis(PICTURE, -1, 0)),
    "picture, gray": (vd.Grid(2, 5, fill=vd.fills.Least()), PICTURE[..., 0].astype(np.float32)),
    "video": (vd.Grid(2, 2, fill=vd.fills.WholeMean()), RNG.random((4, 8, 8, 3))),
    "volume": (vd.Superpixels(segment=LABELS.reshape(3, 4, 16), axes="ZHW"), RNG.normal(size=(3, 4, 16))),
    "tiles": (vd.Tiles(5, 4), RNG.normal(size=(12, 25))),
    "tiles, filtered": (vd.Tiles(4, 3, rate=8000), WAVE),
    "slices": (vd.Slices(8), WAVE),
    "slices, stereo": (vd.Slices(8, fill=vd.fills.WholeMean()), np.stack([WAVE, WAVE**2])),
    "stems": (vd.Stems(separate=lambda s: {"up": np.maximum(s, 0), "down": np.minimum(s, 0)}, times=4), WAVE),
    "series": (vd.Windows(9), TREND[:, 0]),
    "series, channels": (vd.Windows(6, fill=vd.fills.Interpolate()), TREND),
    "series, together": (vd.Windows(6, fill=vd.fills.PartMean(), together=True, time_axis=1), TREND.T),
    "series, changes": (vd.Windows(6, cut=vd.bins.ChangePoints(), fill=vd.fills.Noise()), TREND),
    "series, bands": (vd.Windows(6, cut=vd.Bands()), TREND),
}


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize(
    "method", [linear_lime(), linear_lime(n_samples=130, width=0.7)], ids=["default", "narrow"]
)
def test_t1_a_linear_model_is_found_exactly(name: str, method: Any) -> None:
    represent, x = LINEAR[name]
    u = np.random.default_rng(1).normal(size=x.shape)
    parts = represent(x)
    d = len(parts.names)
    without = parts.compose(~np.eye(d, dtype=bool)).astype(float)
    wanted = (u * (x.astype(float) - without)).reshape(d, -1).sum(axis=1)
    why = vd.explain(lambda X: 2 + (X * u).reshape(len(X), -1).sum(axis=1), represent, x, method=method)
    scale = np.abs(wanted).max()
    rounding = 1e-6 if x.dtype == float else 1e-4
    np.testing.assert_allclose(why.weights, wanted, atol=scale * rounding)
    assert why.fidelity == pytest.approx(1.0, abs=1e-6)
    assert why.prediction == pytest.approx(why.local_prediction, abs=scale * 1e-3)


def test_t1_segments_by_hand() -> None:
    """The same without compose: u (x - b) summed over each label, b the mean of the part, channel by channel."""
    u = RNG.normal(size=PICTURE.shape)
    b = np.empty_like(PICTURE)
    for j in np.unique(LABELS):
        b[j == LABELS] = PICTURE[j == LABELS].mean(axis=0)
    wanted = [(u * (PICTURE - b))[j == LABELS].sum() for j in np.unique(LABELS)]
    represent = vd.Superpixels(segment=LABELS)
    why = vd.explain(lambda X: (X * u).sum(axis=(1, 2, 3)), represent, PICTURE, method=linear_lime(n_samples=100))
    np.testing.assert_allclose(why.weights, wanted, atol=1e-9)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("mask", [None, "[MASK]"])
def test_t1_counts_of_words(positions: bool, mask: str | None) -> None:
    text = "good good bad, dull: fine good end"
    weights = {"good": 2.0, "bad": -3.0, "fine": 0.5}
    why = vd.explain(
        lambda X: [sum(w * one.count(word) for word, w in weights.items()) for one in X],
        vd.Words(positions=positions, mask=mask), text, method=linear_lime(n_samples=60),
    )  # fmt: skip
    pieces = ["good", "good", "bad", "dull", "fine", "good", "end"]
    wanted = [weights.get(p, 0.0) for p in pieces] if positions else [6.0, -3.0, 0.0, 0.5, 0.0]
    np.testing.assert_allclose(why.weights, wanted, atol=1e-6)
    assert why.intercept == pytest.approx(0.0, abs=1e-6)


# T3: the population limit, through real inputs ---------------------------------------------------------------


def words(d: int) -> str:
    return ", ".join(f"w{i:03}" for i in range(d)) + "."


def picture(d: int) -> tuple[Any, Any]:
    """A picture whose d regions are dark blocks on their own light ground, and what represents it."""
    side = {10: (2, 5), 20: (4, 5), 100: (10, 10)}[d]
    x = np.zeros((side[0] * 3, side[1] * 3, 3), dtype=np.uint8)
    x[1::3, 1::3] = 240
    labels = np.arange(d).reshape(side).repeat(3, 0).repeat(3, 1)
    represent = vd.Grid(*side, fill=vd.fills.Constant(7)) if d != 20 else vd.Superpixels(segment=labels + 5)
    return represent, x


def seen(kind: str, d: int, X: Any) -> Any:
    """Which parts are there, as a model sees it in its inputs."""
    if kind == "text":
        return np.array([[f"w{i:03}" in one for i in range(d)] for one in X], dtype=float)
    assert X.dtype == np.uint8
    return (X[:, 1::3, 1::3, 0] == 240).reshape(len(X), -1).astype(float)


GAMES: dict[str, Any] = {
    "and": lambda Z: Z[:, 0] * Z[:, 1],
    "and of three": lambda Z: Z[:, 0] * Z[:, 1] * Z[:, 2],
    "or": lambda Z: np.maximum(Z[:, 0], Z[:, 1]),
    "xor": lambda Z: np.abs(Z[:, 0] - Z[:, 1]),
}


def truth(kind: str, d: int, game: str) -> tuple[Any, float]:
    """Weights and intercept of a game in the limit: OR and XOR are sums of AND and the parts themselves."""
    p = 3 if game == "and of three" else 2
    intercept, member, other = limit(kind, d, p)
    a, b = {"and": (0, 1), "and of three": (0, 1), "or": (1, -1), "xor": (1, -2)}[game]
    return np.array([a + b * member] * p + [b * other] * (d - p)), b * intercept


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("d", [10, 20, 100])
@pytest.mark.parametrize("kind", ["text", "image"])
def test_t3_through_real_texts_and_pictures(kind: str, d: int, game: str) -> None:
    """Exact where all masks can be asked about (d = 10), within the intervals elsewhere."""
    represent, x = (vd.Words(), words(d)) if kind == "text" else picture(d)
    wanted, intercept = truth(kind, d, game)
    n = 1024 if d == 10 else 2048
    why = vd.explain(
        lambda X: GAMES[game](seen(kind, d, X)), represent, x, target=0, method=linear_lime(n_samples=n), rng=3
    )
    if d == 10:
        np.testing.assert_allclose(why.weights, wanted, atol=1e-7)
        assert why.intercept == pytest.approx(intercept, abs=1e-7)
        assert why.n_calls == 1025
        return
    assert_within_intervals(why, wanted)
    inside = (why.intervals[:, 0] <= wanted) & (wanted <= why.intervals[:, 1])
    assert inside.mean() >= 0.75
    np.testing.assert_allclose(why.weights, wanted, atol=0.12)


@pytest.mark.parametrize(("kind", "d", "p"), [key for key in CARD if key[1] == 10 or key[0] == "text"])
def test_t3_the_cards_own_numbers(kind: str, d: int, p: int) -> None:
    represent, x = (vd.Words(), words(d)) if kind == "text" else picture(d)
    game = "and" if p == 2 else "and of three"
    why = vd.explain(
        lambda X: GAMES[game](seen(kind, d, X)), represent, x, target=0, method=linear_lime(n_samples=2048), rng=1
    )
    _, member, other = CARD[kind, d, p]
    if d > 10:
        assert_within_intervals(why, np.array([member] * p + [other] * (d - p)))
    np.testing.assert_allclose(why.weights[:p], member, atol=6e-6 if d == 10 else 0.06)


# E: tiles of spectrograms ------------------------------------------------------------------------------------

SLIME = RNG.normal(size=(80, 115))  # 4 bands of 20 bins, 5 blocks of 23 frames


@pytest.mark.parametrize(
    ("fill", "b"),
    [(vd.fills.WholeMean(), SLIME.mean()), (vd.fills.Least(), SLIME.min()), (vd.fills.Constant(0), 0.0)],
    ids=["mean", "min", "zero"],
)
def test_e6_a_linear_logit_of_tiles(fill: Any, b: float) -> None:
    """Cell s has the weight Σ u (x - b); cell i is block i div 4 of time and band i mod 4 (E.1)."""
    u = RNG.normal(size=SLIME.shape)
    gains = u * (SLIME - b)
    wanted = [gains[20 * (i % 4) : 20 * (i % 4) + 20, 23 * (i // 4) : 23 * (i // 4) + 23].sum() for i in range(20)]
    why = vd.explain(
        lambda X: 1 + (X * u).sum(axis=(1, 2)), vd.Tiles(fill=fill), SLIME, method=linear_lime(n_samples=64)
    )
    np.testing.assert_allclose(why.weights, wanted, atol=1e-6)
    assert why.names[0] == "frames 0-22, bands 0-19"
    assert why.names[1] == "frames 0-22, bands 20-39"
    assert why.names[4] == "frames 23-45, bands 0-19"
    turned = vd.Tiles(fill=fill, time_axis=-2)
    same = vd.explain(lambda X: 1 + (X * u.T).sum(axis=(1, 2)), turned, SLIME.T, method=linear_lime(n_samples=64))
    np.testing.assert_allclose(same.weights, wanted, atol=1e-6)


def test_e6_a_model_that_reads_one_cell() -> None:
    """It comes first, whatever the fill; and a blur tells what a mean cannot."""
    x = SLIME.copy()
    x[20:40, 46:69] += 2 * np.sign(RNG.normal(size=(20, 23)))
    for fill in (vd.fills.WholeMean(), vd.fills.Least(), vd.fills.Constant(0), vd.fills.Blur(3.0)):
        model = lambda X: np.tanh(np.abs(X[:, 20:40, 46:69]).mean(axis=(1, 2)) - 1)  # noqa: E731 - short
        why = vd.explain(model, vd.Tiles(fill=fill), x, method=linear_lime())
        assert why.top(1)[0][0] == "frames 46-68, bands 20-39"
        np.testing.assert_allclose(np.delete(why.weights, 2 * 4 + 1), 0, atol=1e-6)


def test_tiles_of_a_recording_by_a_mel_front_end() -> None:
    """The model gets log-mel arrays; the weight of a tile is Σ u (x - b) in them, and its name is in s and Hz."""
    pytest.importorskip("librosa")
    front = vd.sounds.Mel(rate=8000, n_mels=16, n_fft=256, hop=100, fmax=4000.0)
    samples = RNG.normal(size=4000)
    x = front(samples)
    u = RNG.normal(size=x.shape)
    represent = vd.Tiles(times=4, bands=4, front=front, fill=vd.fills.Constant(front.silence))
    why = vd.explain(lambda X: (X * u).sum(axis=(1, 2)), represent, samples, method=linear_lime(n_samples=64))
    labels = np.add.outer(np.arange(16) // 4, 4 * (np.arange(x.shape[1]) * 4 // x.shape[1]))
    gains = u * (x.astype(float) - front.silence)
    np.testing.assert_allclose(why.weights, [gains[labels == i].sum() for i in range(16)], rtol=1e-4)
    assert all(name.endswith(" Hz") and " s, " in name for name in why.names)
    assert why.names[0].startswith("0.00-")


# Coverage ----------------------------------------------------------------------------------------------------


def conjunction(Z: Any) -> Any:
    return Z[:, 0] * Z[:, 1]


def saturating(Z: Any) -> Any:
    return 1 / (1 + np.exp(3 - Z @ np.linspace(-1, 2, Z.shape[1])))


COVERED = [(d, n) for d in (12, 20) for n in (256, 512, 1000)]


@pytest.mark.parametrize(("d", "n"), COVERED)
@pytest.mark.parametrize("kind", ["text", "image"])
@pytest.mark.parametrize("model", [conjunction, saturating])
def test_intervals_of_masks_cover_the_truth(kind: str, d: int, n: int, model: Any) -> None:
    """95 % intervals over 20 seeds hold at least 90 % of the enumerated weights."""
    law = LAWS[kind](d)
    wanted = enumerated(law, model)
    found = [explain_game(model, law, n, rng=seed) for seed in range(20)]
    inside = [(why.intervals[:, 0] <= wanted) & (wanted <= why.intervals[:, 1]) for why in found]
    assert np.mean(inside) >= 0.90


def enumerated(law: Any, model: Any) -> Any:
    """Weighted least squares on all masks, by blocks, since there are a million of them at d = 20."""
    d = law.d
    share = law.near(vd.kernels.Gaussian(0.25)) / np.exp(log_choose(d))
    gram, moment = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    for start in range(0, 2**d, 2**16):
        numbers = np.arange(start, min(start + 2**16, 2**d))
        Z = (numbers[:, None] >> np.arange(d) & 1).astype(float)
        A = np.column_stack([np.ones(len(Z)), Z])
        w = share[Z.sum(axis=1).astype(int)]
        gram += A.T @ (A * w[:, None])
        moment += A.T @ (w * model(Z))
    return np.linalg.solve(gram, moment)[1:]


def test_a_kernel_so_narrow_that_all_masks_are_of_one_size_is_told_so() -> None:
    """Then the parts always sum to the same: their weights are known up to a constant, which is not zero."""
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi"
    why = vd.explain(lambda texts: [len(t) for t in texts], vd.Words(), text, method=linear_lime(width=0.03))
    assert not why.verdict.passed
    assert np.isinf(why.intervals).all()
    x = np.arange(14.0)
    many = vd.explain(lambda s: np.sum(s, axis=1), vd.Windows(14), x, method=linear_lime(width=0.05))
    np.testing.assert_allclose(many.weights, x - x.mean(), atol=1e-5)
