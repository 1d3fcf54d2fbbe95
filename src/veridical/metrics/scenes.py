"""Scenes: one instance and the model's outputs around it, queried once for all methods and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from veridical.errors import InputError
from veridical.methods.engine import ask_by
from veridical.methods.occlusion import Removal, check_removable
from veridical.methods.results import is_flat
from veridical.models.outputs import Model, n_rows, rows_of
from veridical.models.targets import Target
from veridical.protocols import Mixable, Removable, Representation, Representer, Seed, Shareable, Stream, Tabled
from veridical.records import PER_UNIT, Bools, Floats
from veridical.representations.regions import as_type, is_tensor, numbers_of
from veridical.representations.tables.rows import Rows
from veridical.seeds import child_of, generator

NOISE_SHARE = 0.02  # of the spread of a picture, sound or series
STEP_SHARE = 0.05  # of a column's standard deviation
N_BACKGROUND_ROWS = 256  # of the background, which say how much a column varies
NUMERIC_RELATIONS = ("≤", ">", "in", PER_UNIT)  # relations of parts whose column holds numbers


def draw_nearby(
    x: Any, represent: Representer, representation: Representation, seed: Seed, n: int
) -> list[Representation]:
    """Draw n instances close to x.

    A picture, sound or series gets noise, a table row gets noise in its numeric columns; anything else loses one
    feature.
    """
    rng = generator(seed)
    numbers = _number_columns(represent, representation)
    if numbers:
        made = _move_numbers(x, representation, numbers, rng=rng, seed=seed, n=n)
    elif isinstance(x, np.ndarray) or is_tensor(x):
        made = [_add_noise(x, rng) for _ in range(n)]
    else:
        made = _remove_one_part(representation, rng, seed, n)
    try:
        return list(represent.each(made).batch(0, n))
    except InputError as cause:
        raise InputError(f"no nearby instances could be made: {cause}") from cause


def _add_noise(x: Any, rng: np.random.Generator) -> Any:
    array = numbers_of(x, "an instance")
    moved = array + NOISE_SHARE * float(array.std()) * rng.standard_normal(array.shape)
    made = as_type(moved, array.dtype)
    return x.new_tensor(made) if is_tensor(x) else made


def _remove_one_part(representation: Representation, rng: np.random.Generator, seed: Seed, n: int) -> Any:
    if not isinstance(representation, Removable):
        raise InputError("no nearby instances could be made: features cannot be removed")
    masks = np.ones((n, len(representation.names)), bool)
    masks[np.arange(n), rng.choice(masks.shape[1], n, replace=n > masks.shape[1])] = False
    made = representation.keeping(masks, seed)
    return made[0:n] if hasattr(made, "batches") else made


def _number_columns(represent: Any, representation: Representation) -> list[int]:
    """Positions of a table's numeric columns that may change."""
    if not isinstance(represent, Rows) or not isinstance(representation, Shareable):  # a table, no sparse row
        return []
    changing = {part.column for part in representation.parts if part.relation in NUMERIC_RELATIONS}
    return [j for j, name in enumerate(represent.names) if str(name) in changing]


def _move_numbers(
    x: Any, representation: Representation, columns: Sequence[int], *, rng: np.random.Generator, seed: Seed, n: int
) -> Any:
    """Rows whose numbers differ a little from those of x, within the background's range."""
    assert isinstance(representation, Removable)
    empty = np.zeros((N_BACKGROUND_ROWS, len(representation.names)), bool)
    drawn = representation.keeping(empty, seed)
    if not hasattr(x, "iloc"):
        made = np.repeat(np.atleast_2d(x), n, axis=0)
        for j in columns:
            made[:, j] = _step_numbers(made[:, j], drawn[:, j], rng)
        return made
    made = x.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
    for j in columns:
        if is_numeric_dtype(made.dtypes.iloc[j]):
            own, other = (t.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan) for t in (made, drawn))
            made.isetitem(j, pd.Series(_step_numbers(own, other, rng)).astype(made.dtypes.iloc[j]))
    return made


