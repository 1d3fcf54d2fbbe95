"""An audit in words: what all media share, and the plain text."""

from __future__ import annotations

from itertools import chain

from veridical.debug import CHECKS
from veridical.debug.audit import OUTCOMES, Audit, Result
from veridical.render.terminal import column, wrap
from veridical.render.verdicts import MARKS, WORDS, body
from veridical.render.words import count, plain

HEADS = {
    "failed": "Failed",
    "error": "Could not be finished",
    "passed": "Passed",
    "skipped": "Skipped: they need what was not given, or do not fit",
}


def overall(a: Audit) -> str:
    """The outcome of the whole."""
    return ("passed", "failed", "skipped")[a.exit_code]


def headline(a: Audit) -> str:
    return plain(a.title, 200).strip() or count(len(a.results), "check")


def question_of(check: str) -> str:
    """What a check asks, in one line; nothing for a check of the caller's own."""
    known = getattr(CHECKS.get(check), "__doc__", None) or ""
    return known.strip().split("\n")[0]


def said_of(r: Result) -> str:
    """The sentence of the verdict, or why there is none."""
    text = plain(r.reason if r.verdict is None else r.verdict.sentence, 1000).strip()
    return text or "No reason was given."


def cost_words(a: Audit) -> str:
    return f"the model was asked about {count(a.n_calls, 'input')}, in {time_words(a.seconds)}"


def time_words(seconds: float) -> str:
    """A time as people say it."""
    if not seconds < 1e9:
        return "unknown time"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def by_outcome(a: Audit) -> list[tuple[str, list[Result]]]:
    """Results by outcome, what failed first."""
    found = {outcome: [r for r in a.results if r.outcome == outcome] for outcome in OUTCOMES}
    return [(outcome, some) for outcome, some in found.items() if some]


# ---- plain text


def audit_picture(audit: Audit, width: int = 80) -> str:
    """The outcome, a line a result with its sentence below, and the numbers of what failed."""
    a, wide = audit, max(width, 50)
    lines = [f"{MARKS[overall(a)]} {headline(a)}: {a.sentence}"]
    names = dict(zip(a.results, column([_name(r) for r in a.results], 40), strict=True)) if a.results else {}
    for outcome, some in by_outcome(a):
        lines.append("")
        for r in some:
            lines.append(f"{MARKS[outcome]} {WORDS[outcome].lower():<7}  {names[r]}  {time_words(r.seconds)}")
            lines += [f"  {line}" for line in wrap(said_of(r), wide - 2)]
            if r.verdict is not None and outcome == "failed":
                lines += [line for line in body(r.verdict, wide) if line]
    lines += ["", cost_words(a), *(f"note: {plain(n, 500)}" for n in a.notes)]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def _name(r: Result) -> str:
    return " · ".join(plain(word, 40) for word in (r.check, r.method) if word) or "check"
