"""From findings to edits and to files, whatever the rules are.

- ``rule``         what a rule is (the API of rule packs)
- ``loss_input_rule`` the base of rules about a dtype that no loss should get
- ``registry``     finds rule packs and selects rules
- ``finding``      what is reported
- ``fix``          what a rule proposes; ``writer`` words it in a style, ``rendering`` turns it into edits
- ``rewriting``    libcst transforms that several rules share; ``lazy_libcst`` imports libcst with the first
- ``shared_names`` one module for the portable names of a package
- ``imports``      the one planner of imports and helper lines
- ``document``     one file as rules see it, Python or configuration
- ``checking``     one file to its findings; ``fixing`` one file to its fixed text
- ``suppressions`` the comments ``# npuport: ignore[...]``; ``ignores`` writes them into files
- ``cells``        a notebook's findings by cell and row, and by rows of the joined text
- ``gate``         which rules a file's bytes leave something to say
- ``flow_rule``    base of the rules that ask what flows through the program
- ``run_flow``     the programs among the files of a run (``components``, ``whole_program``), kept in ``flow_store``
- ``program``      many files to findings: project facts, ``cache``; ``file_checks`` one file's bytes, process pool;
                   ``per_file_ignores`` what settings take away; ``porting`` to fixed files
- ``files``        atomic writing

The engine never imports a rule; it finds them through the entry-point group ``npuport.rules``.
"""
