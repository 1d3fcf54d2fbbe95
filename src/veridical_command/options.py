"""The arguments and options that commands share: each is written once, and named by its type."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from veridical_command import names

DATA, QUESTION, SCALE, OUTPUT = "Data", "Question", "Many rows", "Output"  # panels of the help
MODEL_FORMS = "a file (.onnx, .skops; with --trust also .joblib, .pkl, .pt2, .pt), module:name or file.py:name"
DATA_FORMS = "CSV, Parquet, JSONL, text, picture or sound files, arrays (.npy), or folders of them"


def argument(metavar: str, meaning: str) -> Any:
    """What is told by its place."""
    return typer.Argument(metavar=metavar, help=meaning, show_default=False)


def option(panel: str, metavar: str, meaning: str, known: Sequence[str] = ()) -> Any:
    """What is told by name; ``known`` completes it."""
    complete = completed(known) if known else None
    return typer.Option(metavar=metavar, help=meaning, rich_help_panel=panel, autocompletion=complete)


def flag(panel: str, name: str, meaning: str) -> Any:
    """What is said or not."""
    return typer.Option(name, metavar="", help=meaning, rich_help_panel=panel)


def completed(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Completion of the last name of a list with commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in known if name.startswith(last)]

    return complete


Text = str | None

Model = Annotated[str, argument("MODEL", MODEL_FORMS)]
Data = Annotated[list[str], argument("DATA", DATA_FORMS)]

Row = Annotated[Text, option(DATA, "N", "One row: its name, or else its number from 0.")]
Rows = Annotated[Text, option(DATA, "A:B", "Some rows, counted from 0: 0:50, :20 or 3,7,8.")]
Background = Annotated[Text, option(DATA, "FILE", "What values are usual, such as train.csv; else DATA.")]
Label = Annotated[
    Text, option(DATA, "COLUMN", 'The right answers, which the model does not see; "folder": where files are.')
]
TextColumn = Annotated[Text, option(DATA, "COLUMN", "The column to explain as a text.")]
Id = Annotated[Text, option(DATA, "COLUMN", "What rows are called, to ask for by --row.")]
Columns = Annotated[Text, option(DATA, "A,B", "The columns to keep, in this order.")]
Dates = Annotated[Text, option(DATA, "A,B", "The columns that hold dates.")]
Lines = Annotated[bool, flag(DATA, "--lines", "Every line of a text file is a text.")]
Encoding = Annotated[Text, option(DATA, "NAME", "Of text files that are not UTF-8: cp1252, …")]
Separator = Annotated[Text, option(DATA, "SIGN", "Between columns, where it cannot be told.")]
Trust = Annotated[bool, flag(DATA, "--trust", "Load a model that can run code: only files of your own.")]
Output = Annotated[Text, option(DATA, "NAME", "Which output of an ONNX model.")]
Pixels = Annotated[Text, option(DATA, "RANGE", "What a network sees: 0..1, 0..255 or imagenet.")]
Saved = Annotated[int | None, option(DATA, "N", "One of many explanations, counted from 0.")]
Shifted = Annotated[Text, option(DATA, "FILE", "Data of another kind than DATA.")]

Target = Annotated[Text, option(QUESTION, "CLASS", "What is explained: a class, or 'output 0'.")]
Classes = Annotated[Text, option(QUESTION, "A,B", "Names of the outputs, in their order.")]
Parts = Annotated[
    Text,
    option(
        QUESTION,
        "PARTS",
        f"What can be taken away: {', '.join(names.PARTS)}; how many: superpixels:30, grid:4x6.",
        names.PARTS,
    ),
]
Method = Annotated[
    Text,
    option(QUESTION, "METHOD", "How parts are weighed: lime, kernel_shap, occlusion, …", names.METHODS),
]
Methods = Annotated[
    Text,
    option(QUESTION, "A,B", "Methods of explanation: lime, kernel_shap, occlusion, …", names.METHODS),
]
Purpose = Annotated[
    Text,
    option(QUESTION, "PURPOSE", "What is asked, instead of a method: content, change or either.", names.PURPOSES),
]
Samples = Annotated[int | None, option(QUESTION, "N", "How often a method asks the model.")]
Rng = Annotated[int, option(QUESTION, "N", "What fixes all randomness.")]
Budget = Annotated[int, option(QUESTION, "N", "How many.")]
Heaviest = Annotated[int | None, option(QUESTION, "K", "Count the K heaviest parts of each.")]
Groups = Annotated[str, option(QUESTION, "K", "How many groups: 4, or 2:8 to choose.")]
Features = Annotated[int, option(QUESTION, "N", "The most features of an explanation.")]
Grouping = Annotated[
    Text, option(QUESTION, "METHOD", f"How groups are found: {', '.join(names.GROUPINGS)}.", names.GROUPINGS)
]
Metrics = Annotated[
    Text,
    option(QUESTION, "A,B", "What is measured: correlation, deletion, …; else all that apply.", names.METRICS),
]
Region = Annotated[Text, option(QUESTION, "A,B", "Columns or words that the model may wrongly go by.")]
Check = Annotated[str, option(QUESTION, "CHECK", f"One of {', '.join(names.CHECKS)}.", names.CHECKS)]
Checks = Annotated[
    Text,
    option(QUESTION, "A,B", f"Some of {', '.join(names.CHECKS)}; else all that apply.", names.CHECKS),
]
Causes = Annotated[
    Text, option(QUESTION, "A,B", f"What is changed: {', '.join(names.CAUSES)}; else what fits.", names.CAUSES)
]
Threshold = Annotated[float | None, option(QUESTION, "T", "Where one output makes the decision.")]

Store = Annotated[
    Text,
    option(SCALE, "FOLDER", "Explain into a folder, which the same command goes on with where it was stopped."),
]
Engine = Annotated[
    Text, option(SCALE, "ENGINE", f"What works on chunks of rows: {', '.join(names.ENGINES)}.", names.ENGINES)
]
Workers = Annotated[
    int | None,
    option(SCALE, "N", "How many processes work at a time; else one a core, or one where no engine is named."),
]
Address = Annotated[Text, option(SCALE, "URL", "Of a cluster that runs, as tcp://host:8786; else one is started.")]
Keep = Annotated[Text, option(SCALE, "A,B", "Columns that are stored beside explanations, such as an id.")]

Out = Annotated[
    list[str] | None,
    option(OUTPUT, "FILE", "Write .html, .json, .parquet, .svg, .png, .pdf, .csv, …; can be given again."),
]
Json = Annotated[bool, flag(OUTPUT, "--json", "Print JSON, which vd.load reads.")]
Quiet = Annotated[bool, flag(OUTPUT, "--quiet", "Say nothing but errors.")]
Fail = Annotated[bool, flag(OUTPUT, "--fail", "Exit with 1 where a verdict did not pass.")]
FailUnlike = Annotated[bool, flag(OUTPUT, "--fail", "Exit with 1 where they differ by more than noise.")]
Names = Annotated[Text, option(OUTPUT, "A,B", "What the two are called.")]
Files = Annotated[Text, option(OUTPUT, "FOLDER", "Write models and data to try commands on.")]
