"""The command line: each command loads, calls the border, shows or writes.

What can be typed is in ``veridical_command``, which loads none of this before a command runs.
"""

from __future__ import annotations

from typing import Any

from veridical_command import main

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """``app`` is the typer application, made when it is asked for."""
    if name == "app":
        from veridical_command.app import app

        return app
    raise AttributeError(f"module 'veridical.cli' has no attribute {name!r}")
