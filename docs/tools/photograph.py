"""Take the pictures of the gallery: photograph.py FOLDER, where the examples wrote their pages (make examples)."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from gallery import PICTURES, scripts

WIDE, HIGH = 1000, 820
MOST = 40_000  # bytes of a picture


def small(picture: bytes) -> bytes:
    """A screenshot as WebP, of the best quality that is not too large."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for quality in range(90, 10, -10):
        out = io.BytesIO()
        image.save(out, "WEBP", quality=quality, method=6)
        if out.tell() <= MOST:
            break
    return out.getvalue()


def main(folder: Path) -> None:
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for script in scripts():
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, color_scheme=theme)
                page.goto((folder / f"{script.stem}.html").resolve().as_uri())
                page.evaluate("(document.querySelector('h2') || document.body).scrollIntoView()")
                taken = small(page.screenshot())
                (PICTURES / f"{script.stem}-{theme}.webp").write_bytes(taken)
                print(f"{script.stem}-{theme}.webp: {len(taken):,} bytes")
                page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
