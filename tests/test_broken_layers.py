"""Networks broken layer by layer: gradients notice, guided backpropagation does not (Adebayo et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.ndimage import gaussian_filter
from torch import nn

import veridical as vd
from veridical.debug.cascade import Depths, layer_twins, layers_of, reinitialized

torch.set_num_threads(1)


def pictures(n: int) -> Any:
    noise = np.random.default_rng(0).normal(size=(n, 20, 20, 1))
    return (5 * gaussian_filter(noise, (0, 2, 2, 0))).astype(np.float32)


def channels_first(batch: Any) -> Any:
    return torch.as_tensor(np.stack([np.asarray(x) for x in batch])).permute(0, 3, 1, 2)


def network() -> vd.Network:
    """Untrained: the invariance is a property of the backward rule, not of what was learned."""
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for i, (before, after) in enumerate([(1, 16), (16, 16), (16, 32), (32, 32)]):
        parts += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
        parts += [nn.MaxPool2d(2)] if i % 2 else []
    module = nn.Sequential(*parts, nn.Flatten(), nn.Linear(32 * 25, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
    for part in module.modules():
        if isinstance(part, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(part.weight)
            nn.init.zeros_(part.bias)
    return vd.Network(module, prepare=channels_first)


@pytest.mark.parametrize(
    ("method", "passes"),
    [(vd.Gradient(), True), (vd.InputXGradient(), True), (vd.GuidedBackprop(), False), (vd.DeconvNet(), False)],
    ids=lambda value: type(value).__name__,
)
def test_cascade(method: Any, passes: bool) -> None:
    net, X = network(), pictures(12)
    before = {name: value.clone() for name, value in net.module.state_dict().items()}
    found = vd.debug(net, vd.Grid(4, 4), X, check="randomize", method=method)
    assert found.passed == passes, found.sentence
    names = {m.name for m in found.measures}
    assert {
        "down to 13: likeness left",
        "down to 0: likeness left",
        "only 0: SSIM, signed",
        "down to 0: Spearman, sizes",
    } <= names
    down = next(m for m in found.measures if m.name == "down to 13: Spearman of pixels, signed")
    assert (down.value > 0.6) != passes
    assert set(down.nulls) == {"constant", "noise", "shuffled", "another"}
    assert all((net.module.state_dict()[name] == value).all() for name, value in before.items())
    assert not any(part._forward_pre_hooks or part._forward_hooks for part in net.module.modules())


def test_methods_that_only_predict_take_fewer_steps() -> None:
    found = vd.debug(network(), vd.Grid(3, 3), pictures(10), check="randomize", method=vd.Occlusion())
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {"down to 13", "down to 0"}


class Residual(nn.Module):
    """The layers are defined in another order than they answer in; one has numbers without an initializer."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(6, 2)
        self.first = nn.Linear(5, 6)
        self.norm = nn.BatchNorm1d(6)
        self.scale = nn.Parameter(torch.arange(6.0))

    def forward(self, x: Any) -> Any:
        hidden = self.norm(self.first(x))
        return self.last(hidden + torch.relu(hidden) * self.scale)


def test_layers_are_in_the_order_they_answer_in() -> None:
    net = vd.Network(Residual().eval())
    assert layers_of(net, np.zeros((1, 5))) == ("last", "norm", "first", "")


def test_reinitializing_changes_the_named_layers_alone() -> None:
    torch.manual_seed(1)
    module = Residual().eval()
    module.norm.running_mean += 3.0
    state = torch.random.get_rng_state()
    net = vd.Network(module)
    one, more = reinitialized(net, ["last"], 5), reinitialized(net, ["last", "norm", ""], 5)
    assert (torch.random.get_rng_state() == state).all()
    assert (one.module.last.weight != module.last.weight).all()
    assert (one.module.last.weight == more.module.last.weight).all()  # each step keeps those before it
    assert (one.module.first.weight == module.first.weight).all()
    assert (more.module.norm.running_mean == 0).all()
    assert (module.norm.running_mean == 3).all()
    assert sorted(more.module.scale.tolist()) == sorted(module.scale.tolist())
    assert not more.module.training


def test_a_network_without_layers() -> None:
    X = np.random.default_rng(0).normal(size=(12, 4))
    subject = vd.Subject(nn.Flatten(), vd.Rows(X), X)
    with pytest.raises(vd.NotApplicable, match="no layer"):
        next(layer_twins(subject, Depths(), np.random.SeedSequence(0), 1))
