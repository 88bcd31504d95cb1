"""All figures of a run in one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from session.files.journal import Manifest
from zorkgpt.report.episode_figures import EpisodeFigures, episode_figures
from zorkgpt.report.metrics import Metrics, metrics_of
from zorkgpt.report.run_summary import RunSummary
from zorkgpt.report.usage import NO_PRICES, RoleUsage, usage_by_role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from session.configuration.option_groups import PriceOptions
    from zorkgpt.report.played_run import PlayedRun


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What a run was, what came of each episode, and what it took."""

    run: RunSummary
    manifest: Manifest
    episodes: tuple[EpisodeFigures, ...]
    metrics: Metrics
    usage: tuple[RoleUsage, ...]


def figures_of(run: PlayedRun, prices: Mapping[str, PriceOptions] = NO_PRICES) -> RunFigures:
    """The figures of the run; ``prices`` of models are over those that it was begun with."""
    episodes = episode_figures(run.episodes, has_memories=run.memories is not None)
    return RunFigures(run.summary, run.manifest, episodes, metrics_of(run, episodes), usage_by_role(run, prices))
