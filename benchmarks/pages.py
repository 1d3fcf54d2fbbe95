"""Bytes of HTML and the time to make it: one explanation of every kind, and a thousand on one page.

Instances are real where scikit-learn and scikit-image bring them: tumors, prose, photographs; recordings are made.
``page_kb`` and ``notebook_kb`` are thousands of bytes of ``save("x.html")`` and of ``_repr_html_``; ``ms`` is the
median time of the processor for one ``_repr_html_``, ``encoding_ms`` how much of it the encoders of pictures and
sounds take, which no page can do without. ``lime_kb`` is what lime's ``as_html`` gives for the same table row.
"""

from __future__ import annotations

import argparse
import inspect
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import signal
from skimage import data as photos
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import veridical as vd
from tables import Target, arguments, at_least, at_most, finish
from veridical.display import html_instances

RATE = 16_000
ONE, MANY, TIME = 60.0, 5.0, 50.0  # thousands of bytes of one, millions of many, milliseconds
LONG = "10 s"  # a recording that cannot be made so small: four players of ten seconds
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


def gallery(n: int) -> vd.Explanations:
    """Pieces of photographs."""
    both = (photos.astronaut(), photos.coffee())
    pieces = [both[i % 2][5 * i : 5 * i + 256, 9 * i : 9 * i + 256] for i in range(min(n, 20))]
    return vd.Explanations(tuple(seen(piece, 30) for piece in pieces) * (n // len(pieces)))


def library(n: int) -> vd.Explanations:
    """Texts of a hundred words."""
    different = min(n, 100)
    return vd.Explanations(tuple(read(prose(100, 37 * i)) for i in range(different)) * (n // different))


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
    "recording, 10 s, tiles": lambda: heard(vd.Tiles(rate=RATE), 10.0),
    "series, 3 × 2,000": followed,
    "record of text, photo, number": record,
}
MANIES: Mapping[str, Callable[[int], vd.Explanations]] = {
    "1,000 table rows, 30 columns": lambda n: tumors(n),
    "1,000 texts, 100 words": lambda n: library(n),
    "100 photos, 256 × 256": lambda n: gallery(max(n // 10, 20)),
}


@contextmanager
def timed(spent: list[float]) -> Iterator[None]:
    """Write down the time that the encoders of pictures and sounds take."""
    places = ((html_instances, "picture"), (html_instances, "recording"))
    known = [getattr(module, name) for module, name in places]

    def watched(encode: Callable[..., str]) -> Callable[..., str]:
        def run(*given: Any) -> str:
            start = process_time()
            made = encode(*given)
            spent.append(process_time() - start)
            return made

        return run

    for (module, name), encode in zip(places, known, strict=True):
        setattr(module, name, watched(encode))
    try:
        yield
    finally:
        for (module, name), encode in zip(places, known, strict=True):
            setattr(module, name, encode)


def measure(name: str, shown: Any, repetitions: int) -> dict[str, Any]:
    """One record as a page and in a notebook."""
    with tempfile.TemporaryDirectory() as folder:
        shown.save(Path(folder) / "page.html")
        size = (Path(folder) / "page.html").stat().st_size
    times, encoding, markup = list[float](), list[float](), ""
    for _ in range(repetitions):
        spent = list[float]()
        with timed(spent):
            start = process_time()
            markup = shown._repr_html_()
            times.append(process_time() - start)
        encoding.append(sum(spent))
    return {
        "what": name, "page_kb": size / 1000, "notebook_kb": len(markup.encode()) / 1000,
        "ms": 1000 * median(times), "encoding_ms": 1000 * median(encoding),
    }  # fmt: skip


def lime_page() -> float:
    """Thousands of bytes of the page that lime makes of one table row, 0 where lime is not installed."""
    try:
        from lime.lime_tabular import LimeTabularExplainer
    except ImportError:
        return 0.0
    table = load_breast_cancer()
    forest = RandomForestClassifier(30, random_state=0).fit(table.data, table.target)
    explainer = LimeTabularExplainer(table.data, feature_names=table.feature_names, random_state=0)
    return len(explainer.explain_instance(table.data[0], forest.predict_proba).as_html().encode()) / 1000


def judge(ones: list[dict[str, Any]], manies: list[dict[str, Any]], lime: float) -> list[Target]:
    short = [row for row in ones if LONG not in row["what"]]
    silent = [row for row in short if "recording" not in row["what"]]
    large, slow = (max(short, key=lambda row: row["page_kb"]), max(silent, key=lambda row: row["ms"]))
    longest = max(ones, key=lambda row: row["page_kb"])
    loud = max((row for row in ones if "recording" in row["what"]), key=lambda row: row["ms"])
    smaller = lime / ones[0]["page_kb"]
    return [
        at_most(f"one explanation, thousands of bytes, the most ({large['what']})", ONE, large["page_kb"]),
        at_most(f"the same, of recordings of 10 s ({longest['what']})", ONE, longest["page_kb"]),
        *(at_most(f"{row['what']}, millions of bytes", MANY, row["page_kb"] / 1000) for row in manies),
        at_most(f"one explanation, milliseconds, the most ({slow['what']})", TIME, slow["ms"]),
        at_most(f"the same, of recordings ({loud['what']})", TIME, loud["ms"]),
        *([at_least("times smaller than lime's page of the same row", 20, smaller)] if lime else []),
    ]


def main(settings: argparse.Namespace) -> None:
    repetitions, n = (3, 100) if settings.quick else (15, 1000)
    ones = [measure(name, make(), repetitions) for name, make in ONES.items()]
    manies = [measure(name, make(n), 1) for name, make in MANIES.items()]
    lime = lime_page()
    rows = [{**row, "lime_kb": lime if i == 0 and lime else None} for i, row in enumerate([*ones, *manies])]
    finish("pages", settings, rows, judge(ones, manies, lime))


if __name__ == "__main__":
    main(arguments(__doc__).parse_args())
