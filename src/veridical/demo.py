"""``veridical demo``, or ``python -m veridical``: explain real predictions, print them, and write a report."""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.signal
import scipy.stats
import sklearn.cluster
import sklearn.linear_model
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import veridical as vd
from veridical.errors import require
from veridical.records import Floats

TOPICS: dict[str, ModuleType] = {
    "signals": scipy.signal,
    "statistics": scipy.stats,
    "clustering": sklearn.cluster,
    "linear models": sklearn.linear_model,
}
PATCH = 10  # pixels a side


def tumor() -> tuple[vd.Explanation, vd.Explanations]:
    """A random forest that tells malignant from benign tumors: the least certain patient, and 50 others."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    train, test, answers, _ = train_test_split(data.data, labels, random_state=0, test_size=0.3)
    model = RandomForestClassifier(100, random_state=0).fit(train, answers)
    rows = vd.Rows(train)
    doubtful = abs(model.predict_proba(test)[:, 0] - 0.5).argmin()
    why = vd.explain(model.predict_proba, rows, test.iloc[doubtful])
    return why, vd.explain_many(model.predict_proba, rows, test.head(50), target="malignant")


def progression() -> tuple[vd.Explanation, vd.groupings.Grouping]:
    """Gradient boosting on how diabetes progresses: the patient with the highest prediction, and three groups."""
    data = load_diabetes(as_frame=True, scaled=False)
    train, test, answers, _ = train_test_split(data.data, data.target, random_state=0, test_size=0.3)
    model = GradientBoostingRegressor(random_state=0).fit(train, answers)
    rows = vd.Rows(train)
    highest = test.iloc[model.predict(test).argmax()]
    quick = vd.groupings.Mixture(n_starts=4)
    return (
        vd.explain(model.predict, rows, highest),
        vd.group(model.predict, rows, train, k=3, n_features=3, method=quick, validation=test),
    )


def paragraphs() -> tuple[list[str], list[str]]:
    """Paragraphs of the documentation of SciPy and scikit-learn, and what they are about."""
    texts, topics = [], []
    for topic, module in TOPICS.items():
        docs = [inspect.getdoc(value) or "" for name, value in sorted(vars(module).items()) if name[0] != "_"]
        found = {" ".join(p.split()) for doc in docs for p in doc.split("\n\n")}
        prose = sorted(p for p in found if len(p.split()) > 25 and re.match(r"[A-Z][a-z]+ [a-z][^`*=\\]+$", p))
        texts += prose
        topics += [topic] * len(prose)
    return texts, topics


def topic() -> tuple[vd.Explanation, vd.metrics.Report, vd.checks.Audit]:
    """A linear model of words that tells what a paragraph is about: one it is not sure of, scores, and an audit.

    The scores are of explanations of held-out paragraphs: by LIME, by taking away one word at a time, and by words
    at random. The audit asks whether explanations would show a broken model, and whether this one goes by "the".
    """
    texts, topics = paragraphs()
    train, test, answers, _ = train_test_split(texts, topics, random_state=0, test_size=0.3)
    model = make_pipeline(TfidfVectorizer(stop_words="english"), LogisticRegression(C=10.0)).fit(train, answers)
    sure = model.predict_proba(test).max(axis=1)
    why = vd.explain(model.predict_proba, vd.Words(), test[abs(sure - 0.6).argmin()])
    methods = [vd.Lime(n_samples=512), vd.Occlusion(), vd.baselines.RandomParts()]
    metrics = ["correlation", "deletion"]
    scores = vd.evaluate(model.predict_proba, vd.Words(), test[:12], methods=methods, metrics=metrics)
    data = vd.Subject(model.predict_proba, vd.Words(), test[:30], training=(train, answers), region=["the"])
    return why, scores, vd.audit(data, methods=vd.Lime(n_samples=256), checks=["randomize", "reliance"])


def patches(pictures: Any) -> Floats:
    """Mean and spread of the colors of square patches, (pictures, patches, 6)."""
    n, height, width, _ = np.shape(pictures)
    rows, cols = height // PATCH, width // PATCH
    cut = np.asarray(pictures)[:, : rows * PATCH, : cols * PATCH].reshape(n, rows, PATCH, cols, PATCH, 3)
    squares = cut.swapaxes(2, 3).reshape(n, rows * cols, PATCH * PATCH, 3).astype(np.float64)
    return np.concatenate([squares.mean(axis=2), squares.std(axis=2)], axis=-1)


def collage() -> vd.Explanation:
    """A random forest on patches that tells photographs apart, shown a picture that is part cat, part coffee."""
    photos = require("skimage.data", extra="image")
    cat, cup = photos.chelsea(), photos.coffee()[:300, :450]
    learned = [patches(photo[None, :, :225])[0] for photo in (cat, cup)]  # the left halves
    names = np.repeat(["cat", "coffee"], [len(p) for p in learned])
    forest = RandomForestClassifier(30, random_state=0, max_depth=8).fit(np.concatenate(learned), names)

    def predict(pictures: Any) -> Floats:
        found = patches(pictures)
        chances = forest.predict_proba(found.reshape(-1, 6))
        mean: Floats = chances.reshape(len(found), -1, 2).mean(axis=1)
        return mean

    both = np.concatenate([cat[:, 250:400], cup[:, 250:400]], axis=1)  # from the right halves
    return vd.explain(predict, vd.Superpixels(), both, target="cat", classes=("cat", "coffee"))


def demo(path: str = "report.html") -> None:
    """Print explanations, a pick, groups and scores, and write them, with fifty explanations, into one page."""
    (tumors, many), (disease, groups), (subject, scores, audit) = tumor(), progression(), topic()
    question = "Cat or coffee? A random forest on patches, shown half of each"
    photographs = [(question, collage())] if find_spec("skimage") else []
    shown: list[tuple[str, Any]] = [
        ("Is this tumor malignant? A random forest on 30 measurements; the least certain test patient", tumors),
        ("How far will the disease progress? Gradient boosting on 10 measurements", disease),
        ("What is this paragraph about? A linear model of tf-idf word weights; one it is not sure of", subject),
        *photographs,
        ("Which four of fifty tumor patients show most of what the forest uses?", vd.pick(many, 4, k=5)),
        ("What does it depend on, and for whom? Three groups of these patients", groups),
        ("Which explanations can be relied on? Three methods, on twelve paragraphs", scores),
        ("Would they show a broken model, and is this one sound? Two checks, on thirty paragraphs", audit),
    ]
    for question, found in shown:
        print(f"{question}{'' if question.endswith('?') else '.'}\n\n{found}\n")
    if not photographs:
        print("A photograph is left out, for scikit-image is not installed (the extra that has it is 'image').\n")
    report = Path(path).resolve()
    lead = "Every weight comes with a 95 % interval, every explanation with a verdict on itself."
    sections = [*shown, ("Fifty patients, from one sample", many)]
    vd.Page("What the models go by", sections, lead).save(report)
    print(f"The report, with fifty more explanations: {report}")
