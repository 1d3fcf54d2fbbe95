"""Reports of known causes: curves, rows that know, examples; drawn by every medium, saved and read back."""

from __future__ import annotations

import json
import pickle
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import report_cases as cases
from tests.builders.pages import Reader, assert_ours, exact, flat
from tests.builders.veracity_cases import bare, caused, strange
from tests.display.test_reports import TAGS
from veridical.display import html, media, terminal
from veridical.display.blocks import REFERENCES
from veridical.errors import InputError
from veridical.scale.stores.store import load

DRAWN = {"figure", "figcaption", "image", "use", "audio", "rect", "col", "colgroup", "title"}
LINKS = r'(href|src)="(data:(image/png|audio/wav);base64,[\w+/=]+|#vd-\w+)"'

CASES = (caused, strange, bare)


@pytest.mark.parametrize("case", CASES)
def test_markup_is_ours_alone(case: Any) -> None:
    r = case()
    for markup in (html.fragment(r), html.page(vd.Page("t", [("", r)]))):
        own = re.sub(LINKS, "", markup)
        assert_ours(own, Reader(own), TAGS | DRAWN)


@pytest.mark.parametrize("case", CASES)
def test_the_terminal_is_80_columns_wide(case: Any) -> None:
    text = str(case())
    assert max(map(terminal.cells, text.splitlines())) <= 80
    assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert not re.search(r"\b(None|nan|inf)\b", text)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("case", CASES)
def test_reports_are_saved_exactly(case: Any, suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    r = case()
    r.save(tmp_path / f"r{suffix}")
    again = load(tmp_path / f"r{suffix}")
    assert exact(again) == exact(r)
    assert html.fragment(again) == html.fragment(r)
    assert exact(pickle.loads(pickle.dumps(again))) == exact(r)


@pytest.mark.parametrize(
    ("field", "value"),
    [("references", ["norm"]), ("curves", [["a", "b"]]), ("findings", [1]), ("examples", [{}])],
)
def test_damaged_causes_are_refused(field: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    caused().save(path)
    document = json.loads(path.read_text())
    document["items"][0][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        load(path)


def test_findings_are_said_first() -> None:
    r = caused()
    assert r.sentences[:2] == r.findings
    page, text = Reader(re.sub(LINKS, "", html.fragment(r))), flat(str(r))
    for finding in r.findings:
        assert flat(finding) in text
        assert finding.partition(":")[2].strip() in page.text
    assert text.index(r.findings[1]) < text.index("── hit@1 ──")


def test_the_terminal_has_one_table_and_says_where_the_rest_is() -> None:
    text = str(caused())
    table = text[text.index("── hit@1 ──") :]
    head = next(line for line in table.splitlines() if "↑" in line)
    assert head.split() == ["Pgd", "↑", "Swaps", "↑"]
    places = [table.index(word) for word in ("Pgd", "  Undo", REFERENCES, "  greedy", "null rows", "  random")]
    assert sorted(places) == places
    assert "4 more metrics, with curves and examples: .save('report.html')" in flat(table)
    assert len(text.splitlines()) < 30


def test_a_chart_says_its_numbers_in_words() -> None:
    r = caused()
    page = Reader(re.sub(LINKS, "", html.fragment(r)))
    told = [known["aria-label"] for tag, known in page.found if tag == "svg" and known.get("role") == "img"]
    charts = [label for label in told if label.startswith("Share of decisions")]
    assert len(charts) == 2
    for row in r.rows:
        rate = r.curve("Pgd", row).rate
        assert f"{row} flips {100 * rate[1]:.0f} % with 1, {100 * rate[3]:.0f} % with 3" in charts[0]
    badges = [known for tag, known in page.found if tag == "span" and "vd-badge vd-b" in known.get("class", "")]
    assert len(badges) == 2 * len(r.methods)


def test_examples_show_what_was_before_and_what_methods_say() -> None:
    page = Reader(re.sub(LINKS, "", html.fragment(caused())))
    for words in (
        "Decided cat; after the change dog, whose probability went from 0.02 to 0.97",
        "Changed most: nw, se",
    ):
        assert words in page.text
    assert page.tags["audio"] == 2
    assert "Before the change" in page.texts


def test_parts_of_the_changed_recording_are_heard() -> None:
    """Of a spectrogram whose recording is known: before, after, and what each method keeps and leaves."""
    mel = vd.sounds.Mel(rate=8000, n_mels=24, n_fft=256, hop=80, fmax=None)
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 4000)) / 10
    tiles = vd.Tiles(2, 2, front=mel)
    why = vd.explain(lambda X: X[:, :12].mean(axis=(1, 2)), tiles, mel(after), method=vd.Occlusion())
    original = tiles(mel(before)).view
    example = vd.metrics.Example(
        "Pgd", 0, 0, 1, 0.1, 0.9, (), ("Occlusion",), (why,), original, (before, after, 8000.0)
    )
    found = Reader(html.fragment(replace(caused(), examples=(example,)))).found
    players = [known["aria-label"] for tag, known in found if tag == "audio"]
    kept = [words for words in players if words.startswith(("Only", "All but"))]
    assert players[:3] == ["Before the change", "After it", "The recording"]
    assert len(kept) >= 2
    alone = [known["aria-label"] for tag, known in Reader(html.fragment(why)).found if tag == "audio"]
    assert alone == ["The spectrogram as sound", *kept]


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.float32])
def test_recordings_of_any_type_sound_alike(kind: Any) -> None:
    ends = (1.0, 1.0) if kind is np.float32 else (np.iinfo(kind).max, -float(np.iinfo(kind).min))
    loud = np.array([ends[0], 0, -ends[1] / 2, -ends[1]]).astype(kind)
    samples = media.as_samples(loud, media.peak_of(loud))
    np.testing.assert_allclose(samples, [32767, 0, -16384, -32767], atol=1)


def test_a_curve_is_found_by_name() -> None:
    r = caused()
    assert r.curve("Swaps", "norm") is r.curves[8]
    with pytest.raises(InputError, match="no curve of 'Pgd' by 'nobody'"):
        r.curve("Pgd", "nobody")
    with pytest.raises(InputError, match="it has none"):
        cases.plain().curve("a", "b")


def test_a_panel_a_cause(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = caused().plot(kind="card")
    assert len(ax.child_axes) == 2 + 2  # curves, and the first metric of each cause
    assert {"Pgd", "Swaps"} <= {text.get_text() for text in ax.texts}
    assert len(ax.child_axes[0].lines) == 3 + 6  # a grid, and a line a row
    _, mine = pyplot.subplots()
    assert caused().plot(mine, kind="card") is mine
    pyplot.close("all")
    for case in CASES:
        case().save(tmp_path / "r.png")
    assert not pyplot.get_fignums()
