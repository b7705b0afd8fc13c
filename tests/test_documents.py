"""What the documents say is so: the README's example and tables, the recipe for a rule, the hooks."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from npuport.cli.main import COMMANDS
from npuport.sources.settings import Settings
from tests.conftest import Command, environment, write_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).parent.parent
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
MADE_ANEW = "out of date: run `make docs`"


def block(name: str) -> str:
    """The text between two markers of the README, without its fence."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)
    assert found, f"README.md has no block {name}"
    return re.sub(r"\A```\w+\n(.*)```\n\Z", r"\1", found.group(1), flags=re.DOTALL)


def tracked_files() -> list[Path]:
    """The files of the repository; without git those that are no product of a build."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, env=environment())
    if done.returncode != 0:
        pytest.skip("not a git work tree")
    return [path for name in done.stdout.split("\0") if name and (path := REPOSITORY / name).is_file()]


def test_rule_table_of_the_readme_is_current(npuport: Command) -> None:
    assert block("rules") == npuport("rules", "--output-format", "markdown").out, MADE_ANEW


@pytest.mark.parametrize("style", ["npu", "portable"])
def test_example_of_the_readme_is_what_fix_makes(npuport: Command, tmp_path: Path, style: str) -> None:
    write_files(tmp_path, {"agent.py": block("before")})
    npuport("fix", "--write", "--style", style, "agent.py")
    assert (tmp_path / "agent.py").read_text(encoding="utf-8") == block(style), MADE_ANEW


def test_findings_of_the_readme_are_what_check_prints(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": block("before")})
    assert npuport("check", "--output-format", "concise", "agent.py").out == block("check"), MADE_ANEW


def test_every_setting_is_in_the_readme() -> None:
    keys = {field.name.replace("_", "-") for field in fields(Settings)} - {"root", "file"}
    section = README.partition("## Configuration")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE)) == keys


def test_every_output_format_is_in_the_readme(npuport: Command) -> None:
    section = README.partition("### Output formats")[2].partition("\n## ")[0]
    formats = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert f"[{'|'.join(formats)}]" in npuport("check", "--help").out


def test_example_rule_of_the_recipe_passes_its_tests(tmp_path: Path) -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```\n", text, re.DOTALL))
    assert [Path(name).name for name in files] == [
        "npu999_transfer_to_npu.py",
        "NPU999.py",
        "NPU999.fixed.py",
        "NPU999.portable.py",
    ]
    for folder in ("npuport", "tests"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    # A copy below npuport comes before the mapping of the editable install.
    rules = tmp_path / "npuport" / "rules"
    shutil.copytree(REPOSITORY / "rules", rules, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    write_files(tmp_path, {re.sub(r"^rules/", "npuport/rules/", name): code for name, code in files.items()})
    command = [sys.executable, "-m", "pytest", "tests/test_rules.py", "-k", "NPU999", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment(PYTHONPATH=str(tmp_path))
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[4-9] passed", done.stdout)


def test_hooks_are_commands_that_work(npuport: Command, tmp_path: Path) -> None:
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["npuport-check", "npuport-fix"]
    write_files(tmp_path, {"agent.py": "import torch\n\nx = torch.zeros(3).cuda()\n"})
    statuses = {}
    for hook in hooks:
        assert hook["language"] == "python"
        assert hook["require_serial"] is True
        assert hook["types_or"] == ["python", "jupyter"]
        name, *arguments = shlex.split(hook["entry"])
        assert name == "npuport"
        statuses[hook["id"]] = npuport(*arguments, *hook.get("args", ()), "agent.py").status
    # A change is what stops a commit after the fix hook, not its status.
    assert statuses == {"npuport-check": 1, "npuport-fix": 0}
    assert ".npu()" in (tmp_path / "agent.py").read_text(encoding="utf-8")


def test_own_hooks_are_local_and_installed_by_make_check() -> None:
    config = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for repository in config["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            tool = Path(shlex.split(hook["entry"])[0])
            assert tool.parent == Path(".venv/bin")
            assert f"$(BIN)/{tool.name}" in makefile


def test_links_of_the_documents_lead_somewhere() -> None:
    for path in [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_path_in_the_architecture_exists() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = "|".join(path.name for path in (REPOSITORY / "npuport").iterdir() if path.is_dir())
    for name in re.findall(rf"`((?:{rooms})/[\w/]*\w\.py)`", text):
        assert (REPOSITORY / "npuport" / name).exists(), name


def test_no_file_holds_a_path_of_one_machine() -> None:
    machine = re.compile(rb"(?<![\w.~-])/(?:wor" + rb"k|home/[a-z]\w*|Users/\w+|root)/|/tmp/scr" + rb"atch")
    found = {
        str(path.relative_to(REPOSITORY)): match.group().decode()
        for path in tracked_files()
        if (match := machine.search(path.read_bytes()))
    }
    assert not found


PACKAGES = sorted(
    str(path.parent.relative_to(REPOSITORY / "npuport"))
    for path in (REPOSITORY / "npuport").rglob("__init__.py")
    if path.parent != REPOSITORY / "npuport"
)


def test_every_package_is_in_the_wheel() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    mapped = {folder: package for package, folder in settings["package-dir"].items()}
    folders = [
        path.parent.relative_to(REPOSITORY)
        for top in ("npuport", *mapped)
        for path in (REPOSITORY / top).rglob("__init__.py")
    ]
    packages = {".".join((mapped.get(folder.parts[0], folder.parts[0]), *folder.parts[1:])) for folder in folders}
    assert set(settings["packages"]) == packages


@pytest.mark.parametrize("package", PACKAGES)
def test_docstring_of_a_package_names_its_modules(package: str) -> None:
    folder = REPOSITORY / "npuport" / package
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    if package == "cli":  # one module a command
        modules = [name for name in modules if name not in COMMANDS]
    assert [name for name in sorted(modules) if f"``{name}``" not in docstring] == []
