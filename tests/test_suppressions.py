"""Comments that suppress findings: which line they count for, which are unused, and writing them."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuport.cli.main import run
from npuport.engine.checking import Checker
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.registry import all_rules
from tests.conftest import SITE, Command, findings_in, fixed, write_files

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def codes(text: str, *select: str) -> list[str]:
    return [finding.code for finding in findings_in(text, select)]


def rows(text: str) -> list[tuple[str, int]]:
    return [(finding.code, finding.location.row) for finding in findings_in(text)]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("", ["NPU101", "NPU103"]),
        ("# npuport: ignore[NPU101]", ["NPU103"]),
        ("# npuport: ignore[NPU101, NPU103]", []),
        ("# npuport: ignore[NPU101,NPU103] runs on the GPU box only", []),
        ("# npuport: ignore[NPU1]", []),
        ("# npuport: ignore[npu101]", ["NPU103"]),
        ("# npuport: ignore[cuda-api]", ["NPU101"]),
        ("# npuport: ignore[device]", []),
        ("# npuport: ignore", []),
        ("# npuport: ignore because we know", []),
        ("#npuport:ignore[NPU1]", []),
        ("# noqa: E501  # npuport: ignore[NPU1]", []),
        ("# npuport: ignore[NPU1]  # noqa: E501", []),
        ("# type: ignore", ["NPU101", "NPU103"]),
    ],
)
def test_comment_behind_code_counts_for_its_line(comment: str, left: list[str]) -> None:
    text = f"import torch\n{CHOICE}  {comment}\nx = y.cuda()\n"
    assert codes(text) == [*left, "NPU102"]


def test_a_word_that_names_no_rule_is_reported_as_such(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "import torch\nx = 3  # npuport: ignore[NPU1O1]\n"})
    out = npuport("check", "a.py", "--output-format", "concise").out
    assert "NPU001 [*] NPU1O1 is no rule, family or topic" in out


@pytest.mark.parametrize("between", ["", "\n", "# another comment\n", "\n\n# and one\n\n"])
def test_comment_on_its_own_line_counts_for_the_next_statement(between: str) -> None:
    text = f"import torch\nx = y.cuda()\n# npuport: ignore[NPU102] only here\n{between}x = y.cuda()\nx = y.cuda()\n"
    last = text.count("\n")
    assert rows(text) == [("NPU102", 2), ("NPU102", last)]


def test_several_comments_on_their_own_lines_count_together() -> None:
    text = f"import torch\n# npuport: ignore[NPU101] one reason\n# npuport: ignore[NPU103] another\n{CHOICE}\n"
    assert codes(text) == []


def test_comment_counts_for_a_finding_of_several_lines() -> None:
    for row in range(3):
        lines = ["x = torch.zeros(", "    3,", ").cuda()"]
        lines[row] += "  # npuport: ignore[NPU102]"
        assert codes("import torch\n" + "\n".join(lines) + "\n") == []


def test_comment_in_an_indented_block() -> None:
    text = (
        "import torch\ndef f():\n    # npuport: ignore[NPU102]\n    return y.cuda()\n\n\n"
        "def g():\n    return y.cuda()\n"
    )
    assert rows(text) == [("NPU102", 8)]


@pytest.mark.parametrize("place", ["first", "last"])
def test_ignore_file_counts_for_the_whole_file(place: str) -> None:
    comment = "# npuport: ignore-file[NPU102] a GPU-only tool\n"
    body = f"import torch\nx = y.cuda()\n{CHOICE}\ny.cuda()\n"
    text = comment + body if place == "first" else body + comment
    assert codes(text) == ["NPU101", "NPU103"]
    assert codes(text.replace("[NPU102]", "")) == []


@pytest.mark.parametrize(
    "text",
    [
        "x = y.cuda(); s = '# npuport: ignore[NPU102]'",
        's = """\n# npuport: ignore-file\n"""\nx = y.cuda()',
        "s = '''\n# npuport: ignore\n'''; x = y.cuda()",
        "x = y.cuda()  # see npuport: ignore[NPU102]",
        "x = y.cuda()  # npuport ignore[NPU102]",
    ],
)
def test_text_that_only_looks_like_a_suppression_does_not_count(text: str) -> None:
    assert codes(f"import torch\n{text}\n") == ["NPU102"]


