"""What holds for any Python source: no crash, no change without a finding, fixes that settle, places that fit."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import check_source
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.fixing import fix_source
from npuport.sources.text import SourceText, decode
from tests.conftest import PORTABLE, checker

CHECKERS = {(style, gate): checker((), style, gate=gate) for style in ("npu", PORTABLE) for gate in (True, False)}
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)

IMPORTS = st.sampled_from(
    [
        "import torch",
        "import torch as th",
        "from torch import cuda",
        "from torch import nn",
        "import torch.cuda as tc",
        "from torch.cuda.amp import autocast, GradScaler",
        "from torch.cuda import is_available, empty_cache as clear",
        "from torch import *",
        "import torch_npu",
        "import os",
        "import numpy as np",
        "import torch; import os",
        "try:\n    import torch\nexcept ImportError:\n    torch = None",
        "from __future__ import annotations",
        "import cupy as cp",
        "import torch.distributed as dist",
        '"""A text."""',
        "#!/usr/bin/env python",
        "",
    ]
)
EXPRESSIONS = st.sampled_from(
    [
        '"cuda"',
        "'cuda:1'",
        'f"cuda:{i}"',
        '"cuda:%d" % i',
        '"cuda:{}".format(i)',
        "torch.cuda.is_available()",
        '"cuda" if torch.cuda.is_available() else "cpu"',
        'torch.device("cuda", 1)',
        "x.cuda()",
        'x.to("cuda")',
        "x.is_cuda",
        "torch.cuda.FloatTensor(3)",
        "torch.zeros(3, device='cuda')",
        "torch.zeros(3).cuda(non_blocking=True)",
        "torch.cuda.current_device()",
        "cuda.device_count()",
        "th.cuda.empty_cache()",
        'getattr(torch, "cuda")',
        "GradScaler()",
        "autocast()",
        'torch.autocast("cuda", dtype=torch.float16)',
        'os.environ["CUDA_VISIBLE_DEVICES"]',
        "nn.DataParallel(x)",
        'dist.init_process_group(backend="nccl")',
        'device.type == "cuda"',
        '"cuda" in str(device)',
        "torch.cuda.CUDAGraph()",
        "torch.cuda.get_rng_state_all()",
        "torch.backends.cudnn.benchmark",
        "x",
        "1",
        "f(x, *y, **z)",
        '"text with cuda in it"',
        "(x := torch.cuda)",
        "lambda device='cuda': device",
        "[y.cuda() for y in x]",
        "{'device': 'cuda'}",
        "cp.cuda.Device(0)",
        "f\"{torch.cuda.device_count()} {'cuda'}\"",
        "tc.synchronize()",
        "clear()",
        "'é中', x.cuda()",
    ]
)
FRAMES = st.sampled_from(
    [
        "x = {}",
        "{}",
        "return_value = f({},\n    1,  # why\n)",
        "device: str = {}",
        "with {} as x:\n    pass",
        "assert {}, 'cuda'",
        "if {}:\n    y = 1\nelse:\n    y = 2",
        "for i in {}:\n    x = i",
        "def f(device={}):\n    return device",
        "def g():\n    import torch\n    return {}",
        "class A:\n    device = {}\n    def h(self):\n        self.x = {}",
        "x = ({}  # one\n    )",
        "try:\n    {}\nexcept RuntimeError as error:\n    raise",
        "x = y = {}; z = {}",
        "parser.add_argument('--device', default={})",
        "while {}: break",
        "del x, y",
        "# {}",
        "'''\n{}\n'''",
        "x = {} \\\n    or y",
        "{}  # npuport: ignore[NPU101]",
        "# npuport: ignore\nx = {}",
        "\fx = {}",
        "async def k():\n\tawait {}",
        "@f({})\ndef m(): ...",
    ]
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A source of imports and statements, with any of Python's line ends."""
    head = draw(st.lists(IMPORTS, max_size=4))
    body = draw(st.lists(st.builds(lambda frame, code: frame.replace("{}", code), FRAMES, EXPRESSIONS), max_size=6))
    middle = draw(st.lists(IMPORTS, max_size=1))
    text = "\n".join([*head, *body[:2], *middle, *body[2:]]) + draw(st.sampled_from(["", "\n", "\n\n  "]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return False
    return True


def names(text: str) -> tuple[set[str], set[str]]:
    """The names that a text reads and those that it binds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    return {n.id for n in found if isinstance(n.ctx, ast.Load)}, {n.id for n in found if isinstance(n.ctx, ast.Store)}


def holds(text: str, style: str, *, unsafe: bool = False) -> None:
    """Everything that is promised for one text."""
    source = SourceText(Path("agent.py"), text)
    found = check_source(CHECKERS[style, True], source, ProjectFacts()).findings
    assert check_source(CHECKERS[style, False], source, ProjectFacts()).findings == found
    outcome = fix_source(CHECKERS[style, True], source, ProjectFacts(), unsafe=unsafe)
    assert outcome.fault == ""
    if not any(finding.fix for finding in found) or not parses(text):
        assert outcome.text == text
    assert (outcome.text == text) == (not outcome.ported)
    if outcome.text != text:
        assert parses(outcome.text)
        used, bound = names(outcome.text)
        assert used & {"DEVICE_TYPE", "device_module", "_DEVICE_TYPE", "_device_module"} <= bound
        again = fix_source(
            CHECKERS[style, True], SourceText(Path("agent.py"), outcome.text), ProjectFacts(), unsafe=unsafe
        )
        assert (again.text, again.ported) == (outcome.text, [])


@QUICK
@given(text=programs(), style=st.sampled_from(["npu", PORTABLE]), unsafe=st.booleans())
def test_any_program_is_fixed_soundly(text: str, style: str, unsafe: bool) -> None:
    holds(text, style, unsafe=unsafe)


@QUICK
@given(st.text(max_size=60).map(lambda text: "import torch\n" + text + "\ny = x.cuda()"))
@example("import torch\nx = '\udc80'.cuda()")
@example("import torch\n\x0c\\\n\ny = x.cuda()")
def test_any_text_is_checked_and_fixed_without_a_crash(text: str) -> None:
    holds(text, "npu")


@QUICK
@given(st.binary(max_size=80).map(lambda data: b"import torch\n" + data + b"\ny = x.cuda()\n"))
@example(b"# coding: utf-7\nimport torch\n+AAo-x.cuda()\n")
@example(b"# coding: utf-16\nimport torch\nx.cuda()\n")
@example(b"# coding: idna\nimport torch\nx.cuda()\n")
@example(b"# coding: unicode_escape\nimport torch\nx.cuda()\n")
@example(b"# coding: undefined\nimport torch\nx.cuda()\n")
@example(b"# coding: mbcs\nimport torch\nx.cuda()\n")
def test_any_bytes_are_checked_without_a_crash(data: bytes) -> None:
    findings = check_bytes(CHECKERS["npu", True], FileTask(Path("agent.py"), data))
    assert all(finding.location.row >= 1 and finding.location.column >= 1 for finding in findings)


def library_files() -> list[Path]:
    """Some files of the standard library, among them those that speak of cuda or torch, and its test data."""
    root = Path(sysconfig.get_paths()["stdlib"])
    wanted = [
        "ast.py",
        "tokenize.py",
        "argparse.py",
        "typing.py",
        "turtle.py",
        "this.py",
        "antigravity.py",
        "enum.py",
        "_pydecimal.py",
    ]
    odd = (
        sorted(root.glob("test/tokenizedata/*.py"))
        + sorted(root.glob("test/encoded_modules/*.py"))
        + sorted(root.glob("test/test_f*.py"))[:6]
    )
    return [path for path in [*(root / name for name in wanted), *odd] if path.is_file()]


@pytest.mark.parametrize("path", library_files(), ids=lambda path: path.name)
def test_standard_library_has_no_finding_and_stays(path: Path) -> None:
    data = path.read_bytes()
    found = {gate: check_bytes(CHECKERS["npu", gate], FileTask(path, data)) for gate in (True, False)}
    assert found[True] == found[False]
    assert {finding.code for finding in found[True]} <= {"NPU000"}
    if not found[True]:
        source = decode(path, data)
        assert source.encode(source.text) == data
        assert fix_source(CHECKERS["npu", False], source, ProjectFacts(), unsafe=True).text == source.text


@pytest.mark.parametrize("path", library_files()[:6], ids=lambda path: path.name)
def test_findings_are_mended_wherever_they_stand_in_a_real_file(path: Path) -> None:
    text = decode(path, path.read_bytes()).text
    lines = text.split("\n")
    tree = ast.parse(text)
    rows = [
        node.lineno
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list
    ][:40:8]
    for row in reversed(rows):
        lines.insert(row - 1, 'import torch\n_x = torch.zeros(3).to("cuda" if torch.cuda.is_available() else "cpu")')
    for style in ("npu", PORTABLE):
        holds("\n".join(lines), style)


LINES = st.text(st.sampled_from("ab é中😀\t\f\r\n\u2028\x85\x0b'\"#"), max_size=40)


@given(LINES, st.data())
def test_offset_and_position_are_inverse(text: str, data: st.DataObject) -> None:
    source = SourceText(Path("a.py"), text)
    offset = data.draw(st.integers(0, len(text)))
    row, column = source.position(offset)
    before = source.line(row)[: column - 1]
    if text[offset - 1 : offset + 1] != "\r\n":  # no place inside a line end
        assert text[source.line_starts[row - 1] : offset].rstrip("\r\n") == before
        assert source.offset(row, len(before.encode())) == source.line_starts[row - 1] + len(before)


@given(LINES)
def test_lines_make_up_the_text(text: str) -> None:
    source = SourceText(Path("a.py"), text)
    starts = [*source.line_starts, len(text)]
    assert "".join(text[a:b] for a, b in pairwise(starts)) == text
    rows = range(1, len(source.line_starts) + 1)
    assert all(not set(source.line(row)) & {"\r", "\n"} for row in rows)
    assert [source.line(row) for row in rows] == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@given(LINES, st.sampled_from(["utf-8", "utf-16-le", "gb18030"]), st.booleans())
def test_encoding_is_the_inverse_of_decoding(text: str, encoding: str, mark: bool) -> None:
    source = SourceText(Path("a.py"), text, encoding, mark and encoding == "utf-8")
    data = source.encode(text)
    if encoding == "utf-8":
        assert decode(Path("a.py"), data).text == text
        assert decode(Path("a.py"), data).byte_order_mark == source.byte_order_mark
    assert data.decode("utf-8-sig" if source.byte_order_mark else encoding) == text
