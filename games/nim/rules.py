"""Nim: a move takes counters from one heap. The seat that cannot move loses, or wins in misère play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from itertools import islice
from math import prod
from operator import xor
from typing import Any, ClassVar, NamedTuple

from games.theory.grundy_values import count_lost_positions, first_grundy_values
from protocol.dice import Dice, mean_bytes
from protocol.display import short_repr
from protocol.errors import BadConfig
from protocol.games.base import Game
from protocol.games.parsing import (
    parse_choice,
    parse_integers,
    parse_two_numbers,
    raise_illegal,
    read_config,
    read_move_fields,
)
from protocol.messages import CHANCE, Event

MAX_LISTED_MOVES = 512
"""Maximum number of legal moves that a `turn` message lists. If there are more, the message also has `options`."""
MAX_DEAL_DRAWS = 20_000
"""Maximum number of times that heaps are drawn for one deal, until they make a valid position."""
MAX_MEAN_DEAL_BYTES = 520
"""Maximum mean number of random bytes of a deal. Heaps are drawn until they make a lost position, so deals differ: one
deal in 10⁹ takes at least 21 times the mean. Even that takes only some 5 ms.
"""
_CONFIG_DEFAULTS = {"heaps": [3, 5, 7], "take": None, "misere": False, "start": "given"}
"""The default of each key of a config of Nim."""


class Position(NamedTuple):
    """A position: the heaps, the seat whose turn it is (even if it cannot move), and the ply."""

    heaps: tuple[int, ...]
    seat: int
    at: int


class Take(NamedTuple):
    """A move: take `take` counters from the heap with index `heap`, counted from 0."""

    heap: int
    take: int


class Nim(Game[Position, Take]):
    """Nim. Config:

    - `heaps`: 1 to 64 heaps of 0 to 1,000 counters, at most 2,000 in all.
    - `take`: 1 to 16 numbers that a move may remove; null: any positive number.
    - `misere`: true if the seat that cannot move wins.
    - `start`: "given", or "p-position": a random lost position with heaps at most as large as `heaps`.
    """

    name = "nim"
    title = "Nim"
    about = "Take counters from one heap. The player who takes the last one wins, or loses in misère."
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "classic": {"heaps": [3, 5, 7]},
        "min-nim": {"heaps": [10, 20, 30], "take": [1, 2, 3]},
        "sticks": {"heaps": [21], "take": [1, 2, 3], "misere": True},
    }
    preset_titles: ClassVar[Mapping[str, str]] = {
        "classic": "classic",
        "min-nim": "one to three at a time",
        "sticks": "21 sticks, the last one loses",
    }
    draw_probability = 0.0
    move_syntax = "2 from heap 1, or 2 1"

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(Nim, config, _CONFIG_DEFAULTS)
        self.heaps = parse_integers("nim", "heaps", given["heaps"], count=(1, 64), bounds=(0, 1000))
        if sum(self.heaps) > 2000:
            raise BadConfig(f"nim: heaps hold {sum(self.heaps)} counters: the maximum is 2000")
        take = given["take"]
        self.take = (
            None
            if take is None
            else tuple(sorted(set(parse_integers("nim", "take", take, count=(1, 16), bounds=(1, 1000)))))
        )
        self._min_take = 1 if self.take is None else self.take[0]
        """The smallest number of counters that a move may take."""
        self.misere = parse_choice("nim", "misere", given["misere"], (False, True))
        self.start = parse_choice("nim", "start", given["start"], ("given", "p-position"))
        if self.start == "p-position" and self._find_smallest_lost_position() is None:
            raise BadConfig(
                f"nim: no lost position with a move left fits in the heaps {list(self.heaps)}: use start=given"
            )
        self._allowed = None if self.take is None else frozenset(self.take)
        self._all_takes = [
            [{"heap": heap, "take": take} for take in self.take or ()] for heap in range(len(self.heaps))
        ]
        """The moves of each heap, encoded, if `take` limits them and the heap is large enough for all of them."""
        self.config = {
            "heaps": list(self.heaps),
            "take": None if self.take is None else list(self.take),
            "misere": self.misere,
            "start": self.start,
        }

    def _find_smallest_lost_position(self) -> tuple[int, ...] | None:
        """Return a lost position that has a move and as few counters as possible; None if the config allows none. The
        counters are in the first heaps that are large enough. All other heaps are empty.
        """
        least = self._min_take
        large = [heap for heap, size in enumerate(self.heaps) if size >= least]
        needed = 1 if self.misere else 2  # misère: one heap that the mover has to empty; normal play: two equal heaps
        if len(large) >= needed:
            return tuple(least if heap in large[:needed] else 0 for heap in range(len(self.heaps)))
        for heap in large:
            for size in range(least, self.heaps[heap] + 1):
                if self._values[size] == 0:
                    return (0,) * heap + (size,) + (0,) * (len(self.heaps) - heap - 1)
        return None

    def check_cost(self) -> None:
        if self.start == "given":
            return
        among = [size + 1 for size in self.heaps]
        a_draw = sum(map(mean_bytes, among))
        # If any number may be taken, at most one size of a heap makes the whole position lost, given the other heaps.
        rare = self.take is None and a_draw * max(among) > MAX_MEAN_DEAL_BYTES
        if rare or a_draw * prod(among) > MAX_MEAN_DEAL_BYTES * self._count_deals():
            raise BadConfig(
                f"nim: lost positions in the heaps {short_repr(list(self.heaps))} are too rare to be "
                "dealt: use smaller or "
                "fewer heaps, or start=given"
            )

    def _count_deals(self) -> int:
        lost = count_lost_positions(self.heaps, self._values, misere=self.misere)
        return lost if self.misere else lost - prod(min(size + 1, self._min_take) for size in self.heaps)

    @cached_property
    def _values(self) -> Sequence[int]:
        """The Grundy value of each size that a dealt heap may have."""
        return first_grundy_values(self.take, max(self.heaps) + 1)

    def initial(self, dice: Dice) -> tuple[Position, Event | None]:
        if self.start == "given":
            return Position(self.heaps, 0, 0), None
        heaps = self._deal(dice)
        return Position(heaps, 0, 1), Event(ply=0, seat=CHANCE, move={"heaps": list(heaps)})

    def _deal(self, dice: Dice) -> tuple[int, ...]:
        """Return random heaps that are a lost position with a move. All such positions are equally likely: heaps are
        drawn (dice purpose "deal") until they fit. After `MAX_DEAL_DRAWS` draws in vain, return the smallest such
        position.
        """
        for drawn in islice(dice.choices("deal", [size + 1 for size in self.heaps]), MAX_DEAL_DRAWS):
            if self._is_valid_deal(drawn):
                return tuple(drawn)
        least = self._find_smallest_lost_position()
        assert least is not None, "a config without lost positions is refused"
        return least

    def _is_valid_deal(self, heaps: Sequence[int]) -> bool:
        worth = list(map(self._values.__getitem__, heaps))
        return reduce(xor, worth) == (self.misere and max(worth) < 2) and max(heaps) >= self._min_take

    def config_of_deal(self, dice: Dice) -> Mapping[str, Any]:
        if self.start == "given":
            return self.config
        return {**self.config, "heaps": list(self._deal(dice)), "start": "given"}

    def to_move(self, state: Position) -> int | None:
        return state.seat if max(state.heaps) >= self._min_take else None

    def ply(self, state: Position) -> int:
        return state.at

    def key(self, state: Position) -> tuple[tuple[int, ...], int]:
        return state.heaps, state.seat

    def legal_moves(self, state: Position) -> list[Take]:
        if self.take is None:
            return [Take(heap, take) for heap, size in enumerate(state.heaps) for take in range(1, size + 1)]
        return [Take(heap, take) for heap, size in enumerate(state.heaps) for take in self.take if take <= size]

    def apply(self, state: Position, move: Take, dice: Dice) -> tuple[Position, Event]:
        heaps, seat, at = state
        heap, take = move
        if not 0 <= heap < len(heaps):
            raise_illegal(f"there is no heap {heap}: heaps are 0 to {len(heaps) - 1}")
        size = heaps[heap]
        if take < 1 or (self._allowed is not None and take not in self._allowed):
            allowed = "1 or more" if self.take is None else " or ".join(map(str, self.take))
            raise_illegal(f"take is {take}: a move takes {allowed}")
        if take > size:
            raise_illegal(f"heap {heap} holds {size}: {take} cannot be taken; the heaps are {list(heaps)}")
        after = Position((*heaps[:heap], size - take, *heaps[heap + 1 :]), 1 - seat, at + 1)
        return after, Event(ply=at, seat=seat, move={"heap": heap, "take": take})

    def ranks(self, state: Position) -> tuple[int, ...]:
        stuck_wins = self.misere
        return (1, 2) if (state.seat == 0) == stuck_wins else (2, 1)

    def encode_state(self, state: Position) -> dict[str, Any]:
        return {"heaps": state.heaps, "to_move": self.to_move(state), "ply": state.at}

    def decode_state(self, wire: Mapping[str, Any]) -> Position:
        heaps, at, seat = tuple(wire["heaps"]), wire["ply"], wire["to_move"]
        if seat is None:
            seat = (at - (self.start == "p-position")) % 2
        return Position(heaps, seat, at)

    def encode_move(self, move: Take) -> dict[str, Any]:
        return {"heap": move.heap, "take": move.take}

    def decode_move(self, wire: Any) -> Take:
        return Take(*read_move_fields(wire, '{"heap": 0, "take": 1}', "heap", "take"))

    def legal_moves_for_turn(self, state: Position) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        listed: list[dict[str, Any]] = []
        for heap, size in enumerate(state.heaps):
            if self.take is not None and size >= self.take[-1]:
                listed += map(dict.copy, self._all_takes[heap])
            else:
                takes = range(1, size + 1) if self.take is None else self.take
                listed += [{"heap": heap, "take": take} for take in takes if take <= size]
        if len(listed) <= MAX_LISTED_MOVES:
            return listed, None
        options = {"heaps": list(state.heaps), "take": None if self.take is None else list(self.take)}
        return listed[:MAX_LISTED_MOVES], options

    def draw_board(self, state: Position) -> str:
        return "\n".join(f"{i:>2}: {_draw_heap(size)}" for i, size in enumerate(state.heaps))

    def notation(self, move: Take) -> str:
        return f"{move.take} from heap {move.heap}"

    def parse_move(self, text: str) -> Take:
        take, heap = parse_two_numbers(text, r"(\d+)\s+(?:from\s+)?(?:heap\s+)?(\d+)", self.move_syntax)
        return Take(heap, take)


def _draw_heap(size: int) -> str:
    return f"{size:>4}  " + ("|" * size if size <= 60 else "|" * 57 + "...")
