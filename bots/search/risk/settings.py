"""How Risk is searched: battles, the horizon, drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from bots.search.kernels import SearchSettings

Battles = Literal["means", "dice", "sure"]
Horizon = Literal["turns", "plies", "calm"]
Drafting = Literal["search", "rule", "greedy", "random", "front"]


class CampaignSettings(SearchSettings, frozen=True):
    """Of draft-and-attack Risk."""

    about: ClassVar[Mapping[str, str]] = {
        "battles": "of a campaign, with eval=features and a draft: means, dice or sure (docs/writing-a-bot.md)",
        "horizon": "of a campaign, as battles: depth is in turns, or plies, or plies and then sure attacks (calm)",
        "draft": "of a campaign: where units go is searched, or by the rule, greedy, at random, or all to the front",
    }

    battles: Battles = "means"
    """Two results, won or lost with what is left on average; or all that the dice may give; or one, a bigger army wins
    with the difference."""
    horizon: Horizon = "turns"
    """So many turns away, or plies, or plies and then the attacks after them that are sure to win."""
    draft: Drafting = "search"
    """Where the own units go: what the search finds, by the draft rule, where the features like them best, by lot, or
    all to the front."""

    @property
    def draws(self) -> bool:
        return self.draft == "random"


class DuelSettings(CampaignSettings, frozen=True):
    """Bounded Risk takes the same, so that one command line does for both games, and heeds none: an attack is one
    throw, a turn one ply, and there is no draft.
    """

    heeded: ClassVar[bool] = False
    draft: Drafting = "rule"
