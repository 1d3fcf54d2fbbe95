"""Chunks on workers of this machine: the same bits, nothing lost or twice, clear words where it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import veridical as vd
from veridical.attribute.many import CHUNK
from veridical.records import Floats
from veridical.scale.engines import Engine, Local, Threads

TABLE = np.random.default_rng(0).normal(size=(2 * CHUNK + 100, 4))
METHOD = vd.Lime(n_samples=64)


def predict(X: Any) -> Floats:
    p = 1 / (1 + np.exp(-(X[:, 0] + 2 * X[:, 1] * X[:, 2])))
    return np.stack([1 - p, p], axis=1)


def bits(many: Any) -> list[Any]:
    return [
        (e.weights.tobytes(), e.intervals.tobytes(), e.prediction, e.fidelity, e.target, e.names, dict(e.recipe))
        for e in many
    ]


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "pay": rng.lognormal(10, 1, n)})
    table["pay"] = table["pay"].where(rng.random(n) > 0.1)
    table["city"] = pd.Categorical(rng.choice(["Linz", "Graz"], n))
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table["word"] = rng.choice(["yes", "no"], n)
    return table


def of_frames(X: pd.DataFrame) -> Floats:
    score = 0.1 * X["age"] + (X["city"] == "Linz") * X["since"].dt.month + (X["word"] == "yes")
    return (score + 1e-5 * X["pay"].fillna(0)).to_numpy(dtype=float)


def of_texts(texts: Any) -> Floats:
    return np.array([len(text) + 3.0 * ("good" in text) for text in texts])


def of_pictures(X: Any) -> Floats:
    return np.array([float(np.asarray(x)[:2].sum()) for x in X])


def of_sparse(X: Any) -> Floats:
    return np.asarray(X @ np.arange(X.shape[1], dtype=float)).ravel()


WORDS = ["good", "bad", "film", "long", "short"]
DRAWN = np.random.default_rng(3)
KINDS = {
    "numbers": (predict, vd.Rows(TABLE, discretize=vd.Continuous()), TABLE[: CHUNK + 60]),
    "frame": (of_frames, vd.Rows(frame(500)), frame(CHUNK + 60)),
    "texts": (of_texts, vd.Words(), [" ".join(DRAWN.permutation(WORDS)) for _ in range(CHUNK + 9)]),
    "pictures": (of_pictures, vd.Grid(2, 2), DRAWN.random((CHUNK + 9, 6, 6))),
    "sparse": (of_sparse, vd.Rows(csr_matrix(np.eye(5))), csr_matrix(DRAWN.integers(1, 3, (CHUNK + 9, 5)) * 1.0)),
}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return {
        kind: bits(vd.explain_many(model, represent, X, method=METHOD, rng=5))
        for kind, (model, represent, X) in KINDS.items()
    }


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(KINDS)),
    batch_size=st.integers(1, 3 * CHUNK),
    engine=st.sampled_from([None, Threads(1), Threads(2), Local(1), Local(2)]),
    in_store=st.booleans(),
)
def test_no_bit_depends_on_engine_chunks_or_workers(
    whole: dict[str, Any], tmp_path_factory: Any, kind: str, batch_size: int, engine: Engine | None, in_store: bool
) -> None:
    model, represent, X = KINDS[kind]
    store = tmp_path_factory.mktemp("stores") / "store" if in_store else None
    found = vd.explain_many(
        model, represent, X, method=METHOD, rng=5, batch_size=batch_size, engine=engine, store=store
    )
    assert bits(found) == whole[kind]
