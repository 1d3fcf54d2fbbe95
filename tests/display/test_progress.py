"""Long work shows how far it is where someone watches, and leaves nothing behind."""

from __future__ import annotations

import io
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical import api
from veridical.display.progress import Bar, Pace, Progress, counting


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def watched(monkeypatch: pytest.MonkeyPatch) -> Tty:
    """A terminal in the place of stderr, and no notebook; not as a fixture, for pytest sets stderr after those."""
    found = Tty()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setitem(sys.modules, "IPython", None)
    return found


def slow(clock: list[float], n: int, seconds: float) -> Iterator[int]:
    for i in range(n):
        yield i
        clock[0] += seconds


@pytest.mark.parametrize(
    ("pace", "words"),
    [
        (Pace(0, 40, "rows", 12.0, 0.0), "0 of 40 rows (0 %), 0:12 so far"),
        (Pace(30, 40, "rows", 60.0, 60.0), "30 of 40 rows (75 %), 0.5 rows/s, 0:20 left"),
        (Pace(30, 40, "rows", 65.0, 60.0), "30 of 40 rows (75 %), 0.5 rows/s, 0:15 left"),
        (Pace(30, 40, "rows", 99.0, 60.0), "30 of 40 rows (75 %), 0.5 rows/s, 0:00 left"),
        (Pace(20, 81, "calls, at most", 20, 20), "20 of at most 81 calls (25 %), 1 calls/s, at most 1:01 left"),
        (Pace(12340, None, "calls", 7.0, 7.0), "12,340 calls, 1,763 calls/s, 0:07 so far"),
        (Pace(40, 80, "rows", 4e4, 4e4), "40 of 80 rows (50 %), 0.001 rows/s, 11:06:40 left"),
        (Pace(0, 0, "rows", 7.0, 7.0), "0 rows, 0:07 so far"),
    ],
)  # fmt: skip
def test_words(pace: Pace, words: str) -> None:
    assert str(pace) == words


