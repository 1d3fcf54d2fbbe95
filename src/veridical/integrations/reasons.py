"""Reasons of a model over many rows, assertions on them, and baseline files that they are held against."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from veridical.api import explain_many
from veridical.display.words import plain
from veridical.errors import InputError, check_probability, check_whole, safe_repr, safe_str
from veridical.methods.many import ProgressCallback
from veridical.methods.results import name_of
from veridical.models.adapters import Explainable, model_of
from veridical.models.outputs import n_rows
from veridical.models.torch_modules import Network
from veridical.protocols import Method, Representer
from veridical.records import LABELS, VERSION, Explanations
from veridical.representations.tables.rows import Rows
from veridical.representations.words import Words
from veridical.storage.atomic_files import path_of, replacing
from veridical.storage.codec import parse
from veridical.summaries.importances import Importance

FORMAT = 1  # of baseline files
SHOWN = 8  # columns of a table in a message, besides those that are asserted about
MAX_SHARE = 0.05  # of the importance, that a column may have which is not to count
MAX_SHIFT = 0.08  # of the importance, by which a share may move beyond the noise: see experiments/reasons.py
LONGEST = 40  # characters of a name in a message
UPDATE = "run pytest --veridical-update to write it anew, and look at what changed before you commit it"


@dataclass(frozen=True, slots=True)
class Share:
    """The share of a model's importance that a column has, with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:6.1%} [{self.low:.1%}, {self.high:.1%}]"


ABSENT = Share(0.0, 0.0, 0.0)  # of a word that no text has


