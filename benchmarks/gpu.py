"""Explanations of pictures by networks on a GPU: time over the network's own, error against all masks, captum.

A picture has 4 × 4 regions; a hidden one is zero. ``over`` is the time over that of the bare forward pass of as
many pictures, in batches of the size and with the order of channels that are quickest for it, both in turn within
one run; for a stream both are a picture's share. ``error`` is the distance to the weights that all 2¹⁶ masks give
in float32, relative to their size: the root mean square over pictures and seeds. Those weights depend on what is
estimated, column ``weights``: "LIME" is least squares under lime's law and kernel, "captum's" captum's own kernel
on pixels and lasso, "Shapley" the values by their definition. captum draws the same masks as it comes as in
batches, so its error is given once. "bfloat16" has channels last, for captum, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import captum.attr as captum
import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from sklearn.datasets import load_sample_images
from sklearn.linear_model import Lasso
from torch import nn

import transformer
import veridical as vd
from laws import Floats, coins, every_mask, probabilities
from limits import least_squares, shapley_values
from maps import in_turn, proximity, small, timed
from resnet import pictured, resnet50
from tables import Target, arguments, at_least, at_most, finish, table

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SIDES = {"ResNet-50": 224, "small CNN": 96}
Truth: TypeAlias = dict[str, Floats]  # by what is estimated
BATCHES = (64, 128, 256, 512)  # tried for the bare pass
PER_EVALUATION = (64, 250, 1000)  # tried for captum


class Found(NamedTuple):
    weights: Floats  # (d,)
    calls: int


@dataclass(frozen=True)
class Way:
    """A way to explain picture i with a seed, and what it estimates."""

    name: str
    weights: str
    explain: Callable[[int, int], Found]
    repeated: bool = True  # False: so slow that it is timed once


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    grid: int = 4  # regions a side
    samples: int = 512
    theirs: int = 1000  # captum's samples
    pictures: int = 64  # in a stream
    judged: int = 2  # pictures
    seeds: int = 6
    repetitions: int = 5
    streams: int = 2


QUICK = Sizes(grid=2, samples=32, theirs=20, pictures=3, judged=1, seeds=1, repetitions=1, streams=1)


@dataclass(frozen=True, eq=False)
class Case:
    """A network of some precision on a device, and pictures."""

    name: str
    precision: str
    module: Any  # float32
    raw: Any  # (n, h, w, 3), 0 to 255
    pictures: Any  # (n, 3, h, w) on the device
    targets: list[int]
    sizes: Sizes

    @property
    def device(self) -> str:
        return str(self.pictures.device.type)

    @property
    def labels(self) -> Any:
        """The region of each pixel."""
        side, grid = self.pictures.shape[-1], self.sizes.grid
        rows, columns = np.mgrid[:side, :side] * grid // side
        return torch.as_tensor(rows * grid + columns, device=self.pictures.device)

    def shown(self, i: int, masks: Floats) -> Any:
        """Picture i with the regions of each mask."""
        kept = torch.as_tensor(masks, dtype=torch.float32, device=self.pictures.device)
        return self.pictures[i] * kept[:, self.labels][:, None]


class Answering(nn.Module):
    """Probabilities of a module that computes in a precision of its own; pictures and answers are float32."""

    def __init__(self, module: Any, precision: str) -> None:
        super().__init__()
        self.dtype = PRECISIONS[precision]
        self.layout = torch.preserve_format if precision == "float32" else torch.channels_last
        self.module = deepcopy(module).to(dtype=self.dtype, memory_format=self.layout)

    def prepared(self, pictures: Any) -> Any:
        return pictures.to(dtype=self.dtype, memory_format=self.layout)

    def forward(self, pictures: Any) -> Any:
        return self.module(self.prepared(pictures)).float().softmax(1)


def photographs(n: int, side: int) -> Any:
    """Squares of the two photographs that come with scikit-learn, larger and smaller ones, (n, side, side, 3)."""
    rng, found = np.random.default_rng(0), []
    for i in range(n):
        whole = load_sample_images().images[i % 2]
        height, width = whole.shape[:2]
        size = 420 if i < 2 else int(rng.integers(side, height))
        top, left = ((height - size) // 2, (width - size) // 2) if i < 2 else rng.integers(0, height - size, 2)
        at = np.arange(side) * size // side
        found.append(whole[top + at[:, None], left + at])
    return np.stack(found)


def cases(name: str, device: str, settings: argparse.Namespace) -> Iterable[Case]:
    """The network in all precisions; a small one in the first alone."""
    sizes = QUICK if settings.quick else Sizes()
    torch.manual_seed(0)
    module = (small().eval() if name == "small CNN" else resnet50(settings.weights)).to(device)
    raw = photographs(sizes.pictures, SIDES[name])
    pictures = pictured(raw).contiguous().to(device)
    if name == "small CNN":
        pictures = pictures / 64
    with torch.inference_mode():
        targets = module(pictures).argmax(dim=1).tolist()
    shown = f"{name}, random weights" if name == "ResNet-50" and settings.weights is None else name
    for precision in settings.precisions[: 1 if name == "small CNN" else None]:
        yield Case(shown, precision, module, raw, pictures, targets, sizes)


def network(case: Case, prepare: Callable[[Any], Any] | None = None) -> vd.Network:
    precision = None if case.precision == "float32" else case.precision
    return vd.Network(case.module, prepare=prepare, answers="softmax", precision=precision)


def ours(case: Case) -> list[Way]:
    """vd.explain with a fixed number of samples and as it comes."""
    asked, grid = network(case), vd.Grid(case.sizes.grid, case.sizes.grid, fill=vd.fills.Constant(0))

    def way(name: str, weights: str, method: Any) -> Way:
        def explain(i: int, seed: int) -> Found:
            why = vd.explain(asked, grid, case.pictures[i], method=method, target=case.targets[i], rng=seed)
            return Found(why.weights, why.n_calls)

        return Way(name, weights, explain)

    n = case.sizes.samples
    return [
        way(f"Lime, {n} masks", "LIME", vd.Lime(n_samples=n)),
        way("Lime, until its top is settled", "LIME", vd.Lime()),
        way(f"KernelShap, {n} masks", "Shapley", vd.KernelShap(n_samples=n)),
        *([_from_numbers(case)] if case.name.startswith("ResNet") else []),
    ]


def _from_numbers(case: Case) -> Way:
    """The same from NumPy's picture of 0 to 255, which the network's prepare turns into its input."""
    side, n, asked = case.sizes.grid, case.sizes.samples, network(case, pictured)

    def explain(i: int, seed: int) -> Found:
        why = vd.explain(
            asked, vd.Grid(side, side), case.raw[i], method=vd.Lime(n_samples=n), target=case.targets[i], rng=seed
        )
        return Found(why.weights, why.n_calls)

    return Way(f"Lime, {n} masks, NumPy picture", "", explain)


def theirs(case: Case, answering: Answering) -> list[Way]:
    """captum's explanations, as they come (one input at a time) and in batches."""
    linear = SkLearnLinearRegression
    same = captum.Lime(answering, interpretable_model=linear(), similarity_func=proximity)
    methods = {
        "Lime": (captum.Lime(answering), "captum's"),
        "Lime, lime's kernel, least squares": (same, "LIME"),
        "KernelShap": (captum.KernelShap(answering), "Shapley"),
    }
    ways = []
    for name, (method, weights) in methods.items():
        batched = _quickest_of(case, method)
        ways.append(Way(f"captum {name}, batches of {batched}", weights, _theirs(case, method, batched)))
        if case.precision == "float32" and method is not same:
            alone = _theirs(case, method, 1)
            ways.append(Way(f"captum {name}, as it comes", weights, alone, repeated=False))
    return ways


