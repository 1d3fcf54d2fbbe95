"""Are the inputs that a method queries like real ones, and does the model answer them by the same rule?

A method that changes inputs learns what the model says of what it made. Where that is nothing like the data, the
model was never trained for it, and its answers there may be anything.

A model can also hide what it does from every method that changes inputs: it tells changed inputs from real ones,
and answers those by another rule (Slack et al. 2020). What its answers to changed inputs teach then fails on real
ones. Some of that is so for honest models, too, so some of those are trained to answer as this one does on real
instances, and what holds for them is the scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from veridical.checks.similarity import ANOTHER, CONSTANT, NOISE, SHUFFLED
from veridical.checks.subjects import Rng, Subject, explain_rows
from veridical.errors import NotApplicable, public_name
from veridical.methods.results import is_flat
from veridical.metrics.significance import auroc, interval
from veridical.models.outputs import Model, join_batches, n_rows, rows_at
from veridical.models.targets import resolve
from veridical.models.validation import seed_of
from veridical.protocols import MapMethod, Method, Seed
from veridical.records import UNCLEAR, Bools, Floats, Ints, Measured, Output, Record, Verdict
from veridical.representations.regions import is_tensor
from veridical.seeds import child_of, generator

MAX_QUERIES = 64  # inputs that a method is let ask about an instance
N_KEPT_QUERIES = 20  # of them that are kept, at random
MAX_WORDS = 300  # the most frequent words or columns that are looked at
MAX_DIRECTIONS = 40  # principal ones that pictures, sounds and series are looked at along
WORD_PATTERN = r"(?u)\b\w+\b"


class EnoughQueries(BaseException):
    """Enough was recorded: the method is left where it is."""


@dataclass(frozen=True, eq=False)
class QueryRecorder:
    """A predict function that keeps what it is asked, and leaves once that is enough."""

    model: Model
    batches: list[Any] = field(default_factory=list)

    def __call__(self, inputs: Any) -> Any:
        # A copy, before the model sees it: the memory may be used again, and models may write to it
        if is_tensor(inputs):
            batch = inputs.detach().clone()
        else:
            batch = list(inputs) if isinstance(inputs, (list, tuple)) else inputs.copy()
        self.batches.append(batch)
        if sum(n_rows(each) for each in self.batches) > MAX_QUERIES:
            raise EnoughQueries
        return self.model(inputs)


@dataclass(frozen=True, slots=True, eq=False)
class Queries(Record):
    """Inputs that a method asked about, and the instance that each was for."""

    inputs: Any
    owner: Ints  # (n,) positions among the instances


def record_queries(
    method: Method, subject: Subject, rows: Ints, seed: Seed, picked: int = N_KEPT_QUERIES
) -> Queries:
    """Some of the inputs that a method asks about these instances; the instances themselves may be among them."""
    if isinstance(method, MapMethod):
        raise NotApplicable(
            f"{public_name(type(method))} reads gradients and queries no changed inputs: this check is for "
            "methods that do, such as vd.Lime() or vd.KernelShap()"
        )
    instances, model = subject.representer.each(rows_at(subject.X, rows)), subject.checked_model
    batches, owner = [], []
    for number, representation in enumerate(instances.batch(0, len(rows))):
        recorder = QueryRecorder(model)
        try:
            recorded = model.with_predict(recorder)
            method(recorded, representation, (subject.target,), child_of(seed, number))
        except EnoughQueries:
            pass
        if not recorder.batches:
            raise NotApplicable("the method did not query the model, so there is nothing to check")
        batch = join_batches(recorder.batches)
        kept = generator(seed, number).permutation(n_rows(batch))[:picked]
        batches.append(rows_at(batch, np.sort(kept)))
        owner += [number] * len(kept)
    return Queries(join_batches(batches), np.array(owner, dtype=np.int64))


def embed_batches(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Two batches of the same kind as points of one space, (n, p) each.

    Columns of a table as numbers, categories as codes; words of texts, 1 where a text has them; pictures, sounds
    and series along the principal directions of both batches together.
    """
    n, both = n_rows(first), join_batches([_unify_batch(first), _unify_batch(second)])
    if isinstance(both, pd.DataFrame):
        found = np.column_stack([_encode_column(both.iloc[:, j]) for j in range(both.shape[1])])
    elif isinstance(both, list):
        words = CountVectorizer(binary=True, max_features=MAX_WORDS, token_pattern=WORD_PATTERN)
        found = np.asarray(words.fit_transform(both).toarray(), dtype=np.float64)
    elif hasattr(both, "tocsc"):
        often = np.argsort(-np.diff(both.tocsc().indptr), kind="stable")[:MAX_WORDS]
        found = np.asarray(both[:, np.sort(often)].toarray(), dtype=np.float64)
    else:
        flat = both.reshape(len(both), -1).astype(np.float64)
        found = np.column_stack([_fill_missing(column) for column in flat.T])
        if both.ndim != 2 or found.shape[1] > MAX_WORDS:
            directions = min(MAX_DIRECTIONS, *found.shape)
            found = np.asarray(PCA(directions, svd_solver="randomized", random_state=0).fit_transform(found))
    return found[:n], found[n:]


