"""Views that were read from a file, checked: what a picture is drawn from must be what ``records.View`` says."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from veridical.records import View
from veridical.represent.mel import Mel

FASTEST = 10**8  # samples a second that a recording may have
FRAME = 2**16  # samples of a frame of a front end


def check_view(view: Any, n_parts: int | None) -> View | None:
    """The view of an instance with so many parts, if it can be drawn; a kind that is not known is never drawn.

    Of some views it is not known here how many parts there are.
    """
    if view is None:
        return None
    if not isinstance(view, View):
        raise TypeError(f"a view was wanted, {type(view).__name__} came")
    if view.kind in KINDS:
        KINDS[view.kind](view.data, n_parts)
    return view


def _text(data: Mapping[str, Any], n_parts: int | None) -> None:
    spans = _array(data["spans"], "iu", 2)
    if not isinstance(data["text"], str) or spans.shape[1] != 3:
        raise ValueError("the view of a text has a text, and spans of three numbers")


def _picture(data: Mapping[str, Any], n_parts: int | None) -> None:
    pixels, labels = _array(data["pixels"], "u", 4), _array(data["labels"], "iu", 3)
    if pixels.dtype != np.uint8 or pixels.shape[3] != 3 or labels.shape != pixels.shape[:3] or not pixels.size:
        raise ValueError("the view of a picture has pixels (frames, h, w, 3), and a label for each")
    _texts(data.get("titles"), len(pixels))


def _sound(data: Mapping[str, Any], n_parts: int | None) -> None:
    samples = _recording(data)
    _bounds(data["bounds"], n_parts)
    if data.get("stems") is None:
        return
    stems = _array(data["stems"], "iuf", 2)
    if stems.shape[1] != len(samples) or len(stems) != len(data["bounds"]):
        raise ValueError("the view of a sound has stems of its own length, one for each part")


def _recording(data: Mapping[str, Any]) -> Any:
    rate = data["rate"]
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate <= FASTEST:
        raise ValueError("the rate of a recording is a number of samples a second")
    return _array(data["samples"], "iuf", 1)


def _spectrogram(data: Mapping[str, Any], n_parts: int | None) -> None:
    levels, labels = _array(data["levels"], "u", 2), _array(data["labels"], "iu", 2)
    if levels.dtype != np.uint8 or labels.shape != levels.shape or not levels.size:
        raise ValueError("the view of a spectrogram has levels (bands, frames), and a label for each")
    if data.get("bounds") is not None:
        _bounds(data["bounds"], n_parts)
    if data.get("samples") is not None or data.get("rate") is not None:
        _recording(data)
    if data.get("front") is not None:
        front = Mel(**data["front"])
        if front.n_mels != len(levels) or max(front.n_fft, front.hop) > FRAME or front.rate > FASTEST:
            raise ValueError("the front end of a spectrogram makes others than it")
        if _array(data["values"], "f", 2).shape != levels.shape:
            raise ValueError("the view of a spectrogram has a value for each level")
    if not isinstance(data.get("unit", ""), str):
        _texts(data["unit"], 2)


def _series(data: Mapping[str, Any], n_parts: int | None) -> None:
    values, labels, step = _array(data["values"], "iuf", 2), data.get("labels"), data.get("step", 1)
    if labels is not None and _array(labels, "iu", 2).shape != values.shape:
        raise ValueError("the view of a series has a label for each value")
    if type(step) is not int or not 1 <= step <= FASTEST or not values.size:
        raise ValueError("the view of a series has values, one every so many steps")
    if data["channels"] is None:
        raise TypeError("the channels of a series have names")
    _texts(data["channels"], values.shape[1])


def _fields(data: Mapping[str, Any], n_parts: int | None) -> None:
    for name, (first, count, inner) in data["fields"].items():
        whole = all(type(each) is int and each >= 0 for each in (first, count))
        most = n_parts if n_parts is not None else math.inf
        if not isinstance(name, str) or not whole or first + count > most:
            raise ValueError("a field has a name, its first part, and their number")
        if not isinstance(inner, str):
            check_view(inner, count)


KINDS: dict[str, Callable[[Mapping[str, Any], int | None], None]] = {
    "text": _text,
    "picture": _picture,
    "sound": _sound,
    "spectrogram": _spectrogram,
    "series": _series,
    "fields": _fields,
}


def _array(value: Any, kinds: str, ndim: int) -> Any:
    found = np.asarray(value)
    if found.dtype.kind not in kinds or found.ndim != ndim:
        raise TypeError(f"an array of numbers in {ndim} dimensions was wanted")
    return found


def _bounds(value: Any, n_parts: int | None) -> None:
    found = _array(value, "iuf", 2)
    if found.shape[1] != 4 or n_parts not in (None, len(found)):
        raise ValueError("each part of a sound has four bounds")


def _texts(value: Any, n: int) -> None:
    if value is None or (isinstance(value, (list, tuple)) and not len(value)):
        return
    if not isinstance(value, (list, tuple)) or len(value) != n or not all(isinstance(v, str) for v in value):
        raise TypeError(f"{n} texts were wanted")


def check_map(value: Any) -> Any:
    """The map of an explanation: nothing, an array of numbers, or several by name or in order."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    for each in inner:
        check_map(each)
    plain = isinstance(value, (int, float, Mapping, list, tuple, type(None)))
    if not plain and not (isinstance(value, np.ndarray) and value.dtype.kind in "biuf"):
        raise TypeError(f"an array of numbers was wanted, {type(value).__name__} came")
    return value


def check_sounds(value: Any) -> Any:
    """Samples before and after a change, and their rate; or none."""
    if value is not None:
        before, after, rate = value
        for samples in (before, after):
            _recording({"samples": samples, "rate": rate})
    return value
