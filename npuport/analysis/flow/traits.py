"""What the text of a program says of the whole of it."""

from __future__ import annotations

import re
from typing import NamedTuple

_ACCELERATOR = re.compile(r"\b(?:npu|device|dvc|xpu|hpu)\b|_npu\b")
# The writer of event files is what programs in JAX take from torch, too.
_TORCH = re.compile(r"^[ \t]*(?:import|from)[ \t]+torch\b(?!\.utils\.tensorboard)", re.MULTILINE)
_COMPUTES_IN_FLOAT64 = re.compile(
    r"set_default_(?:dtype|tensor_type)\([^)]*(?:float64|[dD]ouble)|jax_enable_x64"
    r"|(?:net|model|policy|actor|critic|agent|module|self)\.double\(\)",
    re.IGNORECASE,
)
_NETWORK = re.compile(r"\bnn\.(?:Module|Linear|Sequential|Conv\dd)\b")
_OPTIMIZER = re.compile(r"\b(?:optim\.[A-Z]\w*|AdamW?|SGD|RMSprop|[RN]Adam|Adagrad|Adamax)\(")
_STEPS_SEVERAL = re.compile(r"(?:envs|venv|vec_?env|vector_env)\.(?:step|step_wait|recv)\(", re.IGNORECASE)
_FLOAT64_WORDS = ("set_default_", "jax_enable_x64", ".double()")
_CHECKS_OFF = "set_default_validate_args(False)"
_ENVIRONMENT_ID = re.compile(r"[\"'](?:[\w-]+/)?([A-Z][A-Za-z0-9]*)(?:-\w+)*-v\d+[\"']")
# Environments whose observations are float32 in Gymnasium; LunarLander's were in every gym.
_FLOAT32_SINCE_GYMNASIUM = frozenset({
    "CartPole", "Acrobot", "MountainCar", "MountainCarContinuous", "Pendulum", "BipedalWalker", "BipedalWalkerHardcore",
})  # fmt: skip
_FLOAT32 = frozenset({"LunarLander", "LunarLanderContinuous"})


class Traits(NamedTuple):
    """What is true of a program as soon as one of its files says so.

    Attributes:
        makes_environment: it makes an environment.
        makes_optimizer: it makes an optimiser.
        names_accelerator: it names an accelerator or a device.
        imports_torch: it imports torch.
        checks_off: distributions do not validate their arguments.
        computes_in_float64: its networks, or all its tensors, are float64.
        steps_several: it steps several environments at once, by the name that it gives them.
        fixes_seed: it fixes the seed of torch.
        starts_processes: it may start processes, or share memory with them.
        chooses_start: it may choose how processes start.
        uses_gymnasium: its environments are Gymnasium's.
        makes_learner: it makes networks and one of torch's optimisers in place.
        environments: names of environments, ``CartPole`` of ``"CartPole-v1"``.
    """

    makes_environment: bool
    makes_optimizer: bool
    names_accelerator: bool
    imports_torch: bool
    checks_off: bool
    computes_in_float64: bool
    steps_several: bool
    fixes_seed: bool
    starts_processes: bool
    chooses_start: bool
    uses_gymnasium: bool
    makes_learner: bool
    environments: frozenset[str]

    @property
    def observes_float32(self) -> bool:
        """Whether it names environments, and observations of all of them are float32."""
        known = _FLOAT32 | _FLOAT32_SINCE_GYMNASIUM if self.uses_gymnasium else _FLOAT32
        return bool(self.environments) and self.environments <= known

    def joined(self, other: Traits) -> Traits:
        """What two files of one program say together."""
        return Traits(
            makes_environment=self.makes_environment or other.makes_environment,
            makes_optimizer=self.makes_optimizer or other.makes_optimizer,
            names_accelerator=self.names_accelerator or other.names_accelerator,
            imports_torch=self.imports_torch or other.imports_torch,
            checks_off=self.checks_off or other.checks_off,
            computes_in_float64=self.computes_in_float64 or other.computes_in_float64,
            steps_several=self.steps_several or other.steps_several,
            fixes_seed=self.fixes_seed or other.fixes_seed,
            starts_processes=self.starts_processes or other.starts_processes,
            chooses_start=self.chooses_start or other.chooses_start,
            uses_gymnasium=self.uses_gymnasium or other.uses_gymnasium,
            makes_learner=self.makes_learner or other.makes_learner,
            environments=self.environments | other.environments,
        )


NO_TRAITS = Traits(*(False,) * 12, frozenset())


def traits_of(text: str) -> Traits:
    """What one file's text says."""
    return Traits(
        makes_environment=any(word in text for word in ("import gym", "gym.", "make(", "make_vec(")),
        makes_optimizer="optim" in text,
        names_accelerator=_names_accelerator(text),
        imports_torch="torch" in text and _TORCH.search(text) is not None,
        checks_off=_CHECKS_OFF in text,
        computes_in_float64=any(w in text for w in _FLOAT64_WORDS) and _COMPUTES_IN_FLOAT64.search(text) is not None,
        steps_several=any(w in text for w in (".step", ".recv")) and _STEPS_SEVERAL.search(text) is not None,
        fixes_seed="manual_seed(" in text,
        starts_processes=any(word in text for word in ("Process", "Pool", "share_memory")),
        chooses_start="set_start_method" in text or "get_context" in text,
        uses_gymnasium="gymnasium" in text,
        makes_learner="nn." in text and _NETWORK.search(text) is not None and _OPTIMIZER.search(text) is not None,
        environments=frozenset(_ENVIRONMENT_ID.findall(text)) if "-v" in text else frozenset(),
    )


def _names_accelerator(text: str) -> bool:
    return any(word in text for word in ("cuda", "accelerator", "use_gpu")) or _ACCELERATOR.search(text) is not None
