"""Rule packs of others: a package with an entry point in the group ``npuport.rules``, installed beside npuport."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import SITE, Command, write_files

RULE = '''
from __future__ import annotations

from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.engine.fix import rewrite
from npuport.engine.rule import Hit, Rule, Triggers


class HalfSize(Rule):
    """A network is built with the old size.

    What it does
    ------------
    Reports ``OLD_SIZE``.

    Why on an NPU
    -------------
    House rule.

    Example
    -------
    ::

        size = OLD_SIZE

    Use instead
    -----------
    ::

        size = NEW_SIZE

    Fix safety
    ----------
    Safe.

    Sources
    -------
    - This test.
    """

    code = "HOUSE001"
    name = "half-size"
    topic = "house"
    triggers = Triggers(("OLD_SIZE",))

    def check(self, module: Module) -> Iterator[Hit]:
        for node in module.index.names.get("OLD_SIZE", ()):
            yield Hit(node, "the old size", rewrite("Use the new size", node, lambda node, writer: "NEW_SIZE"))
'''
AGENT = "import torch\n\nsize = OLD_SIZE\n"


def install(folder: Path, name: str, module: str, text: str) -> None:
    """Put a distribution with one entry point into ``folder`` as pip would."""
    write_files(folder, {
        f"{module}.py": text,
        f"{name}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{name}-1.0.dist-info/entry_points.txt": f"[npuport.rules]\n{name} = {module}\n",
    })  # fmt: skip


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    folder = tmp_path / "installed"
    folder.mkdir()
    return folder


@pytest.fixture
def path(packs: Path) -> dict[str, str]:
    """The environment in which what lies in ``packs`` is installed."""
    return {"PYTHONPATH": os.fspath(packs), "PYTHONDONTWRITEBYTECODE": "1"}


def test_pack_is_listed_and_explained(npuport: Command, packs: Path, path: dict[str, str]) -> None:
    install(packs, "house", "house_rules", RULE)
    (row,) = json.loads(npuport("rules", "house", "--output-format", "json", env=path).out)
    assert (row["code"], row["name"], row["fix"], row["summary"]) == (
        "HOUSE001",
        "half-size",
        True,
        "A network is built with the old size.",
    )
    assert "House rule." in npuport("explain", "half-size", env=path).out
    assert "HOUSE001" not in npuport("rules").out


def test_pack_finds_fixes_and_is_selected_and_suppressed_like_any_rule(
    npuport: Command, tmp_path: Path, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "house", "house_rules", RULE)
    write_files(
        tmp_path, {"agent.py": AGENT, "quiet.py": AGENT.replace("OLD_SIZE", "OLD_SIZE  # npuport: ignore[HOUSE001]")}
    )
    run = npuport("check", "agent.py", "quiet.py", "--output-format", "concise", "--quiet", env=path)
    assert (run.status, run.out) == (1, "agent.py:3:8: HOUSE001 [*] the old size\n")
    assert npuport("check", "agent.py", "--ignore", "house", env=path).status == 0
    assert npuport("fix", "--write", "agent.py", "--select", "HOUSE", env=path).status == 0
    assert (tmp_path / "agent.py").read_text() == AGENT.replace("OLD", "NEW")


def test_pack_may_be_a_package_with_one_module_a_rule(npuport: Command, packs: Path, path: dict[str, str]) -> None:
    install(packs, "house", "house_rules/__init__", "")
    write_files(packs, {
        "house_rules/shapes/__init__.py": "", "house_rules/shapes/house001_half_size.py": RULE,
        "house-1.0.dist-info/entry_points.txt": "[npuport.rules]\nhouse = house_rules\n",
    })  # fmt: skip
    assert "HOUSE001  half-size" in npuport("rules", env=path).out


def test_edited_pack_makes_cached_findings_worthless(
    npuport: Command, tmp_path: Path, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "house", "house_rules", RULE)
    write_files(tmp_path, {"agent.py": AGENT})
    assert "the old size" in npuport("check", "agent.py", env=path).out
    install(packs, "house", "house_rules", RULE.replace("the old size", "a size of yesteryear"))
    assert "a size of yesteryear" in npuport("check", "agent.py", env=path).out


def test_two_packs_with_one_code_are_one_clear_error(
    npuport: Command, tmp_path: Path, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "first", "first_rules", RULE)
    install(packs, "second", "second_rules", RULE)
    write_files(tmp_path, {"agent.py": AGENT})
    for command in (["check", "agent.py"], ["rules"]):
        run = npuport(*command, env=path)
        assert run.status == 2
        assert run.error == "rule pack 'second': the code HOUSE001 is taken by first_rules"


def test_pack_that_takes_a_built_in_code_is_the_one_to_blame(
    npuport: Command, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "aaa", "aaa_rules", RULE.replace("HOUSE001", "NPU101"))
    run = npuport("rules", env=path)
    assert run.status == 2
    assert run.error.startswith("rule pack 'aaa': the code NPU101 is taken by npuport.rules.device.")


def test_malformed_code_is_one_clear_error(npuport: Command, packs: Path, path: dict[str, str]) -> None:
    install(packs, "house", "house_rules", RULE.replace("HOUSE001", "house-1"))
    run = npuport("rules", env=path)
    assert run.status == 2
    assert run.error == "rule pack 'house': HalfSize has the malformed code 'house-1'"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import absent_library\n", "No module named 'absent_library'"),
        ("raise RuntimeError('needs a licence\\nand more')\n", "needs a licence and more"),
        ("def f(:\n", "invalid syntax"),
    ],
    ids=["import", "raises", "syntax"],
)
def test_pack_that_cannot_be_loaded_is_one_clear_error(
    npuport: Command, tmp_path: Path, packs: Path, path: dict[str, str], text: str, says: str
) -> None:
    install(packs, "house", "house_rules", text)
    write_files(tmp_path, {"agent.py": SITE})
    run = npuport("check", "agent.py", env=path)
    assert run.status == 2
    assert run.error.startswith("rule pack 'house' (house_rules) cannot be loaded: ")
    assert says in run.error


def test_pack_with_a_broken_module_inside_is_one_clear_error(
    npuport: Command, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "house", "house_rules/__init__", "")
    write_files(packs, {
        "house_rules/house001_half_size.py": "import absent_library\n",
        "house-1.0.dist-info/entry_points.txt": "[npuport.rules]\nhouse = house_rules\n",
    })  # fmt: skip
    run = npuport("rules", env=path)
    assert run.status == 2
    assert run.error.startswith("rule pack 'house' (house_rules) cannot be loaded: ")


def test_rule_that_fails_on_a_file_is_told_with_its_code_and_file(
    npuport: Command, tmp_path: Path, packs: Path, path: dict[str, str]
) -> None:
    install(packs, "house", "house_rules", RULE.replace('"the old size"', "str(1 / 0)"))
    write_files(tmp_path, {"agent.py": AGENT})
    run = npuport("check", "agent.py", env=path)
    assert run.status == 2
    assert "Traceback" not in run.stderr
    assert "HOUSE001" in run.stderr
    assert "agent.py" in run.stderr
