"""The arguments and options that commands share: each is written once, and named by its type."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from veridical_command import names

DATA, QUESTION, OUTPUT = "Data", "Question", "Output"  # panels of the help


def completed(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Completion of the last name of a list with commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in known if name.startswith(last)]

    return complete


MODEL_FORMS = "a file (.onnx, .skops, .pt2; with --trust also .joblib, .pkl, .pt), module:name or file.py:name"
DATA_FORMS = "CSV, Parquet, JSONL, text, picture or sound files, arrays (.npy), or folders of them"

Model = Annotated[str, typer.Argument(metavar="MODEL", help=MODEL_FORMS, show_default=False)]
Data = Annotated[list[str], typer.Argument(metavar="DATA", help=DATA_FORMS, show_default=False)]

Background = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="What values are usual, such as train.csv; else DATA.", rich_help_panel=DATA
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help='The right answers, which the model does not see; "folder": where files are.',
        rich_help_panel=DATA,
    ),
]
Text = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column to explain as a text.", rich_help_panel=DATA)
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="COLUMN", help="What rows are called, to ask for by --row.", rich_help_panel=DATA
    ),
]
Lines = Annotated[bool, typer.Option("--lines", help="Every line of a text file is a text.", rich_help_panel=DATA)]
Columns = Annotated[
    str | None, typer.Option(metavar="A,B", help="The columns to keep, in this order.", rich_help_panel=DATA)
]
Dates = Annotated[
    str | None, typer.Option(metavar="A,B", help="The columns that hold dates.", rich_help_panel=DATA)
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of text files that are not UTF-8: cp1252, …", rich_help_panel=DATA),
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Between columns, where it cannot be told.", rich_help_panel=DATA),
]
Output = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which output of an ONNX model.", rich_help_panel=DATA)
]
Pixels = Annotated[
    str | None,
    typer.Option(metavar="RANGE", help="What an ONNX model sees: 0..1, 0..255 or imagenet.", rich_help_panel=DATA),
]
Rows = Annotated[
    str | None,
    typer.Option(metavar="A:B", help="Some rows, counted from 0: 0:50, :20 or 3,7,8.", rich_help_panel=DATA),
]
Row = Annotated[
    str | None,
    typer.Option(metavar="N", help="One row, counted from 0, or its name.", rich_help_panel=DATA),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Load a model that can run code: only files of your own.", rich_help_panel=DATA),
]

Target = Annotated[
    str | None,
    typer.Option(metavar="CLASS", help="What is explained: a name, or a number from 0.", rich_help_panel=QUESTION),
]
Classes = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Names of the outputs, in their order.", rich_help_panel=QUESTION),
]
Parts = Annotated[
    str | None,
    typer.Option(
        metavar="PARTS",
        help=f"What can be taken away: {', '.join(names.PARTS)}; how many: superpixels:30, grid:4x6.",
        rich_help_panel=QUESTION,
        autocompletion=completed(names.PARTS),
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="How parts are weighed: lime, kernel_shap, occlusion, …",
        rich_help_panel=QUESTION,
        autocompletion=completed(names.METHODS),
    ),
]
Methods = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Methods of explanation: lime, kernel_shap, occlusion, …",
        rich_help_panel=QUESTION,
        autocompletion=completed(names.METHODS),
    ),
]
Purpose = Annotated[
    str | None,
    typer.Option(
        metavar="PURPOSE",
        help="What is asked of parts, instead of a method: content, change or either.",
        rich_help_panel=QUESTION,
        autocompletion=completed(names.PURPOSES),
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(metavar="N", help="How often a method asks the model.", rich_help_panel=QUESTION),
]
Rng = Annotated[int, typer.Option(metavar="N", help="What fixes all randomness.", rich_help_panel=QUESTION)]

Out = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="Write .html, .json, .parquet, .svg, .png, .pdf, .csv, …; can be given again.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, which vd.load reads.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.", rich_help_panel=OUTPUT)]
Fail = Annotated[
    bool, typer.Option("--fail", help="Exit with 1 where a verdict did not pass.", rich_help_panel=OUTPUT)
]
