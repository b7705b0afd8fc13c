"""Notebooks: what of them is Python, where it stands, and that nothing but changed code changes."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npuport.analysis.module import ProjectFacts
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.fixing import fix_source
from npuport.sources.errors import UnreadableSource
from npuport.sources.ipython import foreign_parts
from npuport.sources.notebooks import Notebook, decode_notebook
from npuport.sources.text import SourceText
from tests.conftest import PORTABLE, checker
from tests.notebook_files import code_cell, document, in_lines, notebook, sources, text_cell

PATH = Path("agent.ipynb")
CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def read(text: str) -> Notebook:
    """The notebook of a text."""
    return decode_notebook(PATH, text.encode())


def fixed(text: str, style: str = "npu", *, unsafe: bool = False) -> str:
    """The notebook's text after ``fix``."""
    source = read(text)
    result = fix_source(checker((), style), source, ProjectFacts(), unsafe=unsafe)
    assert not result.fault
    return source.encode(result.text).decode()


def places(text: str) -> list[tuple[str, int | None, int, int]]:
    """Code, cell, row and column of each finding."""
    found = check_bytes(checker(), FileTask(PATH, text.encode()))
    return [(f.code, f.cell, f.location.row, f.location.column) for f in found]


def test_findings_are_placed_in_their_cell() -> None:
    text = notebook(
        text_cell("`cuda`"), "%matplotlib inline\n\nimport torch", "", code_cell([]), f"# é\n{CHOICE}\nx = y.cuda()"
    )
    assert places(text) == [("NPU101", 5, 2, 23), ("NPU103", 5, 2, 33), ("NPU102", 5, 3, 5)]


def test_edits_of_a_finding_name_their_cells() -> None:
    (finding,) = check_bytes(checker(), FileTask(PATH, notebook("import os\nimport torch", "y.cuda()").encode()))
    assert finding.fix is not None
    edits = [(edit.cell, edit.location.row, edit.location.column) for edit in finding.fix.edits]
    assert edits == [(1, 3, 1), (2, 1, 3)]  # the row below the last one of the first cell


IPYTHON = {
    "%matplotlib inline": [""],
    "!nvidia-smi": [""],
    "!ls 'it": [""],
    "!!ls": [""],
    "?torch": [""],
    "torch.cuda?": [""],
    "model.cuda??  ": ["", "  "],
    "!pip install \\\n  torch": [""],
    "x = !ls": ["x = "],
    "x.y['a=!'] = %time f()": ["x.y['a=!'] = "],
    "a, b = %magic": ["a, b = "],
    "pip install torch": [""],
    "cd ..": [""],
    "%time f() # ?\nx = 1": ["", "\nx = 1"],
    "%%time\nx.cuda()": ["", "\nx.cuda()"],
    "\n%%capture out\n!ls\nx": ["\n", "\n", "\nx"],
    "if x:\n    %time f()\n    !ls": ["if x:\n    ", "\n    "],
    "x = f(1,\n)\n!ls": ["x = f(1,\n)\n"],
    "x = 'a' \\\n    'b'\n!ls": ["x = 'a' \\\n    'b'\n"],
    "x = '''\n!no\n'''\n!ls": ["x = '''\n!no\n'''\n"],
    "x\r\n!ls\r\ny": ["x\r\n", "\r\ny"],
}


@pytest.mark.parametrize("code", IPYTHON)
def test_what_is_ipythons_own_is_told_from_python(code: str) -> None:
    parts = foreign_parts(code)
    assert parts
    ends = [0, *(end for _, end in parts)]
    starts = [*(start for start, _ in parts), len(code)]
    kept = [code[end:start] for end, start in zip(ends, starts, strict=True)]
    assert (kept if kept[-1] else kept[:-1]) == IPYTHON[code]


@pytest.mark.parametrize("code", IPYTHON)
def test_text_of_a_cell_is_python_of_the_same_shape(code: str) -> None:
    source = read(notebook(code))
    assert ast.parse(source.text)
    assert [len(line) for line in source.text.split("\n")] == [len(line) for line in f"{code}\n".split("\n")]
    assert source.written(source.text) == source.document


