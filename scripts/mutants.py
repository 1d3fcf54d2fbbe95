#!/usr/bin/env python3
"""Measure the power of the tests: change the source in small ways, and see whether a test fails.

    scripts/mutants.py map  --tree . --map MAP               # once: which test runs which line
    scripts/mutants.py draw --tree . --map MAP --out m.json  # 60 mutants of covered lines, by seed
    scripts/mutants.py run  --tree . --map MAP --mutants m.json --out caught.json

Mutants are drawn once and can be run against another checkout: there the same change is looked for by the text of
its line and the function around it; what no longer exists is reported as gone. Each mutant is applied to a copy of
the tree, and tests that run the changed line are run until one fails: first the quickest ones, then the quickest
files. Tests that need a cluster or a browser are left out wherever other tests run the same line, because starting
one takes longer than a mutant may take. ``mutants.json`` beside this file has the 60 that were drawn last, and
which of them were caught at two commits. Needs ``coverage``, and python with the developers' packages.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SLOW_FIXTURES = {"chromium", "dask_client", "ray", "spark"}
SECONDS_OF_TESTS = 10.0  # of the quickest tests that run a line, by the CPU time they took in the map
TESTS_PER_FILE = 15
FILES = 6  # after them, the quickest whole files
SECONDS_PER_FILE = 15.0
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"]
LIMIT = 300.0  # seconds for one run of tests; a mutant that loops for ever is caught by it

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one line, and how to find the line again in another version of the file."""

    path: str
    line: int
    function: str  # the qualified name of what the line is in
    text: str  # the line itself
    occurrence: int  # among equal lines of the function
    nth: int  # of the possible changes of the line
    change: str  # before -> after, in words


