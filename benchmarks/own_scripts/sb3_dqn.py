"""DQN of Stable-Baselines3 on CartPole."""

from stable_baselines3 import DQN

model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, train_freq=4, batch_size=64, seed=1, device="cuda")
model.learn(total_timesteps=2000)
