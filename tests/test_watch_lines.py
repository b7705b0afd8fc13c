"""Which files count as the user's own."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import npuport
from npuport.observe.inside.lines import UserFiles

OURS = Path(npuport.__file__).resolve().parent / "observe" / "run.py"
STDLIB = Path(sysconfig.get_paths()["stdlib"]).resolve()


@pytest.mark.parametrize("folder", [OURS.parents[2], STDLIB.parent, Path("/")])
def test_what_lies_below_the_scripts_folder_may_still_be_anothers(folder: Path) -> None:
    files = UserFiles(str(folder))
    assert files.name(str(OURS)) == ""
    assert files.name(str(STDLIB / "random.py")) == ""


def test_a_script_of_npuport_itself_is_the_users() -> None:
    assert UserFiles(str(OURS.parent)).name(str(OURS)) == str(OURS)


def test_a_file_beside_the_script(tmp_path: Path) -> None:
    beside = tmp_path / "model.py"
    beside.touch()
    installed = tmp_path / ".venv" / "lib" / "site-packages" / "other.py"
    installed.parent.mkdir(parents=True)
    installed.touch()
    files = UserFiles(str(tmp_path))
    assert files.name(str(beside)) == str(beside)
    assert files.name(str(installed)) == ""
