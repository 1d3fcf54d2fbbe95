"""Files to try the commands on: models, and data of several kinds."""

from __future__ import annotations

import importlib.util
import json
import runpy
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from veridical.demo import paragraphs
from veridical.display.pixels import png
from veridical.errors import InputError
from veridical.records import Floats

NAMES = (
    *("apples", "audits.py", "data.csv", "model.joblib", "model.onnx", "model.py"),
    *("texts.jsonl", "train.csv", "train.jsonl"),
)
GRAPES = ("Barolo", "Grignolino", "Barbera")
MODEL = '''"""Models to try the commands on; each is trained when it is asked for."""

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent


def trained(model):
    """A model of which grape a wine is made of, by its chemistry."""
    train = pd.read_csv(HERE / "train.csv")
    y = train.pop("grape")
    scaled = make_column_transformer((StandardScaler(), list(train)))
    return make_pipeline(scaled, model).fit(train, y)


def forest():
    return trained(RandomForestClassifier(50, random_state=0))


def linear():
    return trained(LogisticRegression())


def topic():
    """A model of what a paragraph is about."""
    train = pd.read_json(HERE / "train.jsonl", lines=True)
    model = make_pipeline(TfidfVectorizer(stop_words="english"), LogisticRegression(C=10.0))
    return model.fit(train["text"], train["topic"])


def ripe(pictures):
    """How ripe apples in pictures are: how much redder than green, summed over their pixels."""
    red, green = np.asarray(pictures, dtype=float)[..., 0], np.asarray(pictures, dtype=float)[..., 1]
    return 1 / (1 + np.exp(2.5 - np.clip(red - green - 60, 0, None).sum(axis=(1, 2)) / 30_000))
'''
AUDITS = '''"""What to audit: veridical audit audits:subject"""

import pandas as pd
from model import HERE, linear

import veridical as vd

train, test = pd.read_csv(HERE / "train.csv"), pd.read_csv(HERE / "data.csv")
y_train, y_test = train.pop("grape"), test.pop("grape")
subject = vd.Subject(linear().predict_proba, vd.Rows(train), test, y=y_test, training=(train, y_train))
'''


def write_samples(place: str) -> list[Path]:
    """Write models and data into a folder, which may not have any of them yet."""
    folder = Path(place)
    there = [name for name in NAMES if (folder / name).exists()]
    if there:
        raise InputError(f"{place!r} has {there[0]} in it already: name another folder, such as samples")
    (folder / "apples").mkdir(parents=True)
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    (folder / "audits.py").write_text(AUDITS, encoding="utf-8")
    _write_wines(folder)
    _write_texts(folder)
    for i, ripe in enumerate((True, False, True)):
        (folder / "apples" / f"apple-{i}.png").write_bytes(png(_apple(i, ripe)))
    _write_models(folder)
    return [folder / name for name in NAMES if (folder / name).exists()]


def _write_wines(folder: Path) -> None:
    wines: Any = load_wine(as_frame=True)
    frame = wines.data.assign(grape=[GRAPES[i] for i in wines.target])
    train, test = train_test_split(frame, random_state=0, test_size=60, stratify=frame["grape"])
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "data.csv", index=False)


def _write_texts(folder: Path) -> None:
    texts, topics = paragraphs()
    pairs = pd.DataFrame({"text": texts, "topic": topics})
    train, test = train_test_split(pairs, random_state=0, test_size=20)
    for name, frame in (("train.jsonl", train), ("texts.jsonl", test)):
        lines = [json.dumps(row) + "\n" for row in frame.to_dict("records")]
        (folder / name).write_text("".join(lines), encoding="utf-8")


def _apple(seed: int, ripe: bool) -> Any:
    """A red or green apple on grass, as pixels."""
    rng = np.random.default_rng(seed)
    pixels: Floats = rng.normal((70, 130, 60), 12, (96, 96, 3))
    y, x = np.ogrid[:96, :96]
    at = rng.integers(32, 64, 2)
    inside = (y - at[0]) ** 2 + (x - at[1]) ** 2 < 22**2
    pixels[inside] = rng.normal((200, 40, 40) if ripe else (120, 190, 70), 10, (int(inside.sum()), 3))
    return pixels.clip(0, 255).astype(np.uint8)


def _write_models(folder: Path) -> None:
    """The forest as a file: a pickle, and ONNX where there is something to write it by."""
    train = pd.read_csv(folder / "train.csv").drop(columns="grape")
    model = runpy.run_path(str(folder / "model.py"))["forest"]()
    joblib.dump(model, folder / "model.joblib")
    if importlib.util.find_spec("skl2onnx"):
        convert = importlib.import_module("skl2onnx").to_onnx
        (folder / "model.onnx").write_bytes(convert(model, train[:1]).SerializeToString())
