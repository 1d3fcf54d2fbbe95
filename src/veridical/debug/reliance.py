"""Does the model rely on a region, word or column? It is asked, without training it anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.given import seed_of
from veridical.attribute.removal import removable
from veridical.attribute.targets import resolve
from veridical.debug.cases import Cases, cases_at, drawn, most_of
from veridical.debug.concepts import Concept
from veridical.debug.records import Rng, Subject
from veridical.debug.region import Inside, fitted, inside, items_of, shares_measured
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.compare import interval
from veridical.masks import child_of, generator
from veridical.records import (
    Bools,
    Explanation,
    Floats,
    Instances,
    Measured,
    Method,
    Placed,
    Record,
    Removable,
    Seed,
    Verdict,
    replacement_of,
)
from veridical.represent.masked import Masked
from veridical.represent.regions import is_tensor, numbers_of

DRAWS = 16  # of what stands in for the region, and of random parts to compare it with
ROUNDING = 1e-9  # share of a difference that is none
FEWEST = 5  # instances that have the region
SHOWN = 3  # explanations that are evidence
NAMED = 3  # parts that a sentence names
TAKE, NULLS = 3, 4  # what seeds are for
RANDOM = "random parts"
NUMBERS = ("own", "other", "own_flips", "other_flips")  # of a Change
ACROSS = "Some parts lie across the region's border: their weight counts by the share inside."


@dataclass(frozen=True, slots=True, eq=False)
class Change(Record):
    """What becomes of the answer to one instance: without the region, and without as many random parts."""

    own: float  # mean size of the change of the output
    other: float
    own_flips: float  # share of times that another class is predicted; nan for a single output
    other_flips: float
    shared: bool = False  # other instances have the same in the region, so that the fill stood in for it


def reliance(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model rely on ``subject.region``, and does the explanation say so?

    The region is replaced by what stands in for it (draws of the background, the fill, no word), or where masks
    say what it is, by what other instances have at the same places; by the fill, too, where they have the same
    there, as a watermark that all share. The change of the output is compared with that of taking away as many
    random parts. Where whatever is put in is what was there, nothing is tested, and the check does not apply.
    Observed is the share of the explanation, in size, that lies in the region; expected is the region's share of
    the parts. It passed if neither is more than chance would give. A region that is a ``vd.Concept`` is looked for
    inside the network instead.
    """
    if isinstance(subject.region, Concept):
        return subject.region(method, subject, rng)
    some, every, notes = _found(method, subject, rng)
    found = [_changed(some, i, each) for i, each in enumerate(every)]
    tested = _tested(found, _called(subject.region))
    explained = some.explained()
    own, where = [explained[i] for i in tested], [every[i] for i in tested]
    rows, changes = some.rows[tested], [each for each in found if each is not None]
    notes = [*notes, *_replaced_notes(found)]
    table = {name: np.array([getattr(each, name) for each in changes]) for name in NUMBERS}
    shares, line = shares_measured("share of the explanation", own, where, generator(some.seed, NULLS))
    if not np.isfinite(shares).any() and not table["own"].any():
        return _no_evidence(own, line, (*some.notes, *notes))
    sizes = np.array([each.size(e) for each, e in zip(where, own, strict=True)])
    shown = bool(interval(shares - sizes)[1] > ROUNDING)
    used = bool(interval(table["own"] - table["other"])[1] > ROUNDING * table["own"].max())
    order = np.argsort(-table["own"], kind="stable")
    size = float(np.nanmean(sizes)) if np.isfinite(sizes).any() else np.nan
    return Verdict(
        passed=not (shown or used),
        observed=line.value,
        expected=size,
        sentence=_sentence(_called(subject.region), (used, shown), table, line, size),
        interval=(line.low, line.high),
        nulls=line.nulls,
        measures=(line, *_lines(table)),
        evidence=tuple(own[i] for i in order[:SHOWN]),
        rows=tuple(int(rows[i]) for i in order[: 10 if used else 0]),
        notes=(*some.notes, *notes, *([ACROSS] if any(each.across for each in where) else [])),
    )


