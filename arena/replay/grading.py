"""Grades of moves: how much worse each move of a match was than the best move, and which kinds of positions cost a bot
most over many matches. Grades are exact in solved games and estimated in all others.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Any, Protocol

from msgspec import Struct

from arena.replay.luck_report import record_luck
from machine.exact.graders import grader_of, has_grader, unit_of
from measuring.luck import Luck
from measuring.position_kinds import classifier_of
from measuring.scores import Z95
from protocol.bot_launch import APPRAISER_ENTRY_POINT_GROUP
from protocol.errors import UsageFault
from protocol.games import is_known_game, missing_rules_message
from protocol.games.base import Game
from referee.in_process import CannotEstimate, MoveEvaluation, MoveEvaluator
from referee.record import Record
from referee.replay import ReplayedMove, iter_moves, replay


class Graded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A move and its grade. `best` equals `move` if no move is better. `notation` and `best_notation` are the two moves
    as people write them. `kinds` are the kinds of the position, by classification.

    In an estimate, `best` is the move that the search prefers. `gave_away`, the value of `best` less that of `move`, is
    negative if `move` looks better. `error` is its standard error.
    """

    ply: int
    seat: int
    bot: str
    move: dict[str, Any]
    notation: str
    value: float
    best: dict[str, Any]
    """A best move if the grade is exact. The move that the search prefers if the grade is estimated by simulations."""
    best_notation: str
    best_value: float
    gave_away: float
    """`best_value` less `value`. If estimated, it is negative if the simulations give `move` the higher value."""
    kinds: dict[str, str] = {}
    """The kind of the position in each category, such as `{"phase": "attack"}`."""
    error: float | None = None
    """The standard error of `gave_away`; None if the grade is exact or `best` is `move`."""


class Mark(Struct, frozen=True, kw_only=True):
    """The grade of a seat: its number of graded moves and its mean loss per move, which is None without moves."""

    seat: int
    bot: str
    moves: int
    mean: float | None


