"""How much of the model an explanation explains, on fresh samples under two laws that are written here.

Under the law ``uniform share`` a sample keeps each column or part with a probability that is itself uniform in
(0, 1); other columns are drawn from the background one by one, other parts are taken away. Thresholds are for it.
``r2_lime`` is under lime's own law, weighted by its kernel. Everything is on the scale of probabilities, or in the
units of the output. ``gap`` is how far the local model is from the prediction at the instance itself, in standard
deviations of the output; ``own`` the fidelity that an explanation states; ``ms`` its time beyond the model's;
``alike`` the overlap (Jaccard) of the top five columns of two seeds. ``of_ceiling`` is the share that we reach of
the R² of boosted trees with pairs, fitted to 24,000 samples of the same law. The families are tables, text, images,
and truth: toys with exact Shapley values, where ``error`` is the distance of the weights from these, relative to
their size, ``shape`` the same after the best scaling, and ``unused`` the share of weight on columns without effect.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import HistGradientBoostingRegressor

from cases import QUICK, TABLES, Case, Drawn, Plan, TableCase, cells, load
from contenders import CONTENDERS, Local
from laws import Floats
from tables import Target, arguments, at_least, at_most, finish, table

FAMILIES = ("tables", "text", "images", "truth")
TOP = 5
CEILING = 24_000  # samples
WORDS = ("cell", "contender")
LEAST = 1e-6  # sd of an output below which there is nothing to explain: the row is left out
WANTED = {  # family: (median R², its 10th percentile)
    "tables": (0.78, 0.55),
    "text": (0.94, 0.75),
    "images": (0.94, 0.78),
}
WANTED_LINEAR, WANTED_GAP, WANTED_OF_CEILING = 0.97, 0.025, 0.85
WANTED_ERROR, WANTED_UNUSED = 0.15, 0.06


def measure(family: str, name: str, data: Path | None, plan: Plan) -> list[dict[str, Any]]:
    """Every row of a cell by every contender."""
    found = []
    for i, case in enumerate(load(family, name, data, plan)):
        shares = case.uniform_share(plan.samples, np.random.default_rng([1, i]))
        near = case.lime_law(plan.samples, np.random.default_rng([2, i]))
        outputs, near_outputs = case.answer(shares.inputs), case.answer(near.inputs)
        if case.spread < LEAST or outputs.std() < LEAST:
            continue
        most = ceiling(case, shares, outputs, plan.ceiling) if plan.ceiling and i == 0 else None
        for contender in plan.contenders:
            locals_ = [CONTENDERS[contender](case, seed) for seed in (0, 1)]
            if any(local is None for local in locals_):
                continue
            first, second = locals_
            line = {
                "cell": name,
                "row": i,
                "contender": contender,
                "r2": explained(outputs, first.values(shares), shares.weights),
                "r2_lime": explained(near_outputs, first.values(near), near.weights),
                "own": first.fidelity,
                "gap": gap(case, first),
                "calls": first.calls,
                "ms": 1000 * min(first.seconds, second.seconds),
                "alike": overlap(first, second),
            }
            if most is not None and contender == "default":
                line["of_ceiling"] = line["r2"] / most
            if isinstance(case, TableCase) and case.truth is not None:
                line |= against_truth(case, first)
            found.append(line)
    return found


def explained(outputs: Floats, values: Floats, weights: Floats) -> float:
    """Weighted R²; nan where there is nothing to explain."""
    total = weights @ (outputs - np.average(outputs, weights=weights)) ** 2
    return float(1 - weights @ (outputs - values) ** 2 / total) if total > LEAST**2 * weights.sum() else np.nan


def gap(case: Case, local: Local) -> float:
    """How far the local model is from the prediction at the instance."""
    own = case.itself()
    return float(abs(local.values(own)[0] - case.answer(own.inputs)[0]) / case.spread)


def overlap(first: Local, second: Local) -> float:
    """Jaccard index of the top columns."""
    tops = [
        {name for name in sorted(local.weights, key=lambda n: -abs(local.weights[n]))[:TOP] if local.weights[name]}
        for local in (first, second)
    ]
    return len(tops[0] & tops[1]) / max(len(tops[0] | tops[1]), 1)


def against_truth(case: TableCase, local: Local) -> dict[str, float]:
    """Weights beside exact Shapley values."""
    truth = case.truth
    weights = np.array([local.weights.get(name, 0.0) for name in case.names])
    scale = weights @ truth / max(weights @ weights, 1e-300)
    size = np.linalg.norm(truth)
    return {
        "error": float(np.linalg.norm(weights - truth) / size),
        "shape": float(np.linalg.norm(scale * weights - truth) / size),
        "unused": float(np.abs(weights[truth == 0]).sum() / np.abs(weights).sum()),
    }


def ceiling(case: Case, judged: Drawn, outputs: Floats, n: int) -> float:
    """R² of boosted trees that add up columns and pairs, on probabilities or on log-odds, whichever is better."""
    drawn = case.uniform_share(n, np.random.default_rng([3]))
    known = case.answer(drawn.inputs)
    categorical = case.categorical if isinstance(case, TableCase) else np.zeros(len(case.names), bool)
    scales = [(lambda p: p, lambda z: z)]
    if not case.regression:
        scales.append((lambda p: np.log(np.clip(p, 1e-3, None) / np.clip(1 - p, 1e-3, None)),
                       lambda z: 1 / (1 + np.exp(-z))))  # fmt: skip
    found = []
    for link, back in scales:
        boosted = HistGradientBoostingRegressor(
            max_iter=400, interaction_cst="pairwise", categorical_features=categorical, random_state=0
        )
        boosted.fit(drawn.features, link(known))
        found.append(explained(outputs, back(boosted.predict(judged.features)), judged.weights))
    return max(found)


def summary(lines: Sequence[dict[str, Any]], which: str) -> list[dict[str, Any]]:
    """One line per contender: medians, tails, shares."""
    found = []
    for contender in dict.fromkeys(line["contender"] for line in lines):
        own = [line for line in lines if line["contender"] == contender]
        every = {key: np.array([line.get(key, np.nan) for line in own]) for key in own[0] if key not in WORDS}
        made = {
            "rows of": which,
            "contender": contender,
            "rows": len(own),
            "r2": median(every["r2"]),
            "p10": float(np.quantile(every["r2"], 0.1)),
            "r2 ≥ .8": float(np.mean(every["r2"] >= 0.8)),
            "r2_lime": median(every["r2_lime"]),
            "own": median(every["own"]),
            "gap": median(every["gap"]),
            "gap p90": float(np.quantile(every["gap"], 0.9)),
            "calls": int(np.median(every["calls"])),
            "ms": median(every["ms"]),
            "alike": float(np.mean(every["alike"])),
        }
        found.append(made | {key: median(every[key]) for key in ("error", "shape", "unused") if key in every})
    return found


def median(values: Any) -> float | None:
    """Of the finite ones, if there are some."""
    some = np.asarray(values)[np.isfinite(values)]
    return float(np.median(some)) if len(some) else None


def by_cell(lines: Sequence[dict[str, Any]], name: str, others: Sequence[str]) -> dict[str, Any]:
    """One line of the table: our default in full, the others' R², and in the JSON all rows."""
    of = {
        c: [line for line in lines if line["contender"] == c] for c in dict.fromkeys(x["contender"] for x in lines)
    }
    ours = of.get("default") or next(iter(of.values()))
    found: dict[str, Any] = {"cell": name}
    if name.split("-")[0] in TABLES:
        found["role"] = TABLES[name.split("-")[0]][1]
    found |= {"rows": len(ours)} | {
        key: median([line[key] for line in ours]) for key in ("r2", "r2_lime", "gap", "ms")
    }
    found["alike"] = float(np.mean([line["alike"] for line in ours]))
    if any("of_ceiling" in line for line in ours):
        found["of_ceiling"] = next(line["of_ceiling"] for line in ours if "of_ceiling" in line)
    for key in ("error", "unused"):
        if key in ours[0]:
            found |= {f"{key}_{c}": median([line[key] for line in own]) for c, own in of.items()}
    found |= {c: median([line["r2"] for line in of[c]]) if c in of else None for c in others if c != "default"}
    kept = ("r2", "r2_lime", "gap", "alike", "error")
    found["curve"] = {
        c: {key: [float(f"{line[key]:.3g}") for line in own] for key in kept if key in own[0]}
        for c, own in of.items()
    }
    return found


