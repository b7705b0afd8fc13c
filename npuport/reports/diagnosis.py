"""What ``doctor`` found: which device ``run`` would take, then one line a check."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby

import click

from npuport.device.doctor import Check, Diagnosis

FORMATS = ("text", "json")


def write(diagnosis: Diagnosis, output_format: str) -> None:
    """Print a diagnosis in one of ``FORMATS``."""
    if output_format == "json":
        click.echo(json.dumps({"ready": diagnosis.device is not None, **asdict(diagnosis)}, indent=2))
    else:
        click.echo("\n".join(_lines(diagnosis)))


def _lines(diagnosis: Diagnosis) -> list[str]:
    lines = [_verdict(diagnosis)]
    width = max(len(check.name) for check in diagnosis.checks)
    for part, checks in groupby(diagnosis.checks, lambda check: check.part):
        lines += ["", click.style(part, bold=True), *(_line(check, width) for check in checks)]
    return lines


def _verdict(diagnosis: Diagnosis) -> str:
    device = diagnosis.device
    if device is None:
        return click.style("Not ready: ", fg="red", bold=True) + diagnosis.fault
    name = {"npu": f"the NPU ({device.name})", "emulated": "the emulated Ascend device"}[device.kind]
    return f"{click.style('Ready:', fg='green', bold=True)} `npuport run` takes {name}, because {device.reason}"


def _line(check: Check, width: int) -> str:
    mark = click.style("ok     ", fg="green") if check.ok else click.style("missing", fg="yellow")
    return f"  {mark}  {check.name:<{width}}  {check.detail}{': ' if check.advice else ''}{check.advice}"
