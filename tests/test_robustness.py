"""Runs under stress: interrupts, huge and deep files, what is imported."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import SITE, SITE_FIXED, Command, environment, write_files

DEEP = {
    "parentheses": "(" * 5000 + "1" + ")" * 5000,
    "brackets": "[" * 190 + "1" + "]" * 190,
    "attributes": "x" + ".a" * 30_000,
    "calls": "f" + "()" * 5000,
    "sums": " + ".join(["x"] * 20_000),
    "signs": "-" * 20_000 + "1",
    "conditions": "1 if x else " * 3000 + "2",
    "lambdas": "lambda: " * 3000 + "1",
    "strings": "'a' + " * 10_000 + "'cuda'",
    "comparisons": "x < " * 20_000 + "y",
}
MANY = 400


def test_files_are_whole_after_an_interrupt(tmp_path: Path) -> None:
    names = [f"agent_{number:03}.py" for number in range(MANY)]
    write_files(tmp_path, dict.fromkeys(names, SITE))
    last = tmp_path / names[-1]
    process = subprocess.Popen(
        [sys.executable, "-m", "npuport", "fix", "--write", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # A test run in the background may have been told to ignore interrupts; the child must not inherit that.
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while (tmp_path / names[3]).read_text() == SITE and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    texts = {(tmp_path / name).read_text() for name in names}
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert texts == {SITE, SITE_FIXED}, "every file is old or new, and the run was stopped between"
    assert last.read_text() == SITE
    assert sorted(path.name for path in tmp_path.iterdir()) == names, "no temporary file stays behind"


def test_interrupted_check_says_so(tmp_path: Path) -> None:
    write_files(tmp_path, {f"agent_{number}.py": SITE * 300 for number in range(60)})
    (tmp_path / ".npuport_cache").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", _ANNOUNCED, "check", "--quiet", "."],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors.strip()) == (130, "", "npuport: interrupted")


# Runs the command and says when the first file is being checked.
_ANNOUNCED = """
import sys
from npuport.cli.main import main
from npuport.engine import file_checks
check_bytes, begun = file_checks.check_bytes, []
def announced(*arguments):
    if not begun:
        begun.append(print("begun", flush=True))
    return check_bytes(*arguments)
