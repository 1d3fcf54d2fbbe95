"""What each command does: it reads, calls a public function, and shows or writes what that gives.

A command imports what it alone needs when it runs, so that explaining a row does not wait for the checks.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical import api
from veridical.cli import BROKEN
from veridical.cli.data import read_data
from veridical.cli.inputs import (
    CommandInputs,
    explain_arguments,
    find_by_name,
    find_row,
    make_method,
    make_methods,
    make_progress,
    make_settings,
    match_model,
    print_notes,
    read_inputs,
    read_more,
    read_options,
    refuse_options,
    say,
    split_names,
    take_few,
    with_samples,
)
from veridical.cli.loading import TEXT, suggest
from veridical.cli.models import call_user_code, import_object
from veridical.cli.options import (
    AuditOptions,
    CleanOptions,
    CompareOptions,
    DebugOptions,
    DemoOptions,
    EvaluateOptions,
    ExplainOptions,
    FlipsOptions,
    GroupOptions,
    MethodOptions,
    OutputOptions,
    PickOptions,
    ReportOptions,
    ScaleOptions,
    ShowOptions,
    TrainingOptions,
    VeracityOptions,
    VersionOptions,
    WatchOptions,
)
from veridical.display.progress import Progress
from veridical.errors import (
    InputError,
    RowsFailedWarning,
    VeridicalError,
    check_whole,
    describe_error,
    require,
)
from veridical.models.adapters import model_of
from veridical.models.outputs import VALUE
from veridical.models.targets import find_class
from veridical.records import VERSION, Explanation, Explanations, Page, Verdict

if TYPE_CHECKING:
    from veridical.checks.subjects import Subject
    from veridical.scale.stores.store import Store

# Results --------------------------------------------------------------------------------------------------


def check_outs(options: OutputOptions, kind: type) -> None:
    """Refuse files that cannot be written, before minutes of work, not after."""
    if options.out:
        from veridical.display.saving import writer_of

        for path in options.out:
            writer_of(kind, path)


def write_record(record: Any, options: OutputOptions) -> None:
    """Write a record where it is wanted, and print it."""
    for path in options.out or ():
        record.save(path)
    if options.json:
        from veridical.storage.schema import write_json

        sys.stdout.flush()
        write_json(record, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    elif not options.quiet:
        sys.stdout.write(paint_record(record))
    if not options.quiet:
        for path in options.out or ():
            say(f"written: {path}")


def paint_record(record: Any) -> str:
    """The record as text, as wide as the terminal and in color where there is one."""
    rich = require("rich.console", extra="cli")
    console = rich.Console(file=sys.stdout, markup=False, highlight=False, emoji=False)
    with console.capture() as text:
        console.print(record, soft_wrap=True)
    painted: str = text.get()
    return painted


# Explaining ------------------------------------------------------------------------------------------------

MAX_FAILURES = 5  # that are named, of rows that could not be explained


def explain(options: ExplainOptions) -> int:
    """Explain one prediction, or many."""
    check_row(options)
    if is_at_scale(options):
        return explain_at_scale(options)
    inputs = read_inputs(options, options.model, options.data)
    check_outs(options, Explanations if choose_row(options, inputs) is None else Explanation)
    result = explain_row_or_all(options, inputs)
    write_record(result, options)
    explanations = result if isinstance(result, Explanations) else [result]
    return int(options.fail and not all(why.verdict.passed for why in explanations))


def check_row(options: ExplainOptions | CompareOptions | FlipsOptions) -> None:
    """Refuse two ways of naming rows at once."""
    if options.row is not None and options.rows is not None:
        raise InputError("--row explains one row, --rows several: give one of the two")


def explain_row_or_all(
    options: ExplainOptions | CompareOptions, inputs: CommandInputs
) -> Explanation | Explanations:
    """Explain the row that was named, or else all."""
    row = choose_row(options, inputs)
    return explain_all(options, inputs) if row is None else explain_row(options, inputs, row)


def choose_row(options: ExplainOptions | CompareOptions | FlipsOptions, inputs: CommandInputs) -> int | None:
    """The row that was named, or the only one that there is."""
    if options.row is not None:
        return find_row(options.row, inputs.data)
    return 0 if options.rows is None and len(inputs.data) == 1 else None


def explain_row(options: MethodOptions, inputs: CommandInputs, row: int) -> Explanation:
    """Explain one row."""
    x, progress = inputs.data.instance(row), make_progress(options, "calls, at most")
    arguments = explain_arguments(options, inputs)
    why: Explanation = api.explain(inputs.predict, inputs.representer, x, **arguments, progress=progress)
    name = inputs.data.names[row]
    return replace(why, row=row if name == str(row) else name)


def explain_all(options: MethodOptions, inputs: CommandInputs) -> Explanations:
    """Explain all rows, under the names that the data have for them."""
    arguments, progress = explain_arguments(options, inputs), make_progress(options, "rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsFailedWarning)  # which is said below
        many: Explanations = api.explain_many(
            inputs.predict, inputs.representer, inputs.X, **arguments, progress=progress
        )
    names, numbers = inputs.data.names, many.numbers
    called = dict(zip(numbers, (why.row for why in many), strict=True))
    called |= {failure.number: failure.row for failure in many.failures}
    if len(called) == len(names) and any(str(called[i]) != name for i, name in enumerate(names)):
        failures = tuple(failure._replace(row=names[failure.number]) for failure in many.failures)
        named = [replace(why, row=names[i]) for i, why in zip(numbers, many, strict=True)]
        many = Explanations(tuple(named), failures)
    for failure in many.failures[:MAX_FAILURES]:
        say(f"row {failure.row} could not be explained: {failure.error}")
    if (more := len(many.failures) - MAX_FAILURES) > 0:
        say(f"and {more} more rows could not be explained")
    return many


# Explaining many rows by an engine, into a store -----------------------------------------------------------


def is_at_scale(options: ExplainOptions) -> bool:
    """Whether an engine or a store is named, which other options need."""
    if options.store is not None or options.engine is not None or options.workers is not None:
        return True
    if options.address is not None:
        raise InputError("--address is that of a cluster: say whose by --engine dask, ray or spark")
    if options.keep is not None:
        raise InputError("--keep is for columns that are stored beside explanations: say where by --store FOLDER")
    return False


def explain_at_scale(options: ExplainOptions) -> int:
    """Explain all rows by an engine, into a folder where one is named."""
    from veridical.scale.stores.store import Store
    from veridical.scale.stores.writer import MANIFEST

    check_scale(options)
    keep = [options.id] if options.id is not None and options.store is not None else []
    keep = list(dict.fromkeys([*keep, *(split_names(options.keep) or ())]))
    at_hand = open_large(options, keep)
    if at_hand is not None:
        inputs, X = at_hand
    elif options.keep is not None:
        raise InputError("--keep is for columns of Parquet and CSV files, of which all rows are explained")
    else:
        inputs, keep = read_inputs(options, options.model, options.data), []
        X = inputs.X
    if options.store is None:
        many: Explanations = run_engine(options, inputs, X, keep)
        write_record(many, options)
        return int(options.fail and not all(why.verdict.passed for why in many))
    folder, before, start = Path(options.store), 0, time.monotonic()
    if (folder / MANIFEST).exists() and (before := len(Store(folder))):
        print_notes(options, [f"{before:,} rows are in {folder} already"])
    try:
        store: Store = run_engine(options, inputs, X, keep)
    except KeyboardInterrupt:
        say(f"what was done is in {options.store}: the same command goes on from there")
        raise
    print_store(options, store, len(store) - before, time.monotonic() - start)
    return int(options.fail and sum(receipt.n_passed for receipt in store.receipts) < len(store))


def check_scale(options: ExplainOptions) -> None:
    """Refuse what is for one row, and files beside a store."""
    if options.row is not None:
        raise InputError("--row explains one row, and engines and stores are for many: leave one of them out")
    if options.store is None:
        check_outs(options, Explanations)
        if options.keep is not None:
            raise InputError("--keep is for columns that are stored beside explanations: say where by --store")
    elif options.out or options.json:
        raise InputError(
            "explanations go into the store as they are made: leave --out and --json out, and when it is done say "
            f"veridical show {options.store} --out FILE"
        )


def open_large(options: ExplainOptions, keep: list[str]) -> tuple[CommandInputs, Any] | None:
    """The rows of tables that are read a little at a time, told by some of them; None for other data."""
    from veridical.cli.tables import open_large_table, sample_rows
    from veridical.representations.tables.rows import Rows

    reading = read_options(options)
    large = None if options.rows is not None else open_large_table(options.data, reading)
    if large is None:
        return None
    sample = sample_rows(large, reading, keep)
    inputs = match_model(options, options.model, sample)
    if inputs.data.kind == TEXT:
        column = next(c for c in sample.instances if sample.instances[c].tolist() == inputs.data.items)
        large = replace(large, columns=(column, *keep))
    elif not isinstance(inputs.representer, Rows):
        return None
    print_notes(options, inputs.notes)
    return inputs, large


def run_engine(options: ExplainOptions, inputs: CommandInputs, X: Any, keep: list[str]) -> Any:
    """Explanations, or the store that they are in."""
    from veridical.models.adapters import Factory

    arguments, progress = explain_arguments(options, inputs), make_progress(options, "rows")
    with start_engine(options) as engine:
        return api.explain_many(
            Factory(inputs.factory),
            inputs.representer,
            X,
            **arguments,
            store=options.store,
            keep=keep,
            engine=engine,
            progress=progress,
        )


def print_store(options: ExplainOptions, store: Store, n: int, seconds: float) -> None:
    """Print what is in the store, and how fast it came there."""
    from veridical.display.progress import clock, speed

    if options.quiet:
        return
    print(paint_record(store), end="")
    say(f"{n:,} rows in {clock(seconds)}, {speed(n / seconds)} rows/s" if n else "all rows were there already")
    say(f"written: {options.store}")


@contextmanager
def start_engine(options: ScaleOptions) -> Iterator[Any]:
    """The engine that was named, or processes of this machine, while the command runs."""
    import joblib

    workers = options.workers
    if workers is None:
        workers = 1 if options.engine is None else joblib.cpu_count()
    check_whole("--workers", workers)
    start = find_by_name(options.engine or "local", ENGINES, "engine")
    if options.address is not None and start is _start_local:
        raise InputError("--address is that of a cluster: say whose by --engine dask, ray or spark")
    yield from start(workers, options.address)


def _start_local(workers: int, address: str | None) -> Iterator[Any]:
    from veridical.scale import engines

    yield engines.Local(n_jobs=workers)


def _start_dask(workers: int, address: str | None) -> Iterator[Any]:
    from veridical.scale import engines

    distributed = require("distributed", extra="dask")
    own = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}  # any free port
    with distributed.Client(address, **({} if address else own)) as client:
        yield engines.Dask(client)


def _start_ray(workers: int, address: str | None) -> Iterator[Any]:
    from veridical.scale import engines

    ray = require("ray", extra="ray")
    own = {"num_cpus": workers, "include_dashboard": False}
    ray.init(address=address, logging_level="ERROR", log_to_driver=False, **({} if address else own))
    try:
        yield engines.Ray()
    finally:
        ray.shutdown()


def _start_spark(workers: int, address: str | None) -> Iterator[Any]:
    from veridical.scale import engines

    settings = {"spark.ui.showConsoleProgress": "false"}
    if address is None:
        settings["spark.ui.enabled"] = "false"
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers of this machine run in this Python
    builder = require("pyspark.sql", extra="spark").SparkSession.builder.appName("veridical")
    session = builder.master(address or f"local[{workers}]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("FATAL")  # what fails is told in the end
    try:
        yield engines.Spark(session)
    finally:
        session.stop()


StartEngine: TypeAlias = Callable[[int, str | None], Iterator[Any]]  # so many workers, or at an address
ENGINES: dict[str, StartEngine] = {
    "local": _start_local,
    "dask": _start_dask,
    "ray": _start_ray,
    "spark": _start_spark,
}

# Flips, picks, groups, comparisons -------------------------------------------------------------------------


def flips(options: FlipsOptions) -> int:
    """Find changes of one row that turn the answer."""
    from veridical.methods.flips import Flips

    check_row(options)
    check_outs(options, Flips)
    inputs = read_inputs(options, options.model, options.data)
    row = choose_row(options, inputs)
    if row is None:
        raise InputError(f"flips is about one row, and the data have {len(inputs.data)}: say which by --row")
    found: Flips = api.flips(
        inputs.predict,
        inputs.representer,
        inputs.data.instance(row),
        to=read_goal(options, inputs),
        target=inputs.target,
        immutable=split_names(options.immutable) or (),
        n=options.changes,
        max_calls=options.samples,
        classes=inputs.classes,
        rng=options.rng,
        progress=make_progress(options, "calls, at most"),
    )
    name = inputs.data.names[row]
    write_record(replace(found, row=row if name == str(row) else name), options)
    return int(options.fail and not found.verdict.passed)


def read_goal(options: FlipsOptions, inputs: CommandInputs) -> Any:
    """The class that was named, or a number."""
    if options.to is None:
        return None
    if inputs.target is None:
        known = inputs.classes or model_of(inputs.predict).classes or ()
        at = find_class(options.to, known)
        if at is not None:
            return known[at]
        if known:
            raise InputError(
                f"no class is called {options.to!r}{suggest(options.to, [str(each) for each in known])}"
            )
    try:
        return float(options.to)
    except ValueError:
        raise InputError(f"--to wants the value to cross, such as 0.5, not {options.to!r}") from None


def pick(options: PickOptions) -> int:
    """Pick a few explanations, saved ones or of a model and its data."""
    from veridical.scale.picks import Pick
    from veridical.scale.picks import pick as pick_explanations

    check_outs(options, Pick)
    first, *data = options.source
    if not data:
        refuse_options(options, "target budget k rng", "saved explanations, of which some are picked")
    source = explain_all(options, read_inputs(options, first, data)) if data else first
    target = None if data else options.target  # one for all that were made for it
    write_record(pick_explanations(source, options.budget, target=target, k=options.k, rng=options.rng), options)
    return 0


def group(options: GroupOptions) -> int:
    """Explain the whole model by a few groups."""
    from veridical.summaries.groupings import GROUPINGS
    from veridical.summaries.groupings.groups import Grouping

    check_outs(options, Grouping)
    method = make_settings(options.method or "mixture", GROUPINGS, "grouping method")
    method = with_samples(method, options.samples)
    inputs = read_inputs(options, options.model, options.data)
    groups = api.group(
        inputs.predict,
        inputs.representer,
        inputs.X,
        k=parse_counts(options.k),
        n_features=options.features,
        target=inputs.target,
        method=method,
        classes=inputs.classes,
        rng=options.rng,
        progress=make_progress(options, "calls"),
    )
    write_record(groups, options)
    return 0


def parse_counts(text: str) -> list[int]:
    """4, or 2:8, which is 2 to 8."""
    ends = text.split(":")
    if len(ends) > 2 or not all(end.isdecimal() and int(end) for end in ends):
        raise InputError(f"--k wants a number of groups, such as 4, or the least and the most, 2:8, not {text!r}")
    return list(range(int(ends[0]), int(ends[-1]) + 1))


def report(options: ReportOptions) -> int:
    """Write one page about a model."""
    from veridical.pages import N_REPORTED, report_model

    if options.json:
        raise InputError("a report is a page for readers: leave --json out, and give --out report.html")
    check_outs(options, Page)
    n = int(options.rows) if options.rows is not None and options.rows.isdecimal() else None
    reading = options if n is None else replace(options, rows=None)
    inputs = read_inputs(reading, options.model, options.data)
    if n is None:
        n = N_REPORTED if options.rows is None else max(len(inputs.data), 2)
    X, names = inputs.X, inputs.data.names
    if hasattr(X, "iloc") and any(name != str(i) for i, name in enumerate(names)):
        X = X.set_axis(list(names))
    page = report_model(
        inputs.predict,
        inputs.representer,
        X,
        y=inputs.data.labels,
        training=inputs.training,
        target=inputs.target,
        method=make_method(options.method, options.samples),
        n_rows=n,
        classes=inputs.classes,
        title=options.title,
        rng=options.rng,
        progress=Progress("", lambda: None) if options.quiet else None,
    )
    write_record(page, options)
    return 0


def compare(options: CompareOptions) -> int:
    """Compare two explanations: saved ones, or those of two models."""
    from veridical.comparisons.differences import Difference

    check_row(options)
    check_outs(options, Difference)
    first, second = options.first, options.second
    names = split_names(options.names) or ([first, second] if first != second else ["first", "second"])
    if len(names) != 2:
        raise InputError(f"--names wants two names, such as before,after, not {options.names!r}")
    difference = api.compare(*get_pair(options), names=names)
    write_record(difference, options)
    return int(options.fail and not difference.verdict.passed)


def get_pair(options: CompareOptions) -> tuple[Any, Any]:
    """The two explanations, or where they are saved.

    The second model is asked about the class that the first one predicts for a row.
    """
    if not options.data:
        refuse_options(options, "names fail", "saved explanations, which are compared as they are")
        return options.first, options.second
    data = read_data(options.data, read_options(options))
    one, other = (match_model(options, model, data) for model in (options.first, options.second))
    print_notes(options, [*one.notes, *other.notes])
    first = explain_row_or_all(options, one)
    if options.target is None and isinstance(first, Explanation) and first.target != VALUE:
        other = replace(other, target=first.target)
    return first, explain_row_or_all(replace(options, rng=options.rng + 1), other)  # noise of its own


def watch(options: WatchOptions) -> int:
    """Say whether the reasons changed, of two sets of explanations that were saved."""
    from veridical.comparisons.watching import Drift
    from veridical.comparisons.watching import watch as watch_explanations
    from veridical.scale.stores.store import Store, load

    check_outs(options, Drift)
    if options.junit is not None:
        if not options.junit.endswith(".xml"):
            raise InputError(f"--junit writes XML: give a name that ends in .xml, not {options.junit!r}")
        from veridical.display.saving import writer_of

        writer_of(Drift, options.junit)
    names = split_names(options.names) or ([options.old, options.new] if options.old != options.new else None)
    sides: list[Any] = []
    for place in (options.old, options.new):
        record: Any = load(place)
        if not isinstance(record, (Explanations, Store)):
            raise InputError(f"{place} holds one {type(record).__name__}, and many explanations are watched")
        sides.append(record)
    found = watch_explanations(*sides, names=names or ("old", "new"), tolerance=options.tolerance)
    write_record(found, options)
    if options.junit is not None:
        found.save(options.junit)
        if not options.quiet:
            say(f"written: {options.junit}")
    return int(not found.verdict.passed)


# Metrics and checks ----------------------------------------------------------------------------------------

METHODS = "lime,occlusion"  # that are measured, where none are named


def evaluate(options: EvaluateOptions) -> int:
    """Measure how good explanations are."""
    return measure(
        options,
        api.evaluate,
        "rows",
        lambda inputs: {"metrics": split_names(options.metrics), "target": inputs.target},
    )


def veracity(options: VeracityOptions) -> int:
    """Ask whether explanations name what made the model err."""
    from veridical.groundtruth import CAUSES

    if options.target is not None:
        raise InputError("--target is not for veracity, which asks why the model decided as it did: leave it out")
    causes = [make_settings(name, CAUSES, "cause") for name in split_names(options.causes) or ()] or None
    return measure(
        options,
        api.veracity,
        "decisions",
        lambda inputs: {"causes": causes, "y": inputs.data.labels, "threshold": options.threshold},
    )


def measure(
    options: EvaluateOptions | VeracityOptions,
    function: Callable[..., Any],
    unit: str,
    own: Callable[[CommandInputs], dict[str, Any]],
) -> int:
    """Write the report of a function that measures methods on the first instances."""
    from veridical.metrics.reports import Report

    check_outs(options, Report)
    inputs = take_few(read_inputs(options, options.model, options.data), options)
    found = function(
        inputs.predict,
        inputs.representer,
        inputs.X,
        methods=make_methods(options.methods or METHODS, options.samples),
        classes=inputs.classes,
        rng=options.rng,
        progress=make_progress(options, unit),
        **own(inputs),
    )
    write_record(found, options)
    return 0


def debug(options: DebugOptions) -> int:
    """Run one check."""
    check_outs(options, Verdict)
    inputs = read_inputs(options, options.model, options.data)
    verdict = api.debug(
        inputs.predict,
        inputs.representer,
        inputs.X,
        check=options.check,
        method=make_method(options.method, options.samples),
        rng=options.rng,
        progress=make_progress(options, "calls"),
        **check_arguments(options, inputs),
    )
    write_record(verdict, options)
    return int(options.fail and not verdict.passed)


def audit(options: AuditOptions) -> int:
    """Run all checks that apply."""
    from veridical.checks.audits import Audit
    from veridical.checks.subjects import Subject

    check_outs(options, Audit)
    model, *data = options.source
    if data:
        inputs = read_inputs(options, model, data)
        subject = Subject(inputs.predict, inputs.representer, inputs.X, **check_arguments(options, inputs))
    else:
        refuse_options(options, "checks methods samples rng fail_on strict", "a vd.Subject, which says it all")
        subject = import_subject(model)
    result = api.audit(
        subject,
        methods=make_methods(options.methods, options.samples),
        checks=split_names(options.checks),
        fail_on=options.fail_on,
        strict=options.strict,
        rng=options.rng,
        progress=make_progress(options, "checks"),
    )
    write_record(result, options)
    return result.exit_code


def clean(options: CleanOptions) -> int:
    """Train a model again without some columns or words."""
    from veridical.checks.cleaning import clean

    check_outs(options, Verdict)
    if options.training is None:
        raise InputError("clean trains the model again: give rows with right answers by --training, as train.csv")
    if options.label is None:
        raise InputError("clean measures right answers: name their column by --label")
    inputs = read_inputs(with_training(options), options.model, options.data)
    verdict = clean(
        inputs.predict,
        inputs.representer,
        inputs.X,
        removed=split_names(options.remove) or (),
        y=inputs.data.labels,
        training=read_answers(options, options.training, inputs),
        train=None if options.train is None else import_object(options.train),
        elsewhere=read_answers(options, options.elsewhere, inputs),
        sealed=options.sealed,
        n_draws=options.draws,
        method=make_method(options.method, options.samples),
        classes=inputs.classes,
        rng=options.rng,
        progress=make_progress(options, "models"),
    )
    write_record(verdict, options)
    return int(options.fail and not verdict.passed)


def with_training(options: TrainingOptions) -> TrainingOptions:
    """The options, in which rows to train on say what values are usual unless others do."""
    return options if options.background is not None else replace(options, background=options.training)


def read_answers(options: TrainingOptions, place: str | None, inputs: CommandInputs) -> tuple[Any, Any] | None:
    """Instances of a file and their right answers."""
    if place is None:
        return None
    data = read_more(options, place, inputs.model)
    if data.labels is None:
        raise InputError(f"{place} has no column {options.label!r} with right answers")
    return data.instances, data.labels


def check_arguments(options: DebugOptions | AuditOptions, inputs: CommandInputs) -> dict[str, Any]:
    """What checks are told of a model and its data."""
    shifted = None if options.shifted is None else read_more(options, options.shifted, inputs.model)
    return {
        "y": inputs.data.labels,
        "training": inputs.training,
        "region": split_names(options.region),
        "shifted": None if shifted is None else shifted.instances,
        "target": inputs.target,
        "classes": inputs.classes,
    }


def import_subject(place: str) -> Subject:
    """The Subject at module:name or file.py:name, or what the function there gives."""
    from veridical.checks.subjects import Subject

    thing: Any = import_object(place)
    if not isinstance(thing, Subject) and callable(thing):
        thing = call_user_code(thing, f"calling {place}, without arguments,")
    if not isinstance(thing, Subject):
        raise InputError(
            f"{place} is {type(thing).__name__}, and a vd.Subject was wanted, or a function that gives one: "
            "subject = vd.Subject(model.predict_proba, vd.Rows(X_train), X_test); a model wants its data, too: "
            f"veridical audit {place} data.csv"
        )
    return thing


# What was saved, and the rest ------------------------------------------------------------------------------


def show(options: ShowOptions) -> int:
    """Show or convert what was saved."""
    from veridical.scale.stores.store import Store, load

    record: Any = load(options.file)
    if options.row is not None:
        if not isinstance(record, (Explanations, Store)):
            kind = type(record).__name__
            raise InputError(
                f"--row is for files and stores of many explanations; {options.file} holds one {kind}"
            )
        if not -len(record) <= options.row < len(record):
            raise InputError(f"there is no row {options.row}: {options.file} has {len(record)}, numbered from 0")
        record = record[options.row]
    if isinstance(record, Store) and (options.out or options.json):
        record = record[:]  # a file holds the explanations themselves
    check_outs(options, type(record))
    write_record(record, options)
    return 0


def demo(options: DemoOptions) -> int:
    """Explain real predictions, or write files to try the commands on."""
    if options.files is not None:
        from veridical.cli.samples import write_samples

        for path in write_samples(options.files):
            say(f"written: {path}")
        return 0
    from veridical.demo import demo

    demo(options.page)
    return 0


def print_version(options: VersionOptions) -> int:
    """Print the version."""
    print(f"veridical {VERSION}")
    return 0


COMMANDS: dict[type, Callable[[Any], int]] = {
    AuditOptions: audit,
    CleanOptions: clean,
    CompareOptions: compare,
    DebugOptions: debug,
    DemoOptions: demo,
    EvaluateOptions: evaluate,
    ExplainOptions: explain,
    FlipsOptions: flips,
    GroupOptions: group,
    PickOptions: pick,
    ReportOptions: report,
    ShowOptions: show,
    VeracityOptions: veracity,
    VersionOptions: print_version,
    WatchOptions: watch,
}
MAX_TRACE = 100_000  # characters
STOPPED, CLOSED = (
    130,
    141,
)  # the exit codes after Ctrl-C, and where the output was closed early, as shells have them
COMPILED = (".pyx", ".pxi", ".pxd")  # of installed packages, whose names say nothing of where they are


def run(options: Any) -> int:
    """Run the command that has these options; the exit code says how it went."""
    try:
        code = COMMANDS[type(options)](options)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has had enough, as head has: what is left goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED  # and not 0: a check that failed is not to look as if it had passed
    except KeyboardInterrupt:
        say("veridical: stopped")
        return STOPPED
    except (VeridicalError, OSError) as cause:
        if cause.__cause__ is not None and _is_of_caller(cause.__cause__):
            say("".join(traceback.format_exception(cause.__cause__)).rstrip(), MAX_TRACE)
        say(f"veridical: {cause}")
        return BROKEN
    except Exception as cause:
        say("".join(traceback.format_exception(cause)).rstrip(), MAX_TRACE)
        say(f"veridical: {describe_error(cause)}")
        return BROKEN
    return code


def _is_of_caller(cause: BaseException) -> bool:
    """Whether code raised it that is neither ours nor installed: then its author wants to see where."""
    known = (str(Path(__file__).parents[2]), sys.prefix, sys.base_prefix, "<")
    steps = [step.filename for step in traceback.extract_tb(cause.__traceback__)]
    return any(not name.startswith(known) and not name.endswith(COMPILED) for name in steps)
