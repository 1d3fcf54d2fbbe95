"""Wrong labels: how alike maps stay, and what finds the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections import likenesses
from sections.likenesses import MEASURES
from sections.markdown import table, target
from summary import distinct, where

MODEL = "(the model)"
PLAIN = ("random", "training loss", "out-of-fold loss", "self-influence", "TracIn")
READINGS = {"predicted": "each network's own prediction", "same": "the right label under both"}
PAPER = "0.73 to 0.99"


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    maps, scores = where(good, part="maps"), where(good, part="scores")
    pieces = []
    if scores:
        pieces += [targets(scores), best(scores), plain(scores), *folded_scores(scores)]
    for name in distinct(maps, "set"):
        some = where(maps, set=name)
        pieces += [f"**Maps, {name}**; {told(some)}.", alike(some, "ssim_signed")]
        for reading, said in READINGS.items():
            for measure, called in MEASURES.items():
                body = likeness(some, reading, measure)
                pieces.append(likenesses.folded(f"{name}, {called}, maps of {said}", body))
    failed = likenesses.failures(cells, ("part", "set", "model", "method", "seed"))
    return "\n\n".join([*pieces, *(["Failed:", failed] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    by_seed = list({cell["seed"]: cell for cell in cells}.values())
    rows = ", ".join(str(cell["n"]) for cell in by_seed)
    shares = {key: np.mean([c["accuracy"][key] for c in by_seed]) for key in by_seed[0]["accuracy"]}
    said = ", ".join(f"{key} {share:.0%}" for key, share in shares.items())
    return f"{rows} flipped rows by seed; right on the test part with {said} (learned by heart)"


def alike(cells: Sequence[Cell], measure: str) -> str:
    """How alike maps of flipped rows and of others are under the two networks, and if that tells them apart."""
    rows = []
    for method, some in likenesses.by_method(cells).items():
        row: dict[str, Any] = {"method": method}
        for reading in READINGS:
            found = [cell[reading] for cell in some]
            row[f"{reading}: flipped"] = likenesses.cell(found, "observed", measure)
            row[f"{reading}: right"] = likenesses.plain(found, "right ones", measure)
            row[f"{reading}: another row"] = likenesses.plain(found, "another", measure)
            row[f"{reading}: AUROC"] = f"{np.mean([each['auroc'][measure] for each in found]):.2f}"
        row["AUROC of signed ranks"] = f"{np.mean([c['predicted']['auroc']['rank_signed'] for c in some]):.2f}"
        rows.append(row)
    said = (
        f"{MEASURES[measure]} (published, of some SSIM: {PAPER}) between the map under right labels and that under"
    )
    return f"{said} wrong ones; AUROC: flipped rows told from right ones by it.\n\n{table(rows)}"


def likeness(cells: Sequence[Cell], reading: str, measure: str) -> str:
    rows = []
    for method, some in likenesses.by_method(cells).items():
        rows.append({"method": method, **likenesses.compared([c[reading] for c in some], measure)})
    return table(rows)


def mean(cells: Sequence[Cell], score: str, key: str = "precision") -> float:
    values = [cell["scores"][score][key] for cell in cells if score in cell["scores"]]
    return float(np.mean(values)) if values else float("nan")


def plain(cells: Sequence[Cell]) -> str:
    """Scores without explanations, by set and model."""
    rows = []
    for name in distinct(cells, "set"):
        for model in distinct(where(cells, set=name), "model"):
            some = where(cells, set=name, model=model, method=MODEL)
            if not some:
                continue
            row = {"set": name, "model": model, "right on test": f"{np.mean([c['accuracy'] for c in some]):.0%}"}
            for score in PLAIN:
                row[score] = _both(some, score)
            rows.append(row)
    return f"Without explanations; precision at 10 % (AUROC), mean over seeds.\n\n{table(rows)}"


def _both(cells: Sequence[Cell], score: str) -> str:
    value = mean(cells, score)
    return "–" if np.isnan(value) else f"{value:.2f} ({mean(cells, score, 'auroc'):.2f})"


def ranked(cells: Sequence[Cell]) -> list[tuple[float, str, str]]:
    """Scores of explanations of one model on one set, the best first: by precision, then AUROC."""
    found = []
    for method, some in likenesses.by_method(cells).items():
        for score in some[0]["scores"]:
            found.append((mean(some, score) + 1e-3 * mean(some, score, "auroc"), method, score))
    return sorted(found, reverse=True)


def chosen(cells: Sequence[Cell]) -> tuple[str, str, list[Cell], list[Cell]] | None:
    """The best method and score on the first seed, and its cells and those of the model on the other seeds."""
    first = min((cell["seed"] for cell in cells), default=0)
    order = ranked(where(cells, seed=first))
    others = [cell for cell in cells if cell["seed"] != first] or list(cells)
    base = where(others, method=MODEL)
    if not order or not base:
        return None
    _, method, score = order[0]
    own = where(others, method=method)
    return (method, score, own, base) if own else None


def best(cells: Sequence[Cell]) -> str:
    """The best explanation-based score of every set beside those without explanations, on the same seeds."""
    rows = []
    for name in distinct(cells, "set"):
        for model in distinct(where(cells, set=name), "model"):
            found = chosen(where(cells, set=name, model=model))
            if found is None:
                continue
            method, score, own, base = found
            rest = list(likenesses.by_method(where(cells, set=name, model=model)).values())
            middle = np.median([mean(c, s) for c in rest for s in c[0]["scores"]])
            nulls = [n for n in own[0]["nulls"] if n != "shuffled" or score == "unlike its class"]
            chance = np.max([np.mean([c["nulls"][n][score]["precision"] for c in own]) for n in nulls])
            row = {"set": name, "model": model, "best of explanations": f"{method}: {score}"}
            row |= {"precision (AUROC)": _both(own, score), "median of all": f"{middle:.2f}"}
            row |= {"*its best null row*": f"{chance:.2f}", "training loss": _both(base, "training loss")}
            rows.append({**row, "out-of-fold loss": _both(base, "out-of-fold loss")})
    said = "The best score of explanations was picked on the first seed; the numbers are those of the other seeds"
    return f"{said} (the median is of all scores of all methods).\n\n{table(rows)}"


def folded_scores(cells: Sequence[Cell]) -> list[str]:
    """All scores of all methods."""
    pieces = []
    for name in distinct(cells, "set"):
        for model in distinct(where(cells, set=name), "model"):
            rows = []
            for method, some in likenesses.by_method(where(cells, set=name, model=model)).items():
                row = {"method": method, "rows": some[0]["n"]}
                row |= {score: _both(some, score) for score in some[0]["scores"]}
                for null in some[0]["nulls"]:
                    chance = [max(s["precision"] for s in c["nulls"][null].values()) for c in some]
                    row[f"*{null}*"] = f"{np.mean(chance):.2f}"
                rows.append(row)
            if rows:
                pieces.append(likenesses.folded(f"Scores of explanations: {name}, {model}", table(rows)))
    return pieces


def targets(scores: Sequence[Cell]) -> str:
    """Whether explanations find wrong labels as well as the loss does, which needs none."""
    gains = []
    for name in distinct(scores, "set"):
        for model in distinct(where(scores, set=name), "model"):
            picked = chosen(where(scores, set=name, model=model))
            if picked:
                _, score, own, base = picked
                gains.append(mean(own, score) - mean(base, "training loss"))
    what = "precision at 10 %, best score of explanations less training loss, mean over sets and models"
    ahead = sum(gain >= 0 for gain in gains)
    found = f"{np.mean(gains):+.3f}; {ahead} of {len(gains)} at or above it"
    return table([target(what, "≥ 0", found, bool(np.mean(gains) >= 0))])


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    scores = where(cells, part="scores", model="network")
    names = distinct(scores, "set")
    if not names:
        return
    figure, panels = drawing.panels(1, 0.9 + 0.35 * len(names), wide=7.0)
    panel = panels[0]
    for y, name in enumerate(names):
        some = where(scores, set=name)
        for own in likenesses.by_method(some).values():
            value = max(mean(own, score) for score in own[0]["scores"])
            panel.plot(value, y, "o", ms=4, color="C0", alpha=0.5, label="best score of each method's maps")
        base = where(some, method=MODEL)
        for score, color, mark in (
            ("training loss", "C3", "D"),
            ("out-of-fold loss", "C1", "s"),
            ("TracIn", "C2", "^"),
        ):
            if base:
                panel.plot(mean(base, score), y, mark, ms=6, color=color, label=score)
    panel.axvline(0.1, color="0.6", lw=1, ls=":")
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.set_xlim(0, 1)
    panel.set_xlabel("precision among the tenth most suspicious (dotted: chance)")
    drawing.key(figure, panels)
    drawing.save(figure, folder / "labels.svg")
