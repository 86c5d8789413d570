"""Equilibria of poker: Kuhn's in closed form, Leduc's from a table made by `arena-bot solve`.

Strategies are for hands in which seat 0 moves first; in other hands the seats swap.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, cast

from games.poker.rules import ANTE, Poker, PokerState
from machine.exact.hand_solving import Knowledge, Number, Strategy
from machine.output_file import write_output
from machine.text_encoding import decode
from protocol.errors import UsageFault
from protocol.games import load_game
from protocol.games.base import Game

SOLVED_GAMES = ("kuhn", "leduc")
"""The games whose equilibrium this module knows."""
KUHN_VALUE = Fraction(-1, 18)
"""The expected chips won in a hand of Kuhn poker by the player who moves first, in equilibrium."""
LEDUC_FILE = Path(__file__).with_name("leduc.json")
"""The file with the table of the equilibrium of Leduc poker."""
PROBABILITY_UNITS = 1_000_000
"""The integer that stands for probability 1 in a file with a strategy."""
_THIRD = Fraction(1, 3)
"""The probability of a bluff in Kuhn poker."""
_MISSING_CARD_SYMBOL = "-"
"""The symbol for a card that has not been dealt, in a file with a strategy."""


def single_hand(game: str) -> tuple[Poker, PokerState]:
    """Return the rules of a match that has a single hand, and the state before its cards are dealt."""
    rules = load_game(game, {"hands": 1})
    assert isinstance(rules, Poker)
    return rules, PokerState(0, 0, (0, 0), None, None, ("",), (ANTE, ANTE), 0)


@cache
def equilibrium_of(game: str) -> Strategy:
    """Return the equilibrium strategy of both seats. Raise `UsageFault` for a game without one."""
    if game not in SOLVED_GAMES:
        raise UsageFault(f"no equilibrium of {game} is known: {' and '.join(SOLVED_GAMES)} have one")
    return _kuhn() if game == "kuhn" else read_table(LEDUC_FILE, *single_hand(game))[0]


def knowledge_of(rules: Game[Any, Any], state: PokerState) -> Knowledge:
    """Return what the seat to move knows, as a key of a strategy. It is valid in any hand of a match."""
    return state.seat ^ state.hand % 2, rules.information_set(state, state.seat)


def _kuhn() -> Strategy:
    """Return the equilibrium of Kuhn poker (1950) in which the first player bluffs most. Ranks are J, Q and K."""
    check, bet = (1, 0), (0, 1)
    bluff = (1 - _THIRD, _THIRD)
    acts: dict[tuple[int, str], tuple[tuple[Number, Number], ...]] = {
        (0, ""): (bluff, check, bet),
        (1, "k"): (bluff, check, bet),
        (1, "b"): (check, bluff, bet),  # to fold and to call
        (0, "kb"): (check, (_THIRD, 1 - _THIRD), bet),
    }
    return {
        (seat, (rank, None, (bets,))): tuple(Fraction(chance) for chance in chances)
        for (seat, bets), by_rank in acts.items()
        for rank, chances in enumerate(by_rank)
    }


def write_table(path: Path, rules: Poker, strategy: Strategy, facts: Mapping[str, float]) -> None:
    """Write a strategy as JSON, with `facts` in its header. Raise `OSError` if that fails."""
    rows = {_format_key(rules, key): _round_probabilities(chances) for key, chances in strategy.items()}
    head = {"game": rules.name, **facts, "parts": PROBABILITY_UNITS}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(rows.items()))
    write_output(path, f'{json.dumps(head)[:-1]}, "strategy": {{\n{lines}\n}}}}\n'.encode())


def read_table(path: Path, rules: Poker, start: PokerState) -> tuple[Strategy, dict[str, Any]]:
    """Return the strategy and the header that `write_table` wrote. Raise `UsageFault` if the file is invalid."""
    try:
        head = json.loads(decode(path.read_bytes()))
        rows = head.pop("strategy")
        if head["game"] != rules.name or head["parts"] != PROBABILITY_UNITS:
            raise ValueError(head["game"])
        strategy: dict[Knowledge, tuple[float, ...]] = {}
        for key, count in _count_moves(rules, start).items():
            row = rows[_format_key(rules, key)]
            if len(row) != count or sum(row) != PROBABILITY_UNITS or min(row) < 0:
                raise ValueError(row)
            strategy[key] = tuple(each / PROBABILITY_UNITS for each in row)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise UsageFault(f"{path} is not a table of {rules.name}: {exc!r}") from exc
    return strategy, head


def decisions_of(rules: Poker, start: PokerState) -> dict[Knowledge, list[PokerState]]:
    """Return every decision of a game: the information sets in which a seat has to move, each with its states."""
    found: dict[Knowledge, list[PokerState]] = {}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if rules.to_move(state) is None:
            continue
        moves = rules.legal_moves(state)
        if moves:
            found.setdefault(knowledge_of(rules, state), []).append(state)
            waiting += [after for move in moves for _, after in rules.outcomes(state, move)]
        else:
            waiting += [after for _, after in rules.chance_outcomes(state)]
    return found


def _count_moves(rules: Poker, start: PokerState) -> dict[Knowledge, int]:
    return {key: len(rules.legal_moves(states[0])) for key, states in decisions_of(rules, start).items()}


def _format_key(rules: Poker, key: Knowledge) -> str:
    """Format a key of a strategy as `1 K J kb/r`: seat, own rank, public rank, bets."""
    seat, known = key
    own, public, bets = cast(tuple[int | None, int | None, tuple[str, ...]], known)
    cards = (_MISSING_CARD_SYMBOL if rank is None else rules.ranks_of_cards[rank] for rank in (own, public))
    return " ".join((str(seat), *cards, "/".join(bets))).rstrip()


def _round_probabilities(chances: Sequence[Number]) -> list[int]:
    """Convert probabilities to integers that sum to `PROBABILITY_UNITS`. The largest takes the rounding errors."""
    parts = [round(PROBABILITY_UNITS * float(chance)) for chance in chances]
    parts[parts.index(max(parts))] += PROBABILITY_UNITS - sum(parts)
    return parts
