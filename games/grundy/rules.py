"""Grundy's game: split one heap into two of different sizes. The seat that cannot move loses."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from protocol.dice import Dice
from protocol.games.base import Game
from protocol.games.parsing import parse_integers, parse_two_numbers, raise_illegal, read_config, read_move_fields
from protocol.messages import Event


class Heaps(NamedTuple):
    """A position: the heaps in the order of their creation, and the ply."""

    heaps: tuple[int, ...]
    at: int


class Split(NamedTuple):
    """A move: split the heap with index `heap`, counted from 0. `split`, the size of the smaller part, replaces it; the
    rest becomes the last heap.
    """

    heap: int
    split: int


class Grundy(Game[Heaps, Split]):
    """Grundy's game. Config: `heaps`, which are 1 to 16 heaps of 1 to 200 counters. Seat 0 begins."""

    name = "grundy"
    title = "Grundy’s game"
    about = "Split a heap into two of different sizes. A player who can’t loses."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {"heaps": [7]}, "large": {"heaps": [20, 30]}}
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "one heap of 7", "large": "heaps of 20 and 30"}
    draw_probability = 0.0
    move_syntax = "2 off heap 0, or 2 0"

    misere = False
    """False: the seat that cannot move loses."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Grundy, config, {"heaps": [7]})
        self.heaps = parse_integers("grundy", "heaps", given["heaps"], count=(1, 16), bounds=(1, 200))
        self.config = {"heaps": list(self.heaps)}

    def initial(self, dice: Dice) -> tuple[Heaps, None]:
        return Heaps(self.heaps, 0), None

    def to_move(self, state: Heaps) -> int | None:
        return state.at % 2 if max(state.heaps) > 2 else None

    def ply(self, state: Heaps) -> int:
        return state.at

    def key(self, state: Heaps) -> tuple[tuple[int, ...], int]:
        return state.heaps, state.at % 2

    def legal_moves(self, state: Heaps) -> list[Split]:
        return [Split(heap, part) for heap, size in enumerate(state.heaps) for part in range(1, (size + 1) // 2)]

    def apply(self, state: Heaps, move: Split, dice: Dice) -> tuple[Heaps, Event]:
        heaps, at = state
        heap, split = move
        if not 0 <= heap < len(heaps):
            raise_illegal(f"there is no heap {heap}: heaps are 0 to {len(heaps) - 1}")
        size = heaps[heap]
        most = (size - 1) // 2
        if not 1 <= split <= most:
            allowed = f"1 to {most}" if most else "nothing: it cannot be split into two different heaps"
            raise_illegal(f"heap {heap} holds {size}: split is {split}, but the smaller part can be {allowed}")
        after = Heaps((*heaps[:heap], split, *heaps[heap + 1 :], size - split), at + 1)
        return after, Event(ply=at, seat=at % 2, move={"heap": heap, "split": split})

    def ranks(self, state: Heaps) -> tuple[int, ...]:
        return (2, 1) if state.at % 2 == 0 else (1, 2)

    def encode_state(self, state: Heaps) -> dict[str, Any]:
        return {"heaps": state.heaps, "to_move": self.to_move(state), "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Heaps:
        return Heaps(tuple(wire["heaps"]), wire["ply"])

    def encode_move(self, move: Split) -> dict[str, Any]:
        return {"heap": move.heap, "split": move.split}

    def decode_move(self, wire: Any) -> Split:
        return Split(*read_move_fields(wire, '{"heap": 0, "split": 1}', "heap", "split"))

    def draw_board(self, state: Heaps) -> str:
        return textwrap.fill("heaps: " + " ".join(map(str, state.heaps)), width=80, subsequent_indent=" " * 7)

    def notation(self, move: Split) -> str:
        return f"{move.split} off heap {move.heap}"

    def parse_move(self, text: str) -> Split:
        split, heap = parse_two_numbers(text, r"(\d+)\s+(?:off\s+)?(?:heap\s+)?(\d+)", self.move_syntax)
        return Split(heap, split)
