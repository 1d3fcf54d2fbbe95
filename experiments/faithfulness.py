"""Do explanations find the words that a model uses? Recall on reviews, as in Figures 6 and 7 of the LIME paper.

Sparse logistic regression and trees, of any depth and of limited ones; beside them forests and boosted trees,
whose used words are those on the paths of all trees. Every method explains the true label of the same reviews.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cells
import review_models
import reviews
import used_words
import veridical as vd
from review_models import Asked, used

KEY = ("domain", "model", "split", "method")
K = 10  # words of an explanation
CALLS = 2048  # that our method may make: one for the review, the others for samples
SPLITS = [1, 2, 3, 4, 5, 6]
OURS = vd.Lime(n_samples=CALLS - 1, surrogate=vd.surrogates.Linear(trees=True))
LONG = (
    3  # calls a word that our method needs at least: those of a review of more than 682 words are more than CALLS
)
ALL = 400  # test reviews of a split
FEW = 60  # reviews of a split for methods that are slow, unless --full


@dataclass(frozen=True)
class Way:
    """A method, and whether it is so slow that few reviews must do."""

    method: Callable[[Asked], Any]
    slow: bool = False


METHODS = {
    "random": Way(lambda _: vd.baselines.RandomParts(n_features=K)),
    "parzen": Way(Asked.windows, slow=True),
    "greedy": Way(lambda _: vd.baselines.Greedy(n_features=K), slow=True),
    "LIME": Way(lambda _: vd.Lime.experiments(n_features=K), slow=True),
    "ours": Way(lambda _: OURS),
}


def measure(cell: cells.Cell, data: Path, most: int) -> dict[str, Any]:
    """One method on the reviews of a split whose used words are known; at most so many."""
    asked = Asked(cell["model"], cell["domain"], cell["split"], data)
    known, model = asked.known, asked.pipeline.named_steps["model"]
    method = METHODS[cell["method"]].method(asked)
    scores, calls, sizes, used_time = [], [], [], 0.0
    for i, words in chosen(asked, most):
        start = time.perf_counter()
        (why,) = asked.explain(i, method, [int(known.y_test[i])])
        used_time += time.perf_counter() - start
        scores.append(used_words.found(order_of(why, known), words, K))
        calls.append(why.n_calls)
        sizes.append(len(words.gold))
    if not scores:
        raise ValueError("the model uses no word of any test review")
    right = model.predict_proba(known.X_test).argmax(axis=1) == known.y_test
    return {
        **{f"{name}{tail}": v for name in FIELDS for tail, v in _mean(scores, name)},
        "n": len(scores),
        "gold": float(np.mean(sizes)),
        "calls": float(np.mean(calls)),
        "over": int(np.sum(np.array(calls) > CALLS)),
        "ms": 1000 * used_time / len(scores),
        "accuracy": float(right.mean()),
        **bounds(asked),
    }


FIELDS = ("recall", "known", "precision")


def chosen(asked: Asked, most: int) -> list[tuple[int, used_words.Used]]:
    """Test reviews in a fixed random order, with their used words: those of two words or more that have any."""
    words, sizes = used(asked), asked.known.X_test.getnnz(axis=1)
    order = np.random.RandomState(0).permutation(len(words))
    return [(int(i), words[i]) for i in order if words[i].gold and sizes[i] > 1][:most]


def most(cell: cells.Cell, settings: argparse.Namespace) -> int:
    """How many reviews a method is measured on."""
    if settings.full:
        return ALL
    return min(settings.reviews, FEW) if METHODS[cell["method"]].slow else int(settings.reviews)


def order_of(why: vd.Explanation, known: reviews.Reviews) -> list[int]:
    """The columns of an explanation's words, the heaviest first; of weight zero, none."""
    heavy = np.argsort(-np.abs(why.weights), kind="stable")
    return [known.counter.vocabulary_[why.parts[j].column] for j in heavy if why.weights[j] != 0]


def bounds(asked: Asked) -> dict[str, Any]:
    """What is known without any explanation, over all test reviews with used words."""
    known = asked.known
    found = [(words, known.X_test[i].nnz) for i, words in chosen(asked, len(known.test))]
    limits = np.array([used_words.ceiling(words, d, K) for words, d in found])
    return {
        "ceiling": float(limits[:, 0].mean()),
        "with_luck": float(limits[:, 1].mean()),
        "by_chance": float(np.mean([min(K / d, 1) for _, d in found])),
        "constant": float(np.mean([not words.reachable for words, _ in found])),
    }


def _mean(scores: Sequence[used_words.Found], name: str) -> list[tuple[str, float]]:
    """Mean and standard error over reviews."""
    values = np.array([getattr(score, name) for score in scores])
    values = values[~np.isnan(values)]
    if not len(values):
        return [("", float("nan")), ("_se", float("nan"))]
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return [("", float(values.mean())), ("_se", error)]


def plan(settings: argparse.Namespace) -> list[cells.Cell]:
    """All cells, so ordered that a model is trained once."""
    return [
        {"domain": domain, "model": model, "split": split, "method": method}
        for split in settings.splits
        for domain in settings.domains
        for model in settings.models
        for method in settings.methods
    ]


def show(cell: cells.Cell) -> str:
    recall, error, luck, known, precision = (
        100 * cell[name] for name in ("recall", "recall_se", "with_luck", "known", "precision")
    )
    return (
        f"recall {recall:.1f} ± {error:.1f} (ceiling {luck:.1f}), reachable {known:.1f}, at their number "
        f"{precision:.1f}, {cell['n']} reviews, {cell['calls']:.0f} calls, {cell['ms']:.0f} ms"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help=f"folder with {reviews.FOLDER}/")
    parser.add_argument("--domains", nargs="+", choices=reviews.DOMAINS, default=list(reviews.DOMAINS))
    parser.add_argument("--models", nargs="+", choices=review_models.SPARSE, default=list(review_models.SPARSE))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--splits", nargs="+", type=int, default=SPLITS, help="seeds of the splits")
    parser.add_argument("--reviews", type=int, default=200, help="of each split, at most")
    parser.add_argument("--full", action="store_true", help=f"all reviews of a split; else {FEW} for slow methods")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "faithfulness.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        reviews.check(settings.data)
    except reviews.NoDataError as error:
        raise SystemExit(f"faithfulness: {error}") from None
    results = cells.Results(settings.out, "faithfulness", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))

    cells.work(
        results,
        plan(settings),
        lambda cell: measure(cell, settings.data, most(cell, settings)),
        resume=settings.resume,
        jobs=settings.jobs,
        show=show,
        cost=lambda cell: most(cell, settings) * (10.0 if cell["method"] == "LIME" else 1.0),
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables and figures: python experiments/report.py")


if __name__ == "__main__":
    main(arguments().parse_args())
