"""How Risk is searched: battles, the horizon, drafts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from bots.search.settings import SearchSettings

Battles = Literal["means", "dice", "sure"]
Horizon = Literal["turns", "plies", "calm"]
Drafting = Literal["rule", "greedy", "random", "front"]


class CampaignSettings(SearchSettings, frozen=True):
    """Of draft-and-attack Risk."""

    about: ClassVar[Mapping[str, str]] = {
        "battles": "of a campaign in the search: means, dice or sure (docs/writing-a-bot.md)",
        "horizon": "of a campaign: depth is in turns, or in plies, or in plies and then attacks sure to win (calm)",
        "draft": "of a campaign: units go by the rule, greedy by the evaluation, at random, or all to the front",
    }

    battles: Battles = "means"
    """Two results, won or lost with what is left on average; or all that the dice may give; or one, a bigger army wins
    with the difference."""
    horizon: Horizon = "turns"
    """So many turns away, or plies, or plies and then the attacks after them that are sure to win."""
    draft: Drafting = "rule"
    """Where the own units go: by the draft rule, where the evaluation likes them best, by lot, or all to the front."""

    @property
    def draws(self) -> bool:
        return self.draft == "random"


class DuelSettings(CampaignSettings, frozen=True):
    """Bounded Risk takes the same, so that one command line does for both games, and heeds none: an attack is one
    throw, a turn one ply, and there is no draft.
    """

    heeded: ClassVar[bool] = False
