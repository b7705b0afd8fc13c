"""What runs in the process of a watched script: hooks, counters, and the writing of the measurement.

Started by ``npuport.observe.run`` as ``python -m npuport.observe.inside CONFIG.json``; nothing outside this package
imports it. It alone, of ``npuport.observe``, imports torch, gymnasium and stable_baselines3, and only where the
script's environment has them.
"""
