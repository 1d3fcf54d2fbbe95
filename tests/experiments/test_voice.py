"""A voice in music: the experiment on sounds made here, its tables, and songs of Jamendo made here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import veridical as vd

torch = pytest.importorskip("torch")
soundfile = pytest.importorskip("soundfile")

HERE = Path(__file__).parents[2]
PATHS = [str(HERE / "experiments"), str(HERE / "examples")]
sys.path[:0] = PATHS  # for these imports alone
try:
    from models import jamendo

    import sections.voice
    import voice
    import voices
    from sets import NoDataError
finally:
    for path in PATHS:
        sys.path.remove(path)

WHAT = ["windows", "tiles at -6 dB, another sound"]


def test_it_is_measured_on_made_sounds_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice, "METHODS", {"content": "content", "Occlusion": vd.Occlusion()})
    monkeypatch.setattr(voice, "SNRS", (6, 3, 0, -3))
    out = tmp_path / "voice.json"
    words = [
        "--data",
        "made",
        "--size",
        "tiny",
        "--seeds",
        "0",
        "--windows",
        "2",
        "--excerpts",
        "1",
        "--out",
        str(out),
    ]
    voice.main(voice.arguments().parse_args([*words, "--weights", str(tmp_path / "nets"), "--what", *WHAT]))
    found = json.loads(out.read_text(encoding="utf-8"))["cells"]
    assert [cell["what"] for cell in found] == WHAT
    windows, tiles = found
    assert "error" not in windows, windows
    assert len(windows["right"]) == 10
    if "error" not in tiles:  # of so small a detector nothing is known but that it answers, or hears no voice
        assert set(tiles["rows"]["content"]) == set(voice.MEASURES)
        assert tiles["rows"]["content"]["calls"] <= 600
    assert list((tmp_path / "nets").glob("*.pt")), "it is not trained twice"
    assert sections.voice.tables(found).startswith("| target")


def test_tables_say_what_was_found(tmp_path: Path) -> None:
    made = [
        {"seed": 0, "what": "windows", "n": 9, "right": {k + also: 0.96 for k in ("none", *sections.voice.CLEAR)
                                                          for also in ("", voice.BESIDE)}},
        {"seed": 0, "what": "tiles at +6 dB", "rows": {
            "content": {"hit": 0.95, "overlap": 0.7, "when": 1.0, "calls": 21.0},
            "random": {"hit": 0.1, "overlap": 0.2, "when": 0.3, "calls": 0.0}}},
        {"seed": 1, "what": "tiles at +6 dB", "error": "ValueError: the detector hears no voice"},
    ]  # fmt: skip
    text = sections.voice.tables(made)
    assert "| ≥ 94 % | 96.0  | yes |" in text
    assert "| content      | 21    | 95.0  |" in text
    assert "hears no voice" in text
    sections.voice.figures(made[:2], tmp_path)
    assert (tmp_path / "voice.svg").exists()


def test_tiles_of_the_voice_are_those_that_it_adds_to() -> None:
    labels = np.repeat([[0, 1], [2, 3]], 2, axis=1)
    added = voice.by_tile(np.array([[4, 4, 0, 0], [2, 2, 0, 1.0]]), labels)
    np.testing.assert_array_equal(added, [4, 0, 2, 0.5])
    rng = np.random.default_rng(0)
    best = voice.scored(np.array([9, 0, 8, 1]), added, added > 0, rng)
    assert best == {"hit": 1.0, "overlap": 1.0, "when": 1.0}
    worst = voice.scored(np.array([-9, 5, -8, 1]), added, added > 0, rng)
    assert worst == {"hit": 0.0, "overlap": 0.0, "when": 0.0}


def test_the_voice_of_a_longer_excerpt_may_be_anywhere_in_its_middle() -> None:
    module = voices.detector.Anywhere(voices.detector.built(0, 2))
    heard = torch.randn(2, 80, 229, generator=torch.Generator().manual_seed(0))
    assert module(heard).shape == (2, 1)
    parts = voices.parts(Path("made"), 0)
    mixes = voices.excerpts(parts["test"], 20, np.random.default_rng(0), snr=0.0, loud=6.0, frames=229)
    middles = [float(np.flatnonzero(mix.frames).mean()) for mix in mixes]
    assert min(middles) < 90
    assert max(middles) > 140
    assert voices.log_mels(mixes[:1]).shape == (1, 80, 229)


def test_missing_data_is_told_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match="--data made"):
        voices.check(tmp_path)
    with pytest.raises(SystemExit, match="voice: wanted fsdd/"):
        voice.main(voice.arguments().parse_args(["--data", str(tmp_path)]))


@pytest.fixture
def songs(tmp_path: Path) -> Path:
    """Two songs of two rates, one of them stereo, with lists and annotations."""
    rng = np.random.default_rng(0)
    for folder, name, rate, shape in (("train", "one", 22050, (44100,)), ("test", "two", 44100, (88200, 2))):
        (tmp_path / "audio" / folder).mkdir(parents=True)
        soundfile.write(tmp_path / "audio" / folder / f"{name}.wav", 0.1 * rng.normal(size=shape), rate)
        (tmp_path / "labels").mkdir(exist_ok=True)
        (tmp_path / "labels" / f"{name}.lab").write_text("0.0 0.5 nosing\n0.5 1.5 sing\n\n1.5 2.0 nosing\n")
        (tmp_path / f"{folder}.txt").write_text(f"{name}.ogg\n")
    return tmp_path


def test_songs_of_jamendo_have_the_truth_of_their_annotations(songs: Path) -> None:
    for part in ("train", "test"):
        (mix,) = jamendo.songs(songs, part)
        assert len(mix.samples) == 44100
        assert mix.voiced.mean() == pytest.approx(0.5)
        assert mix.voiced[22050]
        pieces = list(jamendo.excerpts_of(iter([mix]), 0.75))
        assert [len(piece.samples) for piece in pieces] == [16538, 16538]
        assert pieces[1].voiced[:1000].all()


@pytest.mark.parametrize(
    ("line", "told"), [("0 1 maybe", "wanted start, end and sing"), ("2 1 sing", "before it starts")]
)
def test_broken_annotations_are_told(songs: Path, line: str, told: str) -> None:
    (songs / "labels/one.lab").write_text(line)
    with pytest.raises(ValueError, match=told):
        list(jamendo.songs(songs, "train"))


def test_missing_songs_and_lists_are_told(songs: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no list of songs called valid"):
        list(jamendo.songs(songs, "valid"))
    (songs / "labels/two.lab").unlink()
    with pytest.raises(FileNotFoundError, match=r"no two with any of the endings \.lab"):
        list(jamendo.songs(songs, "test"))
