"""Attribution maps of networks: what all gradient methods share, and sums of maps over features."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, VeridicalError, describe_error, require
from veridical.evidence.verdicts import LEAST_STABLE, TopK, top_probability, weigh
from veridical.methods.occlusion import check_removable
from veridical.methods.results import Answer, Outputs, Question
from veridical.models.adapters import model_of
from veridical.models.outputs import Model, check_outputs
from veridical.models.targets import resolve
from veridical.models.torch_modules import MAX_NUMBERS_ON_GPU, Network, as_numbers
from veridical.models.validation import seed_of
from veridical.networks.derivatives import OutputGradients, OutputReader, function_reader, target_reader
from veridical.protocols import Placed, Removable, Representation, Seed
from veridical.records import Explanation, Fit, Floats, Record, Replacement, Verdict
from veridical.representations.masking import Masked
from veridical.representations.regions import numbers_of
from veridical.seeds import child_of

MAX_NUMBERS_PER_BATCH = 2**22  # numbers of all draws that are held at once, about
RANDOM_NETWORK = Verdict(
    False,
    math.nan,
    LEAST_STABLE,
    "By this method a network whose upper layers are random gives much the same map: do not use these weights.",
    label="unreliable",
    advice='Try `vd.debug(…, check="randomize")`, or another method.',
)
RESIDUAL_TOLERANCE = 1e-3  # of what the weights should sum to, up to which they do


@dataclass(frozen=True, slots=True, eq=False)
class Maps(Record):
    """Attribution maps (saliency maps) of a batch: one number for every value of an input, or for every token.

    Attributes
    ----------
    values : array of shape (n, …)
        One map per input, in the shape of the network's input.
    errors : array of shape (n, …), optional
        Standard errors, of methods that draw points at random.
    residual : array of shape (n,), optional
        Difference between the sum of each map and what it should be, of methods whose maps have a known sum.
    """

    values: Floats
    errors: Floats | None = None
    residual: Floats | None = None


@dataclass(frozen=True, eq=False)
class MapBatch:
    """The maps of some inputs as a method computes them: tensors on the module's device."""

    values: Any  # (r, *shape)
    draws: Any = None  # (r, m, *shape), of which the values are the means
    reference: Any = None  # (r,) what the output exceeds by the sum of the values, where it should
    outputs: Any = None  # (r,) at the inputs themselves, where the method has met them
    differs: Any = None  # (r, *shape) where inputs are not as what they are compared with, if they are compared

    @property
    def errors(self) -> Any:
        """Standard errors (r, *shape), where something was drawn."""
        return None if self.draws is None else self.draws.std(dim=1) / math.sqrt(self.draws.shape[1])

    def by_token(self) -> MapBatch:
        """The numbers of a token's vector as one."""
        draws = None if self.draws is None else self.draws.sum(dim=-1)
        differs = None if self.differs is None else self.differs.any(dim=-1)
        return MapBatch(self.values.sum(dim=-1), draws, self.reference, self.outputs, differs)


