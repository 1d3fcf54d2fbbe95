"""Sums of decision trees, read from fitted models of several packages: recognized by class name, nothing imported.

Every reader takes apart what it understands and raises ``UnreadableError`` on the rest, so that a model is read as it
answers or not at all. Splits are read as "at most a threshold goes left", in the number format in which the package
compares.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from veridical.records import Bools, Floats, Ints

IDENTITY_LINK, SIGMOID, SOFTMAX, EXPONENTIAL = "identity", "sigmoid", "softmax", "exponential"
LEAF = -1
WALKED = 2**16  # ways from roots to leaves that are walked at once
MAX_CATEGORIES = 4096  # of a split, that are listed


class UnreadableError(Exception):
    """A model has something that is not understood: it is sampled like any other."""


@dataclass(frozen=True, eq=False)
class Forest:
    """All trees of a sum as flat arrays: an output is the base and the value of one leaf per tree.

    An input goes left at a node where its feature is at most the cut, or is in the node's set of categories; where
    it is missing, the node says so.
    """

    roots: Ints  # (t,)
    children: Ints  # (n, 2) left and right; -1 at leaves
    feature: Ints  # (n,)
    cut: Floats  # (n,)
    missing_left: Bools  # (n,)
    category: Ints  # (n,) row of ``left_sets`` at a split by categories; -1 elsewhere
    left_sets: Bools  # (c, codes) whether a code goes left; the last column is for codes beyond
    values: Floats  # (n, k)
    covers: Floats  # (n,) weight of the training rows that reach a node
    base: Floats  # (k,)
    single: bool  # inputs are rounded to 32 bits before they are compared

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return int(np.count_nonzero(self.children[:, 0] == LEAF))

    @property
    def n_features(self) -> int:
        """Features that some split asks for, up to the last."""
        return int(self.feature.max(initial=-1)) + 1

    def leaves_of(self, features: Floats) -> Ints:
        """The leaf that inputs (n, f) reach in each tree, (n, t)."""
        n, width = features.shape
        numbers = features.astype(np.float32).astype(np.float64) if self.single else features
        flat, children = np.ascontiguousarray(numbers).ravel(), self.children.ravel()
        at, place = np.tile(self.roots, n), np.arange(n * len(self.roots))
        row, found = np.repeat(np.arange(n) * width, len(self.roots)), np.tile(self.roots, n)
        some_missing, some_codes = bool(np.isnan(flat).any()), bool(len(self.left_sets))
        inner = self.feature[at] >= 0
        while True:
            place, at, row = place[inner], at[inner], row[inner]
            if not len(at):
                return found.reshape(n, -1)
            own = flat[row + self.feature[at]]
            right = own > self.cut[at]
            if some_codes:
                by_code = np.flatnonzero(self.category[at] >= 0)
                code, last = own[by_code], self.left_sets.shape[1] - 1
                code = np.where((code >= 0) & (code < last), code, last).astype(np.intp)
                right[by_code] = ~self.left_sets[self.category[at[by_code]], code]
            if some_missing:
                gone = np.flatnonzero(np.isnan(own))
                right[gone] = ~self.missing_left[at[gone]]
            at = children[2 * at + right]
            found[place] = at
            inner = self.feature[at] >= 0

    def answers(self, features: Floats) -> Floats:
        """The sums for inputs (n, f), (n, k)."""
        found, length = np.empty((len(features), len(self.base))), max(WALKED // len(self.roots), 1)
        for a in range(0, len(features), length):
            leaves = self.leaves_of(features[a : a + length])
            for k in range(len(self.base)):
                found[a : a + length, k] = self.values[:, k][leaves].sum(axis=1)
        return found + self.base

    def scaled(self, factor: float) -> Forest:
        """The same sum times a number."""
        return replace(self, values=self.values * factor, base=self.base * factor)


@dataclass(frozen=True, eq=False)
class NodeArrays:
    """One tree as its package numbers the nodes."""

    left: Ints  # (n,) -1 at leaves
    right: Ints
    feature: Ints
    cut: Floats
    missing_left: Bools
    values: Floats  # (n, k), of which those of leaves count
    covers: Floats
    left_codes: Mapping[int, Bools] | None = None  # of nodes that split by categories: which codes go left


def join_trees(trees: Sequence[NodeArrays], base: Any, single: bool) -> Forest:
    """Trees as one forest."""
    if not trees:
        raise UnreadableError("no trees")
    sizes = np.array([len(tree.left) for tree in trees])
    roots = np.append(0, np.cumsum(sizes))[:-1]
    children = np.concatenate([np.stack([tree.left, tree.right], axis=1) for tree in trees]).astype(np.int64)
    shift = np.repeat(roots, sizes)[:, None]
    children = np.where(children >= 0, children + shift, LEAF)
    feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
    inner = children[:, 0] >= 0
    values = np.concatenate([tree.values for tree in trees]).astype(np.float64)
    category, sets = np.full(len(feature), -1), list[Bools]()
    for root, tree in zip(roots.tolist(), trees, strict=True):
        for node, codes in (tree.left_codes or {}).items():
            category[root + node] = len(sets)
            sets.append(codes)
    width = max(map(len, sets), default=0)
    left_sets = np.zeros((len(sets), width), bool)
    for row, codes in zip(left_sets, sets, strict=True):
        row[: len(codes)], row[len(codes) :] = codes, codes[-1]
    cut = np.where(inner, np.concatenate([tree.cut for tree in trees]).astype(np.float64), 0.0)
    if not np.isfinite(values[~inner]).all() or np.isnan(cut).any():
        raise UnreadableError("values that are no numbers")
    return Forest(
        roots=roots,
        children=children,
        feature=np.where(inner, feature, LEAF),
        cut=cut,
        missing_left=np.concatenate([tree.missing_left for tree in trees]).astype(bool),
        category=category,
        left_sets=left_sets,
        values=np.where(inner[:, None], 0.0, values),
        covers=np.concatenate([tree.covers for tree in trees]).astype(np.float64),
        base=np.broadcast_to(np.asarray(base, np.float64), values.shape[1:]).copy(),
        single=single,
    )


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A fitted model as a forest, and what its outputs are of the forest's sum."""

    forest: Forest
    link: str  # what turns sums into the outputs of predict_proba, or of predict
    features: Callable[[Any], Any] | None = None  # what the model does to its inputs before the first split
    unstored_missing: bool = False  # what a sparse matrix does not store is missing, not zero


