"""What a run of a port comes to: whether it trained, where, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuport.observe.measurement import DOWN, UP, WAITS, Measurement


class Verdict(Enum):
    """How a port fared on the emulated device."""

    TRAINED = "trained on the device"
    SILENT = "silently on the CPU"
    STOPPED = "stopped"


@dataclass(frozen=True)
class PortResult:
    """One script after one port.

    Attributes:
        on_device: its run on the emulated device; None where the port itself could not be made.
        without: its run on a CPU without torch_npu; None also where it imports torch_npu without asking.
        plain: the run of the original on the CPU.
        fault: why the port could not be made.
    """

    script: str
    port: str
    on_device: Measurement | None
    without: Measurement | None
    plain: Measurement | None = None
    fault: str = ""

    @property
    def verdict(self) -> Verdict:
        """Training is at least one optimiser step, in a run that came to its end."""
        if self.on_device is None or not came_to_its_end(self.on_device):
            return Verdict.STOPPED
        return Verdict.TRAINED if self.on_device.device_parameters else Verdict.SILENT

    @property
    def why(self) -> str:
        """Why it stopped; empty where it did not."""
        if self.verdict is not Verdict.STOPPED:
            return ""
        return self.fault if self.on_device is None else _why(self.on_device)

    @property
    def runs_without_torch_npu(self) -> bool:
        """Whether the same source trains on a machine without torch_npu."""
        return self.without is not None and came_to_its_end(self.without)

    @property
    def why_not_without(self) -> str:
        """Why it does not."""
        return "" if self.without is None or self.runs_without_torch_npu else _why(self.without)

    @property
    def same_returns(self) -> bool:
        """Whether without torch_npu every episode ends as that of the original does, with the same return.

        As far as both ran: the last episodes are cut where a run ends.
        """
        if self.without is None or self.plain is None or not self.runs_without_torch_npu:
            return False
        steps = min(self.without.transitions, self.plain.transitions)
        ports, originals = (
            [episode for episode in run.episodes if episode.transition < steps] for run in (self.without, self.plain)
        )
        return ports == originals

    @property
    def events_per_step(self) -> float:
        """Copies between host and device, and waits, per environment step."""
        return self.on_device.per_transition(UP, DOWN, *WAITS) if self.on_device else 0.0


def came_to_its_end(measurement: Measurement) -> bool:
    """Whether a run reached its last step and trained."""
    return measurement.outcome.ending in ("finished", "steps") and measurement.updates > 0


def _why(measurement: Measurement) -> str:
    if measurement.outcome.error:
        return measurement.outcome.error
    return "no optimiser step was made" if measurement.updates == 0 else measurement.outcome.ending
