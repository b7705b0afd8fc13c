"""What all reports of a watched run say: its verdict in words, its figures a step, its lines. No layout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from npuport.engine.finding import Finding
from npuport.observe.measurement import DOWN, UP, WAITS, Count, Episode, Line, LossInput, Measurement
from npuport.reports.report import counted

CLAIM = "runs under torch_npu's front end on an emulated device"
NOT_FOUND = "not found by check"
NO_LINE = "no line of yours"
COPIES_ON_DEVICE = "copy.device_to_device"

Findings: TypeAlias = Mapping[tuple[str, int], list[Finding]]
Tone = Literal["bad", "fair", "good"]


@dataclass(frozen=True)
class Sentence:
    """One sentence of the verdict.

    Attributes:
        kind: a word for programs; it does not change with the wording.
    """

    kind: str
    tone: Tone
    text: str


@dataclass(frozen=True)
class Figure:
    """Something that was counted after the first environment step.

    Attributes:
        moves: whether bytes go with it.
        before: the same before the first step.
    """

    name: str
    label: str
    count: Count
    moves: bool
    before: Count


@dataclass
class LineRow:
    """All that one line of the user's files caused after the first environment step.

    Attributes:
        place: its filename is empty for what no such line explains.
        counts: by event; the waits of all kinds are ``wait``.
        details: by event: kernels that were refused or fell back, with their numbers.
        source: the text of the line, without indentation.
        findings: what ``check`` says of it.
    """

    place: Line
    counts: dict[str, Count] = field(default_factory=lambda: defaultdict(Count))
    details: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    source: str = ""
    findings: list[Finding] = field(default_factory=list)

    def calls(self, *events: str) -> int:
        """How often these events happened here."""
        return sum(self.counts[event].calls for event in events if event in self.counts)

    @property
    def moves_or_waits(self) -> int:
        """Copies between host and device and waits: what costs a step most."""
        return self.calls(UP, DOWN, "wait")

    @property
    def troubles(self) -> str:
        """What happened here beside copies, waits and kernels; empty where nothing did."""
        words = {"refused": "refused", "fallback": "on the CPU", "float64": "float64"}
        return ", ".join(f"{calls} {word}" for event, word in words.items() if (calls := self.calls(event)))

    @property
    def verdict(self) -> str:
        """The rules that found it; where it costs something and none did, that."""
        if not self.place.filename:
            return ""
        codes = sorted({f"{finding.code} {finding.name}" for finding in self.findings})
        if codes:
            return ", ".join(codes)
        return NOT_FOUND if self.moves_or_waits or self.calls("fallback", "float64", "refused") else ""


def verdict(run: Measurement) -> list[Sentence]:
    """The verdict: where it ran comes first, then how it ended, then what that does and does not mean."""
    sentences = [_where(run), *_ending(run)]
    if run.device == "emulated" and sentences[0].kind == "on_device":
        sentences.append(
            Sentence("claim", "fair", f"What this shows: it {CLAIM}. Nothing is said of Ascend hardware or its speed.")
        )
    return sentences


def _where(run: Measurement) -> Sentence:
    done = f"{counted(run.transitions, 'transition')}, {counted(run.updates, 'update')}"
    if run.device == "cpu":
        seen = f": {done}" if run.transitions or run.updates else "; no environment step and no update was seen"
        return Sentence("on_cpu", "fair", f"Ran on the CPU, as asked for{seen}. It says nothing of an NPU.")
    device = f"the {run.device_name}" if run.device == "npu" and run.device_name else _DEVICES[run.device]
    if not run.silently_on_cpu:
        if not run.updates:
            return Sentence("on_device", "fair", f"Ran on {device}, without an update: {done}.")
        return Sentence("on_device", "good", f"Trained on {device}: {done}.")
    if run.device_tensors:
        text = f"Trained on the CPU: {done}. Tensors came to {device}, but no parameter of an optimiser lived there."
    elif run.transitions or run.updates:
        text = f"Ran silently on the CPU: {done}. No tensor ever lived on {device}."
    else:
        return Sentence("nothing_on_device", "bad", f"Nothing lived on {device}, and no environment step was seen.")
    return Sentence("silent_cpu", "bad", f"{text} `npuport check` names the lines that choose the device.")


_DEVICES = {"npu": "the NPU", "emulated": "the emulated device"}


def nothing_seen(run: Measurement) -> bool:
    """Whether there is nothing to report but how it ended."""
    return not (run.transitions or run.updates or run.backward_calls or run.device_tensors or run.lines or run.kernels)


def _ending(run: Measurement) -> list[Sentence]:
    outcome = run.outcome
    place = f" ({shown(outcome.place.filename)}:{outcome.place.line})" if outcome.place.filename else ""
    if outcome.ending == "crashed":
        return [Sentence("crashed", "bad", f"It crashed{place}: {outcome.error or 'no message'}")]
    if outcome.ending == "killed":
        return [Sentence("killed", "bad", f"It was ended from outside or by os._exit: {outcome.error or 'no message'}")]
    if outcome.ending == "interrupted":
        return [Sentence("interrupted", "fair", "It was interrupted; what follows is up to then.")]
    if outcome.ending == "exited" and outcome.exit_status:
        return [Sentence("exited", "bad", f"It ended itself with exit status {outcome.exit_status}{place}.")]
    if outcome.ending == "steps":
        return [Sentence("steps", "fair", "It was ended by --max-steps.")]
    return []


def figures(run: Measurement) -> list[Figure]:
    """Copies, waits and kernels; copies that stay on the device only where there are any."""
    kernels = Count(sum(run.kernels.values()))
    found = [
        Figure("copies_up", "copies to the device", run.counts.get(UP, Count()), True, run.setup.get(UP, Count())),
        Figure("copies_down", "copies to the host", run.counts.get(DOWN, Count()), True, run.setup.get(DOWN, Count())),
        Figure("waits", "waits for the device", _sum(run.counts, WAITS), False, _sum(run.setup, WAITS)),
        Figure("kernels", "kernels", kernels, False, run.setup.get("kernel", Count())),
    ]
    on_device = run.counts.get(COPIES_ON_DEVICE, Count())
    if on_device.calls:
        before = run.setup.get(COPIES_ON_DEVICE, Count())
        found.insert(2, Figure("copies_on_device", "copies on the device", on_device, True, before))
    return found


def _sum(counts: Mapping[str, Count], events: Iterable[str]) -> Count:
    return sum((counts.get(event, Count()) for event in events), Count())


def line_rows(run: Measurement, findings: Findings) -> list[LineRow]:
    """The lines, those with most copies and waits first; what no line explains is the last row, where there is any."""
    rows: dict[tuple[str, int], LineRow] = {}
    for entry in run.lines:
        if entry.setup:
            continue
        key = (entry.place.filename, entry.place.line if entry.place.filename else 0)
        row = rows.setdefault(key, LineRow(entry.place))
        event = "wait" if entry.event in WAITS else entry.event
        row.counts[event] += entry.count
        if entry.detail:
            details = row.details[event]
            details[entry.detail] = details.get(entry.detail, 0) + entry.count.calls
    unexplained = rows.pop(("", 0), LineRow(Line("", 0)))
    _add_unlisted(run, rows.values(), unexplained)
    for (filename, number), row in rows.items():
        row.source = _source(filename, number)
        row.findings = list(findings.get((filename, number), []))
    ordered = sorted(rows.values(), key=_weight)
    return [*ordered, unexplained] if any(count.calls for count in unexplained.counts.values()) else ordered


def _add_unlisted(run: Measurement, rows: Iterable[LineRow], unexplained: LineRow) -> None:
    """What the device counted and no row has: it was seen without a stack, in another thread say."""
    known = [*rows, unexplained]
    for event, total in (
        (UP, _sum(run.counts, [UP])),
        (DOWN, _sum(run.counts, [DOWN])),
        ("wait", _sum(run.counts, WAITS)),
    ):
        listed = sum((row.counts[event] for row in known if event in row.counts), Count())
        if total.calls > listed.calls:
            unexplained.counts[event] += Count(total.calls - listed.calls, max(0, total.bytes - listed.bytes))


def _weight(row: LineRow) -> tuple[int, int, str, int]:
    return (-row.moves_or_waits, -row.calls("kernel"), row.place.filename, row.place.line)


def notices(run: Measurement, rows: list[LineRow]) -> list[tuple[str, list[str]]]:
    """What there is to say beside copies, by heading; headings stay where there is nothing, and say so."""
    return [
        ("CPU fallbacks", _fallbacks(run, rows)),
        ("float64 tensors", _float64(run, rows)),
        ("refused dtypes", _refused(rows)),
        ("into the loss", [_loss_input(entry) for entry in run.loss_inputs]),
        ("losses", _losses(run)),
        ("episodes", [episodes(run.episodes)]),
    ]


def _fallbacks(run: Measurement, rows: list[LineRow]) -> list[str]:
    return [f"{name}, {calls} times{_where_detail(rows, 'fallback', name)}" for name, calls in run.fallbacks.items()]


def _float64(run: Measurement, rows: list[LineRow]) -> list[str]:
    told = [f"{row.calls('float64')} from {place(row.place)}" for row in rows if row.calls("float64")]
    total = run.counts.get("float64", Count()).calls
    return told or ([f"{total} from {NO_LINE}"] if total else [])


def _refused(rows: list[LineRow]) -> list[str]:
    return [
        f"{name}, {calls} times, on {place(row.place)}"
        for row in rows
        for name, calls in row.details.get("refused", {}).items()
    ]


def _where_detail(rows: list[LineRow], event: str, name: str) -> str:
    places = [place(row.place) for row in rows if name in row.details.get(event, {})]
    return f", on {', '.join(places[:3])}{' and others' if len(places) > 3 else ''}" if places else ""


def _loss_input(entry: LossInput) -> str:
    dtypes = ", ".join(dtype.removeprefix("torch.") for dtype in entry.dtypes)
    text = f"{entry.function}({dtypes}) on {place(entry.place)}"
    return f"{text}: {odd}" if (odd := odd_dtype(entry)) else text


def odd_dtype(entry: LossInput) -> str:
    """What is odd about the dtypes of a loss; empty where nothing is. Classes of a cross entropy are integers."""
    dtypes = {dtype.removeprefix("torch.") for dtype in entry.dtypes}
    classes = "cross_entropy" in entry.function or "nll" in entry.function
    for dtype in sorted(dtypes):
        if dtype in ("bool", "float64") or (dtype.startswith(("int", "uint")) and not classes):
            return f"{dtype} enters the loss"
    floating = sorted(dtype for dtype in dtypes if "float" in dtype)
    return f"{' and '.join(floating)} are mixed" if len(floating) > 1 else ""


def _losses(run: Measurement) -> list[str]:
    if run.non_finite:
        return [
            f"{entry.value} first after {counted(entry.transition, 'transition')}, on {place(entry.place)}; "
            f"{entry.calls} times"
            for entry in run.non_finite
        ]
    return [f"all finite in {counted(run.backward_calls, 'backward call')}"] if run.backward_calls else []


def episodes(ended: list[Episode]) -> str:
    """How many episodes ended, and what they returned at first and at last."""
    if not ended:
        return "none ended"
    returns = [episode.episodic_return for episode in ended]
    few = min(10, len(returns))
    first, last = sum(returns[:few]) / few, sum(returns[-few:]) / few
    if len(returns) <= few:
        return f"{counted(len(returns), 'episode')}, mean return {first:.4g}"
    return (
        f"{counted(len(returns), 'episode')}, mean return {first:.4g} of the first {few}, {last:.4g} of the last {few}"
    )


def overheads(run: Measurement) -> str:
    """What the times contain."""
    how = "counting on" if run.lines or run.kernels else "hooks on"
    return (
        f"{run.seconds:.1f} s with {how}, {run.start_seconds:.1f} s to start; the script alone is faster, "
        "so no speed can be read off this run"
    )


def setting(run: Measurement) -> str:
    """Device, dtype checks and versions, in one line."""
    checks = f", dtype checks {run.dtype_checks}" if run.dtype_checks else ""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    device = {"npu": run.device_name or "NPU", "emulated": "emulated device", "cpu": "CPU"}[run.device]
    return f"{device}{checks}; {versions}" if versions else f"{device}{checks}"


def per_step(run: Measurement, calls: float) -> str:
    """A number a transition, short; a dash without transitions."""
    if not run.transitions:
        return "-"
    value = calls / run.transitions
    return "0" if not value else f"{value:.2f}" if value >= 0.01 else f"{value:.1g}"


def size(number: float) -> str:
    """Bytes with a unit, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" and number == int(number) else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError("unreachable")


def place(line: Line) -> str:
    """``file:line`` with the path as the user would type it."""
    return f"{shown(line.filename)}:{line.line}" if line.filename else NO_LINE


def shown(filename: str) -> str:
    """A path relative to the current folder where it is below it."""
    path = Path(filename)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else filename


def _source(filename: str, number: int) -> str:
    lines = _lines_of(filename)
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


@cache
def _lines_of(filename: str) -> list[str]:
    try:
        return Path(filename).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
