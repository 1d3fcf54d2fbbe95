"""What the objects that work together must have, and who asks for it when.

Every hook is named here; whatever else an object may have is its own affair. Protocols of one or two members are
what a Representation *may* have besides; whoever uses such a hook tells by ``isinstance`` whether it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from veridical.records import (
    Bools,
    Explanation,
    Features,
    Fits,
    Floats,
    Ints,
    Neighborhood,
    Part,
    Replacement,
    Sample,
    Step,
    View,
)

if TYPE_CHECKING:
    from abc import ABCMeta as ProtocolMeta
else:
    ProtocolMeta = type(Protocol)


class Hook(ProtocolMeta):
    """Finds hooks by their names alone, as Python does from 3.12 on: quickly, and without reading properties."""

    def __instancecheck__(cls, instance: Any) -> bool:  # noqa: N805 - of a metaclass
        if not cls.__dict__.get("_is_protocol"):
            return super().__instancecheck__(instance)
        return has_names(type(instance), cls) or all(  # type: ignore[arg-type]  # classes can be hashed
            hasattr(type(instance), name) or hasattr(instance, name) for name in names_in(cls)
        )


@lru_cache(maxsize=512)
def has_names(kind: type, protocol: type) -> bool:
    """Whether a class itself has all hooks, whatever its instances have beside."""
    return all(hasattr(kind, name) for name in names_in(protocol))


@lru_cache(maxsize=64)
def names_in(protocol: type) -> frozenset[str]:
    """What an object of a protocol has."""
    own = (base for base in protocol.__mro__ if base.__dict__.get("_is_protocol") and base is not Protocol)
    return frozenset(name for base in own for name in vars(base) if name == "__call__" or not name.startswith("_"))


Kernel: TypeAlias = Callable[[Floats], Floats]  # distances (n,) to proximities (n,), 1 at distance 0
Predict: TypeAlias = Callable[[Any], Any]  # a batch of inputs to one answer each


@runtime_checkable
class ScalableKernel(Protocol, metaclass=Hook):
    """A kernel that ``Lime(width=…)`` can make wider or narrower, before any sample is drawn."""

    def __call__(self, distances: Floats, /) -> Floats: ...

    def scaled(self, width: float) -> Kernel:
        """The same kernel, this many times as wide."""
        ...


class Seed(Protocol):
    """What fixes all randomness: NumPy's SeedSequence. Everything that draws is given one."""

    @property
    def entropy(self) -> Any: ...

    @property
    def spawn_key(self) -> tuple[int, ...]: ...


@runtime_checkable
class Stream(Protocol, metaclass=Hook):
    """Inputs that are made a few at a time, for all of them may be more than memory holds.

    ``realize`` and ``keeping`` may give one; the Model asks predict about a batch of it at a time.
    """

    def __len__(self) -> int: ...

    def batches(self) -> Iterator[Any]:
        """All inputs in order; a batch may reuse the memory of the one before it."""
        ...


class Representer(Protocol):
    """Settings that turn an instance into its Representation: called by ``explain`` and ``explain_many``."""

    def __call__(self, x: Any) -> Representation: ...

    def each(self, X: Any) -> Instances: ...


class Instances(Protocol):
    """Many instances, checked, made into representations a batch at a time by whoever explains many."""

    def __len__(self) -> int: ...

    def batch(self, start: int, stop: int) -> Sequence[Representation]: ...

    def inputs(self, start: int, stop: int) -> Any:
        """The instances themselves, as the model takes them."""
        ...


