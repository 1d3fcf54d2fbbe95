"""Known causes of wrong decisions: what is aimed at, and what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import expit, softmax

from veridical.attribute.ask import VALUE, Model, stacked
from veridical.attribute.given import checked_representer
from veridical.attribute.models import model_of
from veridical.attribute.network import Network
from veridical.debug.asked import joined
from veridical.errors import InputError, check_number
from veridical.masks import child_of
from veridical.records import Bools, Floats, Ints, Output, Predict, Record, Removable, Representer, Seed
from veridical.represent.regions import numbers_of

HALF = 0.5  # the threshold of a probability, unless the caller has another
FEW = 10  # names of labels that an error lists
ROUND = 1e-6  # by which probabilities may miss their range


@dataclass(frozen=True)
class Decision:
    """What is decided from the outputs of a model: one label an input.

    Of several outputs it is the largest one; of one output it is 1 from ``threshold`` on, and 0 below. With two
    outputs a threshold is that of the second.
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
        """The output from which on a label is 1, where there are but two."""
        return HALF if self.threshold is None else float(self.threshold)

    def others(self, outputs: Floats) -> Ints:
        """The label (n,) that is wanted in place of the decision: the other one, or the runner-up."""
        if outputs.shape[1] <= 2:
            return 1 - self(outputs)
        return np.asarray(np.argsort(-outputs, axis=1, kind="stable")[:, 1], dtype=np.int64)

    def support(self, outputs: Floats, labels: Ints) -> Floats:
        """How sure the outputs are of labels (n,), as probabilities.

        Outputs between 0 and 1 are taken as they are; of one output p, label 0 has 1 − p. Others are taken as
        logits: of several by softmax, of one by how far it is from the threshold.
        """
        if outputs.shape[1] > 1:
            inside = ((outputs >= -ROUND) & (outputs <= 1 + ROUND)).all(axis=1, keepdims=True)
            sure = np.where(inside, outputs, softmax(outputs, axis=1))
            return np.take_along_axis(sure, labels[:, None], axis=1)[:, 0]
        one = outputs[:, 0] if 0 < self.least < 1 else expit(outputs[:, 0] - self.least)
        return np.where(labels == 1, one, 1 - one)

    def target(self, label: int, k: int) -> Any:
        """What to explain for a label of a model with k outputs; of one output, label 0 speaks by its negative."""
        if k > 1:
            return Output(label)
        return VALUE if label else negated


def negated(outputs: Any) -> Any:
    """The negative of the only output, as an array or a tensor: what speaks for label 0."""
    return -outputs[:, 0]


negated.__name__ = "label 0 (minus the output)"  # how explanations call it


@dataclass(frozen=True, slots=True, eq=False)
class Aim(Record):
    """Instances that are decided in one way, and the label that each is to get instead; ``aimed`` makes it."""

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
        """The model as a network, if gradients can be had."""
        return self.model.predict.uncompiled() if isinstance(self.model.predict, Network) else None

    def __len__(self) -> int:
        return len(self.labels)

    def ask(self, inputs: Sequence[Any]) -> Floats:
        """Outputs (n, k) of inputs that stand as in ``inputs``: each a batch of one."""
        return asked_alike(self.model, inputs)

    def sought(self, rows: Any, labels: Ints) -> Ints:
        """What these instances, decided as ``labels`` once they are changed, were to be decided as."""
        return np.where(self.anything & (labels != self.labels[rows]), labels, self.wanted[rows])

    def causes(self, found: Sequence[Found], name: str, confidence: float | None) -> tuple[Cause, ...]:
        """What was found for each instance, judged: does the model decide as wanted, as surely as asked for?"""
        outputs = self.ask([each.changed for each in found])
        labels = self.decision(outputs)
        wanted = self.sought(slice(None), labels)
        support, made = self.decision.support(outputs, wanted), list[Cause]()
        for i, each in enumerate(found):
            reason = self._reason(
                int(self.labels[i]), int(labels[i]), int(wanted[i]), float(support[i]), confidence
            )
            if reason and each.reason and self.labels[i] != wanted[i]:
                reason = f"{each.reason}; {reason}"
            made.append(
                Cause(
                    alone(self.inputs[i]), alone(each.changed), int(self.labels[i]), int(wanted[i]),
                    float(support[i]), not reason, each.parts, each.n_calls + 1, reason, name, each.sounds,
                )
            )  # fmt: skip
        return tuple(made)

    @staticmethod
    def _reason(own: int, label: int, wanted: int, support: float, confidence: float | None) -> str:
        """Why this is no cause of the wanted label; nothing if it is one."""
        if own == wanted:
            return f"the model says {wanted} of the instance already"
        if label != wanted:
            return f"the model still says {label}, at {support:.3g} for {wanted}"
        if confidence is not None and support < confidence:
            return f"the model says {wanted}, but at {support:.3g}, and {confidence:g} was asked for"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Found(Record):
    """A changed copy of one input, before it is judged."""

    changed: Any  # with its leading axis, as in ``Aim.inputs``
    n_calls: int  # rows that the model was asked about for it
    parts: Bools | None = None  # (d,) as in Cause
    sounds: tuple[Any, Any, float] | None = None
    reason: str = ""  # what is to be said first, if it turns out to have failed


