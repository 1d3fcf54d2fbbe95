"""Screenshots of every view, light and dark, into docs/screenshots/, and the page that lists them.

    python docs/tools/screenshots.py [name …]

The records are those that all tests of media look at (tests/gallery.py). Whoever changes a view looks at them.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from PIL import Image  # noqa: E402 - after the path

import veridical as vd  # noqa: E402
from browser import Chromium, Look, started  # noqa: E402
from gallery import everything  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
LARGEST = 40_000  # bytes of one picture
WIDTH, SCALE = 1000, 0.8  # pixels of the page, and of a picture each
TALLEST = (1000, 800, 600)  # pixels of a picture; what is longer is cut
PAINTED = ("rows", "words", "superpixels", "windows", "many-rows", "audit", "difference-models")  # in a terminal
DRAWN = ("rows", "words", "superpixels", "tiles", "windows", "groups", "report", "audit", "difference-models")
HEAD = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<style>body{margin:0;background:#fff;color:#1d2126}main{padding:16px;width:max-content}
pre{margin:0;font:13px/1.25 "DejaVu Sans Mono",monospace}
@media(prefers-color-scheme:dark){body{background:#15181c;color:#e4e7ea}}</style>"""


def small(shot: bytes) -> bytes:
    """A picture of few colors, cut to what there is room for."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    for tallest in TALLEST:
        cut = picture.crop((0, 0, picture.width, min(picture.height, tallest)))
        few = cut.quantize(64, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(stream := io.BytesIO(), "png", optimize=True)
        if stream.tell() <= LARGEST:
            break
    return stream.getvalue()


def shoot(chromium: Chromium, page: Path, name: str) -> None:
    """The page in light and dark."""
    for theme in ("light", "dark"):
        look = Look(dark=theme == "dark", width=WIDTH, scale=SCALE)
        shot, _ = chromium.visit(page, lambda found: found.locator("main").screenshot(), look)
        (FOLDER / f"{name}-{theme}.png").write_bytes(small(shot))


def terminal(record: Any) -> str:
    """What a terminal of 80 columns shows, as a page."""
    from rich.console import Console

    console = Console(file=io.StringIO(), width=80, record=True, force_terminal=True, color_system="truecolor")
    console.print(record)
    return HEAD + console.export_html(inline_styles=True, code_format="<main><pre>{code}</pre></main>")


def title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def entry(name: str) -> str:
    """Both pictures of a view under its name."""
    kind, _, medium = name.partition(".")
    told = f"{title(kind)}, {medium or 'page'}"
    pictures = " ".join(f"![{told}, {theme}](screenshots/{name}-{theme}.png)" for theme in ("light", "dark"))
    return f"## {told}\n\n{pictures}\n"


def listed(names: list[str]) -> str:
    """The page of all screenshots."""
    head = (
        "# Every view, light and dark\n\nMade by `python docs/tools/screenshots.py` of the records that tests of "
        "all media look at. Pages first, then what a terminal shows, then figures of matplotlib.\n"
    )
    return "\n".join([head, *map(entry, names)])


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    views = [*everything(), *(f"{name}.terminal" for name in PAINTED), *(f"{name}.figure" for name in DRAWN)]
    chromium, page = started(), Path(tempfile.mkdtemp()) / "page.html"
    for view in views:
        if wanted and view not in wanted:
            continue
        kind, _, medium = view.partition(".")
        record = everything()[kind]
        if medium == "terminal":
            page.write_text(terminal(record), encoding="utf-8")
            shoot(chromium, page, view)
        elif medium == "figure":
            record.save(page.with_name("figure.svg"))
            page.write_text(HEAD + '<main><img src="figure.svg" alt=""></main>', encoding="utf-8")
            shoot(chromium, page, view)
        else:
            (record if kind == "page" else vd.Page(title(kind), [("", record)])).save(page)
            shoot(chromium, page, view)
    chromium.close()
    (FOLDER.parent / "screenshots.md").write_text(listed(views), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
