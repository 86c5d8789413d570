"""`arena export`: matches, their seats and their plies as tables for others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from arena.commands.export_files import FORMATS, opened
from arena.commands.matches import Selection, selected
from arena.commands.text_tables import counted
from arena.replay.ply_rows import rows
from arena.store.export_rows import MATCHES, PLIES, SEATS, Batch, export_matches
from arena.store.store import Reader
from machine.atomic_write import folder_in_place_of
from protocol.display import among
from protocol.errors import ArenaFault, BadRecord, UsageFault
from referee import record_reader


def export(where: str, to: Path, form: str, chosen: Selection, *, plies: bool) -> None:
    """Write the matches that fit into a new folder, whole or not at all, as they are at one moment.

    Raises `BadRecord` where plies are wanted and a record can't be read.
    """
    if form not in FORMATS:
        raise UsageFault(f"--format is {form!r}: it is {among(FORMATS)}")
    with closing(Reader.open(where)) as reader:
        search = selected(reader, chosen)
        try:
            with folder_in_place_of(to) as folder:
                counts = _write(folder, form, reader.iterate(export_matches, search, records=plies), plies=plies)
        except FileExistsError:
            raise UsageFault(f"{to} already exists; not overwritten: choose another name") from None
        except OSError as exc:
            raise ArenaFault(f"{to} can't be written: {exc.strerror or exc}") from exc
    print(f"{to}: {', '.join(counted(count, *words) for words, count in counts.items())}, as {form}")


def _write(folder: Path, form: str, batches: Iterator[Batch], *, plies: bool) -> dict[tuple[str, str], int]:
    """How many rows there are of each table, by the words for one and for more."""
    matches = seats = events = 0
    with ExitStack() as held:
        of_matches = opened(folder, "matches", MATCHES, form, held)
        of_seats = opened(folder, "seats", SEATS, form, held)
        of_plies = opened(folder, "plies", PLIES, form, held) if plies else None
        for batch in batches:
            of_matches.write(batch.matches)
            of_seats.write(batch.seats)
            matches += len(batch.matches)
            seats += len(batch.seats)
            if of_plies is None:
                continue
            if len(batch.records) != len(batch.matches):
                missing = {row[1] for row in batch.matches} - {match for _, match, _ in batch.records}
                raise BadRecord(f"match {min(missing)} has no record: `arena db check` tells what is wrong")
            for number, match, data in batch.records:
                told = list(_plies(number, match, data))
                of_plies.write(told)
                events += len(told)
    counts = {("match", "matches"): matches, ("seat", "seats"): seats}
    return counts | ({("ply", "plies"): events} if plies else {})


def _plies(number: int, match: str, data: bytes) -> Iterator[tuple[Any, ...]]:
    for row in rows(record_reader.read(data, f"the record of match {match}")):
        yield number, match, *row
