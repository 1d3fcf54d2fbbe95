"""What all tests share: calm surroundings, a browser, and small clusters."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.builders.browser import Chromium, started
from tests.builders.clusters import dask_cluster, ray_cluster, spark_cluster

settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")  # a busy machine is no defect


def pytest_configure() -> None:
    """Have terminals of 80 columns, and hear Ctrl-C, which a shell makes background jobs ignore."""
    os.environ["COLUMNS"] = "80"
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share a cluster, a browser or a fixture of their module run in one process, the others anywhere.

    What xdist has for this, marks of groups, does nothing with pytest 9.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Together(config, log)


def group_of(nodeid: str) -> str:
    """The name of what a test must be run together with."""
    file = nodeid.partition("::")[0]
    text = _text(file)
    if "dask_client" in text:
        return "clusters"
    if "chromium" in text:
        return "browser"
    return file if 'scope="module"' in text else nodeid


@cache
def _text(file: str) -> str:
    path = Path(__file__).parents[1] / file
    return path.read_text(encoding="utf-8") if path.is_relative_to(Path(__file__).parent) else ""


_states: dict[np.random.Generator, Any] = {}  # of the generators of test modules, as importing leaves them


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage: a third of the time would go into modules that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    for module in {item.module for item in session.items if isinstance(item, pytest.Function)}:
        for value in vars(module).values():
            if isinstance(value, np.random.Generator):
                _states.setdefault(value, value.bit_generator.state)
    gc.collect()
    gc.freeze()  # what was imported stays: no collection has to look at it again


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test draws the same numbers, whatever was run before it."""
    random.seed(0)
    np.random.seed(0)
    for generator, state in _states.items():
        generator.bit_generator.state = state
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


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


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """matplotlib's pyplot without a figure, whatever other tests have left open; nothing may be shown."""
    module = pytest.importorskip("matplotlib.pyplot")
    module.switch_backend("Agg")
    module.close("all")
    monkeypatch.setattr(module, "show", lambda: pytest.fail("shown"))
    yield module
    module.close("all")


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
