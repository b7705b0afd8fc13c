"""What speaks for a value being a device: names, other values of the same name, uses where torch wants one."""

from __future__ import annotations

import ast
import re

from npuport.analysis.module import Module
from npuport.analysis.vocabulary import is_device_name, words_of

# Words that stand beside "cuda" when a device is chosen.
_OTHER_DEVICE = re.compile(r"(cpu|mps|xpu|hpu|meta)(:\d+)?|auto")
# Values with such a name are compared with "cuda" for another reason.
_TEXT_WORDS = {"name", "text", "title", "tag", "framework", "env", "activity", "activities", "mode", "impl", "suffix"}

_DEVICE_IN_TEXT = re.compile(r"cuda|npu|accelerator|\bdevice\b")


def names_a_device(module: Module) -> bool:
    """Whether a file speaks of a device anywhere: what does not may be for the CPU alone."""
    found = module.memo.get("names_a_device")
    if found is None:
        found = module.memo["names_a_device"] = _DEVICE_IN_TEXT.search(module.source.text) is not None
    return bool(found)


def is_other_device(text: str) -> bool:
    """Whether a text names a device that is not CUDA's."""
    return _OTHER_DEVICE.fullmatch(text) is not None


def names_other_device(node: ast.AST) -> bool:
    """Whether a string inside ``node`` names a device that is not CUDA's."""
    return any(is_other_device(text) for text in strings_in(node))


def strings_in(node: ast.AST) -> list[str]:
    """All string constants inside a node."""
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def called_name(call: ast.Call) -> str:
    """The last part of the called name; empty where something else is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def target_name(target: ast.expr) -> str | None:
    """The name that an assignment gives a value: a variable, an attribute, a string key."""
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return target.slice.value if isinstance(target.slice.value, str) else None
    return None


def targets_of(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    """What a statement assigns to."""
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def is_text_name(node: ast.expr) -> bool:
    """Whether a variable or attribute is named like a text that people read."""
    return not _TEXT_WORDS.isdisjoint(words_of(target_name(node) or ""))


def key_is_device(call: ast.Call) -> bool:
    """``config.get("device", ...)``: one of the first arguments is a device-like key."""
    keys = [arg.value for arg in call.args[:2] if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return any(is_device_name(key) and not key.lower().startswith(("cuda", "nccl")) for key in keys)


def is_device(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a device, its type, or its text."""
    if isinstance(node, ast.Call):
        return _call_gives_device(module, node)
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return is_device_name(node.slice.value)
        return is_device(module, node.value)
    if isinstance(node, ast.Attribute):
        return (node.attr == "type" or is_device_name(node.attr)) and not module.is_foreign(node)
    return isinstance(node, ast.Name) and is_device_name(node.id)


def _call_gives_device(module: Module, call: ast.Call) -> bool:
    if module.resolve(call.func) == "torch.device":
        return True
    name = called_name(call)
    if name in ("str", "repr"):
        return bool(call.args) and is_device(module, call.args[0])
    if name in ("lower", "split", "strip", "partition"):
        return isinstance(call.func, ast.Attribute) and is_device(module, call.func.value)
    return is_device_name(name)


_ACCELERATOR_LITERAL = re.compile(r"[fF]?[\"'](?:cuda|npu)\b")


def is_accelerator(module: Module, place: ast.expr) -> bool:
    """Whether a device is the accelerator, as far as one file tells.

    A literal such as ``"cuda:0"``, ``torch.device`` of one, or a variable that is named like a device and is not
    only ever set to the CPU.
    """
    if isinstance(place, ast.Call) and module.resolve(place.func) == "torch.device":
        return not place.args or is_accelerator(module, place.args[0])
    if isinstance(place, ast.Constant | ast.JoinedStr):
        return _ACCELERATOR_LITERAL.match(module.text_of(place)) is not None
    if isinstance(place, ast.Name):
        values = [binding.value for binding in module.names.bindings(place.id, place)]
    else:
        name = target_name(place)
        values = [s.value for s in module.index.assignments if name and name in map(target_name, targets_of(s))]
    if values and all(value is not None and _is_host(module, value) for value in values):
        return False
    return isinstance(place, ast.Name | ast.Attribute) and is_device(module, place)


