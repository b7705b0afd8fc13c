"""SAC of Stable-Baselines3 on Pendulum."""

from stable_baselines3 import SAC

model = SAC("MlpPolicy", "Pendulum-v1", learning_starts=100, batch_size=64, seed=1, device="auto")
model.learn(total_timesteps=2000)
