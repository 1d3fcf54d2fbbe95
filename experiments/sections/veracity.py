"""Known causes: the tables of Praher et al. 2021 for every stand-in, beside rows that know more, and nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections import pooled
from sections.likenesses import folded
from sections.markdown import count, table, target
from summary import distinct, where

STANDINS = {
    "digits": "Spoken digits",
    "voice": "Voice in music",
    "tagger": "Music tagger (musicnn)",
    "pictures": "Small photographs",
    "photos": "Photographs (EfficientNet-Lite0)",
}
LABELS = {
    "digits": ("under five → five or more", "five or more → under five"),
    "voice": ("no voice → voice", "voice → no voice"),
    "tagger": ("no vocals → vocal", "vocal → no vocals"),
    "pictures": ("animal → machine", "machine → animal"),
}
ANYWHERE = ("CarliniWagner", "Pgd", "Spsa", "Square", "CarliniWagner, waveform", "CarliniWagner, magnitudes")
IN_ONE = ("Pgd in one part", "Square in one part")
ONE = ("noise in one part", "a shape in one part", "one part swapped")
THREE = ("noise in three", "a shape in three", "three parts swapped")
LIME, CHANGE, CONTENT, EITHER = "LIME, mean fill", "ours, change", "ours, content", "ours, either"
FREE = ("norm", "greedy", "random", "contrast", "residual")  # rows that are no explainers
BY_GRADIENTS = ("Counterfactual", "Gradient", "IntegratedGradients", "SmoothGrad")
SIGNALS = {
    "believability": "vd.believe",
    "fidelity": "held-out fidelity",
    "sureness": "its own probability",
    "margin": "margin",
}


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "rows" in cell]
    pieces = [targets(good), f"All stand-ins together, every cause with the same weight:\n\n{overview(good)}"]
    pieces.append(caused(cells))
    for name, title in STANDINS.items():
        some = where(good, standin=name)
        if some:
            pieces += [f"### {title}", setting(where(cells, standin=name)), *of_standin(some)]
    pieces += [f"### Is fidelity a sign of quality? (V4)\n\n{signals(good)}", controls(good)]
    failed = [{"cell": " ".join(str(cell[k]) for k in ("standin", "seed", "kind", "part")), "error": cell["error"]}
              for cell in cells if "error" in cell]  # fmt: skip
    return "\n\n".join([*pieces, *([folded("Cells that failed", table(failed))] if failed else [])])


def of(cells: Sequence[Cell], kinds: Sequence[str]) -> list[Cell]:
    return [cell for cell in cells if cell["kind"] in kinds]


def kinds_of(cells: Sequence[Cell], among: Sequence[str]) -> list[str]:
    there = {cell["kind"] for cell in cells}
    return [kind for kind in among if kind in there]


def setting(cells: Sequence[Cell]) -> str:
    """How good the network is, and how many seeds there are."""
    known = {cell["seed"]: cell["accuracy"] for cell in cells if "accuracy" in cell}
    ends = "" if len(known) == 1 else f" (from {min(known.values()):.1%} to {max(known.values()):.1%})"
    return f"{count(len(known), 'network')}; accuracy {np.mean(list(known.values())):.1%}{ends}."


def of_standin(cells: Sequence[Cell]) -> list[str]:
    """All tables of one stand-in."""
    pieces = []
    anywhere = of(cells, ANYWHERE)
    if anywhere:
        pieces.append(f"Table 1, share of wrong decisions that the first three parts alone bring about (flip@3):"
                      f"\n\n{by_kind(cells, ANYWHERE, 'flip@3')}")  # fmt: skip
        pieces.append(
            f"As a share of what the order by the true change (norm) flips, paired:\n\n{ratios(anywhere)}"
        )
        pieces.append(f"Found (V3): the change kept in the 1, 3 or 5 parts with most of it, where that flips:"
                      f"\n\n{found(anywhere)}")  # fmt: skip
        pieces.append(folded("Table 2, positive set: parts with positive weight, and as many by norm (flips, %)",
                             positive(cells)))  # fmt: skip
        if len(distinct(anywhere, "seed")) > 1:
            pieces.append(folded("Flips of norm, by network", by_seed(anywhere)))
        pieces.append(folded("Found, as counts: parts among the first k, and how often", counts(anywhere)))
        pieces += [folded(f"{name} (%)", by_kind(cells, ANYWHERE, test)) for test, name in MORE.items()]
        pieces += directions(cells)
    if of(cells, (*IN_ONE, *ONE)):
        pieces.append(f"One guilty part, known: how often it is the heaviest (%):"
                      f"\n\n{by_kind(cells, (*IN_ONE, *ONE), 'hit@1')}")  # fmt: skip
        shapes = by_kind(cells, [kind for kind in (*ONE, *THREE) if "shape" in kind], "top 3")
        pieces.append(folded("Obvious causes (V1): drawn parts among the three heaviest (%)", shapes))
    if of(cells, THREE):
        pieces.append(f"Several guilty parts: their share among as many heaviest ones (%):"
                      f"\n\n{by_kind(cells, THREE, 'overlap')}")  # fmt: skip
    return pieces


MORE = {
    "flip@5": "Flips of five parts",
    "necessity@3": "Necessity: decisions that are taken back when the change in the first three parts is undone",
}


def by_kind(cells: Sequence[Cell], kinds: Sequence[str], test: str, before: str | None = None) -> str:
    """A row a line, a kind of cause a column."""
    lines = []
    for row in pooled.rows_of(cells):
        line: dict[str, Any] = {"": row}
        for kind in kinds_of(cells, kinds):
            line[kind] = percent(pooled.values(of(cells, [kind]), row, test, before))
        lines.append(line)
    sizes = {"": "*causes*"}
    for kind in kinds_of(cells, kinds):
        known = pooled.values(of(cells, [kind]), "norm", test, before)
        sizes[kind] = f"*{int(np.isfinite(known).sum())}*"
    return table([*lines, sizes])


def percent(values: Any) -> str:
    mean, half, n = pooled.mean(values)
    return "–" if not n else f"{100 * mean:.0f}" + ("" if np.isnan(half) else f" ± {100 * half:.0f}")


def ratios(cells: Sequence[Cell]) -> str:
    """Of what the norm order flips; and the mean over k of every row."""
    lines = []
    for row in pooled.rows_of(cells):
        line = {"": row}
        for k in (3, 5):
            line[f"k = {k}"] = ratio(cells, row, k)
        curve = pooled.curve(cells, row)
        line["mean over k, %"] = f"{100 * curve[1:].mean():.1f}" if len(curve) else "–"
        calls = [cell["rows"][row]["calls"] for cell in cells if "calls" in cell["rows"].get(row, {})]
        line["calls"] = f"{np.mean(calls):.0f}" if calls else ""
        lines.append(line)
    return table(lines)


def of_norm(cells: Sequence[Cell], row: str, k: int) -> tuple[float, float, float]:
    test = f"flip@{k}"
    return pooled.ratio(pooled.values(cells, row, test), pooled.values(cells, "norm", test))


def ratio(cells: Sequence[Cell], row: str, k: int) -> str:
    value, low, high = of_norm(cells, row, k)
    return "–" if np.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"


def by_seed(cells: Sequence[Cell]) -> str:
    """Ratios to the norm order of each network."""
    lines = []
    for row in (LIME, CHANGE, CONTENT, EITHER, "Counterfactual"):
        for k in (3, 5):
            ratios = {seed: of_norm(where(cells, seed=seed), row, k)[0] for seed in distinct(cells, "seed")}
            known = [each for each in ratios.values() if np.isfinite(each)]
            line = {"": f"{row}, k = {k}"} | {f"seed {seed}": f"{each:.2f}" for seed, each in ratios.items()}
            lines.append(line | {"mean ± sd": f"{np.mean(known):.2f} ± {np.std(known, ddof=1):.2f}"})
    return table(lines)


def found(cells: Sequence[Cell]) -> str:
    """Hits at one part, overlaps at three and five; the counts are in the last line."""
    tests = {"hit@1": "hit, k = 1", "overlap@3": "overlap, k = 3", "overlap@5": "overlap, k = 5"}
    lines = []
    for row in pooled.rows_of(cells):
        lines.append({"": row} | {name: percent(pooled.values(cells, row, test)) for test, name in tests.items()})
    sizes = {name: f"*{pooled.mean(pooled.values(cells, 'norm', test))[2]}*" for test, name in tests.items()}
    return table([*lines, {"": "*causes*"} | sizes])


def counts(cells: Sequence[Cell]) -> str:
    """How many of the k parts with the change are among the first k, and how often, as the paper shows it."""
    lines = []
    for row in (LIME, CHANGE, CONTENT, EITHER, "random"):
        line = {"": row}
        for k, test in ((1, "hit@1"), (3, "overlap@3"), (5, "overlap@5")):
            known = pooled.values(cells, row, test)
            parts = np.rint(k * known[np.isfinite(known)]).astype(int)
            line[f"k = {k}"] = " ".join(f"{n}:{int(np.sum(parts == n))}" for n in range(k, -1, -1))
        lines.append(line)
    return table(lines)


def overview(cells: Sequence[Cell]) -> str:
    """Every row over all stand-ins."""
    lines = []
    for row in pooled.rows_of(cells):
        line: dict[str, Any] = {"": row}
        anywhere = of(cells, ANYWHERE)
        line |= {f"flips of norm, k = {k}": ratio(anywhere, row, k) for k in (3, 5)}
        for name, (kinds, test) in GROUPS.items():
            line[name] = percent(pooled.values(of(cells, kinds), row, test))
        lines.append(line)
    return table(lines)


GROUPS = {
    "kept in one part, hit": (ANYWHERE, "hit@1"),
    "kept in three, overlap": (ANYWHERE, "overlap@3"),
    "small change in one part, hit": (IN_ONE, "hit@1"),
    "noise or shape in one, hit": (ONE[:2], "hit@1"),
    "swap in one, hit": (ONE[2:], "hit@1"),
    "noise or shape in three, overlap": (THREE[:2], "overlap"),
    "swap in three, overlap": (THREE[2:], "overlap"),
}


def positive(cells: Sequence[Cell]) -> str:
    """Of both, by kind."""
    lines = []
    for row in pooled.rows_of(cells):
        line = {"": row}
        for kind in kinds_of(cells, ANYWHERE):
            some = of(cells, [kind])
            both = [pooled.mean(pooled.values(some, row, test)) for test in ("positive set", "as many by norm")]
            line[kind] = " / ".join(f"{100 * mean:.0f}" for mean, _, n in both if n) or "–"
        lines.append(line)
    return table(lines)


def directions(cells: Sequence[Cell]) -> list[str]:
    """Table 1 again, by the label before the change."""
    names = LABELS.get(cells[0]["standin"], ())
    return [
        folded(f"Table 1, {name}", by_kind(cells, ANYWHERE, "flip@3", str(label)))
        for label, name in enumerate(names)
    ]


def caused(cells: Sequence[Cell]) -> str:
    """How often an attack or an edit brought the wrong decision about."""
    some = [cell for cell in cells if "tried" in cell]
    lines = []
    for kind in kinds_of(some, (*ANYWHERE, *IN_ONE, *ONE, *THREE)):
        line = {"kind of cause": kind}
        for name, title in STANDINS.items():
            here = where(some, standin=name, kind=kind)
            tried, n = sum(cell["tried"] for cell in here), sum(cell["caused"] for cell in here)
            line[title] = f"{n} of {tried}" if tried else ""
        lines.append(line)
    return f"Wrong decisions caused, of those tried; the others are left out below:\n\n{table(lines)}"


def signals(cells: Sequence[Cell]) -> str:
    """AUROC of what an explanation says of itself, for right against wrong at one part."""
    some = of(cells, (*ANYWHERE, *IN_ONE, *ONE))
    lines = []
    groups = {"all": some} | {title: where(some, standin=name) for name, title in STANDINS.items()}
    for row in (LIME, "KernelSHAP", CONTENT, CHANGE, EITHER):
        for title, here in groups.items():
            right = pooled.values(here, row, "hit@1")
            line: dict[str, Any] = {"": row, "on": title}
            line |= {"right": int(np.nansum(right)), "wrong": int(np.nansum(1 - right))}
            for signal, name in SIGNALS.items():
                value, error, *_ = pooled.area(pooled.values(here, row, signal), right)
                line[name] = "–" if np.isnan(value) else f"{value:.2f} ± {1.96 * error:.2f}"
            if here:
                lines.append(line)
    return table(lines)


def controls(cells: Sequence[Cell]) -> str:
    """Rank correlations with the explanation of the clean instance, and of another seed."""
    lines = []
    for row in pooled.rows_of(cells):
        line = {"": row}
        for test, name in (("clean control", "before the change"), ("seed control", "another seed")):
            mean, half, n = pooled.mean(pooled.known(cells, row, test))
            line[name] = "–" if not n else f"{mean:.2f} ± {half:.2f}"
        if row not in FREE:
            lines.append(line)
    return folded("Controls: rank correlation with other explanations by the same method", table(lines))


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted and found."""
    anywhere = of(cells, ANYWHERE)
    lines = [*_of_the_paper(anywhere), *_of_small_changes(cells, anywhere), *_of_content(cells)]
    return table([*lines, *_of_either(cells), *_of_belief(cells), *_of_calls(cells)])


