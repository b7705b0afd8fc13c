"""TD3 of Stable-Baselines3 on Pendulum, with noise on its actions."""

import numpy as np
import torch
from stable_baselines3 import TD3
from stable_baselines3.common.noise import NormalActionNoise

use_cuda = torch.cuda.is_available()
noise = NormalActionNoise(mean=np.zeros(1), sigma=0.1 * np.ones(1))
model = TD3(
    "MlpPolicy",
    "Pendulum-v1",
    action_noise=noise,
    learning_starts=100,
    batch_size=64,
    seed=1,
    device="cuda" if use_cuda else "cpu",
)
model.learn(total_timesteps=2000)
