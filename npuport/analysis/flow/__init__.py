"""What flows through a whole program: what expressions may be, and how often lines run. Knows nothing of rules.

- ``value``          abstract values; ``joining`` where ways meet; ``dtypes`` their dtypes, devices and promotion;
                     ``arithmetic`` operators
- ``declarations``   the functions and classes of a file; ``linking`` what its imports mean
- ``declared``       the declarations of the whole program, and how names are found among them
- ``knowledge``      what is known so far, who has read it, and what must be evaluated again
- ``evaluation``     one visit of one function: ``statements``, ``definitions``, ``expressions``, ``comprehensions``,
                     ``binding``, ``attributes``, ``calls``, ``program_calls``; ``gates`` reads conditions, ``types``
                     annotations; ``visits`` binds the parameters and tells what was found
- ``library``        what calls of torch, NumPy, gymnasium and Python itself give
- ``events``         what a visit reports for rules; ``frames`` the loops and gates around it; ``losses`` dtypes on
                     their way into a loss
- ``frequency``      how often a place runs, and why; ``levels`` how often a function does as such; ``actions`` the
                     way of an action to its environment; ``contexts`` what of torch's contexts holds at a place
- ``program``        evaluates until nothing changes; ``file_flow`` answers file by file; ``storage`` keeps it for the
                     next run; ``traits`` what the text of a program says of the whole of it
- ``vocabulary``     the names that RL programs give their things
"""
