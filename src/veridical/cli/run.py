"""From what was asked to what is done."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veridical.cli.checks import audit, debug, evaluate, veracity
from veridical.cli.compare import compare
from veridical.cli.explain import explain
from veridical.cli.say import say, trace
from veridical.cli.show import demo, show, version
from veridical.cli.summaries import group, pick
from veridical.errors import VeridicalError, describe_error
from veridical_command import BROKEN, asked

STOPPED = 130  # by Ctrl-C, as shells have it
COMMANDS: dict[type, Callable[[Any], int]] = {
    asked.Audit: audit,
    asked.Compare: compare,
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


COMPILED = (".pyx", ".pxi", ".pxd")  # of installed packages, whose names say nothing of where they are


def run(given: Any) -> int:
    """Do what was asked; the exit code says how it went."""
    try:
        code = COMMANDS[type(given)](given)
        sys.stdout.flush()
    except BrokenPipeError:
        return _unheard()
    except KeyboardInterrupt:
        return _failed("stopped", STOPPED)
    except (VeridicalError, OSError) as cause:
        if cause.__cause__ is not None and _is_of_caller(cause.__cause__):
            trace(cause.__cause__)
        return _failed(cause)
    except Exception as cause:
        trace(cause)
        return _failed(f"{describe_error(cause)}")
    return code


def _failed(cause: Any, code: int = BROKEN) -> int:
    say(f"veridical: {cause}")
    return code


def _is_of_caller(cause: BaseException) -> bool:
    """Whether code raised it that is neither ours nor installed: then its author wants to see where."""
    known = (str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, "<")
    steps = [step.filename for step in traceback.extract_tb(cause.__traceback__)]
    return any(not name.startswith(known) and not name.endswith(COMPILED) for name in steps)


def _unheard() -> int:
    """Whoever read the output has had enough, as ``head`` has."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to be flushed goes nowhere
    return 0
