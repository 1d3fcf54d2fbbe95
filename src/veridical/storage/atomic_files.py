"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from veridical.errors import InputError

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}


def path_of(path: Any, what: str) -> Path:
    """A path that a disk can have; ``what`` says what it is for."""
    try:
        found = Path(path)
        if b"\0" in os.fsencode(found):
            raise ValueError("a zero byte is in it")
    except (TypeError, ValueError) as cause:  # no text, or a lone surrogate
        raise InputError(f"{what} wants the path of a file, not {path!r:.200}: {cause}") from cause
    return found


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` once it is complete and on the disk.

    Whatever happens before, an old file stays as it was. A link stays a link, and permissions are kept; what is no
    file, such as a pipe, is written to.
    """
    final = Path(os.path.realpath(path))
    if not final.exists() or final.is_file() or final.is_dir():
        with replacing_entry(final, path.name) as stream:
            yield stream
        return
    try:
        with final.open("wb") as stream:
            yield stream
    except OSError as cause:
        _explain_error(cause, path.name, final.parent)
        raise


@contextmanager
def replacing_entry(path: Path, name: str | None = None) -> Iterator[BinaryIO]:
    """As ``replacing``, but a link, or a pipe, is itself replaced: nothing is ever written to where it leads.

    ``name`` is what messages call the file.
    """
    name, temporary = name or path.name, path.with_name(f".veridical-{uuid.uuid4().hex}.tmp")
    try:
        old = path.lstat() if os.path.lexists(path) else None
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise InputError(f"cannot save {name!r}: a folder has that name; give another")
        kept = old is not None and stat.S_ISREG(old.st_mode)
        if kept and not os.access(path, os.W_OK):
            raise InputError(f"cannot save {name!r}: the file that is there may not be changed")
        try:
            with temporary.open("xb") as stream:  # exclusive: it follows no link
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if old is not None and kept:
                temporary.chmod(stat.S_IMODE(old.st_mode))
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as cause:
        _explain_error(cause, name, path.parent)
        raise


def _explain_error(cause: OSError, name: str, folder: Path) -> None:
    """Raise what the disk refuses in words that say what to do; return where it was not the disk."""
    if cause.errno in FULL:
        words = "the disk is full: make room, or save elsewhere"
    elif cause.errno in CLOSED:
        words = f"nothing may be written in {str(folder)!r}: save elsewhere"
    elif cause.errno is not None and str(cause.filename or "").startswith(str(folder)):
        words = f"{os.strerror(cause.errno)}: save it under another name, or elsewhere"
    else:
        return
    raise InputError(f"cannot save {name!r}: {words}") from cause
