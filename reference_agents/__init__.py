"""Reference agents: DQN and PPO written the way npuport's advice says, one file each, read from top to bottom.

They run unchanged on ``npu:0``, on the emulated device and on the CPU
(``python -m npuport.reference_agents.dqn --device npu:0``). ``runs`` holds their stored runs, the reference arm of
``npuport validate``.
"""
