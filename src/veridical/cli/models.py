"""Models out of files: places in Python code, estimators, pickles, skops, torch programs, ONNX."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import joblib
import numpy as np

from veridical.cli.files import check_zip_size, detect_format, list_files
from veridical.cli.loading import TABLE, TEXT, LoadedModel, LoadOptions, suggest
from veridical.cli.media import check_pixels, is_picture, scale_pixels, stack_batch
from veridical.errors import InputError, VeridicalError, describe_error, require
from veridical.models.adapters import METHODS, model_of
from veridical.models.outputs import describe_inputs
from veridical.models.torch_modules import Network, is_module
from veridical.protocols import Predict


def is_python_name(place: str) -> bool:
    """Whether it looks like module:name, not like a file."""
    before, colon, name = place.rpartition(":")
    dotted = before.removesuffix(".py").replace("/", ".").replace("\\", ".")
    return bool(colon and dotted) and all(step.isidentifier() for step in name.split("."))


def import_object(place: str) -> Any:
    """What stands at module:name or file.py:name."""
    before, colon, name = place.rpartition(":")
    if not colon or not before or not name:
        raise InputError(f"wanted module:name, such as mine:predict, not {place!r}")
    found: Any = _import_module(before)
    for step in name.split("."):
        if not hasattr(found, step):
            known = [key for key in vars(found) if not key.startswith("_")] if hasattr(found, "__dict__") else []
            raise InputError(f"{before} has no {name!r}{suggest(step, known)}")
        found = getattr(found, step)
    return found


def call_user_code(make: Callable[[], Any], what: str) -> Any:
    """What the caller's own code gives; where it raises, say which code it was."""
    try:
        return make()
    except VeridicalError:
        raise
    except Exception as cause:
        raise InputError(f"{what} raised {describe_error(cause)}") from cause


def _import_module(name: str) -> ModuleType:
    """A module by name, found from here too, or a file."""
    if name.endswith(".py"):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"there is no file {name!r}")
        sys.path.insert(0, str(path.resolve().parent))
        module = _import(path.stem)
        if Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
            raise InputError(f"another module is called {path.stem!r} already: give {name!r} another name")
        return module
    sys.path.insert(0, str(Path.cwd()))
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        raise InputError(
            f"there is no module {name!r} here or installed: run the command where it can be imported"
        )
    return _import(name)


def _import(name: str) -> ModuleType:
    found: ModuleType = call_user_code(lambda: importlib.import_module(name), f"importing {name!r}")
    return found


def is_estimator(thing: Any) -> bool:
    """Whether it answers by a method of its own."""
    return not isinstance(thing, type) and any(callable(getattr(thing, name, None)) for name in METHODS)


def load_estimator(model: Any) -> LoadedModel:
    """A fitted estimator: its probabilities, or else its decisions or values."""
    _check_one_answer(model)
    adapted = model_of(model)
    predict, classes = adapted.predict, adapted.classes
    if _reads_texts(model):
        return LoadedModel(predict, classes, TEXT)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    columns = None if names is None else tuple(map(str, names))
    kind = None if columns is None and width is None else TABLE
    arrays = columns is None and width is not None
    return LoadedModel(predict, classes, kind, columns, width=None if width is None else int(width), arrays=arrays)


def _check_one_answer(model: Any) -> None:
    """Refuse an estimator that has several answers at once, each with classes of its own."""
    known = getattr(model, "classes_", None)
    if isinstance(known, list) and any(np.ndim(each) for each in known):
        raise InputError(
            f"{type(model).__name__} gives several answers at once; write a function that gives one of them, and "
            "name it as module:predict"
        )


def _reads_texts(model: Any) -> bool:
    """Whether the first step turns texts into numbers."""
    model = getattr(model, "best_estimator_", model)  # of a search
    steps = getattr(model, "steps", None)
    first = steps[0][1] if steps else model
    return hasattr(first, "build_analyzer")


RUNS = "is a pickle, which runs whatever code its maker put into it"


