"""Who does the work: this process, threads or processes of this machine, or a cluster that is there already."""

from veridical.scale.engines.local import Local, Threads
from veridical.scale.engines.over_dask import Dask
from veridical.scale.engines.over_ray import Ray
from veridical.scale.engines.over_spark import Spark
from veridical.scale.engines.pools import Engine

__all__ = ["Dask", "Engine", "Local", "Ray", "Spark", "Threads"]
