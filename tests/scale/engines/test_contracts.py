"""Engines of clusters: the same bits as here, whatever table they are given; clear words where they cannot."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.methods.many import CHUNK
from veridical.records import Floats
from veridical.scale.engines.spark_engine import _abbreviate
from veridical.scale.sources import chunks_of, slices

pytestmark = [  # theirs, of their own names, and of the next version of pandas
    pytest.mark.filterwarnings(r"ignore:.*:DeprecationWarning:ray\."),
    pytest.mark.filterwarnings(r"ignore:.*:FutureWarning:pyspark\."),
]
METHOD = linear_lime(n_samples=64)
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


def silent(work: Any, total: int | None = None) -> Any:
    return work


def explained(X: Any, folder: Path, engine: Any = None, progress: Any = silent) -> vd.Store:
    return vd.explain_many(
        predict, ROWS, X, method=METHOD, batch_size=1, engine=engine, store=folder, keep=["row"], progress=progress
    )


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
    assert len(found.failed) == 0


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


class Counted:
    """A model that writes down where it was unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        (self.folder / f"{os.getpid()}-{os.urandom(4).hex()}").touch()

    def __call__(self, X: Any) -> Floats:
        return np.asarray(X)[:, 0] * 2.0


@pytest.fixture(params=["dask", "ray", "spark"])
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "dask":
        return vd.engines.Dask(request.getfixturevalue("dask_client"))
    if request.param == "ray":
        request.getfixturevalue("ray")
        return vd.engines.Ray()
    return vd.engines.Spark(request.getfixturevalue("spark"))


