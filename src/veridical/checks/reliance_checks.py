"""Does the model rely on a suspected region, word or column? The model is queried without it, not trained anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.checks.concepts import Concept
from veridical.checks.subjects import Cases, Rng, Subject, build_cases, count_affordable, draw_order
from veridical.errors import InputError, NotApplicable
from veridical.methods.occlusion import check_removable
from veridical.metrics.ground_truth import read_truth
from veridical.metrics.significance import interval
from veridical.metrics.weights import share_weights
from veridical.models.targets import resolve
from veridical.models.validation import seed_of
from veridical.protocols import Instances, Method, Placed, Removable, Representation, replacement_of
from veridical.records import UNCLEAR, Bools, Explanation, Floats, Measured, Record, Verdict
from veridical.representations.masking import Masked
from veridical.representations.regions import is_tensor, numbers_of
from veridical.seeds import child_of, generator

MIN_SHARE_INSIDE = 0.5  # share of a part from which on it is taken for inside


@dataclass(frozen=True, slots=True, eq=False)
class RegionInParts(Record):
    """Where a region lies in one instance."""

    shares: Floats  # (d,) the share of each part that lies inside
    places: Any = None  # bools of the instance's shape, perhaps channels aside; None where the region is named

    @property
    def parts(self) -> Bools:
        """Which parts are inside, (d,): those by half, or else the one that is most."""
        return np.asarray(self.shares >= min(MIN_SHARE_INSIDE, self.shares.max()))

    @property
    def across(self) -> int:
        """How many parts lie across the border."""
        return int(((self.shares > 0) & (self.shares < 1)).sum())

    def size(self, explanation: Explanation) -> float:
        """The share that the region has of an explanation that is the same everywhere."""
        same = np.where(explanation.tested, 1.0, np.nan)
        return self._of(same, None if explanation.map is None else np.ones(explanation.map.shape))

    def share(self, explanation: Explanation) -> float:
        """The share of an explanation, in size, that lies inside; nan if it has none, or nothing was tested."""
        return self._of(explanation.weights, explanation.map)

    def _of(self, weights: Floats, values: Any) -> float:
        if values is not None and self.places is not None:
            sizes = np.abs(np.asarray(values, dtype=np.float64))
            where = broadcast_region(self.places, sizes.shape)
            if where is not None:
                return float((sizes * where).sum() / sizes.sum()) if sizes.any() else np.nan
        if np.isnan(weights[self.shares > 0]).all() or not np.nan_to_num(weights).any():
            return np.nan
        return float(share_weights(weights) @ self.shares)


def broadcast_region(places: Any, shape: tuple[int, ...]) -> Any:
    """Bools of an instance's shape, one axis aside, so that they broadcast to it; None if they do not fit."""
    for axis in (None, *range(len(shape))):
        if places.shape == (shape if axis is None else shape[:axis] + shape[axis + 1 :]):
            return places if axis is None else np.expand_dims(places, axis)
    return None


def region_items(region: Any, n: int) -> list[Any]:
    """One item an instance: names, a mask, or a function of the representation."""
    if region is None:
        raise NotApplicable(
            "there is no region to look at: give region=…, names of columns or words, or one mask per instance"
        )
    if isinstance(region, str):
        return [[region]] * n
    if callable(region) or isinstance(region, (set, frozenset)) or _are_names(region):
        return [region if callable(region) else list(region)] * n
    several = hasattr(region, "__len__") and len(region) > 0
    masks = several and all(np.ndim(item) or callable(item) for item in region)
    if masks and len(region) == n:
        return list(region)
    if several and hasattr(region, "shape"):  # one mask for all
        return [region] * n
    if not masks:
        raise InputError(f"region needs names of columns or words, or one mask per instance, not {region!r}")
    raise InputError(f"region needs one mask per instance: there are {n} instances and {len(region)} masks")


