"""Other libraries: code that was written for them runs on veridical, and what they give is read as explanations.

``import veridical.compat.lime as lime`` has the interface of the lime package (0.2.0.1) on this library's engine, and
``veridical.compat.install("lime")`` puts it under lime's own names, for code that cannot be changed. ``from_shap`` reads
the values of shap.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from veridical.compat.shap_values import from_shap
from veridical.errors import InputError, safe_repr

__all__ = ["from_shap", "install", "uninstall"]

LIBRARIES = {"lime": "veridical.compat.lime"}  # by the name that other code imports


def install(library: str = "lime") -> None:
    """Put our modules under the names of another library, for code that imports it.

    Call it before anything imports the other library; a second call changes nothing. Nothing is written to disk, and it
    holds for this process alone.

    Parameters
    ----------
    library : {"lime"}
        The library whose names to take.

    Raises
    ------
    ImportError
        If the other library is loaded already: the message says which module did it.

    Examples
    --------
    >>> import veridical.compat
    >>> veridical.compat.install("lime")
    >>> from lime.lime_tabular import LimeTabularExplainer
    >>> LimeTabularExplainer.__module__
    'veridical.compat.lime.explainers'
    >>> veridical.compat.uninstall("lime")
    """
    ours, loaded = _modules(library), _loaded(library)
    foreign = {name: module for name, module in loaded.items() if ours.get(name) is not module}
    if foreign:
        users = _importers(library, list(foreign.values()))
        by = f": {', '.join(users[:5])} imported it" if users else ""
        raise ImportError(
            f"the real {library} is loaded already{by}. Call veridical.compat.install({library!r}) first, before those "
            "modules are imported"
        )
    sys.modules.update(ours)


def uninstall(library: str = "lime") -> None:
    """Undo ``install``: later imports find the other library itself again, where it is there.

    Parameters
    ----------
    library : {"lime"}
        The library whose names to give back. Modules that have imported ours keep it.
    """
    for name, module in _modules(library).items():
        if sys.modules.get(name) is module:
            del sys.modules[name]


def _modules(library: str) -> dict[str, ModuleType]:
    """Our modules by the names of the other library's."""
    if not isinstance(library, str) or library not in LIBRARIES:
        known = ", ".join(map(repr, LIBRARIES))
        raise InputError(f"install and uninstall know {known}, not {safe_repr(library)}")
    home = LIBRARIES[library]
    package = import_module(home)
    names = ("", *(f".{name}" for name in package.SUBMODULES))
    return {library + name: sys.modules[home + name] for name in names}


def _loaded(library: str) -> dict[str, ModuleType]:
    """Modules that are loaded under the other library's names."""
    here = list(sys.modules.items())
    return {name: module for name, module in here if name.partition(".")[0] == library and module is not None}


def _importers(library: str, modules: list[ModuleType]) -> list[str]:
    """Loaded modules that hold something of the other library's."""
    theirs, found = {id(module) for module in modules}, []
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == library or not isinstance(module, ModuleType):
            continue
        for value in list(vars(module).values()):
            known = issubclass(type(value), type)  # isinstance would look at __class__, which some objects warn of
            home = vars(value).get("__module__") if known else None
            if id(value) in theirs or (isinstance(home, str) and home.partition(".")[0] == library):
                found.append(name)
                break
    return sorted(found)
