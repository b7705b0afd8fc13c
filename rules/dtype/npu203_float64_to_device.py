from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npuport.analysis.flow.calls import last_name
from npuport.analysis.flow.dtypes import ANY_DTYPE, FLOAT64
from npuport.analysis.flow.events import Event
from npuport.analysis.flow.frequency import Reason
from npuport.analysis.flow.program import FileFlow
from npuport.analysis.flow.value import ARRAY, TENSOR, Atom, Origin
from npuport.analysis.flow.vocabulary import OBSERVED_NAME, RETURNS_NAME
from npuport.analysis.module import Module
from npuport.analysis.tensor_uses import Use, uses_of
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.flow_rule import FlowRule, step_text
from npuport.engine.loss_input_rule import is_harmless, way_into_loss
from npuport.engine.rewriting.dtypes import cast_before, constructor, data_of, made_in
from npuport.engine.rule import Hit, Triggers

_UPLOADED = "a float64 tensor goes to the device, where float64 is refused or silently computed as float32"
_SUSPECTED = "a tensor that may be float64 goes to the device, where float64 is refused or silently made float32"
_PARAMETER = "a float64 parameter goes to the device: its gradients and the optimiser's kernels are refused there"
_IN_LOSS = "a float64 tensor enters a loss: on the device float64 is refused or silently computed as float32"
_BARE = (
    "a NumPy array goes to the device in the dtype that it has: float64, as many environments give, is refused there"
)
_TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_|conftest)")
_TORCH_FLOAT64 = ("torch.float64", "torch.double")
_FREE_CASTS = frozenset({"float", "half", "bfloat16"})


class Float64ToDevice(FlowRule):
    """A float64 tensor goes to the device, or into a loss.

    What it does
    ------------
    Reports uploads of float64 tensors: NumPy arrays that were made without a dtype (``np.zeros(n)`` is float64),
    rewards of vector environments, returns, Python's ``float`` as a dtype, parameters such as the temperature of
    SAC. Also float64 tensors that reach a loss. An array of observations, states or rewards that goes up without
    any dtype is a note, unless all environments that the program names give float32.

    Why on an NPU
    -------------
    Most kernels of an NPU do not take float64: they stop with ``not implemented for DT_DOUBLE``, and a cast to
    float64 silently gives float32. On a GPU the same code runs, twice as slow.

    Example
    -------
    ::

        self.returns = np.zeros(n)
        returns = torch.as_tensor(self.returns, device=device)

    Use instead
    -----------
    ::

        self.returns = np.zeros(n, dtype=np.float32)
        returns = torch.as_tensor(self.returns, dtype=torch.float32, device=device)

    Fix safety
    ----------
    The upload or the constructor gets float32: safe, since the code would be refused on the NPU as it stands.
    Unsafe where the code itself says ``torch.float64`` or ``double``, where the dtype is only suspected, and where a
    tensor in host memory is also read or compared. None where the program's networks are float64: they take nothing
    else, and have to change first.

    Sources
    -------
    - Ascend's list of operators for PyTorch 2.13: ``mul``, ``div``, ``mse_loss`` and 900 more are without float64:
      https://github.com/Ascend/pytorch, ``docs/zh/api/native_api/pytorch_2-13-0``
    - torch_npu warns "Device do not support double dtype now, dtype cast replace with float".
    - Observations that could not be moved: https://github.com/DLR-RM/stable-baselines3/issues/1019
    """

    code = "NPU203"
    name = "float64-to-device"
    topic = "dtype"
    severity = Severity.WARNING
    triggers = Triggers(("torch",))
    about_frequency = False

    def find(self, module: Module, flow: FileFlow) -> Iterator[Hit]:
        uploaded: set[Origin | None] = set()
        for event in flow.events("upload"):
            tensor = event.value.get(TENSOR)
            if tensor is None or _comes_from_test(flow, tensor):
                continue
            if "float64" in tensor.dtypes and tensor.dtypes <= FLOAT64 | ANY_DTYPE:
                uploaded.add(tensor.origin)
                yield self._upload(module, flow, event, tensor)
            elif tensor.dtypes == ANY_DTYPE and _is_bare(module, event):
                fix = _fix(module, event, tensor, "the array may hold integers")
                yield self.hit(flow, event, _BARE, fix=fix, severity=Severity.NOTE)
        yield from self._in_losses(module, flow, uploaded)

    def _upload(self, module: Module, flow: FileFlow, event: Event, tensor: Atom) -> Hit:
        proved = tensor.dtypes == FLOAT64
        parameter = proved and _is_parameter(event.node)
        severity = Severity.ERROR if parameter else Severity.WARNING
        if _cast_at_once(module, event.node):
            severity = Severity.NOTE
        return self.hit(
            flow,
            event,
            _PARAMETER if parameter else _UPLOADED if proved else _SUSPECTED,
            fix=_fix(module, event, tensor, "" if proved else "the tensor may hold integers"),
            severity=severity,
            doubts=() if proved else ("that the tensor is float64, which one of its sources is",),
            evidence=_sources(flow, tensor),
        )

    def _in_losses(self, module: Module, flow: FileFlow, uploaded: set[Origin | None]) -> Iterator[Hit]:
        seen: set[Origin] = set()
        for found in flow.reaching_loss:
            if found.dtype != "float64" or found.origin in uploaded or found.origin in seen:
                continue
            made = flow.made_at(found.origin[1], "float64")
            if made is None or is_harmless(module, made):
                continue
            if made.value.atoms[TENSOR].on_host and _double_on_purpose(module, [made.node]):
                continue
            seen.add(found.origin)
            yield self.hit(
                flow,
                made,
                _IN_LOSS,
                fix=_constructor_fix(module, made),
                evidence=[*_sources(flow, made.value.atoms[TENSOR]), *way_into_loss(module, made, found)],
            )


