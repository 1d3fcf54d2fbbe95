"""What was asked: a command is a frozen record of what was typed, and does no work.

``veridical.cli`` has a function for each; so help and completion load no numbers. Help lists the fields of the
last base first.
"""

from dataclasses import dataclass
from typing import Annotated

from veridical_command import options
from veridical_command.options import argument


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
    text: options.TextColumn = None
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
class Given:
    """A model and its data."""

    model: options.Model
    data: options.Data


@dataclass(frozen=True, kw_only=True)
class Asked(Shown, About):
    """What all commands about a model and its data are told."""


@dataclass(frozen=True, kw_only=True)
class Asking(Asked):
    """Explanations that are asked for."""

    method: options.Method = None
    purpose: options.Purpose = None


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Where many rows are worked on, and where what is found is kept."""

    store: options.Store = None
    engine: options.Engine = None
    workers: options.Workers = None
    address: options.Address = None
    keep: options.Keep = None


@dataclass(frozen=True, kw_only=True)
class Explain(Scale, Asking, Choice, Given):
    """Explain predictions: why did the model say that?"""

    fail: options.Fail = False


@dataclass(frozen=True, kw_only=True)
class Pick(Asking):
    """Pick a few explanations that show together what the model uses (SP-LIME)."""

    source: Annotated[list[str], argument("MANY | MODEL DATA", "Saved explanations, or a model and its data.")]
    budget: options.Budget = 5
    k: options.Heaviest = None


@dataclass(frozen=True, kw_only=True)
class Group(Asked, Given):
    """Explain the whole model by a few groups of instances, each with one explanation."""

    k: options.Groups = "4"
    features: options.Features = 5
    method: options.Grouping = None


@dataclass(frozen=True, kw_only=True)
class Evaluate(Asked, Given):
    """Measure how good explanations are, beside some that know nothing."""

    methods: options.Methods = None
    metrics: options.Metrics = None


@dataclass(frozen=True, kw_only=True)
class Suspect(Asked):
    """What checks can be told beside a model and its data."""

    region: options.Region = None
    shifted: options.Shifted = None


@dataclass(frozen=True, kw_only=True)
class Debug(Suspect, Given):
    """Ask whether explanations would show a broken model, or whether this one is: one check."""

    check: options.Check = "randomize"
    method: options.Method = None
    fail: options.Fail = False


@dataclass(frozen=True, kw_only=True)
class Audit(Suspect):
    """Run all checks that apply to a model and its data, before it is shipped."""

    source: Annotated[
        list[str],
        argument(
            "SUBJECT | MODEL DATA",
            "module:name of a vd.Subject or of a function that gives one, or a model and its data.",
        ),
    ]
    checks: options.Checks = None
    methods: options.Methods = None


@dataclass(frozen=True, kw_only=True)
class Veracity(Asked, Given):
    """Change instances until the model errs, and ask whether explanations name what was changed."""

    methods: options.Methods = None
    causes: options.Causes = None
    threshold: options.Threshold = None


@dataclass(frozen=True, kw_only=True)
class Compare(Asking, Choice):
    """Hold two explanations side by side: do they differ by more than their noise?"""

    first: Annotated[str, argument("FIRST", "A saved explanation, a file or store of many, or a model.")]
    second: Annotated[str, argument("SECOND", "Another one.")]
    data: Annotated[list[str] | None, argument("DATA", "What two models explain.")] = None
    names: options.Names = None
    fail: options.FailUnlike = False


@dataclass(frozen=True, kw_only=True)
class Show(Shown):
    """Show or convert what was saved."""

    file: Annotated[str, argument("FILE", "A .json or .parquet file, or the folder of a store.")]
    row: options.Saved = None


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Explain real predictions, print them, and write a page; or write files to try the commands on."""

    page: Annotated[str, argument("PAGE", "Where the page goes, if not to report.html.")] = "report.html"
    files: options.Files = None


@dataclass(frozen=True)
class Version:
    """Print the version."""
