"""What lime's explainers share: local models, discretizers, segmentations, and the way through the engine."""

from __future__ import annotations

import hashlib
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse
from scipy.special import ndtr, ndtri
from sklearn.base import clone
from sklearn.linear_model import Ridge, lars_path
from sklearn.metrics import pairwise_distances
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from veridical.compat.lime.explanations import (
    LabeledFloat,
    Weights,
    remark,
)
from veridical.errors import InputError, ModelError, check_whole, describe_error, require, safe_repr
from veridical.methods.engine import (
    PrivateSamples,
    ask_by,
    enumerate_samples,
    ladder,
    settle,
)
from veridical.methods.lime import Lime
from veridical.methods.results import Question
from veridical.models.outputs import Model
from veridical.protocols import KnownTerm, Selector
from veridical.records import (
    Design,
    Fit,
    Fits,
    Floats,
    Neighborhood,
    Output,
    Sample,
    Verdict,
)
from veridical.records import Explanation as OwnExplanation
from veridical.sampling.kernels import Gaussian
from veridical.surrogates.least_squares import solve
from veridical.surrogates.linear import Linear
from veridical.surrogates.selection import as_package, forward_selection, highest_weights, lasso_path

Seeded: TypeAlias = np.random.SeedSequence

RIDGE = 1.0  # of lime's local models
MANY = 20  # explanations with one function, from which on explain_many is worth a note
FOLDS = 8  # by which the errors of a regressor of the caller's are measured
WITH_KERNELS = ("lime_tabular", "lime_text", "lime_image")  # modules of lime whose explainers make kernels
AUTO = "auto"  # as num_samples: until the top is settled
TINY_SPREAD = 1e-11  # that lime adds to standard deviations
STATISTICS = ("means", "mins", "maxs", "stds", "feature_values", "feature_frequencies")
SELECTORS: dict[str, Selector | None] = {
    "auto": as_package,
    "forward_selection": forward_selection,
    "highest_weights": highest_weights,
    "lasso_path": lasso_path,
    "none": None,
}


# Kernels, seeds and regressors


@dataclass(frozen=True, eq=False)
class KernelOfWidth:
    """A function of distances and a width, of which the width is fixed."""

    kernel: Callable[[Any, Any], Any]
    width: Any

    def __call__(self, d: Any) -> Any:
        return self.kernel(d, self.width)


def exponential_kernel(d: Any, kernel_width: float) -> Any:
    """lime's own kernel."""
    return np.sqrt(np.exp(-(np.asarray(d) ** 2) / kernel_width**2))


def digest_of(*states: Any) -> Seeded:
    """A seed that says what the states of random generators are, and moves none of them."""
    found = hashlib.blake2b(digest_size=16)
    for state in states:
        own: Any = state
        if isinstance(state, np.random.RandomState):
            name, keys, *rest = state.get_state()
            own = [name, np.asarray(keys).tobytes(), *map(float, rest)]
        elif isinstance(state, np.random.Generator):
            own = sorted((key, str(value)) for key, value in state.bit_generator.state.items())
        elif state is not None and not isinstance(state, (int, np.integer)):
            own = digest_of(check_random_state(state)).entropy
        found.update(repr(int(own) if isinstance(own, (int, np.integer)) else own).encode())
    return np.random.SeedSequence(int.from_bytes(found.digest(), "little"))


