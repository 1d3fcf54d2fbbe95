"""Voices, music and other sounds to mix, from a folder, from one packed file, or made here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from models.song import CHORD, FORMANTS, pluck, sing
from models.song import RATE as SONG_RATE
from scipy.signal import resample_poly

RATE = 22050
PACK = "voice.npz"
SINGERS = ("Karissa_Hobbs", "stevieb357")  # songs with a voice, when is not known: neither voices nor music
HUMAN = ("crying_baby", "sneezing")  # sounds of people: neither voices nor others
BEASTS = ("bird-whistling", "glacier-bay-humpback", "pibble", "solo-trumpet")  # others among the music
Kind = Mapping[str, tuple[Any, ...]]  # recordings (samples,) of 22,050 a second, by "family/name"


@dataclass(frozen=True)
class Sounds:
    """Voices by speaker, music by track, other sounds by clip; names are "family/name"."""

    voices: Kind
    music: Kind
    others: Kind

    def __post_init__(self) -> None:
        for kind in ("voices", "music"):
            if not getattr(self, kind):
                raise ValueError(f"there are no {kind}: a voice in music wants both, each as family/name")


def read(folder: Path) -> Sounds:
    """What a folder has: one packed file, or fsdd/, music_speech/, game_music/ and esc10/ with its index.csv."""
    if (folder / PACK).exists():
        with np.load(folder / PACK) as file:
            return gathered((key, file[key] / np.float32(2**15)) for key in file.files)
    if not (folder / "fsdd").is_dir():
        raise FileNotFoundError(f"{folder} has neither {PACK} nor fsdd/, game_music/, music_speech/ and esc10/")
    return gathered(named(folder))


def named(folder: Path) -> Iterator[tuple[str, Any]]:
    """Recordings with the key that each has in a pack: kind/family/name/take@rate."""
    from soundfile import read as load

    for path in sorted((folder / "fsdd").glob("*.wav")):
        speaker = path.stem.split("_")[1]
        samples, rate = load(path, dtype="float32")
        yield f"voices/fsdd/{speaker}/{path.stem}@{rate}", samples
    for path in sorted([*(folder / "game_music").glob("*.ogg"), *(folder / "music_speech").glob("*.ogg")]):
        if not path.stem.startswith(SINGERS):
            samples, rate = load(path, dtype="float32")
            yield f"{place(path)}@{rate}", samples
    index = np.loadtxt(folder / "esc10/index.csv", str, delimiter=",", skiprows=1)
    for file, category in index[:, :2]:
        if category not in HUMAN:
            samples, rate = load(folder / "esc10" / file, dtype="float32")
            yield f"others/{category}/{Path(file).stem}/0@{rate}", samples


def place(path: Path) -> str:
    """Kind, family and name of a piece of music or speech."""
    if path.parent.name == "game_music":
        game, _, track = path.stem.partition("_")
        return f"music/{game}/{track}/0"
    if path.stem.replace("-", "").isdigit():
        return f"voices/readers/{path.stem.partition('-')[0]}/0"
    kind = "others/beasts" if any(beast in path.stem for beast in BEASTS) else "music/pieces"
    return f"{kind}/{path.stem.replace('/', ' ')}/0"


def gathered(recordings: Iterator[tuple[str, Any]]) -> Sounds:
    """Recordings by kind and name, all at one rate."""
    kinds: dict[str, dict[str, list[Any]]] = {"voices": {}, "music": {}, "others": {}}
    for key, samples in recordings:
        path, _, rate = key.rpartition("@")
        kind, family, name, _ = path.split("/")
        ratio = Fraction(RATE, int(rate))
        at_rate = samples if ratio == 1 else resample_poly(samples, ratio.numerator, ratio.denominator)
        kinds[kind].setdefault(f"{family}/{name}", []).append(at_rate.astype(np.float32))
    return Sounds(**{kind: {name: tuple(all_of) for name, all_of in by.items()} for kind, by in kinds.items()})


def pack(folder: Path, out: Path, *, longest: Mapping[str, float]) -> Path:
    """One file of whole numbers of 16 bits, each recording cut to the loudest seconds of its kind."""
    kept = {}
    for key, samples in named(folder):
        n = round(longest[key.partition("/")[0]] * float(key.rpartition("@")[2]))
        energy = np.cumsum(np.concatenate([[0.0], samples.astype(np.float64) ** 2]))
        start = int(np.argmax(energy[n:] - energy[:-n])) if len(samples) > n else 0
        kept[key] = np.clip(np.rint(samples[start : start + n] * 2**15), -(2**15), 2**15 - 1).astype(np.int16)
    out.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / PACK, **kept)
    return out / PACK


def split(sounds: Sounds, turn: int = 0) -> dict[str, Sounds]:
    """To train on, to choose a threshold by, and to test on: no speaker, track or clip is in two of them.

    Of each family (a game, a class of sounds) a quarter is for tests, at least one, and a quarter for the
    threshold; with every ``turn`` they are the next ones, so that everyone is tested in the end.
    """
    parts = {kind: _dealt(getattr(sounds, kind), turn) for kind in ("voices", "music", "others")}
    return {part: Sounds(**{kind: parts[kind][part] for kind in parts}) for part in ("train", "valid", "test")}


def _dealt(kind: Kind, turn: int) -> dict[str, dict[str, Any]]:
    dealt: dict[str, dict[str, Any]] = {"train": {}, "valid": {}, "test": {}}
    for family in sorted({name.partition("/")[0] for name in kind}):
        names = sorted(name for name in kind if name.partition("/")[0] == family)
        n_test, n_valid = max(1, len(names) // 4), len(names) // 4
        for i, name in enumerate(np.roll(names, -turn * n_test)):
            part = "test" if i < n_test else "valid" if i < n_test + n_valid else "train"
            dealt[part][str(name)] = kind[str(name)]
    return dealt


def made(seed: int = 0) -> Sounds:
    """Sung notes of six singers, plucked strings and noises, all from scratch."""
    rng = np.random.default_rng(seed)
    voices = {f"singers/{i}": _notes(rng, 1.0 + 0.15 * (i - 3)) for i in range(6)}
    music = {f"strings/{i}": (_tune(rng, 2.0 ** rng.uniform(-1, 1)),) for i in range(9)}
    others = {f"noises/{i}": (_burst(rng),) for i in range(12)}
    return Sounds(voices, music, others)


def _notes(rng: np.random.Generator, height: float) -> tuple[Any, ...]:
    pitches = 220 * height * 2 ** (rng.integers(0, 12, 8) / 12)
    vowels = rng.choice(list(FORMANTS), 8)
    lengths = rng.uniform(0.3, 0.8, 8)
    return tuple(_own(sing(p, s, v, rng)) for p, s, v in zip(pitches, lengths, vowels, strict=True))


def _tune(rng: np.random.Generator, height: float, seconds: float = 12.0) -> Any:
    sound = np.zeros(round(seconds * SONG_RATE))
    step = rng.uniform(0.15, 0.35)
    for at in np.arange(0, seconds - 1, step):
        start = round(at * SONG_RATE)
        sound[start : start + SONG_RATE] += pluck(height * rng.choice(CHORD), rng)
    return _own(sound[SONG_RATE // 2 : -SONG_RATE] / 4)


def _burst(rng: np.random.Generator) -> Any:
    """Noise through a random slope, that comes and goes."""
    noise = rng.normal(size=round(rng.uniform(0.5, 1.5) * SONG_RATE))
    colored = resample_poly(noise, 1, 4)[: len(noise) // 4] if rng.random() < 0.5 else noise[: len(noise) // 2]
    shape = np.sin(np.linspace(0, np.pi, len(colored)))
    return _own(0.1 * shape * colored)


def _own(samples: Any) -> Any:
    ratio = Fraction(RATE, SONG_RATE)
    return resample_poly(samples, ratio.numerator, ratio.denominator).astype(np.float32)
