"""Which kinds of positions cost a bot most, over many of its matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from arena.replay import grading
from arena.replay.grading import Graded, Grades, noise_threshold
from protocol.names import folded
from referee.in_process import NoEstimate
from referee.record import Record


class KindCost(Struct, frozen=True, kw_only=True):
    """The moves of a bot in positions of a `kind`, told apart `by` something; `mean` is what one gave away, `share` how
    much of all that was given away it is, None where that is nothing.
    """

    by: str
    kind: str
    moves: int
    mean: float
    share: float | None


class Costs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the moves of a bot gave away in a game: `exact` and `estimated` ones, the kinds that cost most first.

    An estimated loss below `noise` could not be told from chance; a mean of many is surer by the root of how many.
    """

    bot: str
    game: str
    matches: int
    exact: int
    estimated: int
    mean: float | None
    kinds: list[KindCost]
    estimate: str | None = None
    noise: float | None = None


def position_costs(bot: str, records: Iterable[Record], sims: int) -> list[Costs]:
    """What the bot's moves in these matches gave away, by game; matches of games that nobody can grade are left out.

    By so many simulations a move where a game is not solved.
    """
    found: dict[str, _Game] = {}
    for record in records:
        header = record.header
        seats = [seat for seat, player in enumerate(header.seats) if folded(player.bot) == folded(bot)]
        try:
            grades = grading.grade(record, sims=sims, seat=seats[0], with_luck=False)
        except NoEstimate:
            continue
        found.setdefault(header.game, _Game()).take(grades)
    return [game.costs(bot, name) for name, game in sorted(found.items())]


class _Game:
    """The bot's moves in a game so far."""

    def __init__(self) -> None:
        self._matches = 0
        self._exact: list[Graded] = []
        self._estimated: list[Graded] = []
        self._estimate: str | None = None

    def take(self, grades: Grades) -> None:
        """One match more."""
        self._matches += 1
        self._estimate = grades.estimate or self._estimate
        (self._estimated if grades.estimate else self._exact).extend(grades.moves)

    def costs(self, bot: str, game: str) -> Costs:
        """What they come to."""
        moves = [*self._exact, *self._estimated]
        total = sum(move.gave_away for move in moves)
        return Costs(
            bot=bot,
            game=game,
            matches=self._matches,
            exact=len(self._exact),
            estimated=len(self._estimated),
            mean=total / len(moves) if moves else None,
            kinds=_kinds(moves, total),
            estimate=self._estimate,
            noise=noise_threshold(self._estimated),
        )


def _kinds(moves: Iterable[Graded], total: float) -> list[KindCost]:
    lost: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for move in moves:
        for by, kind in move.kinds.items():
            lost[by, kind].append(move.gave_away)
    order = list(dict.fromkeys(by for by, _ in lost))
    rows = [
        KindCost(
            by=by,
            kind=kind,
            moves=len(given),
            mean=sum(given) / len(given),
            share=sum(given) / total if total > 0 else None,
        )
        for (by, kind), given in lost.items()
    ]
    return sorted(rows, key=lambda row: (order.index(row.by), -row.mean * row.moves))
