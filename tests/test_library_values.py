"""What calls of libraries give beyond dtypes, and what they report."""

from __future__ import annotations

import pytest

from npuport.analysis.flow.dtypes import ANY_DTYPE, ANYWHERE, BOOL, FLOAT32, FLOAT64, INT64, ON_ACCELERATOR, ON_HOST
from npuport.analysis.flow.library import environments, tensor_methods
from npuport.analysis.flow.value import (
    A_FLOAT,
    AN_INT,
    ENVIRONMENT,
    INSTANCE,
    MAPPING,
    ROWS,
    SEQUENCE,
    TENSOR,
    UNKNOWN,
    VECTOR,
    Atom,
    Value,
    array,
    sequence,
    tensor,
)
from tests.literal_evaluation import LiteralEvaluation, evaluate, events

MADE = ("file.py", 7)
ROW = sequence(items=(array(FLOAT32), AN_INT, A_FLOAT))
VARIABLES = {
    "here": tensor(FLOAT64, ON_HOST, MADE),
    "there": tensor(FLOAT32, ON_ACCELERATOR, MADE),
    "somewhere": tensor(ANY_DTYPE, ANYWHERE),
    "dones": tensor(BOOL, ON_ACCELERATOR, MADE),
    "actions": tensor(INT64, ON_ACCELERATOR, MADE),
    "x": UNKNOWN,
    "numbers": array(FLOAT32),
    "either": Value(Atom(TENSOR, FLOAT32, ON_ACCELERATOR), *array(FLOAT32).atoms.values()),
    "device": Value(Atom("device", devices=ON_ACCELERATOR)),
    "memory": sequence(ROW),
    "settings": Value(Atom(MAPPING, items={"lr": A_FLOAT})),
    "env": Value(Atom(ENVIRONMENT)),
    "agent": Value(Atom(INSTANCE, refs=frozenset({"agent.py:Agent"}))),
    "frozen": Value(Atom(INSTANCE, devices=ON_HOST, refs=frozenset({"agent.py:Agent"}))),
}

