"""What all tests share: calm surroundings, a browser, and small clusters."""

from __future__ import annotations

import gc
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from browser import Chromium, started
from clusters import dask_cluster, ray_cluster, spark_cluster

CLUSTERS = {"dask_client", "ray", "spark", "chromium"}  # fixtures that are expensive to start

settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")  # a busy machine is no defect


def pytest_configure() -> None:
    """Hear Ctrl-C, and let everything that tests start hear it: a shell makes background jobs ignore it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a cluster or a fixture of their module run in one process (``--dist loadgroup``)."""
    for item in items:
        settings = getattr(getattr(item, "callspec", None), "params", {}).values()  # a test may ask by name
        asked = {"dask_client" if each == "dask" else each for each in settings if isinstance(each, str)}
        used = CLUSTERS & {*getattr(item, "fixturenames", ()), *asked}
        known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        if used:
            item.add_marker(pytest.mark.xdist_group(min(used)))
        elif any(each.scope == "module" for found in known.values() for each in found):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What a failed test leaves open is closed now, where its warnings cannot fail another test."""
    failed = item.session.testsfailed
    result = yield
    if item.session.testsfailed > failed:
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gc.collect()
        finally:
            sys.unraisablehook = hook
    return result


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
