"""Every record and protocol, on one page; picks, groups and reports have one beside their code.

Records are frozen and their arrays read-only: a changed copy is ``dataclasses.replace``.
A record never draws, prints or saves itself: those methods are doors into ``render`` and ``serialize``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError, safe_repr

if TYPE_CHECKING:
    import pandas as pd

VERSION = "0.1.0"
PER_UNIT = "per sd"  # the relation of a part that is a number: its weight is of one unit
UNKNOWN = (math.nan, math.nan)  # an interval that was not measured

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]
Kernel: TypeAlias = Callable[[Floats], Floats]  # distances (n,) to proximities (n,), 1 at distance 0
Predict: TypeAlias = Callable[[Any], Any]  # a batch of inputs to one answer each


class Output(int):
    """A position among a model's outputs, from 0 on: a target where classes are not known, or are not meant."""

    __slots__ = ()

    def __new__(cls, position: Any = 0) -> Output:
        whole = isinstance(position, (int, np.integer)) and not isinstance(position, (bool, np.bool_))
        if not whole or position < 0:
            raise InputError(f"an output is a whole number from 0 on, not {safe_repr(position)}")
        return super().__new__(cls, position)

    def __repr__(self) -> str:
        return f"output {int(self)}"

    __str__ = __repr__

    def __getnewargs__(self) -> tuple[int]:
        return (int(self),)


class Record:
    """Shared by all records: arrays are locked on creation, and again after unpickling."""

    __slots__: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.__slots__:  # the fields, for a dataclass with slots
            value = getattr(self, name)
            kind = type(value)
            if kind is np.ndarray and value.flags.writeable:
                locked = value.view()
                locked.flags.writeable = False
                object.__setattr__(self, name, locked)
            elif kind is dict:
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = (getattr(self, name) for name in self.__slots__)
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)


class Seen(Record):
    """Shared by records that people look at."""

    __slots__: tuple[str, ...] = ()

    def plot(self, ax: Any = None) -> Any:
        """Draw with matplotlib, all inside ``ax`` if it is given, and give the axes back; nothing is shown."""
        from veridical.render.figures import plot

        return plot(self, ax)

    def save(self, path: str | Path) -> None:
        """Write a file whose suffix says how; it appears whole or not at all.

        ``vd.load`` reads .json and .parquet back. A page is .html, a table .csv; where there is a picture, it
        is .png, .svg or .pdf; an audit may be .xml (JUnit), for servers that run tests.
        """
        from veridical.serialize import save

        save(self, path)  # type: ignore[arg-type]  # any record that people look at

    def _repr_html_(self) -> str:
        from veridical.render.html import fragment

        return fragment(self)  # type: ignore[arg-type]  # of every kind that there is

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from veridical.render.notebook import bundle

        return bundle(self, include, exclude)

    def __rich__(self) -> Any:
        from veridical.render.colors import Colored

        return Colored(self)


@dataclass(frozen=True, slots=True)
class Part:
    """What can be taken away or changed, as a person reads it and as a program does."""

    name: str  # "age > 50.5"
    column: str  # "age"
    relation: str  # "≤", ">", "in", "=", "is missing", "not zero", "per sd"
    value: Any = None  # 50.5; (30.0, 50.5) for "in"


@dataclass(frozen=True, slots=True, eq=False)
class Design(Record):
    """How samples were drawn, as far as an interval needs to know it."""

    shares: Floats  # (d,) probability that a sample keeps the part; nan where the part is a number
    cluster: int = 1  # this many consecutive samples were drawn together
    stretch: int = 1  # and this many balance each other; what is further apart is independent
    net: bool = False  # a low-discrepancy net: steadier than independent samples
    exact: bool = False  # every possible sample, weighted by its probability
    center: Floats | None = None  # (d,) and spread (d,): set where the designs are independent normals
    spread: Floats | None = None
    sizes: Floats | None = None  # (d + 1,) law of the number of parts kept, set where nothing else matters


@dataclass(frozen=True, slots=True, eq=False)
class Sample(Record):
    """Designs, what they weigh, and what ``realize`` needs to turn them into inputs."""

    designs: Floats  # (n, d)
    weights: Floats  # (n,) proximity, corrected for how the sample was drawn
    values: Any  # for realize alone
    design: Design


