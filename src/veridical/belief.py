"""The border of one question: can this explanation be believed?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.attribute.ask import heard
from veridical.attribute.given import checked_representer, seed_of
from veridical.attribute.many import Track
from veridical.attribute.models import Explainable, model_of
from veridical.errors import InputError
from veridical.evaluate.believe import believed
from veridical.keywords import teach_keywords
from veridical.records import Explanation, Representer, Verdict
from veridical.render.progress import Progress, counting


@teach_keywords
def believe(
    predict: Explainable,
    represent: Representer,
    x: Any,
    why: Explanation,
    *,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Verdict:
    """Ask how probable it is that the heaviest part of an explanation is what brought the output about.

    Parts are taken away by several ways that fail differently, and the verdict rests on how far they agree with
    the explanation ``why`` of the instance ``x``, whatever method it is by. ``observed`` is the probability,
    ``measures`` are what it is made of. It says nothing of outputs that many parts bring about together.
    ``target`` is needed where that of the explanation was a function.

    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> x = np.zeros((8, 8))
    >>> x[2:4, 2:4] = 1.0
    >>> parts = vd.Grid(4, 4)
    >>> vd.believe(predict, parts, x, vd.explain(predict, parts, x, purpose="content")).passed
    True
    """
    if not isinstance(why, Explanation):
        raise InputError(f"why wants an explanation, as vd.explain gives it, not {type(why).__name__}")
    model, representation = model_of(predict, classes), checked_representer(represent)(x)
    with counting(track or Progress("calls")) as hear:
        return believed(heard(model, hear), representation, why, target=target, seed=seed_of(rng))
