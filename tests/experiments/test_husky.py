"""The husky experiment on animals made here: disks of two patterns before white or green."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import veridical as vd

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("skimage")

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import early
    import husky
    import husky_pictures
    import pets
    import raters
    import sections.husky
    from sets import NoDataError
finally:
    sys.path.remove(EXPERIMENTS)

SIDE = 128
DOWN, ACROSS = np.mgrid[:SIDE, :SIDE]
COLORS = {"disk": (0.8, 0.5, 0.2), "ring": (0.2, 0.3, 0.7)}


def save(values: np.ndarray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values.astype(np.uint8)).save(path)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng, lines = tmp_path_factory.mktemp("data"), np.random.default_rng(0), []
    for breed, color in COLORS.items():
        for i in range(12):
            middle = rng.integers(50, 78, 2)
            far = np.hypot(DOWN - middle[0], ACROSS - middle[1])
            animal = far < 30
            picture = np.where(animal[..., None], np.array(color), 0.5) + rng.normal(0, 0.03, (SIDE, SIDE, 3))
            save(255 * picture.clip(0, 1), folder / f"pets/images/{breed}_{i}.jpg")
            save(np.where(animal, 1, np.where(far < 33, 3, 2)), folder / f"pets/trimaps/{breed}_{i}.png")
            lines.append(f"{breed}_{i},{breed},dog,{'test' if i < 6 else 'trainval'},{animal.mean():.4f}")
    (folder / "pets/index.csv").write_text(
        "\n".join(["name,breed,species,split,foreground_fraction", *lines]), encoding="utf-8"
    )
    for place, value in (("snow", (0.95, 0.95, 1.0)), ("field", (0.2, 0.6, 0.1))):
        for i in range(3):
            noisy = np.array(value) + rng.normal(0, 0.04, (80, 100, 3))
            save(255 * noisy.clip(0, 1), folder / f"backgrounds/{place}/{i}.jpg")
    return folder


def test_what_is_missing_is_said_before_any_work(data, tmp_path):
    with pytest.raises(NoDataError, match="--data DIR"):
        pets.check(None, ["disk"])
    with pytest.raises(NoDataError, match=r"index\.csv, which is not there"):
        pets.check(tmp_path, ["disk"])
    with pytest.raises(NoDataError, match="has no cube"):
        pets.check(data, ["disk", "cube"])
    with pytest.raises(SystemExit, match="--data DIR"):
        husky.main(husky.arguments().parse_args([]))
    with pytest.raises(SystemExit, match="wants at least 4"):
        husky.main(husky.arguments().parse_args(["--data", str(data), "--pairs", "disk/ring", "--animals", "3"]))
    with pytest.raises(SystemExit, match="inside the project"):
        husky.outside(Path(EXPERIMENTS) / "results")


def test_the_animal_fills_its_share_and_only_the_background_changes(data):
    animals = pets.cutouts(data, "disk", "test")
    assert len(animals) == 6
    behind = pets.Backgrounds.read(data, test=True)
    assert (len(behind.snow), len(behind.other)) == (1, 1)
    rng = np.random.default_rng(0)
    snow, field = (pets.scene(animals[0], behind.draw(kind, rng), kind) for kind in (True, False))
    assert 1 - snow.background.mean() == pytest.approx(pets.FILLED, abs=0.06)
    np.testing.assert_array_equal(snow.background, field.background)
    middle = animals[0].cover > 0.999
    np.testing.assert_allclose(snow.picture[middle], field.picture[middle], atol=2e-3)
    assert snow.picture[snow.background].mean() > field.picture[field.background].mean() + 0.4
    flipped = pets.scene(animals[0], behind.draw(True, rng), True, flip=True)
    np.testing.assert_array_equal(flipped.background, snow.background[:, ::-1])


def test_the_first_layer_is_that_of_a_slow_loop():
    pictures = np.random.default_rng(0).random((3, 26, 26, 3)).astype(np.float32)
    layer = early.Patches(k=4, cells=2).fit(pictures)
    found = layer.transform(pictures)
    assert found.shape == (3, 16)
    places = range(0, 21, 4)
    answers = np.zeros((6, 6, 4))
    for i, top in enumerate(places):
        for j, left in enumerate(places):
            patch = pictures[1, top : top + 6, left : left + 6].transpose(2, 0, 1).ravel()
            white = (patch - layer.mean_) @ layer.whiten_
            apart = np.linalg.norm(white - layer.centers_, axis=1)
            answers[i, j] = np.maximum(apart.mean() - apart, 0)
    slow = [answers[i : i + 3, j : j + 3].mean(axis=(0, 1)) for i in (0, 3) for j in (0, 3)]
    np.testing.assert_allclose(found[1], np.concatenate(slow), atol=2e-3)


def trial(weights, truth):
    x = np.zeros((8, 8, 3))
    why = vd.explain(lambda X: X.mean(axis=(1, 2, 3)), vd.Grid(2, 4), x + 0.5, method=vd.Lime(n_samples=64))
    why = husky_pictures.vd.Explanation(**{**{n: getattr(why, n) for n in why.__slots__}, "weights": weights})
    return vd.metrics.Trial(
        x, vd.Grid(2, 4), vd.Grid(2, 4)(x), None, None, why, lambda *_: why, truth=np.array(truth)
    )


def test_what_is_shown_are_the_heaviest_in_favor():
    rng = np.random.default_rng(0)
    weights = np.array([0.9, 0.8, 0.7, -2.0, -3.0, 0.1, 0.05, 0.01])
    assert husky.shown(trial(weights, [1, 1, 0, 1, 1, 0, 0, 1]), rng) == pytest.approx(2 / 5)
    assert husky.shown(trial(np.array([1.0, 0.5, *[-1.0] * 6]), [1, 0, *[1] * 6]), rng) == pytest.approx(1 / 2)
    with pytest.raises(vd.errors.InputError, match="no region"):
        husky.shown(trial(-np.ones(8), [1] * 8), rng)


def test_raters_see_ten_and_trust_by_what_they_see():
    first, snow = np.repeat([True, False], 8), np.tile([True, False], 8)
    ten = raters.ten(first, snow, np.random.default_rng(0))
    assert len(set(ten.tolist())) == 10
    assert (first[ten] == snow[ten]).sum() == 8
    right = (first == snow).tolist()  # goes by the snow alone
    area = [0.6] * 16
    shown = {"all of it": [1.0] * 16, "none": [0.0] * 16, "empty": [None] * 16}
    found = {"first": first, "snow": snow, "area": area, "bad": {"right": right, "shown": shown}}
    trusted = raters.panel(found, "bad", 0)
    assert trusted == {"n": 27, "accuracy alone": 27, "all of it": 0, "none": 27, "empty": 27}
    found["bad"]["right"] = [False] * 16
    assert raters.panel(found, "bad", 0)["none"] == 0
    np.testing.assert_array_equal(
        raters.suspects(np.array([[1, 1, -1], [1, -1, -1], [0, 0, 1]])), [True, False, False]
    )


def test_a_run_from_files_to_tables(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(husky, "METHODS", {"Lime": vd.Lime(n_samples=64), "Occlusion": vd.Occlusion()})
    monkeypatch.setattr(husky, "REPRESENT", vd.Superpixels(n=12, fill=vd.fills.Constant(0.5)))
    monkeypatch.setattr(pets, "SIDE", 48)
    monkeypatch.setitem(early.FEATURES, "patches", lambda: early.Patches(k=8))
    out, pictures = tmp_path / "husky.json", tmp_path / "pictures"
    words = ["--data", str(data), "--pairs", "disk/ring", "--seeds", "0", "1", "--animals", "4", "--jobs", "1"]
    words += ["--out", str(out), "--pictures", str(pictures)]
    monkeypatch.setattr(sys, "argv", ["husky.py", *words])
    monkeypatch.syspath_prepend(EXPERIMENTS)  # of what is imported when it is needed
    husky.main(husky.arguments().parse_args(words))
    cells = json.loads(out.read_text())["cells"]
    assert not [cell["error"] for cell in cells if "error" in cell]
    assert cells[0]["good"]["accuracy"] > 0.9
    assert cells[0]["bad"]["as_trained"] > 0.9
    assert len(cells[0]["bad"]["shown"]["Lime"]) == len(cells[0]["names"]) == 16
    assert len(list(pictures.glob("*.png"))) == 2
    text = sections.husky.tables([*cells, {"features": "patches", "pair": "a/b", "seed": 9, "error": "broken"}])
    assert "seed 9: broken" in text
    assert "| of all weight" in text
    pytest.importorskip("matplotlib")
    sections.husky.figures(cells, tmp_path)
    assert (tmp_path / "husky.svg").exists()
