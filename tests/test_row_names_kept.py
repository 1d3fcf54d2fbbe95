"""Names of rows are part of what a store is of; records for shap tell of rows that do not fit together."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.errors import MixedTargetsWarning

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
LIME = vd.Lime(n_samples=64)


def probabilities(table):
    p = 1 / (1 + np.exp(-table["a"].to_numpy()))
    return np.c_[1 - p, p]


def explain(frame, **more):
    return vd.explain_many(probabilities, vd.Rows(FRAME), frame, classes=["no", "yes"], method=LIME, **more)


def test_a_store_with_other_names_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    named, path = FRAME[:5].set_axis(list("pqrst")), tmp_path / "store"
    explain(named, store=path)
    assert [e.row for e in explain(named, store=path)] == list("pqrst")
    for other in (FRAME[:5].set_axis(list("vwxyz")), FRAME[:5]):
        with pytest.raises(vd.InputError, match="have other names"):
            explain(other, store=path)


def test_a_store_that_was_begun_without_digests_of_names_goes_on(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "store"
    explain(FRAME[:5], store=path)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["data"]["names"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert len(explain(FRAME[:5].set_axis(list("vwxyz")), store=path)) == 5


def test_shap_is_told_of_several_targets():
    pytest.importorskip("shap")
    many = explain(FRAME[:6])
    assert {e.target for e in many} == {"no", "yes"}
    with pytest.warns(MixedTargetsWarning, match="one target"):
        found = many.to_shap()
    assert found.output_names.startswith("several targets (")
    assert explain(FRAME[:6], target="yes").to_shap().output_names == "yes"


def test_the_row_without_any_tested_part_is_named():
    pytest.importorskip("shap")
    one, other = explain(FRAME[:2].set_axis(["p", "q"]), target="yes")
    gone = np.full(len(other.weights), np.nan)
    untested = replace(other, weights=gone, intervals=np.c_[gone, gone])
    with pytest.raises(vd.InputError, match="row 'q': leave it out, for no part was tested"):
        vd.Explanations((one, untested)).to_shap()