def locate_region(item: Any, representation: Representation, x: Any) -> RegionInParts | None:
    """Where a region lies in an instance; None where it is named and the instance has no such part."""
    if callable(item):
        shares, d = np.asarray(item(representation), dtype=np.float64), len(representation.parts)
        if shares.shape != (d,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.max() > 1:
            raise InputError(f"the region's function must return {d} shares from 0 to 1, one per feature")
        return RegionInParts(shares) if shares.any() else None
    if _are_names(item):
        known = {name for part in representation.parts for name in (part.name, part.column)}
        if not known & set(item):
            return None
    try:
        shares = read_truth(item, representation, x)
    except InputError as cause:
        raise InputError(str(cause).replace("the truth", "the region")) from cause
    named = _are_names(item) or np.shape(item) == (len(representation.parts),)
    return RegionInParts(shares, None if named and np.shape(x) != np.shape(item) else np.asarray(item, dtype=bool))


def _are_names(item: Any) -> bool:
    return isinstance(item, (list, tuple, set, frozenset)) and all(isinstance(each, str) for each in item)


def measure_shares(
    name: str, explanations: Sequence[Explanation], where: Sequence[RegionInParts], rng: np.random.Generator
) -> tuple[Floats, Measured]:
    """The share of each explanation inside, (n,), and a line of a table with those that know nothing."""
    shares = np.array([each.share(own) for each, own in zip(where, explanations, strict=True)])
    found = Measured(
        name, *interval(shares), int(np.isfinite(shares).sum()), measure_null_shares(explanations, where, rng)
    )
    return shares, found


def measure_null_shares(
    explanations: Sequence[Explanation], where: Sequence[RegionInParts], rng: np.random.Generator
) -> dict[str, float]:
    """The mean share inside of explanations that know nothing, and of those of other instances."""

    def mean(change: Callable[[Floats], Floats]) -> float:
        found = [each._of(change(own.weights), None) for each, own in zip(where, explanations, strict=True)]
        return float(np.nanmean(found)) if np.isfinite(found).any() else np.nan

    others = [*explanations[1:], explanations[0]]
    pairs = [(each, own) for each, own in zip(where, others, strict=True) if len(own.weights) == len(each.shares)]
    another = np.array([each.share(own) for each, own in pairs])
    known = {
        "constant": float(np.mean([each.size(own) for each, own in zip(where, explanations, strict=True)])),
        "noise": mean(lambda weights: rng.standard_normal(len(weights))),
        "shuffled": mean(rng.permutation),
        "another": float(np.nanmean(another)) if np.isfinite(another).any() else np.nan,
    }
    return {key: value for key, value in known.items() if np.isfinite(value)}


MAX_EXTRA_CHANGE = 0.5  # by which a region may change the output more than random parts of its size
N_DRAWS = 16  # of what stands in for the region, and of random parts to compare it with
ROUNDING = 1e-9  # share of a difference that is none
MIN_INSTANCES = 5  # instances that have the region
N_EVIDENCE = 3  # explanations that are evidence
MAX_NAMED_PARTS = 3  # parts that a sentence names
REMOVE, NULL_ROWS = 3, 4  # what seeds are for
RANDOM_PARTS = "random parts"
CHANGE_NUMBERS = ("own", "other", "own_flips", "other_flips")  # of a Change
ACROSS_BORDER = "Some features lie across the region's border: their weight counts by the share inside."


@dataclass(frozen=True, slots=True, eq=False)
class RegionChange(Record):
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
    the parts. It passed if neither is more than chance would give. A region that is a ``vd.concepts.Concept`` is looked for
    inside the network instead.
    """
    if isinstance(subject.region, Concept):
        return subject.region(method, subject, rng)
    some, every, notes = _draw_cases_with_region(method, subject, rng)
    found = [_measure_change(some, i, each) for i, each in enumerate(every)]
    tested = _find_tested(found, _name_region(subject.region))
    explained = some.explain()
    own, where = [explained[i] for i in tested], [every[i] for i in tested]
    rows, changes = some.rows[tested], [each for each in found if each is not None]
    notes = [*notes, *_note_replacements(found)]
    table = {name: np.array([getattr(each, name) for each in changes]) for name in CHANGE_NUMBERS}
    effects = [_build_line("change of the output", table["own"], table["other"])]
    if np.isfinite(table["own_flips"]).any():
        effects.append(_build_line("answers that flip", table["own_flips"], table["other_flips"]))
    shares, line = measure_shares("share of the explanation", own, where, generator(some.seed, NULL_ROWS))
    if not np.isfinite(shares).any() and not table["own"].any():
        return Verdict(
            passed=True,
            observed=np.nan,
            expected=line.nulls.get("constant", np.nan),
            sentence="No evidence: the model's answers change with nothing that was taken away, here or elsewhere.",
            nulls=line.nulls,
            measures=(line,),
            evidence=tuple(own[:N_EVIDENCE]),
            notes=(*some.notes, *notes),
        )
    sizes = np.array([each.size(e) for each, e in zip(where, own, strict=True)])
    shown = bool(interval(shares - sizes)[1] > ROUNDING)
    used = bool(interval(table["own"] - table["other"])[1] > ROUNDING * table["own"].max())
    perhaps = bool(interval(table["own"] - table["other"])[2] > MAX_EXTRA_CHANGE * table["other"].mean())
    outcome = "failed" if used else UNCLEAR if shown or perhaps else "passed"
    order = np.argsort(-table["own"], kind="stable")
    size = float(np.nanmean(sizes)) if np.isfinite(sizes).any() else np.nan
    return Verdict(
        passed=outcome == "passed",
        label=outcome,
        measured="change of the output without the region",
        better="lower",
        observed=effects[0].value,
        expected=effects[0].nulls[RANDOM_PARTS],
        sentence=_write_sentence(_name_region(subject.region), (used, shown), table, line, size),
        interval=(effects[0].low, effects[0].high),
        measures=(*effects, line),
        evidence=tuple(own[i] for i in order[:N_EVIDENCE]),
        rows=tuple(int(rows[i]) for i in order[: 10 if used else 0]),
        notes=(*some.notes, *notes, *([ACROSS_BORDER] if any(each.across for each in where) else [])),
    )


def _draw_cases_with_region(
    method: Method, subject: Subject, rng: Rng
) -> tuple[Cases, list[RegionInParts], list[str]]:
    """Instances that have the region, drawn at random, and where it lies in them."""
    seed, instances = seed_of(rng), subject.representer.each(subject.X)
    items, most = region_items(subject.region, len(instances)), count_affordable(method, instances)
    found: dict[int, RegionInParts] = {}
    looked = 0
    for row in draw_order(len(instances), seed).tolist():
        looked += 1
        each = _locate_in(subject.X, instances, row, items[row])
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
    if len(found) < MIN_INSTANCES:
        raise NotApplicable(
            f"only {len(found)} of {looked} instances have the region: give at least {MIN_INSTANCES} that do"
        )
    some = build_cases(method, subject, np.array(list(found)), seed)
    without = looked - len(found)
    notes = [f"{without} of the {looked} instances looked at do not have the region."] if without else []
    return some, [found[row] for row in some.rows.tolist()], notes


def _locate_in(X: Any, instances: Instances, row: int, item: Any) -> RegionInParts | None:
    """Where the region lies in an instance; None where it has none, or cannot be explained."""
    x = None if hasattr(X, "iloc") or hasattr(X, "tocsr") else X[row]
    try:
        representation = instances.batch(row, row + 1)[0]
    except InputError:  # a text without words
        return None
    try:
        return locate_region(item, representation, x)
    except InputError as cause:
        raise InputError(f"the region of instance {row}: {cause}") from cause


def _find_tested(found: Sequence[RegionChange | None], name: str) -> list[int]:
    """The cases in which the region was replaced by something else, if they are enough."""
    tested = [i for i, each in enumerate(found) if each is not None]
    if len(tested) < min(MIN_INSTANCES, len(found)):
        raise NotApplicable(
            f"{name} was not tested: in {len(found) - len(tested)} of {len(found)} instances its replacement is "
            "what was there; give a representer with another fill=…, such as vd.fills.Blur() or "
            "vd.fills.WholeMean(), or more instances that differ there"
        )
    return tested


def _note_replacements(found: Sequence[RegionChange | None]) -> list[str]:
    """Which cases were left out, or replaced otherwise."""
    out, shared = found.count(None), sum(each is not None and each.shared for each in found)
    notes = []
    if shared:
        notes.append(
            f"In {shared} of {len(found)} instances, other instances have the same in the region: the "
            "representer's replacement was put in instead."
        )
    if out:
        notes.append(
            f"{out} of {len(found)} instances were left out: what was put into the region was there before."
        )
    return notes


def _measure_change(some: Cases, i: int, where: RegionInParts) -> RegionChange | None:
    """What becomes of the answer to a case without the region, and without as many random parts.

    None where what is put into the region is what was there.
    """
    model, seed = some.subject.checked_model, child_of(some.seed, REMOVE, i)
    representation = check_removable(some.subject.representer.each(some.X).batch(i, i + 1)[0], "reliance")
    rng, d, m = generator(seed), len(where.shares), int(where.parts.sum())
    random = np.array([np.isin(np.arange(d), rng.permutation(d)[:m]) for _ in range(N_DRAWS)])
    swapped = _swap_region(some, i, where, representation, random)
    shared = swapped is not None and not swapped[1].any()
    if swapped is None or shared:
        if replacement_of(representation).unchanged[where.parts].all():
            return None
        region = np.repeat(where.parts[None], 1 if representation.steady else N_DRAWS, axis=0)
        outputs = model(representation.keeping(~np.vstack([region, random]), seed))
        differs = np.ones(len(outputs) - N_DRAWS, bool)
    else:
        outputs, differs = model(swapped[0]), swapped[1]
    y = resolve(some.targets[i], model, some.outputs[i : i + 1]).read(np.vstack([some.outputs[i], outputs]))
    moved, n = np.abs(y[1:] - y[0]), len(outputs) - N_DRAWS
    flips = outputs.argmax(axis=1) != some.outputs[i].argmax()
    many = outputs.shape[1] > 1
    return RegionChange(
        float(moved[:n][differs].mean()),
        float(moved[n:].mean()),
        float(flips[:n][differs].mean()) if many else np.nan,
        float(flips[n:].mean()) if many else np.nan,
        shared,
    )


def _swap_region(
    some: Cases, i: int, where: RegionInParts, own: Removable, random: Bools
) -> tuple[Any, Bools] | None:
    """Inputs with other instances' content in the region, then in random parts, and where the region differs.

    None where that content does not fit.
    """
    X = some.X
    if where.places is None or not isinstance(own, Placed):
        return None
    others = [k for k in range(len(some.rows)) if k != i and np.shape(X[k]) == np.shape(X[i])]
    try:
        painted = [own.paint(each.astype(np.float64)) > 0 for each in random]
    except InputError:  # parts that lie over each other
        return None
    region = broadcast_region(where.places, np.shape(X[i]))
    sets = [region] * N_DRAWS + [broadcast_region(each, np.shape(X[i])) for each in painted]
    if not others or any(each is None for each in sets):
        return None
    rng = generator(some.seed, REMOVE, i, 1)
    donors = [X[others[k]] for k in np.tile(rng.integers(0, len(others), N_DRAWS), 2)]
    made = [_paste_region(X[i], donor, each) for donor, each in zip(donors, sets, strict=True)]
    differs = np.array([_differs_in_region(own, X[i], donor, region) for donor in donors[:N_DRAWS]])
    listed = isinstance(X, list)
    inputs = some.subject.representer.each(made).inputs(0, len(made)) if listed else _stack(made)
    return inputs, differs


def _differs_in_region(own: Removable, x: Any, donor: Any, region: Any) -> bool:
    """Whether another instance is not the same in the region, or nearly."""
    one, other = numbers_of(x, "an instance"), numbers_of(donor, "an instance")
    inside = np.broadcast_to(region, one.shape)
    if not isinstance(own, Masked):
        return bool((one != other)[inside].any())
    places = replace(own.places, labels=np.where(inside, 0, 1), shape=one.shape, channel=None)
    return not places.unchanged(one, other, 2)[0]


def _paste_region(x: Any, donor: Any, where: Bools) -> Any:
    if is_tensor(x):
        return x.where(~x.new_tensor(where).bool(), donor)
    return np.where(where, donor, x)


def _stack(made: Sequence[Any]) -> Any:
    if is_tensor(made[0]):
        both = made[0].new_empty((len(made), *made[0].shape))
        for row, each in zip(both, made, strict=True):
            row.copy_(each)
        return both
    return np.stack(made)


def _build_line(name: str, own: Floats, other: Floats) -> Measured:
    return Measured(name, *interval(own), len(own), {RANDOM_PARTS: float(np.mean(other))})


def _name_region(region: Any) -> str:
    """What a sentence calls the region: by its names, where it has a few."""
    names = [region] if isinstance(region, str) else region
    if isinstance(names, (list, tuple, set, frozenset)) and all(isinstance(name, str) for name in names):
        quoted = [f"“{name}”" for name in (sorted(names) if isinstance(names, (set, frozenset)) else names)]
        if 0 < len(quoted) <= MAX_NAMED_PARTS:
            return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
        return f"the {len(quoted)} named features"
    return "this region"


def _write_sentence(
    name: str, found: tuple[bool, bool], table: dict[str, Floats], line: Measured, size: float
) -> str:
    used, shown = found
    own, other = float(table["own"].mean()), float(table["other"].mean())
    flips = float(np.mean(table["own_flips"]))
    turned = f", and {100 * flips:.0f} % of the answers flip" if np.isfinite(flips) else ""
    asked = (
        f"without it, the output changes by {own:.3g} on average (random features of its size: "
        f"{other:.3g}){turned}"
    )
    share = "nothing" if np.isnan(line.value) else f"{100 * line.value:.0f} % of its weight"
    says = f"the explanation gives it {share}, and {100 * size:.0f} % is its share of the features"
    if np.isnan(size):
        says = "the explanation did not test it, because its replacement is what was there"
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
