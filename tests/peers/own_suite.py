"""lime's own tests, out of the package that is installed, on veridical.compat.lime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from xml.etree import ElementTree

PASSED, IMPOSSIBLE = 28, 3


def test_limes_own_suite_passes(tmp_path: Path) -> None:
    suite = Path(str(distribution("lime").locate_file("lime/tests")))
    for file in suite.glob("test_*.py"):
        shutil.copy(file, tmp_path)
    shutil.copy(Path(__file__).with_name("suite_conftest.py"), tmp_path / "conftest.py")
    report = tmp_path / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        "--rootdir",
        ".",
    ]
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run(
        [*command, "."], cwd=tmp_path, env={**os.environ, "PYTHONPATH": source}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    (found,) = ElementTree.parse(report).getroot().iter("testsuite")
    assert (int(found.get("tests", 0)), int(found.get("skipped", 0))) == (PASSED + IMPOSSIBLE, IMPOSSIBLE)