@pytest.mark.parametrize(
    "code",
    [
        "x = (a\n% b)",
        "x = '''\n%time\n!ls\n?'''",
        'print("why?")\n# why?\nx != y',
        "x = a \\\n% b",
        "ls = pip\nls if pip else cd\ncat in ls",
        'f"{x!r}" f"{y=!r:>{w}}"',
        "run(x)\ntime = run",
        "await f()",
        "x = {'a': 1}\nx['%'] = '!'",
    ],
)
def test_python_is_left_alone(code: str) -> None:
    assert ast.parse(code)
    assert foreign_parts(code) == []


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile train.py", "%%html", "%%javascript", "%%!", "\n%%sh -e"])
def test_cells_in_another_language_are_left_out(magic: str) -> None:
    text = notebook(f"{magic}\nx.cuda() é(", "import torch\nx.cuda()")
    assert places(text) == [("NPU102", 2, 2, 1)]
    assert sources(fixed(text))[0] == f"{magic}\nx.cuda() é("


def test_cell_that_the_editor_gave_another_language_is_left_out() -> None:
    sql = code_cell("SELECT cuda FROM", metadata={"vscode": {"languageId": "sql"}})
    assert places(notebook("import torch", sql, "x.cuda()")) == [("NPU102", 3, 1, 1)]


@pytest.mark.parametrize(
    "metadata", [{"language_info": {"name": "julia"}}, {"kernelspec": {"name": "ir", "language": "R"}}]
)
def test_notebook_of_another_language_is_not_read(metadata: dict[str, Any]) -> None:
    text = json.dumps(document([code_cell("import torch; x.cuda() <- (")], metadata=metadata))
    assert places(text) == []
    assert fixed(text) == text


@pytest.mark.parametrize(
    ("text", "fault", "row"),
    [
        ('{"cells": [\n', "not valid JSON: Expecting value", 2),
        ("", "not valid JSON: Expecting value", 1),
        ("{}\n}", "not valid JSON: Extra data", 2),
        ("[1]", "no notebook: it has no list of cells", 1),
        ('{"cells": {}}', "no notebook: it has no list of cells", 1),
        ('{"worksheets": []}', "a notebook of format 3; `jupyter nbconvert --to notebook` writes format 4", 1),
        ('{"cells": [\n{"cell_type": "code"}]}', "no notebook: cell 1 has no source", 2),
        ('{"cells": [\n{"cell_type": "code", "source": [1]}]}', "no notebook: cell 1 has no source", 2),
        ("[" * 100_000, "nested too deeply to be parsed", 1),
    ],
)
def test_broken_notebook_says_what_and_where(text: str, fault: str, row: int) -> None:
    with pytest.raises(UnreadableSource) as caught:
        read(text)
    assert (caught.value.fault, caught.value.row) == (fault, row)
    (finding,) = check_bytes(checker(), FileTask(PATH, text.encode()))
    assert (finding.code, finding.cell, finding.location.row) == ("NPU000", None, row)


def test_bytes_that_are_no_utf8_say_where() -> None:
    with pytest.raises(UnreadableSource, match=r"^not valid utf-8: byte 0xff$") as caught:
        decode_notebook(PATH, b'{\n"\xff"}')
    assert caught.value.row == 2


def test_cell_that_is_no_python_is_named() -> None:
    assert places(notebook("import torch", text_cell(""), "\nprint 'cuda'")) == [("NPU000", 3, 2, 1)]


def test_syntax_error_counts_the_lines_of_its_cell() -> None:
    def message(*cells: str) -> str:
        (finding,) = check_bytes(checker(), FileTask(PATH, notebook("import torch", *cells).encode()))
        return finding.message

    assert "after function definition on line 2;" in message("# cuda\ndef f():\nx")
    assert "'(' on line 1 of cell 2;" in message("x = f(\ncuda", "\n]")


