"""Run on the emulated device: what each of many lines copies and waits, by the device and by the dispatch rules.

Prints the lines for which the two differ, as JSON, and how many there were.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections import Counter
from typing import Any

import numpy
import torch
from torch import nn

from npuport.observe.inside.counters import Counters
from npuport.observe.inside.dispatch import Dispatched, watching
from npuport.observe.inside.lines import NOWHERE

LINES = """\
host.to(npu)
host64.to(npu)
host64.to(npu, torch.float32)
host64.to(device=npu, dtype=torch.float32, non_blocking=True)
host.to(npu, non_blocking=True)
pinned.to(npu, non_blocking=True)
pinned.to(npu, torch.float16, non_blocking=True)
pinned.to(npu)
host.t().to(npu)
host[:1].expand(3, 4).to(npu)
host.half().to(npu, torch.float32)
torch.empty(0).to(npu)
host.npu()
torch.tensor([1.0, 2.0], device=npu)
torch.tensor(3.0, device=npu)
torch.tensor(array, device=npu)
torch.tensor([1, 2], dtype=torch.float64, device=npu)
torch.as_tensor(array, device=npu)
torch.as_tensor([1.0, 2.0], device=npu)
torch.as_tensor(array, dtype=torch.float32, device=npu)
torch.from_numpy(array).to(npu)
x.new_tensor([1.0, 2.0])
torch.zeros(3, device=npu)
torch.full((2, 2), 3.0, device=npu)
x.cpu()
x.t().cpu()
x[:, 1].cpu()
x[:1].expand(3, 4).cpu()
x.to("cpu", non_blocking=True)
x.to("cpu", torch.float16, non_blocking=True)
x.to("cpu", torch.float64)
x.double().cpu()
x.cpu().numpy()
x.tolist()
number.item()
float(number)
bool(number > 1)
[1, 2, 3][device_rows[0]]
x[0]
x[rows]
x[device_rows]
x[rows, rows]
x[mask]
x[host_mask]
x[mask[:, 0]]
x[mask.byte()]
x[:, rows]
x[[0, 2]]
x[numpy.array([0, 2])]
x[torch.tensor(1)]
x[device_rows[0]]
b.__setitem__(rows, 1.0)
b.__setitem__(device_rows, 1.0)
b.__setitem__(mask, 0.0)
b.__setitem__(mask, host_number)
b.__setitem__(mask, number)
b.__setitem__(mask[:, 0], x[0])
b.__setitem__(mask, x[mask])
b.__setitem__(host_mask, 0.0)
b.__setitem__(host_mask, number)
b.__setitem__(0, host[0])
b.__setitem__(0, torch.tensor(1.0))
b.__setitem__((0, 1), 2.0)
b.__setitem__((rows, rows), number)
b.index_put_((device_rows,), number, accumulate=True)
x * host_number
host_number * x
host_number - x
x / host_number
host_number / x
x > host_number
torch.pow(host_number, x)
torch.where(mask, x, host_number)
torch.where(mask, host_number, host_number)
torch.where(mask, x, 0.0)
x.masked_fill(mask, host_number)
x.masked_fill(mask, 0.0)
torch.minimum(x, host_number)
b.fill_(host_number)
b.copy_(host)
b.copy_(host64)
b.copy_(host, non_blocking=True)
b.copy_(pinned, non_blocking=True)
b.copy_(host.half(), non_blocking=True)
b.copy_(host_number)
b.copy_(x)
b.index_add_(0, device_rows, x[:2])
host.copy_(x)
host.copy_(x, non_blocking=True)
pinned.copy_(x, non_blocking=True)
torch.nonzero(mask)
torch.where(mask)
torch.masked_select(x, mask)
x.unique()
torch.equal(x, x)
torch.allclose(x, x)
x.any().item()
x.argmax(1)
x.max(1)
x.sum(0)
x.repeat_interleave(2, 0)
x.repeat_interleave(device_rows[:1] + 1, 0)
torch.repeat_interleave(device_rows)
nn.functional.one_hot(device_rows)
nn.functional.huber_loss(x, b)
nn.functional.huber_loss(weight, b[:1, :1].expand(4, 4)).backward()
device_rows.bincount()
torch.histc(x)
torch.normal(x, x.abs())
torch.distributions.Categorical(logits=x).sample()
torch.distributions.Normal(x, x.abs() + 1).rsample()
torch.linalg.inv(torch.eye(3, device=npu))
(host.requires_grad_().to(npu) * 2).sum().backward()
((x @ weight).to("cpu") ** 2).sum().backward()
linear(x).sum().backward(); optimiser.step(); optimiser.zero_grad()
nn.utils.clip_grad_norm_(linear.parameters(), 1.0)
linear.load_state_dict({name: value.cpu() for name, value in linear.state_dict().items()})
torch.npu.synchronize()
torch.npu.current_stream().synchronize()
torch.npu.empty_cache()
torch.accelerator.synchronize()
event = torch.npu.Event(); event.record(); event.synchronize()
f"{number:.2f}"
""".splitlines()


class Unlocated:
    """As much of a watch as the dispatch mode asks for."""

    active, suspended, end = True, False, None

    def __init__(self) -> None:
        self.counters = Counters()

    def place(self, _frame: object = None) -> tuple[str, int, str]:
        """All on one line."""
        return NOWHERE

    def count(self, *_: object, **__: object) -> None:
        """Refusals are not looked at here."""


def names() -> dict[str, Any]:
    """What the lines speak of."""
    npu = "npu"
    x = torch.arange(12.0).reshape(3, 4).to(npu)
    rows = torch.tensor([0, 2])
    linear = nn.Linear(4, 2).to(npu)
    return {
        "npu": npu,
        "x": x,
        "b": x.clone(),
        "weight": torch.ones(4, 4, device=npu, requires_grad=True),
        "rows": rows,
        "device_rows": rows.to(npu),
        "mask": x > 5,
        "host_mask": (x > 5).cpu(),
        "host": torch.ones(3, 4),
        "host64": torch.ones(3, 4, dtype=torch.float64),
        "pinned": torch.ones(3, 4).pin_memory(),
        "host_number": torch.tensor(2.0),
        "number": torch.tensor(2.0).to(npu),
        "array": numpy.ones((3, 4)),
        "linear": linear,
        "optimiser": torch.optim.Adam(linear.parameters()),
        "torch": torch,
        "nn": nn,
        "numpy": numpy,
    }


def main() -> None:
    """Runs every line under both counts."""
    calls: Counter[str] = Counter()
    moved: Counter[str] = Counter()

    def happened(what: bytes, count: int) -> None:
        calls[what.decode()] += 1
        moved[what.decode()] += count

    hook = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)(happened)
    ctypes.CDLL("libascendcl.so").npuport_set_event_hook(hook)
    known = names()
    watch = Unlocated()
    dispatched = Dispatched(watch, torch, only_source=False)  # type: ignore[arg-type]
    differences = []
    with watching(torch, dispatched):
        for line in LINES:
            dispatched.counters = Counters()
            calls.clear()
            moved.clear()
            exec(line, known)
            device = {name: [count, moved[name]] for name, count in calls.items() if not name.startswith("refused")}
            totals = dispatched.counters.totals(setup=watch.counters.setup)
            rules = {name: [count.calls, count.bytes] for name, count in totals.items()}
            if device != rules:
                differences.append({"line": line, "device": device, "rules": rules})
    ctypes.CDLL("libascendcl.so").npuport_set_event_hook(None)
    json.dump({"lines": len(LINES), "differences": differences}, sys.stdout)


if __name__ == "__main__":
    main()
