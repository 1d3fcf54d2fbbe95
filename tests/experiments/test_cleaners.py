"""Users who remove columns and have the model trained again, on a corpus with a planted leak."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical as vd
from cleaners import (
    Cleaning,
    RandomColumns,
    RandomShown,
    Round,
    Rule,
    ShownColumns,
    Study,
    clean,
)

LEAKS = [f"leak{j}" for j in range(12)]  # six of each class
TOPICS = [f"topic{j}" for j in range(12)]
FILLERS = [f"filler{j}" for j in range(80)]


def corpus(n: int, leaky: bool, seed: int) -> tuple[list[str], np.ndarray]:
    """Texts of two classes: a topic tells a little; leaks tell nearly all, and in the real world nothing."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    texts = []
    for label in labels:
        topic = rng.choice(12, 3, replace=False, p=np.where(np.arange(12) // 6 == label, 2.2, 1) / 19.2)
        side = label if leaky and rng.random() < 0.95 else rng.integers(0, 2)
        words = [TOPICS[j] for j in topic] + [LEAKS[6 * side + j] for j in rng.choice(6, 2, replace=False)]
        texts.append(" ".join(rng.permutation([*words, *rng.choice(FILLERS, 10)])))
    return texts, labels


class Case:
    """A study of the corpus that remembers the models it trained and the explanations it made."""

    def __init__(self) -> None:
        self.train, self.shown, self.real = corpus(600, True, 1), corpus(40, True, 2), corpus(800, False, 3)
        self.models, self.explained = [], []

    def fit(self, removed):
        vectorizer = CountVectorizer(binary=True, stop_words=sorted(removed) or None)
        model = make_pipeline(vectorizer, LogisticRegression()).fit(*self.train)
        self.models.append((removed, model))
        return model.predict_proba

    def explain(self, predict, removed, rng):
        texts = [" ".join(w for w in text.split() if w not in removed) for text in self.shown[0]]
        method = vd.Lime(n_samples=256)
        many = vd.explain_many(predict, vd.Words(), texts, target=1, method=method, rng=rng, progress=quiet)
        self.explained.append((removed, many))
        return many

    def accuracy(self, predict):
        texts, labels = self.real
        return float(np.mean(np.argmax(predict(texts), axis=1) == labels))

    def study(self, **settings) -> Study:
        made = {"hidden": {"real": self.accuracy}, "k": 5, "choose": greedy, **settings}
        return Study(self.fit, made.pop("explain", self.explain), made.pop("choose"), made.pop("hidden"), **made)


def quiet(work, total):
    return work


def greedy(many, rng):
    return vd.pick(many, 6, k=5, rng=rng).chosen


def is_leak(word: str) -> bool:
    return word.startswith("leak")


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


@pytest.fixture(scope="module")
def paths(case) -> tuple[Cleaning, ...]:
    return clean(case.study(), Rule(is_leak), fan=(2, 1, 1))


def test_removing_the_leaks_helps_where_the_model_is_used(paths):
    for path in paths:
        scores = path.scores("real")
        assert scores[-1] > scores[0] + 0.10
        assert {word for word in path.removed if is_leak(word)} == set(path.removed)


def test_random_words_do_not_help(case, paths):
    words = [*LEAKS, *TOPICS, *FILLERS]
    for seed, path in enumerate(paths):
        (null,) = clean(case.study(explain=lambda *_: ()), RandomColumns(words, path.sizes), rng=seed)
        scores = null.scores("real")
        assert null.sizes == path.sizes
        assert scores[-1] < scores[0] + 0.05  # two standard errors of 800 texts are 0.035


def test_random_shown_words_help_less_than_the_leaks(case, paths):
    (null,) = clean(case.study(), RandomShown(paths[0].sizes), rng=3)
    assert null.sizes == paths[0].sizes
    assert all(set(each.removed) <= set(each.shown) for each in null.rounds[1:])
    assert null.scores("real")[-1] < paths[0].scores("real")[-1] - 0.03


def test_a_removed_word_never_comes_back(case, paths):
    for path in paths:
        gone = set[str]()
        for each in path.rounds:
            assert not gone & {*each.shown, *each.removed}
            gone |= set(each.removed)
    assert len(case.models) >= len(paths[0].rounds)
    for removed, model in case.models:
        assert not set(removed) & set(model[0].vocabulary_)
    for removed, many in case.explained:
        assert not any(set(removed) & set(why.names) for why in many)


def test_a_removed_word_is_not_shown_even_if_it_is_explained(case):
    def forgetful(predict, removed, rng):
        return vd.explain_many(
            predict, vd.Words(), case.shown[0][:8], target=1, method=vd.Lime(n_samples=256), progress=quiet
        )

    study = case.study(explain=forgetful, choose=lambda many, rng: range(8))
    (path,) = clean(study, lambda seen, rng: seen.columns[:5], fan=(1, 1))
    assert not set(path.rounds[1].removed) & set(path.rounds[2].shown)
    assert len(path.removed) == 10


def reachable(thing) -> list:
    """Everything that can be come to from an object, types and modules aside."""
    found, todo = {}, [thing]
    while todo:
        each = todo.pop()
        if id(each) in found or issubclass(type(each), (type, type(np))):  # a dead proxy has no class to ask
            continue
        found[id(each)] = each
        todo += gc.get_referents(each)
    return list(found.values())


def test_users_cannot_come_to_the_hidden_score(case):
    class Judge:
        def __call__(self, predict):
            return 0.123456

    judge, caught = Judge(), []

    def spy(seen, rng):
        caught.append((seen, rng))
        return seen.columns[:2]

    clean(case.study(hidden={"secret": judge}), spy, fan=(1, 1))
    assert len(caught) == 2
    for seen, rng in caught:
        assert isinstance(seen, ShownColumns)
        found = reachable([getattr(seen, name) for name in seen.__slots__]) + reachable(rng.bit_generator.state)
        kinds = {type(each) for each in found}
        assert kinds <= {tuple, list, str, float, int, dict}
        assert 0.123456 not in found


def test_the_saboteur_leads_to_the_hidden_score(case):
    leaky = [("topic0", case.accuracy)]
    assert any(each is case.real for each in reachable(leaky))


def test_what_a_user_does_is_the_same_whatever_the_hidden_score(case, paths):
    other = clean(case.study(hidden={"noise": lambda predict: -1.0}), Rule(is_leak), fan=(2, 1, 1))
    assert [path.removed for path in other] == [path.removed for path in paths]


def test_a_fan_has_a_path_for_every_last_model(case):
    many = case.explain(case.fit(()), (), 0)
    study = case.study(explain=lambda *_: many, hidden={"one": lambda predict: 1.0})
    found = clean(study, Rule(is_leak, attention=0.5), fan=(2, 3))
    assert len(found) == 6
    assert len({path.rounds[1].removed for path in found}) == 2
    assert found[0].rounds[1] is found[2].rounds[1]
    again = clean(study, Rule(is_leak, attention=0.5), fan=(2, 3))
    assert [path.removed for path in again] == [path.removed for path in found]


def test_a_table_is_cleaned_by_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))

    def fit(removed):
        keep = np.array([name not in removed for name in ("x0", "x1", "x2")])
        return lambda rows: np.asarray(rows)[:, keep].sum(axis=1)

    def explain(predict, removed, rng):
        return [vd.explain(predict, vd.Rows(X, names=["x0", "x1", "x2"]), X[0])]

    study = Study(fit, explain, lambda many, rng: [0], {"x1": lambda p: p(np.eye(3))[1]})
    (path,) = clean(study, Rule(lambda column: column == "x1"), fan=(1, 1))
    assert path.removed == ("x1",)
    assert path.scores("x1").tolist() == [1, 0, 0]
    assert "x1" not in path.rounds[2].shown


