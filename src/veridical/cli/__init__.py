"""The command ``veridical``: what can be typed, apart from what it does, so that help comes at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

BROKEN = 2  # the exit code of a command that could not run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says how it went."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console that lacks a character still shows the others
    try:
        from veridical.cli.application import app
    except ModuleNotFoundError as cause:
        if (cause.name or "").partition(".")[0] not in ("typer", "rich", "click"):
            raise
        what = f"pip install {cause.name} (or the extra that has it: 'veridical[cli]', in a checkout '.[cli]')"
        print(f"veridical: commands need {cause.name}: {what}", file=sys.stderr)
        return BROKEN
    try:
        app(arguments, prog_name="veridical")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else BROKEN
    return 0


__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """``app`` is the typer application, made when it is asked for."""
    if name == "app":
        from veridical.cli.application import app

        return app
    raise AttributeError(f"module 'veridical.cli' has no attribute {name!r}")
