"""`arena db`: the database brought up to date, its ratings computed again, and whether it all adds up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from arena.store import database
from arena.store.lock import lock
from arena.store.store import Store
from arena.store.store import upgrade as upgrade_file
from protocol.errors import ArenaFault


class Unsound(ArenaFault):
    """The database does not add up."""


def upgrade(where: str, data: Path) -> None:
    """Bring the database's schema up to date."""
    with _alone(where, data) as file:
        before, after = upgrade_file(file)
    print(f"{file} has schema {after}" + ("" if before == after else f", upgraded from {before}"))


def rebuild_ratings(where: str, data: Path) -> None:
    """Compute all ratings again from the results."""
    with _alone(where, data), closing(Store.open(where, create=False)) as store:
        count = store.rebuild_ratings()
    print(f"ratings computed again from the results: {count} rows were different")


def check(where: str) -> None:
    """Report what does not add up. Raises `Unsound` if anything does not."""
    with closing(Store.open(where, create=False)) as store:
        complaints = store.check()
        for line in complaints:
            print(line)
        if complaints:
            raise Unsound(f"{store.file} does not add up: {len(complaints)} complaints")
        print(f"{store.file} is sound: the file, its references, and every rating follows from the results")


@contextmanager
def _alone(where: str, data: Path) -> Iterator[Path]:
    """The database's file, with nobody else on the data folder. Raises `NoDatabase` or `Locked`."""
    file = database.file_of(where)
    if database.revision_of(file) is None:
        raise database.NoDatabase(f"no arena data in {file}: start `arena serve` or `arena tournament` first")
    with lock(data) if data.is_dir() else nullcontext():
        yield file
