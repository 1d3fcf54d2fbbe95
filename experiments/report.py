"""Put tables of results/*.json into README.md here, between its marks, and figures beside the JSON files."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import FOLDER, Cell
from summary import OURS, by_split, distinct, mean_sd, paired, where

README = Path(__file__).parent / "README.md"
TITLES = {
    "auto": "AutoMPG",
    "wine": "Wine",
    "communities": "Communities",
    "communities-dense": "Communities, not sparse",
    "newsgroups": "20 newsgroups",
    "subjectivity": "Subjectivity",
    "polarity": "Polarity",
}
# what issue and card ask of our method: error at most, and at most so many times GIME's
WANTED = {
    "wine": (0.205, 0.92),
    "auto": (0.122, 0.88),
    "communities": (0.235, 0.90),
    "communities-dense": (0.19, None),
}
RIVALS = ("lime", "etc", "cte", "maple")  # of the texts
DETAILS = {
    "hindsight": "ceiling",
    "calls_a_row": "calls a row",
    "seconds": "seconds",
    "model_seconds": "of these the model",
    "line_features": "features of an explanation, most",
    "region_features": "of a region, most",
    "groups_used": "groups used",
}


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "(nothing)"
    heads = list(rows[0])
    cells = [heads, *[[str(row.get(head, "")) for head in heads] for row in rows]]
    widths = [max(len(line[j]) for line in cells) for j in range(len(heads))]

    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(v.ljust(w) for v, w in zip(values, widths, strict=True)) + " |"

    return "\n".join([line(heads), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(line, cells[1:])])


def spread(cells: Sequence[Cell], field: str = "rmse", digits: int = 3) -> str:
    """Mean ± standard deviation of a field over splits."""
    values = list(by_split(cells, field).values())
    if not values:
        return "failed" if cells else "–"
    mean, sd = mean_sd(values)
    some = "" if len(values) == len(cells) else f" ({len(values)} of {len(cells)})"
    return (f"{mean:.{digits}f}" if np.isnan(sd) else f"{mean:.{digits}f} ± {sd:.{digits}f}") + some


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def fidelity(cells: Sequence[Cell], field: str) -> str:
    """Methods by sets."""
    having = [name for name in distinct(cells, "set") if any(field in c for c in where(cells, set=name))]
    rows = [
        {"method": m, **{TITLES[s]: spread(where(cells, set=s, method=m), field) for s in having}}
        for m in distinct(cells, "method")
    ]
    if field == "rmse":
        ours = {TITLES[s]: spread(where(cells, set=s, method=OURS), "hindsight") for s in having}
        rows.append({"method": f"*{OURS}, best of its groups in hindsight*", **ours})
        for key, told in (("constant", "*a constant*"), ("model", "*the model itself, on the target*")):
            rows.append({"method": told, **{TITLES[s]: _once(where(cells, set=s), key) for s in having}})
    return table(rows)


def _once(cells: Sequence[Cell], field: str) -> str:
    """A field that does not depend on the method."""
    return spread(list({cell["split"]: cell for cell in cells if field in cell}.values()), field)


def differences(cells: Sequence[Cell], field: str) -> str:
    """Our method minus each other one, over the same splits."""
    having = [name for name in distinct(cells, "set") if any(field in c for c in where(cells, set=name))]
    rows = []
    for method in distinct(cells, "method"):
        if method == OURS:
            continue
        row = {f"{OURS} minus": method}
        for name in having:
            ours, other = (by_split(where(cells, set=name, method=m), field) for m in (OURS, method))
            found = paired(ours, other)
            row[TITLES[name]] = "–" if found is None else f"{found[0]:+.3f} [{found[1]:+.3f}, {found[2]:+.3f}]"
        rows.append(row)
    return table(rows)


def details(cells: Sequence[Cell]) -> str:
    """What each fit cost and used, means over splits."""
    rows = []
    for name in distinct(cells, "set"):
        for method in distinct(cells, "method"):
            some = [c for c in where(cells, set=name, method=method) if "rmse" in c]
            if some:
                means = {told: number(float(np.mean([c[key] for c in some]))) for key, told in DETAILS.items()}
                rows.append({"set": TITLES[name], "method": method, **means})
    failed = [f"* {c['set']}, split {c['split']}, {c['method']}: {c['error']}" for c in cells if "error" in c]
    whole = f"<details><summary>Costs, ceilings and sparsity</summary>\n\n{table(rows)}\n\n</details>"
    return whole + ("\n\nFailed:\n\n" + "\n".join(failed) if failed else "")


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted of our method, and whether it was found."""
    rows = []
    for name, (most, times) in WANTED.items():
        ours = by_split(where(cells, set=name, method=OURS), "rmse")
        if not ours:
            continue
        mean = float(np.mean(list(ours.values())))
        rows.append(_target(f"{TITLES[name]}: error", f"≤ {most}", f"{mean:.3f}", mean <= most))
        gime = by_split(where(cells, set=name, method="gime"), "rmse")
        if times is not None and gime.keys() >= ours.keys():
            ratio = mean / float(np.mean([gime[split] for split in ours]))
            rows.append(_target(f"{TITLES[name]}: times GIME's", f"≤ {times}", f"{ratio:.3f}", ratio <= times))
    for name in distinct(cells, "set"):
        rows += _ahead(where(cells, set=name), name)
    wine = list(by_split(where(cells, set="wine", method=OURS), "seconds").values())
    if wine:
        rows.append(_target("Wine: seconds of a fit, most", "≤ 20", f"{max(wine):.1f}", max(wine) <= 20))
    return table(rows)


