"""What a report on known causes comes to: one plain sentence a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veridical.debug.veracity.orders import NORM, RANDOM
from veridical.debug.veracity.questions import named
from veridical.evaluate.records import Report, listed

FEWEST = 5  # decisions or explanations of a kind, below which nothing is said of them
USEFUL = 0.8  # AUROC from which on a signal tells right from wrong
CLEAN = 0.9  # rank correlation from which on an explanation ignores the change


def findings(report: Report, causes: Sequence[str]) -> Report:
    """The report with one sentence a method."""
    return replace(report, findings=tuple(_sentence(report, method, causes) for method in report.methods))


def _sentence(report: Report, method: str, causes: Sequence[str]) -> str:
    said = [_found(report, method, causes), _flipped(report, method, causes), _told(report, method, causes)]
    said.append(_ignores(report, method, causes))
    known = [each for each in said if each]
    return f"{method}: {'; '.join(known)}." if known else f"{method}: {_nothing(report, method, causes)}."


def _nothing(report: Report, method: str, causes: Sequence[str]) -> str:
    """Why nothing is said of a method."""
    scores = [report.score(named("mean flip", cause), method) for cause in causes]
    if not any(each.n for each in scores):
        return f"nothing could be measured: {scores[0].reason}"
    most = max(each.n for each in scores)
    return f"too few causes were found to say more, at most {most} of a kind; {FEWEST} are needed"


def _mean(report: Report, test: str, cause: str, row: str) -> float:
    """The mean of a test, nan where the report has none."""
    name = named(test, cause)
    found = [s.mean for s in report.scores if s.metric == name and s.method == row]
    return float(found[0]) if found else float("nan")


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _found(report: Report, method: str, causes: Sequence[str]) -> str:
    """How often the heaviest part is the guilty one, by kind of cause."""
    hits = {cause: report.score(named("hit@1", cause), method) for cause in causes}
    known = {cause: hit.mean for cause, hit in hits.items() if hit.n >= FEWEST}
    if not known:
        return ""
    chance = float(np.nanmean([_mean(report, "hit@1", cause, RANDOM) for cause in known]))
    each = listed([f"{_share(hit)} of {cause}" for cause, hit in known.items()])
    return f"the heaviest part is guilty in {each} (random parts: {_share(chance)})"


def _flipped(report: Report, method: str, causes: Sequence[str]) -> str:
    """How much the heaviest parts flip beside the largest changes, where a change may be anywhere."""
    anywhere = [c for c in causes if any(m.name == named("overlap@3", c) for m in report.metrics)]
    enough = [c for c in anywhere if np.nansum(report.score(named("flip@3", c), NORM).values) >= FEWEST]
    ratios = {c: _mean(report, "ratio@3", c, method) for c in enough}
    others = [c for c in anywhere if c not in enough and report.score(named("mean flip", c), method).n >= FEWEST]
    means = {c: (_mean(report, "mean flip", c, row) for row in (method, NORM)) for c in others}
    three = [f"{_share(ratio)} for {c}" for c, ratio in ratios.items() if np.isfinite(ratio)]
    every = [
        f"{_share(own)} for {c} (the largest changes: {_share(norm)})"
        for c, (own, norm) in means.items()
        if np.isfinite(own)
    ]
    said = []
    if three:
        said.append(
            f"of the decisions that the three largest changes flip, its heaviest three flip {listed(three)}"
        )
    if every:
        said.append(f"over all numbers of parts its heaviest flip {listed(every)}")
    return "; ".join(said)


def _told(report: Report, method: str, causes: Sequence[str]) -> str:
    """Whether fidelity, and believability, tell right explanations from wrong ones."""
    said = []
    for signal in ("fidelity", "believability"):
        areas = [_mean(report, f"{signal} AUROC", c, method) for c in causes if _both(report, c, method)]
        known = [each for each in areas if np.isfinite(each)]
        if known:
            mean = float(np.mean(known))
            verb = "tells" if mean >= USEFUL else "does not tell"
            said.append(f"its {signal} {verb} right from wrong (AUROC {mean:.2f})")
    return "; ".join(said)


def _both(report: Report, cause: str, method: str) -> bool:
    """Whether enough explanations are right, and enough wrong, to tell them apart."""
    hits = report.score(named("hit@1", cause), method).values
    return bool(min((hits == 1).sum(), (hits == 0).sum()) >= FEWEST)


def _ignores(report: Report, method: str, causes: Sequence[str]) -> str:
    scores = [report.score(named("clean control", cause), method) for cause in causes]
    known = [each.mean for each in scores if each.n >= FEWEST]
    if known and float(np.mean(known)) >= CLEAN:
        return f"it says nearly the same without the change (rank correlation {float(np.mean(known)):.2f})"
    return ""
