from __future__ import annotations

from npuport.analysis.flow.dtypes import BOOL
from npuport.engine.finding import Severity
from npuport.engine.loss_input_rule import LossInputRule
from npuport.engine.rule import Triggers


class BoolInLoss(LossInputRule):
    """A bool tensor takes part in the arithmetic of a loss.

    What it does
    ------------
    Reports the place that makes a bool tensor (``dones``, a mask) which is later multiplied with floats on its way
    to a loss, or enters the loss itself. The evidence names the steps. Not reported: comparisons inside a product,
    masks that only choose elements, and targets that are classes.

    Why on an NPU
    -------------
    The loss kernels of an NPU take float16 and float32. A bool among floats is cast by one more kernel at each use,
    and by another one in the backward pass; entering the loss as it is, it is refused or falls back to the CPU.

    Example
    -------
    ::

        done = torch.as_tensor(batch["dones"], dtype=torch.bool, device=device)
        target = reward + gamma * best * ~done
        loss = F.smooth_l1_loss(q, target)

    Use instead
    -----------
    ::

        done = torch.as_tensor(batch["dones"], dtype=torch.float32, device=device)
        target = reward + gamma * best * (1.0 - done)
        loss = F.smooth_l1_loss(q, target)

    Fix safety
    ----------
    ``~done`` among floats becomes ``1.0 - done.float()``, which is the same number: safe. The constructor gets
    ``dtype=torch.float32`` where the file uses the tensor in arithmetic only: safe. It is unsafe where the tensor is
    also read or compared; there is no fix where it chooses elements, or where another file computes with it.

    Sources
    -------
    - Ascend's list of operators for PyTorch 2.13: ``mse_loss`` takes float16 and float32, ``smooth_l1_loss``
      bfloat16 besides: https://github.com/Ascend/pytorch, ``docs/zh/api/native_api/pytorch_2-13-0``
    - A DQN whose bool ``dones`` met floats: https://github.com/ray-project/ray/issues/9989
    """

    code = "NPU201"
    name = "bool-in-loss"
    topic = "dtype"
    severity = Severity.WARNING
    triggers = Triggers(("torch",))
    dtypes = BOOL
    promoted = "a bool tensor is mixed into the floats of a loss: each use costs a cast on the device"
    direct = "a bool tensor enters a loss, whose kernels on an NPU take floats"
