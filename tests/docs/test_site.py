"""The documentation: all of its code runs, it builds without a warning, and nothing in it comes from elsewhere."""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from tests.builders.browser import Chromium
from tests.docs.test_prose import TERMS
from veridical.checks.audits import CHECKS
from veridical.errors import public_name
from veridical.groundtruth import CAUSES
from veridical.methods.registry import METHODS
from veridical.representations import REPRESENTERS
from veridical.summaries.groupings import GROUPINGS

ROOT = Path(__file__).parents[2]
TOOLS = str(ROOT / "docs" / "tools")
sys.path.insert(0, TOOLS)  # for these imports alone
try:
    import claims
    import plan
    from blocks import DOCS, blocks, pages, run
    from filling import filled
    from reference import TEN, reference
finally:
    sys.path.remove(TOOLS)

FETCHED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "audio": "src"}
LOADED_LATER = "https://unpkg.com/", "https://api.github.com/"  # by the theme, on pages that ours are not


def coded() -> list[Path]:
    """Pages with code to run; the commands of commands.md need files, and have tests of their own."""
    kinds = "```python", "\nveridical "
    return [p for p in pages() if p.name != "commands.md" and any(k in p.read_text("utf-8") for k in kinds)]


def alike(said: str, printed: str) -> float:
    """How much of what a page says is printed is printed, numbers and spaces aside."""
    told, found = (re.sub(r"[\d\s.+-]+", " ", text).strip() for text in (said, printed))
    return difflib.SequenceMatcher(None, told, found, autojunk=False).ratio()


