"""Patterns: the signal told from what disturbs it, the paper's estimator written slowly, and what is kept."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.networks import patterns as kept
from veridical.networks.derivatives import OutputGradients
from veridical.networks.lrp import Rules, apply_rules
from veridical.networks.patterns import learn_patterns

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn

RNG = np.random.default_rng(0)


def network(*layers: Any) -> vd.Network:
    torch.manual_seed(0)
    return vd.Network(nn.Sequential(*layers).double().eval())


def signal() -> tuple[vd.Network, Any]:
    """x = s (1, 0) + n (1, 1), and a network that knows s = x₁ − x₂."""
    s, n = RNG.normal(size=(2, 4000))
    s, n = s - s.mean(), n - n.mean()
    n -= s * (s @ n) / (s @ s)  # independent in this very sample
    module = nn.Linear(2, 1, bias=False).double()
    module.weight.data = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    return vd.Network(module), np.stack([s + n, n], axis=1)


def test_the_signal_is_told_from_what_disturbs_it() -> None:
    net, data = signal()
    x = data[:3]
    np.testing.assert_allclose(
        vd.gradients.Gradient(absolute=False).maps(net, x, 0).values, np.tile([1.0, -1.0], (3, 1))
    )
    np.testing.assert_allclose(learn_patterns(net, data, "test")[0], [[1.0, 0.0]], atol=1e-9)
    for method in (vd.gradients.PatternNet(data), vd.gradients.PatternAttribution(data)):
        np.testing.assert_allclose(method.maps(net, x, 0).values, np.tile([1.0, 0.0], (3, 1)), atol=1e-9)


def slow_pattern(w: Any, b: Any, patches: Any, gated: bool) -> Any:
    """a = (E₊[x y] − E₊[x] E[y]) / w·(…), y = w·x, E₊ over the samples where the unit fires."""
    y = patches @ w
    fires = y + b > 0 if gated else np.ones(len(y), bool)
    if not fires.any():
        return np.zeros(len(w))
    top = (patches * y[:, None])[fires].mean(axis=0) - patches[fires].mean(axis=0) * y.mean()
    return top / (w @ top)


def test_dense_patterns_as_in_the_paper() -> None:
    net = network(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    data = RNG.normal(size=(200, 4)) @ RNG.normal(size=(4, 4))
    first, last = learn_patterns(net, data, "test")
    w, b = (p.detach().numpy() for p in net.module[0].parameters())
    hidden = np.maximum(data @ w.T + b, 0)
    for j in range(5):
        np.testing.assert_allclose(first[j], slow_pattern(w[j], b[j], data, True), rtol=1e-6)
    w, b = (p.detach().numpy() for p in net.module[2].parameters())
    for j in range(2):
        np.testing.assert_allclose(last[j], slow_pattern(w[j], b[j], hidden, False), rtol=1e-6)


def test_patterns_of_patches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A convolution is a unit that sees every patch; batch norm is folded in; batches are summed."""
    monkeypatch.setattr(kept, "MAX_NUMBERS_PER_BATCH", 7 * 2 * 25)
    net = network(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(75, 2))
    norm = net.module[1]
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2.0)
    nn.init.normal_(norm.weight)
    data = torch.as_tensor(RNG.normal(size=(30, 2, 5, 5)))
    found = learn_patterns(net, data, "test")[0]
    scale = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach()
    w = (net.module[0].weight * scale[:, None, None, None]).detach().flatten(1).numpy()
    b = ((net.module[0].bias - norm.running_mean) * scale + norm.bias).detach().numpy()
    patches = nn.functional.unfold(data, 3, padding=1).transpose(1, 2).flatten(0, 1).numpy()
    for j in range(3):
        np.testing.assert_allclose(found[j].flatten(), slow_pattern(w[j], b[j], patches, True), rtol=1e-6)


