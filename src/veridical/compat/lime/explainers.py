"""lime's explainers of tables, texts and pictures, and its picks, on veridical's engine."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse
from sklearn.preprocessing import StandardScaler

from veridical.compat.lime.explanations import (
    Explanation,
    ImageExplanation,
    IndexedCharacters,
    IndexedString,
    LabeledFloat,
    TableDomainMapper,
    TextDomainMapper,
    check_mode,
    remark,
)
from veridical.compat.lime.local_models import (
    DISCRETIZERS,
    STATISTICS,
    BaseDiscretizer,
    Explainer,
    Found,
    Given,
    KernelOfWidth,
    LimeBase,
    SegmentationAlgorithm,
    StatsDiscretizer,
    Wanted,
    check_texts,
    digest_of,
    distances_of,
    exponential_kernel,
    fill_explanation,
    generator_of,
    is_overridden,
    name_outputs,
    targets_of,
    unmeasured,
    with_metric,
)
from veridical.errors import InputError, ModelError, check_whole, safe_repr
from veridical.methods.engine import (
    SharedSample,
    SharedSamples,
    explain_rows,
)
from veridical.methods.many import THIN
from veridical.methods.results import Question
from veridical.models.adapters import model_of
from veridical.models.outputs import Model, rows_at
from veridical.records import (
    Floats,
    Part,
)
from veridical.representations.bins import BinStatistics, CategoryStatistics, Continuous, Edges, NumberStatistics
from veridical.representations.images import Superpixels
from veridical.representations.masking import make_unique
from veridical.representations.tables.columns import Normal
from veridical.representations.tables.rows import Row, Rows
from veridical.representations.words import mask_text
from veridical.sampling.kernels import flat
from veridical.seeds import child_of

TEXTS_PER_CALL = 512
ROWS_PER_BATCH = 1000  # that explain_many works on together


# Tables


class LimeTabularExplainer(Explainer):
    """Explains rows of a table: an array, a sparse matrix, or a DataFrame of any types, as which the model gets them.

    Parameters
    ----------
    training_data : array, CSR matrix or DataFrame (n, d)
        Usually the training data. Columns of texts and truths are categories without being named.
    mode : {"classification", "regression"}
        Whether the model gives probabilities of classes or one number.
    training_labels : sequence, optional
        For the entropy discretizer alone.
    feature_names : list, optional
        By default those of the DataFrame, or the columns' numbers.
    categorical_features : list of int, optional
        Columns whose numbers are codes.
    categorical_names : dict or list, optional
        For each such column, what its codes are called.
    kernel_width : float, optional
        By default 0.75 times the root of the number of columns.
    kernel : callable, optional
        A function of distances (n,) and the width.
    verbose : bool
        Whether to print the local model's intercept and answers.
    class_names : list, optional
        Names of the model's outputs, in order.
    feature_selection : str
        One of auto, forward_selection, highest_weights, lasso_path and none.
    discretize_continuous : bool
        Whether numbers become bins.
    discretizer : str or BaseDiscretizer
        One of quartile, decile and entropy, or an object.
    sample_around_instance : bool
        Whether numbers that are no bins are drawn around the row, and not around their mean.
    random_state : int, RandomState or Generator, optional
        The same state gives the same explanation, however often it is used; None is a fixed seed.
    training_data_stats : dict, optional
        Statistics from which the background is made, in place of the data.
    """

    def __init__(
        self,
        training_data: Any,
        mode: str = "classification",
        training_labels: Any = None,
        feature_names: Any = None,
        categorical_features: Any = None,
        categorical_names: Any = None,
        kernel_width: float | None = None,
        kernel: Callable[[Any, Any], Any] | None = None,
        verbose: bool = False,
        class_names: Any = None,
        feature_selection: str = "auto",
        discretize_continuous: bool = True,
        discretizer: Any = "quartile",
        sample_around_instance: bool = False,
        random_state: Any = None,
        training_data_stats: Any = None,
    ) -> None:
        check_mode(mode)
        for what, value in (("feature_names", feature_names), ("class_names", class_names)):
            check_texts(what, value)
        self.random_state = generator_of(random_state)
        self.mode = mode
        self.categorical_names = {} if categorical_names is None else categorical_names
        self.sample_around_instance = sample_around_instance
        self.training_data_stats = training_data_stats
        if training_data_stats:
            self.validate_training_data_stats(training_data_stats)
        table = _table_of(training_data)
        n, d = table.shape
        names = list(table.columns) if isinstance(table, pd.DataFrame) else [str(j) for j in range(d)]
        self.feature_names = names if feature_names is None else [str(name) for name in feature_names]
        if len(self.feature_names) != d:
            raise InputError(
                f"feature_names has {len(self.feature_names)} names for {d} columns: give one per column"
            )
        numbers = _numbers_of(table)
        coded = _positions_of(categorical_features, table)
        coded |= {j for j in range(d) if numbers is not None and numbers.words[j]}
        self.categorical_features: Any = sorted(coded)
        self.feature_selection = feature_selection
        width = float(np.sqrt(d)) * 0.75 if kernel_width is None else float(kernel_width)
        own = KernelOfWidth(exponential_kernel if kernel is None else kernel, width)
        self.base = LimeBase(own, verbose, random_state=self.random_state)
        self.class_names = class_names
        self.discretizer: Any = None
        self.feature_values: dict[int, list[Any]] = {}
        self.feature_frequencies: dict[int, Any] = {}
        self.scaler = StandardScaler(with_mean=False)
        if numbers is None:  # a sparse matrix
            self.scaler.fit(table.astype(np.float64))
            self._rows: Any = Rows(table, names=make_unique(self.feature_names))
            return
        codes = numbers.codes
        bare = [self.feature_names[j] for j in np.flatnonzero(np.isnan(codes).all(axis=0))]
        if bare:
            raise InputError(f"column {bare[0]!r} of training_data has no values: leave it out, or fill it in")
        if discretize_continuous:
            self.discretizer = self._discretizer_of(discretizer, codes, training_labels)
            codes = self.discretizer.discretize(codes)
            self.categorical_features = list(range(d))
        self._learn(codes)
        self._rows = self._background(table, n, numbers)

    def _discretizer_of(self, discretizer: Any, codes: Floats, labels: Any) -> BaseDiscretizer:
        """The discretizer that is meant."""
        coded, names, state = self.categorical_features, self.feature_names, self.random_state
        if self.training_data_stats:
            return StatsDiscretizer(codes, coded, names, labels, state, self.training_data_stats)
        if isinstance(discretizer, BaseDiscretizer):
            return discretizer
        if not isinstance(discretizer, str) or discretizer not in DISCRETIZERS:
            raise ValueError(
                f"discretizer is one of {', '.join(DISCRETIZERS)}, or a BaseDiscretizer, not {safe_repr(discretizer)}"
            )
        return DISCRETIZERS[discretizer](codes, coded, names, labels=labels, random_state=state)

    def _learn(self, codes: Floats) -> None:
        """Scale, and how often each code was seen."""
        self.scaler.fit(codes)
        for j in self.categorical_features:
            values, counts = np.unique(codes[:, j][~np.isnan(codes[:, j])], return_counts=True)
            stats = self.training_data_stats
            if stats:
                values, counts = (
                    np.asarray(stats["feature_values"][j]),
                    np.asarray(stats["feature_frequencies"][j]),
                )
            self.feature_values[j] = [float(value) for value in values]
            self.feature_frequencies[j] = np.asarray(counts, float) / np.sum(counts)
            self.scaler.mean_[j], self.scaler.scale_[j] = 0, 1

    def _background(self, table: Any, n: int, numbers: ColumnNumbers) -> Rows:
        """What samples are drawn from: the table, or its statistics where all of it is numbers."""
        binned = set() if self.discretizer is None else set(self.discretizer.to_discretize)
        coded = set(self.categorical_features) - binned
        gaps = np.asarray(np.isnan(numbers.codes).any(axis=0))
        bare = any(gaps[j] and j not in binned | coded for j in range(len(gaps)))
        if not self.training_data_stats and (numbers.mixed or bare):
            cut: Any = Continuous()
            if self.discretizer is not None:
                cut = Edges({j: BaseDiscretizer.edges(self.discretizer, j).tolist() for j in sorted(binned)})
            named = None if isinstance(table, pd.DataFrame) else make_unique(self.feature_names)
            whole = [j for j in coded if not numbers.words[j]]
            columns: list[Any] = [table.columns[j] if isinstance(table, pd.DataFrame) else j for j in whole]
            return Rows(table, names=named, categorical=columns, discretize=cut)
        return self._from_statistics(n, np.isnan(numbers.codes).mean(axis=0))

    def _from_statistics(self, n: int = 1000, missing: Any = None, around: Any = None) -> Rows:
        """The background of the columns' statistics; ``around`` (d,) is where numbers are drawn, if not at their means."""
        found = list[Any]()
        for j in range(len(self.feature_names)):
            gap = 0.0 if missing is None else float(missing[j])
            values = self.feature_values.get(j, [])
            shares = np.asarray(self.feature_frequencies.get(j, []), float) * (1 - gap)
            if self.discretizer is not None and j in self.discretizer.means:
                own = self.discretizer
                by_bin = np.zeros(len(own.means[j]))
                by_bin[np.asarray(values, int)] = shares
                low, high = float(own.mins[j][0]), float(own.maxs[j][-1])
                edges = BaseDiscretizer.edges(own, j)
                found.append(BinStatistics(edges, by_bin, own.means[j], own.stds[j], low, high, gap))
            elif j in self.feature_values:
                found.append(CategoryStatistics([float(value) for value in values], shares, gap))
            else:
                mean, sd = self._center(j), float(self.scaler.scale_[j])
                if self.scaler.var_[j] == 0:
                    found.append(CategoryStatistics([mean], [1.0]))
                else:
                    found.append(NumberStatistics(mean if around is None else float(around[j]), sd))
        return Rows.from_statistics(found, names=make_unique(self.feature_names), n_rows=n)

    def _center(self, j: int) -> float:
        return float(self.scaler.mean_[j])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what was pickled; explainers of lime's have statistics, from which the background is made again."""
        super().__setstate__(state)
        if "_rows" not in state:
            self._rows = self._from_statistics()

    @staticmethod
    def convert_and_round(values: Any) -> list[str]:
        """Numbers with two digits."""
        numbers = float, int, np.number
        return [f"{v:.2f}" if type(v) is float or isinstance(v, numbers) else str(v) for v in values]

    @staticmethod
    def validate_training_data_stats(training_data_stats: Mapping[str, Any]) -> None:
        """Refuse statistics that lack something."""
        lacking = [key for key in STATISTICS if key not in training_data_stats]
        if lacking:
            raise InputError(f"training_data_stats lacks {', '.join(lacking)}: it wants {', '.join(STATISTICS)}")

    def explain_instance(
        self,
        data_row: Any,
        predict_fn: Callable[[Any], Any],
        labels: Any = (1,),
        top_labels: int | None = None,
        num_features: int = 10,
        num_samples: Any = 5000,
        distance_metric: str = "euclidean",
        model_regressor: Any = None,
        sampling_method: str = "gaussian",
    ) -> Explanation:
        """Explain the model's answer to one row.

        Parameters
        ----------
        data_row : array, Series, CSR row …
            The row.
        predict_fn : callable
            Probabilities (n, k) of a batch; with mode="regression" one number per row.
        labels : iterable of int
            The outputs to explain.
        top_labels : int, optional
            Explains so many of the likeliest instead.
        num_features : int
            How many features at most.
        num_samples : int or "auto"
            Rows that the model is asked about; "auto" asks until the top features are settled.
        distance_metric : str
            Of scikit-learn.
        model_regressor : regressor, optional
            The local model; by default a ridge regression.
        sampling_method : str
            Has no effect: samples are always a low-discrepancy net.

        Returns
        -------
        Explanation
            With ours in ``veridical``.
        """
        self._count(predict_fn)
        if sampling_method != "gaussian":
            remark("sampling_method", "sampling_method has no effect: samples are always a low-discrepancy net")
        wanted = Wanted(
            labels, top_labels, num_features, num_samples, model_regressor, self.mode, self.class_names
        )
        x = self._row_of(data_row)
        rows = self._rows
        if self.sample_around_instance and self.discretizer is None and not issparse(x):
            rows = self._from_statistics(around=np.asarray(x, float))
        representation, model = rows(x), model_of(predict_fn)
        kernel = self._kernel(np.sqrt(len(representation.parts)))
        own = is_overridden(self, "_LimeTabularExplainer__data_inverse", LimeTabularExplainer)
        given = None
        if own:
            given = self._given(representation, data_row, model, wanted, distance_metric)
        elif distance_metric != "euclidean" and isinstance(representation, Row):
            given = self._measured(representation, model, wanted, distance_metric)
        elif distance_metric != "euclidean":
            representation = with_metric(representation, distance_metric)
            kernel = self._kernel(1.0)
        found = self._explain(representation, model, wanted, kernel, given)
        if own:
            found = replace(found, by_label={label: unmeasured(why) for label, why in found.by_label.items()})
        return self._explanation(x, representation, found, wanted)

    def _given(self, representation: Any, data_row: Any, model: Model, wanted: Wanted, metric: str) -> Given:
        """Samples of a subclass."""
        data, inverse = self._LimeTabularExplainer__data_inverse(data_row, wanted.num_samples)  # type: ignore[attr-defined]
        scaled = data if issparse(data) else (np.asarray(data, float) - self.scaler.mean_) / self.scaler.scale_
        weights = self.base.kernel_fn(distances_of(scaled, metric))
        return Given.of(scaled[:, _columns_of(representation)], weights, model(inverse))

    def _measured(self, representation: Row, model: Model, wanted: Wanted, metric: str) -> Given:
        """Samples of the background, whose distances are by another metric."""
        n = self._method(len(representation.parts), wanted, flat).n_samples or 5000
        sample = representation.draw(flat, self._seed(), 0, n)
        weights = np.asarray(self.base.kernel_fn(distances_of(sample.designs, metric)), np.float64).copy()
        weights[0] = 0.0
        return Given(replace(sample, weights=weights), model(representation.realize(sample)))

    def _row_of(self, data_row: Any) -> Any:
        """The row as the background takes it: by position, unless the background is a DataFrame."""
        if self._rows.sparse or self._rows.background.schema.plain is None:
            return data_row
        found = np.asarray(data_row.toarray() if issparse(data_row) else data_row)
        return found.reshape(-1) if found.ndim == 2 and len(found) == 1 else found

    def _values_of(self, x: Any, representation: Any) -> list[Any]:
        """The row's own values by column."""
        if issparse(x) or self._rows.sparse:
            return list(np.asarray(csr_matrix(x).todense()).ravel())
        if isinstance(x, np.ndarray) and x.dtype.kind == "f":
            return list(x.tolist())
        row = representation.row
        return list(row.iloc[0]) if isinstance(row, pd.DataFrame) else list(np.asarray(row)[0])

    def _explanation(self, x: Any, representation: Any, found: Found, wanted: Wanted) -> Explanation:
        """lime's explanation of what was found."""
        values = self._values_of(x, representation)
        d, names, shown = len(values), list(self.feature_names), self.convert_and_round(values)
        binned: Mapping[int, list[str]] = {} if self.discretizer is None else self.discretizer.names
        for j in self.categorical_features:
            if j not in binned:
                names[j], shown[j] = f"{names[j]}={self._category(j, values[j])}", "True"
        bins = None
        if self.discretizer is not None:
            bins = [self._bin(j, values[j]) if j in binned else names[j] for j in range(d)]
        ids = _columns_of(representation)
        scaled: Any = np.ones(d)
        if self.discretizer is None and not self._rows.sparse:
            coded = set(self.categorical_features)
            scaled = np.array(
                [
                    1.0 if j in coded else (float(values[j]) - self.scaler.mean_[j]) / self.scaler.scale_[j]
                    for j in range(d)
                ]
            )
        indexes = ids if self._rows.sparse else None
        mapper = TableDomainMapper(names, shown, scaled, self.categorical_features, bins, indexes)
        exp = Explanation(mapper, mode=self.mode, class_names=self.class_names)
        n = None if self.feature_selection == "none" else int(wanted.num_features)
        fill_explanation(exp, found, ids, n, () if self.feature_selection == "lasso_path" else range(d))
        if self.mode == "regression":
            (why,) = found.by_label.values()
            exp.local_exp[0] = [(j, -weight) for j, weight in exp.local_exp[1]]
            exp.intercept[0] = exp.intercept[1]
            exp.predicted_value = float(found.own[0])
            exp.min_value, exp.max_value = map(float, why.output_range or (found.own[0], found.own[0]))
            return exp
        exp.predict_proba = found.own
        if exp.class_names is None:
            exp.class_names = [str(j) for j in range(len(found.own))]
        if wanted.top_labels:
            exp.top_labels = list(found.by_label)
        total = float(found.own.sum())
        if abs(total - 1) > 1e-5:
            remark(
                "no probabilities",
                f"the model's answers add up to {total:.4g}, and not to 1: probabilities were expected, as of "
                "predict_proba; mode='regression' explains a single number",
                stacklevel=4,
            )
        return exp

    def _category(self, j: int, value: Any) -> Any:
        """What a code is called."""
        code: Any = value
        if isinstance(value, (float, np.floating, np.integer)) and np.isfinite(value) and value == int(value):
            code = int(value)
        named = self.categorical_names
        known: Any = named.get(j, ()) if isinstance(named, Mapping) else (named[j] if j < len(named) else ())
        if isinstance(known, Mapping):
            return known.get(code, code)
        inside = isinstance(code, int) and known is not None and 0 <= code < len(known)
        return known[code] if inside else code

    def _bin(self, j: int, value: Any) -> str:
        """What the bin of a value is called; a value on an edge belongs to the bin below it."""
        own, number = (
            self.discretizer,
            value if type(value) is float else np.nan if pd.isna(value) else float(value),
        )
        if number != number:
            return f"{self.feature_names[j]}=nan"
        return str(own.names[j][bisect_left(own.mins[j], number, 1) - 1])

    def __data_inverse(self, data_row: Any, num_samples: int) -> tuple[Any, Any]:
        """Samples as lime has them, the row first: designs (n, d) before they are scaled, and what the model gets."""
        x = self._row_of(data_row)
        representation = self._rows(x)
        if self._rows.sparse:
            designs = np.vstack(
                [np.ones(len(representation.parts)), self._coins(num_samples - 1, len(representation.parts))]
            )
            inverse = representation.keeping(designs > 0, self._seed())
            return inverse, inverse
        sample = representation.draw(flat, self._seed(), 0, max(int(num_samples) - 1, 0))
        values = self._values_of(x, representation)
        data = np.ones((len(sample.designs), len(values)))
        for column, design in zip(representation.background.columns, sample.designs.T, strict=True):
            j = column.positions[0]
            data[:, j] = design * column.sd + column.mean if isinstance(column, Normal) else design
        return data, representation.realize(sample)

    def _coins(self, n: int, d: int) -> Floats:
        return np.random.default_rng(self._seed()).integers(0, 2, (n, d)).astype(float)

    def explain_many(
        self,
        X: Any,
        predict_fn: Callable[[Any], Any],
        labels: Any = (1,),
        top_labels: int | None = None,
        num_features: int = 10,
        num_samples: Any = 5000,
        distance_metric: str = "euclidean",
        model_regressor: Any = None,
        sampling_method: str = "gaussian",
    ) -> list[Explanation]:
        """Explain many rows, from one sample wherever that is sound.

        The model is asked about the rows, and once about num_samples more, which all rows share; a row far from most
        gets samples of its own. Arguments are those of ``explain_instance``.

        Returns
        -------
        list of Explanation
            One per row.
        """
        alone = is_overridden(self, "_LimeTabularExplainer__data_inverse", LimeTabularExplainer)
        alone |= is_overridden(self, "explain_instance", LimeTabularExplainer)
        alone |= self._rows.sparse or distance_metric != "euclidean"
        if alone or (self.sample_around_instance and self.discretizer is None):
            rest = (labels, top_labels, num_features, num_samples, distance_metric, model_regressor)
            explainer = copy(self)
            explainer._calls = None
            return [explainer.explain_instance(x, predict_fn, *rest) for x in _rows_in(X)]
        wanted = Wanted(
            labels, top_labels, num_features, num_samples, model_regressor, self.mode, self.class_names
        )
        table = X if self._rows.background.schema.plain is None else np.asarray(X)
        instances, model, seed = self._rows.each(table), model_of(predict_fn), self._seed()
        found, shared = list[Explanation](), None
        try:
            for start in range(0, len(instances), ROWS_PER_BATCH):
                stop = min(start + ROWS_PER_BATCH, len(instances))
                batch = instances.batch(start, stop)
                own = model(instances.inputs(start, stop), start)
                shared = shared or SharedSample(model, batch[0].common, seed)
                together = self._together(batch, own, shared, wanted)
                for i, row in enumerate(batch):
                    one = together.get(i)
                    if one is None:
                        kernel = self._kernel(np.sqrt(len(row.parts)))
                        one = self._explain(row, model, wanted, kernel, seed=child_of(seed, start + i))
                    x = table[start + i] if isinstance(table, np.ndarray) else None
                    found.append(self._explanation(x, row, one, wanted))
        except ModelError as error:
            raise error.__cause__ or error from None
        return found

    def _together(
        self, batch: Sequence[Any], own: Floats, shared: SharedSample, wanted: Wanted
    ) -> dict[int, Found]:
        """Those of a batch that the shared sample explains well, by place."""
        kernel = self._kernel(np.sqrt(len(batch[0].parts)))
        method = self._method(len(batch[0].parts), wanted, kernel)
        able = [i for i, row in enumerate(batch) if row.efficiency(kernel) >= THIN]
        if not able:
            return {}
        labels = [wanted.positions(own[i]) for i in able]
        k = own.shape[1]
        model = name_outputs(shared.model, wanted, k)
        asked = [
            Question(model, batch[i], targets_of(chosen, k), shared.seed, shared=True)
            for i, chosen in zip(able, labels, strict=True)
        ]
        source = SharedSamples(shared, [batch[i] for i in able], method.kernel_for(batch[0]), own[able])
        made = explain_rows(method, asked, source)
        return {
            i: Found(dict(zip(chosen, whys, strict=True)), own[i])
            for i, chosen, whys in zip(able, labels, made, strict=True)
        }


