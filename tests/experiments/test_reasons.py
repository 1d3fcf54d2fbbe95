"""A cell of the experiment on reasons as tests, and what its table counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
if EXPERIMENTS not in sys.path:
    sys.path.insert(0, EXPERIMENTS)

import reasons  # noqa: E402 - it stands beside the package
import sections.reasons  # noqa: E402


def test_a_record_number_follows_the_answer_only_where_it_is_planted() -> None:
    plain, leaking, y = reasons.prepare("iris", 5)
    assert sorted(plain[reasons.LEAK]) == sorted(leaking[reasons.LEAK])
    assert abs(np.corrcoef(plain[reasons.LEAK], y)[0, 1]) < 0.3
    assert np.corrcoef(leaking[reasons.LEAK], y)[0, 1] > 0.9
    assert plain.drop(columns=reasons.LEAK).equals(leaking.drop(columns=reasons.LEAK))


def test_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forest on made rows: three other seeds pass, and the shortcut does not."""
    monkeypatch.setattr(reasons, "N_SHOWN", 20)
    monkeypatch.setitem(
        reasons.KINDS, "forest", (*reasons.KINDS["forest"][:2], {"n_estimators": 10, "max_depth": 4})
    )
    found = reasons.play("made", "forest", 1000)
    assert found["baseline_quiet"] == [False, False, False]
    assert found["baseline_leak"]
    assert found["not_on_leak"]
    assert not found["not_on_quiet"]
    assert found["fall"] > 0.2


def cell(**changes: Any) -> dict[str, Any]:
    known = {"model": "forest", "fall": 0.3, "baseline_leak": True, "not_on_leak": True, "not_on_quiet": False}
    return {**known, "likeness": [0.9, 0.2], "baseline_quiet": [False, True], **changes}


def test_only_models_with_the_same_reasons_count_as_false_alarms() -> None:
    assert sections.reasons.count_again([cell()], alike=True) == (1, 0)
    assert sections.reasons.count_again([cell()], alike=False) == (1, 1)
    assert sections.reasons.tables([cell()]).count("**no**") == 0
    assert sections.reasons.tables([cell(likeness=[0.9, 0.9])]).count("**no**") == 1
    assert sections.reasons.tables([cell(baseline_leak=False), cell()]).count("**no**") == 1
    assert sections.reasons.tables([cell(baseline_leak=False, fall=0.0), cell()]).count("**no**") == 0
