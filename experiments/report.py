"""Put tables of results/*.json into README.md here, between its marks, and figures beside the JSON files.

What was wanted and found (tables that begin with "target") goes to targets.md, too.

An experiment is a line of SECTIONS and a module ``sections/NAME.py`` with ``tables(cells) -> str``, all that
stands below the command, and ``figures(cells, folder)``, which draws NAME.svg or NAME-more.svg of the cells that
have no error. A file of results with another name, such as NAME-fresh.json, gets marks and figures of that name.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cells import FOLDER
from sections.markdown import table

README = Path(__file__).parent / "README.md"
TARGETS = Path(__file__).parent / "targets.md"  # has the targets of all of OUTLINED

SECTIONS = {  # experiments by name, with the module that shows each
    "gime_tables": "sections.gime_tables",
    "gime_ks": "sections.gime_ks",
    "gime_toy": "sections.gime_toy",
    "gime_scale": "sections.gime_scale",
    "sp_lime_scale": "sections.sp_lime_scale",
    "faithfulness": "sections.faithfulness",
    "trust": "sections.trust",
    "model_choice": "sections.model_choice",
    "newsgroups": "sections.newsgroups",
    "clean_and_retrain": "sections.clean_and_retrain",
    "rounds": "sections.rounds",
    "reasons": "sections.reasons",
    "watching": "sections.watching",
    "husky": "sections.husky",
    "spurious": "sections.spurious",
    "concepts": "sections.concepts",
    "labels": "sections.labels",
    "randomize": "sections.randomize",
    "untrained": "sections.untrained",
    "ood": "sections.ood",
    "veracity": "sections.veracity",
    "believe": "sections.believe",
    "voice": "sections.voice",
}

HEADS = ("target", "wanted", "found", "met")
OUTLINED = {  # experiments with targets, as that page calls them
    "gime_tables": "groups",
    "faithfulness": "words used",
    "trust": "trust",
    "model_choice": "model choice",
    "newsgroups": "newsgroups",
    "clean_and_retrain": "clean and retrain",
    "rounds": "rounds",
    "husky": "animal or snow",
    "spurious": "shortcut",
    "concepts": "concepts",
    "labels": "wrong labels",
    "untrained": "layers anew",
    "veracity": "known causes",
    "believe": "believability",
    "voice": "voice in music",
}


def section(record: Mapping[str, Any]) -> str:
    """The text of an experiment: how it was run, and its tables."""
    shown = import_module(SECTIONS[record["experiment"]])
    return f"{heading(record)}\n\n{shown.tables(record['cells'])}"


def heading(record: Mapping[str, Any]) -> str:
    """How it was run, and on what."""
    made = record["environment"]
    packages = ", ".join(f"{p} {made[p]}" for p in ("veridical", "numpy", "scikit-learn"))
    commands = "\n".join(record["commands"])
    machine = f"{made['cpu']}, {made['cores']} cores, Python {made['python']}"
    return f"```\n{commands}\n```\n\n{record['date']}; {packages}; {machine}."


def draw(name: str, record: Mapping[str, Any], folder: Path) -> None:
    """The figures of a file of results, by its own name, in place of those it had."""
    cells = [cell for cell in record["cells"] if "error" not in cell]
    if not cells:
        return
    with TemporaryDirectory() as made:
        import_module(SECTIONS[record["experiment"]]).figures(cells, Path(made))
        for path in sorted(Path(made).glob("*.svg")):
            mine = folder / path.name.replace(record["experiment"], name, 1)
            mine.write_bytes(path.read_bytes())
            print(f"Written: {folder.name}/{mine.name}")


def links(name: str, names: Sequence[str], folder: Path) -> str:
    """The figures of a file that were drawn, but not those of a file with a longer name."""
    longer = tuple(other for other in names if other.startswith(name) and other != name)
    drawn = sorted(path.stem for path in folder.glob("*.svg") if re.fullmatch(f"{name}(-.*)?", path.stem))
    return "".join(f"\n\n![{f}](results/{f}.svg)" for f in drawn if not (longer and f.startswith(longer)))


def outline(text: str) -> str:
    """Every target of the experiments outlined, met or not, as their sections in the text have them."""
    rows = []
    for name, told in OUTLINED.items():
        for _, more, block in re.findall(f"<!-- ({name}(-[-a-z0-9]+)?) -->\n(.*?)<!-- /\\1 -->", text, re.DOTALL):
            called = told + more.replace("-", ", ")
            for lines in re.findall(r"^\| target .*\n\|[-|]+\n((?:\|.*\n?)+)", block, re.MULTILINE):
                cut = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines.splitlines()]
                rows += [{"experiment": called, **dict(zip(HEADS, cells, strict=True))} for cells in cut]
    met = sum(row["met"] == "yes" for row in rows)
    return f"**{met} of {len(rows)} targets are met.**\n\n{table(rows)}"


def put(text: str, name: str, body: str) -> str:
    """The text with something else between the marks of that name."""
    marks = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
    if not marks.search(text):
        raise SystemExit(f"README.md has no <!-- {name} --> … <!-- /{name} --> for {name}.json: add them")
    return marks.sub(lambda _: f"<!-- {name} -->\n{body}\n<!-- /{name} -->", text)


def main(settings: argparse.Namespace) -> None:
    records = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
    text = README.read_text(encoding="utf-8")
    for name, record in records.items():
        if settings.only and record["experiment"] not in settings.only:
            continue
        if not settings.no_figures:
            draw(name, record, FOLDER)
        text = put(text, name, section(record) + links(name, list(records), FOLDER))
    README.write_text(text, encoding="utf-8")
    TARGETS.write_text(put(TARGETS.read_text(encoding="utf-8"), "outline", outline(text)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, help="these experiments; the others stay as they are"
    )
    parser.add_argument("--no-figures", action="store_true", help="tables alone, without matplotlib")
    main(parser.parse_args())
