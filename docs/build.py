"""Makes what is written from the rules and the tool: the marked blocks of the README, and the pages in ``build/docs``.

``make docs`` runs it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from npuport.emulator.build import build_state
from npuport.engine.registry import all_rules
from npuport.engine.rule import Rule
from npuport.reports.catalogue import facts, table

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "build" / "docs"
AGENT = REPOSITORY / "fixtures" / "agents" / "dqn_argparse"
CODE = re.compile(r"^::\n\n((?:    .*\n|\n)+)", re.MULTILINE)


def current(readme: str) -> str:
    """The README with its marked blocks as the tool makes them now."""
    before = re.search(r"<!-- before -->\n```python\n(.*?)```\n", readme, re.DOTALL)
    if before is None:
        raise SystemExit("README.md: the example between <!-- before --> and <!-- /before --> is not there")
    code = before.group(1)
    blocks = {
        "check": f"```text\n{npuport(code, 'check', '--output-format', 'concise', '--no-cache', 'agent.py')}```\n",
        "npu": f"```python\n{npuport(code, 'fix', '-')}```\n",
        "portable": f"```python\n{npuport(code, 'fix', '--style', 'portable', '-')}```\n",
        "rules": table(all_rules(), markdown=True) + "\n",
        **watched_runs(),
    }
    for name, block in blocks.items():
        readme = with_block(readme, name, block)
    return readme


def watched_runs() -> dict[str, str]:
    """The reports of the example agent before and after its port; none where no emulated device can be had."""
    if build_state(sys.executable).fault:
        print("The watched runs in README.md stay as they are: no emulated device here")
        return {}
    before, after = watched_run("cuda"), watched_run("npu")
    return {"silent": f"```text\n{before.splitlines()[0]}\n```\n", "run": f"```text\n{after}```\n"}


def watched_run(style: str) -> str:
    """What ``run`` reports of the example agent, without its last lines: times and versions."""
    agent = AGENT / style / "train.py"
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(agent, folder)
        command = [sys.executable, "-m", "npuport", "run", "--quiet", "--device", "emulated"]
        command += ["--output-file", "report.txt", agent.name, "--total-timesteps", "600"]
        done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
        report = Path(folder) / "report.txt"
        if not report.exists():
            raise SystemExit(done.stderr)
        return report.read_text(encoding="utf-8").partition("\nNot measured")[0]


def with_block(text: str, name: str, block: str) -> str:
    """``text`` with ``block`` between the markers of a name."""
    pattern = re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.DOTALL)
    text, number = pattern.subn(lambda _: block, text)
    if number != 1:
        raise SystemExit(f"README.md: the markers <!-- {name} --> and <!-- /{name} --> are not there once")
    return text


def npuport(code: str, *arguments: str) -> str:
    """What a command prints about ``code``, as standard input and as the file ``agent.py``."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agent.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "npuport", *arguments]
        done = subprocess.run(command, cwd=folder, input=code, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


def page(rule: Rule) -> str:
    """The page of a rule as Markdown: its docstring with Markdown's headings, code blocks and literals."""
    text = re.sub(r"^(.+)\n-+$", r"## \1", rule.page().replace("``", "`") + "\n", flags=re.MULTILINE)
    text = CODE.sub(lambda match: f"```python\n{textwrap.dedent(match.group(1)).strip()}\n```\n\n", text)
    return f"# {rule.code} {rule.name}\n\n{facts(rule)}\n\n{text}"


def write_pages(folder: Path) -> int:
    """Write an index and one page a rule; returns how many pages."""
    pages = folder / "rules"
    pages.mkdir(parents=True, exist_ok=True)
    for old in pages.glob("*.md"):
        old.unlink()
    linked = re.sub(
        r"^\| ([A-Z]+\d+) \|", r"| [\1](rules/\1.md) |", table(all_rules(), markdown=True), flags=re.MULTILINE
    )
    (folder / "index.md").write_text(f"# Rules of npuport\n\n{linked}\n", encoding="utf-8")
    for rule in all_rules():
        (pages / f"{rule.code}.md").write_text(page(rule), encoding="utf-8")
    return len(all_rules())


def main() -> None:
    """Write everything that is made from the rules and the tool."""
    readme = REPOSITORY / "README.md"
    readme.write_text(current(readme.read_text(encoding="utf-8")), encoding="utf-8")
    number = write_pages(TARGET)
    print(f"README.md is current; {number} pages are in {TARGET.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
