"""Methods that need gradients: closed forms, captum's answers, promises, and what bad input gives."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_matrix
from torch import nn

import veridical as vd
from tests.builders import contracts
from tests.builders.contracts import bits, check
from tests.builders.networks import (
    GRADIENTS,
    LEARNED,
    Reader,
    convolutional,
    dense,
    gradient_method,
    ids,
    line,
    looking,
    reading,
    seeded,
    spans,
)
from veridical import networks as gradients
from veridical.methods.registry import METHODS
from veridical.networks.maps import GradientMethod, MapBatch, find_layout
from veridical.toys import Game

RNG = np.random.default_rng(0)
SLOPES = np.array([2.0, -1.0, 0.5, 0.0])
X = RNG.normal(size=(60, 4))
FRAME = pd.DataFrame(X, columns=["age", "dose", "mass", "rate"])
PICTURE = RNG.integers(0, 256, (12, 12, 3), dtype=np.uint8)  # (h, w, c)
TENSOR = torch.as_tensor(PICTURE.transpose(2, 0, 1) / 255, dtype=torch.float32)  # (c, h, w)
TEXT = "a good film with a good cast, but a bad end"
INPUTS = torch.as_tensor(RNG.normal(size=(5, 3, 12, 12)), dtype=torch.float32)
TARGETS = torch.tensor([0, 1, 2, 1, 0])

TEXTS = [" ".join(RNG.permutation(TEXT.split())[:n]) for n in range(2, 12) for _ in range(3)]
CASES: dict[str, tuple[Callable[[], Any], Any, Any, Any]] = {  # network, representer, instance, data to learn from
    "array": (lambda: vd.Network(dense()), vd.Rows(X), X[0], X),
    "frame": (lambda: vd.Network(dense()), vd.Rows(FRAME), FRAME.iloc[0], FRAME),
    "numbers": (lambda: vd.Network(dense(outputs=1)), vd.Rows(X, discretize=vd.bins.Continuous()), X[0], X),
    "sparse": (lambda: vd.Network(dense()), vd.Rows(csr_matrix(X)), csr_matrix(X * (X > 0))[1], X),
    "picture": (looking, vd.Grid(3, 4), PICTURE, RNG.integers(0, 256, (20, 12, 12, 3), dtype=np.uint8)),
    "tensor": (
        lambda: vd.Network(convolutional(inplace=True)),
        vd.Superpixels(8),
        TENSOR,
        torch.rand(20, 3, 12, 12),
    ),
    "text": (reading, vd.Words(), TEXT, TEXTS),
    "masks": (lambda: vd.Network(dense(6)), Game(), 6, RNG.integers(0, 2, (40, 6)) * 1.0),
}
NAMES = [*GRADIENTS, *LEARNED]


# Promises ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", CASES)
def test_methods_keep_their_promises(name: str, case: str) -> None:
    build, represent, x, data = CASES[case]
    contracts.check_gradient_method(gradient_method(name, data), build(), represent, x)


@dataclass(frozen=True)
class Broken(GradientMethod):
    """A method that does one thing it must not."""

    how: str

    def attribute(self, slopes: Any, x: Any, rows: Any, seeds: Any) -> MapBatch:
        module = slopes.network.module
        if self.how == "weights":
            next(module.parameters()).data += 1e-9
        elif self.how == "flags":
            module[0].train()
        elif self.how == "hooks":
            module[0].register_forward_hook(lambda *_: None)
        elif self.how == "gradients":
            module(slopes.inputs).sum().backward()
        elif self.how == "requires":
            next(module.parameters()).requires_grad_(False)
        elif self.how == "rows":
            module(slopes.inputs)
        found = slopes(x[:, None], rows)[:, 0]
        noise = torch.randn_like(found) if self.how == "unseeded" else 0.0
        return MapBatch(found + 1e-9 * noise)

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        found = super().__call__(model, representation, targets, seed)
        if self.how == "sums":
            return tuple(replace(why, weights=why.weights[::-1]) for why in found)
        if self.how == "prediction":
            return tuple(replace(why, prediction=why.prediction + 1e-6) for why in found)
        return found


@pytest.mark.parametrize(
    "how", ["weights", "flags", "hooks", "gradients", "requires", "rows", "unseeded", "sums", "prediction"]
)
def test_a_broken_method_is_caught(how: str) -> None:
    with pytest.raises(AssertionError):
        contracts.check_gradient_method(Broken(how), vd.Network(dense()), vd.Rows(X), X[0])


def test_an_honest_one_is_not() -> None:
    contracts.check_gradient_method(Broken("not at all"), vd.Network(dense()), vd.Rows(X), X[0])


def test_what_was_there_before_stays() -> None:
    """Gradients that someone accumulates, frozen weights, hooks of the user's own, and what is switched off."""
    module, seen = dense(), []
    module(torch.as_tensor(X)).sum().backward()
    module[0].weight.requires_grad_(False)
    module[2].register_forward_hook(lambda *_: seen.append(1))
    before = contracts.state_of(module)
    plain = vd.explain(dense(), vd.Rows(X), X[0], method=gradients.Gradient())
    for around in (torch.no_grad(), torch.inference_mode(), torch.enable_grad()):
        with around:
            why = vd.explain(module, vd.Rows(X), X[0], method=gradients.Gradient())
            enabled = torch.is_grad_enabled()
        assert bits(why) == bits(plain)
        assert enabled == isinstance(around, torch.enable_grad)
    assert contracts.state_of(module) == before
    assert seen


@pytest.mark.parametrize("name", GRADIENTS)
def test_an_explanation_can_be_made_again_and_kept(name: str, tmp_path: Path) -> None:
    network, rows = vd.Network(dense()), vd.Rows(X)
    why = vd.explain(network, rows, X[0], method=GRADIENTS[name], rng=5)
    assert bits(vd.rerun(network, rows, X[0], why.recipe)) == bits(why)
    many = vd.explain_many(network, rows, X[:4], method=GRADIENTS[name], rng=5)
    cut = vd.explain_many(network, rows, X[:4], method=GRADIENTS[name], rng=5, batch_size=3, n_jobs=2)
    assert [bits(one) for one in many] == [bits(one) for one in cut]
    assert bits(vd.rerun(network, rows, X[2], many[2].recipe)) == bits(many[2])
    for kept in (why, many):
        for ending in ("json", "parquet"):
            kept.save(tmp_path / f"kept.{ending}")
            back = vd.load(tmp_path / f"kept.{ending}")
            pairs = zip(back, kept, strict=True) if isinstance(kept, vd.Explanations) else [(back, kept)]
            assert all(bits(a) == bits(b) for a, b in pairs)
        kept.save(tmp_path / "kept.html")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("case", ["frame", "picture", "text"])
def test_every_view_stays_sensible(name: str, case: str, pyplot: Any) -> None:
    build, represent, x, data = CASES[case]
    why = vd.explain(build(), represent, x, method=gradient_method(name, data))
    for shown in (repr(why), why._repr_html_(), why.verdict.sentence, *why.notes):
        assert "nan" not in re.sub('base64,[^"]*', "", shown).lower().replace("name", "")
    ax = why.plot(kind="card")
    assert ax is not None


