"""Explanations of broken models and networks differ: sound methods pass, those that ignore the model do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_diabetes, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import veridical as vd
from veridical.checks.randomization import (
    PERMUTED_COLUMNS,
    PERMUTED_LABELS,
    UNTRAINED_TWIN,
    Depths,
    crossed_interval,
    list_layers,
    make_layer_twins,
    make_twins,
    reinitialize_layers,
)

WINE = load_wine(return_X_y=True)
LIME = vd.Lime(n_samples=256)


@dataclass(frozen=True)
class Ignoring:
    """A saboteur: its weights are those of the instance alone, whatever the model says."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        found = vd.Occlusion(n_draws=2)(model, representation, targets, seed)
        own = [sum(part.name.encode()) % 97 - 48.0 for part in representation.parts]
        return tuple(replace(each, weights=np.array(own)) for each in found)


def models() -> dict[str, Any]:
    X, y = make_classification(600, 8, n_informative=4, random_state=1)
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(*WINE)
    return {
        "linear": (linear.predict_proba, *WINE),
        "forest": (RandomForestClassifier(8, random_state=0).fit(X, y).predict_proba, X, y),
        "regression": (Ridge().fit(*load_diabetes(return_X_y=True)).predict, *load_diabetes(return_X_y=True)),
    }


@pytest.mark.parametrize(
    ("name", "method"),
    [("linear", LIME), ("forest", vd.Occlusion(n_draws=16)), ("regression", LIME)],
    ids=["linear", "forest", "regression"],
)
def test_sound_methods_pass(name: str, method: Any) -> None:
    predict, X, y = models()[name]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=method)
    assert found.passed, found.sentence
    assert abs(found.observed) < 0.5
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    assert {m.name.partition(":")[0] for m in found.measures} == {
        PERMUTED_LABELS,
        PERMUTED_COLUMNS,
        UNTRAINED_TWIN,
    }
    assert len(found.evidence) == 6


def test_what_ignores_the_model_fails() -> None:
    predict, X, y = models()["linear"]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=Ignoring())
    assert not found.passed
    assert found.observed == pytest.approx(1.0)
    assert found.interval[0] > found.expected
    assert "hardly notice" in found.sentence


def test_what_says_anything_fails() -> None:
    """Random explanations change with the model, and without it."""
    predict, X, y = models()["linear"]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=vd.baselines.RandomParts())
    assert not found.passed
    assert "made again" in found.sentence


def test_texts() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    texts = [" ".join(rng.choice(words, 12, replace=False)) for _ in range(200)]
    y = np.array([("w1 " in t + " ") + ("w2 " in t + " ") - ("w3 " in t + " ") > 0 for t in texts]).astype(int)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    found = vd.debug(model.predict_proba, vd.Words(), texts, y=y, check="randomize", method=LIME)
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {PERMUTED_LABELS, UNTRAINED_TWIN}
    assert not vd.debug(model.predict_proba, vd.Words(), texts, y=y, check="randomize", method=Ignoring()).passed


def test_a_table_needs_no_training() -> None:
    """Columns in the place of others are a broken twin of any model, on a frame with texts, too."""
    X, _ = WINE
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(kind=["a", "b"] * 89)

    def predict(X: Any) -> Any:
        return X["c0"] - 2 * X["c6"] + (X["kind"] == "a") * 0.1

    found = vd.debug(predict, vd.Rows(table), table, check="randomize", method=LIME)
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {PERMUTED_COLUMNS}


def test_twins_know_nothing() -> None:
    X, y = WINE
    subject = vd.Subject(models()["linear"][0], vd.Rows(X), X, y)
    made = list(make_twins(subject, np.random.SeedSequence(0), 2))
    assert [t.name for t in made] == [PERMUTED_LABELS, UNTRAINED_TWIN, PERMUTED_COLUMNS] * 2
    for twin in made:
        outputs = twin.make()(X)
        assert (outputs.argmax(axis=1) == y).mean() < 0.8
        assert outputs.shape == (178, 3)


def test_a_check_says_what_it_misses() -> None:
    texts = ["some words here"] * 12
    with pytest.raises(vd.errors.NotApplicable, match="give train=…"):
        vd.debug(lambda t: [float(len(x)) for x in t], vd.Words(), texts, check="randomize", method=LIME)
    X, y = WINE
    with pytest.raises(vd.errors.NotApplicable, match="most explanations are empty"):
        vd.debug(lambda x: np.ones(len(x)), vd.Rows(X), X, y=y, check="randomize", method=LIME)
    with pytest.raises(vd.errors.NotApplicable, match="fewer than 3 features"):
        vd.debug(lambda x: x[:, 0], vd.Rows(X[:, :2]), X[:, :2], check="randomize", method=LIME)


