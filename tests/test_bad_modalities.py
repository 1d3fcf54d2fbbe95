"""Texts, pictures, sounds, series and records that cannot be explained: the error says why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd

RNG = np.random.default_rng(0)
IMAGE = RNG.random((12, 16, 3))
SOUND = RNG.normal(size=4000)
SERIES = RNG.normal(size=(60, 2))
SPECTROGRAM = RNG.normal(size=(16, 30))


def check(call: Callable[[], Any], error: type[Exception], *words: str) -> str:
    """The call raises this error, and its message has all of the words."""
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, vd.VeridicalError)
    message = str(caught.value)
    for word in words:
        assert word in message, f"{word!r} is not in: {message}"
    return message


# Fills -----------------------------------------------------------------------------------------------------

FILLED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "picture": (lambda fill: vd.Grid(2, 2, fill=fill), IMAGE),
    "spectrogram": (lambda fill: vd.Tiles(2, 2, fill=fill), SPECTROGRAM),
    "recording": (lambda fill: vd.Slices(4, fill=fill), SOUND),
    "series": (lambda fill: vd.Windows(4, fill=fill), SERIES),
}


@pytest.mark.parametrize("what", FILLED)
def test_fills(what: str) -> None:
    represent, x = FILLED[what]
    for fill in ("mean", b"mean", None, vd.PartMean):
        check(
            lambda fill=fill: represent(fill)(x), vd.InputError, "fill", "PartMean()", f"another {what}", str(fill)
        )
    check(lambda: represent(np.zeros((3, 3)))(x), vd.InputError, "(3, 3)", str(x.shape), what, "shape")
    check(lambda: represent(np.full(x.shape, np.nan))(x), vd.InputError, "NaN")
    check(lambda: represent([[1], [2, 3]])(x), vd.InputError, "unequal")
    check(lambda: represent(np.full(x.shape, "a"))(x), vd.InputError, "real numbers")


def test_functions_that_fail_say_which_they_are() -> None:
    """Their own error is the cause."""

    def broken(*_: Any) -> Any:
        raise KeyError("lost")

    calls: dict[str, Callable[[], Any]] = {
        "fill": lambda: vd.Grid(2, 2, fill=broken)(IMAGE),
        "segment": lambda: vd.Superpixels(segment=broken)(IMAGE),
    }
    for name, call in calls.items():
        check(call, vd.InputError, name, "KeyError", "lost")
        with pytest.raises(vd.InputError) as caught:
            call()
        assert isinstance(caught.value.__cause__, KeyError)


# Settings --------------------------------------------------------------------------------------------------

SETTINGS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "constant in words": (lambda: vd.Constant("black"), ("Constant", "number", "'black'")),
    "constant of nothing": (lambda: vd.Constant(None), ("Constant", "number", "None")),
    "constant of nan": (lambda: vd.Constant(np.nan), ("Constant", "finite", "nan")),
    "constant table": (lambda: vd.Constant(((1, 2), (3, 4))), ("Constant", "one a channel")),
    "constants of other channels": (
        lambda: vd.Grid(2, 2, fill=vd.Constant((1, 2)))(IMAGE),
        ("(2,)", "3 channels"),
    ),
    "noise in words": (lambda: vd.Noise("a"), ("seed of Noise", "'a'")),
    "negative noise": (lambda: vd.Noise(-1), ("seed of Noise", "-1")),
    "no blur": (lambda: vd.Blur(0), ("sigma of Blur", "positive", "0")),
    "blur in words": (lambda: vd.Blur("much"), ("sigma of Blur", "'much'")),
    "inpaint": (lambda: vd.Inpaint(2), ("detail of Inpaint", "8", "2")),
    "interpolate a picture": (lambda: vd.Grid(2, 2, fill=vd.Interpolate())(IMAGE), ("series", "Inpaint()")),
    "compactness": (lambda: vd.Slic(compactness=0), ("compactness of Slic", "positive", "0")),
    "sigma": (lambda: vd.Slic(sigma="a"), ("sigma of Slic", "'a'")),
    "negative sigma": (lambda: vd.Felzenszwalb(sigma=-1.0), ("sigma of Felzenszwalb", "-1.0")),
    "scale": (lambda: vd.Felzenszwalb(scale="a"), ("scale of Felzenszwalb", "'a'")),
    "min_size": (lambda: vd.Felzenszwalb(min_size=2.5), ("min_size of Felzenszwalb", "2.5")),
    "kernel_size": (lambda: vd.Quickshift(kernel_size=None), ("kernel_size of Quickshift", "None")),
    "max_dist": (lambda: vd.Quickshift(max_dist=-3), ("max_dist of Quickshift", "-3")),
    "ratio": (lambda: vd.Quickshift(ratio="a"), ("ratio of Quickshift", "'a'")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    call, words = SETTINGS[name]
    check(call, vd.InputError, *words)
