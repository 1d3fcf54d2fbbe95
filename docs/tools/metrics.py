"""The table of metrics, as they are registered."""

from __future__ import annotations

from veridical.evaluate import METRICS

MARK = "<!-- metrics -->"


def table() -> str:
    """A line a metric: what it measures, and which direction is better."""
    head = "| metric | family | better | what it measures |\n| --- | --- | --- | --- |\n"
    return head + "".join(
        f"| `{each.name}` | {each.family} | {each.better} | {each.sentence} |\n" for each in METRICS.values()
    )


def filled(markdown: str) -> str:
    """A page with the table in the place of its mark."""
    return markdown.replace(MARK, table())
