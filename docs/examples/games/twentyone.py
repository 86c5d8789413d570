"""Twenty-one: a game for three or more. The seats count on in turn, by one to three; who says 21 loses."""

from typing import NamedTuple

from protocol.games.turn_game import TurnGame, integer


class TwentyOneState(NamedTuple):
    """The number that was said last, and the seat that is to go on."""

    number: int = 0
    seat: int = 0


class TwentyOne(TurnGame[TwentyOneState, int]):
    """A move is how far a seat counts on: 1 to 3."""

    name = "twentyone"
    title = "Twenty-one"
    about = "Count on by one, two or three; who says 21 loses."
    seats = integer(3, minimum=3, maximum=6)
    last = integer(21, minimum=10, maximum=100)

    def start(self) -> TwentyOneState:
        return TwentyOneState()

    def turn(self, state: TwentyOneState) -> int | None:
        return None if state.number == self.last else state.seat

    def moves(self, state: TwentyOneState) -> list[int]:
        return [step for step in (1, 2, 3) if state.number + step <= self.last]

    def play(self, state: TwentyOneState, move: int) -> TwentyOneState:
        return TwentyOneState(state.number + move, (state.seat + 1) % self.seats)

    def ranks(self, state: TwentyOneState) -> list[int]:
        loser = (state.seat - 1) % self.seats
        return [2 if seat == loser else 1 for seat in range(self.seats)]

    def draw(self, state: TwentyOneState) -> str:
        return f"{state.number} of {self.last}"