Reader: TypeAlias = Callable[[Any], TreeSum]


def read_trees(model: Any) -> TreeSum:
    """The trees of a fitted model.

    Parameters
    ----------
    model
        An estimator or booster.

    Returns
    -------
    TreeSum
        Its trees and link.

    Raises
    ------
    UnreadableError
        If it is of another kind, or has something that is not understood.
    """
    package, name = type(model).__module__.partition(".")[0], type(model).__name__
    reader = READERS.get((package, name))  # a class of the caller's own may override anything
    if reader is None:
        raise UnreadableError(f"{package}.{name} is no tree model that is known")
    return reader(model)


def _sklearn_tree(tree: Any, values: Floats, scale: float = 1.0) -> NodeArrays:
    missing = getattr(tree, "missing_go_to_left", None)
    if missing is None:
        missing = np.zeros(tree.node_count, bool)
    return NodeArrays(
        tree.children_left,
        tree.children_right,
        tree.feature,
        tree.threshold,
        np.asarray(missing).astype(bool),
        values * scale,
        tree.weighted_n_node_samples,
    )


def _read_averaged(model: Any) -> TreeSum:
    """Trees, and forests of them, whose answers are means."""
    estimators = getattr(model, "estimators_", None)
    members = [model] if estimators is None else list(estimators)
    trees = list[NodeArrays]()
    for each in members:
        values = np.asarray(each.tree_.value, np.float64)
        if hasattr(model, "classes_"):
            if values.shape[1] != 1:
                raise UnreadableError("several outputs with classes")
            values = values[:, 0]
            total = values.sum(axis=1, keepdims=True)
            values = values / np.where(total == 0, 1.0, total)
        else:
            values = values[:, :, 0]
        trees.append(_sklearn_tree(each.tree_, values, 1 / len(members)))
    return TreeSum(join_trees(trees, 0.0, single=True), IDENTITY_LINK)


