from __future__ import annotations

import re
from collections.abc import Iterator

from npuport.analysis.configuration import Configuration, Entry, Scalar, Use, holds_device, holds_text, name_of
from npuport.analysis.vocabulary import words_of
from npuport.engine.fix import replacement
from npuport.engine.rule import ConfigurationRule, Hit

# The index may be filled in later: ${rank}, $RANK, {}.
_INDEX = r"(?::(?:\d+|\$\{[^{}]*\}|\$\w+|\{\w*\}))?"
_DEVICES = re.compile(rf"(?:cpu\s*,\s*)?cuda{_INDEX}(?:\s*,\s*(?:cpu|cuda{_INDEX}))*")
# ${contains:"cuda",${sim_device}} and ${eq:${device},cuda} of those who use OmegaConf.
_QUESTION = re.compile(
    r"\$\{(?:contains|eq|equals?|in|starts_?with):\s*"
    r"(?:(?P<quote>[\"']?)cuda(?P=quote)\s*,.*|[^,]+,\s*(?P<other>[\"']?)cuda(?P=other)\s*)\}"
)
_NAMES = "{} names a CUDA device, an NPU machine has none"


class CudaInConfiguration(ConfigurationRule):
    """A configuration file names a CUDA device.

    What it does
    ------------
    Reports ``cuda``, ``cuda:0`` and lists of them as values of keys and options for devices, in YAML, TOML, JSON and
    shell scripts; also as default inside ``${oc.env:DEVICE,cuda}``, and where such a file asks for ``cuda``. Names
    of keys (``cuda: true``), comments, run names, paths and other texts are left alone.

    Why on an NPU
    -------------
    The device does not exist there. The value reaches ``torch.device`` far from here, often past a default of the
    code that was ported, and the run ends, or a test for ``cuda`` switches something off without a word.

    Example
    -------
    ::

        rl_device: cuda:0
        sim_device: "cuda:0"

    Use instead
    -----------
    ::

        rl_device: npu:0
        sim_device: "npu:0"

    Fix safety
    ----------
    Safe: only the value changes; quotes, comments and layout stay. Unsafe for a variable that a script compares. A
    resolver that asks for ``cuda`` is not changed, nor is a file that is itself called after CUDA: it is one of
    several, and wants another one beside it. With ``--style portable`` nothing is changed, since such a file cannot
    choose: resolve the value where it is read.

    Sources
    -------
    - ``torch.device`` and the NPU: https://github.com/Ascend/pytorch
    - Hydra and OmegaConf: https://omegaconf.readthedocs.io/en/latest/custom_resolvers.html
    """

    code = "NPU112"
    name = "cuda-in-configuration"
    topic = "device"
    configuration_triggers = ("cuda",)

    def check_configuration(self, configuration: Configuration) -> Iterator[Hit]:
        for entry, value in configuration.settings():
            if not configuration.names_beside(entry, "npu"):
                yield from self._value(configuration, entry, value)

    def _value(self, configuration: Configuration, entry: Entry, value: Scalar) -> Iterator[Hit]:
        if _QUESTION.search(value.text):
            yield Hit(value, "asks whether a device is cuda, which an NPU never is")
            return
        if not _DEVICES.fullmatch(value.text):
            return
        certain = holds_device(entry)
        accelerator = name_of(entry) == "accelerator"
        if not certain and not accelerator and (":" not in value.text or holds_text(entry)):
            return
        why = (f"{value.text}: value of the key {name_of(entry)!r}",)
        fix = replacement(
            "Name the NPU", value, value.text.replace("cuda", "npu"), unsafe_because=configuration.asked_of(entry)
        )
        if entry.use is Use.ASKED:
            yield Hit(value, f"compares a device with {value.text}, which an NPU never is", fix, evidence=why)
        elif "cuda" in words_of(configuration.source.path.stem):
            message = f"{_NAMES.format(value.text)}; this file is CUDA's, the NPU needs one beside it"
            yield Hit(value, message, evidence=why)
        elif accelerator:  # Lightning and its Fabric take no "npu" here
            yield Hit(value, _NAMES.format(value.text), evidence=why)
        else:
            likely = "" if certain else " (likely a device)"
            yield Hit(value, _NAMES.format(value.text) + likely, fix, evidence=why)
