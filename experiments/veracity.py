"""Is the cause of a wrong decision shown by an explanation? (Praher et al. 2021, and more kinds of causes)

Networks are made to decide wrongly in ways that are known: by small changes, found with gradients or without, and
by other content in some parts. Explanations see the network and the changed instance only. Cells hold what came of
each instance, so that seeds can be pooled; the tests are those of ``vd.veracity``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cells
import cnn
import kinds
import standins
import trained
import voices
from sets import NoDataError
from standins import STANDINS, Run, Standin
from veridical.groundtruth.causes import Decision
from veridical.groundtruth.trials import CauseOutcome, VeracityPlan, examine_causes
from veridical.groundtruth.veracity import plan_veracity
from veridical.models.adapters import model_of

KEY = ("standin", "seed", "kind", "part", "size")
FRESH = (3, 4, 5, 6, 7)  # seeds 0 to 2 are those that methods were developed with
BITS = ("flip@1", "flip@3", "flip@5", "positive set", "as many by norm", "necessity@1", "necessity@3",
        "necessity@5", "hit@1", "top 3")  # fmt: skip
SHARES = (
    "overlap",
    "overlap@3",
    "overlap@5",
    "believability",
    "fidelity",
    "sureness",
    "margin",
    "clean control",
    "seed control",
)
CONTROL = ("clean control", "seed control")
SIGNALS = ("believability", "fidelity", "sureness", "margin")
JUDGED = ("LIME", "KernelSHAP", "ours")  # rows of which signals are kept
OF_FLIPS = ("flips", "flip@1", "flip@3", "flip@5", "positive set", "as many by norm", "necessity@3")
DROPPED = ("necessity@1", "necessity@5")
EXAMPLES = ("a shape in one part",)  # kinds of which the first instance is kept, to be drawn
DIGITS = 3
BESIDE = re.compile(r" --(resume|(weights|limit|out|jobs) \S+)")  # what a command says of how it was run
CONTROLS = 2  # instances of a cell that are explained twice more


def rows_of(found: Standin, part: int, size: int) -> Any:
    """A part of the instances that the network decides rightly, both labels in turn where there are two."""
    right = np.flatnonzero(Decision()(found.network(found.X)) == found.y)
    if len(np.unique(found.y)) == 2:
        by_label = [right[found.y[right] == label] for label in (0, 1)]
        n = min(map(len, by_label))
        right = np.stack([rows[:n] for rows in by_label], axis=1).ravel()
    rows = right[part * size : (part + 1) * size]
    if len(rows) < 2:
        raise NoDataError(f"there are {len(right)} instances that are decided rightly: too few for part {part}")
    return rows


def planned(cell: cells.Cell, found: Standin, only: Sequence[str] = ()) -> VeracityPlan:
    """One kind of cause on some instances of one network, and everyone who explains it."""
    rows = rows_of(found, cell["part"], cell["size"])
    in_sound = cell["kind"] in kinds.DOMAINS
    X, represent = (found.recordings, found.hear) if in_sound else (found.X, found.represent)
    sizes = kinds.SIZES[cell["standin"]]
    made = plan_veracity(
        (model_of(found.network), represent, X[rows]),
        {name: each for name, each in kinds.methods(sizes).items() if not only or name in only},
        {cell["kind"]: kinds.kind(cell["kind"], sizes)},
        y=found.y[rows],
        wanted=others(found.y[rows], cell["kind"]),
        seed=np.random.SeedSequence(cell["seed"], spawn_key=(cell["part"],)),
    )
    return replace(made, controls=CONTROLS)


def others(y: Any, kind: str) -> Any:
    """The label wanted of each: where content is swapped among many labels, that of another instance."""
    return np.roll(y, 1) if kind in kinds.SWAPPED and len(np.unique(y)) > 2 else None


def measure(cell: cells.Cell, run: Run, only: Sequence[str] = ()) -> dict[str, Any]:
    """What came of one kind of cause on some instances of one network."""
    torch.set_num_threads(1)
    found = STANDINS[cell["standin"]](run, cell["seed"])
    plan = planned(cell, found, only)
    came = list(examine_causes(plan))
    good = [each for each in came if each.case is not None]
    return thinned(cell["kind"], {
        "accuracy": found.accuracy,
        "tried": len(came),
        "caused": len(good),
        "failed": dict(Counter(each.failed.split(",")[0][:80] for each in came if each.failed)),
        "before": "".join(str(min(each.made.label, 1)) for each in good),
        "confidence": [each.made.confidence for each in good],
        "cause_calls": int(np.mean([each.made.n_calls for each in came])),
        **({"rows": {row: told(good, plan.rows, row) for row in plan.rows}} if good else {}),
        **({"example": example(good[0])} if good and not cell["part"] and cell["kind"] in EXAMPLES else {}),
    })  # fmt: skip


def told(good: Sequence[CauseOutcome], rows: Sequence[str], row: str) -> dict[str, Any]:
    """The numbers of one row: its curve as sums over instances, and every test one number an instance."""
    at = list(rows).index(row)
    found: dict[str, Any] = {"flips": np.nansum([each.flips[at] for each in good], axis=0).astype(int).tolist()}
    for test in (*BITS, *SHARES):
        values = [each.values.get((test, row), np.nan) for each in good]
        if np.isfinite(values).any():
            found[test] = bits(values) if test in BITS else shares(values)
    calls = [each.explained[row].n_calls for each in good if row in each.explained]
    whys = Counter(str(each.reasons[("flip@1", row)])[:120] for each in good if ("flip@1", row) in each.reasons)
    return found | ({"calls": int(np.mean(calls))} if calls else {}) | ({"failed": dict(whys)} if whys else {})


def thinned(kind: str, cell: cells.Cell) -> cells.Cell:
    """Without what no table has of this kind of cause."""
    found = {
        row: {test: packed(test, known) for test, known in numbers.items() if wanted(test, row, kind)}
        for row, numbers in cell.get("rows", {}).items()
    }
    return {key: value for key, value in cell.items() if key != "confidence"} | ({"rows": found} if found else {})


def wanted(test: str, row: str, kind: str) -> bool:
    """Whether a table has it: signals of rows that are judged by them, flips of changes that are anywhere."""
    if test in SIGNALS:
        return row.startswith(JUDGED)
    if test in OF_FLIPS:
        return kind not in kinds.CONFINED
    if test == "overlap":
        return "three" in kind
    return "shape" in kind if test == "top 3" else test not in DROPPED


def packed(test: str, known: Any) -> Any:
    """A curve as a word, and controls without instances that have none."""
    if test == "flips" and not isinstance(known, str):
        return " ".join(map(str, known))
    return [each for each in known if each is not None] if test in CONTROL else known


def bits(values: Iterable[float]) -> str:
    """Yes, no and nothing, a letter an instance."""
    return "".join("-" if np.isnan(value) else str(int(value)) for value in values)


def shares(values: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), DIGITS) for value in values]


def example(outcome: CauseOutcome) -> dict[str, Any]:
    """One instance, its changed copy and what methods say of its parts, small enough to keep."""
    made, case = outcome.made, outcome.case
    both = np.stack([np.asarray(made.x, np.float64), np.asarray(made.changed, np.float64)])
    low, high = both.min(), both.max()
    levels = np.rint(99 * (both - low) / (high - low)).astype(int)
    return {
        "pictures": levels.tolist() if levels.ndim == 3 and levels.size < 20_000 else [],
        "guilty": bits(case.guilty),
        "before": made.label,
        "after": made.wanted,
        "confidence": made.confidence,
        "weights": {name: shares(np.nan_to_num(each.weights / np.nanmax(np.abs(each.weights))))
                    for name, each in outcome.explained.items()},
    }  # fmt: skip


def plan(settings: argparse.Namespace) -> list[cells.Cell]:
    """All cells: the first part of everything, then the second, and so on."""
    return [
        {"standin": standin, "seed": seed, "kind": kind, "part": part, "size": settings.size}
        for part in range(settings.parts)
        for standin in settings.standins
        for seed in standins.SEEDS.get(standin, settings.seeds)[: len(settings.seeds)]
        for kind in settings.kinds
        if kind not in kinds.DOMAINS or standin in standins.RECORDED
    ]


def show(cell: cells.Cell) -> str:
    if "rows" not in cell:
        return f"none of {cell['tried']} caused: {cell['failed']}"
    found = cell["rows"].get("ours, either", {})
    return f"{cell['caused']} of {cell['tried']} caused; {found.get('flips', found.get('hit@1'))} of ours, either"


def check(settings: argparse.Namespace) -> None:
    """Say what is missing before any work."""
    try:
        for name in settings.standins:
            standins.CHECKS[name](settings.data)
    except NoDataError as error:
        raise SystemExit(f"veracity: {error}") from None
    trained.check_folder(settings.weights)
    cnn.check_device(settings.device)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with audio/, cifar10/ and imagenet_samples/, or a pack")
    parser.add_argument("--standins", nargs="+", choices=STANDINS, default=list(STANDINS))
    parser.add_argument("--kinds", nargs="+", choices=kinds.KINDS, default=list(kinds.KINDS))
    parser.add_argument("--methods", nargs="+", default=[], help="names of explainers; all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(FRESH), help="of networks and of instances")
    parser.add_argument("--parts", type=int, default=4, help="cells of a kind")
    parser.add_argument("--size", type=int, default=12, help="instances of a cell")
    parser.add_argument("--weights", type=Path, default=trained.FOLDER, help="where trained networks are kept")
    parser.add_argument("--detector", choices=voices.SIZES, default=voices.ALL_OF_IT, help="size of it (voice.py)")
    parser.add_argument("--train", action="store_true", help="train all networks, and nothing else")
    parser.add_argument(
        "--join", nargs="+", type=Path, help="put the cells of these files into --out, that is all"
    )
    parser.add_argument("--quick", action="store_true", help="one small cell of each kind")
    return trained.run_by(parser, "veracity")


def join(paths: Sequence[Path], out: Path) -> None:
    """The cells of several files in one, those without an error first, and the example that is drawn."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    results = cells.Results(out, "veracity", KEY)
    for cell in (cell for record in records for cell in record["cells"]):
        if not results.has(cell):
            results.cells[results.key_of(cell)] = thinned(cell["kind"], cell)
    drawn = [cell for cell in results.cells.values() if cell.get("example", {}).get("pictures")]
    for cell in results.cells.values():
        if cell not in drawn[:1]:
            cell.pop("example", None)
    commands = dict.fromkeys(BESIDE.sub("", each) for record in records for each in record["commands"])
    whole = {
        "experiment": "veracity",
        "commands": [*commands],
        **{k: records[0][k] for k in ("date", "environment")},
    }
    out.write_text(cells.written(whole, [cells.short(cell) for cell in results.cells.values()]), encoding="utf-8")


def main(settings: argparse.Namespace) -> None:
    if settings.join:
        join(settings.join, settings.out)
        return
    if settings.quick:
        settings.seeds, settings.parts, settings.size = settings.seeds[:1], 1, 4
    check(settings)
    run = Run(settings.data, settings.weights, settings.device, settings.detector)
    pairs = dict.fromkeys((cell["standin"], cell["seed"]) for cell in plan(settings))
    trained.ready([lambda pair=pair: STANDINS[pair[0]](run, pair[1]) for pair in pairs], settings.jobs)
    if settings.train:
        return
    results = cells.Results(settings.out, "veracity", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    cells.work(
        results,
        plan(settings),
        lambda cell: measure(cell, run, settings.methods),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only veracity")


if __name__ == "__main__":
    main(arguments().parse_args())
