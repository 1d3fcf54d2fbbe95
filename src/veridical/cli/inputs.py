"""A model and its data as the public functions take them, and names that become settings."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from veridical.cli.data import OWN_BACKGROUND, choose_representer, coerce_data, read_data
from veridical.cli.loading import TABLE, Data, LoadedModel, LoadOptions, ReadOptions, suggest
from veridical.cli.models import ModelFactory, load_model
from veridical.cli.options import MethodOptions, ModelOptions, OutputOptions
from veridical.display.progress import Bar, Progress
from veridical.errors import LONGEST, InputError, tame
from veridical.models.adapters import model_of
from veridical.models.outputs import VALUE
from veridical.models.targets import find_class, list_classes
from veridical.protocols import Predict, Representer
from veridical.records import Output

if TYPE_CHECKING:
    from veridical.methods.many import ProgressCallback

FEW = 20  # instances, where each costs much and nobody said how many


@dataclass(frozen=True)
class CommandInputs:
    """A model, its data, and what is explained of them."""

    model: LoadedModel
    representer: Representer
    data: Data
    background: Data | None  # what the model was trained on, say
    target: Any
    classes: Sequence[Any] | None
    notes: tuple[str, ...]  # what was assumed
    factory: ModelFactory  # makes the model elsewhere

    @property
    def predict(self) -> Predict:
        """The function that asks the model."""
        return self.model.predict

    @property
    def X(self) -> Any:  # noqa: N802 - as everywhere
        """The instances."""
        return self.data.instances

    @property
    def training(self) -> tuple[Any, Any] | None:
        """Instances and right answers to train on, if they are known."""
        known = self.background
        return None if known is None or known.labels is None else (known.instances, known.labels)


def read_inputs(options: ModelOptions, model: str, places: Sequence[str]) -> CommandInputs:
    """A model and its data, read and matched; what was assumed is said on stderr."""
    inputs = match_model(options, model, read_data(places, read_options(options)))
    print_notes(options, inputs.notes)
    return inputs


def match_model(options: ModelOptions, model: str, data: Data) -> CommandInputs:
    """A model with data that were read."""
    factory = ModelFactory(model, LoadOptions(options.trust, options.output, options.pixels or "0..1"))
    loaded = load_model(model, factory.options)
    data = coerce_data(data, loaded, options.parts)
    background = None if options.background is None else read_more(options, options.background, loaded)
    notes = (*loaded.notes, *data.notes)
    if background is None and data.kind == TABLE:
        if len(data) == 1:
            raise InputError(
                "one row does not say what values are usual: give others by --background, as train.csv"
            )
        notes += (OWN_BACKGROUND,)
    representer = choose_representer(data, options.parts, background)
    rows = data if options.rows is None else data.take(parse_rows(options.rows, data))
    target = choose_target(options, loaded)
    if options.target is not None and options.target.isdecimal():
        meant = target if isinstance(target, Output) else f"the class {target}"
        notes += (f"--target {options.target} is {meant}",)
    own = model_of(loaded.predict).classes
    classes = split_names(options.classes) or (loaded.classes if own is None else None)
    return CommandInputs(loaded, representer, rows, background, target, classes, notes, factory)


def read_more(options: ModelOptions, place: str, model: LoadedModel) -> Data:
    """Other data for the same model, which need not have right answers and names."""
    reading = read_options(options)
    plain = replace(reading, label=None, index=None)
    data = read_data([place], plain)
    if data.kind == TABLE:
        own = set(data.instances.columns)
        label = reading.label if reading.label in own else None
        index = reading.index if reading.index in own else None
        data = read_data([place], replace(plain, label=label, index=index))
    return coerce_data(data, model, options.parts)


def take_few(inputs: CommandInputs, options: ModelOptions) -> CommandInputs:
    """The first instances, unless some were named."""
    n = len(inputs.data)
    if options.rows is not None or n <= FEW:
        return inputs
    print_notes(options, [f"the first {FEW} of {n} instances; --rows : takes all, --rows 0:50 others"])
    return replace(inputs, data=inputs.data.take(range(FEW)))


def read_options(options: ModelOptions) -> ReadOptions:
    """How the data are to be read."""
    columns = split_names(options.columns)
    return ReadOptions(
        label=options.label,
        index=options.id,
        columns=None if columns is None else tuple(columns),
        text=options.text,
        dates=tuple(split_names(options.dates) or ()),
        lines=options.lines,
        encoding=options.encoding,
        separator=options.separator,
    )


def refuse_options(options: OutputOptions, used: str, what: str) -> None:
    """Refuse options that would have no effect: all but those that are used, and those of the output."""
    allowed = {*used.split(), *(each.name for each in fields(OutputOptions))}
    for each in fields(options):
        was_given = each.default is not MISSING and getattr(options, each.name) != each.default
        if was_given and each.name not in allowed:
            raise InputError(f"--{each.name} is not for {what}: leave it out")


def parse_rows(text: str, data: Data) -> list[int]:
    """The numbers of the rows that 0:50, :20 or 3,7,8 name; names of rows do, too."""
    if re.fullmatch(r"(-?\d+)?:(-?\d+)?(:[1-9]\d*)?", text):
        ends = [int(end) if end else None for end in text.split(":")]
        rows = list(range(*slice(*ends).indices(len(data))))
        if not rows:
            raise InputError(f"--rows {text} is no row at all: the data have {len(data)}, numbered from 0")
        return rows
    return [find_row(name, data) for name in split_names(text) or ()]


def find_row(name: str, data: Data) -> int:
    """The number of the row of this name, or of this number."""
    if name in data.names or not re.fullmatch(r"-?\d+", name):
        return data.find_row(name)
    number = int(name)
    if not -len(data) <= number < len(data):
        raise InputError(f"there is no row {number}: the data have {len(data)}, numbered from 0")
    return number % len(data)


def choose_target(options: ModelOptions, model: LoadedModel) -> Any:
    """What is explained: a class, as it is written, or the position of an output."""
    target = options.target
    if target is None or target == VALUE:
        return target
    known: Sequence[Any] = split_names(options.classes) or model.classes or ()
    at = find_class(target, known)
    if at is not None:
        return known[at]
    position = re.fullmatch(r"(?:output[ :])(\d+)" if known else r"(?:output[ :])?(\d+)", target)
    if position:
        return Output(int(position[1]))
    if not known:
        raise InputError(
            f"no class is known to be called {target!r}: name all by --classes, or give its number from 0"
        )
    raise InputError(
        f"no class is called {target!r}{suggest(target, [str(name) for name in known])}; the classes are "
        f"{list_classes(known)}, and positions are given as --target 'output 0'"
    )


def explain_arguments(options: MethodOptions, inputs: CommandInputs) -> dict[str, Any]:
    """What ``vd.explain`` is given besides a model, a representer and instances."""
    method = make_method(options.method, options.samples)
    return {"target": inputs.target, "classes": inputs.classes, "rng": options.rng, "method": method}


def make_progress(options: OutputOptions, unit: str) -> ProgressCallback | None:
    """A bar where a person watches, and nothing where it is to be quiet."""
    if options.quiet:
        return Progress(unit, lambda: None)
    return Progress(unit, Bar) if sys.stderr.isatty() else None


def split_names(text: str | None) -> list[str] | None:
    """The items of a list with commas."""
    return None if text is None else [name for name in map(str.strip, text.split(",")) if name]


def find_by_name(name: str, known: Mapping[str, Any], what: str, *, also: Iterable[str] = ()) -> Any:
    """What has this name; ``also`` are other names that may have been meant."""
    if name not in known:
        like = get_close_matches(name, [*known, *also], n=1)
        hint = f"did you mean {like[0]}? " if like else ""
        raise InputError(f"no {what} is called {name!r}; {hint}there are {', '.join(known)}")
    return known[name]


def make_settings(name: str, known: Mapping[str, Any], what: str) -> Any:
    """The settings of this name, or of the class of this name, with their defaults."""
    classes = {each.__name__: each for each in known.values()}
    kind = classes[name] if name in classes else find_by_name(name, known, what, also=classes)
    try:
        return kind()
    except TypeError as cause:
        raise InputError(
            f"the {what} {name} needs settings, which a command cannot give: call it in Python"
        ) from cause


def make_method(name: str | None, samples: int | None = None) -> Any:
    """A method by its name in METHODS, or by that of its class, with so many samples; None for the default one."""
    if name is None and samples is None:
        return None
    from veridical.methods.registry import METHODS  # which loads every method

    return with_samples(make_settings(name or "lime", METHODS, "method"), samples)


def make_methods(names: str | None, samples: int | None = None) -> list[Any] | None:
    """Methods by their names."""
    if names is None:
        return None if samples is None else [make_method(None, samples)]
    return [make_method(name, samples) for name in split_names(names) or ()]


def with_samples(method: Any, samples: int | None) -> Any:
    """The method, with so many samples."""
    if samples is None:
        return method
    if "n_samples" not in {field.name for field in fields(method)}:
        raise InputError(f"--samples is not for {type(method).__name__}, which asks as often as it has to")
    return replace(method, n_samples=samples)


def say(text: str, longest: int = LONGEST) -> None:
    """Print lines on stderr, which foreign names in them cannot steer."""
    print(tame(text, longest), file=sys.stderr)


def print_notes(options: OutputOptions, notes: Iterable[str]) -> None:
    """Print what a reader should know, unless it is to be quiet."""
    if not options.quiet:
        for note in dict.fromkeys(notes):
            say(f"note: {note}")
