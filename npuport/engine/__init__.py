"""Rules and analysis make findings, findings make edits, edits make files.

- ``rule``         what a rule is (the API of rule packs)
- ``registry``     finds rule packs and selects rules
- ``finding``      what is reported
- ``fix``          what a rule proposes; ``writer`` words it in a style, ``rendering`` turns it into edits
- ``shared_names`` one module for the portable names of a package
- ``imports``      the one planner of imports and helper lines
- ``checking``     one file to its findings; ``fixing`` one file to its fixed text
- ``suppressions`` the comments ``# npuport: ignore[...]``
- ``program``      many files: project facts, cache, process pool
- ``files``        atomic writing

The engine never imports a rule; it finds them through the entry-point group ``npuport.rules``.
"""
