"""What can be typed after each command: arguments and options, and the names that complete them.

A command is a frozen record of what was typed, and does no work: so help and completion load no numbers. Help
lists the fields of the last base first. A test holds the names against the registries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

METHODS = (
    *(
        "contrast",
        "counterfactual",
        "deconv_net",
        "either",
        "expected_gradients",
        "gradient",
        "greedy",
        "guided_backprop",
    ),
    *("input_x_gradient", "integrated_gradients", "kernel_shap", "lime", "lrp_epsilon", "lrp_preset_a_flat"),
    *("occlusion", "parzen", "pattern_attribution", "pattern_net", "random_parts", "sensitivity", "smooth_grad"),
    *("smooth_grad_squared", "undo", "var_grad"),
)
GROUPINGS = ("mixture", "gime", "linear", "cte", "etc", "tree", "lime", "maple", "mame")
PARTS = (
    *("rows", "fields", "words", "sentences", "superpixels", "grid", "slices", "tiles", "stems"),
    *("windows", "bands"),
)
METRICS = (
    *("fidelity", "correlation", "faithfulness_correlation", "infidelity", "deletion", "insertion"),
    *("comprehensiveness", "sufficiency", "monotonicity", "seeds", "sizes", "max_sensitivity", "nearby_ranks"),
    *("nearby_parts", "size", "entropy", "sparseness", "recall", "precision", "pointing", "mass"),
    *("randomization",),
)
CHECKS = (
    *("accuracy", "fooling", "labels", "leakage", "reliance", "shift"),
    *("mismatch", "randomize", "sampling", "spurious", "veracity"),
)
FAIL_ON = ("both", "model", "method")
CAUSES = (
    *("carlini_wagner", "drawn_shape", "edited_columns", "noisy_parts", "pgd", "spsa", "square"),
    *("swapped_parts", "swapped_words"),
)
ENGINES = ("local", "dask", "ray", "spark")


DATA, EXPLANATION, SCALE, OUTPUT = "Data", "Explanation", "Many rows", "Output"  # panels of the help
MODEL_FORMS = "a file (.onnx, .skops; with --trust also .joblib, .pkl, .pt2, .pt), module:name or file.py:name"
DATA_FORMS = "CSV, Parquet, JSONL, text, picture or sound files, arrays (.npy), or folders of them"


def argument(metavar: str, meaning: str) -> Any:
    """An argument that is given by its place."""
    return typer.Argument(metavar=metavar, help=meaning, show_default=False)


def option(panel: str, metavar: str, meaning: str, known: Sequence[str] = ()) -> Any:
    """An option with a value, which the names in ``known`` complete."""
    complete = complete_list(known) if known else None
    return typer.Option(metavar=metavar, help=meaning, rich_help_panel=panel, autocompletion=complete)


def flag(panel: str, name: str, meaning: str) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar="", help=meaning, rich_help_panel=panel)


def complete_list(known: Sequence[str]) -> Callable[[str], list[str]]:
    """A completion of the last name in a list with commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in known if name.startswith(last)]

    return complete


