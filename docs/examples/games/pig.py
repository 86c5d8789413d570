"""Pig: a game with a die. Roll as often as you dare; a one costs you all points of this turn."""

from typing import Literal, NamedTuple

from protocol.games.turn_game import CHANCE, TurnGame, integer

Move = Literal["roll", "hold"]


class PigState(NamedTuple):
    """The points of both seats, whose turn it is, and the points of this turn that may still be lost."""

    scores: tuple[int, int] = (0, 0)
    seat: int = 0
    at_risk: int = 0
    is_rolling: bool = False
    turns: int = 0


class Pig(TurnGame[PigState, Move]):
    """After the move "roll", chance comes next. After 200 turns, the game is drawn."""

    name = "pig"
    about = "Roll as often as you dare; a one costs you the points of this turn."
    target = integer(50, minimum=5, maximum=100)
    draw_probability = 0.0

    def start(self) -> PigState:
        return PigState()

    def turn(self, state: PigState) -> int | None:
        if max(state.scores) >= self.target or state.turns == 200:
            return None
        return CHANCE if state.is_rolling else state.seat

    def moves(self, state: PigState) -> list[Move]:
        return ["roll", "hold"] if state.at_risk else ["roll"]

    def play(self, state: PigState, move: Move) -> PigState:
        return state._replace(is_rolling=True) if move == "roll" else self.pass_turn(state, state.at_risk)

    def chances(self, state: PigState) -> list[tuple[int, PigState]]:
        kept = [state._replace(at_risk=state.at_risk + face, is_rolling=False) for face in range(2, 7)]
        return [(1, after) for after in (self.pass_turn(state, 0), *kept)]

    def pass_turn(self, state: PigState, points: int) -> PigState:
        first, second = state.scores
        scores = (first + points, second) if state.seat == 0 else (first, second + points)
        return PigState(scores, 1 - state.seat, turns=state.turns + 1)

    def winner(self, state: PigState) -> int | None:
        first, second = state.scores
        return None if first == second else int(second > first)

    def draw(self, state: PigState) -> str:
        return f"{state.scores[0]} : {state.scores[1]}, {state.at_risk} at risk"

    def features(self, state: PigState, seat: int) -> list[float]:
        points = (state.scores[seat], state.scores[1 - seat], state.at_risk)
        return [min(1.0, number / self.target) for number in points]
