"""Several records on one page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from veridical.errors import InputError
from veridical.records import Record, Seen

Section: TypeAlias = tuple[Any, ...]  # heading, record, and text between the two


@dataclass(frozen=True, slots=True, eq=False)
class Page(Seen):
    """Records of any kind under headings: a report that stands alone, light and dark, without scripts.

    A section is (heading, record), or (heading, record, text) with a paragraph above the record. Headings are
    listed, with links, at the top of a page that has three or more.

    >>> import veridical as vd
    >>> vd.Page("Would you ship it?", [("Why this patient?", why), ("All", many)])  # doctest: +SKIP
    """

    title: str
    sections: Sequence[Section]
    lead: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.sections, (str, Record)) or not isinstance(self.sections, Iterable):
            raise InputError(f"sections must be pairs (heading, record), not {type(self.sections).__name__}")
        object.__setattr__(self, "title", str(self.title))
        object.__setattr__(self, "lead", str(self.lead))
        object.__setattr__(self, "sections", tuple(map(_section, self.sections)))

    def __repr__(self) -> str:
        from veridical.render.terminal import page

        return page(self)


def _section(given: Any) -> Section:
    """A section as it was given, with its text."""
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise InputError(
            f"a section is (heading, record) or (heading, record, text), not {type(given).__name__}; "
            "for one record: [('', record)]"
        )
    heading, record = given[:2]
    if not isinstance(record, Seen) or isinstance(record, Page):
        raise InputError(
            f"section {str(heading)[:60]!r} holds {type(record).__name__}; "
            "it must be a record that can be shown, such as what vd.explain or vd.audit gives"
        )
    return str(heading), record, str(given[2]) if len(given) == 3 else ""
