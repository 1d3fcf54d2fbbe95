"""Methods that ask a network for gradients: maps of its input, and sums of them over parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veridical.attribute.ask import Model, checked
from veridical.attribute.evidence import TopK, top_probability, weigh
from veridical.attribute.given import seed_of
from veridical.attribute.launches import ON_GPU
from veridical.attribute.layout import column_notes, layout_of
from veridical.attribute.models import model_of
from veridical.attribute.network import Network, as_numbers
from veridical.attribute.question import Answer, Outputs, Question
from veridical.attribute.removal import removable
from veridical.attribute.slopes import Slopes, by_function, reader
from veridical.attribute.targets import resolve
from veridical.errors import InputError, require
from veridical.masks import child_of
from veridical.records import (
    Explanation,
    Fit,
    Floats,
    Placed,
    Record,
    Removable,
    Replacement,
    Representation,
    Seed,
    Verdict,
)

AT_ONCE = 2**22  # numbers of all draws that are held at once, about
UNMEASURED = "how well the map agrees with what the network does was not measured"
HARDLY = (
    "Do not rely on it: by this method a network whose upper layers are random gives much the same map; see "
    'vd.debug(…, check="randomize").'
)
RELATIVE = 1e-3  # of what the weights should sum to, up to which they do


@dataclass(frozen=True, slots=True, eq=False)
class Maps(Record):
    """One map an input: a number for every value of the network's input, or for every token."""

    values: Floats  # (n, …)
    errors: Floats | None = None  # (n, …) standard errors, where something was drawn
    residual: Floats | None = (
        None  # (n,) by how much the sums miss what they should be, if they should be anything
    )


@dataclass(frozen=True, eq=False)
class Drawn:
    """The maps of some inputs, as a method finds them: tensors on the module's device."""

    values: Any  # (r, *shape)
    draws: Any = None  # (r, m, *shape), of which the values are the means
    reference: Any = None  # (r,) what the output exceeds by the sum of the values, where it should
    outputs: Any = None  # (r,) at the inputs themselves, where the method has met them
    differs: Any = None  # (r, *shape) where inputs are not as what they are compared with, if they are compared

    @property
    def errors(self) -> Any:
        """Standard errors (r, *shape), where something was drawn."""
        return None if self.draws is None else self.draws.std(dim=1) / math.sqrt(self.draws.shape[1])

    def by_token(self) -> Drawn:
        """The numbers of a token's vector as one."""
        draws = None if self.draws is None else self.draws.sum(dim=-1)
        differs = None if self.differs is None else self.differs.any(dim=-1)
        return Drawn(self.values.sum(dim=-1), draws, self.reference, self.outputs, differs)