@dataclass(frozen=True, slots=True, eq=False)
class Features(Record):
    """An instance and others as points of one space, in which some directions are the instance's parts."""

    points: Any  # (1 + n, p), an array or CSR matrix; row 0 is the instance
    columns: Ints  # (d,) the direction of each part
    steps: Floats  # (d,) how far a part goes along it, from taken away to kept


@runtime_checkable
class Stream(Protocol):
    """Inputs that are made a few at a time, for all of them may be more than memory holds."""

    def __len__(self) -> int: ...

    def batches(self) -> Iterator[Any]:
        """All inputs in order; a batch may reuse the memory of the one before it."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class View(Record):
    """What a picture of the instance needs: small, plain data, and which part lies where.

    | kind | data |
    | --- | --- |
    | text | ``text``; ``spans`` (m, 3): start, stop and part of each piece, in order |
    | picture | ``pixels`` uint8 (frames, h, w, 3); ``labels`` (frames, h, w): the part of each pixel; ``titles``, one a frame |
    | sound | ``samples`` int16 (n,) and ``rate``, 0 if they cannot be played; ``bounds`` (d, 4) of each part: seconds from, to, hertz from, to; ``stems`` int16 (d, n) where parts are sounds of their own |
    | spectrogram | ``levels`` uint8 (bands, frames), low band first; ``labels`` like it; ``bounds`` as for sound; ``unit``, of their times and bands; ``samples`` and ``rate`` where the recording is known; ``values``, like levels, and ``front``, settings of Mel, where one can be made |
    | series | ``values`` (t, c); ``labels`` (t, c), or none where parts are frequency bands; ``channels``, names; ``step``, of the series from one value to the next |
    | fields | ``fields``: name to (first part, number of parts, View or text) |
    """  # noqa: E501 - a table

    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhood(Record):
    """An instance and its samples, with the model's answers.

    Row 0 is the instance. The law did not draw it, so its weight is 0.
    """

    names: tuple[str, ...]
    designs: Floats  # (n + 1, d)
    outputs: Floats  # (n + 1, k)
    weights: Floats  # (n + 1,)
    design: Design


@runtime_checkable
class Representation(Protocol):
    """An instance seen as parts: the only object that knows text from pixels."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, such as parts that were left out."""
        ...

    @property
    def kernel(self) -> Kernel:
        """The proximity that is used unless the method names another."""
        ...

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Samples start..stop of the sequence that the seed fixes; from 0 on, the instance comes first."""
        ...

    def enumerate(self, kernel: Kernel, limit: int) -> Sample | None:
        """The instance, then every possible sample, if there are at most ``limit``."""
        ...

    def realize(self, sample: Sample) -> Any:
        """One input for the model a row of the sample."""
        ...


class Valued(Representation, Protocol):
    """A Representation whose parts are values of the instance, such as columns of a table."""

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The instance's own value for each part, as plain Python."""
        ...


@runtime_checkable
class Removable(Representation, Protocol):
    """A Representation whose parts can be taken away as one likes."""

    @property
    def steady(self) -> bool:
        """Whether the same masks give the same inputs, whatever the seed."""
        ...

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """One input a mask (n, d): parts it keeps are the instance's own, the others are taken away.

        Where nothing says what is there without a part, it is drawn from the background, anew for each mask.
        """
        ...


