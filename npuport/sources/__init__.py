"""What is read: finding files, decoding them, and the settings in ``pyproject.toml``.

Knows nothing of Python's syntax beyond its encoding rules, and nothing of rules or findings.
"""
