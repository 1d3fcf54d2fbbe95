"""Concept directions: a planted one is found, an unrelated one is not, and the network stays as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.checks.concepts import _compare_with_random, layer_gradients
from veridical.checks.influence import record_layer

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

D = 24
PLANTED = np.random.default_rng(7).normal(size=D)
PLANTED /= np.linalg.norm(PLANTED)


def planted_network(curved: bool = False) -> Any:
    """One logit: a planted direction of the layer "0", which gives its inputs on; bent, if curved."""
    torch.manual_seed(0)
    last = torch.nn.Linear(D, 2)
    with torch.no_grad():
        last.weight[:] = torch.as_tensor(np.stack([-PLANTED, PLANTED]))
    between = [torch.nn.ReLU(inplace=True), torch.nn.Linear(D, D), torch.nn.Tanh()] if curved else []
    return torch.nn.Sequential(torch.nn.Identity(), *between, last).double()


def rows(rng: np.random.Generator, n: int, along: float = 0.0) -> Any:
    return rng.normal(size=(n, D)) + along * PLANTED


def test_a_planted_direction_has_score_one() -> None:
    rng = np.random.default_rng(0)
    concept = vd.concepts.Concept("planted", rows(rng, 60, 3.0), "0", rows(rng, 200))
    found = vd.tcav(planted_network(), rows(rng, 40), concept=concept, target=1)
    measured = {each.name: each for each in found.measures}
    assert found.observed == 1.0
    assert not found.passed
    assert measured["p, beside random concepts"].value < 0.01
    assert measured["p, t-test of the paper"].value < 0.01
    assert measured["accuracy of the direction"].value > 0.8
    assert found.sentence.startswith("Output 1 rises with 'planted'")
    against = vd.tcav(planted_network(), rows(rng, 40), concept=concept, target=0)
    assert against.observed == 0.0
    assert "falls with" in against.sentence


@pytest.mark.parametrize(("curved", "n"), [(False, 20), (True, 20)])
def test_an_unrelated_direction_is_seldom_significant(curved: bool, n: int) -> None:
    network, ours, paper = vd.Network(planted_network(curved)), 0, 0
    for seed in range(n):
        rng = np.random.default_rng(100 + seed)
        gradients = layer_gradients(network, rows(rng, 30), "0", 1)
        found = _compare_with_random(rows(rng, 30), rows(rng, 150), gradients, n_random=10, rng=rng)
        ours += found.p < 0.05
        paper += found.paper_p < 0.05
    assert ours <= n / 10
    assert paper >= ours  # sets that share the concept's examples are not so many independent draws


def test_gradients_and_activations_of_a_layer() -> None:
    module = planted_network(curved=True)
    x = np.random.default_rng(1).normal(size=(12, D))
    given, made = record_layer(vd.Network(module), x, "2")
    np.testing.assert_allclose(given, np.maximum(x, 0))
    weight, bias = module[2].weight.detach().numpy(), module[2].bias.detach().numpy()
    np.testing.assert_allclose(made, given @ weight.T + bias)
    slopes = layer_gradients(vd.Network(module), x, "2", 1)
    np.testing.assert_allclose(slopes, PLANTED * (1 - np.tanh(made) ** 2))


def test_the_network_stays_as_it_was() -> None:
    module = planted_network(curved=True)
    module[2].weight.requires_grad_(False)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    rng = np.random.default_rng(0)
    concept = vd.concepts.Concept("planted", rows(rng, 20, 3.0), "2", rows(rng, 60))
    vd.tcav(module, rows(rng, 20), concept=concept)

    def fails(outputs: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(vd.errors.InputError, match="target function failed"):
        vd.tcav(module, rows(rng, 20), concept=concept, target=fails)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(p.grad is None for p in module.parameters())
    assert not module[2].weight.requires_grad
    assert not any(part._forward_hooks for part in module.modules())


def test_a_constant_network_has_no_evidence() -> None:
    module = planted_network()
    with torch.no_grad():
        module[-1].weight.zero_()
    rng = np.random.default_rng(0)
    found = vd.tcav(
        module, rows(rng, 20), concept=vd.concepts.Concept("any", rows(rng, 20, 3.0), "0", rows(rng, 60))
    )
    assert found.passed
    assert found.observed == 0.5


def test_a_concept_is_a_check() -> None:
    rng, x = np.random.default_rng(0), rows(np.random.default_rng(1), 20)
    concept = vd.concepts.Concept("planted", rows(rng, 60, 3.0), "0", rows(rng, 200))
    found = vd.debug(planted_network(), vd.Rows(x), x, check=concept, target=1, rng=2)
    assert found.measures == vd.tcav(planted_network(), x, concept=concept, target=1, rng=2).measures
    assert (found.check, found.method, found.passed) == ("tcav", "Lime", False)
    relied = vd.debug(planted_network(), vd.Rows(x), x, check="reliance", region=concept, target=1, rng=2)
    assert relied.measures == found.measures


def test_the_same_seed_gives_the_same_verdict() -> None:
    rng = np.random.default_rng(0)
    concept, x = vd.concepts.Concept("any", rows(rng, 20), "0", rows(rng, 60)), rows(rng, 20)
    first, second = (vd.tcav(planted_network(True), x, concept=concept, rng=3) for _ in range(2))
    assert first == second


def test_bad_input_is_refused() -> None:
    rng, module = np.random.default_rng(0), planted_network()
    x, many = rows(rng, 20), rows(rng, 60)
    with pytest.raises(vd.errors.InputError, match=r"no layer 'conv'; it has 0, 1"):
        vd.tcav(module, x, concept=vd.concepts.Concept("any", x, "conv", many))
    with pytest.raises(vd.errors.InputError, match="at least 10 instances"):
        vd.concepts.Concept("any", x[:5], "0", many)
    with pytest.raises(vd.errors.InputError, match="at least 20 instances"):
        vd.concepts.Concept("any", x, "0", many[:15])
    with pytest.raises(vd.errors.InputError, match="X has 3"):
        vd.tcav(module, x[:3], concept=vd.concepts.Concept("any", x, "0", many))
    with pytest.raises(vd.errors.InputError, match="looks into a network"):
        vd.tcav(lambda batch: batch, x, concept=vd.concepts.Concept("any", x, "0", many))
    with pytest.raises(vd.errors.InputError, match=r"vd.concepts.Concept\(name"):
        vd.tcav(module, x, concept=x)
    shared = torch.nn.Linear(D, D)
    twice = torch.nn.Sequential(shared, shared, torch.nn.Linear(D, 2)).double()
    with pytest.raises(vd.errors.InputError, match="2 times per pass"):
        vd.tcav(twice, x, concept=vd.concepts.Concept("any", x, "0", many))
    unused = torch.nn.Sequential(torch.nn.LSTM(D, 2, batch_first=True)).double()
    with pytest.raises((vd.errors.InputError, vd.errors.ModelError)):
        vd.tcav(unused, x, concept=vd.concepts.Concept("any", x, "0", many))
