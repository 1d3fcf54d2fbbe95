"""Many table rows explained at once, from a sample that they share: what ``Lime`` finds for each alone, sooner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from veridical.attribute.additive import Sum, Sums, fits_from
from veridical.attribute.ask import Model, stacked
from veridical.attribute.evidence import too_few, top_probabilities, weigh
from veridical.attribute.fits import Fits
from veridical.attribute.lime import Lime
from veridical.attribute.question import Answer, Outputs, Question, are_labels, is_flat, is_usual
from veridical.attribute.targets import Target, resolve
from veridical.records import Explanation, Fit, Floats, Ints, Seed, Shareable

ROOM = 2**17  # numbers of an array that is worked on: it should stay in the cache
LARGEST = 2**20  # numbers of the covariances of rows that are worked on together


@dataclass(frozen=True, eq=False)
class AtOnce:
    """How rows that share a sample are explained together."""

    method: Lime
    model: Model
    seed: Seed
    sums: Sums

    def __call__(
        self, rows: Sequence[Shareable], own: Floats, names: Sequence[Any], wanted: Sequence[Any]
    ) -> list[Explanation | None]:
        """Explain rows, whose outputs are ``own`` (r, k); None where that is not for many at once.

        Such a row is one near which the model does not move, say, and is explained alone.
        """
        targets = [resolve(each, self.model, outputs[None]) for each, outputs in zip(wanted, own, strict=True)]
        keys = np.array([repr(target.key) for target in targets])
        found: list[Explanation | None] = [None] * len(rows)
        most = max(LARGEST // len(rows[0].parts) ** 2, 1)
        for key in dict.fromkeys(keys.tolist()):
            same = np.flatnonzero(keys == key)
            for which in (same[a : a + most] for a in range(0, len(same), most)):
                target = targets[which[0]]
                named = [names[i] for i in which]
                some = Same(self, target, [rows[i] for i in which], target.read(own[which]), own[:1], named)
                for i, why in some.explained().items():
                    found[which[i]] = why
        return found


@dataclass(frozen=True, eq=False)
class Same:
    """Rows of which the same output is explained."""

    work: AtOnce
    target: Target
    rows: Sequence[Shareable]
    own: Floats  # (r,) that output
    first: Floats  # (1, k) all outputs of one of the rows
    names: Sequence[Any]  # of the rows

    def explained(self) -> dict[int, Explanation]:
        """The explanations, by number of the row, of rows that do not need to be explained alone."""
        method, sums, found = self.work.method, self.work.sums, dict[int, Explanation]()
        recipe = MappingProxyType(self._question(0).recipe(method, self.target))  # the same for all
        pieces, left = method.ladder(self.rows[0]), np.arange(len(self.rows))
        for start, stop in pieces:
            sums.answers(start, stop)
            values, outputs = zip(*sums.answers.first(stop), strict=True)
            y = self.target.read(stacked([self.first, *outputs])[1:])
            left = left[is_usual(np.maximum(np.abs(y).max(), np.abs(self.own[left])))]
            if not len(left) or is_flat(y):
                break
            labels = are_labels(y, self.work.model)
            fits = self._fits(left, values, y, sums(stop, self.target, 1.0))
            sure = top_probabilities(fits.weights, fits.covariance, fits.measured, method.until)
            done = (sure >= method.until.probability) & ~fits.open | (stop == pieces[-1][1])
            for j in np.flatnonzero(done).tolist():
                i, size = int(left[j]), float(fits.effective_size[j])
                answer = self._answer(fits[j], size, float(sure[j]), stop + 1)
                own = self.own[i : i + 1]
                asked = Outputs(self.target, own, 1.0, float(own[0]), labels and bool((own == y).any()))
                found[i] = self._question(i).explanation(method, asked, answer, recipe)
            left = left[~done]
        return found

    def _fits(self, which: Ints, values: Sequence[Any], y: Floats, known: Sum | None) -> Fits:
        """The surrogates of some rows, as many at a time as fit into the cache."""
        kernel, made = self.work.method.kernel_for(self.rows[0]), []
        width = len(y) * (1 if known else len(self.rows[0].parts))
        length = max(ROOM // width, 1)
        for start in range(0, len(which), length):
            rows = [self.rows[i] for i in which[start : start + length]]
            made.append(fits_from(rows[0].common.together(rows, values, kernel), y, known, rows))
        return Fits.joined(made)

    def _answer(self, fit: Fit, size: float, probability: float, n_calls: int) -> Answer:
        method = self.work.method
        evidence, verdict = weigh(fit, method.until, probability, n_calls), None
        if size < len(fit.weights) + 2:
            verdict = too_few(size, n_calls, method.until.probability)
        rule, notes = method.until, method.notes(fit)
        return Answer(fit, evidence, rule.k, n_calls, size, notes, rule=rule, verdict=verdict)

    def _question(self, i: int) -> Question:
        work = self.work
        return Question(work.model, self.rows[i], (), work.seed, work.sums, row=self.names[i])
