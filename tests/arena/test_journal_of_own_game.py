"""Matches of a game of one's own in the journal go on after a restart, with the same rules only."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any, cast

import pytest

from arena.host.handler import HostHandler
from arena.host.host import recover_matches
from arena.host.journal import Journal, MatchJournal
from arena.host.rules_supervisor import RulesSupervisor
from arena.replay.verify import Verification, verify_record
from arena.store.result_queries import record_of
from own_game_records import DIGEST, known, play_on, table_of
from protocol.games import game_spec, register_former_rules
from protocol.messages import Player, RulesStamp
from referee import record_reader
from referee.effects import Reconnect
from referee.match import Match, MatchTimeouts
from referee.record import Header, write_line
from referee.replay import JournalSummary


class Handler:
    """A host's handler that wants every match back."""

    async def should_resume(self, header: Header, seed: bytes) -> bool:
        return True

    def players_of(self, header: Header) -> list[Player]:
        return [Player(bot=seat.bot, version=seat.version) for seat in header.seats]


async def recovered(journal: Journal) -> list[tuple[Match, JournalSummary, MatchJournal]]:
    rules = RulesSupervisor(lambda game, why: None)
    return await recover_matches(journal, cast(HostHandler, Handler()), MatchTimeouts(), rules)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A match of pig that was killed after three moves."""
    with known("pig"):
        table = table_of("pig").begin()
        for _ in range(3):
            table.play({"move": "roll"})
    journal = Journal(tmp_path)
    journal.create("m-1").write(b"".join(map(write_line, table.lines)))
    return journal


async def test_a_match_goes_on_with_the_rules_that_it_began_with(journal: Journal) -> None:
    with known("pig"):
        ((match, summary, opened),) = await recovered(journal)
        assert match.ply == 6
        assert summary.begun
        opened.close()
        table = table_of("pig").resume(journal.read("m-1"))
        for seat in table.seats:
            table.send(Reconnect(seat))
        assert verify_record(play_on(table).record()) == Verification()


async def test_a_match_goes_on_with_the_former_rules_that_it_began_with(journal: Journal) -> None:
    with known("pig"):
        former = game_spec("pig")
    with known("pig", version="2", digest="cd" * 32):
        register_former_rules("pig", former.digest, lambda: former)
        ((match, _, opened),) = await recovered(journal)
        opened.close()
        assert match.ply == 6


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            {"digest": "cd" * 32},
            "it began with other rules of pig (version 1, digest abababababab) than are here "
            "(version 1, digest cdcdcdcdcdcd)",
        ),
        ({"digest": ""}, "than are here (those that come with bot-arena)"),
        (None, "there is no game 'pig'"),
    ],
)
async def test_with_other_rules_or_none_it_stays_in_the_journal_and_the_log_says_why(
    journal: Journal, caplog: pytest.LogCaptureFixture, rules: dict[str, Any] | None, said: str
) -> None:
    before = (journal.folder / "m-1.jsonl").read_bytes()
    caplog.set_level(logging.WARNING)
    if rules is None:
        assert await recovered(journal) == []
    else:
        with known("pig", **rules):
            assert await recovered(journal) == []
    assert said in caplog.text
    assert (journal.folder / "m-1.jsonl").read_bytes() == before


async def test_a_server_that_was_restarted_in_the_middle_of_a_match_stores_a_record_that_verifies(serve: Any) -> None:
    with known("onecard"):
        served = await serve()
        first, _, start = await served.begun("onecard")
        turn = await first.expect("turn")
        await first.send(type="move", match=start["match"], ply=1, move=turn["legal"][0])
        await served.restart()
        back = [await served.enter(player["bot"]) for player in start["seats"]]
        ends = await asyncio.gather(*(client.play() for client in back))
        record = record_reader.read_record(served.store.read(record_of, start["match"]), "record")
        assert verify_record(record) == Verification()
    assert record.header.rules == RulesStamp("1", DIGEST)
    assert start["rules"] == {"version": "1", "digest": DIGEST}
    assert {end["digest"] for end in ends} == {record.footer.digest}
    assert verify_record(record).missing_rules