class Grades(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match and its grades, and its luck in games with dice.

    `estimate` describes the estimator. A loss below `noise` may be chance. `unit` is the unit of values and losses,
    such as chips of the hand; None if they are expected results.
    """

    match: str
    game: str
    moves: list[Graded]
    seats: list[Mark]
    luck: Luck | None = None
    estimate: str | None = None
    noise: float | None = None
    unit: str | None = None


class EstimateCache(Protocol):
    """A cache of the estimated moves of one match."""

    def get(self, ply: int) -> Graded | None:
        """Return the cached move at a ply; None if it is not cached."""

    def add(self, graded: Graded) -> None:
        """Add a move to the cache."""


OpenEstimateCache = Callable[[Record, str], EstimateCache]
"""A function that opens the cache of a record's estimates. Its second argument describes the estimator."""


def grade_match(
    record: Record,
    *,
    sims: int | None = None,
    seat: int | None = None,
    with_luck: bool = True,
    on_moves: Callable[[Iterator[Graded]], Iterable[Graded]] = lambda moves: moves,
    open_cache: OpenEstimateCache | None = None,
) -> Grades:
    """Return the grades of the moves in a match, and its luck.

    With `sims`, moves of unsolved games are estimated with this many simulations each. With `seat`, only the moves of
    that seat are graded. `on_moves` gets the moves as an iterator while they are graded, to show progress. `open_cache`
    caches estimates. Raise `UsageFault` if the game has no grader, and `BadRecord` if the record is wrong.
    """
    header = record.header
    if not is_known_game(header.game):
        raise CannotEstimate(f"{header.match} has no grades: {missing_rules_message(header.game)}")
    lines = replay(record)
    _, course = next(lines)
    judge, estimate = _find_judge(course.game, header.match, sims)
    kinds = classifier_of(course.game)
    chosen = (moved for moved in iter_moves(course, lines) if seat in (None, moved.event.seat))
    kept = open_cache(record, estimate) if open_cache is not None and estimate is not None else None

    def grades() -> Iterator[Graded]:
        for moved in chosen:
            known = None if kept is None else kept.get(moved.event.ply)
            found = known or _make_graded(record, course.game, moved, judge(moved), kinds(moved.before))
            if kept is not None and known is None:
                kept.add(found)
            yield found

    found = list(on_moves(grades()))
    marks = [_make_mark(seat, player.bot, found) for seat, player in enumerate(header.seats)]
    return Grades(
        match=header.match,
        game=header.game,
        moves=found,
        seats=marks,
        luck=record_luck(record) if with_luck else None,
        estimate=estimate,
        noise=noise_threshold(found) if estimate else None,
        unit=unit_of(course.game),
    )


def can_estimate(game: str) -> bool:
    """Return whether an installed package can estimate moves of this game."""
    return any(offer.load().supports(game) for offer in entry_points(group=APPRAISER_ENTRY_POINT_GROUP))


def noise_threshold(moves: Iterable[Graded]) -> float | None:
    """Return the loss above which a move was bad with a certainty of 95 %; None if no move was estimated."""
    errors = [move.error for move in moves if move.error]
    return Z95 * math.sqrt(sum(error**2 for error in errors) / len(errors)) if errors else None


def _find_judge(
    game: Game[Any, Any], match: str, sims: int | None
) -> tuple[Callable[[ReplayedMove], MoveEvaluation], str | None]:
    """Return the function that evaluates moves, and the description of its estimator (None if it is exact).

    Moves of unsolved games are estimated with `sims` simulations each. Raise `UsageFault` for an unsolved game if
    `sims` is None or no estimator is installed.
    """
    if sims is None or has_grader(game):
        judge = grader_of(game)
        return lambda moved: MoveEvaluation(*judge(moved.before, moved.move), standard_error=0.0), None
    offers = entry_points(group=APPRAISER_ENTRY_POINT_GROUP)
    if not offers:
        raise UsageFault(
            f"no installed package can estimate moves: none has an entry point in {APPRAISER_ENTRY_POINT_GROUP}"
        )
    evaluator: MoveEvaluator = next(iter(offers)).load()(game, sims, match)
    return lambda moved: evaluator.evaluate_move(moved.before, moved.move, moved.event.ply), evaluator.description


def _make_graded(
    record: Record, game: Game[Any, Any], moved: ReplayedMove, evaluation: MoveEvaluation, kinds: Mapping[str, str]
) -> Graded:
    event = moved.event
    return Graded(
        ply=event.ply,
        seat=event.seat,
        bot=record.header.seats[event.seat].bot,
        move=game.encode_move(moved.move),
        notation=game.notation(moved.move),
        value=evaluation.value,
        best=game.encode_move(evaluation.best),
        best_notation=game.notation(evaluation.best),
        best_value=evaluation.best_value,
        gave_away=evaluation.best_value - evaluation.value,
        kinds=dict(kinds),
        error=evaluation.standard_error or None,
    )


def _make_mark(seat: int, bot: str, moves: Sequence[Graded]) -> Mark:
    lost = [move.gave_away for move in moves if move.seat == seat]
    mean = sum(lost) / len(lost) if lost else None
    return Mark(seat=seat, bot=bot, moves=len(lost), mean=mean)


class KindCost(Struct, frozen=True, kw_only=True):
    """The cost of a bot's moves in positions of a `kind`, which belongs to the classification `by`. `mean` is the mean
    loss per move. `share` is the fraction of the bot's losses in all kinds of `by`; None if it lost nothing.
    """

    by: str
    kind: str
    moves: int
    mean: float
    share: float | None


class Costs(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The losses of a bot's moves in a game. `exact` and `estimated` count its moves that were graded exactly and by
    estimates. `kinds` has the costliest kinds of positions first.

    An estimated loss below `noise` may be chance. For the mean loss of n moves, the threshold is √n times smaller.
    `unit` is as in `Grades`.
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
    unit: str | None = None


def position_costs(
    bot: str,
    records: Iterable[tuple[Record, int]],
    sims: int,
    *,
    on_grades: Callable[[Grades], object] = lambda grades: None,
    open_cache: OpenEstimateCache | None = None,
) -> list[Costs]:
    """Return the losses of a bot's moves in some matches, by game. Games that can be neither graded nor estimated are
    left out.

    Each record comes with the bot's seat, because the bot may have had another name. Moves of unsolved games are
    estimated with `sims` simulations each; `open_cache` caches estimates. `on_grades` gets the grades of each match.
    """
    found: defaultdict[str, list[Grades]] = defaultdict(list)
    for record, seat in records:
        try:
            grades = grade_match(record, sims=sims, seat=seat, with_luck=False, open_cache=open_cache)
        except CannotEstimate:
            continue
        on_grades(grades)
        found[record.header.game].append(grades)
    return [_sum_costs(bot, game, graded) for game, graded in sorted(found.items())]


def _sum_costs(bot: str, game: str, graded: Sequence[Grades]) -> Costs:
    estimates = [grades.estimate for grades in graded if grades.estimate]
    exact = [move for grades in graded if not grades.estimate for move in grades.moves]
    estimated = [move for grades in graded if grades.estimate for move in grades.moves]
    moves = [*exact, *estimated]
    total = sum(move.gave_away for move in moves)
    return Costs(
        bot=bot,
        game=game,
        matches=len(graded),
        exact=len(exact),
        estimated=len(estimated),
        mean=total / len(moves) if moves else None,
        kinds=_costs_by_kind(moves, total),
        estimate=estimates[-1] if estimates else None,
        noise=noise_threshold(estimated),
        unit=graded[0].unit,
    )


def _costs_by_kind(moves: Iterable[Graded], total: float) -> list[KindCost]:
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
