"""Closed forms of recognized models against least squares over every row that there is."""

from __future__ import annotations

from itertools import chain, product
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import veridical as vd
from veridical.methods.exact import KnownOutput, KnownPart, KnownRows
from veridical.models.levels import Levels
from veridical.models.structures import structure_of
from veridical.models.trees import IDENTITY_LINK, UnreadableError
from veridical.records import IDENTITY
from veridical.representations.tables.axes import own_codes, table_of_codes
from veridical.surrogates.closed_forms import KeptLaw, Moments, OwnFits, row_shape, total_of_terms

RNG = np.random.default_rng(0)
N = 400
ROWS = pd.DataFrame(
    {
        "a": RNG.integers(0, 4, N).astype(float),
        "b": np.where(RNG.random(N) < 0.2, np.nan, RNG.integers(0, 3, N) * 1.5),
        "c": pd.Categorical(RNG.choice(list("xyz"), N)),
        "d": RNG.integers(0, 3, N),
    }
)
PLAIN = ROWS.assign(b=ROWS["b"].fillna(-1.0), c=ROWS["c"].cat.codes.astype(float)).astype(float)
Y = PLAIN["a"] * PLAIN["b"] - PLAIN["c"] ** 2 * PLAIN["d"] + 0.3 * PLAIN["a"]
TWO = (Y.median() < Y).astype(int)
ENCODED = make_column_transformer(
    (OneHotEncoder(), ["c"]),
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
    remainder="passthrough",
)
LAW = KeptLaw.of((0.25, 0.85), 0.25)
XGB = {"n_estimators": 20, "n_jobs": 1, "max_depth": 3}
LGB = {"n_estimators": 20, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}


def forest() -> Any:
    return RandomForestRegressor(10, random_state=0)


MODELS: dict[str, tuple[Any, str, Any]] = {  # fitted, how it is asked, and the table that it takes
    "forest": (forest().fit(PLAIN, Y), "predict", PLAIN),
    "classes of a forest": (RandomForestClassifier(10).fit(PLAIN, TWO), "predict_proba", PLAIN),
    "extra trees": (ExtraTreesRegressor(5).fit(PLAIN, Y), "predict", PLAIN),
    "boosting": (GradientBoostingRegressor(n_estimators=20).fit(PLAIN, Y), "predict", PLAIN),
    "margin": (GradientBoostingClassifier(n_estimators=9).fit(PLAIN, TWO), "decision_function", PLAIN),
    "histograms": (HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5).fit(ROWS, Y), "predict", ROWS),
    "lightgbm": (lgb.LGBMRegressor(**LGB).fit(ROWS, Y), "predict", ROWS),
    "xgboost": (xgb.XGBRegressor(**XGB, enable_categorical=True).fit(ROWS, Y), "predict", ROWS),
    "bag": (BaggingRegressor(max_features=0.7, n_estimators=5).fit(PLAIN, Y), "predict", PLAIN),
    "bag of classes": (BaggingClassifier(DecisionTreeClassifier(), 5).fit(PLAIN, TWO), "predict_proba", PLAIN),
    "votes": (VotingRegressor([("a", forest()), ("b", Ridge())], weights=[2, 1]).fit(PLAIN, Y), "predict", PLAIN),
    "votes of classes": (
        VotingClassifier(
            [("a", RandomForestClassifier(5)), ("b", LogisticRegression()), ("c", "drop")], voting="soft"
        ).fit(PLAIN, TWO),
        "predict_proba",
        PLAIN,
    ),
    "pipeline": (make_pipeline(ENCODED, forest()).fit(ROWS, Y), "predict", ROWS),
    "sparse pipeline": (
        make_pipeline(OneHotEncoder(), xgb.XGBRegressor(**XGB)).fit(PLAIN, Y),
        "predict",
        PLAIN,
    ),
    "bins": (make_pipeline(KBinsDiscretizer(2, quantile_method="linear"), forest()).fit(PLAIN, Y), "predict", PLAIN),
    "search": (GridSearchCV(GradientBoostingRegressor(n_estimators=5), {"max_depth": [2]}, cv=2).fit(PLAIN, Y), "predict", PLAIN),
    "linear": (LinearRegression().fit(PLAIN, Y), "predict", PLAIN),
    "linear pipeline": (make_pipeline(ENCODED, Ridge()).fit(ROWS, Y), "predict", ROWS),
    "logistic": (LogisticRegression().fit(PLAIN, TWO), "predict_proba", PLAIN),
    "logistic by steps": (SGDClassifier(loss="log_loss").fit(PLAIN, TWO), "predict_proba", PLAIN),
    "exponential": (PoissonRegressor().fit(PLAIN, Y - Y.min()), "predict", PLAIN),
    "naive Bayes": (GaussianNB().fit(PLAIN, TWO), "predict_proba", PLAIN),
    "Bernoulli": (BernoulliNB(binarize=1.0).fit(PLAIN, TWO), "predict_proba", PLAIN),
    "counts": (MultinomialNB().fit(PLAIN.abs(), TWO), "predict_proba", PLAIN.abs()),
    "categories": (
        make_pipeline(OrdinalEncoder(), CategoricalNB()).fit(PLAIN, TWO),
        "predict_proba",
        PLAIN,
    ),
}  # fmt: skip
PAIRS: tuple[list[tuple[int, int]], ...] = ([], [(0, 1)], [(0, 1), (2, 3)], [(0, 1), (0, 2), (1, 3)])


