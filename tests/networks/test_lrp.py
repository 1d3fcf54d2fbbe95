"""Relevance: closed forms, the papers' formulas written slowly, captum, and networks of every build."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.networks.derivatives import OutputGradients
from veridical.networks.lrp import Rules, apply_rules, input_rule, positive_rule

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn

RNG = np.random.default_rng(0)
PICTURES = torch.as_tensor(RNG.normal(size=(3, 2, 10, 10)))
TARGETS = torch.tensor([0, 2, 1])


def made(*layers: Any) -> Any:
    """A network in double precision, its weights and statistics drawn anew and the same each time."""
    module = nn.Sequential(*layers).double().eval()
    rng = torch.Generator().manual_seed(0)
    for name, values in [*module.named_parameters(), *module.named_buffers()]:
        if values.is_floating_point():
            drawn = torch.randn(values.shape, generator=rng, dtype=values.dtype) / max(values[0].numel(), 1) ** 0.5
            values.data.copy_(drawn.abs() + 0.5 if name.endswith("running_var") else drawn)
    return module


def convolutional(bias: bool = False, act: Callable[[], Any] = nn.ReLU, norm: bool = False) -> Any:
    return made(
        nn.Conv2d(2, 6, 3, padding=1, bias=bias), *([nn.BatchNorm2d(6)] if norm else []), act(),
        nn.MaxPool2d(2), nn.Conv2d(6, 6, 3, bias=bias), *([nn.BatchNorm2d(6)] if norm else []), act(),
        nn.AvgPool2d(3), nn.Flatten(), nn.Linear(6, 5, bias=bias), act(), nn.Linear(5, 3, bias=bias),
    )  # fmt: skip


class Residual(nn.Module):
    """Two branches, one of them in place, and a function where a module could be."""

    def __init__(self, bias: bool = False) -> None:
        super().__init__()
        self.stem, self.branch = nn.Conv2d(2, 4, 3, padding=1, bias=bias), nn.Conv2d(4, 4, 3, padding=1, bias=bias)
        self.norm, self.head = nn.BatchNorm2d(4), nn.Linear(4, 3, bias=bias)
        if not bias:
            nn.init.zeros_(self.norm.bias)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        out = self.norm(self.branch(x))
        out += x
        out = nn.functional.relu(out, inplace=True)
        return self.head(out.mean(dim=(2, 3)))


def chosen(module: Any, x: Any) -> Any:
    return module(x)[torch.arange(len(x)), TARGETS[: len(x)]]


def gradients(module: Any, x: Any) -> Any:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(chosen(module, x).sum(), x)[0]


def maps(method: Any, module: Any, x: Any = PICTURES, targets: Any = TARGETS) -> vd.gradients.Maps:
    return method.maps(vd.Network(module), x, targets)


# Closed forms ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "module",
    [convolutional, lambda: Residual().double().eval(), lambda: convolutional(act=lambda: nn.LeakyReLU(0.1))],
    ids=["plain", "residual", "leaky"],
)
def test_without_biases_epsilon_is_input_times_gradient(module: Callable[[], Any]) -> None:
    module = module()
    found = maps(vd.gradients.LrpEpsilon(1e-12), module)
    np.testing.assert_allclose(found.values, (PICTURES * gradients(module, PICTURES)).numpy(), atol=1e-8)
    np.testing.assert_allclose(found.values.sum(axis=(1, 2, 3)), chosen(module, PICTURES).detach(), rtol=1e-6)
    np.testing.assert_allclose(found.residual, 0, atol=1e-7)


def test_what_the_bias_adds_is_nobodys() -> None:
    """F = w·x + b: each value has w × x, and b is missing."""
    linear = made(nn.Linear(4, 1))
    x = torch.as_tensor(RNG.normal(size=(5, 4)))
    found = maps(vd.gradients.LrpEpsilon(1e-12), linear, x, 0)
    np.testing.assert_allclose(found.values, (x * linear[0].weight).detach(), rtol=1e-9)
    np.testing.assert_allclose(found.residual, np.full(5, linear[0].bias.item()), rtol=1e-6)


@pytest.mark.parametrize("act", [nn.ReLU6, nn.SiLU, nn.GELU, nn.Hardswish, nn.Tanh, nn.ELU])
def test_activations_pass_relevance_on(act: Any) -> None:
    """Nothing is lost without biases, whatever the activation, if it is zero at zero."""
    module = convolutional(act=act)
    found = maps(vd.gradients.LrpEpsilon(1e-12), module, 9 * PICTURES)
    np.testing.assert_allclose(found.values.sum(axis=(1, 2, 3)), chosen(module, 9 * PICTURES).detach(), rtol=1e-6)


def test_flat_spreads_evenly() -> None:
    """A layer that says 1 everywhere gives every pixel inside as much as any other, and all of it."""
    module = made(nn.Conv2d(2, 1, 3, padding=1), nn.Flatten(), nn.Linear(100, 1, bias=False))
    with torch.no_grad():
        module[0].bias.fill_(1.0)
        module[2].weight.fill_(1.0)
    found = maps(vd.gradients.LrpPresetAFlat(), module, torch.zeros_like(PICTURES), 0)
    np.testing.assert_allclose(found.values[:, :, 2:-2, 2:-2], 0.5 * 100 / 100.1, rtol=1e-9)
    np.testing.assert_allclose(found.values.sum(axis=(1, 2, 3)), 100 * 100 / 100.1, rtol=1e-9)


@pytest.mark.parametrize(("n_layers", "missing"), [(3, 3.3e-3), (5, 3e-6), (10, 1e-12)])
def test_what_helps_alone_forgets_the_class(n_layers: int, missing: float) -> None:
    """Stacked layers of alpha 1, beta 0 give two classes the same map (Sixt et al. 2020): by how much not."""
    torch.manual_seed(0)
    layers = [part for _ in range(n_layers) for part in (nn.Conv1d(64, 64, 1, bias=False), nn.ReLU())]
    module = nn.Sequential(*layers[:-1], nn.Flatten()).double()
    x = torch.randn(30, 64, 1, dtype=torch.float64)
    rules = Rules("test", positive_rule, input_rule(positive_rule))
    one, other = (
        apply_rules(OutputGradients(vd.Network(module), x, reading), rules)(x[:, None], torch.arange(30))[
            :, 0, :, 0
        ].numpy()
        for reading in (lambda outputs, own: outputs[:, 0], lambda outputs, own: outputs[:, 1])
    )
    cosines = np.abs((one * other).sum(axis=1)) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert missing / 2 < 1 - np.median(cosines) < missing * 2 or n_layers == 10
    assert 1 - np.median(cosines) < missing * 2


# The papers' formulas, slowly --------------------------------------------------------------------------------


def slow_epsilon(x: Any, w: Any, b: Any, relevance: Any, epsilon: float) -> Any:
    """R_i = sum_j x_i w_ji R_j / (z_j + epsilon sign z_j), for one input."""
    found = np.zeros(len(x))
    for j in range(len(w)):
        z = w[j] @ x + b[j]
        for i in range(len(x)):
            found[i] += x[i] * w[j, i] * relevance[j] / (z + epsilon * (1 if z >= 0 else -1))
    return found


def slow_positive(x: Any, w: Any, b: Any, relevance: Any) -> Any:
    """R_i = sum_j (x_i w_ji)+ R_j / (sum_i (x_i w_ji)+ + b_j+), for one input."""
    found = np.zeros(len(x))
    for j in range(len(w)):
        z = sum(max(x[i] * w[j, i], 0) for i in range(len(x))) + max(b[j], 0)
        for i in range(len(x)):
            found[i] += max(x[i] * w[j, i], 0) * relevance[j] / z if z > 0 else 0
    return found


def test_epsilon_as_in_the_paper() -> None:
    module = made(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    (w1, b1), (w2, b2) = ((m.weight.detach().numpy(), m.bias.detach().numpy()) for m in (module[0], module[2]))
    x = RNG.normal(size=(3, 6))
    for one, target, found in zip(x, TARGETS, maps(vd.gradients.LrpEpsilon(0.25), module, x).values, strict=True):
        hidden = np.maximum(w1 @ one + b1, 0)
        start = np.where(np.arange(3) == target.item(), w2 @ hidden + b2, 0.0)
        wanted = slow_epsilon(one, w1, b1, slow_epsilon(hidden, w2, b2, start, 0.25), 0.25)
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_preset_a_flat_as_in_the_paper() -> None:
    """Convolutions of kernel 2 on 4 numbers, written as matrices."""
    module = made(nn.Conv1d(1, 2, 2), nn.SiLU(), nn.Conv1d(2, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 3))
    x = RNG.normal(size=(3, 1, 4))
    pixels, middle = np.eye(4)[:, None], np.eye(6).reshape(6, 2, 3)

    def matrix(layer: Any, basis: Any) -> tuple[Any, Any]:
        with torch.no_grad():
            bias = layer(torch.zeros(1, *basis.shape[1:], dtype=torch.float64)).flatten().numpy()
            return layer(torch.as_tensor(basis)).flatten(1).numpy().T - bias[:, None], bias

    (w1, b1), (w2, b2) = matrix(module[0], pixels), matrix(module[2], middle)
    w3, b3 = module[5].weight.detach().numpy(), module[5].bias.detach().numpy()
    for one, target, found in zip(x, TARGETS, maps(vd.gradients.LrpPresetAFlat(), module, x).values, strict=True):
        first = w1 @ one[0] + b1
        second = first / (1 + np.exp(-first))
        last = np.maximum(w2 @ second + b2, 0)
        start = np.where(np.arange(3) == target.item(), w3 @ last + b3, 0.0)
        relevance = slow_positive(second, w2, b2, slow_epsilon(last, w3, b3, start, 0.1))
        seen = (w1 != 0).astype(float)
        np.testing.assert_allclose(found[0], seen.T @ (relevance / seen.sum(axis=1)), rtol=1e-9)


def test_captum_finds_the_same() -> None:
    """By its epsilon rule everywhere, and by its alpha 1, beta 0 where inputs are positive and biases are none."""
    lrp = pytest.importorskip("captum.attr")
    rules = pytest.importorskip("captum.attr._utils.lrp_rules")
    parts = [nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 3)]
    x = torch.as_tensor(RNG.random(size=(3, 8)), dtype=torch.float64).requires_grad_()
    module = made(*parts)
    ours = maps(vd.gradients.LrpEpsilon(0.1), module, x.detach()).values
    for part in module:
        if isinstance(part, nn.Linear):
            part.rule = rules.EpsilonRule(0.1)
    theirs = lrp.LRP(module).attribute(x, target=TARGETS).detach().numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-12)

    module = made(nn.Conv1d(1, 3, 3), nn.ReLU(), nn.Conv1d(3, 3, 3, bias=False), nn.ReLU(), nn.Flatten())
    module = nn.Sequential(*module, nn.Linear(12, 3)).double()
    inner = vd.gradients.LrpPresetAFlat().maps(vd.Network(module), x.detach()[:, None], TARGETS).values
    hidden = module[1](module[0](x[:, None])).detach().requires_grad_()
    above = module[2:]
    for part, rule in zip(
        above, (rules.Alpha1_Beta0_Rule(), None, rules.EpsilonRule(1e-12), rules.EpsilonRule(0.1)), strict=True
    ):
        if rule is not None:
            part.rule = rule
    relevance = lrp.LRP(above).attribute(hidden, target=TARGETS).detach()
    spread = nn.functional.conv_transpose1d(relevance / 3, torch.ones(3, 1, 3, dtype=torch.float64))
    np.testing.assert_allclose(inner, spread.numpy(), rtol=1e-6, atol=1e-12)


# Networks of every build -------------------------------------------------------------------------------------

LRP = [vd.gradients.LrpEpsilon(), vd.gradients.LrpPresetAFlat()]


@pytest.mark.parametrize("method", LRP, ids=["epsilon", "preset"])
def test_batch_norm_counts_with_the_layer_before(method: Any) -> None:
    module = convolutional(bias=True, norm=True)
    parts = []
    for part in module:
        if isinstance(part, nn.BatchNorm2d):
            scale = part.weight / (part.running_var + part.eps).sqrt()
            before = parts.pop()
            folded = nn.Conv2d(before.in_channels, 6, 3, padding=before.padding).double()
            folded.weight.data = (before.weight * scale[:, None, None, None]).detach()
            folded.bias.data = ((before.bias - part.running_mean) * scale + part.bias).detach()
            part = folded
        parts.append(part)
    plain = nn.Sequential(*parts)
    np.testing.assert_allclose(plain(PICTURES).detach(), module(PICTURES).detach(), rtol=1e-9)
    np.testing.assert_allclose(maps(method, module).values, maps(method, plain).values, atol=1e-9)


@pytest.mark.parametrize("method", LRP, ids=["epsilon", "preset"])
@pytest.mark.parametrize("act", [nn.ReLU, nn.ReLU6, nn.SiLU])
def test_in_place_makes_no_difference(method: Any, act: Any) -> None:
    plain, inplace = convolutional(True, act), convolutional(True, lambda: act(inplace=True))
    np.testing.assert_array_equal(maps(method, inplace).values, maps(method, plain).values)


class Functional(nn.Module):
    """A plain network written in functions, its one ReLU used everywhere."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.first, self.second, self.third, self.last = module[0], module[3], module[7], module[9]
        self.act = nn.ReLU()

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(self.act(self.first(x)), 2)
        x = nn.functional.avg_pool2d(self.act(self.second(x)), 3).view(len(x), -1)
        x = self.act(x @ self.third.weight.T + self.third.bias)
        return self.last(x)


