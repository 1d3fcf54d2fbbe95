"""A vocabulary for parts that belong to one instance each: those that are alike count as one concept.

The regions of two pictures are not the same thing, so the LIME paper left the pick for pictures open. Here parts
are described by what they look or sound like, or by an embedding of the caller's own, and clustered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.protocols import Seed
from veridical.records import Floats, Ints, Part, Record, View
from veridical.representations.descriptions import COMPARABLE, ViewScene, find_scenes
from veridical.representations.masking import call_user_function, make_unique
from veridical.seeds import generator
from veridical.summaries.matrices import (
    Batch,
    Columns,
    ExplanationMatrix,
    ExplanationSource,
    Label,
    RowBlock,
    build_matrix,
)

MAX_LEARNED = 20_000  # parts that clusters are learned from, at most
N_INIT = 4
BY_PLACE = (
    "Parts lie at the same places in all instances and were matched by place; "
    "concepts=vd.concepts.Concepts() matches them by likeness."
)
BY_LIKENESS = (
    "Parts of different instances are not the same thing, so those that are alike count as one concept; "
    "concepts=vd.concepts.Concepts(n=…) says how many there are."
)


@dataclass(frozen=True, slots=True, eq=False)
class PartCluster(Record):
    """Parts of many instances that are alike, so that they count as one.

    Attributes
    ----------
    name : str
        What the parts have in common, such as "dark green, smooth, lower left".
    members : array (m, 2)
        Row number of the explanation, and position of the part in it.
    typical : tuple of int
        The member that is nearest to the middle of all.
    view : View, optional
        That of the explanation that the typical member is in.
    """

    name: str
    members: Ints
    typical: tuple[int, int]
    view: View | None = None


@dataclass(frozen=True, eq=False)
class Concepts:
    """At most n concepts: parts of pictures, sounds and series that are alike.

    Parts are described by what an explanation shows of them: regions of a picture by color, texture, place and
    size; tiles by level, movement and frequency; pieces of a recording by their spectrum; windows of a series by
    level, spread and shape. Parts of different channels, and of different fields of a record, are never one
    concept. Each concept is named in plain words after what its parts have in common.

    Parameters
    ----------
    n : int, optional
        How many concepts there are, at most.
    embed : callable or list of array, optional
        Describes parts instead: a function from an explanation's view and the position of a part to a vector, or
        a list with one array per explanation that has one row per part.
    """

    n: int = 20
    embed: Callable[[View, int], Any] | Any = None

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        if isinstance(self.embed, (str, bytes, type)) or not (
            self.embed is None or callable(self.embed) or hasattr(self.embed, "__getitem__")
        ):
            raise InputError(
                "embed wants a function from a view and the position of a part to a vector, or a list of arrays, "
                f"one for each explanation, not {self.embed!r}"
            )

    def learn(self, sources: Sequence[ExplanationSource], seed: Seed) -> Vocabulary:
        """The concepts of all explanations of all sources, whatever their target."""
        counts, groups = list[int](), dict[Hashable, _Group]()
        for i, (n_parts, view) in enumerate(chain.from_iterable(source.views() for source in sources)):
            for scene, vectors in self._describe(i, n_parts, view):
                key = scene.group if isinstance(scene, ViewScene) else ()
                groups.setdefault(key, _Group(scene)).add(i, scene, vectors)
            counts.append(n_parts)
        if self.embed is not None and not callable(self.embed) and len(self.embed) != len(counts):
            raise InputError(
                f"embed has {len(self.embed)} arrays for {len(counts)} explanations: give one for each"
            )
        return _learn(list(groups.values()), np.array(counts, dtype=np.int64), self.n, seed)

    def _describe(
        self, i: int, n_parts: int, view: View | None
    ) -> Iterator[tuple[ViewScene | Ints, Floats | None]]:
        """What is there to be described, and the caller's vectors for it, if there are any."""
        if n_parts == 0:
            return
        if self.embed is None:
            yield from ((scene, None) for scene in find_scenes(view, n_parts))
        elif not callable(self.embed):
            own = self.embed[i] if i < len(self.embed) else np.empty((0, 0))
            yield np.arange(n_parts), _check_vectors(own, n_parts, f"embed[{i}]")
        elif view is not None and view.kind != "text":
            found: list[ViewScene | Ints] = [*find_scenes(view, n_parts)]
            if not found and view.kind != "fields":
                found = [np.arange(n_parts)]
            for scene in found:
                parts = scene.parts if isinstance(scene, ViewScene) else scene
                made = [np.ravel(call_user_function("embed", self.embed, view, int(j))) for j in parts]
                yield scene, _check_vectors(made, len(parts), "embed")