def _read_gradient_boosting(model: Any) -> TreeSum:
    init = model.init_
    if not isinstance(init, str) and not type(init).__name__.startswith("Dummy"):
        raise UnreadableError("starts from another model")
    n_outputs, trees = model.estimators_.shape[1], list[NodeArrays]()
    for stage in model.estimators_:
        for k, each in enumerate(stage):
            values = np.zeros((each.tree_.node_count, n_outputs))
            values[:, k] = each.tree_.value[:, 0, 0]
            trees.append(_sklearn_tree(each.tree_, values, model.learning_rate))
    base = np.ravel(model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32)))
    link = IDENTITY_LINK
    if hasattr(model, "classes_"):
        if model.loss not in ("log_loss", "deviance"):
            raise UnreadableError(f"loss {model.loss}")
        link = SIGMOID if n_outputs == 1 else SOFTMAX
    return TreeSum(join_trees(trees, base, single=True), link)


def _codes_left(bitset: Any, known: Any, unknown_left: bool) -> Bools:
    """Which codes go left, of bits of those that do and of those that are known; what is not known is missing."""
    left, seen = (np.unpackbits(np.asarray(b, "<u4").view(np.uint8), bitorder="little") for b in (bitset, known))
    return np.append(np.where(seen > 0, left > 0, unknown_left), unknown_left)


def _read_hist_gradient_boosting(model: Any) -> TreeSum:
    n_outputs, trees = len(model._predictors[0]), list[NodeArrays]()
    known, places = model._bin_mapper.make_known_categories_bitsets()
    for stage in model._predictors:
        for k, each in enumerate(stage):
            nodes = each.nodes
            leaf, missing = nodes["is_leaf"].astype(bool), nodes["missing_go_to_left"].astype(bool)
            feature, values = nodes["feature_idx"].astype(np.int64), np.zeros((len(nodes), n_outputs))
            values[:, k] = nodes["value"]
            codes = {
                int(i): _codes_left(
                    each.raw_left_cat_bitsets[nodes["bitset_idx"][i]], known[places[feature[i]]], missing[i]
                )
                for i in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf)
            }
            left, right = (np.where(leaf, LEAF, nodes[side].astype(np.int64)) for side in ("left", "right"))
            cut = np.where(nodes["is_categorical"].astype(bool), 0.0, nodes["num_threshold"])
            trees.append(NodeArrays(left, right, feature, cut, missing, values, nodes["count"], codes))
    link = IDENTITY_LINK
    if hasattr(model, "classes_"):
        link = SIGMOID if n_outputs == 1 else SOFTMAX
    elif model.loss in ("gamma", "poisson"):
        link = EXPONENTIAL
    elif model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise UnreadableError(f"loss {model.loss}")
    encoder = getattr(model, "_preprocessor", None)
    transform = None if encoder is None else encoder.transform
    return TreeSum(join_trees(trees, np.ravel(model._baseline_prediction), single=False), link, transform)


XGBOOST_LINKS = {
    **dict.fromkeys(
        ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "reg:quantileerror", "binary:logitraw"),
        IDENTITY_LINK,
    ),
    **dict.fromkeys(("rank:pairwise", "rank:ndcg", "rank:map", "binary:hinge"), ""),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), SIGMOID),
    **dict.fromkeys(("multi:softprob",), SOFTMAX),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox"), EXPONENTIAL),
}


