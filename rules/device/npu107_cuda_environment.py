from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.configuration import Configuration, Scalar, variable_of
from npuport.analysis.environment import Use, set_in_command, treated_beside, use_of
from npuport.analysis.module import Module
from npuport.engine.finding import Severity
from npuport.engine.fix import replacement
from npuport.engine.rewriting.environment import keyword_fix, variable_fix
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.facts.api import Twin, environment_twins

# PYTORCH_NPU_ALLOC_CONF refuses unknown keys with a ValueError at the first tensor.
_REFUSED_ALLOCATOR_KEYS = re.compile(r"\bbackend\s*:|pinned_use_cuda_host_register")
# The twin exists, but takes other values.
_OTHER_VALUES = {
    "NCCL_ALGO": "its values have another syntax",
    "NCCL_BUFFSIZE": "its unit is MB, not bytes",
    "CUDA_HOME": "it names CANN's folder and is set by CANN's set_env.sh",
}

_TOOLKIT = ("CUDA_HOME", "CUDA_PATH")
# A launcher without torch counts, but not a program that another framework runs.
_OTHER_FRAMEWORKS = {"jax", "flax", "tensorflow", "paddle", "mindspore", "mxnet"}


class CudaEnvironment(Rule):
    """An environment variable of CUDA or NCCL is set or read.

    What it does
    ------------
    Reports variables such as ``CUDA_VISIBLE_DEVICES``, ``CUDA_LAUNCH_BLOCKING``, ``PYTORCH_CUDA_ALLOC_CONF`` and
    ``NCCL_*`` in ``os.environ``, ``setdefault``, ``putenv``, environments of subprocesses and shell commands; in
    shell scripts and configuration files where they are set, and the NPU's twins also where they are read.

    Why on an NPU
    -------------
    They are ignored without a word: all seeds of a sweep land on the same card. The NPU's
    ``ASCEND_RT_VISIBLE_DEVICES`` reads digits and commas only, in ascending order, and stops at the first other
    character, so ``"1, 2"`` is card 1 alone.

    Example
    -------
    ::

        os.environ["CUDA_VISIBLE_DEVICES"] = str(gpu)

    Use instead
    -----------
    ::

        os.environ["ASCEND_RT_VISIBLE_DEVICES"] = str(gpu)

    Fix safety
    ----------
    Safe where the value has the form that the NPU's variable takes; other values (``""``, ``"-1"``, UUIDs,
    spaces, descending order, unknown allocator options) are reported. With ``--style portable`` both are set;
    configuration files and shell scripts are not changed.

    Sources
    -------
    - ``npuport/facts/data/torch_npu_api.json``, rows ``env:``; bad ids are dropped silently:
      https://github.com/vllm-project/vllm-ascend/issues/10227
    """

    code = "NPU107"
    name = "cuda-environment"
    topic = "env"
    severity = Severity.ERROR
    triggers = Triggers(("CUDA_", "NCCL_", "CUBLAS_", "NVIDIA_"), torch=False)
    configuration_triggers = ("CUDA_", "NCCL_", "CUBLAS_", "NVIDIA_")

    def check_configuration(self, configuration: Configuration) -> Iterator[Hit]:
        text = configuration.source.text
        for twin in environment_twins().values():
            if twin.cuda in text and not (twin.npu and twin.npu in text):
                yield from self._configured(configuration, twin)

    def _configured(self, configuration: Configuration, twin: Twin) -> Iterator[Hit]:
        """The uses of one variable in a configuration file: all are renamed, or none."""
        variables = map(variable_of, configuration.entries)
        uses = [found for found in variables if found is not None and found.name.text == twin.cuda]
        fault = next(filter(None, (_form_fault(twin.cuda, found.value) for found in uses if not found.is_read)), "")
        for found in uses:
            if found.is_read and (twin.npu is None or twin.cuda in _TOOLKIT):
                continue
            if twin.npu is None:
                yield self._without_twin(found.name, twin)
            elif twin.cuda in _TOOLKIT:
                yield Hit(found.name, f"{twin.cuda} is where CUDA's toolkit lies; CANN's lies under {twin.npu}")
            elif fault:
                yield Hit(found.name, f"{_ignored(twin)}; {fault}")
            else:
                fix = replacement(f"{'Read' if found.is_read else 'Set'} {twin.npu}", found.name, twin.npu)
                yield Hit(found.name, _ignored(twin), fix)

    def check(self, module: Module) -> Iterator[Hit]:
        if "torch" not in module.libraries and not module.libraries.isdisjoint(_OTHER_FRAMEWORKS):
            return
        twins = environment_twins()
        for node in module.index.strings:
            twin = twins.get(str(node.value))
            if twin is not None:
                yield from self._named(module, node, twin)
            elif (variable := set_in_command(module, node)) is not None:
                yield Hit(node, f"sets {variable} for a command, which an NPU ignores")
        for name in twins.keys() & module.index.keywords.keys():
            for keyword in module.index.keywords[name]:
                yield from self._keyword(module, keyword, twins[name])

    def _named(self, module: Module, node: ast.Constant, twin: Twin) -> Iterator[Hit]:
        used = use_of(module, node)
        if used is None or _is_ported(module, node, twin):
            return
        if twin.npu is None:
            yield self._without_twin(node, twin)
        elif twin.cuda in _TOOLKIT:
            yield Hit(node, f"{twin.cuda} is where CUDA's toolkit lies; CANN's lies under {twin.npu}")
        elif used.use is not Use.READ and (fault := _fault(twin.cuda, used.value)):
            yield Hit(node, f"{_ignored(twin)}; {fault}")
        else:
            yield Hit(node, _ignored(twin), variable_fix(module, node, used.use, twin.npu))

    def _keyword(self, module: Module, keyword: ast.keyword, twin: Twin) -> Iterator[Hit]:
        """``dict(os.environ, CUDA_VISIBLE_DEVICES="0")``."""
        call = module.parent(keyword)
        if not isinstance(call, ast.Call) or _is_ported(module, keyword, twin):
            return
        if twin.npu is None:
            yield self._without_twin(keyword.value, twin)
        elif fault := _fault(twin.cuda, keyword.value):
            yield Hit(keyword.value, f"{_ignored(twin)}; {fault}")
        else:
            yield Hit(keyword.value, _ignored(twin), keyword_fix(call, twin.cuda, twin.npu))

    def _without_twin(self, node: ast.AST | Scalar, twin: Twin) -> Hit:
        message = f"{twin.cuda} has no meaning on an NPU; {twin.note}".rstrip("; ")
        return Hit(node, message, severity=Severity.NOTE)


