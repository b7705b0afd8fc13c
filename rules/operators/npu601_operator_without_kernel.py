from __future__ import annotations

import ast
from collections.abc import Iterator

from npuport.analysis.covariances import diagonal
from npuport.analysis.device_evidence import is_on_host, names_a_device
from npuport.analysis.module import Module, Reference
from npuport.engine.finding import Severity
from npuport.engine.fix import Fix, rewrite
from npuport.engine.lazy_libcst import cst
from npuport.engine.rewriting.distributions import independent_normal
from npuport.engine.rewriting.losses import scaled, smooth_l1
from npuport.engine.rule import Hit, Rule, Triggers
from npuport.engine.writer import Writer
from npuport.facts.kernels import is_refused, known_names, missing_kernels, operators_behind
from npuport.facts.operators import operator

# Methods that no other library gives its objects: a call of one is a tensor's, whatever the receiver.
_TENSOR_METHODS = (
    "lgamma", "lgamma_", "digamma", "digamma_", "polygamma", "polygamma_", "mvlgamma", "mvlgamma_", "logcumsumexp",
    "igamma", "igammac", "nextafter", "nextafter_", "index_reduce", "index_reduce_", "cholesky_inverse",
    "cholesky_solve", "logdet", "slogdet", "matrix_exp", "cauchy_", "log_normal_", "geometric_", "to_sparse_csr",
    "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc",
)  # fmt: skip
# Modules of functions under names that an import elsewhere may have bound.
_MODULE_NAMES = {"math", "special", "linalg", "scipy", "np", "jnp", "tf", "xp"}
# So short that they stand inside other words: their calls are looked for, with the bracket.
_SHORT = ("torch.det", "torch.mode", "torch.lcm", "torch.i0")
_LINEAR_ALGEBRA = "torch.linalg."
_NORMALS = ("MultivariateNormal", "LowRankMultivariateNormal")
_HUBER = {"huber_loss": ("smooth_l1_loss", 2), "HuberLoss": ("SmoothL1Loss", 0)}


def _triggers() -> tuple[str, ...]:
    names = {name for name in known_names() if name not in _SHORT and not name.startswith(_LINEAR_ALGEBRA)}
    return (
        "linalg",
        "to_sparse",
        "sparse_",
        "channels_last",
        *sorted({name.rpartition(".")[2].rstrip("_") for name in names}),
    )


