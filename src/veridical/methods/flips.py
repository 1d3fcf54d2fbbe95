"""Flips: the smallest changes of an instance that turn the model's answer, each verified by the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import combinations, pairwise, product
from typing import Any, TypeAlias, overload

import numpy as np

from veridical.errors import InputError, ModelError, UnequalAnswers, check_number, safe_repr, safe_str
from veridical.evidence.verdicts import LONGEST_NAME
from veridical.methods.occlusion import check_removable
from veridical.models.outputs import Model
from veridical.models.targets import SHARES, Target, resolve
from veridical.protocols import Choices, Choosable, Removable, Representation, Seed
from veridical.records import Floats, Ints, Output, Record, Tabular, Verdict

Change: TypeAlias = dict[int, float]  # parts, and the numbers that they get; of parts that are left out, nan
Search: TypeAlias = Generator[list[Change], Floats, Change]  # asks about changes, is told their margins, gives one

COLUMNS, PARTS = "columns", "parts"  # what is changed: values of columns, or parts that are left out
SHARE, SCORE, LABEL, VALUE = "share", "score", "label", "value"  # what before and after are

CALLS, CALLS_PER_COLUMN = 300, 5  # inputs that the model is asked about at most, unless it is said
FIRST = 0.4  # share of the calls that go to the first values of each column
LAST = 0.3  # and that are left for making changes small
FEWEST, MOST = 2, 9  # first values of a column of numbers
LEVELS = 12  # and of categories
ROUND, NEARER = 16, 3  # values that are tried together after the first, and how often for smaller flips than found
WIDTH = 1.0  # what a wide gap counts against a promising one
PAIRED, PER_COLUMN = 12, 2  # columns that are changed two at a time, and values of each
CALLS_TO_SHRINK = 15  # about, of one column
HALVINGS, MOST_STEPS = 4, 12  # between two values of the background, and of whole numbers
DIGITS, MOST_READABLE = 6, 4  # of a number that reads well, and how many such are tried
ALONE = 0.6  # share of the calls for single words or regions
TOGETHER = 12  # words or regions that are left out two at a time
MOST_OUT = 10  # words or regions of one change
PLURALS = {"word": "words", "sentence": "sentences"}  # of parts, by their relation


@dataclass(frozen=True, slots=True, eq=False)
class Flip(Record):
    """One change, and what the model says of it.

    Attributes
    ----------
    changes : mapping of str to object
        The new value of each column that changes; of words and regions that are left out, None.
    values : mapping of str to object
        What the instance has there.
    answer : object
        What the model says then: a class, a position among the outputs, or "value".
    before, after : float
        The output for that answer, before the change and after it.
    size : float
        How large the change is: the share of the background's rows between the old value and the new one; of a category the
        share of rows with another one than the new; of several columns the sum. Of parts that are left out, the share of all
        parts.
    """

    changes: Mapping[str, Any]
    values: Mapping[str, Any]
    answer: Any
    before: float
    after: float
    size: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flips(Tabular):
    """The smallest changes that turn the model's answer, those of the fewest columns first.

    Attributes
    ----------
    items : tuple of Flip
        The changes; none where none was found.
    answer : object
        What the model says of the instance: a class, a position among the outputs, or "value".
    prediction : float
        The output for that answer.
    wanted : str
        The class that was wanted, or the value to cross, in words; empty where any other class is a flip.
    unit : str
        What outputs are: "share" (of a probability), "score", "label" or "value".
    kind : str
        "columns" whose values change, or "parts" that are left out.
    n_calls : int
        Inputs that the model was asked about.
    verdict : Verdict
        Whether any was found.
    notes : tuple of str
        What a reader should know.
    row : object
        The name of the row, where it has one.
    """

    items: tuple[Flip, ...]
    answer: Any
    prediction: float
    wanted: str
    unit: str
    kind: str
    n_calls: int
    verdict: Verdict
    notes: tuple[str, ...] = ()
    row: Any = None

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Flip: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Flip, ...]: ...
    def __getitem__(self, index: int | slice) -> Flip | tuple[Flip, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[Flip]:
        return iter(self.items)


# ---- what counts as a flip


@dataclass(frozen=True, eq=False)
class Goal:
    """What the model says of the instance, and which other answers count as flips."""

    model: Model
    own: Floats  # (k,)
    unit: str
    answer: Any
    prediction: float
    wanted: str
    at: int = 0  # the position of the own answer; of labels, the label
    to: int | None = None  # the position that is wanted; None for any other one
    target: Target | None = None  # of a value
    level: float = 0.0  # that it has to reach or cross

    def margins(self, outputs: Floats, inputs: Any) -> Floats:
        """How far beyond a flip some answers (n, k) are (n,): above zero where they are flips."""
        if self.target is not None:
            way = 1.0 if self.level > self.prediction else -1.0
            found = way * (self.target.read(outputs) - self.level)
            return np.where(found == 0, np.finfo(float).tiny, found)
        said = decisions(self.model, outputs, inputs, self.unit)
        flipped = said != self.at if self.to is None else said == self.to
        if self.unit == LABEL:
            found = np.where(flipped, 1.0, -1.0)
        elif outputs.shape[1] == 1:  # the sign of a score decides
            found = outputs[:, 0] * (-1.0 if (self.at if self.to is None else 1 - self.to) else 1.0)
        else:
            side = self.at if self.to is None else self.to
            others = np.delete(outputs, side, axis=1).max(axis=1)
            found = (others - outputs[:, side]) * (1.0 if self.to is None else -1.0)
        least = np.finfo(float).tiny  # an estimator may predict another class than that of its largest output
        return np.asarray(np.where(flipped, np.maximum(found, least), np.minimum(found, -least)))

    def tell(self, outputs: Floats, inputs: Any) -> list[tuple[Any, float, float]]:
        """What the model says in some answers (n, k), and the output for it before and after."""
        if self.target is not None:
            return [(self.answer, self.prediction, float(y)) for y in self.target.read(outputs)]
        found = list[tuple[Any, float, float]]()
        for said, row in zip(decisions(self.model, outputs, inputs, self.unit).tolist(), outputs, strict=True):
            j = said if len(row) > 1 else 0
            found.append((_label(self.model, said, self.unit, len(row)), float(self.own[j]), float(row[j])))
        return found


def decisions(model: Model, outputs: Floats, inputs: Any, unit: str) -> Ints:
    """What the model decides in some answers (n, k): positions of classes; of labels, these themselves."""
    if unit == LABEL:
        return np.asarray(np.rint(outputs[:, 0]), np.int64)
    best = (outputs[:, 0] >= 0).astype(np.int64) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
    if model.decide is None:
        return np.asarray(best, np.int64)
    told = model.decide(inputs)
    return np.array([b if t is None else t for b, t in zip(best.tolist(), told, strict=True)], np.int64)


def _label(model: Model, position: int, unit: str, k: int) -> Any:
    """The class of a position."""
    if unit == LABEL:
        return position
    classes = model.classes if model.scores and k == 1 else model.names_of(k)
    return Output(position) if classes is None else classes[position]


def find_goal(model: Model, outputs: Floats, inputs: Any, to: Any, target: Any) -> Goal:
    """What counts as a flip of an instance with these outputs (1, k)."""
    own, k = outputs[0], outputs.shape[1]
    labels = k == 1 and (model.labels or model.coarse)
    if target is not None or (k == 1 and not labels and not model.scores):
        return _value_goal(model, outputs, to, target)
    shares = k > 1 and bool(own.min() >= 0) and abs(float(own.sum()) - 1) < SHARES
    unit = LABEL if labels else SHARE if shares else SCORE
    at = int(decisions(model, outputs, inputs, unit)[0])
    label, prediction = _label(model, at, unit, k), float(own[at if k > 1 else 0])
    if to is None:
        return Goal(model, own, unit, label, prediction, "", at)
    if callable(to) and not isinstance(to, type):
        raise InputError(f"to wants the class that the answer should become, not the function {safe_repr(to)}")
    wanted = _position(model, outputs, to, unit)
    if wanted == at:
        raise InputError(f"the model says {safe_repr(label)} already: give another class, or leave to out")
    return Goal(model, own, unit, label, prediction, safe_str(_label(model, wanted, unit, k)), at, wanted)


def _position(model: Model, outputs: Floats, to: Any, unit: str) -> int:
    """The position of the class that is wanted; of labels, the label itself."""
    if unit == LABEL:
        check_number("to, one of the labels that the model gives,", to)
        return int(to)
    key = resolve(to, model, outputs).key
    assert isinstance(key, Mapping)  # of a class, not of a function
    if outputs.shape[1] == 1:
        return 0 if "negated" in key else 1
    return int(key["output"])


def _value_goal(model: Model, outputs: Floats, to: Any, target: Any) -> Goal:
    """A number that has to be crossed."""
    found = resolve(target, model, outputs)
    own = float(found.read(outputs)[0])
    said = f"the model says {own:.6g} here"
    if to is None:
        more = "" if target is not None else ", or the names of both classes as classes=[…] if it is a probability"
        raise InputError(
            f"the output is a number ({said}), so that nothing says what a flip is: give the value to cross, as in "
            f"to={own + 1:.3g}{more}"
        )
    if isinstance(to, (str, bool)):
        raise InputError(
            f"to wants the value to cross ({said}), not {safe_repr(to)}: a direction has no smallest change, and no "
            "classes are known here"
        )
    check_number("to, the value to cross,", to)
    level = float(to)
    if not math.isfinite(level) or level == own:
        raise InputError(
            f"to wants a finite number other than what the model says ({own:.6g}), not {safe_repr(to)}"
        )
    wanted = f"at {'least' if level > own else 'most'} {level:.6g}"
    return Goal(model, outputs[0], VALUE, found.label, own, wanted, target=found, level=level)


# ---- asking the model


@dataclass(eq=False)
class Trials:
    """The model, asked about changes of one instance: how often, and what it refused."""

    model: Model
    goal: Goal
    make: Callable[[Sequence[Change]], Any]  # inputs, one per change
    most: int
    n_calls: int = 1
    n_failed: int = 0
    failure: str = ""

    @property
    def left(self) -> int:
        """How many more changes may be asked about."""
        return max(self.most - self.n_calls, 0)

    def margins(self, changes: Sequence[Change]) -> Floats:
        """How far beyond a flip each change is (n,); nan where the model failed, or has been asked often enough."""
        some = list(changes[: self.left])
        found = [math.nan if each is None else each for each in self._ask(some, self.goal.margins)]
        return np.array([*found, *[math.nan] * (len(changes) - len(some))])

    def verified(self, changes: Sequence[Change]) -> list[tuple[Any, float, float] | None]:
        """The answer to each change, and its output before and after; None where it is no flip when asked again."""

        def read(outputs: Floats, inputs: Any) -> list[Any]:
            flips = self.goal.margins(outputs, inputs) > 0
            told = self.goal.tell(outputs, inputs)
            return [each if good else None for each, good in zip(told, flips.tolist(), strict=True)]

        return self._ask(list(changes), read)

    def _ask(self, changes: list[Change], read: Callable[[Floats, Any], Any]) -> list[Any]:
        """What is read of the answers; None where the model fails, of which others in a batch do not suffer."""
        if not changes:
            return []
        self.n_calls += len(changes)
        try:
            inputs = self.make(changes)
            outputs = self.model(inputs, first=self.n_calls - len(changes))
            if outputs.shape[1] != len(self.goal.own):
                raise UnequalAnswers(
                    f"predict returned {len(self.goal.own)} numbers for the instance and {outputs.shape[1]} for "
                    "changes of it; it must always return the same number"
                )
            return list(read(outputs, inputs))
        except UnequalAnswers:
            raise
        except ModelError as cause:
            if len(changes) > 1:
                self.n_calls -= len(changes)
                middle = len(changes) // 2
                return [*self._ask(changes[:middle], read), *self._ask(changes[middle:], read)]
            self.n_failed += 1
            self.failure = self.failure or safe_str(cause)
            return [None]

    def in_step(self, searches: Sequence[Search]) -> list[Change]:
        """What some searches come to, whose questions are asked together."""
        found, asked = dict[int, Change](), dict[int, list[Change]]()
        for i, search in enumerate(searches):
            _advance(search, None, i, found, asked)
        while asked:
            told = self.margins([change for changes in asked.values() for change in changes])
            before, asked = asked, {}
            for i, changes in before.items():
                own, told = told[: len(changes)], told[len(changes) :]
                _advance(searches[i], own, i, found, asked)
        return [found[i] for i in range(len(searches))]


def _advance(search: Search, told: Any, i: int, found: dict[int, Change], asked: dict[int, list[Change]]) -> None:
    """One step of a search: to what it asks next, or to what it comes to."""
    try:
        asked[i] = search.send(told)
    except StopIteration as end:
        found[i] = end.value


# ---- changes of columns


@dataclass(frozen=True, eq=False)
class ColumnSearch:
    """The values that columns may get, and those that were tried."""

    trials: Trials
    choices: Choices
    free: tuple[int, ...]  # columns that may change
    margin: float  # of the instance itself
    tried: dict[int, dict[float, float]] = field(default_factory=dict)  # of each column: numbers and their margins

    def run(self, n: int) -> list[Change]:
        """The smallest changes of one column each; where there are none, of two."""
        self._try(self._first())
        reserve, nearer = self.trials.most * LAST, 0
        while self.trials.left > reserve and nearer < NEARER:
            least = min((self._size({j: far}) for j, _, far in self._brackets()), default=math.inf)
            if not (gaps := self._gaps(least)):
                break
            self._try(gaps)
            nearer += least < math.inf
        found = sorted(self._brackets(), key=lambda way: self._size({way[0]: way[2]}))
        if found:
            most = max(self.trials.left // CALLS_TO_SHRINK, 1)
            ways = self.trials.in_step([self._shrink({}, *way) for way in found[: min(2 * n, most)]])
        else:
            pairs = self._pairs(n)
            most = max(self.trials.left // (2 * CALLS_TO_SHRINK), 1)
            ways = self.trials.in_step([self._shrink_both(pair) for pair in pairs[: min(n, most)]])
        best = dict[tuple[int, ...], Change]()
        for change in sorted(ways, key=self._size):
            best.setdefault(tuple(sorted(change)), change)
        return list(best.values())[:n]

    def _size(self, change: Change) -> float:
        return sum(float(self.choices.sizes(j, np.array([v]))[0]) for j, v in change.items())

    def _try(self, changes: Sequence[tuple[int, float]]) -> None:
        told = self.trials.margins([{j: number} for j, number in changes])
        for (j, number), margin in zip(changes, told.tolist(), strict=True):
            self.tried.setdefault(j, {})[number] = margin

    def _others(self, j: int) -> Floats:
        """The values of a column but for the instance's own."""
        values = self.choices.values(j)
        return np.asarray(values[values != self.choices.own[j]])

    def _first(self) -> list[tuple[int, float]]:
        """Values to begin with: of a number about as many rows apart, its ends among them; frequent categories."""
        most = max(int(self.trials.most * FIRST), 1)
        for fineness in range(MOST, FEWEST - 1, -1):
            found = [(j, v) for j in self.free for v in self._spread(j, fineness)]
            if len(found) <= most:
                break
        return found

    def _spread(self, j: int, fineness: int) -> list[float]:
        others = self._others(j)
        if not self.choices.numeric[j]:
            order = np.argsort(self.choices.sizes(j, others), kind="stable")
            return [float(v) for v in others[order[:LEVELS]]]
        own, missing = (
            self.choices.own[j],
            [math.nan] * (self.choices.may_miss(j) and not np.isnan(self.choices.own[j])),
        )
        place = np.arange(len(others), dtype=np.float64)
        if not np.isnan(own):
            place = self.choices.sizes(j, others) * np.sign(others - own)
        if len(others) <= fineness:
            return [*others.tolist(), *missing]
        wanted = np.linspace(place[0], place[-1], fineness)
        at = np.unique(np.abs(place[None] - wanted[:, None]).argmin(axis=1))
        return [*others[at].tolist(), *missing]

    def _gaps(self, least: float) -> list[tuple[int, float]]:
        """Values that were not tried, nearer than the least flip: between promising ones, and in wide gaps."""
        known = [m for told in self.tried.values() for m in told.values() if not math.isnan(m)]
        reach = (max(known) - min(known) if known else 0.0) or 1.0
        found = list[tuple[float, int, float]]()
        for j in self.free:
            told, own = self.tried.get(j, {}), float(self.choices.own[j])
            points = {v: self.margin if math.isnan(m) else m for v, m in told.items() if not math.isnan(v)}
            if not self.choices.numeric[j]:
                best = max(points.values(), default=self.margin)
                found += [(best, j, float(v)) for v in self._others(j) if float(v) not in points]
                continue
            if not math.isnan(own):
                points[own] = self.margin
            ends, values = sorted(points), self._others(j)
            share = 1 / max(len(values), 1)
            for low, high in pairwise(ends):
                first, last = np.searchsorted(values, low, "right"), np.searchsorted(values, high, "left")
                if last > first:
                    score = max(points[low], points[high]) + WIDTH * reach * share * float(last - first)
                    found.append((score, j, float(values[(first + last) // 2])))
        found = [gap for gap in found if self._size({gap[1]: gap[2]}) < least]
        found.sort(key=lambda gap: -gap[0])
        return [(j, v) for _, j, v in found[:ROUND]]

    def _brackets(self) -> list[tuple[int, float | None, float]]:
        """Columns with the first value on either side that flips, and the one before it; None where there is none."""
        found = list[tuple[int, float | None, float]]()
        for j in self.free:
            told, own = self.tried.get(j, {}), float(self.choices.own[j])
            flips = [v for v, margin in told.items() if margin > 0]
            jumps = [v for v in flips if not self.choices.numeric[j] or math.isnan(own) or math.isnan(v)]
            if jumps:
                found.append((j, None, min(jumps, key=lambda v: self._size({j: v}))))
            for way in (1.0, -1.0) if self.choices.numeric[j] else ():
                side = sorted((v for v in told if (v - own) * way > 0), key=lambda v: abs(v - own))
                first = next((i for i, v in enumerate(side) if told[v] > 0), None)
                if first is not None:
                    found.append((j, side[first - 1] if first else own, side[first]))
        return found

    def _shrink(self, others: Change, j: int, near: float | None, far: float) -> Search:
        """Halve the way from a value that does not flip to one that does; then a number that reads well."""
        if near is None:
            return {**others, j: far}
        values = self._others(j)
        between = values[(values > min(near, far)) & (values < max(near, far))]
        between = between if near < far else between[::-1]
        low, high = -1, len(between)
        while high - low > 1:
            middle = (low + high) // 2
            told = yield [{**others, j: float(between[middle])}]
            low, high = (low, middle) if told[0] > 0 else (middle, high)
        near = float(between[low]) if low >= 0 else near
        far = end = float(between[high]) if high < len(between) else far
        grain = self.choices.grain(j)
        for _ in range(0 if math.isnan(grain) else MOST_STEPS if grain else HALVINGS):
            half = float(math.floor((near + far) / 2)) if grain else (near + far) / 2
            if not min(near, far) < half < max(near, far):
                break
            told = yield [{**others, j: half}]
            near, far = (near, half) if told[0] > 0 else (half, far)
        rounded = [] if math.isnan(grain) or grain else readable(far, end)
        if rounded:
            told = yield [{**others, j: v} for v in rounded]
            far = next((v for v, margin in zip(rounded, told, strict=True) if margin > 0), far)
        return {**others, j: far}

    def _shrink_both(self, pair: Change) -> Search:
        """The same of two columns, the one that moves further first."""
        for j in sorted(pair, key=lambda j: -self._size({j: pair[j]})):
            own = float(self.choices.own[j])
            jumps = not self.choices.numeric[j] or math.isnan(own) or math.isnan(pair[j])
            others = {k: v for k, v in pair.items() if k != j}
            pair = yield from self._shrink(others, j, None if jumps else own, pair[j])
        return pair

    def _pairs(self, n: int) -> list[Change]:
        """Changes of two columns that flip, of values that go furthest alone, the smallest first."""
        best = dict[int, list[tuple[float, float]]]()
        for j, told in self.tried.items():
            ranked = sorted(((m, v) for v, m in told.items() if not math.isnan(m)), key=lambda one: -one[0])
            best[j] = ranked[:PER_COLUMN]
        chosen = sorted((j for j in best if best[j]), key=lambda j: -best[j][0][0])[:PAIRED]
        ways = [
            (a + b, {i: v, j: w})
            for i, j in combinations(chosen, 2)
            for (a, v), (b, w) in product(best[i], best[j])
        ]
        ways.sort(key=lambda way: -way[0])
        found = dict[tuple[int, ...], Change]()
        while ways and len(found) < n and self.trials.left > 2 * CALLS_TO_SHRINK:
            some, ways = ways[:ROUND], ways[ROUND:]
            margins = self.trials.margins([change for _, change in some])
            for (_, change), margin in zip(some, margins.tolist(), strict=True):
                key = tuple(sorted(change))
                if margin > 0 and (key not in found or self._size(change) < self._size(found[key])):
                    found[key] = change
        return sorted(found.values(), key=self._size)


def readable(near: float, far: float) -> list[float]:
    """Numbers from one to another with few digits, and ever more, each as near to the first as it can be."""
    if near == far or not (size := max(abs(near), abs(far))) < 1e15:
        return []
    found, first = list[float](), math.floor(math.log10(size))
    for digits in range(DIGITS + 1):
        places = digits - first - 1
        step = 10.0**-places
        number = round((math.ceil if far > near else math.floor)(near / step) * step, places)
        if min(near, far) <= number <= max(near, far) and number not in found:
            found.append(number)
    return found[:MOST_READABLE]


# ---- parts that are left out


@dataclass(frozen=True, eq=False)
class PartSearch:
    """Words, regions and other parts that are left out."""

    trials: Trials
    free: tuple[int, ...]

    def run(self, n: int) -> list[Change]:
        """The fewest parts whose absence flips: single ones, two, or more."""
        told = self._alone()
        found = self._flipping([(j,) for j in told], list(told.values()))
        order = sorted(told, key=lambda j: -told[j])
        if not found:
            pairs = list(combinations(order[:TOGETHER], 2))
            found = self._flipping(pairs, self._margins(pairs))
        if not found:
            found = self._several(order)
        return [dict.fromkeys(parts, math.nan) for parts in found[:n]]

    def _margins(self, several: Sequence[Sequence[int]]) -> list[float]:
        told = self.trials.margins([dict.fromkeys(parts, math.nan) for parts in several])
        return [-math.inf if math.isnan(margin) else margin for margin in told.tolist()]

    def _flipping(self, several: Sequence[tuple[int, ...]], told: Sequence[float]) -> list[tuple[int, ...]]:
        """Those that flip, the clearest first."""
        ways = sorted(zip(told, several, strict=True), key=lambda way: -way[0])
        return [parts for margin, parts in ways if margin > 0]

    def _alone(self) -> dict[int, float]:
        """The margins of single parts; of very many, of those in the blocks that tell most."""
        most = max(int(self.trials.most * ALONE), 1)
        chosen = list(self.free)
        if len(chosen) > most:
            blocks = [list(some) for some in np.array_split(np.array(chosen), max(most // 3, 1))]
            told = self._margins([[int(j) for j in block] for block in blocks])
            order = sorted(range(len(blocks)), key=lambda i: -told[i])
            chosen = [int(j) for i in order for j in blocks[i]][: most - len(blocks)]
        return dict(zip(chosen, self._margins([[j] for j in chosen]), strict=True))

    def _several(self, order: Sequence[int]) -> list[tuple[int, ...]]:
        """More and more of the parts that tell most, and then only those that it takes."""
        several = [tuple(order[:size]) for size in range(1, min(MOST_OUT, len(order)) + 1)]
        told = self._margins(several)
        parts = next((parts for parts, margin in zip(several, told, strict=True) if margin > 0), None)
        if parts is None:
            return []
        for j in parts:
            fewer = tuple(k for k in parts if k != j)
            if fewer and self._margins([fewer])[0] > 0:
                parts = fewer
        return [parts]


# ---- all of it


def find_flips(
    model: Model,
    representation: Representation,
    seed: Seed,
    *,
    to: Any,
    target: Any,
    immutable: Sequence[str | int],
    n: int,
    max_calls: int | None,
) -> Flips:
    """The smallest changes of an instance that turn the answer."""
    parts, names = representation.parts, [part.column for part in representation.parts]
    if isinstance(representation, Choosable):
        choices = representation.choices
        held, make, own, most = (
            choices.held(immutable),
            column_maker(choices),
            choices.inputs,
            CALLS_PER_COLUMN * len(parts),
        )
        kind, inputs = COLUMNS, own(np.zeros((1, len(parts)), bool), np.zeros((1, len(parts))))
    else:
        removable, names = check_removable(representation, "flips"), list(representation.names)
        if not removable.steady:
            raise InputError(
                f"flips leaves parts out, and what stands in for those of {type(representation).__name__} is drawn by "
                "chance: ask about its table with vd.Rows, or about its text with vd.Words"
            )
        held, make, most = hold_parts(representation, immutable), part_maker(removable, seed), 0
        kind, inputs = PARTS, make([{}])
    free = tuple(j for j in range(len(parts)) if j not in held)
    if not free:
        raise InputError(f"all {len(parts)} features are immutable: leave one out of immutable, at least")
    outputs = model(inputs)
    goal = find_goal(model, outputs, inputs, to, target)
    most = max(CALLS, most) if max_calls is None else max_calls
    trials = Trials(model, goal, make, max(most - n, 2))
    if kind == COLUMNS:
        found = ColumnSearch(trials, choices, free, float(goal.margins(outputs, inputs)[0])).run(n)
    else:
        found = PartSearch(trials, free).run(n)
    told = trials.verified(found)
    kept = [(change, each) for change, each in zip(found, told, strict=True) if each is not None]
    items = list[Flip]()
    if kept and kind == COLUMNS:
        before, after = choices.plain(inputs)[0], [choices.plain(make([change]))[0] for change, _ in kept]
    for i, (change, (answer, first, then)) in enumerate(kept):
        order = sorted(change)
        if kind == COLUMNS:
            new, old = {names[j]: after[i][j] for j in order}, {names[j]: before[j] for j in order}
            size = sum(float(choices.sizes(j, np.array([change[j]]))[0]) for j in order)
        else:
            new, old = {names[j]: None for j in order}, {names[j]: parts[j].value for j in order}
            size = len(order) / len(parts)
        items.append(Flip(new, old, answer, first, then, size))
    items.sort(key=lambda item: (len(item.changes), item.size))
    notes = [*representation.notes, *model.notes]
    if trials.n_failed:
        many = "1 change, which was" if trials.n_failed == 1 else f"{trials.n_failed} changes, which were"
        notes.append(f"The model failed on {many} skipped: {trials.failure}")
    if lost := len(found) - len(kept):
        many = "1 change" if lost == 1 else f"{lost} changes"
        notes.append(f"The model gave {many} another answer when it was asked again: left out.")
    what = "columns" if kind == COLUMNS else PLURALS.get(parts[0].relation, "features")
    hints = ["a row nearer to the decision", *([f"fewer immutable {what}"] if immutable else [])]
    hints += [f"`max_calls={4 * most}`"] if trials.n_calls > most // 2 else []
    verdict = judge_flips(items, goal, what, min(MOST_OUT, len(free)), trials.n_calls, hints)
    return Flips(
        tuple(items),
        goal.answer,
        goal.prediction,
        goal.wanted,
        goal.unit,
        kind,
        trials.n_calls,
        verdict,
        tuple(notes),
    )


def column_maker(choices: Choices) -> Callable[[Sequence[Change]], Any]:
    """How changes of columns become inputs."""

    def make(changes: Sequence[Change]) -> Any:
        numbers = np.zeros((len(changes), len(choices.own)))
        changed = np.zeros(numbers.shape, bool)
        for i, change in enumerate(changes):
            for j, number in change.items():
                numbers[i, j], changed[i, j] = number, True
        return choices.inputs(changed, numbers)

    return make


def part_maker(removable: Removable, seed: Seed) -> Callable[[Sequence[Change]], Any]:
    """How parts that are left out become inputs."""

    def make(changes: Sequence[Change]) -> Any:
        masks = np.ones((len(changes), len(removable.names)), bool)
        for mask, change in zip(masks, changes, strict=True):
            mask[list(change)] = False
        return removable.keeping(masks, seed)

    return make


def hold_parts(representation: Representation, immutable: Sequence[str | int]) -> set[int]:
    """The parts that stay, by their names or what they are of."""
    if isinstance(immutable, (str, bytes)):
        raise InputError(f"immutable wants a list of names, as in immutable=[{immutable!r}]")
    held = set[int]()
    for name in immutable:
        own = {j for j, part in enumerate(representation.parts) if name in (part.name, part.column)}
        if not own:
            like = get_close_matches(str(name), representation.names, n=1)
            hint = f"did you mean {like[0]!r}?" if like else f"there are {len(representation.names)} other names"
            raise InputError(f"immutable names {name!r}, which is no feature of this instance: {hint}")
        held |= own
    return held


def judge_flips(
    items: Sequence[Flip], goal: Goal, what: str, most: int, n_calls: int, hints: Sequence[str]
) -> Verdict:
    """Whether any was found, as a verdict, and else what to try."""
    own = f'"{_brief(safe_str(goal.answer))}"'
    if goal.target is not None:
        flipped = f"takes the output from {goal.prediction:.4g} to {goal.wanted}"
    elif goal.to is None:
        flipped = f"flips {own}"
    else:
        flipped = f'turns {own} into "{_brief(goal.wanted)}"'
    if not items:
        out = f"its only {what[:-1]}" if most == 1 else f"up to {most} {what}"
        how = "of one or two columns" if what == "columns" else f"by leaving out {out}"
        sentence = f"No change {how} {flipped} ({n_calls - 1} tries)."
        advice = f"Try {', '.join(hints[:-1])}{' or ' * (len(hints) > 1)}{hints[-1]}."
        return Verdict(False, 0.0, 1.0, sentence, label="none", advice=advice)
    first = items[0]
    if goal.target is None:
        flipped = f'turns {own} into "{_brief(safe_str(first.answer))}"'
    rest = len(first.changes) - 2
    names = (", " if rest > 0 else " and ").join(_brief(name) for name in list(first.changes)[:2])
    names += f" and {rest} more" if rest > 0 else ""
    verb = "Changing" if what == "columns" else "Leaving out"
    more = f"; {len(items)} changes were found and verified" if len(items) > 1 else ", as the model verified"
    return Verdict(True, float(len(items)), 1.0, f"{verb} {names} {flipped}{more}.", label="reliable")


def _brief(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
