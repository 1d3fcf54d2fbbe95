"""The pages of the reference: every public name, by the module that it comes from."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "veridical"
PAGES = {  # page to its title and lead, and which names it has: their kind, or the package of their module
    "functions": (
        "Functions",
        "What is called: each takes a model, a representer and instances, or what others gave.",
    ),
    "represent": ("Representers", "What can be taken away, and what stands in for it."),
    "attribute": (
        "Methods",
        "How much each part counts: settings that `vd.explain(…, method=…)` takes, and theirs.",
    ),
    "summarize": ("Groups and concepts", "From many explanations to few."),
    "debug": ("Causes, checks and plants", "What makes models wrong, and whether explanations show it."),
    "scale": ("Engines and stores", "Many rows on many machines, and where their explanations are kept."),
    "records": ("Records and errors", "What comes back. Records are frozen, and their arrays read-only."),
}
ORDER = (  # modules and packages, in the order in which a reader wants them
    "records",
    *(f"represent.{kind}" for kind in ("rows", "words", "pictures", "sounds", "series", "fields", "")),
    *(f"attribute.{kind}" for kind in ("lime", "shapley", "occlusion", "undo", "sensitivity", "")),
    *("masks", "api", "reports", "differences", "picks", "summarize.", "evaluate.", "belief", "known", "debug."),
)
SEAM = '["!^_", "!^(source|run)$"]'  # what engines have is told once, where one is added
DEFINED = ast.ClassDef, ast.FunctionDef
PLAIN = "\n    options:\n      merge_init_into_class: false"  # nobody makes a record by hand


@cache
def public() -> dict[str, list[str]]:
    """Modules with a public name, in the order in which they are used, to their names."""
    found: dict[str, list[str]] = {}
    for node in ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [each.asname or each.name for each in node.names]
            kept = [name for name in names if not name.startswith("_")]
            found.setdefault(node.module.removeprefix("veridical."), []).extend(kept)
    return {module: _as_defined(module, found[module]) for module in sorted(found, key=_rank) if found[module]}


def _as_defined(module: str, names: list[str]) -> list[str]:
    """Names in the order in which their module defines them."""
    defined = [getattr(node, "name", "") for node in ast.parse(_source(module)).body]
    return sorted(names, key=lambda name: defined.index(name) if name in defined else len(defined))


def _source(module: str) -> str:
    path = SOURCE.joinpath(*module.split("."))
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def _rank(module: str) -> int:
    return next((rank for rank, start in enumerate(ORDER) if module.startswith(start)), len(ORDER))


def page_of(module: str, name: str) -> str:
    """The page that shows a name."""
    package, last = module.partition(".")[0], module.rpartition(".")[2]
    if package in {"attribute", "masks"}:
        return "attribute"
    if name[0].islower() and package != "scale":
        return "functions"
    if last in {"records", "errors", "audit"} or package not in PAGES:
        return "records"
    return package


def about(module: str) -> str:
    """The first sentence of a module."""
    first = (ast.get_docstring(ast.parse(_source(module))) or "").partition("\n\n")[0]
    return " ".join(first.split())


def sentence(module: str, name: str) -> str:
    """The first line of what a name says of itself."""
    if _is_module(module, name):
        return about(f"{module}.{name}")
    nodes = (node for node in ast.parse(_source(module)).body if getattr(node, "name", "") == name)
    told = (ast.get_docstring(node) for node in nodes if isinstance(node, DEFINED))  # overloads say nothing
    return next(filter(None, told), "").partition("\n")[0].replace("|", "\\|").replace("``", "`")


def shown(page: str) -> str:
    """One page: its names, below headings that are their modules."""
    title, lead = PAGES[page]
    lines = [f"# {title}", lead]
    for module, names in public().items():
        mine = [name for name in names if page_of(module, name) == page]
        if mine:
            found = [f"::: veridical.{module}.{name}{_options(module, name, page)}" for name in mine]
            lines += [f"## {module}", about(module), *found]
    return "\n\n".join(lines) + "\n"


def _is_module(module: str, name: str) -> bool:
    return SOURCE.joinpath(*module.split("."), f"{name}.py").exists()


def _options(module: str, name: str, page: str) -> str:
    """How a name is shown: a module by what it says is public."""
    if not _is_module(module, name):
        return PLAIN if page == "records" else ""
    listed = re.search(r"__all__ = (\[.*?\])", _source(f"{module}.{name}"), re.DOTALL)
    return f"\n    options:\n      members: {listed[1]}\n      filters: {SEAM}" if listed else ""


def index() -> str:
    """All names on one page, each with what it is in a sentence."""
    lines = ["# All names", "Everything that `import veridical as vd` gives, by what it is for."]
    every = [(module, name) for module, names in public().items() for name in names]
    for page, (title, _) in PAGES.items():
        mine = [
            f"| [`{name}`][veridical.{module}.{name}] | {sentence(module, name)} |"
            for module, name in every
            if page_of(module, name) == page
        ]
        lines += [f"## [{title}]({page}.md)", "\n".join(["| name | what it is |", "| --- | --- |", *mine])]
    return "\n\n".join(lines) + "\n"


def reference() -> dict[str, str]:
    """All pages of the reference, by their places in the site."""
    pages = {f"reference/{page}.md": re.sub(r"\n{3,}", "\n\n", shown(page)) for page in PAGES}
    return {"reference/index.md": index(), **pages}
