"""The plugin in test-suites of others: each test here writes one and runs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import veridical as vd
import veridical.integrations.reasons  # pytester forgets what is imported in its runs
from veridical.errors import InputError
from veridical.integrations.pytest_plugin import AuditCase, audit_cases, claim_file

PLUGIN = "-p", "veridical.integrations.pytest_plugin"
MODEL = """
import numpy as np, pandas as pd

X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["contract", "tenure", "customer_id"])
SLOPES = [3.0, 1.0, 0.0]

def model(rows):
    return rows.to_numpy() @ SLOPES
"""
LIKE_BEFORE = (
    MODEL
    + """
def test_reasons(explained):
    explained(model, X).like_before("reasons.json")
"""
)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A test-suite of its own, with the plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(vd.__file__).parents[1]))
    return pytester


def run(suite: pytest.Pytester, *options: str) -> pytest.RunResult:
    return suite.runpytest_inprocess(*PLUGIN, "-p", "no:cacheprovider", *options)


def test_the_plugin_imports_nothing_but_pytest(suite: pytest.Pytester) -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import veridical.integrations.pytest_plugin;"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)));"
        "print(*sorted(m for m in sys.modules if m.startswith('veridical')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, own = done.stdout.splitlines()
    assert loaded == "veridical"
    assert own == "veridical veridical.integrations veridical.integrations.pytest_plugin"


def test_a_run_that_does_not_use_it_imports_and_writes_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile("""
        import sys

        def test_other():
            assert "numpy" not in sys.modules
            assert not [name for name in sys.modules if name.startswith("veridical.") and "integrations" not in name]
    """)
    found = suite.runpytest_subprocess(*PLUGIN, "-p", "no:cacheprovider", "-W", "error")
    found.assert_outcomes(passed=1)
    assert "veridical" not in found.stdout.str()
    written = [path for path in suite.path.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}]
    assert not [
        path for path in written if "json" in path.name or "veridical" in str(path.relative_to(suite.path))
    ]


def test_the_entry_point_is_this_module() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nveridical = "veridical.integrations.pytest_plugin"' in text


def test_reasons_are_asserted_in_one_line(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        MODEL
        + """
def test_reasons(explained):
    explained(model, X).relies_on("contract").not_on("customer_id").reliable(at_least=0.6)

def test_wrong(explained):
    explained(model, X, background=X, rng=1).relies_on("contract").not_on("tenure", share=0.1)

def test_typo(explained):
    explained(model, X).not_on("customerid")

def test_texts(explained):
    explained(lambda texts: np.array([float("good" in each) for each in texts]), ["good film", "bad one"]).not_on("one")

def test_empty(explained):
    explained(model, X[:0])
"""
    )
    found = run(suite)
    found.assert_outcomes(passed=2, failed=3)
    found.stdout.fnmatch_lines(
        [
            "*the model relies on what it should not:",
            "E *“tenure” has more than 10.0% of the importance: the lower bound of its share is *%",
            "E *share of importance, 95 % confidence interval",
            "E *  contract  *",
            "E *→ tenure  *",
            "*nothing is called 'customerid': did you mean “customer_id”?",
            "*X is empty: give at least one row*",
        ]
    )
    assert (
        "integrations/reasons.py"
        not in found.stdout.str().split('not_on("tenure", share=0.1)')[1].split("____")[0]
    )


def test_a_baseline_is_written_and_compared(suite: pytest.Pytester) -> None:
    test = suite.makepyfile(LIKE_BEFORE)
    missing = run(suite)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*no baseline 'reasons.json' yet: run pytest --veridical-update*"])
    written = run(suite, "--veridical-update")
    written.assert_outcomes(passed=1)
    written.stdout.fnmatch_lines(["veridical wrote *reasons.json: look at what changed, and commit it"])
    file = suite.path / "reasons.json"
    before = file.read_text(encoding="utf-8")
    assert json.loads(before)["rows"] == 20
    same = run(suite)
    same.assert_outcomes(passed=1)
    assert "veridical wrote" not in same.stdout.str()
    test.write_text(LIKE_BEFORE.replace("[3.0, 1.0, 0.0]", "[3.0, 1.0, 3.0]"), encoding="utf-8")
    changed = run(suite)
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(
        ["*the reasons changed since 'reasons.json' beyond the noise:", "*→ customer_id *"]
    )
    assert file.read_text(encoding="utf-8") == before, "only an update writes"
    run(suite, "--veridical-update").assert_outcomes(passed=1)
    assert file.read_text(encoding="utf-8") != before
    assert not [path for path in suite.path.iterdir() if path.name.startswith(".veridical")], (
        "no half file is left"
    )


def test_a_baseline_lies_beside_its_test(suite: pytest.Pytester) -> None:
    folder = suite.mkdir("deep")
    (folder / "test_deep.py").write_text(LIKE_BEFORE, encoding="utf-8")
    run(suite, "--veridical-update").assert_outcomes(passed=1)
    assert (folder / "reasons.json").is_file()


def test_an_assertion_that_fails_first_leaves_the_baseline(suite: pytest.Pytester) -> None:
    suite.makepyfile(LIKE_BEFORE.replace("X).like", "X).relies_on('customer_id').like"))
    run(suite, "--veridical-update").assert_outcomes(failed=1)
    assert not (suite.path / "reasons.json").exists()


def test_two_tests_do_not_write_one_baseline(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        LIKE_BEFORE
        + """
