"""Engines of clusters: the same bits as here, whatever table they are given; clear words where they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.attribute.many import CHUNK
from veridical.records import Floats

pytestmark = [  # theirs, of their own names, and of the next version of pandas
    pytest.mark.filterwarnings(r"ignore:.*:DeprecationWarning:ray\."),
    pytest.mark.filterwarnings(r"ignore:.*:FutureWarning:pyspark\."),
]
METHOD = vd.Lime(n_samples=64)
SIZES = (700, 0, 900, CHUNK - 500)  # of partitions: none is a chunk
OFFSETS = np.cumsum((0, *SIZES)).tolist()


def table() -> pd.DataFrame:
    rng, n = np.random.default_rng(0), sum(SIZES)
    made = pd.DataFrame({"age": rng.normal(50, 10, n).round(1), "visits": rng.integers(0, 9, n)})
    made["age"] = made["age"].where(rng.random(n) > 0.05)
    made["job"] = np.where(rng.random(n) < 0.05, None, rng.choice(["clerk", "cook", "smith"], n))
    made["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D")
    made["row"] = np.arange(n)
    return made


TABLE = table()
ROWS = vd.Rows(TABLE.drop(columns="row")[:300])
PIECES = [TABLE[start : start + size] for start, size in zip(OFFSETS, SIZES, strict=False)]


def piece(number: int) -> pd.DataFrame:
    return PIECES[number]


def predict(X: pd.DataFrame) -> Floats:
    score = X["age"].fillna(0).to_numpy(float) / 50 + (X["job"] == "cook").to_numpy(bool)
    return np.asarray(score + 0.1 * X["visits"].to_numpy(float) * (X["since"].dt.month > 6).to_numpy(bool))


def explained(X: Any, folder: Path, engine: Any = None) -> vd.Store:
    return vd.explain_many(
        predict, ROWS, X, method=METHOD, batch_size=1, engine=engine, store=folder, keep=["row"]
    )


def kept(store: vd.Store) -> list[int]:
    return list(dict.fromkeys(store.to_frame()["row"].tolist()))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> vd.Store:
    """What this process makes of the table."""
    return explained(TABLE, tmp_path_factory.mktemp("here") / "store")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    TABLE.to_parquet(path, row_group_size=500)
    return path


def check(engine: Any, X: Any, here: vd.Store, folder: Path) -> None:
    found = explained(X, folder, engine)
    assert found.fingerprint == here.fingerprint
    assert len(found.failures) == 0


def test_dask(dask_client: Any, here: vd.Store, file: Path, tmp_path: Path) -> None:
    import dask.dataframe as dd

    engine = vd.engines.Dask(dask_client)
    check(engine, TABLE, here, tmp_path / "memory")
    check(engine, file, here, tmp_path / "file")
    frame = dd.from_map(piece, range(len(PIECES)), meta=TABLE[:0])
    check(engine, frame, here, tmp_path / "frame")


def test_ray(ray: Any, here: vd.Store, file: Path, tmp_path: Path) -> None:
    engine = vd.engines.Ray()
    check(engine, TABLE, here, tmp_path / "memory")
    check(engine, file, here, tmp_path / "file")
    check(engine, ray.data.from_pandas(PIECES), here, tmp_path / "frame")


def test_spark(spark: Any, here: vd.Store, file: Path, tmp_path: Path) -> None:
    engine = vd.engines.Spark(spark)
    check(engine, TABLE, here, tmp_path / "memory")
    check(engine, file, here, tmp_path / "file")
    check(engine, spark.read.parquet(str(file)), here, tmp_path / "frame")
