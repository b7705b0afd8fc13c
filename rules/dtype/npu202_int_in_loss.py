from __future__ import annotations

from npuport.analysis.flow.dtypes import INTEGRAL
from npuport.engine.finding import Severity
from npuport.engine.loss_input_rule import LossInputRule
from npuport.engine.rule import Triggers


class IntInLoss(LossInputRule):
    """A tensor of integers takes part in the arithmetic of a loss.

    What it does
    ------------
    Reports the place that makes a tensor of integers (rewards, step counts, uint8 flags) which is later mixed with
    floats on its way to a loss, or enters the loss itself. The evidence names the steps. Not reported: indices for
    ``gather``, ``scatter``, ``embedding`` and subscripts, which must stay int64, and targets that are classes.

    Why on an NPU
    -------------
    The loss kernels of an NPU take float16 and float32. Integers among floats are cast by one more kernel at each
    use, and 64-bit arithmetic is a slow path; integers that enter the loss as they are, are refused.

    Example
    -------
    ::

        rewards = torch.LongTensor(rewards).to(device)
        target = rewards + gamma * next_values

    Use instead
    -----------
    ::

        rewards = torch.as_tensor(rewards, dtype=torch.float32, device=device)
        target = rewards + gamma * next_values

    Fix safety
    ----------
    The constructor makes float32 where the file uses the tensor in arithmetic only: safe. Unsafe where the data is
    known to hold floats, whose fractions the integers cut off, where the tensor is also read or compared, and where
    another file computes with it. No fix where it is an index.

    Sources
    -------
    - Ascend's list of operators for PyTorch 2.13: ``mse_loss`` takes float16 and float32:
      https://github.com/Ascend/pytorch, ``docs/zh/api/native_api/pytorch_2-13-0``
    - torch_npu warns of 64-bit operators as "High Accuracy but Low Performance".
    """

    code = "NPU202"
    name = "int-in-loss"
    topic = "dtype"
    severity = Severity.WARNING
    triggers = Triggers(("torch",))
    dtypes = INTEGRAL - {"bool"}
    promoted = "a tensor of {dtype} is mixed into the floats of a loss: each use costs a cast on the device"
    direct = "a tensor of {dtype} enters a loss, whose kernels on an NPU take floats"