def test_functions_are_as_good_as_modules() -> None:
    plain = convolutional(bias=True)
    found = maps(vd.gradients.LrpPresetAFlat(), Functional(plain)).values
    np.testing.assert_allclose(
        found, maps(vd.gradients.LrpPresetAFlat(), plain).values, rtol=0.02, atol=1e-3
    )  # bias apart
    plain = convolutional(bias=False)
    plain[7].bias = nn.Parameter(torch.zeros(5, dtype=torch.float64))
    found = maps(vd.gradients.LrpPresetAFlat(), Functional(plain)).values
    np.testing.assert_allclose(found, maps(vd.gradients.LrpPresetAFlat(), plain).values, atol=1e-12)


class Scaled(nn.Module):
    """A network that scales its inputs itself."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.register_buffer("mean", torch.tensor([0.3, -0.2]).double().view(2, 1, 1))

    def forward(self, x: Any) -> Any:
        return self.module(((x - self.mean) / 0.7).permute(0, 1, 3, 2).contiguous())


@pytest.mark.parametrize("method", LRP, ids=["epsilon", "preset"])
def test_scaling_inside_leaves_relevance_where_it_is(method: Any) -> None:
    module = convolutional(bias=True)
    scaled = Scaled(module)
    outside = ((PICTURES - scaled.mean) / 0.7).permute(0, 1, 3, 2).contiguous()
    found = maps(method, scaled).values
    np.testing.assert_allclose(
        found, np.swapaxes(maps(method, module, outside).values, 2, 3), rtol=1e-6, atol=1e-12
    )


class Masked(nn.Module):
    """A network that cannot see the left half."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.register_buffer("mask", (torch.arange(10) >= 5).double())

    def forward(self, x: Any) -> Any:
        return self.module(x * self.mask)


