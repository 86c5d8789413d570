"""Records of games that do not come with bot-arena, made under rules that are gone afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from protocol.games.spec import GameSpec
from record_rows import Rows, rows_of
from referee.effects import Resignation
from referee_table import Table, header
from registered_games import registered

DIGEST = "ab" * 32
RULES = {
    "pig": "example_games:PIG.rules",
    "onecard": "example_games:ONE_CARD.rules",
    "twentyone": "example_games:TWENTY_ONE.rules",
    "bids": "referee_table:Bids",
}
"""The import paths of the rules."""
BOTS = {"twentyone": 3, "bids": 3}


@contextmanager
def known(name: str, version: str = "1", digest: str = DIGEST) -> Iterator[None]:
    """Let the arena have rules of a game."""
    with registered(GameSpec(name, "referee_table", RULES[name], version=version, digest=digest)):
        yield


def table_of(name: str, config: dict[str, Any] | None = None, *, rated: bool = False) -> Table:
    return Table(header=header(name, config, rated=rated, bots=("ann", "bob", "cas")[: BOTS.get(name, 2)]))


def play_on(table: Table) -> Table:
    """Play the last legal move until the end."""
    while not table.match.standing.current_course.is_over:
        table.play(table.match.standing.current_course.legal_moves(table.to_move)[0][-1])
    return table


def pig() -> Rows:
    """Play a rated match with dice, a strike in it, and an info."""
    with known("pig"):
        table = table_of("pig", rated=True).begin()
        table.play({"move": "hold"})
        table.play({"move": "roll"}, info={"depth": 2})
        while not table.match.standing.current_course.is_over:
            legal = table.match.standing.current_course.legal_moves(table.to_move)[0]
            table.play(legal[-1 if table.match.standing.current_course.state.state.at_risk > 9 else 0])
        return rows_of(table.packed())


def onecard() -> Rows:
    """Play a match with hidden cards and payoffs."""
    with known("onecard"):
        return rows_of(play_on(table_of("onecard").begin()).packed())


def twentyone() -> Rows:
    """Play a match of three seats, of which one leaves."""
    with known("twentyone"):
        table = table_of("twentyone", rated=True).begin()
        table.play({"move": 2})
        table.send(Resignation(2))
        return rows_of(play_on(table).packed())


def bids() -> Rows:
    """Play a match of simultaneous rounds, whose deals have a form of their own."""
    with known("bids"):
        table = table_of("bids").begin()
        table.play({"bid": 99})
        return rows_of(play_on(table).packed())


MATCHES: dict[str, Callable[[], Rows]] = {made.__name__: made for made in (pig, onecard, twentyone, bids)}
