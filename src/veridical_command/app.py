"""The application: what can be typed, with its help, examples and completion."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from veridical_command import asked
from veridical_command.examples import ENDING, LEAD, examples_of

COMMANDS: dict[str, type] = {
    "demo": asked.Demo,
    "explain": asked.Explain,
    "pick": asked.Pick,
    "group": asked.Group,
    "evaluate": asked.Evaluate,
    "debug": asked.Debug,
    "audit": asked.Audit,
    "veracity": asked.Veracity,
    "compare": asked.Compare,
    "show": asked.Show,
    "version": asked.Version,
}


def tell(version: bool) -> None:
    """The version, where it is asked for."""
    if version:
        run(asked.Version())


def run(found: Any) -> None:
    """Do what was asked; the exit code says how it went."""
    from veridical.cli import run

    raise typer.Exit(run.run(found))


def front(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            help="Show the version and exit.",
            is_eager=True,
            expose_value=False,
            callback=tell,
        ),
    ] = False,
) -> None:
    """What comes before a command."""


def application() -> typer.Typer:
    """The commands, each with its help and examples."""
    made = typer.Typer(
        name="veridical",
        help=LEAD,
        epilog="\n\n".join(ENDING),
        no_args_is_help=True,
        result_callback=run,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(front)
    for name, record in COMMANDS.items():
        made.command(name, help=f"{record.__doc__}\n\n{examples_of(name)}")(record)
    return made


app = application()