def test_import_lands_behind_the_last_line_of_its_cell() -> None:
    text = notebook("import os\nimport torch", "%%time\nx.cuda()", "!ls\ny.cuda()")
    assert sources(fixed(text)) == [
        "import os\nimport torch\nimport torch_npu  # noqa: F401", "%%time\nx.npu()", "!ls\ny.npu()",
    ]  # fmt: skip


def test_portable_names_land_in_one_cell() -> None:
    text = notebook("%pylab inline\nimport torch", "import gymnasium", "!ls", CHOICE)
    assert sources(fixed(text, PORTABLE)) == [
        "%pylab inline\nimport torch",
        'import gymnasium\n\nDEVICE_TYPE = "npu" if hasattr(torch, "npu") and torch.npu.is_available() else "cuda"\n'
        "device_module = getattr(torch, DEVICE_TYPE)",
        "!ls",
        'device = torch.device(DEVICE_TYPE if device_module.is_available() else "cpu")',
    ]


def test_source_that_is_one_string_stays_one() -> None:
    text = json.dumps(document([code_cell('import torch\nx.to("cuda")  # é')]), indent=2)
    assert fixed(text) == text.replace("torch\\n", "torch\\nimport torch_npu  # noqa: F401\\n").replace("cuda", "npu")


def test_lines_of_an_array_keep_their_layout() -> None:
    text = notebook("import torch\nx = 1", 'x.to("cuda")')
    assert fixed(text) == text.replace(
        '    "import torch\\n",\n', '    "import torch\\n",\n    "import torch_npu  # noqa: F401\\n",\n'
    ).replace("cuda", "npu")


def test_escapes_outside_the_changed_characters_stay() -> None:
    text = notebook("import torch, torch_npu", 'x = "\\u00e9 ~ /", y.cuda()').replace("~ /", "\\u00E9\\/\\ud83d\\uDE00")
    assert "\\u00E9\\/" in text
    assert fixed(text) == text.replace("y.cuda()", "y.npu()")


def test_mark_and_missing_line_end_stay() -> None:
    data = b"\xef\xbb\xbf" + notebook("import torch, torch_npu\nx.cuda()").rstrip().encode()
    source = decode_notebook(PATH, data)
    result = fix_source(checker(), source, ProjectFacts(), unsafe=False)
    assert source.encode(result.text) == data.replace(b"cuda", b"npu")


def test_no_edit_touches_what_is_no_python_or_spans_cells() -> None:
    source = read(notebook("x = 1", "%%time\ny = !ls\nz", "!ls\nw"))
    text = source.text
    magic, listing, z, shell = (text.index(part) for part in (source.placeholder, f"= {source.placeholder}", "z", "w"))
    second = text.index(source.separator) + len(source.separator)
    assert magic == second
    refused = [(0, text.index("z"), ""), (second, second, "a\n"), (magic, magic + 2, ""), (listing + 2, z, "")]
    assert not any(source.accepts(*edit) for edit in refused)
    assert not source.accepts(0, 1, source.placeholder)
    allowed = [
        (0, 0, "a\n"),
        (0, 5, ""),
        (6, 6, "a\n"),
        (z, z + 1, "a"),
        (shell, shell, "a\n"),
        (listing - 2, listing, ""),
    ]
    assert all(source.accepts(*edit) for edit in allowed)


def test_fix_that_would_need_a_line_above_a_cell_magic_is_not_offered() -> None:
    body = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\ndevice = "cuda"'
    for text in (notebook(f"%%time\n{body}"), notebook(f"%%time\n{body}", "import torch\nx.to(device)")):
        assert all(source.startswith(("%%time\n", "import torch\n")) for source in sources(fixed(text, PORTABLE)))


