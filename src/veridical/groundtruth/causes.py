"""Known causes of wrong decisions: the aim, what was found, and the change confined to some features."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax

from veridical.errors import InputError, check_number
from veridical.models.adapters import model_of
from veridical.models.outputs import VALUE, Model, join_batches, stack_outputs
from veridical.models.torch_modules import Network
from veridical.protocols import Predict, Removable, Representation, Representer, Seed
from veridical.records import Bools, Floats, Ints, Output, Record
from veridical.representations.masking import Masked
from veridical.representations.regions import Array, as_type, compose_regions, numbers_of
from veridical.representations.tables.columns import Binned, Coded, Normal, as_numbers
from veridical.representations.tables.rows import Row, SparseRow
from veridical.representations.words import TextComposer
from veridical.seeds import child_of

DEFAULT_THRESHOLD = 0.5  # the threshold of a probability, unless the caller has another
MAX_LISTED_LABELS = 10  # names of labels that an error lists
PROBABILITY_TOLERANCE = 1e-6  # by which probabilities may miss their range
# By which a search goes beyond the confidence that is asked for, lest rounding takes it back
CONFIDENCE_SLACK = 1e-3


@dataclass(frozen=True)
class Decision:
    """What is decided from a model's outputs: one label per input.

    With several outputs the largest decides. A single output decides for label 1 from the threshold on, else for
    0; with two outputs the threshold is that of the second.

    Parameters
    ----------
    threshold : float, optional
        The threshold; by default 0.5 for a single output.
    """

    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_number("threshold", self.threshold)
            if math.isinf(self.threshold):
                raise InputError(f"threshold={self.threshold} decides everything alike: give a finite number")

    def __call__(self, outputs: Floats) -> Ints:
        """Labels (n,) from outputs (n, k)."""
        k = outputs.shape[1]
        if k > 2 and self.threshold is not None:
            raise InputError(
                f"a threshold decides between two labels, but the model has {k} outputs, of which the largest "
                "decides: leave threshold out, or give a predict function with the one output that is meant"
            )
        if k == 2 and self.threshold is None:
            return (outputs[:, 1] >= outputs[:, 0]).astype(np.int64)
        if k <= 2:
            return (outputs[:, -1] >= self.least).astype(np.int64)
        return np.asarray(outputs.argmax(axis=1), dtype=np.int64)

    @property
    def least(self) -> float:
        """The output from which on the label is 1, if there are two labels."""
        return DEFAULT_THRESHOLD if self.threshold is None else float(self.threshold)

    def others(self, outputs: Floats) -> Ints:
        """The label (n,) to aim at in place of the decision: the other one, or the runner-up."""
        if outputs.shape[1] <= 2:
            return 1 - self(outputs)
        return np.asarray(np.argsort(-outputs, axis=1, kind="stable")[:, 1], dtype=np.int64)

    def support(self, outputs: Floats, labels: Ints) -> Floats:
        """Probabilities (n,) of labels.

        Outputs between 0 and 1 are probabilities; with one output p, label 0 has 1 − p. Others are logits: softmax
        of several, and for a single one the distance from the threshold.
        """
        if outputs.shape[1] > 1:
            inside = ((outputs >= -PROBABILITY_TOLERANCE) & (outputs <= 1 + PROBABILITY_TOLERANCE)).all(
                axis=1, keepdims=True
            )
            sure = np.where(inside, outputs, softmax(outputs, axis=1))
            return np.take_along_axis(sure, labels[:, None], axis=1)[:, 0]
        one = outputs[:, 0] if 0 < self.least < 1 else expit(outputs[:, 0] - self.least)
        return np.where(labels == 1, one, 1 - one)

    def target(self, label: int, k: int) -> Any:
        """What to explain for a label; with a single output, label 0 is its negative."""
        if k > 1:
            return Output(label)
        return VALUE if label else negate_output


def negate_output(outputs: Any) -> Any:
    """The negative of the only output, as an array or a tensor: what speaks for label 0."""
    return -outputs[:, 0]


negate_output.__name__ = "label 0 (minus the output)"  # how explanations call it


@dataclass(frozen=True, slots=True, eq=False)
class Aim(Record):
    """Instances with their decisions, and the label that each is to get instead; ``choose_aim`` makes it."""

    model: Model
    represent: Representer
    X: Any  # (n) instances
    inputs: tuple[Any, ...]  # (n) as the model takes them, each a batch of one
    outputs: Floats  # (n, k) of the model
    labels: Ints  # (n,) as decided now
    wanted: Ints  # (n,)
    decision: Decision = Decision()
    anything: bool = False  # of more than two labels, any other will do: nobody asked for one

    @property
    def network(self) -> Network | None:
        """The model as a network, if it has gradients."""
        return self.model.predict.unwrap() if isinstance(self.model.predict, Network) else None

    def __len__(self) -> int:
        return len(self.labels)

    def query(self, inputs: Sequence[Any]) -> Floats:
        """Outputs (n, k) of inputs in the form of ``inputs``: batches of one."""
        return query_batches(self.model, inputs)

    def accepted_labels(self, rows: Any, labels: Ints) -> Ints:
        """The labels that changed instances were to get, given the labels that they got."""
        return np.where(self.anything & (labels != self.labels[rows]), labels, self.wanted[rows])

    def judge(self, found: Sequence[ChangedInput], name: str, confidence: float | None) -> tuple[Cause, ...]:
        """Judge what was found for each instance: does the model decide as wanted, as surely as asked for?"""
        outputs = self.query([each.changed for each in found])
        labels = self.decision(outputs)
        wanted = self.accepted_labels(slice(None), labels)
        support, made = self.decision.support(outputs, wanted), list[Cause]()
        for i, each in enumerate(found):
            reason = self._reason(
                int(self.labels[i]), int(labels[i]), int(wanted[i]), float(support[i]), confidence
            )
            if reason and each.reason and self.labels[i] != wanted[i]:
                reason = f"{each.reason}; {reason}"
            made.append(
                Cause(
                    first_row(self.inputs[i]), first_row(each.changed), int(self.labels[i]), int(wanted[i]),
                    float(support[i]), not reason, each.parts, each.n_calls + 1, reason, name, each.sounds,
                )
            )  # fmt: skip
        return tuple(made)

    @staticmethod
    def _reason(own: int, label: int, wanted: int, support: float, confidence: float | None) -> str:
        """Why this is no cause of the wanted label; empty if it is one."""
        if own == wanted:
            return f"the model decides {wanted} for the instance already"
        if label != wanted:
            return f"the model still decides {label}, with {support:.3g} for {wanted}"
        if confidence is not None and support < confidence:
            return f"the model decides {wanted}, but with {support:.3g}, and {confidence:g} was asked for"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class ChangedInput(Record):
    """A changed copy of one input, before it is judged."""

    changed: Any  # with its leading axis, as in ``Aim.inputs``
    n_calls: int  # rows that the model was asked about for it
    parts: Bools | None = None  # (d,) as in Cause
    sounds: tuple[Any, Any, float] | None = None
    reason: str = ""  # what is to be said first, if it turns out to have failed


@dataclass(frozen=True, slots=True, eq=False)
class Cause(Record):
    """An instance, a copy that was changed until the model decides otherwise, and what was changed.

    A failed search is recorded, too: ``success`` is False, and ``reason`` says why.

    Attributes
    ----------
    x, changed : array, str or row
        The instance and its changed copy, as the model takes them.
    label, wanted : int
        The decision on ``x``, and the wanted one.
    confidence : float
        Probability of ``wanted`` for the changed copy.
    success : bool
        Whether the model decides as wanted, as surely as asked for.
    parts : array of bool (d,) or None
        Features that were changed on purpose; None if the change may be anywhere.
    n_calls : int
        Number of inputs that the model was queried with.
    reason : str
        Why the search failed.
    name : str
        Kind of cause.
    sounds : tuple or None
        Samples, changed samples and their rate, where a recording was changed.
    """

    x: Any  # as the model takes them: an array, a text, a row
    changed: Any
    label: int  # of x
    wanted: int
    confidence: float  # how sure the model is of wanted, of the changed copy: a probability
    success: bool
    parts: Bools | None = None  # (d,) those that were changed on purpose; None if it may be anywhere
    n_calls: int = 0
    reason: str = ""
    name: str = ""  # of the kind of cause
    sounds: tuple[Any, Any, float] | None = None  # samples, changed samples, rate

    @property
    def delta(self) -> Floats:
        """The change of each value, for arrays."""
        x, changed = (numbers_of(each, "an instance").astype(np.float64) for each in (self.x, self.changed))
        return np.asarray(changed - x)


class CauseKind(Protocol):
    """A kind of cause: frozen settings to call with an aim and a seed, for one cause per instance."""

    purpose: ClassVar[str]  # "change" of small changes anywhere, "content" of other content in some parts

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]: ...


def choose_aim(
    predict: Predict | Model,
    represent: Representer,
    X: Any,
    *,
    decision: Decision | None = None,
    wanted: Any = None,
) -> Aim:
    """Query the model about instances, and choose the label that each is to get: by default the other one."""
    model = predict if isinstance(predict, Model) else model_of(predict)
    instances = represent.each(X)
    inputs = tuple(batch_of_one(each) for each in instances.batch(0, len(instances)))
    outputs, rule = query_batches(model, inputs), decision or Decision()
    _check_probability(rule, outputs)
    labels = rule(outputs)
    given = rule.others(outputs) if wanted is None else _read_wanted(wanted, model, outputs)
    anything = wanted is None and outputs.shape[1] > 2
    return Aim(model, represent, X, inputs, outputs, labels, given, rule, anything)


def batch_of_one(representation: Any) -> Any:
    """An instance as the model takes it, a batch of one."""
    if not isinstance(representation, Removable):
        raise InputError(
            f"{type(representation).__name__} cannot give the instance back as the model takes it: it needs "
            "keeping(masks, seed), as in veridical.protocols.Removable"
        )
    mask = np.ones((1, len(representation.names)), bool)
    made = representation.keeping(mask, child_of(np.random.SeedSequence(0)))
    return made if hasattr(made, "shape") or isinstance(made, list) else made[0:1]


def first_row(batch: Any) -> Any:
    """The only instance of a batch of one."""
    return batch.iloc[0] if hasattr(batch, "iloc") else batch[0]


def query_batches(model: Model, inputs: Sequence[Any]) -> Floats:
    """Outputs (n, k) of batches of one: in one batch if they have one shape, else one by one."""
    shapes = {np.shape(each)[1:] for each in inputs if hasattr(each, "shape")}
    if len(shapes) <= 1:
        return model(join_batches(list(inputs)))
    return stack_outputs([model(each, i) for i, each in enumerate(inputs)])


def _check_probability(decision: Decision, outputs: Floats) -> None:
    """Refuse a single output that is no probability, if no threshold says when it decides."""
    low, high = float(outputs.min()), float(outputs.max())
    if (
        outputs.shape[1] == 1
        and decision.threshold is None
        and not -PROBABILITY_TOLERANCE <= low <= high <= 1 + PROBABILITY_TOLERANCE
    ):
        raise InputError(
            f"the model's output goes from {low:.3g} to {high:.3g}, which is no probability, so that a threshold "
            "of 0.5 may not be meant: give vd.veracity a threshold=…, 0 for a logit, or vd.Network(…, "
            'answers="sigmoid")'
        )


def _read_wanted(wanted: Any, model: Model, outputs: Floats) -> Ints:
    """The caller's labels: one for all or one per instance, by number or name."""
    n, k = len(outputs), max(outputs.shape[1], 2)
    given = [wanted] * n if isinstance(wanted, str) or np.ndim(wanted) == 0 else list(wanted)
    names = [str(name) for name in list_labels(model, outputs.shape[1])]
    found = [names.index(each) if isinstance(each, str) and each in names else each for each in given]
    wrong = [each for each in found if isinstance(each, bool) or each not in range(k)]
    if len(found) != n or wrong:
        known = (
            f", or a name: {', '.join(names[:MAX_LISTED_LABELS])}{', …' * (k > MAX_LISTED_LABELS)}"
            if model.classes
            else ""
        )
        came = repr(wrong[0]) if wrong else f"{len(found)} of them"
        raise InputError(
            f"wanted is a label from 0 to {k - 1}{known}, one for all or one per instance ({n}); not {came}"
        )
    return np.array(found, dtype=np.int64)


