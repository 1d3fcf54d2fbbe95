"""Pages read easily, in the words that people search for, and every link in them leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")

WORDS_PER_SENTENCE = 20  # on average, at most
WORDS_OF_A_SENTENCE = 50  # at most, where people look for help: guides, cookbook and the pages around them
READING_EASE = 55  # by Flesch, at least: 60 is plain English, 30 is for graduates
SHORTEST = 60  # words from which on a page has an average

UNCLEAR = {  # what reads like a translation, and what to write instead
    r"\ba (?:line|row|number) a \w+": "one line per feature",
    r"\b(?:one|explanation|verdict|file) a (?:target|row|class|chunk)\b": "one per target",
    r"\bbelieve (?:the first|it)\b": "names of features, and the label",
    r"\bis asked (?:for|about)\b": "veridical calls, or asks about",
    r"\btaken away\b": "removed",
    r"\bforetells?\b": "predicts",
    r"\bnull rows?\b": "baselines",
    r"\bno evidence\b": "no effect, unchecked",
    r"\bsurely? (?:differ|told)\b": "differs by more than the noise",
}
HOUSE = "add", "decisions"  # for people who work on the library


def pages() -> list[Path]:
    """Pages that are written by hand."""
    written = (page for page in DOCS.rglob("*.md") if page.name not in {"commands.md", "schema.md"})
    return sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written])


def guides() -> list[Path]:
    """Pages for people who use the library."""
    return [page for page in pages() if page.parent.name not in HOUSE and page.name != "CONTRIBUTING.md"]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def sentences(text: str) -> list[str]:
    """What a page says in sentences: no code, tables, headings or addresses; an item of a list is a paragraph."""
    text = re.sub(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)|</?\w+[^>]*>", "", CODE.sub("", text), flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", "name", LINK.sub(lambda link: link[0][1:].partition("]")[0], text))
    lines = "\n".join(line for line in text.splitlines() if not re.match(r"\s*(?:\||#)", line))
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )", lines))
    cut = (each for paragraph in paragraphs for each in re.split(r"(?<=[.!?:])\s+", paragraph))
    return [each for each in cut if re.search(r"[A-Za-z]{2}", each)]


def words(sentence: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'’-]*", sentence)


def syllables(word: str) -> int:
    """About how many syllables a word has: groups of vowels, silent endings aside."""
    word = word.lower()
    silent = re.search(r"[^aeiouyl]e$|[^aeiouytd]ed$", word) is not None
    return max(len(re.findall(r"[aeiouy]+", word)) - silent, 1)


def reading_level(text: str) -> tuple[float, float]:
    """Words per sentence, and Flesch's reading ease; of a short page none."""
    found = [words(sentence) for sentence in sentences(text)]
    n = sum(map(len, found))
    if n < SHORTEST:
        return 0.0, 100.0
    length = n / len(found)
    return length, 206.835 - 1.015 * length - 84.6 * sum(syllables(word) for each in found for word in each) / n


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_page_reads_easily(page: Path) -> None:
    length, ease = reading_level(page.read_text(encoding="utf-8"))
    assert length <= WORDS_PER_SENTENCE, f"{length:.1f} words per sentence: cut some in two"
    assert ease >= READING_EASE, f"reading ease {ease:.0f}: take shorter words and sentences"


@pytest.mark.parametrize("page", guides(), ids=name_of)
def test_no_sentence_is_too_long(page: Path) -> None:
    found = sentences(page.read_text(encoding="utf-8"))
    assert [each for each in found if len(words(each)) > WORDS_OF_A_SENTENCE] == []


def unclear(text: str) -> list[str]:
    """What a page says unclearly, with what to write instead."""
    told = " ".join(sentences(text))
    return [
        f"{found[0]!r}: rather {better}"
        for said, better in UNCLEAR.items()
        if (found := re.search(said, told, re.I))
    ]


@pytest.mark.parametrize("page", guides(), ids=name_of)
def test_a_page_has_no_riddles(page: Path) -> None:
    assert unclear(page.read_text(encoding="utf-8")) == []