@pytest.mark.parametrize(
    "method",
    [
        *LRP,
        vd.gradients.PatternNet(PICTURES.repeat(4, 1, 1, 1)),
        vd.gradients.PatternAttribution(PICTURES.repeat(4, 1, 1, 1)),
    ],
    ids=["epsilon", "preset", "patterns", "attribution"],
)
def test_what_cannot_reach_the_network_has_no_share(method: Any) -> None:
    found = maps(method, Masked(convolutional(bias=True))).values
    assert not found[..., :5].any()
    assert found[..., 5:].any()


class Tokens(nn.Module):
    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.emb, self.out = nn.Embedding(9, width), nn.Linear(width, 2, bias=False)

    def forward(self, ids: Any) -> Any:
        return self.out(self.emb(ids).mean(dim=1))


@pytest.mark.parametrize("method", LRP, ids=["epsilon", "preset"])
@pytest.mark.parametrize("how", ["chunk", "split", "narrow", "select", "unbind"])
def test_a_first_layer_is_one_however_it_gets_its_piece_of_the_input(method: Any, how: str) -> None:
    class Pieces(nn.Module):
        def __init__(self, how: str) -> None:
            super().__init__()
            self.one, self.two, self.top = nn.Conv2d(1, 3, 3), nn.Conv2d(1, 3, 3), nn.Linear(6 * 64, 2)
            self.how = how

        def forward(self, x: Any) -> Any:
            a, b = {
                "index": lambda: (x[:, :1], x[:, 1:]),
                "chunk": lambda: x.chunk(2, 1),
                "split": lambda: x.split(1, dim=1),
                "narrow": lambda: (x.narrow(1, 0, 1), torch.narrow(x, 1, 1, 1)),
                "select": lambda: (x.select(1, 0)[:, None], x.select(1, 1)[:, None]),
                "unbind": lambda: [each[:, None] for each in x.unbind(1)],
            }[self.how]()
            below = torch.cat([torch.relu(self.one(a)), torch.relu(self.two(b))], dim=1)
            return self.top(nn.functional.adaptive_avg_pool2d(below, 8).flatten(1))

    def of(how: str) -> Any:
        torch.manual_seed(0)
        return maps(method, Pieces(how).double().eval(), PICTURES, 0).values

    found = of(how)
    np.testing.assert_allclose(found, of("index"), atol=1e-12)
    assert np.abs(found).max() > 1e-4


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_flat_whatever_lies_around_the_picture(mode: str) -> None:
    """What a first layer sees gets the same relevance in all channels, by its own padding or by one before it."""
    layers = (nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode), nn.ReLU(), nn.Flatten(), nn.Linear(300, 2))
    found = maps(vd.gradients.LrpPresetAFlat(), nn.Sequential(*layers).double().eval(), PICTURES, 0).values
    np.testing.assert_allclose(found[:, 0], found[:, 1], atol=1e-12)
    assert np.abs(found).max() > 1e-6


