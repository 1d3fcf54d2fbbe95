"""In the long run lime and veridical.compat.lime give the same weights: within four standard errors, problem by problem.

Both explain the same instance with many seeds. The difference of their mean weights is held against its standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import lime.lime_image
import lime.lime_tabular
import lime.lime_text
import numpy as np
import pytest

import veridical.compat.lime as ours

MOST = 4.0  # standard errors
SEEDS = 16
ROUNDING = 1e-3  # of the largest weight: shares of bins are kept to a thousandth
rng = np.random.default_rng(0)
X = np.c_[
    rng.normal(size=(400, 3)), rng.exponential(size=(400, 2)), rng.integers(0, 3, 400), rng.integers(0, 2, 400)
]
LABELS = (X[:, 0] + X[:, 3] > 1).astype(int)
CODED = {"categorical_features": [5, 6]}


def both(p: Any) -> Any:
    return np.stack([1 - p, p], axis=1)


def logistic(rows: Any) -> Any:
    return both(1 / (1 + np.exp(-rows[:, 0] + rows[:, 3] - (rows[:, 5] == 2))))


def steps(rows: Any) -> Any:
    return both(0.1 + 0.5 * (rows[:, 0] > 0.3) + 0.3 * ((rows[:, 3] > 1) & (rows[:, 6] == 1)))


def product(rows: Any) -> Any:
    return rows[:, 0] * rows[:, 1] + rows[:, 4]


TABLES: Mapping[str, tuple[Any, dict[str, Any], dict[str, Any]]] = {
    "logistic, quartiles": (logistic, CODED, {}),
    "steps, quartiles": (steps, CODED, {}),
    "product, quartiles": (product, {**CODED, "mode": "regression"}, {}),
    "logistic, deciles": (logistic, {**CODED, "discretizer": "decile"}, {}),
    "steps, entropy": (steps, {**CODED, "discretizer": "entropy", "training_labels": LABELS}, {}),
    "logistic, numbers": (logistic, {**CODED, "discretize_continuous": False}, {}),
    "product, numbers": (product, {"discretize_continuous": False, "mode": "regression"}, {}),
    "steps, narrow kernel": (steps, {**CODED, "kernel_width": 1.2}, {}),
    "logistic, the other class": (logistic, CODED, {"labels": (0,)}),
    "product, around the row": (
        product,
        {"discretize_continuous": False, "mode": "regression", "sample_around_instance": True},
        {},
    ),
}


def compare(explain: Callable[[Any, int], Mapping[Any, float]], theirs: Any, own: Any) -> None:
    """Explain by both with many seeds, and hold the means against each other."""
    found = [[explain(module, seed) for seed in range(SEEDS)] for module in (theirs, own)]
    names = sorted(found[0][0])
    by_lime, by_us = (np.array([[weights[name] for name in names] for weights in each]) for each in found)
    error = np.sqrt((by_lime.var(axis=0, ddof=1) + by_us.var(axis=0, ddof=1)) / SEEDS)
    apart = np.abs(by_lime.mean(axis=0) - by_us.mean(axis=0))
    allowed = MOST * error + ROUNDING * np.abs(by_lime).max()
    assert (apart <= allowed).all(), dict(zip(names, zip(apart, error, strict=True), strict=True))


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    model, settings, asked = TABLES[name]
    (label,) = asked.get("labels", (1,))

    def explain(module: Any, seed: int) -> Mapping[Any, float]:
        made = module.LimeTabularExplainer(X, random_state=seed, feature_selection="none", **settings)
        return dict(made.explain_instance(X[7], model, num_features=7, num_samples=4000, **asked).local_exp[label])

    compare(explain, lime.lime_tabular, ours.lime_tabular)


def has(*words: str) -> Callable[[Any], Any]:
    return lambda texts: both(np.array([0.1 + 0.7 * all(word in text for word in words) for text in texts]))


def counted(texts: Any) -> Any:
    return both(np.array([1 / (1 + np.exp(0.3 * (8 - len(text.split())))) for text in texts]))


PLAIN = "the plot is not bad at all but the cast is dull and bad"
TEXTS: Mapping[str, tuple[str, Any, dict[str, Any]]] = {
    "one word": (PLAIN, has("dull"), {}),
    "two words": (PLAIN, has("dull", "plot"), {}),
    "length": (PLAIN, counted, {}),
    "masks": (PLAIN, has("dull"), {"bow": False}),
    "masks of length": (PLAIN, has("bad", "cast"), {"bow": False}),
    "own mask": (PLAIN, has("plot"), {"bow": False, "mask_string": "?"}),
    "characters": ("bad film", has("b", "f"), {"char_level": True, "bow": False}),
    "characters, all at once": ("bad film", has("i"), {"char_level": True}),
    "own words": (PLAIN, has("dull"), {"split_expression": r"\s+"}),
    "narrow kernel": (PLAIN, counted, {"kernel_width": 15}),
}


def test_a_difference_is_seen() -> None:
    """A kernel that is a fifth narrower."""

    def explain(width: float, seed: int) -> Mapping[Any, float]:
        made = ours.lime_text.LimeTextExplainer(width, random_state=seed, feature_selection="none")
        return dict(
            made.explain_instance(PLAIN, has("dull", "plot"), num_features=100, num_samples=1000).local_exp[1]
        )

    with pytest.raises(AssertionError):
        compare(explain, 25.0, 20.0)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    text, model, settings = TEXTS[name]

    def explain(module: Any, seed: int) -> Mapping[Any, float]:
        made = module.LimeTextExplainer(random_state=seed, feature_selection="none", **settings)
        return dict(made.explain_instance(text, model, num_features=100, num_samples=1000).local_exp[1])

    compare(explain, lime.lime_text, ours.lime_text)


SIDE = 12
PICTURE = np.random.default_rng(1).random((SIDE, SIDE, 3))
BYTES = (255 * PICTURE).astype(np.uint8)


def grid(k: int) -> Callable[[Any], Any]:
    at = np.arange(SIDE) * k // SIDE
    return lambda picture: at[:, None] * k + at


def left(pictures: Any) -> Any:
    return both(np.clip(pictures[:, :, : SIDE // 2].mean(axis=(1, 2, 3)) / pictures.max(), 0, 1))


def corners(pictures: Any) -> Any:
    return both(
        1
        / (
            1
            + np.exp(4 - 8 * pictures[:, :3, :3].mean(axis=(1, 2, 3)) * pictures[:, -3:, -3:].mean(axis=(1, 2, 3)))
        )
    )


PICTURES: Mapping[str, tuple[Any, Any, int, dict[str, Any]]] = {
    "left, 9": (PICTURE, left, 3, {}),
    "left, 16, black": (PICTURE, left, 4, {"hide_color": 0}),
    "corners, 16, black": (PICTURE, corners, 4, {"hide_color": 0}),
    "corners, 36, black": (PICTURE, corners, 6, {"hide_color": 0}),
    "corners, 9": (PICTURE, corners, 3, {}),
    "gray": (PICTURE[..., 0], corners, 4, {"hide_color": 0}),
    "bytes": (BYTES, left, 4, {}),
    "bytes, a color": (BYTES, left, 3, {"hide_color": (9, 99, 199)}),
    "white": (PICTURE, corners, 4, {"hide_color": 1}),
    "few samples": (PICTURE, corners, 4, {"hide_color": 0, "num_samples": 300}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures(name: str) -> None:
    picture, model, k, settings = PICTURES[name]

    def explain(module: Any, seed: int) -> Mapping[Any, float]:
        made = module.LimeImageExplainer(random_state=seed, feature_selection="none")
        asked = {"num_samples": 800, "batch_size": 100, **settings}
        return dict(
            made.explain_instance(picture, model, segmentation_fn=grid(k), top_labels=2, **asked).local_exp[1]
        )

    compare(explain, lime.lime_image, ours.lime_image)
