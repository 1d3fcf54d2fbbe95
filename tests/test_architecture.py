"""Imports point left only, the public names exist, and importing loads nothing optional."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import veridical as vd

SOURCE = Path(vd.__file__).parent
LEVELS = (
    {"errors"},
    {"keywords"},
    {"records", "files"},
    {"pages"},
    {"masks"},
    {"represent", "toys"},
    {"attribute"},
    {"summarize", "evaluate"},
    {"debug"},
    {"packing"},
    {"exchange", "frames"},
    {"serialize"},
    {"scale"},
    {"render"},
    {"api", "belief", "differences", "known", "picks", "reports"},
    {"read"},
    {"demo"},
    {"cli", "serve"},
)
RANK = {layer: rank for rank, layers in enumerate(LEVELS) for layer in layers}
FRONT = {"__init__", "__main__", "demo"}  # may import anything

# Doors: imports inside a function that point right, each with the only place it may stand in.
DOORS = {
    ("records", "Seen.plot", "render"),
    ("records", "Seen.save", "serialize"),
    ("records", "Seen._repr_html_", "render"),
    ("records", "Seen._repr_mimebundle_", "render"),
    ("records", "Seen.__rich__", "render"),
    ("records", "Verdict.__str__", "render"),
    ("records", "Verdict.to_frame", "frames"),
    ("records", "Verdict.__repr__", "render"),
    ("records", "Explanation.to_frame", "frames"),
    ("records", "Explanation.to_shap", "exchange"),
    ("records", "Explanation.__repr__", "render"),
    ("records", "Explanations.to_frame", "frames"),
    ("records", "Explanations.failed", "frames"),
    ("records", "Explanation.to_dict", "exchange"),
    ("records", "Explanations.to_shap", "exchange"),
    ("records", "Explanations.__repr__", "render"),
    ("summarize", "Pick.to_frame", "frames"),
    ("summarize", "Pick.__repr__", "render"),
    ("summarize", "Membership.to_frame", "frames"),
    ("summarize", "Membership.__repr__", "render"),
    ("summarize", "Grouping.to_frame", "frames"),
    ("summarize", "Grouping.__repr__", "render"),
    ("evaluate", "Report.to_frame", "frames"),
    ("evaluate", "Report.__repr__", "render"),
    ("evaluate", "Difference.to_frame", "frames"),
    ("evaluate", "Difference.__repr__", "render"),
    ("debug", "Audit.to_frame", "frames"),
    ("debug", "Audit.__repr__", "render"),
    ("pages", "Page.__repr__", "render"),
    ("scale", "Store.__repr__", "render"),
    ("scale", "Store._repr_html_", "render"),
    ("serialize", "load", "scale"),
    ("serialize", "_write_page", "render"),
    ("serialize", "_write_figure", "render"),
    ("serialize", "_write_tests", "render"),
}
OPTIONAL = (
    "matplotlib", "pyarrow", "torch", "rich", "typer", "IPython", "lime", "skimage", "PIL", "librosa", "soundfile",
    "captum", "onnx", "onnxruntime", "skops", "starlette", "fastapi", "uvicorn", "dask", "ray", "pyspark",
    "tqdm", "shap", "pytest", "hypothesis",
)  # fmt: skip
CORE = (
    "numpy, scipy.sparse, scipy.stats, pandas, sklearn.linear_model, sklearn.tree, joblib"  # load what they will
)


def imports(tree: ast.AST, here: str = "") -> list[tuple[str, str, str]]:
    """(function it stands in or "", module, name) of every import, those for type checkers aside."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found += imports(node, f"{here}.{node.name}".lstrip("."))
        elif isinstance(node, ast.Import):
            found += [(here, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(here, "." * node.level + (node.module or ""), alias.name) for alias in node.names]
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            found += imports(node, here)
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def violations(source: str, layer: str) -> list[str]:
    """Imports of a module of this layer that do not point left."""
    wrong = []
    for where, module, name in imports(ast.parse(source)):
        if module.startswith("."):
            wrong.append(f"{layer}: relative import of {module}")
            continue
        if module.partition(".")[0] != "veridical":
            continue
        target = (module.split(".")[1:] or [name])[0]
        if target == layer and layer not in FRONT:
            continue
        if layer in FRONT:
            continue
        if target not in RANK:
            wrong.append(f"{layer}: {target or 'veridical'} is not a layer")
        elif RANK[target] >= RANK[layer] and (layer, where, target) not in DOORS:
            wrong.append(f"{layer} imports {target}" + (f" in {where}" if where else ""))
    return wrong


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_imports_point_left_only(path: Path) -> None:
    layer = layer_of(path)
    assert layer in RANK or layer in FRONT, f"{layer} has no place in the design"
    assert violations(path.read_text(encoding="utf-8"), layer) == []


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("masks", "from veridical.api import explain"),
        ("masks", "import veridical.attribute.lime"),
        ("errors", "from veridical.records import Part"),
        ("represent", "from veridical.toys import line"),
        ("represent", "from veridical.attribute.ask import Model"),
        ("attribute", "from veridical import api"),
        ("attribute", "from veridical import Lime"),
        ("attribute", "from .lime import Lime"),
        ("render", "def show():\n    from veridical.api import explain"),
        ("records", "from veridical.render.plot import bars"),
        ("records", "def elsewhere():\n    from veridical.render.plot import bars"),
        ("records", "class Fit:\n    def plot(self):\n        from veridical.render.plot import bars"),
        ("serialize", "if True:\n    from veridical.render.html import page"),
        ("evaluate", "try:\n    from veridical.summarize import pick\nexcept ImportError:\n    pass"),
    ],
)
def test_a_violation_is_caught(layer: str, source: str) -> None:
    assert violations(source, layer)


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("attribute", "from veridical.represent.rows import Rows"),
        ("attribute", "from veridical.attribute.ask import Model"),
        ("records", "class Seen:\n    def plot(self):\n        from veridical.render.figures import plot"),
        ("records", "if TYPE_CHECKING:\n    from veridical.api import explain"),
        ("masks", "import numpy as np"),
    ],
)
def test_what_is_allowed_is_not_flagged(layer: str, source: str) -> None:
    assert violations(source, layer) == []


