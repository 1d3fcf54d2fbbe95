"""The lime package on our problems: all of its weights, or an explanation to be timed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from lime.lime_tabular import LimeTabularExplainer

from problems import Floats, Problem


class Package:
    """lime's explainer of a problem, its table coded as numbers."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.codes = problem, problem.codes
        self.background = self.codes.encode(problem.background)
        self.predict = self._predict()

    def weights(self, row: int, n_samples: int, seed: int) -> Floats:
        """The weight of every part: no selection, all features."""
        target, d = self.problem.target(row), self.background.shape[1]
        explainer = self._explainer(seed, "none")
        x = self.codes.encode(self.problem.rows[row : row + 1])[0]
        found = explainer.explain_instance(
            x, self.predict, labels=(target,), num_features=d, num_samples=n_samples
        )
        by_feature = dict(found.local_exp[1 if self.problem.regression else target])
        return np.array([by_feature[j] for j in range(d)])

    def timed(self, n_samples: int, n_features: int) -> Callable[[int, Callable[[Floats], Floats]], None]:
        """A function that explains row i of a model, with everything prepared that can be."""
        explainer = self._explainer(0, "auto")
        rows = self.codes.encode(self.problem.rows)

        def explain(i: int, predict: Callable[[Floats], Floats]) -> None:
            explainer.explain_instance(
                rows[i], predict, top_labels=1, num_features=n_features, num_samples=n_samples
            )

        return explain

    def _explainer(self, seed: int, selection: str) -> LimeTabularExplainer:
        return LimeTabularExplainer(
            self.background,
            mode="regression" if self.problem.regression else "classification",
            categorical_features=self.codes.categorical,
            feature_selection=selection,
            discretize_continuous=self.problem.discretized,
            random_state=seed,
        )

    def _predict(self) -> Callable[[Floats], Floats]:
        ask, codes = self.problem.predict, self.codes
        if codes.trivial:
            return (lambda x: ask(x)[:, 0]) if self.problem.regression else ask
        if self.problem.regression:
            return lambda x: ask(codes.decode(x))[:, 0]
        return lambda x: ask(codes.decode(x))
