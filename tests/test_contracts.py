"""The contracts, run on every representation and method, and seen to fail on a saboteur each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders import contracts
from tests.builders.networks import GRADIENTS, LEARNED
from veridical.errors import public_name
from veridical.methods import registry
from veridical.protocols import Movable, Removable
from veridical.records import Explanation, Sample, View
from veridical.representations import REPRESENTERS

RNG = np.random.default_rng(0)
N = 120
NUMBERS = RNG.normal(size=(N, 4))
WHOLE = RNG.integers(0, 40, (N, 3))
SPARSE = csr_matrix(np.where(RNG.random((N, 12)) < 0.5, RNG.normal(size=(N, 12)), 0.0))
MIXED = pd.DataFrame(
    {
        "amount": NUMBERS[:, 0],
        "share": NUMBERS[:, 1].astype(np.float32),
        "count": RNG.integers(0, 40, N),
        "member": RNG.random(N) < 0.5,
        "city": RNG.choice(["Bern", "Oslo", "Paris"], N),
        "grade": pd.Categorical(RNG.choice(["low", "high"], N), ["low", "high"], ordered=True),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "lag": pd.to_timedelta(RNG.integers(0, 900, N), "h"),
        "income": np.where(RNG.random(N) < 0.2, np.nan, NUMBERS[:, 2]),
    }
)
HOT = pd.get_dummies(MIXED[["amount", "city"]], columns=["city"])
FLOATS = MIXED[["amount", "income"]].fillna(0.0)

BACKGROUNDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "array": (NUMBERS, {}),
    "array of float32": (NUMBERS.astype(np.float32), {}),
    "array of whole numbers": (WHOLE, {}),
    "array, continuous": (NUMBERS, {"discretize": vd.bins.Continuous()}),
    "array, one immutable": (NUMBERS, {"immutable": [1]}),
    "frame of floats": (FLOATS, {}),
    "frame of floats, deciles": (FLOATS, {"discretize": vd.bins.Deciles()}),
    "frame of floats, edges": (FLOATS, {"discretize": vd.bins.Edges({"amount": [-0.5, 0.0, 0.7]})}),
    "frame of floats, entropy": (FLOATS, {"discretize": vd.bins.Entropy(MIXED["member"].to_numpy())}),
    "frame of floats, continuous": (FLOATS, {"discretize": vd.bins.Continuous()}),
    "frame of floats, continuous in a range": (
        FLOATS,
        {"discretize": vd.bins.Continuous(), "ranges": {"amount": (-5.0, 5.0)}},
    ),
    "mixed frame": (MIXED, {}),
    "mixed frame, continuous": (MIXED, {"discretize": vd.bins.Continuous()}),
    "mixed frame, one immutable": (MIXED, {"immutable": ["city"]}),
    "categories only": (MIXED[["member", "city", "grade"]], {}),
    "one-hot group": (HOT, {"onehot": {"city": ["city_Bern", "city_Oslo", "city_Paris"]}}),
    "sparse": (SPARSE, {}),
}


def row_of(table: Any, i: int) -> Any:
    return table.iloc[[i]] if isinstance(table, pd.DataFrame) else table[i : i + 1]


@pytest.mark.parametrize("name", BACKGROUNDS)
@pytest.mark.parametrize("i", [0, 17])
def test_representations_keep_their_promises(name: str, i: int) -> None:
    background, settings = BACKGROUNDS[name]
    instance = row_of(background, i)
    contracts.check_representation(lambda: vd.Rows(background, **settings)(instance), instance, background)


@pytest.mark.parametrize("name", BACKGROUNDS)
def test_representations_of_many_rows_keep_their_promises(name: str) -> None:
    background, settings = BACKGROUNDS[name]
    instances = vd.Rows(background, **settings).each(background[:5])
    assert len(instances) == 5
    for i, representation in enumerate(instances.batch(0, 5)):
        contracts.restores_the_instance(representation, row_of(background, i))
        contracts.names_are_unique(representation)
        contracts.numbers_are_sound(representation)


# Every other kind of instance: how it is represented, the instance, and the same as a batch of one ------------

TEXT = "Good plot, good cast; the bad, bad end. Really? Yes!"
PICTURE = RNG.integers(0, 256, (10, 12, 3), dtype=np.uint8)
LABELS = np.add.outer(np.arange(10) // 4, 3 * (np.arange(12) // 5))
WAVE = np.sin(np.arange(1200) / 7.0) + 0.3 * RNG.normal(size=1200)
TREND = RNG.normal(size=(40, 2)).cumsum(axis=0)
RECORD = {"review": TEXT, "price": 12.5, "photo": PICTURE, "id": 7, "tags": ["new"]}
PRICES = pd.DataFrame({"price": RNG.gamma(2, 5, N)})
PEOPLE = MIXED[["amount", "count", "city"]]
PERSON = {"who": PEOPLE.iloc[3].to_dict(), "note": "old client, pays late"}
ROW = pd.DataFrame({"review": [TEXT], "amount": [0.5], "count": [4], "city": ["Oslo"], "id": [9]})


def halves(samples: Any) -> Any:
    slow = np.convolve(samples, np.ones(9) / 9, mode="same")
    return {"slow": slow, "fast": samples - slow}


def batch_of(x: Any) -> Any:
    """One instance as a batch that holds it alone."""
    return x if isinstance(x, pd.DataFrame) else x[None] if hasattr(x, "shape") else [x]


INSTANCES: dict[str, tuple[Any, Any]] = {
    "words": (vd.Words(), TEXT),
    "words, each": (vd.Words(positions=True), TEXT),
    "words, masked": (vd.Words(mask="[MASK]"), TEXT),
    "words, characters": (vd.Words(split=""), "日本語 é\u0301 \ud800"),
    "words, many": (vd.Words(), " ".join(f"w{i:02}" for i in range(40))),
    "sentences": (vd.Sentences(), TEXT),
    "superpixels": (vd.Superpixels(n=6), PICTURE),
    "superpixels, labels": (vd.Superpixels(segment=LABELS), PICTURE),
    "superpixels, gray float16": (vd.Superpixels(segment=LABELS), PICTURE[..., 0].astype(np.float16)),
    "superpixels, channels first": (vd.Superpixels(segment=LABELS), np.moveaxis(PICTURE / 255, -1, 0)),
    "superpixels, boolean": (vd.Superpixels(segment=LABELS, fill=vd.fills.Constant(0)), np.ones((10, 12), bool)),
    "superpixels, volume": (vd.Superpixels(segment=LABELS.reshape(5, 2, 12)), RNG.normal(size=(5, 2, 12))),
    "grid": (vd.Grid(2, 3), PICTURE),
    "grid, video": (vd.Grid(2, 2, fill=vd.fills.Blur(2.0)), RNG.random((5, 8, 8, 3), dtype=np.float32)),
    "grid, many": (vd.Grid(8, 8, fill=vd.fills.Constant(-1)), RNG.random((16, 16))),
    "tiles": (vd.Tiles(3, 2), RNG.normal(size=(9, 14))),
    "tiles, channels": (vd.Tiles(3, 2, time_axis=-2), RNG.normal(size=(2, 14, 9)).astype(np.float32)),
    "tiles, mel": (vd.Tiles(3, 2, front=lambda wave: np.abs(wave).reshape(20, 60)), WAVE),
    "tiles, filtered": (vd.Tiles(3, 2, rate=8000), WAVE),
    "slices": (vd.Slices(5, rate=8000), (1000 * WAVE).astype(np.int16)),
    "slices, stereo": (vd.Slices(5), np.stack([WAVE, WAVE**2]).astype(np.float32)),
    "stems": (vd.Stems(separate=halves, times=2), WAVE),
    "windows": (vd.Windows(5), TREND[:, 0]),
    "windows, channels": (vd.Windows(5, fill=vd.fills.Interpolate()), TREND),
    "windows, channels first": (vd.Windows(5, together=True, time_axis=1), TREND.T),
    "windows, changes": (
        vd.Windows(5, cut=vd.bins.ChangePoints(), fill=vd.fills.Noise()),
        TREND.astype(np.float32),
    ),
    "windows, bands": (vd.Windows(5, cut=vd.Bands()), TREND[:, 0]),
    "windows, whole numbers": (vd.Windows(cut=[0, 7, 30], fill=vd.fills.Constant(99)), np.arange(40)),
    "fields": (
        vd.Fields({"review": vd.Words(), "price": vd.Rows(PRICES), "photo": vd.Superpixels(segment=LABELS)}),
        RECORD,
    ),
    "fields, nested": (vd.Fields({"who": vd.Rows(PEOPLE), "note": vd.Words()}), PERSON),
    "fields, row": (vd.Fields({"review": vd.Words(), "who": vd.Rows(PEOPLE)}), ROW),
}


def batch_for(name: str) -> Any:
    represent, x = INSTANCES[name]
    front = getattr(represent, "front", None)
    return batch_of(x if front is None else front(x))


def test_every_representer_has_a_contract() -> None:
    """A new one cannot be forgotten."""
    assert {type(represent) for represent, _ in INSTANCES.values()} | {vd.Rows} == set(REPRESENTERS.values())
    for represent, x in (*INSTANCES.values(), *((vd.Rows(b, **s), row_of(b, 0)) for b, s in BACKGROUNDS.values())):
        assert isinstance(represent(x), Removable)
        assert isinstance(represent(x), Movable)
    assert set(REPRESENTERS) == {kind.__name__.lower() for kind in REPRESENTERS.values()}


@pytest.mark.parametrize("name", INSTANCES)
def test_representations_of_all_kinds_keep_their_promises(name: str) -> None:
    represent, x = INSTANCES[name]
    contracts.check_representation(lambda: represent(x), batch_for(name), x)


@pytest.mark.parametrize("name", INSTANCES)
def test_one_of_a_list_is_represented_as_it_is_alone(name: str) -> None:
    represent, x = INSTANCES[name]
    many = represent.each(pd.concat([x, x]) if isinstance(x, pd.DataFrame) else [x, x])
    assert len(many) == 2
    for one in many.batch(0, 2):
        assert one.names == represent(x).names
        contracts.restores_the_instance(one, batch_for(name))


class Saboteur:
    """An honest representation but for what a subclass breaks."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest
        self.drawn = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.honest, name)

    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, seed, start, stop)

    def realize(self, sample: Sample) -> Any:
        return self.honest.realize(sample)