def _ahead(cells: Sequence[Cell], name: str) -> list[dict[str, str]]:
    """Is our mean the best of all (tables), or of the paper's baselines (texts), by error and by accuracy?"""
    rows = []
    text = any("accuracy" in cell for cell in cells)
    rivals = [m for m in distinct(cells, "method") if m != OURS and (not text or m in RIVALS)]
    for field, sign in (("rmse", 1), ("accuracy", -1)):
        ours = by_split(where(cells, method=OURS), field)
        gaps = {m: paired(ours, by_split(where(cells, method=m), field)) for m in rivals}
        known = {m: sign * gap[0] for m, gap in gaps.items() if gap is not None}
        if ours and known:
            closest = max(known, key=lambda m: known[m])
            low, high = gaps[closest][1:3]  # type: ignore[index]
            told = f"{closest}, {sign * known[closest]:+.3f} [{low:+.3f}, {high:+.3f}]"
            what = f"{TITLES[name]}: {'error' if field == 'rmse' else 'accuracy'} against the closest"
            rows.append(_target(what, "ahead", told, known[closest] < 0))
    return rows


def _target(what: str, wanted: str, found: str, met: bool) -> dict[str, str]:
    return {"target": what, "wanted": wanted, "found": found, "met": "yes" if met else "**no**"}


def heading(record: Mapping[str, Any]) -> str:
    """How it was run, and on what."""
    made = record["environment"]
    packages = ", ".join(f"{p} {made[p]}" for p in ("veridical", "numpy", "scikit-learn"))
    commands = "\n".join(record["commands"])
    machine = f"{made['cpu']}, {made['cores']} cores, Python {made['python']}"
    return f"```\n{commands}\n```\n\n{record['date']}; {packages}; {machine}."


def gime_tables(record: Mapping[str, Any]) -> str:
    cells = record["cells"]
    text = any("accuracy" in cell for cell in cells)
    pieces = [heading(record), targets(cells), "Error:", fidelity(cells, "rmse"), differences(cells, "rmse")]
    if text:
        pieces += ["Accuracy:", fidelity(cells, "accuracy"), differences(cells, "accuracy")]
    return "\n\n".join([*pieces, details(cells)])


def gime_ks(record: Mapping[str, Any]) -> str:
    cells, pieces = record["cells"], [heading(record)]
    for name in distinct(cells, "set"):
        rows = []
        for k in distinct(where(cells, set=name), "k"):
            found = {m: spread(where(cells, set=name, k=k, method=m)) for m in distinct(cells, "method")}
            rows.append({TITLES[name] + ", groups": str(k), **found})
        pieces.append(table(rows))
    return "\n\n".join(pieces)


