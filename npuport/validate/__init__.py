"""Says whether a ported agent still learns, and what it costs.

- ``validation``  one validation from the request to the verdict
- ``program``     what is run for an arm, and with which arguments a seed runs
- ``passes``      runs programs, side by side or in turns; ``store`` keeps finished runs
- ``arms``        the port's runs and those that it is held against, watched or stored
- ``tasks``       what an environment's returns mean; ``question``: margins and which scores count
- ``scores``      final return, time-averaged return and first solved step of a run; ``curves``: their picture
- ``statistics``  Welch interval, Fisher's test, the number of seeds that would decide
- ``verdict``     gates and rules: PASS, FAIL or INCONCLUSIVE, with its reasons; ``seeds`` and ``returns`` have the
                  numbers of the gates G1 and G2
- ``checks``      what is held against a port beside its returns; ``throughput``: its speed
- ``inside``      what runs in the script's process beside ``npuport.observe.inside``

Watching one run is ``npuport.observe``'s; printing is ``npuport.reports``'.
"""