def test_tokens_share_the_output() -> None:
    """Each has what its own vector adds to the mean."""
    module = Tokens().double()
    ids = torch.tensor([[0, 3, 3], [8, 1, 2]])
    found = vd.gradients.LrpEpsilon(1e-12).maps(vd.Network(module, embedding="emb"), ids, 1)
    wanted = (module.emb(ids) @ module.out.weight[1] / 3).detach()
    np.testing.assert_allclose(found.values, wanted, rtol=1e-8)
    flat = vd.gradients.LrpPresetAFlat().maps(vd.Network(module, embedding="emb"), ids, 1)
    assert flat.values.shape == (2, 3)


def test_preset_runs_on_residuals_and_groups() -> None:
    """What is conserved is: nothing is lost but what epsilon and positive biases take."""
    deep = made(
        nn.Conv2d(2, 4, 3, bias=False), nn.ReLU6(), nn.Conv2d(4, 4, 3, groups=4, bias=False), nn.ReLU6(),
        nn.Conv2d(4, 6, 1, bias=False), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(),
        nn.Linear(6, 3),
    )  # fmt: skip
    for module in (deep, Residual(bias=True).double().eval()):
        found = maps(vd.gradients.LrpPresetAFlat(), module)
        assert np.isfinite(found.values).all()
        assert found.values.any()
    with torch.no_grad():
        hidden = deep[:9](PICTURES)
        weights, z = deep[9].weight[TARGETS], chosen(deep, PICTURES)
        kept = (hidden * weights).sum(dim=1) * z / (z + 0.1 * torch.sign(z))
    np.testing.assert_allclose(
        maps(vd.gradients.LrpPresetAFlat(), deep).values.sum(axis=(1, 2, 3)), kept, rtol=1e-9
    )


