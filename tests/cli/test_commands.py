"""The command line explains many rows: files that are not read whole, stores that are gone on with, engines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

import veridical as vd
from veridical import cli
from veridical.cli.loading import ReadOptions
from veridical.cli.tables import MAX_SAMPLED_ROWS, open_large_table, sample_rows

SOURCE = str(Path(vd.__file__).parents[1])
MODELS = """
import os, time
import numpy as np

def wavy(X):
    return np.sin(X["a"].to_numpy(dtype=float)) + X["b"].to_numpy(dtype=float)

def picky(X):
    if (X["b"] == 7).any():
        raise ZeroDivisionError("sevens are not liked")
    return wavy(X)

asked = []

def slow(X):
    asked.append(len(X))
    if sum(asked) > 10_000:
        open("asked", "w").close()
        time.sleep(600)
    return wavy(X)
"""
N = 1200
QUICK = ["--samples", "64", "--background", "train.csv", "--label", "y", "--columns", "a,b"]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A model, and the same rows as CSV, as Parquet and in two files."""
    folder, rng = tmp_path_factory.mktemp("scale"), np.random.default_rng(0)
    rows = pd.DataFrame({"id": [f"r{i}" for i in range(N)], "a": rng.normal(size=N), "b": np.arange(N) % 100})
    rows["y"] = rows["a"] > 0
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_parquet(folder / "rows.parquet")
    rows[:500].to_parquet(folder / "first.parquet")
    rows[500:].to_parquet(folder / "second.parquet")
    rows.sample(300, random_state=0).to_csv(folder / "train.csv", index=False)
    (folder / "waves.py").write_text(MODELS)
    path = list(sys.path)
    yield folder
    sys.path[:] = path
    sys.modules.pop("waves", None)


@pytest.fixture
def here(samples: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(samples)
    return samples


def test_the_same_rows_from_any_file_and_engine(here: Path, capsys: Any) -> None:
    """Files that are not read whole give what Python gives of a table, and keep what is asked for."""
    typed = ["--store", "kept", *QUICK, "--id", "id", "--keep", "y"]
    assert cli.main(["explain", "waves.py:wavy", "rows.csv", *typed]) == 0
    said = capsys.readouterr()
    assert "1,200 rows, complete" in said.out
    assert "rows/s" in said.err
    kept = vd.load("kept")
    assert kept.to_frame()[["id", "y"]].iloc[-1].tolist() == ["r1199", kept.to_frame()["y"].iloc[-1]]
    frame, train = pd.read_csv("rows.csv"), pd.read_csv("train.csv")
    model = __import__("waves").wavy
    rows = vd.Rows(train[["a", "b"]])
    many = vd.explain_many(model, rows, frame[["a", "b"]][:30], method=vd.Lime(n_samples=64))
    assert [each.top(2) for each in kept[:30]] == [each.top(2) for each in many]
    for files in (["rows.parquet"], ["first.parquet", "second.parquet"]):
        folder = f"from-{len(files)}"
        assert cli.main(["explain", "waves.py:wavy", *files, "--store", folder, *typed[2:], "--quiet"]) == 0
        assert vd.load(folder).fingerprint == kept.fingerprint


def test_a_store_is_gone_on_with_and_is_known_again(here: Path, capsys: Any) -> None:
    typed = ["explain", "waves.py:wavy", "rows.csv", "--store", "again", *QUICK]
    assert cli.main([*typed, "--quiet"]) == 0
    capsys.readouterr()
    assert cli.main(typed) == 0
    assert "note: 1,200 rows are in again already" in capsys.readouterr().err
    assert cli.main([*typed, "--rng", "1"]) == 2
    assert "the seed (rng) was" in capsys.readouterr().err
    assert cli.main(["show", "again", "--row", "7"]) == 0
    assert cli.main(["pick", "again", "--budget", "2"]) == 0
    assert cli.main(["compare", "again", "again"]) == 0
    assert cli.main(["show", "again", "--out", "again.parquet", "--out", "again.html", "--quiet"]) == 0
    assert len(vd.load("again.parquet")) == 1200
    assert cli.main(["show", "again", "--row", "1200"]) == 2
    assert "there is no row 1200: again has 1200" in capsys.readouterr().err


def test_rows_that_fail_are_counted(here: Path, capsys: Any) -> None:
    typed = ["explain", "waves.py:picky", "rows.csv", "--store", "failed", *QUICK]
    assert cli.main([*typed, "--background", "calm.csv"]) == 2  # there is none
    calm = pd.read_csv("train.csv")
    calm[calm["b"] != 7].to_csv("calm.csv", index=False)
    assert cli.main([*typed, "--background", "calm.csv"]) == 0
    assert "12 rows have an error" in capsys.readouterr().out
    assert cli.main([*typed, "--background", "calm.csv", "--fail", "--quiet"]) == 1
    assert vd.load("failed").failed["row"].tolist() == list(range(7, N, 100))


def test_an_engine_without_a_store(here: Path) -> None:
    assert cli.main(["explain", "waves.py:wavy", "rows.csv", *QUICK, "--engine", "local", "--workers", "1",
                     "--quiet", "--out", "many.json"]) == 0  # fmt: skip
    assert len(vd.load("many.json")) == N


def test_ctrl_c_says_how_to_go_on(here: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "veridical",
        "explain",
        "waves.py:slow",
        "rows.csv",
        "--store",
        "stopped",
        *QUICK,
    ]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=here) as begun:
        try:
            end = time.monotonic() + 600
            while not (here / "asked").exists() and begun.poll() is None and time.monotonic() < end:
                time.sleep(0.05)
            begun.send_signal(signal.SIGINT)
            said = begun.communicate(timeout=600)[1].splitlines()
        finally:
            begun.kill()
    assert begun.returncode == 130
    assert said[-2:] == ["what was done is in stopped: the same command goes on from there", "veridical: stopped"]


