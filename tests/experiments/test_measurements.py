"""The experiments' own measurements, on data made here: no folder of data is needed."""

from __future__ import annotations

import io
import json
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import veridical as vd

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import bar
    import cells
    import gime_tables
    import gime_toy
    import group_fidelity as fidelity
    import report
    import sections.gime_tables
    import sets
    import sp_lime_scale
    import summary
finally:
    sys.path.remove(EXPERIMENTS)


def table(n: int = 100) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return np.column_stack(
        [x, np.full(n, 7.0), 3 * np.abs(x[:, 0]) + x[:, 1] + 5]
    )  # a constant column, the target


def test_a_table_is_cut_and_scaled_by_its_training_part():
    whole = table(200)
    (train, y), (valid, _), (test, y_test) = sets.cut(whole, 3)
    assert [len(train), len(valid), len(test)] == [140, 30, 30]
    assert train.shape[1] == 3
    np.testing.assert_allclose([y.mean(), y.std(ddof=1)], [0, 1], atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0, ddof=1), 1)
    assert abs(y_test.mean()) > 1e-6
    other = sets.cut(whole, 4)[0][0]
    assert not np.allclose(train, other)


def test_texts_are_cut_to_the_sizes_asked_for():
    labels = np.repeat([0, 1], [30, 70])
    found = sets.shares(labels, (60, 20, 15), 0)
    assert [len(part) for part in found] == [60, 20, 15]
    assert len(np.unique(np.concatenate(found))) == 95
    assert [int(labels[part].sum()) for part in found[:2]] == [42, 14]


def test_thinned_texts_keep_what_is_between_words_and_lose_words_altogether():
    text = "the cat, the dog - and the rest"
    found, left = sets.thinned([text, ""], np.random.default_rng(0))
    assert found[0] == text
    assert found[10:] == [""] * 10
    for said, words in zip(found, left, strict=True):
        assert set(words) == set(sets.re.findall(r"\w+", said))
    gone = [5 - len(words) for words in left[:10]]
    assert gone[0] == 0
    assert min(gone[1:]) >= 1
    sizes = [5 - len(words) for words in sets.thinned([text] * 400, np.random.default_rng(1))[1]]
    counts = np.bincount(sizes, minlength=6)
    assert counts[0] == 400
    np.testing.assert_allclose(counts[1:], 720, atol=4 * np.sqrt(720))


def test_occurrences_are_those_of_known_words():
    found = sets.occurrences([["b", "x"], [], ["a", "b"]], ["a", "b", "c"])
    np.testing.assert_array_equal(found.toarray(), [[0, 1, 0], [0, 0, 0], [1, 1, 0]])


def slow(rows, near, values, grouping):
    """The error and the ceiling, one neighbor at a time."""
    total, least = [], []
    for i, x in enumerate(rows):
        group = int(np.argmax(grouping.assign(x[None])[0]))
        losses = np.zeros(grouping.k)
        for j in range(sets.NEIGHBORS):
            z = (near[i * sets.NEIGHBORS + j] - grouping.space.means) / grouping.space.sds
            for k in range(grouping.k):
                said = sum(w * v for w, v in zip(grouping.weights[k], z, strict=True)) + grouping.intercepts[k]
                losses[k] += (said - values[i, j]) ** 2 / sets.NEIGHBORS
        total.append(losses[group])
        least.append(losses.min())
    return np.sqrt(np.mean(total)), np.sqrt(np.mean(least))


@pytest.fixture(scope="module")
def problem() -> sets.Problem:
    (train, _), (valid, _), (test, _) = sets.cut(table(), 0)
    near = sets.neighbors(test, np.random.default_rng(1))

    def predict(rows):
        return np.abs(rows[:, 0]) + rows[:, 1]

    return sets.Problem(
        "auto",
        0,
        train,
        valid,
        test,
        predict,
        vd.Rows(train),
        sets.Setting("nowhere.csv", 2, 2),
        predict(near).reshape(len(test), sets.NEIGHBORS),
        lambda grouping: grouping.space.rows(grouping.space.read(near)),
        0.5,
    )


def test_the_fidelity_is_that_of_a_slow_loop(problem):
    grouping, cost = fidelity.fit(problem, vd.groupings.Gime(rounds=2))
    found = fidelity.judge(problem, grouping)
    near = sets.neighbors(problem.test, np.random.default_rng(1))
    np.testing.assert_allclose(
        [found["rmse"], found["hindsight"]], slow(problem.test, near, problem.values, grouping), rtol=1e-10
    )
    assert found["hindsight"] < found["rmse"]
    assert cost["calls"] == grouping.n_calls
    assert found["line_features"] == found["region_features"] == 2
    assert found["curve"][-1] == pytest.approx((1.0, found["rmse"]))
    json.dumps(cells.short({**found, **cost}))