def known(model: Any, method: str, table: Any) -> tuple[Any, KnownOutput]:
    background = vd.Rows(table).background
    parts = [
        KnownPart.of(each, Levels.of(background, each.features)) for each in structure_of(getattr(model, method))
    ]
    k = 2 if method == "predict_proba" else 1
    terms = [part.output(k - 1, k, IDENTITY) for part in parts]
    return background, KnownOutput.of(terms, [part.levels for part in parts], LAW, IDENTITY)


class Enumerated:
    """Every row that there is, what it weighs near one row, and what is said of it; and least squares of that."""

    def __init__(self, background: Any, output: KnownOutput, own: Any) -> None:
        self.shares = [np.append(seen.shares, 0.0) for seen in background.seen]
        sizes = [len(seen.cumulative) for seen in background.seen]
        self.codes = np.array(list(product(*map(range, sizes))))
        self.own, self.sizes = own, sizes
        self.weights = np.zeros(len(self.codes))
        for share, often in zip(LAW.every, LAW.weights, strict=True):
            each = np.full(len(self.codes), often)
            for j, code in enumerate(self.codes.T):
                each *= share * (code == own[j]) + (1 - share) * self.shares[j][code]
            self.weights += each
        self.y = output.answers(
            [levels.assembled(self.codes, np.tile(levels.usual, (len(self.codes), 1))) for levels in output.levels]
        )

    def fit(self, pairs: Any) -> tuple[float, list[Any], list[Any]]:
        """Constant, effects by column, whose means over the background are zero, and by pair, which have no own ones.

        A pair has nothing that its columns say alone near the row.
        """
        single = [[self.codes[:, j] == v for v in range(m)] for j, m in enumerate(self.sizes)]
        double = [[a & b for a, b in product(single[i], single[j])] for i, j in pairs]
        blocks = [[np.ones(len(self.codes))], *single, *double]
        ends = np.cumsum([0, *map(len, blocks)])
        A, root = np.stack([*chain(*blocks)], axis=1).astype(float), np.sqrt(self.weights)[:, None]
        slopes = np.linalg.lstsq(A * root, self.y * root[:, 0], rcond=1e-13)[0]
        found, rest = list[Any](), A @ slopes
        for at, (i, j) in enumerate(pairs, 1 + len(single)):
            together = A[:, ends[at] : ends[at + 1]] @ slopes[ends[at] : ends[at + 1]]
            own = np.hstack([A[:, ends[1 + k] : ends[2 + k]] for k in (i, j)])
            together -= own @ np.linalg.lstsq(own * root, together * root[:, 0], rcond=1e-13)[0]
            rest -= together
            found.append(self._over((i, j), together))
        constant = float(self._over((), rest))
        return constant, [self._over((j,), rest) - constant for j in range(len(single))], found

    def _over(self, kept: Any, values: Any) -> Any:
        """The mean over the background of a function of every row, with some columns given."""
        table, d = values.reshape(self.sizes), len(self.sizes)
        for j in range(d):
            if j not in kept:
                table = np.expand_dims(np.tensordot(table, self.shares[j][: self.sizes[j]], axes=(j, 0)), j)
        return table.reshape([table.shape[j] for j in kept]) if kept else table.ravel()[0]


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.parametrize("pairs", PAIRS, ids=str)
def test_local_models_are_those_of_enumeration(case: str, pairs: Any) -> None:
    model, method, table = MODELS[case]
    background, output = known(model, method, table)
    every = [np.arange(len(shares)) for shares in output.levels[0].shares]
    for number in (3, 77):
        row = background.schema.rows(table, number, number + 1)
        codes, inputs = own_codes(background, row)[0], [each.features(row) for each in output.levels]
        found = total_of_terms(
            [t.moments(x, LAW.shares, pairs).times(f) for (f, t), x in zip(output.terms, inputs, strict=True)]
        )
        assert found.own == pytest.approx(output.answers(inputs), rel=1e-12, abs=1e-12)
        chance = np.stack([[shares[code]] for shares, code in zip(output.levels[0].shares, codes[0], strict=True)])
        fits = OwnFits.of(found, LAW, chance, pairs)
        local = fits.contributions(np.ones((len(pairs), 1), bool))
        shape = row_shape(fits, found, output.tables(inputs, every, pairs), range(len(pairs)))
        constant, single, double = Enumerated(background, output, codes[0]).fit(pairs)
        close = 1e-11 * max(np.abs(output.answers(inputs)).max(), 10.0)
        assert local.intercepts[0] == pytest.approx(constant, abs=close)
        assert local.weights[0] == pytest.approx(
            [s[code] for s, code in zip(single, codes[0], strict=True)], abs=close
        )
        for j, curve in enumerate(shape.curves):
            others = every[j] != codes[0, j]
            assert curve[others] == pytest.approx(single[j][others], abs=close)
        for (i, j), effects, wanted, weight in zip(pairs, shape.pairs, double, local.pairs[0], strict=True):
            rows, columns = every[i] != codes[0, i], every[j] != codes[0, j]
            assert effects[:-1, :-1][rows][:, columns] == pytest.approx(wanted[rows][:, columns], abs=close)
            assert effects[-1, :-1][columns] == pytest.approx(wanted[codes[0, i]][columns], abs=close)
            assert effects[:-1, -1][rows] == pytest.approx(wanted[:, codes[0, j]][rows], abs=close)
            assert effects[-1, -1] == pytest.approx(wanted[codes[0, i], codes[0, j]], abs=close)
            assert weight == pytest.approx(effects[-1, -1], abs=close)


