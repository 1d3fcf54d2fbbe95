"""Reviews some of whose words are not to be trusted, and which predictions depend on those.

A module of its own: what is kept for the next user has to be found by every process.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

import review_models
import reviews
from veridical.evaluate.users import Doubts, doubts

SHARE = 0.25  # of the words is not trusted


@lru_cache(maxsize=2)
def question(model: str, domain: str, split: int, data: Path, most: int, n_draws: int) -> tuple[list[str], Doubts]:
    """Some test reviews of two words or more, in a fixed random order, and which predictions can be trusted."""
    known = reviews.load(domain, split, data)
    order = np.random.RandomState(0).permutation(len(known.test))
    texts = [known.test[i] for i in order if known.X_test[i].nnz > 1][:most]
    predict = review_models.model(model, domain, split, data).predict_proba
    return texts, doubts(predict, reviews.WORDS, texts, share=SHARE, n_draws=n_draws, rng=1)
