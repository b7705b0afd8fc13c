"""The faults of ``benchmarks/seeded_faults.py`` still fit the reference agents, and change them."""

from __future__ import annotations

import pytest

from benchmarks.seeded_faults import AGENTS, FAULTS, Fault, faulty_source


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.agent}: {fault.name}")
def test_a_fault_changes_the_agent_and_leaves_it_a_program(fault: Fault) -> None:
    source = faulty_source(fault)
    compile(source, f"{fault.agent}.py", "exec")
    assert source != (AGENTS / f"{fault.agent}.py").read_text(encoding="utf-8")


def test_a_place_that_is_gone_is_told() -> None:
    with pytest.raises(ValueError, match="0 times, not once"):
        faulty_source(Fault("ppo", "gone", (("this stands nowhere", ""),)))
