"""Data out of files: what is read, and what is said about files that cannot be."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import soundfile
from PIL import Image

import veridical as vd
from veridical.cli.data import PARTS, SETTINGS, choose_representer, coerce_data, find_kind, read_data
from veridical.cli.files import FAMILIES
from veridical.cli.loading import (
    ARRAY,
    PICTURE,
    SERIES,
    SOUND,
    TABLE,
    TABLES,
    TEXT,
    Data,
    LoadedModel,
    ReadOptions,
)
from veridical.cli.models import READERS

RNG = np.random.default_rng(0)
ANY = LoadedModel(lambda X: np.zeros(len(X)))
PEOPLE = "age,city,pay\n31,Linz,1.5\n64,Wien,2.5\n22,,3\n"


def write(path: Path, content: str | bytes, encoding: str = "utf-8") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return str(path)


def read(path: Path, content: str | bytes, *, encoding: str = "utf-8", reading: ReadOptions | None = None) -> Data:
    return read_data([write(path, content, encoding)], reading)


def test_a_table_keeps_its_types_and_missing_values(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", PEOPLE)
    assert (data.kind, data.columns, data.names) == (TABLE, ("age", "city", "pay"), ("0", "1", "2"))
    assert data.instances.age.dtype == np.int64
    assert data.instances.city.isna().tolist() == [False, False, True]
    assert len(data) == 3
    assert data.instance(1).to_dict("records") == [{"age": 64, "city": "Wien", "pay": 2.5}]
    assert data.instance(-1).age.item() == 22


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_and_encodings_are_told_by_content(
    tmp_path: Path, separator: str, encoding: str, end: str
) -> None:
    lines = ["größe|ort|sagt", "1.5|Linz|'ja, gut; so'", "2.5|Wien|nein"]
    text = end.join(line.replace("'", '"').replace("|", separator) for line in lines) + end
    data = read(tmp_path / "a.csv", text, encoding=encoding)
    assert data.columns == ("größe", "ort", "sagt")
    assert data.instances.iloc[0].tolist() == [1.5, "Linz", "ja, gut; so"]


def test_one_column_of_texts_has_no_separator(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", 'review\n"good, fine"\nplain; simple\n')
    assert data.instances.review.tolist() == ["good, fine", "plain; simple"]


def test_numbers_with_a_comma_are_read(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", "a;b\n1,5;x\n-2,25;y\n")
    assert data.instances.a.tolist() == [1.5, -2.25]
    assert "1.5" in data.notes[0]


def test_a_first_line_of_numbers_names_nothing(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", "0.5,1.5\n2.5,3.5\n")
    assert data.columns == ("0", "1")
    assert len(data) == 2
    assert "first line" in data.notes[0]
    assert len(read(tmp_path / "b.csv", "0,1\n2.5,3.5\n")) == 1  # as pandas writes columns without names


def test_names_of_rows_come_from_pandas_or_a_column(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "who": ["Ann", "Bob"]}, index=["x", "y"])
    assert read(tmp_path / "a.csv", frame.to_csv()).names == ("x", "y")
    data = read(tmp_path / "b.csv", frame.to_csv(index=False), reading=ReadOptions(index="who"))
    assert data.names == ("Ann", "Bob")
    assert data.columns == ("a",)
    assert data.find_row("Bob") == 1
    frame.to_parquet(tmp_path / "c.parquet")
    assert read_data([str(tmp_path / "c.parquet")]).names == ("x", "y")
    with pytest.raises(vd.errors.InputError, match="no row is called 'Bo'; did you mean 'Bob'"):
        data.find_row("Bo")
    twice = read(tmp_path / "d.csv", "a,who\n1,Ann\n2,Ann\n", reading=ReadOptions(index="who"))
    with pytest.raises(vd.errors.InputError, match="2 rows are called 'Ann'"):
        twice.find_row("Ann")


def test_labels_columns_and_dates(tmp_path: Path) -> None:
    text = "when,a,b,y\n2024-01-31,1,2,no\n2024-02-01 10:30,3,4,yes\n"
    plain = read(tmp_path / "a.csv", text)
    assert coerce_data(plain, ANY).notes == (
        "read as words, though they look like dates: when (--dates reads them as such)",
    )
    assert "look like dates" not in str(coerce_data(plain, LoadedModel(ANY.predict, columns=("a", "b"))).notes)
    reading = ReadOptions(label="y", columns=("b", "when"), dates=("when",))
    with pytest.raises(vd.errors.InputError, match="does not hold dates"):
        read(tmp_path / "b.csv", text, reading=reading)  # of two forms
    data = read(tmp_path / "c.csv", text.replace(" 10:30", ""), reading=reading)
    assert data.columns == ("b", "when")
    assert data.instances.when.dtype.kind == "M"
    assert data.labels.tolist() == ["no", "yes"]
    assert data.notes == ()
    some = data.take([1])
    assert (some.labels.tolist(), some.names) == (["yes"], ("1",))
    with pytest.raises(vd.errors.InputError, match="no row 2: the data have 2"):
        data.take([2])
    with pytest.raises(vd.errors.InputError, match="no row 5"):
        data.instance(5)


@pytest.mark.parametrize(
    ("text", "reading", "words"),
    [
        ("", {}, ["is empty"]),
        ("\n\n", {}, ["is empty"]),
        ("a,b\n", {}, ["no rows"]),
        ("a,a,b\n1,2,3\n", {}, ["twice", "'a'"]),
        ("a,b\n1,2\n1,2,3\n", {}, ["line 3 has 3 fields, the header 2", "','", "--separator"]),
        ("a,b\n1,2,3\n1,2,3\n", {}, ["line 2 has 3 fields"]),
        ("a,b\n1,2\0\n", {}, ["zero bytes"]),
        (PEOPLE, {"label": "pya"}, ["no column 'pya'", "did you mean 'pay'"]),
        (PEOPLE, {"columns": ("age", "zzz")}, ["no column 'zzz'", "'age', 'city', 'pay'"]),
        (PEOPLE, {"label": "city"}, ["label 'city' is missing in 1"]),
        ("a\n1\n2\n", {"label": "a"}, ["no column left"]),
        (PEOPLE, {"encoding": "utf-9"}, ["no encoding 'utf-9'", "cp1252"]),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, text: str, reading: Any, words: list[str]) -> None:
    with pytest.raises(vd.errors.InputError) as caught:
        read(tmp_path / "odd.csv", text, reading=ReadOptions(**reading))
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "odd.csv" in said or "encoding" in reading


def test_another_encoding_has_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(vd.errors.InputError, match=r"a\.csv is not written in utf-8 .*--encoding cp1252"):
        read(path, "größe,b\n1,2\n", encoding="cp1252")
    assert read_data([str(path)], ReadOptions(encoding="cp1252")).columns == ("größe", "b")


def test_json_lines(tmp_path: Path) -> None:
    records = [{"text": "so good", "n": 1}, {"text": "so bad\u2028indeed", "n": None}]
    lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    for name, text in (("a.jsonl", lines), ("b.ndjson", lines + "\n\n"), ("c.json", json.dumps(records))):
        data = read(tmp_path / name, text)
        assert data.columns == ("text", "n")
        assert data.instances.text.tolist() == ["so good", "so bad\u2028indeed"]
    for text, words in (
        ('{"a": 1}\n{"a": }', "line 2: this is no JSON"),
        ("[1, 2]", "a record of columns a line"),
        ('{"a": [1, 2]}\n', "holds list values"),
        ('{"a": ' + "[" * 100_000, "no JSON"),
    ):
        with pytest.raises(vd.errors.InputError, match=words):
            read(tmp_path / "odd.jsonl", text)


def test_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(text: str, reading: ReadOptions | None = None) -> Data:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        return read_data(["-"], reading)

    assert given(PEOPLE).columns == ("age", "city", "pay")
    assert given('{"a": 1}\n{"a": 2}').instances.a.tolist() == [1, 2]
    assert given("one line\n\nand another", ReadOptions(lines=True)).instances == ["one line", "and another"]
    with pytest.raises(vd.errors.InputError, match="standard input is empty"):
        given(" ")


def test_texts(tmp_path: Path) -> None:
    write(tmp_path / "pos/a.txt", "good stuff\nindeed")
    write(tmp_path / "neg/b.txt", "bad stuff")
    write(tmp_path / ".git/c.txt", "hidden")
    write(tmp_path / "__pycache__/x.pyc", b"\0")
    data = read_data([str(tmp_path)], ReadOptions(label="folder"))
    assert (data.kind, data.names) == (TEXT, ("neg/b.txt", "pos/a.txt"))
    assert data.instances == ["bad stuff", "good stuff\nindeed"]
    assert data.labels.tolist() == ["neg", "pos"]
    lines = read_data([str(tmp_path / "pos/a.txt")], ReadOptions(lines=True))
    assert (lines.instances, lines.names) == (["good stuff", "indeed"], ("a.txt:1", "a.txt:2"))
    assert read_data([str(tmp_path / "*" / "?.txt")], ReadOptions(lines=True)).names == (
        "b.txt:1",
        "a.txt:1",
        "a.txt:2",
    )
    with pytest.raises(vd.errors.InputError, match="all files are in one folder, 'pos'"):
        read_data([str(tmp_path / "pos")], ReadOptions(label="folder"))
    with pytest.raises(vd.errors.InputError, match="'stars' would be a column of a table"):
        read_data([str(tmp_path)], ReadOptions(label="stars"))
    with pytest.raises(vd.errors.InputError, match="leave --label out"):
        read_data([str(tmp_path)], ReadOptions(label="folder", lines=True))
    with pytest.raises(vd.errors.InputError, match=r"blank\.txt has no text"):
        read(tmp_path / "blank.txt", " \n")


def test_pictures_become_bytes_of_three_colors(tmp_path: Path) -> None:
    photo = RNG.integers(0, 255, (6, 8, 3), dtype=np.uint8)
    image = Image.fromarray(photo)
    image.save(tmp_path / "a.png")
    image.convert("L").save(tmp_path / "b.png")
    image.convert("P").save(tmp_path / "c.gif")
    clear = Image.fromarray(np.dstack([photo, np.zeros((6, 8), np.uint8)]))
    clear.save(tmp_path / "d.png")
    Image.fromarray(np.full((6, 8), 65535, np.uint16)).save(tmp_path / "e.png")
    image.convert("CMYK").save(tmp_path / "f.jpg")
    image.save(tmp_path / "g.webp", lossless=True)
    exif = Image.Exif()
    exif[0x0112] = 6  # a camera held upright
    image.save(tmp_path / "h.jpg", exif=exif)
    data = read_data([str(tmp_path)])
    assert data.kind == PICTURE
    by_name = dict(zip(data.names, data.instances, strict=True))
    assert all(p.dtype == np.uint8 and p.shape[2] == 3 for p in by_name.values())
    np.testing.assert_array_equal(by_name["a.png"], photo)
    np.testing.assert_array_equal(by_name["g.webp"], photo)
    assert np.ptp(by_name["b.png"], axis=2).max() == 0
    assert (by_name["d.png"] == 255).all()
    assert (by_name["e.png"] == 255).all()
    assert by_name["h.jpg"].shape == (8, 6, 3)
    assert any("transparent is put on white: d.png" in note for note in data.notes)
    assert any("brought to bytes: e.png" in note for note in data.notes)
    assert read_data([str(tmp_path / "[ab].png")]).instances.shape == (2, 6, 8, 3)


def test_only_the_first_frame_is_read(tmp_path: Path) -> None:
    frames = [Image.fromarray(np.full((4, 4, 3), c, np.uint8)) for c in (10, 200)]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    data = read_data([str(tmp_path / "a.gif")])
    assert abs(int(data.instances[0].max()) - 10) < 3
    assert "only the first frame is read: a.gif" in data.notes


def test_files_are_read_when_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(4):
        Image.fromarray(np.full((4, 4 + i // 3, 3), i, np.uint8)).save(tmp_path / f"{i}.png")
    data = coerce_data(read_data([str(tmp_path)]), LoadedModel(ANY.predict, shape=(3, 8, None)))
    sizes: list[Any] = []
    resized = "veridical.cli.data.resize_picture"
    monkeypatch.setattr(resized, lambda picture, *size: sizes.append(size) or picture)
    assert data.instance(2).max() == 2
    some = data.take([3, 1, 0])
    assert (some.names, len(some), len(sizes)) == (("3.png", "1.png", "0.png"), 3, 1)
    assert [x.max() for x in some.instances] == [3, 1, 0]
    assert data.take([0, 1]).instances.shape == (2, 4, 4, 3)
    assert sizes == [(8, None)] * 6


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    Image.new("1", (12_000, 12_000)).save(tmp_path / "bomb.png")
    with pytest.raises(vd.errors.InputError, match=r"bomb\.png is too large a picture"):
        read_data([str(tmp_path / "bomb.png")])


def test_sounds(tmp_path: Path) -> None:
    tone = np.sin(np.arange(800) / 5).astype(np.float32) / 2
    soundfile.write(tmp_path / "a.wav", tone, 8000)
    soundfile.write(tmp_path / "b.flac", np.stack([tone, -tone], axis=1), 8000)
    soundfile.write(tmp_path / "c.ogg", tone[:400], 8000)
    data = read_data([str(tmp_path)])
    assert (data.kind, data.rate) == (SOUND, 8000.0)
    assert [len(x) for x in data.instances] == [800, 800, 400]
    np.testing.assert_allclose(data.instances[0], tone, atol=1e-4)
    np.testing.assert_allclose(data.instances[1], 0, atol=1e-4)
    assert data.notes == ("channels are mixed into one: b.flac",)
    cut = coerce_data(data, LoadedModel(ANY.predict, shape=(1, 600)))
    assert cut.instances.shape == (3, 600)
    np.testing.assert_array_equal(cut.instances[2, 400:], 0)
    assert "600 samples" in cut.notes[-1]
    soundfile.write(tmp_path / "d.wav", tone, 16000)
    with pytest.raises(vd.errors.InputError, match=r"a\.wav has 8000 samples a second, .*d\.wav has 16000"):
        read_data([str(tmp_path)])
    soundfile.write(tmp_path / "none.wav", tone[:0], 8000)
    with pytest.raises(vd.errors.InputError, match=r"none\.wav is a recording without samples"):
        read_data([str(tmp_path / "none.wav")])


def png() -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(file, "png")
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", png(), r"a\.csv is a PNG picture by its content.*call it a\.png"),
        ("a.txt", b"PAR1xxxx", r"a Parquet file by its content.*call it a\.parquet"),
        ("a.csv", b"PK\x03\x04xxxx", r"zip file, such as a workbook of Excel.*save it as CSV"),
        ("a.jpg", png(), r"call it a\.png"),
        ("a.csv", b"\x1f\x8bxxxx", "compressed by gzip"),
        ("a.xlsx", b"PK\x03\x04xxxx", r"a\.xlsx is a zip file.*data are read from \.csv"),
        ("a.weird", b"xxxx", r"nothing is known of \.weird.*data are read from \.csv"),
        ("a", b"xxxx", "nothing is known of no suffix"),
        ("a.png", b"\x89PNG broken", r"a\.png cannot be read as a picture"),
        ("a.webp", b"not a picture", r"a\.webp cannot be read as a picture"),
        ("a.wav", b"not a recording", r"a\.wav cannot be read as a recording"),
        ("a.parquet", b"PAR1 broken", r"a\.parquet cannot be read as Parquet"),
        ("a.npy", b"\x93NUMPY broken", r"a\.npy cannot be read as arrays"),
        ("a.npz", b"broken", r"a\.npz is damaged"),
        ("a.png", b"", r"a\.png is empty"),
    ],
)
def test_files_that_are_not_what_they_are_called(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    with pytest.raises(vd.errors.InputError, match=words):
        read(tmp_path / name, content)


def test_which_files_are_meant(tmp_path: Path) -> None:
    write(tmp_path / "mixed/a.txt", "a text")
    write(tmp_path / "mixed/b.png", png())
    write(tmp_path / "data.csv", PEOPLE)
    (tmp_path / "empty").mkdir()
    for place, words in (
        ("mixed", r"1 texts \(such as a\.txt\), 1 pictures \(such as b\.png\)"),
        ("empty", "has no files in it"),
        ("dta.csv", "there is no file .*did you mean 'data.csv'"),
        ("nowhere/a.csv", "there is no file"),
        ("*.flac", "no file matches"),
    ):
        with pytest.raises(vd.errors.InputError, match=words):
            read_data([str(tmp_path / place)])
    with pytest.raises(vd.errors.InputError, match="wanted data"):
        read_data([])
    with pytest.raises(vd.errors.InputError, match="neither a file nor a folder"):
        read_data(["/dev/null"])


def test_arrays(tmp_path: Path) -> None:
    X, y = RNG.normal(size=(5, 3)), np.arange(5)
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "both.npz", X=X, y=y)
    np.savez(tmp_path / "named.npz", rows=X, answers=y)
    np.savez(tmp_path / "odd.npz", a=X, b=X)
    np.savez_compressed(tmp_path / "unequal.npz", X=X, y=y[:3])
    np.save(tmp_path / "texts.npy", np.array(["so good", "so bad"]))
    np.save(tmp_path / "objects.npy", np.array([{}, {}], dtype=object))
    np.save(tmp_path / "none.npy", X[:0])

    def at(name: str, reading: ReadOptions | None = None) -> Data:
        return read_data([str(tmp_path / name)], reading)

    assert at("x.npy").kind == ARRAY
    np.testing.assert_array_equal(at("both.npz").labels, y)
    np.testing.assert_array_equal(at("named.npz", ReadOptions(label="answers")).instances, X)
    assert at("texts.npy").instances == ["so good", "so bad"]
    for name, words in (
        ("odd.npz", "call the instances X"),
        ("unequal.npz", "5 instances and 3 right answers"),
        ("objects.npy", "Python objects, not numbers"),
        ("none.npy", "no instances"),
    ):
        with pytest.raises(vd.errors.InputError, match=words):
            at(name)
    with pytest.raises(vd.errors.InputError, match="no array 'anwers'; did you mean 'answers'"):
        at("named.npz", ReadOptions(label="anwers"))
    with pytest.raises(vd.errors.InputError, match="wanted one file of arrays"):
        read_data([str(tmp_path / "x.npy"), str(tmp_path / "both.npz")])


def test_a_zip_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.cli.files.MAX_UNZIPPED", 2**20)
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as inside:
        inside.writestr("X.npy", bytes(2**22))
    with pytest.raises(vd.errors.InputError, match=r"bomb\.npz would unfold into"):
        read_data([str(tmp_path / "bomb.npz")])


def test_columns_are_put_in_the_order_of_the_model(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", "b,a b,more\n1,2,3\n4,5,6\n")
    found = coerce_data(data, LoadedModel(ANY.predict, kind=TABLE, columns=("a_b", "b"), exact=False))
    assert found.instances.columns.tolist() == ["a b", "b"]
    assert found.instances.iloc[0].tolist() == [2, 1]
    assert found.notes == ("left out, for the model does not take them: more",)
    with pytest.raises(
        vd.errors.InputError, match="wants a column 'a_b', which the data do not have; did you mean 'a b'"
    ):
        coerce_data(data, LoadedModel(ANY.predict, columns=("a_b", "b")))
    with pytest.raises(vd.errors.InputError, match=r"wants a column 'mroe' and 1 more.*did you mean 'more'"):
        coerce_data(data, LoadedModel(ANY.predict, columns=("mroe", "b", "zz")))
    with pytest.raises(
        vd.errors.InputError, match=r"takes 2 columns, and these are 3: 'b', 'a b', 'more'; --label"
    ):
        coerce_data(data, LoadedModel(ANY.predict, width=2))
    with pytest.raises(
        vd.errors.InputError, match=r"wants a column 'b_x' and 1 more.*columns made of 'b'; store a pipeline"
    ):
        coerce_data(data, LoadedModel(ANY.predict, columns=("b_x", "b_y", "more")))
    array = coerce_data(data, LoadedModel(ANY.predict, width=3, arrays=True))
    assert isinstance(array.instances, np.ndarray)
    words = read(tmp_path / "b.csv", PEOPLE)
    with pytest.raises(vd.errors.InputError, match="wanted numbers in all columns, and 'city' holds 'Linz'"):
        coerce_data(words, LoadedModel(ANY.predict, arrays=True))


def test_columns_that_name_rows_are_pointed_at(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"who": [f"C{i}" for i in range(30)], "n": range(30), "plan": ["so so", "very well"] * 15}
    )
    data = read(tmp_path / "a.csv", frame.to_csv(index=False))
    assert coerce_data(data, ANY).notes == ("different in every row: who (--id takes it for the names of rows)",)


def test_a_table_of_texts(tmp_path: Path) -> None:
    text = "id,review,title,stars\n1,so good a film,A one,5\n2,what a bore,The two,1\n"
    one = read(tmp_path / "a.csv", text, reading=ReadOptions(columns=("review",)))
    assert coerce_data(one, ANY).instances == ["so good a film", "what a bore"]
    many = read(tmp_path / "b.csv", text)
    assert coerce_data(many, ANY).kind == TABLE
    assert "review, title (--text" in coerce_data(many, ANY).notes[-1]
    with pytest.raises(vd.errors.InputError, match=r"which column holds the texts.*'review', 'title'"):
        coerce_data(many, ANY, "words")
    named = read(tmp_path / "c.csv", text, reading=ReadOptions(text="review"))
    assert coerce_data(named, ANY, "sentences").kind == TEXT
    assert coerce_data(named, LoadedModel(ANY.predict, kind=TEXT)).instances[0] == "so good a film"
    with pytest.raises(vd.errors.InputError, match="'stars' holds 5 in row 0; wanted texts"):
        coerce_data(read(tmp_path / "d.csv", text, reading=ReadOptions(text="stars")), ANY, "words")
    model = LoadedModel(ANY.predict, kind=TABLE, columns=("review", "stars"))
    mixed = coerce_data(named, model)
    fields = choose_representer(mixed)
    assert isinstance(fields, vd.Fields)
    parts = fields(mixed.instance(0)).names
    assert "review: good" in parts
    assert any(name.startswith("stars") for name in parts)


def test_series_are_rows_of_one_file_or_files(tmp_path: Path) -> None:
    rows = pd.DataFrame(RNG.normal(size=(4, 30)))
    data = read(tmp_path / "a.csv", rows.to_csv(index=False))
    series = coerce_data(data, ANY, "windows:5")
    assert (series.kind, series.instances.shape) == (SERIES, (4, 30))
    assert coerce_data(data, LoadedModel(ANY.predict, shape=(1, 30))).kind == SERIES
    assert len(choose_representer(series, "windows:5")(series.instance(0)).names) == 5
    for i, n in enumerate((20, 30)):
        frame = pd.DataFrame(RNG.normal(size=(n, 2)), columns=["x", "y"])
        write(tmp_path / f"many/{i}.csv", frame.to_csv(index=False))
    several = read_data([str(tmp_path / "many")])
    assert several.kind == TABLES
    files = coerce_data(several, ANY, "windows")
    assert [x.shape for x in files.instances] == [(20, 2), (30, 2)]
    assert files.names == ("0.csv", "1.csv")
    assert choose_representer(files, "windows:2")(files.instance(0)).names[0].startswith("x, ")
    below = coerce_data(several, ANY)
    assert (below.kind, len(below), below.names[20]) == (TABLE, 50, "1.csv:0")
    write(tmp_path / "many/2.csv", "x,z\n1,2\n3,4\n")
    odd = read_data([str(tmp_path / "many")])
    for parts in (None, "windows"):
        with pytest.raises(vd.errors.InputError, match=r"the same c.*"):
            coerce_data(odd, ANY, parts)


def test_arrays_are_what_the_model_or_the_parts_say() -> None:
    def made(*shape: int) -> Data:
        return Data(RNG.normal(size=(5, *shape)), tuple("abcde"), ARRAY)

    assert coerce_data(made(3), ANY).kind == TABLE
    assert coerce_data(made(3), ANY).columns == ("x0", "x1", "x2")
    assert (
        coerce_data(made(3), LoadedModel(ANY.predict, kind=TABLE, columns=("p", "q", "r"))).instances.columns[0]
        == "p"
    )
    assert coerce_data(made(30), ANY, "windows").kind == SERIES
    assert coerce_data(made(30, 2), LoadedModel(ANY.predict, shape=(2, 30))).kind == SERIES
    assert coerce_data(made(8, 8, 3), ANY).kind == PICTURE
    assert coerce_data(made(8, 8), ANY, "grid").kind == PICTURE
    assert coerce_data(made(80), ANY, "slices").kind == SOUND
    with pytest.raises(vd.errors.InputError, match=r"what are arrays of shape \(8, 8\)\? Say it by --parts"):
        coerce_data(made(8, 8), ANY)
    with pytest.raises(vd.errors.InputError, match="the array has 3 columns, and 2 are named or wanted"):
        coerce_data(made(3), LoadedModel(ANY.predict, columns=("p", "q")))
    with pytest.raises(vd.errors.InputError, match="a table has rows and columns"):
        coerce_data(made(3, 3), ANY, "rows")


def test_what_does_not_go_together_is_refused() -> None:
    texts = Data(["a b", "c d"], ("0", "1"), TEXT)
    with pytest.raises(vd.errors.InputError, match="a table was wanted by the model; these data are texts"):
        coerce_data(texts, LoadedModel(ANY.predict, kind=TABLE))
    with pytest.raises(vd.errors.InputError, match="a picture was wanted by the parts; these data are texts"):
        coerce_data(texts, ANY, "grid")
    with pytest.raises(
        vd.errors.InputError, match="the model takes a picture, whose parts are superpixels or grid"
    ):
        coerce_data(texts, LoadedModel(ANY.predict, kind=PICTURE), "words")
    with pytest.raises(vd.errors.InputError, match="no parts called 'wrods'; did you mean 'words'"):
        coerce_data(texts, ANY, "wrods")
    with pytest.raises(vd.errors.InputError, match="a text has no grid; its parts are words or sentences"):
        choose_representer(texts, "grid")


def test_pictures_get_the_size_and_colors_of_the_model() -> None:
    pictures = [RNG.integers(0, 255, (h, 9, 3), dtype=np.uint8) for h in (6, 8)]
    data = Data(pictures, ("a", "b"), PICTURE)
    for shape, size in (
        ((3, 7, 5), (7, 5, 3)),
        ((7, 5, 3), (7, 5, 3)),
        ((1, 7, 5), (7, 5, 1)),
        ((7, 5), (7, 5, 1)),
        ((3, 7, None), (7, 9, 3)),
    ):
        found = coerce_data(data, LoadedModel(ANY.predict, shape=shape, pixels="0..1"))
        assert found.instances.shape == (2, *size)
        assert found.instances.dtype == np.uint8
        assert "pixels are given as 0..1" in found.notes[0]
        assert "model's size" in found.notes[1]
    assert coerce_data(data, LoadedModel(ANY.predict, shape=(3, None, None))).instances[1].shape == (8, 9, 3)
    assert coerce_data(data, ANY).instances is pictures
    for shape, words in (((7, 4, 5), "7 channels"), ((3,), "1 axes")):
        with pytest.raises(vd.errors.InputError, match=words):
            coerce_data(data, LoadedModel(ANY.predict, shape=shape))


@pytest.mark.parametrize(
    ("data", "parts", "n"),
    [
        (Data(["good film. Bad end."], ("a",), TEXT), None, 4),
        (Data(["good film. Bad end."], ("a",), TEXT), "sentences", 2),
        (Data(RNG.integers(0, 255, (1, 12, 12, 3), dtype=np.uint8), ("a",), PICTURE), "grid", 36),
        (Data(RNG.integers(0, 255, (1, 12, 12, 3), dtype=np.uint8), ("a",), PICTURE), "grid:3", 9),
        (Data(RNG.integers(0, 255, (1, 12, 12, 3), dtype=np.uint8), ("a",), PICTURE), "grid:2x3", 6),
        (Data(RNG.normal(size=(1, 2000)), ("a",), SOUND, rate=8000.0), None, 10),
        (Data(RNG.normal(size=(1, 2000)), ("a",), SOUND, rate=8000.0), "slices:4", 4),
        (Data(RNG.normal(size=(1, 2000)), ("a",), SOUND, rate=8000.0), "tiles:2x3", 6),
        (Data(RNG.normal(size=(1, 60)), ("a",), SERIES), "windows:6", 6),
        (Data(RNG.normal(size=(1, 60)), ("a",), SERIES), "bands:3", 3),
    ],
)
def test_parts_by_name(data: Data, parts: str | None, n: int) -> None:
    represent = choose_representer(data, parts)
    assert len(represent(data.instance(0)).names) == n
    assert len(represent.each(data.instances)) == 1


@pytest.mark.parametrize(
    "parts", ["grid:0", "grid:2x3x4", "grid:-2", "grid:x", "superpixels:3x4", "superpixels:many"]
)
def test_numbers_of_parts_are_checked(parts: str) -> None:
    data = Data(np.zeros((1, 12, 12, 3), np.uint8), ("a",), PICTURE)
    with pytest.raises(vd.errors.InputError, match="takes"):
        choose_representer(data, parts)


def test_every_name_of_parts_has_settings() -> None:
    names = [name for names in PARTS.values() for name in names]
    assert set(names) == {*SETTINGS, "rows", "fields"}
    assert all(find_kind(f"{name}:2") == kind for kind, names in PARTS.items() for name in names)


def test_a_background_may_have_other_types(tmp_path: Path) -> None:
    data = read(tmp_path / "a.csv", "a,b,c\n1.5,x,1\n2,y,2\n")
    background = read(tmp_path / "b.csv", "c,b,a\n1,x,1\n2,y,2\n3,x,3\n")
    rows = choose_representer(data, None, background)
    assert rows(data.instance(0)).names == ("a ≤ 1.5", "b = x", "c ≤ 1.5")
    other = read(tmp_path / "c.csv", "a,b\n1,x\n")
    with pytest.raises(vd.errors.InputError, match="the background has no column 'c'"):
        choose_representer(data, "rows", other)
    with pytest.raises(vd.errors.InputError, match="no column holds texts"):
        choose_representer(data, "fields")


def seeds() -> dict[str, bytes]:
    """Small files of every kind."""
    files = {
        ".csv": PEOPLE.encode(),
        ".jsonl": b'{"a": 1, "b": "x"}\n{"a": 2.5, "b": null}\n',
        ".txt": "grüß".encode(),
    }
    picture = Image.fromarray(RNG.integers(0, 255, (9, 9, 3), dtype=np.uint8))
    for kind in ("png", "jpeg", "webp", "tiff", "gif"):
        picture.save(file := io.BytesIO(), kind)
        files[f".{kind}"] = file.getvalue()
    for kind in ("wav", "flac", "ogg"):
        soundfile.write(file := io.BytesIO(), np.sin(np.arange(300) / 9), 8000, format=kind)
        files[f".{kind}"] = file.getvalue()
    np.save(file := io.BytesIO(), np.eye(4))
    files[".npy"] = file.getvalue()
    np.savez(file := io.BytesIO(), X=np.eye(4), y=np.arange(4))
    files[".npz"] = file.getvalue()
    pd.read_csv(io.StringIO(PEOPLE)).to_parquet(file := io.BytesIO())
    files[".parquet"] = file.getvalue()
    return files


@pytest.mark.parametrize(("suffix", "content"), seeds().items(), ids=list(seeds()))
def test_damaged_files_are_read_or_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    rng = np.random.default_rng(len(content))
    refused = 0
    for _ in range(60):
        damaged = bytearray(content[: rng.integers(1, len(content) + 1)] if rng.random() < 0.3 else content)
        for at in rng.integers(0, len(damaged), rng.integers(1, 9)):
            damaged[at] = rng.integers(0, 256)
        try:
            data = read(tmp_path / f"damaged{suffix}", bytes(damaged))
            choose_representer(coerce_data(data, ANY))
            assert len(data.instances)
        except vd.VeridicalError:
            refused += 1
    assert refused or suffix == ".txt"


def test_the_guide_names_all_that_can_be_read() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "own.md").read_text(encoding="utf-8")
    suffixes = {suffix for suffixes in FAMILIES.values() for suffix in suffixes} | set(READERS)
    parts = {name for names in PARTS.values() for name in names}
    assert [name for name in sorted(suffixes | parts) if f"`{name}`" not in guide] == []
