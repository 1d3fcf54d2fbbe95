"""What does a disease depend on, and for whom? A regression on patients, explained by groups and by a few of them.

A support vector machine learns from ten measurements how far diabetes progresses within a year. It is not linear,
so one short explanation for all patients misses something. A few groups miss less: each has an explanation of its
own and a region that tells whom it is for, and new patients are assigned without asking the model. Then five
patients are picked that show most of what the model uses, and four that show it side by side with a linear model.

    python examples/groups.py [page.html]
"""

import sys

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR

import veridical as vd

NAMES = {  # what the columns s1 to s6 are
    "s1": "cholesterol",
    "s2": "LDL",
    "s3": "HDL",
    "s4": "cholesterol / HDL",
    "s5": "log triglycerides",
    "s6": "glucose",
}
METHOD = vd.groupings.Mixture(n_starts=4)  # more starts find slightly better groups, and take longer
SIZES = range(2, 6)  # numbers of groups that are tried


def patients() -> tuple[pd.DataFrame, pd.Series]:
    """442 patients, and how far the disease came; the data do not say which sex is A and which is B."""
    frame, progress = load_diabetes(as_frame=True, scaled=False, return_X_y=True)
    frame["sex"] = pd.Categorical.from_codes(frame["sex"].astype(int) - 1, ["A", "B"])
    return frame.rename(columns=NAMES), progress


def main(page: str = "groups.html") -> None:
    X, y = patients()
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), remainder=StandardScaler())
    machine = make_pipeline(columns, SVR(C=100, gamma=0.02))
    linear = make_pipeline(columns, RidgeCV())
    for name, model in {"support vector machine": machine, "linear model": linear}.items():
        scores = cross_val_score(model, X, y, cv=KFold(10, shuffle=True, random_state=0))
        print(f"{name}: R² {scores.mean():.2f} in cross-validation")
    train, test, progress, _ = train_test_split(X, y, random_state=0, test_size=0.3)
    for model in (machine, linear):
        model.fit(train, progress)

    rows = vd.Rows(train)
    one = vd.group(machine, rows, train, k=1, n_features=3, validation=test, method=METHOD)
    groups = vd.group(machine, rows, train, k=SIZES, n_features=3, validation=test, method=METHOD)
    print(f"\nOne explanation for all: fidelity {one.fidelity:.2f}, {groups.k} groups: {groups.fidelity:.2f}\n")
    print(groups)

    sure = groups.coverage(test)  # the probability of the likeliest group, for each patient
    print("\nThe patient whose group is least sure:\n")
    print(groups.explain(test.iloc[sure.argmin()]))

    short = vd.Lime(n_samples=512)
    whys = [vd.explain_many(model, rows, test, method=short) for model in (machine, linear)]
    print(f"\nFive patients, by the four heaviest parts of each explanation:\n\n{vd.pick(whys[0], 5, k=4)}")
    both = vd.picks.pick_for_two(*whys, 4, k=4)
    print(f"\nFour patients that show both models:\n\n{both}")
    groups.save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