@dataclass(frozen=True, slots=True, eq=False)
class Cause(Record):
    """An instance, a copy that is changed until the model decides otherwise, and what was changed.

    One that failed is kept: ``success`` is False, and ``reason`` says why.
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
        """The change, value by value, of arrays."""
        x, changed = (numbers_of(each, "an instance").astype(np.float64) for each in (self.x, self.changed))
        return np.asarray(changed - x)


class Kind(Protocol):
    """A kind of cause: frozen settings that are called, and that give one cause an instance, in order."""

    purpose: ClassVar[str]  # "change" of small changes anywhere, "content" of other content in some parts

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]: ...


def aimed(
    predict: Predict | Model,
    represent: Representer,
    X: Any,
    *,
    decision: Decision | None = None,
    wanted: Any = None,
    classes: Sequence[Any] | None = None,
) -> Aim:
    """Ask the model about instances, and say what each is to be decided as: by default the other label."""
    model = predict if isinstance(predict, Model) else model_of(predict, classes)
    instances = checked_representer(represent).each(X)
    inputs = tuple(taken(each) for each in instances.batch(0, len(instances)))
    outputs, rule = asked_alike(model, inputs), decision or Decision()
    _check_probable(rule, outputs)
    labels = rule(outputs)
    given = rule.others(outputs) if wanted is None else _wanted(wanted, model, outputs)
    anything = wanted is None and outputs.shape[1] > 2
    return Aim(model, represent, X, inputs, outputs, labels, given, rule, anything)


def taken(representation: Any) -> Any:
    """An instance as the model takes it, a batch of one."""
    if not isinstance(representation, Removable):
        raise InputError(
            f"{type(representation).__name__} cannot give the instance back as the model takes it: it needs "
            "keeping(masks, seed), as in veridical.records.Removable"
        )
    mask = np.ones((1, len(representation.names)), bool)
    made = representation.keeping(mask, child_of(np.random.SeedSequence(0)))
    return made if hasattr(made, "shape") or isinstance(made, list) else made[0:1]


def alone(batch: Any) -> Any:
    """The only one of a batch of one."""
    return batch.iloc[0] if hasattr(batch, "iloc") else batch[0]


def asked_alike(model: Model, inputs: Sequence[Any]) -> Floats:
    """Outputs (n, k) of batches of one: all at once where they are alike, else one after the other."""
    shapes = {np.shape(each)[1:] for each in inputs if hasattr(each, "shape")}
    if len(shapes) <= 1:
        return model(joined(list(inputs)))
    return stacked([model(each, i) for i, each in enumerate(inputs)])


def _check_probable(decision: Decision, outputs: Floats) -> None:
    """Refuse one output that is no probability, where nothing says from which value on it decides."""
    low, high = float(outputs.min()), float(outputs.max())
    if outputs.shape[1] == 1 and decision.threshold is None and not -ROUND <= low <= high <= 1 + ROUND:
        raise InputError(
            f"the model's output goes from {low:.3g} to {high:.3g}, which is no probability, so that a threshold "
            "of 0.5 may not be meant: give vd.veracity a threshold=…, 0 for a logit, or vd.Network(…, "
            'answers="sigmoid")'
        )


def _wanted(wanted: Any, model: Model, outputs: Floats) -> Ints:
    """The caller's labels: one for all or one an instance, by number or by name."""
    n, k = len(outputs), max(outputs.shape[1], 2)
    given = [wanted] * n if isinstance(wanted, str) or np.ndim(wanted) == 0 else list(wanted)
    names = [str(name) for name in labels_of(model, outputs.shape[1])]
    found = [names.index(each) if isinstance(each, str) and each in names else each for each in given]
    wrong = [each for each in found if isinstance(each, bool) or each not in range(k)]
    if len(found) != n or wrong:
        known = f", or a name: {', '.join(names[:FEW])}{', …' * (k > FEW)}" if model.classes else ""
        came = repr(wrong[0]) if wrong else f"{len(found)} of them"
        raise InputError(
            f"wanted is a label from 0 to {k - 1}{known}, one for all or one an instance ({n}); not {came}"
        )
    return np.array(found, dtype=np.int64)


def labels_of(model: Model, k: int) -> tuple[Any, ...]:
    """What the labels of a model with k outputs are called; the name of an only output is that of label 1."""
    if k == 1 and model.found and len(model.classes or ()) == 2:
        return tuple(model.classes or ())
    names = model.names_of(k)
    if names is None:
        return tuple(range(max(k, 2)))
    return (f"not {names[0]}", names[0]) if k == 1 else tuple(names)
