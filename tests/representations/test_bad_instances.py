"""Texts, pictures, sounds, series and records that cannot be explained: the error says why, and what to do."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.contracts import Spy, assert_same, bits, check

RNG = np.random.default_rng(0)
IMAGE = RNG.random((12, 16, 3))
SOUND = RNG.normal(size=4000)
SERIES = RNG.normal(size=(60, 2))
SPECTROGRAM = RNG.normal(size=(16, 30))


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
    for fill in ("mean", b"mean", None, vd.fills.PartMean):
        check(
            lambda fill=fill: represent(fill)(x),
            vd.errors.InputError,
            "fill",
            "PartMean()",
            f"another {what}",
            str(fill),
        )
    check(lambda: represent(np.zeros((3, 3)))(x), vd.errors.InputError, "(3, 3)", str(x.shape), what, "shape")
    check(lambda: represent(np.full(x.shape, np.nan))(x), vd.errors.InputError, "NaN")
    check(lambda: represent([[1], [2, 3]])(x), vd.errors.InputError, "unequal")
    check(lambda: represent(np.full(x.shape, "a"))(x), vd.errors.InputError, "real numbers")


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
        check(call, vd.errors.InputError, name, "KeyError", "lost")
        with pytest.raises(vd.errors.InputError) as caught:
            call()
        assert isinstance(caught.value.__cause__, KeyError)


# Settings --------------------------------------------------------------------------------------------------

SETTINGS: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "constant in words": (lambda: vd.fills.Constant("black"), ("Constant", "number", "'black'")),
    "constant of nothing": (lambda: vd.fills.Constant(None), ("Constant", "number", "None")),
    "constant of nan": (lambda: vd.fills.Constant(np.nan), ("Constant", "finite", "nan")),
    "constant table": (lambda: vd.fills.Constant(((1, 2), (3, 4))), ("Constant", "one per channel")),
    "constants of other channels": (
        lambda: vd.Grid(2, 2, fill=vd.fills.Constant((1, 2)))(IMAGE),
        ("(2,)", "3 channels"),
    ),
    "noise in words": (lambda: vd.fills.Noise("a"), ("seed of Noise", "'a'")),
    "negative noise": (lambda: vd.fills.Noise(-1), ("seed of Noise", "-1")),
    "no blur": (lambda: vd.fills.Blur(0), ("sigma of Blur", "positive", "0")),
    "blur in words": (lambda: vd.fills.Blur("much"), ("sigma of Blur", "'much'")),
    "inpaint": (lambda: vd.fills.Inpaint(2), ("detail of Inpaint", "8", "2")),
    "compactness": (lambda: vd.segments.Slic(compactness=0), ("compactness of Slic", "positive", "0")),
    "sigma": (lambda: vd.segments.Slic(sigma="a"), ("sigma of Slic", "'a'")),
    "negative sigma": (lambda: vd.segments.Felzenszwalb(sigma=-1.0), ("sigma of Felzenszwalb", "-1.0")),
    "scale": (lambda: vd.segments.Felzenszwalb(scale="a"), ("scale of Felzenszwalb", "'a'")),
    "min_size": (lambda: vd.segments.Felzenszwalb(min_size=2.5), ("min_size of Felzenszwalb", "2.5")),
    "kernel_size": (lambda: vd.segments.Quickshift(kernel_size=None), ("kernel_size of Quickshift", "None")),
    "max_dist": (lambda: vd.segments.Quickshift(max_dist=-3), ("max_dist of Quickshift", "-3")),
    "ratio": (lambda: vd.segments.Quickshift(ratio="a"), ("ratio of Quickshift", "'a'")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings(name: str) -> None:
    call, words = SETTINGS[name]
    check(call, vd.errors.InputError, *words)


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
    "superpixels segment by class": (lambda: vd.Superpixels(segment=vd.segments.Slic), ("segment", "Slic()")),
    "superpixels no segment": (lambda: vd.Superpixels(segment=None), ("segment", "Slic()", "None")),
    "superpixels axes": (lambda: vd.Superpixels(axes=3), ("axes", "one letter per axis", "3")),
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
    "tiles front by class": (lambda: vd.Tiles(front=vd.sounds.Mel), ("front", "Mel")),
    "tiles time axis": (lambda: vd.Tiles(time_axis=0), ("time_axis", "-1", "-2", "0")),
    "tiles without a rate": (lambda: vd.Tiles()(SOUND), ("rate=", "front=", "vd.sounds.Mel()")),
    "mel rate": (lambda: vd.sounds.Mel(rate="high"), ("rate", "positive", "'high'")),
    "mel n_mels": (lambda: vd.sounds.Mel(n_mels=0), ("n_mels", "at least 1")),
    "mel fmin": (lambda: vd.sounds.Mel(fmin="a"), ("fmin", "positive", "'a'")),
    "mel fmax": (lambda: vd.sounds.Mel(fmax=-1), ("fmax", "positive", "-1")),
    "mel upside down": (lambda: vd.sounds.Mel(fmin=900.0, fmax=100.0), ("fmin < fmax", "900", "100")),
    "mel above the rate": (lambda: vd.sounds.Mel(rate=8000), ("half the rate", "4000", "8000")),
    "mel floor": (lambda: vd.sounds.Mel(floor=0), ("floor", "positive")),
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
    "windows shortest": (
        lambda: vd.Windows(cut=vd.bins.ChangePoints(shortest=0)),
        ("shortest", "at least 1", "0"),
    ),
    "fields of nothing": (lambda: vd.Fields({}), ("Fields", "mapping", "vd.Words()")),
    "fields in a list": (lambda: vd.Fields(["review"]), ("Fields", "mapping", "vd.Words()")),
    "fields by class": (lambda: vd.Fields({"review": vd.Words}), ("'review'", "vd.Words()")),
    "fields by name": (lambda: vd.Fields({"review": "words"}), ("'review'", "vd.Words()", "'words'")),
}


@pytest.mark.parametrize("name", SETTINGS_OF_REPRESENTERS)
def test_settings_of_representers(name: str) -> None:
    call, words = SETTINGS_OF_REPRESENTERS[name]
    check(call, vd.errors.InputError, *words)


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
        (pd.DataFrame({"first column": ["a b"]}), ("list of texts", "table", "one of its columns")),
        ([], ("no texts", "empty")),
        (iter(()), ("no texts", "empty")),
        ([b"a b", b"c d"], ("number 0", "bytes", "decode")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_lists_of_texts(X: Any, words: tuple[str, ...]) -> None:
    check(
        lambda: vd.explain_many(lambda X: [float(len(x)) for x in X], vd.Words(), X), vd.errors.InputError, *words
    )


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (["a b", "?!"], "row 1: no word"),
        (["a b", b"c d"], "row 1: .*bytes.*decode"),
        (["a b", None], "row 1: .*None"),
        (["a b", ["c d"]], "row 1: .*list"),
        (pd.Series(["a b", np.nan]), "row 1: .*nan.*fill it in"),
        ({"first": "a b", "second": None}, "row second: .*None"),
    ],
    ids=["short", "bytes", "None", "list", "Series", "dict"],
)
def test_lists_with_one_that_is_no_text(X: Any, words: str) -> None:
    with pytest.warns(vd.errors.RowsFailedWarning, match=words):
        assert len(vd.explain_many(lambda X: [float(len(x)) for x in X], vd.Words(), X)) == 1


# Instances -------------------------------------------------------------------------------------------------

PRICES = pd.DataFrame({"price": RNG.gamma(2, 5, 50), "rooms": RNG.integers(1, 6, 50)})
MIXED = vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES[["price"]])})
NAN_IMAGE = np.where(np.arange(16)[:, None] == 3, np.nan, IMAGE)

ALONE: dict[str, tuple[Any, Any]] = {
    "word": (vd.Words(), "good"),
    "word twice": (vd.Words(), "good good"),
    "character": (vd.Words(split=""), "a"),
    "sentence": (vd.Sentences(), "All in one."),
    "segment": (vd.Superpixels(segment=np.zeros((12, 16), int), fill=vd.fills.Constant(0)), IMAGE),
    "rectangle": (vd.Grid(1, 1, fill=vd.fills.Constant(0)), IMAGE),
    "tile": (vd.Tiles(1, 1), SPECTROGRAM),
    "slice": (vd.Slices(1), SOUND),
    "stem": (vd.Stems(separate=lambda s: [s]), SOUND),
    "window": (vd.Windows(1, fill=vd.fills.Constant(0)), SERIES[:, 0]),
    "nothing to cut": (
        vd.Windows(5, cut=vd.bins.ChangePoints(shortest=40), fill=vd.fills.Constant(0)),
        SERIES[:, 0],
    ),
}


@pytest.mark.parametrize("case", ALONE)
def test_a_part_alone_has_the_plain_difference(case: str) -> None:
    representer, x = ALONE[case]
    here = representer(x)
    assert len(here.parts) == 1
    own, without = (
        next(iter(here.keeping(np.array([[kept]]), np.random.SeedSequence(0))[0:1])) for kept in (1, 0)
    )

    def size(inputs: Any) -> Any:
        return [float(np.sum(np.abs(each)) if hasattr(each, "shape") else len(str(each))) for each in inputs]

    (before, after), why = size([own, without]), vd.explain(size, representer, x)
    assert before > after
    assert why.weights == pytest.approx([before - after])
    assert why.intervals == pytest.approx(np.array([[before - after] * 2]))
    assert (why.verdict.label, why.n_calls) == ("reliable", 3)


TEXTS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "empty": (vd.Words(), "", ("empty", "nothing to explain")),
    "blank": (vd.Words(), " \n\t", ("empty",)),
    "no word": (vd.Words(), "?!", ("no word", "nothing to take away", 'split=""')),
    "bytes": (vd.Words(), b"good film", ("bytes", "decode")),
    "bytearray": (vd.Sentences(), bytearray(b"good film"), ("bytes", "decode")),
    "None": (vd.Words(), None, ("a text", "None", "fill it in")),
    "nan": (vd.Words(), np.nan, ("a text", "nan", "fill it in")),
    "list": (vd.Words(), ["good film"], ("a text", "list", "explain_many")),
    "number": (vd.Words(), 5, ("a text", "int", "str")),
}
PICTURES: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "nan": (vd.Superpixels(), NAN_IMAGE[:12], ("picture", "NaN", "of 576", "replace")),
    "infinite": (vd.Grid(2, 2), np.full((4, 4), np.inf), ("NaN or infinity", "16 of 16")),
    "other labels": (
        vd.Superpixels(segment=np.zeros((3, 3), int)),
        IMAGE,
        ("(3, 3)", "(12, 16)", "one label per pixel"),
    ),
    "labels with channels": (
        vd.Superpixels(segment=np.zeros((12, 16, 3), int)),
        IMAGE,
        ("(12, 16, 3)", "(12, 16)"),
    ),
    "fractional labels": (vd.Superpixels(segment=np.full((12, 16), 0.5)), IMAGE, ("labels", "whole numbers")),
    "labels of nan": (vd.Superpixels(segment=np.full((12, 16), np.nan)), IMAGE, ("labels", "NaN")),
    "labels in words": (vd.Superpixels(segment=np.full((12, 16), "a")), IMAGE, ("labels", "real numbers")),
    "unequal labels": (vd.Superpixels(segment=[[0], [1, 2]]), IMAGE, ("labels", "unequal")),
    "a number of labels": (vd.Superpixels(segment=5), IMAGE, ("labels", "()", "one label per pixel")),
    "wrong labels of a function": (vd.Superpixels(segment=lambda x: x), IMAGE, ("labels",)),
    "no labels of a function": (vd.Superpixels(segment=lambda x: None), IMAGE, ("labels", "None")),
    "empty": (vd.Grid(2, 2), np.zeros((0, 4)), ("empty", "(0, 4)")),
    "one axis": (vd.Grid(2, 2), np.zeros(9), ("two to four axes", "(9,)")),
    "five axes": (vd.Grid(2, 2), np.zeros((2,) * 5), ("two to four axes", "axes=")),
    "a batch of one": (vd.Grid(2, 2), IMAGE[None], ("batch of one", "x[0]", "axes=")),
    "unequal rows": (vd.Grid(2, 2), [[1, 2], [3]], ("unequal length",)),
    "words": (vd.Grid(2, 2), "cat.png", ("picture", "array", "str")),
    "None": (vd.Superpixels(), None, ("picture", "None")),
    "array of words": (vd.Grid(2, 2), np.full((4, 4), "a"), ("real numbers",)),
    "complex": (vd.Grid(2, 2), np.ones((4, 4), complex), ("real numbers", "complex")),
    "five places": (
        vd.Superpixels(axes="TZHWC"),
        np.ones((2, 3, 4, 5, 3)),
        ("Slic", "three axes", "vd.Grid(4, 4)"),
    ),
    "a volume by trees": (
        vd.Superpixels(segment=vd.segments.Felzenszwalb(), axes="ZHW"),
        IMAGE,
        ("Felzenszwalb", "Slic()"),
    ),
    "a volume by modes": (
        vd.Superpixels(segment=vd.segments.Quickshift(), axes="ZHW"),
        IMAGE,
        ("Quickshift", "Slic()"),
    ),
}
SOUNDS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "silent": (vd.Slices(4), np.zeros(100), ("silent", "0")),
    "silent, one level": (vd.Stems(), np.full(5000, 0.5), ("silent", "0.5")),
    "silent stereo": (vd.Slices(4), np.zeros((2, 100)), ("silent",)),
    "silent tiles": (vd.Tiles(rate=8000), np.zeros(100), ("silent",)),
    "flat spectrogram": (vd.Tiles(2, 2), np.ones((8, 8)), ("same everywhere", "nothing to explain")),
    "too short": (vd.Slices(10), SOUND[:5], ("5 samples", "10 slices", "fewer")),
    "one sample": (vd.Slices(2), SOUND[:1], ("too short", "1 samples")),
    "empty": (vd.Slices(2), SOUND[:0], ("too short", "0 samples")),
    "too short for tiles": (vd.Tiles(rate=8000), SOUND[:50], ("50 samples", "5 blocks", "fewer times")),
    "too short for stems": (vd.Stems(), SOUND[:100], ("too short", "100 samples", "2048", "vd.Slices()")),
    "too short for mel": (
        vd.Tiles(front=vd.sounds.Mel()),
        SOUND[:100],
        ("too short", "100 samples", "n_fft", "1024"),
    ),
    "few frames": (vd.Tiles(5, 4), SPECTROGRAM[:, :3], ("16 bands", "3 frames", "4 × 5", "fewer")),
    "few bands": (vd.Tiles(5, 4), SPECTROGRAM[:3], ("3 bands", "4 × 5")),
    "four axes": (vd.Tiles(2, 2), np.zeros((1, 1, 8, 8)), ("(bands, frames)", "(1, 1, 8, 8)")),
    "stereo stems": (vd.Stems(), np.stack([SOUND, SOUND]), ("(samples,)", "(2, 4000)", "mix")),
    "nan": (vd.Slices(4), np.full(100, np.nan), ("recording", "NaN", "replace")),
    "unsigned": (vd.Slices(4), np.arange(100, dtype=np.uint8), ("signed", "uint8")),
    "words": (vd.Tiles(), "song.wav", ("array", "str")),
    "unequal bands": (vd.Tiles(2, 2), [[1, 2], [3]], ("recording or spectrogram", "unequal length")),
    "unequal channels": (vd.Slices(2), [[1, 2], [3]], ("recording", "unequal length")),
    "nothing": (vd.Tiles(), None, ("recording or spectrogram", "None")),
    "a number": (vd.Tiles(), 5.0, ("(bands, frames)", "()")),
    "unequal stems": (vd.Stems(separate=lambda s: {"a": s, "b": s[:-1]}), SOUND, ("'b'", "(3999,)", "(4000,)")),
    "stems of nan": (vd.Stems(separate=lambda s: {"a": s, "b": s * np.nan}), SOUND, ("'b'", "NaN")),
    "stems in words": (vd.Stems(separate=lambda s: {"a": s, "b": "drums"}), SOUND, ("'b'", "array", "str")),
    "complex stems": (vd.Stems(separate=lambda s: {"a": s * 1j}), SOUND, ("'a'", "real numbers")),
    "no stems": (vd.Stems(separate=lambda s: {}), SOUND, ("no stem",)),
    "stems are a number": (vd.Stems(separate=lambda s: 3), SOUND, ("separate", "mapping", "int")),
    "front of words": (vd.Tiles(front=lambda s: "mel"), SOUND, ("spectrogram", "array", "str")),
    "front of one axis": (vd.Tiles(front=lambda s: s), SOUND, ("(bands, frames)", "(4000,)")),
}
SERIES_: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "shorter than its windows": (vd.Windows(10), SERIES[:7], ("7 steps", "10 windows", "fewer")),
    "shorter than its changes": (
        vd.Windows(10, cut=vd.bins.ChangePoints()),
        SERIES[:7],
        ("7 steps", "10 windows"),
    ),
    "shorter than its bands": (vd.Windows(10, cut=vd.Bands()), SERIES[:7], ("7 steps", "10 bands", "fewer")),
    "empty": (vd.Windows(2), SERIES[:0], ("(t, c)", "(0, 2)")),
    "three axes": (vd.Windows(2), SERIES[None], ("(t, c)", "(1, 60, 2)")),
    "a number": (vd.Windows(2), 5.0, ("(t,)", "()")),
    "nan": (vd.Windows(2), np.full(9, np.nan), ("series", "NaN", "9 of 9")),
    "words": (vd.Windows(2), ["a", "b", "c"], ("series", "real numbers")),
    "dates": (vd.Windows(2), pd.date_range("2020", periods=9), ("series", "real numbers", "datetime")),
    "unequal": (vd.Windows(2), [[1, 2], [3]], ("series", "unequal length")),
}
RECORDS: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "missing field": (MIXED, {"price": 3.0, "title": "x"}, ("'review'", "price, title")),
    "missing column": (MIXED, {"review": "a b"}, ("'price'", "it has review")),
    "missing text": (MIXED, {"review": None, "price": 3.0}, ("'review'", "None", "fill it in")),
    "missing price": (MIXED, {"review": "a b", "price": None}, ("'price'", "missing")),
    "bytes": (MIXED, {"review": b"a b", "price": 3.0}, ("'review'", "bytes", "decode")),
    "word for a price": (MIXED, {"review": "a b", "price": "high"}, ("'price'", "'high'")),
    "not a record": (MIXED, "a b", ("record", "dict", "str")),
    "a list": (MIXED, ["a b", 3.0], ("record", "dict", "list")),
    "None": (MIXED, None, ("record", "NoneType")),
    "two rows": (
        MIXED,
        pd.DataFrame({"review": ["a", "b"], "price": [1.0, 2.0]}),
        ("one record", "2", "explain_many"),
    ),
    "no rows": (MIXED, pd.DataFrame({"review": [], "price": []}), ("one record", "0")),
    "nothing to take away": (vd.Fields({"a": vd.Words()}), {"a": "..."}, ("anything to take away", "longer")),
    "one column twice": (
        vd.Fields({"price": vd.Rows(PRICES[["price"]]), "all": vd.Rows(PRICES)}),
        {"price": 3.0, "rooms": 2},
        ("same column", "price", "one field only"),
    ),
}
INSTANCES = {"text": TEXTS, "picture": PICTURES, "sound": SOUNDS, "series": SERIES_, "record": RECORDS}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, cases in INSTANCES.items() for name in cases])
def test_instances(kind: str, name: str) -> None:
    """Alone, and as one of a list, of which the number is told; the model is not asked about it."""
    represent, x, words = INSTANCES[kind][name]
    asked: list[Any] = []
    message = check(lambda: vd.explain(asked.append, represent, x), vd.errors.InputError, *words)
    assert len(message) > 20
    if not isinstance(x, pd.DataFrame):
        check(lambda: vd.explain_many(asked.append, represent, [x]), vd.errors.InputError, "number 0", *words)
    assert not asked


def test_fields_of_fields() -> None:
    check(lambda: vd.Fields({"a": vd.Fields({"b": vd.Words()})}), vd.errors.InputError, "'a'", "fields")


# Models ----------------------------------------------------------------------------------------------------

MODELED: dict[str, tuple[Any, Any]] = {
    "text": (vd.Words(), "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"),
    "picture": (vd.Grid(4, 4), IMAGE),
    "whole numbers": (vd.Grid(4, 4), (255 * IMAGE).astype(np.uint8)),
    "sound": (vd.Slices(12), SOUND),
    "filtered sound": (vd.Tiles(4, 3, rate=8000), SOUND),
    "spectrogram": (vd.Tiles(4, 3), SPECTROGRAM),
    "series": (vd.Windows(12), SERIES),
    "record": (
        vd.Fields({"review": vd.Words(), "photo": vd.Grid(3, 3), "price": vd.Rows(PRICES[["price"]])}),
        {"review": "one two three four", "photo": IMAGE, "price": 4.0, "tags": ["new"]},
    ),
}
LONG = vd.Lime(until=vd.TopK(1, probability=0.9999, tolerance=0.0), max_calls=3000)


def noise(X: Any) -> Any:
    """Answers that never settle."""
    return np.random.default_rng(0).normal(size=(len(X), 2))


@pytest.fixture(params=MODELED)
def modeled(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Inputs of every kind, made a few at a time."""
    for module in ("masking", "fields"):
        monkeypatch.setattr(f"veridical.representations.{module}.MAX_BYTES_PER_BATCH", 2**17)
    return MODELED[request.param]


