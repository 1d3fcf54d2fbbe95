"""Checks of models and of their explanations: would an explanation show a broken model?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical.checks.audits import CHECKS, Audit, Result
    from veridical.checks.cleaning import clean
    from veridical.checks.removal import RemovedFeatures, without
    from veridical.checks.spurious_checks import Spurious

__all__ = ["CHECKS", "Audit", "RemovedFeatures", "Result", "Spurious", "clean", "without"]

if not TYPE_CHECKING:  # loaded when first used, since causes are made of what stands in this room
    HOMES = {
        "RemovedFeatures": "removal",
        "Spurious": "spurious_checks",
        "clean": "cleaning",
        "without": "removal",
    }

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{HOMES.get(name, 'audits')}"), name)

    def __dir__() -> list[str]:
        return __all__
