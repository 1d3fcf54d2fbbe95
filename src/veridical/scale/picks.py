"""Picks of explanations (SP-LIME) from whatever holds them: memory, files and stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole, safe_repr, teach_keywords
from veridical.models.targets import check_single, find_class, list_classes
from veridical.models.validation import seed_of
from veridical.records import Ints
from veridical.scale.stores.store import ExplanationsInMemory, explanation_source
from veridical.summaries.concepts import Concepts, Matched, match_concepts
from veridical.summaries.matrices import ExplanationSource
from veridical.summaries.picks import (
    MAX_HELD,
    Pick,
    build_pick,
    draw_rows,
    greedy,
    greedy_by_passes,
    select_rows,
    shuffle_rows,
)

__all__ = ["Pick", "pick", "pick_at_random", "pick_for_two"]


@teach_keywords
def pick(
    explanations: Any,
    budget: int,
    *,
    target: Any = None,
    k: int | None = None,
    concepts: Concepts | None = None,
    rng: int | np.random.Generator = 0,
) -> Pick:
    """Pick a few explanations that cover together what the model uses (SP-LIME, Algorithm 2).

    ``explanations`` are those of explain_many, any iterable of them, a store, or the path of a store or of a file
    they were saved in. ``budget`` of them are picked, each the one that adds most to those before; of explanations
    that add the same, the first. ``k`` lets only the k heaviest parts of each explanation count, as in the paper;
    by default all that are not zero do, and in tables that is nearly every part.

    A store and a Parquet file are read a little at a time, and a few times over where there are more than two
    million weights: memory does not grow with the rows, and the pick is the same. Only parts that are matched by
    likeness must all be held.

    A part counts for each target apart; ``target`` leaves the explanations of others out. Parts of pictures,
    sounds and series that do not lie at the same places in all instances are matched by likeness, as
    ``concepts`` says.
    ``rng`` matters to the clusters of concepts, and to the random picks that the coverage is compared with.

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> import veridical as vd
    >>> wine = load_wine(as_frame=True)
    >>> model = LogisticRegression(max_iter=10_000).fit(wine.data, wine.target)
    >>> method = vd.Lime(n_samples=256)
    >>> many = vd.explain_many(model.predict_proba, vd.Rows(wine.data), wine.data, target=0, method=method)
    >>> few = vd.pick(many, budget=3, k=5)
    >>> many[few.chosen[0]].top(1)[0][0]
    'proline = 1280'
    """
    explanations = tuple(explanations) if isinstance(explanations, Iterator) else explanations
    seed, (found,) = _matched(
        [explanations], budget, concepts=concepts, rng=rng, target=target, k=k, most=MAX_HELD
    )
    if found.read is None:
        return _name_rows(_pick(found, greedy([found.table], int(budget)), seed), explanations)
    return _name_rows(_pick(found, greedy_by_passes(found.table, found.read, int(budget)), seed), explanations)


@teach_keywords
def pick_at_random(
    explanations: Any,
    budget: int,
    *,
    target: Any = None,
    k: int | None = None,
    concepts: Concepts | None = None,
    rng: int | np.random.Generator = 0,
) -> Pick:
    """Pick explanations at random, to see what ``pick`` is worth; a larger budget adds to a smaller one."""
    explanations = tuple(explanations) if isinstance(explanations, Iterator) else explanations
    seed, (found,) = _matched(
        [explanations], budget, concepts=concepts, rng=rng, target=target, k=k, most=MAX_HELD
    )
    return _name_rows(_pick(found, shuffle_rows(found.table, int(budget), seed), seed), explanations)


@teach_keywords
def pick_for_two(
    first: Any,
    second: Any,
    budget: int,
    *,
    k: int | None = None,
    concepts: Concepts | None = None,
    rng: int | np.random.Generator = 0,
) -> Pick:
    """Pick instances that show two models side by side (section 6.2 of the LIME paper).

    Both must explain the same instances in the same order. The first, third, … pick is the one that adds most to
    what is covered of the first model, the second, fourth, … to that of the second. The Pick is of the first
    model, and its ``second`` is of the second: the same rows, with coverage and importance of its own.
    """
    first, second = (tuple(each) if isinstance(each, Iterator) else each for each in (first, second))
    seed, found = _matched([first, second], budget, concepts=concepts, rng=rng, k=k)
    sizes = [len(each.table.rows) for each in found]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"both models must explain the same instances, but there are {sizes[0]} explanations of the first and "
            f"{sizes[1]} of the second"
        )
    chosen = greedy([each.table for each in found], int(budget))
    one, other = (_pick(each, chosen, seed) for each in found)
    return _name_rows(replace(one, second=_name_rows(other, second)), first)


def _name_rows(found: Pick, explanations: Any) -> Pick:
    """A pick with the names of its rows."""
    return replace(found, rows=tuple(explanation_source(explanations).row_names(found.chosen.tolist())))


def _matched(
    explanations: Sequence[Any],
    budget: Any,
    *,
    concepts: Any,
    rng: Any,
    target: Any = None,
    k: Any = None,
    most: float = np.inf,
) -> tuple[np.random.SeedSequence, list[Matched]]:
    """What the picks check, and the tables they pick from."""
    check_whole("budget", budget, 0)
    if k is not None:
        check_whole("k", k)
    if concepts is not None and not isinstance(concepts, Concepts):
        raise InputError(f"concepts wants settings such as vd.concepts.Concepts(n=12), not {concepts!r}")
    if target is not None:
        check_single(target, None if not isinstance(target, tuple) else [target], "pick takes one target")
    seed = seed_of(rng)
    sources = [explanation_source(each) for each in explanations]
    wanted = None if target is None else _target(target, sources)
    in_memory = all(isinstance(source, ExplanationsInMemory) for source in sources)
    limit = np.inf if in_memory else most  # what is in memory stays so
    return seed, match_concepts(sources, concepts, seed, wanted, k, most=limit)


def _target(target: Any, sources: Sequence[ExplanationSource]) -> Any:
    """The target of explanations that the caller means: one that some are of."""
    found: dict[Any, Any] = {}
    for source in sources:
        found.update(((type(each), each), each) for each in source.targets())
    labels = list(found.values())
    at = find_class(target, labels)
    if at is None and labels:
        raise InputError(f"no explanation is of the target {safe_repr(target)}; there are {list_classes(labels)}")
    return target if at is None else labels[at]


def _pick(found: Matched, chosen: Ints, seed: np.random.SeedSequence) -> Pick:
    table, draws = found.table, draw_rows(found.table, len(chosen), seed)
    if found.read is not None:
        positions = np.unique(np.append(draws, chosen))
        table = select_rows(table, found.read, positions)
        chosen, draws = np.searchsorted(positions, chosen), np.searchsorted(positions, draws)
    made = build_pick(table, chosen, draws)
    return replace(made, concepts=found.concepts, notes=(*found.notes, *made.notes))