def _unify_batch(batch: Any) -> Any:
    """A batch as a DataFrame, a CSR matrix, an array, or a list of texts."""
    if hasattr(batch, "tocsr"):
        return batch.tocsr()
    if is_tensor(batch):
        return batch.detach().cpu().numpy()
    if isinstance(batch, pd.DataFrame) or (isinstance(batch, np.ndarray) and batch.dtype.kind in "biuf"):
        return batch
    if isinstance(batch, np.ndarray) and batch.ndim == 2:
        return pd.DataFrame(batch).infer_objects()
    items = list(batch)
    if all(isinstance(each, str) for each in items):
        return items
    shapes = {np.shape(each) for each in items}
    if len(shapes) > 1 or shapes == {()}:
        raise NotApplicable(
            "this check compares instances place by place, and these differ in shape or are records of several "
            "fields: give tables, texts, or pictures, sounds and series of one size"
        )
    return np.stack([np.asarray(each) for each in items])


def _encode_column(column: Any) -> Floats:
    """Numbers as they are; anything else as codes, in order of the values."""
    if pd.api.types.is_numeric_dtype(column) and not isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    elif pd.api.types.is_datetime64_any_dtype(column):
        values = column.astype("int64").to_numpy(dtype=np.float64)
    else:
        values = pd.Categorical(column.astype(str)).codes.astype(np.float64)
    return _fill_missing(values)


def _fill_missing(values: Floats) -> Floats:
    """Numbers with missing ones below all others, by as much as those differ."""
    known = np.isfinite(values)
    if known.all():
        return values
    some = values[known] if known.any() else np.zeros(1)
    return np.where(known, values, some.min() - (np.ptp(some) or 1.0))


def scale_columns(X: Any, real: Floats, made: Floats) -> tuple[Floats, Floats]:
    """Columns of tables in standard deviations of the real ones; others as they are."""
    if not (hasattr(X, "iloc") or (isinstance(X, np.ndarray) and X.ndim == 2)):
        return real, made
    spread = real.std(axis=0)
    center, unit = real.mean(axis=0), np.where(spread > 0, spread, 1.0)
    return (real - center) / unit, (made - center) / unit


def measure_distances(real: Floats, points: Floats) -> Floats:
    """How far the nearest of the real instances is from each point, (n,)."""
    return np.asarray(NearestNeighbors(n_neighbors=1).fit(real).kneighbors(points)[0][:, 0])