def test_parts_get_the_sums() -> None:
    module = convolutional(bias=True)
    why = vd.explain(vd.Network(module), vd.Grid(2, 2), PICTURES[0], method=vd.gradients.LrpEpsilon(), target=1)
    found = maps(vd.gradients.LrpEpsilon(), module, PICTURES[:1], 1)
    quarters = found.values[0].reshape(2, 2, 5, 2, 5).sum(axis=(0, 2, 4)).ravel()
    np.testing.assert_allclose(why.weights, quarters, rtol=1e-9)
    np.testing.assert_allclose(why.map, found.values[0])
    assert any("the output is" in note for note in why.notes)


# What has no rule ----------------------------------------------------------------------------------------------


class Gate(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * x.tanh()


class Doubled(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, slope: Any) -> Any:
        return 2 * slope


class Own(nn.Module):
    def forward(self, x: Any) -> Any:
        return Doubled.apply(x) + 1


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.memory, self.out = nn.LSTM(4, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.out(self.memory(x[:, None])[0][:, -1])


class Attentive(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads, self.out = nn.MultiheadAttention(4, 1, batch_first=True), nn.Linear(4, 2)

    def forward(self, x: Any) -> Any:
        return self.out(self.heads(x[:, None], x[:, None], x[:, None])[0][:, -1])


REFUSED: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "attention": (Attentive, ("MultiheadAttention (heads)", "Gradient")),
    "LSTM": (Recurrent, ("LSTM (memory)", "Lime")),
    "layer norm": (lambda: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), ("LayerNorm (1)",)),
    "a gate": (lambda: nn.Sequential(nn.Linear(4, 4), Gate()), ("mul",)),
    "softmax": (lambda: nn.Sequential(nn.Linear(4, 4), nn.Softmax(1)), ("leave the last softmax out", "logits")),
    "not zero at zero": (lambda: nn.Sequential(nn.Linear(4, 4), nn.Hardtanh(1, 2)), ("not zero at zero",)),
    "a function of its own": (lambda: nn.Sequential(nn.Linear(4, 4), Own()), ("function of its own",)),
    "scripted inside": (
        lambda: nn.Sequential(torch.jit.script(nn.Linear(4, 2)), nn.ReLU()),
        ("cannot see into", "scripted"),
    ),
    "scripted": (lambda: torch.jit.script(nn.Linear(4, 2)), ("scripted",)),
    "input in place": (lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2)), ("in place on the input",)),
    "training": (lambda: nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train(), (".eval()",)),
}


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_named(name: str) -> None:
    make, words = REFUSED[name]
    module = make() if name == "training" else make().eval()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    with pytest.raises(vd.errors.InputError) as caught:
        vd.gradients.LrpEpsilon().maps(vd.Network(module), torch.ones(2, 4), 0)
    for word in words:
        assert word in str(caught.value)
    assert_untouched(module, before)


