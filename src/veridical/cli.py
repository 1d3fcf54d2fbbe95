"""The command line: ``veridical audit module:subject``."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from veridical.api import audit
from veridical.attribute import METHODS
from veridical.debug import CHECKS
from veridical.debug.audit import Audit
from veridical.debug.records import Subject
from veridical.errors import InputError, VeridicalError
from veridical.records import VERSION
from veridical.serialize import save, write_json, writer_of

BROKEN = 2  # the exit code of a command that could not check anything
EXAMPLE = """
A file that says what to audit, such as audits.py:

    import veridical as vd
    from mine import model, X_train, y_train, X_test, y_test

    subject = vd.Subject(model.predict_proba, vd.Rows(X_train), X_test, y=y_test, training=(X_train, y_train))

Then: veridical audit audits:subject --out audit.html --out audit.xml
The exit code is 0 if all checks passed, 1 if one failed, 2 if nothing could be checked.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says how it went."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a console that lacks a character still shows the others
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return BROKEN
    try:
        return _audit(given)
    except VeridicalError as cause:
        print(f"veridical: {cause}", file=sys.stderr)
        return BROKEN


def _parser() -> argparse.ArgumentParser:
    shape: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(
        prog="veridical", description="Would the explanation show a broken model?", epilog=EXAMPLE, **shape
    )
    parser.add_argument("--version", action="version", version=f"veridical {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    add = commands.add_parser(
        "audit",
        help="run all checks that apply to a model and its data",
        description="Run all checks that apply to a model and its data.",
        usage="veridical audit subject [-h] [--checks CHECK …] [--methods METHOD …] [--out FILE] [--json] "
        "[--rng N]",
        epilog=EXAMPLE,
        **shape,
    )
    add.add_argument(
        "subject",
        help="module:name or file.py:name of a vd.Subject, or of a function without arguments that gives one",
    )
    add.add_argument("--checks", nargs="+", metavar="CHECK", help=f"some of {', '.join(CHECKS)}; by default all")
    add.add_argument(
        "--methods", nargs="+", metavar="METHOD", help=f"some of {', '.join(METHODS)}, with their defaults"
    )
    add.add_argument(
        "--out",
        action="append",
        default=[],
        metavar="FILE",
        help="write .html, .json, .xml (JUnit), .csv, .png, …",
    )
    add.add_argument("--json", action="store_true", help="print JSON, which vd.load reads, instead of text")
    add.add_argument("--rng", type=int, default=0, metavar="N", help="what fixes all randomness (0)")
    return parser


def _audit(given: argparse.Namespace) -> int:
    for path in given.out:  # before minutes of work, not after
        writer_of(Audit, path)
    found = audit(subject_of(given.subject), methods=_methods(given.methods), checks=given.checks, rng=given.rng)
    for path in given.out:
        save(found, path)
    if given.json:
        sys.stdout.flush()
        write_json(found, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        print(found)
    for path in given.out:
        print(f"written: {path}", file=sys.stderr)
    return found.exit_code


def _methods(names: Sequence[str] | None) -> list[Any] | None:
    """Methods by their names in METHODS, or by those of their classes."""
    if names is None:
        return None
    known = {**METHODS, **{method.__name__: method for method in METHODS.values()}}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"no method is called {unknown[0]!r}; there are {', '.join(METHODS)}")
    return [_settings(name, known[name]) for name in names]


def _settings(name: str, method: Any) -> Any:
    try:
        return method()
    except TypeError as cause:
        raise InputError(
            f"the method {name} needs settings, which a command cannot give: call vd.audit in Python"
        ) from cause


def subject_of(place: str) -> Subject:
    """The Subject at module:name or file.py:name, or what the function there gives."""
    before, colon, name = place.rpartition(":")
    if not colon or not before or not name:
        raise InputError(f"wanted module:name, such as audits:subject, not {place!r}")
    module = _module(before)
    found: Any = module
    for step in name.split("."):
        if not hasattr(found, step):
            subjects = [key for key, value in vars(module).items() if isinstance(value, Subject)]
            hint = f"; its subjects are {', '.join(subjects)}" if subjects else ""
            raise InputError(f"{before} has no {name!r}{hint}")
        found = getattr(found, step)
    if not isinstance(found, Subject) and callable(found):
        found = _finished(found, f"calling {place}, without arguments,")
    if not isinstance(found, Subject):
        raise InputError(
            f"{place} is {type(found).__name__}, and a vd.Subject was wanted, or a function that gives one: "
            "subject = vd.Subject(model.predict_proba, vd.Rows(X_train), X_test)"
        )
    return found


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
    found: ModuleType = _finished(lambda: importlib.import_module(name), f"importing {name!r}")
    return found


def _finished(make: Callable[[], Any], what: str) -> Any:
    """What the caller's own code gives; where it raises, nothing was checked, which is not a check that failed."""
    try:
        return make()
    except VeridicalError:
        raise
    except Exception as cause:
        traceback.print_exc()
        raise InputError(f"{what} raised {type(cause).__name__}: {cause}") from cause


if __name__ == "__main__":
    sys.exit(main())
