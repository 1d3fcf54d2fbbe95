"""Which training rows have a wrong label?

The loss of a model that was trained without the row is the ranking to beat. Beside it stand the loss of the model
that saw the row, self-influence, TracIn, and what explanations say of the labels; how good each is, is measured on
labels that are flipped on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.given import seed_of
from veridical.attribute.lime import Lime
from veridical.attribute.maps import ByGradient
from veridical.attribute.network import Network
from veridical.debug.doubt import SCORES, cosines
from veridical.debug.influence import self_influence
from veridical.debug.labeled import Labeled, labeled
from veridical.debug.noise import Noise, noise_of
from veridical.debug.ranking import auroc, precision
from veridical.debug.records import Rng, Subject
from veridical.debug.similarity import ANOTHER, CONSTANT, NOISE, NULLS, SHUFFLED
from veridical.debug.tracin import tracin
from veridical.errors import InputError, NotApplicable, check_whole
from veridical.evaluate.report import named
from veridical.evaluate.weights import by_column
from veridical.masks import child_of, generator
from veridical.records import Bools, Floats, Ints, Measured, Method, Record, Seed, Shareable, Verdict

DRAWN, FOLDS, FLIPS, PLANTED, EXPLAINED, RANDOM = range(6)  # what seeds are for
SHOWN = 3  # rows whose explanations are shown
NAMED = 5  # suspects that the sentence names
LISTED = 1000  # suspects that the verdict lists, at most
CHEAP, COSTLY = 200, 40  # explanations
MOST = 50_000  # rows that are looked at where wrong labels were found among fewer
UNSEEN, LOSS = "loss, trained without the row", "training loss"
PRECISION = ": precision at "
SEES, BLIND = "this check fails, as it should", "this check passes all the same: it cannot see wrong labels here"
DRAWS = 8  # of scores that know nothing

Measure: TypeAlias = Callable[[Floats, Bools], tuple[float, float, float]]


@dataclass(frozen=True)
class Labels:
    """Which training rows have a wrong label?

    ``share`` of the labels are flipped on purpose, to see what finds them; ``n_explained`` rows are explained for
    that: by default 200 where explanations share their samples or need none, else 40. Models are trained anew
    ``n_folds`` times on ``n_rows`` rows, and again where those look wrong.
    """

    share: float = 0.1
    n_explained: int | None = None
    n_rows: int = 2000
    n_folds: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.share, float) or not 0 < self.share < 0.5:
            raise InputError(f"share is the share of labels to flip, above 0 and below 0.5, not {self.share!r}")
        for name, least in (("n_explained", 20), ("n_rows", 40), ("n_folds", 2)):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least)

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        """Wrong labels of the subject's training rows; passed if there are no more than chance leaves."""
        seed, every = seed_of(rng), labeled(subject)
        data = every.at(np.sort(generator(seed, DRAWN).permutation(len(every))[: self.n_rows]))
        noise, measures, notes = self._noise(data, seed), list[Measured](), list[str]()
        if subject.train is not None:
            measures, notes = self._planted(data, noise, method, seed)
        if noise.found and len(data) < len(every):
            data = every.at(np.sort(generator(seed, DRAWN).permutation(len(every))[:MOST]))
            noise = self._noise(data, seed)
        if len(data) < len(every):
            notes.append(f"{len(data):,} of {len(every):,} rows, drawn at random, were looked at.")
        return self._verdict(data, noise, method, seed, measures=measures, notes=[*_seen(subject), *notes])

    def _noise(self, data: Labeled, seed: Seed) -> Noise:
        """Wrong labels by models that did not see them, or else by the model itself."""
        known = data.subject.train is not None
        p = data.unseen(self.n_folds, child_of(seed, FOLDS)) if known else data.probabilities(data.subject.model)
        return noise_of(p, data.labels)

    def _planted(
        self, data: Labeled, noise: Noise, method: Method, seed: Seed
    ) -> tuple[list[Measured], list[str]]:
        """How well scores find labels that are flipped on purpose, among those that do not look wrong by now."""
        rng = generator(seed, FLIPS)
        fair = rng.permutation(np.flatnonzero(noise.wrong <= 0.5))
        wrong, right = np.split(fair, [max(round(self.share * len(fair)), 1)])
        flipped = data.flipped(wrong, rng)
        unseen = flipped.unseen(self.n_folds, child_of(seed, PLANTED))
        model = flipped.trained(np.arange(len(flipped)), 0)
        n = min(self.n_explained or _affordable(data, method), len(fair))
        n_wrong = max(round(self.share * n), 1)
        at = np.r_[wrong[:n_wrong], right[: n - n_wrong]]
        known = Scored(flipped, at, np.arange(len(at)) < n_wrong, self.share, child_of(seed, RANDOM))
        measures = [*known.plain(unseen, model), *known.explained(method, model, child_of(seed, EXPLAINED))]
        seen = noise_of(unseen, flipped.labels)
        power = SEES if seen.found else BLIND
        return measures, [f"With {100 * self.share:.0f} % of the labels flipped on purpose, {power}."]

    def _verdict(
        self,
        data: Labeled,
        noise: Noise,
        method: Method,
        seed: Seed,
        *,
        measures: list[Measured],
        notes: list[str],
    ) -> Verdict:
        suspects = noise.suspects[:LISTED]
        rows = tuple(int(row) for row in data.rows[suspects])
        worst = np.argsort(-noise.wrong, kind="stable")[:SHOWN]
        evidence = data.at(worst).explained(method, data.subject.model, child_of(seed, EXPLAINED))[0]
        return Verdict(
            not noise.found, noise.share, 0.0, _sentence(noise, rows, measures, notes),
            check="labels", interval=(noise.low, noise.high), measures=tuple(measures), evidence=evidence,
            rows=rows, notes=tuple(notes),
        )  # fmt: skip


