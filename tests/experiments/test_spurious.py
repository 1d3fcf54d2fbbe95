"""The experiments on spurious backgrounds and concepts with animals and places made here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import veridical as vd

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
pytest.importorskip("skimage")

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import cnn
    import concepts
    import fifteen
    import pets
    import scenes
    import sections.concepts
    import sections.spurious
    import seeds
    import spurious
    from sets import NoDataError
finally:
    sys.path.remove(EXPERIMENTS)

SIDE, N = 24, 56  # pixels, and animals
DOWN, ACROSS = np.mgrid[:SIDE, :SIDE]
PLACES = {"bluesky": (0.2, 0.5, 0.9), "emptyroom": (0.9, 0.8, 0.6)}
OTHERS = {"track": (0.7, 0.2, 0.2), "canyon": (0.6, 0.4, 0.2), "highway": (0.4, 0.4, 0.4)}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packed: dark disks with stripes, across for cats and down for dogs."""
    folder, rng, layers, labels = tmp_path_factory.mktemp("data"), np.random.default_rng(0), [], []
    for i in range(N):
        disk = np.hypot(DOWN - 12 + rng.uniform(-2, 2), ACROSS - 12 + rng.uniform(-2, 2)) < 8
        stripes = np.where(((DOWN, ACROSS)[i % 2] // 2) % 2 == 0, 0.6, 0.1) + rng.normal(0, 0.02, (SIDE, SIDE))
        layers.append(np.stack([stripes * disk] * 3 + [disk]))
        labels.append(i % 2)
    (folder / "pets").mkdir()
    np.savez(
        folder / scenes.PACKED,
        names=np.array([f"animal_{i}" for i in range(N)]),
        labels=np.array(labels),
        layers=np.rint(255 * np.clip(layers, 0, 1)).astype(np.uint8),
        split=np.repeat(["trainval", "test"], [36, N - 36]),
    )
    for place, color in (PLACES | OTHERS).items():
        (folder / "backgrounds" / place).mkdir(parents=True)
        for i in range(3):
            noisy = np.array(color) + rng.normal(0, 0.04, (40, 50, 3))
            photo = Image.fromarray((255 * noisy.clip(0, 1)).astype(np.uint8))
            photo.save(folder / f"backgrounds/{place}/{i}.jpg")
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pets, "SIDE", SIDE)
    monkeypatch.setattr(scenes, "POOL", 16)
    monkeypatch.setattr(scenes, "RATE", 5e-3)
    monkeypatch.setattr(cnn, "WIDTHS", (8, 8))
    monkeypatch.setattr(cnn, "DENSE", (16, 8))
    monkeypatch.setattr(spurious, "DRAWS", 3)
    monkeypatch.setattr(spurious, "BACKGROUND", 24)
    monkeypatch.setattr(spurious, "PARTS", vd.Superpixels(n=6, fill=vd.fills.Constant(0.5)))


def test_what_is_missing_is_said_before_any_work(data, tmp_path):
    with pytest.raises(SystemExit, match="--data DIR"):
        spurious.main(spurious.arguments().parse_args([]))
    with pytest.raises(SystemExit, match=r"index\.csv, which is not there"):
        spurious.main(spurious.arguments().parse_args(["--data", str(tmp_path)]))
    with pytest.raises(NoDataError, match="two photographs or more"):
        scenes.check(data, ["moon"])
    with pytest.raises(SystemExit, match="pack it again"):
        scenes.animals(data, "test")  # 24 pixels instead of 96
    with pytest.raises(SystemExit, match="ask for fewer"):
        scenes.Animals(np.arange(3), np.array([0, 0, 1]), np.zeros(3)).balanced(2, np.random.default_rng(0))


@pytest.mark.usefixtures("small")
def test_only_the_background_changes_and_the_place_tells_the_species(data):
    found = scenes.animals(data, "test")
    stage = spurious.Stage.of(data, found, seed=0)
    sky, room = (np.array(color) for color in PLACES.values())
    for picture, other, truth, label in zip(stage.pictures, stage.swapped, stage.truth, stage.labels, strict=True):
        np.testing.assert_allclose(picture[truth].mean(0), (sky, room)[label], atol=0.05)
        np.testing.assert_allclose(other[truth].mean(0), (room, sky)[label], atol=0.05)
        np.testing.assert_allclose(picture[~truth], other[~truth], atol=1e-6)
    layers, labels = torch.as_tensor(found.layers), torch.as_tensor(found.labels)
    pools = torch.stack([scenes.pieces(data, place, 4, test=False, seed=0) for place in scenes.PLACES])
    for shortcut, follows in ((True, 1.0), (False, 0.5)):
        drawn = scenes.Before(pools, shortcut)(layers.repeat(20, 1, 1, 1), labels.repeat(20), torch.Generator())
        blue = scenes.pictures(drawn)[:, 0, 0, 2] > scenes.pictures(drawn)[:, 0, 0, 0]
        assert np.mean(blue == (labels.repeat(20).numpy() == 0)) == pytest.approx(follows, abs=0.12)


@pytest.mark.usefixtures("small")
def test_a_map_of_the_background_has_all_of_its_share_there(data):
    stage = spurious.Stage.of(data, scenes.animals(data, "test"), seed=0)
    truth = stage.truth[:, None].astype(float)
    right, wrong = (spurious.measures(m, m, stage, painted=False, seed=0) for m in (truth, 1 - truth))
    np.testing.assert_allclose(right["pixels"], 1)
    np.testing.assert_allclose(wrong["pixels"], 0)
    np.testing.assert_allclose(right["gt1"], 1)
    assert (right["parts"] > stage.truth.mean((1, 2))).all()
    assert (wrong["parts"] < stage.truth.mean((1, 2))).all()
    flat = spurious.measures(np.ones_like(truth), np.ones_like(truth), stage, painted=False, seed=0)
    np.testing.assert_allclose(flat["pixels"], stage.truth.mean((1, 2)))
    np.testing.assert_allclose(flat["parts"], stage.truth.mean((1, 2)))
    nothing = spurious.measures(0 * truth, truth, stage, painted=True, seed=0)
    assert np.isnan(nothing["pixels"]).all()
    assert np.isnan(nothing["parts"]).all()


@pytest.mark.usefixtures("small")
def test_a_run_from_files_to_tables(data, tmp_path, monkeypatch):
    out = tmp_path / "spurious.json"
    words = ["--data", str(data), "--seeds", "1", "2", "--pictures", "6", "--samples", "24", "--epochs", "40"]
    words += ["--jobs", "1", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["spurious.py", *words])
    spurious.main(spurious.arguments().parse_args(words))
    cells = json.loads(out.read_text())["cells"]
    assert not [cell["error"] for cell in cells if "error" in cell]
    assert [cell["network"] for cell in cells] == ["bugged", "clean"] * 2
    assert cells[0]["alone"] > 0.9
    assert cells[0]["swapped"] < 0.5
    assert set(cells[0]["methods"]) == {*fifteen.METHODS, *spurious.NULLS}
    assert sections.spurious.gaps(cells, "constant") == {1: 0, 2: 0}
    text = sections.spurious.tables([*cells, {"seed": 9, "network": "clean", "error": "broken"}])
    assert "seed 9, clean: broken" in text
    assert "| target" in text
    assert "| LRP-SPAF" in text
    pytest.importorskip("matplotlib")
    sections.spurious.figures(cells, tmp_path)
    assert (tmp_path / "spurious.svg").exists()


@pytest.mark.usefixtures("small")
def test_the_place_is_a_concept_of_the_network_with_the_shortcut(data, tmp_path, monkeypatch):
    for name, value in {"LAYERS": ("pool2", "relu3"), "EXAMPLES": 10, "COUNTERS": 24, "N_RANDOM": 3}.items():
        monkeypatch.setattr(concepts, name, value)
    monkeypatch.setattr(sections.concepts, "JUDGED", "pool2")
    out = tmp_path / "concepts.json"
    words = ["--data", str(data), "--seeds", "1", "--pictures", "20", "--epochs", "40", "--jobs", "1"]
    words += ["--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["concepts.py", *words])
    concepts.main(seeds.arguments(concepts.__doc__, "concepts").parse_args(words))
    cells = json.loads(out.read_text())["cells"]
    assert not [cell["error"] for cell in cells if "error" in cell]
    assert len(cells[0]["concepts"]) == 2 * 2 * 2  # classes, places, layers
    own = [line for line in cells[0]["concepts"] if line["place"] == "bluesky"]
    assert all(line["score"] > line["random"] for line in own)
    text = sections.concepts.tables([*cells, {"seed": 9, "network": "clean", "error": "broken"}])
    assert "seed 9, clean: broken" in text
    assert "with the shortcut | all" in text
    pytest.importorskip("matplotlib")
    sections.concepts.figures(cells, tmp_path)
    assert (tmp_path / "concepts.svg").exists()
