"""Stored reference runs: reading, writing and what is said about a file that is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npuport.sources.errors import UsageError
from reference_agents.stored import (
    SeedRun,
    StoredRun,
    load_stored_run,
    read_stored_run,
    stored_environments,
    write_stored_run,
)

SEED = SeedRun(seed=3, transitions=[20, 41], returns=[20.0, 10.5], greedy_return=499.5, seconds=1.5)
RUN = StoredRun("dqn", "CartPole-v1", 50_000, "cpu", {"torch": "2.13.0"}, {"gamma": 0.98}, [SEED, SEED])


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_stored_run(RUN, tmp_path / "dqn-CartPole-v1.json")
    assert load_stored_run("dqn", "CartPole-v1", tmp_path) == RUN
    assert stored_environments("dqn", tmp_path) == ["CartPole-v1"]
    assert stored_environments("ppo", tmp_path) == []


def test_a_missing_run_names_those_there_are(tmp_path: Path) -> None:
    write_stored_run(RUN, tmp_path / "dqn-CartPole-v1.json")
    with pytest.raises(UsageError, match=r"no stored run of dqn on Taxi-v3; stored: dqn on CartPole-v1$"):
        load_stored_run("dqn", "Taxi-v3", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 0}, "not a stored run in format 1"),
        ({"seeds": [{"seed": 1}]}, "missing or unknown fields"),
        ({"colour": "red"}, "missing or unknown fields"),
        ({"seeds": [{**vars(SEED), "returns": [1.0]}]}, "seed 3 has not as many transitions as returns"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "run.json"
    write_stored_run(RUN, path)
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), encoding="utf-8")
    with pytest.raises(UsageError, match=message) as caught:
        read_stored_run(path)
    assert "\n" not in str(caught.value)


def test_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="not a readable JSON file"):
        read_stored_run(tmp_path / "run.json")