def _is_host(module: Module, value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and module.resolve(value.func) == "torch.device":
        return bool(value.args) and _is_host(module, value.args[0])
    return isinstance(value, ast.Constant) and value.value == "cpu"


_MADE_ON_HOST = frozenset(
    {"tensor", "as_tensor", "zeros", "ones", "full", "eye", "arange", "linspace", "rand", "randn"}
)
_OTHER_DEFAULT = re.compile(r"set_default_device|set_default_tensor_type|with torch\.device\(")


def is_on_host(module: Module, value: ast.expr) -> bool:
    """Whether a tensor is plainly on the CPU: ``x.cpu()``, ``torch.from_numpy(x)``, ``torch.ones(3)`` without device.

    Looks through methods that keep the device, and through names that have one value.
    """
    for _ in range(8):
        if isinstance(value, ast.Name):
            bindings = module.names.bindings(value.id, value)
            if len(bindings) != 1 or bindings[0].value is None:
                return False
            value = bindings[0].value
        if not isinstance(value, ast.Call):
            return False
        dotted = module.resolve(value.func)
        if dotted is not None:
            return _is_made_on_host(module, value, dotted)
        if not isinstance(value.func, ast.Attribute) or value.func.attr in ("to", "cuda", "npu", "type"):
            return False
        if value.func.attr == "cpu":
            return True
        value = value.func.value
    return False


def _is_made_on_host(module: Module, call: ast.Call, dotted: str) -> bool:
    if dotted == "torch.from_numpy":
        return True
    plain = all(keyword.arg is not None and keyword.arg != "device" for keyword in call.keywords)
    made = dotted.startswith("torch.") and dotted.removeprefix("torch.") in _MADE_ON_HOST and plain
    if dotted == "torch.as_tensor":  # a tensor stays where it is; a list or a number is put on the CPU
        made = made and bool(call.args) and isinstance(call.args[0], ast.List | ast.Tuple | ast.Constant)
    return made and _OTHER_DEFAULT.search(module.source.text) is None


def reaches_device(module: Module, name: str) -> bool:
    """Whether a name of this file is used where torch wants a device."""
    uses: list[ast.expr] = [*module.index.names.get(name, ()), *module.index.attributes.get(name, ())]
    return any(_is_device_position(module, use) for use in uses)


def _is_device_position(module: Module, use: ast.expr) -> bool:
    parent = module.parent(use)
    if isinstance(parent, ast.keyword):
        return parent.arg in ("device", "map_location")
    if isinstance(parent, ast.Call) and use in parent.args:
        return called_name(parent) in ("to", "cuda") or module.resolve(parent.func) == "torch.device"
    return False


def gets_other_device(module: Module, name: str) -> bool:
    """Whether the same name is set to ``"cpu"`` or ``"mps"`` somewhere in the file."""
    for statement in module.index.assignments:
        value = statement.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and is_other_device(value.value):
            if any(target_name(target) == name for target in targets_of(statement)):
                return True
    return False


def parameter_of_default(arguments: ast.arguments, default: ast.AST) -> str:
    """The parameter that a default value belongs to; empty where it is none."""
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(
        zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    )
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return next((parameter.arg for parameter, value in pairs if value is default), "")


def parameter_default(module: Module, name: ast.Name) -> ast.expr | None:
    """The default of the parameter that a name stands for; for any other name the one value that it is bound to."""
    bindings = module.names.bindings(name.id, name)
    if len(bindings) != 1:
        return None
    function = module.parent(module.parent(bindings[0].node) or bindings[0].node)
    if not bindings[0].parameter or not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return bindings[0].value
    defaults = [*function.args.defaults, *function.args.kw_defaults]
    return next((d for d in defaults if d and parameter_of_default(function.args, d) == name.id), None)


def parameter_of_argument(module: Module, call: ast.Call, argument: ast.AST) -> str | None:
    """The parameter of a function or class of this file that a positional argument lands on."""
    position = next((place for place, value in enumerate(call.args) if value is argument), None)
    if position is None:
        return None
    function, skipped = called_function(module, call)
    if function is None:
        return None
    parameters = [*function.args.posonlyargs, *function.args.args]
    place = position + skipped
    return parameters[place].arg if place < len(parameters) else None


def class_of(module: Module, value: ast.expr) -> ast.ClassDef | None:
    """The class of this file that a value is an instance of, where that is plain to see.

    ``self`` inside a method, ``Buffer(...)``, and names and attributes that are only ever set to such a call.
    """
    if isinstance(value, ast.Name) and value.id in ("self", "cls"):
        return module.enclosing(value, ast.ClassDef)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        bindings = module.names.bindings(value.func.id, value.func)
        return next((b.node for b in bindings if isinstance(b.node, ast.ClassDef)), None)
    sources: list[ast.expr | None] = []
    if isinstance(value, ast.Name):
        bindings = module.names.bindings(value.id, value)
        annotations = [b.node.annotation for b in bindings if isinstance(b.node, ast.arg)]
        if annotations and isinstance(annotations[0], ast.Name):  # storage: Storage
            return class_of(module, ast.Call(annotations[0], [], []))
        sources = [binding.value for binding in bindings]
    elif isinstance(value, ast.Attribute):
        statements = [s for s in module.index.assignments if any(target_name(t) == value.attr for t in targets_of(s))]
        sources = [statement.value for statement in statements]
    classes = {class_of(module, source) if isinstance(source, ast.Call) else None for source in sources}
    return classes.pop() if len(classes) == 1 else None


def has_method(module: Module, value: ast.expr, name: str) -> bool:
    """Whether a value is an instance of a class of this file that has such a method itself."""
    owner = class_of(module, value)
    return owner is not None and any(isinstance(f, ast.FunctionDef) and f.name == name for f in owner.body)


def makers_of(module: Module, value: ast.expr) -> list[str]:
    """The dotted names of the calls that make a value, in its place or where its name is bound."""
    made: list[ast.expr | None] = [value]
    if isinstance(value, ast.Name):
        made = [binding.value for binding in module.names.bindings(value.id, value)]
    return [module.resolve(node.func) or "" for node in made if isinstance(node, ast.Call)]


def called_function(module: Module, call: ast.Call) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef | None, int]:
    """The function of this file that a call runs, and how many parameters are bound before its arguments.

    A class stands for its ``__init__``; of methods the one that alone has the name is taken.
    """
    if isinstance(call.func, ast.Name):
        for binding in module.names.bindings(call.func.id, call.func):
            if isinstance(binding.node, ast.FunctionDef | ast.AsyncFunctionDef):
                return binding.node, 0
            if isinstance(binding.node, ast.ClassDef):
                methods = [f for f in binding.node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
                return (methods[0], 1) if methods else (None, 0)
        return None, 0
    named = [f for f in module.index.functions if f.name == called_name(call)]
    if len(named) != 1:
        return None, 0
    first = next(iter([*named[0].args.posonlyargs, *named[0].args.args]), None)
    return named[0], int(first is not None and first.arg in ("self", "cls"))
