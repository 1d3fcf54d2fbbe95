"""Which of two forests is better? A simulated user chooses by explanations (Figure 8 of the LIME paper).

In each round two forests are right equally often on the validation reviews, and one is at least 5 points better on
the test reviews; it leans less on ten fake words. A user who knows these words, but marks only those it is shown,
goes over the explanations of all validation reviews and takes the forest with fewer predictions to mistrust.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import cells
import forests
import reviews
import veridical as vd
from users import Choice, Chooser, contains, flips

KEY = ("domain", "pair", "round")
PAIRS = {"found": forests.found, "planted": forests.planted}
BUDGETS = range(31)
REPEATS = 10  # random picks a round
K = 10  # words of an explanation that are shown
SAMPLES, A_WORD = 512, 3  # of an explanation: at least so many, and so many a word
GREEDY = 4  # greedy lists are made in each so many-th round: they take a third as long as all else
SPLIT = 1  # the paper's: the seed that cuts the test reviews off
ROUNDS = {"found": 200, "planted": 20}  # a domain
FULL = {"found": 800, "planted": 100}
NARROW = 0.5**0.5  # times the width of the library's kernel: exp(-D²/25²), as in the paper


def explained(leaves: forests.Leaves, texts: Sequence[str], seed: int) -> tuple[Any, Any]:
    """Explanations of both forests, text by text from the same samples."""
    both = []
    for i, text in enumerate(texts):
        n = max(SAMPLES, A_WORD * len(text.split()))
        rng = np.random.default_rng([seed, i])
        both.append(
            vd.explain(
                leaves.near(text),
                reviews.WORDS,
                text,
                target=[0, 1],
                method=vd.Lime(n_samples=n, width=NARROW, surrogate=vd.surrogates.Linear()),
                rng=rng,
            )
        )
    return tuple(why[0] for why in both), tuple(why[1] for why in both)


def certain(why: vd.Explanation) -> vd.Explanation:
    """An explanation as it is shown: of its words that are not zero for certain, the heaviest ten."""
    low, high = why.intervals.T
    sure = np.where((low > 0) | (high < 0), why.weights, 0.0)
    heaviest = np.argsort(-np.abs(sure), kind="stable")[:K]
    shown = np.zeros(len(sure))
    shown[heaviest] = sure[heaviest]
    return replace(why, weights=shown)


def listed(leaves: forests.Leaves, texts: Sequence[str]) -> tuple[Any, Any]:
    """Greedy lists for both forests: words taken away until the predicted class changes."""
    method = vd.baselines.Greedy(n_features=K, stop_at_flip=True)
    first, second = (
        tuple(
            vd.explain(forests.alone(leaves.near(text), number), reviews.WORDS, text, method=method)
            for text in texts
        )
        for number in (0, 1)
    )
    return first, second


def curves(user: Chooser, many: Any, better: int, rng: np.random.Generator) -> dict[str, str]:
    """How often the better forest is chosen by number of explanations shown: picked, or at random."""
    most = max(BUDGETS)
    picks = [vd.pick(each, most, k=K).chosen for each in many]
    by_pick = [user((picks[0][:b], picks[1][:b])).right(better) for b in BUDGETS]
    orders = [rng.permutation(len(many[0]))[:most] for _ in range(REPEATS)]
    by_chance = [np.mean([user(order[:b]).right(better) for order in orders]) for b in BUDGETS]
    return {"sp": packed(by_pick), "rp": packed(by_chance), "all": packed([user().right(better)])}


def packed(values: Sequence[float]) -> str:
    """Shares as whole numbers of percent, on one line."""
    return " ".join(f"{100 * value:.0f}" for value in values)


def measure(cell: cells.Cell, data: Path) -> dict[str, Any]:
    """One round: a pair of forests, and what users choose."""
    domain, kind = list(reviews.DOMAINS).index(cell["domain"]), list(PAIRS).index(cell["pair"])
    rng = np.random.default_rng([cell["round"], domain, kind])
    start = time.process_time()
    problem = forests.problem_of(reviews.load(cell["domain"], SPLIT, data), rng)
    pair = PAIRS[cell["pair"]](problem, rng)
    searched = time.process_time()
    if pair is None:
        return {"skipped": True, "tried": forests.TRIES, "seconds": {"search": searched - start}}
    leaves = forests.Leaves.of(pair.forests, problem.words)
    outcome = chosen(leaves, problem.texts, pair.better, rng)
    shown = time.process_time()
    if cell["pair"] == "found" and cell["round"] % GREEDY == 0:
        outcome |= {f"greedy_{name}": v for name, v in by_lists(leaves, problem.texts, pair.better, rng).items()}
    cost = {"search": searched - start, "explain": shown - searched, "greedy": time.process_time() - shown}
    gap = (pair.test[pair.better] - pair.test[1 - pair.better]) / len(problem.y_test)
    return {"skipped": False, "tried": pair.tried, "gap": gap, **outcome, "seconds": cost}


def chosen(leaves: forests.Leaves, texts: Sequence[str], better: int, rng: np.random.Generator) -> dict[str, Any]:
    """What users choose who see explanations, and an oracle that asks both forests without the fake words."""
    plain = explained(leaves, texts, int(rng.integers(2**32)))
    many = tuple(tuple(map(certain, each)) for each in plain)
    user, trusting = (Chooser.of(*each, forests.FAKES, k=K) for each in (many, plain))
    real = [flips(forests.alone(leaves, number), reviews.WORDS, texts, forests.FAKES) for number in (0, 1)]
    oracle = Choice.by((int(real[0].sum()), int(real[1].sum())), (forests.FAKES, forests.FAKES), n=len(texts))
    every = user()
    return {
        **curves(user, many, better, rng),
        **{f"plain_{name}": value for name, value in curves(trusting, plain, better, rng).items()},
        "oracle": packed([oracle.right(better)]),
        "mistrusted": [every.mistrusted[better], every.mistrusted[1 - better]],
        "flips": [oracle.mistrusted[better], oracle.mistrusted[1 - better]],
    }


def by_lists(
    leaves: forests.Leaves, texts: Sequence[str], better: int, rng: np.random.Generator
) -> dict[str, str]:
    """What a user chooses who mistrusts each prediction whose greedy list has a word that was marked."""
    many = listed(leaves, texts)
    return curves(Chooser.of(*many, forests.FAKES, mistrust=contains), many, better, rng)


def plan(rounds: dict[str, int], domains: Sequence[str], first: int = 0) -> list[cells.Cell]:
    """All rounds, kinds and domains in turn, so that a run that is stopped has some of each."""
    turns = sorted((i / n, pair, first + i) for pair, n in rounds.items() for i in range(n))
    return [{"domain": domain, "pair": pair, "round": number} for _, pair, number in turns for domain in domains]


def show(cell: cells.Cell) -> str:
    if cell["skipped"]:
        return f"skipped: no pair among {cell['tried']} forests"
    sp, rp = (cell[name].split() for name in ("sp", "rp"))
    return (
        f"SP {sp[5]}, RP {rp[5]} at 5; all {cell['all']}, oracle {cell['oracle']}; "
        f"{cell['tried']} forests, {sum(cell['seconds'].values()):.1f} s"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help=f"folder with {reviews.FOLDER}/")
    parser.add_argument("--set", nargs="+", choices=reviews.DOMAINS, default=list(reviews.DOMAINS))
    parser.add_argument("--pairs", nargs="+", choices=PAIRS, default=list(PAIRS), help="both by default")
    parser.add_argument("--rounds", type=int, help="of every kind and domain, instead of the usual number")
    parser.add_argument("--first", type=int, default=0, help="number of the first round, which is its seed")
    parser.add_argument("--full", action="store_true", help="800 rounds a domain, as in the paper")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=int, default=600, help="seconds after which a round is given up")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, help="JSON file; rounds of other runs in it stay")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        reviews.check(settings.data)
    except reviews.NoDataError as error:
        raise SystemExit(f"model_choice: {error}") from None
    usual = FULL if settings.full else ROUNDS
    rounds = {pair: settings.rounds or usual[pair] for pair in settings.pairs}
    results = cells.Results(settings.out or cells.FOLDER / "model_choice.json", "model_choice", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    cells.work(
        results,
        plan(rounds, settings.set, settings.first),
        lambda cell: measure(cell, settings.data),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} rounds. Tables and figures: python experiments/report.py")


if __name__ == "__main__":
    main(arguments().parse_args())
