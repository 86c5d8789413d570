"""Monte Carlo tree search of a campaign on flat arrays. The tree covers the draft and attacks of the seat's own turn;
playouts continue the game.

The tree holds decisions, not the results of the dice (it is open-loop): each simulation rolls its own dice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, NamedTuple

from bots.search.base import SearchLimit, SearchResult
from games.risk.rules.campaign import MAX_PLAYERS, Attack, Campaign, Draft, Move, Position
from games.risk.search import uct_tree
from games.risk.search.battle_odds import find_sufficient
from games.risk.search.flat_campaign import (
    DRAFTING,
    IS_IN_GAME,
    NO_CELL,
    ROUND,
    SEATS,
    UNITS_TO_PLACE,
    apply_move,
    attack,
    end_turn,
    first_place_share,
    income,
    make_campaign_state,
    place_units,
)
from games.risk.search.flat_position import (
    BORDER_COUNT,
    CELL_LENGTH,
    CELLS_END,
    ENEMY_COUNT,
    FIRST_CELL,
    OVER,
    POSITION_BEGIN,
    TURN,
    cell_of,
)
from games.risk.search.policies import (
    POLICY_COUNT,
    RAID,
    RUSH,
    RaidPolicy,
    RaidWeights,
    attack_gain,
    choose_move,
    play_turn,
    site_value,
    unit_weight,
)
from games.risk.search.uct_tree import CHILD, DECISION, NODE_LENGTH, SIBLING, VISITS, find_or_add_child
from machine.compiled import HAS_NUMBA, compiled, entry, floats, ints, zeros
from machine.generator import DRAW_RANGE, SEED_COUNT, draw
from protocol.dice import Dice
from protocol.games.base import NO_DICE
from protocol.messages import CHANCE, Event

END_DECISION = 0
"""The number of the decision to end a turn. A draft of all units to a cell has the number 2 × cell. An attack across a
border has the number 2 × the border's index in `board`, plus 1 if it sends only as many units as are sufficient to win
(`find_sufficient`).
"""
EXPLORATION, TEMPERATURE, FLOOR, RISK, HORIZON, ARMY, INCOME, TEMPO, INNER = range(9)
"""These are the slots of the array of `UctParams`:

- EXPLORATION: the constant of PUCT.
- TEMPERATURE: how far a gain must be below the best, in units, for its prior to fall to a quarter.
- FLOOR: a number added to every prior.
- RISK: the lowest winning probability of an attack in the tree.
- HORIZON: the number of turns of a playout after the seat's own turn.
- ARMY, INCOME: for `estimate_wins`, the exponents of a seat's fractions of all units and of all income.
- TEMPO: for `estimate_wins`, the factor for the seat to move.
- INNER: for `estimate_wins`, the weight of a unit without enemy neighbours.
"""
POLICY_OF_SEAT, PATH, CANDIDATES = 2, 8, 72
"""These are indices of the array `work`:

- POLICY_OF_SEAT: where the list of the seats' policies in a simulation begins.
- PATH: where the list of the nodes that a simulation visits begins.
- CANDIDATES: where the list of decisions from `list_candidates` begins.
"""
MAX_DEPTH = CANDIDATES - PATH
"""The maximum number of nodes on the path of a simulation in the tree."""
DISCOUNT_PER_TURN = 0.01
"""The fraction by which each turn of a playout lowers its value. Otherwise the search might put off a certain win for
ever."""

PREDICTED_LIKELIHOOD = 0.95
"""The probability in `OpponentModel` that a player who follows a policy makes the move that the policy predicts."""
UNPREDICTED_LIKELIHOOD = 0.35
"""The probability that `OpponentModel` assigns to a move of a raider that differs from the move of the policy raider.
It is high, because every player that does not rush is taken for a raider.
"""
TRUST_DECAY = 0.03
"""The fraction by which each update of `OpponentModel` moves the trust in a policy back to its prior, because players
may change how they play.
"""
PRIOR_RUSH_TRUST = 0.3
"""The probability, before an opponent's first move, that the opponent follows the policy rush."""


class UctParams(NamedTuple):
    """The parameters of the tree search, explained at EXPLORATION. `floats` converts them to an array."""

    exploration: float = 1.0
    temperature: float = 5.0
    floor: float = 0.02
    risk: float = 0.3
    horizon: float = 4.0
    army: float = 3.0
    income: float = 2.0
    tempo: float = 3.0
    inner: float = 0.5


