"""``npuport run``: run a script as it is and count what it does on the device."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from npuport.cli.output_file import check_writable, report_file
from npuport.cli.progress import Progress
from npuport.device.choice import KINDS, Device, choose_device
from npuport.observe.findings import findings_on_lines
from npuport.observe.measurement import Measurement
from npuport.observe.run import RunOptions, check_script, watch
from npuport.reports.watched import FORMATS, write_in
from npuport.sources.settings import DTYPE_CHECKS, load_settings

_BUILDING = "npuport: building the emulated device, once for this torch; it takes about a minute"


@click.command(
    "run",
    short_help="Run a script on an NPU, real or emulated, and count what it does a step.",
    # Whatever follows the script is the script's own, as with Python.
    context_settings={"allow_interspersed_args": False},
)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("-m", "module", is_flag=True, help="SCRIPT is the name of a module, as with python -m.")
@click.option("--device", "wanted", type=click.Choice(KINDS), help="The device [a real NPU, else the emulated one].")
@click.option(
    "--max-steps", type=click.IntRange(min=1), metavar="N", help="End the script after this many environment steps."
)
@click.option("--output-format", type=click.Choice(FORMATS), default="text", show_default=True, help="Of the report.")
@click.option(
    "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report here, not to stdout."
)
@click.option(
    "--dtype-checks",
    type=click.Choice(DTYPE_CHECKS),
    help="Which dtypes the emulated device refuses: all that CANN's kernels do, those of losses, none [strict].",
)
@click.option("--gym-alias", is_flag=True, help="Let `import gym` give gymnasium, for scripts of gym 0.26.")
@click.option("--python", default=sys.executable, metavar="PATH", help="The interpreter [the one that runs npuport].")
@click.option("-q", "--quiet", is_flag=True, help="Only the report: no word on the device, no progress.")
def command(script: str, arguments: tuple[str, ...], wanted: str | None, python: str, **options: Any) -> int:
    """Run SCRIPT with its ARGUMENTS, unchanged, and report what it did on the device a step, by source line.

    The report comes after the script's own output. With the formats json and html on stdout, that output goes to
    stderr. A script that crashes, is interrupted or ended is reported up to there.

    Exit status: the script's own where that is not 0; else 0, or 1 where nothing trained on the device that was asked
    for; 2 where it could not be run.
    """
    output_file: Path | None = options["output_file"]
    settings = load_settings(Path() if options["module"] else Path(script))
    if not options["module"]:
        check_script(Path(script))
    if output_file is not None:
        check_writable(output_file)
    device = choose_device(wanted, python)
    if not options["quiet"]:
        click.echo(f"npuport: {script} on {_named(device)}, because {device.reason}", err=True)
    run_options = RunOptions(
        script,
        arguments,
        module=options["module"],
        device=device,
        dtype_checks=options["dtype_checks"] or settings.dtype_checks,
        max_steps=options["max_steps"],
        gym_alias=options["gym_alias"],
    )
    only_report_on_stdout = output_file is None and options["output_format"] != "text"
    measurement = _watched(run_options, quiet=options["quiet"], to_stderr=only_report_on_stdout)
    _write(measurement, options["output_format"], output_file)
    return exit_status(measurement)


def exit_status(measurement: Measurement) -> int:
    """The script's own status, or 1 where it ended well and nothing trained on the device."""
    return measurement.outcome.exit_status or int(measurement.silently_on_cpu)


def _named(device: Device) -> str:
    return device.name if device.kind == "npu" else f"the {device.name}"


def _watched(options: RunOptions, *, quiet: bool, to_stderr: bool) -> Measurement:
    with Progress(quiet=quiet, announcement=_BUILDING) as progress, _stdout_to_stderr(to_stderr):
        return watch(options, progress.update)


@contextmanager
def _stdout_to_stderr(wanted: bool) -> Iterator[None]:
    """What this process and its children write to stdout goes to stderr."""
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _write(measurement: Measurement, output_format: str, path: Path | None) -> None:
    findings = findings_on_lines(measurement)
    if path is None:
        if output_format == "text":
            click.echo()  # the script's own output stands above
        write_in(output_format, measurement, findings, sys.stdout)
        return
    with report_file(path) as file:
        write_in(output_format, measurement, findings, file)
