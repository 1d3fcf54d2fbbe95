"""The lime package on our problems: all of its weights, or an explanation to be timed."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from lime.lime_image import LimeImageExplainer
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer

from laws import Floats

if TYPE_CHECKING:
    from images import ImageProblem
    from tabular import TableProblem
    from text import TextProblem


class TablePackage:
    """lime's explainer of a table, coded as numbers."""

    name, default = "lime", 5000

    def __init__(self, problem: TableProblem) -> None:
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


class TextPackage:
    """lime's explainer of a text as a bag of words."""

    name, default = "lime", 5000

    def __init__(self, problem: TextProblem) -> None:
        self.problem = problem

    def weights(self, row: int, n_samples: int, seed: int) -> Floats:
        """The weight of every word, in the order in which they first come."""
        target, d = self.problem.target(row), self.problem.n_parts(row)
        explainer = LimeTextExplainer(feature_selection="none", random_state=seed)
        found = explainer.explain_instance(
            self.problem.row(row), self.problem.predict, labels=(target,), num_features=d, num_samples=n_samples
        )
        by_word = dict(found.as_list(label=target))
        return np.array([by_word[word] for word in self.problem.words(row)])

    def timed(self, n_samples: int, n_features: int) -> Callable[[int, Callable[[Any], Floats]], None]:
        """A function that explains row i of a model."""
        explainer = LimeTextExplainer(random_state=0)

        def explain(i: int, predict: Callable[[Any], Floats]) -> None:
            explainer.explain_instance(
                self.problem.row(i), predict, top_labels=1, num_features=n_features, num_samples=n_samples
            )

        return explain


class ImagePackage:
    """lime's explainer of a picture, with the problem's regions and with black in place of a hidden one."""

    name, default = "lime", 1000

    def __init__(self, problem: ImageProblem) -> None:
        self.problem = problem

    def weights(self, row: int, n_samples: int, seed: int) -> Floats:
        """The weight of every region."""
        target, d = self.problem.target(row), self.problem.n_parts(row)
        explainer = LimeImageExplainer(feature_selection="none", random_state=seed)
        found = self._explain(explainer, row, self.problem.predict, labels=(target,), top_labels=None,
                              num_features=d, num_samples=n_samples)  # fmt: skip
        by_region = dict(found.local_exp[target])
        return np.array([by_region[j] for j in range(d)])

    def timed(self, n_samples: int, n_features: int) -> Callable[[int, Callable[[Any], Floats]], None]:
        """A function that explains row i of a model."""
        explainer = LimeImageExplainer(random_state=0)

        def explain(i: int, predict: Callable[[Any], Floats]) -> None:
            self._explain(explainer, i, predict, top_labels=1, num_features=n_features, num_samples=n_samples)

        return explain

    def _explain(self, explainer: Any, row: int, predict: Callable[[Any], Floats], **settings: Any) -> Any:
        """The regions are ready made; batches of 128, not 10, so that the model's fixed costs count little."""
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bar
            return explainer.explain_instance(
                self.problem.row(row), predict, hide_color=0, batch_size=128, random_seed=0,
                segmentation_fn=lambda image: self.problem.labels, **settings,
            )  # fmt: skip
