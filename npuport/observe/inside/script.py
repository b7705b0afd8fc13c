"""Runs the script as Python itself would, between the hooks and the last measurement."""

from __future__ import annotations

import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import runpy
import signal
import sys
import types
import zipfile

from npuport.observe.configuration import Configuration, read_configuration
from npuport.observe.inside import hooks
from npuport.observe.inside.endings import INTERRUPTED, end_of
from npuport.observe.inside.lines import UserFiles
from npuport.observe.inside.snapshot import Snapshots
from npuport.observe.inside.watch import Watch


def run(configuration_file: str) -> None:
    """Run what the configuration names; ends the process with the script's own exit status."""
    configuration = read_configuration(configuration_file)
    _prepare_arguments(configuration)
    watch = Watch(configuration, UserFiles(_script_folder(configuration)))
    snapshots = Snapshots(watch)
    # Registered first, so called last: after the script's own, and after its threads.
    atexit.register(snapshots.write)
    _write_before_leaving(watch)
    hooks.install(watch)
    snapshots.write()
    error = _raised_by(configuration)
    end = end_of(error, watch.files, limit_reached=watch.limit_reached)
    watch.finished(end)
    snapshots.write()
    if end.status == INTERRUPTED:
        _interrupt_oneself()
    sys.exit(end.status)


def _raised_by(configuration: Configuration) -> BaseException | None:
    try:
        _run_script(configuration)
    except BaseException as error:
        return error
    return None


def _run_script(configuration: Configuration) -> None:
    if configuration.module:
        runpy.run_module(configuration.script, run_name="__main__", alter_sys=True)
    elif _is_no_source(configuration.script):
        runpy.run_path(configuration.script, run_name="__main__")
    else:
        _run_file(os.path.abspath(configuration.script))


def _is_no_source(script: str) -> bool:
    return os.path.isdir(script) or script.endswith(".pyc") or zipfile.is_zipfile(script)


def _run_file(path: str) -> None:
    """Unlike ``runpy.run_path`` this leaves ``sys.argv[0]`` as it was typed, and ``__main__`` to what runs at exit."""
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __loader__=loader, __builtins__=__builtins__, __cached__=None)
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    code = compile(loader.get_data(path), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)


def _prepare_arguments(configuration: Configuration) -> None:
    """What Python itself does with ``sys.argv`` and ``sys.path`` before a script."""
    sys.argv[:] = ["-m" if configuration.module else configuration.script, *configuration.arguments]
    if getattr(sys.flags, "safe_path", False) or os.path.isdir(configuration.script):
        return
    sys.path.insert(0, os.getcwd() if configuration.module else _script_folder(configuration))


def _script_folder(configuration: Configuration) -> str:
    if not configuration.module:
        script = os.path.realpath(configuration.script)
        return script if os.path.isdir(script) else os.path.dirname(script)
    try:
        spec = importlib.util.find_spec(configuration.script)
    except Exception:  # it is raised again, and told, when the module is run
        spec = None
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else os.getcwd()


def _write_before_leaving(watch: Watch) -> None:
    """``os._exit`` calls nothing that was registered; a script that ends so is still reported."""
    leave = os._exit

    def _exit(status: int) -> None:
        watch.write()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]


def _interrupt_oneself() -> None:
    """Die as Python does of Ctrl-C, so that a calling shell knows."""
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
