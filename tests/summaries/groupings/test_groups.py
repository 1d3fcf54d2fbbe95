"""Groups through the front door: what they promise and find, what their words mean, what is refused."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge

import veridical as vd
from veridical.records import Output
from veridical.representations.spaces import space_of
from veridical.sampling.kernels import Gaussian
from veridical.summaries.groupings.gates import Softmax, TreeGate
from veridical.summaries.groupings.groups import ScoredGroups, _choose_fewest, describe_regions
from veridical.summaries.groupings.tasks import GroupingResult, GroupingTask, LinearModels, Neighbors, dense

QUICK = vd.groupings.Mixture(n_starts=2, rounds=6)
X = np.random.default_rng(0).normal(size=(120, 4)) * [1, 2, 0.5, 10] + [0, 5, 0, -3]
ROWS = vd.Rows(X)
GAP = X.copy()
GAP[7, 1] = np.nan


def bent(X: Any) -> Any:
    return np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2] - 1) + 0.1 * X[:, 3]


@dataclass
class Asked:
    """A model that remembers what it was given."""

    predict: Callable[[Any], Any]
    seen: list[Any] = field(default_factory=list)

    def __call__(self, X: Any) -> Any:
        self.seen.append(X.copy())
        return self.predict(X)


@dataclass(frozen=True)
class Watched:
    """A method that shows its task."""

    method: Any
    tasks: list[GroupingTask] = field(default_factory=list)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        self.tasks.append(task)
        found: GroupingResult = self.method(task)
        return found


def group(predict: Any = bent, represent: Any = ROWS, instances: Any = X, **settings: Any) -> Any:
    return vd.group(predict, represent, instances, **{"k": 2, "method": QUICK, **settings})


@cache
def bent_groups() -> Any:
    return group(k=3, n_features=2)


MOODS = ["good film", "bad film", "good plot", "bad plot", "a good cast", "a bad cast"] * 12


def mood(texts: Any) -> Any:
    return np.array([("good" in t.split()) - ("bad" in t.split()) for t in texts], float)


@cache
def mood_groups() -> Any:
    return group(mood, vd.Words(), MOODS, n_features=2)


# What is promised ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("groups", "instances"), [(bent_groups, X), (mood_groups, MOODS)])
def test_what_groups_say_of_instances_goes_together(groups: Any, instances: Any) -> None:
    groups = groups()
    p = groups.assign(instances)
    assert p.shape == (len(instances), groups.k)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert groups.sizes.sum() == len(instances)
    np.testing.assert_array_equal(groups.sizes, np.bincount(p.argmax(axis=1), minlength=groups.k))
    np.testing.assert_array_equal(groups.coverage(instances), p.max(axis=1))
    rows = dense(groups.space.rows(groups.space.read(instances)))
    said = groups.predict(instances)
    for i in range(0, len(instances), 10):
        member = groups.explain(instances[i])
        own = int(p[i].argmax())
        assert member.group == own
        assert member.region == groups.regions[own]
        np.testing.assert_allclose(member.probabilities, p[i], rtol=1e-9)
        np.testing.assert_array_equal(member.values, rows[i])
        np.testing.assert_array_equal(member.weights, groups.weights[own])
        wanted = float(rows[i] @ groups.weights[own] + groups.intercepts[own])
        np.testing.assert_allclose([member.prediction, said[i]], wanted)


def test_weights_and_their_intervals() -> None:
    chosen = bent_groups().weights != 0
    assert chosen.sum(axis=1).max() <= 2
    low, high = bent_groups().intervals[..., 0], bent_groups().intervals[..., 1]
    assert (low[chosen] < bent_groups().weights[chosen]).all()
    assert (high[chosen] > bent_groups().weights[chosen]).all()
    np.testing.assert_array_equal(bent_groups().intervals[~chosen], 0)
    assert bent_groups().ceiling <= bent_groups().error


def test_the_model_is_not_asked_afterwards() -> None:
    model = Asked(bent)
    groups = group(model, method=vd.groupings.GlobalLinear())
    n = len(model.seen)
    groups.assign(X)
    groups.predict(X)
    groups.explain(X[0])
    assert len(model.seen) == n


@pytest.mark.parametrize("method", [QUICK, vd.groupings.Gime(rounds=2, steps=(3, 5)), vd.groupings.ModelTree()])
def test_calls_are_the_inputs_that_the_model_got(method: Any) -> None:
    for settings in ({}, {"target": 0}, {"k": [1, 3]}, {"validation": X[:30]}):
        model = Asked(lambda X: np.column_stack([bent(X), -bent(X)]))
        groups = group(model, method=method, **settings)
        assert groups.n_calls == sum(map(len, model.seen))
    texts = Asked(mood)
    assert group(texts, vd.Words(), MOODS, method=method).n_calls == sum(map(len, texts.seen))


def test_the_same_seed_gives_the_same_bits_whatever_came_before() -> None:
    group(rng=8)
    np.random.default_rng(0).normal(size=10)
    again, other = group(k=3, n_features=2), group(k=3, n_features=2, rng=1)
    np.testing.assert_array_equal(again.weights, bent_groups().weights)
    np.testing.assert_array_equal(again.intervals, bent_groups().intervals)
    np.testing.assert_array_equal(again.assign(X), bent_groups().assign(X))
    assert again.fidelity == bent_groups().fidelity
    assert other.fidelity != bent_groups().fidelity


def test_pickled_groups_are_the_same() -> None:
    for groups, instances in ((bent_groups(), X), (mood_groups(), MOODS)):
        again = pickle.loads(pickle.dumps(groups))
        np.testing.assert_array_equal(again.assign(instances), groups.assign(instances))
        np.testing.assert_array_equal(again.predict(instances), groups.predict(instances))
        assert repr(again) == repr(groups)


# Held out --------------------------------------------------------------------------------------------------


def test_some_instances_are_held_out() -> None:
    """Some to choose by, and others to measure by, which the method never sees."""
    watched, model = Watched(vd.groupings.GlobalLinear()), Asked(bent)
    groups = group(model, method=watched)
    learned, chosen = (set(points.source.tolist()) for points in (watched.tasks[0].points, watched.tasks[0].held))
    assert not learned & chosen
    assert len(chosen) == round(0.15 * len(X))
    assert len(learned | chosen) == len(X) - round(0.1 * len(X))
    measured = [rows for rows in model.seen[1:] if len(rows) == 10 * round(0.1 * len(X))]
    assert len(measured) == 1
    left = np.square(groups.predict(measured[0]) - bent(measured[0]))
    np.testing.assert_allclose(groups.fidelity, 1 - left.mean() / bent(measured[0]).var())


def test_validation_is_used_and_not_learned_from() -> None:
    """Somewhere else the model does something else: the fidelity says so, the explanations do not know."""
    far = X + 1e4

    def predict(rows: Any) -> Any:
        return np.where(rows[:, 0] > 5e3, 1e3 * rows[:, 1], rows[:, 2])

    def inside(rows: Any) -> Any:
        return rows[:, 0] > 5e3

    model, watched = Asked(predict), Watched(vd.groupings.GlobalLinear())
    one = group(model, method=watched, validation=X[:40])
    other = group(model, method=watched, validation=far[:40])
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.fidelity > 0.99
    assert other.fidelity < 0
    assert one.sizes.sum() == other.sizes.sum() == len(X)
    assert [len(task.points) for task in watched.tasks] == [len(X)] * 2
    assert sum(int(inside(rows).sum()) for rows in model.seen) == 40 * 10


def test_fidelity_is_the_share_of_variance_around_held_out_instances() -> None:
    held = X[:50]
    model = Asked(bent)
    groups = group(model, method=vd.groupings.GlobalLinear(), validation=held)
    asked = model.seen[1]  # after all instances, neighbors of the held-out ones
    assert len(asked) == 500
    said = groups.predict(asked)
    np.testing.assert_allclose(groups.fidelity, 1 - np.mean((said - bent(asked)) ** 2) / bent(asked).var())
    np.testing.assert_allclose(groups.error, np.sqrt(np.mean((said - bent(asked)) ** 2)))


def test_notes_say_what_was_not_held_out() -> None:
    few = group(lambda X: X[:, 1], instances=X[:20], method=vd.groupings.GlobalLinear())
    assert "too few instances to hold some out" in few.notes[0]
    assert few.fidelity > 0.99
    assert not few.verdict.passed
    assert "validation also chose" in group(validation=X[:30], method=vd.groupings.GlobalLinear()).notes[0]
    assert not group(method=vd.groupings.GlobalLinear()).notes


# What must be found ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, Gaussian(0.1)])
def test_one_group_is_one_sparse_regression(kernel: Any) -> None:
    """On the same neighbors, scikit-learn's ridge of the chosen features."""
    method = Watched(vd.groupings.Mixture(n_starts=1, rounds=4, copies=0, ridge=1e-2, kernel=kernel))
    groups = group(k=1, n_features=2, method=method)
    near = method.tasks[0].neighbors(3, kernel=kernel)
    used = np.flatnonzero(groups.weights[0])
    assert len(used) == 2
    w = near.flat_weights
    fit = Ridge(alpha=1e-2 * w.sum()).fit(near.designs[:, used], near.values.ravel(), sample_weight=w)
    np.testing.assert_allclose(groups.weights[0, used], fit.coef_, rtol=1e-6)
    np.testing.assert_allclose(groups.intercepts, fit.intercept_, rtol=1e-6)
    assert groups.sizes.tolist() == [len(X)]


