"""Features that instances share: what rows say, what neighbors the model gets, and what a design says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, issparse

import veridical as vd
from veridical.representations.spaces import NEIGHBOR_SD, SWAP_PROBABILITY, MaskSpace, TableSpace, space_of
from veridical.representations.tables.columns import format_number
from veridical.sampling.kernels import Gaussian

SEED = np.random.SeedSequence(5)
N = 300


def mixed() -> pd.DataFrame:
    """A column of every kind."""
    rng = np.random.default_rng(0)
    gone = rng.random(N) < 0.2
    color = rng.integers(3, size=N)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 10, N),
            "visits": rng.integers(0, 12, N) ** 2,
            "member": rng.random(N) < 0.3,
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], N), categories=["low", "mid", "high"]),
            "city": rng.choice(["Bern", "Oslo", "Rome", "Wien"], N),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), unit="D"),
            "dose": np.where(gone, np.nan, rng.normal(size=N)),
            "count": pd.array(np.where(gone[::-1], 0, rng.integers(1, 9, N)), dtype="Int64"),
            "pair": np.where(rng.random(N) < 0.5, 2.0, 5.0),
            "red": (color == 0).astype(float),
            "green": (color == 1).astype(float),
            "blue": (color == 2).astype(float),
            "fixed": rng.normal(size=N),
            "same": np.full(N, 7),
        }
    ).assign(count=lambda t: t["count"].mask(t["count"] == 0))


TABLE = mixed()


def rows_of(table: Any) -> vd.Rows:
    return vd.Rows(table, onehot={"color": ["red", "green", "blue"]}, immutable=["fixed"])


ROWS = rows_of(TABLE)
SPACE: Any = space_of(ROWS, TABLE)
AT = {part.name: j for j, part in enumerate(SPACE.parts)}


def drawn(space: Any, X: Any, n: int, kernel: Any = None, seed: Any = SEED) -> Any:
    """All neighbors at once: designs, inputs, weights."""
    found = list(space.near(space.read(X), n, kernel, seed))
    inputs = [d.inputs for d in found]
    if isinstance(inputs[0], pd.DataFrame):
        whole: Any = pd.concat(inputs, ignore_index=True)
    elif isinstance(inputs[0], list):
        whole = [x for some in inputs for x in some]
    else:
        whole = np.concatenate([x.toarray() if issparse(x) else x for x in inputs])
    designs = np.concatenate([d.designs.toarray() if issparse(d.designs) else d.designs for d in found])
    return designs, whole, np.concatenate([d.weights for d in found])


# Tables: rows ----------------------------------------------------------------------------------------------


def test_the_features_of_a_table() -> None:
    """Numbers once, categories one by one, of two the second; a gap is a feature; what never changes is none."""
    assert [part.name for part in SPACE.parts] == [
        "age",
        "visits",
        "member = True",
        "grade = low",
        "grade = mid",
        "grade = high",
        "city = Bern",
        "city = Oslo",
        "city = Rome",
        "city = Wien",
        "since",
        "dose",
        "dose is missing",
        "count",
        "count is missing",
        "pair = 5",
        "color = red",
        "color = green",
        "color = blue",
    ]


def test_the_values_of_rows() -> None:
    rows = SPACE.rows(SPACE.read(TABLE))
    assert rows.shape == (N, len(AT))
    days = (TABLE["since"] - TABLE["since"].min()).dt.days
    for name, values in {"age": TABLE["age"], "visits": TABLE["visits"], "since": days}.items():
        np.testing.assert_allclose(rows[:, AT[name]], (values - values.mean()) / values.std(ddof=0), atol=1e-6)
    for name in ("dose", "count"):
        values = TABLE[name].to_numpy(dtype=float, na_value=np.nan)
        wanted = np.nan_to_num((values - np.nanmean(values)) / np.nanstd(values))  # a gap is the mean, and says so
        np.testing.assert_allclose(rows[:, AT[name]], wanted, atol=1e-9)
        np.testing.assert_array_equal(rows[:, AT[f"{name} is missing"]], np.isnan(values))
    np.testing.assert_array_equal(rows[:, AT["member = True"]], TABLE["member"])
    np.testing.assert_array_equal(rows[:, AT["pair = 5"]], TABLE["pair"] == 5)
    for column, name in (("grade", "mid"), ("city", "Rome")):
        np.testing.assert_array_equal(rows[:, AT[f"{column} = {name}"]], TABLE[column] == name)
    np.testing.assert_array_equal(rows[:, AT["color = green"]], TABLE["green"])


def test_very_many_categories() -> None:
    """The fifty that are most frequent are features; the others can be asked about all the same."""
    codes = np.repeat(np.arange(60), np.arange(1, 61))
    table = pd.DataFrame({"zip": [f"z{c:02d}" for c in codes], "x": np.linspace(0, 1, len(codes))})
    space: Any = space_of(vd.Rows(table), table)
    assert [p.name for p in space.parts] == [f"zip = z{c}" for c in range(10, 60)] + ["x"]
    designs, inputs, _ = drawn(space, table, 2)
    np.testing.assert_allclose(space.rows(space.read(inputs)), designs, atol=1e-9)
    assert set(inputs["zip"]) > {"z59", "z05"}
    assert not designs[inputs["zip"] == "z05", :50].any()


def test_values_are_shown_in_their_own_units() -> None:
    rows = SPACE.rows(SPACE.read(TABLE))
    for i in (0, 7):
        assert SPACE.shown(AT["age"], rows[i, AT["age"]]) == format_number(TABLE["age"].iloc[i], 4)
        assert SPACE.shown(AT["visits"], rows[i, AT["visits"]]) == str(TABLE["visits"].iloc[i])
    assert SPACE.shown(AT["city = Oslo"], 1.0) == "1"


def test_spreads_are_those_of_the_instances() -> None:
    """Not of the background: a row is the same number of standard deviations from the others either way."""
    some = TABLE[TABLE["age"] > 50]
    space: Any = space_of(ROWS, some)
    ages = space.rows(space.read(some))[:, 0]
    np.testing.assert_allclose([ages.mean(), ages.std()], [0, 1], atol=1e-9)
    assert space.rows(space.read(TABLE[:1])).shape == (1, len(space.parts))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_what_never_varies_here_has_the_spread_of_the_background(scale: float) -> None:
    """One row has neighbors too, as near as those of many."""
    table = TABLE[["age", "visits"]].assign(age=TABLE["age"] * scale)
    space: Any = space_of(vd.Rows(table), table[:1])
    sd = table.std(ddof=0)
    np.testing.assert_allclose(space.sds, sd, rtol=0.1)  # inside a bin, the background is taken for normal
    np.testing.assert_allclose(space.sds[1], sd["visits"])
    _, inputs, _ = drawn(space, table[:1], 200)
    assert abs(inputs["age"].std() / (NEIGHBOR_SD * space.sds[0]) - 1) < 4 / np.sqrt(2 * 200)


def test_other_orders_and_forms_of_the_same_rows() -> None:
    rows = SPACE.rows(SPACE.read(TABLE[:5]))
    np.testing.assert_array_equal(SPACE.rows(SPACE.read(TABLE[:5][list(TABLE.columns[::-1])])), rows)
    np.testing.assert_array_equal(SPACE.rows(SPACE.read(TABLE[:5].to_dict("records"))), rows)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_arrays(dtype: Any) -> None:
    X = (10 * np.random.default_rng(0).normal(size=(100, 3))).astype(dtype)
    space: Any = space_of(vd.Rows(X, names=["a", "b", "c"]), X)
    wanted = X.astype(float)
    np.testing.assert_allclose(space.rows(space.read(X)), (wanted - wanted.mean(axis=0)) / wanted.std(axis=0))
    designs, inputs, _ = drawn(space, X, 3)
    assert inputs.dtype == dtype
    atol = 1e-5 if dtype == np.float32 else 1e-9  # seven digits of a number of a few standard deviations
    np.testing.assert_allclose(space.rows(space.read(inputs)), designs, atol=atol)


# Tables: neighbors -----------------------------------------------------------------------------------------


def test_designs_are_what_the_model_got() -> None:
    """Read again, the tables that the model was asked about have the features that the surrogate was given."""
    asked: list[pd.DataFrame] = []

    def predict(table: pd.DataFrame) -> Any:
        asked.append(table.copy())
        return table["age"]

    designs, inputs, _ = drawn(SPACE, TABLE, 4)
    np.testing.assert_allclose(SPACE.rows(SPACE.read(inputs)), designs, atol=1e-6)
    vd.group(predict, ROWS, TABLE, k=2, method=vd.groupings.GlobalLinear())
    for table in asked:
        assert list(table.columns) == list(TABLE.columns)
        assert table.dtypes.tolist() == TABLE.dtypes.tolist()


def test_neighbors_keep_the_types_and_what_must_not_change() -> None:
    _, inputs, _ = drawn(SPACE, TABLE, 4)
    source = TABLE.loc[np.repeat(np.arange(N), 4)].reset_index(drop=True)
    assert inputs.dtypes.tolist() == TABLE.dtypes.tolist()
    for column in ("fixed", "same"):
        np.testing.assert_array_equal(inputs[column], source[column])
    for column in ("visits", "since", "count", "pair", "grade", "city", "member"):
        assert set(inputs[column].dropna()) <= set(TABLE[column].dropna())
    for column in ("dose", "count"):
        np.testing.assert_array_equal(inputs[column].isna(), source[column].isna())
    np.testing.assert_array_equal(inputs[["red", "green", "blue"]].sum(axis=1), 1)
    for column in ("age", "visits", "since", "dose"):
        assert (inputs[column] != source[column]).any()


def test_how_far_neighbors_are() -> None:
    """A standard deviation estimated from m normals has a standard error of sd / √(2m)."""
    n = 30
    designs, _, _ = drawn(SPACE, TABLE, n)
    rows = np.repeat(SPACE.rows(SPACE.read(TABLE)), n, axis=0)
    for name in ("age", "dose"):
        moved = (designs - rows)[:, AT[name]]
        moved = moved[designs[:, AT[f"{name} is missing"]] == 0] if name == "dose" else moved
        assert abs(moved.std() / NEIGHBOR_SD - 1) < 4 / np.sqrt(2 * len(moved))
        assert abs(moved.mean()) < 4 * NEIGHBOR_SD / np.sqrt(len(moved))
    together = np.corrcoef((designs - rows)[:, AT["age"]], (designs - rows)[:, AT["dose"]])[0, 1]
    assert abs(together) < 4 / np.sqrt(N * n * 0.8)


def test_how_often_categories_change() -> None:
    """Drawn anew now and then, as often as the background has them: so to each other one at its share."""
    n = 30
    _, inputs, _ = drawn(SPACE, TABLE, n)
    for column in ("city", "grade", "member", "pair"):
        shares = TABLE[column].value_counts(normalize=True)
        source = TABLE[column].to_numpy().repeat(n)
        for own in shares.index:
            after = inputs[column].to_numpy()[source == own]
            for other in shares.index.drop(own):
                rate = SWAP_PROBABILITY * shares[other]
                assert abs((after == other).mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / len(after))


def test_neighbors_do_not_depend_on_what_was_drawn_before() -> None:
    one, again, other = (drawn(SPACE, TABLE[:9], 3, None, np.random.SeedSequence(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one[0], again[0])
    pd.testing.assert_frame_equal(one[1], again[1])
    assert not np.array_equal(one[0], other[0])


def test_neighbors_of_many_rows() -> None:
    """More than are drawn at once: as many designs, each near its own row, and no block like another."""
    X = np.random.default_rng(0).normal(size=(2500, 2))
    space: Any = space_of(vd.Rows(X), X)
    designs, _, weights = drawn(space, X, 2)
    assert weights.shape == (2500, 2)
    moved = designs - np.repeat(space.rows(space.read(X)), 2, axis=0)
    assert np.abs(moved).max() < 6 * NEIGHBOR_SD
    assert not np.isin(moved[2048:, 0], moved[:2048, 0]).any()


def test_a_kernel_sees_the_distance_of_the_designs() -> None:
    kernel = Gaussian(0.3)
    designs, _, weights = drawn(SPACE, TABLE[:20], 5, kernel)
    rows = np.repeat(SPACE.rows(SPACE.read(TABLE[:20])), 5, axis=0)
    apart = np.sqrt(np.square(designs - rows).mean(axis=1))
    np.testing.assert_allclose(weights.ravel(), kernel(apart))
    assert weights.std() > 0.01
    np.testing.assert_array_equal(drawn(SPACE, TABLE[:20], 5)[2], 1)


def test_whole_numbers_without_bins() -> None:
    """Rounded, and within the range they are said to have."""
    table = TABLE[["age", "visits"]].assign(visits=TABLE["visits"].astype(np.uint8))
    space: Any = space_of(vd.Rows(table, discretize=vd.bins.Continuous(), ranges={"visits": (0, 125)}), table)
    designs, inputs, _ = drawn(space, table, 20)
    assert inputs["visits"].dtype == np.uint8
    assert inputs["visits"].max() <= 125
    assert not set(inputs["visits"]) <= set(table["visits"])
    np.testing.assert_allclose(space.rows(space.read(inputs)), designs, atol=1e-9)


# Tables: between -------------------------------------------------------------------------------------------


def test_between_rows_are_rows() -> None:
    new = SPACE.between(SPACE.read(TABLE), 3, SEED)
    assert len(new) == 3 * N
    table = SPACE._table(new)
    assert table.dtypes.tolist() == TABLE.dtypes.tolist()
    np.testing.assert_allclose(SPACE.rows(SPACE.read(table)), SPACE.rows(new), atol=1e-6)
    for column in ("visits", "since", "count", "grade", "city", "member", "pair"):
        assert set(table[column].dropna()) <= set(TABLE[column].dropna())
    np.testing.assert_array_equal(table[["red", "green", "blue"]].sum(axis=1), 1)
    np.testing.assert_array_equal(table["fixed"], np.tile(TABLE["fixed"], 3))
    assert 0.01 < (table["member"] != np.tile(TABLE["member"], 3)).mean() < 0.5  # of those nearer to another row
    assert (
        np.isin(table["age"], TABLE["age"]).mean() < 0.06
    )  # a third moves as two of ten do; a tenth of it nowhere


def test_between_lies_along_the_rows() -> None:
    """Rows on a line: so are the new ones, not far beyond its ends."""
    t = np.random.default_rng(0).uniform(-1, 1, 200)
    X = np.column_stack([t, -2 * t])
    space: Any = space_of(vd.Rows(X), X)
    new = space._table(space.between(space.read(X), 2, SEED))
    np.testing.assert_allclose(new[:, 1], -2 * new[:, 0], atol=1e-9)
    assert np.abs(new[:, 0]).max() < 1.4
    again = space._table(space.between(space.read(X), 2, SEED))
    np.testing.assert_array_equal(new, again)


def test_nothing_lies_between_one_row() -> None:
    assert SPACE.between(SPACE.read(TABLE[:1]), 3, SEED) is None
    assert SPACE.between(SPACE.read(TABLE), 0, SEED) is None


# What a table must not hold --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("age", np.nan, "row 3: column 'age' is missing"),
        ("age", np.inf, "row 3: column 'age' has an infinite value"),
        ("city", "Paris", "unknown category 'Paris'"),
        ("red", 1.0, "exactly one 1"),
    ],
)
def test_rows_that_the_background_does_not_know(column: str, value: Any, said: str) -> None:
    table = TABLE[TABLE["red"] == 0][:5].reset_index(drop=True)
    table.loc[3, column] = value
    with pytest.raises(vd.errors.InputError, match=said):
        SPACE.read(table)


def test_columns_that_are_missing() -> None:
    with pytest.raises(vd.errors.InputError, match="missing: age"):
        SPACE.read(TABLE.drop(columns="age"))
    with pytest.raises(vd.errors.InputError, match=r"wanted rows of 14 columns.*\(4, 2\)"):
        SPACE.read(np.zeros((4, 2)))


def test_which_space_is_whose() -> None:
    assert isinstance(SPACE, TableSpace)
    assert isinstance(space_of(vd.Words(), ["a b"]), MaskSpace)
    sparse = csr_matrix(np.eye(3))
    assert isinstance(space_of(vd.Rows(sparse), sparse), MaskSpace)


# Texts -----------------------------------------------------------------------------------------------------

TEXTS = ["a good good film", "bad", "", "a bad long film", "good, not bad: long", "…"]
WORDS: Any = space_of(vd.Words(), TEXTS)
NAMES = [part.name for part in WORDS.parts]


def bag(text: str) -> Any:
    """Which known words a text has."""
    own = set(text.replace(",", " ").replace(":", " ").split())
    return np.array([name in own for name in NAMES], float)


def test_the_features_of_texts_are_their_words() -> None:
    assert NAMES == ["a", "good", "film", "bad", "long", "not"]
    rows = WORDS.rows(WORDS.read(TEXTS))
    assert issparse(rows)
    np.testing.assert_array_equal(rows.toarray(), [bag(t) for t in TEXTS])
    assert {part.relation for part in WORDS.parts} == {"word"}


def test_words_that_nobody_knows_are_left_out() -> None:
    rows = WORDS.rows(WORDS.read(["a new good day", "nothing here", ""]))
    np.testing.assert_array_equal(rows.toarray(), [bag("a good"), bag(""), bag("")])


def test_designs_are_what_the_strings_say() -> None:
    designs, texts, weights = drawn(WORDS, TEXTS, 12)
    assert weights.shape == (len(TEXTS), 12)
    assert len(texts) == len(designs) == 12 * len(TEXTS)
    assert texts[::12] == TEXTS  # the first neighbor is the text itself
    np.testing.assert_array_equal(designs, [bag(t) for t in texts])
    assert len(set(texts[:12])) > 3
    for i in (1, 2, 5):  # one word or none: nothing to take away
        assert set(texts[12 * i : 12 * i + 12]) == {TEXTS[i]}


@pytest.mark.parametrize("width", [None, 0.25])
def test_how_many_words_neighbors_lose(width: float | None) -> None:
    """One to all, equally likely, times the kernel of 1 - √(share kept); the text itself counts one."""
    kernel = None if width is None else Gaussian(width)
    designs, _, weights = drawn(WORDS, ["a bad long film"], 2001, kernel)
    kept, w = designs[1:].sum(axis=1).astype(int), weights[0, 1:]
    near = np.ones(4) if kernel is None else kernel(1 - np.sqrt(np.arange(4) / 4))
    found = np.bincount(kept, w, minlength=5) / len(w)
    np.testing.assert_allclose(found, [*near / 4, 0], atol=4 / 1000)  # 1000 pairs, their sizes in turn
    assert weights[0, 0] == 1


def test_one_neighbor_is_the_text() -> None:
    designs, texts, weights = drawn(WORDS, TEXTS, 1)
    assert texts == TEXTS
    np.testing.assert_array_equal(designs, [bag(t) for t in TEXTS])
    np.testing.assert_array_equal(weights, 1)


def test_texts_do_not_depend_on_their_neighbors() -> None:
    """The same seed gives a text the same neighbors, whatever other texts come after."""
    whole, alone, other = (
        drawn(WORDS, TEXTS, 6),
        drawn(WORDS, TEXTS[:1], 6),
        drawn(WORDS, TEXTS, 6, None, SEED.spawn(1)[0]),
    )
    assert whole[1][:6] == alone[1]
    assert whole[1] != other[1]
    picked = next(iter(WORDS.near(WORDS.read(TEXTS)[np.array([3])], 6, None, SEED)))
    assert picked.inputs == whole[1][18:24]


def test_every_text_loses_words_of_its_own() -> None:
    one, other = ["a", "bad", "long", "film"], ["good", "not", "bad", "long"]
    designs, _, _ = drawn(WORDS, [" ".join(one), " ".join(other)], 9)
    at = [[WORDS.column[word] for word in words] for words in (one, other)]
    assert not np.array_equal(designs[:9][:, at[0]], designs[9:][:, at[1]])


def test_many_texts() -> None:
    """More than are drawn at once, in their order."""
    texts = [f"word{i % 7} stays {i}" for i in range(300)]
    space: Any = space_of(vd.Words(), texts)
    designs, asked, _ = drawn(space, texts, 3)
    assert asked[::3] == texts
    np.testing.assert_array_equal(designs[::3].sum(axis=1), 3)


def test_a_word_that_comes_twice_by_position() -> None:
    space: Any = space_of(vd.Words(positions=True), ["very very good"])
    assert [part.name for part in space.parts] == ["very", "good"]
    designs, asked, _ = drawn(space, ["very very good"], 20)
    np.testing.assert_array_equal(designs, [[t.split().count("very"), "good" in t] for t in asked])


def test_sparse_rows() -> None:
    """A feature is a column that is not zero; what is taken away is zero."""
    X = csr_matrix(np.array([[0.0, 2, 0, 1], [3, 0, 0, 1], [0, 5, 0, 0]]))
    space: Any = space_of(vd.Rows(X, names=list("abcd")), X)
    assert sorted(part.name for part in space.parts) == ["a", "b", "d"]
    at = ["abcd".index(part.name) for part in space.parts]
    np.testing.assert_array_equal(space.rows(space.read(X)).toarray(), X.toarray()[:, at] != 0)
    designs, asked, _ = drawn(space, X, 8)
    np.testing.assert_array_equal(asked[::8], X.toarray())
    np.testing.assert_array_equal(designs, asked[:, at] != 0)
    assert set(np.unique(asked[:, 0])) == {0, 3}


# What has no shared features -------------------------------------------------------------------------------


@pytest.mark.parametrize("represent", [vd.Superpixels(4), vd.Grid(2, 3)])
def test_pictures_have_no_features_in_which_they_differ(represent: Any) -> None:
    X = np.random.default_rng(0).random((3, 16, 16, 3))
    with pytest.raises(vd.errors.InputError, match="features in which instances differ"):
        space_of(represent, X)


def test_records_of_several_fields() -> None:
    fields = vd.Fields({"t": vd.Words(), "x": vd.Rows(TABLE[["age"]])})
    with pytest.raises(vd.errors.InputError, match="one of the fields alone"):
        space_of(fields, [{"t": "a b", "x": 1.0}])


def test_texts_without_a_word() -> None:
    with pytest.raises(vd.errors.InputError, match="none of these instances has a part"):
        space_of(vd.Words(), ["", "…"])
    with pytest.raises(vd.errors.InputError, match="list of texts, got str"):
        space_of(vd.Words(), "abc")