def _theirs(case: Case, method: Any, per_evaluation: int) -> Callable[[int, int], Found]:
    n, regions = case.sizes.theirs, case.labels[None, None]

    def explain(i: int, seed: int) -> Found:
        torch.manual_seed(seed)
        with torch.no_grad():
            weights = method.attribute(
                case.pictures[i][None], target=case.targets[i], baselines=0, feature_mask=regions, n_samples=n,
                perturbations_per_eval=per_evaluation, return_input_shape=False,
            )  # fmt: skip
        return Found(weights[0].double().cpu().numpy(), n)

    return explain


def _quickest_of(case: Case, method: Any) -> int:
    times = {n: timed(lambda n=n: _theirs(case, method, n)(0, 0), case.device) for n in PER_EVALUATION}
    return min(times, key=times.__getitem__)


def bare(answering: Answering, pictures: Any, times: int = 1) -> Callable[[], None]:
    """The pass of inputs that lie ready on the device, in the layout and batches that are quickest for it."""
    given = answering.prepared(pictures)
    layouts = given.contiguous(), given.contiguous(memory_format=torch.channels_last)

    def run(inputs: Any, at_once: int, times: int = 1) -> None:
        with torch.inference_mode():
            for _ in range(times):
                for piece in inputs.split(at_once):
                    answering.module(piece)

    spent = {}
    for layout, inputs in enumerate(layouts):
        for size in {min(size, len(given)) for size in (*BATCHES, len(given))}:
            tries = [timed(partial(run, inputs, size), given.device.type) for _ in range(3)]
            spent[layout, size] = min(tries)
    layout, size = min(spent, key=spent.__getitem__)
    return partial(run, layouts[layout], size, times)


