"""What the stored runs reached, as a table: ``python -m npuport.reference_agents.results``."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from npuport.reference_agents.stored import AGENTS, SeedRun, StoredRun, load_stored_run, stored_environments

_EPISODES = 20


def best_mean(seed: SeedRun, episodes: int = _EPISODES) -> float:
    """The highest mean return of so many consecutive training episodes; NaN where there were fewer."""
    means = [statistics.fmean(seed.returns[end - episodes : end]) for end in range(episodes, len(seed.returns) + 1)]
    return max(means, default=float("nan"))


def _spread(values: list[float]) -> str:
    return f"{statistics.fmean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _row(run: StoredRun) -> str:
    cells = (
        run.agent.upper(),
        run.environment,
        f"{run.total_steps:,}",
        str(len(run.seeds)),
        _spread([seed.greedy_return for seed in run.seeds]),
        _spread([best_mean(seed) for seed in run.seeds]),
    )
    return f"| {' | '.join(cells)} |"


def table() -> Iterator[str]:
    """The lines of a Markdown table: means over the seeds, with the lowest and the highest."""
    yield f"| agent | environment | transitions | seeds | greedy return | best {_EPISODES} training episodes |"
    yield "|---|---|---|---|---|---|"
    for agent in AGENTS:
        for environment in stored_environments(agent):
            yield _row(load_stored_run(agent, environment))


if __name__ == "__main__":
    print("\n".join(table()))
