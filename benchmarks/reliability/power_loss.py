"""Simulate power cuts, which lose unsynced writes in part or out of order, and check that no end of a match is lost.

A server plays while every change of its files is logged (storage.c). For each of many instants, the folder is rebuilt
as a disk might hold it: everything that was synced, and none, all or some sectors of later writes. The check fails if
the end of a match is lost although it was sent before the instant, if the database is inconsistent, or if a server does
not start. With `--durability machine`, it also fails if a move is lost.

    python benchmarks/reliability/power_loss.py [--seconds 20] [--instants 200] [--durability machine] [--small]

Needs gcc. The name of a file counts as durable once the file or its folder has been synced, as on ext4, XFS and Btrfs.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ledger import Ledger, RandomPlayer, compile_library, finish_matches
from rig import Server, run_tasks
from toolkit import option, read_options

from protocol.errors import ArenaFault

GAMES = ("nim", "nim", "nim", "nim", "tictactoe", "tictactoe")
"""The games that the bots play, one for each bot."""
SECTOR_BYTES = 512
"""Number of bytes of a sector, which a disk writes completely or not at all."""
_CHANGE_HEADER = struct.Struct("=cdQQI")
"""The format of the header of a logged change, as storage.c writes it."""


class Change(NamedTuple):
    """A logged change of a file. `what` is the first letter of its kind: write, truncate, sync, create, unlink."""

    what: str
    at: float
    inode: int
    offset: int
    data: bytes


def read_changes(log: Path) -> Iterator[Change]:
    data = log.read_bytes()
    at = 0
    while at + _CHANGE_HEADER.size <= len(data):
        what, when, inode, offset, size = _CHANGE_HEADER.unpack_from(data, at)
        at += _CHANGE_HEADER.size
        yield Change(what.decode(), when, inode, offset, data[at : at + size])
        at += size


class WrittenFile:
    """A file: its content as written, and the part of it that is certainly on disk."""

    def __init__(self) -> None:
        self.synced: bytearray | None = None
        """The content at the last sync; None if the file was never synced."""
        self.is_named = False
        """True once the file's folder has been synced, so that the file's name is on disk."""
        self.written = bytearray()
        self.unsynced_changes: list[Change] = []

    def apply(self, change: Change) -> None:
        if change.what == "s":
            self.synced, self.unsynced_changes = bytearray(self.written), []
        else:
            _apply(self.written, change)
            self.unsynced_changes.append(change)

    def content_after_loss(self, rng: random.Random, share: float) -> bytes | None:
        """Return the content that the disk may hold of this file after a power cut. About `share` of the sectors
        written since the last sync are on the disk. Return None if the disk does not even have the name of the file.
        """
        if self.synced is None and not self.is_named and rng.random() >= share:
            return None
        found = bytearray(self.synced or b"")
        for change in self.unsynced_changes:
            if change.what == "t":
                if rng.random() < share:
                    _apply(found, change)
                continue
            for start in range(0, len(change.data), SECTOR_BYTES):
                if rng.random() < share:
                    part = change.data[start : start + SECTOR_BYTES]
                    _apply(found, change._replace(offset=change.offset + start, data=part))
        return bytes(found)


def _apply(content: bytearray, change: Change) -> None:
    if change.what == "t":
        del content[change.offset :]
        content.extend(bytes(change.offset - len(content)))
    else:
        content.extend(bytes(max(0, change.offset - len(content))))
        content[change.offset : change.offset + len(change.data)] = change.data


class Disk:
    """A simulated disk: the files of a folder after all logged changes that were passed to `apply`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folders = {path.stat().st_ino: path for path in (folder, *folder.rglob("*")) if path.is_dir()}
        self._names: dict[str, int] = {}
        self._files: dict[int, WrittenFile] = {}

    def apply(self, change: Change) -> None:
        if change.what == "c":
            name = str(Path(change.data.decode()).relative_to(self._folder))
            if self._names.get(name) != change.inode:
                self._names[name] = change.inode
                self._files[change.inode] = WrittenFile()
        elif change.what == "u":
            self._names.pop(str(Path(change.data.decode()).relative_to(self._folder)), None)
        elif change.what == "s" and change.inode in self._folders:
            for name, inode in self._names.items():
                if (self._folder / name).parent == self._folders[change.inode]:
                    self._files[inode].is_named = True
        elif change.inode in self._files:
            self._files[change.inode].apply(change)

    def write(self, folder: Path, rng: random.Random, share: float) -> None:
        """Write into `folder` what the disk may hold if the power is cut after the changes applied so far."""
        for name, inode in self._names.items():
            content = self._files[inode].content_after_loss(rng, share)
            if content is not None and not name.endswith("-shm"):  # SQLite's shared memory, which is recreated
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)