class OperatorWithoutKernel(Rule):
    """An operator is used that runs on the CPU, or not at all, because the NPU has no kernel for it.

    What it does
    ------------
    Reports functions, losses and distributions behind which the target release of torch_npu has no kernel:
    ``huber_loss``, Gamma, Beta, Dirichlet, Poisson and their kin, ``MultivariateNormal`` with a covariance,
    ``torch.linalg`` (det, solve, inv, eigh, ...), ``lgamma``, ``logcumsumexp``. Sparse layouts, which raise, and
    ``memory_format=torch.channels_last``, which is not supported, are reported too.
    ``torch.isin`` is a note from the release on that made it of operators that have kernels. Of methods only those
    are reported that nothing but a tensor has. In a file that names no device a finding is a note.

    Why on an NPU
    -------------
    An operator without kernel copies its inputs to the CPU, runs there, and copies back, with one warning a
    process. In an action or a loss that is once a step: slow, and easily missed.
    ``TORCH_NPU_FALLBACK_CPU_DISABLE=1`` makes it an error.

    Example
    -------
    ::

        dist = MultivariateNormal(mean, torch.diag_embed(variance))
        loss = F.huber_loss(values, targets)

    Use instead
    -----------
    ::

        dist = Independent(Normal(mean, variance.sqrt()), 1)
        loss = F.smooth_l1_loss(values, targets)

    Fix safety
    ----------
    Safe for the Huber loss with delta 1, which is the smooth L1 loss (the same bits in float32, tried), and for a
    memory format, which changes no value; ``--style portable`` keeps it for CUDA. Unsafe for another delta
    (``delta * smooth_l1_loss(beta=delta)`` rounds differently), and for a diagonal ``MultivariateNormal``, whose
    class and attributes change. Nothing else is rewritten: what replaces a Beta policy is for a person.

    Sources
    -------
    - Operators that the torch_npu 2.13.0 wheel registers, against those that torch 2.13.0 dispatches for each name.
    - ``torch_npu/csrc/aten/VariableFallbackKernel.cpp`` in https://github.com/Ascend/pytorch; release branches of
      https://github.com/Ascend/op-plugin
    """

    code = "NPU601"
    name = "operator-without-kernel"
    topic = "op"
    severity = Severity.WARNING
    triggers = Triggers(_triggers(), patterns=tuple(rf"{name.rpartition('.')[2]}\s*\(" for name in _SHORT))

    def check(self, module: Module) -> Iterator[Hit]:
        if not module.uses_torch:
            return
        for reference in module.references:
            if _is_spelled(reference) and _is_use(module, reference.node):
                yield from self._operator(module, reference.node, reference.dotted)
        for method in _TENSOR_METHODS:
            for attribute in module.index.attributes.get(method, ()):
                if _is_tensor_method(module, attribute):
                    yield from self._operator(module, attribute, f"torch.Tensor.{method}")
        yield from _memory_formats(module)

    def _operator(self, module: Module, node: ast.expr, dotted: str) -> Iterator[Hit]:
        """The finding for one operator, by its public name, whoever found out that ``node`` is it."""
        if module.knows_npu(node):
            return
        parent = module.parent(node)
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        if call is not None and any(is_on_host(module, value) for value in _tensors(call)):
            return
        where = call or node
        severity = None if names_a_device(module) else Severity.NOTE
        missing = missing_kernels(dotted, module.target)
        if is_refused(dotted):
            yield Hit(where, f"{_short(dotted)} raises on an NPU: sparse layouts have no kernels", severity=severity)
        elif dotted == "torch.isin" and not missing:
            yield Hit(where, _ISIN, severity=Severity.NOTE)
        elif dotted.rpartition(".")[2] in _NORMALS:
            if call is not None:
                yield from self._normal(module, call, dotted, missing, severity)
        elif missing:
            yield Hit(where, _message(dotted, missing), self._huber(module, call, dotted), severity)

    def _normal(
        self, module: Module, call: ast.Call, dotted: str, missing: tuple[str, ...], severity: Severity | None
    ) -> Iterator[Hit]:
        """A normal distribution by its covariance is factorised whenever it is made; by ``scale_tril`` it is not."""
        given = {"loc": 0, "covariance_matrix": 1, "precision_matrix": 2}
        arguments = {name: _argument(call, position, name) for name, position in given.items()}
        low_rank = dotted.endswith("LowRankMultivariateNormal")
        if not low_rank and not (arguments["covariance_matrix"] or arguments["precision_matrix"]):
            return
        message = f"{_short(dotted)} factorises its covariance each time it is made"
        checked = _argument(call, 4, "validate_args")
        if "linalg_cholesky" in missing:
            message += ", on the CPU: no NPU kernel for linalg_cholesky"
        elif not (isinstance(checked, ast.Constant) and checked.value is False):
            message += f", and checks it on the CPU: no NPU kernel for {', '.join(missing)}"
        covariance, mean = arguments["covariance_matrix"], arguments["loc"]
        found = diagonal(module, covariance) if covariance is not None and not low_rank else None
        if found is None or mean is None:
            yield Hit(call, message, severity=severity)
            return
        message += "; it is diagonal: Independent(Normal) needs no factor"
        plain = len(call.args) + len(call.keywords) == 2
        fix = rewrite(
            "Take independent normal distributions",
            call,
            independent_normal(module, call, mean, found),
            unsafe_because="the distribution is of another class, without covariance_matrix and scale_tril",
        )
        yield Hit(call, message, fix if plain else None, severity)

    def _huber(self, module: Module, call: ast.Call | None, dotted: str) -> Fix | None:
        name = dotted.rpartition(".")[2]
        if call is None or name not in _HUBER:
            return None
        smooth, position = _HUBER[name]
        delta = _argument(call, position + 1, "delta")
        starred = any(isinstance(arg, ast.Starred) for arg in call.args) or any(k.arg is None for k in call.keywords)
        if starred or _argument(call, position + 2, "weight") is not None:
            return None
        if delta is None or (isinstance(delta, ast.Constant) and delta.value == 1):
            return rewrite("Take the smooth L1 loss, which is the same", call, smooth_l1(smooth, position, ""))
        if name == "HuberLoss" or not isinstance(delta, ast.Name | ast.Attribute | ast.Constant):
            return None
        text = module.text_of(delta)
        transform = scaled(smooth_l1(smooth, position, text), text, call, module.parent(call))
        return rewrite("Scale the smooth L1 loss", call, transform, unsafe_because="rounds differently")


