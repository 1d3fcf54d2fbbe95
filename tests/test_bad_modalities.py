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
        "split": lambda: vd.Words(split=broken)("a b c"),
        "front": lambda: vd.Tiles(front=broken)(SOUND),
        "separate": lambda: vd.Stems(separate=broken)(SOUND),
        "cut": lambda: vd.Windows(cut=broken)(SERIES),
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


SETTINGS_OF_REPRESENTERS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "words positions": (lambda: vd.Words(positions="yes"), ("positions", "True or False", "'yes'")),
    "words split": (lambda: vd.Words(split=5), ("split", "regular expression", "(start, stop)", "5")),
    "words broken split": (lambda: vd.Words(split="("), ("split", "regular expression", "(")),
    "words split of bytes": (lambda: vd.Words(split=re.compile(b" +")), ("split", "bytes", "' +'")),
    "words split in bytes": (lambda: vd.Words(split=b" +"), ("split", "regular expression", "b' +'")),
    "words mask": (lambda: vd.Words(mask=0), ("mask", "[MASK]", "0")),
    "words mask in bytes": (lambda: vd.Words(mask=b"?"), ("mask", "[MASK]", "b'?'")),
    "sentences split": (lambda: vd.Sentences(split=["."]), ("split", "regular expression", "['.']")),
    "sentences mask": (lambda: vd.Sentences(mask=0), ("mask", "0")),
    "superpixels n": (lambda: vd.Superpixels(n=1), ("n", "at least 2", "1")),
    "superpixels half n": (lambda: vd.Superpixels(n=2.5), ("n", "whole number", "2.5")),
    "superpixels segment by name": (lambda: vd.Superpixels(segment="slic"), ("segment", "Slic()", "'slic'")),
    "superpixels segment by class": (lambda: vd.Superpixels(segment=vd.Slic), ("segment", "Slic()")),
    "superpixels no segment": (lambda: vd.Superpixels(segment=None), ("segment", "Slic()", "None")),
    "superpixels axes": (lambda: vd.Superpixels(axes=3), ("axes", "one letter an axis", "3")),
    "two channel axes": (lambda: vd.Superpixels(axes="CHC"), ("axes", "one C", "'CHC'")),
    "no axes": (lambda: vd.Grid(2, 2, axes=""), ("axes", "one letter", "''")),
    "axes of another picture": (lambda: vd.Grid(2, 2, axes="HW")(IMAGE), ("'HW'", "(12, 16, 3)", "one letter")),
    "grid rows": (lambda: vd.Grid(0, 2), ("rows", "at least 1", "0")),
    "grid cols": (lambda: vd.Grid(2, "2"), ("cols", "whole number", "'2'")),
    "grid too fine": (lambda: vd.Grid(13, 2)(IMAGE), ("13 × 2", "12 × 16")),
    "tiles times": (lambda: vd.Tiles(times=0), ("times", "at least 1", "0")),
    "tiles bands": (lambda: vd.Tiles(bands=1.5), ("bands", "whole number", "1.5")),
    "tiles rate": (lambda: vd.Tiles(rate=-8000), ("rate", "positive", "-8000")),
    "tiles front": (lambda: vd.Tiles(front="mel"), ("front", "function", "'mel'")),
    "tiles front by class": (lambda: vd.Tiles(front=vd.Mel), ("front", "Mel")),
    "tiles time axis": (lambda: vd.Tiles(time_axis=0), ("time_axis", "-1", "-2", "0")),
    "tiles without a rate": (lambda: vd.Tiles()(SOUND), ("rate=", "front=", "vd.Mel()")),
    "mel rate": (lambda: vd.Mel(rate="high"), ("rate", "positive", "'high'")),
    "mel n_mels": (lambda: vd.Mel(n_mels=0), ("n_mels", "at least 1")),
    "mel fmin": (lambda: vd.Mel(fmin="a"), ("fmin", "positive", "'a'")),
    "mel fmax": (lambda: vd.Mel(fmax=-1), ("fmax", "positive", "-1")),
    "mel upside down": (lambda: vd.Mel(fmin=900.0, fmax=100.0), ("fmin < fmax", "900", "100")),
    "mel above the rate": (lambda: vd.Mel(rate=8000), ("half the rate", "4000", "8000")),
    "mel floor": (lambda: vd.Mel(floor=0), ("floor", "positive")),
    "slices n": (lambda: vd.Slices(n=0), ("n", "at least 1", "0")),
    "slices rate": (lambda: vd.Slices(rate="8k"), ("rate", "positive", "'8k'")),
    "stems separate": (lambda: vd.Stems(separate="drums"), ("separate", "function", "'drums'")),
    "stems times": (lambda: vd.Stems(times=0), ("times", "at least 1", "0")),
    "stems rate": (lambda: vd.Stems(rate=0), ("rate", "positive", "0")),
    "windows n": (lambda: vd.Windows(n=0), ("n", "at least 1", "0")),
    "windows cut by name": (lambda: vd.Windows(cut="change"), ("cut", "ChangePoints()", "'change'")),
    "windows cut by class": (lambda: vd.Windows(cut=vd.Bands), ("cut", "Bands()")),
    "windows cut a number": (lambda: vd.Windows(cut=5)(SERIES), ("cut", "steps", "5")),
    "windows cut at infinity": (lambda: vd.Windows(cut=[0, np.inf])(SERIES), ("cut", "steps", "inf")),
    "windows cut in words": (lambda: vd.Windows(cut=["a"])(SERIES), ("cut", "steps", "'a'")),
    "windows cut in halves": (lambda: vd.Windows(cut=[0, 2.5])(SERIES), ("rise", "60 steps", "2.5")),
    "windows cut that falls": (lambda: vd.Windows(cut=[0, 20, 10])(SERIES), ("rise", "[0, 20, 10]")),
    "windows cut beyond": (lambda: vd.Windows(cut=[0, 60])(SERIES), ("rise", "below the 60 steps")),
    "windows channels in a string": (lambda: vd.Windows(channels="xy"), ("channels", "list", "'xy'")),
    "windows too few channels": (lambda: vd.Windows(channels=["x"])(SERIES), ("2 channels", "['x']")),
    "windows channels twice": (lambda: vd.Windows(channels=["x", "x"])(SERIES), ("each once", "['x', 'x']")),
    "windows together": (lambda: vd.Windows(together="yes"), ("together", "True or False", "'yes'")),
    "windows time axis": (lambda: vd.Windows(time_axis=2), ("time_axis", "2")),
    "windows shortest": (lambda: vd.Windows(cut=vd.ChangePoints(shortest=0)), ("shortest", "at least 1", "0")),
    "fields of nothing": (lambda: vd.Fields({}), ("Fields", "mapping", "vd.Words()")),
    "fields in a list": (lambda: vd.Fields(["review"]), ("Fields", "mapping", "vd.Words()")),
    "fields by class": (lambda: vd.Fields({"review": vd.Words}), ("'review'", "vd.Words()")),
    "fields by name": (lambda: vd.Fields({"review": "words"}), ("'review'", "vd.Words()", "'words'")),
}


