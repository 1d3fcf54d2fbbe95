"""From what was asked to what is done."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from veridical.cli.checks import audit, debug, evaluate, veracity
from veridical.cli.explain import explain
from veridical.cli.show import demo, show, version
from veridical.cli.summaries import group, pick
from veridical.errors import VeridicalError
from veridical_command import BROKEN, asked

STOPPED = 130  # by Ctrl-C, as shells have it
COMMANDS: dict[type, Callable[[Any], int]] = {
    asked.Audit: audit,
    asked.Debug: debug,
    asked.Demo: demo,
    asked.Evaluate: evaluate,
    asked.Explain: explain,
    asked.Group: group,
    asked.Pick: pick,
    asked.Show: show,
    asked.Veracity: veracity,
    asked.Version: version,
}


def run(given: Any) -> int:
    """Do what was asked; the exit code says how it went."""
    try:
        code = COMMANDS[type(given)](given)
        sys.stdout.flush()
    except (VeridicalError, OSError) as cause:
        if isinstance(cause, BrokenPipeError):
            return _unheard()
        return _failed(cause)
    except KeyboardInterrupt:
        print("veridical: stopped", file=sys.stderr)
        return STOPPED
    except Exception as cause:
        traceback.print_exc()
        return _failed(f"{type(cause).__name__}: {cause}")
    return code


def _failed(cause: Any) -> int:
    print(f"veridical: {cause}", file=sys.stderr)
    return BROKEN


def _unheard() -> int:
    """Whoever read the output has had enough, as ``head`` has."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be flushed goes nowhere
    return 0