@dataclass(frozen=True, eq=False)
class ColumnNumbers:
    """A table as numbers: columns of words and truths as codes."""

    codes: Floats  # (n, d), nan where a value is missing
    words: tuple[bool, ...]  # (d,) columns that are no numbers
    mixed: bool  # the table is no array of numbers


def _table_of(training_data: Any) -> Any:
    """The table as a DataFrame, a CSR matrix or an array; numbers of an array are floats, as lime gives them."""
    if issparse(training_data):
        return csr_matrix(training_data)
    if isinstance(training_data, pd.DataFrame):
        return training_data
    table = np.asarray(training_data)
    if table.ndim != 2:
        raise InputError(
            f"training_data wants rows and columns, not shape {table.shape}: an array of rows, a CSR matrix or a DataFrame"
        )
    return table.astype(np.float64) if table.dtype.kind in "biuf" else table.astype(object)


def _numbers_of(table: Any) -> ColumnNumbers | None:
    """A table as numbers; None for a sparse matrix."""
    if issparse(table):
        return None
    if isinstance(table, np.ndarray) and table.dtype.kind == "f":
        return ColumnNumbers(table, (False,) * table.shape[1], False)
    frame, codes, words = pd.DataFrame(table), list[Any](), list[bool]()
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].infer_objects()
        number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        found = column.to_numpy(dtype=float, na_value=np.nan) if number else pd.factorize(column)[0].astype(float)
        codes.append(found if number else np.where(found < 0, np.nan, found))
        words.append(not number)
    return ColumnNumbers(np.stack(codes, axis=1), tuple(words), True)