def judge(family: str, lines: Sequence[dict[str, Any]]) -> list[Target]:
    """Thresholds are for our default; of tables, for those that no setting was chosen on."""
    ours = [line for line in lines if line["contender"] == "default"]
    which = family
    reported = [line for line in ours if TABLES.get(line["cell"].split("-")[0], ("", ""))[1] == "reported"]
    if family == "tables" and reported:
        ours, which = reported, "reported tables"
    if not ours:
        return []
    r2, gaps = [line["r2"] for line in ours], [line["gap"] for line in ours]
    targets = []
    if family == "truth":
        targets = [
            at_most(f"{which}: error of the weights, median", WANTED_ERROR, median([x["error"] for x in ours])),
            at_most(
                f"{which}: weight on unused columns, median", WANTED_UNUSED, median([x["unused"] for x in ours])
            ),
        ]
    else:
        wanted, wanted_tail = WANTED[family]
        targets = [
            at_least(f"{which}: R² on fresh samples, median", wanted, median(r2)),
            at_least(f"{which}: R² on fresh samples, 10th percentile", wanted_tail, float(np.quantile(r2, 0.1))),
            Target(f"{which}: share of rows with R² ≥ .8", "", f"{np.mean(np.array(r2) >= 0.8):.3g}", True),
            Target(
                f"{which}: R² under lime's law, median", "", f"{median([x['r2_lime'] for x in ours]):.3g}", True
            ),
        ]
    if family == "tables":
        linear = [line["r2"] for line in ours if line["cell"].endswith("-lr")]
        if linear:
            targets.append(
                at_least(f"{which}: R² of linear and logistic regression, median", WANTED_LINEAR, median(linear))
            )
        targets.append(at_most(f"{which}: gap at the instance in sd, median", WANTED_GAP, median(gaps)))
    else:
        targets.append(Target(f"{which}: gap at the instance in sd, median", "", f"{median(gaps):.3g}", True))
    targets.append(Target(f"{which}: calls of an explanation, most", "", f"{max(x['calls'] for x in ours)}", True))
    reached = [line["of_ceiling"] for line in ours if "of_ceiling" in line]
    if reached:
        targets.append(
            at_least(
                f"{which}: share of the ceiling's R², median of {len(reached)} rows",
                WANTED_OF_CEILING,
                median(reached),
            )
        )
    return targets