MAX_UNLIKE_SHARE = 0.5  # share of the inputs that may be unlike real ones
USUAL_PERCENTILES = (2.5, 97.5)  # percentiles of distances that real instances have among each other
SAME_POINT_SHARE = 1e-6  # of the largest distance, below which a point is the same
MAX_SAMPLED_REAL, MIN_SAMPLED_REAL = 2000, 100  # instances that are looked at: at most, and however large they are
MAX_VALUES = 2**24  # numbers of all of them, about, that are held at once
MIN_INSTANCES = 40  # instances, below which it is not known how far apart they are
MAX_EXPLAINED = 20
N_BOOTSTRAP = 400  # for the interval
SPLIT, QUERIES, DRAWN, EVIDENCE, AGAIN = range(5)  # what seeds are for


def sampling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Measure how many of the inputs that a method asks about lie where real instances lie."""
    seed = seed_of(rng)
    instances = subject.representer.each(subject.X)
    size = max(np.size(instances.inputs(0, 1)[0:1]), 1)
    most = int(np.clip(MAX_VALUES // size, MIN_SAMPLED_REAL, MAX_SAMPLED_REAL))
    rows = generator(seed, SPLIT).permutation(len(instances))[:most]
    if len(rows) < MIN_INSTANCES:
        raise NotApplicable(
            f"this check needs at least {MIN_INSTANCES} real instances, and X has {len(rows)}: give more"
        )
    most = len(rows) * 3 // 4
    chosen = rows[most:][:MAX_EXPLAINED]
    picked = max(min(N_KEPT_QUERIES, most // MAX_EXPLAINED), 4)
    queries = record_queries(method, subject, chosen, child_of(seed, QUERIES), picked)
    inputs = subject.representer.each(rows_at(subject.X, rows)).inputs(0, len(rows))
    real, made = scale_columns(subject.X, *embed_batches(inputs, queries.inputs))
    draw = generator(seed, DRAWN)
    points = {  # unlike any instance in a known way, and real instances that were left out
        CONSTANT: real.mean(axis=0, keepdims=True),
        NOISE: real.mean(axis=0) + real.std(axis=0) * draw.standard_normal(real.shape),
        SHUFFLED: draw.permuted(real, axis=0),
        ANOTHER: real[most:],
    }
    neighbors = NearestNeighbors(n_neighbors=1).fit(real[:most])
    known = neighbors.kneighbors()[0][:, 0]  # none is its own neighbor
    usual = np.percentile(known, USUAL_PERCENTILES)
    far = {name: neighbors.kneighbors(each)[0][:, 0] for name, each in points.items()}
    made_far = neighbors.kneighbors(made)[0][:, 0]
    nulls = {name: float(_find_unlike(each, known, usual).mean()) for name, each in far.items()}
    areas = {name: _compare_distances(each, known)[0] for name, each in far.items()}
    sizes = np.bincount(queries.owner)
    shares = np.bincount(queries.owner, _find_unlike(made_far, known, usual)) / sizes
    drawn, again = [], generator(seed, AGAIN)
    for _ in range(N_BOOTSTRAP):  # few real instances tell little of how far apart they are
        ends = np.percentile(again.choice(known, len(known)), USUAL_PERCENTILES)
        redrawn = np.bincount(queries.owner, _find_unlike(made_far, known, ends)) / sizes
        drawn.append(float(again.choice(redrawn, len(sizes)).mean()))
    low, high = (float(end) for end in np.percentile(drawn, USUAL_PERCENTILES))
    share = float(shares.mean())
    worst = chosen[np.argsort(-shares, kind="stable")[:1]]
    outcome = "failed" if low > MAX_UNLIKE_SHARE else UNCLEAR if high > MAX_UNLIKE_SHARE else "passed"
    return Verdict(
        passed=outcome == "passed",
        label=outcome,
        measured="share of the method's inputs that are unlike any real instance",
        better="lower",
        observed=share,
        expected=MAX_UNLIKE_SHARE,
        sentence=_write_sampling_sentence(outcome, share, (low, high), nulls[ANOTHER]),
        interval=(low, high),
        nulls=nulls,
        measures=(
            Measured("inputs unlike real ones, share", share, low, high, len(chosen), nulls),
            Measured("farther than real ones, AUROC", *_compare_distances(made_far, known), len(made), areas),
        ),
        evidence=explain_rows(method, subject, worst, child_of(seed, EVIDENCE)),
        notes=(
            f"{len(made)} queries about {len(chosen)} instances were compared with {len(rows)} real instances.",
        ),
    )


def _find_unlike(distances: Floats, known: Floats, usual: Floats) -> Floats:
    """1 where a point is farther from real instances than those usually are from each other, or nearer, (n,).

    A point that is a real instance is like one.
    """
    same = SAME_POINT_SHARE * (float(known.max()) or 1.0)
    low, high = usual
    return np.asarray((distances > high) | ((distances < low) & (distances > same)), dtype=np.float64)


def _compare_distances(distances: Floats, known: Floats) -> tuple[float, float, float]:
    """Chance that a point is farther from real instances than a real one is, with its interval."""
    return auroc(np.concatenate([distances, known]), np.arange(len(distances) + len(known)) < len(distances))


def _write_sampling_sentence(outcome: str, share: float, ends: tuple[float, float], real: float) -> str:
    where = (
        f"{100 * share:.0f} % of them lie where hardly any real instance lies ({100 * real:.0f} % of held-out "
        f"real ones do; limit {100 * MAX_UNLIKE_SHARE:.0f} %)"
    )
    if outcome == "failed":
        return (
            f"Explanations rest on inputs unlike any real instance: {where}, so they may say more about the "
            "model's answers to nonsense than about its answers to data."
        )
    if outcome == UNCLEAR:
        return (
            f"It is not clear on which inputs explanations rest: {where}; the 95 % interval is {100 * ends[0]:.0f} % to "
            f"{100 * ends[1]:.0f} %: give more instances."
        )
    return f"Explanations rest mostly on inputs that could be real: {where}."


MAX_REAL = 500  # real instances, at most
MIN_REAL = 30  # and at least
MAX_PERTURBED = 100  # of them whose changed copies are looked at
MODELS_PER_KIND = 3  # honest models of each kind
TOLERATED_SHARE = 0.95  # of the honest models that are let pass
NEGLIGIBLE_SHARE = 0.02  # share of the variation that is too small to compare
MAX_WORST_ROWS = 10  # rows that are named
CHOICE, QUERIED, HONEST, NULL, WORST = range(5)  # what seeds are for


@dataclass(frozen=True, slots=True, eq=False)
class RealAndPerturbed(Record):
    """Real instances and changed ones as points, with what the model says of both."""

    real: Floats  # (n, p)
    changed: Floats  # (m, p)
    at_real: Floats  # (n,)
    at_changed: Floats  # (m,)

    def unexplained(self, at_changed: Floats, at_real: Floats) -> Floats:
        """What answers to changed inputs do not teach of those to real ones, (n,): shares of their variation."""
        guess = fit_simple_model(self.changed, at_changed, self.real)
        return np.asarray((guess - at_real) ** 2 / (at_real.var() or 1.0))


def fooling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model behave differently on perturbed inputs than on real ones?

    Answers to what the method asks are learned, by a line and boosted trees, and held against answers to real
    instances. Observed is the share of their variation that is predicted: at most 1, below 0 where a constant
    would do better. Expected is what 95 % of honest models reach, of the kind that reaches least; a model fails if
    its whole interval is below.
    """
    seed = seed_of(rng)
    rows, both = _collect_answers(method, subject, seed)
    if is_flat(both.at_real):
        raise NotApplicable("the model gives the same output for every real instance: there is nothing to hide")
    missed = both.unexplained(both.at_changed, both.at_real)
    honest = _measure_honest_models(both, seed)
    limit = _tolerance_limit(list(honest.values()))
    mean, least, most = interval(missed)
    observed, low, high = 1 - mean, 1 - most, 1 - least
    draw, spread, middle = generator(seed, NULL), float(both.at_changed.std()), both.at_changed.mean()
    known = {  # answers to changed inputs that have nothing to do with them
        CONSTANT: np.full(len(both.at_changed), middle),
        NOISE: draw.normal(middle, spread, len(both.at_changed)),
        SHUFFLED: draw.permutation(both.at_changed),
        ANOTHER: np.roll(both.at_changed, len(both.at_changed) // 2),  # they come instance by instance
    }
    nulls = {key: 1 - float(both.unexplained(each, both.at_real).mean()) for key, each in known.items()}
    order = np.argsort(-missed, kind="stable")[:MAX_WORST_ROWS]
    outcome = "failed" if least > limit else UNCLEAR if most > limit else "passed"
    return Verdict(
        passed=outcome == "passed",
        label=outcome,
        measured="share of its answers to real instances that its answers to changed inputs predict (R²)",
        better="higher",
        observed=observed,
        expected=1 - limit,
        sentence=_write_fooling_sentence(outcome, observed, 1 - limit),
        interval=(low, high),
        nulls=nulls,
        measures=(
            Measured("this model", observed, low, high, len(missed), nulls),
            *(Measured(f"honest {kind}", *interval(1 - each), len(each)) for kind, each in honest.items()),
        ),
        evidence=explain_rows(method, subject, rows[order[:1]], child_of(seed, WORST)),
        rows=tuple(int(i) for i in rows[order]),
        notes=(f"{len(both.real)} real instances and {len(both.changed)} changed ones were compared.",),
    )


def list_honest_models() -> Mapping[str, tuple[Any, Any]]:
    """Kinds of honest models: a classifier and a regressor each."""
    from sklearn.ensemble import (  # takes as long to import as all of veridical
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    return {
        "linear model": (LogisticRegression(max_iter=1000), Ridge()),
        "forest": (RandomForestClassifier(30), RandomForestRegressor(30)),
        "boosting": (HistGradientBoostingClassifier(max_iter=40), HistGradientBoostingRegressor(max_iter=40)),
        "network": (
            MLPClassifier(hidden_layer_sizes=(32,), max_iter=120),
            MLPRegressor(hidden_layer_sizes=(32,), max_iter=120),
        ),
    }


def fit_simple_model(points: Floats, answers: Floats, wanted: Floats) -> Floats:
    """Answers at other points: a line, and boosted trees for what is left; never beyond the answers seen."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # as above

    line = make_pipeline(StandardScaler(), Ridge(1e-3 * len(points))).fit(points, answers)
    trees = HistGradientBoostingRegressor(max_iter=40, learning_rate=0.15, early_stopping=False, random_state=0)
    trees.fit(points, answers - line.predict(points))
    guess = line.predict(wanted) + trees.predict(wanted)
    return np.asarray(np.clip(guess, answers.min(), answers.max()))


def _collect_answers(method: Method, subject: Subject, seed: Seed) -> tuple[Ints, RealAndPerturbed]:
    """Rows of X that are looked at, and what the model says of them and of their changed copies."""
    n = len(subject.representer.each(subject.X))
    if n < MIN_REAL:
        raise NotApplicable(f"this check needs at least {MIN_REAL} real instances, and X has {n}: give more")
    rows = generator(seed, CHOICE).permutation(n)[:MAX_REAL]
    real = subject.representer.each(rows_at(subject.X, rows)).inputs(0, len(rows))
    outputs = subject.checked_model(real)
    wanted = subject.target
    if wanted is None and outputs.shape[1] > 1:  # the output that differs most between real instances
        wanted = Output(np.argmax(outputs.var(axis=0)))
    read = resolve(wanted, subject.checked_model, outputs).read
    found = record_queries(method, subject, rows[:MAX_PERTURBED], child_of(seed, QUERIED))
    at_real, at_changed = read(outputs), read(subject.checked_model(found.inputs))
    here, there = embed_batches(real, found.inputs)
    new: Bools = (there != here[found.owner]).any(axis=1)
    if new.sum() < MIN_REAL:
        raise NotApplicable("the method hardly changes the instances in its queries: there is nothing to compare")
    return rows, RealAndPerturbed(here, there[new], at_real, at_changed[new])


def _measure_honest_models(both: RealAndPerturbed, seed: Seed) -> dict[str, Floats]:
    """What is not learned of honest models that answer alike on real instances, (times,) of each kind.

    Where answers are probabilities, labels are drawn from them first: a model that was trained on labels has
    learned some of their noise, and so must these.
    """
    found: dict[str, Floats] = {}
    scale = StandardScaler().fit(both.real)
    real, changed = scale.transform(both.real), scale.transform(both.changed)
    for number, (kind, (classifier, regressor)) in enumerate(list_honest_models().items()):
        missed = []
        for time in range(MODELS_PER_KIND):
            rng = generator(seed, HONEST, number, time)
            predict = _train_honest_model(classifier, regressor, real, both.at_real, rng)
            own, there = predict(real), predict(changed)
            at_real, at_changed = (_match_ranks(each, own, both.at_real) for each in (own, there))
            missed.append(float(both.unexplained(at_changed, at_real).mean()) if np.ptp(at_real) else 0.0)
        found[kind] = np.array(missed)
    return found


def _train_honest_model(
    classifier: Any, regressor: Any, X: Floats, answers: Floats, rng: np.random.Generator
) -> Callable[[Floats], Floats]:
    """An honest model of these answers."""
    labels = rng.random(len(answers)) < answers
    probabilities = answers.min() >= 0 and answers.max() <= 1 and 3 <= labels.sum() <= len(labels) - 3
    model = classifier if probabilities else regressor
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    some = slice(None) if probabilities else rng.integers(0, len(X), len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that would learn on is as honest
        model.fit(X[some], labels if probabilities else answers[some])
    return (lambda Z: model.predict_proba(Z)[:, 1]) if probabilities else model.predict


def _match_ranks(answers: Floats, own: Floats, wanted: Floats) -> Floats:
    """Answers of an honest model, as sharp as those that it learned: by their rank among its own."""
    order = np.sort(own)
    rank = (np.searchsorted(order, answers, "left") + np.searchsorted(order, answers, "right")) // 2
    return np.asarray(np.sort(wanted)[np.clip(rank, 0, len(wanted) - 1)])


def _tolerance_limit(missed: list[Floats]) -> float:
    """What is missed of at most one in twenty honest models, of the kind of which most is missed.

    Of logarithms, a t interval for one more model: kinds differ in their means, and share a spread.
    """
    logs = np.log(np.stack(missed) + NEGLIGIBLE_SHARE)
    kinds, times = logs.shape
    spread = float(np.sqrt(logs.var(axis=1, ddof=1).mean()))
    far = stdtrit(kinds * (times - 1), TOLERATED_SHARE) * spread * np.sqrt(1 + 1 / times)
    return float(np.exp(logs.mean(axis=1).max() + far) - NEGLIGIBLE_SHARE)


def _write_fooling_sentence(outcome: str, observed: float, expected: float) -> str:
    share = f"{100 * max(observed, 0):.0f} % of the variation of its answers to real instances"
    least = f"{100 * max(expected, 0):.0f} %"
    if outcome == UNCLEAR:
        return (
            "It is not clear whether the model behaves on perturbed inputs as on real ones: its answers to them "
            f"predict {share}, and honest models with the same answers to real instances reach at least {least}; that "
            "may be chance: give more instances."
        )
    if outcome == "passed":
        return (
            f"The model behaves on perturbed inputs much as on real ones: its answers to them predict {share}, where "
            f"honest models with the same answers to real instances reach at least {least}."
        )
    return (
        "The model answers perturbed inputs by another rule than real ones, so explanations made from them are not "
        f"about what it does: its answers to them predict {share}, and 95 % of honest models with the same answers to "
        f"real instances reach at least {least}."
    )
