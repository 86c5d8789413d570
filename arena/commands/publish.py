"""`arena publish`: writes the result of a tournament as files that need no server. `arena bot sources`: writes the
programs of hosted bots.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from arena.commands.name_list import read_name_list
from arena.commands.output import translate_write_errors
from arena.hosting.limits import MAX_LIMITS
from arena.hosting.submission import unpack
from arena.operator.name_list import DISPLAY_COLUMN, NAME_COLUMN, NameList
from arena.operator.new_bots import CREDENTIAL_COLUMN
from arena.ratings.standings import TableRow
from arena.ratings.tournament_standings import ADJUSTED
from arena.store.entrants import EnteredVersion, entered_versions, sources_of
from arena.store.match_search import Search, search_matches
from arena.store.registry import DELETED_PREFIX, display_names
from arena.store.result_queries import record_of
from arena.store.store import Reader
from arena.store.tournaments import TournamentTable, tournament_table
from arena.web.offline import offline_page
from arena.web.result_file import result_file
from machine.atomic_write import replacing_folder, write_new_file
from machine.terminal import say
from protocol.display import csv_cell, format_count, short_repr
from protocol.display_names import fold_display_name
from protocol.errors import UsageFault
from protocol.names import fold_name, is_bot_name
from referee.record_reader import read_record
from referee.result import Result

PAGE_FILE, TABLE_FILE, REPLAYS_FOLDER = "index.html", "results.csv", "matches"
"""The files in the folder of a result, and the folder of its replays."""
READ_ROWS = 500
"""Number of matches that are read at a time."""
RESULT_COLUMNS = ("place", "score", "played", "won", "drawn", "lost", "forfeits", "version", "late")
"""The columns that are added to those of the names file."""
REFUSED_COLUMNS = {
    CREDENTIAL_COLUMN: "a result is for others to read",
    **dict.fromkeys(RESULT_COLUMNS, "the result has one of its own"),
}
"""Columns that the names file may not have, each with the reason."""
SOURCES_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all files in an archive of sources, so that equal programs give equal archives."""


def publish(where: str, tournament: str, to: Path, names: Path | None, *, replays: bool) -> None:
    """Write a tournament's page, and its table joined with a file of names, into a new folder, all or nothing. Raise
    `Fault` if there is no such tournament, or a file can't be read.
    """
    listed = None if names is None else read_name_list(names, REFUSED_COLUMNS)
    with closing(Reader.open(where)) as reader:
        table = reader.read(tournament_table, tournament, {})
        if table is None:
            raise UsageFault(
                f"there is no tournament {short_repr(tournament)}: its id is below its table, and on its page"
            )
        matches = _read_matches(reader, tournament)
        bots = [row.bot for row in table.table]
        stored = reader.read(display_names, 100_000)
        displays = {bot: stored[fold_name(bot)] for bot in bots if fold_name(bot) in stored}
        keys = [] if listed is None else _find_bots(listed, stored)
        for row, key in zip(() if listed is None else listed.rows, keys, strict=True):
            if row.get(DISPLAY_COLUMN):
                displays |= {bot: row[DISPLAY_COLUMN] for bot in bots if fold_name(bot) == key}
        versions = reader.read(entered_versions, tournament, table.arguments)
        with translate_write_errors(to), replacing_folder(to) as folder:
            (folder / PAGE_FILE).write_bytes(result_file(table, matches, displays, versions, replays=replays))
            (folder / TABLE_FILE).write_text(result_csv(table, versions, listed, keys), encoding="utf-8")
            if replays:
                (folder / REPLAYS_FOLDER).mkdir()
                for match in matches:
                    body = reader.read(record_of, match.match)
                    if body is None:
                        raise UsageFault(f"the record of {match.match} is missing: leave out --replays")
                    page = offline_page(read_record(body, match.match))
                    (folder / REPLAYS_FOLDER / f"{match.match}.html").write_bytes(page)
    say(f"{to}: {PAGE_FILE} and {TABLE_FILE} of {tournament}, {format_count(len(matches), 'match', 'matches')}")
    deleted = [bot for bot in bots if bot.startswith(DELETED_PREFIX)]
    if listed is not None and deleted:
        say(f"{names} does not find {', '.join(deleted)}: a bot that was deleted since has its result under this name")


