"""What one sees first: the first screen of ten pages, on a desktop and a telephone, light and dark.

    python docs/tools/screenshots.py [name …]

The pictures go into docs/screenshots/. The records are those that all tests of media look at
(tests/builders/gallery.py). Whoever changes a view looks at them: within five seconds one should be able to say what the
model said, whether to rely on the explanation, and what the first reason is.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from PIL import Image  # noqa: E402 - after the path

from tests.builders.browser import Look, started  # noqa: E402
from tests.builders.gallery import SEEN, everything  # noqa: E402

FOLDER = ROOT / "docs" / "screenshots"
LARGEST = 40_000  # bytes of one picture
DEVICES = {
    "desktop": (1280, 800, 0.6),
    "phone": (390, 844, 1.0),
}  # width, height, and pixels of the picture to one of them


def small(shot: bytes) -> bytes:
    """A picture of as many colors as there is room for."""
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    for colors in (64, 32, 16):
        few = picture.quantize(colors, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
        few.save(stream := io.BytesIO(), "png", optimize=True)
        if stream.tell() <= LARGEST:
            break
    return stream.getvalue()


def main(wanted: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    chromium, path = started(), Path(tempfile.mkdtemp()) / "page.html"
    for name in SEEN:
        if wanted and name not in wanted:
            continue
        everything()[name].save(path)
        for device, (width, height, scale) in DEVICES.items():
            for theme in ("light", "dark"):
                look = Look(dark=theme == "dark", width=width, height=height, scale=scale)
                shot, _ = chromium.visit(path, lambda page: page.screenshot(), look)
                (FOLDER / f"{name}-{device}-{theme}.png").write_bytes(small(shot))
    chromium.close()


if __name__ == "__main__":
    main(sys.argv[1:])