def test_the_model_travels_once_to_a_worker(engine: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(5 * CHUNK, 2))
    model = Counted(tmp_path)
    many = vd.explain_many(
        model, vd.Rows(X[:200]), X, method=linear_lime(n_samples=16), batch_size=1, engine=engine
    )
    assert len(many) == len(X)
    times = Counter(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert 1 <= len(times) <= 2
    assert set(times.values()) == {1}


def stopped(work: Any, total: int | None = None) -> Iterator[Any]:
    """Progress that is interrupted after the first row."""
    yield next(iter(work))
    raise KeyboardInterrupt


def test_a_run_that_is_stopped_leaves_the_cluster_free_and_goes_on(
    engine: Any, here: vd.Store, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        explained(TABLE, tmp_path / "store", engine, progress=stopped)
    check(engine, TABLE, here, tmp_path / "store")


def test_a_job_that_all_workers_lost_is_sent_again(dask_client: Any, here: vd.Store, tmp_path: Path) -> None:
    def kill(work: Any, total: int | None = None) -> Iterator[Any]:
        for i, done in enumerate(work):
            if i == 0:
                for process in dask_client.run(os.getpid).values():
                    os.kill(process, signal.SIGKILL)
            yield done

    found = explained(TABLE, tmp_path / "store", vd.engines.Dask(dask_client), progress=kill)
    assert found.fingerprint == here.fingerprint


@pytest.mark.parametrize(
    ("module", "name"), [("distributed", "Dask"), ("ray", "Ray"), ("pyspark.sql", "Spark")], ids=lambda text: text
)
def test_an_engine_that_is_not_installed(module: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    given = () if name == "Ray" else ("client",)
    with pytest.raises(vd.errors.MissingPackage, match=rf"'veridical\[{name.lower()}\]'"):
        getattr(vd.engines, name)(*given)


def test_wrong_objects_of_dask(dask_client: Any) -> None:
    from distributed import Client

    with pytest.raises(
        vd.errors.InputError, match=r"not LocalCluster: give vd\.engines\.Dask\(Client\(cluster\)\)"
    ):
        vd.engines.Dask(dask_client.cluster)
    other = Client(dask_client.scheduler.address, set_as_default=False)
    engine = vd.engines.Dask(other)
    other.close()
    with pytest.raises(vd.errors.InputError, match="the Dask client is closed: make another"):
        vd.explain_many(predict, ROWS, TABLE, engine=engine, method=linear_lime())


def test_wrong_objects_of_spark(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(vd.errors.InputError, match=r"Spark wants a SparkSession .* not SparkContext"):
        vd.engines.Spark(spark.sparkContext)
    engine = vd.engines.Spark(spark)
    monkeypatch.setattr(spark.sparkContext, "_jsc", None)
    with pytest.raises(vd.errors.InputError, match="the Spark session is stopped: make another"):
        vd.explain_many(predict, ROWS, TABLE, engine=engine, method=linear_lime())


class Angry:
    """A model that works in this process only."""

    def __init__(self) -> None:
        self.here = os.getpid()

    def __call__(self, X: Any) -> Floats:
        if os.getpid() != self.here:
            self.refuse()
        return np.asarray(X)[:, 0]

    def refuse(self) -> None:
        raise KeyError("no")


class Deadly(Angry):
    """A model that ends the first other process that it comes to."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark = mark

    def refuse(self) -> None:
        if not self.mark.exists():
            self.mark.touch()
            os._exit(1)


def test_a_worker_of_spark_that_dies_loses_nothing(spark: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    model, engine = Deadly(tmp_path / "died"), vd.engines.Spark(spark)
    many = vd.explain_many(model, vd.Rows(X), X, method=linear_lime(n_samples=16), engine=engine)
    assert (tmp_path / "died").exists()
    assert [why.prediction for why in many] == X[:, 0].tolist()


def test_what_spark_says_is_told_without_traces() -> None:
    java = (
        "An error occurred while calling z:runJob.\n: SparkException: Python worker exited.\n\tat org.apache.X\n"
    )
    assert _abbreviate(java) == "An error occurred while calling z:runJob. : SparkException: Python worker exited."
    python = "An exception was thrown:\nTraceback (most recent call last):\n  File x\nKeyError: 1\n"
    assert _abbreviate(python) == "An exception was thrown: KeyError: 1"


def test_a_factory_makes_its_model_anew_in_each_run(engine: Any, tmp_path: Path) -> None:
    X, file = np.random.default_rng(0).normal(size=(20, 2)), tmp_path / "weights.npy"

    def make() -> Any:
        weights = np.load(file)
        return lambda X: X @ weights

    for weights in ([1.0, 0.0], [0.0, 1.0]):
        np.save(file, np.array(weights))
        many = vd.explain_many(vd.Factory(make), vd.Rows(X), X, method=vd.Occlusion(), engine=engine)
        np.testing.assert_array_equal(np.any([e.weights != 0 for e in many], axis=0), np.array(weights) > 0)


def test_what_a_model_raises_far_away_is_told_as_here(engine: Any) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(vd.errors.ModelError, match=r"^row 0: predict raised KeyError on input 0: 'no'"):
        vd.explain_many(Angry(), vd.Rows(X), X, method=linear_lime(n_samples=16), engine=engine)


def test_tables_of_another_engine(dask_client: Any, ray: Any, spark: Any) -> None:
    import dask.array as da
    import dask.dataframe as dd

    frame, engine = dd.from_pandas(TABLE, npartitions=2), vd.engines.Dask(dask_client)
    words = r"X is a DataFrame of dask: pass engine=vd\.engines\.Dask\(client\)"
    for other in (None, vd.engines.Local(2), vd.engines.Ray()):
        with pytest.raises(vd.errors.InputError, match=words):
            vd.explain_many(predict, ROWS, frame, engine=other, method=linear_lime())
    with pytest.raises(vd.errors.InputError, match=r"of ray: pass engine=vd\.engines\.Ray\(\)"):
        vd.explain_many(predict, ROWS, ray.data.from_pandas(TABLE), engine=engine, method=linear_lime())
    with pytest.raises(vd.errors.InputError, match=r"of pyspark: pass engine=vd\.engines\.Spark\(session\)"):
        vd.explain_many(predict, ROWS, spark.range(3), engine=engine, method=linear_lime())
    with pytest.raises(vd.errors.InputError, match="X is a Array of dask: give its rows as a dask DataFrame"):
        vd.explain_many(predict, ROWS, da.ones((3, 4)), engine=engine, method=linear_lime())
    with pytest.raises(vd.errors.InputError, match="X is a RDD of Spark"):
        vd.explain_many(
            predict,
            ROWS,
            spark.sparkContext.parallelize([1]),
            engine=vd.engines.Spark(spark),
            method=linear_lime(),
        )


def test_tables_without_rows(dask_client: Any, ray: Any, spark: Any) -> None:
    import dask.dataframe as dd

    empty = {
        vd.engines.Dask(dask_client): dd.from_pandas(TABLE[:0], npartitions=1),
        vd.engines.Ray(): ray.data.from_pandas(TABLE[:0]),
        vd.engines.Spark(spark): spark.range(0),
    }
    for engine, frame in empty.items():
        with pytest.raises(vd.errors.InputError, match="there are no rows to explain"):
            vd.explain_many(predict, ROWS, frame, engine=engine, method=linear_lime())


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_slices_are_all_rows_in_order(lengths: list[int], size: int) -> None:
    rows = [(block, row) for block, length in enumerate(lengths) for row in range(length)]
    found = [
        [(cut.block, row) for cut in cuts for row in range(cut.start, cut.stop)] for cuts in slices(lengths, size)
    ]
    assert list(chain.from_iterable(found)) == rows
    assert all(len(chunk) == size for chunk in found[:-1])
    chunks = list(chunks_of(lengths, size, lambda cuts: lambda: cuts))
    assert [(c.number, c.start, c.stop - c.start) for c in chunks] == [
        (i, i * size, len(chunk)) for i, chunk in enumerate(found)
    ]
