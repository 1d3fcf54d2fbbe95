"""What shap gives, read as explanations that can be compared, picked, watched and saved."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from veridical.errors import InputError, require, safe_repr
from veridical.models.outputs import VALUE
from veridical.records import Explanation, Explanations, Floats, Part
from veridical.representations.tables.schema import list_some
from veridical.storage.exchange import attribution, read_attributions

MAX_OUTPUTS_NAMED = 5


def from_shap(
    explanation: Any,
    *,
    output: int | str | None = None,
    prediction: Any = None,
    rows: Any = None,
    target: Any = None,
    method: str = "shap",
    intervals: Any = None,
) -> Explanation | Explanations:
    """Read a ``shap.Explanation`` as an explanation, or as many.

    SHAP values become weights, the base value the intercept, data the rows' own values, and lower and upper bounds
    the intervals. What shap does not measure is not made up: the label of the verdict is "unchecked". ``to_shap``
    gives back what was read.

    Parameters
    ----------
    explanation : shap.Explanation
        Of one row (d,), of many (n, d), of several outputs (d, k) or (n, d, k), or of texts, whose rows may have
        different lengths.
    output : int or str, optional
        Which of several outputs, by its number or its name.
    prediction : number or array (n,), optional
        What the model says; whether base value and SHAP values add up to it is then checked, and said in a note.
    rows : object or sequence (n,), optional
        Names of the rows, such as the index of a DataFrame, by which they are matched with other explanations.
    target : class, optional
        What is explained; by default the name of the output.
    method : str, default "shap"
        The name of the explainer.
    intervals : array (n, d, 2) or 0, optional
        95 % confidence intervals; 0 says that the values are exact, as those of ``shap.TreeExplainer`` are.

    Returns
    -------
    Explanation or Explanations
        One explanation of one row, as many as there are rows otherwise.

    Raises
    ------
    InputError
        If it is no ``shap.Explanation``, has several outputs and none was chosen, or has interaction values.

    Examples
    --------
    >>> import numpy as np, shap
    >>> import veridical as vd
    >>> found = shap.Explanation(np.array([0.3, -0.1]), base_values=0.5, data=np.array([41, 1200]),
    ...                          feature_names=["age", "debt"])
    >>> vd.compat.from_shap(found).top(1)
    [('age = 41', 0.3)]
    """
    shap = require("shap", extra="shap")
    if not isinstance(explanation, shap.Explanation):
        raise InputError(
            f"from_shap reads a shap.Explanation, as explainer(X) gives it, not {type(explanation).__name__}; for "
            "arrays of SHAP values: vd.attributions(names, values, intercept=explainer.expected_value)"
        )
    values, base = explanation.values, explanation.base_values
    if np.asarray(values, dtype=object).ndim == 1 and isinstance(values[0], (np.ndarray, list, tuple)):
        return _read_texts(explanation, prediction, rows, target, method)
    values = np.asarray(values, dtype=np.float64)
    data, names = _array(explanation.data), explanation.feature_names
    single = values.ndim == 1 or (values.ndim == 2 and _of_one_row(values, data, names))
    if values.ndim > 3 - single:
        raise InputError(
            f"SHAP values of shape {values.shape} are of pictures or the like; from_shap reads tables and texts: "
            "(d,), (n, d) or, of several outputs, (n, d, k)"
        )
    bounds = [explanation.lower_bounds, explanation.upper_bounds]
    told = explanation.output_names
    if values.ndim == 3 - single:
        j, told = _choose(output, told, values.shape)
        values, base = values[..., j], _take(base, j)
        bounds = [None if each is None else np.asarray(each)[..., j] for each in bounds]
    elif output is not None:
        raise InputError(f"output says which of several outputs, and these SHAP values {values.shape} are of one")
    if intervals is None and all(each is not None for each in bounds):
        intervals = np.stack([np.asarray(each, dtype=np.float64) for each in bounds], axis=-1)
    n, d = (1, *values.shape) if single else values.shape
    if single and data is not None and names is not None and data.tolist() == list(names):
        return _text(data, values, base, prediction, rows, _label(target, told), method)
    names = [f"Feature {j}" for j in range(d)] if names is None else list(np.atleast_1d(names))
    if data is not None and data.shape != values.shape:
        raise InputError(f"data of shape {data.shape} are not those of SHAP values of shape {values.shape}")
    shown = _array(explanation.display_data)
    return read_attributions(
        names,
        values,
        _per_row(base, n, single),
        prediction,
        None if data is None else data.tolist(),
        rows,
        _label(target, told),
        method,
        intervals,
        shown=None
        if shown is None or data is None or shown.shape != data.shape
        else np.atleast_2d(shown).tolist(),
    )


def _array(given: Any) -> Any:
    """Values as an array, whatever their types; None where there are none."""
    if given is None:
        return None
    found = np.asarray(given)
    return found if found.dtype.kind in "biuf" else np.asarray(given, dtype=object)


def _of_one_row(values: Floats, data: Any, names: Any) -> bool:
    """Whether values (a, b) are those of one row and several outputs, and not of several rows."""
    if data is not None:
        return bool(data.ndim == 1)
    return names is not None and len(names) == values.shape[0] != values.shape[1]


def _choose(output: int | str | None, told: Any, shape: tuple[int, ...]) -> tuple[int, Any]:
    """The number of the output that was chosen, and its name."""
    k = shape[-1]
    names = list(told) if not isinstance(told, str) and told is not None and len(told) == k else []
    if len(shape) == 3 and not names and shape[1] == k:
        raise InputError(
            f"these are interaction values {shape}: add up the last axis for SHAP values, explanation.values.sum(-1)"
        )
    if isinstance(output, str) and names.count(output) == 1:
        return names.index(output), output
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool) and 0 <= output < k:
        return int(output), names[output] if names else f"output {output}"
    named = f": {list_some(names, MAX_OUTPUTS_NAMED)}" if names else ""
    came = "none was chosen" if output is None else f"{safe_repr(output)} is none of them"
    raise InputError(f"there are {k} outputs{named}, and {came}: from_shap(explanation, output=0), or its name")


def _take(base: Any, j: int) -> Any:
    """The base values of one output, of those of all (k,) or (n, k)."""
    found = None if base is None else np.asarray(base, dtype=np.float64)
    return found if found is None or found.ndim == 0 else found[..., j]


def _per_row(base: Any, n: int, single: bool) -> Any:
    """One base value, or one per row."""
    if base is None:
        return None
    found = np.asarray(base, dtype=np.float64)
    if found.size == 1:
        return float(found.reshape(()))
    if single or found.size != n:
        raise InputError(
            f"base values are one for all rows or one per row: there are {n} rows, and {found.shape} came"
        )
    return found.reshape(n)


def _label(target: Any, told: Any) -> Any:
    """What is explained, if shap knows it."""
    if target is not None:
        return target
    names = [told] if isinstance(told, str) else [] if told is None else list(told)
    return str(names[0]) if len(names) == 1 and names[0] is not None else VALUE


def _read_texts(e: Any, prediction: Any, rows: Any, target: Any, method: str) -> Explanations:
    """Texts, each with its own tokens."""
    lines = [np.asarray(line, dtype=np.float64) for line in e.values]
    if any(line.ndim != 1 for line in lines):
        raise InputError("these texts have several outputs: take one of them, explanation[..., 0]")
    n = len(lines)
    tokens = e.data if e.data is not None else e.feature_names
    if tokens is None or [len(each) for each in tokens] != [len(line) for line in lines]:
        raise InputError("texts want their tokens in data, as many as SHAP values")
    columns = [
        [None] * n if given is None else [given] * n if np.ndim(given) == 0 else list(given)
        for given in (_per_row(e.base_values, n, False), prediction, rows)
    ]
    if any(len(column) != n for column in columns):
        raise InputError(f"prediction and rows are one per text: there are {n} texts")
    label = _label(target, e.output_names)
    return Explanations(
        tuple(
            _text(own, line, base, answer, row, label, method)
            for own, line, base, answer, row in zip(tokens, lines, *columns, strict=True)
        )
    )


def _text(
    tokens: Any, values: Floats, base: Any, prediction: Any, row: Any, target: Any, method: str
) -> Explanation:
    """One text by its tokens; one that comes again has its number."""
    seen, parts = Counter[str](), list[Part]()
    for token in map(str, tokens):
        seen[token] += 1
        parts.append(Part(token if seen[token] == 1 else f"{token} ({seen[token]})", token, "word", token))
    unknown = np.broadcast_to(np.array([-np.inf, np.inf]), (len(parts), 2)).copy()
    base, prediction = (math.nan if each is None else float(np.asarray(each)) for each in (base, prediction))
    return attribution(
        tuple(parts), values, unknown, base=base, prediction=prediction, row=row, target=target, method=method
    )
