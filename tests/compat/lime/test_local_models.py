"""What lime's explainers share: local models of given samples, discretizers, and segmentations."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LinearRegression, Ridge

from veridical.compat.lime.explanations import LimeWarning
from veridical.compat.lime.local_models import (
    BaseDiscretizer,
    BaseWrapper,
    DecileDiscretizer,
    EntropyDiscretizer,
    LimeBase,
    QuartileDiscretizer,
    SegmentationAlgorithm,
    StatsDiscretizer,
    digest_of,
    has_arg,
)
from veridical.errors import InputError

rng = np.random.default_rng(0)
Z = rng.random((80, 4))
Z[0] = 1
Y = np.c_[Z @ [1.0, 2.0, 3.0, 0.0], -Z @ [1.0, 2.0, 3.0, 0.0]]
FAR = np.linspace(0, 1, 80)


def base() -> LimeBase:
    return LimeBase(lambda d: np.exp(-d))


@pytest.mark.parametrize("data", [Z, csr_matrix(Z)], ids=["array", "sparse"])
@pytest.mark.parametrize("method", ["auto", "forward_selection", "highest_weights", "lasso_path", "none"])
def test_samples_of_somebody_else_are_fitted(data: Any, method: str) -> None:
    intercept, pairs, score, local = base().explain_instance_with_data(
        data, Y, FAR, 1, 2, feature_selection=method
    )
    chosen = [j for j, _ in pairs]
    assert set(chosen) == ({0, 1, 2, 3} if method == "none" else {1, 2})
    wanted = Ridge().fit(Z[:, chosen], Y[:, 1], sample_weight=np.exp(-FAR))
    assert dict(pairs) == pytest.approx(dict(zip(chosen, wanted.coef_, strict=True)), abs=1e-4)
    assert intercept == pytest.approx(wanted.intercept_, abs=1e-4)
    assert local == pytest.approx(wanted.predict(Z[:1, chosen]), abs=1e-4)
    assert score == pytest.approx(wanted.score(Z[:, chosen], Y[:, 1], sample_weight=np.exp(-FAR)))
    assert {(type(j), type(w)) for j, w in pairs} == {(int, float)}
    assert [abs(w) for _, w in pairs] == sorted((abs(w) for _, w in pairs), reverse=True)


def test_local_models_may_be_the_callers() -> None:
    model = LinearRegression()
    _, pairs, score, _ = base().explain_instance_with_data(Z, Y, FAR, 0, 4, model_regressor=model)
    assert dict(pairs) == pytest.approx({0: 1.0, 1: 2.0, 2: 3.0, 3: 0.0}, abs=1e-9)
    assert score == pytest.approx(1.0)
    assert not hasattr(model, "coef_")


def test_features_are_selected_in_the_order_of_what_they_explain() -> None:
    weights = np.ones(80)
    assert base().forward_selection(Z, Y[:, 0], weights, 3).tolist() == [2, 1, 0]
    assert len(base().feature_selection(Z, Y[:, 0], weights, 9, "forward_selection")) == 4
    assert base().feature_selection(Z, Y[:, 0], weights, 2, "none").tolist() == [0, 1, 2, 3]
    alphas, path = base().generate_lars_path(Z, Y[:, 0])
    assert path.shape == (4, len(alphas))
    with pytest.raises(InputError, match="feature_selection is one of"):
        base().feature_selection(Z, Y[:, 0], weights, 2, "best")


def test_seeds_are_digests_of_states() -> None:
    same = [digest_of(np.random.RandomState(3), None).entropy for _ in range(2)]
    assert same[0] == same[1]
    states = [np.random.RandomState(3), np.random.RandomState(4), np.random.default_rng(3), 3, None]
    assert len({digest_of(state).entropy for state in states}) == len(states)
    moved = np.random.RandomState(3)
    moved.rand()
    assert digest_of(moved, None).entropy != same[0]


X = np.c_[rng.normal(size=(300, 2)), rng.integers(0, 2, 300)]
LABELS = (X[:, 0] > 0.3).astype(int)


@pytest.mark.parametrize(
    ("kind", "bins"), [(QuartileDiscretizer, 4), (DecileDiscretizer, 10), (EntropyDiscretizer, None)]
)
def test_bins_and_back(kind: Any, bins: int | None) -> None:
    made = kind(X, [2], ["a", "b", "c"], LABELS, random_state=0)
    assert made.to_discretize == [0, 1]
    assert set(made.names) == {0, 1}
    assert bins is None or len(made.names[0]) == bins
    edges = np.array(made.mins[0][1:])
    assert made.names[0][0] == f"a <= {edges[0]:.2f}"
    assert made.names[0][-1] == f"a > {edges[-1]:.2f}"
    coded = made.discretize(X)
    assert np.array_equal(coded[:, 0], np.searchsorted(edges, X[:, 0]))
    assert np.array_equal(coded[0], made.discretize(X[0]))
    assert np.array_equal(coded[:, 2], X[:, 2])
    back = made.undiscretize(coded)
    assert np.array_equal(made.discretize(back)[:, :2], coded[:, :2])
    again = kind(X, [2], ["a", "b", "c"], LABELS, random_state=0)
    assert np.array_equal(again.undiscretize(coded), back)
    assert not np.array_equal(again.undiscretize(coded), back), "the state moves, as lime's does"
    inside = X[coded[:, 0] == 0, 0]
    assert made.means[0][0] == pytest.approx(inside.mean())
    assert made.stds[0][0] == pytest.approx(inside.std(), abs=1e-9)
    assert pickle.loads(pickle.dumps(made)).names == made.names


def test_bins_of_one_value_keep_it() -> None:
    made = QuartileDiscretizer(np.ones((20, 1)), [], ["k"])
    assert made.names[0] == ["k <= 1.00", "k > 1.00"]
    assert made.get_undiscretize_values(0, [0, 1]).tolist() == [1.0, 1.0]


def test_discretizers_may_be_the_callers() -> None:
    class Halves(BaseDiscretizer):
        def bins(self, data: Any, labels: Any) -> list[Any]:
            return [[np.median(data[:, j])] for j in self.to_discretize]

    made = Halves(X, [2], ["a", "b", "c"])
    assert [len(names) for names in made.names.values()] == [2, 2]
    with pytest.raises(NotImplementedError, match="needs bins"):
        BaseDiscretizer(X, [], ["a", "b", "c"])
    with pytest.raises(ValueError, match="needs labels"):
        EntropyDiscretizer(X, [], ["a", "b", "c"])
    with pytest.raises(InputError, match="data_stats wants"):
        StatsDiscretizer(X, [], ["a", "b", "c"])


def test_arguments_of_functions_are_known() -> None:
    assert has_arg(lambda a, *, b: None, "a")
    assert has_arg(lambda a, *, b: None, "b")
    assert not has_arg(lambda *a, **b: None, "a")
    assert not has_arg(lambda *a, **b: None, None)
    assert not has_arg(5, "a")


def test_wrappers_hold_arguments() -> None:
    wrapper = BaseWrapper(lambda a, b, c=True: None, a=1, d=2)
    assert wrapper.filter_params(wrapper.target_fn, {"c": False}) == {"a": 1, "c": False}
    wrapper.set_params(b=5)
    assert wrapper.target_params == {"b": 5}
    with pytest.raises(ValueError, match="'d' is no argument"):
        wrapper.set_params(d=2)
    with pytest.raises(TypeError):
        wrapper._check_params("a")
    with pytest.raises(AttributeError):
        BaseWrapper([1])._check_params(["a"])


def test_segmentations_of_scikit_image() -> None:
    segmentation = pytest.importorskip("skimage.segmentation")
    picture = rng.random((16, 16, 3))
    made = SegmentationAlgorithm("quickshift", kernel_size=2, max_dist=6, ratio=0.5, random_seed=3)
    assert np.array_equal(
        made(picture), segmentation.quickshift(picture, kernel_size=2, max_dist=6, ratio=0.5, rng=3)
    )
    assert SegmentationAlgorithm("slic", n_segments=4)(picture).max() >= 1
    assert SegmentationAlgorithm("felzenszwalb", scale=5.0)(picture).shape == (16, 16)
    with pytest.warns(LimeWarning, match="takes no 'segments'"):
        SegmentationAlgorithm("slic", segments=4)
    with pytest.raises(InputError, match="algo_type is one of"):
        SegmentationAlgorithm("watershed")
