"""A notebook shows every record without being told how, and how far long work has come."""

from __future__ import annotations

import base64
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from tests.builders import explanations as made
from tests.builders.gallery import NAMES, everything
from veridical.records import Displayable

nbformat = pytest.importorskip("nbformat")
client = pytest.importorskip("nbclient")

ROOT = Path(__file__).parents[2]
SLOW = """
import time
import numpy as np
import veridical as vd

def slow(X):
    time.sleep(0.4)
    return X[:, 0]

X = np.random.default_rng(0).normal(size=(50, 3))
few = vd.explain_many(slow, vd.Rows(X), X[:6], method=vd.KernelShap(n_samples=16))
"""


@pytest.fixture(scope="module")
def notebook() -> Any:
    """Every record at the end of a cell of its own, run by a kernel as Jupyter runs it."""
    v4 = nbformat.v4
    cells = ["from tests.builders.gallery import everything\nrecords = everything()"]
    cells += [f"records[{name!r}]" for name in everything()]
    cells += [SLOW, "from IPython.display import display\ndisplay(records['rows'], include=['image/svg+xml'])"]
    made = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the kernel's own parts
        run = client.NotebookClient(made, timeout=3600, kernel_name="python3")
        run.execute(env={**os.environ, "PYTHONPATH": path, "JUPYTER_PLATFORM_DIRS": "1"})
    return made


def results(notebook: Any) -> Iterator[tuple[str, Any]]:
    for cell in notebook.cells:
        for output in cell.outputs:
            if output.output_type == "execute_result":
                yield cell.source, output.data


def test_every_record_is_shown(notebook: Any) -> None:
    found = dict(results(notebook))
    assert list(found) == [f"records[{name!r}]" for name in everything()]
    for source, data in found.items():
        assert set(data) == {"text/plain", "text/html"}, source
        assert data["text/html"].startswith("<div"), source
        assert "<script" not in data["text/html"], source
        assert len(data["text/plain"].splitlines()) > 1, source


def test_nothing_is_printed_and_no_bar_is_left(notebook: Any) -> None:
    assert not [output for cell in notebook.cells for output in cell.outputs if output.output_type == "stream"]
    (bar,) = next(cell for cell in notebook.cells if cell.source == SLOW).outputs
    assert bar.output_type == "display_data"
    assert dict(bar.data) == {"text/plain": "", "text/html": ""}


def test_pictures_are_for_those_who_ask(notebook: Any) -> None:
    (shown,) = notebook.cells[-1].outputs
    assert set(shown.data) == {"image/svg+xml"}
    assert "<svg" in shown.data["image/svg+xml"]


@pytest.mark.parametrize("name", NAMES)
def test_bundles(name: str) -> None:
    record = everything()[name]
    assert isinstance(record, Displayable)
    both = record._repr_mimebundle_()
    assert both == {"text/plain": str(record), "text/html": record._repr_html_()}
    assert set(record._repr_mimebundle_(exclude={"text/html"})) == {"text/plain"}
    assert set(record._repr_mimebundle_(include={"text/html"})) == {"text/html"}
    assert record._repr_mimebundle_(include={"video/mp4"}) == {}
    assert record._repr_mimebundle_(include={"text/html"}, exclude={"text/html"}) == {}


def test_pictures_in_bundles_are_as_notebooks_keep_them() -> None:
    pytest.importorskip("matplotlib")
    kinds = {"image/png", "image/svg+xml", "application/pdf"}
    found = made.mushroom()._repr_mimebundle_(include=kinds)
    assert set(found) == kinds
    assert found["image/png"].startswith(b"\x89PNG")
    json.dumps({**found, **{k: base64.b64encode(found[k]).decode() for k in ("image/png", "application/pdf")}})


def test_without_matplotlib_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str, *, extra: str) -> None:
        raise vd.errors.MissingPackage("this needs matplotlib")

    monkeypatch.setattr("veridical.display.html.require", missing)
    assert made.mushroom()._repr_mimebundle_(include={"image/png", "text/plain"}).keys() == {"text/plain"}


SHEET = """
.out dt{float:left;width:20%;font-weight:bold} .out dd{float:left;width:80%}
:not(.note).out th,:not(.note).out td{text-align:right} .out ul:not(.flat){padding-left:2em}
"""  # what style sheets of notebooks say of the outputs of cells
ASK = """() => ["dt", "dd", "tbody th", "td.vd-w", "ul"].map(name => {
  const style = getComputedStyle(document.querySelector(".vd " + name));
  return [style.float, style.textAlign, style.paddingLeft];
})"""


def test_the_style_of_a_notebook_does_not_reach_in(chromium: Any, tmp_path: Path) -> None:
    shown = everything()["rows-path"]._repr_html_()

    def asked(sheet: str) -> Any:
        page = tmp_path / "page.html"
        markup = (
            f"<!DOCTYPE html><html><head><style>{sheet}</style></head><body><div class='out'>{shown}</div></body>"
        )
        page.write_text(markup + "</html>", encoding="utf-8")
        return chromium.visit(page, lambda page: page.evaluate(ASK))[0]

    assert asked(SHEET) == asked("")
    assert asked(SHEET.replace(".out", ".out.out.out")) != asked("")
