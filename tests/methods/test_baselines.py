"""Occlusion, Greedy, Parzen and RandomParts, and all methods through the front door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical as vd
from tests.builders.contracts import Spy, bits, check
from tests.builders.networks import GRADIENTS, LEARNED
from veridical import toys
from veridical.methods.registry import METHODS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
SLOPES = np.array([2.0, -1.0, 0.5, 0.0, 1.0])
TEXTS = [
    "a good film with a good cast",
    "a bad film, a dull plot",
    "good fun and a fine end",
    "the worst cast, a bad end",
    "fine plot but a dull, dull film",
    "so good",
]
QUICK: dict[str, Any] = {
    "contrast": vd.Contrast(n=3),
    "either": vd.methods.Either(vd.methods.Undo(n_draws=4)),
    "counterfactual": vd.methods.Counterfactual(n_draws=3),
    "greedy": vd.baselines.Greedy(n_features=2, n_draws=4),
    "kernel_shap": vd.KernelShap(n_samples=128),
    "lime": vd.Lime(n_samples=128),
    "occlusion": vd.Occlusion(n_draws=4),
    "parzen": vd.baselines.Parzen(n_samples=64),
    "random_parts": vd.baselines.RandomParts(3),
    "sensitivity": vd.Sensitivity(n_draws=4),
    "undo": vd.methods.Undo(n_draws=4),
}
FOR_ROWS = {"contrast"}  # and for nothing else


def linear(X: Any) -> Any:
    return np.asarray(X, float) @ SLOPES


def game(masks: Any) -> Any:
    """Both of parts 0 and 1; part 2 by itself; any of parts 3 and 4; part 5 speaks against it."""
    m = np.asarray(masks)
    return toys.all_of(0, 1)(m) + 2 * m[:, 2] + 0.5 * toys.any_of(3, 4)(m) - 0.25 * m[:, 5]


def classes(X: Any) -> Any:
    p = 1 / (1 + np.exp(-linear(X)))
    return np.stack([1 - p, p], axis=1)


def explain(method: Any, d: int = 6, model: Any = game, rng: int = 0) -> vd.Explanation:
    return vd.explain(model, toys.Game(), d, method=method, rng=rng)


def test_quick_settings_for_every_method() -> None:
    assert {*QUICK, *GRADIENTS, *LEARNED} == set(METHODS)


# Occlusion -----------------------------------------------------------------------------------------------------


def test_a_weight_is_what_the_output_loses() -> None:
    why = explain(vd.Occlusion())
    np.testing.assert_allclose(why.weights, [1, 1, 2, 0, 0, -0.25])
    np.testing.assert_array_equal(why.intervals, np.stack([why.weights] * 2, axis=1))
    assert why.n_calls == 7
    assert why.intercept + why.weights.sum() == pytest.approx(why.prediction)
    assert np.isnan(why.fidelity)
    assert why.verdict.label == "unchecked"
    assert "nan" not in why.verdict.sentence


def test_rows_lose_against_the_mean_of_the_background() -> None:
    """Coverage of 95 % intervals, whose error over 60 seeds of 5 parts is 0.013."""
    rows, truth = vd.Rows(X), SLOPES * X[3]
    mean = rows(X[3]).keeping(np.zeros((2**17, 5), bool), np.random.SeedSequence(0)).mean(axis=0)
    truth = SLOPES * (X[3] - mean)
    inside = []
    for seed in range(60):
        why = vd.explain(linear, rows, X[3], method=vd.Occlusion(n_draws=32), rng=seed)
        inside.append((why.intervals[:, 0] <= truth) & (truth <= why.intervals[:, 1]))
    assert np.mean(np.array(inside)[:, SLOPES != 0]) == pytest.approx(0.95, abs=4 * 0.014)
    assert why.n_calls == 1 + 5 * 32


# Greedy --------------------------------------------------------------------------------------------------------


def test_greedy_takes_away_the_heaviest_again_and_again() -> None:
    why = explain(vd.baselines.Greedy())
    np.testing.assert_allclose(
        why.weights, [1, 0, 2, 0, 0, 0]
    )  # of 0 and 1 the first; then 3 alone changes nothing
    assert why.notes == ("taken away in this order: part 2, part 0; then taking away no other part lowers it",)
    assert why.n_calls == 1 + 6 + 5 + 4
    assert explain(vd.baselines.Greedy(n_features=1)).top(9) == [("part 2", 2.0)]
    assert "1 were wanted" in explain(vd.baselines.Greedy(n_features=1)).notes[0]


def test_greedy_is_a_loop_over_single_removals() -> None:
    """A slow walk of our own, on a game where one removal changes what the next is worth."""
    table = RNG.normal(size=2**7)

    def model(masks: Any) -> Any:
        return table[(np.asarray(masks) @ 2 ** np.arange(7)).astype(int)]

    mask, falls = np.ones((1, 7)), np.zeros(7)
    for _ in range(4):
        left = np.flatnonzero(mask[0])
        after = [float(model(np.where(np.arange(7) == j, 0, mask))[0]) for j in left]
        best = int(np.argmin(after))
        if after[best] >= model(mask)[0]:
            break
        falls[left[best]] = model(mask)[0] - after[best]
        mask[0, left[best]] = 0
    np.testing.assert_allclose(explain(vd.baselines.Greedy(4), 7, model).weights, falls)


def test_greedy_stops_when_the_class_changes() -> None:
    def model(masks: Any) -> Any:
        m = np.asarray(masks)
        p = 0.1 + 0.5 * m[:, 0] + 0.2 * m[:, 1] + 0.1 * m[:, 2]
        return np.stack([1 - p, p], axis=1)

    why = explain(vd.baselines.Greedy(stop_at_flip=True), 4, model)
    assert why.target == 1
    assert [name for name, _ in why.top(9)] == ["part 0"]
    assert "another class" in why.notes[0]
    assert len(explain(vd.baselines.Greedy(), 4, model).top(9)) == 3
    of_other = vd.explain(model, toys.Game(), 4, target=0, method=vd.baselines.Greedy())
    assert not of_other.weights.any()
    assert "does not lower" in of_other.notes[0]


def test_greedy_on_rows_weighs_with_draws_that_chose_nothing() -> None:
    """The largest of many noisy falls is too large; measured again it is not, within 4 standard errors."""
    rows = vd.Rows(X)

    def nothing_but_noise(X: Any) -> Any:
        return np.sin(1e4 * np.asarray(X).sum(axis=1))

    x = max(X, key=lambda x: float(nothing_but_noise(x[None])[0]))  # about 1, so any draw lowers it
    method = vd.baselines.Greedy(n_features=2, n_draws=8)
    second = []
    for seed in range(200):
        why = vd.explain(nothing_but_noise, rows, x, method=method, rng=seed)
        order = why.notes[-1]
        second += [w for name, w in why.top(9) if order.index(name) != order.index(": ") + 2]
    assert abs(np.mean(second)) < 4 * np.std(second) / np.sqrt(len(second))


def test_two_targets_have_two_orders() -> None:
    def model(masks: Any) -> Any:
        m = np.asarray(masks)
        return np.stack([m[:, 0], m[:, 1]], axis=1)

    first, second = vd.explain(model, toys.Game(), 3, target=[0, 1], method=vd.baselines.Greedy())
    assert (first.top(1), second.top(1)) == ([("part 0", 1.0)], [("part 1", 1.0)])


# Random parts ----------------------------------------------------------------------------------------------------


def test_random_parts_are_random_and_say_so() -> None:
    spy = Spy(game)
    chosen = np.zeros(6)
    for seed in range(300):
        why = explain(vd.baselines.RandomParts(2), model=spy, rng=seed)
        chosen += why.weights != 0
        assert np.abs(why.weights).sum() == pytest.approx(abs(why.prediction))
        assert (why.n_calls, len(why.top(9))) == (1, 2)
        assert "at random" in why.verdict.sentence
        assert why.verdict.label == "unchecked"
    assert spy.n_rows == 300
    np.testing.assert_allclose(chosen / 300, 1 / 3, atol=4 * np.sqrt(2 / 9 / 300))
    assert len(explain(vd.baselines.RandomParts(None)).top(9)) == 6
    assert len(explain(vd.baselines.RandomParts(100)).top(9)) == 6


# Parzen ----------------------------------------------------------------------------------------------------------


def paper(points: Any, labels: Any, x: Any, width: float) -> Any:
    """The gradient of S1 / (S0 + S1), S being the sums of windows of each class."""
    near = np.exp(-((points - x) ** 2).sum(axis=1) / (2 * width**2))
    s0, s1 = near[labels == 0].sum(), near[labels == 1].sum()
    pull = near[:, None] * (points - x)
    t0, t1 = pull[labels == 0].sum(axis=0), pull[labels == 1].sum(axis=0)
    return (s0 * t1 - s1 * t0) / (width**2 * (s0 + s1) ** 2)


def test_windows_at_data_give_the_gradient_of_the_paper() -> None:
    rows = (RNG.random((200, 20)) < 0.4).astype(float)
    sparse = csr_matrix(rows)
    labels = (rows[:, 0] + rows[:, 1] > 1).astype(float)
    spy = Spy(lambda S: np.asarray((S[:, 0] + S[:, 1]).todense()).ravel())
    method = vd.baselines.Parzen(sparse, answers=labels, width=1.5)
    why = vd.explain(spy, vd.Rows(sparse), sparse[3], method=method)
    np.testing.assert_allclose(why.weights, paper(rows, labels, rows[3], 1.5)[rows[3] != 0], atol=1e-14)
    assert why.n_calls == spy.n_rows == 1
    asked = vd.explain(spy, vd.Rows(sparse), sparse[3], method=vd.baselines.Parzen(sparse, width=1.5))
    assert asked.n_calls == 201
    assert asked.weights.shape == why.weights.shape


def test_texts_stand_beside_a_text_as_bags_of_words() -> None:
    x = "a good cast but a bad end"
    labels = np.array([1.0, 0, 1, 0, 0, 1])
    why = vd.explain(
        lambda texts: np.zeros(len(texts)), vd.Words(), x, method=vd.baselines.Parzen(TEXTS, labels, width=2.0)
    )
    words = sorted({word.strip(",") for text in [x, *TEXTS] for word in text.split()})
    bags = np.array([[float(w in t.replace(",", "").split()) for w in words] for t in [x, *TEXTS]])
    truth = dict(zip(words, paper(bags[1:], labels, bags[0], 2.0), strict=True))
    np.testing.assert_allclose(why.weights, [truth[name] for name in why.names], atol=1e-14)
    assert why.top(1)[0][0] == "good"


def test_rows_stand_beside_a_row_by_bins_and_by_numbers() -> None:
    labels = (X[:, 0] > 0).astype(float)
    for settings in ({}, {"discretize": vd.bins.Continuous()}):
        rows = vd.Rows(X, **settings)
        why = vd.explain(linear, rows, X[3], method=vd.baselines.Parzen(X, labels, width=1.0))
        points = np.stack([(X[:, j] - X[:, j].mean()) / X[:, j].std() for j in range(5)], axis=1)
        if not settings:
            cuts = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
            bins = (X[:, :, None] > cuts.T).sum(axis=2)
            points = (bins == bins[3]).astype(float)
        np.testing.assert_allclose(why.weights, paper(points, labels, points[3], 1.0), atol=1e-6)


def test_windows_at_samples_find_the_slope_of_a_line() -> None:
    """With windows of width s and samples of spread 1, a slope shrinks to s² / (1 + s²) of it at the center."""
    rows = vd.Rows(X, discretize=vd.bins.Continuous())
    why = vd.explain(linear, rows, X.mean(axis=0), method=vd.baselines.Parzen(n_samples=2**14, width=2.0))
    spread = 0.75**2 * 5 / (1 + 0.75**2 * 5)  # of the samples, by the kernel
    truth = SLOPES * X.std(axis=0) / (1 + 4.0 / spread) * 4.0 / spread / 4.0 * spread
    low, high = why.intervals.T
    assert ((low <= truth * 1.02 + 0.02) & (truth * 0.98 - 0.02 <= high)).all()
    assert why.fidelity > 0.1


def test_a_width_is_chosen_that_sees_other_samples() -> None:
    why = explain(vd.baselines.Parzen())
    assert "1 wide" in why.notes[0] or "2 wide" in why.notes[0]
    assert why.top(1)[0][0] == "part 2"
    assert why.verdict.observed > 0.9
    assert explain(vd.baselines.Parzen(), 6, lambda m: np.full(len(m), 2.0)).verdict.label == "none"


# All of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_many_are_explained_as_each_is_alone_however_the_work_is_cut(name: str) -> None:
    rows = vd.Rows(X)
    whole = vd.explain_many(classes, rows, X[:6], method=QUICK[name], rng=3)
    cut = vd.explain_many(classes, rows, X[:6], method=QUICK[name], rng=3, batch_size=2, n_jobs=2)
    assert [bits(why) for why in whole] == [bits(why) for why in cut]
    if name in FOR_ROWS:
        return
    texts = vd.explain_many(
        lambda T: np.array([float("good" in t) for t in T]), vd.Words(), TEXTS, method=QUICK[name]
    )
    assert len(texts) == len(TEXTS)


@pytest.mark.parametrize("name", QUICK)
def test_an_explanation_can_be_made_again_and_kept(name: str, tmp_path: Any) -> None:
    rows = vd.Rows(X)
    why = vd.explain(classes, rows, X[0], method=QUICK[name], rng=5)
    again = vd.rerun(classes, rows, X[0], why.recipe)
    assert bits(again) == bits(why)
    assert again.recipe == why.recipe
    many = vd.explain_many(classes, rows, X[:3], method=QUICK[name], rng=5)
    assert bits(vd.rerun(classes, rows, X[2], many[2].recipe))[:4] == bits(many[2])[:4]
    for kept in (why, many):
        for ending in ("json", "parquet"):
            kept.save(tmp_path / f"kept.{ending}")
            back = vd.load(tmp_path / f"kept.{ending}")
            pairs = zip(back, kept, strict=True) if isinstance(kept, vd.Explanations) else [(back, kept)]
            assert all(bits(a) == bits(b) for a, b in pairs)
        kept.save(tmp_path / "kept.html")
        assert len(kept.to_frame())


@pytest.mark.parametrize("name", QUICK)
def test_every_view_stays_sensible(name: str) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown = [
        vd.explain(classes, vd.Rows(X), X[0], method=QUICK[name]),
        vd.explain(lambda rows: np.full(len(rows), 0.5), vd.Rows(X), X[0], method=QUICK[name]),
    ]
    if name not in FOR_ROWS:
        goods = lambda T: np.array([float("good" in t) for t in T])  # noqa: E731
        shown.append(vd.explain(goods, vd.Words(), TEXTS[0], method=QUICK[name]))
        shown.append(explain(QUICK[name], 4, lambda m: np.full(len(m), 0.5)))
    for why in shown:
        for text in (repr(why), why._repr_html_(), why.verdict.sentence, *why.notes):
            assert "nan" not in text.lower().replace("name", "")
        pyplot.close(why.plot().figure)


@pytest.mark.parametrize("name", QUICK)
def test_a_pick_of_explanations(name: str) -> None:
    many = vd.explain_many(classes, vd.Rows(X), X[:12], method=QUICK[name], target=1)
    assert len(vd.pick(many, budget=3).chosen) == 3


@pytest.mark.parametrize("name", [name for name in QUICK if name not in {"lime", *FOR_ROWS}])
def test_pipelines_of_words_are_asked_by_their_shortcut(name: str) -> None:
    pipe = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, [1, 0, 1, 0, 0, 1])
    text = " ".join(f"word{i}" for i in range(35)) + " good but dull"
    quick = vd.explain(pipe.predict_proba, vd.Words(), text, method=QUICK[name])
    plain = vd.explain(lambda T: pipe.predict_proba(T), vd.Words(), text, method=QUICK[name])
    np.testing.assert_allclose(quick.weights, plain.weights, atol=1e-9)
    assert quick.n_calls == plain.n_calls


class Plain:
    """A Representation that says nothing of taking parts away."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest

    def __getattr__(self, name: str) -> Any:
        if name in ("keeping", "steady", "honest"):
            raise AttributeError(name)
        return getattr(self.honest, name)


