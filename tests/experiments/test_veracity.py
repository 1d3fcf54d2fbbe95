"""Known causes: the experiment on recordings made here."""

from __future__ import annotations

import json
import sys
import wave
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("PIL")

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import kinds
    import pack
    import sections.pooled
    import sections.veracity
    import spoken
    import standins
    import veracity
    from sets import NoDataError
finally:
    sys.path.remove(EXPERIMENTS)

SOME = ["ours, content", "Gradient"]


def tone(digit: int, rng: np.random.Generator) -> np.ndarray:
    """Low for digits under five, high for the others; noise all along."""
    time = np.arange(4800) / 8000
    sound = 0.3 * np.sin(2 * np.pi * (400 if digit < 5 else 2000) * time) * (time > 0.2) * (time < 0.45)
    return (2**14 * (sound + 0.01 * rng.normal(size=len(time)))).astype(np.int16)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    (folder / spoken.FOLDER).mkdir(parents=True)
    for digit in range(10):
        for take in range(10):
            with wave.open(str(folder / spoken.FOLDER / f"{digit}_ann_{take}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(8000)
                file.writeframes(tone(digit, rng).tobytes())
    return folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spoken, "EPOCHS", 6)
    monkeypatch.setitem(kinds.SIZES, "digits", kinds.Sizes(2.0, 2.0, 4.0, n_samples=64, sure=0.7))


def asked(data: Path, tmp_path: Path, *more: str) -> veracity.argparse.Namespace:
    own = [
        "--data",
        str(data),
        "--standins",
        "digits",
        "--weights",
        str(tmp_path),
        "--out",
        str(tmp_path / "v.json"),
    ]
    return veracity.arguments().parse_args([*own, "--quick", "--seeds", "3", "--methods", *SOME, *more])


def test_what_is_missing_is_said_before_any_work(tmp_path):
    with pytest.raises(SystemExit, match="--data DIR"):
        veracity.main(veracity.arguments().parse_args(["--standins", "digits"]))
    for name in ("digits", "pictures", "photos", "tagger", "voice"):
        with pytest.raises(NoDataError):
            standins.CHECKS[name](tmp_path)
    (tmp_path / spoken.PACKED).parent.mkdir(parents=True)
    (tmp_path / spoken.PACKED).touch()
    inside = ["--data", str(tmp_path), "--standins", "digits", "--weights", EXPERIMENTS]
    with pytest.raises(SystemExit, match="inside the project"):
        veracity.main(veracity.arguments().parse_args(inside))


def test_the_pack_serves_as_data(data, tmp_path):
    pack.PARTS["spoken"](data, tmp_path)
    whole, packed = spoken.read(data), spoken.read(tmp_path)
    assert whole.train.shape == packed.train.shape == (50, spoken.BANDS, spoken.FRAMES)
    np.testing.assert_allclose(packed.test, whole.test, atol=0.01)
    np.testing.assert_array_equal(packed.test_y, whole.test_y)


def test_cells_become_tables_and_figures(data, tmp_path, quick):
    settings = asked(data, tmp_path, "--kinds", "Pgd", "noise in one part")
    veracity.main(settings)
    record = json.loads(settings.out.read_text())
    found = {cell["kind"]: cell for cell in record["cells"]}
    assert not [cell["error"] for cell in record["cells"] if "error" in cell]
    noise = found["noise in one part"]
    assert noise["caused"] > 0
    assert noise["rows"]["norm"]["hit@1"] == "1" * noise["caused"]  # by construction
    small = found["Pgd"]
    assert small["rows"]["norm"]["flips"].split()[0] == "0"  # nothing changed, nothing flipped
    assert int(small["rows"]["random"]["flips"].split()[-1]) == small["caused"]
    assert set(noise["rows"]) == {*SOME, "norm", "greedy", "random", "contrast", "residual"}
    text = sections.veracity.tables(record["cells"])
    assert "| target " in text
    assert "Spoken digits" in text
    pytest.importorskip("matplotlib")
    sections.veracity.figures(record["cells"], tmp_path)
    assert {path.name for path in tmp_path.glob("*.svg")} >= {"veracity-2-curves.svg", "veracity-3-found.svg"}


def test_files_are_joined_and_an_error_gives_way(tmp_path):
    cell = {"standin": "digits", "seed": 3, "kind": "Pgd", "part": 0, "size": 4}
    for name, more in (("a", {"error": "stopped"}), ("b", {"tried": 4})):
        veracity.cells.Results(tmp_path / f"{name}.json", "veracity", veracity.KEY).put({**cell, **more})
    out = tmp_path / "all.json"
    veracity.main(
        veracity.arguments().parse_args(["--join", *map(str, sorted(tmp_path.glob("?.json"))), "--out", str(out)])
    )
    assert json.loads(out.read_text())["cells"] == [{**cell, "tried": 4}]


def test_pooled_numbers_of_a_case_by_hand():
    rows = {"norm": {"flips": "0 1 2", "flip@1": "01", "fidelity": [0.5, None]}}
    cell = {"caused": 2, "before": "01", "rows": {**rows, "ours": {"flips": "0 1 2", "flip@1": "11"}}}
    np.testing.assert_array_equal(sections.pooled.values([cell], "norm", "flip@1"), [0, 1])
    np.testing.assert_array_equal(sections.pooled.values([cell], "norm", "flip@1", "1"), [1])
    np.testing.assert_array_equal(sections.pooled.curve([cell], "norm"), [0, 0.5, 1])
    ratio, low, high = sections.pooled.ratio(np.array([1.0, 1, 0, 1]), np.array([1.0, 1, 1, 1]))
    assert (ratio, high) == (0.75, 1.0)
    assert low < 0.75
    area, *_, n_right, n_wrong = sections.pooled.area(np.array([3.0, 2, 1, np.nan]), np.array([1.0, 0, 0, 1]))
    assert (area, n_right, n_wrong) == (1.0, 1, 2)
