"""What a notebook is given of a record: text and HTML, and pictures where it asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from io import BytesIO
from typing import Any

from veridical.errors import VeridicalError
from veridical.serialize import writer_of

PICTURES = {"image/svg+xml": ".svg", "image/png": ".png", "application/pdf": ".pdf"}


def bundle(record: Any, include: Collection[str] | None, exclude: Collection[str] | None) -> dict[str, Any]:
    """What is shown by kind of content: the notebook takes the first that it can show.

    Pictures are made only for those who name them in ``include``: they would make every notebook larger.
    """
    kinds: dict[str, Callable[[Any], Any]] = {"text/plain": repr, "text/html": lambda shown: shown._repr_html_()}
    pictures = {kind: _picture(suffix) for kind, suffix in PICTURES.items() if kind in (include or ())}
    wanted = {k: make for k, make in (kinds | pictures).items() if k not in (exclude or ())}
    made = {kind: make(record) for kind, make in wanted.items() if include is None or kind in include}
    return {kind: content for kind, content in made.items() if content is not None}


def _picture(suffix: str) -> Callable[[Any], str | bytes | None]:
    def made(record: Any) -> str | bytes | None:
        """A picture as a file has it; none of a record that has no picture, or without matplotlib."""
        stream = BytesIO()
        try:
            writer_of(type(record), f"record{suffix}")(record, stream)
        except VeridicalError:
            return None
        content = stream.getvalue()
        return content.decode() if suffix == ".svg" else content

    return made
