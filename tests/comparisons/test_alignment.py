"""Rows of two sides are matched by their names; explanations of different targets are told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veridical as vd

X = np.random.default_rng(0).normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=list("abc"))
ROWS, LIME = vd.Rows(FRAME), vd.Lime(n_samples=64)


def model(table):
    return 2 * table["a"].to_numpy() - table["b"].to_numpy()


def explain(frame, predict=model, **more):
    return vd.explain_many(predict, ROWS, frame, method=LIME, **more)


@pytest.fixture(scope="module")
def forward():
    return explain(FRAME[:20])


def test_rows_in_another_order_are_matched_by_name(forward):
    back = explain(FRAME[:20][::-1])
    found, straight = vd.compare(forward, back), vd.compare(forward, vd.Explanations(tuple(back)[::-1]))
    np.testing.assert_array_equal(found.difference, straight.difference)
    assert "matched by their names" in found.notes[0]
    assert [e.row for e in found.second] == [e.row for e in forward]


def test_rows_with_text_names(forward):
    named = FRAME[:4].set_axis(list("pqrs"))
    one, other = explain(named), explain(named.loc[list("srqp")])
    assert "matched by their names" in vd.compare(one, other).notes[0]
    with pytest.raises(vd.errors.InputError, match="only the first has 'p', 'q'; only the second has 't', 'u'"):
        vd.compare(one, explain(FRAME[:4].set_axis(list("turs"))))
    with pytest.raises(vd.errors.InputError, match="only the first has 's'"):
        vd.compare(one, explain(named[:3]))
    in_order = vd.compare(one, forward[:4])
    assert "have no names" in in_order.notes[0]


def test_other_rows_are_refused(forward):
    with pytest.raises(
        vd.errors.InputError, match="only the first has 0, 1, 2 and 17 more; only the second has 20, 21"
    ):
        vd.compare(forward, explain(FRAME[20:40]))


def test_numbered_rows_are_compared_in_order(forward):
    array = vd.explain_many(lambda A: 2 * A[:, 0] - A[:, 1], vd.Rows(X, names=list("abc")), X[20:40], method=LIME)
    found = vd.compare(array, explain(FRAME[20:40]))  # the same rows: their values say so
    assert "compared in order" in found.notes[0]
    assert not vd.compare(forward, forward).larger.any()


def test_names_that_come_twice():
    one = explain(FRAME[:3].set_axis(["a", "a", "b"]))
    vd.compare(one, one)
    with pytest.raises(vd.errors.InputError, match="some have the same name"):
        vd.compare(one, explain(FRAME[:3].set_axis(["b", "a", "a"])))


def test_failed_rows_shift_nothing(forward):
    broken = FRAME[:20].copy()
    broken.loc[3, "a"] = np.inf
    with pytest.warns(vd.errors.RowsFailedWarning):
        some = explain(broken)
    found = vd.compare(some, forward)
    assert [e.row for e in found.second] == [e.row for e in found.first] == [i for i in range(20) if i != 3]


def test_stores_are_matched_by_name(tmp_path):
    pytest.importorskip("pyarrow")
    named = FRAME[:4].set_axis(list("pqrs"))
    one = explain(named, store=tmp_path / "one")
    other = explain(named[::-1], store=tmp_path / "other")
    assert "matched by their names" in vd.compare(one, other).notes[0]
    assert "matched by their names" in vd.compare(explain(named), tmp_path / "other").notes[0]
    assert vd.compare(one, one).first is one


def test_different_targets_are_told():
    def predict(table):
        p = 1 / (1 + np.exp(-table["a"].to_numpy()))
        return np.c_[1 - p, p]

    many = explain(FRAME[:6], predict, classes=["no", "yes"])
    no, yes = (next(e for e in many if e.target == each) for each in ("no", "yes"))
    assert "different targets: no and yes" in vd.compare(no, yes).notes[0]
    assert vd.compare(no, yes).notes[0] in str(vd.compare(no, yes)).replace("\n", " ")
    swapped = explain(FRAME[:6], predict, classes=["no", "yes"], target="no")
    assert any("explain different targets, such as yes and no" in note for note in vd.compare(many, swapped).notes)