def test_texts_in_threads_do_not_mix() -> None:
    texts = [f"{TEXT} {'and more of it ' * i}" for i in range(12)]
    alone = vd.explain_many(reading(), vd.Words(), texts, method=gradients.SmoothGrad(8))
    jobs = vd.explain_many(reading(), vd.Words(), texts, method=gradients.SmoothGrad(8), n_jobs=4)
    assert [bits(one) for one in alone] == [bits(one) for one in jobs]


def test_maps_are_what_explanations_sum() -> None:
    network = vd.Network(convolutional())
    for name in NAMES:
        method = gradient_method(name, torch.rand(20, 3, 12, 12))
        if name == "expected_gradients":
            method = gradients.ExpectedGradients(INPUTS.numpy(), n_draws=6)
        why = vd.explain(network, vd.Grid(3, 3), TENSOR, method=method, rng=3)
        maps = method.maps(network, TENSOR[None], int(why.target), np.random.SeedSequence(3))
        np.testing.assert_allclose(maps.values[0], why.map, rtol=1e-6, atol=1e-9)
        several = method.maps(network, torch.cat([TENSOR[None], INPUTS]), None, np.random.SeedSequence(3))
        np.testing.assert_allclose(several.values[0], why.map, rtol=1e-4, atol=1e-7)
        assert (several.errors is None) == (getattr(method, "n_draws", None) is None)
        assert several.values.flags.writeable is False


def test_maps_take_what_explanations_take() -> None:
    """Modules as they are, and seeds of every kind."""
    wanted = gradients.SmoothGrad(4).maps(vd.Network(dense()), X[:2], 1, 7).values
    for seed in (np.int64(7), np.random.SeedSequence(7)):
        found = gradients.SmoothGrad(4).maps(dense(), FRAME[:2], torch.tensor([1, 1]), seed).values
        np.testing.assert_array_equal(found, wanted)
    gradients.SmoothGrad(4).maps(dense(), X[:2], np.uint8(1), np.random.default_rng(7))


def test_small_pieces_give_the_same_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    network = vd.Network(convolutional())
    whole = [
        method.maps(network, INPUTS, TARGETS, 1).values for method in (gradients.Gradient(), gradients.VarGrad(5))
    ]
    limits = ("networks.maps.MAX_NUMBERS_PER_BATCH", "networks.derivatives.MAX_NUMBERS_PER_BATCH")
    for limit in (*limits, "models.torch_modules.MAX_NUMBERS_ON_CPU"):
        monkeypatch.setattr(f"veridical.{limit}", 900)
    cut = [
        method.maps(network, INPUTS, TARGETS, 1).values for method in (gradients.Gradient(), gradients.VarGrad(5))
    ]
    for a, b in zip(whole, cut, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-9)
    assert network(INPUTS).shape == (5, 3)


@pytest.mark.parametrize(
    "method",
    [
        gradients.SmoothGrad(4, noise=1.0),
        gradients.VarGrad(4, noise=1.0),
        gradients.ExpectedGradients(X, n_draws=6),
        gradients.Gradient(),
    ],
    ids=lambda method: type(method).__name__,
)
def test_a_map_does_not_depend_on_the_batch(method: Any) -> None:
    """Draws are by input: those of others change nothing, and the same input twice has different ones."""
    network, root = vd.Network(dense(4, 2, width=32)), np.random.SeedSequence(3)
    whole, some = (method.maps(network, X[:n], 1, root) for n in (9, 4))
    np.testing.assert_allclose(whole.values[:4], some.values, rtol=1e-12)
    state = torch.get_rng_state()
    again = method.maps(network, X[:9], 1, root)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(again.values, whole.values)
    same = method.maps(network, X[[0, 0]], 1, root).values
    assert (np.abs(same[0] - same[1]).max() > 0) == hasattr(method, "n_draws")


def test_errors_are_those_of_means() -> None:
    """Of F = Σ x²/2 the gradient is the point itself, so that the error is that of the noise."""

    class Squares(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x**2).sum(dim=1) / 2

    n, x = 4000, torch.tensor([[0.0, 1.0, 2.0]], dtype=torch.float64)
    found = gradients.SmoothGrad(n, noise=0.5).maps(Squares(), x, None, 0)
    np.testing.assert_allclose(found.errors, 1 / np.sqrt(n), rtol=5 / np.sqrt(2 * n))
    assert np.abs((found.values - x.numpy()) / found.errors).max() < 4


def test_a_baseline_has_the_output_of_each_target() -> None:
    module, base = dense(4, 3), X[5]
    found = gradients.IntegratedGradients(base, n_steps=2000).maps(module, X[:3], [0, 1, 2])
    wanted = np.diag(vd.Network(module)(X[:3])) - answer(module, base)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.residual, wanted, atol=1e-9)


def answer(module: Any, x: Any) -> Any:
    """The module's own outputs (k,) to one input."""
    return vd.Network(module)(x[None])[0]


# Closed forms: G.10 --------------------------------------------------------------------------------------------


def mapped(method: Any, module: Any, x: Any, target: Any = 0) -> Any:
    """The map of one input."""
    return method.maps(vd.Network(module), torch.as_tensor(np.atleast_2d(x)), target, 0)


def test_a_linear_network_has_closed_forms() -> None:
    """F = w·x + b: every method's answer is known."""
    w, x, base = SLOPES, X[0], 0.7
    module = line(w, 3.0)
    forms = {
        gradients.Gradient(): np.abs(w),
        gradients.Gradient(absolute=False): w,
        gradients.SmoothGrad(): w,
        gradients.SmoothGradSquared(): w**2,
        gradients.SmoothGradSquared(square="after"): w**2,
        gradients.VarGrad(): 0 * w,
        gradients.InputXGradient(): w * x,
        gradients.InputXGradient(absolute=True): np.abs(w) * x,
        gradients.IntegratedGradients(base): w * (x - base),
        gradients.IntegratedGradients(base, rule="trapezoid"): w * (x - base),
        gradients.IntegratedGradients(base, rule="gauss"): w * (x - base),
    }
    for method, form in forms.items():
        found = mapped(method, module, x)
        np.testing.assert_allclose(found.values[0], form, atol=1e-12)
        assert found.errors is None or np.abs(found.errors).max() < 1e-12
    complete = mapped(gradients.IntegratedGradients(base), module, x)
    assert abs(complete.residual[0]) < 1e-12
    expected = mapped(gradients.ExpectedGradients(X, n_draws=120), module, x)
    np.testing.assert_allclose(expected.values[0], w * (x - X.mean(axis=0)), atol=1e-12)
    assert abs(expected.residual[0]) < 1e-12


