"""Pages with commands: the commands exist, and are run again as they stand."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from docs.rerun_commands import BLOCK, agent_folder, commands_of, current
from npuport.cli.main import cli

REPOSITORY = Path(__file__).resolve().parent.parent
PAGES = [page for page in sorted((REPOSITORY / "docs").glob("*.md")) if BLOCK.search(page.read_text(encoding="utf-8"))]


def test_there_are_pages() -> None:
    assert [page.name for page in PAGES] == ["port_an_agent_in_an_afternoon.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_page_exist_with_their_options(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(agent_folder(text))
    checked = 0
    for command in commands_of(text):
        words = shlex.split(command.partition("|")[0].replace("2>/dev/null", ""))
        if words[0] != "npuport":
            continue
        # The original is a copy that an earlier command of the page makes.
        words = ["train.py" if word == "original.py" else word for word in words]
        _, found, rest = cli.resolve_command(click.Context(cli), words[1:])
        assert found is not None
        found.make_context(words[1], rest)
        checked += 1
    assert checked >= 4


def test_commands_run_in_one_folder_and_outputs_are_replaced(tmp_path: Path) -> None:
    first, last = "```console\n$ echo new > file\n$ cat file\nold\n```\n", "```console\n$ pwd; exit 3\n```\n"
    page = f"Text.\n\n{first}\n```python\n$ kept\n```\n{last}"
    made = current(page, tmp_path)
    assert "$ echo new > file\n\n$ cat file\nnew\n```" in made
    assert "$ kept" in made
    assert "(exit status 3)\n```" in made
    assert current(made, tmp_path) == made


def test_a_page_without_an_agent_is_told() -> None:
    with pytest.raises(SystemExit):
        agent_folder("no agent here")