@runtime_checkable
class Representation(Protocol, metaclass=Hook):
    """An instance seen as parts: the only object that knows text from pixels."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know, such as parts that were left out."""
        ...

    @property
    def kernel(self) -> Kernel:
        """The proximity that is used unless the method names another."""
        ...

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Samples start..stop of the sequence that the seed fixes; from 0 on, the instance comes first.

        The engine asks for them piece by piece until the explanation is settled.
        """
        ...

    def enumerate(self, kernel: Kernel, limit: int) -> Sample | None:
        """The instance, then every possible sample, if there are at most ``limit``; asked before any is drawn."""
        ...

    def realize(self, sample: Sample) -> Any:
        """One input for the model per row of the sample."""
        ...


@runtime_checkable
class Balanced(Protocol, metaclass=Hook):
    """A Representation whose samples balance each other: asked before the first are drawn."""

    @property
    def whole_sample(self) -> int:
        """Samples that are worth drawing at once, such as those of a code; 0 if any number is as good."""
        ...

    @property
    def smallest_sample(self) -> int:
        """Samples below which parts could not be told apart."""
        ...


@runtime_checkable
class Transparent(Protocol, metaclass=Hook):
    """A Representation that recognizes some models, and can answer for them without making inputs."""

    def shortcut(self, predict: Predict, /) -> Callable[[Floats], Any] | None:
        """What designs (n, d) are answered, for this predict; None if it is not recognized.

        Asked once per explanation. Its first answers are held against the model's own, and unless they agree, it
        is not used.
        """
        ...


@runtime_checkable
class Shareable(Representation, Protocol, metaclass=Hook):
    """A Representation whose samples may be one sample that all instances share."""

    @property
    def common(self) -> Common: ...

    def place(self, values: Any, kernel: Kernel, with_instance: bool) -> Sample:
        """The shared values as this instance sees them."""
        ...

    def below(self, inputs: Any) -> Any:
        """Inputs with the instance itself before them."""
        ...

    def efficiency(self, kernel: Kernel) -> float:
        """Effective share of a shared sample, in (0, 1]; 0 if this instance cannot share it."""
        ...


@runtime_checkable
class Common(Protocol, metaclass=Hook):
    """The part of sampling that is the same for every instance of a representer."""

    def draw(self, seed: Seed, start: int, stop: int) -> Any: ...

    def realize(self, values: Any) -> Any: ...

    @property
    def n_states(self) -> int:
        """States of all parts together; 0 where a part is a number."""
        ...

    def indicators(self, values: Any) -> Floats:
        """One column a state of each part, 1 where a sample is in it."""
        ...

    def weights_of(self, rows: Sequence[Any], effects: Floats) -> tuple[Floats, Floats]:
        """Weights (r, d) and intercepts (r,) that a sum of effects of the indicators has at instances."""
        ...

    def together(self, rows: Sequence[Any], pieces: Sequence[Any], kernel: Kernel) -> Any:
        """Values, a piece after the other, as many instances see them at once."""
        ...


@runtime_checkable
class Removable(Representation, Protocol, metaclass=Hook):
    """A Representation whose parts can be taken away as one likes: what all methods but LIME ask for."""

    @property
    def steady(self) -> bool:
        """Whether the same masks give the same inputs, whatever the seed."""
        ...

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """One input per mask (n, d): parts it keeps are the instance's own, the others are taken away.

        Where nothing says what is there without a part, it is drawn from the background, anew for each mask.
        """
        ...


@runtime_checkable
class Refillable(Removable, Protocol, metaclass=Hook):
    """A Representation whose parts something else may stand in for: what ``Undo`` asks for."""

    def refilled(self, fill: Any) -> Removable:
        """The same parts of the same instance, with another fill, or another instance of the same shape."""
        ...


@runtime_checkable
class Replaceable(Protocol, metaclass=Hook):
    """A Representation that knows which of its parts their replacement leaves as they are.

    The record builder shows those parts as not tested; of one that does not say so, every part counts as tested.
    """

    @property
    def replacement(self) -> Replacement: ...


def replacement_of(representation: Representation) -> Replacement:
    """What stands in for the parts, of a Representation that may be ``Replaceable``."""
    if isinstance(representation, Replaceable):
        return representation.replacement
    return Replacement(np.zeros(len(representation.parts), bool))


@runtime_checkable
class Movable(Representation, Protocol, metaclass=Hook):
    """A Representation whose parts can be moved a little: what ``Sensitivity`` asks for."""

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """The instance moved, by ``size`` standard deviations where that has a meaning.

        Values of arrays go each their own way, or those of a block alike, with about ``n_blocks`` blocks a part.
        """
        ...


@runtime_checkable
class Placed(Representation, Protocol, metaclass=Hook):
    """A Representation whose parts lie at places of the instance, each place in one part at most.

    Methods that need gradients sum their maps by it.
    """

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of a map of the instance's shape, or of what ``paint`` gives.

        The map of a text has one number a character, that of a table row one a column.
        """
        ...

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every place of the instance, channels of pictures aside."""
        ...


@runtime_checkable
class Comparable(Protocol, metaclass=Hook):
    """A Representation that places other instances beside its own: what ``Parzen(data=…)`` asks for."""

    def features(self, X: Any, /) -> Features | None:
        """The instance and others as points of one space; None where there is none."""
        ...


@runtime_checkable
class Valued(Protocol, metaclass=Hook):
    """A Representation whose parts are values of the instance, such as columns of a table: kept in the record."""

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The instance's own value for each part, as plain Python."""
        ...