@dataclass(frozen=True, eq=False)
class Matched:
    """Explanations as a table whose columns are the same thing in every row, and how that was done."""

    table: ExplanationMatrix
    concepts: tuple[PartCluster, ...] = ()
    notes: tuple[str, ...] = ()
    read: Callable[[], Iterable[RowBlock]] | None = None  # its rows once more, where the table does not hold them


def match_concepts(
    sources: Sequence[ExplanationSource],
    concepts: Concepts | None,
    seed: Seed,
    target: Label | None = None,
    k: int | None = None,
    *,
    most: float = np.inf,
) -> list[Matched]:
    """The tables of these sources, with one vocabulary for all where they need one.

    Parts of texts and tables are the same thing wherever they come. So are parts that lie at the same places in
    all instances, such as those of a grid, unless concepts are asked for. Tables of more than ``most`` rows and
    weights do not hold them, unless a vocabulary is needed.
    """
    how = concepts
    notes: tuple[str, ...] = ()
    if how is None:
        found = [_match_directly(source, Columns(target, k), most) for source in sources]
        alike = None
        if not all(part.relation in COMPARABLE for each in found for part in each.table.parts):
            alike = have_same_layout(sources)
        if alike is not False:
            return [replace(each, notes=(BY_PLACE,) if alike else ()) for each in found]
        how, notes = Concepts(), (BY_LIKENESS,)
    vocabulary = how.learn(sources, seed)
    if concepts is not None and len(vocabulary.counts) and not (vocabulary.labels >= 0).any():
        raise InputError(
            "concepts are for parts of pictures, sounds and series, and these explanations have none: leave "
            "concepts out, or give vd.concepts.Concepts(embed=…) an array for each explanation"
        )
    found, start = [], 0
    for source in sources:
        n = sum(len(batch.targets) for batch in source.batches())
        own = vocabulary.select(start, start + n)
        start += n
        found.append(
            Matched(build_matrix(own.translate(source.batches()), target, k), own.concepts(source), notes)
        )
    return found


def _match_directly(source: ExplanationSource, columns: Columns, most: float) -> Matched:
    """Explanations whose parts are the same thing wherever they come."""
    table = columns.table(source.batches(), most)
    return Matched(table, read=None if table.whole else lambda: columns.blocks(source.batches()))


@dataclass(eq=False)
class _Group:
    """Parts that may be alike."""

    scene: ViewScene | Ints  # the first of them, to know the kind; or positions alone
    rows: list[Ints] = field(default_factory=list)
    positions: list[Ints] = field(default_factory=list)
    features: list[Floats] = field(default_factory=list)
    vectors: list[Floats] = field(default_factory=list)

    def add(self, row: int, scene: ViewScene | Ints, vectors: Floats | None) -> None:
        parts = scene.parts if isinstance(scene, ViewScene) else scene
        self.positions.append(parts)
        self.rows.append(np.full(len(parts), row))
        if isinstance(scene, ViewScene):
            self.features.append(scene.features())
        if vectors is not None:
            if self.vectors and vectors.shape[1] != self.vectors[0].shape[1]:
                raise InputError(
                    f"embed gave vectors of {vectors.shape[1]} numbers for explanation {row}, and of "
                    f"{self.vectors[0].shape[1]} before: all must be as long"
                )
            self.vectors.append(vectors)

    @property
    def scaled(self) -> Floats:
        """What clusters are made of: each block of features has the variance that it deserves."""
        if self.vectors:
            return np.concatenate(self.vectors)
        assert isinstance(self.scene, ViewScene)
        features, done, start = np.concatenate(self.features), [], 0
        for _, size, weight, least in self.scene.describer.blocks:
            block = features[:, start : start + size]
            start += size
            spread = max(float(np.sqrt(block.var(axis=0).sum())), least)
            if weight and spread > 0:
                done.append((block - block.mean(axis=0)) * (weight / spread))
        return np.concatenate([np.zeros((len(features), 1)), *done], axis=1)

    def names(self, labels: Ints, n: int) -> list[str]:
        """What the parts of each cluster have in common."""
        if not isinstance(self.scene, ViewScene):
            return [f"concept {c + 1}" for c in range(n)]
        everyone, title = np.concatenate(self.features), self.scene.title
        words, unit = self.scene.describer.words, self.scene.unit
        found = [words(everyone[labels == c], everyone, unit) for c in range(n)]
        return [f"{title}: {name}" if title else name for name in found]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Which concept each part is."""

    names: tuple[str, ...]  # (c,)
    counts: Ints  # (n,) parts of each explanation
    labels: Ints  # (m,) concept of each part, explanation after explanation; -1 where a part stands for itself
    distances: Floats  # (m,) to the middle of the concept

    def select(self, start: int, stop: int) -> Vocabulary:
        """The same vocabulary for some of the explanations."""
        a, b = (int(self.counts[:i].sum()) for i in (start, stop))
        return replace(
            self, counts=self.counts[start:stop], labels=self.labels[a:b], distances=self.distances[a:b]
        )

    def translate(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same explanations with concepts for parts."""
        own = tuple(Part(name, "concept", "like", name) for name in self.names)
        at = 0
        for batch in batches:
            labels = self.labels[at : at + len(batch.codes)]
            at += len(labels)
            codes = np.where(labels < 0, batch.codes, len(batch.parts) + labels)
            keys = (*batch.keys, *(("concept", c) for c in range(len(own))))
            yield replace(batch, parts=(*batch.parts, *own), keys=keys, codes=codes)

    def concepts(self, source: ExplanationSource) -> tuple[PartCluster, ...]:
        """What each concept is made of, with the view of its most typical part."""
        row = np.repeat(np.arange(len(self.counts)), self.counts)
        position = np.arange(len(row)) - np.repeat(np.cumsum(self.counts) - self.counts, self.counts)
        made = []
        for c, name in enumerate(self.names):
            members = np.flatnonzero(self.labels == c)
            if len(members):
                best = members[np.argmin(self.distances[members])]
                where = np.stack([row[members], position[members]], axis=1)
                made.append(PartCluster(name, where, (int(row[best]), int(position[best]))))
        wanted = {concept.typical[0] for concept in made}
        views = {i: view for i, (_, view) in enumerate(source.views()) if i in wanted} if wanted else {}
        return tuple(replace(concept, view=views.get(concept.typical[0])) for concept in made)