def test_a_model_that_raises(modeled: Any) -> None:
    calls: list[int] = []

    def failing(X: Any) -> Any:
        calls.append(len(X))
        if len(calls) == 2:
            raise MemoryError("out of memory")
        return noise(X)

    check(
        lambda: vd.explain(failing, *modeled, method=LONG),
        vd.errors.ModelError,
        "MemoryError",
        "out of memory",
        "inputs",
    )
    calls.clear()
    with pytest.raises(vd.errors.ModelError) as caught:
        vd.explain(failing, *modeled, method=LONG)
    assert isinstance(caught.value.__cause__, MemoryError)
    assert f"inputs {calls[0]} to {sum(calls) - 1}" in str(caught.value)


def test_a_model_that_gives_nan(modeled: Any) -> None:
    seen: list[int] = []

    def gaps(X: Any) -> Any:
        answer = noise(X)
        if seen:
            answer[3] = np.nan
        seen.append(len(X))
        return answer

    message = check(lambda: vd.explain(gaps, *modeled, method=LONG), vd.errors.ModelError, "NaN", "finite")
    assert f"row {seen[0] + 3}" in message


ANSWERS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "too few": (lambda X: np.ones(len(X) - 1), ("inputs", "per input")),
    "one number": (lambda X: 1.0, ("per input",)),
    "nothing": (lambda X: None, ("None", "per input")),
    "words": (lambda X: ["yes"] * len(X), ("'yes'", "numbers")),
    "a picture each": (lambda X: np.ones((len(X), 4, 4)), ("4, 4)", "per input")),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_the_model(name: str, modeled: Any) -> None:
    model, words = ANSWERS[name]
    check(lambda: vd.explain(model, *modeled), vd.errors.ModelError, *words)