def test_shapley_values_of_a_linear_network() -> None:
    """w (x - E b) on independent columns, and the sum is exact; the error of the draws is known."""
    rows = vd.Rows(X)
    why = vd.explain(line(SLOPES, 3.0), rows, X[0], method=vd.KernelShap(n_samples=2**12))
    mean = rows(X[0]).keeping(np.zeros((2**14, 4), bool), np.random.SeedSequence(0)).mean(axis=0)
    np.testing.assert_allclose(why.weights, SLOPES * (X[0] - mean), atol=0.2)
    assert why.local_prediction == pytest.approx(why.prediction, abs=1e-9)


def test_expected_gradients_agree_with_shapley_values_on_a_line() -> None:
    rows = vd.Rows(X)
    why = vd.explain(line(SLOPES, 3.0), rows, X[0], method=gradients.ExpectedGradients(n_draws=4000))
    mean = rows(X[0]).keeping(np.zeros((2**16, 4), bool), np.random.SeedSequence(0)).mean(axis=0)
    error = np.diff(why.intervals, axis=1)[:, 0] / 2
    assert (np.abs(why.weights - SLOPES * (X[0] - mean)) <= 1.5 * error + 0.02).all()
    assert why.intercept + why.weights.sum() == pytest.approx(why.prediction, abs=1e-9)


@pytest.mark.parametrize("bias", [False, True])
def test_finite_differences(bias: bool) -> None:
    module, step = dense(6, 3, bias, width=32), 1e-6
    x = RNG.normal(size=6)
    with torch.no_grad():
        up, down = (module(torch.as_tensor(x + sign * step * np.eye(6)))[:, 2] for sign in (1, -1))
    slopes = (up - down).numpy() / (2 * step)
    found = mapped(gradients.Gradient(absolute=False), module, x, 2).values[0]
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-8)


def one_unit(upstream: float) -> Any:
    module = nn.Sequential(nn.Linear(1, 1, bias=False), nn.ReLU(), nn.Linear(1, 1, bias=False)).double().eval()
    with torch.no_grad():
        module[0].weight[:] = 1.0
        module[2].weight[:] = upstream
    return module


@pytest.mark.parametrize(
    ("x", "upstream", "gradient", "guided", "deconvolved"),
    [(-1.0, 3.0, 0.0, 0.0, 3.0), (1.0, -3.0, -3.0, 0.0, 0.0), (1.0, 3.0, 3.0, 3.0, 3.0), (-1.0, -3.0, 0, 0, 0)],
)
def test_one_rectifier(x: float, upstream: float, gradient: float, guided: float, deconvolved: float) -> None:
    module = one_unit(upstream)
    assert mapped(gradients.Gradient(absolute=False), module, x).values[0] == gradient
    assert mapped(gradients.GuidedBackprop(), module, x).values[0] == guided
    assert mapped(gradients.DeconvNet(), module, x).values[0] == deconvolved


def test_rules_for_rectifiers_are_the_gradient_where_all_are_open() -> None:
    module = nn.Sequential(line(SLOPES, 100.0), nn.ReLU()).eval()
    for method in (gradients.GuidedBackprop(), gradients.DeconvNet()):
        np.testing.assert_allclose(mapped(method, module, X[0]).values[0], SLOPES, atol=1e-12)


def test_integrated_gradients_say_what_they_miss() -> None:
    """The table of card G.10 on a 2 × 64 ReLU network: relative errors of the sums, median and largest."""
    module = dense(20, 1, width=64)
    inputs = torch.as_tensor(RNG.normal(size=(200, 20)))
    with torch.no_grad():
        wanted = (module(inputs) - module(torch.zeros(1, 20, dtype=torch.double)))[:, 0].numpy()
    far = np.abs(wanted) > 0.05
    for method, median in (
        (gradients.IntegratedGradients(), 0.012),
        (gradients.IntegratedGradients(n_steps=400), 0.002),
    ):
        found = method.maps(vd.Network(module), inputs, None, 0)
        np.testing.assert_allclose(found.values.sum(axis=1) + found.residual, wanted, atol=1e-9)
        assert np.median(np.abs(found.residual / wanted)[far]) < median
    why = vd.explain(module, vd.Rows(inputs.numpy()), inputs[0].numpy(), method=gradients.IntegratedGradients())
    assert why.notes[-1].startswith(
        f"the weights sum to {why.weights.sum():.4g}; the output differs from the base"
    )
    assert why.local_prediction == pytest.approx(why.intercept + why.weights.sum())


def test_squares_and_variances_by_their_definitions() -> None:
    """Slowly, by the same noise: E g², (E g)² and E (g - E g)²."""
    module = dense(4, 1, width=16)
    mean = mapped(gradients.SmoothGrad(50), module, X[0]).values[0]
    squares = mapped(gradients.SmoothGradSquared(50), module, X[0]).values[0]
    np.testing.assert_allclose(
        mapped(gradients.SmoothGradSquared(50, square="after"), module, X[0]).values[0], mean**2
    )
    np.testing.assert_allclose(
        mapped(gradients.VarGrad(50), module, X[0]).values[0], squares - mean**2, atol=1e-12
    )


def test_the_noise_is_a_share_of_the_range() -> None:
    """Of F = Σ x³ the variance of the gradient 3 (x + s z)² is known: 9 (4 x² s² + 2 s⁴)."""

    class Cubes(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x**3).sum(dim=1)

    x = np.array([0.5, -1.0, 3.0])
    s = 0.1 * 4.0
    found = mapped(gradients.VarGrad(40_000, noise=0.1), Cubes(), x, None)
    truth = 9 * (4 * x**2 * s**2 + 2 * s**4)
    np.testing.assert_allclose(found.values[0], truth, rtol=0.05)
    z = (found.values[0] - truth) / found.errors[0]
    assert np.abs(z).max() < 4
    mean = mapped(gradients.SmoothGrad(40_000, noise=0.1), Cubes(), x, None)
    assert np.abs((mean.values[0] - 3 * (x**2 + s**2)) / mean.errors[0]).max() < 4


def test_intervals_cover_what_more_draws_find() -> None:
    """95 % intervals of sums over parts, of methods that draw; the error over 80 seeds of 4 parts is 0.012."""
    module, rows = dense(4, 1, width=16), vd.Rows(X)
    for method, many in (
        (gradients.SmoothGrad(12), gradients.SmoothGrad(20_000)),
        (gradients.SmoothGradSquared(24), gradients.SmoothGradSquared(20_000)),
        (gradients.ExpectedGradients(n_draws=24), gradients.ExpectedGradients(n_draws=20_000)),
    ):
        truth = vd.explain(module, rows, X[1], method=many, rng=999).weights
        inside = []
        for seed in range(80):
            why = vd.explain(module, rows, X[1], method=method, rng=seed)
            inside.append((why.intervals[:, 0] <= truth) & (truth <= why.intervals[:, 1]))
        assert np.mean(inside) == pytest.approx(0.95, abs=0.06), type(method).__name__


def test_a_constant_network_has_no_evidence() -> None:
    module = line(np.zeros(4), 2.0)
    for name, method in GRADIENTS.items():
        if name not in (
            "guided_backprop",
            "deconv_net",
            "lrp_preset_a_flat",
        ):  # need ReLU; shares out constants too
            why = vd.explain(module, vd.Rows(X), X[0], method=method)
            assert not why.weights.any()
            assert why.verdict.label == "none"


