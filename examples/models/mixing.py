"""Voices mixed into music at a known loudness, so that it is known of every moment whether there is a voice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from models.detector import FRAMES, MEL, NEAR
from models.sounds import RATE, Sounds
from scipy.ndimage import uniform_filter1d

QUIET = 30.0  # decibels under its loudest moment: below that, a voice is silent
GAP = 0.15  # seconds of silence inside a voice that still count as voice
SOFT = 0.01  # seconds in which what is added comes and goes
PLACES = 4  # of a long recording, of which the loudest is taken
FLOOR = 0.03  # of the deviation of a track: where it is softer than that, it counts as that loud


@dataclass(frozen=True)
class Mixing:
    """How a song is mixed: (from, to) are drawn evenly; decibels are those of a sound above the music under it."""

    seconds: float = 20.0
    snr: tuple[float, float] = (-6.0, 9.0)  # decibels of a phrase above all else
    words: tuple[int, int] = (1, 6)  # recordings of one speaker in a row
    longest: float = 3.0  # seconds of a phrase out of a longer recording
    between: tuple[float, float] = (0.02, 0.14)  # seconds from word to word
    pauses: tuple[float, float] = (0.4, 2.5)  # seconds from phrase to phrase
    distractors: float = 0.5  # other sounds a phrase, on average
    loud: tuple[float, float] = (-3.0, 9.0)  # decibels of other sounds above the music
    gain: float = 6.0  # decibels by which the whole is louder or softer
    other: float = 0.0  # by which voices and music are played faster or slower, as if of others
    tilt: float = (
        0.0  # by which their treble is raised or lowered: a sample takes away so much of the one before it
    )


@dataclass(frozen=True, eq=False)
class Mix:
    """A recording with a voice, the same without it, and when it is there: (samples,) each."""

    samples: Any
    music: Any
    voiced: Any

    @property
    def frames(self) -> Any:
        """Whether there is a voice in the middle of each frame."""
        at = np.arange(0, len(self.samples) + 1, MEL.hop)
        return self.voiced[np.minimum(at, len(self.samples) - 1)]


USUAL = Mixing()
VARIED = Mixing(other=0.3, tilt=0.6)  # to train on: few speakers become many


def voiced(samples: Any) -> Any:
    """When a voice that is alone is heard, (samples,) of bools."""
    power = uniform_filter1d(samples.astype(np.float64) ** 2, round(0.02 * RATE))
    at = np.flatnonzero(power > power.max() / 10 ** (QUIET / 10))
    heard = np.zeros(len(samples), bool)
    heard[at] = True
    gaps = np.diff(at)
    for i in np.flatnonzero((gaps > 1) & (gaps < GAP * RATE)):
        heard[at[i] : at[i + 1]] = True
    return heard


def trimmed(samples: Any, heard: Any) -> tuple[Any, Any]:
    """A recording of a voice without the silence around it, coming and going softly, and when it is heard."""
    at = np.flatnonzero(heard)
    kept = slice(at[0], at[-1] + 1)
    return soft(samples[kept]), heard[kept]


def soft(samples: Any) -> Any:
    ramp = np.minimum(1, np.arange(1, len(samples) + 1) / (SOFT * RATE))
    return samples * np.minimum(ramp, ramp[::-1])


def piece(samples: Any, n: int, rng: np.random.Generator) -> Any:
    """So many samples from anywhere in a recording; one that is shorter goes around."""
    if len(samples) < n:
        samples = np.tile(samples, -(-n // len(samples)))
    start = rng.integers(len(samples) - n + 1)
    return samples[start : start + n]


def spoken(takes: tuple[Any, ...], seconds: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """A take of a speaker, of at most so many seconds, and when it is heard.

    Of a long recording it is the loudest of a few places: hardly anything is told by a breath.
    """
    take, n = takes[rng.integers(len(takes))], round(seconds * RATE)
    heard = voiced(take)
    at = np.flatnonzero(heard)
    starts = at[:1] if len(takes) > 1 else rng.choice(at[at <= max(at[0], len(take) - n)], PLACES)
    start = max(starts, key=lambda start: float(np.sum(take[start : start + n] ** 2)))
    return trimmed(take[start : start + n], heard[start : start + n])


def phrase(takes: tuple[Any, ...], how: Mixing, rng: np.random.Generator) -> tuple[Any, Any]:
    """A few words of a speaker in a row, and when they are heard: a gap between them counts as voice."""
    n_words = rng.integers(*how.words, endpoint=True) if len(takes) > 1 else 1
    sound, heard = list[Any](), list[Any]()
    for _ in range(n_words):
        word, when = spoken(takes, rng.uniform(0.4, how.longest) if len(takes) == 1 else how.longest, rng)
        gap = round(rng.uniform(*how.between) * RATE)
        sound += [np.zeros(gap), word / (np.sqrt(np.mean(word[when] ** 2)) + 1e-9)]
        heard += [np.ones(gap, bool), when]
    return varied(np.concatenate(sound[1:]), np.concatenate(heard[1:]), how, rng)


def varied(samples: Any, heard: Any, how: Mixing, rng: np.random.Generator) -> tuple[Any, Any]:
    """A sound as if of another speaker or instrument, through another microphone, and when it is heard."""
    if not (how.other or how.tilt):
        return samples, heard
    at = np.arange(0, len(samples) - 1, (1 + how.other) ** rng.uniform(-1, 1))
    played = np.interp(at, np.arange(len(samples)), samples)
    tilt = rng.uniform(-how.tilt, how.tilt)
    return played - tilt * np.concatenate([[0.0], played[:-1]]), heard[at.astype(int)]


def put(sound: Any, added: Any, at: int, *, when: Any, decibels: float, floor: float) -> Any:
    """What is added, that loud above the sound that is there, as long as the sound, (samples,)."""
    n = min(len(added), len(sound) - at)
    under = max(np.sqrt(np.mean(sound[at : at + n] ** 2)), floor)
    level = np.sqrt(np.mean(added[when] ** 2)) + 1e-9
    found = np.zeros(len(sound))
    found[at : at + n] = added[:n] * under / level * 10 ** (decibels / 20)
    return found


def song(sounds: Sounds, rng: np.random.Generator, how: Mixing = USUAL) -> Mix:
    """Music with phrases of voices and other sounds, each at a time of its own."""
    n = round(how.seconds * RATE)
    tracks = [take for takes in sounds.music.values() for take in takes]
    track = tracks[rng.integers(len(tracks))]
    track, _ = varied(track, np.ones(len(track), bool), how, rng)
    floor = FLOOR * track.std()
    music = piece(track, n, rng).astype(np.float64)
    clips = [take for takes in sounds.others.values() for take in takes]
    mean = how.seconds / (np.mean(how.pauses) + 1.5) * how.distractors
    for _ in range(rng.poisson(mean) if clips else 0):
        music = music + distractor(music, clips[rng.integers(len(clips))], rng, how)
    voice, when = np.zeros(n), np.zeros(n, bool)
    at = round(rng.uniform(0, how.pauses[1]) * RATE)
    speakers = list(sounds.voices.values())
    while at < n - RATE // 4:
        words, heard = phrase(speakers[rng.integers(len(speakers))], how, rng)
        voice += put(music, words, at, when=heard, decibels=rng.uniform(*how.snr), floor=floor)
        when[at : at + len(heard)] |= heard[: n - at]
        at += len(words) + round(rng.uniform(*how.pauses) * RATE)
    gain = 10 ** (rng.uniform(-how.gain, how.gain) / 20)
    return Mix((gain * (music + voice)).astype(np.float32), (gain * music).astype(np.float32), when)


def distractor(music: Any, clip: Any, rng: np.random.Generator, how: Mixing) -> Any:
    """Another sound anywhere in the music."""
    sound = soft(piece(clip, min(len(clip), round(rng.uniform(0.3, 1.5) * RATE)), rng))
    at = rng.integers(len(music) - len(sound) + 1)
    return put(music, sound, at, when=slice(None), decibels=rng.uniform(*how.loud), floor=FLOOR * music.std())


def excerpt(
    sounds: Sounds,
    rng: np.random.Generator,
    *,
    snr: float | None,
    loud: float | None = None,
    frames: int = FRAMES,
) -> Mix:
    """Music with one word across a frame that can be told, or with none; ``loud``: and another sound, so loud.

    Of 115 frames that is the one in the middle, of more any of those in between.
    """
    n = (frames - 1) * MEL.hop
    tracks = [take for takes in sounds.music.values() for take in takes]
    track = tracks[rng.integers(len(tracks))]
    music, floor = piece(track, n, rng).astype(np.float64), FLOOR * track.std()
    speakers = list(sounds.voices.values())
    word, heard = spoken(speakers[rng.integers(len(speakers))], rng.uniform(0.3, 0.7), rng)
    across = MEL.hop * rng.integers(NEAR, frames - NEAR)
    at = across - rng.integers(len(word) // 4, 3 * len(word) // 4 + 1)  # in the middle half of the word
    if loud is not None:
        music = music + beside(music, sounds, rng, gap=(at, at + len(word)), decibels=loud, floor=floor)
    voice, when = np.zeros(n), np.zeros(n, bool)
    if snr is not None:
        voice = put(music, word, at, when=heard, decibels=snr, floor=floor)
        when[at : at + len(word)] = heard
    return Mix((music + voice).astype(np.float32), music.astype(np.float32), when)


def beside(
    music: Any, sounds: Sounds, rng: np.random.Generator, *, gap: tuple[int, int], decibels: float, floor: float
) -> Any:
    """Another sound, as long as a gap and not in it, where there is more room."""
    clips = [take for takes in sounds.others.values() for take in takes]
    clip = clips[rng.integers(len(clips))]
    start, stop = (0, gap[0]) if gap[0] > len(music) - gap[1] else (gap[1], len(music))
    other = soft(piece(clip, min(gap[1] - gap[0], len(clip), stop - start), rng))
    at = rng.integers(start, stop - len(other) + 1)
    return put(music, other, at, when=slice(None), decibels=decibels, floor=floor)
