"""The contracts, run on every representation and method, and seen to fail on a saboteur each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import contracts
import veridical as vd
from veridical.records import Explanation, Sample

RNG = np.random.default_rng(0)
N = 120
NUMBERS = RNG.normal(size=(N, 4))
WHOLE = RNG.integers(0, 40, (N, 3))
SPARSE = csr_matrix(np.where(RNG.random((N, 12)) < 0.5, RNG.normal(size=(N, 12)), 0.0))
MIXED = pd.DataFrame(
    {
        "amount": NUMBERS[:, 0],
        "share": NUMBERS[:, 1].astype(np.float32),
        "count": RNG.integers(0, 40, N),
        "member": RNG.random(N) < 0.5,
        "city": RNG.choice(["Bern", "Oslo", "Paris"], N),
        "grade": pd.Categorical(RNG.choice(["low", "high"], N), ["low", "high"], ordered=True),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "lag": pd.to_timedelta(RNG.integers(0, 900, N), "h"),
        "income": np.where(RNG.random(N) < 0.2, np.nan, NUMBERS[:, 2]),
    }
)
HOT = pd.get_dummies(MIXED[["amount", "city"]], columns=["city"])
FLOATS = MIXED[["amount", "income"]].fillna(0.0)

BACKGROUNDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "array": (NUMBERS, {}),
    "array of float32": (NUMBERS.astype(np.float32), {}),
    "array of whole numbers": (WHOLE, {}),
    "array, continuous": (NUMBERS, {"discretize": vd.Continuous()}),
    "array, one immutable": (NUMBERS, {"immutable": [1]}),
    "frame of floats": (FLOATS, {}),
    "frame of floats, deciles": (FLOATS, {"discretize": vd.Deciles()}),
    "frame of floats, edges": (FLOATS, {"discretize": vd.Edges({"amount": [-0.5, 0.0, 0.7]})}),
    "frame of floats, entropy": (FLOATS, {"discretize": vd.Entropy(MIXED["member"].to_numpy())}),
    "frame of floats, continuous": (FLOATS, {"discretize": vd.Continuous()}),
    "frame of floats, continuous in a range": (
        FLOATS,
        {"discretize": vd.Continuous(), "ranges": {"amount": (-5.0, 5.0)}},
    ),
    "mixed frame": (MIXED, {}),
    "mixed frame, continuous": (MIXED, {"discretize": vd.Continuous()}),
    "mixed frame, one immutable": (MIXED, {"immutable": ["city"]}),
    "categories only": (MIXED[["member", "city", "grade"]], {}),
    "one-hot group": (HOT, {"onehot": {"city": ["city_Bern", "city_Oslo", "city_Paris"]}}),
    "sparse": (SPARSE, {}),
}


def row_of(table: Any, i: int) -> Any:
    return table.iloc[[i]] if isinstance(table, pd.DataFrame) else table[i : i + 1]


@pytest.mark.parametrize("name", BACKGROUNDS)
@pytest.mark.parametrize("i", [0, 17])
def test_representations_keep_their_promises(name: str, i: int) -> None:
    background, settings = BACKGROUNDS[name]
    instance = row_of(background, i)
    contracts.check_representation(lambda: vd.Rows(background, **settings)(instance), instance, background)


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_representations_of_many_rows_keep_their_promises(name: str) -> None:
    background, settings = BACKGROUNDS[name]
    instances = vd.Rows(background, **settings).each(background[:5])
    assert len(instances) == 5
    for i, representation in enumerate(instances.batch(0, 5)):
        contracts.restores_the_instance(representation, row_of(background, i))
        contracts.names_are_unique(representation)
        contracts.numbers_are_sound(representation)


class Saboteur:
    """An honest representation but for what a subclass breaks."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest
        self.drawn = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, seed, start, stop)

    def realize(self, sample: Sample) -> Any:
        return self.honest.realize(sample)


class MovesTheInstance(Saboteur):
    def realize(self, sample: Sample) -> Any:
        inputs = self.honest.realize(sample).copy()
        inputs[0, 0] += 1e-12
        return inputs