@runtime_checkable
class Refillable(Removable, Protocol):
    """A Representation whose parts something stands in for, which may be something else."""

    def refilled(self, fill: Any) -> Removable:
        """The same parts of the same instance, with another fill, or another instance of the same shape."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Replacement(Record):
    """What stands in for the parts, held against the parts themselves."""

    unchanged: Bools  # (d,) parts that it leaves as they are, or nearly so: taking them away tests nothing
    notes: tuple[str, ...] = ()  # which parts those are, or what replaced them instead, in words

    @classmethod
    def sound(cls, n_parts: int) -> Replacement:
        """One that changes every part."""
        return cls(np.zeros(n_parts, bool))


class Replaceable(Representation, Protocol):
    """A Representation that knows which of its parts their replacement leaves as they are.

    Those parts are shown as not tested; of one that does not say so, every part counts as tested.
    """

    @property
    def replacement(self) -> Replacement: ...


def replacement_of(representation: Representation) -> Replacement:
    """What stands in for the parts, of a Representation that may be ``Replaceable``."""
    found: Replacement | None = getattr(
        representation, "replacement", None
    )  # isinstance would read all properties
    return Replacement.sound(len(representation.parts)) if found is None else found


@runtime_checkable
class Placed(Representation, Protocol):
    """A Representation whose parts lie at places of the instance, each place in one part at most."""

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of a map of the instance's shape, or of what ``paint`` gives.

        The map of a text has one number a character, that of a table row one a column.
        """
        ...

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every place of the instance, channels of pictures aside."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Step(Record):
    """An instance moved a little: inputs whose parts are its own where a mask (n, d) keeps them, else moved."""

    ahead: Callable[[Bools], Any]
    back: Callable[[Bools], Any]  # moved the opposite way, where there is one
    both: Bools  # (d,) parts that have two ways to go
    drawn: bool  # whether another seed moves them otherwise
    says: str  # how far parts are moved, in words: "each value by 0.3, up or down"
    still: Bools | None = (
        None  # (d,) parts that it does not move at all, such as silent sounds; None: it moves all
    )


@runtime_checkable
class Movable(Representation, Protocol):
    """A Representation whose parts can be moved a little."""

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """The instance moved, by ``size`` standard deviations where that has a meaning.

        Values of arrays go each their own way, or those of a block alike, with about ``n_blocks`` blocks a part.
        """
        ...


@runtime_checkable
class Common(Protocol):
    """The part of sampling that is the same for every instance of a representer."""

    def draw(self, seed: Seed, start: int, stop: int) -> Any: ...

    def realize(self, values: Any) -> Any: ...

    @property
    def n_states(self) -> int:
        """States of all parts together; 0 where a part is a number."""
        ...

    def indicators(self, values: Any) -> Floats:
        """One column a state of each part, 1 where a sample is in it."""
        ...

    def weights_of(self, rows: Sequence[Any], effects: Floats) -> tuple[Floats, Floats]:
        """Weights (r, d) and intercepts (r,) that a sum of effects of the indicators has at instances."""
        ...

    def together(self, rows: Sequence[Any], pieces: Sequence[Any], kernel: Kernel) -> Any:
        """Values, a piece after the other, as many instances see them at once: a ``Together``."""
        ...


@runtime_checkable
class Shareable(Representation, Protocol):
    """A Representation whose samples may be one sample that all instances share."""

    @property
    def common(self) -> Common: ...

    def place(self, values: Any, kernel: Kernel, with_instance: bool) -> Sample:
        """The shared values as this instance sees them."""
        ...

    def below(self, inputs: Any) -> Any:
        """Inputs with the instance itself before them."""
        ...

    def efficiency(self, kernel: Kernel) -> float:
        """Effective share of a shared sample, in (0, 1]; 0 if this instance cannot share it."""
        ...


class Instances(Protocol):
    """Many instances, checked, made into representations a batch at a time."""

    def __len__(self) -> int: ...

    def batch(self, start: int, stop: int) -> Sequence[Representation]: ...

    def inputs(self, start: int, stop: int) -> Any:
        """The instances themselves, as the model takes them."""
        ...


class Representer(Protocol):
    """Settings that turn an instance into its Representation."""

    def __call__(self, x: Any) -> Representation: ...

    def each(self, X: Any) -> Instances: ...


