"""Whether a string such as ``"cuda:0"`` is a device, a text that people read, or something else.

From the literal the classifier climbs through what only passes the value on (conditional expressions, ``or``,
lists, formatting) to what consumes it: a call, an assignment, a default, a comparison, a return.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from npuport.analysis.device_evidence import (
    called_name,
    gets_other_device,
    is_device,
    is_text_name,
    key_is_device,
    names_other_device,
    parameter_of_argument,
    parameter_of_default,
    reaches_device,
    target_name,
    targets_of,
)
from npuport.analysis.device_roles import DeviceString, Role, is_map_location
from npuport.analysis.module import Module
from npuport.analysis.vocabulary import (
    FOREIGN_LIBRARIES,
    TEXT_KEYWORDS,
    TEXT_SINKS,
    TORCH_LIBRARIES,
    is_device_name,
    library_of,
    words_of,
)

_QUESTION_METHODS = {"startswith", "find", "count", "__eq__", "index"}
_OPTION_CALLS = {"add_argument", "option", "argument", "DEFINE_string", "DEFINE_enum", "add_option"}
# Around these the annotated name or parameter tells what the default is for.
_FIELD_CALLS = {"field", "Field", "Option", "Argument"}
_DEFAULT_GETTERS = {"get", "pop", "setdefault", "getenv", "get_param", "setattr"}
_DEVICE_CALLS = ("torch.device", "torch.Generator", "torch.set_default_device", "torch.get_device_module")
_AMP_CALLS = (".autocast", ".GradScaler")
_DEVICE_METHODS = {"to", "pin_memory", "is_pinned"}
_PASSED_ON = {"str", "list", "tuple", "set", "Choice", "frozenset", "cast", "next", "iter"}


_CLIMB = object()


class Classifier:
    """Climbs from one literal to what consumes it."""

    def __init__(self, module: Module, node: ast.Constant | ast.JoinedStr) -> None:
        self._module = module
        self._node = node
        # "cuda:0" is hardly ever anything but a device; a bare "cuda" may be any word.
        self._indexed = isinstance(node, ast.JoinedStr) or ":" in str(node.value)
        self._choice_evidence = ""

    def classify(self) -> DeviceString | None:
        child: ast.AST = self._node
        parent = self._module.parent(child)
        while parent is not None:
            verdict = self._step(parent, child)
            if verdict is not _CLIMB:
                return verdict  # type: ignore[return-value]
            child, parent = parent, self._module.parent(parent)
        return None

    def _site(self, role: Role, certain: bool, why: str, anchor: ast.expr | None = None) -> DeviceString:
        return DeviceString(self._node, role, anchor or self._node, certain, why)

    def _value(self, certain: bool, why: str) -> DeviceString:
        return self._site(Role.VALUE, certain, why)

    def _by_form(self, why: str) -> DeviceString | None:
        """Without a device-like name, the form ``cuda:0`` or the choice around it has to speak."""
        if self._choice_evidence:
            return self._value(True, self._choice_evidence)
        return self._value(False, f"{why}; the form is a device's") if self._indexed else None

    def _step(self, parent: ast.AST, child: ast.AST) -> object:
        """The verdict of one step upwards, or _CLIMB where ``parent`` only passes the value on."""
        if isinstance(parent, _TRANSPARENT):
            return _CLIMB
        handle = _STEPS.get(type(parent))
        return handle(self, parent, child) if handle is not None else None

    # ---- what may only pass the value on

    def _chosen(self, choice: ast.IfExp, child: ast.AST) -> object:
        """``"cuda" if ... else "cpu"`` is a choice of a device, whatever its name."""
        if child is choice.test:
            return None
        other = choice.orelse if child is choice.body else choice.body
        test = self._module.text_of(choice.test)
        if names_other_device(other):
            self._choice_evidence = "chosen beside another device"
        elif "cuda" in test or "accelerator" in test:
            self._choice_evidence = "chosen by a test for CUDA"
        return _CLIMB

    def _either(self, operation: ast.BoolOp, child: ast.AST) -> object:
        """``device or "cuda"``, and the old ``torch.cuda.is_available() and "cuda" or "cpu"``."""
        others = [value for value in operation.values if value is not child]
        if any(names_other_device(other) for other in others):
            self._choice_evidence = "chosen beside another device"
        elif any("cuda" in self._module.text_of(other) for other in others):
            self._choice_evidence = "chosen by a test for CUDA"
        return _CLIMB

    def _listed(self, literal: ast.List | ast.Tuple | ast.Set, child: ast.AST) -> object:
        """``["cpu", "cuda"][torch.cuda.is_available()]`` chooses; other lists only hold."""
        if isinstance(self._module.parent(literal), ast.Subscript) and names_other_device(literal):
            self._choice_evidence = "chosen beside another device"
        return _CLIMB

    def _element_of_comprehension(self, comprehension: ast.ListComp, child: ast.AST) -> object:
        return _CLIMB if child is comprehension.elt else None

    def _operand(self, operation: ast.BinOp, child: ast.AST) -> object:
        """``"cuda:%d" % i`` and ``"cuda:" + str(i)``."""
        return _CLIMB if isinstance(operation.op, ast.Mod | ast.Add) and child is operation.left else None

    def _made_by_factory(self, function: ast.Lambda, child: ast.AST) -> object:
        """``field(default_factory=lambda: ["cuda:0"])``."""
        around = self._module.parent(function)
        made = isinstance(around, ast.keyword) and around.arg == "default_factory"
        return _CLIMB if made and child is function.body else None

    def _method(self, attribute: ast.Attribute, child: ast.AST) -> object:
        return _CLIMB if attribute.attr in ("format", "lower", "strip") else None

    # ---- what asks

    def _compared(self, compare: ast.Compare, child: ast.AST) -> object:
        if len(compare.ops) != 1:
            return None
        operator = compare.ops[0]
        other = compare.comparators[0] if child is compare.left else compare.left
        if isinstance(operator, ast.In | ast.NotIn) and child is compare.left:
            # "cuda" in str(device) asks a device; "cuda" in args.exp_name asks a text.
            literal = isinstance(other, ast.Dict | ast.List | ast.Tuple | ast.Set)
            if literal or not is_device(self._module, other):
                return None
            return self._site(Role.QUESTION, True, "a device is asked for it", compare)
        if not isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            return None
        if is_device(self._module, other):
            return self._site(Role.QUESTION, True, "compared with a device", compare)
        if self._module.is_foreign(other) or is_text_name(other):
            return None
        return self._site(Role.QUESTION, False, "compared with a value that is likely a device", compare)

    def _matched(self, pattern: ast.MatchValue, child: ast.AST) -> object:
        if not isinstance(self._module.parent(pattern), ast.match_case | ast.MatchOr):
            return None  # a part of something else: ["ppo", "cuda", *rest]
        return self._site(Role.QUESTION, True, "a device is matched against it")

    # ---- what takes the value

    def _argument(self, call: ast.Call, child: ast.AST) -> object:
        module, name = self._module, called_name(call)
        dotted = module.resolve(call.func) or ""
        if child is call.func or name in _PASSED_ON or name in _FIELD_CALLS:  # "cuda:{}".format(rank) among others
            return _CLIMB
        if name in _QUESTION_METHODS and isinstance(call.func, ast.Attribute):
            asked = name == "startswith" and is_device(module, call.func.value)
            return self._site(Role.QUESTION, True, "a device is asked for it", call) if asked else None
        if library_of(dotted) in FOREIGN_LIBRARIES or module.is_foreign(call.func):
            return None
        if dotted.endswith(_AMP_CALLS) and child is self._node:
            return None  # NPU501 and NPU502
        if dotted in _DEVICE_CALLS:
            return self._value(True, f"argument of {dotted}")
        if name in _DEVICE_METHODS and isinstance(call.func, ast.Attribute):
            return self._value(True, f"argument of .{name}()")
        if name in ("getattr", "hasattr"):
            has_default = len(call.args) == 3 and key_is_device(call)
            return self._value(True, "default of a device attribute") if has_default else None
        if name in _OPTION_CALLS:
            return self._option(call, "choices" if isinstance(child, ast.List | ast.Tuple) else "default")
        if name in _DEFAULT_GETTERS:
            return self._value(True, "default of a device key") if key_is_device(call) else self._by_form("default")
        if name == "parametrize":
            return self._value(True, "test parameter") if key_is_device(call) else None
        return self._positional(call, child, name, dotted)

    def _positional(self, call: ast.Call, child: ast.AST, name: str, dotted: str) -> DeviceString | None:
        if name in TEXT_SINKS or name.endswith(("Error", "Exception", "Warning")):
            return None
        parameter = parameter_of_argument(self._module, call, child)
        if parameter is not None and is_device_name(parameter):
            return self._value(True, f"passed to the parameter {parameter!r}")
        if dotted.startswith("torch.") or (library_of(dotted) in TORCH_LIBRARIES and self._indexed):
            return self._value(True, f"argument of {dotted}")
        if is_device_name(name):
            return self._value(False, f"argument of {name}()")
        return self._by_form(f"argument of {name}()") if name else None

    def _keyword(self, keyword: ast.keyword, child: ast.AST) -> object:
        call = self._module.parent(keyword)
        if not isinstance(call, ast.Call) or keyword.arg is None:
            return None
        name = called_name(call)
        dotted = self._module.resolve(call.func) or ""
        if library_of(dotted) in FOREIGN_LIBRARIES or self._module.is_foreign(call.func) or name in TEXT_SINKS:
            return None
        if name in _FIELD_CALLS and keyword.arg in ("default", "default_factory"):
            return _CLIMB
        if name in _OPTION_CALLS and keyword.arg in ("default", "choices", "const", "type", "value"):
            return self._option(call, keyword.arg)
        if (dotted.endswith(_AMP_CALLS) and keyword.value is self._node) or keyword.arg == "pin_memory_device":
            return None  # NPU501 and NPU502; pin_memory_device is ignored since torch 2.13
        if dotted in _DEVICE_CALLS and keyword.arg == "type":
            return self._value(True, f"argument of {dotted}")
        if is_device_name(keyword.arg):
            return self._value(library_of(dotted) in TORCH_LIBRARIES or name == "dict", f"argument {keyword.arg}=")
        return None if keyword.arg in TEXT_KEYWORDS else self._by_form(f"argument {keyword.arg}=")

    def _option(self, call: ast.Call, keyword: str) -> DeviceString | None:
        """Defaults and choices of argparse, click and absl; the option's own name stays."""
        role = Role.CHOICES if keyword in ("choices", "type") else Role.VALUE
        flags = [str(a.value) for a in call.args if isinstance(a, ast.Constant) and a is not self._node]
        flags += [str(k.value.value) for k in call.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)]
        if any(is_device_name(flag) for flag in flags):
            return self._site(role, True, f"{keyword} of the option {flags[0]}")
        others = any(names_other_device(other.value) for other in call.keywords if other.arg != "help")
        if self._choice_evidence or self._indexed or others:
            return self._site(role, False, f"{keyword} of the option {flags[0] if flags else called_name(call)}")
        return None

    def _dict_value(self, literal: ast.Dict, child: ast.AST) -> object:
        around = self._module.parent(literal)
        if child in literal.keys or is_map_location(self._module, literal):
            return None  # keys are a file format; NPU101 takes a dictionary of saved devices as a whole
        if isinstance(around, ast.Subscript) and names_other_device(literal):  # {True: "cuda", False: "cpu"}[...]
            self._choice_evidence = "chosen beside another device"
            return _CLIMB
        key = next((k for k, value in zip(literal.keys, literal.values, strict=True) if value is child), None)
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if is_device_name(key.value):
                return self._value(True, f"value of the key {key.value!r}")
            if key.value in TEXT_KEYWORDS:
                return None
        return self._by_form("dictionary value")

    def _default(self, arguments: ast.arguments, child: ast.AST) -> object:
        parameter = parameter_of_default(arguments, child)
        return self._stored(parameter, f"default of the parameter {parameter!r}")

    def _assigned(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, child: ast.AST) -> object:
        owner = self._module.parent(statement)
        if isinstance(owner, ast.ClassDef) and any("Enum" in self._module.text_of(base) for base in owner.bases):
            return self._site(Role.MEMBER, True, f"member of the enumeration {owner.name}")
        if isinstance(statement, ast.AnnAssign) and "Literal" in self._module.text_of(statement.annotation):
            if names_other_device(statement.annotation):
                return self._value(True, "default of an annotation that allows devices")
        for name in filter(None, map(target_name, targets_of(statement))):
            found = self._stored(name, f"assigned to {name}")
            if found:
                return found
            if reaches_device(self._module, name) or gets_other_device(self._module, name):
                return self._value(False, f"{name} is used as a device")
        return None

    def _stored(self, name: str, why: str) -> DeviceString | None:
        if is_device_name(name):
            return self._value(True, why)
        if self._choice_evidence:
            return self._value(True, self._choice_evidence)
        return None if not TEXT_KEYWORDS.isdisjoint(words_of(name)[-1:]) else self._by_form(why)

    def _returned(self, statement: ast.Return, child: ast.AST) -> object:
        function = self._module.function(statement)
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return None
        if is_device_name(function.name):
            return self._value(True, f"returned by {function.name}()")
        returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
        if any(names_other_device(value) for value in returns):
            return self._value(False, "returned beside another device")
        return self._by_form("returned")

    def _subscripted(self, subscript: ast.Subscript, child: ast.AST) -> object:
        """``Literal["cuda", "cpu"]``, and one of several that is picked out."""
        if child is subscript.value:
            return _CLIMB if self._choice_evidence else None
        if "Literal" in self._module.text_of(subscript.value) and names_other_device(subscript):
            return self._site(Role.CHOICES, True, "allowed by the annotation")
        return None

    def _looped(self, loop: ast.For, child: ast.AST) -> object:
        """``for device in ["cpu", "cuda"]``."""
        name = target_name(loop.target)
        if child is loop.iter and name and is_device_name(name):
            return self._value(True, f"taken by the loop variable {name}")
        return None


