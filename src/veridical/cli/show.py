"""What commands show and write."""

from __future__ import annotations

import sys
from typing import Any

from veridical.cli.say import say
from veridical.errors import InputError, require
from veridical.records import VERSION, Explanation, Explanations
from veridical.scale.stores.store import Store
from veridical.serialize import load, save, write_json, writer_of
from veridical_command import asked


def check_outs(given: asked.Shown, kind: type) -> None:
    """Refuse files that cannot be written, before minutes of work, not after."""
    for path in given.out or ():
        writer_of(kind, path)


def put(record: Any, given: asked.Shown) -> None:
    """Write a record where it is wanted, and print it."""
    for path in given.out or ():
        save(record, path)
    if given.json:
        sys.stdout.flush()
        write_json(record, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif not given.quiet:
        sys.stdout.write(painted(record))
    if not given.quiet:
        for path in given.out or ():
            say(f"written: {path}")


def painted(record: Any) -> str:
    """The record as text, as wide as the terminal and in color where there is one."""
    rich = require("rich.console", extra="cli")
    console = rich.Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    with console.capture() as text:
        console.print(record, soft_wrap=True)
    painted: str = text.get()
    return painted


def show(given: asked.Show) -> int:
    """Show or convert what was saved."""
    record: Any = load(given.file)
    if given.row is not None:
        record = _one(record, given)
    if isinstance(record, Store) and (given.out or given.json):
        record = record[:]  # a file holds the explanations themselves
    check_outs(given, type(record))
    put(record, given)
    return 0


def _one(record: Any, given: asked.Show) -> Explanation:
    """One of many explanations."""
    if not isinstance(record, (Explanations, Store)):
        raise InputError(
            f"--row is for files and stores of many explanations; {given.file} holds one {type(record).__name__}"
        )
    if given.row is None or not -len(record) <= given.row < len(record):
        raise InputError(f"there is no row {given.row}: {given.file} has {len(record)}, numbered from 0")
    found: Explanation = record[given.row]
    return found


def demo(given: asked.Demo) -> int:
    """Explain real predictions, or write files to try the commands on."""
    if given.files is not None:
        from veridical.cli.samples import write_samples

        for path in write_samples(given.files):
            say(f"written: {path}")
        return 0
    from veridical import demo

    demo.demo(given.page)
    return 0


def version(given: asked.Version) -> int:
    """Print the version."""
    print(f"veridical {VERSION}")
    return 0
