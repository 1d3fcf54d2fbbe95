"""Which method explains this model best? Four of them on a forest that tells benign tumors from malignant ones.

Each explanation is measured by what can be checked without knowing the right answer: whether it says what the
model does nearby, whether the output falls when the parts that it names are taken away, whether it stays the same
when it is made again, how long it is, and whether it changes when the model is another one, here a forest that was
trained on shuffled labels. Beside the methods stand rows that know nothing: where a method is no better than they
are, its number means nothing.

    python examples/compare.py [page.html]
"""

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import veridical as vd

METHODS = [vd.Lime(), vd.KernelShap(n_samples=1024), vd.Occlusion(), vd.RandomParts()]


def main(page: str = "compare.html") -> None:
    tumors = load_breast_cancer(as_frame=True)
    kinds = np.array(["malignant", "benign"])[tumors.target]
    train, test, known, hidden = train_test_split(tumors.data, kinds, random_state=0, stratify=kinds)
    forest = RandomForestClassifier(50, random_state=0).fit(train, known)
    print(f"accuracy on {len(test)} tumors it has not seen: {forest.score(test, hidden):.2f}")
    shuffled = np.random.default_rng(0).permutation(known)
    other = RandomForestClassifier(50, random_state=0).fit(train, shuffled)

    report = vd.evaluate(
        forest.predict_proba,
        vd.Rows(train),
        test[:16],
        methods=METHODS,
        randomized=other.predict_proba,
    )
    print(report)
    for metric in ("deletion", "insertion"):
        print(f"by {metric}:", ", ".join(f"{rank}. {method}" for rank, method in report.ranking(metric)))
    report.save(page)
    print(f"wrote {page}")


if __name__ == "__main__":
    main(*sys.argv[1:])
