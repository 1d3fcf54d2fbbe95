"""A classifier that is right for the wrong reasons: what explanations show, and what cleaning gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.clean_and_retrain import level
from sections.markdown import table
from summary import distinct, where

PAPER = {("greedy", "RP"): "68", ("greedy", "SP"): "75", ("LIME", "RP"): "80", ("LIME", "SP"): "89"}
SHOWN = 12  # header words that are listed


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    pieces = []
    for cell in where(good, what="original"):
        pieces += [targets(cell), cleaned(cell), headers(cell), picked(cell)]
    pieces.append(choices(where(good, what="choice")))
    failed = [f"* {c['what']}, path {c['path']}: {c['error']}" for c in cells if "error" in c]
    return "\n\n".join(piece for piece in [*pieces, "\n".join(failed)] if piece)


def targets(cell: Cell) -> str:
    before, last = cell["before"], cell["after"][-1]
    wanted = (
        ("20NG test, before", "93–94 %", before["test"], 0.93 <= before["test"] < 0.945),
        ("pages, before", "57 %", before["pages"], round(100 * before["pages"]) == 57),
        ("pages, without what is exposed", "≥ 69 %", last["pages"], last["pages"] >= 0.69),
        ("the half that made no rule", "≥ 69 %", last["second_half"], last["second_half"] >= 0.69),
    )
    return table(
        [
            {"target": what, "wanted": told, "found": f"{value:.1%}", "met": "yes" if met else "**no**"}
            for what, told, value, met in wanted
        ]
    )


def cleaned(cell: Cell) -> str:
    """The classifier before and after words that explanations show are removed."""
    rows = [{"removed": "nothing", "pass": "–", "words": "0", **_accuracies(cell["before"])}]
    for each in cell["after"]:
        told = {"removed": f"shown, {each['rule']}", "pass": str(each["pass"]), "words": str(each["removed"])}
        rows.append({**told, **_accuracies(each)})
    rows.append({"removed": "*paper: by hand*", "pass": "–", "words": "–", "20NG test": "88.6%", "pages": "69.0%"})
    return table(rows)


def _accuracies(found: Any) -> dict[str, str]:
    names = {"test": "20NG test", "pages": "pages", "second_half": "second half"}
    return {told: f"{found[name]:.1%}" for name, told in names.items()} | {
        "pages called Christian": f"{found['called_christian']:.0%}"
    }


def headers(cell: Cell) -> str:
    """Words of headers among those shown."""
    rows = [
        {
            "word": f"`{each['word']}`",
            "in explanations": f"{each['shown']:.0%}",
            "in training articles": f"{each['training']:.0%}",
            "of these in one class": f"{each['one_class']:.0%} {each['class']}",
            "in pages": f"{each['pages']:.1%}",
        }
        for each in cell["header_words"][:SHOWN]
    ]
    told = (
        f"Of {cell['explanations']} explanations of ten words, {cell['with_header_word']:.0%} show a word that is "
        f"more often in headers than below them; {cell['header_share']:.0%} of all words shown are such words."
    )
    return f"{told}\n\n{table(rows)}"


def picked(cell: Cell) -> str:
    lines = "\n".join(f"{i}. {' '.join(words)}" for i, words in enumerate(cell["picked"], 1))
    return f"The ten explanations that SP-LIME picks show:\n\n{lines}"


def choices(cells: Sequence[Cell]) -> str:
    """How often users choose the cleaned classifier."""
    if not cells:
        return ""
    rows, flat = [], [{"path": c["path"], **row} for c in cells for row in c["choices"]]
    for method in distinct(flat, "method"):
        for pick in ("SP", "RP"):
            found: dict[str, str] = {"explained by": method, "pick": pick}
            for noticing in sorted({row["noticing"] for row in flat}):
                some = where(flat, method=method, pick=pick, noticing=noticing)
                found[f"{noticing:.0%} noticed"] = level({row["path"]: row["correct"] for row in some})
            rows.append({**found, "people, in the paper": PAPER.get((method, pick), "–")})
    removed, after = (float(np.mean(values)) for values in _cleanings(cells))
    told = (
        f"{len(cells)} cleaned classifiers ({removed:.0f} words removed in three rounds, {after:.1%} right on the "
        "second half of the pages) against the original; the share of users who choose the cleaned one:"
    )
    return f"{told}\n\n{table(rows)}"


def _cleanings(cells: Sequence[Cell]) -> tuple[list[float], list[float]]:
    return [c["removed"] for c in cells], [c["after"]["second_half"] for c in cells]


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    flat = [{"path": c["path"], **row} for c in where(cells, what="choice") for row in c["choices"]]
    if flat:
        drawing.save(chosen(flat), folder / "newsgroups.svg")


def chosen(rows: Sequence[Cell]) -> Any:
    """A panel for each share that is noticed: users who choose the cleaned classifier, by method and pick."""
    from sections import drawing

    shares, methods = sorted({row["noticing"] for row in rows}), distinct(rows, "method")
    figure, panels = drawing.panels(len(shares), 2.4)
    for panel, noticing in zip(panels, shares, strict=True):
        for i, (pick, color) in enumerate((("RP", "C0"), ("SP", "C3"))):
            some = [where(rows, method=m, pick=pick, noticing=noticing) for m in methods]
            means = [float(np.mean([row["correct"] for row in each])) for each in some]
            errors = [
                1.96 * float(np.std([row["correct"] for row in e]) / np.sqrt(max(len(e) - 1, 1))) for e in some
            ]
            places = np.arange(len(methods)) + 0.4 * i
            panel.bar(places, means, 0.38, yerr=errors, color=color, label=pick, capsize=3)
        panel.set_xticks(np.arange(len(methods)) + 0.2, methods)
        panel.set_ylim(0, 1.05)
        panel.set_title(f"{noticing:.0%} of bad words noticed")
        panel.set_ylabel("choose the cleaned one")
    drawing.key(figure, panels)
    return figure
