"""``python -m veridical``: explain real predictions, print them, and write a report."""

from __future__ import annotations

import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.model_selection import train_test_split

import veridical as vd
from veridical.render.html import page


def tumor() -> tuple[vd.Explanation, vd.Explanations]:
    """A random forest that tells malignant from benign tumors: the least certain patient, and 50 others."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    train, test, answers, _ = train_test_split(data.data, labels, random_state=0, test_size=0.3)
    model = RandomForestClassifier(100, random_state=0).fit(train, answers)
    rows = vd.Rows(train)
    doubtful = abs(model.predict_proba(test)[:, 0] - 0.5).argmin()
    why = vd.explain(model.predict_proba, rows, test.iloc[doubtful])
    return why, vd.explain_many(model.predict_proba, rows, test.head(50))


def progression() -> vd.Explanation:
    """A gradient boosting model of how diabetes progresses: the patient with the highest prediction."""
    data = load_diabetes(as_frame=True, scaled=False)
    train, test, answers, _ = train_test_split(data.data, data.target, random_state=0, test_size=0.3)
    model = GradientBoostingRegressor(random_state=0).fit(train, answers)
    highest = test.iloc[model.predict(test).argmax()]
    return vd.explain(model.predict, vd.Rows(train), highest)


def main(path: str = "report.html") -> None:
    """Print two explanations and write them, with fifty more, into one page."""
    why, many = tumor()
    print("Is this tumor malignant? A random forest on 30 measurements; the least certain test patient.\n")
    print(why)
    print("\nHow far will the disease progress? Gradient boosting on 10 measurements.\n")
    other = progression()
    print(other)
    report = Path(path).resolve()
    report.write_text(
        page(
            "What the models go by",
            [
                ("Breast cancer, random forest: the least certain patient", why),
                ("Diabetes, gradient boosting: the highest prediction", other),
                ("Breast cancer, random forest: fifty patients", many),
            ],
            lead="Every weight comes with a 95 % interval, every explanation with a verdict on itself.",
        ),
        encoding="utf-8",
    )
    print(f"\nThe report, with fifty more explanations: {report}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
