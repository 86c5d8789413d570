"""Connect Four: the whole game in one file. Try it: arena try random random --game connect4.py"""

from typing import NamedTuple

from protocol.games.turn_game import TurnGame, integer

DISCS = "XO"
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


class Grid(NamedTuple):
    """The columns from left to right, each a text of its discs from the bottom up, and the column of the last move."""

    columns: tuple[str, ...]
    last: int | None = None


class ConnectFour(TurnGame[Grid, int]):
    """A move is the number of a column, from 1."""

    name = "connect4"
    title = "Connect Four"
    about = "Drop a disc into a column; four in a row win."
    width = integer(7, minimum=4, maximum=12)
    height = integer(6, minimum=4, maximum=12)
    draw_probability = 0.05
    marks = DISCS

    def start(self) -> Grid:
        return Grid(("",) * self.width)

    def turn(self, state: Grid) -> int | None:
        discs = sum(map(len, state.columns))
        is_over = discs == self.width * self.height or self.winner(state) is not None
        return None if is_over else discs % 2

    def moves(self, state: Grid) -> list[int]:
        return [number for number, column in enumerate(state.columns, 1) if len(column) < self.height]

    def play(self, state: Grid, move: int) -> Grid:
        columns = list(state.columns)
        columns[move - 1] += DISCS[sum(map(len, columns)) % 2]
        return Grid(tuple(columns), move)

    def winner(self, state: Grid) -> int | None:
        if state.last is None:
            return None
        x, y = state.last - 1, len(state.columns[state.last - 1]) - 1
        disc = self.disc(state, x, y)
        for dx, dy in DIRECTIONS:
            length = 1
            for sign in (-1, 1):
                step = sign
                while self.disc(state, x + step * dx, y + step * dy) == disc:
                    length, step = length + 1, step + sign
            if length >= 4:
                return DISCS.index(disc)
        return None

    def disc(self, state: Grid, x: int, y: int) -> str:
        is_inside = 0 <= x < self.width and 0 <= y < len(state.columns[x])
        return state.columns[x][y] if is_inside else ""

    def grid(self, state: Grid) -> list[list[str]]:
        return [[self.disc(state, x, y) for x in range(self.width)] for y in reversed(range(self.height))]

    def cells(self, move: int) -> list[tuple[None, int]]:
        return [(None, move - 1)]
