"""A voice in music: how often it is told, by loudness, and how often its tiles are found, beside no-model rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cells import Cell
from sections import likenesses
from sections.markdown import table, target
from summary import where

ENOUGH, FOUND = 0.94, 0.9
CLEAR = ("+6", "+3", "+0", "-3")  # decibels that the accuracy of windows is about
BESIDE = ", another sound"
OURS = "content"
MEASURES = {
    "hit": "The heaviest tile is one of the voice (%)",
    "overlap": "Share of the tiles of the voice among as many heaviest (%)",
    "when": "The heaviest tile is at a time with the voice (%)",
}
FRAMES = {"plain": "each frame, one half", "tuned": "each frame, threshold", "smoothed": "median, threshold"}


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    pieces = [piece(good) for piece in (goals, told, windows, frames, found)] if good else []
    failed = likenesses.failures(cells, ("what", "seed"))
    return "\n\n".join([*filter(None, pieces), *(["Failed:", failed] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    seeds = sorted({cell["seed"] for cell in cells})
    each = "a detector, and speakers, tracks and other sounds left for its tests"
    return f"Seeds {', '.join(map(str, seeds))}, each {each}; ± is the standard deviation over seeds."


def goals(cells: Sequence[Cell]) -> str:
    """What was wanted, and what was found."""
    rows = []
    accuracy = [right(cell) for cell in where(cells, what="windows")]
    if accuracy:
        said = "a voice in music: windows of unseen speakers and tracks told right, −3 to +6 dB"
        rows.append(target(said, "≥ 94 %", spread(accuracy), float(np.mean(accuracy)) >= ENOUGH))
    for measure, called in (("when", "the heaviest tile is at its time"), ("hit", "and of its pitch")):
        for what in whats(cells):
            hits = [cell["rows"][OURS][measure] for cell in where(cells, what=what)]
            said = f"a voice in music: {called}, {what.removeprefix('tiles ')}"
            rows.append(target(said, "≥ 90 %", spread(hits), float(np.mean(hits)) >= FOUND))
    return table(rows) if rows else ""


def right(cell: Cell) -> float:
    """Half of the windows have no voice, and half have another loud sound."""
    with_voice = [cell["right"][snr + also] for snr in CLEAR for also in ("", BESIDE)]
    return float((np.mean(with_voice) + np.mean([cell["right"]["none" + also] for also in ("", BESIDE)])) / 2)


def whats(cells: Sequence[Cell]) -> list[str]:
    """The kinds of excerpts whose tiles were explained, in order."""
    return list(dict.fromkeys(cell["what"] for cell in cells if cell["what"].startswith("tiles")))


def spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation of shares, in percent."""
    more = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.1f}{more}"


def windows(cells: Sequence[Cell]) -> str:
    """How often windows are told right, by loudness."""
    some = where(cells, what="windows")
    if not some:
        return ""
    names = [name for name in some[0]["right"] if not name.endswith(BESIDE)]
    rows = []
    for also, called in (("", "music alone"), (BESIDE, f"and another sound, {6:+d} dB")):
        row = {"windows": called}
        for name in names:
            head = "without a voice" if name == "none" else f"{int(name):+d} dB"
            row[head] = spread([cell["right"][name + also] for cell in some])
        rows.append(row)
    said = f"Told right (%), {some[0]['n']} windows of each kind and seed; decibels of the voice above all else."
    return f"{said}\n\n{table(rows)}"


def frames(cells: Sequence[Cell]) -> str:
    """Every frame of mixed songs."""
    some = where(cells, what="frames")
    if not some:
        return ""
    rows = [
        {"frames of songs": called}
        | {name: spread([cell[kind][name] for cell in some]) for name in ("accuracy", "recall", "specificity")}
        for kind, called in FRAMES.items()
    ]
    return f"All frames of mixed songs, −6 to +9 dB (%).\n\n{table(rows)}"


def found(cells: Sequence[Cell]) -> str:
    """Methods by kind of excerpt, a table a measure."""
    kinds = whats(cells)
    if not kinds:
        return ""
    first = where(cells, what=kinds[0])[0]
    heads = {what: what.removeprefix("tiles at ") for what in kinds}

    def rows(shown: Callable[[Cell, str], float]) -> str:
        lines = [
            {"explained by": row, "calls": f"{first['rows'][row]['calls']:.0f}"}
            | {heads[w]: spread([shown(cell, row) for cell in where(cells, what=w)]) for w in kinds}
            for row in first["rows"]
        ]
        return table(lines)

    pieces = []
    for measure, called in MEASURES.items():
        body = rows(lambda cell, row, measure=measure: cell["rows"][row][measure])  # type: ignore[misc]
        pieces.append(f"{called}.\n\n{body}" if measure == "hit" else likenesses.folded(called, body))
    return "\n\n".join(pieces)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """How often the heaviest tile has the voice, a panel a kind of excerpt."""
    from sections import drawing

    kinds = whats(cells)
    if not kinds:
        return
    figure, panels = drawing.panels(len(kinds), 2.8)
    for panel, what in zip(panels, kinds, strict=True):
        some = where(cells, what=what)
        names = list(some[0]["rows"])
        for y, name in enumerate(names):
            values = [cell["rows"][name]["hit"] for cell in some]
            panel.plot(values, [y] * len(values), "o", ms=3, color="0.6")
            panel.plot(np.mean(values), y, "|", ms=10, color="C3" if name == OURS else "k")
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis()
        panel.set_xlim(-0.02, 1.02)
        panel.set_title(what.removeprefix("tiles at "), fontsize=9)
    drawing.save(figure, folder / "voice.svg")
