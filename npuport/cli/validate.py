"""``npuport validate``: does a ported agent still learn, and what does it cost?"""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from npuport.cli.output_file import check_writable, report_file
from npuport.cli.validate_progress import ValidateProgress
from npuport.device.choice import KINDS, Device, choose_device
from npuport.emulator.build import built_emulator
from npuport.observe.findings import findings_on_lines
from npuport.observe.run import watch
from npuport.reports import validated_text
from npuport.reports.validated import EXIT_STATUS
from npuport.sources.errors import UsageError
from npuport.sources.settings import DTYPE_CHECKS, load_settings
from npuport.validate.arms import is_reference_agent
from npuport.validate.passes import Interrupted, Runner, available_jobs
from npuport.validate.program import OptionNames, Program, script_program, seeds_from
from npuport.validate.store import run_store
from npuport.validate.validation import Request, validate
from npuport.validate.verdict import DECIDING_SEEDS

EXIT_INTERRUPTED = 130


@click.command("validate", short_help="Run a script over seeds: does it still learn as its reference?")
@click.argument("script", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGS]")
@click.option("--reference", metavar="dqn|ppo|FILE.json", help="Hold it against stored runs: of an agent, or a file.")
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="ORIGINAL.py",
    help="Hold it against your own original, which is run on the CPU with the same ARGS.",
)
@click.option("--against-args", metavar="TEXT", help="Arguments of the original instead of ARGS, quoted as in a shell.")
@click.option(
    "--seeds",
    default=str(DECIDING_SEEDS),
    show_default=True,
    metavar="N|LIST",
    help="How many, or which: 10, 3,5,8, 11-20. 10 can pass, 5 can only fail, fewer decide nothing.",
)
@click.option("--steps", type=click.IntRange(1), help="Length of a run: fills in {steps}, or ends the script there.")
@click.option("--seed-arg", default="", metavar="NAME", help="The script's option for the seed, if ARGS has no {seed}.")
@click.option("--steps-arg", default="", metavar="NAME", help="The script's option for the steps, likewise {steps}.")
@click.option("--env-arg", default="", metavar="NAME", help="The script's option for the environment, with --env-id.")
@click.option("--env-id", default="", metavar="ID", help="The environment: of --env-arg, npuport_agent and the task.")
@click.option("--jobs", type=click.IntRange(1), help="Runs side by side [as many as there are cores].")
@click.option("--device", type=click.Choice(KINDS), help="Where to run [a real NPU, else the emulated one].")
@click.option("--dtype-checks", type=click.Choice(DTYPE_CHECKS), help="What the emulated device refuses [strict].")
@click.option("--python", default=sys.executable, metavar="PATH", help="The interpreter [the one that runs npuport].")
@click.option("--equivalence", is_flag=True, help="It must not be better either (TOST).")
@click.option("--final-margin", type=click.FloatRange(0, min_open=True), help="Of F, in units of the return.")
@click.option("--average-margin", type=click.FloatRange(0, min_open=True), help="Of A, in units of the return.")
@click.option("--threshold", type=float, help="The return from which on the task counts as solved.")
@click.option("--return-range", type=(float, float), metavar="LOW HIGH", help="Range of returns; margins are shares.")
@click.option("--final-score", type=click.Choice(["final", "best"]), help="F: last 20 % of steps, or best 20 episodes.")
@click.option(
    "--same-settings/--other-settings",
    default=None,
    help="Whether the reference has the script's hyper-parameters, so that A counts [--against: it has].",
)
@click.option("--no-throughput", is_flag=True, help="Do not time the script against the reference agent.")
@click.option("--gym-alias", is_flag=True, help="import gym gives gymnasium.")
@click.option("--output-format", type=click.Choice(["text", "json", "html"]), default="text", show_default=True)
@click.option(
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report here, and only a summary to stdout.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(script: Path, output_format: str, output_file: Path | None, quiet: bool, **options: Any) -> int:
    """Say whether a ported agent still learns, and what it costs.

    The script runs as it is, once a seed: put {seed} and {steps} where its own options want them.

    \b
    npuport validate train.py --reference ppo -- --seed {seed} --total-timesteps 50000
    npuport validate train.py --against original.py --steps 50000 -- --seed {seed} --total-timesteps {steps}

    Finished seeds are kept in .npuport_cache/validate: after Ctrl-C the same command goes on from there.
    Exit status: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, 2 it could not run.
    """
    if output_file is not None:
        check_writable(output_file)
    request = _request(script, options)
    render = importlib.import_module(f"npuport.reports.validated_{output_format}").render
    with ValidateProgress(quiet=quiet) as progress:
        if request.program.device.kind == "emulated":
            # Once, and told, before runs side by side ask for it.
            built_emulator(options["python"], progress.of_build)
        runner = Runner(
            watch=watch,
            store=run_store(request.program.device.python),
            progress=progress.update,
            jobs=options["jobs"] or available_jobs(),
            gym_alias=options["gym_alias"],
            dtype_checks=options["dtype_checks"] or load_settings(script).dtype_checks,
        )
        try:
            validation = validate(request, runner)
        except Interrupted as interrupted:
            click.echo(f"npuport: interrupted: {interrupted}; the same command goes on from there", err=True)
            return EXIT_INTERRUPTED
    text = render(validation, findings_on_lines(validation.counted.port))
    if output_file is not None:
        with report_file(output_file) as file:
            file.write(text + "\n")
        click.echo("\n".join(validated_text.summary(validation)))
    else:
        click.echo(text)
    return EXIT_STATUS[validation.verdict.word]


def _request(script: Path, options: dict[str, Any]) -> Request:
    reference: str = options["reference"] or ""
    against: Path | None = options["against"]
    if bool(reference) == bool(against):
        raise UsageError("give either --reference dqn|ppo|FILE.json or --against ORIGINAL.py")
    if options["against_args"] is not None and against is None:
        raise UsageError("--against-args goes with --against")
    device = choose_device(options["device"], options["python"])
    names = OptionNames(options["seed_arg"], options["steps_arg"], options["env_arg"])
    program = script_program(script, options["arguments"], device, names, options["env_id"])
    return Request(
        program=program,
        seeds=seeds_from(options["seeds"]),
        steps=options["steps"],
        reference=reference,
        against=_original(against, options, names) if against is not None else None,
        environment=options["env_id"],
        threshold=options["threshold"],
        return_range=options["return_range"],
        final_margin=options["final_margin"],
        average_margin=options["average_margin"],
        final_score=options["final_score"],
        same_settings=_same_settings(script, reference, options["same_settings"]),
        equivalence=options["equivalence"],
        throughput=not options["no_throughput"],
    )


def _original(against: Path, options: dict[str, Any], names: OptionNames) -> Program:
    """The original, on the CPU: its CUDA falls back to it, or ``--against-args`` says so."""
    text = options["against_args"]
    try:
        arguments = options["arguments"] if text is None else tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"--against-args: {error}") from None
    device: Device = choose_device("cpu", options["python"])
    return script_program(against, arguments, device, names, options["env_id"])


def _same_settings(script: Path, reference: str, given: bool | None) -> bool | None:
    """The reference agents have their own hyper-parameters, unless the script is one of them."""
    if given is not None or not reference:
        return given
    return is_reference_agent(script, reference) or None
