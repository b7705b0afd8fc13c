"""The words of the field, as data: what is called a device, and which libraries are not torch."""

from __future__ import annotations

import re

# Libraries with GPU names of their own.
GPU_LIBRARIES = frozenset({
    "jax", "jaxlib", "flax", "haiku", "optax", "brax", "chex", "tensorflow", "tf_agents", "keras", "cupy", "cupyx",
    "numba", "warp", "pycuda", "mxnet", "paddle", "theano", "taichi", "onnxruntime", "tensorrt", "cudf", "cuml",
    "pynvml", "GPUtil", "py3nvml", "nvidia_smi",
})  # fmt: skip
# A "cuda" that is handed to one of these is not torch's; that a file imports NumPy and its kin says nothing of GPUs.
FOREIGN_LIBRARIES = GPU_LIBRARIES | {"numpy", "pandas", "cv2"}

# Libraries built on torch: a device handed to one of these is a torch device.
TORCH_LIBRARIES = frozenset({
    "torch", "torchvision", "torchaudio", "torchrl", "tensordict", "stable_baselines3", "sb3_contrib", "tianshou",
    "skrl", "rl_games", "rsl_rl", "pfrl", "d3rlpy", "transformers", "accelerate", "trl", "peft", "diffusers",
    "sentence_transformers", "lightning", "pytorch_lightning", "kornia", "timm", "torch_geometric", "functorch",
})  # fmt: skip

# What a call does with a text that people read.
TEXT_SINKS = frozenset({
    "print", "pprint", "info", "debug", "warning", "warn", "error", "critical", "exception", "log", "write",
    "writelines", "add_text", "echo", "secho", "set_description", "set_postfix", "set_title", "title", "xlabel",
    "ylabel", "suptitle", "annotate", "fail", "skip", "xfail", "input", "add_tag", "rule", "set_xlabel", "set_ylabel",
    "getLogger",
})  # fmt: skip

# Keyword arguments that carry such a text, or a name chosen by the user.
TEXT_KEYWORDS = frozenset({
    "help", "description", "epilog", "prog", "usage", "metavar", "title", "label", "name", "tags", "tag", "group",
    "notes", "note", "project", "run_name", "exp_name", "msg", "message", "reason", "comment", "doc", "desc", "text",
    "prefix", "suffix", "filename", "path", "id", "ids", "version", "match",
})  # fmt: skip

_DEVICE_WORDS = {"device", "devices", "dev", "dvc", "cuda", "gpu", "gpus", "place", "placement", "location"}
_NOT_A_DEVICE = {"count", "id", "ids", "num", "index", "version", "visible", "type_name", "memory", "env"}
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def words_of(identifier: str) -> list[str]:
    """``rlDevice_name`` -> ``["rl", "device", "name"]``."""
    return [word.lower() for word in _WORDS.findall(identifier)]


def is_device_name(identifier: str) -> bool:
    """Whether a variable, option, key or parameter of this name is expected to hold a device."""
    words = words_of(identifier.strip("-"))
    return not _DEVICE_WORDS.isdisjoint(words) and _NOT_A_DEVICE.isdisjoint(words)


def is_index_name(identifier: str) -> bool:
    """Whether a variable of this name is expected to hold a card's number."""
    words = words_of(identifier)
    return bool(words) and (words[-1] in {"rank", "gpu", "id", "index", "idx", "i"} or words == ["local", "rank"])


def library_of(dotted: str) -> str:
    """The top package of a dotted name; empty for a relative import."""
    return dotted.partition(".")[0]


# Libraries of agents that pick the device themselves, and know only CUDA.
DEVICE_PICKING_LIBRARIES = frozenset({"stable_baselines3", "sb3_contrib", "skrl"})