def test_the_rows_that_columns_are_told_by_are_from_all_over(tmp_path: Path) -> None:
    """As few as they are, they show every kind of value: numbers with a point, and what is missing."""
    n = 3 * MAX_SAMPLED_ROWS
    rows = pd.DataFrame({"a": np.arange(n), "b": 1, "c": "word"})
    whole = rows.astype({"b": object})
    whole.loc[n - 2, "b"] = 1.5
    whole.loc[n - 5, "c"] = None
    whole.to_csv(tmp_path / "rows.csv", index=False)
    table = {**rows.to_dict("list"), "b": [1] * (n - 1) + [None]}
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        large = open_large_table([str(tmp_path / name)], ReadOptions())
        assert large is not None
        found = sample_rows(large, ReadOptions()).instances
        assert MAX_SAMPLED_ROWS / 2 <= len(found) <= MAX_SAMPLED_ROWS + 3
        assert found["b"].dtype == float
        assert (found["a"].min(), found["a"].max() > n - 10) == (0, True)
    assert (
        sample_rows(open_large_table([str(tmp_path / "rows.csv")], ReadOptions()), ReadOptions())
        .instances["c"]
        .isna()
        .sum()
        == 1
    )


def test_files_that_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "plain.csv").write_text("1,2\n3,4\n")
    (tmp_path / "twice.csv").write_text("a,a\n3,4\n")
    (tmp_path / "comma.csv").write_text("a;b\n1,5;2\n2,5;3\n")
    assert open_large_table([str(tmp_path / "plain.csv")], ReadOptions()) is None
    assert open_large_table([str(tmp_path / "twice.csv")], ReadOptions()) is None
    comma = open_large_table([str(tmp_path / "comma.csv")], ReadOptions())
    assert comma is not None
    assert sample_rows(comma, ReadOptions()).instances["a"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(("engine", "module"), [("dask", "distributed"), ("ray", "ray"), ("spark", "pyspark.sql")])
def test_an_engine_that_is_not_installed(
    engine: str, module: str, here: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    typed = ["explain", "waves.py:wavy", "rows.csv", *QUICK, "--store", "none", "--engine", engine]
    assert cli.main([*typed, "--workers", "2"]) == 2
    assert f"'veridical[{engine}]'" in capsys.readouterr().err
    assert not Path("none").exists()


def test_a_cluster_that_runs_is_used(here: Path, dask_client: Any) -> None:
    typed = ["explain", "waves.py:wavy", "rows.csv", *QUICK, "--quiet", "--store"]
    address = dask_client.scheduler.address
    assert cli.main([*typed, "far", "--engine", "dask", "--address", address]) == 0
    assert cli.main([*typed, "near"]) == 0
    assert vd.load("far").fingerprint == vd.load("near").fingerprint


def night(seed: int, slope: float, path: Path) -> str:
    """Explanations of a sum, in a file."""
    X = np.random.default_rng(seed).normal(size=(40, 2))
    vd.attributions(["a", "b"], X * [1.0, slope], intercept=0.0, rows=[f"{seed}-{i}" for i in range(40)]).save(
        path
    )
    return str(path)


def test_what_was_watched_decides_the_exit_code(tmp_path: Path, capsys: Any) -> None:
    old, same, other = (night(i, slope, tmp_path / f"{i}.parquet") for i, slope in enumerate((0.5, 0.5, 3.0)))
    page, cases = str(tmp_path / "watch.html"), str(tmp_path / "watch.xml")
    assert cli.main(["watch", old, same, "--names", "Monday,Tuesday"]) == 0
    assert "Monday and Tuesday" in capsys.readouterr().out
    assert cli.main(["watch", old, other, "--out", page, "--junit", cases]) == 1
    said = capsys.readouterr()
    assert "b counts more" in said.out
    assert f"written: {cases}" in said.err
    assert "b counts more" in Path(page).read_text("utf-8")
    assert "<failure" in Path(cases).read_text("utf-8")
    assert cli.main(["watch", old, other, "--tolerance", "0.9"]) == 0
    capsys.readouterr()
    one = str(tmp_path / "one.json")
    vd.load(old)[0].save(one)
    for arguments, why in (
        ([old, one], "holds one Explanation"),
        ([old, str(tmp_path / "gone")], "no such store"),
        ([old, other, "--junit", "cases.txt"], "ends in .xml"),
        ([old, other, "--tolerance", "2"], "a share"),
        ([old, other, "--names", "A"], "two different texts"),
    ):
        assert cli.main(["watch", *arguments]) == 2
        assert why in capsys.readouterr().err
