"""The songs of Jamendo with their annotations (Ramona et al., 2008), for those who have them.

The folder has a recording and a ``.lab`` file for each song, anywhere below it, with lines of start, end and
"sing" or "nosing"; the lists ``train``, ``valid`` and ``test`` name songs, a line each. In the paper they have 61,
16 and 16 songs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from models.mixing import Mix
from models.sounds import RATE
from scipy.signal import resample_poly

SOUNDS = (".ogg", ".mp3", ".wav", ".flac")
SUNG = {"sing": True, "nosing": False}


def songs(folder: Path, part: str) -> Iterator[Mix]:
    """The songs of a part, "train", "valid" or "test"; what they are without a voice is not known."""
    for name in listed(folder, part):
        samples = loaded(found(folder, name, SOUNDS))
        spans = annotated(found(folder, name, (".lab",)))
        yield Mix(samples, np.full_like(samples, np.nan), sung(spans, len(samples)))


def excerpts_of(songs: Iterator[Mix], seconds: float) -> Iterator[Mix]:
    """Songs cut into pieces of one length, as training wants them; what is left over at the end is not used."""
    n = round(seconds * RATE)
    for song in songs:
        for start in range(0, len(song.samples) - n + 1, n):
            at = slice(start, start + n)
            yield Mix(song.samples[at], song.music[at], song.voiced[at])


def listed(folder: Path, part: str) -> list[str]:
    """The names of the songs of a part, without their endings."""
    lists = [path for path in sorted(folder.rglob(f"{part}*")) if path.is_file() and path.suffix in ("", ".txt")]
    if not lists:
        raise FileNotFoundError(f"{folder} has no list of songs called {part} or {part}.txt, one a line")
    lines = lists[0].read_text(encoding="utf-8").splitlines()
    return [Path(line.strip()).name.removesuffix(Path(line.strip()).suffix) for line in lines if line.strip()]


def found(folder: Path, name: str, endings: tuple[str, ...]) -> Path:
    """The file of a song with one of these endings."""
    paths = [path for path in sorted(folder.rglob("*")) if path.stem == name and path.suffix.lower() in endings]
    if not paths:
        raise FileNotFoundError(f"{folder} has no {name} with any of the endings {', '.join(endings)}")
    return paths[0]


def loaded(path: Path) -> Any:
    """The samples of a recording, mono, 22,050 a second."""
    from soundfile import read

    samples, rate = read(path, dtype="float32", always_2d=True)
    ratio = Fraction(RATE, rate)
    mono = samples.mean(axis=1)
    return mono if ratio == 1 else resample_poly(mono, ratio.numerator, ratio.denominator).astype(np.float32)


def annotated(path: Path) -> list[tuple[float, float, bool]]:
    """Start and end in seconds, and whether someone sings."""
    spans = []
    for i, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 3 or words[2] not in SUNG:
            raise ValueError(f"{path.name}, line {i}: wanted start, end and sing or nosing, not {line!r}")
        start, end = float(words[0]), float(words[1])
        if not 0 <= start <= end:
            raise ValueError(f"{path.name}, line {i}: it ends at {end:g} s, before it starts at {start:g} s")
        spans.append((start, end, SUNG[words[2]]))
    return spans


def sung(spans: list[tuple[float, float, bool]], n: int) -> Any:
    """Whether someone sings at each of n samples; where nothing is said, no one does."""
    voiced = np.zeros(n, bool)
    for start, end, sings in spans:
        voiced[round(start * RATE) : round(end * RATE)] = sings
    return voiced
