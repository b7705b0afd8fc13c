"""Runs the commands of a page again and puts their real output under them.

    python docs/rerun_commands.py docs/port_an_agent_in_an_afternoon.md

A page's ``console`` blocks hold commands, each after ``$ ``, and what they print. All commands of a page run one after
the other, in one new folder that holds a copy of the page's agent, so that what one command writes is there for the
next. A page names its agent in a comment, ``<!-- agent: fixtures/agents/NAME/cuda -->``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
AGENT = re.compile(r"<!-- agent: (\S+) -->")
# As wide as a page's code is comfortably read.
_COLUMNS = "110"


def commands_of(page: str) -> list[str]:
    """The commands of a page, in order."""
    return [line[2:] for block in BLOCK.findall(page) for line in block.splitlines() if line.startswith("$ ")]


def current(page: str, folder: Path) -> str:
    """The page with every command's output as it is now.

    Args:
        folder: where the commands run; it holds the agent.
    """
    return BLOCK.sub(lambda match: _block(match.group(0), folder), page)


def agent_folder(page: str) -> Path:
    """The folder of the agent that a page is about.

    Raises:
        SystemExit: the page names none, or one that is not there.
    """
    named = AGENT.search(page)
    folder = REPOSITORY / named.group(1) if named else None
    if folder is None or not folder.is_dir():
        raise SystemExit("the page names no agent that is there: <!-- agent: FOLDER -->")
    return folder


def _block(block: str, folder: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "\n".join(f"$ {command}\n{_output(command, folder)}" for command in commands)


def _output(command: str, folder: Path) -> str:
    """What a command prints on stdout, and its exit status where that is not 0."""
    print(f"$ {command}", file=sys.stderr, flush=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": _COLUMNS}
    environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, check=False
    )
    # The folder's name is another one each time, and of this machine.
    text = done.stdout.decode("utf-8", "replace").replace(f"{folder.resolve()}{os.sep}", "")
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    if done.returncode:
        lines.append(f"(exit status {done.returncode})")
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Make the named pages current."""
    for name in sys.argv[1:]:
        path = Path(name)
        page = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="npuport-docs-") as folder:
            agent = Path(folder) / "agent"
            shutil.copytree(agent_folder(page), agent, ignore=shutil.ignore_patterns("__pycache__"))
            path.write_text(current(page, agent), encoding="utf-8")


if __name__ == "__main__":
    main()
