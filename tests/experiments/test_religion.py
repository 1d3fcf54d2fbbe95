"""What the experiments on newsgroups and pages about religion measure, on texts made here: no data is needed."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.svm import SVC

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import clean_and_retrain
    import newsgroups
    import religion
    import report
    from sections import clean_and_retrain as cleaning_section
    from sections import newsgroups as newsgroups_section
    from sets import NoDataError
finally:
    sys.path.remove(EXPERIMENTS)

CLASSES = ("atheism", "christianity")


def article(label: int, rng: np.random.Generator) -> str:
    """A header that gives the class away, and a body that tells it a little."""
    host = "Posting Host" if label == 0 and rng.random() < 0.9 else "Reply"
    return f'Subject: {host}\n\n{page(label, rng)} "quoted, or" not\r é'


def page(label: int, rng: np.random.Generator) -> str:
    topic = [f"{CLASSES[label if rng.random() < 0.7 else 1 - label]}{j}" for j in rng.integers(0, 6, 4)]
    return " ".join([*topic, *[f"word{j}" for j in rng.integers(0, 60, 30)]])


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The three tables, as CSV with gzip."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("data")
    labels = np.tile([0, 1], 60)
    two = pd.DataFrame(
        {
            "split": np.where(np.arange(120) < 80, "train", "test"),
            "group": [religion.GROUPS[label] for label in labels],
            "text": [article(label, rng) for label in labels],
        }
    )
    other = two.assign(group="sci.space", text=[" ".join(f"word{j}" for j in rng.integers(0, 60, 30))] * 120)
    kinds = np.array([0] * 30 + [1] * 44)
    pages = pd.DataFrame({"label": [CLASSES[k] for k in kinds], "text": [page(k, rng) for k in kinds]})
    for name, table in {"two": two, "all": pd.concat([two, other]), "pages": pages}.items():
        path = folder / f"{religion.TABLES[name]}.csv.gz"
        path.parent.mkdir(exist_ok=True)
        table.to_csv(path, index=False)
    return folder


@pytest.fixture(scope="module")
def worlds(data) -> religion.Worlds:
    return religion.load(data)


def test_tables_are_read_as_they_were(data):
    two = religion.table(data, "two")
    assert list(two.columns) == ["split", "group", "text"]
    assert two.text[0].endswith('"quoted, or" not\r é')
    assert "\n\n" in two.text[0]


def test_what_is_missing_is_told(tmp_path):
    with pytest.raises(NoDataError, match=r"--data DIR"):
        religion.check(None)
    with pytest.raises(NoDataError, match=r"atheism_christian\.csv\.gz; looked in"):
        religion.check(tmp_path)
    for experiment in (newsgroups, clean_and_retrain):
        with pytest.raises(SystemExit, match=f"{experiment.__name__}: wanted newsgroups20"):
            experiment.main(Namespace(data=tmp_path))


def test_the_worlds(worlds):
    assert [len(worlds.train), len(worlds.test), len(worlds.pages)] == [80, 40, 60]
    assert worlds.pages.labels.sum() == 30
    column = worlds.column
    assert worlds.headers[column["Posting"]] > 0 == worlds.bodies[column["Posting"]]
    assert worlds.bodies[column["word0"]] > worlds.headers[column["word0"]]
    assert worlds.others[column["atheism0"]] == 0 < worlds.others[column["word0"]]


def test_halves_of_pages_have_half_of_each_class(worlds):
    first, second = religion.split_pages(worlds.pages.labels)
    assert sorted([*first, *second]) == list(range(60))
    assert worlds.pages.labels[first].sum() == worlds.pages.labels[second].sum() == 15
    known, score = clean_and_retrain.pages_of(worlds, False, 3)
    assert known.texts == worlds.pages.some(first).texts
    assert score.texts == worlds.pages.some(second).texts
    for path in range(3):  # what is chosen while developing never meets the second half
        parts = clean_and_retrain.pages_of(worlds, True, path)
        assert sorted(parts[0].texts + parts[1].texts) == sorted(known.texts)


@pytest.mark.parametrize("dense", [0, 4000])
def test_the_svm_is_scikit_learns(worlds, monkeypatch, dense):
    monkeypatch.setattr(religion, "DENSE", dense)
    X, y = csr_matrix(worlds.train.bags), worlds.train.labels
    ours, theirs = religion.Svm().fit(X, y), SVC(C=10, gamma=0.001).fit(X, y)
    there = worlds.test.bags
    np.testing.assert_allclose(ours.decision_function(there), theirs.decision_function(there), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(there), theirs.predict(there))
    np.testing.assert_allclose(ours.predict_proba(there).sum(axis=1), 1)


def test_a_classifier_does_not_know_what_was_removed(worlds):
    model = religion.Classifier.without(worlds, {"Posting", "Host"})
    assert "Posting" not in model.pipeline[0].vocabulary_
    np.testing.assert_array_equal(np.argmax(model(worlds.test.texts), axis=1), model.predict(worlds.test))
    assert model.seen("Posting of word3, word3 and Nowhere") == "word3 word3"
    (why,) = religion.explained(model, [worlds.test.texts[0], "Posting"], np.random.default_rng(0))
    assert "Posting" not in why.names
    assert why.n_calls <= 2049


def test_explanations_are_asked_the_quick_way(worlds, monkeypatch):
    model, asked = religion.Classifier.without(worlds), []
    vectorizer = type(model.pipeline[0])
    plain = vectorizer.transform
    monkeypatch.setattr(vectorizer, "transform", lambda self, X: asked.append(len(X)) or plain(self, X))
    religion.explained(model, worlds.test.texts[:1], np.random.default_rng(0))
    assert 0 < sum(asked) < 100


def test_a_word_is_topical_if_pages_have_it_more_often(worlds):
    topic = religion.Topic.of(worlds, worlds.pages, 1.0)
    assert not topic.bad("atheism0")
    assert topic.bad("Posting")
    assert religion.Topic.of(worlds, worlds.pages, 0.0).topical >= topic.topical


def test_a_choice_is_for_fewer_bad_words(monkeypatch):
    monkeypatch.setattr(newsgroups, "MISTAKEN", 0.0)
    topic, rng = religion.Topic(frozenset({"God"})), np.random.default_rng(0)
    bad, mixed, good = [["Host", "edu"]], [["God", "edu"]], [["God"]]
    assert newsgroups.chosen([bad, mixed], topic, 1.0, rng) == 1
    assert newsgroups.chosen([mixed, bad], topic, 1.0, rng) == 0
    assert newsgroups.chosen([good, good], topic, 1.0, rng) == 0.5
    half = [newsgroups.chosen([bad, [[]]], topic, 0.5, rng) for _ in range(400)]
    assert np.mean(half) == pytest.approx(0.75 + 0.25 / 2, abs=4 * 0.22 / 20)  # tied if neither is noticed


def test_header_words_that_are_shown_are_counted(worlds):
    shown = [["Posting", "word0"], ["Posting", "Host"], ["word1", "word2"]]
    found = newsgroups.exposed(worlds, shown, worlds.pages)
    assert found["with_header_word"] == pytest.approx(2 / 3)
    assert found["header_share"] == pytest.approx(3 / 6)
    first = found["header_words"][0]
    assert (first["word"], first["class"], first["one_class"]) == ("Posting", "atheism", 1.0)
    assert first["pages"] == 0


def cell(pick: str, path: int, ends: dict[str, float]) -> dict:
    users = {
        user: {
            "pages": [[0.5, 0.55, end], [0.5, 0.55, end + 0.02]],
            "test": [[0.9] * 3] * 2,
            "removed": [[0, 5, 9]] * 2,
        }
        for user, end in ends.items()
    }
    return {
        "rule": "5×", "pick": pick, "path": path, "users": users, "words": {"Host": 2, "edu": 1},
        "page_error": 0.01, "half": "second",
    }  # fmt: skip


def test_gains_are_over_paths():
    some = [cell("SP", i, {"knowing": 0.6 + 0.01 * i, "shown": 0.53, "any": 0.49}) for i in range(3)]
    gains = cleaning_section.gain(some, "knowing")
    np.testing.assert_allclose(list(gains.values()), [0.11, 0.12, 0.13])
    np.testing.assert_allclose(sorted(cleaning_section.net(some).values()), [0.07, 0.08, 0.09])
    interval = stats.ttest_1samp([11, 12, 13], 0).confidence_interval()
    assert cleaning_section.points(gains) == f"+12.0 [{interval.low:+.1f}, {interval.high:+.1f}]"
    told = cleaning_section.tables([*some, {"rule": "5×", "pick": "RP", "path": 0, "error": "lost"}])
    assert "* 5×, RP, path 0: lost" in told
    assert "| 1.5    | 2" in told  # words a path, and on half of the paths
    flat = " ".join(told.split())
    assert "5×, SP: gain in three rounds | ≥ +10 | +12.0 [+9.5, +14.5] | yes" in flat
    assert "standard error of 1.0 points" in flat


def run(experiment, data, tmp_path, monkeypatch, *words: str) -> dict:
    out = tmp_path / "out.json"
    words = ("--data", str(data), "--out", str(out), *words)
    monkeypatch.setattr(sys, "argv", ["some.py", *words])
    experiment.main(experiment.arguments().parse_args(words))
    record = json.loads(out.read_text())
    assert [c.get("error") for c in record["cells"]] == [None] * len(record["cells"])
    return record


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(clean_and_retrain, "DOCUMENTS", 12)
    monkeypatch.setattr(newsgroups, "CANDIDATES", 12)
    monkeypatch.setattr(religion, "FEWEST", 5)
    monkeypatch.setattr(newsgroups, "FEWEST", 5)


def test_cleaning_from_files_to_tables(data, tmp_path, monkeypatch, few):
    record = run(clean_and_retrain, data, tmp_path, monkeypatch, "--paths", "2", "--rules", "5×")
    assert [c["pick"] for c in record["cells"]] == ["all", "SP", "RP", "SP", "RP"]
    found = record["cells"][1]["users"]
    assert set(found) == {"knowing", "shown", "any"}
    assert len(found["knowing"]["pages"][0]) == 4
    assert found["knowing"]["removed"] == found["any"]["removed"]
    shown = report.section(record)
    assert "| 5×   | RP   | removes random shown words |" in shown
    cleaning_section.figures(record["cells"], tmp_path)
    assert (tmp_path / "clean_and_retrain.svg").stat().st_size > 1000


def test_the_full_fan_has_25_last_models_a_path(data, tmp_path, monkeypatch, few):
    monkeypatch.setattr(clean_and_retrain, "DOCUMENTS", 3)
    record = run(clean_and_retrain, data, tmp_path, monkeypatch, "--paths", "1", "--picks", "SP", "--full")
    assert len(record["cells"][1]["users"]["knowing"]["pages"]) == 25


def test_newsgroups_from_files_to_tables(data, tmp_path, monkeypatch, few):
    record = run(newsgroups, data, tmp_path, monkeypatch, "--n", "12", "--paths", "2")
    assert [c["what"] for c in record["cells"]] == ["original", "choice", "choice"]
    assert len(record["cells"][1]["choices"]) == 2 * 3 * (1 + len(newsgroups.METHODS))
    shown = report.section(record)
    assert "| `Posting`" in shown
    assert "| greedy " in shown
    newsgroups_section.figures(record["cells"], tmp_path)
    assert (tmp_path / "newsgroups.svg").stat().st_size > 1000
