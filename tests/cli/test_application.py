"""The command line: what can be typed, what it says, and how it ends."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import veridical as vd
from veridical import cli
from veridical.checks.audits import CHECKS
from veridical.cli import application, options
from veridical.cli.application import EXAMPLES
from veridical.cli.commands import COMMANDS, ENGINES
from veridical.cli.data import PARTS
from veridical.cli.inputs import make_progress
from veridical.cli.samples import write_samples
from veridical.display.progress import Bar, Progress
from veridical.groundtruth import CAUSES
from veridical.methods.registry import METHODS
from veridical.metrics import METRICS
from veridical.summaries.groupings import GROUPINGS

SOURCE = str(Path(vd.__file__).parents[1])
COMMAND = [sys.executable, "-W", "error", "-m", "veridical"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": SOURCE, "COLUMNS": "100"}
TWO = """
import numpy as np

def ash(X):
    return X["ash"].to_numpy()

def hue(X):
    return X["hue"].to_numpy()

def sure(X):
    return np.stack([0.7 + ash(X) / 1000, 0.3 - ash(X) / 1000], axis=1)

def unsure(X):
    return np.stack([0.2 + hue(X) / 1000, 0.8 - hue(X) / 1000], axis=1)
"""
LINEAR = ["model.py:linear", "data.csv", "--label", "grape", "--samples", "128"]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files that examples are about."""
    folder = tmp_path_factory.mktemp("samples")
    path, loaded = list(sys.path), set(sys.modules)
    write_samples(str(folder))
    (folder / "two.py").write_text(TWO)
    (folder / "single.csv").write_text("\n".join((folder / "data.csv").read_text().splitlines()[:2]))
    yield folder
    sys.path[:] = path
    for name in ("model", "audits", "two"):
        if name not in loaded:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def saved(samples: Path) -> None:
    """Explanations in files."""
    for rows, name in (("--rows=:3", "few.json"), ("--row=1", "one.json")):
        linear = [f"{samples}/{word}" for word in LINEAR[:2]]
        assert cli.main(["explain", *linear, *LINEAR[2:], rows, "--quiet", "--out", str(samples / name)]) == 0