def flat_inputs(X: Any) -> Any:
    """The numbers of a batch of arrays or records, without a copy where there is none to make."""
    if isinstance(X, list):
        return np.stack([np.ravel(one["photo"]) if isinstance(one, dict) else [len(one)] for one in X]).astype(
            float
        )
    return X.reshape(len(X), -1)


def test_a_model_that_returns_its_inputs(modeled: Any) -> None:
    """A view of memory that is used again: the answers are copied in time."""
    by_view, by_copy = (
        vd.explain(model, *modeled, target=0, method=vd.Lime(n_samples=300))
        for model in (lambda X: flat_inputs(X)[:, :3], lambda X: np.array(flat_inputs(X)[:, :3], dtype=float))
    )
    assert bits(by_view) == bits(by_copy)


def test_a_model_that_changes_its_inputs(modeled: Any) -> None:
    """As a network that scales its images in place does: the instance stays, and so do the answers."""
    represent, x = modeled
    before = copy.deepcopy(x)

    def honest(X: Any) -> Any:
        return flat_inputs(X).sum(axis=1, dtype=float)

    def careless(X: Any) -> Any:
        answer = honest(X)
        for one in X:
            if isinstance(one, dict):
                one["photo"][:] = 0
                one["review"] = "spoilt"
                del one["price"]
            elif not isinstance(one, str):
                one[:] = 0
        if isinstance(X, list):
            X.clear()
        return answer

    method = vd.Lime(n_samples=300)
    clean = vd.explain(honest, represent, x, method=method)
    assert bits(vd.explain(careless, represent, x, method=method)) == bits(clean)
    assert_same(x, before)