VALUES = """
torch.zeros(3)                              -> tensor<float32>@host
torch.zeros(3, device='cuda')               -> tensor<float32>@accelerator
torch.zeros(3, device='cuda:1')             -> tensor<float32>@accelerator
torch.zeros(3, device='cpu')                -> tensor<float32>@host
torch.zeros(3, device=x)                    -> tensor<float32>@?
torch.tensor(1.5, device=None)              -> tensor<float32>@host
torch.tensor(x)                             -> tensor<?>@host
torch.device('cuda')                        -> device@accelerator
torch.zeros_like(there)                     -> tensor<float32>@accelerator
torch.cuda.FloatTensor([1])                 -> tensor<float32>@accelerator
torch.as_tensor(there)                      -> tensor<float32>@accelerator
torch.as_tensor(either)                     -> tensor<float32>@accelerator|host
torch.randperm(8)                           -> tensor<int64>@host!rows
torch.arange(x)                             -> tensor<?|int64>@host
torch.cuda.is_available()                   -> number<bool>
torch.no_grad()                             -> context{no grad}
torch.manual_seed(1)                        -> unknown
torch.compile(there)                        -> tensor<float32>@accelerator
here.to(device)                             -> tensor<float64>@accelerator
here.to(x)                                  -> tensor<float64>@?
here.to(device, torch.float32)              -> tensor<float32>@accelerator
here.to(device, non_blocking=True)          -> tensor<float64>@accelerator
here.to(dtype=torch.float32)                -> tensor<float32>@host
here.to(there)                              -> tensor<float32>@accelerator
here.to(there.device)                       -> tensor<float64>@accelerator
here.cuda()                                 -> tensor<float64>@accelerator
there.cpu()                                 -> tensor<float32>@host
there.cpu().numpy()                         -> array<float32>@host
there.detach().data                         -> tensor<float32>@accelerator
there.shape                                 -> sequence[number<int>]
there.shape[0]                              -> number<int>
there.size(0)                               -> number<int>
there.dtype                                 -> dtype<float32>
there.device                                -> device@accelerator
there.backward()                            -> none
there.max(1)[1]                             -> tensor<int64>@accelerator
there.max(1).values                         -> tensor<float32>@accelerator
there.topk(2).indices                       -> tensor<int64>@accelerator
there * here                                -> tensor<float64>@accelerator
there * x                                   -> tensor<float32>@accelerator
actions * x                                 -> tensor<?>@accelerator
there > 1                                   -> tensor<bool>@accelerator
torch.cat([here, there])                    -> tensor<float64>@accelerator
torch.cat(x)                                -> tensor<?>@?
torch.stack([x, there])                     -> tensor<?>@?|accelerator
torch.where(there > 0, 1.0, 0.0)            -> tensor<float32>@accelerator
torch.Tensor.detach(there)                  -> tensor<float32>@accelerator
torch.autograd.grad(there, x)               -> sequence[tensor<?>@?]
nn.Linear(3, 2)                             -> layer{Linear}
nn.Linear(3, 2)(there)                      -> tensor<float32>@accelerator
nn.Linear(3, 2)(x)                          -> tensor<float32>@?
nn.Linear(3, 2).to(device)                  -> layer@accelerator{Linear}
nn.Linear(3, 2).to(device)(x)               -> tensor<float32>@accelerator
nn.LSTM(3, 2)(there)                        -> sequence(tensor<float32>@accelerator, unknown)
nn.ModuleList([nn.ReLU()])                  -> layer{ModuleList} | sequence(layer{ReLU})
nn.Parameter(there)                         -> tensor<float32>@?
nn.Linear(3, 2).parameters()                -> sequence[tensor<float32>@?]
agent.parameters()                          -> sequence[tensor<float32>@?]
frozen.parameters()                         -> sequence[tensor<float32>@host]
agent.to(device)                            -> instance@accelerator{agent.py:Agent}
agent.eval()                                -> instance{agent.py:Agent}
agent.unheard_of()                          -> unknown
nn.MSELoss()                                -> loss{MSELoss}
nn.MSELoss()(there, here)                   -> tensor<float64>@accelerator
F.smooth_l1_loss(there, x)                  -> tensor<float32>@accelerator
D.Categorical(there)                        -> distribution<int64>@accelerator{Categorical}!checked
D.Categorical(there, validate_args=False)   -> distribution<int64>@accelerator{Categorical}
D.Categorical(logits=x).sample()            -> tensor<int64>@?
D.Normal(there, 1.0).mean                   -> tensor<float32>@accelerator
torch.optim.Adam(x)                         -> optimizer{Adam}
torch.optim.lr_scheduler.StepLR(x)          -> optimizer{StepLR}!scheduler
data.TensorDataset(there, here)             -> sequence[sequence(tensor<float32>@accelerator, tensor<float64>@host)]
data.DataLoader(x)                          -> loader
np.random.randint(4)                        -> number<int>
np.random.randint(4, size=2)                -> array<int64>@host!rows
np.random.choice(x, 2)                      -> array<?>@host!rows
np.random.choice(memory)                    -> sequence(array<float32>@host, number<int>, number<float>)
np.random.default_rng().integers(4, size=2) -> array<int64>@host!rows
np.random.normal(x, x)                      -> number<float> | array<float64>@host
np.finfo(np.float32).eps.item()             -> numpy
np.argmax(numbers)                          -> numpy scalar<int64>
np.argmax(numbers, axis=1)                  -> array<int64>@host
numbers.mean()                              -> numpy scalar<float32>
numbers * x                                 -> array<?>@host
numbers > 1                                 -> array<bool>@host
np.pi                                       -> number<float>
list(zip(*memory))[0]                       -> sequence!rows[array<float32>@host]
list(zip(*memory))[1]                       -> sequence!rows[number<int>]
random.sample(memory, 2)                    -> sequence!rows[sequence(array<float32>@host, number<int>, number<float>)]
list(zip(*random.sample(memory, 2)))[2]     -> sequence!rows[number<float>]
np.array(list(zip(*memory))[2])             -> array<float64>@host!from rows
enumerate([1.5])                            -> sequence[sequence(number<int>, number<float>)]
list(map(torch.tensor, random.sample([1.5], 2)))    -> sequence!rows[tensor<float32>@host]
functools.partial(torch.zeros, 3)(1)        -> tensor<float32>@host
collections.namedtuple('T', ['a', 'b'])(1, 2.0)     -> sequence{a,b}(number<int>, number<float>)
collections.namedtuple('T', 'a b')(1, b=2.0).b      -> number<float>
collections.namedtuple('T', 'a, b')(*zip(*memory)).a -> sequence!rows[array<float32>@host]
collections.deque(memory, maxlen=3)         -> sequence[sequence(array<float32>@host, number<int>, number<float>)]
collections.defaultdict(list)               -> mapping[sequence]
dataclasses.field(default_factory=list)     -> sequence
settings.get('lr', 1)                       -> number<float|int>
settings.lr                                 -> number<float>
settings.items()                            -> sequence[sequence(text, number<float>)]
dict(a=1).values()                          -> sequence[number<int>]
'a,b'.split(',')                            -> sequence[text]
copy.deepcopy(there)                        -> tensor<float32>@accelerator
max(1, 2)                                   -> number<int>
itertools.chain([1], [2.0])                 -> sequence[number<float|int>]
gym.make('CartPole-v1')                     -> environment
gym.make_vec('CartPole-v1')                 -> environment!vector
gym.vector.SyncVectorEnv(x)                 -> environment!vector
gym.wrappers.TimeLimit(gym.make('A'), 3)    -> environment
gym.wrappers.RecordEpisodeStatistics(gym.make_vec('A')) -> environment!vector
env.action_space.sample()                   -> numpy
env.action_space.shape[0]                   -> number<int>
env.action_space.n                          -> number<int>
env.num_envs                                -> number<int>
env.unwrapped                               -> environment
gym.spaces.Box(0, 1).sample()               -> array<float32>@host
gym.spaces.Box(0, 1, dtype=np.float64).sample()     -> array<float64>@host
gym.spaces.Discrete(2).sample()             -> numpy scalar<int64>
"""


