from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.device_evidence import called_name, target_name
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, Insertion
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_NUMPY_OR_PYTHON = ("numpy.random.seed", "random.seed")
_DEVICE_ONLY = tuple(f"torch.{kind}.manual_seed{many}" for kind in ("cuda", "npu") for many in ("", "_all"))
# What seeds torch, here or in a helper: manual_seed of torch or of a generator, seed_everything, set_random_seed, ...
_SEEDS_TORCH = re.compile(r"\bmanual_seed\s*\(|seed_everything|set_seed|set_\w*seeds?\b|seed_all|\w*seeding\b|fix_seed")
_TRAINS = (".backward(", "torch.optim", "optim.")


class MissingSeed(Rule):
    """A run seeds NumPy, Python or the card, and forgets torch.

    What it does
    ------------
    Reports ``np.random.seed(...)`` and ``random.seed(...)`` in scripts that train with torch and never seed it, nor
    hand the seed to something of their own that may do so, and ``torch.cuda.manual_seed`` without
    ``torch.manual_seed``.

    Why on an NPU
    -------------
    ``torch.manual_seed`` seeds the CPU and every device, the NPU too; nothing else seeds the CPU's generator, from
    which networks are initialised. Unseeded runs cannot be compared before and after the port.

    Example
    -------
    ::

        random.seed(seed)
        np.random.seed(seed)

    Use instead
    -----------
    ::

        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)

    Fix safety
    ----------
    Unsafe: the run draws other numbers than before.

    Sources
    -------
    - ``torch/random.py`` of torch 2.13.0 (``_seed_custom_device``) and ``torch_npu/npu/random.py`` of 2.13.0
    """

    code = "NPU805"
    name = "missing-seed"
    topic = "rng"
    severity = Severity.NOTE
    triggers = Triggers(("seed",))

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.uses_torch:
            return
        seeds = _seeds(module)
        devices = [call for call, dotted in seeds if dotted in _DEVICE_ONLY]
        others = [call for call, dotted in seeds if dotted in _NUMPY_OR_PYTHON]
        text = module.source.text
        if _seeds_cpu(module) or (not devices and _SEEDS_TORCH.search(text)):
            return
        if devices:
            message = (
                "only the card is seeded: networks are initialised by the CPU's generator, torch.manual_seed seeds both"
            )
            yield Hit(devices[-1], message, _fix(module, devices[-1]))
        elif others and any(word in text for word in _TRAINS) and _is_script(module) and not _hands_on(module, others):
            yield Hit(
                others[-1],
                "torch is never seeded; torch.manual_seed seeds the CPU and the NPU",
                _fix(module, others[-1]),
            )


def _seeds(module: Module) -> list[tuple[ast.Call, str]]:
    """The calls that seed something, in source order."""
    wanted = {*_NUMPY_OR_PYTHON, *_DEVICE_ONLY}
    found = [(call, module.resolve(call.func) or "") for call in module.index.calls]
    return sorted(((call, dotted) for call, dotted in found if dotted in wanted), key=lambda pair: pair[0].lineno)


def _seeds_cpu(module: Module) -> bool:
    return any(reference.dotted in ("torch.manual_seed", "torch.random.manual_seed") for reference in module.references)


def _is_script(module: Module) -> bool:
    return "__main__" in module.source.text


def _hands_on(module: Module, seeds: list[ast.Call]) -> bool:
    """Whether a seed goes to a function or class that may seed torch; environments draw from NumPy."""
    for call in module.index.calls:
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if call not in seeds and called_name(call) not in ("seed", "reset", "default_rng", "RandomState"):
            if any("seed" in (target_name(argument) or "").lower() for argument in arguments):
                return True
    return False


def _fix(module: Module, call: ast.Call) -> Fix | None:
    statement = module.parent(call)
    if not isinstance(statement, ast.Expr) or len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    seed = module.text_of(call.args[0])

    def text(writer: Writer) -> str:
        return f"{writer.torch()}.manual_seed({seed})"

    return Fix("Seed torch", (Insertion(statement, text, after=True),), "the run draws other numbers")
