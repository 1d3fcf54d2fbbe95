"""Methods that ask a network for gradients: maps of its input, and sums of them over parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, checked, resolve
from veridical.attribute.evidence import TopK, top_probability, weigh
from veridical.attribute.given import checked_model, seed_of
from veridical.attribute.layout import column_notes, layout_of
from veridical.attribute.network import Network
from veridical.attribute.question import Answer, Outputs, Question
from veridical.attribute.removal import removable
from veridical.attribute.slopes import Slopes, by_function, reader
from veridical.errors import InputError, require
from veridical.masks import child_of
from veridical.records import Explanation, Fit, Floats, Ints, Placed, Record, Removable, Representation, Seed

AT_ONCE = 2**24  # numbers of all maps that are held at once, about
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
    """The maps of some inputs, as a method finds them."""

    values: Floats  # (r, *shape)
    draws: Floats | None = None  # (r, m, *shape), of which the values are the means
    reference: Floats | None = None  # (r,) what the output exceeds by the sum of the values, where it should
    outputs: Floats | None = None  # (r,) at the inputs themselves, where the method has met them

    def by_token(self) -> Drawn:
        """The numbers of a token's vector as one."""
        draws = None if self.draws is None else self.draws.sum(axis=-1)
        return Drawn(self.values.sum(axis=-1), draws, self.reference, self.outputs)


class ByGradient:
    """Shared by methods that ask a network for gradients; each says how in ``drawn``."""

    @property
    def n_points(self) -> int:
        """Points at which an input is asked about."""
        return 1

    @property
    def cautions(self) -> tuple[str, ...]:
        """What a reader of any of its maps should know."""
        return ()

    def drawn(self, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
        """The maps of the inputs ``rows``, whose points are x (r, *shape), one seed each."""
        raise NotImplementedError

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """Instances that the method compares with, if it does."""
        return None

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target."""
        network = _network_of(model, type(self).__name__)
        parts = removable(representation, type(self).__name__)
        if not isinstance(representation, Placed):
            raise InputError(
                f"{type(self).__name__} sums a map up over the parts, and {type(representation).__name__} does "
                "not say where they lie: it needs gather(map), as in veridical.records.Placed"
            )
        batch = _only(parts.keeping(np.ones((1, len(parts.names)), bool), seed))
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
        network = _network_of(checked_model(network), type(self).__name__)
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
    n, parts = len(slopes.inputs), list[Maps]()
    size = int(np.prod(slopes.of(slopes.inputs[:1]).shape[1:])) * method.n_points
    step = max(AT_ONCE // max(size, 1), 1)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        x = slopes.of(slopes.inputs[start : start + step])
        found = _found(method, slopes, x, rows, [seeds[i] for i in rows.tolist()])
        errors, residual = None, None
        if found.draws is not None:
            errors = found.draws.std(axis=1, ddof=1) / np.sqrt(found.draws.shape[1])
        if found.reference is not None:
            own = slopes.values(x[:, None], rows)[:, 0] if found.outputs is None else found.outputs
            residual = own - found.reference - _total(found.values)
        parts.append(Maps(found.values, errors, residual))

    def joined(name: str) -> Any:
        pieces = [getattr(part, name) for part in parts]
        return None if pieces[0] is None else np.concatenate(pieces)

    return Maps(joined("values"), joined("errors"), joined("residual"))


def _found(method: ByGradient, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
    found = method.drawn(slopes, x, rows, seeds)
    return found if slopes.network.embedding is None else found.by_token()


def _total(values: Floats) -> Floats:
    return np.asarray(values.reshape(len(values), -1).sum(axis=1))


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
        wanted = _on_arrays(self.wanted) if callable(self.wanted) else self.wanted
        question = Question(model, self.representation, [wanted], seed, removes=True)
        return question.conclude(self.method, outputs, lambda asked: self._answer(model, asked, outputs, seed))

    def _answer(self, model: Model, asked: Outputs, outputs: Floats, seed: Seed) -> Answer:
        read = by_function(self.wanted) if callable(self.wanted) else self._read(model, outputs)
        slopes = Slopes(self.network, self.inputs, read)
        if self.references is not None:
            slopes = Slopes(self.network, self.inputs, read, slopes.of(self.references))
        x = slopes.of(self.inputs)
        found = _found(self.method, slopes, x, np.zeros(1, np.int64), [child_of(seed, 0)])
        layout = layout_of(self.network, self.batch, self.inputs)
        values = layout(found.values)[0]
        weights = self.representation.gather(values) / asked.unit
        n_calls, own = 1 + slopes.n_rows, asked.prediction / asked.unit
        draws = None if found.draws is None else layout(found.draws[0])
        sums = None if draws is None else np.stack([self.representation.gather(d) for d in draws]) / asked.unit
        intercept = own - float(weights.sum())
        notes = self.notes + self.method.cautions + _probability_notes(self.network, outputs)
        if found.reference is not None:
            intercept = float(found.reference[0]) / asked.unit
            sums_to = float(weights.sum()) * asked.unit, float(found.values.sum())
            notes += _residual_notes(*sums_to, asked.prediction, float(found.reference[0]))
        fit = _fit(weights, sums, intercept)
        rule = TopK()
        evidence = weigh(fit, rule, top_probability(fit, rule), n_calls)
        return Answer(fit, evidence, rule.k, n_calls, float(self.method.n_points), notes, values)

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


def _network_of(model: Model, wanted_by: str) -> Network:
    if isinstance(model.predict, Network):
        return model.predict.uncompiled()
    raise InputError(
        f"{wanted_by} needs gradients, so it needs a torch network: pass the module itself, or vd.Network(module, "
        "…); vd.Lime, vd.KernelShap, vd.Occlusion, vd.Greedy and vd.Parzen need only a predict function"
    )


def _prepared(network: Network, batch: Any, references: Any) -> tuple[Any, Any]:
    """The module's inputs; texts are prepared together, so that they get the same length."""
    if references is None:
        return network.tensor(batch), None
    if isinstance(batch, list):
        both = network.tensor([*batch, *references])
        return both[:1], both[1:]
    return network.tensor(batch), network.tensor(references)


def _only(inputs: Any) -> Any:
    """The batch of one that a Representation keeps, made if it is a stream."""
    return inputs if hasattr(inputs, "shape") or isinstance(inputs, list) else inputs[0:1]


def _on_arrays(target: Callable[[Any], Any]) -> Callable[[Floats], Floats]:
    """A function of tensors that is called on arrays."""
    torch, read = require("torch", extra="torch"), by_function(target)

    def on_arrays(outputs: Floats) -> Floats:
        values: Floats = read(torch.as_tensor(outputs), None).detach().cpu().double().numpy()
        return values

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