def test_rounding_is_no_variance() -> None:
    """Nothing varies where the network is linear, as far as its noise reaches."""
    for module in (line([0.1, -0.7, 0.3, 1e-3], 2.0), line([0.1, -0.7, 0.3, 1e-3]).float()):
        why = vd.explain(module, vd.Rows(X), X[0], method=gradients.VarGrad())
        assert not why.weights.any()
        assert why.verdict.sentence == "No feature moves the output: there is nothing to explain here."
    assert gradients.VarGrad(noise=5.0).maps(dense(), X[:1], 0).values.any()


# Captum --------------------------------------------------------------------------------------------------------


@pytest.fixture
def captum() -> Any:
    return pytest.importorskip("captum.attr")


@pytest.mark.parametrize("name", ["gradient", "input_x_gradient", "integrated", "guided", "deconvolved"])
def test_the_same_maps_as_captum(name: str, captum: Any) -> None:
    module = convolutional()
    ours, theirs, settings = {
        "gradient": (gradients.Gradient(), captum.Saliency, {}),
        "input_x_gradient": (gradients.InputXGradient(), captum.InputXGradient, {}),
        "integrated": (
            gradients.IntegratedGradients(rule="gauss"),
            captum.IntegratedGradients,
            {"n_steps": 50},
        ),
        "guided": (gradients.GuidedBackprop(), captum.GuidedBackprop, {}),
        "deconvolved": (gradients.DeconvNet(), captum.Deconvolution, {}),
    }[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum sets hooks, and says so
        wanted = theirs(module).attribute(INPUTS.clone().requires_grad_(), target=TARGETS, **settings)
    found = ours.maps(vd.Network(module), INPUTS, TARGETS, 0).values
    np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-4, atol=1e-7)


def test_expected_gradients_are_captums_within_the_error_of_the_draws(captum: Any) -> None:
    module, n = convolutional(), 600
    with torch.random.fork_rng():
        torch.manual_seed(0)
        np.random.seed(0)
        wanted = captum.GradientShap(module).attribute(
            INPUTS[:1], baselines=INPUTS[1:], n_samples=n, stdevs=0.0, target=0
        )
    found = gradients.ExpectedGradients(INPUTS[1:], n_draws=n).maps(vd.Network(module), INPUTS[:1], 0, 0)
    z = (found.values - wanted.detach().numpy()) / (np.sqrt(2) * found.errors + 1e-12)
    assert np.sqrt(np.mean(z**2)) < 1.15  # below 1, for all baselines come equally often here


def test_captums_vectors_of_tokens(captum: Any) -> None:
    module = seeded(Reader)
    tokens = ids([TEXT])
    layer = captum.LayerIntegratedGradients(module, module.vectors)
    base = torch.zeros_like(tokens)
    wanted = layer.attribute(tokens, baselines=base, target=1, n_steps=50, method="gausslegendre")
    network = vd.Network(module, prepare=ids, embedding="vectors", spans=spans)
    padding = gradients.IntegratedGradients("", rule="gauss")  # a text without tokens is padding alone
    found = padding.maps(vd.Network(module, embedding="vectors", prepare=lambda texts: base), tokens, 1, 0)
    np.testing.assert_allclose(found.values, wanted.sum(dim=-1).detach().numpy(), rtol=1e-3, atol=1e-6)
    why = vd.explain(network, vd.Words(), TEXT, method=gradients.IntegratedGradients("x"), target=1)
    assert len(why.map) == len(TEXT)


# Networks ------------------------------------------------------------------------------------------------------


def test_methods_that_only_predict_run_on_networks() -> None:
    network = vd.Network(convolutional(), answers="softmax")
    for method in (vd.Lime(n_samples=64), vd.KernelShap(n_samples=64), vd.Occlusion()):
        why = vd.explain(network, vd.Grid(2, 2), TENSOR, method=method)
        assert 0 < why.prediction < 1
        assert why.map is None
    same = vd.explain(convolutional(), vd.Grid(2, 2), TENSOR, method=vd.Occlusion())
    assert same.prediction == pytest.approx(answer(convolutional(), TENSOR).max())
    assert (network(TENSOR[None]).sum(), network(TENSOR[None]).shape) == (pytest.approx(1.0), (1, 3))
    assert vd.Network(dense(outputs=1), answers="sigmoid")(X[:3]).max() < 1
    half = vd.Network(dense(outputs=1), answers=lambda outputs: outputs / 2)
    np.testing.assert_allclose(half(FRAME[:3]), vd.Network(dense(outputs=1))(X[:3]) / 2)
    assert vd.Network(dense())(csr_matrix(X)[:2]).shape == (2, 2)
    assert vd.Network(dense())([*X[:2]]).shape == (2, 2)


def test_recurrent_networks_and_other_types_of_numbers() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.top = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 2)

        def forward(self, x: Any) -> Any:
            return self.top(self.cells(x)[0][:, -1])

    series = RNG.normal(size=(20, 2))
    for module in (seeded(Recurrent), seeded(Recurrent).double()):
        network = vd.Network(module, prepare=lambda b: torch.as_tensor(np.array(b)))  # of float64
        contracts.check_gradient_method(gradients.SmoothGrad(4), network, vd.Windows(5), series)
    half = seeded(lambda: nn.Linear(4, 2)).bfloat16()
    assert vd.explain(half, vd.Rows(X), X[0], method=gradients.Gradient()).weights.any()


@pytest.mark.parametrize("name", ["integrated_gradients", "lrp_epsilon", "deconv_net"])
def test_compiled_networks_are_asked_as_they_were(name: str) -> None:
    compiled = torch.compile(seeded(Reader), backend="eager")
    network = vd.Network(compiled, prepare=ids, embedding="_orig_mod.vectors", spans=spans)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch.compile meets in torch
        network([TEXT, "a text"])  # compiled by now
        a, b = (vd.explain(n, vd.Words(), TEXT, method=GRADIENTS[name], target=0) for n in (network, reading()))
    assert bits(a) == bits(b)


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_module_that_squeezes_its_answer(outputs: int) -> None:
    class Squeezed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = dense(4, outputs)

        def forward(self, x: Any) -> Any:
            return self.inner(x).squeeze()

    for method in (gradients.Gradient(), gradients.SmoothGrad(4), gradients.LrpEpsilon()):
        a, b = (vd.explain(m.eval(), vd.Rows(X), X[0], method=method) for m in (Squeezed(), dense(4, outputs)))
        assert bits(a) == bits(b)


def test_answers_are_for_others_and_gradients_of_logits() -> None:
    plain, soft = (vd.Network(convolutional(), answers=answers) for answers in (None, "softmax"))
    a, b = (vd.explain(n, vd.Grid(2, 2), TENSOR, method=gradients.Gradient()) for n in (plain, soft))
    assert bits(a) == bits(b)


