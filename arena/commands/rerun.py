"""`arena replay rerun`: replays matches with a new bot in one seat, and measures how much better the new bot does."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.json import encode

from arena.commands.matches import Selection, iter_matches, search_of
from arena.commands.output import write_document
from arena.commands.progress import track_progress
from arena.commands.replay import load, read, read_stored_record
from arena.commands.rerun_report import print_one, print_programs, print_total
from arena.commands.tournament_options import MAX_JOBS, check_writable
from arena.rerun.lineup import BotResolver, Lineup
from arena.rerun.workers import RerunReply, RerunTask, run_tasks
from arena.rerun.worth import Worth, measure_worth, total_worths
from arena.store.database import DatabaseNotFound
from arena.store.store import Reader, open_to_read
from arena.store.tournament_state import TournamentOrigin, tournament_origin
from machine.cores import warn_of_excess
from machine.terminal import say
from measuring.value_registry import load_value
from protocol.bot_launch import bot_name_of
from protocol.display import format_count
from protocol.errors import UsageFault
from protocol.games import shared_game
from protocol.names import fold_name
from protocol.reasons import VOID
from referee import record_reader
from referee.record import Header, Record
from referee.result import Result

MIN_CONTINUATIONS, MAX_CONTINUATIONS = 2, 100_000
"""The limits of the number of continuations of a match that are played after each of the two compared moves."""
CONTINUATIONS_PER_TASK = 10
"""Number of continuations of a match that a worker plays per task. An interrupt loses those of unfinished tasks."""


class RerunOptions(Struct, frozen=True, kw_only=True):
    """The options of `arena replay rerun` as the user gave them.

    Either `target` names one match, or `selection` selects matches of a bot.
    """

    database: str
    target: str | None
    bot: str
    selection: Selection
    limit: int | None
    seat: str | None
    old: str | None
    opponents: Sequence[str]
    stand_in: str | None
    continuations: int
    seed: str | None
    jobs: int
    value: str | None
    to_json: Path | None


class MatchRerun(NamedTuple):
    """A match to replay: the seat that the new bot takes, and the programs that continue the match."""

    header: Header
    seat: int
    lineup: Lineup

    def task(self, body: bytes, options: RerunOptions, seed: str, numbers: tuple[int, int]) -> RerunTask:
        """Return the task that plays continuations `numbers[0]` to `numbers[1] - 1`; `body` is the match's record."""
        lineup = self.lineup
        return RerunTask(
            name=self.header.match,
            body=body,
            seat=self.seat,
            new=encode(lineup.new),
            old=None if lineup.old is None else encode(lineup.old),
            seeds=lineup.seeds,
            known_seats=lineup.known,
            continuation_range=numbers,
            seed=seed,
            value=options.value,
            bot=options.bot,
        )

    def compute_worth(self, replies: Sequence[RerunReply], value: str | None) -> Worth:
        """Return how much better the new bot did than the replaced bot in this match. `replies` are the workers'
        replies to the tasks of the match.
        """
        game = shared_game(self.header.game, self.header.config)
        continuations = [each for reply in replies for each in reply.continuations]
        return measure_worth(replies[0].first, continuations, load_value(game, value), game)


def run(options: RerunOptions) -> None:
    """Replay matches and print how much better the new bot did in them. Raise `Fault` if one cannot be replayed."""
    _check(options)
    seed = options.seed or secrets.token_hex(4)
    origin = lru_cache(partial(_read_origin, options.database))
    resolver = BotResolver(options.bot, options.old, options.opponents, options.stand_in, seed, origin)
    (_run_all if options.target is None else _run_one)(options, resolver, seed)
    if options.seed is None:
        say(f"seed {seed}: `--seed {seed}` plays the same again")


def _check(options: RerunOptions) -> None:
    chosen = options.selection
    if (options.target is None) == (chosen.bot is None):
        raise UsageFault("play one match again, by its ID or FILE, or all of a bot, by --all NAME: one of them")
    if chosen.bot is None and (chosen != Selection() or options.limit is not None):
        raise UsageFault("--game, --won, --lost, --drawn, --tournament and --limit are for --all NAME")
    if chosen.bot is not None and options.seat is not None:
        raise UsageFault(f"--seat is for one match: with --all the new bot has the seat of {chosen.bot}")
    if not MIN_CONTINUATIONS <= options.continuations <= MAX_CONTINUATIONS:
        bounds = f"{MIN_CONTINUATIONS} to {MAX_CONTINUATIONS}"
        raise UsageFault(f"--continuations is {options.continuations}: it is {bounds}")
    if not 1 <= options.jobs <= MAX_JOBS:
        raise UsageFault(f"--jobs is {options.jobs}: it is 1 to {MAX_JOBS}")
    warn_of_excess("--jobs", options.jobs)
    if options.limit is not None and options.limit < 1:
        raise UsageFault(f"--limit is {options.limit}: it is 1 or more")
    check_writable(options.to_json)


def _read_origin(database: str, tournament: str) -> TournamentOrigin | None:
    try:
        with closing(Reader.open(database)) as reader:
            return reader.read(tournament_origin, tournament)
    except DatabaseNotFound:  # the record is from a file
        return None


