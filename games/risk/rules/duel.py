"""Bounded Risk for two players: one action per turn, one die each.

The rules are those of E. Prieto Larios, F. A. Galicia Mendoza and E. A. Galván Gámez, "Implementación de Risk con
algoritmo de Minimax", 2014. Where their prose and their pseudocode differ, the pseudocode counts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from games.risk.rules import maps
from games.risk.rules.battle import describe_attack
from games.risk.rules.text import MAX_LISTED_CHANGES, describe_map, draw_map, list_changes, summarise_holdings
from games.risk.rules.text import parse_territory as place
from protocol.dice import Dice
from protocol.display import list_first, short_repr
from protocol.errors import MalformedMove
from protocol.games.base import PROBABILITY_ONE, Game
from protocol.games.parsing import parse_integer, parse_integers, raise_illegal, read_config, read_move_kind
from protocol.messages import Event
from protocol.reasons import PLY_LIMIT, WIN

NO_OWNER = -1
"""The number that stands for the owner of a free territory."""
DEFAULT_INVASION_TROOPS = 3
"""Number of troops of an invasion for which the config gives no number."""
REINFORCEMENT_TROOPS = 2
"""Number of troops that a reinforcement adds to a territory."""
WIN_PROBABILITY = Fraction(15, 36)
"""The probability that the attacker's die beats the defender's, so that an attack succeeds."""
MAX_REFUSAL_CHARS = 200
"""Maximum number of characters of the message that refuses an illegal move."""
_CONFIG_DEFAULTS = {"map": "south-america", "max_troops": 10, "max_plies": 400}
"""The default of each key of a duel's config."""
_MOVE_FORMS = {
    "invade": ('{"do": "invade", "to": 0}', ("to",)),
    "reinforce": ('{"do": "reinforce", "at": 0}', ("at",)),
    "attack": ('{"do": "attack", "from": 0, "to": 1}', ("from", "to")),
}
"""An example of each kind of move in JSON, with the names of its integer fields, by kind."""


class Position(NamedTuple):
    """A position: each territory's owner (−1: none) and troops (0 if free), the seat to move, and the ply."""

    owner: tuple[int, ...]
    troops: tuple[int, ...]
    seat: int
    at: int


class Action(NamedTuple):
    """A move. `do` is invade, reinforce or attack, and `to` is the target territory. `source` is the territory from
    which an attack comes, −1 for other actions.
    """

    do: str
    to: int
    source: int = -1


