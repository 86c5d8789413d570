"""A match writes no more than readers accept: the longest one that can be played fits, with all that bots may say."""

from __future__ import annotations

import pytest

from games.risk.rules.campaign import MAX_PLAYERS
from protocol.messages import MAX_STRIKES, Error, Event, Info
from referee import state
from referee.record import MAX_INFO_BYTES, MAX_RECORD_BYTES, Ply, Strike, encoded_size, write_line
from referee_table import A_MOVE, Table, ended

INFO = {"note": "x" * 100}
SIZE = encoded_size(Info(note="x" * 100))
DAY = 86_400_000


def test_the_longest_match_that_can_be_played_fits_with_all_that_bots_say() -> None:
    """A campaign: 1,000 rounds of six seats, each with a draft and 20 attacks, or 19 and an end. The units on the map
    in the end and those that fell are those that came: 100 on each of 100 territories, and in each round one for
    each territory, or one for three, at least 3 a seat, and 100 for continents."""
    turns = 1000 * MAX_PLAYERS
    units = 100 * 100 + 1000 * (max(100, 33 + 3 * MAX_PLAYERS) + 100)
    left = {"taken": False, "attackers": units, "defenders": units}
    event = Event(
        ply=turns * 21, seat=5, move={"do": "attack", "from": 99, "to": 98, "units": units}, dice=[], result=left
    )
    attack = write_line(Ply(event=event, clock=[DAY * 21_000] * MAX_PLAYERS, digest="0" * 64, given=DAY))
    placed = len(b"[99,1],") * units  # in drafts
    dice = len(b"[6,6,6],[6,6],") * units  # a round of a battle takes one unit at least
    strike = write_line(Strike(ply=turns * 21, seat=5, code="malformed_move", message="x" * 16 * 1024))
    opening = 2 * 16 * 1024  # its config came in one message
    longest = opening + turns * 21 * len(attack) + placed + dice + MAX_PLAYERS * MAX_STRIKES * len(strike)
    assert longest + MAX_INFO_BYTES < MAX_RECORD_BYTES


def test_what_bots_say_is_kept_as_long_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MAX_INFO_BYTES", 2 * SIZE)
    table = Table().begin()
    for _ in range(3):
        table.play(A_MOVE, info=INFO)
    kept = [line.info is not None for line in table.lines[-3:]]
    assert kept == [True, True, False]
    error = next(message for message in table.told[0] if isinstance(message, Error))
    fault = f"info: the record keeps at most {2 * SIZE} bytes of info of a match, and has {2 * SIZE}"
    assert (error.code, error.message, error.ref) == ("bad_message", f"{fault}; the move at ply 2 counts", "m-1")
    ended(table.finish_at_random())


def test_what_bots_said_before_a_restart_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MAX_INFO_BYTES", 2 * SIZE)
    table = Table().begin()
    table.play(A_MOVE, info=INFO)
    again = table.restarted()
    again.play(A_MOVE, info=INFO)
    again.play(A_MOVE, info=INFO)
    assert [line.info is not None for line in again.lines[-3:]] == [True, True, False]