def test_the_fidelity_sees_a_wrong_group(problem):
    grouping, _ = fidelity.fit(problem, vd.groupings.Gime(rounds=2))
    said = problem.designs(grouping) @ grouping.weights.T + grouping.intercepts
    said = said.reshape(*problem.values.shape, -1)
    own = grouping.assign(problem.test).argmax(axis=1)
    right, wrong = (fidelity.errors(said, problem.values, group)["rmse"] for group in (own, 1 - own))
    assert wrong > 1.2 * right


def test_agreement_is_by_the_own_group():
    said = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.9, 0.1], [0.7, 0.2]]])  # (n, p, k)
    values = np.array([[0.8, 0.8], [0.2, 0.9]])
    assert fidelity.agreement(said, values, np.array([0, 1])) == pytest.approx(2 / 4)


def test_the_curve_keeps_the_surest_and_ties_together():
    losses, surely = np.array([1.0, 4.0, 9.0, 16.0]), np.array([0.9, 0.8, 0.7, 0.6])
    found = dict(fidelity.curve(losses, surely))
    assert found[0.25] == 1
    assert found[0.5] == pytest.approx(np.sqrt(2.5))
    assert found[1.0] == pytest.approx(np.sqrt(7.5))
    assert {share for share, _ in fidelity.curve(losses, np.ones(4))} == {1.0}


def test_regions_without_scores_are_counted_by_their_reasons():
    gate = SimpleNamespace(reasons=lambda row, group: np.array([1.0, 0.0, float(group)]))
    space = SimpleNamespace(read=np.asarray, rows=lambda rows: rows)
    made = SimpleNamespace(gate=None, space=space, k=2)

    class Gate:
        reasons = staticmethod(gate.reasons)

        def __call__(self, rows):
            return np.eye(2)[[0, 1, 1]]

    made.gate = Gate()
    np.testing.assert_array_equal(fidelity.region_features(made, np.zeros((3, 3))), [1, 2])


