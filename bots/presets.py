"""The presets of `arena-bot tune`, as data: how genes are evolved, what they play, how a move is searched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bots.selfplay import Setup
from bots.tuning import Method


class Preset(NamedTuple):
    """What a tuning of one game begins with."""

    method: Method
    setup: Setup


DETERMINISTIC = '{"battle": "deterministic"}'
_PAPER = Method()
_PAIRED = Method(genes=40, tournaments=4, starts=2, seats="both", children=10, mutants=10, generations=8)
_QUICK = Method(genes=20, tournaments=2, children=4, mutants=2, generations=3)

PRESETS: Mapping[str, Mapping[str, Preset]] = {
    "paper": {
        "risk-duel": Preset(_PAPER, Setup("risk-duel", depth=3)),
        "risk-campaign": Preset(
            _PAPER, Setup("risk-campaign", DETERMINISTIC, depth=5, battles="sure", horizon="plies", draft="rule")
        ),
    },
    "paired": {
        "risk-duel": Preset(_PAIRED, Setup("risk-duel", depth=3)),
        "risk-campaign": Preset(_PAIRED, Setup("risk-campaign", nodes=1000, battles="means", horizon="turns")),
    },
    "quick": {
        "risk-duel": Preset(_QUICK, Setup("risk-duel", depth=2)),
        "risk-campaign": Preset(
            _QUICK, Setup("risk-campaign", DETERMINISTIC, depth=3, battles="sure", horizon="plies", draft="rule")
        ),
    },
}
"""By name and game. `paper` is the method of the project arman-aminian/risk-game-ai-agent, as its report has it."""
