"""A model out of a file, or from a place in Python code."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from veridical.attribute.ask import described
from veridical.attribute.network import Network, is_module
from veridical.errors import InputError
from veridical.read.estimators import from_estimator, is_estimator
from veridical.read.files import beginning, files_meant
from veridical.read.graphs import graph_of
from veridical.read.places import finished, is_place, thing_at
from veridical.read.records import Loaded, Loading
from veridical.read.stored import from_skops, from_torch, network_of, unpickled
from veridical.records import Predict


def model_of(place: str, loading: Loading | None = None) -> Loaded:
    """The model at a place: a file, or ``module:name`` or ``file.py:name`` of a function or an estimator."""
    loading = Loading() if loading is None else loading
    path = Path(place)
    if is_place(place) and not path.exists():
        return from_thing(thing_at(place), place, loading)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"wanted a model, which is {KNOWN}, or module:predict; not {place!r}{_hint(path)}")
    meant = files_meant(place)
    if len(meant) != 1 or not meant[0][0].is_file():
        raise InputError(f"wanted one file with a model; {place!r} is {len(meant)}")
    beginning(path)
    return reader(path, loading)


@dataclass(frozen=True)
class Making:
    """Makes the model at a place once more: what a process elsewhere is told, for not every model can be sent."""

    place: str
    loading: Loading
    folder: str = field(default_factory=os.getcwd)  # where places are counted from, here as there

    def __call__(self) -> Predict:
        file, colon, name = self.place.rpartition(":") if is_place(self.place) else (self.place, "", "")
        there = Path(self.folder, file)
        sys.path.insert(0, self.folder)  # where a module is, if it is no file
        return model_of(f"{there}{colon}{name}" if there.exists() else self.place, self.loading).predict


def from_thing(thing: Any, place: str, loading: Loading) -> Loaded:
    """What Python code holds, as a model: a function, an estimator, a network, or a function that gives one."""
    if isinstance(thing, Network):
        return Loaded(thing)
    if is_module(thing):
        return Loaded(network_of(thing, loading.pixels), arrays=True, pixels=loading.pixels)
    if is_estimator(thing):
        return from_estimator(thing)
    if not callable(thing) or isinstance(thing, type):
        raise InputError(
            f"{place} is {described(thing)}, and a function of a batch of inputs was wanted, or a fitted model"
        )
    if not _wants_inputs(thing):
        made = finished(thing, f"calling {place}, without arguments,")
        return from_thing(made, f"what {place} gives", loading)
    return Loaded(thing)


def _from_pickle(path: Path, loading: Loading) -> Loaded:
    thing, said = unpickled(path, loading.trust)
    found = from_thing(thing, str(path), loading)
    return replace(found, notes=(*found.notes, *said))


def _from_skops(path: Path, loading: Loading) -> Loaded:
    return from_thing(from_skops(path, loading.trust), str(path), loading)


def _from_torch(path: Path, loading: Loading) -> Loaded:
    return from_thing(from_torch(path, loading.trust), str(path), loading)


READERS: dict[str, Callable[[Path, Loading], Loaded]] = {
    ".onnx": graph_of,
    ".skops": _from_skops,
    ".joblib": _from_pickle,
    ".pkl": _from_pickle,
    ".pickle": _from_pickle,
    ".pt2": _from_torch,
    ".pt": _from_torch,
    ".pth": _from_torch,
}
KNOWN = f"a file that ends in {', '.join(READERS)}"


def _hint(path: Path) -> str:
    """What to do with files of models that only other programs read."""
    if path.suffix.lower() == ".py":
        return f": name the function in it, as in {path}:predict"
    if path.exists():
        return ": write a function of a batch of inputs that asks it, and name that as file.py:predict"
    return ""


def _wants_inputs(function: Any) -> bool:
    """Whether it takes a batch; a function without arguments gives a model instead."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        p.kind is p.VAR_POSITIONAL or (p.default is p.empty and p.kind is not p.VAR_KEYWORD) for p in parameters
    )