def _load_pickle(path: Path, options: LoadOptions) -> LoadedModel:
    """The model that a pickle holds; what was warned of becomes notes."""
    if not options.trust:
        raise InputError(
            f"{path} {RUNS}: if you know who made it, say --trust; files of ONNX or skops need no trust"
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            thing = joblib.load(path)
        except Exception as cause:  # a pickle raises what it wants
            missing = isinstance(cause, ModuleNotFoundError) and cause.name
            do = (
                f"install {missing}" if missing else "run the command with the packages that the model was made by"
            )
            raise InputError(f"{path} cannot be unpickled: {describe_error(cause)}: {do}") from cause
    model = load_object(thing, str(path), options)
    notes = dict.fromkeys(str(each.message).partition(". ")[0] for each in caught)
    return replace(model, notes=(*model.notes, *notes))


def _load_skops(path: Path, options: LoadOptions) -> LoadedModel:
    """The model that a skops file holds, if it holds only what is known to be harmless."""
    skops = require("skops.io", extra="skops")
    check_zip_size(path)
    try:
        unknown = skops.get_untrusted_types(file=path)
        if unknown and not options.trust:
            raise InputError(
                f"{path} holds types that are not known to be harmless: {', '.join(unknown)}; if you know who "
                "made it, say --trust"
            )
        thing = skops.load(path, trusted=unknown)
    except InputError:
        raise
    except Exception as cause:  # a damaged file raises anything
        raise InputError(f"{path} cannot be read as a skops file: {describe_error(cause)}") from cause
    return load_object(thing, str(path), options)


def _load_torch(path: Path, options: LoadOptions) -> LoadedModel:
    """The module of a torch program: exported (.pt2), scripted, or pickled (.pt)."""
    torch = require("torch", extra="torch")
    if not options.trust:
        raise InputError(
            f"{path} is a program of torch, or {RUNS.removeprefix('is ')}: if you know who made it, say --trust; "
            "files of ONNX need no trust"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of scripts, which are still about
            if path.suffix.lower() == ".pt2":
                thing = torch.export.load(path).module()
            elif zipfile.is_zipfile(path) and any("/code/" in name for name in zipfile.ZipFile(path).namelist()):
                thing = torch.jit.load(path).eval()
            else:
                thing = torch.load(path, weights_only=False)
                thing = thing.eval() if is_module(thing) else thing
    except Exception as cause:
        raise InputError(f"{path} cannot be read by torch: {describe_error(cause)}") from cause
    if isinstance(thing, dict):
        raise InputError(
            f"{path} holds the weights of a network, not the network: write a function that makes it and loads "
            "them, and name that as module:network"
        )
    return load_object(thing, str(path), options)


def wrap_module(module: Any, pixels: str) -> Network:
    """A torch module that is asked about pictures as files have them, or about any arrays."""
    check_pixels(pixels)

    def prepare(batch: Any) -> Any:
        values = stack_batch(batch)
        pictures = values.dtype.name == "uint8" and is_picture(values.shape[1:])
        tensor = require("torch", extra="torch").as_tensor(scale_pixels(values, pixels) if pictures else values)
        return tensor.movedim(-1, 1) if pictures else tensor

    return Network(module, prepare=prepare)


def load_model(place: str, options: LoadOptions | None = None) -> LoadedModel:
    """The model at a place: a file, or ``module:name`` or ``file.py:name`` of a function or an estimator."""
    options = options or LoadOptions()
    path = Path(place)
    if is_python_name(place) and not path.exists():
        return load_object(import_object(place), place, options)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"wanted a model, which is {KNOWN}, or module:predict; not {place!r}{_hint(path)}")
    files = list_files(place)
    if len(files) != 1 or not files[0][0].is_file():
        raise InputError(f"wanted one file with a model; {place!r} is {len(files)}")
    detect_format(path)
    return reader(path, options)


@dataclass(frozen=True)
class ModelFactory:
    """Makes the model at a place once more: what a process elsewhere is told, for not every model can be sent."""

    place: str
    options: LoadOptions
    folder: str = field(default_factory=os.getcwd)  # where places are counted from, here as there

    def __call__(self) -> Predict:
        file, colon, name = self.place.rpartition(":") if is_python_name(self.place) else (self.place, "", "")
        there = Path(self.folder, file)
        sys.path.insert(0, self.folder)  # where a module is, if it is no file
        return load_model(f"{there}{colon}{name}" if there.exists() else self.place, self.options).predict


def load_object(thing: Any, place: str, options: LoadOptions) -> LoadedModel:
    """What Python code holds, as a model: a function, an estimator, a network, or a function that gives one."""
    if isinstance(thing, Network):
        return LoadedModel(thing)
    if is_module(thing):
        return LoadedModel(wrap_module(thing, options.pixels), arrays=True, pixels=options.pixels)
    if is_estimator(thing):
        return load_estimator(thing)
    if not callable(thing) or isinstance(thing, type):
        raise InputError(
            f"{place} is {describe_inputs(thing)}, and a function of a batch of inputs was wanted, or a fitted "
            "model"
        )
    if not _wants_inputs(thing):
        made = call_user_code(thing, f"calling {place}, without arguments,")
        return load_object(made, f"what {place} gives", options)
    return LoadedModel(thing)


def _load_onnx(path: Path, options: LoadOptions) -> LoadedModel:
    from veridical.cli.onnx_graphs import load_onnx  # which other models do without

    return load_onnx(path, options)


READERS: dict[str, Callable[[Path, LoadOptions], LoadedModel]] = {
    ".onnx": _load_onnx,
    ".skops": _load_skops,
    ".joblib": _load_pickle,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
    ".pt2": _load_torch,
    ".pt": _load_torch,
    ".pth": _load_torch,
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
