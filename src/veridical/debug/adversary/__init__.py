"""Causes of wrong decisions that are known, because they were made on purpose."""

from veridical.debug.adversary.gradient import CarliniWagner, Pgd
from veridical.debug.adversary.records import Kind

CAUSES: dict[str, type[Kind]] = {
    "carlini_wagner": CarliniWagner,
    "pgd": Pgd,
}
