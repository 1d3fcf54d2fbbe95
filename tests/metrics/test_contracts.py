"""Every metric tells an explanation that is right from those that know nothing, and in the right direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.metric_cases import COEFFICIENTS, linear, trial_of
from veridical.metrics import METRICS

TRUE = np.array(COEFFICIENTS)
SERIES = np.array([3.0, -2.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
OTHER = np.array([0.3, 0.0, 0.7, 3.0, -1.0, 0.0, 2.0, 0.4])
NULLS = {"random", "constant", "shuffled right"}
BEATEN = {
    **dict.fromkeys(METRICS, NULLS),
    **dict.fromkeys(("seeds", "sizes", "max_sensitivity", "nearby_ranks"), NULLS - {"constant"}),
    **dict.fromkeys(("size", "entropy", "sparseness"), NULLS - {"shuffled right"}),
    "randomization": {"constant"},
}  # nothing is steadier than what never changes, nothing less like anything than what is random


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def measure(name: str, weights: Any, predict: Callable[[Any], Any] = linear, **more: Any) -> float:
    trial = trial_of(predict, len(weights), weights)
    return METRICS[name].measure(replace(trial, **more), rng())


def weighing(coefficients: np.ndarray) -> Callable[[Any], np.ndarray]:
    """A model of series of 40 steps: a sum of the means of eight windows."""
    return lambda x: np.asarray(x, float).reshape(len(x), 8, 5).mean(axis=2) @ coefficients


@dataclass(frozen=True)
class Wrong:
    """A saboteur: the right weights on other parts, and noise that the seed changes."""

    n_samples: int = 100

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        right = vd.Occlusion()(model, representation, targets, seed)
        draws = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 99)))
        return tuple(replace(e, weights=np.roll(e.weights, 4) + draws.normal(0, 2, 8)) for e in right)


@dataclass(frozen=True)
class Blind:
    """A saboteur that never looks at the model."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        right = vd.Occlusion()(model, representation, targets, seed)
        return tuple(replace(e, weights=np.arange(8.0)) for e in right)


@pytest.fixture(scope="module")
def report() -> vd.metrics.Report:
    X = 1 + 0.3 * np.random.default_rng(1).random((24, 40))
    return vd.evaluate(
        weighing(SERIES),
        vd.Windows(8, fill=vd.fills.Constant(0.0)),
        list(X),
        methods={"right": vd.Occlusion(), "wrong": Wrong(), "blind": Blind()},
        truth=[np.abs(SERIES) > 0.9] * 24,
        randomized=weighing(OTHER),
    )


def test_all_metrics_are_there(report: vd.metrics.Report) -> None:
    assert [m.name for m in report.metrics] == list(METRICS)
    assert all(np.isfinite(report.score(m, "right").mean) for m in METRICS)
    assert len(METRICS) == len(BEATEN) == 22
    for metric in METRICS.values():
        assert metric.sentence.endswith(".")
        assert metric.family in {"fidelity", "removal", "stability", "complexity", "truth", "randomization"}


@pytest.mark.parametrize("name", METRICS)
def test_what_is_right_beats_what_knows_nothing(report: vd.metrics.Report, name: str) -> None:
    for null in BEATEN[name]:
        assert report.beats(name, "right", null), (null, report.score(name, "right"), report.score(name, null))


@pytest.mark.parametrize("name", METRICS)
def test_what_is_right_beats_a_saboteur(report: vd.metrics.Report, name: str) -> None:
    assert report.beats(name, "right", "blind" if name == "randomization" else "wrong")


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_in_the_wrong_direction_is_caught(report: vd.metrics.Report, name: str) -> None:
    metric = METRICS[name]
    turned = replace(metric, better="lower" if metric.better == "higher" else "higher")
    other = replace(report, metrics=(turned,))
    assert not any(other.beats(name, "right", null) for null in BEATEN[name])


