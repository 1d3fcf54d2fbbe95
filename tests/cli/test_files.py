"""Files that are none, and paths that no disk has: one sentence, exit code 2, and no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from tests.builders import explanations as made
from veridical.cli import main

pytest.importorskip("pyarrow")
pytest.importorskip("typer")

MODEL = "import numpy as np\ndef predict(X):\n    return np.asarray(X.iloc[:, 0], dtype=float)\n"
NOISE = bytes(range(7, 256)) * 3
TABLES = {
    "ragged.csv": b"a,b\n1,2\n3,4,5\n",
    "unclosed.csv": b'a,b\n1,"2\n3,4\n',
    "latin.csv": b"a,b\n1,\xff\n",
    "empty.csv": b"",
    "noise.csv": NOISE,
    "zero.csv": b"a,b\n1,\x00\n",
    "head.csv": b"a,b\n",
    "bad.parquet": b"PAR1xxxxPAR1",
    "noise.parquet": NOISE,
    "empty.parquet": b"",
}
RECORDS = {
    "cut.json": b"{",
    "empty.json": b"",
    "noise.json": NOISE,
    "deep.json": b"[" * 100_000,
    "bad.parquet": b"PAR1xxxxPAR1",
    "noise.parquet": NOISE,
}


def told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *typed: str) -> str:
    """What a command that fails says: one line."""
    monkeypatch.setattr("sys.argv", ["veridical", *typed])
    try:
        code = main()  # type: ignore[func-returns-value]
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    said = capsys.readouterr().err.strip()
    assert code == 2
    assert said.startswith("veridical: ")
    assert "\n" not in said, said
    return said


@pytest.mark.parametrize("name", list(TABLES))
def test_tables_that_are_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODEL)
    (tmp_path / name).write_bytes(TABLES[name])
    assert name in told(capsys, monkeypatch, "explain", "m.py:predict", name)


@pytest.mark.parametrize("name", list(RECORDS))
@pytest.mark.parametrize("command", ["show", "pick", "compare"])
def test_records_that_are_none(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(RECORDS[name])
    typed = (command, name, name) if command == "compare" else (command, name)
    assert name in told(capsys, monkeypatch, *typed)


@pytest.mark.parametrize("command", ["show", "pick", "compare"])
def test_stores_that_are_none(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "manifest.json").write_text(
        json.dumps({"veridical": "store", "schema": 1e999}).replace("Inf", "1e9")
    )
    typed = (command, "s", "s") if command == "compare" else (command, "s")
    assert "damaged" in told(capsys, monkeypatch, *typed)


@pytest.mark.parametrize("path", [None, 5, b"x.json", "a\0.json", "\ud800.json", ["x.json"]], ids=ascii)
def test_paths_that_no_disk_has(path: Any) -> None:
    with pytest.raises(vd.VeridicalError, match="load wants the path of a file"):
        vd.load(path)
    with pytest.raises(vd.VeridicalError, match="save wants the path of a file"):
        made.mushroom().save(path)
    assert not os.path.exists("a")
