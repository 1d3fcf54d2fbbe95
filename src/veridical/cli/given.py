"""A model and its data, as the functions of the border take them."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

from veridical.attribute import models
from veridical.attribute.ask import VALUE
from veridical.attribute.many import Track
from veridical.attribute.targets import find_class, list_classes
from veridical.cli.names import method_of, words
from veridical.cli.say import tell
from veridical.errors import InputError
from veridical.read.data import data_of
from veridical.read.fit import fitted
from veridical.read.models import Making, model_of
from veridical.read.parts import OWN_BACKGROUND, representer_of
from veridical.read.records import TABLE, Data, Loaded, Loading, Reading, near
from veridical.records import Output, Predict, Representer
from veridical.render.progress import Bar, Progress
from veridical_command import asked

FEW = 20  # instances, where each costs much and nobody said how many


@dataclass(frozen=True)
class Given:
    """A model, its data, and what is asked of them."""

    model: Loaded
    represent: Representer
    data: Data
    background: Data | None  # what the model was trained on, say
    target: Any
    classes: Sequence[Any] | None
    notes: tuple[str, ...]  # what was assumed
    making: Making  # of the model, elsewhere

    @property
    def predict(self) -> Predict:
        """What the model answers."""
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


def given_by(about: asked.Asked, model: str, places: Sequence[str]) -> Given:
    """What a command is about, read and matched; what was assumed is said on stderr."""
    found = matched(about, model, data_of(places, reading_of(about)))
    tell(about, found.notes)
    return found


def matched(about: asked.Asked, model: str, data: Data) -> Given:
    """A model with data that were read."""
    making = Making(model, Loading(about.trust, about.output, about.pixels or "0..1"))
    loaded = model_of(model, making.loading)
    whole = fitted(data, loaded, about.parts)
    behind = None if about.background is None else beside(about, about.background, loaded)
    if behind is None and whole.kind == TABLE and len(whole) == 1:
        raise InputError("one row does not say what values are usual: give others by --background, as train.csv")
    represent = representer_of(whole, about.parts, behind)
    own = (OWN_BACKGROUND,) if behind is None and whole.kind == TABLE else ()
    notes = (*loaded.notes, *whole.notes, *own)
    some = whole if about.rows is None else whole.some(rows_of(about.rows, whole))
    target = target_of(about, loaded)
    notes = (*notes, *said_of(target, about))
    return Given(loaded, represent, some, behind, target, classes_of(about, loaded), notes, making)


def beside(about: asked.Asked, place: str, loaded: Loaded) -> Data:
    """Other data for the same model, which need not have right answers and names."""
    reading = reading_of(about)
    plain = replace(reading, label=None, index=None)
    found = data_of([place], plain)
    if found.kind == TABLE:
        own = set(found.instances.columns)
        label = reading.label if reading.label in own else None
        index = reading.index if reading.index in own else None
        found = data_of([place], replace(plain, label=label, index=index))
    return fitted(found, loaded, about.parts)


def few(given: Given, about: asked.Asked) -> Given:
    """The first instances, unless some were asked for."""
    n = len(given.data)
    if about.rows is not None or n <= FEW:
        return given
    tell(about, [f"the first {FEW} of {n} instances; --rows : takes all, --rows 0:50 others"])
    return replace(given, data=given.data.some(range(FEW)))


def reading_of(about: asked.Asked) -> Reading:
    """How the data are to be read."""
    return Reading(
        label=about.label,
        index=about.id,
        columns=None if about.columns is None else tuple(words(about.columns) or ()),
        text=about.text,
        dates=tuple(words(about.dates) or ()),
        lines=about.lines,
        encoding=about.encoding,
        separator=about.separator,
    )


def check_heard(given: asked.Shown, kept: str, what: str) -> None:
    """Refuse options that would go unheard: all but those that are kept, and those of the output."""
    heard = {*kept.split(), *(each.name for each in fields(asked.Shown))}
    for each in fields(given):
        told = each.default is not MISSING and getattr(given, each.name) != each.default
        if told and each.name not in heard:
            raise InputError(f"--{each.name} is not for {what}: leave it out")


def rows_of(text: str, data: Data) -> list[int]:
    """The numbers of the rows that 0:50, :20 or 3,7,8 name; names of rows do, too."""
    if re.fullmatch(r"(-?\d+)?:(-?\d+)?(:[1-9]\d*)?", text):
        ends = [int(end) if end else None for end in text.split(":")]
        found = list(range(*slice(*ends).indices(len(data))))
        if not found:
            raise InputError(f"--rows {text} is no row at all: the data have {len(data)}, numbered from 0")
        return found
    return [row_of(name, data) for name in words(text) or ()]


def row_of(name: str, data: Data) -> int:
    """The number of the row of this name, or of this number."""
    if name in data.names or not re.fullmatch(r"-?\d+", name):
        return data.row_called(name)
    number = int(name)
    if not -len(data) <= number < len(data):
        raise InputError(f"there is no row {number}: the data have {len(data)}, numbered from 0")
    return number % len(data)


def target_of(about: asked.Asked, loaded: Loaded) -> Any:
    """What is explained: a class, as it is written, or the position of an output."""
    if about.target is None or about.target == VALUE:
        return about.target
    known: Sequence[Any] = words(about.classes) or loaded.classes or ()
    at = find_class(about.target, known)
    if at is not None:
        return known[at]
    position = re.fullmatch(r"(?:output[ :])(\d+)" if known else r"(?:output[ :])?(\d+)", about.target)
    if position:
        return Output(int(position[1]))
    if not known:
        raise InputError(
            f"no class is known to be called {about.target!r}: name all by --classes, or give its number from 0"
        )
    raise InputError(
        f"no class is called {about.target!r}{near(about.target, [str(name) for name in known])}; the classes are "
        f"{list_classes(known)}, and positions are given as --target 'output 0'"
    )


def said_of(target: Any, about: asked.Asked) -> tuple[str, ...]:
    """What a number was taken for."""
    if about.target is None or not about.target.isdecimal():
        return ()
    return (f"--target {about.target} is {target if isinstance(target, Output) else f'the class {target}'}",)


def classes_of(about: asked.Asked, loaded: Loaded) -> Sequence[Any] | None:
    """Names of the outputs, where the model does not say them itself."""
    own = models.model_of(loaded.predict).classes
    return words(about.classes) or (loaded.classes if own is None else None)


def question_of(given: asked.Asking, about: Given) -> dict[str, Any]:
    """What is asked of the model."""
    method = method_of(given.method, given.samples)
    known = {"target": about.target, "classes": about.classes, "rng": given.rng}
    return {**known, "method": method, "purpose": given.purpose}


def track_of(shown: asked.Shown, unit: str) -> Track | None:
    """A bar where a person watches, and nothing where it is to be quiet."""
    if shown.quiet:
        return Progress(unit, lambda: None)
    return Progress(unit, Bar) if sys.stderr.isatty() else None
