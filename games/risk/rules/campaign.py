"""Draft-and-attack Risk for two to six players: a turn is a draft of new units, then attacks, each fought to the end.
The rules follow the project arman-aminian/risk-game-ai-agent, with the draft and the dice of classic Risk as options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from games.risk.rules import campaign_moves as moves
from games.risk.rules import maps
from games.risk.rules.battle import battle_odds, battle_without_dice, describe_attack, roll_battle
from games.risk.rules.campaign_checks import Position, check_move
from games.risk.rules.campaign_moves import Attack, Draft, EndTurn, Move
from games.risk.rules.draft import pressure_draft
from games.risk.rules.text import MAX_LISTED_CHANGES, describe_map, draw_map, list_changes, summarise_holdings
from protocol.dice import Dice
from protocol.display import short_repr
from protocol.errors import BadConfig
from protocol.games.base import Game
from protocol.games.parsing import parse_choice, parse_integer, raise_illegal, read_config
from protocol.messages import CHANCE, Event
from protocol.reasons import DRAW, ROUND_LIMIT, WIN

__all__ = ["Attack", "Campaign", "Draft", "EndTurn", "Move", "Position"]

MAX_PLAYERS = 6
"""The maximum number of seats of a campaign."""
MIN_CLASSIC_DRAFT = 3
"""Minimum number of new units of a seat in a classic draft."""
MAX_FIRST_DRAFT = 100
"""Maximum value of the config key `first_draft`."""
MAX_UNITS = 10_500
"""Maximum number of units that may enter a game with dice. To fight a battle of this many units takes some 3 ms."""
_CONFIG_DEFAULTS = {
    "map": "grid-6x6",
    "players": 2,
    "draft": "territories",
    "battle": "dice",
    "max_attacks": 3,
    "initial_units": 1,
    "max_rounds": 100,
    "deal": None,
}
"""The default of each key of a campaign's config."""


