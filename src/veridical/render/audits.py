"""An audit in words: what all media share, and the plain text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from veridical.debug import CHECKS
from veridical.debug.audit import OUTCOMES, Audit, Result
from veridical.render.terminal import wrap
from veridical.render.verdicts import MARKS, WORDS, short_words
from veridical.render.words import Fact, count, listing, plain

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
    return known.strip().split("\n")[0].replace("``", "").replace("subject.", "the ")


def said_of(r: Result) -> str:
    """The sentence of the verdict, or why there is none."""
    text = plain(r.reason if r.verdict is None else r.verdict.sentence, 1000).strip()
    return text or ("No reason was given." if r.verdict is None else "The check says no more than that.")


def cost_words(a: Audit) -> str:
    return f"the model was asked about {count(a.n_calls, 'input')}, in {time_words(a.seconds)}"


def time_words(seconds: float) -> str:
    """A time as people say it."""
    if not seconds < 1e9:
        return "unknown time"
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def facts_of(a: Audit) -> list[Fact]:
    """How many checks had which outcome, and what they cost."""
    counts = a.counts
    errors = [("Errors", f"{counts['error']:,}", "could not be finished")] if counts["error"] else []
    return [
        ("Passed", f"{counts['passed']:,}", "nothing wrong was found"),
        ("Failed", f"{counts['failed']:,}", "something is wrong, or may be"),
        *errors,
        ("Skipped", f"{counts['skipped']:,}", "need more than was given, or do not fit"),
        ("Model calls", f"{a.n_calls:,}", "inputs it was asked about"),
        ("Time", time_words(a.seconds), "for all checks together"),
    ]


def by_outcome(a: Audit) -> list[tuple[str, list[Result]]]:
    """Results by outcome, what failed first."""
    found = {outcome: [r for r in a.results if r.outcome == outcome] for outcome in OUTCOMES}
    return [(outcome, some) for outcome, some in found.items() if some]


# ---- plain text


def audit_picture(audit: Audit, width: int = 80) -> str:
    """The outcome, then what each check says and what that rests on; what failed comes first."""
    a, lines = audit, [f"{MARKS[overall(audit)]} {headline(audit)}: {audit.sentence}"]
    for outcome, some in by_outcome(a):
        lines.append("")
        for several in alike(some):
            lines += [f"{MARKS[outcome]} {WORDS[outcome].lower():<7}  {_name(several)}"]
            lines += _indented(said_of(several[0]), width)
            found = several[0].verdict
            lines += _indented(short_words(found), width) if found is not None else []
    lines += ["", cost_words(a), *(f"note: {plain(n, 500)}" for n in a.notes)]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def alike(some: Sequence[Result]) -> list[list[Result]]:
    """Results together that say the same of several methods: why a check did not run, or what it found."""
    found: dict[Any, list[Result]] = {}
    for r in some:
        v = r.verdict
        says = r.reason if v is None else (v.sentence, repr(v.observed), repr(v.expected), repr(v.interval))
        found.setdefault((r.check, says), []).append(r)
    return list(found.values())


def _name(several: Sequence[Result]) -> str:
    methods = [plain(r.method, 40) for r in several if r.method]
    return " · ".join(word for word in (plain(several[0].check, 40), listing(methods)) if word)


def _indented(text: str, width: int) -> list[str]:
    return [f"  {line.strip()}" for line in wrap(text, width - 2)]
