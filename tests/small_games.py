"""Two small games that the arena does not have: hex, and pig, where each die is an event of chance between moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from protocol.dice import Dice
from protocol.games.base import Game
from protocol.games.parsing import raise_illegal, read_config
from protocol.messages import CHANCE, Event


class Stones(NamedTuple):
    """A position of hex: `cells` row by row, 0 empty, 1 seat 0's, 2 seat 1's."""

    cells: tuple[int, ...]


class Hex(Game[Stones, int]):
    """Hex. Seat 0 connects the first row to the last, seat 1 the first column to the last. A move is a cell."""

    name = "hex"
    title = "Hex"
    about = "Connect your two sides."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "classic"}
    draw_probability = 0.0

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = read_config(Hex, config, {"size": 3})
        self.size = int(self.config["size"])

    def initial(self, dice: Dice) -> tuple[Stones, None]:
        return Stones((0,) * self.size**2), None

    def ply(self, state: Stones) -> int:
        return len(state.cells) - state.cells.count(0)

    def to_move(self, state: Stones) -> int | None:
        return None if self.winner(state) is not None else self.ply(state) % 2

    def winner(self, state: Stones) -> int | None:
        return next((seat for seat in (0, 1) if self._connects(state, seat)), None)

    def _connects(self, state: Stones, seat: int) -> bool:
        size, cells = self.size, state.cells
        side = range(0, size**2, size) if seat else range(size)
        waiting = [cell for cell in side if cells[cell] == seat + 1]
        seen = set(waiting)
        while waiting:
            row, column = divmod(waiting.pop(), size)
            if (column if seat else row) == size - 1:
                return True
            for down, right in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
                there, beside = row + down, column + right
                cell = there * size + beside
                if 0 <= there < size and 0 <= beside < size and cells[cell] == seat + 1 and cell not in seen:
                    seen.add(cell)
                    waiting.append(cell)
        return False

    def key(self, state: Stones) -> Stones:
        return state

    def legal_moves(self, state: Stones) -> list[int]:
        return [] if self.to_move(state) is None else [at for at, cell in enumerate(state.cells) if cell == 0]

    def apply(self, state: Stones, move: int, dice: Dice) -> tuple[Stones, Event]:
        if move not in self.legal_moves(state):
            raise_illegal(f"{move} is not free")
        seat = self.ply(state) % 2
        cells = (*state.cells[:move], seat + 1, *state.cells[move + 1 :])
        return Stones(cells), Event(ply=self.ply(state), seat=seat, move=self.encode_move(move))

    def ranks(self, state: Stones) -> tuple[int, ...]:
        return (2, 1) if self.winner(state) == 1 else (1, 2)

    def encode_state(self, state: Stones) -> dict[str, Any]:
        return {"cells": list(state.cells), "to_move": self.to_move(state), "ply": self.ply(state)}

    def decode_state(self, wire: Mapping[str, Any]) -> Stones:
        return Stones(tuple(wire["cells"]))

    def encode_move(self, move: int) -> dict[str, Any]:
        return {"cell": move}

    def decode_move(self, wire: Any) -> int:
        return int(wire["cell"])

    def draw_board(self, state: Stones) -> str:
        return str(state.cells)

    def notation(self, move: int) -> str:
        return str(move)


class Throw(NamedTuple):
    """A position of pig: the scores, the seat whose turn it is, its pot, and the dice of a throw in progress."""

    scores: tuple[int, int]
    seat: int
    pot: int
    due: int
    """Dice that are still to be thrown; 0 between throws."""
    thrown: int
    """The sum of the dice of this throw."""
    turns: int
    at: int


class Pig(Game[Throw, str]):
    """Pig: add throws to your pot, or keep the pot and pass. A one in a throw loses the pot and the turn.

    Config: the `target` score, the `dice` of a throw, each of them a deal of its own, the `faces` of a die, and the
    `turns` after which the higher score wins (0: no limit). Who would reach the target has to hold.
    """

    name = "pig"
    title = "Pig"
    about = "Roll as often as you dare."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "classic"}
    draw_probability = 0.1

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = read_config(Pig, config, {"target": 5, "dice": 1, "faces": 3, "turns": 0})
        self.target, self.dice, self.faces, self.turns = (int(value) for value in self.config.values())

    def initial(self, dice: Dice) -> tuple[Throw, None]:
        return Throw((0, 0), 0, 0, 0, 0, 0, 0), None

    def to_move(self, state: Throw) -> int | None:
        if max(state.scores) >= self.target or 0 < self.turns == state.turns:
            return None
        return CHANCE if state.due else state.seat

    def ply(self, state: Throw) -> int:
        return state.at

    def key(self, state: Throw) -> Throw:
        return state._replace(at=0)

    def legal_moves(self, state: Throw) -> list[str]:
        if self.to_move(state) in (None, CHANCE):
            return []
        if state.scores[state.seat] + state.pot >= self.target:
            return ["hold"]
        return ["roll", "hold"] if state.pot else ["roll"]

    def apply(self, state: Throw, move: str, dice: Dice) -> tuple[Throw, Event]:
        if move not in self.legal_moves(state):
            raise_illegal(f"{move} is not one of {self.legal_moves(state)}")
        event = Event(ply=state.at, seat=state.seat, move=self.encode_move(move))
        if move == "roll":
            return state._replace(due=self.dice, thrown=0, at=state.at + 1), event
        return self._pass(state, state.pot), event

    def _pass(self, state: Throw, gained: int) -> Throw:
        one, two = (score + gained * (seat == state.seat) for seat, score in enumerate(state.scores))
        return Throw((one, two), 1 - state.seat, 0, 0, 0, state.turns + 1, state.at + 1)

    def apply_chance(self, state: Throw, dice: Dice) -> tuple[Throw, Event]:
        face = 1 + dice.choice("die", self.faces)
        return self._throw(state, face), Event(ply=state.at, seat=CHANCE, move={"face": face})

    def chance_outcomes(self, state: Throw) -> Sequence[tuple[Fraction, Throw]]:
        return [(Fraction(1, self.faces), self._throw(state, face)) for face in range(1, self.faces + 1)]

    def _throw(self, state: Throw, face: int) -> Throw:
        if face == 1:
            return self._pass(state, 0)
        thrown, due = state.thrown + face, state.due - 1
        if due:
            return state._replace(due=due, thrown=thrown, at=state.at + 1)
        return state._replace(pot=state.pot + thrown, due=0, thrown=0, at=state.at + 1)

    def ranks(self, state: Throw) -> tuple[int, ...]:
        one, two = state.scores
        return 1 + (one < two), 1 + (two < one)

    def encode_state(self, state: Throw) -> dict[str, Any]:
        own = {name: value for name, value in state._asdict().items() if name != "at"}
        return {**own, "scores": list(state.scores), "to_move": self.to_move(state), "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Throw:
        one, two = wire["scores"]
        return Throw((one, two), *(wire[name] for name in ("seat", "pot", "due", "thrown", "turns", "ply")))

    def encode_move(self, move: str) -> dict[str, Any]:
        return {"do": move}

    def decode_move(self, wire: Any) -> str:
        return str(wire["do"])

    def draw_board(self, state: Throw) -> str:
        return f"{state.scores[0]} : {state.scores[1]}, pot {state.pot}"

    def notation(self, move: str) -> str:
        return move