class CountsTheInstance(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        return replace(sample, weights=np.append(1.0, sample.weights[1:]))


class IgnoresAPart(Saboteur):
    """Like lime's last segment when labels start at 1: it is in the designs but never hidden."""

    def realize(self, sample: Sample) -> Any:
        inputs = self.honest.realize(sample).copy()
        inputs[:, 2] = inputs[0, 2]
        return inputs


class NeverVariesAPart(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = sample.designs.copy()
        designs[:, 1] = 1
        return replace(sample, designs=designs)


class RepeatsAName(Saboteur):
    @property
    def parts(self) -> Any:
        first, _, *rest = self.honest.parts
        return (first, first, *rest)

    @property
    def names(self) -> Any:
        return tuple(part.name for part in self.parts)


class RemembersDraws(Saboteur):
    """Like the lime package: its generator lives on the object and advances between calls."""

    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        self.drawn += 1
        return self.honest.draw(kernel, np.random.SeedSequence(self.drawn), start, stop)


class IgnoresTheSeed(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, np.random.SeedSequence(0), start, stop)


class StartsOver(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, 0, stop - start)
        if not start:
            return sample
        return replace(sample, designs=sample.designs[1:], weights=sample.weights[1:])


class ReseedsEachPiece(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, np.random.SeedSequence(seed.entropy + start), start, stop)


class AlwaysWithInstance(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = np.vstack([np.ones(sample.designs.shape[1]), sample.designs])
        return replace(sample, designs=designs, weights=np.append(0.0, sample.weights)) if start else sample


class WeighsByMinusOne(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        return replace(sample, weights=-sample.weights)


class DesignsWithNan(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = sample.designs.copy()
        designs[5, 0] = np.nan
        return replace(sample, designs=designs)


class LosesAnInput(Saboteur):
    def realize(self, sample: Sample) -> Any:
        return self.honest.realize(sample)[:-1]


def honest() -> Any:
    return vd.Rows(NUMBERS)(NUMBERS[:1])


@pytest.mark.parametrize(
    ("saboteur", "contract"),
    [
        (MovesTheInstance, lambda r: contracts.restores_the_instance(r, NUMBERS[:1])),
        (CountsTheInstance, lambda r: contracts.restores_the_instance(r, NUMBERS[:1])),
        (IgnoresAPart, contracts.every_part_matters),
        (NeverVariesAPart, contracts.every_part_matters),
        (RepeatsAName, contracts.names_are_unique),
        (RemembersDraws, contracts.is_pure_in_the_seed),
        (IgnoresTheSeed, contracts.is_pure_in_the_seed),
        (StartsOver, contracts.grows_without_repeating),
        (ReseedsEachPiece, contracts.grows_without_repeating),
        (AlwaysWithInstance, contracts.grows_without_repeating),
        (WeighsByMinusOne, contracts.numbers_are_sound),
        (DesignsWithNan, contracts.numbers_are_sound),
        (LosesAnInput, contracts.numbers_are_sound),
    ],
)
def test_a_broken_representation_is_caught(saboteur: Any, contract: Any) -> None:
    contract(honest())
    with pytest.raises(AssertionError):
        contract(saboteur(honest()))


def test_a_representer_that_changes_its_background_is_caught() -> None:
    background = NUMBERS.copy()

    def build() -> Any:
        background[:] -= background.mean(axis=0)
        return vd.Rows(background)(background[:1])

    with pytest.raises(AssertionError):
        contracts.leaves_arguments_alone(build, background)


# Methods ---------------------------------------------------------------------------------------------------

METHODS: dict[str, Any] = {
    "default": vd.Lime(),
    "fixed": vd.Lime(n_samples=300),
    "few parts": vd.Lime(n_samples=300, n_features=2),
    "forward": vd.Lime(n_samples=300, n_features=2, select=vd.forward_selection),
    "lasso": vd.Lime(n_samples=300, n_features=2, select=vd.lasso_path),
    "narrow": vd.Lime(n_samples=300, width=0.2),
    "own kernel": vd.Lime(n_samples=300, kernel=lambda distances: 1 / (1 + distances)),
    "ridge": vd.Lime(n_samples=300, surrogate=vd.Linear(ridge=1.0)),
    "tree": vd.Lime(n_samples=300, surrogate=vd.Tree()),
    "paper": vd.Lime.paper(n_features=2),
    "experiments": vd.Lime.experiments(n_features=2),
    "package": vd.Lime.package(n_features=2),
}
TABLES = (
    "array",
    "array, continuous",
    "frame of floats",
    "mixed frame",
    "categories only",
    "one-hot group",
    "sparse",
)


def saturating(X: Any) -> Any:
    """Two outputs of any table of numbers, with interactions."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    if isinstance(X, pd.DataFrame):
        X = np.stack([X[c] if X[c].dtype == float else X[c].astype(str).str.len() for c in X], axis=1)
    X = np.nan_to_num(np.asarray(X, dtype=float))
    score = np.tanh(X[:, 0] + 0.5 * X[:, 1] - 0.3 * X[:, -1] * X[:, 0])
    return np.stack([(1 - score) / 2, (1 + score) / 2], axis=1)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("table", TABLES)
def test_methods_keep_their_promises(name: str, table: str) -> None:
    background, settings = BACKGROUNDS[table]
    instance = row_of(background, 3)
    contracts.check_method(METHODS[name], saturating, vd.Rows(background, **settings), instance)


@dataclass(frozen=True)
class Broken:
    """A method that changes one thing of an honest explanation."""

    change: Any

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> tuple[Explanation, ...]:
        honest = vd.Lime(n_samples=300)(model, representation, targets, seed)
        return tuple(replace(why, **self.change(why)) for why in honest)


@pytest.mark.parametrize(
    "change",
    [
        lambda why: {"weights": why.weights[:-1]},
        lambda why: {"weights": why.weights * np.nan},
        lambda why: {"intervals": why.intervals[:, ::-1]},
        lambda why: {"intervals": why.intervals + 1.0},
        lambda why: {"n_calls": why.n_calls - 1},
        lambda why: {"prediction": why.local_prediction},
        lambda why: {"weights": why.weights + 1e-9 * np.random.default_rng().normal(size=len(why.weights))},
    ],
    ids=[
        "short",
        "nan",
        "reversed",
        "shifted",
        "forgets the instance",
        "prediction of the surrogate",
        "unseeded",
    ],
)
def test_a_broken_method_is_caught(change: Any) -> None:
    with pytest.raises(AssertionError):
        contracts.check_method(Broken(change), saturating, vd.Rows(NUMBERS), NUMBERS[:1])


def test_every_registered_setting_can_be_described_and_restored() -> None:
    from veridical.attribute.lime import SETTINGS
    from veridical.attribute.recipe import describe, restore

    for method in METHODS.values():
        if method.kernel is None:
            assert restore(describe(method), SETTINGS) == method
