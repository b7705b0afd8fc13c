"""What the interpreter reports of one place in the code, for rules to filter.

Kinds of events, with ``value``, ``how`` and ``values``:

=================  ==================================================================================
``read``           a tensor comes to the host. value: the tensor (unknown where only the method tells);
                   how: ``item``, ``tolist``, ``cpu``, ``numpy``, ``float``, ``int``, ``bool``, ``truth``,
                   ``format``, ``print``, ``numpy.mean`` ..., ``math.exp`` ..., ``max``, ``torch.normal``
``upload``         a host tensor goes to the accelerator. value: the tensor as it was on the host, with the
                   dtype it arrives in; how: ``to``, ``cuda``, ``create``, ``legacy``, ``copy_``
``maybe_upload``   ``x.to(device)`` of an unknown value, which may be a module
``moved``          a layer or a module of the program goes to a device. value: the device
``create``         ``torch.tensor(x)``, ``as_tensor``, ``from_numpy``, ``FloatTensor`` ... value: x;
                   how: the last part of the function's name; values: (result,)
``factory``        ``torch.zeros`` ... value: the result; how: the function
``call``           a call of a library. how: the dotted name; value: the result; values: positional
                   arguments; keywords: named ones
``method``         a method of a tensor that an operator stands behind. how: its name; value: the tensor;
                   values, keywords: the arguments
``dynamic``        a shape that only the device knows. how: ``nonzero``, ``masked_select``, ``unique``, ``where``
``concatenate``    ``torch.cat`` and ``stack``. value: the sequence; how: the function
``index``          ``base[index]`` read. value: base; values: (index,)
``store``          ``base[index] = x``. value: base; values: (index, x)
``loss``           a loss function is called. values: its arguments
``distribution``   a distribution is made. value: it; how: its class
``log_prob``       ``log_prob`` or ``entropy`` of a distribution; how: which; value: the distribution
``sample``         a distribution is drawn from; how: by which method; value: the distribution
``arithmetic``     a tensor in ``left op right``. value: left; values: (right,)
``invert``         ``~x``. value: x
``negate``         ``-x`` of a tensor. value: x
``forward``        a layer, or a module of the program, is called. value: what it gives; values: arguments
``fence``          the host waits for the whole device, or gives its cached memory back. how: ``synchronize``,
                   ``empty_cache``
``step``           an environment steps. values: arguments
``backward``       gradients are computed. value: the loss
``update``         an optimiser steps, or something that by its name does
``push``           something is put into a container. value: the container; values: what is put
``made``           an expression gives a tensor of a dtype that no loss should get: bool, integers, float64. The
                   expressions around it that hand the tensor on are told behind it. value: the tensor
``assign``         an assignment statement. value: what is assigned
``return``         a return statement. value: what is returned
=================  ==================================================================================
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npuport.analysis.flow.value import UNKNOWN, Value

if TYPE_CHECKING:
    from npuport.analysis.flow.declarations import Function
    from npuport.analysis.flow.frames import Frame


@dataclass(slots=True, eq=False)
class Event:
    """One thing that happens at one place; see the module's table.

    Attributes:
        kind: what happens.
        node: where.
        function: the function (or module body) that it happens in.
        frame: the loops, gates and comprehensions around it.
    """

    kind: str
    node: ast.AST
    function: Function
    frame: Frame | None
    value: Value = UNKNOWN
    how: str = ""
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)


@dataclass(slots=True)
class CallSite:
    """A call with its evaluated arguments.

    Attributes:
        node: the call.
        args: positional arguments; a ``*x`` of unknown length is one value of kind ``SPREAD``.
        keywords: named arguments, those of ``**x`` included where they are known.
    """

    node: ast.Call
    args: list[Value]
    keywords: dict[str, Value]

    def argument(self, position: int, name: str = "") -> Value | None:
        """The argument of a parameter; None where it is not given."""
        if name and name in self.keywords:
            return self.keywords[name]
        return self.args[position] if position < len(self.args) else None

    @property
    def first(self) -> Value:
        """The first positional argument; unknown where there is none."""
        return self.args[0] if self.args else UNKNOWN