class MovesTheInstance(Saboteur):
    def realize(self, sample: Sample) -> Any:
        inputs = self.honest.realize(sample).copy()
        inputs[0, 0] += 1e-12
        return inputs


class CountsTheInstance(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        return replace(sample, weights=np.append(1.0, sample.weights[1:]))


class IgnoresAPart(Saboteur):
    """Like lime's last segment when labels start at 1: it is in the designs but never hidden."""

    def realize(self, sample: Sample) -> Any:
        inputs = self.honest.realize(sample).copy()
        inputs[:, 2] = inputs[0, 2]
        return inputs


class NeverVariesAPart(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = sample.designs.copy()
        designs[:, 1] = 1
        return replace(sample, designs=designs)


class RepeatsAName(Saboteur):
    @property
    def parts(self) -> Any:
        first, _, *rest = self.honest.parts
        return (first, first, *rest)

    @property
    def names(self) -> Any:
        return tuple(part.name for part in self.parts)


class RemembersDraws(Saboteur):
    """Like the lime package: its generator lives on the object and advances between calls."""

    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        self.drawn += 1
        return self.honest.draw(kernel, np.random.SeedSequence(self.drawn), start, stop)


class IgnoresTheSeed(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, np.random.SeedSequence(0), start, stop)


class StartsOver(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, 0, stop - start)
        if not start:
            return sample
        return replace(sample, designs=sample.designs[1:], weights=sample.weights[1:])


class ReseedsEachPiece(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        return self.honest.draw(kernel, np.random.SeedSequence(seed.entropy + start), start, stop)


class AlwaysWithInstance(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = np.vstack([np.ones(sample.designs.shape[1]), sample.designs])
        return replace(sample, designs=designs, weights=np.append(0.0, sample.weights)) if start else sample


class WeighsByMinusOne(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        return replace(sample, weights=-sample.weights)


class DesignsWithNan(Saboteur):
    def draw(self, kernel: Any, seed: Any, start: int, stop: int) -> Sample:
        sample = self.honest.draw(kernel, seed, start, stop)
        designs = sample.designs.copy()
        designs[5, 0] = np.nan
        return replace(sample, designs=designs)


class LosesAnInput(Saboteur):
    def realize(self, sample: Sample) -> Any:
        return self.honest.realize(sample)[:-1]


def honest() -> Any:
    return vd.Rows(NUMBERS)(NUMBERS[:1])


@pytest.mark.parametrize(
    ("saboteur", "contract"),
    [
        (MovesTheInstance, lambda r: contracts.restores_the_instance(r, NUMBERS[:1])),
        (CountsTheInstance, lambda r: contracts.restores_the_instance(r, NUMBERS[:1])),
        (IgnoresAPart, contracts.every_part_matters),
        (NeverVariesAPart, contracts.every_part_matters),
        (RepeatsAName, contracts.names_are_unique),
        (RemembersDraws, contracts.is_pure_in_the_seed),
        (IgnoresTheSeed, contracts.is_pure_in_the_seed),
        (StartsOver, contracts.grows_without_repeating),
        (ReseedsEachPiece, contracts.grows_without_repeating),
        (AlwaysWithInstance, contracts.grows_without_repeating),
        (WeighsByMinusOne, contracts.numbers_are_sound),
        (DesignsWithNan, contracts.numbers_are_sound),
        (LosesAnInput, contracts.numbers_are_sound),
    ],
)
def test_a_broken_representation_is_caught(saboteur: Any, contract: Any) -> None:
    contract(honest())
    with pytest.raises(AssertionError):
        contract(saboteur(honest()))


class RoundsWhatItKeeps(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        return self.honest.keeping(masks, seed).astype(np.float32).astype(float)


class KeepsTheBin(Saboteur):
    """Another value of the same bin, as in samples for a surrogate."""

    def keeping(self, masks: Any, seed: Any) -> Any:
        inputs = self.honest.keeping(masks, seed)
        partly = masks & ~masks.all(axis=1, keepdims=True)
        return np.where(partly, inputs + 1e-9 * np.arange(len(inputs))[:, None], inputs)


class NeverTakesAway(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        masks = masks.copy()
        masks[:, 1] = True
        return self.honest.keeping(masks, seed)


class TakesAwayTheOthers(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        return self.honest.keeping(np.where(masks.all(axis=1, keepdims=True), masks, ~masks), seed)


class LosesARow(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        return self.honest.keeping(masks[:-1], seed)


class KeepsFromMemory(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        self.drawn += 1
        return self.honest.keeping(masks, np.random.SeedSequence(self.drawn))


class ChangesTheMasks(Saboteur):
    def keeping(self, masks: Any, seed: Any) -> Any:
        inputs = self.honest.keeping(masks, seed)
        masks[:, 0] = False
        return inputs


class SaysItIsSteady(Saboteur):
    steady = True


class SaysItIsNot(Saboteur):
    steady = False


class DrawsOnce(Saboteur):
    """One row of the background for all masks."""

    def keeping(self, masks: Any, seed: Any) -> Any:
        once = self.honest.keeping(np.zeros((1, masks.shape[1]), bool), seed)
        return np.where(masks, NUMBERS[:1], once)


class DrawsByANet(Saboteur):
    """Each draw is right by itself, but every second one falls into the same half of each column."""

    def keeping(self, masks: Any, seed: Any) -> Any:
        sample = self.honest.draw(self.honest.kernel, seed, 0, len(masks))
        return np.where(masks, NUMBERS[:1], self.honest.realize(sample)[1:])


class DrawsBackwards(Saboteur):
    """The same draws, but which mask gets which depends on how many there are."""

    def keeping(self, masks: Any, seed: Any) -> Any:
        return self.honest.keeping(masks[::-1], seed)[::-1]


@pytest.mark.parametrize(
    ("saboteur", "contract"),
    [
        (RoundsWhatItKeeps, lambda r: contracts.keeping_all_restores_the_instance(r, NUMBERS[:1])),
        (NeverTakesAway, contracts.kept_parts_are_the_instances_own),
        (KeepsTheBin, contracts.kept_parts_are_the_instances_own),
        (TakesAwayTheOthers, contracts.kept_parts_are_the_instances_own),
        (LosesARow, contracts.kept_parts_are_the_instances_own),
        (KeepsFromMemory, contracts.keeping_is_pure_in_the_seed),
        (ChangesTheMasks, contracts.keeping_is_pure_in_the_seed),
        (SaysItIsSteady, contracts.keeping_is_pure_in_the_seed),
        (SaysItIsSteady, contracts.one_draw_a_mask),
        (DrawsOnce, contracts.one_draw_a_mask),
        (DrawsBackwards, contracts.one_draw_a_mask),
        (DrawsByANet, contracts.draws_follow_no_order),
    ],
)
def test_a_row_that_takes_parts_away_wrongly_is_caught(saboteur: Any, contract: Any) -> None:
    contract(honest())
    with pytest.raises(AssertionError):
        contract(saboteur(honest()))


class Streamed:
    """The inputs of an honest stream, but for what a subclass breaks."""

    def __init__(self, honest: Any) -> None:
        self.honest = honest

    def __len__(self) -> int:
        return len(self.honest)

    def __getitem__(self, rows: slice) -> Any:
        return self.honest[rows]

    def batches(self) -> Any:
        return self.honest.batches()


class LosesABatch(Streamed):
    """One that forgets what is left over when the batches do not fit."""

    def batches(self) -> Any:
        *most, _ = (batch.copy() for batch in self.honest.batches())
        return iter(most or [self.honest[0:1]])


class UsesMemoryTooSoon(Streamed):
    """The next batch is in the memory of the first before that was read."""

    def batches(self) -> Any:
        return iter(list(self.honest.batches()))


class SlicesOtherwise(Streamed):
    def __getitem__(self, rows: slice) -> Any:
        return self.honest[rows][::-1]


class Cropped(Streamed):
    """The instance without its last bit of precision."""

    def __getitem__(self, rows: slice) -> Any:
        return self.honest[rows].astype(np.float32)


class Deaf(Streamed):
    """Like lime's last segment when labels start at 1."""

    def batches(self) -> Any:
        for batch in self.honest.batches():
            batch[:, 0, 0] = 0.5
            yield batch


def with_inputs(kind: Any) -> Any:
    class Sabotaged(Saboteur):
        def realize(self, sample: Sample) -> Any:
            return kind(self.honest.realize(sample))

    return Sabotaged


class PaintsBesideIt(Saboteur):
    def paint(self, weights: Any) -> Any:
        return np.roll(self.honest.paint(weights), 1, axis=0)

    def gather(self, values: Any) -> Any:
        return self.honest.gather(np.roll(values, -1, axis=0))


class GathersAMean(Saboteur):
    def gather(self, values: Any) -> Any:
        return self.honest.gather(values) / values.size

    def paint(self, weights: Any) -> Any:
        return self.honest.paint(weights)


class PaintsAPartNowhere(Saboteur):
    def paint(self, weights: Any) -> Any:
        return self.honest.paint(np.append(0.0, weights[1:]))

    def gather(self, values: Any) -> Any:
        return self.honest.gather(values)


class KeepsItsFill(Saboteur):
    def refilled(self, fill: Any) -> Any:
        return self.honest


class FillsAnotherInstance(Saboteur):
    """One that is cut the same way, but is not the same."""

    def refilled(self, fill: Any) -> Any:
        return vd.Superpixels(segment=np.array([[0, 1, 1], [2, 2, 3]]), fill=fill)(SMALL + 1e-12)


class CutsAnew(Saboteur):
    def refilled(self, fill: Any) -> Any:
        return vd.Superpixels(segment=np.array([[0, 1, 1], [1, 2, 2]]), fill=fill)(SMALL)


class StandsStill(Saboteur):
    def step(self, size: float, seed: Any, n_blocks: int | None = None) -> Any:
        step = self.honest.step(size, seed, n_blocks)
        return replace(step, back=lambda masks: step.back(np.ones_like(masks)))


class MovesWhatIsKept(Saboteur):
    def step(self, size: float, seed: Any, n_blocks: int | None = None) -> Any:
        step = self.honest.step(size, seed, n_blocks)
        return replace(step, ahead=lambda masks: step.ahead(masks & (np.arange(masks.shape[1]) > 0)))


class MovesByChance(Saboteur):
    def step(self, size: float, seed: Any, n_blocks: int | None = None) -> Any:
        self.n_steps = getattr(self, "n_steps", 0) + 1
        return self.honest.step(size, np.random.SeedSequence(self.n_steps), n_blocks)


class ForgetsAPartInItsView(Saboteur):
    @property
    def view(self) -> Any:
        data = dict(self.honest.view.data)
        return View("picture", {**data, "labels": np.minimum(data["labels"], 2)})


def honest_picture() -> Any:
    """Four parts, of which the first is one pixel."""
    labels = np.array([[0, 1, 1], [2, 2, 3]])
    return vd.Superpixels(segment=labels, fill=vd.fills.Constant(0.5))(SMALL)


SMALL = RNG.normal(size=(2, 3))


@pytest.mark.parametrize(
    ("saboteur", "contract"),
    [
        (with_inputs(LosesABatch), contracts.batches_are_the_slices),
        (with_inputs(UsesMemoryTooSoon), contracts.batches_are_the_slices),
        (with_inputs(SlicesOtherwise), contracts.batches_are_the_slices),
        (with_inputs(Cropped), lambda r: contracts.restores_the_instance(r, SMALL[None])),
        (with_inputs(Deaf), contracts.every_part_matters),
        (ForgetsAPartInItsView, contracts.view_shows_every_part),
        (PaintsBesideIt, contracts.parts_lie_where_they_are_painted),
        (GathersAMean, contracts.parts_lie_where_they_are_painted),
        (PaintsAPartNowhere, contracts.parts_lie_where_they_are_painted),
        (KeepsItsFill, lambda r: contracts.another_fill_leaves_the_parts(r, SMALL[None])),
        (FillsAnotherInstance, lambda r: contracts.another_fill_leaves_the_parts(r, SMALL[None])),
        (CutsAnew, lambda r: contracts.another_fill_leaves_the_parts(r, SMALL[None])),
        (StandsStill, lambda r: contracts.moves_are_of_the_parts_that_are_not_kept(r, SMALL[None])),
        (MovesWhatIsKept, lambda r: contracts.moves_are_of_the_parts_that_are_not_kept(r, SMALL[None])),
        (MovesByChance, contracts.moves_are_pure_in_the_seed),
        (RemembersDraws, contracts.is_pure_in_the_seed),
        (StartsOver, contracts.grows_without_repeating),
        (DesignsWithNan, contracts.numbers_are_sound),
        (RepeatsAName, contracts.names_are_unique),
        (NeverTakesAway, contracts.kept_parts_are_the_instances_own),
        (SaysItIsNot, contracts.keeping_is_pure_in_the_seed),
        (SaysItIsNot, contracts.one_draw_a_mask),
    ],
)
def test_a_broken_picture_is_caught(saboteur: Any, contract: Any) -> None:
    contract(honest_picture())
    with pytest.raises(AssertionError):
        contract(saboteur(honest_picture()))


def test_a_view_of_fields_that_are_shifted_is_caught() -> None:
    class Shifted(Saboteur):
        @property
        def view(self) -> Any:
            fields = self.honest.view.data["fields"]
            return View(
                "fields", {"fields": {name: (first + 1, n, own) for name, (first, n, own) in fields.items()}}
            )

    honest = vd.Fields({"who": vd.Rows(PEOPLE), "note": vd.Words()})(PERSON)
    contracts.view_shows_every_part(honest)
    with pytest.raises(AssertionError):
        contracts.view_shows_every_part(Shifted(honest))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.float32([1]), np.float64([1])),
        (np.array([0.0]), np.array([-0.0])),
        (np.ones((1, 2)), np.ones(2)),
        (["a"], ["a", "b"]),
        (["a"], [np.str_("a")]),
        ([{"x": 1}], [{"y": 1}]),
        ([{"x": 1}], [{"x": 1.0}]),
        ([{"x": np.ones(2)}], [{"x": np.zeros(2)}]),
        (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [1.0]})),
        (pd.DataFrame({"x": [np.ones(2)]}), pd.DataFrame({"x": [np.zeros(2)]})),
    ],
)
def test_what_is_not_the_same_is_told_apart(a: Any, b: Any) -> None:
    contracts.assert_same(b, b)
    with pytest.raises(AssertionError):
        contracts.assert_same(a, b)


def test_a_representer_that_changes_its_background_is_caught() -> None:
    background = NUMBERS.copy()

    def build() -> Any:
        background[:] -= background.mean(axis=0)
        return vd.Rows(background)(background[:1])

    with pytest.raises(AssertionError):
        contracts.leaves_arguments_alone(build, background)


# Methods ---------------------------------------------------------------------------------------------------

METHODS: dict[str, Any] = {
    "default": vd.Lime(),
    "fixed": vd.Lime(n_samples=300),
    "few parts": vd.Lime(n_samples=300, n_features=2),
    "forward": vd.Lime(n_samples=300, n_features=2, select=vd.selectors.forward_selection),
    "lasso": vd.Lime(n_samples=300, n_features=2, select=vd.selectors.lasso_path),
    "narrow": vd.Lime(n_samples=300, width=0.2),
    "own kernel": vd.Lime(n_samples=300, kernel=lambda distances: 1 / (1 + distances)),
    "ridge": vd.Lime(n_samples=300, surrogate=vd.surrogates.Linear(ridge=1.0)),
    "tree": vd.Lime(n_samples=300, surrogate=vd.surrogates.Tree()),
    "paper": vd.Lime.paper(n_features=2),
    "experiments": vd.Lime.experiments(n_features=2),
    "package": vd.Lime.package(n_features=2),
    "Shapley values": vd.KernelShap(),
    "Shapley values, fixed": vd.KernelShap(n_samples=60),
    "occlusion": vd.Occlusion(n_draws=16),
    "undo": vd.methods.Undo(n_draws=4),
    "undo, one fill": vd.methods.Undo((vd.fills.LowRank(),), vd.Sensitivity(n_draws=3)),
    "either": vd.methods.Either(vd.methods.Undo(n_draws=4)),
    "counterfactual": vd.methods.Counterfactual(n_draws=3),
    "greedy": vd.baselines.Greedy(n_features=3, n_draws=8),
    "greedy to a flip": vd.baselines.Greedy(stop_at_flip=True, n_draws=8),
    "Parzen": vd.baselines.Parzen(n_samples=64),
    "Parzen, wide": vd.baselines.Parzen(n_samples=64, width=5.0),
    "random": vd.baselines.RandomParts(2),
    "random, all": vd.baselines.RandomParts(None),
    "sensitivity": vd.Sensitivity(n_draws=4),
}
TABLE_METHODS: dict[str, Any] = {  # that hold a row against rows of its background
    "contrast": vd.Contrast(),
    "contrast, few": vd.Contrast(n=3, parts=2, pairs=0),
}
TABLES = (
    "array",
    "array, continuous",
    "frame of floats",
    "mixed frame",
    "categories only",
    "one-hot group",
    "sparse",
)


def saturating(X: Any) -> Any:
    """Two outputs of any table of numbers, with interactions."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    if isinstance(X, pd.DataFrame):
        X = np.stack([X[c] if X[c].dtype == float else X[c].astype(str).str.len() for c in X], axis=1)
    X = np.nan_to_num(np.asarray(X, dtype=float))
    score = np.tanh(X[:, 0] + 0.5 * X[:, 1] - 0.3 * X[:, -1] * X[:, 0])
    return np.stack([(1 - score) / 2, (1 + score) / 2], axis=1)


def spread(names: Iterable[str], others: Iterable[str], step: int) -> list[tuple[str, str]]:
    """Every name with each ``step``-th of the others, so that all of both are there."""
    return [(name, other) for i, name in enumerate(names) for j, other in enumerate(others) if (i + j) % step == 0]


@pytest.mark.parametrize(("name", "table"), spread(METHODS, TABLES, 3))
def test_methods_keep_their_promises(name: str, table: str) -> None:
    background, settings = BACKGROUNDS[table]
    instance = row_of(background, 3)
    contracts.check_method(METHODS[name], saturating, vd.Rows(background, **settings), instance)


@pytest.mark.parametrize("table", [name for name in BACKGROUNDS if name != "sparse"])
@pytest.mark.parametrize("name", TABLE_METHODS)
def test_methods_for_tables_keep_their_promises(name: str, table: str) -> None:
    background, settings = BACKGROUNDS[table]
    instance = row_of(background, 3)
    contracts.check_method(TABLE_METHODS[name], saturating, vd.Rows(background, **settings), instance)


@pytest.mark.parametrize("name", ["sparse", *INSTANCES])
def test_methods_for_tables_refuse_other_data(name: str) -> None:
    represent, x = (vd.Rows(SPARSE), SPARSE[:1]) if name == "sparse" else INSTANCES[name]
    with pytest.raises(vd.errors.InputError, match=r"vd\.Lime"):
        vd.explain(strange, represent, x, method=vd.Contrast())


def size_of(one: Any) -> float:
    """A number of anything: of a record, of its values; of a text, by where its letters are."""
    if isinstance(one, dict):
        return sum(size_of(value) for value in one.values())
    if isinstance(one, str):
        return sum(ord(c) % 7 for c in one) / 40
    return float(np.mean(one)) if isinstance(one, (int, float, np.ndarray)) else 0.0


def strange(X: Any) -> Any:
    """Two outputs of any batch, with interactions."""
    score = np.array([np.sin(3 * size_of(one)) for one in X])
    return np.stack([(1 - score) / 2, (1 + score) / 2], axis=1)


def test_every_method_has_a_contract() -> None:
    """A new one cannot be forgotten."""
    known = {type(method) for method in (*METHODS.values(), *TABLE_METHODS.values(), *GRADIENTS.values())}
    assert {*known, *LEARNED.values()} == set(registry.METHODS.values())
    assert all(name.title().replace("_", "") == method.__name__ for name, method in registry.METHODS.items())
    assert all(eval(public_name(method)) is method for method in registry.METHODS.values())


@pytest.mark.parametrize(
    ("name", "kind"),
    spread(
        [name for name in METHODS if name not in ("narrow", "ridge", "forward", "lasso")],
        ["words", "grid", "stems", "windows", "fields"],
        2,
    ),
)
def test_methods_keep_their_promises_for_all_kinds(name: str, kind: str) -> None:
    represent, x = INSTANCES[kind]
    contracts.check_method(METHODS[name], strange, represent, x, batch_of(x))


@dataclass(frozen=True)
class Broken:
    """A method that changes one thing of an honest explanation."""

    change: Any

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> tuple[Explanation, ...]:
        honest = vd.Lime(n_samples=300)(model, representation, targets, seed)
        return tuple(replace(why, **self.change(why)) for why in honest)


@pytest.mark.parametrize(
    "change",
    [
        lambda why: {"weights": why.weights[:-1]},
        lambda why: {"weights": why.weights * np.nan},
        lambda why: {"intervals": why.intervals[:, ::-1]},
        lambda why: {"intervals": why.intervals + 1.0},
        lambda why: {"n_calls": why.n_calls - 1},
        lambda why: {"prediction": why.local_prediction},
        lambda why: {"weights": why.weights + 1e-9 * np.random.default_rng().normal(size=len(why.weights))},
    ],
    ids=[
        "short",
        "nan",
        "reversed",
        "shifted",
        "forgets the instance",
        "prediction of the surrogate",
        "unseeded",
    ],
)
def test_a_broken_method_is_caught(change: Any) -> None:
    with pytest.raises(AssertionError):
        contracts.check_method(Broken(change), saturating, vd.Rows(NUMBERS), NUMBERS[:1])


def test_every_registered_setting_can_be_described_and_restored() -> None:
    from veridical.methods.registry import SETTINGS
    from veridical.methods.results import describe, restore

    for method in (*METHODS.values(), *TABLE_METHODS.values(), *GRADIENTS.values()):
        if getattr(method, "kernel", None) is None:
            assert restore(describe(method), SETTINGS) == method