def test_maps_as_in_the_paper() -> None:
    """A gradient by hand, with patterns in place of weights and ReLU's own gates."""
    net = network(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    data = RNG.normal(size=(200, 4))
    first, last = (p.numpy() for p in learn_patterns(net, data, "test"))
    weights = [net.module[i].weight.detach().numpy() for i in (0, 2)]
    with torch.no_grad():
        gates = (net.module[0](torch.as_tensor(data[:3])) > 0).numpy()
    for method, (a, b) in (
        (vd.gradients.PatternNet(data), (first, last)),
        (vd.gradients.PatternAttribution(data), (first * weights[0], last * weights[1])),
    ):
        wanted = (gates * b[1]) @ a
        found = method.maps(net, data[:3], 1).values
        np.testing.assert_allclose(found, wanted / np.abs(wanted).max(axis=1, keepdims=True), rtol=1e-9)


def test_a_unit_that_never_fires_has_no_pattern() -> None:
    net = network(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    net.module[0].bias.data[2] = -100.0
    first, _ = learn_patterns(net, RNG.normal(size=(50, 4)), "test")
    assert not first[2].any()
    assert first[[0, 1, 3, 4]].all()


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.a, self.b, self.head = (nn.Linear(6, 6) for _ in range(4))

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.stem(x))
        x = x + torch.relu(self.b(torch.relu(self.a(x))))
        return self.head(x)


def test_scaling_at_bottlenecks_changes_no_map() -> None:
    """Only where all ways meet: elsewhere it would tilt one branch against the other."""
    torch.manual_seed(1)
    net, data = vd.Network(Branches().double()), RNG.normal(size=(100, 6))
    learned = learn_patterns(net, data, "test")
    slopes = OutputGradients(net, torch.as_tensor(data), lambda outputs, own: outputs[:, 0])
    rules = Rules("test", lambda layer, message: layer.through(learned[layer.number], message))
    plain = apply_rules(slopes, rules)(torch.as_tensor(data[:5, None]), torch.arange(5))[:, 0].numpy()
    found = vd.gradients.PatternNet(data).maps(net, data[:5], 0).values
    np.testing.assert_allclose(found, plain / np.abs(plain).max(axis=1, keepdims=True), rtol=1e-9)


def test_deep_networks_stay_finite() -> None:
    """Two hundred layers whose patterns each make messages ten times larger."""
    layers = [part for _ in range(200) for part in (nn.Linear(4, 4, bias=False), nn.ReLU())]
    net = vd.Network(nn.Sequential(*layers, nn.Linear(4, 1)).eval())
    for p in net.module.parameters():
        p.data = torch.full_like(p, 0.25) + 0.01 * torch.eye(*p.shape) if p.dim() == 2 else p.data
    data = RNG.random(size=(30, 4)).astype(np.float32) ** 8
    found = vd.gradients.PatternNet(data).maps(net, data[:3], 0).values
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.abs(found).max(axis=1), 1.0)


class Counted(nn.Module):
    def __init__(self, net: vd.Network) -> None:
        super().__init__()
        self.inner, self.rows = net.module, 0

    def forward(self, x: Any) -> Any:
        self.rows += len(x)
        return self.inner(x)


def test_patterns_are_learned_once_and_again_when_weights_change() -> None:
    module = Counted(signal()[0])
    data = signal()[1]
    method, net = vd.gradients.PatternNet(data), vd.Network(module)
    first = method.maps(net, data[:2], 0).values
    once = module.rows
    assert once >= 4000
    method.maps(net, data[:2], 0)
    vd.gradients.PatternAttribution(data).maps(vd.Network(module), data[:2], 0)
    assert module.rows < once + 20
    module.inner.weight.data *= torch.tensor([[1.0, 0.5]])  # which no counter of torch's sees
    second = method.maps(net, data[:2], 0).values
    assert module.rows > once + 4000
    assert np.abs(first - second).max() > 0.1


def test_patterns_are_of_inputs_as_they_are_prepared() -> None:
    """Not of those that another network made of the same data for the same module."""
    inner, data = signal()
    module = Counted(inner)
    one, other = (vd.Network(module, prepare=lambda b, s=s: torch.as_tensor(b * [1.0, s])) for s in (1.0, -1.0))
    first = vd.gradients.PatternNet(data).maps(one, data[:2], 0).values
    second = vd.gradients.PatternNet(data).maps(other, data[:2], 0).values
    assert np.abs(first - second).max() > 0.1
    once = module.rows
    for network in (one, other, one):
        vd.gradients.PatternAttribution(data).maps(network, data[:2], 0)
    assert module.rows < once + 20  # either way is remembered
    np.testing.assert_array_equal(vd.gradients.PatternNet(data).maps(one, data[:2], 0).values, first)


def test_a_way_of_preparing_that_holds_the_network_keeps_nothing() -> None:
    gc.collect()
    before, (inner, data) = len(kept._LEARNED), signal()

    def use(module: Any) -> None:
        network = vd.Network(module, prepare=lambda b: torch.as_tensor(b + 0 * module.rows))
        vd.gradients.PatternNet(data).maps(network, data[:2], 0)

    use(Counted(inner))
    gc.collect()
    assert len(kept._LEARNED) == before


def test_nothing_is_kept_of_a_network_that_is_gone() -> None:
    net, data = signal()
    gc.collect()
    before = len(kept._LEARNED)
    vd.gradients.PatternNet(data).maps(net, data[:2], 0)
    assert len(kept._LEARNED) == before + 1
    del net
    gc.collect()
    assert len(kept._LEARNED) == before


def test_tokens_and_parts() -> None:
    class Tokens(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.emb, self.out = nn.Embedding(9, 4), nn.Linear(4, 2)

        def forward(self, ids: Any) -> Any:
            return self.out(self.emb(ids).mean(dim=1))

    ids = RNG.integers(0, 9, size=(40, 5))
    found = vd.gradients.PatternAttribution(ids).maps(vd.Network(Tokens(), embedding="emb"), ids[:2], 0)
    assert found.values.shape == (2, 5)
    net, data = signal()
    why = vd.explain(
        net, vd.Rows(data, discretize=vd.bins.Continuous()), data[0], method=vd.gradients.PatternNet(data)
    )
    np.testing.assert_allclose(why.weights, [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("data", [None, "text", np.zeros((3, 2)), [], 5])
def test_data_are_instances(data: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="learns patterns from data"):
        vd.gradients.PatternNet(data)
