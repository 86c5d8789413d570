"""Bots in process play what they play as processes: the same dice, moves and words, digest for digest."""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from arena.replay.verify import verify_record
from arena.store.result_queries import iter_results, record_of
from arena.store.store import Store
from protocol.bot_launch import PLAYER_ENTRY_POINT_GROUP, BotSpec
from protocol.games import load_game
from referee import record_reader
from referee.footer import ClosedMatch
from referee.record import Ply, Record, Strike
from tournaments import played

SEED = "7"
ODD = """
from bots import Bot, Choice, GiveUp, run


class Odd(Bot):
    "Forgets its manners now and then, always at the same places."

    def __init__(self, name, version="", *, whim=6):
        super().__init__(name, "2.1")
        self.whim = whim
        self.played = 0

    def prepare(self, start):
        self.played += 1

    def choose(self, turn):
        turn.state.clear()
        if self.played == 4 and turn.ply > 2:
            raise GiveUp("enough")
        whim = turn.random.randrange(self.whim)
        if whim == 0 and turn.ply > 6:
            return turn.legal["first"]
        if whim == 1 and "struck" not in turn.memory:
            turn.memory["struck"] = True
            return {"no": "move"}
        move = turn.random.choice(turn.legal)
        return Choice(move, value=0.5, note=f"{turn.ply} after {len(turn.events)}, match {self.played}")


if __name__ == "__main__":
    run(Odd("unnamed", whim=5))
"""


class Told(NamedTuple):
    """A record without what clocks make of it."""

    plies: list[Any]
    strikes: list[Strike]
    ends: tuple[Any, ...]
    versions: list[str]


def told(record: Record) -> Told:
    footer = record.footer
    return Told(
        [(line.event, line.digest, line.info) for line in record.lines if isinstance(line, Ply)],
        [line for line in record.lines if isinstance(line, Strike)],
        (footer.ranks, footer.reason, footer.reasons, footer.plies, footer.digest, footer.seed, footer.nonces),
        [seat.version for seat in record.header.seats],
    )


def as_processes(folder: Path, *words: str) -> list[Record]:
    """The records of a tournament whose bots are processes, in the order of its schedule."""
    done = played("arena", "tournament", *words, "--seed", SEED, "--jobs", "1", "--data", str(folder))
    assert done.code == 0, done.err
    store = Store.open(folder / "arena.db", create=False)
    try:
        bodies = {
            match.match: store.read(record_of, match.match) for match in list(store.iterate(iter_results, limit=1000))
        }
    finally:
        store.close()
    return [record_reader.read_record(body, match) for match, body in sorted(bodies.items()) if body is not None]


def in_process(records: list[Record], specs: dict[str, tuple[str, dict[str, str]]]) -> list[ClosedMatch]:
    """The same matches, played by what an arena finds in the group of players."""
    (entry,) = entry_points(group=PLAYER_ENTRY_POINT_GROUP)
    first = records[0].header
    stem, _, _ = first.match.rpartition("-")
    made = [
        BotSpec(
            name=name,
            bot=bot,
            settings=settings,
            seed=hashlib.sha256(f"{SEED}/{stem}/bot/{name}".encode()).hexdigest(),
        )
        for name, (bot, settings) in specs.items()
    ]
    players = entry.load()(made, load_game(first.game, first.config), lambda bot, line: None)
    nobody = [[replace(seat, version="") for seat in record.header.seats] for record in records]
    return [
        players.play(replace(record.header, seats=seats), bytes.fromhex(record.footer.seed))
        for record, seats in zip(records, nobody, strict=True)
    ]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("game", "sets", "bots"),
    [
        ("nim", (), {"random": ("random", {}), "perfect": ("perfect", {}), "calm": ("greedy", {})}),
        ("risk-duel", (), {"deep": ("ga", {"depth": "2"}), "random": ("random", {})}),
        (
            "risk-campaign",
            ("--set", "max_rounds=2"),
            {"bold": ("alphabeta", {"nodes": "300", "draft": "greedy"}), "random": ("random", {})},
        ),
    ],
)
def test_reference_bots_play_the_records_that_they_play_as_processes(
    game: str, sets: tuple[str, ...], bots: dict[str, tuple[str, dict[str, str]]], tmp_path: Path
) -> None:
    words = [f"{name}={bot}:{_listed(settings)}".rstrip(":") for name, (bot, settings) in bots.items()]
    records = as_processes(tmp_path, *words, "--game", game, *sets, "--rounds", "2")
    closed = in_process(records, bots)
    assert [told(record_reader.read_record(one.pack_record(), "it")) for one in closed] == [
        told(record) for record in records
    ]
    for one, record in zip(closed, records, strict=True):
        verify_record(record_reader.read_record(one.pack_record(record.footer.ratings), "it"))


def test_a_bot_of_a_file_plays_gives_up_and_is_struck_as_it_is_as_a_process(tmp_path: Path) -> None:
    mine = tmp_path / "odd.py"
    mine.write_text(ODD)
    words = ["random", f"odd={sys.executable} {mine}", "--game", "nim", "--rounds", "12"]
    records = as_processes(tmp_path / "data", *words)
    assert {record.footer.reason for record in records} == {"win", "resigned", "failed"}
    assert any(told(record).strikes for record in records)
    closed = in_process(records, {"random": ("random", {}), "odd": (str(mine), {})})
    assert [told(record_reader.read_record(one.pack_record(), "it")) for one in closed] == [
        told(record) for record in records
    ]
    results = [one.result for one in closed]
    assert [result.reason for result in results] == [record.footer.reason for record in records]
    assert {seat.bot: seat.version for seat in results[0].seats} == {"random": "", "odd": "2.1"}


def _listed(settings: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())