def _run_one(options: RerunOptions, resolver: BotResolver, seed: str) -> None:
    assert options.target is not None
    name, body = load(options.target, options.database)
    record = read(name, body)
    header = record.header
    if record.footer.reason == VOID:
        raise UsageFault(f"{header.match} was called off: there is no result that another bot could have changed")
    resolver.check_games({header.game: header.match})
    resolver.check_opponents([each.bot for each in header.seats])
    seat = _find_seat(record, options.seat, options.bot)
    rerun = MatchRerun(header, seat, resolver.resolve(header, seat))
    most = options.continuations
    parts = [(at, min(at + CONTINUATIONS_PER_TASK, most)) for at in range(0, most, CONTINUATIONS_PER_TASK)]
    tasks = [rerun.task(body, options, seed, part) for part in parts]
    found: dict[int, RerunReply] = {}
    stopped = False
    try:
        with closing(run_tasks(tasks, options.jobs)) as replies:
            for number, reply in track_progress(replies, len(tasks), f"playing {header.match} on"):
                found[number] = reply
                if reply.first.ply is None:
                    break
    except KeyboardInterrupt:
        played = sum(len(reply.continuations) for reply in found.values())
        if played < MIN_CONTINUATIONS:
            raise
        stopped = True
        say(f"arena: stopped after {played} of {most} continuations", err=True)
    worth = rerun.compute_worth([found[number] for number in sorted(found)], options.value)
    if options.to_json is not None:
        write_document(options.to_json, {"seed": seed, **_document(rerun, worth)})
    print_one(worth, options.bot, rerun.lineup, record)
    if stopped:
        raise KeyboardInterrupt


def _run_all(options: RerunOptions, resolver: BotResolver, seed: str) -> None:
    bot = options.selection.bot
    assert bot is not None
    reruns: list[MatchRerun] = []
    found: dict[int, Worth] = {}
    stopped = False
    with closing(open_to_read(options.database)) as reader:
        search = search_of(reader, options.selection)
        results = [result for result in iter_matches(reader, search, options.limit) if result.reason != VOID]
        if not results:
            raise UsageFault(f"no match of {bot} fits: `arena matches --bot {bot}` lists those there are")
        resolver.check_games({result.game: result.match for result in results})
        resolver.check_opponents({seat.bot for result in results for seat in result.seats})

        def tasks() -> Iterator[RerunTask]:
            for rerun, body in _iter_reruns(reader, results, bot, resolver):
                reruns.append(rerun)
                yield rerun.task(body, options, seed, (0, options.continuations))

        try:
            with closing(run_tasks(tasks(), options.jobs)) as replies:
                for number, reply in track_progress(replies, len(results), f"playing the matches of {bot} again"):
                    found[number] = reruns[number].compute_worth([reply], options.value)
        except KeyboardInterrupt:
            if not found:
                raise
            stopped = True
            say(f"arena: stopped after {len(found)} of {format_count(len(results), 'match', 'matches')}", err=True)
    if not stopped and len(reruns) < len(results):
        gone = format_count(len(results) - len(reruns), "match has", "matches have")
        say(f"arena: {gone} no record any more", err=True)
    numbers = sorted(found)
    _print_all([reruns[number] for number in numbers], [found[number] for number in numbers], options, seed)
    if stopped:
        raise KeyboardInterrupt


def _print_all(reruns: Sequence[MatchRerun], worths: Sequence[Worth], options: RerunOptions, seed: str) -> None:
    summed = total_worths(worths)
    if options.to_json is not None:
        each = [_document(*pair) for pair in zip(reruns, worths, strict=True)]
        write_document(options.to_json, {"seed": seed, "totals": summed, "matches": each})
    chosen = options.selection
    for total in summed:
        of_game = [worth for worth in worths if worth.game == total.game]
        print_total(total, of_game, options.bot, by_outcome=chosen.won or chosen.lost or chosen.drawn)
        say("")
    print_programs([(rerun.lineup, rerun.seat) for rerun in reruns], worths)


def _iter_reruns(
    reader: Reader, results: Sequence[Result], bot: str, resolver: BotResolver
) -> Iterator[tuple[MatchRerun, bytes]]:
    for result in results:
        body = read_stored_record(reader, result.match)
        if body is not None:
            header = record_reader.read_record(body, result.match).header
            seat = next(at for at, each in enumerate(result.seats) if fold_name(each.bot) == fold_name(bot))
            yield MatchRerun(header, seat, resolver.resolve(header, seat, [each.bot for each in result.seats])), body


def _find_seat(record: Record, given: str | None, bot: str) -> int:
    """Return the seat that the new bot takes. `given` is the number of the seat or the name of the bot recorded in it.

    If `given` is None, return the seat of the recorded bot that has the new bot's name, else that of the only loser.
    Raise `UsageFault` if there is no such seat.
    """
    match, names = record.header.match, [fold_name(each.bot) for each in record.header.seats]
    there = ", ".join(f"{seat} ({each.bot})" for seat, each in enumerate(record.header.seats))
    if given is not None:
        if given in map(str, range(len(names))):
            return int(given)
        if fold_name(given) not in names:
            raise UsageFault(f"--seat {given}: the seats of {match} are {there}")
        return names.index(fold_name(given))
    if fold_name(bot_name_of(bot)) in names:
        return names.index(fold_name(bot_name_of(bot)))
    ranks = record.footer.ranks
    if ranks.count(max(ranks)) > 1:
        raise UsageFault(f"nobody lost {match} alone: name the seat, --seat with one of {there}")
    return ranks.index(max(ranks))


def _document(rerun: MatchRerun, worth: Worth) -> dict[str, object]:
    lineup = rerun.lineup
    played_on = {"old": lineup.old_description, **{f"seat {seat}": told for seat, told in lineup.others.items()}}
    return {"match": worth, "played_on_by": played_on}
