"""Every wrong argument: the type of the error, the offending thing by name, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import veridical as vd
from tests.builders.contracts import check
from tests.builders.methods import linear_lime

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, 100),
        "visits": RNG.integers(0, 30, 100),
        "city": ["Bern", "Oslo"] * 50,
        "grade": pd.Categorical(["low", "high"] * 50),
        "member": [True, False] * 50,
        "since": pd.date_range("2020-01-01", periods=100, freq="D"),
    }
)
GOOD = TABLE.iloc[0].to_dict()
ARRAY = RNG.normal(size=(100, 3))
WHOLE = RNG.integers(0, 30, (100, 3))
HOT = pd.DataFrame({"x": ARRAY[:, 0], "c_a": [1, 0] * 50, "c_b": [0, 1] * 50})

rows = vd.Rows(TABLE)
array_rows = vd.Rows(ARRAY)


def predict(X: Any) -> Any:
    return np.asarray(X)[:, 0].astype(float) ** 2


def explain(x: Any = ARRAY[0], *, represent: Any = array_rows, model: Any = predict, **settings: Any) -> Any:
    return vd.explain(model, represent, x, **settings)


def many(X: Any = ARRAY[:4], **settings: Any) -> Any:
    return vd.explain_many(predict, array_rows, X, **settings)


def with_value(column: str, value: Any) -> dict[str, Any]:
    return {**GOOD, column: value}


# Backgrounds -----------------------------------------------------------------------------------------------

BACKGROUNDS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "empty frame": (lambda: vd.Rows(TABLE[:0]), ("background", "at least two rows", "0")),
    "empty array": (lambda: vd.Rows(ARRAY[:0]), ("background", "at least two rows", "0")),
    "empty sparse": (lambda: vd.Rows(csr_matrix((0, 4))), ("background", "empty")),
    "one row": (lambda: vd.Rows(TABLE[:1]), ("background", "at least two rows", "got 1")),
    "all constant": (lambda: vd.Rows(np.ones((9, 2))), ("no column", "varies", "different rows")),
    "no columns": (lambda: vd.Rows(TABLE[[]]), ("no column",)),
    "all immutable": (lambda: vd.Rows(ARRAY, immutable=[0, 1, 2]), ("immutable",)),
    "a Series": (lambda: vd.Rows(TABLE["age"]), ("Series", "training data")),
    "one dimension": (lambda: vd.Rows(np.ones(5)), ("background", "rows and columns", "(5,)")),
    "None": (lambda: vd.Rows(None), ("background", "None")),
    "a file name": (lambda: vd.Rows("train.csv"), ("background", "str")),
    "unequal rows": (lambda: vd.Rows([[1, 2], [3]]), ("background", "equal length")),
    "infinite": (
        lambda: vd.Rows(TABLE.assign(age=np.r_[np.inf, np.arange(99.0)])),
        ("'age'", "infinite", "finite"),
    ),
    "minus infinite array": (
        lambda: vd.Rows(np.where(ARRAY[3, 1] == ARRAY, -np.inf, ARRAY)),
        ("'x1'", "infinite"),
    ),
    "infinite, continuous": (
        lambda: vd.Rows(np.where(ARRAY[3, 1] == ARRAY, np.inf, ARRAY), discretize=vd.bins.Continuous()),
        ("'x1'", "infinite"),
    ),
    "infinite sparse": (lambda: vd.Rows(csr_matrix([[np.inf, 1.0], [0.0, 1.0]])), ("x0", "finite")),
    "columns named twice": (lambda: vd.Rows(TABLE[["age", "age"]]), ("unique", "age")),
    "too few names": (lambda: vd.Rows(ARRAY, names=["a"]), ("3 columns", "1 names")),
    "names twice": (lambda: vd.Rows(ARRAY, names=["a", "a", "b"]), ("unique", "a")),
    "names of a frame": (lambda: vd.Rows(TABLE, names=["a"] * 6), ("names", "rename")),
    "sparse names": (lambda: vd.Rows(csr_matrix(ARRAY), names=["a"]), ("3 columns", "1 names")),
    "sparse with settings": (lambda: vd.Rows(csr_matrix(ARRAY), categorical=[0]), ("sparse", "categorical")),
}


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_backgrounds(name: str) -> None:
    call, words = BACKGROUNDS[name]
    check(call, vd.errors.InputError, *words)


# Settings of Rows ------------------------------------------------------------------------------------------

SETTINGS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "unknown categorical": (lambda: vd.Rows(TABLE, categorical=["town"]), ("categorical", "'town'", "'city'")),
    "unknown immutable": (lambda: vd.Rows(TABLE, immutable=["town"]), ("immutable", "'town'", "'city'")),
    "unknown position": (lambda: vd.Rows(ARRAY, immutable=[3]), ("immutable", "3", "'x2'")),
    "a string of names": (lambda: vd.Rows(TABLE, immutable="age"), ("immutable", "list", "'age'")),
    "unknown range": (lambda: vd.Rows(TABLE, ranges={"town": (0, 1)}), ("ranges", "'town'", "'city'")),
    "range upside down": (lambda: vd.Rows(TABLE, ranges={"age": (90, 0)}), ("'age'", "low < high", "(90, 0)")),
    "range of nan": (lambda: vd.Rows(TABLE, ranges={"age": (np.nan, 1)}), ("'age'", "low < high")),
    "range of one number": (lambda: vd.Rows(TABLE, ranges={"age": 5}), ("'age'", "(low, high)", "5")),
    "range of three": (lambda: vd.Rows(TABLE, ranges={"age": (1, 2, 3)}), ("'age'", "(low, high)")),
    "range too narrow": (lambda: vd.Rows(TABLE, ranges={"age": (0, 1)}), ("'age'", "outside", "(0, 1)")),
    "range of words": (lambda: vd.Rows(TABLE, ranges={"city": (0, 1)}), ("'city'", "range")),
    "unknown one-hot": (lambda: vd.Rows(HOT, onehot={"c": ["c_a", "c_z"]}), ("onehot", "'c_z'", "'c_a'")),
    "not one-hot": (lambda: vd.Rows(HOT, onehot={"c": ["x", "c_a"]}), ("one-hot", "'c'", "'x'", "exactly one 1")),
    "words, not one-hot": (lambda: vd.Rows(TABLE, onehot={"c": ["city", "member"]}), ("one-hot", "'c'")),
    "one-hot without columns": (lambda: vd.Rows(HOT, onehot={"c": []}), ("'c'", "column")),
    "one-hot as a list": (lambda: vd.Rows(HOT, onehot=["c_a", "c_b"]), ("onehot", "list")),
    "column in two groups": (
        lambda: vd.Rows(HOT, onehot={"c": ["c_a", "c_b"], "d": ["c_a", "c_b"]}),
        ("one one-hot group", "c_a"),
    ),
    "edges that fall": (
        lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": [2, 1]})),
        ("'age'", "increasing"),
    ),
    "edges twice": (lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": [1, 1]})), ("'age'", "increasing")),
    "no edges": (lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": []})), ("'age'", "increasing")),
    "infinite edges": (
        lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": [1, np.inf]})),
        ("'age'", "finite"),
    ),
    "edges of words": (lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": ["low"]})), ("'age'", "'low'")),
    "one edge, not a list": (lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"age": 3.0})), ("'age'", "3.0")),
    "edges of no column": (lambda: vd.Rows(TABLE, discretize=vd.bins.Edges({"town": [1]})), ("'town'", "'city'")),
    "labels too few": (
        lambda: vd.Rows(ARRAY, discretize=vd.bins.Entropy([0, 1])),
        ("Entropy", "100 rows", "(2,)"),
    ),
    "discretize by name": (
        lambda: vd.Rows(TABLE, discretize="quartile"),
        ("discretize", "Quartiles()", "'quartile'"),
    ),
    "discretize by class": (lambda: vd.Rows(TABLE, discretize=vd.bins.Continuous), ("discretize", "Continuous()")),
    "discretize by function": (
        lambda: vd.Rows(TABLE, discretize=vd.bins.Quartiles),
        ("discretize", "Quartiles()"),
    ),
    "one bin": (lambda: vd.bins.Quantiles(1), ("Quantiles", "at least 2", "1")),
    "half a bin": (lambda: vd.bins.Quantiles(2.5), ("Quantiles", "2.5")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_rows(name: str) -> None:
    call, words = SETTINGS[name]
    check(call, vd.errors.InputError, *words)


# Rows ------------------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "too few values": ([1, 2], ("6 columns", "2")),
    "too many values": ([1] * 7, ("6 columns", "7")),
    "missing name": (
        {k: v for k, v in GOOD.items() if k != "city"},
        ("columns of the background", "missing: city"),
    ),
    "unknown name": ({**GOOD, "town": "Rome"}, ("columns of the background", "unknown: town; leave them out")),
    "misspelt name": ({**GOOD, "Age": 3, "age2": 1}, ("unknown: Age, age2",)),
    "two rows": (TABLE[:2], ("one row", "2", "explain_many")),
    "no rows": (TABLE[:0], ("one row", "0")),
    "a number": (5, ("row of 6 columns", "int")),
    "None": (None, ("row of 6 columns", "None")),
    "a string": ("Bern", ("row of 6 columns", "str")),
    "a set": (set(GOOD), ("row of 6 columns", "set", "no order")),
    "the keys of a dict": (GOOD.keys(), ("row of 6 columns", "no order")),
    "missing float": (with_value("age", np.nan), ("'age'", "missing", "never in the background", "fill it in")),
    "None for a float": (with_value("age", None), ("'age'", "missing", "fill it in")),
    "missing word": (with_value("city", None), ("'city'", "missing", "never in the background", "fill it in")),
    "missing category": (with_value("grade", None), ("'grade'", "missing", "fill it in")),
    "missing whole number": (with_value("visits", None), ("'visits'", "missing", "fill it in")),
    "missing flag": (with_value("member", None), ("'member'", "missing", "fill it in")),
    "missing date": (with_value("since", pd.NaT), ("'since'", "missing", "fill it in")),
    "infinite": (with_value("age", np.inf), ("'age'", "infinite", "finite")),
    "minus infinite": (with_value("age", -np.inf), ("'age'", "infinite", "finite")),
    "word for a number": (with_value("age", "old"), ("'age'", "float64", "'old'")),
    "half a visit": (with_value("visits", 2.5), ("'visits'", "whole numbers", "2.5")),
    "word for a flag": (with_value("member", "perhaps"), ("'member'", "'perhaps'")),
    "seven for a flag": (with_value("member", 7), ("'member'", "7")),
    "word for a date": (with_value("since", "yesterday"), ("'since'", "'yesterday'")),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_of_a_frame(name: str) -> None:
    x, words = ROWS[name]
    check(lambda: explain(x, represent=rows), vd.errors.InputError, *words)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([1, 2], ("3 columns", "got 2 values")),
        ([1, 2, 3, 4], ("3 columns", "got 4 values")),
        (ARRAY[:2], ("one row", "2", "explain_many")),
        (5, ("3 columns",)),
        ([1, "high", 2], ("float64", "high")),
        ([1, np.nan, 2], ("'x1'", "missing", "fill it in")),
        ([1, np.inf, 2], ("'x1'", "infinite")),
        ({"x0": 1, "x1": 2}, ("x2",)),
    ],
)
def test_rows_of_an_array(x: Any, words: tuple[str, ...]) -> None:
    check(lambda: explain(x), vd.errors.InputError, *words)


@pytest.mark.parametrize(
    ("x", "word"), [([1, 2.5, 3], "int64"), ([1, np.nan, 3], "'x1' is missing"), (["one", 2, 3], "int64")]
)
def test_rows_of_an_array_of_whole_numbers(x: Any, word: str) -> None:
    check(lambda: explain(x, represent=vd.Rows(WHOLE)), vd.errors.InputError, word)


def test_a_number_without_bins_may_not_be_missing_either() -> None:
    check(
        lambda: explain([1, np.nan, 2], represent=vd.Rows(ARRAY, discretize=vd.bins.Continuous())),
        vd.errors.InputError, "'x1'", "missing", "fill it in",
    )  # fmt: skip


def test_a_row_outside_the_valid_range() -> None:
    represent = vd.Rows(ARRAY, discretize=vd.bins.Continuous(), ranges={"x0": (-9, 9)})
    check(lambda: explain([50.0, 0, 0], represent=represent), vd.errors.InputError, "'x0'", "range", "50")


def test_a_row_that_is_half_hot() -> None:
    represent = vd.Rows(HOT, onehot={"c": ["c_a", "c_b"]})
    check(
        lambda: explain({"x": 0, "c_a": 1, "c_b": 1}, represent=represent),
        vd.errors.InputError,
        "'c'",
        "exactly one 1",
    )


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (csr_matrix((1, 3)), ("all zeros", "nothing to take away")),
        (csr_matrix((1, 4)), ("3 columns", "4")),
        (csr_matrix(ARRAY[:2]), ("one row", "2", "explain_many")),
        (csr_matrix([[0.0, np.nan, 1.0]]), ("x1", "finite")),
    ],
)
def test_rows_of_a_sparse_matrix(x: Any, words: tuple[str, ...]) -> None:
    check(lambda: explain(x, represent=vd.Rows(csr_matrix(ARRAY))), vd.errors.InputError, *words)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (ARRAY[:0], ("no rows",)),
        ([], ("3 columns",)),
        (None, ("3 columns",)),
        (ARRAY[0], ("3 columns", "(3,)")),
        (ARRAY[:, :2], ("3 columns", "(100, 2)")),
        (np.where(ARRAY[:, [1]] == ARRAY, np.nan, ARRAY), ("'x1'", "missing")),
        (np.where(ARRAY[:, [1]] == ARRAY, np.inf, ARRAY), ("'x1'", "infinite")),
    ],
)
def test_many_rows(X: Any, words: tuple[str, ...]) -> None:
    check(lambda: many(X), vd.errors.InputError, *words)


def test_many_rows_are_all_checked_before_the_model_is_asked() -> None:
    asked = []
    X = TABLE[:50].assign(age=np.inf)
    check(lambda: vd.explain_many(asked.append, rows, X), vd.errors.InputError, "infinite", "'age'")
    assert not asked


@pytest.mark.parametrize(
    "call",
    [
        lambda: vd.explain_many(predict, rows, pd.concat([TABLE, TABLE[["age"]]], axis=1)),
        lambda: explain(pd.Series([*GOOD.values(), 3.0], index=[*GOOD, "age"]), represent=rows),
    ],
)
def test_a_column_that_comes_twice(call: Callable[[], Any]) -> None:
    check(call, vd.errors.InputError, "age", "twice")


# Models ----------------------------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "too few": (lambda X: np.ones(3), ("(3,)", "inputs", "one row, or one number, per input")),
    "too many": (lambda X: np.ones(len(X) + 1), ("inputs", "per input")),
    "one number": (lambda X: 1.0, ("inputs", "per input")),
    "nothing": (lambda X: None, ("None", "per input")),
    "three dimensions": (lambda X: np.ones((len(X), 2, 2)), ("2, 2)", "per input")),
    "transposed": (lambda X: np.ones((2, len(X))), ("(2, ", "per input")),
    "no outputs": (lambda X: np.ones((len(X), 0)), ("without any number",)),
    "unequal": (lambda X: [[1.0]] * (len(X) - 1) + [[1.0, 2.0]], ("predict returned", "per input")),
    "nan": (lambda X: np.where(np.arange(len(X)) == 7, np.nan, X[:, 0]), ("NaN", "1 of", "7", "finite")),
    "infinity": (lambda X: np.full(len(X), np.inf), ("infinity", "finite")),
    "words": (lambda X: np.where(X[:, 0] > 0, "yes", "no"), ("'yes'", "numbers", "predict_proba")),
    "list of words": (lambda X: ["yes"] * len(X), ("'yes'", "numbers", "predict_proba")),
    "words that look like numbers": (
        lambda X: np.where(X[:, 0] > 0, "1", "0"),
        ("'1'", "numbers", "predict_proba"),
    ),
    "objects": (lambda X: np.array([object()] * len(X)), ("numbers",)),
    "complex": (lambda X: X[:, 0] * 1j, ("complex", "numbers")),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_the_model(name: str) -> None:
    model, words = ANSWERS[name]
    message = check(lambda: explain(np.full(3, 0.5), model=model), vd.errors.ModelError, *words)
    assert "np.str_" not in message, "a user's word should look like a word"
    check(
        lambda: vd.explain_many(model, array_rows, ARRAY[:20]),
        vd.errors.ModelError,
        *(w for w in words if w != "7"),
    )


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_raises_in_the_middle(n_jobs: int) -> None:
    calls = []

    def failing(X: Any) -> Any:
        calls.append(len(X))
        if len(calls) >= 2:
            raise MemoryError("out of memory")
        return np.random.default_rng(0).normal(size=len(X))

    method = linear_lime(until=vd.TopK(1, probability=0.999, tolerance=0.0), max_calls=4000)
    with pytest.raises(vd.errors.ModelError) as caught:
        vd.explain(failing, array_rows, ARRAY[0], method=method)
    assert isinstance(caught.value.__cause__, MemoryError)
    assert f"inputs {calls[0]} to {sum(calls) - 1}" in str(caught.value)
    assert "out of memory" in str(caught.value)
    calls.clear()
    with pytest.raises(vd.errors.ModelError) as caught:
        vd.explain_many(failing, array_rows, ARRAY[:9], method=method, n_jobs=n_jobs)
    assert isinstance(caught.value.__cause__, MemoryError)


def test_nan_in_a_later_batch_is_counted_from_the_first_row_on() -> None:
    def failing(X: Any) -> Any:
        answer = np.random.default_rng(0).normal(size=len(X))
        return answer if len(X) == 1025 else np.where(np.arange(len(X)) == 3, np.nan, answer)

    method = vd.Lime(until=vd.TopK(1, probability=0.999, tolerance=0.0), max_calls=4000)
    check(lambda: explain(model=failing, method=method), vd.errors.ModelError, "NaN", "1028")


def test_an_estimator_instead_of_its_method() -> None:
    model = LogisticRegression().fit(ARRAY, ARRAY[:, 0] > 0)
    assert explain(model=model).target is bool(model.predict(ARRAY[:1])[0])
    check(lambda: explain(model=LogisticRegression), vd.errors.InputError, "LogisticRegression is a class")
    check(lambda: explain(model="model"), vd.errors.InputError, "a model is a function", "'model'")
    check(lambda: explain(model=None), vd.errors.InputError, "a model is a function")


# Targets ---------------------------------------------------------------------------------------------------


def two(X: Any) -> Any:
    p = 1 / (1 + np.exp(-X[:, 0]))
    return np.stack([p, 1 - p], axis=1)


TARGETS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "too large": (2, ("no output 2", "0 to 1")),
    "negative": (-1, ("no output -1", "0 to 1")),
    "a float": (1.0, ("a class, a position", "1.0")),
    "a flag": (True, ("a class, a position", "True")),
    "a name without classes": ("cat", ("'cat'", "classes=[")),
    "a mapping": ({}, ("a class, a position", "{}")),
    "an array": (np.array([0]), ("a class, a position", "a list")),
    "none of a list": ([], ("empty", "at least one")),
    "one wrong of a list": ([0, 5], ("no output 5",)),
    "a function of two columns": (lambda o: o, ("one number per row", "(1024, 2)")),
    "a function without an answer": (lambda o: None, ("one number per row",)),
    "a function of words": (lambda o: ["a"] * len(o), ("target function", "number")),
    "a function that raises": (lambda o: o[:, 5], ("target function", "IndexError")),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets(name: str) -> None:
    target, words = TARGETS[name]
    check(lambda: explain(model=two, target=target), vd.errors.InputError, *words)


def test_unknown_class_name() -> None:
    check(
        lambda: explain(model=two, target="cow", classes=["cat", "dog"]),
        vd.errors.InputError,
        "'cow'",
        "'cat', 'dog'",
        "Output(0)",
    )


def test_a_target_function_that_is_not_finite() -> None:
    def logit(outputs: Any) -> Any:
        return np.where(outputs[:, 0] > 0.4, np.inf, 0.0)

    check(lambda: explain(model=two, target=logit), vd.errors.ModelError, "target function", "clipped")


@pytest.mark.parametrize("classes", [["cat"], ["cat", "dog", "cow"]])
def test_classes_that_do_not_fit_the_outputs(classes: Any) -> None:
    check(lambda: explain(model=two, classes=classes), vd.errors.InputError, "classes", "2", str(len(classes)))


def test_many_rows_have_one_target() -> None:
    check(lambda: many(target=[0, 1]), vd.errors.InputError, "one target for all rows", "once for each")
    check(lambda: many(target=3), vd.errors.InputError, "no output 3")


# Methods and the rest --------------------------------------------------------------------------------------

METHODS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "few samples": (lambda: explain(method=vd.Lime(n_samples=4)), ("n_samples is 4", "3 parts", "at least 15")),
    "small budget": (lambda: explain(method=vd.Lime(max_calls=5)), ("max_calls is 5", "3 parts", "at least 16")),
    "many, few samples": (lambda: many(method=vd.Lime(n_samples=4)), ("n_samples is 4", "at least 15")),
    "no samples": (lambda: vd.Lime(n_samples=0), ("n_samples", "at least 1", "0")),
    "half a sample": (lambda: vd.Lime(n_samples=1.5), ("n_samples", "whole number", "1.5")),
    "no budget": (lambda: vd.Lime(max_calls=0), ("max_calls", "at least 1", "0")),
    "no features": (lambda: vd.Lime(n_features=0), ("n_features", "at least 1", "0")),
    "until a number": (lambda: vd.Lime(until=5), ("until", "TopK", "5")),
    "negative width": (lambda: vd.Lime(width=-1), ("width", "positive", "-1")),
    "width in words": (lambda: vd.Lime(width="wide"), ("width", "positive", "'wide'")),
    "kernel a number": (lambda: explain(method=vd.Lime(kernel=0.5)), ("kernel", "0.5", "Gaussian")),
    "select by name": (lambda: explain(method=vd.Lime(n_features=2, select="lasso")), ("select", "'lasso'")),
    "surrogate by name": (lambda: explain(method=vd.Lime(surrogate="tree")), ("surrogate", "'tree'", "Tree()")),
    "surrogate by class": (lambda: explain(method=vd.Lime(surrogate=vd.surrogates.Tree)), ("surrogate", "Tree()")),
    "kernel of nothing": (lambda: explain(method=vd.Lime(kernel=lambda D: 0 * D)), ("kernel", "zero")),
    "kernel below zero": (lambda: explain(method=vd.Lime(kernel=lambda D: -D)), ("kernel", "negative")),
    "kernel of another shape": (lambda: explain(method=vd.Lime(kernel=lambda D: D[:1])), ("kernel", "shape")),
    "top of none": (lambda: vd.TopK(0), ("k", "at least 1", "0")),
    "top of a half": (lambda: vd.TopK(2.5), ("k", "2.5")),
    "sure": (lambda: vd.TopK(5, probability=1.0), ("between 0 and 1", "1.0")),
    "tolerant": (lambda: vd.TopK(5, tolerance=1.0), ("tolerance", "1.0")),
    "gaussian of zero": (lambda: vd.kernels.Gaussian(0.0), ("width", "positive", "0.0")),
    "gaussian in words": (lambda: vd.kernels.Gaussian("wide"), ("width", "positive", "'wide'")),
    "negative ridge": (lambda: vd.surrogates.Linear(ridge=-1.0), ("ridge", "-1.0")),
    "flat tree": (lambda: vd.surrogates.Tree(0), ("max_depth", "at least 1", "0")),
    "tree that selects": (
        lambda: explain(method=vd.Lime(n_features=2, surrogate=vd.surrogates.Tree())),
        ("tree", "its own parts", "n_features"),
    ),
    "method by class": (lambda: explain(method=vd.Lime), ("method", "Lime()")),
    "method by name": (lambda: explain(method="limee"), ("no method is called 'limee'", "'lime'", "vd.Lime()")),
    "represent a table": (lambda: explain(represent=TABLE), ("represent", "vd.Rows(", "DataFrame")),
    "represent by class": (lambda: explain(represent=vd.Rows), ("represent", "vd.Rows(…)")),
    "represent a function": (lambda: explain(represent=predict), ("represent", "vd.Rows(", "function")),
    "no batch": (lambda: many(batch_size=0), ("batch_size", "at least 1", "0")),
    "half a batch": (lambda: many(batch_size=1.5), ("batch_size", "whole number", "1.5")),
    "no jobs": (lambda: many(n_jobs=0), ("n_jobs", "at least 1", "0")),
    "minus two jobs": (lambda: many(n_jobs=-2), ("n_jobs", "-1", "-2")),
    "not a recipe": (lambda: vd.rerun(predict, array_rows, ARRAY[0], {}), ("recipe", "why.recipe")),
    "no recipe": (lambda: vd.rerun(predict, array_rows, ARRAY[0], None), ("recipe", "why.recipe")),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_and_the_rest(name: str) -> None:
    call, words = METHODS[name]
    check(call, vd.errors.InputError, *words)


@pytest.mark.parametrize("rng", [None, -1, 1.5, "a", True, np.random.RandomState(0), [1, 2]], ids=str)
def test_an_rng_that_is_neither_seed_nor_generator(rng: Any) -> None:
    for call in (explain, many):
        check(
            lambda call=call: call(rng=rng),
            vd.errors.InputError,
            "rng",
            "whole number",
            "Generator",
            str(rng)[:10],
        )


# Nothing to see, which is no error -------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.3, -1e9])
def test_a_constant_model_is_no_evidence_and_never_a_ranking(value: float) -> None:
    for method in (vd.Lime(), vd.Lime(n_features=2), vd.Lime(surrogate=vd.surrogates.Tree())):
        why = explain(model=lambda X: np.full(len(X), value), method=method)
        assert "the same answer" in why.verdict.sentence
        assert why.verdict.label == "none"
        assert why.top(3) == []
        assert why.prediction == why.intercept == value
        np.testing.assert_array_equal(why.weights, 0)
        repr(why)


def test_a_model_of_noise_is_not_believed() -> None:
    why = explain(model=lambda X: np.random.default_rng(5).normal(size=len(X)), method=vd.Lime(n_samples=500))
    assert not why.verdict.passed


def test_a_recipe_with_settings_of_ones_own_cannot_be_rerun() -> None:
    why = explain(method=vd.Lime(n_samples=100, kernel=lambda distances: 1 - distances / 2))
    check(lambda: vd.rerun(predict, array_rows, ARRAY[0], why.recipe), vd.errors.InputError, "lambda", "by hand")


def test_a_recipe_with_a_target_function_says_that_it_cannot_be_rerun() -> None:
    def gap(outputs: Any) -> Any:
        return outputs[:, 0] - outputs[:, 1]

    why = explain(model=two, target=gap, method=vd.Lime(n_samples=100))
    check(lambda: vd.rerun(two, array_rows, ARRAY[0], why.recipe), vd.errors.InputError, "gap", "function")


@pytest.mark.parametrize(("name", "said"), [("feature_names", "names"), ("categorical_features", "categorical")])
def test_keywords_of_lime_are_translated(name: str, said: str) -> None:
    check(
        lambda: vd.Rows(ARRAY, **{name: ["a"]}),
        vd.errors.InputError,
        f"Rows has no argument '{name}': here it is {said}",
    )
