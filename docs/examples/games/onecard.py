"""One-card poker: a game with hidden cards. Each seat has one of three cards and bets on it at most once."""

from collections.abc import Callable
from itertools import permutations
from typing import Literal, NamedTuple

from protocol.games.turn_game import CHANCE, TurnGame

Move = Literal["check", "bet", "fold", "call"]

CARDS = ("jack", "queen", "king")
LEGAL: dict[tuple[Move, ...], tuple[Move, ...]] = {
    (): ("check", "bet"),
    ("check",): ("check", "bet"),
    ("bet",): ("fold", "call"),
    ("check", "bet"): ("fold", "call"),
}


class Hand(NamedTuple):
    """The card of each seat, None if it is hidden or not dealt yet, and what the seats did."""

    cards: tuple[int | None, int | None] = (None, None)
    actions: tuple[Move, ...] = ()
    is_dealt: bool = False


class OneCardPoker(TurnGame[Hand, Move]):
    """The stake is one chip, and two after a call."""

    name = "onecard"
    title = "One-card poker"
    about = "Bet that your card is the higher one."
    hidden = True
    least_return = -2

    def start(self) -> Hand:
        return Hand()

    def turn(self, state: Hand) -> int | None:
        if not state.is_dealt:
            return CHANCE
        return len(state.actions) % 2 if state.actions in LEGAL else None

    def chances(self, state: Hand) -> list[tuple[int, Hand]]:
        return [(1, Hand(deal, (), True)) for deal in permutations(range(3), 2)]

    def moves(self, state: Hand) -> tuple[Move, ...]:
        return LEGAL[state.actions]

    def play(self, state: Hand, move: Move) -> Hand:
        return state._replace(actions=(*state.actions, move))

    def seen(self, state: Hand, seat: int | None) -> Hand:
        first, second = state.cards
        return state._replace(cards=(first if seat == 0 else None, second if seat == 1 else None))

    def guess(self, state: Hand, seat: int, draw_below: Callable[[int], int]) -> Hand:
        others = [card for card in range(3) if card != state.cards[seat]]
        drawn = others[draw_below(2)]
        return state._replace(cards=(state.cards[0], drawn) if seat == 0 else (drawn, state.cards[1]))

    def returns(self, state: Hand) -> tuple[int, int]:
        if self.turn(state) is not None:
            return 0, 0
        if state.actions[-1] == "fold":
            winner, stake = len(state.actions) % 2, 1
        else:
            winner, stake = int(state.cards < state.cards[::-1]), 2 if state.actions[-1] == "call" else 1
        return (stake, -stake) if winner == 0 else (-stake, stake)

    def draw(self, state: Hand) -> str:
        cards = ["?" if card is None else CARDS[card] for card in state.cards]
        return f"player 1: {cards[0]}\nplayer 2: {cards[1]}\n{', '.join(state.actions) or 'no action yet'}"