def _found(method: Method, subject: Subject, rng: Rng) -> tuple[Cases, list[Inside], list[str]]:
    """Instances that have the region, drawn at random, and where it lies in them."""
    seed, instances = seed_of(rng), subject.represent.each(subject.X)
    items, most = items_of(subject.region, len(instances)), most_of(method, instances)
    found: dict[int, Inside] = {}
    looked = 0
    for row in drawn(len(instances), seed).tolist():
        looked += 1
        each = _inside(subject.X, instances, row, items[row])
        if each is not None and not each.parts.all():
            found[row] = each
        if len(found) == most:
            break
    if not found:
        first = instances.batch(0, 1)[0]
        raise InputError(
            f"the region names nothing, or everything, in all {looked} instances; what can be named is "
            f"{'; '.join([*(part.column or part.name for part in first.parts[:3]), '…', *first.notes])}"
        )
    if len(found) < FEWEST:
        raise NotApplicable(
            f"only {len(found)} of {looked} instances have the region: give at least {FEWEST} that do"
        )
    some = cases_at(method, subject, np.array(list(found)), seed)
    without = looked - len(found)
    notes = [f"{without} of the {looked} instances looked at do not have the region."] if without else []
    return some, [found[row] for row in some.rows.tolist()], notes


def _inside(X: Any, instances: Instances, row: int, item: Any) -> Inside | None:
    """Where the region lies in an instance; None where it has none, or cannot be explained."""
    x = None if hasattr(X, "iloc") or hasattr(X, "tocsr") else X[row]
    try:
        representation = instances.batch(row, row + 1)[0]
    except InputError:  # a text without words
        return None
    try:
        return inside(item, representation, x)
    except InputError as cause:
        raise InputError(f"the region of instance {row}: {cause}") from cause


def _tested(found: Sequence[Change | None], name: str) -> list[int]:
    """The cases in which the region was replaced by something else, if they are enough."""
    tested = [i for i, each in enumerate(found) if each is not None]
    if len(tested) < min(FEWEST, len(found)):
        raise NotApplicable(
            f"{name} was not tested: in {len(found) - len(tested)} of {len(found)} instances, what is put in its "
            "place is what was there; give a representer with another fill=…, such as vd.Blur() or "
            "vd.WholeMean(), or more instances that differ there"
        )
    return tested


def _replaced_notes(found: Sequence[Change | None]) -> list[str]:
    """Which cases were left out, or replaced otherwise."""
    out, shared = found.count(None), sum(each is not None and each.shared for each in found)
    notes = []
    if shared:
        notes.append(
            f"In {shared} of {len(found)} instances, other instances have the same in the region: the fill of the "
            "representer was put in instead."
        )
    if out:
        notes.append(
            f"{out} of {len(found)} instances were left out: what was put into the region was there before."
        )
    return notes