def test_again(explained):
    explained(model, X).like_before("reasons.json")
"""
    )
    found = run(suite, "--veridical-update")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(["*two tests write the baseline 'reasons.json', this one and *::test_reasons*"])
    run(suite).assert_outcomes(passed=2)


def test_workers_write_baselines_together(suite: pytest.Pytester) -> None:
    """Each of two processes writes its own; of those that want the same file, one does, whichever process it is in."""
    suite.makepyfile(
        MODEL
        + """
import pytest

@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_own(explained, name):
    explained(model, X).like_before(f"{name}.json")

@pytest.mark.parametrize("name", ["d", "e", "f"])
def test_common(explained, name):
    explained(model, X).like_before("common.json")
"""
    )
    found = suite.runpytest_subprocess(*PLUGIN, "-p", "xdist", "-n", "2", "--veridical-update")
    found.assert_outcomes(passed=4, failed=2)
    wrote = re.findall(r"veridical wrote \S*?(\w+\.json)", found.stdout.str())
    assert wrote == ["a.json", "b.json", "c.json", "common.json"]
    texts = {(suite.path / name).read_text(encoding="utf-8") for name in wrote}
    assert len(texts) == 1


class Folders:
    """Where a process of a run keeps its temporary files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def getbasetemp(self) -> Path:
        return self.path


def test_a_claim_holds_for_all_workers_of_a_run(tmp_path: Path) -> None:
    first, second = Folders(tmp_path / "gw0"), Folders(tmp_path / "gw1")
    file = tmp_path / "reasons.json"
    claim_file(file, "test_a", first, is_worker=True)  # type: ignore[arg-type]
    claim_file(tmp_path / "other.json", "test_b", second, is_worker=True)  # type: ignore[arg-type]
    with pytest.raises(pytest.fail.Exception, match="this one and test_a: give each its own file"):
        claim_file(file, "test_b", second, is_worker=True)  # type: ignore[arg-type]
    claim_file(file, "test_a", second, is_worker=True)  # type: ignore[arg-type]


AUDIT = """
import pytest
import veridical as vd
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from veridical.integrations.pytest_plugin import audit_cases

X, y = load_iris(return_X_y=True)
model = GaussianNB().fit(X, y)

def judge(label):
    def check(method, subject, rng):
        return vd.Verdict(label == "passed", 0.25, 0.5, f"Said to be {label}.", label=label)
    check.__name__ = f"says_{label}"
    return check

def broken(method, subject, rng):
    raise RuntimeError("the disk is on fire")

checks = ["accuracy", judge("passed"), judge("failed"), judge("unclear"), "shift", broken]

@pytest.mark.parametrize("case", audit_cases(model, vd.Rows(X), X, y=y, checks=checks, strict=STRICT))
def test_audit(case):
    assert case.run().passed
"""