def test_the_target_may_be_a_name_or_a_function_of_tensors() -> None:
    module, rows = dense(4, 3), vd.Rows(X)
    one = vd.explain(module, rows, X[0], method=gradients.Gradient(False), target="b", classes=["a", "b", "c"])
    assert (one.target, one.prediction) == ("b", pytest.approx(answer(module, X[0])[1]))

    def margin(outputs: Any) -> Any:
        return torch.log_softmax(outputs, dim=1)[:, 1]

    why = vd.explain(module, rows, X[0], method=gradients.Gradient(False), target=margin)
    assert why.target == "margin"
    assert why.prediction == pytest.approx(float(margin(torch.as_tensor(answer(module, X[0])[None]))[0]))
    two = vd.explain(
        module, rows, X[0], method=gradients.IntegratedGradients(), target=[0, lambda y: y[:, 1] - y[:, 0]]
    )
    assert len(two) == 2
    top = vd.explain(module, rows, X[0], method=gradients.Gradient())
    assert top.target == int(answer(module, X[0]).argmax())


def test_the_map_has_the_layout_of_the_instance() -> None:
    module = convolutional()
    first = vd.explain(module, vd.Grid(3, 3), TENSOR, method=gradients.Gradient(), target=0)
    last = vd.explain(looking(), vd.Grid(3, 3), PICTURE, method=gradients.Gradient(), target=0)
    np.testing.assert_allclose(first.map, last.map.transpose(2, 0, 1), rtol=1e-5)
    np.testing.assert_allclose(first.weights, last.weights, rtol=1e-5)
    gray = seeded(lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(200, 1)))
    network = vd.Network(gray, prepare=lambda b: torch.as_tensor(np.array(b), dtype=torch.float32)[:, None])
    why = vd.explain(network, vd.Grid(3, 3), PICTURE[..., 0] / 255, method=gradients.Gradient())
    assert why.map.shape == (12, 12)
    steps = seeded(lambda: nn.Sequential(nn.Conv1d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(54, 1)))
    across = vd.Network(steps, prepare=lambda b: torch.as_tensor(np.array(b), dtype=torch.float32).mT)
    why = vd.explain(across, vd.Windows(5), RNG.normal(size=(20, 2)), method=gradients.GuidedBackprop())
    assert why.map.shape == (20, 2)


