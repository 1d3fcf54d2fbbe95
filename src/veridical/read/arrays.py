"""Arrays of NumPy, which do not say what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.read.files import check_unfolded
from veridical.read.records import ARRAY, TEXT, Data, Reading, near
from veridical.represent.regions import Array

INSTANCES, LABELS = ("X", "x", "data", "instances"), ("y", "labels", "target")  # what they are often called


def array_of(path: Path, reading: Reading) -> Data:
    """The instances of an .npy file, or of an .npz file with their right answers if it has them."""
    found, labels = _arrays(path, reading)
    if not found.ndim or not len(found):
        raise InputError(f"{path} holds an array of shape {found.shape}: there are no instances in it")
    if labels is not None and len(labels) != len(found):
        raise InputError(f"{path} has {len(found)} instances and {len(labels)} right answers")
    names = tuple(map(str, range(len(found))))
    if found.ndim == 1 and found.dtype.kind == "U":
        return Data(found.tolist(), names, TEXT, labels)
    if found.dtype.kind not in "biuf":
        raise InputError(f"{path} holds values of type {found.dtype}; wanted numbers")
    return Data(found, names, ARRAY, labels, reading.columns)


def _arrays(path: Path, reading: Reading) -> tuple[Array, Any]:
    if path.suffix.lower() == ".npz":
        check_unfolded(path)
    try:
        read = np.load(path, allow_pickle=False)
        if isinstance(read, np.ndarray):
            return read, None
        with read:
            every = {name: read[name] for name in read.files}
    except Exception as cause:  # a damaged file raises anything
        pickled = "pickle" in str(cause)
        said = "it holds Python objects, not numbers" if pickled else str(cause)
        raise InputError(f"{path} cannot be read as arrays: {said}") from cause
    return _chosen(path, every, reading)


def _chosen(path: Path, every: dict[str, Array], reading: Reading) -> tuple[Array, Any]:
    """Which of several arrays are the instances, and which their right answers."""
    label = reading.label or next((name for name in LABELS if name in every), None)
    if reading.label is not None and reading.label not in every:
        raise InputError(f"{path} has no array {reading.label!r}{near(reading.label, list(every))}")
    labels = None if label is None else every[label]
    others = [name for name in every if name != label]
    known = [name for name in INSTANCES if name in others] or others
    if len(others) != 1 and known == others:
        raise InputError(f"{path} has the arrays {', '.join(every)}: call the instances X, and right answers y")
    return every[known[0]], labels