@pytest.mark.parametrize("name", SETTINGS_OF_REPRESENTERS)
def test_settings_of_representers(name: str) -> None:
    call, words = SETTINGS_OF_REPRESENTERS[name]
    check(call, vd.InputError, *words)


# Lists -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ("one text", ("list of texts", "str", "call explain")),
        (b"one text", ("list of texts", "bytes", "call explain")),
        (None, ("list of texts", "None")),
        (5, ("list of texts", "int")),
        (object(), ("list of texts", "object")),
        (np.float64(3), ("list of texts", "number")),
        ({"text": "a b"}, ("list of texts", "dict", "call explain")),
        (pd.DataFrame({"first column": ["a b"]}), ("list of texts", "table", "one of its columns")),
        ([], ("no texts", "empty")),
        (iter(()), ("no texts", "empty")),
        (["a b", "only"], ("number 1", "only one word")),
        (["a b", b"c d"], ("number 1", "bytes", "decode")),
        (["a b", None], ("number 1", "None")),
        (["a b", ["c d"]], ("number 1", "list")),
        (pd.Series(["a b", np.nan]), ("number 1", "float")),
    ],
    ids=str,
)
def test_lists_of_texts(X: Any, words: tuple[str, ...]) -> None:
    check(lambda: vd.explain_many(lambda X: [float(len(x)) for x in X], vd.Words(), X), vd.InputError, *words)
