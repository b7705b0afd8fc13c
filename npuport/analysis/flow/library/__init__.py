"""What calls of libraries give: torch, NumPy, gymnasium, Python's own containers and functions.

Each module holds tables of facts and the few functions that read them; none knows the program that is analysed.
A function here gets the evaluation that runs (for origins and events) and a call with its evaluated arguments,
and gives the value of the call: ``UNKNOWN`` where nothing is known of the result.

- ``dispatch``      which table answers; ``evaluation`` what tables need of the evaluation that runs
- torch             ``torch_functions``, ``torch_creation``, ``operators`` with ``operator_table`` and ``promotion``,
                    ``tensor_methods``, ``moves``, ``layers``, ``distributions``, ``data_loading``, ``contexts``
- NumPy             ``numpy_functions``, ``numpy_random``, ``array_methods``
- gymnasium         ``environments``
- Python            ``python_functions``, ``containers``, ``standard_library``
"""