def test_a_linear_model_is_found_as_it_is() -> None:
    beta = np.array([1.0, -2, 0, 0.5])
    groups = group(lambda X: X @ beta + 3, method=vd.groupings.Mixture(n_starts=2, rounds=4, ridge=1e-9))
    assert groups.fidelity > 1 - 1e-9
    assert groups.verdict.passed
    for g in np.flatnonzero(groups.sizes):
        np.testing.assert_allclose(groups.weights[g], beta * X.std(axis=0), atol=1e-5)
        np.testing.assert_allclose(groups.intercepts[g], X.mean(axis=0) @ beta + 3, atol=1e-5)


def wrong_axis(rows: Any, k: int) -> Any:
    return (rows[:, 1] > 0).astype(int)


@pytest.mark.parametrize("start", [None, wrong_axis])
@pytest.mark.parametrize("d", [2, 5])
def test_two_half_spaces(d: int, start: Any) -> None:
    """Card F.6: as good as the oracle on fresh neighbors, from a start along the wrong axis too."""
    rng = np.random.default_rng(d)
    a, b = np.zeros((2, d))
    a[:2], b[:2] = (2, 1), (-1, 2)

    def half_spaces(X: Any) -> Any:
        return np.where(X[:, 0] > 0, X @ a, X @ b)

    train, fresh = rng.normal(size=(600, d)), rng.normal(size=(1000, d))
    method = vd.groupings.Mixture(n_starts=2, rounds=12, start=start, ridge=3e-3)
    groups = group(half_spaces, vd.Rows(train), train, method=method)
    near = np.repeat(fresh, 10, axis=0) + 0.1 * rng.normal(size=(10_000, d))
    own, right = groups.assign(fresh).argmax(axis=1), fresh[:, 0] > 0
    assert max(np.mean(own == right), np.mean(own != right)) > 0.97
    said = groups.space.rows(groups.space.read(near)) @ groups.weights.T + groups.intercepts
    said = said[np.arange(len(near)), np.repeat(own, 10)]
    oracle = np.where(np.repeat(right, 10), near @ a, near @ b)
    truth = half_spaces(near)
    assert np.mean((said - truth) ** 2) <= 1.1**2 * np.mean((oracle - truth) ** 2)


