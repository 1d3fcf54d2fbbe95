"""Which words of a review a model uses: by its coefficients, or by the paths of its trees.

A word on a path need not be able to change anything: without it the review may end in a leaf that says the same. A
tree is therefore pruned to what it can do with the words of one review, each there or not, and no others. What is
left is all that any question about the review can show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Columns: TypeAlias = frozenset[int]
Pruned: TypeAlias = Any  # the answer of a leaf, or (column, without the word, with it)


@dataclass(frozen=True)
class Used:
    """Columns of a review's words: those that count as used, and those that can change an answer at all."""

    gold: Columns
    reachable: Columns  # of all words of the review, not of the used ones alone

    @property
    def known(self) -> Columns:
        """What an explanation could find."""
        return self.gold & self.reachable


def used(model: Any, columns: Iterable[int]) -> Used:
    """What a model uses of a review that has these words; the model is linear, a tree, or made of trees."""
    there = frozenset(int(c) for c in columns)
    if hasattr(model, "coef_"):
        gold = frozenset(c for c in there if model.coef_[0, c] != 0)
        return Used(gold, gold)
    gold, reachable = set[int](), set[int]()
    for tree in trees_of(model):
        gold |= on_path(tree, there)
        reachable |= columns_of(pruned(tree, there))
    return Used(frozenset(gold), frozenset(reachable))


def trees_of(model: Any) -> list[Any]:
    """The arrays of each tree."""
    made = getattr(model, "estimators_", None)
    return [model.tree_] if made is None else [each.tree_ for each in np.ravel(made)]


def on_path(tree: Any, there: Columns) -> set[int]:
    """Words of the review that the tree asks for on the way to its leaf."""
    found, node = set[int](), 0
    while tree.children_left[node] != -1:
        column = int(tree.feature[node])
        if column in there:
            found.add(column)
            node = tree.children_right[node]
        else:
            node = tree.children_left[node]
    return found


def pruned(tree: Any, there: Columns, node: int = 0) -> Pruned:
    """What the tree can do with the words of a review: a question whose answers are the same is left out."""
    while tree.children_left[node] != -1:
        column = int(tree.feature[node])
        if column in there:
            without = pruned(tree, there, int(tree.children_left[node]))
            having = pruned(tree, there, int(tree.children_right[node]))
            return without if without == having else (column, without, having)
        node = int(tree.children_left[node])
    value = tree.value[node, 0]
    return float(value[0] / value.sum()) if len(value) > 1 else float(value[0])


def columns_of(tree: Pruned) -> set[int]:
    """The words that a pruned tree asks for."""
    if not isinstance(tree, tuple):
        return set()
    column, without, having = tree
    return {column} | columns_of(without) | columns_of(having)


@dataclass(frozen=True)
class Found:
    """How much of what is used is in a list of k words."""

    recall: float
    known: float  # recall of the used words that can change an answer; nan if there are none
    precision: float  # of a list as long as there are used words, which is then its recall, too


def found(order: Sequence[int], words: Used, k: int) -> Found:
    """Scores of an explanation's columns, the heaviest first."""
    first, as_many = set(order[:k]), set(order[: len(words.gold)])
    known = len(first & words.known) / len(words.known) if words.known else float("nan")
    return Found(len(first & words.gold) / len(words.gold), known, len(as_many & words.gold) / len(words.gold))


def ceiling(words: Used, d: int, k: int) -> tuple[float, float]:
    """The most recall that asking the model can give, and with the luck of a list that is filled to k words.

    Who knows all about the model's answers lists the words that can change them, used ones first, and fills the
    list with any of the others.
    """
    sure = min(len(words.known), k) / len(words.gold)
    free, others = max(k - len(words.reachable), 0), d - len(words.reachable)
    blind = len(words.gold - words.reachable) / len(words.gold)
    return sure, sure + blind * (min(free / others, 1.0) if others else 0.0)