_TRANSPARENT = (ast.NamedExpr, ast.Starred, ast.Await)
_STEPS: dict[type[ast.AST], Callable[[Classifier, Any, ast.AST], object]] = {
    ast.IfExp: Classifier._chosen,
    ast.BoolOp: Classifier._either,
    ast.List: Classifier._listed,
    ast.Tuple: Classifier._listed,
    ast.Set: Classifier._listed,
    ast.ListComp: Classifier._element_of_comprehension,
    ast.SetComp: Classifier._element_of_comprehension,
    ast.GeneratorExp: Classifier._element_of_comprehension,
    ast.BinOp: Classifier._operand,
    ast.Attribute: Classifier._method,
    ast.Lambda: Classifier._made_by_factory,
    ast.Compare: Classifier._compared,
    ast.MatchValue: Classifier._matched,
    ast.Call: Classifier._argument,
    ast.keyword: Classifier._keyword,
    ast.Dict: Classifier._dict_value,
    ast.arguments: Classifier._default,
    ast.Assign: Classifier._assigned,
    ast.AnnAssign: Classifier._assigned,
    ast.AugAssign: Classifier._assigned,
    ast.Return: Classifier._returned,
    ast.Subscript: Classifier._subscripted,
    ast.For: Classifier._looped,
}
