"""What there is to say of a watched run beside copies and waits, by heading."""

from __future__ import annotations

from typing import NamedTuple

from npuport.observe.measurement import Count, Episode, LossInput, Measurement
from npuport.reports.measured_lines import NO_LINE, LineRow, place
from npuport.reports.report import counted


class Remark(NamedTuple):
    """One line below a heading; `bad` where it breaks a run or spoils its numbers."""

    text: str
    bad: bool = False


def notices(run: Measurement, rows: list[LineRow]) -> list[tuple[str, list[Remark]]]:
    """What there is to say beside copies, by heading; headings stay where there is nothing, and say so."""
    return [
        ("CPU fallbacks", [Remark(text) for text in _fallbacks(run, rows)]),
        ("float64 tensors", [Remark(text) for text in _float64(run, rows)]),
        ("refused dtypes", [Remark(text, bad=True) for text in _refused(rows)]),
        ("into the loss", _loss_inputs(run)),
        ("losses", _losses(run)),
        ("episodes", [Remark(episodes(run.episodes))]),
    ]


def _fallbacks(run: Measurement, rows: list[LineRow]) -> list[str]:
    return [
        f"{name}, {counted(calls, 'time')}{_where_detail(rows, 'fallback', name)}"
        for name, calls in run.fallbacks.items()
    ]


def _float64(run: Measurement, rows: list[LineRow]) -> list[str]:
    told = [f"{row.calls('float64')} from {place(row.place)}" for row in rows if row.calls("float64")]
    total = run.counts.get("float64", Count()).calls
    return told or ([f"{total} from {NO_LINE}"] if total else [])


def _refused(rows: list[LineRow]) -> list[str]:
    return [
        f"{name}, {counted(calls, 'time')}, on {place(row.place)}"
        for row in rows
        for name, calls in row.details.get("refused", {}).items()
    ]


def _where_detail(rows: list[LineRow], event: str, name: str) -> str:
    places = [place(row.place) for row in rows if name in row.details.get(event, {})]
    return f", on {', '.join(places[:3])}{' and others' if len(places) > 3 else ''}" if places else ""


def _loss_inputs(run: Measurement) -> list[Remark]:
    if run.backward_calls and not run.loss_inputs:
        return [Remark("no loss function of torch was called")]
    return [_loss_input(entry) for entry in run.loss_inputs]


def _loss_input(entry: LossInput) -> Remark:
    dtypes = ", ".join(dtype.removeprefix("torch.") for dtype in entry.dtypes)
    text = f"{entry.function}({dtypes}) on {place(entry.place)}"
    return Remark(f"{text}: {odd}", bad=True) if (odd := odd_dtype(entry)) else Remark(text)


def odd_dtype(entry: LossInput) -> str:
    """What is odd about the dtypes of a loss; empty where nothing is. Classes of a cross entropy are integers."""
    dtypes = {dtype.removeprefix("torch.") for dtype in entry.dtypes}
    classes = "cross_entropy" in entry.function or "nll" in entry.function
    for dtype in sorted(dtypes):
        if dtype in ("bool", "float64") or (dtype.startswith(("int", "uint")) and not classes):
            return f"{dtype} enters the loss"
    floating = sorted(dtype for dtype in dtypes if "float" in dtype)
    return f"{' and '.join(floating)} are mixed" if len(floating) > 1 else ""


def _losses(run: Measurement) -> list[Remark]:
    if not run.non_finite:
        return [Remark(f"all finite in {counted(run.backward_calls, 'backward call')}")] if run.backward_calls else []
    return [
        Remark(
            f"{entry.value} first after {counted(entry.transition, 'transition')}, on {place(entry.place)}; "
            f"{counted(entry.calls, 'time')}",
            bad=True,
        )
        for entry in run.non_finite
    ]


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