# ------------------------------------------------------------------ possible changes
def _variants(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may be written in place of a node; pairs of the replaced and the replacing."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        other = COMPARISONS[type(node.ops[0])]()
        yield node, ast.Compare(node.left, [other, *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        texts = (ast.Constant, ast.JoinedStr)
        if not any(isinstance(side, texts) and not _number(side) for side in (node.left, node.right)):
            yield node, ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node, node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and _number(node):
        yield node, ast.Constant(node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield node, ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield node.value, ast.Constant(None)


def _number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _walk(node: ast.AST, name: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Every node that runs, with the qualified name of what it is in; not annotations, formats and type checks."""
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) in {
                "TYPE_CHECKING",
                "__name__ == '__main__'",
            }:
                continue
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            inside = f"{name}.{child.name}".lstrip(".") if named else name  # type: ignore[attr-defined]
            yield child, inside
            yield from _walk(child, inside)


def changes(source: str) -> dict[int, list[tuple[str, ast.AST, ast.AST]]]:
    """For each line, the possible changes: the function around it, what is replaced, and by what."""
    found: dict[int, list[tuple[str, ast.AST, ast.AST]]] = defaultdict(list)
    for node, name in _walk(ast.parse(source)):
        for old, new in _variants(node):
            found[old.lineno].append((name, old, new))  # type: ignore[attr-defined]
    return found


def changed(source: str, old: ast.AST, new: ast.AST) -> str:
    """The source with one expression replaced."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    raw = b"".join(lines)
    begin = starts[old.lineno - 1] + old.col_offset  # type: ignore[attr-defined]
    end = starts[old.end_lineno - 1] + old.end_col_offset  # type: ignore[attr-defined]
    text = (raw[:begin] + b" (" + ast.unparse(new).encode() + b")" + raw[end:]).decode()
    if ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)):
        raise ValueError("nothing is changed")
    compile(text, "mutant", "exec")
    return text


def draw(tree: Path, covered: dict[str, set[int]], n: int, seed: int) -> list[Mutant]:
    """Mutants of covered lines: lines are drawn at random, then one change of each."""
    places = []
    for path in sorted(covered):
        source = (tree / path).read_text(encoding="utf-8")
        found = changes(source)
        places += [(path, line) for line in sorted(found) if line in covered[path]]
    chance = random.Random(seed)
    chance.shuffle(places)
    drawn: list[Mutant] = []
    for path, line in places:
        if len(drawn) == n:
            break
        source = (tree / path).read_text(encoding="utf-8")
        options = changes(source)[line]
        nth = chance.randrange(len(options))
        function, old, new = options[nth]
        try:
            changed(source, old, new)
        except (SyntaxError, ValueError):
            continue
        text = source.splitlines()[line - 1].strip()
        occurrence = [at for at, *_ in _same(source, function, text)].index(line)
        words = f"{ast.unparse(old)} -> {ast.unparse(new)}"
        drawn.append(Mutant(path, line, function, text, occurrence, nth, words))
    return drawn


def _same(source: str, function: str, text: str) -> list[tuple[int, list[tuple[str, ast.AST, ast.AST]]]]:
    """The lines of a function that read so, and what can be changed in them."""
    lines = source.splitlines()
    return [
        (line, options)
        for line, options in sorted(changes(source).items())
        if lines[line - 1].strip() == text and any(name == function for name, *_ in options)
    ]


def placed(tree: Path, mutant: Mutant) -> tuple[str, int, str] | None:
    """Where a mutant is in this tree (it may have moved to another file), and the source with the change."""
    rest = sorted(str(path.relative_to(tree)) for path in (tree / "src").rglob("*.py"))
    for path in [mutant.path, *(other for other in rest if other != mutant.path)]:
        if not (tree / path).exists():
            continue
        source = (tree / path).read_text(encoding="utf-8")
        if mutant.text not in source:
            continue
        same = _same(source, mutant.function, mutant.text)
        for line, options in same[mutant.occurrence : mutant.occurrence + 1] or same[:1]:
            fitting = [(old, new) for _, old, new in options if words(old, new) == mutant.change]
            if fitting:
                return path, line, changed(source, *fitting[0])
    return None


def words(old: ast.AST, new: ast.AST) -> str:
    return f"{ast.unparse(old)} -> {ast.unparse(new)}"


# ------------------------------------------------------------------ which test runs which line: a plugin of pytest
class Mapper:
    """Measures coverage with each test as a context, and the CPU time of each test with its children."""

    def __init__(self, folder: Path, source: Path) -> None:
        import coverage

        self.folder = folder
        known = folder / "known.json"
        self.known = set(json.loads(known.read_text())) if known.exists() else set()
        self.coverage = None
        if os.environ.get("MUTANTS_TIMES_ONLY") is None:
            data = str(folder / f"coverage.{os.getpid()}")
            self.coverage = coverage.Coverage(
                data_file=data, source=[str(source)], config_file=False, messages=False
            )
            self.coverage.start()

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.name = item.nodeid
        self.clusters = bool(SLOW_FIXTURES & set(getattr(item, "fixturenames", ())))
        self.begun = self.clock()
        if self.coverage is not None:
            self.coverage.switch_context(self.name)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.known]

    def pytest_runtest_logfinish(self) -> None:
        with (self.folder / f"times.{os.getpid()}").open("a") as stream:  # a line each: a run may be stopped
            stream.write(json.dumps([self.name, self.clock() - self.begun, self.clusters]) + "\n")
        if self.coverage is not None:
            self.coverage.switch_context("")

    def pytest_unconfigure(self) -> None:
        if self.coverage is not None:
            self.coverage.stop()
            self.coverage.save()

    @staticmethod
    def clock() -> float:
        spent = os.times()
        return spent.user + spent.system + spent.children_user + spent.children_system


def pytest_configure(config: Any) -> None:
    """Only where ``map`` has started pytest."""
    folder = os.environ.get("MUTANTS_MAP")
    workers = getattr(config.option, "numprocesses", None)
    if folder and (not workers or hasattr(config, "workerinput")):
        config.pluginmanager.register(Mapper(Path(folder), Path(str(config.rootpath)) / "src"), "mapper")


def environment(tree: Path) -> dict[str, str]:
    paths = [str(tree / "src"), str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def make_map(tree: Path, folder: Path, more: list[str]) -> int:
    """Run all tests; where a map was stopped, those that are missing in it."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("coverage.*")):
        (folder / "known.json").write_text(json.dumps(sorted(Map(folder, tree).names())))
    command = [*PYTEST, "-p", "mutants", *more]
    return subprocess.run(command, cwd=tree, env={**environment(tree), "MUTANTS_MAP": str(folder)}).returncode


class Map:
    """Which tests run a line, and how long each takes."""

    def __init__(self, folder: Path, tree: Path) -> None:
        import coverage

        self.tree = tree
        self.data = coverage.CoverageData(no_disk=True)
        for path in sorted(folder.glob("coverage.*")):
            part = coverage.CoverageData(str(path))
            part.read()
            self.data.update(part)
        self.times: dict[str, tuple[float, bool]] = {}
        for path in sorted(folder.glob("times.*")):
            for line in path.read_text().splitlines():
                name, seconds, clusters = json.loads(line)
                self.times[name] = (seconds, clusters)
        for name in self.names() - self.times.keys():
            self.times[name] = (1.0, False)  # not measured
        self.files: dict[str, float] = defaultdict(float)
        for test, (seconds, _) in self.times.items():
            self.files[test.partition("::")[0]] += seconds
        self.at = {self._relative(path): path for path in self.data.measured_files()}

    def _relative(self, path: str) -> str:
        return path[path.rindex("/src/") + 1 :]

    def names(self) -> set[str]:
        """The tests that were run."""
        return set(filter(None, self.data.measured_contexts()))

    def covered(self) -> dict[str, set[int]]:
        """The lines that some test runs, not only an import."""
        found = {}
        for path, full in self.at.items():
            by_line = self.data.contexts_by_lineno(full)
            found[path] = {line for line, contexts in by_line.items() if any(c in self.times for c in contexts)}
        return found

    def tests_of(self, path: str, line: int) -> list[str]:
        """The tests that run a line, quickest first; those of the file, where only an import runs it."""
        if path not in self.at:
            return []
        by_line = self.data.contexts_by_lineno(self.at[path])
        names = set(filter(None, by_line.get(line, ()))) or {n for found in by_line.values() for n in found if n}
        known = sorted((self.times[name][0], name) for name in names if name in self.times)
        light = [name for _, name in known if not self.times[name][1]]
        return light or [name for _, name in known]


# ------------------------------------------------------------------ running
def select(found: Map, tests: list[str]) -> Iterator[list[str]]:
    """What is run for a mutant: the quickest tests, then the quickest files."""
    chosen: list[str] = []
    spent, per_file = 0.0, defaultdict(int)
    for name in tests:
        file = name.partition("::")[0]
        if per_file[file] < TESTS_PER_FILE and (spent < SECONDS_OF_TESTS or not chosen):
            chosen.append(name)
            per_file[file] += 1
            spent += found.times[name][0]
    if chosen:
        yield chosen
    files = sorted({name.partition("::")[0] for name in tests}, key=lambda file: found.files[file])
    quick = [file for file in files if found.files[file] < SECONDS_PER_FILE][:FILES]
    if quick:
        yield quick
    seconds = {name: found.times[name][0] for name in tests}
    yield [name for name in sorted(tests, key=seconds.__getitem__) if name not in chosen][:40]


def run(tree: Path, found: Map, mutants: list[Mutant], out: Path) -> None:
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary) / "tree"
        ignored = shutil.ignore_patterns(
            ".git", ".venv*", "__pycache__", ".hypothesis", "pages", "site", ".mypy_cache"
        )
        shutil.copytree(tree, copy, ignore=ignored)
        for number, mutant in enumerate(mutants, start=1):
            begun = time.monotonic()
            place = placed(tree, mutant)
            if place is None:
                fate, by = "gone", ""
            else:
                path, line, text = place
                (copy / path).write_text(text, encoding="utf-8")
                fate, by = judge(copy, found, found.tests_of(path, line))
                shutil.copyfile(tree / path, copy / path)
            results.append({**asdict(mutant), "fate": fate, "by": by})
            place_text = f"{place[0]}:{place[1]}" if place else f"{mutant.path}:{mutant.line}"
            print(
                f"{number:3} {fate:8} {time.monotonic() - begun:5.0f} s  {place_text}  {mutant.change[:90]}  {by}",
                flush=True,
            )
            out.write_text(json.dumps(results, indent=1))
    fates = [result["fate"] for result in results]
    print({fate: fates.count(fate) for fate in sorted(set(fates))})


def judge(copy: Path, found: Map, tests: list[str]) -> tuple[str, str]:
    """Whether a test fails on the changed tree, and which."""
    if not tests:
        return "untested", ""
    for names in select(found, tests):
        if not names:
            continue
        command = [*PYTEST, "-x", *names]
        process = subprocess.Popen(
            command, cwd=copy, env=environment(copy), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            printed, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return "caught", "it takes too long"
        if process.returncode in (1, 2):
            failed = [line for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))]
            return "caught", failed[0][:100] if failed else "pytest stopped"
        if process.returncode != 0:
            return "caught", f"pytest ended with {process.returncode}"
    return "survived", ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("map", "draw", "run"))
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--map", type=Path, required=True, help="the folder of the map")
    parser.add_argument("--mutants", type=Path, help="a file that draw has written")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--n", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked, more = parser.parse_known_args()  # what it does not know is for pytest, when it makes the map
    tree = asked.tree.resolve()
    if asked.what == "map":
        return make_map(tree, asked.map.resolve(), more)
    found = Map(asked.map, tree)
    if asked.what == "draw":
        drawn = draw(tree, found.covered(), asked.n, asked.seed)
        asked.out.write_text(json.dumps([asdict(mutant) for mutant in drawn], indent=1))
    else:
        run(tree, found, [Mutant(**each) for each in json.loads(asked.mutants.read_text())], asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
