"""The command line: one module a command. Options, exit statuses and nothing else; no logic.

``main`` is the group of the commands and words errors; ``options`` and ``progress`` are what commands share.
"""
