"""``npuport fix``: rewrite what can be rewritten, say what is left."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from npuport.analysis.module import ProjectFacts
from npuport.cli.check import exit_status
from npuport.cli.options import Job, job_from, shared_options, show, warn_of_nothing
from npuport.cli.progress import Progress
from npuport.engine.cells import in_cells
from npuport.engine.fixing import fix_source
from npuport.engine.porting import Outcome, port
from npuport.engine.program import Program
from npuport.reports.fixes import print_diff, print_left, print_summary
from npuport.sources.errors import UnreadableSource, UsageError
from npuport.sources.reading import read_source


@click.command("fix", short_help="Rewrite what can be rewritten; say what is left for a person.")
@shared_options
@click.option("--write", is_flag=True, help="Change the files; without it the diff is printed.")
@click.option("--unsafe-fixes", is_flag=True, help="Also apply fixes that change numbers, types or what runs.")
def command(write: bool, unsafe_fixes: bool, **options: Any) -> int:
    """Port code to the NPU.

    Prints a diff, or changes the files with --write. Ends with what was ported and what is left for a person.
    Exit status: 0 nothing is left that reaches the fail level, 1 something is, 2 the job could not be
    done or a file could not be fixed or written.
    """
    job = job_from(options)
    if options["show_settings"]:
        click.echo(show(job.settings))
        return 0
    if job.from_stdin and write:
        raise UsageError("--write goes with paths, not with standard input, whose fixed text is printed")
    if job.from_stdin:
        return _fix_stdin(job, unsafe=unsafe_fixes, quiet=options["quiet"])
    files = job.files()
    warn_of_nothing(files, job, quiet=options["quiet"])
    with Progress(quiet=options["quiet"]) as progress:
        program = Program(
            files, job.settings, job.checker(with_edits=True, improving=unsafe_fixes), use_cache=False, named=job.paths
        )
        outcome = port(program, unsafe=unsafe_fixes, write=write, progress=progress.update)
    if not write:
        print_diff(outcome)
    if not options["quiet"] and not (outcome.faults and not outcome.changed):
        print_summary(outcome, written=write, unsafe=unsafe_fixes)
    return _status(job, outcome)


def _status(job: Job, outcome: Outcome) -> int:
    for fault in outcome.faults:
        click.echo(f"npuport: error: {fault}", err=True)
    if outcome.interrupted:
        return 130
    return 2 if outcome.faults else exit_status(outcome.remaining, job.settings.fail_level)


def _fix_stdin(job: Job, *, unsafe: bool, quiet: bool) -> int:
    """The fixed text of standard input on standard output, as editors want it; what is left on stderr."""
    data = sys.stdin.buffer.read()
    name, checker = job.stdin_filename, job.checker(with_edits=True, improving=unsafe)
    try:
        source = read_source(name, data)
        fixed = fix_source(checker, source, ProjectFacts(), unsafe=unsafe, ignored=job.ignored(name))
        if fixed.text != source.text and not source.round_trips:
            raise UnreadableSource(f"its bytes are not exact {source.encoding}")
    except UnreadableSource as error:
        raise UsageError(f"{name}: {error.fault}") from None
    sys.stdout.buffer.write(source.encode(fixed.text) if fixed.text != source.text else data)
    if fixed.fault:
        raise UsageError(f"{name}: left as it was: {fixed.fault}")
    if not quiet:
        print_left(in_cells(replace(source, text=fixed.text), fixed.remaining), unsafe=unsafe)
    return exit_status(fixed.remaining, job.settings.fail_level)