@runtime_checkable
class Tabled(Protocol, metaclass=Hook):
    """A Representation whose parts are columns of a table: kept in the record."""

    @property
    def positions(self) -> tuple[int, ...]:
        """The place of each part's column in the table."""
        ...


@runtime_checkable
class Mixable(Protocol, metaclass=Hook):
    """A Representation whose samples may keep given shares of the parts: what an additive local model asks for."""

    def by_shares(self, shares: tuple[float, ...], /) -> Representation:
        """The same instance, each sample of which keeps every part with one of these probabilities."""
        ...


@runtime_checkable
class Contrastable(Representation, Protocol, metaclass=Hook):
    """A Representation for which real instances of the background can stand in: what ``Contrast`` asks for."""

    @property
    def references(self) -> References: ...

    def distances(self) -> Floats:
        """How far each of the references is from the instance (n,)."""
        ...

    def contrasted(self, at: Ints, together: float) -> Contrasted:
        """The instance beside some references; parts correlated at least so much are one."""
        ...


class References(Protocol):
    """Instances of the background that a model is asked about once: an object that lives as long as the background."""

    def __len__(self) -> int: ...

    @property
    def inputs(self) -> Any:
        """All of them, as the model takes them."""
        ...


class Contrasted(Protocol):
    """An instance whose parts, or blocks of them, are its own or those of some references."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def differs(self) -> Bools:
        """Parts that some reference has otherwise (d,)."""
        ...

    @property
    def genuine(self) -> bool:
        """Whether a reference with no part kept is the reference itself: nothing else of it is the instance's own."""
        ...

    @property
    def others(self) -> Any:
        """The references themselves, as the model takes them."""
        ...

    def keeping(self, masks: Bools) -> Any:
        """One input per mask (m, d) and reference, in this order."""
        ...


@runtime_checkable
class Choosable(Representation, Protocol, metaclass=Hook):
    """A Representation whose parts can take other values of the background: what ``flips`` asks for, of tables."""

    @property
    def choices(self) -> Choices: ...


class Choices(Protocol):
    """The values that the parts of an instance may take, as numbers: on a line, or the places of categories."""

    @property
    def own(self) -> Floats:
        """The instance's own (d,); nan where a number is missing."""
        ...

    @property
    def numeric(self) -> Bools:
        """Parts whose values lie on a line (d,)."""
        ...

    def values(self, j: int) -> Floats:
        """Those that the background has of a part, in order; of numbers without a missing one."""
        ...

    def may_miss(self, j: int) -> bool:
        """Whether a number is missing in some rows of the background."""
        ...

    def grain(self, j: int) -> float:
        """What values between those of the background are multiples of: 0 for any, nan where there are none."""
        ...

    def sizes(self, j: int, numbers: Floats) -> Floats:
        """How far values are from the own one: the share of the background's rows that lies between."""
        ...

    def held(self, names: Sequence[str | int]) -> set[int]:
        """The parts that columns of these names belong to; an unknown name is an error."""
        ...

    def inputs(self, changed: Bools, numbers: Floats) -> Any:
        """One input per change (n, d): parts that it changes have these values, the others their own."""
        ...

    def plain(self, inputs: Any) -> Sequence[tuple[Any, ...]]:
        """The values of all parts of inputs, as plain Python."""
        ...


