"""lime's names are ours after install, and lime's own again after uninstall."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import veridical as vd
import veridical.compat.lime as ours
from veridical.compat.lime import explanations
from veridical.errors import InputError


@pytest.fixture(autouse=True)
def bare() -> Iterator[None]:
    """No lime is loaded, before and after."""
    held = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == "lime"}
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "lime"]:
        del sys.modules[name]
    sys.modules.update(held)


def test_lime_is_found_under_its_own_names() -> None:
    vd.compat.install("lime")
    vd.compat.install("lime")
    assert importlib.import_module("lime") is ours
    for name in ours.SUBMODULES:
        assert importlib.import_module(f"lime.{name}") is sys.modules[f"veridical.compat.lime.{name}"]
    assert importlib.util.find_spec("lime.lime_tabular") is not None
    vd.compat.uninstall("lime")
    vd.compat.uninstall("lime")
    assert not [name for name in sys.modules if name.partition(".")[0] == "lime"]


def test_the_real_lime_is_not_replaced_while_something_uses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lime, user, other = ModuleType("lime"), ModuleType("plots"), ModuleType("reports")
    vars(user)["lime"] = lime
    vars(other)["Explanation"] = type("Explanation", (), {"__module__": "lime.explanation"})
    for module in (lime, user, other):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(ImportError, match=r"real lime is loaded already: plots, reports imported it"):
        vd.compat.install("lime")
    assert sys.modules["lime"] is lime
    vd.compat.uninstall("lime")
    assert sys.modules["lime"] is lime, "which is not ours to take away"


@pytest.mark.parametrize("name", ["shap", "", None, ["lime"]])
def test_other_libraries_are_not_known(name: object) -> None:
    for function in (vd.compat.install, vd.compat.uninstall):
        with pytest.raises(InputError, match="know 'lime', not"):
            function(name)  # type: ignore[arg-type]


def test_importing_loads_neither_lime_nor_what_it_may_need() -> None:
    code = (
        "import sys, veridical as vd; vd.explain; print('veridical.compat' in sys.modules); vd.compat.install()\n"
    )
    code += "import lime.lime_image; print(*({'matplotlib', 'skimage', 'IPython'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n\n"


def test_what_lime_pickled_is_loaded() -> None:
    """Explanations by the names and attributes of lime's own."""
    vd.compat.install("lime")
    lime = importlib.import_module("lime.explanation")
    mapper = importlib.import_module("lime.lime_tabular").TableDomainMapper(["a"], ["1.00"], [1.0], [0], ["a > 0"])
    state = {
        "mode": "classification",
        "domain_mapper": mapper,
        "local_exp": {1: [(0, 0.5)]},
        "intercept": {1: 0.1},
    }
    state |= {
        "score": 0.9,
        "local_pred": [0.6],
        "class_names": ["n", "<b>"],
        "top_labels": None,
        "predict_proba": [0.4, 0.6],
    }

    class Lime(explanations.Explanation):
        def __reduce__(self) -> tuple[object, ...]:
            return (_new, (), state)

    made = pickle.loads(pickle.dumps(Lime(mapper)))
    assert type(made) is lime.Explanation
    assert made.as_list() == [("a > 0", 0.5)]
    assert (made.score, made.verdict, made.veridical) == (0.9, None, {})
    assert "&lt;b&gt;" in made.as_html()
    assert "<b>" not in made.as_html()


def _new() -> object:
    kind = sys.modules["lime.explanation"].Explanation
    return kind.__new__(kind)