def _sources(flow: FileFlow, tensor: Atom) -> list[str]:
    """Where the float64 comes from: the array that the tensor is made of."""
    for event in flow.events("create"):
        if tensor.origin == (flow.scope.key, getattr(event.node, "lineno", 0)):
            array = event.value.get(ARRAY)
            if array is not None and array.origin is not None and "float64" in array.dtypes:
                return [step_text(Reason(*array.origin, "float64 array"), flow.scope.key)]
    return []


def _receiver(node: ast.AST) -> ast.expr | None:
    """``x`` of ``x.to(device)``."""
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def _is_bare(module: Module, event: Event) -> bool:
    """Whether an array that looks like an observation goes up without any dtype."""
    if event.how == "create":
        call: ast.AST | None = event.node
    else:
        call = _receiver(event.node)
    if not isinstance(call, ast.Call) or not call.args or _cast_at_once(module, event.node):
        return False
    if module.flow.program.observes_float32(module.key):
        return False
    data = data_of(module, call)
    if data is None or TENSOR in data.atoms or any(keyword.arg == "dtype" for keyword in call.keywords):
        return False
    name = _called(call.args[0])
    # torch.tensor makes float32 of Python's floats; an array of returns is float64 unless somebody cares.
    computed = last_name(call.func) == "from_numpy" and RETURNS_NAME.search(name) is not None
    return computed or OBSERVED_NAME.match(name) is not None


def _called(node: ast.expr) -> str:
    """The name of an array: that of its key where it stands in a mapping, of the function that gives it."""
    while isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return node.slice.value
        node = node.value
    return last_name(node) if isinstance(node, ast.Name | ast.Attribute | ast.Call) else ""


def _comes_from_test(flow: FileFlow, tensor: Atom) -> bool:
    """Whether the float64 is that of a test which calls this file's code, and not the code's own."""
    if tensor.origin is None or tensor.origin[0] == flow.scope.key:
        return False
    return _TEST_FILE.search(flow.program.knowledge.linker.relative(tensor.origin[0])) is not None


def _cast_at_once(module: Module, node: ast.AST) -> bool:
    """Whether what was uploaded is cast right there: only the copy is float64."""
    attribute = module.parent(node)
    return isinstance(attribute, ast.Attribute) and attribute.attr in _FREE_CASTS


def _is_parameter(node: ast.AST) -> bool:
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return any(
        keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in keywords
    )


def _fix(module: Module, event: Event, tensor: Atom, doubt: str) -> Fix | None:
    """The upload in float32; none in a program whose networks are float64, which take nothing else."""
    if module.flow.program.computes_in_float64(module.key):
        return None
    node = event.node if event.how == "create" else _receiver(event.node)
    made = module.flow.made_at(tensor.origin[1], "float64") if _is_own(module, tensor) and tensor.origin else None
    reason = _double_on_purpose(module, [node, made.node if made is not None else None]) or doubt
    if constructor(module, node):
        assert node is not None
        return rewrite("Make the tensor in float32", node, made_in("float32"), unsafe_because=reason)
    # torch.as_tensor(x, device=device, dtype=dtype) is such a move as well, but no method of x.
    if event.how in ("to", "cuda") and isinstance(event.node, ast.Call) and _is_move(event.node.func):
        return rewrite("Cast to float32 before the copy", event.node, cast_before, unsafe_because=reason)
    return None


def _is_move(called: ast.expr) -> bool:
    return isinstance(called, ast.Attribute) and called.attr in ("to", "cuda")


def _is_own(module: Module, tensor: Atom) -> bool:
    return tensor.origin is not None and tensor.origin[0] == module.key


def _constructor_fix(module: Module, made: Event) -> Fix | None:
    if module.flow.program.computes_in_float64(module.key) or not constructor(module, made.node):
        return None
    reason = _double_on_purpose(module, [made.node])
    if not {use.use for use in uses_of(module, made)} <= {Use.ARITHMETIC, Use.ESCAPE}:
        reason = reason or "the tensor is not only a number in arithmetic"
    return rewrite("Make the tensor in float32", made.node, made_in("float32"), unsafe_because=reason)


def _double_on_purpose(module: Module, nodes: list[ast.AST | None]) -> str:
    """Why float32 may not be what the author wants; empty where nothing speaks against it."""
    if module.flow.program.computes_in_float64(module.key):
        return "the program computes in float64"
    for node in nodes:
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Attribute) and (
                part.attr in ("double", "DoubleTensor") or module.resolve(part) in _TORCH_FLOAT64
            ):
                return "the code asks for float64"
    return ""
