"""Does the model answer changed inputs by another rule: attacked models are caught, honest ones pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.checks import query_checks
from veridical.checks.query_checks import embed_batches, fit_simple_model, record_queries
from veridical.seeds import child_of
from veridical.toys import Scaffold, looks_real

torch.set_num_threads(1)
SEED = np.random.SeedSequence(0)
METHOD = linear_lime(n_samples=128)


@pytest.fixture(autouse=True)
def fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller check, for time: changed copies of fewer instances, and fewer honest models."""
    monkeypatch.setattr(query_checks, "MAX_PERTURBED", 40)
    monkeypatch.setattr(query_checks, "MODELS_PER_KIND", 2)


def correlated(n: int = 400, seed: int = 0) -> Any:
    """Rows near a plane: changed ones leave it."""
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(3, 8))
    return rng.normal(size=(n, 3)) @ mix + 0.3 * rng.normal(size=(n, 8))


X_TRAIN, X = correlated(), correlated(120, 1)
Y_TRAIN = (X_TRAIN[:, 0] + X_TRAIN[:, 3] + np.random.default_rng(2).normal(size=400) > 0).astype(int)


def changed_rows(represent: Any, instances: Any, method: Any = METHOD) -> Any:
    """What an attacker sees of a method."""
    rows = np.arange(len(instances))
    subject = vd.Subject(lambda batch: np.zeros(len(batch)), represent, instances)
    return record_queries(method, subject, rows, child_of(SEED, 7)).inputs


def attacked(method: Any = METHOD) -> Scaffold:
    """Real rows are judged by column 0, others by column 5."""
    real = looks_real(X_TRAIN, changed_rows(vd.Rows(X_TRAIN), X_TRAIN[:100], method))
    return Scaffold(lambda x: (x[:, 0] > 0) * 1.0, lambda x: (x[:, 5] > 0) * 1.0, real)


def test_the_attack_works() -> None:
    """Real rows look real, changed ones do not, and explanations show nothing of column 0."""
    model = attacked()
    assert model.looks_real(X).mean() > 0.8
    assert model.looks_real(changed_rows(vd.Rows(X_TRAIN), X[:40])).mean() < 0.2
    many = vd.explain_many(model, vd.Rows(X_TRAIN), X[:20], method=linear_lime(n_samples=512))
    heavy = [int(np.argmax(np.abs(each.weights))) for each in many]
    assert np.mean(np.array(heavy) == 5) > 0.8


def test_an_attacked_model_is_caught() -> None:
    found = query_checks.fooling(METHOD, vd.Subject(attacked(), vd.Rows(X_TRAIN), X), 3)
    assert not found.passed
    assert found.observed < 0.3 < found.expected
    assert "another rule" in found.sentence
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    assert len(found.evidence) == 1
    assert len(found.rows) == 10


HONEST = {
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(30, random_state=0),
    "network": make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=400, random_state=0, tol=1e-3)),
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_models_pass(kind: str) -> None:
    model = HONEST[kind].fit(X_TRAIN, Y_TRAIN)
    predict = model.predict if kind == "forest" else model.predict_proba  # hard answers are harder to learn
    found = vd.debug(predict, vd.Rows(X_TRAIN), X, check="fooling", method=METHOD)
    assert found.passed, found.sentence
    assert found.observed > 0.5
    assert max(found.nulls.values()) < 0.3


def test_values_instead_of_probabilities() -> None:
    rows = vd.Rows(X_TRAIN)
    real = looks_real(X_TRAIN, changed_rows(rows, X_TRAIN[:100]))
    for model, honest in (
        (lambda x: 3 * x[:, 0] - x[:, 1] ** 2, True),
        (Scaffold(lambda x: 3 * x[:, 0], lambda x: 2 * x[:, 5], real), False),
    ):
        assert vd.debug(model, rows, X, check="fooling", method=METHOD).passed is honest


def texts(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(24)]
    return [" ".join(rng.choice(words, 14, replace=False)) for _ in range(n)]


