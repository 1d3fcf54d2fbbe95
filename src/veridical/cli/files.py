"""Paths, folders and patterns: which files are meant, and what they hold."""

from __future__ import annotations

import glob
import io
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from veridical.cli.loading import suggest
from veridical.errors import InputError

STDIN = "-"
TABLES = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".json")
TEXTS = (".txt", ".md")
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
SOUNDS = (".wav", ".flac", ".ogg", ".oga", ".mp3", ".aif", ".aiff", ".au", ".opus")
ARRAYS = (".npy", ".npz")
FAMILIES = {"tables": TABLES, "texts": TEXTS, "pictures": PICTURES, "sounds": SOUNDS, "arrays": ARRAYS}
# How files begin that are not plain text, what they are, and their suffixes, of which the first is the usual one.
SIGNATURES = {
    b"PAR1": ("a Parquet file", (".parquet",)),
    b"\x89PNG": ("a PNG picture", (".png",)),
    b"\xff\xd8\xff": ("a JPEG picture", (".jpg", ".jpeg")),
    b"GIF8": ("a GIF picture", (".gif",)),
    b"\x93NUMPY": ("a NumPy array", (".npy",)),
    b"fLaC": ("a FLAC recording", (".flac",)),
    b"OggS": ("an Ogg recording", (".ogg", ".oga", ".opus")),
    b"\x1f\x8b": ("compressed by gzip", ()),
    b"PK\x03\x04": ("a zip file, such as a workbook of Excel", ("", ".npz")),
    b"\xd0\xcf\x11\xe0": ("an old workbook of Excel", ()),
    b"%PDF": ("a PDF document", ()),
    b"SQLite": ("an SQLite database", ()),
    b"\x80\x04\x95": ("a pickle", ()),
}
MAX_UNZIPPED = 2**31  # bytes that a compressed file may unfold into without being asked about
MAX_ZIP_RATIO = 100  # times its own size, above which that is no accident


@dataclass(frozen=True)
class FileFamily:
    """Files of one family; ``names`` tells them apart."""

    family: str
    paths: tuple[Path, ...]
    names: tuple[str, ...]


def find_files(places: Sequence[str]) -> FileFamily:
    """The files that paths, folders and patterns name, if they are of one family."""
    pairs = [pair for place in places for pair in list_files(place)]
    families: dict[str, list[Path]] = {}
    for path, _ in pairs:
        families.setdefault(detect_family(path), []).append(path)
    if len(families) > 1:
        kinds = [f"{len(p)} {family} (such as {p[0].name})" for family, p in families.items()]
        raise InputError(
            f"{' and '.join(places)} has files of several kinds: {', '.join(kinds)}; name those that are meant, "
            "as in 'folder/*.png'"
        )
    return FileFamily(next(iter(families)), tuple(path for path, _ in pairs), tuple(name for _, name in pairs))


def detect_family(path: Path) -> str:
    """What a file holds, by its suffix, which its first bytes must not deny."""
    suffix = path.suffix.lower()
    family = next((family for family, suffixes in FAMILIES.items() if suffix in suffixes), None)
    known = ", ".join(suffix for suffixes in FAMILIES.values() for suffix in suffixes)
    told = detect_format(path)
    if family is None:
        what = f"{path} is {told[0]}" if told else f"nothing is known of {suffix or 'no suffix'}: {path}"
        raise InputError(f"{what}; data are read from {known}")
    if told and suffix not in told[1]:
        right = f": call it {path.stem}{told[1][0]}" if any(told[1][:1]) else ": save it as CSV, say"
        raise InputError(f"{path} is {told[0]} by its content, not what its name says{right}")
    return family


def detect_format(path: Path) -> tuple[str, tuple[str, ...]] | None:
    """What the first bytes of a file say that it is, if it is not plain text."""
    try:
        with path.open("rb") as file:
            first = file.read(16)
    except OSError as cause:
        raise InputError(f"{path} cannot be read: {cause.strerror or cause}") from cause
    if not first:
        raise InputError(f"{path} is empty")
    return next((told for start, told in SIGNATURES.items() if first.startswith(start)), None)


@contextmanager
def reading_as(path: Path | str, what: str) -> Iterator[None]:
    """What a reader of files raises, which of a damaged one may be anything, in words that name the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as cause:
        raise InputError(f"{path} cannot be read as {what}: {str(cause).strip()}") from cause


def read_bytes(path: Path | str) -> bytes:
    """The content of a file, or of the standard input."""
    if str(path) == STDIN:
        content = sys.stdin.buffer.read()
        if not content.strip():
            raise InputError("the standard input is empty")
        return content
    try:
        return Path(path).read_bytes()
    except OSError as cause:
        raise InputError(f"{path} cannot be read: {cause.strerror or cause}") from cause


def read_text(path: Path | str, encoding: str | None = None) -> str:
    """The content of a text file."""
    content = read_bytes(path)
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    codec = encoding or ("utf-16" if wide else "utf-8-sig")
    try:
        return io.TextIOWrapper(io.BytesIO(content), encoding=codec).read()
    except LookupError as cause:
        raise InputError(
            f"there is no encoding {encoding!r}; utf-8, cp1252 and latin-1 are the usual ones"
        ) from cause
    except UnicodeDecodeError as cause:
        do = "say which, as in --encoding cp1252 (which Excel writes)"
        raise InputError(
            f"{path} is not written in {codec.removesuffix('-sig')} (byte {cause.start}: {cause.reason}): {do}"
        ) from cause


def check_zip_size(path: Path) -> None:
    """Refuse a zip file that would fill the memory."""
    try:
        with zipfile.ZipFile(path) as inside:
            size = sum(item.file_size for item in inside.infolist())
    except (zipfile.BadZipFile, OSError) as cause:
        raise InputError(f"{path} is damaged: {cause}") from cause
    if size > MAX_UNZIPPED and size > MAX_ZIP_RATIO * path.stat().st_size:
        raise InputError(
            f"{path} would unfold into {size / 2**30:.0f} GiB, {size // path.stat().st_size} times its size"
        )


def list_files(place: str) -> list[tuple[Path, str]]:
    """The files of a path, a folder or a pattern, each with a name that tells it from the others."""
    path = Path(place)
    if path.is_file():
        return [(path, path.name)]
    if path.is_dir():
        inside = [(p, p.relative_to(path)) for p in sorted(path.rglob("*")) if p.is_file()]
        seen = [(p, own.as_posix()) for p, own in inside if not any(s.startswith((".", "__")) for s in own.parts)]
        if not seen:
            raise InputError(f"the folder {place} has no files in it")
        return seen
    if any(letter in place for letter in "*?["):
        matching = [Path(found) for found in sorted(glob.glob(place, recursive=True)) if Path(found).is_file()]
        if not matching:
            raise InputError(f"no file matches {place!r}")
        return [(p, p.name) for p in matching]
    if path.exists():
        raise InputError(f"{place} is neither a file nor a folder")
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    alike = suggest(path.name, sorted(beside)) if beside else ""
    raise InputError(f"there is no file {place!r}{alike if 'did you mean' in alike else ''}")