def have_same_layout(sources: Sequence[ExplanationSource]) -> bool | None:
    """Whether parts lie at the same places in all instances; None where none of them lies anywhere."""
    first: list[bytes] | None = None
    for n_parts, view in chain.from_iterable(source.views() for source in sources):
        found = [scene.layout() for scene in find_scenes(view, n_parts)]
        if found and first is not None and found != first:
            return False
        first = found or first
    return None if first is None else True


def _learn(groups: list[_Group], counts: Ints, n: int, seed: Seed) -> Vocabulary:
    """Clusters of each group, as many as its share of all parts."""
    total = sum(len(part) for group in groups for part in group.positions)
    starts, names = np.cumsum(counts) - counts, list[str]()
    labels, distances = np.full(int(counts.sum()), -1, dtype=np.int64), np.zeros(int(counts.sum()))
    for g, group in enumerate(groups):
        rows, positions = np.concatenate(group.rows), np.concatenate(group.positions)
        share = max(round(n * len(rows) / max(total, 1)), 1)
        found, away = _cluster(group.scaled, share, generator(seed, 2, g))
        at = starts[rows] + positions
        labels[at], distances[at] = len(names) + found, away
        names += group.names(found, int(found.max(initial=-1)) + 1)
    return Vocabulary(tuple(make_unique(names)), counts, labels, distances)


def _cluster(points: Floats, n: int, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """The cluster of each point, none of them empty, and how far it is from the middle."""
    some = points[np.sort(rng.permutation(len(points))[:MAX_LEARNED])]
    k = min(n, len(np.unique(some, axis=0)))
    if k == 0:
        return np.empty(0, np.int64), np.empty(0)
    from sklearn.cluster import KMeans  # which takes a while to load, and most picks do without

    model = KMeans(k, n_init=N_INIT, random_state=int(rng.integers(2**31))).fit(some)
    labels = model.predict(points)
    distances = np.linalg.norm(points - model.cluster_centers_[labels], axis=1)
    _, compact = np.unique(labels, return_inverse=True)
    return compact.astype(np.int64), distances


def _check_vectors(made: Any, n: int, name: str) -> Floats:
    """Vectors of finite numbers, one a part."""
    try:
        vectors = np.array(made, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(f"{name} must give one vector of numbers a part, all of one length") from cause
    if vectors.ndim != 2 or len(vectors) != n:
        raise InputError(f"{name} must give one vector per part, ({n}, f) in all, not an array of {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise InputError(f"{name} has NaN or infinity: every number must be finite")
    return vectors
