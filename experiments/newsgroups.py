"""A classifier that is right for the wrong reasons (sections 3.5 and 6.2 of the LIME paper).

An SVM tells atheism from Christianity in newsgroups, 94 % right. Explanations show how: by words of headers.
Measured here: which words, and how often; how the SVM does on web pages, before and after what explanations expose
is removed; and whether simulated users, who see a few explanations of both side by side, choose the better one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import cells
import religion
import veridical as vd
from clean_and_retrain import ATTENTION, RULE, RULES, study_of
from cleaners import Rule, clean
from religion import FEWEST, Classifier, Topic, Worlds
from sets import NoDataError

KEY = ("what", "path")
SHOWN = 10  # words of an explanation
LISTED = 20  # header words in the table
PASSES = 3  # over all explanations, removing what they expose
BUDGET, WORDS = 6, 6  # explanations of both classifiers that a user sees, and words of each
CANDIDATES = 60  # articles that are picked from
USERS, NOTICING, MISTAKEN = 100, (0.25, 0.5, 0.9), 0.1  # who notice that share of bad words, and mistake good ones
METHODS = {
    "greedy": vd.baselines.Greedy(n_features=WORDS),
    "random": vd.baselines.RandomParts(n_features=WORDS),
}


def lists(explanations: Iterable[vd.Explanation], k: int) -> list[list[str]]:
    """The words of each explanation that a reader sees."""
    return [[name for name, _ in why.top(k)] for why in explanations]


def exposed(worlds: Worlds, shown: Sequence[Sequence[str]], pages: Any) -> dict[str, Any]:
    """How often words of headers are among those shown, and which."""
    counts: dict[str, int] = {}
    for words in shown:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    column, header = worlds.column, worlds.headers > worlds.bodies
    of_headers = {word: n for word, n in counts.items() if header[column[word]]}
    share, labels = religion.shares(pages.bags), worlds.train.labels
    rows = []
    for word in sorted(of_headers, key=lambda word: -of_headers[word])[:LISTED]:
        has = worlds.train.bags[:, [column[word]]].toarray().ravel() > 0
        one = float(np.mean(labels[has]))
        rows.append(
            {
                "word": word,
                "shown": of_headers[word] / len(shown),
                "training": float(has.mean()),
                "one_class": max(one, 1 - one),
                "class": "Christianity" if one > 0.5 else "atheism",
                "pages": float(share[column[word]]),
            }
        )
    any_header = [any(word in of_headers for word in words) for words in shown]
    return {
        "explanations": len(shown),
        "distinct": len(counts),
        "with_header_word": float(np.mean(any_header)),
        "header_share": sum(of_headers.values()) / max(sum(counts.values()), 1),
        "header_words": rows,
    }


def accuracies(model: Classifier, worlds: Worlds, second: Any) -> dict[str, float]:
    """On its own test, on all pages, and on those that no rule was made of."""
    called = float(np.mean(model.predict(worlds.pages)))
    return {
        "test": model.accuracy(worlds.test),
        "pages": model.accuracy(worlds.pages),
        "second_half": model.accuracy(second),
        "called_christian": called,
    }


def original(worlds: Worlds, n: int) -> dict[str, Any]:
    """The classifier as it is, what explanations show of it, and what is left when that is removed.

    In each pass the same articles are explained, and words shown that are bad by a rule are removed: words of
    headers, or words that are not about religion.
    """
    first, second = (worlds.pages.some(rows) for rows in religion.split_pages(worlds.pages.labels))
    topic, column = Topic.of(worlds, first, RULES[RULE]), worlds.column
    header = worlds.headers > worlds.bodies
    rules = {"headers": lambda word: bool(header[column[word]]), "not about religion": topic.bad}
    rng = np.random.default_rng(0)
    texts = religion.readable(worlds.test, n, rng)
    start = Classifier.without(worlds)
    many = religion.explained(start, texts, rng)
    pick = vd.pick(many, SHOWN, k=SHOWN)
    found = {
        **exposed(worlds, lists(many, SHOWN), worlds.pages),
        "picked": lists([many[int(i)] for i in pick.chosen], SHOWN),
        "before": accuracies(start, worlds, second),
        "after": [],
    }
    for name, bad in rules.items():
        shown, removed = lists(many, SHOWN), set[str]()
        for number in range(1, PASSES + 1):
            removed |= {word for words in shown for word in words if bad(word)}
            model = Classifier.without(worlds, removed)
            found["after"].append(
                {"rule": name, "pass": number, "removed": len(removed), **accuracies(model, worlds, second)}
            )
            if number < PASSES:
                shown = lists(religion.explained(model, texts, rng), SHOWN)
    return found


def choice(worlds: Worlds, path: int) -> dict[str, Any]:
    """How many users choose the cleaned classifier, by method, pick, and how much they notice."""
    first, second = (worlds.pages.some(rows) for rows in religion.split_pages(worlds.pages.labels))
    topic = Topic.of(worlds, first, RULES[RULE])
    (cleaning,) = clean(study_of(worlds, second, "SP", path), Rule(topic.bad, ATTENTION), rng=path)
    models = Classifier.without(worlds), Classifier.without(worlds, cleaning.removed)
    rng = np.random.default_rng([path, 2])
    texts = [text for text in religion.readable(worlds.test, len(worlds.test), rng) if _long(models[1], text)]
    found = {"before": accuracies(models[0], worlds, second), "after": accuracies(models[1], worlds, second)}
    rows = []
    for name, method in {"LIME": None, **METHODS}.items():
        both = [religion.explained(model, texts[:CANDIDATES], rng, method) for model in models]
        rows += [{"method": name, **row} for row in choices(both, topic, rng)]
    return {**found, "removed": len(cleaning.removed), "choices": rows}


def choices(both: Sequence[vd.Explanations], topic: Topic, rng: np.random.Generator) -> list[dict[str, Any]]:
    """The share of users who choose the second classifier; the greedy pick is the same for all users."""
    rows = []
    for pick in ("SP", "RP"):
        shown = [_shown(both, pick, rng) for _ in range(1 if pick == "SP" else USERS)]
        for noticing in NOTICING:
            found = [chosen(shown[i % len(shown)], topic, noticing, rng) for i in range(USERS)]
            rows.append({"pick": pick, "noticing": noticing, "correct": float(np.mean(found))})
    return rows


def _long(model: Classifier, text: str) -> bool:
    return len(set(model.seen(text).split())) >= FEWEST


def _shown(both: Sequence[vd.Explanations], pick: str, rng: np.random.Generator) -> list[list[list[str]]]:
    """Of both classifiers the words shown, of the same articles."""
    if pick == "SP":
        rows = vd.picks.pick_for_two(*both, BUDGET, k=WORDS, rng=rng).chosen
    else:
        rows = rng.permutation(len(both[0]))[:BUDGET]
    return [lists([many[int(i)] for i in rows], WORDS) for many in both]


def chosen(shown: Sequence[Any], topic: Topic, noticing: float, rng: np.random.Generator) -> float:
    """1 if a user takes the second classifier: the one with fewer words that seem bad; one half if they tie.

    A user knows a word or does not: what was noticed in one list is noticed in all.
    """
    words = sorted({word for lists_ in shown for words in lists_ for word in words})
    luck = dict(zip(words, rng.random(len(words)), strict=True))
    seems = {word for word in words if luck[word] < (noticing if topic.bad(word) else MISTAKEN)}
    blamed = [sum(word in seems for words in lists_ for word in words) for lists_ in shown]
    return float(blamed[1] < blamed[0]) + 0.5 * float(blamed[1] == blamed[0])


def measure(cell: cells.Cell, data: Path, n: int) -> dict[str, Any]:
    worlds = religion.load(data)
    return original(worlds, n) if cell["what"] == "original" else choice(worlds, cell["path"])


def show(cell: cells.Cell) -> str:
    if "choices" in cell:
        half = [row for row in cell["choices"] if row["noticing"] == NOTICING[1]]
        return ", ".join(f"{row['method']} {row['pick']} {row['correct']:.0%}" for row in half)
    last = cell["after"][-1]
    return (
        f"{cell['before']['test']:.1%} and {cell['before']['pages']:.1%} on pages; "
        f"without {last['removed']} words {last['test']:.1%} and {last['pages']:.1%}"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with newsgroups20/ and religion_dmoz/")
    parser.add_argument("--n", type=int, help="articles that are explained; 300, and all with --full")
    parser.add_argument("--paths", type=int, help="cleaned classifiers to choose from; 5, and 20 with --full")
    parser.add_argument("--full", action="store_true", help="all articles, more cleaned classifiers")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "newsgroups.json", help="JSON file")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        religion.check(settings.data)
    except NoDataError as error:
        raise SystemExit(f"newsgroups: {error}") from None
    results = cells.Results(settings.out, "newsgroups", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    n, paths = settings.n or (717 if settings.full else 300), settings.paths or (20 if settings.full else 5)
    wanted: list[cells.Cell] = [{"what": "original", "path": 0}]
    wanted += [{"what": "choice", "path": path} for path in range(paths)]
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data, n),
        resume=settings.resume,
        jobs=settings.jobs,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables and figures: python experiments/report.py")


if __name__ == "__main__":
    main(arguments().parse_args())