CELLS = st.sampled_from([
    "import torch",
    "import torch\n",
    "import torch as th\nimport os",
    "from torch import nn\n\n",
    "%matplotlib inline\nimport torch",
    CHOICE,
    "x = y.cuda()  # é中😀",
    "!pip install torch\nx.to('cuda')",
    "for i in x:\n    !ls\n    y = i.cuda()",
    "names = !ls\nif torch.cuda.is_available():\n    torch.cuda.empty_cache()",
    "print('cuda é', \"\\u00e9 \\n\")",
    "",
    "\f\nx = y.cuda()",
    "def f(x):\n    '''\n!no\n'''\n    return x.cuda()\n\n",
    "x = y.cuda()\r\ntorch.cuda?\r\nz = 1\r\n",
    "x.cuda()  # npuport: ignore[NPU102] why",
    "from torch.cuda.amp import autocast\nwith autocast():\n    %time f()",
])  # fmt: skip
MAGIC_CELLS = st.sampled_from(["%%time\nx.cuda()", "%%bash\necho cuda (", "\n%%capture\nimport torch\nx.to('cuda')"])


@st.composite
def notebooks(draw: st.DrawFn, cells: st.SearchStrategy[str]) -> str:
    """The text of a notebook in one of many layouts."""
    made: list[dict[str, Any]] = []
    for code in draw(st.lists(cells, min_size=1, max_size=6)):
        outputs = [{"output_type": "stream", "text": ["cuda é\n"]}]
        made.append(code_cell(code if draw(st.booleans()) else in_lines(code), outputs=outputs))
        if draw(st.booleans()):
            made.append(text_cell('x.to("cuda")'))
    return json.dumps(
        dict(sorted(document(made).items(), reverse=draw(st.booleans()))),
        indent=draw(st.sampled_from([None, 1, 4, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":")])),
    ) + draw(st.sampled_from(["", "\n", "\r\n"]))


STRING = r'"(?:\\.|[^"\\])*"'
SOURCE = re.compile(rf'("cell_type":\s*"code".*?"source":\s*)(?:{STRING}|\[\s*(?:{STRING}\s*,?\s*)*\])', re.DOTALL)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def is_array_of_lines(source: list[str]) -> bool:
    """Whether every element but the last is one line, as Jupyter writes it."""
    return all(line.find("\n") == len(line) - 1 for line in source[:-1])


@QUICK
@given(notebooks(CELLS | MAGIC_CELLS), st.sampled_from(["npu", PORTABLE]), st.booleans())
def test_nothing_but_code_changes_and_a_second_run_changes_nothing(text: str, style: str, unsafe: bool) -> None:
    after = fixed(text, style, unsafe=unsafe)
    assert SOURCE.sub(r"\1", after) == SOURCE.sub(r"\1", text)
    assert after.isascii() or not text.isascii()
    assert fixed(after, style, unsafe=unsafe) == after
    for old, new in zip(json.loads(text)["cells"], json.loads(after)["cells"], strict=True):
        assert type(old["source"]) is type(new["source"])
        foreign = foreign_parts("".join(old["source"]))
        if foreign is None:
            assert old == new
        for start, end in foreign or ():
            assert "".join(old["source"])[start:end] in "".join(new["source"])
        if isinstance(new["source"], list) and is_array_of_lines(old["source"]):
            assert is_array_of_lines(new["source"])


@QUICK
@given(notebooks(CELLS), st.sampled_from(["npu", PORTABLE]))
def test_cells_are_fixed_as_the_module_that_they_make_up(text: str, style: str) -> None:
    source = read(text)
    module = fix_source(checker((), style), SourceText(PATH, source.text), ProjectFacts(), unsafe=False)
    after = decode_notebook(PATH, fixed(text, style).encode())
    # Behind the last line of a cell stands no line end, hence not the first half of one either.
    assert after.text.replace("\r", "") == module.text.replace("\r", "")


@QUICK
@given(notebooks(CELLS | MAGIC_CELLS))
def test_places_of_findings_hold_their_code(text: str) -> None:
    cells = sources(text)
    for finding in check_bytes(checker(), FileTask(PATH, text.encode())):
        assert finding.cell is not None
        lines = SourceText(PATH, cells[finding.cell - 1])
        assert finding.location.row == finding.end_location.row
        marked = lines.line(finding.location.row)[finding.location.column - 1 : finding.end_location.column - 1]
        assert any(word in marked for word in ("cuda", "autocast", "npuport:"))
