from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.choices import partners, unknown_question
from npuport.analysis.device_roles import DeviceString, Role
from npuport.analysis.device_strings import device_strings, saved_device_maps
from npuport.analysis.module import Module
from npuport.engine.fix import Fix, NotFixable, Transform, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.questions import question
from npuport.engine.rewriting.strings import accepted_values, device_value, pattern_values_of
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer


class CudaDeviceString(Rule):
    """A string names a CUDA device.

    What it does
    ------------
    Reports ``"cuda"``, ``"cuda:1"``, ``f"cuda:{rank}"`` and their ``%`` and ``.format`` forms where they become
    a device, are compared with one, or are a value that an option accepts. The names of options, log messages,
    run names, docstrings and dictionary keys are left alone, and so is code that already has an NPU arm.

    Why on an NPU
    -------------
    The device does not exist there. In ``"cuda" if torch.cuda.is_available() else "cpu"`` that goes without a
    word: the agent trains on the CPU. A comparison such as ``device.type == "cuda"`` is silently False and
    switches a feature off.

    Example
    -------
    ::

        device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")

    Use instead
    -----------
    ::

        device = torch.device("npu" if torch.npu.is_available() and args.cuda else "cpu")

    Fix safety
    ----------
    Safe for strings that become a device; the author's index is kept, and a test and the string that it guards
    change in one edit. A comparison is unsafe to change when the branch it guards does what only CUDA can do.
    With ``--style portable`` the string becomes ``DEVICE_TYPE``, which is ``"cuda"`` on a machine without an
    NPU, and a comparison accepts both.

    Sources
    -------
    - ``torch.device`` and the NPU: https://github.com/Ascend/pytorch
    - The silent CPU run is the commonest failure of ports: 25 of 36 public scripts, as measured for npuport.
    """

    code = "NPU101"
    name = "cuda-device-string"
    topic = "device"
    triggers = Triggers(("cuda", "CUDA out of memory"), torch=False)

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.in_torch_program:
            return
        together = partners(module)
        for site in device_strings(module):
            if not module.knows_npu(site.node):
                yield self._hit(module, site, together.get(site.node, ()))
        yield from self._saved_devices(module)
        yield from self._memory_texts(module)

    def _hit(self, module: Module, site: DeviceString, together: tuple[ast.AST, ...]) -> Hit:
        text = module.text_of(site.node)
        likely = "" if site.certain else " (likely a device)"
        evidence = (f"{text}: {site.why}",)
        if site.role is Role.MEMBER:
            message = f"{text} is a member's value: the enumeration needs a member for the NPU{likely}"
            return Hit(site.node, message, evidence=evidence)
        if site.role is Role.CHOICES:
            fix = rewrite("Accept the NPU", site.node, accepted_values("cuda", "npu"))
            return Hit(site.node, f"{text} is accepted as a device, the NPU is not{likely}", fix, evidence=evidence)
        if site.role is Role.QUESTION:
            message = f"compares a device with {text}, which an NPU never is{likely}"
            return Hit(site.node, message, self._asked(module, site), evidence=evidence, together=together)
        asked = unknown_question(module, site.node)
        reason = f"{asked} is asked before, and stays" if asked else ""
        whole = not _is_concatenated(text)
        named = rewrite("Name the NPU", site.node, device_value, unsafe_because=reason) if whole else None
        message = f"{text} names a CUDA device, an NPU machine has none{likely}"
        return Hit(site.node, message, named, evidence=evidence, together=together)

    def _asked(self, module: Module, site: DeviceString) -> Fix:
        if not isinstance(site.anchor, ast.Compare | ast.Call):
            return rewrite("Match the NPU", site.node, pattern_values_of("cuda", "npu"))
        reason = module.branches.cuda_only_reason(site.anchor)
        return rewrite("Ask for the NPU", site.anchor, question("cuda", "npu"), unsafe_because=reason)

    def _saved_devices(self, module: Module) -> Iterator[Hit]:
        """``map_location={"cuda:1": "cuda:0"}``: the keys are names in the file, the values devices here."""
        message = (
            "maps saved storages to CUDA devices; the keys are names in the file, only the values are for this machine"
        )
        for literal in saved_device_maps(module):
            texts = {v.value for v in literal.values if isinstance(v, ast.Constant) and isinstance(v.value, str)}
            fix = None
            if len(texts) == 1 and all(isinstance(v, ast.Constant) for v in literal.values):
                reason = "storages that the dictionary leaves out move too"
                transform = _to_one_device(texts.pop())
                fix = rewrite("Load everything to the NPU", literal, transform, unsafe_because=reason)
            yield Hit(literal, message, fix)

    def _memory_texts(self, module: Module) -> Iterator[Hit]:
        """``"CUDA out of memory" in str(error)``: the NPU's text differs."""
        for node in module.index.strings:
            if node.value in ("CUDA out of memory", "CUDA error: out of memory") and isinstance(
                module.parent(node), ast.Compare
            ):
                fix = rewrite(
                    "Look for the NPU's text", node, _memory_text, unsafe_because="the text decides what is retried"
                )
                yield Hit(node, "an NPU says 'NPU out of memory', so this is never true there", fix)


def _is_concatenated(text: str) -> bool:
    """``"cuda:" f"{rank}"``: one string to Python, two literals in the file."""
    return re.match(r"""(?i:[a-z]*)("[^"]*"|'[^']*')\s*(?:\\\s*)?(?i:[a-z]*)["']""", text) is not None


def _to_one_device(device: str) -> Transform:
    def transform(node: cst.CSTNode, writer: Writer) -> str:
        if writer.portable:
            raise NotFixable("the keys name saved devices")
        writer.need_torch_npu()
        return f'"{device.replace("cuda", "npu")}"'

    return transform


def _memory_text(node: cst.CSTNode, writer: Writer) -> str:
    return '"out of memory"' if writer.portable else '"NPU out of memory"'