def test_every_door_is_used() -> None:
    """The list of exceptions has no entry that is not needed."""
    used = set()
    for path in FILES:
        layer = layer_of(path)
        for where, module, _ in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if module.startswith("veridical.") and where:
                used.add((layer, where, module.split(".")[1]))
    assert used >= DOORS, DOORS - used


def test_the_core_is_silent() -> None:
    """No print and no logging below the border (style card, 12)."""
    for path in FILES:
        if layer_of(path) in FRONT | {"cli", "serve"}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert "print" not in calls, path
        assert not any(module.partition(".")[0] == "logging" for _, module, _ in imports(tree)), path


def test_no_keyword_catch_alls() -> None:
    """A typo in an argument is never silent (style card, 9)."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                kind = node.args.kwarg and node.args.kwarg.annotation  # a wrapper may take those of what it wraps
                assert node.args.kwarg is None or ast.unparse(kind) == "P.kwargs", f"{path.name}:{node.lineno}"


def markup_in(source: str) -> list[str]:
    """String literals, docstrings aside, that hold an element; groups of patterns are none."""
    tree, found = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"(?<!\?P)</?[a-zA-Z][^ ]*[ />]", node.value)
    return found


def test_markup_is_written_in_two_places() -> None:
    """Foreign text is escaped in one place (style card, 15)."""
    assert markup_in('x = f"<b>{name}</b>"')
    writers = {
        path.relative_to(SOURCE).as_posix() for path in FILES if markup_in(path.read_text(encoding="utf-8"))
    }
    assert writers == {"render/html.py"}  # render/markup.py has names of elements, but no element


def test_public_names_exist_and_are_explained() -> None:
    assert list(vd.__all__) == sorted(vd.__all__)
    assert len(set(vd.__all__)) == len(vd.__all__)
    for name in vd.__all__:
        public = getattr(vd, name)
        if name == "__version__":
            assert isinstance(public, str)
            continue
        assert public.__doc__, name
        first = inspect.getdoc(public).splitlines()[0]
        assert first.endswith((".", ":")), f"{name}: {first}"
        assert not first.startswith(f"{name}("), f"{name} has only the docstring that dataclasses write"


def test_public_methods_are_explained() -> None:
    for name in vd.__all__:
        public = getattr(vd, name)
        if not inspect.isclass(public) or issubclass(public, Exception):
            continue
        for method, function in vars(public).items():
            if (
                inspect.isfunction(function)
                and not method.startswith("_")
                and function.__module__ != "veridical.records"
            ):
                assert function.__doc__ or public.__module__.endswith("discretize"), f"{name}.{method}"


def test_nothing_public_is_hidden() -> None:
    """What a user sees with tab completion is the public names and the layers."""
    shown = {name for name in dir(vd) if not name.startswith("_")}
    assert shown - set(vd.__all__) <= set(RANK)


def test_importing_says_nothing_and_loads_nothing_optional() -> None:
    code = "import sys, veridical; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path}
    )
    assert (done.returncode, done.stderr) == (0, "")
    loaded = set(done.stdout.split())
    assert "veridical" in loaded
    baseline = subprocess.run(
        [sys.executable, "-c", code.replace("veridical", CORE)],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": path},
    )  # fmt: skip
    assert not (loaded - set(baseline.stdout.split())) & set(OPTIONAL)
