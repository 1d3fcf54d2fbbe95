"""What was asked: a command is a frozen record of what was typed, and does no work.

``veridical.cli`` has a function for each; so help and completion load no numbers.
"""

from dataclasses import dataclass
from typing import Annotated

import typer

from veridical_command import names, options
from veridical_command.options import OUTPUT, QUESTION


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Where what was found goes."""

    out: options.Out = None
    json: options.Json = False
    quiet: options.Quiet = False


@dataclass(frozen=True, kw_only=True)
class About:
    """Which data, how they and the model are read, and what is asked."""

    rows: options.Rows = None
    background: options.Background = None
    label: options.Label = None
    text: options.Text = None
    id: options.Id = None
    columns: options.Columns = None
    dates: options.Dates = None
    lines: options.Lines = False
    encoding: options.Encoding = None
    separator: options.Separator = None
    trust: options.Trust = False
    output: options.Output = None
    pixels: options.Pixels = None
    target: options.Target = None
    classes: options.Classes = None
    parts: options.Parts = None
    samples: options.Samples = None
    rng: options.Rng = 0


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One of the rows."""

    row: options.Row = None


@dataclass(frozen=True, kw_only=True)
class Way:
    """How parts are weighed."""

    method: options.Method = None
    purpose: options.Purpose = None


@dataclass(frozen=True, kw_only=True)
class Given:
    """A model and its data."""

    model: options.Model
    data: options.Data


@dataclass(frozen=True, kw_only=True)
class Asking(Shown, Way, About):
    """Explanations that are asked for; help lists what comes last here first."""


@dataclass(frozen=True, kw_only=True)
class Explain(Asking, Choice, Given):
    """Explain predictions: why did the model say that?"""

    fail: options.Fail = False


@dataclass(frozen=True, kw_only=True)
class Pick(Asking):
    """Pick a few explanations that show together what the model uses (SP-LIME)."""

    source: Annotated[
        list[str],
        typer.Argument(
            metavar="MANY | MODEL DATA", help="Saved explanations, or a model and its data.", show_default=False
        ),
    ]
    budget: Annotated[int, typer.Option(metavar="N", help="How many.", rich_help_panel=QUESTION)] = 5
    k: Annotated[
        int | None, typer.Option(metavar="K", help="Count the K heaviest parts of each.", rich_help_panel=QUESTION)
    ] = None


@dataclass(frozen=True, kw_only=True)
class Group(Shown, About, Given):
    """Explain the whole model by a few groups of instances, each with one explanation."""

    k: Annotated[
        str, typer.Option(metavar="K", help="How many groups: 4, or 2:8 to choose.", rich_help_panel=QUESTION)
    ] = "4"
    features: Annotated[
        int, typer.Option(metavar="N", help="The most features of an explanation.", rich_help_panel=QUESTION)
    ] = 5
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help=f"How groups are found: {', '.join(names.GROUPINGS)}.",
            rich_help_panel=QUESTION,
            autocompletion=options.completed(names.GROUPINGS),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Evaluate(Shown, About, Given):
    """Measure how good explanations are, beside some that know nothing."""

    methods: options.Methods = None
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="What is measured: correlation, deletion, …; else all that apply.",
            rich_help_panel=QUESTION,
            autocompletion=options.completed(names.METRICS),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Suspect(Shown, About):
    """What checks can be told beside a model and its data."""

    region: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Columns or words that the model may wrongly go by.", rich_help_panel=QUESTION
        ),
    ] = None
    shifted: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Data of another kind than DATA.", rich_help_panel=options.DATA),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Debug(Suspect, Given):
    """Ask whether explanations would show a broken model, or whether this one is: one check."""

    check: Annotated[
        str,
        typer.Option(
            metavar="CHECK",
            help=f"One of {', '.join(names.CHECKS)}.",
            rich_help_panel=QUESTION,
            autocompletion=options.completed(names.CHECKS),
        ),
    ] = "randomize"
    method: options.Method = None
    fail: options.Fail = False


@dataclass(frozen=True, kw_only=True)
class Audit(Suspect):
    """Run all checks that apply to a model and its data, before it is shipped."""

    source: Annotated[
        list[str],
        typer.Argument(
            metavar="SUBJECT | MODEL DATA",
            help="module:name of a vd.Subject or of a function that gives one, or a model and its data.",
            show_default=False,
        ),
    ]
    checks: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=f"Some of {', '.join(names.CHECKS)}; else all that apply.",
            rich_help_panel=QUESTION,
            autocompletion=options.completed(names.CHECKS),
        ),
    ] = None
    methods: options.Methods = None


@dataclass(frozen=True, kw_only=True)
class Veracity(Shown, About, Given):
    """Change instances until the model errs, and ask whether explanations name what was changed."""

    methods: options.Methods = None
    causes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=f"What is changed: {', '.join(names.CAUSES)}; else what fits.",
            rich_help_panel=QUESTION,
            autocompletion=options.completed(names.CAUSES),
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(metavar="T", help="Where one output makes the decision.", rich_help_panel=QUESTION),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Compare(Asking, Choice):
    """Hold two explanations side by side: do they differ by more than their noise?"""

    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="A saved explanation, or a model.", show_default=False)
    ]
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Another one.", show_default=False)]
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="What two models explain.", show_default=False),
    ] = None
    names: Annotated[
        str | None, typer.Option(metavar="A,B", help="What the two are called.", rich_help_panel=OUTPUT)
    ] = None
    fail: Annotated[
        bool,
        typer.Option("--fail", help="Exit with 1 where they differ by more than noise.", rich_help_panel=OUTPUT),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Show(Shown):
    """Show or convert what was saved."""

    file: Annotated[str, typer.Argument(metavar="FILE", help="A .json or .parquet file.", show_default=False)]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Explain real predictions, print them, and write a page; or write files to try the commands on."""

    page: Annotated[str, typer.Argument(metavar="PAGE", help="Where the page goes.")] = "report.html"
    files: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Write a model and its data to try commands on.")
    ] = None


@dataclass(frozen=True)
class Version:
    """Print the version."""