@pytest.mark.parametrize("page", coded(), ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(sys, "path", list(sys.path))
    for ran in run(page):
        if ran.block.kind == "picture":
            assert (page.parent / ran.block.path).is_file(), "docs/tools/refresh.py draws it"
            assert hasattr(ran.record, "save") or hasattr(ran.record, "savefig")
        elif ran.block.kind == "sh":
            assert not any(ran.codes), ran.printed
        elif ran.block.printed:
            assert alike(ran.block.text, ran.printed) > 0.8, (
                f"{page.name} no longer prints what it says:\n{ran.printed}"
            )


def test_what_is_no_longer_printed_is_seen() -> None:
    said = "target yes: the model says 0.91\n  age > 30  │████  +0.21  [+0.20, +0.22]"
    assert alike(said, "target yes: the model says 0.87\n  age > 30  │██  +0.19  [+0.18, +0.20]") > 0.8
    assert alike(said, "yes (0.91)\nage over 30: 0.21 more") < 0.8


def test_blocks_are_found_where_they_stand() -> None:
    text = (
        '# A\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n=== "tab"\n\n    ```python\n    x = 2\n    ```\n\n'
    )
    text += "<!-- draw why -->\n![A chart](../pictures/why.svg)\n\nWords.\n\n```text\nnot printed\n```\n"
    found = list(blocks(text))
    assert [block.kind for block in found] == ["python", "text", "python", "picture", "text"]
    assert [block.printed for block in found] == [False, True, False, False, False]
    assert found[2].text == "x = 2\n"
    assert (found[3].text, found[3].path) == ("why", "../pictures/why.svg")
    assert text[found[1].start : found[1].stop] == "1\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as it is for readers: every warning ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Fetched(HTMLParser):
    """What a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [given[FETCHED[tag]] or ""] if FETCHED.get(tag) in given else []
        self.addresses += re.findall(r"url\(['\"]?([^)'\"]+)", given.get("style") or "")


def foreign(address: str) -> bool:
    return bool(re.match(r"(?:[a-z]+:)?//", address))


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        seen = Fetched()
        seen.feed(page.read_text(encoding="utf-8"))
        assert not [each for each in seen.addresses if foreign(each)], page.name
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not [each for each in re.findall(r"(?:url\(|@import )['\"]?([^)'\"]+)", text) if foreign(each)]
    for figure in site.rglob("*.svg"):
        text = figure.read_text(encoding="utf-8")
        found = re.findall(r"(?:href|src)=\"([^\"]+)\"|url\(['\"]?([^)'\"]+)", text)
        assert not [each for pair in found for each in pair if foreign(each)], figure.name
    seen = Fetched()
    seen.feed('<p><img src="//elsewhere/a.png"><a href="https://elsewhere">fine</a></p>')
    assert [each for each in seen.addresses if foreign(each)] == ["//elsewhere/a.png"]


def test_the_search_knows_every_page(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    for page in (*pages(), Path("docs/benchmarks.md")):
        place = page.with_suffix(".html").name
        assert place in index, f"{page.name} cannot be found by searching"


def found_by(site: Path, term: str) -> list[str]:
    """Pages that the built search knows to speak of a term."""
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    entries = json.loads(index[index.index("{") : index.rindex("}") + 1])["docs"]
    return [each["location"] for each in entries if term.lower() in f"{each['title']} {each['text']}".lower()]


def test_people_find_what_they_search_for(site: Path) -> None:
    for term, page in TERMS.items():
        place = page.replace(".md", ".html")
        assert any(each.startswith(place) for each in found_by(site, term)), f"{term}: not in {page}"
    assert found_by(site, "phrenology") == []


def test_the_reference_begins_with_ten_names_and_has_tables(site: Path) -> None:
    text = (site / "reference" / "first.html").read_text(encoding="utf-8")
    assert re.findall(r'<h3 id="veridical\.[\w.]+\.(\w+)"', text) == list(TEN)
    assert text.count("doc-md-description") > 40, "a line of a table per parameter"
    contents = (site / "index.html").read_text(encoding="utf-8")
    assert "reference/first.html" in contents or "reference/index.html" in contents


GUIDES = {  # registries, and the pages that tell of all that is in them
    "methods": (METHODS, ("methods.md", "start/networks.md")),
    "causes": (CAUSES, ("guides/evaluate.md",)),
    "checks": (CHECKS, ("guides/audit.md",)),
    "groupings": (GROUPINGS, ("guides/groups.md",)),
    "representers": (
        REPRESENTERS,
        (
            "start/tables.md",
            "start/texts.md",
            "start/pictures.md",
            "start/sounds.md",
            "start/series.md",
            "start/records.md",
        ),
    ),
}


@pytest.mark.parametrize("page", ["peers.md", "guides/evaluate.md", "results.md", "scale.md"])
def test_tables_are_those_of_what_they_are_made_of(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert filled(text) == text, "docs/tools/refresh.py makes them anew"
    assert filled(text.replace("higher |", "lower |").replace("[calls", "[called")) == text


def test_a_billion_rows_are_a_thousand_times_a_million(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    million = {
        "workers": 2,
        "rows": 10**6,
        "seconds": 500.0,
        "calls": 1_008_192,
        "bytes_a_row": 800.0,
        "peak_mb": 900.0,
    }
    own, lime = "times the bare model's time for the rows, one process", "lime, rows a second, one process"
    targets = [{"what": own, "found": "4"}, {"what": lime, "found": "2"}]
    found = {"scale-million": {"rows": [million]}, "scale": {"targets": targets}, "gpu": {"rows": []}}
    monkeypatch.setattr(plan, "RESULTS", tmp_path)
    assert plan.table("billion") == "Not measured yet: scale-million.json.\n"
    for name, record in found.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
    made = plan.table("billion")
    for said in (
        "1.008 × 10⁹",
        "278 core hours: 16.7 minutes",
        "69 core hours",
        "15.9 core years",
        "800 GB",
        "244,141",
    ):
        assert said in made


def test_claims_have_numbers_with_intervals() -> None:
    assert claims.middle([3.0, 1.0, 2.0, 6.0, 5.0, 4.0]) == "3.5 [1, 6] (6 cases)"
    assert claims.middle([*map(float, range(1, 17))]).startswith("8.5 [4, 13]"), "97.9 % of medians"
    assert claims.share(0, 200) == "0 of 200: 0.0% [0.0%, 1.8%]"
    assert claims.share(20, 20).endswith("[83.2%, 100.0%]")
    assert claims.against("lime, -1 [-2, 0]") == "-1 [-2, 0] (against lime)"
    told = [*claims.strengths(), *claims.weaknesses()]
    assert (len(claims.strengths()), len(claims.weaknesses())) == (8, 5)
    assert all("±" in each.number or "[" in each.number or " from " in each.number for each in told)


@pytest.mark.parametrize("family", GUIDES)
def test_the_guides_tell_of_everything_registered(family: str) -> None:
    registered, told = GUIDES[family]
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in told)
    names = [f"`{key}`" if family == "checks" else public_name(each) for key, each in registered.items()]
    assert not [name for name in names if name not in text]


def test_the_reference_has_every_public_name() -> None:
    text = "".join(reference().values())
    named = re.findall(r"^::: veridical\.[.\w]+\.(\w+)$", text, re.MULTILINE)
    wanted = {name for name in vd.__all__ if not inspect.ismodule(getattr(vd, name))} - {"__version__"}
    for namespace in (getattr(vd, name) for name in vd.__all__ if inspect.ismodule(getattr(vd, name))):
        wanted |= {name for name in getattr(namespace, "__all__", ()) if not name.isupper()}
    assert sorted(named) == sorted(wanted), "each once, and none that is missing"


def test_the_site_is_read_and_searched_as_files(site: Path, chromium: Chromium) -> None:
    def search(page: Any) -> list[str]:
        page.locator("input.md-search__input").press_sequentially("superpixels")  # the theme waits for keys
        page.wait_for_selector(".md-search-result__link")
        return [str(link.get_attribute("href")) for link in page.locator(".md-search-result__link").all()]

    links, seen = chromium.visit(site / "index.html", search)
    assert any("reference/first.html" in link for link in links), links
    assert any("start/pictures.html" in link for link in links), "where it is vd.Superpixels()"
    assert not seen.errors
    assert not [address for address in seen.requests if not address.startswith("file:")]
