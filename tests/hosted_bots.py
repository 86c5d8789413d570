"""Hosted bots for tests: their programs, and their versions in the database of a data folder."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec

from arena.hosting.submission import SubmissionLimits, read_source_file
from arena.store.bot_versions import add_version, end_check
from arena.store.registry import register_bot
from arena.store.store import Store

DETERMINISTIC_PROGRAM = """
import json, os, random, sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn":
        chance = random.Random(os.environ["ARENA_SEED"] + str(message["ply"]))
        print(json.dumps(chance.choice(message["legal"])), flush=True)
"""
"""It is deterministic under its seed."""


def register(data: Path, *bots: str) -> None:
    """Register bots in the database of a data folder, which may be new."""
    with closing(Store.open(data / "arena.db")) as store:
        for bot in bots:
            store.write(register_bot, bot, bot[0] * 64)


def hand_in(data: Path, bot: str, source: str, *, passed: bool = True) -> None:
    """Store a version, which has passed its check or else waits for it."""
    found = read_source_file(f"{bot}.py", source.encode(), ["nim"], ["nim"], SubmissionLimits())
    manifest = msgspec.json.encode(found.manifest).decode()
    with closing(Store.open(data / "arena.db")) as store:
        version = store.write(add_version, bot, found.digest, found.pack(), manifest)
        if passed:
            store.write(end_check, version.id, passed=True, report="")
