"""Configuration files in the commands: which are read, what is found and fixed, and what is left in peace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuport.sources.configuration import is_read_in_folders
from tests.conftest import PORTABLE, Command, git, write_files

HYDRA = """\
# SAC on a robot arm; the lab's machine has cuda
seed: 3
rl_device: cuda:1   # learner
sim_device: 'cuda:0'
agent:
  run_name: sac_cuda_seed3
  mixed_precision: fp16
distributed: {backend: nccl, multi_gpu: false}
env:
  CUDA_VISIBLE_DEVICES: "0,1"
"""
HYDRA_FIXED = (
    HYDRA.replace("cuda:1 ", "npu:1 ")
    .replace("cuda:0'", "npu:0'")
    .replace("nccl", "hccl")
    .replace("CUDA_VISIBLE", "ASCEND_RT_VISIBLE")
)
SCRIPT = "#!/bin/sh\nCUDA_VISIBLE_DEVICES=0 python train.py --device cuda --run-name cuda \\\n  --backend nccl\n"
SCRIPT_FIXED = (
    SCRIPT.replace("CUDA_V", "ASCEND_RT_V").replace("device cuda", "device npu").replace("backend nccl", "backend hccl")
)
FILES = {
    "conf/train.yaml": HYDRA,
    "scripts/train.sh": SCRIPT,
    "conf/ppo.toml": '[train]\ndevice = "cuda"\n',
    "conf/dqn.json": '{"device": "cuda:0", "name": "cuda"}\n',
}


def found_in(run_output: str) -> list[tuple[str, int, str, str]]:
    rows = json.loads(run_output)
    return [(row["filename"], row["location"]["row"], row["code"], row["topic"]) for row in rows]


def test_check_finds_the_settings_of_a_project(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    expected = [
        ("conf/dqn.json", 1, "NPU112", "device"),
        ("conf/ppo.toml", 2, "NPU112", "device"),
        ("conf/train.yaml", 3, "NPU112", "device"),
        ("conf/train.yaml", 4, "NPU112", "device"),
        ("conf/train.yaml", 7, "NPU501", "amp"),
        ("conf/train.yaml", 8, "NPU701", "dist"),
        ("conf/train.yaml", 10, "NPU107", "env"),
        ("scripts/train.sh", 2, "NPU107", "env"),
        ("scripts/train.sh", 2, "NPU112", "device"),
        ("scripts/train.sh", 3, "NPU701", "dist"),
    ]
    first = npuport("check", ".", "--output-format", "json")
    assert found_in(first.out) == expected
    assert npuport("check", ".", "--output-format", "json") == first, "the cache answers the same"
    assert npuport("check", ".", "--output-format", "json", "--no-cache", "--no-gate") == first
    assert npuport("check", ".", "--output-format", "concise").out.count("\n") == len(expected) + 1
    assert "   |            ^^^^^^" in npuport("check", "conf/train.yaml").out.replace("  |", "   |")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fix_changes_the_values_alone(npuport: Command, tmp_path: Path, mark: bytes, end: str) -> None:
    write_files(tmp_path, {name: mark + text.replace("\n", end).encode() for name, text in FILES.items()})
    run = npuport("fix", "--write", ".")
    assert run.status == 1, "fp16 is left"
    assert "conf/train.yaml:7:20 NPU501 agent.mixed_precision: fp16 computes in float16" in run.out
    expected = {
        **FILES, "conf/train.yaml": HYDRA_FIXED, "scripts/train.sh": SCRIPT_FIXED,
        "conf/ppo.toml": '[train]\ndevice = "npu"\n', "conf/dqn.json": '{"device": "npu:0", "name": "cuda"}\n',
    }  # fmt: skip
    for name, text in expected.items():
        assert (tmp_path / name).read_bytes() == mark + text.replace("\n", end).encode(), name


def test_portable_style_reports_and_changes_nothing(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    run = npuport("fix", "--write", "--style", PORTABLE, ".")
    assert run.out.startswith("Nothing to port.\nLeft for a person: 10\n")
    assert all((tmp_path / name).read_text() == text for name, text in FILES.items())
    assert "[*]" not in npuport("check", "--style", PORTABLE, "--output-format", "concise", ".").out


BROKEN: dict[str, str | bytes] = {
    "template.yaml": "device: cuda\n{% if gpu %}\nbackend: nccl\n{% endif %}\n",
    "broken.toml": 'device = "cuda"\nname = \n',
    "comments.json": '{"device": "cuda" // the lab\n}\n',
    "binary.json": b'"device": "cuda"\0',
}


@pytest.mark.parametrize("command", [["check"], ["fix"], ["fix", "--write"]], ids=" ".join)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_file_is_reported_only_where_it_is_named(
    npuport: Command, tmp_path: Path, name: str, command: list[str]
) -> None:
    write_files(tmp_path, {name: BROKEN[name]})
    assert npuport(*command, ".").status == 0
    named = npuport(*command, name)
    assert named.status == 1
    assert "NPU000" in named.out + named.stderr
    assert npuport(*command, ".").status == 0
    content = BROKEN[name]
    assert (tmp_path / name).read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    ("name", "place"), [("template.yaml", "2:2"), ("broken.toml", "2:1"), ("comments.json", "1:19")]
)
def test_broken_file_says_where(npuport: Command, tmp_path: Path, name: str, place: str) -> None:
    write_files(tmp_path, BROKEN)
    out = npuport("check", "--output-format", "concise", "--quiet", name).out
    assert out.startswith(f"{name}:{place}: NPU000 not valid {name.rpartition('.')[2].upper()}: ")


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("conf/train.yaml", True),
        ("conf/train.yml", True),
        ("run.sh", True),
        ("ppo.toml", True),
        ("ds_config.json", True),
        ("docker-compose.yml", True),
        ("notes.txt", False),
        ("agent.py", False),
        ("pyproject.toml", False),
        ("sub/package.json", False),
        ("package-lock.json", False),
        ("pnpm-lock.yaml", False),
        ("conda-lock.yml", False),
        ("tsconfig.build.json", False),
        (".github/workflows/test.yml", False),
        (".pre-commit-config.yaml", False),
        ("notebook.ipynb", False),
    ],
)
def test_folders_give_what_people_configure(name: str, read: bool) -> None:
    assert is_read_in_folders(name) is read


def test_large_and_ignored_files_are_left_out_of_folders(npuport: Command, tmp_path: Path) -> None:
    padding = " " * 100_000
    write_files(tmp_path, {
        ".gitignore": "runs/\n*.local.yaml\n", "runs/a.yaml": "device: cuda\n", "b.local.yaml": "device: cuda\n",
        "large.json": '{"device": "cuda"}' + padding, "c.yaml": f"device: cuda\n#{padding}\n",
        "large.yaml": f"device: cuda\n#{padding * 10}\n",
    })  # fmt: skip
    for _ in range(2):
        assert found_in(npuport("check", ".", "--output-format", "json").out) == [("c.yaml", 1, "NPU112", "device")]
        git(tmp_path, "init", "-q")
    named = npuport("check", "runs/a.yaml", "large.json", "--output-format", "json")
    assert [row[0] for row in found_in(named.out)] == ["large.json", "runs/a.yaml"]


def test_ignores_are_written_where_the_format_has_comments(npuport: Command, tmp_path: Path) -> None:
    script = SCRIPT + 'ray submit --env=\'{\n "device": "cuda"\n}\'\n'
    write_files(tmp_path, {**FILES, "scripts/train.sh": script})
    run = npuport("check", "--add-ignores", "--reason", "GPU box", ".")
    assert run.status == 2
    assert run.error == "conf/dqn.json: JSON has no comments; name the file under per-file-ignores"
    ignored = "rl_device: cuda:1   # learner  # npuport: ignore[NPU112] GPU box\n"
    assert ignored in (tmp_path / "conf/train.yaml").read_text()
    assert (tmp_path / "scripts/train.sh").read_text().splitlines() == [
        "#!/bin/sh",
        "# npuport: ignore[NPU107, NPU112] GPU box",
        *script.splitlines()[1:2],
        "  --backend nccl  # npuport: ignore[NPU701] GPU box",
        "# npuport: ignore[NPU112] GPU box",
        *script.splitlines()[3:],
    ]
    settings_text = '[tool.npuport.per-file-ignores]\n"*.json" = ["NPU112"]\n'
    write_files(tmp_path, {"pyproject.toml": settings_text})
    assert npuport("check", ".").out.startswith("All clear")


def test_unused_suppression_is_removed(npuport: Command, tmp_path: Path) -> None:
    text = "device: cpu  # npuport: ignore[NPU112]\nnote: '# npuport: ignore'\n"
    write_files(tmp_path, {"a.yaml": text})
    assert found_in(npuport("check", ".", "--output-format", "json").out) == [("a.yaml", 1, "NPU001", "syntax")]
    npuport("fix", "--write", ".")
    assert (tmp_path / "a.yaml").read_text() == "device: cpu\nnote: '# npuport: ignore'\n"


def test_standard_input_is_read_by_its_name(npuport: Command) -> None:
    run = npuport("fix", "-", "--stdin-filename", "conf/train.yaml", "--quiet", stdin=b"device: cuda\n")
    assert (run.status, run.stdout) == (0, b"device: npu\n")
