"""What a stranger would type runs as it stands."""

from __future__ import annotations

import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

from veridical.methods.registry import METHODS
from veridical.metrics import METRICS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "veridical"


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "why.json").exists()


def pages() -> list[Path]:
    """All pages that are kept in the repository."""
    folders = "docs", "benchmarks", "examples", "experiments"
    return sorted([*ROOT.glob("*.md"), *(page for folder in folders for page in (ROOT / folder).rglob("*.md"))])


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_point_at_what_is_there(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    places = [place.partition("#")[0] for place in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in place]
    assert [place for place in places if not (page.parent / place).exists()] == []


def missing(text: str) -> list[str]:
    """Files of the repository and names of veridical that a text speaks of, and that are not there."""
    folders = "src/veridical", "tests", "docs/tools", "experiments", "benchmarks", "examples", "scripts"
    paths = set(re.findall(rf"(?<![\w/.:-])(?:{'|'.join(folders)})/[\w/.-]*\w/?", text))
    found = [path for path in paths if not (ROOT / path).exists() and "NAME" not in path]
    rooms = "|".join(path.name for path in SOURCE.iterdir() if path.is_dir())
    for path in set(re.findall(rf"`((?:{rooms})/[\w/]+\.py)`", text)):
        found += [] if (SOURCE / path).exists() else [path]
    for name in set(re.findall(r"(?:from |import |`)((?:veridical|vd)(?:\.\w+)+)", text)):
        try:
            pkgutil.resolve_name(re.sub("^vd", "veridical", name))
        except (ImportError, AttributeError):
            found.append(name)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_speak_of_what_is_there(page: Path) -> None:
    if page.name != "CHANGELOG.md" and page.parent.name != "decisions":  # which tell what was there
        assert missing(page.read_text(encoding="utf-8")) == []


def test_what_is_not_there_is_seen() -> None:
    text = "`vd.Rows`, `vd.rows.Rows`, `veridical.records.Part`, `represent/rows.py`, `tests/conftest.py`"
    assert missing(text) == ["vd.rows.Rows"]
    assert set(missing("See src/veridical/attribute/lime.py, `methods/nothing.py` and scripts/check.")) == {
        "src/veridical/attribute/lime.py",
        "methods/nothing.py",
    }


def test_the_map_has_every_package() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+(?:/|\.py))` \|", text, re.MULTILINE))
    there = {path.name + "/" * path.is_dir() for path in SOURCE.iterdir()}
    assert told == {name for name in there if not name.startswith(("__", "py.typed"))}


def test_the_readme_counts_right() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"{len(METHODS)} methods" in text
    assert f"{len(METRICS)} metrics" in text


def test_the_readme_is_filled_in() -> None:
    for page in (ROOT / "README.md", ROOT / "benchmarks" / "README.md", ROOT / "docs" / "results.md"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"@\w+@|-->\s*<!-- /", text), f"{page.name} has a place that was never filled in"


def test_the_demo_prints_and_writes_one_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "veridical", "demo", str(page)],
        capture_output=True,
        text=True,
        check=True,
    )
    said = (
        "malignant",
        "What is this paragraph about?",
        "for cat",
        "reliable. ",
        "4 of 50 rows",
        "3 groups of",
        "3 methods on 12 instances",
        "Pipeline on 30 instances (Words)\n✓ passed. The model: the check passed. Its explanations: the check passed.",
    )
    for shown in said:
        assert shown in done.stdout
    assert str(page) in done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.count("<script") <= 1, "that of tables of rows"
    assert text.count("<svg") > 50
    assert "data:image/" in text
    assert len(text) < 500_000
