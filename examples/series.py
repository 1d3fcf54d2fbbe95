"""Is this heartbeat normal? A classifier on random convolutions, explained by windows of time.

The beats are made here: a P wave, a QRS spike and a T wave, each a little different every time, with noise and
drift. In the abnormal ones the T wave hangs down. Nobody tells the model where to look; the explanation should
find the T wave.

    python examples/series.py [page.html]
"""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import veridical as vd

SAMPLES = 200  # one beat
WAVES = {  # center, width and height; in samples, samples and millivolts
    "P": (40, 8, 0.15),
    "Q": (75, 3, -0.12),
    "R": (82, 3, 1.0),
    "S": (89, 3, -0.2),
    "T": (140, 14, 0.3),
}


def beat(abnormal: bool, rng: np.random.Generator) -> np.ndarray:
    """One heartbeat in millivolts; where the T wave should be up, an abnormal one has it down."""
    time = np.arange(SAMPLES)
    drift = 0.1 * rng.normal() * np.sin(2 * np.pi * time / SAMPLES + rng.uniform(0, 6))
    signal = drift + 0.03 * rng.normal(size=SAMPLES)
    for name, (center, width, height) in WAVES.items():
        turned = -1 if abnormal and name == "T" else 1
        center, height = center + 2 * rng.normal(), height * turned * rng.uniform(0.7, 1.3)
        signal += height * np.exp(-0.5 * ((time - center) / width) ** 2)
    return signal


class RandomConvolutions:
    """Features of a series (Dempster et al., 2020): how often, and how far, random kernels find their pattern."""

    def __init__(self, n_kernels: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.kernels = rng.normal(size=(n_kernels, 9))
        self.kernels -= self.kernels.mean(1, keepdims=True)
        self.steps = rng.choice([1, 2, 4, 8, 16], n_kernels)
        self.biases = rng.uniform(-0.5, 0.5, n_kernels)

    def __call__(self, series: np.ndarray) -> np.ndarray:
        columns = []
        for kernel, step, bias in zip(self.kernels, self.steps, self.biases, strict=True):
            end = series.shape[1] - (len(kernel) - 1) * step
            found = sum(k * series[:, i * step : end + i * step] for i, k in enumerate(kernel)) - bias
            columns += [found.max(1), (found > 0).mean(1)]
        return np.column_stack(columns)


def main(page: str = "series.html") -> None:
    rng = np.random.default_rng(0)
    abnormal = rng.random(300) < 0.5
    beats = np.array([beat(a, rng) for a in abnormal])
    labels = np.where(abnormal, "abnormal", "normal")
    model = make_pipeline(
        FunctionTransformer(RandomConvolutions(100, seed=0)),
        StandardScaler(),
        LogisticRegression(C=0.01, max_iter=1000),
    ).fit(beats, labels)
    accuracy = cross_val_score(model, beats, labels, cv=5).mean()
    print(f"{len(beats)} heartbeats, {accuracy:.0%} of them told apart in cross-validation\n")

    why = vd.explain(model, vd.Windows(10), beat(True, rng))
    print(why)
    print(f"\nThe T wave is at sample {WAVES['T'][0]}.")
    why.save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
