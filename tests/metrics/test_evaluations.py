"""Evaluating methods: what is measured, on what, how often the model is asked, and what bad input gives."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical as vd
from tests.builders.networks import GRADIENTS, LEARNED
from veridical.methods.registry import METHODS
from veridical.metrics import METRICS
from veridical.records import Part, Sample
from veridical.sampling.kernels import Gaussian
from veridical.toys import Game

DRAWS = np.random.default_rng(0)
X = DRAWS.normal(size=(200, 4))


def predict(X: Any) -> Any:
    score = 1 / (1 + np.exp(-(2 * np.asarray(X)[:, 0] - np.asarray(X)[:, 1])))
    return np.stack([1 - score, score], axis=1)


def quick(*names: str, **more: Any) -> vd.metrics.Report:
    settings: dict[str, Any] = {"methods": vd.Occlusion(), "metrics": list(names) or None, **more}
    rows = settings.pop("X", X[:10])
    return vd.evaluate(settings.pop("predict", predict), settings.pop("represent", vd.Rows(X)), rows, **settings)


@dataclass(frozen=True)
class Broken:
    """A method that fails on some instances, each in its own way."""

    how: str
    share: float = 0.5

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        found = vd.Occlusion()(model, representation, targets, seed)
        if seed.spawn_key[0] >= 10 * self.share:
            return found
        if self.how == "raises":
            raise ZeroDivisionError("by zero")
        if self.how == "nan":
            return tuple(replace(e, weights=np.full(len(e.weights), np.nan)) for e in found)
        if self.how == "short":
            return tuple(replace(e, weights=e.weights[:-1]) for e in found)
        if self.how == "empty":
            return tuple(replace(e, weights=np.zeros(len(e.weights))) for e in found)
        return ("not an explanation",)


def test_the_function_and_the_package_share_a_name() -> None:
    from veridical.api import evaluate
    from veridical.metrics.reports import Report

    assert evaluate is vd.evaluate
    assert Report is vd.metrics.Report


def test_a_report_has_a_score_for_every_metric_and_row() -> None:
    report = quick("fidelity", "deletion", "size", methods=[vd.Lime(n_samples=100), vd.Occlusion()])
    assert report.methods == ("Lime", "Occlusion")
    assert report.nulls == ("random", "constant", "shuffled Lime", "shuffled Occlusion")
    assert len(report.scores) == 3 * 6
    assert len(report.comparisons) == 3 * (1 + 2 * 3)
    assert report.n_instances == 10
    assert report.n_calls > 0
    for score in report.scores:
        assert score.values.shape == (10,)
        assert score.null == (score.method in report.nulls)
        assert score.mean == pytest.approx(score.values.mean())
        assert score.low < score.mean < score.high or np.ptp(score.values) == 0
    assert len(report.sentences) == 3
    assert report.recipe["rng"] == {"entropy": 0, "spawn_key": []}


def test_the_same_seed_gives_the_same_bits_whatever_else_is_measured() -> None:
    alone = quick("deletion", rng=5)
    among = quick(
        "infidelity", "seeds", "deletion", "nearby_ranks", rng=5, methods=[vd.Occlusion(), vd.baselines.Greedy()]
    )
    for row in ("Occlusion", "random", "constant", "shuffled Occlusion"):
        np.testing.assert_array_equal(alone.score("deletion", row).values, among.score("deletion", row).values)
    other = quick("deletion", rng=6)
    assert (other.score("deletion", "Occlusion").values != alone.score("deletion", "Occlusion").values).any()


def test_the_order_of_methods_does_not_matter() -> None:
    methods = {
        "lime": vd.Lime(n_samples=64),
        "random parts": vd.baselines.RandomParts(),
        "occlusion": vd.Occlusion(8),
    }
    names = ("fidelity", "correlation", "sizes", "max_sensitivity", "deletion")
    for represent in (vd.Rows(X), vd.Rows(X, discretize=vd.bins.Continuous())):
        one, other = (
            quick(*names, methods={name: methods[name] for name in order}, represent=represent, X=X[:12])
            for order in (list(methods), list(methods)[::-1])
        )
        for score in one.scores:
            np.testing.assert_array_equal(score.values, other.score(score.metric, score.method).values)
        p = {(c.metric, frozenset((c.first, c.second))): c.p for c in other.comparisons}
        for c in one.comparisons:
            np.testing.assert_allclose(c.p, p[c.metric, frozenset((c.first, c.second))])


def test_a_method_that_is_very_heavy_does_not_make_null_rows_bad() -> None:
    def heavy(*asked: Any) -> Any:
        return tuple(replace(e, weights=1000 * e.weights) for e in vd.Occlusion()(*asked))

    methods = {"a": vd.Occlusion(), "b": vd.KernelShap(n_samples=64)}
    one, other = (quick("fidelity", methods=m) for m in (methods, {"0": heavy, **methods}))
    for row in ("random", "constant"):
        assert other.score("fidelity", row).mean == pytest.approx(one.score("fidelity", row).mean, abs=1)


def test_explanations_are_made_once() -> None:
    made: Counter[Any] = Counter()

    @dataclass(frozen=True)
    class Counted:
        n_samples: int = 100

        def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
            made[self.n_samples, tuple(seed.spawn_key)] += 1
            return vd.Lime(n_samples=100)(model, representation, targets, seed)

    quick(methods=Counted(), X=X[:3], randomized=lambda X: predict(X[:, ::-1]))
    assert set(made.values()) == {1}
    assert len(made) == 3 * 6  # itself, another seed, half the samples, two instances nearby, another model


def test_parts_are_taken_away_in_one_batch() -> None:
    """All masks of all methods and metrics of an instance reach the model together."""
    sizes: list[int] = []

    def counted(X: Any) -> Any:
        sizes.append(len(X))
        return predict(X)

    names = [m.name for m in METRICS.values() if m.family == "removal"]
    once = quick(*names, predict=counted, X=X[:2], methods=vd.baselines.RandomParts())
    assert len(sizes) == 2 * 3  # for each instance: itself, what the method asks, and what all metrics do
    assert once.n_calls >= sum(sizes)


def test_null_rows_are_as_heavy_as_the_method() -> None:
    seen: dict[str, Any] = {}

    def note(trial: vd.metrics.Trial, rng: np.random.Generator) -> float:
        seen[len(seen)] = trial.explanation  # rows come in order
        return 0.0

    report = quick(
        X=X[:1], metrics=[vd.metrics.Metric("note", note, "higher", "own", "Notes.")], methods=vd.Occlusion()
    )
    own, drawn, same, shuffled = seen.values()
    assert report.nulls == ("random", "constant", "shuffled Occlusion")
    for null in (drawn, same, shuffled):
        assert np.abs(null.weights).sum() == pytest.approx(np.abs(own.weights).sum())
        assert null.intercept + null.weights.sum() == pytest.approx(own.local_prediction)
    assert np.ptp(same.weights) == 0
    np.testing.assert_array_equal(np.sort(shuffled.weights), np.sort(own.weights))


def test_metrics_of_ones_own() -> None:
    mine = vd.metrics.Metric(
        "heaviest", lambda trial, rng: abs(trial.explanation.top(1)[0][1]), "higher", "own", "Own."
    )
    report = quick(metrics=[mine, "size"])
    assert report.score("heaviest", "Occlusion").n == 10
    with pytest.raises(vd.errors.InputError, match="same name"):
        quick(metrics=["size", "size"])
    with pytest.raises(vd.errors.InputError, match="unknown metric 'sized'"):
        quick("sized")
    with pytest.raises(vd.errors.InputError, match="unknown metric 5"):
        quick(metrics=5)
    with pytest.raises(vd.errors.InputError, match="empty"):
        quick(metrics=[])
    with pytest.raises(vd.errors.InputError, match="'higher' or 'lower'"):
        vd.metrics.Metric("m", lambda trial, rng: 0.0, "more", "own", "Own.")
    with pytest.raises(vd.errors.InputError, match="function"):
        vd.metrics.Metric("m", 3, "higher", "own", "Own.")  # type: ignore[arg-type]
    for texts in ((None, "Own."), ("own", 4)):  # a report with these could not be read back
        with pytest.raises(vd.errors.InputError, match="is text, such as"):
            vd.metrics.Metric("m", lambda trial, rng: 0.0, "higher", *texts)  # type: ignore[arg-type]


def test_a_metric_that_raises_leaves_the_others_alone() -> None:
    def bad(trial: vd.metrics.Trial, rng: np.random.Generator) -> float:
        raise KeyError("nothing there")

    def infinite(trial: vd.metrics.Trial, rng: np.random.Generator) -> float:
        return np.inf

    metrics = [
        vd.metrics.Metric("bad", bad, "higher", "own", "Bad."),
        vd.metrics.Metric("infinite", infinite, "higher", "own", "Infinite."),
        "size",
    ]
    report = quick(metrics=metrics)
    assert "KeyError" in report.score("bad", "Occlusion").reason
    assert "inf" in report.score("infinite", "Occlusion").reason
    assert report.score("size", "Occlusion").reason == ""
    assert "not measured" in report.sentences[0]


@pytest.mark.parametrize(
    ("how", "why"),
    [("raises", "ZeroDivisionError: by zero"), ("nan", "NaN"), ("short", r"shape \(3,\)"), ("other", "str")],
)
def test_a_method_that_fails_on_some_instances(how: str, why: str) -> None:
    report = quick("size", "deletion", methods={"broken": Broken(how), "whole": vd.Occlusion()})
    broken, whole = (report.score("size", name) for name in ("broken", "whole"))
    assert (broken.n, whole.n) == (5, 10)
    assert np.isnan(broken.values[:5]).all()
    assert np.isfinite(broken.values[5:]).all()
    assert re.search(why, broken.reason)
    assert "5 of 10" in broken.reason
    assert report.score("size", "shuffled broken").n == 5
    assert report.score("size", "random").n == 10


def test_a_model_that_fails_near_an_instance() -> None:
    """It answers to few rows and not to many: the metric says so, and the others go on."""
    numbers = vd.Rows(X, discretize=vd.bins.Continuous())
    report = quick(
        "size", "fidelity", predict=_raising, represent=numbers, X=X[:6], methods=vd.Lime(n_samples=100)
    )
    assert "not so many" in report.score("fidelity", "Lime").reason
    assert report.score("size", "Lime").n == report.score("size", "shuffled Lime").n == 6


def _raising(rows: Any) -> Any:
    if len(rows) > 200:
        raise ValueError("not so many")
    return np.asarray(rows)[:, 0]


def test_wide_tables_are_asked_a_piece_at_a_time() -> None:
    wide = DRAWS.normal(size=(60, 400))
    largest = []

    def first(rows: Any) -> Any:
        largest.append(rows.shape)
        return rows[:, 0] + rows[:, 1]

    report = quick("monotonicity", "deletion", predict=first, represent=vd.Rows(wide), X=wide[:1],
                   methods=vd.baselines.RandomParts(n_features=None))  # fmt: skip
    assert report.score("monotonicity", "RandomParts").n == 1
    assert report.score("deletion", "RandomParts").n == 1
    assert max(np.prod(shape) for shape in largest) <= 8192 * 400


def test_empty_explanations() -> None:
    report = quick("size", "entropy", "deletion", "seeds", methods=Broken("empty", 1.0))
    assert report.score("size", "Broken").mean == 0
    assert "empty" in report.score("entropy", "Broken").reason
    assert report.score("deletion", "Broken").n == 10  # in an order drawn at random


def test_methods_that_fail_everywhere_say_why() -> None:
    with pytest.raises(ZeroDivisionError, match="by zero"):
        quick("size", methods=Broken("raises", 1.0))

    def bad(X: Any) -> Any:
        raise ValueError("no such column")

    with pytest.raises(vd.errors.ModelError, match="no such column"):
        quick("size", predict=bad)


def test_bugs_of_our_own_are_not_taken_for_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*given: Any) -> Any:
        raise TypeError("a bug")

    with monkeypatch.context() as patch:
        patch.setitem(METRICS, "size", replace(METRICS["size"], measure=bug))
        with pytest.raises(TypeError, match="a bug"):
            quick("size")
        assert "a bug" in quick("size", methods=Broken("other", 0.0)).score("size", "Broken").reason
    with monkeypatch.context() as patch:
        patch.setattr(vd.baselines.Greedy, "__call__", bug)
        with pytest.raises(TypeError, match="a bug"):
            quick("size", methods=[vd.Occlusion(), vd.baselines.Greedy()])


def test_a_number_of_samples_that_is_no_number_cannot_be_halved() -> None:
    @dataclass(frozen=True)
    class Own:
        n_samples: str = "many"

        def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
            return vd.Occlusion()(model, representation, targets, seed)

    report = quick("sizes", "size", methods=Own(), X=X[:2])
    assert "no number of samples" in report.score("sizes", "Own").reason
    assert report.score("size", "Own").n == 2


def test_null_rows_are_made_of_a_method_that_most_metrics_can_measure() -> None:
    """Nor which of them the null rows are made from, where one says what numbers do by degrees."""
    methods = [vd.Lime(n_samples=100), vd.Occlusion(n_draws=8)]
    names = ("fidelity", "infidelity", "max_sensitivity", "sizes", "deletion")
    for numbers in (vd.bins.Continuous(), vd.bins.Quantiles()):
        represent = vd.Rows(X, discretize=numbers)
        one, two = (quick(*names, represent=represent, methods=m, X=X[:4]) for m in (methods, methods[::-1]))
        for score in one.scores:
            np.testing.assert_array_equal(score.values, two.score(score.metric, score.method).values)
        assert one.score("fidelity", "random").n == 4


@pytest.mark.parametrize(
    ("returned", "told"),
    [(None, "returned NoneType"), ((), "returned 0 of them"), ([{"x0": 1.0}], "returned dict in it")],
)
def test_a_method_of_ones_own_that_returns_no_explanations(returned: Any, told: str) -> None:
    def method(*asked: Any) -> Any:
        return returned

    for explain in (
        lambda: vd.explain(predict, vd.Rows(X), X[0], method=method),
        lambda: vd.explain_many(predict, vd.Rows(X), X[:2], method=method),
        lambda: quick("size", methods=method),
    ):
        with pytest.raises(vd.errors.InputError, match=f"tuple of explanations, one per target.*{told}"):
            explain()
    beside = quick("size", methods={"bad": method, "good": vd.Occlusion()})
    assert told in beside.score("size", "bad").reason
    assert beside.score("size", "good").n == 10


def test_methods_by_name() -> None:
    named = quick("size", methods=[vd.Lime(n_samples=64), vd.Lime(n_samples=128), vd.Lime(n_samples=128)])
    assert named.methods == ("Lime(n_samples=64)", "Lime(n_samples=128)", "Lime(n_samples=128) 2")
    assert quick("size", methods={"mine": vd.Occlusion()}).methods == ("mine",)
    with pytest.raises(vd.errors.InputError, match="empty"):
        quick("size", methods=[])
    for nothing in (None, [None], {"mine": None}):
        with pytest.raises(vd.errors.InputError, match="None is no method"):
            quick("size", methods=nothing)
    with pytest.raises(vd.errors.InputError, match="same name: 1, 1"):
        quick("size", methods={1: vd.Occlusion(), "1": vd.Occlusion()})
    with pytest.raises(vd.errors.InputError, match="null baseline"):
        quick("size", methods={"random": vd.Occlusion()})
    with pytest.raises(vd.errors.InputError, match="settings"):
        quick("size", methods=[vd.Lime])
    with pytest.raises(vd.errors.InputError, match="another purpose"):
        quick("size", methods=[vd.groupings.Gime()])
    assert quick("size", methods=["occlusion"]).methods == ("Occlusion",)
    with pytest.raises(vd.errors.InputError, match="did you mean 'lime'"):
        quick("size", methods=["limee"])


def test_one_instance() -> None:
    report = quick("deletion", "size", X=X[:1])
    score = report.score("deletion", "Occlusion")
    assert np.isfinite(score.mean)
    assert np.isnan([score.low, score.high]).all()
    assert all(np.isnan(c.p) for c in report.comparisons)
    assert report.ranking("deletion") == [(1, "Occlusion")]
    assert "one instance" in report.notes[0]
    assert "Occlusion" in report.sentences[0]


def test_few_instances_are_said_to_be_too_few() -> None:
    assert "at least 7 are needed for 3 comparisons" in quick("size", X=X[:5]).notes[0]
    assert quick("size", X=X[:7]).notes == ()


def test_one_class() -> None:
    """A model that always says the same: nothing to measure, and the reasons say so."""
    report = quick(predict=lambda X: np.ones((len(X), 1)), methods=[vd.Lime(), vd.Occlusion()])
    assert "does not change" in report.score("deletion", "Lime").reason
    assert "empty" in report.score("entropy", "Lime").reason
    assert report.score("size", "Lime").mean == 0


def test_targets() -> None:
    classes = ["no", "yes"]
    by_name = quick("comprehensiveness", target="yes", classes=classes)
    by_index = quick("comprehensiveness", target=1)
    by_function = quick("comprehensiveness", target=lambda outputs: outputs[:, 1])
    for other in (by_index, by_function):
        for row in ("Occlusion", "constant"):
            one, two = (r.score("comprehensiveness", row).values for r in (by_name, other))
            np.testing.assert_allclose(one, two)
    assert by_function.recipe["target"] == {"function": "<lambda>"}
    with pytest.raises(vd.errors.InputError, match="one target"):
        quick("size", target=[0, 1])
    with pytest.raises(vd.errors.InputError, match="no output 7"):
        quick("size", target=7)


def test_truth_that_does_not_fit() -> None:
    for bad, why in (
        ([np.ones(3, bool)] * 10, r"shape \(3,\)"),
        ([{"x9"}] * 10, "none of the truth's names"),
        ([np.array([0.0, 2.0, 0.0, 0.0])] * 10, "shares from 0 to 1"),
        ([np.zeros(4)] * 10, "empty"),
        ([{"x0"}] * 9, "9 items"),
        ("x0", "one item per instance"),
        ({"x0"}, "one item per instance"),
    ):
        with pytest.raises(vd.errors.InputError, match=why):
            quick("recall", truth=bad)
    good, bad = [{"x0", "x1"}] * 8, [np.ones(7), None]
    for truth in (good + bad, bad + good):
        score = quick("recall", truth=truth).score("recall", "Occlusion")
        assert (score.n, score.mean) == (8, 1)
        assert "shape (7,)" in score.reason


def test_truth_goes_on_where_an_instance_has_none_of_it() -> None:
    def count(texts: Any) -> Any:
        return [float(text.count("good")) for text in texts]

    texts = ["short", "a bad film", "a good film", "a good print"]  # the first has too few parts
    for truth in ([{"good"}] * 4, [set(), set(), {"good"}, {"good"}]):
        report = vd.evaluate(count, vd.Words(), texts, methods=vd.Occlusion(), metrics=["recall"], truth=truth)
        score = report.score("recall", "Occlusion")
        assert (score.n, score.mean) == (2, 1)
        assert "empty" in score.reason if not truth[0] else "features are called a, bad, film" in score.reason


def test_what_does_not_apply_is_left_out_unless_it_is_named() -> None:
    assert not {"recall", "randomization"} & {m.name for m in quick(X=X[:2]).metrics}
    named = quick("recall", "randomization", "size")
    assert "no truth" in named.score("recall", "Occlusion").reason
    assert "no randomized model" in named.score("randomization", "Occlusion").reason
    assert named.score("size", "Occlusion").n == 10


@dataclass(eq=True)
class Toggled:
    """Not even hashable."""

    x: np.ndarray
    notes: tuple[str, ...] = ()
    kernel: Any = field(default_factory=lambda: Gaussian(0.5))

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(f"p{j}", f"p{j}", "=", 1) for j in range(len(self.x)))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parts)

    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return Game()(len(self.x)).draw(kernel, seed, start, stop)

    def enumerate(self, kernel: Any, limit: int) -> None:
        return None

    def realize(self, sample: Sample) -> Any:
        return sample.designs * self.x


@dataclass(frozen=True)
class Listing:
    items: Any

    def __len__(self) -> int:
        return len(self.items)

    def batch(self, start: int, stop: int) -> list[Any]:
        return [Toggled(x) for x in self.items[start:stop]]

    def inputs(self, start: int, stop: int) -> Any:
        return self.items[start:stop]


class Own:
    def __call__(self, x: Any) -> Any:
        return Toggled(x)

    def each(self, X: Any) -> Listing:
        return Listing(X)


def test_a_representation_of_ones_own_that_cannot_take_parts_away() -> None:
    report = quick(represent=Own(), methods=[vd.Lime(n_samples=64), vd.Occlusion()], X=X[:8])
    assert report.score("fidelity", "Lime").n == 8
    assert report.score("seeds", "Lime").n == 8
    assert "Removable" in report.score("deletion", "Lime").reason
    assert "Removable" in report.score("size", "Occlusion").reason  # the method wants it, too
    assert report.score("size", "Lime").reason == ""


def table() -> pd.DataFrame:
    n = 120
    frame = pd.DataFrame(
        {
            "age": DRAWS.integers(18, 80, n),
            "income": DRAWS.lognormal(10, 0.5, n),
            "job": DRAWS.choice(["clerk", "cook", "none"], n),
            "city": pd.Categorical(DRAWS.choice(["ulm", "aix"], n)),
        }
    )
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "job"] = None
    return frame


def of_table(rows: Any) -> Any:
    risky = (rows["age"] - 50) / 10 + 2.0 * (rows["job"] == "clerk") - 1.5 * rows["income"].isna()
    return 1 / (1 + np.exp(-risky.to_numpy(float)))


FRAME = table()
TEXTS = [" ".join(DRAWS.choice(["good", "bad", "fine", "film", "plot", "cast"], 9)) for _ in range(60)]
PICTURES = DRAWS.integers(0, 255, (7, 16, 16, 3), dtype=np.uint8)
RECORDS = [{"text": t, "age": float(a)} for t, a in zip(TEXTS[:7], DRAWS.integers(20, 60, 7), strict=True)]
LEFT = np.zeros((16, 16), bool)
LEFT[:, :8] = True
EARLY = np.arange(400) < 100


@cache
def pipeline() -> Any:
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        TEXTS, [t.count("good") > t.count("bad") for t in TEXTS]
    )


def sparse_case() -> tuple[Any, ...]:
    counts = csr_matrix(pipeline()[0].transform(TEXTS))
    return pipeline()[1].predict_proba, vd.Rows(counts), counts[:7], None


CASES: dict[str, Any] = {  # what is asked, by which representer, of which rows, and what is right
    "table": (of_table, vd.Rows(FRAME), FRAME[:7], [{"age", "job", "income"}] * 7),
    "numbers": (
        of_table,
        vd.Rows(FRAME.astype({"age": float}), discretize=vd.bins.Continuous()),
        FRAME.astype({"age": float})[:7],
        [{"age", "job", "income"}] * 7,
    ),
    "sparse": sparse_case,
    "text": lambda: (pipeline().predict_proba, vd.Words(), TEXTS[:7], [{"good", "bad"}] * 7),
    "picture": (lambda x: x[:, :, :8].mean(axis=(1, 2, 3)), vd.Grid(4, 4), PICTURES, [LEFT] * 7),
    "series": (
        lambda x: np.asarray(x)[:, :100].max(axis=1),
        vd.Windows(8),
        DRAWS.normal(size=(7, 400)),
        [EARLY] * 7,
    ),
    "sound": (
        lambda x: np.abs(np.asarray(x)[:, :100]).mean(axis=1),
        vd.Slices(8),
        list(DRAWS.normal(size=(7, 400))),
        [EARLY] * 7,
    ),
    "tiles": (
        lambda x: np.abs(np.asarray(x)[:, :100]).mean(axis=1),
        vd.Tiles(4, 2, rate=400),
        list(DRAWS.normal(size=(7, 400))),
        [EARLY] * 7,
    ),
    "fields": (
        lambda rs: np.array([r["text"].count("good") + r["age"] / 30 for r in rs]),
        vd.Fields({"text": vd.Words(), "age": vd.Rows(pd.DataFrame({"age": DRAWS.uniform(20, 60, 99)}))}),
        RECORDS,
        None,
    ),
}


@pytest.mark.parametrize("kind", CASES)
def test_every_modality(kind: str) -> None:
    """Every metric gives a number, and the right explanations are better than those that know nothing."""
    case = CASES[kind]
    ask, represent, rows, truth = case() if callable(case) else case
    methods = [vd.Lime(n_samples=256), vd.Occlusion()]
    report = vd.evaluate(ask, represent, rows, methods=methods, truth=truth, randomized=ask)
    for metric in report.metrics:
        for row in (*report.methods, *report.nulls):
            score = report.score(metric.name, row)
            if metric.family == "truth" and truth is None:
                assert score.reason
            else:
                assert score.n == 7, (metric.name, row, score.reason)
    for name, sign in (("deletion", -1), ("insertion", 1), ("faithfulness_correlation", 1), ("infidelity", -1)):
        for method in report.methods:
            for null in ("random", f"shuffled {method}"):
                gap = report.score(name, method).mean - report.score(name, null).mean
                assert sign * gap > 0, (name, method, null)
    for null in ("random", "constant"):
        if truth is not None:
            assert report.score("mass", "Occlusion").mean > report.score("mass", null).mean


def test_pictures_of_unequal_size_reach_the_model_as_arrays() -> None:
    def mean_of(x: np.ndarray) -> np.ndarray:
        assert x.ndim == 4
        return x.mean(axis=(1, 2, 3))

    report = vd.evaluate(mean_of, vd.Grid(2, 2), [PICTURES[0], PICTURES[1][:12]], methods=vd.Occlusion())
    assert report.score("deletion", "Occlusion").n == 2


@pytest.mark.parametrize("name", [name for name in METHODS if name not in {**GRADIENTS, **LEARNED}])
def test_every_method_can_be_evaluated(name: str) -> None:
    report = quick("deletion", "seeds", "nearby_ranks", "size", methods=METHODS[name](), X=X[:3])
    assert all(report.score(m.name, report.methods[0]).n == 3 for m in report.metrics), report.scores


@dataclass(frozen=True)
class Guess:
    """Random weights of a kind of its own."""

    tag: int

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        made = vd.Occlusion()(model, representation, targets, seed)
        key = (*seed.spawn_key, self.tag)
        draws = np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key))
        return tuple(replace(e, weights=draws.exponential(size=len(e.weights))) for e in made)


def test_methods_that_are_alike_are_hardly_ever_told_apart() -> None:
    """20 reports on two methods that guess, three metrics each."""
    names = ("deletion", "faithfulness_correlation", "entropy")
    methods, claims = {"one": Guess(1), "other": Guess(2)}, 0
    for i in range(20):
        report = vd.evaluate(
            lambda m: np.asarray(m) @ np.arange(6.0), Game(), [6] * 12, methods=methods, metrics=names, rng=i
        )
        claims += sum(c.p < 0.05 for c in report.comparisons if (c.first, c.second) == ("one", "other"))
    assert claims <= 6  # of 60, for which 1 in 20 would be 3, and adjusted for seven pairs fewer than 1


def test_the_table_is_not_changed() -> None:
    before = FRAME.copy(deep=True)
    vd.evaluate(of_table, vd.Rows(FRAME), FRAME[:3], methods=vd.Occlusion())
    pd.testing.assert_frame_equal(FRAME, before)


def test_progress_is_a_wrapper_of_the_callers() -> None:
    seen: list[int] = []

    def track(work: Any, total: int) -> Any:
        for item in work:
            seen.append(total)
            yield item

    quick("size", progress=track)
    assert seen == [10] * 10


def test_unknown_names_are_told() -> None:
    report = quick("size")
    with pytest.raises(vd.errors.InputError, match="no metric 'sizes'"):
        report.score("sizes", "Occlusion")
    with pytest.raises(vd.errors.InputError, match="no method 'Lime'"):
        report.score("size", "Lime")


def test_no_interval_goes_beyond_what_a_metric_can_be(tmp_path: Path) -> None:
    truth = [{"x0"}] * 5
    report = quick(
        *METRICS, X=X[:5], truth=truth, randomized=predict, methods=[vd.Lime(n_samples=64), vd.baselines.Greedy(1)]
    )
    known = [score for score in report.scores if score.n > 1]
    assert {score.metric for score in known} == set(METRICS)
    for score in known:
        metric = METRICS[score.metric]
        assert metric.least <= np.nanmin(score.values) <= np.nanmax(score.values) <= metric.most
        assert metric.least <= score.low <= score.mean <= score.high <= metric.most
    report.save(tmp_path / "report.json")
    kept = vd.load(tmp_path / "report.json").metrics
    assert [(m.name, m.least, m.most) for m in kept] == [(m.name, m.least, m.most) for m in METRICS.values()]
