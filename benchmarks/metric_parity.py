"""Record what Quantus and captum give for metrics that veridical has too, for tests/metrics/test_parity.py.

Run it by ``benchmarks/run metric_parity``, with quantus 0.6.0 and captum 0.9.0. The test itself needs
neither: it compares our metrics with the recorded numbers, on the same explanation and the same masks.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import captum
import numpy as np
import quantus
import torch
from captum.metrics import infidelity, sensitivity_max
from quantus.functions.perturb_func import batch_baseline_replacement_by_indices
from quantus.functions.similarity_func import correlation_spearman

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.builders.metric_game import TRUTH, WEIGHTS, D, play

SHAPE = (1, 1, 3, 4)
RUNS = 100
QUIET: dict[str, Any] = {"disable_warnings": True, "normalise": False, "return_aggregate": False}


class Game(torch.nn.Module):
    """The game as a network of two outputs, of which the second is explained."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = play(x.reshape(len(x), -1))
        return torch.stack([1 - y, y], dim=1)


def asked(metric: Any, **more: Any) -> Any:
    """A metric of Quantus on the instance, whose every value is 1: a number, or a curve."""
    found = metric(
        model=Game().eval(),
        x_batch=np.ones(SHAPE),
        y_batch=np.array([1]),
        a_batch=WEIGHTS.reshape(SHAPE),
        channel_first=True,
        device="cpu",
        softmax=False,
        **more,
    )
    values = np.ravel(found).astype(float).tolist()
    return values if len(values) > 1 else values[0]


def faithfulness() -> dict[str, Any]:
    """The correlation, with the sets of parts that it was measured on."""
    gone: list[list[int]] = []

    def replace(arr: Any, indices: Any, **settings: Any) -> Any:
        gone.append(np.ravel(indices).tolist())
        return batch_baseline_replacement_by_indices(arr, indices, **settings)

    np.random.seed(0)
    metric = quantus.FaithfulnessCorrelation(
        nr_runs=RUNS, subset_size=3, perturb_func=replace, perturb_baseline=0.0, **QUIET
    )
    return {"value": asked(metric), "gone": gone}


def captum_infidelity() -> dict[str, Any]:
    """Normalized infidelity, with the masks that it was measured on."""
    gone = torch.as_tensor(np.random.default_rng(1).random((RUNS, D)) < 0.25)

    def perturb(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        moved = gone[: len(x)].reshape(len(x), *SHAPE[1:]).to(x.dtype)
        return moved, x - moved

    weights = torch.as_tensor(WEIGHTS.reshape(SHAPE))
    x = torch.ones(SHAPE, dtype=torch.float64)
    found = infidelity(Game(), perturb, x, weights, target=1, n_perturb_samples=RUNS, normalize=True)
    return {"value": float(found[0]), "gone": gone.int().tolist()}


def captum_sensitivity() -> dict[str, Any]:
    """Largest change of an explanation, with the explanations that it was measured on."""
    near = 0.3 * torch.as_tensor(np.random.default_rng(2).random((5, D)))
    seen: list[Any] = []

    def perturb(inputs: Any) -> torch.Tensor:
        x = inputs[0] if isinstance(inputs, tuple) else inputs
        return x - near.reshape(len(near), *SHAPE[1:])[: len(x)]

    def explain(inputs: Any) -> tuple[torch.Tensor]:
        x = inputs[0] if isinstance(inputs, tuple) else inputs
        found = torch.as_tensor(WEIGHTS.reshape(SHAPE)) * x**2
        seen.append(found.reshape(len(x), -1).tolist())
        return (found,)  # a tensor alone would be compared with each of its rows

    x = torch.ones(SHAPE, dtype=torch.float64)
    found = sensitivity_max(explain, x, perturb_func=perturb, n_perturb_samples=len(near), norm_ord=2)
    return {"value": float(found[0]), "own": seen[0][0], "near": seen[-1]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    truth = {"s_batch": TRUTH.reshape(SHAPE)}
    steps = {"features_in_step": 1, "perturb_baseline": 0.0}
    recorded = {
        "about": f"quantus {quantus.__version__}, captum {captum.__version__}: the game of metric_game.py",
        "faithfulness_correlation": faithfulness(),
        "infidelity": captum_infidelity(),
        "max_sensitivity": captum_sensitivity(),
        "pixel_flipping": asked(quantus.PixelFlipping(**steps, **QUIET)),
        "monotonicity_correlation": asked(
            quantus.MonotonicityCorrelation(nr_samples=1, abs=True, **steps, **QUIET)
        ),
        "complexity": asked(quantus.Complexity(abs=True, **QUIET)),
        "sparseness": asked(quantus.Sparseness(abs=True, **QUIET)),
        "effective_complexity": asked(quantus.EffectiveComplexity(abs=True, eps=1e-9, **QUIET)),
        "pointing_game": asked(quantus.PointingGame(abs=True, **QUIET), **truth),
        "relevance_rank_accuracy": asked(quantus.RelevanceRankAccuracy(abs=True, **QUIET), **truth),
        "relevance_mass_accuracy": asked(quantus.RelevanceMassAccuracy(abs=True, **QUIET), **truth),
        "correlation_spearman": float(
            np.ravel(correlation_spearman(np.abs(WEIGHTS)[None], np.abs(WEIGHTS[None, ::-1] + 0.1), batched=True))[
                0
            ]
        ),
    }
    path = Path(__file__).parents[1] / "tests" / "metrics" / "parity.json"
    path.write_text(json.dumps(recorded) + "\n")
    print(f"wrote {path}")
