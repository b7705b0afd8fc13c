"""``npuport check``: what will break or be wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from npuport.analysis.module import key_of
from npuport.cli.options import Job, job_from, shared_options, show, warn_of_nothing
from npuport.cli.progress import Progress
from npuport.engine.checking import Checker
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.finding import Finding, Severity
from npuport.engine.ignores import suppress_findings
from npuport.engine.program import Program
from npuport.reports import FORMATS, Report, report_in
from npuport.reports.report import counted
from npuport.sources.errors import UsageError


@click.command("check", short_help="What will break or be wrong on an NPU, line by line.")
@shared_options
@click.option(
    "--output-format",
    "output_format",
    type=click.Choice(FORMATS),
    default="full",
    show_default=True,
    help="How findings are printed.",
)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--explain-frequency", metavar="FILE:LINE", help="Say how often a line runs, and why; report nothing.")
@click.option("--add-ignores", is_flag=True, help="Write a suppressing comment on every line with a finding.")
@click.option("--reason", default="", metavar="TEXT", help="The reason that --add-ignores writes into the comments.")
def command(
    output_format: str,
    statistics: bool,
    explain_frequency: str | None,
    add_ignores: bool,
    reason: str,
    **options: Any,
) -> int:
    """Report what will break or be wrong on an NPU.

    PATHS are files, folders or '-' for standard input; the current folder where none is given. Exit status:
    0 clean, 1 findings of the fail level or above, 2 the job could not be done.
    """
    job = job_from(options)
    if options["show_settings"]:
        click.echo(show(job.settings))
        return 0
    checker = job.checker(with_edits=output_format == "json" and not statistics)
    if reason and not add_ignores:
        raise UsageError("--reason goes with --add-ignores")
    if job.from_stdin and add_ignores:
        raise UsageError("--add-ignores writes files; it goes with paths, not with standard input")
    if job.from_stdin:
        data = sys.stdin.buffer.read()
        ignored = job.ignored(job.stdin_filename)
        findings = check_bytes(checker, FileTask(job.stdin_filename, data, ignored=ignored))
        texts = {str(job.stdin_filename): data}
        return _finish(job, Report(findings, 1, texts, statistics=statistics, quiet=options["quiet"]), output_format)
    files = job.files()
    if explain_frequency is not None:
        return _explain(job, checker, files, explain_frequency)
    warn_of_nothing(files, job, quiet=options["quiet"])
    with Progress(quiet=options["quiet"]) as progress:
        program = Program(files, job.settings, checker, use_cache=not options["no_cache"], named=job.paths)
        findings = program.check(progress.update)
    if add_ignores:
        return _add_ignores(findings, reason, quiet=options["quiet"])
    return _finish(job, Report(findings, len(files), {}, statistics=statistics, quiet=options["quiet"]), output_format)


def _explain(job: Job, checker: Checker, files: list[Path], place: str) -> int:
    """Print how often a line runs: the loops and calls around it, from the outside in."""
    name, _, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise UsageError(f"--explain-frequency wants FILE:LINE, not {place!r}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: no such file")
    known = next((file for file in files if file.resolve() == path.resolve()), None)
    program = Program(files if known else [*files, path], job.settings, checker, use_cache=False)
    key = key_of(path)
    whole = program.flow.program_of(key, even_without_torch=True)
    if whole is None:
        raise UsageError(f"{name}: it cannot be parsed")
    found = whole.flow.file(key).explain(int(number))
    if found is None:
        raise UsageError(f"{place}: no statement begins on this line")
    level, reasons = found
    click.echo(f"{place} runs {level.phrase}")
    for reason in reasons:
        click.echo(f"  {os.path.relpath(reason.file)}:{reason.line}: {reason.text}")
    return 0


def _finish(job: Job, report: Report, output_format: str) -> int:
    report_in(output_format, report)
    return exit_status(report.findings, job.settings.fail_level)


def exit_status(findings: list[Finding], fail_level: str) -> int:
    """1 where a finding reaches the fail level."""
    if fail_level == "never":
        return 0
    limit = Severity(fail_level).rank
    return int(any(finding.severity.rank <= limit for finding in findings))


def _add_ignores(findings: list[Finding], reason: str, *, quiet: bool) -> int:
    written, faults = suppress_findings(findings, reason)
    for fault in faults:
        click.echo(f"npuport: error: {fault}", err=True)
    if not quiet:
        click.echo(f"{counted(written, 'finding')} suppressed")
    return 2 if faults else 0
