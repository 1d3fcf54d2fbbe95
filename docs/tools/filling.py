"""Tables that pages have between marks, made of what is registered, written down or measured elsewhere."""

from __future__ import annotations

import re

import claims
import formats
import peers
import plan
from veridical.metrics import METRICS


def registered(family: str) -> str:
    """A line for each that is registered: of metrics, what they measure and which direction is better."""
    head = "| metric | family | better | what it measures |\n| --- | --- | --- | --- |\n"
    every = {"metrics": METRICS}[family].values()
    return head + "".join(
        f"| `{each.name}` | {each.family} | {each.better} | {each.sentence} |\n" for each in every
    )


MADE = {
    "claims": claims.table,
    "peer": peers.table,
    "plan": plan.table,
    "registered": registered,
    "schema": formats.table,
}
MARKS = re.compile(rf"<!-- ({'|'.join(MADE)}) (\w+) -->\n.*?<!-- /\1 -->", re.DOTALL)


def filled(text: str) -> str:
    """A page with its tables made anew."""

    def anew(found: re.Match[str]) -> str:
        table = MADE[found[1]](found[2]).strip()
        return f"<!-- {found[1]} {found[2]} -->\n\n{table}\n\n<!-- /{found[1]} -->"

    return MARKS.sub(anew, text)