def _read_xgboost(model: Any) -> TreeSum:
    wrapper = model if hasattr(model, "get_booster") else None
    booster = model if wrapper is None else model.get_booster()
    missing = getattr(wrapper, "missing", np.nan)
    if missing is not None and not np.isnan(missing):
        raise UnreadableError("a number stands for missing")
    spec = json.loads(bytes(booster.save_raw("json")))["learner"]
    boost, objective = spec["gradient_booster"], spec["objective"]["name"]
    link = XGBOOST_LINKS.get(objective)
    if not link:
        raise UnreadableError(f"objective {objective}")
    weights: Sequence[float] | None = None
    if boost["name"] == "dart":
        weights, boost = boost["weight_drop"], boost["gbtree"]
    elif boost["name"] != "gbtree":
        raise UnreadableError(f"booster {boost['name']}")
    spec_trees, info = boost["model"]["trees"], boost["model"]["tree_info"]
    starts = boost["model"].get("iteration_indptr")
    if wrapper is not None and getattr(booster, "best_iteration", None) is not None and _stopped(booster):
        if starts is None:
            raise UnreadableError("early stopping in an older format")
        last = starts[int(booster.best_iteration) + 1]
        spec_trees, info = spec_trees[:last], info[:last]
    n_outputs, trees = max(info) + 1, list[NodeArrays]()
    for i, (each, k) in enumerate(zip(spec_trees, info, strict=True)):
        if int(each["tree_param"].get("size_leaf_vector", 1)) > 1:
            raise UnreadableError("leaves with several values")
        left, right = np.array(each["left_children"]), np.array(each["right_children"])
        condition = np.array(each["split_conditions"], np.float32)
        values = np.zeros((len(left), n_outputs))
        values[:, k] = condition if weights is None else condition * np.float32(weights[i])
        cut = np.nextafter(condition, np.float32(-np.inf)).astype(np.float64)  # below is at most the number before
        codes = _xgboost_codes(each)
        feature, default = np.array(each["split_indices"]), np.array(each["default_left"], bool)
        trees.append(NodeArrays(left, right, feature, cut, default, values, np.array(each["sum_hessian"]), codes))
    raw = spec["learner_model_param"]["base_score"]
    score = np.ravel(np.array(json.loads(raw), np.float64))
    if link == SIGMOID:
        score = np.log(score / (1 - score))
    elif link == EXPONENTIAL:
        score = np.log(score)
    categories = [_xgboost_categories(each) for each in boost["model"].get("cats", {}).get("enc", ())]
    transform = partial(_xgboost_inputs, categories) if any(categories) else None
    return TreeSum(join_trees(trees, score, single=True), link, transform, unstored_missing=True)


def _xgboost_categories(column: Mapping[str, Any]) -> list[Any]:
    """The categories of a column, as the training data had them."""
    values = column.get("values", [])
    if "offsets" not in column:
        return list(values)
    text = bytes(value % 256 for value in values)
    return [text[a:b].decode("utf-8") for a, b in pairwise(column["offsets"])]


def _xgboost_inputs(categories: Sequence[Sequence[Any]], table: Any) -> Any:
    """A table whose categories are coded as those of the training data were."""
    if not hasattr(table, "iloc") or table.shape[1] != len(categories):
        return table
    coded = table.copy()
    for name, known in zip(table.columns, categories, strict=True):
        if known:
            place = {category: float(i) for i, category in enumerate(known)}
            coded[name] = [place.get(value, np.nan) for value in table[name].astype(object)]
    return coded


def _stopped(booster: Any) -> bool:
    return bool(booster.attributes().get("best_iteration"))


def _xgboost_codes(tree: Mapping[str, Any]) -> dict[int, Bools]:
    """Which codes go left at the nodes that split by categories: those that are not listed."""
    found = dict[int, Bools]()
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for node, start, size in segments:
        right = np.array(tree["categories"][start : start + size], np.int64)
        if right.max(initial=0) >= MAX_CATEGORIES:
            raise UnreadableError("very many categories")
        left = np.ones(int(right.max(initial=0)) + 2, bool)
        left[right] = False
        found[int(node)] = left
    return found


LIGHTGBM_LINKS = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), IDENTITY_LINK),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), IDENTITY_LINK),
    **dict.fromkeys(("binary", "cross_entropy"), SIGMOID),
    "multiclass": SOFTMAX,
    **dict.fromkeys(("poisson", "gamma", "tweedie"), EXPONENTIAL),
}


