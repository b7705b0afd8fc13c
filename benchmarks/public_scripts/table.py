"""The results of ports as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.public_scripts.results import PortResult, Verdict
from npuport.observe.measurement import DOWN, UP, WAITS

BASELINE = "transfer_to_npu"


def as_text(results: Sequence[PortResult], left_out: Sequence[str]) -> str:
    """A summary, a row a script, and what stopped."""
    ports = list(dict.fromkeys(result.port for result in results))
    scripts = list(dict.fromkeys(result.script for result in results))
    found = {(result.script, result.port): result for result in results}
    lines = [f"{len(scripts)} scripts", "", *_summary(results, ports), "", *_by_script(found, scripts, ports), ""]
    lines += [f"stopped: {r.script}, {r.port}: {r.why}" for r in results if r.why]
    lines += [f"not without torch_npu: {r.script}, {r.port}: {r.why_not_without}" for r in results if r.why_not_without]
    lines += [
        f"other returns: {r.script}, {r.port}" for r in results if r.runs_without_torch_npu and not r.same_returns
    ]
    return "\n".join([*lines, *(f"left out: {text}" for text in left_out)])


def _summary(results: Sequence[PortResult], ports: Sequence[str]) -> list[str]:
    lines = [
        "| port | trained on the device | silently on the CPU | stopped | up | down | waits | copies and waits "
        f"| against {BASELINE} | runs without torch_npu | with the same returns |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for port in ports:
        own = [result for result in results if result.port == port]
        trained = [result for result in own if result.verdict is Verdict.TRAINED]
        verdicts = [sum(result.verdict is verdict for result in own) for verdict in Verdict]
        costs = [_median(trained, *events) for events in ((UP,), (DOWN,), WAITS, (UP, DOWN, *WAITS))]
        cells = [port, *map(str, verdicts), *(f"{cost:.2f}" for cost in costs), _change(results, port)]
        without = (sum(result.runs_without_torch_npu for result in own), sum(result.same_returns for result in own))
        lines.append("| " + " | ".join([*cells, *map(str, without)]) + " |")
    return lines


def _median(results: Sequence[PortResult], *events: str) -> float:
    per_step = [result.on_device.per_transition(*events) for result in results if result.on_device]
    return median(per_step) if per_step else 0.0


def ratios(results: Sequence[PortResult], port: str) -> dict[str, float]:
    """Copies and waits per environment step against the baseline's, of the scripts that train after both."""
    trained = {(r.script, r.port): r.events_per_step for r in results if r.verdict is Verdict.TRAINED}
    return {
        script: cost / trained[script, BASELINE]
        for (script, name), cost in trained.items()
        if name == port and trained.get((script, BASELINE))
    }


def _change(results: Sequence[PortResult], port: str) -> str:
    found = ratios(results, port)
    return f"{median(found.values()) - 1:+.0%} ({len(found)})" if found else "-"


def _by_script(found: dict[tuple[str, str], PortResult], scripts: Sequence[str], ports: Sequence[str]) -> list[str]:
    """Copies and waits per environment step; words where a script did not train on the device."""
    lines = ["| copies and waits per step | " + " | ".join(ports) + " |", "|---" * (len(ports) + 1) + "|"]
    for script in scripts:
        cells = []
        for port in ports:
            result = found.get((script, port))
            if result is None:
                cells.append("")
            elif result.verdict is Verdict.TRAINED:
                cells.append(f"{result.events_per_step:.2f}")
            else:
                cells.append({Verdict.SILENT: "CPU", Verdict.STOPPED: "stopped"}[result.verdict])
        lines.append(f"| {script} | " + " | ".join(cells) + " |")
    return lines


def as_json(results: Sequence[PortResult], left_out: Sequence[str]) -> dict[str, object]:
    """Every number."""
    rows = [
        {
            "script": result.script,
            "port": result.port,
            "verdict": result.verdict.value,
            "why": result.why,
            "runs_without_torch_npu": result.runs_without_torch_npu,
            "why_not": result.why_not_without,
            "same_returns": result.same_returns,
            "episodes": len(result.without.episodes) if result.without else 0,
            "steps": result.on_device.transitions if result.on_device else 0,
            "updates": result.on_device.updates if result.on_device else 0,
            "up": result.on_device.per_transition(UP) if result.on_device else 0,
            "down": result.on_device.per_transition(DOWN) if result.on_device else 0,
            "waits": result.on_device.per_transition(*WAITS) if result.on_device else 0,
        }
        for result in results
    ]
    return {"results": rows, "left_out": list(left_out)}
