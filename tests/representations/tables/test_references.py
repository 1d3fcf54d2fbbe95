"""Rows of a background as they are: how far they are from a row, and which columns go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import veridical as vd

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
TABLE = pd.DataFrame(
    {
        "a": X[:, 0],
        "city": RNG.choice(["Bern", "Oslo", "Paris"], N),
        "b": np.where(RNG.random(N) < 0.3, np.nan, X[:, 1]),
        "a cubed": X[:, 0] ** 3,
        "count": RNG.integers(0, 30, N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
    }
)


def rows_of(table: Any, **settings: Any) -> Any:
    return vd.Rows(table, **settings).background.rows


def test_distances_count_numbers_by_their_spread_and_categories_by_one() -> None:
    row = vd.Rows(TABLE)(TABLE.iloc[5])
    expected = np.zeros(N)
    for name in ("a", "a cubed", "count"):
        expected += ((TABLE[name] - TABLE[name][5]) / TABLE[name].std(ddof=0)).to_numpy() ** 2
    days = (TABLE["since"] - TABLE["since"][5]).dt.days.to_numpy()
    expected += (days / days.std()) ** 2
    expected += TABLE["city"].to_numpy() != TABLE["city"][5]
    gap = ((TABLE["b"] - TABLE["b"][5]) / TABLE["b"].std(ddof=0)).to_numpy()
    one = TABLE["b"].isna().to_numpy() != np.isnan(TABLE["b"][5])
    expected += np.where(one, 1.0, np.nan_to_num(gap) ** 2)
    np.testing.assert_allclose(row.distances(), np.sqrt(expected))  # type: ignore[attr-defined]
    assert row.distances()[5] == 0  # type: ignore[attr-defined]


def test_an_immutable_column_counts_where_it_differs() -> None:
    free, held = (vd.Rows(TABLE, immutable=names)(TABLE.iloc[5]) for names in (["a"], ["a", "city"]))
    np.testing.assert_allclose(free.distances(), held.distances())  # type: ignore[attr-defined]


def test_a_category_that_was_never_seen_is_unlike_all() -> None:
    seen = vd.Rows(TABLE)(TABLE.iloc[5]).distances()  # type: ignore[attr-defined]
    unseen = vd.Rows(TABLE)({**TABLE.iloc[5], "city": "Rome"}).distances()  # type: ignore[attr-defined]
    same = (TABLE["city"] == TABLE["city"][5]).to_numpy()
    np.testing.assert_allclose(unseen**2, seen**2 + same)


def test_correlations_are_those_of_ranks() -> None:
    rows = rows_of(TABLE)
    known = TABLE[["a", "a cubed", "count"]].to_numpy(float)
    at = [0, 3, 4]
    np.testing.assert_allclose(rows.correlations[np.ix_(at, at)], np.abs(spearmanr(known).statistic), atol=1e-12)
    assert not rows.correlations[1].any()  # of a category
    found = [block.parts for block in rows.blocks(0.7)]
    assert found == [(0, 3), (1,), (2,), (4,), (5,)]


def test_blocks_are_joined_by_average_linkage() -> None:
    """Two chains of columns whose ends are unlike each other stay apart."""
    base = RNG.normal(size=(400, 4))
    chain = np.cumsum(np.hstack([base[:, :1], 0.75 * base[:, 1:]]), axis=1)
    table = np.hstack([chain, RNG.normal(size=(400, 2))])
    blocks = rows_of(table).blocks(0.7)
    assert {j for block in blocks for j in block.parts} == set(range(6))
    like = np.abs(spearmanr(table).statistic)
    for block in blocks:
        parts = list(block.parts)
        if len(parts) > 1:
            among = like[np.ix_(parts, parts)]
            assert among[~np.eye(len(parts), dtype=bool)].mean() >= 0.7
            assert among.sum(axis=1).argmax() == 0  # the first is most like the others
    assert len(rows_of(table).blocks(0.9999)) == 6


def test_no_more_than_500_rows_are_kept_as_they_are() -> None:
    wide = RNG.normal(size=(1200, 3))
    rows = rows_of(wide)
    assert len(rows) == 500
    assert {tuple(row) for row in rows.inputs} <= {tuple(row) for row in wide}
    rows.inputs[:] = 0
    assert rows.table.any()
    np.testing.assert_array_equal(rows.table, rows_of(wide).table)


def test_what_stands_in_is_what_rows_have() -> None:
    row = vd.Rows(TABLE)(TABLE.iloc[5])
    at = np.array([7, 30])
    beside = row.contrasted(at, 0.7)  # type: ignore[attr-defined]
    nothing, all_of_it = (
        beside.keeping(np.array([[False] * 5, [True] * 5])).iloc[[0, 1]],
        beside.keeping(np.ones((1, 5), bool)),
    )
    pd.testing.assert_frame_equal(nothing.reset_index(drop=True), TABLE.iloc[at].reset_index(drop=True))
    for i in range(2):
        pd.testing.assert_frame_equal(
            all_of_it.iloc[[i]].reset_index(drop=True), TABLE.iloc[[5]].reset_index(drop=True)
        )
    first = beside.keeping(np.array([[True, False, False, False, False]]))
    assert list(first["a"]) == [TABLE["a"][5]] * 2
    assert list(first["a cubed"]) == [TABLE["a cubed"][5]] * 2
    assert list(first["city"]) == list(TABLE["city"][at])
    assert beside.genuine
    held = vd.Rows(TABLE, immutable=["count"])(TABLE.iloc[5]).contrasted(at, 0.7)  # type: ignore[attr-defined]
    assert not held.genuine


def test_a_one_hot_group_is_one_feature() -> None:
    hot = pd.get_dummies(TABLE[["a", "city"]], columns=["city"])
    columns = [name for name in hot if name.startswith("city")]
    rows = vd.Rows(hot, onehot={"city": columns})
    beside = rows(hot.iloc[5]).contrasted(np.array([7, 8, 9]), 0.7)  # type: ignore[attr-defined]
    assert beside.parts[1].column == "city"
    assert beside.names[1].startswith(f"city {TABLE['city'][5]} (they ")
    taken = beside.keeping(np.array([[True, False]]))
    pd.testing.assert_frame_equal(taken[columns], hot.iloc[[7, 8, 9]][columns].reset_index(drop=True))
