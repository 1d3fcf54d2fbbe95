"""Which labels are wrong: what finds flips, what chance leaves, and what a check may say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import veridical as vd
from tests.checks.test_influence import two_gaussians
from veridical.checks.influence import tracin
from veridical.checks.label_checks import (
    TRAINING_LOSS,
    UNSEEN_LOSS,
    Labels,
    distance_from_class,
    estimate_noise,
    rowwise_cosines,
    weigh_against_label,
)
from veridical.metrics.significance import auroc, precision

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

METHOD = vd.Lime(n_samples=128)


def drawn(seed: int, share: float, k: int = 2, n: int = 600) -> tuple[Any, Any, Any]:
    """Probabilities of a model that is right about them, labels drawn from them, a share of which is flipped."""
    rng = np.random.default_rng(seed)
    p = softmax(5 * rng.normal(size=(n, k)), axis=1)
    labels = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = rng.random(n) < share
    return p, np.where(wrong, (labels + rng.integers(1, k, n)) % k, labels), wrong


def measures(verdict: vd.Verdict) -> dict[str, vd.records.Measured]:
    return {each.name: each for each in verdict.measures}


def test_area_and_precision_are_what_they_are_elsewhere() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(300) < 0.2
    scores = np.round(rng.normal(size=300) + wrong, 1)  # with ties
    value, low, high = auroc(scores, wrong)
    np.testing.assert_allclose(value, roc_auc_score(wrong, scores))
    assert low < value < high
    assert auroc(np.zeros(300), wrong)[0] == 0.5
    assert np.isnan(auroc(scores, np.zeros(300, bool))[0])
    assert precision(wrong + 0.0, wrong, wrong.mean())[0] == 1.0
    np.testing.assert_allclose(precision(np.zeros(300), wrong, 0.1)[0], wrong.mean())
    np.testing.assert_allclose(
        precision(np.arange(20.0), np.arange(20) >= 19, 0.1), (0.5, 0.0945, 0.9055), atol=1e-3
    )


def test_the_interval_of_the_area_covers_it() -> None:
    truth, covered = 0.7602499, 0  # of normal scores one standard deviation apart
    for seed in range(200):
        rng = np.random.default_rng(seed)
        wrong = np.arange(200) < 20
        _, low, high = auroc(rng.normal(size=200) + wrong, wrong)
        covered += low <= truth <= high
    assert covered >= 182  # 95 % of 200, less 2.6 standard errors


def test_labels_that_follow_the_model_are_not_suspected() -> None:
    for k in (2, 4):
        found = [estimate_noise(*drawn(seed, 0.0, k)[:2]) for seed in range(40)]
        assert sum(each.found for each in found) <= 5  # 5 % of 40, plus 2.2 standard errors
        assert np.mean([each.share for each in found]) < 0.01


@pytest.mark.parametrize("k", [2, 4])
def test_flipped_labels_are_found_and_counted(k: int) -> None:
    n_found, covered = 0, 0
    for seed in range(10):
        p, labels, wrong = drawn(seed, 0.1, k, 1500)
        found = estimate_noise(p, labels)
        n_found += found.found
        assert wrong[found.suspects].mean() > 0.7
        assert (np.diff(found.wrong[found.suspects]) <= 0).all()
        covered += found.low <= 0.1 <= found.high
    assert n_found >= 8
    assert covered >= 8


def test_perfect_and_empty_models_suspect_nothing() -> None:
    labels = np.arange(100) % 2
    assert not estimate_noise(np.eye(2)[labels], labels).found
    assert not estimate_noise(np.full((100, 2), 0.5), labels).found
    assert len(estimate_noise(np.eye(2)[labels], labels).suspects) == 0


@pytest.mark.parametrize("k", [2, 5])
def test_any_answers_have_an_interval_around_the_share(k: int) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p = softmax(rng.choice([0.01, 1, 100]) * rng.standard_t(2, (60, k)), axis=1)
        labels = np.where(rng.random(60) < rng.random(), p.argmax(axis=1), rng.integers(0, k, 60))
        found = estimate_noise(p, labels)
        assert 0 <= found.low <= found.share <= found.high <= 0.45
        assert ((found.wrong >= 0) & (found.wrong <= 1)).all()


def test_the_interval_starts_from_the_best_fit() -> None:
    rng = np.random.default_rng(88)  # where a fit from afar ends elsewhere
    p = softmax(20 * rng.normal(size=(180, 3)), axis=1)
    labels = (p.cumsum(axis=1) > rng.random((180, 1))).argmax(axis=1)
    found = estimate_noise(p, labels)
    assert found.low <= found.share <= found.high


def test_what_explanations_say_of_labels() -> None:
    weights = np.array([[3.0, -1.0], [2.0, 0.0], [-1.0, -1.0], [0.0, 0.0]])
    np.testing.assert_allclose(weigh_against_label(weights, np.zeros(4, int)), [0.25, 0, 1, 0])
    np.testing.assert_allclose(rowwise_cosines(weights, weights), [1, 1, 1, 0])
    alike = np.array([[1.0, 0], [1, 0], [-1, 0], [0, 1], [0, 1]])
    np.testing.assert_allclose(distance_from_class(alike, np.array([0, 0, 0, 1, 1])), [1, 1, 2, 0, 0])


@pytest.mark.parametrize("k", [1, 3])
def test_tracin_is_the_squared_gradient_of_the_last_layer(k: int) -> None:
    torch.manual_seed(0)
    modules = [
        torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, k)) for _ in range(2)
    ]
    X, labels = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32), np.arange(7) % max(k, 2)
    wanted = np.zeros(7)
    for module, rate in zip(modules, (0.1, 0.5), strict=True):
        for i in range(7):
            out = module(torch.as_tensor(X[i : i + 1]))
            if k == 1:
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    out[:, 0], torch.tensor([float(labels[i])])
                )
            else:
                loss = torch.nn.functional.cross_entropy(out, torch.tensor([labels[i]]))
            grads = torch.autograd.grad(loss, list(module[-1].parameters()))
            wanted[i] += rate * sum(float((g**2).sum()) for g in grads)
    found = tracin([vd.Network(module) for module in modules], X, labels, rates=(0.1, 0.5))
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    with pytest.raises(vd.errors.InputError, match="one learning rate per checkpoint"):
        tracin([vd.Network(modules[0])], X, labels, rates=(0.1, 0.5))
    ends = torch.nn.Sequential(torch.nn.Linear(4, k), torch.nn.Sigmoid())
    with pytest.raises(vd.errors.NotApplicable, match="ends in a Linear"):
        tracin([vd.Network(ends)], X, labels)


def test_right_labels_pass() -> None:
    X, y, _ = two_gaussians(1, 0.0, n=300)
    model, check = LogisticRegression().fit(X, y), Labels(n_explained=200)
    found = vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check=check, method=METHOD)
    assert found.passed
    assert found.check == "labels"
    assert found.sentence.startswith("No sign of wrong labels")
    assert "fails, as it should" in found.notes[0]
    known = measures(found)
    for name in (UNSEEN_LOSS, TRAINING_LOSS, "self-influence", "Lime: weight against the label"):
        assert known[f"{name}: precision at 10 %"].value > 0.7
        assert known[f"{name}: AUROC"].value > 0.9
        assert abs(known[f"{name}: AUROC"].nulls["noise"] - 0.5) < 0.15
    assert set(known["Lime: unlike its class: AUROC"].nulls) == {"constant", "noise", "shuffled", "another"}
    again = vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check=check, method=METHOD)
    assert again.measures == found.measures


def test_wrong_labels_fail_and_are_listed() -> None:
    X, right, wrong = two_gaussians(2, 0.1, n=300)
    y = np.where(right == 1, "yes", "no")
    model = LogisticRegression().fit(X, y)
    small = Labels(n_explained=20, n_rows=200)
    found = vd.debug(
        model.predict_proba, vd.Rows(X), X[:20], training=(X, y), check=small, method=METHOD, classes=["no", "yes"]
    )
    assert not found.passed
    assert found.interval[0] <= 0.1 <= found.interval[1]
    assert wrong[list(found.rows)].mean() > 0.8
    assert len(found.rows) > 20
    assert max(found.rows) >= 200  # all rows, once some looked wrong
    assert found.evidence[0].target == y[found.rows[0]]
    assert "look wrong" in found.sentence


def test_explanations_that_know_nothing_find_nothing() -> None:
    X, y, _ = two_gaussians(1, 0.0, n=300)
    model = LogisticRegression().fit(X, y)
    check = Labels(n_explained=200)
    found = vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check=check, method=vd.baselines.RandomParts())
    assert measures(found)["RandomParts: unlike its class: AUROC"].value < 0.75
    assert measures(found)[f"{UNSEEN_LOSS}: AUROC"].value > 0.95


def test_a_model_that_cannot_be_trained_again_is_asked_itself() -> None:
    X, y, wrong = two_gaussians(3, 0.1, n=300)
    rows, labels, _ = two_gaussians(4, 0.0, n=300)
    model = LogisticRegression().fit(rows, labels)

    def predict(X: Any) -> Any:
        return model.decision_function(X)  # one output

    found = vd.debug(predict, vd.Rows(X), X, y=y, check="labels", method=METHOD)
    assert not found.passed
    assert wrong[list(found.rows)].mean() > 0.8
    assert "give train=" in found.notes[0]
    assert found.measures == ()


@dataclass(frozen=True)
class Trainer:
    """A small network, trained by a few steps of full gradients."""

    steps: int = 20

    def __call__(self, X: Any, y: Any, seed: int) -> Any:
        torch.manual_seed(seed)
        module = torch.nn.Sequential(torch.nn.Linear(X.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        optimizer = torch.optim.Adam(module.parameters(), 0.05)
        inputs, labels = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
        for _ in range(self.steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs), labels).backward()
            optimizer.step()
        optimizer.zero_grad()
        return vd.Network(module.eval(), answers="softmax")


def test_a_network_has_tracin_and_stays_as_it_was() -> None:
    X, y, wrong = two_gaussians(5, 0.1, n=300)
    network = Trainer()(X, y, 0)
    before = {name: value.clone() for name, value in network.module.state_dict().items()}
    found = vd.debug(
        network,
        vd.Rows(X),
        X,
        y=y,
        train=Trainer(),
        check=Labels(n_explained=60),
        method=vd.gradients.InputXGradient(),
    )
    assert not found.passed
    assert wrong[list(found.rows)].mean() > 0.7
    known = measures(found)
    assert known["TracIn, last checkpoint: AUROC"].value > 0.9
    assert known["InputXGradient: weight against the label: AUROC"].value > 0.7
    assert all(torch.equal(value, before[name]) for name, value in network.module.state_dict().items())


def test_texts_have_labels_too() -> None:
    rng = np.random.default_rng(0)
    good, bad, other = (
        ["good", "great", "fine"],
        ["bad", "awful", "poor"],
        ["film", "plot", "cast", "scene", "end"],
    )
    y = np.arange(120) % 2
    texts = [" ".join([*rng.choice(good if label else bad, 2), *rng.choice(other, 4)]) for label in y]
    given = np.where(np.arange(120) < 12, 1 - y, y)
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, given)
    found = vd.debug(model.predict_proba, vd.Words(), texts, y=given, check=Labels(n_explained=40), method=METHOD)
    assert not found.passed
    assert set(found.rows) <= set(range(12))
    assert measures(found)["self-influence: AUROC"].value > 0.8


def test_a_blind_check_says_so() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.random.default_rng(1).integers(0, 2, 200)  # nothing to learn
    model = LogisticRegression().fit(X, y)
    found = vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check=Labels(n_explained=20), method=METHOD)
    assert found.passed
    assert "there was none either when labels of these" in found.sentence


def test_a_class_of_few_rows_does_no_harm() -> None:
    X, y, _ = two_gaussians(1, 0.0, n=120)
    y[:2] = 2
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    found = vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check=Labels(n_explained=20), method=METHOD)
    assert np.isfinite(found.observed)


def test_what_has_no_labels_is_refused() -> None:
    X, y, _ = two_gaussians(1, 0.0, n=60)
    model = LogisticRegression().fit(X, y)
    rows = vd.Rows(X)
    with pytest.raises(vd.errors.NotApplicable, match="give training="):
        vd.debug(model.predict_proba, rows, X, check="labels", method=METHOD)
    with pytest.raises(vd.errors.NotApplicable, match="at least 40 labeled rows"):
        vd.debug(model.predict_proba, rows, X[:20], y=y[:20], check="labels", method=METHOD)
    with pytest.raises(vd.errors.NotApplicable, match="60 different values"):
        vd.debug(lambda X: X[:, 0], rows, X, y=X[:, 0], check="labels", method=METHOD)
    with pytest.raises(vd.errors.NotApplicable, match="give classes="):
        vd.debug(lambda X: X[:, :3], rows, X, y=[str(v) for v in y], check="labels", method=METHOD)
    with pytest.raises(vd.errors.NotApplicable, match="one class per row"):
        vd.debug(model.predict_proba, rows, X, y=np.eye(2)[y], check="labels", method=METHOD)
    with pytest.raises(vd.errors.InputError, match="share of labels to flip"):
        Labels(share=0.7)
    with pytest.raises(vd.errors.InputError, match="n_folds must be a whole number"):
        Labels(n_folds=1)


def test_labels_that_the_model_does_not_know() -> None:
    X, y, _ = two_gaussians(0, 0.0, 80)
    model = LogisticRegression().fit(X, y)
    words = np.array(["no", "yes"])[y]
    given = {"check": "labels", "method": METHOD, "training": (X, words)}
    with pytest.raises(vd.errors.InputError, match="labels such as 'no' are none of the classes"):
        vd.debug(model.predict_proba, vd.Rows(X), X, **given)
    named = vd.debug(model.predict_proba, vd.Rows(X), X, **given, classes=["no", "yes"])
    own = vd.debug(model.predict_proba, vd.Rows(X), X, **(given | {"training": (X, y)}))
    assert named.sentence == own.sentence