@pytest.mark.parametrize("row", VALUES.strip().splitlines())
def test_an_expression_has_this_value(row: str) -> None:
    text, _, expected = row.partition("->")
    assert repr(evaluate(text.strip(), **VARIABLES)) == expected.strip()


EVENTS = """
there.item()                        -> read:item
here.item()                         ->
somewhere.item()                    -> read:item
there.tolist()                      -> read:tolist
there.cpu()                         -> read:cpu
there.cpu().numpy()                 -> read:cpu
there.numpy()                       -> read:numpy
there.to('cpu')                     -> read:cpu
float(there)                        -> read:float
float(here)                         ->
float(either)                       ->
int(there)                          -> read:int
bool(there)                         -> read:bool
print(there)                        -> read:print
str(there)                          -> read:format
'{}'.format(there)                  -> read:format
np.mean(there)                      -> read:numpy.mean
np.mean(numbers)                    ->
np.mean(either)                     ->
np.array([there, there])            -> read:numpy.array
math.exp(there)                     -> read:math.exp
max(there, 1)                       -> read:max
torch.equal(there, there)           -> read:bool
here.to(device)                     -> upload:to
here.to(x)                          -> upload:to
here.to('cpu')                      ->
here.to(torch.float32)              ->
here.cuda()                         -> upload:cuda
there.to(device)                    ->
there.copy_(here)                   -> upload:copy_
torch.tensor(1.5)                   -> create:tensor
torch.tensor(1.5, device=device)    -> create:tensor upload:create
torch.as_tensor(here, device=device)    -> upload:to
torch.cuda.FloatTensor([1])         -> create:FloatTensor upload:legacy
torch.zeros(3)                      -> factory:zeros
there.new_zeros(3)                  -> factory:new_zeros
nn.Linear(3, 2).to(device)          -> moved:to
agent.cuda()                        -> moved:cuda
there.nonzero()                     -> dynamic:nonzero
torch.where(dones)                  -> dynamic:where
there.masked_select(dones)          -> dynamic:masked_select
torch.unique(there)                 -> dynamic:unique
torch.cat([there, there])           -> concatenate:cat
torch.stack([there])                -> concatenate:stack
F.mse_loss(there, there)            -> loss:mse_loss
nn.MSELoss()(there, there)          -> loss:MSELoss
D.Normal(there, there)              -> distribution:Normal
D.Normal(there, there).log_prob(there)  -> distribution:Normal log_prob:log_prob
D.Normal(there, there).sample()     -> distribution:Normal sample:sample
env.step(1)                         -> step:step
there.backward()                    -> backward:
torch.optim.Adam(x).step()          -> update:
torch.optim.lr_scheduler.StepLR(x).step()   ->
memory.append(there)                -> push:
~dones                              -> invert:
"""


@pytest.mark.parametrize("row", EVENTS.strip().splitlines())
def test_an_expression_reports_this(row: str) -> None:
    text, _, expected = row.partition("->")
    reported = [f"{kind}:{how}" for kind, how in events(text.strip(), **VARIABLES)]
    assert reported == expected.split()


