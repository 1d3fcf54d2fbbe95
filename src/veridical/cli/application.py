"""The application: what can be typed, with its help, examples and completion."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Annotated, Any

import typer

from veridical.cli import options

WIDTH = 76  # of an example in the help: what a terminal of 80 columns shows without a break of its own
LEAD = "Explain any model's predictions, and say how far each explanation can be trusted."
ENDING = (
    "To try the examples: veridical demo --files samples && cd samples",
    "Exit codes: 0 it ran, 1 a check or verdict failed (audit, or with --fail) or reasons changed (watch), 2 it could not run.",
)
EXAMPLES: dict[str, tuple[str, ...]] = {
    "demo": ("veridical demo report.html", "veridical demo --files samples"),
    "explain": (
        "veridical explain model.onnx data.csv --row 3 --out why.html",
        "veridical explain model.py:forest data.csv --rows 0:20 --background train.csv --out many.parquet",
        "veridical explain model.py:topic texts.jsonl --label topic --row 0 --json",
        "veridical explain model.py:ripe apples --row apple-0.png --method undo --out apple.html",
        "veridical explain model.joblib data.csv --row 3 --target Barolo --method kernel_shap --trust",
        "veridical explain model.py:forest data.csv --background train.csv --workers 2 --store nightly",
    ),
    "flips": (
        "veridical flips model.py:forest data.csv --background train.csv --label grape --row 3 --out flips.html",
        "veridical flips model.py:linear data.csv --label grape --row 3 --to Grignolino --immutable ash",
        "veridical flips model.py:topic texts.jsonl --label topic --row 0",
    ),
    "pick": (
        "veridical pick many.parquet --budget 3",
        "veridical pick nightly --target Barolo --budget 3",
        "veridical pick model.py:forest data.csv --target Barolo --budget 3 --k 5 --out pick.html",
    ),
    "group": (
        "veridical group model.py:linear data.csv --target Barolo --k 3 --method gime --out groups.html",
        "veridical group model.py:forest nightly --target Barolo --k 2",
    ),
    "report": (
        "veridical report model.py:forest data.csv --label grape --background train.csv --out model.html",
        "veridical report model.py:topic texts.jsonl --label topic --target clustering --rows 15 --out texts.html",
    ),
    "evaluate": (
        "veridical evaluate model.py:forest data.csv --methods lime,occlusion --metrics correlation,deletion",
    ),
    "debug": ("veridical debug model.py:linear data.csv --label grape --check spurious --fail",),
    "audit": (
        "veridical audit audits:subject --checks spurious,sampling --out audit.html --out audit.xml",
        "veridical audit model.py:linear data.csv --label grape --background train.csv --checks labels",
    ),
    "clean": ("veridical clean model.joblib data.csv --label grape --training train.csv --remove ash --trust",),
    "veracity": ("veridical veracity model.py:forest data.csv --label grape --methods lime --rows :10",),
    "compare": (
        "veridical compare model.py:forest model.py:linear data.csv --row 3 --out models.html",
        "veridical explain model.py:forest data.csv --row 3 --out before.json",
        "veridical explain model.py:forest data.csv --row 4 --rng 1 --out after.json",
        "veridical compare before.json after.json --names before,after",
    ),
    "watch": (
        "veridical explain model.py:linear data.csv --background train.csv --target Barolo --store monday",
        "veridical explain model.py:linear data.csv --background train.csv --target Barolo --rng 1 --store tuesday",
        "veridical watch monday tuesday --out changes.html --junit changes.xml",
    ),
    "show": (
        "veridical show many.parquet",
        "veridical show many.parquet --row 7 --out seventh.svg",
        "veridical show nightly",
    ),
    "version": ("veridical version",),
}


def format_examples(name: str) -> str:
    """The examples of a command, each on a line of its own in its help."""
    title = "Example:" if len(EXAMPLES[name]) == 1 else "Examples:"
    return "\n".join(["\b", title, *(f"  {wrap_command(line)}" for line in EXAMPLES[name])])


def wrap_command(line: str) -> str:
    """A command over as many lines as it needs, which a shell takes for one; no option is torn from its value."""
    whole = re.sub(r"(--[a-z]+) (?!-)", "\\1\N{NO-BREAK SPACE}", line)
    lines = wrap(whole, WIDTH - 2, subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


COMMANDS: dict[str, type] = {
    "demo": options.DemoOptions,
    "explain": options.ExplainOptions,
    "flips": options.FlipsOptions,
    "pick": options.PickOptions,
    "group": options.GroupOptions,
    "report": options.ReportOptions,
    "evaluate": options.EvaluateOptions,
    "debug": options.DebugOptions,
    "audit": options.AuditOptions,
    "clean": options.CleanOptions,
    "veracity": options.VeracityOptions,
    "compare": options.CompareOptions,
    "watch": options.WatchOptions,
    "show": options.ShowOptions,
    "version": options.VersionOptions,
}


def run(command: Any) -> None:
    """Run what was typed; the exit code says how it went."""
    from veridical.cli import commands

    raise typer.Exit(commands.run(command))


def print_version(wanted: bool) -> None:
    """Print the version where --version is given."""
    if wanted:
        run(options.VersionOptions())


Version = Annotated[
    bool,
    typer.Option(
        "--version",
        metavar="",
        help="Show the version and exit.",
        is_eager=True,
        expose_value=False,
        callback=print_version,
    ),
]


def build_app() -> typer.Typer:
    """The commands, each with its help and examples."""
    app = typer.Typer(
        name="veridical",
        help=LEAD,
        epilog="\n\n".join(ENDING),
        no_args_is_help=True,
        result_callback=run,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def front(version: Version = False) -> None:
        """What comes before a command."""

    for name, record in COMMANDS.items():
        app.command(name, help=f"{record.__doc__}\n\n{format_examples(name)}")(record)
    return app


app = build_app()