def list_labels(model: Model, k: int) -> tuple[Any, ...]:
    """The names of the labels of a model with k outputs; the name of a single output is that of label 1."""
    if k == 1 and model.found and len(model.classes or ()) == 2:
        return tuple(model.classes or ())
    names = model.names_of(k)
    if names is None:
        return tuple(range(max(k, 2)))
    return (f"not {names[0]}", names[0]) if k == 1 else tuple(names)


def mix_change(representation: Representation, cause: Cause, masks: Bools) -> Any:
    """One input per mask (n, d), as the model takes them: the change where a mask is True, else the instance.

    Features are those of the changed copy. A mask of all False gives the instance, one of all True the changed
    copy, to the bit.
    """
    if isinstance(representation, Row):
        return _mix_rows(representation, cause, masks)
    if isinstance(representation, SparseRow):
        return _mix_sparse_rows(representation, cause, masks)
    if not isinstance(representation, Masked):
        raise InputError(
            f"{type(representation).__name__} does not say which of its features were changed: give tables, "
            "texts, pictures, spectrograms or series, each by a representer of its own"
        )
    if isinstance(representation.compose, TextComposer):
        return _mix_texts(representation.compose, cause, masks)
    places = representation.places
    return compose_regions(cause.changed, _to_array(cause.x), places)(masks)