def test_the_layout_is_found_without_a_look_at_memory_that_nobody_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold anything: sums of that overflow now and then."""
    module = nn.Sequential(nn.Flatten(), line(RNG.normal(size=12))).eval()
    network = vd.Network(module, prepare=lambda b: torch.as_tensor(b)[:, None])
    monkeypatch.setattr(np, "empty", lambda shape, *_, **__: np.full(shape, 1e308))
    move = find_layout(network, np.zeros((1, 3, 4)), torch.zeros(1, 1, 3, 4))
    assert move(np.ones((2, 1, 3, 4))).shape == (2, 3, 4)


def test_squares_are_turned_as_they_were_prepared() -> None:
    """A series of as many channels as steps, channels first or as it is, on another scale."""
    module, series = nn.Sequential(nn.Flatten(), line(RNG.normal(size=64))).eval(), RNG.normal(size=(8, 8))
    slopes = module[1].weight.detach().numpy().reshape(8, 8)
    for turned in (False, True):
        network = vd.Network(
            module, prepare=lambda b, t=turned: torch.as_tensor(3 - 2 * (b.swapaxes(1, 2) if t else b))
        )
        why = vd.explain(network, vd.Windows(4), series, method=gradients.Gradient(False))
        np.testing.assert_allclose(why.map, slopes.T if turned else slopes)


def test_columns_that_prepare_moves_are_pointed_out() -> None:
    """As a ColumnTransformer does, which puts numbers before categories; any two columns are told apart."""
    mixed = FRAME.assign(city=RNG.choice(["a", "b", "c"], len(X)))[["age", "city", "dose", "mass"]]

    def prepared(table: Any, order: list[str]) -> Any:
        codes = table.assign(city=table["city"].map({"a": 0.0, "b": 1.0, "c": 2.0}))
        return torch.as_tensor(codes[order].to_numpy(dtype=float))

    def explained(order: list[str]) -> Any:
        network = vd.Network(line(SLOPES), prepare=lambda table: prepared(table, order))
        return vd.explain(network, vd.Rows(mixed), mixed.iloc[0], method=gradients.Gradient(False))

    assert not explained([*mixed]).notes
    assert "number 1 of the network's input" in explained(["age", "dose", "mass", "city"]).notes[0]
    for i, j in ((0, 1), (1, 6), (4, 5), (3, 7)):
        order = np.arange(8)
        order[[i, j]] = j, i
        wide, rows = RNG.normal(size=(40, 8)), line(RNG.normal(size=8))
        for table in (wide, csr_matrix(wide)):
            for way in (order, np.arange(8)):
                network = vd.Network(rows, prepare=lambda b, way=way: torch.as_tensor(dense_of(b)[:, way] / 3))
                notes = vd.explain(network, vd.Rows(table), table[0], method=gradients.Gradient()).notes
                assert ["prepare moves them" in note for note in notes] == [True] * (way is order)


def dense_of(table: Any) -> Any:
    return table.toarray() if hasattr(table, "toarray") else np.asarray(table)


def test_columns_that_prepare_mixes_are_not_moved() -> None:
    """Rows of length 1, say: every column changes with the others, and with itself."""
    network = vd.Network(dense(), prepare=lambda b: torch.nn.functional.normalize(torch.as_tensor(b)))
    assert not vd.explain(network, vd.Rows(X), X[0], method=gradients.Gradient()).notes


def test_a_token_is_shared_by_its_characters() -> None:
    network, base = reading(), gradients.IntegratedGradients("a")
    why = vd.explain(network, vd.Words(), TEXT, method=gradients.InputXGradient(), target=0)
    tokens = gradients.InputXGradient().maps(network, ids([TEXT]), 0, 0).values[0]
    for value, (start, stop) in zip(tokens, spans(TEXT), strict=True):
        np.testing.assert_allclose(why.map[start:stop], value / max(stop - start, 1), rtol=1e-6)
    good = [value for value, (a, b) in zip(tokens, spans(TEXT), strict=True) if TEXT[a:b] == "good"]
    assert dict(zip(why.names, why.weights, strict=True))["good"] == pytest.approx(sum(good))
    assert (
        "outside the parts"
        in vd.explain(network, vd.Words(), TEXT, method=gradients.IntegratedGradients()).notes[-1]
    )
    assert vd.explain(network, vd.Sentences(split=","), TEXT, method=base).weights.shape == (2,)


def test_baselines() -> None:
    network, grid = vd.Network(convolutional()), vd.Grid(3, 3, fill=vd.fills.Constant(0.5))
    number = vd.explain(network, grid, TENSOR, method=gradients.IntegratedGradients(0.5), target=0)
    for baseline in ("removed", torch.full_like(TENSOR, 0.5), np.full((3, 12, 12), 0.5)):
        same = vd.explain(network, grid, TENSOR, method=gradients.IntegratedGradients(baseline), target=0)
        np.testing.assert_allclose(same.weights, number.weights, rtol=1e-5, atol=1e-8)
    row = vd.explain(dense(), vd.Rows(FRAME), FRAME.iloc[0], method=gradients.IntegratedGradients(FRAME.iloc[1]))
    assert row.intercept == pytest.approx(answer(dense(), X[1])[row.target])
    text = vd.explain(reading(), vd.Words(), TEXT, method=gradients.IntegratedGradients("removed"))
    assert text.intercept != text.prediction
    sparse, blank = csr_matrix(X), csr_matrix((1, 4))
    zero = vd.explain(dense(), vd.Rows(sparse), sparse[0], method=gradients.IntegratedGradients(0.0))
    empty = vd.explain(dense(), vd.Rows(sparse), sparse[0], method=gradients.IntegratedGradients(blank))
    np.testing.assert_array_equal(empty.weights, zero.weights)
    long = ["good bad", f"{TEXT} and more"]  # texts are prepared together, whatever they come in
    a, *others = (
        vd.explain(reading(), vd.Words(), TEXT, method=gradients.ExpectedGradients(some, n_draws=4))
        for some in (long, tuple(long), np.array(long), pd.Series(long))
    )
    assert all(bits(a) == bits(b) for b in others)
    for some in (X, FRAME, [*X], csr_matrix(X)):  # more than are drawn
        drawn = vd.explain(
            dense(), vd.Rows(FRAME), FRAME.iloc[0], method=gradients.ExpectedGradients(some, n_draws=20)
        )
        assert drawn.n_calls == 1 + 2 * 20
    own = vd.explain(network, grid, TENSOR, method=gradients.ExpectedGradients(n_draws=400), target=0)
    np.testing.assert_allclose(own.weights, number.weights, atol=0.02)


def test_rectifiers_of_every_kind() -> None:
    """Modules, functions and methods, in place or not, used twice, with residuals: the same rule for all."""

    class Net(nn.Module):
        def __init__(self, kind: str) -> None:
            super().__init__()
            self.first, self.second, self.top = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 2)
            self.shared, self.kind = nn.ReLU(inplace=kind == "in place"), kind

        def rectify(self, x: Any) -> Any:
            known = {
                "function": torch.relu,
                "method": lambda x: x.relu(),
                "method in place": lambda x: x.relu_(),
                "functional": nn.functional.relu,
                "clamp": lambda x: x.clamp(min=0),
                "clamp in place": lambda x: x.clamp_(min=0),
                "clip": lambda x: torch.clip(x, 0),
                "least in place": lambda x: x.clamp_min_(0),
                "threshold": lambda x: nn.functional.threshold(x, 0, 0),
            }
            return known.get(self.kind, self.shared)(x)

        def forward(self, x: Any) -> Any:
            hidden = self.rectify(self.first(x))
            return self.top(self.rectify(self.second(hidden) + hidden))

    kinds = ("module", "in place", "function", "method", "method in place", "functional", "clamp")
    kinds += ("clamp in place", "clip", "least in place", "threshold")
    for method in (gradients.GuidedBackprop(), gradients.DeconvNet()):
        wanted = None
        for kind in kinds:
            module = seeded(lambda kind=kind: Net(kind).double())
            before = contracts.state_of(module)
            found = method.maps(vd.Network(module), torch.as_tensor(X[:8]), None, 0).values
            wanted = found if wanted is None else wanted
            np.testing.assert_allclose(found, wanted, atol=1e-12)
            assert contracts.state_of(module) == before
        plain = gradients.Gradient(False).maps(vd.Network(module), torch.as_tensor(X[:8]), None, 0).values
        assert np.abs(plain - wanted).max() > 1e-3
    six = nn.Sequential(nn.Linear(4, 6), nn.ReLU6(), nn.Linear(6, 1)).double().eval()
    assert gradients.GuidedBackprop().maps(vd.Network(six), torch.as_tensor(X[:3]), None, 0).values.shape == (
        3,
        4,
    )


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    "method", [gradients.GuidedBackprop(), gradients.DeconvNet()], ids=["guided", "deconvolved"]
)
def test_rectifiers_that_cannot_be_seen_are_not_passed_by_the_gradient(method: Any) -> None:
    hidden = torch.jit.script(nn.Sequential(nn.Linear(4, 6), nn.ReLU()).double())
    module = nn.Sequential(hidden, nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 1)).double().eval()
    check(
        lambda: vd.explain(module, vd.Rows(X), X[0], method=method), vd.errors.InputError, "cannot see", "scripted"
    )


@pytest.mark.parametrize("name", NAMES)
def test_networks_of_several_devices(name: str) -> None:
    method = gradient_method(name, X)
    alone, spread = (vd.explain(m, vd.Rows(X), X[0], method=method) for m in (dense(), nn.DataParallel(dense())))
    assert bits(alone) == bits(spread)


def test_a_module_that_changes_its_inputs_is_harmless() -> None:
    module = nn.Sequential(nn.ReLU(inplace=True), line(SLOPES)).eval()
    x = torch.as_tensor(X[:2].copy())
    found = gradients.InputXGradient().maps(vd.Network(module), x, None, 0).values
    np.testing.assert_allclose(found, np.where(X[:2] > 0, X[:2] * SLOPES, 0.0))
    np.testing.assert_array_equal(x.numpy(), X[:2])
    vd.Network(module)(x)
    np.testing.assert_array_equal(x.numpy(), X[:2])


def test_probabilities_are_pointed_out() -> None:
    soft = nn.Sequential(dense(), nn.Softmax(dim=1)).eval()
    assert "logits" in vd.explain(soft, vd.Rows(X), X[0], method=gradients.Gradient()).notes[-1]
    single = nn.Sequential(dense(outputs=1), nn.Sigmoid()).eval()
    assert "logits" in vd.explain(single, vd.Rows(X), X[0], method=gradients.Gradient()).notes[-1]
    assert not vd.explain(dense(), vd.Rows(X), X[0], method=gradients.Gradient()).notes
    assert "randomize" in vd.explain(dense(), vd.Rows(X), X[0], method=gradients.GuidedBackprop()).verdict.advice


def test_evaluating_gradients_beside_lime() -> None:
    report = vd.evaluate(
        dense(), vd.Rows(X), X[:10], metrics=["deletion", "seeds", "size"],
        methods=[gradients.Gradient(), gradients.IntegratedGradients(n_steps=8), vd.Lime(n_samples=64)],
    )  # fmt: skip
    assert report.score("deletion", "Gradient").n == 10


# Bad input -----------------------------------------------------------------------------------------------------

ROWS = vd.Rows(X)


def explain(module: Any, method: Any = None, **more: Any) -> Any:
    return vd.explain(module, ROWS, X[0], method=method or gradients.Gradient(), **more)


def training(*layers: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 4), *layers, nn.Linear(4, 2)).double().train()


class Odd(nn.Module):
    """A module that answers as the function says."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer, self.scale = answer, nn.Parameter(torch.ones(1, dtype=torch.double))
        self.eval()

    def forward(self, x: Any) -> Any:
        return self.answer(x)


