"""ONNX graphs: what they take, which of their outputs is explained, and what they call it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from veridical.cli.files import reading_as
from veridical.cli.loading import PICTURE, TABLE, TEXT, LoadedModel, LoadOptions, suggest
from veridical.cli.media import Shape, arrange_axes, check_pixels, format_shape, scale_pixels, stack_batch
from veridical.errors import InputError, require
from veridical.models.outputs import n_rows
from veridical.records import Floats
from veridical.representations.regions import Array

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int64": np.int64,
    "int32": np.int32,
    "int8": np.int8,
    "uint8": np.uint8,
    "bool": np.bool_,
    "string": np.object_,
}
MAPS = "seq(map"  # how the type of outputs begins that are one map per row, from classes to chances
QUIET = 4  # what is fatal; other errors are raised, and need not be printed too
LOCALE = "C.UTF-8"  # which every machine has


@dataclass(frozen=True)
class GraphInput:
    """One input of a graph."""

    name: str
    dtype: Any
    batch: int | None  # how many instances it takes at once; None: any number
    shape: Shape  # of one instance

    @property
    def width(self) -> int | None:
        """Columns of a table that it takes."""
        return 1 if not self.shape else self.shape[0]


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """A graph that answers batches of instances."""

    session: Any
    inputs: tuple[GraphInput, ...]
    output: str
    pixels: str

    def __call__(self, batch: Any) -> Floats:
        feeds, n = self._feeds(batch), n_rows(batch)
        step = self.inputs[0].batch or max(n, 1)
        found = [self._asked(feeds, range(at, min(at + step, n)), step) for at in range(0, n, step)]
        return np.concatenate(found) if found else np.empty((0, 1))

    def _asked(self, feeds: dict[str, Array], rows: range, step: int) -> Floats:
        """Answers to some rows; the last is asked again where a graph always takes the same number."""
        at = np.minimum(
            np.arange(rows.start, rows.start + (step if self.inputs[0].batch else len(rows))), rows[-1]
        )
        (answer,) = self.session.run([self.output], {name: values[at] for name, values in feeds.items()})
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            answer = [list(chances.values()) for chances in answer]
        numbers = np.asarray(answer, dtype=np.float64)
        return numbers.reshape(len(numbers), -1)[: len(rows)]

    def _feeds(self, batch: Any) -> dict[str, Array]:
        if isinstance(batch, pd.DataFrame):
            return self._of_table(batch)
        only = self.inputs[0]
        if isinstance(batch, list) and batch and isinstance(batch[0], str):
            return {only.name: np.array(batch, dtype=object).reshape(-1, *(1 for _ in only.shape))}
        values = stack_batch(batch)
        if values.ndim == 4 and only.dtype != np.uint8:
            values = scale_pixels(values, self.pixels)
        found = arrange_axes(values, only.shape)
        if found is None:
            raise InputError(
                f"the model takes instances of {format_shape(only.shape)}, and these are "
                f"{format_shape(values.shape[1:])}"
            )
        return {only.name: np.ascontiguousarray(found, dtype=only.dtype)}

    def _of_table(self, frame: pd.DataFrame) -> dict[str, Array]:
        """The columns, in order, shared out among the inputs."""
        feeds, at = {}, 0
        for each in self.inputs:
            width = len(frame.columns) if each.width is None else each.width
            columns = [_column(each, frame.iloc[:, j]) for j in range(at, at + width)]
            feeds[each.name] = np.stack(columns, axis=1) if each.shape else columns[0]
            at += width
        return feeds


def load_onnx(path: Path, options: LoadOptions) -> LoadedModel:
    """The model that an ONNX file holds."""
    check_pixels(options.pixels)
    session, notes = _session(path)
    inputs = tuple(_input(path, each) for each in session.get_inputs())
    if not inputs:
        raise InputError(f"{path} takes no input: there is nothing to explain")
    output = _output(path, session.get_outputs(), options.output)
    graph = OnnxGraph(session, inputs, output.name, options.pixels)
    return replace(_loaded(path, graph, _classes(path, output)), notes=notes)


def _session(path: Path) -> tuple[Any, tuple[str, ...]]:
    """The graph, ready to run, and what had to be changed for that."""
    runtime = require("onnxruntime", extra="onnx")
    session_options = runtime.SessionOptions()
    session_options.log_severity_level = QUIET
    settings = {"sess_options": session_options, "providers": ["CPUExecutionProvider"], "enable_fallback": 0}
    with reading_as(path, "an ONNX model"):
        try:
            return runtime.InferenceSession(str(path), **settings), ()
        except Exception as cause:  # of classes that onnxruntime does not name
            if "locale" not in str(cause):
                raise
            session = runtime.InferenceSession(_localized(path), **settings)
            return session, (f"capital letters are as in {LOCALE}: no other locale is installed",)


def _localized(path: Path) -> bytes:
    """The graph with steps that lower words by rules that are on every machine."""
    onnx = require("onnx", extra="onnx")
    model = onnx.load(str(path), load_external_data=False)
    for node in model.graph.node:
        if node.op_type == "StringNormalizer":
            others = [each for each in node.attribute if each.name != "locale"]
            del node.attribute[:]
            node.attribute.extend([*others, onnx.helper.make_attribute("locale", LOCALE)])
    content: bytes = model.SerializeToString()
    return content


def _loaded(path: Path, graph: OnnxGraph, classes: tuple[Any, ...] | None) -> LoadedModel:
    only = graph.inputs[0]
    if len(graph.inputs) > 1:
        return _of_columns(path, graph, classes)
    if only.dtype == np.object_ and only.width == 1:
        return LoadedModel(graph, classes, TEXT)
    if len(only.shape) > 2:
        pixels = None if only.dtype == np.uint8 else graph.pixels
        return LoadedModel(
            graph, classes, PICTURE if len(only.shape) == 3 else None, shape=only.shape, pixels=pixels
        )
    words = only.dtype == np.object_
    width = only.width if len(only.shape) < 2 else None
    return LoadedModel(graph, classes, TABLE if words else None, width=width, arrays=not words, shape=only.shape)


def _of_columns(path: Path, graph: OnnxGraph, classes: tuple[Any, ...] | None) -> LoadedModel:
    """A graph of several inputs: a column each, or some columns each, in order."""
    wide = [each.name for each in graph.inputs if len(each.shape) > 1 or each.width is None]
    if wide:
        raise InputError(
            f"{path} has {len(graph.inputs)} inputs, and {wide[0]!r} is no column of a table: write a function of "
            "one batch that asks it, and name that as module:predict"
        )
    names = tuple(each.name for each in graph.inputs)
    width = sum(each.width or 1 for each in graph.inputs)
    return LoadedModel(graph, classes, TABLE, names if width == len(names) else None, exact=False, width=width)


def _input(path: Path, given: Any) -> GraphInput:
    kind = given.type.removeprefix("tensor(").removesuffix(")")
    if kind not in TYPES:
        raise InputError(f"{path}: the input {given.name!r} is of type {given.type}, which cannot be given here")
    first, *shape = (n if isinstance(n, int) and n > 0 else None for n in given.shape or [None])
    return GraphInput(given.name, TYPES[kind], first, tuple(shape))


def _output(path: Path, outputs: Any, wanted: str | None) -> Any:
    """The output to explain: probabilities, or else the only one that is made of numbers."""
    by_name = {each.name: each for each in outputs}
    if wanted is not None:
        if wanted not in by_name:
            raise InputError(f"{path} has no output {wanted!r}{suggest(wanted, list(by_name))}")
        return by_name[wanted]
    real = [each for each in outputs if each.type in ("tensor(float)", "tensor(double)", "tensor(float16)")]
    chances = [each for each in outputs if each.type.startswith(MAPS)]
    chances = chances or [each for each in real if "prob" in each.name.lower()]
    found = chances or [each for each in real if len(each.shape) <= 2] or real
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{each.name!r} {each.type}" for each in outputs)
    if found:
        raise InputError(
            f"{path} has several outputs: {names}; say which to explain, as in --output {found[0].name}"
        )
    raise InputError(f"{path} gives labels alone ({names}): export the model with its probabilities")


def _classes(path: Path, output: Any) -> tuple[Any, ...] | None:
    """The names of classes that the graph has, if they are as many as the outputs; a map has them sorted."""
    onnx = require("onnx", extra="onnx")
    graph = onnx.load(str(path), load_external_data=False).graph
    constants = {each.name: each for each in graph.initializer}
    found = []
    for node in graph.node:
        known = [each for each in node.attribute if each.name.startswith("classlabels_")]
        found += [list(each.strings) or list(each.ints) for each in known]
        if node.op_type == "ArrayFeatureExtractor" and node.input[0] in constants:
            found.append(onnx.numpy_helper.to_array(constants[node.input[0]]).ravel().tolist())
    k = output.shape[-1] if output.shape and isinstance(output.shape[-1], int) else None
    fitting = [names for names in found if names and k in (None, len(names))]
    if not fitting:
        return None
    names = sorted(fitting[-1]) if output.type.startswith(MAPS) else fitting[-1]
    return tuple(name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names)


def _column(to: GraphInput, column: pd.Series[Any]) -> Array:
    """A column of a table, of the type of the input that takes it."""
    if to.dtype == np.object_:
        if column.isna().any():
            raise InputError(f"the column {column.name!r} has no text in some rows, and ONNX has none for that")
        return column.astype(str).to_numpy(dtype=object)
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as cause:
        raise InputError(f"the model takes numbers in the column {column.name!r}: {cause}") from cause
    with np.errstate(invalid="ignore"):
        cast = values.astype(to.dtype)
    if np.dtype(to.dtype).kind in "iub" and not np.array_equal(cast, values):
        wrong = values[cast != values][0]
        raise InputError(f"the model takes whole numbers in the column {column.name!r}, and {wrong} is none")
    return cast
