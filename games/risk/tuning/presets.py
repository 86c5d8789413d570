"""The presets of `arena-bot tune` for both games of Risk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bots.tuning.genetic import Method
from bots.tuning.presets import TuningPreset
from bots.tuning.selfplay import Setup
from games.risk.search.settings import CampaignSettings, DuelSettings

DETERMINISTIC_CONFIG = '{"battle": "deterministic"}'
"""The config of campaigns without dice."""
SHORT_CONFIG = '{"max_rounds": 40}'
"""The config of campaigns of 40 rounds. Games of 100 rounds are decided long before they end."""
_PAPER_METHOD = Method()
"""The method of the preset `paper`."""
_PAIRED_METHOD = Method(
    genes=60, tournaments=6, starts=20, seats="both", best=2, children=24, mutants=12, generations=8
)
"""The method of the preset `paired` for bounded Risk. Two genes play each other from 20 start positions, with both
seatings; in the preset `paper` they play from one.
"""
_ADJUSTED_METHOD = Method(
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
"""The method of the preset `adjusted`, with a luck-adjusted fitness."""
_QUICK_METHOD = Method(genes=20, tournaments=2, children=4, mutants=2, generations=3)
"""The method of the preset `quick`, with few genes and generations."""
_DUEL_SETUP = Setup("risk-duel", DuelSettings(), depth=3)
"""The setup of most presets for bounded Risk."""
_CAMPAIGN_SETUP = Setup("risk-campaign", CampaignSettings("sure", "plies", "rule"), DETERMINISTIC_CONFIG, depth=3)
"""The setup of several presets for campaigns: without dice, three plies deep."""

PRESETS: Mapping[str, Mapping[str, TuningPreset]] = {
    "paper": {
        "risk-duel": TuningPreset(_PAPER_METHOD, _DUEL_SETUP),
        "risk-campaign": TuningPreset(_PAPER_METHOD, _CAMPAIGN_SETUP),
    },
    "paired": {
        "risk-duel": TuningPreset(_PAIRED_METHOD, _DUEL_SETUP),
        "risk-campaign": TuningPreset(
            replace(_PAIRED_METHOD, starts=1, generations=4),
            _CAMPAIGN_SETUP._replace(settings=CampaignSettings("sure", "calm", "rule")),
        ),
    },
    "adjusted": {
        "risk-duel": TuningPreset(_ADJUSTED_METHOD, _DUEL_SETUP),
        "risk-campaign": TuningPreset(
            replace(_ADJUSTED_METHOD, genes=20, tournaments=2, best=3, children=8, mutants=4, generations=6, step=0.6),
            Setup("risk-campaign", CampaignSettings(draft="rule"), nodes=1000),
        ),
    },
    "outlook": {
        "risk-campaign": TuningPreset(
            replace(
                _ADJUSTED_METHOD, genes=24, tournaments=2, best=3, children=10, mutants=8, generations=10, step=0.8
            ),
            Setup("risk-campaign", CampaignSettings(), SHORT_CONFIG, nodes=600, evaluation="outlook"),
        ),
    },
    "quick": {
        "risk-duel": TuningPreset(_QUICK_METHOD, _DUEL_SETUP._replace(depth=2)),
        "risk-campaign": TuningPreset(_QUICK_METHOD, _CAMPAIGN_SETUP),
    },
}
"""The presets, by name and game.

- `paper` follows the report of the project arman-aminian/risk-game-ai-agent.
- `adjusted` plays few games a generation, because one luck-adjusted game tells much. It makes many mutants, because
  genes that are alike only learn to beat each other.
- `outlook` tunes the weights of the campaign's default evaluation with its default search.
"""
