"""What several test modules share: a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import Chromium, started


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Debian's Chromium, started once; where there is none, the test is skipped, or fails if it is required."""
    found = started()
    yield found
    found.close()
