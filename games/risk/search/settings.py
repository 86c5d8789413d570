"""The settings of searches of Risk: battles, horizon and drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from bots.search.kernels import SearchSettings

BattleMode = Literal["means", "dice", "sure"]
Horizon = Literal["turns", "plies", "calm"]
DraftMode = Literal["search", "rule", "greedy", "random", "front"]


class CampaignSettings(SearchSettings, frozen=True):
    """The settings of the campaign's search."""

    descriptions: ClassVar[Mapping[str, str]] = {
        "battles": "of a campaign, with eval=features and a draft: means, dice or sure (docs/writing-a-bot.md)",
        "horizon": "of a campaign, as battles: depth is in turns, or plies, or plies and then sure attacks (calm)",
        "draft": "of a campaign: where units go is searched, or by the rule, greedy, at random, or all to the front",
    }

    battles: BattleMode = "means"
    """The results of a battle in the search tree. `means`: two results, won and lost, each with the mean units left.
    `dice`: all results of the dice. `sure`: one result, in which the larger army wins and keeps the difference."""
    horizon: Horizon = "turns"
    """The unit of search depth. `turns`: turns. `plies`: plies. `calm`: plies, but each leaf is searched further,
    through attacks by larger armies, resolved without dice.
    """
    draft: DraftMode = "search"
    """The draft of the seat that searches. `search`: what the search finds. `rule`: the draft rule. `greedy`: where the
    features gain most. `random`: at random. `front`: all to the territory under most pressure.
    """

    @property
    def needs_rng(self) -> bool:
        return self.draft == "random"


class DuelSettings(CampaignSettings, frozen=True):
    """The settings of bounded Risk, which ignores them all: an attack is one throw, a turn one ply, and there is no
    draft. They exist so that one command line works for both games.
    """

    is_used: ClassVar[bool] = False
    draft: DraftMode = "rule"