def assert_untouched(module: Any, before: dict[str, Any]) -> None:
    for key, value in module.state_dict().items():
        assert torch.equal(value, before[key])
    for part in module.modules():
        assert not part._forward_hooks
        assert not part._forward_pre_hooks
        assert not part._backward_hooks
    for parameter in module.parameters():
        assert parameter.requires_grad
        assert parameter.grad is None
        assert type(parameter) is nn.Parameter


@pytest.mark.parametrize(
    "method", [*LRP, vd.gradients.PatternNet(PICTURES.repeat(4, 1, 1, 1))], ids=["epsilon", "preset", "patterns"]
)
def test_the_network_stays_as_it_was(method: Any) -> None:
    module = Residual(bias=True).double().eval()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    kept = dict(module.named_parameters())
    given = PICTURES.clone()
    maps(method, module, given)
    assert_untouched(module, before)
    assert all(kept[name] is parameter for name, parameter in module.named_parameters())
    np.testing.assert_array_equal(given, PICTURES)


def test_many_at_once_leave_it_too() -> None:
    module = convolutional(bias=True)
    kept, network = dict(module.named_parameters()), vd.Network(module)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: vd.gradients.LrpEpsilon().maps(network, PICTURES, TARGETS).values, range(16))
        )
    assert all(kept[name] is parameter for name, parameter in module.named_parameters())
    for each in found:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), "small"])
def test_epsilon_is_positive(epsilon: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="epsilon"):
        vd.gradients.LrpEpsilon(epsilon)
