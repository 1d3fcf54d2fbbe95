"""From many to few: picks of explanations, and groups of instances with one explanation each."""

from typing import Any

from veridical.summarize.baselines import ClusterThenExplain, ExplainThenCluster, GlobalLinear, ModelTree, PickLime
from veridical.summarize.gime import Gime
from veridical.summarize.mame import Mame
from veridical.summarize.maple import Maple
from veridical.summarize.mixture import Mixture

GROUPINGS: dict[str, Any] = {
    "mixture": Mixture,
    "gime": Gime,
    "linear": GlobalLinear,
    "cte": ClusterThenExplain,
    "etc": ExplainThenCluster,
    "tree": ModelTree,
    "lime": PickLime,
    "maple": Maple,
    "mame": Mame,
}
