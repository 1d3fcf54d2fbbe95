"""Take the pictures of the gallery: photograph.py FOLDER, where the examples wrote their pages (make examples)."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from PIL import Image  # noqa: E402

from examples import PICTURES, scripts  # noqa: E402 - after the path
from tests.builders.browser import Look, started  # noqa: E402

MOST = 40_000  # bytes of a picture


def first(page: Any) -> bytes:
    """What is seen from the first heading below the title on."""
    page.evaluate("(document.querySelector('h2') || document.body).scrollIntoView()")
    taken: bytes = page.screenshot()
    return taken


def small(picture: bytes) -> bytes:
    """A screenshot as WebP, of the best quality that is not too large."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for quality in range(90, 10, -10):
        image.save(out := io.BytesIO(), "WEBP", quality=quality, method=6)
        if out.tell() <= MOST:
            break
    return out.getvalue()


def main(folder: Path) -> None:
    PICTURES.mkdir(exist_ok=True)
    chromium = started()
    for script in scripts():
        for theme in ("light", "dark"):
            taken, _ = chromium.visit(folder / f"{script.stem}.html", first, Look(theme == "dark", 1000, 820))
            (PICTURES / f"{script.stem}-{theme}.webp").write_bytes(small(taken))
    chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
