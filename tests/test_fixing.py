"""What a fix changes and what it never touches: bytes, comments, halves of a choice, files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from npuport.analysis.module import Module, ProjectFacts
from npuport.cli.main import run
from npuport.engine.checking import Checker
from npuport.engine.finding import Applicability, Finding, Location
from npuport.engine.fix import rewrite
from npuport.engine.fixing import fix_source
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.sources.text import SourceText
from tests.conftest import PORTABLE, findings_in, fixed
from tests.fixture_files import FIXTURES

NPU = b"import torch_npu  # noqa: F401"
BYTES = {
    "crlf": (b"import torch\r\n\r\nx = y.cuda()\r\n", b"import torch\r\n" + NPU + b"\r\n\r\nx = y.npu()\r\n"),
    "lone returns": (b"import torch\r\rx = y.cuda()\r", b"import torch\r" + NPU + b"\r\rx = y.npu()\r"),
    "mixed line ends": (
        b"import torch\n# a\r\n\tpass  \r# b\r\nx = y.cuda()  \n\r\n".replace(b"\tpass", b"if 1:\tpass"),
        b"import torch\n" + NPU + b"\n# a\r\nif 1:\tpass  \r# b\r\nx = y.npu()  \n\r\n",
    ),
    "byte order mark": (
        b"\xef\xbb\xbfimport torch\nx = y.cuda()\n",
        b"\xef\xbb\xbfimport torch\n" + NPU + b"\nx = y.npu()\n",
    ),
    "latin-1": (
        b"# coding: latin-1\nimport torch\ns = '\xe9\xff'; x = y.cuda()  # \xe8\n",
        b"# coding: latin-1\nimport torch\n" + NPU + b"\ns = '\xe9\xff'; x = y.npu()  # \xe8\n",
    ),
    "utf-8 before the site": (
        "import torch\ns = 'é中😀'; x = y.cuda()  # 中\n".encode(),
        b"import torch\n" + NPU + "\ns = 'é中😀'; x = y.npu()  # 中\n".encode(),
    ),
    "tabs": (
        b"import torch\nif 1:\n\tif 2:\n\t\tx\t=\ty.cuda( )\t\n",
        b"import torch\n" + NPU + b"\nif 1:\n\tif 2:\n\t\tx\t=\ty.npu( )\t\n",
    ),
    "form feed": (b"import torch\n\f\nx = y.cuda()\n\f", b"import torch\n" + NPU + b"\n\f\nx = y.npu()\n\f"),
    "no final newline": (b"import torch\nx = y.cuda()", b"import torch\n" + NPU + b"\nx = y.npu()"),
    "spaces at the end": (
        b"import torch   \n\nx = y.cuda()   \n   ",
        b"import torch   \n" + NPU + b"\n\nx = y.npu()   \n   ",
    ),
    "broken lines": (b"import torch\nx = y \\\n  .cuda()\n", b"import torch\n" + NPU + b"\nx = y \\\n  .npu()\n"),
    "odd layout": (b"import torch\nx=f( 1,y . cuda ( ) )\n", b"import torch\n" + NPU + b"\nx=f( 1,y . npu ( ) )\n"),
    "quotes and prefixes": (
        b"import torch\nx = torch.zeros(1, device='cuda')\nz = torch.device(u'cuda:1')\n",
        b"import torch\n" + NPU + b"\nx = torch.zeros(1, device='npu')\nz = torch.device(u'npu:1')\n",
    ),
}
SELECTED = {
    "one expression": [
        ('import torch\nd = "cuda" if torch.cuda.is_available() else "cpu"\nx = torch.zeros(1, device=d)\n'),
        'd = "npu" if torch.npu.is_available() else "cpu"',
    ],
    "a flag": [
        ('import torch\nuse = torch.cuda.is_available()\nd = torch.device("cuda" if use else "cpu")\n'),
        'use = torch.npu.is_available()\nd = torch.device("npu" if use else "cpu")',
    ],
    "a statement": [
        (
            'import torch\nif torch.cuda.is_available():\n    d = torch.device("cuda")\nelse:\n'
            '    d = torch.device("cpu")\n'
        ),
        ('if torch.npu.is_available():\n    d = torch.device("npu")\nelse:\n    d = torch.device("cpu")'),
    ],
}


@pytest.mark.parametrize(("before", "after"), BYTES.values(), ids=list(BYTES))
def test_bytes_outside_the_edits_stay(tmp_path: Path, before: bytes, after: bytes) -> None:
    file = tmp_path / "agent.py"
    file.write_bytes(before)
    assert run(["fix", "--write", str(file)]) == 0
    assert file.read_bytes() == after
    inode = file.stat().st_ino
    assert run(["fix", "--write", str(file)]) == 0
    assert file.read_bytes() == after
    assert file.stat().st_ino == inode, "a second run does not even write"


def test_bytes_that_the_encoding_cannot_give_back_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # ISO-2022-JP: a second, needless escape sequence is lost in decoding.
    file = tmp_path / "agent.py"
    before = b'# coding: iso-2022-jp\nimport torch\n# \x1b$B$"\x1b$B$$\x1b(B\nx = y.cuda()\n'
    file.write_bytes(before)
    assert run(["fix", "--write", str(file)]) == 2
    assert file.read_bytes() == before
    assert ": its bytes are not exact iso2022_jp" in capsys.readouterr().err


COMMENTED = {
    "call": "import torch\nx = torch.zeros(  # one\n    3,  # two\n).cuda()\n",
    "argument": "import torch\nx = torch.zeros(3).cuda(\n    0,  # one\n)\n",
    "legacy type": "import torch\nx = torch.cuda.FloatTensor(  # one\n    3  # two\n)\n",
    "choice": (
        'import torch\nd = torch.device(\n    "cuda"  # one\n'
        '    if torch.cuda.is_available()  # two\n    else "cpu"\n)\n'
    ),
    "import": "from torch.cuda import (  # one\n    empty_cache,  # two\n)\nempty_cache()\n",
    "name": "import torch\nx = (torch.  # one\n    cuda.  # two\n    device_count())\n",
    "precision": "import torch\nwith torch.cuda.amp.autocast(  # one\n    dtype=torch.bfloat16,  # two\n):\n    pass\n",
}


@pytest.mark.parametrize("text", COMMENTED.values(), ids=list(COMMENTED))
@pytest.mark.parametrize("style", ["npu", PORTABLE])
def test_safe_fix_never_loses_a_comment(text: str, style: str) -> None:
    assert findings_in(text)
    safe = fixed(text, style)
    for word in ("# one", "# two"):
        assert safe.text.count(word) == text.count(word)
    if safe.text == text:
        demoted = [finding.fix for finding in safe.remaining if finding.fix]
        assert all(fix.applicability is Applicability.UNSAFE for fix in demoted)


def test_fix_that_loses_a_comment_is_demoted_and_says_so() -> None:
    text = COMMENTED["legacy type"]
    (left,) = fixed(text).remaining
    assert left.fix is not None
    assert (left.fix.applicability, "loses a comment" in left.fix.message) == (Applicability.UNSAFE, True)
    assert "torch.cuda" not in fixed(text, unsafe=True).text


@pytest.mark.parametrize("select", ["NPU101", "NPU103"])
@pytest.mark.parametrize(("text", "expected"), SELECTED.values(), ids=list(SELECTED))
def test_halves_of_a_choice_change_together(text: str, expected: str, select: str) -> None:
    after = fixed(text, "npu", [select]).text
    assert expected in after
    assert "cuda" not in after
    portable = fixed(text, PORTABLE, [select]).text
    assert "device_module.is_available()" in portable
    assert portable.count('"cuda"') == 1, "only in the helper line"


def test_half_without_fix_keeps_the_other_half() -> None:
    text = (
        "import torch\nuse = torch.cuda.is_available() and torch.cuda.get_arch_list()\n"
        'd = "cuda" if use else "cpu"\nx = torch.zeros(1, device=d)\n'
    )
    for select in ("NPU101", "NPU103"):
        after = fixed(text, "npu", [select]).text
        assert ('"npu"' in after) == ("torch.npu.is_available()" in after)


def agents() -> list[Path]:
    return [path for path in sorted(FIXTURES.glob("agents/*/cuda/**/*.py")) if b"cuda" in path.read_bytes()]


def place(source: SourceText, location: Location) -> int:
    return source.line_starts[location.row - 1] + location.column - 1


def with_edits(text: str, finding: Finding) -> str:
    """The text after the edits of one finding as the JSON format gives them."""
    assert finding.fix is not None
    source = SourceText(Path(finding.filename), text)
    spans = [
        (place(source, edit.location), place(source, edit.end_location), edit.content) for edit in finding.fix.edits
    ]
    for start, end, content in sorted(spans, reverse=True):
        text = text[:start] + content + text[end:]
    return text


@pytest.mark.parametrize("style", ["npu", PORTABLE])
@pytest.mark.parametrize("path", agents(), ids=lambda path: str(path.relative_to(FIXTURES / "agents")))
def test_edits_of_one_finding_alone_give_a_whole_file(path: Path, style: str) -> None:
    text = path.read_text(encoding="utf-8")
    fixable = [finding for finding in findings_in(text, style=style) if finding.fix]
    for finding in fixable:
        after = with_edits(text, finding)
        assert after != text
        names = {node.id for node in ast.walk(ast.parse(after)) if isinstance(node, ast.Name)}
        if "torch.npu" in after and "torch.npu" not in text and style == "npu":
            assert "\nimport torch_npu" in after, finding
        for name in {"DEVICE_TYPE", "device_module"} & names:
            assert f"\n{name} = " in after, finding
    assert fixable or "package" in str(path)


class Replacing(Rule):
    """Replaces names by texts, for tests."""

    code = "FAKE001"
    name = "replacing"
    topic = "fake"
    triggers = Triggers(("torch",))

    def __init__(self, **texts: str) -> None:
        self.texts = texts

    def check(self, module: Module) -> Iterator[Hit]:
        for name, text in self.texts.items():
            for node in module.index.names.get(name, ()):
                yield Hit(node, "as told", rewrite("Replace it", node, lambda node, writer, text=text: text))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rule", "encoding", "fault"),
    [
        (Replacing(old="new )"), "utf-8", "would break its syntax"),
        (Replacing(old="'中'"), "latin-1", "needs a character that latin-1 lacks"),
        (Replacing(old="other", other="old"), "utf-8", "undo each other"),
        (Replacing(old="f(old)"), "utf-8", "do not settle"),
    ],
    ids=["syntax", "encoding", "circle", "endless"],
)
def test_unsound_fix_leaves_the_file_alone(rule: Rule, encoding: str, fault: str) -> None:
    source = SourceText(Path("agent.py"), "import torch\nx = old\n", encoding)
    outcome = fix_source(Checker((rule,), frozenset({"FAKE001"}), with_edits=True), source, ProjectFacts(), unsafe=True)
    assert fault in outcome.fault
    assert (outcome.text, outcome.ported) == (source.text, [])
    assert [finding.code for finding in outcome.remaining] == ["FAKE001"]


def test_overlapping_fixes_are_made_one_after_the_other() -> None:
    text = "import torch\nx = torch.zeros(3).cuda(device=torch.cuda.current_device())\n"
    outcome = fixed(text)
    assert (outcome.fault, outcome.remaining) == ("", [])
    assert "cuda" not in outcome.text


FENCES = """import torch

device = torch.device("cuda")


def train(agent, loader):
    for batch in loader:
        agent.update(batch)
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
"""


def test_what_is_removed_is_not_ported_first_and_no_block_ends_up_empty() -> None:
    lone = FENCES.replace('device = torch.device("cuda")', "device = agent_device").replace('.type == "cuda"', "")
    result = fixed(lone, PORTABLE, ["NPU103", "NPU302", "NPU304"], unsafe=True)
    assert result.fault == ""
    assert "device_module" not in result.text
    assert result.text.endswith("        if device:\n            pass\n")
    assert {finding.code for finding in result.ported} == {"NPU302", "NPU304"}
    only_one = fixed(lone, PORTABLE, ["NPU103", "NPU304"], unsafe=True)
    assert "device_module.synchronize()" in only_one.text
    assert "empty_cache" not in only_one.text
