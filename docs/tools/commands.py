"""The page of the command line, made from what can be typed: commands.py writes docs/commands.md."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from veridical.cli import options
from veridical.cli.application import COMMANDS, EXAMPLES, LEAD
from veridical.cli.options import DATA_FORMS, MODEL_FORMS

PAGE = Path(__file__).parents[1] / "commands.md"
SHARED = (options.SharedOptions, options.OutputOptions)  # what most commands have, besides a model and its data
TITLE = f"""# Command line

{LEAD}

```text
pip install '.[cli]'
```

Extras add kinds of files: `onnx` and `skops` for models, `image`, `audio` and `parquet` for data, `plot` for figures
(`pip install '.[cli,onnx]'`).

Try it on your own files, or on samples that it writes. The examples below use these samples:

```text
veridical demo --files samples && cd samples
```

**One grammar.** `veridical COMMAND MODEL DATA [OPTIONS]`.

* MODEL is {MODEL_FORMS}. A function takes a batch of inputs and returns a row of numbers per input. Of an
  estimator, probabilities are explained. A pickle runs whatever code its maker put into it, hence `--trust`.
* DATA are {DATA_FORMS}; `-` reads a table from a pipe. Columns are matched with the
  model's by name. [Models and data in files](guides/own.md) says more.

**Output.** The command prints text, in color on a terminal. `--out` writes a file in the format that its suffix says, and you
can repeat it. `--json` prints JSON, which `vd.load` reads, and nothing else on stdout. Notes, progress and errors go to
stderr.

**Exit codes.**

| code | means |
| --- | --- |
| 0 | it ran |
| 1 | a check of `audit` failed (see `--fail-on`, `--strict`), `watch` found a change, or `--fail` met a verdict that failed |
| 2 | it could not run; the last line says why and what to do |
| 130 | you stopped it with Ctrl-C |
| 141 | what read the output closed it early, as `head` does |

**Completion.** `veridical --install-completion` teaches your shell to complete commands, options, and the names of
methods, checks, metrics, causes and kinds of features.
"""


def settings(record: type) -> dict[str, Any]:
    """Names of a command's fields to what typer knows of them."""
    hints = get_type_hints(record, include_extras=True)
    own = {field.name: hints[field.name] for field in fields(record)}
    return {name: get_args(hint)[1] for name, hint in own.items() if get_origin(hint) is Annotated}


def typed(name: str, known: Any) -> str:
    """An argument or option as it is typed."""
    if type(known).__name__ == "ArgumentInfo":
        return f"`{known.metavar}`"
    option = known.default if isinstance(known.default, str) else f"--{name}"
    return f"`{option} {known.metavar}`" if known.metavar else f"`{option}`"


def table(known: dict[str, Any]) -> str:
    """Arguments and then options, with what they mean."""
    ordered = sorted(known.items(), key=lambda pair: type(pair[1]).__name__)
    cells = [(typed(name, each), str(each.help)) for name, each in ordered]
    lines = [" | ".join(cell.replace(" | ", "` or `") for cell in line) for line in [("type", "to say"), *cells]]
    return "\n".join(f"| {line} |" for line in [lines[0], "--- | ---", *lines[1:]])


def section(name: str, record: type) -> str:
    """One command: what it does, examples, and the options that only it has."""
    shared = {field.name for each in (*SHARED, options.ModelArguments) for field in fields(each)}
    own = {key: each for key, each in settings(record).items() if key not in shared}
    parts = [f"## {name}", str(record.__doc__), "```sh\n" + "\n".join(EXAMPLES[name]) + "\n```"]
    return "\n\n".join([*parts, table(own)] if own else parts)


def page() -> str:
    """The whole page."""
    shared = {key: each for record in SHARED for key, each in settings(record).items()}
    commands = [section(name, record) for name, record in COMMANDS.items()]
    last = f"## Options of most commands\n\n{table(shared)}"
    return "\n\n".join([TITLE.rstrip(), *commands, last]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