def test_an_interval_over_models_and_instances_covers_both() -> None:
    """Values with an effect of the model and one of the instance: the interval covers zero as often as it says."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        values = rng.normal(size=(3, 1)) + rng.normal(size=(1, 20)) + rng.normal(size=(3, 20))
        _, low, high = crossed_interval(values)
        covered.append(low <= 0 <= high)
    assert np.mean(covered) > 0.92


# Networks broken layer by layer: gradients notice, guided backpropagation does not (Adebayo et al. 2018).


torch.set_num_threads(1)


def pictures(n: int) -> Any:
    noise = np.random.default_rng(0).normal(size=(n, 20, 20, 1))
    return (5 * gaussian_filter(noise, (0, 2, 2, 0))).astype(np.float32)


def channels_first(batch: Any) -> Any:
    return torch.as_tensor(np.stack([np.asarray(x) for x in batch])).permute(0, 3, 1, 2)


def network() -> vd.Network:
    """Untrained: the invariance is a property of the backward rule, not of what was learned."""
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for i, (before, after) in enumerate([(1, 16), (16, 16), (16, 32), (32, 32)]):
        parts += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
        parts += [nn.MaxPool2d(2)] if i % 2 else []
    module = nn.Sequential(*parts, nn.Flatten(), nn.Linear(32 * 25, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    for part in module.modules():
        if isinstance(part, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(part.weight)
            nn.init.zeros_(part.bias)
    return vd.Network(module, prepare=channels_first)


@pytest.mark.parametrize(
    ("method", "passes"),
    [
        (vd.gradients.Gradient(), True),
        (vd.gradients.InputXGradient(), True),
        (vd.gradients.GuidedBackprop(), False),
        (vd.gradients.DeconvNet(), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_cascade(method: Any, passes: bool) -> None:
    net, X = network(), pictures(12)
    before = {name: value.clone() for name, value in net.module.state_dict().items()}
    found = vd.debug(net, vd.Grid(4, 4), X, check="randomize", method=method)
    assert found.passed == passes, found.sentence
    names = {m.name for m in found.measures}
    assert {
        "down to 13: likeness left",
        "down to 0: likeness left",
        "only 0: SSIM, signed",
        "down to 0: Spearman, sizes",
    } <= names
    down = next(m for m in found.measures if m.name == "down to 13: Spearman of pixels, signed")
    assert (down.value > 0.6) != passes
    assert set(down.nulls) == {"constant", "noise", "shuffled", "another"}
    assert all((net.module.state_dict()[name] == value).all() for name, value in before.items())
    assert not any(part._forward_pre_hooks or part._forward_hooks for part in net.module.modules())


def test_methods_that_only_predict_take_fewer_steps() -> None:
    found = vd.debug(network(), vd.Grid(3, 3), pictures(10), check="randomize", method=vd.Occlusion())
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {"down to 13", "down to 0"}


class Residual(nn.Module):
    """The layers are defined in another order than they answer in; one has numbers without an initializer."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(6, 2)
        self.first = nn.Linear(5, 6)
        self.norm = nn.BatchNorm1d(6)
        self.scale = nn.Parameter(torch.arange(6.0))

    def forward(self, x: Any) -> Any:
        hidden = self.norm(self.first(x))
        return self.last(hidden + torch.relu(hidden) * self.scale)


def test_layers_are_in_the_order_they_answer_in() -> None:
    net = vd.Network(Residual().eval())
    assert list_layers(net, np.zeros((1, 5))) == ("last", "norm", "first", "")


def test_reinitializing_changes_the_named_layers_alone() -> None:
    torch.manual_seed(1)
    module = Residual().eval()
    module.norm.running_mean += 3.0
    state = torch.random.get_rng_state()
    net = vd.Network(module)
    one, more = reinitialize_layers(net, ["last"], 5), reinitialize_layers(net, ["last", "norm", ""], 5)
    assert (torch.random.get_rng_state() == state).all()
    assert (one.module.last.weight != module.last.weight).all()
    assert (one.module.last.weight == more.module.last.weight).all()  # each step keeps those before it
    assert (one.module.first.weight == module.first.weight).all()
    assert (more.module.norm.running_mean == 0).all()
    assert (module.norm.running_mean == 3).all()
    assert sorted(more.module.scale.tolist()) == sorted(module.scale.tolist())
    assert not more.module.training


def test_a_network_without_layers() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4))
    subject = vd.Subject(nn.Flatten(), vd.Rows(X), X)
    with pytest.raises(vd.errors.NotApplicable, match="no layer"):
        next(make_layer_twins(subject, Depths(), np.random.SeedSequence(0), 1))
