"""Encodings of both Risk games for learning: positions as vectors, moves as action numbers. Territories are in the
order of the map.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from bots.environments.encodings import Encoding, Vector
from games.risk.rules import campaign, duel
from games.risk.rules.board import Board
from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn
from games.risk.rules.duel import Action, Duel
from protocol.games.base import Game


class DuelEncoding(Encoding[duel.Position, Action]):
    """The encoding of bounded Risk on a map of n territories. Actions 0 to n − 1 are invasions, the next n are
    reinforcements. Then follow the attacks across each border in either direction, ordered by source, then target.

    A vector has four blocks of n numbers, one for each territory: whether the seat owns it, whether the opponent owns
    it, the seat's troops there, the opponent's troops there. Then follow the fraction of `max_plies` played, and
    whether the seat is to move. Troops are fractions of `max_troops`.
    """

    def __init__(self, rules: Game[duel.Position, Action]) -> None:
        assert isinstance(rules, Duel)
        self._rules = rules
        places = range(len(rules.map))
        moves = [Action(do, to) for do in ("invade", "reinforce") for to in places]
        moves += [Action("attack", to, source) for source, to in _list_attacks(rules.map)]
        self._numbers = {move: number for number, move in enumerate(moves)}
        self.actions = len(moves)
        self.size = 4 * len(places) + 2

    def vector(self, state: duel.Position, seat: int) -> Vector:
        owner = np.array(state.owner)
        held = np.stack((owner == seat, owner == 1 - seat))
        troops = held * (np.array(state.troops) / self._rules.max_troops)
        rest = state.at / self._rules.max_plies, self._rules.to_move(state) == seat
        return np.concatenate((held.ravel(), troops.ravel(), rest), dtype=np.float32)

    def moves(self, state: duel.Position) -> dict[int, Action]:
        return {self._numbers[move]: move for move in self._rules.legal_moves(state)}


class CampaignEncoding(Encoding[campaign.Position, campaign.Move]):
    """The encoding of a campaign. On a map of n territories, the actions are, in this order:

    - a draft by the draft rule;
    - a draft of all units on one territory, for each territory;
    - an attack at full strength across a border, for each border in each direction, ordered by source, then target;
    - the end of the turn.

    Other split drafts, and attacks that hold back more than one unit, have no number.

    A vector has a block for each seat, beginning with the observing seat: whether it owns each of n territories, its
    troops on each, whether it is to move, whether it is eliminated. Then follow whether the turn is at its draft, the
    units to place, the attacks left as a fraction of `max_attacks` and the round as a fraction of `max_rounds`. Troops
    and units are logarithms, divided by the logarithm of all units that can ever be on the map.
    """

    def __init__(self, rules: Game[campaign.Position, campaign.Move]) -> None:
        assert isinstance(rules, Campaign)
        self._rules = rules
        self._count = len(rules.map)
        first = 1 + self._count
        self._attacks = {attack: first + number for number, attack in enumerate(_list_attacks(rules.map))}
        self._end = first + len(self._attacks)
        self.actions = self._end + 1
        self.size = rules.seats * (2 * self._count + 2) + 4
        self.log_shares = _log_shares(_max_units(rules))
        """The encoded numbers of units: item n is the number that stands for n units in a vector."""

    def vector(self, state: campaign.Position, seat: int) -> Vector:
        rules, to_move = self._rules, self._rules.to_move(state)
        seats = (np.arange(rules.seats) + seat) % rules.seats
        held = np.array(state.owner) == seats[:, None]
        troops = held * self.log_shares[list(state.troops)]
        turn, out = seats == (-1 if to_move is None else to_move), np.isin(seats, state.out)
        by_seat = np.column_stack((held, troops, turn, out)).ravel()
        rest = (
            state.phase == "draft",
            self.log_shares[state.units],
            state.attacks_left / rules.max_attacks,
            min(state.round, rules.max_rounds) / rules.max_rounds,
        )
        return np.concatenate((by_seat, rest), dtype=np.float32)

    def moves(self, state: campaign.Position) -> dict[int, campaign.Move]:
        moves: dict[int, campaign.Move] = {}
        for move in self._rules.legal_moves(state):
            if isinstance(move, Attack):
                moves[self._attacks[move.source, move.to]] = move
            elif isinstance(move, EndTurn):
                moves[self._end] = move
            else:
                own = (at for at, holder in enumerate(state.owner) if holder == state.seat)
                moves |= {0: move} | {1 + at: Draft(((at, state.units),)) for at in own}
        return moves


def _list_attacks(board: Board) -> Sequence[tuple[int, int]]:
    """Return source and target of every attack across a border, in ascending order."""
    return [(source, to) for source, others in enumerate(board.neighbours) for to in others]


def _max_units(rules: Campaign) -> int:
    """Return an upper bound on the units on the map: the initial units plus all that may be drafted in the rounds."""
    count, bonuses = len(rules.map), sum(continent.bonus for continent in rules.map.continents)
    first = count * rules.initial_units + (rules.first_draft or 0)
    return first + rules.max_rounds * rules.seats * (3 + count + bonuses)


@cache
def _log_shares(max_units: int) -> Vector:
    """Return log(1 + n) / log(1 + `max_units`) for each number n of units up to `max_units`."""
    logs = np.log1p(np.arange(max_units + 1))
    shares: Vector = (logs / logs[-1]).astype(np.float32)
    return shares
