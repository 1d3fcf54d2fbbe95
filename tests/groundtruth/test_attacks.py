"""Attacks by gradients: closed forms, failures that are told, and networks that stay as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.networks import convolutional, dense, line, looking, reading, seeded
from veridical.groundtruth.causes import Aim, Decision, choose_aim

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

RNG = np.random.default_rng(0)
SEED = np.random.SeedSequence(0)
SHAPE = (4, 6)
U = RNG.normal(size=SHAPE)
PLANES = RNG.normal(size=(6, *SHAPE))
TILES = vd.Tiles(times=3, bands=2)
BYTES = RNG.integers(0, 256, (4, 12, 12, 3), dtype=np.uint8)
NEVER = 1 - 1e-9  # a confidence that is not reached, so that a search goes on to its end


class Plane(torch.nn.Module):
    """One output: a weighted sum of all values."""

    def __init__(self, slopes: Any, constant: float = 0.0) -> None:
        super().__init__()
        self.sum = line(np.ravel(slopes), constant)

    def forward(self, x: Any) -> Any:
        return self.sum(x.flatten(1))


class Constant(torch.nn.Module):
    """An output that nothing changes."""

    def forward(self, x: Any) -> Any:
        return torch.zeros(len(x), 1) + 0.3


def sharp(outputs: int, inputs: int = 24) -> Any:
    """A dense network that can be sure."""
    module = dense(inputs, outputs, width=16)
    with torch.no_grad():
        module[-1].weight *= 30
    return torch.nn.Sequential(torch.nn.Flatten(), module).eval()


def linear(threshold: float | None = None, wanted: Any = None, X: Any = PLANES) -> Aim:
    network = vd.Network(Plane(U).eval(), answers="sigmoid")
    return choose_aim(network, TILES, X, decision=Decision(threshold), wanted=wanted)


def toward(cause: vd.groundtruth.Cause) -> Any:
    """The direction of steepest descent to the wanted label."""
    return U if cause.wanted else -U


# closed forms: the logit is u · x


@pytest.mark.parametrize(
    "attack",
    [
        vd.attacks.Pgd(eps=0.3, confidence=NEVER),
        vd.attacks.CarliniWagner(eps=0.3, alpha=1e4, confidence=NEVER, n_steps=60, adam=False),
        vd.attacks.CarliniWagner(eps=0.3, alpha=1e4, confidence=NEVER, n_steps=60),
    ],
)
def test_the_best_change_of_a_linear_logit_is_its_signs(attack: Any) -> None:
    for cause in attack(linear(), SEED):
        np.testing.assert_allclose(cause.delta, 0.3 * np.sign(toward(cause)), atol=1e-7)


def test_the_best_change_of_one_length_is_the_slope_itself() -> None:
    for cause in vd.attacks.Pgd(eps=1.5, confidence=NEVER, norm=2)(linear(), SEED):
        np.testing.assert_allclose(cause.delta, 1.5 * toward(cause) / np.linalg.norm(U), atol=1e-7)


def test_a_short_change_and_a_small_loss_balance() -> None:
    """Where ‖δ‖² + α · loss is least, 2 δ = −α · slope of the loss: δ is along u, by what the loss leaves of α."""
    aim = linear()
    attack = vd.attacks.CarliniWagner(eps=5.0, step=5e-4, alpha=0.2, confidence=NEVER, n_steps=600, adam=False)
    for cause in attack(aim, SEED)[:2]:
        sign = 1 if cause.wanted else -1
        logit = float((U * cause.changed).sum())
        expected = sign * 0.1 * U / (1 + math.exp(sign * logit))
        np.testing.assert_allclose(cause.delta, expected, atol=2e-3)


def test_the_shortest_change_that_suffices_is_taken() -> None:
    """PGD takes the first that is sure enough, which has the same size everywhere; the other goes on."""
    aim = linear()
    for first, best in zip(
        vd.attacks.Pgd(eps=2.0)(aim, SEED), vd.attacks.CarliniWagner(eps=2.0)(aim, SEED), strict=True
    ):
        assert first.success
        assert best.success
        logit = float((U * best.x).sum())
        needed = math.log(0.95 / 0.05) + abs(logit)  # in the logit
        least = needed / np.linalg.norm(U)
        assert least <= np.linalg.norm(best.delta) < 1.15 * least
        assert np.linalg.norm(best.delta) < np.linalg.norm(first.delta)


# where a change is made


@pytest.mark.parametrize("k", [1, 2])
def test_only_the_parts_that_are_named_are_changed(k: int) -> None:
    for cause in vd.attacks.Pgd(eps=3.0, parts=k)(linear(), SEED):
        assert cause.success
        assert cause.parts is not None
        assert cause.parts.sum() == k
        moved = TILES(cause.x).gather(np.abs(cause.delta)) > 0
        np.testing.assert_array_equal(moved, cause.parts)


def test_other_parts_are_tried_where_the_first_do_not_suffice() -> None:
    slopes = np.zeros(SHAPE)
    slopes[:2, :2] = 1.0  # one tile of six
    aim = choose_aim(vd.Network(Plane(slopes).eval(), answers="sigmoid"), TILES, PLANES)
    found = vd.attacks.Pgd(eps=3.0, parts=1)(aim, SEED)
    assert all(cause.success for cause in found)
    assert {int(np.flatnonzero(cause.parts)[0]) for cause in found if cause.parts is not None} == {0}


def test_parts_of_pictures_have_all_their_channels() -> None:
    found = vd.attacks.Pgd(eps=90, parts=2)(choose_aim(looking(), vd.Grid(3, 3), BYTES), SEED)
    for cause in found:
        assert cause.parts is not None
        moved = vd.Grid(3, 3)(cause.x).gather(np.abs(cause.delta)) > 0
        assert not (moved & ~cause.parts).any()
        assert np.unique(np.nonzero(cause.delta)[2]).tolist() == [0, 1, 2]


def test_whole_numbers_stay_whole_and_within_their_range() -> None:
    dark = np.minimum(BYTES, 3)
    for cause in vd.attacks.Pgd(eps=8)(choose_aim(looking(), vd.Grid(3, 3), dark), SEED):
        assert cause.changed.dtype == np.uint8
        assert 0 < np.abs(cause.delta).max() <= 8


def test_pictures_between_0_and_1_stay_there_and_others_do_if_asked() -> None:
    module = seeded(lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 2)))
    pictures = RNG.random((3, 4, 4, 3))
    for cause in vd.attacks.Pgd(eps=0.8, confidence=NEVER)(choose_aim(module, vd.Grid(2, 2), pictures), SEED):
        assert cause.changed.min() == 0
        assert cause.changed.max() == 1
    aim = choose_aim(module, vd.Grid(2, 2), pictures * 4 - 2)
    ends = [np.ptp(cause.changed) for cause in vd.attacks.Pgd(eps=0.8, confidence=NEVER)(aim, SEED)]
    assert max(ends) > 4
    for cause in vd.attacks.Pgd(eps=0.8, confidence=NEVER, bounds=(-2.0, 2.0))(aim, SEED):
        assert np.abs(cause.changed).max() == 2
    with pytest.raises(vd.errors.InputError, match="beyond the bounds"):
        vd.attacks.Pgd(bounds=(0.0, 1.0))(aim, SEED)


@pytest.mark.parametrize("as_tensors", [False, True])
def test_instances_of_several_shapes(as_tensors: bool) -> None:
    class Mean(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return 3 * x.flatten(1).mean(dim=1)

    pictures = [RNG.normal(size=shape) for shape in ((6, 8, 3), (4, 4, 3), (6, 8, 3))]
    given = [torch.as_tensor(each) for each in pictures] if as_tensors else pictures
    network = vd.Network(Mean().eval(), answers="sigmoid")
    found = vd.attacks.Pgd(eps=3.0)(choose_aim(network, vd.Grid(2, 2), given), SEED)
    assert [tuple(cause.changed.shape) for cause in found] == [(6, 8, 3), (4, 4, 3), (6, 8, 3)]
    assert all(cause.success for cause in found)
    assert all(isinstance(cause.changed, torch.Tensor) is as_tensors for cause in found)


def test_rows_of_a_table() -> None:
    X = RNG.normal(size=(40, 4))
    found = vd.attacks.Pgd(eps=4.0, parts=1)(choose_aim(sharp(2, 4), vd.Rows(X), X[:5]), SEED)
    assert any(cause.success for cause in found)
    for cause in found:
        assert (cause.delta != 0).sum() <= 1


# networks and what they answer


MODULES: dict[str, Callable[[], Any]] = {
    "plane": lambda: Plane(U),
    "plane, sigmoid": lambda: torch.nn.Sequential(Plane(U), torch.nn.Sigmoid()),
    "three": lambda: sharp(3),
    "three, softmax": lambda: torch.nn.Sequential(sharp(3), torch.nn.Softmax(dim=1)),
}


@pytest.mark.parametrize(
    ("module", "answers", "threshold"),
    [
        ("plane", "sigmoid", None),
        ("plane", None, 0.0),  # a logit
        ("plane, sigmoid", None, None),
        ("three", "softmax", None),
        ("three", "sigmoid", None),
        ("three", None, None),
        ("three, softmax", None, None),
        ("three", lambda out: out[:, 1:].softmax(dim=1), 0.51),
        ("three", lambda out: out[:, 0].sigmoid(), 0.4),
    ],
)
def test_any_kind_of_answer(module: str, answers: Any, threshold: float | None) -> None:
    network = vd.Network(MODULES[module]().eval(), answers=answers)
    aim = choose_aim(network, TILES, PLANES, decision=Decision(threshold))
    for cause in vd.attacks.Pgd(eps=20.0, n_steps=100, confidence=0.6)(aim, SEED):
        assert cause.success, cause.reason
        assert 0.6 <= cause.confidence <= 1


def test_a_prepare_of_arrays_is_as_good_as_one_of_tensors() -> None:
    """One is differentiated, of the other it is found out by what it multiplies values."""

    def of_tensors(batch: Any) -> Any:
        return (torch.as_tensor(batch).float() / 255 - 0.5).movedim(-1, 1) * torch.tensor([1.0, 2.0, 3.0])[
            :, None, None
        ]

    def of_arrays(batch: Any) -> Any:
        return of_tensors(np.array(batch).astype(np.float32))

    pictures, module = BYTES.astype(np.float64), convolutional()
    found = []
    for prepare in (of_tensors, of_arrays):
        aim = choose_aim(vd.Network(module, prepare=prepare), vd.Grid(3, 3), pictures)
        found.append(vd.attacks.Pgd(eps=300.0, norm=2, confidence=NEVER, n_steps=5)(aim, SEED))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.delta, other.delta, atol=0.05 * np.abs(one.delta).max())


@pytest.mark.parametrize(
    "attack", [vd.attacks.Pgd(n_steps=5), vd.attacks.CarliniWagner(n_steps=5), vd.attacks.Pgd(n_steps=3, parts=1)]
)
def test_the_network_stays_as_it_is(attack: Any) -> None:
    network, pictures = looking(), BYTES.copy()
    before = {name: value.clone() for name, value in network.module.state_dict().items()}
    attack(choose_aim(network, vd.Grid(3, 3), pictures), SEED)
    after = network.module.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())
    assert all(p.grad is None and p.requires_grad for p in network.module.parameters())
    assert not any(m.training or m._forward_hooks for m in network.module.modules())
    np.testing.assert_array_equal(pictures, BYTES)


def test_where_gradients_are_off_they_are_on_within() -> None:
    aim = linear()
    plain = vd.attacks.Pgd(eps=2.0)(aim, SEED)
    with torch.inference_mode():
        inside = vd.attacks.Pgd(eps=2.0)(aim, SEED)
    for one, other in zip(plain, inside, strict=True):
        np.testing.assert_array_equal(one.changed, other.changed)


# decisions


def test_labels_of_one_two_and_more_outputs() -> None:
    one = np.array([[0.2], [0.5], [0.505], [0.9]])
    assert Decision()(one).tolist() == [0, 1, 1, 1]
    assert Decision(0.51)(one).tolist() == [0, 0, 0, 1]
    two = np.hstack([1 - one, one])
    assert Decision()(two).tolist() == [0, 1, 1, 1]
    assert Decision(0.51)(two).tolist() == [0, 0, 0, 1]
    three = np.array([[0.2, 0.5, 0.3], [3.0, -1.0, 2.0]])
    assert Decision()(three).tolist() == [1, 0]
    assert Decision().others(three).tolist() == [2, 2]
    with pytest.raises(vd.errors.InputError, match="3 outputs"):
        Decision(0.51)(three)


def test_how_sure_a_model_is() -> None:
    both = np.array([1, 0])
    np.testing.assert_allclose(Decision().support(np.array([[0.7], [0.7]]), both), [0.7, 0.3])
    np.testing.assert_allclose(Decision(0.0).support(np.array([[2.0], [2.0]]), both), [0.8808, 0.1192], atol=1e-4)
    logits = np.array([[0.0, 2.0], [0.0, 2.0]])
    np.testing.assert_allclose(Decision().support(logits, both), [0.8808, 0.1192], atol=1e-4)
    np.testing.assert_allclose(Decision().support(np.array([[0.1, 0.6], [0.1, 0.6]]), both), [0.6, 0.1])


def test_label_0_of_one_output_is_explained_by_its_negative() -> None:
    assert Decision().target(2, 3) == 2
    assert Decision().target(1, 1) == "value"
    np.testing.assert_array_equal(Decision().target(0, 1)(np.array([[0.2], [0.7]])), [-0.2, -0.7])


def test_a_threshold_that_is_not_one_half() -> None:
    """An instance at 0.505 has label 0 by a threshold of 0.51, and is no cause until it is at that."""
    X = PLANES[:1] * 0 + U * (0.02 / (U**2).sum())  # a logit of 0.02
    assert linear(X=X).labels.tolist() == [1]
    aim = linear(0.51, X=X)
    assert aim.labels.tolist() == [0]
    (cause,) = vd.attacks.Pgd(eps=0.5, confidence=None)(aim, SEED)
    assert cause.success
    assert cause.confidence >= 0.51


# what fails is told


def test_a_change_that_is_too_small_is_reported() -> None:
    for cause in vd.attacks.Pgd(eps=1e-4)(linear(), SEED):
        assert not cause.success
        assert f"searched within eps=0.0001; the model still decides {cause.label}" in cause.reason
        assert np.abs(cause.delta).max() <= 1e-4 * (1 + 1e-9)


@pytest.mark.parametrize("parts", [None, 2])
def test_a_search_goes_further_where_it_finds_nothing_and_no_bound_is_given(parts: int | None) -> None:
    far = 0.2 * PLANES.std()
    near = vd.attacks.Pgd(eps=far, confidence=None, parts=parts)(linear(), SEED)
    wide = vd.attacks.Pgd(confidence=None, parts=parts)(linear(), SEED)
    found = [each.success for each in near]
    assert sum(found) < sum(each.success for each in wide)
    for one, other in zip(near, wide, strict=True):
        assert np.abs(other.delta).max() <= 4 * far * (1 + 1e-6)
        if one.success:
            np.testing.assert_array_equal(one.changed, other.changed)


def test_a_change_that_is_not_sure_enough_is_reported() -> None:
    for cause in vd.attacks.Pgd(eps=0.5, confidence=0.999999)(linear(), SEED):
        if cause.confidence > 0.5:
            assert not cause.success
            assert "0.999999 was asked for" in cause.reason


@pytest.mark.parametrize(
    "attack", [vd.attacks.Pgd(), vd.attacks.CarliniWagner(n_steps=30), vd.attacks.Pgd(parts=1)]
)
def test_a_constant_model_is_reported(attack: Any) -> None:
    for cause in attack(choose_aim(vd.Network(Constant().eval()), TILES, PLANES), SEED):
        assert not cause.success
        assert "gradient of the loss is zero" in cause.reason
        assert "still decides 0" in cause.reason
        np.testing.assert_array_equal(cause.changed, cause.x)


def test_what_is_as_wanted_already_is_left_alone_and_reported() -> None:
    aim = linear(wanted=1)
    assert 0 < aim.labels.sum() < len(aim)
    for cause, label in zip(vd.attacks.Pgd(eps=2.0)(aim, SEED), aim.labels, strict=True):
        assert cause.success is bool(label == 0)
        if label:
            assert "already" in cause.reason
            assert cause.n_calls == 1
            np.testing.assert_array_equal(cause.changed, cause.x)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: vd.attacks.Pgd(eps=-1), ("eps", "positive")),
        (lambda: vd.attacks.Pgd(n_steps=0), ("n_steps", "at least 1")),
        (lambda: vd.attacks.Pgd(parts=0), ("parts", "at least 1")),
        (lambda: vd.attacks.Pgd(norm=1), ("norm", "inf", "2")),
        (lambda: vd.attacks.Pgd(confidence="high"), ("confidence", "'high'")),
        (lambda: vd.attacks.Pgd(bounds=(1.0, 0.0)), ("bounds", "(1.0, 0.0)")),
        (lambda: vd.attacks.Pgd(bounds=3), ("bounds", "not 3")),
        (lambda: vd.attacks.Pgd(domain="wave"), ("domain", "vd.attacks.Waveform()", "'wave'")),
        (lambda: vd.attacks.Pgd(domain=vd.attacks.Waveform(), parts=1), ("parts", "domain")),
        (lambda: vd.attacks.CarliniWagner(adam="yes"), ("adam", "'yes'")),
        (lambda: vd.attacks.CarliniWagner(alpha=0), ("alpha", "positive")),
        (lambda: Decision("high"), ("threshold", "'high'")),
        (lambda: linear(wanted=2), ("wanted", "0 to 1", "2")),
        (lambda: linear(wanted=[1, 0]), ("wanted", "one per instance (6)")),
        (lambda: linear(wanted="dog"), ("wanted", "'dog'")),
        (
            lambda: choose_aim(vd.Network(Plane(U).eval()), TILES, PLANES),
            ("no probability", "threshold=", "sigmoid"),
        ),
        (lambda: vd.attacks.Pgd(parts=7)(linear(), SEED), ("parts=7", "only 6")),
        (
            lambda: vd.attacks.Pgd()(choose_aim(lambda X: X.mean(axis=(1, 2)) * 0, TILES, PLANES), SEED),
            ("network", "vd.attacks.Square"),
        ),
        (
            lambda: vd.attacks.Pgd()(choose_aim(reading(), vd.Words(), ["a good film", "a bad one"]), SEED),
            ("SwappedWords",),
        ),
        (
            lambda: vd.attacks.Pgd()(choose_aim(sharp(2), vd.Grid(2, 2), PLANES > 0), SEED),
            ("True or False", "floats"),
        ),
        (
            lambda: vd.attacks.Pgd(domain=vd.attacks.Waveform())(linear(), SEED),
            ("vd.attacks.Waveform", "front", "vd.sounds.Mel()"),
        ),
    ],
)
def test_bad_input_is_told(ask: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(vd.errors.InputError) as caught:
        ask()
    for word in words:
        assert word in str(caught.value)
