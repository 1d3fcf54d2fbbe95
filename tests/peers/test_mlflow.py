"""Records in runs of MLflow, with its own client and a store on the disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from veridical.errors import InputError
from veridical.integrations import mlflow_runs

pytestmark = pytest.mark.filterwarnings("ignore")  # what MLflow and the packages that it imports warn of is theirs


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """MLflow, with a store in a folder of its own."""
    import mlflow

    folder = tmp_path_factory.mktemp("store")
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("tests", artifact_location=folder.as_uri())
    mlflow.set_experiment("tests")
    yield mlflow
    mlflow.set_tracking_uri(None)


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What the guide takes for granted."""
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.set_axis(["sepal length", "sepal width", "petal length", "petal width"], axis=1)
    model = GaussianNB().fit(X[::2], y[::2])
    return {"model": model, "X_train": X[::2], "X_test": X[1::2], "y_train": y[::2], "y_test": y[1::2]}


def paths(mlflow: Any, run_id: str, folder: str | None = None) -> list[str]:
    found = []
    for each in mlflow.MlflowClient().list_artifacts(run_id, folder):
        found += paths(mlflow, run_id, each.path) if each.is_dir else [each.path]
    return found


def test_a_record_is_a_page_a_file_numbers_and_a_label(mlflow: Any, known: dict[str, Any]) -> None:
    rows = vd.Rows(known["X_train"])
    many = vd.explain_many(known["model"], rows, known["X_test"][:8], method=vd.Lime(n_samples=256))
    with mlflow.start_run() as run:
        assert mlflow_runs.log(many, "weekly/reasons") == "veridical/weekly/reasons.html"
        assert mlflow_runs.log(many[0]) == "veridical/explanation.html"
    data = mlflow.get_run(run.info.run_id).data
    wanted = {f"weekly/reasons/{key}": value for key, value in mlflow_runs.read_numbers(many).items()}
    assert {key: data.metrics[key] for key in wanted} == pytest.approx(wanted)
    assert data.metrics["explanation/fidelity"] == pytest.approx(many[0].fidelity)
    assert data.tags["veridical.explanation.label"] == many[0].verdict.label
    assert data.tags["veridical.version"] == vd.__version__
    found = paths(mlflow, run.info.run_id)
    assert {"veridical/weekly/reasons.html", "veridical/explanation.html", "veridical/explanation.json"} <= set(
        found
    )
    (file,) = (path for path in found if "reasons" in path and not path.endswith(".html"))
    back = vd.load(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=file))
    assert isinstance(back, vd.Explanations)
    assert [each.top(1) for each in back] == [each.top(1) for each in many]


def test_the_run_may_be_named_and_is_never_started(mlflow: Any, known: dict[str, Any]) -> None:
    verdict = vd.Verdict(True, 0.75, 0.5, "Fine.")
    with pytest.raises(InputError, match="no run of MLflow is active"):
        mlflow_runs.log(verdict)
    assert mlflow.active_run() is None
    with mlflow.start_run() as run:
        pass
    mlflow_runs.log(verdict, run_id=run.info.run_id)
    assert mlflow.active_run() is None
    assert mlflow.get_run(run.info.run_id).data.metrics["verdict/observed"] == 0.75


def test_columns_of_any_name_become_metrics(mlflow: Any) -> None:
    import numpy as np

    X = np.random.default_rng(0).normal(size=(30, 4))
    names = ["a/b", "../up", "größe (m²)", "x" * 400]
    many = vd.explain_many(lambda rows: np.asarray(rows).sum(axis=1), vd.Rows(X, names=names), X[:4])
    with mlflow.start_run() as run:
        mlflow_runs.log(many)
    assert len([key for key in mlflow.get_run(run.info.run_id).data.metrics if "/importance/" in key]) == 4


def test_the_guide_runs(
    mlflow: Any, known: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The blocks of docs/guides/mlflow.md, with checks that take seconds; and thresholds that are not met."""
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[2] / "docs" / "guides" / "mlflow.md"
    code = "\n".join(re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    assert '"leakage", "randomize"]' in code
    code = code.replace(', "leakage", "randomize"]', "]").replace("y=y_test))", 'y=y_test, checks=["accuracy"]))')
    names = dict(known)
    exec(compile(code, str(page), "exec"), names)
    result, run = names["result"], mlflow.last_active_run()
    assert (result.metrics["audit/failed"], result.metrics["audit/passed"]) == (0, 1)
    assert "veridical/audit.html" in paths(mlflow, run.info.run_id)
    more = mlflow.models.MetricThreshold(threshold=2, greater_is_better=True)
    with pytest.raises(mlflow.models.evaluation.validation.ModelValidationFailedException, match="audit/passed"):
        mlflow.validate_evaluation_results(candidate_result=result, validation_thresholds={"audit/passed": more})


def test_a_metric_wants_a_subject(mlflow: Any) -> None:
    with pytest.raises(InputError, match=r"subject wants a vd\.Subject"):
        mlflow_runs.make_audit_metric(3)