def test_a_model_that_keeps_its_inputs_can_copy_them(modeled: Any) -> None:
    """What it was asked about is what the answers belong to, for every batch."""
    represent, x = modeled
    spy = Spy(noise)
    why = vd.explain(spy, represent, x, method=vd.Lime(n_samples=300))
    assert spy.n_rows == why.n_calls == 301
    assert len(spy.batches) > 1 or isinstance(x, str)


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("many", [False, True])
def test_a_model_whose_outputs_change_in_number(many: bool, at: int, modeled: Any) -> None:
    """From one batch to the next, and from one round of samples to the next, where batches are large."""
    calls: list[int] = []

    def growing(X: Any) -> Any:
        calls.append(len(X))
        return np.random.default_rng(0).normal(size=(len(X), 2 + (len(calls) > at)))

    represent, x = modeled
    words = ("2 numbers", "3", "same number")
    if many:
        check(lambda: vd.explain_many(growing, represent, [x], method=LONG), vd.errors.ModelError, *words)
    else:
        check(lambda: vd.explain(growing, represent, x, method=LONG), vd.errors.ModelError, *words)


@pytest.mark.parametrize("at", [1, 2])
def test_a_model_of_rows_whose_outputs_change_in_number(at: int) -> None:
    calls: list[int] = []

    def growing(X: Any) -> Any:
        calls.append(len(X))
        return np.random.default_rng(0).normal(size=(len(X), 2 + (len(calls) > at)))

    for call in (
        lambda: vd.explain(growing, vd.Rows(PRICES), PRICES.iloc[0], method=LONG),
        lambda: vd.explain_many(growing, vd.Rows(PRICES), PRICES[:3], method=LONG),
        lambda: vd.explain_many(growing, vd.Rows(PRICES), PRICES.sample(20_000, replace=True), method=LONG),
    ):
        calls.clear()
        check(call, vd.errors.ModelError, "numbers per input", "same number")


