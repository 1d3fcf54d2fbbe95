"""Which part of SciPy does this docstring describe? A TF-IDF + logistic regression pipeline, explained by words.

The corpus comes with SciPy itself: the openings of the docstrings of four of its parts. The model is nearly always
right; the second explanation shows that it is not always right for a good reason.

    python examples/text_pipeline.py [page.html]
"""

import importlib
import inspect
import re
import sys

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import veridical as vd

TOPICS = ("linalg", "optimize", "signal", "stats")
EXPLAINED = [("optimize", "lsq_linear"), ("linalg", "expm")]  # left out of the training


def summary(thing: object) -> str:
    """The opening of a docstring: everything before its first section, list or formula."""
    opening = re.split(r"\n\w[\w ]*\n-{3,}\n|\n\.\. |::\n", inspect.getdoc(thing) or "")[0]
    return " ".join(opening.split())


def corpus() -> pd.Series:
    """One text a function, by topic and name."""
    texts = {}
    for topic in TOPICS:
        module = importlib.import_module(f"scipy.{topic}")
        for name in sorted(set(module.__all__)):
            text = summary(getattr(module, name))
            if len(text.split()) >= 15:  # enough to go by
                texts[topic, name] = text
    return pd.Series(texts).drop_duplicates()


def main(page: str = "text_pipeline.html") -> None:
    texts = corpus()
    train = texts.drop(EXPLAINED)
    topics = train.index.get_level_values(0)
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True),
        LogisticRegression(C=30, class_weight="balanced", max_iter=1000),
    ).fit(train, topics)
    accuracy = cross_val_score(model, train.tolist(), topics, cv=5).mean()
    print(f"{len(train)} docstrings, {accuracy:.0%} of them told apart in cross-validation\n")

    questions = texts[EXPLAINED]
    whys = vd.explain_many(model.predict_proba, vd.Words(), questions)
    for (topic, name), why in zip(EXPLAINED, whys, strict=True):
        print(f"scipy.{topic}.{name}: {questions[topic, name]}\n\n{why}\n")

    # The second one leans on "batch" and "core": SciPy has one paragraph about batches in most functions of linalg.
    test = "A batch of fresh bread."
    print(f'Which topic is "{test}"? The model says: {model.predict([test])[0]}')

    whys.save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
