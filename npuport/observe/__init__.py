"""Runs a script as it is, watches it, and says what happened: per environment step and by source line.

- ``measurement``  what a run measured: plain data, written by the child, read by reports, benchmarks and validate
- ``run``          starts the child on a device and reads its measurement, also after a crash; ``configuration``: what
                   the child is told
- ``findings``     what ``check`` says of the lines that were measured
- ``inside``       what runs in the child: the hooks and counters; the only place here that imports torch

Which device a script gets is ``npuport.device``'s choice; how a measurement is printed is ``npuport.reports``';
whether the agent still learns is ``npuport.validate``'s question.
"""