# Axes that are not as expected: the message says which was taken for what, and what to do.


DRAWS = np.random.default_rng(0)
STEPS, SAMPLES, PICTURE = DRAWS.normal(size=500), DRAWS.normal(size=4000), DRAWS.random((24, 30, 3))
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "series (1, T)": (
        vd.Windows(),
        STEPS[None],
        r"shape \(1, 500\) was read as 1 step of 500 channels; if axis 1 is time, say time_axis=1",
    ),
    "series (c, T)": (vd.Windows(), np.stack([STEPS] * 3), r"read as 3 steps of 500 channels; if axis 1 is time"),
    "series (T, 1), time second": (
        vd.Windows(time_axis=1),
        STEPS[:, None],
        r"shape \(500, 1\) was read as 1 step of 500 channels; if axis 0 is time, say time_axis=0",
    ),
    "series, a batch of one": (
        vd.Windows(),
        STEPS[None, :, None],
        r"first axis looks like a batch of one; pass .* x\[0\]",
    ),
    "series, a batch": (
        vd.Windows(),
        np.zeros((4, 50, 2)),
        r"may be a batch; pass one instance, x\[0\], or call explain_many",
    ),
    "series too short": (
        vd.Windows(),
        STEPS[:4],
        r"a series of 4 steps cannot be cut into 10 windows: .* 4 steps of one",
    ),
    "bands (1, T)": (vd.Windows(4, cut=vd.Bands()), STEPS[None], r"1 step of 500 channels; if axis 1 is time"),
    "slices, channels last": (
        vd.Slices(),
        np.stack([SAMPLES] * 2, axis=1),
        r"shape \(4000, 2\) was read as 4000 channels of 2 samples each, for channels come first: .* pass x\.T",
    ),
    "few slices, channels last": (vd.Slices(2), np.stack([SAMPLES] * 2, axis=1), r"pass x\.T"),
    "slices, a batch of one": (vd.Slices(), SAMPLES[None, None], r"first axis looks like a batch of one"),
    "stems (1, T)": (
        vd.Stems(lambda s: {"a": s, "b": s}),
        SAMPLES[None],
        r"this has \(1, 4000\): pass x\[0\], its only channel",
    ),
    "stems (T, 1)": (vd.Stems(lambda s: {"a": s, "b": s}), SAMPLES[:, None], r"pass x\[:, 0\], its only channel"),
    "stems, two channels": (vd.Stems(lambda s: {"a": s}), np.stack([SAMPLES] * 2), "mix its channels down first"),
    "tiles (1, T)": (
        vd.Tiles(rate=8000.0),
        SAMPLES[None],
        r"shape \(1, 4000\) was read as a spectrogram of 1 bands and 4000 frames.*pass x\[0\]",
    ),
    "tiles, time first": (vd.Tiles(5, 4), DRAWS.random((400, 3)), r"400 bands and 3 frames.*say time_axis=…"),
    "tiles, a batch of one": (vd.Tiles(), DRAWS.random((1, 1, 40, 60)), r"first axis looks like a batch of one"),
    "picture, a batch of one": (
        vd.Grid(2, 2),
        PICTURE[None],
        r"first axis looks like a batch of one: pass .* x\[0\]",
    ),
    "picture, channels between": (
        vd.Grid(8, 8),
        PICTURE.transpose(0, 2, 1)[:, :, :5],
        r"shape \(24, 3, 5\) was read as 24 × 3 × 5 pixels without channels",
    ),
    "picture, channels taken for pixels": (
        vd.Grid(8, 8),
        DRAWS.random((3, 24, 4)),
        r"read as 3 × 24 pixels, with 4 channels in axis 2; say axes=",
    ),
    "labels": (
        vd.Superpixels(segment=np.zeros((3, 24), int)),
        PICTURE,
        r"24 × 30 pixels, with 3 channels in axis 2",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_message_says_which_axis_was_taken_for_what(case: str) -> None:
    representer, x, says = REFUSED[case]
    with pytest.raises(vd.errors.InputError, match=f"(?s){says}"):
        representer(x)


def test_a_series_of_more_channels_than_steps_is_noted() -> None:
    assert vd.Windows(2)(np.stack([STEPS] * 12)).notes == (
        "shape (12, 500) was read as 12 steps of 500 channels; if axis 1 is time, say time_axis=1",
    )
    assert vd.Windows(2, time_axis=1)(np.stack([STEPS] * 12)).notes == ()
    assert vd.Windows(2)(np.stack([STEPS] * 12, axis=1)).notes == ()


def test_one_channel_is_taken_where_it_can_be() -> None:
    assert len(vd.Windows(time_axis=1)(STEPS[None]).parts) == 10
    assert len(vd.Windows()(STEPS[:, None]).parts) == 10
    assert len(vd.Slices()(SAMPLES[None]).parts) == 10
    assert len(vd.Grid(2, 2)(PICTURE[None, :, :, 0]).parts) == 4
