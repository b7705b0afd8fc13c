"""Small programs for the emulated device, each with what must hold; ``python -m tests.device_programs`` runs them all.

For each it writes one line of JSON: the name of the function, and the traceback where something did not hold. They run
in one process because loading torch_npu takes seconds; ``tests/test_emulator_runtime.py`` makes a test of each.
"""

from __future__ import annotations

import copy
import ctypes
import io
import json
import os
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import nn

DEVICE = "npu"
Program: TypeAlias = Callable[[], None]
Counts: TypeAlias = dict[str, tuple[int, int]]


class Library:
    """The counters of libascendcl.so."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libascendcl.so")
        self._library.npuport_read_counts.argtypes = [ctypes.c_char_p, ctypes.c_int64]
        self._library.npuport_read_counts.restype = ctypes.c_int64

    def reset(self) -> None:
        self._library.npuport_reset_counts()

    def counts(self) -> Counts:
        """Calls and bytes by name."""
        text = ctypes.create_string_buffer(self._library.npuport_read_counts(None, 0) + 1)
        self._library.npuport_read_counts(text, len(text))
        lines = (line.split() for line in text.value.decode().splitlines())
        return {name: (int(calls), int(size)) for name, calls, size in lines}

    @contextmanager
    def events(self) -> Iterator[list[tuple[str, int, int]]]:
        """What the event hook is told inside: name, bytes, thread."""
        told: list[tuple[str, int, int]] = []
        hook_type = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64)
        hook = hook_type(lambda name, size: told.append((name.decode(), size, threading.get_ident())))
        self._library.npuport_set_event_hook(hook)
        try:
            yield told
        finally:
            self._library.npuport_set_event_hook(hook_type())


LIBRARY = Library()


@contextmanager
def standard_error() -> Iterator[list[str]]:
    """What C++ writes to standard error inside; the text is there after the block."""
    told: list[str] = []
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield told
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            told.append(file.read().decode())


def network() -> nn.Module:
    """A network of DQN's size with the same weights at each call."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 120), nn.ReLU(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 2))