def main(settings: argparse.Namespace) -> None:
    plan = Plan(contenders=tuple(settings.contenders), ceiling=CEILING if settings.ceiling else 0)
    if settings.quick:
        plan = Plan(2, 2, 2, 1024, plan.ceiling, plan.contenders)
    for family in settings.families:
        chosen = cells(family, settings.data, settings.tables, settings.roles)
        if settings.quick:
            chosen = [name for name in QUICK[family] if name in chosen] or chosen[:2]
        work = (delayed(measure)(family, name, settings.data, plan) for name in chosen)
        found = [lines for lines in Parallel(n_jobs=settings.jobs)(work) if lines]
        lines = [line for own in found for line in own]
        if not lines:
            continue
        roles = [role for role in ("chosen", "reported") if family == "tables"]
        groups = {role: [x for x in lines if TABLES[x["cell"].split("-")[0]][1] == role] for role in roles}
        print(table([s for which, some in {family: lines, **groups}.items() for s in summary(some, which)]), "\n")
        rows = [by_cell(own, own[0]["cell"], plan.contenders) for own in found]
        finish(result(family, settings), settings, rows, judge(family, lines))


def result(family: str, settings: argparse.Namespace) -> str:
    """Where the numbers are kept; those of a part do not replace those of all."""
    whole = settings.roles == "all" and not settings.tables and settings.contenders == list(CONTENDERS)
    return "fidelity" + f"-{family}" * (family != "tables") + "-part" * (not whole)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--tables", nargs="+", choices=TABLES, help="these alone")
    parser.add_argument("--roles", choices=("chosen", "reported", "all"), default="all", help="of the tables")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument(
        "--ceiling", action="store_true", help="fit boosted trees with pairs, to one row of each cell"
    )
    main(parser.parse_args())
