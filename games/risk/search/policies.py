"""Fixed policies that the campaign's tree search assumes the players to follow: the raider, which it also uses for its
own seat, and the rush, a naive first idea.

The raider drafts all new units where the attacks from there gain most, then attacks while an attack gains enough. An
attack's gain is its expected change of a value counted in units. The gains give the tree search its priors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from games.risk.rules.campaign import Attack, Campaign, Draft, EndTurn, Move, Position
from games.risk.search.battle_odds import find_sufficient, look_up_odds, odds_table
from games.risk.search.flat_campaign import (
    ATTACKS_LEFT,
    CLASSIC,
    DRAFTING,
    IS_IN_GAME,
    NO_CELL,
    ROUND,
    UNITS_TO_PLACE,
    attack,
    campaign_board,
    end_turn,
    make_campaign_state,
    place_units,
)
from games.risk.search.flat_position import (
    ALL_TROOPS,
    BLOCK,
    BONUS,
    CELL_LENGTH,
    CELLS_END,
    ENEMY_COUNT,
    FIRST_CELL,
    OVER,
    SIZE,
    TERRITORIES_OF_SEAT,
    TROOPS_OF_SEAT,
    TURN,
    change_owner,
    territory_of,
)
from machine.compiled import HAS_NUMBA, compiled, entry, floats, inlined, ints, zeros
from protocol.dice import Dice

TERRITORY, ENEMY_LOSS, IDLE, KILLED, CONTINENT, PROGRESS, ELIMINATION, MIN_GAIN, FEAR = range(9)
"""These are the indices of the weights of `RaidWeights` in its array, in the order of its fields."""


class RaidWeights(NamedTuple):
    """The weights by which the raider computes gains. A unit is worth 1. `floats` converts the weights to an array."""

    territory: float = 4.0
    """The worth of winning a territory."""
    taken: float = 1.0
    """The additional worth of winning a territory if it belongs to an enemy."""
    idle: float = 0.4
    """The worth of an own unit on a territory without enemy neighbours; a unit elsewhere is worth 1."""
    killed: float = 0.85
    """The worth of killing an enemy unit."""
    hold: float = 3.3
    """The worth of winning a continent's bonus, or of taking it from an enemy, for each unit of the bonus."""
    progress: float = 0.9
    """The worth of progress towards a continent's bonus, as a fraction of `hold`. Progress is the increase in the
    square of the fraction of the continent that the seat holds.
    """
    elimination: float = 7.5
    """The worth of eliminating a seat."""
    least: float = 0.6
    """The minimum gain for which the raider attacks."""
    fear: float = 0.06
    """The penalty for each unit by which the strongest enemy beside a conquered territory outnumbers its units."""


@compiled
def unit_weight(state: Any) -> float:
    """Return how much losing or killing a unit counts in the gain of an attack. It is 1, or less if the seat to move
    has more than half of all units, including those that it has to place.
    """
    held = state[TROOPS_OF_SEAT + state[TURN]]
    return min(1.0, (1 + state[ALL_TROOPS] - held) / (1 + state[UNITS_TO_PLACE] + held))  # type: ignore[no-any-return]


