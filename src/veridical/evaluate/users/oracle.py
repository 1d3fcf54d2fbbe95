"""The oracle of simulated users: it asks the model itself what it predicts without some parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.removal import removable
from veridical.records import Bools, Floats, Representation, Seed

DRAWS = 64  # of the background, where what is there without a part is drawn from it


def stays(model: Model, representation: Representation, gone: Bools, threshold: float, seed: Seed) -> Bools:
    """Whether the model predicts the same without the parts that are gone, (m,); ``gone`` has a row a question.

    A prediction is the likeliest class, or of a model with one output whether it is above the threshold. Where
    what is there without a part is drawn from a background, the mean answer over many draws decides.
    """
    own = removable(representation, "the oracle")
    times = 1 if own.steady else DRAWS
    masks = np.vstack([np.ones_like(gone[:1]), np.repeat(~gone, times, axis=0)])
    outputs = model(own.keeping(masks, seed))
    after = outputs[1:].reshape(len(gone), times, -1).mean(axis=1)
    same = _label(after, threshold) == _label(outputs[:1], threshold)
    return np.asarray(same | ~gone.any(axis=1))


def _label(outputs: Floats, threshold: float) -> Any:
    return outputs[:, 0] > threshold if outputs.shape[1] == 1 else outputs.argmax(axis=1)