@pytest.fixture
def here(samples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(samples)
    return samples


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as a shell runs it."""
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, env=ENVIRONMENT, cwd=folder)


def test_help_and_version(capsys: Any) -> None:
    assert cli.main([]) == 2
    assert "audit" in capsys.readouterr().out
    assert cli.main(["--help"]) == 0
    assert "Exit codes: 0" in capsys.readouterr().out
    for typed in (["--version"], ["version"]):
        assert cli.main(typed) == 0
        assert capsys.readouterr().out == f"veridical {vd.__version__}\n"


def test_the_names_are_those_of_the_registries() -> None:
    parts = [name for kinds in PARTS.values() for name in kinds]
    known = (METHODS, GROUPINGS, METRICS, CHECKS, CAUSES, ENGINES, parts)
    said = ("METHODS", "GROUPINGS", "METRICS", "CHECKS", "CAUSES", "ENGINES", "PARTS")
    for name, own in zip(said, known, strict=True):
        assert sorted(getattr(options, name)) == sorted(own), name


def test_every_command_is_done() -> None:
    assert set(application.COMMANDS.values()) == set(COMMANDS)
    assert cli.app is application.app


@pytest.mark.parametrize("name", application.COMMANDS)
def test_help_shows_the_examples_and_every_option(name: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert " ".join(inspect.getdoc(application.COMMANDS[name]).split()) in " ".join(shown.split())
    typed = re.sub(r" \\\s*\n\s*", " ", shown)  # as a shell reads it
    for line in EXAMPLES[name]:
        assert f"  {line} " in typed
    for field in fields(application.COMMANDS[name]):
        assert field.name.replace("_", "-") in shown.lower() or field.name == "source", field.name


@pytest.mark.parametrize("typed", [["--help"], ["explain", "--help"], ["--show-completion"]])
def test_help_loads_no_numbers(typed: list[str]) -> None:
    code = f"import sys; from veridical.cli import main; main({typed!r}); print(*sys.modules, file=sys.stderr)"
    environment = {"PYTHONPATH": SOURCE, "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "typer" in loaded
    assert not loaded & {"numpy", "pandas", "scipy", "sklearn"}


def test_samples_replace_nothing(here: Path, capsys: Any) -> None:
    assert cli.main(["demo", "--files", "."]) == 2
    assert "'.' has apples in it already" in capsys.readouterr().err


def test_json_is_all_there_is_on_stdout(here: Path, capfdbinary: Any) -> None:
    assert cli.main(["explain", *LINEAR, "--row", "3", "--json"]) == 0
    said = capfdbinary.readouterr()
    Path("printed.json").write_bytes(said.out)
    why = vd.load("printed.json")
    assert isinstance(why, vd.Explanation)
    assert json.loads(said.out)["veridical"] == "explanation"
    assert b"note: parts are compared with the other rows" in said.err


@pytest.mark.usefixtures("saved")
def test_one_of_many_saved_explanations_is_shown(here: Path, capsys: Any) -> None:
    many = vd.load("few.json")
    assert cli.main(["show", "few.json", "--row", "2", "--out", "last.json"]) == 0
    assert capsys.readouterr().out.startswith("Row 2: the model says ")
    assert vd.load("last.json").top(13) == many[2].top(13)


def test_two_models_read_a_pipe_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(Path("data.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", piped)
    assert cli.main(["compare", "two.py:ash", "two.py:hue", "-", "--label", "grape", "--row", "3", "--quiet"]) == 0


def test_names_in_files_cannot_steer_a_terminal(here: Path, capsys: Any) -> None:
    """Escapes in columns, classes and messages come out as something to see."""
    Path("odd.py").write_text(
        "def predict(X):\n    return X.iloc[:, 0] / 10\ndef broken(X):\n    raise ValueError('\\x1b[2Jgone')\n"
    )
    Path("odd.csv").write_text("a,\x1b[31mred,b\x07\n1,2,3\n2,3,1\n3,1,2\n4,4,4\n", encoding="utf-8")
    for typed in (
        "odd.py:predict odd.csv --row 1",
        "odd.py:broken odd.csv --row 1",
        "odd.py:predict odd.csv --label re",
    ):
        cli.main(["explain", *typed.split(), "--classes", "\x1b[1mone"])
        said = capsys.readouterr()
        assert not set(said.out + said.err) & {"\x1b", "\x07"}, typed


def test_the_only_instance_is_explained_by_itself(here: Path) -> None:
    for typed in (
        "model.py:linear single.csv --background train.csv",
        "model.py:ripe apples/apple-1.png --parts grid",
    ):
        assert cli.main(["explain", *typed.split(), "--quiet", "--out", "only.json"]) == 0
        assert isinstance(vd.load("only.json"), vd.Explanation)


def test_a_quiet_command_says_nothing(here: Path, capfd: Any) -> None:
    assert cli.main(["explain", *LINEAR, "--row", "3", "--quiet", "--out", "quiet.json"]) == 0
    assert capfd.readouterr() == ("", "")
    assert Path("quiet.json").exists()


def test_the_same_as_in_python(here: Path) -> None:
    """A command adds nothing to what the library finds."""
    frame = __import__("pandas").read_csv("data.csv")
    frame.pop("grape")
    model = __import__("model").linear()
    method = vd.Lime(n_samples=128)
    rows = vd.Rows(frame)
    why = vd.explain(model.predict_proba, rows, frame.iloc[3], target="Barbera", method=method, rng=5)
    assert (
        cli.main(["explain", *LINEAR, "--row=3", "--target=Barbera", "--rng=5", "--out=same.json", "--quiet"]) == 0
    )
    assert vd.load("same.json").top(13) == why.top(13)
    flips = vd.flips(model.predict_proba, rows, frame.iloc[3], target="Barolo", to=0.2, immutable=["ash"], n=2)
    typed = [
        "--row=3",
        "--target=Barolo",
        "--to=0.2",
        "--immutable=ash",
        "--changes=2",
        "--out=same.json",
        "--quiet",
    ]
    assert cli.main(["flips", *LINEAR[:2], "--label=grape", *typed]) == 0
    assert [dict(flip.changes) for flip in vd.load("same.json")] == [dict(flip.changes) for flip in flips] != []
    many = vd.explain_many(model.predict_proba, rows, frame[10:14], method=method)
    assert cli.main(["explain", *LINEAR, "--rows=10:14", "--out=same.json", "--quiet"]) == 0
    assert [each.top(13) for each in vd.load("same.json")] == [each.top(13) for each in many]


@pytest.mark.parametrize(
    ("rows", "wanted"), [("0:3", [0, 1, 2]), (":2", [0, 1]), ("58:", [58, 59]), ("-2:", [58, 59]), ("7,3", [7, 3])]
)
def test_rows(here: Path, rows: str, wanted: list[int]) -> None:
    assert cli.main(["explain", *LINEAR, f"--rows={rows}", "--quiet", "--out", "some.json"]) == 0
    assert cli.main(["explain", *LINEAR, "--quiet", "--out", "all.json"]) == 0
    some, every = vd.load("some.json"), vd.load("all.json")
    assert [each.prediction for each in some] == [every[i].prediction for i in wanted]


@pytest.mark.parametrize(("rows", "wanted"), [("0,1", ["0", "1"]), ("2:4", ["57", "56"]), ("59", ["59"])])
def test_rows_by_their_names(here: Path, rows: str, wanted: list[str]) -> None:
    """Also where names read like numbers of other rows."""
    pd.read_csv("data.csv").assign(id=range(59, -1, -1)).to_csv("named.csv", index=False)
    typed = [LINEAR[0], "named.csv", *LINEAR[2:], "--id", "id", f"--rows={rows}"]
    assert cli.main(["explain", *typed, "--quiet", "--out", "some.json"]) == 0
    assert cli.main(["explain", *LINEAR, "--quiet", "--out", "all.json"]) == 0
    some, every = vd.load("some.json"), vd.load("all.json")
    some = [some] if isinstance(some, vd.Explanation) else some
    assert [each.row for each in some] == wanted
    assert [each.prediction for each in some] == [every[59 - int(name)].prediction for name in wanted]


def test_rows_of_one_name_are_chosen_by_number(here: Path, capsys: Any) -> None:
    pd.read_csv("data.csv").assign(id=[*range(58), 5, 5]).to_csv("named.csv", index=False)
    typed = [LINEAR[0], "named.csv", *LINEAR[2:], "--id", "id", "--quiet"]
    assert cli.main(["explain", *typed, "--row", "5"]) == 2
    assert "3 rows are called '5', numbers 5, 58, 59: choose one by its number, as in --rows 5:6" in " ".join(
        capsys.readouterr().err.split()
    )
    assert cli.main(["explain", *typed, "--rows", "58:59", "--out", "some.json"]) == 0


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("explian model.py:linear data.csv", "Did you mean 'explain'?"),
        ("explain model.py:linear data.csv --rwo 3", "--row"),
        ("explain model.py:linear", "Missing argument"),
        ("explain model.py:linear data.csv --samples many", "--samples"),
        ("explain model.py:linear nowhere.csv --row 3", "nowhere.csv"),
        ("explain model.py:linaer data.csv --row 3", "did you mean 'linear'"),
        ("explain nowhere.py:model data.csv --row 3", "there is no file 'nowhere.py'"),
        ("explain model.joblib data.csv --row 3", "--trust"),
        ("explain model.py:linear data.csv --label grap --row 3", "did you mean 'grape'"),
        ("explain model.py:linear data.csv --row 60", "there is no row 60: the data have 60, numbered from 0"),
        ("explain model.py:linear data.csv --row first", "no row is called 'first'"),
        ("explain model.py:linear data.csv --row 1 --rows 2:3", "give one of the two"),
        ("explain model.py:linear data.csv --rows 70:80", "is no row at all"),
        ("explain model.py:linear data.csv --row 3 --target Borolo", "did you mean 'Barolo'"),
        ("explain model.py:linear data.csv --row 3 --target output:7", "outputs 0 to 2"),
        ("explain model.py:linear data.csv --row 3 --target 7", "the classes are"),
        ("explain two.py:ash data.csv --row 3 --target Barolo", "name all by --classes"),
        ("explain model.py:linear single.csv", "give others by --background"),
        ("audit model.py:linear", "veridical audit model.py:linear data.csv"),
        ("explain model.py:linear data.csv --row 3 --method lmie", "did you mean lime?"),
        (
            "explain model.py:linear data.csv --row 3 --method expected_gradients --samples 9",
            "--samples is not for",
        ),
        ("explain model.py:linear data.csv --row 3 --parts wrods", "did you mean 'words'"),
        ("explain model.py:linear data.csv --row 3 --out why.txt", "the name must end in .json"),
        ("explain model.py:linear data.csv --row 3 --out no/why.html", "there is no folder"),
        ("explain model.py:linear data.csv --row 3 --rng -1", "rng must be"),
        ("explain model.py:linear data.csv --row 3 --background nowhere.csv", "nowhere.csv"),
        ("explain model.py:linear data.csv --keep ash", "say where by --store"),
        ("explain model.py:linear data.csv --address tcp://here:1", "say whose by --engine dask"),
        ("explain model.py:linear data.csv --engine local --address tcp://here:1", "say whose by --engine dask"),
        ("explain model.py:linear data.csv --engine dusk", "did you mean dask?"),
        ("explain model.py:linear data.csv --workers 0", "--workers must be a whole number of at least 1"),
        ("explain model.py:linear data.csv --workers 2 --keep ash", "say where by --store"),
        ("explain model.py:linear data.csv --workers 2 --row 1", "--row explains one row"),
        ("explain model.py:linear data.csv --workers 2 --out why.txt", "the name must end in .json"),
        ("explain model.py:linear data.csv --store kept --json", "veridical show kept --out FILE"),
        ("explain model.py:linear data.csv --store no/kept", "there is no folder 'no'"),
        ("explain model.py:linear data.csv --store data.csv", "a file has that name"),
        ("explain model.py:linear data.csv --store apples", "holds other files"),
        (
            "explain model.py:linear data.csv --store kept --keep ahs",
            "no column 'ahs' to keep; did you mean 'ash'",
        ),
        (
            "explain model.py:topic texts.jsonl --store kept --keep topic",
            "--keep is for columns of Parquet and CSV",
        ),
        ("explain model.py:linear data.csv --store kept --rows :9 --keep ash", "--keep is for columns of Parquet"),
        ("show apples", "is no store of explanations"),
        ("pick apples", "is no store of explanations"),
        ("compare apples one.json", "is no store of explanations"),
        ("show nowhere", "nowhere"),
        ("pick nowhere.json", "nowhere.json"),
        ("group model.py:linear data.csv --k many", "--k wants a number of groups"),
        ("group model.py:linear data.csv --method lima", "did you mean lime?"),
        ("report model.py:ripe apples", "Superpixels differ from one instance to the next"),
        ("report model.py:linear data.csv --json", "leave --json out"),
        ("report model.py:linear data.csv --out report.json", "the name must end in .html"),
        ("report model.py:linear data.csv --rows 0", "n_rows must be a whole number of at least 2"),
        ("evaluate model.py:linear data.csv --metrics corelation", "correlation"),
        ("evaluate model.py:linear data.csv --methods lime,lmie", "did you mean lime?"),
        ("debug model.py:linear data.csv --check randomise", "randomize"),
        ("veracity model.py:linear data.csv --causes pdg", "did you mean pgd?"),
        ("compare nowhere.json model.py", "nowhere.json"),
        ("compare a.json b.json --names before", "--names wants two names"),
        ("show data.csv", "the name must end in .json, .parquet"),
        ("flips model.py:linear data.csv --label grape", "flips is about one row, and the data have 60"),
        ("flips model.py:linear data.csv --label grape --row 3 --to Borolo", "did you mean 'Barolo'"),
        ("flips model.py:linear data.csv --label grape --row 3 --to Barbera", "says 'Barbera' already"),
        ("flips model.py:linear data.csv --label grape --row 3 --immutable asch", "did you mean 'ash'"),
        ("flips model.py:linear data.csv --label grape --row 3 --target Barolo --to up", "the value to cross"),
        ("flips model.py:linear data.csv --row 1 --rows 2:3", "give one of the two"),
        ("pick few.json --method lime", "--method is not for saved explanations"),
        ("compare one.json one.json --row 1", "--row is not for saved explanations"),
        ("audit audits:subject --label grape", "--label is not for a vd.Subject"),
        ("veracity model.py:linear data.csv --label grape --target Barolo", "--target is not for veracity"),
        ("group model.py:linear data.csv --target Barolo --samples 9", "--samples is not for Mixture"),
        ("show few.json --row 3", "there is no row 3: few.json has 3, numbered from 0"),
        ("show one.json --row 0", "one.json holds one Explanation"),
    ],
)
@pytest.mark.usefixtures("saved")
def test_what_cannot_be_done_is_said(here: Path, capsys: Any, typed: str, words: str) -> None:
    assert cli.main(typed.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in " ".join(said.err.replace("│", " ").split())
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("typed", "n_rows", "rows"),
    [
        ("", 1000, range(60)),
        ("--rows 10", 10, range(60)),
        ("--rows 5:9", 4, "5678"),
        ("--rows 3,7", 2, "37"),
    ],
)
def test_a_report_is_of_rows_that_are_drawn_or_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, typed: str, n_rows: int, rows: Any
) -> None:
    given: dict[str, Any] = {}

    def report_model(model: Any, representer: Any, X: Any, **settings: Any) -> vd.Page:
        given.update(settings, X=X)
        return vd.Page("A page", [("", None, "A text.")])

    monkeypatch.setattr("veridical.pages.report_model", report_model)
    assert (
        cli.main(["report", *LINEAR, *typed.split(), "--target", "Barolo", "--title", "T", "--out", "t.html"]) == 0
    )
    assert (given["n_rows"], list(given["X"].index)) == (n_rows, list(rows))
    assert len(given["y"]) == len(given["X"])
    assert (given["target"], given["title"], given["training"]) == ("Barolo", "T", None)
    assert "A text." in Path("t.html").read_text(encoding="utf-8")


def test_where_the_callers_own_code_raised_is_shown(here: Path, capsys: Any) -> None:
    Path("broken.py").write_text("def predict(X):\n    return 1 / 0\n")
    assert cli.main(["explain", "broken.py:predict", "data.csv", "--label", "grape", "--row", "3"]) == 2
    said = capsys.readouterr().err
    assert "return 1 / 0" in said
    assert "veridical: predict raised ZeroDivisionError" in said.splitlines()[-1]


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("explain model.py:forest data.csv --row 3", 0),
        ("explain model.py:forest data.csv --row 3 --samples 64 --fail", 1),
        ("explain model.py:forest data.csv --rows 3:5 --samples 64 --fail", 1),
        ("flips model.py:linear data.csv --label grape --row 0 --target Barolo --to 2", 0),
        ("flips model.py:linear data.csv --label grape --row 0 --target Barolo --to 2 --fail", 1),
        ("debug model.py:linear data.csv --check fine --fail", 0),
        ("debug model.py:linear data.csv --check wrong", 0),
        ("debug model.py:linear data.csv --check wrong --fail", 1),
        ("debug model.py:linear data.csv --check shift --fail", 2),
        ("audit model.py:linear data.csv --checks fine", 0),
        ("audit model.py:linear data.csv --checks wrong,shift", 1),
        ("audit model.py:linear data.csv --checks shift", 2),
        ("compare model.py:linear model.py:linear data.csv --row 3 --fail", 0),
        ("compare two.py:ash two.py:hue data.csv --label grape --row 3", 0),
        ("compare two.py:ash two.py:hue data.csv --label grape --row 3 --fail", 1),
        ("compare model.py:linear model.py:forest data.csv --rows 0:8", 0),
    ],
)
def test_exit_codes(here: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int) -> None:
    for passed, name in enumerate(("wrong", "fine")):
        verdict = vd.Verdict(bool(passed), 1.0, 0.0, "It was looked at.")
        monkeypatch.setitem(CHECKS, name, lambda method, subject, rng, verdict=verdict: verdict)
    assert cli.main([*typed.split(), "--quiet"]) == code


def test_the_second_model_is_asked_about_what_the_first_one_said(here: Path) -> None:
    typed = (
        "compare two.py:sure two.py:unsure data.csv --label grape --row 3 --classes a,b --quiet --out both.json"
    )
    assert cli.main(typed.split()) == 0
    found = vd.load("both.json")
    assert {found.first.target, found.second.target} == {"a"}


def test_what_was_assumed_of_the_second_model_is_said_too(here: Path, capsys: Any) -> None:
    assert (
        cli.main(["compare", "two.py:ash", "model.py:linear", "data.csv", "--row", "3", "--samples", "128"]) == 0
    )
    said = capsys.readouterr().err
    assert "left out, for the model does not take them: grape" in said
    assert said.count("--background train.csv") == 1


def test_stopping_leaves_no_file(here: Path, capsys: Any) -> None:
    Path("stopped.py").write_text("def predict(X):\n    raise KeyboardInterrupt\n")
    typed = [
        "explain",
        "stopped.py:predict",
        "data.csv",
        "--label",
        "grape",
        "--row",
        "3",
        "--out",
        "stopped.json",
    ]
    assert cli.main(typed) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "veridical: stopped"
    assert not Path("stopped.json").exists()


@pytest.mark.parametrize("way", [[], ["--json"]])
def test_a_reader_may_stop_reading(here: Path, way: list[str]) -> None:
    assert cli.main(["explain", *LINEAR, "--quiet", "--out", "piped.json"]) == 0
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as closed:
        done = subprocess.run(
            [*COMMAND, "show", "piped.json", *way], stdout=closed, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
    assert (done.stderr, done.returncode) == (b"", 141), "as shells have it; 0 would hide a check that failed"


def test_without_typer_it_says_what_to_install(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "typer"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    for name in ("application", "options"):
        monkeypatch.delitem(sys.modules, f"veridical.cli.{name}")
    assert cli.main(["--help"]) == 2
    assert "'veridical[cli]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("veridical comp", {"compare"}),
        ("veridical explain m d --metho", {"--method"}),
        ("veridical explain m d --method smooth", {"smooth_grad", "smooth_grad_squared"}),
        ("veridical evaluate m d --methods lime,occ", {"lime,occlusion"}),
        ("veridical audit m --checks labels,s", {"labels,sampling", "labels,shift", "labels,spurious"}),
        ("veridical explain m d --parts su", {"superpixels"}),
    ],
)
def test_completion(typed: str, wanted: set[str], tmp_path: Path) -> None:
    told = {"_VERIDICAL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    command = [sys.executable, "-X", "importtime", "-c", "from veridical.cli import main; main()"]
    environment = {"PYTHONPATH": SOURCE, "PATH": os.environ["PATH"], **told}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert set(done.stdout.split()) == wanted
    assert "numpy" not in done.stderr


def test_progress_shows_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_progress(options.OutputOptions(), "rows") is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    track = make_progress(options.OutputOptions(), "rows")
    assert isinstance(track, Progress)
    assert (track.unit, track.screen) == ("rows", Bar)
    quiet = make_progress(options.OutputOptions(quiet=True), "rows")
    assert isinstance(quiet, Progress)
    assert quiet.screen is not None
    assert quiet.screen() is None


def test_it_runs_as_a_shell_runs_it(here: Path) -> None:
    done = run(here, "explain", *LINEAR, "--row", "3", "--target", "Barolo")
    assert done.returncode == 0
    assert "explained here: Barolo" in done.stdout
    assert "\x1b" not in done.stdout
    assert run(here, "explain", *LINEAR, "--row", "99").returncode == 2
