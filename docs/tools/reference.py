"""The pages of the reference: ten names first, then the flat names, then a section per namespace."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parents[2] / "src" / "veridical"
TEN = ("explain", "explain_many", "Rows", "Words", "Superpixels", "Lime", "pick", "compare", "audit", "load")
KINDS = {  # the other flat names, by what they are for: a heading to packages, in the order of the page
    "Functions": ("api", "checks.concepts", "scale.picks", "storage"),
    "Representers": ("representations",),
    "Methods and models": ("methods", "evidence", "models"),
    "Records and errors": ("",),
}
SEAM = '["!^_", "!^(source|run)$"]'  # what engines have is told once, where one is added
HOOKED = "representations", "methods", "evidence"  # rooms whose classes have hooks, which protocols.py tells of
DEFINED = ast.ClassDef, ast.FunctionDef
RECORDS = {"records", "errors", "scale.stores.store"}  # whose classes nobody makes by hand


@cache
def flat() -> dict[str, str]:
    """Flat names to their modules, in the order of the table in ``__init__``."""
    homes = _table(ast.parse(_source("")).body, "_HOMES")
    return {name: module.removeprefix("veridical.") for module, names in homes.items() for name in names}


@cache
def namespaces() -> dict[str, str]:
    """Namespaces to their modules."""
    found = _table(ast.parse(_source("")).body, "_NAMESPACES")
    return {name: module.removeprefix("veridical.") for name, module in sorted(found.items())}


def _table(body: list[ast.stmt], name: str) -> Any:
    """The literal that a module gives this name."""
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    return ()


@cache
def names_in(namespace: str) -> dict[str, str]:
    """The public names of a module, and the module that defines each; registries aside."""
    body = ast.parse(_source(namespace)).body
    body = [*body, *(inner for node in body if isinstance(node, ast.If) for inner in node.body)]
    homes = {
        (each.asname or each.name): (node.module or "").removeprefix("veridical.")
        for node in body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    return {name: homes.get(name, namespace) for name in _table(body, "__all__") if not name.isupper()}


def _source(module: str) -> str:
    path = SOURCE.joinpath(*module.split(".")) if module else SOURCE
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def about(module: str) -> str:
    """The first paragraph of what a module says of itself."""
    first = (ast.get_docstring(ast.parse(_source(module))) or "").partition("\n\n")[0]
    return " ".join(first.split()).replace("``", "`")


def sentence(module: str, name: str) -> str:
    """The first line of what a name says of itself."""
    if _is_module(module, name):
        return about(f"{module}.{name}")
    nodes = (node for node in ast.parse(_source(module)).body if getattr(node, "name", "") == name)
    told = (ast.get_docstring(node) for node in nodes if isinstance(node, DEFINED))  # overloads say nothing
    return next(filter(None, told), "").partition("\n")[0].replace("|", "\\|").replace("``", "`")


def _is_module(module: str, name: str) -> bool:
    return SOURCE.joinpath(*module.split("."), f"{name}.py").exists()


def entry(shown: str, module: str, name: str) -> str:
    """What mkdocstrings makes a section of, under the name that users write."""
    options = [f"heading: {shown}", f"toc_label: {shown}"]
    if _is_module(module, name):
        listed = re.search(r"__all__ = (\[.*?\])", _source(f"{module}.{name}"), re.DOTALL)
        options += [f"members: {listed[1]}", f"filters: {SEAM}"] if listed else []
    elif module in RECORDS:
        options += ["merge_init_into_class: false"]
    elif module.startswith(HOOKED) and (called := used(module, name)) is not None:
        options += [f"members: {called or 'false'}"]
    lines = "".join(f"\n      {option}" for option in options)
    return f"::: veridical.{module}.{name}\n    options:{lines}"


def used(module: str, name: str) -> list[str] | None:
    """What users call of a class: class methods, and methods that tell of their parameters; the rest are hooks."""
    for node in ast.parse(_source(module)).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name[0] != "_"]
            return [
                each.name
                for each in methods
                if "classmethod" in map(ast.unparse, each.decorator_list)
                or "Parameters\n" in (ast.get_docstring(each) or "")
            ]
    return None


def first() -> str:
    """The page of the ten names."""
    lead = "Explain, choose what a feature is, compare, check, load. All of it after `import veridical as vd`."
    return "\n\n".join(
        ["# The ten names most people need", lead, *(entry(f"vd.{name}", flat()[name], name) for name in TEN)]
    )


def others() -> str:
    """The page of the other flat names, by what they are for."""
    lines, left = ["# Other names", "The other names that `vd` has without a namespace."], dict(flat())
    for name in TEN:
        del left[name]
    for title, packages in KINDS.items():
        mine = [name for name, module in left.items() if module.startswith(packages)]
        lines += [f"## {title}", *(entry(f"vd.{name}", left.pop(name), name) for name in mine)]
    return "\n\n".join(lines)


@cache
def homes() -> dict[tuple[str, str], tuple[str, str]]:
    """The only place where each name is shown: (module, name) to its page and the name that users write."""
    found = {(module, name): ("first" if name in TEN else "flat", f"vd.{name}") for name, module in flat().items()}
    owned = ((space, name) for space in namespaces() for name in names_in(namespaces()[space]))
    for space, name in owned:
        found.setdefault((names_in(namespaces()[space])[name], name), (space, f"vd.{space}.{name}"))
    return found


def section(space: str) -> str:
    """The page of a namespace: a table of its names, then those that are shown nowhere else."""
    module = namespaces()[space]
    found = names_in(module)
    lines = [f"# vd.{space}", about(module)]
    if found:
        lines += [table({f"vd.{space}.{name}": (home, name) for name, home in found.items()})]
    mine = {name: home for name, home in found.items() if homes()[home, name][0] == space}
    lines += [entry(f"vd.{space}.{name}", home, name) for name, home in mine.items()]
    return "\n\n".join(lines)


def table(names: dict[str, tuple[str, str]]) -> str:
    """Names as users write them, each with a link and what it is in a sentence."""
    rows = [
        f"| [`{shown}`][veridical.{module}.{name}] | {sentence(module, name)} |"
        for shown, (module, name) in names.items()
    ]
    return "\n".join(["| name | what it is |", "| --- | --- |", *rows])


def index() -> str:
    """All names on one page, each with what it is in a sentence."""
    others = {name: module for name, module in flat().items() if name not in TEN}
    spaces = [f"| [`vd.{space}`]({space}.md) | {about(module)} |" for space, module in namespaces().items()]
    return "\n\n".join(
        [
            "# All names",
            "Everything that `import veridical as vd` brings. The names most people need come first.",
            "## [The ten names most people need](first.md)",
            table({f"vd.{name}": (flat()[name], name) for name in TEN}),
            "## [Other names](flat.md)",
            table({f"vd.{name}": (module, name) for name, module in others.items()}),
            "## Namespaces",
            "\n".join(["| namespace | what it holds |", "| --- | --- |", *spaces]),
        ]
    )


def reference() -> dict[str, str]:
    """All pages of the reference, by their places in the site."""
    pages = {"index": index(), "first": first(), "flat": others()}
    pages |= {space: section(space) for space in namespaces()}
    return {f"reference/{name}.md": re.sub(r"\n{3,}", "\n\n", text) + "\n" for name, text in pages.items()}
