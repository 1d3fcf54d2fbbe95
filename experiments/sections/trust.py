"""Trust in predictions: Table 1 of the LIME paper, and what it does not tell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cells import Cell
from review_models import TRUSTED
from reviews import DOMAINS
from sections.markdown import count, number, percent, table, target
from summary import over_splits, where
from trust import NULLS, USERS

OURS = "ours"
PUBLISHED = {  # F1 of trust in percent: LR, NN, RF, SVM of books, then of DVDs
    "random": (14.6, 14.8, 14.7, 14.7, 14.2, 14.3, 14.5, 14.4),
    "parzen": (84.0, 87.6, 94.3, 92.3, 87.0, 81.7, 94.2, 87.3),
    "greedy": (53.7, 47.4, 45.0, 53.3, 52.4, 58.1, 46.6, 55.1),
    "LIME": (96.6, 94.5, 96.2, 96.7, 96.6, 91.8, 96.1, 95.6),
}
PLACES = [(domain, model) for domain in DOMAINS for model in TRUSTED]
SCORES = {"f1": "F1 of trust", "mistrust_f1": "F1 of mistrust", "balanced_accuracy": "balanced accuracy"}
LEAST = 90.0  # F1 of mistrust that is wanted for LR and SVM


def tables(cells: Sequence[Cell]) -> str:
    pieces = [targets(cells)]
    for field, told in SCORES.items():
        pieces += [f"{told[0].upper()}{told[1:]}, %:", scores(cells, field)]
    failed = [
        f"* {c['domain']}, {c['model']}, split {c['split']}, {c['user']}: {c['error']}"
        for c in cells
        if "error" in c
    ]
    return "\n\n".join([*pieces, costs(cells), *(["Failed:\n\n" + "\n".join(failed)] if failed else [])])


def scores(cells: Sequence[Cell], field: str) -> str:
    """Users by models."""
    places = [place for place in PLACES if where(cells, domain=place[0], model=place[1])]

    def line(user: str, name: str, shown: str = field, digits: int = 1) -> dict[str, Any]:
        found = {
            title(place): percent(where(cells, domain=place[0], model=place[1], user=user), shown, digits)
            for place in places
        }
        return {"user": name, **found}

    rows = [line(user, user) for user in (*NULLS, *USERS) if where(cells, user=user)]
    if field == "f1":
        for user, known in PUBLISHED.items():
            told = {title(p): v for p, v in zip(PLACES, known, strict=True) if p in places}
            rows.append({"user": f"*{user}, published*", **told})
        rows.append(line("everything", "*share that can be trusted*", "share"))
    if field == "mistrust_f1":
        rows.append(line("ours", "*of the model explained by ours*", "fidelity", 0))
        rows.append(line("ours", "*explanations of log odds*", "odds", 0))
    return table(rows)


def title(place: tuple[str, str]) -> str:
    return f"{DOMAINS[place[0]]}, {place[1]}"


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted of our user, and whether it was found."""
    rows = []
    for i, (domain, model) in enumerate(PLACES):
        some = where(cells, domain=domain, model=model, user=OURS)
        mean, half = over_splits(some, "f1")
        if mean == mean:
            least = PUBLISHED["LIME"][i]
            found = f"{100 * mean:.1f} ± {100 * half:.1f}, {count(len(some), 'split')}"
            rows.append(target(f"{title((domain, model))}: F1 of trust", f"≥ {least}", found, 100 * mean >= least))
    for domain, model in PLACES:
        mean, half = over_splits(where(cells, domain=domain, model=model, user=OURS), "mistrust_f1")
        if mean == mean and model in ("LR", "SVM"):
            what, found = f"{title((domain, model))}: F1 of mistrust", f"{100 * mean:.1f} ± {100 * half:.1f}"
            rows.append(target(what, f"≥ {LEAST:.0f}", found, 100 * mean >= LEAST))
    return table(rows)


def costs(cells: Sequence[Cell]) -> str:
    """What explanations ask of the model, and how long they take."""
    rows = []
    for user in USERS:
        some = [cell for cell in where(cells, user=user) if "error" not in cell]
        if some:
            told = {"user": user, "predictions": f"{sum(c['n'] for c in some):,}"}
            told["calls"] = number(sum(c["calls"] for c in some) / len(some))
            for model in TRUSTED:
                own = [c["ms"] for c in where(some, model=model)]
                told[f"ms, {model}"] = number(sum(own) / len(own)) if own else "–"
            rows.append(told)
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(dots(cells), folder / "trust.svg")


def dots(cells: Sequence[Cell]) -> Any:
    """A panel a domain and score: users of each model with their 95 % intervals; what is published as a mark."""
    from sections import drawing

    domains = [domain for domain in DOMAINS if where(cells, domain=domain)]
    users = [user for user in (*NULLS, *USERS) if where(cells, user=user)]
    figure, panels = drawing.panels(3 * len(domains), 3.2)
    pairs = [(domain, field) for domain in domains for field in SCORES]
    for panel, (domain, field) in zip(panels, pairs, strict=True):
        for j, user in enumerate(users):
            for i, model in enumerate(TRUSTED):
                mean, half = over_splits(where(cells, domain=domain, model=model, user=user), field)
                y = i + (j - (len(users) - 1) / 2) / (len(users) + 1)
                if mean == mean:
                    error = None if half != half else 100 * half
                    label = user if i == 0 else None
                    panel.errorbar(100 * mean, y, xerr=error, fmt="o", ms=4, color=f"C{j}", capsize=2, label=label)
                if field == "f1" and user in PUBLISHED:
                    at = PLACES.index((domain, model))
                    panel.plot(PUBLISHED[user][at], y, "|", color=f"C{j}", ms=9, mew=1.5)
        panel.set_yticks(range(len(TRUSTED)), TRUSTED)
        panel.invert_yaxis()
        panel.set_xlim(0, 102)
        panel.set_title(f"{DOMAINS[domain]}: {SCORES[field]}, %")
    drawing.key(figure, panels)
    return figure
