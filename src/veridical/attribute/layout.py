"""Maps in a network's layout, brought back to the instance's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veridical.attribute.network import Network
from veridical.errors import InputError, VeridicalError, describe_error
from veridical.records import Floats, Seed
from veridical.represent.masked import Masked
from veridical.represent.regions import numbers_of


def layout_of(network: Network, batch: Any, inputs: Any) -> Callable[[Floats], Floats]:
    """How maps (m, …) of the network's inputs (1, …) become maps of the instance, the one in ``batch``.

    Where more than one order of the axes fits, as in squares, it is the one that makes them most alike.
    """
    shape = tuple(inputs.shape[1:])
    if isinstance(batch, list) and batch and isinstance(batch[0], str):
        return _by_characters(network, batch[0], shape)
    own = np.shape(batch[0]) if isinstance(batch, list) else tuple(batch.shape[1:])
    moves: list[Callable[[Floats], Floats]] = [
        lambda maps: maps,
        lambda maps: np.moveaxis(maps, 1, -1),  # channels first to last
        lambda maps: np.moveaxis(maps, -1, 1),
        lambda maps: maps.sum(axis=1),  # channels that the instance has not
        lambda maps: maps.sum(axis=-1),
    ]
    some = moves[: 5 if len(shape) > 1 else 1]
    fitting = [move for move in some if move(np.zeros((1, *shape))).shape[1:] == own]
    if len(fitting) > 1:
        values, x = inputs.detach().cpu().double().numpy(), numbers_of(batch[0], "an instance")
        return max(fitting, key=lambda move: _likeness(move(values)[0], x))
    if fitting:
        return fitting[0]
    do = (
        "encode rows before, as in vd.Rows(encoded, onehot={…})" if len(own) == 1 else "resize or crop them before"
    )
    raise InputError(
        f"the network's input has shape {shape} and the instance {own}, so that its map does not fit: {do}, and "
        "explain what comes out, so that prepare only scales instances or moves their channels"
    )


def _likeness(a: Floats, b: Floats) -> float:
    """The correlation of two arrays; 0 if one is constant."""
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a**2).sum() * (b**2).sum()))
    return abs(float((a * b).sum())) / size if size else 0.0


def column_notes(network: Network, row: Any, inputs: Any, seed: Seed) -> tuple[str, ...]:
    """Whether ``prepare`` moves the columns of a table row, whose weights then have the names of others.

    Columns that are taken away change the network's input (1, p) where they stand. Half of them are at a time, by
    each digit of their numbers, so that few rows tell any two apart.
    """
    if network.prepare is None or isinstance(row, Masked) or inputs.dim() != 2:
        return ()
    numbers = np.arange(len(row.names))
    digits = numbers >> np.arange(max(len(numbers) - 1, 1).bit_length())[:, None] & 1 == 1
    masks = np.concatenate([digits, ~digits])
    table = row.keeping(np.concatenate([masks, np.ones((1, len(numbers)), bool)]), seed)
    if getattr(table, "shape", ()) != (len(masks) + 1, inputs.shape[1]):
        return ()
    values = table.toarray() if hasattr(table, "toarray") else np.asarray(table)
    made = network.tensor(table)
    moved = (made[:-1] != made[-1:]).cpu().numpy()
    taken = np.stack([row.paint(~mask) > 0 for mask in masks])
    stays = taken & ~moved & (values[:-1] != values[-1:])
    wrong = (moved & ~taken) & stays.any(axis=1)[:, None]
    if not wrong.any():
        return ()
    return (
        "weights stand at the wrong columns, for prepare moves them: number "
        f"{int(wrong.any(axis=0).argmax())} of the network's input, from 0 on, changes with another one of the "
        "instance; encode rows before, as in vd.Rows(encoded), and explain what comes out",
    )


def _by_characters(network: Network, text: str, shape: tuple[int, ...]) -> Callable[[Floats], Floats]:
    """One number a token, shared by the characters that the token stands for."""
    if network.spans is None:
        raise InputError(
            f"a text becomes an input of shape {shape}, and nothing says which characters each number stands for: "
            "give vd.Network(…, spans=…), a function from a text to the (start, stop) of each token"
        )
    if len(shape) != 1:
        raise InputError(f"wanted one row of token ids a text, with embedding=…; the network's input has {shape}")
    spread = np.zeros((shape[0], len(text)))
    for token, (start, stop) in enumerate(_spans(network, text)[: shape[0]]):
        if stop > start:
            spread[token, start:stop] = 1 / (stop - start)
    return lambda maps: maps @ spread


def _spans(network: Network, text: str) -> Sequence[tuple[int, int]]:
    assert network.spans is not None
    try:
        found = [(int(start), int(stop)) for start, stop in network.spans(text)]
    except VeridicalError:
        raise
    except Exception as cause:
        raise InputError(
            f"spans failed with {describe_error(cause)}; it must give the (start, stop) of every token"
        ) from cause
    wrong = [span for span in found if not 0 <= span[0] <= span[1] <= len(text)]
    if wrong:
        raise InputError(f"spans gave a token from {wrong[0][0]} to {wrong[0][1]} of {len(text)} characters")
    return found
