"""Whether each of the others seems to rush, from how well that foretold their moves so far; else they are raiders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bots.search.risk import field as flat
from bots.search.risk.flat_position import cell
from bots.search.risk.policies import POLICIES, RAID, RUSH, CampaignRaid, advise
from machine.compiled import floats
from protocol.games.base import NO_DICE
from protocol.games.risk.campaign import MOST_PLAYERS, Attack, Draft, Position
from protocol.messages import CHANCE, Event

RIGHT = 0.95
"""How often a policy foretells who plays it."""
ANYWAY = 0.35
"""As how likely a move counts that none foretells: it speaks for the raider, who stands for all others."""
SHARED = 0.03
"""Of the trust, what goes back to the start after a move: a player may change its ways."""
START = 0.3
"""The trust in a rush before anything is known."""


class OpponentModel:
    """Of one match. Trust in policies is a fixed-share forecaster's (Herbster, Warmuth 1998)."""

    def __init__(self, raid: CampaignRaid) -> None:
        self._raid = raid
        self.trust = [[1 - START, START] for _ in range(MOST_PLAYERS)]
        """By seat and policy; each seat's are 1 together."""
        self._before: Position | None = None

    def limits(self) -> Any:
        """By seat and policy, the sum of the trust in those up to it: what a policy is drawn by."""
        return floats(sum(trust[: policy + 1]) for trust in self.trust for policy in range(POLICIES))

    def watch(self, position: Position, events: Sequence[Event]) -> None:
        """Learn from what happened since the last call, or since the start; where that is not all told, from less."""
        begin, self._before = self._begin(events), position
        if begin is None:
            return
        field, at = flat.field_of(self._raid.rules, begin, 0), begin.at
        if not begin.units and begin.phase == "draft":
            field[flat.UNITS] = flat.income(self._raid.board, field, begin.seat)
        for event in events:
            if event.ply < at or event.seat == CHANCE:
                continue
            if event.ply > at or event.move is None or event.seat != field[flat.TURN] or field[flat.OVER]:
                return
            moves = self._moves(event)
            if event.seat != position.seat:
                self._learn(field, event.seat, max(moves, key=lambda move: move[2]))
            for move in moves:
                flat.do(self._raid.board, field, *move)
            at += 1

    def _begin(self, events: Sequence[Event]) -> Position | None:
        """The position that the events lead on from; None where nobody told it. A deal's has its units yet to come."""
        rules = self._raid.rules
        if self._before is not None:
            return self._before
        if rules.deal is not None:
            return rules.initial(NO_DICE)[0]
        owner = next((event.move["owner"] for event in events if event.seat == CHANCE and event.move), None)
        if owner is None:
            return None
        troops = (rules.initial_units,) * len(owner)
        return Position(tuple(owner), troops, "draft", 0, rules.max_attacks, 1, (), 0, 1)

    def _learn(self, field: Any, seat: int, move: tuple[int, ...]) -> None:
        """What a seat is about to do, against what each policy would."""
        raid = self._raid
        raids, rushes = (
            tuple(map(int, advise(raid.board, field, raid.odds, raid.weights, raid.path, policy)))[:2] == move[:2]
            for policy in (RAID, RUSH)
        )
        if raids and rushes:
            return
        rush = self.trust[seat][RUSH] * (RIGHT if rushes else 1 - RIGHT)
        other = self.trust[seat][RAID] * (RIGHT if raids else ANYWAY)
        rush = (1 - SHARED) * rush / (rush + other) + SHARED * START
        self.trust[seat] = [1 - rush, rush]

    def _moves(self, event: Event) -> list[tuple[int, int, int, int]]:
        """What was done as `field.do` takes it, a draft place by place."""
        move = self._raid.rules.decode_move(event.move)
        if isinstance(move, Draft):
            return [(cell(at), flat.NOWHERE, units, 0) for at, units in move.units]
        if isinstance(move, Attack) and event.result is not None:
            left = event.result["attackers"] or -event.result["defenders"]
            return [(cell(move.source), cell(move.to), move.units, left)]
        return [(flat.NOWHERE, flat.NOWHERE, 0, 0)]
