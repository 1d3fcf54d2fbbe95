"""Grouping methods: ways to explain a model by groups of instances with one sparse explanation per group."""

from typing import Any

from veridical.summaries.groupings.alternatives import (
    Around,
    ClusterThenExplain,
    ExplainThenCluster,
    GlobalLinear,
    Mame,
    Maple,
    ModelTree,
    PickLime,
)
from veridical.summaries.groupings.groups import Grouping, Membership, Region
from veridical.summaries.groupings.mixture import Gime, Mixture

__all__ = [
    "GROUPINGS",
    "Around",
    "ClusterThenExplain",
    "ExplainThenCluster",
    "Gime",
    "GlobalLinear",
    "Grouping",
    "Mame",
    "Maple",
    "Membership",
    "Mixture",
    "ModelTree",
    "PickLime",
    "Region",
]
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
