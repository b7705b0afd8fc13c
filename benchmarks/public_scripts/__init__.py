"""Public training scripts that the benchmarks port and run: what they are, how they are laid out, how they are run."""