def _of_the_paper(cells: Sequence[Cell]) -> list[dict[str, str]]:
    lines = []
    for told, kinds in (("the attack of the paper", ANYWHERE[:1]), ("all attacks", ANYWHERE)):
        for name in [each for each in STANDINS if where(cells, standin=each)]:
            some = of(where(cells, standin=name), kinds)
            three, low, high = of_norm(some, LIME, 3)
            curves = [pooled.curve(some, row) for row in (LIME, "norm")]
            means = [float(curve[1:].mean()) if len(curve) else float("nan") for curve in curves]
            n = pooled.mean(pooled.values(some, LIME, "flip@3"))[2]
            said = f"{three:.2f} [{low:.2f}, {high:.2f}]; {100 * means[0]:.0f} and {100 * means[1]:.0f} % ({n})"
            what = f"{STANDINS[name]}, {told}: LIME under norm at k = 3, and in mean over k"
            lines.append(target(what, "ratio under 1, less", said, three < 1 and means[0] < means[1]))
    return lines


LOCAL = (
    (CHANGE, "hit@1", 0.9, "", (*ANYWHERE, *IN_ONE)),
    (EITHER, "hit@1", 0.9, "", (*ANYWHERE, *IN_ONE)),
    (CHANGE, "overlap@3", 0.85, "", ANYWHERE),
    (CHANGE, "overlap@3", 0.85, ", attacks by gradients in the input", ANYWHERE[:2]),
    (CHANGE, "overlap@3", 0.85, ", attacks by asking", ANYWHERE[2:4]),
)


