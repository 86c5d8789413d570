"""Equilibria of poker: Kuhn's as it is known, Leduc's from a table that `arena-bot solve` made.

A hand is that of seat 0 moving first; where seat 1 does, the seats change places.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, cast

from machine.exact.hand_solving import Knowledge, Number, Strategy
from machine.output_file import write_output
from machine.text_encoding import decode
from protocol.errors import UsageFault
from protocol.games import load
from protocol.games.base import Game
from protocol.games.poker import ANTE, Poker, Table

GAMES = ("kuhn", "leduc")
"""Those that have one."""
KUHN_VALUE = Fraction(-1, 18)
"""What a hand is worth to who moves first."""
LEDUC = Path(__file__).with_name("leduc.json")
PARTS = 1_000_000
"""A probability in a table is a whole number of these."""
_THIRD = Fraction(1, 3)
_NONE = "-"
"""A card that is not there, in a table."""


def hand_of(game: str) -> tuple[Poker, Table]:
    """The rules of one hand, and the state before it is dealt."""
    rules = load(game, {"hands": 1})
    assert isinstance(rules, Poker)
    return rules, Table(0, 0, (0, 0), None, None, ("",), (ANTE, ANTE), 0)


@cache
def equilibrium_of(game: str) -> Strategy:
    """The strategy of both seats. Raises `UsageFault` for a game without one."""
    if game not in GAMES:
        raise UsageFault(f"there is no equilibrium of {game}: {' and '.join(GAMES)} have one")
    return _kuhn() if game == "kuhn" else read_table(LEDUC, *hand_of(game))[0]


def knowledge(rules: Game[Any, Any], state: Table) -> Knowledge:
    """What the seat to move knows, as strategies have it, in any hand of a match."""
    return state.seat ^ state.hand % 2, rules.information(state, state.seat)


def _kuhn() -> Strategy:
    """Kuhn (1950), of the equilibria the one in which who moves first bluffs most. By rank: jack, queen, king."""
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
    """A strategy as JSON, with the facts that are to be known of it. Raises `OSError`."""
    rows = {_written(rules, key): _rounded(chances) for key, chances in strategy.items()}
    head = {"game": rules.name, **facts, "parts": PARTS}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(rows.items()))
    write_output(path, f'{json.dumps(head)[:-1]}, "strategy": {{\n{lines}\n}}}}\n'.encode())


def read_table(path: Path, rules: Poker, start: Table) -> tuple[Strategy, dict[str, Any]]:
    """The strategy that `write_table` left, and what is said of it. Raises `UsageFault` for what is none."""
    try:
        head = json.loads(decode(path.read_bytes()))
        rows = head.pop("strategy")
        if head["game"] != rules.name or head["parts"] != PARTS:
            raise ValueError(head["game"])
        strategy: dict[Knowledge, tuple[float, ...]] = {}
        for key, count in _acts(rules, start).items():
            row = rows[_written(rules, key)]
            if len(row) != count or sum(row) != PARTS or min(row) < 0:
                raise ValueError(row)
            strategy[key] = tuple(each / PARTS for each in row)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise UsageFault(f"{path} is no table of {rules.name}: {exc!r}") from exc
    return strategy, head


def decisions_of(rules: Poker, start: Table) -> dict[Knowledge, list[Table]]:
    """Everything that a seat may know when it is to move, with the states in which it does."""
    found: dict[Knowledge, list[Table]] = {}
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if rules.to_move(state) is None:
            continue
        moves = rules.legal_moves(state)
        if moves:
            found.setdefault(knowledge(rules, state), []).append(state)
            waiting += [after for move in moves for _, after in rules.outcomes(state, move)]
        else:
            waiting += [after for _, after in rules.chance_outcomes(state)]
    return found


def _acts(rules: Poker, start: Table) -> dict[Knowledge, int]:
    """How many moves there are in each of them."""
    return {key: len(rules.legal_moves(states[0])) for key, states in decisions_of(rules, start).items()}


def _written(rules: Poker, key: Knowledge) -> str:
    """`1 K J kb/r`: the seat, its rank, the public one, and what was bet."""
    seat, known = key
    own, public, bets = cast(tuple[int | None, int | None, tuple[str, ...]], known)
    cards = (_NONE if rank is None else rules.ranks_of_cards[rank] for rank in (own, public))
    return " ".join((str(seat), *cards, "/".join(bets))).rstrip()


def _rounded(chances: Sequence[Number]) -> list[int]:
    """In whole parts that sum to all; the likeliest takes what is left over."""
    parts = [round(PARTS * float(chance)) for chance in chances]
    parts[parts.index(max(parts))] += PARTS - sum(parts)
    return parts
