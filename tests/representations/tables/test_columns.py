"""How columns of rows are matched to an array's, and values that a column cannot hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veridical as vd

X = np.random.default_rng(0).normal(size=(60, 3))
LIME = vd.Lime(n_samples=64)


def model(array):
    return 2 * array[:, 0] - array[:, 1]


def explain(x, **more):
    return vd.explain(model, vd.Rows(X, **more), x, method=LIME)


@pytest.mark.parametrize("labels", [["2", "0", "1"], [2, 0, 1], ["x2", "x0", "x1"]])
def test_columns_in_another_order_are_matched_by_label(labels):
    shuffled = pd.DataFrame(X[:2][:, [2, 0, 1]], columns=labels)
    own = explain(X[0])
    for why in (
        explain(shuffled.iloc[0]),
        explain(shuffled[:1]),
        explain(shuffled.iloc[0].to_dict()),
        vd.explain_many(model, vd.Rows(X), shuffled, method=LIME)[0],
    ):
        assert why.prediction == own.prediction
        assert any("matched by their labels" in note for note in why.notes)
    assert not own.notes
    assert not explain(pd.Series(X[0])).notes


def test_columns_that_are_taken_in_order_are_told():
    row = dict(zip("cab", X[0], strict=True))
    assert any("taken in their order" in note for note in explain(row).notes)
    assert not explain(row, names=list("cab")).notes
    assert any("matched by their labels" in note for note in explain(row, names=list("abc")).notes)


def dates(zone=None):
    return pd.DataFrame({"day": pd.date_range("2026-01-01", periods=60, tz=zone), "n": np.arange(60) % 7})


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_with_and_without_time_zone_are_not_mixed(zone):
    rows, other = vd.Rows(dates(zone)), "America/New_York" if zone is None else None
    for value in (pd.Timestamp("2026-02-01", tz=other), str(pd.Timestamp("2026-02-01", tz=other))):
        with pytest.raises(vd.errors.InputError, match=r"column 'day'.*time zone.*convert"):
            rows({"day": value, "n": 1})
    with pytest.raises(vd.errors.InputError, match="time zone"):
        rows.each(dates(other))
    rows({"day": pd.Timestamp("2026-02-01", tz=zone and "America/New_York"), "n": 1})  # in another zone


def test_what_a_column_cannot_hold_is_said_plainly():
    rows = vd.Rows(dates())
    with pytest.raises(vd.errors.InputError, match=r"column 'day' holds dates; 3 is a number: give one such as"):
        rows({"day": 3, "n": 1})
    with pytest.raises(vd.errors.InputError, match="column 'n' holds whole numbers; '5' is a text: give a number"):
        rows({"day": "2026-02-01", "n": "5"})
    with pytest.raises(vd.errors.InputError, match=r"column 'n' holds whole numbers; 3\.5 is not$"):
        rows({"day": "2026-02-01", "n": 3.5})
    with pytest.raises(vd.errors.InputError, match=r"column 'n' holds whole numbers; 10{30} is too large"):
        rows({"day": "2026-02-01", "n": 10**30})


def test_a_background_of_records():
    frame = pd.DataFrame(X, columns=list("abc"))
    assert vd.Rows(frame.to_dict("records"))(frame.iloc[0]).names == vd.Rows(frame)(frame.iloc[0]).names