@pytest.mark.parametrize("name", ["correlation", "faithfulness_correlation"])
def test_correlations_do_not_depend_on_the_unit(name: str) -> None:
    assert measure(name, TRUE) == pytest.approx(1)
    assert measure(name, 7 * TRUE) == pytest.approx(1)
    assert measure(name, -TRUE) == pytest.approx(-1)
    assert measure(name, np.zeros(8)) == 0


def test_fidelity_is_a_share_of_variance() -> None:
    assert measure("fidelity", TRUE) == pytest.approx(1)
    trial = trial_of(linear, 8, TRUE)
    fresh = trial.scene.sample_fresh()
    y, w = fresh.outputs, fresh.weights
    flat = replace(trial.explanation, weights=np.zeros(8), intercept=float(w @ y / w.sum()))
    assert METRICS["fidelity"].measure(replace(trial, explanation=flat), rng()) == pytest.approx(0)
    twice = replace(trial.explanation, weights=2 * TRUE)
    assert METRICS["fidelity"].measure(replace(trial, explanation=twice), rng()) < 0


def test_infidelity() -> None:
    assert measure("infidelity", TRUE) == pytest.approx(0, abs=1e-12)
    assert measure("infidelity", 5 * TRUE) == pytest.approx(0, abs=1e-12)
    assert measure("infidelity", -TRUE) == 1
    assert measure("infidelity", np.zeros(8)) == 1


def test_curves_of_one_part_that_matters() -> None:
    """Of four parts one is all: 1, 0, 0, 0, 0 as they go, an eighth; 0, 1, 1, 1, 1 as they come."""
    one = np.array([1.0, 0, 0, 0])

    def first(masks: Any) -> Any:
        return np.asarray(masks)[:, 0].astype(float)

    assert measure("deletion", one, first) == pytest.approx(1 / 8)
    assert measure("insertion", one, first) == pytest.approx(7 / 8)
    assert measure("deletion", -one, first) == pytest.approx(7 / 8)
    assert measure("insertion", -one, first) == pytest.approx(1 / 8)


def test_curves_of_parts_that_are_all_alike() -> None:
    for name in ("deletion", "insertion"):
        assert measure(name, np.arange(6.0), lambda m: np.asarray(m).sum(axis=1)) == pytest.approx(0.5)


def test_long_curves_have_few_steps() -> None:
    """Of 1,000 parts, 33 points: the area of a straight line all the same."""
    trial = trial_of(lambda m: np.asarray(m, float).mean(axis=1), 1000, np.arange(1000.0))
    wanted = METRICS["deletion"].measure.plan_masks(trial, rng())
    assert wanted.kept.shape == (33, 1000)
    assert METRICS["deletion"].measure(trial, rng()) == pytest.approx(0.5, abs=0.01)


def test_top_parts_alone_and_without_them() -> None:
    """Eight parts of which one is all: 1, 2 and 4 of them are 5, 10, 20 and 50 %, rounded up."""

    def first(masks: Any) -> Any:
        return np.asarray(masks)[:, 0].astype(float)

    one = np.eye(8)[0]
    assert measure("comprehensiveness", one, first) == 1
    assert measure("comprehensiveness", -one, first) == 0
    assert measure("sufficiency", one, first) == 0
    assert measure("sufficiency", -one, first) == 1


def test_monotonicity() -> None:
    weights = np.array([4.0, -3, 2, 1])
    game = trial_of(lambda m: np.asarray(m, float) @ weights, 4, weights)
    assert METRICS["monotonicity"].measure(game, rng()) == pytest.approx(1)
    assert measure("monotonicity", np.array([1.0, 2, 3, 4]), lambda m: np.asarray(m) @ weights) == pytest.approx(
        -1
    )
    assert measure("monotonicity", np.ones(4), lambda m: np.asarray(m) @ weights) == 0


