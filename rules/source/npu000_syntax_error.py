from __future__ import annotations

from npuport.engine.finding import Severity
from npuport.engine.rule import SourceRule, Triggers


class SyntaxErrorRule(SourceRule):
    """A file that cannot be read or parsed was not checked.

    What it does
    ------------
    Reports a file that is not valid Python for the interpreter that runs npuport, is not text in its declared
    encoding, or cannot be opened. The other files are checked all the same. A broken file that no rule would have
    looked into is reported only where it is named itself.

    Why on an NPU
    -------------
    Agents written for torch before 1.0 use ``async`` as an argument name and ``print`` as a statement. Such
    code does not run on any Python that torch_npu supports, and whatever it says about devices was not seen.

    Example
    -------
    ::

        batch = x.cuda(device, async=True)

    Use instead
    -----------
    ::

        batch = x.cuda(device, non_blocking=True)

    Sources
    -------
    - ``async`` became a keyword in Python 3.7: https://docs.python.org/3/whatsnew/3.7.html
    """

    code = "NPU000"
    name = "syntax-error"
    topic = "syntax"
    severity = Severity.ERROR
    triggers = Triggers(())