def test_a_terminal_has_one_line_that_is_gone_in_the_end(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = watched(monkeypatch)
    assert list(Progress()(slow(clock, 10, 0.5), total=10)) == list(range(10))
    lines = screen.getvalue().split("\r")
    assert lines[1] == "3 of 10 rows (30 %), 2 rows/s, 0:04 left"
    assert lines[-2].strip() == ""
    assert len(lines[-2]) == len(lines[-3])
    assert lines[-1] == ""


def test_silence_otherwise(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    dumb = io.StringIO()
    assert len(list(Progress()(slow(clock, 9, 0.1), total=9))) == 9
    monkeypatch.setattr(sys, "stderr", dumb)
    assert len(list(Progress()(slow(clock, 9, 10.0), total=9))) == 9
    assert screen.getvalue() == dumb.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    assert list(Progress()([1, 2], total=2)) == [1, 2]


def test_a_notebook_has_a_bar_without_widgets(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []

    class Handle:
        def update(self, bundle: Any, raw: bool) -> None:
            seen.append(bundle)

    def display(bundle: Any, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        seen.append(bundle)
        return Handle()

    shell = types.SimpleNamespace(kernel=1)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=display))
    assert len(list(Progress()(slow(clock, 5, 1.0), total=5))) == 5
    assert seen[0]["text/plain"] == "2 of 5 rows (40 %), 1 rows/s, 0:03 left"
    assert '<progress value="2" max="5"' in seen[0]["text/html"]
    assert seen[-1] == {"text/plain": "", "text/html": ""}


def test_one_long_item_is_seen_to_take_long(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    progress = Progress("decisions")
    for _ in progress(slow(clock, 2, 1.0), total=2):
        clock[0] += 5
        progress.beat()
    progress.beat()
    assert "0 of 2 decisions (0 %), 0:05 so far" in screen.getvalue()
    assert screen.getvalue().endswith(" \r")


def test_an_interruption_leaves_no_broken_line(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    track = Progress()(slow(clock, 10, 1.0), total=10)
    for _ in range(5):
        next(track)
    track.close()
    assert screen.getvalue().endswith(" \r")


def test_interrupted_in_the_model(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    rows, asked = np.random.default_rng(0).normal(size=(200, 14)), list[int]()

    def predict(X: Any) -> Any:
        clock[0] += 2
        asked.append(len(X))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return X @ np.arange(14.0) + np.sin(40 * X).sum(axis=1)

    with pytest.raises(KeyboardInterrupt):
        vd.explain(predict, vd.Rows(rows), rows[0], method=linear_lime(until=vd.TopK(probability=0.9999)))
    assert "of at most 8,192 calls" in screen.getvalue()
    assert screen.getvalue().endswith(" \r")


def test_explain_counts_what_the_model_has_answered() -> None:
    rows, counts = np.random.default_rng(0).normal(size=(200, 3)), []

    def track(work: Any, total: int) -> Iterator[Any]:
        counts.append(total)
        for i in work:
            counts.append(i)
            yield i

    why = vd.explain(lambda X: X[:, 0], vd.Rows(rows), rows[0], method=vd.Lime(n_samples=300), progress=track)
    quiet = vd.explain(lambda X: X[:, 0], vd.Rows(rows), rows[0], method=vd.Lime(n_samples=300))
    assert counts[0] == 300
    assert counts[-1] == why.n_calls
    np.testing.assert_array_equal(why.weights, quiet.weights)


def test_nothing_is_counted_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 3))

    def count(track: Any, total: Any) -> Any:
        raise AssertionError("it counts")

    monkeypatch.setattr(api, "counting", count)
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    vd.explain(lambda X: X[:, 0], vd.Rows(rows), rows[0])
    watched(monkeypatch)
    with pytest.raises(AssertionError, match="it counts"):
        vd.explain(lambda X: X[:, 0], vd.Rows(rows), rows[0])


GRID, PICTURES = vd.Grid(4, 4), np.random.default_rng(0).normal(size=(12, 8, 8))


def square(X: Any) -> Any:
    return 1 / (1 + np.exp(-np.asarray(X)[:, 2:4, 2:4].sum(axis=(1, 2))))


def first(X: Any) -> Any:
    return np.asarray(X)[:, 0]


@pytest.mark.parametrize(
    "call",
    [
        lambda track: vd.group(first, vd.Rows(PICTURES[:, 0]), PICTURES[:, 0], k=2, progress=track),
        lambda track: vd.debug(first, vd.Rows(PICTURES[:, 0]), PICTURES[:, 0], check="mismatch", progress=track),
        lambda track: vd.believe(square, GRID, PICTURES[0], vd.explain(square, GRID, PICTURES[0]), progress=track),
        lambda track: vd.causes(square, GRID, PICTURES[:2], kind=vd.edits.DrawnShape(), progress=track),
        lambda track: vd.veracity(
            square, GRID, PICTURES, methods=vd.methods.Undo(), causes=vd.edits.SwappedParts(), progress=track
        ),
    ],
    ids=["group", "debug", "believe", "causes", "veracity"],
)
def test_everything_long_can_be_tracked(call: Any) -> None:
    heard = []

    def track(work: Any, total: int | None) -> Iterator[Any]:
        for item in work:
            heard.append(item)
            yield item

    call(track)
    assert len(heard) >= 12


def test_a_track_that_cannot_be_closed(clock: list[float]) -> None:
    with counting(lambda work, total: iter(list(range(5))), None) as hear:
        hear(3)
        hear(30)


def test_rich_shows_a_bar_and_takes_it_away(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    screen = watched(monkeypatch)
    pytest.importorskip("rich")
    assert len(list(Progress("[b]rows", Bar)(slow(clock, 5, 1.0), total=5))) == 5
    assert "[b]rows (80 %)" in screen.getvalue()
    assert screen.getvalue().endswith("\x1b[2K")