class ByGradient:
    """Shared by methods that ask a network for gradients; each says how in ``drawn``.

    There all is torch, on the module's device and in its precision; only what is finished comes to NumPy.
    """

    hardly_depends: ClassVar[bool] = False  # on the network: a random one gives much the same map

    @property
    def n_points(self) -> int:
        """Points at which an input is asked about."""
        return 1

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """The maps of the inputs ``rows`` (r,), whose points are x (r, *shape), one seed each.

        What ``slopes`` gives is the method's own, to be changed in place.
        """
        raise NotImplementedError

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """Instances that the method compares with, if it does."""
        return None

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target."""
        network = network_of(model, type(self).__name__)
        parts = removable(representation, type(self).__name__)
        if not isinstance(representation, Placed):
            raise InputError(
                f"{type(self).__name__} sums a map up over the parts, and {type(representation).__name__} does "
                "not say where they lie: it needs gather(map), as in veridical.records.Placed"
            )
        batch = only(parts.keeping(np.ones((1, len(parts.names)), bool), seed))
        inputs, references = _prepared(network, batch, self.references(parts, seed))
        notes = column_notes(network, representation, inputs, seed)
        found: list[Explanation] = []
        for wanted in targets:
            asked = Asked(self, network, inputs, references, representation, batch, wanted, notes)
            found += asked.explain(model, seed)
        return tuple(found)

    def maps(self, network: Any, inputs: Any, targets: Any, seed: Any = 0) -> Maps:
        """Maps of a batch of the own inputs (n, …) of a module, or of the module of a ``Network``.

        ``targets`` are the outputs to explain: an index an input, one for all, a function of the output tensor, or
        None for the predicted classes. What a method compares with are instances, which ``prepare`` makes inputs.
        """
        torch = require("torch", extra="torch")
        network = network_of(model_of(network), type(self).__name__)
        if not len(inputs):
            raise InputError("there are no inputs to make maps of")
        own = network.moved(inputs) if isinstance(inputs, torch.Tensor) else network.own(inputs)
        root = seed if isinstance(seed, np.random.SeedSequence) else seed_of(seed)
        given = self.references(None, root)
        slopes = Slopes(network, own, reader(network, own, targets))
        if given is not None:
            slopes = Slopes(network, own, slopes.read, slopes.of(network.tensor(given)))
        return _maps(self, slopes, [child_of(root, i) for i in range(len(own))])


def _maps(method: ByGradient, slopes: Slopes, seeds: Sequence[Seed]) -> Maps:
    """All maps, as many at once as memory holds."""
    inputs, found = slopes.inputs, list[tuple[Any, ...]]()
    size = slopes.of(inputs[:1]).numel() * method.n_points
    step = max((ON_GPU if inputs.is_cuda else AT_ONCE) // max(size, 1), 1)
    for start in range(0, len(inputs), step):
        some = slice(start, start + step)
        found.append(_piece(method, slopes, some, seeds[some]))
    values, errors, reference, outputs = (_joined(each) for each in zip(*found, strict=True))
    if reference is None or outputs is None:
        return Maps(values, errors)
    return Maps(values, errors, outputs - reference - values.reshape(len(values), -1).sum(axis=1))


def _piece(method: ByGradient, slopes: Slopes, some: slice, seeds: Sequence[Seed]) -> tuple[Any, ...]:
    """Values, errors, references and outputs of some inputs."""
    x, rows = slopes.of(slopes.inputs[some]), slopes.rows[some]
    found, outputs = _found(method, slopes, x, rows, seeds), None
    if found.reference is not None:
        outputs = slopes.values(x[:, None], rows)[:, 0] if found.outputs is None else found.outputs
    return found.values, found.errors, found.reference, outputs


def _joined(some: Sequence[Any]) -> Any:
    """Tensors of some inputs each, as one array; None if there are none."""
    return None if some[0] is None else np.concatenate([each.cpu().numpy() for each in some], dtype=np.float64)


def _found(method: ByGradient, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
    found = method.drawn(slopes, x, rows, seeds)
    return found if slopes.network.embedding is None else found.by_token()


@dataclass(frozen=True, eq=False)
class Asked:
    """One instance, one target, and the network that is asked about it."""

    method: ByGradient
    network: Network
    inputs: Any  # (1, …) the module's own
    references: Any  # (m, …) the module's own, or None
    representation: Any  # which is Placed
    batch: Any  # the instance
    wanted: Any
    notes: tuple[str, ...] = ()

    def explain(self, model: Model, seed: Seed) -> tuple[Explanation, ...]:
        """The explanation, by the record that every method makes."""
        torch = require("torch", extra="torch")
        with torch.no_grad():
            outputs = checked(self.network.ask(self.inputs), 1)
        wanted = on_arrays(self.wanted) if callable(self.wanted) else self.wanted
        question = Question(model, self.representation, [wanted], seed, removes=True)
        return question.conclude(self.method, outputs, lambda asked: self._answer(model, asked, outputs, seed))

    def _answer(self, model: Model, asked: Outputs, outputs: Floats, seed: Seed) -> Answer:
        read = by_function(self.wanted) if callable(self.wanted) else self._read(model, outputs)
        slopes = Slopes(self.network, self.inputs, read)
        if self.references is not None:
            slopes = Slopes(self.network, self.inputs, read, slopes.of(self.references))
        found = _found(self.method, slopes, slopes.of(self.inputs), slopes.rows, [child_of(seed, 0)])
        layout, numbers = layout_of(self.network, self.batch, self.inputs), as_numbers(found.values)
        values = layout(numbers)[0]
        weights = self.representation.gather(values) / asked.unit
        n_calls, own = 1 + slopes.n_rows, asked.prediction / asked.unit
        sums = None if found.draws is None else self._sums(found.draws[0], layout) / asked.unit
        intercept = own - float(weights.sum())
        notes = self.notes + _probability_notes(self.network, outputs)
        if found.reference is not None:
            intercept = float(found.reference[0]) / asked.unit
            sums_to = float(weights.sum()) * asked.unit, float(numbers.sum())
            notes += _residual_notes(*sums_to, asked.prediction, float(found.reference[0]))
        fit = _fit(weights, sums, intercept)
        rule = TopK()
        evidence = weigh(fit, rule, top_probability(fit, rule), n_calls)
        return Answer(
            fit,
            evidence,
            rule.k,
            n_calls,
            float(self.method.n_points),
            notes,
            values,
            verdict=_doubted(evidence.verdict, self.method),
            replacement=self._compared(found, layout),
        )

    def _compared(self, found: Drawn, layout: Callable[[Floats], Floats]) -> Replacement:
        """Parts that are as in all that the method compares with; one that compares with none tests all."""
        if found.differs is None:
            return Replacement.sound(len(self.representation.parts))
        same = self.representation.gather(layout(as_numbers(found.differs.double()))[0]) == 0
        n = int(same.sum())
        what = "1 part is" if n == 1 else f"{n} parts are"
        note = f"{what} as in the baseline, and cannot be told by it: not tested; give another baseline"
        return Replacement(same, (note,) if n else ())

    def _sums(self, draws: Any, layout: Callable[[Floats], Floats]) -> Floats:
        """Sums over the parts (m, d) of draws (m, …), one after the other in float64."""
        each = (layout(one[None].astype(np.float64))[0] for one in draws.cpu().numpy())
        return np.stack([self.representation.gather(one) for one in each])

    def _read(self, model: Model, outputs: Floats) -> Callable[[Any, Any], Any]:
        target = resolve(self.wanted, model, outputs)
        return lambda outputs, own: target.read(outputs)


def _fit(weights: Floats, draws: Floats | None, intercept: float) -> Fit:
    """Weights with the error of their draws (m, d), if there are any."""
    d, every = len(weights), np.ones(len(weights), bool)
    m = 1 if draws is None else len(draws)
    covariance = np.zeros((d, d)) if draws is None or m < 2 else np.cov(draws.T).reshape(d, d) / m
    local = intercept + float(weights.sum())
    return Fit(weights, intercept, covariance, local, float("nan"), every, every, max(m - 1.0, 1.0))


def _doubted(verdict: Verdict, method: ByGradient) -> Verdict:
    """A verdict that says what it leaves open: the order of the parts is sure, what they mean is not."""
    if not verdict.passed:
        return verdict
    if method.hardly_depends:
        return replace(verdict, passed=False, sentence=HARDLY)
    return replace(verdict, sentence=f"{verdict.sentence[:-1]}; {UNMEASURED}.")


def network_of(model: Model, wanted_by: str) -> Network:
    if isinstance(model.predict, Network):
        return model.predict.uncompiled()
    raise InputError(
        f"{wanted_by} needs gradients, so it needs a torch network: pass the module itself, or vd.Network(module, "
        "…); vd.Lime, vd.KernelShap, vd.Occlusion, vd.Undo, vd.Either, vd.Sensitivity, vd.Counterfactual, "
        "vd.Greedy and vd.Parzen need only a predict function"
    )


def _prepared(network: Network, batch: Any, references: Any) -> tuple[Any, Any]:
    """The module's inputs; texts are prepared together, so that they get the same length."""
    if references is None:
        return network.tensor(batch), None
    if isinstance(batch, list):
        both = network.tensor([*batch, *references])
        return both[:1], both[1:]
    return network.tensor(batch), network.tensor(references)


