"""Where does the singing start? The pretrained music tagger musicnn, explained by tiles of time and pitch.

Without a recording of yours, it explains three seconds made in models/song.py: a guitar all along, and a voice that
comes in after a second and a half. The tagger hears both, and the tiles say when.

    pip install torch librosa
    pip install --no-deps musicnn==0.1.0
    python examples/music.py [page.html] [recording]
"""

import sys

import librosa
import numpy as np
import torch
from models.song import VOICE_FROM, song
from models.tagger import FRAMES, HOP, RATE, TAGS, Tagger, log_mel

import veridical as vd


def main(page: str = "music.html", recording: str = "") -> None:
    samples = librosa.load(recording, sr=RATE, duration=3.0)[0] if recording else song()
    patch = log_mel(samples)[:FRAMES]  # (187, 96): time first, as the network wants it
    tagger = Tagger()

    def predict(patches: np.ndarray) -> torch.Tensor:
        """Log-mel patches, bands first (n, 96, 187), to the probabilities of 50 tags (n, 50)."""
        times_first = torch.from_numpy(patches).transpose(1, 2)
        with torch.inference_mode():
            return torch.cat([tagger(some) for some in times_first.split(16)])


if __name__ == "__main__":
    main(*sys.argv[1:3])