def test_texts() -> None:
    """The attack tells changed texts by their length, and judges real ones by one word, others by another."""

    def has(word: str) -> Any:
        return lambda batch: np.array([float(word in text.split()) for text in batch])

    def full(batch: Any) -> Any:
        return np.array([len(text.split()) >= 13 for text in batch])

    honest = vd.debug(has("w1"), vd.Words(), texts(80, 0), check="fooling", method=METHOD)
    assert honest.passed, honest.sentence
    fooled = vd.debug(
        Scaffold(has("w1"), has("w2"), full), vd.Words(), texts(80, 0), check="fooling", method=METHOD
    )
    assert not fooled.passed


def test_pictures() -> None:
    """The attack tells changed pictures by rectangles of one color."""
    rng = np.random.default_rng(0)
    pictures = rng.normal(size=(60, 8, 8)) + 2 * rng.normal(size=(60, 1, 1))
    grid = vd.Grid(2, 2)

    def left(batch: Any) -> Any:
        return np.asarray(batch)[:, :, :4].mean(axis=(1, 2))

    def noisy(batch: Any) -> Any:
        blocks = np.asarray(batch).reshape(-1, 2, 4, 2, 4).std(axis=(2, 4))
        return blocks.reshape(len(batch), -1).min(axis=1) > 1e-6

    assert vd.debug(left, grid, pictures, check="fooling", method=METHOD).passed
    fooled = Scaffold(left, lambda batch: -left(batch), noisy)
    assert not vd.debug(fooled, grid, pictures, check="fooling", method=METHOD).passed


def test_a_surrogate_learns_lines_and_steps() -> None:
    rng = np.random.default_rng(0)
    Z, R = rng.normal(size=(800, 4)), rng.normal(size=(200, 4))

    def f(x: Any) -> Any:
        return x[:, 0] + 2 * (x[:, 1] > 0)

    np.testing.assert_allclose(np.mean((fit_simple_model(Z, f(Z), R) - f(R)) ** 2), 0, atol=0.05)


def test_what_a_method_asks_is_heard_and_the_method_let_go() -> None:
    calls: list[int] = []

    def predict(batch: Any) -> Any:
        calls.append(len(batch))
        return np.zeros(len(batch))

    heard = record_queries(vd.Lime(n_samples=4096), vd.Subject(predict, vd.Rows(X), X), np.arange(5), SEED)
    assert len(heard.inputs) == 5 * 20
    assert sum(calls) < 5 * 100
    assert heard.owner.tolist() == np.repeat(np.arange(5), 20).tolist()


def test_points_of_everything() -> None:
    frame = pd.DataFrame({"n": [1.0, None, 3.0], "c": ["x", "y", None], "b": [True, False, True]})
    one, two = embed_batches(frame, frame.iloc[:1])
    assert one.shape == (3, 3)
    np.testing.assert_array_equal(one[0], two[0])
    assert np.isfinite(one).all()
    assert embed_batches(["a b", "c"], ["b"])[0].shape == (2, 3)
    assert embed_batches(torch.zeros(4, 3, 9, 9), torch.ones(2, 3, 9, 9))[1].shape[0] == 2
    with pytest.raises(vd.errors.NotApplicable, match="differ in shape"):
        embed_batches([np.zeros(3), np.zeros(4)], [np.zeros(3)])


@pytest.mark.parametrize(
    ("subject", "method", "says"),
    [
        (vd.Subject(lambda x: x[:, 0], vd.Rows(X), X[:20]), METHOD, "at least 30 real instances"),
        (vd.Subject(lambda x: np.ones(len(x)), vd.Rows(X), X), METHOD, "nothing to hide"),
        (vd.Subject(lambda x: x[:, 0], vd.Rows(X), X), vd.gradients.Gradient(), "reads gradients"),
    ],
)
def test_where_it_does_not_apply(subject: Any, method: Any, says: str) -> None:
    with pytest.raises(vd.errors.NotApplicable, match=says):
        query_checks.fooling(method, subject, 0)


def test_too_few_instances_to_tell_are_not_called_honest() -> None:
    """A check that saw less than honest models show, but may be wrong, says that it is not clear."""
    assert query_checks._write_fooling_sentence("unclear", 0.0, 0.2).startswith("It is not clear whether")
    assert query_checks._write_fooling_sentence("passed", 0.5, 0.2).startswith(
        "The model behaves on perturbed inputs"
    )
    assert query_checks._write_fooling_sentence("failed", 0.0, 0.2).startswith(
        "The model answers perturbed inputs"
    )