async def play(server: Server, seconds: float) -> Ledger:
    """Let bots play, kill the server, and return everything that was sent to the bots."""
    await asyncio.to_thread(server.start)
    ledger = Ledger()
    players = [RandomPlayer(ledger, server.port, number, game) for number, game in enumerate(GAMES)]
    async with run_tasks(*(player.run() for player in players)):
        await asyncio.sleep(seconds)
        server.kill()
    return ledger


def count_losses(
    disk: Disk, at: float, ledger: Ledger, share: float, rng: random.Random, *, moves: bool, start: bool
) -> Counter[str]:
    """Count what a power cut at the time `at` loses, by kind. With `start`, first start and stop a server on the
    files.
    """
    server = Server("--clock", "5+0.2")
    disk.write(server.data, rng, share)
    if start:
        try:
            server.start()
        except RuntimeError as exc:
            return Counter([f"a server that does not start: {str(exc).splitlines()[-1]}"])
        if moves:
            asyncio.run(_finish_running(server))
        server.stop()
    found: Counter[str] = Counter()
    file = server.data / "arena.db"
    if file.exists() or any(told.at < at for ends in ledger.ends.values() for told in ends):
        try:
            found = ledger.find_errors(file, at, moves=moves, quick=True)
        except ArenaFault as fault:
            found["a database that can't be read"] += any(t.at < at for ends in ledger.ends.values() for t in ends)
            print(fault)
    found["tracebacks in the log"] += sum("Traceback" in line for line in server.log)
    return +found


async def _finish_running(server: Server) -> None:
    players = [RandomPlayer(Ledger(), server.port, number, game) for number, game in enumerate(GAMES)]
    for player in players:
        player.seeking = False  # so that it only plays on
    async with run_tasks(*(player.run() for player in players)):
        with contextlib.suppress(TimeoutError):
            await finish_matches(players, server)


def main() -> None:
    arguments = read_options(
        __doc__,
        {"seconds": 2, "instants": 3},
        seconds=20.0,
        instants=200,
        durability=option("process", choices=("process", "machine")),
        seed=1,
    )
    chance = random.Random(arguments.seed)
    moves = arguments.durability == "machine"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "changes"
        server = Server("--clock", "5+0.2", "--durability", arguments.durability)
        server.environment |= {"LD_PRELOAD": str(compile_library(Path(folder))), "STORAGE_LOG": str(log)}
        server.environment["STORAGE_FOLDER"] = str(server.data)
        ledger = asyncio.run(play(server, arguments.seconds))
        done = list(read_changes(log))
        data = server.data
    syncs = sum(change.what == "s" for change in done)
    print(f"{len(done)} changes, {syncs} of them syncs; {sum(map(len, ledger.ends.values()))} ends told")
    broken: Counter[str] = Counter()
    lost = 0
    instants = sorted(chance.sample(range(len(done)), min(arguments.instants, len(done))))
    disk = Disk(data)
    began = time.perf_counter()
    for number, change in enumerate(done):
        disk.apply(change)
        if instants and number == instants[0]:
            instants.pop(0)
            share = chance.choice((0.0, 0.5, 0.9, 1.0))
            start = moves or number % 10 == 0
            wrong = count_losses(disk, change.at, ledger, share, chance, moves=moves, start=start)
            lost += bool(wrong)
            broken += wrong
    print(f"the power cut at {arguments.instants} instants: {lost} with a loss ({time.perf_counter() - began:.0f} s)")
    for line, count in broken.items():
        print(f"BROKEN: {count} x {line}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
