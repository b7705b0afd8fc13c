"""Tests: what each part promises, told by the names of the tests.

Rule tests come from ``fixtures/rules``; end-to-end tests run the installed command.
"""
