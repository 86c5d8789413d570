"""The worth of a new bot that replaces a recorded bot: how much better its results are than those of the recorded bot.
It is measured in one replayed match, and over many matches by kind of position.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from arena.rerun.fork import Continuation, RecordAgreement, SeatAction
from measuring.differences import NO_DIFFERENCE, Difference, mean_difference, sum_differences
from measuring.value_function import POINTS_UNIT, NoLuck, ValueFunction
from protocol.games.base import Game
from referee.record import Header

PAYOFF_UNIT = "payoff"
"""The unit of worths in games whose result is a payoff."""


class FirstDifference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first difference between a bot and a record: the `recorded` action and the bot's (`made`), after `moves`
    equal moves. If there is no difference, both actions are None.

    `kinds` has the kind of the position at the difference in each classification. `diverged` has the other known bots
    that differ from the record at an earlier ply: their names, each with this ply.
    """

    match: str
    game: str
    seat: int
    bot: str
    """The recorded name of the bot in the seat."""
    moves: int
    same_chance: bool
    ply: int | None = None
    recorded: str | None = None
    made: str | None = None
    kinds: Mapping[str, str] = {}
    diverged: Mapping[str, int] = {}


class Worth(FirstDifference, frozen=True, kw_only=True, omit_defaults=True):
    """The worth of the bot's first different action to its seat: the mean result after this action less the mean result
    after the recorded action. The means are over continuations.

    `new` and `old` are these two means. They are luck-adjusted if there is a `value` function; so is `worth`. `raw` is
    the worth without adjustment. `forfeits` has the number of each bot's forfeits in all continuations.
    """

    unit: str = POINTS_UNIT
    value: str | None = None
    continuations: int = 0
    old: float | None = None
    new: float | None = None
    worth: Difference = NO_DIFFERENCE
    raw: Difference = NO_DIFFERENCE
    forfeits: Mapping[str, int] = {}


class KindWorth(Struct, frozen=True, kw_only=True):
    """The worth of the new bot in the matches in which its first different action was in a position of one kind. `kind`
    is this kind, and `by` the name of the classification that it belongs to.

    `better` and `worse` count the matches whose 95 % interval shows that the new bot is better or worse. `worth` is the
    sum of the matches' worths.
    """

    by: str
    kind: str
    matches: int
    better: int
    worse: int
    worth: Difference


class TotalWorth(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The total worth of a new bot over matches of one game: how much more it scored than the bot that it replaced.
    `same` counts the matches in which both bots made the same moves.

    `worth` is the sum of the matches' worths. Its interval covers only chance in the continuations. `a_match` is the
    mean worth per match. Its interval also covers the choice of the matches, which are a sample, so `a_match` is None
    for a single match.
    """

    game: str
    bot: str
    matches: int
    same: int
    better: int
    worse: int
    unit: str
    worth: Difference
    a_match: Difference | None
    kinds: list[KindWorth]


def describe_difference(
    header: Header, seat: int, game: Game[Any, Any], agreement: RecordAgreement, diverged: Mapping[str, int]
) -> FirstDifference:
    """Describe how far a bot repeated the record of a match, and which bots in other seats differ from the record."""
    found = FirstDifference(
        match=header.match,
        game=header.game,
        seat=seat,
        bot=header.seats[seat].bot,
        moves=agreement.moves,
        same_chance=agreement.has_recorded_randomness,
    )
    fork = agreement.fork
    if fork is None:
        return found
    made = "plays on" if fork.new_action is None else _describe_action(fork.new_action, game)
    return replace(
        found,
        ply=fork.ply,
        recorded=_describe_action(fork.recorded_action, game),
        made=made,
        kinds=dict(fork.kinds),
        diverged=dict(diverged),
    )


def _describe_action(action: SeatAction, game: Game[Any, Any]) -> str:
    return game.notation(action.move) if action.out is None else f"leaves, {action.out}"


def measure_worth(
    first: FirstDifference, continuations: Sequence[Continuation], value: ValueFunction, game: Game[Any, Any]
) -> Worth:
    """Return the worth of the new bot's first different action, from at least two continuations. The worth is zero if
    no action differs.
    """
    told = asdict(first)
    unit = PAYOFF_UNIT if game.payoff_unit else POINTS_UNIT
    measured_by = None if value.name == NoLuck.name else value.name
    if first.ply is None:
        return Worth(**told, unit=unit, value=measured_by)
    olds = [each.old - each.old_luck for each in continuations]
    news = [each.new - each.new_luck for each in continuations]
    most = 0.0 if game.payoff_unit else 1.0

    def between(old: Sequence[float], new: Sequence[float]) -> Difference:
        return mean_difference([b - a for a, b in zip(old, new, strict=True)], most)

    return Worth(
        **told,
        unit=unit,
        value=measured_by,
        continuations=len(continuations),
        old=fmean(olds),
        new=fmean(news),
        worth=between(olds, news),
        raw=between([each.old for each in continuations], [each.new for each in continuations]),
        forfeits=Counter(bot for each in continuations for bot in each.forfeits),
    )


def total_worths(found: Iterable[Worth]) -> list[TotalWorth]:
    """Return the total worth of the new bot in each game, over all matches of the game."""
    by_game: defaultdict[str, list[Worth]] = defaultdict(list)
    for worth in found:
        by_game[worth.game].append(worth)
    return [_total_worth(game, worths) for game, worths in sorted(by_game.items())]


def _total_worth(game: str, worths: Sequence[Worth]) -> TotalWorth:
    means = [each.worth.mean for each in worths]
    return TotalWorth(
        game=game,
        bot=worths[0].bot,
        matches=len(worths),
        same=sum(each.ply is None for each in worths),
        better=_count_better(worths),
        worse=_count_worse(worths),
        unit=worths[0].unit,
        worth=sum_differences(each.worth for each in worths),
        a_match=mean_difference(means) if len(means) > 1 else None,
        kinds=_worth_by_kind(worths),
    )


def _worth_by_kind(worths: Iterable[Worth]) -> list[KindWorth]:
    groups: defaultdict[tuple[str, str], list[Worth]] = defaultdict(list)
    for worth in worths:
        for by, kind in worth.kinds.items():
            groups[by, kind].append(worth)
    order = list(dict.fromkeys(by for by, _ in groups))
    rows = [
        KindWorth(
            by=by,
            kind=kind,
            matches=len(group),
            better=_count_better(group),
            worse=_count_worse(group),
            worth=sum_differences(each.worth for each in group),
        )
        for (by, kind), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (order.index(row.by), -row.worth.mean))


def _count_better(worths: Iterable[Worth]) -> int:
    return sum(each.worth.low > 0 for each in worths)


def _count_worse(worths: Iterable[Worth]) -> int:
    return sum(each.worth.high < 0 for each in worths)
