"""The command line shows foreign text too: columns, paths, notes, errors of models; none steers the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.hostile import ATTACKS, CANARY, NUISANCES
from tests.display.test_security import steering

pytest.importorskip("typer")
from veridical import cli

MODEL = """
import numpy as np

def predict(rows):
    return np.asarray(rows, dtype=float)[:, 0]

def fails(rows):
    raise ValueError("\\x1b[31mred\\x1b]0;title\\x07" + "x" * 10)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table whose columns, file and folder are called by attacks."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "\x1b[31mred \u202e"
    folder.mkdir()
    monkeypatch.chdir(folder)
    valid = [a for a in ATTACKS if a.isprintable() or "\x1b[31m" in a]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, len(valid))), columns=valid)
    table.to_csv("data.csv", index=False)
    Path("model_of_strangers.py").write_text(MODEL, encoding="utf-8")
    yield folder
    sys.modules.pop("model_of_strangers", None)


def said(capsys: Any, *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_names_of_columns_are_text_everywhere(here: Path, capsys: Any) -> None:
    asked = ("explain", "model_of_strangers.py:predict", "data.csv", "--row", "3")
    page = here / "why\x1b[31m.html"
    code, out, err = said(capsys, *asked, "--out", str(page))
    assert code == 0
    assert not steering(out + err)
    assert "written" in err
    assert f"<script>{CANARY}" not in page.read_text(encoding="utf-8")
    code, out, _ = said(capsys, *asked, "--json")
    assert code == 0
    json.loads(out)
    assert not steering(out)


@pytest.mark.parametrize("attack", NUISANCES[:8])
def test_errors_are_text(attack: str, here: Path, capsys: Any) -> None:
    name = attack.replace("\x00", "").encode(errors="replace").decode()  # what a shell can hand over
    for arguments in (
        ("explain", "model_of_strangers.py:predict", f"{name}.csv"),
        ("explain", f"model_of_strangers.py:{name}", "data.csv"),
        ("explain", "model_of_strangers.py:predict", "data.csv", "--target", name),
        ("explain", "model_of_strangers.py:predict", "data.csv", "--label", f"no {name}"),
        ("explain", "model_of_strangers.py:predict", "data.csv", "--method", name),
        ("show", f"{name}.json"),
        (name,),
    ):
        code, out, err = said(capsys, *arguments)
        assert code == 2, arguments
        assert not steering(out + err), arguments
        assert err


def test_what_a_model_raises_is_text(here: Path, capsys: Any) -> None:
    code, out, err = said(capsys, "explain", "model_of_strangers.py:fails", "data.csv", "--row", "0")
    assert code == 2
    assert "red" in err
    assert not steering(out + err)


def test_files_of_strangers_are_shown_as_text(here: Path, capsys: Any) -> None:
    from tests.builders.gallery import everything
    from tests.builders.hostile import Poison, poisoned

    poisoned(everything()["rows"], Poison(15)).save("why.json")
    code, out, err = said(capsys, "show", "why.json")
    assert code == 0
    assert not steering(out + err)
    assert isinstance(vd.load("why.json"), vd.Explanation)
