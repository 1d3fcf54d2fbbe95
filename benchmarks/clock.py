"""Time to reach the error that lime, or captum, has at 5,000 calls: ours over theirs, taking turns.

How many samples we need for that error comes from results/calls-*.json (column ``reached``: a size that was
measured, not interpolated), so run calls first. lime explains with 10 features. ``faster`` is their time over
ours, ``faster_default`` the same for lime's 1,000 calls, its default for pictures, at the error it has then. A
text is explained with the pipeline inside a function (``ours``) and with its own predict_proba (``recognized``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import veridical as vd
from calls import LIME_CALLS
from overhead import seconds
from problems import choose_families, load, names, result
from tables import FOLDER, Target, arguments, at_least, finish

FEATURES = 10
WANTED = {"text": 6.0, "images": 10.0, "networks": 10.0}
QUICK = 1024  # samples, where nothing is known


def contenders(problem: Any, known: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Everything that is timed, by name."""
    represent, package, x = problem.represent(), problem.package(), problem.instance
    model = getattr(problem, "model", problem.predict)
    hidden = lambda inputs: model(inputs)  # noqa: E731 - a pipeline that is not recognized

    def ours(predict: Any, n: int) -> Callable[[], Any]:
        return lambda: vd.explain(predict, represent, x, method=vd.Lime(n_samples=n))

    def theirs(n: int) -> Callable[[], Any]:
        timed = package.timed(n, FEATURES)
        return lambda: timed(0, model)

    made = {"ours": ours(hidden, known["reached"]), "theirs": theirs(LIME_CALLS)}
    if isinstance(x, str):
        made["recognized"] = ours(model, known["reached"])
    if package.default != LIME_CALLS:
        made["ours_default"] = ours(hidden, known[f"reached_{package.default}"])
        made["theirs_default"] = theirs(package.default)
    return made


def measure(family: str, name: str, settings: argparse.Namespace, known: dict[str, Any]) -> dict[str, Any]:
    problem = load(family, name, settings.data)
    entries = contenders(problem, known)
    slow = name.startswith("photo")
    repetitions = 2 if settings.quick or slow else settings.repetitions
    rng = np.random.default_rng(0)
    times: dict[str, list[float]] = {entry: [] for entry in entries}
    if not slow:  # the first of each loads and caches
        for work in entries.values():
            work()
    for _ in range(repetitions):
        for entry in rng.permutation(list(entries)):
            times[entry].append(seconds(entries[entry]))
    package = problem.package()
    line = {
        "problem": name,
        "against": package.name,
        "reached": known["reached"],
        "ours_ms": float(np.median(times["ours"])) * 1000,
        "theirs_ms": float(np.median(times["theirs"])) * 1000,
        "faster": _faster(times["theirs"], times["ours"]),
    }
    if "recognized" in times:
        line["faster_recognized"] = _faster(times["theirs"], times["recognized"])
    if "ours_default" in times:
        line["reached_default"] = known[f"reached_{package.default}"]
        line["faster_default"] = _faster(times["theirs_default"], times["ours_default"])
    return line


def _faster(theirs: Sequence[float], ours: Sequence[float]) -> float:
    return float(np.median(np.array(theirs) / np.array(ours)))


def judge(family: str, rows: Sequence[dict[str, Any]]) -> list[Target]:
    targets = []
    for key, what in (
        ("faster", ""),
        ("faster_recognized", ", pipeline recognized"),
        ("faster_default", ", at 1,000 calls"),
    ):
        found = [row[key] for row in rows if key in row]
        if found:
            which = f"{family}: times faster than {rows[0]['against']}{what}"
            targets += [
                at_least(f"{which}, median", WANTED[family], float(np.median(found))),
                at_least(f"{which}, least", WANTED[family], min(found)),
            ]
    return targets


def read(family: str, quick: bool) -> dict[str, dict[str, Any]]:
    """What calls found, by problem."""
    path = FOLDER / f"{result('calls', family)}.json"
    if not path.exists():
        if quick:
            return {}
        raise SystemExit(f"no {path.name}: run `benchmarks/run calls --on {family}` first")
    return {row["problem"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}


def main(settings: argparse.Namespace) -> None:
    for family in settings.on:
        known = read(family, settings.quick)
        rows = []
        for name in names(family, settings.data, settings.quick):
            found = known.get(name, {"reached": QUICK, "reached_1000": QUICK // 2} if settings.quick else None)
            if found is None:
                raise SystemExit(
                    f"{name} is not in the results of calls: run `benchmarks/run calls --on {family}`"
                )
            if found["reached"] is None:
                raise SystemExit(f"{name}: no size that was tried has the error of {LIME_CALLS} calls")
            rows.append(measure(family, name, settings, found))
        finish(result("clock", family), settings, rows, judge(family, rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    choose_families(parser, ("text", "images", "networks"))
    parser.add_argument("--repetitions", type=int, default=7)
    main(parser.parse_args())