class Duel(Game[Position, Action]):
    """Bounded Risk: Risk for two seats, with a limit on the troops of a territory and on plies. Config:

    - `map`: a name or a description.
    - `max_troops`: the maximum number of troops on a territory, 3 to 100.
    - `max_plies`: the maximum number of plies, 1 to 10,000.
    - `armies`: the numbers of troops that the first invasions of free territories bring, in order, each 1 to
      `max_troops`. Later invasions bring `DEFAULT_INVASION_TROOPS`.
    """

    name = "risk-duel"
    title = "Risk: the duel"
    about = "Two players fight for one continent, one action per turn, with dice."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "south-america": {},
        "africa": {"map": "africa"},
        "europe": {"map": "europe"},
        "asia": {"map": "asia"},
        "europe-fair": {"map": "europe", "armies": [2, 4, 2, 4]},
    }
    preset_titles: ClassVar[Mapping[str, str]] = {
        "south-america": "South America",
        "africa": "Africa",
        "europe": "Europe",
        "asia": "Asia",
        "europe-fair": "Europe, fair",
    }
    late_keys: ClassVar[Mapping[str, Any]] = {"armies": []}
    tutorial: ClassVar[Mapping[str, Any] | None] = {"map": "south-america"}
    draw_probability = 0.05
    move_syntax = "b2 > a2 to attack, invade c1, reinforce a2"

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Duel, config, _CONFIG_DEFAULTS)
        self.map = maps.find_map(given["map"], self.name)
        self.max_troops = parse_integer(self.name, "max_troops", given["max_troops"], DEFAULT_INVASION_TROOPS, 100)
        self.max_plies = parse_integer(self.name, "max_plies", given["max_plies"], 1, 10_000)
        # Later, a single territory may become free again. If `armies` covered the last territory of the start, its army
        # would depend on more than the position.
        most = len(self.map) - 1
        self.armies = parse_integers(self.name, "armies", given["armies"], count=(0, most), bounds=(1, self.max_troops))
        self.config = {"map": self.map.encoded, "max_troops": self.max_troops, "max_plies": self.max_plies}
        if self.armies:
            self.config["armies"] = list(self.armies)

    def initial(self, dice: Dice) -> tuple[Position, None]:
        count = len(self.map)
        return Position((NO_OWNER,) * count, (0,) * count, 0, 0), None

    def to_move(self, state: Position) -> int | None:
        return None if state.at >= self.max_plies or self._winner(state) is not None else state.seat

    def _winner(self, state: Position) -> int | None:
        first = state.owner[0]
        return first if first != NO_OWNER and state.owner.count(first) == len(state.owner) else None

    def ply(self, state: Position) -> int:
        return state.at

    def key(self, state: Position) -> Hashable:
        return state.owner, state.troops, state.seat

    def legal_moves(self, state: Position) -> Sequence[Action]:
        """Return the legal moves by index of territory: all invasions while a territory is free; after that, all
        reinforcements, then all attacks.
        """
        seat = self.to_move(state)
        if seat is None:
            return ()
        owner, troops = state.owner, state.troops
        if NO_OWNER in owner:
            return [Action("invade", to) for to, held in enumerate(owner) if held == NO_OWNER]
        own = [at for at, held in enumerate(owner) if held == seat]
        moves = [Action("reinforce", at) for at in own if troops[at] < self.max_troops]
        for source in own:
            enemies = (to for to in self.map.neighbours[source] if owner[to] != seat)
            moves += [Action("attack", to, source) for to in enemies if troops[source] >= troops[to]]
        return moves

    def apply(self, state: Position, move: Action, dice: Dice) -> tuple[Position, Event]:
        seat = self.to_move(state)
        if seat is None:
            raise_illegal("the game is over")
        self._check(state, move, seat)
        sent = self.encode_move(move)
        if move.do != "attack":
            return self._after_placement(state, move), Event(ply=state.at, seat=seat, move=sent)
        attacker, defender = dice.roll("attack"), dice.roll("attack")
        taken = attacker > defender
        event = Event(ply=state.at, seat=seat, move=sent, dice=[[attacker], [defender]], result={"taken": taken})
        return (self._after_conquest if taken else self._after_repulse)(state, move), event

    def outcomes(self, state: Position, move: Action) -> Sequence[tuple[Fraction, Position]]:
        if move.do != "attack":
            return ((PROBABILITY_ONE, self._after_placement(state, move)),)
        return (WIN_PROBABILITY, self._after_conquest(state, move)), (
            1 - WIN_PROBABILITY,
            self._after_repulse(state, move),
        )

    def _after_placement(self, state: Position, move: Action) -> Position:
        if move.do == "invade":
            return _set_territory(state, move.to, state.seat, self.invasion_troops(state.owner.count(NO_OWNER)))
        return _set_territory(
            state, move.to, state.seat, min(state.troops[move.to] + REINFORCEMENT_TROOPS, self.max_troops)
        )

    def invasion_troops(self, free: int) -> int:
        """Return the number of troops that an invasion places when `free` territories are free."""
        invasion = len(self.map) - free
        return self.armies[invasion] if invasion < len(self.armies) else DEFAULT_INVASION_TROOPS

    def _after_conquest(self, state: Position, move: Action) -> Position:
        return _set_territory(state, move.to, state.seat, 1)

    def _after_repulse(self, state: Position, move: Action) -> Position:
        left = state.troops[move.source] - state.troops[move.to]
        return _set_territory(state, move.source, state.seat if left else NO_OWNER, left)

    def _check(self, state: Position, move: Action, seat: int) -> None:
        """Raise `IllegalMove` if a move is illegal. The message lists the legal moves by index of territory."""
        for territory in (move.to, move.source) if move.do == "attack" else (move.to,):
            if not 0 <= territory < len(self.map):
                raise_illegal(f"there is no territory {territory}: they are 0 to {len(self.map) - 1}")
        if why := self._find_fault(state, move, seat):
            raise_illegal(self._append_legal_moves(state, why))

    def _find_fault(self, state: Position, move: Action, seat: int) -> str | None:
        owner, troops, to = state.owner, state.troops, move.to
        if move.do == "invade":
            return None if owner[to] == NO_OWNER else f"{self._describe_territory(state, to)}, not free"
        if NO_OWNER in owner:
            return f"{self._describe_territory(state, to)}: no {move.do} while a territory is free"
        if move.do == "attack":
            return self._find_attack_fault(state, move.source, to, seat)
        if owner[to] != seat:
            return f"{self._describe_territory(state, to)}, not yours to reinforce"
        return f"{self._describe_territory(state, to)}, the most it can hold" if troops[to] >= self.max_troops else None

    def _find_attack_fault(self, state: Position, source: int, to: int, seat: int) -> str | None:
        if state.owner[source] != seat:
            return f"{self._describe_territory(state, source)}, not yours to attack from"
        if state.owner[to] == seat:
            return f"{self._describe_territory(state, to)}, your own"
        if to not in self.map.neighbours[source]:
            return f"{self._describe_territory(state, source)} and has no border with {self.map.label(to)}"
        if state.troops[source] < state.troops[to]:
            meets = f"{self.map.label(to)} has {state.troops[to]}"
            return f"{self._describe_territory(state, source)}: {meets}, and an attack needs as many"
        return None

    def _describe_territory(self, state: Position, territory: int) -> str:
        owner, troops = state.owner[territory], state.troops[territory]
        holder = "nobody's" if owner == NO_OWNER else f"seat {owner}'s with {troops} troop{'s' * (troops != 1)}"
        return f"{self.map.label(territory)} is {holder}"

    def _append_legal_moves(self, state: Position, why: str) -> str:
        """Return a line: the reason `why` a move is illegal, and as many legal moves of each kind as fit in it."""
        by_kind: dict[str, list[str]] = {}
        for move in self.legal_moves(state):
            where = f"{move.source}-{move.to}" if move.do == "attack" else str(move.to)
            by_kind.setdefault(move.do, []).append(where)
        for most in range(12, 0, -1):
            legal = "; ".join(f"{do} {list_first(where, most)}" for do, where in by_kind.items())
            line = f"{why}; legal: {legal}"
            if len(line) < MAX_REFUSAL_CHARS:
                break
        return line

    def ranks(self, state: Position) -> tuple[int, ...]:
        winner = self._winner(state)
        return (1, 1) if winner is None else (1, 2) if winner == 0 else (2, 1)

    def reason(self, state: Position) -> str:
        return PLY_LIMIT if self._winner(state) is None else WIN

    def encode_state(self, state: Position) -> dict[str, Any]:
        to_move = self.to_move(state)
        return {"owner": state.owner, "troops": state.troops, "to_move": to_move, "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Position:
        owner, troops, at = tuple(wire["owner"]), tuple(wire["troops"]), wire["ply"]
        if not len(owner) == len(troops) == len(self.map):
            raise ValueError(f"{len(owner)} owners and {len(troops)} troops on {len(self.map)} territories")
        return Position(owner, troops, at % 2, at)

    def encode_move(self, move: Action) -> dict[str, Any]:
        if move.do == "attack":
            return {"do": "attack", "from": move.source, "to": move.to}
        return {"do": move.do, "at" if move.do == "reinforce" else "to": move.to}

    def decode_move(self, wire: Any) -> Action:
        do, fields = read_move_kind(wire, _MOVE_FORMS)
        return Action(do, fields[-1], fields[0] if do == "attack" else -1)

    def draw_board(self, state: Position) -> str:
        return draw_map(self.map, state.owner, state.troops)

    def describe(self, state: Position) -> str:
        return describe_map(self.map, state.owner, state.troops)

    def notation(self, move: Action) -> str:
        to = self.map.territories[move.to].name
        return f"{self.map.territories[move.source].name} > {to}" if move.do == "attack" else f"{move.do} {to}"

    def parse_move(self, text: str) -> Action:
        source, attacks, to = text.partition(">")
        if attacks:
            return Action("attack", place(self.map, to), place(self.map, source))
        do, _, where = text.strip().partition(" ")
        if do.lower() not in ("invade", "reinforce"):
            raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {self.move_syntax}")
        return Action(do.lower(), place(self.map, where))

    def describe_changes(self, before: Position, after: Position) -> str:
        found = list_changes(self.map, before[:2], after[:2])
        return "; ".join(found) if len(found) <= MAX_LISTED_CHANGES else self.draw_board(after)

    def summarise(self, state: Position) -> str:
        return summarise_holdings(state.owner, state.troops)

    def describe_event(self, event: Event) -> str:
        return describe_attack(event)


def _set_territory(state: Position, territory: int, owner: int, troops: int) -> Position:
    after = territory + 1
    return Position(
        (*state.owner[:territory], owner, *state.owner[after:]),
        (*state.troops[:territory], troops, *state.troops[after:]),
        1 - state.seat,
        state.at + 1,
    )
