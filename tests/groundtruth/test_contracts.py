"""What every kind of cause must keep to: one per instance, judged by the model, with failures that are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.groundtruth import CAUSES
from veridical.groundtruth.causes import Aim, Cause, Decision, choose_aim, mix_change

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

RNG = np.random.default_rng(1)
SHAPE = (8, 12)
SLOPES = np.abs(RNG.normal(size=SHAPE)) / 12
PLANES = RNG.normal(size=(8, *SHAPE)) + 0.15 * np.resize([1, -1], 8)[:, None, None]
WORDS = ["good", "fine", "great", "bad", "poor", "dull"]
TEXTS = [f"a {a} film with {b} scenes" for a, b in zip(WORDS * 2, np.roll(WORDS * 2, 1), strict=True)][:8]
TABLE = pd.DataFrame({"a": RNG.normal(size=40), "b": list("xyz") * 13 + ["x"], "c": RNG.integers(0, 9, 40)})
FAST: dict[str, dict[str, Any]] = {
    "carlini_wagner": {"n_steps": 60},
    "spsa": {"n_steps": 40},
    "square": {"n_steps": 200},
}


class Sum(torch.nn.Module):
    """One logit: a weighted sum, or a constant where the weights are 0."""

    def __init__(self, slopes: Any) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.as_tensor(slopes))

    def forward(self, x: Any) -> Any:
        return 6 * (x * self.slopes).flatten(1).sum(dim=1)


def of_planes(slopes: Any = SLOPES, wanted: Any = None) -> Aim:
    network = vd.Network(Sum(slopes).eval(), answers="sigmoid")
    return choose_aim(network, vd.Tiles(times=3, bands=2), PLANES, decision=Decision(0.51), wanted=wanted)


def of_texts(slope: float = 2.0, wanted: Any = None) -> Aim:
    def predict(texts: list[str]) -> Any:
        tone = [sum(t.count(w) for w in WORDS[:3]) - sum(t.count(w) for w in WORDS[3:]) for t in texts]
        return 1 / (1 + np.exp(-slope * (np.array(tone) + 0.5 * (slope != 0))))

    return choose_aim(predict, vd.Words(), TEXTS, wanted=wanted)


def of_rows(slope: float = 3.0, wanted: Any = None) -> Aim:
    def predict(rows: pd.DataFrame) -> Any:
        return 1 / (1 + np.exp(-slope * (rows["a"].to_numpy() + (rows["b"] == "x").to_numpy() - 0.4)))

    return choose_aim(predict, vd.Rows(TABLE), TABLE.iloc[:8], wanted=wanted)


OTHERS: dict[str, tuple[Callable[..., Aim], Any]] = {
    "swapped_words": (of_texts, 0.0),
    "edited_columns": (of_rows, 0.0),
}


def aim_of(name: str, wanted: Any = None) -> Aim:
    return OTHERS.get(name, (of_planes, 0))[0](wanted=wanted)


def constant(name: str) -> Aim:
    make, slope = OTHERS.get(name, (of_planes, 0 * SLOPES))
    return make(slope)


def kind_of(name: str) -> Any:
    made: Any = CAUSES[name]
    return made(**FAST.get(name, {}))


@cache
def causes_of(name: str, seed: int = 0) -> tuple[Aim, tuple[Cause, ...]]:
    aim = aim_of(name)
    return aim, kind_of(name)(aim, np.random.SeedSequence(seed))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, str):
        return bool(a == b)
    if isinstance(a, pd.Series):
        return bool(a.equals(b))
    return bool(a.dtype == b.dtype and np.array_equal(a, b))


def broken(kind: Any, aim: Aim, found: Any) -> list[str]:
    """What causes do not keep to."""
    if not isinstance(found, tuple) or len(found) != len(aim):
        return ["there is not one cause an instance"]
    wrong = []
    for cause, x, label, wanted in zip(found, aim.inputs, aim.labels, aim.wanted, strict=True):
        own = x.iloc[0] if hasattr(x, "iloc") else x[0]
        if not same(cause.x, own) or (cause.label, cause.wanted) != (label, wanted):
            wrong.append("a cause is of another instance")
        if type(cause.changed) is not type(own) or getattr(cause.changed, "dtype", 0) != getattr(own, "dtype", 0):
            wrong.append("what was changed is of another type")
            continue
        wrong += judged(kind, aim, cause) + confined(aim, cause)
        if cause.name != type(kind).__name__ or cause.n_calls < 1:
            wrong.append("it does not say which kind it is, or what it cost")
    return wrong


def batch_of(x: Any) -> Any:
    """One instance as the model takes it."""
    if isinstance(x, pd.Series):
        return x.to_frame().T.astype(TABLE.dtypes.to_dict())
    return [x] if isinstance(x, str) else x[None]


def judged(kind: Any, aim: Aim, cause: Cause) -> list[str]:
    """Does it say of itself what the model says?"""
    outputs = aim.model(batch_of(cause.changed))
    label, support = aim.decision(outputs)[0], aim.decision.support(outputs, np.array([cause.wanted]))[0]
    wrong = []
    if abs(support - cause.confidence) > 1e-6:
        wrong.append("the model is not as sure as it says")
    sure = kind.confidence is None or support >= kind.confidence
    if cause.success is not bool(label == cause.wanted != cause.label and sure):
        wrong.append("it says that it succeeded, or failed, and did not")
    if bool(cause.reason) is cause.success:
        wrong.append("it failed without a reason, or succeeded with one")
    return wrong


def confined(aim: Aim, cause: Cause) -> list[str]:
    """Is nothing changed but the parts that it names, and do all of them together make the change?"""
    own = aim.represent(cause.changed)
    d, wrong = len(own.names), []
    if cause.parts is None:
        return wrong
    if cause.parts.shape != (d,) or cause.parts.dtype != bool:
        return ["its parts are not those of the changed copy"]
    if cause.success and not cause.parts.any():
        wrong.append("it names no feature")
    inputs = mix_change(own, cause, np.stack([cause.parts, np.zeros(d, bool), ~cause.parts]))
    some, none, rest = (inputs.iloc[i] if hasattr(inputs, "iloc") else inputs[i] for i in range(3))
    if not (np.all(some == cause.changed) and np.all(none == cause.x) and np.all(rest == cause.x)):
        wrong.append("something else was changed than it says")
    return wrong


@pytest.mark.parametrize("name", CAUSES)
def test_causes_keep_to_the_contract(name: str) -> None:
    aim, found = causes_of(name)
    assert broken(kind_of(name), aim, found) == []
    assert any(cause.success for cause in found)


@pytest.mark.parametrize("name", CAUSES)
def test_a_kind_is_known_by_its_settings(name: str) -> None:
    kind = kind_of(name)
    assert kind.purpose in ("change", "content")
    assert repr(kind).startswith(type(kind).__name__)
    with pytest.raises(AttributeError):
        kind.confidence = 0.5


@pytest.mark.parametrize("name", CAUSES)
def test_the_same_seed_gives_the_same_causes(name: str) -> None:
    _, first = causes_of(name)
    again = kind_of(name)(aim_of(name), np.random.SeedSequence(0))
    for one, other in zip(first, again, strict=True):
        assert same(one.changed, other.changed)
        assert (one.n_calls, one.reason) == (other.n_calls, other.reason)


@pytest.mark.parametrize("name", CAUSES)
def test_what_cannot_be_changed_is_told(name: str) -> None:
    aim = constant(name)
    found = kind_of(name)(aim, np.random.SeedSequence(0))
    assert broken(kind_of(name), aim, found) == []
    assert not any(cause.success for cause in found)


@pytest.mark.parametrize("name", CAUSES)
def test_what_is_as_wanted_already_is_told(name: str) -> None:
    aim = aim_of(name, wanted=1)
    assert 0 < aim.labels.sum() < len(aim)
    found = kind_of(name)(aim, np.random.SeedSequence(0))
    assert broken(kind_of(name), aim, found) == []
    for cause in found:
        assert ("already" in cause.reason) is bool(cause.label == 1)
        if cause.label == 1:
            assert same(cause.changed, cause.x)


# each rule is seen to fail


@cache
def honest() -> tuple[Aim, tuple[Cause, ...]]:
    """PGD within one part: some succeed, and some fail."""
    aim = of_planes()
    return aim, vd.attacks.Pgd(eps=0.6, parts=1, n_steps=10)(aim, np.random.SeedSequence(0))


def elsewhere(found: tuple[Cause, ...]) -> tuple[Cause, ...]:
    return tuple(replace(cause, parts=~cause.parts) for cause in found if cause.parts is not None)


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (lambda found: found[:-1], "not one cause an instance"),
        (list, "not one cause an instance"),
        (lambda found: found[::-1], "another instance"),
        (lambda found: tuple(replace(c, changed=c.changed.astype(np.float32)) for c in found), "another type"),
        (lambda found: tuple(replace(c, confidence=0.999) for c in found), "not as sure"),
        (lambda found: tuple(replace(c, success=True, reason="") for c in found), "succeeded, or failed"),
        (lambda found: tuple(replace(c, reason="") for c in found), "without a reason"),
        (lambda found: tuple(replace(c, reason="why not") for c in found), "succeeded with one"),
        (lambda found: tuple(replace(c, parts=np.ones(3, bool)) for c in found), "not those of the changed copy"),
        (elsewhere, "something else was changed"),
        (lambda found: tuple(replace(c, name="") for c in found), "which kind"),
    ],
)
def test_a_kind_that_does_not_keep_to_it_is_caught(tamper: Any, told: str) -> None:
    aim, found = honest()
    assert {cause.success for cause in found} == {True, False}
    assert broken(vd.attacks.Pgd(), aim, found) == []
    wrong = broken(vd.attacks.Pgd(), aim, tamper(found))
    assert any(told in each for each in wrong), wrong


def test_of_three_labels_any_other_will_do_unless_one_is_wanted() -> None:
    def predict(planes: Any) -> Any:
        tops = np.asarray(planes)[:, :, :9].reshape(len(planes), 8, 3, 3).max(axis=(1, 3))
        return np.exp(3 * tops) / np.exp(3 * tops).sum(axis=1, keepdims=True)

    represent = vd.Tiles(times=4, bands=1)
    free, bound = (choose_aim(predict, represent, PLANES, wanted=wanted) for wanted in (None, 2))
    shape, seed = vd.edits.DrawnShape(), np.random.SeedSequence(0)
    found = [(i, cause) for i, cause in enumerate(shape(free, seed)) if cause.success]
    assert {i for i, cause in found if cause.wanted != free.wanted[i]}
    assert all(cause.wanted == np.argmax(predict(cause.changed[None])[0]) for _, cause in found)
    assert {cause.wanted for cause in shape(bound, seed)} == {2}
