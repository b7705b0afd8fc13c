"""DDPG of Stable-Baselines3 on Pendulum."""

import argparse

from stable_baselines3 import DDPG

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
arguments = parser.parse_args()
model = DDPG("MlpPolicy", "Pendulum-v1", learning_starts=100, batch_size=64, seed=1, device=arguments.device)
model.learn(total_timesteps=2000)