def words(text: str) -> list[tuple[int, int]]:
    return [(0, 999)]


BAD: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "no gradients": (
        lambda: explain(lambda X: X[:, 0]),
        ("Gradient needs gradients", "vd.Network(module", "vd.Lime", "vd.Occlusion"),
    ),
    "batch norm": (lambda: explain(training(nn.BatchNorm1d(4))), ("training mode", "BatchNorm1d (1)", ".eval()")),
    "dropout": (lambda: explain(training(nn.Dropout(0.5))), ("training mode", "Dropout", ".eval()")),
    "dropout, predict alone": (lambda: vd.explain(training(nn.Dropout()), ROWS, X[0]), (".eval()",)),
    "dropout by a function": (
        lambda: explain(Odd(lambda x: nn.functional.dropout(x, training=True)).train()),
        ("training mode", "chance", ".eval()"),
    ),
    "dropout by a function, predict alone": (
        lambda: vd.explain(Odd(lambda x: nn.functional.dropout(x, training=True)).train(), ROWS, X[0]),
        ("chance", ".eval()"),
    ),
    "statistics of a batch": (
        lambda: explain(training(nn.BatchNorm1d(4, track_running_stats=False)).eval()),
        ("BatchNorm1d (1)", "others of its batch"),
    ),
    "no ReLU": (lambda: explain(line(SLOPES), gradients.GuidedBackprop()), ("no ReLU", "gradients.Gradient()")),
    "no ReLU, deconvolution": (lambda: explain(nn.Tanh(), gradients.DeconvNet(), target=0), ("no ReLU",)),
    "nothing to differentiate": (lambda: explain(Odd(lambda x: x.detach()[:, 0])), ("differentiated", "detach()")),
    "not a number": (lambda: explain(Odd(lambda x: x[:, 0] * float("nan"))), ("NaN",)),
    "slope not a number": (lambda: explain(Odd(lambda x: (x - x.detach()).sqrt()), target=0), ("gradient is",)),
    "a module that fails": (
        lambda: vd.explain(convolutional(), vd.Grid(2, 2), PICTURE, method=gradients.Gradient()),
        ("RuntimeError", "(1, 12, 12, 3)", "prepare="),
    ),
    "several answers": (lambda: explain(Odd(lambda x: (x, x))), ("tuple", "logits alone")),
    "a picture as answer": (lambda: explain(Odd(lambda x: x[..., None])), ("shape (1, 4, 1)", "one row")),
    "not a module": (lambda: vd.Network(len), ("torch.nn.Module",)),
    "prepare": (lambda: vd.Network(dense(), prepare=3), ("prepare wants a function",)),
    "prepared to no tensor": (lambda: explain(vd.Network(dense(), prepare=np.asarray)), ("prepare", "tensor")),
    "prepared to two tensors": (
        lambda: explain(vd.Network(dense(), prepare=lambda b: (b, b))), ("tuple", "single tensor"),
    ),
    "prepare fails": (
        lambda: explain(vd.Network(dense(), prepare=lambda b: b.wrong)),
        ("prepare failed with AttributeError", "ndarray of shape (1, 4)"),
    ),
    "prepare loses instances": (
        lambda: explain(
            vd.Network(dense(), prepare=lambda b: torch.as_tensor(b[:1])),
            gradients.ExpectedGradients(X, n_draws=80),
        ),
        ("shape (1, 4)", "60 instances"),
    ),
    "prepare loses the batch": (
        lambda: explain(vd.Network(dense(), prepare=lambda b: torch.as_tensor(b[0]))), ("shape (4,)", "one row"),
    ),
    "answers": (lambda: vd.Network(dense(), answers="tanh"), ("softmax", "tanh")),
    "answers of NumPy": (
        lambda: vd.Network(dense(), answers=lambda y: y.numpy())(X[:3]), ("answers made ndarray", "(3, 2)"),
    ),
    "answers of a number": (
        lambda: vd.Network(dense(), answers=lambda y: y.sum())(X[:3]), ("shape ()", "one row"),
    ),
    "softmax of one": (
        lambda: vd.Network(dense(outputs=1), answers="softmax")(X[:2]),
        ("one output", 'answers="sigmoid"'),
    ),
    "embedding": (lambda: vd.Network(seeded(Reader), embedding="wrong"), ("'wrong'", "vectors")),
    "token ids": (
        lambda: vd.explain(vd.Network(seeded(Reader), prepare=ids), vd.Words(), TEXT, method=gradients.Gradient()),
        ("torch.int64", "embedding="),
    ),
    "no spans": (
        lambda: vd.explain(
            vd.Network(seeded(Reader), prepare=ids, embedding="vectors"),
            vd.Words(),
            TEXT,
            method=gradients.Gradient(),
        ),
        ("spans=",),
    ),
    "spans of another text": (
        lambda: vd.explain(
            vd.Network(seeded(Reader), prepare=ids, embedding="vectors", spans=words),
            vd.Words(), TEXT, method=gradients.Gradient(),
        ),
        ("from 0 to 999", "43 characters"),
    ),
    "texts without prepare": (
        lambda: vd.explain(seeded(Reader), vd.Words(), TEXT, method=gradients.Gradient()),
        ("prepare=",),
    ),
    "resized": (
        lambda: vd.explain(
            vd.Network(nn.Flatten(), prepare=lambda b: b[:, :, ::2, ::2].float()),
            vd.Grid(2, 2), TENSOR, method=gradients.Gradient(),
        ),
        ("(3, 6, 6)", "(3, 12, 12)", "resize"),
    ),
    "parts that overlap": (
        lambda: vd.explain(
            line(np.ones(64)), vd.Windows(4, cut=vd.Bands()), RNG.normal(size=64), method=gradients.Gradient()
        ),
        ("over each other",),
    ),
    "fields": (
        lambda: vd.explain(
            line(SLOPES), vd.Fields({"row": vd.Rows(X)}), {"row": X[0]}, method=gradients.Gradient()
        ),
        ("where they lie",),
    ),
    "weights of another picture": (lambda: vd.Grid(2, 2)(PICTURE).paint(np.ones(6)), ("4 parts", "(6,)")),
    "weights of another text": (lambda: vd.Words()("a good film").paint(np.ones(2)), ("3 parts", "(2,)")),
    "weights of another row": (lambda: ROWS(X[0]).paint(np.ones(3)), ("4 parts", "(3,)")),
    "weights of another sparse row": (
        lambda: vd.Rows(csr_matrix(X))(csr_matrix(X)[0]).paint(np.ones(5)), ("4 parts", "(5,)"),
    ),
    "a map that is none": (lambda: vd.Grid(2, 2)(PICTURE).gather("map"), ("a map", "str")),
    "a map of NaN": (lambda: vd.Grid(2, 2)(PICTURE).gather(np.full((12, 12), np.nan)), ("a map", "NaN")),
    "target out of range": (lambda: explain(dense(), target=7), ("no output 7",)),
    "targets out of range": (
        lambda: gradients.Gradient().maps(vd.Network(dense()), torch.as_tensor(X), 2, 0),
        ("from 0 to 1",),
    ),
    "targets by name": (
        lambda: gradients.Gradient().maps(vd.Network(dense()), torch.as_tensor(X), "second", 0),
        ("whole numbers", "second"),
    ),
    "maps of a function": (lambda: gradients.Gradient().maps(len, X, 0), ("needs gradients", "vd.Lime")),
    "maps of a seed": (lambda: gradients.SmoothGrad().maps(dense(), X, 0, "seed"), ("rng must be",)),
    "too few targets": (
        lambda: gradients.Gradient().maps(vd.Network(dense()), torch.as_tensor(X), [0, 1], 0),
        ("one per input (60)",),
    ),
    "target of NumPy": (
        lambda: explain(dense(), target=lambda y: np.log(y.numpy(force=False)[:, 0])),
        ("torch operations",),
    ),
    "target of two": (lambda: explain(dense(), target=lambda y: y), ("one number per row",)),
    "no inputs": (lambda: gradients.Gradient().maps(vd.Network(dense()), torch.zeros(0, 4), 0, 0), ("no inputs",)),
    "draws": (lambda: gradients.SmoothGrad(n_draws=1), ("n_draws", "at least 2")),
    "noise": (lambda: gradients.SmoothGrad(noise=-1), ("noise",)),
    "square": (lambda: gradients.SmoothGradSquared(square="both"), ("before", "after")),
    "absolute": (lambda: gradients.Gradient(absolute=2), ("absolute",)),
    "steps": (lambda: gradients.IntegratedGradients(n_steps=0), ("n_steps",)),
    "rule": (lambda: gradients.IntegratedGradients(rule="left"), ("midpoint", "left")),
    "baseline": (lambda: gradients.IntegratedGradients(None), ("baseline",)),
    "baseline not a number": (lambda: gradients.IntegratedGradients(float("nan")), ("baseline",)),
    "removed from a table": (
        lambda: explain(dense(), gradients.IntegratedGradients("removed")),
        ("drawn anew", "ExpectedGradients"),
    ),
    "removed from maps": (
        lambda: gradients.IntegratedGradients("removed").maps(vd.Network(dense()), torch.as_tensor(X), 0, 0),
        ("removed",),
    ),
    "baseline of another shape": (
        lambda: explain(dense(), gradients.IntegratedGradients(np.zeros(3))),
        ("shape (3,)", "(4,)"),
    ),
    "background of one text": (lambda: gradients.ExpectedGradients("a text"), ("batch of instances",)),
    "background of maps": (
        lambda: gradients.ExpectedGradients().maps(vd.Network(dense()), torch.as_tensor(X), 0, 0),
        ("background=",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_says_what_to_do(name: str) -> None:
    call, said = BAD[name]
    check(call, vd.VeridicalError, *said)


def test_a_target_that_fails_is_said_once() -> None:
    message = check(
        lambda: explain(dense(), target=lambda y: y.max(dim=1)), vd.errors.InputError, "AttributeError"
    )
    assert message.count("the target function failed") == 1


def test_the_error_names_the_methods_that_need_only_predict() -> None:
    message = check(lambda: explain(len), vd.errors.InputError)
    others = [m.__name__ for name, m in METHODS.items() if name not in (*NAMES, "random_parts")]
    assert all(f".{name}" in message for name in others)
    assert set(NAMES) == {name for name, m in METHODS.items() if issubclass(m, GradientMethod)}


class OneHot(nn.Module):
    """Vectors of tokens without a parameter."""

    def forward(self, ids: Any) -> Any:
        return nn.functional.one_hot(ids, 64).double()


class Hot(Reader):
    def __init__(self) -> None:
        super().__init__()
        self.vectors, self.hidden = OneHot(), nn.Linear(64, 8)


def test_an_embedding_needs_no_parameters() -> None:
    module = seeded(Hot).double()
    network = vd.Network(module, prepare=ids, embedding="vectors", spans=spans)
    vectors = nn.functional.one_hot(ids([TEXT]), 64).double().requires_grad_()
    module.top(torch.relu(module.hidden(vectors.mean(dim=1))))[:, 1].sum().backward()
    found = gradients.Gradient(False).maps(network, ids([TEXT]), 1).values
    np.testing.assert_allclose(found, vectors.grad.sum(dim=-1).numpy())


def test_an_embedding_gives_a_vector_a_token() -> None:
    class Bag(Reader):
        def __init__(self) -> None:
            super().__init__()
            self.vectors = nn.EmbeddingBag(64, 6)

        def forward(self, ids: Any) -> Any:
            return self.top(self.hidden(self.vectors(ids)))

    network = vd.Network(seeded(Bag), prepare=ids, embedding="vectors", spans=spans)
    said = ("'vectors'", "(1, 6)", "one vector per token")
    check(lambda: vd.explain(network, vd.Words(), TEXT, method=gradients.Gradient()), vd.errors.InputError, *said)


def test_an_embedding_that_is_used_twice_is_refused() -> None:
    class Twice(Reader):
        def forward(self, ids: Any) -> Any:
            return super().forward(ids) + super().forward(ids)

    network = vd.Network(seeded(Twice), prepare=ids, embedding="vectors", spans=spans)
    check(
        lambda: vd.explain(network, vd.Words(), TEXT, method=gradients.Gradient()),
        vd.errors.InputError,
        "more than once",
    )
    assert not network.module.vectors._forward_hooks


@pytest.mark.parametrize("name", ["lrp_epsilon", "lrp_preset_a_flat", "pattern_net", "guided_backprop"])
def test_nothing_stays_in_memory(name: str) -> None:
    """A graph that holds itself is never freed, which on an accelerator is soon the end."""
    layers = (nn.Conv2d(3, 4, 3), nn.ReLU6(inplace=True), nn.Flatten(), nn.Linear(144, 2))
    network, x = vd.Network(nn.Sequential(*layers).eval()), torch.randn(12, 3, 8, 8)
    method = METHODS[name](x) if name == "pattern_net" else METHODS[name]()

    def held() -> int:
        method.maps(network, x, 0)
        gc.collect()
        return sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())

    assert held() == held()


def test_the_verdict_says_what_was_not_measured() -> None:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    found = {
        type(method): vd.explain(nn.Sequential(*layers).eval(), vd.Grid(2, 2), torch.rand(3, 8, 8), method=method)
        for method in (gradients.InputXGradient(), gradients.GuidedBackprop())
    }
    plain, guided = (found[kind].verdict for kind in (gradients.InputXGradient, gradients.GuidedBackprop))
    assert plain.label == "unchecked"
    assert plain.sentence.endswith("; how well that fits was not measured.")
    assert guided.label == "unreliable"
    assert guided.sentence.startswith("By this method a network whose upper layers are random gives much the same")
