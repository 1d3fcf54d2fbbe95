"""Many rows: rows a second by one and two processes, memory, a million rows from files, and engines side by side.

Each line is a fresh process that explains rows of Parquet files into a store; its memory is the resident size of
it and of all that it starts, together, ten times a second. The model is a random forest: 100 trees, 30 columns.
The floor is that model's own time for the rows. lime is timed on few rows, one process, at its 5,000 samples.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import veridical as vd
from tables import Target, arguments, at_least, at_most, finish

D, A_FILE, BLOCK = 30, 100_000, 1024
ROWS, MOST, FEWER = 100_000, 1_000_000, 50_000
ENGINES = ("local", "dask", "ray", "spark")
NAMES = [f"x{j}" for j in range(D)]


def table(n: int, seed: int) -> pd.DataFrame:
    """Rows whose columns go together a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) + 0.5 * rng.normal(size=(n, 1))
    return pd.DataFrame(X, columns=NAMES)


def labels(X: pd.DataFrame) -> Any:
    x = X.to_numpy()
    noise = np.random.default_rng(0).normal(size=len(x))
    return (
        x[:, 0] + x[:, 1] * x[:, 2] + np.sin(2 * x[:, 3]) + (x[:, 4] > 0.3) + 0.3 * x[:, 5:10].sum(axis=1) > noise
    )


def prepare(folder: Path, n: int) -> None:
    """The model with its background, and files of rows."""
    X = table(5000, 0)
    model = RandomForestClassifier(100, min_samples_leaf=5, random_state=0, n_jobs=1).fit(X, labels(X))
    joblib.dump((model, X), folder / "model.joblib")
    for i, start in enumerate(range(0, n, A_FILE)):
        rows = table(min(A_FILE, n - start), 1 + i)
        rows.to_parquet(folder / f"rows-{i:02}.parquet", row_group_size=2**14)


@contextmanager
def engine(name: str, n_workers: int, folder: Path) -> Iterator[Any]:
    """An engine with its workers, ready to work."""
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.builders.clusters import dask_cluster, ray_cluster, spark_cluster

    clusters: Mapping[str, Any] = {
        "local": lambda: nullcontext(),
        "dask": lambda: dask_cluster(n_workers),
        "ray": lambda: ray_cluster(n_workers),
        "spark": lambda: spark_cluster(folder, n_workers),
    }
    made: Mapping[str, Any] = {
        "local": lambda _: vd.engines.Local(n_workers),
        "dask": lambda client: vd.engines.Dask(client),
        "ray": lambda _: vd.engines.Ray(),
        "spark": lambda session: vd.engines.Spark(session),
    }
    with clusters[name]() as cluster:
        yield made[name](cluster)


def child(name: str, n_workers: int, n_rows: int, folder: Path) -> None:
    """In the fresh process: explain rows into a store, and say what that came to."""
    model, background = joblib.load(folder / "model.joblib")
    represent, X = vd.Rows(background), source(folder, n_rows)
    begin = perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as place, engine(name, n_workers, Path(place)) as doing:
        ready = perf_counter()
        store = vd.explain_many(
            model.predict_proba,
            represent,
            X,
            engine=doing,
            store=Path(place, "store"),
            progress=lambda rows, total: rows,
        )
        done = perf_counter()
        size = sum(path.stat().st_size for path in Path(place, "store").rglob("*") if path.is_file())
        print(
            json.dumps(
                {
                    "rows": len(store),
                    "start_s": ready - begin,
                    "seconds": done - ready,
                    "rows_s": len(store) / (done - ready),
                    "calls": store.manifest["n_calls"],
                    "bytes_a_row": size / len(store),
                    "fingerprint": store.fingerprint,
                }
            ),
            flush=True,
        )