def measure_change(representation: Representation, cause: Cause) -> Floats:
    """The size of the change in each feature (d,): its Euclidean length.

    A swapped word counts 1, another category or a missing value 1; a number in a table counts in standard
    deviations of its background.
    """
    if isinstance(representation, Row):
        return _part_lengths(representation, _column_moves(representation, cause))
    if isinstance(representation, SparseRow):
        before, after = _sparse_values(representation, cause)
        return np.abs(after - before)
    assert isinstance(representation, Masked)
    if isinstance(representation.compose, TextComposer):
        own = _find_original_pieces(representation.compose, cause)
        pairs = zip(representation.compose.pieces, own, strict=True)
        swapped = {part for (piece, part), old in pairs if piece != old}
        return np.isin(np.arange(len(representation.parts)), list(swapped)).astype(np.float64)
    return _part_lengths(representation, cause.delta)


def _part_lengths(representation: Any, delta: Floats) -> Floats:
    """Euclidean length over each feature, from one number per value."""
    return np.asarray(np.sqrt(representation.gather(np.square(delta))))


def _mix_rows(row: Row, cause: Cause, masks: Bools) -> Any:
    """Rows with the changed columns of some features."""
    schema = row.background.schema
    before, after = schema.check_row(cause.x), schema.check_row(cause.changed)
    for position in row.background.held:
        old, new = (schema.column(each, position)[0] for each in (before, after))
        if old is not new and not (old == new or (pd.isna(old) and pd.isna(new))):
            raise InputError(
                f"the column {schema.names[position]!r} was changed, which is no feature: change only columns "
                "that are"
            )
    every = before.iloc[np.zeros(len(masks), int)] if hasattr(before, "iloc") else np.repeat(before, len(masks), 0)
    return row.background.mix_rows(after, every, masks)