@dataclass(frozen=True, eq=False)
class Reasons:
    """What a model relies on over many rows, with assertions that can be chained.

    The fixture ``explained`` of the pytest plugin returns one. Each assertion returns the reasons again, or raises an
    ``AssertionError`` that names the bound that failed and shows the importance of the columns.

    Attributes
    ----------
    explanations : Explanations
        One explanation per row.
    importance : Importance
        The importance of each column, word or region over all rows, with 95 % confidence intervals.
    title : str
        The type of the model.
    kind : str
        The type of the representer.
    columns : tuple of str
        Names that can be asserted about: the columns of a table, or the words or regions that were explained.
    method : str
        The method that explained the rows.
    target : str
        What was explained; empty where it was the predicted class of each row.
    folder : Path
        Where relative paths of baseline files begin.
    claim : callable
        ``claim(path)`` says whether a baseline file is to be written rather than read.
    """

    explanations: Explanations
    importance: Importance
    title: str
    kind: str
    columns: tuple[str, ...]
    method: str
    target: str = ""
    folder: Path = Path()
    claim: Callable[[Path], bool] = lambda path: False

    @property
    def shares(self) -> dict[str, Share]:
        """The share of the importance that each column has, the largest first; untested columns are left out."""
        total = float(self.importance.importance.sum()) or 1.0
        ends = np.c_[self.importance.importance, self.importance.intervals] / total
        return {name: Share(*map(float, own)) for name, own in zip(self.importance.columns, ends, strict=True)}

    def relies_on(self, *names: str, top: int = 5) -> Reasons:
        """Assert that columns are among the most important ones.

        A column fails if its importance cannot be told from zero, or if at least ``top`` others are more important
        beyond the noise: their 95 % confidence intervals lie above its own.

        Parameters
        ----------
        *names : str
            Columns, words or regions.
        top : int, default 5
            Among how many columns each must be.

        Returns
        -------
        Reasons
            These, for the next assertion.

        Raises
        ------
        AssertionError
            If the model does not rely on one of them.
        InputError
            If there is no such column.
        """
        __tracebackhide__ = True
        check_whole("top", top)
        shares, said = self.shares, []
        for name in self._known(names):
            own = shares[name]
            if not own.low > 0:
                said.append(f"{_quoted(name)} cannot be told from no effect: the lower bound of its share is 0 %")
            elif (above := sum(each.low > own.high for each in shares.values())) >= top:
                said.append(
                    f"{_quoted(name)} is not among the top {top}: {above} columns have a lower bound above its upper "
                    f"bound, {own.high:.1%}"
                )
        return self._judged("the model does not rely on what it should", said, names)

    def not_on(self, *names: str, share: float = MAX_SHARE) -> Reasons:
        """Assert that columns hardly count, such as ids or what must not decide.

        A column fails if its share of the importance of all columns exceeds ``share`` beyond the noise: the lower
        bound of its 95 % confidence interval lies above.

        Parameters
        ----------
        *names : str
            Columns, words or regions.
        share : float, default 0.05
            The share of the importance that each may have.

        Returns
        -------
        Reasons
            These, for the next assertion.

        Raises
        ------
        AssertionError
            If the model relies on one of them.
        InputError
            If there is no such column.
        """
        __tracebackhide__ = True
        check_probability("share", share)
        shares = self.shares
        said = [
            f"{_quoted(name)} has more than {share:.1%} of the importance: the lower bound of its share is "
            f"{shares[name].low:.1%}"
            for name in self._known(names)
            if shares[name].low > share
        ]
        return self._judged("the model relies on what it should not", said, names)

    def reliable(self, *, at_least: float) -> Reasons:
        """Assert that enough rows have a reliable explanation.

        Parameters
        ----------
        at_least : float
            The share of rows whose verdict is "reliable"; a row that could not be explained is not.

        Returns
        -------
        Reasons
            These, for the next assertion.

        Raises
        ------
        AssertionError
            If fewer are.
        """
        __tracebackhide__ = True
        check_probability("at_least", at_least)
        labels = dict(self.importance.labels)
        n = self.importance.n_rows + self.importance.n_failed
        found = labels.get(LABELS[0], 0)
        counts = ", ".join(f"{count} {label}" for label, count in labels.items())
        counts += f", {self.importance.n_failed} not explained" if self.importance.n_failed else ""
        wanted = (
            f"{found} of {n} explanations are reliable, {found / n:.0%}, and {at_least:.0%} were wanted ({counts})"
        )
        return self._judged("the explanations are not reliable enough", [wanted] * (found < at_least * n), ())

    def like_before(self, path: str | Path, *, shift: float = MAX_SHIFT) -> Reasons:
        """Assert that the reasons are those of a baseline file, which ``pytest --veridical-update`` writes.

        A column fails if its share of the importance rose or fell by more than ``shift`` beyond the noise, which is the
        95 % confidence intervals of both. A model that is trained again with another seed passes, as a rule.

        Parameters
        ----------
        path : str or Path
            The JSON file, from the folder of the test.
        shift : float, default 0.08
            How far the share of a column may move beyond the noise.

        Returns
        -------
        Reasons
            These, for the next assertion.

        Raises
        ------
        AssertionError
            If the reasons changed, or there is no such file.
        InputError
            If the file is damaged, or of another model, other columns, or a newer version.
        """
        __tracebackhide__ = True
        check_probability("shift", shift)
        file = self.folder / path_of(path, "like_before")
        if self.claim(file):
            self.write(file)
            return self
        if not file.is_file():
            raise AssertionError(f"there is no baseline {str(path)!r} yet: {UPDATE}")
        before, now = self._read(file), self.shares
        moved = {
            name: measure_shift(before.get(name, ABSENT), now.get(name, ABSENT)) for name in {**before, **now}
        }
        changed = sorted((name for name in moved if moved[name] > shift), key=lambda name: -moved[name])
        if not changed:
            return self
        lines = [f"{'':2}{'':{LONGEST}}  before, share of importance    now"]
        steady = [name for name in now if name not in changed][: max(SHOWN - len(changed), 0)]
        for name in (*changed, *steady):
            mark = "→" if name in changed else " "
            pair = f"{before.get(name, ABSENT)!s:28}  {now.get(name, ABSENT)}"
            lines.append(f"{mark} {plain(name, LONGEST):{LONGEST}}  {pair}")
        said = [
            f"{_quoted(name)}: {before.get(name, ABSENT).value:.1%} before, {now.get(name, ABSENT).value:.1%} now"
            for name in changed
        ]
        title = f"the reasons changed since {str(path)!r} beyond the noise"
        raise AssertionError(_message(title, said, [*lines, f"If they should: {UPDATE}."]))

    def write(self, path: str | Path) -> None:
        """Write the reasons to a baseline file, which appears whole or not at all.

        Parameters
        ----------
        path : str or Path
            The JSON file; keys are sorted, so that a change shows where it is.
        """
        file = path_of(path, "write")
        if not file.parent.is_dir():
            raise InputError(f"cannot write {file.name!r}: there is no folder {str(file.parent)!r}; create it")
        facts = {**self._facts(), "format": FORMAT, "veridical": VERSION, "rows": self.importance.n_rows}
        told = {key: json.dumps(value) for key, value in facts.items()}
        shares = {name: [round(min(x, 1e9), 4) for x in astuple(own)] for name, own in self.shares.items()}
        inner = ",\n".join(f"  {json.dumps(name)}: {json.dumps(shares[name])}" for name in sorted(shares))
        told["shares"] = f"{{\n{inner}\n }}"  # a line per column
        lines = ",\n".join(f' "{key}": {told[key]}' for key in sorted(told))
        with replacing(file) as stream:
            stream.write(f"{{\n{lines}\n}}\n".encode())

    def _facts(self) -> dict[str, str]:
        """What must be the same before and now."""
        return {"model": self.title, "representer": self.kind, "method": self.method, "target": self.target}

    def _read(self, file: Path) -> dict[str, Share]:
        """The shares of a baseline file of such a model and of such columns."""
        record = read_baseline(file)
        for what, now in self._facts().items():
            if record[what] != now:
                before = record[what] or "the predicted class"
                raise InputError(
                    f"the baseline {file.name!r} is of another {what}: {safe_repr(before)}, and this is "
                    f"{safe_repr(now or 'the predicted class')}; give the test its own file, or {UPDATE}"
                )
        shares: dict[str, Share] = record["shares"]
        if self.kind == Rows.__name__ and (other := set(shares) ^ set(self.shares)):
            told = [f"{_quoted(name)} {'is new' if name in self.shares else 'is gone'}" for name in sorted(other)]
            more = f" and {len(told) - 5} more" if len(told) > 5 else ""
            raise InputError(
                f"the baseline {file.name!r} is of other columns: {', '.join(told[:5])}{more}; {UPDATE}"
            )
        return shares

    def _known(self, names: Sequence[str]) -> Sequence[str]:
        """The names, all of which were explained."""
        if not names:
            raise InputError("name at least one column, word or region")
        shares = self.shares
        for name in names:
            if name in shares:
                continue
            if name in self.columns:
                raise InputError(f"{_quoted(name)} was not tested in any row: give rows in which it varies")
            close = get_close_matches(str(name), self.columns, n=3)
            there = close or [*self.columns[:SHOWN], *(["…"] if len(self.columns) > SHOWN else [])]
            hint = "did you mean " if close else "there are "
            of = "" if self.kind == Rows.__name__ else f" in the {self.importance.n_rows} instances explained"
            raise InputError(
                f"nothing is called {safe_repr(name)}{of}: {hint}"
                f"{' or '.join(map(_quoted, close)) + '?' if close else ', '.join(plain(each, LONGEST) for each in there)}"
            )
        return names

    def _judged(self, title: str, said: Sequence[str], names: Sequence[str]) -> Reasons:
        """The reasons, where nothing is said against them."""
        __tracebackhide__ = True
        if not said:
            return self
        shares = self.shares
        shown = [*shares][:SHOWN] + [name for name in names if name not in [*shares][:SHOWN]]
        lines = [f"{'':2}{'':{LONGEST}}  share of importance, 95 % confidence interval"]
        lines += [
            f"{'→' if name in names else ' '} {plain(name, LONGEST):{LONGEST}}  {shares[name]}" for name in shown
        ]
        raise AssertionError(_message(title, said, lines))


