"""The command line: one module a command. Options, exit statuses and nothing else; no logic.

``main`` is the group of the commands and words errors; ``options``, ``progress`` and ``output_file`` are what commands
share, ``validate_progress`` is for ``validate`` alone.
"""
