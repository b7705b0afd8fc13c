"""``npuport doctor``: every check in its two states, the verdict, and that its own process stays without torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from npuport.device import doctor
from npuport.device.doctor import Check, Diagnosis, diagnose
from npuport.device.installed import read_cann
from npuport.device.npu import Answer
from npuport.emulator.build import BuildState
from npuport.facts.pairs import cann_of, newest_torch_npu
from tests.conftest import Command, write_files
from tests.seeming_installation import installed

NO_NPU = Path("/nonexistent")
Diagnosing: TypeAlias = "Callable[..., Diagnosis]"


def checks(diagnosis: Diagnosis) -> dict[str, Check]:
    return {f"{check.part} {check.name}": check for check in diagnosis.checks}


@pytest.fixture
def diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Diagnosing:
    """Diagnoses with these releases installed, in a process whose environment says so."""

    def run(**releases: str) -> Diagnosis:
        for name, value in installed(tmp_path, **releases).items():
            monkeypatch.setenv(name, value)
        return diagnose(sys.executable, os.environ, NO_NPU)

    return run


def test_not_built_yet_is_ready(diagnosed: Diagnosing, tmp_path: Path) -> None:
    diagnosis = diagnosed()
    found = checks(diagnosis)
    assert diagnosis.device is not None
    assert diagnosis.device.kind == "emulated"
    assert found["Python torch_npu"].detail == "2.13.0, pairs with torch 2.13.0+cpu"
    assert str(tmp_path / "cache") in found["Emulated device build"].detail
    assert {name for name, check in found.items() if not check.ok} == {"NPU driver", "NPU CANN", "NPU tensor"}
    assert not (tmp_path / "cache").exists()


def test_releases_that_do_not_pair(diagnosed: Diagnosing) -> None:
    diagnosis = diagnosed(torch="2.12.0")
    check = checks(diagnosis)["Python torch_npu"]
    assert diagnosis.device is None
    assert not check.ok
    assert check.advice == "install torch_npu==2.12.0"


def test_a_torch_for_cuda(diagnosed: Diagnosing) -> None:
    diagnosis = diagnosed(torch="2.13.0+cu130", cuda="'13.0'")
    check = checks(diagnosis)["Python torch"]
    assert diagnosis.device is None
    assert not check.ok
    assert "build for CUDA" in check.detail
    assert checks(diagnosis)["Emulated device build"].advice == "see what is missing above"


def test_without_a_compiler(npuport: Command, tmp_path: Path) -> None:
    run = npuport("doctor", env={**installed(tmp_path), "PATH": str(tmp_path), "CXX": ""})
    assert run.status == 1
    assert (
        "missing  compiler     the emulated device is compiled on first use, and there is no g++: install it" in run.out
    )
    assert run.out.startswith("Not ready: no NPU is ready")


def test_a_cache_that_cannot_be_written(diagnosed: Diagnosing, monkeypatch: pytest.MonkeyPatch) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    check = checks(diagnosed())["Emulated device build"]
    assert not check.ok
    assert "NPUPORT_CACHE_DIR" in check.advice


def test_a_build_that_fails_is_not_ready(
    diagnosed: Diagnosing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, but its torch stops: only the tensor in a child process shows that."""
    state = BuildState(tmp_path, "g++", "2.13.0", "2.13.0", "")
    monkeypatch.setattr(doctor, "build_state", lambda python: state)
    monkeypatch.setattr("npuport.device.choice.build_state", lambda python: state)
    monkeypatch.setattr("npuport.device.choice.built_emulator", lambda python, progress: tmp_path)
    diagnosis = diagnosed()
    assert diagnosis.device is None
    assert diagnosis.fault.endswith("the emulated device fails: SystemExit: torch was imported")


def test_an_npu_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUPORT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "davinci0").touch()
    monkeypatch.setattr(doctor, "real_npu", lambda *arguments: Answer("Ascend910B1", 8))
    home = tmp_path / "cann"
    write_files(home, {"x86_64-linux/ascend_toolkit_install.info": "package_name=toolkit\nversion=9.1.0\n"})
    diagnosis = diagnose(sys.executable, {**os.environ, "ASCEND_HOME_PATH": str(home)}, tmp_path)
    found = checks(diagnosis)
    assert diagnosis.device is not None
    assert diagnosis.device.kind == "npu"
    assert found["NPU driver"].detail.endswith("/dev/davinci0")
    assert found["NPU CANN"].detail.startswith(f"9.1.0 in {home}")
    assert found["NPU tensor"].detail == "made on Ascend910B1; 8 devices"


def test_cann_that_is_not_sourced(tmp_path: Path) -> None:
    script = tmp_path / "set_env.sh"
    script.touch()
    assert read_cann({}, (str(script),)).fault == f"ASCEND_HOME_PATH is not set; `source {script}`"
    assert "no folder" in read_cann({"ASCEND_TOOLKIT_HOME": str(script)}).fault


def test_which_releases_go_together() -> None:
    assert newest_torch_npu("2.7.1+cpu") == "2.7.1.post8"
    assert newest_torch_npu("2.13.0") == "2.13.0"
    assert newest_torch_npu("99.0.0") == ""
    assert cann_of("2.12.0") == "9.1.0"
    assert cann_of("2.13.0") == ""


def test_an_interpreter_that_does_not_run(npuport: Command) -> None:
    run = npuport("doctor", "--python", "/nonexistent/python")
    assert run.status == 1
    assert "missing  interpreter  cannot run /nonexistent/python: No such file or directory" in run.out


def test_json(npuport: Command, tmp_path: Path) -> None:
    run = npuport("doctor", "--output-format", "json", env=installed(tmp_path))
    data = json.loads(run.stdout)
    assert run.status == 0
    assert data["ready"] is True
    assert data["device"]["kind"] == "emulated"
    assert {"part", "name", "ok", "detail", "advice"} == set(data["checks"][0])


def test_its_own_process_never_imports_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from npuport.cli.main import run; run(['doctor']); "
        "print({'torch', 'torch_npu'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=installed(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "set()", done.stderr
