"""The lime package against veridical.compat.lime, the same calls with the same arguments, taking turns.

``trivial`` models cost next to nothing, so that all that is timed is the library; ``forest`` and ``pipeline`` are models of
scikit-learn, whose own time is most of it. Processor seconds; medians over repetitions, each of which makes both explain
one instance in random order. explain_many is held against lime explaining one row after the other: lime explains the first of
the rows alone, and its time is multiplied.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import lime.lime_image
import lime.lime_tabular
import lime.lime_text
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical.compat.lime as ours
from overhead import seconds
from tables import Target, arguments, at_least, finish

TRIVIAL, REAL, MANY = 2.0, 1.0, 50.0  # times quicker, at least
MANY_ROWS, LIME_ROWS = 1000, 20
PICTURE = 96  # pixels a side
WORDS = {"8 words": 8, "80 words": 80, "300 words": 300}


@dataclass(frozen=True)
class Task:
    """One call of explain_instance, by lime and by us."""

    kind: str
    data: str
    settings: str
    model: str
    by_lime: Callable[[], Any]
    by_us: Callable[[], Any]


def trivial(X: Any) -> Any:
    p = 1 / (1 + np.exp(X[:, 1] - X[:, 0]))
    return np.stack([1 - p, p], axis=1)


def tables() -> Iterator[Task]:
    """Rows of tables."""
    wide = np.random.default_rng(0).normal(size=(500, 100))
    data = {"wine": load_wine().data, "breast_cancer": load_breast_cancer().data, "100 columns": wide}
    settings: dict[str, Mapping[str, Any]] = {
        "default": {},
        "num_features=5": {"num_features": 5},
        "num_samples=500": {"num_samples": 500},
        "top_labels=2": {"top_labels": 2},
    }
    for name, raw in {**data, "diabetes": load_diabetes().data}.items():
        X = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        forest = RandomForestClassifier(50, random_state=0).fit(X, X[:, 0] > X[:, 1])
        models = {"trivial": trivial, "forest": forest.predict_proba}
        for bins in (True, False):
            made = {"discretize_continuous": bins, "random_state": 0}
            pair = (
                lime.lime_tabular.LimeTabularExplainer(X, **made),
                ours.lime_tabular.LimeTabularExplainer(X, **made),
            )
            for label, arguments_ in settings.items():
                for called, model in models.items() if label == "default" else [("trivial", trivial)]:
                    yield Task(
                        "table",
                        f"{name}, {'bins' if bins else 'numbers'}",
                        label,
                        called,
                        *(call(explainer, X[0], model, arguments_) for explainer in pair),
                    )


def call(explainer: Any, x: Any, model: Any, settings: Mapping[str, Any]) -> Callable[[], Any]:
    return lambda: explainer.explain_instance(x, model, **settings)


def texts() -> Iterator[Task]:
    """Texts of words that all differ."""

    def predict(some: Any) -> Any:
        p = np.array([0.2 + 0.5 * ("w1 " in text) for text in some])
        return np.stack([1 - p, p], axis=1)

    corpus = [" ".join(f"w{i}" for i in np.random.default_rng(seed).integers(0, 300, 60)) for seed in range(60)]
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(corpus, np.arange(60) % 2)
    for bow in (True, False):
        pair = [module.LimeTextExplainer(bow=bow, random_state=0) for module in (lime.lime_text, ours.lime_text)]
        for name, n in WORDS.items():
            text = " ".join(f"w{i}" for i in range(n))
            for called, model in (("trivial", predict), ("pipeline", pipeline.predict_proba)):
                if called == "trivial" or n == 80:
                    yield Task(
                        "text",
                        name,
                        f"bow={bow}",
                        called,
                        *(call(explainer, text, model, {}) for explainer in pair),
                    )


def pictures() -> Iterator[Task]:
    """A picture of noise, cut into a grid, or by lime's own default."""
    picture = np.random.default_rng(0).random((PICTURE, PICTURE, 3))

    def predict(some: Any) -> Any:
        p = some[:, : PICTURE // 2].mean(axis=(1, 2, 3))
        return np.stack([1 - p, p], axis=1)

    def grid(k: int) -> Callable[[Any], Any]:
        at = np.arange(PICTURE) * k // PICTURE
        return lambda picture: at[:, None] * k + at

    def quick(picture: Any) -> Any:
        return ours.lime_image.SegmentationAlgorithm("quickshift", kernel_size=4, max_dist=200, ratio=0.2, rng=0)(
            picture
        )

    for name, segment in (("grid of 16", grid(4)), ("grid of 64", grid(8)), ("quickshift", quick)):
        pair = [module.LimeImageExplainer(random_state=0) for module in (lime.lime_image, ours.lime_image)]
        settings = {"segmentation_fn": segment}
        yield Task(
            "picture", name, "default", "trivial", *(call(each, picture, predict, settings) for each in pair)
        )


def measure(task: Task, repetitions: int) -> dict[str, Any]:
    """Both, in random order."""
    times: dict[str, list[float]] = {"lime": [], "ours": []}
    rng = np.random.default_rng(0)
    work = {"lime": task.by_lime, "ours": task.by_us}
    work["ours"]()
    for _ in range(repetitions):
        for name in rng.permutation(list(work)):
            times[name].append(seconds(work[name]))
    by_lime, by_us = (1000 * float(np.median(times[name])) for name in ("lime", "ours"))
    named = {"kind": task.kind, "data": task.data, "settings": task.settings, "model": task.model}
    return {**named, "lime_ms": by_lime, "ours_ms": by_us, "faster": by_lime / by_us}


def many() -> Iterator[dict[str, Any]]:
    """A thousand rows."""
    cancer = load_breast_cancer().data
    X = ((cancer - cancer.mean(axis=0)) / cancer.std(axis=0))[np.arange(MANY_ROWS) % len(cancer)]
    forest = RandomForestClassifier(50, random_state=0).fit(X, X[:, 0] > X[:, 1])
    theirs = lime.lime_tabular.LimeTabularExplainer(X, random_state=0)
    own = ours.lime_tabular.LimeTabularExplainer(X, random_state=0)
    for name, model in (("trivial", trivial), ("forest", forest.predict_proba)):
        own.explain_many(X[:10], model)
        by_us = seconds(lambda model=model: own.explain_many(X, model))
        by_lime = seconds(lambda model=model: [theirs.explain_instance(x, model) for x in X[:LIME_ROWS]])
        by_lime *= MANY_ROWS / LIME_ROWS
        told = {
            "kind": "explain_many",
            "data": f"breast_cancer, {MANY_ROWS:,} rows",
            "settings": "default",
            "model": name,
        }
        yield {**told, "lime_ms": 1000 * by_lime, "ours_ms": 1000 * by_us, "faster": by_lime / by_us}


def judge(rows: list[dict[str, Any]]) -> list[Target]:
    alone = [row for row in rows if row["kind"] != "explain_many"]
    cheap = [row["faster"] for row in alone if row["model"] == "trivial"]
    real = [row["faster"] for row in alone if row["model"] != "trivial"]
    together = {row["model"]: row["faster"] for row in rows if row["kind"] == "explain_many"}
    return [
        at_least("times faster than lime, explain_instance, trivial models, least", TRIVIAL, min(cheap)),
        Target("the same, median", "", f"{np.median(cheap):.3g}", True),
        at_least("times faster than lime, explain_instance, models of scikit-learn, least", REAL, min(real)),
        *(
            at_least(f"times faster than lime, explain_many, {MANY_ROWS:,} rows, {m}", MANY, t)
            for m, t in together.items()
        ),
    ]


def main(settings: Any) -> None:
    warnings.simplefilter("ignore")
    tasks = [task for family in (tables, texts, pictures) for task in family()]
    tasks = tasks[:: max(len(tasks) // 6, 1)] if settings.quick else tasks
    rows = [*(measure(task, 2 if settings.quick else settings.repetitions) for task in tasks), *many()]
    finish("compat", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    main(parser.parse_args())