def truths(case: Case, ask: Callable[[Any], Any], i: int) -> Truth:
    """The weights of picture i that all masks give, by what is estimated."""
    d = case.sizes.grid**2
    designs, found = every_mask(d), []
    with torch.inference_mode():
        for start in range(0, len(designs), 512):
            answers = torch.as_tensor(ask(case.shown(i, designs[start : start + 512])))
            found.append(answers[:, case.targets[i]].double().cpu())
    y = torch.cat(found).numpy()
    energies = np.bincount(
        case.labels.cpu().numpy().ravel(), (case.pictures[i].double() ** 2).sum(0).cpu().numpy().ravel()
    )
    cosine = np.sqrt(designs @ energies / energies.sum())
    fitted = Lasso(alpha=0.01).fit(designs, y, sample_weight=np.exp(-((1 - cosine) ** 2) / 2))
    return {
        "LIME": least_squares(designs, y, probabilities(coins(d))),
        "captum's": fitted.coef_,
        "Shapley": shapley_values(d, y),
    }


def distance(found: Floats, truth: Floats) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def error(case: Case, way: Way, known: list[Truth]) -> float | None:
    """Of a way to explain, over pictures and seeds."""
    if not way.repeated or not all(way.weights in truth and truth[way.weights].any() for truth in known):
        return None  # a lasso may have left nothing to compare with
    gaps = [
        distance(way.explain(i, seed).weights, truth[way.weights])
        for i, truth in enumerate(known)
        for seed in range(case.sizes.seeds)
    ]
    return float(np.sqrt(np.mean(np.square(gaps))))