def _of_small_changes(cells: Sequence[Cell], anywhere: Sequence[Cell]) -> list[dict[str, str]]:
    lines = []
    for told, kinds in (("", ANYWHERE), (", the attack of the paper", ANYWHERE[:1])):
        for k, least in ((3, 0.85), (5, 0.95)):
            value, low, high = of_norm(of(cells, kinds), CHANGE, k)
            lines.append(target(f"small changes, predict only: {CHANGE}, flips of norm at k = {k}{told}",
                                f"≥ {least}", f"{value:.2f} [{low:.2f}, {high:.2f}]", value >= least))  # fmt: skip
    for row, test, least, told, kinds in LOCAL:
        mean, half, n = pooled.mean(pooled.values(of(cells, kinds), row, test))
        lines.append(target(f"small changes, predict only: {row}, {test}{told}", f"≥ {least}",
                            f"{mean:.3f} ± {half:.3f} ({n})", mean >= least))  # fmt: skip
    for k in (3, 5):
        row, value = pooled.best(BY_GRADIENTS, lambda row, k=k: of_norm(anywhere, row, k)[0])
        _, low, high = of_norm(anywhere, row, k)
        lines.append(target(f"small changes, with gradients: flips of norm at k = {k}", "≥ 1",
                            f"{value:.2f} [{low:.2f}, {high:.2f}] ({row})", value >= 1))  # fmt: skip
    return lines


