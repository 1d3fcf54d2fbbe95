"""Who does the work: this process, threads or processes of this machine, or a cluster that is there already."""

from veridical.scale.engines.dask_engine import Dask
from veridical.scale.engines.local import Engine, Local, Threads
from veridical.scale.engines.ray_engine import Ray
from veridical.scale.engines.spark_engine import Spark

__all__ = ["Dask", "Engine", "Local", "Ray", "Spark", "Threads"]
