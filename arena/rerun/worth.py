"""What another bot in a seat was worth: in one match played again, and over many, by kind of position. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from arena.rerun.fork import Action, Continuation, Followed
from measuring.differences import NO_DIFFERENCE, Difference, mean_difference, sum_of
from measuring.value_function import POINTS, NoLuck, ValueFunction
from protocol.games.base import Game
from referee.record import Header

PAYOFF = "payoff"


class FirstDifference(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far a bot went along with a record: its `moves` that are as recorded, and what was `recorded` and `made` at
    the ply where it first did otherwise; None where it never did. The kinds are those of the position there.

    `diverged` are bots of the match whose programs, which play on, make other moves than theirs in the record, and the
    plies where they first do.
    """

    match: str
    game: str
    seat: int
    bot: str
    """Of the record."""
    moves: int
    same_chance: bool
    ply: int | None = None
    recorded: str | None = None
    made: str | None = None
    kinds: Mapping[str, str] = {}
    diverged: Mapping[str, int] = {}


class Worth(FirstDifference, frozen=True, kw_only=True, omit_defaults=True):
    """What the difference was worth to the seat: the mean of `new` less that of `old` over so many continuations, less
    luck by the `value` where there is one. `raw` has luck left in. `forfeits` says how many of both were forfeited by
    whom.
    """

    unit: str = POINTS
    value: str | None = None
    continuations: int = 0
    old: float | None = None
    new: float | None = None
    worth: Difference = NO_DIFFERENCE
    raw: Difference = NO_DIFFERENCE
    forfeits: Mapping[str, int] = {}


class KindWorth(Struct, frozen=True, kw_only=True):
    """The matches that went apart in positions of a `kind`, told apart `by` something: in how many the new bot is
    better or worse by the match's own 95 % interval, and the `worth` of all.
    """

    by: str
    kind: str
    matches: int
    better: int
    worse: int
    worth: Difference


class TotalWorth(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a bot was worth in the place of another over matches of a game, of which so many are the `same` to the end.

    `worth` is the sum for these matches, whose interval is of the continuations; `a_match` the mean, whose interval is
    of matches, of which these are a sample: None with one.
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


def described(
    header: Header, seat: int, game: Game[Any, Any], followed: Followed, diverged: Mapping[str, int]
) -> FirstDifference:
    """How far a bot went along with the record of a header, in numbers and words, and which others did not."""
    found = FirstDifference(
        match=header.match,
        game=header.game,
        seat=seat,
        bot=header.seats[seat].bot,
        moves=followed.moves,
        same_chance=followed.same_chance,
    )
    fork = followed.fork
    if fork is None:
        return found
    made = "plays on" if fork.made is None else _told(fork.made, game)
    return replace(
        found,
        ply=fork.ply,
        recorded=_told(fork.recorded, game),
        made=made,
        kinds=dict(fork.kinds),
        diverged=dict(diverged),
    )


def _told(action: Action, game: Game[Any, Any]) -> str:
    return game.notation(action.move) if action.out is None else f"leaves, {action.out}"


def worth_of(
    first: FirstDifference, continuations: Sequence[Continuation], value: ValueFunction, game: Game[Any, Any]
) -> Worth:
    """What the first difference was worth by two continuations or more; by none where there is no difference."""
    told = asdict(first)
    unit = PAYOFF if game.payoff_unit else POINTS
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


def totals(found: Iterable[Worth]) -> list[TotalWorth]:
    """The sums over matches, by game."""
    by_game: defaultdict[str, list[Worth]] = defaultdict(list)
    for worth in found:
        by_game[worth.game].append(worth)
    return [_total(game, worths) for game, worths in sorted(by_game.items())]


def _total(game: str, worths: Sequence[Worth]) -> TotalWorth:
    means = [each.worth.mean for each in worths]
    return TotalWorth(
        game=game,
        bot=worths[0].bot,
        matches=len(worths),
        same=sum(each.ply is None for each in worths),
        better=_better(worths),
        worse=_worse(worths),
        unit=worths[0].unit,
        worth=sum_of(each.worth for each in worths),
        a_match=mean_difference(means) if len(means) > 1 else None,
        kinds=_kinds(worths),
    )


def _kinds(worths: Iterable[Worth]) -> list[KindWorth]:
    """By what tells them apart, where the new bot gains most first."""
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
            better=_better(group),
            worse=_worse(group),
            worth=sum_of(each.worth for each in group),
        )
        for (by, kind), group in groups.items()
    ]
    return sorted(rows, key=lambda row: (order.index(row.by), -row.worth.mean))


def _better(worths: Iterable[Worth]) -> int:
    return sum(each.worth.low > 0 for each in worths)


def _worse(worths: Iterable[Worth]) -> int:
    return sum(each.worth.high < 0 for each in worths)
