"""What every check must keep to: it says one sentence, rests on numbers, and shows what knows nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from tests.builders.explanations import mushroom
from veridical.checks.audits import CHECKS, METHOD_CHECKS

X, Y = load_wine(return_X_y=True)
NULLS = {"constant", "noise", "shuffled", "another"}


def subject() -> vd.Subject:
    keep = Y < 2
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[keep], Y[keep])
    return vd.Subject(
        model.predict_proba, vd.Rows(X[keep]), X[keep], Y[keep], region=["x0"], shifted=X[keep] + 3 * X.std(axis=0)
    )


@cache
def verdict(name: str, rng: int = 0) -> vd.Verdict:
    return CHECKS[name](vd.Lime(n_samples=256), subject(), rng)


def broken(found: vd.Verdict, name: str) -> list[str]:
    """What a verdict does not keep to."""
    wrong = []
    if not (np.isfinite(found.observed) and np.isfinite(found.expected)):
        wrong.append("it rests on no number")
    if not found.sentence.endswith(".") or not found.sentence[:1].isupper():
        wrong.append("it says no sentence")
    shown = set(found.nulls).union(*(line.nulls for line in found.measures))
    needed = NULLS if name in METHOD_CHECKS else set()  # what is no explanation has no such baselines
    if not shown >= needed or not set(found.nulls) <= NULLS:
        wrong.append("it does not show all that knows nothing")
    if not np.isfinite(found.interval).all():
        wrong.append("it does not say how sure it is")
    if not found.measures or not all(line.name and np.isfinite(line.value) for line in found.measures):
        wrong.append("it has no table")
    if found.check not in ("", name):
        wrong.append("it has the name of another check")
    if not found.evidence or not all(isinstance(each, vd.Explanation) for each in found.evidence):
        wrong.append("its evidence is no explanation")
    if any(not 0 <= row < len(X) for row in found.rows):
        wrong.append("it is about rows that there are not")
    return wrong


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_keeps_to_it(name: str) -> None:
    assert broken(verdict(name), name) == []


@pytest.mark.parametrize("name", CHECKS)
def test_the_same_seed_gives_the_same_verdict(name: str) -> None:
    again = CHECKS[name](vd.Lime(n_samples=256), subject(), 0)
    assert (again.observed, again.sentence) == (verdict(name).observed, verdict(name).sentence)
    assert [line.value for line in again.measures] == [line.value for line in verdict(name).measures]


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_is_explained(name: str) -> None:
    assert (CHECKS[name].__doc__ or "").splitlines()[0].endswith((".", "?"))


SOUND = vd.Verdict(
    True, 0.1, 0.5, "A sentence.", interval=(0.0, 0.2), nulls=dict.fromkeys(NULLS, 0.0),
    measures=(vd.records.Measured("a", 1.0),), evidence=(mushroom(),),
)  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"observed": float("nan")},
        {"sentence": "no sentence"},
        {"nulls": {}},
        {"nulls": {**SOUND.nulls, "guess": 0.0}},
        {"measures": ()},
        {"check": "b"},
        {"interval": (float("nan"), float("nan"))},
        {"evidence": ()},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_contract_catches_saboteurs(changes: dict[str, Any]) -> None:
    assert broken(SOUND, "randomize") == []
    assert len(broken(replace(SOUND, **changes), "randomize")) == 1


@pytest.mark.parametrize("method", [vd.Lime(n_samples=64), vd.gradients.Gradient()], ids=["Lime", "Gradient"])
def test_a_concept_keeps_to_it(method: Any) -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)).eval()
    rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    concept = vd.concepts.Concept("high", rows[:20] + np.eye(4, dtype=np.float32)[0] * 3, "0", rows)
    found = vd.debug(network, vd.Rows(rows), rows[:20], check="reliance", method=method, region=concept, target=1)
    assert broken(found, "tcav") == []
