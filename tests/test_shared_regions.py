"""Reliance on a region that all instances share: what is put in must not be what was there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd

N, SIDE = 10, 16
MARK = np.zeros((SIDE, SIDE), bool)
MARK[:4, :4] = True


def stamped(mark: Any) -> Any:
    """Pictures that all have the same in one corner."""
    X = np.random.default_rng(0).random((N, SIDE, SIDE))
    X[:, :4, :4] = mark
    return X


def looks_at_the_mark(X: Any) -> Any:
    return np.asarray(X, dtype=np.float64)[:, :4, :4].mean(axis=(1, 2)) ** 2


def relied(X: Any, fill: Any, model: Any = looks_at_the_mark) -> vd.Verdict:
    grid = vd.Grid(4, 4) if fill is None else vd.Grid(4, 4, fill=fill)
    return vd.debug(model, grid, X, check="reliance", method=vd.Occlusion(), region=MARK)


def test_a_watermark_that_all_share_is_replaced_by_the_fill() -> None:
    found = relied(stamped(1.0), None)  # a white square: its own mean, too
    assert not found.passed
    assert "relies on this region, and the explanation shows it" in found.sentence
    assert any("In 10 of 10 instances, other instances have the same in the region" in n for n in found.notes)


def test_where_the_fill_is_what_was_there_too_it_does_not_apply() -> None:
    with pytest.raises(vd.NotApplicable, match="this region was not tested: in 10 of 10 instances"):
        relied(stamped(1.0), vd.PartMean())


def test_where_others_differ_they_stand_in_as_before() -> None:
    found = relied(np.random.default_rng(1).random((N, SIDE, SIDE)), vd.PartMean())
    assert not found.passed
    assert not any("have the same" in note or "left out" in note for note in found.notes)


def test_a_few_that_cannot_be_tested_are_left_out() -> None:
    other = np.roll(MARK, (8, 8), axis=(0, 1))
    regions = np.stack([MARK] * 4 + [other] * 6)  # the first is the same in all pictures
    grid = vd.Grid(4, 4, fill=vd.PartMean())
    found = vd.debug(
        looks_at_the_mark, grid, stamped(1.0), check="reliance", method=vd.Occlusion(), region=list(regions)
    )
    assert any("4 of 10 instances were left out" in note for note in found.notes)


def test_what_the_explanation_did_not_test_is_said() -> None:
    X = stamped(1.0)
    X[:, :4, :4] = np.random.default_rng(3).random((N, 1, 1))  # uniform, of another gray in each
    found = relied(X, vd.PartMean())
    assert "relies on this region, and the explanation does not show it" in found.sentence
    assert "the explanation did not test it" in found.sentence
    assert np.isnan(found.observed)


def test_a_column_that_never_varies_is_named_as_such() -> None:
    X = np.random.default_rng(4).normal(size=(40, 3))
    X[:, 1] = 7.0
    with pytest.raises(vd.InputError, match="left out, because they never vary in the background: 'x1'"):
        vd.debug(lambda X: X[:, 1], vd.Rows(X), X, check="reliance", method=vd.Occlusion(), region=["x1"])


def test_rows_that_share_a_column_are_drawn_from_the_background() -> None:
    X = np.random.default_rng(4).normal(size=(40, 3))
    some = X[:12].copy()
    some[:, 1] = 1.0
    found = vd.debug(lambda X: X[:, 1], vd.Rows(X), some, check="reliance", method=vd.Occlusion(), region=["x1"])
    assert not found.passed
