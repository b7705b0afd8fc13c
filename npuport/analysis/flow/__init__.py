"""What flows through a whole program: what expressions may be, and how often lines run. Knows nothing of rules.

- ``value``          abstract values; ``joining`` where ways meet; ``dtypes`` their dtypes, devices and promotion;
                     ``arithmetic`` operators
- ``declarations``   the functions and classes of a file; ``linking`` what its imports mean
- ``declared``       the declarations of the whole program, and how names are found among them
- ``knowledge``      what is known so far, who has read it, and what must be evaluated again
- ``evaluation``     one visit of one function: ``statements``, ``definitions``, ``expressions``, ``comprehensions``,
                     ``binding``, ``attributes``, ``calls``, ``program_calls``; ``gates`` reads conditions, ``types``
                     annotations
- ``library``        what calls of torch, NumPy, gymnasium and Python itself give
- ``events``         what a visit reports for rules; ``frames`` the loops and gates around it; ``losses`` dtypes on
                     their way into a loss
- ``frequency``      how often a place runs, and why; ``actions`` the way of an action to its environment
- ``program``        evaluates until nothing changes, and answers file by file; ``storage`` keeps it for the next run
- ``vocabulary``     the names that RL programs give their things
"""
