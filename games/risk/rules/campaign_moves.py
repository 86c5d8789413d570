"""The moves of the campaign: their encoding, their notation, and random drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from games.risk.rules.board import Board
from games.risk.rules.text import parse_counts, parse_territory
from protocol.display import list_first, short_repr
from protocol.errors import MalformedMove
from protocol.games.parsing import read_move_kind

DRAFT_EXAMPLE = '{"do": "draft", "units": [[0, 2]]}'
"""An example of a draft in JSON, for error messages."""
_MOVE_FORMS = {
    "draft": (DRAFT_EXAMPLE, ("units",)),
    "attack": ('{"do": "attack", "from": 0, "to": 1, "units": 3}', ("from", "to", "units")),
    "end": ('{"do": "end"}', ()),
}
"""The form of each kind of move: an example in JSON, and the names of its integer fields."""
_MAX_LISTED_TERRITORIES = 4
"""Maximum number of territories of a draft that `notation` lists."""
MOVE_EXAMPLES = "draft a1 3 b2 1, b2 > a2 2 to attack with two, end"
"""Examples of moves as a person writes them."""


class Draft(NamedTuple):
    """A placement of new units: pairs of a territory and its number of new units, in order of territory."""

    units: tuple[tuple[int, int], ...]


class Attack(NamedTuple):
    """An attack with `units` units from the territory `source` against the territory `to`."""

    to: int
    source: int
    units: int


class EndTurn(NamedTuple):
    """A move that ends the turn."""


Move = Draft | Attack | EndTurn


def encode(move: Move) -> dict[str, Any]:
    """Return a move of the campaign as messages carry it."""
    if isinstance(move, Draft):
        return {"do": "draft", "units": [list(pair) for pair in move.units]}
    if isinstance(move, Attack):
        return {"do": "attack", "from": move.source, "to": move.to, "units": move.units}
    return {"do": "end"}


def decode(wire: Any) -> Move:
    """Parse a move from a message. Raise `MalformedMove`, which shows the right form, if it is malformed."""
    if isinstance(wire, Mapping) and wire.get("do") == "draft" and wire.keys() == {"do", "units"}:
        return Draft(_parse_pairs(wire["units"]))
    do, fields = read_move_kind(wire, _MOVE_FORMS)
    return Attack(fields[1], fields[0], fields[2]) if do == "attack" else EndTurn()


def _parse_pairs(value: Any) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, (list, tuple)):
        raise MalformedMove(f"units is {short_repr(value)}: a list of pairs, as in {DRAFT_EXAMPLE}")
    for i, pair in enumerate(value):
        if not isinstance(pair, (list, tuple)) or list(map(type, pair)) != [int, int]:
            raise MalformedMove(f"units[{i}] is {short_repr(pair)}: a territory and a number, as in {DRAFT_EXAMPLE}")
    return tuple(sorted((at, count) for at, count in value))


def notation(move: Move, board: Board) -> str:
    """Return a move in a few words. Of a long draft, only the first territories are listed."""
    name = [territory.name for territory in board.territories]
    if isinstance(move, Draft):
        return f"draft {list_first((f'{name[at]}+{count}' for at, count in move.units), _MAX_LISTED_TERRITORIES, ' ')}"
    if isinstance(move, Attack):
        return f"{name[move.source]} > {name[move.to]} {move.units}"
    return "end"


def parse(text: str, board: Board) -> Move:
    """Parse a move that a person wrote. Raise `MalformedMove` if it is malformed."""
    source, attacks, rest = text.partition(">")
    if attacks:
        target = parse_counts(board, rest)
        if len(target) != 1:
            raise MalformedMove(
                f"{short_repr(text)} attacks {len(target)} territories: attack one, as in {MOVE_EXAMPLES}"
            )
        return Attack(target[0][0], parse_territory(board, source), target[0][1])
    do, _, rest = text.strip().partition(" ")
    if do.lower() == "draft" and rest:
        return Draft(parse_counts(board, rest))
    if text.strip().lower() != "end":
        raise MalformedMove(f"{short_repr(text)} is not a move here: write it like {MOVE_EXAMPLES}")
    return EndTurn()


def random_split(units: int, parts: int, below: Callable[[int], int]) -> list[int]:
    """Draw numbers of units, 0 or more for each of `parts` parts, with sum `units`. All splits are equally likely.
    `below(n)` draws a number from 0 to n − 1.
    """
    places = units + parts - 1
    bars: set[int] = set()
    for last in range(units, places):  # R. W. Floyd's algorithm draws parts − 1 of the places
        place = below(last + 1)
        bars.add(last if place in bars else place)
    return [right - left - 1 for left, right in pairwise((-1, *sorted(bars), places))]