def test_monotonicity_of_very_many_parts_looks_at_some() -> None:
    weights = np.arange(1.0, 2001)
    trial = trial_of(lambda m: np.asarray(m, float) @ weights, 2000, weights)
    assert METRICS["monotonicity"].measure.plan_masks(trial, rng()).kept.shape == (513, 2000)
    assert METRICS["monotonicity"].measure(trial, rng()) == pytest.approx(1)


def test_a_trial_of_ones_own_needs_no_scene() -> None:
    trial = replace(trial_of(linear, 8, TRUE), scene=None)
    for name in ("fidelity", "deletion", "infidelity"):
        again = [METRICS[name].measure(trial, rng()) for _ in range(2)]
        assert again[0] == again[1]


def test_seeds_and_sizes_are_cosines() -> None:
    right = trial_of(linear, 8, TRUE)
    for factor, wanted in ((2.0, 1.0), (-1.0, -1.0)):
        other = replace(right.explanation, weights=factor * TRUE)
        again = replace(right, explain=lambda r, s, o=other: o, again=lambda r, s, o=other: o)
        assert METRICS["seeds"].measure(again, rng()) == pytest.approx(wanted)
        assert METRICS["sizes"].measure(again, rng()) == pytest.approx(wanted)
    with pytest.raises(vd.errors.InputError, match="no number of samples"):
        METRICS["sizes"].measure(right, rng())


def test_complexity() -> None:
    even, one = np.full(8, -0.5), 3 * np.eye(8)[2]
    assert measure("size", even) == 8
    assert measure("size", one) == 1
    assert measure("size", np.zeros(8)) == 0
    assert measure("entropy", even) == pytest.approx(np.log(8))
    assert measure("entropy", one) == 0
    assert measure("sparseness", even) == pytest.approx(0)
    assert measure("sparseness", one) == pytest.approx(7 / 8)


def test_truth() -> None:
    truth = np.array([1.0, 1, 0, 0, 0, 0, 0.25, 0])
    weights = np.array([3.0, 0, -2, 0, 0, 0, 1, 0])
    assert measure("recall", weights, truth=truth) == 0.5
    assert measure("precision", weights, truth=truth) == 0.5
    assert measure("pointing", weights, truth=truth) == 1
    assert measure("pointing", -weights[::-1], truth=truth) == 0
    assert measure("mass", weights, truth=truth) == pytest.approx((3 + 0.25) / 6)
    assert measure("recall", TRUE, truth=np.abs(TRUE)) == 1


def test_ties_are_broken_at_random() -> None:
    """A constant explanation must not win because the truth stands first."""
    truth = np.eye(8)[0]
    hits = [
        METRICS["pointing"].measure(
            replace(trial_of(linear, 8, np.ones(8)), truth=truth), np.random.default_rng(i)
        )
        for i in range(200)
    ]
    assert abs(np.mean(hits) - 1 / 8) < 4 * np.sqrt(7 / 64 / 200)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("recall", "no truth"),
        ("mass", "no truth"),
        ("randomization", "no randomized model"),
        ("entropy", "empty"),
        ("sparseness", "empty"),
        ("seeds", "empty"),
    ],
)
def test_what_cannot_be_measured_says_why(name: str, why: str) -> None:
    with pytest.raises(vd.errors.InputError, match=why):
        measure(name, np.zeros(8))


@pytest.mark.parametrize("name", [m.name for m in METRICS.values() if m.family in ("fidelity", "removal")])
def test_a_model_that_never_moves_says_so(name: str) -> None:
    def flat(masks: Any) -> Any:
        rounding = np.random.default_rng(0).choice([0, 1e-16], len(masks))
        return np.full(len(masks), 0.5) + rounding

    if name in ("comprehensiveness", "sufficiency"):
        assert abs(measure(name, TRUE, flat)) < 1e-15
        return
    with pytest.raises(vd.errors.InputError, match=r"does not change|by the same"):
        measure(name, TRUE, flat)