def _memory_formats(module: Module) -> Iterator[Hit]:
    """``memory_format=torch.channels_last`` of tensors and modules."""
    facts = operator("torch.Tensor.to")
    for keyword in module.index.keywords.get("memory_format", ()):
        value = keyword.value
        named = (module.resolve(value) or "") in ("torch.channels_last", "torch.channels_last_3d")
        if named and facts is not None and "memory_format" in facts.limits and not module.knows_npu(value):
            severity = None if names_a_device(module) else Severity.NOTE
            fix = rewrite("Take the contiguous format", value, _contiguous)
            yield Hit(value, "an NPU takes the contiguous memory format only", fix, severity)


def _contiguous(node: cst.CSTNode, writer: Writer) -> str:
    contiguous = f"{writer.torch()}.contiguous_format"
    if not writer.portable:
        return contiguous
    return f'{writer.code(node)} if {writer.helper("DEVICE_TYPE")} == "cuda" else {contiguous}'


_ISIN = (
    "torch.isin compares with every element, or sorts and waits for the device where there are many; "
    "for a few ids compare with == and any()"
)


def _message(dotted: str, missing: tuple[str, ...]) -> str:
    what = "samples and scores" if dotted.startswith("torch.distributions.") else "runs"
    return f"{_short(dotted)} {what} on the CPU, copying there and back: no NPU kernel for {', '.join(missing)}"


def _short(dotted: str) -> str:
    """The name for people: ``Beta``, ``torch.linalg.inv``, ``lgamma``."""
    if dotted.startswith(("torch.distributions.", "torch.nn.", "torch.Tensor.")):
        return dotted.rpartition(".")[2]
    return dotted


def _is_spelled(reference: Reference) -> bool:
    """Whether the name stands here itself; an alias is reported where it is assigned."""
    if reference.dotted not in _SHORT and not operators_behind(reference.dotted) and not is_refused(reference.dotted):
        return False
    if reference.dotted in _SHORT:
        last = reference.dotted.rpartition(".")[2]
        return isinstance(reference.node, ast.Attribute) and reference.node.attr == last
    return isinstance(reference.root, ast.Call) or bool(reference.binding and reference.binding.imported)


def _is_use(module: Module, node: ast.expr) -> bool:
    """Whether code runs or hands on what is named: no annotation, no test for its type."""
    parent = module.parent(node)
    if isinstance(parent, ast.Call):
        if parent.func is node:
            return True
        tested = isinstance(parent.func, ast.Name) and parent.func.id in ("isinstance", "issubclass")
        return not tested and _is_function(node)
    if isinstance(parent, ast.ClassDef):
        return node in parent.bases
    return isinstance(parent, ast.Assign | ast.keyword | ast.Dict | ast.IfExp | ast.Return) and _is_function(node)


def _is_function(node: ast.expr) -> bool:
    """By its name: a function that is handed on will be called; a class may be wanted for its type only."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.islower()


def _is_tensor_method(module: Module, attribute: ast.Attribute) -> bool:
    call = module.parent(attribute)
    if not isinstance(call, ast.Call) or call.func is not attribute or module.resolve(attribute) is not None:
        return False
    receiver = attribute.value
    name = (
        receiver.attr if isinstance(receiver, ast.Attribute) else receiver.id if isinstance(receiver, ast.Name) else ""
    )
    return name not in _MODULE_NAMES and not module.is_foreign(receiver)


def _tensors(call: ast.Call) -> list[ast.expr]:
    """What an operator works on, the receiver of a method included: one tensor on the CPU speaks for all."""
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [*receiver, *call.args, *(keyword.value for keyword in call.keywords)]


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """An argument by position or name."""
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
