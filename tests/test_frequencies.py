"""How often code runs: what raises the level of a place, and what says nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Command, findings_in, write_files

HEAD = 'import numpy as np\nimport torch\n\ndevice = torch.device("cuda")\n'
TRAINING = """
def train(agent, env, steps, n):
    obs = env.reset()
    for step in range(steps):
        values = agent.net(torch.as_tensor(obs, device=device))
        obs, reward, done, info = env.step(0)
        {body}
"""
READ = "print(values.max().item())"
NOT_EACH_STEP = {
    "modulo": f"if step % n == 0:\n            {READ}",
    "asked before": f"due = step % n == 0 and step > 0\n        if due:\n            {READ}",
    "by a function": f"if is_due(step, n):\n            {READ}",
    "by a name": f"if agent.should_log(step):\n            {READ}",
    "timing": f"if agent.profile:\n            {READ}",
    "reports": f"if not agent.should_log(step):\n            continue\n        agent.update(1)\n        {READ}",
    "no number": f"if torch.isnan(values).any():\n            {READ}",
    "not finite": f"if not torch.isfinite(values).all():\n            {READ}",
    "failure": f"if step > n:\n            {READ}\n            raise ValueError",
    "failure behind a return": f"if step < n:\n            continue\n        {READ}\n        raise ValueError(n)",
}
EACH_STEP = {
    "plain": READ,
    "other condition": f"if reward > 1:\n            {READ}",
    "finite": f"if torch.isfinite(values).all():\n            {READ}",
    "a number": f"if not torch.isnan(values).any():\n            {READ}",
    "not finite before": f"if not torch.isfinite(values).all():\n            continue\n        {READ}",
    "failure elsewhere": f"{READ}\n        if step > n:\n            raise ValueError",
    "a remainder is no question": f"place = step % n\n        if reward > place:\n            {READ}",
    "formatted text": f'if info == "%s" % step:\n            {READ}',
}
DUE = "\ndef is_due(step, n):\n    return step % n == 0\n"


def rows_of_reads(body: str) -> list[int]:
    text = HEAD + DUE + TRAINING.format(body=body)
    compile(text, "agent.py", "exec")
    return [finding.location.row for finding in findings_in(text, ["NPU301"])]


@pytest.mark.parametrize("body", NOT_EACH_STEP.values(), ids=NOT_EACH_STEP)
def test_gates_and_failures_are_not_each_step(body: str) -> None:
    assert rows_of_reads(body) == []


@pytest.mark.parametrize("body", EACH_STEP.values(), ids=EACH_STEP)
def test_other_conditions_are(body: str) -> None:
    assert len(rows_of_reads(body)) == 1


UNKNOWN_UPDATES = {
    "agent.update(batch)": 1,
    "agent.update_policy(batch)": 1,
    "config.update(batch)": 0,
    "bar.update(1)": 0,
    "agent.update_target_weights()": 0,
    "profiler.step()": 0,
    "scene.step()": 0,
    "self_opt.step()": 1,
}


@pytest.mark.parametrize(("call", "found"), UNKNOWN_UPDATES.items(), ids=UNKNOWN_UPDATES)
def test_what_counts_as_an_update_by_its_name(call: str, found: int) -> None:
    text = f"{HEAD}\ndef run(agent, config, bar, profiler, scene, self_opt, batches):\n    for batch in batches:\n"
    text += f"        {call}\n        torch.cuda.synchronize()\n"
    assert len(findings_in(text, ["NPU302"])) == found


LEARNING = """import torch
import torch.nn.functional as F

from pack.net import Net

device = torch.device("cuda")


def train(net: Net, optimizer, loader):
    total = 0.0
    for x, y in loader:
        loss = F.mse_loss(net(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def test_it():
    assert train
"""
NET = """import torch.nn as nn


class Net(nn.Module):
    def forward(self, x):
        self.largest = x.max().item()
        return x
"""


def test_a_new_text_of_one_file_leaves_the_levels_of_the_others(tmp_path: Path, npuport: Command) -> None:
    files = {f"pack/{name}.py": LEARNING for name in ("a", "b", "c")}
    write_files(tmp_path, {"pack/__init__.py": "", "pack/net.py": NET, **files})
    done = npuport("fix", "--write", "--unsafe-fixes", "--select", "NPU301", "pack")
    assert "Ported 3 findings in 3 files" in done.stderr + done.out
    for name in files:
        assert "    total = float(total)\n    return total" in (tmp_path / name).read_text()


def test_a_package_checked_alone_imports_itself_by_its_name(tmp_path: Path, npuport: Command) -> None:
    write_files(tmp_path, {"pack/__init__.py": "", "pack/net.py": NET, "pack/a.py": LEARNING})
    done = npuport("check", "--no-cache", "--select", "NPU301", "--output-format", "concise", "--exit-zero", "pack")
    assert "net.py:6:" in done.out


@pytest.mark.parametrize(
    ("name", "found"),
    [("train.py", True), ("train_test.py", True), ("tests/train.py", False), ("bench_train.py", False)],
)
def test_tests_and_benchmarks_are_left_alone(tmp_path: Path, npuport: Command, name: str, found: bool) -> None:
    text = LEARNING.replace("from pack.net import Net\n", "").replace("net: Net", "net").partition("def test_it")[0]
    write_files(tmp_path, {f"pack/{name}": text, "pack/other.py": "import torch\n"})
    done = npuport("check", "--no-cache", "--select", "NPU301", "--output-format", "concise", "--exit-zero", "pack")
    assert ("NPU301" in done.out) == found