def explain_reasons(
    model: Explainable,
    X: Any,
    *,
    background: Any = None,
    representer: Representer | None = None,
    target: Any = None,
    method: Method | str | None = None,
    rng: int | np.random.Generator = 0,
) -> Reasons:
    """Explain many rows or texts, for assertions about what the model relies on.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    X : DataFrame, array or list of str
        The rows or texts to explain.
    background : DataFrame or array, optional
        Rows that say what is typical, such as those the model was trained on; by default ``X`` itself.
    representer : representer, optional
        What the features are, such as ``vd.Superpixels()``; by default ``vd.Rows(background)`` or ``vd.Words()``.
    target : class, Output or callable, optional
        One output for all rows; by default the predicted class of each.
    method : method or str, optional
        Settings such as ``vd.KernelShap()``, or a name; by default ``vd.Lime()``.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same reasons, bit by bit.

    Returns
    -------
    Reasons
        With the assertions ``relies_on``, ``not_on``, ``reliable`` and ``like_before``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> reasons = explain_reasons(lambda X: 3 * X[:, 0] + X[:, 1], X)
    >>> reasons.relies_on("x0", top=1).not_on("x2").columns
    ('x0', 'x1', 'x2')
    """
    own = choose_representer(X, background, representer)
    silent: ProgressCallback = lambda work, total: work  # noqa: E731
    texts = [*X] if isinstance(own, Words) else X
    many = explain_many(model, own, texts, target=target, method=method, rng=rng, progress=silent)
    importance = many.importance()
    known = own.names if isinstance(own, Rows) else importance.columns
    made_by = many[0].recipe["method"]["name"] if len(many) else ""
    return Reasons(
        many,
        importance,
        title_of_model(model),
        type(own).__name__,
        tuple(map(str, known)),
        str(made_by),
        "" if target is None else safe_str(target if not callable(target) else name_of(target)),
    )


