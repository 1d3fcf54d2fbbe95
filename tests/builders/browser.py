"""A real browser for tests: pages are opened in Debian's Chromium, and what happens is written down.

Playwright runs on a thread of its own, for its event loop must not be in the way of other tests.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
REQUIRED = "VERIDICAL_BROWSER"  # set to "required", a missing browser is a failure instead of a skip


@dataclass(frozen=True)
class Look:
    """How a page is looked at."""

    dark: bool = False
    width: int = 1000
    height: int = 800
    scripts: bool = True  # whether the browser would run a script; ours have none
    media: str = "screen"  # or "print"
    scale: float = 1.0  # pixels of a screenshot a pixel of the page


@dataclass
class Seen:
    """What a page did besides being shown."""

    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)  # of anything but the page itself and data in it
    errors: list[str] = field(default_factory=list)  # what the console and the page complained about
    windows: list[str] = field(default_factory=list)  # pages that it opened


class Chromium:
    """One browser for all tests of a process."""

    def __init__(self, executable: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._driver, self._browser = self._thread.submit(_launched, executable).result()

    def visit(self, path: Path, work: Callable[[Any], T], look: Look | None = None) -> tuple[T, Seen]:
        """Open a file, let ``work`` do what it wants with the Playwright page, and say what else happened."""
        return self._thread.submit(_visited, self._browser, path, work, look or Look()).result()

    def close(self) -> None:
        self._thread.submit(self._browser.close).result()
        self._thread.submit(self._driver.stop).result()
        self._thread.shutdown()


def _launched(executable: str) -> tuple[Any, Any]:
    from playwright.sync_api import sync_playwright

    driver = sync_playwright().start()
    return driver, driver.chromium.launch(executable_path=executable, args=FLAGS)


def _visited(browser: Any, path: Path, work: Callable[[Any], T], look: Look) -> tuple[T, Seen]:
    seen, address = Seen(), path.resolve().as_uri()
    context = browser.new_context(
        color_scheme="dark" if look.dark else "light",
        viewport={"width": look.width, "height": look.height},
        java_script_enabled=look.scripts,
        device_scale_factor=look.scale,
    )
    try:
        context.set_default_timeout(600_000)  # a busy machine is no defect
        page = context.new_page()
        _watch(page, address, seen)
        context.on("page", lambda other: seen.windows.append(other.url))
        page.emulate_media(media=look.media)
        page.goto(address, wait_until="load")
        return work(page), seen
    finally:
        context.close()


def _watch(page: Any, address: str, seen: Seen) -> None:
    def ask(dialog: Any) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def fetched(request: Any) -> None:
        if request.url != address and not request.url.startswith("data:"):
            seen.requests.append(request.url)

    def said(message: Any) -> None:
        if message.type in {"error", "warning"}:
            seen.errors.append(message.text)

    page.on("dialog", ask)
    page.on("request", fetched)
    page.on("console", said)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))


def started() -> Chromium:
    """The browser, or the reason why tests cannot have one."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        import playwright.sync_api  # noqa: F401 - the first of two things that may be missing
    except ImportError:
        return _without("playwright is not installed: pip install 'veridical[dev]'")
    if executable is None:
        return _without("no Chromium is installed: scripts/chromium installs Debian's")
    return Chromium(executable)


def _without(reason: str) -> Any:
    if os.environ.get(REQUIRED) == "required":
        pytest.fail(f"{REQUIRED} says that pages are looked at for sure, but {reason}", pytrace=False)
    pytest.skip(reason)
