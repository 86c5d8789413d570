"""Cut the power: what was not synced is lost, in part or out of order. Are matches there whose end was told?

A server plays with every change of its files noted (storage.c). For each of many instants the folder is made again as a
disk might hold it then: all that was synced, and of the writes since then none, all, or any of their sectors. A claim
is broken by an end that was told before and is lost, by a database that does not add up, by a server that does not
start; with `--durability machine` also by a move that was told and is lost.

    python benchmarks/reliability/power_loss.py [--seconds 20] [--instants 200] [--durability machine] [--small]

Needs gcc. A name in a folder counts as kept when its file was synced, as ext4, XFS and Btrfs have it, or the folder.
"""

from __future__ import annotations

import argparse
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

from ledger import Ledger, Player, compiled, run_out
from rig import Server, small_or_asked

from protocol.errors import ArenaFault

GAMES = ("nim", "nim", "nim", "nim", "tictactoe", "tictactoe")
SECTOR = 512
_HEAD = struct.Struct("=cdQQI")


class Change(NamedTuple):
    """What was done to a file: `w`rite, `t`runcate, `s`ync, `c`reate, `u`nlink."""

    what: str
    at: float
    inode: int
    offset: int
    data: bytes


def changes(log: Path) -> Iterator[Change]:
    """What storage.c has noted."""
    data = log.read_bytes()
    at = 0
    while at + _HEAD.size <= len(data):
        what, when, inode, offset, size = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield Change(what.decode(), when, inode, offset, data[at : at + size])
        at += size


class File:
    """A file as it was written, and what of that is on disk for certain."""

    def __init__(self) -> None:
        self.kept: bytearray | None = None
        """None: nothing of it was ever synced."""
        self.is_named = False
        """Whether its folder was synced."""
        self.now = bytearray()
        self.since: list[Change] = []

    def change(self, change: Change) -> None:
        if change.what == "s":
            self.kept, self.since = bytearray(self.now), []
        else:
            _apply(self.now, change)
            self.since.append(change)

    def after(self, chance: random.Random, share: float) -> bytes | None:
        """What a disk holds that has taken this share of the sectors written since; None: not even the name."""
        if self.kept is None and not self.is_named and chance.random() >= share:
            return None
        found = bytearray(self.kept or b"")
        for change in self.since:
            if change.what == "t":
                if chance.random() < share:
                    _apply(found, change)
                continue
            for start in range(0, len(change.data), SECTOR):
                if chance.random() < share:
                    part = change.data[start : start + SECTOR]
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
    """The files of a folder by name, as they come to be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folders = {path.stat().st_ino: path for path in (folder, *folder.rglob("*")) if path.is_dir()}
        self._names: dict[str, int] = {}
        self._files: dict[int, File] = {}

    def change(self, change: Change) -> None:
        """Do what was done."""
        if change.what == "c":
            name = str(Path(change.data.decode()).relative_to(self._folder))
            if self._names.get(name) != change.inode:
                self._names[name] = change.inode
                self._files[change.inode] = File()
        elif change.what == "u":
            self._names.pop(str(Path(change.data.decode()).relative_to(self._folder)), None)
        elif change.what == "s" and change.inode in self._folders:
            for name, inode in self._names.items():
                if (self._folder / name).parent == self._folders[change.inode]:
                    self._files[inode].is_named = True
        elif change.inode in self._files:
            self._files[change.inode].change(change)

    def write(self, folder: Path, chance: random.Random, share: float) -> None:
        """Make the folder as a disk might hold it when the power is cut now."""
        for name, inode in self._names.items():
            content = self._files[inode].after(chance, share)
            if content is not None and not name.endswith("-shm"):  # that is memory, and made again
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)


async def played(server: Server, seconds: float) -> Ledger:
    """What bots were told while they played."""
    await asyncio.to_thread(server.start)
    ledger = Ledger()
    players = [Player(ledger, server.port, number, game) for number, game in enumerate(GAMES)]
    tasks = [asyncio.create_task(player.run()) for player in players]
    await asyncio.sleep(seconds)
    server.kill()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    return ledger


def wrong_after(
    disk: Disk, at: float, ledger: Ledger, share: float, chance: random.Random, *, moves: bool, start: bool
) -> Counter[str]:
    """What is lost when the power is cut then; with `start` a server is started on what is left, and stopped."""
    server = Server("--clock", "5+0.2")
    disk.write(server.data, chance, share)
    if start:
        try:
            server.start()
        except RuntimeError as exc:
            return Counter([f"a server that does not start: {str(exc).splitlines()[-1]}"])
        if moves:
            asyncio.run(_settled(server))
        server.stop()
    found: Counter[str] = Counter()
    file = server.data / "arena.db"
    if file.exists() or any(told.at < at for ends in ledger.ends.values() for told in ends):
        try:
            found = ledger.wrong(file, at, moves=moves, quick=True)
        except ArenaFault as fault:
            found["a database that can't be read"] += any(t.at < at for ends in ledger.ends.values() for t in ends)
            print(fault)
    found["tracebacks in the log"] += sum("Traceback" in line for line in server.log)
    return +found


async def _settled(server: Server) -> None:
    """Let the bots come back and end what is under way."""
    players = [Player(Ledger(), server.port, number, game) for number, game in enumerate(GAMES)]
    for player in players:
        player.seeking = False
    tasks = [asyncio.create_task(player.run()) for player in players]
    with contextlib.suppress(TimeoutError):
        await run_out(players, server.data)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--instants", type=int, default=200)
    parser.add_argument("--durability", choices=("process", "machine"), default="process")
    parser.add_argument("--seed", type=int, default=1)
    arguments = small_or_asked(parser, seconds=2, instants=3)
    chance = random.Random(arguments.seed)
    moves = arguments.durability == "machine"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "changes"
        server = Server("--clock", "5+0.2", "--durability", arguments.durability)
        server.environment |= {"LD_PRELOAD": str(compiled(Path(folder))), "STORAGE_LOG": str(log)}
        server.environment["STORAGE_FOLDER"] = str(server.data)
        ledger = asyncio.run(played(server, arguments.seconds))
        done = list(changes(log))
        data = server.data
    syncs = sum(change.what == "s" for change in done)
    print(f"{len(done)} changes, {syncs} of them syncs; {sum(map(len, ledger.ends.values()))} ends told")
    broken: Counter[str] = Counter()
    lost = 0
    instants = sorted(chance.sample(range(len(done)), min(arguments.instants, len(done))))
    disk = Disk(data)
    began = time.perf_counter()
    for number, change in enumerate(done):
        disk.change(change)
        if instants and number == instants[0]:
            instants.pop(0)
            share = chance.choice((0.0, 0.5, 0.9, 1.0))
            start = moves or number % 10 == 0
            wrong = wrong_after(disk, change.at, ledger, share, chance, moves=moves, start=start)
            lost += bool(wrong)
            broken += wrong
    print(f"the power cut at {arguments.instants} instants: {lost} with a loss ({time.perf_counter() - began:.0f} s)")
    for line, count in broken.items():
        print(f"BROKEN: {count} x {line}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