def gime_toy(record: Mapping[str, Any]) -> str:
    cells, rows = record["cells"], []
    for variant in distinct(cells, "variant"):
        for d in distinct(cells, "d"):
            for method in distinct(cells, "method"):
                some = where(cells, variant=variant, d=d, method=method)
                ratios, assigned = (list(by_split(some, f).values()) for f in ("ratio", "assigned"))
                if ratios:
                    right = float(np.mean(ratios)) <= 1.10 and float(np.mean(assigned)) > 0.97
                    fields = {"error / oracle's": "ratio", "at x": "at_x", "assigned": "assigned"}
                    found = {told: spread(some, field) for told, field in fields.items()}
                    head = {"variant": variant, "d": str(d), "method": method}
                    rows.append({**head, **found, "≤ 1.10 and > 0.97": "yes" if right else "no"})
    return "\n\n".join([heading(record), table(rows)])


def gime_scale(record: Mapping[str, Any]) -> str:
    keys = {"method": "method", "rows": "rows", "seconds": "seconds", "extra_mb": "extra MB", "rmse": "error"}
    rows = [
        {told: number(c[key]) if isinstance(c[key], float) else str(c[key]) for key, told in keys.items()}
        for c in record["cells"]
        if "error" not in c
    ]
    return "\n\n".join([heading(record), table(rows)])


def sp_lime_scale(record: Mapping[str, Any]) -> str:
    timed, real = [], []
    for cell in record["cells"]:
        if "error" in cell:
            continue
        if "greedy" not in cell:
            told = {"explanations": cell["what"], "n": f"{cell['n']:,}", "parts": f"{cell['parts']:,}"}
            timed.append({**told, "seconds": number(cell["seconds"]), "covered": f"{cell['share']:.1%}"})
            continue
        for budget in (1, 5, 10, 20, 50):
            at = budget - 1
            told = {"set": cell["what"], "n": f"{cell['n']:,}", "parts": f"{cell['parts']:,}", "budget": budget}
            random = f"{cell['random'][at]:.1%} ± {cell['random_sd'][at]:.1%}"
            same = "yes" if cell["same_as_plain"] and cell["same_coverage"] else "**no**"
            real.append(
                {**told, "greedy": f"{cell['greedy'][at]:.1%}", "at random": random, "as the plain pick": same}
            )
    failed = [f"* {c['what']} {c['n']}: {c['error']}" for c in record["cells"] if "error" in c]
    return "\n\n".join([heading(record), *(table(t) for t in (timed, real) if t), *failed])


SECTIONS = {
    "gime_tables": gime_tables,
    "gime_ks": gime_ks,
    "gime_toy": gime_toy,
    "gime_scale": gime_scale,
    "sp_lime_scale": sp_lime_scale,
}


FIGURES = {"gime_tables": ("", "-coverage"), "gime_ks": ("",), "sp_lime_scale": ("",)}


def links(name: str, experiment: str) -> str:
    """The figures of a file that were drawn."""
    files = [f"{name}{tail}.svg" for tail in FIGURES.get(experiment, ())]
    return "".join(f"\n\n![{Path(f).stem}](results/{f})" for f in files if (FOLDER / f).exists())


def put(text: str, name: str, body: str) -> str:
    """The text with something else between the marks of that name."""
    marks = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
    if not marks.search(text):
        raise SystemExit(f"README.md has no <!-- {name} --> … <!-- /{name} --> for {name}.json: add them")
    return marks.sub(lambda _: f"<!-- {name} -->\n{body}\n<!-- /{name} -->", text)


def main(settings: argparse.Namespace) -> None:
    records = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
    if not settings.no_figures:
        import figures  # only here: it needs matplotlib

        figures.draw(records, FOLDER)
    text = README.read_text(encoding="utf-8")
    for name, record in records.items():
        kind = record["experiment"]
        text = put(text, name, SECTIONS[kind](record) + links(name, kind))
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--no-figures", action="store_true", help="tables alone, without matplotlib")
    main(parser.parse_args())
