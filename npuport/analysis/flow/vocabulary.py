"""The names that RL programs give their things, as data: evidence where the code itself does not tell."""

from __future__ import annotations

import builtins
import re
from typing import Final

BUILTIN_NAMES: Final = frozenset(dir(builtins))

# What star imports of libraries are likely to bring.
STAR_NAMES: Final = {
    "torch": frozenset({
        "Tensor", "tensor", "zeros", "ones", "cuda", "device", "cat", "stack", "nn", "no_grad", "FloatTensor",
        "LongTensor", "float32", "float64", "int64", "save", "load", "from_numpy", "as_tensor",
    }),
    "torch.nn": frozenset({
        "Module", "Linear", "Sequential", "ReLU", "Tanh", "MSELoss", "SmoothL1Loss", "functional", "Parameter",
    }),
    "torch.distributions": frozenset({
        "Categorical", "Normal", "MultivariateNormal", "Bernoulli", "Beta", "Independent",
    }),
    "numpy": frozenset({"array", "zeros", "ones", "float32", "float64", "asarray"}),
}  # fmt: skip

ENVIRONMENT_NAME: Final = re.compile(r"(?:^|_)v?env(?:s|ironments?)?(?:_|$|\d)|vec_?env", re.IGNORECASE)
ENVIRONMENT_CLASS: Final = re.compile(r"(?:Env|Envs|Environment|Wrapper)$")
SEVERAL_ENVIRONMENTS: Final = re.compile(r"envs$|venv|vec_?env", re.IGNORECASE)
OPTIMIZER_NAME: Final = re.compile(r"optim|(?:^|_)opt(?:_|$|s$)|_opt|trainer|solver", re.IGNORECASE)
# What has a method ``step`` without arguments and is no optimiser.
CLOCK_NAME: Final = re.compile(
    r"sched|prof|clock|timer|tracker|progress|anneal|warm_?up|counter|sim|scene|world|physics", re.IGNORECASE
)
ROWS_NAME: Final = re.compile(
    r"^(?:rows|transitions|mini_?batch|batch|experiences|samples?|memories|trajector(?:y|ies)|buffer|replay_?memory)$"
)

# Gates: what is asked for at the end of an episode, or for people only.
EPISODE_END_NAME: Final = re.compile(
    r"^(?:done|terminated|truncated|terminal|dones|d|truncat\w*|terminat\w*|finished|verbose|debug|log\w*|evaluate"
    r"|render\w*|eval\w*|is_?done|done_\w+|_done|timing|profil\w*|benchmark\w*)$"
)
LOGGING_ATTRIBUTE: Final = re.compile(r"^(?:verbose|debug|log_?\w*|render\w*|track|timing|profil\w*|benchmark\w*)$")
EPISODE_END_TEXTS: Final = frozenset({"final_info", "episode", "log", "debug"})

# What an environment gives in NumPy arrays of a dtype of its own.
RETURNS_NAME: Final = re.compile(r"(?:^|_)(?:returns?|advantages?|discount\w*)(?:_|$)", re.IGNORECASE)
OBSERVED_NAME: Final = re.compile(
    r"^(?:\w+_)?(?:obs(?:ervations?)?|states?|rewards?|rews?)(?:_?(?:t|tp1|np|arr|array|next|batch|list))?_?$",
    re.IGNORECASE,
)

# Flags of transitions.
FLAG_NAME: Final = re.compile(
    r"(?:^|_)(?:dones?|terminals?|terminated|truncated|terminations?|truncations?|alive|non_?final|ended|flags?)"
    r"(?:_|$)",
    re.IGNORECASE,
)

