"""A model out of a file, or from a place in Python code."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from veridical.attribute.network import Network, is_module
from veridical.errors import InputError
from veridical.read.estimators import from_estimator, is_estimator
from veridical.read.places import finished, is_place, thing_at
from veridical.read.records import Loaded, Loading

ANY = "an .onnx, .skops, .joblib or .pkl file, or module:predict"


def model_of(place: str, loading: Loading | None = None) -> Loaded:
    """The model at a place: a file, or ``module:name`` or ``file.py:name`` of a function or an estimator."""
    loading = Loading() if loading is None else loading
    if is_place(place) and not Path(place).exists():
        return from_thing(thing_at(place), place)
    raise InputError(f"wanted a model: {ANY}; not {place!r}")


def from_thing(thing: Any, place: str) -> Loaded:
    """What Python code holds, as a model: a function, an estimator, a network, or a function that gives one."""
    if is_module(thing) or isinstance(thing, Network):
        network = Network(thing) if is_module(thing) else thing
        return Loaded(network)
    if is_estimator(thing):
        return from_estimator(thing)
    if not callable(thing):
        raise InputError(
            f"{place} is {type(thing).__name__}, and a function of a batch of inputs was wanted, or a fitted model"
        )
    if not _wants_inputs(thing):
        return from_thing(finished(thing, f"calling {place}, without arguments,"), f"what {place} gives")
    return Loaded(thing)


def _wants_inputs(function: Any) -> bool:
    """Whether it takes a batch; a function without arguments gives a model instead."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(
        p.kind is p.VAR_POSITIONAL or (p.default is p.empty and p.kind is not p.VAR_KEYWORD) for p in parameters
    )
