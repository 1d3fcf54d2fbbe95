"""Engines by their names: a cluster that runs, or one that is started and stopped with the command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeAlias

import joblib

from veridical.cli.names import named
from veridical.errors import InputError, check_whole, require
from veridical.scale import engines
from veridical_command import asked

Start: TypeAlias = Callable[[int, str | None], AbstractContextManager[Any]]  # so many workers, or at an address
HERE = "local"  # the engine where none is named


def engine_of(given: asked.Scale) -> AbstractContextManager[Any]:
    """The engine that is asked for, while the command runs."""
    workers = given.workers
    if workers is None:
        workers = 1 if given.engine is None else joblib.cpu_count()
    check_whole("--workers", workers)
    start: Start = named(given.engine or HERE, ENGINES, "engine")
    if given.address is not None and start is _local:
        raise InputError("--address is that of a cluster: say whose by --engine dask, ray or spark")
    return start(workers, given.address)


def _local(workers: int, address: str | None) -> AbstractContextManager[Any]:
    """Processes of this machine."""
    return nullcontext(engines.Local(n_jobs=workers))


@contextmanager
def _dask(workers: int, address: str | None) -> Iterator[Any]:
    distributed = require("distributed", extra="dask")
    own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}  # any free port
    with distributed.Client(address, **({} if address else own)) as client:
        yield engines.Dask(client)


@contextmanager
def _ray(workers: int, address: str | None) -> Iterator[Any]:
    ray = require("ray", extra="ray")
    own = {"num_cpus": workers, "include_dashboard": False}
    ray.init(address=address, logging_level="ERROR", log_to_driver=False, **({} if address else own))
    try:
        yield engines.Ray()
    finally:
        ray.shutdown()


@contextmanager
def _spark(workers: int, address: str | None) -> Iterator[Any]:
    settings = {"spark.ui.showConsoleProgress": "false"}
    if address is None:
        settings["spark.ui.enabled"] = "false"
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of this machine run in this Python
    made = require("pyspark.sql", extra="spark").SparkSession.builder.appName("veridical")
    started = made.master(address or f"local[{workers}]").config(map=settings).getOrCreate()
    started.sparkContext.setLogLevel("FATAL")  # what fails is told in the end
    try:
        yield engines.Spark(started)
    finally:
        started.stop()


ENGINES: dict[str, Start] = {
    HERE: _local,
    "dask": _dask,
    "ray": _ray,
    "spark": _spark,
}
