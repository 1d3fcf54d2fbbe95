"""What a stranger would type runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from veridical.attribute import METHODS
from veridical.evaluate import METRICS

ROOT = Path(__file__).parents[1]


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
        "target cat",
        "believe it",
        "4 of 50 rows",
        "3 groups of",
        "3 methods on 12 instances",
        "Pipeline on 30 instances (Words): All 2 checks passed.",
    )
    for shown in said:
        assert shown in done.stdout
    assert str(page) in done.stdout
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("<svg") > 50
    assert "data:image/" in text
    assert len(text) < 500_000
