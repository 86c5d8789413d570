"""The presets of `arena-bot tune`: how genes evolve, what they play and how a move is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from bots.search.risk.settings import CampaignSettings, DuelSettings
from bots.tuning.genetic import Method
from bots.tuning.selfplay import Setup
from protocol.display import shown
from protocol.errors import UsageFault


class Preset(NamedTuple):
    """The method and the setup that a tuning of one game starts with."""

    method: Method
    setup: Setup


DETERMINISTIC = '{"battle": "deterministic"}'
SHORT = '{"max_rounds": 40}'
"""Games of 100 rounds are decided long before they end."""
_PAPER = Method()
_PAIRED = Method(genes=60, tournaments=6, starts=20, seats="both", best=2, children=24, mutants=12, generations=8)
_ADJUSTED = Method(
    genes=60,
    tournaments=6,
    seats="both",
    best=2,
    children=16,
    mutants=24,
    generations=24,
    step=0.93,
    fitness="adjusted",
)
_QUICK = Method(genes=20, tournaments=2, children=4, mutants=2, generations=3)
_DUEL = Setup("risk-duel", DuelSettings(), depth=3)
_CAMPAIGN = Setup("risk-campaign", CampaignSettings("sure", "plies", "rule"), DETERMINISTIC, depth=3)

PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "paper": {
        "risk-duel": Preset(_PAPER, _DUEL),
        "risk-campaign": Preset(_PAPER, _CAMPAIGN),
    },
    "paired": {
        "risk-duel": Preset(_PAIRED, _DUEL),
        "risk-campaign": Preset(
            replace(_PAIRED, starts=1, generations=4),
            _CAMPAIGN._replace(settings=CampaignSettings("sure", "calm", "rule")),
        ),
    },
    "adjusted": {
        "risk-duel": Preset(_ADJUSTED, _DUEL),
        "risk-campaign": Preset(
            replace(_ADJUSTED, genes=20, tournaments=2, best=3, children=8, mutants=4, generations=6, step=0.6),
            Setup("risk-campaign", CampaignSettings(draft="rule"), nodes=1000),
        ),
    },
    "outlook": {
        "risk-campaign": Preset(
            replace(_ADJUSTED, genes=24, tournaments=2, best=3, children=10, mutants=8, generations=10, step=0.8),
            Setup("risk-campaign", CampaignSettings(), SHORT, nodes=600, evaluation="outlook"),
        ),
    },
    "quick": {
        "risk-duel": Preset(_QUICK, _DUEL._replace(depth=2)),
        "risk-campaign": Preset(_QUICK, _CAMPAIGN),
    },
}
"""Presets by name and game. `adjusted` has few games a generation, as each one tells much, and many mutants, as similar
genes only learn to beat each other. `paper` is the method of the project arman-aminian/risk-game-ai-agent, according to
its report. `outlook` tunes the weights of the default evaluation of campaigns with their default search."""


def read_preset(name: str, game: str) -> Preset:
    """Return a game's preset. Raises `UsageFault`."""
    if name not in PRESETS:
        raise UsageFault(f"there is no preset {shown(name)}: one of {', '.join(PRESETS)}")
    if game not in PRESETS[name]:
        raise UsageFault(f"{shown(game)} has no weights to tune: one of {', '.join(PRESETS[name])}")
    return PRESETS[name][game]
