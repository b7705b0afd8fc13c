"""Files are written whole or not at all: permissions, links, changes meanwhile, refusals of the system."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from npuport.cli.main import run
from npuport.engine import porting
from npuport.engine.files import ChangedMeanwhile, write_atomically
from npuport.engine.fixing import fix_source
from tests.conftest import SITE, SITE_FIXED


def test_permissions_stay(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(SITE)
    file.chmod(0o751)
    assert run(["fix", "--write", str(file)]) == 0
    assert file.read_text() == SITE_FIXED
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert [path.name for path in tmp_path.iterdir()] == ["agent.py"]


def test_symbolic_link_stays_and_its_target_changes(tmp_path: Path) -> None:
    target, link = tmp_path / "real" / "agent.py", tmp_path / "agent.py"
    target.parent.mkdir()
    target.write_text(SITE)
    link.symlink_to(Path("real", "agent.py"))
    assert run(["fix", "--write", str(link)]) == 0
    assert os.readlink(link) == "real/agent.py"
    assert target.read_text() == SITE_FIXED


def test_file_that_changed_meanwhile_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "agent.py", tmp_path / "other.py"
    for path in (file, other):
        path.write_text(SITE)

    def fix_while_somebody_saves(*arguments: object, **options: object) -> object:
        if file.read_text() == SITE:
            file.write_text("saved meanwhile\n")
        return fix_source(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(porting, "fix_source", fix_while_somebody_saves)
    assert run(["fix", "--write", str(tmp_path)]) == 2
    assert file.read_text() == "saved meanwhile\n"
    assert other.read_text() == SITE_FIXED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"npuport: error: {file}: not written: ")
    assert "changed by another program" in line


def test_read_only_file_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.py"
    file.write_text(SITE)
    file.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK and Path(path).name == "agent.py"))
    assert run(["fix", "--write", str(file)]) == 2
    assert file.read_text() == SITE
    assert capsys.readouterr().err.splitlines() == [f"npuport: error: {file}: not written: it is read-only"]


def test_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "agent.py"
    file.write_bytes(b"old")

    def fails(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(file, b"new", b"old")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_write_asks_for_the_expected_bytes(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_bytes(b"theirs")
    with pytest.raises(ChangedMeanwhile):
        write_atomically(file, b"new", b"old")
    assert file.read_bytes() == b"theirs"
