"""The instance drawn in every medium: nothing is lost, nothing foreign becomes markup, sizes are bounded."""

from __future__ import annotations

import base64
import io
import math
import pickle
import re
import struct
import sys
import tracemalloc
import unicodedata
import wave
import zlib
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders import view_cases as cases
from veridical.display import html, media, pixels, terminal
from veridical.display.marks import even, letters, marks_of, telling
from veridical.display.saving import save
from veridical.errors import InputError
from veridical.records import Explanations, View
from veridical.scale.stores.store import load
from veridical.storage.codec import pack_view, unpack_view

ATTRIBUTES = {
    "aria-level", "open",
    "aria-hidden", "aria-label", "charset", "class", "content", "controls", "d", "data-n", "data-part", "data-tip", "dir",
    "height",
    "href", "http-equiv", "id", "lang", "name", "preload", "preserveaspectratio", "role", "scope", "src", "style",
    "tabindex", "title", "viewbox", "width", "x", "y",
}  # fmt: skip
TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "div", "p", "span", "b", "bdi", "i", "strong", "small", "table", "colgroup", "col", "thead", "tbody",
    "tr", "th", "td", "svg", "rect", "path", "dl", "dt", "dd", "ul", "ol", "li", "details", "summary",
    "figure", "figcaption", "image", "use", "audio", "mark",
}  # fmt: skip


class Reader(HTMLParser):
    """What a browser would see; unbalanced markup is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}  # all text inside elements of a class
        self.classes: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: (value or "").replace("\u00a0", " ") for name, value in attrs}
        assert len(known) == len(attrs)  # none twice
        self.found.append((tag, known))
        if tag not in {"meta", "col"}:
            self.open.append(tag)
            self.classes.append(known.get("class", ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.classes.pop()

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ")
        for name in {word for entry in self.classes for word in entry.split()}:
            self.texts[name] = self.texts.get(name, "") + data

    def all(self, tag: str) -> list[dict[str, str]]:
        return [known for name, known in self.found if name == tag]

    def of_class(self, name: str) -> list[dict[str, str]]:
        return [known for _, known in self.found if name in known.get("class", "").split()]


def same(a: Any, b: Any) -> bool:
    """Equal in type, dtype, shape and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, View):
        return a.kind == b.kind and same(dict(a.data), dict(b.data))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, Mapping):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


# ---- files


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("case", cases.CASES)
def test_views_are_saved_exactly(case: Any, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    e = case()
    save(e, tmp_path / f"e{suffix}")
    again = load(tmp_path / f"e{suffix}")
    assert same(again.view, e.view)
    assert same(pickle.loads(pickle.dumps(again)).view, e.view)
    assert html.fragment(again) == html.fragment(e)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_lists_keep_each_view_and_none(suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    several = Explanations((cases.text(), replace(cases.text(), view=None), cases.series()))
    save(several, tmp_path / f"e{suffix}")
    again = load(tmp_path / f"e{suffix}")
    assert [e.view is None for e in again] == [False, True, False]
    assert all(same(a.view, b.view) for a, b in zip(again, several, strict=True))


def test_the_comparison_itself_can_fail() -> None:
    a = cases.picture().view
    for key, value in (("labels", a.data["labels"] + 1), ("labels", a.data["labels"].astype(np.int32)),
                       ("titles", ["z0"]), ("more", 1)):  # fmt: skip
        assert not same(a, View("picture", {**a.data, key: value}))
    assert same(a, cases.picture().view)


def array_of(code: str, shape: list[int], content: bytes) -> np.ndarray:
    size = int(np.prod(shape))
    return np.full(shape, "aé") if code == "<U3" else np.frombuffer(content, code)[:size].reshape(shape)


codes = st.sampled_from(["<f8", ">f4", "|u1", "<i2", "|b1", "<U3", "<c16", "<M8[ns]"])
shapes = st.lists(st.integers(0, 3), max_size=3)
arrays = st.builds(array_of, codes, shapes, st.binary(min_size=16, max_size=16).map(lambda b: b * 27))
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | arrays
keys = st.text(max_size=4) | st.sampled_from(["array", "view", "tuple", "mapping", "float", "data"])
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(keys, inner, max_size=2)
        | st.builds(View, st.text(max_size=3), st.dictionaries(keys, inner, max_size=2))
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=80)
@given(data=st.dictionaries(keys, trees, max_size=3))
def test_any_view_survives(data: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("views") / "e.json"
    e = replace(cases.text(), view=View("kind", data))
    save(e, path)
    assert same(load(path).view, e.view)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [99]},
        {"dtype": "|O"},
        {"array": "!"},
        {"shape": [-1]},
        {"array": base64.b64encode(b"no").decode()},
    ],
)
def test_damaged_views_are_refused(change: dict[str, Any], tmp_path: Path) -> None:
    import json

    save(cases.text(), tmp_path / "e.json")
    document = json.loads((tmp_path / "e.json").read_text())
    document["items"][0]["view"]["data"]["mapping"]["spans"].update(change)
    (tmp_path / "e.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        load(tmp_path / "e.json")


def test_objects_are_not_saved(tmp_path: Path) -> None:
    e = replace(cases.text(), view=View("text", {"text": np.array([None])}))
    with pytest.raises(InputError, match="only arrays of numbers and text"):
        save(e, tmp_path / "e.json")


def test_a_bomb_does_not_unfold(tmp_path: Path) -> None:
    from veridical.storage.codec import unpack_view

    bomb = base64.b64encode(zlib.compress(bytes(50_000_000))).decode()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="4 bytes"):
            unpack_view({"array": bomb, "dtype": "|u1", "shape": [4]})
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


