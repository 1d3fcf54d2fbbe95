"""How good an explanation is."""

from veridical.evaluate.complexity import COMPLEXITY
from veridical.evaluate.fidelity import FIDELITY
from veridical.evaluate.randomization import RANDOMIZATION
from veridical.evaluate.records import Metric
from veridical.evaluate.removal import REMOVAL
from veridical.evaluate.stability import STABILITY
from veridical.evaluate.truth import TRUTH

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*FIDELITY, *REMOVAL, *STABILITY, *COMPLEXITY, *TRUTH, *RANDOMIZATION)
}