def _step_numbers(values: Any, drawn: Any, rng: np.random.Generator) -> Any:
    """Numbers moved a little; whole numbers stay whole, and missing values stay missing."""
    own, other = np.asarray(values, dtype=np.float64), np.asarray(drawn, dtype=np.float64)
    known = other[np.isfinite(other)]
    spread = float(known.std()) if len(known) else 0.0
    moved = own + STEP_SHARE * spread * rng.standard_normal(len(own))
    if len(known):
        moved = np.clip(moved, np.fmin(known.min(), own), np.fmax(known.max(), own))
    whole = np.array_equal(known, np.rint(known)) and np.array_equal(own, np.rint(own))
    return np.rint(moved) if whole else moved


HALF = (0.5,)  # share of the features that fresh samples keep
N_FRESH_SAMPLES = 512  # samples of a neighborhood that no method has seen
N_SPREAD_MASKS = 32  # random masks that say how much the output moves
N_NEARBY = 2  # instances close to this one
MAX_VALUES = 2**24  # values of inputs that are drawn at once, about


@dataclass(frozen=True, eq=False)
class KeptParts:
    """A query: masks of the features that are kept."""

    kept: Bools  # (n, d) masks of the parts that are kept
    draws: int = 32  # of the background a mask, where parts are not simply taken away
    key: int = 0  # the same key draws the same background


@dataclass(frozen=True, eq=False)
class FreshSamples:
    """Samples that no method has seen, the instance not among them."""

    designs: Floats  # (n, d) which features they keep
    outputs: Floats  # (n,)
    weights: Floats  # (n,)
    inputs: Any  # the rows themselves, of a table