# ---- pages


@pytest.mark.parametrize("case", cases.CASES)
def test_markup_is_ours_alone(case: Any) -> None:
    e = case()
    for markup in (html.fragment(e), html.page(vd.Page("t", [("", e)])), html.fragment(Explanations((e, e)))):
        page = Reader(markup)
        assert {name for name, _ in page.found} <= TAGS
        for _, known in page.found:
            assert set(known) <= ATTRIBUTES
            assert re.fullmatch(
                r"#vd-[0-9a-f]{16}|data:image/(png|webp);base64,[\w+/=]*", known.get("href", "#vd-" + "0" * 16)
            )
            assert re.fullmatch(
                r"data:audio/(wav|mpeg);base64,[\w+/=]*", known.get("src", "data:audio/wav;base64,")
            )
            assert re.fullmatch(r"[\w\-.:;%(), #]*", known.get("style", ""))
            assert "nan" not in known.get("style", "") + known.get("d", "") + known.get("viewbox", "")
        bad = {c for c in set(markup) if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - set("\n\t")
        assert not bad
        markup.encode()


def test_the_policy_allows_pictures_and_sounds_from_the_page_alone() -> None:
    metas = Reader(html.page(vd.Page("t", [("", cases.fields())]))).all("meta")
    policy = next(m["content"] for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"


def test_a_text_is_shown_whole_and_exactly() -> None:
    page = Reader(html.fragment(cases.text()))
    assert page.texts["vd-text"] == cases.text().view.data["text"]
    shown = Reader(html.fragment(cases.nasty())).texts["vd-text"]
    wanted = cases.NASTY.replace("\r\n", "\n")
    assert len(shown) == len(wanted)
    for c, came in zip(wanted, shown, strict=True):
        assert came == c or (came == "\ufffd" and unicodedata.category(c) in {"Cc", "Cf", "Cs"})
    assert "x" * 5000 in shown
    assert shown.startswith("</style><script>alert(1)</script>")


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_harmless(text: str) -> None:
    view = cases.text_view(text, r"\S+")
    e = cases.explained(view, max(len(np.unique(view.data["spans"][:, 2])), 1))
    page = Reader(html.fragment(e))
    assert {name for name, _ in page.found} <= TAGS
    assert len(page.texts.get("vd-text", "")) == len(text.replace("\r\n", "\n"))
    assert not {c for c in terminal.render_text(e) if unicodedata.category(c) in {"Cc", "Cs"}} - {"\n"}


def test_words_are_marked_by_sign_and_strength() -> None:
    e = cases.text()  # A good film a bad end all the same
    marked = Reader(html.fragment(e)).all("mark")
    told = [m["title"] for m in marked]
    assert [told.index(said) for said in told] == [0, 1, 2, 3, 4, 5, 1, 7, 8, 9]  # good is there twice
    assert [m["class"] for m in marked[:3]] == ["vd-up", "vd-down", "vd-up"]
    assert [m["style"] for m in marked[:3]] == ["--s:1", "--s:.8", "--s:.64"]
    assert marked[1]["title"] == "−0.80 (−0.85 to −0.75)"
    faint = replace(e, weights=np.r_[1.0, np.full(8, 0.03)])
    assert len(Reader(html.fragment(faint)).all("mark")) == 1
    unsure = replace(e, intervals=np.stack([e.weights - 2, e.weights + 2], axis=1))
    assert all("vd-unsure" in m["class"] for m in Reader(html.fragment(unsure)).all("mark"))


def test_a_long_text_stays_small() -> None:
    rng = np.random.default_rng(0)
    words = " ".join(f"word{i}" for i in rng.integers(0, 900, 2000))
    view = cases.text_view(words)
    d = len(np.unique(view.data["spans"][:, 2]))
    markup = html.fragment(cases.explained(view, d, rng.normal(size=d)))
    page = Reader(markup)
    assert page.texts["vd-text"] == words
    assert len(markup) < 420_000
    assert sum("tabindex" in m for m in page.all("mark")) <= 60


def decoded(uri: str) -> np.ndarray:
    """The pixels (h, w, 3) that a browser makes of an address, from 0 to 1."""
    images = pytest.importorskip("PIL.Image")
    with images.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        return np.asarray(image.convert("RGB")) / 255


def test_a_picture_is_shown_as_it_is_and_its_parts_beside() -> None:
    e = cases.picture()
    page = Reader(html.fragment(e))
    (image,) = page.all("image")
    (use,) = page.all("use")
    assert use["href"] == f"#{image['id']}"
    np.testing.assert_allclose(decoded(image["href"])[..., :3] * 255, e.view.data["pixels"][0], atol=0.01)
    assert len(page.of_class("vd-part")) == 6
    badges = [b for b in page.of_class("vd-badge") if "style" in b]
    table = [b for b in page.of_class("vd-badge") if "style" not in b]
    assert page.texts["vd-badge"] == "ABCDEFABCDEF"
    assert [b["class"].split()[1] for b in table] == ["vd-up", "vd-down"] * 3
    lefts = [float(re.search(r"left:([\d.]+)%", b["style"])[1]) for b in badges]
    assert lefts == sorted(lefts)  # part j is the j-th strip, and the j-th heaviest
    assert "A: part-0: weight +1.00" in badges[0]["aria-label"]


def test_large_pictures_are_made_small_and_look_alike() -> None:
    pytest.importorskip("PIL.Image")
    for h, w, wide in ((1000, 2000, (412, 206)), (900, 300, (137, 412))):
        e = cases.picture(1, h, w, 4)
        smooth = np.stack(np.broadcast_arrays(*np.ogrid[:h, :w], 99), axis=-1)[None] % 256
        e = replace(e, view=View("picture", {**e.view.data, "pixels": (smooth // 8 + 90).astype(np.uint8)}))
        markup = html.fragment(e)
        image = Reader(markup).all("image")[0]
        shown = decoded(image["href"])
        assert shown.shape[:2] == wide[::-1]
        meant = pixels.shrink(e.view.data["pixels"][0], *shown.shape[:2]) / 255
        assert np.abs(shown - meant).mean() < 0.02
        assert len(markup) < 60_000


def test_pictures_are_coarser_until_they_fit() -> None:
    pytest.importorskip("PIL.Image")
    noise = np.random.default_rng(0).integers(0, 256, (412, 412, 3), dtype=np.uint8)
    sizes = [len(media.picture(noise, most)) for most in (200_000, 40_000, 1_000)]
    assert sizes[0] > 60_000
    assert sizes[1] < 55_000
    assert sizes[2] < 25_000  # nothing coarser is tried
    few = np.random.default_rng(0).integers(0, 256, (100, 100, 3), dtype=np.uint8)
    np.testing.assert_allclose(decoded(media.picture(few, 1)) * 255, few, atol=0.01)  # too few to spoil


def test_without_packages_pages_are_larger_but_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIL.Image", "PIL", "soundfile"):
        monkeypatch.setitem(sys.modules, name, None)
    page = Reader(html.fragment(cases.picture(1, 500, 400)))
    assert page.all("image")[0]["href"].startswith("data:image/png")
    assert len(html.fragment(cases.picture(1, 500, 400))) < 400_000
    assert Reader(html.fragment(cases.sound())).all("audio")[0]["src"].startswith("data:audio/wav")


def test_frames_become_a_strip_of_those_that_tell_most() -> None:
    e = cases.video()
    page = Reader(html.fragment(e))
    assert len(page.all("image")) == 8
    assert "8 of 20 frames" in page.texts["vd-aside"]
    labels = np.zeros((20, 4, 4), dtype=np.int64)
    labels[13], labels[17] = 1, 2
    marks = marks_of(cases.explained(None, 3, np.array([0.1, 1.0, -0.9])), [1, 2, 0])
    assert telling(labels, marks, 3) == [0, 13, 17]
    assert telling(labels, marks, 30) == list(range(20))
    assert len(telling(labels, marks, 8)) == 8


def test_a_list_shows_instances_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    many = Explanations((cases.picture(),) * 8)  # its view takes more than all the rest
    assert len(Reader(html.fragment(many)).of_class("vd-view")) == 9  # and a heat map of all
    monkeypatch.setattr(html, "NOTEBOOK", replace(html.NOTEBOOK, entries=6, n_bytes=24_100))
    page = Reader(html.fragment(many))
    assert 1 < len(page.of_class("vd-view")) < 6
    assert len(page.all("details")) == 8
    assert "And 2 more, not drawn here." in page.texts["vd-sum"]
    assert re.search(r"Only the first \d show their instance", page.texts["vd-key"])


def test_of_very_many_all_are_in_a_table_and_some_can_be_opened() -> None:
    many = Explanations((cases.explained(None, 30),) * 250)
    page = Reader(html.page(vd.Page("t", [("", many)])))
    assert len(page.all("tr")) > 250
    assert len(page.of_class("vd-rows")) == 1
    assert len(page.all("details")) == 102
    assert "100 of 250 rows" in page.texts["vd-folded"]
    assert len(html.page(vd.Page("t", [("", Explanations(many.items * 5))]))) < 1_500_000


def test_views_are_styled_only_where_there_are_some() -> None:
    assert "vd-plot" not in html.fragment(replace(cases.text(), view=None))
    assert ".vd-plot{" in html.fragment(cases.text())


def test_fields_have_their_shares() -> None:
    e = cases.fields()
    page = Reader(html.part(e, 3, limits=replace(html.NOTEBOOK, parts=20)))
    sizes = np.abs(e.weights) / np.abs(e.weights).sum()
    wanted = [sizes[:9].sum(), sizes[9], sizes[10:].sum()]
    widths = [float(i["style"][6:-1]) for i in page.all("i") if i.get("style", "").startswith("width:")]
    np.testing.assert_allclose(widths, 100 * np.array(wanted), atol=0.06)
    assert "24.5 <b>" in page.texts["vd-text"]
    assert len(page.all("image")) == 1
    text = terminal.render_text(e)
    assert f"review: {round(100 * wanted[0])} % of the effect" in text
    tints = [p["style"] for p in page.of_class("vd-part")]
    assert tints == [
        f"--s:{0.8**j:.2g}".replace("0.", ".") for j in range(14, 9, -1)
    ]  # the heaviest is drawn last, on top
    part = next(b for b in page.of_class("vd-badge") if "style" in b)
    assert part["aria-label"].startswith("K: part-10:")  # parts of a field keep their letters


def test_axes_of_a_spectrogram_are_where_its_tiles_say() -> None:
    page = Reader(html.fragment(cases.spectrogram()))
    assert page.texts["vd-x"].startswith("00.20.40.60.81 s")
    assert page.texts["vd-y"].startswith("01k4k Hz")
    spans = [known["style"] for name, known in page.found if name == "span" and "style" in known]
    assert [s for s in spans if s.startswith("top:") and "left" not in s][:3] == [
        "top:100.0%",
        "top:50.0%",
        "top:0.0%",
    ]
    assert "left:60.0%" in spans
    other = Reader(html.fragment(cases.no_recording()))
    assert other.texts["vd-x"].startswith("00.20.40.60.81 frame")
    assert not other.all("audio")


def test_series_have_a_panel_a_channel() -> None:
    page = Reader(html.fragment(cases.series()))
    assert len(page.of_class("vd-line")) == 2
    assert len(page.of_class("vd-part")) == 6
    first = page.of_class("vd-part")[1]["d"]
    assert first.startswith("M667 0H1333V400")
    assert len(Reader(html.fragment(cases.long_series())).of_class("vd-line")) == 8
    assert len(html.fragment(cases.long_series())) < 150_000
    broken = Reader(html.fragment(cases.gaps())).of_class("vd-line")[0]["d"]
    assert broken.count("M") == 3  # before, between and after the two gaps
    without_place = Reader(html.fragment(cases.bands()))
    assert not without_place.of_class("vd-part")
    assert not without_place.of_class("vd-badge")


# ---- pixels


@settings(max_examples=40, deadline=None)
@given(h=st.integers(1, 9), w=st.integers(1, 9), seed=st.integers(0, 99), smooth=st.booleans())
def test_png_decodes_to_the_same_pixels(h: int, w: int, seed: int, smooth: bool) -> None:
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
    picture = np.cumsum(noise // 40, axis=seed % 2, dtype=np.uint8) if smooth else noise
    uri = "," + base64.b64encode(pixels.png(picture)).decode()
    np.testing.assert_allclose(decoded(uri)[..., :3] * 255, picture, atol=0.01)
    mapped = "," + base64.b64encode(pixels.png(picture[..., 0], pixels.heat())).decode()
    np.testing.assert_allclose(decoded(mapped)[..., :3] * 255, pixels.heat()[picture[..., 0]], atol=0.01)


def test_png_chunks_are_whole() -> None:
    content = pixels.png(np.zeros((2, 3, 3), dtype=np.uint8))
    at, kinds = 8, []
    while at < len(content):
        (size,) = struct.unpack(">I", content[at : at + 4])
        body = content[at + 4 : at + 8 + size]
        assert struct.unpack(">I", content[at + 8 + size : at + 12 + size])[0] == zlib.crc32(body)
        kinds.append(body[:4])
        at += 12 + size
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_heat_is_ordered_to_the_eye() -> None:
    light = pixels.heat().astype(float) @ [0.2126, 0.7152, 0.0722]
    assert np.all(np.diff(light) > -0.5)
    assert np.all(np.diff(light[::16]) > 2)


def area(path: str) -> float:
    """The signed area of a path, by the shoelace formula."""
    total, x, y, x0, y0 = 0.0, 0, 0, 0, 0
    for code, first, second in re.findall(r"([Mhvz])(-?\d+)?(?: (-?\d+))?", path):
        if code == "M":
            x, y = x0, y0 = int(first), int(second)
        elif code == "z":
            assert (x, y) == (x0, y0)  # closed by itself
        else:
            dx, dy = (int(first), 0) if code == "h" else (0, int(first))
            total += x * dy - y * dx
            x, y = x + dx, y + dy
    return total / 2


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10_000), h=st.integers(1, 8), w=st.integers(1, 8))
def test_outlines_enclose_their_region(seed: int, h: int, w: int) -> None:
    mask = np.random.default_rng(seed).random((h, w)) < 0.5
    assert area(pixels.outline(mask)) == mask.sum()
    if mask.any():
        x, y = pixels.inside(mask)
        assert mask[int(y), int(x)]


def test_borders_lie_between_labels() -> None:
    assert pixels.borders(np.array([[0, 1], [0, 1]])) == "M1 0v2"
    assert pixels.borders(np.array([[0, 0], [1, 1], [1, 2]])) == "M0 1h2M1 2h1M1 2v1"
    assert pixels.borders(np.array([[0, 1], [1, 1]])) in {"M0 1h1v-1", "M1 0v1h-1"}
    assert pixels.borders(np.zeros((3, 3), dtype=int)) == ""


def test_shrinking_keeps_the_mean() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    small = pixels.shrink(picture, 10, 15)
    np.testing.assert_allclose(small, picture.reshape(10, 4, 15, 4, 3).mean(axis=(1, 3)), atol=0.51)
    labels = np.arange(40 * 60).reshape(40, 60)
    np.testing.assert_array_equal(pixels.sample(labels, 40, 60), labels)
    assert pixels.sample(labels, 2, 2).tolist() == [[10 * 60 + 15, 10 * 60 + 45], [30 * 60 + 15, 30 * 60 + 45]]


# ---- sound


def heard(uri: str) -> tuple[np.ndarray, int]:
    with wave.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))) as file:
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2"), file.getframerate()


def power(samples: np.ndarray, hertz: float, rate: int = 8000) -> float:
    """Amplitude of a tone in the middle half of a second."""
    t = np.arange(2000, 6000) / rate
    return float(abs(np.mean(samples[2000:6000] * np.exp(-2j * np.pi * hertz * t)))) * 2


def test_the_kept_band_is_kept_and_the_other_is_gone() -> None:
    data = {"samples": cases.tones(), "rate": 8000, "bounds": np.array([[0, 1, 0, 1000], [0, 1, 1000, 4000]])}
    low, high, both = media.kept(data, [0]), media.kept(data, [1]), media.kept(data, [0, 1])
    for samples, kept, gone in ((low, 500, 2000), (high, 2000, 500)):
        assert power(samples, kept) == pytest.approx(8000, rel=1e-3)
        assert power(samples, gone) < 8
    np.testing.assert_allclose(both, cases.tones(), atol=1)
    np.testing.assert_allclose(low.astype(int) + high, cases.tones(), atol=2)


def test_tiles_are_kept_in_their_time() -> None:
    data = {"samples": cases.tones(), "rate": 8000, "bounds": np.array([[0, 0.5, 0, 1000.0], [0.5, 1, 0, 1000]])}
    first = media.kept(data, [0]).astype(float)
    assert np.abs(first[400:3600]).max() > 7900
    assert np.abs(first[4500:]).max() < 1


def test_slices_are_cut() -> None:
    e = cases.sound()
    samples = media.kept(e.view.data, [1, 3])
    wanted = cases.tones()
    for start, stop, kept in ((0, 1600, False), (1600, 3200, True), (3200, 4800, False), (4800, 6400, True)):
        inner = slice(start + 40, stop - 40)  # 5 ms of fading
        np.testing.assert_array_equal(samples[inner], wanted[inner] if kept else 0)
    np.testing.assert_array_equal(media.kept(e.view.data, [0, 1, 2, 3, 4]), wanted)


def test_stems_are_added_up() -> None:
    data = cases.stems().view.data
    np.testing.assert_array_equal(media.kept(data, [0, 2]), np.zeros(4000))
    np.testing.assert_array_equal(media.kept(data, [0, 1]), np.full(4000, 3000))
    loud = {**data, "stems": np.full((3, 10), 30000, dtype=np.int16)}
    assert media.kept(loud, [0, 1, 2]).max() == 32767  # and not around the corner


def test_stretches_of_one_stem_share_a_panel() -> None:
    stems = np.zeros((4, 800), dtype=np.int16)
    bounds = np.array([(0, 1, 0, 400), (1, 2, 0, 400)] * 2, dtype=float)
    names = ("drums, 0-1 s", "drums, 1-2 s", "voice, 0-1 s", "voice, 1-2 s")
    view = View("sound", {"samples": stems[0], "rate": 400, "bounds": bounds, "stems": stems})
    e = cases.explained(view, 4)
    e = replace(e, parts=tuple(replace(p, name=name) for p, name in zip(e.parts, names, strict=True)))
    page = Reader(html.fragment(e))
    assert [known["aria-label"][:10] for known in page.all("svg") if "stem" in known.get("aria-label", "")] == [
        "stem drums", "stem voice",
    ]  # fmt: skip
    assert [p["d"].split("V")[0] for p in page.of_class("vd-part")] == ["M0 0H1000", "M1000 0H2000"] * 2


@pytest.fixture
def exact_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Players that hold every sample."""
    monkeypatch.setattr(media, "SHORT", math.inf)


def test_players_are_small_and_sound_alike() -> None:
    files = pytest.importorskip("soundfile")
    whole = Reader(html.fragment(cases.sound())).all("audio")[0]["src"]
    assert whole.startswith("data:audio/mpeg")
    assert len(whole) < 5_000
    samples, rate = files.read(io.BytesIO(base64.b64decode(whole.partition(",")[2])))
    assert rate == 8000
    for hertz in (500, 2000):
        assert power(32768 * samples[500:7500], hertz) == pytest.approx(8000, rel=0.1)
    assert power(32768 * samples[500:7500], 1200) < 200


@pytest.mark.parametrize("case", [cases.spectrogram, cases.sound, cases.stems])
def test_players_play_all_what_raises_the_rest_and_what_lowers(case: Any, exact_sound: None) -> None:
    e = case()
    players = Reader(html.fragment(e)).all("audio")
    assert len(players) == 4
    clips = [heard(p["src"]) for p in players]
    assert {rate for _, rate in clips} == {8000}
    np.testing.assert_array_equal(clips[0][0], e.view.data["samples"])
    (raising, _), (rest, _), (lowering, _) = clips[1:]
    for samples, sign in ((raising, 1), (lowering, -1)):
        np.testing.assert_array_equal(samples, media.kept(e.view.data, np.flatnonzero(np.sign(e.weights) == sign)))
    np.testing.assert_array_equal(rest, clips[0][0] - raising)
    only = replace(e, weights=np.abs(e.weights))
    heavy = Reader(html.fragment(only)).all("audio")
    assert len(heavy) == (3 if len(e.weights) > 3 else 2)
    if len(e.weights) > 3:  # more than half of all raise it: the heaviest alone
        assert "3 heaviest parts" in heavy[1]["aria-label"]
        np.testing.assert_array_equal(heard(heavy[1]["src"])[0], media.kept(e.view.data, [0, 1, 2]))
    assert all("controls" in p and p["aria-label"] for p in players)


MEL = vd.sounds.Mel(rate=8000, n_mels=24, n_fft=256, hop=80, fmax=None)


def test_a_spectrogram_is_heard_through_its_front_end(exact_sound: None) -> None:
    """The recording that is made of it has about its spectrogram, and parts are kept and taken away in it."""
    levels = MEL(cases.tones().astype(float) / 16000)
    why = vd.explain(
        lambda X: X[:, 12:].mean(axis=(1, 2)), vd.Tiles(2, 2, front=MEL), levels, method=vd.Occlusion()
    )
    page = html.fragment(why)
    players = Reader(page).all("audio")
    assert [p["aria-label"] for p in players][:2] == [
        "The spectrogram as sound", "Only what raises the output",
    ]  # fmt: skip
    assert page == html.fragment(why)
    (whole, rate), (raising, _) = (heard(p["src"]) for p in players[:2])
    assert rate == 8000
    loud = levels > levels.max() - 6
    apart = MEL(whole / 32767.0) - levels
    assert np.median(np.abs(apart[loud] - np.median(apart[loud]))) < 0.2
    low, high = (np.abs(np.fft.rfft(raising))[round(hertz * len(raising) / 8000)] for hertz in (500, 2000))
    assert high > 20 * low
    saved = replace(why, view=unpack_view(pack_view(why.view)))
    assert html.fragment(saved) == page


def test_levels_that_no_sound_has_are_not_played() -> None:
    levels = 10 * MEL(cases.tones().astype(float))
    why = vd.explain(lambda X: X.mean(axis=(1, 2)), vd.Tiles(2, 2, front=MEL), levels, method=vd.Occlusion())
    assert not Reader(html.fragment(why)).all("audio")


def test_a_spectrogram_without_a_front_end_is_silent() -> None:
    levels = MEL(cases.tones().astype(float))
    why = vd.explain(lambda X: X.mean(axis=(1, 2)), vd.Tiles(2, 2), levels, method=vd.Occlusion())
    assert not Reader(html.fragment(why)).all("audio")


def test_tiles_of_a_recording_are_drawn_on_its_spectrogram() -> None:
    e = cases.tiled_sound()
    shown = media.spectrum(e.view.data)
    levels, labels = shown["levels"].astype(float), shown["labels"]
    assert levels.shape == labels.shape
    assert set(np.unique(labels)) == {0, 1, 2, 3}
    pitch = 700 * np.expm1(np.linspace(0, np.log1p(4000 / 700), 97))
    bands = [int(np.searchsorted(pitch, hertz)) - 1 for hertz in (500, 2000)]
    loudest = np.sort(np.argsort(-levels[:, 20])[:6])
    assert all(np.abs(loudest - band).min() <= 1 for band in bands)
    assert [int(labels[band, 5]) for band in bands] == [0, 2]
    page = Reader(html.fragment(e))
    assert len(page.all("image")) == 1
    assert len(page.all("audio")) == 4
    assert page.texts["vd-y"].startswith("01k4k Hz")
    assert "↑ 0 to 4000 Hz" in terminal.render_text(e)


def test_without_a_rate_nothing_is_played_but_all_is_drawn() -> None:
    page = Reader(html.fragment(cases.unknown_rate()))
    assert not page.all("audio")
    assert len(page.of_class("vd-part")) == 5
    assert page.of_class("vd-part")[1]["d"].startswith("M400 0H800V400")
    assert page.texts["vd-x"].endswith("8k")
    e = cases.spectrogram()
    frames = replace(e, view=View("spectrogram", {**e.view.data, "unit": ("frame", "band")}))
    assert len(Reader(html.fragment(frames)).all("audio")) == 1  # bounds do not tell what to keep


def test_steps_count_in_the_axis() -> None:
    e = cases.series()
    page = Reader(html.fragment(replace(e, view=View("series", {**e.view.data, "step": 10}))))
    assert page.texts["vd-x"].startswith("0100200300400500")
    places = [
        s["style"] for s in page.all("span") if s.get("style", "").startswith("left") and "top" not in s["style"]
    ]
    assert places[:2] == ["left:0.8%", "left:17.5%"]  # the middle of values 0 and 10 of 60


def test_long_recordings_are_made_small() -> None:
    clip, rate = media.playable(np.zeros(60 * 48_000, dtype=np.int16), 48_000, 4)
    assert rate == 8000
    assert len(clip) == 8000 * media.LONGEST
    same_clip, same_rate = media.playable(cases.tones(), 8000, 4)
    assert same_rate == 8000
    np.testing.assert_array_equal(same_clip, cases.tones())
    slow, lower = media.playable(cases.tones(32_000, 2), 32_000, 4)
    assert lower == 16_000
    assert power(slow, 500, 16_000) == pytest.approx(8000, rel=0.01)
    assert media.playable(cases.tones(500, 2), 500, 4)[1] == 500  # nothing is gained by more
    e = cases.sound()
    data = {**e.view.data, "samples": np.ones(400_000, dtype=np.int16)}
    assert "first 10 seconds" in html.fragment(replace(e, view=View("sound", data)))


# ---- terminal


@pytest.mark.parametrize("case", cases.CASES)
@pytest.mark.parametrize("width", [60, 80, 132])
def test_lines_fit_the_terminal(case: Any, width: int) -> None:
    text = terminal.render_text(case(), width)
    lines = text.splitlines()
    assert max(map(terminal.cells, lines)) <= width
    assert len(lines) < 60
    assert not {c for c in set(text) if unicodedata.category(c) in {"Cc", "Cf", "Cs"}} - {"\n"}


def test_words_are_marked_in_the_terminal() -> None:
    e = cases.text()
    wanted = "[++A++] [--good--] [++film++], [--a--] [+bad+] [-end-];"
    assert terminal.render_text(e).splitlines()[4:6] == [f"  {wanted}", "  [--good--]  [+all+] [-the-] same."]


def test_wide_characters_are_wrapped_by_their_width() -> None:
    e = cases.explained(cases.text_view("名前" * 100, "名前名前"), 1)
    lines = terminal.render_text(e, 60).splitlines()
    assert max(map(terminal.cells, lines)) <= 60
    assert "".join(lines).count("名前") > 60


def test_of_a_long_text_the_telling_lines_are_shown() -> None:
    text = " ".join(["dull"] * 3000 + ["gold"] + ["dull"] * 3000)
    e = cases.explained(cases.text_view(text), 2, np.array([0.0, 1.0]))
    shown = terminal.render_text(e)
    assert "[++gold++]" in shown
    assert shown.count("dull") < 300
    assert "more lines" in shown


def test_maps_show_where_parts_are() -> None:
    lines = terminal.render_text(cases.picture()).splitlines()[4:]
    assert lines[0] == "  z0"
    rows = [line[2:] for line in lines[1:11]]
    assert {len(row) for row in rows} == {27}
    assert [row[0] for row in rows if row[0] != "A"] == ["▓"] * 10
    middle = next(row for row in rows if "A" in row)
    assert [middle.index(c) for c in "ABCDEF"] == sorted(middle.index(c) for c in "ABCDEF")
    assert "░▒▓ raises the output, -=≡ lowers it" in lines[11]
    chart = [line.split()[:2] for line in lines if "│" in line]
    assert chart[:2] == [["A", "part-0"], ["B", "part-1"]]


def test_a_map_of_tiles_has_low_bands_below() -> None:
    lines = terminal.render_text(cases.spectrogram()).splitlines()
    assert "A" in "".join(lines[9:14])  # part 0 is the first tile of the low band
    assert "C" in "".join(lines[4:9])
    assert "  → 0 to 1 s, ↑ 0 to 4000 Hz" in lines


def test_lines_over_time() -> None:
    lines = terminal.render_text(cases.series()).splitlines()
    assert lines[4] == "  channel 0"
    assert lines[6].replace(" ", "")[0] == "▓"
    assert lines[6].index("A") < lines[6].index("B") < lines[6].index("C")
    wave_line = terminal.render_text(cases.sound()).splitlines()[5]
    assert [c for c in wave_line if c in "ABCDE"] == list("ABCDE")
    assert " " in terminal.render_text(cases.gaps()).splitlines()[4].strip()


def test_letters() -> None:
    assert letters(3) == ["A", "B", "C"]
    assert letters(28)[-3:] == ["Z", "AA", "AB"]
    assert list(even(5, 9)) == [0, 1, 2, 3, 4]
    assert list(even(100, 3)) == [0, 50, 99]
