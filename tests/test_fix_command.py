"""``npuport fix`` and standard input, end to end: diffs that other tools take, what is written, what is said."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import SITE, SITE_FIXED, Command, environment, write_files

UNFIXABLE = "import torch\n\nname = torch.cuda.get_arch_list()\n"


def test_checks_standard_input_under_a_name(npuport: Command, tmp_path: Path) -> None:
    run = npuport("check", "-", "--stdin-filename", "src/agent.py", stdin=SITE.encode())
    assert run.status == 1
    assert "  --> src/agent.py:3:5\n" in run.out
    assert "3 | x = torch.zeros(3).cuda()\n" in run.out
    assert list(tmp_path.iterdir()) == []


def test_standard_input_goes_by_a_name_without_one(npuport: Command) -> None:
    assert "<stdin>:3:5: NPU102" in npuport("check", "-", "--output-format", "concise", stdin=SITE.encode()).out


def test_fixes_standard_input_to_standard_output(npuport: Command, tmp_path: Path) -> None:
    data = SITE.replace("\n", "\r\n").encode()
    run = npuport("fix", "-", "--stdin-filename", "agent.py", stdin=data)
    assert (run.status, run.stderr) == (0, "")
    assert run.stdout == SITE_FIXED.replace("\n", "\r\n").encode()
    assert list(tmp_path.iterdir()) == []


def test_fix_of_standard_input_says_on_stderr_what_is_left(npuport: Command) -> None:
    run = npuport("fix", "-", "--stdin-filename", "agent.py", stdin=UNFIXABLE.encode())
    assert (run.status, run.stdout) == (1, UNFIXABLE.encode())
    assert "agent.py:3:8 NPU104" in run.stderr
    assert npuport("fix", "-", "--quiet", stdin=UNFIXABLE.encode()).stderr == ""


def test_fix_of_standard_input_writes_no_file(npuport: Command) -> None:
    assert npuport("fix", "--write", "-", stdin=b"").error.startswith("--write goes with paths")


@pytest.mark.parametrize("command", ["check", "fix"])
def test_per_file_ignores_hold_for_the_name_of_standard_input(npuport: Command, tmp_path: Path, command: str) -> None:
    settings = '[tool.npuport.per-file-ignores]\n"tests/" = ["device"]\n'
    write_files(tmp_path, {"pyproject.toml": settings})
    assert npuport(command, "-", "--stdin-filename", "tests/a.py", stdin=UNFIXABLE.encode()).status == 0
    assert npuport(command, "-", "--stdin-filename", "src/a.py", stdin=UNFIXABLE.encode()).status == 1


def test_what_is_left_is_placed_in_the_file_on_disk(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "import torch\n\nx = torch.zeros(3).cuda()\nname = torch.cuda.get_arch_list()\n"})
    assert "a.py:4:8 NPU104" in npuport("fix", "a.py").stderr
    assert "a.py:5:8 NPU104" in npuport("fix", "--write", "a.py").out


def test_fix_of_unreadable_standard_input_is_one_line(npuport: Command) -> None:
    run = npuport("fix", "-", "--stdin-filename", "agent.py", stdin=b"\0torch.cuda")
    assert run.status == 2
    assert run.error.startswith("agent.py: binary file")
    assert run.stdout == b""


DIFFED: dict[str, str | bytes] = {
    "plain.py": SITE,
    "no_final_newline.py": SITE.rstrip("\n"),
    "name with spaces.py": SITE,
    "crlf.py": SITE.replace("\n", "\r\n"),
    "mark.py": b"\xef\xbb\xbf" + SITE.encode(),
    "latin.py": b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + SITE.encode(),
    "form_feed.py": "\f" + SITE,
    "lone_return.py": b"# one\r# two\n" + SITE.encode(),
    "package/deep.py": SITE,
}


@pytest.mark.parametrize("name", DIFFED)
def test_fix_prints_a_diff_that_other_tools_apply(npuport: Command, tmp_path: Path, name: str) -> None:
    write_files(tmp_path, {name: DIFFED[name]})
    file = tmp_path / name
    before = file.read_bytes()
    run = npuport("fix", name)
    assert run.status == 0
    assert file.read_bytes() == before, "without --write nothing changes"
    assert "Would port 1 finding" in run.stderr
    patched: list[bytes] = []
    for command in (["git", "apply", "-"], ["patch", "--binary", "-p1", "--fuzz=0"]):
        done = subprocess.run(
            command, cwd=tmp_path, input=run.stdout, check=False, capture_output=True, env=environment()
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        patched.append(file.read_bytes())
        file.write_bytes(before)
    assert npuport("fix", "--write", name).status == 0
    assert [file.read_bytes()] * 2 == patched
    assert file.read_bytes() != before


def test_fix_write_changes_the_files_and_sums_up(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE, "other.py": UNFIXABLE, "clean.py": "x = 1\n"})
    run = npuport("fix", "--write", ".")
    assert (tmp_path / "agent.py").read_text() == SITE_FIXED
    assert (tmp_path / "clean.py").read_text() == "x = 1\n"
    assert "Ported " in run.out
    assert "Left for a person: " in run.out
    assert "\n  other.py:" in run.out
    assert (run.status, run.stderr) == (1, "")


def test_unsafe_fixes_are_made_only_when_asked_for(npuport: Command, tmp_path: Path) -> None:
    text = (
        "import torch\n\nx = torch.zeros(  # a reason\n    3\n).cuda()\n"
        "model = torch.load('m', map_location={'cuda:1': 'cuda:0'})\n"
    )
    write_files(tmp_path, {"agent.py": text})
    run = npuport("fix", "--write", "agent.py")
    assert "--unsafe-fixes: 1\n" in run.out
    assert "'cuda:1'" in (tmp_path / "agent.py").read_text()
    run = npuport("fix", "--write", "--unsafe-fixes", "agent.py")
    assert run.status == 0
    assert "cuda" not in (tmp_path / "agent.py").read_text()