Text = str | None
Method = Annotated[
    Text, option(EXPLANATION, "METHOD", "How features are weighed: lime, kernel_shap, occlusion, …", METHODS)
]
Methods = Annotated[
    Text, option(EXPLANATION, "A,B", "Methods of explanation: lime, kernel_shap, occlusion, …", METHODS)
]
Fail = Annotated[bool, flag(OUTPUT, "--fail", "Exit with 1 where a verdict did not pass.")]


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the result goes."""

    out: Annotated[
        list[str] | None,
        option(OUTPUT, "FILE", "Write .html, .json, .parquet, .svg, .png, .pdf, .csv, …; can be given again."),
    ] = None
    json: Annotated[bool, flag(OUTPUT, "--json", "Print JSON, which vd.load reads.")] = False
    quiet: Annotated[bool, flag(OUTPUT, "--quiet", "Print nothing but errors.")] = False


@dataclass(frozen=True, kw_only=True)
class SharedOptions:
    """Which data, how they and the model are read, and what is explained."""

    rows: Annotated[
        Text, option(DATA, "A:B", "Some rows: 0:50 or :20, counted from 0, or as by --row: 3,7,8.")
    ] = None
    background: Annotated[Text, option(DATA, "FILE", "What values are usual, such as train.csv; else DATA.")] = (
        None
    )
    label: Annotated[
        Text, option(DATA, "COLUMN", 'The right answers, which the model does not see; "folder": where files are.')
    ] = None
    text: Annotated[Text, option(DATA, "COLUMN", "The column to explain as a text.")] = None
    id: Annotated[Text, option(DATA, "COLUMN", "The names of rows, for --row and --rows.")] = None
    columns: Annotated[Text, option(DATA, "A,B", "The columns to keep, in this order.")] = None
    dates: Annotated[Text, option(DATA, "A,B", "The columns that hold dates.")] = None
    lines: Annotated[bool, flag(DATA, "--lines", "Every line of a text file is a text.")] = False
    encoding: Annotated[Text, option(DATA, "NAME", "Of text files that are not UTF-8: cp1252, …")] = None
    separator: Annotated[Text, option(DATA, "SIGN", "Between columns, where it cannot be told.")] = None
    trust: Annotated[bool, flag(DATA, "--trust", "Load a model that can run code: only files that you trust.")] = (
        False
    )
    output: Annotated[Text, option(DATA, "NAME", "Which output of an ONNX model.")] = None
    pixels: Annotated[
        Text, option(DATA, "RANGE", "The scale that a network expects: 0..1, 0..255 or imagenet.")
    ] = None
    target: Annotated[Text, option(EXPLANATION, "CLASS", "What is explained: a class, or 'output 0'.")] = None
    classes: Annotated[Text, option(EXPLANATION, "A,B", "Names of the outputs, in their order.")] = None
    parts: Annotated[
        Text,
        option(
            EXPLANATION,
            "PARTS",
            f"The features to explain by: {', '.join(PARTS)}; how many: superpixels:30, grid:4x6.",
            PARTS,
        ),
    ] = None
    samples: Annotated[int | None, option(EXPLANATION, "N", "How many samples a method asks the model about.")] = (
        None
    )
    rng: Annotated[int, option(EXPLANATION, "N", "The random seed.")] = 0


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """One of the rows."""

    row: Annotated[Text, option(DATA, "N", "One row: its name, or else its number from 0.")] = None


@dataclass(frozen=True, kw_only=True)
class ModelArguments:
    """A model and its data."""

    model: Annotated[str, argument("MODEL", MODEL_FORMS)]
    data: Annotated[list[str], argument("DATA", DATA_FORMS)]


@dataclass(frozen=True, kw_only=True)
class ModelOptions(OutputOptions, SharedOptions):
    """What all commands about a model and its data have."""


@dataclass(frozen=True, kw_only=True)
class MethodOptions(ModelOptions):
    """How explanations are made."""

    method: Method = None


@dataclass(frozen=True, kw_only=True)
class ScaleOptions:
    """Who works on many rows, and where their explanations are kept."""

    store: Annotated[
        Text, option(SCALE, "FOLDER", "Explain into a folder; the same command goes on where it was stopped.")
    ] = None
    engine: Annotated[
        Text, option(SCALE, "ENGINE", f"What works on chunks of rows: {', '.join(ENGINES)}.", ENGINES)
    ] = None
    workers: Annotated[
        int | None,
        option(SCALE, "N", "How many processes work at a time; else one per core, or one without an engine."),
    ] = None
    address: Annotated[
        Text, option(SCALE, "URL", "The address of a running cluster, as tcp://host:8786; else one is started.")
    ] = None
    keep: Annotated[Text, option(SCALE, "A,B", "Columns that are stored beside explanations, such as an id.")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(ScaleOptions, MethodOptions, RowOptions, ModelArguments):
    """Explain predictions: why did the model say that?"""

    fail: Fail = False


@dataclass(frozen=True, kw_only=True)
class FlipsOptions(ModelOptions, RowOptions, ModelArguments):
    """Find the smallest changes of a row that turn the answer: change this and it flips."""

    to: Annotated[
        Text, option(EXPLANATION, "CLASS", "The class that the answer should become, or the value to cross.")
    ] = None
    immutable: Annotated[Text, option(EXPLANATION, "A,B", "Columns or words that never change.")] = None
    changes: Annotated[int, option(EXPLANATION, "N", "How many changes at most.")] = 5
    fail: Annotated[bool, flag(OUTPUT, "--fail", "Exit with 1 where no change was found.")] = False


@dataclass(frozen=True, kw_only=True)
class PickOptions(MethodOptions):
    """Pick a few explanations that show together what the model uses (SP-LIME)."""

    source: Annotated[list[str], argument("MANY | MODEL DATA", "Saved explanations, or a model and its data.")]
    budget: Annotated[int, option(EXPLANATION, "N", "How many explanations to pick.")] = 5
    k: Annotated[int | None, option(EXPLANATION, "K", "Count the K heaviest features of each explanation.")] = None


@dataclass(frozen=True, kw_only=True)
class GroupOptions(ModelOptions, ModelArguments):
    """Explain the whole model by a few groups of instances, each with one explanation."""

    k: Annotated[str, option(EXPLANATION, "K", "How many groups: 4, or 2:8 to choose.")] = "4"
    features: Annotated[int, option(EXPLANATION, "N", "The most features of an explanation.")] = 5
    method: Annotated[
        Text, option(EXPLANATION, "METHOD", f"How groups are found: {', '.join(GROUPINGS)}.", GROUPINGS)
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReportOptions(MethodOptions, ModelArguments):
    """Write one page about a model: what it goes by, rows that show it, groups, reliability, checks."""

    rows: Annotated[
        Text,
        option(DATA, "N", "How many rows are drawn and explained (1000); or, as elsewhere, which: 0:50, 3,7,8."),
    ] = None
    title: Annotated[Text, option(OUTPUT, "TEXT", "The title of the page.")] = None


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(ModelOptions, ModelArguments):
    """Measure how good explanations are, beside null baselines."""

    methods: Methods = None
    metrics: Annotated[
        Text,
        option(EXPLANATION, "A,B", "What is measured: correlation, deletion, …; else all that apply.", METRICS),
    ] = None


@dataclass(frozen=True, kw_only=True)
class CheckOptions(ModelOptions):
    """What checks use beside a model and its data."""

    region: Annotated[Text, option(EXPLANATION, "A,B", "Columns or words that the model should not rely on.")] = (
        None
    )
    shifted: Annotated[Text, option(DATA, "FILE", "Data of another kind than DATA.")] = None


@dataclass(frozen=True, kw_only=True)
class DebugOptions(CheckOptions, ModelArguments):
    """Run one check: would explanations show a broken model, and is this one sound?"""

    check: Annotated[str, option(EXPLANATION, "CHECK", f"One of {', '.join(CHECKS)}.", CHECKS)] = "randomize"
    method: Method = None
    fail: Fail = False


@dataclass(frozen=True, kw_only=True)
class AuditOptions(CheckOptions):
    """Run all checks that apply to a model and its data, before it is shipped."""

    source: Annotated[
        list[str],
        argument(
            "SUBJECT | MODEL DATA",
            "module:name of a vd.Subject or of a function that gives one, or a model and its data.",
        ),
    ]
    checks: Annotated[
        Text, option(EXPLANATION, "A,B", f"Some of {', '.join(CHECKS)}; else all that apply.", CHECKS)
    ] = None
    methods: Methods = None
    fail_on: Annotated[
        str, option(OUTPUT, "PART", "What decides the exit code: model, method (explanations) or both.", FAIL_ON)
    ] = "both"
    strict: Annotated[bool, flag(OUTPUT, "--strict", "Count checks that are not clear as failed.")] = False


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(MethodOptions):
    """What a model is trained again on, and what says whether that was any good."""

    training: Annotated[Text, option(DATA, "FILE", "Rows to train on, with right answers, such as train.csv.")] = (
        None
    )
    train: Annotated[
        Text, option(DATA, "PLACE", "file.py:name of a function (X, y, seed) that gives a new predict function.")
    ] = None
    elsewhere: Annotated[
        Text, option(DATA, "FILE", "Rows with right answers from another source: where a leak shows.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class CleanOptions(TrainingOptions, ModelArguments):
    """Train a model again without columns or words that should not matter: is it better?"""

    remove: Annotated[str, option(EXPLANATION, "A,B", "Columns or words to remove.")]
    sealed: Annotated[bool, flag(DATA, "--sealed", "Measure on the sealed half of DATA: once, at the end.")] = (
        False
    )
    draws: Annotated[int, option(EXPLANATION, "N", "How many random removals to compare with.")] = 10
    fail: Fail = False


@dataclass(frozen=True, kw_only=True)
class VeracityOptions(ModelOptions, ModelArguments):
    """Change instances until the model errs, and ask whether explanations name what was changed."""

    methods: Methods = None
    causes: Annotated[
        Text, option(EXPLANATION, "A,B", f"What is changed: {', '.join(CAUSES)}; else what fits.", CAUSES)
    ] = None
    threshold: Annotated[float | None, option(EXPLANATION, "T", "Where one output makes the decision.")] = None


@dataclass(frozen=True, kw_only=True)
class CompareOptions(MethodOptions, RowOptions):
    """Compare two explanations: do they differ by more than their noise?"""

    first: Annotated[str, argument("FIRST", "A saved explanation, a file or store of many, or a model.")]
    second: Annotated[str, argument("SECOND", "Another one.")]
    data: Annotated[list[str] | None, argument("DATA", "What two models explain.")] = None
    names: Annotated[Text, option(OUTPUT, "A,B", "What the two are called.")] = None
    fail: Annotated[bool, flag(OUTPUT, "--fail", "Exit with 1 where they differ by more than noise.")] = False


@dataclass(frozen=True, kw_only=True)
class WatchOptions(OutputOptions):
    """Did the reasons change between two nights or two models, by more than the noise?"""

    old: Annotated[str, argument("STORE_OLD", "The folder of a store, or a file of many explanations.")]
    new: Annotated[str, argument("STORE_NEW", "Another one: of other rows, or of the same rows by another model.")]
    names: Annotated[Text, option(OUTPUT, "A,B", "What the two are called.")] = None
    tolerance: Annotated[
        float, option(EXPLANATION, "T", "The change that counts as none, as a share of all importance or rows.")
    ] = 0.01
    junit: Annotated[
        Text, option(OUTPUT, "FILE", "Write JUnit XML for a CI server: what changed is a failure.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ShowOptions(OutputOptions):
    """Show or convert what was saved."""

    file: Annotated[str, argument("FILE", "A .json or .parquet file, or the folder of a store.")]
    row: Annotated[int | None, option(DATA, "N", "One of many explanations, counted from 0.")] = None


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Explain real predictions, print them, and write a page; or write files to try the commands on."""

    page: Annotated[str, argument("PAGE", "Where the page goes, if not to report.html.")] = "report.html"
    files: Annotated[Text, option(OUTPUT, "FOLDER", "Write models and data to try commands on.")] = None


@dataclass(frozen=True)
class VersionOptions:
    """Print the version."""
