"""Bots of a file for the tests of matches played again. What those of `Noting` were told is in `HEARD`, by match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bots import Bot, GiveUp, Turn
from protocol.messages import Rejected

HEARD: defaultdict[str, list[Any]] = defaultdict(list)


class First(Bot):
    """Makes the first move there is."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[0]


class Last(Bot):
    """Makes the last move there is."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[-1]


class LastAtFirst(Bot):
    """Makes the last move up to ply 3, then the first."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        return turn.legal[-1 if turn.ply <= 3 else 0]


class Interrupted(Bot):
    """Makes the last move on seat 1; on seat 0 somebody presses Ctrl-C."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        if turn.seat == 0:
            raise KeyboardInterrupt
        return turn.legal[-1]


class InterruptedLate(Bot):
    """Makes the first move; at the fifteenth that it is asked for somebody presses Ctrl-C."""

    def __init__(self, name: str, version: str = "") -> None:
        super().__init__(name, version)
        self._asked = 0

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        self._asked += 1
        if self._asked == 15:
            raise KeyboardInterrupt
        return turn.legal[0]


class Fails(Bot):
    """Fails at every move."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        raise LookupError("nothing found")


class GivesUp(Bot):
    """Makes the first move, and resigns from ply 2 on."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        if turn.ply >= 2:
            raise GiveUp("enough")
        return turn.legal[0]


class Forgetful(Bot):
    """Makes the first move, at ply 1 the last; it cannot go on without what it kept in mind at its first turn."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        if turn.ply <= 1:
            turn.memory["plan"] = -turn.ply
        return turn.legal[turn.memory["plan"]]


class Careless(Bot):
    """Is refused a move at each ply, then makes the first; at ply 2 the last."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        if turn.ply not in turn.memory:
            turn.memory[turn.ply] = "refused"
            return {"no": "move"}
        return turn.legal[-1 if turn.ply == 2 else 0]


class Historian(Bot):
    """Makes the first move, but fails where it has not heard of every ply before."""

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        heard = turn.memory.setdefault("heard", [])
        heard.extend(event.ply for event in turn.events)
        if heard != [*range(turn.ply)]:
            raise LookupError(f"at ply {turn.ply} it has heard of {heard}")
        return turn.legal[0]


class Noting(Bot):
    """Draws its moves, some of which are none, and notes all that it is told."""

    def rejected(self, rejected: Rejected) -> None:
        HEARD[rejected.match].append((self.name, rejected))

    def choose(self, turn: Turn) -> Mapping[str, Any]:
        lot = turn.random.random()
        told = (turn.ply, turn.state, turn.legal, turn.options, turn.events, turn.players, turn.clock_ms, lot)
        HEARD[turn.match].append((self.name, told))
        if lot < 0.1 and turn.memory.setdefault("struck", 0) < 2:
            turn.memory["struck"] += 1
            return {"no": "move"}
        if turn.options is not None:
            return turn.rules.encode_move(turn.rules.sample_move(turn.position, turn.random.randrange))
        return turn.random.choice(turn.legal)
