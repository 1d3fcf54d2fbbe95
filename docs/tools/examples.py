"""The page of the examples: what every script of examples/ asks and shows, made of its docstring and its code."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEAD = """# Examples

Real models explained, each by a script of `examples/` that prints what it finds and writes a page. `make examples`
installs what they need and runs them all.
"""


def scripts() -> list[Path]:
    """The examples in the order of their table in examples/README.md."""
    table = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    return sorted((ROOT / "examples").glob("*.py"), key=lambda path: table.index(f"[{path.name}]"))


def entry(script: Path) -> str:
    """One example: its question, what it is about, and its code."""
    code = script.read_text(encoding="utf-8").rstrip()
    question, _, about = (ast.get_docstring(ast.parse(code)) or "").partition("? ")
    lines = f'??? example "examples/{script.name}, {len(code.splitlines())} lines"'
    listing = textwrap.indent(f"```py\n{code}\n```", "    ")
    return f"## {question}?\n\n{about}\n\n{lines}\n\n{listing}\n"


def examples() -> str:
    """The page."""
    return "\n".join([LEAD, *map(entry, scripts())])
