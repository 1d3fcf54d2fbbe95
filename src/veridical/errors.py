"""What can go wrong, and the one door to optional packages."""

from __future__ import annotations

import importlib
from types import ModuleType


class VeridicalError(Exception):
    """Anything veridical raises on purpose; the message says what to do."""


class InputError(VeridicalError, ValueError):
    """An argument cannot be used: what was wanted, what came, what to do."""


class ModelError(VeridicalError, ValueError):
    """The model raised, or gave an answer that cannot be explained."""


class MissingPackage(VeridicalError, ImportError):  # noqa: N818 - reads as what it is
    """An optional package is needed here and is not installed."""


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as cause:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"this needs {package}, which is not installed: pip install 'veridical[{extra}]'"
        ) from cause