@inlined
def attack_gain(
    board: Any, state: Any, odds: Any, weights: Any, unit_weight: float, at: int, army: int, units: int, to: int
) -> tuple[float, float, float]:
    """Return the gain of an attack with `units` of the `army` at cell `at` against the territory at cell `to`, the
    probability of winning, and the mean number of attackers left after a win. `unit_weight` is the result of the
    function of this name.
    """
    seat, enemy, defenders = state[TURN], state[to], state[to + 1]
    chance, left, held = look_up_odds(odds, units, defenders)
    own = strongest = freed = 0
    for i in range(board[to], board[to + 1]):
        other = board[i]
        troops = state[other + 1]
        if state[other] == seat:
            own += 1
            if other != at and state[other + ENEMY_COUNT] == 1:
                freed += troops
        elif troops > strongest:
            strongest = troops
    idle = 1.0 - weights[IDLE]
    change = left - units - idle * freed
    if board[to + 1] - board[to] == own:
        change -= idle * left
    elif strongest > left:
        change -= weights[FEAR] * (strongest - left)
    if state[at + ENEMY_COUNT] == 1:
        change -= idle * (army - units)
    win = weights[TERRITORY] + weights[ENEMY_LOSS] + unit_weight * (change + weights[KILLED] * defenders)
    block = board[to + BLOCK]
    if board[CLASSIC] and board[block + BONUS]:
        size, mine = board[block + SIZE], state[block + seat]
        share = weights[PROGRESS] * (2 * mine + 1) / (size * size)
        share += (mine == size - 1) + (state[block + enemy] == size)
        win += weights[CONTINENT] * board[block + BONUS] * share
    if state[TERRITORIES_OF_SEAT + enemy] == 1 and state[IS_IN_GAME + enemy]:
        win += weights[ELIMINATION]
    lose = unit_weight * (weights[KILLED] * (defenders - held) - units)
    return chance * win + (1.0 - chance) * lose, chance, left


@compiled
def site_value(
    board: Any, state: Any, odds: Any, weights: Any, unit_weight: float, path: Any, site: int, units: int
) -> float:
    """Return the expected gain of a series of attacks from cell `site`, after `units` new units are placed there. Each
    attack starts from the territory taken last and sends all units but one. `path` is scratch space.
    """
    seat, taken = state[TURN], 0
    value, likely = 0.0, 1.0
    at, army = site, state[site + 1] + units
    while taken < state[ATTACKS_LEFT] and army > 1:
        best, to, chance, left = weights[MIN_GAIN], NO_CELL, 0.0, 0.0
        for i in range(board[at], board[at + 1]):
            if state[board[i]] != seat:
                found, won, rest = attack_gain(board, state, odds, weights, unit_weight, at, army, army - 1, board[i])
                if found > best:
                    best, to, chance, left = found, board[i], won, rest
        if to == NO_CELL:
            break
        value += likely * best
        likely *= chance
        path[2 * taken], path[2 * taken + 1] = to, state[to]
        taken += 1
        change_owner(board, state, to, seat)
        at, army = to, int(left)
    while taken > 0:
        taken -= 1
        change_owner(board, state, path[2 * taken], path[2 * taken + 1])
    return value


@compiled
def choose_site(board: Any, state: Any, odds: Any, weights: Any, worth: float, path: Any) -> int:
    """Return the cell of the territory where the raider drafts its new units."""
    best, chosen, seat = -1e300, NO_CELL, state[TURN]
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] == seat and state[at + ENEMY_COUNT]:
            found = site_value(board, state, odds, weights, worth, path, at, state[UNITS_TO_PLACE])
            if found > best:
                best, chosen = found, at
    return chosen


@compiled
def choose_attack(board: Any, state: Any, odds: Any, weights: Any, worth: float) -> tuple[int, int, int]:
    """Return source, target and units of the raider's attack. The two cells are NO_CELL to end the turn."""
    seat = state[TURN]
    best, source, target, sent = weights[MIN_GAIN], NO_CELL, NO_CELL, 0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        army = state[at + 1]
        if army == 1 or state[at] != seat or not state[at + ENEMY_COUNT]:
            continue
        for i in range(board[at], board[at + 1]):
            to = board[i]
            if state[to] == seat or 3 * (army - 1) < 2 * state[to + 1]:
                continue
            found = attack_gain(board, state, odds, weights, worth, at, army, army - 1, to)[0]
            if found > best:
                best, source, target, sent = found, at, to, army - 1
            few = find_sufficient(odds, army - 1, state[to + 1])
            if few < army - 2:
                found = attack_gain(board, state, odds, weights, worth, at, army, few, to)[0]
                if found > best:
                    best, source, target, sent = found, at, to, few
    return source, target, sent