def _find_bots(listed: NameList, displays: Mapping[str, str]) -> list[str]:
    """Return the folded name of the bot of each row. A name that no bot can have is a display name, as in a file that
    was registered with `--ascii-names`. `displays` are the display names, by folded name of the bot.
    """
    bots = {fold_display_name(display): key for key, display in displays.items()}
    names = [row[NAME_COLUMN] for row in listed.rows]
    return [fold_name(name) if is_bot_name(name) else bots.get(fold_display_name(name), "") for name in names]


def result_csv(
    table: TournamentTable, versions: Mapping[str, EnteredVersion], listed: NameList | None, keys: Sequence[str]
) -> str:
    """Return the table as CSV: the rows of the names file, then the other bots. Who did not play has no result. Its
    columns are those of the names file and `RESULT_COLUMNS`, its delimiter is that of the file. `keys` are the folded
    names of the bots of the file's rows.
    """
    rows = [] if listed is None else listed.rows
    columns = [*rows[0]] if rows else [NAME_COLUMN]
    found = {fold_name(row.bot): row for row in table.table}
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="," if listed is None else listed.delimiter, lineterminator="\n")
    writer.writerow([*map(csv_cell, columns), *RESULT_COLUMNS])
    others = [key for key in found if key not in keys]
    for row, key in zip((*rows, *({NAME_COLUMN: found[key].bot} for key in others)), (*keys, *others), strict=True):
        result = found.get(key)
        cells = [""] * len(RESULT_COLUMNS) if result is None else _result_cells(table, result, versions.get(result.bot))
        writer.writerow([csv_cell(row.get(column, "")) for column in columns] + cells)
    return text.getvalue()


def _result_cells(table: TournamentTable, row: TableRow, version: EnteredVersion | None) -> list[Any]:
    score = row.adjusted.score if table.ranked_by == ADJUSTED and row.adjusted else row.score
    if row.payoff is not None:
        score = row.payoff.mean
    counts = (row.played, row.won, row.drawn, row.lost, row.forfeits)
    entered = ["", ""] if version is None else [version.number, "late" if version.is_late else ""]
    return [row.rank or "", f"{score:.4f}", *counts, *entered]


def _read_matches(reader: Reader, tournament: str) -> list[Result]:
    found: list[Result] = []
    after = None
    while True:
        page = reader.read(search_matches, Search(tournament=tournament), after=after, limit=READ_ROWS)
        found += page.rows
        after = page.next
        if after is None:
            return found[::-1]


def write_sources(where: str, to: Path, tournament: str | None) -> None:
    """Write the programs of hosted bots into a new zip, each in a folder with the bot's name: those that entered a
    tournament, or else those that are active. One that is damaged in the database is left out, and told. Raise `Fault`
    if there are none, or the file can't be written.
    """
    packed = io.BytesIO()
    count = 0
    with closing(Reader.open(where)) as reader, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for bot, number, content in reader.iterate(sources_of, tournament):
            try:
                files = unpack(content, MAX_LIMITS)
            except UsageFault:
                say(f"arena: {bot}, version {number}, is damaged in the database: it is left out", err=True)
                continue
            count += 1
            for path, file in files.items():
                archive.writestr(zipfile.ZipInfo(f"{bot}/{path}", SOURCES_DATE), file, zipfile.ZIP_DEFLATED)
    if not count:
        raise UsageFault(
            "there are no programs of hosted bots here"
            if tournament is None
            else f"no hosted bot entered a tournament {short_repr(tournament)}, or their programs are deleted"
        )
    with translate_write_errors(to):
        write_new_file(to, packed.getvalue())
    say(f"{to}: {format_count(count, 'program', 'programs')}, each in a folder with its bot's name")
