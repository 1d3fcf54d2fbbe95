"""Is the probability that vd.believe gives right? Fitted and judged where the guilty parts are known.

Decisions are made wrong as in ``veracity.py``. Each explanation of a wrong decision is right if its heaviest part
is a guilty one; cells hold that, and the signs that ``vd.believe`` looks at. ``--fit`` prints the calibration that
is written in ``veridical.metrics.belief``, from the cells of the seeds that it may see.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cells
import cnn
import kinds
import plain
import trained
import veracity
import veridical as vd
from calibration import calibrated, literal
from plain import EDITS, PLAIN
from sets import NoDataError
from standins import CHECKS, STANDINS, Run
from veridical.groundtruth.causes import choose_aim
from veridical.groundtruth.trials import Case
from veridical.methods.undo import small_changes
from veridical.metrics import belief
from veridical.metrics.belief import Panel, query_panel
from veridical.models.adapters import model_of
from veridical.models.outputs import rows_at
from veridical.seeds import child_of

KEY = ("standin", "seed", "kind", "size")
SEEN = (0, 1, 2)  # seeds that the fit may see
FRESH = (3, 4, 5)
WHERE = ("digits", "pictures")
GUILTY = ("Pgd in one part", "Square in one part", "noise in one part", "a shape in one part", "one part swapped",
          "noise in three", "a shape in three", "three parts swapped")  # fmt: skip
METHODS: dict[str, Any] = {
    "LIME": vd.Lime(n_samples=256, surrogate=vd.surrogates.Linear()),
    "Occlusion": vd.Occlusion(),
    "Sensitivity": vd.Sensitivity(n_draws=4),
    **{"ours, change": small_changes(), "ours, content": vd.methods.Undo(), "ours, either": vd.methods.Either()},
}
MODELS = {**{name: STANDINS[name] for name in WHERE}, **PLAIN}
CAUSE, CASE, ASK, EXPLAIN = range(4)  # what seeds are for


def measure(cell: cells.Cell, run: Run) -> dict[str, Any]:
    """Whether each method is right of each wrong decision, and the signs of it."""
    torch.set_num_threads(1)
    found = MODELS[cell["standin"]](run, cell["seed"])
    X = rows_at(found.X, veracity.rows_of(found, 0, cell["size"]))
    made = kind_of(cell["standin"], cell["kind"])
    seed = np.random.SeedSequence(cell["seed"], spawn_key=(cell["size"],))
    aim = choose_aim(model_of(found.network), found.represent, X)
    told: dict[str, list[Any]] = {name: [] for name in METHODS}
    caused = [cause for cause in made(aim, child_of(seed, CAUSE)) if cause.success]
    for i, cause in enumerate(caused):
        case = Case.of(cause, found.represent, (aim.model, aim.decision), child_of(seed, CASE, i))
        for name, row in judged(case):
            told[name].append(row)
    return {"tried": len(aim), "caused": len(caused), "rows": told}


def judged(case: Case) -> Iterator[tuple[str, list[float | None]]]:
    """Of each method: 1 if its heaviest part is guilty, else 0, and then its signs."""
    found: Panel = query_panel(case.model, case.representation, case.reader, case.child(ASK))
    for name, method in METHODS.items():
        (why,) = method(case.model, case.representation, [case.target], case.child(EXPLAIN))
        effects = belief.local_effects(case.representation, why, case.child(EXPLAIN))
        if effects.max() > 0 and found.strategies:
            signs = belief.read_signs(why, effects, found)
            told = [round(value, 4) if np.isfinite(value) else None for value in signs.values.values()]
            yield name, [int(case.guilty[signs.part]), *told]


def kind_of(standin: str, name: str) -> Any:
    """The settings of a kind of cause."""
    return EDITS[standin][name] if standin in EDITS else kinds.kind(name, kinds.SIZES[standin])


def plan(settings: argparse.Namespace) -> list[cells.Cell]:
    return [
        {"standin": standin, "seed": seed, "kind": kind, "size": settings.size}
        for seed in settings.seeds
        for standin in settings.standins
        for kind in EDITS.get(standin, GUILTY)
        if not settings.kinds or kind in settings.kinds
    ]


def check(settings: argparse.Namespace) -> None:
    """Say what is missing before any work."""
    try:
        for name in settings.standins:
            (plain.check if name in PLAIN else CHECKS[name])(settings.data)
    except NoDataError as error:
        raise SystemExit(f"believe: {error}") from None
    trained.check_folder(settings.weights)
    cnn.check_device(settings.device)


def show(cell: Mapping[str, Any]) -> str:
    hits = {name: f"{np.mean([row[0] for row in rows]):.2f}" for name, rows in cell["rows"].items() if rows}
    return f"{cell['caused']} of {cell['tried']} caused; right: {hits}"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with audio/, cifar10/, sentences/ and tabular/")
    parser.add_argument("--standins", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--kinds", nargs="+", default=[], help="of causes; all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[*SEEN, *FRESH])
    parser.add_argument("--size", type=int, default=24, help="instances of a cell")
    parser.add_argument("--weights", type=Path, default=trained.FOLDER)
    parser.add_argument("--fit", action="store_true", help="print the calibration from what was measured")
    return trained.run_by(parser, "believe")


def main(settings: argparse.Namespace) -> None:
    results = cells.Results(settings.out, "believe", KEY)
    if settings.fit:
        for some in (WHERE, tuple(PLAIN)):
            print(
                literal(
                    calibrated([c for c in results.cells.values() if c["standin"] in some and c["seed"] in SEEN])
                )
            )
        return
    check(settings)
    run = Run(settings.data, settings.weights, settings.device)
    wanted = plan(settings)
    pairs = dict.fromkeys((cell["standin"], cell["seed"]) for cell in wanted)
    trained.ready(
        [lambda pair=pair: STANDINS[pair[0]](run, pair[1]) for pair in pairs if pair[0] in WHERE], settings.jobs
    )
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, run),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )


if __name__ == "__main__":
    main(arguments().parse_args())
