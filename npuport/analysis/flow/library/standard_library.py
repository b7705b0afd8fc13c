"""Python's standard library, as far as data passes through it: collections, random, math, itertools ..."""

from __future__ import annotations

import ast
from typing import Final

from npuport.analysis.flow.events import CallSite
from npuport.analysis.flow.joining import element_of, join_all
from npuport.analysis.flow.library import containers
from npuport.analysis.flow.library.evaluation import Evaluation
from npuport.analysis.flow.library.python_functions import (
    ONLY_ROWS,
    CallByName,
    kept_marks,
    make_dict,
    reordered,
    report_read,
    zipped,
)
from npuport.analysis.flow.value import (
    A_BOOL,
    A_FLOAT,
    A_TEXT,
    AN_INT,
    CLASS,
    LIBRARY,
    MAPPING,
    NOTHING,
    SEQUENCE,
    UNKNOWN,
    Atom,
    Value,
    sequence,
)

# How the class of a named tuple is told; its fields follow, joined by commas.
NAMEDTUPLE: Final = "namedtuple:"


def call_collections(run: Evaluation, name: str, site: CallSite, call_by_name: CallByName) -> Value:
    """What ``collections.`` something gives."""
    if name == "deque":
        element = element_of(site.first)
        return sequence(element if element else None, marks=kept_marks(site.first))
    if name == "defaultdict":
        return Value(Atom(MAPPING, element=_made_by(run, site.first, site, call_by_name)))
    if name == "Counter":
        return Value(Atom(MAPPING, element=AN_INT))
    if name == "OrderedDict":
        return make_dict(run, name, site)
    return class_of_namedtuple(site) if name == "namedtuple" else UNKNOWN


def _made_by(run: Evaluation, factory: Value, site: CallSite, call_by_name: CallByName) -> Value | None:
    """What a factory without arguments makes."""
    library = factory.get(LIBRARY)
    if library is None:
        return None
    inner = CallSite(site.node, [], {})
    return join_all(call_by_name(run, dotted, inner) for dotted in sorted(library.refs)) or None


def call_dataclasses(run: Evaluation, name: str, site: CallSite, call_by_name: CallByName) -> Value:
    """What ``dataclasses.`` something gives; a field is what its default is."""
    if name == "field":
        if "default" in site.keywords:
            return site.keywords["default"]
        return _made_by(run, site.keywords.get("default_factory", UNKNOWN), site, call_by_name) or UNKNOWN
    if name == "asdict":
        return Value(Atom(MAPPING))
    return site.first if name == "replace" else UNKNOWN


def class_of_namedtuple(site: CallSite) -> Value:
    """The class that ``namedtuple("T", ["obs", "act"])`` makes; unknown where its fields cannot be read."""
    fields = site.node.args[1] if len(site.node.args) > 1 else None
    names: list[str] = []
    if isinstance(fields, ast.Constant) and isinstance(fields.value, str):
        names = fields.value.replace(",", " ").split()
    elif isinstance(fields, (ast.List, ast.Tuple)):
        for item in fields.elts:
            if isinstance(item, ast.Tuple) and item.elts:  # typing.NamedTuple: (name, type)
                item = item.elts[0]
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                names.append(item.value)
    return Value(Atom(CLASS, refs=frozenset({NAMEDTUPLE + ",".join(names)}))) if names else UNKNOWN


def call_random(run: Evaluation, name: str, site: CallSite) -> Value:
    """What ``random.`` something gives; what is drawn from a container are rows."""
    if name in ("sample", "choices"):
        element = element_of(site.first)
        return sequence(element if element else None, marks=ONLY_ROWS)
    if name == "choice":
        return element_of(site.first)
    if name in ("Random", "SystemRandom"):  # its methods are looked up as functions of the module
        return Value(Atom(LIBRARY, refs=frozenset({"random"})))
    return _RANDOM.get(name, UNKNOWN)


_RANDOM: Final = {
    **dict.fromkeys(
        ("random", "uniform", "gauss", "normalvariate", "betavariate", "expovariate", "triangular"), A_FLOAT
    ),
    **dict.fromkeys(("randint", "randrange", "getrandbits"), AN_INT),
    **dict.fromkeys(("seed", "shuffle", "setstate"), NOTHING),
}
_MATH: Final = {
    **dict.fromkeys(("floor", "ceil", "trunc", "comb", "factorial", "gcd", "isqrt", "lcm", "perm"), AN_INT),
    **dict.fromkeys(("isnan", "isinf", "isfinite", "isclose"), A_BOOL),
}


def call_math(run: Evaluation, name: str, site: CallSite) -> Value:
    """What ``math.`` something gives."""
    for value in site.args:
        report_read(run, site, value, "math." + name)
    return _MATH.get(name, A_FLOAT)


def call_itertools(run: Evaluation, name: str, site: CallSite) -> Value:
    """What ``itertools.`` something gives."""
    if name == "chain":
        return sequence(join_all(map(element_of, site.args)) or None)
    if name == "from_iterable":
        return sequence(element_of(element_of(site.first)) or None)
    if name == "repeat":
        return sequence(site.first or None)
    if name == "count":
        return sequence(AN_INT)
    if name == "zip_longest":
        return zipped(run, name, site)
    if name == "product":
        return sequence(sequence(items=tuple(map(element_of, site.args))))
    if name in ("permutations", "combinations"):
        return sequence(sequence(element_of(site.first)))
    return reordered(run, name, site) if name in ("islice", "cycle", "accumulate", "takewhile") else UNKNOWN


# Functions that give their first argument.
PASSING: Final = frozenset({
    "functools.partial", "functools.lru_cache", "functools.cache", "functools.wraps", "copy.copy", "copy.deepcopy",
    "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "rich.progress.track",
})  # fmt: skip
# Other functions whose kind of answer is known.
OTHERS: Final = {
    **dict.fromkeys(("time.time", "time.perf_counter", "time.monotonic", "time.process_time"), A_FLOAT),
    **dict.fromkeys(("os.getpid", "os.cpu_count", "time.time_ns", "time.perf_counter_ns"), AN_INT),
    **dict.fromkeys(("os.path.join", "os.path.dirname", "os.path.basename", "os.path.abspath", "os.getcwd",
                     "time.strftime", "os.path.expanduser"), A_TEXT),
    **dict.fromkeys(("os.path.exists", "os.path.isfile", "os.path.isdir"), A_BOOL),
    **dict.fromkeys(("os.makedirs", "os.mkdir", "time.sleep", "gc.collect"), NOTHING),
    **dict.fromkeys(("tqdm.trange", "tqdm.auto.trange"), sequence(AN_INT)),
}  # fmt: skip


def call_heapq(run: Evaluation, name: str, site: CallSite) -> Value:
    """What ``heapq.`` something gives; pushing changes its first argument."""
    heap = site.first.get(SEQUENCE)
    if heap is None:
        return UNKNOWN
    if name == "heappush" and len(site.args) > 1 and site.node.args:
        containers.push(run, site, site.node.args[0], heap, site.args[1])
        return NOTHING
    return element_of(site.first) if name == "heappop" else UNKNOWN


def reduced(run: Evaluation, site: CallSite) -> Value:
    """``functools.reduce(f, xs)``: taken for one of the elements."""
    return element_of(site.args[1]) if len(site.args) > 1 else UNKNOWN
