"""Would you ship this model? An audit of one that reads the answer off a form, and of the same model without it.

A random forest tells malignant from benign tumors. In the table that it learned from, the column "ward" says where
a patient lay, and patients whose tumor was known to be malignant had been moved: the forest scores well and has
learned the wrong thing. The audit is told that the ward is suspect.

    python examples/audit.py [page.html]

The same from the command line, with an exit code for a build server:

    veridical audit examples/audit.py:leaky --out audit.html --out audit.xml
"""

import sys

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import veridical as vd

METHODS = [vd.Lime(n_samples=512)]
CHECKS = None  # all that apply


def tables() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Patients to learn from and to test with, and whose tumors are malignant; the ward gives most of it away."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    moved = (labels == "malignant") ^ (np.random.default_rng(0).random(len(labels)) < 0.05)
    measured = data.data.filter(regex="^worst").assign(ward=moved.astype(float))
    train, test, answers, right = train_test_split(measured, labels, random_state=0, test_size=0.4)
    return train, test, answers, right


def subject(columns: list[str]) -> vd.Subject:
    """A forest on these columns, and all that is known of it."""
    train, test, answers, right = tables()
    forest = RandomForestClassifier(50, random_state=0, min_samples_leaf=3).fit(train[columns], answers)
    print(f"{forest.score(test[columns], right):.0%} of new patients are told right, from {len(columns)} columns")
    return vd.Subject(
        forest.predict_proba,
        vd.Rows(train[columns]),
        test[columns],
        y=right,
        training=(train[columns], answers),
        region=["ward"] if "ward" in columns else None,
        target="malignant",
    )


def leaky() -> vd.Subject:
    """The forest that can see the ward."""
    return subject(list(tables()[0].columns))


def repaired() -> vd.Subject:
    """The forest that cannot."""
    return subject([name for name in tables()[0].columns if name != "ward"])


def main(page: str = "audit.html") -> None:
    found = {
        name: vd.audit(make(), checks=CHECKS, methods=METHODS)
        for name, make in (("Leaky", leaky), ("Repaired", repaired))
    }
    for name, audit in found.items():
        print(f"\n{name} (exit code {audit.exit_code})\n\n{audit}")
    vd.Page("Would you ship this model?", list(found.items())).save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
