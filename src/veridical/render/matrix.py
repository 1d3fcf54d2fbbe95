"""A pick of explanations as markup: rows × parts (Figure 5 of the LIME paper), coverage, importance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veridical.render.markup import NONE, Markup, data_uri, escape, join, minus, tag
from veridical.render.picks import (
    Matrix,
    chance_words,
    facts_of,
    first_words,
    matrix_of,
    models_of,
    notes_of,
    pick_sentence,
    row_name,
)
from veridical.render.pixels import png, shrink
from veridical.render.tables import bar, facts, legend, notes, row, table
from veridical.render.words import decimals, first, percent, plain, sentence
from veridical.summarize.records import Pick

MOST_ROWS, MOST_COLUMNS = 40, 24
CELL, HEIGHT = 10, 32  # of a cell, in units of the drawing
THUMB = 72  # pixels of a region, at most, each way
TOLD = 5  # parts that the text alternative of a row names


def picked(pick: Pick) -> Markup:
    """The pick, or both sides of a pick for two models."""
    return tag("div", {"class": "vd-summary"}, *(_pick(name, p) for name, p in models_of(pick)))


def _pick(name: str, p: Pick) -> Markup:
    told, m = pick_sentence(p), matrix_of(p, MOST_ROWS, MOST_COLUMNS)
    head = f"{name}: {told}" if name else told
    said = tag("div", {"class": "vd-say"}, tag("h3", {}, escape(sentence(head) + ".", 300)))
    if not len(p.chosen) or not len(m.columns):
        return join(said, notes(first(p.notes)))
    return join(said, facts(facts_of(p, m)), _matrix(p, m), _parts(p, m), notes(notes_of(p, m)))


def _matrix(p: Pick, m: Matrix) -> Markup:
    """One line a row: a bar up or down for each part that it gives weight."""
    show, rows = decimals(m.weights.ravel()), []
    for t in range(len(m.weights)):
        name, covered = row_name(p, t), percent(float(p.share[t]))
        rows.append(row(sentence(name), _strip(p, m, t, show), (covered, chance_words(p, t))))
    head = tag(
        "div", {"class": "vd-letters", "aria-hidden": "true"}, *(tag("b", {}, escape(a)) for a in m.letters)
    )
    heads = ("Row", "Parts, the most important first", "Covered", "At random")
    key = legend("up: raises the output", "down: lowers it", "tinted cell: the first row that shows the part")
    return join(table(heads, rows, "vd-matrix", head), key)


def _strip(p: Pick, m: Matrix, step: int, show: Callable[[float], str]) -> Markup:
    """The weights of one row, each at the place of its part."""
    wide, middle, shapes, told = CELL * len(m.columns), HEIGHT // 2, [], list[tuple[float, str]]()
    grid = "".join(f"M{CELL * c} 0V{HEIGHT}" for c in range(len(m.columns) + 1))
    shapes.append(tag("path", {"class": "vd-grid", "d": grid}))
    for c, j in enumerate(m.columns):
        weight, size = float(m.weights[step, c]), abs(float(m.strengths[step, c])) * (middle - 1)
        if not weight:
            continue
        say = f"{m.letters[c]} {plain(p.names[j], 60)}: {minus(show(weight).strip())}"
        told.append((-abs(weight), say))
        kind = "vd-up" if weight > 0 else "vd-down"
        if m.first[j] == step:
            cell = {"x": CELL * c, "y": 0, "width": CELL, "height": HEIGHT}
            shapes.append(tag("rect", {"class": f"{kind} vd-new", **cell}))
        top = middle - size if weight > 0 else middle
        box = {"x": CELL * c + 1, "y": f"{top:.1f}", "width": CELL - 2, "height": f"{max(size, 1):.1f}"}
        shapes.append(tag("rect", {"class": kind, **box}, tag("title", {}, escape(say, 200))))
    shapes.append(tag("path", {"class": "vd-axis", "d": f"M0 {middle}H{wide}"}))
    heaviest = "; ".join(say for _, say in sorted(told)[:TOLD]) or "none of these parts has weight"
    label = f"{row_name(p, step)}: {heaviest}"
    box = {"viewBox": f"0 0 {wide} {HEIGHT}", "preserveAspectRatio": "none"}
    return tag("svg", {"role": "img", "aria-label": label, **box}, *shapes)


def _parts(p: Pick, m: Matrix) -> Markup:
    values = [float(v) for v in p.importance[m.columns]]
    show, rows = decimals(values), []
    for letter, j, value in zip(m.letters, m.columns, values, strict=True):
        number, first = show(value)[1:], first_words(p, m, int(j))
        key = join(tag("b", {"class": "vd-letter"}, escape(letter)), _typical(p, int(j)))
        rows.append(row(p.names[j], bar(value, None, (0.0, values[0]), "vd-size"), (number, first), key))
    return table(("Part", "Importance over all rows", "Importance", "Shown first"), rows)


def _typical(p: Pick, j: int) -> Markup:
    """Of a concept in pictures: its most typical region, what is around it faded."""
    concept = next((c for c in p.concepts if c.name == p.parts[j].name), None)
    view = concept.view if concept is not None else None
    if concept is None or view is None or view.kind != "picture":
        return NONE
    masks = np.asarray(view.data["labels"]) == concept.typical[1]
    frame = int(masks.sum(axis=(1, 2)).argmax())
    mask, pixels = masks[frame], np.asarray(view.data["pixels"])[frame]
    if not mask.any():
        return NONE
    box = tuple(slice(at.min(), at.max() + 1) for at in np.nonzero(mask))
    crop = np.where(mask[box][..., None], pixels[box], 255 - (255 - pixels[box]) // 5)
    h, w = (min(n, THUMB) for n in crop.shape[:2])
    content = png(shrink(crop.astype(np.uint8), h, w))
    told = {"role": "img", "aria-label": f"a typical region, from row {concept.typical[0]}"}
    image = tag("image", {"width": w, "height": h, "href": data_uri("image/png", content)})
    return tag("svg", {"class": "vd-thumb", **told, "viewBox": f"0 0 {w} {h}"}, image)
