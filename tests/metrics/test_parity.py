"""Where Quantus or captum has the same metric, ours gives their number: on one explanation, on the same masks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.metric_cases import trial_of
from tests.builders.metric_game import TRUTH, WEIGHTS, D, play
from veridical.metrics import METRICS
from veridical.metrics.faithfulness import (
    area_under_curve,
    deletion_masks,
    faithfulness,
    infidelity,
    rank_agreement,
    remove_each,
)
from veridical.metrics.weights import rank_correlation
from veridical.toys import Game

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "parity.json").read_text())
SINGLE = 1e-6  # Quantus asks in single precision


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def kept(gone: np.ndarray) -> np.ndarray:
    return np.vstack([np.ones((1, D), bool), ~gone])


def test_faithfulness_correlation_is_that_of_quantus() -> None:
    gone = np.zeros((100, D), bool)
    for row, parts in zip(gone, RECORDED["faithfulness_correlation"]["gone"], strict=True):
        row[parts] = True
    assert (gone.sum(axis=1) == round(D / 4)).all()
    found = faithfulness(WEIGHTS, kept(gone), play(kept(gone)))
    assert found == pytest.approx(RECORDED["faithfulness_correlation"]["value"], abs=SINGLE)
    assert faithfulness(WEIGHTS[::-1], kept(gone), play(kept(gone))) < 0.5  # the comparison has teeth


def test_infidelity_is_that_of_captum_as_a_share() -> None:
    gone = np.array(RECORDED["infidelity"]["gone"], bool)
    outputs = play(kept(gone))
    drops = outputs[0] - outputs[1:]
    found = infidelity(WEIGHTS, kept(gone), outputs) * np.mean(drops**2)
    assert found == pytest.approx(RECORDED["infidelity"]["value"], rel=1e-6)


def test_max_sensitivity_is_that_of_captum() -> None:
    case, trial = RECORDED["max_sensitivity"], trial_of(play, D, WEIGHTS)
    near = [np.array(each) for each in case["near"]]
    scene = replace(trial.scene, answers={"nearby": list(range(len(near)))})
    explanations = [replace(trial.explanation, weights=each) for each in near]
    trial = replace(trial, scene=scene, explain=lambda which, seed: explanations[which])
    np.testing.assert_allclose(trial.explanation.weights, case["own"])
    assert METRICS["max_sensitivity"].measure(trial, rng()) == pytest.approx(case["value"], rel=1e-9)


def test_deletion_is_the_curve_of_pixel_flipping() -> None:
    masks = deletion_masks(WEIGHTS, rng())
    np.testing.assert_allclose(play(masks)[1:], RECORDED["pixel_flipping"], atol=SINGLE)
    curve = np.append(play(np.ones((1, D))), RECORDED["pixel_flipping"])
    wanted = np.sum((curve[1:] + curve[:-1]) / 2) / D
    assert area_under_curve(WEIGHTS, masks, play(masks)) == pytest.approx(wanted, abs=SINGLE)


def test_monotonicity_is_that_of_quantus() -> None:
    masks = remove_each(WEIGHTS, rng())
    found = rank_agreement(WEIGHTS, masks, play(masks))
    assert found == pytest.approx(RECORDED["monotonicity_correlation"], abs=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs", "within"),
    [
        ("entropy", "complexity", 1e-9),
        ("sparseness", "sparseness", 1e-6),  # theirs adds 1e-8 to each weight
        ("size", "effective_complexity", 0),
        ("pointing", "pointing_game", 0),
        ("precision", "relevance_rank_accuracy", 1e-9),
        ("mass", "relevance_mass_accuracy", 1e-9),
    ],
)
def test_what_is_read_off_the_weights_is_that_of_quantus(ours: str, theirs: str, within: float) -> None:
    trial = replace(trial_of(play, D, WEIGHTS), truth=TRUTH.astype(float))
    assert METRICS[ours].measure(trial, rng()) == pytest.approx(RECORDED[theirs], abs=within)


def test_rank_correlation_is_that_of_quantus() -> None:
    found = rank_correlation(np.abs(WEIGHTS), np.abs(WEIGHTS[::-1] + 0.1))
    assert found == pytest.approx(RECORDED["correlation_spearman"], abs=1e-9)


def test_the_game_is_worth_comparing_on() -> None:
    why = vd.explain(play, Game(), D)
    assert np.corrcoef(why.weights, WEIGHTS)[0, 1] > 0.9