def test_intervals_cover() -> None:
    """Two far apart sides, each bent: the best line of each is known from a large sample.

    Of 160 intervals of 95 %, a share below .85 is six standard errors away.
    """

    def predict(X: Any) -> Any:
        return np.where(X[:, 0] > 0, 2 * X[:, 1] + np.sin(2 * X[:, 2]), X[:, 1] ** 2 + X[:, 2])

    def draw(rng: Any, n: int) -> Any:
        rows = rng.normal(size=(n, 3))
        rows[:, 0] = np.where(np.arange(n) < n // 2, -20, 20) + rows[:, 0]
        return rows

    large = draw(np.random.default_rng(99), 200_000)
    large[:, 1:] *= np.sqrt(1.01)  # neighbors spread a little more
    best = []
    for side in (large[:100_000], large[100_000:]):
        Z = np.column_stack([side[:, 1:], np.ones(len(side))])
        best.append(np.linalg.lstsq(Z, predict(side), rcond=None)[0][:2])
    covered = []
    for seed in range(40):
        rows = draw(np.random.default_rng(seed), 160)
        gate = TreeGate(np.array([0, -1, -1]), np.zeros(3), np.array([[1, 2], [0, 0], [1, 1]]), 2)
        groups = group(predict, vd.Rows(rows), rows, method=Sides(gate), rng=seed)
        truth = np.array(best) * rows.std(axis=0)[1:]
        covered.append((groups.intervals[:, 1:, 0] <= truth) & (truth <= groups.intervals[:, 1:, 1]))
    assert 0.85 <= np.mean(covered) <= 0.99


@dataclass(frozen=True)
class Sides:
    """Groups that are given; least squares of the second and third feature in each."""

    gate: Any

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = task.neighbors(10)
        weights, intercepts = np.zeros((2, 3)), np.zeros(2)
        for g, own in enumerate(np.repeat(self.gate(near.rows) > 0.5, 10, axis=0).T):
            Z = np.column_stack([near.designs[own, 1:], np.ones(own.sum())])
            found = np.linalg.lstsq(Z, near.values.ravel()[own], rcond=None)[0]
            weights[g, 1:], intercepts[g] = found[:2], found[2]
        return GroupingResult(LinearModels(weights, intercepts), self.gate)


def test_the_fewest_groups_that_are_as_good() -> None:
    """Three clusters with a line each, and a ripple that no group explains; or one line for all."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(300, 2))
    rows[:, 0] = 0.3 * rows[:, 0] + 4 * (np.arange(300) % 3 - 1)
    method = vd.groupings.Mixture(n_starts=2, rounds=8)

    def three(X: Any) -> Any:
        slope = np.select([X[:, 0] < -2, X[:, 0] < 2], [3.0, -3.0], 1.0)
        return slope * X[:, 1] + 0.3 * np.sin(9 * X[:, 1])

    groups = group(three, vd.Rows(rows), rows, k=range(1, 6), n_features=1, method=method)
    assert groups.k == 3
    assert "k = 3 is the least that is as good" in groups.notes[0]
    for k in range(1, 6):
        assert f"{k}: " in groups.notes[0]
    assert group(lambda X: X @ [1, 2], vd.Rows(rows), rows, k=[3, 1, 2], method=method).k == 1
    same = group(three, vd.Rows(rows), rows, k=3, n_features=1, method=method)
    np.testing.assert_array_equal(same.weights, groups.weights)


@pytest.mark.parametrize(
    ("excess", "noise", "k"), [(0.01, 0.2, 2), (0.01, 0.05, 3), (0.01, 0.0, 3), (2e-4, 0.0, 2)]
)
def test_what_is_as_good(excess: float, noise: float, k: int) -> None:
    """Of 100 instances: within a tenth of the noise, or within a hundredth of the variance, which is .0833."""
    best = np.linspace(0, 1, 100)
    near = Neighbors(best[:, None], best[:, None], best[:, None], np.ones((100, 1)), np.ones(100))
    losses = {3: best, 1: best + 0.1, 2: best + excess + np.tile([noise, -noise], 50)}
    tried = [ScoredGroups(Any, n, each, 0.0, near, None, True) for n, each in losses.items()]
    assert _choose_fewest(tried).k == k


def test_many_texts_in_little_memory() -> None:
    """A dense matrix of the neighbors alone would take 800 MB; what is found took 40 MB when this was written."""
    rng = np.random.default_rng(0)
    texts = [
        " ".join([f"w{(10 * i + j) % 10_000}" for j in range(10)] + ["good"] * a + ["bad"] * b)
        for i, (a, b) in enumerate((rng.random((1000, 2)) < 0.5).astype(int))
    ]
    tracemalloc.start()
    groups = group(
        lambda T: np.array([2.0 * ("good" in t) - ("bad" in t) for t in T]),
        vd.Words(),
        texts,
        n_features=2,
        method=vd.groupings.Mixture(n_starts=1, rounds=4, copies=1, n_neighbors=1),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(groups.parts) == 10_002
    assert peak < 80 * 2**20
    found = np.abs(groups.weights).max(axis=0)
    assert {groups.names[j] for j in np.argsort(-found)[:2]} == {"good", "bad"}
    assert groups.fidelity > 0.99


# Targets ---------------------------------------------------------------------------------------------------


def classes(X: Any) -> Any:
    """Of these instances the first is of class 0, most of class 2."""
    p = 1 / (1 + np.exp(-np.asarray(X)[:, 0] - 0.3))
    first = np.asarray(X)[:, 0] == X_FIRST
    return np.column_stack([np.where(first, 1.0, 0.1 * (1 - p)), 0.9 * (1 - p), np.where(first, 0.0, p)])


X_FIRST = X[0, 0]


def test_the_target_is_the_class_that_is_predicted_most_often() -> None:
    assert classes(X).argmax(axis=1)[0] == 0
    assert np.bincount(classes(X).argmax(axis=1)).argmax() == 2
    assert group(classes, method=vd.groupings.GlobalLinear()).target == 2
    assert group(classes, method=vd.groupings.GlobalLinear(), classes=["a", "b", "c"]).target == "c"
    assert group(method=vd.groupings.GlobalLinear()).target == "value"


@pytest.mark.parametrize("target", [Output(1), "b", lambda outputs: outputs[:, 1]])
def test_a_target_that_is_given(target: Any) -> None:
    groups = group(classes, method=vd.groupings.GlobalLinear(), classes=["a", "b", "c"], target=target)
    plain = group(lambda X: classes(X)[:, 1], method=vd.groupings.GlobalLinear())
    np.testing.assert_allclose(groups.weights, plain.weights)


# Reasons ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [None, 3.0])
@pytest.mark.parametrize("held", [np.asarray, csr_matrix])
def test_reasons_of_linear_scores_add_up(length: float | None, held: Any) -> None:
    """To the log-odds of the group against the geometric mean of all, less what no feature gives."""
    rng = np.random.default_rng(1)
    gate = Softmax(rng.normal(size=(3, 4)), rng.normal(size=3), length)
    row = held(rng.normal(size=(1, 4)))
    logs = np.log(gate(row)[0])
    for g in range(3):
        by_offset = gate.offsets[g] - gate.offsets.mean()
        np.testing.assert_allclose(gate.reasons(row, g).sum() + by_offset, logs[g] - logs.mean())


def test_a_row_of_zeros_has_no_direction() -> None:
    gate = Softmax(np.ones((2, 3)), np.array([0.0, np.log(3)]), 2.0)
    np.testing.assert_allclose(gate(np.zeros((1, 3))), [[0.25, 0.75]])
    np.testing.assert_array_equal(gate.reasons(np.zeros((1, 3)), 1), 0)


def test_reasons_of_a_tree_are_its_questions() -> None:
    """Feature 1 at most 0? Then feature 0 at most 2; else group 0, whatever feature 0 is."""
    gate = TreeGate(
        np.array([1, 0, -1, -1, -1]),
        np.array([0.0, 2.0, 0, 0, 0]),
        np.array([[1, 2], [3, 4], [0, 0], [1, 1], [2, 2]]),
        3,
    )
    rows = np.array([[5.0, 1, 0], [1, -1, 0], [2, 0, 0], [3, -1, 0]])
    np.testing.assert_array_equal(gate(rows), np.eye(3)[[0, 1, 1, 2]])
    np.testing.assert_array_equal(gate(csr_matrix(rows)), gate(rows))
    np.testing.assert_array_equal(gate.reasons(rows[:1], 0), [0, 1, 0])
    np.testing.assert_array_equal(gate.reasons(rows[1:2], 1), [1, 1, 0])


def test_explain_gives_the_reasons_of_the_gate() -> None:
    member = bent_groups().explain(X[3])
    row = bent_groups().space.rows(bent_groups().space.read(X[3:4]))
    np.testing.assert_array_equal(member.reasons, bent_groups().gate.reasons(row, member.group))


# Regions in words ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Telling:
    """A gate that looks at some features, the first one most."""

    features: tuple[int, ...]

    def reasons(self, row: Any, group: int) -> Any:
        found = np.zeros(row.shape[1])
        found[list(self.features)] = np.arange(len(self.features), 0, -1)
        return found


N = 1000
EVEN = np.linspace(-1, 1, N)  # sorted: a group of neighbors is a range
FRAME = pd.DataFrame(
    {"x": 50 + 10 * EVEN, "c": ["a"] * 600 + ["b"] * 300 + ["d"] * 100, "yes": [True, False] * 500}
)
PLACES = space_of(vd.Rows(FRAME), FRAME)


def region(members: slice, *features: str, most: int = 5) -> Any:
    own = np.ones(N, int)
    own[members] = 0
    rows = PLACES.rows(PLACES.read(FRAME))
    at = tuple([part.name for part in PLACES.parts].index(name) for name in features)
    return describe_regions(PLACES, rows, own, Telling(at), np.bincount(own, minlength=2), most)[0]


@pytest.mark.parametrize(
    ("members", "word"),
    [
        (slice(0, 100), "very low"),
        (slice(0, 500), "low"),
        (slice(450, 550), "medium"),
        (slice(500, 1000), "high"),
        (slice(900, 1000), "very high"),
    ],
)
def test_numbers_in_words(members: slice, word: str) -> None:
    """With the range of the middle 80 % of the members, in the unit of the column."""
    low, high = np.quantile(FRAME["x"][members], [0.1, 0.9])
    assert region(members, "x").sentence == f"x {word} ({low:.4g} to {high:.4g})"


def test_nothing_in_common() -> None:
    found = region(slice(0, 1000, 3), "x")
    assert (found.sentence, found.features) == ("everything else", ("x",))


@pytest.mark.parametrize(
    ("members", "feature", "words"),
    [
        (slice(0, 500), "c = a", "c = a"),
        (slice(200, 700), "c = d", "not c = d"),
        (slice(200, 650), "c = a", "c = a (89 %)"),
        (slice(700, 1000), "c = a", "not c = a"),
        (slice(590, 990), "c = a", "rarely c = a (2 %)"),
        (slice(0, 1000, 2), "yes = True", "yes = True"),
        (slice(1, 1000, 2), "yes = True", "not yes = True"),
        (slice(0, 300), "yes = True", "everything else"),
    ],
)
def test_categories_in_words(members: slice, feature: str, words: str) -> None:
    assert region(members, feature).sentence == words


def test_what_tells_most_comes_first_and_what_speaks_against_does_not() -> None:
    assert region(slice(0, 100), "c = a", "x").sentence.startswith("c = a and x very low (")
    assert region(slice(0, 100), "x", "c = a").features == ("x", "c = a")
    assert region(slice(0, 100)).sentence == "everything else"
    assert region(slice(0, 100), "x", "c = a", most=1).features == ("x",)
    assert region(slice(0, 0), "x").sentence == "no instance"
    assert region(slice(0, N), "x").sentence == "all instances"


def test_words_in_words() -> None:
    texts = ["good film"] * 50 + ["bad film"] * 50
    space: Any = space_of(vd.Words(), texts)
    at = [part.name for part in space.parts]
    rows = space.rows(space.read(texts))
    found = describe_regions(
        space, rows, np.repeat([0, 1], 50), Telling((at.index("good"), at.index("film"))), np.array([50, 50]), 5
    )
    assert [r.sentence for r in found] == ["“good”", "not “good”"]  # everyone has “film”


def test_words_that_come_twice() -> None:
    """By position they count twice, and are in words what they are once."""
    texts = ["very very good", "bad"] * 20 + ["bad"] * 60
    space: Any = space_of(vd.Words(positions=True), texts)
    found = describe_regions(
        space, space.rows(space.read(texts)), np.repeat([0, 1], [40, 60]), Telling((0,)), np.array([40, 60]), 5
    )
    assert [r.sentence for r in found] == ["“very” (50 %)", "not “very”"]


# What is refused -------------------------------------------------------------------------------------------

BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "more groups than instances": (lambda: group(k=121), "k is 121, instances 120"),
    "no group": (lambda: group(k=0), "k, the number of groups, .*not 0"),
    "half a group": (lambda: group(k=2.5), r"whole number .*not 2\.5"),
    "a number as text": (lambda: group(k="4"), "whole number .*not '4'"),
    "numbers of groups with a wrong one": (lambda: group(k=[2, 0]), "whole number .*not 0"),
    "an empty list": (lambda: group(k=[]), "k is an empty list"),
    "nothing": (lambda: group(k=None), "whole number .*not None"),
    "no feature": (lambda: group(n_features=0), "n_features must be .*not 0"),
    "no instance": (lambda: group(instances=X[:0]), "there are no instances"),
    "no text": (lambda: group(mood, vd.Words(), []), "there are no texts"),
    "one text": (lambda: group(mood, vd.Words(), "good film"), "list of texts, got str"),
    "texts without words": (lambda: group(mood, vd.Words(), ["", ""]), "none of these instances has a part"),
    "other columns": (lambda: group(instances=X[:, :2]), r"wanted rows of 4 columns.*\(120, 2\)"),
    "a missing number": (
        lambda: group(instances=GAP),
        "row 7: column 'x1' is missing",
    ),
    "empty validation": (lambda: group(validation=X[:0]), "validation is empty"),
    "validation with other columns": (lambda: group(validation=X[:, :1]), r"wanted rows of 4 .*\(120, 1\)"),
    "validation with a missing number": (
        lambda: group(validation=GAP),
        "'x1' is missing",
    ),
    "a class as method": (lambda: group(method=vd.groupings.Mixture), r"Mixture\(\), not the class"),
    "a name as method": (lambda: group(method="gimme"), "did you mean 'gime'"),
    "a method for one instance": (lambda: group(method=vd.Lime()), r"vd\.groupings\.Mixture\(\); vd\.Lime is for"),
    "a method for groups": (
        lambda: vd.explain(bent, ROWS, X[0], method=vd.groupings.Gime()),
        r"vd\.Lime.*; vd\.groupings\.Gime is for",
    ),
    "several targets": (lambda: group(target=[0]), "one target for all"),
    "an unknown target": (lambda: group(classes, target=5), "no output 5"),
    "an unknown name": (lambda: group(classes, target="z", classes=["a", "b", "c"]), "no class is 'z'"),
    "a wrong start": (lambda: group(method=vd.groupings.Mixture(start=lambda r, k: [0])), r"start .*shape \(1,\)"),
    "a start beyond k": (
        lambda: group(method=vd.groupings.Mixture(start=lambda r, k: np.full(len(r), k))),
        "from 0 to 1",
    ),
    "no predict": (lambda: group(None), "a model is a function"),
    "no representer": (lambda: group(represent=X), r"vd\.Rows"),
    "rng": (lambda: group(rng="a"), "rng must be .*'a'"),
    "assign: other columns": (lambda: bent_groups().assign(X[:, :2]), r"wanted rows of 4 columns.*\(120, 2\)"),
    "assign: one row": (lambda: bent_groups().assign(X[0]), r"wanted rows of 4 columns.*\(4,\)"),
    "assign: missing": (lambda: bent_groups().assign(np.full((1, 4), np.nan)), "row 0: column 'x0' is missing"),
    "assign: infinite": (lambda: bent_groups().assign(np.full((1, 4), np.inf)), "'x0' has an infinite value"),
    "assign: one text": (lambda: mood_groups().assign("good film"), "list of texts, got str"),
    "explain: two rows": (lambda: bent_groups().explain(X[:2]), r"wanted rows of 4 columns.*\(1, 2, 4\)"),
    "explain: a frame of two": (lambda: bent_groups().explain(pd.DataFrame(X[:2])), "wanted one instance .*got 2"),
    "explain: few values": (lambda: bent_groups().explain([1, 2]), r"wanted rows of 4 columns.*\(1, 2\)"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, said = BAD[case]
    with pytest.raises(vd.errors.InputError, match=said):
        call()


@pytest.mark.parametrize(
    ("predict", "said"),
    [
        (lambda X: np.full(len(X), np.nan), "NaN or infinity for 120 of 120"),
        (lambda X: 1 / 0, "raised ZeroDivisionError"),
        (lambda X: np.ones(3), r"shape \(3,\) for 120 inputs"),
        (lambda X: ["a"] * len(X), "str values such as 'a'"),
    ],
)
def test_bad_models(predict: Any, said: str) -> None:
    with pytest.raises(vd.errors.ModelError, match=said):
        group(predict)


# Hard, but allowed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [QUICK, vd.groupings.Gime(rounds=2, steps=(3, 5)), vd.groupings.GlobalLinear()])
def test_a_model_that_always_says_the_same(method: Any) -> None:
    groups = group(lambda X: np.ones(len(X)), method=method)
    assert not groups.verdict.passed
    assert groups.verdict.label == "none"
    assert np.isnan(groups.fidelity)
    np.testing.assert_allclose(groups.predict(X), 1, atol=1e-6)


def test_a_row_in_the_middle_belongs_to_all_regions_of_gime() -> None:
    rows = np.vstack([X, 2 * X.mean(axis=0) - X, X.mean(axis=0)])  # the last one is the mean of all
    groups = group(represent=vd.Rows(rows), instances=rows, k=3, method=vd.groupings.Gime(rounds=2, steps=(3, 5)))
    np.testing.assert_allclose(groups.assign(rows[-1:]), 1 / 3, atol=1e-6)


@pytest.mark.parametrize("method", [QUICK, vd.groupings.Gime(rounds=2, steps=(3, 5))])
def test_few_and_equal_rows(method: Any) -> None:
    twice = np.repeat(X[:2], 30, axis=0)
    for rows, k in ((twice, 5), (X[:1], 1), (X[:2], 2)):
        groups = group(instances=rows, k=k, method=method)
        assert groups.sizes.sum() == len(rows)
        np.testing.assert_allclose(groups.assign(rows).sum(axis=1), 1)


def test_one_row_in_many_forms() -> None:
    table = pd.DataFrame(X, columns=list("abcd"))
    groups = group(lambda T: bent(T.to_numpy()), vd.Rows(table), table)
    wanted = groups.predict(table[:1])[0]
    for row in (table.iloc[0], table[:1], table.iloc[0].to_dict(), X[0], X[0].tolist()):
        np.testing.assert_allclose(groups.explain(row).prediction, wanted)
    sparse = csr_matrix(np.maximum(X, [0, 0, 0, 1]))
    groups = group(lambda S: dense(S)[:, 1], vd.Rows(sparse), sparse)
    np.testing.assert_allclose(groups.explain(sparse[5]).prediction, groups.predict(sparse[5:6]))


def test_no_row_belongs_nowhere() -> None:
    assert bent_groups().assign(X[:0]).shape == (0, 3)


def test_texts_with_nothing_in_them() -> None:
    groups = group(mood, vd.Words(), [*MOODS, "", "…", "good"])
    assert groups.sizes.sum() == len(MOODS) + 3
    p = groups.assign(["", "nobody knows these", "good"])
    np.testing.assert_array_equal(p[0], p[1])
    np.testing.assert_allclose(p.sum(axis=1), 1)