def trained(model: nn.Module, device: str, steps: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Losses and weights after some steps of Adam on batches that are drawn on the CPU."""
    model = copy.deepcopy(model).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    generator = torch.Generator().manual_seed(5)
    losses = []
    for _ in range(steps):
        inputs = torch.randn(32, 4, generator=generator).to(device)
        actions = torch.randint(0, 2, (32, 1), generator=generator).to(device)
        loss = nn.functional.smooth_l1_loss(model(inputs).gather(1, actions).squeeze(1), inputs.sum(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.cpu() for name, value in model.state_dict().items()}


def the_device_is_there() -> None:
    assert torch.npu.is_available() and torch.npu.device_count() == 1
    assert "Ascend910B" in torch.npu.get_device_name(0)
    assert torch.ones(2).npu().device == torch.device("npu", 0)


def training_equals_the_cpu_to_the_last_bit() -> None:
    cpu_losses, cpu_weights = trained(network(), "cpu", 30)
    losses, weights = trained(network(), DEVICE, 30)
    assert losses == cpu_losses and losses[-1] < losses[0]
    for name, value in cpu_weights.items():
        assert torch.equal(value, weights[name]), name


def float64_behaves_as_torch_npu_has_it() -> None:
    assert torch.zeros(2, dtype=torch.float64).to(DEVICE).dtype == torch.float64
    assert torch.ones(2, dtype=torch.float64, device=DEVICE).dtype == torch.float64
    with standard_error() as told:
        assert torch.ones(2, device=DEVICE).double().dtype == torch.float32
    # The warning comes once in a process, so this is the first program that casts.
    assert "do not support double dtype" in told[0], told


def what_has_no_kernel_runs_on_the_cpu_with_a_warning() -> None:
    numbers = torch.tensor([3.0, 4.0])
    with standard_error() as told:
        found = torch.lgamma(numbers.to(DEVICE))
    assert found.device.type == DEVICE and torch.equal(found.cpu(), torch.lgamma(numbers))
    assert "'aten::lgamma.out' is not currently supported on the NPU backend and will fall back" in told[0], told


def copies_keep_values_in_both_directions() -> None:
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool):
        host = torch.arange(24).reshape(4, 6).to(dtype)
        for each in (host, host.t(), host[::2], host[1:, 1:], host[:0], host[0, 0]):
            there = each.to(DEVICE)
            assert there.shape == each.shape and torch.equal(there.cpu(), each), (dtype, each.shape)
    device = torch.zeros(3, 4, device=DEVICE)
    device[1].copy_(torch.arange(4.0))
    assert device.cpu()[1].tolist() == [0.0, 1.0, 2.0, 3.0] and device.sum().item() == 6.0
    assert torch.tensor(1.5, device=DEVICE).item() == 1.5 and device.tolist()[1][3] == 3.0


def copies_and_waits_are_counted() -> None:
    host = torch.zeros(10)
    device = host.to(DEVICE)
    LIBRARY.reset()
    for _ in range(3):
        device.copy_(host)
    device.sum().item()
    device.cpu()
    torch.npu.synchronize()
    counts = LIBRARY.counts()
    assert counts["copy.host_to_device"] == (3, 120)
    assert counts["copy.device_to_host"] == (2, 44)
    assert counts["wait.stream"][0] == 5 and counts["wait.device"][0] == 1
    assert counts["kernel.aclnnReduceSum"][0] == 1


def the_event_hook_is_told_in_the_calling_thread() -> None:
    device = torch.zeros(4, device=DEVICE)
    with LIBRARY.events() as told:
        device.cpu()
    assert [(name, size) for name, size, _ in told] == [("wait.stream", 0), ("copy.device_to_host", 16)]
    assert {thread for _, _, thread in told} == {threading.get_ident()}
    device.cpu()
    assert len(told) == 2


def streams_and_events() -> None:
    stream = torch.npu.Stream()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    with torch.npu.stream(stream):
        total = (torch.arange(1000.0, device=DEVICE) * 2).sum()
    torch.npu.current_stream().wait_stream(stream)
    end.record()
    torch.npu.synchronize()
    assert end.query() and stream.query() and 0 <= start.elapsed_time(end) < 60_000
    assert total.item() == 999_000


def autocast_and_gradient_scaler() -> None:
    model = network().to(DEVICE)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler(DEVICE, init_scale=2.0**10)
    inputs = torch.randn(32, 4).to(DEVICE)
    with torch.autocast(DEVICE, torch.float16):
        outputs = model(inputs)
        assert outputs.dtype == torch.float16
        loss = nn.functional.mse_loss(outputs.float(), torch.ones(32, 2, device=DEVICE))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**10
    assert all(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
    # An overflow leaves the weights as they are and halves the scale.
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.zero_grad()
    scaler.scale(model(inputs).sum() * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**9
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def states_are_saved_and_loaded() -> None:
    model = network().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(2, 4, device=DEVICE)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    for where in (DEVICE, "cpu"):
        file.seek(0)
        loaded = torch.load(file, map_location=where)
        other = network().to(where)
        other.load_state_dict(loaded["model"])
        torch.optim.Adam(other.parameters()).load_state_dict(loaded["optimizer"])
        assert all(torch.equal(a.cpu(), b.cpu()) for a, b in zip(model.parameters(), other.parameters(), strict=True))
        assert next(other.parameters()).device.type == where


def a_loader_pins_memory() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(12.0).reshape(6, 2), torch.arange(6))
    loader = torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True, pin_memory_device=DEVICE)
    seen = []
    for inputs, labels in loader:
        assert inputs.is_pinned()
        seen.append((inputs.to(DEVICE, non_blocking=True).sum() + labels.to(DEVICE, non_blocking=True).sum()).item())
    assert seen == [7.0, 27.0, 47.0]


def the_generator_has_a_state() -> None:
    torch.npu.manual_seed(7)
    state = torch.npu.get_rng_state()
    first = torch.rand(5, device=DEVICE)
    second = torch.rand(5, device=DEVICE)
    torch.npu.set_rng_state(state)
    assert torch.equal(torch.rand(5, device=DEVICE), first) and not torch.equal(first, second)
    generator = torch.Generator(device=DEVICE).manual_seed(7)
    assert torch.equal(torch.rand(5, device=DEVICE, generator=generator), first)
    with torch.random.fork_rng(devices=[0], device_type=DEVICE):
        torch.rand(5, device=DEVICE)
    assert torch.equal(torch.rand(5, device=DEVICE), second)


def distributions_draw_and_have_gradients() -> None:
    logits = torch.randn(16, 3).to(DEVICE).requires_grad_()
    categorical = torch.distributions.Categorical(logits=logits)
    actions = categorical.sample()
    assert actions.device.type == DEVICE and actions.min() >= 0 and actions.max() <= 2
    (categorical.log_prob(actions).mean() + categorical.entropy().mean()).backward()
    assert logits.grad is not None and logits.grad.isfinite().all()
    normal = torch.distributions.Normal(torch.zeros(4, device=DEVICE), torch.ones(4, device=DEVICE))
    assert normal.rsample((1000,)).abs().mean().item() < 1


def an_index_on_the_host_costs_a_copy_and_a_wait() -> None:
    device, index = torch.arange(10.0, device=DEVICE), torch.tensor([1, 3])
    device[index]
    LIBRARY.reset()
    assert device[index].device.type == DEVICE
    counts = LIBRARY.counts()
    assert counts["copy.host_to_device"] == (1, 16) and counts["wait.stream"][0] == 1


def a_tensor_of_the_host_is_refused() -> None:
    message = raised(lambda: torch.ones(2, device=DEVICE) + torch.ones(2))
    assert "Expected all tensors to be on the same device" in message, message


def memory_runs_out_with_torch_s_own_error() -> None:
    message = raised(lambda: torch.empty(2**55, device=DEVICE))
    assert "NPU out of memory" in message, message


def freed_memory_is_counted_as_free() -> None:
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    block = torch.empty(2**20, device=DEVICE)
    assert torch.npu.memory_allocated() - before >= 2**22
    del block
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == before


def an_operator_that_is_not_there_fails_by_its_name() -> None:
    # One that torch_npu calls through aclnn, and one that it calls through the older aclop.
    message = raised(lambda: torch.ops.npu.npu_swiglu(torch.ones(2, 4, device=DEVICE)))
    assert "aclnnSwiGlu or aclnnSwiGluGetWorkspaceSize not in libopapi.so" in message, message
    message = raised(lambda: torch.ops.npu.npu_rotary_mul(*[torch.ones(1, 1, 1, 64, device=DEVICE)] * 3))
    assert "emulated device: no kernel for the aclop operator RotaryMul" in message, message


def two_thousand_steps_of_dqn_keep_no_memory() -> None:
    model, target = network().to(DEVICE), network().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    memory = torch.zeros(256, 4)
    after = {}
    for step in range(2000):
        memory[step % 256] = torch.randn(4)
        action = int(model(memory[step % 256].to(DEVICE).unsqueeze(0)).argmax(1).item())
        batch = memory[torch.randint(0, 256, (32,))].to(DEVICE)
        with torch.no_grad():
            expected = 1.0 + 0.99 * target(batch).max(1).values
        loss = nn.functional.smooth_l1_loss(model(batch)[:, action], expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            target.load_state_dict(model.state_dict())
        after[step + 1] = resident_bytes()
    # 40 kernels a step: one object of 32 bytes that is kept by each would be 2 MB.
    assert after[2000] - after[500] < 2**20, after[2000] - after[500]


def threads_train_side_by_side() -> None:
    expected = [trained(network(), "cpu", 20) for _ in range(2)]
    found: dict[int, tuple[list[float], dict[str, torch.Tensor]]] = {}
    models = [network(), network()]

    def work(number: int) -> None:
        found[number] = trained(models[number], DEVICE, 20)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, (losses, weights) in enumerate(expected):
        assert found[number][0] == losses
        assert all(torch.equal(value, found[number][1][name]) for name, value in weights.items())


def raised(call: Callable[[], object]) -> str:
    """The message with which a call fails."""
    try:
        call()
    except Exception as error:
        return str(error)
    raise AssertionError("nothing was raised")


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def programs() -> dict[str, Program]:
    """The functions of this file that are programs: public, without arguments, from the first on."""
    named = {name: value for name, value in globals().items() if callable(value)}
    names = list(named)
    return {name: named[name] for name in names[names.index("the_device_is_there") :] if name not in OTHERS}


OTHERS = ("raised", "resident_bytes", "programs", "main")


def main() -> None:
    """Runs them all."""
    for name, program in programs().items():
        failure = ""
        try:
            program()
        except Exception:
            failure = traceback.format_exc()
        print(json.dumps({"name": name, "failure": failure}), flush=True)


if __name__ == "__main__":
    main()
