"""Metrics: how good an explanation is, and whether differences between methods are significant."""

from veridical.metrics.faithfulness import FIDELITY, REMOVAL
from veridical.metrics.ground_truth import TRUTH
from veridical.metrics.reports import Comparison, Curve, Example, Metric, Report, Score, Trial
from veridical.metrics.stability import RANDOMIZATION, STABILITY
from veridical.metrics.weights import COMPLEXITY

__all__ = ["METRICS", "Comparison", "Curve", "Example", "Metric", "Report", "Score", "Trial"]

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*FIDELITY, *REMOVAL, *STABILITY, *COMPLEXITY, *TRUTH, *RANDOMIZATION)
}