# How often a function runs that nobody in the program calls.
STEP_FUNCTION: Final = re.compile(
    r"^(?:act|select_action\w*|choose_action\w*|get_action\w*|take_action|sample_action|predict|remember"
    r"|store(?:_transition|_memory)?|push|policy|pick_action)$"
)
# agent.step(state, action, reward, ...) has more parameters than env.step(action) or optimizer.step().
STEP_METHOD_PARAMETERS: Final = 3
_UPDATES_SOMETHING_ELSE: Final = (
    r"(?!(?:\w+_)?(?:weights?|targets?|param\w*|ema|state\w*|stat\w*|norm\w*|lr|rate|epsilon|eps|priorit\w*|config|mask"
    r"|plot|display|metrics?|progress|buffer|memory|cache|info|counters?|schedule\w*)(?:_|$))"
)
UPDATE_FUNCTION: Final = re.compile(
    rf"^(?:learn|update|_?update_{_UPDATES_SOMETHING_ELSE}\w+"
    r"|optimi[sz]e\w*|train_step|training_step|train_on_batch|replay|experience_replay"
    r"|\w+_loss|calc_loss|compute_loss\w*|learn_\w*|optimize_model|train_batch|train_model|train_\w*net\w*)$"
)
# Callbacks of frameworks: the base class's dotted name ends so, the method is called so often.
CALLBACKS: Final = {
    "_on_step": "step",
    "on_step": "step",
    "training_step": "update",
    "compute_loss": "update",
    "_on_rollout_end": "iteration",
    "_on_rollout_start": "iteration",
    "on_train_epoch_end": "iteration",
    "on_epoch_end": "iteration",
}
# A method of an unknown object that by its name makes an update.
UPDATE_METHOD: Final = re.compile(
    rf"^(?:update|learn|optimi[sz]e\w*|train_on_batch|train_step|update_{_UPDATES_SOMETHING_ELSE}\w+|learn_\w*)$"
)
# Only of these is ``update`` an update: dictionaries, progress bars and renderers have methods of such names too.
LEARNER_NAME: Final = re.compile(
    r"agent|policy|learner|train|algo|actor|critic|model|net|brain|player|worker|dqn|ppo|sac|td3|ddpg|a2c|a3c|trpo|maddpg"
    r"|^self$|^pi$|^q$",
    re.IGNORECASE,
)
STORING_METHODS: Final = frozenset({"push", "store", "remember", "put", "store_transition"})
ACTING_FUNCTION: Final = re.compile(
    r"^(?:act|select_action\w*|choose_action\w*|get_action|take_action|predict|policy|pick_action\w*|sample_action\w*)$"
)
ACTION_NAME: Final = re.compile(r"act|^a$|^a_")

# Calls that make the host wait for the device, or the allocator start anew; and what a value whose kind is
# unknown is called where these are its methods.
FENCES: Final = frozenset({"synchronize", "empty_cache"})
FENCE_RECEIVER: Final = re.compile(r"stream|cuda|npu|accelerator|device|backend|^getattr$", re.IGNORECASE)

# Attributes and methods that so many classes have that one of the program proves nothing.
COMMON_ATTRIBUTES: Final = frozenset({
    "data", "shape", "dtype", "device", "size", "grad", "T", "real", "step", "mean", "std", "name",
    "values", "keys", "items", "env", "args",
})  # fmt: skip
COMMON_METHODS: Final = frozenset({
    "parameters", "named_parameters", "state_dict", "load_state_dict", "append", "items", "keys",
    "values", "get", "add", "copy", "train", "eval", "close", "step", "reset", "mean", "sum",
    "reshape", "flatten", "squeeze", "tolist", "numpy", "size", "dim", "view", "log", "exp",
    "extend", "pop", "insert", "remove", "index", "count", "join", "split", "format", "start",
    "write", "read",
})  # fmt: skip
# What tests and measures a program says nothing of how often its code runs.
TEST_FILE: Final = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")  # where it has test functions, too
TEST_FOLDER: Final = re.compile(r"(?:^|/)(?:tests?|testing|benchmarks?)/|(?:^|/)(?:conftest|bench(?:mark)?_[^/]*)\.py$")
# Functions that say whether it is time for something, and which of them are for people: if self.should_log(step): ...
ASKS_FOR_TIME: Final = re.compile(r"^_?(?:should|is_time_to|time_to)_\w+$")
REPORTS: Final = re.compile(r"_(?:log|print|report|plot|render|display|save|checkpoint|eval\w*)(?:_|$)")
# Functions that say whether numbers went wrong.
NOT_FINITE: Final = re.compile(r"is_?nan(?:_|$)|is_?(?:neg|pos)?_?inf(?:_|$)|has_?(?:nan|inf)|non_?finite|not_finite")
# A function of this name runs now and then, whatever it loops over.
EVALUATING_FUNCTION: Final = re.compile(r"^_?(?:eval|evaluate|test|play|enjoy|render|demo|watch|visuali[sz]e)(?:_|$)")
