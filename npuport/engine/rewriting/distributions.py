"""Normal distributions whose covariance is diagonal."""

from __future__ import annotations

import ast

from npuport.analysis.covariances import Diagonal
from npuport.analysis.module import Module
from npuport.engine.fix import Transform
from npuport.engine.lazy_libcst import cst
from npuport.engine.writer import Writer

_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def independent_normal(module: Module, call: ast.Call, mean: ast.expr, covariance: Diagonal) -> Transform:
    """``MultivariateNormal(mean, torch.diag_embed(v))`` becomes ``Independent(Normal(mean, v.sqrt()), 1)``."""

    def transform(node: cst.CSTNode, writer: Writer) -> str:
        independent, normal = (_name(module, call, name, writer) for name in ("Independent", "Normal"))
        return f"{independent}({normal}({module.text_of(mean)}, {_variance(module, covariance)}.sqrt()), 1)"

    return transform


def _variance(module: Module, covariance: Diagonal) -> str:
    """The diagonal as source text: what it was made of, or a view into a matrix that is made elsewhere."""
    made_by = covariance.made_by
    if made_by is None:
        return f"{module.text_of(covariance.matrix)}.diagonal(dim1=-2, dim2=-1)"
    variance = made_by.args[0]
    text = module.text_of(variance)
    text = text if isinstance(variance, _ATOMS) else f"({text})"
    start, _ = module.branches.span(covariance.matrix)
    inner_start, inner_end = module.branches.span(made_by)
    whole = module.text_of(covariance.matrix)
    return whole[: inner_start - start] + text + whole[inner_end - start :]


def _name(module: Module, call: ast.Call, name: str, writer: Writer) -> str:
    """A class of torch.distributions as this file can spell it without another import."""
    bound = module.names.bindings(name, call)
    imported = bound[0].imported if len(bound) == 1 else None
    if imported and imported.startswith("torch.distributions.") and imported.endswith(f".{name}"):
        return name
    if isinstance(call.func, ast.Attribute) and module.resolve(call.func.value) == "torch.distributions":
        return f"{module.text_of(call.func.value)}.{name}"
    return f"{writer.torch()}.distributions.{name}"
