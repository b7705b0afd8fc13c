"""Which device a script gets: an interpreter stands in for a machine with an NPU where one is needed."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from npuport.device import choice
from npuport.device.choice import Device, child_environment, choose_device
from npuport.device.npu import make_tensor, signs_of_npu
from npuport.emulator.build import BuildState
from npuport.sources.errors import UsageError

READY = BuildState(None, "g++ 12", "2.13.0", "2.13.0", "")
BROKEN = BuildState(None, "", "2.13.0", "2.13.0", "there is no g++")


def program(path: Path, text: str) -> str:
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def answering(folder: Path, **answer: object) -> str:
    """An interpreter that answers as one on another machine would."""
    return program(folder / "python", f"echo some warning >&2\ncat <<'END'\n{json.dumps(answer)}\nEND")


@pytest.fixture
def with_driver(tmp_path: Path) -> Path:
    """A folder of device nodes as the driver makes them."""
    nodes = tmp_path / "dev"
    nodes.mkdir()
    for name in ("davinci0", "davinci1", "davinci_manager"):
        (nodes / name).touch()
    return nodes


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "build_state", lambda python: READY)


@pytest.fixture
def no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "build_state", lambda python: BROKEN)


def test_signs_of_a_driver(with_driver: Path, tmp_path: Path) -> None:
    assert signs_of_npu({"PATH": str(tmp_path)}, with_driver).nodes == ("davinci0", "davinci1")
    assert not signs_of_npu({"PATH": str(tmp_path)}, tmp_path)
    program(tmp_path / "npu-smi", "exit 0")
    assert str(signs_of_npu({"PATH": str(tmp_path)}, tmp_path)) == "npu-smi"


@pytest.mark.usefixtures("emulator")
def test_a_real_npu_comes_first(with_driver: Path, tmp_path: Path) -> None:
    python = answering(tmp_path, name="Ascend910B1", count=2, emulated=False)
    device = choose_device(None, python, nodes=with_driver)
    assert (device.kind, device.name, device.python) == ("npu", "Ascend910B1", python)


@pytest.mark.usefixtures("emulator")
def test_the_emulated_device_where_there_is_no_npu(tmp_path: Path) -> None:
    device = choose_device(None, sys.executable, {"PATH": ""}, tmp_path)
    assert device.kind == "emulated"
    assert device.reason == "no NPU is ready: neither npu-smi nor a node /dev/davinci* is here"


@pytest.mark.usefixtures("emulator")
def test_an_npu_that_fails_is_named_in_the_reason(with_driver: Path, tmp_path: Path) -> None:
    python = answering(tmp_path, fault="OSError: libhccl.so: cannot open shared object file")
    assert "libhccl.so" in choose_device(None, python, nodes=with_driver).reason
    with pytest.raises(UsageError, match=r"no NPU is ready: OSError: libhccl\.so.*npuport doctor"):
        choose_device("npu", python, nodes=with_driver)


@pytest.mark.usefixtures("emulator")
def test_an_emulated_device_is_not_taken_for_a_real_one(with_driver: Path, tmp_path: Path) -> None:
    python = answering(tmp_path, name="Ascend910B3", count=1, emulated=True)
    assert choose_device(None, python, nodes=with_driver).kind == "emulated"


@pytest.mark.usefixtures("no_emulator")
def test_without_any_device_the_cpu_is_not_taken_by_itself(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no NPU is ready.*davinci.*nor the emulated device: there is no g\+\+; `--device cpu`"
    ):
        choose_device(None, sys.executable, {"PATH": ""}, tmp_path)
    with pytest.raises(UsageError, match=r"^there is no g\+\+$"):
        choose_device("emulated", sys.executable)
    assert choose_device("cpu", sys.executable).kind == "cpu"


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(UsageError, match="no device 'cuda'; there are npu, emulated, cpu"):
        choose_device("cuda", sys.executable)


def test_a_device_that_hangs_is_given_up(tmp_path: Path) -> None:
    python = program(tmp_path / "python", "exec sleep 30")
    assert "more than 0 s" in make_tensor(python, limit=0.2).fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("echo torch is broken >&2; exit 3", "exit status 3: torch is broken"),
        ("kill -ABRT $$", "SIGABRT: no output"),
    ],
)
def test_a_child_that_dies_is_told(tmp_path: Path, text: str, fault: str) -> None:
    assert make_tensor(program(tmp_path / "python", text)).fault.endswith(fault)


def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "cannot run" in make_tensor(str(tmp_path / "none")).fault


def test_the_first_cause_is_told_rather_than_its_consequence(tmp_path: Path) -> None:
    """torch says only that its backend extension could not be loaded; what could not be is said above that."""
    (tmp_path / "torch.py").write_text(
        "try:\n    raise OSError('libascendcl.so: cannot open')\n"
        "except OSError as error:\n    raise RuntimeError('Failed to load the backend extension') from error\n"
    )
    answer = make_tensor(sys.executable, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert answer.fault == "OSError: libascendcl.so: cannot open"


def test_the_environment_of_a_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choice, "built_emulator", lambda python, progress: tmp_path / python)
    base = {"HOME": "/", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    emulated = child_environment(Device("emulated", "", "", "python9"), base, "losses")
    assert emulated["LD_LIBRARY_PATH"] == str(tmp_path / "python9")
    assert emulated["NPUPORT_EMULATOR_DTYPE_CHECKS"] == "losses"
    assert "TORCH_DEVICE_BACKEND_AUTOLOAD" not in emulated
    assert child_environment(Device("npu", "", ""), base) == base
    assert child_environment(Device("cpu", "", ""), {}) == {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
