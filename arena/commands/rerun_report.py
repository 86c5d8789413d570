"""Prints the results of `arena replay rerun`, for one match or for many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from arena.commands.output import format_table, terminal_columns
from arena.replay.luck_report import format_signed
from arena.rerun.lineup import Lineup
from arena.rerun.worth import PAYOFF_UNIT, TotalWorth, Worth
from machine.console import Console
from machine.terminal import say
from measuring.differences import Difference
from protocol.display import format_count
from referee.record import Record

MAX_LISTED = 3
"""Maximum number of matches listed because the new bot gained most in them. The same maximum holds for its largest
losses.
"""
BOTH_BOTS_CONTINUED_NOTE = "each played on after its own move: that is what the new bot in its place was worth"
"""The note of a report if each move was followed by the bot that chose it. The new bot played on after its own move,
and the replaced bot after the recorded move.
"""
MOVE_ALONE_NOTE = "that is what the move alone was worth"
"""The note of a report if the new bot played on after both its own move and the recorded move. Then the two
continuations differ only in the move, not in the bot.
"""


def print_one(worth: Worth, bot: str, lineup: Lineup, record: Record) -> None:
    """Print how much better or worse the new bot did in one match than the bot in whose place it played."""
    console = Console(width=terminal_columns())
    came = _describe_result(record.footer.ranks, worth.seat)
    console.print(f"{worth.match}: {worth.game}, seat {worth.seat}: {bot} in place of {worth.bot}, which {came}")
    moves = format_count(worth.moves, "move", "moves")
    if worth.ply is None:
        console.print(f"every move the same, {moves}: the difference is 0")
        return
    same = f"{moves} as recorded, then another one" if worth.moves else "another one at once"
    console.print(f"{same}, at ply {worth.ply}:")
    rows = [("recorded", worth.recorded, f"{worth.old:z.3f}"), ("new", worth.made, f"{worth.new:z.3f}")]
    say(format_table(("", "move", worth.unit), rows, wrapped_column=1, left_columns=(0,), width=terminal_columns()))
    console.print(f"worth {format_difference(worth.worth)} {worth.unit}, {_describe_method([worth])}")
    if worth.value is not None:
        console.print(f"with luck left in {format_difference(worth.raw)}")
    for line in (*_describe_players(worth.seat, lineup), *_find_caveats([worth])):
        console.print(line)


def _describe_method(worths: Sequence[Worth]) -> str:
    """Return in words how the difference between the two bots was measured in these matches of one game."""
    values = sorted({each.value for each in worths if each.value is not None})
    luck = f", less luck by {' or '.join(values)}" if values else ""
    summed = ", summed over the rounds of a match" if worths[0].unit == PAYOFF_UNIT else ""
    return f"by {worths[0].continuations} continuations each with the same dice{luck}{summed}"


def _describe_players(seat: int, lineup: Lineup) -> Iterator[str]:
    for at, bot in enumerate(lineup.new):
        if at != seat:
            yield f"seat {at}, {bot.name}: {lineup.others[at]}"
        elif lineup.old is not None:
            yield f"seat {at}, {bot.name} as it was: {lineup.old_description}"
    yield _describe_move_alone(lineup.new[seat].name) if lineup.old is None else BOTH_BOTS_CONTINUED_NOTE


def _describe_move_alone(name: str) -> str:
    return f"the new bot played both on, as the program of {name} is not known (--old BOT names it): {MOVE_ALONE_NOTE}"


def _find_caveats(worths: Sequence[Worth]) -> Iterator[str]:
    many = len(worths) > 1
    unknown = sum(not each.same_chance for each in worths)
    if unknown:
        where = f"in {format_count(unknown, 'match', 'matches')} " if many else ""
        yield f"{where}the random seed of {worths[0].bot} is unknown: by chance alone its moves may differ"
    diverged: defaultdict[str, list[Worth]] = defaultdict(list)
    for each in worths:
        for bot in each.diverged:
            diverged[bot].append(each)
    for bot, found in diverged.items():
        where = (
            f"in {format_count(len(found), 'match', 'matches')}, as in {found[0].match}" if many else "in the record"
        )
        why = "it plays at random or by the clock, or it is another program"
        yield f"{bot} moves differently {where}, at ply {found[0].diverged[bot]}: {why}"
    games = sum(each.continuations for each in worths)
    for bot, count in sum((Counter(each.forfeits) for each in worths), Counter()).items():
        of = f"{format_count(count, 'game', 'games')} of {games} continuations each"
        yield f"{bot} forfeited {of}: standard error says why"


def print_total(total: TotalWorth, worths: Sequence[Worth], bot: str, *, by_outcome: bool) -> None:
    """Print how much better the new bot did, in all matches of a game, than the bots that it replaced.

    With `by_outcome`, print a warning that the matches were selected by their outcome.
    """
    console = Console(width=terminal_columns())
    matches = format_count(total.matches, "match", "matches")
    console.print(f"{total.game}, {bot} in place of {total.bot}: {matches}, {total.same} of them the same to the end")
    if total.same == total.matches:
        console.print("the difference is 0")
        return
    apart = sorted((each for each in worths if each.ply is not None), key=lambda each: -each.worth.mean)
    console.print(f"worth {format_difference(total.worth)} {total.unit} in all, {_describe_method(apart)}")
    console.print(f"each by its own 95 % interval: better in {total.better}, worse in {total.worse}")
    if by_outcome:
        console.print(f"these matches were chosen by how they ended: that is no measure of {bot} against {total.bot}")
    elif total.a_match is not None:
        console.print(f"a match {format_difference(total.a_match)}, as a sample of such matches")
    if total.kinds:
        headers = ("by", "kind of position", "matches", "better", "worse", "worth", "95 %")
        rows = [
            (row.by, row.kind, row.matches, row.better, row.worse, format_signed(row.worth.mean), _interval(row.worth))
            for row in total.kinds
        ]
        say("\n" + format_table(headers, rows, wrapped_column=1, left_columns=(0,), width=terminal_columns()))
    most = [each for each in apart[:MAX_LISTED] if each.worth.mean > 0]
    least = [each for each in apart[-MAX_LISTED:] if each.worth.mean < 0]
    if most or least:
        shown = [
            (each.match, each.ply, each.recorded, each.made, format_signed(each.worth.mean)) for each in (*most, *least)
        ]
        headers_of_one = ("match", "ply", "recorded", "new", "worth")
        listed = f"of {format_count(len(apart), 'match', 'matches')} that went apart"
        console.print(f"\nmost gained and most lost, {len(shown)} {listed} (--json FILE has all):")
        say(format_table(headers_of_one, shown, wrapped_column=2, left_columns=(0, 3), width=terminal_columns()))


def print_programs(lineups: Sequence[tuple[Lineup, int]], worths: Sequence[Worth]) -> None:
    """Print which programs played the continuations, what the measured differences mean, and reasons to doubt them."""
    console = Console(width=terminal_columns())
    others = [f"{lineup.new[at].name}: {program}" for lineup, _ in lineups for at, program in lineup.others.items()]
    olds = [
        f"{lineup.new[seat].name} as it was: {lineup.old_description}"
        for lineup, seat in lineups
        if lineup.old_description
    ]
    for line in dict.fromkeys((*others, *olds)):
        console.print(line)
    alone = sum(lineup.old is None for lineup, _ in lineups)
    if alone < len(lineups):
        console.print(BOTH_BOTS_CONTINUED_NOTE)
    if alone:
        where = "" if alone == len(lineups) else f"in {format_count(alone, 'match', 'matches')} "
        console.print(f"{where}{_describe_move_alone(lineups[0][0].new[lineups[0][1]].name)}")
    for line in _find_caveats(worths):
        console.print(line)


def format_difference(difference: Difference) -> str:
    """Format a difference with its 95 % interval, like `+0.243 (+0.221 to +0.265)`.

    A difference without an error has no interval.
    """
    mean = format_signed(difference.mean)
    return f"{mean} ({_interval(difference)})" if difference.error else mean


def _interval(difference: Difference) -> str:
    return f"{format_signed(difference.low)} to {format_signed(difference.high)}" if difference.error else ""


def _describe_result(ranks: Sequence[int], seat: int) -> str:
    rank = ranks[seat]
    if len(ranks) > 2:
        return f"came in place {rank} of {len(ranks)}"
    return "lost" if rank == 2 else "won" if ranks.count(1) == 1 else "drew"
