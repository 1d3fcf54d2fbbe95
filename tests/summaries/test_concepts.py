"""Parts that are alike count as one: pictures, sounds and series of which the truth is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import view_cases as cases
from tests.summaries.test_picks import explained, same
from veridical.records import Explanation, Explanations, View
from veridical.representations.descriptions import DESCRIBERS, color_name, describe_region, find_scenes, rgb_to_lab
from veridical.scale.stores import store as stored
from veridical.scale.stores.store import ExplanationsInMemory
from veridical.summaries.picks import Pick

COLORS = {"red": (220, 30, 30), "green": (30, 140, 40), "blue": (40, 60, 200), "gray": (130, 130, 130)}
FEW = vd.Lime(n_samples=256)


def top(pick: Pick) -> str:
    return pick.names[int(np.argmax(pick.importance))]


def runner_up(pick: Pick) -> float:
    """Importance of the second part over that of the first."""
    first, second = np.sort(pick.importance)[::-1][:2]
    return float(second / first)


# Pictures: squares at random places; the model sees red alone --------------------------------------------------


def squares(rng: np.random.Generator) -> tuple[Any, Any, list[str]]:
    """A picture, its labels, and the color of each region."""
    picture, labels = np.full((48, 48, 3), 245, np.uint8), np.zeros((48, 48), int)
    colors = [str(c) for c in rng.permutation(list(COLORS))]
    for j, (color, cell) in enumerate(zip(colors, rng.permutation(9), strict=False), 1):
        y, x = 16 * (cell // 3) + 2, 16 * (cell % 3) + 2
        noise = rng.normal(0, 4, (12, 12, 3))
        picture[y : y + 12, x : x + 12] = np.clip(COLORS[color] + noise, 0, 255)
        labels[y : y + 12, x : x + 12] = j
    return picture, labels, ["white", *colors]


def redness(X: Any) -> Any:
    X = np.asarray(X, dtype=float)
    return 10 * ((X[..., 0] > 170) & (X[..., 1] < 90)).mean(axis=(1, 2))


@pytest.fixture(scope="module")
def pictures() -> tuple[Explanations, list[list[str]]]:
    rng = np.random.default_rng(0)
    made, truth = [], []
    for _ in range(30):
        picture, labels, colors = squares(rng)
        represent = vd.Superpixels(segment=labels, fill=vd.fills.Constant(245))
        made.append(vd.explain(redness, represent, picture, method=FEW))
        truth.append(colors)
    return Explanations(tuple(made)), truth


def test_the_red_squares_are_one_concept(pictures: Any) -> None:
    many, truth = pictures
    pick = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=5))
    assert top(pick).startswith("red, smooth")
    assert runner_up(pick) < 0.01
    assert len(pick.concepts) == 5
    for concept in pick.concepts:
        colors = {truth[row][part] for row, part in concept.members}
        assert len(colors) == 1
        assert len(concept.members) == 30
        name = colors.pop()
        assert name in concept.name
        assert concept.typical in list(map(tuple, concept.members))
        assert truth[concept.typical[0]][concept.typical[1]] == name
        assert concept.view is many[concept.typical[0]].view
    assert pick.notes == ()
    assert pick.coverage[0] == pytest.approx(pick.total)  # one picture says it all, and by number it cannot
    assert {p.relation for p in pick.parts} == {"like"}


def test_by_number_the_pick_is_blind(pictures: Any) -> None:
    """What the concepts are for: region 3 is red in a quarter of the pictures."""
    many, _ = pictures
    by_number = vd.pick([replace(why, view=None) for why in many], 3)
    assert runner_up(by_number) > 0.5


def test_concepts_are_used_unless_asked_otherwise(pictures: Any) -> None:
    many, _ = pictures
    pick = vd.pick(many, 3)
    assert "those that are alike count as one concept" in pick.notes[0]
    assert 5 <= len(pick.concepts) <= 20
    assert all("red" in name for name, i in zip(pick.names, pick.importance, strict=True) if i > 0.1)
    assert len(set(pick.names)) == len(pick.names)


def test_regions_that_are_found_are_matched_as_well() -> None:
    pytest.importorskip("skimage")
    rng = np.random.default_rng(1)
    many = [
        vd.explain(redness, vd.Superpixels(fill=vd.fills.Constant(245)), squares(rng)[0], method=FEW)
        for _ in range(12)
    ]
    pick = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=8))
    assert "red" in top(pick)
    assert sum(i for name, i in zip(pick.names, pick.importance, strict=True) if "red" in name) > 0.7 * pick.total


def test_a_grid_is_matched_by_place(pictures: Any) -> None:
    rng = np.random.default_rng(2)
    many = [
        vd.explain(redness, vd.Grid(3, 3, vd.fills.Constant(245)), squares(rng)[0], method=FEW) for _ in range(10)
    ]
    pick = vd.pick(many, 3)
    assert pick.concepts == ()
    assert "matched by place" in pick.notes[0]
    assert pick.names[0] == "row 1, column 1"
    asked = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=5))
    assert "red" in top(asked)
    larger = [
        vd.explain(redness, vd.Grid(3, 3), np.kron(squares(rng)[0], np.ones((2, 2, 1), np.uint8)), method=FEW)
    ]
    assert vd.pick([*many, *larger], 3).concepts  # another size, so places are not the same


def test_files_and_memory_agree(pictures: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    many, _ = pictures
    many.save(tmp_path / "many.parquet")
    for settings in ({}, {"concepts": vd.concepts.Concepts(n=5)}):
        expected = vd.pick(many, 3, **settings)
        found = vd.pick(tmp_path / "many.parquet", 3, **settings)
        assert same(found, expected)
        pixels = [[c.view.data["pixels"] for c in p.concepts] for p in (found, expected)]
        np.testing.assert_array_equal(*pixels)


def test_views_are_read_a_few_at_a_time(pictures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    many, own, asked = pictures[0], stored.columns_of, list[int]()
    Explanations(many.items * 3).save(tmp_path / "many.parquet")

    def watched(path: Path, names: Any, n_rows: int) -> Any:
        for table in own(path, names, n_rows):
            if "view" in names:
                asked.append(len(table))
            yield table

    monkeypatch.setattr(stored, "columns_of", watched)
    assert len(vd.pick(tmp_path / "many.parquet", 2).concepts) > 4
    assert max(asked) == stored.VIEWS == 32


def test_the_seed_fixes_the_concepts(pictures: Any) -> None:
    many, _ = pictures
    assert same(vd.pick(many, 3, rng=1), vd.pick(many, 3, rng=1))
    clusters = {tuple(len(c.members) for c in vd.pick(many, 3, rng=rng).concepts) for rng in range(5)}
    assert len(clusters) > 1


def test_two_models_share_a_vocabulary(pictures: Any) -> None:
    many, truth = pictures
    blue = []
    for why in many:
        at = truth[len(blue)].index("blue")
        blue.append(replace(why, weights=np.where(np.arange(len(why.weights)) == at, 1.0, why.weights * 0)))
    pick = vd.picks.pick_for_two(many, blue, 2, concepts=vd.concepts.Concepts(n=5))
    assert sorted(pick.names) == sorted(pick.second.names)
    assert "red" in top(pick)
    assert "blue" in top(pick.second)
    for each in (pick, pick.second):
        assert sum(len(c.members) for c in each.concepts) == 30 * 5
        assert max(c.members[:, 0].max() for c in each.concepts) == 29


# Sounds, spectrograms, series ----------------------------------------------------------------------------------

RATE = 8000


def tones(rng: np.random.Generator) -> Any:
    """Eight stretches in random order: two low tones, one of 1,400 Hz, two high ones, and silence."""
    sound, t = rng.normal(0, 50, 8000), np.arange(1000) / RATE
    for at, hertz in zip(rng.permutation(8), (350, 350, 1400, 3000, 3000), strict=False):
        sound[1000 * at : 1000 * (at + 1)] += 8000 * np.sin(2 * np.pi * hertz * t)
    return sound.astype(np.float32)


def middle_tone(X: Any) -> Any:
    power = np.abs(np.fft.rfft(np.asarray(X))) ** 2
    hertz = np.fft.rfftfreq(np.shape(X)[1], 1 / RATE)
    return power[:, (hertz > 1200) & (hertz < 1600)].sum(axis=1) / 1e13


@pytest.mark.parametrize("represent", [vd.Slices(8, rate=RATE), vd.Tiles(8, 3, rate=RATE)])
def test_the_tone_that_matters_is_one_concept(represent: Any) -> None:
    rng = np.random.default_rng(0)
    many = [vd.explain(middle_tone, represent, tones(rng), method=FEW) for _ in range(15)]
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=8))
    assert top(pick).startswith("1000-2000 Hz, ")
    assert runner_up(pick) < 0.2
    assert vd.pick(many, 2).concepts == ()  # cut alike: by time, unless asked otherwise


def test_stems_are_told_by_their_sound() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(2000) / RATE
    many = []
    for _ in range(10):
        stems = {f"stem {i}": np.sin(2 * np.pi * f * t) for i, f in enumerate(rng.permutation([150, 600, 2400]))}
        mix = sum(stems.values())
        predict = lambda X: np.abs(np.fft.rfft(X))[:, 150]  # noqa: E731 - of 600 Hz
        many.append(vd.explain(predict, vd.Stems(lambda _, own=stems: own, rate=RATE), mix, method=FEW))
    pick = vd.pick(many, 1, concepts=vd.concepts.Concepts(n=3))
    assert top(pick).startswith("500-1000 Hz")
    assert runner_up(pick) < 0.05
    assert [len(c.members) for c in pick.concepts] == [10, 10, 10]


def test_the_tile_that_matters_is_one_concept() -> None:
    """A low hum, and clicks that do not matter, at random times."""
    rng = np.random.default_rng(0)
    many = []
    for _ in range(20):
        levels = rng.normal(0, 0.1, (40, 60))
        hum, clicks = 12 * rng.integers(0, 5, 2)
        levels[:10, hum : hum + 12] += 3
        levels[20:30, clicks : clicks + 12 : 4] += 3
        tiles = vd.Tiles(5, 4, fill=vd.fills.Constant(0.0))
        many.append(vd.explain(lambda X: np.asarray(X)[:, :10].mean(axis=(1, 2)), tiles, levels, method=FEW))
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=6))
    assert top(pick) == "bands 0-9, loud, steady"
    assert runner_up(pick) < 0.2
    assert any(name.startswith("bands 20-29, loud, changing") for name in pick.names)


def series_of(rng: np.random.Generator) -> Any:
    """A rise, a fall, a peak and a plateau in random order among noise."""
    values, line = rng.normal(0, 0.05, (8, 10)), np.linspace(-1, 1, 10)
    for at, window in zip(
        rng.permutation(8), (2 * line, -2 * line, 2 * (1 - line**2), 3 + 0 * line), strict=False
    ):
        values[at] += window
    return values.ravel()


def rise(X: Any) -> Any:
    return (np.asarray(X).reshape(len(X), 8, 10) @ np.linspace(-1, 1, 10)).max(axis=1)


def test_the_rise_is_one_concept() -> None:
    rng = np.random.default_rng(0)
    many = [vd.explain(rise, vd.Windows(8), series_of(rng), method=FEW) for _ in range(20)]
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=6))
    assert top(pick) == "rising, middle"
    assert runner_up(pick) < 0.2
    assert {"falling, middle", "peak, high", "flat, high"} <= set(pick.names)
    longer = [
        *many,
        vd.explain(rise, vd.Windows(8, cut=[0, 9, 20, 30, 40, 50, 60, 70]), series_of(rng), method=FEW),
    ]
    assert vd.pick(many, 2).concepts == ()
    assert vd.pick(longer, 2).concepts  # cut at other steps


def test_channels_have_concepts_of_their_own() -> None:
    rng = np.random.default_rng(0)
    windows = vd.Windows(4, channels=["heat", "load"])
    many = []
    for _ in range(12):
        x = rng.normal(0, 0.1, (40, 2)) * [1, 1000]
        at = 10 * rng.integers(0, 4)
        x[at : at + 10] += [5, 5000]
        many.append(vd.explain(lambda X: np.asarray(X)[:, :, 1].mean(axis=1), windows, x, method=FEW))
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=4))
    high, middle = (pick.importance[pick.names.index(f"load: flat, {where}")] for where in ("high", "middle"))
    np.testing.assert_allclose([high, middle], pick.total / 2)  # what is high speaks for it, the rest against
    assert {name.split(":")[0] for name in pick.names} == {"heat", "load"}
    together = replace(windows, together=True)
    shown = vd.explain(lambda X: np.asarray(X)[:, :, 1].mean(axis=1), together, x, method=FEW)
    (scene,) = find_scenes(shown.view, len(shown.parts))
    assert scene.features().shape == (4, 10)


def test_a_record_has_concepts_for_its_picture_alone() -> None:
    rng = np.random.default_rng(0)
    many = []
    for i in range(12):
        picture, labels, _ = squares(rng)
        fields = vd.Fields(
            {"photo": vd.Superpixels(segment=labels, fill=vd.fills.Constant(245)), "text": vd.Words()}
        )
        record = {"photo": picture, "text": f"good old picture {'ab'[i % 2]}"}
        score = lambda X: redness([x["photo"] for x in X]) + ["good" in x["text"] for x in X]  # noqa: E731
        many.append(vd.explain(score, fields, record, method=FEW))
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=5))
    assert {"text: good", "text: old", "text: a", "text: b"} <= set(pick.names)
    best = [pick.names[j] for j in np.argsort(-pick.importance)[:2]]
    assert any(name.startswith("photo: red") for name in best)
    assert "text: good" in best
    assert not any("region" in name for name in pick.names)


# The caller's own embedding ------------------------------------------------------------------------------------


def test_an_embedding_of_the_callers(pictures: Any) -> None:
    many, truth = pictures
    codes = {color: [i, 0.0] for i, color in enumerate(["white", *COLORS])}
    arrays = [np.array([codes[color] for color in row]) for row in truth]
    by_array = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=5, embed=arrays))
    asked = []

    def embed(view: View, part: int) -> Any:
        asked.append((view.kind, part))
        return describe_region(view, 5)[part, :3]

    by_function = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=5, embed=embed))
    for pick in (by_array, by_function):
        for concept in pick.concepts:
            assert len({truth[row][part] for row, part in concept.members}) == 1
    assert set(asked) == {("picture", part) for part in range(5)}
    assert "red" in top(by_function)  # named by its looks all the same
    assert by_array.names == tuple(f"concept {name.split()[1]}" for name in by_array.names)
    best = by_array.concepts[[c.name for c in by_array.concepts].index(top(by_array))]
    assert truth[best.members[0, 0]][best.members[0, 1]] == "red"


def test_arrays_serve_explanations_of_any_kind() -> None:
    """Synonyms as one concept, from word vectors."""
    many = explained([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])
    vectors = [np.array([[0.0, 1.0]]), np.array([[0.0, 1.1]]), np.array([[9.0, 0.0]]), np.empty((0, 2))]
    pick = vd.pick(many, 2, concepts=vd.concepts.Concepts(n=2, embed=vectors))
    assert pick.chosen.tolist() == [0, 2]
    assert sorted(pick.importance**2) == pytest.approx([1, 2])


def test_a_view_of_a_kind_of_ones_own_can_be_embedded() -> None:
    many = [cases.unheard_of(), cases.unheard_of()]
    pick = vd.pick(many, 1, concepts=vd.concepts.Concepts(n=2, embed=lambda view, part: [part]))
    assert pick.names == ("concept 1", "concept 2")


@pytest.mark.parametrize(
    ("embed", "match"),
    [
        (lambda view, part: [np.nan], "NaN or infinity"),
        (lambda view, part: np.zeros(part + 1), "one vector of numbers a part, all of one length"),
        (lambda view, part: "red", "one vector of numbers a part"),
        (lambda view, part: view.smell, "embed failed with AttributeError"),
        ([np.zeros((5, 2))] * 3, "embed.* must give one vector per part|3 arrays for 30 explanations"),
        ([np.zeros((4, 2))] * 30, r"embed\[0\] must give one vector per part, \(5, f\) in all"),
        ([np.zeros((5, 2))] * 29 + [np.zeros((5, 3))], "vectors of 3 numbers for explanation 29"),
    ],
)
def test_a_bad_embedding_is_refused(embed: Any, match: str, pictures: Any) -> None:
    with pytest.raises(vd.errors.InputError, match=match):
        vd.pick(pictures[0], 2, concepts=vd.concepts.Concepts(n=3, embed=embed))


@pytest.mark.parametrize("settings", [{"n": 0}, {"n": 2.5}, {"n": "many"}, {"embed": "clip"}, {"embed": 5}])
def test_bad_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(vd.errors.InputError):
        vd.concepts.Concepts(**settings)


# Descriptions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((0, 0, 0), "black"),
        ((255, 255, 255), "white"),
        ((128, 128, 128), "gray"),
        ((255, 0, 0), "red"),
        ((255, 165, 0), "orange"),
        ((139, 69, 19), "brown"),
        ((255, 255, 0), "yellow"),
        ((0, 160, 0), "green"),
        ((0, 60, 0), "dark green"),
        ((0, 255, 255), "light cyan"),
        ((60, 110, 230), "blue"),
        ((128, 0, 140), "dark purple"),
        ((255, 192, 203), "light pink"),
    ],
)
def test_colors_have_the_names_that_people_use(rgb: Any, name: str) -> None:
    assert color_name(rgb_to_lab(np.array(rgb, np.uint8))) == name


def test_lab_is_what_scikit_image_says() -> None:
    color = pytest.importorskip("skimage.color")
    pixels = np.random.default_rng(0).integers(0, 256, (50, 3), dtype=np.uint8)
    np.testing.assert_allclose(rgb_to_lab(pixels), color.rgb2lab(pixels / 255), atol=0.05)


def test_texture_has_a_direction_and_edges_are_none() -> None:
    stripes = np.zeros((1, 40, 60, 3), np.uint8)
    stripes[:, :, :20] = 255 * ((np.arange(20) // 3) % 2)[:, None]
    stripes[:, :, 20:40] = 255 * ((np.arange(40) // 3) % 2)[:, None, None]
    labels = np.broadcast_to(np.arange(60) // 20, (1, 40, 60))
    upright, level, plain = describe_region(View("picture", {"pixels": stripes, "labels": labels}), 3)
    assert upright[5] > 0.9
    assert level[5] < -0.9
    assert plain[3:7].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("case", [c for c in cases.CASES if c not in (cases.unknown_weights, cases.long_series)])
def test_awkward_views_are_described_or_left_alone(case: Any) -> None:
    why: Explanation = case()
    twice = [why, replace(why, weights=why.weights[::-1].copy())]
    describable = any(len(scene.parts) for scene in find_scenes(why.view, len(why.parts)))
    if not describable:
        with pytest.raises(vd.errors.InputError, match="these explanations have none"):
            vd.pick(twice, 1, concepts=vd.concepts.Concepts(n=3))
        return
    for _, features in ((s, s.features()) for s in find_scenes(why.view, len(why.parts))):
        assert np.isfinite(features).all()
    pick = vd.pick(twice, 2, concepts=vd.concepts.Concepts(n=3))
    assert len(pick.chosen) == 2
    assert all(concept.name for concept in pick.concepts)


@pytest.mark.parametrize("kind", DESCRIBERS)
def test_blocks_are_all_of_the_features(kind: str) -> None:
    view = {c().view.kind: c().view for c in cases.PLAIN}[kind]
    (scene, *_) = find_scenes(view, 6)
    assert scene.features().shape[1] == sum(size for _, size, _, _ in scene.describer.blocks)


def test_every_part_is_in_one_concept(pictures: Any) -> None:
    many, _ = pictures
    pick = vd.pick(many, 3, concepts=vd.concepts.Concepts(n=7))
    members = sorted(chain.from_iterable(map(tuple, c.members.tolist()) for c in pick.concepts))
    assert members == [(i, j) for i, why in enumerate(many) for j in range(len(why.parts))]


def test_more_concepts_than_parts_are_not_made() -> None:
    why = cases.picture(d=4)
    pick = vd.pick([why, why], 1, concepts=vd.concepts.Concepts(n=50))
    assert len(pick.concepts) == 4
    vocabulary = vd.concepts.Concepts(n=2).learn([ExplanationsInMemory((why, why))], np.random.SeedSequence(0))
    assert vocabulary.labels.tolist()[:4] == vocabulary.labels.tolist()[4:]
