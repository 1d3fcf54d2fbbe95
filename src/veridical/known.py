"""The border of known causes: instances changed until a model decides otherwise, and what was changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.attribute.ask import heard
from veridical.attribute.given import checked_representer, seed_of
from veridical.attribute.many import Track
from veridical.attribute.models import Explainable, model_of
from veridical.debug.adversary.records import Cause, Decision, Kind, aimed
from veridical.debug.veracity.plan import kind_of
from veridical.keywords import teach_keywords
from veridical.records import Representer
from veridical.render.progress import Progress, counting


@teach_keywords
def causes(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    kind: Kind,
    threshold: float | None = None,
    wanted: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> tuple[Cause, ...]:
    """Change instances until the model decides otherwise: one cause each, with what was changed.

    ``kind`` is how, such as ``vd.Pgd()`` or ``vd.NoisyParts()``; the rest is as for ``vd.veracity``. A cause has
    the instance ``x``, its ``changed`` copy, the ``label`` of the one and the ``wanted`` one of the other. Where
    none was found, ``success`` is False and ``reason`` says why.

    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> X = np.random.default_rng(0).normal(size=(4, 8, 8))
    >>> found = vd.causes(predict, vd.Grid(4, 4), X, kind=vd.DrawnShape())
    >>> found[0].label, found[0].wanted, found[0].success
    (0, 1, True)
    """
    search, model = kind_of(kind, "kind"), model_of(predict, classes)
    with counting(track or Progress("calls")) as hear:
        asked = (heard(model, hear), checked_representer(represent), X)
        return search(aimed(*asked, decision=Decision(threshold), wanted=wanted), seed_of(rng))
