"""SP-LIME on real explanations and on many: what it covers, how long it takes, whether it is the plain pick.

Coverage is worked out here, by plain code, from the weights of the explanations; so are the random picks.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import cells
import veridical as vd
from sets import NoDataError, documents, network

FILES = {"polarity": "sentences/rt_polarity.tsv", "adult": "tabular/adult.csv"}
N_TRAIN, N_PARTS, N_SAMPLES = 5000, 10, 256  # parts and samples of each explanation
BUDGET, DRAWS, SEED = 50, 200, 0
SIZES = (1000, 3000, 10_000, 30_000, 100_000)
VOCABULARY, ZIPF = 20_000, 1.1  # of the explanations that are made up
PLAIN = 500  # explanations on which the plain greedy pick is run too


def explained(name: str, path: Path, n: int) -> vd.Explanations:
    """Sparse explanations of instances the model was not trained on, all of class 1."""
    predict, represent, rows = (_polarity if name == "polarity" else _adult)(path, n)
    method = vd.Lime(n_samples=N_SAMPLES, n_features=N_PARTS, surrogate=vd.surrogates.Linear())
    return vd.explain_many(predict, represent, rows, target=1, method=method)


def _polarity(path: Path, n: int) -> tuple[Any, Any, Any]:
    texts, labels = documents("polarity", path)
    long = np.array([len(set(re.findall(r"\w+", text))) > N_PARTS for text in texts])
    texts, labels = texts[long], labels[long]
    order = np.random.default_rng(SEED).permutation(len(texts))
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + n]
    model = network(texts[train], labels[train], SEED)
    return model.predict_proba, vd.Words(split=r"\W+"), list(texts[test])


def _adult(path: Path, n: int) -> tuple[Any, Any, Any]:
    table = pd.read_csv(path).drop(columns=["split", "fnlwgt"]).sample(N_TRAIN + n, random_state=SEED)
    y = (table.pop("income") == ">50K").to_numpy().astype(int)
    words = list(table.select_dtypes(exclude="number").columns)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    model = make_pipeline(
        make_column_transformer((codes, words), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=SEED),
    )
    train, test = table.iloc[:N_TRAIN], table.iloc[N_TRAIN:]
    return model.fit(train, y[:N_TRAIN]).predict_proba, vd.Rows(table), test


def made_up(n: int, pattern: vd.Explanation, rng: np.random.Generator) -> vd.Explanations:
    """Explanations of a few parts each, out of many of which some are frequent and most are rare."""
    parts = [vd.records.Part(f"word {j}", f"word {j}", "word") for j in range(VOCABULARY)]
    law = 1 / np.arange(1, VOCABULARY + 1) ** ZIPF
    drawn = rng.choice(VOCABULARY, size=(n, 2 * N_PARTS), p=law / law.sum())
    found = []
    for row, weights in zip(drawn.tolist(), rng.normal(size=(n, N_PARTS)), strict=True):
        own = list(dict.fromkeys(row))[:N_PARTS]
        size = len(own)
        found.append(
            replace(
                pattern,
                parts=tuple(parts[j] for j in own),
                weights=weights[:size],
                intervals=np.zeros((size, 2)),
                view=None,
                recipe={},
            )
        )
    return vd.Explanations(tuple(found))


def matrix(explanations: vd.Explanations) -> Any:
    """|weights|, (n, parts) CSR."""
    column: dict[tuple[str, str, str], int] = {}
    rows, at, size = [], [], []
    for i, why in enumerate(explanations):
        for part, weight in zip(why.parts, why.weights, strict=True):
            if weight != 0:
                rows.append(i)
                at.append(column.setdefault((part.column, part.relation, part.name), len(column)))
                size.append(abs(float(weight)))
    return csr_matrix((size, (rows, at)), (len(explanations), len(column)))


def covered(W: Any, chosen: Sequence[int]) -> list[float]:
    """The share of all importance that the first, the first two, … of the chosen cover."""
    importance = np.sqrt(np.asarray(W.sum(axis=0)).ravel())
    seen, shares = np.zeros(len(importance), bool), []
    for i in chosen:
        seen[W.indices[W.indptr[i] : W.indptr[i + 1]]] = True
        shares.append(float(importance[seen].sum() / importance.sum()))
    return shares


def plain_greedy(W: Any, budget: int) -> list[int]:
    """Algorithm 2 as it is written: all gains anew at every step, of equal ones the first."""
    importance = np.sqrt(np.asarray(W.sum(axis=0)).ravel())
    has, seen, chosen = W.toarray() > 0, np.zeros(len(importance), bool), []
    for _ in range(min(budget, len(has))):
        gains = (has[:, ~seen] * importance[~seen]).sum(axis=1)
        gains[chosen] = -1
        best = int(np.argmax(gains >= gains.max() * (1 - 1e-10)))
        chosen.append(best)
        seen |= has[best]
    return chosen


def on_real(name: str, path: Path, n: int) -> dict[str, Any]:
    """What greedy and random picks cover of real explanations as the budget grows."""
    start = process_time()
    many = explained(name, path, n)
    explaining, W = process_time() - start, matrix(many)
    start = process_time()
    pick = vd.pick(many, BUDGET)
    seconds = process_time() - start
    rng = np.random.default_rng(SEED)
    random = np.array([covered(W, rng.permutation(len(many))[:BUDGET]) for _ in range(DRAWS)])
    few = vd.Explanations(many.items[:PLAIN])
    greedy = covered(W, pick.chosen)
    return {
        "n": len(many),
        "parts": W.shape[1],
        "explain_seconds": explaining,
        "seconds": seconds,
        "greedy": greedy,
        "random": random.mean(axis=0).tolist(),
        "random_sd": random.std(axis=0, ddof=1).tolist(),
        "same_coverage": bool(np.allclose(np.asarray(pick.coverage) / pick.total, greedy)),
        "same_as_plain": list(map(int, vd.pick(few, BUDGET).chosen)) == plain_greedy(matrix(few), BUDGET),
    }


def on_many(n: int, stored: bool) -> dict[str, Any]:
    """How long a pick of many explanations takes, held in memory or read from a file."""
    rng = np.random.default_rng([SEED, n])
    line = vd.explain(lambda X: X[:, 0], vd.Rows(rng.normal(size=(50, 2))), np.zeros(2))
    many = made_up(n, line, rng)
    with TemporaryDirectory() as folder:
        source: Any = many
        if stored:
            source = Path(folder) / "many.parquet"
            many.save(source)
        start, wall = process_time(), perf_counter()
        pick = vd.pick(source, BUDGET)
        found = {"seconds": process_time() - start, "wall": perf_counter() - wall}
    return {**found, "parts": int(matrix(many).shape[1]), "share": float(pick.coverage[-1] / pick.total)}


def measure(cell: cells.Cell, data: Path | None) -> dict[str, Any]:
    if cell["what"] in FILES:
        assert data is not None
        return on_real(cell["what"], data / FILES[cell["what"]], cell["n"])
    return on_many(cell["n"], cell["what"] == "stored")


def check(data: Path | None) -> None:
    if data is None:
        wanted = " and ".join(FILES.values())
        raise NoDataError(
            f"real explanations want {wanted}: name their folder by --data DIR, or take --made-up alone"
        )
    for name, file in FILES.items():
        if not (data / file).is_file():
            raise NoDataError(
                f"{name!r} wants {file}; looked for {data / file}, which is not there. Give another --data"
            )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with sentences/ and tabular/")
    parser.add_argument("--made-up", action="store_true", help="only explanations that need no data")
    parser.add_argument("--n", type=int, default=3000, help="real explanations of each set")
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="of what is made up")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "sp_lime_scale.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    if not hasattr(vd, "pick"):
        raise SystemExit("sp_lime_scale: wanted veridical with vd.pick; this one has none: install a newer one")
    try:
        if not settings.made_up:
            check(settings.data)
    except NoDataError as error:
        raise SystemExit(f"sp_lime_scale: {error}") from None
    results = cells.Results(settings.out, "sp_lime_scale", ("what", "n"))
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    wanted: list[cells.Cell] = [{"what": what, "n": n} for what in ("held", "stored") for n in settings.sizes]
    if not settings.made_up:
        wanted += [{"what": name, "n": settings.n} for name in FILES]
    cells.work(results, wanted, lambda cell: measure(cell, settings.data), resume=settings.resume, show=show)


def show(cell: cells.Cell) -> str:
    if "greedy" not in cell:
        return f"{cell['seconds']:.2f} s, {cell['parts']} parts, {cell['share']:.1%} covered"
    return (
        f"{cell['greedy'][9]:.1%} covered by ten, at random {cell['random'][9]:.1%}; the plain pick: "
        f"{'the same' if cell['same_as_plain'] else 'ANOTHER'}"
    )


if __name__ == "__main__":
    main(arguments().parse_args())
