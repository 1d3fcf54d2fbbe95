"""Flips: of rows where some value of some one column turns the answer, how many does vd.flips find, in how many calls?

The exhaustive search asks about every value that the background has of every column, one column at a time. Where the
output is a number, a flip crosses the median of the background's answers. Every change that vd.flips returns is put
into the row here, without the library, and the model is asked. ``size`` is the share of the background's rows between
the old value and the new one (of a category, the share of rows with another one than the new), of the smallest change
of one column. Settings were chosen on four tables, as those of the benchmark of fidelity; targets are of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import veridical as vd
from cases import (
    MOST_HELD_OUT,
    MOST_TRAINING,
    SHIPPED,
    TABLES,
    Predict,
    is_number,
    known_values,
    read_table,
    table_model,
)
from tables import Target, arguments, at_least, at_most, finish

KNOWN = {**TABLES, "digits": ("classes", "reported")}  # 64 pixels as columns
MODELS = ("lr", "rf", "gb")
QUICK_ROWS = 4
FOUND, CALLS = 0.95, 300  # what is wanted


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its background, and rows that it has not seen."""

    predict: Predict
    train: pd.DataFrame
    rows: pd.DataFrame
    level: float | None  # that has to be crossed; None for classes

    def flipped(self, row: pd.DataFrame, changed: pd.DataFrame) -> Any:
        """Which of some rows the model answers otherwise (n,)."""
        own, others = self.predict(row), self.predict(changed)
        if self.level is None:
            return others.argmax(axis=1) != own.argmax()
        return others[:, 0] >= self.level if own[0, 0] < self.level else others[:, 0] <= self.level


def problem(dataset: str, model: str, data: Path | None, n: int) -> Problem:
    """Rows are drawn at random."""
    X, y = read_table(dataset, data)
    regression = KNOWN[dataset][0] == "number"
    train, rest, known, _ = train_test_split(X, y, random_state=0, test_size=0.3)
    train, known, rest = train[:MOST_TRAINING], known[:MOST_TRAINING], rest[:MOST_HELD_OUT]
    seen = np.all([known_values(train[name], rest[name]) for name in X.columns], axis=0)
    train, rest = train.reset_index(drop=True), rest[seen].reset_index(drop=True)
    fitted = table_model(model, regression, train).fit(train, known)
    if not regression:
        return Problem(fitted.predict_proba, train, rest[:n], None)
    level = float(np.median(fitted.predict(train)))
    return Problem(lambda rows: fitted.predict(rows)[:, None], train, rest[:n], level)


def repeated(row: pd.DataFrame, n: int) -> pd.DataFrame:
    return row.iloc[np.zeros(n, int)].reset_index(drop=True)


def exhaustive(one: Problem, row: pd.DataFrame) -> tuple[float, int]:
    """The size of the smallest flip of one column among all values of the background, and the calls."""
    best, n_calls = np.inf, 1
    for name in one.train:
        values = one.train[name].drop_duplicates()
        changed = repeated(row, len(values))
        changed[name] = values.to_numpy()
        n_calls += len(values)
        for value in values[one.flipped(row, changed)]:
            best = min(best, size(one.train[name], row[name].iloc[0], value))
    return best, n_calls


def size(column: pd.Series[Any], own: Any, new: Any) -> float:
    if not is_number(column) or pd.isna(own) or pd.isna(new):
        return 1 - float((column.isna() if pd.isna(new) else column == new).mean())
    known = column.dropna()
    return float(((known > own) & (known <= new) | (known < own) & (known >= new)).mean())


def measure(dataset: str, model: str, data: Path | None, n: int) -> dict[str, Any]:
    one, found = problem(dataset, model, data, n), []
    represent, to = vd.Rows(one.train), one.level
    for i in range(len(one.rows)):
        row = one.rows.iloc[[i]]
        if to is not None and one.predict(row)[0, 0] == to:
            continue
        start = process_time()
        flips = vd.flips(one.predict, represent, row, to=to)
        seconds = process_time() - start
        good = 0
        for flip in flips:
            changed = repeated(row, 1)
            for name, value in flip.changes.items():
                changed[name] = pd.Series([value], dtype=changed[name].dtype)
            good += bool(one.flipped(row, changed)[0])
        single = [flip for flip in flips if len(flip.changes) == 1]
        sizes = [size(one.train[c], row[c].iloc[0], v) for flip in single for c, v in flip.changes.items()]
        best, n_exhaustive = exhaustive(one, row)
        found.append((len(flips), good, min(sizes, default=np.inf), best, flips.n_calls, n_exhaustive, seconds))
    n_flips, n_good, ours, best, calls, every, seconds = np.array(found).T
    possible, both = np.isfinite(best), np.isfinite(best) & np.isfinite(ours)
    return {
        "table": dataset,
        "model": model,
        "role": KNOWN[dataset][1],
        "columns": one.train.shape[1],
        "rows": len(found),
        "flips_exist": int(possible.sum()),
        "found": int((possible & (n_flips > 0)).sum()),
        "found_in_one_column": int(both.sum()),
        "found_besides": int((~possible & (n_flips > 0)).sum()),
        "changes": int(n_flips.sum()),
        "verified": int(n_good.sum()),
        "size": float(np.median(ours[both])) if both.any() else None,
        "size_exhaustive": float(np.median(best[both])) if both.any() else None,
        "calls_median": float(np.median(calls)),
        "calls_most": int(calls.max()),
        "calls_exhaustive": float(np.median(every)),
        "seconds_median": float(np.median(seconds)),
        "curve": calls.astype(int).tolist(),
    }


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    found = list[Target]()
    for role in ("reported", "chosen"):
        some = [row for row in rows if row["role"] == role]
        if not some:
            continue
        total = {
            key: sum(row[key] for row in some)
            for key in ("flips_exist", "found", "found_in_one_column", "changes", "verified")
        }
        calls = float(np.median([n for row in some for n in row["curve"]]))
        told = (
            f"{len({row['table'] for row in some})} tables × {len({row['model'] for row in some})} models, {role}"
        )
        share = total["found_in_one_column"] / max(total["flips_exist"], 1)
        rows_told = f"of {total['flips_exist']} rows that one column flips, share found by one column"
        if role == "reported":
            found += [
                at_least(f"{told}: {rows_told}", FOUND, share),
                Target(
                    f"{told}: changes that the model verifies",
                    "all",
                    f"{total['verified']} of {total['changes']}",
                    total["verified"] == total["changes"],
                ),
                at_most(f"{told}: calls per row, median", CALLS, calls),
            ]
        else:
            found += [
                Target(f"{told}: {rows_told}", "", f"{share:.3g}", True),
                Target(f"{told}: calls per row, median", "", f"{calls:.3g}", True),
            ]
    return found


def main(settings: argparse.Namespace) -> None:
    names = [name for name in KNOWN if settings.roles in ("all", KNOWN[name][1])]
    if settings.quick:
        names = ["wine", "breast_cancer"]
    missing = [name for name in names if settings.data is None and name not in SHIPPED]
    if missing:
        print(f"No --data DIR: {', '.join(missing)} are left out.\n")
    n = QUICK_ROWS if settings.quick else settings.rows
    rows = [measure(name, model, settings.data, n) for name in names if name not in missing for model in MODELS]
    finish("flips", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, default=20, help="per table and model")
    parser.add_argument("--roles", choices=("all", "chosen", "reported"), default="all")
    main(parser.parse_args())
