"""`arena replay`: shows, verifies and exports records, from the store by match id or from a file."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.table import Table

from arena.commands import step_viewer
from arena.commands.brought_games import MISSING_RULES_ADVICE
from arena.commands.match_view import Failures, format_outcome
from arena.commands.matches import resolve_match_id
from arena.commands.output import encode_document, print_line, terminal_columns, translate_write_errors
from arena.replay import match_document as documents
from arena.replay import verify as verifying
from arena.replay.luck_report import luck_text_by_move, record_luck, summarise_luck
from arena.replay.match_document import Document
from arena.replay.transcript import TranscriptLine, describe_line
from arena.store.annulment import pool_of_annulled
from arena.store.database import StoreUnavailable
from arena.store.result_queries import RecordRemoved, iter_results, match_failures, record_of
from arena.store.store import Reader, open_to_read
from machine.atomic_write import write_new_file
from machine.console import Console
from machine.terminal import say
from measuring.luck import Luck
from protocol.display import format_count, format_rating
from protocol.errors import ArenaFault, BadRecord, Fault, MissingRules, UsageFault
from protocol.games import is_known_game, missing_rules_message
from referee import record_reader
from referee.record import MAX_RECORD_BYTES, Header, Record, Strike, compress_lines, describe_other_rules
from referee.replay import replay

if TYPE_CHECKING:
    from arena.commands.record_checks import ExpectedDigest

EXPORT_SUFFIXES = (".json", ".html")
"""The suffixes of files that `arena replay export` writes and no command can read as a record. The error message for
such a file says so.
"""
PERMANENT_COLUMNS = (0, 1, 2, 4)
"""The numbers of the columns that a table of plies has even if they are empty: ply, bot, move and the time left."""
RECORD_FILE_SUFFIXES = (".jsonl", ".jsonl.gz", *EXPORT_SUFFIXES)
"""The suffixes of all files that `arena replay export` writes."""


def load(target: str, database: str) -> tuple[str, bytes]:
    """Return the name and the bytes of a record. Raise `Fault` if it is not found or can't be read.

    `target` is a file, or the id of a match in the store, or `latest`.
    """
    if _is_file(target):
        try:
            with Path(target).open("rb") as file:
                return target, file.read(MAX_RECORD_BYTES + 1)  # the reader refuses longer ones
        except OSError as exc:
            raise ArenaFault(f"{target} can't be read: {exc.strerror}") from exc
    target = resolve_match_id(database, target)
    with closing(open_to_read(database)) as reader:
        body = reader.read(record_of, target)
    if body is None:
        raise UsageFault(f"there is no match {target!r} in {database}: `arena matches` lists those there are")
    return target, body


def _is_file(target: str) -> bool:
    return os.path.isfile(target) or "/" in target or target.endswith(RECORD_FILE_SUFFIXES)


def read(name: str, body: bytes) -> Record:
    """Parse a record that `load` returned. Raise `BadRecord` if it is malformed."""
    try:
        return record_reader.read_record(body, name)
    except BadRecord as fault:
        if name.endswith(EXPORT_SUFFIXES):
            told = f"{name} was exported from a record: name the match's .jsonl or .jsonl.gz, or its id"
            raise BadRecord(told) from fault
        raise


def verify(targets: Sequence[str], database: str, expected: ExpectedDigest, *, strict: bool) -> None:
    """Referee the records again, and compare their digests with the database and with `expected`.

    Without targets, verify every record of the store. With `strict`, a record counts as wrong if it could not be
    compared with anything, or if its moves were not refereed. Raise `BadRecord` if a record is wrong, or if this arena
    has neither the rules of its game nor the states of the match.
    """
    from arena.commands.record_checks import NOT_COMPARED_MESSAGE, compare_record  # imports an HTTP client

    if expected.digest is not None and len(targets) != 1:
        raise UsageFault("--digest is for one match: name exactly one")
    if expected.log is not None and not targets:
        raise UsageFault("--log needs the matches to be named")
    wrong = 0
    count = 0
    refereed = 0
    removed = 0
    without_rules: Counter[str] = Counter()
    told_of_rules: Counter[str] = Counter()
    for name, load_record, stored in _iter_records(targets, database):
        count += 1
        try:
            loaded = load_record()
            if loaded is None:
                removed += 1
                continue
            name, body = loaded
            record = read(name, body)
            record_reader.check_keys(body, name)
            verification = verifying.verify_record(record)
            if stored not in (None, record.footer.digest):
                raise BadRecord(f"{name}: the last digest is {record.footer.digest}, but the database has {stored}")
            compared = list(compare_record(record, name, database, expected)) if targets else []
            if targets and strict and not compared:
                raise BadRecord(f"{name}: {NOT_COMPARED_MESSAGE}")
            if strict and verification.missing_rules:
                raise BadRecord(f"{name}: {verification.missing_rules}")
        except Fault as fault:
            if len(targets) == 1 or isinstance(fault, StoreUnavailable):
                raise
            if isinstance(fault, MissingRules) and not targets:
                without_rules[record.header.game] += 1
                continue
            wrong += 1
            where = "" if name in str(fault) else f"{name}: "  # files may have records of the same match
            say(f"arena: {where}{fault}", err=True)
            continue
        refereed += not verification.missing_rules
        if not targets and verification != verifying.Verification():
            told_of_rules[verification.missing_rules or f"verified, {verification.other_rules}"] += 1
        if targets:
            taken = verifying.unverifiable_facts(record)
            word = f"; on the arena's word: {', '.join(taken)}" if taken else ""
            many = format_count(record.footer.plies, "ply", "plies")
            by = f" {verification.other_rules}," if verification.other_rules else ""
            how, unrefereed = f"verified,{by}", ""
            if verification.missing_rules:
                how, unrefereed = "consistent,", f"; {verification.missing_rules}; checked: {verification.checked}"
            say(f"{name}: {how} {many}, digest {record.footer.digest}{unrefereed}{word}")
            for told in compared or [NOT_COMPARED_MESSAGE]:
                say(f"  {told}")
    for text, records in told_of_rules.items():
        say(f"{format_count(records, 'record', 'records')}: {text}")
    for game, records in without_rules.items():
        not_verified = f"{format_count(records, 'record', 'records')} not verified"
        say(f"arena: {missing_rules_message(game)}: {not_verified}; {MISSING_RULES_ADVICE}", err=True)
    if wrong or without_rules:
        raise BadRecord(f"{wrong + without_rules.total()} of {count - removed} records did not verify")
    if not targets:
        gone = f"; {format_count(removed, 'match no longer has', 'matches no longer have')} one" if removed else ""
        say(f"{format_count(refereed, 'record', 'records')} verified{gone}")


def _iter_records(
    targets: Sequence[str], database: str
) -> Iterator[tuple[str, Callable[[], tuple[str, bytes] | None], str | None]]:
    """Yield (name, function, digest) of each target or, without targets, of each match in the store.

    The function loads the record, and returns its name and bytes; None if it was removed from the store. The digest is
    the one in the store, and None for a target.
    """
    if targets:
        for target in targets:
            yield target, partial(load, target, database), None
        return
    with closing(open_to_read(database)) as reader:
        for match in reader.iterate(iter_results):
            yield match.match, partial(_load_stored, reader, match.match), match.digest


def _load_stored(reader: Reader, match: str) -> tuple[str, bytes] | None:
    body = read_stored_record(reader, match)
    return None if body is None else (match, body)


def read_stored_record(reader: Reader, match: str) -> bytes | None:
    """Return the record of a match in the store; None if it was removed. Raise `ArenaFault` if it is lost."""
    try:
        body = reader.read(record_of, match)
    except RecordRemoved:
        return None
    if body is None:
        raise ArenaFault(f"match {match} has no record in {reader.database}: run `arena db check`")
    return body


def export(target: str, to: Path, database: str) -> None:
    """Write a match to a new file, in the format that the file's suffix names.

    `.json` and `.html` also have the state at every ply. Raise `BadRecord` if the match is no record, and write
    nothing.
    """
    if not to.name.endswith(RECORD_FILE_SUFFIXES):
        raise UsageFault(f"--to {to}: its name must end in one of {', '.join(RECORD_FILE_SUFFIXES)}")
    name, body = load(target, database)
    record = read(name, body)
    if to.suffix == ".gz":
        data = body if record_reader.is_packed(body) else compress_lines(body)
    elif to.suffix == ".jsonl":
        data = record_reader.unpack(body, name)
    elif to.suffix == ".json":
        data = encode_document(_full_document(record))
    else:
        from arena.web.offline import offline_page  # imports the page templates

        data = offline_page(record)
    with translate_write_errors(to):
        write_new_file(to, data)
    say(f"{to}: {name}")


def _full_document(record: Record, value: str | None = None) -> Document:
    made = documents.make_document(record)
    if _unrefereed_message(record):
        return made  # with the states that the record has, as the API has it
    if made.fault is not None:
        raise BadRecord(made.fault)
    return replace(made, luck=record_luck(record, value))


def _unrefereed_message(record: Record) -> str:
    """Return why a match is shown without the rules of its game: they are missing, or there are others, from which it
    does not follow. Return an empty text if it is refereed.
    """
    header = record.header
    if not is_known_game(header.game):
        return f"{missing_rules_message(header.game)}; {MISSING_RULES_ADVICE}"
    if not describe_other_rules(header):
        return ""
    try:
        for _ in replay(record):
            pass
    except BadRecord:
        return f"this arena has other rules of {header.game} than the match was made with: it is shown as recorded"
    return ""


def show(
    target: str,
    database: str,
    *,
    boards: bool,
    to_json: bool,
    step: bool = False,
    play: float | None = None,
    value: str | None = None,
) -> None:
    """Print a match: the bots, every ply, the outcome and the luck. With `boards`, print the board after every ply.

    `value` names the value function that measures luck; the default is the best one. With `step`, a key press shows the
    next board in place of the last; with `play`, it appears after `play` seconds. Raise `UsageFault` if either is used
    without a terminal.
    """
    if step or play is not None:
        step_viewer.check_terminal(step=step, play=play, others=boards or to_json)
    name, body = load(target, database)
    record = read(name, body)
    annulled = None  # the pool in which it was rated before
    failures: Failures = {}
    if not _is_file(name):
        with closing(open_to_read(database)) as reader:
            annulled = reader.read(pool_of_annulled, name)
            failures = reader.read(match_failures, name)
    if to_json:
        print_line(replace(_full_document(record, value), annulled=annulled))
        return
    luck = None
    with suppress(BadRecord):  # reported where the fault would be shown
        luck = record_luck(record, value)
    if step or play is not None:
        ending = _format_ending(record, luck, failures)
        by_states = record.header.rules is not None and bool(_unrefereed_message(record))
        step_viewer.show_steps(record, ending, luck_text_by_move(luck), play, by_states=by_states)
    else:
        _print(record, boards, luck, annulled, failures)


def _print(record: Record, boards: bool, luck: Luck | None, annulled: str | None, failures: Failures) -> None:
    console = Console(width=terminal_columns())
    for text in _format_header(record.header, rated=record.footer.ratings is not None):
        console.print(text)
    if annulled is not None:
        console.print(f"annulled: it was rated in {annulled}, but no longer counts")
    unrefereed = _unrefereed_message(record)
    if unrefereed:
        console.print(unrefereed)
        if record.header.rules is None:  # nor has the record states
            for text in _format_ending(record, None, failures):
                console.print(text)
            return
    told: list[TranscriptLine] = []
    gave = luck_text_by_move(luck)
    for line, course in replay(record, by_states=bool(unrefereed)):
        if line is not None:
            told.append(describe_line(line, course.game, record.header, gave))
        if boards and line is not None:
            console.print(f"\n{told[-1].sentence()}")
        if boards and course.state is not None and not isinstance(line, Strike):
            console.print(course.game.draw_board(course.state))
    if not boards:
        console.print(_table(told, estimate=luck is not None and luck.estimate))
        console.print("" if course.state is None else course.game.draw_board(course.state))
    for text in _format_ending(record, luck, failures):
        console.print(text)


def _format_header(header: Header, *, rated: bool) -> list[str]:
    clock = f"{header.clock.bank_ms / 1000:g}+{header.clock.increment_ms / 1000:g}"
    kind = "rated" if rated else "unrated"
    seats = [f"  seat {seat}  {player.bot} {player.version}".rstrip() for seat, player in enumerate(header.seats)]
    return [f"{header.match}: {header.game}, clock {clock}, {kind}, {header.started}", *seats]


def _table(told: Sequence[TranscriptLine], *, estimate: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    columns = ("ply", "bot", "move", "est. luck" if estimate else "luck", "s left", "s back", "value", "note")
    used = [at for at in range(len(columns)) if at in PERMANENT_COLUMNS or any(line[at] for line in told)]
    for at in used:
        table.add_column(columns[at], justify="left" if columns[at] in ("bot", "move", "note") else "right")
    for line in told:
        table.add_row(*(line[at] for at in used))
    return table


def _format_ending(record: Record, luck: Luck | None, failures: Failures) -> list[str]:
    header, footer = record.header, record.footer
    bots = [seat.bot for seat in header.seats]
    payoffs = [payoff for payoff, _ in record.payoffs]
    seats = zip(footer.ranks, bots, footer.reasons, payoffs, strict=True)
    lines = format_outcome(header.game, footer.reason, footer.plies, seats, failures)
    if footer.ratings:
        best_first = sorted(zip(footer.ranks, footer.ratings.seats, strict=True), key=lambda seat: seat[0])
        for at, (_, rated) in enumerate(best_first, 1):
            before, after = (
                format_rating(rated.mu_before, rated.sigma_before),
                format_rating(rated.mu_after, rated.sigma_after),
            )
            lines[at] += f"  {before} -> {after}"
    if luck is not None and luck.events:
        lines.append(summarise_luck(luck, [seat.bot for seat in header.seats]))
    return lines