def _read_lightgbm(model: Any) -> TreeSum:
    booster = getattr(model, "booster_", model)
    text = booster.model_to_string(importance_type="split")
    head, *blocks = text.partition("\nend of trees")[0].split("\nTree=")
    settings = dict(line.partition("=")[::2] for line in head.splitlines())
    objective, *more = settings.get("objective", "").split()
    link = LIGHTGBM_LINKS.get(objective)
    if link is None or "sqrt" in more:
        raise UnreadableError(f"objective {settings.get('objective')}")
    if link == SIGMOID and objective == "binary" and "sigmoid:1" not in more:
        raise UnreadableError("a steeper sigmoid")
    n_outputs = int(settings["num_tree_per_iteration"])
    trees = [_lightgbm_tree(block, i % n_outputs, n_outputs) for i, block in enumerate(blocks)]
    if "average_output" in settings:
        share = n_outputs / len(trees)
        trees = [replace(tree, values=tree.values * share) for tree in trees]
    categories = booster.pandas_categorical
    return TreeSum(
        join_trees(trees, 0.0, single=False), link, partial(_lightgbm_inputs, categories) if categories else None
    )


def _lightgbm_inputs(categories: Sequence[Sequence[Any]], table: Any) -> Any:
    """A table whose categories are coded as those of the training data were."""
    if not hasattr(table, "iloc"):
        return table
    mine = [name for name in table.columns if str(table[name].dtype) == "category"]
    if len(mine) != len(categories):
        raise UnreadableError("other categorical columns than those of the training data")
    coded = table.copy()
    for name, known in zip(mine, categories, strict=True):
        codes = table[name].cat.set_categories(known).cat.codes.to_numpy().astype(np.float64)
        coded[name] = np.where(codes < 0, np.nan, codes)
    return coded


def _lightgbm_tree(block: str, k: int, n_outputs: int) -> NodeArrays:
    """One tree: inner nodes first, then leaves."""
    held = dict(line.partition("=")[::2] for line in block.splitlines()[1:])
    if int(held.get("is_linear", "0")):
        raise UnreadableError("linear models in leaves")

    def numbers(name: str, dtype: Any = np.float64) -> Any:
        return np.array(held[name].split(), dtype)

    leaves = numbers("leaf_value")
    m, values = len(leaves) - 1, np.zeros((2 * len(leaves) - 1, n_outputs))
    values[m:, k] = leaves
    end = np.full(m + 1, LEAF)
    covers = np.append(numbers("internal_count"), numbers("leaf_count")) if m else np.ones(1)
    if not m:
        return NodeArrays(end, end, end, np.zeros(1), np.zeros(1, bool), values, covers)
    kinds = numbers("decision_type", np.int64)
    missing, cuts = (kinds >> 2) & 3, numbers("threshold")
    by_category = (kinds & 1) > 0
    if (missing[~by_category] == 1).any():
        raise UnreadableError("zeros that stand for missing")
    sides = [numbers(name, np.int64) for name in ("left_child", "right_child")]
    left, right = (np.append(np.where(side < 0, m + ~side, side), end) for side in sides)
    to_left = np.where(
        missing == 2, (kinds & 2) > 0, cuts >= 0
    )  # a missing number counts as 0 where none was known
    codes = dict[int, Bools]()
    if by_category.any():
        bounds, words = numbers("cat_boundaries", np.int64), numbers("cat_threshold", np.uint32)
        for node in np.flatnonzero(by_category).tolist():
            own = words[bounds[int(cuts[node])] : bounds[int(cuts[node]) + 1]]
            bits = np.unpackbits(own.astype("<u4").view(np.uint8), bitorder="little") > 0
            codes[node] = np.append(bits, False)
            to_left[node] = bool(bits[0]) and missing[node] != 2  # and so does a missing category
        cuts = np.where(by_category, 0.0, cuts)
    feature = np.append(numbers("split_feature", np.int64), end)
    return NodeArrays(
        left, right, feature, np.append(cuts, np.zeros(m + 1)), np.append(to_left, end > 0), values, covers, codes
    )


