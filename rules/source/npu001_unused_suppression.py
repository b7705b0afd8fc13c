from __future__ import annotations

from npuport.engine.finding import Severity
from npuport.engine.rule import SourceRule, Triggers


class UnusedSuppression(SourceRule):
    """A comment suppresses a finding that is not there.

    What it does
    ------------
    Reports ``# npuport: ignore[...]`` and ``# npuport: ignore-file[...]`` comments, or single codes in them,
    that suppress nothing. Codes of rules that are not selected do not count as unused.

    Why on an NPU
    -------------
    A suppression that outlives its reason hides the next finding on its line, and a later port goes wrong
    without a word.

    Example
    -------
    ::

        device = torch.device("npu:0")  # npuport: ignore[NPU101] only ever run on the GPU box

    Use instead
    -----------
    ::

        device = torch.device("npu:0")

    Fix safety
    ----------
    Safe: only the comment, or the unused codes in it, is removed.

    Sources
    -------
    - The suppression comments are described in the README.
    """

    code = "NPU001"
    name = "unused-suppression"
    topic = "syntax"
    severity = Severity.WARNING
    triggers = Triggers(("npuport:",), torch=False, comments=True)
    configuration_triggers = ("npuport:",)
