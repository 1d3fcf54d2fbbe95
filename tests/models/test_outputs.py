"""What a model may answer: copied before it is asked again, and refused in one sentence if it is not numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import veridical as vd
from veridical.models import outputs
from veridical.models.outputs import Model, check_outputs

X = np.random.default_rng(0).normal(size=(200, 4))
ROWS, QUICK = vd.Rows(X), vd.Lime(n_samples=64)


def plain(X: Any) -> Any:
    return X[:, 0] * 2 - X[:, 1]


class Reusing:
    """A model that answers in the same memory each time, as compiled ones do."""

    def __init__(self, wrap: Any = lambda a: a) -> None:
        self.memory, self.wrap = np.empty(100_000), wrap

    def __call__(self, X: Any) -> Any:
        self.memory[: len(X)] = plain(X)
        return self.wrap(self.memory[: len(X)])


def as_tensor(answer: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(answer)


WRAPS = {"array": lambda a: a, "frame": lambda a: pd.DataFrame({"y": a}, copy=False), "tensor": as_tensor}


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize(
    "method",
    [vd.Occlusion(), vd.KernelShap(n_samples=64), vd.Lime(n_samples=9000)],
    ids=lambda m: type(m).__name__,
)
def test_answers_in_memory_that_is_used_again(method: Any, wrap: str) -> None:
    expected = vd.explain(plain, ROWS, X[0], method=method)
    found = vd.explain(Reusing(WRAPS[wrap]), ROWS, X[0], method=method)
    np.testing.assert_array_equal(found.weights, expected.weights)


def test_a_saboteur_that_keeps_the_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "check_outputs", lambda answer, n, first: np.asarray(answer).reshape(n, -1))
    with pytest.raises(AssertionError):
        test_answers_in_memory_that_is_used_again(vd.Occlusion(), "array")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=True),
            st.integers(-(2**70), 2**70),
            st.booleans(),
            st.text(max_size=2),
            st.none(),
            st.datetimes(),
            st.just(pd.NaT),
            st.just(pd.NA),
            st.just(np.datetime64("NaT", "s")),
            st.just(np.timedelta64(3, "D")),
            st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-9, max_value=9),
            st.fractions(min_value=-5, max_value=5),
            st.just(1j),
            st.just(b"1"),
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["list", "array", "series", "frame", "masked"]),
)
def test_answers_are_numbers_or_one_error(values: Any, form: str) -> None:
    """What comes out is what was meant, number by number, or a ModelError; never anything else."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    made = {
        "list": lambda: list(values),
        "array": lambda: column,
        "series": lambda: pd.Series(column),
        "frame": lambda: pd.DataFrame({"a": column, "b": column}),
        "masked": lambda: np.ma.masked_array(np.ones(len(values)), mask=[isinstance(v, str) for v in values]),
    }[form]()
    try:
        found = check_outputs(made, len(values))
    except vd.errors.ModelError:
        return
    if form == "masked":
        assert not any(isinstance(v, str) for v in values)
        return
    assert all(isinstance(v, (bool, int, float, Decimal, Fraction)) for v in values)
    np.testing.assert_array_equal(found[:, 0], [float(v) for v in values])


def test_a_saboteur_that_forgets_masks_and_dates_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """S7: numbers under a mask, and NaT as the smallest of all numbers."""
    monkeypatch.setattr(outputs, "_as_array", np.asarray)
    with pytest.raises(AssertionError):
        test_answers_are_numbers_or_one_error.hypothesis.inner_test(["a"], "masked")
    monkeypatch.setattr(outputs, "_as_numbers", lambda array, answer: array.astype(np.int64).astype(np.float64))
    for name in ("NaT", "durations", "masked"):
        with pytest.raises(pytest.fail.Exception):
            test_answers_that_are_no_numbers(name)


class Lengthless(list[float]):
    def __len__(self) -> int:
        raise RuntimeError("no length")


class Unreadable:
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise KeyError("no array")


WRONG: dict[str, tuple[Any, str]] = {
    "NaT": (lambda n: np.full(n, np.datetime64("NaT", "s")), "dates"),
    "durations": (lambda n: np.full(n, np.timedelta64(1, "D")), "durations"),
    "masked": (lambda n: np.ma.masked_array(np.full(n, 999.0), mask=True), "masked"),
    "texts as objects": (lambda n: np.array(["1"] * n, dtype=object), "'1'"),
    "categories": (lambda n: pd.Series(["1"] * n, dtype="category"), "'1'"),
    "missing": (lambda n: pd.array([None] * n, dtype="Float64"), "NAType|NaN"),
    "beyond floats": (lambda n: 2**62 + np.arange(n), r"beyond 2\*\*53"),
    "no array": (lambda n: Unreadable(), "cannot be read as numbers.*no array"),
    "no length": (lambda n: Lengthless([1.0] * n), "predict returned"),
    "records": (lambda n: np.zeros(n, dtype=[("a", float)]), "real numbers"),
    "labels and scores": (lambda n: [{"label": "a", "score": 0.1}] * n, "dict values"),
    "a generator": (lambda n: (1.0 for _ in range(n)), "generator"),
}


@pytest.mark.parametrize("name", WRONG)
def test_answers_that_are_no_numbers(name: str) -> None:
    make, said = WRONG[name]
    with pytest.raises(vd.errors.ModelError, match=said):
        vd.explain(lambda X: make(len(X)), ROWS, X[0], method=QUICK)


