"""Who chooses the better of two forests, by how many explanations were seen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from reviews import DOMAINS
from sections.markdown import number, table
from summary import where

BOTH = "both"
WHO = {
    "sp": "SP-LIME",
    "rp": "RP-LIME",
    "plain_sp": "SP-LIME, certain or not",
    "plain_rp": "RP-LIME, certain or not",
    "greedy_sp": "SP-greedy",
    "greedy_rp": "RP-greedy",
}
COLORS = {"sp": "C3", "rp": "C0", "greedy_sp": "C1", "greedy_rp": "C7"}
ENDS = {
    "all": "LIME, all shown",
    "plain_all": "certain or not, all shown",
    "greedy_all": "greedy, all shown",
    "oracle": "oracle",
}
SHOWN = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30)  # budgets of the table
EARLY = slice(3, 6)  # budgets 3 to 5
LATE = slice(5, None)  # and from 5 on
WANTED = {"gap": 8.0, "ceiling": -3.0, "planted": 95.0, "rounds": 200}  # by the issue and the card


def tables(cells: Sequence[Cell]) -> str:
    done = played(cells)
    failed = [f"* {c['domain']}, {c['pair']} {c['round']}: {c['error']}" for c in cells if "error" in c]
    found = where(done, pair="found")
    pieces = [table(rows) for rows in (targets(cells), shares(found), ends(found), rounds(cells)) if rows]
    return "\n\n".join([*pieces, *failed])


def played(cells: Sequence[Cell]) -> list[Cell]:
    """Rounds in which there was a pair."""
    return [cell for cell in cells if "error" not in cell and not cell["skipped"]]


def curve(cells: Sequence[Cell], name: str) -> Any:
    """Percent right, (rounds, budgets), of the rounds in which it was measured."""
    return np.array([[float(value) for value in cell[name].split()] for cell in cells if name in cell])


def mean_error(values: Any) -> tuple[Any, Any]:
    """Mean over rounds, and its standard error; nan where one round cannot tell."""
    n = len(values)
    error = np.std(values, axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(np.shape(values)[1:], np.nan)
    return np.mean(values, axis=0), error


def parts(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The rounds of each domain, and all of them where there are several."""
    each = {domain: where(cells, domain=domain) for domain in DOMAINS}
    there = {domain: some for domain, some in each.items() if some}
    return {**there, BOTH: list(cells)} if len(there) > 1 else there


def title(domain: str) -> str:
    return DOMAINS.get(domain, "Both")


