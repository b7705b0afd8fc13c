"""Runs pairs of snippets, each in a forked process of its own, and says how each of them ended.

Reads ``{name: [snippet, snippet]}`` as JSON on stdin and writes ``{name: [end, end]}``. With the argument
``cuda`` an end is the record of what was asked of a ``torch.cuda`` that plays two GPUs. Needs torch; it is
imported once, before the forks.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

import torch


def described(value: Any) -> str:
    """A value as a text that is the same from run to run."""
    if isinstance(value, torch.Tensor):
        return f"tensor {value.device} {value.dtype} {tuple(value.shape)} {value.detach().cpu().tolist()}"
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def ended(snippet: str) -> str:
    """The result of a snippet, or its exception's type."""
    names: dict[str, Any] = {"__name__": "snippet"}
    torch.manual_seed(0)
    try:
        exec(compile(snippet, "snippet", "exec"), names)
    except BaseException as error:
        return f"raises {type(error).__name__}"
    return f"result {described(names.get('result'))}"


def recorded(snippet: str) -> str:
    """What a snippet asks of CUDA, and how it ends."""
    sys.path.insert(0, os.path.dirname(__file__))
    from recorded_cuda import RecordedCuda  # type: ignore[import-not-found, unused-ignore]

    with RecordedCuda() as cuda:
        end = ended(snippet)
    return "\n".join([*cuda.calls, "an object of CUDA" if "MagicMock" in end else end])


def in_child(snippet: str) -> str:
    """The end of a snippet in a forked process, so that defaults and environments do not leak."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        with os.fdopen(writing, "w") as stream:
            stream.write(recorded(snippet) if "cuda" in sys.argv else ended(snippet))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return text or "died"


if __name__ == "__main__":
    torch.set_num_threads(1)
    pairs = json.load(sys.stdin)
    json.dump({name: [in_child(before), in_child(after)] for name, (before, after) in pairs.items()}, sys.stdout)
