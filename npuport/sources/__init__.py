"""What is read: finding files, decoding them, and the settings in ``pyproject.toml``.

- ``discovery`` the files under the paths that were named
- ``text``      bytes to text and back, with line ends, byte-order mark and places
- ``notebooks`` the code cells of a notebook as one text, and back; ``ipython`` knows what is no Python in them,
  ``json_text`` changes strings in a JSON document
- ``reading``   a file's bytes as text, whatever kind of file it is
- ``settings``  ``pyproject.toml`` and the command line
- ``errors``    what the user can put right, and files that cannot be read

Knows nothing of Python's syntax beyond its encoding rules, and nothing of rules or findings.
"""
