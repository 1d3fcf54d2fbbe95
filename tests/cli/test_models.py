"""Models out of files and places in code: what they answer, and what is said about those that cannot be read."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import veridical as vd
from veridical.cli import main
from veridical.cli.data import choose_representer, coerce_data, read_data
from veridical.cli.loading import (
    ARRAY,
    PICTURE,
    SERIES,
    SOUND,
    TABLE,
    TEXT,
    Data,
    LoadedModel,
    LoadOptions,
    ReadOptions,
)
from veridical.cli.models import load_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)).astype(np.float32)
Y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
FRAME = pd.DataFrame(X, columns=["p", "q", "r", "s"])
TRUST = LoadOptions(trust=True)


def stored(path: Path, model: Any) -> str:
    path.write_bytes(model.SerializeToString())
    return str(path)


def table(path: Path, frame: pd.DataFrame, **reading: Any) -> Data:
    frame.to_csv(path, index=False)
    return read_data([str(path)], ReadOptions(**reading))


def graph(path: Path, shape: Any, *, kind: int = TensorProto.FLOAT, names: Any = ("x",), out: str = "y") -> str:
    """A file whose model answers the mean of each input, and its negative."""
    nodes, one = [], np.array([1])
    for name in names:
        cast = helper.make_node("Cast", [name], [f"{name}_f"], to=TensorProto.FLOAT)
        axes = list(range(1, len(shape)))
        mean = helper.make_node("ReduceMean", [f"{name}_f"], [f"{name}_m"], axes=axes, keepdims=0)
        nodes += [cast, mean]
    nodes += [
        helper.make_node("Sum", [f"{name}_m" for name in names], ["m"]),
        helper.make_node("Neg", ["m"], ["n"]),
        helper.make_node("Unsqueeze", ["m", "one"], ["m1"]),
        helper.make_node("Unsqueeze", ["n", "one"], ["n1"]),
        helper.make_node("Concat", ["m1", "n1"], [out], axis=1),
    ]
    inputs = [helper.make_tensor_value_info(name, kind, shape) for name in names]
    outputs = [helper.make_tensor_value_info(out, TensorProto.FLOAT, [None, 2])]
    made = helper.make_graph(nodes, "means", inputs, outputs, [numpy_helper.from_array(one, "one")])
    return stored(path, helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), RandomForestClassifier(5, random_state=0), MLPClassifier((4,), max_iter=20)],
    ids=lambda model: type(model).__name__,
)
def test_classifiers_of_onnx_answer_as_they_did(tmp_path: Path, model: Any, zipmap: bool) -> None:
    from skl2onnx import to_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
        found = load_model(stored(tmp_path / "m.onnx", to_onnx(model, X[:1], options={"zipmap": zipmap})))
    data = coerce_data(table(tmp_path / "x.csv", FRAME.assign(y=Y), label="y"), found)
    assert found.classes == ("low", "mid", "top")
    assert (found.width, found.arrays) == (4, True)
    np.testing.assert_allclose(found.predict(data.instances), model.predict_proba(X), atol=1e-5)
    why = vd.explain(
        found.predict, choose_representer(data), data.instance(0), target="top", classes=found.classes
    )
    assert [part.column for part in why.parts] == ["p", "q", "r", "s"]


def test_classes_of_a_map_are_called_as_it_sorts_them(tmp_path: Path) -> None:
    chances = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    maps = helper.make_sequence_type_proto(helper.make_map_type_proto(TensorProto.STRING, chances))
    labels = {"classlabels_strings": ["wolf", "bear", "lynx"]}
    node = helper.make_node("ZipMap", ["X"], ["p"], domain="ai.onnx.ml", **labels)
    inputs, outputs = (
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 3])],
        [helper.make_value_info("p", maps)],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(helper.make_graph([node], "map", inputs, outputs), opset_imports=sets, ir_version=8)
    found = load_model(stored(tmp_path / "m.onnx", made))
    answer = dict(zip(found.classes or (), found.predict(np.array([[0.1, 0.2, 0.7]]))[0], strict=True))
    assert answer == pytest.approx({"wolf": 0.1, "bear": 0.2, "lynx": 0.7})


def test_a_regressor_of_onnx(tmp_path: Path) -> None:
    from skl2onnx import to_onnx

    model = GradientBoostingRegressor(n_estimators=5).fit(X, X[:, 0])
    found = load_model(stored(tmp_path / "m.onnx", to_onnx(model, X[:1])))
    assert found.classes is None
    np.testing.assert_allclose(found.predict(X)[:, 0], model.predict(X), atol=1e-5)
    data = table(tmp_path / "x.csv", FRAME.assign(y=Y))
    with pytest.raises(vd.errors.InputError, match="takes 4 columns, and these are 5"):
        coerce_data(data, found)


def people() -> tuple[pd.DataFrame, Any]:
    """A table of numbers and words, and a model of it."""
    city = RNG.choice(["Linz", "Wien", "Graz"], 80)
    frame = pd.DataFrame({"city": city, "capital gain": X[:, 0], "age": X[:, 1]})
    encoded = make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["capital gain", "age"]))
    return frame, make_pipeline(encoded, LogisticRegression()).fit(frame, (city == "Linz") & (X[:, 0] > -1))


def test_a_pipeline_of_onnx_takes_columns_by_name(tmp_path: Path) -> None:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    frame, model = people()
    types = [("city", StringTensorType([None, 1]))]
    types += [(name, FloatTensorType([None, 1])) for name in ("capital_gain", "age")]
    renamed = frame.rename(columns={"capital gain": "capital_gain"})
    again = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["capital_gain", "age"])),
        LogisticRegression(),
    ).fit(renamed, model.predict(frame))
    found = load_model(stored(tmp_path / "m.onnx", convert_sklearn(again, initial_types=types)))
    assert (found.kind, found.columns) == (TABLE, ("city", "capital_gain", "age"))
    data = coerce_data(table(tmp_path / "x.csv", frame[["age", "capital gain", "city"]].assign(more=1)), found)
    assert data.notes == ("left out, for the model does not take them: more",)
    np.testing.assert_allclose(found.predict(data.instances), again.predict_proba(renamed), atol=1e-5)
    why = vd.explain(found.predict, choose_representer(data), data.instance(3), classes=found.classes)
    assert [part.column for part in why.parts] == ["city", "capital gain", "age"]
    gone = data.instances.assign(city=[None, *data.instances.city[1:]])
    with pytest.raises(vd.errors.InputError, match="'city' has no text in some rows"):
        found.predict(gone)
    with pytest.raises(vd.errors.InputError, match="takes numbers in the column 'age'"):
        found.predict(data.instances.assign(age="old"))


@pytest.mark.parametrize("shape", [[None], [None, 1]])
def test_texts_of_onnx(tmp_path: Path, shape: Any) -> None:
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import StringTensorType

    texts = ["good fine film", "bad awful film", "a good end", "an awful end"] * 5
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, ["yes", "no"] * 10)
    made = convert_sklearn(model, initial_types=[("text", StringTensorType(shape))])
    found = load_model(stored(tmp_path / "m.onnx", made))
    assert (found.kind, found.classes) == (TEXT, ("no", "yes"))
    np.testing.assert_allclose(found.predict(texts), model.predict_proba(texts), atol=1e-5)
    frame = pd.DataFrame({"stars": 1, "review": texts})
    data = coerce_data(table(tmp_path / "x.csv", frame), found)
    why = vd.explain(
        found.predict, choose_representer(data), data.instance(0), target="yes", classes=found.classes
    )
    assert why.top(1)[0][0] == "good"


@pytest.mark.parametrize(
    "shape",
    [
        [None, 3, 8, 8],
        [1, 3, 8, 8],
        [2, 8, 8, 3],
        ["n", 3, "h", "w"],
        ["n", "h", "w", 3],
        ["n", "c", "h", "w"],
    ],
)
@pytest.mark.parametrize("pixels", ["0..1", "0..255", "imagenet"])
def test_pictures_of_onnx(tmp_path: Path, shape: Any, pixels: str) -> None:
    pictures = RNG.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    found = load_model(graph(tmp_path / "m.onnx", shape), LoadOptions(pixels=pixels))
    assert found.kind == PICTURE
    data = coerce_data(Data(pictures, tuple("abc"), PICTURE), found)
    unit = pictures / 255
    wanted = {
        "0..1": unit,
        "0..255": pictures,
        "imagenet": (unit - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225],
    }[pixels]
    answers = found.predict(data.instances)
    np.testing.assert_allclose(answers[:, 0], wanted.mean(axis=(1, 2, 3)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found.predict(np.moveaxis(wanted, -1, 1))[:, 0], answers[:, 0], rtol=1e-5, atol=1e-6
    )
    assert f"given as {pixels}" in data.notes[0]


def test_networks_of_bytes_gray_pictures_and_other_sizes(tmp_path: Path) -> None:
    pictures = RNG.integers(0, 256, (3, 9, 7, 3), dtype=np.uint8)
    data = Data(pictures, tuple("abc"), PICTURE)
    bytes_ = load_model(graph(tmp_path / "b.onnx", [None, 3, 9, 7], kind=TensorProto.UINT8))
    assert coerce_data(data, bytes_).notes == ("pictures are brought to the model's size, 9 × 7",)
    np.testing.assert_allclose(bytes_.predict(pictures)[:, 0], pictures.mean(axis=(1, 2, 3)), rtol=1e-5)
    for shape in ([None, 1, 6, 6], [None, 6, 6]):
        gray = load_model(graph(tmp_path / "g.onnx", shape))
        small = coerce_data(data, gray)
        assert small.instances.shape == (3, 6, 6, 1)
        np.testing.assert_allclose(
            gray.predict(small.instances)[:, 0], small.instances.mean((1, 2, 3)) / 255, 1e-5
        )
    with pytest.raises(vd.errors.InputError, match="takes instances of 6 × 6, and these are 9 × 7 × 3"):
        gray.predict(pictures)
    with pytest.raises(vd.errors.InputError, match=r"pixels are .* not '0\.\.2'"):
        load_model(str(tmp_path / "g.onnx"), LoadOptions(pixels="0..2"))


def test_pictures_of_several_sizes_are_explained_one_by_one(tmp_path: Path) -> None:
    found = load_model(graph(tmp_path / "m.onnx", ["n", 3, "h", "w"]))
    pictures = [RNG.integers(0, 256, (n, 8, 3), dtype=np.uint8) for n in (8, 9)]
    data = coerce_data(Data(pictures, ("a", "b"), PICTURE), found)
    many = vd.explain_many(
        found.predict, choose_representer(data, "grid:2"), data.instances, target=0, method=vd.Lime(n_samples=30)
    )
    assert len(many) == 2


@pytest.mark.parametrize("shape", [[None, 60], [None, 1, 60], [None, 60, 1], [1, 60]])
def test_sounds_and_series_of_onnx(tmp_path: Path, shape: Any) -> None:
    sounds = RNG.normal(size=(3, 60)).astype(np.float32)
    found = load_model(graph(tmp_path / "m.onnx", shape))
    heard = coerce_data(Data(sounds, tuple("abc"), SOUND, rate=100.0), found)
    series = coerce_data(Data(sounds, tuple("abc"), ARRAY), found, "windows")
    assert (heard.kind, series.kind) == (SOUND, SERIES)
    for data in (heard, series):
        np.testing.assert_allclose(found.predict(data.instances)[:, 0], sounds.mean(axis=1), rtol=1e-4, atol=1e-6)
    channels = RNG.normal(size=(3, 60, 2))
    both = load_model(graph(tmp_path / "c.onnx", [None, 2, 60]))
    np.testing.assert_allclose(both.predict(channels)[:, 0], channels.mean(axis=(1, 2)), rtol=1e-4, atol=1e-6)


def test_several_inputs_are_columns(tmp_path: Path) -> None:
    found = load_model(graph(tmp_path / "m.onnx", [None, 1], kind=TensorProto.INT64, names=("b", "a")))
    data = coerce_data(table(tmp_path / "x.csv", pd.DataFrame({"a": [1, 2], "b": [3, 4]})), found)
    np.testing.assert_array_equal(found.predict(data.instances)[:, 0], [4, 6])
    with pytest.raises(vd.errors.InputError, match=r"whole numbers in the column 'a', and 1\.5 is none"):
        found.predict(data.instances.assign(a=1.5))
    wide = load_model(graph(tmp_path / "w.onnx", [None, 2], names=("u", "v")))
    assert (wide.columns, wide.width) == (None, 4)
    np.testing.assert_allclose(wide.predict(FRAME)[:, 0], X.mean(axis=1) * 2, rtol=1e-4, atol=1e-6)
    with pytest.raises(vd.errors.InputError, match="has 2 inputs, and 'u' is no column of a table"):
        load_model(graph(tmp_path / "p.onnx", [None, 3, 8, 8], names=("u", "v")))


def two_outputs(path: Path, names: tuple[str, str], kinds: tuple[int, int]) -> str:
    nodes = [helper.make_node("Cast", ["x"], [name], to=kind) for name, kind in zip(names, kinds, strict=True)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    outputs = [helper.make_tensor_value_info(n, k, [None, 2]) for n, k in zip(names, kinds, strict=True)]
    made = helper.make_graph(nodes, "two", inputs, outputs)
    return stored(path, helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def test_the_output_is_chosen(tmp_path: Path) -> None:
    real, whole = TensorProto.FLOAT, TensorProto.INT64
    named = two_outputs(tmp_path / "a.onnx", ("raw", "class_probability"), (real, real))
    assert load_model(named).predict.output == "class_probability"
    assert load_model(named, LoadOptions(output="raw")).predict.output == "raw"
    assert (
        load_model(two_outputs(tmp_path / "b.onnx", ("label", "scores"), (whole, real))).predict.output == "scores"
    )
    with pytest.raises(vd.errors.InputError, match="no output 'rwa'; did you mean 'raw'"):
        load_model(named, LoadOptions(output="rwa"))
    with pytest.raises(vd.errors.InputError, match=r"several outputs: 'a' .*, 'b' .*--output a"):
        load_model(two_outputs(tmp_path / "c.onnx", ("a", "b"), (real, real)))
    with pytest.raises(vd.errors.InputError, match="gives labels alone"):
        load_model(two_outputs(tmp_path / "d.onnx", ("a", "b"), (whole, whole)))


def test_estimators_out_of_files(tmp_path: Path) -> None:
    import skops.io

    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(FRAME, Y)
    joblib.dump(model, tmp_path / "m.joblib")
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    skops.io.dump(model, tmp_path / "m.skops")
    for name, trust in (("m.joblib", True), ("m.pkl", True), ("m.skops", False), ("m.skops", True)):
        found = load_model(str(tmp_path / name), LoadOptions(trust=trust))
        assert (found.classes, found.columns, found.kind) == (("low", "mid", "top"), ("p", "q", "r", "s"), TABLE)
        data = coerce_data(table(tmp_path / "x.csv", FRAME[["s", "q", "p", "r"]]), found)
        np.testing.assert_allclose(found.predict(data.instances), model.predict_proba(FRAME), atol=1e-6)
        assert not found.notes


def test_a_pickle_runs_only_with_trust(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "sprung",)

    for name in ("m.pkl", "m.joblib", "m.pickle", "m.pt", "m.pth", "m.pt2"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))
        with pytest.raises(vd.errors.InputError, match=r"a pickle, which runs whatever code.*--trust"):
            load_model(str(tmp_path / name))
    assert not (tmp_path / "sprung").exists()
    with pytest.raises(vd.errors.InputError, match="a function of a batch of inputs was wanted"):
        load_model(str(tmp_path / "m.pkl"), TRUST)
    assert (tmp_path / "sprung").exists()  # so that the test could fail


def double(X: Any) -> Any:
    return 2 * X


def test_unknown_types_in_a_skops_file_are_named(tmp_path: Path) -> None:
    import skops.io

    model = make_pipeline(FunctionTransformer(double), LinearRegression()).fit(FRAME, X[:, 0])
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(vd.errors.InputError, match=r"not known to be harmless: .*double; .*--trust"):
        load_model(str(tmp_path / "m.skops"))
    assert load_model(str(tmp_path / "m.skops"), TRUST).columns == ("p", "q", "r", "s")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("m.onnx", b"nothing", "cannot be read as an ONNX model"),
        ("m.onnx", b"", "is empty"),
        ("m.skops", b"nothing", "is damaged"),
        ("m.joblib", b"nothing", "cannot be unpickled.*with the packages that the model was made by"),
        ("m.pkl", pickle.dumps({"model": 1}), "is dict.*a fitted model"),
        ("m.pkl", b"cnowhere_to_be_found\nthing\n.", "No module named 'nowhere_to_be_found': install nowhere"),
        ("m.pt", b"nothing", "cannot be read by torch"),
        ("m.pt2", b"nothing", "cannot be read by torch"),
        ("m.h5", b"nothing", r"wanted a model, which is a file that ends in \.onnx.*write a function"),
        ("m.py", b"x = 1", r"name the function in it, as in .*m\.py:predict"),
    ],
)
def test_files_that_hold_no_model(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(vd.errors.InputError, match=words) as caught:
        load_model(str(tmp_path / name), TRUST)
    assert str(tmp_path / name) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    graph(tmp_path / "model.onnx", [None, 3])
    with pytest.raises(vd.errors.InputError, match=r"there is no file .*did you mean 'model\.onnx'"):
        load_model(str(tmp_path / "modle.onnx"))
    with pytest.raises(vd.errors.InputError, match="wanted a model"):
        load_model("model")


@pytest.mark.parametrize(
    ("model", "method", "outputs"),
    [
        (LogisticRegression(), "predict_proba", 3),
        (LinearRegression(), "predict", 1),
        (Perceptron(), "decision_function", 3),
        (NearestCentroid(), None, 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_how_estimators_are_asked(tmp_path: Path, model: Any, method: str | None, outputs: int) -> None:
    model.fit(X, X[:, 0] if isinstance(model, LinearRegression) else Y)
    joblib.dump(model, tmp_path / "m.joblib")
    found = load_model(str(tmp_path / "m.joblib"), TRUST)
    assert (found.width, found.columns, found.arrays) == (4, None, True)
    assert np.reshape(found.predict(X), (80, -1)).shape[1] == outputs
    if method is not None:
        assert found.predict.__name__ == method
    data = coerce_data(table(tmp_path / "x.csv", FRAME), found)
    assert data.columns == ("p", "q", "r", "s")
    vd.explain(found.predict, choose_representer(data), data.instance(0), classes=found.classes)


def test_two_classes_that_share_one_number(tmp_path: Path) -> None:
    model = RidgeClassifier().fit(X, Y == "low")
    joblib.dump(model, tmp_path / "m.joblib")
    found = load_model(str(tmp_path / "m.joblib"), TRUST)
    assert found.classes == (False, True)
    for x in X[:4]:
        why = vd.explain(found.predict, vd.Rows(X), x, classes=found.classes)
        assert why.target is bool(model.predict([x])[0])
        assert why.prediction > 0


def test_text_pipelines_say_what_they_take(tmp_path: Path) -> None:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(["good", "bad"], ["yes", "no"])
    search = GridSearchCV(model, {"logisticregression__C": [1.0, 2.0]}, cv=2).fit(["good", "bad"] * 4, [1, 0] * 4)
    for each in (model, search):
        joblib.dump(each, tmp_path / "m.joblib")
        assert load_model(str(tmp_path / "m.joblib"), TRUST).kind == TEXT


def test_a_table_with_a_column_of_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"review": ["so good a film", "an awful end", "good end"] * 8, "stars": [5, 1, 4] * 8})
    encode = make_column_transformer((TfidfVectorizer(), "review"), ("passthrough", ["stars"]))
    model = make_pipeline(encode, LogisticRegression()).fit(frame, ["yes", "no", "yes"] * 8)
    joblib.dump(model, tmp_path / "m.joblib")
    found = load_model(str(tmp_path / "m.joblib"), TRUST)
    data = coerce_data(table(tmp_path / "x.csv", frame.assign(more="x"), text="review"), found)
    why = vd.explain(found.predict, choose_representer(data), data.instance(1), target="no", classes=found.classes)
    assert {part.column for part in why.parts} == {"review", "the other columns"}
    assert "review: awful" in why.names


class Net(torch.nn.Module):
    """The mean brightness, twice."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([1.0, -1.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean((1, 2, 3))[:, None] * self.scale


