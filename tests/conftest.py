"""What several test modules share: a browser, and small clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser import Chromium, started
from clusters import dask_cluster, ray_cluster, spark_cluster


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Debian's Chromium, started once; where there is none, the test is skipped, or fails if it is required."""
    found = started()
    yield found
    found.close()


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Any]:
    """A client of a Dask cluster of two processes."""
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """The module, connected to a cluster of two processes."""
    with ray_cluster() as module:
        yield module


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session of Spark that works in two processes."""
    with spark_cluster(tmp_path_factory.mktemp("spark")) as session:
        yield session
