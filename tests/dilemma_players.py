"""Bots for the prisoner's dilemma, without chance: 0 is to cooperate, 1 to defect."""

from __future__ import annotations

from typing import Any

from bots.client.bot import Bot, Turn


class _Player(Bot):
    games = ("dilemma",)

    def choose(self, turn: Turn) -> dict[str, Any]:
        played = turn.state["last"]
        return {"choose": 0 if played is None else self.answer(turn, played[turn.seat], played[1 - turn.seat])}

    def answer(self, turn: Turn, mine: int, theirs: int) -> int:
        """What is played after a round in which the two played so."""
        raise NotImplementedError


class TitForTat(_Player):
    def answer(self, turn: Turn, mine: int, theirs: int) -> int:
        return theirs


class Grim(_Player):
    def answer(self, turn: Turn, mine: int, theirs: int) -> int:
        turn.memory["betrayed"] = turn.memory.get("betrayed", False) or theirs == 1
        return int(turn.memory["betrayed"])


class Pavlov(_Player):
    def answer(self, turn: Turn, mine: int, theirs: int) -> int:
        return int(mine != theirs)


class AlwaysDefect(_Player):
    def choose(self, turn: Turn) -> dict[str, Any]:
        return {"choose": 1}
