"""Risk as text: the map drawn for a terminal, moves as people write them, and summaries of a state.

A map shows its armies as labels at their territories, with dotted lines for borders. If the labels do not fit even with
short names, it becomes a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import product
from typing import NamedTuple, TypeAlias

from games.risk.rules.board import MAX_COORDINATE, Board
from protocol.display import list_first, short_repr
from protocol.errors import MalformedMove
from protocol.games.parsing import MAX_MOVE_DIGITS, parse_whole_number

SEAT_LETTERS = "ABCDEF"
"""The letters that stand for seats 0 to 5 in drawings."""
MAX_LISTED_CHANGES = 4
"""Maximum number of changed territories to list. If there are more, the whole map is drawn instead."""
MAP_WIDTH_COLUMNS = 80
"""Width of a drawn map in columns."""
MAX_MAP_HEIGHT_ROWS = 41
"""Maximum height of a drawn map in rows."""
MAX_TERRITORIES_WITH_PIECES = 12
"""Maximum number of territories of a map on which troops are also drawn as pieces of the board game."""
MAX_TROOPS_AS_PIECES = 49
"""Maximum number of troops of a territory for which troops are also drawn as pieces of the board game. If any territory
has more, the map shows no pieces.
"""
LABEL_NAME_LENGTHS = (21, 16, 13, 10, 8, 6)
"""Maximum lengths of territory names in labels, in characters, tried from the longest."""
LABEL_SHIFTS = sorted(product(range(-8, 9), range(-3, 4)), key=lambda by: (abs(by[0]) + 2 * abs(by[1]), by))
"""Shifts (columns, rows) by which a label may move to find room, smallest first."""
MIN_WRAPPED_BORDER_LENGTH = 0.8 * MAX_COORDINATE
"""Horizontal length, in coordinates of a map, above which a border wraps around: it is drawn as two lines, one to the
left edge and one to the right edge of the map. On small maps no border wraps.
"""


class _Label(NamedTuple):
    """A territory's label of two lines on a drawn map. `title` is the first line. `left` and `top` are the column and
    the row of its first character.
    """

    left: int
    top: int
    width: int
    title: str

    @property
    def middle(self) -> float:
        return self.left + (self.width - 1) / 2


_Mark: TypeAlias = tuple[tuple[int, int], str]
"""The type of a mark, which is one character of a border on a drawn map: its column and row, and the character."""


class _Layout(NamedTuple):
    """The part of a drawn map that does not change during a game."""

    labels: tuple[_Label, ...]
    lines: tuple[tuple[_Mark, ...], ...]
    """The line of each border: the marks (see `_Mark`) that draw it on the map."""


def draw_map(board: Board, owner: Sequence[int], troops: Sequence[int]) -> str:
    """Return a drawing of the map with its troops, at most 80 columns wide.

    The label of a territory has two lines: its index and name, and below them its owner (`A` is seat 0, `.` none) and
    troops. On small maps, small armies also show as pieces of the board game: infantry 1, cavalry 5, artillery 10.
    """
    pieces = len(board) <= MAX_TERRITORIES_WITH_PIECES and max(troops) <= MAX_TROOPS_AS_PIECES
    armies = [
        f"{_letter(seat)} {count} {_pieces(count) if pieces else ''}".rstrip()
        for seat, count in zip(owner, troops, strict=True)
    ]
    layout = _place_labels(board, len("A 49 aaaaciiii") if pieces else max(map(len, armies)))
    lines = _draw_table(board, owner, troops) if layout is None else _draw_picture(layout, armies)
    return "\n".join((*lines, "", *_legend(board, owner, pieces, layout is not None)))


def describe_map(board: Board, owner: Sequence[int], troops: Sequence[int]) -> str:
    """Return a list in words of the territories with owner, troops and neighbours, then of the continents."""
    names = [place.name for place in board.territories]
    lines = list(_legend(board, owner, pieces=False, picture=False))
    for i, name in enumerate(names):
        army = "free" if owner[i] < 0 else f"{_letter(owner[i])} {troops[i]}"
        lines.append(f"{i} {name}: {army}; borders {', '.join(names[other] for other in board.neighbours[i])}")
    for continent, members in zip(board.continents, board.members, strict=True):
        if members and len(board.continents) > 1:
            lines.append(f"{continent.name}, bonus {continent.bonus}: {', '.join(names[i] for i in members)}")
    return "\n".join(lines)


def wraps_around(board: Board, border: tuple[int, int]) -> bool:
    """Return whether a border is drawn off the left and the right edge: it joins the far ends of a world map."""
    a, b = (board.territories[end].x for end in border)
    return len(board) > MAX_TERRITORIES_WITH_PIECES and abs(a - b) > MIN_WRAPPED_BORDER_LENGTH


def _letter(seat: int) -> str:
    return "." if seat < 0 else SEAT_LETTERS[seat]


def _pieces(count: int) -> str:
    return "a" * (count // 10) + "c" * (count % 10 // 5) + "i" * (count % 5)


def _legend(board: Board, owner: Sequence[int], pieces: bool, picture: bool) -> Iterator[str]:
    others = "".join(f", {_letter(seat)} {seat}" for seat in range(1, max(1, *owner) + 1))
    yield f"A is seat 0{others}" + (", . nobody" if -1 in owner else "")
    if pieces:
        yield "i infantry 1, c cavalry 5, a artillery 10"
    for a, b in board.borders if picture else ():
        if wraps_around(board, (a, b)):
            yield f"off the edge: {board.label(a)} borders {board.label(b)}"[:MAP_WIDTH_COLUMNS]


def _draw_picture(layout: _Layout, armies: Sequence[str]) -> Iterator[str]:
    canvas = [[" "] * MAP_WIDTH_COLUMNS for _ in range(max(label.top for label in layout.labels) + 2)]
    text, beside = set(), set()
    for label, army in zip(layout.labels, armies, strict=True):
        for row, line in enumerate((label.title, army), label.top):
            start = label.left + (label.width - len(line)) // 2
            end = start + len(line)
            canvas[row][start:end] = line
            text |= {(column, row) for column in range(start, end)}
            beside |= {(start - 1, row), (end, row)}
    for border in layout.lines:
        marks = [(place, mark) for place, mark in border if place not in text]
        for (column, row), mark in [mark for mark in marks if mark[0] not in beside] or marks:
            canvas[row][column] = mark
    return ("".join(row).rstrip() for row in canvas)


def _draw_border(board: Board, labels: Sequence[_Label], border: tuple[int, int]) -> Iterator[_Mark]:
    """Yield the marks of a border, which joins the middles of two labels or leads from them off the map."""
    left, right = sorted((labels[end] for end in border), key=lambda label: label.middle)
    if wraps_around(board, border):
        yield from (((column, left.top), "·") for column in range(0, left.left, 2))
        yield from (((column, right.top), "·") for column in range(MAP_WIDTH_COLUMNS - 1, right.left + right.width, -2))
        return
    across, down = right.middle - left.middle, right.top - left.top
    mark = "─" if down == 0 else "│" if across < 1 else "·"
    steps = max(round(across if down == 0 else across / 2), abs(down))
    for step in range(1, steps):
        yield (int(left.middle + across * step / steps + 0.5), int(left.top + down * step / steps + 0.5)), mark


@lru_cache(maxsize=16)
def _place_labels(board: Board, army_width: int) -> _Layout | None:
    """Return places for the borders and for every label, if possible at its territory's coordinates and with a long
    name. `army_width` is the width of a label's second line. Return None if even short names do not fit.
    """
    exact, near = LABEL_SHIFTS[:1], LABEL_SHIFTS
    lowest = min(9 + len(board), MAX_MAP_HEIGHT_ROWS) if len(board) <= MAX_TERRITORIES_WITH_PIECES else 15
    tries = [
        (length, height, exact, 1)
        for length in LABEL_NAME_LENGTHS[:-1]
        for height in range(lowest, MAX_MAP_HEIGHT_ROWS + 1)
    ]
    tries += [(length, MAX_MAP_HEIGHT_ROWS, near, gap) for length in LABEL_NAME_LENGTHS[3:] for gap in (1, 0)]
    for length, height, shifts, gap in tries:
        labels = _try_place_labels(board, length, height, army_width, shifts, gap)
        if labels is not None:
            return _Layout(labels, tuple(tuple(_draw_border(board, labels, border)) for border in board.borders))
    return None


def _try_place_labels(
    board: Board, length: int, height: int, army: int, shifts: Sequence[tuple[int, int]], gap: int
) -> tuple[_Label, ...] | None:
    """Place every label, moved by the first of `shifts` that finds room. Return None if a label does not fit. `gap` is
    the number of empty rows between labels.
    """
    placed: list[_Label] = []
    for i, place in enumerate(board.territories):
        title = f"{i} {_shorten_name(place.name, length)}"
        width = max(len(title), army)
        left, top = (
            round(place.x / MAX_COORDINATE * (MAP_WIDTH_COLUMNS - width)),
            round(place.y / MAX_COORDINATE * (height - 2)),
        )
        for dx, dy in shifts:
            label = _Label(left + dx, top + dy, width, title)
            inside = 0 <= label.left <= MAP_WIDTH_COLUMNS - width and 0 <= label.top <= height - 2
            if inside and not any(_overlap(label, other, gap) for other in placed):
                placed.append(label)
                break
        else:
            return None
    return tuple(placed)


def _overlap(label: _Label, other: _Label, gap: int) -> bool:
    apart = label.left + label.width < other.left or other.left + other.width < label.left
    return not apart and abs(label.top - other.top) < 2 + gap


def _shorten_name(name: str, length: int) -> str:
    """Cut a name to `length` characters: the longest word loses its last letter, until the name fits."""
    words = name.split(" ")
    while len(" ".join(words)) > length:
        longest = max(range(len(words)), key=lambda i: (len(words[i]), i))
        if len(words[longest]) <= 1:
            return " ".join(words)[:length].rstrip()
        words[longest] = words[longest][:-1]
    return " ".join(words)


def _draw_table(board: Board, owner: Sequence[int], troops: Sequence[int]) -> Iterator[str]:
    """Yield the rows of a table with index, name, owner and troops, in two or more columns, to be read downwards."""
    most = len(str(max(troops)))
    room = min(max(len(place.name) for place in board.territories), (MAP_WIDTH_COLUMNS - 3) // 2 - 6 - most)
    cells = [
        f"{i:>2} {_shorten_name(place.name, room):<{room}} {_letter(owner[i])} {troops[i]:>{most}}"
        for i, place in enumerate(board.territories)
    ]
    columns = (MAP_WIDTH_COLUMNS + 3) // (len(cells[0]) + 3)
    rows = -(-len(cells) // columns)
    return ("   ".join(cells[row::rows]) for row in range(rows))


def parse_territory(board: Board, text: str) -> int:
    """Find a territory by index, name or unique prefix, in any case. Raise `MalformedMove` if the text names none."""
    wanted = " ".join(text.casefold().split())
    names = [" ".join(place.name.casefold().split()) for place in board.territories]
    if wanted in names:
        return names.index(wanted)
    number = parse_whole_number(wanted)
    if number is not None and number < len(board):
        return number
    found = [at for at, name in enumerate(names) if wanted and name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise MalformedMove(
            f"{short_repr(text)} may be {list_first((board.label(at) for at in found), 4)}: write more of the name"
        )
    near = get_close_matches(wanted, names, 3, 0.5)
    like = f": did you mean {list_first(board.label(names.index(name)) for name in near)}? Write" if near else ": write"
    raise MalformedMove(
        f"there is no territory {short_repr(text)}{like} a name, or a number from 0 to {len(board) - 1}"
    )


def parse_counts(board: Board, text: str) -> tuple[tuple[int, int], ...]:
    """Parse territories with numbers of units, such as `a1 3 b2 1` or `a1+3 b2+1`. Return pairs of territory and units,
    in ascending order of territory. Raise `MalformedMove` for another text.
    """
    found: dict[int, int] = {}
    left = text.replace(",", " ").strip()
    while left:
        one = re.match(r"(.+?)(?:\s*\+\s*|\s+)(\d+)(?:\s+|$)", left)
        if one is None:
            raise MalformedMove(
                f"{short_repr(left)} lacks a number: write territories with their numbers of units, as in a1 3 b2 1"
            )
        at, units = parse_territory(board, one[1]), parse_whole_number(one[2])
        if units is None:
            raise MalformedMove(f"{short_repr(one[2])} is not a number of units: at most {MAX_MOVE_DIGITS} digits")
        found[at] = found.get(at, 0) + units
        left = left[one.end() :]
    return tuple(sorted(found.items()))


def summarise_holdings(owner: Sequence[int], troops: Sequence[int]) -> str:
    """Summarise the territories and troops of each seat: `A 3 territories with 12, B 2 with 5`."""
    parts: list[str] = []
    for seat in sorted({seat for seat in owner if seat >= 0}):
        held = [count for one, count in zip(owner, troops, strict=True) if one == seat]
        territories = (" territory" if len(held) == 1 else " territories") if not parts else ""
        parts.append(f"{SEAT_LETTERS[seat]} {len(held)}{territories} with {sum(held)}")
    return ", ".join(parts)


def list_changes(
    board: Board, before: tuple[Sequence[int], Sequence[int]], after: tuple[Sequence[int], Sequence[int]]
) -> list[str]:
    """List the territories whose owner or troops differ, with the new owner and troops: `3 (Peru): A 4`."""
    old, new = zip(*before, strict=True), zip(*after, strict=True)
    differ = [(at, now) for at, (was, now) in enumerate(zip(old, new, strict=True)) if was != now]
    return [
        f"{board.label(at)}: {'nobody' if seat < 0 else f'{SEAT_LETTERS[seat]} {count}'}"
        for at, (seat, count) in differ
    ]
