"""Every record and modality once, as it comes out of small models: what all media have to show.

``everything()`` is made once a process; tests of all media, screenshots and browser look at the same records.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

import veridical as vd
from tests.builders import audit_cases, group_cases, report_cases, veracity_cases
from tests.builders import explanations as made

EXPLAINED = (
    "rows", "rows-path", "rows-unmeasured", "rows-no-evidence", "words", "words-positions", "sentences",
    "superpixels", "grid", "volume", "map", "spectrogram", "tiles", "slices", "stems", "windows", "bands",
    "fields",
)  # fmt: skip
REPORTED = "report", "report-reasons", "veracity", "audit"
NAMES = (
    *EXPLAINED,
    *REPORTED,
    "many-rows",
    "importance",
    "many-words",
    "many-pictures",
    "pick",
    "pick-two-models",
    "groups",
    "membership",
    "flips",
    "verdict",
    "verdict-passed",
    "difference-models",
    "difference-words",
    "difference-many",
    "drift",
    "page",
)  # of everything(), for tests that are listed before anything is made
SEEN = (  # whose first screens are kept as pictures
    *("rows", "rows-unmeasured", "words", "superpixels", "tiles"),
    *("many-rows", "pick", "groups", "difference-models", "audit"),
)
QUICK = vd.Lime(n_samples=400)
RATE = 8000
GOOD, BAD = ("wonderful", "warm", "funny", "loved"), ("dull", "late", "worst", "noisy")
REVIEW = (
    "A wonderful film, and a warm one: I loved the first hour. The second is dull, and the worst of its jokes "
    "come late. Even so, the ending is funny, and the cast is wonderful throughout."
)


def review(texts: Any) -> Any:
    """How good words outweigh bad ones, as a probability of two classes."""
    score = [sum(t.count(w) for w in GOOD) - 1.5 * sum(t.count(w) for w in BAD) for t in map(str, texts)]
    good = 1 / (1 + np.exp(-np.array(score, dtype=float)))
    return np.stack([1 - good, good], axis=1)


def house(height: int = 120, width: int = 160) -> Any:
    """A red house on a meadow under a blue sky with a sun."""
    y, x = np.mgrid[:height, :width] / np.array([height, width])[:, None, None]
    picture = (
        np.where((y < 0.6)[..., None], [120, 170, 225], [90, 150, 70]) + 25 * np.sin(9 * x + 7 * y)[..., None]
    )
    picture[np.hypot((y - 0.2) * 0.75, x - 0.8) < 0.08] = [250, 215, 80]
    picture[(abs(x - 0.35) < 0.17) & (abs(y - 0.58) < 0.19)] = [180, 60, 50]
    picture[(abs(x - 0.35) < 0.2 * (y - 0.2) / 0.19) & (y > 0.2) & (y < 0.39)] = [90, 60, 55]
    return picture.clip(0, 255).astype(np.uint8)


def is_house(pictures: Any) -> Any:
    """How much of a picture is red, less how much of it is blue, as a probability of two classes."""
    red, _, blue = np.moveaxis(np.asarray(pictures, dtype=float), -1, 0)
    area = 9 * (red > blue + 60).mean(axis=(1, 2)) - 3 * (blue > red + 60).mean(axis=(1, 2))
    sure = 1 / (1 + np.exp(-area))
    return np.stack([1 - sure, sure], axis=1)


def regions(n: int) -> vd.Superpixels:
    """Regions of similar color, or stripes where scikit-image is not there to find them."""
    if find_spec("skimage"):
        return vd.Superpixels(n, fill=vd.fills.Constant(128))
    return vd.Superpixels(
        n, lambda picture: np.add.outer(np.arange(120) // 30, np.arange(160) * 0), vd.fills.Constant(128)
    )


def melody(seconds: float = 1.0) -> Any:
    """A low hum all the time, and a high whistle in the middle."""
    t = np.arange(round(RATE * seconds)) / RATE
    whistle = np.sin(2 * np.pi * 2500 * t) * np.exp(-(((t - 0.55 * seconds) / 0.08) ** 2))
    return 0.3 * np.sin(2 * np.pi * 220 * t) + 0.6 * whistle


def whistles(sounds: Any) -> Any:
    """How loud the highest part of a recording is, less its hum."""
    spectra = np.abs(np.fft.rfft(np.asarray(sounds, dtype=float), axis=1)) / np.shape(sounds)[1]
    cut = spectra.shape[1] // 4
    return 10 * spectra[:, cut:].sum(axis=1) - 2 * spectra[:, :cut].sum(axis=1)


def shrill(spectrograms: Any) -> Any:
    """How loud the upper half of a spectrogram is, less its lowest bands."""
    levels = np.asarray(spectrograms, dtype=float)
    return levels[:, 16:].mean(axis=(1, 2)) - 0.2 * levels[:, :8].mean(axis=(1, 2))


def beats(series: Any) -> Any:
    """The peak of the first channel less the trend of the second."""
    values = np.asarray(series, dtype=float)
    return values[:, :, 0].max(axis=1) - values[:, 30:, 1].mean(axis=1)


def loan(rows: Any) -> Any:
    """Whether a loan is paid back, from a table with numbers, categories and gaps."""
    table = pd.DataFrame(rows)
    score = 1.5 * (table["income"].fillna(30) > 43) - 1.2 * (table["debts"] > 1) + 0.8 * (table["home"] == "own")
    paid = 1 / (1 + np.exp(-np.asarray(score - 0.6 * (table["age"] > 51), dtype=float)))
    return np.stack([1 - paid, paid], axis=1)


def loans(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(4, 12, n).round(1)),
        "debts": rng.integers(0, 6, n),
        "home": rng.choice(["own", "rent", "parents"], n),
        "age": rng.integers(19, 80, n),
        "children": rng.integers(0, 4, n),
    }
    return pd.DataFrame(columns)


def offers(records: Any) -> Any:
    """A review, a price and a photograph together."""
    words = review([r["review"] for r in records])[:, 1]
    prices = np.array([float(r["price"]) for r in records])
    return 0.6 * words - 0.01 * prices + 0.3 * is_house(np.stack([r["photo"] for r in records]))[:, 1]


def _tables() -> dict[str, Any]:
    table, paid = loans(), {"classes": ("lost", "paid"), "method": QUICK}
    rows, row = vd.Rows(table), table.iloc[0]
    tree = replace(QUICK, surrogate=vd.surrogates.Tree())
    many = vd.explain_many(loan, rows, table.head(30), target="paid", **paid)
    return {
        "rows": vd.explain(loan, rows, row, **paid),
        "rows-path": vd.explain(loan, rows, row, classes=paid["classes"], method=tree),
        "rows-unmeasured": made.unmeasured(),
        "rows-no-evidence": vd.explain(lambda X: np.full(len(X), 0.5), rows, row, method=QUICK),
        "many-rows": many,
        "importance": many.importance(),
        "pick": vd.pick(many, 3, k=4),
        "pick-two-models": group_cases.pick_of_two(),
        "groups": group_cases.cars(),
        "membership": group_cases.member(),
        "flips": vd.flips(loan, rows, row, classes=paid["classes"]),
    }


def _texts() -> dict[str, Any]:
    named: dict[str, Any] = {"classes": ("bad", "good"), "method": QUICK}
    texts = [REVIEW, "Dull and late.", "I loved it: warm, funny, wonderful.", "Noisy, but funny at times."]
    return {
        "words": vd.explain(review, vd.Words(), REVIEW, **named),
        "words-positions": vd.explain(review, vd.Words(positions=True), REVIEW, **named),
        "sentences": vd.explain(review, vd.Sentences(), REVIEW, **named),
        "many-words": vd.explain_many(review, vd.Words(), texts, target="good", **named),
    }


def _pictures() -> dict[str, Any]:
    named: dict[str, Any] = {"classes": ("no house", "house"), "target": "house", "method": QUICK}
    picture, gray = house(), vd.fills.Constant(128)
    film = np.stack([house(40, 60)] * 4)
    frames = vd.Grid(2, 3, gray, axes="dhwc")
    both = [picture, picture[:, ::-1].copy()]
    return {
        "superpixels": vd.explain(is_house, regions(12), picture, **named),
        "grid": vd.explain(is_house, vd.Grid(3, 4, gray), picture, **named),
        "volume": vd.explain(lambda films: is_house(np.asarray(films)[:, 0]), frames, film, **named),
        "map": replace(audit_cases.mapped(), notes=()),
        "many-pictures": vd.explain_many(is_house, regions(8), both, **named),
    }


def _sounds() -> dict[str, Any]:
    sound, hum = melody(), 0.3 * np.sin(2 * np.pi * 220 * np.arange(RATE) / RATE)
    stems = vd.Stems(lambda x: {"hum": hum, "whistle": np.asarray(x) - hum}, rate=RATE)
    t = np.arange(60)
    beat = np.stack([np.exp(-(((t - 20) / 4) ** 2)) + 0.1 * np.sin(t), t / 60], axis=1)
    channels = ("pulse", "trend")
    frames = np.abs(np.fft.rfft(sound.reshape(40, -1), axis=1)).T[:32]
    return {
        "spectrogram": vd.explain(shrill, vd.Tiles(4, 3), np.log1p(frames), method=QUICK),
        "tiles": vd.explain(whistles, vd.Tiles(4, 3, rate=RATE), sound, method=QUICK),
        "slices": vd.explain(whistles, vd.Slices(6, rate=RATE), sound, method=QUICK),
        "stems": vd.explain(whistles, stems, sound, method=QUICK),
        "windows": vd.explain(beats, vd.Windows(5, channels=channels), beat, method=QUICK),
        "bands": vd.explain(beats, vd.Windows(4, cut=vd.Bands(), channels=channels), beat, method=QUICK),
    }


def _records() -> dict[str, Any]:
    prices = vd.Rows(pd.DataFrame({"price": np.linspace(5, 60, 50)}))
    fields = {"review": vd.Words(), "price": prices, "photo": vd.Grid(2, 2, vd.fills.Constant(128))}
    offer = {"review": REVIEW[:58], "price": 24.5, "photo": house(60, 80)}
    return {
        "fields": vd.explain(offers, vd.Fields(fields), offer, method=vd.Lime(n_samples=1000)),
        "report": report_cases.plain(),
        "report-reasons": report_cases.reasons(),
        "veracity": veracity_cases.caused(),
        "verdict": audit_cases.verdict(),
        "verdict-passed": audit_cases.verdict(passed=True),
        "audit": audit_cases.plain(),
    }


def stricter(rows: Any) -> Any:
    """Another model of loans: it asks for more income, and for no home."""
    paid = 1 / (1 + np.exp(-np.asarray(2.0 * (pd.DataFrame(rows)["income"].fillna(30) > 58) - 0.5, dtype=float)))
    return np.stack([1 - paid, paid], axis=1)


def _differences(found: dict[str, Any]) -> dict[str, Any]:
    table = loans()
    rows, paid = vd.Rows(table), {"classes": ("lost", "paid"), "method": QUICK, "rng": 1}
    other = vd.explain(stricter, rows, table.iloc[0], target="lost", **paid)
    later = vd.explain(
        review, vd.Words(), REVIEW.replace("dull", "warm"), classes=("bad", "good"), method=QUICK, rng=1
    )
    again = vd.explain_many(stricter, rows, table.head(30), target="paid", **paid)
    return {
        "difference-models": vd.compare(found["rows"], other, names=("first model", "second model")),
        "difference-words": vd.compare(found["words"], later, names=("before", "after")),
        "difference-many": vd.compare(found["many-rows"], again),
        "drift": vd.comparisons.watch(found["many-rows"], again),
    }


@cache
def everything() -> dict[str, Any]:
    """Every record and modality by name; the names are fit for files."""
    found = {**_tables(), **_texts(), **_pictures(), **_sounds(), **_records()}
    shown = [("Is it paid back?", found["rows"]), ("Is it good?", found["words"], "A review."), ("", found["map"])]
    found |= _differences(found)
    return {**found, "page": vd.Page("Three models", shown, lead="Each explained once.")}


@cache
def model_page() -> vd.Page:
    """A page about a model, as ``vd.pages.report_model`` makes it, without checks."""
    table = loans()
    return vd.pages.report_model(loan, vd.Rows(table), table, classes=("lost", "paid"), method=QUICK, n_rows=80)
