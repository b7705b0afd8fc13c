"""How the emulated device comes about: what it needs, one builder at a time, nothing half-made, and clear refusals."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import pytest

from npuport.emulator import cache
from npuport.emulator.build import NATIVE, build_state, built_emulator
from npuport.emulator.compiler import CompileError, Compiler, Step, find_compiler, run_steps
from npuport.emulator.environment import emulated_environment
from npuport.emulator.errors import EmulatorError
from npuport.emulator.missing_symbols import failing_functions
from npuport.emulator.requirements import check_platform, installation
from npuport.emulator.shared_libraries import read_library
from tests.conftest import Emulator, environment, write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
KEY = "torch-1-torch_npu-1-abc"
DAY = 86400.0
# Makes a build slowly, and notes each start of the work beside the folder of builds.
BUILDER = """
import sys, time
from pathlib import Path, PurePosixPath
from npuport.emulator.cache import find_or_make

def make(folder):
    with open(sys.argv[2], "a") as log:
        log.write("started\\n")
    (folder / "first").write_text("1")
    time.sleep(float(sys.argv[3]))
    (folder / "last").write_text("2")

print(find_or_make(Path(sys.argv[1]), sys.argv[4], make))
"""


def builder(builds: Path, log: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILDER, str(builds), str(log), str(seconds), KEY]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(), cwd=ROOT)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not come"
        time.sleep(0.01)


def made(builds: Path, key: str = KEY) -> Path:
    """A build by this process, which has one file."""
    return cache.find_or_make(builds, key, lambda folder: (folder / "library").touch())


def entries(builds: Path) -> list[str]:
    return sorted(path.name for path in builds.iterdir() if path.is_dir())


# ---- the folder of builds


def test_two_processes_build_once(tmp_path: Path) -> None:
    builds, log = tmp_path / "builds", tmp_path / "log"
    both = [builder(builds, log, 0.3) for _ in range(2)]
    outputs = [process.communicate(timeout=60)[0].strip() for process in both]
    assert outputs == [str(builds / KEY)] * 2
    assert log.read_text() == "started\n"
    assert sorted(path.name for path in (builds / KEY).iterdir()) == ["first", "last"]


def test_a_builder_that_is_killed_leaves_nothing_that_is_found(tmp_path: Path) -> None:
    builds, log = tmp_path / "builds", tmp_path / "log"
    killed = builder(builds, log, 60)
    wait_for(log)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert entries(builds) and cache.find(builds, KEY) is None
    assert [path.name for path in made(builds).iterdir()] == ["library"]
    assert entries(builds) == [KEY]


def test_a_build_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise EmulatorError("no")

    with pytest.raises(EmulatorError):
        cache.find_or_make(tmp_path, KEY, fail)
    assert entries(tmp_path) == []


def test_builds_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    for number, days in enumerate((0.1, 2, 3, 4, 5, 6, 40)):
        build = made(tmp_path, f"old-{number}")
        os.utime(build, (time.time() - days * DAY,) * 2)
    made(tmp_path)
    # Five stay: the new one and the four that were used last.
    assert entries(tmp_path) == ["old-0", "old-1", "old-2", "old-3", KEY]


def test_builds_of_today_stay_however_many(tmp_path: Path) -> None:
    for number in range(8):
        made(tmp_path, f"build-{number}")
    assert len(entries(tmp_path)) == 8


def test_a_build_that_is_found_counts_as_used(tmp_path: Path) -> None:
    build = made(tmp_path)
    os.utime(build, (0, 0))
    assert cache.find(tmp_path, KEY) == build
    assert time.time() - build.stat().st_mtime < DAY


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmulatorError) as raised:
        made(tmp_path / "file" / "builds")
    assert "NPUPORT_CACHE_DIR" in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"NPUPORT_CACHE_DIR": "/a"}, "/a/emulator"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/npuport/emulator"),
        ({"XDG_CACHE_HOME": "relative"}, "~/.cache/npuport/emulator"),
        ({}, "~/.cache/npuport/emulator"),
        ({"NPUPORT_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a/emulator"),
    ],
)
def test_where_builds_are_kept(variables: dict[str, str], expected: str) -> None:
    assert cache.cache_folder(variables) == Path(expected).expanduser()


# ---- the compiler


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(EmulatorError, match=r"there is no g\+\+; install it .*apt install g\+\+") as raised:
        find_compiler()
    assert "\n" not in str(raised.value)


def test_the_state_names_the_absent_compiler(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_state(sys.executable).libraries == emulator.libraries
    monkeypatch.setenv("PATH", str(emulator.libraries))
    monkeypatch.delenv("CXX", raising=False)
    state = build_state(sys.executable)
    assert "there is no g++" in state.fault and state.libraries is None and state.compiler == ""
    assert state.torch.split("+")[0] == state.torch_npu.split(".post")[0]


def test_a_compiler_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(script(tmp_path / "cxx", "echo first >&2; echo broken >&2; exit 1")))
    with pytest.raises(EmulatorError, match="does not run: broken"):
        find_compiler()


def test_what_the_compiler_refuses_is_told_in_one_line(tmp_path: Path) -> None:
    refusing = script(tmp_path / "cxx", 'echo note; echo "a.cpp:1: error: no such thing"; echo more; exit 1')
    with pytest.raises(CompileError) as raised:
        run_steps(Compiler((str(refusing),), "1"), [Step("runtime/a.cpp", ())], tmp_path, lambda: None)
    assert str(raised.value).endswith("fails on runtime/a.cpp: a.cpp:1: error: no such thing")
    assert "more" in raised.value.output


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ('echo "x: No space left on device"; exit 1', "no room left"),
        ("kill -9 $$", "signal 9 on runtime/a.cpp; is there enough memory"),
    ],
)
def test_no_room_and_no_memory(tmp_path: Path, ends: str, told: str) -> None:
    (tmp_path / "work").mkdir()
    compiler = Compiler((str(script(tmp_path / "cxx", ends)),), "1")
    with pytest.raises(EmulatorError, match=told):
        run_steps(compiler, [Step("runtime/a.cpp", ())], tmp_path / "work", lambda: None)


def test_a_failed_step_ends_the_others(tmp_path: Path) -> None:
    compiler = Compiler((str(script(tmp_path / "cxx", 'test "$1" = slow && exec sleep 60; sleep 0.2; exit 1')),), "1")
    steps = [Step("slow", ("slow",)), Step("failing", ("failing",))]
    begin = time.monotonic()
    with pytest.raises(EmulatorError, match="failing"), at_least_two_processors():
        run_steps(compiler, steps, tmp_path, lambda: None)
    assert time.monotonic() - begin < 30


@contextmanager
def at_least_two_processors() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("npuport.emulator.compiler.compilers_at_once", lambda: 2)
        yield


# ---- platform, torch, torch_npu


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(EmulatorError, match="needs Linux"):
        check_platform()


def test_other_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(EmulatorError, match="riscv64"):
        check_platform()
    with pytest.raises(EmulatorError, match="riscv64"):
        built_emulator(sys.executable)
    assert "riscv64" in build_state(sys.executable).fault


def interpreter_with(folder: Path, torch: str, torch_npu: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An interpreter that finds only these packages; an empty text leaves one out."""
    for name, text in (("torch", torch), ("torch_npu", torch_npu)):
        if text:
            write_files(folder, {f"{name}/__init__.py": "raise SystemExit('imported')", f"{name}/version.py": text})
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return str(script(folder / "python", f'exec {sys.executable} -S "$@"'))


