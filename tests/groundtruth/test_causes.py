"""Causes without gradients: half-way copies, searches by asking, other content in arrays, texts and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import veridical as vd
from veridical.groundtruth.causes import Aim, Decision, choose_aim, measure_change, mix_change
from veridical.groundtruth.edits import draw_masks, draw_ridges
from veridical.groundtruth.trials import Case

RNG = np.random.default_rng(0)
SEED = np.random.SeedSequence(0)
TILES = vd.Tiles(times=3, bands=2)
PLANES = RNG.normal(size=(8, 6, 9))
GUILTY = 3  # the only tile that a model reads
WORDS = {0: ["awful", "dull", "poor", "grim"], 1: ["great", "lovely", "fine", "superb"]}


def reads(represent: Any, part: int, X: Any, scale: float = 3.0) -> Callable[[Any], Any]:
    """A model of one output that reads the mean of a single part."""
    own = represent(X[0])
    share = own.paint(np.eye(len(own.parts))[part]) / (own.paint(np.eye(len(own.parts))[part])).sum()

    def predict(batch: Any) -> Any:
        values = np.asarray(batch, dtype=np.float64)
        values = values if values.ndim == share.ndim + 1 else values.mean(axis=-1)
        return expit(scale * (values * share).sum(axis=tuple(range(1, values.ndim))))

    return predict


def reading(represent: Any = TILES, X: Any = PLANES, scale: float = 6.0) -> Aim:
    return choose_aim(reads(represent, GUILTY, X, scale), represent, X)


def ends(represent: Any, cause: vd.groundtruth.Cause) -> Any:
    """Inputs of no part, of all, and of each alone."""
    own = represent(cause.changed)
    d = len(own.parts)
    return mix_change(own, cause, np.vstack([np.zeros(d, bool), np.ones(d, bool), np.eye(d, dtype=bool)]))


def cause_of(x: Any, changed: Any, parts: Any = None) -> vd.groundtruth.Cause:
    return vd.groundtruth.Cause(x, changed, 0, 1, 0.9, True, parts)


# half-way copies


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int16])
@pytest.mark.parametrize(
    ("represent", "shape"),
    [
        (TILES, (6, 9)),
        (vd.Tiles(2, 2, time_axis=-2), (2, 7, 6)),
        (vd.Grid(2, 3), (8, 9, 3)),
        (vd.Grid(2, 2, axes="CHW"), (3, 8, 9)),
        (vd.Windows(4), (20, 2)),
        (vd.Windows(4, time_axis=1, together=True), (2, 20)),
        (vd.Slices(5), (40,)),
    ],
)
def test_no_part_is_the_instance_and_all_parts_the_changed_copy(represent: Any, shape: Any, dtype: Any) -> None:
    x, changed = RNG.integers(0, 120, (2, *shape)).astype(dtype)
    found = ends(represent, cause_of(x, changed))
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found[0], x)
    np.testing.assert_array_equal(found[1], changed)
    once = sum((each != x).astype(int) for each in found[2:])
    np.testing.assert_array_equal(once, x != changed)  # each place belongs to one part


def test_tensors_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(3, 8, 8)
    changed = x.clone()
    changed[:, :4] = 0
    found = ends(vd.Grid(2, 2, axes="CHW"), cause_of(x, changed))
    assert torch.equal(found[0], x)
    assert torch.equal(found[1], changed)


def test_the_size_of_a_change_is_its_length_in_each_part() -> None:
    changed = PLANES[0].copy()
    changed[:3, :3] += 2.0
    expected = np.zeros(6)
    expected[0] = 2 * np.sqrt(9)
    np.testing.assert_allclose(measure_change(TILES(changed), cause_of(PLANES[0], changed)), expected)


@pytest.mark.parametrize("represent", [vd.Words(), vd.Words(positions=True), vd.Words(mask="[MASK]")])
def test_words_are_swapped_back(represent: Any) -> None:
    x, changed = "A good, good (dog) isn't bad.", "A poor, poor (cat) isn't bad."
    own = represent(changed)
    swapped = np.array([part.value in ("poor", "cat") for part in own.parts])
    cause = cause_of(x, changed, swapped)
    found = ends(represent, cause)
    assert found[:2] == [x, changed]
    assert found[2 + own.names.index("cat")] == "A good, good (cat) isn't bad."
    np.testing.assert_array_equal(measure_change(own, cause), swapped)


def test_a_text_that_is_cut_otherwise_is_refused() -> None:
    own = vd.Words()("a cat here")
    with pytest.raises(vd.errors.InputError, match="which of its words"):
        mix_change(own, cause_of("a dog here", "a cat here"), np.ones((1, 3), bool))
    with pytest.raises(vd.errors.InputError, match="differs from the instance in more"):
        mix_change(
            own, cause_of("a dog there", "a cat here", np.array([False, True, False])), np.ones((1, 3), bool)
        )


def test_columns_of_every_kind_are_put_back() -> None:
    n = 40
    frame = pd.DataFrame(
        {
            "age": RNG.normal(40, 10, n),
            "count": RNG.integers(0, 9, n),
            "kind": RNG.choice(["a", "b", "c"], n),
            "size": pd.Categorical(RNG.choice(["s", "m"], n)),
            "when": pd.date_range("2020-01-01", periods=n),
            "always": 1,
        }
    )
    frame.loc[3, "age"] = np.nan
    rows = vd.Rows(frame)
    for i, j in ((0, 3), (3, 0), (1, 2)):
        cause = cause_of(frame.iloc[i], frame.iloc[j])
        found = ends(rows, cause)
        pd.testing.assert_frame_equal(
            found.iloc[[0]].reset_index(drop=True), frame.iloc[[i]].reset_index(drop=True)
        )
        pd.testing.assert_frame_equal(
            found.iloc[[1]].reset_index(drop=True), frame.iloc[[j]].reset_index(drop=True)
        )
        moved = measure_change(rows(frame.iloc[j]), cause)
        np.testing.assert_array_equal(moved > 0, [frame.iloc[i][c] != frame.iloc[j][c] for c in frame.columns[:5]])
    moved = measure_change(rows(frame.iloc[2]), cause_of(frame.iloc[1], frame.iloc[2]))
    assert moved[0] == pytest.approx(abs(frame.age[2] - frame.age[1]) / frame.age.std(), rel=0.15)
    assert set(moved[2:4]) <= {0.0, 1.0}
    with pytest.raises(vd.errors.InputError, match="'always' was changed"):
        ends(rows, cause_of(frame.iloc[0], frame.iloc[0].replace(1, 2)))


def test_columns_of_a_group_and_of_a_sparse_row_go_together() -> None:
    hot = np.eye(3)[RNG.integers(0, 3, 40)]
    table = np.hstack([RNG.normal(size=(40, 1)), hot])
    i, j = (int(np.flatnonzero(hot[:, k])[0]) for k in (0, 1))
    rows, cause = vd.Rows(table, onehot={"g": [1, 2, 3]}), cause_of(table[i], table[j])
    found = ends(rows, cause)
    np.testing.assert_array_equal(found[[0, 1]], table[[i, j]])
    assert measure_change(rows(table[j]), cause)[1] == pytest.approx(1)
    sparse = csr_matrix(np.where(table > 0, table, 0))
    twice = sparse[j].copy()
    twice.data *= 2
    found = ends(vd.Rows(sparse), cause_of(sparse[j], twice))
    np.testing.assert_array_equal(found[[0, 1]].toarray(), [sparse[j].toarray()[0], twice.toarray()[0]])
    with pytest.raises(vd.errors.InputError, match="zero in its changed copy"):
        ends(vd.Rows(sparse), cause_of(csr_matrix(np.ones((1, 4))), sparse[j]))


def test_parts_that_lie_over_each_other_have_no_half_way() -> None:
    series = vd.Windows(3, cut=vd.Bands())
    with pytest.raises(vd.errors.InputError, match="lie over each other"):
        ends(series, cause_of(RNG.normal(size=30), RNG.normal(size=30)))
    mixture = vd.Fields({"a": vd.Words(), "b": vd.Words()})({"a": "one two", "b": "three"})
    with pytest.raises(vd.errors.InputError, match="does not say which"):
        mix_change(mixture, cause_of({}, {}), np.ones((1, 3), bool))


# searches by asking


@pytest.mark.parametrize(
    "search", [vd.attacks.Square(eps=1.0), vd.attacks.Spsa(eps=1.0), vd.attacks.Spsa(eps=2.0, parts=1)]
)
def test_what_asking_finds_is_where_the_model_looks(search: Any) -> None:
    found = search(reading(), SEED)
    assert all(cause.success for cause in found)
    for cause in found:
        assert np.abs(cause.delta).max() <= 1 + 1e-9
        assert measure_change(TILES(cause.changed), cause)[GUILTY] > 0
        assert (TILES(cause.x).gather(cause.delta)[GUILTY] > 0) == bool(cause.wanted)


def test_squares_go_only_the_way_that_helps() -> None:
    """The model reads the mean, so every square that is kept goes one way."""
    aim = choose_aim(lambda batch: expit(8 * batch.mean(axis=(1, 2))), TILES, PLANES)
    for cause in vd.attacks.Square(eps=0.5, confidence=0.9)(aim, SEED):
        sign = 1 if cause.wanted else -1
        assert (sign * cause.delta >= -1e-12).all()


def test_a_change_is_confined_to_random_parts_and_others_are_tried() -> None:
    for kind in (vd.attacks.Square(eps=2.0, parts=1), vd.attacks.Square(eps=2.0, parts=2)):
        for cause in kind(reading(), SEED):
            assert cause.success
            assert cause.parts is not None
            assert cause.parts.sum() == kind.parts
            assert cause.parts[GUILTY]
            assert not measure_change(TILES(cause.changed), cause)[~cause.parts].any()
    with pytest.raises(vd.errors.InputError, match="only 6 features"):
        vd.attacks.Square(parts=7)(reading(), SEED)


@pytest.mark.parametrize(
    "kind", [vd.attacks.Square(eps=0.5), vd.attacks.Spsa(eps=0.5), vd.edits.NoisyParts(), vd.edits.DrawnShape()]
)
def test_neither_company_nor_order_matters(kind: Any) -> None:
    predict = reads(TILES, GUILTY, PLANES)
    alone = kind(choose_aim(predict, TILES, PLANES[:2]), SEED)
    among = kind(choose_aim(predict, TILES, PLANES), SEED)
    for one, other in zip(alone, among, strict=False):
        np.testing.assert_array_equal(one.changed, other.changed)
        assert one.n_calls == other.n_calls


@pytest.mark.parametrize(
    "kind",
    [
        vd.attacks.Square(),
        vd.attacks.Spsa(),
        vd.edits.NoisyParts(),
        vd.edits.DrawnShape(),
        vd.edits.SwappedParts(),
    ],
)
def test_pictures_keep_their_type_and_range(kind: Any) -> None:
    torch = pytest.importorskip("torch")
    bright = RNG.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    grid = vd.Grid(2, 2)
    for X in (bright, bright / 255, [torch.as_tensor(each) for each in bright]):
        whole = np.stack([np.asarray(each, dtype=np.float64) for each in X])
        center, scale = whole.mean(), 40 / whole.std()
        aim = choose_aim(
            lambda b, m=center, s=scale: expit(s * (np.stack(list(b))[..., 0].mean((1, 2)) - m)), grid, X
        )
        for cause in kind(aim, SEED):
            assert type(cause.changed) is type(X[0])
            assert cause.changed.dtype == X[0].dtype
            assert cause.changed.min() >= 0
            assert cause.changed.max() <= (1 if np.asarray(X[0]).dtype.kind == "f" else 255)


def test_instances_of_several_shapes() -> None:
    X = [RNG.normal(size=shape) for shape in ((6, 9), (8, 12), (6, 9), (8, 12), (6, 9))]
    aim = choose_aim(lambda batch: expit(9 * batch.mean(axis=(1, 2))), TILES, X)
    for kind in (
        vd.attacks.Square(eps=2.0),
        vd.attacks.Spsa(eps=2.0),
        vd.edits.NoisyParts(confidence=0.5),
        vd.edits.SwappedParts(confidence=0.5),
    ):
        found = kind(aim, SEED)
        assert [cause.changed.shape for cause in found] == [x.shape for x in X]
        assert sum(cause.success for cause in found) >= 3


@pytest.mark.parametrize("axis", [0, 1])
def test_what_is_cut_where_it_changes_is_cut_alike_after_the_change(axis: int) -> None:
    levels = [
        np.repeat((-1) ** i * np.array([0.0, 3.0, -2.0, 1.0]), [8 + i, 12 - i, 5 + i, 15 - i]) for i in range(6)
    ]
    series = [np.stack([level, np.abs(level)], axis=1 - axis) for level in levels]
    windows = vd.Windows(4, cut=vd.bins.ChangePoints(), together=True, time_axis=axis)

    def predict(batch: Any) -> Any:
        return expit(3 * np.moveaxis(np.asarray(batch), axis + 1, 1)[:, 12:18, 0].mean(axis=1))

    aim = choose_aim(predict, windows, series)
    for cause in vd.edits.SwappedParts()(aim, SEED):
        assert cause.success
        case = Case.of(cause, windows, (aim.model, aim.decision), SEED)
        np.testing.assert_array_equal(case.sizes > 0, cause.parts)


# other content


@pytest.mark.parametrize("kind", [vd.edits.NoisyParts, vd.edits.DrawnShape, vd.edits.SwappedParts])
def test_the_one_part_that_a_model_reads_is_the_guilty_one(kind: Any) -> None:
    found = kind(confidence=0.6)(reading(), SEED)
    some = [cause for cause in found if cause.success]
    assert len(some) >= 2
    for cause in some:
        np.testing.assert_array_equal(cause.parts, np.arange(6) == GUILTY)
        assert cause.confidence >= 0.6


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kind", [vd.edits.NoisyParts, vd.edits.DrawnShape, vd.edits.SwappedParts])
def test_of_several_parts_none_can_be_missed(kind: Any, k: int) -> None:
    energy = np.median((PLANES**2).mean(axis=(1, 2)))
    aim = choose_aim(lambda batch: expit(6 * ((batch**2).mean(axis=(1, 2)) - 1.3 * energy)), TILES, PLANES)
    some = [cause for cause in kind(k=k, confidence=0.55)(aim, SEED) if cause.success]
    assert some
    for cause in some:
        assert cause.parts is not None
        assert 2 <= cause.parts.sum() <= k
        fewer = np.repeat(cause.parts[None], cause.parts.sum(), axis=0)
        fewer[np.arange(len(fewer)), np.flatnonzero(cause.parts)] = False
        own = TILES(cause.changed)
        labels = aim.decision(aim.model(mix_change(own, cause, np.vstack([fewer, cause.parts]))))
        np.testing.assert_array_equal(labels == cause.wanted, [*[False] * len(fewer), True])


def test_swapped_parts_are_those_of_an_instance_with_the_wanted_label() -> None:
    aim = reading()
    for cause in vd.edits.SwappedParts(confidence=0.6)(aim, SEED):
        if cause.success:
            inside = TILES(cause.x).paint(cause.parts) > 0
            others = PLANES[aim.labels == cause.wanted]
            assert any(np.array_equal(cause.changed[inside], other[inside]) for other in others)


def test_where_no_instance_has_the_wanted_label_nothing_can_be_swapped() -> None:
    high = PLANES + 3.0
    for cause in vd.edits.SwappedParts()(choose_aim(reads(TILES, GUILTY, high), TILES, high), SEED):
        assert not cause.success
        assert "no instance of the same shape is decided as 0" in cause.reason


def test_a_shape_is_drawn_as_ridges() -> None:
    for shape in ((20, 30), (50,), (40, 2)):
        drawn = draw_ridges(shape, 5, RNG)
        assert drawn.shape == shape
        assert 0.2 < drawn.mean() < 0.6


def test_parts_are_drawn_equally_often() -> None:
    masks = draw_masks(5, 1, 25, RNG)
    np.testing.assert_array_equal(masks.sum(axis=0), 5)
    assert (draw_masks(9, 4, 30, RNG).sum(axis=1) == 4).all()


def test_parts_of_a_front_end_are_edited_where_the_model_sees_them() -> None:
    def front(samples: Any) -> Any:
        return np.abs(np.lib.stride_tricks.sliding_window_view(samples, 8)[::8].T)

    tiles = vd.Tiles(times=3, bands=2, front=front)
    songs = RNG.normal(size=(8, 96))
    center = np.mean([front(song).mean() for song in songs])
    aim = choose_aim(lambda batch: expit(20 * (batch[:, :4, :4].mean(axis=(1, 2)) - center)), tiles, songs)
    some = [cause for cause in vd.edits.NoisyParts(confidence=0.6)(aim, SEED) if cause.success]
    assert some
    for cause in some:
        assert cause.changed.shape == (8, 12)
        np.testing.assert_array_equal(ends(tiles, cause)[1], cause.changed)


# texts


def written(n: int = 40) -> list[str]:
    rest = [f"word{i}" for i in range(20)]
    made = []
    for i in range(n):
        words = [*RNG.choice(rest, 6), *RNG.choice(WORDS[i % 2], 1 + i % 3)]
        made.append(", ".join(RNG.permutation(words)) + ".")
    return made


TEXTS = written()


@cache
def reader() -> Any:
    return make_pipeline(CountVectorizer(), LogisticRegression(C=5.0)).fit(TEXTS, np.arange(len(TEXTS)) % 2)


@pytest.mark.parametrize("represent", [vd.Words(), vd.Words(positions=True), vd.Words(mask="[MASK]")])
@pytest.mark.parametrize("k", [1, 3])
def test_swapped_words_are_the_parts_of_the_changed_text(represent: Any, k: int) -> None:
    aim = choose_aim(reader().predict_proba, represent, TEXTS[:12])
    some = [cause for cause in vd.edits.SwappedWords(k=k)(aim, SEED) if cause.success]
    assert len(some) >= 2
    for cause in some:
        own = represent(cause.changed)
        assert len(cause.changed.split(", ")) == len(cause.x.split(", "))
        assert min(k, 2) <= cause.parts.sum() <= k
        assert not {own.parts[j].value for j in np.flatnonzero(cause.parts)} & set(represent(cause.x).names)
        found = ends(represent, cause)
        assert found[:2] == [cause.x, cause.changed]
        np.testing.assert_array_equal(measure_change(own, cause), cause.parts)
        undone = mix_change(own, cause, ~cause.parts[None])
        assert aim.decision(aim.model(undone))[0] == cause.label


def test_only_the_words_that_are_given_are_swapped_in() -> None:
    aim = choose_aim(reader().predict_proba, vd.Words(), TEXTS[:12])
    for cause in vd.edits.SwappedWords(words=("superb", "grim"))(aim, SEED):
        if cause.success:
            own = vd.Words()(cause.changed)
            assert own.names[int(np.flatnonzero(cause.parts)[0])] in ("superb", "grim")
    for cause in vd.edits.SwappedWords(words=("superb grim",))(aim, SEED):
        assert not cause.success  # two words are no word, and cut the text otherwise
    with pytest.raises(vd.errors.InputError, match="tuple of words"):
        vd.edits.SwappedWords(words="grim")


def test_sentences_are_swapped_as_words_are() -> None:
    texts = [" ".join(f"It was {word}." for word in [*RNG.choice(WORDS[i % 2], 2), "here"]) for i in range(12)]
    aim = choose_aim(reader().predict_proba, vd.Sentences(), texts)
    some = [cause for cause in vd.edits.SwappedWords(k=2, confidence=0.5)(aim, SEED) if cause.success]
    assert some
    for cause in some:
        assert ends(vd.Sentences(), cause)[:2] == [cause.x, cause.changed]


def test_a_text_with_fewer_words_than_asked_for_is_reported() -> None:
    aim = choose_aim(reader().predict_proba, vd.Words(), ["great fine", "awful dull"])
    for cause in vd.edits.SwappedWords(k=3)(aim, SEED):
        assert "it has 2 features" in cause.reason


# tables


def table(n: int = 60) -> pd.DataFrame:
    made = pd.DataFrame(
        {
            "age": RNG.normal(40, 10, n),
            "count": RNG.integers(0, 9, n),
            "kind": pd.Categorical(RNG.choice(["a", "b"], n)),
            "name": RNG.choice(["x", "y", "z"], n),
            "held": RNG.normal(size=n),
        }
    )
    made.loc[::11, "age"] = np.nan
    return made


FRAME = table()


def judged(frame: Any) -> Any:
    """Reads the kind and the age: an old a is certain, a young b is not, and else either may decide."""
    age = frame["age"].fillna(40).to_numpy()
    return expit(2.0 * (frame["kind"] == "a").to_numpy(dtype=float) - 1.0 + 0.12 * (age - 40))


@pytest.mark.parametrize("k", [1, 2])
def test_edited_columns_come_from_rows_with_the_wanted_label(k: int) -> None:
    rows = vd.Rows(FRAME, immutable=["held"])
    aim = choose_aim(judged, rows, FRAME.iloc[:12])
    some = [cause for cause in vd.edits.EditedColumns(k=k, confidence=0.6)(aim, SEED) if cause.success]
    assert len(some) >= 2
    for cause in some:
        own = rows(cause.changed)
        edited = {own.parts[j].column for j in np.flatnonzero(cause.parts)}
        assert edited <= ({"age", "kind"})
        assert min(k, 2) <= len(edited) <= k
        assert cause.changed["held"] == cause.x["held"]
        pd.testing.assert_series_equal(ends(rows, cause).iloc[1], cause.changed, check_names=False)
        assert not measure_change(own, cause)[~cause.parts].any()


def test_tables_as_arrays_are_edited_and_searched() -> None:
    X = RNG.normal(size=(40, 4))
    aim = choose_aim(lambda batch: expit(3 * batch[:, 2]), vd.Rows(X), X[:10])
    for kind in (vd.edits.EditedColumns(), vd.attacks.Square(eps=2.0, parts=1), vd.attacks.Spsa(eps=2.0, parts=1)):
        some = [cause for cause in kind(aim, SEED) if cause.success]
        assert len(some) >= 5
        for cause in some:
            np.testing.assert_array_equal(cause.parts, np.arange(4) == 2)
            np.testing.assert_array_equal(ends(vd.Rows(X), cause)[:2], [cause.x, cause.changed])


# what fails is told, and what cannot be is refused


KINDS = (
    vd.attacks.Square(n_steps=20),
    vd.attacks.Spsa(n_steps=3),
    vd.edits.NoisyParts(),
    vd.edits.DrawnShape(k=2),
    vd.edits.SwappedParts(),
)


@pytest.mark.parametrize("kind", [*KINDS, vd.attacks.Square(n_steps=20, parts=1)])
def test_a_constant_model_is_reported(kind: Any) -> None:
    mixed_labels = choose_aim(lambda batch: np.full(len(batch), 0.3), TILES, PLANES, wanted=1)
    for cause in kind(mixed_labels, SEED):
        assert not cause.success
        assert "1" in cause.reason
        assert cause.confidence == pytest.approx(0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_as_wanted_already_is_left_alone(kind: Any) -> None:
    aim = choose_aim(reads(TILES, GUILTY, PLANES), TILES, PLANES, wanted=1)
    assert 0 < aim.labels.sum() < len(aim)
    for cause, label in zip(kind(aim, SEED), aim.labels, strict=True):
        if label == 1:
            assert not cause.success
            assert "already" in cause.reason
            assert cause.n_calls == 1
            np.testing.assert_array_equal(cause.changed, cause.x)


@pytest.mark.parametrize(
    "kind", [vd.attacks.Square(eps=1e-5, n_steps=20), vd.edits.NoisyParts(confidence=1.0, n_tries=25)]
)
def test_what_is_not_found_is_reported_with_the_best_there_was(kind: Any) -> None:
    for cause in kind(reading(), SEED):
        assert not cause.success
        assert cause.reason
        assert cause.n_calls > 20


def test_no_more_edits_are_tried_than_was_asked_for() -> None:
    for cause in vd.edits.NoisyParts(confidence=1.0, n_tries=3)(reading(), SEED):
        assert cause.n_calls == 3 + 1
        assert cause.reason.startswith("3 edits of 1 of")


@pytest.mark.parametrize(
    "kind", [vd.attacks.Square(eps=0.5, confidence=None), vd.edits.NoisyParts(confidence=0.51)]
)
def test_a_threshold_that_is_not_one_half(kind: Any) -> None:
    aim = choose_aim(reads(TILES, GUILTY, PLANES), TILES, PLANES, decision=Decision(0.6))
    assert (aim.labels == (aim.outputs[:, 0] >= 0.6)).all()
    for cause in kind(aim, SEED):
        if cause.success and cause.wanted:
            assert aim.model(cause.changed[None])[0, 0] >= 0.6


def test_of_many_labels_the_runner_up_is_wanted() -> None:
    slopes = RNG.normal(size=(4, 54))
    aim = choose_aim(lambda batch: softmax(batch.reshape(len(batch), -1) @ slopes.T, axis=1), TILES, PLANES)
    np.testing.assert_array_equal(aim.wanted, np.argsort(aim.outputs, axis=1)[:, -2])
    for kind in (vd.attacks.Square(eps=1.0), vd.attacks.Spsa(eps=1.0)):
        for cause in kind(aim, SEED):
            assert cause.success, cause.reason
            assert aim.model(cause.changed[None])[0].argmax() == cause.wanted


@pytest.mark.parametrize(
    "kind",
    [
        vd.edits.NoisyParts(),
        vd.edits.DrawnShape(),
        vd.edits.SwappedParts(),
        vd.attacks.Square(),
        vd.attacks.Spsa(),
    ],
)
def test_texts_and_frames_are_no_arrays(kind: Any) -> None:
    texts = choose_aim(reader().predict_proba, vd.Words(), TEXTS[:4])
    frames = choose_aim(judged, vd.Rows(FRAME), FRAME.iloc[:4])
    for aim in (texts, frames):
        with pytest.raises(vd.errors.InputError, match=r"vd\.edits\.SwappedWords\(\)"):
            kind(aim, SEED)


def test_words_and_columns_are_of_texts_and_tables() -> None:
    with pytest.raises(vd.errors.InputError, match="swaps words of texts"):
        vd.edits.SwappedWords()(reading(), SEED)
    for aim in (reading(), choose_aim(reader().predict_proba, vd.Words(), TEXTS[:4])):
        with pytest.raises(vd.errors.InputError, match="edits rows of a table"):
            vd.edits.EditedColumns()(aim, SEED)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: vd.edits.NoisyParts(k=0), "k must be"),
        (lambda: vd.edits.SwappedWords(n_tries=0), "n_tries must be"),
        (lambda: vd.edits.DrawnShape(confidence=None), "confidence must be"),  # type: ignore[arg-type]
        (lambda: vd.attacks.Square(eps=-1.0), "eps must be"),
        (lambda: vd.attacks.Spsa(n_steps=0), "n_steps must be"),
        (lambda: vd.attacks.Square(parts=0), "parts must be"),
        (lambda: vd.edits.NoisyParts(confidence=2), "confidence must be a number from 0 to 1, not 2"),
        (lambda: vd.attacks.Square(confidence="high"), "confidence must be"),  # type: ignore[arg-type]
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: Any, said: str) -> None:
    with pytest.raises(vd.errors.InputError, match=said):
        wrong()


def test_causes_are_made_by_one_call() -> None:
    def predict(planes: Any) -> Any:
        return 1 / (1 + np.exp(-np.asarray(planes)[:, :2, :2].sum(axis=(1, 2))))

    X = np.random.default_rng(0).normal(size=(4, 6, 6))
    found = vd.causes(predict, vd.Grid(3, 3), X, kind=vd.edits.SwappedParts(confidence=0.51), rng=3)
    again = vd.causes(predict, vd.Grid(3, 3), X, kind=vd.edits.SwappedParts(confidence=0.51), rng=3)
    assert [cause.success for cause in found] == [cause.success for cause in again]
    for cause in found:
        assert cause.success == (round(float(predict(cause.changed[None])[0])) == cause.wanted)
    with pytest.raises(vd.errors.InputError, match="Lime is a method"):
        vd.causes(predict, vd.Grid(3, 3), X, kind=vd.Lime())  # type: ignore[arg-type]
    with pytest.raises(vd.errors.InputError, match="kind must be settings"):
        vd.causes(predict, vd.Grid(3, 3), X, kind=vd.attacks.Pgd)  # type: ignore[arg-type]
