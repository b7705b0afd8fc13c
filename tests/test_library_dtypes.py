"""The dtypes that the tables give are those that torch and NumPy give."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from npuport.analysis.flow.library.numpy_functions import FUNCTIONS, REDUCTIONS
from npuport.analysis.flow.library.operator_table import OPERATORS
from npuport.analysis.flow.value import ARRAY, LOADER, MAPPING, NUMBER, NUMPY_SCALAR, SEQUENCE, TENSOR, Value
from tests.literal_evaluation import LIBRARIES, evaluate

# torch alone, without the backends that are installed beside it.
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

# The dtypes that count as others.
SAME_AS = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int32",
           "uint64": "int64", "longdouble": "float64"}  # fmt: skip
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")


def really(text: str) -> object:
    """What the real libraries give."""
    names: dict[str, Any] = {"torch": torch, "np": np, "nn": torch.nn, "F": torch.nn.functional}
    names["D"] = torch.distributions
    for name, module in LIBRARIES.items():
        if name not in names and module in ("random", "math", "itertools", "functools", "collections", "copy"):
            names[name] = __import__(module)
    names["data"] = torch.utils.data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, names)


def described(result: object) -> str:
    """A result in the words of abstract values, as far as dtypes go."""
    if isinstance(result, torch.Tensor):
        return f"{TENSOR} {_dtype(str(result.dtype).removeprefix('torch.'))}"
    if isinstance(result, np.ndarray):
        return f"{ARRAY} {_dtype(str(result.dtype))}"
    if isinstance(result, np.generic):
        return "bool" if isinstance(result, np.bool_) else f"{NUMPY_SCALAR} {_dtype(str(result.dtype))}"
    if isinstance(result, (bool, int, float)):
        return type(result).__name__
    if isinstance(result, (tuple, list)):
        return "(" + ", ".join(map(described, result)) + ")"
    raise AssertionError(f"no word for {type(result)}")


def _dtype(name: str) -> str:
    return SAME_AS.get(name, name)


def told(value: Value, like: object) -> str:
    """An abstract value in the same words; a sequence of unknown length as long as the real one."""
    (atom,) = value.atoms.values()
    if atom.kind == SEQUENCE:
        assert isinstance(like, (tuple, list))
        items = atom.items if isinstance(atom.items, tuple) else (atom.element,) * len(like)
        return "(" + ", ".join(told(item, real) for item, real in zip(items, like, strict=True) if item) + ")"
    if atom.kind == NUMBER or (atom.kind == NUMPY_SCALAR and atom.dtypes == {"bool"}):
        return "|".join(sorted(atom.dtypes))
    return f"{atom.kind} {'|'.join(sorted(atom.dtypes))}"


def agree(text: str) -> None:
    result = really(text)
    assert told(evaluate(text), result) == described(result), text


TENSORS = {dtype: f"torch.eye(4, dtype=torch.{dtype})" for dtype in DTYPES}
ARRAYS = {dtype: f"np.eye(4, dtype=np.{dtype})" for dtype in DTYPES}
REFUSALS = (
    TypeError, RuntimeError, ZeroDivisionError, ValueError, NotImplementedError, IndexError, AttributeError,
    AssertionError, np.linalg.LinAlgError,
)  # fmt: skip


def works(text: str) -> bool:
    """Whether the real library takes it."""
    try:
        really(text)
    except REFUSALS:
        return False
    return True


# What to hand an operator behind its tensor, tried in this order until torch takes it.
MORE_ARGUMENTS = (
    "", "0", "{x}", "0.5", "1", "{x}, {x}", "1, 0", "0, 1", "2, 0", "0, 1, 2", "(4, 4)", "[2, 2]", "[2, 2], 0", "{i}",
    "0, {i}", "0, {i}, {x}", "0, {v}, {x}", "0, {v}", "0, {v}, 1", "{b}, 1", "{b}", "{b}, {x}", "{x}, 0.5", "(1, 1)",
    "0, {i}, {x}, 'sum'", "{v}", "({v},), {x}[0]", "{x}[0], 0", "{x}, 0, 0", "0, (4,)", "(4,)", "(2, 2), (4, 1)",
    "{f}[0], {f}[0]", "2, 0, 1", "{x}[None]", "{x}[0], {x}, {x}[0]",
    "{x}[0, :1]",
)  # fmt: skip
OPERANDS = {
    "i": "torch.ones(4, 4, dtype=torch.int64)",
    "v": "torch.ones(4, dtype=torch.int64)",
    "b": "torch.ones(4, 4, dtype=torch.bool)",
    "f": "torch.ones(4, 4)",
}
SHAPES = ("{x}", "{x}[0]", "{x}[None]", "{x}[None, None]", "{x}[0][0]")
# Their tensor is not the first argument.
SPELLED_OUT = {
    "where": "torch.where({b}, {x}, {x})",
    "einsum": "torch.einsum('ij,jk->ik', {x}, {x})",
    "cross": "torch.linalg.cross({x}[:, :3], {x}[:, :3])",
    "conv1d": "F.conv1d({x}[None], {x}[:, :, None])",
    "conv2d": "F.conv2d({x}[None, None], {x}[None, None])",
    "conv_transpose2d": "F.conv_transpose2d({x}[None, None], {x}[None, None])",
    "embedding": "F.embedding({v}, {x})",
}
# They need a tensor that is sparse, wants gradients, or is copied to an accelerator.
NOT_TRIED = {"coalesce", "data", "pin_memory", "requires_grad_", "retain_grad", "to_dense", "to_sparse"}


def calls_of(name: str) -> Iterator[str]:
    """Calls of an operator, as method and as function, that may or may not be right."""
    if name in SPELLED_OUT:
        yield SPELLED_OUT[name]
        return
    homes = [home for home in ("torch", "F", "torch.linalg", "torch.special") if hasattr(really(home), name)]
    for shape, more in itertools.product(SHAPES, MORE_ARGUMENTS):
        if hasattr(torch.Tensor, name):
            yield f"{shape}.{name}({more})"
        for home in homes:
            yield f"{home}.{name}({shape}, {more})"


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - NOT_TRIED))
def test_an_operator_of_torch_gives_the_dtype_of_the_table(name: str) -> None:
    for call in calls_of(name):
        texts = [call.format(x=TENSORS[dtype], **OPERANDS) for dtype in DTYPES]
        taken = [text for text in texts if works(text)]
        for text in taken:
            agree(text)
        if taken:
            return
    pytest.fail(f"torch takes {name} with none of the arguments tried")


OPERATORS_OF_PYTHON = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "<", "==")
NUMBERS = ("2", "2.0", "True")


# NumPy counts with bools in its own way (int8), which nobody asks for.
WITHOUT_BOOLS = frozenset({"//", "%", "**"})


@pytest.mark.parametrize("operator", OPERATORS_OF_PYTHON)
@pytest.mark.parametrize("operands", [TENSORS, ARRAYS], ids=["torch", "numpy"])
def test_two_operands_promote_as_in_the_library(operands: dict[str, str], operator: str) -> None:
    sides = [text for dtype, text in operands.items() if dtype != "bool" or operator not in WITHOUT_BOOLS]
    numbers = NUMBERS if operator not in WITHOUT_BOOLS else NUMBERS[:2]
    pairs = [*itertools.product(sides, sides), *itertools.product(sides, numbers), *itertools.product(numbers, sides)]
    taken = [text for text in (f"{left} {operator} {right}" for left, right in pairs) if works(text)]
    assert len(taken) > 10
    for text in taken:
        agree(text)


@pytest.mark.parametrize("operator", ["+", "*", "/"])
def test_a_tensor_with_an_array_or_a_scalar_of_numpy_promotes_as_in_torch(operator: str) -> None:
    tensors = [text for dtype, text in TENSORS.items() if dtype != "bool"]
    arrays = [text for dtype, text in ARRAYS.items() if dtype != "bool"]
    scalars = [f"np.{dtype}(2)" for dtype in DTYPES]
    taken = [
        text
        for text in (f"{left} {operator} {right}" for left, right in itertools.product(tensors, arrays + scalars))
        if works(text)
    ]
    assert len(taken) > len(tensors)
    for text in taken:
        agree(text)


# What to hand a function of NumPy behind its array, tried in this order until NumPy takes it.
MORE_FOR_NUMPY = ("", "2", "0, 1", "1, 0", "(4, 4)", "{i}, 0", "{i}")
OPERANDS_OF_NUMPY = {"i": "np.zeros((4, 4), dtype=int)"}


def calls_in_numpy(name: str) -> Iterator[list[str]]:
    """Calls of a function of NumPy; the first that it takes are compared."""
    home = "np" if hasattr(np, name) else "np.linalg"
    if name in ("take", "searchsorted"):
        yield [f"np.{name}({{x}}[0], [1])"]
    elif name == "where":
        yield [f"np.where(True, {{x}}, {other})" for other in (*ARRAYS.values(), *NUMBERS)]
    elif name in FUNCTIONS and FUNCTIONS[name].last == 2:
        yield [f"{home}.{name}({{x}}, {other})" for other in (*ARRAYS.values(), *NUMBERS) if other != "True"]
    elif name in REDUCTIONS:
        quantile = "0.5, " if name in ("percentile", "quantile") else ""
        yield [f"{home}.{name}({{x}}, {quantile}{more})" for more in ("", "axis=0")]
    for more in MORE_FOR_NUMPY:
        yield [f"{home}.{name}({{x}}, {more})"]
        yield [f"{home}.{name}({{x}}[0], {more})"]


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) | set(REDUCTIONS)))
def test_a_function_of_numpy_gives_the_dtype_of_the_table(name: str) -> None:
    if not hasattr(np, name) and not hasattr(np.linalg, name):
        pytest.skip(f"NumPy {np.__version__} has no {name}")
    bools = name in REDUCTIONS
    arrays = [text for dtype, text in ARRAYS.items() if bools or dtype != "bool"]
    for calls in calls_in_numpy(name):
        texts = [call.format(x=array, **OPERANDS_OF_NUMPY) for call in calls for array in arrays]
        taken = [text for text in texts if (bools or "np.bool" not in text) and works(text)]
        for text in taken:
            agree(text)
        if taken:
            return
    pytest.fail(f"NumPy takes {name} with none of the arguments tried")


CREATION = """
torch.zeros(3)
torch.ones(3, dtype=torch.long)
torch.zeros(3, dtype=float)
torch.zeros(3, dtype=int)
torch.zeros(3, dtype=bool)
torch.full((2,), 1)
torch.full((2,), 1.0)
torch.full((2,), True)
torch.arange(3)
torch.arange(0, 1, 0.1)
torch.randint(3, (2,))
torch.randperm(3)
torch.eye(2)
torch.linspace(0, 1, 3)
torch.normal(0.0, 1.0, (3,))
torch.normal(torch.zeros(3), torch.ones(3))
torch.tensor(1)
torch.tensor(1.0)
torch.tensor([True, False])
torch.tensor([1, 2.0])
torch.tensor(np.zeros(3))
torch.tensor([np.float32(1), np.float32(2)])
torch.tensor(np.float64(1))
torch.tensor([1.0], dtype=torch.float64)
torch.as_tensor(np.ones(3, dtype=np.float32))
torch.as_tensor(torch.ones(3, dtype=torch.double))
torch.from_numpy(np.arange(3))
torch.FloatTensor([1, 2])
torch.LongTensor([1, 2])
torch.ByteTensor([1, 2])
torch.BoolTensor([True])
torch.Tensor([1, 2])
torch.zeros_like(torch.ones(3, dtype=torch.uint8))
torch.rand_like(torch.ones(3))
torch.full_like(torch.ones(3), 2)
torch.ones(3).new_zeros(2)
torch.ones(3).new_tensor([1, 2])
torch.ones(3).new_full((2,), 1, dtype=torch.int64)
torch.ones(3).long()
torch.ones(3).to(torch.float64)
torch.ones(3).to(torch.zeros(2, dtype=torch.int32))
torch.ones(3).type(torch.DoubleTensor)
torch.ones(3).type('torch.LongTensor')
torch.ones(3).type_as(torch.zeros(2, dtype=torch.bool))
torch.ones(3).double().numpy()
torch.ones(3).add_(1)
torch.ones(3, dtype=torch.int64).sum().item()
torch.ones(1).item()
torch.ones(1, dtype=torch.bool).item()
torch.ones(3, dtype=torch.bool).sum(dtype=torch.float32)
torch.ones(3, dtype=torch.int64).float().max(0)
torch.ones(3).max()
torch.ones(3).max(torch.zeros(3, dtype=torch.float64))
torch.ones(3).sort()
torch.ones(4).chunk(2)
torch.ones(4).nonzero()
torch.ones(4).unique(return_counts=True)
torch.ones(3).div(2, rounding_mode='floor')
torch.ones(3, dtype=torch.int64).div(2)
torch.ones(3, dtype=torch.int64).clamp(0.5, 1.5)
torch.ones(3, dtype=torch.int64).clamp(min=0.5)
torch.cat([torch.ones(2), torch.ones(2, dtype=torch.float64)])
torch.stack((torch.ones(2, dtype=torch.bool), torch.ones(2)))
torch.where(torch.ones(2) > 0, 1.0, 0.0)
torch.where(torch.ones(2) > 0, torch.ones(2, dtype=torch.float64), 0.0)
torch.where(torch.ones(2) > 0)
F.one_hot(torch.arange(3), 3)
F.softmax(torch.ones(3), dim=0)
F.mse_loss(torch.ones(3), torch.zeros(3))
F.cross_entropy(torch.ones(2, 3), torch.arange(2))
nn.Linear(3, 2)(torch.ones(1, 3))
nn.Linear(3, 2).double()(torch.ones(1, 3).double())
nn.MSELoss()(torch.ones(3), torch.zeros(3))
nn.Linear(3, 2).weight
D.Categorical(logits=torch.ones(3)).sample()
D.Categorical(logits=torch.ones(3)).log_prob(torch.tensor(1))
D.Normal(torch.zeros(3), torch.ones(3)).rsample()
D.Normal(torch.zeros(3).double(), torch.ones(3).double()).entropy()
D.Bernoulli(torch.ones(3)).sample()
D.Independent(D.Normal(torch.zeros(3), torch.ones(3)), 1).log_prob(torch.zeros(3))
nn.utils.parameters_to_vector([torch.ones(3)])
np.zeros(3)
np.zeros(3, np.float32)
np.zeros(3, dtype='float32')
np.full(3, 1)
np.full(3, 1.0)
np.arange(3)
np.arange(0.0, 1.0)
np.array([1, 2])
np.array([1.0, 2])
np.array([True])
np.array([np.float32(1), np.float32(2)])
np.array([np.float32(1), 2.0])
np.array([np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int64)])
np.asarray(torch.ones(3))
np.stack([np.zeros(3), np.zeros(3, dtype=np.float32)])
np.concatenate((np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int64)))
np.float32(1)
np.float32([1, 2])
np.mean([1, 2])
np.sqrt(2)
np.exp(np.float32(1))
np.where(np.ones(2) > 0, 1.0, np.float32(2))
np.random.rand()
np.random.rand(3)
np.random.randn(2, 3)
np.random.normal(0, 1)
np.random.normal(0, 1, size=3)
np.random.normal(np.zeros(3), 1)
np.random.randint(0, 4)
np.random.randint(0, 4, size=3)
np.random.randint(0, 4, 3)
np.random.choice(4, 2)
np.random.choice([0.5, 1.5], 2)
np.random.permutation(4)
np.random.default_rng(0).standard_normal(3, dtype=np.float32)
np.random.default_rng(0).integers(0, 4, size=3)
np.random.default_rng(0).random(3)
np.ones(3).astype(np.float32)
np.ones(3).astype('float32')
np.ones(3, dtype=np.float32).mean()
np.ones(3, dtype=np.int64).mean(axis=0, keepdims=True)
np.ones(3, dtype=np.bool_).sum()
np.ones(3).argmax()
np.ones(3).tolist()
np.ones(3, dtype=np.int64).tolist()
np.ones((2, 2)).max(axis=1)
np.float32(1) * 2.0
np.float32(1) * np.zeros(3)
random.random()
random.randint(0, 3)
random.sample([1, 2], 2)
math.exp(1)
math.floor(1.5)
max(1, 2)
abs(-1.5)
round(1.5)
sum([1, 2])
sum([torch.ones(1), torch.ones(1)])
list(map(torch.tensor, [1.0, 2.0]))
list(map(np.float32, [1.0, 2.0]))
1 / 2
1 // 2
True + True
True & False
1 < 2
"""


@pytest.mark.parametrize("text", CREATION.strip().splitlines())
def test_an_expression_gives_what_it_really_gives(text: str) -> None:
    agree(text)


@pytest.mark.parametrize("sample", ["(torch.ones(2), 1.5)", "(np.zeros(2), 1)", "{'obs': torch.ones(2), 'done': True}"])
def test_a_loader_gives_batches_as_collated_by_torch(sample: str) -> None:
    batch = next(iter(torch.utils.data.DataLoader([really(sample)])))
    told_batch = evaluate(f"data.DataLoader([{sample}])").atoms[LOADER].element
    assert told_batch is not None
    if isinstance(batch, dict):
        items = told_batch.atoms[MAPPING].items
        assert isinstance(items, dict)
        assert {key: told(value, None) for key, value in items.items()} == {
            key: described(value) for key, value in batch.items()
        }
    else:
        assert told(told_batch, batch) == described(batch)