TORCH = (
    "from typing import Optional\n__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n"
)
TORCH_NPU = "__version__ = '2.13.0.post2'\n"


def test_a_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = installation(interpreter_with(tmp_path, TORCH, TORCH_NPU, monkeypatch))
    assert (found.torch_version, found.torch_npu_version) == ("2.13.0+cpu", "2.13.0.post2")
    assert (found.torch, found.torch_npu) == (tmp_path / "torch", tmp_path / "torch_npu")


@pytest.mark.parametrize(
    ("torch", "torch_npu", "told"),
    [
        (TORCH, "", "has no torch_npu; .*npuport\\[npu\\]"),
        ("", TORCH_NPU, "has no torch;"),
        (TORCH.replace("2.13.0+cpu", "2.12.1"), TORCH_NPU, "do not pair; install torch==2.13.0"),
        (TORCH.replace("cuda: Optional[str] = None", "cuda: Optional[str] = '12.8'"), TORCH_NPU, "build for CUDA"),
        (TORCH.replace("hip: Optional[str] = None", "hip: Optional[str] = '6.3'"), TORCH_NPU, "build for ROCm"),
        ("x = 1\n", TORCH_NPU, "names no version"),
    ],
)
def test_installations_that_do_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch: str, torch_npu: str, told: str
) -> None:
    with pytest.raises(EmulatorError, match=told) as raised:
        installation(interpreter_with(tmp_path, torch, torch_npu, monkeypatch))
    assert "\n" not in str(raised.value)


