"""Every record, and pages of several records; picks, groups and reports are beside their code.

Records are frozen and their arrays read-only: a changed copy is ``dataclasses.replace``.
A record never draws, prints or saves itself: those methods are doors into ``display`` and ``storage``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError, safe_repr, safe_str

if TYPE_CHECKING:
    import pandas as pd

    from veridical.summaries.importances import Importance

__all__ = [
    "Design",
    "Explanation",
    "Explanations",
    "FeatureCurve",
    "FeaturePair",
    "Fit",
    "Measured",
    "Neighborhood",
    "Output",
    "Page",
    "Part",
    "Verdict",
]


VERSION = "0.1.0"
PER_UNIT = "per sd"  # the relation of a part that is a number: its weight is of one unit
TOGETHER = "together"  # the relation of a part that is several columns, which its value names
UNKNOWN = (math.nan, math.nan)  # an interval that was not measured
QUESTIONS = {  # that a method answers about the parts of an instance
    "change": "where a small change would act",
    "content": "what the content of each part contributes",
    "either": "which part did it, by its content or by a small change in it",
}

OUTCOMES = {  # of the labels of a verdict; what is skipped has neither passed nor failed
    **{"reliable": "passed", "rough": "failed", "unreliable": "failed", "unchecked": "skipped", "none": "skipped"},
    **{"passed": "passed", "failed": "failed", "unclear": "unclear", "same": "passed", "different": "skipped"},
}
LABELS = tuple(OUTCOMES)[:5]  # of explanations
CHECKED = ("", "failed", "passed")  # labels that say what ``passed`` says
UNCLEAR = "unclear"  # the label of a check whose interval holds both: passed and failed

IDENTITY, LOG_ODDS = "identity", "log-odds"  # scales on which parts are added up

Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]
NO_CODES: Ints = np.empty(0, np.int64)


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


def shown_class(label: Any, classes: Any) -> Any:
    """The class as it is shown: quoted where another class, which is no text, is written like it."""
    known = classes if isinstance(label, str) and isinstance(classes, (list, tuple)) else ()
    return repr(label) if any(not isinstance(each, str) and safe_str(each) == label for each in known) else label


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


class Shown:
    """Shared by all that people look at, in a terminal or a notebook."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        from veridical.display.terminal import one_line

        return one_line(self)

    def __str__(self) -> str:
        from veridical.display.terminal import terminal_text

        return terminal_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from veridical.display.html import fragment

        return fragment(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        from veridical.display.html import bundle

        return bundle(self, include, exclude)

    def __rich__(self) -> Any:
        from veridical.display.terminal import Colored

        return Colored(self)


class Displayable(Shown, Record):
    """Shared by records that people look at."""

    __slots__: tuple[str, ...] = ()

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str | None = None,
        top: int = 8,
        evidence: str = "caption",
        column: str | None = None,
    ) -> Any:
        """Draw with matplotlib; nothing is shown.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; by default those of a new figure, as wide as one column of a journal.
        kind : str, optional
            Of an explanation "bar" (the default), "waterfall", or "dependence", the curve of one column; of many, or
            their importance, "bar", "beeswarm", "dependence" and "heatmap"; of a pick "coverage". "card" draws all that a
            page shows, of every record; it is the default of those without a chart.
        top : int, default 8
            How many features at most.
        evidence : {"caption", "none"}
            Whether the verdict of an explanation stands below its chart.
        column : str, optional
            Of "dependence": the column; by default the most important one.

        Returns
        -------
        matplotlib.axes.Axes
            The axes that hold the drawing.
        """
        from veridical.display.charts import plot

        return plot(self, ax, kind, top, evidence, column)

    def save(self, path: str | Path) -> None:
        """Write a file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            Its suffix says how: .json and .parquet, which ``vd.load`` reads back; .html for a page, .csv for a table;
            .png, .svg or .pdf for a figure; .xml (JUnit) for an audit or what was watched.

        Raises
        ------
        VeridicalError
            If the record has no such format, or the file cannot be written.
        """
        from veridical.display.saving import save

        save(self, path)  # type: ignore[arg-type]  # any record that people look at


