"""Says whether a ported agent still learns, and what it costs.

- ``scores``      final return, time-averaged return and first solved step of a run
- ``statistics``  Welch interval, non-inferiority, equivalence, Fisher's test, the number of seeds that would decide
- ``verdict``     gates and rules: PASS, FAIL or INCONCLUSIVE, with its reasons
- ``inside``      what runs in the script's process beside ``npuport.observe.inside``

Watching one run is ``npuport.observe``'s; printing is ``npuport.reports``'.
"""
