"""The presets of `arena-bot tune`: how genes evolve, what they play and how a move is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from bots.search.risk.settings import CampaignSettings, DuelSettings
from bots.tuning.genetic import Method
from bots.tuning.selfplay import Setup
from protocol.display import short_repr
from protocol.errors import UsageFault


class TuningPreset(NamedTuple):
    """The method and the setup with which a tuning of one game starts."""

    method: Method
    setup: Setup


DETERMINISTIC_CONFIG = '{"battle": "deterministic"}'
"""The config of campaigns without dice."""
SHORT_CONFIG = '{"max_rounds": 40}'
"""The config of campaigns of 40 rounds. Campaigns of 100 rounds are decided long before they end."""
_PAPER_METHOD = Method()
"""The method of the preset `paper`."""
_PAIRED_METHOD = Method(
    genes=60, tournaments=6, starts=20, seats="both", best=2, children=24, mutants=12, generations=8
)
"""The method of the preset `paired`, with more starts for each pair than `paper`."""
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
"""The presets, by name and game. `paper` is the method of the project arman-aminian/risk-game-ai-agent, according to
its report. `adjusted` has few games a generation, as a luck-adjusted game tells much, and many mutants, as similar
genes only learn to beat each other. `outlook` tunes the weights of the campaign's default evaluation with its default
search.
"""


def read_preset(name: str, game: str) -> TuningPreset:
    """Return a preset for a game. Raise `UsageFault` if there is none."""
    if name not in PRESETS:
        raise UsageFault(f"there is no preset {short_repr(name)}: one of {', '.join(PRESETS)}")
    if game not in PRESETS[name]:
        raise UsageFault(f"{short_repr(game)} has no weights to tune: one of {', '.join(PRESETS[name])}")
    return PRESETS[name][game]