class GradientMethod:
    """Base of the methods that need a network's gradients; each computes its maps in ``attribute``.

    There everything is a torch tensor on the module's device and in its precision; only finished maps become
    NumPy arrays.
    """

    hardly_depends: ClassVar[bool] = False  # on the network: one with random weights gives much the same map

    @property
    def n_points(self) -> int:
        """Points per input at which the network is run."""
        return 1

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """The maps of the inputs ``rows`` (r,), whose points are x (r, *shape), one seed each.

        What ``gradients`` gives is the method's own, to be changed in place.
        """
        raise NotImplementedError

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """Instances that the method compares with, if it does."""
        return None

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance.

        Parameters
        ----------
        model : Model
            A model whose predict function is a ``Network``.
        representation : Representation
            The instance as parts, whose places are known.
        targets : sequence
            The outputs to explain.
        seed : SeedSequence
            The seed, of methods that draw points at random.

        Returns
        -------
        tuple of Explanation
            One per target: the map, and its sum over each part as the weight.

        Raises
        ------
        InputError
            If the model is no torch network, or the parts have no places.
        """
        network = find_network(model, type(self).__name__)
        parts = check_removable(representation, type(self).__name__)
        if not isinstance(representation, Placed):
            raise InputError(
                f"{type(self).__name__} sums a map up over the parts, and {type(representation).__name__} does "
                "not say where they lie: it needs gather(map), as in veridical.protocols.Placed"
            )
        batch = as_batch(parts.keeping(np.ones((1, len(parts.names)), bool), seed))
        inputs, references = _prepare(network, batch, self.references(parts, seed))
        notes = column_notes(network, representation, inputs, seed)
        return tuple(
            MapRequest(self, network, inputs, references, representation, batch, wanted, notes).explain(
                model, seed
            )
            for wanted in targets
        )

    def maps(self, network: Any, inputs: Any, targets: Any, seed: Any = 0) -> Maps:
        """Attribution maps of a batch of the network's own inputs.

        Parameters
        ----------
        network : torch module or Network
            The network that is explained.
        inputs : tensor or array of shape (n, …)
            What the module itself takes; ``prepare`` of a ``Network`` is not applied.
        targets : int, sequence of int, function or None
            The output to explain: one index for all inputs, one index per input, a function of the output tensor
            (n, k) that gives (n,), or None for the predicted classes.
        seed : int, Generator or SeedSequence, default 0
            The seed, of methods that draw points at random.

        Returns
        -------
        Maps
            One map per input.
        """
        torch = require("torch", extra="torch")
        network = find_network(model_of(network), type(self).__name__)
        if not len(inputs):
            raise InputError("there are no inputs to make maps of")
        own = network.to_device(inputs) if isinstance(inputs, torch.Tensor) else network.to_tensor(inputs)
        root = seed if isinstance(seed, np.random.SeedSequence) else seed_of(seed)
        given = self.references(None, root)
        gradients = OutputGradients(network, own, target_reader(network, own, targets))
        if given is not None:
            gradients = replace(gradients, references=gradients.to_points(network.tensor(given)))
        seeds = [child_of(root, i) for i in range(len(own))]
        size = gradients.to_points(own[:1]).numel() * self.n_points
        step = max((MAX_NUMBERS_ON_GPU if own.is_cuda else MAX_NUMBERS_PER_BATCH) // max(size, 1), 1)
        batches = [slice(start, start + step) for start in range(0, len(own), step)]
        found = [self._map_batch(gradients, some, seeds[some]) for some in batches]
        values, errors, reference, outputs = map(_concatenate, zip(*found, strict=True))
        if reference is None or outputs is None:
            return Maps(values, errors)
        return Maps(values, errors, outputs - reference - values.reshape(len(values), -1).sum(axis=1))

    def _map_batch(self, gradients: OutputGradients, some: slice, seeds: Sequence[Seed]) -> tuple[Any, ...]:
        """Values, errors, references and outputs of some inputs."""
        x, rows = gradients.to_points(gradients.inputs[some]), gradients.rows[some]
        found, outputs = self.attribute_values(gradients, x, rows, seeds), None
        if found.reference is not None:
            outputs = gradients.values(x[:, None], rows)[:, 0] if found.outputs is None else found.outputs
        return found.values, found.errors, found.reference, outputs

    def attribute_values(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """The maps, with one number for every value of an input, or for every token."""
        found = self.attribute(gradients, x, rows, seeds)
        return found if gradients.network.embedding is None else found.by_token()


def _concatenate(tensors: Sequence[Any]) -> Any:
    """Tensors of some inputs each, as one array; None if there are none."""
    if tensors[0] is None:
        return None
    return np.concatenate([each.cpu().numpy() for each in tensors], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class MapRequest:
    """One instance, one target, and the network that is asked about it."""

    method: GradientMethod
    network: Network
    inputs: Any  # (1, …) the module's own
    references: Any  # (m, …) the module's own, or None
    representation: Any  # which is Placed
    batch: Any  # the instance
    wanted: Any
    notes: tuple[str, ...] = ()

    def explain(self, model: Model, seed: Seed) -> Explanation:
        """The explanation, by the record that every method makes."""
        torch = require("torch", extra="torch")
        with torch.no_grad():
            outputs = check_outputs(self.network.ask(self.inputs), 1)
        question = Question(model, self.representation, [on_arrays(self.wanted)], seed, removes=True)
        (seen,) = question.read(outputs)
        return question.record(self.method, seen, self._answer(model, seen, outputs, seed))

    def _answer(self, model: Model, asked: Outputs, outputs: Floats, seed: Seed) -> Answer:
        gradients = OutputGradients(self.network, self.inputs, output_reader(self.wanted, model, outputs))
        if self.references is not None:
            gradients = replace(gradients, references=gradients.to_points(self.references))
        found = self.method.attribute_values(
            gradients, gradients.to_points(self.inputs), gradients.rows, [child_of(seed, 0)]
        )
        layout, numbers = find_layout(self.network, self.batch, self.inputs), as_numbers(found.values)
        values = layout(numbers)[0]
        weights = self.representation.gather(values) / asked.unit
        n_calls, own = 1 + gradients.n_rows, asked.prediction / asked.unit
        sums = None if found.draws is None else self._sums(found.draws[0], layout) / asked.unit
        intercept = own - float(weights.sum())
        notes = self.notes + _probability_notes(self.network, outputs)
        if found.reference is not None:
            intercept = float(found.reference[0]) / asked.unit
            sums_to = float(weights.sum()) * asked.unit, float(numbers.sum())
            notes += _residual_notes(*sums_to, asked.prediction, float(found.reference[0]))
        fit = _fit(weights, sums, intercept)
        rule = TopK()
        evidence = weigh(fit, rule, top_probability(fit, rule))
        return Answer(
            fit,
            evidence,
            rule.k,
            n_calls,
            float(self.method.n_points),
            notes,
            values,
            verdict=RANDOM_NETWORK if self.method.hardly_depends and evidence.clear.any() else None,
            replacement=self._compared(found, layout),
        )

    def _compared(self, found: MapBatch, layout: Callable[[Floats], Floats]) -> Replacement:
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


def _fit(weights: Floats, draws: Floats | None, intercept: float) -> Fit:
    """Weights with the error of their draws (m, d), if there are any."""
    d, every = len(weights), np.ones(len(weights), bool)
    m = 1 if draws is None else len(draws)
    covariance = np.zeros((d, d)) if draws is None or m < 2 else np.cov(draws.T).reshape(d, d) / m
    local = intercept + float(weights.sum())
    return Fit(weights, intercept, covariance, local, float("nan"), every, every, max(m - 1.0, 1.0))


def find_network(model: Model, wanted_by: str) -> Network:
    if isinstance(model.predict, Network):
        return model.predict.unwrap()
    raise InputError(
        f"{wanted_by} needs gradients, so it needs a torch network: pass the module itself, or vd.Network(module, "
        "…); vd.Lime, vd.Contrast, vd.KernelShap, vd.Occlusion, vd.methods.Undo, vd.methods.Either, vd.Sensitivity, "
        "vd.methods.Counterfactual, vd.baselines.Greedy and vd.baselines.Parzen need only a predict function"
    )


def _prepare(network: Network, batch: Any, references: Any) -> tuple[Any, Any]:
    """The module's inputs; texts are prepared together, so that they get the same length."""
    if references is None:
        return network.tensor(batch), None
    if isinstance(batch, list):
        both = network.tensor([*batch, *references])
        return both[:1], both[1:]
    return network.tensor(batch), network.tensor(references)