def test_cells_resume_and_keep_errors(tmp_path, capsys):
    done = []

    def measure(cell):
        done.append(cell["split"])
        if cell["split"] == 1 and len(done) < 4:
            raise ValueError("this split is broken")
        return {"rmse": 0.123456789 * (1 + cell["split"])}

    path = tmp_path / "deep" / "some.json"
    wanted = [{"split": split} for split in range(3)]
    cells.work(cells.Results(path, "some", ["split"]), wanted, measure)
    kept = json.loads(path.read_text())["cells"]
    assert [cell.get("rmse") for cell in kept] == [0.12346, None, 0.37037]
    assert "this split is broken" in kept[1]["error"]
    assert "this split is broken" in capsys.readouterr().out

    again = cells.Results(path, "some", ["split"])
    cells.work(again, [*wanted, {"split": 3}], measure, resume=True)
    assert done == [0, 1, 2, 1, 3]
    assert len(json.loads(path.read_text())["cells"]) == 4
    assert "error" not in path.read_text().replace("environment", "")
    with pytest.raises(SystemExit, match="choose another --out"):
        cells.Results(path, "other", ["split"])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_tells_the_time_left_by_cost(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(bar.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(bar.sys, "stderr", screen := Terminal())
    monkeypatch.setattr(bar, "TICK", 3600.0)
    with bar.Bar(3, 10.0) as shown:
        now[0] = 60.0
        shown.step("first", 1.0)
        assert shown.left() == 540
        now[0] = 100.0
        assert shown.left() == 500
        shown.step("second", 1.0)
        assert "2/3 (20%), 6:40 left" in shown.text()
        shown.step("third", 8.0)
    assert capsys.readouterr().out.splitlines() == ["first (9:00 left)", "second (6:40 left)", "third"]
    assert "░ 1/3 (10%), 9:00 left" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")
    assert bar.clock(3725) == "1:02:05"


def test_where_nobody_watches_there_is_no_bar(monkeypatch, capsys):
    monkeypatch.setattr(bar.sys, "stderr", screen := io.StringIO())
    with bar.Bar(1, 1.0) as shown:
        shown.step("only", 1.0)
    assert screen.getvalue() == ""
    assert capsys.readouterr().out == "only\n"


def test_figures_have_the_name_of_their_file(tmp_path, monkeypatch):
    for name in ("husky.svg", "husky-fresh.svg", "husky-fresh-more.svg", "huskyish.svg"):
        (tmp_path / name).touch()
    names = ["husky", "husky-fresh"]
    assert report.links("husky", names, tmp_path) == "\n\n![husky](results/husky.svg)"
    assert "husky-fresh-more.svg" in report.links("husky-fresh", names, tmp_path)
    fake = SimpleNamespace(figures=lambda cells, folder: (folder / "trust-b.svg").write_text(str(len(cells))))
    monkeypatch.setattr(report, "import_module", lambda name: fake)
    report.draw("trust-fresh", {"experiment": "trust", "cells": [{"a": 1}, {"error": "no"}]}, tmp_path)
    assert (tmp_path / "trust-fresh-b.svg").read_text() == "1"


def test_the_list_of_targets_has_every_one():
    text = "<!-- trust -->\nwords\n\n| target | wanted | found | met    |\n|---|---|---|---|\n"
    text += "| F1 of a | ≥ 1 | 2 | yes |\n| of b | ≥ 1 | 0 [-1, 1] | **no** |\n\n"
    text += "| x | y |\n|---|---|\n| 1 | 2 |\n<!-- /trust -->"
    others = text.replace("trust", "sp_lime_scale") + text.replace("trust", "husky-network")
    found = " ".join(report.outline(text + others).split())
    assert "2 of 4 targets are met" in found
    assert "| animal or snow, network | of b |" in found
    assert "| trust | F1 of a | ≥ 1 | 2 | yes |" in found
    assert "| trust | of b | ≥ 1 | 0 [-1, 1] | **no** |" in found


def test_every_file_of_results_has_its_section():
    readme = report.README.read_text(encoding="utf-8")
    for path in sorted(cells.FOLDER.glob("*.json")):
        assert json.loads(path.read_text(encoding="utf-8"))["experiment"] in report.SECTIONS
        assert f"<!-- {path.stem} -->" in readme


def test_a_cell_that_takes_too_long_is_given_up():
    import time

    found = cells.attempt({"split": 0}, lambda cell: {"slept": time.sleep(10)}, limit=1)
    assert "took longer than 1 s" in found["error"]


def test_missing_data_is_told_before_any_work(tmp_path):
    settings = Namespace(set=["wine"], data=None)
    with pytest.raises(SystemExit, match=r"--data DIR \(tabular/wine_quality_red.csv\)"):
        gime_tables.main(settings)
    settings.data = tmp_path
    with pytest.raises(SystemExit, match=r"looked for .*wine_quality_red\.csv, which is not there"):
        gime_tables.main(settings)
    with pytest.raises(sets.NoDataError, match="looked for"):
        sp_lime_scale.check(tmp_path)


def test_a_run_from_a_file_to_the_tables(tmp_path, monkeypatch):
    folder = tmp_path / "tabular"
    folder.mkdir()
    names = ",".join(f"c{j}" for j in range(5))
    np.savetxt(folder / "wine_quality_red.csv", table(), delimiter=",", header=names, comments="")
    out = tmp_path / "gime_tables.json"
    words = [
        "--data",
        str(tmp_path),
        "--set",
        "wine",
        "--splits",
        "0",
        "1",
        "--methods",
        "gime",
        "--out",
        str(out),
    ]
    monkeypatch.setattr(sys, "argv", ["gime_tables.py", *words, "--ks"])
    monkeypatch.setitem(gime_tables.GROUPINGS, "gime", lambda: vd.groupings.Gime(rounds=1, steps=(2, 2)))
    gime_tables.main(gime_tables.arguments().parse_args(words))
    record = json.loads(out.read_text())
    assert [cell["split"] for cell in record["cells"]] == [0, 1]
    assert str(tmp_path) not in record["commands"][0]
    ours = [{**cell, "method": "mixture", "rmse": cell["rmse"] / 2} for cell in record["cells"]]
    shown = sections.gime_tables.tables([*record["cells"], *ours])
    assert "| gime " in shown
    assert "Wine: times GIME's | ≤ 0.92 | 0.500 | yes" in " ".join(shown.split())


def test_paired_differences_are_those_of_a_t_test():
    ours, other = {0: 1.0, 1: 2.0, 2: 4.0, 9: 50.0}, {0: 1.5, 1: 2.1, 2: 5.0, 8: 0.0}
    mean, low, high, n = summary.paired(ours, other)
    gaps = np.array([-0.5, -0.1, -1.0])
    interval = stats.ttest_1samp(gaps, 0).confidence_interval()
    np.testing.assert_allclose([mean, low, high, n], [gaps.mean(), interval.low, interval.high, 3])
    assert summary.paired({0: 1.0}, {1: 1.0}) is None


def test_the_oracle_of_the_toy_is_exact_at_its_rows():
    for variant in gime_toy.VARIANTS:
        made = gime_toy.toy(variant, 5, 0)
        near, at_x = gime_toy.truth(made, 0)
        assert at_x == pytest.approx(0)
        assert 0.05 < near < 0.4


def test_the_plain_pick_is_that_of_the_card():
    rows = [{0, 1}, {1, 2}, {1, 2}, {1}, {3, 4}]
    W = sp_lime_scale.csr_matrix([[float(j in row) for j in range(5)] for row in rows])
    assert sp_lime_scale.plain_greedy(W, 2) == [1, 4]
    np.testing.assert_allclose(sp_lime_scale.covered(W, [1, 4])[-1], (3 + np.sqrt(2) + 1) / (5 + np.sqrt(2)))
