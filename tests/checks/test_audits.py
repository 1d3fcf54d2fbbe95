"""Audits: every check is run or says why not, whatever goes wrong in one; and the command says how it went."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import veridical as vd
from tests.builders.pages import exact
from veridical import cli
from veridical.checks import audits
from veridical.checks.audits import CHECKS
from veridical.errors import InputError, NotApplicable
from veridical.records import Verdict

X = np.random.default_rng(0).normal(size=(40, 3))
QUICK = vd.Lime(n_samples=64)


def predict(rows: Any) -> Any:
    return 3 * np.asarray(rows)[:, 0] + np.asarray(rows)[:, 1]


def fine(method: Any, subject: Any, rng: Any) -> Verdict:
    """Is all well?"""
    drawn = float(np.random.default_rng(rng).random())
    subject.checked_model(subject.X[:10])
    return Verdict(True, drawn, 0.0, "All is well.")


def wrong(method: Any, subject: Any, rng: Any) -> Verdict:
    return Verdict(False, 1.0, 0.0, "Something is wrong.")


def unsure(method: Any, subject: Any, rng: Any) -> Verdict:
    return Verdict(False, 0.5, 0.4, "It may be either.", label="unclear")


def away(method: Any, subject: Any, rng: Any) -> Verdict:
    raise NotApplicable("needs shifted=…")


def crash(method: Any, subject: Any, rng: Any) -> Verdict:
    raise RuntimeError("out of cheese")


def silent(method: Any, subject: Any, rng: Any) -> Any:
    return True


def subject() -> vd.Subject:
    return vd.Subject(predict, vd.Rows(X), X)


def outcomes(*checks: Any) -> list[str]:
    return [r.outcome for r in vd.audit(subject(), checks=checks, methods=QUICK).results]


def test_whatever_happens_in_a_check_is_told_and_the_others_go_on() -> None:
    a = vd.audit(subject(), checks=[wrong, away, crash, silent, fine], methods=QUICK)
    assert [r.outcome for r in a.results] == ["failed", "skipped", "error", "error", "passed"]
    assert [r.check for r in a.results] == ["wrong", "away", "crash", "silent", "fine"]
    assert [r.reason for r in a.results] == [
        "", "needs shifted=…", "RuntimeError: out of cheese",
        "InputError: the check silent must return a vd.Verdict; it returned bool", "",
    ]  # fmt: skip
    assert all(r.method == "Lime" and r.seconds >= 0 for r in a.results)
    assert a.counts == {"failed": 1, "error": 2, "unclear": 0, "passed": 1, "skipped": 1}
    assert a.title == "predict on 40 instances (Rows)"


@pytest.mark.parametrize(
    ("checks", "code"),
    [([fine], 0), ([fine, away], 0), ([fine, wrong], 1), ([fine, crash], 1), ([away], 2), ([crash, away], 2)],
)
def test_exit_codes(checks: list[Any], code: int) -> None:
    a = vd.audit(subject(), checks=checks, methods=QUICK)
    assert (a.exit_code, a.passed) == (code, code == 0)


@pytest.mark.parametrize(
    ("checks", "strict", "code", "outcome"),
    [
        ([fine, unsure], False, 0, "unclear"),
        ([fine, unsure], True, 1, "unclear"),
        ([wrong, unsure], False, 1, "failed"),
        ([unsure], False, 2, "unclear"),
        ([unsure], True, 1, "unclear"),
        ([unsure, away], False, 2, "unclear"),
    ],
)
def test_not_clear_is_an_outcome_of_its_own(checks: Any, strict: bool, code: int, outcome: str) -> None:
    a = vd.audit(subject(), checks=checks, methods=QUICK, strict=strict)
    assert (a.exit_code, a.outcome, a.strict) == (code, outcome, strict)
    assert a.results[-1 if checks[-1] is unsure else 0].outcome == "unclear"


def test_the_model_and_its_explanations_are_two_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(audits.MODEL_CHECKS, "wrong", wrong)
    both = {"a": QUICK, "b": vd.Occlusion()}
    a = vd.audit(subject(), checks=[wrong, fine], methods=both)
    assert [(r.check, r.method, r.part) for r in a.results] == [
        ("wrong", "", "model"),
        ("fine", "a", "method"),
        ("fine", "b", "method"),
    ]
    assert [a.part(name).exit_code for name in ("model", "method", "both")] == [1, 0, 1]
    assert a.sentence == "The model: 1 of 1 check failed. Its explanations: all 2 checks passed."
    codes = {
        part: vd.audit(subject(), checks=[wrong, fine], methods=both, fail_on=part).exit_code
        for part in ("model", "method", "both")
    }
    assert codes == {"model": 1, "method": 0, "both": 1}
    assert vd.audit(subject(), checks=[fine], methods=both, fail_on="model").exit_code == 2
    with pytest.raises(InputError, match="a part is"):
        a.part("all")


def test_checks_of_the_model_take_the_first_method_that_they_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def choosy(method: Any, subject: Any, rng: Any) -> Verdict:
        seen.append(method)
        if isinstance(method, vd.Lime):
            raise NotApplicable("not by this")
        return Verdict(True, 1.0, 0.0, "Well.")

    monkeypatch.setitem(audits.MODEL_CHECKS, "choosy", choosy)
    a = vd.audit(subject(), checks=[choosy], methods=[QUICK, vd.Occlusion(), vd.KernelShap()])
    assert [r.outcome for r in a.results] == ["passed"]
    assert [type(each).__name__ for each in seen] == ["Lime", "Occlusion"]


def test_a_model_that_fails_on_some_rows_is_named_and_the_others_go_on_without_them() -> None:
    rows = np.random.default_rng(1).normal(size=(60, 3))
    rows[[7, 33], 0] = 100.0

    def fragile(batch: Any) -> Any:
        values = np.asarray(batch)
        if (values[:, 0] == 100.0).any():
            raise ValueError("too large")
        return 3 * values[:, 0] + values[:, 1]

    a = vd.audit(fragile, vd.Rows(X), rows, checks=["accuracy", "mismatch"], methods=QUICK)
    assert [r.outcome for r in a.results] == ["failed", "unclear"], [r.reason for r in a.results]
    assert "fails on 2 of 60 instances (rows 7, 33): predict raised ValueError" in a.results[0].verdict.sentence
    assert a.results[0].verdict.rows == (7, 33)


def test_a_stop_by_the_user_is_no_result() -> None:
    def stopped(method: Any, subject: Any, rng: Any) -> Verdict:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcomes(stopped)


def test_every_check_by_every_method() -> None:
    methods = {"a": QUICK, "b": vd.Occlusion()}
    a = vd.audit(subject(), checks=[fine, wrong], methods=methods)
    assert [(r.check, r.method) for r in a.results] == [
        ("fine", "a"),
        ("fine", "b"),
        ("wrong", "a"),
        ("wrong", "b"),
    ]
    assert all((r.verdict.check, r.verdict.method) == (r.check, r.method) for r in a.results)
    assert a.recipe["methods"]["b"]["name"] == "Occlusion"
    assert (a.recipe["checks"], a.recipe["rng"]) == (["fine", "wrong"], 0)


def test_all_checks_are_run_by_default() -> None:
    a = vd.audit(subject(), methods=QUICK)
    assert [r.check for r in a.results] == list(CHECKS)
    assert {r.outcome for r in a.results} <= {"passed", "failed", "unclear", "skipped"}, [
        r.reason for r in a.results
    ]
    assert all(r.reason for r in a.results if r.verdict is None)


def test_a_verdict_is_that_of_debug_with_the_same_rng() -> None:
    a = vd.audit(predict, vd.Rows(X), X, checks=[fine], methods=QUICK, rng=7)
    alone = vd.debug(predict, vd.Rows(X), X, check=fine, method=QUICK, rng=7)
    assert exact(a.results[0].verdict) == exact(alone)
    again = vd.audit(subject(), checks=[wrong, fine], methods=QUICK, rng=7)
    assert exact(again.results[1].verdict) == exact(alone), "other checks change nothing"
    assert (
        again.results[1].verdict.observed != vd.audit(subject(), checks=[fine], rng=8).results[0].verdict.observed
    )
    drawn = [vd.audit(subject(), checks=[fine], rng=np.random.default_rng(3)) for _ in range(2)]
    assert exact(drawn[0].results[0].verdict) == exact(drawn[1].results[0].verdict)


def test_questions_to_the_model_are_counted() -> None:
    assert vd.audit(subject(), checks=[fine, wrong], methods=QUICK).n_calls == 10


def test_no_model_is_trained_twice() -> None:
    trained: list[int] = []

    def train(X: Any, y: Any, seed: int) -> Any:
        trained.append(seed)
        return predict

    def twice(method: Any, subject: Any, rng: Any) -> Verdict:
        first, again = (subject.train_model(subject.X, subject.X[:, 0], seed) for seed in (1, 1))
        other = subject.train_model(subject.X[::-1], subject.X[:, 0], 1)
        subject.train_model(subject.X, subject.X[:, 0], 2)
        return Verdict(first.predict is again.predict is other.predict, 0.0, 0.0, "")

    asked = vd.Subject(predict, vd.Rows(X), X, train=train)
    assert vd.audit(asked, checks=[twice], methods={"a": QUICK, "b": QUICK}).passed
    assert trained == [1, 1, 2]


def test_progress_is_a_wrapper_that_the_caller_gives() -> None:
    seen: list[Any] = []

    def track(work: Iterator[Any], total: int) -> Iterator[Any]:
        seen.append(total)
        yield from work

    vd.audit(subject(), checks=[fine, away], methods=QUICK, progress=track)
    assert seen == [2]


def test_default_methods() -> None:
    a = vd.audit(subject(), checks=[fine])
    assert [r.method for r in a.results] == ["Lime"]
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = vd.Network(torch.nn.Linear(3, 2).double())
    found = vd.audit(network, vd.Rows(X), X, checks=[fine])
    assert [r.method for r in found.results] == ["Lime", "IntegratedGradients", "SmoothGrad"]
    assert found.title == "Linear on 40 instances (Rows)"


def test_networks_are_given_arrays_that_they_may_keep() -> None:
    torch = pytest.importorskip("torch")
    locked = X.copy()
    locked.flags.writeable = False
    network = vd.Network(torch.nn.Linear(3, 2).double(), prepare=torch.as_tensor)
    assert network(locked).shape == (40, 2)  # torch warns of locked arrays, and warnings are errors here


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"checks": []}, "no checks: name some of"),
        ({"checks": ["nonsense"]}, "no check is called 'nonsense'; there are .*randomize"),
        ({"checks": "nonsense"}, "no check is called 'nonsense'"),
        ({"checks": [fine, fine]}, "same name"),
        ({"checks": 3}, "check must be the name"),
        ({"methods": []}, "list of methods is empty"),
        ({"methods": [vd.Lime]}, "not the class itself"),
        ({"methods": [vd.groupings.Mixture()]}, "another purpose"),
        ({"rng": -1}, "rng must be"),
        ({"fail_on": "all"}, 'fail_on is "model", "method" or "both"'),
        ({"strict": 1}, "strict is True or False"),
        ({"y": X[:, 0]}, "a vd.Subject says it all"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        vd.audit(subject(), **given)


def test_what_a_subject_refuses_an_audit_refuses() -> None:
    with pytest.raises(InputError, match="at least 10 instances"):
        vd.audit(predict, vd.Rows(X), X[:9])
    with pytest.raises(InputError, match="representer must say"):
        vd.audit(predict)


# ---- the command line

FILE = """
import numpy as np
import veridical as vd

