"""Which public scripts are ported and run, and what a short run of each needs.

Only descriptions stand here: the scripts themselves are read from a folder that holds the repositories as
``OWNER/NAME``. The scripts without a repository are our own and stand beside this package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

# How a program is written down: a notebook's and a marimo application's cells are joined to one file first, as
# ``jupyter nbconvert --to script`` and ``marimo export script`` do.
Form = Literal["files", "notebook", "marimo"]


@dataclass(frozen=True)
class Script:
    """A training script and a short run of it.

    Attributes:
        name: as tables show it.
        repository: ``OWNER/NAME``; empty for our own.
        folder: where the script's files stand in the repository.
        entry: the file that is run, in that folder.
        files: patterns of the files that belong to it, in that folder; by default the entry.
        arguments: for a short run, on every device.
        on_device, on_cpu: further arguments where it is to train on the accelerator, or on the CPU.
        shortened: texts of the files and what stands for them: longer phases and environments that cannot be installed.
        steps: environment steps after which the run is ended.
    """

    name: str
    repository: str
    entry: str
    folder: str = "."
    files: tuple[str, ...] = ()
    form: Form = "files"
    arguments: tuple[str, ...] = ()
    on_device: tuple[str, ...] = ()
    on_cpu: tuple[str, ...] = ()
    shortened: Mapping[str, str] = field(default_factory=dict)
    steps: int = 600


def all_scripts() -> list[Script]:
    """Every script, by repository."""
    return [*_cleanrl(), *_drl_pytorch(), *_hands_on_rl(), *_rainbow(), *_single_agents(), *_own()]


def _cleanrl() -> Iterable[Script]:
    replay = ("--total-timesteps", "2000", "--learning-starts", "100")
    rollout = ("--total-timesteps", "2000", "--num-steps", "64")
    pendulum = ("--env-id", "Pendulum-v1")  # stands for MuJoCo's environments
    for name, arguments in {
        "dqn": (*replay, "--start-e", "0.2", "--train-frequency", "4"),
        "c51": (*replay, "--start-e", "0.2", "--train-frequency", "4"),
        "ppo": rollout,
        "ppo_continuous_action": (*rollout, *pendulum),
        "rpo_continuous_action": (*rollout, *pendulum),
        "ddpg_continuous_action": (*replay, *pendulum),
        "td3_continuous_action": (*replay, *pendulum),
        "sac_continuous_action": (*replay, *pendulum),
    }.items():
        files = (f"cleanrl/{name}.py", "cleanrl_utils/__init__.py", "cleanrl_utils/buffers.py")
        yield Script(
            f"cleanrl/{name}",
            "vwxyzjn/cleanrl",
            f"cleanrl/{name}.py",
            files=files,
            arguments=arguments,
            on_cpu=("--no-cuda",),
        )


def _drl_pytorch() -> Iterable[Script]:
    explore = ("--random_steps", "100", "--batch_size", "64")
    horizon = ("--T_horizon", "128", "--eval_interval", "100000")
    chosen = ("--dvc", "cpu")  # their default is "cuda"
    replay = "2.3 Prioritized-Experience-Replay-DDQN-DQN"
    prior = ("--warmup", "100", "--write", "False", "--batch_size", "64")
    for name, folder, arguments, on_cpu in (
        ("duel-ddqn", "2.1_Duel-Double-DQN", explore, chosen),
        ("light-prior-dqn", f"{replay}/LightPriorDQN_gym0.2x", prior, ()),
        ("prior-dqn", f"{replay}/PriorDQN_gym0.2x", prior, ()),
        ("c51", "2.4_Categorical-DQN_C51", explore, chosen),
        ("noisy-net", "2.5_NoisyNet-DQN", explore, chosen),
        ("ppo-discrete", "3.1 PPO-Discrete", horizon, chosen),
        ("ppo-continuous", "3.2 PPO-Continuous", horizon, chosen),
        ("ddpg", "4.1 DDPG", ("--random_steps", "100"), chosen),
        ("td3", "4.2 TD3", ("--batch_size", "64"), chosen),
        ("sac-discrete", "5.1 SAC-Discrete", explore, chosen),
        ("sac-continuous", "5.2 SAC-Continuous", ("--batch_size", "64"), chosen),
    ):
        yield Script(
            f"DRL-Pytorch/{name}",
            "XinJingHao/DRL-Pytorch",
            "main.py",
            folder=folder,
            files=("*.py",),
            arguments=arguments,
            on_cpu=on_cpu,
            # These two explore for a number of episodes that no argument sets.
            shortened={"5*opt.max_e_steps": "100", "2*opt.max_e_steps": "100", "10*opt.max_e_steps": "100"},
        )


def _hands_on_rl() -> Iterable[Script]:
    explore = {"minimal_size = 500": "minimal_size = 100", "minimal_size = 1000": "minimal_size = 100"}
    for name, notebook in {
        "dqn": "第7章-DQN算法.ipynb",
        "actor-critic": "第10章-Actor-Critic算法.ipynb",
        "ppo": "第12章-PPO算法.ipynb",
        "ddpg": "第13章-DDPG算法.ipynb",
        "sac": "第14章-SAC算法.ipynb",
    }.items():
        yield Script(
            f"Hands-on-RL/{name}",
            "boyu-ai/Hands-on-RL",
            notebook,
            files=(notebook, "rl_utils.py"),
            form="notebook",
            shortened=explore,
        )


def _rainbow() -> Iterable[Script]:
    for name in ("01_dqn", "06_categorical_dqn", "08_rainbow"):
        yield Script(
            f"rainbow/{name}",
            "Curt-Park/rainbow-is-all-you-need",
            f"{name}.py",
            form="marimo",
            # Drawing every 200 steps is the larger part of a short run.
            shortened={"plotting_interval: int = 200": "plotting_interval: int = 100000"},
        )


def _single_agents() -> Iterable[Script]:
    yield Script(
        "PPO-PyTorch",
        "nikhilbarhate99/PPO-PyTorch",
        "train.py",
        files=("train.py", "PPO.py"),
        shortened={
            "RoboschoolWalker2d-v1": "Pendulum-v1",
            "max_ep_len = 1000 ": "max_ep_len = 100 ",
            "update_timestep = max_ep_len * 4": "update_timestep = max_ep_len * 2",
            "K_epochs = 80": "K_epochs = 10",
        },
    )
    yield Script(
        "TD3",
        "sfujim/TD3",
        "main.py",
        files=("*.py",),
        arguments=("--env", "Pendulum-v1", "--start_timesteps", "100", "--batch_size", "64"),
        shortened={"eval_episodes=10": "eval_episodes=1"},
    )
    yield Script(
        "pytorch-soft-actor-critic",
        "pranz24/pytorch-soft-actor-critic",
        "main.py",
        files=("*.py",),
        arguments=("--env-name", "Pendulum-v1", "--start_steps", "100", "--batch_size", "64"),
        on_device=("--cuda",),
    )


def _own() -> Iterable[Script]:
    for name in ("a2c", "ddpg", "dqn", "ppo", "sac", "td3"):
        yield Script(f"stable-baselines3/{name}", "", f"sb3_{name}.py")
