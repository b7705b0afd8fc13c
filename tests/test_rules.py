"""Every rule finds what its fixtures mark and nothing else, and fixes to the expected text in both styles."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import Checker
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.fixing import fix_source
from npuport.engine.registry import all_rules, rule_named, selected_codes
from npuport.engine.rule import HEADINGS
from npuport.sources.settings import Settings
from npuport.sources.text import SourceText
from tests.fixture_files import FIXTURES, RuleFixture, rule_fixtures

RULES = Path(__file__).parent.parent / "rules"
fixtures = pytest.mark.parametrize("fixture", rule_fixtures(), ids=lambda fixture: fixture.id)
rules = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


def checker(code: str, style: str = "npu", *, gate: bool = True, target: str = "2.13.0") -> Checker:
    # Whether a suppression is used is only known when all rules run.
    reported = {rule.code for rule in all_rules()} if code == "NPU001" else {code}
    return Checker(all_rules(), frozenset(reported), style, target, gate=gate, with_edits=True)


def target_of(code: str) -> str:
    """A release for which the rule holds: rules that ended are tested with an older torch_npu."""
    return "2.1.0" if rule_named(code).until else "2.13.0"


@fixtures
@pytest.mark.parametrize("gate", [True, False], ids=["gate", "no-gate"])
def test_finds_what_is_marked_and_nothing_else(fixture: RuleFixture, gate: bool) -> None:
    job = FileTask(fixture.path, fixture.path.read_bytes())
    found = check_bytes(checker(fixture.code, gate=gate, target=target_of(fixture.code)), job)
    found = [finding for finding in found if finding.code == fixture.code]
    assert sorted(finding.location.row for finding in found) == fixture.expected_rows, [f.message for f in found]


@fixtures
@pytest.mark.parametrize("style", ["npu", "portable"])
def test_fixes_to_the_expected_text(fixture: RuleFixture, style: str) -> None:
    expected = fixture.fixed(style)
    if not rule_named(fixture.code).has_fix():
        assert expected == fixture.path or not expected.exists(), "a rule without fix has no fixed fixture"
        return
    source = SourceText(fixture.path, fixture.text)
    fixed = fix_source(checker(fixture.code, style), source, ProjectFacts(), unsafe=fixture.unsafe)
    assert fixed.fault == ""
    assert fixed.text == expected.read_bytes().decode("utf-8")


@rules
def test_has_fixtures_that_find_something(rule) -> None:  # type: ignore[no-untyped-def]
    own = [fixture for fixture in rule_fixtures() if fixture.code == rule.code]
    assert own, f"no fixtures/rules/{rule.code}.py"
    assert any(fixture.expected_rows for fixture in own)


@rules
def test_page_is_complete(rule) -> None:  # type: ignore[no-untyped-def]
    sections = rule.sections()
    wanted = [heading for heading in HEADINGS if heading != "Fix safety" or rule.has_fix()]
    assert list(sections) == wanted
    assert all(sections.values())
    assert rule.summary().endswith(".")


@rules
def test_file_is_named_after_code_and_name(rule) -> None:  # type: ignore[no-untyped-def]
    module = type(rule).__module__.rpartition(".")[2]
    assert module == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def test_every_fixture_belongs_to_a_rule() -> None:
    codes = {rule.code for rule in all_rules()}
    names = {path.name.partition(".")[0].partition("-")[0] for path in (FIXTURES / "rules").iterdir()}
    assert names <= codes


def test_selection_takes_the_more_exact_word() -> None:
    assert "NPU101" not in selected_codes(Settings(select=("NPU1",), ignore=("NPU101",)))
    assert selected_codes(Settings(select=("cuda-method",))) == {"NPU102"}
    assert "NPU101" in selected_codes(Settings(ignore=("NPU1",), extend_select=("NPU101",)))
    assert {"NPU501", "NPU502", "NPU503", "NPU504"} == selected_codes(Settings(select=("amp",)))


def test_rules_that_find_no_fault_must_be_asked_for() -> None:
    improving = {rule.code for rule in all_rules() if rule.improves}
    assert improving
    for words in ((), ("ALL",), ("NPU4",), ("h2d",)):
        assert improving.isdisjoint(selected_codes(Settings(select=words)))
        assert improving <= selected_codes(Settings(select=words), improving=True)
    for code in improving:
        assert selected_codes(Settings(select=(code,))) == {code}
        assert code not in selected_codes(Settings(ignore=(code,)), improving=True)
