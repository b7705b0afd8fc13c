"""The two ways in which input can be bad."""


class UsageError(Exception):
    """The command cannot be carried out at all: exit status 2 with this one line."""


class UnreadableSource(Exception):
    """One file cannot be read or decoded: a finding (NPU000) on that file; the others go on.

    Attributes:
        row: line from 1 on which the trouble is.
        column: column from 1.
        fault: what is wrong, in one line.
    """

    def __init__(self, fault: str, row: int = 1, column: int = 1) -> None:
        super().__init__(fault)
        self.fault = fault
        self.row = row
        self.column = column