file_checks.check_bytes = announced
main(sys.argv[1:])
"""


def test_file_of_ten_megabytes_is_checked(npuport: Command, tmp_path: Path) -> None:
    table = "# a comment of some length to fill the file with text that is soon read\n" * 140_000
    write_files(tmp_path, {"huge.py": table + SITE, "agent.py": SITE})
    assert (tmp_path / "huge.py").stat().st_size > 10_000_000
    run = npuport("check", ".", "--output-format", "concise", "--quiet")
    assert (run.status, run.stderr) == (1, "")
    assert [line.split()[:2] for line in run.out.splitlines()] == [
        ["agent.py:3:5:", "NPU102"],
        ["huge.py:140003:5:", "NPU102"],
    ]


def test_file_of_ten_megabytes_is_fixed(npuport: Command, tmp_path: Path) -> None:
    table = f"TABLE = '{'x' * 10_000_000}'\n"
    write_files(tmp_path, {"huge.py": SITE + table})
    assert npuport("fix", "--write", "--quiet", "huge.py").status == 0
    assert (tmp_path / "huge.py").read_text() == SITE_FIXED + table


@pytest.mark.parametrize("command", ["check", "fix"])
def test_deep_nesting_gives_no_traceback_and_stops_no_other_file(
    npuport: Command, tmp_path: Path, command: str
) -> None:
    files = {f"{name}.py": f"import torch\ny = torch.cuda\nz = {code}\n" for name, code in DEEP.items()}
    write_files(tmp_path, {**files, "zz_agent.py": SITE})
    run = npuport(command, ".", *(["--output-format", "json"] if command == "check" else ["--write"]))
    assert "Traceback" not in run.stderr
    if command == "check":
        assert run.status == 1
        found = json.loads(run.out)
        assert {"parentheses.py", "brackets.py", "zz_agent.py"} <= {item["filename"] for item in found}
        assert {item["code"] for item in found if item["filename"] == "parentheses.py"} == {"NPU000"}
    else:
        assert (tmp_path / "zz_agent.py").read_text() == SITE_FIXED
        assert (tmp_path / "parentheses.py").read_text() == files["parentheses.py"]


@pytest.mark.parametrize("name", [name for name in DEEP if name != "parentheses"])
def test_finding_beside_deep_nesting_is_fixed_or_the_file_left_alone(
    npuport: Command, tmp_path: Path, name: str
) -> None:
    text = f"import torch\ny = torch.zeros(1).cuda()\nz = {DEEP[name]}\n"
    write_files(tmp_path, {"deep.py": text})
    run = npuport("fix", "--write", "deep.py")
    assert "Traceback" not in run.stderr
    new = text.replace("y = ", "import torch_npu  # noqa: F401\ny = ").replace(".cuda()", ".npu()")
    after = (tmp_path / "deep.py").read_text()
    if after == text:
        assert run.status in (1, 2)
        assert "nested too deeply" in run.out + run.stderr or "deep.py" in run.stderr
    else:
        assert after == new


def test_many_levels_of_blocks_are_no_traceback(npuport: Command, tmp_path: Path) -> None:
    levels = [f"{' ' * depth}if x:\n" for depth in range(90)]
    inner = f"{' ' * 90}y = torch.zeros(1).cuda()\n"
    write_files(tmp_path, {"blocks.py": "import torch\n" + "".join(levels) + inner})
    run = npuport("fix", "--write", "blocks.py")
    assert (run.status, run.stderr) == (0, "")
    assert (tmp_path / "blocks.py").read_text().endswith(f"{' ' * 90}y = torch.zeros(1).npu()\n")


_MODULES = """
import json, sys
import npuport.cli.main as main
status = main.run(sys.argv[1:])
print(json.dumps(["MODULES", status, sorted(sys.modules)]))
"""


def loaded(folder: Path, *arguments: str) -> tuple[int, set[str]]:
    """Status of a command in a child and the modules that the child has then."""
    # A torch that can be found, so that an import of it would be seen.
    (folder / "torch.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-c", _MODULES, *arguments], cwd=folder, capture_output=True, text=True, check=True,
        env=environment(PYTHONPATH=os.fspath(folder)),
    )  # fmt: skip
    mark, status, modules = json.loads(done.stdout.splitlines()[-1])
    assert mark == "MODULES"
    return status, set(modules)


def test_check_never_imports_torch_nor_libcst(tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    status, modules = loaded(tmp_path, "check", "agent.py", "--no-cache")
    assert status == 1
    assert "npuport.engine.checking" in modules
    assert modules.isdisjoint({"torch", "torch_npu", "libcst", "numpy"})


def test_fix_with_nothing_to_fix_never_imports_libcst(tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": "import torch\n\nx = torch.zeros(3)\n"})
    status, modules = loaded(tmp_path, "fix", "agent.py")
    assert status == 0
    assert "npuport.engine.fixing" in modules
    assert modules.isdisjoint({"torch", "torch_npu", "libcst", "numpy"})


def test_fix_never_imports_torch(tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    status, modules = loaded(tmp_path, "fix", "--write", "agent.py")
    assert status == 0
    assert "libcst" in modules
    assert modules.isdisjoint({"torch", "torch_npu"})
    assert (tmp_path / "agent.py").read_text() == SITE_FIXED


def test_function_called_cuda_in_a_file_without_classes(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"moving.py": "def cuda(tensor):\n    return tensor\n"})
    assert npuport("check", ".").status == 0


def test_yaml_is_parsed_only_where_something_can_be_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"conf/seed.yaml": "seed: 1\n", "lab/device.yaml": "device: cuda\n"})
    assert "yaml" not in loaded(tmp_path, "check", "conf", "--no-cache")[1]
    assert "yaml" in loaded(tmp_path, "check", "lab", "--no-cache")[1]