def labels(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Which training rows have a wrong label?"""
    return Labels()(method, subject, rng)


@dataclass(frozen=True, slots=True, eq=False)
class Scored(Record):
    """Rows of which some have a label that was flipped, and how well scores tell which."""

    data: Labeled  # all rows that models were trained on
    at: Ints  # (n,) those that are scored
    wrong: Bools  # (n,)
    share: float
    seed: Seed

    def plain(self, unseen: Floats, model: Model) -> Iterator[Measured]:
        """Scores that need no explanation."""
        seen, labels = self.data.probabilities(model), self.data.labels
        yield from self.measured(UNSEEN, _loss(unseen, labels)[self.at])
        yield from self.measured(LOSS, _loss(seen, labels)[self.at])
        inputs = self.data.subject.represent.each(self.data.X).inputs(0, len(self.data))
        with suppress(NotApplicable):
            yield from self.measured("self-influence", self_influence(model.predict, inputs, labels)[self.at])
        if isinstance(model.predict, Network):
            with suppress(NotApplicable):
                yield from self.measured(
                    "TracIn, last checkpoint", tracin([model.predict], inputs, labels)[self.at]
                )

    def explained(self, method: Method, model: Model, seed: Seed) -> Iterator[Measured]:
        """Scores of explanations of the given labels."""
        data, name = self.data.at(self.at), next(iter(named(method)))
        why, signs = data.explained(method, model, seed)
        weights, labels = by_column(why) * signs[:, None], data.labels
        nulls = list(self._nulls(weights))
        for kind, score in SCORES.items():
            empty = [(null, score(changed, labels)) for null, changed in nulls]
            yield from self.measured(f"{name}: {kind}", score(weights, labels), empty)
        told = signs * np.array([each.local_prediction for each in why])
        yield from self.measured(f"{name}: what the weights sum to", -told)
        clean, clean_signs = data.explained(method, data.subject.model, seed)
        before = by_column(clean) * clean_signs[:, None]
        if before.shape == weights.shape:
            empty = [(null, 1 - cosines(before, changed)) for null, changed in nulls]
            yield from self.measured(f"{name}: changed by the flips", 1 - cosines(before, weights), empty)

    def _nulls(self, weights: Floats) -> Iterator[tuple[str, Floats]]:
        """Explanations that know nothing in the place of these."""
        rng = generator(self.seed)
        for _ in range(DRAWS):
            yield from ((name, np.array([change(row, rng) for row in weights])) for name, change in NULLS.items())
            yield ANOTHER, weights[rng.permutation(len(weights))]

    def measured(
        self, name: str, scores: Floats, nulls: Sequence[tuple[str, Floats]] | None = None
    ) -> Iterator[Measured]:
        """Precision and AUROC of scores, beside those of scores that know nothing."""
        if nulls is None:
            rng = generator(self.seed)
            nulls = [(SHUFFLED, rng.permutation(scores)) for _ in range(DRAWS)]
            nulls += [(NOISE, rng.standard_normal(len(scores))) for _ in range(DRAWS)]
            nulls.append((CONSTANT, np.zeros(len(scores))))
        rate: Measure = partial(precision, share=self.share)
        for what, measure in ((f"{PRECISION}{100 * self.share:.0f} %", rate), (": AUROC", auroc)):
            known: dict[str, list[float]] = {}
            for null, each in nulls:
                known.setdefault(null, []).append(measure(each, self.wrong)[0])
            means = {null: float(np.mean(values)) for null, values in known.items()}
            yield Measured(f"{name}{what}", *measure(scores, self.wrong), len(scores), means)


def _loss(p: Floats, labels: Ints) -> Floats:
    """Log loss (n,) of given labels."""
    return np.asarray(-np.log(np.clip(p[np.arange(len(labels)), labels], 1e-12, 1.0)))


def _affordable(data: Labeled, method: Method) -> int:
    """How many rows to explain, twice: many if each costs little."""
    shared = isinstance(data.subject.represent.each(data.X).batch(0, 1)[0], Shareable)
    return CHEAP if (shared and isinstance(method, Lime)) or isinstance(method, ByGradient) else COSTLY


def _seen(subject: Subject) -> list[str]:
    """What to know of labels that no other model could be asked about."""
    if subject.train is not None:
        return []
    known = (
        "was trained on these labels and may know them by heart"
        if subject.training is not None
        else ("is taken not to have seen these labels; if it was trained on them, it may know them by heart")
    )
    return [f"The model {known}: give train=…, and models that did not see a row are asked about it."]


def _sentence(noise: Noise, rows: tuple[int, ...], measures: list[Measured], notes: list[str]) -> str:
    n = len(noise.wrong)
    if noise.found:
        first = ", ".join(str(row) for row in rows[:NAMED])
        said = (
            f"About {100 * noise.share:.1f} % of the labels look wrong ({100 * noise.low:.1f} % to "
            f"{100 * noise.high:.1f} %, with 95 % confidence): for {len(rows):,} of {n:,} rows the model is surer "
            f"of another class than overlap and chance explain. Look at rows {first} first; either their labels "
            "are wrong, or the model is, and sure of it."
        )
    elif any(BLIND in note for note in notes):
        said = (
            f"No sign of wrong labels, but that says little: among these {n:,} rows there was none either when "
            "labels were flipped on purpose."
        )
    else:
        often = (
            f"{100 * noise.contradicted:.1f} % of {n:,}, the less often the surer it is, as where classes overlap"
        )
        said = (
            f"No sign of wrong labels: the model contradicts {often if noise.contradicted else f'none of {n:,}'}."
        )
    rates = {each.name.partition(PRECISION)[0]: each.value for each in measures if PRECISION in each.name}
    explained = {name: value for name, value in rates.items() if ": " in name}
    if not explained:
        return said
    best = max(explained, key=lambda name: explained[name])
    method, _, kind = best.partition(": ")
    return (
        f"{said} Of the rows that explanations by {method} suspect most ({kind}, the best of its scores), "
        f"{100 * explained[best]:.0f} % have a label that was flipped on purpose; of those by the loss of a "
        f"model that did not see the row, {100 * rates[UNSEEN]:.0f} %."
    )
