"""Does the model rely on a region: exact cases, all modalities, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import veridical as vd

torch.set_num_threads(1)
SIDE, N = 16, 12
GT1 = np.ones((SIDE, SIDE), bool)  # background, the object in the middle
GT1[4:12, 4:12] = False
ALIGNED = vd.Grid(4, 4, fill=vd.fills.Constant(0.0))  # no rectangle lies across the border


class Behind(torch.nn.Module):
    """A network that sees its input through a mask."""

    def __init__(self, mask: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.mask = torch.tensor(mask, dtype=torch.float32)
        self.inner = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(SIDE * SIDE, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)
        )

    def forward(self, x: Any) -> Any:
        return self.inner(x * self.mask)


class Same(Behind):
    def forward(self, x: Any) -> Any:
        return self.inner(x * 0)


def pictures(n: int = N) -> Any:
    return np.random.default_rng(0).random((n, SIDE, SIDE), dtype=np.float32)


def relied(model: Any, region: Any, method: Any, represent: Any = ALIGNED, X: Any = None) -> vd.Verdict:
    X = pictures() if X is None else X
    return vd.debug(model, represent, X, check="reliance", method=method, region=region)


def share(found: vd.Verdict) -> float:
    """Of the explanation, what lies in the region."""
    return {line.name: line.value for line in found.measures}["share of the explanation"]


METHODS = [vd.Occlusion(), vd.gradients.Gradient(), vd.gradients.IntegratedGradients()]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_model_that_sees_the_background_alone_has_share_one(method: Any) -> None:
    found = relied(Behind(GT1).eval(), GT1, method)
    assert share(found) == pytest.approx(1.0, abs=1e-6)
    assert not found.passed
    assert found.measures[-1].nulls["constant"] == pytest.approx(GT1.mean())
    change = {line.name: line for line in found.measures}["change of the output"]
    assert change.value > change.nulls["random parts"] > 0
    assert (found.observed, found.expected) == (change.value, change.nulls["random parts"])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_model_that_cannot_see_the_background_has_share_zero(method: Any) -> None:
    found = relied(Behind(~GT1).eval(), GT1, method)
    assert found.passed
    assert share(found) == pytest.approx(0.0, abs=1e-6)
    change = {line.name: line for line in found.measures}["change of the output"]
    assert change.value == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_constant_model_gives_no_evidence(method: Any) -> None:
    found = relied(Same(GT1).eval(), GT1, method)
    assert found.passed
    assert "No evidence" in found.sentence
    assert np.isnan(found.observed)


def test_gradients_are_exact_where_parts_lie_across_the_border() -> None:
    crossing = vd.Grid(3, 5, fill=vd.fills.Constant(0.0))
    exact = relied(Behind(GT1).eval(), GT1, vd.gradients.Gradient(), crossing)
    assert share(exact) == pytest.approx(1.0, abs=1e-6)
    found = relied(Behind(GT1).eval(), GT1, vd.Occlusion(), crossing)
    assert share(found) < 1
    assert any("across" in note for note in found.notes)


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))


@pytest.mark.parametrize(("region", "passed"), [("a", False), (["d"], True), ({"d", "e"}, True)])
def test_columns(region: Any, passed: bool) -> None:
    X = table()

    def predict(rows: Any) -> Any:
        return 3 * rows["a"].to_numpy() + rows["b"].to_numpy() + 0.5 * rows["c"].to_numpy()

    found = relied(predict, region, vd.Lime(n_samples=256), vd.Rows(X), X)
    assert found.passed is passed
    assert set(found.measures[-1].nulls) == {"constant", "noise", "shuffled", "another"}
    assert found.interval[0] <= found.observed <= found.interval[1]


def test_an_array_names_its_columns_as_rows_does() -> None:
    X = table().to_numpy()
    rows = vd.Rows(X)
    assert not relied(lambda x: 3 * x[:, 2] + x[:, 0], [rows.names[2]], vd.Occlusion(8), rows, X).passed


TEXTS = [f"the film was {how} and {what} today" for how in ("good", "bad", "fine") for what in "pqrstuv"]


def test_words() -> None:
    def predict(texts: Any) -> Any:
        return np.array([0.9 * ("good" in t.split()) + 0.05 * ("today" in t.split()) for t in texts])

    found = relied(predict, "good", vd.Occlusion(), vd.Words(), TEXTS)
    assert not found.passed
    assert found.sentence.startswith("The model relies on “good”, and the explanation shows it")
    assert all("good" in TEXTS[row] for row in found.rows)
    assert relied(predict, ["today"], vd.Occlusion(), vd.Words(), [t for t in TEXTS if "good" in t] * 2).passed


def test_series_and_sounds() -> None:
    X = np.random.default_rng(0).normal(size=(12, 60))
    mask = np.zeros(60, bool)
    mask[:12] = True
    early = relied(lambda x: np.asarray(x)[:, :12].sum(axis=1), mask, vd.Occlusion(), vd.Windows(5), X)
    assert not early.passed
    assert share(early) == pytest.approx(1.0)
    assert relied(lambda x: np.asarray(x)[:, 30:].sum(axis=1), mask, vd.Occlusion(), vd.Slices(5), X).passed


def test_tensors_stay_tensors() -> None:
    X = torch.tensor(pictures())
    assert share(relied(Behind(GT1).eval(), GT1, vd.Occlusion(), ALIGNED, X)) == pytest.approx(1.0, abs=1e-6)


def test_one_mask_an_instance() -> None:
    masks = np.repeat(GT1[None], N, axis=0)
    one, many = (relied(Behind(GT1).eval(), m, vd.gradients.Gradient()) for m in (GT1, list(masks)))
    assert one.observed == many.observed
    assert one.sentence == relied(Behind(GT1).eval(), masks, vd.gradients.Gradient()).sentence


def test_a_model_that_uses_all_alike_is_rarely_said_to_rely_on_one() -> None:
    """False alarms: all columns weigh the same, so that none is relied on more than others."""
    alarms = 0
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(40, 6))
        rows = vd.Rows(X)
        found = vd.debug(lambda x: x.sum(axis=1), rows, X, check="reliance", method=vd.Occlusion(16),
                         region=[rows.names[seed % 6]], rng=seed)  # fmt: skip
        alarms += found.outcome == "failed"
    assert alarms <= 4  # 5 % of 20, and three standard deviations


@pytest.mark.parametrize(
    ("region", "says"),
    [
        (None, "give region="),
        (GT1[:5], "shape"),
        ([GT1] * 3, "12 instances and 3 masks"),
        (["sky"], "names nothing"),
        ([], "region"),
        (7, "region needs names"),
        ([3], "region needs names"),
        (["corner"], "what can be named is row 1, column 1; row 1, column 2; row 1, column 3"),
        (np.zeros((SIDE, SIDE)), "empty"),
        (np.ones((SIDE, SIDE)), "everything"),
        (lambda own: np.ones(3), "shares from 0 to 1, one per feature"),
    ],
)
def test_bad_regions(region: Any, says: str) -> None:
    with pytest.raises(vd.errors.InputError, match=says):
        relied(lambda x: np.asarray(x).sum(axis=(1, 2)), region, vd.Occlusion())


def test_a_rare_word_is_not_enough() -> None:
    texts = ["rare words are here now", *TEXTS]
    with pytest.raises(vd.errors.NotApplicable, match="at least 5 that do"):
        relied(lambda t: np.array([len(x) for x in t]), ["rare"], vd.Occlusion(), vd.Words(), texts[:12])


def test_instances_that_have_a_word_are_looked_for() -> None:
    """A word in one text of ten is in one or none of the few that are drawn; texts without words do not matter."""
    rng = np.random.default_rng(0)
    texts = [
        " ".join(["zeal" * (i % 10 == 0), *rng.choice(["a", "b", "c", "d", "e"], 6)]).strip() for i in range(200)
    ]
    found = relied(
        lambda some: np.array([0.9 * ("zeal" in t) + 0.02 * t.count("a") for t in some]),
        "zeal", vd.Occlusion(), vd.Words(), [*texts, ""],
    )  # fmt: skip
    assert not found.passed
    assert found.measures[0].n == 12
    assert all("zeal" in texts[row] for row in found.rows)


def test_what_may_be_chance_is_not_said_to_be_sure() -> None:
    """Six texts, of which two change much: more than random words would, but it may be chance."""
    texts = [f"good {a} {b} {c} now" for a, b, c in zip("pqrstu", "vwxyzk", "abcdef", strict=True)] * 2
    found = relied(
        lambda some: np.array([("good" in t) * ("p" in t) + 0.1 * ("now" in t) for t in some], float),
        "good", vd.baselines.RandomParts(), vd.Words(), texts,
    )  # fmt: skip
    own = {line.name: line for line in found.measures}["change of the output"]
    assert own.value > own.nulls["random parts"]
    assert found.label == "unclear"
    assert found.sentence.startswith("No sure sign that the model relies")


# Regions that all instances share: what is put in must not be what was there.


N_STAMPED, EDGE = 10, 16
MARK = np.zeros((EDGE, EDGE), bool)
MARK[:4, :4] = True


def stamped(mark: Any) -> Any:
    """Pictures that all have the same in one corner."""
    X = np.random.default_rng(0).random((N_STAMPED, EDGE, EDGE))
    X[:, :4, :4] = mark
    return X


def looks_at_the_mark(X: Any) -> Any:
    return np.asarray(X, dtype=np.float64)[:, :4, :4].mean(axis=(1, 2)) ** 2


def relied_on_mark(X: Any, fill: Any, model: Any = looks_at_the_mark) -> vd.Verdict:
    grid = vd.Grid(4, 4) if fill is None else vd.Grid(4, 4, fill=fill)
    return vd.debug(model, grid, X, check="reliance", method=vd.Occlusion(), region=MARK)


def test_a_watermark_that_all_share_is_replaced_by_the_fill() -> None:
    found = relied_on_mark(stamped(1.0), None)  # a white square: its own mean, too
    assert not found.passed
    assert "relies on this region, and the explanation shows it" in found.sentence
    assert any("In 10 of 10 instances, other instances have the same in the region" in n for n in found.notes)


def test_where_the_fill_is_what_was_there_too_it_does_not_apply() -> None:
    with pytest.raises(vd.errors.NotApplicable, match="this region was not tested: in 10 of 10 instances"):
        relied_on_mark(stamped(1.0), vd.fills.PartMean())


def test_where_others_differ_they_stand_in_as_before() -> None:
    found = relied_on_mark(np.random.default_rng(1).random((N_STAMPED, EDGE, EDGE)), vd.fills.PartMean())
    assert not found.passed
    assert not any("have the same" in note or "left out" in note for note in found.notes)


def test_a_few_that_cannot_be_tested_are_left_out() -> None:
    other = np.roll(MARK, (8, 8), axis=(0, 1))
    regions = np.stack([MARK] * 4 + [other] * 6)  # the first is the same in all pictures
    grid = vd.Grid(4, 4, fill=vd.fills.PartMean())
    found = vd.debug(
        looks_at_the_mark, grid, stamped(1.0), check="reliance", method=vd.Occlusion(), region=list(regions)
    )
    assert any("4 of 10 instances were left out" in note for note in found.notes)


def test_what_the_explanation_did_not_test_is_said() -> None:
    X = stamped(1.0)
    X[:, :4, :4] = np.random.default_rng(3).random((N_STAMPED, 1, 1))  # uniform, of another gray in each
    found = relied_on_mark(X, vd.fills.PartMean())
    assert "relies on this region, and the explanation does not show it" in found.sentence
    assert "the explanation did not test it" in found.sentence
    assert np.isnan(share(found))


def test_a_column_that_never_varies_is_named_as_such() -> None:
    X = np.random.default_rng(4).normal(size=(40, 3))
    X[:, 1] = 7.0
    with pytest.raises(vd.errors.InputError, match="left out, because they never vary in the background: 'x1'"):
        vd.debug(lambda X: X[:, 1], vd.Rows(X), X, check="reliance", method=vd.Occlusion(), region=["x1"])


def test_rows_that_share_a_column_are_drawn_from_the_background() -> None:
    X = np.random.default_rng(4).normal(size=(40, 3))
    some = X[:12].copy()
    some[:, 1] = 1.0
    found = vd.debug(lambda X: X[:, 1], vd.Rows(X), some, check="reliance", method=vd.Occlusion(), region=["x1"])
    assert not found.passed
