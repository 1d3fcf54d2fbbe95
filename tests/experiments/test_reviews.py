"""The experiments on reviews, on reviews made here: no folder of data is needed."""

from __future__ import annotations

import gzip
import itertools
import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import veridical as vd

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import faithfulness
    import review_models
    import reviews
    import sections.faithfulness
    import sections.trust
    import summary
    import trust
    import used_words
finally:
    sys.path.remove(EXPERIMENTS)

GOOD, BAD, PLAIN = ("great", "lovely", "superb"), ("awful", "boring", "waste"), [f"word{j}" for j in range(30)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up reviews in the form of the real ones."""
    data, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for domain in reviews.DOMAINS:
        (data / reviews.FOLDER / domain).mkdir(parents=True)
        for name, own, other in (("positive", GOOD, BAD), ("negative", BAD, GOOD)):
            path = data / reviews.FOLDER / domain / f"{name}.review.gz"
            with gzip.open(path, "wt", encoding="utf-8") as file:
                for _ in range(250):
                    words = [*rng.choice(PLAIN, 6, replace=False), rng.choice(own), rng.choice([*own, *other])]
                    pairs = " ".join(f"{word}:{rng.integers(1, 4)} {word}_and:1" for word in words)
                    file.write(f"{pairs} #label#:{name}\n")
    return data


def binary(n: int, v: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((n, v)) < 0.4).astype(float)


def test_words_are_read_once_and_without_pairs():
    assert reviews.words_of("b:2 a_b:1 a:1 odd:sign:3 b:1 #label#:positive\n") == ["a", "b", "odd:sign"]


def test_splits_are_cut_by_class_and_seed(folder: Path):
    found = reviews.load("books", 1, folder)
    assert [len(found.train), len(found.test)] == [400, 100]
    assert found.y_train.mean() == found.y_test.mean() == 0.5
    assert found.test != reviews.load("books", 2, folder).test
    assert found.X_train.max() == 1
    for text, row in zip(found.test, found.X_test, strict=True):
        assert sorted(text.split()) == sorted(found.vocabulary[row.indices])


def test_unknown_words_are_left_out_of_test_reviews():
    found = reviews.reviews_of(
        "books", 1, (["a b", "c"], np.array([1, 0])), (["b new", "new", "c"], np.array([1, 1, 0]))
    )
    assert found.test == ["b", "c"]
    assert found.y_test.tolist() == [1, 0]


def test_what_is_missing_is_told(tmp_path: Path):
    with pytest.raises(reviews.NoDataError, match="--data DIR"):
        reviews.check(None)
    with pytest.raises(reviews.NoDataError, match=r"positive\.review\.gz"):
        reviews.check(tmp_path)
    settings = Namespace(data=tmp_path, models=["LR"])
    for experiment in (faithfulness, trust):
        with pytest.raises(SystemExit, match="missing"):
            experiment.main(settings)


def test_nearest_neighbors_are_those_of_scikit_learn():
    X, y = binary(80, 60), np.random.default_rng(1).integers(0, 2, 80)
    new = binary(50, 60, 2)
    far = ((new[:, None] - X) ** 2).sum(axis=2)
    fifth, sixth = np.sort(far, axis=1)[:, 4], np.sort(far, axis=1)[:, 5]
    clear = fifth < sixth  # no tie at the border
    assert clear.sum() > 5
    wanted = KNeighborsClassifier(5).fit(X, y).predict_proba(new)
    found = review_models.Neighbors().fit(csr_matrix(X), y).predict_proba(csr_matrix(new))
    np.testing.assert_allclose(found[clear], wanted[clear])


def test_support_vectors_are_those_of_scikit_learn():
    X = binary(120, 15)
    y = (X[:, 0] + X[:, 1] > X[:, 2] + 0.5).astype(int)
    found = review_models.SupportVectors(C=10, gamma=0.05).fit(csr_matrix(X), y)
    new = csr_matrix(binary(40, 15, 3))
    wanted = SVC(C=10, gamma=0.05).fit(csr_matrix(X), y).decision_function(new)
    np.testing.assert_allclose(found.decision_function(new), wanted, atol=1e-4)
    order = np.argsort(wanted)
    assert (np.diff(found.predict_proba(new)[order, 1]) >= -1e-6).all()


def test_vectors_are_averaged_over_known_words():
    vectors = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0]], dtype=np.float32)
    model = review_models.OnVectors(vectors, n_trees=60).fit(csr_matrix(binary(20, 3)), np.arange(20) % 2)
    rows = csr_matrix(np.array([[1.0, 1, 1], [0, 1, 1], [0, 0, 1]]))
    np.testing.assert_allclose(model.means(rows), [[2, 1], [3, 0], [0, 0]])


def test_the_sparse_regression_uses_few_words():
    X = binary(200, 40)
    y = (X[:, :3].sum(axis=1) > X[:, 3:6].sum(axis=1)).astype(int)
    model = review_models.sparse_regression(csr_matrix(X), y)
    assert (X @ (model.coef_[0] != 0)).max() <= review_models.MOST
    assert (model.coef_[0] == 0).sum() > 10


def answers(model, columns: list[int], v: int) -> dict[frozenset[int], float]:
    """What a model says of every part of a review."""
    found = {}
    for size in range(len(columns) + 1):
        for some in itertools.combinations(columns, size):
            row = np.zeros((1, v))
            row[0, list(some)] = 1
            found[frozenset(some)] = float(model.predict_proba(row)[0, 1])
    return found


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        RandomForestClassifier(3, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    ],
    ids=["tree", "shallow", "forest", "boosted"],
)
def test_used_words_are_what_trying_everything_finds(model):
    v = 10
    X = binary(150, v)
    y = ((X[:, 0] * X[:, 1] + X[:, 2] > 0.5) ^ (np.random.default_rng(1).random(150) < 0.2)).astype(int)
    model.fit(X, y)
    for row in binary(8, v, 5):
        there = np.flatnonzero(row).tolist()
        words = used_words.used(model, there)
        said = answers(model, there, v)
        matters = {
            c for c in there if any(abs(said[s] - said[s - {c}]) > 1e-12 for s in said if c in s)
        }  # of some part of the review
        assert matters <= words.reachable
        if hasattr(model, "tree_"):
            assert matters == words.reachable
            path = model.decision_path(row[None]).indices
            asked = {int(f) for f in model.tree_.feature[path] if f >= 0}
            assert words.gold == asked & set(there)
        assert words.gold <= set(there)


def test_coefficients_are_used_words_and_all_can_matter():
    model = Namespace(coef_=np.array([[0.0, 2.0, -1.0, 0.0]]))
    words = used_words.used(model, [0, 1, 2])
    assert words.gold == words.reachable == words.known == {1, 2}


def test_scores_of_a_list():
    words = used_words.Used(frozenset({1, 2, 3}), frozenset({1, 2, 9}))
    found = used_words.found([9, 1, 2, 5], words, 3)
    np.testing.assert_allclose([found.recall, found.known, found.precision], [2 / 3, 1, 2 / 3])
    nothing = used_words.found([], used_words.Used(frozenset({1}), frozenset()), 10)
    assert nothing.recall == nothing.precision == 0
    assert np.isnan(nothing.known)


def test_the_ceiling_is_what_a_list_of_all_that_matters_reaches():
    words = used_words.Used(frozenset({1, 2, 3}), frozenset({1, 2, 9}))
    sure, lucky = used_words.ceiling(words, 12, 5)
    rng = np.random.default_rng(0)
    others = [c for c in range(12) if c not in words.reachable]
    tries = [len({1, 2, 9, *rng.choice(others, 2, replace=False)} & words.gold) / 3 for _ in range(4000)]
    np.testing.assert_allclose(sure, 2 / 3)
    np.testing.assert_allclose(lucky, np.mean(tries), atol=4 * np.std(tries) / np.sqrt(4000))
    assert used_words.ceiling(used_words.Used(frozenset(range(20)), frozenset(range(20))), 20, 10) == (0.5, 0.5)


def test_columns_of_an_explanation_come_by_weight(folder: Path):
    known = reviews.load("books", 1, folder)
    pipeline = review_models.model("tree", "books", 1, folder)
    why = vd.explain(pipeline.predict_proba, reviews.WORDS, known.test[0], target=1, method=vd.Lime(n_samples=128))
    named = [known.vocabulary[c] for c in faithfulness.order_of(why, known)]
    assert named == [name for name, _ in why.top(100)]


def test_windows_stand_at_training_reviews_with_labels_held_out(folder: Path):
    for name in ("LR", "SVM", "tree, depth 10"):
        found = review_models.Asked(name, "dvd", 1, folder).windows()
        assert found.width == review_models.WIDTHS["dvd"].get(name, 8.0)
        assert found.answers.shape == (400, 2)
        np.testing.assert_array_equal(found.answers.sum(axis=1), 1)
        assert 0.6 < np.mean(found.answers[:, 1] == reviews.load("dvd", 1, folder).y_train) < 1


def test_long_reviews_get_the_calls_they_need():
    assert review_models.long_enough(faithfulness.OURS, 600) is faithfulness.OURS
    assert review_models.long_enough(faithfulness.OURS, 1000).n_samples == 3000
    other = vd.baselines.Greedy()
    assert review_models.long_enough(other, 10_000) is other


@pytest.mark.parametrize(("method", "some", "full"), [("ours", 200, 400), ("LIME", 60, 400)])
def test_the_full_size_is_all_reviews_whatever_the_method(method: str, some: int, full: int):
    sizes = [faithfulness.most({"method": method}, Namespace(reviews=200, full=f)) for f in (False, True)]
    assert sizes == [some, full]


def test_recall_is_measured_and_shown(folder: Path, tmp_path: Path):
    made = []
    for method in ("random", "parzen", "greedy", "ours"):
        for model in ("sparse regression", "tree", "forest"):
            cell = {"domain": "books", "model": model, "split": 1, "method": method}
            made.append({**cell, **faithfulness.measure(cell, folder, 12)})
            assert faithfulness.show(made[-1])
    ours = {cell["model"]: cell for cell in summary.where(made, method="ours")}
    assert ours["sparse regression"]["recall"] == 1
    assert ours["tree"]["known"] > 0.95
    assert all(cell["calls"] <= faithfulness.CALLS for cell in ours.values())
    assert summary.where(made, method="random", model="tree")[0]["n"] <= 12
    made.append({"domain": "dvd", "model": "tree", "split": 1, "method": "ours", "error": "Bad: luck"})
    shown = sections.faithfulness.tables(made)
    assert "Bad: luck" in shown
    assert "| Books, sparse regression: recall" in shown
    sections.faithfulness.figures(made[:-1], tmp_path)
    assert (tmp_path / "faithfulness-books.svg").exists()


def test_trust_is_measured_and_shown(folder: Path, tmp_path: Path):
    made = []
    for user in ("everything", "random", "parzen", "greedy", "ours", "ours, ten words"):
        for model in ("LR", "SVM"):
            cell = {"domain": "books", "model": model, "split": 1, "user": user}
            made.append({**cell, **trust.measure(cell, folder, 20, 20)})
            assert trust.show(made[-1])
    by_user = {cell["user"]: cell for cell in summary.where(made, model="LR")}
    t = by_user["everything"]["share"]
    assert 0.6 < t < 1
    assert abs(by_user["everything"]["f1"] - 2 * t / (1 + t)) < 0.02
    assert by_user["ours"]["f1"] > 0.99
    assert by_user["ours"]["mistrust_f1"] > 0.9
    made.append({"domain": "dvd", "model": "NN", "split": 1, "user": "ours", "error": "Bad: luck"})
    shown = sections.trust.tables(made)
    assert "Bad: luck" in shown
    assert "| Books, LR: F1 of trust" in shown
    sections.trust.figures(made[:-1], tmp_path)
    assert (tmp_path / "trust.svg").exists()


def test_log_odds_are_cut_where_they_would_be_endless():
    found = trust.log_odds(np.array([[0.0, 1.0], [0.5, 0.5], [0.25, 0.75]]))
    np.testing.assert_allclose(found, [np.log(0.98 / 0.02), 0, np.log(3)])


def test_the_neighborhood_is_where_the_question_is():
    """Cosine distance of a review without a quarter of its words."""
    distances = np.linspace(0, 1, 2001)
    share = (1 - distances[np.argmax(trust.near(distances))]) ** 2
    np.testing.assert_allclose(share, 1 - trust.SHARE, atol=1e-3)


def test_the_explanation_that_fits_best_is_believed():
    weights = {"a": 2.0, "b": -3.0, "c": 1.5, "d": 0.5}

    def predict(texts):
        odds = np.exp([sum(weights[word] for word in text.split()) for text in texts])
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)])

    method = vd.Lime(n_samples=128, surrogate=vd.surrogates.Linear())
    why = trust.best(vd.explain(predict, reviews.WORDS, "a b c d", target=[1, trust.log_odds], method=method))
    assert why.target == "log_odds"
    gone = np.array([[True, False, True, False], [False, True, False, False]])
    np.testing.assert_array_equal(trust.subtract(why, gone), [False, True])


def test_plans_have_every_cell_once():
    settings = Namespace(
        splits=[1, 2], domains=["books"], models=["tree"], methods=["ours"], users=["ours", "LIME"]
    )
    assert len(faithfulness.plan(settings)) == 2
    assert len({tuple(cell.values()) for cell in trust.plan(settings)}) == 4


def test_intervals_over_splits_and_within():
    cells = [{"split": i, "a": v, "a_se": 0.1} for i, v in enumerate([0.5, 0.7, 0.9])]
    mean, half = summary.over_splits(cells, "a")
    np.testing.assert_allclose([mean, half], [0.7, 4.3027 * 0.2 / np.sqrt(3)], rtol=1e-4)
    np.testing.assert_allclose(summary.over_splits(cells[:1], "a"), [0.5, 0.196])
    assert np.isnan(summary.over_splits([{"error": "x"}], "a")).all()


@pytest.mark.parametrize(
    ("experiment", "asked"),
    [
        (faithfulness, "--models tree --methods random greedy ours"),
        (trust, "--models LR --users everything random ours --draws 3"),
    ],
)
def test_a_run_from_the_command_to_its_file(experiment, asked: str, folder: Path, tmp_path: Path):
    out = tmp_path / "found.json"
    given = ["--data", str(folder), "--domains", "books", "--splits", "1", "--reviews", "3", "--out", str(out)]
    for again in ([], ["--resume"]):
        experiment.main(experiment.arguments().parse_args([*given, *asked.split(), *again]))
    found = json.loads(out.read_text(encoding="utf-8"))
    assert len(found["cells"]) == 3
    assert not [cell["error"] for cell in found["cells"] if "error" in cell]
