"""The rows, one module a group of operators. A module has ``ROWS``, a list; nothing is registered."""
