"""NPU0: findings about the file itself; the engine makes them, the rules describe them."""