def as_batch(inputs: Any) -> Any:
    """The batch of one that a Representation keeps, made if it is a stream."""
    return inputs if hasattr(inputs, "shape") or isinstance(inputs, list) else inputs[0:1]


def on_arrays(target: Any) -> Any:
    """A target of a network for arrays of outputs: one that is a function is called on tensors."""
    if not callable(target):
        return target
    torch, read = require("torch", extra="torch"), function_reader(target)

    def read_arrays(outputs: Floats) -> Floats:
        return as_numbers(read(torch.as_tensor(outputs), None))

    read_arrays.__name__ = getattr(target, "__name__", "target")
    return read_arrays


def output_reader(wanted: Any, model: Model, own: Floats) -> OutputReader:
    """Reads the output that is wanted of a model whose outputs for the instance are ``own`` (1, k)."""
    if callable(wanted):
        return function_reader(wanted)
    target = resolve(wanted, model, own)
    return lambda outputs, _: target.read(outputs)


def _residual_notes(total: float, everywhere: float, own: float, reference: float) -> tuple[str, ...]:
    """What the weights sum to, and the whole map, and what that should."""
    wanted, what = own - reference, "differs from the baseline's by" if reference else "is"
    said = f"the weights sum to {total:.4g}; the output {what} {wanted:.4g}"
    outside = everywhere - total
    parted = f", {outside:.2g} lies outside the parts" if abs(outside) > RESIDUAL_TOLERANCE * abs(wanted) else ""
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


def find_layout(network: Network, batch: Any, inputs: Any) -> Callable[[Floats], Floats]:
    """A function from maps (m, …) of the network's inputs (1, …) to maps of the instance, the one in ``batch``.

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
