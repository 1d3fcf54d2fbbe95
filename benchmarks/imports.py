"""What `import veridical` adds to importing numpy, scipy, pandas and scikit-learn, in fresh processes.

``over the packages`` loads the four packages first; ``over the modules`` also loads every module of theirs
that veridical uses, so that only veridical's own code is left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

from tables import Target, arguments, at_most, finish

PACKAGES = ("numpy", "scipy", "pandas", "sklearn")
WANTED = 0.3

TIMED = """
import sys, time
begin = time.perf_counter()
import {first}
middle = time.perf_counter()
import veridical
print(middle - begin, time.perf_counter() - middle)
"""

USED = """
import {packages}
before = set(sys.modules)
import veridical
used = [m for m in sys.modules if m not in before and m.split(".")[0] in {names!r}]
print(" ".join(m for m in used if "._" not in m))
"""


def run(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.split()


def main(settings: argparse.Namespace) -> None:
    repetitions = 3 if settings.quick else settings.repetitions
    packages = ", ".join(PACKAGES)
    modules = run(USED.format(packages=f"sys, {packages}", names=PACKAGES))
    cases = {"the packages": packages, "the modules": ", ".join([packages, *modules])}
    times: dict[str, list[tuple[float, float]]] = {case: [] for case in cases}
    for _ in range(repetitions):
        for case, first in cases.items():
            before, extra = map(float, run(TIMED.format(first=first)))
            times[case].append((before, extra))
    rows = [
        {
            "over": case,
            "before_s": median(before for before, _ in pairs),
            "extra_s": median(extra for _, extra in pairs),
            "modules": len(cases[case].split(",")),
        }
        for case, pairs in times.items()
    ]
    targets = [
        at_most("extra seconds over the modules veridical uses", WANTED, rows[1]["extra_s"]),
        Target("extra seconds over the four packages alone", "", f"{rows[0]['extra_s']:.3g}", True),
    ]
    finish("imports", settings, rows, targets)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=7)
    main(parser.parse_args())