@runtime_checkable
class Viewable(Protocol, metaclass=Hook):
    """A Representation that has more to show than bars, such as a picture: kept in the record."""

    @property
    def view(self) -> View | None: ...


@runtime_checkable
class Unfamiliar(Protocol, metaclass=Hook):
    """A Representation that knows which of its values the background never has: said where the model fails."""

    @property
    def unseen(self) -> tuple[str, ...]: ...


@runtime_checkable
class InputMaker(Protocol, metaclass=Hook):
    """A predict that makes masked inputs itself, where it runs: asked by the Model before a stream is."""

    def switched(self, inputs: Any, /) -> Stream | None: ...


@runtime_checkable
class Purposeful(Protocol, metaclass=Hook):
    """A method, or a fill, that asks about something else than the content of parts."""

    @property
    def purpose(self) -> str: ...


def purpose_of(asker: Any) -> str:
    """What a method or a fill asks of the parts; their content, unless it says otherwise."""
    return asker.purpose if isinstance(asker, Purposeful) else "content"


# The Gram matrix of the centered designs, their product with the outputs, and k, to positions of at most k parts:
Selector: TypeAlias = Callable[[Floats, Floats, int], npt.NDArray[np.intp]]


class KnownTerm(Protocol):
    """A term of the outputs that is known before the fit: subtracted before it, and added after.

    A source of samples knows it, where it does; the engine hands it to the surrogate.
    """

    @property
    def values(self) -> Floats:
        """On the samples, (n,)."""
        ...

    @property
    def weights(self) -> Floats:
        """Those that its linear surrogate has at each row, (r, d)."""
        ...

    @property
    def intercepts(self) -> Floats:
        """The same, (r,)."""
        ...

    @property
    def n_effects(self) -> int:
        """Numbers that were fitted to the samples to know it."""
        ...


class Source(Protocol):
    """Samples of some rows, which grow, and the model's outputs for them: all that the engine asks of them."""

    @property
    def rows(self) -> Sequence[Representation]: ...

    @property
    def own(self) -> Floats:
        """Outputs for the rows themselves, (r, k); known once there are samples."""
        ...

    @property
    def outputs(self) -> Floats:
        """Outputs for the samples, (n, k)."""
        ...

    def grow(self, start: int, stop: int) -> None:
        """Have samples start..stop, too; called piece by piece, from 0 on."""
        ...

    def near(self, rows: Ints, /) -> Neighborhood:
        """All samples so far, as some of the rows see them."""
        ...

    def known(self, target: Any, /) -> Callable[[Sequence[Any], float], KnownTerm] | None:
        """The term that is known of a target, if any, at rows and for outputs divided by a unit."""
        ...


class Surrogate(Protocol):
    """The local model, as frozen settings: called by the engine whenever a batch of rows has more samples.

    ``known`` is given to a surrogate of all parts by least squares alone.
    """

    def __call__(
        self,
        near: Neighborhood,
        outputs: Floats,
        select: Selector | None = None,
        k: int | None = None,
        known: KnownTerm | None = None,
    ) -> Fits:
        """Fit outputs (r, n), or (n,) for all rows; with a selector, keep at most k parts of each."""
        ...


class Method(Protocol):
    """Frozen settings that explain: called once per instance."""

    def __call__(
        self, model: Any, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]: ...


@runtime_checkable
class Limited(Protocol, metaclass=Hook):
    """A method that knows how many inputs it asks about at most: asked by whoever shows progress."""

    @property
    def most_calls(self) -> int: ...


@runtime_checkable
class MapMethod(Protocol, metaclass=Hook):
    """A method that reads gradients, and asks about no changed inputs: checks that watch inputs leave it out."""

    @property
    def n_points(self) -> int:
        """Points at which a network is asked about one instance."""
        ...

    def maps(self, network: Any, inputs: Any, targets: Any, seed: Any = 0) -> Any: ...