def test_another_c_library(tmp_path: Path) -> None:
    answer = '{"c_library": "", "torch": null, "torch_npu": null}'
    with pytest.raises(EmulatorError, match="needs glibc"):
        installation(str(script(tmp_path / "python", f"echo '{answer}'")))


def test_no_interpreter(tmp_path: Path) -> None:
    with pytest.raises(EmulatorError, match=r"cannot run .*none"):
        installation(str(tmp_path / "none"))
    with pytest.raises(EmulatorError, match="cannot be asked for torch: sorry"):
        installation(str(script(tmp_path / "python", "echo sorry >&2; exit 3")))


# ---- libraries, environment, package


def test_libraries_are_read_without_loading_them(emulator: Emulator, tmp_path: Path) -> None:
    runtime, operators = (read_library(emulator.libraries / name) for name in ("libascendcl.so", "libopapi.so"))
    assert {"aclrtMalloc", "npuport_read_counts"} <= runtime.defined
    assert "libascendcl.so" in operators.needed and "npuport_count" in operators.undefined
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(EmulatorError, match="not a 64-bit"):
        read_library(tmp_path / "text.so")


def test_functions_that_fail_by_name() -> None:
    text = failing_functions(["aclmdlExecute", "acldumpCreateThing", "_ZN3atb7ContextC1Ev"])
    assert 'int aclmdlExecute() { return npuport_not_emulated("aclmdlExecute"); }' in text
    assert "void* acldumpCreateThing()" in text
    assert 'void _ZN3atb7ContextC1Ev() { refuse("_ZN3atb7ContextC1Ev"); }' in text


def test_the_environment_of_a_child(tmp_path: Path) -> None:
    cann = tmp_path / "cann"
    write_files(cann, {"libascendcl.so": ""})
    base = {
        "LD_LIBRARY_PATH": f"{cann}:/other",
        "ASCEND_TOOLKIT_HOME": str(cann),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "HOME": "/home",
    }
    before = dict(base)
    made_of_it = emulated_environment(tmp_path / "build", base, "losses")
    assert base == before
    assert made_of_it["LD_LIBRARY_PATH"] == f"{tmp_path / 'build'}:/other"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in made_of_it and "ASCEND_TOOLKIT_HOME" not in made_of_it
    assert made_of_it["HOME"] == "/home" and made_of_it["NPUPORT_EMULATOR_DTYPE_CHECKS"] == "losses"
    with pytest.raises(ValueError, match="strict, losses, off"):
        emulated_environment(tmp_path, base, "none")


def test_sources_are_in_the_package() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]["npuport.emulator"]
    sources = [path.relative_to(NATIVE.parent).as_posix() for path in NATIVE.rglob("*") if path.is_file()]
    left_out = [name for name in sources if not any(PurePosixPath(name).match(one) for one in patterns)]
    assert len(sources) > 30 and left_out == []
