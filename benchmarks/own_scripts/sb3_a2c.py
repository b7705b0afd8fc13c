"""A2C of Stable-Baselines3 on four CartPoles."""

import gymnasium as gym
import torch
from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env

device = "cuda:0" if torch.cuda.is_available() else "cpu"
environments = make_vec_env(lambda: gym.make("CartPole-v1"), n_envs=4, seed=1)
model = A2C("MlpPolicy", environments, n_steps=8, seed=1, device=device)
model.learn(total_timesteps=2000)