def _positions_of(categorical: Any, table: Any) -> set[int]:
    """Positions of columns, which may be named where the table is a DataFrame."""
    check_texts("categorical_features", categorical)
    found, d = set[int](), table.shape[1]
    for each in [] if categorical is None else list(categorical):
        at: Any = each
        if isinstance(table, pd.DataFrame) and each in table.columns and not isinstance(each, (int, np.integer)):
            at = table.columns.get_loc(each)
        if not isinstance(at, (int, np.integer)) or not 0 <= at < d:
            raise InputError(
                f"categorical_features wants positions of columns from 0 to {d - 1}, not {safe_repr(each)}"
            )
        found.add(int(at))
    return found


def _columns_of(representation: Any) -> list[int]:
    """The column of each part."""
    if isinstance(representation, Row):
        return [column.positions[0] for column in representation.background.columns]
    return [int(j) for j in representation.row.indices]


def _rows_in(X: Any) -> Any:
    """The rows of a table, one by one."""
    if issparse(X):
        return [X[i] for i in range(X.shape[0])]
    return [X.iloc[i] for i in range(len(X))] if isinstance(X, pd.DataFrame) else X


class RecurrentTabularExplainer(LimeTabularExplainer):
    """Explains series of several features: an array (n, steps, features), each feature at each step is a column."""

    def __init__(
        self,
        training_data: Any,
        mode: str = "classification",
        training_labels: Any = None,
        feature_names: Any = None,
        categorical_features: Any = None,
        categorical_names: Any = None,
        kernel_width: float | None = None,
        kernel: Callable[[Any, Any], Any] | None = None,
        verbose: bool = False,
        class_names: Any = None,
        feature_selection: str = "auto",
        discretize_continuous: bool = True,
        discretizer: Any = "quartile",
        random_state: Any = None,
    ) -> None:
        data = np.asarray(training_data)
        if data.ndim != 3:
            raise InputError(
                f"training_data wants the shape (rows, steps, features), not {data.shape}: LimeTabularExplainer is for "
                "tables"
            )
        n, self.n_timesteps, self.n_features = data.shape
        steps = range(self.n_timesteps)
        names = range(self.n_features) if feature_names is None else feature_names
        last = self.n_timesteps - 1
        coded = [int(f) * self.n_timesteps + t for f in categorical_features or () for t in steps]
        given: Any = categorical_names or {}
        items = given.items() if isinstance(given, Mapping) else enumerate(given)
        called = {int(f) * self.n_timesteps + t: known for f, known in items for t in steps}
        super().__init__(
            data.transpose(0, 2, 1).reshape(n, -1),
            mode=mode,
            training_labels=training_labels,
            feature_names=[f"{name}_t-{last - t}" for name in names for t in steps],
            categorical_features=coded,
            categorical_names=called,
            kernel_width=kernel_width,
            kernel=kernel,
            verbose=verbose,
            class_names=class_names,
            feature_selection=feature_selection,
            discretize_continuous=discretize_continuous,
            discretizer=discretizer,
            random_state=random_state,
        )

    def _make_predict_proba(self, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The model as a function of flat rows."""

        def predict(X: Any) -> Any:
            return func(np.asarray(X).reshape(len(X), self.n_features, self.n_timesteps).transpose(0, 2, 1))

        return predict

    def explain_instance(  # type: ignore[override]  # lime calls the model classifier_fn here
        self,
        data_row: Any,
        classifier_fn: Callable[[Any], Any],
        labels: Any = (1,),
        top_labels: int | None = None,
        num_features: int = 10,
        num_samples: Any = 5000,
        distance_metric: str = "euclidean",
        model_regressor: Any = None,
    ) -> Explanation:
        """Explain the model's answer to one series (steps, features); arguments as of ``LimeTabularExplainer``."""
        row = np.asarray(data_row)
        if row.shape != (self.n_timesteps, self.n_features):
            raise InputError(
                f"wanted a series of {self.n_timesteps} steps and {self.n_features} features, not shape {row.shape}"
            )
        self._count(classifier_fn)
        flat_explainer = copy(self)
        flat_explainer._calls = None
        return LimeTabularExplainer.explain_instance(
            flat_explainer,
            row.T.reshape(-1),
            self._make_predict_proba(classifier_fn),
            labels,
            top_labels,
            num_features,
            num_samples,
            distance_metric,
            model_regressor,
        )


# Texts


class LimeTextExplainer(Explainer):
    """Explains texts by their words.

    Parameters
    ----------
    kernel_width : float
        Of distances up to 100.
    kernel : callable, optional
        A function of distances (n,) and the width.
    verbose : bool
        Whether to print the local model's intercept and answers.
    class_names : list, optional
        Names of the model's outputs, in order.
    feature_selection : str
        One of auto, forward_selection, highest_weights, lasso_path and none.
    split_expression : str or callable
        A pattern of what is between words, or a function from a text to its tokens.
    bow : bool
        Whether all occurrences of a word are one feature; words are then taken out.
    mask_string : str, optional
        What stands instead of words if ``bow`` is False: "UNKWORDZ", or chr(0) for characters.
    random_state : int, RandomState or Generator, optional
        The same state gives the same explanation, however often it is used; None is a fixed seed.
    char_level : bool
        Whether characters are the words.
    """

    batch_size: int | None = TEXTS_PER_CALL

    def __init__(
        self,
        kernel_width: float = 25,
        kernel: Callable[[Any, Any], Any] | None = None,
        verbose: bool = False,
        class_names: Any = None,
        feature_selection: str = "auto",
        split_expression: Any = r"\W+",
        bow: bool = True,
        mask_string: str | None = None,
        random_state: Any = None,
        char_level: bool = False,
    ) -> None:
        check_texts("class_names", class_names)
        self.random_state = generator_of(random_state)
        own = KernelOfWidth(exponential_kernel if kernel is None else kernel, kernel_width)
        self.base = LimeBase(own, verbose, random_state=self.random_state)
        self.class_names = class_names
        self.vocabulary = None
        self.feature_selection = feature_selection
        self.bow = bow
        self.mask_string = mask_string
        self.split_expression = split_expression
        self.char_level = char_level

    def explain_instance(
        self,
        text_instance: str,
        classifier_fn: Callable[[Any], Any],
        labels: Any = (1,),
        top_labels: int | None = None,
        num_features: int = 10,
        num_samples: Any = 5000,
        distance_metric: str = "cosine",
        model_regressor: Any = None,
    ) -> Explanation:
        """Explain the model's answer to one text.

        Parameters
        ----------
        text_instance : str
            The text.
        classifier_fn : callable
            Probabilities (n, k) of a list of texts.
        labels : iterable of int
            The outputs to explain.
        top_labels : int, optional
            Explains so many of the likeliest instead.
        num_features : int
            How many words at most.
        num_samples : int or "auto"
            Texts that the model is asked about; "auto" asks until the top words are settled.
        distance_metric : str
            Of scikit-learn.
        model_regressor : regressor, optional
            The local model; by default a ridge regression.

        Returns
        -------
        Explanation
            With ours in ``veridical``.
        """
        self._count(classifier_fn)
        if not isinstance(text_instance, str):
            raise InputError(
                f"wanted a text, got {type(text_instance).__name__}: explain_many takes a list of texts"
            )
        wanted = Wanted(
            labels, top_labels, num_features, num_samples, model_regressor, class_names=self.class_names
        )
        words, model = self._indexed(text_instance), model_of(classifier_fn)
        exp = Explanation(TextDomainMapper(words), class_names=self.class_names)
        d = words.num_words()
        if d:
            found = self._explain_words(words, model, wanted, distance_metric)
            n = None if self.feature_selection == "none" else int(num_features)
            fill_explanation(exp, found, range(d), n, () if self.feature_selection == "lasso_path" else range(d))
            own, explained = found.own, list(found.by_label)
        else:
            own = model([text_instance])[0]
            explained = list(positions := wanted.positions(own))
            exp.local_exp = {label: [] for label in explained}
            exp.intercept = {label: float(own[at]) for label, at in positions.items()}
            exp.score, exp.local_pred = float("nan"), LabeledFloat.of(exp.intercept)
        exp.predict_proba = own
        if exp.class_names is None:
            exp.class_names = [str(j) for j in range(len(own))]
        if top_labels:
            exp.top_labels = explained
        return exp

    def explain_many(
        self,
        X: Sequence[str],
        classifier_fn: Callable[[Any], Any],
        labels: Any = (1,),
        top_labels: int | None = None,
        num_features: int = 10,
        num_samples: Any = 5000,
        distance_metric: str = "cosine",
        model_regressor: Any = None,
    ) -> list[Explanation]:
        """Explain many texts, one after the other; arguments are those of ``explain_instance``.

        Returns
        -------
        list of Explanation
            One per text.
        """
        explainer, texts = copy(self), list(X)
        explainer._calls = None
        rest = (labels, top_labels, num_features, num_samples, distance_metric, model_regressor)
        return [explainer.explain_instance(text, classifier_fn, *rest) for text in texts]

    def _indexed(self, text: str) -> IndexedString:
        if self.char_level:
            return IndexedCharacters(text, bow=self.bow, mask_string=self.mask_string)
        return IndexedString(
            text, split_expression=self.split_expression, bow=self.bow, mask_string=self.mask_string
        )

    def _explain_words(self, words: IndexedString, model: Model, wanted: Wanted, metric: str) -> Found:
        """Explain a text that has words."""
        representation = with_metric(self._masked(words), metric)
        given, name = None, "_LimeTextExplainer__data_labels_distances"
        own = is_overridden(self, name, LimeTextExplainer)
        if own:
            data, answers, distances = self._LimeTextExplainer__data_labels_distances(  # type: ignore[attr-defined]
                words, model.predict, wanted.num_samples, distance_metric=metric
            )
            given = Given.of(data, self.base.kernel_fn(np.asarray(distances)), np.asarray(answers, np.float64))
        found = self._explain(representation, model, wanted, self._kernel(100.0), given)
        if own:
            found = replace(found, by_label={label: unmeasured(why) for label, why in found.by_label.items()})
        return found

    def _masked(self, words: IndexedString) -> Any:
        """A text as the engine sees it."""
        (spans, owner), pieces = words.spans, words.inverse_vocab
        parts = tuple(
            Part(name, piece, "word", piece) for name, piece in zip(make_unique(pieces), pieces, strict=True)
        )
        mask = None if self.bow else words.mask_string
        return mask_text(words.raw, spans, owner, parts, mask, batch_size=self.batch_size)

    def __data_labels_distances(
        self, indexed_string: IndexedString, classifier_fn: Any, num_samples: int, distance_metric: str = "cosine"
    ) -> tuple[Floats, Floats, Floats]:
        """Samples as lime has them, the text first: masks (n, d), the model's answers, and distances."""
        d, n = indexed_string.num_words(), int(num_samples) - 1
        rng = np.random.default_rng(self._seed())
        ranks = rng.random((n, d)).argsort(axis=1).argsort(axis=1)
        masks = np.vstack([np.ones(d), ranks >= rng.integers(1, d + 1, n)[:, None]])
        texts = [indexed_string.inverse_removing(np.flatnonzero(mask == 0)) for mask in masks]
        return masks, np.asarray(classifier_fn(texts)), distances_of(masks, distance_metric) * 100


# Pictures


@dataclass(frozen=True, eq=False)
class Batched:
    """A model that is given a few pictures at a time."""

    predict: Callable[[Any], Any]
    batch_size: int

    def __call__(self, pictures: Any) -> Any:
        starts = range(0, len(pictures), self.batch_size)
        return np.concatenate([np.asarray(self.predict(pictures[i : i + self.batch_size])) for i in starts])


class LimeImageExplainer(Explainer):
    """Explains pictures by segments.

    Parameters
    ----------
    kernel_width : float
        Of distances up to 1.
    kernel : callable, optional
        A function of distances (n,) and the width.
    verbose : bool
        Whether to print the local model's intercept and answers.
    feature_selection : str
        One of auto, forward_selection, highest_weights, lasso_path and none.
    random_state : int, RandomState or Generator, optional
        The same state gives the same explanation, however often it is used; None is a fixed seed.
    """

    def __init__(
        self,
        kernel_width: float = 0.25,
        kernel: Callable[[Any, Any], Any] | None = None,
        verbose: bool = False,
        feature_selection: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.random_state = generator_of(random_state)
        self.feature_selection = feature_selection
        own = KernelOfWidth(exponential_kernel if kernel is None else kernel, kernel_width)
        self.base = LimeBase(own, verbose, random_state=self.random_state)

    def explain_instance(
        self,
        image: Any,
        classifier_fn: Callable[[Any], Any],
        labels: Any = (1,),
        hide_color: Any = None,
        top_labels: int | None = 5,
        num_features: int = 100000,
        num_samples: Any = 1000,
        batch_size: int = 10,
        segmentation_fn: Callable[[Any], Any] | None = None,
        distance_metric: str = "cosine",
        model_regressor: Any = None,
        random_seed: int | None = None,
        progress_bar: bool = True,
    ) -> ImageExplanation:
        """Explain the model's answer to one picture.

        Parameters
        ----------
        image : array (h, w, channels) or (h, w)
            The picture; a gray one becomes three channels.
        classifier_fn : callable
            Probabilities (n, k) of pictures.
        labels : iterable of int
            The outputs to explain, if ``top_labels`` is None.
        hide_color : number or sequence, optional
            The color of hidden segments; by default the mean of each.
        top_labels : int, optional
            How many of the likeliest outputs to explain.
        num_features : int
            How many segments at most.
        num_samples : int or "auto"
            Pictures that the model is asked about; "auto" asks until the top segments are settled.
        batch_size : int
            Pictures that the model is given at once.
        segmentation_fn : callable, optional
            Labels of the picture's segments, which keep their numbers; by default quickshift.
        distance_metric : str
            Of scikit-learn.
        model_regressor : regressor, optional
            The local model; by default a ridge regression.
        random_seed : int, optional
            Of the default segmentation.
        progress_bar : bool
            Has no effect.

        Returns
        -------
        ImageExplanation
            With ours in ``veridical``.
        """
        self._count(classifier_fn)
        check_whole("batch_size", batch_size)
        picture = np.asarray(image)
        if picture.ndim == 2:
            picture = np.stack([picture] * 3, axis=-1)
        if picture.ndim != 3:
            raise InputError(
                f"wanted a picture (height, width, channels), not shape {picture.shape}: pass one picture, and no batch"
            )
        if random_seed is None:
            random_seed = int(self._seed().generate_state(1)[0] % 1000)
        segment, seen = segmentation_fn, picture
        if segment is None:
            segment = SegmentationAlgorithm(
                "quickshift", kernel_size=4, max_dist=200, ratio=0.2, random_seed=random_seed
            )
            seen = picture[..., :3] if picture.shape[-1] >= 3 else np.repeat(picture[..., :1], 3, axis=-1)
        segments = np.asarray(segment(seen))
        hidden = hidden_picture(picture, segments, hide_color)
        wanted = Wanted(labels, top_labels, num_features, num_samples, model_regressor)
        model = replace(model_of(classifier_fn), decide=None)
        given, own = None, is_overridden(self, "data_labels", LimeImageExplainer)
        representation = with_metric(_masked_picture(picture, segments, hidden), distance_metric)
        if own:
            data, answers = self.data_labels(picture, hidden, segments, classifier_fn, num_samples, batch_size)
            weights = self.base.kernel_fn(distances_of(data, distance_metric))
            given = Given.of(data, weights, np.asarray(answers, np.float64))
        model = model.with_predict(Batched(model.predict, int(batch_size)))
        found = self._explain(representation, model, wanted, self._kernel(1.0), given)
        if own:
            found = replace(found, by_label={label: unmeasured(why) for label, why in found.by_label.items()})
        exp = ImageExplanation(picture, segments)
        ids = [int(id_) for id_ in np.unique(segments)]
        n = None if self.feature_selection == "none" else int(num_features)
        fill_explanation(exp, found, ids, n, () if self.feature_selection == "lasso_path" else ids)
        for label, pairs in exp.local_exp.items():  # dianna asks these for their dtype
            exp.local_exp[label] = [(id_, np.float64(weight)) for id_, weight in pairs]
        if top_labels:
            exp.top_labels = list(found.by_label)
        return exp

    def data_labels(
        self,
        image: Any,
        fudged_image: Any,
        segments: Any,
        classifier_fn: Callable[[Any], Any],
        num_samples: int,
        batch_size: int = 10,
        progress_bar: bool = True,
    ) -> tuple[Floats, Floats]:
        """Samples as lime has them, the whole picture first: masks (n, d) and the model's answers."""
        representation = _masked_picture(np.asarray(image), np.asarray(segments), np.asarray(fudged_image))
        masks = np.random.default_rng(self._seed()).integers(0, 2, (int(num_samples), len(representation.parts)))
        masks[0] = 1
        pictures = representation.keeping(masks > 0, self._seed())
        answers = [Batched(classifier_fn, int(batch_size))(some) for some in pictures.batches()]
        return masks.astype(float), np.concatenate(answers)


def hidden_picture(picture: Any, segments: Any, hide_color: Any) -> Any:
    """The picture with all of its segments hidden."""
    if segments.shape != picture.shape[:2]:
        raise InputError(
            f"segmentation_fn gave labels of shape {segments.shape} for a picture of {picture.shape[:2]} pixels: it must "
            "give one label per pixel"
        )
    hidden = picture.copy()
    if hide_color is not None:
        hidden[:] = hide_color
        return hidden
    flat_labels = np.unique(segments, return_inverse=True)[1].ravel()
    counts = np.bincount(flat_labels)
    for channel in range(picture.shape[-1]):
        sums = np.bincount(flat_labels, picture[..., channel].ravel().astype(float))
        hidden[..., channel] = (sums / counts)[flat_labels].reshape(segments.shape)
    return hidden


def _masked_picture(picture: Any, segments: Any, hidden: Any) -> Any:
    """A picture as the engine sees it."""
    return Superpixels(segment=segments, fill=hidden, axes="HWC")(picture)


# Picks


class SubmodularPick:
    """Few explanations that cover what matters in many (SP-LIME).

    Parameters
    ----------
    explainer : LimeTabularExplainer or LimeTextExplainer
        What explains.
    data : array, DataFrame or list
        The instances.
    predict_fn : callable
        The model.
    method : {"sample", "full"}
        Whether some of the instances are explained, or all.
    sample_size : int
        How many with "sample".
    num_exps_desired : int
        How many to pick.
    num_features : int
        Features per explanation.
    **kwargs
        ``top_labels``; others have no effect.

    Attributes
    ----------
    explanations, sp_explanations : list
        All explanations, and those that were picked.
    V : list of int
        Which those are.
    """

    def __init__(
        self,
        explainer: Any,
        data: Any,
        predict_fn: Callable[[Any], Any],
        method: str = "sample",
        sample_size: int = 1000,
        num_exps_desired: int = 5,
        num_features: int = 10,
        **kwargs: Any,
    ) -> None:
        top_labels = kwargs.pop("top_labels", 1)
        for name in kwargs:
            remark(
                f"SubmodularPick {name}", f"SubmodularPick was given {name!r}, which has no effect: leave it out"
            )
        if method not in ("sample", "full"):
            raise ValueError(f'method is "sample" or "full", not {safe_repr(method)}')
        check_whole("sample_size", sample_size)
        check_whole("num_exps_desired", num_exps_desired)
        n = data.shape[0] if hasattr(data, "shape") else len(data)
        chosen = np.arange(n)
        if method == "sample" and sample_size < n:
            rng = np.random.default_rng(digest_of(explainer.random_state))
            chosen = np.sort(rng.choice(n, sample_size, replace=False))
        settings = {"top_labels": top_labels, "num_features": num_features}
        some = rows_at(data, chosen)
        if isinstance(explainer, (LimeTabularExplainer, LimeTextExplainer)):
            self.explanations = explainer.explain_many(some, predict_fn, **settings)
        else:  # of somebody else's making
            self.explanations = [explainer.explain_instance(x, predict_fn, **settings) for x in _rows_in(some)]
        W = self._matrix()
        self.V = _cover(np.abs(W), min(int(num_exps_desired), len(W)))
        self.sp_explanations = [self.explanations[i] for i in self.V]

    def _matrix(self) -> Floats:
        """Sums of weights by feature (n, p): columns of tables, words of texts."""
        at, cells = dict[Any, int](), list[tuple[int, int, float]]()
        for i, exp in enumerate(self.explanations):
            labels = exp.available_labels() if exp.mode == "classification" else [1]
            for label in labels:
                names = [name for name, _ in exp.as_list(label=label)]
                text = isinstance(exp.domain_mapper, TextDomainMapper)
                for (id_, weight), name in zip(exp.local_exp[label], names, strict=True):
                    cells.append((i, at.setdefault(name if text else id_, len(at)), weight))
        W = np.zeros((len(self.explanations), len(at)))
        for i, j, weight in cells:
            W[i, j] += weight
        return W


def _cover(sizes: Floats, budget: int) -> list[int]:
    """Rows that together have the features of most importance, greedily; of rows that add the same, the first."""
    importance, covered, found = np.sqrt(sizes.sum(axis=0)), np.zeros(sizes.shape[1], bool), list[int]()
    for _ in range(budget):
        gains = ((sizes > 0) & ~covered) @ importance
        gains[found] = -1.0
        best = int(np.argmax(gains))
        found.append(best)
        covered |= sizes[best] > 0
    return found
