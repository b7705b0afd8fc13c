"""The cache never changes what is found; it only saves looking again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from npuport.engine import file_checks
from npuport.engine.checking import Checker
from npuport.engine.file_checks import FileTask
from npuport.engine.finding import Finding
from npuport.engine.program import Program
from npuport.engine.registry import all_rules
from npuport.sources.settings import Settings
from tests.conftest import SITE, Command, write_files

HELPER = 'DEVICE = "cuda"\n'


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were really checked, in order."""
    names: list[str] = []
    check_bytes = file_checks.check_bytes

    def remembered(checker: Checker, job: FileTask, *parsed: Any) -> list[Finding]:
        names.append(job.path.name)
        return check_bytes(checker, job, *parsed)

    monkeypatch.setattr(file_checks, "check_bytes", remembered)
    return names


def check(folder: Path, *select: str, style: str = "npu", edits: bool = False) -> list[Finding]:
    """The findings below a folder, with the cache in it."""
    codes = frozenset(select) or frozenset(rule.code for rule in all_rules())
    checker = Checker(all_rules(), codes, style, with_edits=edits)
    return Program(sorted(folder.glob("*.py")), Settings(root=folder), checker, use_cache=True).check()


def test_warm_run_finds_the_same_without_looking(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(
        tmp_path,
        {
            "a.py": SITE,
            "b.py": "import torch\ntorch.cuda.empty_cache()\n",
            "broken.py": "import torch.cuda\n(",
            "c.py": "",
        },
    )
    cold = check(tmp_path, edits=True)
    assert [finding.code for finding in cold] == ["NPU102", "NPU103", "NPU000"]
    assert cold[0].fix is not None
    assert cold[0].fix.edits
    assert sorted(looked_at) == ["a.py", "b.py", "broken.py"]
    looked_at.clear()
    assert check(tmp_path, edits=True) == cold
    assert looked_at == []


def test_changed_file_is_seen_and_the_others_are_not_looked_at(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(tmp_path, {"a.py": SITE, "b.py": SITE})
    check(tmp_path)
    looked_at.clear()
    write_files(tmp_path, {"b.py": SITE.replace("x =", "\nx =")})
    assert [(finding.filename.rpartition("/")[2], finding.location.row) for finding in check(tmp_path)] == [
        ("a.py", 3),
        ("b.py", 4),
    ]
    assert looked_at == ["b.py"]


def test_change_of_the_same_length_is_seen(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE})
    status = (tmp_path / "a.py").stat()
    assert len(check(tmp_path)) == 1
    write_files(tmp_path, {"a.py": SITE.replace(".cuda()", ".clone")})
    os.utime(tmp_path / "a.py", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert check(tmp_path) == []


def test_touched_file_with_the_same_bytes_is_not_looked_at(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(tmp_path, {"a.py": SITE})
    cold = check(tmp_path)
    looked_at.clear()
    os.utime(tmp_path / "a.py", ns=(1, 1))
    assert check(tmp_path) == cold
    assert check(tmp_path) == cold
    assert looked_at == []


def test_new_and_removed_files_are_seen(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(tmp_path, {"a.py": SITE})
    check(tmp_path)
    looked_at.clear()
    write_files(tmp_path, {"b.py": SITE})
    assert len(check(tmp_path)) == 2
    assert looked_at == ["b.py"]
    (tmp_path / "a.py").unlink()
    assert len(check(tmp_path)) == 1


def test_other_selection_style_or_ignores_do_not_reuse(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(tmp_path, {"a.py": SITE})
    assert len(check(tmp_path)) == 1
    assert check(tmp_path, "NPU103") == []
    assert len(check(tmp_path, "NPU102")) == 1
    portable = check(tmp_path, style="portable", edits=True)[0].fix
    npu = check(tmp_path, edits=True)[0].fix
    assert portable is not None
    assert npu is not None
    assert portable.edits != npu.edits
    assert looked_at == ["a.py"] * 5


def test_findings_take_the_name_under_which_the_file_is_given_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: list[str]
) -> None:
    write_files(tmp_path, {"a.py": SITE})
    check(tmp_path)
    looked_at.clear()
    monkeypatch.chdir(tmp_path)
    assert [finding.filename for finding in check(Path())] == ["a.py"]
    assert looked_at == []


def test_importer_that_comes_later_makes_a_file_relevant(tmp_path: Path, looked_at: list[str]) -> None:
    write_files(tmp_path, {"helper.py": HELPER, "other.py": "import torch\n"})
    assert check(tmp_path) == []
    assert check(tmp_path) == []
    looked_at.clear()
    write_files(tmp_path, {"agent.py": "import torch\nfrom helper import DEVICE\n"})
    found = check(tmp_path)
    assert [(finding.code, Path(finding.filename).name) for finding in found] == [("NPU101", "helper.py")]
    assert "helper.py" in looked_at
    looked_at.clear()
    assert check(tmp_path) == found
    assert looked_at == []
    (tmp_path / "agent.py").unlink()
    assert check(tmp_path) == []


def test_importer_that_changes_makes_a_file_relevant(tmp_path: Path) -> None:
    write_files(tmp_path, {"helper.py": HELPER, "agent.py": "import torch\n"})
    assert check(tmp_path) == []
    write_files(tmp_path, {"agent.py": "import torch\nimport helper\n"})
    assert [finding.code for finding in check(tmp_path)] == ["NPU101"]
    write_files(tmp_path, {"agent.py": "import helper\n"})
    assert check(tmp_path) == []


def test_helper_that_changes_is_related_to_importers_known_from_the_cache(tmp_path: Path) -> None:
    write_files(tmp_path, {"helper.py": "X = 1\n", "agent.py": "import torch\nimport helper\n"})
    assert check(tmp_path) == []
    write_files(tmp_path, {"helper.py": HELPER})
    assert [finding.code for finding in check(tmp_path)] == ["NPU101"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"files": []}', b'{"files": {"x": 1}}', b"\xff\0"])
def test_damaged_cache_does_no_harm(tmp_path: Path, content: bytes) -> None:
    write_files(tmp_path, {"a.py": SITE})
    cold = check(tmp_path)
    (file,) = (tmp_path / ".npuport_cache").glob("*.json")
    file.write_bytes(content)
    assert check(tmp_path) == cold
    assert str(tmp_path / "a.py") in json.loads(file.read_text())["files"]


def test_damaged_entry_does_no_harm(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE})
    cold = check(tmp_path)
    (file,) = (tmp_path / ".npuport_cache").glob("*.json")
    whole = json.loads(file.read_text())
    entry = whole["files"][str(tmp_path / "a.py")]
    broken: list[Any] = [None, [], {}, {"stat": entry["stat"]}, {**entry, "facts": []}, {**entry, "findings": [{}]}]
    for damaged in broken:
        file.write_text(json.dumps({"files": {str(tmp_path / "a.py"): damaged}}))
        assert check(tmp_path) == cold, damaged


def test_unwritable_cache_folder_does_no_harm(npuport: Command, tmp_path: Path) -> None:
    # A file stands where the folder should be: not even root can write into that.
    write_files(tmp_path, {"a.py": SITE, ".npuport_cache": "in the way"})
    run = npuport("check", "a.py", "--output-format", "concise")
    assert (run.status, run.stderr) == (1, "")
    assert (tmp_path / ".npuport_cache").read_text() == "in the way"


def test_cache_folder_hides_itself_and_is_left_out(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE})
    assert npuport("check", ".").status == 1
    folder = tmp_path / ".npuport_cache"
    assert (folder / ".gitignore").read_text() == "*\n"
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")
    assert npuport("check", ".").out == npuport("check", ".", "--no-cache").out


def test_no_cache_writes_nothing(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE})
    assert npuport("check", ".", "--no-cache").status == 1
    assert npuport("fix", ".").status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_fix_after_a_cached_check_works_on_the_file_as_it_is(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE})
    assert npuport("check", ".").status == 1
    assert npuport("fix", "--write", ".").status == 0
    assert npuport("check", ".").status == 0