@pytest.mark.parametrize("case", MODELS)
def test_terms_answer_as_the_model_does(case: str) -> None:
    model, method, table = MODELS[case]
    background, output = known(model, method, table)
    wanted = np.asarray(getattr(model, method)(table.iloc[:50]))
    inputs = [each.features(background.schema.rows(table, 0, 50)) for each in output.levels]
    single = "xgboost" in case or "sparse" in case
    assert output.answers(inputs) == pytest.approx(
        wanted[:, -1] if wanted.ndim > 1 else wanted, rel=1e-5 if single else 1e-9, abs=1e-6 if single else 1e-12
    )


def test_rows_together_are_rows_alone() -> None:
    background, output = known(*MODELS["forest"])
    rows = background.schema.rows(PLAIN, 0, 30)
    inputs, codes = [each.features(rows) for each in output.levels], own_codes(background, rows)[0]
    together = KnownRows.of(output, inputs, codes, 3)
    for i in range(30):
        own = slice(i, i + 1)
        alone = KnownRows.of(output, [each[own] for each in inputs], codes[own], 3)
        assert (alone.which[:, 0] == together.which[:, i]).all()
        assert alone.models.weights[0] == pytest.approx(together.models.weights[i], abs=1e-12)
    assert together.which.any()
    assert together.which.sum(axis=0).max() <= 3


def test_a_value_that_was_never_seen_has_its_own_place() -> None:
    background, output = known(*MODELS["forest"])
    row = background.schema.rows(PLAIN, 0, 1).copy()
    row["a"] = 1.4  # between two values
    codes, inputs = own_codes(background, row)[0], [each.features(row) for each in output.levels]
    assert codes[0, 0] == len(background.seen[0].cumulative)
    found = KnownRows.of(output, inputs, codes, 0)
    model = MODELS["forest"][0]
    assert found.found.own[0] == pytest.approx(model.predict(row)[0])


REFUSED: dict[str, tuple[Any, str, Any]] = {
    "products of columns": (make_pipeline(PolynomialFeatures(2), forest()).fit(PLAIN, Y), "predict", PLAIN),
    "classes": (RandomForestClassifier(3).fit(PLAIN, TWO), "predict", PLAIN),
    "several classes": (LogisticRegression().fit(PLAIN, np.arange(N) % 3), "predict_proba", PLAIN),
    "votes": (VotingClassifier([("a", RandomForestClassifier(3))]).fit(PLAIN, TWO), "predict", PLAIN),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_closed_form_is_refused(case: str) -> None:
    model, method, table = REFUSED[case]
    with pytest.raises(UnreadableError):
        known(model, method, table)


def test_a_function_is_not_recognized() -> None:
    with pytest.raises(UnreadableError):
        structure_of(lambda X: X[:, 0])


def test_moments_of_a_broken_term_are_noticed() -> None:
    """The enumeration fails on a sum whose leaf was changed: it tells right from wrong."""
    background, output = known(*MODELS["forest"])
    row = background.schema.rows(PLAIN, 3, 4)
    codes, inputs = own_codes(background, row)[0], [each.features(row) for each in output.levels]
    factor, term = output.terms[0]
    found: Moments = term.moments(inputs[0], LAW.shares, []).times(1.01 * factor)  # type: ignore[attr-defined]
    chance = np.stack([[shares[code]] for shares, code in zip(output.levels[0].shares, codes[0], strict=True)])
    weights = OwnFits.of(found, LAW, chance, []).contributions(np.ones((0, 1), bool)).weights[0]
    _, single, _ = Enumerated(background, output, codes[0]).fit([])
    assert np.abs(weights - [s[code] for s, code in zip(single, codes[0], strict=True)]).max() > 1e-4


def test_levels_know_who_decides_a_feature() -> None:
    model, _, table = MODELS["pipeline"]
    background = vd.Rows(table).background
    (summand,) = structure_of(model.predict)
    assert summand.link == IDENTITY_LINK
    levels = Levels.of(background, summand.features)
    assert levels.owner.tolist() == [2, 2, 2, 0, 1, 3]
    codes = np.array([[0, 1, 2, 0]])
    assert levels.assembled(codes, levels.usual[None]) == pytest.approx(
        summand.features(table_of_codes(background, background.usual, codes))
    )