def _changed(some: Cases, i: int, where: Inside) -> Change | None:
    """What becomes of the answer to a case without the region, and without as many random parts.

    None where what is put into the region is what was there.
    """
    model, seed = some.subject.model, child_of(some.seed, TAKE, i)
    representation = removable(some.subject.represent.each(some.X).batch(i, i + 1)[0], "reliance")
    rng, d, m = generator(seed), len(where.shares), int(where.parts.sum())
    random = np.array([np.isin(np.arange(d), rng.permutation(d)[:m]) for _ in range(DRAWS)])
    swapped = _swapped(some, i, where, representation, random)
    shared = swapped is not None and not swapped.differs.any()
    if swapped is None or shared:
        if replacement_of(representation).unchanged[where.parts].all():
            return None
        outputs = _taken(model, representation, where.parts, random, seed)
        differs = np.ones(len(outputs) - DRAWS, bool)
    else:
        outputs, differs = model(swapped.inputs), swapped.differs
    y = resolve(some.targets[i], model, some.outputs[i : i + 1]).read(np.vstack([some.outputs[i], outputs]))
    moved, n = np.abs(y[1:] - y[0]), len(outputs) - DRAWS
    flips = outputs.argmax(axis=1) != some.outputs[i].argmax()
    many = outputs.shape[1] > 1
    return Change(
        float(moved[:n][differs].mean()),
        float(moved[n:].mean()),
        float(flips[:n][differs].mean()) if many else np.nan,
        float(flips[n:].mean()) if many else np.nan,
        shared,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Swapped(Record):
    """Inputs with other instances' content in the region, then in random parts."""

    inputs: Any
    differs: Bools  # (DRAWS,) whether the content of the region is another than the instance's own


def _taken(model: Model, own: Removable, parts: Bools, random: Bools, seed: Seed) -> Floats:
    """Answers without the region, as often as something is drawn for it, and without each random set of parts."""
    region = np.repeat(parts[None], 1 if own.steady else DRAWS, axis=0)
    return model(own.keeping(~np.vstack([region, random]), seed))


def _swapped(some: Cases, i: int, where: Inside, own: Removable, random: Bools) -> Swapped | None:
    """Other instances' content put in; None where it does not fit."""
    X = some.X
    if where.places is None or not isinstance(own, Placed):
        return None
    others = [k for k in range(len(some.rows)) if k != i and np.shape(X[k]) == np.shape(X[i])]
    try:
        painted = [own.paint(each.astype(np.float64)) > 0 for each in random]
    except InputError:  # parts that lie over each other
        return None
    region = fitted(where.places, np.shape(X[i]))
    sets = [region] * DRAWS + [fitted(each, np.shape(X[i])) for each in painted]
    if not others or any(each is None for each in sets):
        return None
    rng = generator(some.seed, TAKE, i, 1)
    donors = [X[others[k]] for k in np.tile(rng.integers(0, len(others), DRAWS), 2)]
    made = [_replaced(X[i], donor, each) for donor, each in zip(donors, sets, strict=True)]
    differs = np.array([_differs(own, X[i], donor, region) for donor in donors[:DRAWS]])
    listed = isinstance(X, list)
    inputs = some.subject.represent.each(made).inputs(0, len(made)) if listed else _stacked(made)
    return Swapped(inputs, differs)


def _differs(own: Removable, x: Any, donor: Any, region: Any) -> bool:
    """Whether another instance is not the same in the region, or nearly."""
    one, other = numbers_of(x, "an instance"), numbers_of(donor, "an instance")
    inside = np.broadcast_to(region, one.shape)
    if not isinstance(own, Masked):
        return bool((one != other)[inside].any())
    places = replace(own.places, labels=np.where(inside, 0, 1), shape=one.shape, channel=None)
    return not places.unchanged(one, other, 2)[0]


def _replaced(x: Any, donor: Any, where: Bools) -> Any:
    if is_tensor(x):
        return x.where(~x.new_tensor(where).bool(), donor)
    return np.where(where, donor, x)


def _stacked(made: Sequence[Any]) -> Any:
    if is_tensor(made[0]):
        both = made[0].new_empty((len(made), *made[0].shape))
        for row, each in zip(both, made, strict=True):
            row.copy_(each)
        return both
    return np.stack(made)


def _lines(table: dict[str, Floats]) -> list[Measured]:
    """What taking the region away does, beside random parts."""
    lines = [_line("change of the output", table["own"], table["other"])]
    if np.isfinite(table["own_flips"]).any():
        lines.append(_line("answers that flip", table["own_flips"], table["other_flips"]))
    return lines


def _line(name: str, own: Floats, other: Floats) -> Measured:
    return Measured(name, *interval(own), len(own), {RANDOM: float(np.mean(other))})


def _no_evidence(own: Sequence[Explanation], line: Measured, notes: tuple[str, ...]) -> Verdict:
    return Verdict(
        passed=True,
        observed=np.nan,
        expected=line.nulls.get("constant", np.nan),
        sentence="No evidence: the model's answers change with nothing that was taken away, here or elsewhere.",
        nulls=line.nulls,
        measures=(line,),
        evidence=tuple(own[:SHOWN]),
        notes=notes,
    )


def _called(region: Any) -> str:
    """What a sentence calls the region: by its names, where it has a few."""
    names = [region] if isinstance(region, str) else region
    if isinstance(names, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in names):
        quoted = [f"“{name}”" for name in (sorted(names) if isinstance(names, (set, frozenset)) else names)]
        if 0 < len(quoted) <= NAMED:
            return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
        return f"the {len(quoted)} parts that were named"
    return "this region"


def _sentence(name: str, found: tuple[bool, bool], table: dict[str, Floats], line: Measured, size: float) -> str:
    used, shown = found
    own, other = float(table["own"].mean()), float(table["other"].mean())
    flips = float(np.mean(table["own_flips"]))
    turned = f", and {100 * flips:.0f} % of the answers flip" if np.isfinite(flips) else ""
    asked = (
        f"without it the output changes by {own:.3g} on average (random parts of its size: {other:.3g}){turned}"
    )
    share = "nothing" if np.isnan(line.value) else f"{100 * line.value:.0f} % of its weight"
    says = f"the explanation gives it {share}, and {100 * size:.0f} % is its share of the parts"
    if np.isnan(size):
        says = "the explanation did not test it, because what replaced it was what was there"
    if used and shown:
        return f"The model relies on {name}, and the explanation shows it: {asked}; {says}."
    if used:
        return f"The model relies on {name}, and the explanation does not show it: {asked}; {says}."
    doubt = "it is not clear whether the model relies on it more than on others"
    if shown:
        then = doubt if own > other else "the model does not rely on it more than on others"
        return f"The explanation points at {name}, but {then}: {asked}; {says}."
    if own > other:
        return f"No sure sign that the model relies on {name} more than on others: {asked}; {says}."
    return f"The model does not rely on {name} more than on others: {asked}; {says}."