def _column_moves(row: Row, cause: Cause) -> Floats:
    """How far each column moved (p,), in standard deviations; 1 for another category or a missing value."""
    background, schema = row.background, row.background.schema
    before, after = schema.check_row(cause.x), schema.check_row(cause.changed)
    found = np.zeros(len(schema.names))
    for column in background.columns:
        for position in column.positions if isinstance(column, Coded) else (column.position,):
            old, new = (schema.column(each, position) for each in (before, after))
            found[position] = _column_move(column, old, new)
        if isinstance(column, Coded) and len(column.positions) > 1:  # a group changes as one
            found[list(column.positions)] /= np.sqrt(2)
    return found


def _column_move(column: Binned | Coded | Normal, old: Any, new: Any) -> float:
    missing = bool(pd.isna(old[0])), bool(pd.isna(new[0]))
    if all(missing):
        return 0.0
    numeric = not isinstance(column, Coded) or column.edges is not None
    if numeric and not any(missing):
        read = as_numbers if isinstance(column, Binned) else column.line.numbers
        far = abs(float(read(new)[0]) - float(read(old)[0]))
        return far / (column.sd or 1.0)
    return float(any(missing) or old[0] != new[0])


def _sparse_values(row: SparseRow, cause: Cause) -> tuple[Floats, Floats]:
    """The values of the instance and its changed copy in the columns that are features, (d,) each."""
    x = csr_matrix(cause.x).toarray()[0]
    if np.delete(x, row.row.indices).any():
        raise InputError(
            "a value of the instance is zero in its changed copy, where it is no feature: change values to other "
            "values"
        )
    return x[row.row.indices], np.asarray(row.row.data)


