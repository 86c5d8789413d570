"""Moves of Risk as people write them, and what they are told of a position in a line: the same for both games."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from protocol.display import few, shown
from protocol.errors import MalformedMove
from protocol.games.risk.board import Board

SEATS = "ABCDEF"
MOST_TOLD = 4
"""Changes; where there are more, the whole board says it better."""


def territory(board: Board, text: str) -> int:
    """A territory by its index, its name in any case, or how only its name begins. Raises `MalformedMove`."""
    wanted = " ".join(text.casefold().split())
    names = [" ".join(place.name.casefold().split()) for place in board.territories]
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and int(wanted) < len(board):
        return int(wanted)
    found = [at for at, name in enumerate(names) if wanted and name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise MalformedMove(f"{shown(text)} may be {few((board.label(at) for at in found), 4)}: write more of the name")
    near = get_close_matches(wanted, names, 3, 0.5)
    like = f": maybe {few(board.label(names.index(name)) for name in near)}" if near else ""
    raise MalformedMove(f"there is no territory {shown(text)}{like}; a name, or a number from 0 to {len(board) - 1}")


def counts(board: Board, text: str) -> tuple[tuple[int, int], ...]:
    """Territories with numbers: `a1 3 b2 1`, or `a1+3 b2+1`, in ascending order. Raises `MalformedMove`."""
    found: dict[int, int] = {}
    left = text.replace(",", " ").strip()
    while left:
        one = re.match(r"(.+?)(?:\s*\+\s*|\s+)(\d+)(?:\s+|$)", left)
        if one is None:
            raise MalformedMove(
                f"{shown(left)} lacks a number: a territory and how many units, and so on, as in a1 3 b2 1"
            )
        at = territory(board, one[1])
        found[at] = found.get(at, 0) + int(one[2])
        left = left[one.end() :]
    return tuple(sorted(found.items()))


def holdings(owner: Sequence[int], troops: Sequence[int]) -> str:
    """`A 3 territories with 12, B 2 with 5`: what each seat has that has anything."""
    parts: list[str] = []
    for seat in sorted({seat for seat in owner if seat >= 0}):
        held = [count for one, count in zip(owner, troops, strict=True) if one == seat]
        territories = (" territory" if len(held) == 1 else " territories") if not parts else ""
        parts.append(f"{SEATS[seat]} {len(held)}{territories} with {sum(held)}")
    return ", ".join(parts)


def changes(
    board: Board, before: tuple[Sequence[int], Sequence[int]], after: tuple[Sequence[int], Sequence[int]]
) -> list[str]:
    """Territories whose owner or troops differ, as they are now: `3 (Peru): A 4`."""
    old, new = zip(*before, strict=True), zip(*after, strict=True)
    differ = [(at, now) for at, (was, now) in enumerate(zip(old, new, strict=True)) if was != now]
    return [f"{board.label(at)}: {'nobody' if seat < 0 else f'{SEATS[seat]} {count}'}" for at, (seat, count) in differ]
