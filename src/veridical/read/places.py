"""Things in Python files: ``module:name`` or ``file.py:name``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from veridical.errors import InputError, VeridicalError, describe_error
from veridical.read.records import near


def is_place(place: str) -> bool:
    """Whether it looks like module:name, not like a file."""
    before, colon, name = place.rpartition(":")
    dotted = before.removesuffix(".py").replace("/", ".").replace("\\", ".")
    return bool(colon and dotted) and all(step.isidentifier() for step in name.split("."))


def thing_at(place: str) -> Any:
    """What stands at module:name or file.py:name."""
    before, colon, name = place.rpartition(":")
    if not colon or not before or not name:
        raise InputError(f"wanted module:name, such as mine:predict, not {place!r}")
    found: Any = _module(before)
    for step in name.split("."):
        if not hasattr(found, step):
            known = [key for key in vars(found) if not key.startswith("_")] if hasattr(found, "__dict__") else []
            raise InputError(f"{before} has no {name!r}{near(step, known)}")
        found = getattr(found, step)
    return found


def finished(make: Callable[[], Any], what: str) -> Any:
    """What the caller's own code gives; where it raises, say which code it was."""
    try:
        return make()
    except VeridicalError:
        raise
    except Exception as cause:
        raise InputError(f"{what} raised {describe_error(cause)}") from cause


def _module(name: str) -> ModuleType:
    """A module by name, found from here too, or a file."""
    if name.endswith(".py"):
        path = Path(name)
        if not path.is_file():
            raise InputError(f"there is no file {name!r}")
        sys.path.insert(0, str(path.resolve().parent))
        module = _imported(path.stem)
        if Path(getattr(module, "__file__", None) or "").resolve() != path.resolve():
            raise InputError(f"another module is called {path.stem!r} already: give {name!r} another name")
        return module
    sys.path.insert(0, str(Path.cwd()))
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        raise InputError(
            f"there is no module {name!r} here or installed: run the command where it can be imported"
        )
    return _imported(name)


def _imported(name: str) -> ModuleType:
    found: ModuleType = finished(lambda: importlib.import_module(name), f"importing {name!r}")
    return found