def _mix_sparse_rows(row: SparseRow, cause: Cause, masks: Bools) -> Any:
    """Sparse rows with the changed values of some features."""
    before, after = _sparse_values(row, cause)
    block = np.where(masks, after, before)
    at = np.nonzero(block)
    return csr_matrix(
        (block[at], (at[0], row.row.indices[at[1]])), shape=(len(masks), row.row.shape[1]), dtype=row.row.dtype
    )


def _mix_texts(composer: TextComposer, cause: Cause, masks: Bools) -> list[str]:
    """Texts with the swapped words of some features."""
    new, old = [piece for piece, _ in composer.pieces], _find_original_pieces(composer, cause)
    at = np.array([part for _, part in composer.pieces])
    kept = np.append(masks, np.ones((len(masks), 1), bool), axis=1)[:, at]  # between parts, both are alike
    return ["".join(a if keep else b for a, b, keep in zip(new, old, row, strict=True)) for row in kept]


def _find_original_pieces(composer: TextComposer, cause: Cause) -> Sequence[str]:
    """The original of each piece of the changed text: another word where a feature was swapped."""
    if cause.parts is None:
        raise InputError(
            "a cause in a text must say which of its words were swapped: give parts, one bool per word"
        )
    swapped = [part >= 0 and bool(cause.parts[part]) for _, part in composer.pieces]
    pattern = "".join(
        f"({'.+?' if free else re.escape(piece)})"
        for (piece, _), free in zip(composer.pieces, swapped, strict=True)
    )
    found = re.fullmatch(pattern, str(cause.x), re.DOTALL)
    if found is None:
        raise InputError(
            "the changed text differs from the instance in more than the words that were swapped, or is cut into "
            "other words than those of its cause"
        )
    return found.groups()


def _to_array(x: Any) -> Any:
    return x.detach().cpu().numpy() if hasattr(x, "detach") else np.asarray(x)


def required_confidence(confidence: float | None) -> float:
    """The probability at which a search ends: slightly more than was asked for."""
    return -np.inf if confidence is None else confidence + min(CONFIDENCE_SLACK, abs(1 - confidence) / 2)


def fit_range(values: Floats, x: Array) -> Array:
    """Values in an instance's type, and within 0 to 1 if all of its own are."""
    unit = x.dtype.kind == "f" and x.min() >= 0 and x.max() <= 1
    return as_type(np.clip(values, 0, 1) if unit else values, x.dtype)
