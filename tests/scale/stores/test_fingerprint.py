"""What a store is of: rows, representer and model are told apart by what they hold and do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.models.adapters import model_of
from veridical.models.validation import seed_of
from veridical.scale.driver import Job, Run, describe_run, represent_head
from veridical.scale.engines.local import Threads
from veridical.scale.sources import instance_source, source_of_files
from veridical.scale.stores import instances
from veridical.scale.stores.instances import content_of, digest_rows

X = np.random.default_rng(0).normal(size=(40, 3)).round(2)


def changed(values: Any) -> Any:
    """The same, but for one number far from the first rows."""
    new = np.array(values)
    new[30, 1] = 9.0
    return new


KINDS: dict[str, Any] = {
    "array": lambda X: X,
    "objects": lambda X: X.astype(object),
    "frame": lambda X: pd.DataFrame(X, columns=list("abc")),
    "mixed frame": lambda X: pd.DataFrame(X.astype(object), columns=list("abc")).assign(a=[[1, "x"]] * len(X)),
    "sparse": csr_matrix,
    "texts": lambda X: [" ".join(map(str, row)) for row in X],
    "lists": lambda X: [list(row) for row in X],
    "records": lambda X: [{"text": f"{row[0]}", "numbers": row} for row in X],
    "records of lists": lambda X: [{"text": "a", "own": [row[:2], ["x", row[1]]]} for row in X.tolist()],
}


@pytest.mark.parametrize("kind", KINDS)
def test_one_other_number_makes_other_rows(kind: str) -> None:
    def told(values: Any) -> dict[str, str]:
        source = instance_source(Threads(), KINDS[kind](values))
        return {"content": content_of(source.X), **digest_rows(source)}

    one, other = told(X), told(changed(X))
    assert one == told(X.copy())
    assert one["content"] != other["content"]
    assert all(one[key] != other[key] for key in one.keys() - {"names"})


def test_what_only_says_where_it_lies_is_not_told_apart() -> None:
    assert content_of([object(), object()]) == ""


@pytest.mark.parametrize("most", [2**14, 3])
def test_files_are_told_by_all_of_them_or_by_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(instances, "PIECE", 16)
    monkeypatch.setattr(instances, "PIECES", most)
    path, text = tmp_path / "x.csv", "a,b\n" + "1,2\n" * 100
    seen = 0
    path.write_text(text)
    before = digest_rows(source_of_files((path,)))
    for at in range(4, len(text), 4):
        path.write_text(f"{text[:at]}9{text[at + 1 :]}")
        seen += digest_rows(source_of_files((path,))) != before
    assert seen == 100 if most > 3 else 8 <= seen <= 20


def test_rows_that_the_model_fails_on_are_left_out_of_its_answers() -> None:
    def picky(X: Any) -> Any:
        if (X[:, 0] == top).any():
            raise ValueError("not this one")
        return X[:, 0]

    def answers(predict: Any) -> Any:
        model = model_of(predict, None)
        job = Job(model, vd.Rows(X), linear_lime(), None, seed_of(0))
        run = Run(Threads(), job, instance_source(Threads(), X), lambda work, total: work, 1024)
        return describe_run(run, model, represent_head(run, 16)).answers

    first, top = X[:16], X[:16, 0].max()
    np.testing.assert_array_equal(answers(picky), first[first[:, 0] < top, :1])
    assert answers(lambda X: 1 / 0) is None


@pytest.mark.parametrize("method", [linear_lime(n_samples=64), vd.Occlusion()])
def test_a_call_that_was_wrong_leaves_nothing_in_the_way(tmp_path: Path, method: Any) -> None:
    def broken(X: Any) -> Any:
        raise ValueError("not ready")

    rows, store = vd.Rows(X), tmp_path / "why"
    with pytest.raises(vd.errors.InputError, match="columns"):
        vd.explain_many(lambda X: X[:, 0], rows, X[:, :2], method=method, store=store)
    with pytest.raises(vd.errors.ModelError, match="not ready"):
        vd.explain_many(broken, rows, X, method=method, store=store)
    assert len(vd.explain_many(lambda X: X[:, 0], rows, X, method=method, store=store)) == len(X)
