"""Two-player poker with a small deck, over many hands: the common base of Kuhn and Leduc poker. A card is a number. Its
rank is the number divided by the number of cards per rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from protocol.dice import Dice
from protocol.display import list_choices, short_repr
from protocol.errors import MalformedMove
from protocol.games.base import Game
from protocol.games.parsing import parse_integer, raise_illegal, read_config
from protocol.messages import CHANCE, Event

FOLD, CHECK, CALL, BET, RAISE = MOVES = ("fold", "check", "call", "bet", "raise")
"""These are the moves of a seat in poker; `MOVES` has all of them."""
ANTE = 1
"""Chips that each seat puts into the pot before a hand."""
MAX_HANDS = 10_000
"""Maximum number of hands in a match."""
MOVE_EXAMPLE = '{"do": "check"}'
"""A move in JSON, for error messages."""


class PokerState(NamedTuple):
    """A state of a match. In a seat's view, the other seat's card is None.

    - `cards`: the cards of both seats; None before they are dealt.
    - `public`: the public card; None before it is dealt.
    - `bets`: for each round of betting, a string with the letters of the moves (`letter_of`).
    """

    at: int
    hand: int
    """The number of hands of the match that have been completed so far."""
    chips: tuple[int, int]
    """The chips that each seat has won in the completed hands, negative for a loss."""
    cards: tuple[int | None, int | None] | None
    public: int | None
    bets: tuple[str, ...]
    paid: tuple[int, int]
    """The chips that each seat has put into the pot of the current hand."""
    seat: int
    """The seat to move now or, if a deal comes next, after the deal."""


class Poker(Game[PokerState, str]):
    """Two-player poker over many hands. Config: `hands`. The seats alternate in moving first; seat 0 starts. A seat's
    result is the sum of its chips from all hands.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"classic": {"hands": 100}, "short": {"hands": 10}}
    preset_for_people = "short"
    preset_titles: ClassVar[Mapping[str, str]] = {"classic": "100 hands", "short": "10 hands"}
    ranks_of_cards: ClassVar[str]
    """The letters of the ranks of cards, the lowest first."""
    cards_per_rank: ClassVar[int]
    """The number of cards of each rank in the deck."""
    stakes: ClassVar[tuple[int, ...]]
    """The size of a bet or raise in each round of betting. A public card is dealt before each round but the first."""
    max_bets_per_round: ClassVar[int]
    """Maximum number of bets and raises in a round of betting."""
    draw_probability = 0.05
    payoff_unit = "hand"
    hidden = True
    move_syntax = "check, bet, call, raise or fold, or the first letter; k is check"

    def __init__(self, config: Mapping[str, Any]) -> None:
        given = read_config(type(self), config, {"hands": 100})
        self.hands = parse_integer(self.name, "hands", given["hands"], 1, MAX_HANDS)
        self.config = {"hands": self.hands}

    def initial(self, dice: Dice) -> tuple[PokerState, Event]:
        return self.apply_chance(self.state_before_deal(), dice)

    def state_before_deal(self) -> PokerState:
        return PokerState(0, 0, (0, 0), None, None, ("",), (ANTE, ANTE), 0)

    def to_move(self, state: PokerState) -> int | None:
        if state.hand == self.hands:
            return None
        dealt = state.cards is not None and (state.public is not None) == (len(state.bets) > 1)
        return state.seat if dealt else CHANCE

    def ply(self, state: PokerState) -> int:
        return state.at

    def key(self, state: PokerState) -> PokerState:
        return state._replace(at=0)

    def rank_of(self, card: int) -> int:
        """Return the rank of a card, from 0 for the lowest."""
        return card // self.cards_per_rank

    def apply_chance(self, state: PokerState, dice: Dice) -> tuple[PokerState, Event]:
        deck = list(range(len(self.ranks_of_cards) * self.cards_per_rank))
        if state.cards is None:
            one, two, *_ = dice.shuffle("deal", deck)
            event = Event(ply=state.at, seat=CHANCE, move={"cards": [one, two]})
            return self._with_deal(state, one, two), event
        left = [card for card in deck if card not in state.cards]
        public = left[dice.choice("deal", len(left))]
        return self._with_public_card(state, public), Event(ply=state.at, seat=CHANCE, move={"public": public})

    def chance_outcomes(self, state: PokerState) -> list[tuple[Fraction, PokerState]]:
        deck = range(len(self.ranks_of_cards) * self.cards_per_rank)
        if state.cards is None:
            after = [self._with_deal(state, one, two) for one in deck for two in deck if one != two]
        else:
            after = [self._with_public_card(state, public) for public in deck if public not in state.cards]
        return [(Fraction(1, len(after)), each) for each in after]

    def sample_state(self, state: PokerState, seat: int, draw_below: Callable[[int], int]) -> PokerState:
        if state.cards is None:
            return state
        deck = range(len(self.ranks_of_cards) * self.cards_per_rank)
        left = [card for card in deck if card not in (state.cards[seat], state.public)]
        drawn, own = left[draw_below(len(left))], state.cards[seat]
        return state._replace(cards=(own, drawn) if seat == 0 else (drawn, own))

    def _with_deal(self, state: PokerState, one: int, two: int) -> PokerState:
        return state._replace(at=state.at + 1, cards=(one, two))

    def _with_public_card(self, state: PokerState, public: int) -> PokerState:
        return state._replace(at=state.at + 1, public=public)

    def information_set(self, state: PokerState, seat: int) -> tuple[int | None, int | None, tuple[str, ...]]:
        """Return what a seat knows: the ranks of its own card and of the public card, and the bets. Suits do not
        matter.
        """
        own = None if state.cards is None else state.cards[seat]
        return self._rank(own), self._rank(state.public), state.bets

    def _rank(self, card: int | None) -> int | None:
        return None if card is None else self.rank_of(card)

    def legal_moves(self, state: PokerState) -> list[str]:
        if self.to_move(state) in (None, CHANCE):
            return []
        made = sum(state.bets[-1].count(letter) for letter in "br")
        owes = state.paid[0] != state.paid[1]
        more = [] if made == self.max_bets_per_round else [RAISE if owes else BET]
        return [FOLD, CALL, *more] if owes else [CHECK, *more]

    def apply(self, state: PokerState, move: str, dice: Dice) -> tuple[PokerState, Event]:
        legal = self.legal_moves(state)
        if move not in legal:
            raise_illegal(f"{move} is not possible now: {list_choices(legal)}")
        seat, at = state.seat, state.at + 1
        event = Event(ply=state.at, seat=seat, move={"do": move})
        if move == FOLD:
            won = _hand_result(1 - seat, state.paid)
            return self._next_hand(state, 1 - seat, at), Event(ply=state.at, seat=seat, move={"do": move}, result=won)
        bets = (*state.bets[:-1], state.bets[-1] + letter_of(move))
        most = max(state.paid)
        pays = most if move in (CHECK, CALL) else most + self.stakes[len(bets) - 1]
        paid = (pays, state.paid[1]) if seat == 0 else (state.paid[0], pays)
        after = state._replace(at=at, bets=bets, paid=paid, seat=1 - seat)
        if move in (BET, RAISE) or bets[-1] == letter_of(CHECK):
            return after, event
        if len(bets) < len(self.stakes):
            return after._replace(bets=(*bets, ""), seat=state.hand % 2), event
        winner = self._showdown_winner(after)
        assert state.cards is not None
        result = {**_hand_result(winner, paid), "cards": list(state.cards)}
        return self._next_hand(after, winner, at), Event(ply=state.at, seat=seat, move={"do": move}, result=result)

    def _showdown_winner(self, state: PokerState) -> int | None:
        """Return the seat that wins the showdown: a pair with the public card, else the higher card; None for a tie."""
        assert state.cards is not None
        one, two = (self._strength(card, state.public) for card in state.cards)
        return None if one == two else int(two > one)

    def _strength(self, card: int | None, public: int | None) -> tuple[bool, int]:
        assert card is not None
        rank = self.rank_of(card)
        return public is not None and rank == self.rank_of(public), rank

    def _next_hand(self, state: PokerState, winner: int | None, at: int) -> PokerState:
        lost = 0 if winner is None else state.paid[1 - winner]
        one = lost if winner == 0 else -lost
        chips = state.chips[0] + one, state.chips[1] - one
        return PokerState(at, state.hand + 1, chips, None, None, ("",), (ANTE, ANTE), (state.hand + 1) % 2)

    def returns(self, state: PokerState) -> tuple[int, int]:
        return state.chips

    def count_rounds(self, state: PokerState) -> tuple[int, int]:
        return state.hand, self.hands - state.hand

    @property
    def least_payoffs(self) -> tuple[int, int]:
        """The least payoff of each seat in a hand: the loss of the largest amount that a seat can put into the pot."""
        most = ANTE + self.max_bets_per_round * sum(self.stakes)
        return -most, -most

    def ranks(self, state: PokerState) -> tuple[int, ...]:
        one, two = state.chips
        return (1 + (one < two), 1 + (two < one))

    def view(self, wire: dict[str, Any], seat: int | None) -> dict[str, Any]:
        return wire if wire["cards"] is None else {**wire, "cards": _hide_cards(wire["cards"], seat)}

    def view_event(self, event: Event, seat: int | None) -> Event:
        if event.seat != CHANCE or event.move is None or "cards" not in event.move:
            return event
        return replace(event, move={"cards": _hide_cards(event.move["cards"], seat)})

    def encode_state(self, state: PokerState) -> dict[str, Any]:
        return {
            "hand": state.hand,
            "chips": list(state.chips),
            "cards": None if state.cards is None else list(state.cards),
            "public": state.public,
            "bets": list(state.bets),
            "paid": list(state.paid),
            "to_move": self.to_move(state),
            "ply": state.at,
        }

    def decode_state(self, wire: Mapping[str, Any]) -> PokerState:
        cards = wire["cards"]
        (won, lost), (one, two) = wire["chips"], wire["paid"]
        to_move = wire["to_move"]
        return PokerState(
            at=wire["ply"],
            hand=wire["hand"],
            chips=(won, lost),
            cards=None if cards is None else (cards[0], cards[1]),
            public=wire["public"],
            bets=tuple(wire["bets"]),
            paid=(one, two),
            seat=wire["hand"] % 2 if to_move in (None, CHANCE) else to_move,
        )

    def encode_move(self, move: str) -> dict[str, Any]:
        return {"do": move}

    def decode_move(self, wire: Any) -> str:
        if not isinstance(wire, Mapping) or wire.keys() != {"do"}:
            raise MalformedMove(f"a move looks like {MOVE_EXAMPLE}, not {short_repr(wire)}")
        if wire["do"] not in MOVES:
            raise MalformedMove(f"do is {short_repr(wire['do'])}: it is {list_choices(MOVES)}")
        return str(wire["do"])

    def draw_board(self, state: PokerState) -> str:
        lines = [f"{state.hand} of {self.hands} hands played, chips {state.chips[0]} and {state.chips[1]}"]
        if state.cards is not None:
            public = "" if state.public is None else f", public {self._format_card(state.public)}"
            lines.append(f"cards: {' '.join(map(self._format_card, state.cards))}{public}")
            lines.append(f"pot: {sum(state.paid)}, paid {state.paid[0]} and {state.paid[1]}")
        return "\n".join(lines)

    def _format_card(self, card: int | None) -> str:
        return "?" if card is None else self.ranks_of_cards[self.rank_of(card)]

    def notation(self, move: str) -> str:
        return move

    def parse_move(self, text: str) -> str:
        word = text.strip().casefold()
        found = [move for move in MOVES if word in (move, letter_of(move))]
        if not found:
            raise MalformedMove(f"{short_repr(text)} is not a move here: {list_choices(MOVES)}")
        return found[0]

    def describe_event(self, event: Event) -> str:
        if event.seat == CHANCE:
            move = event.move or {}
            if "public" in move:
                return f"public card {self._format_card(move['public'])}"
            return f"cards {' '.join(map(self._format_card, move['cards']))}"
        result = event.result
        if result is None:
            return ""
        cards = f"cards {' '.join(map(self._format_card, result['cards']))}, " if "cards" in result else ""
        if result["won"] is None:
            return f"{cards}shared"
        return f"{cards}seat {result['won']} wins {result['chips']}"


def letter_of(move: str) -> str:
    """Return the letter of a move. Check is `k`, because call begins with c, too."""
    return "k" if move == CHECK else move[0]


def _hand_result(winner: int | None, paid: Sequence[int]) -> dict[str, Any]:
    return {"won": winner, "chips": 0 if winner is None else paid[1 - winner]}


def _hide_cards(cards: Sequence[int], seat: int | None) -> list[int | None]:
    return [card if at == seat else None for at, card in enumerate(cards)]