@pytest.mark.parametrize(
    ("before", "message", "after"),
    [
        ("x = 1  # npuport: ignore[NPU102] long ago", "this suppression", "x = 1"),
        ("x = 1  # npuport: ignore", "this suppression", "x = 1"),
        (
            "x = y.cuda()  # npuport: ignore[NPU102, NPU103] why",
            "NPU103",
            "x = y.cuda()  # npuport: ignore[NPU102] why",
        ),
        ("x = y.cuda()  # npuport: ignore[NPU1, NPU5, NPU7]", "NPU5, NPU7", "x = y.cuda()  # npuport: ignore[NPU1]"),
        ("x = 1  # npuport: ignore[NPU104]", "this suppression", "x = 1"),
        ("x = 1  # npuport: ignore[NPU102]  # noqa: E501", "this suppression", "x = 1  # noqa: E501"),
        ("x = 1  # noqa: E501  # npuport: ignore[NPU102]", "this suppression", "x = 1  # noqa: E501"),
        ("if x:\n    # npuport: ignore[NPU102]\n    y = 1", "this suppression", "if x:\n    y = 1"),
        ("# npuport: ignore-file[NPU102]\nx = 1", "this suppression", "x = 1"),
        ("x = 1\n# npuport: ignore-file", "this suppression", "x = 1"),
    ],
)
def test_unused_suppression_is_found_and_removed(before: str, message: str, after: str) -> None:
    text = f"import torch\n{before}\n"
    (finding,) = findings_in(text)
    assert (finding.code, finding.message) == ("NPU001", f"{message} suppresses nothing")
    assert fixed(text).text == f"import torch\n{after}\n"


def test_used_suppressions_are_not_unused() -> None:
    text = f"import torch\n{CHOICE}  # npuport: ignore[cuda-api, NPU101]\nx = y.cuda()  # npuport: ignore\n"
    assert codes(text) == []


def test_suppression_without_a_line_to_count_for_is_unused() -> None:
    text = "import torch\nx = 1\n# npuport: ignore[NPU102]\n"
    assert codes(text) == ["NPU001"]
    assert fixed(text).text == "import torch\nx = 1\n"


@pytest.mark.parametrize("comment", ["ignore[NPU102]", "ignore[cuda-method]", "ignore[NPU1]", "ignore", "ignore-file"])
def test_suppressions_of_rules_that_did_not_run_are_not_unused(comment: str) -> None:
    text = f"import torch\nx = 1  # npuport: {comment}\n"
    assert codes(text) == ["NPU001"]
    assert codes(text, "NPU001", "NPU103") == []


def test_suppression_of_the_unused_finding_itself() -> None:
    assert codes("import torch\nx = 1  # npuport: ignore[NPU102, NPU001] may come back\n") == []


def test_suppressed_finding_is_not_fixed() -> None:
    text = "import torch\nx = y.cuda()  # npuport: ignore[NPU102]\n"
    assert fixed(text).text == text


def test_fix_removes_a_suppression_only_after_what_it_suppressed_is_known() -> None:
    text = "import torch\nx = y.cuda()\nz = 1  # npuport: ignore[NPU102]\n"
    assert fixed(text).text == "import torch\nimport torch_npu  # noqa: F401\nx = y.npu()\nz = 1\n"


def test_syntax_error_cannot_be_suppressed_into_silence() -> None:
    found = check_bytes(
        Checker(all_rules(), frozenset({"NPU000"})), FileTask(Path("a.py"), b"import torch  # npuport: ignore\n(\n")
    )
    assert [finding.code for finding in found] == ["NPU000"]