MIXED = """
dones * there                           -> bool
there * dones                           -> bool
1 - dones                               ->
dones * 1.0                             -> bool
actions / 2                             -> int64
actions * x                             -> int64
here * there                            -> float64
here * 2.0                              ->
(there > 0) * there                     ->
dones & dones                           ->
dones.float() * there                   ->
torch.cat([dones, there])               -> bool
torch.stack([here, there])              -> float64
torch.where(dones, there, here)         -> float64
torch.where(dones, there, there)        ->
there.gather(1, actions)                ->
(dones * there).mean()                  -> bool
torch.clamp(dones * there, 0.0, 1.0)    -> bool
D.Normal(dones * there, 1.0).log_prob(there)    -> bool
"""


@pytest.mark.parametrize("row", MIXED.strip().splitlines())
def test_a_promotion_leaves_its_evidence(row: str) -> None:
    text, _, expected = row.partition("->")
    atom = evaluate(text.strip(), **VARIABLES).atoms[TENSOR]
    assert atom.mixed == {(*MADE, dtype, "file.py", 1) for dtype in expected.split()}


def test_what_is_put_into_a_list_is_what_it_holds() -> None:
    evaluation = LiteralEvaluation({"rows": sequence(items=()), "item": A_FLOAT})
    evaluation.evaluate("rows.append(item)")
    assert repr(evaluation.changed["rows"]) == "sequence[number<float>]"
    evaluation.evaluate("heapq.heappush(rows, 1)")
    assert repr(evaluation.changed["rows"]) == "sequence[number<int>]"


def test_a_dict_keeps_what_is_set_by_default() -> None:
    evaluation = LiteralEvaluation({"table": Value(Atom(MAPPING, items={}))})
    evaluation.evaluate("table.setdefault('a', [])")
    assert repr(evaluation.changed["table"]) == "mapping(('a', sequence()))"
    evaluation.evaluate("table.update(b=1.5)")
    assert "('b', number<float>)" in repr(evaluation.changed["table"])


def test_a_registered_buffer_moves_with_its_module() -> None:
    evaluation = LiteralEvaluation(VARIABLES)
    evaluation.evaluate("agent.register_buffer('scale', here)")
    assert {key: repr(value) for key, value in evaluation.attributes.items()} == {
        ("agent.py:Agent", "scale"): "tensor<float64>@?"
    }


@pytest.mark.parametrize(
    ("unpacked", "marks", "expected"),
    [
        (5, (), "(unknown, number<float>, number<bool>, number<bool>, mapping)"),
        (4, (), "(unknown, number<float>, number<bool>, mapping)"),
        (5, (VECTOR,), "(unknown, array<float64>@host, array<bool>@host, array<bool>@host, mapping)"),
    ],
)
def test_a_step_answers_as_it_is_unpacked(unpacked: int, marks: tuple[str, ...], expected: str) -> None:
    env = Value(Atom(ENVIRONMENT, marks=frozenset(marks)))
    assert repr(LiteralEvaluation({"env": env}, unpacked).evaluate("env.step(1)")) == "sequence" + expected


def test_an_unknown_receiver_is_told_by_its_name() -> None:
    evaluation = LiteralEvaluation({}, 5)
    site = evaluation.site("self.envs.step(1)")
    assert "array<?|float64>" in repr(environments.step_result(evaluation, None, site, "envs"))
    assert environments.step_result(evaluation, None, site, "env") is UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected", "reported"),
    [
        ("x.to(device)", "tensor<?>@accelerator", ["maybe_upload"]),
        ("x.to('cpu')", "tensor<?>@host", []),
        ("x.to(torch.float32)", "tensor<float32>@?", []),
        ("x.to(dtype)", "tensor<?>@?", []),
    ],
)
def test_a_move_of_something_unknown_may_be_an_upload(text: str, expected: str, reported: list[str]) -> None:
    evaluation = LiteralEvaluation({**VARIABLES, "dtype": UNKNOWN})
    assert repr(tensor_methods.moved_unknown(evaluation, evaluation.site(text))) == expected
    assert [kind for kind, _, _ in evaluation.events] == reported


def test_lists_joined_in_a_loop_stop_growing() -> None:
    rows = sequence(items=(AN_INT,), marks=frozenset({ROWS}))
    for _ in range(40):
        rows = evaluate("rows + [1]", rows=rows)
    assert rows.atoms[SEQUENCE].items is None
    assert repr(rows) == "sequence!rows[number<int>]"