PARAMS_BY_DRAFT = {"classic": UctParams(), "territories": UctParams(army=1.0, income=12.0, tempo=10.0)}
"""The default parameters by draft rule. Under `territories` each territory brings a unit, so income weighs more."""


@entry
def list_candidates(
    board: Any, state: Any, odds: Any, weights: Any, params: Any, work: Any, priors: Any, path: Any
) -> int:
    """Write the candidates, decisions to choose from, to `work` from CANDIDATES on, and their priors to `priors`.
    Return the number of candidates.
    """
    seat, worth = state[TURN], unit_weight(state)
    count, top, drafting = 0, 0.0, state[DRAFTING]
    if drafting:
        top = -1e300
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[at] != seat or not state[at + ENEMY_COUNT]:
            continue
        if drafting:
            work[CANDIDATES + count] = 2 * at
            priors[count] = site_value(board, state, odds, weights, worth, path, at, state[UNITS_TO_PLACE])
            top = max(top, priors[count])
            count += 1
            continue
        army = state[at + 1]
        if army == 1:
            continue
        for i in range(board[at], board[at + 1]):
            to = board[i]
            if state[to] == seat:
                continue
            found, chance, _ = attack_gain(board, state, odds, weights, worth, at, army, army - 1, to)
            if chance < params[RISK]:
                continue
            work[CANDIDATES + count], priors[count] = 2 * i, found
            top = max(top, found)
            count += 1
            few = find_sufficient(odds, army - 1, state[to + 1])
            if few < army - 2:
                found = attack_gain(board, state, odds, weights, worth, at, army, few, to)[0]
                work[CANDIDATES + count], priors[count] = 2 * i + 1, found
                top = max(top, found)
                count += 1
    if not drafting:
        work[CANDIDATES + count], priors[count] = END_DECISION, 0.0
        count += 1
    total = 0.0
    for i in range(count):
        falls = 1.0 + (top - priors[i]) / params[TEMPERATURE]
        priors[i] = 1.0 / (falls * falls) + params[FLOOR]
        total += priors[i]
    for i in range(count):
        priors[i] /= total
    return count


@entry
def decode_decision(board: Any, state: Any, odds: Any, decision: int) -> tuple[int, int, int]:
    """Convert a decision, a number (see END_DECISION), to the source, target and units of its move, in the form that
    `choose_move` of policies.py returns.
    """
    at, less = decision // 2, decision % 2
    if state[DRAFTING]:
        return at, NO_CELL, state[UNITS_TO_PLACE]
    if decision == END_DECISION:
        return NO_CELL, NO_CELL, 0
    source, target = board[at + board[BORDER_COUNT]], board[at]
    units = state[source + 1] - 1
    return source, target, find_sufficient(odds, units, state[target + 1]) if less else units


@compiled
def apply_decision(board: Any, state: Any, odds: Any, decision: int) -> None:
    source, target, units = decode_decision(board, state, odds, decision)
    if target != NO_CELL:
        attack(board, state, source, target, units)
    elif source != NO_CELL:
        place_units(board, state, source, units)
    else:
        end_turn(board, state)