@compiled
def choose_rush_site(board: Any, state: Any) -> int:
    """Return the cell of the territory where the rush drafts its units: the first with the most enemy neighbours."""
    most, chosen = -1, NO_CELL
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] == state[TURN] and state[at + ENEMY_COUNT] > most:
            most, chosen = state[at + ENEMY_COUNT], at
    return chosen


@compiled
def choose_rush_attack(board: Any, state: Any) -> tuple[int, int, int]:
    """Return the source, target and units of the attack that the policy rush makes. It sends all units but one, where
    they outnumber the target's units most. Source and target are NO_CELL if the policy ends the turn.
    """
    seat = state[TURN]
    most, source, target, sent = 0, NO_CELL, NO_CELL, 0
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        units = state[at + 1] - 1
        if state[at] == seat and units > most and state[at + ENEMY_COUNT]:
            for i in range(board[at], board[at + 1]):
                to = board[i]
                if state[to] != seat and units - state[to + 1] > most:
                    most, source, target, sent = units - state[to + 1], at, to, units
    return source, target, sent


RAID, RUSH, POLICY_COUNT = range(3)
"""RAID and RUSH are the numbers of the two policies, raider and rush. POLICY_COUNT is the number of policies."""


@compiled
def play_turn(board: Any, state: Any, odds: Any, weights: Any, path: Any, policy: int) -> None:
    """Play the turn in progress to its end by a policy."""
    seat, number = state[TURN], state[ROUND]
    worth = unit_weight(state) if policy == RAID else 1.0
    if state[DRAFTING]:
        site = (
            choose_site(board, state, odds, weights, worth, path) if policy == RAID else choose_rush_site(board, state)
        )
        place_units(board, state, site, state[UNITS_TO_PLACE])
    while not state[OVER] and state[TURN] == seat and state[ROUND] == number:
        if policy == RAID:
            source, target, sent = choose_attack(board, state, odds, weights, worth)
        else:
            source, target, sent = choose_rush_attack(board, state)
        if source == NO_CELL:
            end_turn(board, state)
        else:
            attack(board, state, source, target, sent)


@entry
def choose_move(board: Any, state: Any, odds: Any, weights: Any, path: Any, policy: int) -> tuple[int, int, int]:
    """Return source, target and units of a policy's next move. A draft has its cell as source, NO_CELL as target."""
    worth = unit_weight(state) if policy == RAID else 1.0
    if state[DRAFTING]:
        site = (
            choose_site(board, state, odds, weights, worth, path) if policy == RAID else choose_rush_site(board, state)
        )
        return site, NO_CELL, state[UNITS_TO_PLACE]
    return choose_attack(board, state, odds, weights, worth) if policy == RAID else choose_rush_attack(board, state)


class RaidPolicy:
    """The raider with given weights, in a campaign under one configuration."""

    def __init__(self, rules: Campaign, weights: Sequence[float] = RaidWeights()) -> None:
        self.rules = rules
        self.board = ints(campaign_board(rules))
        self.odds = odds_table(rules.battle == "dice")
        self.weights = floats(weights)
        self.path = zeros(2 * rules.max_attacks)
        """Scratch space for `site_value`: the cells that its attacks take, and their former owners."""

    def choose_move(self, position: Position) -> Move:
        """Return the raider's move in an unfinished position, in microseconds and without search or chance."""
        return self.choose_move_in_state(make_campaign_state(self.board, position))

    def choose_move_in_state(self, state: Any) -> Move:
        """Return the raider's move in the position of the array `state`."""
        return self.decode_move(*map(int, choose_move(self.board, state, self.odds, self.weights, self.path, RAID)))

    def decode_move(self, source: int, target: int, units: int) -> Move:
        """Convert a move that `choose_move` returned to a move of the rules."""
        if source == NO_CELL:
            return EndTurn()
        at = int(territory_of(source))
        return Draft(((at, units),)) if target == NO_CELL else Attack(int(territory_of(target)), at, units)

    def warm_up(self) -> None:
        if HAS_NUMBA:
            self.choose_move(self.rules.initial(Dice(bytes(32), 0))[0])
