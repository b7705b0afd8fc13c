from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.module import Module
from npuport.analysis.vocabulary import library_of
from npuport.analysis.walk import modules_of
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, NotFixable, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer

_NVIDIA_PACKAGES = {"pynvml", "GPUtil", "py3nvml", "nvidia_smi", "gpustat"}
_COMMAND = re.compile(r"^(?![ \t]*#)(?:.*[\s/|;&])?(nvidia-smi)(?:\s|$)", re.MULTILINE)


class GpuResource(Rule):
    """A GPU is requested from a scheduler, or asked for through NVIDIA's tools.

    What it does
    ------------
    Reports Ray's ``num_gpus=``, ``get_gpu_ids()`` and ``"GPU"`` resources, ``nvidia-smi`` in subprocesses of torch
    code, and pynvml and its kin.

    Why on an NPU
    -------------
    Ray registers Ascend cards under the resource ``NPU``: a worker that asks for a GPU waits for ever on a node
    that has eight free cards. ``nvidia-smi`` does not exist there, and npu-smi prints another format.

    Example
    -------
    ::

        @ray.remote(num_gpus=1)
        class RolloutWorker: ...

    Use instead
    -----------
    ::

        @ray.remote(resources={"NPU": 1})
        class RolloutWorker: ...

    Fix safety
    ----------
    Unsafe, and in the ``npu`` style only: whether a node has GPUs or NPUs is known to the cluster, not to the
    file. Calls of ``nvidia-smi`` are reported; ``torch.npu.mem_get_info`` gives what they are mostly asked for.

    Sources
    -------
    - Accelerators in Ray: https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html
    """

    code = "NPU705"
    name = "gpu-resource"
    topic = "dist"
    severity = Severity.ERROR
    triggers = Triggers(
        ("num_gpus", "get_gpu_ids", '"GPU"', "'GPU'", "nvidia-smi", "nvml", "gpustat", "nvidia_smi", "GPUtil"),
        torch=False,
    )

    def check(self, module: Module) -> Iterator[Hit]:
        if "ray" in module.libraries:
            yield from self._ray(module)
        if module.in_torch_program:
            yield from self._nvidia(module)

    def _ray(self, module: Module) -> Iterator[Hit]:
        for keyword in module.index.keywords.get("num_gpus", ()):
            call = module.parent(keyword)
            asks = not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)  # num_gpus=0 asks for none
            if isinstance(call, ast.Call) and asks and not module.knows_npu(keyword.value):
                yield Hit(
                    keyword.value,
                    "Ray offers Ascend cards as the resource NPU, not as GPUs",
                    self._resources(call, keyword),
                )
        for call in module.index.calls:
            if (module.resolve(call.func) or "") == "ray.get_gpu_ids" and not module.knows_npu(call):
                fix = rewrite(
                    "Ask for NPU ids", call, _accelerator_ids, unsafe_because="the ids are texts, not numbers"
                )
                yield Hit(call, "get_gpu_ids() is empty on an Ascend node", fix)
        for node in module.index.strings:
            if node.value == "GPU" and not module.knows_npu(node) and _is_resource(module, node):
                yield Hit(
                    node,
                    "Ray counts Ascend cards under NPU",
                    rewrite("Ask for the NPU", node, _npu_key, unsafe_because="the cluster decides what a node has"),
                )

    def _resources(self, call: ast.Call, keyword: ast.keyword) -> Fix | None:
        if any(other.arg == "resources" for other in call.keywords):
            return None

        def transform(node: cst.CSTNode, writer: Writer) -> cst.CSTNode:
            assert isinstance(node, cst.Call)
            if writer.portable:
                raise NotFixable("the driver may sit on a node of another kind")
            args = []
            for arg in node.args:
                if arg.keyword and arg.keyword.value == "num_gpus":
                    arg = writer.argument(f'{{"NPU": {writer.code(arg.value)}}}', "resources").with_changes(
                        comma=arg.comma
                    )
                args.append(arg)
            return node.with_changes(args=args)

        return rewrite(
            "Ask for the resource NPU", call, transform, unsafe_because="the cluster decides what a node has"
        )

    def _nvidia(self, module: Module) -> Iterator[Hit]:
        for statement in module.index.imports:
            for name in modules_of(statement):
                if library_of(name) in _NVIDIA_PACKAGES:
                    yield Hit(
                        statement,
                        f"{name} asks NVIDIA's driver; torch.npu.mem_get_info() and npu-smi tell of an NPU",
                        severity=Severity.WARNING,
                    )
        for node in module.index.strings:
            asked = "nvidia-smi" in str(node.value) and _COMMAND.search(str(node.value))
            if asked and _is_run(module, node) and not module.knows_npu(node):
                yield Hit(node, "nvidia-smi does not exist on an NPU machine; ask torch.npu.mem_get_info() or npu-smi")


def _is_resource(module: Module, node: ast.Constant) -> bool:
    parent = module.parent(node)
    if isinstance(parent, ast.Dict):
        return node in parent.keys
    if isinstance(parent, ast.Subscript):
        return parent.slice is node
    return (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in ("get", "pop")
    )


def _is_run(module: Module, node: ast.Constant) -> bool:
    """Whether the text goes to subprocess, os.system or shutil.which."""
    for ancestor in module.ancestors(node):
        if isinstance(ancestor, ast.Call):
            dotted = module.resolve(ancestor.func) or ""
            return dotted.startswith(("subprocess.", "os.", "shutil.which", "asyncio.create_subprocess"))
        if isinstance(ancestor, ast.Assign):
            names = [target.id for target in ancestor.targets if isinstance(target, ast.Name)]
            return any(_reaches_subprocess(module, name) for name in names)
        if isinstance(ancestor, ast.stmt):
            return False
    return False


def _reaches_subprocess(module: Module, name: str) -> bool:
    for use in module.index.names.get(name, ()):
        call = module.enclosing(use, (ast.Call, ast.stmt))
        if isinstance(call, ast.Call) and (module.resolve(call.func) or "").startswith(("subprocess.", "os.")):
            return True
    return False


def _npu_key(node: cst.CSTNode, writer: Writer) -> str:
    if writer.portable:
        raise NotFixable("the driver may sit on a node of another kind")
    return '"NPU"'


def _accelerator_ids(node: cst.CSTNode, writer: Writer) -> str:
    assert isinstance(node, cst.Call)
    if writer.portable or not isinstance(node.func, cst.Attribute):
        raise NotFixable("the driver may sit on a node of another kind")
    return f'{writer.code(node.func.value)}.get_runtime_context().get_accelerator_ids()["NPU"]'
