"""Whether a string such as ``"cuda:0"`` is a device, a text that people read, or something else."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import Enum

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

# "cuda", "cuda:1", and the forms that get their index later: "cuda:", "cuda:%d", "cuda:{}", "cuda:{rank}".
_DEVICE = re.compile(r"cuda(:(\d+|%[ds]|\{[^{}]*\})?)?")
# Words that stand beside "cuda" when a device is chosen.
_OTHER_DEVICE = re.compile(r"(cpu|mps|xpu|hpu|meta)(:\d+)?|auto")
_QUESTION_METHODS = {"startswith", "find", "count", "__eq__", "index"}
_OPTION_CALLS = {"add_argument", "option", "Option", "Argument", "argument", "field", "Field", "DEFINE_string", "add_option", "DEFINE_enum"}
_DEVICE_CALLS = ("torch.device", "torch.Generator", "torch.set_default_device", "torch.get_device_module")
_DEFAULT_GETTERS = {"get", "pop", "setdefault", "getattr", "getenv", "get_param", "setattr"}


class Role(Enum):
    """What is done with a device string."""

    VALUE = "value"  # it becomes a device
    QUESTION = "question"  # a device is compared with it
    CHOICES = "choices"  # it is one of the values that an option accepts


@dataclass(frozen=True)
class DeviceString:
    """A string literal that names a CUDA device.

    Attributes:
        node: the literal, a constant or an f-string.
        role: what is done with it.
        anchor: for a question the comparison or call that asks, else the literal.
        certain: False where only the form of the string or a name speaks for it.
        why: the evidence, for people.
    """

    node: ast.Constant | ast.JoinedStr
    role: Role
    anchor: ast.expr
    certain: bool
    why: str


def device_strings(module: Module) -> list[DeviceString]:
    """All CUDA device strings of a file, in source order; the list is shared between rules."""
    found = module.memo.get("device_strings")
    if found is None:
        candidates: list[ast.Constant | ast.JoinedStr] = [*module.index.strings, *module.index.format_strings]
        sites = [site for node in candidates if _spells_device(node) and (site := classify(module, node))]
        found = module.memo["device_strings"] = sorted(sites, key=lambda s: (s.node.lineno, s.node.col_offset))
    return found  # type: ignore[return-value]


def named_device(node: ast.AST) -> str | None:
    """The device type that a literal names: ``cuda`` of ``"cuda:0"``; None where it is no literal."""
    return node.value.partition(":")[0] if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _spells_device(node: ast.Constant | ast.JoinedStr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and bool(_DEVICE.fullmatch(node.value))
    # f"cuda:{rank}" and f"{'cuda'}:{rank}" are devices; f"cuda:{rank} is full" is a sentence.
    first = node.values[0] if node.values else None
    if not (isinstance(first, ast.Constant) and first.value == "cuda:"):
        return False
    return len(node.values) == 2 and isinstance(node.values[1], ast.FormattedValue)


def classify(module: Module, node: ast.Constant | ast.JoinedStr) -> DeviceString | None:
    """What the literal ``node`` is; None where it is no device."""
    if isinstance(module.parent(node), ast.JoinedStr | ast.FormattedValue) and isinstance(node, ast.Constant):
        if isinstance(module.parent(node), ast.JoinedStr):
            return None  # the f-string around it is the candidate
    return _Classifier(module, node).classify()


class _Classifier:
    """Climbs from one literal to what consumes it."""

    def __init__(self, module: Module, node: ast.Constant | ast.JoinedStr) -> None:
        self._module = module
        self._node = node
        value = node.value if isinstance(node, ast.Constant) else "cuda:{}"
        # "cuda:0" is hardly ever anything but a device; a bare "cuda" may be any word.
        self._indexed = isinstance(value, str) and ":" in value
        self._choice_evidence: str | None = None

    def classify(self) -> DeviceString | None:
        child: ast.AST = self._node
        parent = self._module.parent(child)
        while parent is not None:
            if isinstance(parent, ast.Compare):
                return self._compared(parent, child)
            if isinstance(parent, ast.match_case | ast.MatchValue):
                return self._site(Role.QUESTION, True, "a device is matched against it")
            verdict = self._consumed(parent, child)
            if verdict is not _CLIMB:
                return verdict  # type: ignore[return-value]
            child, parent = parent, self._module.parent(parent)
        return None

    def _site(self, role: Role, certain: bool, why: str, anchor: ast.expr | None = None) -> DeviceString:
        return DeviceString(self._node, role, anchor or self._node, certain, why)

    def _value(self, certain: bool, why: str) -> DeviceString:
        return self._site(Role.VALUE, certain, why)

    def _consumed(self, parent: ast.AST, child: ast.AST) -> object:
        """The verdict of one step upwards, or _CLIMB where ``parent`` only passes the value on."""
        if isinstance(parent, ast.IfExp):
            if child is parent.test:
                return None
            self._note_choice(parent, child)
            return _CLIMB
        if isinstance(parent, ast.BoolOp | ast.NamedExpr | ast.Starred | ast.Await | ast.List | ast.Tuple | ast.Set):
            return _CLIMB
        if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return _CLIMB if child is parent.elt else None
        if isinstance(parent, ast.BinOp):
            return _CLIMB if isinstance(parent.op, ast.Mod | ast.Add) and child is parent.left else None
        if isinstance(parent, ast.Attribute):
            return _CLIMB if parent.attr in ("format", "lower", "strip") else None
        if isinstance(parent, ast.Call):
            return self._argument(parent, child)
        if isinstance(parent, ast.keyword):
            return self._keyword(parent)
        if isinstance(parent, ast.Dict):
            return self._dict_value(parent, child)
        if isinstance(parent, ast.arguments):
            return self._default(parent, child)
        if isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return self._assigned(parent)
        if isinstance(parent, ast.Return):
            return self._returned(parent)
        if isinstance(parent, ast.Subscript) and "Literal" in self._module.text_of(parent.value):
            return self._literal_annotation(parent)
        if isinstance(parent, ast.For):
            return self._loop(parent, child)
        return None

    # ---- consumers

    def _note_choice(self, choice: ast.IfExp, child: ast.AST) -> None:
        """``"cuda" if ... else "cpu"`` is a choice of a device, whatever its name."""
        other = choice.orelse if child is choice.body else choice.body
        text = self._module.text_of(other).strip("\"'() ")
        if _OTHER_DEVICE.fullmatch(text) or any(_OTHER_DEVICE.fullmatch(s) for s in _strings_in(other)):
            self._choice_evidence = "chosen beside another device"
        elif "cuda" in self._module.text_of(choice.test) or "accelerator" in self._module.text_of(choice.test):
            self._choice_evidence = "chosen by a test for CUDA"

    def _compared(self, compare: ast.Compare, child: ast.AST) -> DeviceString | None:
        sides = [compare.left, *compare.comparators]
        others = [side for side in sides if side is not child]
        operator = compare.ops[0]
        if len(sides) != 2:
            return None
        if isinstance(operator, ast.In | ast.NotIn) and child is compare.left:
            # "cuda" in str(device) asks a device; "cuda" in args.exp_name asks a text.
            if self._is_device(others[0]) and not isinstance(others[0], ast.Dict | ast.List | ast.Tuple | ast.Set):
                return self._site(Role.QUESTION, True, "a device is asked for it", compare)
            return None
        if isinstance(operator, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            if self._is_device(others[0]):
                return self._site(Role.QUESTION, True, "compared with a device", compare)
            if self._module.is_foreign(others[0]) or _is_text_name(others[0]):
                return None
            return self._site(Role.QUESTION, False, "compared with a value that is likely a device", compare)
        return None

    def _argument(self, call: ast.Call, child: ast.AST) -> object:
        module = self._module
        name = _called_name(call)
        dotted = module.resolve(call.func) or ""
        if child is call.func:  # "cuda:{}".format(rank)
            return _CLIMB
        if name in _QUESTION_METHODS and isinstance(call.func, ast.Attribute):
            if name == "startswith" and self._is_device(call.func.value):
                return self._site(Role.QUESTION, True, "a device is asked for it", call)
            return None
        if library_of(dotted) in FOREIGN_LIBRARIES or module.is_foreign(call.func):
            return None
        if dotted.endswith((".autocast", ".GradScaler")):
            return None  # NPU501 and NPU502
        if dotted in _DEVICE_CALLS:
            return self._value(True, f"argument of {dotted}")
        if name == "to" and isinstance(call.func, ast.Attribute):
            return self._value(True, "argument of .to()")
        if name in ("getattr", "hasattr"):
            return self._value(True, "default of a device attribute") if len(call.args) == 3 and _key_is_device(call) else None
        if name in _OPTION_CALLS:
            return self._option(call)
        if name in _DEFAULT_GETTERS:
            return self._value(True, "default of a device key") if _key_is_device(call) else self._by_form("default")
        if name in ("str", "list", "tuple", "set", "Choice", "frozenset", "cast", "next", "iter"):
            return _CLIMB
        if name in ("parametrize",):
            return self._value(True, "test parameter") if _key_is_device(call) else None
        return self._positional(call, child, name, dotted)

    def _positional(self, call: ast.Call, child: ast.AST, name: str, dotted: str) -> DeviceString | None:
        if name in TEXT_SINKS or name.endswith(("Error", "Exception", "Warning")):
            return None
        parameter = self._parameter_name(call, child)
        if parameter is not None and is_device_name(parameter):
            return self._value(True, f"passed to the parameter {parameter!r}")
        if dotted.startswith("torch.") or (library_of(dotted) in TORCH_LIBRARIES and self._indexed):
            return self._value(True, f"argument of {dotted}")
        if is_device_name(name):
            return self._value(False, f"argument of {name}()")
        return self._by_form(f"argument of {name}()") if name else None

    def _parameter_name(self, call: ast.Call, child: ast.AST) -> str | None:
        """The parameter of a function or class of this file that a positional argument lands on."""
        if child not in call.args:
            return None
        position = call.args.index(child)  # type: ignore[arg-type]
        name = _called_name(call)
        if isinstance(call.func, ast.Name):
            for binding in self._module.names.bindings(name, call.func):
                function = binding.node
                if isinstance(function, ast.ClassDef):
                    function = next((f for f in function.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), function)
                    position += 1
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                    arguments = [*function.args.posonlyargs, *function.args.args]
                    return arguments[position].arg if position < len(arguments) else None
            return None
        named = [f for f in self._module.index.functions if f.name == name]
        if len(named) == 1 and isinstance(call.func, ast.Attribute):
            arguments = [*named[0].args.posonlyargs, *named[0].args.args]
            is_method = bool(arguments) and arguments[0].arg in ("self", "cls")
            return arguments[position + is_method].arg if position + is_method < len(arguments) else None
        return None

    def _keyword(self, keyword: ast.keyword) -> DeviceString | None | object:
        call = self._module.parent(keyword)
        if not isinstance(call, ast.Call):
            return None
        name = _called_name(call)
        dotted = self._module.resolve(call.func) or ""
        if library_of(dotted) in FOREIGN_LIBRARIES or self._module.is_foreign(call.func):
            return None
        if name in _OPTION_CALLS and keyword.arg in ("default", "choices", "const", "type", "value"):
            return self._option(call, keyword.arg)
        if dotted.endswith((".autocast", ".GradScaler")):
            return None  # NPU501 and NPU502
        if dotted in _DEVICE_CALLS and keyword.arg == "type":
            return self._value(True, f"argument of {dotted}")
        if keyword.arg is None or name in TEXT_SINKS:
            return None
        if keyword.arg == "pin_memory_device":
            return None  # deprecated and ignored since torch 2.13: nothing to port
        if is_device_name(keyword.arg):
            known = library_of(dotted) in TORCH_LIBRARIES
            return self._value(known or name == "dict", f"argument {keyword.arg}=")
        if keyword.arg in TEXT_KEYWORDS:
            return None
        return self._by_form(f"argument {keyword.arg}=")

    def _option(self, call: ast.Call, keyword: str = "default") -> DeviceString | None | object:
        """Defaults and choices of argparse, click, tyro, dataclasses and pydantic."""
        name = _called_name(call)
        role = Role.CHOICES if keyword in ("choices", "type") else Role.VALUE
        if name in ("field", "Field", "Option", "Argument"):
            return _CLIMB  # the annotated name or parameter around it tells
        flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str) and a is not self._node]
        flags += [k.value.value for k in call.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)]  # type: ignore[misc]
        if any(is_device_name(flag) for flag in flags):
            return self._site(role, True, f"{keyword} of the option {flags[0]}")
        if self._choice_evidence or self._indexed or _OTHER_DEVICE_NEAR(call):
            return self._site(role, False, f"{keyword} of the option {flags[0] if flags else name}")
        return None

    def _dict_value(self, literal: ast.Dict, child: ast.AST) -> DeviceString | None:
        if child in literal.keys:
            return None
        if isinstance(parent := self._module.parent(literal), ast.keyword) and parent.arg == "map_location":
            return None  # NPU101 handles the dictionary as a whole
        key = literal.keys[literal.values.index(child)] if child in literal.values else None  # type: ignore[arg-type]
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if is_device_name(key.value):
                return self._value(True, f"value of the key {key.value!r}")
            if key.value in TEXT_KEYWORDS:
                return None
        return self._by_form("dictionary value")

    def _default(self, arguments: ast.arguments, child: ast.AST) -> DeviceString | None:
        parameter = _parameter_of_default(arguments, child)
        return self._stored(parameter, f"default of the parameter {parameter!r}")

    def _assigned(self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> DeviceString | None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            name = _target_name(target)
            if name is None:
                continue
            found = self._stored(name, f"assigned to {name}")
            if found:
                return found
            if self._reaches_device(name) or self._gets_other_device(name):
                return self._value(False, f"{name} is used as a device")
        return None

    def _stored(self, name: str, why: str) -> DeviceString | None:
        if is_device_name(name):
            return self._value(True, why)
        if any(word in TEXT_KEYWORDS for word in words_of(name)[-1:]):
            return None
        return self._by_form(why)

    def _returned(self, statement: ast.Return) -> DeviceString | None:
        function = self._module.function(statement)
        name = function.name if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else ""
        if is_device_name(name):
            return self._value(True, f"returned by {name}()")
        others = {s for node in ast.walk(function) if isinstance(node, ast.Return) and node.value for s in _strings_in(node.value)} if function else set()
        if any(_OTHER_DEVICE.fullmatch(text) for text in others):
            return self._value(False, "returned beside another device")
        return self._by_form("returned")

    def _literal_annotation(self, subscript: ast.Subscript) -> DeviceString | None:
        if any(_OTHER_DEVICE.fullmatch(text) for text in _strings_in(subscript)):
            return self._site(Role.CHOICES, True, "allowed by the annotation")
        return None

    def _loop(self, loop: ast.For, child: ast.AST) -> DeviceString | None:
        """``for device in ["cpu", "cuda"]``."""
        name = _target_name(loop.target)
        if child is loop.iter and name and is_device_name(name):
            return self._value(True, f"taken by the loop variable {name}")
        return None

    # ---- evidence

    def _by_form(self, why: str) -> DeviceString | None:
        """Without a device-like name, the form ``cuda:0`` or the choice around it has to speak."""
        if self._choice_evidence:
            return self._value(True, self._choice_evidence)
        return self._value(False, f"{why}; the form is a device's") if self._indexed else None

    def _is_device(self, node: ast.expr) -> bool:
        """Whether an expression is a device, its type or its text."""
        if isinstance(node, ast.Call):
            if self._module.resolve(node.func) == "torch.device":
                return True
            name = _called_name(node)
            if name in ("str", "lower", "repr") or name in ("split", "strip", "partition"):
                inner = node.args[0] if node.args and name in ("str", "repr") else getattr(node.func, "value", None)
                return inner is not None and self._is_device(inner)
            return is_device_name(name) and name not in ("device_count",)
        if isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return is_device_name(node.slice.value)
            return self._is_device(node.value)
        if isinstance(node, ast.Attribute):
            if node.attr == "type" or is_device_name(node.attr):
                return not self._module.is_foreign(node)
            return False
        if isinstance(node, ast.Name):
            return is_device_name(node.id)
        return False

    def _reaches_device(self, name: str) -> bool:
        """Whether a name of this file is used where torch wants a device."""
        leaf = name.rpartition(".")[2]
        uses: list[ast.expr] = [*self._module.index.names.get(leaf, ()), *self._module.index.attributes.get(leaf, ())]
        return any(self._is_device_use(use) for use in uses)

    def _is_device_use(self, use: ast.expr) -> bool:
        parent = self._module.parent(use)
        if isinstance(parent, ast.keyword):
            return parent.arg in ("device", "map_location")
        if isinstance(parent, ast.Call) and use in parent.args:
            return _called_name(parent) in ("to", "cuda") or self._module.resolve(parent.func) == "torch.device"
        return False

    def _gets_other_device(self, name: str) -> bool:
        """Whether the same name is set to ``"cpu"`` or ``"mps"`` somewhere."""
        for statement in self._module.index.assignments:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            value = statement.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and _OTHER_DEVICE.fullmatch(value.value):
                if any(_target_name(target) == name for target in targets):
                    return True
        return False


_CLIMB = object()


def _called_name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _target_name(target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
        return target.slice.value
    return None


def _is_text_name(node: ast.expr) -> bool:
    name = _target_name(node) or ""
    return bool({"name", "text", "title", "tag", "framework", "env"} & set(words_of(name)))


def _key_is_device(call: ast.Call) -> bool:
    keys = [arg for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return any(is_device_name(str(key.value)) and not _DEVICE.fullmatch(str(key.value)) for key in keys)


def _strings_in(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _OTHER_DEVICE_NEAR(call: ast.Call) -> bool:
    return any(_OTHER_DEVICE.fullmatch(text) for keyword in call.keywords if keyword.arg != "help" for text in _strings_in(keyword.value))


def _parameter_of_default(arguments: ast.arguments, default: ast.AST) -> str:
    positional = [*arguments.posonlyargs, *arguments.args]
    for parameter, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        if value is default:
            return parameter.arg
    for parameter, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if keyword_default is default:
            return parameter.arg
    return ""