def line(case: Case, what: str, seconds: Floats, more: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the table; the median of the times."""
    shown = {"network": case.name, "precision": case.precision, "what": what, "calls": more["calls"]}
    return shown | {"ms": 1000 * float(np.median(seconds)), "over": None, "error": None, "weights": "", **more}


def measure(case: Case, known: list[Truth]) -> list[dict[str, Any]]:
    """One picture: the bare pass, our ways, captum's."""
    answering = Answering(case.module, case.precision)
    sizes, ways = (case.sizes.samples, case.sizes.theirs), [*ours(case), *theirs(case, answering)]
    passes = {n: bare(answering, case.shown(0, fair(n, case.sizes.grid**2))) for n in sizes}
    calls = {str(n): run for n, run in passes.items()}
    calls |= {way.name: partial(way.explain, 0, 0) for way in ways if way.repeated}
    times = in_turn(calls, case.sizes.repetitions, case.device)
    rows = [line(case, f"forward pass, {n} pictures", times[str(n)], {"calls": n, "over": 1.0}) for n in sizes]
    for way in ways:
        spent = times[way.name] if way.repeated else timed_once(case, way)
        used = way.explain(0, 0).calls if way.repeated else case.sizes.theirs
        near = min(sizes, key=lambda n: abs(n - used))
        of_one = times[str(near)] / near
        over = float(np.median(spent / of_one)) / (used if used - near > 1 else near)
        more = {"calls": used, "over": over, "error": error(case, way, known), "weights": way.weights}
        rows.append(line(case, way.name, spent, more))
    return rows


def timed_once(case: Case, way: Way) -> Floats:
    return np.array([timed(lambda: way.explain(0, 0), case.device)])


def fair(n: int, d: int) -> Floats:
    """Masks by fair coins."""
    return np.random.default_rng(0).integers(0, 2, (n, d)).astype(float)


def rounding(case: Case, known: list[Truth]) -> dict[str, Any]:
    """What the precision itself costs: the weights of all masks against float32's."""
    asked, found = network(case), list[Truth]()
    spent = timed(lambda: found.extend(truths(case, asked, i) for i in range(len(known))), case.device)
    gaps = [distance(a["LIME"], b["LIME"]) for a, b in zip(found, known, strict=True)]
    n = 2 ** (case.sizes.grid**2)
    more = {"calls": n, "error": float(np.sqrt(np.mean(np.square(gaps)))), "weights": "LIME"}
    return line(case, f"all {n:,} masks", np.array([spent / len(known)]), more)


def stream(case: Case) -> dict[str, Any]:
    """Many pictures: the time of one, over the bare pass of as many inputs."""
    answering, n, samples = Answering(case.module, case.precision), len(case.pictures), case.sizes.samples
    grid = vd.Grid(case.sizes.grid, case.sizes.grid, fill=vd.fills.Constant(0))
    inputs = case.shown(0, fair(samples, case.sizes.grid**2))
    asked, method = network(case), vd.Lime(n_samples=samples)
    calls = {
        "pass": bare(answering, inputs, times=n),
        "stream": lambda: vd.explain_many(asked, grid, case.pictures, method=method),
    }
    times = in_turn(calls, case.sizes.streams, case.device)
    more = {"calls": samples + 1, "over": float(np.median(times["stream"] / times["pass"]))}
    return line(case, f"a stream of {n}, a picture", times["stream"] / n, more)


def judge(rows: list[dict[str, Any]]) -> list[Target]:
    """What was wanted of ResNet-50."""
    targets = list[Target]()
    for precision in PRECISIONS:
        lines = [row for row in rows if row["precision"] == precision and row["network"].startswith("ResNet-50")]
        if not lines:
            continue
        starts = "Lime, ", "captum Lime, lime's", "a stream"
        own, peer, many = (next(row for row in lines if row["what"].startswith(start)) for start in starts)
        targets += [
            at_most(f"{precision}: time of 512 masks over the bare pass's", 1.15, own["over"]),
            at_most(f"{precision}: error of 512 masks over captum's of 1,000", 1.0, own["error"] / peer["error"]),
            at_most(f"{precision}: time of 512 masks over captum's of 1,000", 0.25, own["ms"] / peer["ms"]),
            at_least(f"{precision}: a stream's share of the bare pass's throughput", 0.9, 1 / many["over"]),
            Target(f"{precision}: pictures a second in a stream", "", f"{1000 / many['ms']:.3g}", True),
        ]
        if precision == "bfloat16":
            targets.append(at_most("bfloat16: ms of 512 masks", 40, own["ms"]))
    return targets


def main(settings: argparse.Namespace) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    settings.quick |= device == "cpu"
    rows = []
    for name in settings.networks or (["small CNN"] if settings.quick else SIDES):
        known = None
        for each in cases(name, device, settings):
            if known is None:
                plain = Answering(each.module, "float32")
                known = [truths(each, plain, i) for i in range(each.sizes.judged)]
            found = [*measure(each, known), stream(each)]
            if each.precision != "float32":
                found.append(rounding(each, known))
            print(table(found), flush=True)
            rows += found
    if settings.networks is None:
        rows += transformer.measure(device, settings.quick)
    finish("gpu", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--weights", type=Path, default=None, help="of ResNet-50, as resnet.py writes them")
    parser.add_argument("--precisions", nargs="*", default=list(PRECISIONS), choices=list(PRECISIONS))
    parser.add_argument("--networks", nargs="*", default=None, choices=list(SIDES), help="by default all")
    main(parser.parse_args())