class Campaign(Game[Position, Move]):
    """Draft-and-attack Risk. Config:

    - `map`: a name or a description.
    - `players`: 2 to 6.
    - `draft`: "territories" or "classic".
    - `battle`: "dice" or "deterministic".
    - `max_attacks`: the maximum number of attacks per turn, 1 to 20.
    - `initial_units`: the number of units on each territory at the start, 1 to 100.
    - `max_rounds`: the maximum number of rounds, 1 to 1,000.
    - `deal`: null, or 32 hex digits that determine each seat's first territories.
    - `turn_order`: "fixed", or "snake": every other round runs from the last seat to the first.
    - `first_draft`: the units of seat 0's first draft, 1 to 100; null: as many as in any other draft.
    """

    name = "risk-campaign"
    title = "Risk: the campaign"
    about = "Two to six players draft and attack until one is left, with dice."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "grid-fair": {"turn_order": "snake", "first_draft": 16},
        "grid": {},
        "world": {"map": "world", "players": 6, "draft": "classic"},
        "world-3": {"map": "world", "players": 3, "draft": "classic"},
        "paper": {"battle": "deterministic"},
        "paper-fair": {"battle": "deterministic", "turn_order": "snake"},
    }
    preset_titles: ClassVar[Mapping[str, str]] = {
        "grid-fair": "Grid, two players, fair",
        "grid": "Grid, two players",
        "world": "World, six players",
        "world-3": "World, three players",
        "paper": "Grid, without dice",
        "paper-fair": "Grid, without dice, fair",
    }
    max_seats = MAX_PLAYERS
    late_keys: ClassVar[Mapping[str, Any]] = {"turn_order": "fixed", "first_draft": None}
    tutorial: ClassVar[Mapping[str, Any] | None] = {"map": "south-america", "draft": "classic", "initial_units": 2}
    draw_probability = 0.05
    move_syntax = moves.MOVE_EXAMPLES

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Campaign, config, _CONFIG_DEFAULTS)
        self.map = maps.find_map(given["map"], self.name)
        self.seats = parse_integer(self.name, "players", given["players"], 2, MAX_PLAYERS)
        if self.seats > len(self.map):
            raise BadConfig(f"{self.name}: players is {self.seats}, but the map has only {len(self.map)} territories")
        self.draft = parse_choice(self.name, "draft", given["draft"], ("territories", "classic"))
        self.battle = parse_choice(self.name, "battle", given["battle"], ("dice", "deterministic"))
        self.max_attacks = parse_integer(self.name, "max_attacks", given["max_attacks"], 1, 20)
        self.initial_units = parse_integer(self.name, "initial_units", given["initial_units"], 1, 100)
        self.max_rounds = parse_integer(self.name, "max_rounds", given["max_rounds"], 1, 1000)
        self.deal = _parse_deal(given["deal"])
        self.snake = parse_choice(self.name, "turn_order", given["turn_order"], ("fixed", "snake")) == "snake"
        self.first_draft = None
        if given["first_draft"] is not None:
            self.first_draft = parse_integer(self.name, "first_draft", given["first_draft"], 1, MAX_FIRST_DRAFT)
        self.config = {
            "map": self.map.encoded,
            "players": self.seats,
            "draft": self.draft,
            "battle": self.battle,
            "max_attacks": self.max_attacks,
            "initial_units": self.initial_units,
            "max_rounds": self.max_rounds,
            "deal": self.deal,
        }
        if self.snake:
            self.config["turn_order"] = "snake"
        if self.first_draft is not None:
            self.config["first_draft"] = self.first_draft

    def check_cost(self) -> None:
        count, bonuses = len(self.map), sum(continent.bonus for continent in self.map.continents)
        income = count if self.draft == "territories" else MIN_CLASSIC_DRAFT * self.seats + count // 3 + bonuses
        units = count * self.initial_units + (self.first_draft or 0) + self.max_rounds * income
        if self.battle == "dice" and units > MAX_UNITS:
            raise BadConfig(
                f"{self.name}: {units:,} units could come into the game, and a battle of all takes too long: at most "
                f"{MAX_UNITS:,}. Use fewer max_rounds or initial_units, a smaller map, or battle=deterministic"
            )

    def initial(self, dice: Dice) -> tuple[Position, Event | None]:
        """Return the first state, and an event if it was drawn. If the config has no `deal`, draw one: 16 random bytes,
        for the dice purpose "deal".
        """
        if self.deal is not None:
            return self._start(self.deal, 0), None
        state = self._start(_draw_deal(dice), 1)
        return state, Event(ply=0, seat=CHANCE, move={"owner": list(state.owner)})

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        return self.config if self.deal is not None else {**self.config, "deal": _draw_deal(dice)}

    def _start(self, deal: str, at: int) -> Position:
        """Return the first state, in which the territories, shuffled by `deal`, are dealt to the seats in turn."""
        owner = [0] * len(self.map)
        for k, territory in enumerate(Dice(bytes.fromhex(deal), 0).shuffle("deal", range(len(self.map)))):
            owner[territory] = k % self.seats
        troops = (self.initial_units,) * len(owner)
        units = self._income(owner, 0) if self.first_draft is None else self.first_draft
        return Position(tuple(owner), troops, "draft", units, self.max_attacks, 1, (), 0, at)

    def _income(self, owner: Sequence[int], seat: int) -> int:
        count = owner.count(seat)
        if self.draft == "territories":
            return count
        held = (all(owner[at] == seat for at in members) for members in self.map.members)
        bonus = sum(continent.bonus for continent, whole in zip(self.map.continents, held, strict=True) if whole)
        return max(MIN_CLASSIC_DRAFT, count // 3) + bonus

    def to_move(self, state: Position) -> int | None:
        return None if len(state.out) >= self.seats - 1 or state.round > self.max_rounds else state.seat

    def ply(self, state: Position) -> int:
        return state.at

    def key(self, state: Position) -> Hashable:
        return state[:-1]

    def legal_moves(self, state: Position) -> Sequence[Move]:
        """Return the legal moves that a `turn` message lists. In a draft, it lists one move: the draft that the draft
        rule makes. In attack, it lists each attack once, with as many units as possible, in the order of territories,
        and then the end of the turn.
        """
        if self.to_move(state) is None:
            return ()
        if state.phase == "draft":
            return (Draft(pressure_draft(self.map.neighbours, state.owner, state.troops, state.seat, state.units)),)
        return [*self._attacks(state), EndTurn()]

    def _attacks(self, state: Position) -> Iterator[Attack]:
        owner, troops, seat = state.owner, state.troops, state.seat
        for source, held in enumerate(owner):
            if held == seat and troops[source] > 1:
                for to in self.map.neighbours[source]:
                    if owner[to] != seat:
                        yield Attack(to, source, troops[source] - 1)

    def sample_move(self, state: Position, draw_below: Callable[[int], int]) -> Move:
        if state.phase == "draft":
            own = [at for at, held in enumerate(state.owner) if held == state.seat]
            counts = moves.random_split(state.units, len(own), draw_below)
            return Draft(tuple((at, count) for at, count in zip(own, counts, strict=True) if count))
        attacks = list(self._attacks(state))
        drawn = draw_below(sum(attack.units for attack in attacks) + 1)
        for attack in attacks:
            if drawn < attack.units:
                return attack._replace(units=drawn + 1)
            drawn -= attack.units
        return EndTurn()

    def apply(self, state: Position, move: Move, dice: Dice) -> tuple[Position, Event]:
        seat = self.to_move(state)
        if seat is None:
            raise_illegal("the game is over")
        sent = self.encode_move(move)
        check_move(self.map, state, move)
        if not isinstance(move, Attack):
            return self._apply_without_battle(state, move), Event(ply=state.at, seat=seat, move=sent)
        defenders = state.troops[move.to]
        rolls = None
        if self.battle == "dice":
            *left, rolls = roll_battle(dice, move.units, defenders)
        else:
            left = list(battle_without_dice(move.units, defenders))
        result = {"taken": left[1] == 0, "attackers": left[0], "defenders": left[1]}
        return self._after_battle(state, move, *left), Event(
            ply=state.at, seat=seat, move=sent, dice=rolls, result=result
        )

    def outcomes(self, state: Position, move: Move) -> Sequence[tuple[Fraction, Position]]:
        if not isinstance(move, Attack) or self.battle == "deterministic":
            return super().outcomes(state, move)
        odds = battle_odds(move.units, state.troops[move.to])
        return tuple((chance, self._after_battle(state, move, *left)) for chance, *left in odds)

    def outcome_cost(self, state: Position, move: Move) -> int:
        return move.units * state.troops[move.to] if isinstance(move, Attack) and self.battle == "dice" else 1

    def _apply_without_battle(self, state: Position, move: Draft | EndTurn) -> Position:
        state = state._replace(at=state.at + 1)
        if isinstance(move, EndTurn):
            return self._next_turn(state)
        troops = list(state.troops)
        for at, count in move.units:
            troops[at] += count
        return state._replace(troops=tuple(troops), phase="attack", units=0)

    def _after_battle(self, state: Position, move: Attack, attackers: int, defenders: int) -> Position:
        owner, troops, out = list(state.owner), list(state.troops), state.out
        loser = owner[move.to]
        troops[move.source] -= move.units
        troops[move.to] = attackers or defenders
        if attackers:
            owner[move.to] = state.seat
            if loser not in owner and loser not in out:
                out = (*out, loser)
        left = state.attacks_left - 1
        state = Position(tuple(owner), tuple(troops), state.phase, 0, left, state.round, out, state.seat, state.at + 1)
        return state if left or self.to_move(state) is None else self._next_turn(state)

    def _next_turn(self, state: Position) -> Position:
        """Return the state at the start of the next seat's turn. The turn of the last seat in the game ends a round."""
        order = self._seat_order(state.round)
        later = [seat for seat in order[order.index(state.seat) + 1 :] if seat not in state.out]
        number = state.round if later else state.round + 1
        seat = later[0] if later else self._first_seat(number, state.out)
        return state._replace(
            phase="draft",
            units=self._income(state.owner, seat),
            attacks_left=self.max_attacks,
            round=number,
            seat=seat,
        )

    def _seat_order(self, number: int) -> range:
        """Return all seats in the order of their turns in a round, including seats that are out."""
        return range(self.seats - 1, -1, -1) if self.snake and number % 2 == 0 else range(self.seats)

    def _first_seat(self, number: int, out: Sequence[int]) -> int:
        return next(seat for seat in self._seat_order(number) if seat not in out)

    def remove_seat(self, state: Position, seat: int) -> Position:
        """Return the state after a seat has left. Its troops stay and defend themselves."""
        if seat in state.out:
            return state
        state = state._replace(out=(*state.out, seat))
        return self._next_turn(state) if state.seat == seat else state

    def ranks(self, state: Position) -> tuple[int, ...]:
        """Rank the seats in the game by territories, then units; below them the seats that are out, latest first."""
        holdings: list[tuple[int, int]] = [(0, 0)] * self.seats
        if self.to_move(state) is None:
            for seat, troops in zip(state.owner, state.troops, strict=True):
                territories, units = holdings[seat]
                holdings[seat] = territories + 1, units + troops
        staying = [seat for seat in range(self.seats) if seat not in state.out]
        ranks = {seat: 1 + sum(holdings[other] > holdings[seat] for other in staying) for seat in staying}
        ranks |= {seat: self.seats - place for place, seat in enumerate(state.out)}
        return tuple(ranks[seat] for seat in range(self.seats))

    def reason(self, state: Position) -> str:
        if len(state.out) == self.seats - 1:
            return WIN
        return DRAW if set(self.ranks(state)) == {1} else ROUND_LIMIT

    def encode_state(self, state: Position) -> dict[str, Any]:
        return {
            "owner": state.owner,
            "troops": state.troops,
            "phase": state.phase,
            "units": state.units,
            "attacks_left": state.attacks_left,
            "round": state.round,
            "out": state.out,
            "to_move": self.to_move(state),
            "ply": state.at,
        }

    def decode_state(self, wire: Mapping[str, Any]) -> Position:
        owner, troops, out, seat = tuple(wire["owner"]), tuple(wire["troops"]), tuple(wire["out"]), wire["to_move"]
        if not len(owner) == len(troops) == len(self.map):
            raise ValueError(f"{len(owner)} owners and {len(troops)} troops on {len(self.map)} territories")
        phase, units, left, number = (wire[key] for key in ("phase", "units", "attacks_left", "round"))
        if seat is None:
            seat = self._first_seat(number, out)
        return Position(owner, troops, phase, units, left, number, out, seat, wire["ply"])

    def encode_move(self, move: Move) -> dict[str, Any]:
        return moves.encode(move)

    def decode_move(self, wire: Any) -> Move:
        return moves.decode(wire)

    def legal_moves_for_turn(self, state: Position) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        legal, _ = super().legal_moves_for_turn(state)
        if state.phase == "draft":
            own = [at for at, held in enumerate(state.owner) if held == state.seat]
            return legal, {"do": "draft", "units": state.units, "territories": own}
        attacks = [move for move in legal if move["do"] == "attack"]
        return legal, {"attacks": [{"from": a["from"], "to": a["to"], "max_units": a["units"]} for a in attacks]}

    def draw_board(self, state: Position) -> str:
        return f"{draw_map(self.map, state.owner, state.troops)}\n{self._describe_turn(state)}"

    def describe(self, state: Position) -> str:
        return f"{describe_map(self.map, state.owner, state.troops)}\n{self._describe_turn(state)}"

    def _describe_turn(self, state: Position) -> str:
        if self.to_move(state) is None:
            doing = "over"
        elif state.phase == "draft":
            doing = f"seat {state.seat} drafts {state.units}"
        else:
            doing = f"seat {state.seat} attacks, {state.attacks_left} left"
        out = f"; out: {', '.join(map(str, state.out))}" if state.out else ""
        return f"round {min(state.round, self.max_rounds)} of {self.max_rounds}: {doing}{out}"

    def notation(self, move: Move) -> str:
        return moves.notation(move, self.map)

    def parse_move(self, text: str) -> Move:
        return moves.parse(text, self.map)

    def describe_changes(self, before: Position, after: Position) -> str:
        found = list_changes(self.map, before[:2], after[:2])
        return "; ".join(found) if len(found) <= MAX_LISTED_CHANGES else self.draw_board(after)

    def summarise(self, state: Position) -> str:
        return (
            f"{summarise_holdings(state.owner, state.troops)}; you draft "
            f"{self._income(state.owner, state.seat)} a round"
        )

    def describe_event(self, event: Event) -> str:
        if event.seat == CHANCE:
            return f"deals {len(self.map)} territories to {self.seats} seats"
        return describe_attack(event)


def _parse_deal(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch("[0-9a-fA-F]{32}", value):
        raise BadConfig(f"{Campaign.name}: deal is {short_repr(value)}: it must be null or 32 hex digits")
    return value.lower()


def _draw_deal(dice: Dice) -> str:
    return bytes(dice.choice("deal", 256) for _ in range(16)).hex()
