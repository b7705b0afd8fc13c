"""``npuport check`` and ``npuport fix`` on notebooks, end to end."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from npuport.sources.discovery import discover
from npuport.sources.settings import DEFAULT_EXCLUDE
from tests.conftest import PORTABLE, SITE, Command, environment, write_files
from tests.notebook_files import notebook, sources, text_cell

AGENT = notebook(text_cell("# A `cuda` agent"), "!pip install torch\nimport torch", "n = 1\nx = torch.zeros(n).cuda()")


def test_folders_give_their_notebooks(tmp_path: Path) -> None:
    names = ("a.ipynb", "sub/b.ipynb", ".ipynb_checkpoints/a-checkpoint.ipynb", "old/c.ipynb", "made.ipynb", "d.json")
    write_files(tmp_path, {".gitignore": "old/\nmade*.ipynb\n", **dict.fromkeys(names, AGENT)})
    found = [path.relative_to(tmp_path).as_posix() for path in discover([tmp_path], DEFAULT_EXCLUDE, tmp_path)]
    assert found == ["a.ipynb", "sub/b.ipynb"]


def test_formats_tell_the_cell(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.ipynb": AGENT})
    run = npuport("check", ".", "--output-format", "concise")
    assert run.status == 1
    assert run.out.startswith("agent.ipynb:cell 3:2:5: NPU102 [*] ")
    full = npuport("check", ".").out.splitlines()
    assert full[1:5] == [
        "  --> agent.ipynb:cell 3:2:5", "  |", "2 | x = torch.zeros(n).cuda()", "  |     ^^^^^^^^^^^^^^^^^^^^^",
    ]  # fmt: skip
    (item,) = json.loads(npuport("check", ".", "--output-format", "json").out)
    assert (item["cell"], item["location"]["row"]) == (3, 2)
    assert [edit["cell"] for edit in item["fix"]["edits"]] == [2, 3]
    annotation = npuport("check", ".", "--output-format", "github").out
    assert annotation.startswith("::error title=npuport (NPU102),file=agent.ipynb::cell 3:2:5: NPU102 ")


def test_cache_keeps_the_cells(npuport: Command, tmp_path: Path) -> None:
    importing = notebook("import torch", "from settings import DEVICE\nx.to(DEVICE)")
    write_files(tmp_path, {"agent.ipynb": importing, "settings.py": 'DEVICE = "cuda"\n', "other.ipynb": AGENT})
    cold = npuport("check", ".", "--output-format", "json").out
    found = [(item["filename"], item["cell"]) for item in json.loads(cold)]
    assert found == [("other.ipynb", 3), ("settings.py", None)]
    assert npuport("check", ".", "--output-format", "json").out == cold
    write_files(tmp_path, {"agent.ipynb": notebook("import torch")})
    changed = json.loads(npuport("check", ".", "--output-format", "json").out)
    assert [item["filename"] for item in changed] == ["other.ipynb"]


def test_fix_prints_a_diff_that_git_applies(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.ipynb": AGENT})
    run = npuport("fix", ".")
    assert (tmp_path / "agent.ipynb").read_text(encoding="utf-8") == AGENT
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=run.stdout, check=True, env=environment())
    patched = (tmp_path / "agent.ipynb").read_text(encoding="utf-8")
    write_files(tmp_path, {"agent.ipynb": AGENT})
    assert npuport("fix", "--write", ".").status == 0
    assert (tmp_path / "agent.ipynb").read_text(encoding="utf-8") == patched
    assert sources(patched) == [
        "# A `cuda` agent",
        "!pip install torch\nimport torch\nimport torch_npu  # noqa: F401",
        "n = 1\nx = torch.zeros(n).npu()",
    ]


def test_what_is_left_is_placed_in_its_cell(npuport: Command, tmp_path: Path) -> None:
    code = 'x.to("cuda")\nimport torch\nx.cuda()\nname = torch.cuda.get_arch_list()'
    write_files(tmp_path, {"agent.ipynb": notebook("", code)})
    assert "  agent.ipynb:cell 2:4:8 NPU104" in npuport("fix", ".").stderr
    assert "  agent.ipynb:cell 2:5:8 NPU104" in npuport("fix", "--write", ".").out


def test_standard_input_can_be_a_notebook(npuport: Command) -> None:
    run = npuport("check", "-", "--stdin-filename", "a.ipynb", "--output-format", "concise", stdin=AGENT.encode())
    assert run.out.startswith("a.ipynb:cell 3:2:5: ")
    run = npuport("fix", "-", "--stdin-filename", "a.ipynb", stdin=AGENT.encode())
    assert (run.status, sources(run.out)[2]) == (0, "n = 1\nx = torch.zeros(n).npu()")
    left = notebook("import torch", "torch.cuda.get_arch_list()").encode()
    assert "a.ipynb:cell 2:1:1 NPU104" in npuport("fix", "-", "--stdin-filename", "a.ipynb", stdin=left).stderr


def test_suppressing_comments_count_in_cells(npuport: Command, tmp_path: Path) -> None:
    lines = notebook("import torch", "x.cuda()  # npuport: ignore[NPU102] why\ny.cuda()")
    whole = notebook("# npuport: ignore-file why\nimport torch", "x.cuda()")
    unused = notebook("import torch", "x = 1  # npuport: ignore[NPU102] why")
    write_files(tmp_path, {"a.ipynb": lines, "b.ipynb": whole, "c.ipynb": unused})
    run = npuport("check", ".", "--output-format", "concise", "--quiet")
    assert [line.split(" [*] ")[0] for line in run.out.splitlines()] == [
        "a.ipynb:cell 2:2:1: NPU102", "c.ipynb:cell 2:1:8: NPU001",
    ]  # fmt: skip


def test_add_ignores_writes_into_the_cells(npuport: Command, tmp_path: Path) -> None:
    text = notebook("!ls\nimport torch", "%%time\nx.cuda()", 'y = """\n""", x.cuda()')
    write_files(tmp_path, {"agent.ipynb": text})
    assert npuport("check", ".", "--add-ignores", "--reason", "why").status == 0
    assert npuport("check", ".").status == 0
    assert sources((tmp_path / "agent.ipynb").read_text(encoding="utf-8")) == [
        "!ls\nimport torch",
        "%%time\nx.cuda()  # npuport: ignore[NPU102] why",
        'y = """\n""", x.cuda()  # npuport: ignore[NPU102] why',
    ]


def test_broken_notebook_is_a_finding_and_the_others_go_on(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"broken.ipynb": AGENT[:-30], "agent.ipynb": AGENT, "unrelated.ipynb": "{"})
    run = npuport("check", ".", "--output-format", "concise", "--quiet")
    assert [line.split(": ")[1][:6] for line in run.out.splitlines()] == ["NPU102", "NPU000"]
    assert npuport("fix", "--write", ".").status == 1
    assert (tmp_path / "broken.ipynb").read_text(encoding="utf-8") == AGENT[:-30]
    run = npuport("fix", "-", "--stdin-filename", "a.ipynb", stdin=b"{}")
    assert run.error == "a.ipynb: no notebook: it has no list of cells"


def test_notebook_in_a_package_keeps_its_own_names(npuport: Command, tmp_path: Path) -> None:
    files = {f"agent/{name}.py": SITE for name in "abc"}
    write_files(tmp_path, {"agent/__init__.py": "", "agent/try.ipynb": AGENT, **files})
    assert npuport("fix", "--write", "--style", PORTABLE, ".").status == 0
    assert "device_names" in (tmp_path / "agent" / "a.py").read_text()
    assert "DEVICE_TYPE = " in sources((tmp_path / "agent" / "try.ipynb").read_text(encoding="utf-8"))[1]
