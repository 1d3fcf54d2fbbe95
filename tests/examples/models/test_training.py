"""Mixing voices into music, and how the detector of the examples learns from it, on sounds made here."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

EXAMPLES = str(Path(__file__).parents[3] / "examples")
sys.path.insert(0, EXAMPLES)  # for these imports alone
try:
    from models import detector, ears, mixing, sounds, training
finally:
    sys.path.remove(EXAMPLES)

SHORT = mixing.Mixing(seconds=6.0, words=(1, 2), pauses=(0.4, 1.0))
ONCE = training.Training(epochs=1, batches=1, batch=2, frames=130)


@cache
def made() -> sounds.Sounds:
    return sounds.made()


@pytest.fixture(scope="module")
def songs() -> training.Songs:
    rng = np.random.default_rng(0)
    return training.Songs.of([mixing.song(made(), rng, SHORT) for _ in range(3)])


def test_no_speaker_or_track_is_in_two_parts_and_everyone_is_tested_in_the_end() -> None:
    tested = set()
    for turn in range(6):
        parts = sounds.split(made(), turn)
        for kind in ("voices", "music", "others"):
            names = [set(getattr(part, kind)) for part in parts.values()]
            assert sum(map(len, names)) == len(set.union(*names)) == len(getattr(made(), kind))
        assert parts["test"].voices
        assert parts["test"].music
        tested |= set(parts["test"].voices)
    assert tested == set(made().voices)


def test_sounds_are_read_from_folders_and_from_a_pack(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(0)
    for name, rate in {
        "fsdd/3_ann_0.wav": 8000,
        "fsdd/3_bob_1.wav": 8000,
        "game_music/quest_caves.ogg": 22050,
        "music_speech/198-209-0000.ogg": 22050,
        "music_speech/sorohanro_-_solo-trumpet-06.ogg": 22050,
        "music_speech/Karissa_Hobbs_-_Song.ogg": 22050,
        "esc10/1-1-A-0.flac": 22050,
        "esc10/1-2-A-0.flac": 22050,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        soundfile.write(tmp_path / name, 0.1 * rng.normal(size=rate), rate)
    index = "file,category,target\n1-1-A-0.flac,dog,0\n1-2-A-0.flac,sneezing,1\n"
    (tmp_path / "esc10/index.csv").write_text(index, encoding="utf-8")
    sounds.pack(tmp_path, tmp_path / "packed", longest={"voices": 1.0, "music": 0.5, "others": 0.5})
    for folder, seconds in ((tmp_path, 1.0), (tmp_path / "packed", 0.5)):
        found = sounds.read(folder)
        assert set(found.voices) == {"fsdd/ann", "fsdd/bob", "readers/198"}
        assert set(found.music) == {"quest/caves"}
        assert set(found.others) == {"beasts/sorohanro_-_solo-trumpet-06", "dog/1-1-A-0"}
        assert len(found.voices["fsdd/ann"][0]) == pytest.approx(22050, abs=2)
        assert len(found.music["quest/caves"][0]) == pytest.approx(22050 * seconds, abs=2)
    with pytest.raises(FileNotFoundError, match="neither"):
        sounds.read(tmp_path / "esc10")


def test_the_voice_is_as_loud_as_it_should_be_and_where_it_is_said_to_be() -> None:
    for snr in (6.0, -6.0):
        mix = mixing.excerpt(made(), np.random.default_rng(1), snr=snr, loud=3.0)
        voice = (mix.samples - mix.music)[mix.voiced]
        under = mix.music[slice(*np.flatnonzero(mix.voiced)[[0, -1]])]
        assert 20 * np.log10(voice.std() / under.std()) == pytest.approx(snr, abs=0.2)
        assert mix.frames.shape == (detector.FRAMES,)
        assert mix.frames[detector.NEAR], "it is across the middle"
        np.testing.assert_allclose(mix.samples[~mix.voiced], mix.music[~mix.voiced], atol=0.05 * voice.std())
    none = mixing.excerpt(made(), np.random.default_rng(1), snr=None)
    assert not none.frames.any()
    np.testing.assert_array_equal(none.samples, none.music)


def test_short_silences_inside_a_voice_are_voice_and_long_ones_are_not() -> None:
    second = np.sin(np.arange(sounds.RATE) * 0.3)
    for silence, filled in ((0.1, True), (0.3, False)):
        samples = second.copy()
        samples[8000 : 8000 + round(silence * sounds.RATE)] = 0
        assert mixing.voiced(samples)[8000 + round(silence * sounds.RATE / 2)] == filled


def test_songs_are_heard_as_by_the_library(songs: training.Songs) -> None:
    samples = mixing.song(made(), np.random.default_rng(0), SHORT).samples
    np.testing.assert_allclose(songs.log_mels[0].exp(), np.exp(detector.MEL(samples)), rtol=5e-3, atol=1e-5)
    assert songs.log_mels.shape[2] == songs.truth.shape[1]


def test_the_bank_of_the_library_is_that_of_the_pitch_as_it_is() -> None:
    bank = ears.filters(detector.MEL, torch.tensor([1.0]))[0]
    np.testing.assert_allclose(bank, detector.MEL.bank, atol=1e-7)


def test_higher_pitch_is_heard_higher() -> None:
    tone = torch.sin(2 * np.pi * 1000 * torch.arange(22050) / 22050)[None]
    mels = ears.filters(detector.MEL, torch.tensor([1.0, 1.3])) @ detector.MEL.spectra(tone).abs()
    heard = detector.MEL.hertz[mels.mean(2).argmax(1)]
    np.testing.assert_allclose(heard, (1000, 1300), atol=80)


@pytest.mark.parametrize("bands", [training.random_bands, training.published_bands])
def test_filters_are_louder_or_softer_by_ten_decibels_at_most(bands: training.Filter) -> None:
    added = bands(64, torch.Generator().manual_seed(0))
    assert added.shape == (64, 80)
    assert added.abs().max() <= 10 * np.log(10) / 20 + 1e-6
    slipped = added.abs().argmax(1).float().median() < 10
    assert slipped == (bands is training.published_bands)


def test_excerpts_have_the_truth_of_their_frames(songs: training.Songs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "CHANGE", 0.0)
    marked = replace(songs, truth=songs.log_mels.mean(1))  # a truth that can be told from what is heard

    def flat(n: int, generator: torch.Generator) -> torch.Tensor:
        return torch.zeros(n, 80)

    heard, truth = training.excerpts(marked, ONCE, torch.Generator().manual_seed(0), flat)
    assert heard.shape == (2, 80, 130)
    assert truth.shape == (2, 130 - 114)
    np.testing.assert_allclose(heard.mean(1)[:, detector.NEAR : -detector.NEAR], truth, atol=1e-4)


def test_songs_too_short_are_refused(songs: training.Songs) -> None:
    with pytest.raises(ValueError, match="too short"):
        training.excerpts(songs, replace(ONCE, frames=400), torch.Generator())


def test_training_is_the_same_again_and_moves_the_answers(songs: training.Songs) -> None:
    once, again = (training.train(detector.built(0, 2), songs, ONCE, seed=1) for _ in range(2))
    heard = songs.log_mels[:1, :, :130]
    first = training.answers(once, heard)
    assert first.shape == (1, 16)
    np.testing.assert_array_equal(first, training.answers(again, heard))
    assert np.abs(first - training.answers(detector.built(0, 2), heard)).max() > 1e-3
    assert not once.training


def test_scores_and_thresholds_in_closed_form() -> None:
    truth = np.array([[0, 0, 1, 1, 1, 1, 1, 1, 0, 0]])
    probabilities = np.array([[0.1, 0.6, 0.9, 0.9, 0.2, 0.9, 0.9, 0.7, 0.3, 0.1]])
    found = training.scores(probabilities, truth, 0.5)
    assert found == {"accuracy": 0.8, "recall": pytest.approx(5 / 6), "specificity": 0.75}
    assert training.chosen(probabilities, truth) == pytest.approx(0.61)
    np.testing.assert_array_equal(training.smoothed(probabilities, 3)[0, 4], 0.9)