@dataclass(frozen=True, eq=False)
class Scene:
    """An instance with a model and a target; all answers are kept while the instance is measured.

    Each purpose has a seed of its own, so a metric's value does not depend on which other metrics there are.
    """

    x: Any
    represent: Representer
    representation: Representation
    model: Model
    target: Target
    seed: Seed
    answers: dict[Any, Any] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.representation.names)

    def child(self, *key: int) -> np.random.SeedSequence:
        """A seed for one purpose."""
        return child_of(self.seed, *key)

    def sample_fresh(self) -> FreshSamples:
        """Samples that no method has seen."""
        found: FreshSamples = self._once("fresh", self._fresh)
        return found

    def own_design(self) -> Floats:
        """The instance itself as a row of designs, (d,); the model is not queried."""
        own = self.representation
        found: Floats = self._once(
            "own", lambda: own.draw(own.kernel, self.child(1), 0, N_FRESH_SAMPLES).designs[0]
        )
        return found

    def outputs_without(self, wanted: KeptParts) -> Floats:
        """The output for each mask of kept features, (n,); the mean where replacements are drawn."""
        own = self._removable()
        self.query([wanted])
        if not own.steady:
            drawn: Floats = self.answers[_kept_key(wanted)]
            return drawn
        return np.array([self.answers["mask", row.tobytes()] for row in wanted.kept])

    def query(self, several: Sequence[KeptParts]) -> None:
        """Query the model in one batch with all that is not known yet."""
        own = self._removable()
        if not own.steady:
            new = {_kept_key(each): each for each in several if _kept_key(each) not in self.answers}
            for some in _split_into_batches(new):
                self._ask_drawn(own, some)
            return
        masks = {row.tobytes(): row for each in several for row in each.kept}
        unknown = [row for key, row in masks.items() if ("mask", key) not in self.answers]
        if unknown:
            outputs = self._read(np.array(unknown))
            self.answers.update(
                {("mask", row.tobytes()): float(y) for row, y in zip(unknown, outputs, strict=True)}
            )

    def draw_spread_masks(self) -> KeptParts:
        """Masks of no feature, of all, and of random ones."""
        rng = generator(self.seed, 2)
        masks = rng.random((N_SPREAD_MASKS, self.d)) < rng.random((N_SPREAD_MASKS, 1))
        ends = np.zeros((2, self.d), bool)
        ends[1] = True
        return KeptParts(np.vstack([ends, masks]))

    def spread(self) -> tuple[float, float]:
        """The output without any feature, and the range of outputs over random masks."""
        outputs = self.outputs_without(self.draw_spread_masks())
        return float(outputs[0]), 0.0 if is_flat(outputs) else float(np.ptp(outputs))

    def neighbors(self) -> list[Representation]:
        """Instances close to this one."""
        found: list[Representation] = self._once(
            "nearby",
            lambda: draw_nearby(self.x, self.represent, self.representation, self.child(4), N_NEARBY),
        )
        return found

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.answers:
            self.answers[key] = make()
        return self.answers[key]

    def _fresh(self) -> FreshSamples:
        """About half of the features are kept where features can be replaced one by one, else samples as LIME's."""
        own = self.representation
        if isinstance(own, Mixable):
            own = own.by_shares(HALF)
        every = own.enumerate(own.kernel, N_FRESH_SAMPLES)
        sample = own.draw(own.kernel, self.child(1), 0, N_FRESH_SAMPLES) if every is None else every
        inputs = own.realize(sample) if isinstance(own, Tabled) else None
        if inputs is not None:
            outputs = self.model(inputs)
        else:
            ask = ask_by(self.model, own)
            outputs = ask(sample.designs, lambda some: own.realize(replace(sample, designs=some)), 0)
        self.calls[0] += len(outputs)
        masks, weights = sample.designs[1:], sample.weights[1:]
        if sample.design.sizes is not None:
            share = masks.mean(axis=1)
            middle = weights * ((share >= 0.25) & (share <= 0.75))
            weights = middle if middle.any() else weights
        return FreshSamples(masks, self.target.read(outputs)[1:], weights, None if inputs is None else inputs[1:])

    def _removable(self) -> Removable:
        return check_removable(self.representation, "this metric")

    def _ask_drawn(self, own: Removable, several: Mapping[Any, KeptParts]) -> None:
        """Means over draws, which do not depend on what else is queried."""
        inputs = [
            own.keeping(np.repeat(each.kept, each.draws, axis=0), self.child(3, each.key))
            for each in several.values()
        ]
        outputs = self._read_all(inputs)
        for (key, each), y in zip(several.items(), outputs, strict=True):
            self.answers[key] = y.reshape(len(each.kept), each.draws).mean(axis=1)

    def _read_all(self, inputs: list[Any]) -> list[Floats]:
        """The output for several batches of inputs, queried as one if they are tables."""
        sizes = [n_rows(each) for each in inputs]
        first = self.calls[0]
        self.calls[0] += sum(sizes)
        if hasattr(inputs[0], "iloc"):
            inputs = [pd.concat(inputs, ignore_index=True)]
        elif isinstance(inputs[0], np.ndarray):
            inputs = [np.concatenate(inputs)]
        outputs = np.concatenate([self.target.read(self.model(each, first)) for each in inputs])
        return np.split(outputs, np.cumsum(sizes)[:-1])

    def _read(self, masks: Bools) -> Floats:
        """The output for masks, by the representation's shortcut for this model if it has one."""
        ask = self._once("ask", lambda: Removal.of(self.model, self.representation, self.seed, "this metric"))
        before = self.answers.get("asked", 0)
        self.answers["asked"] = before + len(masks)
        self.calls[0] += len(masks)
        return self.target.read(ask(masks, before))


def own_input(representation: Representation, seed: Seed) -> Any:
    """A batch of inputs as the model takes them, of which the first is the instance itself."""
    if isinstance(representation, Removable):
        return representation.keeping(np.ones((1, len(representation.names)), bool), seed)
    return representation.realize(representation.draw(representation.kernel, seed, 0, N_FRESH_SAMPLES))


def own_batch(representation: Representation, seed: Seed) -> Any:
    """The instance alone, as the model takes it."""
    own = own_input(representation, seed)
    return rows_of(next(iter(own.batches())) if isinstance(own, Stream) else own, slice(0, 1))


def _split_into_batches(several: Mapping[Any, KeptParts]) -> Iterator[dict[Any, KeptParts]]:
    """Batches whose inputs fit into memory."""
    batch: dict[Any, KeptParts] = {}
    cells = 0
    for key, each in several.items():
        more = each.kept.size * each.draws
        if batch and cells + more > MAX_VALUES:
            yield batch
            batch, cells = {}, 0
        batch[key], cells = each, cells + more
    if batch:
        yield batch


def _kept_key(wanted: KeptParts) -> tuple[Any, ...]:
    return wanted.kept.shape, wanted.kept.tobytes(), wanted.draws, wanted.key
