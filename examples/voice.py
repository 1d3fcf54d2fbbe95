"""Where in the spectrogram is the voice? A detector trained here, asked about music with one word in it.

Without a folder of sounds, voices, strings and noises are made in models/sounds.py, and a small detector learns
from songs mixed of them. It is then asked about a singer and a tune that it never heard. As it is known where the
voice was put, the explanation can be checked.

    pip install torch
    python examples/voice.py [page.html] [--data DIR] [--jamendo DIR]

With --data, DIR has fsdd/, game_music/, music_speech/ and esc10/ (spoken digits, music, readers and other sounds);
with --jamendo, the songs of Jamendo with their annotations, whose voices cannot be taken away: there the detector
is trained and scored, and nothing is explained. Both read sound files by soundfile.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from models import jamendo, sounds
from models.detector import MEL, NEAR, Detector, asking, built
from models.mixing import USUAL, VARIED, Mix, excerpt, song
from models.training import QUICK, Songs, answers, chosen, scores, smoothed, train

import veridical as vd

WIDTH = 4  # of the second convolution; the paper's is 32
PARTS = ("train", "valid", "test")
N_SONGS = (20, 4, 6)  # mixed for each of them


def learned(songs: Songs, valid: Songs, test: Songs) -> Detector:
    """A trained detector, after telling how often it is right."""
    detector = train(built(width=WIDTH), songs, QUICK)
    found = {name: answers(detector, some.log_mels) for name, some in (("valid", valid), ("test", test))}
    truth = {"valid": valid.truth[:, NEAR:-NEAR].numpy(), "test": test.truth[:, NEAR:-NEAR].numpy()}
    threshold = chosen(smoothed(found["valid"]), truth["valid"])
    told = scores(smoothed(found["test"]), truth["test"], threshold)
    print("unseen voices and tracks, frame by frame:", ", ".join(f"{k} {v:.2f}" for k, v in told.items()))
    return detector


def explained(detector: Detector, test: sounds.Sounds) -> tuple[Mix, vd.Explanation]:
    """An excerpt with a word in it that the detector hears, and why it does."""
    rng = np.random.default_rng(0)
    network = asking(detector)
    tries = [excerpt(test, rng, snr=3.0, loud=3.0) for _ in range(40)]
    heard = network(np.stack([MEL(mix.samples) for mix in tries]))[:, 0]
    mix = tries[int(np.argmax(heard))]
    print(f"the detector is sure of a voice by {heard.max():.2f}")
    why = vd.explain(
        network, vd.Tiles(front=MEL), mix.samples, target="voice", classes=["voice"], method=vd.methods.Undo()
    )
    return mix, why


def main(page: str, data: Path | None = None, folder: Path | None = None) -> None:
    torch.set_num_threads(1)
    if folder is not None:
        cut = {part: Songs.of([*jamendo.excerpts_of(jamendo.songs(folder, part), 20.0)]) for part in PARTS}
        learned(*cut.values())
        return
    parts = sounds.split(sounds.made() if data is None else sounds.read(data))
    rng = np.random.default_rng(0)
    mixed = {
        part: Songs.of([song(parts[part], rng, VARIED if part == "train" else USUAL) for _ in range(n)])
        for part, n in zip(PARTS, N_SONGS, strict=True)
    }
    mix, why = explained(learned(*mixed.values()), parts["test"])
    seconds = np.flatnonzero(mix.voiced)[[0, -1]] / sounds.RATE
    print(f"the voice is there from {seconds[0]:.2f} to {seconds[1]:.2f} s\n\n{why}")
    vd.Page("Where the voice is", [("What sounds like a voice?", why)]).save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", nargs="?", default="voice.html")
    parser.add_argument("--data", type=Path, help="a folder of voices, music and other sounds")
    parser.add_argument("--jamendo", type=Path, help="a folder of songs with .lab files and lists")
    given = parser.parse_args()
    main(given.page, given.data, given.jamendo)
