"""Models that Python stored: skops files, pickles, and programs of torch."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import joblib

from veridical.attribute.network import Network, is_module
from veridical.errors import InputError, describe_error, require
from veridical.read.files import check_unfolded
from veridical.read.layouts import check_pixels, is_picture, scaled, stacked

RUNS = "is a pickle, which runs whatever code its maker put into it"


def unpickled(path: Path, trust: bool) -> tuple[Any, tuple[str, ...]]:
    """What a pickle holds, and what was warned of."""
    if not trust:
        raise InputError(
            f"{path} {RUNS}: if you know who made it, say --trust; files of ONNX or skops need no trust"
        )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            thing = joblib.load(path)
        except Exception as cause:  # a pickle raises what it wants
            missing = isinstance(cause, ModuleNotFoundError) and cause.name
            do = (
                f"install {missing}" if missing else "run the command with the packages that the model was made by"
            )
            raise InputError(f"{path} cannot be unpickled: {describe_error(cause)}: {do}") from cause
    return thing, tuple(dict.fromkeys(str(each.message).partition(". ")[0] for each in said))


def from_skops(path: Path, trust: bool) -> Any:
    """What a skops file holds, if it holds only what is known to be harmless."""
    skops = require("skops.io", extra="skops")
    check_unfolded(path)
    try:
        unknown = skops.get_untrusted_types(file=path)
        if unknown and not trust:
            raise InputError(
                f"{path} holds types that are not known to be harmless: {', '.join(unknown)}; if you know who "
                "made it, say --trust"
            )
        return skops.load(path, trusted=unknown)
    except InputError:
        raise
    except Exception as cause:  # a damaged file raises anything
        raise InputError(f"{path} cannot be read as a skops file: {describe_error(cause)}") from cause


def from_torch(path: Path, trust: bool) -> Any:
    """The module of a program of torch: exported (.pt2), scripted, or pickled (.pt)."""
    torch = require("torch", extra="torch")
    if not trust:
        raise InputError(
            f"{path} is a program of torch, or {RUNS.removeprefix('is ')}: if you know who made it, say --trust; "
            "files of ONNX need no trust"
        )
    try:
        if path.suffix.lower() == ".pt2":
            return torch.export.load(path).module()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of scripts, which are still about
            scripted = zipfile.is_zipfile(path) and any(
                "/code/" in name for name in zipfile.ZipFile(path).namelist()
            )
            found = torch.jit.load(path) if scripted else torch.load(path, weights_only=False)
    except Exception as cause:
        raise InputError(f"{path} cannot be read by torch: {describe_error(cause)}") from cause
    if isinstance(found, dict):
        raise InputError(
            f"{path} holds the weights of a network, not the network: write a function that makes it and loads "
            "them, and name that as module:network"
        )
    return found.eval() if is_module(found) else found


def network_of(module: Any, pixels: str) -> Network:
    """A torch module that is asked about pictures as files have them, or about any arrays."""
    check_pixels(pixels)

    def prepare(batch: Any) -> Any:
        values = stacked(batch)
        pictures = values.dtype.name == "uint8" and is_picture(values.shape[1:])
        tensor = require("torch", extra="torch").as_tensor(scaled(values, pixels) if pictures else values)
        return tensor.movedim(-1, 1) if pictures else tensor

    return Network(module, prepare=prepare)