def test_networks_of_torch(tmp_path: Path) -> None:
    network, example = Net(), torch.rand(2, 3, 8, 8)
    torch.save(network, tmp_path / "pickled.pt")
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.trace(network, example).save(str(tmp_path / "scripted.pt"))
        program = torch.export.export(network, (example,), dynamic_shapes=({0: torch.export.Dim("n")},))
        torch.export.save(program, tmp_path / "exported.pt2")
    pictures = RNG.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    for name in ("pickled.pt", "scripted.pt", "exported.pt2"):
        found = load_model(str(tmp_path / name), TRUST)
        data = coerce_data(Data(pictures, tuple("abc"), PICTURE), found)
        assert "given as 0..1" in data.notes[0]
        np.testing.assert_allclose(found.predict(pictures)[:, 0], pictures.mean(axis=(1, 2, 3)) / 255, rtol=1e-5)
        why = vd.explain(
            found.predict, choose_representer(data, "grid:2"), data.instance(0), method=vd.gradients.Gradient()
        )
        assert len(why.names) == 4
    with pytest.raises(vd.errors.InputError, match="holds the weights of a network, not the network"):
        load_model(str(tmp_path / "weights.pth"), TRUST)


MINE = """
import numpy as np, torch, veridical as vd
from sklearn.linear_model import LinearRegression

estimator = LinearRegression().fit(np.eye(3), [1.0, 2.0, 3.0])
network = torch.nn.Linear(3, 2)
wrapped = vd.Network(network)
number = 3

class Model:
    best = estimator

def predict(X):
    return np.asarray(X).sum(axis=1)

def make(seed=0):
    return estimator

def broken():
    raise RuntimeError("the weights are gone")

def nothing():
    pass
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A file of models that no other test has imported."""
    name = f"mine_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize("name", ["predict", "estimator", "make", "Model.best", "network", "wrapped"])
