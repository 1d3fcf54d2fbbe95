"""Three seconds of music made from scratch: a plucked guitar, and a voice that comes in halfway.

The guitar is Karplus and Strong's string: noise that goes around a delay line. The voice is a buzz with vibrato
that goes through the resonances of a mouth, the formants of its vowels.
"""

import numpy as np
from scipy.signal import iirpeak, lfilter

RATE = 16_000
SECONDS = 3.0
VOICE_FROM = 1.5  # seconds
CHORD = (131, 196, 262, 330, 392, 330, 262, 196)  # Hz
MELODY = (330, 371, 412)  # Hz
FORMANTS = {"a": (800, 1150, 2900, 3900), "o": (450, 800, 2830, 3800), "e": (400, 1700, 2600, 3700)}  # Hz


def song() -> np.ndarray:
    """The guitar all along, the voice from VOICE_FROM on."""
    rng = np.random.default_rng(0)
    sound = np.zeros(int(SECONDS * RATE))
    for i, pitch in enumerate(CHORD + CHORD[:4]):
        add(sound, 0.15 * pluck(pitch, rng), at=i / 4)
    length = (SECONDS - VOICE_FROM) / len(MELODY)
    for i, (pitch, vowel) in enumerate(zip(MELODY, "aoa", strict=True)):
        add(sound, 0.8 * sing(pitch, length, vowel, rng), at=VOICE_FROM + i * length)
    return (0.5 * sound / abs(sound).max()).astype(np.float32)


def add(sound: np.ndarray, note: np.ndarray, at: float) -> None:
    start = round(at * RATE)
    note = note[: len(sound) - start]
    sound[start : start + len(note)] += note


def pluck(pitch: float, rng: np.random.Generator) -> np.ndarray:
    """One second of a plucked string."""
    period = round(RATE / pitch)
    noise = np.zeros(RATE)
    noise[:period] = rng.uniform(-1, 1, period)
    string = np.zeros(period + 2)
    string[[0, period, period + 1]] = 1, -0.498, -0.498  # what comes back is the mean of two samples, a bit weaker
    sound = lfilter([1], string, noise)
    return sound / abs(sound).max()


def sing(pitch: float, seconds: float, vowel: str, rng: np.random.Generator) -> np.ndarray:
    """A sung note that glides from a vowel to an e."""
    time = np.arange(round(seconds * RATE)) / RATE
    vibrato = 1 + 0.03 * np.sin(2 * np.pi * 5.5 * time) * np.minimum(1, time / 0.2)
    phase = np.cumsum(pitch * vibrato) / RATE % 1
    buzz = np.diff((1 - phase) ** 2, prepend=0) + 0.01 * rng.normal(size=len(time))
    glide = np.clip((time / seconds - 0.4) / 0.2, 0, 1)
    sound = (1 - glide) * mouth(buzz, vowel) + glide * mouth(buzz, "e")
    sound *= np.minimum(1, time / 0.06) * np.minimum(1, (seconds - time) / 0.08)
    return sound / abs(sound).max()


def mouth(buzz: np.ndarray, vowel: str) -> np.ndarray:
    return sum(
        loudness * lfilter(*iirpeak(formant, formant / width, fs=RATE), buzz)
        for formant, width, loudness in zip(FORMANTS[vowel], (80, 90, 120, 130), (1, 0.5, 0.25, 0.15), strict=True)
    )