def only(inputs: Any) -> Any:
    """The batch of one that a Representation keeps, made if it is a stream."""
    return inputs if hasattr(inputs, "shape") or isinstance(inputs, list) else inputs[0:1]


def on_arrays(target: Callable[[Any], Any]) -> Callable[[Floats], Floats]:
    """A function of tensors that is called on arrays."""
    torch, read = require("torch", extra="torch"), by_function(target)

    def on_arrays(outputs: Floats) -> Floats:
        return as_numbers(read(torch.as_tensor(outputs), None))

    on_arrays.__name__ = getattr(target, "__name__", "target")
    return on_arrays


def _residual_notes(total: float, everywhere: float, own: float, reference: float) -> tuple[str, ...]:
    """What the weights sum to, and the whole map, and what that should."""
    wanted, what = own - reference, "differs from the baseline's by" if reference else "is"
    said = f"the weights sum to {total:.4g}; the output {what} {wanted:.4g}"
    outside = everywhere - total
    parted = f", {outside:.2g} lies outside the parts" if abs(outside) > RELATIVE * abs(wanted) else ""
    return (f"{said}: residual {wanted - everywhere:.2g}{parted}",)


def _probability_notes(network: Network, outputs: Floats) -> tuple[str, ...]:
    """Whether the outputs look like probabilities, which flatten where the network is sure."""
    last = [type(part).__name__ for part in network.module.modules()][-1:]
    inside = outputs.min() >= 0 and outputs.max() <= 1
    if inside and (last == ["Sigmoid"] or (outputs.shape[1] > 1 and abs(outputs.sum() - 1) < 1e-4)):
        return (
            "the network's outputs look like probabilities, whose gradients vanish where it is sure: its logits "
            "are the better target, so leave the last softmax or sigmoid out",
        )
    return ()