def generator_of(random_state: Any) -> Any:
    """What an explainer keeps as its random state; None is a fixed seed, and not NumPy's global state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(0 if random_state is None else random_state)


@dataclass(frozen=True, eq=False)
class Regressor:
    """A linear regressor of the caller's as the local model; errors by leaving out an eighth of the samples in turn."""

    model: Any

    def __call__(
        self,
        near: Neighborhood,
        outputs: Floats,
        select: Selector | None = None,
        k: int | None = None,
        known: KnownTerm | None = None,
    ) -> Fits:
        """Fit outputs (r, n), or (n,) for all rows; with a selector, keep at most k parts of each."""
        y, fits = np.broadcast_to(outputs, near.weights.shape), list[Fit]()
        for Z, t, w, own in zip(near.designs, y, near.weights, near.own, strict=True):
            d = Z.shape[1]
            keep = np.arange(d)
            if select is not None and k is not None and k < d:
                gram, moment = _weighted_products(Z, t, w)
                keep = select(gram, moment, k)
            fits.append(self._fit(near.design, Z, t, w, own, keep))
        return Fits.of(fits)

    def _fit(self, design: Design, Z: Floats, y: Floats, w: Floats, own: Floats, keep: Any) -> Fit:
        """The fit of some parts of one row."""
        d, few = Z.shape[1], np.asfortranarray(Z[:, keep])
        weights, chosen = np.zeros(d), np.zeros(d, bool)
        coefficients, intercept, model = self._grow(few, y, w)
        weights[keep], chosen[keep] = coefficients, True
        covariance, guess = np.zeros((d, d)), np.asarray(model.predict(few), np.float64).reshape(-1)
        if not design.exact:
            fold = np.arange(len(y)) * FOLDS // len(y)  # every eighth of a net would lie in one corner
            apart = []
            for f in range(FOLDS):
                out = fold == f
                part, _, other = self._grow(few[~out], y[~out], w[~out])
                guess[out] = np.asarray(other.predict(few[out]), np.float64).reshape(-1)
                apart.append(part)
            moved = np.array(apart) - np.mean(apart, axis=0)
            covariance[np.ix_(keep, keep)] = (FOLDS - 1) / FOLDS * moved.T @ moved
        total = float(w @ (y - w @ y / w.sum()) ** 2)
        fidelity = 1 - float(w @ (y - guess) ** 2) / total if total > 0 else float("nan")
        local, every = float(intercept + weights @ own), np.ones(d, bool)
        return Fit(weights, intercept, covariance, local, fidelity, every, chosen, float(FOLDS - 1))

    def _grow(self, Z: Floats, y: Floats, w: Floats) -> tuple[Floats, float, Any]:
        """Weights, intercept, and a copy of the regressor that was fitted."""
        try:
            model = clone(self.model)
            model.fit(Z, y, sample_weight=w)
            coefficients = np.asarray(model.coef_, np.float64).reshape(-1)
            return coefficients, float(np.ravel(model.intercept_)[0]), model
        except Exception as cause:
            raise InputError(
                f"model_regressor failed with {describe_error(cause)}: it wants a linear regressor of scikit-learn, with "
                "fit(X, y, sample_weight=…), coef_ and intercept_, such as Ridge(); trees are "
                "vd.Lime(surrogate=vd.surrogates.Tree())"
            ) from cause


