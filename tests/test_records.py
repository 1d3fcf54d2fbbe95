"""A part that its replacement leaves as it was is not tested: it has no weight, and nothing counts it as zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.protocols import replacement_of
from veridical.records import Bools, Explanation

RNG = np.random.default_rng(0)
QUIET = vd.Lime(n_samples=256)
METHODS: dict[str, Any] = {
    "lime": QUIET,
    "sparse lime": vd.Lime(n_samples=256, n_features=2),
    "tree": vd.Lime(n_samples=256, surrogate=vd.surrogates.Tree()),
    "shapley": vd.KernelShap(n_samples=64),
    "occlusion": vd.Occlusion(),
    "greedy": vd.baselines.Greedy(),
    "parzen": vd.baselines.Parzen(n_samples=64),
    "random": vd.baselines.RandomParts(),
}


def brightest(X: Any) -> Any:
    """High where any pixel is bright: one bright patch decides."""
    values = np.asarray(X, dtype=np.float64)
    return 1 / (1 + np.exp(-20 * (values.reshape(len(values), -1).max(axis=1) - 0.6)))


def patch(row: int, column: int, bright: float = 0.9, dark: float = 0.2) -> Any:
    """A dark picture of 4 x 4 squares, one of them bright."""
    x = np.full((32, 32), dark)
    x[8 * row : 8 * row + 8, 8 * column : 8 * column + 8] = bright
    return x


def half_uniform() -> Any:
    """Noise, but for a square of one color in the first of 3 x 3 squares."""
    x = np.random.default_rng(3).random((12, 12))
    x[:4, :4] = 0.5
    return x


def inside(X: Any) -> Any:
    """Squares, of which a mean is not the mean; some squares of the grid count more than others."""
    squares = np.asarray(X, dtype=np.float64) ** 2
    return (
        squares.mean(axis=(1, 2)) + squares[:, 4:8, 4:8].mean(axis=(1, 2)) + squares[:, :4, :4].mean(axis=(1, 2))
    )


def partly(method: Any = QUIET, fill: Any = None) -> Explanation:
    """An explanation of nine regions, of which the first was not tested."""
    return vd.explain(
        inside, vd.Grid(3, 3, fill=vd.fills.PartMean() if fill is None else fill), half_uniform(), method=method
    )


# The case that was found: a uniform patch decides everything, and its own mean stood in for it.


def test_a_bright_patch_is_found_thirty_times_of_thirty() -> None:
    for i in range(30):
        row, column = divmod(i % 16, 4)
        why = vd.explain(brightest, vd.Grid(4, 4), patch(row, column, 0.8 + 0.005 * i), method=QUIET)
        assert why.top(1)[0][0] == f"row {row + 1}, column {column + 1}"
        assert any("uniform" in note and "surroundings" in note for note in why.notes)


def test_a_fill_that_leaves_all_as_it_was_gives_no_explanation() -> None:
    why = vd.explain(brightest, vd.Grid(4, 4, fill=vd.fills.PartMean()), patch(1, 2))
    assert not why.tested.any()
    assert np.isnan(why.weights).all()
    assert np.isnan(why.intervals).all()
    assert why.top() == []
    assert why.verdict.label == "unchecked"
    assert "None of the 16 parts was tested" in why.verdict.sentence
    assert any(
        "16 regions were not tested" in note and "try fill=vd.fills.WholeMean()" in note for note in why.notes
    )
    assert why.intercept == pytest.approx(why.local_prediction)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_method_leaves_a_part_out_that_was_not_tested(method: Any) -> None:
    why = partly(method)
    np.testing.assert_array_equal(why.tested, [False] + [True] * 8)
    assert np.isnan(why.intervals[0]).all()
    if not isinstance(method, vd.baselines.Parzen):
        assert why.intercept + np.nansum(why.weights) == pytest.approx(why.local_prediction)
    assert "row 1, column 1" not in [name for name, _ in why.top(9)] + [
        n for group in why.unsettled for n in group
    ]
    assert "row 1, column 1" not in why.shares
    assert sum(why.shares.values()) == pytest.approx(1.0)
    assert any("1 region was not tested: what replaces it is what was there" in note for note in why.notes)


def test_methods_that_do_not_replace_test_every_part() -> None:
    for method in (vd.Sensitivity(), vd.methods.Counterfactual(n_draws=2)):
        assert partly(method).tested.all()
    undone = partly(vd.methods.Undo())
    assert undone.tested.all()  # what is around it is not what is there
    left = vd.methods.Undo(fills=(vd.fills.PartMean(),))
    np.testing.assert_array_equal(partly(left).tested, [False] + [True] * 8)
    assert "each of the fills (PartMean) puts back what was there" in " ".join(partly(left).notes)


def test_most_parts_untested_is_no_explanation_and_few_are_one() -> None:
    x = np.random.default_rng(4).random((12, 12))
    x[:8] = 0.5
    why = vd.explain(inside, vd.Grid(3, 3, fill=vd.fills.PartMean()), x)
    assert why.tested.sum() == 3
    assert why.verdict.sentence.startswith("6 of 9 parts were not tested")
    assert why.verdict.label == "unchecked"
    assert partly().verdict.label == "reliable"


# Which parts those are, for every kind of instance and replacement.


def unchanged(representer: Any, x: Any) -> Bools:
    return replacement_of(representer(x)).unchanged


def tone() -> Any:
    sound = np.sin(np.arange(4000) / 5)
    sound[1000:2000] = 0.0
    return sound


def stems(samples: Any) -> dict[str, Any]:
    return {"voice": samples, "silence": np.zeros(len(samples))}


def steps() -> Any:
    series = np.random.default_rng(5).normal(size=(40, 2))
    series[10:20, 1] = np.delete(series[:, 1], slice(10, 20)).mean()
    return series


def encode(text: str) -> tuple[list[int], list[tuple[int, int]]]:
    return [7, 8], [(0, 4), (5, 9)]


UNCHANGED: dict[str, tuple[Any, Any, list[int]]] = {
    "picture": (vd.Grid(3, 3, fill=vd.fills.PartMean()), half_uniform(), [0]),
    "picture uint8": (vd.Grid(3, 3, fill=vd.fills.PartMean()), (255 * half_uniform()).astype(np.uint8), [0]),
    "picture float32": (vd.Grid(3, 3, fill=vd.fills.PartMean()), half_uniform().astype(np.float32), [0]),
    "noisy patch": (
        vd.Grid(4, 4, fill=vd.fills.PartMean()),
        patch(0, 0) + 0.001 * RNG.normal(size=(32, 32)),
        [*range(16)],
    ),
    "color": (vd.Grid(3, 3, fill=vd.fills.PartMean()), np.stack([half_uniform()] * 3, axis=-1), [0]),
    "channels first": (vd.Grid(3, 3, fill=vd.fills.PartMean()), np.stack([half_uniform()] * 3), [0]),
    "black on black": (
        vd.Grid(3, 3, fill=vd.fills.Constant(0)),
        np.where(half_uniform() == 0.5, 0, half_uniform()),
        [0],
    ),
    "own labels": (
        vd.Superpixels(segment=np.arange(12)[:, None] // 4 * 3 + np.arange(12) // 4, fill=vd.fills.PartMean()),
        half_uniform(),
        [0],
    ),
    "volume": (vd.Grid(3, 3, fill=vd.fills.PartMean(), axes="DHW"), np.stack([half_uniform()] * 5), [0]),
    "another picture": (
        vd.Grid(3, 3, fill=np.where(np.arange(12) < 4, half_uniform(), 0.0)),
        half_uniform(),
        [0, 3, 6],
    ),
    "windows": (vd.Windows(4, fill=vd.fills.WholeMean()), steps(), [5]),
    "bands": (vd.Windows(4, cut=vd.Bands()), np.sin(np.arange(64) * 2 * np.pi / 32), [1, 2, 3]),
    "slices": (vd.Slices(4), tone(), [1]),
    "stems": (vd.Stems(stems), tone(), [1]),
    "tiles": (vd.Tiles(2, 2, fill=vd.fills.Constant(0)), np.pad(np.ones((4, 4)), ((0, 4), (0, 4))), [1, 2, 3]),
    "tiles of a recording": (vd.Tiles(4, 1, rate=8000.0), np.where(np.arange(4000) < 2900, tone(), 0.0), [3]),
    "mask token": (vd.Words(mask="[MASK]", split=r"\s+"), "it was [MASK] good", [2]),
    "words": (vd.Words(), "it was very good", []),
    "tokens": (vd.Tokens(encode, 8), "good film cut off", [1, 2, 3]),
    "rows": (vd.Rows(RNG.normal(size=(20, 3))), np.zeros(3), []),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_parts_that_are_as_they_were(case: str) -> None:
    representer, x, wanted = UNCHANGED[case]
    assert np.flatnonzero(unchanged(representer, x)).tolist() == wanted


def test_the_size_and_the_offset_of_values_do_not_matter() -> None:
    x, grid = half_uniform(), vd.Grid(3, 3, fill=vd.fills.PartMean())
    for other in (1e-9 * x, 1e9 * x, x + 1e4, -x):
        assert np.flatnonzero(unchanged(grid, other)).tolist() == [0]


def test_tensors_are_as_arrays() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64, torch.uint8):
        x = torch.as_tensor(255 * half_uniform()).to(dtype)
        assert np.flatnonzero(unchanged(vd.Grid(3, 3, fill=vd.fills.PartMean()), x)).tolist() == [0]
        made = vd.Grid(3, 3)(x)
        assert not made.replacement.unchanged.any()
        assert made.replacement.notes == (
            "1 region is uniform; it was replaced by its surroundings instead of its own mean",
        )
    series = vd.Windows(4, fill=vd.fills.WholeMean())
    assert np.flatnonzero(unchanged(series, torch.as_tensor(steps()))).tolist() == [5]


def test_fields_say_it_of_each_field() -> None:
    fields = vd.Fields({"text": vd.Words(), "picture": vd.Grid(3, 3, fill=vd.fills.PartMean())})
    found = fields({"text": "two words", "picture": half_uniform()})
    assert np.flatnonzero(replacement_of(found).unchanged).tolist() == [2]
    assert replacement_of(found).notes[0].startswith("the field 'picture': 1 region was not tested")


# What the default does about it.


def test_the_default_takes_the_first_replacement_that_changes_a_part() -> None:
    own = vd.Grid(3, 3)(half_uniform())
    assert not own.replacement.unchanged.any()
    flat = vd.Grid(2, 2)(np.full((8, 8), 0.7))  # nothing but zeros is anything else
    assert not flat.replacement.unchanged.any()
    assert "4 regions are uniform; they were replaced by the constant 0" in flat.replacement.notes[0]
    black = vd.Grid(2, 2)(np.zeros((8, 8)))
    assert black.replacement.unchanged.all()
    assert "give a fill=…" in black.replacement.notes[-1]
    windows = vd.Windows(4)(steps())
    assert not windows.replacement.unchanged.any()
    assert windows.replacement.notes == (
        "1 window is what the mean of the whole would be; it was replaced by its surroundings instead",
    )


def test_where_nothing_is_uniform_the_default_is_its_first_replacement() -> None:
    x = np.random.default_rng(6).random((12, 12))
    for first, second in ((vd.Grid(3, 3), vd.Grid(3, 3, fill=vd.fills.PartMean())),):
        one, other = (vd.explain(inside, each, x, method=QUIET) for each in (first, second))
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.notes == other.notes == ()


def test_a_fallback_of_ones_own() -> None:
    fill = vd.fills.Fallback((vd.fills.PartMean(), vd.fills.Constant(1.0)))
    made = vd.Grid(3, 3, fill=fill)(half_uniform())
    assert made.replacement.notes == (
        "1 region is uniform; it was replaced by the constant 1 instead of its own mean",
    )
    filled = fill(half_uniform()[..., None], np.arange(12)[:, None] // 4 * 3 + np.arange(12) // 4)
    assert (filled[:4, :4] == 1).all()
    for wrong in ((), vd.fills.PartMean(), (vd.fills.PartMean(),)):
        with pytest.raises(vd.errors.InputError, match="at least two fills"):
            vd.fills.Fallback(wrong)  # type: ignore[arg-type]


# Gradients replace nothing; those that compare with a baseline cannot see what is as in it.


def test_gradients() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(144, 1)).double().eval()
    x = torch.as_tensor(np.where(half_uniform() == 0.5, 0.0, half_uniform()))
    grid = vd.Grid(3, 3, fill=vd.fills.PartMean())
    assert vd.explain(module, grid, x, method=vd.gradients.Gradient()).tested.all()
    compared = vd.explain(module, grid, x, method=vd.gradients.IntegratedGradients(n_steps=4))
    np.testing.assert_array_equal(compared.tested, [False] + [True] * 8)
    assert any("1 part is as in the baseline" in note for note in compared.notes)
    other = vd.explain(module, grid, x, method=vd.gradients.IntegratedGradients(baseline=1.0, n_steps=4))
    assert other.tested.all()
    expected = vd.gradients.ExpectedGradients(background=torch.zeros(3, 12, 12).double(), n_draws=4)
    assert not vd.explain(module, grid, x, method=expected).tested[0]


# Whatever takes an explanation takes one with parts that were not tested.


def many() -> vd.Explanations:
    pictures = [half_uniform(), np.random.default_rng(7).random((12, 12)), half_uniform()[::-1].copy()]
    return vd.explain_many(inside, vd.Grid(3, 3, fill=vd.fills.PartMean()), pictures, method=QUIET)


def test_media(tmp_path: Path) -> None:
    why, text = partly(), str(partly())
    assert "not tested: row 1, column 1" in text
    assert "nan" not in text.replace("tenant", "")
    page = why._repr_html_()
    assert "ot tested: row 1, column 1" in page
    assert "nan" not in page.lower().replace("finance", "")
    why.plot()
    for record in (why, many()):
        for suffix in ("html", "png", "csv", "json", "parquet"):
            record.save(tmp_path / f"why.{suffix}")
            assert (tmp_path / f"why.{suffix}").stat().st_size
        for suffix in ("json", "parquet"):
            loaded = vd.load(tmp_path / f"why.{suffix}")
            first = loaded if isinstance(loaded, Explanation) else loaded[0]
            np.testing.assert_array_equal(first.tested, [False] + [True] * 8)
            assert np.isnan(first.intervals[0]).all()
            assert str(loaded)
    frame = why.to_frame()
    assert frame["weight"].isna().tolist() == [True] + [False] * 8
    assert pd.read_csv(tmp_path / "why.csv")["weight"].isna().sum() == 2
    assert json.loads((tmp_path / "why.json").read_text())


def test_everything_untested_is_drawn_and_kept(tmp_path: Path) -> None:
    why = vd.explain(brightest, vd.Grid(4, 4, fill=vd.fills.PartMean()), patch(1, 2))
    assert "None of the 16 parts was tested" in str(why).replace("\n    ", " ")
    why.plot()
    for suffix in ("html", "svg", "csv", "json", "parquet"):
        why.save(tmp_path / f"none.{suffix}")
    assert not vd.load(tmp_path / "none.json").tested.any()


def test_store(tmp_path: Path) -> None:
    pictures = np.stack([half_uniform(), np.random.default_rng(7).random((12, 12))])
    grid = vd.Grid(3, 3, fill=vd.fills.PartMean())
    store = vd.explain_many(inside, grid, pictures, method=QUIET, store=tmp_path / "store")
    store.check()
    np.testing.assert_array_equal(store[0].tested, [False] + [True] * 8)
    assert store[1].tested.all()
    assert len(vd.pick(store, 1).chosen) == 1


def test_picks_count_rows_that_tested_a_part() -> None:
    found = vd.pick(many(), 3)
    j = found.names.index("row 1, column 1")
    column = found.weights[:, [j]].toarray().ravel()
    assert np.isfinite(found.importance).all()
    assert np.count_nonzero(column) == 2  # of three explanations; the other did not test it


def test_compare() -> None:
    one, other = partly(), partly(QUIET, vd.fills.Constant(0))
    both = vd.compare(one, other)
    assert np.isnan(both.difference[0])
    assert np.isnan(both.p[0])
    assert not both.larger[0]
    assert "row 1, column 1" not in [name for name, _ in both.top(9)]
    assert "not tested" in str(both)
    assert "not tested" in both._repr_html_()
    both.plot()
    lists = vd.compare(many(), many())
    assert lists.verdict.passed
    assert str(lists)


def test_evaluate_and_believe() -> None:
    grid, pictures = vd.Grid(3, 3, fill=vd.fills.PartMean()), [half_uniform(), half_uniform()[::-1].copy()]
    report = vd.evaluate(inside, grid, pictures, methods={"lime": QUIET, "occlusion": vd.Occlusion()})
    frame = report.to_frame()
    measured = frame[
        frame["method"].isin(["lime", "occlusion"]) & ~frame["family"].isin(["truth", "randomization"])
    ]
    missing = measured[measured["mean"].isna()]
    assert set(missing["metric"]) <= {"sizes"}, missing[["metric", "reason"]]
    told = vd.believe(inside, grid, half_uniform(), partly())
    assert 0 <= told.observed <= 1
    nothing = vd.explain(brightest, vd.Grid(4, 4, fill=vd.fills.PartMean()), patch(1, 2))
    told = vd.believe(brightest, vd.Grid(4, 4, fill=vd.fills.PartMean()), patch(1, 2), nothing)
    assert not told.passed


def test_shap_gets_the_parts_that_were_tested() -> None:
    pytest.importorskip("shap")
    one = partly().to_shap()
    assert len(one.values) == 8
    assert "row 1, column 1" not in one.feature_names
    assert one.base_values + one.values.sum() == pytest.approx(partly().local_prediction)
    some = many()
    found = some.to_shap()
    assert np.isfinite(found.values).all()
    assert not {"row 1, column 1", "row 3, column 1"} & set(found.feature_names)
    locally = [e.local_prediction for e in some]
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), locally)
    with pytest.raises(vd.errors.InputError, match="no part was tested"):
        vd.explain(brightest, vd.Grid(4, 4, fill=vd.fills.PartMean()), patch(1, 2)).to_shap()


def test_checks_of_an_audit_take_them() -> None:
    X = np.stack([np.where(half_uniform() == 0.5, 0.5, x) for x in np.random.default_rng(8).random((10, 12, 12))])
    y = (X[:, 4:8, 4:8].mean(axis=(1, 2)) > 0.5).astype(int)
    grid = vd.Grid(3, 3, fill=vd.fills.PartMean())
    square = np.zeros((12, 12), bool)
    square[:4, :4] = True
    subject = vd.Subject(inside, grid, X, training=(X, y), region=square, shifted=X + 0.1)
    found = vd.audit(subject, checks=["reliance", "shift"], methods={"lime": QUIET})
    outcomes = {result.check: (result.outcome, result.reason) for result in found.results}
    assert "was not tested: in 10 of 10 instances" in outcomes["reliance"][1]
    assert outcomes["shift"][0] in ("passed", "failed")
