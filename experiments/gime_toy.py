"""Two half-spaces: f = a·x where the first feature is positive, b·x elsewhere; two groups should find them.

f jumps where the half-spaces meet, and neighbors lie on both sides of the jump: the oracle, which knows a, b and
the side of x, has an error too. Errors are therefore given relative to the oracle's.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cells
import veridical as vd
from group_fidelity import Counted, own_losses
from sets import DRAW, NEIGHBORS, neighbors
from veridical.summaries.groupings import GROUPINGS

KEY = ("variant", "d", "seed", "method")
SIZES = (600, 200, 300)  # to train, validate and test
VARIANTS = ("plain", "stretched", "clumps", "slanted")
COMPARED = ("mixture", "gime", "tree")


def wrong_axis(rows: Any, k: int) -> Any:
    """Groups by the side of the second feature, which has nothing to do with the half-spaces."""
    return (rows[:, 1] > 0).astype(int)


# Methods by name, with settings of their own: every one that is registered, and the starts that are to be shown.
# The first two starts of a mixture are a model tree's, with either gate.
METHODS: dict[str, Any] = {name: method() for name, method in GROUPINGS.items()} | {
    "mixture, from a tree": vd.groupings.Mixture(n_starts=2),
    "mixture, from the wrong axis": vd.groupings.Mixture(n_starts=2, start=wrong_axis),
}


@dataclass(frozen=True, eq=False)
class Toy:
    """Rows to train, validate and test on, and the two linear functions."""

    train: Any
    valid: Any
    test: Any
    a: Any  # (d,)
    b: Any

    def __call__(self, rows: Any) -> Any:
        return np.where(rows[:, 0] > 0, rows @ self.a, rows @ self.b)


def toy(variant: str, d: int, seed: int) -> Toy:
    """As the card has it; or, with traps for clusters: a second feature that is stretched, or in two clumps.

    Stretching is undone where features are standardized, clumps are not. Slanted: a and b are of no special
    direction, on five features at most.
    """
    rng = np.random.default_rng([DRAW, VARIANTS.index(variant), d, seed])
    a, b = np.zeros(d), np.zeros(d)
    a[:2], b[:2] = (2, 1), (-1, 2)
    if variant == "slanted":
        a[:5], b[:5] = rng.normal(size=(2, min(d, 5)))
    rows = rng.normal(size=(sum(SIZES), d))
    if variant == "stretched":
        rows[:, 1] *= 2.5
    elif variant == "clumps":
        rows[:, 1] = np.sign(rows[:, 1]) + 0.25 * rng.normal(size=len(rows))
    train, valid, test = np.split(rows, np.cumsum(SIZES)[:-1])
    return Toy(train, valid, test, a, b)


def measure(cell: cells.Cell) -> dict[str, Any]:
    """One method on one toy."""
    made = toy(cell["variant"], cell["d"], cell["seed"])
    asked = Counted(made)
    grouping = vd.group(
        asked,
        vd.Rows(made.train),
        made.train,
        k=2,
        validation=made.valid,
        method=METHODS[cell["method"]],
        rng=cell["seed"],
    )

    def said(rows: Any) -> Any:
        return grouping.space.rows(grouping.space.read(rows)) @ grouping.weights.T + grouping.intercepts

    group = grouping.assign(made.test).argmax(axis=1)
    right = np.mean(group == (made.test[:, 0] > 0))
    found, oracle = scores(made, said, group, cell["seed"]), truth(made, cell["seed"])
    return {
        "rmse": found[0],
        "oracle": oracle[0],
        "ratio": found[0] / oracle[0],
        "at_x": found[1],
        "assigned": float(max(right, 1 - right)),
        "calls": asked.calls,
    }


def truth(made: Toy, seed: int) -> tuple[float, float]:
    """What the oracle reaches."""
    lines = np.stack([made.b, made.a], axis=1)
    return scores(made, lambda rows: rows @ lines, (made.test[:, 0] > 0).astype(int), seed)


def scores(made: Toy, said: Callable[[Any], Any], group: Any, seed: int) -> tuple[float, float]:
    """Error near the test rows, and at them, in standard deviations of f."""
    near = neighbors(made.test, np.random.default_rng([DRAW, seed]))
    values = made(near).reshape(len(made.test), NEIGHBORS)
    around = own_losses(said(near).reshape(*values.shape, -1), values, group)
    at_x = own_losses(said(made.test)[:, None, :], made(made.test)[:, None], group)
    return tuple(float(np.sqrt(losses.mean()) / values.std()) for losses in (around, at_x))


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--d", nargs="+", type=int, default=[2, 5, 20], help="features")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(5)))
    known = [name for name in METHODS if name in COMPARED or name not in GROUPINGS]
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=known)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "gime_toy.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    results = cells.Results(settings.out, "gime_toy", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(None)]))
    wanted = [
        {"variant": variant, "d": d, "seed": seed, "method": method}
        for variant in settings.variants
        for d in settings.d
        for seed in settings.seeds
        for method in settings.methods
    ]
    cells.work(results, wanted, measure, resume=settings.resume, jobs=settings.jobs, show=show)


def show(cell: cells.Cell) -> str:
    return f"{cell['ratio']:.3f} of the oracle's error, {cell['assigned']:.3f} assigned rightly"


if __name__ == "__main__":
    main(arguments().parse_args())
