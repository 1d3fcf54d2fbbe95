"""Links and pipes inside a store are replaced, never followed: nothing outside it is written."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.storage.atomic_files import replacing_entry

pytest.importorskip("pyarrow")

X = np.random.default_rng(0).normal(size=(1030, 2))
PARTS = ("part-000000.parquet", "part-000001.parquet")


def explained(path: Path) -> Any:
    method = linear_lime(n_samples=16)
    return vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, method=method, store=path, batch_size=1024)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(explained(tmp_path_factory.mktemp("whole") / "s").path)


@pytest.fixture
def store(whole: Path, tmp_path: Path) -> Any:
    shutil.copytree(whole, tmp_path / "s")
    return vd.load(tmp_path / "s")


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("precious")
    return tmp_path / "victim"


def absolute(entry: Path, victim: Path) -> None:
    entry.symlink_to(victim)


def relative(entry: Path, victim: Path) -> None:
    entry.symlink_to(Path("..") / victim.name)


def hard(entry: Path, victim: Path) -> None:
    os.link(victim, entry)


def chain(entry: Path, victim: Path) -> None:
    (victim.parent / "between").symlink_to(victim)
    entry.symlink_to(victim.parent / "between")


def folder(entry: Path, victim: Path) -> None:
    entry.symlink_to(victim.parent, target_is_directory=True)


def nowhere(entry: Path, victim: Path) -> None:
    entry.symlink_to(victim.parent / "new")


def pipe(entry: Path, victim: Path) -> None:
    os.mkfifo(entry)


KINDS = [absolute, relative, hard, chain, folder, nowhere, pipe]


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_that_is_a_link_is_replaced(
    kind: Callable[..., None], store: Any, tmp_path: Path, victim: Path
) -> None:
    was = store.fingerprint
    (store.path / PARTS[1]).unlink()
    kind(store.path / PARTS[1], victim)
    before = sorted(os.listdir(tmp_path))
    again = explained(tmp_path / "s")
    again.check()
    assert again.fingerprint == was
    assert victim.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == before
    assert stat.S_ISREG((store.path / PARTS[1]).lstat().st_mode)


def test_a_manifest_that_is_a_link_is_replaced(store: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    os.rename(store.path / "manifest.json", elsewhere)
    began = elsewhere.read_text().replace('"complete": true', '"complete": false')
    elsewhere.write_text(began)
    (store.path / "manifest.json").symlink_to(elsewhere)
    explained(tmp_path / "s").check()
    assert elsewhere.read_text() == began
    assert not (store.path / "manifest.json").is_symlink()


def test_a_manifest_that_leads_nowhere_makes_no_file(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "manifest.json").symlink_to(tmp_path / "new")
    with pytest.raises(vd.VeridicalError, match="give a new or empty folder"):
        explained(tmp_path / "s")
    assert not (tmp_path / "new").exists()


def test_a_link_to_a_folder_is_a_store_like_any(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "s").symlink_to(tmp_path / "disk", target_is_directory=True)
    explained(tmp_path / "s").check()
    assert (tmp_path / "s").is_symlink()
    assert sorted(os.listdir(tmp_path / "disk")) == ["manifest.json", *PARTS]
    vd.load(tmp_path / "s").check()  # type: ignore[union-attr]


def test_temporary_links_are_removed_and_not_followed(store: Any, tmp_path: Path, victim: Path) -> None:
    (store.path / ".veridical-1.tmp").symlink_to(victim)
    (store.path / PARTS[1]).unlink()
    explained(tmp_path / "s")
    assert victim.read_text() == "precious"
    assert not os.path.lexists(store.path / ".veridical-1.tmp")


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_is_replaced_itself(kind: Callable[..., None], tmp_path: Path, victim: Path) -> None:
    (tmp_path / "s").mkdir()
    kind(tmp_path / "s" / "entry", victim)
    with replacing_entry(tmp_path / "s" / "entry") as stream:
        stream.write(b"new")
    assert (tmp_path / "s" / "entry").read_bytes() == b"new"
    assert victim.read_text() == "precious"
    assert not (tmp_path / "new").exists()
