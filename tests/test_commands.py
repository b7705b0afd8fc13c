"""The installed command, end to end: exit statuses, messages, formats, standard input, diffs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SITE, Command, environment, git, write_files

KEYS = [
    "cell", "code", "end_location", "evidence", "filename", "fix", "how_often", "location", "message", "name",
    "severity", "topic", "url",
]  # fmt: skip
CHOICE = (
    'import torch\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\nmodel = torch.nn.Linear(1, 1).to(device)\n'
)
ADVICE = "import torch\n\ntorch.backends.cuda.matmul.allow_tf32 = True\n"
SETTINGS = "[tool.npuport]\nselect = [\n"


def test_status_is_0_for_a_clean_file_and_says_so(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"clean.py": "import torch\n\nx = torch.zeros(3)\n"})
    run = npuport("check", "clean.py")
    assert (run.status, run.stderr) == (0, "")
    assert run.out == "All clear: 1 file checked\n"


def test_status_is_1_for_a_finding(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    run = npuport("check", "agent.py")
    assert (run.status, run.stderr) == (1, "")


def test_checks_the_current_folder_where_no_path_is_given(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"package/agent.py": SITE})
    run = npuport("check", "--output-format", "concise", "--quiet")
    assert run.status == 1
    assert run.out.startswith("package/agent.py:3:5: NPU102 [*] ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "absent.py"], "no such file or folder: absent.py"),
        (["fix", "absent.py"], "no such file or folder: absent.py"),
        (["check", "--select", "NPU1022", "agent.py"], "did you mean NPU102?"),
        (["check", "--ignore", "cuda-metod", "agent.py"], "did you mean cuda-method?"),
        (["explain", "cuda-metod"], "did you mean cuda-method?"),
        (["explain", "NPU1"], "NPU1 means several rules; `npuport rules NPU1` lists them"),
        (["explain", "NPU999"], "`npuport rules` lists them"),
        (["explain", "wibble"], "`npuport rules` lists them"),
        (["rules", "cuda-metod"], "did you mean cuda-method?"),
        (["chekc"], "did you mean 'check'?"),
        (["wibble"], "`npuport --help` lists them"),
        (["check", "--sellect", "NPU1", "agent.py"], "--select"),
        (["check", "--output-format", "xml", "agent.py"], "concise"),
        (["check", "--target", "latest", "agent.py"], "'latest' is no torch_npu release; expected e.g. 2.13.0"),
        (["check", "--stdin-filename", "a.py", "agent.py"], "goes with the path '-'"),
        (["check", "-", "agent.py"], "goes with no other path"),
        (["check", "--config", "absent.toml", "agent.py"], "absent.toml: cannot be read: No such file or directory"),
        (["completion", "tcsh"], "bash"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_status_2_and_one_line(npuport: Command, tmp_path: Path, arguments: list[str], says: str) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    run = npuport(*arguments)
    assert run.status == 2
    assert says in run.error
    assert run.stdout == b""


@pytest.mark.parametrize("command", ["check", "fix"])
def test_broken_settings_are_status_2_and_change_nothing(npuport: Command, tmp_path: Path, command: str) -> None:
    write_files(tmp_path, {"agent.py": SITE, "pyproject.toml": SETTINGS})
    run = npuport(command, *(["--write"] if command == "fix" else []), "agent.py")
    assert run.status == 2
    assert "pyproject.toml: not valid TOML: " in run.error
    assert (tmp_path / "agent.py").read_text() == SITE


@pytest.mark.parametrize("command", ["check", "fix"])
def test_folder_without_python_is_a_warning(npuport: Command, tmp_path: Path, command: str) -> None:
    write_files(tmp_path, {"docs/notes.txt": "torch.cuda"})
    run = npuport(command, "docs")
    assert run.status == 0
    assert "npuport: warning: no Python files or notebooks under docs" in run.stderr.splitlines()


def test_full_format_shows_line_place_reason_and_fix(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": CHOICE})
    lines = npuport("check", "agent.py", "--select", "NPU101").out.splitlines()
    assert lines[:5] == [
        'NPU101 cuda-device-string (error): "cuda" names a CUDA device, an NPU machine has none',
        "  --> agent.py:2:10",
        "  |",
        f"2 | {CHOICE.splitlines()[1]}",
        "  |          ^^^^^^",
    ]
    assert lines[5].startswith("   = because ")
    assert lines[6] == "   = fix: [*] Name the NPU"
    assert lines[-1] == "Found 1 error in 1 of 1 file; up to 1 can be fixed with `npuport fix --write`"


def test_concise_format_is_one_line_a_finding(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": CHOICE})
    lines = npuport("check", "agent.py", "--output-format", "concise").out.splitlines()
    assert [line.split(" ")[:3] for line in lines[:-1]] == [
        ["agent.py:2:10:", "NPU101", "[*]"],
        ["agent.py:2:20:", "NPU103", "[*]"],
    ]
    assert lines[-1].startswith("Found 2 errors")


def test_json_format_has_exactly_the_promised_keys(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": CHOICE, "clean.py": "", "broken.py": "import torch.cuda\n("})
    found = json.loads(npuport("check", ".", "--output-format", "json").out)
    assert [item["code"] for item in found] == ["NPU101", "NPU103", "NPU000"]
    for item in found:
        assert list(item) == KEYS
        assert set(item["location"]) == set(item["end_location"]) == {"row", "column"}
    first, broken = found[0], found[-1]
    assert (first["filename"], first["location"], first["end_location"]) == (
        "agent.py", {"row": 2, "column": 10}, {"row": 2, "column": 16},
    )  # fmt: skip
    assert (first["name"], first["severity"], first["topic"], first["cell"]) == (
        "cuda-device-string",
        "error",
        "device",
        None,
    )
    assert set(first["fix"]) == {"applicability", "message", "edits"}
    assert first["fix"]["applicability"] == "safe"
    assert all(set(edit) == {"content", "location", "end_location", "cell"} for edit in first["fix"]["edits"])
    assert broken["fix"] is None


def test_json_format_of_nothing_is_an_empty_list(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"clean.py": "x = 1\n"})
    assert json.loads(npuport("check", "clean.py", "--output-format", "json").out) == []


def test_github_format_escapes_what_would_end_a_property(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a,b:c%.py": SITE, "advice.py": ADVICE})
    lines = npuport("check", "--output-format", "github").out.splitlines()
    assert lines[0].startswith(
        "::error title=npuport (NPU102),file=a%2Cb%3Ac%25.py,line=3,col=5,endLine=3,endColumn=26::NPU102 "
    )
    assert lines[1].startswith("::notice title=npuport (NPU108),file=advice.py,")
    assert len(lines) == 2


def test_marks_stand_below_the_place_behind_wide_characters(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": "import torch\n名 = torch.zeros(1).cuda()\n"})
    lines = npuport("check", "agent.py").out.splitlines()
    assert lines[3:5] == ["2 | 名 = torch.zeros(1).cuda()", "  | " + " " * 5 + "^" * 21]


def test_statistics_count_by_rule(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE, "b.py": SITE, "c.py": CHOICE})
    run = npuport("check", "--statistics", "--select", "NPU101,NPU102")
    assert run.status == 1
    assert [line.split() for line in run.out.splitlines()[:2]] == [
        ["2", "NPU102", "[*]", "error", "cuda-method"],
        ["1", "NPU101", "[*]", "error", "cuda-device-string"],
    ]
    assert run.out.splitlines()[2] == "By topic: device 3"


def test_statistics_are_json_where_json_is_asked_for(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": SITE, "b.py": SITE})
    run = npuport("check", "--statistics", "--output-format", "json")
    row = {"code": "NPU102", "name": "cuda-method", "severity": "error", "count": 2, "fixable": 2}
    assert json.loads(run.out) == [row]


@pytest.mark.parametrize(
    ("options", "status"), [([], 0), (["--fail-level", "note"], 1), (["--fail-level", "error"], 0)], ids=str
)
def test_fail_level_decides_the_status(npuport: Command, tmp_path: Path, options: list[str], status: int) -> None:
    write_files(tmp_path, {"advice.py": ADVICE})
    run = npuport("check", "advice.py", *options)
    assert run.status == status
    assert "Found 1 note" in run.out


def test_exit_zero_still_reports(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    run = npuport("check", "agent.py", "--exit-zero")
    assert run.status == 0
    assert "NPU102" in run.out


def test_quiet_prints_findings_and_nothing_else(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE, "clean.py": ""})
    assert npuport("check", "clean.py", "-q") == npuport("check", "clean.py", "--quiet")
    assert npuport("check", "clean.py", "--quiet").out == ""
    found = npuport("check", "agent.py", "--quiet", "--output-format", "concise")
    assert found.status == 1
    assert len(found.out.splitlines()) == 1


def test_rules_lists_every_rule_and_those_of_a_topic(npuport: Command) -> None:
    everything = npuport("rules").out
    assert "NPU000  syntax-error" in everything
    assert "NPU103  cuda-api" in everything
    assert {line.split()[2] for line in npuport("rules", "amp").out.splitlines()} == {"amp"}
    data = json.loads(npuport("rules", "NPU102", "--output-format", "json").out)
    assert [(row["code"], row["name"], row["fix"]) for row in data] == [("NPU102", "cuda-method", True)]
    assert npuport("rules", "--output-format", "markdown").out.startswith("| code | name |")


def test_explain_takes_code_and_name(npuport: Command) -> None:
    page = npuport("explain", "NPU102")
    assert page.status == 0
    assert page.out.startswith("NPU102 cuda-method\n")
    assert "Why on an NPU\n-------------\n" in page.out
    assert npuport("explain", "cuda-method") == npuport("explain", "npu102") == page


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o nosort"), ("zsh", "#compdef npuport"), ("fish", "complete --no-files")]
)
def test_completion_prints_a_script(npuport: Command, shell: str, mark: str) -> None:
    run = npuport("completion", shell)
    assert (run.status, run.stderr) == (0, "")
    assert mark in run.out


def test_help_and_version(npuport: Command) -> None:
    assert "explain" in npuport("--help").out
    assert "--output-format" in npuport("check", "--help").out
    assert npuport("--version").out.startswith("npuport, version ")
    assert npuport().status == 2


def test_binary_file_among_good_ones_is_a_finding_of_its_own(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a_binary.py": b"torch.cuda\0\xff", "b_agent.py": SITE})
    run = npuport("check", ".", "--output-format", "concise", "--quiet")
    assert run.status == 1
    assert [line.split()[:2] for line in run.out.splitlines()] == [
        ["a_binary.py:1:1:", "NPU000"],
        ["b_agent.py:3:5:", "NPU102"],
    ]


def test_pipe_closed_early_is_no_error(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": "import torch\n" + "x = torch.zeros(3).cuda()\n" * 2000})
    command = f"{sys.executable} -m npuport check agent.py | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=environment(), check=False
    )
    assert done.stdout.startswith("NPU102")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_paths_are_given_as_the_user_named_them(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"src/agent.py": SITE})
    (tmp_path / "elsewhere").mkdir()
    absolute = npuport("check", tmp_path / "src", "--output-format", "concise", "--quiet").out
    assert absolute.startswith(f"{tmp_path}{os.sep}src{os.sep}agent.py:3:5: ")
    git(tmp_path, "init", "-q")
    assert npuport("check", "src", "--output-format", "concise", "--quiet").out.startswith("src/agent.py:3:5: ")