def test_places_in_code(mine: str, name: str) -> None:
    for place in (f"{mine}:{name}", f"{mine}.py:{name}"):
        found = load_model(place)
        assert isinstance(found, LoadedModel)
        assert len(found.predict(np.eye(3))) == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("perdict", "has no 'perdict'; did you mean 'predict'"),
        ("number", "is int, and a function of a batch"),
        ("Model", "is type, and a function|is Model"),
        ("broken", "calling .*broken, without arguments, raised RuntimeError: the weights are gone"),
        ("nothing", "what .*nothing gives is NoneType"),
        ("Model.worst", "has no 'Model.worst'; did you mean|has no 'Model.worst'"),
    ],
)
def test_places_that_hold_no_model(mine: str, name: str, words: str) -> None:
    with pytest.raises(vd.errors.InputError, match=words):
        load_model(f"{mine}:{name}")


def test_places_that_are_not_there(mine: str, tmp_path: Path) -> None:
    for place, words in (
        ("nowhere_at_all:predict", "there is no module 'nowhere_at_all'"),
        ("gone.py:predict", r"there is no file 'gone\.py'"),
        ("json.py:dumps", r"there is no file"),
    ):
        with pytest.raises(vd.errors.InputError, match=words):
            load_model(place)
    (tmp_path / "json.py").write_text("def predict(X): return X\n")
    with pytest.raises(vd.errors.InputError, match="another module is called 'json' already"):
        load_model("json.py:predict")
    (tmp_path / "faulty_module_of_mine.py").write_text("1 / 0\n")
    with pytest.raises(vd.errors.InputError, match="importing 'faulty_module_of_mine' raised ZeroDivisionError"):
        load_model("faulty_module_of_mine:predict")