def _read_catboost(model: Any) -> TreeSum:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        spec = json.loads(path.read_text(encoding="utf-8"))
    if "oblivious_trees" not in spec or spec.get("ctr_data"):
        raise UnreadableError("trees that are not symmetric, or statistics of categories")
    floats = {each["feature_index"]: each for each in spec["features_info"].get("float_features", ())}
    if spec["features_info"].get("categorical_features") or spec["features_info"].get("text_features"):
        raise UnreadableError("features that are no numbers")
    scale, bias = spec["scale_and_bias"]
    n_outputs = len(np.ravel(bias))
    trees = [_catboost_tree(each, floats, scale, n_outputs) for each in spec["oblivious_trees"]]
    link = IDENTITY_LINK
    loss = str((model.get_all_params() or {}).get("loss_function", ""))
    if hasattr(model, "predict_proba"):
        if loss not in ("Logloss", "CrossEntropy", "MultiClass"):
            raise UnreadableError(f"loss {loss}")
        link = SIGMOID if n_outputs == 1 else SOFTMAX
    elif loss.partition(":")[0] in ("Poisson", "Tweedie"):
        link = EXPONENTIAL
    return TreeSum(join_trees(trees, np.ravel(bias), single=True), link)


def _catboost_tree(tree: Mapping[str, Any], floats: Mapping[int, Any], scale: float, n_outputs: int) -> NodeArrays:
    """A symmetric tree as a heap: bit i of a leaf's number says whether split i is passed, the first at the bottom."""
    splits = tree["splits"] or []
    if any(split["split_type"] != "FloatFeature" for split in splits):
        raise UnreadableError("splits that are not by a number")
    depth = len(splits)
    n, inner = 2 ** (depth + 1) - 1, np.arange(2**depth - 1)
    left, right, feature = np.full(n, LEAF), np.full(n, LEAF), np.full(n, LEAF)
    left[inner], right[inner] = 2 * inner + 1, 2 * inner + 2
    cut, to_left, values, covers = np.zeros(n), np.ones(n, bool), np.zeros((n, n_outputs)), np.ones(n)
    for level, split in enumerate(reversed(splits)):
        own, known = slice(2**level - 1, 2 ** (level + 1) - 1), floats[split["float_feature_index"]]
        feature[own], cut[own] = known["flat_feature_index"], np.float32(split["border"])
        to_left[own] = known.get("nan_value_treatment", "AsIs") != "AsTrue"
    values[2**depth - 1 :] = np.reshape(tree["leaf_values"], (2**depth, n_outputs)) * scale
    if "leaf_weights" in tree:
        covers[2**depth - 1 :] = tree["leaf_weights"]
        for i in inner[::-1]:
            covers[i] = covers[2 * i + 1] + covers[2 * i + 2]
    return NodeArrays(left, right, feature, cut, to_left, values, covers)


def _readers(package: str, reader: Reader, *names: str) -> dict[tuple[str, str], Reader]:
    return {(package, name): reader for name in names}


BOTH = ("Classifier", "Regressor")
READERS: dict[tuple[str, str], Reader] = {
    **_readers("sklearn", _read_averaged, *(f"{kind}Tree{end}" for kind in ("Decision", "Extra") for end in BOTH)),
    **_readers(
        "sklearn", _read_averaged, *(f"{kind}{end}" for kind in ("RandomForest", "ExtraTrees") for end in BOTH)
    ),
    **_readers("sklearn", _read_gradient_boosting, *(f"GradientBoosting{end}" for end in BOTH)),
    **_readers("sklearn", _read_hist_gradient_boosting, *(f"HistGradientBoosting{end}" for end in BOTH)),
    **_readers("xgboost", _read_xgboost, *(f"XGB{kind}{end}" for kind in ("", "RF") for end in BOTH)),
    **_readers("xgboost", _read_xgboost, "XGBRanker", "Booster"),
    **_readers("lightgbm", _read_lightgbm, *(f"LGBM{end}" for end in BOTH), "LGBMRanker", "Booster"),
    **_readers("catboost", _read_catboost, *(f"CatBoost{end}" for end in BOTH), "CatBoost"),
}