def source(folder: Path, n_rows: int) -> Any:
    """The files of the first rows; a file of its own where they are fewer than one file has."""
    files = sorted(folder.glob("rows-*.parquet"))
    if n_rows % A_FILE == 0:
        return [str(path) for path in files[: n_rows // A_FILE]]
    path = folder / f"first-{n_rows}.parquet"
    if not path.exists():
        pd.read_parquet(files[0])[:n_rows].to_parquet(path, row_group_size=2**14)
    return str(path)


def measure(name: str, n_workers: int, n_rows: int, folder: Path) -> dict[str, Any]:
    """One fresh process, watched."""
    words = [sys.executable, __file__, "--child", name, str(n_workers), str(n_rows), str(folder)]
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(words, stdout=said) as process:
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, resident(process.pid))
            sleep(0.1)
        said.seek(0)
        lines = said.read().splitlines()
    if process.returncode:
        raise SystemExit(process.returncode)
    return {"engine": name, "workers": n_workers, **json.loads(lines[-1]), "peak_mb": peak}


def resident(root: int) -> float:
    """Resident size of a process and of all that it started, in MB; 0 where the system does not tell."""
    parents: dict[int, int] = {}
    sizes: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            sizes[int(entry.name)] = (
                int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
            )
        except (OSError, IndexError):  # it has ended meanwhile
            continue
    own, before = {root}, 0
    while len(own) > before:
        before = len(own)
        own |= {pid for pid, parent in parents.items() if parent in own}
    return sum(sizes.get(pid, 0.0) for pid in own)


def floor(folder: Path, n_rows: int) -> float:
    """Seconds of the bare model for rows, in blocks as they are asked."""
    model, _ = joblib.load(folder / "model.joblib")
    X = pd.read_parquet(sorted(folder.glob("rows-*.parquet"))[0])[: min(n_rows, A_FILE)]
    begin = perf_counter()
    for start in range(0, len(X), BLOCK):
        model.predict_proba(X[start : start + BLOCK])
    return (perf_counter() - begin) * n_rows / len(X)


def lime_rate(folder: Path, n_rows: int) -> float | None:
    """Rows a second of the lime package, by one process; None where it is not there."""
    try:
        from lime.lime_tabular import LimeTabularExplainer
    except ImportError:
        return None
    model, background = joblib.load(folder / "model.joblib")
    explainer = LimeTabularExplainer(background.to_numpy(), feature_names=NAMES, random_state=0)
    rows = table(n_rows, 1).to_numpy()

    def predict(X: Any) -> Any:
        return model.predict_proba(pd.DataFrame(X, columns=NAMES))

    explainer.explain_instance(rows[0], predict, num_features=10)
    begin = perf_counter()
    for row in rows:
        explainer.explain_instance(row, predict, num_features=10)
    return n_rows / (perf_counter() - begin)


def local(settings: argparse.Namespace, folder: Path) -> None:
    """One and two processes, and ever more rows."""
    n = 4 * BLOCK if settings.quick else ROWS
    lines = [measure("local", 1, n, folder), measure("local", 2, n, folder)]
    lines[1:1] = [measure("local", 2, some, folder) for some in (n // 4, n // 2)]
    bare, lime = floor(folder, n), lime_rate(folder, 2 if settings.quick else 20)
    one, (quarter, _, two) = lines[0], lines[1:]
    targets = [
        at_least("two processes: efficiency", 0.8, two["rows_s"] / one["rows_s"] / 2),
        at_most("memory of all rows, times that of a quarter of them", 1.25, two["peak_mb"] / quarter["peak_mb"]),
        Target("rows a second, one process", "", f"{one['rows_s']:.0f}", True),
        Target("rows a second, two processes", "", f"{two['rows_s']:.0f}", True),
        Target("inputs asked of the model, beyond a row each", "", str(one["calls"] - one["rows"]), True),
        Target("the same content by one and two processes", "yes", *same([one, two])),
        Target("times the bare model's time for the rows, one process", "", f"{one['seconds'] / bare:.3g}", True),
    ]
    if lime is not None:
        targets.append(Target("lime, rows a second, one process", "", f"{lime:.3g}", True))
        targets.append(Target("times lime's rows a second, one process", "", f"{one['rows_s'] / lime:.0f}", True))
    finish("scale", settings, [shown(line) for line in lines], targets)


def engines(settings: argparse.Namespace, folder: Path) -> None:
    """The same rows on every engine, with two workers each."""
    n = 4 * BLOCK if settings.quick else FEWER
    lines = [measure(name, 2, n, folder) for name in settings.engines]
    first = lines[0]
    targets = [Target("the same content on all engines", "yes", *same(lines))]
    for line in lines[1:]:
        over = line["seconds"] / first["seconds"]
        targets.append(Target(f"{line['engine']}: times the time of {first['engine']}", "", f"{over:.3g}", True))
    finish("scale-engines", settings, [shown(line) for line in lines], targets)


def million(settings: argparse.Namespace, folder: Path) -> None:
    """A million rows of ten files."""
    line = measure("local", 2, 8 * BLOCK if settings.quick else MOST, folder)
    targets = [
        at_most("peak memory of all processes, MB", 2000, line["peak_mb"]),
        at_most("inputs asked of the model a row", 1.05, line["calls"] / line["rows"]),
        Target("seconds", "", f"{line['seconds']:.0f}", True),
        Target("millions of bytes stored", "", f"{line['bytes_a_row'] * line['rows'] / 1e6:.0f}", True),
    ]
    finish("scale-million", settings, [shown(line)], targets)


def same(lines: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """Whether the stores hold the same."""
    equal = len({line["fingerprint"] for line in lines}) == 1
    return "yes" if equal else "no", equal


def shown(line: Mapping[str, Any]) -> dict[str, Any]:
    return {**line, "fingerprint": str(line["fingerprint"])[:12]}


PARTS = {"local": local, "engines": engines, "million": million}


def main(settings: argparse.Namespace) -> None:
    if settings.child:
        name, n_workers, n_rows, place = settings.child
        child(name, int(n_workers), int(n_rows), Path(place))
        return
    parts = [part for part in PARTS if part != "million"] if settings.parts is None else settings.parts
    with tempfile.TemporaryDirectory(dir=settings.folder) as place:
        prepare(Path(place), MOST if "million" in parts and not settings.quick else A_FILE)
        for part in parts:
            PARTS[part](settings, Path(place))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=None, help="all but the million by default")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument(
        "--folder", default=None, help="where files and stores are for a while; 2 GB for a million rows"
    )
    parser.add_argument("--child", nargs=4, default=None, help=argparse.SUPPRESS)
    main(parser.parse_args())
