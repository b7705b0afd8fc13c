"""What runs in the process of a script that is validated; it alone, of ``npuport.validate``, imports torch.

- ``probe``           which environments a script makes; looks at its checkpoints, which ``checkpoints`` compares
- ``agent_function``  calls a file's ``npuport_agent`` instead of running the file
"""