def test_scores_are_known_by_name():
    path = Cleaning(tuple(Round(i, (), (), {"s": v}) for i, v in enumerate([0.5, 0.6])))
    assert path.scores("s").tolist() == [0.5, 0.6]
    with pytest.raises(vd.errors.InputError, match="no score is called 'other'; there are s"):
        path.scores("other")


def test_nothing_shown_removes_nothing(case):
    (path,) = clean(case.study(explain=lambda *_: ()), Rule(is_leak), fan=(1, 1))
    assert path.removed == ()
    assert path.rounds[2].shown == ()


def test_weights_that_are_no_numbers_are_not_shown(case):
    lost = case.explain(case.fit(frozenset()), (), np.random.default_rng(0))[0]
    weights = np.where(np.arange(len(lost.weights)) < 3, 1.0, np.nan)
    lost = dataclasses.replace(lost, weights=weights)
    study = case.study(explain=lambda *_: (lost,), choose=lambda many, rng: [0])
    (path,) = clean(study, lambda seen, rng: (), fan=(1,))
    assert path.rounds[1].shown == lost.names[:3]


def test_mistakes_are_told(case):
    with pytest.raises(vd.errors.InputError, match="hidden must be scores by their names"):
        case.study(hidden={})
    with pytest.raises(vd.errors.InputError, match="k must be"):
        case.study(k=0)
    with pytest.raises(vd.errors.InputError, match="each number of fan"):
        clean(case.study(), Rule(is_leak), fan=(1, 0))
    with pytest.raises(vd.errors.InputError, match="not 3"):
        clean(case.study(), lambda seen, rng: [3], fan=(1,))
    with pytest.raises(vd.errors.InputError, match="in 1 rounds, and this is round 2"):
        clean(case.study(), RandomShown((2,)), fan=(1, 1))
    with pytest.raises(vd.errors.InputError, match="number 40 of 40 explanations"):
        clean(case.study(choose=lambda many, rng: [len(many)]), Rule(is_leak))
    with pytest.raises(vd.errors.InputError, match=r"each of sizes must be .* not -1"):
        clean(case.study(), RandomShown((-1,)), fan=(1,))
    with pytest.raises(vd.errors.InputError, match="rng must be"):
        clean(case.study(), Rule(is_leak), rng=None)
    with pytest.raises(vd.errors.InputError, match="from 0 to 1, not 90"):
        Rule(is_leak, attention=90)
    words = [*LEAKS, *TOPICS, *FILLERS]
    with pytest.raises(vd.errors.ModelError, match=r"without 104 columns .* remove fewer"):
        clean(case.study(), lambda seen, rng: words, fan=(1,))
    bad = Study(lambda removed: "model", case.explain, greedy, {"one": lambda p: 1.0})
    with pytest.raises(vd.errors.InputError, match="function that predicts, not str"):
        clean(bad, Rule(is_leak))