def _ignored(twin: Twin) -> str:
    return f"{twin.cuda} is ignored on an NPU, which reads {twin.npu}"


def _is_ported(module: Module, node: ast.AST, twin: Twin) -> bool:
    """Whether the NPU's variable is treated right beside this one."""
    beside = twin.npu is not None and treated_beside(module, node, twin.cuda, twin.npu)
    return beside or module.branches.asks_for_npu(node)


def _fault(name: str, value: ast.expr | None) -> str:
    """Why a value does not do for the NPU's variable."""
    return _form_fault(name, str(value.value) if isinstance(value, ast.Constant) else None)


def _form_fault(name: str, text: str | None) -> str:
    """Why a text, None where it is not known, does not do for the NPU's variable."""
    if name in _OTHER_VALUES:
        return _OTHER_VALUES[name]
    if text is None:
        return ""
    if name == "CUDA_VISIBLE_DEVICES":
        if not re.fullmatch(r"\d+(,\d+)*", text):
            return f"it takes ascending digits and commas only, not {text!r}"
        cards = [int(card) for card in text.split(",")]
        return "" if cards == sorted(cards) else f"it takes cards in ascending order only, not {text!r}"
    if name == "PYTORCH_CUDA_ALLOC_CONF" and _REFUSED_ALLOCATOR_KEYS.search(text):
        return f"it refuses an option of {text!r}"
    return ""
