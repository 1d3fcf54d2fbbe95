"""What picks and groups are: records like those of ``veridical.records``, and kept the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError
from veridical.records import Floats, Ints, Part, Record, Seen, Verdict, View

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class Region(Record):
    """Where a group lies, in words."""

    sentence: str  # "cylinders high (6 to 8) and origin = usa"
    features: tuple[str, ...]  # that it is told by, the most telling first


@dataclass(frozen=True, slots=True, eq=False)
class Membership(Seen):
    """Which group an instance belongs to, why, and what the group's explanation says of it."""

    group: int
    probabilities: Floats  # (k,)
    parts: tuple[Part, ...]
    values: Floats  # (d,) the instance's features
    reasons: Floats  # (d,) how much each feature speaks for the group, against the others
    weights: Floats  # (d,) of the group
    intercept: float
    prediction: float  # what the group's explanation says
    region: Region

    def to_frame(self) -> pd.DataFrame:
        """One line a feature."""
        from veridical.frames import membership_frame

        return membership_frame(self)

    def __repr__(self) -> str:
        from veridical.render.groups import membership_picture

        return membership_picture(self)


@dataclass(frozen=True, slots=True, eq=False)
class Grouping(Seen):
    """K explanations, each for a group of instances, with the regions where they apply.

    A group's number is its row in ``weights`` and its column in ``assign(X)``. The explanation of group g says
    ``intercepts[g] + weights[g] @ features``: numbers in standard deviations from the mean of all instances,
    categories and words 1 where they are there and 0 where not.
    """

    parts: tuple[Part, ...]  # (d,) features that all instances share
    weights: Floats  # (k, d); in a table, of one standard deviation of a number
    intercepts: Floats  # (k,)
    intervals: Floats  # (k, d, 2): 95 %, of the sampling error; of a feature that was not chosen, zero
    sizes: npt.NDArray[np.int64]  # (k,) instances that belong to each group
    regions: tuple[Region, ...]  # (k,)
    fidelity: float  # R² around instances that were held out, each by its own group's explanation
    fidelities: Floats  # (k,) the same, by group; nan where no such instance belongs to it
    error: float  # root of the mean squared error behind the fidelity, in units of the output
    ceiling: float  # the same if the best group for each instance were known
    target: Any  # as that of an Explanation
    n_calls: int  # inputs the model was asked about
    verdict: Verdict
    space: Any  # turns instances into features
    gate: Any  # turns features into probabilities
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """One name a feature, aligned with the weights."""
        return tuple(part.name for part in self.parts)

    @property
    def k(self) -> int:
        """How many groups there are."""
        return len(self.weights)

    def assign(self, X: Any) -> Floats:
        """The probability of each group for each instance, (n, k); the model is not asked."""
        found: Floats = self.gate(self.space.rows(self.space.read(X)))
        return found

    def coverage(self, X: Any) -> Floats:
        """How surely each instance belongs to its group, (n,): the probability of the likeliest."""
        found: Floats = self.assign(X).max(axis=1)
        return found

    def predict(self, X: Any) -> Floats:
        """What the explanation of its own group says of each instance, (n,)."""
        rows = self.space.rows(self.space.read(X))
        group = self.gate(rows).argmax(axis=1)
        said = np.asarray(rows @ self.weights.T) + self.intercepts
        return np.asarray(said[np.arange(len(group)), group])

    def explain(self, x: Any) -> Membership:
        """Which group an instance belongs to, why, and what the group's explanation says of it."""
        is_table = hasattr(x, "tocsr") or hasattr(x, "columns")  # of one row
        row = self.space.rows(self.space.read(x if is_table else [x]))
        if row.shape[0] != 1:
            raise InputError(
                f"wanted one instance to explain, got {row.shape[0]}: call assign or predict for many"
            )
        probabilities = self.gate(row)[0]
        group = int(np.argmax(probabilities))
        values = np.asarray(row.toarray() if hasattr(row, "toarray") else row)[0]
        said = float(values @ self.weights[group] + self.intercepts[group])
        return Membership(
            group,
            probabilities,
            self.parts,
            values,
            self.gate.reasons(row, group),
            self.weights[group],
            float(self.intercepts[group]),
            said,
            self.regions[group],
        )

    def to_frame(self) -> pd.DataFrame:
        """One line a group and feature."""
        from veridical.frames import grouping_frame

        return grouping_frame(self)

    def __repr__(self) -> str:
        from veridical.render.groups import grouping_picture

        return grouping_picture(self)


@dataclass(frozen=True, slots=True, eq=False)
class Concept(Record):
    """Parts of many instances that are alike, so that they count as one."""

    name: str  # "dark green, smooth, lower left"
    members: Ints  # (m, 2): row number of the explanation, position of the part in it
    typical: tuple[int, int]  # the member that is nearest to the middle of all
    view: View | None = None  # of the explanation that the typical member is in


@dataclass(frozen=True, slots=True, eq=False)
class Pick(Seen):
    """A few explanations that cover together what the model uses (SP-LIME, Algorithm 2).

    The importance of a part is the root of the sum, over all explanations, of the size of its weight; coverage is
    the importance of all parts that some chosen explanation gives weight. It is absolute: ``share`` is
    coverage over ``total``. Where explanations are of several targets, a part counts for each target apart.
    """

    chosen: Ints  # (b,) row numbers, in the order of the pick
    coverage: Floats  # (b,) after each pick
    importance: Floats  # (p,) of each part
    total: float  # of the importance of all parts
    names: tuple[str, ...]  # (p,) of the parts, each once; with the target where there are several
    parts: tuple[Part, ...]  # (p,) the parts themselves
    targets: tuple[Any, ...]  # (p,) the target that the part counts for
    weights: Any  # (b, p) CSR, signed: what the chosen explanations say
    chosen_targets: tuple[Any, ...]  # (b,)
    n: int  # explanations there were to pick from
    random: Floats  # (b, 2) mean and standard deviation of the coverage that as many random rows reach
    concepts: tuple[Concept, ...] = ()  # where parts were matched by likeness
    notes: tuple[str, ...] = ()
    second: Pick | None = None  # of pick_for_two: the same rows, as the second model's explanations see them
    rows: tuple[Any, ...] = ()  # (b,) names of the chosen rows; empty where only their numbers are known

    @property
    def share(self) -> Floats:
        """Coverage after each pick, as a share of all there is to cover."""
        found: Floats = self.coverage / (self.total or 1.0)
        return found

    def to_frame(self) -> pd.DataFrame:
        """One line a chosen row and each part that it gives weight."""
        from veridical.frames import pick_frame

        return pick_frame(self)

    def __repr__(self) -> str:
        from veridical.render.picks import pick_picture

        return pick_picture(self)
