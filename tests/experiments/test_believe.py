"""Believability, fitted and judged: on explanations that are made up, and on one small model."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.groundtruth.causes import choose_aim
from veridical.groundtruth.trials import Case
from veridical.metrics.belief import FILLED, LEFT_OUT, SIGNS

pytest.importorskip("torch")

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import believe
    import calibration
    import sections.believe
finally:
    sys.path.remove(EXPERIMENTS)

KINDS = ("noise", "shape", "swap")


def made_up(seed: int, standin: str, kind: str, n: int = 60) -> dict[str, Any]:
    """A cell of explanations that are right as often as two of their signs say; the others say nothing."""
    rng = np.random.default_rng([seed, len(standin), len(kind)])
    signs = rng.random((n, len(SIGNS)))
    right = rng.random(n) < 1 / (1 + np.exp(3 - 6 * signs[:, 0] * signs[:, 3] - 3 * signs[:, 3]))
    rows = np.column_stack([right, signs])
    rows[: n // 2, -1] = np.nan  # no fidelity
    return {
        "standin": standin,
        "seed": seed,
        "kind": kind,
        "caused": n,
        "tried": n,
        "rows": {"Lime": rows.tolist()},
    }


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    names = ("digits", "pictures", "sentences", "loans")
    return [made_up(seed, name, kind) for name in names for seed in (0, 3) for kind in KINDS]


def test_a_fit_finds_the_signs_that_tell(cells: list[dict[str, Any]]) -> None:
    found = calibration.judged(cells)
    scale = calibration.fitted(found)
    slopes = np.array(list(scale.slopes.values()))
    assert (slopes >= 0).all()
    assert set(np.argsort(-slopes)[:2]) == {0, 3}
    chances = calibration.said(scale, found)
    assert calibration.area(found.right, chances) > 0.75
    np.testing.assert_allclose(chances.mean(), found.right.mean(), atol=0.02)


def test_what_is_judged_was_not_fitted_on(cells: list[dict[str, Any]]) -> None:
    found = calibration.judged(cells)
    score = calibration.unseen(found, (0,))
    assert np.isfinite(score).all()
    alone = calibration.judged([cell for cell in cells if cell["standin"] == "digits"])
    assert np.isnan(calibration.unseen(alone, (0,))).all()  # no other stand-in to fit on


def test_measures_of_scores() -> None:
    right, score = np.array([True, True, False, True]), np.array([0.9, 0.8, 0.7, 0.1])
    assert calibration.area(right, score) == pytest.approx(2 / 3)
    assert calibration.covered(right, score) == 0.5
    assert np.isnan(calibration.area(right[:2], score[:2]))
    first, last = calibration.binned(right, score, (0.0, 0.5, 1.0))
    assert (first["n"], first["was"], last["n"], last["said"]) == (1, 1.0, 3, pytest.approx(0.8))


def test_the_section_shows_all(cells: list[dict[str, Any]]) -> None:
    text = sections.believe.tables(cells)
    for said in ("AUROC of believability", "texts and tables", "swap", "Lime", "fidelity alone", "0.99 to 1"):
        assert said in text
    printed = calibration.literal(calibration.calibrated(cells))
    assert all(f'"{name}":' in printed for name in SIGNS)


def test_the_package_has_what_was_fitted() -> None:
    found = json.loads((Path(EXPERIMENTS) / "results" / "believe.json").read_text(encoding="utf-8"))["cells"]
    for networks, scale in ((True, FILLED), (False, LEFT_OUT)):
        seen = [c for c in found if (c["standin"] in believe.WHERE) == networks and c["seed"] in believe.SEEN]
        again = calibration.calibrated(seen)
        assert again.intercept == pytest.approx(scale.intercept, abs=0.02)
        assert again.slopes == pytest.approx(dict(scale.slopes), abs=0.02)


def test_one_small_model() -> None:
    def predict(pictures: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(2 - pictures[:, 2:4, 2:4].sum(axis=(1, 2))))

    X = np.random.default_rng(0).normal(0, 0.1, (3, 8, 8))
    represent = vd.Grid(4, 4, fill=vd.fills.WholeMean())
    aim = choose_aim(predict, represent, X)
    changed = X[0].copy()
    changed[2:4, 2:4] += 2.0
    cause = vd.edits.NoisyParts(1, 0.7)(aim, np.random.SeedSequence(0))[0]
    guilty = np.arange(16) == 5
    seed = np.random.SeedSequence(0)
    made = replace(cause, x=X[0], changed=changed, parts=guilty, wanted=1, label=0, success=True)
    case = Case.of(made, represent, (aim.model, aim.decision), seed)
    found = dict(believe.judged(case))
    assert set(found) == set(believe.METHODS)
    assert all(len(row) == 1 + len(SIGNS) for row in found.values())
    assert found["Occlusion"][0] == 1.0
    assert found["Occlusion"][1] == 1.0  # all ways agree


def test_cells_are_planned() -> None:
    settings = believe.arguments().parse_args(["--seeds", "0", "--standins", "digits", "sentences"])
    kinds = [cell["kind"] for cell in believe.plan(settings)]
    assert kinds == [*believe.GUILTY, "one word swapped", "three words swapped"]
    with pytest.raises(SystemExit, match="believe: wanted"):
        believe.main(settings)