def shares(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """Percent right by budget, with standard errors over rounds."""
    rows = []
    for domain, some in parts(cells).items():
        for name, told in WHO.items():
            values = curve(some, name)
            if len(values):
                means, errors = mean_error(values)
                row = {"right, %": title(domain), "shown by": told, "rounds": str(len(values))}
                rows.append({**row, **{str(b): pair(means[b], errors[b]) for b in SHOWN}})
    return rows


def ends(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """What there is to reach: who is shown everything, and who asks the forests themselves."""
    rows = []
    for domain, some in parts(cells).items():
        row = {"right, %": title(domain)}
        for name, told in ENDS.items():
            values = curve(some, name)
            row[told] = pair(*mean_error(values[:, 0])) if len(values) else "–"
        row["SP − RP at 3 to 5"] = pair(*mean_error(early(some)))
        row["certain or not"] = pair(*mean_error(early(some, "plain_")))
        both = [cell for cell in some if "greedy_sp" in cell]
        if both:
            ahead = curve(both, "sp")[:, 1:].mean(axis=1) - curve(both, "greedy_sp")[:, 1:].mean(axis=1)
            row["SP-LIME − SP-greedy, 1 to 30"] = pair(*mean_error(ahead))
        row["mistrusted of the better and the other"] = between(some, "mistrusted")
        row["really flip"] = between(some, "flips")
        rows.append(row)
    return rows


def early(cells: Sequence[Cell], kind: str = "") -> Any:
    """SP minus RP at budgets 3 to 5 in each round."""
    return (curve(cells, f"{kind}sp") - curve(cells, f"{kind}rp"))[:, EARLY].mean(axis=1)


def pair(mean: float, error: float) -> str:
    return f"{mean:.1f}" if np.isnan(error) else f"{mean:.1f} ± {error:.1f}"


def between(cells: Sequence[Cell], name: str) -> str:
    first, second = np.mean([cell[name] for cell in cells], axis=0)
    return f"{first:.1f}, {second:.1f}"


def rounds(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """What the rounds were, and what they took."""
    rows = []
    for kind in ("found", "planted"):
        for domain in DOMAINS:
            tried = [c for c in where(cells, pair=kind, domain=domain) if "error" not in c]
            if not tried:
                continue
            some = played(tried)
            row = {"pairs": f"{kind}, {title(domain)}", "rounds": str(len(some))}
            row["skipped"] = str(len(tried) - len(some))
            row["forests tried"] = number(float(np.mean([c["tried"] for c in tried])))
            if some:
                row["points apart on the test"] = number(100 * float(np.mean([c["gap"] for c in some])))
                for what in ("search", "explain"):
                    row[f"seconds to {what}"] = number(float(np.mean([c["seconds"][what] for c in some])))
            rows.append(row)
    return rows


def targets(cells: Sequence[Cell]) -> list[dict[str, str]]:
    """What was asked for, and what was found."""
    done = played(cells)
    found, planted = where(done, pair="found"), where(done, pair="planted")
    rows = []
    if found:
        least = min(len(where(found, domain=domain)) for domain in DOMAINS)
        rows.append(line("rounds a domain", f"≥ {WANTED['rounds']}", str(least), least >= WANTED["rounds"]))
        mean, error = mean_error(early(found))
        told = "SP − RP at budgets 3 to 5, both domains, points"
        rows.append(line(told, f"≥ {WANTED['gap']:.0f}", pair(mean, error), mean >= WANTED["gap"]))
        behind, errors = mean_error((curve(found, "sp") - curve(found, "all"))[:, LATE])
        worst = int(np.argmin(behind))
        told = f"SP − all shown, the worst of budgets {LATE.start} to 30, points"
        met = behind[worst] >= WANTED["ceiling"]
        rows.append(line(told, f"≥ {WANTED['ceiling']:.0f}", pair(behind[worst], errors[worst]), met))
    if planted:
        mean, error = mean_error(curve(planted, "sp")[:, 10])
        told = "planted pairs: SP right at budget 10, %"
        rows.append(line(told, f"≥ {WANTED['planted']:.0f}", pair(mean, error), mean >= WANTED["planted"]))
    return rows


def line(target: str, wanted: str, found: str, met: bool) -> dict[str, str]:
    return {"target": target, "wanted": wanted, "found": found, "met": "yes" if met else "**no**"}


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    found = where(played(cells), pair="found")
    if found:
        drawing.save(choices(found), folder / "model_choice.svg")


def choices(cells: Sequence[Cell]) -> Any:
    """A panel a domain, as in Figure 8, and one for both: percent right by budget, with 95 % intervals."""
    from sections import drawing

    each = parts(cells)
    figure, panels = drawing.panels(len(each), 2.9)
    for panel, (domain, some) in zip(panels, each.items(), strict=True):
        for name in COLORS:
            values = curve(some, name)
            if len(values):
                means, errors = mean_error(values)
                budget, half = np.arange(len(means)), 1.96 * np.nan_to_num(errors)
                panel.plot(budget, means, color=COLORS[name], lw=2 if name == "sp" else 1.2, label=WHO[name])
                panel.fill_between(budget, means - half, means + half, color=COLORS[name], alpha=0.15, lw=0)
        for name, style, told in (("all", "--", "LIME, all shown"), ("oracle", ":", "oracle: asks the forests")):
            panel.axhline(curve(some, name).mean(), color="0.3", ls=style, lw=1, label=told)
        panel.set_title(f"{title(domain)}, {len(some)} rounds")
        panel.set_xlabel("explanations seen by the user")
        panel.set_ylabel("% right")
        panel.set_ylim(45, 90)
    drawing.key(figure, panels)
    return figure