SUPPRESSED = {
    "trailing": ("x = y.cuda()\n", "x = y.cuda()  # npuport: ignore[NPU102]{reason}\n"),
    "behind a comment": ("x = y.cuda()  # fast\n", "x = y.cuda()  # fast  # npuport: ignore[NPU102]{reason}\n"),
    "two codes": (f"{CHOICE}\n", CHOICE + "  # npuport: ignore[NPU101, NPU103]{reason}\n"),
    "backslash": ("x = y \\\n    .cuda()\n", "# npuport: ignore[NPU102]{reason}\nx = y \\\n    .cuda()\n"),
    "backslash in a block": (
        "if x:\n\tx = y \\\n\t\t.cuda()\n",
        "if x:\n\t# npuport: ignore[NPU102]{reason}\n\tx = y \\\n\t\t.cuda()\n",
    ),
    "middle of a broken line": (
        "x = 1, \\\n    y.cuda(), \\\n    2\n",
        "# npuport: ignore[NPU102]{reason}\nx = 1, \\\n    y.cuda(), \\\n    2\n",
    ),
    "string that starts here": (
        "x = y.cuda(), '''\ntext'''\n",
        "# npuport: ignore[NPU102]{reason}\nx = y.cuda(), '''\ntext'''\n",
    ),
    "string that ends here": (
        "x = '''\n''', y.cuda()\n",
        "x = '''\n''', y.cuda()  # npuport: ignore[NPU102]{reason}\n",
    ),
    "inside a format string": (
        "x = f'''\n{y.cuda()}\n'''\n",
        "# npuport: ignore[NPU102]{reason}\nx = f'''\n{y.cuda()}\n'''\n",
    ),
    "joining": (
        f"{CHOICE}  # npuport: ignore[NPU101] old reason\n",
        f"{CHOICE}  # npuport: ignore[NPU101, NPU103] old reason\n",
    ),
    "joining the line above": (
        f"# npuport: ignore[NPU101] old reason\n{CHOICE}\n",
        f"# npuport: ignore[NPU101, NPU103] old reason\n{CHOICE}\n",
    ),
    "several lines": ("x = f(\n    y.cuda(),\n)\n", "x = f(\n    y.cuda(),  # npuport: ignore[NPU102]{reason}\n)\n"),
    "no final newline": ("x = y.cuda()", "x = y.cuda()  # npuport: ignore[NPU102]{reason}"),
    "crlf": (
        "x = y.cuda()\r\nx = y \\\r\n.cuda()\r\n",
        (
            "x = y.cuda()  # npuport: ignore[NPU102]{reason}\r\n"
            "# npuport: ignore[NPU102]{reason}\r\nx = y \\\r\n.cuda()\r\n"
        ),
    ),
    "lines twice": ("x = y.cuda(), z.cuda()\n", "x = y.cuda(), z.cuda()  # npuport: ignore[NPU102]{reason}\n"),
}


@pytest.mark.parametrize("reason", ["", "GPU only"])
@pytest.mark.parametrize(("before", "after"), SUPPRESSED.values(), ids=list(SUPPRESSED))
def test_add_ignores_makes_the_next_check_clean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, reason: str
) -> None:
    newline = "\r\n" if "\r" in before else "\n"
    file = tmp_path / "agent.py"
    file.write_bytes(f"import torch{newline}{before}".encode())
    options = ["--add-ignores", "--reason", reason] if reason else ["--add-ignores"]
    assert run(["check", "--no-cache", str(file), *options]) == 0
    expected = after.replace("{reason}", f" {reason}" if reason else "")
    assert file.read_bytes().decode() == f"import torch{newline}{expected}"
    assert run(["check", "--no-cache", str(file)]) == 0, capsys.readouterr().out


def test_add_ignores_says_how_many_and_leaves_unreadable_files_alone(npuport: Command, tmp_path: Path) -> None:
    broken = "import torch.cuda\n("
    write_files(tmp_path, {"a.py": SITE, "broken.py": broken, "clean.py": "x = 1\n"})
    run = npuport("check", ".", "--add-ignores")
    assert "1 findings suppressed" in run.out or "1 finding suppressed" in run.out
    assert (tmp_path / "broken.py").read_text() == broken
    assert (tmp_path / "clean.py").read_text() == "x = 1\n"
    left = npuport("check", ".", "--output-format", "concise", "--quiet")
    assert [line.split()[:2] for line in left.out.splitlines()] == [["broken.py:2:1:", "NPU000"]]


def test_per_file_ignores(npuport: Command, tmp_path: Path) -> None:
    settings = '[tool.npuport.per-file-ignores]\n"tests/**" = ["NPU1"]\n"old_*.py" = ["cuda-method", "NPU501"]\n'
    text = f"import torch\n{CHOICE}\nx = y.cuda()\n"
    names = ["agent.py", "tests/test_a.py", "src/old_a.py"]
    write_files(tmp_path, {"pyproject.toml": settings, **dict.fromkeys(names, text)})
    found = npuport("check", ".", "--output-format", "concise", "--quiet").out.splitlines()
    assert [(line.split(":")[0], line.split()[1]) for line in found] == [
        ("agent.py", "NPU101"), ("agent.py", "NPU103"), ("agent.py", "NPU102"),
        ("src/old_a.py", "NPU101"), ("src/old_a.py", "NPU103"),
    ]  # fmt: skip
    npuport("fix", "--write", ".")
    assert (tmp_path / "tests" / "test_a.py").read_text() == text
    assert ".cuda()" in (tmp_path / "src" / "old_a.py").read_text()
    assert "cuda" not in (tmp_path / "agent.py").read_text()


def test_per_file_ignores_know_their_rules(npuport: Command, tmp_path: Path) -> None:
    write_files(
        tmp_path, {"pyproject.toml": '[tool.npuport.per-file-ignores]\n"a.py" = ["cuda-metod"]\n', "a.py": SITE}
    )
    run = npuport("check", "a.py")
    assert run.status == 2
    assert "did you mean cuda-method?" in run.error