class Tabular(Displayable):
    """Shared by records that are tables, too."""

    __slots__: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the record as a table.

        Returns
        -------
        pandas.DataFrame
            Of explanations one line per feature, with the ``row`` that it belongs to and the row's own ``value``
            (``row`` is the row's name where it has one, and ``number`` its place among the rows that were given,
            those in ``failed`` counted); of other records one line per feature, metric, check or group.
        """
        from veridical.storage.frames import to_frame

        return to_frame(self)


class Attributed(Tabular):
    """What weights features, of one row or of many, so that other libraries can draw it."""

    __slots__ = ()

    def to_shap(self) -> Any:
        """A ``shap.Explanation``, so that shap's plots work: waterfall, bar and force of one row, beeswarm of many.

        Its values are the weights, ``data`` the rows' own values, and its base value what is left of the local
        model's value without the weights: base plus values is ``local_prediction``. They are Shapley values only if
        the method was ``KernelShap``: a weight of LIME says how much a feature matters near the instance. Where weights
        are no shares of the prediction (numbers that are not binned, occlusion, sensitivity, gradients), a
        ``NoSumWarning`` and ``output_names`` say so. Intervals of one row become lower and upper bounds, which the
        waterfall draws; it calls the base E[f(X)]. Features that were not tested are left out.

        Of many rows there is one column per column of a table or per word; what a row does not have is 0 there.
        Where targets differ, a ``MixedTargetsWarning`` and ``output_names`` say so. Features of pictures, sounds and
        series must lie at the same places in all rows. A feature that was not tested in some row that has it is left
        out, and what it weighs in others is in the base values.
        """
        from veridical.storage.exchange import as_shap

        return as_shap(self)


@dataclass(frozen=True, slots=True)
class Part:
    """A feature: what can be removed or changed, as a person reads it and as a program does.

    Attributes
    ----------
    name : str
        As it is shown: "age > 50.5".
    column : str
        The column, word, region, tile or window: "age".
    relation : str
        One of "≤", ">", "in", "=", "is missing", "not zero", "per sd" and "together".
    value : object
        What the relation is to: 50.5, (30.0, 50.5) for "in", or the columns of a block for "together".
    """

    name: str  # "age > 50.5"
    column: str  # "age"
    relation: str  # "≤", ">", "in", "=", "is missing", "not zero", "per sd", "together"
    value: Any = None  # 50.5; (30.0, 50.5) for "in"


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCurve(Record):
    """What other values of a feature would contribute, as the local model has it.

    Attributes
    ----------
    part : int
        The feature, by its place among the parts.
    values : tuple
        The values that are shown, in order (m,); a missing one is None and comes last.
    effects : array (m,)
        What each contributes, on the explanation's scale; the mean over the background is 0.
    intervals : array (m, 2)
        95 % confidence intervals of the effects.
    numeric : bool
        Whether values lie on a line, between which effects may be interpolated.
    """

    part: int
    values: tuple[Any, ...]  # in order; a missing one is None and comes last
    effects: Floats  # (m,) on the explanation's scale
    intervals: Floats  # (m, 2)
    numeric: bool  # values lie on a line


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePair(Record):
    """What two features contribute together, beside what each contributes alone.

    Attributes
    ----------
    parts : tuple of int
        The two features, by their places among the parts.
    weight : float
        What they contribute together at the instance, on the explanation's scale.
    interval : tuple of float
        95 % confidence interval of the weight.
    effects : array (a, b)
        The same at the values of the two features' curves, and last at the instance's own values; where features
        are kept or taken away, at taken away and kept.
    """

    parts: tuple[int, int]
    weight: float
    interval: tuple[float, float]
    effects: Floats  # (a, b) at the values of the curves, and last at the instance's own


@dataclass(frozen=True, slots=True, eq=False)
class Axis(Record):
    """The values that a part takes in samples, and the functions of them that an additive local model adds up.

    Values have codes, 0..m-1; the functions are 0 at the instance's own, but for the first, which is 1 there alone.
    """

    functions: Floats  # (m, k), the first of which is 1 at the own value and 0 elsewhere
    penalties: Floats  # (k,) of a ridge, relative to each other
    shares: Floats  # (m,) of the background
    own: int  # the code of the instance's own value
    coarse: Floats  # (m, l) few functions, of which products with another part's are tried
    shown: Ints = field(default_factory=NO_CODES.copy)  # the codes of a curve's values
    values: tuple[Any, ...] = ()  # and these themselves
    numeric: bool = False
    pooled: int = 0  # rare values that have one effect together


@dataclass(frozen=True, slots=True, eq=False)
class Shape(Record):
    """What an additive local model has beside weights."""

    scale: str
    curves: tuple[FeatureCurve, ...]
    pairs: tuple[FeaturePair, ...]
    notes: tuple[str, ...] = ()
    growth: float = 0.0  # effects of kept parts are divided by the share that is kept to this power
    changes: Floats | None = (
        None  # (d, 3) weights on the scale of the outputs and their intervals, if it is another
    )


@dataclass(frozen=True, slots=True, eq=False)
class Design(Record):
    """How samples were drawn, as far as an interval needs to know it.

    Attributes
    ----------
    shares : array (d,)
        Probability that a sample keeps each feature; nan where the feature is a number.
    cluster, stretch : int
        How many consecutive samples were drawn together, and how many balance each other.
    net : bool
        Whether they are a low-discrepancy net.
    exact : bool
        Whether they are all samples that there are.
    center, spread : array (d,) or None
        Where the designs are independent normals.
    sizes : array (d + 1,) or None
        Law of the number of features kept, where nothing else matters.
    axes : tuple of Axis
        Of the values that features take, where samples say which.
    """

    shares: Floats  # (d,) probability that a sample keeps the part; nan where the part is a number
    cluster: int = 1  # this many consecutive samples were drawn together
    stretch: int = 1  # and this many balance each other; what is further apart is independent
    net: bool = False  # a low-discrepancy net: steadier than independent samples
    exact: bool = False  # every possible sample, weighted by its probability
    center: Floats | None = None  # (d,) and spread (d,): set where the designs are independent normals
    spread: Floats | None = None
    sizes: Floats | None = None  # (d + 1,) law of the number of parts kept, set where nothing else matters
    axes: tuple[Axis, ...] = ()  # (d,) of the values that parts take, where samples say which


@dataclass(frozen=True, slots=True, eq=False)
class Sample(Record):
    """Designs, what they weigh, and what ``realize`` needs to turn them into inputs."""

    designs: Floats  # (n, d)
    weights: Floats  # (n,) proximity, corrected for how the sample was drawn
    values: Any  # for realize alone
    design: Design
    codes: Ints | None = None  # (n, d) of the values that parts have, where the design has axes


@dataclass(frozen=True, slots=True, eq=False)
class Features(Record):
    """An instance and others as points of one space, in which some directions are the instance's parts."""

    points: Any  # (1 + n, p), an array or CSR matrix; row 0 is the instance
    columns: Ints  # (d,) the direction of each part
    steps: Floats  # (d,) how far a part goes along it, from taken away to kept


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
    """Instances and the samples near them: r rows that are fitted together, one row being a batch of one.

    Rows in the same state of a part keep it in the same samples, so that each state has its designs once.
    """

    names: tuple[tuple[str, ...], ...]  # (r, d) of the parts
    states: Floats  # (u, n): 1 where a sample keeps a state, or the number that a part is
    at: Ints  # (r, d): where among them each part of each row is
    weights: Floats  # (r, n) proximity, corrected for how the sample was drawn
    own: Floats  # (r, d) designs of the rows themselves
    shares: Floats  # (r, d) probability that a sample keeps each part; nan where the part is a number
    design: Design  # but for its shares
    codes: Ints | None = None  # (n, d) of the values that the parts of a single row have in the samples
    predictions: Floats | None = None  # (r,) for the rows themselves, in the unit of the outputs
    unit: float = 1.0  # that outputs are divided by; shares of another one are no probabilities

    @classmethod
    def of(cls, names: tuple[str, ...], sample: Sample) -> Neighborhood:
        """That of one row, of a sample whose row 0 is the instance."""
        design, at = sample.design, np.arange(len(names))[None]
        own, weights = sample.designs[:1], sample.weights[None, 1:]
        codes = None if sample.codes is None else sample.codes[1:]
        return cls((names,), sample.designs[1:].T, at, weights, own, design.shares[None], design, codes)

    @property
    def columns(self) -> Floats:
        """Designs by part, (r, d, n)."""
        alone = len(self.at) == 1 and np.array_equal(self.at[0], np.arange(len(self.states)))
        return self.states[None] if alone else self.states[self.at]

    @property
    def designs(self) -> Floats:
        """Designs by sample, (r, n, d)."""
        return self.columns.swapaxes(1, 2)

    def grown(self, more: Neighborhood) -> Neighborhood:
        """The same rows with more samples, which lie after these."""
        states = np.concatenate([self.states, more.states], axis=1)
        weights = np.concatenate([self.weights, more.weights], axis=1)
        return Neighborhood(self.names, states, self.at, weights, self.own, self.shares, self.design)

    def row(self, i: int) -> Neighborhood:
        """The neighborhood of one of the rows."""
        at, one = self.at[i], slice(i, i + 1)
        return Neighborhood(
            self.names[one],
            self.states[at],
            np.arange(len(at))[None],
            self.weights[one],
            self.own[one],
            self.shares[one],
            self.design,
            self.codes,
            None if self.predictions is None else self.predictions[one],
            self.unit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Replacement(Record):
    """What stands in for the parts, held against the parts themselves."""

    unchanged: Bools  # (d,) parts that it leaves as they are, or nearly so: taking them away tests nothing
    notes: tuple[str, ...] = ()  # which parts those are, or what replaced them instead, in words

    @classmethod
    def sound(cls, n_parts: int) -> Replacement:
        """One that changes every part."""
        return cls(np.zeros(n_parts, bool))


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


@dataclass(frozen=True, slots=True, eq=False)
class Fit(Record):
    """A surrogate fitted to a neighborhood.

    Attributes
    ----------
    weights : array (d,)
        One per feature.
    intercept, local_prediction : float
        The local model without any feature, and at the instance.
    covariance : array (d, d)
        Of the weights, from sampling alone.
    fidelity : float
        Weighted R² on samples that were left out of the fit.
    measured, chosen : array (d,)
        Whether samples vary a feature enough, and whether a selector kept it.
    degrees : float
        Of freedom, for the intervals.
    path : tuple of str
        Of a tree, from the root to the leaf.
    relative : bool
        Whether errors say how large a weight is, and never turn its sign.
    tested : array (d,) or None
        False where the replacement of a feature left it as it was.
    shape : Shape or None
        Curves and pairs of an additive one.
    """

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
    shape: Shape | None = None  # of an additive one


@dataclass(frozen=True, slots=True, eq=False)
class Fits(Record):
    """The fits of r rows: every field of a ``Fit`` for each, and what the rows' samples are worth."""

    weights: Floats  # (r, d)
    intercept: Floats  # (r,)
    covariance: Floats  # (r, d, d)
    local_prediction: Floats  # (r,)
    fidelity: Floats  # (r,)
    measured: Bools  # (r, d)
    chosen: Bools  # (r, d)
    degrees: Floats  # (r,)
    effective_size: Floats  # (r,)
    open: Bools  # (r,) whether some part could be measured with more samples
    paths: tuple[tuple[str, ...], ...] = ()  # (r, …) of trees
    shapes: tuple[Shape | None, ...] = ()  # (r,) of additive ones

    @classmethod
    def of(cls, fits: Sequence[Fit]) -> Fits:
        """Fits of single rows, together."""
        values: list[Any] = [np.array([getattr(fit, name) for fit in fits]) for name in PER_ROW[:-2]]
        none = np.zeros(len(fits))
        values += [none, none > 0, tuple(fit.path for fit in fits), tuple(fit.shape for fit in fits)]
        return cls(*values)

    @classmethod
    def joined(cls, pieces: Sequence[Fits]) -> Fits:
        """Those of some rows, and of others after them."""
        if len(pieces) == 1:
            return pieces[0]
        values: list[Any] = [np.concatenate([getattr(piece, name) for piece in pieces]) for name in PER_ROW]
        values.append(tuple(path for piece in pieces for path in piece.paths))
        values.append(tuple(shape for piece in pieces for shape in piece.shapes))
        return cls(*values)

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, i: int) -> Fit:
        intercept, local, fidelity, degrees = (
            float(each[i]) for each in (self.intercept, self.local_prediction, self.fidelity, self.degrees)
        )
        weights, covariance, path = self.weights[i], self.covariance[i], self.paths[i] if self.paths else ()
        measured, chosen, shape = self.measured[i], self.chosen[i], self.shapes[i] if self.shapes else None
        return Fit(weights, intercept, covariance, local, fidelity, measured, chosen, degrees, path, shape=shape)


