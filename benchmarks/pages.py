"""Bytes of HTML and the time to make it: one explanation of every kind, and a thousand on one page.

Instances are real where scikit-learn, scikit-image and librosa bring them: tumors, prose, photographs, a trumpet.
``page_kb`` and ``notebook_kb`` are bytes of ``save("x.html")`` and of ``_repr_html_``, in thousands. ``ms`` is the
median time of one ``_repr_html_``; ``floor_ms`` that of what cannot be left out: the same pixels or samples given
once to the encoder of the page. ``lime_kb`` is the page that lime makes of an explanation of its own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import signal
from skimage import data as photos
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import veridical as vd

RATE = 16_000
ONE, MANY, TIME = 60.0, 5000.0, 50.0  # thousands of bytes of one and of many, milliseconds
QUICK = vd.Lime(n_samples=200)


def tumors(n: int) -> vd.Explanations:
    """Table rows of 30 columns."""
    table = load_breast_cancer(as_frame=True)
    forest = RandomForestClassifier(30, random_state=0).fit(table.data, table.target_names[table.target])
    rows = table.data.iloc[np.arange(n) % len(table.data)]
    return vd.explain_many(forest.predict_proba, vd.Rows(table.data), rows, target="malignant", method=QUICK)


def prose(n_words: int, first: int = 0) -> str:
    """Words of scikit-learn's documentation."""
    names = [getattr(sklearn.linear_model, name) for name in sklearn.linear_model.__all__]
    words = " ".join(inspect.getdoc(each) or "" for each in names).split()
    return " ".join((words[first:] + words)[:n_words])


def long_words(texts: Any) -> Any:
    """A model of texts: a share of words."""
    return np.array([sum(len(w) > 7 for w in text.split()) / (len(text.split()) + 9) for text in texts])


def read(text: str) -> vd.Explanation:
    return vd.explain(long_words, vd.Words(), text, method=vd.Lime(n_samples=2000))


def warmth(pictures: Any) -> Any:
    """A model of pictures: how much redder than blue their middle is."""
    middle = np.asarray(pictures, dtype=np.float32)[..., 64:-64, 64:-64, :]
    return (middle[..., 0] - middle[..., 2]).reshape(len(middle), -1).mean(axis=1) / 255


def seen(picture: Any, regions: int = 50) -> vd.Explanation:
    return vd.explain(warmth, vd.Superpixels(regions), picture, method=vd.Lime(n_samples=4 * regions))


def mapped(picture: Any) -> vd.Explanation:
    """A picture with a map of gradients, smooth as those of large networks and noisy as those of small ones."""
    rng = np.random.default_rng(0)
    steep = np.hypot(*np.gradient(np.asarray(picture, dtype=float).mean(axis=-1)))
    return replace(seen(picture), map=steep * rng.normal(size=steep.shape))


def trumpet(seconds: float) -> Any:
    """A recording with noise between its notes; a made one where librosa's is not at hand."""
    t = np.arange(round(RATE * seconds)) / RATE
    rng = np.random.default_rng(0)
    notes = sum(np.sin(2 * np.pi * f * t) * (np.sin(2 * np.pi * t / p) > 0) / f**0.3 for f, p in zip(
        (220, 331, 442, 663, 1320, 2650), (2.0, 1.3, 0.9, 0.7, 3.1, 0.4), strict=True))  # fmt: skip
    breath = signal.lfilter([1.0], [1.0, -0.9], rng.normal(size=len(t))) * (1 + np.sin(t)) / 9
    return ((notes + breath) / 9).astype(np.float32)


def loud(recordings: Any) -> Any:
    """A model of recordings: how loud their second third is."""
    sounds = np.asarray(recordings)
    return np.sqrt((sounds[:, sounds.shape[1] // 3 : 2 * sounds.shape[1] // 3] ** 2).mean(axis=1))


def heard(representer: Any, seconds: float) -> vd.Explanation:
    return vd.explain(loud, representer, trumpet(seconds), method=QUICK)


def followed() -> vd.Explanation:
    """A series of three channels and 2,000 values."""
    t = np.arange(2000)[:, None]
    values = np.sin(t / np.array([9.0, 31.0, 170.0])) + np.random.default_rng(0).normal(size=(2000, 3)) / 5
    return vd.explain(lambda many: np.asarray(many)[:, 500:900, 1].max(axis=1), vd.Windows(), values, method=QUICK)


def record() -> vd.Explanation:
    """A text, a photograph and a number."""
    fields = vd.Fields({"review": vd.Words(), "photo": vd.Grid(5, 5), "price": vd.Rows(np.arange(90.0)[:, None])})
    instance = {"review": prose(120), "photo": photos.coffee()[:384, :384], "price": np.array([24.0])}

    def model(records: Any) -> Any:
        found = [
            (long_words([r["review"]])[0], warmth(r["photo"][None])[0], float(np.ravel(r["price"])[0]))
            for r in records
        ]
        return np.array(found) @ [1.0, 1.0, 0.01]

    return vd.explain(model, fields, instance, method=vd.Lime(n_samples=600))


ONES: Mapping[str, Callable[[], vd.Explanation]] = {
    "table row, 30 columns": lambda: tumors(1)[0],
    "text, 40 words": lambda: read(prose(40)),
    "text, 500 words": lambda: read(prose(500)),
    "text, 2,000 words": lambda: read(prose(2000)),
    "photo, 512 × 512": lambda: seen(photos.astronaut()),
    "photo, 512 × 512, 200 parts": lambda: seen(photos.astronaut(), 200),
    "photo, 300 × 451": lambda: seen(photos.chelsea()),
    "photo of grain, 512 × 512": lambda: seen(np.stack([photos.grass()] * 3, axis=-1)),
    "photo, with a map": lambda: mapped(photos.astronaut()),
    "recording, 3 s, slices": lambda: heard(vd.Slices(rate=RATE), 3.0),
    "recording, 10 s, slices": lambda: heard(vd.Slices(rate=RATE), 10.0),
    "recording, 3 s, tiles": lambda: heard(vd.Tiles(rate=RATE), 3.0),
    "recording, 30 s, tiles": lambda: heard(vd.Tiles(rate=RATE), 30.0),
    "series, 3 × 2,000": followed,
    "record of text, photo, number": record,
}
