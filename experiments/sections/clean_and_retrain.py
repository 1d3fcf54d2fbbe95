"""Words removed round by round: accuracy on the pages, by pick, beside users who know nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from clean_and_retrain import RULE
from sections.markdown import number, table
from summary import distinct, paired, where

USERS = {"knowing": "removes bad words", "shown": "removes random shown words", "any": "removes random words"}
WANTED = 0.10  # gain in three rounds


def by_path(cells: Sequence[Cell], user: str, field: str = "pages") -> dict[int, Any]:
    """A field by round, of each path: the mean over the models that a first user's removals lead to."""
    return {c["path"]: np.mean(c["users"][user][field], axis=0) for c in cells if user in c.get("users", {})}


def at(paths: dict[int, Any], number: int) -> dict[int, float]:
    """One round of each path."""
    return {path: float(values[number]) for path, values in paths.items()}


def gain(cells: Sequence[Cell], user: str) -> dict[int, float]:
    """From the first model to the last, of each path."""
    return {path: float(values[-1] - values[0]) for path, values in by_path(cells, user).items()}


def net(cells: Sequence[Cell]) -> dict[int, float]:
    """The gain beyond that of a user who removes as many random shown words."""
    own, null = gain(cells, "knowing"), gain(cells, "shown")
    return {path: own[path] - null[path] for path in own.keys() & null.keys()}


def points(values: dict[int, float], other: dict[int, float] | None = None) -> str:
    """A mean, or a mean difference, over paths in points, with its 95 % interval."""
    found = paired(values, dict.fromkeys(values, 0.0) if other is None else other)
    return "–" if found is None else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*(100 * value for value in found[:3]))