PER_ROW = Fits.__slots__[:-2]  # its arrays


@dataclass(frozen=True, slots=True)
class Measured(Record):
    """One number of a check, over instances, beside those of null baselines.

    Attributes
    ----------
    name : str
        What was measured: "Spearman, signed".
    value : float
        The number.
    low, high : float
        Its 95 % confidence interval.
    n : int
        Number of instances, or of whatever else it is a mean over.
    nulls : mapping of str to float
        The number for null baselines, as those of a Verdict.
    """

    name: str  # "Spearman, signed"
    value: float
    low: float = math.nan  # its 95 % interval
    high: float = math.nan
    n: int = 0  # instances, or whatever else it is a mean over
    nulls: Mapping[str, float] = field(default_factory=dict, hash=False)  # as those of a Verdict


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Tabular):
    """A plain answer, and the number it rests on.

    Attributes
    ----------
    passed : bool
        Whether the label is "reliable", "passed" or "same".
    observed, expected : float
        What was measured, and what it is compared with.
    sentence : str
        The answer in words.
    label : str
        The answer in one word: of an explanation "reliable", "rough", "unreliable", "unchecked" (its method measures no
        fit) or "none" (the model does not move, or nothing was found); of a check "passed", "failed" or "unclear" (it may
        be either: the interval holds both); of a comparison "same" or "different".
    advice : str
        One thing to try, where the explanation is not reliable.
    check, method : str
        Of a check: its name in ``vd.checks.CHECKS``, and the method whose explanations were looked at.
    interval : tuple of float
        95 % confidence interval of what was observed.
    nulls : mapping of str to float
        What ``observed`` is for null baselines: "constant", "noise", "shuffled" (over the features), and "another"
        (the explanation of another instance).
    measures : tuple of Measured
        All that was measured.
    evidence : tuple of Explanation
        Explanations to look at.
    rows : tuple of int
        Numbers of the rows that it is about, the worst first.
    notes : tuple of str
        What a reader should know.
    measured : str
        Of a check: what ``observed`` is, such as "share of right answers".
    better : str
        Of a check: "higher" or "lower", whichever is good; ``expected`` is then the limit.
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
    label: str = ""  # a key of OUTCOMES; left out, it is "passed" or "failed"
    advice: str = ""  # one thing to try
    measured: str = ""  # what was observed, of a check
    better: str = ""  # "higher" or "lower": whichever is good

    def __post_init__(self) -> None:
        Record.__post_init__(self)
        label = self.label if self.label not in CHECKED else CHECKED[-1 if self.passed else -2]
        if label not in OUTCOMES or (OUTCOMES[label] == "passed") != bool(self.passed):
            raise InputError(
                f"a verdict's label is one of {', '.join(OUTCOMES)}, and it passed where the label is reliable, passed "
                f"or same; this one is labeled {safe_repr(self.label)}, and passed is {self.passed}"
            )
        object.__setattr__(self, "label", label)

    @property
    def outcome(self) -> str:
        """What the label means to whoever counts: "passed", "failed", "unclear", or "skipped" where it is none."""
        return OUTCOMES[self.label]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Attributed):
    """One prediction explained, with the evidence for it.

    Attributes
    ----------
    parts : tuple of Part
        The features (d,).
    weights : array (d,)
        How much each feature counts; nan where it was not tested because its replacement left it as it was.
    intervals : array (d, 2)
        95 % confidence intervals: how much the weights may still change with more samples. Infinite where a weight
        was not measured.
    intercept : float
        The local model without any feature.
    prediction, local_prediction : float
        What the model says about the instance, and what the local model says.
    fidelity : float
        Weighted R² of the local model on samples that it was not fitted on.
    effective_size : float
        Effective number of samples, once weighted.
    n_calls : int
        Number of inputs that the model was called with; shared ones count for every row that they served.
    target : object
        The class that is explained; an Output where classes are not known, "value" for a single output, or the name
        of a function.
    top_k : int
        How many features the top has.
    top_probability : float
        Probability that these are the right ones, within the tolerance.
    unsettled : tuple of tuple of str
        Features of the top whose order is not settled.
    verdict : Verdict
        Whether the explanation can be relied on, in words.
    recipe : mapping
        All that ``vd.rerun`` needs to make the explanation again.
    notes : tuple of str
        What a reader should know.
    path : tuple of str
        Of a tree surrogate, the splits from the root to the leaf.
    view : View or None
        What pictures show besides bars.
    map : array or None
        Of gradient methods: one number for every value of the instance, in its own layout.
    purpose : str
        The question that the method answers: a key of ``QUESTIONS``, or its own words.
    row : object
        The row's own name (index label, id, file name); among many without names, its number.
    values : tuple
        The row's own value for each feature; empty where features have none (words, regions).
    scale : str
        On which intercept, weights and pairs add up to the local prediction: "identity", or "log-odds", where the
        sum is the logarithm of the odds and exp(weight) is the factor by which a feature multiplies them.
    curves : tuple of FeatureCurve
        Of an additive local model of a table: what other values of each feature would contribute.
    pairs : tuple of FeaturePair
        Of an additive local model: what pairs of features contribute together.
    probabilities : tuple of (class, float)
        The model's answer for every class, where it has several.
    chosen : tuple of int
        Which features a selector kept, by place; empty if all were kept.
    growth : float
        Of words, regions and windows: the effect of a feature is divided by the share that is kept to this power.
    positions : tuple of int
        The column of the table in which each feature lies; empty where features are no columns.
    changes : array (d, 3) or None
        On log-odds: how much each feature changes the output itself, on average nearby, and the 95 % confidence
        interval of that; None where the weights say so.
    doubtful : tuple of int
        Features whose own interval leaves zero out, but no longer once all features are counted, by place.
    output_range : tuple of float
        The least and the largest output nearby, that of the instance among them; empty where none was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> why = vd.explain(lambda X: 3 * X[:, 0], vd.Rows(X, names=["age", "height", "debt"]), X[0])
    >>> why.parts[0].column, why.n_calls > 0
    ('age', True)
    """

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
    purpose: str = "content"  # the question that the method answers: a key of QUESTIONS, or its own words
    row: Any = None  # the row's own name: index label, id, file name; among many without names, its number
    values: tuple[Any, ...] = ()  # the row's own value for each part; empty where parts have none (words, regions)
    scale: str = IDENTITY  # on which intercept, weights and pairs add up to the local prediction
    curves: tuple[FeatureCurve, ...] = ()
    pairs: tuple[FeaturePair, ...] = ()
    probabilities: tuple[tuple[Any, float], ...] = ()  # of every class
    chosen: tuple[int, ...] = ()  # parts that a selector kept; empty if it kept all
    growth: float = 0.0  # effects of kept parts are divided by the share that is kept to this power
    positions: tuple[int, ...] = ()  # of the parts' columns in the table
    doubtful: tuple[int, ...] = ()  # parts that are clear of zero alone, but not once all parts are counted
    output_range: tuple[float, ...] = ()  # the least and the largest output nearby
    changes: Floats | None = (
        None  # (d, 3) weights on the scale of the outputs and their intervals, if it is another
    )

    @property
    def on_outputs(self) -> tuple[Floats, Floats]:
        """Weights (d,) and their intervals (d, 2) on the scale of the outputs.

        On that scale explanations can be compared and added up, whatever scale each has for itself.
        """
        if self.changes is None:
            return self.weights, self.intervals
        return self.changes[:, 0], self.changes[:, 1:]

    @property
    def question(self) -> str:
        """The question that the method answers, in words."""
        return QUESTIONS.get(self.purpose, self.purpose)

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
    def clear(self) -> Bools:
        """Whether each weight can be told from zero (d,), all features taken together: what is drawn in full color."""
        return clear_weights(self.intervals, self.doubtful)

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
        """Return the features with the largest weights.

        Parameters
        ----------
        k : int, default 5
            How many features at most; those with weight zero, or not tested, are never among them.

        Returns
        -------
        list of (str, float)
            Names and weights, the largest in size first.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 0:
            raise InputError(f"top wants a whole number of parts, from 0 on, not {safe_repr(k)}")
        order = np.argsort(-np.abs(self.weights), kind="stable")[:k]
        found = [(self.parts[j].name, float(self.weights[j])) for j in order]
        return [(name, weight) for name, weight in found if weight != 0 and not math.isnan(weight)]

    def to_dict(self) -> dict[str, Any]:
        """Everything a service needs, as plain Python that ``json.dumps`` takes; nan and infinity are None.

        Keys: ``row``, ``target``, ``prediction``, ``local_prediction``, ``intercept``, ``fidelity``, ``parts``
        (with ``name``, ``column``, ``value``, ``weight``, ``low``, ``high`` and ``clear`` each), ``verdict`` (with
        ``label``, ``sentence``, ``faithful``, ``adds_up``, ``stable``, ``advice`` and more), ``n_calls``,
        ``purpose``, ``notes`` and ``recipe``. What JSON has no type for is its text; ``save`` keeps all types.
        """
        from veridical.storage.exchange import plain_dict

        return plain_dict(self)


