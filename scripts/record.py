"""Record what the library gives over all modalities, so that a refactoring can be held against it.

    python scripts/record.py TREE FOLDER          results of the code in TREE, as arrays and files in FOLDER
    python scripts/record.py --compare ONE OTHER  what differs between two such folders; exit code 1 if some does
    python scripts/record.py --near ONE OTHER     the same, but numbers may differ by a relative 1e-9

A result is an explanation (weights, intervals, names, verdict, notes); files are those of every record in the
gallery of the tests, in every format. Both trees must be recorded on the same machine, with the same packages.
"""

from __future__ import annotations

import filecmp
import math
import pickle
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
CHECKSUM = re.compile(r'"checksum": "[0-9a-f]+"')
SUFFIXES = (".json", ".parquet", ".html", ".svg", ".csv", ".txt")


def record(tree: Path, folder: Path) -> None:
    """Explain instances of all kinds by all methods in turns, and save every record in every format."""
    sys.path[:0] = [str(tree / "src"), str(tree)]
    warnings.simplefilter("ignore")
    import veridical as vd
    from tests import test_contracts as cases
    from tests.builders import gallery

    assert Path(vd.__file__).is_relative_to(tree), f"{vd.__file__} is not in {tree}"
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    methods = list(cases.METHODS.items())

    def keep(name: str, explain: Any, *given: Any, method: Any, rng: int) -> None:
        try:
            made = explain(*given, method=method, rng=rng)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
            return
        for i, why in enumerate(made if isinstance(made, (tuple, vd.Explanations)) else [made]):
            numbers = [why.intercept, why.prediction, why.local_prediction, why.fidelity, why.n_calls]
            found[f"{name}/{i}"] = {
                "arrays": [np.array(each, dtype=float) for each in (why.weights, why.intervals, numbers)],
                "words": [why.names, why.verdict.passed, why.verdict.sentence, why.notes],
            }

    for k, (name, (background, settings)) in enumerate(cases.BACKGROUNDS.items()):
        rows, x = vd.Rows(background, **settings), cases.row_of(background, 3)
        for called, method in (methods[(4 * k + j) % len(methods)] for j in range(4)):
            keep(f"row/{name}/{called}", vd.explain, cases.saturating, rows, x, method=method, rng=k)
        quick = vd.Lime(n_samples=256)
        keep(f"rows/{name}", vd.explain_many, cases.saturating, rows, background[:40], method=quick, rng=k)
    for k, (name, (representer, x)) in enumerate(cases.INSTANCES.items()):
        for called, method in (methods[(5 * k + j) % len(methods)] for j in range(5)):
            keep(f"kind/{name}/{called}", vd.explain, cases.strange, representer, x, method=method, rng=k)
    (folder / "results.pickle").write_bytes(pickle.dumps(found))
    for name, each in gallery.everything().items():
        (folder / f"{name}.repr").write_text(repr(each), encoding="utf-8")
        for suffix in SUFFIXES:
            with suppress(vd.VeridicalError):  # a format that this record does not have
                each.save(folder / f"{name}{suffix}")
    print(f"{len(found)} results and {sum(1 for _ in folder.iterdir()) - 1} files in {folder}")


def compare(one: Path, other: Path, tolerance: float = 0.0) -> list[str]:
    """The names of the results and files that are not the same: to the bit, or but for a tolerance."""
    first, second = (pickle.loads((folder / "results.pickle").read_bytes()) for folder in (one, other))
    names = first.keys() | second.keys()
    wrong = [name for name in names if not _same(first.get(name), second.get(name), tolerance)]
    files = {path.name for folder in (one, other) for path in folder.iterdir()} - {"results.pickle"}
    _, differing, missing = filecmp.cmpfiles(one, other, sorted(files), shallow=False)
    if tolerance:
        differing = [name for name in differing if not _reads_alike(one / name, other / name, tolerance)]
    return sorted(wrong) + differing + missing


def _same(one: Any, other: Any, tolerance: float) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return bool(one == other)
    pairs = list(zip(one["arrays"], other["arrays"], strict=True))
    if any(a.shape != b.shape for a, b in pairs):
        return False
    return one["words"] == other["words"] and all(_near(a, b, tolerance) for a, b in pairs)


def _near(one: Any, other: Any, tolerance: float) -> bool:
    """Numbers alike, relative to the largest of them that is finite."""
    if not tolerance:
        return np.array_equal(one, other, equal_nan=True)
    largest = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance * largest, equal_nan=True))


def _reads_alike(one: Path, other: Path, tolerance: float) -> bool:
    """Text that is the same but for numbers that are near each other."""
    try:
        first, second = (CHECKSUM.sub("", path.read_text(encoding="utf-8")) for path in (one, other))
    except UnicodeDecodeError:
        first, second = (str(pd.read_parquet(path).to_dict()) for path in (one, other))
    if NUMBER.sub("#", first) != NUMBER.sub("#", second):
        return False
    pairs = zip(map(float, NUMBER.findall(first)), map(float, NUMBER.findall(second)), strict=True)
    return all(math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) for a, b in pairs)


if __name__ == "__main__":
    if sys.argv[1] in ("--compare", "--near"):
        differing = compare(Path(sys.argv[2]), Path(sys.argv[3]), 1e-9 if sys.argv[1] == "--near" else 0.0)
        print("\n".join(differing) or "nothing differs")
        sys.exit(bool(differing))
    record(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