@compiled
def select_candidate(
    tree: Any, totals: Any, work: Any, priors: Any, found: Any, node: int, count: int, exploration: float
) -> int:
    """Return the index of the candidate to visit next, by PUCT (Rosin 2011; Silver et al. 2017). An unvisited candidate
    counts with the mean value of its parent.
    """
    child, visits, total = tree[node + CHILD], 0, 0.0
    while child:
        found[tree[child + DECISION]] = child
        visits += tree[child + VISITS]
        total += totals[child // NODE_LENGTH]
        child = tree[child + SIBLING]
    mean = total / visits if visits else 0.5
    reach = exploration * sqrt(visits + 1)
    best, chosen = -1.0, 0
    for i in range(count):
        child = found[work[CANDIDATES + i]]
        if child:
            value = totals[child // NODE_LENGTH] / tree[child + VISITS] + reach * priors[i] / (1 + tree[child + VISITS])
        else:
            value = mean + reach * priors[i]
        if value > best:
            best, chosen = value, i
    child = tree[node + CHILD]
    while child:
        found[tree[child + DECISION]] = 0
        child = tree[child + SIBLING]
    return chosen


@compiled
def integer_power(base: float, power: int) -> float:
    """Return `base` to the power of a whole number, by multiplication: the result is the same on every machine."""
    product = 1.0
    for _ in range(power):
        product *= base
    return product


@compiled
def estimate_wins(board: Any, state: Any, manner: Any, shares: Any) -> None:
    """Write each seat's estimated probability of winning to `shares`: its strength, divided by the sum of all
    strengths.

    A strength is the product of two powers: of the seat's fraction of all units, and of its fraction of all income. The
    seat to move gets a further factor. The exponents are those of a logistic regression over games between raiders,
    rounded.
    """
    if state[OVER]:
        for seat in range(board[SEATS]):
            shares[seat] = first_place_share(board, state, seat)
        return
    units, incomes = 0.0, 0
    for seat in range(board[SEATS]):
        shares[seat] = 0.0
        if state[IS_IN_GAME + seat]:
            incomes += income(board, state, seat)
    for at in range(FIRST_CELL, board[CELLS_END], CELL_LENGTH):
        if state[IS_IN_GAME + state[at]]:
            counted = state[at + 1] if state[at + ENEMY_COUNT] else manner[INNER] * state[at + 1]
            shares[state[at]] += counted
            units += counted
    total = 0.0
    for seat in range(board[SEATS]):
        if state[IS_IN_GAME + seat]:
            share = income(board, state, seat) / incomes
            shares[seat] = integer_power(shares[seat] / units, int(manner[ARMY])) * integer_power(
                share, int(manner[INCOME])
            )
            if state[TURN] == seat:
                shares[seat] *= manner[TEMPO]
            total += shares[seat]
    for seat in range(board[SEATS]):
        shares[seat] /= total


@compiled
def draw_policies(board: Any, state: Any, limits: Any, work: Any, seat: int) -> None:
    """Draw the policy that each opponent of `seat` follows in a simulation, by the `cumulative_trust` in `limits`."""
    for other in range(board[SEATS]):
        policy = RAID
        if other != seat:
            drawn = draw(state) / DRAW_RANGE
            while policy < POLICY_COUNT - 1 and drawn >= limits[other * POLICY_COUNT + policy]:
                policy += 1
        work[POLICY_OF_SEAT + other] = policy


@entry
def simulate(
    board: Any,
    root: Any,
    state: Any,
    odds: Any,
    weights: Any,
    params: Any,
    limits: Any,
    tree: Any,
    totals: Any,
    work: Any,
    priors: Any,
    found: Any,
    path: Any,
    shares: Any,
    seat: int,
    sims: int,
) -> float:
    """Add `sims` simulations to the tree of this turn of `seat`. Return the sum of their values for `seat`."""
    number, total = root[ROUND], 0.0
    for _ in range(sims):
        state[POSITION_BEGIN:] = root[POSITION_BEGIN:]
        draw_policies(board, state, limits, work, seat)
        node = depth = 0
        while not state[OVER] and state[TURN] == seat and state[ROUND] == number and depth < MAX_DEPTH:
            count = list_candidates(board, state, odds, weights, params, work, priors, path)
            decision = work[
                CANDIDATES + select_candidate(tree, totals, work, priors, found, node, count, params[EXPLORATION])
            ]
            apply_decision(board, state, odds, decision)
            node = find_or_add_child(tree, totals, work, node, decision)
            if not node:
                break
            work[PATH + depth] = node
            depth += 1
            if not tree[node + VISITS]:
                break
        turns = state[TURN] != seat or state[ROUND] != number
        while not state[OVER] and turns <= params[HORIZON]:
            play_turn(board, state, odds, weights, path, work[POLICY_OF_SEAT + state[TURN]])
            turns += 1
        estimate_wins(board, state, params, shares)
        value = shares[seat] * (1.0 - DISCOUNT_PER_TURN * turns)
        total += value
        for i in range(depth):
            tree[work[PATH + i] + VISITS] += 1
            totals[work[PATH + i] // NODE_LENGTH] += value
    return total


class OpponentModel:
    """A model of the opponents in a match. The trust in a policy, raider or rush, for an opponent is the probability
    that the opponent follows this policy. It grows when the policy predicts the opponent's moves.

    The trust is that of a fixed-share forecaster (Herbster, Warmuth 1998).
    """

    def __init__(self, raid: RaidPolicy) -> None:
        self._raid = raid
        self.trust = [[1 - PRIOR_RUSH_TRUST, PRIOR_RUSH_TRUST] for _ in range(MAX_PLAYERS)]
        """trust[seat][policy] is the probability that the seat follows the policy. It sums to 1 for each seat."""
        self._last_position: Position | None = None

    def cumulative_trust(self) -> Any:
        """Return, for each seat and policy, the sum of the trust in policies up to this one, for `draw_policies`."""
        return floats(sum(trust[: policy + 1]) for trust in self.trust for policy in range(POLICY_COUNT))

    def learn(self, position: Position, events: Sequence[Event]) -> None:
        """Update the trust in policies by the moves in `events`. Stop where `events` lacks a move: at the first event
        that does not continue the game.

        `position` is the current position. The next call expects the events from there on.
        """
        begin, self._last_position = self._find_start(events), position
        if begin is None:
            return
        state, at = make_campaign_state(self._raid.board, begin), begin.at
        if not begin.units and begin.phase == "draft":
            state[UNITS_TO_PLACE] = income(self._raid.board, state, begin.seat)
        for event in events:
            if event.ply < at or event.seat == CHANCE:
                continue
            if event.ply > at or event.move is None or event.seat != state[TURN] or state[OVER]:
                return
            moves = self._decode_event(event)
            if event.seat != position.seat:
                self._update_trust(state, event.seat, max(moves, key=lambda move: move[2]))
            for move in moves:
                apply_move(self._raid.board, state, *move)
            at += 1

    def _find_start(self, events: Sequence[Event]) -> Position | None:
        """Return the position from which `events` continue; None if unknown. It is the position of the last call of
        `learn`, else the start of the match. If a deal in `events` draws the owners, the start lacks the number of
        units to place.
        """
        rules = self._raid.rules
        if self._last_position is not None:
            return self._last_position
        if rules.deal is not None:
            return rules.initial(NO_DICE)[0]
        owner = next((event.move["owner"] for event in events if event.seat == CHANCE and event.move), None)
        if owner is None:
            return None
        troops = (rules.initial_units,) * len(owner)
        return Position(tuple(owner), troops, "draft", 0, rules.max_attacks, 1, (), 0, 1)

    def _update_trust(self, state: Any, seat: int, move: tuple[int, ...]) -> None:
        """Update the trust in the policies for a seat, which made `move` in the position of `state`. A policy predicted
        the move if it chooses the same source and target. If both policies predicted it, nothing changes.
        """
        raid = self._raid
        raids, rushes = (
            tuple(map(int, choose_move(raid.board, state, raid.odds, raid.weights, raid.path, policy)))[:2] == move[:2]
            for policy in (RAID, RUSH)
        )
        if raids and rushes:
            return
        rush = self.trust[seat][RUSH] * (PREDICTED_LIKELIHOOD if rushes else 1 - PREDICTED_LIKELIHOOD)
        other = self.trust[seat][RAID] * (PREDICTED_LIKELIHOOD if raids else UNPREDICTED_LIKELIHOOD)
        rush = (1 - TRUST_DECAY) * rush / (rush + other) + TRUST_DECAY * PRIOR_RUSH_TRUST
        self.trust[seat] = [1 - rush, rush]

    def _decode_event(self, event: Event) -> list[tuple[int, int, int, int]]:
        """Return the moves of an event as `apply_move` takes them. A draft becomes a move for each territory."""
        move = self._raid.rules.decode_move(event.move)
        if isinstance(move, Draft):
            return [(cell_of(at), NO_CELL, units, 0) for at, units in move.units]
        if isinstance(move, Attack) and event.result is not None:
            left = event.result["attackers"] or -event.result["defenders"]
            return [(cell_of(move.source), cell_of(move.to), move.units, left)]
        return [(NO_CELL, NO_CELL, 0, 0)]


class CampaignUct:
    """The tree search of a campaign. It runs one search at a time. It learns about the opponents of one match, so make
    an instance for each match.
    """

    nodes_per_ms: ClassVar[int] = uct_tree.SIMULATIONS_PER_MS

    def __init__(
        self, rules: Campaign, weights: Sequence[float] = RaidWeights(), params: UctParams | None = None
    ) -> None:
        self.rules = rules
        self.raid = RaidPolicy(rules, weights)
        self.opponent_model = OpponentModel(self.raid)
        self._manner = floats(PARAMS_BY_DRAFT[rules.draft] if params is None else params)

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """The arrays of the search: `tree`, `totals`, `work`, `priors`, and `found`, in which `select_candidate` looks
        up a node's child by its decision.
        """
        decisions = 2 * len(self.raid.board)
        return *uct_tree.make_arrays(), zeros(CANDIDATES + decisions), zeros(decisions, float), zeros(decisions)

    def search(
        self, position: Position, *, events: Sequence[Event] = (), below: Callable[[int], int], limit: SearchLimit
    ) -> SearchResult[Move]:
        """Return the most visited move within `limit`, which counts simulations. With fewer than `MIN_SIMULATIONS`, or
        with only one candidate, return the move of the policy raider.

        The search learns how opponents play from `events`, the events since this seat's last turn. `below(n)` returns a
        random number from 0 to n − 1.
        """
        raid = self.raid
        if self.rules.to_move(position) is None:
            return SearchResult(0.0, None, (), nodes=1, leaves=1, max_ply=0, depth=0, complete=True)
        root = make_campaign_state(self.raid.board, position, seed=below(SEED_COUNT))
        before = limit.nodes_spent
        if limit.nodes_left is None or limit.nodes_left >= uct_tree.MIN_SIMULATIONS:
            self.opponent_model.learn(position, events)
            tree, _, work, priors, _ = self._arrays
            uct_tree.reset_tree(tree, work)
            known = raid.board, root, raid.odds, raid.weights, self._manner
            if list_candidates(*known, work, priors, raid.path) > 1:
                uct_tree.run_simulations(self._make_simulation(root, int(root[TURN])), tree, limit)
        if limit.nodes_spent - before < uct_tree.MIN_SIMULATIONS:
            move = raid.choose_move_in_state(root)
            return SearchResult(0.0, move, (move,), nodes=1, leaves=0, max_ply=0, depth=0, complete=False)
        tree, totals, *_ = self._arrays
        child = uct_tree.most_visited_child(tree, totals, 0)
        value = float(totals[child // NODE_LENGTH] / tree[child + VISITS])
        move = raid.decode_move(*map(int, decode_decision(raid.board, root, raid.odds, int(tree[child + DECISION]))))
        sims = limit.nodes_spent - before
        return SearchResult(value, move, (move,), nodes=sims, leaves=sims, max_ply=1, depth=1, complete=False)

    def _make_simulation(self, root: Any, seat: int) -> Callable[[int], float]:
        """Return a function that adds simulations from `root` to the tree and returns the sum of their values."""
        raid, (tree, totals, work, priors, found) = self.raid, self._arrays
        given = (
            raid.board,
            root,
            ints(root),
            raid.odds,
            raid.weights,
            self._manner,
            self.opponent_model.cumulative_trust(),
        )
        arrays = tree, totals, work, priors, found, raid.path, zeros(MAX_PLAYERS, float)
        return lambda sims: float(simulate(*given, *arrays, seat, sims))

    def estimate_wins(self, position: Position, seat: int, sims: int, below: Callable[[int], int]) -> float:
        """Estimate the probability that `seat` wins from an unfinished position, by `sims` simulations."""
        root = make_campaign_state(self.raid.board, position, seed=below(SEED_COUNT))
        tree, _, work, *_ = self._arrays
        uct_tree.reset_tree(tree, work)
        return self._make_simulation(root, seat)(sims) / sims

    def warm_up(self) -> None:
        if not HAS_NUMBA:
            return
        start, deal = self.rules.initial(Dice(bytes(32), 0))
        attacking, draft = self.rules.apply(start, self.rules.legal_moves(start)[0], Dice(bytes(32), 0))
        for position in (start, attacking):
            self.search(position, below=lambda _: 0, limit=SearchLimit(nodes=uct_tree.MIN_SIMULATIONS))
        OpponentModel(self.raid).learn(attacking._replace(seat=1), [draft] if deal is None else [deal, draft])