def clear_weights(intervals: Floats, doubtful: tuple[int, ...]) -> Bools:
    """Whether weights of such intervals (d, 2) can be told from zero, but for those that are doubtful."""
    low, high = intervals.T
    with np.errstate(invalid="ignore"):
        clear: Bools = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (high < 0))
    clear[list(doubtful)] = False
    return clear


class Failure(NamedTuple):
    """A row that could not be explained.

    Attributes
    ----------
    row : object
        Its name, or its number where rows have no names.
    number : int
        Its place in the list that was to be explained.
    error : str
        Why it could not be explained.
    """

    row: Any  # its name, or its number where rows have no names
    number: int  # in the list that was to be explained
    error: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanations(Attributed):
    """Many explanations, in the order of their rows; rows that could not be explained are in ``failed``.

    Attributes
    ----------
    items : tuple of Explanation
        The explanations.
    failures : tuple of Failure
        The rows that have none, and why.
    """

    items: tuple[Explanation, ...]
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            return Explanations(self.items[index])
        try:
            return self.items[index]
        except (IndexError, TypeError) as cause:
            raise type(cause)(
                f"there are {len(self)} explanations, numbered from 0; {index!r} is none of these numbers. "
                f"To find a row by its name, use next(why for why in many if why.row == {index!r})"
            ) from None

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self.items)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Which of the rows that were given each explanation is of, counted from 0."""
        failed = {failure.number for failure in self.failures}
        return tuple(i for i in range(len(self.items) + len(failed)) if i not in failed)

    @property
    def failed(self) -> pd.DataFrame:
        """The rows that have no explanation: ``row``, the ``number`` in the list, and the ``error``."""
        from veridical.storage.frames import failed_frame

        return failed_frame(self.failures)

    def importance(self) -> Importance:
        """Return how much each column, word or region counts over all rows.

        Returns
        -------
        Importance
            Global feature importance: the mean size of the weights with intervals, their sign, and some rows, of which
            ``plot(kind="beeswarm")``, ``"dependence"`` and ``"heatmap"`` are drawn.
        """
        from veridical.summaries.importances import sum_explanations

        return sum_explanations(self.items, self.numbers, len(self.failures))


Section: TypeAlias = tuple[Any, ...]  # heading, record, and text between the two


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Page(Displayable):
    """Records of any kind under headings: a page that stands alone, light and dark, without scripts.

    Headings are listed, with links, at the top of a page that has three or more.

    Parameters
    ----------
    title : str
        The title of the page.
    sections : sequence of tuple
        Pairs (heading, record), or triples (heading, record, text) with a paragraph above the record; with a text,
        the record may be None.
    lead : str
        A paragraph below the title.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.Page("Would you ship it?", [("Why this patient?", why), ("All", many)])  # doctest: +SKIP
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.sections, (str, Record)) or not isinstance(self.sections, Iterable):
            raise InputError(f"sections must be pairs (heading, record), not {type(self.sections).__name__}")
        object.__setattr__(self, "title", str(self.title))
        object.__setattr__(self, "lead", str(self.lead))
        object.__setattr__(self, "sections", tuple(map(_section, self.sections)))


def _section(given: Any) -> Section:
    """A section as it was given, with its text."""
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise InputError(
            f"a section is (heading, record) or (heading, record, text), not {type(given).__name__}; "
            "for one record: [('', record)]"
        )
    heading, record = given[:2]
    if record is None and len(given) == 3 and str(given[2]):
        return str(heading), None, str(given[2])
    if not isinstance(record, Displayable) or isinstance(record, Page):
        raise InputError(
            f"section {str(heading)[:60]!r} holds {type(record).__name__}; "
            "it must be a record that can be shown, such as what vd.explain or vd.audit gives"
        )
    return str(heading), record, str(given[2]) if len(given) == 3 else ""
