"""What stands at module:name or file.py:name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from veridical.errors import InputError, VeridicalError


def is_place(text: str) -> bool:
    """Whether this is module:name or file.py:name, and not a path (such as C:\\model.onnx)."""
    before, colon, name = text.rpartition(":")
    return bool(colon and before) and all(step.isidentifier() for step in name.split("."))


def object_at(place: str, wanted: type | None = None) -> Any:
    """The object at module:name or file.py:name; objects of the wanted type are named where it is missing."""
    before, colon, name = place.rpartition(":")
    if not colon or not before or not name:
        raise InputError(f"wanted module:name, such as audits:subject, not {place!r}")
    module = _module(before)
    found: Any = module
    for step in name.split("."):
        if not hasattr(found, step):
            raise InputError(f"{before} has no {name!r}{_hint(module, wanted)}")
        found = getattr(found, step)
    return found


def finished(make: Callable[[], Any], what: str) -> Any:
    """What the caller's own code gives; where it raises, nothing was checked, which is not a check that failed."""
    try:
        return make()
    except VeridicalError:
        raise
    except Exception as cause:
        traceback.print_exc()
        raise InputError(f"{what} raised {type(cause).__name__}: {cause}") from cause


def _hint(module: ModuleType, wanted: type | None) -> str:
    if wanted is None:
        return ""
    known = [key for key, value in vars(module).items() if isinstance(value, wanted)]
    return f"; its {wanted.__name__.lower()}s are {', '.join(known)}" if known else ""


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
