"""Which method explains best? LIME, Shapley values, occlusion and two controls, on a table, texts and pictures.

Every metric is also measured on explanations that know nothing of the model, so that its numbers mean something:
a method that does not beat them has not shown anything. What the texts' and pictures' models look at is
known, and so the methods can be compared with the truth as well.

    python examples/evaluate.py [page.html]
"""

import sys

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from text_pipeline import corpus

import veridical as vd

METHODS = [
    vd.Lime(n_samples=512),
    vd.KernelShap(n_samples=512),
    vd.Occlusion(),
    vd.baselines.Greedy(),
    vd.baselines.RandomParts(),
]
N = 16  # instances of each kind; below ten, five methods and their null rows cannot be told apart
SIDE = 8  # pixels of a digit


def wines() -> vd.metrics.Report:
    """A regression with products of features tells three cultivars by thirteen measurements."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    train, test, labels, _ = train_test_split(X, y, random_state=0, stratify=y)
    regression = LogisticRegression(C=0.1, max_iter=1000)
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2), regression).fit(train, labels)
    # An explanation should change with the model: the same, trained on labels that were shuffled.
    other = clone(model).fit(train, labels.sample(frac=1, random_state=0).to_numpy())
    return vd.evaluate(
        model.predict_proba, vd.Rows(train), test[:N], methods=METHODS, randomized=other.predict_proba
    )


def docstrings() -> vd.metrics.Report:
    """Logistic regression tells parts of SciPy by words; its coefficients say which words count."""
    topics, texts = zip(*((topic, text.lower()) for (topic, _), text in corpus().items()), strict=True)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=30, max_iter=1000)).fit(texts, topics)
    asked = [texts[i] for i in np.random.default_rng(0).choice(len(texts), N, replace=False)]
    counts, regression = model[0].transform(asked), model[1]
    words, said = model[0].get_feature_names_out(), regression.predict(counts)
    truth = []
    for row, topic in zip(counts, said, strict=True):
        others = regression.classes_ != topic
        effects = row.toarray()[0] * (regression.coef_[~others][0] - regression.coef_[others].mean(axis=0))
        truth.append(set(words[np.argsort(-np.abs(effects))[:5]]))
    return vd.evaluate(model.predict_proba, vd.Words(), asked, methods=METHODS, truth=truth)


def digits() -> vd.metrics.Report:
    """A network reads a digit that stands in one of four corners; the rest of the picture is noise."""
    images, names = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    where = rng.integers(0, 2, (len(names), 2)) * SIDE
    pictures, truth = rng.uniform(0, 0.3, (len(names), 2 * SIDE, 2 * SIDE)), []
    for picture, image, (row, column) in zip(pictures, images / 16, where, strict=True):
        corner = (slice(row, row + SIDE), slice(column, column + SIDE))
        picture[corner] = image.reshape(SIDE, SIDE)
        truth.append(np.zeros(picture.shape, bool))
        truth[-1][corner] = True
    network = MLPClassifier(64, max_iter=60, random_state=0, early_stopping=True)
    network.fit(pictures[:1500].reshape(1500, -1), names[:1500])
    print(f"digits: {network.score(pictures[1500:].reshape(297, -1), names[1500:]):.0%} of new ones are read")

    def predict(batch: np.ndarray) -> np.ndarray:
        return network.predict_proba(batch.reshape(len(batch), -1))

    shown, known = pictures[1500 : 1500 + N], truth[1500 : 1500 + N]
    return vd.evaluate(predict, vd.Grid(4, 4, fill=vd.fills.Constant(0.15)), shown, methods=METHODS, truth=known)


def main(page: str = "evaluate.html") -> None:
    reports = {"Digits in a corner": digits(), "Docstrings of SciPy": docstrings(), "Wines": wines()}
    for name, report in reports.items():
        print(f"\n{name}: {report.title}\n")
        print("\n".join(report.sentences))
    print(f"\nAll numbers of the digits:\n\n{reports['Digits in a corner']}")
    vd.Page("Which method explains best?", list(reports.items())).save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
