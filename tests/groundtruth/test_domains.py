"""Recordings are attacked as waves and as spectra, through front ends that are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.networks import seeded
from veridical.groundtruth.causes import Aim, choose_aim

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

RNG = np.random.default_rng(0)
SEED = np.random.SeedSequence(0)
MEL = vd.sounds.Mel(rate=8000, n_mels=16, n_fft=256, hop=100, fmax=4000.0, floor=1e-3)
TIME = np.arange(2000) / 8000
SOUNDS = np.stack([np.sin(2 * np.pi * f * TIME) * 0.3 for f in (300.0, 700.0, 1500.0)]) + RNG.normal(
    size=(3, 2000), scale=0.02
)
HEARD = vd.Tiles(times=3, bands=2, front=MEL)


def listening(X: Any = SOUNDS, represent: Any = HEARD) -> Aim:
    module = seeded(lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 21, 1)), 3).double()
    with torch.no_grad():
        module[1].weight *= 4
    return choose_aim(vd.Network(module, answers="sigmoid"), represent, X)


@pytest.mark.parametrize(
    "mel", [MEL, vd.sounds.Mel(), vd.sounds.Mel(rate=16000, n_mels=40, n_fft=510, hop=160, fmin=0, fmax=None)]
)
def test_the_front_end_is_that_of_librosa_in_numpy_and_in_torch(mel: vd.sounds.Mel) -> None:
    feature = pytest.importorskip("librosa").feature
    t = np.arange(9001) / mel.rate
    samples = 0.3 * np.sin(2 * np.pi * 440 * t) + RNG.normal(size=9001, scale=0.05)
    power = feature.melspectrogram(
        y=samples.astype(np.float32), sr=mel.rate, n_fft=mel.n_fft, hop_length=mel.hop, n_mels=mel.n_mels,
        fmin=mel.fmin, fmax=mel.fmax, power=1.0, htk=True,
    )  # fmt: skip
    expected = np.log(np.maximum(power, mel.floor))
    np.testing.assert_allclose(mel(samples), expected, atol=1e-4)
    for dtype in (torch.float32, torch.float64):
        made = mel.tensor(torch.tensor(np.stack([samples, samples]), dtype=dtype))
        np.testing.assert_allclose(made[1].numpy(), expected, atol=1e-4)


def test_the_front_end_is_differentiated() -> None:
    samples = torch.tensor(SOUNDS[:1, :600], requires_grad=True)
    assert torch.autograd.gradcheck(MEL.tensor, samples, atol=1e-4)


def test_spectra_sound_as_what_they_were_made_of() -> None:
    heard = MEL.sound(MEL.spectra(torch.tensor(SOUNDS)), SOUNDS.shape[1])
    np.testing.assert_allclose(heard.numpy(), SOUNDS, atol=1e-9)


@pytest.mark.parametrize(
    "attack",
    [vd.attacks.Pgd(domain=vd.attacks.Waveform()), vd.attacks.CarliniWagner(domain=vd.attacks.Waveform(MEL))],
)
def test_the_recording_is_changed_and_heard_again(attack: Any) -> None:
    for cause, samples in zip(attack(listening(), SEED), SOUNDS, strict=True):
        assert cause.success, cause.reason
        assert cause.sounds is not None
        before, after, rate = cause.sounds
        assert rate == 8000
        np.testing.assert_array_equal(before, samples)
        assert 0 < np.abs(after - before).max() <= 0.01 * (1 + 1e-6)
        np.testing.assert_array_equal(cause.x, MEL(before))
        np.testing.assert_array_equal(cause.changed, MEL(after))


@pytest.mark.parametrize(
    "attack",
    [
        vd.attacks.Pgd(domain=vd.attacks.Spectrum()),
        vd.attacks.CarliniWagner(domain=vd.attacks.Spectrum(MEL), confidence=0.9),
    ],
)
def test_the_magnitudes_are_changed(attack: Any) -> None:
    for cause, samples in zip(attack(listening(), SEED), SOUNDS, strict=True):
        assert cause.success, cause.reason
        assert cause.sounds is not None
        np.testing.assert_array_equal(cause.x, MEL(samples))
        np.testing.assert_allclose(MEL(cause.sounds[1]), cause.changed, atol=2.0)  # spectra overlap, so about
        assert np.corrcoef(MEL(cause.sounds[1]).ravel(), cause.changed.ravel())[0, 1] > 0.95


def test_recordings_of_whole_numbers() -> None:
    whole = np.rint(SOUNDS * 30000).astype(np.int16)
    for cause in vd.attacks.Pgd(domain=vd.attacks.Waveform())(listening(whole), SEED):
        assert cause.sounds is not None
        assert cause.sounds[1].dtype == np.int16
        assert 0 < np.abs(cause.sounds[1].astype(float) - cause.sounds[0]).max() <= 0.01 * 32768


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: vd.attacks.Waveform(vd.sounds.Mel(rate=16000)), ("front", "16000", "8000")),
        (lambda: vd.attacks.Spectrum(vd.sounds.Mel(rate=16000)), ("front", "16000", "8000")),
    ],
)
def test_a_domain_hears_by_the_front_of_the_representer(ask: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(vd.errors.InputError) as caught:
        vd.attacks.Pgd(domain=ask())(listening(), SEED)
    for word in words:
        assert word in str(caught.value)


def test_recordings_of_another_rate_or_no_recordings_are_told() -> None:
    other = vd.Tiles(times=3, bands=2, front=MEL, rate=16000)
    with pytest.raises(vd.errors.InputError, match=r"8000 samples per second.*16000.*resample"):
        vd.attacks.Pgd(domain=vd.attacks.Waveform())(listening(represent=other), SEED)
    spectrograms = np.stack([MEL(each) for each in SOUNDS])
    with pytest.raises(vd.errors.InputError, match="give the recordings"):
        vd.attacks.Pgd(domain=vd.attacks.Waveform())(listening(spectrograms), SEED)
    with pytest.raises(vd.errors.ModelError, match="shape"):
        listening([SOUNDS[0], SOUNDS[1][:1500]])


def test_a_front_end_of_ones_own_has_to_be_the_same_in_torch() -> None:
    class Louder:
        rate = 8000

        def __call__(self, samples: Any) -> Any:
            return MEL(samples)

        def tensor(self, samples: Any) -> Any:
            return MEL.tensor(samples) + 1

    with pytest.raises(vd.errors.InputError, match="both have to be the same"):
        vd.attacks.Pgd(domain=vd.attacks.Waveform())(listening(represent=vd.Tiles(3, 2, front=Louder())), SEED)
    with pytest.raises(vd.errors.InputError, match=r"needs tensor\(…\)"):
        vd.attacks.Pgd(domain=vd.attacks.Waveform())(
            listening(represent=vd.Tiles(3, 2, front=lambda s: MEL(s))), SEED
        )