GOOD: dict[str, Any] = {
    "sparse": lambda a: csr_matrix(a[:, None]),
    "series": pd.Series,
    "nullable": lambda a: pd.array(a, dtype="Float64"),
    "integers": lambda a: np.rint(a * 100).astype("i8"),
    "big-endian": lambda a: a.astype(">f8"),
    "an empty mask": lambda a: np.ma.masked_array(a, mask=False),
    "fractions": lambda a: [Fraction(float(v)) for v in a],
}


@pytest.mark.parametrize("name", GOOD)
def test_answers_of_other_kinds_are_read(name: str) -> None:
    found = vd.explain(lambda X: GOOD[name](plain(X)), ROWS, X[0], method=QUICK)
    expected = vd.explain(plain, ROWS, X[0], method=QUICK)
    scale = 100 if name == "integers" else 1
    np.testing.assert_allclose(found.weights / scale, expected.weights, atol=0.02 if scale > 1 else 1e-12)


def test_rows_of_an_answer_in_another_order_are_refused() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))

    def sorts(D: Any) -> Any:
        return (D["a"] * 2).sort_values()

    with pytest.raises(vd.errors.ModelError, match="in another order"):
        vd.explain(sorts, vd.Rows(frame), frame.iloc[0], method=QUICK)
    fine = vd.explain(lambda D: D["a"] * 2, vd.Rows(frame), frame.iloc[0], method=QUICK)
    assert fine.prediction == 2 * X[0, 0]


@pytest.mark.parametrize("turn", [lambda s: s.sort_values(), lambda s: s[::-1]], ids=["sorted", "reversed"])
def test_rows_in_another_order_are_refused_without_an_index_to_compare(turn: Any) -> None:
    with pytest.raises(vd.errors.ModelError, match="in another order"):
        vd.explain(lambda A: turn(pd.Series(plain(A))), ROWS, X[0], method=QUICK)
    with pytest.raises(vd.errors.ModelError, match="in another order"):
        vd.explain(lambda A: turn(pd.Series(plain(A))).to_frame(), ROWS, X[0], method=QUICK)


@pytest.mark.parametrize(("classes", "columns"), [(["no", "yes"], ["yes", "no"]), ([1, 2], ["2", "1"])])
def test_columns_are_found_by_the_names_of_the_classes(classes: Any, columns: Any) -> None:
    def named(A: Any) -> Any:
        p = 1 / (1 + np.exp(-plain(A)))
        return pd.DataFrame({columns[0]: p, columns[1]: 1 - p})

    why = vd.explain(named, ROWS, X[0], classes=classes, target=classes[1], method=QUICK)
    assert why.prediction == pytest.approx(1 / (1 + np.exp(-plain(X[:1])[0])))
    other = vd.explain(named, ROWS, X[0], classes=["a", "b"], target="a", method=QUICK)
    assert other.prediction == why.prediction


class SilentError(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


class OddError(Exception):
    pass


OddError.__name__ = "Odd\x1b[31m\u202e"


@pytest.mark.parametrize(
    "error", [SilentError(), OddError("\x1b[2J"), SystemExit(3), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x")]
)
def test_errors_of_a_model_that_cannot_be_printed(error: BaseException) -> None:
    def failing(X: Any) -> Any:
        raise error

    for call in (lambda: vd.explain(failing, ROWS, X[0]), lambda: vd.explain_many(failing, ROWS, X[:3])):
        with pytest.raises(vd.errors.ModelError, match="predict raised") as found:
            call()
        assert "\x1b" not in str(found.value)
        str(found.value).encode()


def test_errors_elsewhere_that_cannot_be_printed() -> None:
    def failing(*given: Any) -> Any:
        raise SilentError

    with pytest.raises(vd.VeridicalError, match="cannot be printed"):
        vd.explain(plain, ROWS, X[0], target=failing)
    with pytest.raises(vd.VeridicalError, match="cannot be printed"):
        vd.explain(vd.Factory(failing), ROWS, X[0])
    told = vd.debug(plain, ROWS, X, y=X[:, 0] > 0, train=failing, check="randomize").notes
    for twin in ("permuted labels", "untrained twin"):
        (note,) = (each for each in told if each.startswith(twin))
        assert "cannot be printed" in note


def test_two_whole_numbers_are_noted_as_labels() -> None:
    for predict in (
        lambda X: (X[:, 0] > 0).astype(int),
        lambda X: X[:, 0] > 0,
        lambda X: np.where(X[:, 0] > 0, 2.0, 1.0),
    ):
        for why in (
            vd.explain(predict, ROWS, X[0], method=QUICK),
            vd.explain_many(predict, ROWS, X[:2], method=QUICK)[0],
        ):
            assert [note for note in why.notes if "predict_proba" in note], why.notes
    for other in (plain, lambda X: 1 * (X[:, 0] > 0) + (X[:, 1] > 0), lambda X: (X[:, 0] > 0) * 0.5):
        assert not any("predict_proba" in note for note in vd.explain(other, ROWS, X[0], method=QUICK).notes)


def test_a_model_is_not_shown_what_others_may_change() -> None:
    """A copy of the answer is kept, whatever the model does to its own later."""
    memory: list[Any] = []

    def keeps(X: Any) -> Any:
        for each in memory:
            each[:] = 7.0
        memory.append(plain(X))
        return memory[-1]

    model = Model(keeps)
    first = model(X[:5])
    model(X[5:10])
    np.testing.assert_array_equal(first[:, 0], plain(X[:5]))