class Seed(Protocol):
    """What fixes all randomness: NumPy's SeedSequence."""

    @property
    def entropy(self) -> Any: ...

    @property
    def spawn_key(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Fit(Record):
    """A surrogate fitted to a neighborhood."""

    weights: Floats  # (d,)
    intercept: float
    covariance: Floats  # (d, d) of the weights, from sampling alone
    local_prediction: float
    fidelity: float  # weighted R² on samples that were left out of the fit
    measured: Bools  # (d,) False where the samples hardly vary a part
    chosen: Bools  # (d,) False where a selector set the weight to zero
    degrees: float  # of freedom, for the intervals
    path: tuple[str, ...] = ()  # of a tree, from the root to the leaf
    relative: bool = False  # errors say how large a weight is, and never turn its sign
    tested: Bools | None = None  # (d,) False where the replacement of a part left it as it was; None: all were


@dataclass(frozen=True, slots=True)
class Measured(Record):
    """One number of a check, over instances, beside those of explanations that know nothing."""

    name: str  # "Spearman, signed"
    value: float
    low: float = math.nan  # its 95 % interval
    high: float = math.nan
    n: int = 0  # instances, or whatever else it is a mean over
    nulls: Mapping[str, float] = field(default_factory=dict, hash=False)  # as those of a Verdict


@dataclass(frozen=True, slots=True)
class Verdict(Seen):
    """A plain answer, and the number it rests on.

    Of a check, ``passed`` says that nothing wrong was found, and ``nulls`` what ``observed`` is for explanations
    that know nothing: "constant", "noise", "shuffled" (over the parts), and "another" (instance's).
    """

    passed: bool
    observed: float
    expected: float
    sentence: str
    check: str = ""  # in debug.CHECKS
    method: str = ""  # whose explanations were looked at
    interval: tuple[float, float] = UNKNOWN  # 95 %, of what was observed
    nulls: Mapping[str, float] = field(default_factory=dict, hash=False)
    measures: tuple[Measured, ...] = ()  # all that was measured, a line each
    evidence: tuple[Explanation, ...] = ()
    rows: tuple[int, ...] = ()  # of the data that it is about, the worst first
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        from veridical.render.words import plain

        return plain(self.sentence, len(self.sentence))

    def to_frame(self) -> pd.DataFrame:
        from veridical.frames import verdict_frame

        return verdict_frame(self)

    def __repr__(self) -> str:
        from veridical.render.verdicts import verdict_picture

        return verdict_picture(self)


@dataclass(frozen=True, slots=True, eq=False)
class Explanation(Seen):
    """One prediction explained, with the evidence for it."""

    parts: tuple[Part, ...]
    weights: Floats  # (d,); nan where a part was not tested, because its replacement left it as it was
    intervals: (
        Floats  # (d, 2): 95 %, of the sampling error; infinite where a part was not measured, else as weights
    )
    intercept: float
    prediction: float
    local_prediction: float
    fidelity: float  # weighted R² on samples that were left out of the fit
    effective_size: float  # of the sample, once weighted
    n_calls: int  # rows the model was asked about; shared ones count for every row they served
    target: (
        Any  # the class itself; an Output where classes are not known; "value" of one output; a function's name
    )
    top_k: int
    top_probability: float  # that the top_k parts are the right ones, within the tolerance
    unsettled: tuple[tuple[str, ...], ...]  # parts of the top whose order is not settled
    verdict: Verdict
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    path: tuple[str, ...] = ()  # of a tree surrogate
    view: View | None = None  # what to draw, besides bars
    map: Any = None  # of gradient methods: one number for every value of the instance, in its own layout
    purpose: str = "content"  # what was asked of the parts, as in attribute.purposes
    row: Any = None  # the row's own name: index label, id, file name; among many without names, its number
    values: tuple[Any, ...] = ()  # the row's own value for each part; empty where parts have none (words, regions)

    @property
    def names(self) -> tuple[str, ...]:
        """One name a part, aligned with the weights."""
        return tuple(part.name for part in self.parts)

    @property
    def tested(self) -> Bools:
        """Whether each part was tested (d,): not where its replacement left it (nearly) as it was.

        A part that was not tested has no weight, which is nan, and counts for nothing: not even as zero.
        """
        return np.asarray(~np.isnan(self.weights))

    @property
    def shares(self) -> dict[str, float]:
        """The share of all weight, in size, that each column or field has; without those that were not tested."""
        total = float(np.nansum(np.abs(self.weights))) or 1.0
        found: dict[str, float] = {}
        for part, weight in zip(self.parts, self.weights, strict=True):
            if not math.isnan(weight):
                found[part.column] = found.get(part.column, 0.0) + abs(float(weight)) / total
        return found

    def top(self, k: int = 5) -> list[tuple[str, float]]:
        """The k heaviest parts by size of weight; parts with weight zero, or not tested, are never among them."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise InputError(f"top wants a whole number of parts, not {safe_repr(k)}")
        order = np.argsort(-np.abs(self.weights), kind="stable")[: max(k, 0)]
        found = [(self.parts[j].name, float(self.weights[j])) for j in order]
        return [(name, weight) for name, weight in found if weight != 0 and not math.isnan(weight)]

    def to_frame(self) -> pd.DataFrame:
        from veridical.frames import frame

        return frame([self])

    def to_dict(self) -> dict[str, Any]:
        """Everything a service needs, as plain Python that ``json.dumps`` takes; nan and infinity are None.

        Keys: ``row``, ``target``, ``prediction``, ``local_prediction``, ``intercept``, ``fidelity``, ``parts``
        (with ``name``, ``column``, ``value``, ``weight``, ``low`` and ``high`` each), ``verdict``, ``n_calls``,
        ``purpose``, ``notes`` and ``recipe``. What JSON has no type for is its text; ``save`` keeps all types.
        """
        from veridical.exchange import plain_dict

        return plain_dict(self)

    def to_shap(self) -> Any:
        """A ``shap.Explanation``, so that shap's plots (waterfall, bar, force) work on this one.

        Its values are the weights, ``data`` the row's own values, and its base value what is left of the
        surrogate's value without the weights: base plus values is ``local_prediction``. They are Shapley values
        only if the method was ``KernelShap``: a weight of LIME says how much a part matters near the instance.
        Where weights are no shares of the prediction (numbers that are not binned, occlusion, sensitivity,
        gradients), a ``NoSumWarning`` and ``output_names`` say so.
        Intervals become lower and upper bounds, which the waterfall draws; it calls the base E[f(X)], which here
        is the surrogate's value without any part. Parts that were not tested are left out.
        """
        from veridical.exchange import one_for_shap

        return one_for_shap(self)

    def __repr__(self) -> str:
        from veridical.render.terminal import picture

        return picture(self)


class Failure(NamedTuple):
    """A row that could not be explained."""

    row: Any  # its name, or its number where rows have no names
    number: int  # in the list that was to be explained
    error: str


@dataclass(frozen=True, slots=True, eq=False)
class Explanations(Seen):
    """Many explanations, in the order of their rows; rows that could not be explained are in ``failed``."""

    items: tuple[Explanation, ...]
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        return Explanations(self.items[index]) if isinstance(index, slice) else self.items[index]

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.items)

    @property
    def failed(self) -> pd.DataFrame:
        """The rows that have no explanation: ``row``, the ``number`` in the list, and the ``error``."""
        from veridical.frames import failed_frame

        return failed_frame(self.failures)

    def to_frame(self) -> pd.DataFrame:
        """One line per part, with the ``row`` it belongs to and the row's own ``value``.

        ``row`` is the row's name where it has one, and ``number`` its place among these explanations.
        """
        from veridical.frames import frame

        return frame(self.items)

    def to_shap(self) -> Any:
        """A ``shap.Explanation`` of all rows, so that shap's plots (beeswarm, bar, heatmap) work on them.

        A column for each column of a table or each word; what a row does not have is 0 there. Values and base
        values are as those of one explanation, each of its own row's target: where targets differ, a
        ``MixedTargetsWarning`` and ``output_names`` say so. ``data`` are the rows' own values, as
        objects where some are no numbers, and 1 where a word is there; ``display_data`` says it in words. Parts of
        pictures, sounds and series must lie at the same places in all rows. A part that was not tested in some row
        that has it is left out, and what it weighs in others is in the base values.
        """
        from veridical.exchange import many_for_shap

        return many_for_shap(self.items)

    def __repr__(self) -> str:
        from veridical.render.terminal import overview

        return overview(self)


class Method(Protocol):
    """Frozen settings that are called."""

    def __call__(
        self, model: Any, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]: ...
