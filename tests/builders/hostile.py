"""Records in which every text that a stranger may choose is an attack, those of new fields too.

``poisoned`` walks through a record and replaces all texts but the few that are our own words. One text becomes
the same attack everywhere, so what refers to each other by name still does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from veridical.checks.audits import Audit
from veridical.comparisons.watching import Drift
from veridical.methods.flips import Flips
from veridical.records import Part, Verdict, View
from veridical.summaries.importances import Importance, RowSample

CANARY = "window.canary=1"
SCRIPTS = (
    f"</script><script>{CANARY}</script>",
    f'"><img src=x onerror={CANARY}>',
    f"'><svg onload={CANARY}>",
    f"</style><style>*{{display:none}}</style><script>{CANARY}</script>",
    f"</title><script>{CANARY}</script>",
    f"]]><script>{CANARY}</script>",
    f"--><!-- <script>{CANARY}</script>",
    f"' onmouseover='{CANARY}' autofocus onfocus='{CANARY}",
    f'<a href="javascript:{CANARY}">click</a>',
    f"javascript:{CANARY}",
    f'<iframe srcdoc="<script>parent.{CANARY}</script>">',
    '<base href="http://127.0.0.1:9/"><link rel=stylesheet href=//127.0.0.1:9/a.css>',
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "url(http://127.0.0.1:9/a.png) @import 'http://127.0.0.1:9/b.css';",
    "&lt;script&gt; &#60;script&#62; \\u003cscript\\u003e",
)
NUISANCES = (
    "\x1b[31mred\x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07",
    "\x1b]0;title\x07\x1b[2J\x9b31m\x90q\x9c",
    "nul\x00bell\x07back\x08\x7fgone",
    "lines\r\nof\u2028many\u2029kinds\x85\x0b\x0c",
    "\u202egnp.exe\u2066 \u200f\u061c right to left",
    "zero\u200bwidth\ufeffjoin\u2060er\u00ad",
    "lone \ud800 and \udfff surrogates",
    "noncharacters \ufffe \uffff \U0010ffff",
    "=cmd()|' /C calc'!A0",
    "[bold]x[/bold] [link=http://127.0.0.1:9/]y[/link] $\\nonsense{1}$ %s {0}",
    "مرحبا بالعالم שלום עולם 名前 👩‍👩‍👧‍👦 é́́́́",
)
ATTACKS = SCRIPTS + NUISANCES
OURS: dict[type, tuple[str, ...]] = {
    Part: ("relation",),
    View: ("kind",),
    Verdict: ("label",),
    Audit: ("fail_on",),
    Flips: ("unit", "kind"),
    Drift: ("kinds",),
    Importance: ("labels",),
    RowSample: ("labels",),
}  # fields whose words we choose
WORDS = {"higher", "lower", "content", "change", "either", "per sd", "veridical", "identity", "log-odds"}


@dataclass
class Poison:
    """An attack a text: the first text gets attack number ``start``, the next the one after it."""

    start: int = 0
    attacks: tuple[str, ...] = ATTACKS
    given: dict[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        if text in WORDS or not text:
            return text
        if text not in self.given:
            n = len(self.given)
            self.given[text] = f"{self.attacks[(self.start + n) % len(self.attacks)]} {n}"
        return self.given[text]

    def instead(self, text: str) -> str:
        """As long as the text, for spans that point into it."""
        attack = self.attacks[(self.start + len(text)) % len(self.attacks)]
        return (attack * (len(text) // len(attack) + 1))[: len(text)]


def poisoned(value: Any, poison: Poison) -> Any:
    """A copy with every foreign text replaced; numbers, arrays and our own words stay."""
    if isinstance(value, str):
        return poison.of(value)
    if isinstance(value, View):
        return View(value.kind, _data(value.data, poison))
    if is_dataclass(value) and not isinstance(value, type):
        kept = OURS.get(type(value), ())
        found = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return type(value)(**{k: v if k in kept else poisoned(v, poison) for k, v in found.items()})
    if isinstance(value, Mapping):
        return {poisoned(k, poison): poisoned(v, poison) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(poisoned(v, poison) for v in value)
    return value


def _data(data: Mapping[str, Any], poison: Poison) -> dict[str, Any]:
    """What a view holds: its keys are ours, its text keeps its length."""
    return {k: poison.instead(v) if k == "text" else _entry(k, v, poison) for k, v in data.items()}


def _entry(key: str, value: Any, poison: Poison) -> Any:
    return value if key == "front" or isinstance(value, np.ndarray) else poisoned(value, poison)