X = np.random.default_rng(0).normal(size=(40, 3))
subject = vd.Subject(lambda rows: 3 * np.asarray(rows)[:, 0], vd.Rows(X), X)
number = 3

def made():
    return subject

def unmade():
    return 7

def broken():
    return 1 / 0

class Held:
    subject = subject
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module to audit, and two quick checks beside the others."""
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "raising.py").write_text("import nowhere_to_be_found\n")
    (tmp_path / "json.py").write_text("subject = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for check in (fine, wrong, away):
        monkeypatch.setitem(CHECKS, check.__name__, check)
    for name in ("mine", "raising"):  # others have modules of these names, too
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path
    for name in ("mine", "raising"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("checks", "code"), [(["fine"], 0), (["fine", "wrong"], 1), (["away"], 2)])
@pytest.mark.parametrize("place", ["mine:subject", "mine:made", "mine:Held.subject", "mine.py:subject"])
def test_the_command_checks_and_says_how_it_went(
    here: Path, capsys: Any, checks: Any, code: int, place: str
) -> None:
    assert cli.main(["audit", place, "--checks", ",".join(checks)]) == code
    out = capsys.readouterr().out
    assert "<lambda> on 40 instances (Rows)" in out
    assert all(check in out for check in checks)


def test_the_command_writes_files(here: Path, capsys: Any) -> None:
    names = ("a.html", "a.xml", "a.json", "a.csv", "a.png")
    arguments = [word for name in names for word in ("--out", name)]
    asked = ["audit", "mine:subject", "--checks", "fine,wrong", "--methods", "lime,Occlusion", *arguments]
    assert cli.main(asked) == 1
    assert capsys.readouterr().err.count("written: ") == 5
    assert all((here / name).stat().st_size for name in names)
    (suite,) = ElementTree.parse(here / "a.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "2")
    assert isinstance(vd.load(here / "a.json"), vd.checks.Audit)


def test_the_command_prints_json(here: Path, capfdbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["audit", "mine:subject", "--checks", "fine", "--json", "--rng", "5"]) == 0
    printed = capfdbinary.readouterr().out
    assert json.loads(printed)["veridical"] == "audit"
    (here / "b.json").write_bytes(printed)
    again = vd.load(here / "b.json")
    assert again.recipe["rng"] == 5
    assert exact(replace(again.results[0], seconds=0.0).verdict) == exact(
        vd.audit(subject(), checks=[fine], rng=5).results[0].verdict
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mine"], "wanted module:name, such as mine:predict, not 'mine'"),
        (["mine:"], "wanted module:name"),
        (["nowhere_to_be_found:subject"], "there is no module 'nowhere_to_be_found'"),
        (["nowhere.py:subject"], "there is no file 'nowhere.py'"),
        (["mine:missing"], "mine has no 'missing'"),
        (["mine:number"], "mine:number is int, and a vd.Subject was wanted"),
        (["mine:unmade"], "mine:unmade is int, and a vd.Subject was wanted"),
        (["json.py:subject"], "another module is called 'json' already: give 'json.py' another name"),
        (["mine:subject", "--out", "a.txt"], r"the name must end in .json"),
        (["mine:subject", "--out", "no/a.html"], "there is no folder"),
        (["mine:subject", "--checks", "nonsense"], "no check is called 'nonsense'"),
        (["mine:subject", "--methods", "nonsense"], "no method is called 'nonsense'; there are"),
        (["mine:subject", "--rng", "-1"], "rng must be"),
    ],
)
def test_what_the_command_cannot_do_it_says(here: Path, capsys: Any, arguments: list[str], words: str) -> None:
    assert cli.main(["audit", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("veridical: ")
    assert words in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("import nowhere_to_be_found", "own:subject", "importing 'own' raised ModuleNotFoundError"),
        ("import nowhere_to_be_found", "own.py:subject", "importing 'own' raised ModuleNotFoundError"),
        ("", "own.deep:subject", "importing 'own.deep' raised ModuleNotFoundError"),
        ("def subject():\n    return 1 / 0", "own:subject", "without arguments, raised ZeroDivisionError"),
        ("def subject(path):\n    return 1", "own:subject", "without arguments, raised TypeError"),
    ],
)
def test_code_that_raises_is_no_check_that_failed(
    here: Path, capsys: Any, text: str, place: str, words: str
) -> None:
    (here / "own.py").write_text(text)
    try:
        assert cli.main(["audit", place]) == 2
    finally:
        sys.modules.pop("own", None)
    said = capsys.readouterr().err
    inside = place != "own.deep:subject" and "path" not in text  # code of the caller's own ran
    assert ("Traceback" in said) == inside
    assert words in said.splitlines()[-1]


def test_help_is_not_the_name_of_a_page(tmp_path: Path) -> None:
    environment = {"PYTHONPATH": str(Path(vd.__file__).parents[1])}
    command = [sys.executable, "-m", "veridical", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0
    assert "Usage: veridical" in done.stdout
    assert not any(tmp_path.iterdir())


def test_it_runs_as_a_stranger_would_run_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    command = [sys.executable, "-W", "error", "-m", "veridical", "audit", "mine:subject", "--checks", "shift"]
    source = str(Path(vd.__file__).parents[1])
    environment = {"PYTHONPATH": source, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (2, "")
    assert "nothing could be checked" in done.stdout