class Own:
    """A representer of them."""

    def __call__(self, x: Any) -> Any:
        return Plain(vd.Rows(X)(x))

    def each(self, X: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("name", ["greedy", "kernel_shap", "occlusion", "random_parts"])
def test_what_a_representation_lacks_is_said(name: str) -> None:
    assert vd.explain(linear, Own(), X[0]).n_calls > 1
    assert vd.explain(linear, Own(), X[0], method=QUICK["parzen"]).n_calls > 1
    check(
        lambda: vd.explain(linear, Own(), X[0], method=QUICK[name]),
        vd.errors.InputError,
        type(QUICK[name]).__name__, "Plain", "keeping(masks, seed)", "Lime",
    )  # fmt: skip


def test_a_field_that_lacks_it_is_named() -> None:
    fields = vd.Fields({"who": vd.Rows(pd.DataFrame({"age": X[:, 0], "size": X[:, 1]})), "note": vd.Words()})
    record = fields({"who": {"age": 0.5, "size": 1.0}, "note": "old client"})
    object.__setattr__(record.fields[0], "representation", Plain(record.fields[0].representation))  # type: ignore[attr-defined]
    check(
        lambda: record.keeping(np.ones((1, 4), bool), np.random.SeedSequence(0)),  # type: ignore[attr-defined]
        vd.errors.InputError,
        "'who'", "Removable",
    )  # fmt: skip


WRONG: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "no draw": (lambda: vd.Occlusion(n_draws=1), ("n_draws", "at least 2", "1")),
    "half a draw": (lambda: vd.Occlusion(n_draws=2.5), ("n_draws", "2.5")),
    "no feature": (lambda: vd.baselines.Greedy(n_features=0), ("n_features", "at least 1")),
    "a word for features": (lambda: vd.baselines.Greedy(n_features="all"), ("n_features", "'all'")),
    "None of greedy": (lambda: vd.baselines.Greedy(n_features=None), ("n_features", "None")),
    "a number for a flag": (lambda: vd.baselines.Greedy(stop_at_flip=1), ("stop_at_flip", "True or False")),
    "one output": (lambda: explain(vd.baselines.Greedy(stop_at_flip=True)), ("stop_at_flip", "single output")),
    "no random part": (lambda: vd.baselines.RandomParts(0), ("n_features", "at least 1")),
    "a narrow window": (lambda: vd.baselines.Parzen(width=0), ("width", "positive", "0")),
    "a word for a width": (lambda: vd.baselines.Parzen(width="wide"), ("width", "'wide'")),
    "answers to nothing": (lambda: vd.baselines.Parzen(answers=[1.0]), ("answers", "data")),
    "one sample": (lambda: vd.baselines.Parzen(n_samples=1), ("n_samples", "at least 2")),
    "data beside masks": (lambda: explain(vd.baselines.Parzen(data=[4, 5])), ("data", "Words", "Rows")),
    "data of another width": (
        lambda: vd.explain(linear, vd.Rows(X), X[0], method=vd.baselines.Parzen(X[:, :3])),
        ("5 columns", "(400, 3)"),
    ),
    "a text for texts": (
        lambda: vd.explain(len, vd.Words(), TEXTS[0], method=vd.baselines.Parzen("good film")),
        ("list of texts", "str"),
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_used_is_refused(name: str) -> None:
    call, words = WRONG[name]
    check(call, vd.errors.InputError, *words)


def test_answers_must_be_those_of_the_data() -> None:
    method = vd.baselines.Parzen(X, answers=np.ones(7))
    check(lambda: vd.explain(linear, vd.Rows(X), X[0], method=method), vd.errors.ModelError, "400", "7")


def test_a_recipe_with_data_cannot_be_followed() -> None:
    why = vd.explain(linear, vd.Rows(X), X[0], method=vd.baselines.Parzen(X, width=1.0))
    assert why.recipe["method"]["data"] == {"object": "ndarray", "size": [400, 5]}
    check(
        lambda: vd.rerun(linear, vd.Rows(X), X[0], why.recipe),
        vd.errors.InputError,
        "recipe",
        "ndarray",
        "by hand",
    )


@pytest.mark.parametrize("name", QUICK)
def test_a_model_that_fails_is_said_to_fail(name: str) -> None:
    def nan(X: Any) -> Any:
        return np.full(len(X), np.nan)

    check(lambda: vd.explain(nan, vd.Rows(X), X[0], method=QUICK[name]), vd.errors.ModelError, "NaN")

    def raises(X: Any) -> Any:
        raise RuntimeError("no such device")

    check(lambda: vd.explain(raises, vd.Rows(X), X[0], method=QUICK[name]), vd.errors.ModelError, "no such device")
    check(
        lambda: vd.explain_many(raises, vd.Rows(X), X[:3], method=QUICK[name]),
        vd.errors.ModelError,
        "no such device",
    )


@pytest.mark.parametrize("name", [name for name in QUICK if name != "lime"])
def test_one_part_alone(name: str) -> None:
    one = np.stack([X[:, 0], np.ones(400)], axis=1)  # a column that never varies is no part
    why = vd.explain(lambda X: 3 * X[:, 0], vd.Rows(one), one[0], method=QUICK[name])
    assert len(why.names) == 1
    assert np.isfinite(why.weights).all()
    assert repr(why)


def test_draws_of_wide_tables_are_asked_about_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of the pieces, there are as many draws, each mask has its own, and the mean is right."""
    from veridical.methods import occlusion

    rows = vd.Rows(X)
    whole = vd.explain(linear, rows, X[0], method=vd.Occlusion(n_draws=400))
    monkeypatch.setattr(occlusion, "MAX_MASK_NUMBERS", 60)
    spy = Spy(linear)
    pieces = vd.explain(spy, rows, X[0], method=vd.Occlusion(n_draws=400))
    assert pieces.n_calls == whole.n_calls == spy.n_rows
    assert max(len(batch) for batch in spy.batches) <= 10
    assert len(np.unique(np.concatenate(spy.batches)[:, 0])) > 390  # no draw comes twice
    error = np.diff(whole.intervals, axis=1)[:, 0] / 2
    np.testing.assert_array_less(np.abs(pieces.weights - whole.weights), 2 * error + 1e-12)
