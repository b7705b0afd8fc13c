"""Which files are read, and how their bytes become text without loss."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import check_source
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.sources.discovery import discover
from npuport.sources.errors import UnreadableSource, UsageError
from npuport.sources.settings import DEFAULT_EXCLUDE
from npuport.sources.text import SourceText, declared_encoding, decode, read_bytes
from tests.conftest import SITE, checker, git, write_files


def found(root: Path, *paths: str, exclude: tuple[str, ...] = DEFAULT_EXCLUDE, force: bool = False) -> list[str]:
    """The files of a run in ``root``, relative to it."""
    files = discover([root / path for path in paths or (".",)], exclude, root, force_exclude=force)
    return sorted(os.path.relpath(file, root) for file in files)


def test_folder_gives_its_python_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "", "b.pyw": "", "c.txt": "", "d.pyc": "", "e.py.orig": "", "sub/deep/f.py": ""})
    assert found(tmp_path) == ["a.py", "b.pyw", "sub/deep/f.py"]
    assert found(tmp_path, "sub") == ["sub/deep/f.py"]


def test_named_file_is_read_whatever_its_ending(tmp_path: Path) -> None:
    write_files(tmp_path, {"train": "", "build/made.py": ""})
    assert found(tmp_path, "train", "build/made.py") == ["build/made.py", "train"]


def test_names_stay_as_the_user_wrote_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"src/a.py": "", "b.py": ""})
    monkeypatch.chdir(tmp_path)
    assert discover([Path("src"), Path("b.py")], (), tmp_path) == [Path("b.py"), Path("src/a.py")]
    assert discover([Path("../") / tmp_path.name / "b.py"], (), tmp_path) == [Path("..") / tmp_path.name / "b.py"]


def test_every_file_is_read_once(tmp_path: Path) -> None:
    write_files(tmp_path, {"src/a.py": "", "src/b.py": ""})
    assert found(tmp_path, "src", "src/a.py", ".", "src/../src/b.py") == ["src/a.py", "src/b.py"]


def test_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file or folder: .*absent"):
        discover([tmp_path / "absent"], (), tmp_path)


def test_default_folders_are_left_out(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"venv/a.py": "", "src/node_modules/b.py": "", "src/__pycache__/c.py": "", "builder/d.py": ""}
    )
    assert found(tmp_path) == ["builder/d.py"]


@pytest.mark.parametrize("in_git", [True, False])
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("old", ["new/a.py", "test_a.py"]),
        ("old/", ["new/a.py", "test_a.py"]),
        ("old/b.py", ["new/a.py", "new/old/c.py", "test_a.py"]),
        ("test_*.py", ["new/a.py", "new/old/c.py", "old/b.py"]),
        ("/old", ["new/a.py", "new/old/c.py", "test_a.py"]),
        ("new/**", ["old/b.py", "test_a.py"]),
        ("a.py", ["new/old/c.py", "old/b.py", "test_a.py"]),
    ],
)
def test_exclude_takes_git_ignore_patterns(tmp_path: Path, pattern: str, expected: list[str], in_git: bool) -> None:
    write_files(tmp_path, {"new/a.py": "", "new/old/c.py": "", "old/b.py": "", "test_a.py": ""})
    if in_git:
        git(tmp_path, "init", "-q")
    assert found(tmp_path, exclude=(pattern,)) == expected


def test_exclude_is_relative_to_the_settings_not_to_the_named_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {"src/old/a.py": "", "src/new/b.py": ""})
    assert found(tmp_path, "src", exclude=("src/old/*.py",)) == ["src/new/b.py"]
    assert found(tmp_path, "src/old", exclude=("src/old/*.py",)) == []


def test_folder_outside_the_settings_is_not_left_out_for_its_name(tmp_path: Path) -> None:
    write_files(tmp_path, {"build/src/a.py": "", "build/src/build/b.py": "", "project/pyproject.toml": ""})
    files = discover([tmp_path / "build" / "src"], DEFAULT_EXCLUDE, tmp_path / "project")
    assert files == [tmp_path / "build" / "src" / "a.py"]


def test_force_exclude_counts_for_named_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"old/a.py": "", "b_pb2.py": "", "c.py": ""})
    names = ("old/a.py", "b_pb2.py", "c.py")
    assert found(tmp_path, *names, exclude=("old", "*_pb2.py")) == ["b_pb2.py", "c.py", "old/a.py"]
    assert found(tmp_path, *names, exclude=("old", "*_pb2.py"), force=True) == ["c.py"]


def test_git_tree_gives_tracked_and_new_files_but_not_ignored_ones(tmp_path: Path) -> None:
    write_files(tmp_path, {
        ".gitignore": "ignored/\n*_gen.py\n", "tracked.py": "", "new.py": "", "ignored/a.py": "", "b_gen.py": "",
        "sub/.gitignore": "c.py\n", "sub/c.py": "", "sub/d é.py": "", "gone.py": "", "forced_gen.py": "",
    })  # fmt: skip
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "tracked.py", "gone.py")
    git(tmp_path, "add", "-f", "forced_gen.py")
    (tmp_path / "gone.py").unlink()
    assert found(tmp_path) == ["forced_gen.py", "new.py", "sub/d é.py", "tracked.py"]
    assert found(tmp_path, "sub") == ["sub/d é.py"]


def test_ignored_folder_that_is_named_itself_is_read(tmp_path: Path) -> None:
    write_files(tmp_path, {".gitignore": "ignored/\n", "ignored/a.py": "", "b.py": ""})
    git(tmp_path, "init", "-q")
    assert found(tmp_path, "ignored") == ["ignored/a.py"]


def test_gitignore_counts_outside_git(tmp_path: Path) -> None:
    write_files(
        tmp_path, {".gitignore": "runs/\n/a.py\n!keep.py\n", "runs/a.py": "", "a.py": "", "sub/a.py": "", "keep.py": ""}
    )
    assert found(tmp_path) == ["keep.py", "sub/a.py"]


@pytest.mark.parametrize("in_git", [True, False])
def test_symbolic_links(tmp_path: Path, in_git: bool) -> None:
    write_files(tmp_path, {"real/a.py": "", "outside.txt": ""})
    (tmp_path / "link.py").symlink_to(Path("real", "a.py"))
    (tmp_path / "linked_folder").symlink_to("real")
    (tmp_path / "dangling.py").symlink_to("absent.py")
    (tmp_path / "real" / "loop").symlink_to("..")
    if in_git:
        git(tmp_path, "init", "-q")
    assert len(found(tmp_path)) == 1, "a file is read once, however many links lead to it"
    assert found(tmp_path, "link.py") == ["link.py"]
    assert found(tmp_path, "linked_folder") == ["linked_folder/a.py"]
    assert found(tmp_path, "dangling.py") == ["dangling.py"]
    with pytest.raises(UnreadableSource, match="cannot be read"):
        read_bytes(tmp_path / "dangling.py")


TEXTS = {
    "empty": (b"", "", "utf-8"),
    "no final newline": (b"x = 1", "x = 1", "utf-8"),
    "crlf": (b"x = 1\r\ny = 2\r\n", "x = 1\r\ny = 2\r\n", "utf-8"),
    "mixed line ends": (b"x\r\ny\nz\rw", "x\r\ny\nz\rw", "utf-8"),
    "form feed": (b"\fx\n\f\n", "\fx\n\f\n", "utf-8"),
    "line separators that are none": ("x\u2028\x85y\x0bz\x1cw\n".encode(), "x\u2028\x85y\x0bz\x1cw\n", "utf-8"),
    "mark": (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8"),
    "mark and declaration": (b"\xef\xbb\xbf# coding: utf-8\nx\n", "# coding: utf-8\nx\n", "utf-8"),
    "latin-1": (b"# -*- coding: latin-1 -*-\n\xe9\n", "# -*- coding: latin-1 -*-\né\n", "iso8859-1"),
    "vim's way": (
        b"#!/bin/python\n# vim: set fileencoding=cp1252 :\n\x80\n",
        "#!/bin/python\n# vim: set fileencoding=cp1252 :\n€\n",
        "cp1252",
    ),
    "second line": (b"\n# coding: latin-1\n\xe9\n", "\n# coding: latin-1\né\n", "iso8859-1"),
    "declaration behind lone returns": (
        b"#!/bin/python\r# coding: latin-1\r\xe9\r",
        "#!/bin/python\r# coding: latin-1\ré\r",
        "iso8859-1",
    ),
    "gbk": ("# coding: gbk\n中文\n".encode("gbk"), "# coding: gbk\n中文\n", "gbk"),
    "upper case": (b"# Coding: UTF-8\n# coding: UTF-8\n", "# Coding: UTF-8\n# coding: UTF-8\n", "utf-8"),
}


@pytest.mark.parametrize(("data", "text", "encoding"), TEXTS.values(), ids=list(TEXTS))
def test_bytes_become_text_and_the_same_bytes_again(data: bytes, text: str, encoding: str) -> None:
    source = decode(Path("a.py"), data)
    assert (source.text, source.encoding) == (text, encoding)
    assert source.encode(source.text) == data
    assert source.round_trips


@pytest.mark.parametrize(
    "data", [b"x = 1\n\n# coding: latin-1\n", b"x = 1  # coding: latin-1\n", b"x = 1\n# coding: latin-1\n"]
)
def test_declaration_counts_only_in_a_comment_of_the_first_two_lines(data: bytes) -> None:
    assert declared_encoding(data) == "utf-8"


@pytest.mark.parametrize(
    ("data", "fault", "row"),
    [
        (b"x\0y", "binary file: it holds NUL bytes", 1),
        (b"x = 1\ny = '\xff'\n", r"not valid utf-8: byte 0xff; declare its encoding in the first line \(PEP 263\)", 2),
        (b"\n# coding: klingon\n", "unknown encoding 'klingon' declared", 2),
        (b"# coding: rot13\n", "'rot13' is not a text encoding", 1),
        (b"\xef\xbb\xbf# coding: latin-1\n", "encoding 'latin-1' declared in a file with a UTF-8 byte order mark", 1),
        (b"# coding: ascii\n# \xe9\n", "not valid ascii: byte 0xe9", 2),
    ],
    ids=["binary", "bad utf-8", "unknown", "no text", "mark", "bad ascii"],
)
def test_unreadable_bytes_say_what_and_where(data: bytes, fault: str, row: int) -> None:
    with pytest.raises(UnreadableSource, match=f"^{fault}$") as caught:
        decode(Path("a.py"), data)
    assert caught.value.row == row
    (finding,) = check_bytes(checker(), FileTask(Path("a.py"), data))
    assert (finding.code, finding.location.row) == ("NPU000", row)


def test_syntax_error_says_its_line() -> None:
    (finding,) = check_bytes(checker(), FileTask(Path("a.py"), b"import torch\nprint 'cuda'\n"))
    assert (finding.code, finding.location.row) == ("NPU000", 2)
    assert "the file was not checked" in finding.message


@pytest.mark.parametrize("head", ["é", "中文", "😀", "e\u0301", "\t", "\f", "\u2028"])
def test_places_count_characters_whatever_stands_before(head: str) -> None:
    text = f"import torch\nname = '{head}'; x = y.cuda()  # {head}\n".replace("'\f'", "'' \f")
    (finding,) = check_source(checker(), SourceText(Path("a.py"), text), ProjectFacts()).findings
    line = text.split("\n")[1]
    assert finding.location.row == 2
    assert line[finding.location.column - 1 : finding.end_location.column - 1] == "y.cuda()"


@pytest.mark.parametrize("head", ["\f", "if 1:\n\f  ", "if 1:\n \f ", "\f\f"])
def test_form_feed_before_a_statement_moves_no_place(head: str) -> None:
    source = SourceText(Path("a.py"), f"import torch\n{head}x = y.cuda()\n")
    (finding,) = check_source(checker(), source, ProjectFacts()).findings
    line = source.line(finding.location.row)
    assert line[finding.location.column - 1 : finding.end_location.column - 1] == "y.cuda()"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_counts_them(end: str) -> None:
    source = decode(Path("a.py"), f"# one\f\n{SITE}".replace("\n", end).encode())
    (finding,) = check_source(checker(), source, ProjectFacts()).findings
    assert finding.location.row == 4
    assert source.line(4) == "x = torch.zeros(3).cuda()"
    assert source.line_end == end
