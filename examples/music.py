"""When does the singing start? The pretrained music tagger musicnn, explained by tiles of time and pitch.

Without a recording of yours, it explains three seconds made in models/song.py: a guitar all along, and a voice
that comes in halfway. The tagger hears both, and the tiles say when.

    pip install torch librosa
    pip install --no-deps musicnn==0.1.0
    python examples/music.py [page.html] [recording.wav]
"""

import sys

import librosa
import numpy as np
from models.song import song
from models.tagger import RATE, TAGS, LogMel, Tagger, asking

import veridical as vd

MAX_CALLS = 256  # three seconds of music take the network 50 ms


def main(page: str = "music.html", recording: str = "") -> None:
    samples = librosa.load(recording, sr=RATE, duration=3.0)[0] if recording else song()
    network = asking(Tagger())
    answers = network(LogMel()(samples)[None])[0]
    print("tags:", ", ".join(f"{TAGS[i]} {answers[i]:.2f}" for i in np.argsort(-answers)[:5]))

    whys = vd.explain(
        network,
        vd.Tiles(times=4, bands=3, front=LogMel(), fill=vd.fills.Constant(0)),  # 0 is silence
        samples,
        target=["vocal", "guitar"],
        classes=TAGS,
        method=vd.Lime(max_calls=MAX_CALLS),
    )
    for why in whys:
        print(f"\n{why}")
    sections = [(f"What sounds like {why.target}?", why) for why in whys]
    vd.Page("What the tagger hears", sections).save(page)
    print(f"\nThe page: {page}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
