"""``npuport doctor``: is this machine ready?"""

from __future__ import annotations

import sys

import click

from npuport.device.doctor import diagnose
from npuport.reports import diagnosis


@click.command("doctor", short_help="Which device `run` would take here, and what is missing.")
@click.option(
    "--python", default=sys.executable, metavar="PATH", help="The interpreter to look at [the one that runs npuport]."
)
@click.option(
    "--output-format",
    type=click.Choice(diagnosis.FORMATS),
    default="text",
    show_default=True,
    help="How the checks are printed.",
)
def command(python: str, output_format: str) -> int:
    """Say which device `npuport run` would take, and why.

    Looks for an NPU (driver, CANN, a tensor made in a child process) and for the emulated device (platform, compiler,
    build); nothing is built. Exit status: 0 some device is ready, 1 none is.
    """
    found = diagnose(python)
    diagnosis.write(found, output_format)
    return int(found.device is None)
