"""The command line: one module a command. Options, exit statuses and nothing else; no logic."""
