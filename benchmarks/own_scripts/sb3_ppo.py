"""PPO of Stable-Baselines3 on CartPole."""

import torch
from stable_baselines3 import PPO

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, n_epochs=4, seed=1, device=device)
model.learn(total_timesteps=2000)