def test_foreign_names_steer_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    joblib.dump(LinearRegression().fit(FRAME, X[:, 0]), tmp_path / "m.joblib")
    FRAME.assign(**{"\x1b[31mred\u202e": 1}).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "faulty_with_codes.py").write_text("def predict(X):\n    raise ValueError('\x1b[31mred')\n")
    at = str(tmp_path / "x.csv")
    assert main(["explain", str(tmp_path / "m.joblib"), at, "--row", "0", "--trust"]) == 0
    assert main(["explain", str(tmp_path / "faulty_with_codes.py:predict"), at, "--row", "0"]) == 2
    said = "".join(capsys.readouterr())
    assert "left out, for the model does not take them: \ufffd[31mred\ufffd" in said
    assert "Traceback" in said
    assert "\x1b" not in said
    assert "\u202e" not in said


def test_reading_a_table_loads_no_optional_package(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(FRAME.to_csv(index=False))
    code = f"""
        import sys
        from veridical.cli.data import read_data
        from veridical.cli.models import model_of
        from veridical.cli.data import choose_representer
        read_data([{str(tmp_path / "x.csv")!r}])
        optional = ("onnx", "onnxruntime", "skops", "torch", "PIL", "soundfile", "typer")
        print([name for name in optional if name in sys.modules])
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
