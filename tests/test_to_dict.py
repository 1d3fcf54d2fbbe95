"""why.to_dict() is plain Python that any service can send."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import explanations as made
import veridical as vd
from veridical.exchange import to_plain

TABLE = pd.DataFrame(
    {
        "age": [20.0, 40.0, np.nan, 60.0] * 10,
        "city": pd.Categorical(["Rome", "Oslo"] * 20),
        "since": pd.date_range("2024", periods=40),
    },
    index=pd.date_range("2025", periods=40),
)


def test_it_has_all_that_a_service_needs() -> None:
    why = vd.explain(lambda D: D["age"].fillna(0.0), vd.Rows(TABLE), TABLE.iloc[2])
    found = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert found["row"] == "2025-01-03T00:00:00"
    assert [part["value"] for part in found["parts"]] == [None, "Rome", "2024-01-03T00:00:00"]
    assert [part["column"] for part in found["parts"]] == ["age", "city", "since"]
    assert set(found["parts"][0]) == {"name", "column", "value", "weight", "low", "high"}
    known = {"target", "prediction", "local_prediction", "intercept", "fidelity", "notes", "recipe", "verdict"}
    assert known <= set(found)
    assert found["prediction"] == why.prediction
    assert found["verdict"]["sentence"] == why.verdict.sentence


@pytest.mark.parametrize(
    "case", [made.mushroom, made.unmeasured, made.constant, made.empty, made.extreme, made.hostile]
)
def test_strict_json_takes_every_explanation(case: Any) -> None:
    e = case()
    odd = (
        b"x",
        2**70,
        {1},
        complex(1, 2),
        np.float32(0.5),
        np.int8(3),
        pd.NaT,
        pd.NA,
        np.datetime64("2024"),
        "\ud800",
    )
    for value in odd:
        found = replace(e, row=(value, "x"), target=value, values=(value,) * len(e.parts)).to_dict()
        json.dumps(found, allow_nan=False)


def test_nothing_is_not_a_number() -> None:
    assert [to_plain(v) for v in (np.nan, np.inf, -np.inf, pd.NaT, pd.NA, None)] == [None] * 6
    assert to_plain({"a": (np.float64(0.5), np.bool_(True))}) == {"a": [0.5, True]}