def choose_representer(X: Any, background: Any, representer: Representer | None) -> Representer:
    """The representer for rows or texts, where none is given."""
    if isinstance(X, str):
        raise InputError("X is one text: give a list of texts")
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        raise InputError(f"X wants rows of a table or a list of texts, not {safe_repr(X)}")
    if not n_rows(X):
        raise InputError("X is empty: give at least one row or text, better 50 or more")
    if representer is not None:
        if background is not None:
            raise InputError("give a background or a representer, which has one already: not both")
        return representer
    if getattr(X, "ndim", 1) == 1 and all(isinstance(each, str) for each in X):
        if background is not None:
            raise InputError("texts have no background: leave it out, or give representer=")
        return Words()
    return Rows(X if background is None else background)


def title_of_model(model: Explainable) -> str:
    """The type of a model, with the steps of a pipeline; the name of a function."""
    predict = model_of(model).predict
    owner = predict.module if isinstance(predict, Network) else getattr(predict, "__self__", model)
    if isinstance(owner, Pipeline):
        return f"Pipeline({', '.join(type(step).__name__ for _, step in owner.steps)})"
    return name_of(owner) if callable(owner) and hasattr(owner, "__name__") else type(owner).__name__


def read_baseline(file: Path) -> dict[str, Any]:
    """What a baseline file holds, checked."""
    damaged = f"{file.name!r} is no baseline of reasons, or it is damaged"
    try:
        record = parse(file.read_text(encoding="utf-8"))
        if not isinstance(record, Mapping):
            raise ValueError("it holds no mapping")
        written, own = record["format"], str(record["veridical"])
        if isinstance(written, int) and (written > FORMAT or _release(own) > _release(VERSION)):
            raise InputError(
                f"the baseline {file.name!r} was written by veridical {plain(own)}, which is newer than {VERSION}: "
                f"install that, or {UPDATE}"
            )
        if written != FORMAT:
            raise ValueError(f"its format is {safe_repr(written)}, not {FORMAT}")
        facts = {what: record[what] for what in ("model", "representer", "method", "target")}
        if not all(isinstance(each, str) for each in facts.values()):
            raise ValueError("model, representer, method and target must be texts")
        shares = {name: Share(*map(_number, own)) for name, own in record["shares"].items()}
    except InputError:
        raise
    except KeyError as cause:
        raise InputError(f"{damaged}: {cause} is missing; {UPDATE}") from cause
    except (AttributeError, TypeError, ValueError, OSError, RecursionError) as cause:
        raise InputError(f"{damaged} ({plain(cause)}); {UPDATE}") from cause
    return {**facts, "shares": shares}


def measure_shift(before: Share, now: Share) -> float:
    """How far a share moved beyond the noise of both; below zero where it moved by less."""
    less, more = sorted((before, now), key=lambda own: own.value)
    return more.value - less.value - math.hypot(less.high - less.value, more.value - more.low)


def _message(title: str, said: Sequence[str], table: Sequence[str]) -> str:
    return "\n".join([f"{title}:", *(f"  {each}" for each in said), "", *table])


def _quoted(name: str) -> str:
    return f"“{plain(name, LONGEST)}”"


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
        raise ValueError(f"{safe_repr(value)} is no share")
    return float(value)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in version.split(".")[:3] if each.isdigit())
