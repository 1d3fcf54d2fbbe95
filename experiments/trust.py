"""Do explanations tell which predictions to trust? Simulated users on reviews, as in Table 1 of the LIME paper.

A quarter of all words is not to be trusted, drawn a hundred times, the same for users of the same reviews. F1 of
the trustworthy predictions, as in the paper; beside it F1 of the others and balanced accuracy, for who trusts
everything has an F1 of 90 to 96 already.
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
import veridical as vd
from review_models import Asked, question
from users import Finds, Subtracts, Trust

KEY = ("domain", "model", "split", "user")
K = 10  # words of an explanation, where few are shown
CALLS = 2048  # that our explanations may make: one for the review, the others for samples
SHARE = 0.25  # of the words is not trusted
SPLITS = [1, 3, 4]  # settings were chosen on books, split 2
FEW = 30  # reviews of a split for users of slow explanations, unless --full
CLIP = 0.02  # odds of more than 49 to 1 are no more than that


def log_odds(outputs: Any) -> Any:
    """Of positive against negative."""
    positive = np.clip(outputs[:, 1], CLIP, 1 - CLIP)
    return np.log(positive / (1 - positive))


def near(distances: Any) -> Any:
    """Proximity to the reviews that are in question: those without a quarter of their words."""
    return np.exp(-0.5 * ((distances - (1 - np.sqrt(1 - SHARE))) / 0.04) ** 2)


def subtract(why: vd.Explanation, gone: Any) -> Any:
    """Takes untrusted words from the local prediction, be it a probability or log odds."""
    return Subtracts(0.0 if why.target == "log_odds" else 0.5)(why, gone)


@dataclass(frozen=True)
class User:
    """What a user is shown, of which output, and how it decides.

    Of several outputs it believes the explanation that fits best, prediction by prediction.
    """

    method: Callable[[Asked], Any]
    targets: tuple[Any, ...] = (1,)
    believe: Any = subtract
    slow: bool = False


OURS = vd.Lime(n_samples=CALLS - 1, kernel=near, surrogate=vd.surrogates.Linear())
SPARSE = vd.Lime(n_samples=CALLS - 1, n_features=K, surrogate=vd.surrogates.Linear())
NULLS = ("everything", "random")
USERS = {
    "parzen": User(Asked.windows, slow=True),
    "greedy": User(lambda _: vd.baselines.Greedy(n_features=K, stop_at_flip=True), (None,), Finds(K), slow=True),
    "LIME": User(lambda _: vd.Lime.experiments(n_features=K), slow=True),
    "ours": User(lambda _: OURS, (1, log_odds)),
    "ours, ten words": User(lambda _: SPARSE),
}


def measure(cell: cells.Cell, data: Path, most: int, n_draws: int) -> dict[str, Any]:
    """One user of the explanations of one model, on test reviews of a split."""
    asked = Asked(cell["model"], cell["domain"], cell["split"], data)
    numbers, doubted = question(asked, most, SHARE, n_draws)
    start, many = time.perf_counter(), None
    if cell["user"] == "everything":
        trust = doubted.everything()
    elif cell["user"] == "random":
        trust = doubted.at_random(K)
    else:
        user = USERS[cell["user"]]
        method = user.method(asked)
        many = [best(asked.explain(i, method, user.targets)) for i in numbers]
        trust = doubted.user(many, user.believe)
    seconds = time.perf_counter() - start
    return {**scores(trust), "n": len(numbers), "ms": 1000 * seconds / len(numbers), **_told(many)}


def best(found: vd.Explanations) -> vd.Explanation:
    """The explanation, of those of several outputs from the same samples, that fits best."""
    return max(found, key=lambda why: np.nan_to_num(why.fidelity, nan=-np.inf))


def scores(trust: Trust) -> dict[str, Any]:
    """What is kept of a user: scores with their standard errors over reviews."""
    found: dict[str, Any] = {"share": trust.share, "unread": trust.unread}
    for name in ("f1", "mistrust_f1", "balanced_accuracy"):
        low, high = trust.interval(name)
        found |= {name: getattr(trust, name), f"{name}_se": (high - low) / 4}
    return found


def _told(many: Sequence[vd.Explanation] | None) -> dict[str, Any]:
    """Calls of an explanation, and how much of the model it explains, where it says so."""
    if many is None:
        return {"calls": 0.0}
    fidelity = np.array([why.fidelity for why in many])
    known = fidelity[np.isfinite(fidelity)]
    told = {"fidelity": float(np.median(known))} if len(known) else {}
    told["odds"] = float(np.mean([why.target == "log_odds" for why in many]))
    return {"calls": float(np.mean([why.n_calls for why in many])), **told}


def plan(settings: argparse.Namespace) -> list[cells.Cell]:
    """All cells, so ordered that a model is trained once."""
    return [
        {"domain": domain, "model": model, "split": split, "user": user}
        for split in settings.splits
        for domain in settings.domains
        for model in settings.models
        for user in settings.users
    ]


def show(cell: cells.Cell) -> str:
    trust, mistrust, balanced = (100 * cell[name] for name in ("f1", "mistrust_f1", "balanced_accuracy"))
    return (
        f"F1 {trust:.2f} ± {100 * cell['f1_se']:.2f}, of mistrust {mistrust:.1f}, balanced {balanced:.1f}, "
        f"t {cell['share']:.3f}, {cell['n']} reviews, {cell['calls']:.0f} calls, {cell['ms']:.0f} ms"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help=f"folder with {reviews.FOLDER}/")
    parser.add_argument("--domains", nargs="+", choices=reviews.DOMAINS, default=list(reviews.DOMAINS))
    parser.add_argument("--models", nargs="+", choices=review_models.TRUSTED, default=list(review_models.TRUSTED))
    parser.add_argument("--users", nargs="+", choices=[*NULLS, *USERS], default=[*NULLS, *USERS])
    parser.add_argument("--splits", nargs="+", type=int, default=SPLITS, help="seeds of the splits")
    parser.add_argument("--reviews", type=int, default=200, help="of each split, at most")
    parser.add_argument("--draws", type=int, default=100, help="of words that are not trusted")
    parser.add_argument("--full", action="store_true", help="all reviews of a split, for slow explanations too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "trust.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        reviews.check(settings.data)
        if "RF" in settings.models:
            review_models.vectors_of(["good"])
    except reviews.NoDataError as error:
        raise SystemExit(f"trust: {error}") from None
    results = cells.Results(settings.out, "trust", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))

    def most(cell: cells.Cell) -> int:
        slow = cell["user"] in USERS and USERS[cell["user"]].slow
        return 400 if settings.full else min(settings.reviews, FEW) if slow else settings.reviews

    cells.work(
        results,
        plan(settings),
        lambda cell: measure(cell, settings.data, most(cell), settings.draws),
        resume=settings.resume,
        jobs=settings.jobs,
        show=show,
        cost=lambda cell: COSTS[cell["model"]] * most(cell) * SLOWER.get(cell["user"], 1.0),
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables and figures: python experiments/report.py")


COSTS = {"LR": 1.0, "NN": 5.0, "RF": 15.0, "SVM": 5.0}  # of a review, about
SLOWER = {"LIME": 8.0, "everything": 0.1, "random": 0.1}

if __name__ == "__main__":
    main(arguments().parse_args())
