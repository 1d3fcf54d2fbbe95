"""Which part of SciPy does this docstring describe? A TF-IDF + logistic regression pipeline, explained by words.

The corpus comes with SciPy itself: the openings of the docstrings of four of its parts. The model is nearly always
right; the second explanation shows that it is not always right for a good reason.

    python examples/text_pipeline.py [page.html]
"""

import importlib
import inspect
import re
import sys

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


def corpus() -> dict[tuple[str, str], str]:
    """Texts of fifteen words or more by topic and name, each text once."""
    texts = {}
    for topic in TOPICS:
        module = importlib.import_module(f"scipy.{topic}")
        for name in sorted(set(module.__all__)):
            text = summary(getattr(module, name))
            if len(text.split()) >= 15 and text not in texts.values():
                texts[topic, name] = text
    return texts


def main(page: str = "text_pipeline.html") -> None:
    texts = corpus()
    questions = [texts.pop(key) for key in EXPLAINED]
    topics = [topic for topic, _ in texts]
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True),
        LogisticRegression(C=30, class_weight="balanced", max_iter=1000),
    ).fit(list(texts.values()), topics)
    accuracy = cross_val_score(model, list(texts.values()), topics, cv=5).mean()
    print(f"{len(texts)} docstrings, {accuracy:.0%} of them told apart in cross-validation\n")

    whys = vd.explain_many(model, vd.Words(), questions)
    for (topic, name), why in zip(EXPLAINED, whys, strict=True):
        print(f"scipy.{topic}.{name}\n\n{why}\n")

    # The second leans on "batch" and "core": most functions of linalg share a paragraph about batches of arrays.
    test = "A batch of fresh bread."
    print(f'Which topic is "{test}"? The model says: {model.predict([test])[0]}')

    sections = [(f"scipy.{topic}.{name}", why) for (topic, name), why in zip(EXPLAINED, whys, strict=True)]
    vd.Page("Which part of SciPy is it?", sections).save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
