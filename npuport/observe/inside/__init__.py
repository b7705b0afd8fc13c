"""What runs in the process of a watched script: hooks, counters, and the writing of the measurement.

``__main__`` is started by ``npuport.observe.run`` as ``python inside/__main__.py CONFIG.json``; nothing outside
imports this package. It alone, of ``npuport.observe``, touches torch, gymnasium and stable_baselines3, and none before
the script has imported it.

- ``script``      runs the script as Python would; ``endings``: what it ended by
- ``watch``       what is known while it runs; ``snapshot``: written down, so that it survives any end
- ``counters``    events by line; ``lines``: which line of the user's files is at work
- ``hooks``       all hooks; ``importing``: each waits for the module that it is about
- ``stepping``, ``environments``, ``vector_environments``, ``stable_baselines``  transitions and episodes
- ``seeds``, ``gym_alias``  what the script is spared: seeding itself, and the old name of gymnasium
- ``device_events``  copies, waits and kernels as the emulated device counts them
- ``dispatch``    the same from Python, on any device; ``device_rules``: which copies an operator stands for
- ``npu_waits``   functions of ``torch.npu`` that wait, which dispatch does not see
- ``optimisers``, ``backward``, ``loss_functions``  updates and losses
"""