def test_hard_prose_is_seen() -> None:
    hard = "Notwithstanding considerable methodological heterogeneity, interpretability evaluations necessarily presuppose "
    length, ease = reading_level((hard * 8).strip() + ".")
    assert length > WORDS_PER_SENTENCE
    assert ease < READING_EASE
    easy = "The model says no. We ask why. It reads the name, and not the rest of the form. " * 4
    assert reading_level(easy)[0] < 10
    assert reading_level(easy)[1] > 90
    assert reading_level("Too short to say.") == (0.0, 100.0)
    said = (
        "Weights come as a line a part. Believe the first.\n\n```text\na line a part\n```\n\n| a line a part |\n"
    )
    assert len(unclear(said)) == 2
    assert sentences(said) == ["Weights come as a line a part.", "Believe the first."]
    assert sentences("See [the guide](guide.md#place), `vd.Rows` too.\n\n* One: two\n* three") == [
        "See the guide, name too.",
        "* One:",
        "two",
        "* three",
    ]


TERMS = {  # what people type into a search box, and the page that answers it
    "adversarial": "guides/audit.md",
    "black box": "start/tour.md",
    "CatBoost": "cookbook/boosting.md",
    "confidence interval": "how-it-works.md",
    "correlated features": "faq.md",
    "counterfactual": "methods.md",
    "feature attribution": "glossary.md",
    "feature importance": "guides/many.md",
    "Hugging Face": "cookbook/networks.md",
    "interpretability": "glossary.md",
    "Keras": "cookbook/networks.md",
    "LightGBM": "cookbook/boosting.md",
    "local explanation": "glossary.md",
    "multiclass": "start/tables.md",
    "one-hot": "faq.md",
    "partial dependence": "methods.md",
    "perturbation": "how-it-works.md",
    "saliency": "start/networks.md",
    "sanity check": "guides/audit.md",
    "SHAP": "faq.md",
    "surrogate": "how-it-works.md",
    "XGBoost": "cookbook/boosting.md",
}


def says(text: str, term: str) -> bool:
    """Whether a page speaks of a term in words: its code does not count."""
    return term.lower() in re.sub(r"\s+", " ", re.sub(r"`[^`\n]*`", "", CODE.sub("", text))).lower()


@pytest.mark.parametrize("term", TERMS)
def test_every_term_that_people_search_for_has_its_page(term: str) -> None:
    assert says((DOCS / TERMS[term]).read_text(encoding="utf-8"), term)


def test_a_term_that_only_code_has_is_not_said() -> None:
    assert says("A confidence\ninterval each.", "Confidence interval")
    assert not says("```python\nimport shap\n```\n\nand `shap`, too", "SHAP")


def anchor(heading: str) -> str:
    """Where a heading is, as code hosts and MkDocs call it."""
    told = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", told))


def lost(page: Path) -> list[str]:
    """Links of a page to headings that are not there."""
    found = []
    for place in LINK.findall(re.sub(r"`[^`\n]*`", "", CODE.sub("", page.read_text(encoding="utf-8")))):
        file, _, at = place.partition("#")
        target = (page.parent / file).resolve() if file else page
        if "://" in place or not at or target.suffix != ".md" or not target.exists():
            continue  # test_readme looks whether files are there
        headings = re.findall(r"^#+ (.+)$", CODE.sub("", target.read_text(encoding="utf-8")), re.MULTILINE)
        found += [place] if at not in map(anchor, headings) else []
    return found


LINKED = sorted(
    {
        *pages(),
        *(page for folder in ("benchmarks", "experiments", "examples") for page in (ROOT / folder).glob("*.md")),
    }
)


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_lead_to_headings_that_are_there(page: Path) -> None:
    assert lost(page) == []


def test_a_lost_heading_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n## Does `it` work?\n\n[there](#does-it-work) [lost](#gone) [too](page.md#a-pag)\n"
    )
    assert lost(page) == ["#gone", "page.md#a-pag"]


def test_the_docs_are_spelled_right() -> None:
    """As scripts/check does for everything."""
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "docs", "README.md"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")