def _weighted_products(Z: Any, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """The Gram matrix of weighted, centered designs, and their product with the outputs."""
    mean, mass = np.asarray(Z.T @ w).ravel() / w.sum(), w.sum()
    shift = float(w @ y) / mass
    weighted = Z.multiply(w[:, None]).tocsr() if issparse(Z) else Z * w[:, None]
    gram = np.asarray((Z.T @ weighted).todense() if issparse(Z) else Z.T @ weighted)
    return gram - mass * np.outer(mean, mean), np.asarray(weighted.T @ (y - shift)).ravel()


class LimeBase:
    """A local model of samples that somebody else drew, as lime fits it."""

    def __init__(self, kernel_fn: Callable[[Any], Any], verbose: bool = False, random_state: Any = None) -> None:
        self.kernel_fn = kernel_fn
        self.verbose = verbose
        self.random_state = generator_of(random_state)

    @staticmethod
    def generate_lars_path(weighted_data: Any, weighted_labels: Any) -> tuple[Floats, Floats]:
        """Alphas and coefficients of the lasso path."""
        alphas, _, coefficients = lars_path(weighted_data, weighted_labels, method="lasso", verbose=False)
        return alphas, coefficients

    def forward_selection(self, data: Any, labels: Any, weights: Any, num_features: int) -> Any:
        """Features that raise R² most, in the order in which they do."""
        gram, moment = _weighted_products(data, np.asarray(labels, float), np.asarray(weights, float))
        k, order = min(int(num_features), data.shape[1]), list[int]()
        for n in range(1, k + 1):  # the selector sorts what it finds
            order += [int(j) for j in forward_selection(gram, moment, n) if j not in order]
        return np.array(order, dtype=np.intp)

    def feature_selection(self, data: Any, labels: Any, weights: Any, num_features: int, method: str) -> Any:
        """Positions of the features that a method keeps."""
        check_selection(method)
        d = data.shape[1]
        if method == "none":
            return np.arange(d)
        if method == "auto":
            method = "forward_selection" if num_features <= 6 else "highest_weights"
        if method == "forward_selection":
            return self.forward_selection(data, labels, weights, num_features)
        y, w = np.asarray(labels, float), np.asarray(weights, float)
        gram, moment = _weighted_products(data, y, w)
        if method == "highest_weights":
            found = solve(gram + 0.01 * np.eye(d), moment)
            own = np.asarray(data[0].todense()).ravel() if issparse(data) else np.asarray(data[0])
            return np.argsort(-np.abs(found * own), kind="stable")[:num_features]
        dense = np.asarray(data.todense()) if issparse(data) else np.asarray(data, float)
        root = np.sqrt(w)
        rows = (dense - w @ dense / w.sum()) * root[:, None]
        _, path = self.generate_lars_path(rows, (y - w @ y / w.sum()) * root)
        sizes = np.count_nonzero(path, axis=0)
        fitting = np.flatnonzero(sizes <= num_features)
        return np.flatnonzero(path[:, fitting[-1]]) if len(fitting) else np.empty(0, np.intp)

    def explain_instance_with_data(
        self,
        neighborhood_data: Any,
        neighborhood_labels: Any,
        distances: Any,
        label: int,
        num_features: int,
        feature_selection: str = "auto",
        model_regressor: Any = None,
    ) -> tuple[float, Weights, float, Floats]:
        """Fit samples, the first of which is the instance.

        Parameters
        ----------
        neighborhood_data : array or sparse matrix (n, d)
            The samples.
        neighborhood_labels : array (n, k)
            The model's answers to them.
        distances : array (n,)
            How far they are from the instance.
        label : int
            The column of the answers that is explained.
        num_features : int
            How many features at most.
        feature_selection : str
            How they are chosen.
        model_regressor : regressor, optional
            The local model; by default a ridge regression.

        Returns
        -------
        tuple
            Intercept, pairs of feature and weight (the largest first), R² on the samples of the fit, and the local
            model's answer for the instance.
        """
        weights = np.asarray(self.kernel_fn(np.asarray(distances)), float)
        labels = np.asarray(neighborhood_labels)[:, label]
        used = self.feature_selection(neighborhood_data, labels, weights, num_features, feature_selection)
        model = Ridge(alpha=RIDGE) if model_regressor is None else clone(model_regressor)
        data = neighborhood_data[:, used]
        model.fit(data, labels, sample_weight=weights)
        score = float(model.score(data, labels, sample_weight=weights))
        local = model.predict(data[0].reshape(1, -1))
        found = [(int(j), float(w)) for j, w in zip(used, np.ravel(model.coef_), strict=True)]
        intercept = float(np.ravel(model.intercept_)[0])
        say(self.verbose, intercept, local, labels[0])
        return intercept, sorted(found, key=lambda pair: -abs(pair[1])), score, local


def say(verbose: bool, intercept: Any, local: Any, right: Any) -> None:
    """What lime prints where it is to be verbose."""
    if verbose:
        sys.stdout.write(f"Intercept {intercept}\nPrediction_local {local}\nRight: {right}\n")


def check_selection(method: Any) -> None:
    """Refuse what is no selection of features."""
    if method not in SELECTORS:
        raise InputError(f"feature_selection is one of {', '.join(SELECTORS)}, not {safe_repr(method)}")


# Discretizers


class BaseDiscretizer:
    """Bins of the columns of a table; a subclass says where their edges are, by ``bins``."""

    def __init__(
        self,
        data: Any,
        categorical_features: Iterable[int],
        feature_names: Sequence[Any],
        labels: Any = None,
        random_state: Any = None,
        data_stats: Any = None,
    ) -> None:
        coded = set(categorical_features)
        self.to_discretize = [j for j in range(data.shape[1]) if j not in coded]
        self.data_stats = data_stats
        self.names: dict[int, list[str]] = {}
        self.lambdas: dict[int, Callable[[Any], Any]] = {}
        self.means: dict[int, list[float]] = {}
        self.stds: dict[int, list[float]] = {}
        self.mins: dict[int, list[float]] = {}
        self.maxs: dict[int, list[float]] = {}
        self.random_state = generator_of(random_state)
        found = [np.unique(np.asarray(edges, float)) for edges in self.bins(data, labels)]
        for j, edges in zip(self.to_discretize, found, strict=True):
            self._learn(j, str(feature_names[j]), edges, None if data_stats else np.asarray(data[:, j], float))

    def _learn(self, j: int, name: str, edges: Floats, values: Floats | None) -> None:
        """Names and statistics of the bins of a column."""
        inner = [f"{low:.2f} < {name} <= {high:.2f}" for low, high in pairwise(edges)]
        self.names[j] = [f"{name} <= {edges[0]:.2f}", *inner, f"{name} > {edges[-1]:.2f}"]
        self.lambdas[j] = partial(np.searchsorted, edges)
        if values is None:
            stats = self.data_stats
            self.means[j], self.stds[j] = list(stats["means"][j]), list(stats["stds"][j])
            self.mins[j], self.maxs[j] = list(stats["mins"][j]), list(stats["maxs"][j])
            return
        seen = values[np.isfinite(values)]
        at = np.searchsorted(edges, seen)
        inside = [seen[at == b] for b in range(len(edges) + 1)]
        self.means[j] = [float(some.mean()) if len(some) else 0.0 for some in inside]
        self.stds[j] = [(float(some.std()) if len(some) else 0.0) + TINY_SPREAD for some in inside]
        self.mins[j] = [float(seen.min()), *map(float, edges)]
        self.maxs[j] = [*map(float, edges), float(seen.max())]

    @abstractmethod
    def bins(self, data: Any, labels: Any) -> list[Any]:
        """Edges of the bins of every column that is discretized, in order."""
        raise NotImplementedError("a discretizer needs bins(data, labels): a list of edges for every column")

    def discretize(self, data: Any) -> Any:
        """Values as numbers of their bins: of a row (d,) or of several (n, d)."""
        made = np.array(data, copy=True)
        for j, find in self.lambdas.items():
            made[..., j] = find(np.asarray(data[..., j], float))
        return made

    def get_undiscretize_values(self, feature: int, values: Any) -> Floats:
        """Values in bins of a column, drawn from a normal that is cut at the ends of the bin."""
        at = np.asarray(values).astype(int)
        mean, sd, low, high = (
            np.asarray(each[feature], float)[at] for each in (self.means, self.stds, self.mins, self.maxs)
        )
        u = np.asarray(self.random_state.random_sample(at.shape))
        sd = np.maximum(sd, TINY_SPREAD)
        a, b = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
        drawn = mean + sd * ndtri(a + u * (b - a))
        return np.asarray(np.clip(np.where(np.isfinite(drawn), drawn, mean), low, high))

    def undiscretize(self, data: Any) -> Any:
        """Values for numbers of bins: of a row (d,) or of several (n, d)."""
        made = np.array(data, copy=True, dtype=float)
        for j in self.means:
            made[..., j] = self.get_undiscretize_values(j, np.asarray(data[..., j]))
        return made

    def edges(self, feature: int) -> Floats:
        """The edges between the bins of a column, which lime's own objects hold as well."""
        return np.asarray(self.mins[feature][1:], float)


class StatsDiscretizer(BaseDiscretizer):
    """Bins that are given with the statistics of the data."""

    def __init__(
        self,
        data: Any,
        categorical_features: Iterable[int],
        feature_names: Sequence[Any],
        labels: Any = None,
        random_state: Any = None,
        data_stats: Any = None,
    ) -> None:
        super().__init__(data, categorical_features, feature_names, labels, random_state, data_stats)

    def bins(self, data: Any, labels: Any) -> list[Any]:
        """Those of ``data_stats``."""
        if self.data_stats is None or "bins" not in self.data_stats:
            raise InputError('data_stats wants "bins": a dict of columns to the edges between their bins')
        given = self.data_stats["bins"]
        return [given[j] for j in self.to_discretize]


class QuartileDiscretizer(BaseDiscretizer):
    """Four bins per column, of about equal count."""

    def __init__(
        self,
        data: Any,
        categorical_features: Iterable[int],
        feature_names: Sequence[Any],
        labels: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(data, categorical_features, feature_names, labels, random_state)

    def bins(self, data: Any, labels: Any) -> list[Any]:
        """Quartiles, without missing values."""
        return [np.nanpercentile(np.asarray(data[:, j], float), (25, 50, 75)) for j in self.to_discretize]


class DecileDiscretizer(BaseDiscretizer):
    """Ten bins per column, of about equal count."""

    def __init__(
        self,
        data: Any,
        categorical_features: Iterable[int],
        feature_names: Sequence[Any],
        labels: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(data, categorical_features, feature_names, labels, random_state)

    def bins(self, data: Any, labels: Any) -> list[Any]:
        """Deciles, without missing values."""
        shares = range(10, 100, 10)
        return [np.nanpercentile(np.asarray(data[:, j], float), shares) for j in self.to_discretize]


class EntropyDiscretizer(BaseDiscretizer):
    """Bins that separate labels best: the leaves of a small decision tree per column."""

    def __init__(
        self,
        data: Any,
        categorical_features: Iterable[int],
        feature_names: Sequence[Any],
        labels: Any = None,
        random_state: Any = None,
    ) -> None:
        if labels is None:
            raise ValueError("EntropyDiscretizer needs labels, one per row: training_labels of the explainer")
        super().__init__(data, categorical_features, feature_names, labels, random_state)

    def bins(self, data: Any, labels: Any) -> list[Any]:
        """Thresholds of the trees; the median where there are none."""
        classes, found = np.asarray(labels), list[Any]()
        for j in self.to_discretize:
            values = np.asarray(data[:, j], float)
            seen = np.isfinite(values)
            tree = DecisionTreeClassifier(criterion="entropy", max_depth=3, random_state=0)
            grown = tree.fit(values[seen, None], classes[seen]).tree_
            cuts = grown.threshold[grown.children_left >= 0]
            found.append(cuts if len(cuts) else np.array([np.median(values[seen])]))
        return found


DISCRETIZERS: dict[str, Callable[..., BaseDiscretizer]] = {
    "quartile": QuartileDiscretizer,
    "decile": DecileDiscretizer,
    "entropy": EntropyDiscretizer,
}


# What all explainers share


@dataclass(frozen=True, eq=False)
class Wanted:
    """What an ``explain_instance`` is to explain."""

    labels: Any = (1,)
    top_labels: int | None = None
    num_features: int = 10
    num_samples: Any = 5000
    regressor: Any = None
    mode: str = "classification"
    class_names: Any = None

    def positions(self, own: Floats) -> dict[int, int]:
        """Labels and the outputs that they mean, of the outputs (k,) for the instance."""
        k = len(own)
        if self.mode == "regression":
            if k != 1:
                raise ValueError(
                    f"the model gives {k} numbers per input, and mode='regression' explains one: pass a function that "
                    "returns a single number per input, or leave mode out for classes"
                )
            return {1: 0}
        if k == 1:
            raise NotImplementedError(
                "the model gives one number per input, and no probability of each class: pass predict_proba, or "
                "mode='regression' of LimeTabularExplainer to explain the number itself"
            )
        if self.top_labels:
            check_whole("top_labels", self.top_labels)
            return {int(j): int(j) for j in np.argsort(own, kind="stable")[::-1][: int(self.top_labels)]}
        given = [self.labels] if isinstance(self.labels, (int, np.integer)) else list(self.labels)
        for label in given:
            if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not -k <= label < k:
                raise IndexError(
                    f"label {safe_repr(label)} is none of the model's {k} outputs: labels are whole numbers from 0 to "
                    f"{k - 1}"
                )
        return {int(label): int(label) % k for label in given}


@dataclass(frozen=True, eq=False)
class Found:
    """Explanations by label, and what the model answers for the instance (k,)."""

    by_label: dict[int, OwnExplanation]
    own: Floats


@dataclass(frozen=True, eq=False)
class Given:
    """Samples that are drawn and answered already, the instance first."""

    sample: Sample
    outputs: Floats

    @classmethod
    def of(cls, designs: Any, weights: Any, outputs: Floats) -> Given:
        """Of designs (n, d) that somebody else drew, with weights (n,)."""
        data = np.asarray(designs.todense() if issparse(designs) else designs, np.float64)
        binary = ((data == 0) | (data == 1)).all(axis=0)
        shares = np.where(binary, data[1:].mean(axis=0), np.nan)
        own = np.asarray(weights, np.float64).copy()
        own[0] = 0.0  # nothing drew the instance
        return cls(Sample(data, own, None, Design(shares)), outputs)


class Explainer:
    """What lime's explainers share: settings that are read when called, a seed, and the way through the engine."""

    base: Any
    random_state: Any
    feature_selection: Any
    discretizer: Any = None
    _calls: tuple[int, int] | None = (0, 0)  # the last function, and how often; None: not counted

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_calls"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled; lime's own kernel, which dill saves as a function, becomes ours."""
        self.__dict__.update(state)
        own = self.base.kernel_fn
        if isinstance(own, partial) and str(own.func.__module__).rpartition(".")[2] in WITH_KERNELS:
            self.base.kernel_fn = KernelOfWidth(exponential_kernel, own.keywords["kernel_width"])

    def _seed(self) -> Seeded:
        """The same for the same states of explainer and discretizer, which a call never moves."""
        other = None if self.discretizer is None else self.discretizer.random_state
        return digest_of(self.random_state, other)

    def _count(self, predict_fn: Any) -> None:
        """Note that explain_many exists, at the twentieth explanation with one function."""
        if self._calls is None:
            return
        key, n = hash(predict_fn) if getattr(predict_fn, "__hash__", None) else id(predict_fn), self._calls[1]
        self._calls = (key, n + 1 if key == self._calls[0] else 1)
        if self._calls[1] == MANY:
            remark(
                "many",
                f"explain_instance was called {MANY} times with one function: explainer.explain_many(X, predict_fn) "
                "explains many rows from one sample, in a small part of the time",
                stacklevel=4,
            )

    def _kernel(self, scale: float) -> Any:
        """The kernel for distances that are 1 where lime's are ``scale``."""
        own = self.base.kernel_fn
        if isinstance(own, KernelOfWidth) and own.kernel is exponential_kernel:
            return Gaussian(float(own.width) / scale)
        return lambda distances: own(distances * scale)

    def _method(self, d: int, wanted: Wanted, kernel: Any) -> Lime:
        """Settings of the engine for d parts."""
        check_selection(self.feature_selection)
        select = SELECTORS[self.feature_selection]
        check_whole("num_features", wanted.num_features)
        few = select is not None and wanted.num_features < d
        n = None
        if not (isinstance(wanted.num_samples, str) and wanted.num_samples == AUTO):
            check_whole('num_samples, unless it is "auto",', wanted.num_samples)
            n = int(wanted.num_samples)
            if n < d + 3:
                least = 2 * (d + 2)
                remark(
                    "few samples",
                    f"num_samples is {n}, but {d} features need the instance and {d + 2} more: {least} are asked about",
                    stacklevel=5,
                )
                n = least
            n -= 1  # lime counts the instance itself
        return Lime(
            n_samples=n,
            kernel=kernel,
            n_features=int(wanted.num_features) if few else None,
            select=select if few and select is not None else highest_weights,
            surrogate=Linear(ridge=RIDGE * (d > 1)) if wanted.regressor is None else Regressor(wanted.regressor),
        )

    def _explain(
        self,
        representation: Any,
        model: Model,
        wanted: Wanted,
        kernel: Any,
        given: Given | None = None,
        seed: Seeded | None = None,
    ) -> Found:
        """Explain one instance, from samples that are given or drawn."""
        method = self._method(len(representation.parts), wanted, kernel)
        seed, kernel = self._seed() if seed is None else seed, method.kernel_for(representation)
        source = PrivateSamples(representation, kernel, seed, ask_by(model, representation))
        pieces = [(0, 0)]
        every = None if given is not None else enumerate_samples(method, representation, kernel)
        try:
            if given is not None:
                source.add(given.sample, given.outputs)
            elif every is not None:
                source.add(every, model(representation.realize(every)))
            else:
                pieces = [(0, method.n_samples)] if method.n_samples else ladder(method, representation)
                source.grow(*pieces[0])
            own = source.own[0].copy()
            labels = wanted.positions(own)
            question = Question(
                name_outputs(model, wanted, len(own)), representation, targets_of(labels, len(own)), seed
            )
            for start, stop in pieces:
                if start:
                    source.grow(start, stop)
                found = settle(method, [question], source, [0], last=stop == pieces[-1][1])
                if found:
                    break
        except ModelError as error:
            raise error.__cause__ or error from None
        for why in found[0]:
            self._check(why)
        say(self.base.verbose, found[0][-1].intercept, found[0][-1].local_prediction, found[0][-1].prediction)
        return Found(dict(zip(labels, found[0], strict=True)), own)

    def _check(self, why: OwnExplanation) -> None:
        """Warn where the kernel leaves too few samples to weigh anything."""
        if why.effective_size < len(why.parts) + 2 and why.verdict.label == "unreliable" and not why.weights.any():
            remark(
                "few effective samples",
                f"the kernel leaves {why.effective_size:.1f} effective samples for {len(why.parts)} features, so that all "
                "weights are zero: give a wider kernel_width, or more samples",
                stacklevel=6,
            )


def targets_of(labels: Mapping[int, int], k: int) -> tuple[Any, ...]:
    """Targets of the engine."""
    return tuple("value" if k == 1 else Output(position) for position in labels.values())


def name_outputs(model: Model, wanted: Wanted, k: int) -> Model:
    """The model, whose outputs have the caller's class names where there is one for each."""
    names = wanted.class_names
    if wanted.mode == "regression":
        return replace(model, classes=None, found=False)
    known = model.classes if model.classes is not None and len(model.classes) == k else None
    if names is not None and len(names) == k and len({str(name) for name in names}) == k:
        known = tuple(str(name) for name in names)
    return replace(model, classes=known, found=False, decide=None, scores=False)


def fill_explanation(
    exp: Any, found: Found, ids: Sequence[int], n_features: int | None, every: Iterable[int] = ()
) -> None:
    """Write ours into an explanation of lime's: ids of the parts, how many at most, and ids that pad them."""
    exp.veridical, exp.ids = found.by_label, tuple(ids)
    for label, why in found.by_label.items():
        exp.intercept[label] = float(why.intercept)
        exp.local_exp[label] = _weights_of(why, ids, n_features, every)
    exp.score = LabeledFloat.of({label: float(why.fidelity) for label, why in found.by_label.items()})
    exp.local_pred = LabeledFloat.of({label: float(why.local_prediction) for label, why in found.by_label.items()})


def _weights_of(why: OwnExplanation, ids: Sequence[int], n: int | None, every: Iterable[int]) -> Weights:
    """Ids and weights, the largest first; those of parts that were not tested are zero."""
    weights, places = [0.0 if w != w else w for w in why.weights.tolist()], why.chosen or range(len(ids))
    sizes = [-abs(w) for w in weights]
    order = sorted(places, key=sizes.__getitem__)[:n]
    found = [(int(ids[j]), weights[j]) for j in order]
    if n is not None and len(found) >= n:
        return found
    taken = {id_ for id_, _ in found}
    return [*found, *((int(id_), 0.0) for id_ in every if int(id_) not in taken)][:n]


def unmeasured(why: OwnExplanation) -> OwnExplanation:
    """An explanation from samples that somebody else drew, whose errors are not known."""
    note = "the samples are those of a subclass of the explainer: intervals are not measured"
    verdict = Verdict(False, float("nan"), float("nan"), "Samples of a subclass: not checked.", label="unchecked")
    intervals = np.tile([-np.inf, np.inf], (len(why.weights), 1))
    return replace(why, intervals=intervals, verdict=verdict, doubtful=(), notes=(*why.notes, note))


def is_overridden(explainer: Any, name: str, base: type) -> bool:
    """Whether a subclass, or an attribute of the object, replaces a method."""
    return name in vars(explainer) or any(
        name in vars(kind) for kind in type(explainer).__mro__[: type(explainer).__mro__.index(base)]
    )


def distances_of(designs: Any, metric: str) -> Floats:
    """Distances of samples from the first of them, by a metric of scikit-learn."""
    try:
        return np.asarray(pairwise_distances(designs, designs[:1], metric=metric)).ravel()
    except (ValueError, TypeError) as cause:
        raise InputError(
            f"distance_metric {safe_repr(metric)} failed with {describe_error(cause)}: give one that "
            "sklearn.metrics.pairwise_distances knows, such as 'euclidean' or 'cosine'"
        ) from cause


def with_metric(masked: Any, metric: str) -> Any:
    """A representation by masks whose distances are those of another metric, which knows only how many parts are kept."""
    if metric == "cosine":
        return masked
    d = len(masked.parts)
    stairs = np.vstack([np.ones(d), np.tril(np.ones((d + 1, d)), -1)])  # the full mask, then 0..d parts kept
    return replace(masked, law=replace(masked.law, distances=distances_of(stairs, metric)[1:]))


def check_texts(what: str, value: Any) -> None:
    """Refuse names that come as one text."""
    if isinstance(value, str):
        raise InputError(f"{what} wants a list of names, not the text {safe_repr(value)}")


# Segmentations


def has_arg(fn: Any, arg_name: Any) -> bool:
    """Whether a callable takes an argument of this name."""
    try:
        taken = signature(fn).parameters
    except (TypeError, ValueError):
        return False
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return arg_name in taken and taken[arg_name].kind in named


class BaseWrapper:
    """A function with some of its arguments."""

    def __init__(self, target_fn: Any = None, **target_params: Any) -> None:
        self.target_fn = target_fn
        self.target_params = target_params

    def _check_params(self, parameters: Any) -> None:
        """Refuse arguments that the function does not take."""
        if not isinstance(parameters, (dict, list)) and callable(self.target_fn):
            raise TypeError(f"parameters wants a dict or a list of names, not {type(parameters).__name__}")
        if not callable(self.target_fn):
            raise AttributeError(f"target_fn wants a function, not {safe_repr(self.target_fn)}")
        for name in parameters:
            if not has_arg(self.target_fn, name):
                raise ValueError(f"{name!r} is no argument of {safe_repr(self.target_fn)}")

    def set_params(self, **params: Any) -> None:
        """Change arguments."""
        self._check_params(params)
        self.target_params = params

    def filter_params(self, fn: Any, override: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Those of the arguments that a function takes."""
        found = {name: value for name, value in self.target_params.items() if has_arg(fn, name)}
        return {**found, **(override or {})}


class SegmentationAlgorithm(BaseWrapper):
    """A segmentation of scikit-image, by name: quickshift, felzenszwalb or slic."""

    def __init__(self, algo_type: str, **target_params: Any) -> None:
        self.algo_type = algo_type
        known = ("quickshift", "felzenszwalb", "slic")
        if algo_type not in known:
            raise InputError(f"algo_type is one of {', '.join(known)}, not {safe_repr(algo_type)}")
        home = require("skimage.segmentation", extra="image")
        find = {"quickshift": home.quickshift, "felzenszwalb": home.felzenszwalb, "slic": home.slic}[algo_type]
        super().__init__(find, **target_params)
        if "random_seed" in target_params and not has_arg(find, "random_seed"):  # its old name
            seed = self.target_params.pop("random_seed")
            self.target_params |= {"rng": seed} if has_arg(find, "rng") else {}
        for name in self.target_params:
            if not has_arg(find, name):
                remark(
                    f"{algo_type} {name}",
                    f"{algo_type} of scikit-image takes no {name!r}, which has no effect: leave it out",
                )
        self.target_params = self.filter_params(find)

    def __call__(self, *args: Any) -> Any:
        return self.target_fn(args[0], **self.target_params)