def level(values: dict[int, float]) -> str:
    found = paired(values, dict.fromkeys(values, 0.0))
    if found is None:
        return "–"
    return f"{found[0]:.1%}" + ("" if np.isnan(found[1]) else f" ± {100 * (found[2] - found[0]):.1f}")


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    pieces = [targets(good), levels(good), gains(good), words(good), ceilings(good)]
    failed = [f"* {c['rule']}, {c['pick']}, path {c['path']}: {c['error']}" for c in cells if "error" in c]
    return "\n\n".join(piece for piece in [*pieces, "\n".join(failed)] if piece)


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted on the second half of the pages, by the rule that was chosen, and whether it was found."""
    rows = []
    for rule in [RULE] if any(cell.get("half", "second") == "second" for cell in cells) else []:
        for pick in ("SP", "RP"):
            some = where(cells, rule=rule, pick=pick)
            if gain(some, "knowing"):
                mean = float(np.mean(list(gain(some, "knowing").values())))
                told = {"target": f"{rule}, {pick}: gain in three rounds", "wanted": f"≥ +{100 * WANTED:.0f}"}
                rows.append({**told, "found": points(gain(some, "knowing")), "met": _met(mean >= WANTED)})
                low = paired(net(some), dict.fromkeys(net(some), 0.0))
                told = {"target": f"{rule}, {pick}: beyond random shown words", "wanted": "> 0"}
                rows.append({**told, "found": points(net(some)), "met": _met(low is not None and low[1] > 0)})
    return table(rows) if rows else ""


def _met(met: bool) -> str:
    return "yes" if met else "**no**"


def levels(cells: Sequence[Cell]) -> str:
    """Accuracy on the pages by round, and what it cost."""
    rows = []
    for rule, pick, user in _combinations(cells):
        some = where(cells, rule=rule, pick=pick)
        paths = by_path(some, user)
        rounds = len(next(iter(paths.values())))
        models = sum(len(c["users"][user]["pages"]) for c in some)
        rows.append(
            {
                "rule": rule,
                "pick": "–" if user == "any" else pick,
                "user": USERS[user],
                **{("before" if r == 0 else f"round {r}"): level(at(paths, r)) for r in range(rounds)},
                "20NG test": f"{np.mean(list(at(by_path(some, user, 'test'), -1).values())):.1%}",
                "words": number(float(np.mean(list(at(by_path(some, user, "removed"), -1).values())))),
                "last models": str(models),
            }
        )
    return "Accuracy on the pages, ± the 95 % interval over paths:\n\n" + table(rows)


def _combinations(cells: Sequence[Cell]) -> list[tuple[str, str, str]]:
    return [
        (rule, pick, user)
        for rule in distinct(cells, "rule")
        for user in USERS
        for pick in ("SP", "RP")
        if by_path(where(cells, rule=rule, pick=pick), user) and not (user == "any" and pick == "RP")
    ]


def gains(cells: Sequence[Cell]) -> str:
    """Gains in points, gross and net, and the greedy pick against the random one, path by path."""
    rows = []
    for rule in distinct(cells, "rule"):
        sp, rp = (where(cells, rule=rule, pick=pick) for pick in ("SP", "RP"))
        measured = {
            "gain": lambda some: gain(some, "knowing"),
            "of random shown words": lambda some: gain(some, "shown"),
            "of random words": lambda some: gain(some, "any"),
            "gain beyond random shown words": net,
        }
        for name, measure in measured.items():
            both = measure(sp), measure(rp)
            if both[0] or both[1]:
                row = {"rule": rule, "points": name, "SP": points(both[0]), "RP": points(both[1])}
                rows.append({**row, "SP - RP": points(*both)})
    errors = [100 * c["page_error"] for c in cells if "page_error" in c]
    note = (
        f"\n\nThat there are so many pages and not more adds a standard error of {np.mean(errors):.1f} points to "
        "a gain, which is the same for all paths and not in these intervals."
        if errors
        else ""
    )
    return "Points from before to the last round, 95 % intervals over paths:\n\n" + table(rows) + note


def words(cells: Sequence[Cell]) -> str:
    """How many words went, and how much users agree."""
    rows = []
    for rule in distinct(cells, "rule"):
        for pick in ("SP", "RP"):
            some = [c for c in where(cells, rule=rule, pick=pick) if "words" in c]
            if some:
                total, models = Counter[str](), sum(len(c["users"]["knowing"]["pages"]) for c in some)
                for cell in some:
                    total.update(cell["words"])
                often = ", ".join(word for word, _ in total.most_common(12))
                rows.append(
                    {
                        "rule": rule,
                        "pick": pick,
                        "a path": number(sum(total.values()) / models),
                        "on half of the paths": str(sum(2 * n >= models for n in total.values())),
                        "on all": str(sum(n == models for n in total.values())),
                        "most often": often,
                    }
                )
    return "Words removed:\n\n" + table(rows) if rows else ""


def ceilings(cells: Sequence[Cell]) -> str:
    """What it gives to remove all bad words at once."""
    rows = [
        {
            "rule": c["rule"],
            "words": f"{c['users']['knowing']['removed'][0][-1]:,}",
            "pages": f"{c['users']['knowing']['pages'][0][-1]:.1%}",
            "20NG test": f"{c['users']['knowing']['test'][0][-1]:.1%}",
        }
        for c in where(cells, pick="all")
    ]
    return "Every word that the rule calls bad removed at once, shown or not:\n\n" + table(rows) if rows else ""


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(rounds(cells), folder / "clean_and_retrain.svg")


def rounds(cells: Sequence[Cell]) -> Any:
    """Accuracy on the pages by round: single paths thin, means thick with intervals; a panel a rule."""
    from sections import drawing

    rules = [rule for rule in distinct(cells, "rule") if where(cells, rule=rule, pick="SP")]
    figure, panels = drawing.panels(len(rules), 3.0)
    if len(rules) == 1:
        figure.set_size_inches(6.4, 3.4)
    for panel, rule in zip(panels, rules, strict=True):
        for pick, color, shift in (("SP", "C3", 0.03), ("RP", "C0", -0.03)):
            some = where(cells, rule=rule, pick=pick)
            for user, style in (("knowing", "-"), ("shown", "--")):
                paths = by_path(some, user)
                if not paths:
                    continue
                if user == "knowing":
                    each = [path for c in some for path in c["users"][user]["pages"]]
                    thin = {"color": color, "lw": 0.7, "alpha": float(np.clip(5 / len(each), 0.1, 0.5))}
                    panel.plot(np.array(each).T, **thin)
                told = f"{pick}, {'random shown words' if user == 'shown' else 'bad words'}"
                _mean(panel, paths, f"{color}{style}", told, shift)
        panel.set_title(f"bad: under {rule}" if rule[0].isdigit() else rule)
        panel.set_xticks(range(4))
        panel.set_xlabel("rounds")
        panel.set_ylabel("accuracy on the pages")
    drawing.key(figure, panels)
    return figure


def _mean(panel: Any, paths: dict[int, Any], style: str, told: str, shift: float) -> None:
    """The mean over paths with its interval, by round, a little aside so that others can be seen."""
    at_round = range(len(next(iter(paths.values()))))
    found = [paired(at(paths, r), dict.fromkeys(paths, 0.0)) for r in at_round]
    means = np.array([each[0] for each in found if each is not None])
    halves = np.array([each[2] - each[0] for each in found if each is not None])
    panel.errorbar(
        np.array(at_round) + shift, means, np.nan_to_num(halves), fmt=style, lw=2, capsize=3, label=told
    )