def test_an_audit_is_a_test_per_check(suite: pytest.Pytester) -> None:
    suite.makepyfile(AUDIT.replace("STRICT", "False"))
    found = run(suite, "-rs", "--junitxml=junit.xml")
    found.assert_outcomes(passed=2, failed=2, skipped=2)
    found.stdout.fnmatch_lines(
        [
            "says_failed-Lime: Said to be failed.",
            "*0.25*",
            "broken-Lime: could not be finished: RuntimeError: the disk is on fire",
            "SKIPPED * not clear: Said to be unclear.",
            "SKIPPED * not checked: *shifted*",
        ]
    )
    cases = {
        case.get("name"): [each.tag for each in case]
        for case in ElementTree.parse(suite.path / "junit.xml").iter("testcase")
    }
    assert cases["test_audit[accuracy]"] == []
    assert cases["test_audit[says_failed-Lime]"] == ["failure"]
    assert cases["test_audit[shift]"] == ["skipped"]


def test_a_strict_audit_skips_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile(AUDIT.replace("STRICT", "True"))
    found = run(suite)
    found.assert_outcomes(passed=2, failed=4)
    found.stdout.fnmatch_lines(["says_unclear-Lime: not clear: Said to be unclear.", "shift: not checked: *"])


def subject() -> vd.Subject:
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    return vd.Subject(GaussianNB().fit(X, y), vd.Rows(X), X, y)


def test_nothing_runs_before_the_tests_do() -> None:
    ran = []

    def check(method: Any, subject: Any, rng: Any) -> vd.Verdict:
        ran.append(type(method).__name__)
        return vd.Verdict(True, 1.0, 1.0, "Fine.")

    cases = audit_cases(subject(), checks=[check], methods=[vd.Lime(), "occlusion"])
    assert [case.id for case in cases] == ["check-Lime", "check-Occlusion"]
    assert ran == []
    (case,) = cases[1].values
    assert isinstance(case, AuditCase)
    assert case.run().sentence == "Fine."
    assert ran == ["Occlusion"]


def test_verdicts_are_those_of_the_audit() -> None:
    own = subject()
    found = vd.audit(own, checks=["accuracy"], rng=3).results[0].verdict
    (case,) = audit_cases(own, checks=["accuracy"], rng=3)[0].values
    assert found is not None
    assert case.run().observed == found.observed


def test_models_are_trained_once_for_all_cases() -> None:
    seeds = []

    def train(X: Any, y: Any, seed: int) -> Any:
        seeds.append(seed)
        from sklearn.naive_bayes import GaussianNB

        return GaussianNB().fit(X, y).predict_proba

    def check(method: Any, subject: Any, rng: Any) -> vd.Verdict:
        subject.train_model(subject.X, subject.y, 5)
        return vd.Verdict(True, 1.0, 1.0, "Fine.")

    own = subject()
    cases = audit_cases(
        own.model, own.representer, own.X, y=own.y, train=train, checks=[check], methods=["lime", "occlusion"]
    )
    for case in cases:
        case.values[0].run()
    assert seeds == [5]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"checks": ["acuracy"]}, "no check is called 'acuracy'"),
        ({"checks": []}, "no checks"),
        ({"y": [0, 1]}, "a vd.Subject says it all"),
        ({"methods": ["lame"]}, "lime"),
    ],
)
def test_an_audit_that_cannot_be_is_refused_when_tests_are_collected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        audit_cases(subject(), **given)


def test_the_guide_is_a_test_suite(suite: pytest.Pytester) -> None:
    """The blocks of docs/guides/tests.md, in one file: what they say of the model is so."""
    page = Path(__file__).parents[2] / "docs" / "guides" / "tests.md"
    blocks = re.findall(
        r"^```python[^\n]*\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    suite.makepyfile("\n".join(blocks))
    found = run(suite, "--veridical-update", "-k", "test_reasons or test_baseline")
    found.assert_outcomes(passed=2, deselected=2)  # the two checks of the audit
    assert (
        json.loads((suite.path / "reasons.json").read_text(encoding="utf-8"))["model"] == "RandomForestClassifier"
    )
