"""A file appears whole or not at all, and a damaged one is never read as something else."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import veridical as vd
from tests.builders import audit_cases, group_cases, report_cases, view_cases
from tests.builders import explanations as made
from tests.builders.effort import calls
from tests.builders.pages import exact
from veridical.display.saving import save
from veridical.scale.stores.store import load
from veridical.storage.atomic_files import replacing

pytest.importorskip("pyarrow")

CASES: dict[str, Callable[[], Any]] = {
    "explanation": made.mushroom,
    "extreme": made.extreme,
    "text": view_cases.text,
    "explanations": lambda: made.many(5),
    "verdict": audit_cases.verdict,
    "audit": audit_cases.broken,
    "report": report_cases.lone,
    "pick": group_cases.pick_of_two,
    "grouping": group_cases.cars,
    "membership": group_cases.member,
}
EVERY = [(name, suffix) for name in CASES for suffix in (".json", ".parquet")]


@pytest.mark.parametrize(("name", "suffix"), EVERY)
def test_a_flipped_bit_is_never_read_as_something_else(name: str, suffix: str, tmp_path: Path) -> None:
    """Of many bits all over the file: it is refused in plain words, or what it holds is the same."""
    record, path, chance = CASES[name](), tmp_path / f"file{suffix}", random.Random(0)
    save(record, path)
    whole, truth, refused = path.read_bytes(), exact(record), 0
    assert exact(load(path)) == truth
    for _ in range(60):
        at, bit = chance.randrange(len(whole)), 1 << chance.randrange(8)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
        try:
            assert exact(load(path)) == truth, f"bit {bit} of byte {at}"
        except vd.errors.InputError:
            refused += 1
    assert refused > 5


@pytest.mark.parametrize(("name", "suffix"), [("explanations", ".json"), ("audit", ".parquet")])
def test_cut_files_and_noise_are_refused(name: str, suffix: str, tmp_path: Path) -> None:
    path, chance = tmp_path / f"file{suffix}", random.Random(1)
    save(CASES[name](), path)
    whole = path.read_bytes()
    broken = [whole[: chance.randrange(len(whole) - 2)] for _ in range(20)]
    broken += [chance.randbytes(300), b"\x00" * 50, whole[::-1], whole * 2 if suffix == ".json" else b"PAR1" * 9]
    for content in broken:
        path.write_bytes(content)
        with pytest.raises(vd.errors.InputError, match=r"damaged|empty|not written|holds"):
            load(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n", "damaged"),
        ("{", "damaged"),
        ("[]", "not written by veridical"),
        ('{"veridical": "explanation", "schema": 7}', "damaged"),
        ('{"veridical": "page", "schema": 7, "items": []}', "not written by veridical"),
        ('{"veridical": ["explanation"], "schema": 7, "items": []}', "damaged|not written"),
        ('{"veridical": "explanation", "schema": 5, "version": "0", "items": []}', "schema 5, .*reads schema 7"),
        ('{"veridical": "explanation", "schema": 99, "version": "9", "items": []}', "schema 99.*upgrade"),
        ('{"veridical": "explanation", "schema": "NaN", "items": []}', "damaged"),
        ("[" * 200_000, "damaged"),
        ('{"a":' * 200_000, "damaged"),
        ("<!DOCTYPE html>", "damaged"),
        ("target,weight\n1,2\n", "damaged"),
    ],
    ids=range(14),
)
def test_other_content_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(vd.errors.InputError, match=words):
        load(tmp_path / "f.json")


def test_numbers_that_json_does_not_have_are_refused(tmp_path: Path) -> None:
    save(made.mushroom(), tmp_path / "f.json")
    text = (tmp_path / "f.json").read_text()
    for token in ("NaN", "Infinity", "-Infinity", "1e999"):
        (tmp_path / "f.json").write_text(text.replace("0.261", token, 1))
        with pytest.raises(vd.errors.InputError, match="damaged"):
            load(tmp_path / "f.json")


def test_recipes_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    save(made.mushroom(), tmp_path / "f.json")
    document = json.loads((tmp_path / "f.json").read_text())
    document["items"][0]["recipe"] = "HERE"
    text = json.dumps({key: value for key, value in document.items() if key != "checksum"})
    (tmp_path / "f.json").write_text(text.replace('"HERE"', '{"a":' * 900 + "1" + "}" * 900))
    with pytest.raises(vd.errors.InputError, match="damaged"):
        load(tmp_path / "f.json")


def test_a_wrong_suffix_is_told(tmp_path: Path) -> None:
    save(made.mushroom(), tmp_path / "f.json")
    save(made.mushroom(), tmp_path / "f.parquet")
    (tmp_path / "f.json").rename(tmp_path / "g.parquet")
    (tmp_path / "f.parquet").rename(tmp_path / "g.json")
    with pytest.raises(vd.errors.InputError, match=r"'g\.parquet' holds JSON.*ends in \.json"):
        load(tmp_path / "g.parquet")
    with pytest.raises(vd.errors.InputError, match=r"'g\.json' holds Parquet.*ends in \.parquet"):
        load(tmp_path / "g.json")
    with pytest.raises(vd.errors.InputError, match=r"must end in \.json, \.parquet"):
        load(tmp_path / "g.html")
    with pytest.raises(vd.errors.InputError, match="is no store of explanations"):
        load(_folder(tmp_path / "h.json"))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_parquet_of_others_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "f.parquet")
    with pytest.raises(vd.errors.InputError, match="not written by veridical"):
        load(tmp_path / "f.parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "f.parquet")
    for head in ({}, {"veridical": "explanation"}, {"veridical": "verdict", "schema": "7"}):
        parquet.write_table(table.replace_schema_metadata(head), tmp_path / "f.parquet")
        with pytest.raises(vd.errors.InputError, match=r"not written by veridical|damaged"):
            load(tmp_path / "f.parquet")


def test_a_document_that_others_set_anew_is_read(tmp_path: Path) -> None:
    """The checksum is of what is said, not of how it is set: other spaces and a byte order mark change nothing."""
    save(made.many(3), tmp_path / "f.json")
    document = json.loads((tmp_path / "f.json").read_text())
    (tmp_path / "f.json").write_text("\ufeff" + json.dumps(document, indent=4, ensure_ascii=False))
    assert exact(load(tmp_path / "f.json")) == exact(made.many(3))
    document["items"][0]["weights"][0] += 1e-9
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises(vd.errors.InputError, match=r"changed after it was saved.*take the checksum out"):
        load(tmp_path / "f.json")


# ---- writing


def fails(code: int, at: str) -> Callable[..., Any]:
    def broken(*given: Any) -> Any:
        raise OSError(code, os.strerror(code), at)

    return broken


@pytest.mark.parametrize("suffix", [".json", ".parquet", ".csv", ".html"])
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "disk is full: make room"),
        (errno.EDQUOT, "disk is full"),
        (errno.EROFS, "nothing may be written"),
    ],
)
def test_what_the_disk_refuses_is_said_and_the_old_file_stays(
    suffix: str, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"e{suffix}"
    save(made.mushroom(), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", fails(code, ""))
    with pytest.raises(vd.errors.InputError, match=words):
        save(made.constant(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_is_said() -> None:
    if not Path("/dev/full").exists():
        return
    with pytest.raises(vd.errors.InputError, match="disk is full"), replacing(Path("/dev/full")) as stream:
        stream.write(b"x" * 100_000)


def test_other_errors_are_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="unplugged"), replacing(tmp_path / "e.json"):
        raise OSError("unplugged")
    assert not os.listdir(tmp_path)


def test_names_that_no_disk_takes(tmp_path: Path) -> None:
    with pytest.raises(vd.errors.InputError, match=r"a folder has that name"):
        save(made.mushroom(), _folder(tmp_path / "f.json"))
    with pytest.raises((vd.errors.InputError, OSError), match=r"name too long|too long"):
        save(made.mushroom(), tmp_path / ("x" * 300 + ".json"))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are those of POSIX")
def test_permissions_are_kept_and_respected(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    old = os.umask(0o022)
    try:
        save(made.mushroom(), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        path.chmod(0o640)
        save(made.constant(), path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o440)
    if os.access(path, os.W_OK):  # the superuser may do everything
        return
    with pytest.raises(vd.errors.InputError, match="may not be changed"):
        save(made.mushroom(), path)


def test_links_stay_links_and_pipes_are_written_to(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to("real.json")
    save(made.mushroom(), tmp_path / "link.json")
    save(made.constant(), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert exact(load(tmp_path / "real.json")) == exact(made.constant())
    os.mkfifo(tmp_path / "pipe.json")
    with subprocess.Popen(["cat", str(tmp_path / "pipe.json")], stdout=subprocess.PIPE) as reader:
        save(made.mushroom(), tmp_path / "pipe.json")
        assert json.loads(reader.communicate()[0])["veridical"] == "explanation"
    assert stat.S_ISFIFO((tmp_path / "pipe.json").stat().st_mode)


SLOW = """
import sys, time
from pathlib import Path
from veridical.storage.atomic_files import replacing
with replacing(Path(sys.argv[1])) as stream:
    stream.write(b"new" * 10_000)
    stream.flush()
    print("half", flush=True)
    time.sleep(3600)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle(end: int, tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as work:
        try:
            assert work.stdout is not None
            assert work.stdout.readline() == b"half\n"
            work.send_signal(end)
            work.wait(600)
        finally:
            work.kill()
    assert path.read_text() == "old"
    left = [name for name in os.listdir(tmp_path) if name != path.name]
    assert left == [] if end == signal.SIGINT else all(name.startswith(".veridical-") for name in left)


def test_two_at_once_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    with replacing(path) as first, replacing(path) as second:
        first.write(b"first" * 10_000)
        second.write(b"second" * 10_000)
    assert path.read_bytes() in (b"first" * 10_000, b"second" * 10_000)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_the_work_of_saving_grows_no_faster_than_the_records(suffix: str, tmp_path: Path) -> None:
    path, few, many = tmp_path / f"m{suffix}", made.many(10), made.many(80)

    def both(records: Any) -> None:
        save(records, path)
        load(path)

    both(few)  # what is done once is not counted
    assert calls(lambda: both(many)) < min(8 * calls(lambda: both(few)), 660 * len(many.items))