def _of_content(cells: Sequence[Cell]) -> list[dict[str, str]]:
    lines, explainers = [], [row for row in pooled.rows_of(cells) if row not in FREE]
    for kinds, test, least in ((ONE[:2], "hit@1", 0.95), (THREE[:2], "overlap", 0.8), (ONE[2:], "hit@1", None),
                               (THREE[2:], "overlap", None)):  # fmt: skip
        mean, half, n = pooled.mean(pooled.values(of(cells, kinds), CONTENT, test))
        row, most = pooled.best(explainers, lambda row, kinds=kinds, test=test: pooled.mean(
            pooled.values(of(cells, kinds), row, test))[0])  # fmt: skip
        wanted, met = (f"≥ {least}", mean >= least) if least else (f"the best: {most:.2f} ({row})", mean >= most)
        lines.append(target(f"content ({', '.join(kinds)}): {CONTENT}, {test}", wanted,
                            f"{mean:.2f} ± {half:.2f} ({n})", met))  # fmt: skip
    return lines


SPECIAL = (
    ("small changes", (*ANYWHERE, *IN_ONE), "hit@1"),
    ("small changes", ANYWHERE, "overlap@3"),
    ("content", ONE, "hit@1"),
    ("content", THREE, "overlap"),
)


def _of_either(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """The default for an unknown purpose beside the best specialist, in points."""
    lines = []
    for name, kinds, test in SPECIAL:
        some = of(cells, kinds)
        means = {row: pooled.mean(pooled.values(some, row, test))[0] for row in (CHANGE, CONTENT, EITHER)}
        best = max(means[CHANGE], means[CONTENT])
        gap = 100 * (best - means[EITHER])
        lines.append(target(f"unknown purpose, {name}: {EITHER}, {test}", f"at most 5 points under {best:.2f}",
                            f"{means[EITHER]:.2f} ({abs(gap):.1f} points {'over' if gap < 0 else 'under'})",
                            gap <= 5))  # fmt: skip
    return lines


def _of_belief(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Whether vd.believe tells right from wrong, with fidelity beside it."""
    some, lines = of(cells, (*ANYWHERE, *IN_ONE, *ONE)), []
    for row in (LIME, EITHER):
        right = pooled.values(some, row, "hit@1")
        area, error, yes, no = pooled.area(pooled.values(some, row, "believability"), right)
        fidelity = pooled.area(pooled.values(some, row, "fidelity"), right)[0]
        beside = "" if np.isnan(fidelity) else f"; fidelity alone {fidelity:.2f}"
        said = f"{area:.2f} ± {1.96 * error:.2f} ({yes} right, {no} wrong){beside}"
        what = f"believability of {row}, networks and seeds new to it, kinds of causes not: AUROC"
        lines.append(target(what, "≥ 0.9", said, area >= 0.9))
    return lines


def _of_calls(cells: Sequence[Cell]) -> list[dict[str, str]]:
    calls = [cell["rows"][EITHER]["calls"] for cell in cells if "calls" in cell["rows"].get(EITHER, {})]
    most = max(calls, default=0)
    return [target(f"calls of {EITHER} on 20 parts", "≤ 600", f"{most}", 0 < most <= 600)]


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import causes

    causes.draw([cell for cell in cells if "rows" in cell], folder)
