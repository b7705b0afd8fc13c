"""Files that test a program: they make their inputs themselves, and load what they saved on the same machine."""

from __future__ import annotations

from npuport.analysis.flow.vocabulary import TEST_FILE
from npuport.analysis.module import Module


def belongs_to_tests(module: Module) -> bool:
    """Whether a file is named like a test and has test functions."""
    return TEST_FILE.search(module.source.path.name) is not None and "def test_" in module.source.text
