"""Words that should not matter, removed round by round by a simulated user (section 6.3 of the LIME paper).

An SVM learns atheism against Christianity from newsgroups. In each of three rounds a user sees ten explanations of
ten words, and removes the words that are not about religion; the SVM is trained again without them. How well it
does on web pages about religion is hidden from the user. What the user knows comes from one half of the pages,
without their labels, and the other half scores; the rule was fixed on the first half alone (--develop).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cells
import religion
import veridical as vd
from cleaners import Cleaning, RandomColumns, RandomShown, Rule, Study, clean
from religion import Classifier, Texts, Topic, Worlds
from sets import NoDataError

KEY = ("rule", "pick", "path")
BUDGET, SHOWN, ATTENTION = 10, 10, 0.9  # explanations of a round, words of each, how much is noticed of them
DOCUMENTS = 150  # that are explained in a round
RULES = {"absent": 0, "1×": 1, "3×": 3, "5×": 5, "8×": 8}  # how many times as frequent a good word is on pages
RULE = "5×"  # chosen on the first half of the pages
BESIDE = ("1×", "absent")  # shown too, at the default size
PICKS = {
    "SP": lambda many, rng: vd.pick(many, BUDGET, k=SHOWN, rng=rng).chosen,
    "RP": lambda many, rng: vd.picks.pick_at_random(many, BUDGET, k=SHOWN, rng=rng).chosen,
}


def pages_of(worlds: Worlds, develop: bool, path: int) -> tuple[Texts, Texts]:
    """Pages that the rule is made of, and pages that score it."""
    first, second = religion.split_pages(worlds.pages.labels)
    if not develop:
        return worlds.pages.some(first), worlds.pages.some(second)
    some = worlds.pages.some(first)
    return tuple(some.some(rows) for rows in religion.split_pages(some.labels, 1 + path))  # type: ignore[return-value]


def study_of(worlds: Worlds, score: Texts, pick: str, path: int) -> Study:
    """The classifier, and what users see of it and do not see; a path has documents of its own."""
    texts = religion.readable(worlds.test, DOCUMENTS, np.random.default_rng([path, 0]))
    known: dict[Any, Any] = {}  # the first model is the same for every user

    def fit(removed: frozenset[str]) -> Any:
        return Classifier.without(worlds, removed)

    def explain(model: Any, removed: frozenset[str], rng: np.random.Generator) -> vd.Explanations:
        if removed:
            return religion.explained(model, texts, rng)
        if not known:
            known[0] = religion.explained(model, texts, np.random.default_rng([path, 1]))
        return known[0]

    hidden = {"pages": lambda model: model.accuracy(score), "test": lambda model: model.accuracy(worlds.test)}
    return Study(fit, explain, PICKS[pick], hidden, SHOWN)


def told(paths: Sequence[Cleaning]) -> dict[str, Any]:
    """Of each path the scores and the number of words removed so far, by round."""
    return {
        "pages": [path.scores("pages").tolist() for path in paths],
        "test": [path.scores("test").tolist() for path in paths],
        "removed": [[0, *np.cumsum(path.sizes).tolist()] for path in paths],
    }


def measure(cell: cells.Cell, data: Path, develop: bool, fan: Sequence[int]) -> dict[str, Any]:
    """A user who knows what religion is about, and users who know nothing and remove as many words."""
    worlds = religion.load(data)
    known, score = pages_of(worlds, develop, cell["path"])
    topic = Topic.of(worlds, known, RULES[cell["rule"]])
    if cell["pick"] == "all":
        return everything(worlds, topic, score)
    study, path = study_of(worlds, score, cell["pick"], cell["path"]), cell["path"]
    paths = clean(study, Rule(topic.bad, ATTENTION), fan=fan, rng=path)
    sizes = np.round(np.mean([each.sizes for each in paths], axis=0)).astype(int).tolist()
    users = {"knowing": told(paths), "shown": told(clean(study, RandomShown(sizes), fan=fan, rng=path))}
    blind = Study(study.fit, lambda *_: (), study.choose, study.hidden)
    users["any"] = told(clean(blind, RandomColumns(list(worlds.words), sizes), fan=fan, rng=path))
    words = Counter(word for each in paths for word in each.removed)
    return {"users": users, "words": dict(words), "page_error": page_error(worlds, score, paths[0])}


def everything(worlds: Worlds, topic: Topic, score: Texts) -> dict[str, Any]:
    """Every word that the rule calls bad removed at once, whether an explanation shows it or not."""
    bad = [word for word in worlds.words if topic.bad(word)]
    models = Classifier.without(worlds), Classifier.without(worlds, bad)
    found = {name: [[m.accuracy(t) for m in models]] for name, t in (("pages", score), ("test", worlds.test))}
    return {"users": {"knowing": {**found, "removed": [[0, len(bad)]]}}}


def page_error(worlds: Worlds, score: Texts, path: Cleaning) -> float:
    """The standard error of a path's gain that comes from there being so many pages and not more."""
    models = Classifier.without(worlds), Classifier.without(worlds, path.removed)
    right = [model.right(score).astype(float) for model in models]
    return float(np.std(right[1] - right[0], ddof=1) / np.sqrt(len(score)))


def show(cell: cells.Cell) -> str:
    ends = {user: np.mean(found["pages"], axis=0)[[0, -1]] for user, found in cell["users"].items()}
    return ", ".join(f"{user} {before:.1%} to {after:.1%}" for user, (before, after) in ends.items())


def plan(rules: Sequence[str], picks: Sequence[str], paths: int) -> list[cells.Cell]:
    """All cells; what removing everything gives first."""
    whole = [{"rule": rule, "pick": "all", "path": 0} for rule in rules]
    return whole + [{"rule": r, "pick": p, "path": i} for i in range(paths) for r in rules for p in picks]


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with newsgroups20/ and religion_dmoz/")
    parser.add_argument("--develop", action="store_true", help="compare rules, on the first half of the pages")
    parser.add_argument("--rules", nargs="+", choices=RULES, help="the one that was chosen and two beside it")
    parser.add_argument("--picks", nargs="+", choices=PICKS, default=list(PICKS), help="both by default")
    parser.add_argument("--paths", type=int, help="first users; 10, and 3 to develop")
    parser.add_argument("--full", action="store_true", help="as in the paper: 10, 50, then 250 models")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, help="JSON file; cells of other runs in it stay")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        religion.check(settings.data)
    except NoDataError as error:
        raise SystemExit(f"clean_and_retrain: {error}") from None
    stem = "clean_and_retrain" + ("-develop" if settings.develop else "-full" if settings.full else "")
    results = cells.Results(settings.out or cells.FOLDER / f"{stem}.json", "clean_and_retrain", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    rules = settings.rules or (list(RULES) if settings.develop else [RULE, *([] if settings.full else BESIDE)])
    paths = settings.paths or (3 if settings.develop else 10)
    fan, half = (1, 5, 5) if settings.full else (1, 1, 1), "first" if settings.develop else "second"
    cells.work(
        results,
        plan(rules, settings.picks, paths),
        lambda cell: {"half": half} | measure(cell, settings.data, settings.develop, fan),
        resume=settings.resume,
        jobs=settings.jobs,
        show=show,
        cost=lambda cell: 0.05 if cell["pick"] == "all" else 1.0,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables and figures: python experiments/report.py")


if __name__ == "__main__":
    main(arguments().parse_args())
