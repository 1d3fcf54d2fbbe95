"""Imports point up the list of rooms only, the public names exist, and importing loads nothing optional."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import typing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from veridical.display import blocks, figures, html, terminal
from veridical.methods.registry import METHODS

SOURCE = Path(vd.__file__).parent
LEVELS = (
    {"errors"},
    {"records"},
    {"protocols"},
    {"seeds"},
    {"sampling"},
    {"representations"},
    {"models"},
    {"surrogates", "evidence"},
    {"methods", "networks"},
    {"summaries", "comparisons", "metrics"},
    {"toys"},
    {"checks", "groundtruth"},
    {"storage"},
    {"scale"},
    {"display"},
    {"api"},
    {"pages"},
    {"demo"},
    {"cli", "compat", "integrations"},
)
RANK = {layer: rank for rank, layers in enumerate(LEVELS) for layer in layers}
FRONT = {"__init__", "__main__", "demo"}  # may import anything

# Doors: imports inside a function that point right, each with the only place it may stand in.
DOORS = {
    *(
        ("records", f"Shown.{name}", "display")
        for name in ("__repr__", "__str__", "_repr_html_", "_repr_mimebundle_", "__rich__")
    ),
    *(("records", f"Displayable.{name}", "display") for name in ("plot", "save")),
    ("records", "Tabular.to_frame", "storage"),
    ("records", "Attributed.to_shap", "storage"),
    ("records", "Explanation.to_dict", "storage"),
    ("records", "Explanations.failed", "storage"),
    ("records", "Explanations.importance", "summaries"),
}
assert len(DOORS) <= 12
OPTIONAL = (
    "matplotlib", "pyarrow", "torch", "rich", "typer", "IPython", "lime", "skimage", "PIL", "librosa", "soundfile",
    "captum", "onnx", "onnxruntime", "skops", "starlette", "fastapi", "uvicorn", "dask", "ray", "pyspark",
    "tqdm", "shap", "pytest", "hypothesis", "mlflow",
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
        elif RANK[target] > RANK[layer] and (layer, where, target) not in DOORS:
            wrong.append(f"{layer} imports {target}" + (f" in {where}" if where else ""))
    return wrong


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(SOURCE)) for p in FILES])
def test_imports_point_up_only(path: Path) -> None:
    layer = layer_of(path)
    assert layer in RANK or layer in FRONT, f"{layer} has no place in the design"
    assert violations(path.read_text(encoding="utf-8"), layer) == []


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("sampling", "from veridical.api import explain"),
        ("sampling", "import veridical.methods.lime"),
        ("errors", "from veridical.records import Part"),
        ("representations", "from veridical.toys import line"),
        ("representations", "from veridical.models.outputs import Model"),
        ("methods", "from veridical import api"),
        ("methods", "from veridical import Lime"),
        ("methods", "from .lime import Lime"),
        ("display", "def show():\n    from veridical.api import explain"),
        ("records", "from veridical.display.figures import bars"),
        ("records", "def elsewhere():\n    from veridical.display.figures import bars"),
        ("records", "class Fit:\n    def plot(self):\n        from veridical.display.figures import bars"),
        ("storage", "if True:\n    from veridical.display.html import page"),
        ("summaries", "try:\n    from veridical.checks.audits import Audit\nexcept ImportError:\n    pass"),
    ],
)
def test_a_violation_is_caught(layer: str, source: str) -> None:
    assert violations(source, layer)


@pytest.mark.parametrize(
    ("layer", "source"),
    [
        ("methods", "from veridical.representations.tables.rows import Rows"),
        ("methods", "from veridical.models.outputs import Model"),
        ("records", "class Displayable:\n    def plot(self):\n        from veridical.display.figures import plot"),
        ("records", "if TYPE_CHECKING:\n    from veridical.api import explain"),
        ("sampling", "import numpy as np"),
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


FOREIGN = {
    "__self__", "__name__", "__qualname__", "__doc__", "__hash__", "_fields",  # functions, classes and named tuples
    "shape", "ndim", "dtype", "kind", "index", "columns", "tz", "unit", "numpy_dtype", "subtype", "pyarrow_dtype",
    "key", "zone", "detach", "toarray", "tocsr", "tocsc", "iloc", "asi8", "dictionary", "collect", "to_pandas",
    "__arrow_c_stream__", "__from_arrow__", "__len__", "__getitem__", "__iter__", "power", "multiply", "set_axis",
    "requires_grad", "reset_parameters", "_reset_parameters",  # arrays, tables, tensors and layers
    "classes_", "fit", "predict", "dump_model", "vocabulary_", "_tfidf", "final_estimator_", "tokenizer", "task",
    "encode", "is_fast", "kernel", "close", "cause", "edges", "each", "_jsparkSession",  # what callers bring
    "front", "rate", "invert", "seconds", "hertz",  # front ends, which callers bring, too
}  # fmt: skip
PROBING = {
    "cli",
    "models/adapters.py",
    "models/trees.py",
    "checks/influence.py",
}  # they look at estimators and files of callers


def probes(source: str, kind: str = "getattr") -> set[str]:
    """Names that code looks for in objects that may have them."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) > 1)
    asked = [call.args[1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == kind]
    return {name.value for name in asked if isinstance(name, ast.Constant)}


def test_no_hook_is_looked_for_by_its_name() -> None:
    """What our own objects may have is named in a protocol, and told by ``isinstance`` (style card, 7)."""
    assert probes('getattr(representation, "view", None)') - FOREIGN
    wrong = {}
    for path in FILES:
        where = path.relative_to(SOURCE).as_posix()
        if where not in PROBING and where.partition("/")[0] not in PROBING:
            wrong[where] = probes(path.read_text(encoding="utf-8")) - FOREIGN
    assert not {where: names for where, names in wrong.items() if names}


METHOD_CLASSES = {each.__name__ for each in METHODS.values()} | {"ByGradient"}


def told_apart(source: str) -> set[str]:
    """Methods that code tells from others by their class."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and len(node.args) == 2)
    asked = [call.args[1] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "isinstance"]
    names = {n.id for each in asked for n in ast.walk(each) if isinstance(n, ast.Name)}
    return names & METHOD_CLASSES


def test_no_method_is_told_from_others_outside_their_rooms() -> None:
    assert told_apart("isinstance(method, (Lime, Occlusion))") == {"Lime", "Occlusion"}
    rooms = {"methods", "networks"}
    others = [path for path in FILES if layer_of(path) not in rooms]
    wrong = {path.name: told_apart(path.read_text(encoding="utf-8")) for path in others}
    assert not {name: found for name, found in wrong.items() if found}


SOLVERS = {"solve", "lstsq", "cholesky", "cholesky_ex", "inv", "inv_ex", "pinv", "cho_factor", "cho_solve"}


def solvers(source: str) -> set[str]:
    """Functions by which code solves linear equations, of any library."""
    tree = ast.parse(source)
    called = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and "linalg" in ast.unparse(n.value)}
    imported = {name for _, module, name in imports(tree) if "linalg" in module}
    return (called | imported) & SOLVERS


def test_surrogates_are_solved_in_one_module() -> None:
    assert solvers("np.linalg.inv(gram)") == {"inv"}
    assert solvers("from scipy.linalg import cho_solve") == {"cho_solve"}
    rooms = {"sampling", "surrogates", "evidence", "methods", "networks"}
    solving = {
        path.relative_to(SOURCE).as_posix()
        for path in FILES
        if layer_of(path) in rooms and solvers(path.read_text(encoding="utf-8"))
    }
    assert solving == {"surrogates/least_squares.py"}


def test_the_core_is_silent() -> None:
    """No print and no logging below the border (style card, 12)."""
    for path in FILES:
        if layer_of(path) in FRONT | {"cli"}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        calls = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        assert "print" not in calls, path
        assert not any(module.partition(".")[0] == "logging" for _, module, _ in imports(tree)), path


LIME_TAKES_ANY = {  # functions of compat whose signatures are lime's
    "map_exp_ids", "visualize_instance_html", "as_list", "as_pyplot_figure", "as_html", "show_in_notebook",
    "save_to_file", "BaseWrapper", "set_params", "SegmentationAlgorithm", "SubmodularPick",
}  # fmt: skip


def catch_alls(source: str) -> set[str]:
    """Functions, or the classes that they make, that take any keyword; a wrapper may take those of what it wraps."""
    found, tree = set(), ast.parse(source)
    made = {
        id(inner): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for inner in node.body
    }
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.args.kwarg is not None:
            kind = node.args.kwarg.annotation
            if kind is None or ast.unparse(kind) != "P.kwargs":
                name = node.name if isinstance(node, ast.FunctionDef) else "lambda"
                found.add(made.get(id(node), name) if name == "__init__" else name)
    return found


def test_no_keyword_catch_alls() -> None:
    """A typo in an argument is never silent (style card, 9)."""
    assert catch_alls("class A:\n    def __init__(self, **k): ...\ndef f(**k): ...") == {"A", "f"}
    taking = {path: catch_alls(path.read_text(encoding="utf-8")) for path in FILES}
    assert not [path.name for path, names in taking.items() if names and layer_of(path) != "compat"]
    assert set().union(*taking.values()) == LIME_TAKES_ANY


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
    assert writers == {"display/html.py"}  # display/markup.py has names of elements, but no element


FLAT = {
    "Contrast",
    "attributions",
    "explain",
    "explain_many",
    "flips",
    "rerun",
    "pick",
    "group",
    "compare",
    "believe",
    "evaluate",
    "debug",
    "audit",
    "veracity",
    "causes",
    "tcav",
    "load",
    "Rows",
    "Words",
    "Sentences",
    "Tokens",
    "Superpixels",
    "Grid",
    "Tiles",
    "Slices",
    "Stems",
    "Windows",
    "Bands",
    "Fields",
    "Lime",
    "KernelShap",
    "Occlusion",
    "Sensitivity",
    "Network",
    "Factory",
    "TopK",
    "Explanation",
    "Explanations",
    "Verdict",
    "Store",
    "Page",
    "Subject",
    "VeridicalError",
    "__version__",
}  # what most people use; all else is in namespaces


def test_the_flat_names_are_few() -> None:
    assert {name for name in vd.__all__ if not inspect.ismodule(getattr(vd, name))} == FLAT
    assert len(FLAT) <= 45


def public_names() -> dict[str, Any]:
    """Every public function and class by the name that users write."""
    found = {f"vd.{name}": getattr(vd, name) for name in FLAT - {"__version__"}}
    for space in (name for name in vd.__all__ if inspect.ismodule(getattr(vd, name))):
        for name in getattr(getattr(vd, space), "__all__", ()):
            if not name.isupper():  # a registry
                found.setdefault(f"vd.{space}.{name}", getattr(getattr(vd, space), name))
    return found


def test_types_and_tables_name_the_same() -> None:
    """What type checkers see of ``veridical`` is what its tables load."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for each in node.names:
            seen[each.asname or each.name] = (node.module, each.name)
    modules = {name: (module, name) for name, module in vd._MODULES.items()}
    spaces = {name: tuple(path.rpartition(".")[::2]) for name, path in vd._NAMESPACES.items()}
    assert seen == {**modules, **spaces, "__version__": ("veridical.records", "VERSION")}


def test_public_names_exist_and_are_explained() -> None:
    assert list(vd.__all__) == sorted(vd.__all__) == dir(vd)
    for name, public in public_names().items():
        assert public.__doc__, name
        first = inspect.getdoc(public).splitlines()[0]
        assert first.endswith((".", ":")), f"{name}: {first}"
        assert not first.startswith(f"{public.__name__}("), f"{name} has only the docstring that dataclasses write"


def test_public_methods_are_explained() -> None:
    for name, public in public_names().items():
        if not inspect.isclass(public) or issubclass(public, Exception):
            continue
        for method, function in vars(public).items():
            if (
                inspect.isfunction(function)
                and not method.startswith("_")
                and function.__module__ != "veridical.records"
            ):
                assert function.__doc__ or public.__module__.endswith("bins"), f"{name}.{method}"


def module_name(path: Path) -> str:
    return ".".join(("veridical", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the oldest typer with the newest click
def test_every_module_is_found_by_its_name() -> None:
    """No function or class stands over a module or package of the same name."""
    for path in FILES:
        if path.name != "__main__.py":
            found: dict[str, Any] = {}
            exec(f"import {module_name(path)} as module", found)
            assert found["module"].__name__ == module_name(path)


FIRST = """
import os, numpy, pandas, scipy.stats, sklearn.ensemble, sklearn.linear_model, veridical
for name in veridical._NAMESPACES:
    child = os.fork()
    if not child:
        try:
            getattr(veridical, name)
        except ImportError as cause:
            print(name, cause)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_every_namespace_can_be_used_first() -> None:
    """No package needs another one to be imported before it."""
    done = subprocess.run([sys.executable, "-u", "-c", FIRST], capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_class_names_are_unique() -> None:
    """But for those of other libraries, in compat."""
    places: dict[str, list[str]] = {}
    for path in (path for path in FILES if layer_of(path) != "compat"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module_name(path))
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_files_hold_a_concept() -> None:
    """A file of a few lines belongs to the one that uses it; ``__main__`` is what Python runs, whatever its length."""
    long = [path for path in FILES if path.name not in ("__init__.py", "__main__.py")]
    assert [path for path in long if len(path.read_text(encoding="utf-8").splitlines()) < 40] == []


BACKENDS = ("terminal", "html", "html_instances", "figures", "figure_instances", "boards")
DRAWN_FROM = {"Floats", "Bools"}  # arrays are no records


def known_records(source: str) -> set[str]:
    """What a file takes from the rooms that make records."""
    rooms = [(module.split(".")[1:2] or [name], name) for _, module, name in imports(ast.parse(source)) if module]
    return {
        name for (room,), name in rooms if room in RANK and RANK["errors"] < RANK[room] < RANK["display"]
    } - DRAWN_FROM


def test_what_draws_blocks_knows_no_records() -> None:
    for name in BACKENDS:
        assert known_records((SOURCE / "display" / f"{name}.py").read_text(encoding="utf-8")) == set(), name
    assert known_records("from veridical.records import Explanation, Floats") == {"Explanation"}
    assert known_records("def f():\n    from veridical.checks.audits import Audit") == {"Audit"}


def test_every_block_is_drawn_on_a_page() -> None:
    """One table of each back-end draws all: pages have every kind of block, the others what they can show."""
    drawn = {kind for kind in typing.get_args(blocks.Block) if isinstance(kind, type)}
    assert set(html.DRAWERS) == drawn
    assert drawn >= set(figures.SETTERS) | set(terminal.WRITERS)
    charts = {
        blocks.Swarm,
        blocks.Scatter,
        blocks.Heat,
        blocks.Waterfall,
        blocks.RowTable,
    }  # or what opens on a page
    assert drawn - set(figures.SETTERS) == {blocks.Players, *charts}  # a figure makes no sound


WHOLE = {  # tests of contracts, of formulas, and of paths through many modules
    "architecture", "budgets", "contracts", "checks/contracts", "cli/security", "docs/commands",
    "docs/prose", "docs/readme", "docs/site",
    "examples/examples", "experiments/measurements", "groundtruth/contracts", "methods/closed_forms",
    "methods/parity", "metrics/contracts", "metrics/parity", "peers/mlflow", "representations/bad_instances",
    "representations/closed_forms", "representations/pipelines", "representations/tables/row_names",
    "scale/budgets", "scale/engines/contracts", "scale/stores/fingerprint", "scale/stores/store_use", "storage/contracts",
    "storage/explanations", "storage/values", "summaries/groupings/contracts",
    *(f"display/{kind}" for kind in ("audits", "differences", "groups", "reports", "veracity")),  # in all media
    *(f"display/{promise}" for promise in ("access", "colors", "notebooks", "pages")),
    *(f"display/{promise}" for promise in ("security", "security_figures", "security_pages")),
}  # fmt: skip


def test_tests_lie_at_the_path_of_what_they_test() -> None:
    """A test of src/veridical/room/name.py is tests/room/test_name.py; experiments, examples and builders likewise."""
    tests = Path(__file__).parent
    homes = (SOURCE, tests.parent, tests)
    names = {path.relative_to(tests).parent / path.stem.removeprefix("test_") for path in tests.rglob("test_*.py")}
    lost = {
        name.as_posix()
        for name in names
        if not any(
            (home / name).with_suffix(".py").exists() or (home / name / "__init__.py").exists() for home in homes
        )
    }
    assert lost == WHOLE


def test_the_oldest_versions_are_tested_on_files_that_exist() -> None:
    script = (SOURCE.parents[1] / "scripts" / "oldest").read_text(encoding="utf-8")
    (listed,) = re.findall(r'^CORE="(.*?)"', script, re.MULTILINE | re.DOTALL)
    assert not [name for name in listed.split() if not (Path(__file__).parent / f"{name}.py").exists()]


def test_files_are_few() -> None:
    assert len(FILES) <= 200


def test_importing_says_nothing_and_loads_nothing_optional() -> None:
    code = "import sys, veridical; {} print(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    every = "[getattr(veridical, name) for name in veridical.__all__];"
    path = ":".join(sys.path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code.format(every)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    loaded = set(done.stdout.split())
    assert "veridical" in loaded
    baseline = subprocess.run(
        [sys.executable, "-c", code.format("").replace("veridical", CORE)],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": path},
    )  # fmt: skip
    assert not (loaded - set(baseline.stdout.split())) & set(OPTIONAL)


def test_nothing_serves_the_experiments_alone() -> None:
    """What only experiments use lives beside them: all else is used in the library, or shown in docs or examples."""
    root, word = SOURCE.parents[1], re.compile(r"\w+")
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.py")]
    used = Counter(found for path in [*FILES, *pages] for found in word.findall(path.read_text(encoding="utf-8")))
    for path in (path for path in FILES if path.name != "toys.py"):  # whose models the tests share, too
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith(("__", "pytest_")):
                assert used[node.name] > 1, f"{module_name(path)}.{node.name}"  # pytest calls its hooks


def test_every_public_name_is_shown() -> None:
    """Whatever a user can write is in a page of the documentation or in an example."""
    root = SOURCE.parents[1]
    pages = [*root.glob("docs/**/*.md"), *root.glob("examples/**/*.py"), root / "README.md"]
    shown = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert not [name for name in public_names() if name.rpartition(".")[2] not in shown]


def test_type_checkers_know_the_public_names(tmp_path: Path) -> None:
    """What is loaded when it is first used is not hidden from mypy."""
    pytest.importorskip("mypy")  # which the environment of the lowest versions lacks
    lines = (
        "vd.nonsense",
        "vd.bins.nonsense",
        "vd.Lime(n_samples='many')",
        "vd.bins.Quartiles()",
        "vd.Lime(n_samples=9)",
    )
    (tmp_path / "user.py").write_text("import veridical as vd\n" + "\n".join(lines) + "\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--config-file=",
        "--no-error-summary",
    ]
    done = subprocess.run(
        [*command, f"--cache-dir={SOURCE.parents[1] / '.mypy_cache'}", "user.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(SOURCE.parent)},
    )
    refused = sorted(
        {int(line.split(":")[1]) - 2 for line in done.stdout.splitlines() if line.startswith("user.py:")}
    )
    assert refused == [0, 1, 2], done.stdout + done.stderr
