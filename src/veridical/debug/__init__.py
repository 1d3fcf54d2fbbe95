"""Would the explanation show a broken model?"""

from veridical.debug.fooling import fooling
from veridical.debug.labels import labels
from veridical.debug.mismatch import mismatch
from veridical.debug.randomize import randomize
from veridical.debug.records import Check
from veridical.debug.reliance import reliance
from veridical.debug.sampling import sampling
from veridical.debug.shift import shift
from veridical.debug.spurious import spurious
from veridical.debug.veracity.check import veracity

CHECKS: dict[str, Check] = {
    "fooling": fooling,
    "labels": labels,
    "mismatch": mismatch,
    "randomize": randomize,
    "reliance": reliance,
    "sampling": sampling,
    "shift": shift,
    "spurious": spurious,
    "veracity": veracity,
}
