"""Strategies of the library axelrod as bots: each is told what was played, as in a match of its own.

arena tournament tit-for-tat grim "gradual=tests/rivals/axelrod_strategies.py:Gradual" --game dilemma --in-process
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from unittest.mock import patch

from bots import Bot, Turn
from games.dilemma.rules import Dilemma
from protocol.games.base import Game

_find_source = functools.cache(inspect.getsource)
with patch("inspect.getsource", lambda what: _find_source(getattr(what, "__func__", what))):
    # While it is imported it looks up the sources of 28 methods 12,000 times: eight of eleven seconds.
    import axelrod
    from axelrod import Action

NAMES = (
    "Alternator",
    "BackStabber",
    "CyclerCCD",
    "EvolvedFSM16",
    "FirstByDavis",
    "FirstByShubik",
    "FoolMeOnce",
    "GoByMajority",
    "Gradual",
    "Grudger",
    "Handshake",
    "Prober",
    "SuspiciousTitForTat",
    "TitFor2Tats",
    "WinStayLoseShift",
)
"""Of those that draw nothing by lot, fifteen that differ: some count, some know how long the match is."""
ACTIONS = (Action.C, Action.D)
PAYOFFS = (((3, 3), (0, 5)), ((5, 0), (1, 1)))


class AxelrodBot(Bot):
    """Plays what the strategy of its class's name would, by the payoffs that it knows."""

    games = ("dilemma",)
    strategy: ClassVar[str]

    def check_game(self, game: Game[Any, Any]) -> None:
        super().check_game(game)
        assert isinstance(game, Dilemma)
        assert game.payoffs == PAYOFFS, "the library's strategies are made for 5, 3, 1 and 0"

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        assert isinstance(turn.rules, Dilemma)
        if turn.ply == 0:
            turn.memory["seated"] = seated(self.strategy, turn.rules)
        return {"choose": answer(turn.memory["seated"], turn.position.last, turn.seat)}


Seated = tuple[axelrod.Player, axelrod.Player]
"""A strategy, and what it sees of the other."""


def seated(strategy: str, rules: Dilemma) -> Seated:
    """A strategy at the beginning of a match."""
    player = getattr(axelrod, strategy)()
    known = float("inf") if rules.go_on is not None else rules.rounds
    player.set_match_attributes(length=known, game=axelrod.Game(), noise=rules.noise)
    return player, axelrod.Player()


def answer(pair: Seated, last: Sequence[int] | None, seat: int) -> int:
    """What the strategy chooses after the round that was played last."""
    player, other = pair
    if last is not None:
        own, theirs = ACTIONS[last[seat]], ACTIONS[last[1 - seat]]
        player.update_history(own, theirs)
        other.update_history(theirs, own)
    return ACTIONS.index(player.strategy(other))


for _name in NAMES:
    globals()[_name] = type(_name, (AxelrodBot,), {"strategy": _name, "__module__": __name__})
